"""What the paper asks of whole tasks, as margins in whole numbers: below 0 where a property is broken."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from book.common.evidence import as_data

Tasks = Sequence[int]


class Case(NamedTuple):
    """Users who share one pool in whole tasks.

    Attributes
    ----------
    demands : tuple of tuple of int, shape (n, m)
        Resource per task, at least 0, one of them positive in each row.
    capacities : tuple of int, shape (m,)
    weights : tuple of int, shape (n,)
        Positive. Equal ones are the paper's case.
    """

    demands: tuple[tuple[int, ...], ...]
    capacities: tuple[int, ...]
    weights: tuple[int, ...]

    def as_data(self, tasks: Tasks) -> dict[str, Any]:
        """Give the case and what SequentialMinMax gives as data."""
        if len(set(self.weights)) == 1:
            call = "fb.sequential_minmax(demands, capacities=capacities).tasks"
            return as_data(call, tasks, demands=self.demands, capacities=self.capacities)
        call = "fb.sequential_minmax(demands, weights=weights, capacities=capacities).tasks"
        return as_data(call, tasks, **self._asdict())

    def __str__(self) -> str:
        text = f"tasks of {list(map(list, self.demands))} in a pool of {list(self.capacities)}"
        return text if len(set(self.weights)) == 1 else f"{text}, weights {list(self.weights)}"


def fit(amounts: Sequence[int | Fraction], demand: Sequence[int]) -> int:
    """Count the whole tasks that fit into amounts of each resource.

    Examples
    --------
    >>> fit((7, 9), (2, 4)), fit((7, 0), (2, 0))
    (2, 3)
    """
    return int(min(amount // need for amount, need in zip(amounts, demand, strict=True) if need))


def pareto(case: Case, tasks: Tasks) -> int:
    """Give 0 where nobody's next task fits, -1 where somebody's does."""
    used = [sum(x * row[j] for x, row in zip(tasks, case.demands, strict=True)) for j in range(len(case.capacities))]
    left = [size - amount for size, amount in zip(case.capacities, used, strict=True)]
    return -any(fit(left, row) > 0 for row in case.demands)


def sharing(case: Case, tasks: Tasks) -> int:
    """Give the tasks of a user beyond those that its own part of the pool would hold, the least over the users."""
    total = sum(case.weights)
    return min(
        x - fit([Fraction(w * size, total) for size in case.capacities], row)
        for x, row, w in zip(tasks, case.demands, case.weights, strict=True)
    )


def _envy(case: Case, tasks: Tasks, dropped: int, excused: int) -> int:
    """Give the least, over all i and h, of x_i minus the tasks of i in what h holds for each unit of weight."""
    margins = [0]
    for i, row in enumerate(case.demands):
        for h, other in enumerate(case.demands):
            held = Fraction(case.weights[i] * max(tasks[h] - dropped, 0), case.weights[h])
            margins.append(tasks[i] + excused - fit([held * need for need in other], row))
    return min(margins)


def envy_own_task(case: Case, tasks: Tasks) -> int:
    """Envy up to one bundle, of the envious: nobody could run two tasks more with what another holds.

    Weights scale what the other holds. Cost O(n^2 m).

    Examples
    --------
    >>> case = Case(((2,), (5,)), (8,), (1, 1))
    >>> envy_own_task(case, (4, 0)), envy_other_task(case, (4, 0))
    (0, -1)
    """
    return _envy(case, tasks, 0, 1)


def envy_other_task(case: Case, tasks: Tasks) -> int:
    """Envy up to one bundle, of the envied: nobody could run a task more with what another holds but for one task."""
    return _envy(case, tasks, 1, 0)


#: A property: at least 0 where it holds.
Margin = Callable[[Case, Tasks], int]
