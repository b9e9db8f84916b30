"""Fluid TV-DRF in one pool, compiled: the lexicographic optimum of each period, from event to event.

What a user runs as its value rises, beta to 1 and then G, is a path: pieces on which it takes a fixed amount per unit
of the value. The value is a clock, the same for all, so the lowest rise together and whom they reach joins them, as the
rule says. Between two events (a piece begins or ends, a resource is used up) all is linear, and is taken in one step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairbook.kernels import INSIDE, kernel
from fairbook.mechanisms.engines.tv_drf_alone import DONE, UNSET
from fairbook.model.inputs import FloatArray

#: Fluid: a coefficient above 1 minus this is 1; what is left of a resource of the pool is none up to this part of it.
NEAR = 1e-13


class Paths(NamedTuple):
    """Chains of pieces, each of one owner without a gap; m resources. Comments follow."""

    need: FloatArray
    # ^ What the owner takes of each resource per unit of the clock while the piece lasts, (p, m).
    toll: FloatArray
    # ^ What it pays before the piece, at once or not at all, (p, m).
    begin: FloatArray
    end: FloatArray
    # ^ By the clock, (p,).
    owner: NDArray[np.int64]
    gained: FloatArray
    # ^ Clock units run; -1 where the piece does not begin.
    whole: NDArray[np.bool_]
    # ^ Whether it was gone through.
    tree: FloatArray
    # ^ Needs of the pieces that run, added up in pairs so that who stops is left out, not subtracted, (2 p, m).
    slack: FloatArray
    stops: NDArray[np.int64]
    # ^ What stops each owner, UNSET before.


@kernel(INSIDE, _nrt=False, forceinline=True)
def _put(paths: Any, p: int, runs: bool) -> None:
    """Add a piece to what runs, or leave it out."""
    tree, m = paths.tree, len(paths.slack)
    place = len(paths.begin) + p
    for j in range(m):
        tree[place, j] = paths.need[p, j] if runs else 0.0
    while place > 1:
        place //= 2
        for j in range(m):
            tree[place, j] = tree[2 * place, j] + tree[2 * place + 1, j]


@kernel(INSIDE, _nrt=False)
def _begin(paths: Any, p: int, near: float) -> None:
    """Begin a piece, unless its toll leaves nothing of what its owner needs next or those who rise already need."""
    running, slack, toll, owner = paths.tree[1], paths.slack, paths.toll, paths.owner[p]
    for j in range(len(slack)):
        wanted = paths.need[p, j] > 0.0 or (toll[p, j] > 0.0 and running[j] > 0.0)
        left = slack[j] - toll[p, j]
        if (left < -near or (wanted and left <= near)) and paths.stops[owner] == UNSET:
            paths.stops[owner] = j
    if paths.stops[owner] == UNSET:
        paths.gained[p] = 0.0
        for j in range(len(slack)):
            if toll[p, j] > 0.0:
                slack[j] = max(slack[j] - toll[p, j], 0.0)
        _put(paths, p, True)


@kernel(INSIDE, _nrt=False)
def _use_up(paths: Any, clock: float, begun: Any, near: float) -> float:
    """Let the clock run until a resource is used up, and stop who needs it; give the clock."""
    running, slack, step = paths.tree[1], paths.slack, np.inf
    for j in range(len(slack)):
        if running[j] > 0.0:
            step = min(step, max(slack[j], 0.0) / running[j])
    for j in range(len(slack)):
        if running[j] > 0.0:  # the resource that sets the step is empty by definition, not up to rounding
            slack[j] = max(slack[j] - running[j] * step, 0.0) if slack[j] / running[j] > step else 0.0
    for p in begun:
        i = paths.owner[p]
        for j in range(len(slack)):
            runs = not paths.whole[p] and paths.stops[i] == UNSET
            if runs and paths.need[p, j] > 0.0 and slack[j] <= near:
                paths.stops[i] = j
                paths.gained[p] = min(clock + step - paths.begin[p], paths.end[p] - paths.begin[p])
                paths.tree[len(paths.begin) + p] = 0.0
    for place in range(len(paths.begin) - 1, 0, -1):
        for j in range(len(slack)):
            paths.tree[place, j] = paths.tree[2 * place, j] + paths.tree[2 * place + 1, j]
    return clock + step


@kernel(INSIDE)
def _rise(paths: Any, rising: NDArray[np.int64], ending: NDArray[np.int64], near: float) -> None:
    """Fill progressively along paths: exactly, from event to event; ``rising`` and ``ending`` sort the pieces.

    A resource that a piece needs stops its owner for good once it is used up. A piece that ends as a resource is used
    up has ended, and its owner goes on to the next one; in doubles the two may come apart, so a resource is used up
    where at most ``near`` of the pool is left of it, and may be overdrawn by that.
    Cost O(p m log p + n m^2 + p m^2) for p pieces.
    """
    count, m = paths.need.shape
    up, down, clock = 0, 0, paths.begin[rising[0]]
    while down < count:
        p = ending[down]
        if paths.whole[p] or paths.stops[paths.owner[p]] != UNSET:
            down += 1
            continue
        starts = up < count and paths.begin[rising[up]] < paths.end[p]  # where both are at once, ends come first
        if starts:
            p = rising[up]
            if paths.whole[p] or paths.stops[paths.owner[p]] != UNSET:
                up += 1
                continue
        target = paths.begin[p] if starts else paths.end[p]
        fits = True
        for j in range(m):
            fits &= paths.tree[1, j] * (target - clock) <= paths.slack[j] + near
        if not fits:
            clock = _use_up(paths, clock, rising[:up], near)
            continue
        for j in range(m):
            paths.slack[j] -= paths.tree[1, j] * (target - clock)
        clock = target
        if starts:
            up += 1
            _begin(paths, p, near)
        else:
            down += 1
            paths.gained[p], paths.whole[p] = paths.end[p] - paths.begin[p], True
            _put(paths, p, False)


class Queues(NamedTuple):
    """What users have submitted, group by group, a group a period, and how far they have come in this period."""

    bounds: FloatArray
    # ^ Tasks of each group, (T, n).
    head: NDArray[np.int64]
    # ^ The first group left at the beginning of the period, (n,).
    rest: FloatArray
    # ^ What is left of it then, (n,).
    place: NDArray[np.int64]
    # ^ The group being served, (n,).
    run: FloatArray
    # ^ Tasks of that group run in this period, (n,).


def as_queues(bounds: FloatArray) -> Queues:
    """Give queues before the first period."""
    n = bounds.shape[1]
    return Queues(bounds, np.zeros(n, np.int64), np.zeros(n), np.zeros(n, np.int64), np.zeros(n))


@kernel(INSIDE, _nrt=False)
def _had(queue: Any, i: int, s: int) -> float:
    """Tasks of group s that user i had at the beginning of the period."""
    return queue.rest[i] if s == queue.head[i] else queue.bounds[s, i]


@kernel(INSIDE, _nrt=False)
def _ran(queue: Any, i: int, s: int) -> float:
    """Tasks of group s that user i has run in this period, up to the group being served."""
    return queue.run[i] if s == queue.place[i] else _had(queue, i, s)


@kernel(INSIDE, _nrt=False)
def _left(queue: Any, i: int, t: int) -> float:
    """Tasks left of the group that user i is served from, 0.0 where its queue has ended; moves on past empty groups."""
    while queue.place[i] <= t:
        count = _had(queue, i, queue.place[i])
        if count > 0.0:
            return count - queue.run[i]
        queue.place[i] += 1
    return 0.0


@kernel(INSIDE, _nrt=False)
def _height(queue: Any, i: int, t: int, dominant: FloatArray, weights: FloatArray) -> float:
    """What user i has run so far in this period adds so much to its G."""
    total = 0.0
    for s in range(queue.head[i], min(queue.place[i], t) + 1):
        total += _ran(queue, i, s) * dominant[s, i] / weights[i]
    return total


@kernel(INSIDE, _nrt=False)
def _floors(
    t: int,
    share: FloatArray,
    waits: bool,
    lack: FloatArray,
    alone: Any,
    queue: Any,
    slack: FloatArray,
) -> None:
    """Give everyone the least that makes beta at least 1, where alone nobody would have run less in this period.

    Where tasks wait, that brings its queue as far as the one alone has come.
    """
    slack[:] = 1.0
    alone_head, alone_rest = alone
    for i in range(len(lack)):
        if not waits:
            for j in range(len(slack)):
                if lack[i, j] > 0.0:
                    queue.run[i] = max(queue.run[i], lack[i, j] / share[t, i, j])
            queue.run[i] = min(queue.run[i], queue.bounds[t, i])
        elif alone_head[t, i] >= queue.head[i]:
            queue.place[i] = alone_head[t, i]
            if alone_head[t, i] <= t:
                queue.run[i] = max(_had(queue, i, alone_head[t, i]) - alone_rest[t, i], 0.0)
        for s in range(queue.head[i], min(queue.place[i], t) + 1):
            for j in range(len(slack)):
                slack[j] -= _ran(queue, i, s) * share[s, i, j]
    for j in range(len(slack)):
        slack[j] = max(slack[j], 0.0)


@kernel(INSIDE)
def _path(
    i: int, t: int, share: FloatArray, lack: FloatArray, owned: FloatArray, near: float, queue: Any, pieces: Any
) -> None:
    """Append the pieces of a user's path while its coefficient rises to 1, up to the last one that raises it.

    The clock is the coefficient less 1. A piece: begin, end, clock per task (0 where it does not raise the
    coefficient), tasks, user, group, whether it ends the group.
    """
    m = lack.shape[1]
    missing, slope = np.full(m, -np.inf), np.zeros(m)  # in parts of what is owned
    for j in range(m):
        if owned[i, j] > 0.0:
            missing[j] = lack[i, j] / owned[i, j]
    top, risen = missing.max(), len(pieces)
    clock = -top
    for s in range(queue.head[i], t + 1):
        left = _had(queue, i, s)
        for j in range(m):
            slope[j] = share[s, i, j] / owned[i, j] if owned[i, j] > 0.0 else 0.0
        while left > 0.0 and top > near:
            rate, width = np.inf, left
            for j in range(m):
                if missing[j] >= top - near:
                    rate = min(rate, slope[j])
            if rate > 0.0:
                if top < rate * width * (1.0 - near):
                    width = top / rate
                for j in range(m):
                    if slope[j] < rate and top - missing[j] < (rate - slope[j]) * width * (1.0 - near):
                        width = (top - missing[j]) / (rate - slope[j])
            pieces.append((clock, clock + width * rate, rate, width, i, s, width == left))
            clock += width * rate
            risen = len(pieces) if rate > 0.0 else risen
            left = 0.0 if width == left else left - width
            for j in range(m):
                missing[j] -= width * slope[j]
            top = missing.max()
    while len(pieces) > risen:
        pieces.pop()


@kernel(INSIDE, _nrt=False)
def _advance(queue: Any, i: int, s: int, some: float, ends: bool) -> None:
    """Run so many tasks of group s, or all that are left of it."""
    if queue.place[i] != s:
        queue.place[i], queue.run[i] = s, 0.0
    queue.place[i], queue.run[i] = (s + 1, 0.0) if ends else (s, queue.run[i] + some)


@kernel(INSIDE)
def _run(
    pieces: Any, share: FloatArray, near: float, queue: Any, slack: FloatArray, stopped: NDArray[np.int64]
) -> None:
    """Let a clock run along the pieces, move the queues on; ``slack`` and ``stopped`` are overwritten."""
    m, count, fits = len(slack), 0, True
    stopped[:] = UNSET
    asked = np.zeros(m)
    for _, _, rate, some, i, s, _ in pieces:
        count += rate > 0.0
        for j in range(m):
            asked[j] += some * share[s, i, j]
    for j in range(m):
        fits &= asked[j] <= slack[j] + near
    if fits:
        for _, _, _, some, i, s, ends in pieces:
            _advance(queue, i, s, some, ends)
        for j in range(m):
            slack[j] = max(slack[j] - asked[j], 0.0)
        return
    paths = Paths(
        np.empty((count, m)),
        np.zeros((count, m)),
        np.empty(count),
        np.empty(count),
        np.empty(count, dtype=np.int64),
        np.full(count, -1.0),
        np.zeros(count, dtype=np.bool_),
        np.zeros((2 * count, m)),
        slack,
        stopped,
    )
    p = 0
    for start, stop, rate, some, i, s, _ in pieces:
        for j in range(m):
            if rate > 0.0:
                paths.need[p, j] = share[s, i, j] / rate
            else:
                paths.toll[p, j] += some * share[s, i, j]
        if rate > 0.0:
            paths.begin[p], paths.end[p], paths.owner[p] = start, stop, i
            p += 1
    rising = np.argsort(paths.begin, kind="mergesort")
    if count < len(pieces):  # of those who begin together, who pays comes last
        free = np.argsort(paths.toll.sum(axis=1) > 0.0, kind="mergesort")
        rising = free[np.argsort(paths.begin[free], kind="mergesort")]
    _rise(paths, rising, np.argsort(paths.end, kind="mergesort"), near)
    p = 0
    for _, _, rate, some, i, s, ends in pieces:
        if paths.gained[p] >= 0.0:
            full = paths.whole[p] or not rate > 0.0
            _advance(queue, i, s, some if full else min(paths.gained[p] / rate, some), full and ends)
        p += rate > 0.0


class State(NamedTuple):
    """What the past of n users comes to, m resources of the pool. Comments follow."""

    lack: FloatArray
    # ^ What they owned less what they used, so far, in parts of the pool, (n, m).
    owned: FloatArray
    # ^ What they owned so far, (n, m).
    level: FloatArray
    # ^ G, (n,).
    past: FloatArray
    # ^ G of what is no longer counted, (n,).


@kernel(INSIDE, _nrt=False)
def _open(t: int, own: FloatArray, total: FloatArray, waits: bool, memory: bool, queue: Any, state: Any) -> None:
    """Begin a period: what everyone owns in it, and its queue."""
    n, m = state.lack.shape
    for i in range(n):
        if not memory:
            state.past[i] += state.level[i]
            state.level[i] = 0.0
            state.lack[i] = 0.0
            state.owned[i] = 0.0
        for j in range(m):
            now = own[t, i, j] / total[j]
            state.lack[i, j] += now
            state.owned[i, j] += now
        if not waits:
            queue.head[i] = t
        if queue.head[i] == t:
            queue.rest[i] = queue.bounds[t, i]
        queue.place[i], queue.run[i] = queue.head[i], 0.0


@kernel(INSIDE)
def _climb(t: int, dominant: FloatArray, weights: FloatArray, queue: Any, level: FloatArray, pieces: Any) -> None:
    """Append the pieces on which G rises, as in :func:`_path`; the clock is G."""
    n, base = len(level), np.inf
    heights = np.empty(n)
    for i in range(n):
        heights[i] = level[i] + _height(queue, i, t, dominant, weights)
        base = min(base, heights[i])
    for i in range(n):
        clock = heights[i] - base
        left = _left(queue, i, t)
        for s in range(queue.place[i], t + 1):
            left = left if s == queue.place[i] else queue.bounds[s, i]
            if s == queue.place[i] or left > 0.0:
                rate = dominant[s, i] / weights[i]
                pieces.append((clock, clock + left * rate, rate, left, i, s, True))
                clock += left * rate


@kernel(INSIDE, _nrt=False)
def _close(
    t: int,
    share: FloatArray,
    demands: FloatArray,
    sure: bool,
    queue: Any,
    state: Any,
    stopped: NDArray[np.int64],
    tasks: FloatArray,
    amounts: FloatArray,
    unserved: FloatArray,
    stops: NDArray[np.int64],
) -> None:
    """End a period: write down what everyone has run, and what is left of its queue."""
    n, m = state.lack.shape
    for i in range(n):
        held = False
        for s in range(queue.head[i], min(queue.place[i], t) + 1):
            held |= _had(queue, i, s) > 0.0
            count = _ran(queue, i, s)
            tasks[t, i] += count
            for j in range(m):
                amounts[t, i, j] += count * demands[s, i, j]
                state.lack[i, j] -= count * share[s, i, j]
        for j in range(m if sure else 0):
            state.lack[i, j] = min(state.lack[i, j], 0.0)
        left = _left(queue, i, t)
        if held:
            stops[t, i] = stopped[i] if queue.place[i] <= t else DONE
        queue.head[i], queue.rest[i] = queue.place[i], left
        for s in range(queue.place[i] + 1, t + 1):
            left += queue.bounds[s, i]
        unserved[t, i] = left


@kernel()
def flow(
    demands: FloatArray,
    queue: Any,
    total: FloatArray,
    own: FloatArray,
    weights: FloatArray,
    waits: bool,
    memory: bool,
    sure: bool,
    alone: Any,
    near: float,
    state: Any,
    results: Any,
) -> Iterator[None]:
    """Run the lexicographic mechanism in one pool over all periods; a generator that pauses before each of them.

    In each period everyone first gets the least that makes beta at least 1 (``sure``: that is always to be had) or,
    where that is out of reach, beta rises from the lowest one up (:func:`_path`). Then G does. ``alone`` tells how far
    the queues alone have come; ``results`` are tasks, amounts, G, tasks left over and what stops each user.
    """
    T, n, m = demands.shape
    tasks, amounts, cumulative, unserved, stops = results
    share, dominant = demands / total, np.empty((T, n))
    slack, stopped = np.empty(m), np.empty(n, dtype=np.int64)
    pieces = [(0.0, 0.0, 0.0, 0.0, 0, 0, True)]
    for t in range(T):
        yield
        for i in range(n):
            dominant[t, i] = share[t, i].max()
        _open(t, own, total, waits, memory, queue, state)
        if sure:
            _floors(t, share, waits, state.lack, alone, queue, slack)
        else:
            slack[:] = 1.0
            pieces.clear()
            for i in range(n):
                _path(i, t, share, state.lack, state.owned, near, queue, pieces)
            _run(pieces, share, near, queue, slack, stopped)
        pieces.clear()
        _climb(t, dominant, weights, queue, state.level, pieces)
        _run(pieces, share, near, queue, slack, stopped)
        for i in range(n):
            state.level[i] += _height(queue, i, t, dominant, weights)
            cumulative[t, i] = state.past[i] + state.level[i]
        _close(t, share, demands, sure, queue, state, stopped, tasks, amounts, unserved, stops)


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
