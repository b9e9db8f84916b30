"""What every result has: the names of its users and resources, and a form for JSON."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property
from html import escape
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from fairbook.errors import InvalidInput
from fairbook.model.inputs import FloatArray, Names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Result", "plain", "unsound", "use_columns"]

_MAX = float(np.finfo(np.float64).max)
#: What arrays of results hold: in words, their dtypes, the least number and the largest; NaN is none of them.
_HOLDS: dict[str, tuple[str, str, float, float]] = {
    "number": ("finite numbers", "iuf", -_MAX, _MAX),
    "amount": ("finite numbers from 0 on", "iuf", 0, _MAX),
    "size": ("positive finite numbers", "iuf", 5e-324, _MAX),
    "part": ("numbers from 0 to 1", "iuf", 0, 1),
    "bound": ("numbers from 0 on", "iuf", 0, np.inf),
    "told": ("numbers", "iuf", -np.inf, np.inf),
    "place": ("whole numbers", "iu", -np.inf, np.inf),
    "whole": ("whole numbers from 0 on", "iu", 0, np.inf),
    "count": ("whole numbers from 1 on", "iu", 1, np.inf),
    "truth": ("truth values", "b", 0, 1),
}


class Result:
    """A result of a mechanism, with ``named_users`` and ``named_resources``, or None where they came without names.

    Every result has ``users``, ``use``, ``slack``, ``to_frame()``, ``explain(user)``, ``violations(rtol)`` and
    :meth:`to_dict`; kinds of results add to that. What an empty list of ``violations()`` says is in ``certificate``, a
    sentence that begins with *proved*: the result is right, by its numbers alone; *consistent*: it fits, and keeps the
    promises named; or *repeated*: the code that made it, run again, gives the same.

    Where there are resources, ``to_frame()`` has for each of them a column ``use_<resource>`` with what the user has in
    use, in the unit of the capacities, and in ``dominant`` the one of which the user has the largest part. A
    subclass is a dataclass and gives ``_shape``.
    """

    #: Attributes that hold names, which ``to_dict()`` gives first.
    names: ClassVar[tuple[str, ...]] = ("users", "resources")
    #: For each array a letter for each of its sizes, those that go first say how large they are, and what it holds.
    arrays: ClassVar[dict[str, str]] = {}

    if TYPE_CHECKING:
        named_users: Names | None
        named_resources: Names | None

        @property
        def use(self) -> Any: ...

        @property
        def slack(self) -> Any: ...

        @property
        def certificate(self) -> str: ...

        def to_frame(self) -> pd.DataFrame: ...

    def __repr__(self) -> str:
        """Give one line that says what it is, and the first and last rows of ``to_frame()``: at most 12 lines."""
        table = self.to_frame().to_string(max_rows=8, max_cols=7, float_format="{:.6g}".format)
        return printable(f"{self._title()}\n{table}")

    def __eq__(self, other: object) -> bool:
        """Say whether both are of one kind with the same numbers and names, digit for digit; NaN is as NaN."""
        return _same(self, other) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self), self.users))

    def _repr_html_(self) -> str:
        """Show it in a notebook as a table."""
        table = self.to_frame().to_html(max_rows=20, float_format="{:.6g}".format, border=0)
        return printable(f"<p>{escape(self._title())}</p>\n{table}")

    def _title(self) -> str:
        return f"{type(self).__name__}: " + ", ".join(f"{len(getattr(self, name))} {name}" for name in self.names[:2])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw it; needs matplotlib. See :func:`fairbook.model.plots.plot`."""
        from fairbook.model.plots import plot

        return plot(self, ax)

    @property
    def _shape(self) -> tuple[int, int]:
        """Users and resources, n and m."""
        raise NotImplementedError

    @property
    def users(self) -> Names:
        """Names of the users, or their positions."""
        return labels_or_positions(self.named_users, self._shape[0])

    @property
    def resources(self) -> Names:
        """Names of the resources, or their positions."""
        return labels_or_positions(self.named_resources, self._shape[1])

    @cached_property
    def _rows(self) -> dict[Hashable, int]:
        """Row of each user."""
        return {name: i for i, name in enumerate(self.users)}

    def _row(self, user: Hashable) -> int:
        """Give the row of a user, or raise InvalidInput."""
        try:
            return self._rows[user]
        except (KeyError, TypeError):
            raise InvalidInput("user", "must be one of the users", user) from None

    def to_dict(self) -> dict[str, Any]:
        """Give all numbers under their names, ready for JSON: arrays become lists, what is not finite None."""
        return {
            **{name: plain(getattr(self, name)) for name in self.names},
            **_stored(self),
            "use": plain(self.use),
            "slack": plain(self.slack),
        }


def unsound(result: Any) -> list[str]:
    """List the arrays of a result (where they are not None) whose shape or numbers make no sense, and no others."""
    found, sizes = list[str](), {"1": 1, "3": 3}
    for name, said in result.arrays.items():
        letters, kind = said.split(" ")
        words, types, low, high = _HOLDS[kind]
        values = np.asarray(attrgetter(name)(result))
        if values[()] is None:
            continue
        for letter, size in zip(letters, values.shape, strict=False):
            sizes.setdefault(letter, size)
        if values.shape not in [tuple(map(sizes.get, one)) for one in letters.split("|")]:
            found.append(f"{name} has shape {values.shape}")
        elif values.dtype.kind not in types or not ((values >= low) & (values <= high)).all():
            found.append(f"{name} does not hold {words}")
    return found


def _stored(result: Any) -> dict[str, Any]:
    """Give the fields of a dataclass, and those of one that it holds, as JSON knows them; labels are left out."""
    told: dict[str, Any] = {}
    for one in fields(result):
        value = getattr(result, one.name)
        if is_dataclass(value):
            told |= _stored(value)
        elif not one.name.startswith("named_") and not callable(value):
            told[one.name] = plain(value)
    return told


def _same(one: Any, other: Any) -> bool:
    """Compare two values of a field; functions, which say only how to judge, are not compared."""
    if type(one) is not type(other):
        return False
    if is_dataclass(one):
        return all(_same(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    return callable(one) or bool(one == other) or bool(one != one and other != other)


def plain(value: Any) -> Any:
    """Turn arrays, numbers and names into what JSON knows; names that it does not know become texts."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def printable(text: str) -> str:
    """Show control characters, and whatever else cannot be seen, as escapes; ends of lines stay."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def called(name: Hashable, kind: str = "user") -> str:
    """Say who, or what, it is: a mere position is told as such."""
    return f"{kind} {name}" if isinstance(name, int) else str(name)


def labels_or_positions(names: Names | None, count: int) -> Names:
    """Give the labels, or the positions where there are none."""
    return names if names is not None else tuple(range(count))


def labelled(names: Sequence[Hashable], title: str) -> pd.Index:
    """Give an index of these names; those that are tuples stay one level."""
    return pd.Index(names, name=title, tupleize_cols=False)


def position(user: Hashable, users: Sequence[Hashable]) -> int:
    """Give the row of a user, or raise InvalidInput."""
    try:
        hash(user)  # no list, array or matrix is a name
        return list(users).index(user)
    except (TypeError, ValueError):
        raise InvalidInput("user", "must be one of the users", user) from None


def use_columns(amounts: FloatArray, demands: FloatArray, capacities: Any, resources: Names) -> dict[str, Any]:
    """Give columns for a frame: what each user has in use of each resource, and which of them is its dominant one.

    ``amounts`` and ``demands`` are of shape (..., n, m), ``capacities`` (m,) or a number; the columns are (..., n). The
    dominant resource is that of the largest part in use, or of the largest demanded where nothing is in use; the first
    of several. None where nothing is demanded.
    """
    shown = np.where((amounts > 0).any(axis=-1, keepdims=True), amounts, demands)
    part = np.divide(shown, capacities, out=np.zeros_like(shown), where=np.asarray(capacities) > 0)
    names = np.empty(len(resources) + 1, dtype=object)
    names[:-1] = resources
    largest = np.where((part > 0).any(axis=-1), part.argmax(axis=-1), -1)
    return {**{f"use_{name}": amounts[..., j] for j, name in enumerate(resources)}, "dominant": names[largest]}
