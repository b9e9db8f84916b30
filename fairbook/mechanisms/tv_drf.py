"""TV-DRF (Li et al. 2019): contributed machines, demands that change with time, fairness over all periods so far.

Users bring parts of machines. In period t user i submits up to B_i(t) tasks that need alpha_i(t) each and last one
period; then all machines are empty again. Two numbers carry fairness over time, both added up over the periods so far:

* the *cumulative share* G_i = sum of N_i r_i / w_i, where N_i is the number of tasks run, r_i the dominant share of one
  task and w_i what i brought;
* the *sharing coefficient* beta_i = min over j of (resource j used) / (resource j that i would have had alone).

The mechanism is the lexicographic max-min optimum of G(t) among the allocations with beta(t) >= 1, period by period,
what was used before being history. :func:`tv_drf` runs the authors' heuristic in whole tasks, or this optimum itself,
fluid.

Readings, since most formulas of the paper are lost:

* **alone**. ``"bundles"``: the amounts of the tasks that i could run on its own parts of the machines, fractions of
  tasks allowed. ``"whole_bundles"``: the same, rounded down to whole tasks. ``"resources"``: of each resource by itself
  the smaller of what all submitted tasks need and what i brought; what no task vector can use counts, too.
* **unserved**. ``"expires"``: tasks not run in their period are gone, in the pool and alone. ``"waits"``: they queue,
  in the pool and, by what would have been left over there, alone. A queue is served in the order of submission: tasks
  keep the demand vector of the period that submitted them, and none overtakes an older one of the same user, not even
  where the older one does not fit. (Alone in the reading ``"resources"`` each resource has a queue of its own.)
* **0/0**. beta_i is the least ratio over the resources that i would have had some of, so far. Where there is none, beta
  is 1 if i has used nothing and infinite if it has.
* **best fit (17)**, after DRFH. Demand and what is left on a machine, both as parts of the pool's totals, are divided
  by their entry for the first resource that the task needs; the distance is the sum of the absolute differences. (Where
  the first resource of all is needed, that is DRFH's.) Among the machines that hold the task the nearest one takes it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal

import numba
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.mechanisms._phased import PhasedRun
from fairbook.model import (
    LARGEST,
    Allocation,
    FloatArray,
    Names,
    as_weights,
    as_whole,
    check_amounts,
    check_demands,
    demand_matrix,
    number_of_dimensions,
    order_of,
    per_user,
    phased_demands,
    position,
)

__all__ = ["TvDrfRun", "tv_drf"]

Alone = Literal["bundles", "whole_bundles", "resources"]

_UNSET = -4  # marks a user whom nothing has stopped yet
_IDLE, _SPLIT, _DONE = -3, -2, -1

#: A task fits if it leaves no resource of the machine below minus this part of its capacity: ten tenths fill a unit.
FITS = 1e-12

# ------------------------------------------------------------------------------------------------------- alone


@numba.njit(cache=True, error_model="numpy")
def _alone(demands: Any, bounds: Any, machines: Any, parts: Any, waits: bool, whole: bool, rounding: Any,
           own: Any) -> None:
    """Fill ``own`` (zeros, (T, n, m)) with what each user could run on its own parts, a queue in order of submission.

    A group of tasks is spread over the own parts in proportion to what each of them could still run of it. Where
    all machines have the same shape this is the same as one merged part. ``parts`` has shape (n, K).
    Also runs on fractions. Cost O(T n K m) where nothing waits.
    """
    T, n, m = demands.shape
    K = len(machines)
    zero = machines[0, 0] * 0
    for i in range(n):
        head = 0
        left = bounds[0, i]
        room = machines.copy()
        runs = machines[:, 0].copy()
        for t in range(T):
            if not waits:
                head = t
                left = bounds[t, i]
            elif head == t:
                left = bounds[t, i]
            for k in range(K):
                for j in range(m):
                    room[k, j] = machines[k, j] * parts[i, k]
            while head <= t:
                if left > 0:
                    possible = zero
                    for k in range(K):
                        runs[k] = zero
                        first = True
                        for j in range(m):
                            if demands[head, i, j] > 0:
                                fit = room[k, j] / demands[head, i, j]
                                if first or fit < runs[k]:
                                    runs[k] = fit
                                first = False
                        possible += runs[k]
                    some = possible if possible < left else left
                    if whole:
                        some = (some * (1 + rounding)) // 1
                    if some > 0:
                        for j in range(m):
                            own[t, i, j] += some * demands[head, i, j]
                            for k in range(K):
                                rest = room[k, j] - some * runs[k] / possible * demands[head, i, j]
                                room[k, j] = rest if rest > 0 else rest * 0
                    if some < left:
                        left -= some
                        break
                head += 1
                if head <= t:
                    left = bounds[head, i]


def _alone_resources(demands: Any, bounds: Any, brought: Any, waits: bool) -> Any:
    """Give the smaller of what the tasks need and what the user brought, of each resource by itself, (T, n, m)."""
    own = demands * bounds[:, :, None]
    backlog = own[0] * 0
    for t in range(len(own)):
        asked = own[t] + backlog
        own[t] = np.minimum(asked, brought)
        if waits:
            backlog = asked - own[t]
    return own


# --------------------------------------------------------------------------------------------------- heuristic


@numba.njit(cache=True, error_model="numpy")
def _ratio(used: FloatArray, owned: FloatArray) -> float:
    """Sharing coefficient of one user."""
    least, some = np.inf, False
    for j in range(len(used)):
        if owned[j] > 0.0:
            least = min(least, used[j] / owned[j])
        some |= used[j] > 0.0
    return 1.0 if least == np.inf and not some else least


@numba.njit(cache=True, error_model="numpy")
def _build(tree: NDArray[np.int32], keys: FloatArray) -> None:
    """Set up a tournament: ``tree[1]`` is the place of the least key, the first one among equals.

    ``tree`` has shape (2 s,), s a power of two and at least the number of keys; the places themselves stand at s +
    place.
    """
    size = len(tree) // 2
    for node in range(size - 1, 0, -1):
        a, b = tree[2 * node], tree[2 * node + 1]
        tree[node] = b if keys[b] < keys[a] else a


@numba.njit(cache=True, error_model="numpy")
def _lift(tree: NDArray[np.int32], keys: FloatArray, place: int) -> None:
    """Replay the games of one place after its key has changed. Cost O(log s)."""
    node = (len(tree) // 2 + place) // 2
    while node >= 1:
        a, b = tree[2 * node], tree[2 * node + 1]
        tree[node] = b if keys[b] < keys[a] else a
        node //= 2


@numba.njit(cache=True, error_model="numpy")
def _distance(need: FloatArray, shape: FloatArray, scale: FloatArray, first: int, state: FloatArray, k: int) -> float:
    """Best-fit distance (17) of a task to machine k, infinite where it does not fit; see :func:`_measure`.

    Ratios are of amounts as given, so that machines whose remainders are in proportion tie exactly.
    """
    m = len(need)
    base = (m + m * m) * k
    for j in range(m):
        if need[j] > state[base + j]:
            return np.inf
    row = base + m + m * first
    if state[row + first] == 0.0:
        return np.inf
    total = 0.0
    for j in range(m):
        total += abs(shape[j] - state[row + j]) * (scale[j] / scale[first])
    return total


@numba.njit(cache=True, error_model="numpy")
def _nearest(distance: FloatArray, i: int, block: int, width: int) -> int:
    """Place of the least distance in one block of machines, the first one among equals."""
    best = block * width
    for k in range(best + 1, best + width):
        if distance[i, k] < distance[i, best]:
            best = k
    return best


@numba.njit(cache=True, error_model="numpy")
def _measure(k: int, left: FloatArray, low: FloatArray, allow: FloatArray, state: FloatArray) -> None:
    """Write down of machine k: of each resource the largest task that fits; what is left of j per what is left of f."""
    m = left.shape[1]
    base = (m + m * m) * k
    for j in range(m):
        state[base + j] = left[k, j] + low[k, j] + allow[k, j]
    for f in range(m):
        free = left[k, f] + low[k, f]
        for j in range(m):
            state[base + m + m * f + j] = (left[k, j] + low[k, j]) / free if free > 0.0 else 0.0


@numba.njit(cache=True, error_model="numpy")
def _heuristic(demands: FloatArray, bounds: FloatArray, machines: FloatArray, weights: FloatArray, own: FloatArray,
               waits: bool, tasks: FloatArray, amounts: FloatArray, machine_use: FloatArray, beta: FloatArray,
               cumulative: FloatArray, unserved: FloatArray, stops: NDArray[np.int64],
               placement: NDArray[np.int32]) -> None:
    """Run Algorithm 1 over all periods.

    Users stand in a tournament keyed by beta until everyone who can still run a task has beta >= 1, then by G. Each
    user keeps its distance to every machine and, for blocks of some sqrt(K) machines, the nearest one in each; on its
    turn it looks again only at the machines that changed since its last turn, which a list of all machines, the last
    changed first, tells. What is left of a machine is a sum of two doubles, so that a million subtractions leave no
    error.
    """
    T, n, m = demands.shape
    K = len(machines)
    total = np.zeros(m)
    for k in range(K):
        total += machines[k]
    scale = 1.0 / total
    allow = machines * FITS
    width, seats, shift = 1, 1, 0
    while width * width < K:
        width *= 2
        shift += 1
    while seats < n:
        seats *= 2
    blocks = (K + width - 1) // width
    distance = np.full((n, blocks * width), np.inf)
    nearest = np.zeros((n, blocks), dtype=np.int32)
    dirty = np.zeros(blocks, dtype=np.bool_)
    user_tree = np.empty(2 * seats, dtype=np.int32)
    key = np.full(seats, np.inf)
    for i in range(seats):
        user_tree[seats + i] = i
    left, low, state = machines.copy(), machines * 0.0, np.empty((m + m * m) * K)
    alike = np.zeros(K, dtype=np.bool_)  # of the size of the machine before
    for k in range(1, K):
        alike[k] = (machines[k] == machines[k - 1]).all()
    before, after = np.empty(K + 1, dtype=np.int64), np.empty(K + 1, dtype=np.int64)  # K: both ends of the list
    changed = np.empty(K, dtype=np.int64)
    seen = np.empty(n, dtype=np.int64)  # -1: this user's distances are not those of its head task
    head = np.zeros(n, dtype=np.int64)
    rest = np.zeros(n)
    run = np.zeros(n)  # tasks of the head group run in this period
    used, owned, level = np.zeros((n, m)), np.zeros((n, m)), np.zeros(n)
    need, shape = np.zeros((n, m)), np.zeros((n, m))
    first = np.zeros(n, dtype=np.int64)
    weight = np.zeros(n)  # what one task of the head group adds to G
    now, held = np.empty(m), np.zeros(n)
    for t in range(T):
        for k in range(K):
            for j in range(m):
                left[k, j] = machines[k, j]
                low[k, j] = 0.0
            _measure(k, left, low, allow, state)
            changed[k] = 0
            before[k], after[k] = k - 1, k + 1
        before[0], after[K], before[K] = K, 0, K - 1
        stamp = 0
        for i in range(n):
            stops[t, i] = _UNSET
            for j in range(m):
                owned[i, j] += own[t, i, j]
            if not waits:
                head[i] = t
                rest[i] = bounds[t, i]
                held[i] = 0.0
            elif head[i] == t:
                rest[i] = bounds[t, i]
            held[i] += bounds[t, i]
            if held[i] == 0.0:
                stops[t, i] = _IDLE
        for phase in range(2):
            for i in range(n):
                key[i] = np.inf
                if stops[t, i] == _UNSET:
                    ratio = _ratio(used[i], owned[i])
                    if phase == 1:
                        key[i] = level[i]
                    elif ratio < 1.0 - FITS:
                        key[i] = ratio
                    run[i] = 0.0
                    seen[i] = -1
            _build(user_tree, key)
            while True:
                i = user_tree[1]
                if key[i] == np.inf:
                    break
                if seen[i] < 0:  # a new group of tasks
                    while rest[i] <= 0.0 and head[i] < t:
                        head[i] += 1
                        rest[i] = bounds[head[i], i]
                    if rest[i] <= 0.0:
                        stops[t, i] = _DONE
                        key[i] = np.inf
                        _lift(user_tree, key, i)
                        continue
                    dominant = 0.0
                    first[i] = -1
                    for j in range(m):
                        need[i, j] = demands[head[i], i, j]
                        dominant = max(dominant, need[i, j] * scale[j])
                        if first[i] < 0 and need[i, j] > 0.0:
                            first[i] = j
                    for j in range(m):
                        shape[i, j] = need[i, j] / need[i, first[i]]
                    weight[i] = dominant / weights[i]
                    for k in range(K):
                        if alike[k] and changed[k] == 0 and changed[k - 1] == 0:
                            distance[i, k] = distance[i, k - 1]
                        else:
                            distance[i, k] = _distance(need[i], shape[i], scale, first[i], state, k)
                    for block in range(blocks):
                        nearest[i, block] = _nearest(distance, i, block, width)
                else:
                    k = after[K]
                    want, form, lead = need[i], shape[i], first[i]
                    while k != K and changed[k] > seen[i]:
                        if distance[i, k] < np.inf:  # what does not fit now will not fit in this period
                            distance[i, k] = _distance(want, form, scale, lead, state, k)
                            dirty[k >> shift] = True
                        k = after[k]
                    for block in range(blocks):
                        if dirty[block]:
                            dirty[block] = False
                            nearest[i, block] = _nearest(distance, i, block, width)
                seen[i] = stamp
                k = nearest[i, 0]
                for block in range(1, blocks):
                    if distance[i, nearest[i, block]] < distance[i, k]:
                        k = nearest[i, block]
                if distance[i, k] == np.inf:
                    stops[t, i] = _SPLIT
                    for j in range(m):
                        free = 0.0
                        for g in range(K):
                            free += left[g, j]
                        if free < need[i, j] - total[j] * FITS and stops[t, i] == _SPLIT:
                            stops[t, i] = j
                    key[i] = np.inf
                    _lift(user_tree, key, i)
                    for j in range(m):
                        used[i, j] += run[i] * need[i, j]
                        amounts[t, i, j] += run[i] * need[i, j]
                    level[i] += run[i] * weight[i]
                    run[i] = 0.0
                    continue
                stamp += 1
                changed[k] = stamp
                after[before[k]], before[after[k]] = after[k], before[k]
                before[k], after[k] = K, after[K]
                before[after[K]] = k
                after[K] = k
                for j in range(m):  # Knuth's exact difference
                    difference = left[k, j] - need[i, j]
                    back = difference - left[k, j]
                    low[k, j] += (left[k, j] - (difference - back)) - (need[i, j] + back)
                    left[k, j] = difference
                _measure(k, left, low, allow, state)
                if placement.shape[0] > 0:
                    placement[t, i, k] += 1
                run[i] += 1.0
                rest[i] -= 1.0
                held[i] -= 1.0
                tasks[t, i] += 1.0
                for j in range(m):
                    now[j] = used[i, j] + run[i] * need[i, j]
                ratio = _ratio(now, owned[i])
                leaves = phase == 0 and ratio >= 1.0 - FITS
                if rest[i] <= 0.0 or leaves:  # write down what was run of this group
                    for j in range(m):
                        used[i, j] = now[j]
                        amounts[t, i, j] += run[i] * need[i, j]
                    level[i] += run[i] * weight[i]
                    run[i] = 0.0
                    seen[i] = -1
                if held[i] <= 0.0:
                    stops[t, i] = _DONE
                    key[i] = np.inf
                elif leaves:
                    key[i] = np.inf
                else:
                    key[i] = ratio if phase == 0 else level[i] + run[i] * weight[i]
                _lift(user_tree, key, i)
        for i in range(n):
            beta[t, i] = _ratio(used[i], owned[i])
            cumulative[t, i] = level[i]
            unserved[t, i] = held[i]
        for k in range(K):
            for j in range(m):
                machine_use[t, k, j] = (machines[k, j] - left[k, j]) - low[k, j]


# ------------------------------------------------------------------------------------------------------- fluid


@numba.njit(cache=True, error_model="numpy")
def _rise(need: Any, begin: Any, end: Any, owner: Any, rising: Any, ending: Any, slack: Any, tree: Any, gained: Any,
          whole: Any, stops: Any) -> None:
    """Progressive filling along paths: exactly, from event to event.

    A path is a chain of pieces. While the clock runs from ``begin[p]`` to ``end[p]`` the owner of piece p takes
    ``need[p, j]`` of resource j per unit of the clock, unless a resource that it needs is used up: that stops the owner
    for good. Pieces of one owner follow each other without a gap. ``rising`` and ``ending`` sort the pieces by begin
    and end (stable, an owner's pieces in their order). ``gained`` (clock units), ``whole`` (pieces gone through),
    ``stops`` (by owner, _UNSET before) and ``slack`` receive the result. ``tree`` (zeros, (2 p, m)) adds up needs in
    pairs, so that who stops is left out rather than subtracted. Written so that it also runs on fractions.
    Cost O(p m log p + n m^2 + p m^2) for p pieces.
    """
    count, m = need.shape
    up = 0
    down = 0
    clock = begin[rising[0]]
    while down < count:
        p = ending[down]
        if whole[p] or stops[owner[p]] != _UNSET:
            down += 1
            continue
        starts = up < count and begin[rising[up]] < end[p]  # where both happen at once, ends come first
        if starts:
            p = rising[up]
            if whole[p] or stops[owner[p]] != _UNSET:
                up += 1
                continue
        target = begin[p] if starts else end[p]
        step = target - clock
        short = False
        for j in range(m):
            if tree[1, j] * step > slack[j]:
                short = True
        if not short:
            for j in range(m):
                left = slack[j] - tree[1, j] * step
                slack[j] = left
            clock = target
            if starts:
                up += 1
                for j in range(m):
                    if need[p, j] > 0 and slack[j] == 0 and stops[owner[p]] == _UNSET:
                        stops[owner[p]] = j
                starts = stops[owner[p]] == _UNSET
            else:
                down += 1
                gained[p] = end[p] - begin[p]
                whole[p] = True
            place = count + p
            for j in range(m):
                tree[place, j] = need[p, j] if starts else need[p, j] * 0
            while place > 1:
                place //= 2
                for j in range(m):
                    tree[place, j] = tree[2 * place, j] + tree[2 * place + 1, j]
            continue
        step = np.inf
        for j in range(m):
            if tree[1, j] > 0:
                left = slack[j] / tree[1, j]
                if left < step:
                    step = left
        clock += step
        for j in range(m):
            if tree[1, j] > 0:
                # the resource that sets the step is empty by definition, not up to rounding
                left = slack[j] - tree[1, j] * step
                slack[j] = left if slack[j] / tree[1, j] > step and left > 0 else slack[j] * 0
        for q in range(up):  # who is taking an empty resource stops
            p = rising[q]
            if not whole[p] and stops[owner[p]] == _UNSET:
                for j in range(m):
                    if need[p, j] > 0 and slack[j] == 0:
                        stops[owner[p]] = j
                        gained[p] = min(clock - begin[p], end[p] - begin[p])
                        for k in range(m):
                            tree[count + p, k] = need[p, k] * 0
                        break
        for place in range(count - 1, 0, -1):
            for j in range(m):
                tree[place, j] = tree[2 * place, j] + tree[2 * place + 1, j]


#: Clock at the begin and the end, needs per unit of the clock, the clock per task, whether it ends a group of tasks.
_Piece = tuple[Any, Any, Any, Any, bool]


class _Path:
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


class _Fluid:
    """The lexicographic mechanism in one pool, period by period, in floats or in fractions."""

    def __init__(self, demands: Any, bounds: Any, total: Any, own: Any, weights: Any, waits: bool) -> None:
        self.exact = demands.dtype == object
        self.fill = _rise.py_func if self.exact else _rise
        self.near = 0 if self.exact else 1e-13
        self.bounds, self.own, self.weights, self.waits = bounds, own, weights, waits
        self.share = demands / total
        self.own_share = own / total
        self.dominant = self.share.max(axis=2)
        T, n, _ = demands.shape
        zero = demands[0] * 0
        self.demands, self.used, self.owned, self.level = demands, zero.copy(), zero.copy(), zero[:, 0].copy()
        self.tasks, self.amounts = demands[:, :, 0] * 0, demands * 0
        self.cumulative, self.unserved = demands[:, :, 0] * 0, demands[:, :, 0] * 0
        self.stops = np.full((T, n), _IDLE, dtype=np.int64)
        self.below = np.zeros(T, dtype=bool)
        queues: list[list[tuple[int, Any]]] = [[] for _ in range(n)]
        for t in range(T):
            queues = self._period(t, queues)

    def _period(self, t: int, queues: list[list[tuple[int, Any]]]) -> list[list[tuple[int, Any]]]:
        n = len(self.weights)
        new = [[(t, self.bounds[t, i])] if self.bounds[t, i] > 0 else [] for i in range(n)]
        groups = [old + more if self.waits else more for old, more in zip(queues, new, strict=True)]
        self.owned = self.owned + self.own_share[t]
        paths = [_Path(group) for group in groups]
        slack = self._floors(paths)
        if slack is None:  # beta >= 1 is out of reach: as many as possible, the worst off first
            self.below[t] = True
            paths = [_Path(group) for group in groups]
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
            self.cumulative[t, i] = self.level[i]
            if path.groups:
                self.stops[t, i] = _DONE if path.ended() else stops[i]
            left.append([(s, count) for s, count in [(path.groups[path.place][0], path.rest()),
                                                     *path.groups[path.place + 1:]] if count > 0]
                        if not path.ended() else [])
            self.unserved[t, i] = sum((count for _, count in left[i]), self.bounds[t, i] * 0)
        return left

    def _height(self, i: int, path: _Path, settled: bool = False) -> Any:
        return self.level[i] + sum((count * self.dominant[s, i] / self.weights[i] for s, count in path.tally()),
                                   self.level[i] * 0)

    def _floors(self, paths: list[_Path]) -> Any:
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

    def _coefficients(self, i: int, path: _Path) -> list[_Piece]:
        """Pieces of a user's path while its coefficient rises to 1; they end where a task would not raise it."""
        chain: list[_Piece] = []
        some = np.flatnonzero(self.owned[i] > 0)
        values = self.used[i][some] / self.owned[i][some] if len(some) else None
        for s, count in path.groups:
            rest = count
            while values is not None and rest > 0:
                slope = self.share[s, i][some] / self.owned[i][some]
                low = values.min()
                if not low < 1 - self.near:
                    return chain
                rate = slope[values <= low + low * self.near].min()
                if not rate > 0:
                    return chain
                width = min(rest, (1 - low) / rate)
                for v, g in zip(values, slope, strict=True):
                    if g < rate and (v - low) / (rate - g) < width:
                        width = (v - low) / (rate - g)
                begin = chain[-1][1] if chain else low
                chain.append((begin, begin + width * rate, self.share[s, i] / rate, rate, width == rest))
                values = values + width * slope
                rest = rest * 0 if width == rest else rest - width
        return chain

    def _run(self, paths: list[_Path], chains: list[list[_Piece]], slack: Any) -> NDArray[np.int64]:
        """Let a clock run along the chains and move the paths on; ``slack`` is overwritten."""
        stops = np.full(len(paths), _UNSET, dtype=np.int64)
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
                  tree, gained, whole, stops)
        for p, i in enumerate(owner.tolist()):
            path = paths[i]
            if path.ended():
                continue
            rest = path.rest()
            through = bool(whole[p]) and pieces[p][4]
            path.take(rest if through else min(gained[p] / pieces[p][3], rest), through)
        return stops


# ------------------------------------------------------------------------------------------------------ results


@dataclass(frozen=True, eq=False)
class TvDrfRun(PhasedRun):
    """What happened in each of T periods to each of n users.

    Attributes
    ----------
    tasks : ndarray, shape (T, n)
        Tasks run in each period; with ``unserved="waits"`` those of older periods among them.
    sharing_coefficients : ndarray, shape (T, n)
        beta after each period.
    cumulative_shares : ndarray, shape (T, n)
        G after each period.
    amounts : ndarray, shape (T, n, m)
        Resource in use by each user in each period.
    alone : ndarray, shape (T, n, m)
        What each would have had in use in each period without sharing, in the reading ``reading``.
    unserved : ndarray, shape (T, n)
        Tasks left over at the end of each period: expired in it, or in the queue.
    bottlenecks : ndarray of int, shape (T, n)
        The resource that is used up in the whole pool and stops the user; -1 where all its tasks are run; -2 where its
        next task fits on no machine though the pool has room for it; -3 where it has no tasks.
    below_one : ndarray of bool, shape (T,)
        Fluid: the periods in which beta >= 1 was out of reach. Heuristic: those at whose end some beta is below 1.
    machine_use : ndarray, shape (T, K, m), or None
        Resource in use on each machine; None for the fluid mechanism.
    placement : ndarray of int, shape (T, n, K), or None
        Tasks on each machine, where asked for.
    demands : ndarray, shape (T, n, m)
    max_tasks : ndarray, shape (T, n)
    machines : ndarray, shape (K, m)
    contributions : ndarray, shape (n, K)
    weights : ndarray, shape (n,)
        w, summing to 1.
    method, reading, waits
        As given.
    """

    tasks: FloatArray
    sharing_coefficients: FloatArray
    cumulative_shares: FloatArray
    amounts: FloatArray
    alone: FloatArray
    unserved: FloatArray
    bottlenecks: NDArray[np.int64]
    below_one: NDArray[np.bool_]
    machine_use: FloatArray | None
    placement: NDArray[np.int32] | None
    demands: FloatArray
    max_tasks: FloatArray
    machines: FloatArray
    contributions: FloatArray
    weights: FloatArray
    method: str
    reading: str
    waits: bool
    named_users: Names | None = None
    named_resources: Names | None = None

    @property
    def capacities(self) -> FloatArray:
        """Capacity of the whole pool, shape (m,)."""
        total: FloatArray = self.machines.sum(axis=0)
        return total

    @property
    def use(self) -> FloatArray:
        """Resource in use in each period, shape (T, m), in the unit of the capacities."""
        if self.machine_use is not None:
            return self.machine_use.sum(axis=1)
        return self.amounts.sum(axis=1)

    @property
    def utilisation(self) -> FloatArray:
        """Use divided by capacity, shape (T, m)."""
        return self.use / self.capacities

    @property
    def utilisation_alone(self) -> FloatArray:
        """The same where nobody shares, shape (T, m)."""
        return self.alone.sum(axis=1) / self.capacities

    def at(self, period: int) -> Allocation:
        """Give one period (from 0) as an Allocation of the merged pool.

        Where tasks wait, its demands are those of the mean task that a user ran, and its bounds what a user could
        have run, queue included.
        """
        t = as_whole(period, "period", 0, len(self) - 1)
        demands, bounds, stops = self.demands[t], self.tasks[t] + self.unserved[t], self.bottlenecks[t]
        if self.waits:
            ran = self.tasks[t] > 0
            demands = np.where(ran[:, None], self.amounts[t] / np.where(ran, self.tasks[t], 1.0)[:, None], demands)
        needs = demands[np.arange(len(stops)), np.maximum(stops, 0)] > 0
        stops = np.where((stops == _IDLE) & (demands > 0).any(axis=1), _DONE, stops)
        full = (self.use[t] >= self.capacities * (1 - FITS))[np.maximum(stops, 0)]
        stops = np.where((stops >= 0) & ~(needs & full), _SPLIT, stops)  # in whole tasks nothing need be full
        return Allocation(self.tasks[t], demands, self.weights, self.capacities, bounds, stops, self.named_users,
                          self.named_resources, mechanism=f"tv_drf, {self.method}", rule="credit")

    def to_frame(self) -> pd.DataFrame:
        """Give one row a period and user: tasks, G, beta, tasks left over, what stops the user."""
        names = np.empty(len(self.resources) + 3, dtype=object)
        names[:-3] = self.resources
        names[-3:] = ["no tasks", "no machine", "own bound"]
        index = pd.MultiIndex.from_product([range(len(self)), self.users], names=["period", "user"])
        return pd.DataFrame({"tasks": self.tasks.ravel(), "cumulative_share": self.cumulative_shares.ravel(),
                             "sharing_coefficient": self.sharing_coefficients.ravel(),
                             "unserved": self.unserved.ravel(), "bottleneck": names[self.bottlenecks.ravel()]},
                            index=index)

    def explain(self, user: Hashable, period: int) -> str:
        """Say in a few words why this user has what it has after a period (from 0)."""
        t, i = as_whole(period, "period", 0, len(self) - 1), position(user, self.users)
        stop = int(self.bottlenecks[t, i])
        if stop == _IDLE:
            return f"{user} has no tasks in period {t}."
        why = {_DONE: "it has no more", _SPLIT: "the next fits on no machine, though the pool as a whole has room"}
        return (f"{user} runs {self.tasks[t, i]:.6g} tasks in period {t}: "
                f"{why.get(stop) or f'{self.resources[stop]} is used up'}. So far it has "
                f"{self.sharing_coefficients[t, i]:.6g} times what it would have had alone (its scarcest resource), "
                f"and stands at G = {self.cumulative_shares[t, i]:.6g}.")

    def violations(self, rtol: float = 1e-9) -> list[str]:
        """List every way in which the stored numbers contradict the model; empty means that they do not.

        Capacity of each machine (of the pool, where fluid), bounds, queues, whole tasks, amounts, G and beta from the
        amounts, and that a resource said to stop a user is used up. Not whether the choice was fair.

        Notes
        -----
        Cost O(T (n + K) m).
        """
        found: list[str] = []

        def check(wrong: NDArray[np.bool_], text: str) -> None:
            found.extend(f"{text} in period {t}" for t in np.flatnonzero(wrong.reshape(len(self), -1).any(axis=1)))

        def off(a: FloatArray, b: FloatArray) -> NDArray[np.bool_]:
            return ~np.isclose(a, b, rtol=rtol, atol=rtol)

        total = self.capacities
        share = self.amounts / total
        if self.machine_use is not None:
            check(self.machine_use > self.machines * (1 + rtol), "a machine is overdrawn")
            check(self.tasks != np.floor(self.tasks), "some tasks are not whole")
            check(off(self.machine_use.sum(axis=1) / total, share.sum(axis=1)), "machines and users do not add up")
        if self.placement is not None:
            check(self.placement.sum(axis=2) != self.tasks, "placements and tasks do not add up")
        check(share.sum(axis=1) > 1 + rtol, "the pool is overdrawn")
        waited = np.zeros_like(self.tasks)
        if self.waits:
            waited[1:] = self.unserved[:-1]
        finite = np.isfinite(self.max_tasks)
        most = np.where(finite, self.max_tasks, 0.0) + waited
        check((self.tasks < 0) | (self.unserved < -rtol * (1 + most)), "tasks or tasks left over are negative")
        left = np.where(finite, self.unserved, most - self.tasks)
        check(np.abs(self.tasks + left - most) > rtol * (1 + most), "tasks do not add up")
        if not self.waits:
            check(off(share, self.tasks[:, :, None] * self.demands / total), "amounts are not tasks times demands")
            gained = self.tasks * (self.demands / total).max(axis=2) / self.weights
            check(off(self.cumulative_shares, np.cumsum(gained, axis=0)), "G does not follow from the tasks")
        check(off(self.sharing_coefficients, _coefficients(np.cumsum(self.amounts, axis=0),
                                                           np.cumsum(self.alone, axis=0))), "beta is wrong")
        full = share.sum(axis=1) >= 1 - rtol
        for j, name in enumerate(self.resources):
            here = self.bottlenecks == j
            if self.machine_use is None:
                check(here & ~full[:, j, None], f"{name} is said to stop someone and is not used up")
        check((self.bottlenecks == _DONE) & (left > rtol * (1 + most)), "someone has tasks left after all")
        return found


def _coefficients(used: FloatArray, owned: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.where(owned > 0, used / owned, np.inf).min(axis=-1)
    return np.where(np.isinf(least) & ~(used > 0).any(axis=-1), 1.0, least)


# ---------------------------------------------------------------------------------------------------- the input


def _as_machines(machines: Any, m: int, resources: Names | None) -> tuple[FloatArray, Names | None]:
    named = demand_matrix(machines, "machines")
    values = named.values
    if values.shape[1] != m:
        raise InvalidInput("machines", f"must have one column for each of the {m} resources", values.shape)
    columns = order_of(named.resources, resources, "machines.columns", "resources")
    if columns is not None:
        values = np.ascontiguousarray(values[:, columns])
    check_demands(values, "machines")
    for j in np.flatnonzero(~(values > 0).any(axis=0))[:1].tolist():
        raise InvalidInput("machines", f"must have some of resource {j}", values[:, j].tolist())
    return values, resources if resources is not None else named.resources


def _as_contributions(contributions: Any, n: int, K: int, users: Names | None) -> FloatArray:
    if number_of_dimensions(contributions) == 1:
        values = np.repeat(per_user(contributions, n, users, "contributions")[:, None], K, axis=1)
    else:
        named = demand_matrix(contributions, "contributions")
        values = named.values
        if values.shape != (n, K):
            raise InvalidInput("contributions", f"must have shape ({n} users, {K} machines) or ({n},)", values.shape)
        rows = order_of(named.users, users, "contributions.index", "users")
        if rows is not None:
            values = np.ascontiguousarray(values[rows])
    check_amounts(values, "contributions")
    sums = values.sum(axis=0)
    for k in np.flatnonzero(~(np.abs(sums - 1) <= 1e-9))[:1].tolist():
        raise InvalidInput("contributions", f"must sum to 1 over the users for each machine (machine {k})",
                           float(sums[k]))
    return values


def _as_tasks(tasks: Any, demands: FloatArray, users: Names | None, whole: bool, waits: bool) -> FloatArray:
    T, n, _ = demands.shape
    named = demand_matrix(tasks, "tasks")
    if named.values.shape != (T, n):
        raise InvalidInput("tasks", f"must have shape ({T} periods, {n} users)", named.values.shape)
    columns = order_of(named.resources, users, "tasks.columns", "users")
    values = named.values if columns is None else named.values[:, columns]
    finite = np.isfinite(values)
    for bad, rule in ((np.isnan(values), "must be a number"), (values < 0, "must not be negative"),
                      (finite & (values > LARGEST), f"must be at most {LARGEST:g} or infinite"),
                      (~finite & waits, "must be finite where unserved tasks wait"),
                      (finite & whole & (values != np.floor(values)), "must be whole for method='heuristic'")):
        for t, i in np.argwhere(bad)[:1].tolist():
            raise InvalidInput(f"tasks[{t}, {i}]", rule, float(values[t, i]))
    return np.where((demands > 0).any(axis=2), values, 0.0)


def _chosen(value: Any, argument: str, allowed: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in allowed:
        raise InvalidInput(argument, f"must be one of {', '.join(map(repr, allowed))}", value)


def tv_drf(demands: Any, tasks: Any, machines: Any, contributions: Any,
           method: Literal["heuristic", "lexicographic"] = "heuristic", alone: Alone = "bundles",
           unserved: Literal["expires", "waits"] = "expires", weights: Any = None, *,
           placement: bool = False) -> TvDrfRun:
    """Allocate over periods by TV-DRF (Li et al. 2019).

    Parameters
    ----------
    demands : array_like, shape (T, n, m), or sequence of T DataFrames with the same labels
        Resource per task in each period, in the unit of ``machines``. A row of zeros: no tasks.
    tasks : array_like or DataFrame, shape (T, n)
        Tasks that each submits in each period, an upper bound: whole for the heuristic, ``inf`` allowed where unserved
        tasks expire.
    machines : array_like or DataFrame, shape (K, m)
        Capacity of each machine.
    contributions : array_like or DataFrame, shape (n, K), or (n,)
        The part of each machine that each user brought, in [0, 1]; sums to 1 over the users. Shape (n,): the same part
        of every machine.
    method : {"heuristic", "lexicographic"}
        ``"heuristic"``: whole tasks one by one (Algorithm 1): as long as someone who can still run a task has beta
        below 1, to the one among them with the least beta, else to the one with the least G; to the machine that fits
        best. Whose next task fits nowhere is done for this period, and the others go on. ``"lexicographic"``: the
        optimum of (9), fluid; machines must have one shape, so that they are one pool.
    alone : {"bundles", "whole_bundles", "resources"}
    unserved : {"expires", "waits"}
        Readings: see the head of :mod:`fairbook.mechanisms.tv_drf`.
    weights : array_like or Series, shape (n,), optional
        w, scaled to sum to 1. Default: the mean over the resources of the part of the pool's total that the user
        brought.
    placement : bool
        Whether to keep for every task its machine, (T, n, K).

    Returns
    -------
    TvDrfRun
        ``tasks``, ``sharing_coefficients``, ``cumulative_shares`` (T, n), ``use`` (T, m), ...

    Raises
    ------
    InvalidInput
        Naming argument, rule and value.

    Notes
    -----
    Where beta >= 1 cannot be had for all at once the fluid mechanism first makes min(beta, 1) lexicographically max-min
    fair (``below_one`` tells), then G. This is what Algorithm 1 does in whole tasks. With ``alone="bundles"`` it can
    always be had, with ``"resources"`` it fails with one user, one period: tasks of (1, 1/2), capacities (1, 1).

    Ties of the heuristic: the user with the smaller index, the machine with the smaller index. A task fits if it leaves
    no resource of the machine below -1e-12 of its capacity. A coefficient within 1e-12 of 1 is 1.

    Cost of the heuristic, per task handed out: O(log n), and for the c machines changed since that user's last turn
    O(c m + min(c sqrt(K), K)); c is at most K and at most the tasks handed out in between. Besides O(K m) per user with
    tasks and period, and for the amounts alone per distinct machine.
    Cost of the lexicographic mechanism: O(n m log n + n m^2) a period where nothing waits.

    References
    ----------
    Li, Zhang, Li, Zhang 2019, Algorithm 1, (9) and (17) (reconstructed); Wang, Li, Liang, "Dominant resource fairness
    in cloud computing systems with heterogeneous servers", INFOCOM 2014, for the distance.

    Examples
    --------
    The worked example of the paper (task counts of the second period are ours, found by search).

    >>> run = tv_drf([[[2, 1], [1, 1]], [[5, 5], [20, 10]]], [[15, 70], [12, 4]], [[50, 50], [50, 50]],
    ...              [[1, 0], [0, 1]], alone="resources")
    >>> run.tasks
    array([[15., 70.],
           [12.,  2.]])
    >>> run.sharing_coefficients
    array([[1.   , 1.4  ],
           [1.125, 1.   ]])
    """
    _chosen(method, "method", ("heuristic", "lexicographic"))
    _chosen(alone, "alone", ("bundles", "whole_bundles", "resources"))
    _chosen(unserved, "unserved", ("expires", "waits"))
    if not isinstance(placement, bool):
        raise InvalidInput("placement", "must be True or False", placement)
    values, users, resources = phased_demands(demands)
    T, n, m = values.shape
    waits, whole = unserved == "waits", method == "heuristic"
    bounds = _as_tasks(tasks, values, users, whole, waits)
    pool, resources = _as_machines(machines, m, resources)
    K, total = len(pool), pool.sum(axis=0)
    parts = _as_contributions(contributions, n, K, users)
    brought = parts @ pool
    if weights is None:
        weight = (brought / total).mean(axis=1)
        for i in np.flatnonzero(~(weight > 0))[:1].tolist():
            raise InvalidInput(f"contributions[{i}]", "must be positive somewhere unless weights are given",
                               parts[i].tolist())
    else:
        weight = as_weights(weights, n, users)
    if not whole and not (np.abs(pool / total / (pool / total).max(axis=1, keepdims=True) - 1) <= 1e-9).all():
        raise InvalidInput("machines", "must have one shape for method='lexicographic', so that they are one pool",
                           pool.tolist())
    own = np.zeros_like(values)
    enough = _enough(values, total)
    if alone == "resources":
        own[:] = _alone_resources(values, bounds if waits else np.minimum(bounds, enough), brought, waits)
    else:
        # machines of one size and one ownership count as one
        kinds, alike = np.unique(np.hstack([pool, parts.T]), axis=0, return_counts=True)
        _alone(values, bounds, kinds[:, :m] * alike[:, None], np.ascontiguousarray(kinds[:, m:].T), waits,
               alone == "whole_bundles", FITS, own)
    shape = (T, n)
    if whole:
        kept = [np.zeros(size) for size in (shape, values.shape, (T, K, m), shape, shape, shape)]
        stops = np.empty(shape, dtype=np.int64)
        placed = np.zeros((T, n, K) if placement else (0, 0, 0), dtype=np.int32)
        _heuristic(values, bounds, pool, weight, own, waits, *kept, stops, placed)
        ran, amounts, machine_use, beta, cumulative, left = kept
        below = np.asarray((beta < 1 - FITS).any(axis=1))
        return TvDrfRun(ran, beta, cumulative, amounts, own, left, stops, below, machine_use,
                        placed if placement else None, values, bounds, pool, parts, weight, method, alone, waits,
                        users, resources)
    found = _Fluid(values, bounds if waits else np.minimum(bounds, enough), total, own, weight, waits)
    beta = _coefficients(np.cumsum(found.amounts, axis=0), np.cumsum(own, axis=0))
    left = found.unserved if waits else bounds - found.tasks
    return TvDrfRun(found.tasks, beta, found.cumulative, found.amounts, own, left, found.stops, found.below, None, None,
                    values, bounds, pool, parts, weight, method, alone, waits, users, resources)


def _enough(demands: FloatArray, total: FloatArray) -> FloatArray:
    """Twice the tasks that the empty pool could run: as good as no bound."""
    with np.errstate(divide="ignore", over="ignore"):
        most: FloatArray = 2.0 * np.where(demands > 0, total / demands, np.inf).min(axis=2)
    return np.where(np.isinf(most), 0.0, most)
