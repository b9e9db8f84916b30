"""The loop that hands out whole tasks one at a time, and jumps where many are to come."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbook.kernels import INSIDE, kernel
from fairbook.model.inputs import FloatArray

_UNSET = -2  # marks a user whom nothing has stopped yet
FITS = 1e-12  # part of a resource by which a whole task may overdraw it
#: Levels of whole tasks closer than this, relatively, are a tie: three tenths and the double 0.3 are.
TIED = 1e-12
MOST_TASKS = 1e11  # of one user: smaller tasks could not be told from what a task may overdraw
UNIT = 1e-15  # what a few roundings change, in parts of a number
_FEW_TASKS = 4  # for each user, that are handed out one by one rather than looking for a level up to which all fit


@kernel(INSIDE)
def left_over(tasks: FloatArray, share: FloatArray, left: FloatArray) -> None:
    """Work out what is left of each resource. Cost O(n m)."""
    left[:] = 1.0
    for i in range(len(tasks)):
        for j in range(len(left)):
            left[j] -= tasks[i] * share[i, j]


@kernel(INSIDE)
def _up_to(
    level: float,
    share: FloatArray,
    per_task: FloatArray,
    most: FloatArray,
    waits: NDArray[np.bool_],
    tasks: FloatArray,
    then: FloatArray,
    left: FloatArray,
) -> float:
    """Give all who wait their tasks below a level, into ``then``, and what is left; return how many tasks there are."""
    count = 0.0
    level *= 1.0 - TIED
    for i in range(len(tasks)):
        number = tasks[i]
        if waits[i]:
            number = most[i]
            if number * per_task[i] >= level:
                number = np.floor(level / per_task[i])
                while number * per_task[i] < level:  # as the queue computes it
                    number += 1.0
                while number > 0.0 and (number - 1.0) * per_task[i] >= level:
                    number -= 1.0
        then[i] = max(number, tasks[i])  # nobody loses what runs already
        count += then[i]
    left_over(then, share, left)
    return count


@kernel(INSIDE)
def _jump(
    level: float,
    share: FloatArray,
    per_task: FloatArray,
    most: FloatArray,
    waits: NDArray[np.bool_],
    tasks: FloatArray,
    left: FloatArray,
) -> None:
    """Hand out all tasks up to a level at which they fit, at most a few for each user below one at which they do not.

    All who wait hold what they have at ``level``, or will with their next task.
    """
    n, m = share.shape
    step, highest, few = np.inf, 0.0, 0.0
    for i in range(n):
        if waits[i]:
            few += _FEW_TASKS
            highest = max(highest, most[i] * per_task[i])
    left_over(tasks, share, left)
    for j in range(m):
        growth = 0.0
        for i in range(n):
            if waits[i]:
                growth += share[i, j] / per_task[i]
        if growth > 0.0:
            step = min(step, left[j] / growth)
    low, high, above, below = level, np.inf, np.inf, tasks.sum()
    then = np.empty(n)
    while low <= highest and above - below > few:
        middle = low + step if high == np.inf else 0.5 * (low + high)
        if not low < middle < high:
            break
        count = _up_to(middle, share, per_task, most, waits, tasks, then, left)
        if left.min() >= 0.0:
            low, below = middle, count
            tasks[:] = then
            step *= 2.0
        else:
            high, above = middle, count
    left_over(tasks, share, left)


def _jumps(share: FloatArray, *_: Any) -> float:
    """Steps of handing out whole tasks: a few dozen levels are tried."""
    return 40.0 * share.size


def _served(share: FloatArray, per_task: FloatArray, most: FloatArray, ahead: float, *_: Any) -> float:
    """Steps of handing them out where there may be no jumps."""
    return float(most.sum()) * share.shape[1] if ahead else _jumps(share)


@kernel(_served)
def serve(
    share: FloatArray,
    per_task: FloatArray,
    most: FloatArray,
    ahead: float,
    sign: int,
    stop: bool,
    tasks: FloatArray,
    left: FloatArray,
    bottlenecks: NDArray[np.int64],
) -> None:
    """Hand out one task at a time to who has the lowest level, which counts ``ahead`` tasks that it does not have yet.

    ``tasks`` are those that run already. ``sign`` orders users of equal level. Where none is ahead, jump where many
    are to come.
    """
    n, m = share.shape
    waits = np.ones(n, np.bool_)
    left_over(tasks, share, left)
    bottlenecks[:] = _UNSET
    queue = [((tasks[i] + ahead) * per_task[i], sign * i) for i in range(n)]
    heapq.heapify(queue)
    taken, due, going = 0, 0, True
    while going and len(queue) > 0:
        if ahead == 0.0 and taken >= due:
            _jump(queue[0][0], share, per_task, most, waits, tasks, left)
            queue = [(tasks[i] * per_task[i], sign * i) for i in range(n) if waits[i]]
            heapq.heapify(queue)
            taken, due = 0, _FEW_TASKS * len(queue)
        highest = queue[0][0] * (1.0 + TIED)
        tied = [heapq.heappop(queue)[1]]
        while len(queue) > 0 and queue[0][0] <= highest:
            tied.append(heapq.heappop(queue)[1])
        tied.sort()
        for at in tied:
            i = abs(at)
            taken += 1
            stopped = _UNSET
            if tasks[i] >= most[i]:
                stopped = -1
            else:
                short = (share[i] - left).max()
                if short > FITS and short <= FITS + taken * UNIT:  # subtractions drift: look again from scratch
                    left_over(tasks, share, left)
                for j in range(m - 1, -1, -1):
                    if share[i, j] > left[j] + FITS:
                        stopped = j
            if stopped == _UNSET:
                for j in range(m):
                    left[j] -= share[i, j]
                tasks[i] += 1.0
                heapq.heappush(queue, ((tasks[i] + ahead) * per_task[i], at))
            else:
                bottlenecks[i] = stopped
                waits[i] = False
                if stop and stopped >= 0:
                    going = False
                    break


@kernel(_jumps)
def by_task(
    demands: FloatArray,
    capacities: FloatArray,
    weights: FloatArray,
    bounds: FloatArray,
    stop: bool,
    tasks: FloatArray,
    left: FloatArray,
    bottlenecks: NDArray[np.int64],
) -> float:
    """Hand out one task at a time to who has the lowest level, then the lowest number.

    Return the most tasks that one user could run by itself; where that is too many nothing is handed out.
    """
    share = demands / capacities
    largest = np.array([share[i].max() for i in range(len(share))])
    possible = np.minimum(bounds, 1.0 / largest)
    if possible.max() <= MOST_TASKS:
        most = np.minimum(bounds, possible + 2.0)
        serve(share, largest / weights, most, 0.0, 1, stop, tasks, left, bottlenecks)
    return possible.max()
