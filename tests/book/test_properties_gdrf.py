"""Properties of placements: each check is caught by a rule that breaks it, and by hand-worked cases."""

from fractions import Fraction
from functools import partial
from typing import Any

import pytest

from book.gdrf import properties as props, queueing
from book.gdrf.properties import BROKEN, RULES, Case, Outcome

ONE, ALIKE = Case(((1, 1),), ((2, 2),)), Case(((1,), (3,)), ((4,), (2,)))
APART, PACKED = Case(((3, 1), (1, 2)), ((4, 3), (2, 4))), Case(((2,), (3,)), ((4,), (3,)))
ENVIED, TWO_SIZES = Case(((1, 1), (2, 2)), ((5, 5),)), Case(((1, 1),), ((2, 2), (6, 6)))


@pytest.mark.parametrize(
    ("check", "case", "rule", "tasks", "margin"),
    [
        (props.maximality, ONE, "gdrf", (2,), 0),
        (props.maximality, ONE, "last task taken back", (1,), -1),
        (props.maximality, Case(((1, 1),), ((2, 2),), (1,)), "gdrf", (1,), 0),
        # the first machine has (1, 2) left, and only the first user on it
        (props.side_by_side, APART, "gdrf_same", (1, 2), -1),
        (props.side_by_side, APART, "gdrf", (1, 3), 0),
        # nobody wants more of the second machine but its own user
        (props.side_by_side, ALIKE, Outcome(((1, 0), (0, 1)), (1, 1)), (1, 1), -1),
        (props.side_by_side, ALIKE, Outcome(((1, 0), (0, 0), (0, 1)), (2, 1)), (2, 1), 0),
        (props.pareto_optimality, PACKED, "gdrf", (1, 1), -1),
        (props.pareto_optimality, PACKED, "largest packing", (3, 0), 0),
        (props.envy_up_to_one, ENVIED, "gdrf", (1, 2), -1),  # (2, 2) is two tasks of the first, who has one
        (props.sharing_incentive, ENVIED, "gdrf", (1, 2), -1),  # half of the machine is two tasks
        (props.least_used_first, TWO_SIZES, "gdrf", (8,), Fraction(-1, 3)),
        (props.least_used_first, TWO_SIZES, "least used machine", (8,), 0),
    ],
)
def test_margins_by_hand(check: Any, case: Case, rule: Any, tasks: tuple[int, ...], margin: Any) -> None:
    outcome = (RULES | BROKEN)[rule](case, True) if isinstance(rule, str) else rule
    assert (outcome.tasks, check(case, outcome)) == (tasks, margin)


def test_lies_by_hand() -> None:
    case = Case(((1, 1), (3, 1)), ((7, 3),))
    assert [props.gain_of_lie(RULES["gdrf"], case, 0, (2, 1), exact) for exact in (True, False)] == [1, 1]
    assert props.true_tasks(case, 0, (2, 2), Outcome((), (3, 0))) == 6  # a task of (2, 2) runs two of (1, 1)


def test_the_queue_by_hand() -> None:
    queue = queueing.queue_rounds(((1,), (2,)), 3, exact=True)
    assert queue.rounds == ((1, 1), (1, 1), (2, 0))  # amounts (1, 2), (2, 4), then the first twice
    assert (queueing.first_round(queue), queueing.level_within_one(queue)) == (0, 0)
    assert queueing.first_round(queueing.queue_rounds(((1,), (2,)), 3, exact=True, skips=0)) == -1
    served = queueing.queue_rounds(((1,), (1,)), 3, exact=True, bounds=(1, 6))
    assert (served.rounds, served.active, queue.active) == (((1, 1), (0, 2), (0, 2)), 0, 3)
    assert (queueing.rounds_of_one(served), queueing.level_within_one(served)) == (0, 1)  # who is served is left behind


def test_shares_and_lies_in_the_queue_by_hand() -> None:
    demands, room = ((1, 0), (1, 2)), (300, 600)
    queue, skipping = (queueing.queue_rounds(demands, 12, exact=True, room=room, skips=skips) for skips in (None, 0))
    assert queueing.held_after(queue)[-1] == (18, 6)  # amounts 18 and 18, shares 18/300 and 6/300
    assert queueing.shares_in_queue(demands, room, skipping) < 0 <= queueing.shares_in_queue(demands, room, queue)
    assert queueing.roomy_machine(demands, 2, (1, 3)) == (4, 24)
    # with dominant shares the lie leaves the share and wins the tie for the last slot of a round
    lost = [
        queueing.slots_lost_by_lie(
            ((4, 1), (4, 2), (2, 2)),
            (4, 3),
            12,
            lambda d, rounds, room, least=least: queueing.queue_rounds(d, rounds, exact=True, room=room, least=least),
        )
        for least in ("dominant_share", "amount")
    ]
    assert lost[0] < 0 <= lost[1]


def test_the_printed_loop_by_hand() -> None:
    case = Case(((2, 1), (1, 2)), ((8, 4), (4, 8)))
    assert props.printed_algorithm(case, 0).placed == ()
    assert props.printed_algorithm(case, 1).placed == ((0, 0), (1, 1))  # the same GDRS and GDRW; each to its own type
    # one type only: the first takes the empty machine with the lowest number, the second prefers the other, f = 1
    assert props.printed_algorithm(Case(((2, 1), (2, 1)), ((8, 4), (8, 4))), 1).placed == ((0, 0), (1, 1))
    assert props.printed_algorithm(Case(((2, 1),), ((1, 1), (4, 2))), 1).placed == ((0, 1),)  # the first has no room


def test_exact_ties_are_ties_in_floats() -> None:
    # distances of best fit that are equal as fractions and, as computed, not as floats, found by a search
    tied, rule = Case(((1, 1), (1, 4)), ((12, 9), (7, 12))), RULES["drfh_best_fit"]

    def wrong(case: Case, exact: bool) -> Outcome:
        return rule(case, exact) if exact else Outcome.of(case, [*rule(case, False).placed[:-1]])

    told = [props.places_as_judged(*one) for one in ((rule, tied), (RULES["gdrf"], TWO_SIZES), (wrong, tied))]
    assert told == [True, True, False]


def test_slack_of_divisible_tasks_by_hand() -> None:
    slack = partial(props.fluid_slack, [[1, 2], [2, 1]], [[4, 4]])
    assert slack([4 / 3, 4 / 3]) == pytest.approx(0, abs=1e-7)  # four units of each resource are in use
    # with one task each there is one unit left of each resource: a third of a task for both, half a share each
    assert slack([1, 1]) == pytest.approx(2 * (1 / 3) * (2 / 4), abs=1e-7)
