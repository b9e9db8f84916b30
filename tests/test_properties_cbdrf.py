"""Fairness up to a record: the phase rules in floats and in fractions, the checks on small cases, and the mutants."""

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from book.cbdrf.histories import WITH_CAP, by_rule, lying_pays, watched
from book.cbdrf.properties import (
    EXACT_PHASES,
    PHASES,
    gain_from_record,
    justified_envy_freeness,
    pareto_optimality_within_caps,
    sharing_incentive_by_record,
    sharing_incentive_in_good_standing,
)
from book.common.claims import claims
from book.common.claims.registry import QUICK, Mechanism
from fairbook.errors import InvalidInput
from fairbook.mechanisms.cbdrf import grant_tasks
from fairbook.properties import envy_freeness, feasibility

TENTHS = st.integers(1, 10).map(lambda k: Fraction(k, 10))
GRANTS = ("scaled", "weighted", "capped")


@st.composite
def phases(draw: Any) -> tuple[Any, Any]:
    n, m = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    rows = draw(st.lists(st.lists(TENTHS, min_size=m, max_size=m), min_size=n, max_size=n))
    return np.array(rows, dtype=object), np.array(draw(st.lists(TENTHS, min_size=n, max_size=n)), dtype=object)


@settings(max_examples=60, deadline=None)
@given(case=phases(), name=st.sampled_from(sorted(PHASES)))
def test_floats_and_fractions_agree(case: Any, name: str) -> None:
    demands, psi = case
    exact = EXACT_PHASES[name](demands, psi)
    ours = PHASES[name](demands.astype(float), psi.astype(float))
    np.testing.assert_allclose(ours.tasks, exact.tasks.astype(float), rtol=1e-9)
    assert feasibility(exact)


def test_envy_is_justified_or_not() -> None:
    same = np.array([[Fraction(1), Fraction(1, 2)]] * 2)
    found = PHASES["scaled"](same.astype(float), np.array([0.5, 1.0]))
    assert not envy_freeness(found)
    assert justified_envy_freeness(found, [0.5, 1.0])
    told = justified_envy_freeness(found, [1.0, 1.0])
    assert told.witness is not None
    assert told.margin == pytest.approx(-1)
    assert "node 0 runs 0.25 tasks and could run 0.5 on the bundle of node 1" in told.witness["says"]


def test_the_gain_from_a_better_record() -> None:
    demands, psi = np.array([[1.0], [1.0]]), np.array([0.5, 1.0])
    rules = ("drf", "scaled", "weighted", "capped")
    gains = {name: gain_from_record(PHASES[name], demands, psi, 0, 1.0) for name in rules}
    assert gains == pytest.approx({"drf": 0, "scaled": 1, "weighted": 0.5, "capped": 1})
    assert gain_from_record(PHASES["scaled"], demands, np.array([0.0, 1.0]), 0, 1.0) == 1
    assert psi.tolist() == [0.5, 1.0]


CHECKS = [
    sharing_incentive_in_good_standing,
    sharing_incentive_by_record,
    justified_envy_freeness,
    pareto_optimality_within_caps,
]


@pytest.mark.parametrize("grant", ["scaled", "weighted", "capped"])
def test_who_is_not_present_is_left_out(grant: Any) -> None:
    demands, psi = [[1, 1 / 2], [0, 0], [1 / 2, 1]], [1, 1, 1 / 2]
    whole = grant_tasks(demands, psi, grant=grant)
    present = grant_tasks([demands[0], demands[2]], [1, 1 / 2], grant=grant)
    for check in CHECKS:
        found, expected = check(whole, psi), check(present, [1, 1 / 2])
        assert (found.holds, found.margin) == (expected.holds, expected.margin)
        assert np.isfinite(found.margin)
    with pytest.raises(InvalidInput, match=r"^allocation must have"):
        justified_envy_freeness(grant_tasks([[0.0]], [1.0]), [1.0])


@pytest.mark.parametrize("grant", GRANTS)
def test_lies_over_phases_are_looked_for_where_nothing_is_needed(grant: str) -> None:
    def found(needless: bool, floor: float) -> bool | None:
        rule = by_rule(grant=grant, credit_floor=floor)
        return watched(partial(lying_pays, np.random.default_rng(1), needless), QUICK, rule, "").holds

    assert found(True, 0.0) is False  # claims something whenever it needs something, and in other phases, too
    assert found(True, 0.05) is True
    assert found(False, 0.0) is True


def _every_failure_costs(subject: Mechanism, demands: Any, released: Any) -> str | None:
    ratio, complied = (run := subject.run(demands, released=released)).granted_ratio, run.complied
    return "a failure costs nothing" if (~complied[:-1] & (ratio[1:] >= ratio[:-1])).any() else None


def _more_in_a_row_cost_more(subject: Mechanism, demands: Any, released: Any) -> str | None:
    run = subject.run(demands, released=released)
    rows = np.cumprod(~run.complied[::-1], axis=0).sum(axis=0)
    return "more cost less" if (np.diff(rows) * np.diff(run.final_credit) > 0).any() else None


@pytest.mark.parametrize("too_strong", [_every_failure_costs, _more_in_a_row_cost_more])
def test_random_histories_meet_the_floor_and_mended_records(too_strong: Any) -> None:
    assert watched(too_strong, QUICK, WITH_CAP, "").holds is False


def test_graded_steps_are_looked_at_on_the_floor() -> None:
    one = claims("cbdrf")["cbdrf.penalty.graded"]
    told = one.check(QUICK, one.mechanism).parts[0].found.split(" exceptions, ")[1]
    assert int(told.split()[0]) > 0
