"""Whole tasks one at a time: the loop, and the input that all rules of the kind have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.filling import fill_by_rate
from fairbook.kernels import INSIDE, kernel
from fairbook.mechanisms.readings import Engine
from fairbook.model.allocation import Allocation
from fairbook.model.exact import by_rule
from fairbook.model.inputs import (
    FITS,
    NOTHING,
    OWN,
    TIED,
    FloatArray,
    as_capacities,
    as_demands,
    as_max_tasks,
    as_weights,
    per_user,
    raise_at_first,
    row_max,
)

MOST_HANDED_OUT = 1e8  # that are handed out one by one: some ten seconds
UNIT = 1e-15  # what a few roundings change, in parts of a number


def _possible(share: FloatArray, bounds: FloatArray) -> float:
    """Give a number of tasks that surely no more than fit: each takes the most of one of m resources."""
    largest = row_max(share)
    return float(min(np.minimum(bounds, 1.0 / largest).sum(), share.shape[1] / largest.min()))


def check_count(share: FloatArray, weights: FloatArray, bounds: FloatArray) -> None:
    """Raise InvalidInput where too many tasks are to be handed out one by one, going by the divisible ones."""
    if _possible(share, bounds) > MOST_HANDED_OUT:
        n, m = share.shape
        rate, levels = weights / row_max(share), np.empty(n)
        fill_by_rate(share, rate, 0 * rate, bounds / rate, np.ones(m), levels, np.empty(n, np.int64))
        refuse_more(np.minimum(levels * rate, bounds))


def refuse_more(tasks: FloatArray) -> None:
    """Raise InvalidInput where these are more tasks than are handed out one by one."""
    if tasks.sum() > MOST_HANDED_OUT:
        rule = f"must be large enough that at most {MOST_HANDED_OUT:g} whole tasks are handed out"
        raise InvalidInput("demands", rule, f"{tasks.sum():.3g} tasks")


@kernel(INSIDE)
def left_over(tasks: FloatArray, share: FloatArray, left: FloatArray) -> None:
    """Work out what is left of each resource. Cost O(n m)."""
    n, m = share.shape
    for j in range(m):
        left[j] = 1.0
    for i in range(n):
        for j in range(m):
            left[j] -= tasks[i] * share[i, j]


@kernel(INSIDE)
def tournament(held: FloatArray) -> NDArray[np.int64]:
    """Seat all, a power of two, in a tournament, won by who holds least, of those tied the first; give the winners.

    Node k of them is won by one of the nodes 2 k and 2 k + 1, and the last half are those who play. Cost O(n).
    """
    seats = len(held)
    winners = np.arange(-seats, seats)
    for node in range(seats - 1, 0, -1):
        a, b = winners[2 * node], winners[2 * node + 1]
        winners[node] = b if held[b] * (1.0 + TIED) < held[a] else a
    return winners


@kernel(INSIDE, _nrt=False, forceinline=True)
def seat(held: FloatArray, winners: NDArray[np.int64], i: int, holds: float) -> None:
    """Write down what one holds, and replay its games. Cost O(log n)."""
    held[i] = holds
    node = (len(held) + i) >> 1
    while node:
        a, b = winners[2 * node], winners[2 * node + 1]
        winners[node] = b if held[b] * (1.0 + TIED) < held[a] else a
        node >>= 1


def _steps(share: FloatArray, weights: FloatArray, bounds: FloatArray, *_: Any) -> float:
    """Steps of handing out tasks."""
    return 3 * (_possible(share, bounds) + len(share)) * share.shape[1]


@kernel(_steps)
def serve(
    share: FloatArray, weights: FloatArray, bounds: FloatArray, ahead: float, stop: bool, tasks: FloatArray
) -> NDArray[np.int64]:
    """Hand out one task at a time to who has the lowest level, which counts ``ahead`` tasks that it does not have yet.

    ``tasks`` are those that run already, and in the end all. With ``stop`` the first who is stopped by a resource ends
    it. Returns what stops each user, -2 where nothing does. Ends beyond the most tasks that are handed out one by one.
    """
    n, m = share.shape
    seats = 1
    while seats < n:
        seats *= 2
    left, stops, per_task, levels = np.empty(m), np.empty(n, np.int64), np.empty(n), np.empty(seats)
    for i in range(seats):
        levels[i] = np.inf
    for i in range(n):
        largest, stops[i] = share[i, 0], NOTHING
        for j in range(1, m):
            largest = max(largest, share[i, j])
        per_task[i] = largest / weights[i]
        levels[i] = (tasks[i] + ahead) * per_task[i]
    left_over(tasks, share, left)
    winners, taken, going = tournament(levels), 0, True
    while levels[winners[1]] < np.inf and taken <= MOST_HANDED_OUT + n:
        i, over, level = winners[1], -1.0, np.inf
        if tasks[i] + 1.0 > bounds[i]:
            stops[i] = OWN
        else:
            taken += 1
            for j in range(m):
                over = max(over, share[i, j] - left[j])
            if abs(over - FITS) <= taken * UNIT:  # subtractions drift: look again from scratch
                left_over(tasks, share, left)
            for j in range(m - 1, -1, -1):
                if share[i, j] > left[j] + FITS:
                    stops[i] = j
            if stops[i] == NOTHING and going:
                for j in range(m):
                    left[j] -= share[i, j]
                tasks[i] += 1.0
                level = (tasks[i] + ahead) * per_task[i]
            elif stop:
                going = False
        seat(levels, winners, i, level)
    return stops


def as_running(running: Any, share: FloatArray, bounds: FloatArray, users: Any) -> FloatArray:
    """Check the tasks that run already, shape (n,): whole, within the bounds, and together within the pool."""
    if running is None:
        return np.zeros(len(share))
    tasks = per_user(running, len(share), users, "running").copy()
    whole = (tasks >= 0) & (tasks == np.floor(tasks)) & (tasks < np.inf)
    raise_at_first(~whole, "running", "must be a whole number of at least 0", tasks)
    raise_at_first(tasks > bounds, "running", "must not exceed max_tasks", tasks)
    if (tasks @ share > 1 + FITS).any():
        most = float((tasks @ share).max())
        raise InvalidInput("running", "must fit the pool", f"{most:.6g} times as much of a resource")
    return tasks


def in_whole_tasks(
    mechanism: str,
    rule: Callable[..., Any],
    demands: Any,
    weights: Any,
    capacities: Any,
    max_tasks: Any,
    engine: Engine,
    *,
    running: Any = None,
    ahead: float = 0.0,
    order: int = 1,
    stop: bool = False,
    **reading: Any,
) -> Allocation:
    """Hand out whole tasks one by one: the rule in fractions, or ``serve``.

    ``serve`` says what ``ahead`` and ``stop`` mean. ``order`` is 1, or -1 where the last of several users of the same
    level is served first.
    """
    named = as_demands(demands)
    values = named.values
    n, m = values.shape
    pool = as_capacities(capacities, m, named.resources)
    scaled = as_weights(weights, n, named.users)
    bounds = np.floor(as_max_tasks(max_tasks, n, named.users))
    share = values / pool
    check_count(share, scaled, bounds)
    tasks = as_running(running, share, bounds, named.users)
    if engine == "plain":
        given = {"weights": scaled, "capacities": pool, "max_tasks": bounds}
        given |= {} if running is None else {"running": tasks}
        exact = by_rule(rule, demands=values, **given, **reading, near=TIED)
        tasks, stops = np.array(exact[0], dtype=np.float64), np.array(exact[1])
    else:
        turned = [np.ascontiguousarray(one[::order]) for one in (share, scaled, bounds, tasks)]
        stops = serve(*turned[:3], ahead, stop, turned[3])[::order]
        tasks = turned[3][::order]
        refuse_more(tasks)
    names = named.users, named.resources
    return Allocation(tasks, values, scaled, pool, bounds, stops, *names, mechanism=mechanism, rule="whole_tasks")
