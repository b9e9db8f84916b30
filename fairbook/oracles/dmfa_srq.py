"""The optimum of model (4) of DMFA-SRQ, by linear programs and in exact or many-digit arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog

from fairbook.errors import FairbookError
from fairbook.model import FloatArray, as_demands, as_weights

__all__ = ["decimal_levels", "exact_levels", "lp_levels", "lp_step"]


def lp_step(rate: FloatArray, before: FloatArray, capacity: float) -> tuple[float, FloatArray]:
    """Solve model (4) for one arrival as a linear program, in level variables y_i = x_i / w_i.

    Parameters
    ----------
    rate : ndarray, shape (k, m)
        w_i d_ij, with d normalised to a largest entry of 1.
    before : ndarray, shape (k,)
        Levels before the arrival; 0 for the newcomer.
    capacity : float
        W_k.

    Returns
    -------
    M, y : float, ndarray of shape (k,)
        The optimum and the solver's levels. With zero demands y is one optimum of many.

    Notes
    -----
    The variables are M and y - before, the capacities are scaled to 1 and the tolerances set to 1e-10: in raw
    units x >= x_before ratchets the solver's error up from step to step. Cost: one HiGHS run.
    """
    k, m = rate.shape
    objective = np.zeros(k + 1)
    objective[0] = -1.0
    share = rate / capacity
    pool = np.hstack([np.zeros((m, 1)), share.T])  # share.T @ (before + gain) <= 1
    lowest = np.hstack([np.ones((k, 1)), -np.eye(k)])  # M - gain_i <= before_i
    result = linprog(
        objective, A_ub=np.vstack([pool, lowest]), b_ub=np.concatenate([1.0 - before @ share, before]),
        bounds=[(0, None)] * (k + 1), method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "presolve": True},
    )
    if result.status != 0:
        raise FairbookError(f"HiGHS did not solve model (4) with {k} users: {result.message}")
    return float(result.x[0]), before + result.x[1:]


def lp_levels(demands: Any, weights: Any) -> FloatArray:
    """Give M^1, ..., M^n by one fresh linear program per arrival.

    Parameters
    ----------
    demands : array_like, shape (n, m)
    weights : array_like, shape (n,)
        As for ``fairbook.dmfa_srq``.

    Returns
    -------
    ndarray, shape (n,)

    Notes
    -----
    Accurate to about 1e-9. Cost: n HiGHS runs on up to n + 1 variables, seconds at n = 500.

    Examples
    --------
    >>> lp_levels([[1, 1/2], [1/2, 1], [1/2, 1]], [1/4, 1/4, 1/2]).round(6)
    array([1.      , 1.333333, 1.      ])
    """
    values = as_demands(demands).values
    amounts = as_weights(weights, len(values), contributed=True)
    rate = values * (amounts / values.max(axis=1))[:, None]
    before = np.zeros(0)
    levels = np.empty(len(values))
    for k in range(1, len(values) + 1):
        before = np.append(before, 0.0)
        levels[k - 1], _ = lp_step(rate[:k], before, float(amounts[:k].sum()))
        before = np.maximum(before, levels[k - 1])
    return levels


def _levels(rows: Sequence[Sequence[Any]], amounts: Sequence[Any], number: Callable[[Any], Any]) -> list[Any]:
    """M^k as the smallest over the resources of the level at which that resource alone would run out.

    With y the levels before, the use of resource j, sum_i a_ij max(M, y_i), is convex, piecewise linear and not
    decreasing in M; it is inverted by walking up its corners.
    """
    m = len(rows[0])
    rates: list[list[Any]] = []
    levels: list[Any] = []
    found: list[Any] = []
    capacity = number(0)
    for row, amount in zip(rows, amounts, strict=True):
        largest = max(row)
        rates.append([amount * d / largest for d in row])
        levels.append(number(0))
        capacity += amount
        order = sorted(range(len(levels)), key=levels.__getitem__)
        best = None
        for j in range(m):
            held = sum((rates[i][j] * levels[i] for i in order), number(0))
            slope = number(0)
            height = number(0)
            for place, i in enumerate(order):
                slope += rates[i][j]
                end = levels[order[place + 1]] if place + 1 < len(order) else None
                if slope > 0 and (end is None or held + slope * (end - levels[i]) >= capacity):
                    height = levels[i] + (capacity - held) / slope
                    if best is None or height < best:
                        best = height
                    break
                if end is not None:
                    held += slope * (end - levels[i])
        assert best is not None  # some resource is needed by someone
        levels = [max(level, best) for level in levels]
        found.append(best)
    return found


def exact_levels(demands: Sequence[Sequence[Any]], weights: Sequence[Any]) -> list[Fraction]:
    """Give M^1, ..., M^n in exact fractions, from the definition and not by the engine's steps.

    Parameters
    ----------
    demands : sequence of sequences, shape (n, m)
    weights : sequence, shape (n,)
        Anything ``fractions.Fraction`` takes; floats count at face value.

    Notes
    -----
    Cost O(n^2 m) operations on fractions whose digits grow with n: for n up to about 50.

    Examples
    --------
    >>> [str(M) for M in exact_levels([["1", "1/2"], ["1/2", "1"]], ["1/4", "1/4"])]
    ['1', '4/3']
    """
    return _levels([[Fraction(d) for d in row] for row in demands], [Fraction(w) for w in weights], Fraction)


def decimal_levels(demands: Any, weights: Any, digits: int = 60) -> list[Decimal]:
    """Give M^1, ..., M^n with ``digits`` significant digits: for n where fractions grow too long.

    Notes
    -----
    Cost O(n^2 m) operations; n = 500 takes seconds. Inputs are taken at the face value of their doubles.
    """
    values = as_demands(demands).values
    amounts = as_weights(weights, len(values), contributed=True)
    with localcontext() as context:
        context.prec = digits
        return _levels([[Decimal(d) for d in row] for row in values.tolist()],
                       [Decimal(w) for w in amounts.tolist()], Decimal)
