"""Kinds of bad values, and of odd ones that mean the same, by the sort of argument to which they are given."""

import copy
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

LONG = "x" * 100_000


class _Loud:
    """An object that has no business in a computation and shouts if anything but its repr is used."""

    def __repr__(self) -> str:
        return "<something else>"


def _with(value: Any) -> Callable[[Any], Any]:
    """Put a value into the last place of nested lists."""

    def make(good: Any) -> Any:
        made = copy.deepcopy(good)
        inner = made
        while isinstance(inner[-1], list):
            inner = inner[-1]
        inner[-1] = value
        return made

    return make


def _always(value: Any) -> Callable[[Any], Any]:
    return lambda good: value


def _as(kind: Any) -> Callable[[Any], Any]:
    return lambda good: np.array(good, dtype=kind)


def _nullable(good: Any) -> Any:
    holder = pd.DataFrame if isinstance(good[0], list) else pd.Series
    made = holder(np.array(good)).astype("Float64")
    made.iloc[(-1,) * np.ndim(good)] = pd.NA
    return made


def _pandas(kind: Any) -> Callable[[Any], Any]:
    """Put what is given into a series, a frame, or a frame for each phase, with entries of a kind."""

    def make(good: Any) -> Any:
        if np.ndim(good) == 3:
            return [make(phase) for phase in good]
        return (pd.DataFrame if np.ndim(good) == 2 else pd.Series)(np.array(good)).astype(kind)

    return make


def _repeated(good: Any) -> Any:
    return (pd.DataFrame if np.ndim(good) == 2 else pd.Series)(np.array(good), index=["ann"] * len(good))


def _missing_name(good: Any) -> Any:
    names = [None, *range(len(good) - 1)]
    return (pd.DataFrame if np.ndim(good) == 2 else pd.Series)(np.array(good), index=pd.Index(names, dtype=object))


def _read_only(good: Any) -> Any:
    made = np.array(good, dtype=float)
    made.flags.writeable = False
    return made


NEVER_NUMBERS: dict[str, Callable[[Any], Any]] = {
    "a text": _always("1"),
    "bytes": _always(b"\x01\x02"),
    "an object": _always(_Loud()),
    "a dict": _always({"a": 1}),
    "a set": _always({1.0, 2.0}),
    "a generator": lambda good: (x for x in good),
    "many, of no use": lambda good: np.full((40, 50, 3, 3, 3), np.nan),
    "a frame of no use": lambda good: pd.DataFrame([["x"] * 50] * 40),
    "empty": _always([]),
    "NaN": _with(float("nan")),
    "negative": _with(-1.0),
    "minus infinity": _with(-np.inf),
    "text inside": _with("1"),
    "None inside": _with(None),
    "an object inside": _with(_Loud()),
    "complex inside": _with(1j),
    "a huge whole number inside": _with(10**400),
    "a date inside": _with(np.datetime64("2026-01-01")),
    "ragged": lambda good: [*good, [1.0] * 7],
    "masked arrays in a list": lambda good: [np.ma.array(row, mask=np.ones_like(row)) for row in good],
    "one dimension more": lambda good: [good, good],
    "truth values": lambda good: np.ones(np.shape(good), dtype=bool),
    "complex": _as(complex),
    "texts": lambda good: np.array(good).astype(str),
    "missing in a pandas dtype": _nullable,
    "one dimension less": lambda good: good[0],
    "one dimension more inside": lambda good: np.array(good)[..., None].tolist(),
    "dates": lambda good: np.zeros(np.shape(good), dtype="datetime64[D]"),
    "texts in pandas": _pandas(str),
    "truth values in pandas": _pandas(bool),
    "truth values in a pandas dtype": lambda good: _pandas("boolean")(np.ones_like(good)),
}

OUTSIDE = {
    "infinite inside": _with(np.inf),
    "subnormal inside": _with(5e-324),
    "below the range inside": _with(1e-76),
    "above the range inside": _with(1e76),
}
POSITIVE = OUTSIDE | {"zero inside": _with(0.0)}

ONE_ENTRY_MORE = {"one entry too many": lambda good: [*good, good[-1]], "one entry too few": lambda good: good[:-1]}

ONE_NUMBER: dict[str, Callable[[Any], Any]] = {
    "a text": _always("1"),
    "an object": _always(_Loud()),
    "None": _always(None),
    "NaN": _always(float("nan")),
    "negative": _always(-1.0),
    "infinite": _always(np.inf),
    "a truth value": _always(True),
    "complex": _always(1j),
    "a huge whole number": _always(10**400),
    "a list": _always([1.0, 2.0]),
    "a missing value": _always(pd.NA),
}

BAD: dict[str, dict[str, Callable[[Any], Any]]] = {
    # demands (n, m): at least one positive entry a row
    "demands": NEVER_NUMBERS
    | OUTSIDE
    | {
        "None": _always(None),
        "a row of zeros": lambda good: [*good[:-1], [0.0] * len(good[0])],
        "no rows": lambda good: np.zeros((0, 2)),
        "no columns": lambda good: np.zeros((2, 0)),
        "names twice": _repeated,
        "a name missing": _missing_name,
    },
    # capacities of machines (K, m), where a row of zeros means as little
    "machines": NEVER_NUMBERS
    | OUTSIDE
    | {
        "None": _always(None),
        "a row of zeros": lambda good: [*good[:-1], [0.0] * len(good[0])],
        "a resource that no machine has": lambda good: [[row[0], 0.0] for row in good],
        "no rows": lambda good: np.zeros((0, 2)),
        "one column too many": lambda good: [[*row, 1.0] for row in good],
    },
    "positive": NEVER_NUMBERS | POSITIVE | ONE_ENTRY_MORE | {"names twice": _repeated, "a name missing": _missing_name},
    "contributed": NEVER_NUMBERS | POSITIVE | ONE_ENTRY_MORE | {"None": _always(None)},
    "amounts": NEVER_NUMBERS | {"infinite inside": _with(np.inf)} | ONE_ENTRY_MORE,
    "bounds": NEVER_NUMBERS | ONE_ENTRY_MORE | {"names twice": _repeated},
    "counts": NEVER_NUMBERS | ONE_ENTRY_MORE | {"infinite inside": _with(np.inf), "a fraction inside": _with(1.5)},
    "a bounded number": ONE_NUMBER,
    "a count": ONE_NUMBER | {"a fraction": _always(1.5), "a whole float": _always(2.0)},
    "a choice": {
        "another word": _always("no such thing"),
        "empty": _always(""),
        "None": _always(None),
        "a number": _always(1),
        "a list": _always(["a"]),
        "an array": lambda good: np.array(["a", "b"]),
        "very long": _always(LONG),
    },
    "a user": {
        "unknown": _always("nobody"),
        "control characters": _always("\x1b[2J\n"),
        "unhashable": _always(["ann"]),
        "a negative position": _always(-1),
        "a position too far": _always(10**30),
        "NaN": _always(float("nan")),
        "NA": _always(pd.NA),
        "a set": _always({1, 2}),
        "an array": lambda good: np.array([0, 1]),
        "a frame": lambda good: pd.DataFrame([[0, 1]]),
    },
    "a flag": {"a text": _always("yes"), "None": _always(None), "a number": _always(2), "a list": _always([])},
}

#: Odd, and with the same meaning.
SAME: dict[str, dict[str, Callable[[Any], Any]]] = {
    "an array": {
        "read-only": _read_only,
        "Fortran order": lambda good: np.asfortranarray(np.array(good, dtype=float)),
        "tuples": lambda good: tuple(tuple(x) if isinstance(x, list) else x for x in good),
        "objects": _as(object),
        "decimals": lambda good: [[Decimal(x) for x in r] if isinstance(r, list) else Decimal(r) for r in good],
        "fractions": lambda good: [[Fraction(x) for x in r] if isinstance(r, list) else Fraction(r) for r in good],
        "arrays in a list": lambda good: [np.array(row) for row in good],
        "sparse": _pandas(pd.SparseDtype(float, 0.0)),
        "numbers in pandas": _pandas(float),
        "numbers in a pandas dtype": _pandas("Float64"),
    },
}


def _but(sort: str, *kinds: str) -> dict[str, Callable[[Any], Any]]:
    return {kind: make for kind, make in BAD[sort].items() if kind not in kinds}


_NAMES: dict[str, Callable[[Any], Any]] = {
    "zero": _always(0),
    "negative": _always(-1),
    "a huge whole number": _always(10**30),
    "a truth value": _always(True),
    "None": _always(None),
    "a text": _always("ab"),
    "twice": _always(["a", "a"]),
    "unhashable": _always([["a"]]),
    "a missing name": _always([None, "a"]),
    "NaN": _always([float("nan"), "b"]),
    "empty": _always([]),
    "a float": _always(2.0),
    "an object": _always(_Loud()),
    "a set": _always({"a", "b"}),
    "a dict": _always({"a": 1}),
    "a truth value inside": _always([True, 1]),
    "unhashable within": _always([("a", [1])]),
    "a series": _always(pd.Series(["a", "b"])),
    "twice in an index": _always(pd.Index(["a", "a"])),
}

BAD |= {
    "phases": _but("demands", "a row of zeros", "names twice", "a name missing", "missing in a pandas dtype"),
    "amounts of users": _but("demands", "a row of zeros"),
    "positive or zero": BAD["amounts"],
    "numbers of machines": BAD["counts"] | {"zero inside": _with(0.0), "too many in all": _with(1e8)},
    "own positive": _but("positive", "a dict", *ONE_ENTRY_MORE),  # nothing says how many there must be
    "own amounts": _but("amounts", "a dict", *ONE_ENTRY_MORE),
    "an optional number": _but("a bounded number", "None"),
    "any number": _but("a bounded number", "negative", "infinite"),
    "an optional count": _but("a count", "None"),
    "names": _NAMES,
    "optional names": {kind: make for kind, make in _NAMES.items() if kind != "None"},
    "a new user": {
        "unhashable": _always(["x"]),
        "a set": _always({1, 2}),
        "there already": _always("ann"),
        "NaN": _always(float("nan")),
        "NA": _always(pd.NA),
        "an array": _always(np.array([1, 2])),
    },
    "steps": {
        "a text": _always("1"),
        "an object": _always(_Loud()),
        "empty": _always([]),
        "zero": _always([0]),
        "too far": _always([4]),
        "a float": _always([1.0]),
        "a truth value": _always([True]),
        "nested": _always([[1]]),
        "NaN": _always([float("nan")]),
        "complex": _always([1j]),
    },
    "a table": {"None": _always(None), "a list": _always([[1]]), "no rows": lambda good: good.iloc[:0]},
    "a name of a result": _but("a choice")
    | {"another folder": _always("../x"), "hostile": _always("a/$(touch x)"), "a null byte": _always("a/b\0")},
}
SAME |= dict.fromkeys(
    (
        "demands",
        "machines",
        "positive",
        "contributed",
        "amounts",
        "bounds",
        "counts",
        "amounts of users",
        "numbers of machines",
        "positive or zero",
        "own positive",
        "own amounts",
    ),
    SAME["an array"],
)
SAME["phases"] = {
    kind: make for kind, make in SAME["an array"].items() if kind not in ("sparse", "decimals", "fractions")
}
