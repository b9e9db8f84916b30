"""The claims of the virtual-cluster paper (Liu, Dong, Tian): model, corollaries, Figure 1, pricing, experiments.

Statements about allocations are asked in whole numbers and fractions; a refuted statement has a witness of a few
numbers, judged in fractions. What holds beyond the paper stands here, too, where the chapter leans on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from book.common.evidence import margin_in_words
from book.common.runs import stream
from book.virtual_cluster import studies as study
from book.virtual_cluster.oracle import exact_optimum, lp_bound, most_served, rounds, share
from book.virtual_cluster.properties import (
    BROKEN,
    RULES,
    Case,
    Outcome,
    Rule,
    Tariff,
    allocations,
    cases,
    hand_out,
    mean_fraction,
    mean_slowdown,
    pour,
    search_case,
    total_cost,
)
from fairbook.claims.registry import FULL, Effort, Evidence, Kind, Mechanism, Part, claim
from fairbook.mechanisms.packing import pack
from fairbook.mechanisms.virtual_cluster import scarcity_rounds, virtual_cluster
from fairbook.mechanisms.virtual_cluster_pool import VirtualClusterPool
from fairbook.model.clusters import VirtualClusters

Number = Any


def _rule(name: str) -> Mechanism:
    return Mechanism(name, (RULES | BROKEN)[name])


def _case(wanted: Sequence[int], tolerance: Sequence[str], capacities: Sequence[int], whole: bool = True) -> Case:
    return Case(tuple(wanted), tuple(map(Fraction, tolerance)), tuple(capacities), whole)


def _of(case: Case) -> str:
    words = str(case)
    return words[0].upper() + words[1:]


def _has(outcome: Outcome) -> str:
    return "(" + ", ".join(map(str, outcome.vms)) + ")"


def _handed_out(outcome: Outcome) -> str:
    """Write the VMs of each user and its cluster, counted from 1; "-" where it has none of its own."""
    return f"VMs {_has(outcome)} on clusters ({', '.join(str(j + 1) if j >= 0 else '-' for j in outcome.cluster)})"


def _searched(
    margin: Callable[[Case], Number | None], effort: Effort, key: int, *, fewer: int = 4, **drawn: Any
) -> Part:
    """Search for a case of negative margin and say how hard."""
    value, where, done, spoken = search_case(
        margin, evaluations=effort.evaluations // fewer, rng=stream(effort.seed, key), **drawn
    )
    if value < 0:
        return Part(False, "search", f"Violated by {margin_in_words(-float(value))}: {where}.", done)
    return Part(
        True if spoken else None,
        "search",
        f"Searched {done} cases in fractions, {spoken} of them of the kind the statement speaks of; "
        f"the smallest margin is {margin_in_words(float(value))}.",
        spoken,
    )


# --------------------------------------------------------------------------------------------------- the model, 1.3


def _on_one(row: Sequence[Fraction]) -> bool:
    """(4): one user's VMs are on one cluster."""
    return sum(1 for x in row if x) <= 1


def _anywhere(row: Sequence[Fraction]) -> bool:
    return True


@claim(
    id="virtual_cluster.linear",
    locator="Section 1.3",
    kind="statement",
    statement="Problem (1) to (5) is a linear program.",
    mechanism=Mechanism("condition (4)", _on_one),
    mutant=Mechanism("no condition (4)", _anywhere),
)
def _linear(effort: Effort, judged: Mechanism) -> Evidence:
    one, two = (Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))
    middle = tuple((x + y) / 2 for x, y in zip(one, two, strict=True))
    allowed = judged.run(one) and judged.run(two)
    return Evidence.of(
        Part(
            not allowed or judged.run(middle),
            "witness",
            "One user who wants 1 VM, two clusters of 1, VMs not whole: both places are allowed, half a VM on each "
            "is not. What a linear program allows is convex.",
            1,
        )
    )


@claim(
    id="virtual_cluster.hard",
    locator="Section 2",
    kind="complexity",
    variant="strongly NP-hard",
    statement="Exact solution is hard: whether everybody can have all it wants decides 3-partition.",
    proof="thm-virtual_cluster-hard",
    mechanism=_rule("exact"),
    mutant=_rule("pool"),
)
def _hard(effort: Effort, judged: Mechanism) -> Evidence:
    rng, agree, asked, yes = stream(effort.seed, 21), True, 0, 0
    while asked < effort.evaluations // 40:
        target = int(rng.integers(40, 120))
        items: list[int] = []
        for _ in range(2):
            a = int(rng.integers(target // 4 + 1, (target + 1) // 2))
            b = int(rng.integers(target // 4 + 1, (target + 1) // 2))
            items += [a, b, max(1, target - a - b)]
        moved = int(rng.integers(0, 6))  # where nothing moves, the answer is yes
        items[0], items[3] = items[0] + moved, max(1, items[3] - moved)
        items = rng.permutation(items).tolist()
        if sum(items) != 2 * target:
            continue
        split = any(sum(chosen) == target for r in range(1, 6) for chosen in combinations(items, r))
        outcome = judged.run(Case(tuple(items), (Fraction(0),) * 6, (target, target)), False)
        agree, asked, yes = agree and (outcome.all_served == split), asked + 1, yes + split
    return Evidence.of(
        Part(
            agree,
            "numbers",
            f"In {asked} partition questions about six numbers, {yes} with answer yes, everybody is served in full "
            "exactly where the numbers can be divided.",
            asked,
        )
    )


def _lexicographic(least: Sequence[int], most: Sequence[int], capacity: int) -> Any:
    return share(least, most, capacity, True)


def _in_turn(least: Sequence[int], most: Sequence[int], capacity: int) -> Any:
    """What is free goes to the first user, then to the second."""
    vms, free = list(least), capacity - sum(least)
    for i, top in enumerate(most):
        step = min(free, top - vms[i])
        vms[i], free = vms[i] + step, free - step
    return vms


@claim(
    id="virtual_cluster.share",
    locator="beyond the paper (section 2.1, second phase of the relaxation)",
    kind="algorithm",
    statement="Giving what is free, VM by VM, to the user furthest below its request makes the sorted fractions of a "
    "cluster lexicographically largest (ties: to the smallest request).",
    proof="lem-virtual_cluster-share",
    mechanism=Mechanism("to the least fraction", _lexicographic),
    mutant=Mechanism("in turn", _in_turn),
)
def _share(effort: Effort, judged: Mechanism) -> Evidence:
    rng, count, agree = stream(effort.seed, 22), effort.evaluations // 20, True
    for _ in range(count):
        n = int(rng.integers(2, 4))
        most = rng.integers(1, 7, n).tolist()
        least = [int(rng.integers(0, a + 1)) for a in most]
        capacity = int(sum(least) + rng.integers(0, 6))
        got = sorted(Fraction(int(v), a) for v, a in zip(judged.run(least, most, capacity), most, strict=True))
        every = product(*(range(low, high + 1) for low, high in zip(least, most, strict=True)))
        best = max(
            sorted(Fraction(v, a) for v, a in zip(vms, most, strict=True)) for vms in every if sum(vms) <= capacity
        )
        agree = agree and got == best
    return Evidence.of(
        Part(agree, "numbers", f"Compared with all ways to share, in fractions, on {count} random clusters.", count)
    )


def _relaxed(case: Case) -> Number | None:
    found = lp_bound(case.max_vms, case.tolerance, case.capacities, case.whole)
    return None if found is None else found.upper


def _one_place(case: Case) -> Number | None:
    found = exact_optimum(case.max_vms, case.tolerance, case.capacities, case.whole)
    return None if found is None else found.level


@claim(
    id="virtual_cluster.bound",
    locator="beyond the paper (section 2, GLPK and Lingo)",
    kind="extension",
    variant="VMs not whole",
    statement="The linear relaxation of (1) to (5) knows nothing of the clusters: its optimum is that of one pool.",
    proof="thm-virtual_cluster-bound",
    mechanism=Mechanism("linear relaxation", _relaxed),
    mutant=Mechanism("one cluster a user", _one_place),
)
def _bound(effort: Effort, judged: Mechanism) -> Evidence:
    rng, worst, count = stream(effort.seed, 23), Fraction(0), 0
    while count < effort.evaluations // 100:
        case = cases(rng, clusters=(2, 3), whole=False)
        pool = pour(case)
        if not pool.all_served or pool.level(case) == 1:
            continue
        found = judged.run(case)
        if found is None:
            continue
        count += 1
        worst = max(worst, abs(found - pool.level(case)))
    return Evidence.of(
        Part(
            worst < Fraction(1, 10**6),
            "numbers",
            f"On {count} random cases with a level below 1 the two differ by at most {margin_in_words(float(worst))}.",
            count,
        )
    )


# ------------------------------------------------------------------------------------------- corollaries 1 and 2, 2.2


def _above(case: Case) -> list[int]:
    """Users with 1 - k > tau."""
    return [i for i, k in enumerate(case.tolerance) if 1 - k > case.scarcity]


def _exactly_minimum(rule: Rule, case: Case) -> Number | None:
    outcome, users = rule(case, True), _above(case)
    if not users or not outcome.all_served:
        return None
    return -max(abs(outcome.vms[i] - case.minimum[i]) for i in users)


@claim(
    id="virtual_cluster.corollary_1.pool",
    locator="Corollary 1",
    kind="statement",
    variant="one pool, shared max-min fairly, whole VMs and not",
    statement="A user with 1 - k > tau gets exactly its minimum.",
    proof="prop-virtual_cluster-corollary1",
    mechanism=_rule("pool"),
    mutant=_rule("in proportion"),
)
def _corollary_1(effort: Effort, judged: Mechanism) -> Evidence:
    return Evidence.of(_searched(partial(_exactly_minimum, judged.run), effort, 31))


def _level_at_most_tau(rule: Rule, case: Case) -> Number | None:
    outcome = rule(case, True)
    if not _above(case) or not outcome.all_served:
        return None
    return case.scarcity - outcome.level(case)


def _spared(case: Case, exact: bool) -> Outcome:
    """One cluster a user, on clusters that are twice as large as they are."""
    return RULES["exact"](Case(case.max_vms, case.tolerance, tuple(2 * c for c in case.capacities), case.whole), exact)


@claim(
    id="virtual_cluster.corollary_1.enough",
    locator="Corollary 1",
    kind="statement",
    variant="one cluster a user: the minimum is enough",
    statement="To a user with 1 - k > tau more than its minimum need not be given: the least fraction is at most tau.",
    proof="prop-virtual_cluster-corollary1",
    mechanism=_rule("exact"),
    mutant=Mechanism("clusters twice as large", _spared),
)
def _enough(effort: Effort, judged: Mechanism) -> Evidence:
    return Evidence.of(_searched(partial(_level_at_most_tau, judged.run), effort, 32, fewer=10, users=(1, 3)))


def _about_a_case(
    name: str,
    locator: str,
    statement: str,
    case: Case,
    right: Callable[[Case, Outcome], bool],
    says: Callable[[Case, Outcome], str],
    judged_by: str,
    mutant: Mechanism,
    *,
    variant: str = "one cluster a user",
    kind: Kind = "statement",
) -> None:
    """Register a statement that fails in one case."""

    @claim(
        id=f"virtual_cluster.{name}",
        locator=locator,
        kind=kind,
        variant=variant,
        statement=statement,
        mechanism=_rule(judged_by),
        mutant=mutant,
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        outcome = judged.run(case, True)
        return Evidence.of(Part(right(case, outcome), "witness", _of(case) + ": " + says(case, outcome), 1))


def _numbers(case: Case, outcome: Outcome) -> str:
    return f"tau is {case.scarcity}, the minima are {_has(Outcome((), case.minimum))}, given are {_has(outcome)}."


_about_a_case(
    "corollary_1.one_cluster",
    "Corollary 1",
    "A user with 1 - k > tau gets exactly its minimum.",
    _case((5, 5), ("1/5", "3/5"), (5, 2)),
    lambda case, outcome: all(outcome.vms[i] == case.minimum[i] for i in _above(case)),
    _numbers,
    "exact",
    _rule("mixed_knapsack"),
)


def _below(case: Case) -> list[int]:
    """Users with 1 - k <= tau."""
    return [i for i, k in enumerate(case.tolerance) if 1 - k <= case.scarcity]


_about_a_case(
    "corollary_2.more",
    "Corollary 2",
    "A user with 1 - k <= tau gets more than its minimum.",
    _case((1, 2), ("0", "1/2"), (2,), whole=False),
    lambda case, outcome: all(outcome.vms[i] > case.minimum[i] for i in _below(case)),
    _numbers,
    "pool",
    _rule("in proportion"),
    variant="one pool or one cluster a user",
)


def _at_most_tau(rule: Rule, case: Case) -> Number | None:
    outcome, users = rule(case, True), _below(case)
    if not users or not outcome.all_served or case.scarcity > 1:
        return None
    return min(case.scarcity * case.max_vms[i] - outcome.vms[i] for i in users)


@claim(
    id="virtual_cluster.corollary_2.most.pool",
    locator="Corollary 2",
    kind="statement",
    variant="one pool, shared max-min fairly, VMs not whole, tau at most 1",
    statement="A user with 1 - k <= tau gets at most tau alpha.",
    proof="prop-virtual_cluster-corollary2",
    mechanism=_rule("pool"),
    mutant=_rule("exact"),
)
def _corollary_2(effort: Effort, judged: Mechanism) -> Evidence:
    return Evidence.of(_searched(partial(_at_most_tau, judged.run), effort, 33, whole=False))


def _none_above(case: Case, outcome: Outcome) -> bool:
    return all(outcome.vms[i] <= case.scarcity * case.max_vms[i] for i in _below(case))


_about_a_case(
    "corollary_2.most.whole",
    "Corollary 2",
    "A user with 1 - k <= tau gets at most tau alpha.",
    _case((1, 1), ("1", "1"), (1,)),
    _none_above,
    _numbers,
    "pool",
    Mechanism("minima only", BROKEN["minima only"]),
    variant="one pool, whole VMs",
)
_about_a_case(
    "corollary_2.most.one_cluster",
    "Corollary 2",
    "A user with 1 - k <= tau gets at most tau alpha.",
    _case((3, 3), ("2/5", "2/5"), (3, 2), whole=False),
    _none_above,
    _numbers,
    "exact",
    _rule("pool"),
    variant="one cluster a user, VMs not whole",
)

# ------------------------------------------------------------------------------------------ limits, and Figure 1 itself


def _queue_a(case: Case) -> list[int]:
    """Step 3 of Figure 1: queue A holds the users with k <= 1 - tau."""
    return [i for i, k in enumerate(case.tolerance) if k <= 1 - case.scarcity]


def _queue_turned(case: Case) -> list[int]:
    return [i for i, k in enumerate(case.tolerance) if k > 1 - case.scarcity]


@claim(
    id="virtual_cluster.plenty.knapsack",
    locator="Section 2.2, tau > 1",
    kind="statement",
    variant="Figure 1 as printed",
    statement="Where tau > 1, Figure 1 becomes a knapsack: step 4 packs everybody.",
    mechanism=Mechanism("queue A: k <= 1 - tau", _queue_a),
    mutant=Mechanism("queue A: k > 1 - tau", _queue_turned),
)
def _knapsack(effort: Effort, judged: Mechanism) -> Evidence:
    case = _case((4,), ("1/2",), (5,))
    queue = judged.run(case)
    return Evidence.of(
        Part(
            len(queue) == len(case.max_vms),
            "witness",
            _of(case) + f": tau is {case.scarcity}; step 4 packs {len(queue)} of {len(case.max_vms)} "
            "users. No k is at most 1 - tau, which is negative.",
            1,
        )
    )


_about_a_case(
    "plenty.full",
    "beyond the paper (section 3, tau > 1)",
    "Where tau > 1, everybody can have all it wants.",
    _case((3, 3, 3), ("1", "1", "1"), (5, 5)),
    lambda case, outcome: outcome.level(case) == 1,
    lambda case, outcome: f"tau is {case.scarcity}, and the largest least fraction is {outcome.level(case)}.",
    "exact",
    _rule("pool"),
    kind="extension",
)


@claim(
    id="virtual_cluster.plenty.easily",
    locator="Section 3, tau > 1",
    kind="number",
    variant="9 users of 10, by METAGREEDY and by mixed knapsack with it inside",
    statement="Where less is wanted than there is, users get all they want rather easily.",
    mechanism=Mechanism("loads below 1", {"small": (7, 8, 9, 10), "large": (24, 28, 30, 32)}.get),
    mutant=Mechanism("loads above 1", {"small": (14, 15, 16, 17), "large": (40, 45, 50, 55)}.get),
)
def _easily(effort: Effort, judged: Mechanism) -> Evidence:
    parts, runs = [], _runs(effort)
    for size in study.SIZES:
        for users in judged.run(size):
            cases = [study.instance(stream(effort.seed, 61, r), size, users) for r in range(runs)]
            both = [[virtual_cluster(*case, method="metagreedy"), _mixed(case)] for case in cases]
            part = np.mean([[(one.vms == one.requests.max_vms).mean() for one in pair] for pair in both], axis=0).min()
            words = f"{study.SIZES[size].clusters} clusters, load {30 * users / study.SIZES[size].vms:.2f}: "
            parts.append(Part(bool(part >= 0.9), "numbers", words + f"{100 * part:.0f} % of the users do.", runs))
    return Evidence(tuple(parts))


def _mixed(case: study.Instance) -> VirtualClusters:
    """Mixed knapsack in the reading nearest to the text: users by k, METAGREEDY in step 7a."""
    by_k = np.argsort(case.tolerance, kind="stable")
    found = virtual_cluster(
        case.max_vms[by_k], case.tolerance[by_k], case.capacities, method="mixed_knapsack", general="metagreedy"
    )
    back = np.argsort(by_k)
    return replace(found, requests=found.requests.only(back), vms=found.vms[back], cluster=found.cluster[back])


_EVEN = _case((1, 1, 2), ("0", "0", "0"), (2, 2))
_NINE = _case((4, 4, 3, 3, 2, 2), ("0",) * 6, (9, 9))
_TEN = _case((3, 3, 2, 2), ("0",) * 4, (4, 6))

for _name, _asked, _reading in (
    ("greedy", _EVEN, "greedy, in the order of arrival"),
    ("metagreedy", _TEN, "greedy, METAGREEDY: each of its 16 lists puts the two large ones apart"),
    ("mixed_knapsack", _NINE, "mixed knapsack, queue A by largest minimum first"),
):
    _about_a_case(
        f"feasible.{_name}",
        "Section 2.3",
        "Where everybody can be served, the algorithm finds an allocation that serves everybody.",
        _asked,
        lambda case, outcome: outcome.all_served,
        lambda case, outcome: (
            f"{_handed_out(outcome)} serve {sum(j >= 0 for j in outcome.cluster)} of {len(case.max_vms)}; "
            f"{_handed_out(next(allocations(case)))} would serve all."
        ),
        _name,
        _rule("exact"),
        variant=_reading,
    )


def _best_use(case: Case) -> Outcome:
    return max(allocations(case), key=lambda outcome: sum(outcome.vms))


_HALF = _case((1, 1, 2), ("0", "0", "1/2"), (2, 2))
_LEFT = _case((1, 2), ("1/2", "1/2"), (2, 1))
_APART = _case((4, 4), ("3/4", "3/4"), (4, 1))

for _name, _where, _asked, _better in (
    ("relaxation", "Section 2.1", _HALF, "exact"),
    ("greedy", "Section 3.2", _HALF, "exact"),
    ("metagreedy", "Section 3.2", _APART, "relaxation"),
    ("mixed_knapsack", "Section 3.2", _LEFT, "exact"),
):
    _about_a_case(
        f"use.{_name}",
        _where,
        "The algorithm makes the best use of the VMs: no allocation that serves all hands out more.",
        _asked,
        lambda case, outcome: outcome.all_served and sum(outcome.vms) == sum(_best_use(case).vms),
        lambda case, outcome: f"handed out are {_handed_out(outcome)}, and could be {_handed_out(_best_use(case))}.",
        _name,
        _rule(_better),
        variant=_name.replace("_", " "),
    )


def _served_though(rule: Rule, case: Case) -> Number | None:
    if any(k >= 1 - case.scarcity for k in case.tolerance):
        return None
    return -1 if rule(case, True).all_served else 0


@claim(
    id="virtual_cluster.infeasible",
    locator="Section 2.2, all k < 1 - tau",
    kind="statement",
    statement="Where all k < 1 - tau, no allocation meets all minima.",
    proof="prop-virtual_cluster-infeasible",
    mechanism=_rule("pool"),
    mutant=_rule("in proportion"),
)
def _infeasible(effort: Effort, judged: Mechanism) -> Evidence:
    return Evidence.of(_searched(partial(_served_though, judged.run), effort, 34))


def _printed(case: Case) -> list[int]:
    """Users left before each round of Figure 1 as printed, at most five rounds; nobody counts as few enough to stop."""
    left, room = list(range(len(case.max_vms))), Fraction(sum(case.capacities))
    counts: list[int] = []
    while left and len(counts) < 5:
        counts.append(len(left))
        tau = room / sum(case.max_vms[i] for i in left)
        queue = [i for i in left if case.tolerance[i] <= 1 - tau]
        room -= sum(case.minimum[i] for i in queue)
        left = [i for i in left if i not in queue]
    return counts


def _stopped(case: Case) -> list[int]:
    """The same, ended where queue A is empty."""
    return list(dict.fromkeys(_printed(case)))


@claim(
    id="virtual_cluster.figure1",
    locator="Figure 1",
    kind="algorithm",
    variant="as printed, one pool",
    statement="Step 7b hands on a smaller problem, so the algorithm ends.",
    mechanism=Mechanism("Figure 1", _printed),
    mutant=Mechanism("Figure 1, ended where queue A is empty", _stopped),
)
def _figure1(effort: Effort, judged: Mechanism) -> Evidence:
    case = _case((2,), ("9/10",), (1,))
    counts = judged.run(case)
    return Evidence.of(
        Part(
            all(a > b for a, b in zip(counts, counts[1:], strict=False)),
            "witness",
            _of(case) + f": tau is {case.scarcity} and queue A is empty; users left before each round: "
            f"{', '.join(map(str, counts))}.",
            1,
        )
    )


def _last_tau(case: Case) -> Number:
    return min(Fraction(1), rounds(case.max_vms, case.tolerance, sum(case.capacities))[-1][0])


def _first_tau(case: Case) -> Number:
    return min(Fraction(1), rounds(case.max_vms, case.tolerance, sum(case.capacities))[0][0])


@claim(
    id="virtual_cluster.rounds",
    locator="beyond the paper (Figure 1)",
    kind="extension",
    variant="one pool, VMs not whole, minima that fit",
    statement="The last tau of Figure 1, or 1, is the level of max-min fairness above the minima, after at most n "
    "rounds in which tau never grows.",
    proof="thm-virtual_cluster-rounds",
    mechanism=Mechanism("last tau", _last_tau),
    mutant=Mechanism("first tau", _first_tau),
)
def _rounds(effort: Effort, judged: Mechanism) -> Evidence:
    rng, count, agree, spoken, many = stream(effort.seed, 35), effort.evaluations // 10, True, 0, 0
    for _ in range(count):
        case = cases(rng, whole=False, users=(1, 6))
        poured = pour(case)
        if not poured.all_served:
            continue
        spoken += 1
        tau = judged.run(case)
        steps = rounds(case.max_vms, case.tolerance, sum(case.capacities))
        engine = scarcity_rounds(list(case.max_vms), [float(k) for k in case.tolerance], float(sum(case.capacities)))
        level = [v == max(m, min(tau * a, a)) for v, m, a in zip(poured.vms, case.minimum, case.max_vms, strict=True)]
        agree = agree and all(level) and abs(float(steps[-1][0]) - engine[-1][0]) < 1e-9
        many += len(steps) > 2
        agree = agree and len(steps) <= len(case.max_vms)
        agree = agree and all(a[0] >= b[0] for a, b in zip(steps, steps[1:], strict=False))
    return Evidence.of(
        Part(
            agree,
            "numbers",
            f"Compared in fractions, and with the engine, on {spoken} random pools; {many} take three rounds or more.",
            spoken,
        )
    )


def _is_listed(case: Case) -> bool:
    """Whether the largest least fraction is one of the numbers p / alpha, or 0."""
    best = exact_optimum(case.max_vms, case.tolerance, case.capacities, case.whole)
    return best is None or any((best.level * a).denominator == 1 for a in case.max_vms)


def _fluid(case: Case) -> bool:
    return _is_listed(Case(case.max_vms, case.tolerance, case.capacities, False))


@claim(
    id="virtual_cluster.whole",
    locator="Section 2.3, whole VMs",
    kind="statement",
    variant="what is searched for is one of finitely many numbers",
    statement="Whole VMs make the problem simpler: the largest Y is one of the numbers p / alpha.",
    proof="lem-virtual_cluster-sizes",
    mechanism=Mechanism("whole VMs", _is_listed),
    mutant=Mechanism("VMs not whole", _fluid),
)
def _whole(effort: Effort, judged: Mechanism) -> Evidence:
    rng, count = stream(effort.seed, 62), effort.evaluations // 40
    agree = all(judged.run(cases(rng, users=(1, 4), clusters=(1, 3), whole=True)) for _ in range(count))
    return Evidence.of(
        Part(agree, "numbers", f"Compared with the optimum in fractions in {count} random cases.", count)
    )


# ---------------------------------------------------------------------------------------------- beyond the paper


@claim(
    id="virtual_cluster.exact",
    locator="beyond the paper (section 2)",
    kind="extension",
    variant="whole VMs, at most 20 users",
    statement="The search over fractions and packings finds the optimum, and proves it.",
    proof="thm-virtual_cluster-subsets",
    mechanism=Mechanism("exact", partial(virtual_cluster, method="exact")),
    mutant=Mechanism("greedy", partial(virtual_cluster, method="greedy")),
)
def _exact(effort: Effort, judged: Mechanism) -> Evidence:
    rng, count, agree, proved, spoken = stream(effort.seed, 36), effort.evaluations // 40, True, 0, 0
    for _ in range(count):
        case = cases(rng, users=(4, 6), clusters=(2, 3), whole=True, largest=12)
        found = judged.run(list(case.max_vms), [float(k) for k in case.tolerance], list(case.capacities))
        best = exact_optimum(case.max_vms, case.tolerance, case.capacities)
        level = 0.0 if best is None else float(best.level)
        spoken += best is not None
        agree = agree and abs(found.min_fraction - level) < 1e-12 and found.bound >= level - 1e-12
        proved += found.optimal
    return Evidence.of(
        Part(
            agree,
            "numbers",
            f"Compared with all subsets in fractions on {count} random cases, {spoken} of them feasible; "
            f"proved in {proved}.",
            count,
        )
    )


def _cuts(case: Case) -> tuple[int, bool]:
    """Users on several clusters under the engine's spanning method, and whether the pool's optimum is met."""
    found = virtual_cluster(list(case.max_vms), [float(k) for k in case.tolerance], list(case.capacities),
                            method="spanning")
    level = float(pour(case).level(case))
    return int((found.cluster == -2).sum()), not found.violations() and abs(found.min_fraction - level) < 1e-12


def _dealt(case: Case) -> tuple[int, bool]:
    """VMs of the pool's optimum dealt to the clusters in turn."""
    vms = pour(case).vms
    return sum(1 for v in vms if v > 1 and sum(c > 0 for c in case.capacities) > 1), True


@claim(
    id="virtual_cluster.spanning",
    locator="beyond the paper (section 4, future work)",
    kind="extension",
    variant="condition (4) dropped, whole VMs",
    statement="Over H clusters the optimum of one pool is reached with at most H - 1 users on several clusters.",
    proof="thm-virtual_cluster-spanning",
    mechanism=Mechanism("one after the other", _cuts),
    mutant=Mechanism("dealt in turn", _dealt),
)
def _spanning(effort: Effort, judged: Mechanism) -> Evidence:
    rng, agree, count = stream(effort.seed, 37), True, 0
    while count < effort.evaluations // 20:
        case = cases(rng, users=(2, 6), whole=True)
        if not pour(case).all_served:
            continue
        count += 1
        cut, best = judged.run(case)
        agree = agree and best and cut <= len(case.capacities) - 1
    return Evidence.of(Part(agree, "numbers", f"Checked in {count} random cases against fractions.", count))


def _threshold(sizes: Sequence[int], H: int) -> int:
    return (H - 1) * (max(sizes) - 1)


def _too_low(sizes: Sequence[int], H: int) -> int:
    return (H - 1) * (max(sizes) - 1) - 1


def _list_packs(sizes: Sequence[int], capacities: Sequence[int], rng: np.random.Generator) -> bool:
    """Place items one by one, in random order, each on any cluster that has room."""
    free = list(capacities)
    for i in rng.permutation(len(sizes)).tolist():
        room = [j for j in range(len(free)) if sizes[i] <= free[j]]
        if not room:
            return False
        free[room[int(rng.integers(len(room)))]] -= sizes[i]
    return True


@claim(
    id="virtual_cluster.price_of_one",
    locator="beyond the paper (section 3.3, few virtual clusters on each)",
    kind="extension",
    variant="whole VMs",
    statement="Sizes that leave (H - 1)(largest - 1) VMs of all capacity free are packed by every list rule.",
    proof="thm-virtual_cluster-gap",
    mechanism=Mechanism("(H - 1)(largest - 1)", _threshold),
    mutant=Mechanism("one VM less", _too_low),
)
def _price(effort: Effort, judged: Mechanism) -> Evidence:
    rng, count, packed, spoken = stream(effort.seed, 38), effort.evaluations // 4, True, 0
    for _ in range(count):
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
            continue
        spoken += 1
        packed = packed and _list_packs(sizes, capacities, rng)
        packed = packed and pack(np.array(sizes), np.array(capacities)).bins is not None
    return Evidence.of(
        Part(
            packed,
            "numbers",
            f"Packed in {spoken} random cases, in random order, each on a random cluster with room.",
            spoken,
        )
    )


# ----------------------------------------------------------------------------------------------- what it costs, 1.2


def _best_of_both(judged: Mechanism, case: Case, per_vm: bool) -> tuple[bool, list[tuple[Fraction, Fraction, Outcome]]]:
    """Whether some allocation that serves all has both the least cost (in sum, or a VM) and the most revenue."""
    tariff = judged.run()
    rows = []
    for outcome in allocations(case):
        paid, out = total_cost(case, outcome, tariff), sum(outcome.vms)
        rows.append((paid / out if per_vm else paid, paid, outcome))
    least, most = min(row[0] for row in rows), max(row[1] for row in rows)
    return any(row[0] == least and row[1] == most for row in rows), rows


_TWO = _case((2, 2), ("1/2", "1/2"), (3,))


@claim(
    id="virtual_cluster.cost.sum",
    locator="Abstract",
    kind="statement",
    variant="costs added up",
    statement="Users' costs are least and the provider's revenue is highest at once.",
    mechanism=Mechanism("tariffs 2 and 1", Tariff),
    mutant=Mechanism("elastic VMs free", partial(Tariff, Fraction(2), Fraction(0))),
)
def _cost_sum(effort: Effort, judged: Mechanism) -> Evidence:
    both, rows = _best_of_both(judged, _TWO, False)
    paid = sorted({row[1] for row in rows})
    return Evidence.of(
        Part(
            both,
            "witness",
            _of(_TWO) + f": what users pay is what the provider earns, from {paid[0]} to {paid[-1]} over "
            f"the {len(rows)} allocations that serve both.",
            len(rows),
        )
    )


@claim(
    id="virtual_cluster.cost.per_vm",
    locator="Abstract",
    kind="statement",
    variant="cost of a VM on average, most VMs handed out",
    statement="Users' costs are least and the provider's revenue is highest at once.",
    proof="prop-virtual_cluster-cost",
    mechanism=Mechanism("tariffs 2 and 1", Tariff),
    mutant=Mechanism("elastic VMs dearer", partial(Tariff, Fraction(1), Fraction(2))),
)
def _cost_per_vm(effort: Effort, judged: Mechanism) -> Evidence:
    rng, agree, count = stream(effort.seed, 41), True, 0
    while count < effort.evaluations // 100:
        case = cases(rng, users=(1, 3), clusters=(1, 2), largest=4, whole=True)
        exactly = all(m == (1 - k) * a for m, k, a in zip(case.minimum, case.tolerance, case.max_vms, strict=True))
        if not exactly or sum(case.minimum) > sum(case.capacities) or not any(case.minimum):
            continue
        if not any(True for _ in allocations(case)):
            continue
        count += 1
        agree = agree and _best_of_both(judged, case, True)[0]
    return Evidence.of(
        Part(agree, "numbers", f"Checked over all allocations of {count} random cases with whole minima.", count)
    )


@claim(
    id="virtual_cluster.cost.fraction",
    locator="Definition 3",
    kind="statement",
    statement="What a user pays does not depend on the fraction that it gets.",
    mechanism=Mechanism("tariffs 2 and 1", Tariff),
    mutant=Mechanism("elastic VMs free", partial(Tariff, Fraction(2), Fraction(0))),
)
def _cost_fraction(effort: Effort, judged: Mechanism) -> Evidence:
    tariff = judged.run()
    few, many = (tariff.cost(4, Fraction(1, 2), vms) for vms in (2, 4))
    return Evidence.of(
        Part(
            few == many,
            "witness",
            f"A user wants 4 VMs, k = 1/2, tariffs {tariff.high} and {tariff.low}: it pays {few} for half of them, "
            f"{many} for all.",
            2,
        )
    )


def _most_tolerant_first(case: Case, exact: bool) -> Outcome:
    """Rule b as printed in one pool: minima, and then all that it wants to the user with the highest k."""
    if sum(case.minimum) > sum(case.capacities):
        return Outcome((-1,) * len(case.max_vms), (0,) * len(case.max_vms))
    vms, free = list(case.minimum), sum(case.capacities) - sum(case.minimum)
    for i in sorted(range(len(vms)), key=lambda i: -case.tolerance[i]):
        step = min(free, case.max_vms[i] - vms[i])
        vms[i], free = vms[i] + step, free - step
    return Outcome((-2,) * len(vms), tuple(vms))


def _less_tolerant(rule: Rule, case: Case) -> Number | None:
    """How many VMs, and how much on its bill, the first user gains at least if it halves its tolerance."""
    said = case.saying(0, tolerance=case.tolerance[0] / 2)
    before, after = rule(case, True), rule(said, True)
    if not case.tolerance[0] or not before.all_served or not after.all_served:
        return None
    tariff = Tariff()
    more = tariff.cost(said.max_vms[0], said.tolerance[0], after.vms[0])
    more -= tariff.cost(case.max_vms[0], case.tolerance[0], before.vms[0])
    return min(after.vms[0] - before.vms[0], more)


_LOWER_K = "A user who tolerates less gets no fewer VMs, and pays no less."


@claim(
    id="virtual_cluster.lower_k.pool",
    locator="Section 1.2, what a low k does",
    kind="statement",
    variant="one pool, shared max-min fairly, VMs not whole",
    statement=_LOWER_K,
    proof="thm-virtual_cluster-truth",
    mechanism=_rule("pool"),
    mutant=Mechanism("rule b as printed", _most_tolerant_first),
)
def _lower_k(effort: Effort, judged: Mechanism) -> Evidence:
    return Evidence.of(_searched(partial(_less_tolerant, judged.run), effort, 47, whole=False))


@claim(
    id="virtual_cluster.lower_k.rule_b",
    locator="Section 1.2, what a low k does",
    kind="statement",
    variant="one pool, free VMs by rule b as printed",
    statement=_LOWER_K,
    mechanism=Mechanism("rule b as printed", _most_tolerant_first),
    mutant=_rule("pool"),
)
def _lower_k_printed(effort: Effort, judged: Mechanism) -> Evidence:
    case = _case((4, 4), ("1", "3/4"), (5,))
    said = case.saying(0, tolerance=Fraction(1, 2))
    before, after = judged.run(case, True), judged.run(said, True)
    return Evidence.of(
        Part(
            after.vms[0] >= before.vms[0],
            "witness",
            _of(case) + f": the first user gets {before.vms[0]}. Stating k = 1/2 it gets {after.vms[0]}: the second "
            "comes first now.",
            1,
        )
    )


def _most_out(case: Case) -> Outcome:
    return max(allocations(case), key=lambda outcome: sum(outcome.vms))


def _fairest(case: Case) -> Outcome:
    """Of the allocations with the largest least fraction, one that hands out most VMs."""
    return max(allocations(case), key=lambda outcome: (outcome.level(case), sum(outcome.vms)))


@claim(
    id="virtual_cluster.cost.max_min",
    locator="Abstract",
    kind="statement",
    variant="one cluster a user",
    statement="The allocation with the largest least fraction also earns most.",
    mechanism=Mechanism("largest least fraction", _fairest),
    mutant=Mechanism("most VMs out", _most_out),
)
def _cost_max_min(effort: Effort, judged: Mechanism) -> Evidence:
    case, tariff = _APART, Tariff()
    chosen = judged.run(case)
    earned, most = total_cost(case, chosen, tariff), max(total_cost(case, o, tariff) for o in allocations(case))
    return Evidence.of(
        Part(
            earned == most,
            "witness",
            _of(case) + f": {_handed_out(chosen)}, least fraction "
            f"{chosen.level(case)}, earns {earned} at tariffs 2 and 1; {most} can be earned.",
            1,
        )
    )


# -------------------------------------------------------------------------------------------------- rules a, b and c


@claim(
    id="virtual_cluster.rule_a.policy",
    locator="Section 1.2, rule a",
    kind="statement",
    variant="the smallest minima, packed exactly",
    statement="Minima first serves as many users as can be served.",
    proof="prop-virtual_cluster-most",
    mechanism=Mechanism("exact", partial(virtual_cluster, method="exact")),
    mutant=Mechanism("relaxation", partial(virtual_cluster, method="relaxation")),
)
def _rule_a(effort: Effort, judged: Mechanism) -> Evidence:
    rng, count, agree, scarce = stream(effort.seed, 42), effort.evaluations // 40, True, 0
    for _ in range(count):
        case = cases(rng, users=(2, 5), clusters=(1, 3), whole=True)
        found = judged.run(list(case.max_vms), [float(k) for k in case.tolerance], list(case.capacities))
        most = most_served(list(case.minimum), list(case.capacities))
        agree, scarce = agree and int(found.served.sum()) == most, scarce + (most < len(case.max_vms))
    return Evidence.of(
        Part(
            agree,
            "numbers",
            f"Compared with all sets of users on {count} random cases; in {scarce} not all can be served.",
            count,
        )
    )


_about_a_case(
    "rule_a.relaxation",
    "Section 2.1",
    "The relaxation serves as many users as can be served.",
    _case((1, 1, 2), ("0", "0", "0"), (2, 2)),
    lambda case, outcome: (
        sum(j >= 0 for j in outcome.cluster) == most_served(list(case.minimum), list(case.capacities))
    ),
    lambda case, outcome: f"{sum(j >= 0 for j in outcome.cluster)} of 3 are served, all 3 could be.",
    "relaxation",
    _rule("exact"),
    kind="algorithm",
)


def _one_more(tariff: Tariff, case: Case) -> Number | None:
    """Revenue that one pool gains if the last user, whose minimum fits, is let in."""
    if len(case.max_vms) < 2 or not pour(case).all_served:
        return None
    others = Case(case.max_vms[:-1], case.tolerance[:-1], case.capacities, case.whole)
    return total_cost(case, pour(case), tariff) - total_cost(others, pour(others), tariff)


@claim(
    id="virtual_cluster.rule_a.revenue",
    locator="Section 1.2, rule a",
    kind="statement",
    variant="one pool: a minimum against VMs beyond minima",
    statement="Letting in one more user, whose minimum fits, costs no revenue.",
    proof="prop-virtual_cluster-most",
    mechanism=Mechanism("tariffs 2 and 1", Tariff),
    mutant=Mechanism("elastic VMs dearer", partial(Tariff, Fraction(1), Fraction(2))),
)
def _rule_a_revenue(effort: Effort, judged: Mechanism) -> Evidence:
    return Evidence.of(_searched(partial(_one_more, judged.run()), effort, 48))


def _served_sets(case: Case) -> list[tuple[int, ...]]:
    """Sets of users of one cluster whose minima fit."""
    users = range(len(case.max_vms))
    every = [chosen for size in range(1, len(users) + 1) for chosen in combinations(users, size)]
    return [chosen for chosen in every if sum(case.minimum[i] for i in chosen) <= sum(case.capacities)]


def _most_users(case: Case) -> tuple[int, ...]:
    return max(_served_sets(case), key=len)


def _dearest_users(case: Case) -> tuple[int, ...]:
    return max(_served_sets(case), key=lambda chosen: sum(case.minimum[i] for i in chosen))


@claim(
    id="virtual_cluster.rule_a.most_revenue",
    locator="Section 1.2, rule a",
    kind="statement",
    variant="one cluster: whom to serve",
    statement="Serving as many users as can be served earns most.",
    mechanism=Mechanism("most users", _most_users),
    mutant=Mechanism("largest sum of minima", _dearest_users),
)
def _rule_a_most(effort: Effort, judged: Mechanism) -> Evidence:
    case, tariff = _case((1, 1, 3), ("0", "0", "0"), (3,)), Tariff()

    def earned(chosen: Sequence[int]) -> Fraction:
        return sum((tariff.cost(case.max_vms[i], case.tolerance[i], case.minimum[i]) for i in chosen), Fraction(0))

    chosen, most = judged.run(case), max(map(earned, _served_sets(case)))
    return Evidence.of(
        Part(
            earned(chosen) == most,
            "witness",
            _of(case) + f": users {', '.join(str(i + 1) for i in chosen)} served earn {earned(chosen)} at tariffs "
            f"2 and 1; {most} can be earned.",
            len(_served_sets(case)),
        )
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


def _idle(case: Case) -> Sequence[Number]:
    return case.minimum


@claim(
    id="virtual_cluster.rule_b.idle",
    locator="Section 1.2, rule b",
    kind="statement",
    variant="one pool, whole VMs: mean of the fractions, and of alpha / VMs where minima are positive",
    statement="Free VMs to the most tolerant users lowers the mean slowdown.",
    proof="prop-virtual_cluster-give",
    mechanism=Mechanism("largest k first", partial(hand_out, key="tolerance")),
    mutant=Mechanism("nobody", _idle),
)
def _rule_b_idle(effort: Effort, judged: Mechanism) -> Evidence:
    return Evidence.of(_searched(partial(_below_idle, judged.run), effort, 49, whole=True))


def _better_mean(
    name: str, variant: str, case: Case, measure: Callable[[Case, Sequence[int]], Fraction], sign: int, mended: str
) -> None:
    """Register a reading of what rule b is said to do to the mean."""

    @claim(
        id=f"virtual_cluster.rule_b.{name}",
        locator="beyond the paper (section 1.2, rule b)",
        kind="extension",
        variant=variant,
        statement="Free VMs to the most tolerant users lowers the mean slowdown as far as it can be.",
        mechanism=Mechanism("largest k first", partial(hand_out, key="tolerance")),
        mutant=Mechanism(f"{mended} first", partial(hand_out, key=mended)),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        vms = judged.run(case)
        every = [outcome.vms for outcome in allocations(case)]
        best = max(every, key=lambda other: sign * measure(case, other))
        return Evidence.of(
            Part(
                measure(case, vms) == measure(case, best),
                "witness",
                _of(case) + f": {_has(Outcome((), vms))} has mean {measure(case, vms)}, "
                f"{_has(Outcome((), best))} has {measure(case, best)}.",
                len(every),
            )
        )


_better_mean("fraction", "mean of the fractions", _case((10, 2), ("9/10", "1/2"), (3,)), mean_fraction, 1, "small")
_better_mean(
    "slowdown",
    "mean of alpha / VMs, equal requests",
    _case((4, 4), ("3/4", "1/2"), (6,)),
    mean_slowdown,
    -1,
    "gap",
)


def _by_printed(case: Case, vms: Sequence[int]) -> int:
    """Rule c as printed: the largest fraction less k."""
    return max(range(len(vms)), key=lambda i: Fraction(vms[i], case.max_vms[i]) - case.tolerance[i])


def _by_surplus(case: Case, vms: Sequence[int]) -> int:
    return max(range(len(vms)), key=lambda i: Fraction(vms[i] - int(case.minimum[i]), case.max_vms[i]))


@claim(
    id="virtual_cluster.rule_c.printed",
    locator="Section 1.2, rule c",
    kind="statement",
    variant="slowdown as in definition 3, the part that is kept",
    statement="The user with the largest difference between its slowdown and k can give something back.",
    mechanism=Mechanism("largest a / alpha - k", _by_printed),
    mutant=Mechanism("largest surplus", _by_surplus),
)
def _rule_c(effort: Effort, judged: Mechanism) -> Evidence:
    case, vms = _case((2, 2), ("0", "1"), (4,)), (2, 2)
    i = judged.run(case, vms)
    spare = vms[i] - case.minimum[i]
    return Evidence.of(
        Part(
            spare > 0,
            "witness",
            _of(case) + f", both with all they want: the rule names user {i + 1}, who can spare {spare}.",
            1,
        )
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


@claim(
    id="virtual_cluster.rule_c.mended",
    locator="beyond the paper (section 1.2, rules a and c)",
    kind="extension",
    variant="largest surplus gives back first",
    statement="A newcomer is let in exactly where some cluster holds its minimum beside the minima there, and nobody "
    "falls below its minimum.",
    proof="prop-virtual_cluster-back",
    mechanism=Mechanism("largest surplus", VirtualClusterPool),
    mutant=Mechanism("nobody gives back", _Unguarded),
)
def _mended(effort: Effort, judged: Mechanism) -> Evidence:
    rng, count, kept = stream(effort.seed, 43), effort.evaluations // 40, True
    for _ in range(count):
        case = cases(rng, users=(2, 7), whole=True)
        kept = kept and _admits(case, judged.run(list(case.capacities)))
    return Evidence.of(Part(kept, "numbers", f"{count} random sequences of arrivals.", count))


# ------------------------------------------------------------------------------------------------- stating the truth


def _net(case: Case, said: Case, user: int, tariff: Tariff, outcome: Outcome) -> tuple[Number, Fraction]:
    """VMs of use to a user, and what it pays for all it gets under what it said."""
    vms = outcome.vms[user]
    return min(vms, case.max_vms[user]), tariff.cost(said.max_vms[user], said.tolerance[user], vms)


@claim(
    id="virtual_cluster.truth.tolerance",
    locator="beyond the paper (section 1.2, what to state)",
    kind="extension",
    variant="overstating k",
    statement="Nobody gets the same VMs for less by stating another tolerance.",
    mechanism=Mechanism("tariffs 2 and 1", Tariff),
    mutant=Mechanism("one tariff", partial(Tariff, Fraction(1), Fraction(1))),
)
def _truth(effort: Effort, judged: Mechanism) -> Evidence:
    case, tariff = _case((4, 4), ("1/2", "1/2"), (10,)), judged.run()
    said = case.saying(0, tolerance=Fraction(1))
    honest = _net(case, case, 0, tariff, RULES["exact"](case, True))
    lying = _net(case, said, 0, tariff, RULES["exact"](said, True))
    return Evidence.of(
        Part(
            not (lying[0] >= honest[0] and lying[1] < honest[1]),
            "witness",
            _of(case) + f": with k = 1/2 the first user gets {honest[0]} VMs for {honest[1]}, with k = 1 "
            f"it gets {lying[0]} for {lying[1]}.",
            1,
        )
    )


@claim(
    id="virtual_cluster.truth.request",
    locator="beyond the paper (section 1.2, what to state)",
    kind="extension",
    variant="inflating alpha",
    statement="Nobody gets more useful VMs by stating another number of VMs.",
    mechanism=_rule("exact"),
    mutant=_rule("equal numbers"),
)
def _inflated(effort: Effort, judged: Mechanism) -> Evidence:
    case = _case((4, 4), ("1", "1"), (4,))
    said = case.saying(0, max_vms=12)
    honest, lying = judged.run(case, True), judged.run(said, True)
    gain = min(lying.vms[0], case.max_vms[0]) - honest.vms[0]
    return Evidence.of(
        Part(
            gain <= 0,
            "witness",
            _of(case) + f": stating 12 instead of 4, the first user gets {lying.vms[0]} instead of {honest.vms[0]}.",
            1,
        )
    )


def _level_without(case: Case, user: int) -> Fraction:
    """Level of the pool if this user states a tolerance of 1: Lambda."""
    said = case.saying(user, tolerance=Fraction(1))
    return pour(said).level(said)


def _best_floor(case: Case, user: int, value: Fraction, tariff: Tariff) -> Fraction:
    """The floor that it is best to state, by the theorem."""
    need, level = 1 - case.tolerance[user], _level_without(case, user)
    if need > level:
        return need if value <= tariff.high else Fraction(1)
    if level == 1 or value <= tariff.high + (tariff.high - tariff.low) * level / (1 - level):
        return Fraction(0)
    return Fraction(1)


def _the_truth(case: Case, user: int, value: Fraction, tariff: Tariff) -> Fraction:
    return 1 - case.tolerance[user]


def _worth(case: Case, user: int, floor: Fraction, value: Fraction, tariff: Tariff) -> Fraction | None:
    """Value less cost of stating a floor; None where minima do not fit or the user misses its true one."""
    said = case.saying(user, tolerance=1 - floor)
    outcome = pour(said)
    if not outcome.all_served:
        return None
    vms = outcome.vms[user]
    if vms < (1 - case.tolerance[user]) * case.max_vms[user]:
        return None
    return value * vms - tariff.cost(said.max_vms[user], said.tolerance[user], vms)


@claim(
    id="virtual_cluster.truth.best",
    locator="beyond the paper (section 1.2, what to state)",
    kind="extension",
    variant="one pool, VMs not whole, floors that fit",
    statement="What it is best to state is one of three floors: nothing, the true one, or everything; the true one "
    "exactly where it is above the level that the others leave and a VM is worth no more than the high tariff.",
    proof="thm-virtual_cluster-truth",
    mechanism=Mechanism("the theorem's floor", _best_floor),
    mutant=Mechanism("the true floor", _the_truth),
)
def _best(effort: Effort, judged: Mechanism) -> Evidence:
    rng, count, spoken, best = stream(effort.seed, 44), effort.evaluations // 40, 0, True
    tariff = Tariff()
    for _ in range(count):
        case = cases(rng, users=(2, 4), clusters=(1, 1), whole=False)
        value = Fraction(int(rng.integers(5, 25)), 5)
        everything = case.saying(0, tolerance=Fraction(0))
        if not pour(everything).all_served:
            continue
        spoken += 1
        chosen = _worth(case, 0, judged.run(case, 0, value, tariff), value, tariff)
        others = [_worth(case, 0, Fraction(g, 20), value, tariff) for g in range(21)]
        best = best and chosen is not None and all(other is None or other <= chosen for other in others)
    return Evidence.of(
        Part(
            best,
            "numbers",
            f"Against all multiples of 1/20 as stated floors, in fractions, on {spoken} random pools.",
            spoken,
        )
    )


def _stated(case: Case) -> Case:
    """What everybody states in the end: floors at or below the level are not stated."""
    level = pour(case).level(case)
    part = tuple(Fraction(1) if 1 - k <= level else k for k in case.tolerance)
    return Case(case.max_vms, part, case.capacities, case.whole)


def _as_it_is(case: Case) -> Case:
    return case


@claim(
    id="virtual_cluster.truth.loss",
    locator="beyond the paper (section 1.2, what to state)",
    kind="extension",
    variant="one pool, VMs not whole, a VM worth between the tariffs",
    statement="Where everybody states what is best for it, all get the same VMs as if they told the truth, and the "
    "provider loses the difference of the tariffs on all floors at or below the level.",
    proof="thm-virtual_cluster-truth",
    mechanism=Mechanism("equilibrium", _stated),
    mutant=Mechanism("truth", _as_it_is),
)
def _loss(effort: Effort, judged: Mechanism) -> Evidence:
    rng, count, spoken, agree = stream(effort.seed, 45), effort.evaluations // 40, 0, True
    tariff, value = Tariff(), Fraction(3, 2)
    for _ in range(count):
        case = cases(rng, users=(2, 4), clusters=(1, 1), whole=False)
        honest = pour(case)
        if not honest.all_served:
            continue
        spoken += 1
        said = judged.run(case)
        outcome, level = pour(said), honest.level(case)
        lost = total_cost(case, honest, tariff) - total_cost(said, outcome, tariff)
        floors = [(1 - k) * a for k, a in zip(case.tolerance, case.max_vms, strict=True)]
        hidden = sum((f for f, a in zip(floors, case.max_vms, strict=True) if f <= level * a), Fraction(0))
        agree = agree and outcome.vms == honest.vms and lost == (tariff.high - tariff.low) * hidden
        for i in range(len(case.max_vms)):  # nobody gains by another floor
            mine = case.saying(i)
            mine = Case(
                mine.max_vms,
                tuple(mine.tolerance[h] if h == i else said.tolerance[h] for h in range(len(said.tolerance))),
                case.capacities,
                False,
            )
            now = _worth(mine, i, 1 - said.tolerance[i], value, tariff)
            others = [_worth(mine, i, Fraction(g, 10), value, tariff) for g in range(11)]
            agree = agree and now is not None and all(other is None or other <= now for other in others)
    return Evidence.of(
        Part(
            agree,
            "numbers",
            f"Same VMs, the loss, and no gain by any multiple of 1/10 as a floor, in fractions, on {spoken} pools.",
            spoken,
        )
    )


def _slow_bound(rule: Rule, case: Case) -> Number | None:
    outcome, tau = rule(case, True), min(Fraction(1), case.scarcity)
    if not outcome.all_served:
        return None
    mean = sum(((1 - k) * a for k, a in zip(case.tolerance, case.max_vms, strict=True)), Fraction(0))
    mean /= sum(case.max_vms)
    level = outcome.level(case)
    return (1 - level) if mean == 1 else min(level - (tau - mean) / (1 - mean), tau - level)


@claim(
    id="virtual_cluster.tolerant",
    locator="Section 1.2, a high k need not slow a job much",
    kind="statement",
    variant="one pool, VMs not whole",
    statement="However high its k, a user keeps at least (tau - f) / (1 - f) of its request, f being the mean floor: "
    "all of it where tau is 1.",
    proof="prop-virtual_cluster-tolerance",
    mechanism=_rule("pool"),
    mutant=_rule("minima only"),
)
def _tolerant(effort: Effort, judged: Mechanism) -> Evidence:
    return Evidence.of(_searched(partial(_slow_bound, judged.run), effort, 46, whole=False))


# ------------------------------------------------------------------------------------------------------- the figures

_FEW, _ALL = 20, 100  # runs at quick effort, and those of the stored frame, so that page and ledger show the same


def _runs(effort: Effort) -> int:
    return _FEW if effort.evaluations < FULL.evaluations else _ALL


@lru_cache(maxsize=2)
def _readings(runs: int) -> pd.DataFrame:
    return study.readings(runs)


def _conclusions(runs: int) -> pd.DataFrame:
    return study.conclusions(_readings(runs)).set_index("statement")


def _printed_frame(runs: int) -> pd.DataFrame:
    """The same conclusions from a frame in which everything came out as the paper has it, under all readings."""
    frame = _readings(runs)
    small = frame["size"] == "small"
    shown: dict[str, Any] = {
        f"gain_{name}{end}": 0.3 for name in ("greedy", "mixed") for end in ("", "_least", "_most")
    }
    shown |= {"remaining_relaxation": 20.0, "remaining_greedy": 10.0, "remaining_mixed": 10.0}
    shown |= {"ahead": 0.02 * (small - 0.5), "ahead_low": 0.02 * (small - 0.6), "ahead_high": 0.02 * (small - 0.4)}
    shown |= {"sd_relaxation": 0.05 + 0.1 * small, "sd_greedy": 0.05 + 0.1 * small, "sd_mixed": 0.05 + 0.2 * small}
    shown |= {"near_greedy": 0.97, "near_mixed": 0.97}
    return study.conclusions(frame.assign(**shown)).set_index("statement")


_READ = "all readings of what the text leaves open; METAGREEDY is nearest to it"


def _about_figures(name: str, locator: str, statement: str, rows: Sequence[str], kind: Kind = "figure") -> None:
    """Register what a figure is said to show; ask whether some readings do, all, and the nearest one at every load."""

    @claim(
        id=f"virtual_cluster.{name}",
        locator=locator,
        kind=kind,
        variant=_READ,
        statement=statement,
        mechanism=Mechanism("readings", _conclusions),
        mutant=Mechanism("as printed", _printed_frame),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        frame = judged.run(_runs(effort))
        parts = []
        for row in rows:
            one = frame.loc[row]
            every, held = (one[column].split(", ") if one[column] else [] for column in ("loads", "nearest"))
            words = f"{one['text']}: in {one['holds']} of {one['readings']} readings, surely in {one['surely']}"
            where = "all loads" if held == every else f"loads {one['nearest']}" if held else "no load"
            number = int(one["readings"])
            parts += [
                Part(bool(one["holds"] > 0), "numbers", words[0].upper() + words[1:] + ";", number),
                Part(bool(one["holds"] == one["readings"]), "numbers", "in the nearest one", number),
                Part(held == every, "numbers", f"at {where} of {every[0]} to {every[-1]}.", len(every)),
            ]
        return Evidence(tuple(parts))


_about_figures(
    "figure2.lead",
    "Figure 2",
    "Greedy and mixed knapsack have a least fraction 20 to 40 % above the relaxation's.",
    ("greedy_small", "mixed_small"),
    "number",
)
_about_figures(
    "figure4.lead",
    "Figure 4",
    "Greedy and mixed knapsack have a least fraction 20 to 50 % above the relaxation's.",
    ("greedy_large", "mixed_large"),
    "number",
)
_about_figures(
    "figure2.above",
    "Figure 2",
    "Greedy and mixed knapsack are above the relaxation.",
    ("greedy_above", "mixed_above"),
)
_about_figures(
    "figure4.above",
    "Figure 4",
    "Greedy and mixed knapsack are above the relaxation.",
    ("greedy_above_large", "mixed_above_large"),
)
_about_figures("figure3", "Figure 3", "The relaxation leaves most capacity unused.", ("remaining_small",))
_about_figures("figure5", "Figure 5", "The relaxation leaves most capacity unused.", ("remaining_large",))
_about_figures("order.small", "Section 3.3", "Greedy is better on the small clusters.", ("small_greedy",))
_about_figures("order.large", "Section 3.3", "Mixed knapsack is better on the large clusters.", ("large_mixed",))
_about_figures(
    "order.both",
    "Section 3.3",
    "Greedy is better on the small clusters and mixed knapsack on the large ones, in one reading.",
    ("crossing",),
)
_about_figures(
    "steady.small", "Section 3.3", "Mixed knapsack is less steady than greedy on the small clusters.", ("less_steady",)
)
_about_figures("steady.large", "Section 3.2", "All three are steadier on the large clusters.", ("steadier",))
_about_figures(
    "near_optimal",
    "Section 3.3",
    "Greedy and mixed knapsack come near the optimum: both reach 90 % of it in the mean over runs, or at least 80 %.",
    ("near_small", "near_large", "near_small_80", "near_large_80"),
)


def _sizes(size: str) -> study.Size:
    return study.SIZES[size]


def _one_for_all(size: str) -> study.Size:
    return study.SIZES[size]._replace(clusters=1)


@claim(
    id="virtual_cluster.few.ratio",
    locator="Section 3.3, few users on each cluster",
    kind="number",
    variant="means, to the next whole number",
    statement="What a user wants is about 1/2 to 1/4 of a cluster.",
    mechanism=Mechanism("the paper's clusters", _sizes),
    mutant=Mechanism("one cluster of all VMs", _one_for_all),
)
def _ratio(effort: Effort, judged: Mechanism) -> Evidence:
    parts = []
    for name in study.SIZES:
        size = judged.run(name)
        times = size.vms / size.clusters / 30
        words = f"{size.clusters} clusters of {size.vms / size.clusters:g} VMs in the mean, 30 wanted: 1:{times:.2f}."
        parts.append(Part(2 <= round(times) <= 4, "numbers", words, 1))
    return Evidence(tuple(parts))


def _by_mixed(case: study.Instance) -> float:
    return float(_mixed(case).served.sum())


def _by_hundred(case: study.Instance) -> float:
    return 100.0


@claim(
    id="virtual_cluster.few.users",
    locator="Section 3.3, few users on each cluster",
    kind="number",
    variant="users served by the mixed knapsack, METAGREEDY inside",
    statement="On each cluster 3 to 5 users are placed.",
    mechanism=Mechanism("mixed knapsack", _by_mixed),
    mutant=Mechanism("a hundred served", _by_hundred),
)
def _few_users(effort: Effort, judged: Mechanism) -> Evidence:
    parts, runs = [], _runs(effort)
    for size, numbers in (("small", (8, 11, 16, 20)), ("large", (28, 34, 50, 60))):
        clusters = study.SIZES[size].clusters
        cases = [[study.instance(stream(effort.seed, 63, r), size, users) for r in range(runs)] for users in numbers]
        each = [float(np.mean([judged.run(case) for case in some])) / clusters for some in cases]
        held = [3 <= round(value) <= 5 for value in each]
        words = ", ".join(
            f"{value:.1f} at load {30 * users / study.SIZES[size].vms:.2f}"
            for value, users in zip(each, numbers, strict=True)
        )
        parts += [
            Part(any(held), "numbers", f"On {clusters} clusters, users on each:", runs * len(numbers)),
            Part(all(held), "numbers", words + ".", runs * len(numbers)),
        ]
    return Evidence(tuple(parts))


def _least(found: VirtualClusters) -> float:
    return found.min_fraction


def _out(found: VirtualClusters) -> float:
    return float(found.vms.sum())


def _falls(name: str, locator: str, size: str, users: tuple[int, ...]) -> None:
    """Register that the least fraction falls as users are added, for each method and both readings of the variance."""

    @claim(
        id=f"virtual_cluster.{name}",
        locator=locator,
        kind="figure",
        variant="the three algorithms and METAGREEDY, both readings of the variance",
        statement="The least fraction falls as users are added.",
        mechanism=Mechanism("least fraction", _least),
        mutant=Mechanism("VMs handed out", _out),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        parts, runs = [], _runs(effort)
        for k, variance in enumerate(("variance", "deviation")):
            rows = []
            for number in users:
                rng = stream(effort.seed, 50 + k)
                cases = [study.instance(rng, size, number, variance=variance) for _ in range(runs)]
                rows.append(
                    [np.mean([judged.run(virtual_cluster(*case, method=m)) for case in cases]) for m in _FALLING]
                )
            steps = np.diff(np.array(rows), axis=0)
            parts.append(
                Part(
                    bool((steps < 0).all()),
                    "numbers",
                    f"{'Variance' if variance == 'variance' else 'Standard deviation'} 10, {runs} runs: from "
                    f"{users[0]} to {users[-1]} users from {', '.join(f'{y:.2f}' for y in rows[0])} to "
                    f"{', '.join(f'{y:.2f}' for y in rows[-1])}.",
                    runs * len(users),
                )
            )
        return Evidence(tuple(parts))


_FALLING: tuple[Any, ...] = ("relaxation", "greedy", "mixed_knapsack", "metagreedy")
_falls("figure2.falls", "Figure 2", "small", (8, 12, 16, 20))
_falls("figure4.falls", "Figure 4", "large", (28, 36, 44, 52, 60))
