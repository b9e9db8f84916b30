"""DRF machine by machine: what a cluster gets whose servers share themselves out, each blind to the others."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import Any

import numpy as np

from fairbook.kernels import kernel
from fairbook.mechanisms.choices import Engine, check_choice
from fairbook.mechanisms.drf import drf_by_task_rule
from fairbook.mechanisms.engines.placing import tasks_at_most
from fairbook.mechanisms.engines.whole_tasks import serve
from fairbook.mechanisms.machines import as_placement, in_fractions
from fairbook.model.inputs import FloatArray, as_weights
from fairbook.model.instance import takes_instance
from fairbook.model.placement import Placement, as_cell

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


_CLASS, _DONE, _FIRST, _PLACED = 0, 1, 2, 3  # class, machines of it that are done, number of the next, tasks placed


def _steps(demands: FloatArray, machines: FloatArray, *_: Any) -> float:
    """Steps of handing out one machine of each class."""
    return 30.0 * demands.size * len(machines)


@kernel(_steps)
def _fill(
    demands: FloatArray,
    machines: FloatArray,
    counts: Any,
    weights: FloatArray,
    left: FloatArray,
    at: Any,
    users: Any,
    numbers: Any,
) -> bool:
    """Hand out class after class of machines; False where the tasks placed need more room than there is for them.

    Machines of a class do the same as long as nobody comes near a bound that could have mattered.
    """
    n, m = demands.shape
    while at[_CLASS] < len(machines):
        size, count = machines[at[_CLASS]], counts[at[_CLASS]] - at[_DONE]
        has, able = size > 0.0, np.ones(n, np.bool_)
        for i in range(n):
            for r in range(m):
                able[i] &= has[r] or demands[i, r] == 0.0
        one, some = np.zeros(n), np.zeros(able.sum())
        if len(some) > 0:
            serve(demands[able][:, has] / size[has], weights[able], left[able], 0.0, 1, False, some)
            one[able] = some
        total, again = int(one.sum()), np.inf
        for i in range(n):
            again = min(again, np.floor(left[i] / one[i])) if one[i] > 0.0 else again
        times = int(min(count, max(again - 1.0, 1.0)))
        if at[_PLACED] + times * total > len(users):
            return False
        for _ in range(times if total > 0 else 0):
            for i in range(n):
                for _ in range(int(one[i])):
                    users[at[_PLACED]], numbers[at[_PLACED]] = i, at[_FIRST]
                    at[_PLACED] += 1
            at[_FIRST] += 1
        left -= times * one
        at[_DONE] += times
        if total == 0 or times == count:
            at[_FIRST] += count if total == 0 else 0
            at[_CLASS], at[_DONE] = at[_CLASS] + 1, 0
    return True


@takes_instance
def per_server_drf(
    demands: Any,
    machines: Any = None,
    machine_counts: Any = None,
    *,
    max_tasks: Any = None,
    weights: Any = None,
    engine: Engine = "fast",
) -> Placement:
    """Place whole tasks by DRF on each machine by itself (the baseline of Wang et al. 2015).

    Parameters
    ----------
    demands, machines, machine_counts, max_tasks, weights, engine
        As for :func:`fairbook.drfh`. Bounds are used up machine after machine, in order of their numbers.

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
    Ghodsi et al., "Dominant Resource Fairness", NSDI 2011, Algorithm 1, on each machine.

    Examples
    --------
    >>> per_server_drf([[0.2, 1], [1, 0.2]], machines=[[2, 12], [12, 2]]).tasks
    array([6, 6])
    """
    check_choice(engine, "engine", Engine)
    cell = as_cell(demands, machines, machine_counts, max_tasks)
    tasks_at_most(cell)
    n = len(cell.demands)
    scaled = as_weights(weights, n, cell.named_users)
    if engine == "plain":
        exact = {**in_fractions(cell), "weights": [Fraction(w) for w in scaled.tolist()]}
        return as_placement(cell, per_server_drf_rule(**exact), "per_server_drf")
    at, users, machines = np.zeros(4, np.int64), *np.empty((2, 1 << 12), np.int32)
    bounds, sizes = cell.max_tasks.copy(), np.ascontiguousarray(cell.machines)
    while not _fill(cell.demands, sizes, cell.machine_counts, scaled, bounds, at, users, machines):
        users, machines = np.tile(users, 2), np.tile(machines, 2)
    return Placement(cell, users[: at[_PLACED]].copy(), machines[: at[_PLACED]].copy(), "per_server_drf")
