"""Dynamic DRF (Kash, Procaccia, Shah; AAMAS 2013, JAIR 2014): the same entitlement for everyone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fairbook.mechanisms.pool.dmfa_srq import dmfa_srq, dmfa_srq_rule
from fairbook.mechanisms.readings import Engine
from fairbook.model.dynamic import DynamicAllocation
from fairbook.model.inputs import demand_matrix
from fairbook.model.instance import takes_instance

__all__ = ["dynamic_drf", "dynamic_drf_rule"]


def dynamic_drf_rule(demands: Any) -> list[tuple[Any, int, dict[int, Any]]]:
    """DYNAMIC-DRF: DMFA-SRQ where each of n agents brings 1/n, and what that rule gives after each arrival.

    >>> from fractions import Fraction as F
    >>> [str(M) for M, *_ in dynamic_drf_rule([[F(1), F(1, 2)], [F(1, 2), F(1)]])]
    ['1', '4/3']
    """
    n = len(demands)
    return dmfa_srq_rule(demands, weights=[(1 + 0 * demands[0][0]) / n] * n)


@takes_instance
def dynamic_drf(demands: Any, *, engine: Engine = "fast") -> DynamicAllocation:
    """Allocate by dynamic DRF: n agents, each entitled to 1/n, k/n of the pool open after k arrivals.

    It is the case of equal weights of DMFA-SRQ, and solved by the same engine.

    Parameters
    ----------
    demands : array_like or DataFrame, shape (n, m)
        Resource per task as a share of the whole pool, agents in order of arrival.
    engine : {"fast", "plain"}
        ``"plain"`` works the rule out in fractions.

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
    run = dmfa_srq(named.values, weights=np.full(n, 1.0 / n), engine=engine)
    return replace(run, named_users=named.users, named_resources=named.resources, mechanism="dynamic_drf")
