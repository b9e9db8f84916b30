"""Every public entry point against every kind of bad value: a clear refusal or a right answer, and nothing else."""

import inspect
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairbook as fb
from book.common import results, tables
from fairbook import metrics
from fairbook.mechanisms.rows import registry
from tests.bad_inputs import ENTRIES, Entry, Row, rows
from tests.bad_inputs_exempt import NO_ENTRY, exempt
from tests.bad_values import SAME

BY_NAME = {entry.name: entry for entry in ENTRIES}


def said(answer: Any) -> str:
    """Give an answer as text, all digits of it."""
    return str(answer.to_frame().to_csv() if hasattr(answer, "to_frame") and callable(answer.to_frame) else answer)


def _outcome(entry: Entry, arguments: dict[str, Any]) -> tuple[str, Any]:
    """Call, warnings being errors; anything but fairbook's own refusal is told by its type."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return "answered", entry.call(**arguments)
        except fb.InvalidInput as error:
            return "refused", error
        except Exception as error:
            return type(error).__name__, error


def _complaint(row: Row, usual: str) -> str | None:
    """Say what is wrong with what became of a row, or None."""
    given = row.make(row.entry.good[row.argument])
    before = None if row.refused else np.array(given, dtype=object).tolist()
    outcome, found = _outcome(row.entry, {**row.entry.good, row.argument: given})
    if outcome not in ("answered", "refused"):
        return f"{outcome}: {found}"
    if not row.refused:
        if outcome == "refused":
            return None if exempt(row) else f"refused: {found}"
        if np.array(given, dtype=object).tolist() != before:
            return "wrote into what was given"
        return None if said(found) == usual else "another answer"
    if exempt(row):
        return None
    if outcome == "answered":
        return f"accepted: {said(found)[:80]}"
    if not found.where.startswith(row.argument):
        return f"names {found.where}, not {row.argument}"
    if not found.rule or not hasattr(found, "value") or len(str(found)) > 300 or "\n" in str(found):
        return f"says too little, or too much: {str(found)[:80]}"
    return None


@pytest.mark.parametrize("name", list(BY_NAME))
def test_bad_values_are_refused_by_name_and_odd_ones_understood(name: str) -> None:
    entry = BY_NAME[name]
    before = pickle.dumps(entry.good)
    outcome, answer = _outcome(entry, entry.good)
    assert outcome == "answered", answer
    usual = said(answer)
    complaints = {(row.argument, row.kind): found for row in rows(entry) if (found := _complaint(row, usual))}
    assert complaints == {}
    assert pickle.dumps(entry.good) == before  # nobody wrote into what was given


@pytest.mark.parametrize("engine", ["fast", "plain"])
@pytest.mark.parametrize("name", [*registry, "grant_tasks"])
def test_what_changes_afterwards_changes_no_result(name: str, engine: str) -> None:
    entry = BY_NAME[name]
    given = {argument: np.array(value) for argument, value in entry.good.items() if isinstance(value, list)}
    given = {argument: array.astype(float) for argument, array in given.items() if array.dtype.kind in "if"}
    assert given
    for kind in (np.asarray, lambda array: pd.DataFrame(array) if array.ndim == 2 else array):
        handed = {argument: kind(array.copy()) for argument, array in given.items()}
        result = entry.call(**{**entry.good, **handed, "engine": engine})
        told = _told(result)
        for value in handed.values():
            value[:] = 7
        assert _told(result) == told


def _told(result: Any) -> list[Any]:
    return [result.to_dict(), str(result.to_frame()), *map(result.explain, result.users), result.violations()]


# ------------------------------------------------------------------------------------------------ completeness


def public() -> Iterator[tuple[str, Any]]:
    """List what can be called: functions, classes, their public methods with arguments, and the rooms of measures."""
    for name in fb.__all__:
        thing = getattr(fb, name)
        if inspect.isclass(thing):
            yield name, thing
            for method, function in inspect.getmembers(thing, callable):
                if not method.startswith("_") and not issubclass(thing, BaseException):
                    parameters = set(inspect.signature(function).parameters) - {"self"}
                    if parameters:
                        yield f"{name}.{method}", function
        elif callable(thing):
            yield name, thing
    for room in (metrics, tables, results):
        for name in room.__all__:
            yield f"{room.__name__.rpartition('.')[2]}.{name}", getattr(room, name)


def test_every_public_callable_has_its_rows() -> None:
    known = set(BY_NAME) | set(NO_ENTRY)
    names = [name for name, _ in public()]
    assert [name for name in names if name not in known] == []
    assert [name for name in NO_ENTRY if name not in names] == []
    assert len(names) > 80


def test_every_argument_has_its_rows() -> None:
    """But the names of arguments that go on to a checked one."""
    passed_on = {
        ("CbDrf", "rule"),
        ("drf_by_task", "running"),
        ("CbDrf", "terms"),
        ("results.load", "check"),
        ("results.load_facts", "check"),
        ("tables.myst", "caption"),
        ("tables.myst", "name"),
    }
    missing = [
        (name, argument)
        for name, function in public()
        if name in BY_NAME
        for argument in inspect.signature(function).parameters
        if argument not in ("self", "engine", *BY_NAME[name].sorts) and (name, argument) not in passed_on
    ]
    assert missing == []


# ------------------------------------------------------------------------------------------- names, and the rest

ODD_NAMES = {
    "levels": pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]),
    "tuples": pd.Index([("a", 1), ("b", 2), ("c", 3)], tupleize_cols=False),
    "control characters": ["\x1b[2J", "a\nb", "\0"],
    "very long": ["x" * 100_000, "y", "z"],
    "not ASCII": ["\u00e4", "\u4e2d", "\ud800"],
    "formulas": ["=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0"],
    "numbers and texts": [1, "1", 1.5],
    "dates": pd.date_range("2020", periods=3),
    "categories": pd.CategoricalIndex(["a", "b", "c"]),
    "intervals": pd.IntervalIndex.from_breaks([0, 1, 2, 3]),
}
NAMED = [name for name, entry in BY_NAME.items() if entry.sorts.get("demands") == "demands"]


@pytest.mark.parametrize("name", NAMED)
def test_any_names_will_do_and_come_back(name: str) -> None:
    entry = BY_NAME[name]
    for kind, names in ODD_NAMES.items():
        frame = pd.DataFrame(entry.good["demands"], index=names, columns=["cpu", "memory"])
        outcome, answer = _outcome(entry, {**entry.good, "demands": frame})
        assert outcome == "answered", (kind, answer)
        if hasattr(answer, "to_frame"):
            assert list(answer.to_frame().index) == list(frame.index), kind
            if hasattr(answer, "explain"):
                assert str(frame.index[0]) in answer.explain(frame.index[0])


@pytest.mark.parametrize("name", BY_NAME)
def test_numbers_far_apart_are_refused_or_computed(name: str) -> None:
    """No warning, no foreign error, no NaN, whatever fits the stated range."""
    entry = BY_NAME[name]
    rng = np.random.default_rng(7)
    pools = ([1e75, 1e-75], [1e-75], [1e75], [1.0, 1e75], [1.0, 1e-75], [1.0, 2.0**53, 2.0**60], [0.0, 1.0, 1e75])

    def drawn(value: Any, pool: list[float]) -> Any:
        return [drawn(one, pool) for one in value] if isinstance(value, list) else float(rng.choice(pool))

    for pool in pools:
        given = dict(entry.good)
        for argument, sort in entry.sorts.items():
            if sort in SAME and rng.random() < 0.6:
                given[argument] = drawn(given[argument], pool)
        outcome, found = _outcome(entry, given)
        assert outcome in ("answered", "refused", "FairbookError"), found
        if outcome == "answered" and hasattr(found, "to_frame"):
            assert not found.to_frame().isna().any(axis=None)
            assert not hasattr(found, "violations") or found.violations() == []
