"""Dominant resource fairness (Ghodsi et al., NSDI 2011): divisible and in whole tasks.

:func:`drf` fills progressively and exactly: all levels (dominant share / weight) rise together; a resource
that is used up stops everyone who needs it, a user's own bound stops that user. The result is the
lexicographic max-min optimum, zero demands and bounds included (Parkes, Procaccia, Shah, TEAC 2015, section 4;
Li et al., arXiv 1410.1255). Users may have minima, from which they rise.

:func:`drf_by_task` hands out one whole task at a time to the user with the lowest level, as Mesos, YARN
and their successors do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.filling import fill_by_rate
from fairbook.mechanisms.pool.whole_tasks import in_whole_tasks
from fairbook.mechanisms.readings import Engine, Floor, Stuck
from fairbook.model.allocation import Allocation
from fairbook.model.exact import by_rule
from fairbook.model.inputs import (
    FITS,
    NOTHING,
    OWN,
    Array,
    FloatArray,
    Named,
    as_capacities,
    as_demands,
    as_max_tasks,
    as_weights,
    check_amounts,
    check_apart,
    per_user,
    row_max,
)
from fairbook.model.instance import takes_instance
from fairbook.model.result import called, labels_or_positions

__all__ = ["drf", "drf_by_task", "drf_by_task_rule", "drf_rule", "in_parts"]


def drf_rule(
    demands: Any,
    *,
    weights: Any = None,
    capacities: Any = None,
    max_tasks: Any = None,
    min_tasks: Any = None,
    floor: Floor = "counted",
    near: Any = 0,
    measure: Callable[[Array], Array] = row_max,
) -> tuple[list[Any], list[int]]:
    """Progressive filling in numbers of any kind: tasks, and what stops each user (:mod:`fairbook.filling`).

    Arguments are lists. A bound that is None is none; minima fit, up to ``near`` of a resource, and are within the
    bounds. The level is what ``measure`` makes of shares by weight, the largest in DRF. By hand: 9 CPUs, 18 GB. At
    level 2/3 three tasks of (1, 4) and two of (3, 1) use up the CPUs. A second user with a minimum of 5/2 tasks waits
    there, and 3/2 CPUs are left to the first.

    >>> from fractions import Fraction as F
    >>> drf_rule([[F(1), F(4)], [F(3), F(1)]], capacities=[F(9), F(18)])
    ([Fraction(3, 1), Fraction(2, 1)], [0, 0])
    >>> drf_rule([[F(1), F(4)], [F(3), F(1)]], capacities=[F(9), F(18)], min_tasks=[0, F(5, 2)])
    ([Fraction(3, 2), Fraction(5, 2)], [0, 0])
    """
    needs = np.array(demands, dtype=object)
    n, m = needs.shape
    pool, entitled = (np.array(one, dtype=object) for one in (capacities or [1] * m, weights or [1] * n))
    if entitled.ndim == 2:  # weights for each resource: parts of what all have there
        rate = 1 / measure(needs / pool / (entitled / entitled.sum(axis=0)))
    else:
        rate = entitled / measure(needs / pool)
    bounds = np.array([np.inf if most is None else most for most in max_tasks or [None] * n], dtype=object)
    least = np.array(min_tasks or [0 * pool[0]] * n, dtype=object)
    left = pool - least @ needs
    left = np.where(abs(left) <= near * pool, 0 * left, left)
    tasks, stops, _ = _risen(needs, rate, left, bounds, least, floor)
    return tasks.tolist(), stops.tolist()


def _risen(needs: Any, rate: Any, left: Any, bounds: Any, least: Any, floor: Floor) -> tuple[Any, Any, float]:
    """Let all rise from their minima: tasks, what stops each, and how far apart users are who share a resource."""
    begin = least / rate if floor == "counted" else 0 * rate
    gained, stops = np.empty_like(rate), np.empty(len(rate), dtype=np.int64)
    apart = fill_by_rate(needs, rate, begin, (bounds - least) / rate, left, gained, stops)
    tasks = (begin + gained) * rate if floor == "counted" else least + gained * rate
    tasks = np.where(gained > 0, np.minimum(tasks, bounds), least)
    return np.where(stops == OWN, bounds, tasks), stops, apart


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
    task may overdraw that part of a resource. What stops a user is a resource, or its own bound (-1); -2 says that
    nothing would, but with ``stuck="stop"`` another user's task has ended the allocation. By hand: the first user is
    served at levels 0, 2/9 and 4/9, the second at 0 and 1/3; then the CPUs are used up.

    >>> from fractions import Fraction as F
    >>> drf_by_task_rule([[F(1), F(4)], [F(3), F(1)]], capacities=[F(9), F(18)])
    ([3, 2], [0, 0])
    """
    n, m = len(demands), len(demands[0])
    size = capacities or [1] * m
    share = [[d / c for d, c in zip(row, size, strict=True)] for row in demands]
    per_task = [max(row) / w for row, w in zip(share, weights or [1] * n, strict=True)]
    tasks, stops, waits = [*(running or [0] * n)], [NOTHING] * n, set(range(n))
    left = [1 - sum(x * row[j] for x, row in zip(tasks, share, strict=True)) for j in range(m)]

    def stop(i: int) -> int:
        if max_tasks and max_tasks[i] is not None and tasks[i] + 1 > max_tasks[i]:
            return OWN
        return next((j for j in range(m) if share[i][j] > left[j] + near), NOTHING)

    while waits:
        lowest = min(tasks[i] * per_task[i] for i in waits)
        i = min(i for i in waits if tasks[i] * per_task[i] <= lowest * (1 + near))
        stops[i] = stop(i)
        if stops[i] == NOTHING:
            tasks[i] += 1
            left = [amount - x for amount, x in zip(left, share[i], strict=True)]
        elif stuck == "stop" and stops[i] >= 0:
            break
        else:
            waits.remove(i)
    return tasks, [stop(i) if i in waits else stops[i] for i in range(n)]


def exact_fill(
    rule: Callable[..., Any],
    demands: FloatArray,
    weights: FloatArray,
    capacities: FloatArray,
    max_tasks: FloatArray | None = None,
    min_tasks: FloatArray | None = None,
    floor: Floor = "counted",
) -> tuple[FloatArray, NDArray[np.int64]]:
    """Work a rule out in fractions of the doubles; give tasks, rounded once, and what stops each user."""
    given = {"weights": weights, "capacities": capacities, "max_tasks": max_tasks, "min_tasks": min_tasks}
    tasks, stops = by_rule(rule, demands=demands, **given, floor=floor, near=FITS)
    return np.array([float(x) for x in tasks]), np.array(stops, dtype=np.int64)


def as_min_tasks(min_tasks: Any, named: Named, pool: FloatArray, bounds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Check minima, shape (n,), which are lowered to the bounds; give them, and what they leave of each resource."""
    values = per_user(min_tasks, len(bounds), named.users, "min_tasks")
    check_amounts(values, "min_tasks")
    values = np.minimum(values, bounds)
    left = _left(values[:, None], named.values, pool)
    left = np.where(abs(left) <= FITS * pool, 0.0, left)
    for j in np.flatnonzero(left < 0)[:1].tolist():
        name = called(labels_or_positions(named.resources, len(pool))[j], "resource")
        rule = f"must fit the pool, which has {pool[j]:.6g} of {name}"
        raise InvalidInput("min_tasks", rule, float(pool[j] - left[j]))
    return values, left


def _left(tasks: FloatArray, demands: FloatArray, pool: FloatArray) -> FloatArray:
    """Give what tasks (n, 1) leave of each resource, rounded once, since somebody may live on a little.

    2^27 + 1 splits a double in two, and so what a product loses by rounding can be computed (Dekker 1971).
    """

    def halves(one: FloatArray) -> tuple[FloatArray, FloatArray]:
        high = one * 134217729.0 - (one * 134217729.0 - one)
        return high, one - high

    (a, b), (c, d), products = halves(tasks), halves(demands), tasks * demands
    errors = (a * c - products + a * d + b * c) + b * d
    rows = zip(pool.tolist(), (-products.T).tolist(), (-errors.T).tolist(), strict=True)
    return np.array([math.fsum([all_, *used, *more]) for all_, used, more in rows])


@takes_instance
def drf(
    demands: Any,
    *,
    weights: Any = None,
    capacities: Any = None,
    max_tasks: Any = None,
    min_tasks: Any = None,
    floor: Floor = "counted",
    engine: Engine = "fast",
) -> Allocation:
    """Allocate by weighted dominant resource fairness, divisible tasks (Ghodsi et al. 2011).

    Parameters
    ----------
    demands : array_like or DataFrame, shape (n, m)
        Resource per task, in the unit of ``capacities``; zeros allowed, at least one positive entry a row.
    weights : array_like or Series, shape (n,) or (n, m), optional
        Positive; scaled to sum to 1. Default: equal. Where every resource has weights of its own each column is
        scaled by itself, and the level of a user is its largest share / weight over the resources.
    capacities : array_like or Series, shape (m,), optional
        Positive. Default: ones, so that demands are shares of the pool.
    max_tasks : array_like or Series, shape (n,), optional
        Bound on each user's tasks, ``inf`` for none. Default: no bounds.
    min_tasks : array_like or Series, shape (n,), optional
        What each user has before the others rise, together within the pool; of a minimum above ``max_tasks`` so much.
        Default: none.
    floor : {"counted", "apart"}
        ``"counted"``: all tasks make the level, so that a user has its minimum or what the level gives it, whichever
        is more. ``"apart"``: everyone has its minimum, and what is left is shared by weight.
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
    Cost O(n m) per resource that runs out, expected, so at most O(n m^2).
    Ties: a user whose bound and resource end at the same level is stopped by the bound; of two resources
    that end together, the one with the smaller index is named, or the other where rounding puts it first.
    What heavy users leave of a resource is a difference of large numbers, and a light user may live on it: doubles keep
    1e-8 of each user's tasks within 10^6 between weights or demands. Where users of a resource take parts of it more
    than 10^8 apart they are refused; ``engine="plain"`` takes them.

    With one resource ``"counted"`` is what YARN's fair scheduler does with minimum shares, ``"apart"`` what KAI does
    with quotas and over-quota weights. With several, a minimum is here in tasks, not resource by resource.

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

    Ten GPUs, and a minimum of six for the first of three users.

    >>> drf([[1], [1], [1]], capacities=[10], min_tasks=[6, 0, 0]).tasks
    array([6., 2., 2.])
    >>> drf([[1], [1], [1]], capacities=[10], min_tasks=[6, 0, 0], floor="apart").tasks.round(6)
    array([7.333333, 1.333333, 1.333333])
    """
    return in_parts("drf", drf_rule, demands, weights, capacities, max_tasks, engine, min_tasks=min_tasks, floor=floor)


def in_parts(
    mechanism: str,
    rule: Callable[..., Any],
    demands: Any,
    weights: Any,
    capacities: Any,
    max_tasks: Any,
    engine: Engine,
    *,
    min_tasks: Any = None,
    floor: Floor = "counted",
    measure: Callable[[Array], Array] = row_max,
    **told: Any,
) -> Allocation:
    """Fill a pool with tasks that can be divided: the arguments of :func:`drf`, and how a mechanism differs from it.

    ``measure`` makes levels (n,) of shares by weight (n, m), so that twice the shares are twice the level; ``rule`` is
    :func:`drf_rule` with this measure; what is ``told`` besides goes into the result.
    """
    named = as_demands(demands)
    values, names = named.values, (named.users, named.resources)
    n, m = values.shape
    pool = as_capacities(capacities, m, named.resources)
    raw = as_weights(weights, n, named.users, m=m, resources=named.resources, scaled=False)
    scaled, share = raw / raw.sum(axis=0), values / pool
    bounds, least, left = as_max_tasks(max_tasks, n, named.users), None, pool
    if min_tasks is not None:
        least, left = as_min_tasks(min_tasks, named, pool, bounds)
    exact = partial(exact_fill, rule)
    if engine == "plain":
        tasks, stops = exact(values, raw, pool, bounds, least, floor)
    else:
        rate = scaled / measure(share) if raw.ndim == 1 else 1 / measure(share / scaled)
        tasks, stops, apart = _risen(values, rate, left, bounds, np.zeros(n) if least is None else least, floor)
        check_apart(apart)
    per_task = None if measure is row_max else measure((share.T / scaled.T).T)
    told |= {"min_tasks": least, "floor": floor, "given_weights": raw, "exact": exact, "per_task": per_task}
    return Allocation(tasks, values, scaled, pool, bounds, stops, *names, mechanism, **told)


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
        Naming argument, rule and value. Also where more than about 1e8 tasks are to be handed out.

    Notes
    -----
    Cost O((n + t) (m + log n)) for t tasks handed out.
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
    options: dict[str, Any] = {"running": running, "stuck": stuck, "stop": stuck == "stop"}
    return in_whole_tasks("drf_by_task", drf_by_task_rule, demands, weights, capacities, max_tasks, engine, **options)
