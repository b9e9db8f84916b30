"""Numbers that sum up an allocation: dominant shares, utilisation, fairness measures, envy, their course over time.

Everything works on plain arrays, so that any code's allocation can be measured; Series and frames are matched by name,
as mechanisms do it. A ruler takes what a mechanism refuses: users that need nothing, resources of which there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.model.dynamic import DynamicAllocation
from fairbook.model.inputs import (
    LARGEST,
    SMALLEST,
    FloatArray,
    Named,
    Names,
    as_capacities,
    as_floats,
    as_max_tasks,
    as_weights,
    as_whole,
    check_amounts,
    demand_matrix,
    in_order,
    per_resource,
    per_user,
    raise_at_first,
)
from fairbook.model.names import in_pandas
from fairbook.model.result import labelled, labels_or_positions

__all__ = [
    "Run",
    "against_now",
    "dominant_shares",
    "envy_matrix",
    "exchange_rates",
    "jain_index",
    "utilisation",
]


def __dir__() -> list[str]:
    return sorted(__all__)


SAME = 1e-9  # shares and tasks that differ by no more than this part are the same


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


def _non_negative(values: Any, n: int, argument: str, users: Names | None = None) -> FloatArray:
    array = per_user(values, n, users, argument)
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise InvalidInput(argument, "must be finite and not negative", array.tolist())
    return array


def _vector(values: Any, argument: str) -> FloatArray:
    array = as_floats(in_pandas(values, argument), argument, (1,), "must have shape (n,)")
    if not len(array):
        raise InvalidInput(argument, "must have at least one entry", [])
    return _non_negative(array, len(array), argument)


def _held(tasks: Any, demands: Any) -> tuple[FloatArray, Named]:
    """Check tasks and what each needs, matched by name; who needs nothing is welcome."""
    named = demand_matrix(demands)
    check_amounts(named.values, "demands")
    array = _non_negative(tasks, len(named.values), "tasks", named.users)
    most = LARGEST / SMALLEST  # no mechanism gives more, and what more would use may not fit a double
    raise_at_first(array > most, "tasks", f"must be at most {most:g}", array)
    return array, named


def _shares(tasks: Any, demands: Any, capacities: Any) -> tuple[FloatArray, FloatArray]:
    """Give tasks, and the part of each capacity that one task takes: 0 of what is not there and nobody has."""
    held, named = _held(tasks, demands)
    m = named.values.shape[1]
    pool = np.ones(m) if capacities is None else per_resource(capacities, m, named.resources, "capacities")
    check_amounts(pool, "capacities")
    none = pool == 0
    raise_at_first(
        (named.values > 0) & (held[:, None] > 0) & none,
        "demands",
        "must be 0 where a user has tasks and there is none of the resource",
        named.values,
    )
    return held, np.where(none, 0.0, named.values) / np.where(none, 1.0, pool)


def dominant_shares(tasks: Any, demands: Any, capacities: Any = None) -> FloatArray:
    """Give the largest share of each user over the resources, shape (n,), without weights.

    Parameters
    ----------
    tasks : array_like or Series, shape (n,)
    demands : array_like or DataFrame, shape (n, m)
        Resource per task, in the unit of ``capacities``; zero, or in [1e-75, 1e75]. A row of zeros needs nothing.
    capacities : array_like or Series, shape (m,), optional
        As demands are; default ones. Of what there is none nobody may hold any, and its share is 0.

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
    held, share = _shares(tasks, demands, capacities)
    return held * share.max(axis=1)


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
    held, share = _shares(tasks, demands, capacities)
    return held @ share


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
    array = _vector(values, "values")
    largest = array.max()
    if largest == 0:
        return 1.0
    scaled = array / largest
    return float(scaled.sum() ** 2 / (array.size * (scaled @ scaled)))


def exchange_rates(demands: Any) -> FloatArray:
    """Give R with R[i, h] = tasks of user i that the resources of one task of user h can run, shape (n, n).

    R[i, h] = min over the resources j that i needs of D_hj / D_ij; infinite where i needs none. An array of
    fractions gives fractions.

    Parameters
    ----------
    demands : array_like or DataFrame, shape (n, m)
        Resource per task.

    Notes
    -----
    Cost O(n^2 m).

    Examples
    --------
    >>> exchange_rates([[1, 4], [3, 1]]).round(4)
    array([[1.    , 0.25  ],
           [0.3333, 1.    ]])
    """
    objects = isinstance(demands, np.ndarray) and demands.dtype.kind == "O"
    if not (objects and any(isinstance(one, Fraction) for one in demands.flat)):
        demands = demand_matrix(demands).values
        check_amounts(demands, "demands")
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
    infinitely whoever holds something useful, and nobody else: 1. A user who needs nothing envies nobody: 0. The
    diagonal is 1.

    Parameters
    ----------
    tasks, demands
        As for :func:`dominant_shares`.
    weights : array_like or Series, shape (n,), optional
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
    held, named = _held(tasks, demands)
    n = len(held)
    per_weight = held / as_weights(weights, n, named.users)
    idle = named.values.max(axis=1) == 0
    other = np.where(idle[:, None], 0.0, exchange_rates(named.values)) * per_weight
    own = np.broadcast_to(per_weight[:, None], (n, n))
    envy = np.where(other > 0, np.inf, 1.0)
    np.divide(other, own, out=envy, where=own > 0)
    envy[idle] = 0.0
    np.fill_diagonal(envy, 1.0)
    return envy


def against_now(
    held: Any, fair: Any, demands: Any, capacities: Any = None, *, weights: Any = None, max_tasks: Any = None
) -> pd.DataFrame:
    """Compare what users hold now with their fair shares: who is below, who above, and who envies whom.

    A user envies another where it could run more of its tasks, up to its bound, on what the other holds, scaled by
    their weights.

    Parameters
    ----------
    held : array_like or DataFrame, shape (n, m)
        Resources that each user holds, in the unit of ``capacities``.
    fair : array_like or Series, shape (n,)
        Dominant shares, for instance those of a result.
    demands, capacities
        As for :func:`dominant_shares`; capacities positive.
    weights : array_like or Series, shape (n,), optional
        Positive; only their ratios matter. Default: equal.
    max_tasks : array_like or Series, shape (n,), optional
        Bound on the tasks of each user. Default: no bounds.

    Returns
    -------
    DataFrame
        A row a user: ``share now``, ``fair share``, ``difference`` (0 where both are the same to 1e-9) and ``envies``,
        the user that it envies most, or an empty text.

    Notes
    -----
    Cost O(n^2 m).

    Examples
    --------
    >>> against_now([[8], [0]], [0.5, 0.5], [[1], [1]], [8])
          share now  fair share  difference envies
    user
    0           1.0         0.5        -0.5
    1           0.0         0.5         0.5      0
    """
    named = demand_matrix(held, "held")
    has, (n, m) = named.values, named.values.shape
    check_amounts(has, "held")
    asked = in_order(demand_matrix(demands), named.users, named.resources, "demands")
    if asked.shape != (n, m):
        raise InvalidInput("demands", f"must have shape ({n}, {m})", asked.shape)
    check_amounts(asked, "demands")
    now = (has / as_capacities(capacities, m, named.resources)).max(axis=1)
    then = _non_negative(fair, n, "fair", named.users)
    parts, most = as_weights(weights, n, named.users), as_max_tasks(max_tasks, n, named.users)
    users, envies = labels_or_positions(named.users, n), list[Any]()
    for i, needs in enumerate(asked > 0):
        could = (has[:, needs] / asked[i, needs]).min(axis=1, initial=np.inf)  # on what each other holds
        could = np.minimum(could * (parts[i] / parts), most[i])
        envies.append(users[could.argmax()] if could.max() > could[i] * (1 + SAME) else "")
    differ = np.where(np.abs(then - now) > SAME * np.maximum(then, now), then - now, 0.0)
    told = {"share now": now, "fair share": then, "difference": differ, "envies": envies}
    return pd.DataFrame(told, labelled(users, "user"))


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
    if not isinstance(steps, Iterable):
        raise InvalidInput("steps", f"must be whole numbers from 1 to {n}", steps)
    chosen = [as_whole(k, "steps", 1, n) for k in steps]
    if not chosen:
        raise InvalidInput("steps", "must name at least one arrival", chosen)
    return np.unique(np.array(chosen, dtype=np.int64))


def level_rows(run: Run, ks: NDArray[np.int64]) -> FloatArray:
    """Give the level of each user after each of the steps, shape (number of steps, n), 0 for who is not there yet.

    The steps are those of :func:`check_steps`. Cost and memory O(s n) for s steps, and s calls of ``tasks_at`` or
    ``levels_at``, but for a plain DynamicAllocation at steps without a gap.
    """
    n = len(run)
    if type(run) is DynamicAllocation and (len(ks) == 1 or ks[-1] - ks[0] == len(ks) - 1):
        # the level of user i after arrival k is max(M^i, ..., M^k): a running maximum down the columns
        rows = np.where(np.arange(1, n + 1) <= ks[:, None], run.lowest[ks - 1][:, None], 0.0)
        if run.irrevocable:
            rows[0, : ks[0]] = run.levels_at(int(ks[0]))
            np.maximum.accumulate(rows, axis=0, out=rows)
        return rows
    table = np.zeros((len(ks), n), dtype=np.result_type(run.weights, np.float64))
    units = largest_demands(run)
    for row, k in zip(table, ks.tolist()):
        row[:k] = (
            run.levels_at(k) if isinstance(run, DynamicAllocation) else run.tasks_at(k) * units[:k] / run.weights[:k]
        )
    return table


def level_blocks(run: Run, ks: NDArray[np.int64], width: int) -> Iterator[tuple[NDArray[np.int64], FloatArray]]:
    """Walk through the steps in blocks that keep ``width`` numbers a step under about 2 million."""
    size = max(1, 2_000_000 // max(width, 1))
    for start in range(0, len(ks), size):
        block = ks[start : start + size]
        yield block, level_rows(run, block)
