"""Dominant resource fairness (Ghodsi et al., NSDI 2011): divisible and in whole tasks.

:func:`drf` fills progressively and exactly: all levels (dominant share / weight) rise together; a resource
that is used up stops everyone who needs it, a user's own bound stops that user. The result is the
lexicographic max-min optimum, zero demands and bounds included (Parkes, Procaccia, Shah, TEAC 2015, section 4;
Li et al., arXiv 1410.1255).

:func:`drf_by_task` hands out one whole task at a time to the user with the lowest level, as Mesos, YARN
and their successors do.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.kernels import kernel
from fairbook.mechanisms.choices import Engine, check_choice
from fairbook.mechanisms.engines.whole_tasks import FITS, MOST_TASKS, TIED, by_task
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
    raise_at_first,
    refuse,
    within,
)
from fairbook.model.instance import takes_instance

__all__ = ["drf", "drf_by_task", "drf_by_task_rule", "drf_rule"]

_UNSET = -2  # marks a user whom nothing has stopped yet


def used_up_at(need: Sequence[Any], cap: Sequence[Any], room: Any) -> Any:
    """Give the level at which a resource is used up, None if it never is.

    Users are in order of the levels ``cap`` at which their bounds stop them, None for none; ``need`` is per level.
    """
    growth = [*accumulate(reversed(need), initial=0 * room)][::-1]  # of all from a place on
    bounds = [x * top for x, top in zip(need, cap, strict=True) if top is not None]
    held = [*accumulate(bounds, initial=0 * room)]  # by all before a place
    at = bisect_left(range(len(bounds)), True, key=lambda place: held[place] + growth[place] * cap[place] > room)
    return (room - held[at]) / growth[at] if growth[at] > 0 else None


def drf_rule(
    demands: Any, *, weights: Any = None, capacities: Any = None, max_tasks: Any = None, near: Any = 0
) -> tuple[list[Any], list[int]]:
    """Progressive filling (Ghodsi et al. 2011, section 4): tasks, and what stops each user; numbers of any kind.

    All levels rise together. A resource that is used up stops everyone who needs it, a user's own bound stops that
    user (-1; None is no bound); the others go on. Levels within ``near`` of each other, relatively, are one.

    By hand: 9 CPUs, 18 GB. At level 2/3 three tasks of (1, 4) and two of (3, 1) use up the CPUs.

    >>> from fractions import Fraction as F
    >>> drf_rule([[F(1), F(4)], [F(3), F(1)]], capacities=[F(9), F(18)])
    ([Fraction(3, 1), Fraction(2, 1)], [0, 0])
    """
    n, m = len(demands), len(demands[0])
    one = 1 + 0 * demands[0][0]
    left, tasks, stops = [*(capacities or [one] * m)], [*(max_tasks or [None] * n)], [-1] * n
    weights = weights or [one] * n
    if isinstance(weights[0], list):  # of its own for each resource: parts of what all have there
        total = [sum(column) for column in zip(*weights, strict=True)]
        weights = [[w / t for w, t in zip(row, total, strict=True)] for row in weights]
    else:
        weights = [[w] * m for w in weights]
    # tasks for each unit of level, and what they need
    rate = [
        1 / max(d / c / w for d, c, w in zip(row, left, own, strict=True))
        for row, own in zip(demands, weights, strict=True)
    ]
    need = [[x * d for d in row] for x, row in zip(rate, demands, strict=True)]
    cap = [None if most is None else most / x for most, x in zip(tasks, rate, strict=True)]
    rising = sorted(range(n), key=lambda i: (cap[i] is None, cap[i] or 0))
    while rising:
        ends = [used_up_at([need[i][j] for i in rising], [cap[i] for i in rising], left[j]) for j in range(m)]
        level = min((end for end in ends if end is not None), default=None)
        if level is None:  # all reach their bounds
            break
        empty = [j for j in range(m) if ends[j] is not None and ends[j] <= level * (1 + near)]
        bounded = [i for i in rising if cap[i] is not None and cap[i] <= level * (1 + near)]
        stopped = {i: j for i in set(rising).difference(bounded) for j in reversed(empty) if need[i][j] > 0}
        for i, j in stopped.items():
            tasks[i], stops[i] = rate[i] * level, j
        for j in range(m):
            left[j] -= sum(need[i][j] * cap[i] for i in bounded) + level * sum(need[i][j] for i in stopped)
        rising = [i for i in rising if i not in stopped and i not in bounded]
    return tasks, stops


def drf_by_task_rule(
    demands: Any,
    *,
    weights: Any = None,
    capacities: Any = None,
    max_tasks: Any = None,
    running: Any = None,
    stuck: Stuck = "skip",
    near: Any = 0,
) -> tuple[list[int], list[int]]:
    """Algorithm 1 of Ghodsi et al. 2011: whole tasks, one at a time to who has the lowest level; and what stops each.

    Tasks ``running`` already are held from the start. Levels within ``near`` of each other, relatively, are one, and a
    task may overdraw that part of a resource. By hand: the first user is served at levels 0, 2/9 and 4/9, the second at
    0 and 1/3; then the CPUs are used up.

    >>> from fractions import Fraction as F
    >>> drf_by_task_rule([[F(1), F(4)], [F(3), F(1)]], capacities=[F(9), F(18)])
    ([3, 2], [0, 0])
    """
    n, m = len(demands), len(demands[0])
    size = capacities or [1] * m
    share = [[d / c for d, c in zip(row, size, strict=True)] for row in demands]
    per_task = [max(row) / w for row, w in zip(share, weights or [1] * n, strict=True)]
    tasks, stops, waits = [*(running or [0] * n)], [_UNSET] * n, set(range(n))
    left = [1 - sum(x * row[j] for x, row in zip(tasks, share, strict=True)) for j in range(m)]

    def stop(i: int) -> int:
        if max_tasks and max_tasks[i] is not None and tasks[i] + 1 > max_tasks[i]:
            return -1
        return next((j for j in range(m) if share[i][j] > left[j] + near), _UNSET)

    while waits:
        lowest = min(tasks[i] * per_task[i] for i in waits)
        i = min(i for i in waits if tasks[i] * per_task[i] <= lowest * (1 + near))
        stops[i] = stop(i)
        if stops[i] == _UNSET:
            tasks[i] += 1
            left = [amount - x for amount, x in zip(left, share[i], strict=True)]
        elif stuck == "stop" and stops[i] >= 0:
            break
        else:
            waits.remove(i)
    return tasks, [stop(i) if i in waits else stops[i] for i in range(n)]


#: Users whose parts of a resource, at one level, are further apart are told apart by the rule, in fractions.
FAR_APART = 1e8
#: Up to so many users the rule is worked out in fractions: seconds.
EXACT = 1000


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
    """Progressive filling where user i stops at level ``cap[i]``; ``order`` sorts ``cap``.

    Between two moments at which a resource runs out, the use of resource j at level L is
    a constant + sum of min(L, cap) * rate * demand, linear between sorted caps. Its slope is a sum over a suffix
    of the order, added up from the far end rather than by subtraction: users with large weights that
    have already stopped leave no rounding error behind. Returns how far apart users are who share a resource.
    """
    n, m = demands.shape
    slope = np.zeros((n + 1, m), demands.dtype)
    slack = capacities.copy()
    apart = 1.0
    for j in range(m):
        least, most = np.inf, 0.0
        for i in range(n):
            bottlenecks[i] = _UNSET
            if demands[i, j] > 0.0:
                least, most = min(least, rate[i] * demands[i, j]), max(most, rate[i] * demands[i, j])
        apart = max(apart, most / least)
    level = 0 * rate[0]
    first = 0  # users before this place in the order have stopped
    while first < n:
        for place in range(n - 1, first - 1, -1):
            i = order[place]
            rises = bottlenecks[i] == _UNSET
            for j in range(m):
                slope[place, j] = slope[place + 1, j] + (rate[i] * demands[i, j] if rises else 0)
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
                level = levels[i] = cap[i]
                bottlenecks[i] = -1
                first += 1
        if not empty:
            break
        step = np.inf
        for j in range(m):
            if slope[first, j] > 0.0:
                step = min(step, slack[j] / slope[first, j])
        level += step
        for j in range(m):
            if slope[first, j] > 0.0:  # the resource that sets the step is empty by definition, not up to rounding
                slack[j] = 0 if slack[j] / slope[first, j] <= step else slack[j] - slope[first, j] * step
        for place in range(first, n):
            i = order[place]
            if bottlenecks[i] == _UNSET:
                for j in range(m):
                    if demands[i, j] > 0.0 and slack[j] == 0.0:
                        bottlenecks[i] = j
                        levels[i] = level
                        break
    return apart


def fill(
    demands: FloatArray,
    rate: FloatArray,
    capacities: FloatArray,
    weights: FloatArray,
    max_tasks: FloatArray | None = None,
) -> tuple[FloatArray, NDArray[np.int64]]:
    """Fill progressively, in doubles or, where users are too far apart for these, by the rule; give tasks and stops.

    ``rate`` (n,) are tasks per unit of level, and ``weights`` (n,) or (n, m) what they come from, unscaled.
    """
    n = len(rate)
    levels, bottlenecks = np.empty(n), np.empty(n, dtype=np.int64)
    cap = np.full(n, np.inf) if max_tasks is None else max_tasks / rate
    order = np.arange(n) if max_tasks is None else np.argsort(cap, kind="stable")
    apart = fill_bounded(demands, rate, capacities, cap, order, levels, bottlenecks)
    if apart >= FAR_APART:
        if n > EXACT:
            rule = (
                f"must give users of one resource parts of it within {FAR_APART:g} of each other beyond {EXACT} users"
            )
            raise InvalidInput("weights and demands", rule, f"{apart:.3g}")
        return exact_fill(demands, weights, capacities, max_tasks)
    if max_tasks is None:
        return levels * rate, bottlenecks
    return np.where(bottlenecks == -1, max_tasks, np.minimum(levels * rate, max_tasks)), bottlenecks


def in_fractions(values: Any) -> Any:
    """Give an array of doubles as lists of fractions; inf is None."""
    if isinstance(values, list):
        return [in_fractions(one) for one in values]
    return in_fractions(values.tolist()) if isinstance(values, np.ndarray) else to_fraction(values)


def to_fraction(value: float) -> Fraction | None:
    return None if value == np.inf else Fraction(value)


def exact_fill(
    demands: FloatArray, weights: FloatArray, capacities: FloatArray, max_tasks: FloatArray | None = None
) -> tuple[FloatArray, NDArray[np.int64]]:
    """Work out :func:`drf_rule` in fractions of the doubles; give tasks, rounded once, and what stops each user."""
    tasks, stops = drf_rule(
        in_fractions(demands),
        weights=in_fractions(weights),
        capacities=in_fractions(capacities),
        max_tasks=None if max_tasks is None else in_fractions(max_tasks),
    )
    return np.array([float(x) for x in tasks]), np.array(stops, dtype=np.int64)


@takes_instance
def drf(
    demands: Any,
    *,
    weights: Any = None,
    capacities: Any = None,
    max_tasks: Any = None,
    engine: Engine = "fast",
) -> Allocation:
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
    engine : {"fast", "plain"}
        ``"plain"`` works :func:`drf_rule` out in fractions.

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
    What heavy users leave of a resource is a difference of large numbers, and a light user may live on it: doubles keep
    1e-8 of each user's tasks within 10^6 between weights or demands. Where users of a resource take parts of it more
    than 10^8 apart, the rule is worked out in fractions, for up to 1000 users (seconds); more are refused.

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
    check_choice(engine, "engine", Engine)
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
    most = None if max_tasks is None else bounds
    tasks, stops = exact_fill(values, raw, pool, most) if engine == "plain" else fill(values, rate, pool, raw, most)
    names = named.users, named.resources
    return Allocation(tasks, values, scaled, pool, bounds, stops, *names, given_weights=raw, exact=exact_fill)


def as_running(running: Any, share: FloatArray, users: Any) -> FloatArray:
    """Check the tasks that run already, shape (n,): whole, and together within the pool."""
    if running is None:
        return np.zeros(len(share))
    tasks = per_user(running, len(share), users, "running").copy()
    whole = (tasks >= 0) & (tasks == np.floor(tasks)) & (tasks < np.inf)
    raise_at_first(~whole, "running", "must be a whole number of at least 0", tasks)
    if (tasks @ share > 1 + FITS).any():
        most = float((tasks @ share).max())
        raise InvalidInput("running", "must fit the pool", f"{most:.6g} times as much of a resource")
    return tasks


@takes_instance
def drf_by_task(
    demands: Any,
    *,
    weights: Any = None,
    capacities: Any = None,
    max_tasks: Any = None,
    running: Any = None,
    stuck: Stuck = "skip",
    engine: Engine = "fast",
) -> Allocation:
    """Allocate whole tasks one at a time to the user with the lowest level (Ghodsi et al. 2011, Algorithm 1).

    Parameters
    ----------
    demands, weights, capacities, max_tasks
        As for :func:`drf`; weights of shape (n,); bounds are rounded down.
    running : array_like or Series, shape (n,), optional
        Whole tasks that each user runs already; together they fit the pool. They count, and stay. Default: none.
    stuck : {"skip", "stop"}
        What happens when the next task of the user with the lowest level does not fit. ``"skip"``: that user
        is done and the others go on, as production schedulers do. ``"stop"``: the allocation ends, as the
        pseudo-code of the paper reads.
    engine : {"fast", "plain"}
        ``"plain"`` works :func:`drf_by_task_rule` out in fractions.

    Returns
    -------
    Allocation
        ``tasks`` are whole numbers, what ran already included. ``bottlenecks`` names a resource that the user's next
        task would overdraw, -1 where the bound is reached, -2 where the user could have had another task but the
        allocation stopped (only with ``"stop"``); ``violations()`` names such a user, for no resource stops it.

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
    >>> drf_by_task([[1, 4], [3, 1]], capacities=[9, 18], running=[0, 2]).tasks
    array([3., 2.])
    >>> drf_by_task([[1, 4], [3, 1]], capacities=[9, 18], running=[4, 0]).tasks
    array([4., 1.])
    """
    check_choice(stuck, "stuck", Stuck)
    check_choice(engine, "engine", Engine)
    named = as_demands(demands)
    values = named.values
    n, m = values.shape
    pool = as_capacities(capacities, m, named.resources)
    scaled = as_weights(weights, n, named.users)
    bounds = np.floor(as_max_tasks(max_tasks, n, named.users))
    tasks, left, bottlenecks = as_running(running, values / pool, named.users), np.empty(m), np.empty(n, dtype=np.int64)
    if engine == "plain":
        exact = {"weights": scaled, "capacities": pool, "max_tasks": bounds, "running": tasks}
        found = {name: in_fractions(one) for name, one in exact.items()}
        given, stops = drf_by_task_rule(in_fractions(values), **found, stuck=stuck, near=Fraction(TIED))
        tasks, bottlenecks, possible = np.array(given, dtype=np.float64), np.array(stops), 0.0
    else:
        possible = by_task(values, pool, scaled, bounds, stuck == "stop", tasks, left, bottlenecks)
    if possible > MOST_TASKS:
        raise InvalidInput(
            "demands",
            f"must be large enough that at most {MOST_TASKS:g} whole tasks of one user fit the pool",
            f"about {possible:.3g} tasks of one user",
        )
    if stuck == "stop" and engine == "fast":  # say for the others, too, what would stop them
        over = values / pool > left + FITS
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
