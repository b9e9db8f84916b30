"""DRF machine by machine: what a cluster gets whose servers share themselves out, each blind to the others."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from fairbook.mechanisms.placing.engine import tasks_at_most
from fairbook.mechanisms.placing.machines import as_arguments, as_placement
from fairbook.mechanisms.pool.drf import drf_by_task, drf_by_task_rule
from fairbook.mechanisms.readings import Engine
from fairbook.model.exact import by_rule
from fairbook.model.inputs import FloatArray, as_weights, check_switch
from fairbook.model.instance import takes_instance
from fairbook.model.placement import Cell, Placement, as_cell
from fairbook.progress import bar

__all__ = ["per_server_drf", "per_server_drf_rule"]


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


def _class_by_class(cell: Cell, weights: FloatArray, progress: bool) -> tuple[Any, Any]:
    """Hand out class after class of machines: user and machine of each task.

    Machines of a class do the same as long as nobody comes near a bound that could have mattered.
    """
    left, first, users, machines = cell.max_tasks.copy(), 0, [np.empty(0)], [np.empty(0)]
    classes = list(zip(cell.machines, cell.machine_counts.tolist(), strict=True))
    for size, count in bar(classes, shown=progress, unit=" classes of machines", desc="per_server_drf"):
        has, last = size > 0, first + count
        able = (has | (cell.demands == 0)).all(axis=1)
        while able.any() and first < last:
            given: dict[str, Any] = {"weights": weights[able], "capacities": size[has], "max_tasks": left[able]}
            tasks = np.zeros(len(left), np.intp)
            tasks[able] = drf_by_task(cell.demands[able][:, has], **given).tasks
            again = np.floor(left[tasks > 0] / tasks[tasks > 0]).min(initial=np.inf) - 1
            times = int(np.clip(again, 1, last - first))
            users.append(np.tile(np.repeat(np.arange(len(left)), tasks), times))
            machines.append(np.repeat(np.arange(first, first + times), tasks.sum()))
            left, first = left - times * tasks, first + times
        first = last
    return np.concatenate(users).astype(np.int32), np.concatenate(machines).astype(np.int32)


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
    the same bounds do the same, so they are computed once: O((K + n) T) for T, the cost of one
    :func:`fairbook.drf_by_task`, plus O(P) for P tasks. Without bounds O(K T + P).

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
    return Placement(cell, *_class_by_class(cell, scaled, progress), "per_server_drf")
