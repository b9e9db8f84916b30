"""drf and drf_by_task against exact fractions, linear programs, certificates and what the DRF paper prints."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

import fairbook as fb
from book.common.oracle_drf import exact_tasks
from fairbook.mechanisms.pool import whole_tasks
from fairbook.mechanisms.pool.dmfa_srq import exact_levels
from tests.strategies import close, random_arrivals

# ----------------------------------------------------------------------------------------- divisible, exact


#: Demands, options, tasks, what stops each user (-1: its own bound, -2: nothing).
BY_HAND: list[tuple[Any, Any, dict[str, Any], list[float], list[int]]] = [
    # a bound of zero leaves the rest to the others
    (fb.drf, [[1, 1], [1, 2]], {"max_tasks": [0, np.inf]}, [0, 0.5], [-1, 1]),
    (fb.drf, [[1.0]], {"max_tasks": [0]}, [0], [-1]),
    # a bound wins a tie with a resource, the smaller index one of resources
    (fb.drf, [[1, 0], [1, 0]], {"max_tasks": [0.5, np.inf]}, [0.5, 0.5], [-1, 0]),
    (fb.drf, [[1, 1], [1, 1]], {}, [0.5, 0.5], [0, 0]),
    # the example of the paper
    (fb.drf, [[1, 4], [3, 1]], {"capacities": [9, 18]}, [3, 2], [0, 0]),
    (fb.drf_by_task, [[1, 4], [3, 1]], {"capacities": [9, 18]}, [3, 2], [0, 0]),
    # A and B fill the first resource; C, who does not need it, goes on until the second is used up
    (fb.drf, [[1, 0], [1, 1], [0, 1]], {}, [0.5, 0.5, 0.5], [0, 0, 1]),
    (fb.drf, [[1, 0], [1, 0], [0, 1]], {}, [0.5, 0.5, 1], [0, 0, 1]),
    # whole tasks: who does not fit is passed over, or ends it; ten tenths fill a unit; bounds are rounded down
    (fb.drf_by_task, [[0.6, 0.1], [0.1, 0.1]], {}, [1, 4], [0, 0]),
    (fb.drf_by_task, [[0.6, 0.1], [0.1, 0.1]], {"stuck": "stop"}, [1, 4], [0, 0]),
    (fb.drf_by_task, [[0.6, 0.1], [0.5, 0.1], [0.1, 0.1]], {"stuck": "stop"}, [1, 0, 0], [0, 0, -2]),
    (fb.drf_by_task, [[0.9], [0.8], [0.05]], {"stuck": "stop"}, [1, 0, 0], [0, 0, -2]),
    (fb.drf_by_task, [[0.1]], {}, [10], [0]),
    (fb.drf_by_task, [[0.1], [0.1]], {"max_tasks": [2.9, np.inf]}, [2, 8], [-1, 0]),
    (fb.drf_by_task, [[1e-10]], {"max_tasks": [5]}, [5], [-1]),
    # three tenths are 0.3: the first user's turn
    (fb.drf_by_task, [[1], [3]], {"capacities": [20], "stuck": "stop"}, [10, 3], [-2, 0]),
    (fb.drf_by_task, [[0.1], [0.3]], {"capacities": [2], "stuck": "stop"}, [10, 3], [-2, 0]),
    (fb.drf_by_task, [[6], [2]], {"capacities": [5539], "max_tasks": [np.inf, 1728]}, [462, 1383], [0, 0]),
]


@pytest.mark.parametrize(("mechanism", "demands", "options", "tasks", "stops"), BY_HAND)
def test_by_hand(mechanism: Any, demands: Any, options: dict[str, Any], tasks: list[float], stops: list[int]) -> None:
    allocation = mechanism(demands, **options)
    assert (allocation.tasks.tolist(), allocation.bottlenecks.tolist()) == (tasks, stops)
    # what ends early leaves what could be had, and its certificate says so
    assert (allocation.violations() == []) == (-2 not in stops)


def test_bounds_are_kept_to_the_last_digit() -> None:
    # where bound and resource end together, rounding once gave a user a digit more than its bound
    rng = np.random.default_rng(0)
    for _ in range(5000):
        n, m = rng.integers(2, 5), rng.integers(1, 3)
        demands, weights = rng.integers(1, 5, (n, m)) / rng.integers(1, 8, (n, m)), rng.integers(1, 8, n).astype(float)
        near = fb.drf(demands, weights=weights).tasks * (1 + rng.choice([0, 2.3e-16, -1.2e-16], n))
        bounds = np.where(rng.random(n) < 0.5, near, np.inf)
        assert (fb.drf(demands, weights=weights, max_tasks=bounds).tasks <= bounds).all()


def test_weights_per_resource() -> None:
    # section 4.3: with weights of its own on each resource, a user's level is max_j share_ij / w_ij
    demands = np.array([[1.0, 0.5], [0.5, 1.0]])
    weights = np.array([[3.0, 1.0], [1.0, 1.0]])
    allocation = fb.drf(demands, weights=weights)
    scaled = weights / weights.sum(axis=0)
    assert close(allocation.weights, scaled)
    rate = 1 / (demands / scaled).max(axis=1)
    level = 1 / (rate @ demands).max()
    assert close(allocation.tasks, rate * level)
    assert close(allocation.levels, [level, level])
    assert allocation.violations() == []


# ------------------------------------------------------------------------------------------------- minima

#: One resource: how much there is, minima, bounds, weights, how minima count, and the shares that others' tests expect.
#: YARN: TestComputeFairShares, testMinShares and testWeightedSharingWithMinShares (github.com/apache/hadoop, 0f809af6).
#: KAI: resource_division_test.go, two queues (github.com/kai-scheduler/KAI-Scheduler, 27a76bdc); its 11 GPUs for two
#: equal queues become 6 and 5, for it hands out whole ones.
OF_OTHERS: list[tuple[float, list[float], Any, list[float], str, list[float]]] = [
    (40, [20, 18, 0, 2], None, [1, 1, 1, 1], "counted", [20, 18, 0, 2]),
    (45, [20, 0, 5, 15], None, [2, 1, 1, 0.5], "counted", [20, 5, 5, 15]),
    (15, [2, 2], [6, 6], [2, 2], "apart", [6, 6]),
    (12, [2, 2], [6, 6], [2, 2], "apart", [6, 6]),
    (8, [2, 2], [6, 6], [1, 3], "apart", [3, 5]),
    (12, [2, 2], [5, 6], [2, 2], "apart", [5, 6]),
    (4, [2, 2], [6, 6], [2, 2], "apart", [2, 2]),
    (7, [3], [5], [1], "apart", [5]),
    (3, [3], [2], [1], "apart", [2]),  # of a minimum above the bound so much
]


@pytest.mark.parametrize("engine", ["fast", "plain"])
@pytest.mark.parametrize(("pool", "least", "most", "weights", "floor", "shares"), OF_OTHERS)
def test_minima_as_in_production_schedulers(
    pool: float, least: Any, most: Any, weights: Any, floor: Any, shares: list[float], engine: Any
) -> None:
    given_ = {"weights": weights, "capacities": [pool], "min_tasks": least, "max_tasks": most, "floor": floor}
    allocation = fb.drf(np.ones((len(least), 1)), **given_, engine=engine)
    assert close(allocation.tasks, shares)
    assert allocation.violations() == []
    said = allocation.explain(0)
    assert "own bound" in said or (f"its minimum is {least[0]:g}, and" in said and "save at its minimum" in said)


@pytest.mark.parametrize("floor", ["counted", "apart"])
def test_minima_and_linear_programs(floor: Any) -> None:
    rng = np.random.default_rng(50)
    for _ in range(30):
        n, m = int(rng.integers(2, 5)), int(rng.integers(1, 4))
        demands, weights = rng.integers(1, 5, (n, m)).astype(float), rng.integers(1, 4, n).astype(float)
        pool = rng.integers(9, 30, m).astype(float)
        least = fb.drf(demands, capacities=pool).tasks * rng.choice([0, 0.5, 0.9], n)
        found = fb.drf(demands, weights=weights, capacities=pool, min_tasks=least, floor=floor)
        program = leximin_tasks(demands, weights / (demands / pool).max(axis=1), pool, least, floor == "counted")
        assert np.allclose(found.tasks, program, rtol=1e-6, atol=1e-6)


def leximin_tasks(demands: Any, rate: Any, pool: Any, least: Any, counted: bool) -> Any:
    """Raise the lowest level of those who may still rise as far as it goes, time and again: tasks from ``least`` on."""
    n, floors, free = len(rate), least.copy(), np.arange(len(rate))
    base = 0 * least if counted else least

    def most(of: int, rows: Any, right: Any) -> Any:
        bounds = [*((low, None) for low in floors), (0, None)]
        rows = np.vstack([np.c_[demands.T, 0 * pool], rows])
        return linprog(-np.eye(n + 1)[of], rows, np.append(pool * (1 + 1e-9), right), bounds=bounds).x[of]

    while len(free):
        above = np.c_[-np.eye(n), rate][free]
        floors[free] = np.maximum(floors, base + most(n, above, -base[free]) * (1 - 1e-8) * rate)[free]
        free = np.array([i for i in free if most(i, above[:0], []) > floors[i] * (1 + 1e-5) + 1e-6], dtype=int)
    return floors


@pytest.mark.parametrize("engine", ["fast", "plain"])
def test_minima_that_do_not_fit_and_those_that_just_do(engine: Any) -> None:
    demands = pd.DataFrame([[1.0, 0.0], [1.0, 4.0], [0.0, 1.0]], ["a", "b", "c"], ["gpu", "cpu"])
    given_: Any = {"capacities": {"gpu": 4, "cpu": 9}, "engine": engine}
    rule = r"^min_tasks must fit the pool, which has 9 of cpu, got 9\.2$"
    with pytest.raises(fb.InvalidInput, match=rule):
        fb.drf(demands, min_tasks={"a": 1, "b": 2, "c": 1.2}, **given_)
    few = {"a": 9, "b": 9, "c": 1}
    assert fb.drf(demands, min_tasks={"a": 1, "b": 2, "c": 1.2}, max_tasks=few, **given_).use[1] == 9
    # thirds and tenths fill the pool, as people write them: nothing is left, and nobody has more than that
    for least in ([1 / 3, 1 / 3, 1 / 3, 0], [0.1, 0.2, 0.7, 0], [0.7, 0.1, 0.2, 0]):
        full = fb.drf(np.ones((4, 1)), min_tasks=least, engine=engine)
        assert (full.tasks.tolist(), full.bottlenecks.tolist(), full.violations()) == (least, [0] * 4, [])
    # what large minima leave is a small difference, and somebody lives on it
    for floor in ("counted", "apart"):
        little = fb.drf([[1], [1], [3]], capacities=[1], min_tasks=[1 - 2**-35, 0, 0], floor=floor, engine=engine)
        assert close(little.tasks[2] * 3, 2**-35 / (2 if floor == "counted" else 3), 1e-9)
        assert little.violations() == []
        assert replace(little, tasks=little.tasks * [1, 1, 1 + 1e-6]).violations() != []


# ------------------------------------------------------------------------------------- where others break


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("bounded", [False, True])
def test_many_users_and_weights_far_apart(seed: int, bounded: bool) -> None:
    rng = np.random.default_rng(seed)
    demands, weights = random_arrivals(rng, 500, 3, decades=5, zeros=0.4)
    bounds = np.where(rng.random(500) < 0.5, 10.0 ** rng.uniform(-6, 0, 500), np.inf) if bounded else None
    allocation = fb.drf(demands, weights=weights, capacities=[1, 5, 0.3], max_tasks=bounds)
    assert allocation.violations() == []
    assert len(set(allocation.bottlenecks.tolist())) > 1


def test_many_users_equal_exact_fractions() -> None:
    rng = np.random.default_rng(1)
    demands, weights = random_arrivals(rng, 60, 3, decades=6, zeros=0.4)
    bounds = np.where(rng.random(60) < 0.5, rng.uniform(0, 0.02, 60), np.inf)
    exact = exact_tasks(demands.tolist(), weights.tolist(), None, [None if b == np.inf else b for b in bounds.tolist()])
    assert close(fb.drf(demands, weights=weights, max_tasks=bounds).tasks, exact, rtol=1e-11)


def test_doubles_keep_eight_digits_within_a_million() -> None:
    rng = np.random.default_rng(8)
    for _ in range(400):
        n, m = int(rng.integers(2, 7)), int(rng.integers(1, 4))
        demands = rng.integers(1, 4, (n, m)) * (rng.random((n, m)) < 0.7)
        demands[~demands.any(axis=1), 0] = 1
        demands[-1] = demands[0, ::-1]  # two that often end resources together
        weights = rng.integers(1, 4, n) * 10.0 ** rng.choice([-3, 0, 3], n)
        weights = weights.clip(1e-3, 1e3)
        assert close(fb.drf(demands, weights=weights).tasks, exact_tasks(demands.tolist(), weights.tolist()), 1e-8)
        levels = [float(M) for M in exact_levels(demands.tolist(), weights.tolist())]
        assert close(fb.dmfa_srq(demands, weights=weights).lowest, levels, 1e-8)


W = 1e12


@pytest.mark.parametrize(
    "case",
    [
        ([[1, 0], [1, 2], [2, 2], [0, 2]], [1, 1, W, 1], [1, 1], None),
        ([[2, 3, 0], [3, 2, 0], [0, 1, 0], [0, 0.1, 1]], [W, 3 * W, 1, 1], [3, 4, 1], None),  # two end together
        ([[1], [1], [1]], [W, 1, 2], [1], [1 - 2**-40, np.inf, np.inf]),  # a bound leaves little
        ([[1, 1], [1, 0], [0, 1]], [1e75, 1e-75, 1], [1, 1], [np.inf, 1e-75, np.inf]),
    ],
)
def test_users_too_far_apart_are_refused_and_told_apart_by_the_rule(case: Any) -> None:
    """The rule is right to the last digit, and the certificate sees what is not, also of the lightest."""
    demands, weights, capacities, bounds = case
    given_: Any = {"weights": weights, "capacities": capacities, "max_tasks": bounds}
    with pytest.raises(
        fb.InvalidInput, match=r'^weights and demands must not lie more than 1e.08 apart .*engine="plain"'
    ):
        fb.drf(demands, **given_)
    allocation = fb.drf(demands, **given_, engine="plain")
    most = bounds and [None if bound == np.inf else bound for bound in bounds]
    assert close(allocation.tasks, exact_tasks(demands, weights, capacities, most))
    assert allocation.violations() == []
    for i in range(len(demands)):
        for factor in (1 - 1e-8, 1 + 1e-8):
            tasks = allocation.tasks.copy()
            tasks[i] *= factor
            assert replace(allocation, tasks=tasks).violations() != []


# ---------------------------------------------------------------------------------------------- certificates


def test_certificate_names_what_is_wrong() -> None:
    allocation = fb.drf(pd.DataFrame([[1, 4], [3, 1]], ["ann", "bob"], ["cpu", "memory"]), capacities=[9, 18])
    over = replace(allocation, tasks=np.array([3.0, 3.0])).violations()
    assert any("cpu is used 1.33333333333 times" in text for text in over)
    swapped = replace(allocation, bottlenecks=np.array([1, 0])).violations()
    assert swapped == ["memory does not stop ann"]


def test_user_who_stands_higher_elsewhere_is_no_bottleneck() -> None:
    allocation = fb.drf([[1, 0], [1, 1], [0, 1]])
    unfair = replace(allocation, tasks=np.array([0.4, 0.6, 0.4]))  # feasible and nothing is left, but unequal
    assert unfair.violations() != []


# ----------------------------------------------------------------------------------- names and kinds of input


def test_weights_per_resource_are_matched_by_name() -> None:
    demands = pd.DataFrame([[1.0, 4.0], [3.0, 1.0], [2.0, 2.0]], ["ann", "bob", "cyd"], ["cpu", "memory"])
    weights = pd.DataFrame([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]], demands.index, demands.columns)
    plain = fb.drf(demands, weights=weights)
    assert (fb.drf(demands, weights=weights.iloc[::-1, ::-1]).tasks == plain.tasks).all()
    assert (fb.drf(demands, weights=weights.to_numpy()).tasks == plain.tasks).all()
    with pytest.raises(fb.InvalidInput, match=r"weights.index must name the same users"):
        fb.drf(demands, weights=weights.set_axis(["ann", "bob", "zoe"]))


# --------------------------------------------------------------------------------------------- whole tasks


def test_more_tasks_than_can_be_counted_out_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(fb.InvalidInput, match=r"at most 1e\+08 whole tasks"):
        fb.drf_by_task([[1e-10]])
    monkeypatch.setattr(whole_tasks, "MOST_HANDED_OUT", 2)
    with pytest.raises(fb.InvalidInput, match=r"3\.43 tasks"):  # divisible: 6/7 and 18/7, which use up the second
        fb.drf_by_task([[2, 1], [1, 2]], weights=[1, 3], capacities=[6, 6])


def test_what_nothing_stops_is_told() -> None:
    big = fb.drf_by_task([[0.6, 0.1], [0.5, 0.1], [0.1, 0.1]], stuck="stop")
    assert big.to_frame()["bottleneck"].tolist() == [0, 0, "nothing"]
    assert "gave it no more" in big.explain(2)
    assert big.violations() == ["nothing stops 2"]


def test_what_runs_already_counts_and_stays() -> None:
    rng = np.random.default_rng(30)
    for case in range(300):
        n, m = int(rng.integers(1, 7)), int(rng.integers(1, 4))
        demands, pool = (
            rng.integers(0, 5, (n, m)) + np.eye(n, m, dtype=int)[rng.permutation(n)],
            rng.integers(9, 900, m),
        )
        demands[demands.max(axis=1) == 0, 0] = 1
        how: dict[str, Any] = {"weights": rng.integers(1, 5, n), "max_tasks": rng.choice([5.0, 60.0, np.inf], n)}
        most = fb.drf_by_task(demands, capacities=pool, weights=rng.random(n) + 0.1, max_tasks=how["max_tasks"]).tasks
        how |= {"capacities": pool, "running": np.floor(most * rng.random(n)), "stuck": ("skip", "stop")[case % 2]}
        fast, plain = (fb.drf_by_task(demands, **how, engine=engine) for engine in ("fast", "plain"))
        assert fast.tasks.tolist() == plain.tasks.tolist()
        assert fast.bottlenecks.tolist() == plain.bottlenecks.tolist()
        assert (fast.tasks >= how["running"]).all()
        assert fast.violations() == [] or how["stuck"] == "stop"
    for wrong, rule in (([0.5, 0], "whole number"), ([-1, 0], "whole number"), ([9, 1], "fit the pool")):
        with pytest.raises(fb.InvalidInput, match=rf"^running.* must .*{rule}"):
            fb.drf_by_task([[1, 4], [3, 1]], capacities=[9, 18], running=wrong)
    with pytest.raises(fb.InvalidInput, match=r"^running\[0\] must not exceed max_tasks, got 5"):
        fb.drf_by_task([[1, 4]], capacities=[90, 180], max_tasks=[2], running=[5])
