"""The claims of Parkes, Procaccia and Shah (TEAC 2015) on whole tasks and on welfare, each with its check."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from book.common.claims.registry import Effort, Evidence, Mechanism, Part, claim
from book.common.evidence import computed, sampled, sampled_claim
from book.common.instances import sampler
from book.sequential_minmax import oracle, studies
from book.sequential_minmax.properties import (
    Case,
    Margin,
    Tasks,
    envy_other_task,
    envy_own_task,
    fit,
    pareto,
    sharing,
)
from fairbook.mechanisms.pool.drf import drf, drf_by_task
from fairbook.mechanisms.pool.sequential_minmax import sequential_minmax

#: Two kinds of tasks in a pool of eight: no allocation pleases everybody.
EIGHT = Case(((2,), (5,)), (8,), (1, 1))
#: The heavier user's one task fills the pool.
HEAVY = Case(((3,), (1,)), (3,), (2, 1))
#: Two units, and tasks of one or of both.
TWO_UNITS = (2,)


def _whole(rule: Callable[..., Any], **options: Any) -> Callable[..., Tasks]:
    def run(case: Case, **ties: Any) -> Tasks:
        return tuple(
            int(x)
            for x in rule(case.demands, weights=case.weights, capacities=case.capacities, **options, **ties).tasks
        )

    return run


def _one_after_the_other(case: Case, ties: str = "first") -> Tasks:
    """Serve the first user until nothing fits, then the second, and so on."""
    left, tasks = list(case.capacities), []
    for row in case.demands:
        tasks.append(fit(left, row))
        left = [amount - tasks[-1] * need for amount, need in zip(left, row, strict=True)]
    return tuple(tasks)


def _first_refusal_ends(case: Case, ties: str = "first") -> Tasks:
    """End where the next task of the user whose level would be lowest does not fit."""
    level, tasks, left = oracle.shares(case), [0] * len(case.demands), list(case.capacities)
    while True:
        i = min(range(len(tasks)), key=lambda h: (tasks[h] + 1) * level[h])
        if not fit(left, case.demands[i]):
            return tuple(tasks)
        tasks[i] += 1
        left = [amount - need for amount, need in zip(left, case.demands[i], strict=True)]


RULE = Mechanism("sequential_minmax", _whole(sequential_minmax), zeros=True)
BEFORE = Mechanism("drf_by_task", lambda case, ties="first": _whole(drf_by_task)(case), zeros=True)
IN_TURN = Mechanism("one_after_the_other", _one_after_the_other, zeros=True)
ENDS = Mechanism("first_refusal_ends", _first_refusal_ends, zeros=True)


def drawn(rng: np.random.Generator, weighted: bool) -> Case:
    """Draw two to four users and one to three resources in small whole numbers: zeros and ties are frequent."""
    n, m = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    demands = rng.integers(0, 7, (n, m))
    demands[np.arange(n), rng.integers(m, size=n)] = rng.integers(1, 7, n)
    weights = rng.integers(1, 4, n) if weighted else np.ones(n, int)
    return Case(tuple(map(tuple, demands.tolist())), tuple(rng.integers(6, 25, m).tolist()), tuple(weights.tolist()))


def _kept(margin: Margin, key: int, weighted: bool = False, **about: Any) -> None:
    """Register a property that the rule keeps: on drawn cases, with either rule for ties."""

    def look(rng: np.random.Generator, judged: Mechanism, at: int) -> Any:
        case = drawn(rng, weighted)
        tasks = judged.run(case, ties=("first", "last")[at % 2])
        if margin(case, tasks) < 0:
            return Part(False, "witness", f"Broken: for {case} it gives {list(tasks)}.", 1)
        return True

    sampled_claim(
        key=key,
        share=4,
        said="Kept in {count} instances in whole numbers, zeros and ties among them.",
        grade="search",
        **about,
    )(look)


_kept(
    pareto,
    1,
    weighted=True,
    id="sequential_minmax.pareto",
    locator="Theorem 5.4, Pareto optimality",
    kind="theorem",
    statement="Nobody can have another task without another having one less.",
    proof="thm-sequential_minmax-pareto",
    mechanism=RULE,
    mutant=ENDS,
)
_kept(
    sharing,
    2,
    id="sequential_minmax.sharing.equal",
    locator="Theorem 5.4, sharing incentive",
    kind="theorem",
    statement="Each of n users has at least the whole tasks that an n-th of every resource would hold.",
    proof="thm-sequential_minmax-sharing",
    mechanism=RULE,
    mutant=BEFORE,
)
_kept(
    sharing,
    3,
    weighted=True,
    id="sequential_minmax.sharing.weights",
    locator="beyond the paper (Theorem 5.4)",
    kind="extension",
    variant="with weights",
    proof="thm-sequential_minmax-sharing",
    mechanism=RULE,
    mutant=BEFORE,
    statement="Each user has at least the whole tasks that its weight's part of every resource would hold.",
)
_kept(
    envy_own_task,
    4,
    id="sequential_minmax.envy.own_task",
    locator="Theorem 5.4, envy-freeness up to one bundle",
    kind="theorem",
    variant="equal weights; a task of the envious user is disregarded",
    proof="thm-sequential_minmax-envy",
    statement="In what another holds, nobody could run two tasks more than it has; one is disregarded.",
    mechanism=RULE,
    mutant=IN_TURN,
)


@claim(
    id="sequential_minmax.envy.other_task",
    locator="beyond the paper (Theorem 5.4)",
    kind="extension",
    variant="a task of the envied user is disregarded",
    mechanism=RULE,
    mutant=BEFORE,
    statement="In what another holds, but for one of the other's tasks, nobody could run more tasks than it has.",
)
def _other_task(effort: Effort, judged: Mechanism) -> Evidence:
    tasks = judged.run(EIGHT)
    every = list(oracle.maximal(EIGHT))
    good = [x for x in every if sharing(EIGHT, x) >= 0 and envy_other_task(EIGHT, x) >= 0]
    return Evidence.of(
        computed(envy_other_task(EIGHT, tasks) >= 0, f"Given for {EIGHT}: {list(tasks)}.", 1, EIGHT.as_data(tasks)),
        computed(
            good,
            f"Of its {len(every)} Pareto optimal allocations, {list(map(list, every))}, none keeps this and "
            "the sharing incentive.",
            len(every),
        ),
    )


_kept(
    envy_other_task,
    5,
    id="sequential_minmax.before.other_task",
    locator="beyond the paper (Section 5)",
    kind="extension",
    variant="equal weights; a task of the envied user is disregarded",
    mechanism=BEFORE,
    mutant=RULE,
    statement="DRF task by task, which compares levels before the task: in what another holds, but for one of the "
    "other's tasks, nobody could run more tasks than it has.",
    proof="prop-sequential_minmax-before",
)


@claim(
    id="sequential_minmax.envy.weights",
    locator="beyond the paper (Theorem 5.4)",
    kind="extension",
    variant="with weights, by which what the other holds is scaled",
    mechanism=RULE,
    mutant=BEFORE,
    statement="In what another holds for each unit of weight, nobody could run two tasks more than it has.",
)
def _weights(effort: Effort, judged: Mechanism) -> Evidence:
    tasks = judged.run(HEAVY)
    return Evidence.of(
        computed(
            envy_own_task(HEAVY, tasks) >= 0,
            f"Given for {HEAVY}: {list(tasks)}. Twice what user 2 holds are two tasks of user 1.",
            1,
            HEAVY.as_data(tasks),
        )
    )


@claim(
    id="sequential_minmax.before.sharing",
    locator="Section 5, why the level after the task",
    kind="statement",
    statement="The sharing incentive is lost if the lowest level before the task is served, and if the least level is "
    "made as large as can be.",
    proof="prop-sequential_minmax-lost",
    mutant=RULE,
    mechanism=BEFORE,
)
def _before(effort: Effort, judged: Mechanism) -> Evidence:
    fairest = oracle.fairest_least(EIGHT) if judged is BEFORE else judged.run(EIGHT)

    def look(rng: np.random.Generator, rule: Mechanism, at: int) -> bool:
        case = drawn(rng, False)
        return sharing(case, rule.run(case)) < 0

    return Evidence.of(
        computed(
            sharing(EIGHT, judged.run(EIGHT)) < 0,
            f"The level before gives for {EIGHT}: "
            f"{list(judged.run(EIGHT))}. Half of the pool holds two tasks of user 1.",
            1,
        ),
        computed(sharing(EIGHT, fairest) < 0, f"The largest least level gives {list(fairest)}.", 1),
        sampled(
            look,
            effort,
            judged,
            key=6,
            share=4,
            right=any,
            said=lambda lost: f"The level before loses it in {sum(lost)} of {len(lost)} instances in whole numbers.",
        ),
    )


#: A mechanism: for each pair of reports, tasks of one or of two units, what is given.
Given = dict[tuple[int, int], Tasks]


def mechanisms() -> list[Given]:
    """List all Pareto optimal mechanisms for two users and two units of one resource."""
    found = {(a, b): list(oracle.maximal(Case(((a,), (b,)), TWO_UNITS, (1, 1)))) for a in (1, 2) for b in (1, 2)}
    return [dict(zip(found, chosen, strict=True)) for chosen in itertools.product(*found.values())]


def lie_pays(chosen: Given) -> bool:
    """Tell whether some user gets more true tasks by the other report."""
    for told, tasks in chosen.items():
        for i in (0, 1):
            lie = (3 - told[0], told[1]) if i == 0 else (told[0], 3 - told[1])
            if chosen[lie][i] * lie[i] // told[i] > tasks[i]:
                return True
    return False


def _fair(*margins: Margin) -> Callable[[Case, Tasks], bool]:
    return lambda case, tasks: all(margin(case, tasks) >= 0 for margin in margins)


@claim(
    id="sequential_minmax.incompatible",
    locator="Section 5, impossibility",
    kind="theorem",
    statement="No mechanism in whole tasks is Pareto optimal, strategy-proof, and free of envy up to one bundle; none "
    "is Pareto optimal, strategy-proof, and keeps the sharing incentive.",
    proof="thm-sequential_minmax-incompatible",
    mechanism=Mechanism(
        "fair_mechanisms",
        lambda: {"envy up to one bundle": _fair(envy_own_task), "the sharing incentive": _fair(sharing)},
    ),
    mutant=Mechanism("all_mechanisms", lambda: {"envy up to one bundle": _fair(), "the sharing incentive": _fair()}),
)
def _incompatible(effort: Effort, judged: Mechanism) -> Iterator[Part]:
    every = mechanisms()
    honest = [one for one in every if not lie_pays(one)]
    for name, kept in judged.run().items():
        fair = [
            one for one in every if all(kept(Case(((a,), (b,)), TWO_UNITS, (1, 1)), x) for (a, b), x in one.items())
        ]
        yield computed(
            not any(one in honest for one in fair),
            f"Two users, two units, tasks of one or two: of {len(every)} Pareto optimal mechanisms "
            f"{len(honest)} reward no lie and {len(fair)} keep {name}; none does both.",
            len(every),
        )


@claim(
    id="sequential_minmax.welfare",
    locator="Section 4, social welfare",
    kind="theorem",
    statement="With divisible tasks and m resources, the sum of DRF's dominant shares is at least the m-th part of the "
    "largest sum, and no mechanism with the sharing incentive promises more than that part.",
    proof="thm-sequential_minmax-welfare",
    mechanism=Mechanism("drf", drf),
    mutant=Mechanism("a_tenth_of_drf", lambda demands: drf(demands, capacities=np.full(demands.shape[1], 0.1))),
)
def _welfare(effort: Effort, judged: Mechanism) -> Evidence:
    draw = sampler(users=(2, 8), resources=(1, 4), zeros=True)

    def look(rng: np.random.Generator, rule: Mechanism, at: int) -> float:
        demands = draw(rng).demands
        had = studies.welfare(rule.run(demands).tasks, demands)
        return had * demands.shape[1] / studies.best_welfare(demands, 0.0)

    table = studies.bounds()
    m, k = table["m"], table["k"]
    return Evidence.of(
        sampled(
            look,
            effort,
            judged,
            key=7,
            share=40,
            right=lambda parts: min(parts) >= 1 - 1e-7,
            said=lambda parts: (
                f"m times DRF's part of the largest sum is at least {min(parts):.4f} in "
                f"{len(parts)} instances (linear programs)."
            ),
        ),
        computed(
            np.allclose(table["shared"], (m * m + k) / (m + k), rtol=1e-7),
            "With m users of one resource each "
            "and k of all alike, the most that the sharing incentive allows is (m^2 + k) / (m + k) of m, by a "
            f"linear program in {len(table)} cases: {table['part'].iloc[-1]:.3f} for m = 5, k = 1000.",
            len(table),
        ),
    )
