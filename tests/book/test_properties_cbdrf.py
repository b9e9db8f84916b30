"""Fairness up to a record: the phase rules in floats and in fractions, the checks on small cases, and the mutants."""

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from book.cbdrf.histories import by_rule, lying_pays, watched
from book.cbdrf.properties import (
    PHASES,
    gain_from_record,
    justified_envy_freeness,
    pareto_optimality_within_caps,
    sharing_incentive_by_record,
    sharing_incentive_in_good_standing,
)
from book.common.claims.registry import QUICK
from fairbook.errors import InvalidInput
from fairbook.mechanisms.credit.cbdrf_phase import grant_tasks
from fairbook.properties import envy_freeness

GRANTS = ("scaled", "weighted", "capped")


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
