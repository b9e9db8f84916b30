"""Asset fairness, the worked example of the page "How to add a mechanism, how to add a trace"."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairbook.model.allocation import Allocation
from fairbook.model.inputs import as_capacities, as_demands, as_weights


def asset_fairness(demands: Any, weights: Any = None, capacities: Any = None) -> Allocation:
    """Raise everyone's *sum* of shares together, until what a user needs is used up (Ghodsi et al. 2011).

    Parameters
    ----------
    demands : array_like or DataFrame, shape (n, m)
        Resource per task, in the unit of ``capacities``.
    weights : array_like or Series, shape (n,), optional
        Positive; scaled to sum to 1. Default: equal.
    capacities : array_like or Series, shape (m,), optional
        Positive. Default: ones.

    Returns
    -------
    Allocation
        ``bottlenecks`` names the resource that was used up first of those that the user needs.

    Notes
    -----
    Cost O(n m) per resource that runs out. Of two that end together the one with the smaller index is named.

    References
    ----------
    Ghodsi et al., "Dominant Resource Fairness", NSDI 2011, section 4.4.

    Examples
    --------
    >>> asset_fairness([[1, 4], [3, 1]], capacities=[9, 18]).tasks.round(4)
    array([2.52, 2.16])
    """
    named = as_demands(demands)
    n, m = named.values.shape
    pool = as_capacities(capacities, m, named.resources)
    scaled = as_weights(weights, n, named.users)
    share = named.values / pool
    rate = scaled / share.sum(axis=1)  # tasks for each unit of (sum of shares / weight)
    tasks, slack, stopped = np.zeros(n), np.ones(m), np.full(n, -2)
    while (rising := stopped == -2).any():
        growth = (rate * rising) @ share
        step = np.divide(slack, growth, out=np.full(m, np.inf), where=growth > 0)
        j = int(step.argmin())
        tasks += rate * rising * step[j]
        slack = np.maximum(slack - growth * step[j], 0.0)
        slack[j] = 0.0  # empty by definition, not up to rounding
        stopped[rising & (share[:, j] > 0)] = j
    return Allocation(
        tasks, named.values, scaled, pool, np.full(n, np.inf), stopped, named.users, named.resources,
        mechanism="asset_fairness", rule="full",
    )
