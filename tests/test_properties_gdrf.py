"""Properties of placements: each check is caught by a rule that breaks it, and by hand-worked cases."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import fairbook as fb
from fairbook.properties import gdrf as props
from fairbook.properties.gdrf import BROKEN, RULES, Case


@pytest.mark.parametrize("name", RULES)
def test_engine_and_judge_agree(name: str) -> None:
    rng = np.random.default_rng(41)
    drawn = [props.cases(rng) for _ in range(40)]
    assert [RULES[name](one, False).tasks for one in drawn] == [RULES[name](one, True).tasks for one in drawn]


def test_maximality_by_hand() -> None:
    case = Case(((1, 1),), ((2, 2),))
    assert props.maximality(case, RULES["gdrf"](case, True)) == 0
    assert props.maximality(case, BROKEN["last task taken back"](case, True)) == -1
    bounded = Case(((1, 1),), ((2, 2),), (1,))
    assert props.maximality(bounded, RULES["gdrf"](bounded, True)) == 0


def test_pareto_optimality_by_hand() -> None:
    case = Case(((2,), (3,)), ((4,), (3,)))
    assert props.pareto_optimality(case, RULES["gdrf"](case, True)) == -1
    assert BROKEN["largest packing"](case, True).tasks == (3, 0)
    assert props.pareto_optimality(case, BROKEN["largest packing"](case, True)) == 0


def test_envy_and_sharing_by_hand() -> None:
    case = Case(((1, 1), (2, 2)), ((5, 5),))
    outcome = RULES["gdrf"](case, True)
    assert outcome.tasks == (1, 2)
    assert props.envy_up_to_one(case, outcome) == -1  # (2, 2) is two tasks of the first, who has one
    assert props.sharing_incentive(case, outcome) == -1  # half of the machine is two tasks


def test_the_fuller_machine_may_come_first() -> None:
    case = Case(((1, 1),), ((2, 2), (6, 6)))
    assert props.least_used_first(case, RULES["gdrf"](case, True)) == Fraction(-1, 3)
    assert props.least_used_first(case, BROKEN["least used machine"](case, True)) == 0


def test_lies_by_hand() -> None:
    case = Case(((1, 1), (3, 1)), ((7, 3),))
    assert props.gain_of_lie(RULES["gdrf"], case, 0, (2, 1), True) == 1
    assert props.gain_of_lie(RULES["gdrf"], case, 0, (2, 1), False) == 1
    # a task of (2, 2) runs two of (1, 1)
    assert props.true_tasks(case, 0, (2, 2), props.Outcome((), (3, 0))) == 6


def test_the_queue_by_hand() -> None:
    queue = props.queue_rounds(((1,), (2,)), 3, exact=True)
    assert queue.rounds == ((1, 1), (1, 1), (2, 0))  # amounts (1, 2), (2, 4), then the first twice
    assert (props.first_round(queue), props.level_within_one(queue)) == (0, 0)
    broken = props.queue_rounds(((1,), (2,)), 3, exact=True, skips=0)
    assert props.first_round(broken) == -1


def test_findings_name_who_is_short() -> None:
    found = props.findings(fb.gdrf([[1, 1], [2, 3]], [[4, 4]]))
    assert [bool(one) for one in found] == [True, True, False, True]
    assert "0 runs 1 tasks" in found[2].witness["says"]
    stuck = props.findings(fb.gdrf([[2, 1]], [[4, 2], [2, 4]], match="same"))
    assert not stuck[1]
    assert "machine 1" in stuck[1].witness["says"]
