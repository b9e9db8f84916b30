"""The claims about costs and revenue, and rules a, b and c."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from book.common.claims.registry import Effort, Evidence, Mechanism, claim
from book.common.evidence import in_words, sampled_claim
from book.virtual_cluster.checks_packing import APART, best_use
from book.virtual_cluster.judging import (
    Number,
    about_a_case,
    by_name,
    handed_out,
    opening,
    search_claim,
    shown,
    small_case,
    witness,
)
from book.virtual_cluster.oracle import most_served
from book.virtual_cluster.properties import (
    Case,
    Outcome,
    Tariff,
    allocations,
    arguments,
    cases,
    hand_out,
    mean_fraction,
    mean_slowdown,
    pour,
    total_cost,
)
from fairbook.mechanisms.clusters.online import VirtualClusterPool
from fairbook.mechanisms.clusters.virtual_cluster import virtual_cluster

# ----------------------------------------------------------------------------------------------- what it costs, 1.2


def _best_of_both(judged: Mechanism, case: Case, per_vm: bool) -> tuple[bool, list[tuple[Fraction, Fraction, Outcome]]]:
    """Whether some allocation that serves all has both the least cost (in sum, or a VM) and the most revenue."""
    tariff = judged.run()
    costs = [(total_cost(case, outcome, tariff), outcome) for outcome in allocations(case)]
    rows = [(paid / sum(outcome.vms) if per_vm else paid, paid, outcome) for paid, outcome in costs]
    least, most = min(row[0] for row in rows), max(row[1] for row in rows)
    return any(row[0] == least and row[1] == most for row in rows), rows


_TWO = small_case((2, 2), ("1/2", "1/2"), (3,))


@claim(
    id="virtual_cluster.cost.sum",
    locator="Abstract",
    kind="statement",
    variant="costs added up",
    statement="Users' costs are least and the provider's revenue is highest at the same time.",
    mechanism=Mechanism("tariffs 2 and 1", Tariff),
    mutant=Mechanism("elastic VMs free", partial(Tariff, Fraction(2), Fraction(0))),
)
def _cost_sum(effort: Effort, judged: Mechanism) -> Evidence:
    both, rows = _best_of_both(judged, _TWO, False)
    paid = sorted({row[1] for row in rows})
    return witness(
        both,
        opening(_TWO)
        + f". {len(rows)} allocations serve both users. What users pay is what the provider earns, and ranges "
        f"from {paid[0]} to {paid[-1]}.",
        len(rows),
        shown(_TWO),
    )


@sampled_claim(
    key=41,
    share=100,
    again=True,
    said="Checked over all allocations of {count} random cases with whole minima.",
    id="virtual_cluster.cost.per_vm",
    locator="Abstract",
    kind="statement",
    variant="everybody served, mean cost of a VM",
    statement="Users' costs are least and the provider's revenue is highest at the same time.",
    proof="prop-virtual_cluster-cost",
    mechanism=Mechanism("tariffs 2 and 1", Tariff),
    mutant=Mechanism("elastic VMs dearer", partial(Tariff, Fraction(1), Fraction(2))),
)
def _cost_per_vm(rng: np.random.Generator, judged: Mechanism, at: int) -> bool | None:
    case = cases(rng, users=(1, 3), clusters=(1, 2), largest=4, whole=True)
    exactly = all(m == (1 - k) * a for m, k, a in zip(case.minimum, case.tolerance, case.max_vms, strict=True))
    if not exactly or sum(case.minimum) > sum(case.capacities) or not any(case.minimum):
        return None
    return _best_of_both(judged, case, True)[0] if any(True for _ in allocations(case)) else None


def _half_and_all(tariff: Tariff, case: Case) -> list[Fraction]:
    """What the first user pays for half of what it wants, and for all."""
    return [tariff.cost(case.max_vms[0], case.tolerance[0], case.max_vms[0] * part) for part in (Fraction(1, 2), 1)]


about_a_case(
    "cost.fraction",
    "Definition 3",
    "What a user pays does not depend on the fraction that it gets.",
    small_case((4,), ("1/2",), (4,)),
    lambda case, paid: paid[0] == paid[1],
    lambda case, paid: f"At tariffs 2 and 1 the user pays {paid[0]} for half of the VMs, and {paid[1]} for all.",
    Mechanism("tariffs 2 and 1", partial(_half_and_all, Tariff())),
    Mechanism("elastic VMs free", partial(_half_and_all, Tariff(Fraction(2), Fraction(0)))),
    variant="as stated",
)


def _most_earned(case: Case) -> Fraction:
    return max(total_cost(case, outcome, Tariff()) for outcome in allocations(case))


_FAIREST = "The allocation with the largest least fraction also earns most."
about_a_case(
    "cost.max_min.one_cluster",
    "Abstract",
    _FAIREST,
    APART,
    lambda case, chosen: total_cost(case, chosen, Tariff()) == _most_earned(case),
    lambda case, chosen: (
        f"The largest least fraction is {chosen.level(case)}; {handed_out(chosen)} reach it and earn "
        f"{total_cost(case, chosen, Tariff())} at tariffs 2 and 1, but {_most_earned(case)} can be earned."
    ),
    Mechanism(
        "largest least fraction, then most VMs",
        lambda case: max(allocations(case), key=lambda outcome: (outcome.level(case), sum(outcome.vms))),
    ),
    Mechanism("most VMs out", best_use),
)


@sampled_claim(
    key=65,
    share=40,
    again=True,
    said="Compared with all allocations in {count} random cases.",
    id="virtual_cluster.cost.max_min.pool",
    locator="Abstract",
    kind="statement",
    variant="one pool, shared max-min fairly, whole VMs",
    statement=_FAIREST,
    proof="prop-virtual_cluster-cost",
    mechanism=by_name("pool"),
    mutant=by_name("minima only"),
)
def _fairest(rng: np.random.Generator, judged: Mechanism, at: int) -> bool | None:
    case = cases(rng, users=(1, 3), clusters=(1, 1), largest=4, whole=True)
    if sum(case.minimum) > sum(case.capacities):
        return None
    return total_cost(case, judged.run(case), Tariff()) == _most_earned(case)


# -------------------------------------------------------------------------------------------------- rules a, b and c


@sampled_claim(
    key=42,
    share=40,
    right=lambda found: all(agrees for agrees, _ in found),
    said=lambda found: (
        f"Compared with all sets of users on {len(found)} random cases; in "
        f"{sum(scarce for _, scarce in found)} not all can be served."
    ),
    id="virtual_cluster.rule_a.policy",
    locator="Section 1.2, rule a",
    kind="statement",
    variant="the smallest minima, packed exactly",
    statement="Minima first serves as many users as can be served.",
    proof="prop-virtual_cluster-most",
    mechanism=Mechanism("exact", partial(virtual_cluster, method="exact")),
    mutant=Mechanism("relaxation", partial(virtual_cluster, method="relaxation")),
)
def _rule_a(rng: np.random.Generator, judged: Mechanism, at: int) -> tuple[bool, bool]:
    case = cases(rng, users=(2, 5), clusters=(1, 3), whole=True)
    most = most_served(list(case.minimum), list(case.capacities))
    return int(judged.run(*arguments(case)).served.sum()) == most, most < len(case.max_vms)


about_a_case(
    "rule_a.relaxation",
    "Section 2.1",
    "The relaxation serves as many users as can be served.",
    small_case((1, 1, 2), ("0", "0", "0"), (2, 2)),
    lambda case, outcome: (
        sum(j >= 0 for j in outcome.cluster) == most_served(list(case.minimum), list(case.capacities))
    ),
    lambda case, outcome: (
        f"The relaxation serves {sum(j >= 0 for j in outcome.cluster)} of 3 users; all 3 could be served."
    ),
    "relaxation",
    by_name("exact"),
    variant="the relaxation, with one cluster per user",
    kind="algorithm",
)


def _one_more(tariffs: Callable[[], Tariff], case: Case) -> Number | None:
    """Revenue that one pool gains if the last user, whose minimum fits, is let in."""
    tariff = tariffs()
    if len(case.max_vms) < 2 or not pour(case).all_served:
        return None
    others = Case(case.max_vms[:-1], case.tolerance[:-1], case.capacities, case.whole)
    return total_cost(case, pour(case), tariff) - total_cost(others, pour(others), tariff)


search_claim(
    _one_more,
    48,
    id="virtual_cluster.rule_a.revenue",
    locator="Section 1.2, rule a",
    kind="statement",
    variant="one pool, a minimum compared with VMs beyond minima",
    statement="Letting in one more user, whose minimum fits, costs no revenue.",
    proof="prop-virtual_cluster-most",
    mechanism=Mechanism("tariffs 2 and 1", Tariff),
    mutant=Mechanism("elastic VMs dearer", partial(Tariff, Fraction(1), Fraction(2))),
)


def _served_sets(case: Case) -> list[tuple[int, ...]]:
    """Sets of users of one cluster whose minima fit."""
    users = range(len(case.max_vms))
    every = [chosen for size in range(1, len(users) + 1) for chosen in combinations(users, size)]
    return [chosen for chosen in every if sum(case.minimum[i] for i in chosen) <= sum(case.capacities)]


def _earned(case: Case, chosen: Sequence[int]) -> Fraction:
    """What the minima of some users earn."""
    tariff = Tariff()
    return sum((tariff.cost(case.max_vms[i], case.tolerance[i], case.minimum[i]) for i in chosen), Fraction(0))


about_a_case(
    "rule_a.most_revenue",
    "beyond the paper (section 1.2, rule a)",
    "Serving as many users as can be served earns most.",
    small_case((1, 1, 3), ("0", "0", "0"), (3,)),
    lambda case, chosen: all(_earned(case, chosen) >= _earned(case, others) for others in _served_sets(case)),
    lambda case, chosen: (
        f"Serving users {', '.join(str(i + 1) for i in chosen)} earns {_earned(case, chosen)} at tariffs 2 and 1, but "
        f"{max(_earned(case, others) for others in _served_sets(case))} can be earned."
    ),
    Mechanism("most users", lambda case: max(_served_sets(case), key=len)),
    Mechanism(
        "largest sum of minima",
        lambda case: max(_served_sets(case), key=lambda chosen: sum(case.minimum[i] for i in chosen)),
    ),
    variant="one cluster, the question whom to serve",
)


def _below_idle(judged: Callable[[Case], Sequence[Number]], case: Case) -> Number | None:
    """How far both means of slowdown improve when free VMs are handed out, the less; -1 where one does not."""
    if sum(case.minimum) >= sum(case.capacities) or list(case.minimum) == list(case.max_vms):
        return None
    now = judged(case)
    better = mean_fraction(case, now) - mean_fraction(case, case.minimum)
    if all(case.minimum):  # else the mean of alpha / VMs is infinite before
        better = min(better, mean_slowdown(case, case.minimum) - mean_slowdown(case, now))
    return better or -1


search_claim(
    _below_idle,
    49,
    drawn={"whole": True},
    id="virtual_cluster.rule_b.idle",
    locator="Section 1.2, rule b",
    kind="statement",
    variant="one pool of whole VMs; mean of the fractions, and of alpha / VMs where minima are positive",
    statement="Giving free VMs to the most tolerant users lowers the mean slowdown.",
    proof="prop-virtual_cluster-give",
    mechanism=Mechanism("largest k first", partial(hand_out, key="tolerance")),
    mutant=Mechanism("nobody", lambda case: case.minimum),
)


def _better_mean(
    name: str, variant: str, case: Case, measure: Callable[[Case, Sequence[int]], Fraction], sign: int, mended: str
) -> None:
    """Register a reading of what rule b is said to do to the mean."""

    @claim(
        id=f"virtual_cluster.rule_b.{name}",
        locator="beyond the paper (section 1.2, rule b)",
        kind="extension",
        variant=variant,
        statement="Giving free VMs to the most tolerant users lowers the mean slowdown as far as it can be.",
        mechanism=Mechanism("largest k first", partial(hand_out, key="tolerance")),
        mutant=Mechanism(f"{mended} first", partial(hand_out, key=mended)),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        vms = judged.run(case)
        every = [outcome.vms for outcome in allocations(case)]
        best = max(every, key=lambda other: sign * measure(case, other))
        return witness(
            measure(case, vms) == measure(case, best),
            opening(case)
            + f": {in_words(vms)} has mean {measure(case, vms)}, {in_words(best)} has {measure(case, best)}.",
            len(every),
            shown(case),
        )


_better_mean("fraction", "mean of the fractions", small_case((10, 2), ("9/10", "1/2"), (3,)), mean_fraction, 1, "small")
_better_mean(
    "slowdown",
    "mean of alpha / VMs, equal requests",
    small_case((4, 4), ("3/4", "1/2"), (6,)),
    mean_slowdown,
    -1,
    "gap",
)


def _naming(name: str, key: Callable[[Case, int, Fraction], Fraction]) -> Mechanism:
    """Name the user with the largest key, of the case, the user and the fraction that it has; the first of several."""
    return Mechanism(
        name,
        lambda case, vms: max(range(len(vms)), key=lambda i: key(case, i, Fraction(vms[i]) / case.max_vms[i])),
    )


RULE_C = "If anybody can give something back, the user with the largest difference between its slowdown and k can."
#: Rule c with slowdown as definition 3 has it, with slowdown as what is missing, and as it should be.
KEPT = _naming("largest |a / alpha - k|", lambda case, i, part: abs(part - case.tolerance[i]))
MISSING = _naming("largest |1 - a / alpha - k|", lambda case, i, part: abs(1 - part - case.tolerance[i]))
SURPLUS = _naming("largest surplus", lambda case, i, part: part - Fraction(case.minimum[i]) / case.max_vms[i])


def _about_rule_c(name: str, variant: str, rule: Mechanism, case: Case, vms: tuple[int, ...]) -> None:
    """Register that the rule names, in one case, a user that has its minimum and no more though another has more."""

    @claim(
        id=f"virtual_cluster.rule_c.{name}",
        locator="Section 1.2, rule c",
        kind="statement",
        variant=variant,
        statement=RULE_C,
        mechanism=rule,
        mutant=SURPLUS,
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        i = judged.run(case, vms)
        spare = [v - m for v, m in zip(vms, case.minimum, strict=True)]
        return witness(
            spare[i] > 0 or not any(spare),
            f"{opening(case)}. The users have {in_words(vms)} VMs, so they can spare {in_words(spare)}. The rule names "
            f"user {i + 1}, who can spare {spare[i]}.",
            shown=shown(case, "exact", vms),
        )


_about_rule_c(
    "printed",
    "slowdown as in definition 3, the part that is kept",
    KEPT,
    small_case((4, 4), ("1/4", "3/4"), (5,)),
    (3, 2),
)


@sampled_claim(
    key=44,
    share=10,
    again=True,
    said="{count} random cases in fractions in which somebody has more than its minimum.",
    id="virtual_cluster.rule_c.missing",
    locator="Section 1.2, rule c",
    kind="statement",
    variant="slowdown as the part that is missing, divisible VMs",
    statement=RULE_C,
    proof="prop-virtual_cluster-back",
    mechanism=MISSING,
    mutant=KEPT,
)
def _missing(rng: np.random.Generator, judged: Mechanism, at: int) -> bool | None:
    case = cases(rng, users=(2, 6), whole=False)
    above = [Fraction(int(part), 4) for part in rng.choice((0, 0, 1, 2, 4), len(case.max_vms))]
    vms = [low + x * (high - low) for x, low, high in zip(above, case.minimum, case.max_vms, strict=True)]
    spare = [v - low for v, low in zip(vms, case.minimum, strict=True)]
    return bool(spare[judged.run(case, vms)] > 0) if any(spare) else None


_about_rule_c(
    "whole",
    "slowdown as the part that is missing, whole VMs",
    MISSING,
    small_case((1, 2), ("3/4", "1/2"), (3,)),
    (1, 2),
)


def _admits(case: Case, pool: VirtualClusterPool) -> bool:
    """Whether everybody who came is let in exactly where its minimum fits, and keeps it."""
    there: list[tuple[int, int]] = []
    for i, (wanted, part) in enumerate(zip(case.max_vms, case.tolerance, strict=True)):
        room = list(case.capacities)
        for j, minimum in there:
            room[j] -= minimum
        entered = pool.arrive(i, wanted, float(part))
        if entered != any(free >= case.minimum[i] for free in room):
            return False
        if entered:
            state = pool.state
            if state.violations():
                return False
            there.append((int(state.cluster[-1]), int(case.minimum[i])))
    return True


class _Unguarded(VirtualClusterPool):
    """Lets a newcomer in only where its minimum is free: nobody gives anything back."""

    def arrive(self, user: Any, max_vms: int, tolerance: float) -> bool:
        if len(self) and not (self.state.slack >= max_vms * (1 - tolerance)).any():
            return False
        return super().arrive(user, max_vms, tolerance)


@sampled_claim(
    key=43,
    share=40,
    said="{count} random sequences of arrivals.",
    id="virtual_cluster.rule_c.mended",
    locator="beyond the paper (section 1.2, rules a and c)",
    kind="extension",
    variant="the user with the largest surplus gives back first",
    statement="A newcomer is let in exactly where some cluster holds its minimum beside the minima there, and nobody "
    "falls below its minimum.",
    proof="prop-virtual_cluster-back",
    mechanism=Mechanism("largest surplus", VirtualClusterPool),
    mutant=Mechanism("nobody gives back", _Unguarded),
)
def _mended(rng: np.random.Generator, judged: Mechanism, at: int) -> bool:
    case = cases(rng, users=(2, 7), whole=True)
    return _admits(case, judged.run(list(case.capacities)))
