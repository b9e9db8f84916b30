"""Compiled loops of TV-DRF: what users would run alone, the heuristic in whole tasks, and the fluid optimum.

:mod:`fairbook.mechanisms.tv_drf` checks the input and says what the numbers mean. T periods, n users, m resources and
K machines everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbook.kernels import INSIDE, kernel
from fairbook.mechanisms.engines.nearest import FEW, PATIENCE, build, move, nearest, nearest_of_few, renew_few
from fairbook.model.inputs import FloatArray

__all__ = [
    "DONE",
    "FITS",
    "IDLE",
    "NEAR",
    "SPLIT",
    "UNSET",
    "add_parts",
    "alone_by_resources",
    "alone_by_tasks",
    "coefficients",
    "enough",
    "flow",
    "heuristic",
    "rise",
]

#: What stops a user in place of a resource: nothing yet, no tasks at all, no machine with room, all tasks are run.
UNSET, IDLE, SPLIT, DONE = -4, -3, -2, -1

#: A task fits if it leaves no resource of the machine below minus this part of its capacity: ten tenths fill a unit.
FITS = 1e-12

#: Fluid: a coefficient above 1 minus this is 1; what is left of a resource of the pool is none up to this part of it.
NEAR = 1e-13

# ------------------------------------------------------------------------------------------------------- alone


def _spread(demands: Any, bounds: Any, machines: Any, *_: Any) -> float:
    """Steps of spreading all groups over all machines."""
    return float(demands.size * len(machines))


@kernel(_spread)
def alone_by_tasks(
    demands: Any, bounds: Any, machines: Any, parts: Any, waits: bool, whole: bool, rounding: Any, own: Any
) -> None:
    """Fill ``own`` (zeros, (T, n, m)) with what each user could run on its own parts, a queue in order of submission.

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
def coefficients(amounts: FloatArray, own: FloatArray) -> FloatArray:
    """Sharing coefficients after each period, (T, n)."""
    T, n, m = amounts.shape
    used, owned, beta = np.zeros((n, m)), np.zeros((n, m)), np.empty((T, n))
    for t in range(T):
        for i in range(n):
            for j in range(m):
                used[i, j] += amounts[t, i, j]
                owned[i, j] += own[t, i, j]
            beta[t, i] = _ratio(used[i], owned[i])
    return beta


# --------------------------------------------------------------------------------------------------- heuristic


@kernel(INSIDE)
def _build(tree: NDArray[np.int32], keys: FloatArray) -> None:
    """Set up a tournament: ``tree[1]`` is the place of the least key, the first one among equals.

    ``tree`` has shape (2 s,), s a power of two and at least the number of keys; the places themselves stand at s +
    place.
    """
    size = len(tree) // 2
    for node in range(size - 1, 0, -1):
        a, b = tree[2 * node], tree[2 * node + 1]
        tree[node] = b if keys[b] < keys[a] else a


@kernel(INSIDE)
def _lift(tree: NDArray[np.int32], keys: FloatArray, place: int) -> None:
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
) -> None:
    """Run Algorithm 1 over all periods.

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
    user_tree = np.empty(2 * seats, dtype=np.int32)
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
    vacant, room, unit, leads = at.free, at.room, at.unit, at.leads
    few, columns, far = K <= FEW, np.empty((m + m * len(leads), K)), np.empty(K)
    for t in range(T):
        left[:], low[:], vacant[:], room[:] = machines, 0.0, machines, machines + allow
        for k in range(K if few else 0):
            renew_few(columns, vacant, room, leads, k)
        if not few:
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
                if few:
                    k = nearest_of_few(columns, unit, leads[lead[i]], need, shape, i, lead[i], far)
                else:
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
                if few:
                    renew_few(columns, vacant, room, leads, k)
                else:
                    move(at, k)
                    if at.work[0] > PATIENCE * K:
                        build(at)
                if placement.shape[0] > 0:
                    placement[t, i, k] += 1
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


# ------------------------------------------------------------------------------------------------------- fluid


@kernel()
def rise(
    need: Any,
    begin: Any,
    end: Any,
    owner: Any,
    rising: Any,
    ending: Any,
    slack: Any,
    tree: Any,
    gained: Any,
    whole: Any,
    stops: Any,
    near: Any,
) -> None:
    """Progressive filling along paths: exactly, from event to event.

    A path is a chain of pieces. While the clock runs from ``begin[p]`` to ``end[p]`` the owner of piece p takes
    ``need[p, j]`` of resource j per unit of the clock, unless a resource that it needs is used up: that stops the owner
    for good. Pieces of one owner follow each other without a gap. ``rising`` and ``ending`` sort the pieces by begin
    and end (stable, an owner's pieces in their order). ``gained`` (clock units), ``whole`` (pieces gone through),
    ``stops`` (by owner, UNSET before) and ``slack`` receive the result. ``tree`` (zeros, (2 p, m)) adds up needs in
    pairs, so that who stops is left out rather than subtracted. A piece that ends as a resource is used up has ended,
    and its owner goes on to the next one; in doubles the two may come apart, so a resource is used up where at most
    ``near`` of the pool is left of it, and may be overdrawn by that. Also runs on fractions, with ``near`` 0.
    Cost O(p m log p + n m^2 + p m^2) for p pieces.
    """
    count, m = need.shape
    up = 0
    down = 0
    clock = begin[rising[0]]
    while down < count:
        p = ending[down]
        if whole[p] or stops[owner[p]] != UNSET:
            down += 1
            continue
        starts = up < count and begin[rising[up]] < end[p]  # where both happen at once, ends come first
        if starts:
            p = rising[up]
            if whole[p] or stops[owner[p]] != UNSET:
                up += 1
                continue
        target = begin[p] if starts else end[p]
        step = target - clock
        short = False
        for j in range(m):
            if tree[1, j] * step > slack[j] + near:
                short = True
        if not short:
            for j in range(m):
                slack[j] -= tree[1, j] * step
            clock = target
            if starts:
                up += 1
                for j in range(m):
                    if need[p, j] > 0 and slack[j] <= near and stops[owner[p]] == UNSET:
                        stops[owner[p]] = j
                starts = stops[owner[p]] == UNSET
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
                left = slack[j] / tree[1, j] if slack[j] > 0 else slack[j] * 0
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
            if not whole[p] and stops[owner[p]] == UNSET:
                for j in range(m):
                    if need[p, j] > 0 and slack[j] <= near:
                        stops[owner[p]] = j
                        gained[p] = min(clock - begin[p], end[p] - begin[p])
                        for k in range(m):
                            tree[count + p, k] = need[p, k] * 0
                        break
        for place in range(count - 1, 0, -1):
            for j in range(m):
                tree[place, j] = tree[2 * place, j] + tree[2 * place + 1, j]


@kernel(INSIDE)
def _left(
    i: int,
    t: int,
    bounds: FloatArray,
    head: NDArray[np.int64],
    rest: FloatArray,
    place: NDArray[np.int64],
    run: FloatArray,
) -> float:
    """Tasks left of the group that user i is served from, 0.0 where its queue has ended; moves on past empty groups."""
    while place[i] <= t:
        count = rest[i] if place[i] == head[i] else bounds[place[i], i]
        if count > 0.0:
            return count - run[i]
        place[i] += 1
    return 0.0


@kernel(INSIDE)
def _height(
    i: int,
    dominant: FloatArray,
    weights: FloatArray,
    bounds: FloatArray,
    head: NDArray[np.int64],
    rest: FloatArray,
    place: NDArray[np.int64],
    run: FloatArray,
    level: FloatArray,
) -> float:
    """G of user i with what it has run so far in this period."""
    total = 0.0
    for s in range(head[i], place[i]):
        total += (rest[i] if s == head[i] else bounds[s, i]) * dominant[s, i] / weights[i]
    return level[i] + (total + run[i] * dominant[place[i], i] / weights[i] if run[i] > 0.0 else total)


@kernel(INSIDE)
def _flow_floors(
    t: int,
    share: FloatArray,
    bounds: FloatArray,
    used: FloatArray,
    owned: FloatArray,
    near: float,
    head: NDArray[np.int64],
    rest: FloatArray,
    place: NDArray[np.int64],
    run: FloatArray,
    slack: FloatArray,
) -> bool:
    """Give everyone the least that makes beta at least 1.

    Move ``place`` and ``run`` on, and write to ``slack`` what is left of the pool.
    False, with ``slack`` undefined, where the tasks or the pool do not suffice for it.
    """
    n, m = used.shape
    lack, taken = np.empty(m), np.zeros(m)
    for i in range(n):
        some = 0.0
        for j in range(m):
            lack[j] = owned[i, j] - used[i, j]
            if not lack[j] > near * owned[i, j]:
                lack[j] = 0.0
        while lack.max() > 0.0:
            left = _left(i, t, bounds, head, rest, place, run)
            if place[i] > t:
                return False
            some, whole = 0.0, False
            for j in range(m):
                if lack[j] > 0.0:
                    want = lack[j] / share[place[i], i, j]
                    whole |= not want < left * (1.0 - near)
                    some = max(some, want)
            some = left if whole else some
            for j in range(m):
                taken[j] += some * share[place[i], i, j]
                lack[j] -= some * share[place[i], i, j]
                if not (whole and lack[j] > near * owned[i, j]):
                    lack[j] = 0.0
            place[i], run[i] = (place[i] + 1, 0.0) if whole else (place[i], run[i] + some)
    for j in range(m):
        if taken[j] > 1.0 + 10.0 * near:
            return False
        slack[j] = 1.0 - taken[j] if taken[j] < 1.0 else 0.0
    return True


@kernel(INSIDE)
def _flow_coefficients(
    i: int,
    t: int,
    share: FloatArray,
    bounds: FloatArray,
    used: FloatArray,
    owned: FloatArray,
    near: float,
    head: NDArray[np.int64],
    rest: FloatArray,
    pieces: Any,
) -> None:
    """Append the pieces of a user's path while its coefficient rises to 1; they end where a task would not raise it.

    The clock is the coefficient. A piece: begin, end, clock per task, user, group, whether it ends the group.
    """
    m = used.shape[1]
    values, clock, started = used[i] / owned[i], 0.0, False
    for s in range(head[i], t + 1):
        left = rest[i] if s == head[i] else bounds[s, i]
        while left > 0.0:
            low, rate = np.inf, np.inf
            for j in range(m):
                if owned[i, j] > 0.0:
                    low = min(low, values[j])
            if not low < 1.0 - near:
                return
            for j in range(m):
                if owned[i, j] > 0.0 and values[j] <= low + near:
                    rate = min(rate, share[s, i, j] / owned[i, j])
            if not rate > 0.0:
                return
            width = (1.0 - low) / rate
            width = width if width < left * (1.0 - near) else left
            for j in range(m):
                if owned[i, j] > 0.0:
                    slope = share[s, i, j] / owned[i, j]
                    if slope < rate and (values[j] - low) / (rate - slope) < width * (1.0 - near):
                        width = (values[j] - low) / (rate - slope)
            clock, started = clock if started else low, True
            pieces.append((clock, clock + width * rate, rate, i, s, width == left))
            clock += width * rate
            for j in range(m):
                values[j] += width * (share[s, i, j] / owned[i, j])
            left = 0.0 if width == left else left - width


@kernel(INSIDE)
def _flow_run(
    t: int,
    pieces: Any,
    share: FloatArray,
    bounds: FloatArray,
    head: NDArray[np.int64],
    rest: FloatArray,
    place: NDArray[np.int64],
    run: FloatArray,
    slack: FloatArray,
    stopped: NDArray[np.int64],
    near: float,
) -> None:
    """Let a clock run along the pieces and move ``place`` and ``run`` on; ``slack`` and ``stopped`` are overwritten."""
    m, count = len(slack), len(pieces)
    stopped[:] = UNSET
    if count == 0:
        return
    begin, end, owner = np.empty(count), np.empty(count), np.empty(count, dtype=np.int64)
    need, gained, tree = np.empty((count, m)), np.zeros(count), np.zeros((2 * count, m))
    whole = np.zeros(count, dtype=np.bool_)
    for p in range(count):
        begin[p], end[p], rate, owner[p], s, _ = pieces[p]
        for j in range(m):
            need[p, j] = share[s, owner[p], j] / rate
    rise(
        need,
        begin,
        end,
        owner,
        np.argsort(begin, kind="mergesort"),
        np.argsort(end, kind="mergesort"),
        slack,
        tree,
        gained,
        whole,
        stopped,
        near,
    )
    for p in range(count):
        _, _, rate, i, _, ends = pieces[p]
        left = _left(i, t, bounds, head, rest, place, run)
        if place[i] > t:
            continue
        if whole[p] and ends:
            place[i], run[i] = place[i] + 1, 0.0
        else:
            run[i] += min(gained[p] / rate, left)


@kernel()
def flow(
    demands: FloatArray,
    bounds: FloatArray,
    total: FloatArray,
    own: FloatArray,
    weights: FloatArray,
    waits: bool,
    memory: bool,
    near: float,
    tasks: FloatArray,
    amounts: FloatArray,
    cumulative: FloatArray,
    unserved: FloatArray,
    stops: NDArray[np.int64],
    below: NDArray[np.bool_],
) -> None:
    """Run the lexicographic mechanism in one pool over all periods.

    In each period everyone first gets the least that makes beta at least 1, or, where that is out of reach, beta rises
    from the lowest one up (:func:`_flow_coefficients`). Then G does. A queue is a place in ``bounds``: the first group
    left (``head``), and how much of it (``rest``).
    """
    T, n, m = demands.shape
    share = demands / total
    used, owned, level, past = np.zeros((n, m)), np.zeros((n, m)), np.zeros(n), np.zeros(n)
    head, place = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)  # first group left; the one being served
    rest, run = np.zeros(n), np.zeros(n)  # tasks left of the first; tasks run of the one being served
    slack, stopped, dominant = np.empty(m), np.empty(n, dtype=np.int64), np.empty((T, n))
    pieces = [(0.0, 0.0, 0.0, 0, 0, True)]  # begin, end, clock per task, user, group, whether it ends the group
    for t in range(T):
        for i in range(n):
            dominant[t, i] = share[t, i].max()
            if not memory:
                past[i] += level[i]
                level[i] = 0.0
                used[i] = 0.0
                owned[i] = 0.0
            for j in range(m):
                owned[i, j] += own[t, i, j] / total[j]
            if not waits:
                head[i] = t
            if head[i] == t:
                rest[i] = bounds[t, i]
            place[i], run[i] = head[i], 0.0
        if not _flow_floors(t, share, bounds, used, owned, near, head, rest, place, run, slack):
            below[t] = True
            pieces.clear()
            for i in range(n):
                place[i], run[i] = head[i], 0.0
                _flow_coefficients(i, t, share, bounds, used, owned, near, head, rest, pieces)
            slack[:] = 1.0
            _flow_run(t, pieces, share, bounds, head, rest, place, run, slack, stopped, near)
        pieces.clear()
        base = np.inf
        for i in range(n):
            base = min(base, _height(i, dominant, weights, bounds, head, rest, place, run, level))
        for i in range(n):
            clock = _height(i, dominant, weights, bounds, head, rest, place, run, level) - base
            left = _left(i, t, bounds, head, rest, place, run)
            for s in range(place[i], t + 1):
                left = left if s == place[i] else bounds[s, i]
                if s == place[i] or left > 0.0:
                    rate = dominant[s, i] / weights[i]
                    pieces.append((clock, clock + left * rate, rate, i, s, True))
                    clock += left * rate
        _flow_run(t, pieces, share, bounds, head, rest, place, run, slack, stopped, near)
        for i in range(n):
            level[i] = _height(i, dominant, weights, bounds, head, rest, place, run, level)
            cumulative[t, i] = past[i] + level[i]
            held = False
            for s in range(head[i], min(place[i], t) + 1):
                count = rest[i] if s == head[i] else bounds[s, i]
                held |= count > 0.0
                count = run[i] if s == place[i] else count
                tasks[t, i] += count
                for j in range(m):
                    amounts[t, i, j] += count * demands[s, i, j]
                    used[i, j] += count * share[s, i, j]
            left = _left(i, t, bounds, head, rest, place, run)
            if held:
                stops[t, i] = stopped[i] if place[i] <= t else DONE
            head[i], rest[i] = place[i], left
            unserved[t, i] = left
            for s in range(place[i] + 1, t + 1):
                unserved[t, i] += bounds[s, i]


@kernel()
def enough(demands: FloatArray, total: FloatArray) -> FloatArray:
    """Twice the tasks that the empty pool could run: as good as no bound."""
    T, n, m = demands.shape
    most = np.zeros((T, n))
    for t in range(T):
        for i in range(n):
            least = np.inf
            for j in range(m):
                if demands[t, i, j] > 0.0:
                    least = min(least, total[j] / demands[t, i, j])
            most[t, i] = 2.0 * least if least < np.inf else 0.0
    return most
