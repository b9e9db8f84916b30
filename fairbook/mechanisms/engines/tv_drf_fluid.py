"""Compiled loops of fluid TV-DRF: progressive filling along paths, and with it the lexicographic optimum in one pool.

:mod:`fairbook.mechanisms.tv_drf` checks the input and says what the numbers mean. T periods, n users and m resources
everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbook.kernels import INSIDE, kernel
from fairbook.mechanisms.engines.tv_drf_kernels import DONE, UNSET
from fairbook.model.inputs import FloatArray

#: Fluid: a coefficient above 1 minus this is 1; what is left of a resource of the pool is none up to this part of it.
NEAR = 1e-13


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
