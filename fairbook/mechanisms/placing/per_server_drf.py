"""DRF machine by machine: what a cluster gets whose servers share themselves out, each blind to the others."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from fairbook.kernels import kernel
from fairbook.mechanisms.placing.engine import tasks_at_most
from fairbook.mechanisms.placing.machines import as_arguments, as_placement
from fairbook.mechanisms.pool.drf import drf_by_task_rule
from fairbook.mechanisms.pool.whole_tasks import refuse_more, serve
from fairbook.mechanisms.readings import Engine
from fairbook.model.exact import by_rule
from fairbook.model.inputs import FITS, FloatArray, as_weights, check_switch
from fairbook.model.instance import takes_instance
from fairbook.model.placement import Cell, Placement, as_cell
from fairbook.progress import bar

__all__ = ["per_server_drf", "per_server_drf_rule"]

_BLOCK = 256  # classes of machines between two looks at the keyboard


def per_server_drf_rule(
    demands: Any,
    machines: Any,
    *,
    machine_counts: Any = None,
    max_tasks: Any = None,
    weights: Any = None,
    near: Any = 0,
) -> list[tuple[int, int]]:
    """DRF in whole tasks on one machine after the other: (user, machine) of each task; numbers of any kind.

    Shares are parts of the machine; bounds are used up on the way. A machine of (9, 18) holds three tasks of (1, 4) and
    two of (3, 1):

    >>> from fractions import Fraction as F
    >>> per_server_drf_rule([[F(1), F(4)], [F(3), F(1)]], [[F(9), F(18)]])
    [(0, 0), (0, 0), (0, 0), (1, 0), (1, 0)]
    """
    users, placed = range(len(demands)), []
    weights, left = weights or [1 for _ in users], list(max_tasks or [inf for _ in users])
    each = [size for size, count in zip(machines, machine_counts or [1] * len(machines)) for _ in range(count)]
    for j, size in enumerate(each):
        has = [r for r, c in enumerate(size) if c > 0]
        able = [i for i in users if all(c > 0 for d, c in zip(demands[i], size, strict=True) if d)]
        if able:
            tasks, _ = drf_by_task_rule(
                [[demands[i][r] for r in has] for i in able],
                weights=[weights[i] for i in able],
                capacities=[size[r] for r in has],
                max_tasks=[left[i] for i in able],
                near=near,
            )
            for i, runs in zip(able, tasks, strict=True):
                left[i] -= runs
                placed += [(i, j)] * runs
    return placed


@kernel(lambda demands, machines, counts, *_: 3 * demands.size * len(machines) + counts.sum())
def _one_by_one(demands: Any, machines: Any, counts: Any, weights: Any, left: Any) -> tuple[Any, Any]:
    """Hand out class after class of machines: user and machine of each task. Of ``left``, bounds, the rest remains.

    Machines of a class do the same as long as nobody comes near a bound that could have mattered.
    """
    (n, m), first, placed = demands.shape, 0, 0
    users, at, some = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.intp)
    share, entitled, bounds, tasks, room = np.empty((n, m)), np.empty(n), np.empty(n), np.empty(n), np.empty(m)
    for k in range(len(machines)):
        last = first + counts[k]
        while first < last:
            number, end, times, surely = 0, placed, last - first, True
            for j in range(m):
                room[j] = machines[k, j] * (1.0 + 3 * FITS)
            # everybody begins at level 0: who has no room even for a first task plays no part. Up to the first who may
            # have room or not the first tasks are known
            for i in range(n):
                fits = left[i] >= 1.0
                for j in range(m):
                    if demands[i, j] > room[j]:
                        fits = False
                if fits:
                    some[number], entitled[number], bounds[number], tasks[number] = i, weights[i], left[i], 0.0
                    for j in range(m):
                        share[number, j] = demands[i, j] / machines[k, j] if demands[i, j] > 0 else 0.0
                        surely = surely and demands[i, j] <= room[j] - 3 * FITS * machines[k, j]
                    for j in range(m):
                        room[j] -= demands[i, j] if surely else 0.0
                    number += 1
            if number > 0:
                serve(share[:number], entitled[:number], bounds[:number], 0.0, False, tasks)
            for c in range(number):
                if tasks[c] > 0 and left[some[c]] < (times + 1) * tasks[c]:
                    times = max(int(left[some[c]] / tasks[c]) - 1, 1)
                end += int(tasks[c])
            total = end - placed
            while len(users) < placed + times * total:
                users, at = np.append(users, users), np.append(at, at)
            for c in range(number):
                left[some[c]] -= times * tasks[c]
                for _ in range(int(tasks[c])):
                    users[placed], at[placed] = some[c], first
                    placed += 1
            for copy in range(placed, placed + (times - 1) * total):
                users[copy], at[copy] = users[copy - total], at[copy - total] + 1
            first, placed = first + times, placed + (times - 1) * total
    return users[:placed], at[:placed]


def _block_by_block(cell: Cell, weights: FloatArray, progress: bool) -> tuple[Any, Any]:
    """Hand out the classes block by block, between which it can be interrupted."""
    left, first, found = cell.max_tasks.copy(), 0, []
    with bar(shown=progress, unit=" classes of machines", desc="per_server_drf") as placing:
        for k in range(0, len(cell.machines), _BLOCK):
            sizes, counts = cell.machines[k : k + _BLOCK], cell.machine_counts[k : k + _BLOCK]
            users, at = _one_by_one(cell.demands, sizes, counts, weights, left)
            refuse_more(np.bincount(at).max(initial=0))
            found.append((users, at + np.int32(first)))
            first += int(counts.sum())
            placing.update(len(sizes))
    return tuple(np.concatenate(one) for one in zip(*found, strict=True))  # type: ignore[return-value]


@takes_instance
def per_server_drf(
    demands: Any,
    machines: Any = None,
    machine_counts: Any = None,
    *,
    max_tasks: Any = None,
    weights: Any = None,
    engine: Engine = "fast",
    progress: bool = False,
) -> Placement:
    """Place whole tasks by DRF on each machine by itself (the baseline of Wang et al. 2015).

    Parameters
    ----------
    demands, machines, machine_counts, max_tasks, weights, engine, progress
        As for the heuristics of :func:`fairbook.drfh`. Bounds are used up machine after machine, in
        order of their numbers.

    Returns
    -------
    Placement

    Raises
    ------
    InvalidInput
        Naming argument, rule and value.

    Notes
    -----
    Dominant shares are those of the machine, so they may differ from machine to machine. Machines of a class that see
    the same bounds do the same, so they are computed once: O((K + n) n m) for K classes and n users with bounds, O(K n
    m) without, besides O(m + log n) for each task that is computed or refused, and O(P) for all P tasks.

    A user who needs a resource that a machine lacks gets nothing there.

    References
    ----------
    Ghodsi et al., "Dominant Resource Fairness", NSDI 2011, Algorithm 1, on each machine; Wang, Liang, Li,
    "Multi-resource fair allocation in heterogeneous cloud computing systems", IEEE TPDS 26(10), 2015, as the baseline.

    Examples
    --------
    >>> per_server_drf([[0.2, 1], [1, 0.2]], machines=[[2, 12], [12, 2]]).tasks
    array([6, 6])
    """
    cell = as_cell(demands, machines, machine_counts, max_tasks)
    tasks_at_most(cell)
    n = len(cell.demands)
    scaled = as_weights(weights, n, cell.named_users)
    check_switch(progress, "progress")
    if engine == "plain":
        placed = by_rule(per_server_drf_rule, **as_arguments(cell), weights=scaled)
        return as_placement(cell, placed, "per_server_drf")
    return Placement(cell, *_block_by_block(cell, scaled, progress), "per_server_drf")
