"""Virtual clusters judged by programs for HiGHS: the paper's own, and its linear relaxation with prices.

:func:`milp` is the program of the paper, (1) to (5); the assignment it finds is shared out again in fractions.
:func:`lp_bound` is its linear relaxation: floats enter only the search for prices, and the bound that is returned
follows from these prices in fractions, by weak duality, so it holds whatever the solver did.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog
from scipy.optimize import milp as solve_milp

from book.virtual_cluster.oracle import ZERO, Case, Optimum, as_case, settled, share
from fairbook.model.inputs import FloatArray

__all__ = ["LinearBound", "lp_bound", "milp"]


def _program(case: Case) -> tuple[FloatArray, FloatArray, FloatArray, Any, Any]:
    """Give VMs wanted, minima (n,), capacities (H,) in floats, and the sums of the n H pairs by user and by cluster."""
    alpha, least, room = (np.array(values, dtype=float) for values in (case.wanted, case.minimum, case.capacities))
    of_user = sparse.kron(sparse.eye_array(case.n), np.ones((1, case.H)), format="csr")
    return alpha, least, room, of_user, sparse.kron(np.ones((1, case.n)), sparse.eye_array(case.H), format="csr")


def milp(max_vms: Any, tolerance: Any, capacities: Any, whole: bool = True) -> Optimum | None:
    """Solve the program of the paper, (1) to (5), by HiGHS.

    Maximise Y with sum_j a_ij >= alpha_i Y, sum_j a_ij >= the minimum, sum_i a_ij <= C_j, a_ij <= alpha_i e_ij,
    sum_j e_ij = 1, e_ij in {0, 1} and a_ij >= 0, whole where ``whole``.

    Parameters
    ----------
    max_vms, tolerance, capacities, whole
        As for :func:`book.virtual_cluster.oracle.exact_optimum`.

    Returns
    -------
    Optimum or None
        The assignment that HiGHS says is the best, shared out in fractions; None where the minima do not fit.

    Notes
    -----
    2 n H + 1 variables. Slow: 13 users on 5 clusters may take minutes.

    Examples
    --------
    >>> found = milp([4, 4, 4], "1/2", [6, 5])
    >>> str(found.level), found.cluster
    ('3/4', [0, 0, 1])
    """
    case = as_case(max_vms, tolerance, capacities, whole)
    n, H, pairs = case.n, case.H, case.n * case.H
    alpha, least, room, of_user, of_cluster = _program(case)
    none, column, ones = sparse.csr_array((n, pairs)), sparse.csr_array(-alpha[:, None]), np.ones(n)
    cap = sparse.diags_array(np.repeat(-alpha, H))
    result = solve_milp(
        np.append(np.zeros(2 * pairs), -1.0),
        integrality=np.concatenate([np.full(pairs, int(whole)), np.ones(pairs), [0]]),
        bounds=Bounds(np.zeros(2 * pairs + 1), np.concatenate([np.repeat(alpha, H), np.ones(pairs + 1)])),
        constraints=[
            LinearConstraint(sparse.csr_array(A), low, high)
            for A, low, high in (
                (sparse.hstack([of_user, none, column]), np.zeros(n), np.full(n, np.inf)),
                (sparse.hstack([of_user, none, 0 * column]), least, alpha),
                (sparse.hstack([of_cluster, sparse.csr_array((H, pairs + 1))]), np.zeros(H), room),
                (
                    sparse.hstack([sparse.eye_array(pairs), cap, sparse.csr_array((pairs, 1))]),
                    np.full(pairs, -np.inf),
                    np.zeros(pairs),
                ),
                (sparse.hstack([none, of_user, sparse.csr_array((n, 1))]), ones, ones),
            )
        ],
        options={"mip_rel_gap": 0.0},
    )
    if result.status == 2:
        return None
    return settled(case, result.x[pairs : 2 * pairs].reshape(n, H).argmax(axis=1).tolist())


class LinearBound(NamedTuple):
    """The linear relaxation.

    Attributes
    ----------
    level : float
        What HiGHS found.
    upper : Fraction
        No allocation, spanning or not, has a larger least fraction: follows from ``prices`` in fractions.
    prices : list of H
        Not negative, of a VM on each cluster.
    """

    level: float
    upper: Fraction
    prices: list[Fraction]


def _highest(case: Case, prices: Sequence[Fraction]) -> Fraction:
    """Give the highest level at which all users together can pay; for their minima, which fit, they always can.

    A user at level Y has at least max(alpha Y, minimum) VMs, each at the least price or more, and all VMs that there
    are cost sum_j C_j p_j. Any prices that are not negative give a true bound.
    """
    worth = sum((C * p for C, p in zip(case.capacities, prices, strict=True)), ZERO)
    least = min(prices)
    if not least:
        return Fraction(1)
    vms = share(case.minimum, case.wanted, worth / least, whole=False)
    return case.level(vms)


def lp_bound(max_vms: Any, tolerance: Any, capacities: Any, whole: bool = True) -> LinearBound | None:
    """Bound the least fraction by the linear relaxation of (1) to (5), with prices that prove it.

    e_ij is any number from 0 to 1; a_ij <= alpha_i e_ij and sum_j e_ij = 1 then say no more than sum_j a_ij <= alpha_i.

    Parameters
    ----------
    max_vms, tolerance, capacities
        As for :func:`book.virtual_cluster.oracle.exact_optimum`, any number of users.
    whole : bool
        Whether minima are rounded up to whole VMs. What is above them is a fraction in any case.

    Returns
    -------
    LinearBound or None
        None where the minima do not fit even if users may be on several clusters; prices of 1 prove that.

    Notes
    -----
    One HiGHS run with n H + 1 variables and O(n^2 + H) operations on fractions.

    Examples
    --------
    >>> found = lp_bound([4, 4, 4], "1/2", [6, 5])
    >>> str(found.upper), [str(p) for p in found.prices]
    ('11/12', ['1', '1'])
    """
    case = as_case(max_vms, tolerance, capacities, whole)
    n, H = case.n, case.H
    alpha, least, room, of_user, of_cluster = _program(case)
    zero = sparse.csr_array((n, 1))
    rows = sparse.vstack(
        [
            sparse.hstack([of_cluster, sparse.csr_array((H, 1))]),
            sparse.hstack([-of_user, sparse.csr_array(alpha[:, None])]),
            sparse.hstack([-of_user, zero]),
            sparse.hstack([of_user, zero]),
        ]
    )
    if sum(case.minimum) > sum(case.capacities):
        return None
    result = linprog(
        np.append(np.zeros(n * H), -1.0),
        A_ub=sparse.csr_array(rows),
        b_ub=np.concatenate([room, np.zeros(n), -least, alpha]),
        bounds=[(0, None)] * (n * H) + [(0, 1)],
        method="highs",
    )
    found = np.maximum(-result.ineqlin.marginals[:H], 0.0)
    top = found.max()
    prices = [Fraction(float(p / top)).limit_denominator(10**6) if top > 0 else ZERO for p in found]
    return LinearBound(-float(result.fun), _highest(case, prices), prices)
