"""Checks of runs over periods: worked out by hand, against broken rules, and the oracle in whole tasks."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from book.common.cases import lowest_margin
from book.common.runs import stream
from book.tv_drf import checks_lies, judging, properties as judge
from book.tv_drf.properties import RULES, Outcome, Workload
from fairbook.errors import InvalidInput

F = Fraction
objects = partial(np.array, dtype=object)
HALF = ["1/2", "1/2"]
CHECKS: dict[str, Any] = {
    "sharing": judge.sharing_incentive_so_far, "unserved": judge.largest_unserved, "above": judge.largest_above_floor,
    "used up": judge.resource_used_up, "envy": judge.envy_freeness, "past": judge.one_level_above_past,
}  # fmt: skip


def outcome(w: Workload, tasks: Any, alone: Any, waits: bool = False) -> Outcome:
    ran = objects([[F(x) for x in row] for row in tasks])
    rate = (w.demands / w.capacities).max(axis=2) / w.weights
    return Outcome(
        ran,
        np.cumsum(ran * rate, axis=0),
        ran[:, :, None] * w.demands,
        objects([[[F(x) for x in row] for row in period] for period in alone]),
        waits,
    )


#: One resource of 4 for two users with equal parts, tasks of 1 and 2, in two periods; alone (1, 1 task of 2), (2, 1).
TWO = Workload.of([[[1], [2]], [[1], [2]]], [[1, 3], [4, 3]], [[4]], HALF)
ALONE = [[[1], [2]], [[2], [2]]]
#: User 2 owns 3/4: 3/2 tasks of 2 are its floor, and leave 1 for user 1.
UNEQUAL = Workload.of([[[1], [2]]], [[4, 4]], [[4]], ["1/4", "3/4"])


def test_the_numbers_of_a_small_run_by_hand() -> None:
    got = outcome(TWO, [[1, "3/2"], [3, "1/2"]], ALONE)
    assert (TWO.capacities.tolist(), TWO.weights.tolist()) == ([4], [F(1, 2), F(1, 2)])
    assert got.shares.tolist() == [[F(1, 2), F(3, 2)], [2, 2]]
    assert got.left(TWO).tolist() == [[0, F(3, 2)], [1, F(5, 2)]]
    assert replace(got, waits=True).left(TWO).tolist() == [[0, F(3, 2)], [1, 4]]
    assert outcome(UNEQUAL, [[1, "3/2"]], [[[1], [3]]]).shares.tolist() == [[1, 1]]
    assert RULES["alone, expires"](UNEQUAL, True).tasks.tolist() == [[1, F(3, 2)]]
    assert RULES["alone, whole, waits"](UNEQUAL, True).tasks.tolist() == [[1, 1]]


@pytest.mark.parametrize(("w", "tasks", "alone", "margins"), [
    # user 2 after period 2: 4 of 4; user 1 has tasks left in period 2 and so has user 2; both stand at 2
    (TWO, [[1, "3/2"], [3, "1/2"]], ALONE,
     {"sharing": 0, "unserved": 0, "used up": 0, "envy": 0, "above": 0, "past": 0}),
    # user 2 after period 1: 1 of 2
    (TWO, [[1, "1/2"], [1, "1/2"]], ALONE, {"sharing": F(-1, 2), "used up": F(-1, 2)}),
    # user 1 after period 1; user 2 has more than its floor of 1 task
    (TWO, [[0, 2], [4, 0]], ALONE, {"unserved": -2, "envy": -2, "above": -2, "past": F(-1, 2)}),
    # a floor excuses a lead
    (replace(UNEQUAL, contributions=UNEQUAL.contributions[::-1]), [[3, "1/2"]], [[[3], [1]]],
     {"above": np.inf, "unserved": 0}),
])  # fmt: skip
def test_margins_by_hand(w: Workload, tasks: Any, alone: Any, margins: dict[str, Any]) -> None:
    got = outcome(w, tasks, alone)
    assert {name: CHECKS[name](w, got) for name in margins} == margins


def test_whole_tasks_that_would_fit_elsewhere_are_seen() -> None:
    w = Workload.of([[[2], [3]]], [[1, 1]], [[3], [2]], HALF)
    got = replace(outcome(w, [[1, 0]], [[[0], [0]]]), placement=objects([[[1, 0], [0, 0]]]))
    assert judge.pareto_in_period(w, got) == -1  # the task of 2 could be on the machine of 2
    assert judge.pareto_in_period(replace(w, machines=w.machines - 1), got) == 1


def test_queues_of_whole_tasks_are_read_in_order() -> None:
    w = Workload.of([[[2], [1]], [[1], [1]]], [[2, 1], [2, 1]], [[3]], HALF)
    got = RULES["whole, waits"](w, True)
    assert got.tasks.tolist() == [[1, 1], [1, 1]]
    assert list(judge.groups(w, got, 1)) == [(0, 0, 1), (1, 1, 1)]
    assert judge.next_tasks(w, got)[:, 0].tolist() == [[2], [1]]
    assert judge.next_task_refused(w, got) == F(1, 3)


def test_without_the_constraint_some_beta_falls_below_one() -> None:
    w = Workload.of([[[1, "1/4"], [1, "1/4"]], [["1/4", 1], ["1/4", 1]]], [[1, "1/8"], [2, 2]], [[1, 1]], HALF)
    got = RULES["fluid, no constraint"](w, True)
    assert got.tasks.tolist() == [[F(7, 8), F(1, 8)], [F(1, 8), F(7, 8)]]
    assert judge.sharing_incentive_so_far(w, got) == F(11, 20) - 1
    assert RULES["fluid, expires"](w, True).tasks.tolist() == [[F(7, 8), F(1, 8)], [F(13, 32), F(19, 32)]]


def test_true_tasks_of_a_lie() -> None:
    w = Workload.of([[[1], [1]], [["1/2"], [1]]], [[1, 1], [3, 1]], [[4]], HALF)
    claimed = objects([[F(2)], [F(1, 2)]])
    got = outcome(judge.as_claimed(w, 0, claimed, w.tasks[:, 0]), [[1, 1], [1, 1]], w.demands * 0)
    # holds 2 and 1/2: one true task (its bound) and one; in a queue one of 1, then two of 1/2 wait for period 2;
    # with a quarter of it 1/2 of the task of 1, then 1/8 of it
    for held, runs in (
        (got, 2),
        (replace(got, waits=True), 2),
        (replace(got, amounts=got.amounts / 4, waits=True), F(1, 2) + F(1, 8)),
    ):
        assert judge.true_tasks_over_time(w, held, 0, claimed) == runs


def test_a_search_starts_from_where_the_statement_speaks_and_keeps_what_is_no_worse() -> None:
    seen: list[int] = []

    def margin(x: int) -> int | None:
        seen.append(x)
        return None if x > 8 else x

    found = lowest_margin(margin, lambda rng: 10, lambda rng, x: x - 1, evaluations=30, rng=stream(1), moves=14)
    assert seen == [10, 9] + [9] * 13 + [10, 9] + [9] * 13
    assert (found.margin, found.case, found.spoken) == (np.inf, 10, 0)  # nobody moves to where nothing is said
    found = lowest_margin(lambda x: x - 5, lambda rng: 7, lambda rng, x: x - 1, evaluations=30, rng=stream(1))
    assert found == (-1, 4, 4, 4)
    with pytest.raises(InvalidInput):
        lowest_margin(lambda x: x, lambda rng: 7, lambda rng, x: x - 1, evaluations=0, rng=stream(1))


def test_what_no_memory_keeps_is_lost_with_memory() -> None:
    rng, memory, found = stream(5, 8), set(), set()
    for _ in range(20):
        w = judge.workloads(rng).in_fractions()
        found.add(judge.drf_in_each_period(w, RULES["fluid, no memory"](w, True)) == 0)
        memory.add(judge.drf_in_each_period(w, RULES["fluid, expires"](w, True)) < 0)
    assert (found, memory) == ({True}, {True, False})


def test_envy_of_every_resource_asks_for_more() -> None:
    w = Workload.of([[[2, 1], [1, 2]]], [[1, 1]], [[2, 2]], HALF)
    got = RULES["fluid, expires"](w, True)
    assert judge.envy_freeness(w, got) == 0  # against itself
    assert judge.envy_freeness(w, got, every=True) == F(-2, 3)


@pytest.mark.parametrize("tasks_a", [1, 3])
def test_a_coefficient_that_starts_at_zero_comes_first(tasks_a: int) -> None:
    # alone A could run no task of 3, and B both of its own
    w = Workload.of([[[3], [1]]], [[tasks_a, 2]], [[4]], HALF)
    ran = [RULES[f"whole, {name}"](w, True).tasks.tolist() for name in ("expires", "beta from 0")]
    assert ran == [[[0, 2]], [[1, 1]]]
    assert judge.sharing_incentive_so_far(w, RULES["whole, beta from 0"](w.in_floats(), False)) == F(-1, 2)


def test_the_best_in_whole_tasks_is_found_by_trying_all() -> None:
    assert max(checks_lies.all_whole(judging.SPLIT)) == (1, 1)
    assert (0, F(4, 3)) in checks_lies.all_whole(Workload.of([[[2], [2]]], [[1, 1]], [[3]], HALF))
