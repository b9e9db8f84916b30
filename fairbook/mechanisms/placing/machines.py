"""Machines as the rules see them: one by one, each with what it holds; and the way from a cell to a rule and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbook.model.inputs import FITS
from fairbook.model.placement import Cell, Placement


class Machines:
    """Machines and the tasks on them, for numbers of any kind.

    Tasks may overdraw a machine by the part ``near`` of it, and what lies as near to each other is tied.
    """

    def __init__(self, demands: Any, machines: Any, machine_counts: Any, near: Any = 0) -> None:
        counts = machine_counts or [1] * len(machines)
        self.demands, self.near = demands, near
        self.size = [row for row, count in zip(machines, counts, strict=True) for _ in range(count)]
        self.pool = [sum(count * c for count, c in zip(counts, column, strict=True)) for column in zip(*machines)]
        self.shares = [[d / s if d else d for d, s in zip(row, self.pool, strict=True)] for row in demands]
        self.used = [[0 * c for c in row] for row in self.size]
        self.runs = [[0] * len(demands) for _ in self.size]  # tasks of each user on each machine
        self.placed: list[tuple[int, int]] = []

    def free(self, i: int, j: int) -> list[Any]:
        """What is free on a machine; of what user i needs and is used up, what could still be overdrawn."""
        rows = zip(self.demands[i], self.size[j], self.used[j], strict=True)
        return [c - u if c > u else c * (1 + self.near) - u if d else 0 * c for d, c, u in rows]

    def room(self, i: int) -> list[int]:
        """List the machines with room for a task of user i; of those alike in size and tasks only the first."""
        found: dict[Any, int] = {}
        for j, (size, used) in enumerate(zip(self.size, self.used, strict=True)):
            if all(d <= c * (1 + self.near) - u for d, c, u in zip(self.demands[i], size, used, strict=True)):
                found.setdefault((*size, *self.runs[j]), j)
        return list(found.values())

    def place(self, i: int, among: Iterable[int], value: Callable[[int, int], Any]) -> None:
        """Place a task of user i on the machine j of the largest ``value(i, j)``, ties: the lowest number."""
        worth = {j: value(i, j) for j in among}
        largest = max(worth.values())
        j = next(j for j in worth if alike(worth[j], largest, self.near))
        self.used[j] = [u + d for u, d in zip(self.used[j], self.demands[i], strict=True)]
        self.runs[j][i] += 1
        self.placed.append((i, j))


def progressive(stand: Machines, max_tasks: Any, per_task: Any, rank: Any, among: Any, value: Any) -> list[Any]:
    """Progressive filling: a task at a time to the user with the lowest level, who leaves where none fits.

    ``per_task`` is the level of one task of each user, ``rank`` settles ties. The task goes to the machine of the
    largest ``value(i, j)`` in ``among(i, room)``.
    """
    tasks, inside = [0] * len(stand.demands), set(range(len(stand.demands)))
    while waiting := [i for i in inside if wants_more(max_tasks, tasks, i)]:
        i = lowest(waiting, lambda i: tasks[i] * per_task[i], rank, stand.near)
        if room := stand.room(i):
            stand.place(i, among(i, room), value)
            tasks[i] += 1
        else:
            inside.remove(i)
    return stand.placed


def lowest(among: Iterable[int], amount: Callable[[int], Any], rank: Any, near: Any) -> int:
    """Give whoever has least; of those within the part ``near`` of the least the first by rank."""
    amounts = {i: amount(i) for i in among}
    most = min(amounts.values()) * (1 + near)
    return min((i for i, has in amounts.items() if has <= most), key=rank.__getitem__)


def alike(one: Any, other: Any, near: Any) -> bool:
    """Tell whether two keys are equal; of floats, up to rounding."""
    if isinstance(one, tuple):
        return all(alike(a, b, near) for a, b in zip(one, other, strict=True))
    return bool(one == other or (near and abs(one - other) <= near * max(1, abs(other))))


def ranks(values: Any, near: Any) -> NDArray[np.int64]:
    """Rank the numbers of each row, the smallest 0; neighbours within the part ``near`` of each other share a rank.

    Numbers of any kind that are not negative. Quotients of decimals that are equal on paper differ by rounding in
    doubles, some 1e-16 of them; so they are compared by rank.

    >>> ranks(np.array([[0.3, 0.1 + 0.2, 0.1]]), 1e-12)
    array([[1, 1, 0]])
    """
    order = np.argsort(values, axis=-1, kind="stable")
    ascending = np.take_along_axis(values, order, axis=-1)
    above = (ascending[..., 1:] > ascending[..., :-1] * (1 + near)).astype(np.int64)
    found = np.zeros(values.shape, np.int64)
    np.put_along_axis(found, order[..., 1:], np.cumsum(above, axis=-1), axis=-1)
    return found


def wants_more(max_tasks: Any, held: Sequence[int], i: int) -> bool:
    """Tell whether a user asks for another whole task."""
    return bool(max_tasks is None or held[i] + 1 <= max_tasks[i])


def logarithm(powers: Iterable[tuple[Any, Any]]) -> float:
    """Logarithm of the product of x^e over pairs (x, e): roots have no value in fractions, so they are compared so."""
    return sum((float(e) * (log(x) if x else -inf) for x, e in powers), 0.0)


def as_arguments(cell: Cell) -> dict[str, Any]:
    """Give a cell as arguments of a rule."""
    return {
        "demands": cell.demands,
        "machines": cell.machines,
        "machine_counts": cell.machine_counts.tolist(),
        "max_tasks": cell.max_tasks.tolist(),
        "near": FITS,
    }


def as_placement(cell: Cell, placed: Sequence[tuple[int, int]], mechanism: str, full: bool = True) -> Placement:
    """Give what a rule has placed as a result."""
    users, machines = np.array(placed, np.int32).reshape(-1, 2).T
    return Placement(cell, users.copy(), machines.copy(), mechanism, full)
