"""DRFH: the heuristics against a scan of all machines before every task, the fluid optimum against its oracle."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import OptimizeResult

import fairbook as fb
from book.gdrf.oracle_drfh import fluid_share
from tests import scan_gdrf
from tests.cells import cells, random_cell, same
from tests.strategies import REPEATABLE

RNG = np.random.default_rng(2015)
METHODS = ("best_fit", "first_fit")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["whole", "zeros", "real", "alike", "small machines"])
def test_heuristics_against_the_scan(kind: str, method: Any) -> None:
    for n, m, K in ((1, 1, 1), (3, 2, 4), (5, 3, 2), (8, 2, 20), (90, 2, 5)):
        for weights in (None, RNG.choice([1.0, 1.0, 2.0, 3.0], n)):
            cell = random_cell(RNG, kind, n, m, K)
            placed = fb.drfh(*cell, weights, method=method)
            assert same(placed, scan_gdrf.drfh(*cell, weights, method=method))
            assert placed.violations() == []


@REPEATABLE
@given(cell=cells(), weights=st.lists(st.integers(1, 3), min_size=5, max_size=5), method=st.sampled_from(METHODS))
def test_small_cells_against_the_scan(cell: Any, weights: list[int], method: Any) -> None:
    placed = fb.drfh(*cell, weights[: len(cell[0])], method=method)
    assert same(placed, scan_gdrf.drfh(*cell, weights[: len(cell[0])], method=method))


def test_equal_weights_do_not_break_ties() -> None:
    """49 times 1/49 is not 1 in floats; who has equal levels is still served by number."""
    demands = np.array([[1.0, 2.0], [2.0, 1.0]] * 24 + [[1.0, 1.0]])
    plain = fb.drfh(demands, [[49.0, 49.0]], [4])
    assert same(fb.drfh(demands, [[49.0, 49.0]], [4], weights=np.full(49, 7)),
                (plain.placed_user.tolist(), plain.placed_machine.tolist()))
    assert plain.placed_user[:49].tolist() == list(range(49))


def test_a_machine_that_is_all_but_full_counts_as_free_for_what_fits() -> None:
    """Tasks far below the tolerance fit a machine without any room; its shape must not come out as infinite."""
    demands, machines = [[1.0, 1e-9], [1e-13, 0.2]], [[1.0, 1.0]]
    for placed in (fb.drfh(demands, machines, max_tasks=[1, 3]), fb.mdrf(demands, machines, max_tasks=[1, 3])):
        assert placed.tasks.tolist() == [1, 3]


def test_best_fit_takes_the_shape_of_the_task() -> None:
    placed = fb.drfh([[0.2, 1], [1, 0.2]], [[2, 12], [12, 2]])
    assert placed.tasks.tolist() == [10, 10]
    assert set(zip(placed.placed_user.tolist(), placed.placed_machine.tolist())) == {(0, 0), (1, 1)}


# ------------------------------------------------------------------------------------------------ fractions


def spread(rng: np.random.Generator, n: int, m: int, K: int) -> tuple[Any, Any, Any, Any]:
    """Demands and machines of sizes far apart, with zeros: users stop at many levels."""
    demands, machines, counts, bounds = random_cell(rng, "real", n, m, K)
    demands[rng.random((n, m)) < 0.4] = 0
    demands[~demands.any(axis=1), 0] = 0.3
    return (demands * 10.0 ** rng.integers(-3, 3, (n, 1)), machines * 10.0 ** rng.integers(-2, 3, (K, 1)),
            counts * rng.integers(1, 50, K), bounds)


@pytest.mark.parametrize("seed", range(40))
def test_the_fluid_optimum_against_its_oracle(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m, K = int(rng.integers(1, 9)), int(rng.integers(1, 4)), int(rng.integers(1, 6))
    kind = ("whole", "zeros", "real", "spread")[seed % 4]
    cell = spread(rng, n, m, K) if kind == "spread" else random_cell(rng, kind, n, m, K)
    weights = rng.choice([1, 2, 3, 0.25], n) if seed % 3 else None
    demands, machines, counts, bounds = cell
    fluid = fb.drfh(*cell, weights, method="fluid")
    oracle = fluid_share(demands.tolist(), machines.tolist(), counts.tolist(), np.floor(bounds), weights)
    assert fluid.violations() == []
    assert fluid.levels == pytest.approx(oracle.levels, rel=1e-6, abs=1e-8)
    assert fluid.level <= float(oracle.upper) * (1 + 1e-9)  # proved in fractions by prices


def test_equal_levels_where_all_demands_are_positive() -> None:
    fluid = fb.drfh([[1, 2], [2, 1]], [[10, 4], [4, 10]], method="fluid")
    assert fluid.tasks == pytest.approx([4, 4], rel=1e-7)
    assert fluid.levels == pytest.approx([8 / 7, 8 / 7], rel=1e-7)
    weighted = fb.drfh([[1, 1], [1, 1]], [[6, 6]], weights=[2, 1], method="fluid")
    assert weighted.tasks == pytest.approx([4, 2], rel=1e-7)
    assert weighted.levels == pytest.approx([1, 1], rel=1e-7)


def test_users_stop_one_after_the_other() -> None:
    """Bounds first, then memory, which stops one; the CPU left is for whom needs nothing else."""
    fluid = fb.drfh([[1, 1], [1, 1], [1, 0]], [[24, 4]], max_tasks=[1, np.inf, np.inf], method="fluid")
    assert fluid.tasks == pytest.approx([1, 3, 20], rel=1e-7)
    assert fluid.to_frame()["level"].to_list() == pytest.approx([0.75, 2.25, 2.5], rel=1e-7)
    assert fluid.utilisation == pytest.approx([1, 1], rel=1e-7)
    nothing = fb.drfh([[1, 1], [1, 1]], [[4, 4]], max_tasks=[0, np.inf], method="fluid")
    assert nothing.tasks == pytest.approx([0, 4], rel=1e-7)


def test_a_user_whom_no_class_can_serve() -> None:
    fluid = fb.drfh([[1, 1], [1, 0]], [[4, 0], [0, 4]], method="fluid")
    assert fluid.tasks == pytest.approx([0, 4], abs=1e-7)


def test_no_whole_placement_beats_the_fluid_level() -> None:
    for seed in range(10):
        cell = random_cell(np.random.default_rng(seed), "whole", 4, 2, 3)
        level = fb.drfh(*cell, method="fluid").level
        for placed in (fb.drfh(*cell), fb.drfh(*cell, method="first_fit"), fb.gdrf(*cell), fb.mdrf(*cell)):
            assert (placed.dominant_shares * 4).min() <= level * (1 + 1e-6)


def test_a_program_that_is_not_solved_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    # by its path: the function hides the module of the same name
    unsolved = OptimizeResult(status=4, message="numbers")
    monkeypatch.setattr(sys.modules["fairbook.mechanisms.drfh"], "linprog", lambda *_, **__: unsolved)
    with pytest.raises(fb.FairbookError, match="not solved: numbers"):
        fb.drfh([[1, 1]], [[2, 2]], method="fluid")


@pytest.mark.parametrize(("given", "argument", "rule"), [
    ({"method": "worst_fit"}, "method", "best_fit, first_fit, fluid"),
    ({"weights": [1]}, "weights", "2 users"),
    ({"weights": [1, 0]}, "weights[1]", "positive"),
    ({"weights": [1, np.inf]}, "weights[1]", "finite"),
    ({"machines": [[1, 0]]}, "machines", "all resources that are needed"),
    ({"machine_counts": [0.5]}, "machine_counts[0]", "whole number"),
    ({"max_tasks": [-1, 1]}, "max_tasks[0]", "negative"),
])
def test_bad_input(given: dict[str, Any], argument: str, rule: str) -> None:
    with pytest.raises(fb.InvalidInput) as caught:
        fb.drfh(**{"demands": [[1, 2], [2, 1]], "machines": [[4, 4]], **given})
    assert caught.value.where == argument
    assert rule in caught.value.rule
