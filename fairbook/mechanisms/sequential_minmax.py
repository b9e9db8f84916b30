"""SequentialMinMax (Parkes, Procaccia, Shah, TEAC 2015): whole tasks one by one, by the level after the task."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.kernels import kernel
from fairbook.mechanisms.choices import check_choice
from fairbook.mechanisms.drf import TIED
from fairbook.mechanisms.readings import Ties
from fairbook.model.allocation import Allocation
from fairbook.model.inputs import FloatArray, as_capacities, as_demands, as_max_tasks, as_weights
from fairbook.model.instance import takes_instance

__all__ = ["sequential_minmax"]


def _asked(share: FloatArray, per_task: FloatArray, most: FloatArray, *_: Any) -> float:
    """Steps of handing out one task after the other."""
    return float(most.sum()) * share.shape[1]


@kernel(_asked)
def _serve(
    share: FloatArray,
    per_task: FloatArray,
    most: FloatArray,
    sign: int,
    tasks: FloatArray,
    bottlenecks: NDArray[np.int64],
) -> None:
    """Give tasks, in order of the level after them, to all who have room; ``sign`` orders those of equal level."""
    n, m = share.shape
    left = np.ones(m)
    queue = [(per_task[i], sign * i) for i in range(n)]
    heapq.heapify(queue)
    while len(queue) > 0:
        highest = queue[0][0] * (1 + TIED)
        tied = [heapq.heappop(queue)[1]]
        while len(queue) > 0 and queue[0][0] <= highest:
            tied.append(heapq.heappop(queue)[1])
        tied.sort()
        for at in tied:
            i = abs(at)
            if tasks[i] >= most[i]:
                continue
            for j in range(m):
                if share[i, j] > left[j] + 1e-12:  # a million subtractions drift: look again from scratch
                    left[:] = 1.0
                    for k in range(n):
                        for r in range(m):
                            left[r] -= tasks[k] * share[k, r]
                    break
            stopped = -1
            for j in range(m - 1, -1, -1):
                if share[i, j] > left[j] + 1e-12:
                    stopped = j
            if stopped >= 0:
                bottlenecks[i] = stopped
                continue
            for j in range(m):
                left[j] -= share[i, j]
            tasks[i] += 1.0
            heapq.heappush(queue, ((tasks[i] + 1.0) * per_task[i], at))


@takes_instance
def sequential_minmax(
    demands: Any, *, weights: Any = None, capacities: Any = None, max_tasks: Any = None, ties: Ties = "first"
) -> Allocation:
    """Give the next whole task where the largest level after it is smallest (Parkes et al. 2015, section 5).

    Parameters
    ----------
    demands : array_like or DataFrame, shape (n, m)
        Resource per task, in the unit of ``capacities``; at least 0, with a positive entry for each user.
    weights : array_like or Series, shape (n,), optional
        Positive; scaled to sum to 1. Default: equal, as in the paper.
    capacities : array_like or Series, shape (m,), optional
        Positive. Default: ones.
    max_tasks : array_like or Series, shape (n,), optional
        Bounds, rounded down. Default: none, as in the paper.
    ties : {"first", "last"}
        Which of several users with the same level after the task is served: the first or the last of them.

    Returns
    -------
    Allocation
        ``tasks`` are whole numbers. ``bottlenecks`` names a resource that the user's next task would overdraw, -1
        where the bound is reached.

    Notes
    -----
    The level of a user is its dominant share over its weight. The largest level never falls, and whoever could have
    been served below it has been; so the rule serves, of those whose next task fits, a user whose *own* level after
    it is lowest. Who does not fit once never fits again. Cost O((n + t) (m + log n)) for t tasks.
    A task fits if it leaves no resource below -1e-12 of its capacity.

    References
    ----------
    Parkes, Procaccia, Shah, "Beyond Dominant Resource Fairness: Extensions, Limitations, and Indivisibilities",
    ACM TEAC 3(1), 2015, section 5.

    Examples
    --------
    A task of the second user takes 12 of 20, so it waits until the first has three of five, and fits no more.

    >>> sequential_minmax([[5], [12]], capacities=[20]).tasks
    array([4., 0.])
    """
    check_choice(ties, "ties", Ties)
    named = as_demands(demands)
    n, m = named.values.shape
    pool = as_capacities(capacities, m, named.resources)
    scaled = as_weights(weights, n, named.users)
    bounds = np.floor(as_max_tasks(max_tasks, n, named.users))
    share = named.values / pool
    largest = share.max(axis=1)
    possible = np.minimum(bounds, 1.0 / largest)
    # all together no more than what each could run alone, and each takes that much of one of m resources
    most = min(possible.sum(), m / largest.min())
    if most > 1e8:
        raise InvalidInput(
            "demands",
            "must be large enough that surely at most 1e8 whole tasks fit the pool",
            f"up to {most:.3g} tasks",
        )
    tasks, bottlenecks = np.zeros(n), np.full(n, -1, dtype=np.int64)
    _serve(
        share,
        largest / scaled,
        np.minimum(bounds, possible + 2),
        1 if ties == "first" else -1,
        tasks,
        bottlenecks,
    )
    return Allocation(
        tasks,
        named.values,
        scaled,
        pool,
        bounds,
        bottlenecks,
        named.users,
        named.resources,
        mechanism="sequential_minmax",
        rule="whole_tasks",
    )
