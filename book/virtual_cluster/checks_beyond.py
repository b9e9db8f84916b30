"""The claims about virtual clusters beyond the paper: exact search, several clusters, and what one cluster costs."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from book.common.claims.registry import Mechanism
from book.common.evidence import sampled_claim
from book.virtual_cluster.judging import Number, by_name, search_claim
from book.virtual_cluster.oracle import exact_optimum, share
from book.virtual_cluster.properties import RULES, Case, Rule, arguments, cases, pour
from fairbook.mechanisms.clusters.packing import pack
from fairbook.mechanisms.clusters.virtual_cluster import virtual_cluster


@sampled_claim(
    key=36,
    share=40,
    right=lambda found: all(agrees and proved for agrees, _, proved in found),
    said=lambda found: (
        f"Compared with all subsets in fractions on {len(found)} random cases, "
        f"{sum(fits for _, fits, _ in found)} of them feasible; proved in {sum(proved for _, _, proved in found)}."
    ),
    id="virtual_cluster.exact",
    locator="beyond the paper (section 2)",
    kind="extension",
    variant="whole VMs, at most 20 users",
    statement="The search over fractions and packings finds the optimum, and proves it.",
    proof="thm-virtual_cluster-subsets",
    mechanism=Mechanism("exact", partial(virtual_cluster, method="exact")),
    mutant=Mechanism("greedy", partial(virtual_cluster, method="greedy")),
)
def _exact(rng: np.random.Generator, judged: Mechanism, at: int) -> tuple[bool, bool, bool]:
    case = cases(rng, users=(4, 6), clusters=(2, 3), whole=True, largest=int(rng.choice((12, 60))))
    found = judged.run(*arguments(case))
    best = exact_optimum(case.max_vms, case.tolerance, case.capacities)
    level = 0.0 if best is None else float(best.level)
    return abs(found.min_fraction - level) < 1e-12, best is not None, found.optimal


def _cuts(case: Case) -> tuple[int, bool]:
    """Users on several clusters under the engine's spanning method, and whether the pool's optimum is met."""
    found = virtual_cluster(*arguments(case), method="spanning")
    level = float(pour(case).level(case))
    return int((found.cluster == -2).sum()), not found.violations() and abs(found.min_fraction - level) < 1e-12


def _dealt(case: Case) -> tuple[int, bool]:
    """VMs of the pool's optimum dealt to the clusters in turn."""
    vms = pour(case).vms
    return sum(1 for v in vms if v > 1 and sum(c > 0 for c in case.capacities) > 1), True


@sampled_claim(
    key=37,
    share=20,
    again=True,
    said="Checked in {count} random cases against fractions.",
    id="virtual_cluster.spanning",
    locator="beyond the paper (section 4, future work)",
    kind="extension",
    variant="condition (4) dropped, whole VMs",
    statement="Over H clusters the optimum of one pool is reached with at most H - 1 users on several clusters.",
    proof="thm-virtual_cluster-spanning",
    mechanism=Mechanism("one after the other", _cuts),
    mutant=Mechanism("dealt in turn", _dealt),
)
def _spanning(rng: np.random.Generator, judged: Mechanism, at: int) -> bool | None:
    case = cases(rng, users=(2, 6), whole=True)
    if not pour(case).all_served:
        return None
    cut, best = judged.run(case)
    return best and cut <= len(case.capacities) - 1


def _threshold(sizes: Sequence[int], H: int, less: int = 0) -> int:
    return (H - 1) * (max(sizes) - 1) - less


def _list_packs(sizes: Sequence[int], capacities: Sequence[int], rng: np.random.Generator) -> bool:
    """Place items one by one, in random order, each on any cluster that has room."""
    free = list(capacities)
    for i in rng.permutation(len(sizes)).tolist():
        room = [j for j in range(len(free)) if sizes[i] <= free[j]]
        if not room:
            return False
        free[room[int(rng.integers(len(room)))]] -= sizes[i]
    return True


@sampled_claim(
    key=38,
    share=4,
    said="Packed in {count} random cases, in random order, each on a random cluster with room.",
    id="virtual_cluster.price_of_one",
    locator="beyond the paper (section 3.3, few virtual clusters on each)",
    kind="extension",
    variant="whole VMs",
    statement="Sizes that leave (H - 1)(largest - 1) VMs of all capacity free are packed by every list rule.",
    proof="thm-virtual_cluster-gap",
    mechanism=Mechanism("(H - 1)(largest - 1)", _threshold),
    mutant=Mechanism("one VM less", partial(_threshold, less=1)),
)
def _price(rng: np.random.Generator, judged: Mechanism, at: int) -> bool | None:
    H = int(rng.integers(2, 5))
    top = int(rng.integers(1, 6))
    sizes = rng.integers(max(1, top - 1), top + 1, int(rng.integers(H, 3 * H + 1))).tolist()
    spare = judged.run(sizes, H)
    capacities = rng.integers(0, 2 * top + 1, H).tolist()
    capacities[0] += max(0, sum(sizes) + spare - sum(capacities))
    if rng.random() < 0.5:  # as even as can be, and no more than is asked for
        total = sum(sizes) + max(spare, 0)
        capacities = [total // H + (j < total % H) for j in range(H)]
    if sum(capacities) - sum(sizes) < spare:
        return None
    return _list_packs(sizes, capacities, rng) and pack(np.array(sizes), np.array(capacities)).bins is not None


def _no_worse(rule: Rule, case: Case) -> Number | None:
    """By how much a rule's least fraction, and the VMs it hands out, are above the best with one cluster a user."""
    one, several = RULES["exact"](case), rule(case)
    if not one.all_served:
        return None
    return min(several.level(case) - one.level(case), sum(several.vms) - sum(one.vms))


search_claim(
    _no_worse,
    67,
    fewer=10,
    drawn={"users": (1, 3)},
    id="virtual_cluster.several",
    locator="Section 4",
    kind="statement",
    variant="all can be served, and the pool is shared max-min fairly",
    statement="Without condition (4) neither the least fraction nor the number of VMs handed out falls.",
    proof="thm-virtual_cluster-spanning",
    mechanism=by_name("pool"),
    mutant=by_name("minima only"),
)


def _list_scheduling(rule: Rule, case: Case) -> Number:
    """By how much a rule's least fraction is above what list scheduling promises: no floors, equal clusters."""
    even = replace(
        case,
        tolerance=(Fraction(1),) * len(case.max_vms),
        capacities=(case.capacities[0],) * len(case.capacities),
    )
    return rule(even).level(even) - RULES["exact"](even).level(even) / (2 - Fraction(1, len(even.capacities)))


search_claim(
    _list_scheduling,
    68,
    fewer=10,
    drawn={"whole": False, "users": (1, 4)},
    id="virtual_cluster.scheduling",
    locator="beyond the paper (section 2.1, greedy)",
    kind="extension",
    variant="all k = 1, equal clusters, divisible VMs",
    statement="Greedy has at least 1 / (2 - 1/H) of the largest least fraction.",
    proof="prop-virtual_cluster-scheduling",
    mechanism=by_name("greedy"),
    mutant=by_name("relaxation"),
)


def _without_floors(rule: Rule, case: Case) -> Number:
    """By how much a rule's least fraction is above what the sizes of users promise, of the level of the pool."""
    case = replace(case, tolerance=(Fraction(1),) * len(case.max_vms))
    level = pour(case).level(case)
    loss = Fraction((len(case.capacities) - 1) * max(case.max_vms), sum(case.max_vms))
    return rule(case).level(case) - level / (1 + loss)


search_claim(
    _without_floors,
    69,
    fewer=10,
    drawn={"whole": False, "users": (2, 4)},
    id="virtual_cluster.price_without_floors",
    locator="beyond the paper (section 3.3, few virtual clusters on each)",
    kind="extension",
    variant="all k = 1, divisible VMs, pool level P",
    statement="The largest least fraction is at least P / (1 + (H - 1) largest / sum of the requests).",
    proof="thm-virtual_cluster-gap",
    mechanism=by_name("exact"),
    mutant=by_name("relaxation"),
)


def _asking_for_more(rule: Rule, case: Case) -> Number | None:
    """VMs that the first user, who states no floor, gains by asking for one more; -1 where none."""
    said = case.saying(0, tolerance=Fraction(1))
    before, more = rule(said), said.saying(0, max_vms=said.max_vms[0] + 1)
    others = zip(before.vms[1:], said.minimum[1:], said.max_vms[1:], strict=True)
    if not before.all_served or not any(low < v < high for v, low, high in others):
        return None
    return rule(more).vms[0] - before.vms[0] or -1


search_claim(
    _asking_for_more,
    70,
    drawn={"whole": False, "users": (2, 4)},
    id="virtual_cluster.inflate",
    locator="beyond the paper (section 1.2, what to state)",
    kind="extension",
    variant="one pool of divisible VMs, shared max-min fairly",
    statement="A user that states the floor 0 and asks for more gets more, where some other user has less than all and "
    "more than its floor.",
    proof="prop-virtual_cluster-inflate",
    mechanism=by_name("pool"),
    mutant=by_name("equal numbers"),
)


def _in_turn(least: Sequence[int], most: Sequence[int], capacity: int) -> Any:
    """What is free goes to the first user, then to the second."""
    vms, free = list(least), capacity - sum(least)
    for i, top in enumerate(most):
        step = min(free, top - vms[i])
        vms[i], free = vms[i] + step, free - step
    return vms


@sampled_claim(
    key=22,
    share=20,
    said="Compared with all ways to share, in fractions, on {count} random clusters.",
    id="virtual_cluster.share",
    locator="beyond the paper (section 2.1, second phase of the relaxation)",
    kind="algorithm",
    statement="Giving what is free, VM by VM, to the user furthest below its request makes the sorted fractions of a "
    "cluster lexicographically largest (ties go to the smallest request).",
    proof="lem-virtual_cluster-share",
    mechanism=Mechanism("to the least fraction", share),
    mutant=Mechanism("in turn", _in_turn),
)
def _share(rng: np.random.Generator, judged: Mechanism, at: int) -> bool:
    n = int(rng.integers(2, 4))
    most = rng.integers(1, 7, n).tolist()
    least = [int(rng.integers(0, a + 1)) for a in most]
    capacity = int(sum(least) + rng.integers(0, 6))
    got = sorted(Fraction(int(v), a) for v, a in zip(judged.run(least, most, capacity), most, strict=True))
    every = product(*(range(low, high + 1) for low, high in zip(least, most, strict=True)))
    return got == max(
        sorted(Fraction(v, a) for v, a in zip(vms, most, strict=True)) for vms in every if sum(vms) <= capacity
    )
