"""Checks of runs over periods: worked out by hand, against broken rules, and the oracle in whole tasks."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from book.common.runs import stream
from book.tv_drf import checks as claims
from book.tv_drf import properties as judge
from book.tv_drf.oracle import exact_run, exact_whole_run, lexicographic_run
from book.tv_drf.properties import BROKEN, RULES, Outcome, Workload
from fairbook.errors import InvalidInput
from fairbook.mechanisms.tv_drf import tv_drf

F = Fraction
HALF = ["1/2", "1/2"]
CHECKS: dict[str, Any] = {
    "sharing": judge.sharing_incentive_so_far, "unserved": judge.largest_unserved, "above": judge.largest_above_floor,
    "used up": judge.resource_used_up, "envy": judge.envy_freeness, "pareto": judge.pareto_in_period,
}  # fmt: skip


def outcome(w: Workload, tasks: Any, alone: Any, waits: bool = False) -> Outcome:
    ran = np.empty(np.shape(tasks), dtype=object)
    ran[...] = [[F(x) for x in row] for row in tasks]
    home = np.empty(w.demands.shape, dtype=object)
    home[...] = [[[F(x) for x in row] for row in period] for period in alone]
    rate = (w.demands / w.capacities).max(axis=2) / w.weights
    return Outcome(ran, np.cumsum(ran * rate, axis=0), ran[:, :, None] * w.demands, home, waits)


#: One resource of 4 for two users with equal parts, tasks of 1 and 2, in two periods.
TWO = Workload.of([[[1], [2]], [[1], [2]]], [[1, 3], [4, 3]], [[4]], HALF)


def test_the_numbers_of_a_small_run_by_hand() -> None:
    # alone: (1, 1 task of 2) and (2, 1); run: (1, 3/2) and (3, 1/2)
    got = outcome(TWO, [[1, "3/2"], [3, "1/2"]], [[[1], [2]], [[2], [2]]])
    assert TWO.capacities.tolist() == [4]
    assert TWO.weights.tolist() == [F(1, 2), F(1, 2)]
    assert got.shares.tolist() == [[F(1, 2), F(3, 2)], [2, 2]]
    assert got.left(TWO).tolist() == [[0, F(3, 2)], [1, F(5, 2)]]
    assert replace(got, waits=True).left(TWO).tolist() == [[0, F(3, 2)], [1, 4]]
    assert judge.sharing_incentive_so_far(TWO, got) == 0  # user 2 after period 2: 4 of 4
    assert judge.largest_unserved(TWO, got) == 0
    assert judge.resource_used_up(TWO, got) == 0
    assert judge.pareto_in_period(TWO, got) == 1
    assert judge.envy_freeness(TWO, got) == 0
    # user 1 has tasks left in period 2 and so has user 2; both stand at 2
    assert judge.largest_above_floor(TWO, got) == 0


def test_each_check_sees_what_is_wrong() -> None:
    idle = outcome(TWO, [[1, "1/2"], [1, "1/2"]], [[[1], [2]], [[2], [2]]])
    assert judge.sharing_incentive_so_far(TWO, idle) == F(-1, 2)  # user 2 after period 1: 1 of 2
    assert judge.resource_used_up(TWO, idle) == F(-1, 2)
    assert judge.pareto_in_period(TWO, idle) == -1
    unfair = outcome(TWO, [[0, 2], [4, 0]], [[[1], [2]], [[2], [2]]])
    assert judge.largest_unserved(TWO, unfair) == -2  # user 1 after period 1
    assert judge.envy_freeness(TWO, unfair) == -2
    assert judge.largest_above_floor(TWO, unfair) == -2  # user 2 has more than its floor of 1 task


def test_a_floor_excuses_a_lead() -> None:
    # user 2 owns 3/4: 3/2 tasks of 2 are its floor, and leave 1 for user 1
    w = Workload.of([[[1], [2]]], [[4, 4]], [[4]], ["1/4", "3/4"])
    got = outcome(w, [[1, "3/2"]], [[[1], [3]]])
    assert got.shares.tolist() == [[1, 1]]
    shifted = replace(w, contributions=w.contributions[::-1])
    lead = outcome(shifted, [[3, "1/2"]], [[[3], [1]]])
    assert judge.largest_above_floor(shifted, lead) == np.inf
    assert judge.largest_unserved(shifted, lead) == 0


@pytest.mark.parametrize("fate", ["expires", "waits"])
def test_floats_and_fractions_give_the_same_margins(fate: str) -> None:
    rng = stream(7, 1)
    for _ in range(25):
        w = judge.workloads(rng)
        exact = w.in_fractions()
        flat = exact.in_floats()
        one, other = RULES[f"fluid, {fate}"](flat, False), RULES[f"fluid, {fate}"](exact, True)
        assert np.allclose(one.tasks, other.tasks.astype(float), atol=1e-8)
        for name in ("sharing", "unserved", "above", "used up", "envy"):
            assert np.isclose(float(CHECKS[name](flat, one)), float(CHECKS[name](exact, other)), atol=1e-6), name


@pytest.mark.parametrize(("rule", "name"), [
    ("nine tenths of fluid, expires", "sharing"), ("nine tenths of fluid, expires", "used up"),
    ("nine tenths of fluid, waits", "used up"), ("nine tenths of fluid, expires", "pareto"),
    ("the last one first, expires", "above"), ("the last one first, waits", "envy"),
    ("the last one first, expires", "unserved"),
])  # fmt: skip
def test_broken_rules_fail(rule: str, name: str) -> None:
    margin, where, done = judge.search_workload(
        lambda w: CHECKS[name](w, BROKEN[rule](w, False)), evaluations=200, rng=stream(1, 1))  # fmt: skip
    assert margin < -1e-6
    exact = where.in_fractions()
    assert CHECKS[name](exact, BROKEN[rule](exact, True)) < 0
    assert 0 < done <= 200


def test_whole_tasks_that_would_fit_elsewhere_are_seen() -> None:
    w = Workload.of([[[2], [3]]], [[1, 1]], [[3], [2]], HALF)
    placed = np.empty((1, 2, 2), dtype=object)
    placed[...] = [[[1, 0], [0, 0]]]
    got = replace(outcome(w, [[1, 0]], [[[0], [0]]]), placement=placed)
    assert judge.pareto_in_period(w, got) == -1  # the task of 2 could be on the machine of 2
    tight = replace(w, machines=w.machines - 1)
    assert judge.pareto_in_period(tight, got) == 1


def test_queues_of_whole_tasks_are_read_in_order() -> None:
    w = Workload.of([[[2], [1]], [[1], [1]]], [[2, 1], [2, 1]], [[3]], HALF)
    run = exact_whole_run(w.demands.tolist(), w.tasks.tolist(), [[3]], [["1/2"], ["1/2"]], "whole_bundles", "waits")
    got = RULES["whole, waits"](w, True)
    assert run.tasks == got.tasks.tolist() == [[1, 1], [1, 1]]
    assert list(judge._groups(w, got, 1)) == [(0, 0, 1), (1, 1, 1)]
    assert judge._next(w, got)[:, 0].tolist() == [[2], [1]]
    assert judge.next_task_refused(w, got) == F(1, 3)
    with pytest.raises(InvalidInput, match="must be one"):
        judge.next_task_refused(replace(w, machines=np.ones((2, 1)), contributions=np.full((2, 2), 0.5)), got)


@pytest.mark.parametrize("name", list(claims.TRADES))
def test_trades_of_periods_by_linear_programs(name: str) -> None:
    # where tasks expire the best total is a linear program; its value is at least that of the trade
    w, fate, tasks, _ = claims.TRADES[name]
    got = RULES[f"fluid, {fate}"](w, True)
    other = judge.in_order(w, np.array([[F(x) for x in row] for row in tasks], dtype=object), fate == "waits")
    assert (other.amounts.sum(axis=1) <= w.capacities).all()
    assert (other.tasks.sum(axis=0) >= got.tasks.sum(axis=0)).all()
    if fate == "expires":
        flat, (T, n) = w.in_floats(), w.tasks.shape
        rows = np.zeros((T, w.demands.shape[2], T, n))
        for t in range(T):
            rows[t, :, t, :] = (flat.demands[t] / flat.capacities).T
        best = linprog(-np.ones(T * n), np.vstack([rows.reshape(-1, T * n), -np.tile(np.eye(n), (1, T))]),
                       np.concatenate([np.ones(T * w.demands.shape[2]), -got.tasks.sum(axis=0).astype(float)]),
                       bounds=np.column_stack([np.zeros(T * n), flat.tasks.ravel()]))
        assert -best.fun >= float(other.tasks.sum()) - 1e-9 > float(got.tasks.sum())


def test_without_the_constraint_some_beta_falls_below_one() -> None:
    w = Workload.of([[[1, "1/4"], [1, "1/4"]], [["1/4", 1], ["1/4", 1]]], [[1, "1/8"], [2, 2]], [[1, 1]], HALF)
    got = RULES["fluid, no constraint"](w, True)
    assert got.tasks.tolist() == [[F(7, 8), F(1, 8)], [F(1, 8), F(7, 8)]]
    assert judge.sharing_incentive_so_far(w, got) == F(11, 20) - 1
    assert np.allclose(RULES["fluid, no constraint"](w.in_floats(), False).tasks, got.tasks.astype(float))
    assert RULES["fluid, expires"](w, True).tasks.tolist() == [[F(7, 8), F(1, 8)], [F(13, 32), F(19, 32)]]


def test_true_tasks_of_a_lie() -> None:
    w = Workload.of([[[1], [1]], [["1/2"], [1]]], [[1, 1], [3, 1]], [[4]], HALF)
    claimed = np.array([[F(2)], [F(1, 2)]], dtype=object)
    got = outcome(replace(w, demands=np.array([[[F(2)], [F(1)]], [[F(1, 2)], [F(1)]]], dtype=object)),
                  [[1, 1], [1, 1]], w.demands * 0)
    # holds 2 and 1/2: one true task (its bound) and one; in a queue one of 1, then two of 1/2 wait for period 2
    assert judge.true_tasks_over_time(w, got, 0, claimed) == 2
    assert judge.true_tasks_over_time(w, replace(got, waits=True), 0, claimed) == 2
    short = replace(got, amounts=got.amounts / 4, waits=True)  # 1/2 of the task of 1, then 1/8 of it
    assert judge.true_tasks_over_time(w, short, 0, claimed) == F(1, 2) + F(1, 8)


@pytest.mark.parametrize("name", ["alone, expires", "alone, waits", "alone, whole, expires", "alone, whole, waits"])
def test_nobody_gains_by_lying_to_himself(name: str) -> None:
    gain, _, done = judge.search_lie_over_time(RULES[name], evaluations=150, rng=stream(2, 2), whole="whole" in name)
    assert gain <= 1e-7
    assert done >= 150


def test_the_largest_claim_wins_where_claims_are_believed() -> None:
    gain, words, _ = judge.search_lie_over_time(BROKEN["by claims"], evaluations=200, rng=stream(2, 3), periods=(1, 1))
    assert gain > 0.01
    assert "claims demands" in words


@pytest.mark.parametrize("alone", ["bundles", "whole_bundles", "resources"])
@pytest.mark.parametrize("unserved", ["expires", "waits"])
def test_the_heuristic_equals_fractions(alone: Any, unserved: Any) -> None:
    # powers of two, and no distances to compare: nothing is rounded, so that a tie is a tie in floats, too
    rng = stream(4, len(alone), len(unserved))
    for _ in range(60):
        T, K = (int(rng.integers(1, 4)) for _ in range(2))
        n, m = int(rng.choice([1, 2, 4])), int(rng.integers(1, 3)) if K == 1 else 1
        demands = rng.choice([1, 2, 4], (T, n, m))
        tasks, machines = rng.integers(0, 6, (T, n)), np.repeat(rng.choice([4, 8, 16], (1, m)), 2 ** (K - 1), axis=0)
        parts = np.full((n, len(machines)), 1 / n)
        run = tv_drf(demands, tasks, machines, parts, alone=alone, unserved=unserved, placement=True)
        exact = exact_whole_run(demands.tolist(), tasks.tolist(), machines.tolist(),
                                [[F(1, n)] * len(machines)] * n, alone, unserved)
        assert np.allclose(run.alone, np.array(exact.alone, dtype=float), atol=1e-12)
        assert run.placement is not None
        assert run.placement.tolist() == exact.placement
        beta = [[np.inf if b is None else float(b) for b in row] for row in exact.sharing_coefficients]
        assert np.allclose(run.sharing_coefficients, beta)
        assert run.below_one.tolist() == exact.below_one


@pytest.mark.parametrize(("changed", "argument"), [
    ({"tasks": [["1/2", 1]]}, "tasks"), ({"tasks": [[1]]}, "tasks"), ({"tasks": [[1, 1], [1, 1]]}, "tasks"),
    ({"tasks": [[-1, 1]]}, "tasks"), ({"demands": [[[1], [-1]]]}, "demands"),
    ({"demands": [[[1, 1], [1, 1]]]}, "demands"),
    ({"machines": [[0]]}, "machines"), ({"contributions": [["1/2"], ["1/4"]]}, "contributions"),
    ({"contributions": [["1/2", 0], ["1/2", 1]]}, "contributions"), ({"unserved": "stays"}, "alone, unserved"),
    ({"alone": "home"}, "alone, unserved"),
])  # fmt: skip
def test_bad_input_to_the_oracle_in_whole_tasks(changed: dict[str, Any], argument: str) -> None:
    given: dict[str, Any] = {"demands": [[[1], [1]]], "tasks": [[1, 1]], "machines": [[2]],
                             "contributions": [["1/2"], ["1/2"]]}  # fmt: skip
    assert exact_whole_run(**given).tasks == [[1, 1]]
    with pytest.raises(InvalidInput) as caught:
        exact_whole_run(**{**given, **changed})
    assert caught.value.where == argument


@pytest.mark.parametrize(("changed", "argument"), [
    ({"capacities": [0]}, "capacities"), ({"parts": ["1/2", "1/4"]}, "parts"), ({"tasks": [[1]]}, "tasks"),
    ({"demands": [[[1], [-1]]]}, "demands"),
])  # fmt: skip
def test_bad_input_to_the_fluid_oracle_in_fractions(changed: dict[str, Any], argument: str) -> None:
    given: dict[str, Any] = {"demands": [[[1], [1]]], "tasks": [[1, 1]], "capacities": [2], "parts": ["1/2", "1/2"]}
    assert exact_run(**given).tasks == [[1, 1]]
    with pytest.raises(InvalidInput) as caught:
        exact_run(**{**given, **changed})
    assert caught.value.where == argument


@pytest.mark.parametrize(("changed", "argument"), [
    ({"tasks": [[-1, 1]]}, "tasks"), ({"contributions": [[0.5], [0.25]]}, "contributions"),
    ({"demands": [[[1, 1], [1, 1]]], "machines": [[2, 0]]}, "machines"),
])  # fmt: skip
def test_bad_input_to_the_linear_programs(changed: dict[str, Any], argument: str) -> None:
    given: dict[str, Any] = {"demands": [[[1], [1]]], "tasks": [[1, 1]], "machines": [[2]],
                             "contributions": [[0.5], [0.5]]}  # fmt: skip
    assert np.allclose(lexicographic_run(**given).tasks, 1)
    with pytest.raises(InvalidInput) as caught:
        lexicographic_run(**{**given, **changed})
    assert caught.value.where == argument


def test_every_evaluation_of_a_search_is_counted_and_compared() -> None:
    calls: list[Workload] = []

    def margin(w: Workload) -> float:
        calls.append(w)
        return 1.0 / len(calls)

    least, where, done = judge.search_workload(margin, evaluations=37, rng=stream(3, 3), moves=6)
    assert done == len(calls) == 37
    assert least == 1 / 37
    assert where is calls[-1]
    with pytest.raises(InvalidInput):
        judge.search_workload(margin, evaluations=0, rng=stream(3, 3))


def test_the_order_in_which_tasks_are_given() -> None:
    run = exact_whole_run([[[2], [1]]], [[2, 2]], [[4]], [["3/4"], ["1/4"]], "whole_bundles")
    assert run.order == [[0, 1, 1]]


def test_findings_on_a_run_name_the_period() -> None:
    run = tv_drf([[[1], [1]]] * 2, [[1, 1 / 4], [1, 2]], [[1]], [1 / 4, 3 / 4], method="lexicographic")
    sharing, envy, above = judge.findings(run)
    assert sharing.holds
    assert above.holds
    assert not envy.holds
    assert np.isclose(envy.margin, -4 / 3)
    assert envy.witness == {"says": "first after period 1, most after period 1"}
    assert envy.margins.shape == (2,)
    with pytest.raises(InvalidInput, match="finite"):
        judge.findings(tv_drf([[[1]]], [[np.inf]], [[1]], [1], method="lexicographic"))


def test_courses_that_no_mechanism_makes_have_both_signs() -> None:
    rng, signs = stream(8, 8), set()
    for _ in range(60):
        w = judge.workloads(rng)
        got = RULES["any course, waits"](w, False)
        assert (got.amounts.sum(axis=1) <= w.capacities * (1 + 1e-9)).all()
        assert (got.left(w) >= -1e-9).all()
        more = np.cumsum(got.tasks, axis=0) - np.cumsum(RULES["alone, waits"](w, False).tasks, axis=0)
        signs |= set(np.sign(more.round(9)).ravel().tolist())
    assert signs == {-1.0, 0.0, 1.0}


def test_samples_stay_in_the_domain_of_the_paper() -> None:
    rng = stream(5, 5)
    for whole in (False, True):
        for _ in range(50):
            w = judge.moved(rng, judge.workloads(rng, whole=whole, machines=(1, 3)), whole=whole)
            assert (w.demands > 0).all()
            assert (w.tasks > 0).all()
            assert np.allclose(w.contributions.sum(axis=0), 1)
            assert not whole or (w.tasks == np.floor(w.tasks)).all()
            assert "demands" in str(w)
            demands, tasks = judge.lies(rng, w, 0, whole=whole)
            assert (demands > 0).all()
            assert (tasks > 0).all()


def test_who_has_no_tasks_may_claim_some() -> None:
    rng, claimed = stream(5, 6), 0
    for _ in range(60):
        w = judge.workloads(rng, idle=True)
        assert (w.tasks[:, -1] > 0).all()
        idle = w.tasks[:, 0] == 0
        claimed += int((judge.lies(rng, w, 0, whole=False)[1][idle] > 0).sum())
    assert claimed > 10


def test_envy_of_every_resource_asks_for_more() -> None:
    w = Workload.of([[[2, 1], [1, 2]]], [[1, 1]], [[2, 2]], HALF)
    got = RULES["fluid, expires"](w, True)
    assert judge.envy_freeness(w, got) == 0  # against itself
    assert judge.envy_freeness(w, got, every=True) == F(-2, 3)


@pytest.mark.parametrize("tasks_a", [1, 3])
def test_a_coefficient_that_starts_at_zero_comes_first(tasks_a: int) -> None:
    # alone A could run no task of 3, and B both of its own
    w = Workload.of([[[3], [1]]], [[tasks_a, 2]], [[4]], HALF)
    assert RULES["whole, expires"](w, True).tasks.tolist() == [[0, 2]]
    assert RULES["whole, beta from 0"](w, True).tasks.tolist() == [[1, 1]]
    flat = RULES["whole, beta from 0"](w.in_floats(), False)
    assert judge.sharing_incentive_so_far(w, flat) == F(-1, 2)


def test_the_grid_of_verdicts_has_a_row_for_each_theorem() -> None:
    verdicts = claims.grid()
    assert verdicts.shape == (4, 1 + 6)
    assert set(verdicts.iloc[:, 1:].to_numpy().ravel()) <= {"holds", "refuted", "partly", "undetermined"}


def test_the_best_in_whole_tasks_is_found_by_trying_all() -> None:
    assert max(claims._all_whole(claims.SPLIT)) == (F(18, 23), F(32, 25))
    assert (0, F(4, 3)) in claims._all_whole(Workload.of([[[2], [2]]], [[1, 1]], [[3]], HALF))
