"""Whole tasks one at a time: the loop, and the input that all rules of the kind have."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
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

MOST_TASKS = 1e8  # that are handed out one by one: some ten seconds
UNIT = 1e-15  # what a few roundings change, in parts of a number


def _possible(share: FloatArray, bounds: FloatArray) -> float:
    """Give a number of tasks that surely no more than fit: each takes the most of one of m resources."""
    largest = row_max(share)
    return float(min(np.minimum(bounds, 1.0 / largest).sum(), share.shape[1] / largest.min()))


def check_count(share: FloatArray, bounds: FloatArray) -> None:
    """Raise InvalidInput where more tasks may fit than can be handed out one by one."""
    most = _possible(share, bounds)
    if most > MOST_TASKS:
        rule = f"must be large enough that surely at most {MOST_TASKS:g} whole tasks fit the pool"
        raise InvalidInput("demands", rule, f"up to {most:.3g} tasks")


@kernel(INSIDE)
def left_over(tasks: FloatArray, share: FloatArray, left: FloatArray) -> None:
    """Work out what is left of each resource. Cost O(n m)."""
    left[:] = 1.0
    for i in range(len(tasks)):
        for j in range(len(left)):
            left[j] -= tasks[i] * share[i, j]


def _steps(share: FloatArray, weights: FloatArray, bounds: FloatArray, *_: Any) -> float:
    """Steps of handing out tasks."""
    return _possible(share, bounds) * share.shape[1]


@kernel(_steps)
def serve(
    share: FloatArray, weights: FloatArray, bounds: FloatArray, ahead: float, sign: int, stop: bool, tasks: FloatArray
) -> NDArray[np.int64]:
    """Hand out one task at a time to who has the lowest level, which counts ``ahead`` tasks that it does not have yet.

    ``tasks`` are those that run already, and in the end all. ``sign`` orders users of equal level. With ``stop`` the
    first who is stopped by a resource ends it. Returns what stops each user, -2 where nothing does.
    """
    n, m = share.shape
    left, stops = np.empty(m), np.full(n, NOTHING)
    per_task = np.array([share[i].max() for i in range(n)]) / weights
    left_over(tasks, share, left)
    queue = [((tasks[i] + ahead) * per_task[i], sign * i) for i in range(n)]
    heapq.heapify(queue)
    taken, going = 0, True
    while len(queue) > 0:
        highest = queue[0][0] * (1.0 + TIED)
        tied = [heapq.heappop(queue)[1]]
        while len(queue) > 0 and queue[0][0] <= highest:
            tied.append(heapq.heappop(queue)[1])
        tied.sort()
        for at in tied:
            i = abs(at)
            if tasks[i] + 1.0 > bounds[i]:
                stops[i] = OWN
                continue
            taken += 1
            if abs((share[i] - left).max() - FITS) <= taken * UNIT:  # subtractions drift: look again from scratch
                left_over(tasks, share, left)
            for j in range(m - 1, -1, -1):
                if share[i, j] > left[j] + FITS:
                    stops[i] = j
            if stops[i] == NOTHING and going:
                left -= share[i]
                tasks[i] += 1.0
                heapq.heappush(queue, ((tasks[i] + ahead) * per_task[i], at))
            elif stop:
                going = False
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
    sign: int = 1,
    stop: bool = False,
    **reading: Any,
) -> Allocation:
    """Hand out whole tasks one by one: the rule in fractions, or ``serve``, which says what the options mean."""
    named = as_demands(demands)
    values = named.values
    n, m = values.shape
    pool = as_capacities(capacities, m, named.resources)
    scaled = as_weights(weights, n, named.users)
    bounds = np.floor(as_max_tasks(max_tasks, n, named.users))
    share = values / pool
    check_count(share, bounds)
    tasks = as_running(running, share, bounds, named.users)
    if engine == "plain":
        given = {"weights": scaled, "capacities": pool, "max_tasks": bounds}
        if running is not None:
            given["running"] = tasks
        exact = by_rule(rule, demands=values, **given, **reading, near=TIED)
        tasks, stops = np.array(exact[0], dtype=np.float64), np.array(exact[1])
    else:
        stops = serve(share, scaled, bounds, ahead, sign, stop, tasks)
    names = named.users, named.resources
    return Allocation(tasks, values, scaled, pool, bounds, stops, *names, mechanism=mechanism, rule="whole_tasks")
