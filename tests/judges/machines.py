"""Whole tasks on machines, by a look at everybody and every machine before each; DRFH in fractions by programs."""

from collections.abc import Callable, Iterable
from functools import partial
from math import floor, inf, log
from typing import Any

import numpy as np
from scipy.optimize import linprog

from tests.judges.periods import distance
from tests.judges.pool import Row, Rows, drf_by_task, fits, times, total


class Cell:
    """Machines with what they hold; shares are parts of all of them."""

    def __init__(self, demands: Rows, machines: Rows) -> None:
        self.demands, self.size, self.pool = demands, machines, total(machines)
        self.shares = [[d / s if s else d for d, s in zip(row, self.pool, strict=True)] for row in demands]
        self.runs = [[0] * len(demands) for _ in machines]
        self.placed: list[tuple[int, int]] = []

    def free(self, j: int) -> list[Any]:
        return [c - x for c, x in zip(self.size[j], total(times(self.demands, self.runs[j])), strict=True)]

    def types(self, machine_type: str = "share") -> list[list[int]]:
        """Resources of which each machine has most."""
        unit = [s if s and machine_type == "share" else 1 for s in self.pool]
        have = [[c / u for c, u in zip(row, unit, strict=True)] for row in self.size]
        return [[r for r, c in enumerate(row) if c == max(row)] for row in have]

    def wanted(self, lot: Row) -> list[list[int]]:
        """Resources of each user, the dominant one first."""
        rows = list(zip(self.shares, self.demands, strict=True))
        return [sorted(range(len(need)), key=lambda r: (-share[r], -need[r], lot[r])) for share, need in rows]

    def place(self, i: int, suited: Callable[[list[int]], list[int]], value: Callable[[int], Any]) -> bool:
        """Put a task on the suited machine of the largest value, which is a float up to 1e-12; False where none is."""
        worth = {j: value(j) for j in suited([j for j in range(len(self.size)) if fits(self.demands[i], self.free(j))])}
        for j, much in worth.items():
            if all(much >= other or much >= other - 1e-12 * max(1, abs(other)) for other in worth.values()):
                self.runs[j][i] += 1
                self.placed.append((i, j))
                return True
        return False

    @property
    def found(self) -> dict[str, Any]:
        return {"placed_user": [i for i, _ in self.placed], "placed_machine": [j for _, j in self.placed]}


def nearest(room: list[int], types: Rows, wanted: Row) -> list[int]:
    """Those of the machines that have the first wanted type that any of them has."""
    return next((some for r in wanted if (some := [j for j in room if r in types[j]])), [])


def gdrf(
    demands: Rows, machines: Rows, max_tasks: Row, lots: Any, *,
    match: str, least: str, machine_type: str, choice: str, queue: str,
) -> dict[str, Any]:  # fmt: skip
    """GDRF 2016, Algorithms 1 to 3."""
    cell, n = Cell(demands, machines), len(demands)
    gdrs = [max(row) for row in cell.shares]
    rank = sorted(range(n), key=lambda i: (-gdrs[i], -sum(cell.shares[i]) / gdrs[i], lots[0][i]))
    wanted, types = cell.wanted(lots[1]), cell.types(machine_type)
    size = {"amount": [*map(sum, demands)], "dominant_share": gdrs, "shares": [*map(sum, cell.shares)]}[least]
    promised, out = [0] * n, set[int]()

    def fairness(i: int, j: int) -> Any:
        runs = [x + (h == i and choice == "fairness_after") for h, x in enumerate(cell.runs[j])]
        T, w = (sum(x * y for x, y in zip(runs, each, strict=True)) for each in (gdrs, [*map(sum, demands)]))
        empty = {"fairness": 0, "fairness_empty_last": -inf}.get(choice)  # log of 0^0
        return -j if choice == "first" else float(w / sum(machines[j])) * log(T) if T else empty

    while True:
        slots: list[int] = []
        for _ in range(n if queue == "rounds" else 1):
            if asks := [i for i in rank if i not in out and (max_tasks[i] is None or promised[i] + 1 <= max_tasks[i])]:
                slots.append(min(asks, key=lambda i: promised[i] * size[i]))
                promised[slots[-1]] += 1
        if not slots:
            return cell.found
        for i in sorted(slots, key=rank.index):
            wants = wanted[i][: 1 if match == "same" else None]
            suited = partial(nearest, types=types, wanted=wants) if match != "any" else lambda room: room
            if not cell.place(i, suited, partial(fairness, i)):
                out.add(i)


def progressive(
    cell: Cell, max_tasks: Row, per_task: Row, order: Iterable[int], suited: Any, value: Any
) -> dict[str, Any]:
    """A task at a time to the lowest level; who finds no machine leaves."""
    has, inside = [0] * len(per_task), list(order)
    while asks := [i for i in inside if max_tasks[i] is None or has[i] + 1 <= max_tasks[i]]:
        i = min(asks, key=lambda i: has[i] * per_task[i])
        if cell.place(i, partial(suited, i), partial(value, i)):
            has[i] += 1
        else:
            inside.remove(i)
    return cell.found


def drfh(demands: Rows, machines: Rows, max_tasks: Row, weights: Row, method: str) -> dict[str, Any]:
    """Wang et al. 2015: progressive filling with a rule for the machine, or the optimum in fractions of tasks."""
    cell = Cell(demands, machines)
    per_task = [max(share) / w for share, w in zip(cell.shares, weights, strict=True)]
    if method == "fluid":
        return {"tasks": leximin(demands, machines, max_tasks, per_task)}
    value = {"first_fit": lambda i, j: -j, "best_fit": lambda i, j: -distance(demands[i], cell.free(j), cell.pool)}[
        method
    ]
    return progressive(cell, max_tasks, per_task, range(len(per_task)), lambda i, room: room, value)


def leximin(demands: Rows, machines: Rows, max_tasks: Row, per_task: Row) -> Any:
    """Tasks of the lexicographic max-min optimum of levels: a linear program for each user that may rise."""
    need, size, rate = (np.array(one, float) for one in (demands, machines, per_task))
    (n, m), K = need.shape, len(size)
    use, each = np.einsum("kl,ir->krli", np.eye(K), need).reshape(K * m, K * n), np.tile(np.eye(n), K)
    most = np.array([1e6 if b is None else float(floor(b)) for b in max_tasks])
    able = ((size[:, None] > 0) | (need == 0)).all(axis=2).ravel()
    fixed, low = np.zeros(n, bool), np.zeros(n)

    def highest(users: Any) -> float:
        """The highest level that some users can all have; the others keep theirs."""
        rise = np.isin(np.arange(n), users)
        rows = np.block([[use, np.zeros((K * m, 1))], [-each * rate[:, None], rise[:, None]], [each, np.zeros((n, 1))]])
        right = np.concatenate([size.ravel(), np.where(rise, 0, -low * (1 - 1e-9)), most])
        limits = [(0, None if one else 0) for one in able] + [(0, None)]
        return -float(linprog(-np.eye(K * n + 1)[-1], rows, right, bounds=limits).fun)

    while not fixed.all():
        free = np.flatnonzero(~fixed)
        low[free] = highest(free)
        fixed[[i for i in free if highest([i]) <= low[i] * (1 + 1e-6) + 1e-9]] = True
    return low / rate


def mdrf(demands: Rows, machines: Rows, max_tasks: Row, lots: Any, reading: str) -> dict[str, Any]:
    """The stand-in for MDRF: the lowest dominant share; the machine least entropy away, or of the nearest type."""
    cell = Cell(demands, machines)
    per_task, wanted, types = [max(row) for row in cell.shares], cell.wanted(lots[1]), cell.types()
    order = sorted(range(len(per_task)), key=lambda i: (-sum(cell.shares[i]) / per_task[i], lots[0][i]))

    def suited(i: int, room: list[int]) -> list[int]:
        return room if reading == "entropy" else nearest(room, types, wanted[i])

    def likeness(i: int, j: int) -> Any:
        need, free = cell.shares[i], [c / s if s else c for c, s in zip(cell.free(j), cell.pool, strict=True)]
        pairs = zip([d / sum(need) for d in need], [c / sum(free) for c in free], strict=True)
        return -j if reading == "type" else -sum(float(p) * log(p / q) for p, q in pairs if p)

    return progressive(cell, max_tasks, per_task, order, suited, likeness)


def per_server_drf(demands: Rows, machines: Rows, max_tasks: Row, weights: Row) -> dict[str, Any]:
    """DRF in whole tasks on each machine by itself; what a user may have is used up on the way."""
    bounds, placed = list(max_tasks), Cell(demands, machines)
    for j, size in enumerate(machines):
        has = [r for r, c in enumerate(size) if c]
        able = [i for i, row in enumerate(demands) if all(size[r] for r, d in enumerate(row) if d)]
        rows, limits, parts = (
            [[demands[i][r] for r in has] for i in able],
            [bounds[i] for i in able],
            [weights[i] for i in able],
        )
        for i, x in zip(able, drf_by_task(rows, parts, [size[r] for r in has], limits)["tasks"], strict=True):
            bounds[i] = None if bounds[i] is None else bounds[i] - x
            placed.placed += [(i, j)] * x
    return placed.found
