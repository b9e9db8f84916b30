"""The optimum of model (4) of DMFA-SRQ, by linear programs and in exact or many-digit arithmetic."""

from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from book.common.arrivals import raised
from book.common.oracle_drf import solved
from fairbook.mechanisms.pool.dmfa_srq import dmfa_srq_rule
from fairbook.model.exact import exact_instance
from fairbook.model.inputs import FloatArray, as_demands, as_weights


def lp_levels(demands: Any, weights: Any) -> FloatArray:
    """Give M^1, ..., M^n by one fresh linear program, model (4), per arrival.

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
    The variables are M and y - before, where y_i = x_i / w_i are levels; the capacities are scaled to 1 and the
    tolerances set to 1e-10: in raw units x >= x_before ratchets the solver's error up from step to step. Accurate to
    about 1e-9. Cost: n HiGHS runs on up to n + 1 variables, seconds at n = 500.

    Examples
    --------
    >>> lp_levels([[1, 1/2], [1/2, 1], [1/2, 1]], [1/4, 1/4, 1/2]).round(6)
    array([1.      , 1.333333, 1.      ])
    """
    values = as_demands(demands).values
    amounts = as_weights(weights, len(values), scaled=False)
    rate = values * (amounts / values.max(axis=1))[:, None]
    m = values.shape[1]
    before = np.zeros(0)
    levels = np.empty(len(values))
    for k in range(1, len(values) + 1):
        before = np.append(before, 0.0)
        share = rate[:k] / amounts[:k].sum()
        objective = np.zeros(k + 1)
        objective[0] = -1.0
        pool = np.hstack([np.zeros((m, 1)), share.T])  # share.T @ (before + gain) <= 1
        lowest = np.hstack([np.ones((k, 1)), -np.eye(k)])  # M - gain_i <= before_i
        rows, right = np.vstack([pool, lowest]), np.concatenate([1.0 - before @ share, before])
        bounds = [(0, None)] * (k + 1)
        levels[k - 1] = solved(f"model (4) with {k} users", objective, rows, right, bounds).x[0]
        before = np.maximum(before, levels[k - 1])
    return levels


def _lowest(rows: Sequence[Sequence[Any]], amounts: Sequence[Any]) -> list[Any]:
    return [M for M, _ in raised([[d / max(row) for d in row] for row in rows], amounts)]


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
    rows, amounts, _, _ = exact_instance(demands, weights)
    return _lowest(rows, amounts)


def decimal_levels(demands: Any, weights: Any, digits: int = 60) -> list[Decimal]:
    """Give M^1, ..., M^n with ``digits`` significant digits: for n where fractions grow too long.

    Notes
    -----
    Cost O(n^2 m) operations; n = 500 takes seconds. Inputs are taken at the face value of their doubles.
    """
    values = as_demands(demands).values
    amounts = as_weights(weights, len(values), scaled=False)
    with localcontext() as context:
        context.prec = digits
        return _lowest([[Decimal(d) for d in row] for row in values.tolist()], [Decimal(w) for w in amounts.tolist()])


def exact_departures(
    events: Sequence[int],
    demands: Sequence[Sequence[Any]],
    weights: Sequence[Any],
    contribution: Literal["stays", "leaves"],
) -> list[list[Fraction]]:
    """Give the tasks of every user after every event by the rule, in exact fractions: users also leave.

    After each event the highest levels are lowered to the largest common level that fits, if need be, and then the
    lowest are raised to the largest common level that fits.

    Parameters
    ----------
    events : sequence of int
        A user's first mention is its arrival, the second its departure.
    demands, weights
        As for :func:`exact_levels`.
    contribution : {"stays", "leaves"}
        What happens to what a departing user brought.

    Returns
    -------
    list of lists, shape (events, n)
        0 before arrival and after departure.

    Notes
    -----
    Cost O(n^2 m) operations on fractions an event.

    Examples
    --------
    >>> [[str(x) for x in row] for row in exact_departures([0, 1, 1], [[1, "1/2"], ["1/2", 1]], [1, 1], "leaves")]
    [['1', '0'], ['4/3', '4/3'], ['1', '0']]
    """
    rows = [[Fraction(d) for d in row] for row in demands]
    amounts = [Fraction(w) for w in weights]
    run = dmfa_srq_rule(rows, weights=amounts, events=events, contribution=contribution)
    size = [w / max(row) for row, w in zip(rows, amounts, strict=True)]
    return [[levels.get(i, Fraction(0)) * x for i, x in enumerate(size)] for _, _, levels in run]
