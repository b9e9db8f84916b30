"""Compiled loops of TV-DRF: what users would run alone, and the heuristic in whole tasks.

:mod:`fairbook.mechanisms.tv_drf` checks the input and says what the numbers mean. T periods, n users, m resources and
K machines everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbook.kernels import INSIDE, kernel
from fairbook.mechanisms.engines.nearest import build, move, nearest, tired
from fairbook.model.inputs import FloatArray

#: What stops a user in place of a resource: nothing yet, no tasks at all, no machine with room, all tasks are run.
UNSET, IDLE, SPLIT, DONE = -4, -3, -2, -1

#: Tasks that the heuristic places between two looks at the keyboard: some milliseconds, with 10^5 machines a second.
BLOCK = 1 << 13

#: A task fits if it leaves no resource of the machine below minus this part of its capacity: ten tenths fill a unit.
FITS = 1e-12

# ------------------------------------------------------------------------------------------------------- alone


def _spread(demands: Any, bounds: Any, machines: Any, *_: Any) -> float:
    """Steps of spreading all groups over all machines."""
    return float(demands.size * len(machines))


@kernel(_spread)
def alone_by_tasks(
    demands: Any,
    bounds: Any,
    machines: Any,
    parts: Any,
    waits: bool,
    whole: bool,
    rounding: Any,
    own: Any,
    heads: Any,
    rests: Any,
) -> None:
    """Fill ``own`` (zeros, (T, n, m)) with what each user could run on its own parts, a queue in order of submission.

    ``heads`` and ``rests`` (T, n) receive the first group left at the end of each period, and what is left of it.

    A group of tasks is spread over the own parts in proportion to what each of them could still run of it. Where
    all machines have the same shape this is the same as one merged part. ``parts`` has shape (n, K).
    What is left of a part or of a group is none where it is at most ``rounding`` of all of it: a queue must not wait
    for what only rounding has left over. Also runs on fractions, with ``rounding`` 0. Cost O(T n K m) where nothing
    waits.
    """
    T, n, m = demands.shape
    K = len(machines)
    zero = machines[0, 0] * 0
    sizes, room, runs = machines.T.copy(), machines.T.copy(), machines[:, 0].copy()  # neighbours, for vectors
    for i in range(n):
        head = 0
        for t in range(T):
            if not waits:
                head = t
            if head == t:
                left = bounds[t, i]
            for j in range(m):
                for k in range(K):
                    room[j, k] = sizes[j, k] * parts[i, k]
            while head <= t:
                if left > 0:
                    runs[:] = zero
                    first = True
                    for j in range(m):
                        need = demands[head, i, j]
                        for k in range(K if need > 0 else 0):
                            fit = room[j, k] / need
                            if whole:
                                fit += rounding * sizes[j, k] * parts[i, k] / need
                            runs[k] = fit if first or fit < runs[k] else runs[k]
                        first &= not need > 0
                    possible = zero
                    for k in range(K):
                        possible += runs[k]
                    some = possible if possible < left * (1 - rounding) else left
                    if whole:
                        some = some // 1
                    if some > 0:
                        for j in range(m):
                            own[t, i, j] += some * demands[head, i, j]
                            for k in range(K if head < t else 0):  # after the last group nobody asks what is left
                                rest = room[j, k] - some * runs[k] / possible * demands[head, i, j]
                                room[j, k] = rest if rest > rounding * sizes[j, k] * parts[i, k] else zero
                    left -= some
                    if left > rounding * bounds[head, i]:
                        break
                head += 1
                if head <= t:
                    left = bounds[head, i]
            heads[t, i], rests[t, i] = head, left


@kernel()
def add_parts(parts: Any, machines: Any, brought: Any) -> None:
    """Add what each user has of all machines to ``brought``, (n, m), machine by machine. Cost O(n K m)."""
    n, K = parts.shape
    for k in range(K):
        for i in range(n):
            for j in range(machines.shape[1]):
                brought[i, j] += parts[i, k] * machines[k, j]


def alone_by_resources(demands: Any, bounds: Any, brought: Any, waits: bool) -> Any:
    """Give the smaller of what the tasks need and what the user brought, of each resource by itself, (T, n, m)."""
    own = demands * bounds[:, :, None]
    backlog = own[0] * 0
    for t in range(len(own)):
        asked = own[t] + backlog
        own[t] = np.minimum(asked, brought)
        if waits:
            backlog = asked - own[t]
    return own


@kernel(INSIDE)
def _ratio(used: FloatArray, owned: FloatArray) -> float:
    """Sharing coefficient of one user."""
    least, some = np.inf, False
    for j in range(len(used)):
        if owned[j] > 0.0:
            least = min(least, used[j] / owned[j])
        some |= used[j] > 0.0
    return 1.0 if least == np.inf and not some else least


@kernel()
def coefficients(amounts: FloatArray, own: FloatArray, memory: bool = True) -> FloatArray:
    """Sharing coefficients after each period, or of each period by itself, (T, n)."""
    T, n, m = amounts.shape
    used, owned, beta = np.zeros((n, m)), np.zeros((n, m)), np.empty((T, n))
    for t in range(T):
        if not memory:
            used[:], owned[:] = 0.0, 0.0
        for i in range(n):
            for j in range(m):
                used[i, j] += amounts[t, i, j]
                owned[i, j] += own[t, i, j]
            beta[t, i] = _ratio(used[i], owned[i])
    return beta


# --------------------------------------------------------------------------------------------------- heuristic


@kernel(INSIDE)
def _build(tree: NDArray[np.int64], keys: FloatArray) -> None:
    """Set up a tournament: ``tree[1]`` is the place of the least key, the first one among equals.

    ``tree`` has shape (2 s,), s a power of two and at least the number of keys; the places themselves stand at s +
    place.
    """
    size = len(tree) // 2
    for node in range(size - 1, 0, -1):
        a, b = tree[2 * node], tree[2 * node + 1]
        tree[node] = b if keys[b] < keys[a] else a


@kernel(INSIDE)
def _lift(tree: NDArray[np.int64], keys: FloatArray, place: int) -> None:
    """Replay the games of one place after its key has changed. Cost O(log s)."""
    node = (len(tree) // 2 + place) // 2
    while node >= 1:
        a, b = tree[2 * node], tree[2 * node + 1]
        tree[node] = b if keys[b] < keys[a] else a
        node //= 2


@kernel(INSIDE)
def _write_down(run: Any, need: Any, weight: Any, used: Any, amounts: Any, level: Any, i: int) -> None:
    """Add what user i has run of its head group to what it used and to its level."""
    for j in range(need.shape[1]):
        used[i, j] += run[i] * need[i, j]
        amounts[i, j] += run[i] * need[i, j]
    level[i] += run[i] * weight[i]
    run[i] = 0.0


def _turns(demands: FloatArray, bounds: FloatArray, machines: FloatArray, *_: Any) -> float:
    """Steps of the heuristic: at most all machines for each task."""
    return float(demands.size + bounds.sum() * machines.size + len(demands) * machines.size)


@kernel(_turns)
def heuristic(
    demands: FloatArray,
    bounds: FloatArray,
    machines: FloatArray,
    weights: FloatArray,
    own: FloatArray,
    waits: bool,
    memory: bool,
    tasks: FloatArray,
    amounts: FloatArray,
    machine_use: FloatArray,
    beta: FloatArray,
    cumulative: FloatArray,
    unserved: FloatArray,
    stops: NDArray[np.int64],
    placement: NDArray[np.int32],
    at: Any,
) -> Iterator[None]:
    """Run Algorithm 1 over all periods; a generator that pauses now and then.

    Users stand in a tournament keyed by beta until everyone who can still run a task has beta >= 1, then by G. The
    nearest machine is found among those of ``at`` (``nearest.py``). What is left of a machine is a
    sum of two doubles, so that a million subtractions leave no error.
    """
    T, n, m = demands.shape
    K = len(machines)
    total = np.zeros(m)
    for k in range(K):
        total += machines[k]
    scale = 1.0 / total
    allow = machines * FITS
    seats = 1
    while seats < n:
        seats *= 2
    user_tree = np.empty(2 * seats, dtype=np.int64)
    key = np.full(seats, np.inf)
    for i in range(seats):
        user_tree[seats + i] = i
    left, low = machines.copy(), machines * 0.0
    free, known = np.zeros(m), -1  # what is left in the pool, and when that was
    ready = np.empty(n, dtype=np.bool_)  # whether need, shape and lead are those of the head group
    head = np.zeros(n, dtype=np.int64)
    rest = np.zeros(n)
    run = np.zeros(n)  # tasks of the head group run in this period
    used, owned, level = np.zeros((n, m)), np.zeros((n, m)), np.zeros(n)
    past = np.zeros(n)  # G of what is no longer counted
    need, shape = np.zeros((n, m)), np.zeros((n, m))
    lead = np.zeros(n, dtype=np.int64)
    weight = np.zeros(n)  # what one task of the head group adds to G
    now, held = np.empty(m), np.zeros(n)
    vacant, room, leads = at.free, at.room, at.leads
    placed = 0
    for t in range(T):
        left[:], low[:], vacant[:], room[:] = machines, 0.0, machines, machines + allow
        build(at)
        stamp, known = 0, -1
        for i in range(n):
            stops[t, i] = UNSET
            if not memory:
                past[i] += level[i]
                level[i] = 0.0
                used[i] = 0.0
                owned[i] = 0.0
            for j in range(m):
                owned[i, j] += own[t, i, j]
            if not waits:
                head[i] = t
                held[i] = 0.0
            if head[i] == t:
                rest[i] = bounds[t, i]
            held[i] += bounds[t, i]
            if held[i] == 0.0:
                stops[t, i] = IDLE
        for phase in range(2):
            for i in range(n):
                key[i] = np.inf
                if stops[t, i] == UNSET:
                    if phase == 1:
                        key[i] = level[i]
                    else:
                        coefficient = _ratio(used[i], owned[i])
                        if coefficient < 1.0 - FITS:
                            key[i] = coefficient
                    run[i] = 0.0
                    ready[i] = False
            _build(user_tree, key)
            while True:
                i = user_tree[1]
                if key[i] == np.inf:
                    break
                if not ready[i]:  # a new group of tasks
                    while rest[i] <= 0.0 and head[i] < t:
                        head[i] += 1
                        rest[i] = bounds[head[i], i]
                    if rest[i] <= 0.0:
                        stops[t, i] = DONE
                        key[i] = np.inf
                        _lift(user_tree, key, i)
                        continue
                    dominant = 0.0
                    first = -1
                    for j in range(m):
                        need[i, j] = demands[head[i], i, j]
                        dominant = max(dominant, need[i, j] * scale[j])
                        if first < 0 and need[i, j] > 0.0:
                            first = j
                    for j in range(m):
                        shape[i, j] = need[i, j] / need[i, first]
                    for g in range(len(leads)):
                        if leads[g] == first:
                            lead[i] = g
                    weight[i] = dominant / weights[i]
                    ready[i] = True
                k = nearest(at, need, shape, i, lead[i])
                if k < 0:
                    if known != stamp:
                        for j in range(m):
                            free[j] = 0.0
                            for g in range(K):
                                free[j] += left[g, j]
                        known = stamp
                    stops[t, i] = SPLIT
                    for j in range(m):
                        if free[j] < need[i, j] - total[j] * FITS and stops[t, i] == SPLIT:
                            stops[t, i] = j
                    key[i] = np.inf
                    _lift(user_tree, key, i)
                    _write_down(run, need, weight, used, amounts[t], level, i)
                    continue
                stamp += 1
                for j in range(m):  # Knuth's exact difference
                    difference = left[k, j] - need[i, j]
                    back = difference - left[k, j]
                    low[k, j] += (left[k, j] - (difference - back)) - (need[i, j] + back)
                    left[k, j] = difference
                    vacant[k, j] = left[k, j] + low[k, j]
                    room[k, j] = vacant[k, j] + allow[k, j]
                move(at, k)
                if tired(at):
                    build(at)
                if placement.shape[0] > 0:
                    placement[t, i, k] += 1
                placed += 1
                if placed % BLOCK == 0:
                    yield
                run[i] += 1.0
                rest[i] -= 1.0
                held[i] -= 1.0
                tasks[t, i] += 1.0
                leaves, coefficient = False, 0.0
                if phase == 0:
                    for j in range(m):
                        now[j] = used[i, j] + run[i] * need[i, j]
                    coefficient = _ratio(now, owned[i])
                    leaves = coefficient >= 1.0 - FITS
                if rest[i] <= 0.0 or leaves:
                    _write_down(run, need, weight, used, amounts[t], level, i)
                    ready[i] = False
                if held[i] <= 0.0:
                    stops[t, i] = DONE
                    key[i] = np.inf
                elif leaves:
                    key[i] = np.inf
                else:
                    key[i] = coefficient if phase == 0 else level[i] + run[i] * weight[i]
                _lift(user_tree, key, i)
        for i in range(n):
            beta[t, i] = _ratio(used[i], owned[i])
            cumulative[t, i] = past[i] + level[i]
            unserved[t, i] = held[i]
        for k in range(K):
            for j in range(m):
                machine_use[t, k, j] = (machines[k, j] - left[k, j]) - low[k, j]
