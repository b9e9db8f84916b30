"""Dominant resource fairness (Ghodsi et al., NSDI 2011): divisible and in whole tasks.

:func:`drf` fills progressively and exactly: all levels (dominant share / weight) rise together; a resource
that is used up stops everyone who needs it, a user's own bound stops that user. The result is the
lexicographic max-min optimum, zero demands and bounds included (Parkes, Procaccia, Shah, TEAC 2015, section 4;
Li et al., arXiv 1410.1255).

:func:`drf_by_task` hands out one whole task at a time to the user with the lowest level, as Mesos, YARN
and their successors do.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbook import decimals
from fairbook.decimals import UNIT
from fairbook.errors import InvalidInput
from fairbook.kernels import INSIDE, kernel
from fairbook.mechanisms.choices import check_choice
from fairbook.mechanisms.readings import Stuck
from fairbook.model.allocation import Allocation
from fairbook.model.inputs import (
    LARGEST,
    SMALLEST,
    FloatArray,
    as_capacities,
    as_demands,
    as_max_tasks,
    as_weights,
    check_demands,
    demand_matrix,
    filled,
    number_of_dimensions,
    per_user,
    refuse,
    within,
)
from fairbook.model.instance import takes_instance

__all__ = ["drf", "drf_by_task"]

_UNSET = -2  # marks a user who is still rising
_FITS = 1e-12  # part of a resource by which a whole task may overdraw it
#: Levels of whole tasks closer than this, relatively, are a tie: three tenths and the double 0.3 are.
TIED = 1e-12
_MOST_TASKS = 1e11  # of one user: smaller tasks could not be told from what a task may overdraw
_FEW_TASKS = 4  # for each user, that are handed out one by one rather than looking for a level up to which all fit


def _rounds(demands: FloatArray, *_: Any) -> float:
    """Steps of progressive filling: m rounds over all demands."""
    return demands.size * demands.shape[1]


@kernel()
def _rates(
    demands: FloatArray, weights: FloatArray, capacities: FloatArray, scaled: FloatArray, rate: FloatArray
) -> bool:
    """Tasks per unit of level, into ``rate``; False where a demand or a raw weight is not valid. Cost O(n m)."""
    n, m = demands.shape
    for i in range(n):
        largest = 0.0
        weight = weights[i]
        valid = weight >= SMALLEST and weight <= LARGEST
        for j in range(m):
            d = demands[i, j]
            valid &= d == 0.0 or (d >= SMALLEST and d <= LARGEST)
            largest = max(largest, d / capacities[j])
        if not valid or not largest > 0.0:
            return False
        rate[i] = scaled[i] / largest
    return True


@kernel(INSIDE)
def _unit(n: int) -> float:
    """Give what rounding changes in a sum over n users, in parts of it: all n roundings may go one way."""
    return UNIT * (1.0 + n / 50.0)


@kernel(INSIDE)
def _smallest(
    demands: FloatArray,
    rate: FloatArray,
    bottlenecks: NDArray[np.int64],
    growth: FloatArray,
    slack: FloatArray,
    errors: FloatArray,
) -> float:
    """Give the least that a user who still rises takes of a resource that is nearly used up, by that resource's error.

    Where two resources end together rounding decides which of them does, and who needs one alone may rise on what
    rounding has left of it.
    """
    worst = 0.0
    for j in range(len(slack)):
        if growth[j] > 0.0 and slack[j] <= errors[j]:
            for i in range(len(rate)):
                if bottlenecks[i] == _UNSET and demands[i, j] > 0.0:
                    worst = max(worst, errors[j] / (rate[i] * demands[i, j]))
    return worst


@kernel(_rounds)
def _fill(
    demands: FloatArray, rate: FloatArray, capacities: FloatArray, levels: FloatArray, bottlenecks: NDArray[np.int64]
) -> float:
    """Progressive filling without bounds: at most m rounds of O(n m) each. Returns the doubt, relative, in a level."""
    n, m = demands.shape
    slack = capacities.copy()
    growth = np.zeros(m)
    errors = np.zeros(m)  # bounds on that of the slack
    doubt, unit = 0.0, _unit(n)
    for i in range(n):
        bottlenecks[i] = _UNSET
        for j in range(m):
            growth[j] += rate[i] * demands[i, j]
    level = 0.0
    rising = n
    while rising > 0:
        step = np.inf
        stop = 0
        for j in range(m):
            if growth[j] > 0.0 and slack[j] / growth[j] < step:
                step = slack[j] / growth[j]
                stop = j
        level += step
        error = errors[stop] / growth[stop]
        ending = 0
        for j in range(m):
            if growth[j] > 0.0:
                errors[j] += unit * (slack[j] + abs(growth[j] * step)) + growth[j] * error
                # the resource that sets the step is empty by definition, not up to rounding
                slack[j] = 0.0 if slack[j] / growth[j] <= step else slack[j] - growth[j] * step
                if slack[j] <= errors[j]:
                    ending += 1
        if ending > 1:
            error = max(error, _smallest(demands, rate, bottlenecks, growth, slack, errors))
        doubt = max(doubt, error / level)
        for j in range(m):
            growth[j] = 0.0
        for i in range(n):  # freeze who needs an empty resource, and add up anew who still rises
            if bottlenecks[i] == _UNSET:
                for j in range(m):
                    if demands[i, j] > 0.0 and slack[j] == 0.0:
                        bottlenecks[i] = j
                        levels[i] = level
                        rising -= 1
                        break
                else:
                    for j in range(m):
                        growth[j] += rate[i] * demands[i, j]
    return doubt


@kernel(_rounds)
def fill_bounded(
    demands: FloatArray,
    rate: FloatArray,
    capacities: FloatArray,
    cap: FloatArray,
    order: NDArray[np.int64],
    levels: FloatArray,
    bottlenecks: NDArray[np.int64],
) -> float:
    """Progressive filling where user i stops at level ``cap[i]``; ``order`` sorts ``cap``. Returns the doubt as above.

    Between two moments at which a resource runs out, the use of resource j at level L is
    a constant + sum of min(L, cap) * rate * demand, linear between sorted caps. Its slope is a sum over a suffix
    of the order, added up from the far end rather than by subtraction: users with large weights that
    have already stopped leave no rounding error behind.
    """
    n, m = demands.shape
    slope = np.zeros((n + 1, m))
    slack = capacities.copy()
    doubt, unit = 0.0, _unit(n)
    errors = capacities * unit  # of all that is taken off below, up to where a resource ends
    for i in range(n):
        bottlenecks[i] = _UNSET
    level = 0.0
    first = 0  # users before this place in the order have stopped
    while first < n:
        for j in range(m):
            slope[n, j] = 0.0
        for place in range(n - 1, first - 1, -1):
            i = order[place]
            rises = bottlenecks[i] == _UNSET
            for j in range(m):
                slope[place, j] = slope[place + 1, j] + (rate[i] * demands[i, j] if rises else 0.0)
        empty = False
        while first < n and not empty:
            i = order[first]
            if bottlenecks[i] != _UNSET:
                first += 1
                continue
            step = cap[i] - level
            for j in range(m):
                if slope[first, j] * step > slack[j]:
                    empty = True
            if not empty:  # nobody's resource runs out before user i reaches its bound
                for j in range(m):
                    slack[j] -= slope[first, j] * step
                    if slope[first, j] > 0.0 and slack[j] <= errors[j]:  # or it does, just before
                        doubt = max(doubt, errors[j] / slope[first, j] / cap[i])
                level = cap[i]
                levels[i] = level
                bottlenecks[i] = -1
                first += 1
        if not empty:
            return doubt
        step = np.inf
        stop = 0
        for j in range(m):
            if slope[first, j] > 0.0 and slack[j] / slope[first, j] < step:
                step = slack[j] / slope[first, j]
                stop = j
        level += step
        error = errors[stop] / slope[first, stop]
        ending = 0
        for j in range(m):
            if slope[first, j] > 0.0:
                errors[j] += unit * (slack[j] + abs(slope[first, j] * step)) + slope[first, j] * error
                slack[j] = 0.0 if slack[j] / slope[first, j] <= step else slack[j] - slope[first, j] * step
                if slack[j] <= errors[j]:
                    ending += 1
        if ending > 1 or (cap[order[first]] - level) * slope[first, stop] <= errors[stop]:
            error = max(error, _smallest(demands, rate, bottlenecks, slope[first], slack, errors))
        if error > 0.0:
            doubt = max(doubt, error / level)
        for place in range(first, n):
            i = order[place]
            if bottlenecks[i] == _UNSET:
                for j in range(m):
                    if demands[i, j] > 0.0 and slack[j] == 0.0:
                        bottlenecks[i] = j
                        levels[i] = level
                        break
    return doubt


def fill(
    demands: FloatArray,
    rate: FloatArray,
    capacities: FloatArray,
    weights: FloatArray,
    max_tasks: FloatArray | None = None,
) -> tuple[FloatArray, NDArray[np.int64]]:
    """Fill progressively, in doubles and, where these leave a level in doubt, in decimals; give tasks and bottlenecks.

    ``rate`` (n,) are tasks per unit of level, and ``weights`` (n,) or (n, m) what they come from, unscaled.
    """
    n = len(rate)
    levels, bottlenecks = np.empty(n), np.empty(n, dtype=np.int64)
    if max_tasks is None:
        doubt = _fill(demands, rate, capacities, levels, bottlenecks)
        tasks = levels * rate
    else:
        cap = max_tasks / rate
        doubt = fill_bounded(demands, rate, capacities, cap, np.argsort(cap, kind="stable"), levels, bottlenecks)
        tasks = np.where(bottlenecks == -1, max_tasks, np.minimum(levels * rate, max_tasks))
    if not doubt <= decimals.DOUBTFUL:
        exact = decimals.fill(demands, weights, capacities, np.full(n, np.inf) if max_tasks is None else max_tasks)
        if not np.allclose(tasks, exact[0], rtol=1e-12, atol=0):
            return exact
    return tasks, bottlenecks


@takes_instance
def drf(demands: Any, *, weights: Any = None, capacities: Any = None, max_tasks: Any = None) -> Allocation:
    """Allocate by weighted dominant resource fairness, divisible tasks (Ghodsi et al. 2011).

    Parameters
    ----------
    demands : array_like or DataFrame, shape (n, m)
        Resource per task, in the unit of ``capacities``; zeros allowed, at least one positive entry a row.
    weights : array_like or Series, shape (n,) or (n, m), optional
        Positive; scaled to sum to 1 (each column by itself where every resource has weights of its own).
        Default: equal.
    capacities : array_like or Series, shape (m,), optional
        Positive. Default: ones, so that demands are shares of the pool.
    max_tasks : array_like or Series, shape (n,), optional
        Bound on each user's tasks, ``inf`` for none. Default: no bounds.

    Returns
    -------
    Allocation
        ``tasks`` (n,), ``dominant_shares`` (n,), ``bottlenecks`` (n,): the resource that stops each user,
        -1 where its own bound does. ``violations()`` checks the certificate.

    Raises
    ------
    InvalidInput
        Naming argument, rule and value.

    Notes
    -----
    Cost O(n m) per resource that runs out, so at most O(n m^2); with bounds O(n log n + n m^2).
    Ties: a user whose bound and resource end at the same level is stopped by the bound; of two resources
    that end together, the one with the smaller index is named, or the other where rounding puts it first.
    What heavy users leave of a resource is a difference of large numbers, and a light user may live on it. Where that
    leaves a level in doubt by 1e-10 of it, all is worked out in decimals, a thousand times slower (10^5 users: some
    seconds): each user's tasks are right to 1e-9, however far apart weights and demands lie.

    References
    ----------
    Ghodsi et al., "Dominant Resource Fairness", NSDI 2011, Algorithm 1 and section 4.3 (weights).

    Examples
    --------
    The example of the DRF paper: 9 CPUs and 18 GB, tasks of (1 CPU, 4 GB) and (3 CPU, 1 GB).

    >>> a = drf([[1, 4], [3, 1]], capacities=[9, 18])
    >>> a.tasks
    array([3., 2.])
    >>> a.dominant_shares.round(6)
    array([0.666667, 0.666667])
    >>> a.bottlenecks
    array([0, 0])
    """
    named = demand_matrix(demands)
    values = named.values
    n, m = values.shape
    pool = as_capacities(capacities, m, named.resources)
    rate = np.empty(n)
    if weights is None:
        raw, scaled = filled(n, 1.0), filled(n, 1.0 / n)
    elif number_of_dimensions(weights) == 2:
        raw = as_weights(weights, n, named.users, m=m, resources=named.resources, contributed=True)
        scaled = raw / raw.sum(axis=0)
    else:
        raw = per_user(weights, n, named.users, "weights")
        if not within(raw, SMALLEST, LARGEST):
            refuse(values, raw)
        scaled = raw / raw.sum()
    if scaled.ndim == 2:
        check_demands(values)
        rate[:] = 1.0 / (values / pool / scaled).max(axis=1)
    elif not _rates(values, raw, pool, scaled, rate):
        refuse(values, raw)
    bounds = as_max_tasks(max_tasks, n, named.users)
    tasks, bottlenecks = fill(values, rate, pool, raw, None if max_tasks is None else bounds)
    return Allocation(tasks, values, scaled, pool, bounds, bottlenecks, named.users, named.resources, given_weights=raw)


@kernel(INSIDE)
def _rest(tasks: FloatArray, share: FloatArray, left: FloatArray) -> None:
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
        then[i] = number
        count += number
    _rest(then, share, left)
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
    _rest(tasks, share, left)
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
    _rest(tasks, share, left)


def _jumps(share: FloatArray, *_: Any) -> float:
    """Steps of handing out whole tasks: a few dozen levels are tried."""
    return 40.0 * share.size


@kernel(_jumps)
def _by_task(
    demands: FloatArray,
    capacities: FloatArray,
    weights: FloatArray,
    bounds: FloatArray,
    stop: bool,
    tasks: FloatArray,
    left: FloatArray,
    bottlenecks: NDArray[np.int64],
) -> float:
    """Hand out one task at a time to who has the lowest level, then the lowest number; jump where many are to come.

    Return the most tasks that one user could run by itself; where that is too many nothing is handed out.
    """
    n, m = demands.shape
    share = demands / capacities
    largest = np.array([share[i].max() for i in range(n)])
    possible = np.minimum(bounds, 1.0 / largest)
    if possible.max() > _MOST_TASKS:
        return possible.max()
    per_task, most = largest / weights, np.minimum(bounds, possible + 2.0)
    bottlenecks[:] = _UNSET
    waits, tied = np.ones(n, np.bool_), np.empty(n, np.int64)
    queue = [(0.0, i) for i in range(n)]  # sorted already, hence a heap
    taken, due, going = 0, 0, True
    while going and len(queue) > 0:
        if taken >= due:
            _jump(queue[0][0], share, per_task, most, waits, tasks, left)
            queue = [(tasks[i] * per_task[i], i) for i in range(n) if waits[i]]
            heapq.heapify(queue)
            taken, due = 0, _FEW_TASKS * len(queue)
        highest, count = queue[0][0] * (1.0 + TIED), 1
        tied[0] = queue[0][1]
        while len(queue) > 1 and (queue[1][0] <= highest or (len(queue) > 2 and queue[2][0] <= highest)):
            heapq.heappop(queue)
            tied[count] = queue[0][1]
            count += 1
        if count > 1:
            tied[:count].sort()
        for place in range(count):
            i = tied[place]
            taken += 1
            stopped = _UNSET
            if tasks[i] >= most[i]:
                stopped = -1
            else:
                short = (share[i] - left).max()
                if short > _FITS and short <= _FITS + taken * UNIT:  # subtractions drift: look again from scratch
                    _rest(tasks, share, left)
                for j in range(m - 1, -1, -1):
                    if share[i, j] > left[j] + _FITS:
                        stopped = j
            if stopped == _UNSET:
                for j in range(m):
                    left[j] -= share[i, j]
                tasks[i] += 1.0
                if place == 0:  # one of those who are tied is still in the queue
                    heapq.heapreplace(queue, (tasks[i] * per_task[i], i))
                else:
                    heapq.heappush(queue, (tasks[i] * per_task[i], i))
            else:
                bottlenecks[i] = stopped
                waits[i] = False
                if place == 0:
                    heapq.heappop(queue)
                if stop and stopped >= 0:
                    going = False
                    break
    return possible.max()


@takes_instance
def drf_by_task(
    demands: Any, *, weights: Any = None, capacities: Any = None, max_tasks: Any = None, stuck: Stuck = "skip"
) -> Allocation:
    """Allocate whole tasks one at a time to the user with the lowest level (Ghodsi et al. 2011, Algorithm 1).

    Parameters
    ----------
    demands, weights, capacities, max_tasks
        As for :func:`drf`; weights of shape (n,); bounds are rounded down.
    stuck : {"skip", "stop"}
        What happens when the next task of the user with the lowest level does not fit. ``"skip"``: that user
        is done and the others go on, as production schedulers do. ``"stop"``: the allocation ends, as the
        pseudo-code of the paper reads.

    Returns
    -------
    Allocation
        ``tasks`` are whole numbers. ``bottlenecks`` names a resource that the user's next task would overdraw,
        -1 where the bound is reached, -2 where the user could have had another task but the allocation
        stopped (only with ``"stop"``); ``violations()`` names such a user, for no resource stops it.

    Raises
    ------
    InvalidInput
        Naming argument, rule and value. Also where more than about 1e11 tasks of one user fit the pool.

    Notes
    -----
    Cost O(n m log t) for t tasks handed out: up to a level at which all still fits nobody needs to be asked. Beyond it
    tasks go one by one, until it is worth looking for another level; where user after user is stopped that is
    O(n^2 m log t) at most, and never more than a few times O(t (m + log n)).
    Ties go to the user with the smaller index; levels within 1e-12 of each other, relatively, are one.
    A task fits if it leaves no resource below -1e-12 of its capacity, so that ten tenths fill a unit.

    References
    ----------
    Ghodsi et al., "Dominant Resource Fairness", NSDI 2011, Algorithm 1.

    Examples
    --------
    >>> drf_by_task([[1, 4], [3, 1]], capacities=[9, 18]).tasks
    array([3., 2.])
    """
    check_choice(stuck, "stuck", Stuck)
    named = as_demands(demands)
    values = named.values
    n, m = values.shape
    pool = as_capacities(capacities, m, named.resources)
    scaled = as_weights(weights, n, named.users)
    bounds = np.floor(as_max_tasks(max_tasks, n, named.users))
    tasks, left, bottlenecks = np.zeros(n), np.empty(m), np.empty(n, dtype=np.int64)
    possible = _by_task(values, pool, scaled, bounds, stuck == "stop", tasks, left, bottlenecks)
    if possible > _MOST_TASKS:
        raise InvalidInput(
            "demands",
            f"must be large enough that at most {_MOST_TASKS:g} whole tasks of one user fit the pool",
            f"about {possible:.3g} tasks of one user",
        )
    if stuck == "stop":  # say for the others, too, what would stop them
        over = values / pool > left + _FITS
        told = np.where(tasks >= bounds, -1, np.where(over.any(axis=1), over.argmax(axis=1), _UNSET))
        bottlenecks = np.where(bottlenecks == _UNSET, told, bottlenecks)
    return Allocation(
        tasks,
        values,
        scaled,
        pool,
        bounds,
        bottlenecks,
        named.users,
        named.resources,
        mechanism="drf_by_task",
        rule="whole_tasks",
    )
