"""Names of users, resources and machines: what carries them, and how two sides that have some are matched."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from fairbook.errors import InvalidInput

Names = tuple[Hashable, ...]

#: Kinds of rows, and of entries, that carry no names.
BARE = frozenset((list, tuple, int, float, np.ndarray, np.float64, np.int64))


def in_pandas(values: Any, argument: str) -> Any:
    """Give what carries names as a Series or a frame, and all else as it is.

    Names carry: pandas; a dict; rows that are dicts or Series, in a list; a table that gives its columns by name, as
    those of polars and Arrow do; and what has ``coords`` and ``to_pandas()``, as the arrays of xarray do. Where nothing
    else names the rows of a table, a first column of text does.
    """
    if type(values) is np.ndarray or (type(values) in (list, tuple) and BARE.issuperset(map(type, values))):
        return values
    try:
        found = _named(values, argument)
    except InvalidInput:
        raise
    except Exception as error:  # whatever a foreign container raises
        raise InvalidInput(argument, f"must be a table that can be read, but {error}", values) from None
    if isinstance(found, pd.DataFrame) and found.shape[1] and isinstance(found.index, pd.RangeIndex):
        first = found.iloc[:, 0]
        if pd.api.types.infer_dtype(first) == "string":
            found = found.iloc[:, 1:].set_axis(pd.Index(first), axis=0)
    return found


def _named(values: Any, argument: str) -> Any:
    if isinstance(values, Mapping):
        return pd.Series(values)
    if isinstance(values, (list, tuple)):
        rows = [row if type(row) in BARE else in_pandas(row, argument) for row in values]
        named = sum(isinstance(row, pd.Series) for row in rows)
        if 0 < named < len(rows):
            raise InvalidInput(argument, "must have names in all rows, or in none", values)
        return pd.DataFrame(rows) if named else values
    if isinstance(values, (pd.Series, pd.DataFrame)) or not hasattr(values, "__array__"):
        return values  # what numpy cannot look through is refused later
    if hasattr(values, "to_pandas") and (hasattr(values, "coords") or hasattr(values, "iloc")):
        return values.to_pandas() if np.ndim(values) else values
    columns = getattr(values, "column_names", getattr(values, "columns", None))  # Arrow's columns are no names
    if columns is None:
        return values
    labels_of(pd.Index(columns), f"{argument}.columns")
    return pd.DataFrame({name: np.asarray(values[name]) for name in columns}, getattr(values, "index", None))


def labels_of(index: pd.Index, argument: str) -> Names:
    """Give the labels of an axis, none missing and none repeated."""
    try:
        hash(tuple(index))
        if index.has_duplicates or pd.isna(np.asarray(index, dtype=object)).any():
            repeated = index[index.duplicated()].unique().tolist()
            raise InvalidInput(argument, "must be unique and not missing", repeated or list(index))
    except TypeError:  # labels that cannot be compared
        raise InvalidInput(argument, "must be hashable", list(index)) from None
    return tuple(index)


def order_of(labels: Names | None, wanted: Names | None, argument: str, what: str) -> list[int] | None:
    """Give the places at which labels hold the names wanted, in their order.

    None where nothing moves: the labels agree already, or are none, or mere positions, and so lose no name. Labels that
    nothing goes by are refused.
    """
    if labels is None or labels == wanted:
        return None
    place = {label: i for i, label in enumerate(labels)}
    if wanted is not None and place.keys() == set(wanted):
        return [place[name] for name in wanted]
    if labels == tuple(range(len(labels))):
        return None
    if wanted is None or wanted == tuple(range(len(wanted))):
        rule = f"must not name {what} that have no names elsewhere: name them there, too"
        how = "(columns, index or first text column of a table), or give plain numbers"
        raise InvalidInput(argument, f"{rule} {how}", list(labels))
    raise InvalidInput(
        argument,
        f"must name the same {what}, no more and no fewer",
        {"missing": [name for name in wanted if name not in place], "unknown": list(place.keys() - set(wanted))},
    )


def reordered(values: pd.Series, wanted: Names | None, argument: str, what: str) -> pd.Series:
    """Put a Series in the order of the names of ``what``; mere positions count."""
    rows = order_of(labels_of(values.index, f"{argument}.index"), wanted, f"{argument}.index", what)
    return values if rows is None else values.iloc[rows]
