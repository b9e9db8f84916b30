"""GDRF and its opponents once more, as one would write them down in numpy: all machines looked at before every task.

Nothing is shared with the engine but the rules and the order in which the parts of a number are added up, so that
numbers which tie there tie here. What belongs to a machine alone (f) is kept and renewed where a task was placed;
what depends on the user, too, is computed for each machine anew.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

FITS = 1e-12


class Cell:
    """Machines one by one, and how they stand."""

    def __init__(self, demands: Any, machines: Any, counts: Any = None, max_tasks: Any = None) -> None:
        self.demands = np.asarray(demands, float)
        self.n, self.m = self.demands.shape
        kinds = np.asarray(machines, float)
        self.kind = np.repeat(np.arange(len(kinds)), np.ones(len(kinds), int) if counts is None else counts)
        self.capacity = kinds[self.kind]
        self.N = len(self.capacity)
        each = np.ones(len(kinds)) if counts is None else np.asarray(counts, float)
        self.totals = (each[:, None] * kinds).sum(axis=0)
        self.bounds = [math.inf] * self.n if max_tasks is None else [math.floor(b) if b < math.inf else b
                                                                     for b in max_tasks]
        self.shares = np.array([[d / s if s else 0.0 for d, s in zip(row, self.totals)] for row in self.demands])
        self.largest = [max(row) for row in self.shares.tolist()]
        self.limit = self.capacity * (1 + FITS)
        self.used = np.zeros((self.N, self.m))
        self.stakes = np.zeros((self.N, self.m))  # of whose dominant resource it is
        self.size = self.capacity.sum(axis=1).tolist()

    def weight(self, i: int) -> float:
        """GDRW, (6)."""
        top, d, total = self.shares[i].argmax(), self.demands[i], self.totals
        return math.fsum(d[r] * total[top] / (d[top] * total[r]) for r in range(self.m) if d[r])

    def room(self, i: int) -> Any:
        return (self.limit - self.used >= self.demands[i]).all(axis=1)

    def add(self, i: int, j: int, dominant: int) -> None:
        self.used[j] += self.demands[i]
        self.stakes[j, dominant] += self.demands[i, dominant]

    def log_f(self, j: int, i: int = -1, dominant: int = -1) -> float:
        """Logarithm of f on a machine, with one task more of user i."""
        w = s = 0.0
        for r in range(self.m):
            w += self.used[j, r] + (self.demands[i, r] if i >= 0 else 0.0)
            stake = self.stakes[j, r] + (self.demands[i, r] if i >= 0 and r == dominant else 0.0)
            s += stake / self.totals[r] if stake else 0.0
        return w / self.size[j] * math.log(s) if s else 0.0


def preference(cell: Cell, lot: Any) -> list[list[int]]:
    """Resources of each user, the dominant one first."""
    return [sorted(range(cell.m), key=lambda r: (-cell.shares[i, r], -cell.demands[i, r], lot[r]))
            for i in range(cell.n)]


def types(cell: Cell, by: str) -> list[set[int]]:
    """Types of each machine."""
    found = []
    for row in cell.capacity.tolist():
        size = row if by == "amount" else [c / s if s else 0.0 for c, s in zip(row, cell.totals)]
        found.append({r for r in range(cell.m) if size[r] == max(size)})
    return found


def run(cell: Cell, step: Any, rank: Any, per_round: int, keys: Any, level: Any, dominant: list[int],
        changed: Any = None) -> tuple[list[int], list[int]]:
    """Place tasks; ``step(i, s)`` is what user i holds with s slots, ``keys(i, which)`` what is best on machines."""
    slots, inside = [0] * cell.n, set(range(cell.n))
    users: list[int] = []
    machines: list[int] = []
    order = sorted(range(cell.n), key=lambda i: rank[i])
    while True:
        queue = [0] * cell.n
        for _ in range(per_round):
            waiting = [i for i in inside if slots[i] < cell.bounds[i]]
            if waiting:
                i = min(waiting, key=lambda h: (step(h, slots[h]), rank[h]))
                slots[i] += 1
                queue[i] += 1
        if not any(queue):
            return users, machines
        for i in order:
            for _ in range(queue[i]):
                room = cell.room(i) & (level[i] < np.inf)
                if not room.any():
                    inside.discard(i)
                    break
                which = np.flatnonzero(room & (level[i] == level[i][room].min()))
                values = keys(i, which)
                j = int(which[np.argmax(values)])
                cell.add(i, j, dominant[i])
                if changed is not None:
                    changed(j)
                users.append(i)
                machines.append(j)


def gdrf(demands: Any, machines: Any, counts: Any = None, max_tasks: Any = None, seed: int = 0, *,
         match: str = "nearest", least: str = "amount", machine_type: str = "share", choice: str = "fairness",
         queue: str = "rounds") -> tuple[list[int], list[int]]:
    """Give users and machines of all tasks in order of placing."""
    cell = Cell(demands, machines, counts, max_tasks)
    rng = np.random.default_rng(seed)
    lot, lot_resources = rng.permutation(cell.n), rng.permutation(cell.m)
    wanted = preference(cell, lot_resources)
    dominant = [row[0] for row in wanted]
    order = sorted(range(cell.n), key=lambda i: (-cell.largest[i], -cell.weight(i), lot[i]))
    rank = {i: place for place, i in enumerate(order)}
    step = _steps(cell, least, dominant)
    level = np.zeros((cell.n, cell.N))
    if match != "any":
        of = types(cell, machine_type)
        for i in range(cell.n):
            level[i] = [min(wanted[i].index(r) for r in kinds) for kinds in of]
        if match == "same":
            level[level > 0] = np.inf
    empty = -math.inf if choice == "fairness_empty_last" else 0.0
    f = np.full(cell.N, 0.0 if choice == "first" else empty)

    def changed(j: int) -> None:
        if choice.startswith("fairness"):
            f[j] = cell.log_f(j)

    def keys(i: int, which: Any) -> Any:
        if choice == "fairness_after":
            return np.array([cell.log_f(j, i, dominant[i]) for j in which])
        return f[which]

    return run(cell, step, rank, cell.n if queue == "rounds" else 1, keys, level, dominant, changed)


def _steps(cell: Cell, least: str, dominant: list[int]) -> Any:
    amounts, shares = cell.demands.sum(axis=1), cell.shares.sum(axis=1)
    if least == "amount":
        return lambda i, s: s * amounts[i]
    if least == "shares" and (cell.totals % 1 == 0).all():
        exact = [sum(Fraction(d) / Fraction(total) for d, total in zip(row, cell.totals) if d) for row in cell.demands]
        return lambda i, s: s * exact[i]
    if least == "shares":
        return lambda i, s: s * shares[i]
    return lambda i, s: s * cell.demands[i, dominant[i]] / cell.totals[dominant[i]]


def drfh(demands: Any, machines: Any, counts: Any = None, max_tasks: Any = None, weights: Any = None, *,
         method: str = "best_fit") -> tuple[list[int], list[int]]:
    """Give users and machines of all tasks in order of placing."""
    cell = Cell(demands, machines, counts, max_tasks)
    weights = np.ones(cell.n) if weights is None else np.asarray(weights, float)
    dominant = [row.index(max(row)) for row in cell.shares.tolist()]

    def step(i: int, s: int) -> float:
        return float(s * cell.demands[i, dominant[i]] / (cell.totals[dominant[i]] * weights[i]))

    def keys(i: int, which: Any) -> Any:
        need = cell.demands[i]
        first = int(np.flatnonzero(need)[0])
        if method == "first_fit":
            return np.zeros(len(which))
        free = np.maximum(cell.capacity[which] - cell.used[which], need)
        h = np.zeros(len(which))
        for r in range(cell.m):
            if cell.totals[r]:
                distance = np.abs(need[r] / need[first] - free[:, r] / free[:, first])
                h = h - distance * (cell.totals[first] / cell.totals[r])
        return h

    return run(cell, step, range(cell.n), 1, keys, np.zeros((cell.n, cell.N)), dominant)


def mdrf(demands: Any, machines: Any, counts: Any = None, max_tasks: Any = None, seed: int = 0, *,
         reading: str = "entropy") -> tuple[list[int], list[int]]:
    """Give users and machines of all tasks in order of placing."""
    cell = Cell(demands, machines, counts, max_tasks)
    rng = np.random.default_rng(seed)
    lot, lot_resources = rng.permutation(cell.n), rng.permutation(cell.m)
    wanted = preference(cell, lot_resources)
    dominant = [row[0] for row in wanted]
    order = sorted(range(cell.n), key=lambda i: (-cell.weight(i), lot[i]))
    rank = {i: place for place, i in enumerate(order)}
    level = np.zeros((cell.n, cell.N))
    if reading == "type":
        of = types(cell, "share")
        for i in range(cell.n):
            level[i] = [min(wanted[i].index(r) for r in kinds) for kinds in of]

    def keys(i: int, which: Any) -> Any:
        if reading == "type":
            return np.zeros(len(which))
        need = cell.demands[i]
        first = int(np.flatnonzero(need)[0])
        found = []
        for j in which:
            free = [max(c - o, d) for c, o, d in zip(cell.capacity[j], cell.used[j], need)]
            parts = [f / free[first] * (cell.totals[first] / s) if s else 0.0 for f, s in zip(free, cell.totals)]
            whole = sum(parts)
            p = cell.shares[i] / cell.shares[i].sum()
            found.append(sum(p[r] * math.log(parts[r] / whole) for r in range(cell.m) if need[r]))
        return np.array(found)

    return run(cell, _steps(cell, "dominant_share", dominant), rank, 1, keys, level, dominant)


def per_server_drf(demands: Any, machines: Any, counts: Any = None, max_tasks: Any = None,
                   weights: Any = None) -> np.ndarray:
    """Give the tasks of each user on each machine, (N, n): machine after machine the lowest share by weight next."""
    cell = Cell(demands, machines, counts, max_tasks)
    weights = np.ones(cell.n) if weights is None else np.asarray(weights, float)
    weights = weights / weights.sum()
    left = list(cell.bounds)
    runs = np.zeros((cell.N, cell.n), int)
    for j in range(cell.N):
        has = cell.capacity[j] > 0
        inside = {i for i in range(cell.n) if not cell.demands[i, ~has].any()}
        rate = [(cell.demands[i, has] / cell.capacity[j, has]).max() / weights[i] for i in range(cell.n)]
        while inside:
            i = min(inside, key=lambda h: (runs[j, h] * rate[h], h))
            if runs[j, i] >= left[i] or not cell.room(i)[j]:
                inside.discard(i)
                continue
            cell.add(i, j, 0)
            runs[j, i] += 1
        left = [b - one for b, one in zip(left, runs[j])]
    return runs
