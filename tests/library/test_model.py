"""What every public entry point does with input: InvalidInput names the argument, and nothing else comes out."""

import contextlib
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import fairbook as fb
from book.dmfa_srq import printed
from fairbook.mechanisms.pool import dmfa_srq as engine
from fairbook.model import exact, inputs
from tests.strategies import REPEATABLE

DEMANDS = [[1.0, 2.0], [2.0, 1.0]]
WEIGHTS = [1.0, 3.0]

# ------------------------------------------------------------------------------------- beyond the table of bad inputs


def test_other_arguments() -> None:
    for wrong in (["levles"], "levels", None, [["levels"]]):
        with pytest.raises(fb.InvalidInput, match=r"^repairs "):
            printed.algorithm_1_printed(DEMANDS, WEIGHTS, repairs=wrong)  # type: ignore[arg-type]
    with pytest.raises(fb.InvalidInput, match=r"^line_6 "):
        printed.algorithm_1_printed(DEMANDS, WEIGHTS, line_6="mine")  # type: ignore[arg-type]
    result = fb.dmfa_srq(DEMANDS, weights=WEIGHTS)
    for k in (0, 3):
        for method in (result.tasks_at, result.until, result.at):
            with pytest.raises(fb.InvalidInput, match=r"^k "):
                method(k)


@REPEATABLE
@given(
    st.lists(
        st.lists(
            st.one_of(
                st.none(),
                st.booleans(),
                st.integers(),
                st.floats(),
                st.text(),
                st.binary(),
                st.complex_numbers(),
                st.decimals(),
                st.fractions(),
                st.dates(),
            ),
            max_size=3,
        ),
        max_size=3,
    ),
    st.lists(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.decimals()), max_size=3),
)
def test_nothing_but_an_answer_or_a_refusal(demands: Any, weights: Any) -> None:
    for call in (
        lambda: fb.dmfa_srq(demands, weights=weights),
        lambda: fb.drf(demands, weights=weights, capacities=None, max_tasks=weights),
        lambda: engine.exact_levels(demands, weights),
    ):
        with contextlib.suppress(fb.InvalidInput):
            call()


def test_message_has_argument_rule_and_value() -> None:
    with pytest.raises(fb.InvalidInput) as caught:
        fb.dmfa_srq([[1, 1], [1, -2]], weights=[1, 1])
    refusal = caught.value
    assert (refusal.where, refusal.rule, refusal.value) == ("demands[1, 1]", "must not be negative", -2)
    assert str(refusal) == "demands[1, 1] must not be negative, got -2.0"
    with pytest.raises(fb.InvalidInput, match=r"^weights\[499999\] must be positive, got 0.0$"):
        fb.dmfa_srq(np.ones((500_000, 1)), weights=np.arange(500_000)[::-1])
    with pytest.raises(
        fb.InvalidInput, match=r"^weights\[1\] must be positive: who takes only what others leave .*, got 0.0$"
    ):
        fb.drf([[1], [1]], weights=[1, 0])
    assert len(str(fb.InvalidInput("weights", "must be short", "x" * 10_000))) < 200
    with pytest.raises(fb.FairbookError):
        fb.drf([])


def test_fractions_of_all_kinds() -> None:
    kinds = [1, np.int64(3), 0.5, "1/3", Decimal("0.1"), Fraction(2, 7), np.float32(0.25), None]
    values = exact.as_fractions(kinds, "x")
    assert values == [1, 3, Fraction(1, 2), Fraction(1, 3), Fraction(1, 10), Fraction(2, 7), Fraction(1, 4), None]
    assert type(values[1].numerator) is int
    huge = exact.as_fractions(np.array([2**62, 2**62]), "x")
    assert sum(huge) == 2**63  # numpy integers inside of fractions would overflow


# ------------------------------------------------------------------------------------------------ names and phases


def test_names_or_their_number() -> None:
    assert inputs.names_or_number(pd.Index([3, 1]), "users") == (2, (3, 1))
    assert inputs.names_or_number([("a", 1), ("a", 2)], "users") == (2, (("a", 1), ("a", 2)))
    assert inputs.names_or_number(np.int64(2), "users") == (2, None)
    assert inputs.names_or_number(["a", 1], "users") == (2, ("a", 1))


def test_phases_are_the_callee_s_own() -> None:
    values = np.ones((3, 2, 1))
    found = inputs.phased_demands(values)
    values *= 2
    assert (found.values == 1).all()
    frame = pd.DataFrame([[1.0, 2.0]], ["a"], ["cpu", "memory"])
    assert inputs.phased_demands([frame, frame])[1:] == (("a",), ("cpu", "memory"))
    assert inputs.phased_demands([frame, frame.iloc[:, ::-1]]).values.tolist() == [[[1.0, 2.0]]] * 2
    with pytest.raises(fb.InvalidInput, match=r"^demands\[1\].index must not name users that have no names elsewhere"):
        inputs.phased_demands([[[1.0, 2.0]], frame])
