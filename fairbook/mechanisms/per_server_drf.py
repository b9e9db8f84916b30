"""DRF machine by machine: what a cluster gets whose servers share themselves out, each blind to the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairbook.mechanisms.drf import drf_by_task
from fairbook.mechanisms.engines.filling import refuse_too_many
from fairbook.model.inputs import as_weights
from fairbook.model.instance import takes_instance
from fairbook.model.placement import Placement, as_cell

__all__ = ["per_server_drf"]


@takes_instance
def per_server_drf(
    demands: Any, machines: Any = None, machine_counts: Any = None, *, max_tasks: Any = None, weights: Any = None
) -> Placement:
    """Place whole tasks by DRF on each machine by itself (the baseline of Wang et al. 2015).

    Parameters
    ----------
    demands, machines, machine_counts, max_tasks, weights
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
    cell = as_cell(demands, machines, machine_counts, max_tasks)
    refuse_too_many(cell)
    n = len(cell.demands)
    scaled = as_weights(weights, n, cell.named_users)
    left = cell.max_tasks.copy()
    users: list[Any] = [np.empty(0, np.int32)]
    numbers: list[Any] = [np.empty(0, np.int32)]
    first = 0
    for capacity, count in zip(cell.machines, cell.machine_counts.tolist(), strict=True):
        has = capacity > 0
        able = np.flatnonzero((cell.demands[:, ~has] == 0).all(axis=1))
        while count and able.size:
            one = np.zeros(n, np.int64)
            one[able] = drf_by_task(
                cell.demands[np.ix_(able, has)], weights=scaled[able], capacities=capacity[has], max_tasks=left[able]
            ).tasks
            if not one.any():
                break
            # the same again as long as nobody comes near a bound that could have mattered
            again = np.floor(left / np.maximum(one, 1))[one > 0].min()
            times = int(min(count, max(again - 1, 1)))
            users.append(np.tile(np.repeat(np.arange(n), one), times))
            numbers.append(np.repeat(np.arange(first, first + times), one.sum()))
            left = left - times * one
            first, count = first + times, count - times
        first += count
    return Placement(
        cell, np.concatenate(users).astype(np.int32), np.concatenate(numbers).astype(np.int32), "per_server_drf"
    )
