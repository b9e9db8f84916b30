"""The lexicographic mechanism of TV-DRF once more, in plain Python: in fractions, or in floats to the last bit.

It shares the progressive filling itself, ``rise``, with the compiled one, uncompiled where numbers are fractions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbook.mechanisms.tv_drf_kernels import DONE, IDLE, NEAR, UNSET, rise

#: Clock at the begin and the end, needs per unit of the clock, the clock per task, whether it ends a group of tasks.
Piece = tuple[Any, Any, Any, Any, bool]


class Path:
    """One user's tasks of one period in the order of service: groups of (period submitted, tasks left)."""

    def __init__(self, groups: list[tuple[int, Any]]) -> None:
        self.groups = groups
        self.place = 0  # the group being served
        self.run: Any = 0  # tasks of it that are run already
        self.done: list[tuple[int, Any]] = []

    def rest(self) -> Any:
        return self.groups[self.place][1] - self.run

    def take(self, some: Any, whole: bool) -> None:
        """Run some tasks of the group being served, or all that are left of it."""
        self.run += some
        if whole:
            self.done.append(self.groups[self.place])
            self.place, self.run = self.place + 1, 0

    def ended(self) -> bool:
        return self.place == len(self.groups)

    def tally(self) -> list[tuple[int, Any]]:
        return [*self.done, (self.groups[self.place][0], self.run)] if self.run else self.done


class Fluid:
    """The lexicographic mechanism in one pool, period by period, in fractions or in floats."""

    def __init__(self, demands: Any, bounds: Any, total: Any, own: Any, weights: Any, waits: bool,
                 memory: bool = True) -> None:
        self.exact = demands.dtype == object
        self.fill = rise.py_func if self.exact else rise
        self.near = 0 if self.exact else NEAR
        self.bounds, self.own, self.weights, self.waits, self.memory = bounds, own, weights, waits, memory
        self.share = demands / total
        self.own_share = own / total
        self.dominant = self.share.max(axis=2)
        T, n, _ = demands.shape
        zero = demands[0] * 0
        self.demands, self.used, self.owned, self.level = demands, zero.copy(), zero.copy(), zero[:, 0].copy()
        self.past = zero[:, 0].copy()
        self.tasks, self.amounts = demands[:, :, 0] * 0, demands * 0
        self.cumulative, self.unserved = demands[:, :, 0] * 0, demands[:, :, 0] * 0
        self.stops = np.full((T, n), IDLE, dtype=np.int64)
        self.below = np.zeros(T, dtype=bool)
        queues: list[list[tuple[int, Any]]] = [[] for _ in range(n)]
        for t in range(T):
            queues = self._period(t, queues)

    def _period(self, t: int, queues: list[list[tuple[int, Any]]]) -> list[list[tuple[int, Any]]]:
        n = len(self.weights)
        new = [[(t, self.bounds[t, i])] if self.bounds[t, i] > 0 else [] for i in range(n)]
        groups = [old + more if self.waits else more for old, more in zip(queues, new, strict=True)]
        if not self.memory:
            self.past = self.past + self.level
            self.used, self.owned, self.level = self.used * 0, self.owned * 0, self.level * 0
        self.owned = self.owned + self.own_share[t]
        paths = [Path(group) for group in groups]
        slack = self._floors(paths)
        if slack is None:  # beta >= 1 is out of reach: as many as possible, the worst off first
            self.below[t] = True
            paths = [Path(group) for group in groups]
            slack = self.share[0, 0] * 0 + 1
            self._run(paths, [self._coefficients(i, path) for i, path in enumerate(paths)], slack)
        chains = []
        levels = [self._height(i, path) for i, path in enumerate(paths)]
        base = min(levels)
        for i, path in enumerate(paths):
            chain, clock = [], levels[i] - base
            for place in range(path.place, len(path.groups)):
                s, count = path.groups[place]
                rate = self.dominant[s, i] / self.weights[i]
                some = path.rest() if place == path.place else count
                chain.append((clock, clock + some * rate, self.share[s, i] / rate, rate, True))
                clock = chain[-1][1]
            chains.append(chain)
        stops = self._run(paths, chains, slack)
        left = []
        for i, path in enumerate(paths):
            for s, count in path.tally():
                self.tasks[t, i] += count
                self.amounts[t, i] += count * self.demands[s, i]
                self.used[i] = self.used[i] + count * self.share[s, i]
            self.level[i] = self._height(i, path, settled=True)
            self.cumulative[t, i] = self.past[i] + self.level[i]
            if path.groups:
                self.stops[t, i] = DONE if path.ended() else stops[i]
            left.append([(s, count) for s, count in [(path.groups[path.place][0], path.rest()),
                                                     *path.groups[path.place + 1:]] if count > 0]
                        if not path.ended() else [])
            self.unserved[t, i] = sum((count for _, count in left[i]), self.bounds[t, i] * 0)
        return left

    def _height(self, i: int, path: Path, settled: bool = False) -> Any:
        return self.level[i] + sum((count * self.dominant[s, i] / self.weights[i] for s, count in path.tally()),
                                   self.level[i] * 0)

    def _floors(self, paths: list[Path]) -> Any:
        """Give everyone the least that makes beta at least 1; what is left then, or None where that is too much."""
        taken = self.share[0, 0] * 0
        for i, path in enumerate(paths):
            lack = self.owned[i] - self.used[i]
            lack = np.where(lack > self.near * self.owned[i], lack, lack * 0)
            while (lack > 0).any():
                if path.ended():
                    return None
                s, _ = path.groups[path.place]
                need = self.share[s, i]
                rest = path.rest()
                wants: list[Any] = [lack[j] / need[j] if need[j] > 0 else None for j in np.flatnonzero(lack > 0)]
                whole = any(w is None or not w < rest * (1 - self.near) for w in wants)
                some = rest if whole else max(wants)
                taken = taken + some * need
                lack = lack - some * need
                lack = np.where(lack > self.near * self.owned[i], lack, lack * 0) if whole else lack * 0
                path.take(some, whole)
        if (taken > 1 + 10 * self.near).any():
            return None
        return np.where(taken < 1, 1 - taken, taken * 0)

    def _coefficients(self, i: int, path: Path) -> list[Piece]:
        """Pieces of a user's path while its coefficient rises to 1; they end where a task would not raise it."""
        chain: list[Piece] = []
        some = np.flatnonzero(self.owned[i] > 0)
        values = self.used[i][some] / self.owned[i][some] if len(some) else None
        for s, count in path.groups:
            rest = count
            while values is not None and rest > 0:
                slope = self.share[s, i][some] / self.owned[i][some]
                low = values.min()
                if not low < 1 - self.near:
                    return chain
                rate = slope[values <= low + self.near].min()
                if not rate > 0:
                    return chain
                width = (1 - low) / rate
                width = width if width < rest * (1 - self.near) else rest
                for v, g in zip(values, slope, strict=True):
                    if g < rate and (v - low) / (rate - g) < width * (1 - self.near):
                        width = (v - low) / (rate - g)
                begin = chain[-1][1] if chain else low
                chain.append((begin, begin + width * rate, self.share[s, i] / rate, rate, width == rest))
                values = values + width * slope
                rest = rest * 0 if width == rest else rest - width
        return chain

    def _run(self, paths: list[Path], chains: list[list[Piece]], slack: Any) -> NDArray[np.int64]:
        """Let a clock run along the chains and move the paths on; ``slack`` is overwritten."""
        stops = np.full(len(paths), UNSET, dtype=np.int64)
        owner = np.array([i for i, chain in enumerate(chains) for _ in chain], dtype=np.int64)
        pieces = [piece for chain in chains for piece in chain]
        if not pieces:
            return stops
        kind = object if self.exact else np.float64
        begin, end = (np.array([piece[c] for piece in pieces], dtype=kind) for c in (0, 1))
        need = np.stack([piece[2] for piece in pieces]).astype(kind)
        gained, tree = begin * 0, np.zeros((2 * len(pieces), need.shape[1]), dtype=kind)
        whole = np.zeros(len(pieces), dtype=bool)
        self.fill(need, begin, end, owner, np.argsort(begin, kind="stable"), np.argsort(end, kind="stable"), slack,
                  tree, gained, whole, stops, self.near)
        for p, i in enumerate(owner.tolist()):
            path = paths[i]
            if path.ended():
                continue
            rest = path.rest()
            through = bool(whole[p]) and pieces[p][4]
            path.take(rest if through else min(gained[p] / pieces[p][3], rest), through)
        return stops
