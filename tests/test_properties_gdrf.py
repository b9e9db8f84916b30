"""Properties of placements: each check is caught by a rule that breaks it, and by hand-worked cases."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import fairbook as fb
from book.gdrf import properties as props
from book.gdrf.properties import BROKEN, RULES, Case


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


def test_sharing_machines_by_hand() -> None:
    case = Case(((3, 1), (1, 2)), ((4, 3), (2, 4)))
    apart = RULES["gdrf_same"](case, True)
    assert apart.tasks == (1, 2)  # the first machine has (1, 2) left, and only the first user on it
    assert props.side_by_side(case, apart) == -1
    together = RULES["gdrf"](case, True)
    assert together.tasks == (1, 3)
    assert props.side_by_side(case, together) == 0
    alone = Case(((1,), (3,)), ((4,), (2,)))
    # nobody wants more of the second machine but its own user
    assert props.side_by_side(alone, props.Outcome(((1, 0), (0, 1)), (1, 1))) == -1
    assert props.side_by_side(alone, props.Outcome(((1, 0), (0, 0), (0, 1)), (2, 1))) == 0


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


def test_the_printed_loop_by_hand() -> None:
    case = Case(((2, 1), (1, 2)), ((8, 4), (4, 8)))
    assert props.printed_algorithm(case, 0).placed == ()
    assert props.printed_algorithm(case, 1).placed == ((0, 0), (1, 1))  # the same GDRS and GDRW; each to its own type
    # one type only: the first takes the empty machine with the lowest number, the second prefers the other, f = 1
    alike = Case(((2, 1), (2, 1)), ((8, 4), (8, 4)))
    assert props.printed_algorithm(alike, 1).placed == ((0, 0), (1, 1))


def test_exact_ties_are_told_from_mistakes() -> None:
    # distances of best fit that are equal as fractions and not as floats, found by a search
    tied = Case(((1, 1), (1, 4)), ((12, 9), (7, 12)))
    rule = RULES["drfh_best_fit"]
    assert rule(tied, False) != rule(tied, True)
    assert props.compare_with_judge(rule, tied) == "tie"
    plain = Case(((1, 1),), ((2, 2), (6, 6)))
    assert props.compare_with_judge(RULES["gdrf"], plain) == "same"

    def wrong(case: Case, exact: bool, *how: object) -> props.Outcome:
        return rule(case, exact, *how) if exact else props.Outcome.of(case, [*rule(case, False).placed[:-1]])

    assert props.compare_with_judge(wrong, tied) == "other"


def test_slack_of_divisible_tasks_by_hand() -> None:
    demands, machines = [[1, 2], [2, 1]], [[4, 4]]
    full = [4 / 3, 4 / 3]  # four units of each resource are in use
    assert props.fluid_slack(demands, machines, full) == pytest.approx(0, abs=1e-7)
    # with one task each there is one unit left of each resource: a third of a task for both, half a share each
    assert props.fluid_slack(demands, machines, [1, 1]) == pytest.approx(2 * (1 / 3) * (2 / 4), abs=1e-7)


def test_shares_and_lies_in_the_queue_by_hand() -> None:
    demands, room = ((1, 0), (1, 2)), (300, 600)
    queue = props.queue_rounds(demands, 12, exact=True, room=room)
    assert props.held_after(queue)[-1] == (18, 6)  # amounts 18 and 18, shares 18/300 and 6/300
    assert props.shares_in_queue(demands, room, queue) >= 0
    skipping = props.queue_rounds(demands, 12, exact=True, room=room, skips=0)
    assert props.shares_in_queue(demands, room, skipping) < 0
    assert props.roomy_machine(demands, 2, (1, 3)) == (4, 24)

    def run(least: str) -> object:
        return lambda d, rounds, room: props.queue_rounds(d, rounds, exact=True, room=room, least=least)

    # with dominant shares the lie leaves the share and wins the tie for the last slot of a round
    tied, said = ((4, 1), (4, 2), (2, 2)), (4, 3)
    assert props.slots_lost_by_lie(tied, said, 12, run("dominant_share")) < 0  # type: ignore[arg-type]
    assert props.slots_lost_by_lie(tied, said, 12, run("amount")) >= 0  # type: ignore[arg-type]
