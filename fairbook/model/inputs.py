"""Checks of input: what callers pass (lists, arrays, tables with names) becomes checked float arrays.

Everything a caller can get wrong ends in :class:`~fairbook.errors.InvalidInput`.

By hand, since pandera and pydantic name a row of a table, not the argument, its rule and the value.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection, Hashable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.model.names import BARE, Names, in_pandas, labels_of, order_of, reordered

__all__ = ["LARGEST", "SMALLEST", "as_capacities", "as_demands", "as_max_tasks", "as_weights"]

#: Positive inputs lie between these two, so that no product or quotient of four of them (weight over the sum of
#: weights, demand over capacity) leaves the range of a double: no rate is rounded to zero or infinity.
SMALLEST, LARGEST = 1e-75, 1e75
#: Users whose parts of a resource, at one level, are further apart are not told apart by doubles.
FAR_APART = 1e8

# All tolerances that several modules share, relative; on fractions each is zero. Those of one solver stand beside it.
#: A whole task, or an item, fits if it overdraws nothing by more than this part of it: ten tenths fill a unit.
FITS = 1e-12
#: Levels, shares and other quotients closer than this, relatively, are tied: three tenths and the double 0.3 are.
TIED = 1e-12
#: Where divisible tasks or machines are poured, a resource or a user of which less than this part is left is used up.
LEFT = 1e-13
#: Virtual machines are whole up to this part of one: (1 - 0.9) 30 is 3, though floats make it a little more.
WHOLE = 1e-9
#: Results are compared and judged with this.
RTOL = 1e-9
#: What a solver of linear programmes gives is as precise as this.
SOLVER = 1e-7

#: What stops a user where no resource does: its own bound (tasks, claim, cap, credit); nothing, or no resource of the
#: pool as a whole (there is room, but on no machine); that it is not there, or has no tasks; what is not known yet.
OWN, NOTHING, IDLE, UNSET = -1, -2, -3, -4

_MOST = 10**7  # users or resources that are only counted, not named

Array = NDArray[Any]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Named(NamedTuple):
    """An array with the labels it came with, or None where it came without."""

    values: FloatArray
    users: Names | None = None
    resources: Names | None = None


def row_max(values: Array, sizes: Any = None) -> Array:
    """Give the largest entry of each row, along the last axis, in parts of the ``sizes`` (m,) where these are given.

    Column by column: numpy takes thirty times as long for rows of two.
    """
    found = values[..., 0].copy() if sizes is None else values[..., 0] / sizes[0]
    for j in range(1, values.shape[-1]):
        np.maximum(found, values[..., j] if sizes is None else values[..., j] / sizes[j], out=found)
    return found


# ------------------------------------------------------------------------------------------------- rows in lists


def _check_rows(values: Any, argument: str, depth: int) -> None:
    """Refuse masks and names in a list: numpy would look through them."""
    for row in values if depth > 2 else ():
        if type(row) in (list, tuple):
            _check_rows(row, argument, depth - 1)
    if BARE.issuperset(map(type, values)):
        return
    for row in values:
        if isinstance(row, np.ma.MaskedArray):
            raise InvalidInput(argument, "must not hold masked arrays", row)
        if isinstance(in_pandas(row, argument), (pd.Series, pd.DataFrame)):
            raise InvalidInput(argument, "must be one table, or hold plain rows: names in them would be lost", row)


def in_phases(values: Any, argument: str) -> Named:
    """Give tables, one a phase, as an array with the names of the first, and all else, also a Named, as it is."""
    if type(values) is Named:
        return values
    if hasattr(values, "coords") and np.ndim(values) == 3:
        values = list(values)
    bare = Named(values)
    if not isinstance(values, (list, tuple)) or number_of_dimensions(values) < 2:
        return bare
    tables = [in_pandas(one, f"{argument}[{t}]") for t, one in enumerate(values)]
    if not any(isinstance(one, pd.DataFrame) for one in tables):
        return bare
    phases = [demand_matrix(one, f"{argument}[{t}]") for t, one in enumerate(tables)]
    first, found = phases[0], []
    for t, one in enumerate(phases):
        found.append(in_order(one, first.users, first.resources, f"{argument}[{t}]"))
        if one.values.shape != first.values.shape:
            raise InvalidInput(f"{argument}[{t}]", "must have the shape of the first phase", one.values.shape)
    return first._replace(values=np.stack(found))


def in_order(
    given: Named,
    users: Names | None,
    resources: Names | None,
    argument: str,
    rows: str = "users",
    columns: str = "resources",
) -> FloatArray:
    """Give the values of a matrix in the order of these names of its rows and columns."""
    at = order_of(given.users, users, f"{argument}.index", rows)
    values = given.values if at is None else given.values[at]
    at = order_of(given.resources, resources, f"{argument}.columns", columns)
    return np.ascontiguousarray(values if at is None else values[:, at])


# ---------------------------------------------------------------------------------------------- raw arrays


def number_of_dimensions(values: Any) -> int:
    """Give ``np.ndim``, of lists without converting them: ragged rows count as their first one does."""
    depth = 0
    while isinstance(values, (list, tuple)) and values and depth < 64:  # a list may hold itself
        depth, values = depth + 1, values[0]
    return depth if depth == 64 else depth + int(np.ndim(values))


def as_floats(values: Any, argument: str, ndim: tuple[int, ...], shape_rule: str) -> FloatArray:
    """Give the numbers in a C-contiguous array of the callee's own, for results keep it. No text is a number."""
    if type(values) is np.ndarray and values.dtype == np.float64 and values.ndim in ndim:
        return values.copy()  # the common case costs half a microsecond
    rule = shape_rule if ndim == (0,) else f"must hold numbers, {shape_rule}"
    if isinstance(values, (str, bytes, np.ma.MaskedArray)):  # numpy would look through a mask
        raise InvalidInput(argument, rule, values)
    if isinstance(values, (list, tuple)):
        _check_rows(values, argument, max(ndim))
    try:
        array = values.to_numpy() if isinstance(values, (pd.DataFrame, pd.Series)) else np.asarray(values)
    except (ValueError, TypeError, RecursionError):  # ragged rows, or a list that holds itself
        raise InvalidInput(argument, f"{shape_rule}, without ragged rows", values) from None
    if array.dtype.kind == "O":
        for index, entry in np.ndenumerate(array):
            if entry is pd.NA or entry is None:
                raise InvalidInput(argument, "must not be missing", entry, index)
            if not isinstance(entry, (numbers.Real, Decimal)) or isinstance(entry, bool):
                raise InvalidInput(argument, "must be a number", entry, index)
    elif array.dtype.kind not in "iuf":
        raise InvalidInput(argument, rule, values)
    if array.ndim not in ndim:
        raise InvalidInput(argument, shape_rule, f"an array of shape {array.shape}")
    try:
        return np.array(array, np.float64, order="C")
    except (OverflowError, TypeError, ValueError):
        raise InvalidInput(argument, "must hold numbers that fit a double", values) from None


def check_fractions(values: FloatArray, argument: str) -> None:
    """Raise InvalidInput at the first entry that does not lie between 0 and 1."""
    raise_at_first(~((values >= 0) & (values <= 1)), argument, "must be between 0 and 1", values)


def raise_at_first(bad: NDArray[np.bool_], argument: str, rule: str, values: FloatArray) -> None:
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InvalidInput(argument, rule, float(values[index]), index)


@contextmanager
def in_words(*pairs: tuple[str, str]) -> Iterator[None]:
    """Put what a check finds into other words: periods for phases, machines for users."""
    try:
        yield
    except InvalidInput as error:
        rule = error.rule
        for old, new in pairs:
            rule = rule.replace(old, new)
        raise InvalidInput(error.argument, rule, error.value, error.index) from None


def names_or_number(given: Any, argument: str) -> tuple[int, Names | None]:
    """Take a list of at least one name, none missing and none repeated, or just a number; give number, and names."""
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool) and 1 <= given <= _MOST:
        return int(given), None
    if not isinstance(given, (list, tuple, pd.Index)) or not len(given):
        raise InvalidInput(argument, f"must be a whole number from 1 to {_MOST:g} or a list of names", given)
    return len(given), labels_of(pd.Index(list(given), dtype=object, tupleize_cols=False), argument)


def check_newcomer(user: Any, present: Collection[Hashable]) -> None:
    """Raise InvalidInput at a name that is there already or missing: None, or not equal to itself, as NaN and NaT."""
    try:
        hash(user)  # a set would look for itself as a frozen one
        there = user in present
    except TypeError:
        raise InvalidInput("user", "must be hashable", user) from None
    if user is None or user is pd.NA or bool(user != user):
        raise InvalidInput("user", "must not be missing", user)
    if there:
        raise InvalidInput("user", "must not be present already", user)


def demand_matrix(demands: Any, argument: str = "demands") -> Named:
    """Give demands as a float array of shape (n, m) with labels; entries are not checked here."""
    shape_rule = "must have shape (n users, m resources)"
    users = resources = None
    demands = in_pandas(demands, argument)
    if isinstance(demands, pd.DataFrame):
        users = labels_of(demands.index, f"{argument}.index")
        resources = labels_of(demands.columns, f"{argument}.columns")
    values = as_floats(demands, argument, (2,), shape_rule)
    if values.shape[0] == 0 or values.shape[1] == 0:
        raise InvalidInput(argument, "must have at least one user and one resource", values.shape)
    return Named(values, users, resources)


def _along(values: Any, size: int, names: Names | None, argument: str, one: str) -> FloatArray:
    values = in_pandas(values, argument)
    if isinstance(values, pd.Series):
        values = reordered(values, names, argument, f"{one}s")
    array = as_floats(values, argument, (1,), f"must have shape ({size},), one entry a {one}")
    if array.shape[0] != size:
        raise InvalidInput(argument, f"must have one entry for each of the {size} {one}s", f"{array.shape[0]} entries")
    return array


def per_user(values: Any, n: int, users: Names | None, argument: str) -> FloatArray:
    """Give one number a user as a float array of shape (n,), names matched with those of the users."""
    return _along(values, n, users, argument, "user")


def per_resource(values: Any, m: int, resources: Names | None, argument: str) -> FloatArray:
    """Give one number a resource as a float array of shape (m,), names matched with those of the resources."""
    return _along(values, m, resources, argument, "resource")


# -------------------------------------------------------------------------------------------- checked input


def _in_range(values: FloatArray) -> bool:
    """Tell whether all are positive and in range, as most are."""
    return bool(values.size and values.min() >= SMALLEST and values.max() <= LARGEST)


def check_demands(values: FloatArray, argument: str = "demands") -> None:
    """Raise InvalidInput at the first entry that is not a valid demand. Cost O(n m)."""
    if _in_range(values):
        return
    check_amounts(values, argument)
    empty = ~(values > 0).any(axis=-1)
    if empty.any():
        index = tuple(int(i) for i in np.argwhere(empty)[0])
        absent = "" if argument == "machines" else " (who asks for nothing is left out)"
        raise InvalidInput(argument, f"must have at least one positive entry{absent}", values[index].tolist(), index)


def phased_demands(demands: Any) -> Named:
    """Check demands that change from phase to phase; a node may sit a phase out.

    Parameters
    ----------
    demands : array_like, shape (T, n, m), or list of DataFrames
        Resource per task, under the rules of :func:`as_demands`, but that a row of zeros means: not present. Phases are
        matched by name with the first.

    Returns
    -------
    Named
        ``values`` float (T, n, m), the callee's own; ``users`` and ``resources`` the labels or None.
    """
    given, users, resources = in_phases(demands, "demands")
    values = as_floats(given, "demands", (3,), "must have shape (T phases, n users, m resources)")
    if 0 in values.shape:
        raise InvalidInput("demands", "must have at least one phase, user and resource", values.shape)
    check_amounts(values, "demands")
    return Named(values, users, resources)


def check_amounts(values: FloatArray, argument: str, *, zero: bool = True) -> None:
    """Raise InvalidInput at the first entry that is not a positive number in range, or zero where that may be."""
    if _in_range(values):
        return
    raise_at_first(~np.isfinite(values), argument, "must be finite", values)
    negative = "must not be negative" if zero else "must be positive"
    raise_at_first(values < 0 if zero else values <= 0, argument, negative, values)
    rule = f"must be {'zero or ' if zero else ''}between {SMALLEST:g} and {LARGEST:g}"
    raise_at_first((values > LARGEST) | ((values > 0) & (values < SMALLEST)), argument, rule, values)


def check_apart(apart: float, argument: str = "weights and demands") -> None:
    """Refuse what doubles cannot tell apart: the largest part of a resource over the smallest, at one level."""
    if not apart < FAR_APART:
        rule = f'must not lie more than {FAR_APART:g} apart where users share a resource; engine="plain" takes them'
        raise InvalidInput(argument, rule, f"{apart:.3g}")


def as_number(value: Any, argument: str, low: float = 0.0, high: float = np.inf) -> float:
    """Check one finite number between two bounds."""
    number = float(as_floats(value, argument, (0,), "must be one number").item())
    if not (math.isfinite(number) and low <= number <= high):
        rule = f"must be finite and at least {low:g}" if high == np.inf else f"must be between {low:g} and {high:g}"
        raise InvalidInput(argument, rule, number)
    return number


def as_whole(value: Any, argument: str, low: int, high: int | None = None) -> int:
    """Check one whole number between two bounds; a float is none, even if it is whole."""
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, np.integer))
        or (not low <= value or (high is not None and value > high))
    ):
        bounds = f"of at least {low}" if high is None else f"from {low} to {high}"
        raise InvalidInput(argument, f"must be a whole number {bounds}", value)
    return int(value)


def check_switch(value: Any, argument: str) -> bool:
    """Give a truth value, Python's or numpy's, as Python's."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidInput(argument, "must be True or False", value)
    return bool(value)


def as_tolerance(rtol: Any) -> float:
    """Check the relative tolerance of a certificate: one that is infinite would certify anything."""
    return as_number(rtol, "rtol", 0.0, 1.0)


def check_positive(values: FloatArray, argument: str) -> None:
    """Raise InvalidInput at the first entry that is not a positive number in range."""
    check_amounts(values, argument, zero=False)


def as_demands(demands: Any, argument: str = "demands") -> Named:
    """Check demands.

    Parameters
    ----------
    demands : array_like or DataFrame, shape (n, m)
        What one task of each user needs of each resource, in the resource's unit: finite, not negative,
        zero or in [1e-75, 1e75], at least one positive entry a row. A DataFrame's index names the users,
        its columns the resources; ``in_pandas`` lists what counts as one.

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
    fairbook.errors.InvalidInput: demands[1] must have at least one positive entry ...got [0.0, 0.0]
    """
    named = demand_matrix(demands, argument)
    check_demands(named.values, argument)
    return named


def as_weights(
    weights: Any,
    n: int,
    users: Names | None = None,
    *,
    m: int | None = None,
    resources: Names | None = None,
    scaled: bool = True,
    argument: str = "weights",
) -> FloatArray:
    """Check weights, and scale them to sum to 1.

    Parameters
    ----------
    weights : array_like, Series or None, shape (n,) or, where ``m`` is given, (n, m)
        Positive numbers in [1e-75, 1e75]; None means equal weights. With shape (n, m) each resource has
        weights of its own and each column is scaled. Names are matched with ``users`` and ``resources``.
    scaled : bool
        Whether they are scaled. Amounts that the users bring into the pool are kept as given.
    """
    if weights is None:
        return np.full(n, 1.0 / n if scaled else 1.0)
    weights = in_pandas(weights, argument)
    if m is not None and number_of_dimensions(weights) == 2:
        values = in_order(demand_matrix(weights, argument), users, resources, argument)
        if values.shape != (n, m):
            raise InvalidInput(argument, f"must have shape ({n},) or ({n}, {m})", values.shape)
    else:
        values = per_user(weights, n, users, argument)
    idle = "must be positive: who takes only what others leave shares what is left in a second call"
    raise_at_first(values == 0, argument, idle, values)
    check_positive(values, argument)
    return values / np.add.reduce(values) if scaled else values  # as sum(axis=0), without its detour


def as_capacities(capacities: Any, m: int, resources: Names | None = None, argument: str = "capacities") -> FloatArray:
    """Check the pool's capacities, shape (m,), positive, in the unit of the demands; None means ones."""
    if capacities is None:
        return np.ones(m)
    values = per_resource(capacities, m, resources, argument)
    check_positive(values, argument)
    return values


def as_positive(value: Any, argument: str) -> float:
    """Check one positive number in range."""
    number = float(as_floats(value, argument, (0,), "must be one number").item())
    if not SMALLEST <= number <= LARGEST:
        check_positive(np.array(number), argument)
    return number


def as_max_tasks(max_tasks: Any, n: int, users: Names | None = None, argument: str = "max_tasks") -> FloatArray:
    """Check task bounds, shape (n,): from 0 to 1e75, or ``inf`` for no bound; None means no bounds."""
    if max_tasks is None:
        return np.full(n, np.inf)
    values = per_user(max_tasks, n, users, argument)
    check_bounds(values, argument)
    return values


def check_bounds(values: FloatArray, argument: str = "max_tasks") -> None:
    """Raise InvalidInput at the first entry that is no bound on tasks."""
    raise_at_first(np.isnan(values), argument, "must be a number", values)
    raise_at_first(values < 0, argument, "must not be negative", values)
    raise_at_first(
        np.isfinite(values) & (values > LARGEST), argument, f"must be at most {LARGEST:g} or infinite", values
    )
