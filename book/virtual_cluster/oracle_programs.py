"""Virtual clusters judged by programs for HiGHS: the paper's own, and its linear relaxation with prices.

:func:`milp` is the program of the paper, (1) to (5); what it finds is shared out again in fractions.
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

from book.virtual_cluster.oracle import ZERO, Case, as_case, settled, share
from fairbook.errors import FairbookError
from fairbook.model.inputs import as_whole

__all__ = ["LinearBound", "Solved", "lp_bound", "milp"]


class Solved(NamedTuple):
    """What HiGHS found.

    Attributes
    ----------
    level : Fraction or None
        Least fraction of the assignment, shared out in fractions; None where none was found.
    bound : float
        No allocation has a larger least fraction, says HiGHS; as good as its tolerances, about 1e-6.
    gap : float
        Part of the bound that is missing.
    proved : bool
        Whether HiGHS ended by itself, not at a limit.
    cluster : list of n, or None
    vms : list of n, or None
    """

    level: Fraction | None
    bound: float
    gap: float
    proved: bool
    cluster: list[int] | None
    vms: list[Fraction] | None


def milp(max_vms: Any, tolerance: Any, capacities: Any, whole: bool = True, spanning: bool = False,
         seconds: float | None = None, nodes: int | None = None) -> Solved | None:
    """Solve the program of the paper, (1) to (5), by HiGHS.

    Maximise Y with sum_j a_ij >= alpha_i Y, sum_j a_ij >= the minimum, sum_i a_ij <= C_j, a_ij <= alpha_i e_ij,
    sum_j e_ij = 1, e_ij in {0, 1} and a_ij >= 0, whole where ``whole``.

    Parameters
    ----------
    max_vms, tolerance, capacities, whole, spanning
        As for :func:`book.virtual_cluster.oracle.exact_optimum`; ``spanning`` leaves out the e_ij.
    seconds, nodes : optional
        Limits.

    Returns
    -------
    Solved or None
        None where the minima do not fit.

    Raises
    ------
    InvalidInput, FairbookError
        The latter where HiGHS does not solve the program, or only by overfilling a cluster.

    Notes
    -----
    2 n H + 1 variables. Slow: 13 users on 5 clusters may take minutes.

    Examples
    --------
    >>> found = milp([4, 4, 4], "1/2", [6, 5])
    >>> str(found.level), round(found.bound, 6), found.proved
    ('3/4', 0.75, True)
    """
    case = as_case(max_vms, tolerance, capacities, whole)
    n, H = case.n, case.H
    alpha = np.array([float(x) for x in case.wanted])
    least = np.array([float(x) for x in case.minimum])
    room = np.array([float(x) for x in case.capacities])
    pairs, none = n * H, sparse.csr_array((n, n * H))
    of_user = sparse.kron(sparse.eye_array(n), np.ones((1, H)), format="csr")
    of_cluster = sparse.kron(np.ones((1, n)), sparse.eye_array(H), format="csr")
    column = sparse.csr_array(-alpha[:, None])
    rows = [
        (sparse.hstack([of_user, none, column]), np.zeros(n), np.full(n, np.inf)),
        (sparse.hstack([of_user, none, 0 * column]), least, alpha),
        (sparse.hstack([of_cluster, sparse.csr_array((H, pairs + 1))]), np.zeros(H), room),
    ]
    if not spanning:
        cap = sparse.diags_array(np.repeat(-alpha, H))
        rows += [
            (sparse.hstack([sparse.eye_array(pairs), cap, sparse.csr_array((pairs, 1))]), np.full(pairs, -np.inf),
             np.zeros(pairs)),
            (sparse.hstack([none, of_user, sparse.csr_array((n, 1))]), np.ones(n), np.ones(n)),
        ]
    options = {"mip_rel_gap": 0.0, **({} if seconds is None else {"time_limit": seconds}),
               **({} if nodes is None else {"node_limit": as_whole(nodes, "nodes", 1)})}
    result = solve_milp(
        np.append(np.zeros(2 * pairs), -1.0),
        integrality=np.concatenate([np.full(pairs, int(whole)), np.full(pairs, int(not spanning)), [0]]),
        bounds=Bounds(np.zeros(2 * pairs + 1), np.concatenate([np.repeat(alpha, H), np.ones(pairs + 1)])),
        constraints=[LinearConstraint(sparse.csr_array(A), low, high) for A, low, high in rows], options=options)
    if result.status == 2:
        return None
    if result.status not in (0, 1) and "limit reached" not in result.message:
        raise FairbookError(f"the program was not solved: {result.message}")
    # a program without whole numbers has no bound but its optimum
    dual = result.fun if spanning and not whole else result.mip_dual_bound
    bound = 1.0 if dual is None else min(1.0, -float(dual))
    if result.x is None:
        return Solved(None, bound, 1.0, False, None, None)
    cluster: list[int] | None = None
    if spanning:
        vms = case.share(range(n), sum(case.capacities, ZERO))
        if vms is None:
            raise FairbookError("HiGHS overfilled the pool")
        # in whole VMs too what HiGHS hands out can be cut anew, so it is its level that counts, not its table
        level = case.level(vms)
        if abs(float(level) + result.fun) > 1e-6 and result.status == 0:
            raise FairbookError("HiGHS and the sharing of the pool do not agree")
    else:
        cluster = result.x[pairs:2 * pairs].reshape(n, H).argmax(axis=1).tolist()
        found = settled(case, cluster)
        level, vms = found.level, found.vms
    gap = max(0.0, 1.0 - float(level) / bound) if bound > 0 else 0.0
    return Solved(level, bound, gap, result.status == 0, cluster, vms)


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


def _highest(case: Case, prices: Sequence[Fraction]) -> Fraction | None:
    """Give the highest level at which all users together can pay; None where they cannot pay for their minima.

    A user at level Y has at least max(alpha Y, minimum) VMs, each at the least price or more, and all VMs that there
    are cost sum_j C_j p_j. Any prices that are not negative give a true bound.
    """
    worth = sum((C * p for C, p in zip(case.capacities, prices, strict=True)), ZERO)
    least = min(prices)
    if least * sum(case.minimum) > worth:
        return None
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

    Raises
    ------
    InvalidInput, FairbookError
        The latter where HiGHS does not solve the program.

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
    alpha = np.array([float(x) for x in case.wanted])
    least = np.array([float(x) for x in case.minimum])
    of_user = sparse.kron(sparse.eye_array(n), np.ones((1, H)), format="csr")
    of_cluster = sparse.kron(np.ones((1, n)), sparse.eye_array(H), format="csr")
    zero = sparse.csr_array((n, 1))
    rows = sparse.vstack([
        sparse.hstack([of_cluster, sparse.csr_array((H, 1))]),
        sparse.hstack([-of_user, sparse.csr_array(alpha[:, None])]),
        sparse.hstack([-of_user, zero]), sparse.hstack([of_user, zero])])
    limits = np.concatenate([[float(C) for C in case.capacities], np.zeros(n), -least, alpha])
    if sum(case.minimum) > sum(case.capacities):
        return None
    result = linprog(np.append(np.zeros(n * H), -1.0), A_ub=sparse.csr_array(rows), b_ub=limits,
                     bounds=[(0, None)] * (n * H) + [(0, 1)], method="highs")
    if result.status != 0:
        raise FairbookError(f"the relaxation was not solved: {result.message}")
    found = np.maximum(-result.ineqlin.marginals[:H], 0.0)
    top = found.max()
    prices = [Fraction(float(p / top)).limit_denominator(10**6) if top > 0 else ZERO for p in found]
    upper = _highest(case, prices)
    if upper is None:
        raise FairbookError("prices prove the minima out of reach, though they fit")
    return LinearBound(-float(result.fun), upper, prices)
