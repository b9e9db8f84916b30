"""Dynamic DRF (Kash, Procaccia, Shah; AAMAS 2013, JAIR 2014): the same entitlement for everyone."""

from __future__ import annotations

from typing import Any

from fairbook.mechanisms.dmfa_srq import dmfa_srq
from fairbook.model.dynamic import DynamicAllocation
from fairbook.model.inputs import demand_matrix, filled
from fairbook.model.instance import takes_instance

__all__ = ["dynamic_drf"]


@takes_instance
def dynamic_drf(demands: Any) -> DynamicAllocation:
    """Allocate by dynamic DRF: n agents, each entitled to 1/n, k/n of the pool open after k arrivals.

    It is the case of equal weights of DMFA-SRQ, and solved by the same engine.

    Parameters
    ----------
    demands : array_like or DataFrame, shape (n, m)
        Resource per task as a share of the whole pool, agents in order of arrival.

    Returns
    -------
    DynamicAllocation
        With weights 1/n.

    Notes
    -----
    Cost O(n m).

    References
    ----------
    Kash, Procaccia, Shah, "No agent left behind", JAIR 51 (2014), mechanism DYNAMIC-DRF.

    Examples
    --------
    >>> dynamic_drf([[1, 1/2], [1/2, 1]]).tasks.round(4)
    array([0.6667, 0.6667])
    """
    named = demand_matrix(demands)
    n = len(named.values)
    run = dmfa_srq(named.values, weights=filled(n, 1.0 / n))
    return DynamicAllocation(
        run.levels, run.binding, run.demands, run.weights, named.users, named.resources, mechanism="dynamic_drf"
    )
