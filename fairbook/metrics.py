"""Numbers that sum up an allocation: dominant shares, utilisation, fairness measures, envy, their course over time.

Everything works on plain arrays, so that any code's allocation can be measured; Series and frames are matched by name,
as mechanisms do it. A ruler takes what a mechanism refuses: users that need nothing, resources of which there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    as_floats,
    as_number,
    as_weights,
    as_whole,
    check_amounts,
    check_demands,
    demand_matrix,
    in_words,
    labels_of,
    order_of,
    per_resource,
    per_user,
    raise_at_first,
)

__all__ = [
    "Run",
    "dominant_shares",
    "envy_matrix",
    "exchange_rates",
    "jain_index",
    "joe_wong_fairness",
    "lan_fairness",
    "placement_fairness",
    "relative_utilisation",
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


def _non_negative(values: Any, n: int, argument: str, users: Names | None = None) -> FloatArray:
    array = per_user(values, n, users, argument)
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise InvalidInput(argument, "must be finite and not negative", array.tolist())
    return array


def _vector(values: Any, argument: str) -> FloatArray:
    count = len(as_floats(values, argument, (1,), "must have shape (n,)"))
    if not count:
        raise InvalidInput(argument, "must have at least one entry", [])
    return _non_negative(values, count, argument)


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
    infinitely whoever holds something useful, and a user who needs nothing envies nobody: 0. The diagonal is 1.

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


# -------------------------------------------------------------------------------------------- families of measures


def lan_fairness(values: Any, beta: float) -> float:
    """Give the fairness measure of Lan et al., sgn(1 - beta) (sum_i p_i^(1 - beta))^(1 / beta) with p_i = x_i / sum x.

    At every beta it is largest where all are equal: n for beta < 1 and -n for beta > 1.

    Parameters
    ----------
    values : array_like, shape (n,)
        Not negative, in any unit: only their ratios matter. A zero adds nothing for beta < 1 and makes the measure
        minus infinite for beta > 1. All zero counts as all equal.
    beta : float
        Any real number but 1, or an infinity. The larger beta, the more the worst off count. Limits stand in where
        the formula has none: at 0 the exponential of the entropy of p, at inf -1 / min p, at -inf 1 / max p.

    Returns
    -------
    float
        From 1 to n for beta < 1, at most -n for beta > 1.

    Raises
    ------
    InvalidInput
        At beta = 1 as well. There the measure jumps, from n to -n where all values are positive: just below 1 it
        counts the positive values, just above it is minus their number, or minus infinity if some value is zero. (The
        formula as printed, with sgn(0), gives 0.)

    Notes
    -----
    Cost O(n). Computed in logarithms, so that neither tiny shares nor a beta near 0, near 1 or far away do harm.
    At beta = -1 it is n times :func:`jain_index`.

    References
    ----------
    Lan, Kao, Chiang, Sabharwal, "An axiomatic theory of fairness in network resource allocation", INFOCOM 2010.

    Examples
    --------
    >>> round(lan_fairness([3, 1], -1), 6), round(2 * jain_index([3, 1]), 6)
    (1.6, 1.6)
    >>> [round(lan_fairness([3, 1], beta), 4) for beta in (-np.inf, 0, 0.5, 2, np.inf)]
    [1.3333, 1.7548, 1.866, -2.3094, -4.0]
    >>> lan_fairness([3, 1], 1)
    Traceback (most recent call last):
        ...
    fairbook.errors.InvalidInput: beta must not be 1, where the measure jumps, got 1.0
    """
    return _lan(_vector(values, "values"), beta)


def _lan(values: FloatArray, beta: Any) -> float:
    b = float(as_floats(beta, "beta", (0,), "must be one number").item())
    if np.isnan(b):
        raise InvalidInput("beta", "must be a number or infinite", b)
    if b == 1:
        raise InvalidInput("beta", "must not be 1, where the measure jumps", b)
    used = values[values > 0] if values.any() else np.ones_like(values)
    if b > 1 and used.size < values.size:
        return -np.inf
    logs = np.log(used)  # of the shares p, once their sum is taken away
    logs -= logs.max()
    logs -= np.log(np.exp(logs).sum())
    if np.isinf(b):
        log = -logs.max() if b < 0 else -logs.min()
    elif abs(b) < 0.1:  # sum p^(1-b) = 1 + sum p (exp(-b log p) - 1), since the shares sum to 1
        log = np.log1p(np.exp(logs) @ np.expm1(-b * logs)) / b if abs(b) > 1e-30 else -np.exp(logs) @ logs
    else:
        top = logs.max() if b < 1 else logs.min()
        log = (1 - b) / b * top + np.log(np.exp((1 - b) * (logs - top)).sum()) / b
    return float(np.copysign(np.exp(log), 1 - b))


def joe_wong_fairness(dominant_shares: Any, beta: float, lam: float) -> float:
    """Give the measure of fairness and efficiency of Joe-Wong et al.: Lan's measure times (sum of the shares)^lam.

    GDRF (gdrf), equation 7, with dominant_shares[j] = mu_j x_j.

    Parameters
    ----------
    dominant_shares : array_like, shape (n,)
        Dominant share of each user with all its tasks, not negative; see :func:`lan_fairness` for zeros.
    beta : float
        Kind of fairness: any real number but 1, or an infinity.
    lam : float
        Weight of efficiency, finite, at most 1e75 either way. 0 leaves :func:`lan_fairness`.

    Returns
    -------
    float
        Negative for beta > 1.

    Raises
    ------
    InvalidInput
        At beta = 1 as well: see :func:`lan_fairness`.

    Notes
    -----
    Cost O(n). For beta > 0 and lam = (1 - beta) / beta it orders allocations as the alpha-fair utility with
    alpha = beta does, since its absolute value is then (sum_j (mu_j x_j)^(1 - beta))^(1 / beta). With lam fixed its
    limits at beta = 1 depend, among positive shares, on nothing but their number and their sum. Where nobody has
    anything the factor is 0 for lam > 0, 1 for lam = 0 and infinite for lam < 0.

    References
    ----------
    Joe-Wong, Sen, Lan, Chiang, "Multi-resource allocation: fairness-efficiency tradeoffs in a unifying framework",
    INFOCOM 2012; GDRF paper, equation 7.

    Examples
    --------
    >>> round(joe_wong_fairness([0.3, 0.1], beta=2, lam=-0.5), 4), round(-(1 / 0.3 + 1 / 0.1) ** (1 / 2), 4)
    (-3.6515, -3.6515)
    """
    power = as_number(lam, "lam", -LARGEST, LARGEST)
    shares = _vector(dominant_shares, "dominant_shares")
    with np.errstate(divide="ignore", over="ignore"):
        return float(_lan(shares, beta) * shares.sum() ** power)


# ------------------------------------------------------------------------------------------------- over machines


def _use_and_room(used: Any, capacities: Any) -> tuple[FloatArray, FloatArray]:
    """Check what machines hold and have, both of shape (N, m), matched by name where both have names."""
    with in_words(("n users", "N machines"), ("one user", "one machine")):
        room, use = demand_matrix(capacities, "capacities"), demand_matrix(used, "used")
    if use.values.shape != room.values.shape:
        raise InvalidInput("used", f"must have the shape of capacities, {room.values.shape}", use.values.shape)
    check_demands(room.values, "capacities")
    check_amounts(use.values, "used")
    values = use.values
    for axis, (mine, wanted, what) in enumerate(
        ((use.users, room.users, "machines"), (use.resources, room.resources, "resources"))
    ):
        order = order_of(mine, wanted, "used.columns" if axis else "used.index", what)
        if order is not None:
            values = values.take(order, axis=axis)
    raise_at_first(
        (values > 0) & (room.values == 0), "used", "must be 0 where the machine has none of the resource", values
    )
    return values, room.values


def relative_utilisation(used: Any, capacities: Any) -> FloatArray:
    """Give the relative utilisation of each machine, ``w_j = sum_r C_jr eta_jr / sum_r C_jr``, shape (N,).

    GDRF (gdrf), equations 4 and 5: the exponent in :func:`placement_fairness`. The paper adds up amounts of different
    resources, so the value depends on their units. It equals ``sum_r O_jr / sum_r C_jr``: all in use over all there is.

    Parameters
    ----------
    used : array_like or DataFrame, shape (N, m)
        Resource in use on each machine, in the unit of ``capacities``; not negative. It may exceed the capacity: an
        overdrawn machine has a utilisation above 1.
    capacities : array_like or DataFrame, shape (N, m)
        Not negative, some of at least one resource each. A resource that the machine has none of adds nothing.

    Returns
    -------
    ndarray, shape (N,)
        In [0, 1] unless the machine is overdrawn.

    Raises
    ------
    InvalidInput
        Also where a machine uses what it does not have at all.

    Notes
    -----
    Cost O(N m).

    References
    ----------
    GDRF paper, equations 4 and 5.

    Examples
    --------
    >>> relative_utilisation([[2, 4], [1, 0]], [[4, 12], [2, 0]])
    array([0.375, 0.5  ])
    """
    use, room = _use_and_room(used, capacities)
    parts = room / room.sum(axis=1, keepdims=True)
    w: FloatArray = (parts * use / np.where(room > 0, room, 1.0)).sum(axis=1)
    return w


def placement_fairness(shares_placed: Any, w: Any, k: Any = 1.0) -> Any:
    """Give the placement fairness of machines, f = k s^w, entry by entry.

    GDRF (gdrf), equation 8, with s = sum_i mu_i* v_i: the dominant shares, in the whole pool, of all that is placed on
    the machine. An empty machine has s = w = 0 and by 0 ** 0 = 1 the value k, which for s <= 1 is the largest there is.

    Parameters
    ----------
    shares_placed : array_like, Series or DataFrame, shape (N,), up to two dimensions
        s of each machine; not negative.
    w : array_like, Series or DataFrame, shape (N,), up to two dimensions
        Utilisation of each machine, as :func:`relative_utilisation` gives it; not negative.
    k : array_like, Series or DataFrame, shape (N,), default 1
        The constant of the paper, which it leaves open; or one number a machine, such as the number of users on it.

    Returns
    -------
    float or ndarray
        In the shape to which the three broadcast.

    Notes
    -----
    Cost O(N).

    References
    ----------
    GDRF paper, equation 8.

    Examples
    --------
    >>> placement_fairness([0, 0.01, 0.25], [0, 0.25, 0.5]).round(4)
    array([1.    , 0.3162, 0.5   ])
    """
    arrays: list[FloatArray] = []
    names: dict[int, Names] = {}
    for values, argument in ((shares_placed, "shares_placed"), (w, "w"), (k, "k")):
        array = as_floats(values, argument, (0, 1, 2), "must hold numbers, in at most two dimensions")
        # numpy broadcasts from the last axis on, and so the names are matched
        for axis, index in enumerate(values.axes[::-1] if isinstance(values, (pd.Series, pd.DataFrame)) else (), 1):
            labels = labels_of(index, argument)
            order = order_of(labels, names.setdefault(axis, labels), argument, "machines")
            array = array if order is None else array.take(order, axis=-axis)
        arrays.append(array)
    s, exponent, factor = arrays
    for values, argument in ((s, "shares_placed"), (exponent, "w")):
        raise_at_first(~np.isfinite(values) | (values < 0), argument, "must be finite and not negative", values)
    raise_at_first(~np.isfinite(factor), "k", "must be finite", factor)
    try:
        shape = np.broadcast_shapes(s.shape, exponent.shape, factor.shape)
    except ValueError:
        raise InvalidInput(
            "shares_placed, w, k", "must broadcast together", [s.shape, exponent.shape, factor.shape]
        ) from None
    f = factor * s**exponent  # numpy's 0.0 ** 0.0 is 1
    return f if shape else float(f)


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

    Steps are checked, sorted, each once. Cost and memory O(s n) for s steps, and s calls of ``tasks_at`` where the run
    is not a plain DynamicAllocation.
    """
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
