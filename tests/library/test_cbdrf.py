"""cbDRF and its repairs against exact fractions, closed forms, the paper's numbers and their own certificates."""

import copy
import pickle
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import fairbook as fb
from fairbook.mechanisms.credit.cbdrf import cbdrf_rule
from fairbook.mechanisms.credit.cbdrf_run import CreditRun
from fairbook.mechanisms.credit.credit_rule import CreditRule
from fairbook.model.exact import fractions
from tests.strategies import floats

GRANTS = ("scaled", "weighted", "capped")
HELD, PENALTIES, READINGS = ("returns", "stays"), ("step", "graded"), ("least", "mean", "dominant")
COMBINATIONS = list(product(GRANTS, HELD, PENALTIES, READINGS))
RTOL = 1e-11
POOL = [500.0, 50_000.0]  # the paper's CPU and memory


def same(found: Any, exact: Any, rtol: float = RTOL, atol: float = 0.0) -> bool:
    return np.allclose(np.asarray(found, dtype=float), floats(exact), rtol=rtol, atol=atol)


# ---------------------------------------------------------------------------------------------------- one phase


def test_what_stops_a_node_is_told() -> None:
    demands, psi = [[1, 4], [3, 1], [0, 0]], [1, 0.5, 1]
    stops = {
        grant: fb.grant_tasks(demands, psi, capacities=[9, 18], grant=grant).bottlenecks.tolist() for grant in GRANTS
    }
    # scaled: what the second node does not get is free, so that nothing stops the first
    assert stops == {"scaled": [-2, -2, -3], "weighted": [1, 1, -3], "capped": [1, -1, -3]}
    found = fb.grant_tasks(
        pd.DataFrame(demands, ["a", "b", "c"], ["cpu", "ram"]), psi, capacities=[9, 18], grant="capped"
    )
    assert found.to_frame()["bottleneck"].tolist() == ["ram", "own bound", "not present"]
    assert found.explain("a").endswith("ram, which it needs, is used up.")
    assert found.explain("c") == "c is not present."
    assert replace(found, bottlenecks=np.array([0, -3, -3])).violations()[:2] == [
        "a is not stopped by cpu",
        "b is not stopped by being away",
    ]
    assert fb.grant_tasks(demands, [1, 1, 1], capacities=[9, 18]).bottlenecks.tolist() == [0, 0, -3]


@pytest.mark.parametrize("grant", GRANTS)
@pytest.mark.parametrize("psi", [1e-300, 1e-20])
def test_factors_may_be_tiny(grant: Any, psi: float) -> None:
    for factors in ([psi, 1.0], [psi, psi], [psi, 0.0], [psi, psi / 2], [0.0, 0.0]):
        found = fb.grant_tasks([[1.0, 0.5], [0.5, 1.0]], factors, grant=grant, engine="plain")
        assert found.violations() == []
        if grant == "weighted" and any(factors):  # only the relation of the weights counts
            assert found.use.max() == pytest.approx(1)


def test_by_hand() -> None:
    assert fb.cbdrf([[[1, 4], [3, 1]]], capacities=[9, 18]).slack.tolist() == [[0, 4]]
    alone = fb.cbdrf([[[1, 1]]] * 3, capacities=[4, 4], released=0, grant="capped")
    assert same(alone.tasks[:, 0], [4, 3.6, 3.2])
    assert alone.violations() == []


def test_nodes_too_far_apart_for_doubles_are_refused() -> None:
    for blamed, call in (
        ("credit_factor", lambda **how: fb.grant_tasks([[1.0], [1.0]], [1e-9, 1.0], grant="weighted", **how)),
        ("demands", lambda **how: fb.cbdrf([[[1.0, 1e-9], [1e-9, 1.0]]] * 2, released=0.5, **how)),
    ):
        with pytest.raises(fb.InvalidInput, match=rf'^{blamed} must .*engine="plain"'):
            call()
        assert call(engine="plain").violations() == []


# --------------------------------------------------------------------------------------- many phases, exact


def drawn(seed: int) -> dict[str, Any]:
    """Draw a run in few distinct numbers: ratios often equal their threshold, credits often cap, floor and C_0."""
    rng = np.random.default_rng(seed)
    T, n, m = rng.integers(1, [7, 5, 4])
    tenths = fractions(range(11)) / 10
    start = fractions(rng.choice([1, 2, 7]))[()] / 2
    shape = [(T, n), (T, n, m)][seed % 2]
    return {
        "demands": fractions(rng.integers(0, 5, (T, n, m))) / 4 * (rng.random((T, n, 1)) < 0.8),
        "capacities": fractions(rng.integers(1, 9, m)) / 3,
        "released": np.where(
            rng.random(shape) < 0.3, fractions([0, 1, "3/4"])[rng.integers(3)], rng.choice(tenths, shape)
        ),
        "rho": np.where(rng.random((T, n)) < 0.5, Fraction(3, 4), rng.choice(tenths, (T, n))),
        "step_up": start * rng.choice(tenths),
        "step_down": start * rng.choice(tenths),
        "initial_credit": start,
        "credit_cap": [None, start * (1 + rng.choice(tenths))][rng.integers(2)],
        "credit_floor": start * rng.choice(tenths[:4]),
    }


@pytest.mark.parametrize(("grant", "held", "penalty", "ratio"), COMBINATIONS)
def test_runs_equal_exact_fractions_and_one_phase_at_a_time(grant: Any, held: Any, penalty: Any, ratio: Any) -> None:
    readings = {"held": held, "grant": grant, "penalty": penalty, "ratio": ratio}
    for seed in range(12):
        case = drawn(seed)
        exact = cbdrf_rule(**case, **readings)
        numbers = {name: one if one is None else np.asarray(one, dtype=float)[()] for name, one in case.items()}
        found = fb.cbdrf(**numbers, **readings)
        for name in ("credit", "final_credit", "credit_factor", "pool", "drf_tasks", "tasks"):
            assert same(getattr(found, name), getattr(exact, name), atol=1e-12), name
        for mark in (0, 1):  # not one rounding short of it
            assert ((found.credit_factor == mark) == (exact.credit_factor == mark)).all()
        assert found.violations() == []
        pool = fb.CbDrf(found.tasks.shape[1], found.capacities, rule=replace(found.rule, rho=0.75))
        for t, need in enumerate(found.demands):
            assert (pool.pool == found.pool[t]).all()
            assert (pool.credit == found.credit[t]).all()
            allocation = pool.phase(need)
            assert (allocation.tasks == found.tasks[t]).all()
            assert (allocation.bottlenecks == found.bottlenecks[t]).all()
            pool = pickle.loads(pickle.dumps(pool))  # goes on digit for digit
            pool.release(numbers["released"][t], rho=numbers["rho"][t])
        assert (pool.credit == found.final_credit).all()


# ---------------------------------------------------------------------------------------------- the paper's figures


def random_demands(seed: int, phases: int, nodes: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return np.stack([rng.uniform(20, 100, (phases, nodes)), rng.uniform(300, 1000, (phases, nodes))], axis=2)


# -------------------------------------------------------------------------------------------- credit over phases


@pytest.mark.parametrize(
    ("up", "down", "cap", "floor"),
    [
        (10, 10, None, 0),
        (10, 10, 150, 20),
        (30, 7, 100, 10),
        (1, 90, 100, 0),
    ],
)
def test_thousands_of_phases_equal_whole_numbers(up: int, down: int, cap: int | None, floor: int) -> None:
    T, n = 2_000, 4
    rng = np.random.default_rng(up)
    complies = rng.random((T, n)) < [0.5, down / max(up + down, 1), 0.05, 0.95]
    complies[:, 3] = np.arange(T) < T // 2  # half up, then half down
    exact = np.empty((T, n), dtype=np.int64)  # in hundredths
    credit = np.full(n, 100)
    for t in range(T):
        exact[t] = credit
        complies[t] |= credit == 0  # who is granted nothing holds nothing
        credit = np.where(complies[t], np.minimum(credit + up, cap or 10**9), np.maximum(credit - down, floor))
    found = fb.cbdrf(
        np.ones((T, n, 1)),
        released=np.where(complies, 0.75, 0.7),
        step_up=up / 100,
        step_down=down / 100,
        credit_cap=None if cap is None else cap / 100,
        credit_floor=floor / 100,
    )
    assert ((found.credit_factor == 1.0) == (exact >= 100)).all()
    assert (found.credit[exact == floor] == floor / 100).all()
    assert same(found.credit, exact / 100, atol=1e-9)
    assert (found.complied == complies).all()
    assert found.violations() == []


def test_tiny_steps_count() -> None:
    for step in (1e-10, 1e-6, 1e-3):
        found = fb.cbdrf(np.ones((50, 1, 1)), capacities=None, released=0.0, step_down=step)
        assert same(1 - found.credit[:, 0], step * np.arange(50), rtol=1e-4)
        assert (np.diff(found.credit[:, 0]) < 0).all()


@pytest.mark.parametrize("engine", ["fast", "plain"])
def test_steps_far_below_the_credit_count(engine: Any) -> None:
    run = fb.cbdrf(np.ones((4, 1, 1)), released=0.0, initial_credit=1e9, engine=engine)
    assert run.violations() == []
    assert same(run.credit[:, 0] - 1e9, -0.1 * np.arange(4), atol=1e-6)
    never = np.full_like(run.credit, 1e9)
    assert replace(run, credit=never, final_credit=never[0]).violations() != []
    assert run.at(0).weights.tolist() == [1]
    assert cbdrf_rule([[[1]]]).tasks.tolist() == [[1]]  # of one, where no capacities are given


def test_a_clean_record_is_not_lost_by_rounding() -> None:
    mean = fb.cbdrf(np.ones((1, 1, 3)), capacities=None, released=[[[0.0, 0.0, 0.3]]], rho=0.1, ratio="mean")
    assert mean.released[0, 0] < 0.1  # by a rounding error
    assert mean.complied.all()
    assert not fb.cbdrf(np.ones((1, 1, 1)), capacities=None, released=0.2 - 1e-9, rho=0.2).complied.any()


ONE, EACH = [[[1.0, 4.0, 0.0]]], [[[0.9, 0.5, 0.1]]]  # the last resource is not needed and does not count


@pytest.mark.parametrize(
    ("demands", "pool", "options", "name", "expected"),
    [
        *(
            (ONE, None, {"released": EACH, "ratio": ratio}, "released", [[one]])
            for ratio, one in (("least", 0.5), ("mean", 0.7), ("dominant", 0.5))
        ),
        (
            ONE,
            [1.0, 8.0, 1.0],
            {"released": EACH, "ratio": "dominant"},
            "released",
            [[0.9]],
        ),  # now the first is dominant
        (np.zeros((1, 1, 3)), None, {"released": EACH, "ratio": "mean"}, "released", [[1]]),
        (np.ones((3, 2, 1)), None, {"released": 0.5, "rho": [0.5, 0.6]}, "complied", [[True, False]] * 3),
        (
            np.ones((3, 2, 1)),
            None,
            {"released": 0.5, "rho": [[0.4], [0.5], [0.6]]},
            "complied",
            [[True, True], [True, True], [False, False]],
        ),
    ],
)
def test_ratios_a_resource_and_thresholds_a_node_or_a_phase(
    demands: Any, pool: Any, options: dict[str, Any], name: str, expected: Any
) -> None:
    assert getattr(fb.cbdrf(demands, capacities=pool, **options), name).tolist() == expected


def test_who_is_granted_nothing_complies() -> None:
    demands = np.array([[[1.0], [0.0]]] * 3)
    found = fb.cbdrf(demands, capacities=None, released=0.0)
    assert found.released[:, 1].tolist() == [1, 1, 1]
    assert found.credit_factor[:, 1].tolist() == [1, 1, 1]
    assert np.isnan(found.granted_ratio[:, 1]).all()
    locked = fb.cbdrf(np.ones((4, 1, 1)), capacities=None, released=0.0, step_down=1.0)
    assert locked.credit_factor[:, 0] == pytest.approx([1, 0, 0.1, 0])  # credit 0: no grant, nothing held, up again


# ------------------------------------------------------------------------------------------- forms of the same run


def test_forms_of_behaviour() -> None:
    demands, T, m = random_demands(3, 6, 3), 6, 2
    each = np.array([0.9, 0.6, 0.75])
    expected = fb.cbdrf(demands, capacities=POOL, released=each).to_frame()
    tiled = np.tile(each, (T, 1))
    for form in (each.tolist(), tiled, np.tile(each[None, :, None], (T, 1, m)), pd.Series(each), pd.DataFrame(tiled)):
        found = fb.cbdrf(demands, capacities=POOL, released=form).to_frame()
        pd.testing.assert_frame_equal(found, expected, check_exact=True)
    assert (fb.cbdrf(demands).released == 1).all()


def test_a_phase_without_some_resource_is_no_allocation() -> None:
    gone = fb.cbdrf(np.ones((2, 1, 1)), released=0.0, held="stays")
    with pytest.raises(fb.InvalidInput, match="phase must be one whose pool"):
        gone.at(1)


# ------------------------------------------------------------------------------------------ the ends of the range


@pytest.mark.parametrize(("grant", "held"), list(product(GRANTS, HELD)))
def test_input_at_the_ends_of_the_range(grant: Any, held: Any) -> None:
    low, high = 1e-75, 1e75
    ends = np.array([[low, high], [high, low], [low, low], [0, high], [high, high], [0, 0]])
    for capacities in ([low, high], [high, high], [1.0, 1.0]):
        found = fb.cbdrf(
            [ends, ends[::-1], ends],
            capacities=capacities,
            released=[0.0, 1.0, 0.5, 0.75, 0.7, 0.0],
            held=held,
            grant=grant,
            engine="plain",
        )
        assert found.violations() == []
        assert ((found.tasks > 0) == (found.demands > 0).any(axis=2)).all()


@pytest.mark.parametrize("start", [1e-75, 1e75])
def test_credits_at_the_ends_of_the_range(start: float) -> None:
    found = fb.cbdrf(
        np.ones((12, 2, 1)),
        released=[0.0, 1.0],
        step_up=start / 10,
        step_down=start / 10,
        initial_credit=start,
        credit_cap=start,
        credit_floor=start / 5,
    )
    assert same(found.credit_factor[:, 0], np.maximum(np.arange(10, -2, -1) / 10, 0.2))
    assert (found.credit_factor[:, 1] == 1).all()
    assert found.violations() == []


def test_hundreds_of_nodes() -> None:
    rng = np.random.default_rng(0)
    demands, behaviour = rng.random((20, 200, 3)), rng.random((20, 200))
    demands[rng.random((20, 200)) < 0.1] = 0.0
    for grant, held in product(GRANTS, HELD):
        found = fb.cbdrf(demands, capacities=None, released=behaviour, held=held, grant=grant)  # type: ignore[arg-type]
        assert found.violations() == []


# --------------------------------------------------------------------------------------------------- certificate


@pytest.mark.parametrize(("grant", "held"), list(product(GRANTS, HELD)))
def test_certificate_notices_another_rule(grant: Any, held: Any) -> None:
    demands = random_demands(7, 8, 4)
    demands[2, 3] = 0.0
    behaviour = np.random.default_rng(7).uniform(0.2, 1, (8, 4, 2))
    behaviour[:, 0] = [1.0, 0.8]
    run = fb.cbdrf(demands, capacities=[500, 5000], released=behaviour, credit_cap=1.2, held=held, grant=grant)
    assert run.violations() == []
    terms = {"step_up": 0.2, "step_down": 0.2, "rho": 0.2, "initial_credit": 0.9, "credit_cap": 1.0}
    others = {"held": "returns" if held == "stays" else "stays", "grant": "capped" if grant == "scaled" else "scaled"}
    for name, value in (terms | others | {"penalty": "graded", "ratio": "mean"}).items():
        assert replace(run, rule=replace(run.rule, **{name: value})).violations() != [], name


@pytest.mark.parametrize("seed", range(5))
def test_a_pool_that_is_all_held_is_empty_exactly(seed: int) -> None:
    rng = np.random.default_rng(seed)
    run = fb.cbdrf(rng.random((6, 7, 3)), capacities=rng.random(3), released=0.0, step_down=0.0, held="stays")
    for t in (0, 2, 4):
        scarce = np.unique(run.bottlenecks[t])
        assert (run.pool[t + 1, scarce] == 0).all()
        assert (run.pool[t + 1] >= 0).all()
        assert not run.tasks[t + 1].any()
        assert (run.pool[t] == run.capacities).all()
    assert run.violations() == []


# ------------------------------------------------------------------------------------------------------- explain


THREE = [[[1.0, 4.0], [3.0, 1.0], [0.0, 0.0]]] * 3
RUNS: dict[str, CreditRun] = {
    **{grant: fb.cbdrf(THREE, capacities=[9, 18], released=[1.0, 0.5, 1.0], grant=grant) for grant in GRANTS},
    "more": fb.cbdrf([[[1, 0], [1, 0.5], [0, 1]]] * 2, released=[0.0, 1.0, 1.0], grant="capped"),  # with zero demands
    "away": fb.cbdrf(
        [[[1], [1]], [[1], [0]]], capacities=None, released=[1.0, 0.0]
    ),  # the punished one has left for this phase
    "empty": fb.cbdrf(np.ones((2, 1, 2)), capacities=[1, 2], released=0.0, held="stays"),
    "second": fb.cbdrf([[[1, 0], [0, 1]]] * 2, capacities=[1, 9], released=[0.0, 1.0], held="stays"),
}


@pytest.mark.parametrize(
    ("run", "user", "phase", "said"),
    [
        (
            "scaled",
            0,
            0,
            "0 runs 3 tasks in phase 0; DRF would give it 3. It is in good standing, and so is everyone who "
            "is present.",
        ),
        ("scaled", 0, None, "It is in good standing: what is withheld from others lies idle."),
        (
            "scaled",
            1,
            2,
            "1 runs 1.6 tasks in phase 2; DRF would give it 2. It failed to release enough in 2 of 2 phases "
            "before, and stands at 80.00% of the initial credit, the part of its DRF amount that it gets.",
        ),
        ("scaled", 2, 1, "2 is not present in phase 1."),
        ("weighted", 0, 1, "what is withheld from others goes to it and its like."),
        ("weighted", 1, 1, "is its weight."),
        ("capped", 0, 1, "goes to it and its like."),
        ("capped", 1, 1, "the part of an equal split that it gets."),
        ("more", 2, 1, "others in good standing took what was withheld, and more."),
        ("away", 0, 1, "and so is everyone who is present."),
        (
            "empty",
            0,
            1,
            "0 runs 0 tasks in phase 1: it needs resource 0, all of which is still held from the phase before.",
        ),
        ("second", 0, 1, "it needs resource 0, all of which is still held from the phase before."),
    ],
)
def test_explain(run: str, user: int, phase: int | None, said: str) -> None:
    assert RUNS[run].explain(user, phase).endswith(said)


# ------------------------------------------------------------------------------------------------ one phase at a time


def test_names_one_phase_at_a_time() -> None:
    pool = fb.CbDrf(["ann", "bob", "cyd"], pd.Series(POOL, ["cpu", "memory"]))
    *before, last = random_demands(9, 4, 3)
    for demands in before:
        pool.phase(demands)
        pool.release([1.0, 0.5, 0.1])
    assert repr(pool) == "CbDrf(3 nodes, 1 in good standing, phase 3)"
    pool.phase(last)
    ratios = pd.DataFrame([[0.1, 0.9], [0.8, 0.8], [1.0, 0.7]], pool.users, pool.resources)
    twin, mixed = copy.deepcopy(pool), copy.deepcopy(pool)
    mixed.release(ratios.iloc[::-1, ::-1])
    twin.release(ratios)
    assert mixed.credit.tolist() == twin.credit.tolist() != pool.credit.tolist()
    with pytest.raises(fb.InvalidInput, match=r"^ratios\.columns"):
        pool.release(ratios.rename({"cpu": "disk"}, axis=1))
    pool.release(pd.Series([0.0, 1.0, 1.0], ["bob", "cyd", "ann"]), rho=pd.Series([0.5, 1, 1], ["bob", "cyd", "ann"]))
    assert pool.credit == pytest.approx([1.0, 0.6, 0.8])
    assert fb.CbDrf(3, [1.0]).users == (0, 1, 2)
    named = fb.CbDrf(["a", "b"], [1.0], rho=pd.Series([0.1, 0.9], ["b", "a"]))
    assert np.asarray(named.rule.rho).tolist() == [0.9, 0.1]


def test_rules_are_equal_by_value() -> None:
    assert CreditRule(rho=np.array([0.75, 0.5])) == CreditRule(rho=[0.75, 0.5]) != CreditRule(rho=[[0.75, 0.5]])
    assert {CreditRule(rho=[0.75, 0.5]): 1}[CreditRule(rho=(0.75, 0.5))] == 1
    assert CreditRule(initial_credit=2) == CreditRule(initial_credit=2, credit_cap=2.0)  # the default cap


# ------------------------------------------------------------------------------------------------------ bad input

D = np.ones((3, 2, 2))  # 3 phases, 2 nodes, 2 resources


@pytest.mark.parametrize("argument", ["released", "rho"])
def test_shapes_that_fit_neither_nodes_nor_phases_are_refused(argument: str) -> None:
    """Beyond the table of bad inputs: what may be a number, a row or a table."""
    for bad in ([1, 1, 1], np.ones((2, 2)), np.ones((3, 3)), np.ones((3, 2, 3)), [[1, 1], [1]], [0.5, 2], {"cy": 1}):
        with pytest.raises(fb.InvalidInput, match=f"^{argument}"):
            fb.cbdrf(D, **{argument: bad})


def test_a_rule_and_fields_of_it() -> None:
    rule = CreditRule(step_up=0.5)
    assert fb.CbDrf(2, [1.0], rule=rule).rule == rule == fb.CbDrf(2, [1.0], step_up=0.5).rule
    assert fb.CbDrf(2, [1.0], rule=rule, held="stays").rule == replace(rule, held="stays")
    with pytest.raises(fb.InvalidInput, match=r"^rho must be one number"):
        fb.CbDrf(2, [1.0], rho=[0.5] * 3)
