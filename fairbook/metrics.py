"""Numbers that sum up an allocation: dominant shares, utilisation, Jain's index, envy, and their course over time.

Everything works on plain arrays, so that any code's allocation can be measured. Where an array holds
``fractions.Fraction`` (dtype object) the result is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.model import (
    DynamicAllocation,
    FloatArray,
    as_capacities,
    as_demands,
    as_weights,
    labels_or_positions,
    per_user,
)

__all__ = [
    "Run",
    "by_arrival",
    "dominant_shares",
    "envy_matrix",
    "exchange_rates",
    "jain_index",
    "levels_by_step",
    "utilisation",
]


@runtime_checkable
class Run(Protocol):
    """What can be judged as a sequence of allocations x^1, ..., x^n while users arrive.

    :class:`~fairbook.model.DynamicAllocation` is one, and so is :class:`~fairbook.properties.Trajectory`.
    """

    @property
    def demands(self) -> FloatArray:
        """Resource per task, shape (n, m), users in order of arrival."""

    @property
    def weights(self) -> FloatArray:
        """Amount of every resource that each user brought, shape (n,)."""

    def __len__(self) -> int: ...

    def tasks_at(self, k: int) -> FloatArray:
        """Tasks of the first k users after arrival k (from 1), shape (k,)."""


def _non_negative(values: Any, n: int, argument: str) -> FloatArray:
    array = per_user(values, n, None, argument)
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise InvalidInput(argument, "must be finite and not negative", array.tolist())
    return array


def dominant_shares(tasks: Any, demands: Any, capacities: Any = None) -> FloatArray:
    """Give the largest share of each user over the resources, shape (n,), without weights.

    Parameters
    ----------
    tasks : array_like, shape (n,)
    demands : array_like, shape (n, m)
        Resource per task, in the unit of ``capacities``.
    capacities : array_like, shape (m,), optional
        Positive; default ones.

    Notes
    -----
    Cost O(n m).

    References
    ----------
    Ghodsi et al., "Dominant Resource Fairness", NSDI 2011, section 4.1.

    Examples
    --------
    >>> dominant_shares([3, 2], [[1, 4], [3, 1]], [9, 18]).round(4)
    array([0.6667, 0.6667])
    """
    values = as_demands(demands).values
    pool = as_capacities(capacities, values.shape[1])
    return _non_negative(tasks, len(values), "tasks") * (values / pool).max(axis=1)


def utilisation(tasks: Any, demands: Any, capacities: Any = None) -> FloatArray:
    """Give use divided by capacity of each resource, shape (m,).

    Parameters
    ----------
    tasks, demands, capacities
        As for :func:`dominant_shares`.

    Notes
    -----
    Cost O(n m).

    Examples
    --------
    >>> utilisation([3, 2], [[1, 4], [3, 1]], [9, 18]).round(4)
    array([1.    , 0.7778])
    """
    values = as_demands(demands).values
    pool = as_capacities(capacities, values.shape[1])
    return (_non_negative(tasks, len(values), "tasks") @ values) / pool


def jain_index(values: Any) -> float:
    """Give Jain's fairness index, (sum x)^2 / (n sum x^2): 1 where all are equal, 1/n where one has everything.

    Parameters
    ----------
    values : array_like, shape (n,)
        Not negative, for instance levels or dominant shares. All zero counts as all equal.

    Notes
    -----
    Cost O(n). The values are scaled by their largest first, so nothing overflows.

    References
    ----------
    Jain, Chiu, Hawe, "A quantitative measure of fairness", DEC-TR-301, 1984.

    Examples
    --------
    >>> jain_index([1, 1, 1, 1]), jain_index([1, 0, 0, 0])
    (1.0, 0.25)
    """
    array = _non_negative(values, np.size(values), "values")
    if array.size == 0:
        raise InvalidInput("values", "must have at least one entry", array.tolist())
    largest = array.max()
    if largest == 0:
        return 1.0
    scaled = array / largest
    return float(scaled.sum() ** 2 / (array.size * (scaled @ scaled)))


def exchange_rates(demands: FloatArray) -> FloatArray:
    """Give R with R[i, h] = tasks of user i that the resources of one task of user h can run, shape (n, n).

    R[i, h] = min over the resources j that i needs of D_hj / D_ij. Works on floats and on fractions.

    Notes
    -----
    Cost O(n^2 m).

    Examples
    --------
    >>> exchange_rates(np.array([[1.0, 4.0], [3.0, 1.0]])).round(4)
    array([[1.    , 0.25  ],
           [0.3333, 1.    ]])
    """
    n, m = demands.shape
    rates: Any = np.full((n, n), np.inf, dtype=np.result_type(demands, np.float64))
    for j in range(m):
        needs = demands[:, j] > 0
        column = demands[:, j] / np.where(needs, demands[:, j], 1)[:, None]
        rates = np.minimum(rates, np.where(needs[:, None], column, np.inf))
    return rates


def envy_matrix(tasks: Any, demands: Any, weights: Any = None) -> FloatArray:
    """Give E with E[i, h] = (N_i(A_h) / w_h) / (N_i(A_i) / w_i), shape (n, n); above 1 user i envies user h.

    N_i(A_h) is the number of tasks that user i could run on what user h holds. A user who holds nothing envies
    infinitely whoever holds something useful; the diagonal is 1.

    Parameters
    ----------
    tasks : array_like, shape (n,)
    demands : array_like, shape (n, m)
    weights : array_like, shape (n,), optional
        Positive; only their ratios matter. Default: equal.

    Notes
    -----
    Cost O(n^2 m).

    Examples
    --------
    >>> envy_matrix([3, 2], [[1, 4], [3, 1]]).round(4)
    array([[1.    , 0.1667],
           [0.5   , 1.    ]])
    """
    values = as_demands(demands).values
    n = len(values)
    per_weight = _non_negative(tasks, n, "tasks") / as_weights(weights, n)
    other = exchange_rates(values) * per_weight
    own = np.broadcast_to(per_weight[:, None], (n, n))
    envy = np.where(other > 0, np.inf, 1.0)
    np.divide(other, own, out=envy, where=own > 0)
    np.fill_diagonal(envy, 1.0)
    return envy


# ------------------------------------------------------------------------------------------------- over time


def largest_demands(run: Run) -> FloatArray:
    """Largest demand of each user, shape (n,)."""
    largest = run.demands[:, 0].copy()
    for j in range(1, run.demands.shape[1]):
        largest = np.maximum(largest, run.demands[:, j])
    return largest


def check_steps(run: Run, steps: Iterable[int] | None) -> NDArray[np.int64]:
    """Give the steps as an increasing array of numbers from 1 to n; None means all of them."""
    n = len(run)
    if steps is None:
        return np.arange(1, n + 1)
    chosen = list(steps)
    for k in chosen:
        if isinstance(k, (bool, float)) or not 1 <= k <= n:
            raise InvalidInput("steps", f"must be whole numbers from 1 to {n}", k)
    if not chosen:
        raise InvalidInput("steps", "must name at least one arrival", chosen)
    return np.unique(np.asarray(chosen, dtype=np.int64))


def levels_by_step(run: Run, steps: Iterable[int] | None = None) -> FloatArray:
    """Give the level of each user after each of the steps, shape (number of steps, n), 0 for who is not there yet.

    Parameters
    ----------
    run : Run
        Any sequence of allocations.
    steps : iterable of int, optional
        Arrivals, from 1; default all. Sorted, each once.

    Notes
    -----
    Cost and memory O(s n) for s steps, and s calls of ``tasks_at`` where the run is not a plain DynamicAllocation.

    Examples
    --------
    >>> import fairbook as fb
    >>> r = fb.dmfa_srq([[1, 1/2], [1/2, 1], [1/2, 1]], [1/4, 1/4, 1/2])
    >>> levels_by_step(r).round(4)
    array([[1.    , 0.    , 0.    ],
           [1.3333, 1.3333, 0.    ],
           [1.3333, 1.3333, 1.    ]])
    """
    return level_rows(run, check_steps(run, steps))


def level_rows(run: Run, ks: NDArray[np.int64]) -> FloatArray:
    """Do the work of :func:`levels_by_step` for steps already checked."""
    n = len(run)
    if type(run) is DynamicAllocation and (len(ks) == 1 or ks[-1] - ks[0] == len(ks) - 1):
        # the level of user i after arrival k is max(M^i, ..., M^k): a running maximum down the columns
        rows = np.where(np.arange(1, n + 1) <= ks[:, None], run.levels[ks - 1][:, None], 0.0)
        if run.irrevocable:
            rows[0, : ks[0]] = run.levels_at(int(ks[0]))
            np.maximum.accumulate(rows, axis=0, out=rows)
        return rows
    table = np.zeros((len(ks), n), dtype=np.result_type(run.weights, np.float64))
    units = largest_demands(run)
    for row, k in zip(table, ks.tolist()):
        row[:k] = run.levels_at(k) if isinstance(run, DynamicAllocation) else \
            run.tasks_at(k) * units[:k] / run.weights[:k]
    return table


def level_blocks(run: Run, ks: NDArray[np.int64], width: int) -> Iterator[tuple[NDArray[np.int64], FloatArray]]:
    """Walk through the steps in blocks that keep ``width`` numbers a step under about 2 million."""
    size = max(1, 2_000_000 // max(width, 1))
    for start in range(0, len(ks), size):
        block = ks[start : start + size]
        yield block, level_rows(run, block)


def by_arrival(run: Run, steps: Iterable[int] | None = None) -> pd.DataFrame:
    """Give the course of a run: one row a step with what Figures 5 to 8 of Zhang et al. 2016 plot.

    Parameters
    ----------
    run : Run
        In floats.
    steps : iterable of int, optional
        Arrivals, from 1; default all.

    Returns
    -------
    DataFrame
        Index ``users_present`` = k. ``min_level`` = min_i x_i^k / w_i, ``sum_shares`` = sum_i x_i^k,
        ``jain_levels`` (Jain's index of the levels), and ``utilisation_<resource>`` = use / W_k.

    Notes
    -----
    Cost O(s n m) for s steps; memory bounded by blocks.

    Examples
    --------
    >>> import fairbook as fb
    >>> r = fb.dmfa_srq([[1, 1/2], [1/2, 1], [1/2, 1]], [1/4, 1/4, 1/2])
    >>> by_arrival(r).round(4)[["min_level", "sum_shares", "utilisation_0", "utilisation_1"]]
                   min_level  sum_shares  utilisation_0  utilisation_1
    users_present
    1                 1.0000      0.2500           1.00            0.5
    2                 1.3333      0.6667           1.00            1.0
    3                 1.0000      1.1667           0.75            1.0
    """
    ks = check_steps(run, steps)
    units, weights = largest_demands(run), run.weights
    pool = np.cumsum(weights)
    frames = []
    for block, levels in level_blocks(run, ks, len(run)):
        absent = np.arange(1, len(run) + 1) > block[:, None]
        shares = levels * weights
        use = shares @ (run.demands / units[:, None]) / pool[block - 1][:, None]
        lowest = np.where(absent, np.inf, levels).min(axis=1)
        jain = levels.sum(axis=1) ** 2 / (block * (levels**2).sum(axis=1))
        names = labels_or_positions(getattr(run, "named_resources", None), use.shape[1])
        frame = pd.DataFrame({"min_level": lowest, "sum_shares": shares.sum(axis=1), "jain_levels": jain},
                             index=pd.Index(block, name="users_present"))
        for name, column in zip(names, use.T):
            frame[f"utilisation_{name}"] = column
        frames.append(frame)
    return pd.concat(frames)
