"""What every public entry point does with input: InvalidInput names the argument, and nothing else comes out."""

from __future__ import annotations

import contextlib
import datetime
import math
import types
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairbook as fb
from book.common import oracle_drf as drf_oracle
from book.dmfa_srq import oracle as srq_oracle
from book.dmfa_srq import printed
from fairbook.mechanisms import dmfa_srq as engine
from fairbook.model import exact, inputs
from tests.strategies import REPEATABLE

DEMANDS = [[1.0, 2.0], [2.0, 1.0]]
WEIGHTS = [1.0, 3.0]

# ------------------------------------------------------------------------------------- what can be handed in

Call = Callable[[Any], Any]

#: Every entry point as a function of its demands, with the others right.
TAKE_DEMANDS: dict[str, Call] = {
    "drf": lambda d: fb.drf(d),
    "drf, bounds": lambda d: fb.drf(d, WEIGHTS, [3, 3], [1, 2]),
    "drf, weights a resource": lambda d: fb.drf(d, [[1, 2], [3, 4]]),
    "drf_by_task": lambda d: fb.drf_by_task(d, max_tasks=[3, 3]),
    "dynamic_drf": lambda d: fb.dynamic_drf(d),
    "dmfa_srq": lambda d: fb.dmfa_srq(d, WEIGHTS),
    "static_optimum": lambda d: fb.static_optimum(d, WEIGHTS),
    "as_demands": lambda d: inputs.as_demands(d),
    "lp_levels": lambda d: srq_oracle.lp_levels(d, WEIGHTS),
    "decimal_levels": lambda d: srq_oracle.decimal_levels(d, WEIGHTS),
    "leximin_tasks": lambda d: drf_oracle.leximin_tasks(d),
}
#: The exact ones also take texts such as "1/3".
TAKE_EXACT_DEMANDS: dict[str, Call] = {
    "exact_levels": lambda d: engine.exact_levels(d, WEIGHTS),
    "oracle exact_levels": lambda d: srq_oracle.exact_levels(d, WEIGHTS),
    "exact_tasks": lambda d: drf_oracle.exact_tasks(d),
}
TAKE_WEIGHTS: dict[str, Call] = {
    "drf": lambda w: fb.drf(DEMANDS, w),
    "drf, bounds": lambda w: fb.drf(DEMANDS, w, [3, 3], [1, 2]),
    "drf_by_task": lambda w: fb.drf_by_task(DEMANDS, w),
    "dmfa_srq": lambda w: fb.dmfa_srq(DEMANDS, w),
    "static_optimum": lambda w: fb.static_optimum(DEMANDS, w),
    "as_weights": lambda w: inputs.as_weights(w, 2),
    "lp_levels": lambda w: srq_oracle.lp_levels(DEMANDS, w),
    "decimal_levels": lambda w: srq_oracle.decimal_levels(DEMANDS, w),
    "leximin_tasks": lambda w: drf_oracle.leximin_tasks(DEMANDS, w),
}
TAKE_EXACT_WEIGHTS: dict[str, Call] = {
    "exact_levels": lambda w: engine.exact_levels(DEMANDS, w),
    "oracle exact_levels": lambda w: srq_oracle.exact_levels(DEMANDS, w),
    "exact_tasks": lambda w: drf_oracle.exact_tasks(DEMANDS, w),
}
TAKE_CAPACITIES: dict[str, Call] = {
    "drf": lambda c: fb.drf(DEMANDS, None, c),
    "drf_by_task": lambda c: fb.drf_by_task(DEMANDS, None, c),
    "leximin_tasks": lambda c: drf_oracle.leximin_tasks(DEMANDS, None, c),
}
TAKE_BOUNDS: dict[str, Call] = {
    "drf": lambda b: fb.drf(DEMANDS, None, None, b),
    "drf_by_task": lambda b: fb.drf_by_task(DEMANDS, None, None, b),
    "leximin_tasks": lambda b: drf_oracle.leximin_tasks(DEMANDS, None, None, b),
}


def holds_itself() -> list[Any]:
    strange: list[Any] = []
    strange.append(strange)
    return strange


#: Made anew for each use: generators are used up.
BAD_DEMANDS: dict[str, Callable[[], Any]] = {
    "nan": lambda: [[1, math.nan], [1, 1]],
    "infinity": lambda: [[1, math.inf], [1, 1]],
    "minus infinity": lambda: np.array([[1, -np.inf], [1, 1]]),
    "negative": lambda: [[1, -1e-300], [1, 1]],
    "all-zero row": lambda: [[1, 1], [0, 0]],
    "all zero": lambda: np.zeros((2, 2)),
    "minus zero": lambda: [[1, 1], [-0.0, -0.0]],
    "denormal": lambda: [[1, 5e-324], [1, 1]],
    "too small": lambda: [[1, 1e-76], [1, 1]],
    "too large": lambda: np.array([[1, 1e76], [1, 1]]),
    "whole number beyond a double": lambda: [[1, 10**400], [1, 1]],
    "one dimension": lambda: [1.0, 2.0],
    "no dimension": lambda: 3.0,
    "no dimension, array": lambda: np.array(3.0),
    "three dimensions": lambda: np.ones((2, 2, 2)),
    "four dimensions": lambda: np.ones((1, 2, 2, 2)),
    "empty": lambda: [],
    "no users": lambda: np.zeros((0, 2)),
    "no resources": lambda: np.zeros((2, 0)),
    "empty frame": lambda: pd.DataFrame(),
    "ragged": lambda: [[1, 2], [1]],
    "ragged deeper": lambda: [[1, [2]], [1, 2]],
    "none": lambda: None,
    "none inside": lambda: [[1, None], [1, 1]],
    "text that is no number": lambda: [["a", "b"], ["c", "d"]],
    "a text": lambda: "1 2",
    "bytes": lambda: b"12",
    "truth values": lambda: [[True, False], [True, True]],
    "one truth value": lambda: [[1.0, True], [1, 1]],
    "one numpy truth value": lambda: [[1.0, np.True_], [1, 1]],
    "row of truth values": lambda: [np.array([True, True]), [1, 1]],
    "array of truth values": lambda: np.ones((2, 2), dtype=bool),
    "complex": lambda: [[1, 2j], [1, 1]],
    "complex array": lambda: np.ones((2, 2), dtype=complex),
    "complex objects": lambda: np.array([[1, np.complex64(2 + 1j)], [1, 1]], dtype=object),
    "dict": lambda: {"a": [1, 2], "b": [2, 1]},
    "set": lambda: {1, 2},
    "generator": lambda: ([1, 2] for _ in range(2)),
    "range of rows": lambda: iter([[1, 2], [2, 1]]),
    "object": object,
    "objects inside": lambda: [[object(), 1], [1, 1]],
    "dicts inside": lambda: [[{}, 1], [1, 1]],
    "module": lambda: types,
    "function": lambda: len,
    "masked": lambda: np.ma.masked_array([[1.0, 2], [2, 1]], [[False, True], [False, False]]),
    "masked rows in a list": lambda: [np.ma.masked_array([1.0, 2], [False, True]), [1, 1]],
    "masked constant": lambda: [[1.0, np.ma.masked], [1, 1]],
    "pandas NA": lambda: pd.DataFrame([[1, 2], [2, pd.NA]]),
    "pandas NA, nullable": lambda: pd.DataFrame([[1, 2], [2, pd.NA]], dtype="Int64"),
    "pandas NA in a list": lambda: [[1, pd.NA], [1, 1]],
    "pandas truth values": lambda: pd.DataFrame([[True, False], [True, True]]),
    "pandas column of truth values": lambda: pd.DataFrame({"a": [1.0, 2.0], "b": [True, True]}),
    "pandas nullable truth values": lambda: pd.DataFrame([[True, True]] * 2, dtype="boolean"),
    "pandas texts": lambda: pd.DataFrame([["a", "b"], ["c", "d"]]),
    "pandas numbers and texts": lambda: pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}),
    "pandas dates": lambda: pd.DataFrame({"a": pd.date_range("2020", periods=2), "b": [1, 2]}),
    "pandas categories": lambda: pd.DataFrame({"a": pd.Categorical([1, 2]), "b": pd.Categorical([1, 2])}),
    "series": lambda: pd.Series([1.0, 2.0]),
    "dates": lambda: np.array([["2020", "2021"]] * 2, dtype="datetime64[Y]"),
    "date objects": lambda: [[datetime.date(2020, 1, 1), 1], [1, 1]],
    "spans of time": lambda: np.ones((2, 2), dtype="timedelta64[s]"),
    "record array": lambda: np.zeros((2, 2), dtype=[("a", float)]),
    "repeated user": lambda: pd.DataFrame(DEMANDS, ["a", "a"]),
    "repeated resource": lambda: pd.DataFrame(DEMANDS, columns=["a", "a"]),
    "missing name": lambda: pd.DataFrame(DEMANDS, ["a", None]),
    "repeated pair of names": lambda: pd.DataFrame(DEMANDS, pd.MultiIndex.from_tuples([("a", 1), ("a", 1)])),
    "not-a-number decimal": lambda: [[Decimal("NaN"), 1], [1, 1]],
    "signalling decimal": lambda: [[Decimal("sNaN"), 1], [1, 1]],
    "long double beyond a double": lambda: np.full((2, 2), np.longdouble("1e400")),
    "list that holds itself": holds_itself,
}
TEXTS: dict[str, Callable[[], Any]] = {
    "texts of numbers": lambda: [["1", "2"], ["2", "1"]],
    "a text of a number among numbers": lambda: [[1, "2"], [2, 1]],
    "array of texts": lambda: np.array([["1", "2"], ["2", "1"]]),
    "array of bytes": lambda: np.array([[b"1", b"2"], [b"2", b"1"]]),
    "frame of texts": lambda: pd.DataFrame([["1", "2"], ["2", "1"]]),
    "object array of texts": lambda: np.array([["1", "2"], ["2", "1"]], dtype=object),
}
#: A frame's labels are no concern of the exact functions, which take plain sequences.
LABELS = {"repeated user", "repeated resource", "missing name", "repeated pair of names", "pandas categories",
          "pandas truth values", "pandas column of truth values", "pandas nullable truth values"}

BAD_VECTORS: dict[str, Callable[[], Any]] = {
    "nan": lambda: [1, math.nan],
    "negative": lambda: np.array([1.0, -1.0]),
    "minus infinity": lambda: [1.0, -math.inf],
    "too large": lambda: [1, 1e76],
    "too few": lambda: [1.0],
    "too many": lambda: [1.0, 1, 1],
    "none at all": lambda: [],
    "no dimension": lambda: 1.0,
    "no dimension, array": lambda: np.array(1.0),
    "three dimensions": lambda: np.ones((2, 1, 1)),
    "ragged": lambda: [[1], [1, 2]],
    "none inside": lambda: [1, None],
    "a text": lambda: "12",
    "texts": lambda: ["a", "b"],
    "truth values": lambda: [True, True],
    "one truth value": lambda: [1.0, True],
    "array of truth values": lambda: np.ones(2, dtype=bool),
    "complex": lambda: [1, 1j],
    "dict": lambda: {0: 1, 1: 2},
    "generator": lambda: (x for x in (1, 2)),
    "object": object,
    "masked": lambda: np.ma.masked_array([1.0, 2], [True, False]),
    "masked constant": lambda: [1.0, np.ma.masked],
    "pandas NA": lambda: pd.Series([1, pd.NA], dtype="Int64"),
    "pandas truth values": lambda: pd.Series([True, True]),
    "pandas categories": lambda: pd.Series(pd.Categorical([1, 2])),
    "pandas dates": lambda: pd.Series(pd.date_range("2020", periods=2)),
    "repeated name": lambda: pd.Series([1.0, 2.0], ["a", "a"]),
    "dates": lambda: np.array(["2020", "2021"], dtype="datetime64[Y]"),
    "whole number beyond a double": lambda: [1, 10**400],
    "list that holds itself": holds_itself,
}
POSITIVE_ONLY: dict[str, Callable[[], Any]] = {
    "zero": lambda: [1, 0],
    "all zero": lambda: np.zeros(2),
    "infinity": lambda: np.array([1, np.inf]),
    "sum overflows": lambda: [1.7e308, 1.7e308],
    "too small": lambda: [1, 1e-76],
    "denormal": lambda: np.array([1, 5e-324]),
}
#: Given as None, these mean "equal", "ones" and "no bounds".
OPTIONAL = {"drf", "drf, bounds", "drf_by_task", "as_weights", "leximin_tasks"}
PANDAS = {"repeated name", "pandas truth values", "pandas categories"}


def refused(call: Call, make: Callable[[], Any], argument: str) -> None:
    """Hold that the call raises InvalidInput, a ValueError, naming the argument; warnings are errors here."""
    with pytest.raises(fb.InvalidInput) as caught:
        call(make())
    assert isinstance(caught.value, ValueError)
    assert argument in caught.value.where
    assert str(caught.value).startswith(caught.value.where)
    assert ", got " in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("bad", BAD_DEMANDS | TEXTS)
def test_bad_demands(bad: str) -> None:
    make = (BAD_DEMANDS | TEXTS)[bad]
    for call in TAKE_DEMANDS.values():
        refused(call, make, "demands")
    if bad in BAD_DEMANDS and bad not in LABELS:
        for call in TAKE_EXACT_DEMANDS.values():
            refused(call, make, "demands")


@pytest.mark.parametrize("bad", BAD_VECTORS | POSITIVE_ONLY)
def test_bad_weights(bad: str) -> None:
    make = (BAD_VECTORS | POSITIVE_ONLY)[bad]
    for call in TAKE_WEIGHTS.values():
        refused(call, make, "weights")
    if bad not in PANDAS:
        for call in TAKE_EXACT_WEIGHTS.values():
            refused(call, make, "weights")


@pytest.mark.parametrize("bad", BAD_VECTORS | POSITIVE_ONLY)
def test_bad_capacities(bad: str) -> None:
    for call in TAKE_CAPACITIES.values():
        refused(call, (BAD_VECTORS | POSITIVE_ONLY)[bad], "capacities")


@pytest.mark.parametrize("bad", BAD_VECTORS)
def test_bad_bounds(bad: str) -> None:
    for call in TAKE_BOUNDS.values():
        refused(call, BAD_VECTORS[bad], "max_tasks")


def test_numbers_as_texts_are_refused_in_vectors() -> None:
    for make in (lambda: ["1", "2"], lambda: [1, "2"], lambda: np.array(["1", "2"]), lambda: pd.Series(["1", "2"])):
        for call in TAKE_WEIGHTS.values():
            refused(call, make, "weights")
        for call in TAKE_BOUNDS.values():
            refused(call, make, "max_tasks")


def test_weights_that_are_amounts_must_be_given() -> None:
    for entry in ("dmfa_srq", "static_optimum"):
        refused(TAKE_WEIGHTS[entry], lambda: None, "weights")
    refused(TAKE_EXACT_WEIGHTS["exact_levels"], lambda: None, "weights")
    for entry in OPTIONAL & set(TAKE_WEIGHTS):
        TAKE_WEIGHTS[entry](None)


def test_weights_per_resource_of_a_wrong_shape() -> None:
    for bad in (np.ones((2, 3)), np.ones((3, 2)), np.ones((1, 2)), [[1, 0], [1, 1]], [[1, math.nan], [1, 1]]):
        refused(TAKE_WEIGHTS["drf"], lambda bad=bad: bad, "weights")
    for entry in ("dmfa_srq", "drf_by_task"):
        refused(TAKE_WEIGHTS[entry], lambda: np.ones((2, 2)), "weights")


def test_other_arguments() -> None:
    refused(lambda x: printed.algorithm_1_printed(DEMANDS, WEIGHTS, repairs=x), lambda: ["levles"], "repairs")
    refused(lambda x: printed.algorithm_1_printed(DEMANDS, WEIGHTS, repairs=x), lambda: "levels", "repairs")
    refused(lambda x: printed.algorithm_1_printed(DEMANDS, WEIGHTS, repairs=x), lambda: None, "repairs")
    refused(lambda x: printed.algorithm_1_printed(DEMANDS, WEIGHTS, repairs=x), lambda: [["levels"]], "repairs")
    refused(lambda x: printed.algorithm_1_printed(DEMANDS, WEIGHTS, line_6=x), lambda: "mine", "line_6")
    result = fb.dmfa_srq(DEMANDS, WEIGHTS)
    for k in (0, 3, -1, 1.0, True, "1", [1], math.nan, np.array([1, 2])):
        for method in (result.tasks_at, result.levels_at, result.shares_at, result.use_at, result.utilisation_at,
                       result.raised_at, result.bottlenecks_at, result.to_frame, result.violations_at, result.at):
            refused(method, lambda k=k: k, "k")
    for user in (2, "ann", [0], np.array([0, 1]), math.nan):
        refused(result.explain, lambda user=user: user, "user")


@REPEATABLE
@given(st.lists(st.lists(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(),
                                   st.complex_numbers(), st.decimals(), st.fractions(), st.dates()), max_size=3),
                max_size=3),
       st.lists(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.decimals()), max_size=3))
def test_nothing_but_an_answer_or_a_refusal(demands: Any, weights: Any) -> None:
    for call in (lambda: fb.dmfa_srq(demands, weights), lambda: fb.drf(demands, weights, None, weights),
                 lambda: engine.exact_levels(demands, weights)):
        with contextlib.suppress(fb.InvalidInput):
            call()


def test_message_has_argument_rule_and_value() -> None:
    with pytest.raises(fb.InvalidInput) as caught:
        fb.dmfa_srq([[1, 1], [1, -2]], [1, 1])
    refusal = caught.value
    assert (refusal.where, refusal.rule, refusal.value) == ("demands[1, 1]", "must not be negative", -2)
    assert str(refusal) == "demands[1, 1] must not be negative, got -2.0"
    with pytest.raises(fb.InvalidInput, match=r"^weights\[499999\] must be positive, got 0.0$"):
        fb.dmfa_srq(np.ones((500_000, 1)), np.arange(500_000)[::-1])
    assert len(str(fb.InvalidInput("weights", "must be short", "x" * 10_000))) < 200
    with pytest.raises(fb.FairbookError):
        fb.drf([])


def test_the_largest_and_smallest_numbers_are_taken() -> None:
    for small, large in ((1e-75, 1e75),):
        levels = fb.dmfa_srq([[small, large], [large, small], [small, 0]], [small, large, 1]).levels
        assert np.isfinite(levels).all()
        assert (levels >= 1 - 1e-12).all()
        assert np.isfinite(fb.drf([[small, large], [large, small]], [small, large], [large, small]).tasks).all()


# ------------------------------------------------------------------------------------------- inputs are read only


def test_inputs_are_not_changed() -> None:
    demands, weights = np.array(DEMANDS), np.array(WEIGHTS)
    frame, series = pd.DataFrame(DEMANDS, ["a", "b"]), pd.Series(WEIGHTS, ["b", "a"])
    lists = [row.copy() for row in DEMANDS]
    for array in (demands, weights):
        array.flags.writeable = False
    for calls, given_arguments in ((TAKE_DEMANDS | TAKE_EXACT_DEMANDS, (demands, frame, lists)),
                                   (TAKE_WEIGHTS | TAKE_EXACT_WEIGHTS, (weights,))):
        for call in calls.values():
            for argument in given_arguments:
                call(argument)
    fb.drf(frame, series)
    assert demands.tolist() == DEMANDS
    assert weights.tolist() == WEIGHTS
    assert lists == DEMANDS
    assert frame.equals(pd.DataFrame(DEMANDS, ["a", "b"]))
    assert series.equals(pd.Series(WEIGHTS, ["b", "a"]))


def test_fractions_of_all_kinds() -> None:
    kinds = [1, np.int64(3), 0.5, "1/3", Decimal("0.1"), Fraction(2, 7), np.float32(0.25), None]
    values = exact.as_fractions(kinds, "x")
    assert values == [1, 3, Fraction(1, 2), Fraction(1, 3), Fraction(1, 10), Fraction(2, 7), Fraction(1, 4), None]
    assert type(values[1].numerator) is int
    huge = exact.as_fractions(np.array([2**62, 2**62]), "x")
    assert sum(huge) == 2**63  # numpy integers inside of fractions would overflow
    for bad in (["x"], [math.inf], [math.nan], [True], [[1], [1, 2]], [], "12", {1, 2}, {1: 2}, 3, np.array(3.0)):
        refused(lambda x: exact.as_fractions(x, "x"), lambda bad=bad: bad, "x")


# ------------------------------------------------------------------------------------------------ names and phases


@pytest.mark.parametrize("names", [
    [], (), "ab", 3, None, {"a"}, {"a": 1}, ["a", "a"], [True, 1], [["a"]], [("a", [1])], [None, "a"], ["a", math.nan],
    [pd.NA], pd.Series(["a", "b"]), pd.Index(["a", "a"]),
])
def test_bad_names(names: Any) -> None:
    with pytest.raises(fb.InvalidInput, match=r"^resources "):
        inputs.as_names(names, "resources")


def test_names_or_their_number() -> None:
    assert inputs.as_names(pd.Index([3, 1]), "users") == (3, 1)
    assert inputs.as_names([("a", 1), ("a", 2)], "users") == (("a", 1), ("a", 2))
    assert inputs.names_or_number(np.int64(2), "users") == (2, None)
    assert inputs.names_or_number(["a", 1], "users") == (2, ("a", 1))
    for bad in (0, -1, 10**10, True, 2.0, "2", None):
        with pytest.raises(fb.InvalidInput, match=r"^users must be a whole number from 1 to 1e\+07 or a list of names"):
            inputs.names_or_number(bad, "users")


def test_order_of_names() -> None:
    assert inputs.order_of(("b", "c", "a"), ("a", "b", "c"), "x", "users") == [2, 0, 1]
    for labels, wanted in ((None, ("a",)), (("a",), None), (("a",), ("a",)), ((0, 1), ("a", "b"))):
        assert inputs.order_of(labels, wanted, "x", "users") is None
    with pytest.raises(fb.InvalidInput) as caught:
        inputs.order_of(("a", "d"), ("a", "b"), "x.index", "users")
    assert (caught.value.where, caught.value.value) == ("x.index", {"missing": ["b"], "unknown": ["d"]})


def test_whole_numbers() -> None:
    assert inputs.as_whole(np.int32(3), "k", 1, 3) == inputs.as_whole(3, "k", 0) == 3
    for bad in (0, 4, 1.0, True, "1", None, np.float64(2), np.bool_(True)):
        with pytest.raises(fb.InvalidInput, match=r"^k must be a whole number from 1 to 3"):
            inputs.as_whole(bad, "k", 1, 3)


def test_phases_are_the_callee_s_own() -> None:
    values = np.ones((3, 2, 1))
    found = inputs.phased_demands(values)
    values *= 2
    assert (found.values == 1).all()
    frame = pd.DataFrame([[1.0, 2.0]], ["a"], ["cpu", "memory"])
    assert inputs.phased_demands([frame, frame])[1:] == (("a",), ("cpu", "memory"))
    for bad in ([frame, frame.iloc[:, ::-1]], [frame, [[1.0, 2.0]]], [[[1.0, 2.0]], frame]):
        with pytest.raises(fb.InvalidInput, match=r"^demands\[[01]\] must have the labels of the first phase"):
            inputs.phased_demands(bad)
