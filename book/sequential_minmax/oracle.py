"""SequentialMinMax as the paper says it, in fractions, and all allocations in whole tasks, without the engine."""

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import inf
from typing import NamedTuple

from book.sequential_minmax.properties import Case, Tasks, fit, pareto
from fairbook.mechanisms.pool.sequential_minmax import sequential_minmax_rule
from fairbook.mechanisms.readings import Ties


def shares(case: Case) -> list[Fraction]:
    """Give the dominant share of one task of each user, over its weight."""
    return [
        max(Fraction(need, size) for need, size in zip(row, case.capacities, strict=True)) / weight
        for row, weight in zip(case.demands, case.weights, strict=True)
    ]


class Step(NamedTuple):
    """A step: what was left before it, the largest level after it if a user who fits is served, who is served."""

    left: list[int]
    after: dict[int, Fraction]
    served: int


def course(case: Case, ties: str = "first", most: Sequence[float | None] | None = None) -> Iterator[Step]:
    """Serve in each step a user whose next task fits, so that the largest level of all after it is smallest.

    ``most`` bounds the tasks of each user, None where there is no bound. Cost O(t n (n + m)) fractions for t tasks.

    Examples
    --------
    >>> [step.served for step in course(Case(((2,), (5,)), (8,), (1, 1)))]
    [0, 0, 0, 0]
    """
    level, tasks, left = shares(case), [0] * len(case.demands), list(case.capacities)
    bounds = [inf if bound is None else bound for bound in most or [None] * len(tasks)]
    order = range(len(tasks)) if ties == "first" else range(len(tasks) - 1, -1, -1)
    while able := [i for i in order if fit(left, case.demands[i]) and tasks[i] + 1 <= bounds[i]]:
        after = {i: max((x + (h == i)) * level[h] for h, x in enumerate(tasks)) for i in able}
        i = min(able, key=after.__getitem__)  # the first of those that tie
        yield Step(left, after, i)
        tasks[i] += 1
        left = [amount - need for amount, need in zip(left, case.demands[i], strict=True)]


def served_in_turn(case: Case, ties: Ties = "first", most: Sequence[float | None] | None = None) -> list[int]:
    """Count the tasks of each user by the rule, in fractions; arguments as of :func:`course`."""
    exact = {"weights": [*map(Fraction, case.weights)], "capacities": [*map(Fraction, case.capacities)]}
    rows = [[*map(Fraction, row)] for row in case.demands]
    return sequential_minmax_rule(rows, **exact, max_tasks=most, ties=ties)[0]


def maximal(case: Case) -> Iterator[Tasks]:
    """Yield every allocation in whole tasks to which no task can be added.

    Cost: the product over the users of the tasks that each could run alone, plus one.

    Examples
    --------
    >>> list(maximal(Case(((5,), (12,)), (20,), (1, 1))))
    [(1, 1), (4, 0)]
    """
    most = [fit(case.capacities, row) for row in case.demands]
    for tasks in itertools.product(*(range(x + 1) for x in most)):
        used = [
            sum(x * row[j] for x, row in zip(tasks, case.demands, strict=True)) for j in range(len(case.capacities))
        ]
        if all(amount <= size for amount, size in zip(used, case.capacities, strict=True)) and not pareto(case, tasks):
            yield tasks


def fairest_least(case: Case) -> Tasks:
    """Give the allocation in whole tasks with the largest least level, then the largest second, and so on."""
    level = shares(case)
    return max(maximal(case), key=lambda tasks: sorted(x * one for x, one in zip(tasks, level, strict=True)))
