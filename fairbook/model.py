"""What all five papers talk about: users, pools, allocations and time.

Units are the same everywhere. A *demand* is what one task needs, in the unit in which the caller counts
the resource. ``tasks @ demands`` is the resource in use, in that same unit. A *share* is a part of the
pool's capacity. A *dominant share* is a user's largest share over the resources, without weights; a *level*
is share divided by weight, and it is the levels that fair mechanisms equalise.

The functions ``as_*`` turn what callers pass (lists, arrays, pandas objects) into checked float arrays.
Mechanisms whose speed matters check inside their compiled loop and call these functions only to say what
is wrong. Everything a caller can get wrong ends in :class:`~fairbook.errors.InvalidInput`.
"""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fairbook import decimals
from fairbook.errors import FairbookError, InvalidInput

__all__ = [
    "LARGEST", "SMALLEST", "Allocation", "DynamicAllocation", "Pool", "Users", "as_capacities", "as_demands",
    "as_max_tasks", "as_weights",
]

#: Positive inputs lie between these two, so that no product or quotient of four of them (weight over the sum of
#: weights, demand over capacity) leaves the range of a double: no rate is rounded to zero or infinity.
SMALLEST, LARGEST = 1e-75, 1e75
RANGE_RULE = f"must be zero or between {SMALLEST:g} and {LARGEST:g}"
POSITIVE_RULE = f"must be between {SMALLEST:g} and {LARGEST:g}"

_MOST = 10**7  # users or resources that are only counted, not named

FloatArray = NDArray[np.float64]
Names = tuple[Hashable, ...]


class Named(NamedTuple):
    """An array with the labels it came with, or None where it came without."""

    values: FloatArray
    users: Names | None = None
    resources: Names | None = None


# ---------------------------------------------------------------------------------------------- raw arrays


def _as_floats(values: Any, argument: str, ndim: tuple[int, ...], shape_rule: str) -> FloatArray:
    """Convert to a C-contiguous float array without ever reading a string as a number."""
    rule = shape_rule if ndim == (0,) else f"must hold numbers, {shape_rule}"
    if isinstance(values, (str, bytes)):
        raise InvalidInput(argument, rule, values)
    if isinstance(values, (pd.DataFrame, pd.Series)):
        kinds = values.dtypes if isinstance(values, pd.DataFrame) else [values.dtype]
        if any(isinstance(kind, (pd.CategoricalDtype, pd.BooleanDtype)) or kind == np.dtype(bool) for kind in kinds):
            raise InvalidInput(argument, "must hold numbers, neither categories nor truth values", values)
        array = values.to_numpy()
    elif isinstance(values, np.ma.MaskedArray):
        if np.ma.is_masked(values):
            raise InvalidInput(argument, "must not be masked anywhere", values)
        array = values.data
    elif number_of_dimensions(values) == 0 and not isinstance(values, (numbers.Real, Decimal, np.ndarray)):
        raise InvalidInput(argument, rule, values)
    else:
        if isinstance(values, (list, tuple)):  # numpy would read True as 1 and look through a mask
            _refuse_hidden(values, argument)
        array = np.asarray(values)
    if array.dtype.kind == "O":
        for index, entry in np.ndenumerate(array):
            if entry is pd.NA or entry is None:
                raise InvalidInput(_at(argument, index), "must not be missing", entry)
            if not isinstance(entry, (numbers.Real, Decimal)) or isinstance(entry, bool):
                raise InvalidInput(_at(argument, index), "must be a number", entry)
        try:
            array = array.astype(np.float64)
        except (OverflowError, TypeError, ValueError):
            raise InvalidInput(argument, "must hold numbers that fit a double", values) from None
    elif array.dtype.kind not in "iuf":
        raise InvalidInput(argument, "must hold real numbers", values)
    if array.ndim not in ndim:
        raise InvalidInput(argument, shape_rule, f"an array of shape {array.shape}")
    with np.errstate(over="ignore"):  # a long double beyond the range becomes infinite, which is refused later
        return np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)  # numpy makes one number a vector


def _refuse_hidden(values: Sequence[Any], argument: str, index: tuple[int, ...] = ()) -> None:
    """Refuse what numpy would turn into numbers without a word: truth values and masked entries inside of lists."""
    for i, entry in enumerate(values):
        if type(entry) is float or type(entry) is int:
            continue
        if isinstance(entry, (bool, np.bool_)):
            raise InvalidInput(_at(argument, (*index, i)), "must be a number", entry)
        if np.ma.is_masked(entry):
            raise InvalidInput(_at(argument, (*index, i)), "must not be masked", entry)
        if isinstance(entry, (list, tuple)):
            _refuse_hidden(entry, argument, (*index, i))
        elif isinstance(entry, (np.ndarray, pd.Series)) and entry.dtype == bool:
            raise InvalidInput(_at(argument, (*index, i)), "must hold numbers", entry)


def number_of_dimensions(values: Any) -> int:
    """Give ``np.ndim``, of lists without converting them: ragged rows count as their first one does."""
    depth = 0
    while isinstance(values, (list, tuple)):
        depth += 1
        if not values or depth == 64:  # a list may hold itself
            return depth
        values = values[0]
    return depth + int(np.ndim(values))


def _numbers(values: Any, argument: str, ndim: tuple[int, ...], shape_rule: str) -> FloatArray:
    if type(values) is np.ndarray and values.dtype == np.float64 and values.ndim in ndim:
        return np.ascontiguousarray(values).reshape(values.shape)  # the common case costs a microsecond
    try:
        return _as_floats(values, argument, ndim, shape_rule)
    except InvalidInput:
        raise
    except (ValueError, TypeError, RecursionError):  # numpy on ragged rows, or on a list that holds itself
        raise InvalidInput(argument, f"{shape_rule}, without ragged rows", values) from None


def _at(argument: str, index: tuple[int, ...]) -> str:
    return f"{argument}[{', '.join(map(str, index))}]" if index else argument


def _raise_at_first(bad: NDArray[np.bool_], argument: str, rule: str, values: FloatArray) -> None:
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InvalidInput(_at(argument, index), rule, float(values[index]))


def _labels(index: pd.Index, argument: str) -> Names:
    try:
        if isinstance(index, pd.MultiIndex):
            missing = any((code == -1).any() for code in index.codes)
        else:
            missing = index.hasnans
        if missing or index.has_duplicates:
            repeated = index[index.duplicated()].unique().tolist()
            raise InvalidInput(argument, "must be unique and not missing", repeated or list(index))
    except TypeError:  # labels that cannot be compared
        raise InvalidInput(argument, "must be hashable", list(index)) from None
    return tuple(index)


def order_of(labels: Names | None, wanted: Names | None, argument: str, what: str) -> list[int] | None:
    """Give the places at which labels hold the names wanted, in their order.

    None where nothing moves: one side has no names, they agree already, or the labels are mere positions.
    """
    if labels is None or wanted is None or labels == wanted:
        return None
    place = {label: i for i, label in enumerate(labels)}
    if place.keys() != set(wanted):
        if labels == tuple(range(len(labels))):
            return None
        raise InvalidInput(argument, f"must name the same {what}, no more and no fewer",
                           {"missing": [name for name in wanted if name not in place],
                            "unknown": list(place.keys() - set(wanted))})
    return [place[name] for name in wanted]


def _reordered(values: pd.Series, wanted: Names | None, argument: str, what: str) -> pd.Series:
    """Put a Series in the order of the names of ``what``; positions count where either side has no names."""
    rows = order_of(_labels(values.index, f"{argument}.index"), wanted, f"{argument}.index", what)
    return values if rows is None else values.iloc[rows]


def as_names(names: Any, argument: str) -> Names:
    """Check a list of at least one name, none missing and none repeated."""
    if not isinstance(names, (list, tuple, pd.Index)) or not len(names):
        raise InvalidInput(argument, "must be a list of at least one name", names)
    try:
        for name in names:
            hash(name)  # isinstance(name, Hashable) believes a tuple that holds a list
    except TypeError:
        raise InvalidInput(argument, "must be hashable", list(names)) from None
    return _labels(pd.Index(list(names), dtype=object, tupleize_cols=False), argument)


def names_or_number(given: Any, argument: str) -> tuple[int, Names | None]:
    """Take names, as :func:`as_names` does, or just their number; give the number, and the names or None."""
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool) and 1 <= given <= _MOST:
        return int(given), None
    if isinstance(given, (list, tuple, pd.Index)):
        names = as_names(given, argument)
        return len(names), names
    raise InvalidInput(argument, f"must be a whole number from 1 to {_MOST:g} or a list of names", given)


def demand_matrix(demands: Any, argument: str = "demands") -> Named:
    """Give demands as a float array of shape (n, m) with labels; entries are not checked here."""
    shape_rule = "must have shape (n users, m resources)"
    users = resources = None
    if isinstance(demands, pd.DataFrame):
        users = _labels(demands.index, f"{argument}.index")
        resources = _labels(demands.columns, f"{argument}.columns")
    values = _numbers(demands, argument, (2,), shape_rule)
    if values.shape[0] == 0 or values.shape[1] == 0:
        raise InvalidInput(argument, "must have at least one user and one resource", values.shape)
    return Named(values, users, resources)


def per_user(values: Any, n: int, users: Names | None, argument: str) -> FloatArray:
    """Give one number a user as a float array of shape (n,), matched by name where both sides have names."""
    if isinstance(values, pd.Series):
        values = _reordered(values, users, argument, "users")
    array = _numbers(values, argument, (1,), f"must have shape ({n},), one entry a user")
    if array.shape[0] != n:
        raise InvalidInput(argument, f"must have one entry for each of the {n} users", f"{array.shape[0]} entries")
    return array


def per_resource(values: Any, m: int, resources: Names | None, argument: str) -> FloatArray:
    """Give one number a resource as a float array of shape (m,), matched by name where both sides have names."""
    if isinstance(values, pd.Series):
        values = _reordered(values, resources, argument, "resources")
    array = _numbers(values, argument, (1,), f"must have shape ({m},), one entry a resource")
    if array.shape[0] != m:
        raise InvalidInput(argument, f"must have one entry for each of the {m} resources", array.tolist())
    return array


# -------------------------------------------------------------------------------------------- checked input


def check_demands(values: FloatArray, argument: str = "demands") -> None:
    """Raise InvalidInput at the first entry that is not a valid demand. Cost O(n m)."""
    check_amounts(values, argument)
    empty = ~(values > 0).any(axis=-1)
    if empty.any():
        index = tuple(int(i) for i in np.argwhere(empty)[0])
        raise InvalidInput(_at(argument, index), "must have at least one positive entry", values[index].tolist())


def phased_demands(demands: Any) -> Named:
    """Check demands that change from phase to phase; a node may sit a phase out.

    Parameters
    ----------
    demands : array_like, shape (T, n, m), or sequence of DataFrames with the same labels
        Resource per task, under the rules of :func:`as_demands`, but that a row of zeros means: not present.

    Returns
    -------
    Named
        ``values`` float (T, n, m), the callee's own; ``users`` and ``resources`` the labels or None.
    """
    users = resources = None
    if isinstance(demands, (list, tuple)) and any(isinstance(one, pd.DataFrame) for one in demands):
        phases = [demand_matrix(one, f"demands[{t}]") for t, one in enumerate(demands)]
        users, resources = phases[0].users, phases[0].resources
        for t, one in enumerate(phases):
            if (one.users, one.resources) != (users, resources):
                raise InvalidInput(f"demands[{t}]", "must have the labels of the first phase, in the same order",
                                   [one.users, one.resources])
        values = np.stack([one.values for one in phases])
    else:
        values = _numbers(demands, "demands", (3,), "must have shape (T phases, n users, m resources)").copy()
    if 0 in values.shape:
        raise InvalidInput("demands", "must have at least one phase, user and resource", values.shape)
    check_amounts(values, "demands")
    return Named(values, users, resources)


def check_amounts(values: FloatArray, argument: str) -> None:
    """Raise InvalidInput at the first entry that is not zero or a positive number in range."""
    _raise_at_first(~np.isfinite(values), argument, "must be finite", values)
    _raise_at_first(values < 0, argument, "must not be negative", values)
    _raise_at_first((values > LARGEST) | ((values > 0) & (values < SMALLEST)), argument, RANGE_RULE, values)


def as_number(value: Any, argument: str, low: float = 0.0, high: float = np.inf) -> float:
    """Check one finite number between two bounds."""
    number = float(_numbers(value, argument, (0,), "must be one number").item())
    if not (np.isfinite(number) and low <= number <= high):
        rule = f"must be finite and at least {low:g}" if high == np.inf else f"must be between {low:g} and {high:g}"
        raise InvalidInput(argument, rule, number)
    return number


def as_whole(value: Any, argument: str, low: int, high: int | None = None) -> int:
    """Check one whole number between two bounds; a float is none, even if it is whole."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or (
            not low <= value or (high is not None and value > high)):
        bounds = f"of at least {low}" if high is None else f"from {low} to {high}"
        raise InvalidInput(argument, f"must be a whole number {bounds}", value)
    return int(value)


def as_tolerance(rtol: Any) -> float:
    """Check the relative tolerance of a certificate: one that is infinite would certify anything."""
    return as_number(rtol, "rtol", 0.0, 1.0)


def check_name(name: Any, argument: str) -> None:
    """Raise InvalidInput at a name that is missing: None, or what is not even equal to itself, as NaN and NaT."""
    if name is None or name is pd.NA or bool(name != name):
        raise InvalidInput(argument, "must not be missing", name)


def labelled(names: Sequence[Hashable], title: str) -> pd.Index:
    """Give an index of these names; those that are tuples stay one level."""
    return pd.Index(names, name=title, tupleize_cols=False)


def check_positive(values: FloatArray, argument: str) -> None:
    """Raise InvalidInput at the first entry that is not a positive number in range."""
    _raise_at_first(~np.isfinite(values), argument, "must be finite", values)
    _raise_at_first(~(values > 0), argument, "must be positive", values)
    _raise_at_first((values > LARGEST) | (values < SMALLEST), argument, POSITIVE_RULE, values)


def refuse(demands: FloatArray, weights: FloatArray | None = None) -> NoReturn:
    """Say what is wrong with input that a compiled loop refused."""
    check_demands(demands)
    if weights is not None:
        check_positive(weights, "weights")
    raise FairbookError("the compiled check refused input that the full check accepts: a defect of fairbook")


def as_demands(demands: Any, argument: str = "demands") -> Named:
    """Check demands.

    Parameters
    ----------
    demands : array_like or DataFrame, shape (n, m)
        What one task of each user needs of each resource, in the resource's unit: finite, not negative,
        zero or in [1e-75, 1e75], at least one positive entry a row. A DataFrame's index names the users,
        its columns the resources.

    Returns
    -------
    Named
        ``values`` float (n, m), ``users`` and ``resources`` the labels or None.

    Raises
    ------
    InvalidInput
        Naming the argument, the rule and the value.

    Examples
    --------
    >>> as_demands([[1, 4], [3, 1]]).values
    array([[1., 4.],
           [3., 1.]])
    >>> as_demands([[1, 4], [0, 0]])
    Traceback (most recent call last):
        ...
    fairbook.errors.InvalidInput: demands[1] must have at least one positive entry, got [0.0, 0.0]
    """
    named = demand_matrix(demands, argument)
    check_demands(named.values, argument)
    return named


def as_weights(weights: Any, n: int, users: Names | None = None, *, m: int | None = None,
               resources: Names | None = None, contributed: bool = False, argument: str = "weights") -> FloatArray:
    """Check weights; without ``contributed`` scale them to sum to 1.

    Parameters
    ----------
    weights : array_like, Series or None, shape (n,) or, where ``m`` is given, (n, m)
        Positive numbers in [1e-75, 1e75]; None means equal weights. With shape (n, m) each resource has
        weights of its own and each column is scaled. A DataFrame is matched by name with ``users`` and
        ``resources``.
    contributed : bool
        Whether the weights are amounts that the users bring into the pool; these are kept as given.
    """
    if weights is None:
        return np.full(n, 1.0 if contributed else 1.0 / n)
    if m is not None and number_of_dimensions(weights) == 2:
        if isinstance(weights, pd.DataFrame):
            rows = _reordered(pd.Series(range(len(weights)), weights.index), users, argument, "users")
            columns = _reordered(pd.Series(range(weights.shape[1]), weights.columns), resources,
                                 f"{argument}.columns", "resources")
            weights = weights.iloc[rows.to_list(), columns.to_list()]
        values = demand_matrix(weights, argument).values
        if values.shape != (n, m):
            raise InvalidInput(argument, f"must have shape ({n},) or ({n}, {m})", values.shape)
    else:
        values = per_user(weights, n, users, argument)
    check_positive(values, argument)
    return values if contributed else values / values.sum(axis=0)


def as_capacities(capacities: Any, m: int, resources: Names | None = None,
                  argument: str = "capacities") -> FloatArray:
    """Check the pool's capacities, shape (m,), positive, in the unit of the demands; None means ones."""
    if capacities is None:
        return np.ones(m)
    values = per_resource(capacities, m, resources, argument)
    check_positive(values, argument)
    return values


def as_positive(value: Any, argument: str) -> float:
    """Check one positive number in range."""
    number = _numbers(value, argument, (0,), "must be one number")
    check_positive(number.reshape(()), argument)
    return float(number.item())


def as_max_tasks(max_tasks: Any, n: int, users: Names | None = None, argument: str = "max_tasks") -> FloatArray:
    """Check task bounds, shape (n,): not negative, ``inf`` for no bound; None means no bounds."""
    if max_tasks is None:
        return np.full(n, np.inf)
    values = per_user(max_tasks, n, users, argument)
    _raise_at_first(np.isnan(values), argument, "must be a number", values)
    _raise_at_first(values < 0, argument, "must not be negative", values)
    too_large = np.isfinite(values) & (values > LARGEST)
    _raise_at_first(too_large, argument, f"must be at most {LARGEST:g} or infinite", values)
    return values


def as_fractions(values: Any, argument: str) -> list[Any]:
    """Turn nested sequences of numbers, or of texts such as "1/3", into fractions; None stays None.

    Parameters
    ----------
    values : sequence, or sequence of sequences of equal length
        Anything ``fractions.Fraction`` takes, truth values excepted; floats count at face value.

    Examples
    --------
    >>> as_fractions([["1/3", 0.5]], "demands")
    [[Fraction(1, 3), Fraction(1, 2)]]
    """
    if isinstance(values, (str, bytes)) or not 0 < number_of_dimensions(values) < 64:
        raise InvalidInput(argument, "must be a sequence of numbers", values)
    if np.ma.is_masked(values):
        raise InvalidInput(argument, "must not be masked anywhere", values)
    rows = values.to_numpy().tolist() if isinstance(values, (pd.DataFrame, pd.Series)) else list(values)
    if not rows:
        raise InvalidInput(argument, "must not be empty", values)
    found: list[Any] = []
    for i, entry in enumerate(rows):
        at = f"{argument}[{i}]"
        if isinstance(entry, (list, tuple, np.ndarray, pd.Series)) and number_of_dimensions(entry) != 0:
            found.append(as_fractions(entry, at))
            continue
        try:
            if not isinstance(entry, (str, numbers.Real, Decimal, type(None))) or isinstance(entry, bool):
                raise TypeError
            if isinstance(entry, numbers.Integral):
                entry = int(entry)  # a numpy integer inside of a fraction would overflow
            elif not isinstance(entry, (str, Fraction, Decimal, type(None))):
                entry = float(entry)
            found.append(None if entry is None else Fraction(entry))
        except (TypeError, ValueError, OverflowError, ZeroDivisionError):
            raise InvalidInput(at, "must be a finite number", entry) from None
    if len({len(row) if isinstance(row, list) else -1 for row in found}) > 1:
        raise InvalidInput(argument, "must not have ragged rows", values)
    return found


def exact_instance(demands: Any, weights: Any, capacities: Any = None,
                   max_tasks: Any = None) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Check an instance and give it in fractions; None for weights, capacities and bounds means ones, ones, no bounds.

    Raises
    ------
    InvalidInput
        Under the same rules as for floats.
    """
    rows = as_fractions(demands, "demands")
    if not isinstance(rows[0], list) or isinstance(rows[0][0], list):
        raise InvalidInput("demands", "must have shape (n users, m resources)", demands)
    n, m = len(rows), len(rows[0])
    vectors: list[list[Any]] = []
    for values, count, default, argument in ((weights, n, Fraction(1), "weights"),
                                             (capacities, m, Fraction(1), "capacities"),
                                             (max_tasks, n, None, "max_tasks")):
        vector: list[Any] = [default] * count if values is None else as_fractions(values, argument)
        if len(vector) != count or isinstance(vector[0], list):
            raise InvalidInput(argument, f"must have shape ({count},)", values)
        if argument != "max_tasks" and None in vector:
            raise InvalidInput(f"{argument}[{vector.index(None)}]", "must be a number", None)
        vectors.append(vector)
    if any(None in row for row in rows):
        raise InvalidInput("demands", "must be numbers", demands)
    try:
        as_demands([[float(d) for d in row] for row in rows])
        as_weights([float(w) for w in vectors[0]], n, contributed=True)
        as_capacities([float(c) for c in vectors[1]], m)
        as_max_tasks([np.inf if b is None else float(b) for b in vectors[2]], n)
    except OverflowError:
        raise InvalidInput("demands, weights, capacities, max_tasks", "must fit a double", demands) from None
    return rows, vectors[0], vectors[1], vectors[2]


# ------------------------------------------------------------------------------------------------- the model


@dataclass(frozen=True, eq=False)
class Users:
    """Users with demands, weights and task bounds; demands may change with time.

    Build one with :meth:`of`, which checks everything.

    Attributes
    ----------
    demands : ndarray, shape (n, m), or (T, n, m) where demands change from period to period
        Resource per task.
    weights : ndarray, shape (n,)
        As given (amounts) or scaled to sum to 1.
    max_tasks : ndarray, shape (n,) or (T, n)
        Upper bounds on tasks, ``inf`` for none.
    names, resources : tuple
        Labels; positions where the caller gave none.
    """

    demands: FloatArray
    weights: FloatArray
    max_tasks: FloatArray
    names: Names
    resources: Names

    @classmethod
    def of(cls, demands: Any, weights: Any = None, max_tasks: Any = None, *,
           contributed: bool = False) -> Users:
        """Check and keep users.

        Examples
        --------
        >>> Users.of([[1, 4], [3, 1]], weights=[1, 3]).weights
        array([0.25, 0.75])
        """
        if number_of_dimensions(demands) == 3:
            values = _numbers(demands, "demands", (3,), "must have shape (T, n, m)")
            if 0 in values.shape:
                raise InvalidInput("demands", "must have at least one period, user and resource", values.shape)
            check_demands(values)
            named = Named(values)
        else:
            named = as_demands(demands)
        n, m = named.values.shape[-2:]
        if max_tasks is not None and number_of_dimensions(max_tasks) == 2:
            bounds = _numbers(max_tasks, "max_tasks", (2,), "must have shape (T, n)")
            if named.values.ndim != 3 or bounds.shape != named.values.shape[:2]:
                raise InvalidInput("max_tasks", "must have one row a period and one column a user", bounds.shape)
            bounds = np.stack([as_max_tasks(row, n) for row in bounds])
        else:
            bounds = as_max_tasks(max_tasks, n, named.users)
        return cls(named.values, as_weights(weights, n, named.users, contributed=contributed), bounds,
                   named.users or tuple(range(n)), named.resources or tuple(range(m)))


@dataclass(frozen=True, eq=False)
class Pool:
    """Machines in classes: K classes of identical machines with m resources each.

    One pool of resources without machine boundaries is the case K = 1, count 1.

    Attributes
    ----------
    capacities : ndarray, shape (K, m)
        Capacity of one machine of each class, in the unit of the demands.
    counts : ndarray of int, shape (K,)
        Machines in each class.
    """

    capacities: FloatArray
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, capacities: Any, counts: ArrayLike | None = None) -> Pool:
        """Check and keep machines.

        A machine may lack a resource (capacity 0) as long as some machine has it.

        Examples
        --------
        >>> Pool.of([[0.5, 0.5], [1, 1]], counts=[3, 2]).totals
        array([3.5, 3.5])
        """
        if number_of_dimensions(capacities) == 1:
            capacities = np.reshape(_numbers(capacities, "capacities", (1,), "must have shape (m,) or (K, m)"),
                                    (1, -1))
        values = demand_matrix(capacities, "capacities").values
        check_demands(values, "capacities")
        if counts is None:
            number = np.ones(len(values), dtype=np.int64)
        else:
            floats = per_user(counts, len(values), None, "counts")
            if not ((floats >= 1) & (floats <= 2**53) & (floats == np.floor(floats))).all():
                raise InvalidInput("counts", "must be whole numbers from 1 to 2**53", floats.tolist())
            number = floats.astype(np.int64)
        pool = cls(values, number)
        if not (pool.totals > 0).all():
            raise InvalidInput("capacities", "must be positive on some machine for every resource",
                               pool.totals.tolist())
        return pool

    @property
    def totals(self) -> FloatArray:
        """Capacity of the whole pool, shape (m,)."""
        return self.counts @ self.capacities


@dataclass(frozen=True, eq=False)
class Allocation:
    """Tasks of n users in one pool, with the reason why nobody has more.

    Attributes
    ----------
    tasks : ndarray, shape (n,)
        Tasks of each user, fractions allowed unless the mechanism says otherwise.
    demands : ndarray, shape (n, m)
        Resource per task, as given.
    weights : ndarray, shape (n,) or (n, m)
        As the mechanism used them.
    capacities : ndarray, shape (m,)
    max_tasks : ndarray, shape (n,)
    bottlenecks : ndarray of int, shape (n,)
        The resource that stops each user; -1 where the user's own bound does, -2 where nothing does (where a mechanism
        in whole tasks ended early, or credit withholds what is free), -3 where the user is not present.
    users, resources : tuple
        Labels.
    mechanism : str
    rule : {"max_min", "whole_tasks", "full", "credit"}
        What the mechanism promises, which is what :meth:`explain` says and :meth:`violations` checks.
        ``"max_min"``: levels are lexicographically max-min fair. ``"whole_tasks"``: tasks are whole, and one more task
        of a user would overdraw its bottleneck. ``"full"``: every bottleneck is used up and needed. ``"credit"``: the
        same, but that credit may hold a user back, or a user may not be there.
    given_weights : ndarray or None
        The weights before they were scaled, where they were: scaling rounds.
    """

    tasks: FloatArray
    demands: FloatArray
    weights: FloatArray
    capacities: FloatArray
    max_tasks: FloatArray
    bottlenecks: NDArray[np.int64]
    named_users: Names | None = None
    named_resources: Names | None = None
    mechanism: str = "drf"
    rule: Literal["max_min", "whole_tasks", "full", "credit"] = "max_min"
    given_weights: FloatArray | None = None

    @property
    def users(self) -> Names:
        return labels_or_positions(self.named_users, len(self.tasks))

    @property
    def resources(self) -> Names:
        return labels_or_positions(self.named_resources, len(self.capacities))

    @property
    def use(self) -> FloatArray:
        """Resource in use, shape (m,), in the unit of the capacities."""
        return self.tasks @ self.demands

    @property
    def slack(self) -> FloatArray:
        """Capacity left, shape (m,)."""
        return self.capacities - self.use

    @property
    def utilisation(self) -> FloatArray:
        """Use divided by capacity, shape (m,)."""
        return self.use / self.capacities

    @property
    def dominant_shares(self) -> FloatArray:
        """Largest share of each user over the resources, shape (n,), without weights."""
        return self.tasks * (self.demands / self.capacities).max(axis=1)

    @property
    def levels(self) -> FloatArray:
        """Share divided by weight, its largest value over the resources, shape (n,)."""
        weights = self.weights if self.weights.ndim == 2 else self.weights[:, None]
        return self.tasks * (self.demands / self.capacities / weights).max(axis=1)

    def to_frame(self) -> pd.DataFrame:
        """Give one row a user: tasks, dominant share, level, bottleneck by name."""
        reasons = {-1: "own bound", -2: "nothing", -3: "not present"}
        stops = [reasons.get(int(j)) or self.resources[j] for j in self.bottlenecks]
        return pd.DataFrame(
            {"tasks": self.tasks, "dominant_share": self.dominant_shares, "level": self.levels, "bottleneck": stops},
            index=labelled(self.users, "user"),
        )

    def explain(self, user: Hashable) -> str:
        """Say in one sentence why this user has this share.

        Raises
        ------
        InvalidInput
            Where no user has that name.
        """
        i = position(user, self.users)
        tasks, level, j = self.tasks[i], self.levels[i], int(self.bottlenecks[i])
        if j == -3:
            return f"{user} is not present."
        if j == -1:
            return f"{user} runs {tasks:.6g} tasks: its own bound stops it."
        if j == -2:
            return f"{user} runs {tasks:.6g} tasks: nothing stops it, but the mechanism gave it no more."
        if self.rule == "whole_tasks":
            return (f"{user} runs {tasks:.6g} tasks at level {level:.6g}: another would need {self.demands[i, j]:.6g} "
                    f"of {self.resources[j]}, and {max(self.slack[j], 0.0):.6g} of {self.capacities[j]:.6g} is left.")
        if self.rule == "credit":
            return (f"{user} runs {tasks:.6g} tasks at level {level:.6g}: {self.resources[j]}, which it needs, "
                    "is used up.")
        if self.rule == "full":
            return (f"{user} runs {tasks:.6g} tasks at level {level:.6g}: {self.utilisation[j]:.2%} of "
                    f"{self.resources[j]} is in use, and what others hold is not taken back.")
        needs = self.demands[:, j] > 0
        return (f"{user} runs {tasks:.6g} tasks at level {level:.6g}: {self.resources[j]} stops it. "
                f"{self.utilisation[j]:.2%} of it is in use, {user} needs it, and none of the {int(needs.sum())} users "
                f"who need it stands at a higher level (the highest: {self.levels[needs].max():.6g}).")

    def violations(self, rtol: float = 1e-9) -> list[str]:
        """List every way in which this allocation breaks what its rule promises; empty means certified.

        Uses nothing but the numbers stored here, so it judges any code that made them. An allocation is
        lexicographically max-min fair exactly if it is feasible and every user is at its own bound or has a
        resource that is used up, that it needs, and that no user needing it has at a higher level. For the other
        rules the certificate says that nobody can be given more as things stand, not that the levels are fair.
        What a light user has too much or too little is no more than rounding beside what others hold of a resource.
        So tasks said to be max-min fair are also worked out anew in decimals, for up to 1000 users, and compared. That
        is the code which ``drf`` itself turns to where doubles lose too much; there the oracles are the judges.

        Notes
        -----
        Cost O(n m), the decimals O(n m^2) and about a microsecond each.
        """
        rtol = as_tolerance(rtol)
        found: list[str] = []
        share = self.demands / self.capacities
        levels = self.levels
        for j in np.flatnonzero(self.tasks @ share > 1 + rtol).tolist():
            found.append(f"{self.resources[j]} is used {(self.tasks @ share)[j]:.12g} times its capacity")
        for i in np.flatnonzero((self.tasks < 0) | (self.tasks > self.max_tasks * (1 + rtol))).tolist():
            found.append(f"{self.users[i]} has {self.tasks[i]:.12g} tasks, outside 0 and its bound")
        full = self.tasks @ share >= 1 - rtol
        over = self.tasks @ share + share > 1 + 1e-12  # one more task
        whole = self.rule == "whole_tasks"
        if whole and (self.tasks != np.floor(self.tasks)).any():
            found.append("some tasks are not whole")
        highest = np.where(self.demands > 0, levels[:, None], 0.0).max(axis=0)
        for i, j in enumerate(self.bottlenecks.tolist()):
            if self.rule == "credit" and j < 0:
                if j == -3 and (self.tasks[i] != 0 or self.demands[i].any()):
                    found.append(f"{self.users[i]} is said not to be present")
            elif j == -2:
                found.append(f"nothing stops {self.users[i]}")
            elif j == -1:
                if not self.tasks[i] >= self.max_tasks[i] * (1 - rtol):
                    found.append(f"{self.users[i]} is below its own bound")
            elif not (over[i, j] if whole else full[j] and self.demands[i, j] > 0) or (
                    self.rule == "max_min" and not levels[i] >= highest[j] * (1 - rtol)):
                found.append(f"{self.resources[j]} does not stop {self.users[i]}")
        if self.rule == "max_min" and len(self.tasks) <= decimals.MOST:
            weights = self.weights if self.given_weights is None else self.given_weights
            exact, _ = decimals.fill(self.demands, weights, self.capacities, self.max_tasks)
            for i in np.flatnonzero(~(np.abs(self.tasks - exact) <= rtol * exact)).tolist():
                found.append(f"{self.users[i]} has {self.tasks[i]:.12g} tasks where {exact[i]:.12g} are fair")
        return found


@dataclass(frozen=True, eq=False)
class DynamicAllocation:
    """Allocations after each of n arrivals, kept in O(n) numbers.

    After arrival k (counted from 1) the pool holds what the first k users brought, W_k = w_1 + ... + w_k of every
    resource. The lowest level, M^k, is raised as far as the pool allows. Where allocations never shrink, the
    level of user i after arrival k is max(M^i, ..., M^k), so the n numbers M^k tell every allocation.

    Attributes
    ----------
    levels : ndarray, shape (n,)
        M^1, ..., M^n: the lowest level after each arrival.
    binding : ndarray of int, shape (n,)
        The resource that was used up at each arrival and stopped the rise.
    demands : ndarray, shape (n, m)
        Resource per task, as given, in order of arrival.
    weights : ndarray, shape (n,)
        Amount of every resource that each user brought.
    irrevocable : bool
        True where allocations never shrink; False where everything is shared out anew at each arrival.
    users, resources : tuple
        Labels.
    mechanism : str
    """

    levels: FloatArray
    binding: NDArray[np.int32]
    demands: FloatArray
    weights: FloatArray
    named_users: Names | None = None
    named_resources: Names | None = None
    irrevocable: bool = True
    mechanism: str = "dmfa_srq"

    def __len__(self) -> int:
        return len(self.levels)

    @property
    def users(self) -> Names:
        return labels_or_positions(self.named_users, len(self.levels))

    @property
    def resources(self) -> Names:
        return labels_or_positions(self.named_resources, self.demands.shape[1])

    @property
    def tasks(self) -> FloatArray:
        """Tasks after the last arrival, shape (n,); ``tasks @ demands`` is the resource in use. Cost O(n m)."""
        return self.tasks_at(len(self.levels))

    @property
    def capacities(self) -> FloatArray:
        """Pool after the last arrival, shape (m,)."""
        return np.full(self.demands.shape[1], self.weights.sum())

    def _step(self, k: int | None) -> int:
        n = len(self.levels)
        return n if k is None else as_whole(k, "k", 1, n)

    def levels_at(self, k: int | None = None) -> FloatArray:
        """Level x_i^k / w_i of each of the first k users after arrival k, shape (k,). Cost O(k)."""
        k = self._step(k)
        if not self.irrevocable:
            return np.full(k, self.levels[k - 1])
        return np.maximum.accumulate(self.levels[:k][::-1])[::-1]

    def shares_at(self, k: int | None = None) -> FloatArray:
        """Dominant-share units x_i^k of each of the first k users after arrival k, shape (k,). Cost O(k)."""
        k = self._step(k)
        return self.levels_at(k) * self.weights[:k]

    def dominant_shares_at(self, k: int | None = None) -> FloatArray:
        """Largest part of the pool W_k that each of the first k users holds, shape (k,). Cost O(k)."""
        k = self._step(k)
        return self.shares_at(k) / self.weights[:k].sum()

    @property
    def dominant_shares(self) -> FloatArray:
        """:meth:`dominant_shares_at` after the last arrival, shape (n,)."""
        return self.dominant_shares_at()

    def tasks_at(self, k: int | None = None) -> FloatArray:
        """Tasks of each of the first k users after arrival k (from 1), shape (k,). Cost O(k m)."""
        k = self._step(k)
        largest = self.demands[:k, 0].copy()
        for j in range(1, self.demands.shape[1]):  # numpy's max over a short last axis is ten times slower
            np.maximum(largest, self.demands[:k, j], out=largest)
        return self.shares_at(k) / largest

    def use_at(self, k: int | None = None) -> FloatArray:
        """Resource in use after arrival k, shape (m,). Cost O(k m)."""
        k = self._step(k)
        return self.tasks_at(k) @ self.demands[:k]

    def utilisation_at(self, k: int | None = None) -> FloatArray:
        """Use divided by capacity after arrival k, shape (m,). Cost O(k m)."""
        k = self._step(k)
        return self.use_at(k) / self.weights[:k].sum()

    @cached_property
    def _exact_levels(self) -> FloatArray:
        return decimals.lowest_levels(self.demands, self.weights, self.irrevocable)

    def raised_at(self, k: int | None = None) -> NDArray[np.int64]:
        """Arrival (from 1) at which each of the first k users last gained, shape (k,). Cost O(k)."""
        k = self._step(k)
        if not self.irrevocable:
            return np.full(k, k)
        reversed_levels = self.levels[:k][::-1]
        highest = np.maximum.accumulate(reversed_levels)
        is_new = np.empty(k, dtype=bool)
        is_new[0] = True
        # the level equals M^t for the earliest t at which the maximum is attained: later equal M^t add nothing
        is_new[1:] = reversed_levels[1:] >= highest[:-1]
        arrival = np.where(is_new, np.arange(k, 0, -1), k + 1)
        return np.minimum.accumulate(arrival)[::-1]

    def bottlenecks_at(self, k: int | None = None) -> NDArray[np.int64]:
        """Resource that was used up when each of the first k users last gained, shape (k,). Cost O(k)."""
        return self.binding[self.raised_at(k) - 1].astype(np.int64)

    @property
    def bottlenecks(self) -> NDArray[np.int64]:
        """:meth:`bottlenecks_at` after the last arrival, shape (n,)."""
        return self.bottlenecks_at()

    def to_frame(self, k: int | None = None) -> pd.DataFrame:
        """Give one row a user: weight, tasks, dominant share, level, the arrival that set it, the bottleneck."""
        k = self._step(k)
        return pd.DataFrame(
            {"weight": self.weights[:k], "tasks": self.tasks_at(k), "dominant_share": self.dominant_shares_at(k),
             "level": self.levels_at(k), "raised_at": self.raised_at(k),
             "bottleneck": [self.resources[j] for j in self.bottlenecks_at(k)]},
            index=labelled(self.users[:k], "user"),
        )

    def explain(self, user: Hashable, k: int | None = None) -> str:
        """Say in one or two sentences why this user has this share after arrival k."""
        k = self._step(k)
        i = position(user, self.users[:k])
        level, t = self.levels_at(k)[i], int(self.raised_at(k)[i])
        text = f"{user} runs {self.tasks_at(k)[i]:.6g} tasks at level {level:.6g} (1 is what it brought). "
        if not self.irrevocable:
            return text + (f"After arrival {k} all was shared out anew, with everyone at this level: "
                           f"then {self.resources[self.binding[k - 1]]} was used up.")
        text += f"Arrival {t} raised it to there: then {self.resources[self.binding[t - 1]]} was used up."
        if t < k:
            text += (f" Since then newcomers have been raised no higher than {self.levels[t:k].max():.6g}, and what is "
                     "once allocated is not taken back.")
        return text

    def violations(self, k: int | None = None, rtol: float = 1e-9) -> list[str]:
        """List every way in which the allocation after arrival k is not the optimum of (4), given the one before.

        Checks feasibility, that nobody lost anything, that everyone stands at M^k or where it stood before, and that
        the binding resource is used up and needed by someone at the lowest level, so that M^k cannot rise.
        An empty list certifies the step. Uses only the numbers stored here, not the code that made them.
        What a light user has too much or too little is no more than rounding beside what others hold of a resource.
        So, for up to 1000 arrivals, M^k is also worked out anew in decimals, and compared if those before it are right.

        Notes
        -----
        Cost O(k m), and once O(n m) for the decimals, about a microsecond each.
        """
        k = self._step(k)
        rtol = as_tolerance(rtol)
        found = []
        tasks, levels, capacity = self.tasks_at(k), self.levels_at(k), float(self.weights[:k].sum())
        use = tasks @ self.demands[:k]
        for j in np.flatnonzero(use > capacity * (1 + rtol)).tolist():
            found.append(f"{self.resources[j]}: {use[j]:.12g} in use of {capacity:.12g}")
        if not (np.isfinite(tasks).all() and (tasks > 0).all()):
            found.append("tasks are not all positive and finite")
        before = self.levels_at(k - 1) if k > 1 and self.irrevocable else np.zeros(0)
        expected = np.maximum(self.levels[k - 1], np.append(before, np.zeros(k - len(before))))
        if not np.allclose(levels, expected, rtol=rtol, atol=0):
            found.append("some level is neither M^k nor the level before")
        j = int(self.binding[k - 1])
        lowest = levels <= levels.min() * (1 + rtol)
        if not use[j] >= capacity * (1 - rtol):
            found.append(f"{self.resources[j]} is said to bind but is not used up")
        if not (self.demands[:k, j][lowest] > 0).any():
            found.append(f"nobody at the lowest level needs {self.resources[j]}")
        if len(self) <= decimals.MOST:
            right = np.abs(self.levels[:k] - self._exact_levels[:k]) <= rtol * self._exact_levels[:k]
            if not right[-1] and (right[:-1].all() or not self.irrevocable):
                found.append(f"the lowest level is {self.levels[k - 1]:.12g} where {self._exact_levels[k - 1]:.12g} is "
                             "the highest possible")
        return found


def labels_or_positions(names: Names | None, count: int) -> Names:
    """Give the labels, or the positions where there are none."""
    return names if names is not None else tuple(range(count))


def position(user: Hashable, users: Sequence[Hashable]) -> int:
    """Give the row of a user, or raise InvalidInput."""
    try:
        return list(users).index(user)
    except ValueError:
        raise InvalidInput("user", "must be one of the users", user) from None
