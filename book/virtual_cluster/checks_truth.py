"""The claims about what it pays to state: tolerances, requests and floors."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from book.common.claims.registry import Mechanism
from book.common.evidence import sampled_claim
from book.virtual_cluster.judging import Number, about_a_case, by_name, search_claim, small_case
from book.virtual_cluster.properties import Case, Rule, Tariff, cases, pour, total_cost


def _less_tolerant(rule: Rule, case: Case) -> Number | None:
    """How many VMs, and how much on its bill, the first user gains at least if it halves its tolerance."""
    said = case.saying(0, tolerance=case.tolerance[0] / 2)
    before, after = rule(case), rule(said)
    if not case.tolerance[0] or not before.all_served or not after.all_served:
        return None
    tariff = Tariff()
    more = tariff.cost(said.max_vms[0], said.tolerance[0], after.vms[0])
    more -= tariff.cost(case.max_vms[0], case.tolerance[0], before.vms[0])
    return min(after.vms[0] - before.vms[0], more)


_LOWER_K = "A user who tolerates less gets no fewer VMs, and pays no less."


search_claim(
    _less_tolerant,
    47,
    drawn={"whole": False},
    id="virtual_cluster.lower_k.pool",
    locator="Section 1.2, what a low k does",
    kind="statement",
    variant="one pool of divisible VMs, shared max-min fairly",
    statement=_LOWER_K,
    proof="thm-virtual_cluster-truth",
    mechanism=by_name("pool"),
    mutant=by_name("rule b as printed"),
)


def _both_ways(rule: Rule, tariff: Tariff, case: Case, **said: Any) -> list[tuple[Number, Fraction]]:
    """VMs of use to the first user, and what it pays for all it gets: with the truth, and with what it says."""
    every = [(one, rule(one).vms[0]) for one in (case, case.saying(0, **said))]
    return [(min(v, case.max_vms[0]), tariff.cost(one.max_vms[0], one.tolerance[0], v)) for one, v in every]


def _stating(name: str, rule: Mechanism, *tariff: Fraction, **said: Any) -> Mechanism:
    return Mechanism(name, partial(_both_ways, rule.run, Tariff(*tariff), **said))


about_a_case(
    "lower_k.rule_b",
    "Section 1.2, what a low k does",
    _LOWER_K,
    small_case((4, 3), ("3/4", "2/3"), (5,)),
    lambda case, got: all(then >= now for now, then in zip(*got, strict=True)),
    lambda case, got: (
        f"The first user gets {got[0][0]} VMs and pays {got[0][1]} at tariffs 2 and 1. If it states k = 1/2, it gets "
        f"{got[1][0]} and pays {got[1][1]}: now rule b serves the second user first."
    ),
    _stating("rule b as printed", by_name("rule b as printed"), tolerance=Fraction(1, 2)),
    _stating("pool", by_name("pool"), tolerance=Fraction(1, 2)),
    variant="one pool, free VMs by rule b as printed",
)


about_a_case(
    "truth.tolerance",
    "beyond the paper (section 1.2, what to state)",
    "Nobody gets the same VMs for less by stating another tolerance.",
    small_case((4, 4), ("1/2", "1/2"), (10,)),
    lambda case, got: not (got[1][0] >= got[0][0] and got[1][1] < got[0][1]),
    lambda case, got: (
        f"With k = 1/2 the first user gets {got[0][0]} VMs and pays {got[0][1]}; with k = 1 it gets {got[1][0]} "
        f"and pays {got[1][1]}."
    ),
    _stating("tariffs 2 and 1", by_name("exact"), tolerance=Fraction(1)),
    _stating("one tariff", by_name("exact"), Fraction(1), Fraction(1), tolerance=Fraction(1)),
    variant="overstating k",
    kind="extension",
)


about_a_case(
    "truth.request",
    "beyond the paper (section 1.2, what to state)",
    "Nobody gets more useful VMs by stating another number of VMs.",
    small_case((4, 4), ("1", "1"), (4,)),
    lambda case, got: got[1][0] <= got[0][0],
    lambda case, got: f"Stating 12 instead of 4, the first user gets {got[1][0]} instead of {got[0][0]}.",
    _stating("exact", by_name("exact"), max_vms=12),
    _stating("equal numbers", by_name("equal numbers"), max_vms=12),
    variant="inflating alpha",
    kind="extension",
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


@sampled_claim(
    key=44,
    share=40,
    said="Against all multiples of 1/20 as stated floors, in fractions, on {count} random pools.",
    id="virtual_cluster.truth.best",
    locator="beyond the paper (section 1.2, what to state)",
    kind="extension",
    variant="one pool of divisible VMs, floors that fit",
    statement="What it is best to state is one of three floors: nothing, the true one, or everything; the true one "
    "exactly where it is above the level that the others leave and a VM is worth no more than the high tariff.",
    proof="thm-virtual_cluster-truth",
    mechanism=Mechanism("the theorem's floor", _best_floor),
    mutant=Mechanism("the true floor", lambda case, user, value, tariff: 1 - case.tolerance[user]),
)
def _best(rng: np.random.Generator, judged: Mechanism, at: int) -> bool | None:
    tariff = Tariff()
    case = cases(rng, users=(2, 4), clusters=(1, 1), whole=False)
    value = Fraction(int(rng.integers(5, 25)), 5)
    if not pour(case.saying(0, tolerance=Fraction(0))).all_served:
        return None
    return _none_better(case, 0, judged.run(case, 0, value, tariff), value, 20)


def _none_better(case: Case, user: int, floor: Fraction, value: Fraction, steps: int) -> bool:
    """Whether stating this floor is possible, and none of the multiples of 1 / steps is worth more."""
    now, *others = (
        _worth(case, user, one, value, Tariff()) for one in (floor, *(Fraction(g, steps) for g in range(steps + 1)))
    )
    return now is not None and all(other is None or other <= now for other in others)


def _stated(case: Case) -> Case:
    """What everybody states in the end: floors at or below the level are not stated."""
    level = pour(case).level(case)
    return replace(case, tolerance=tuple(Fraction(1) if 1 - k <= level else k for k in case.tolerance))


@sampled_claim(
    key=45,
    share=40,
    said="Same VMs, the loss, and no gain by any multiple of 1/10 as a floor, in fractions, on {count} pools.",
    id="virtual_cluster.truth.loss",
    locator="beyond the paper (section 1.2, what to state)",
    kind="extension",
    variant="one pool of divisible VMs, a VM worth between the tariffs",
    statement="Where everybody states what is best for it, all get the same VMs as if they told the truth, and the "
    "provider loses the difference of the tariffs on all floors at or below the level.",
    proof="thm-virtual_cluster-truth",
    mechanism=Mechanism("equilibrium", _stated),
    mutant=Mechanism("truth", lambda case: case),
)
def _loss(rng: np.random.Generator, judged: Mechanism, at: int) -> bool | None:
    tariff = Tariff()
    case = cases(rng, users=(2, 4), clusters=(1, 1), whole=False)
    honest = pour(case)
    if not honest.all_served:
        return None
    said = judged.run(case)
    outcome, level = pour(said), honest.level(case)
    lost = total_cost(case, honest, tariff) - total_cost(said, outcome, tariff)
    floors = [(1 - k) * a for k, a in zip(case.tolerance, case.max_vms, strict=True)]
    hidden = sum((f for f, a in zip(floors, case.max_vms, strict=True) if f <= level * a), Fraction(0))
    return (
        outcome.vms == honest.vms
        and lost == (tariff.high - tariff.low) * hidden
        and all(
            _none_better(said.saying(i, tolerance=case.tolerance[i]), i, 1 - said.tolerance[i], Fraction(3, 2), 10)
            for i in range(len(case.max_vms))
        )
    )


def _slow_bound(rule: Rule, case: Case) -> Number | None:
    outcome, tau = rule(case), min(Fraction(1), case.scarcity)
    if not outcome.all_served:
        return None
    mean = sum(((1 - k) * a for k, a in zip(case.tolerance, case.max_vms, strict=True)), Fraction(0))
    mean /= sum(case.max_vms)
    level = outcome.level(case)
    return (1 - level) if mean == 1 else min(level - (tau - mean) / (1 - mean), tau - level)


search_claim(
    _slow_bound,
    46,
    drawn={"whole": False},
    id="virtual_cluster.tolerant",
    locator="Section 1.2, a high k need not slow a job much",
    kind="statement",
    variant="one pool of divisible VMs, shared max-min fairly",
    statement="However high its k, a user keeps at least (tau - f) / (1 - f) of its request, f being the mean floor: "
    "all of it where tau is 1.",
    proof="prop-virtual_cluster-tolerance",
    mechanism=by_name("pool"),
    mutant=by_name("minima only"),
)
