"""The lexicographic max-min optimum behind DRF, by linear programs and in exact fractions."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog

from fairbook.errors import FairbookError
from fairbook.mechanisms.pool.drf import drf_rule
from fairbook.model.exact import exact_instance
from fairbook.model.inputs import FloatArray, as_capacities, as_demands, as_max_tasks, as_weights


def solved(what: str, cost: FloatArray, rows: Any, right: FloatArray, bounds: Any) -> Any:
    """Minimise cost x over rows x <= right by HiGHS, to 1e-10; FairbookError where it does not solve it.

    Parameters
    ----------
    what : str
        The program, for the error.
    cost, rows, right, bounds
        As for ``scipy.optimize.linprog``.
    """
    result = linprog(
        cost,
        A_ub=rows,
        b_ub=right,
        bounds=bounds,
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.status != 0:
        raise FairbookError(f"HiGHS did not solve {what}: {result.message}")
    return result


def leximin_tasks(demands: Any, weights: Any = None, capacities: Any = None, max_tasks: Any = None) -> FloatArray:
    """Give the tasks of the lexicographic max-min optimum of the levels, by a sequence of linear programs.

    Each round maximises the smallest level of the users not yet fixed, then asks for each of them whether
    it could stand higher while nobody falls; those who could not are fixed.

    Parameters
    ----------
    demands, weights, capacities, max_tasks
        As for ``fairbook.drf``, weights of shape (n,).

    Returns
    -------
    ndarray, shape (n,)

    Notes
    -----
    Cost: up to n rounds of up to n + 1 HiGHS runs; for n up to about 30. Accurate to about 1e-7.

    Examples
    --------
    >>> leximin_tasks([[1, 4], [3, 1]], capacities=[9, 18]).round(6)
    array([3., 2.])
    """
    values = as_demands(demands).values
    n, m = values.shape
    share = values / as_capacities(capacities, m)
    rate = as_weights(weights, n) / share.max(axis=1)  # tasks per unit of level
    cap = as_max_tasks(max_tasks, n) / rate
    need = share * rate[:, None]
    scale = 1.0 / need.sum(axis=0).max()  # a level that is surely feasible: solve in units of it
    need, cap = need * scale, cap / scale
    lower = np.zeros(n)
    fixed = np.zeros(n, dtype=bool)

    def solve(objective: FloatArray, rows: FloatArray, right: FloatArray, low: FloatArray) -> FloatArray:
        bounds = [(0.0, None)] + [(lo, None if np.isinf(hi) else max(hi, lo)) for lo, hi in zip(low, cap, strict=True)]
        return np.asarray(solved("the leximin program", -objective, rows, right, bounds).x)

    pool = np.hstack([np.zeros((m, 1)), need.T])
    while not fixed.all():
        free = np.flatnonzero(~fixed)
        above = np.zeros((len(free), n + 1))
        above[:, 0] = 1.0
        above[np.arange(len(free)), free + 1] = -1.0
        target = np.eye(n + 1)[0]
        best = solve(target, np.vstack([pool, above]), np.concatenate([np.ones(m), np.zeros(len(free))]), lower)[0]
        lower[free] = best * (1 - 1e-9)
        stuck = [
            i for i in free if solve(np.eye(n + 1)[i + 1], pool, np.ones(m), lower)[i + 1] <= best * (1 + 1e-6) + 1e-9
        ]
        if not stuck:
            raise FairbookError("the leximin program fixed nobody in a round: tolerances too tight for this input")
        fixed[stuck] = True
    return lower * scale * rate


def exact_tasks(
    demands: Sequence[Sequence[Any]],
    weights: Sequence[Any] | None = None,
    capacities: Sequence[Any] | None = None,
    max_tasks: Sequence[Any] | None = None,
) -> list[Fraction]:
    """Give the tasks of the lexicographic max-min optimum in exact fractions, by the rule itself.

    Parameters
    ----------
    demands, weights, capacities
        As for ``fairbook.drf``; anything ``fractions.Fraction`` takes.
    max_tasks : sequence, optional
        ``None`` as an entry means no bound.

    Notes
    -----
    Cost O(n m^2) operations on fractions.

    Examples
    --------
    >>> [str(x) for x in exact_tasks([[1, 4], [3, 1]], capacities=[9, 18])]
    ['3', '2']
    """
    rows, amount, size, bounds = exact_instance(demands, weights, capacities, max_tasks)
    return drf_rule(rows, weights=amount, capacities=size, max_tasks=bounds)[0]
