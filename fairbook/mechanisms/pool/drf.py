"""Dominant resource fairness (Ghodsi et al., NSDI 2011): divisible and in whole tasks.

:func:`drf` fills progressively and exactly: all levels (dominant share / weight) rise together; a resource
that is used up stops everyone who needs it, a user's own bound stops that user. The result is the
lexicographic max-min optimum, zero demands and bounds included (Parkes, Procaccia, Shah, TEAC 2015, section 4;
Li et al., arXiv 1410.1255).

:func:`drf_by_task` hands out one whole task at a time to the user with the lowest level, as Mesos, YARN
and their successors do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbook.filling import fill_by_rate
from fairbook.mechanisms.pool.whole_tasks import in_whole_tasks
from fairbook.mechanisms.readings import Engine, Stuck
from fairbook.model.allocation import Allocation
from fairbook.model.exact import by_rule
from fairbook.model.inputs import (
    NOTHING,
    OWN,
    FloatArray,
    as_capacities,
    as_demands,
    as_max_tasks,
    as_weights,
    check_apart,
    row_max,
)
from fairbook.model.instance import takes_instance

__all__ = ["drf", "drf_by_task", "drf_by_task_rule", "drf_rule"]


def drf_rule(
    demands: Any, *, weights: Any = None, capacities: Any = None, max_tasks: Any = None
) -> tuple[list[Any], list[int]]:
    """Progressive filling in numbers of any kind: tasks, and what stops each user (:mod:`fairbook.filling`).

    A bound that is None is none. By hand: 9 CPUs, 18 GB. At level 2/3 three tasks of (1, 4) and two of (3, 1) use up
    the CPUs.

    >>> from fractions import Fraction as F
    >>> drf_rule([[F(1), F(4)], [F(3), F(1)]], capacities=[F(9), F(18)])
    ([Fraction(3, 1), Fraction(2, 1)], [0, 0])
    """
    needs = np.array(demands, dtype=object)
    n, m = needs.shape
    pool, entitled = (np.array(one, dtype=object) for one in (capacities or [1] * m, weights or [1] * n))
    if entitled.ndim == 2:  # weights for each resource: parts of what all have there
        rate = 1 / row_max(needs / pool / (entitled / entitled.sum(axis=0)))
    else:
        rate = entitled / row_max(needs / pool)
    bounds = max_tasks or [None] * n
    cap = np.array([np.inf if most is None else most / x for most, x in zip(bounds, rate, strict=True)], dtype=object)
    levels, stops = np.empty(n, dtype=object), np.empty(n, dtype=np.int64)
    fill_by_rate(needs, rate, pool, cap, levels, stops)
    ends = zip(bounds, levels, rate, stops.tolist(), strict=True)
    return [most if j == OWN else level * x for most, level, x, j in ends], stops.tolist()


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
    demands: FloatArray, weights: FloatArray, capacities: FloatArray, max_tasks: FloatArray | None = None
) -> tuple[FloatArray, NDArray[np.int64]]:
    """Work out :func:`drf_rule` in fractions of the doubles; give tasks, rounded once, and what stops each user."""
    given = {"weights": weights, "capacities": capacities, "max_tasks": max_tasks}
    tasks, stops = by_rule(drf_rule, demands=demands, **given)
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
        Positive; scaled to sum to 1. Default: equal. Where every resource has weights of its own each column is
        scaled by itself, and the level of a user is its largest share / weight over the resources.
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
    Cost O(n m) per resource that runs out, expected, so at most O(n m^2).
    Ties: a user whose bound and resource end at the same level is stopped by the bound; of two resources
    that end together, the one with the smaller index is named, or the other where rounding puts it first.
    What heavy users leave of a resource is a difference of large numbers, and a light user may live on it: doubles keep
    1e-8 of each user's tasks within 10^6 between weights or demands. Where users of a resource take parts of it more
    than 10^8 apart they are refused; ``engine="plain"`` takes them.

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
    named = as_demands(demands)
    values, names = named.values, (named.users, named.resources)
    n, m = values.shape
    pool = as_capacities(capacities, m, named.resources)
    raw = as_weights(weights, n, named.users, m=m, resources=named.resources, contributed=True)
    scaled, share = raw / raw.sum(axis=0), values / pool
    bounds = as_max_tasks(max_tasks, n, named.users)
    if engine == "plain":
        tasks, stops = exact_fill(values, raw, pool, bounds)
    else:
        rate = scaled / row_max(share) if raw.ndim == 1 else 1 / row_max(share / scaled)
        cap, levels, stops = bounds / rate, np.empty(n), np.empty(n, dtype=np.int64)
        check_apart(fill_by_rate(values, rate, pool, cap, levels, stops))
        tasks = np.where(stops == OWN, bounds, np.minimum(levels * rate, bounds))
    return Allocation(tasks, values, scaled, pool, bounds, stops, *names, given_weights=raw, exact=exact_fill)


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
        Naming argument, rule and value. Also where more than about 1e8 tasks may fit the pool.

    Notes
    -----
    Cost O(n m + t (m + log n)) for t tasks handed out.
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
