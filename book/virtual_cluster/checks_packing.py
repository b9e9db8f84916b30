"""The claims about who lives where: corollaries 1 and 2, Figure 1, and what is proved beyond the paper."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise, product

import numpy as np

from book.common.claims.registry import Effort, Mechanism, Part, claim
from book.common.evidence import in_words, sampled_claim
from book.common.runs import stream
from book.virtual_cluster import studies as study
from book.virtual_cluster.judging import (
    Number,
    about_a_case,
    by_name,
    handed_out,
    nearest_mixed,
    runs_of,
    search_claim,
    small_case,
)
from book.virtual_cluster.oracle import exact_optimum, rounds
from book.virtual_cluster.properties import BROKEN, RULES, Case, Outcome, Rule, allocations, arguments, cases, pour
from fairbook.mechanisms.clusters.virtual_cluster import virtual_cluster
from fairbook.model.clusters import VirtualClusters

# ------------------------------------------------------------------------------------------- corollaries 1 and 2, 2.2


def _above(case: Case) -> list[int]:
    """Users with 1 - k > tau."""
    return [i for i, k in enumerate(case.tolerance) if 1 - k > case.scarcity]


def _exactly_minimum(rule: Rule, case: Case) -> Number | None:
    outcome, users = rule(case), _above(case)
    if not users or not outcome.all_served:
        return None
    return -max(abs(outcome.vms[i] - case.minimum[i]) for i in users)


search_claim(
    _exactly_minimum,
    31,
    id="virtual_cluster.corollary_1.pool",
    locator="Corollary 1",
    kind="statement",
    variant="one pool, shared max-min fairly, VMs whole or divisible",
    statement="A user with 1 - k > tau gets exactly its minimum.",
    proof="prop-virtual_cluster-corollary1",
    mechanism=by_name("pool"),
    mutant=by_name("in proportion"),
)


def _level_at_most_tau(rule: Rule, case: Case) -> Number | None:
    outcome = rule(case)
    if not _above(case) or not outcome.all_served:
        return None
    return case.scarcity - outcome.level(case)


def _spared(case: Case) -> Outcome:
    """One cluster a user, on clusters that are twice as large as they are."""
    return RULES["exact"](replace(case, capacities=tuple(2 * c for c in case.capacities)))


search_claim(
    _level_at_most_tau,
    32,
    fewer=10,
    drawn={"users": (1, 3)},
    id="virtual_cluster.corollary_1.enough",
    locator="beyond the paper (Corollary 1)",
    kind="statement",
    variant="one cluster per user; the minimum is enough",
    statement="A user with 1 - k > tau need not be given more than its minimum: the least fraction is at most tau.",
    proof="prop-virtual_cluster-corollary1",
    mechanism=by_name("exact"),
    mutant=Mechanism("clusters twice as large", _spared),
)


def _numbers(case: Case, outcome: Outcome) -> str:
    return (
        f"The scarcity tau is {case.scarcity}, the minima are {in_words(case.minimum)}, and the users get "
        f"{in_words(outcome.vms)} VMs."
    )


about_a_case(
    "corollary_1.one_cluster",
    "Corollary 1",
    "A user with 1 - k > tau gets exactly its minimum.",
    small_case((5, 5), ("1/5", "3/5"), (5, 2)),
    lambda case, outcome: all(outcome.vms[i] == case.minimum[i] for i in _above(case)),
    _numbers,
    "exact",
    by_name("mixed_knapsack"),
)


def _below(case: Case) -> list[int]:
    """Users with 1 - k <= tau."""
    return [i for i, k in enumerate(case.tolerance) if 1 - k <= case.scarcity]


about_a_case(
    "corollary_2.more",
    "Corollary 2",
    "A user with 1 - k <= tau gets more than its minimum.",
    small_case((1, 2), ("0", "1/2"), (2,), whole=False),
    lambda case, outcome: all(outcome.vms[i] > case.minimum[i] for i in _below(case)),
    _numbers,
    "pool",
    by_name("in proportion"),
    variant="one pool, or one cluster per user",
)


def _at_most_tau(rule: Rule, case: Case) -> Number | None:
    outcome, users = rule(case), _below(case)
    if not users or not outcome.all_served or case.scarcity > 1:
        return None
    return min(case.scarcity * case.max_vms[i] - outcome.vms[i] for i in users)


search_claim(
    _at_most_tau,
    33,
    drawn={"whole": False},
    id="virtual_cluster.corollary_2.most.pool",
    locator="Corollary 2",
    kind="statement",
    variant="one pool of divisible VMs, shared max-min fairly, tau at most 1",
    statement="A user with 1 - k <= tau gets at most tau alpha.",
    proof="prop-virtual_cluster-corollary2",
    mechanism=by_name("pool"),
    mutant=by_name("exact"),
)


def _none_above(case: Case, outcome: Outcome) -> bool:
    return all(outcome.vms[i] <= case.scarcity * case.max_vms[i] for i in _below(case))


about_a_case(
    "corollary_2.most.whole",
    "Corollary 2",
    "A user with 1 - k <= tau gets at most tau alpha.",
    small_case((2, 2), ("1/2", "1/2"), (3,)),
    _none_above,
    _numbers,
    "pool",
    Mechanism("minima only", BROKEN["minima only"]),
    variant="one pool, whole VMs",
)
about_a_case(
    "corollary_2.most.one_cluster",
    "Corollary 2",
    "A user with 1 - k <= tau gets at most tau alpha.",
    small_case((3, 3), ("2/5", "2/5"), (3, 2), whole=False),
    _none_above,
    _numbers,
    "exact",
    by_name("pool"),
    variant="one cluster per user, divisible VMs",
)

# ------------------------------------------------------------------------------------------ limits, and Figure 1 itself


_KNAPSACK = "Where tau > 1, the algorithm becomes the solution of a knapsack problem."
about_a_case(
    "plenty.knapsack.printed",
    "Section 2.2, tau > 1",
    _KNAPSACK,
    small_case((4,), ("1/2",), (5,)),
    lambda case, queue: len(queue) == len(case.max_vms),
    lambda case, queue: (
        f"The scarcity tau is {case.scarcity}; step 4 packs {len(queue)} of {len(case.max_vms)} users. No k is at "
        "most 1 - tau, which is negative."
    ),
    Mechanism(
        "queue A: k <= 1 - tau", lambda case: [i for i, k in enumerate(case.tolerance) if k <= 1 - case.scarcity]
    ),
    Mechanism("queue A: k > 1 - tau", lambda case: [i for i, k in enumerate(case.tolerance) if k > 1 - case.scarcity]),
    variant="Figure 1 as printed, with step 4 packing everybody",
)


@sampled_claim(
    key=64,
    share=40,
    again=True,
    said="Compared with all packings of the alpha_i in {count} random cases with tau > 1.",
    id="virtual_cluster.plenty.knapsack.problem",
    locator="Section 2.2, tau > 1",
    kind="statement",
    variant="the question whether the alpha_i fit into the clusters",
    statement=_KNAPSACK,
    proof="prop-virtual_cluster-infeasible",
    mechanism=Mechanism("exact", partial(virtual_cluster, method="exact")),
    mutant=Mechanism("relaxation", partial(virtual_cluster, method="relaxation")),
)
def _packs(rng: np.random.Generator, judged: Mechanism, at: int) -> bool | None:
    case = cases(rng, whole=True)
    if case.scarcity <= 1:
        return None
    everything = replace(case, tolerance=(Fraction(0),) * len(case.max_vms))
    return (judged.run(*arguments(case)).min_fraction == 1) == any(True for _ in allocations(everything))


about_a_case(
    "plenty.full",
    "beyond the paper (section 3, tau > 1)",
    "Where tau > 1, everybody can have all it wants.",
    small_case((3, 3, 3), ("1", "1", "1"), (5, 5)),
    lambda case, outcome: outcome.level(case) == 1,
    lambda case, outcome: (
        f"The scarcity tau is {case.scarcity}, and the largest least fraction is {outcome.level(case)}."
    ),
    "exact",
    by_name("pool"),
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
def _easily(effort: Effort, judged: Mechanism) -> Iterator[Part]:
    runs = runs_of(effort)
    for size in study.SIZES:
        for users in judged.run(size):
            cases = [study.instance(stream(effort.seed, 61, r), size, users) for r in range(runs)]
            both = [[virtual_cluster(*case, method="metagreedy"), nearest_mixed(case)] for case in cases]
            part = np.mean([[(one.vms == one.requests.max_vms).mean() for one in pair] for pair in both], axis=0).min()
            words = f"{study.SIZES[size].clusters} clusters, load {30 * users / study.SIZES[size].vms:.2f}: "
            yield Part(bool(part >= 0.9), "numbers", words + f"{100 * part:.0f} % of the users do.", runs)


_EVEN = small_case((1, 1, 2), ("0", "0", "0"), (2, 2))
_NINE = small_case((4, 4, 3, 3, 2, 2), ("0",) * 6, (9, 9))
_TEN = small_case((3, 3, 2, 2), ("0",) * 4, (4, 6))

for _name, _asked, _reading in (
    ("relaxation", _EVEN, "relaxation"),
    ("greedy", _EVEN, "greedy, in the order of arrival"),
    ("metagreedy", _TEN, "greedy as METAGREEDY, whose 16 lists all fail in another instance"),
    ("mixed_knapsack", _NINE, "mixed knapsack, queue A from the largest minimum down"),
):
    about_a_case(
        f"feasible.{_name}",
        "Section 2.3",
        "Where everybody can be served, the algorithm finds an allocation that serves everybody.",
        _asked,
        lambda case, outcome: outcome.all_served,
        lambda case, outcome: (
            f"The algorithm finds {handed_out(outcome)} and serves {sum(j >= 0 for j in outcome.cluster)} of "
            f"{len(case.max_vms)} users; {handed_out(next(allocations(case)))} would serve all."
        ),
        _name,
        by_name("exact"),
        variant=_reading,
    )


def best_use(case: Case) -> Outcome:
    """Give one of the allocations that hand out most VMs."""
    return max(allocations(case), key=lambda outcome: sum(outcome.vms))


BEST_USE = "The algorithm makes the best use of the VMs: no allocation that serves all hands out more."
_HALF = small_case((1, 1, 2), ("0", "0", "1/2"), (2, 2))
_LEFT = small_case((1, 2), ("1/2", "1/2"), (2, 1))
APART = small_case((4, 4), ("3/4", "3/4"), (4, 1))

for _name, _where, _asked, _better in (
    ("relaxation", "Section 2.1", _HALF, "exact"),
    ("greedy", "beyond the paper (section 3.2)", _HALF, "exact"),
    ("metagreedy", "beyond the paper (section 3.2)", APART, "relaxation"),
    ("mixed_knapsack", "beyond the paper (section 3.2)", _LEFT, "exact"),
):
    about_a_case(
        f"use.{_name}",
        _where,
        BEST_USE,
        _asked,
        lambda case, outcome: outcome.all_served and sum(outcome.vms) == sum(best_use(case).vms),
        lambda case, outcome: f"It hands out {handed_out(outcome)}; it could hand out {handed_out(best_use(case))}.",
        _name,
        by_name(_better),
        variant=_name.replace("_", " "),
    )


def _most_where_they_are(case: Case, cluster: Sequence[int]) -> int:
    """Most VMs that users can hold on given clusters, each at least its minimum, found by trying all."""
    most = 0
    for j, room in enumerate(case.capacities):
        there = [range(case.minimum[i], case.max_vms[i] + 1) for i in range(len(cluster)) if cluster[i] == j]
        most += max(total for total in map(sum, product(*there)) if total <= room)
    return most


@sampled_claim(
    key=39,
    share=20,
    again=True,
    said="Compared with all ways to share, users staying where they are, in {count} random cases.",
    id="virtual_cluster.use.second_step",
    locator="Section 2.1",
    kind="statement",
    variant="the relaxation's second step alone; users stay where the first has put them",
    statement=BEST_USE,
    proof="lem-virtual_cluster-share",
    mechanism=Mechanism("relaxation", partial(virtual_cluster, method="relaxation")),
    mutant=Mechanism("one VM taken back", lambda *case: _one_less(virtual_cluster(*case, method="relaxation"))),
)
def _second_step(rng: np.random.Generator, judged: Mechanism, at: int) -> bool | None:
    case = cases(rng, whole=True)
    found = judged.run(*arguments(case))
    if not found.served.all():
        return None
    return int(found.vms.sum()) == _most_where_they_are(case, found.cluster.tolist())


def _one_less(found: VirtualClusters) -> VirtualClusters:
    """Take a VM from a user that has most of them."""
    return replace(found, vms=found.vms - (np.arange(len(found.vms)) == found.vms.argmax()))


def _served_though(rule: Rule, case: Case) -> Number | None:
    if any(k >= 1 - case.scarcity for k in case.tolerance):
        return None
    return -1 if rule(case).all_served else 0


search_claim(
    _served_though,
    34,
    id="virtual_cluster.infeasible",
    locator="Section 2.2, all k < 1 - tau",
    kind="statement",
    statement="Where all k < 1 - tau, no allocation meets all minima.",
    proof="prop-virtual_cluster-infeasible",
    mechanism=by_name("pool"),
    mutant=by_name("in proportion"),
)


def _printed(case: Case, adjusted: bool = False) -> list[int]:
    """Users left before each round of Figure 1, at most five rounds; nine do not count as few enough.

    ``adjusted``: the problem left counts as small enough where queue A is empty.
    """
    left, room = list(range(len(case.max_vms))), Fraction(sum(case.capacities))
    counts: list[int] = []
    while left and len(counts) < 5:
        counts.append(len(left))
        tau = room / sum(case.max_vms[i] for i in left)
        queue = [i for i in left if case.tolerance[i] <= 1 - tau]
        if adjusted and not queue:
            break
        room -= sum(case.minimum[i] for i in queue)
        left = [i for i in left if i not in queue]
    return counts


_ADJUSTED = Mechanism("Figure 1, ended where queue A is empty", partial(_printed, adjusted=True))
_ENDS = "Step 7b hands on a smaller problem, so the algorithm ends."
about_a_case(
    "figure1",
    "Figure 1",
    _ENDS,
    small_case((2,) * 9, ("9/10",) * 9, (9,)),
    lambda case, counts: all(a > b for a, b in pairwise(counts)),
    lambda case, counts: (
        f"The scarcity tau is {case.scarcity} and queue A is empty, so no round serves anybody: the first rounds "
        f"begin with {', '.join(map(str, counts))} users."
    ),
    Mechanism("Figure 1", _printed),
    _ADJUSTED,
    variant="as printed, one pool, a fixed size that counts as small enough",
    kind="algorithm",
)


@sampled_claim(
    key=66,
    share=20,
    said="Followed in fractions on {count} random pools with up to four users.",
    id="virtual_cluster.figure1_adjusted",
    locator="Figure 1",
    kind="algorithm",
    variant="one pool; the problem counts as small enough once queue A is empty",
    statement=_ENDS,
    proof="thm-virtual_cluster-rounds",
    mechanism=_ADJUSTED,
    mutant=Mechanism("Figure 1", _printed),
)
def _ends(rng: np.random.Generator, judged: Mechanism, at: int) -> bool:
    case = cases(rng, whole=False)
    counts = judged.run(case)
    return len(counts) <= len(case.max_vms) and all(a > b for a, b in pairwise(counts))


def _tau(case: Case, at: int) -> Number:
    """Tau of one of the rounds, at most 1."""
    return min(Fraction(1), rounds(case.max_vms, case.tolerance, sum(case.capacities))[at][0])


@sampled_claim(
    key=35,
    share=10,
    right=lambda found: all(agrees for agrees, _ in found),
    said=lambda found: (
        f"Compared in fractions, and with the engine, on {len(found)} random pools; "
        f"{sum(many for _, many in found)} take three rounds or more."
    ),
    id="virtual_cluster.rounds",
    locator="beyond the paper (Figure 1)",
    kind="extension",
    variant="one pool of divisible VMs, minima that fit",
    statement="The last tau of Figure 1, or 1, is the level of max-min fairness above the minima, after at most n "
    "rounds in which tau never grows.",
    proof="thm-virtual_cluster-rounds",
    mechanism=Mechanism("last tau", partial(_tau, at=-1)),
    mutant=Mechanism("first tau", partial(_tau, at=0)),
)
def _rounds(rng: np.random.Generator, judged: Mechanism, at: int) -> tuple[bool, bool] | None:
    case = cases(rng, whole=False, users=(1, 6))
    poured = pour(case)
    if not poured.all_served:
        return None
    tau = judged.run(case)
    steps = rounds(case.max_vms, case.tolerance, sum(case.capacities))
    wanted, tolerance, capacities = arguments(case)
    engine = virtual_cluster(wanted, tolerance, [sum(capacities)], method="spanning", whole=False)
    level = [v == max(m, min(tau * a, a)) for v, m, a in zip(poured.vms, case.minimum, case.max_vms, strict=True)]
    agrees = all(level) and np.allclose(engine.vms, np.array(poured.vms, float), 1e-9, 0) and len(steps) <= len(wanted)
    return agrees and all(a[0] >= b[0] for a, b in pairwise(steps)), len(steps) > 2


def _is_listed(case: Case) -> bool:
    """Whether the largest least fraction is one of the numbers p / alpha, or 0."""
    best = exact_optimum(case.max_vms, case.tolerance, case.capacities, case.whole)
    return best is None or any((best.level * a).denominator == 1 for a in case.max_vms)


@sampled_claim(
    key=62,
    share=40,
    said="Compared with the optimum in fractions in {count} random cases.",
    id="virtual_cluster.whole",
    locator="Section 2.3, whole VMs",
    kind="statement",
    variant="what is searched for is one of finitely many numbers",
    statement="Whole VMs make the problem simpler: the largest Y is one of the numbers p / alpha.",
    proof="lem-virtual_cluster-sizes",
    mechanism=Mechanism("whole VMs", _is_listed),
    mutant=Mechanism("VMs not whole", lambda case: _is_listed(replace(case, whole=False))),
)
def _whole(rng: np.random.Generator, judged: Mechanism, at: int) -> bool:
    return bool(judged.run(cases(rng, users=(1, 4), clusters=(1, 3), whole=True)))
