"""The engine of DMFA-SRQ against Algorithm 1, the linear program, exact and many-digit arithmetic, and certificates."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

import fairbook as fb
from book.dmfa_srq import oracle
from book.dmfa_srq.printed import algorithm_1
from fairbook.mechanisms.pool.dmfa_srq import exact_levels
from tests.strategies import REPEATABLE, Instance, close, instances, random_arrivals

FIGURE_1 = ([[1, 1 / 2], [1 / 2, 1], [1 / 2, 1]], [1 / 4, 1 / 4, 1 / 2])


def relative_error(found: NDArray[np.float64], exact: list[Any]) -> float:
    return max(abs(float(type(b)(a) / b - 1)) for a, b in zip(found.tolist(), exact, strict=True))


# ------------------------------------------------------------------------------------------ one answer, many ways


def test_figure_1() -> None:
    result = fb.dmfa_srq(FIGURE_1[0], weights=FIGURE_1[1])
    assert [result.tasks_at(k).tolist() for k in (1, 2)] == [[0.25], [1 / 3, 1 / 3]]
    assert close(result.tasks, [1 / 3, 1 / 3, 1 / 2])
    assert close(result.lowest, [1, 4 / 3, 1])
    assert exact_levels([["1", "1/2"], ["1/2", "1"], ["1/2", "1"]], ["1/4", "1/4", "1/2"]) == [1, Fraction(4, 3), 1]
    assert [result.raised_at(k).tolist() for k in (1, 2, 3)] == [[1], [2, 2], [2, 2, 3]]
    assert result.bottlenecks.tolist() == [0, 0, 1]


# --------------------------------------------------------------------------------------- hard on the arithmetic


def test_a_million_arrivals_keep_every_constraint() -> None:
    demands, weights = random_arrivals(np.random.default_rng(0), 1_000_000, 2, decades=2)
    result = fb.dmfa_srq(demands, weights=weights)
    assert (result.lowest >= 1 - 1e-12).all()  # sharing incentive
    for k in (1, 2, 3, 1000, 123_456, 654_321, 999_999, 1_000_000):
        assert result.until(k).violations(rtol=1e-9) == []
    assert (result.use <= result.capacities * (1 + 1e-9)).all()
    assert close((result.use / result.capacities).max(), 1, rtol=1e-9)


@pytest.mark.parametrize(
    "weights_of",
    [
        pytest.param(lambda rng, n: np.where(np.arange(n) % 2, 1e-6, 1.0), id="1 and 1e-6 in turn"),
        pytest.param(lambda rng, n: 10.0 ** np.linspace(3, -3, n), id="falling over 1e6"),
        pytest.param(lambda rng, n: 10.0 ** np.linspace(-3, 3, n), id="rising over 1e6"),
    ],
)
def test_weights_far_apart(weights_of: Any) -> None:
    rng = np.random.default_rng(0)
    demands, _ = random_arrivals(rng, 200_000, 2)
    weights = weights_of(rng, 200_000)
    result = fb.dmfa_srq(demands, weights=weights)
    assert (result.lowest >= 1 - 1e-12).all()
    for k in (10, 1000, 50_000, 199_999, 200_000):
        assert result.until(k).violations() == []
    short = weights_of(rng, 250)
    exact = oracle.decimal_levels(demands[:250], short)
    assert relative_error(fb.dmfa_srq(demands[:250], weights=short).lowest, exact) < 1e-9


def deep_stack(n: int, weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """An instance of n + 3 arrivals whose stack grows to n + 1 groups: no arrival but the second reaches the one below.

    Two giants reach level 5/3 with resource 0 used up and much of resource 1 left. Then each newcomer needs resource 0
    a little more than the one before it, so that it stops a little lower. The last one brings plenty of both.
    """
    giant = 10 * weights.sum()
    need = np.geomspace(0.65, 0.999, n)
    demands = np.concatenate([[[1.0, 1e-9], [0.2, 1.0]], np.column_stack([need, np.ones(n)]), [[1e-9, 1.0]]])
    return demands, np.concatenate([[giant, giant], weights, [100 * giant]])


def test_deep_stacks() -> None:
    n = 20_000
    demands, weights = deep_stack(n, np.ones(n))
    result = fb.dmfa_srq(demands, weights=weights)
    waiting = result.lowest[1 : n + 2]
    assert (np.diff(waiting) < 0).all()  # not one merge: the stack is n + 1 deep
    assert close(waiting[1:], 1 / demands[2 : n + 2, 0], rtol=1e-9)
    assert len(np.unique(result.levels_at(n + 2))) == n + 1
    for k in (2, 3, n // 2, n + 2, n + 3):
        assert result.until(k).violations() == []


def test_deep_stack_that_falls_together_at_once() -> None:
    n = 300
    demands, weights = deep_stack(n, np.geomspace(1, 0.1, n))
    balance = np.array([[1.0, 1e-9], [1e-9, 1.0]])  # two more giants, who need different things, lift everyone
    demands = np.concatenate([demands[:-1], balance])
    weights = np.concatenate([weights[:-1], 1e2 * weights[:2]])
    result = fb.dmfa_srq(demands, weights=weights)
    assert len(np.unique(result.levels_at(n + 2))) == n + 1
    assert len(np.unique(result.lowest)) < len(result.lowest)
    assert len(np.unique(result.levels_at())) == 1
    assert relative_error(result.lowest, oracle.decimal_levels(demands, weights)) < 1e-9
    assert result.violations() == []


@REPEATABLE
@given(instances(), st.integers(0, 75), st.integers(0, 2**20))
def test_light_users_beside_heavy_ones(case: Instance, decades: int, seed: int) -> None:
    """Each level is right to 1e-9, and the certificate sees what is not, also of the lightest."""
    demands = np.vstack([case.floats[0], case.floats[0][:, ::-1]])  # pairs that often end two resources together
    n = len(demands)
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 4, n) * 10.0 ** rng.choice([-decades, 0, decades], n)
    weights = weights.clip(1e-75, 1e75)
    if weights.max() >= 1e8 * weights.min():
        with pytest.raises(fb.InvalidInput, match=r'^weights must not lie .*engine="plain"'):
            fb.dmfa_srq(demands, weights=weights)
    result = fb.dmfa_srq(demands, weights=weights, engine="plain")
    assert relative_error(result.lowest, oracle.exact_levels(demands.tolist(), weights.tolist())) < 1e-10
    for k in range(1, n + 1):
        assert result.until(k).violations() == []
        levels = result.lowest.copy()
        levels[k - 1] *= 1 + rng.choice([-1e-8, 1e-8])
        assert replace(result, lowest=levels).until(k).violations() != []


def test_demands_at_the_ends_of_the_range() -> None:
    ends = np.array([[1e-75, 1e75], [1e75, 1e-75], [1e-75, 1e-75], [0, 1e75], [1e75, 1e75]])
    for weights in (np.full(5, 1e75), np.full(5, 1e-75)):
        exact = oracle.decimal_levels(ends, weights, digits=400)
        assert relative_error(fb.dmfa_srq(ends, weights=weights).lowest, exact) < 1e-9
        assert relative_error(algorithm_1(ends, weights).lowest, exact) < 1e-9


# ------------------------------------------------------------------------- what a result says, against plain loops


@REPEATABLE
@given(instances())
def test_allocations_equal_a_plain_recomputation(case: Instance) -> None:
    demands, weights, _, _ = case.floats
    result = fb.dmfa_srq(demands, weights=weights)
    level: list[float] = []
    raised: list[int] = []
    for k, lowest in enumerate(result.lowest.tolist(), start=1):
        level.append(0.0)
        raised.append(k)
        for i in range(k):
            if lowest > level[i]:
                level[i], raised[i] = lowest, k
        assert result.levels_at(k).tolist() == level
        assert result.raised_at(k).tolist() == raised
        assert result.until(k).bottlenecks.tolist() == [result.binding[t - 1] for t in raised]
        assert close(result.shares_at(k), np.array(level) * weights[:k])
        tasks = [y * w / max(row) for y, w, row in zip(level, weights, demands.tolist(), strict=False)]
        assert close(result.tasks_at(k), tasks)
        assert close(result.use_at(k) + 1, np.array(tasks) @ demands[:k] + 1)
    assert (result.tasks == result.tasks_at()).all()
    assert len(result) == len(weights)
    assert close(result.capacities, np.full(demands.shape[1], weights.sum()))


def test_names_are_carried() -> None:
    frame = pd.DataFrame(FIGURE_1[0], ["ann", "bob", "cyd"], ["cpu", "memory"])
    result = fb.dmfa_srq(frame, weights=FIGURE_1[1])
    table = result.to_frame()
    assert table[["bottleneck", "raised_at"]].to_numpy().tolist() == [["cpu", 2], ["cpu", 2], ["memory", 3]]
    assert close(table["tasks"], [1 / 3, 1 / 3, 1 / 2])
    assert len(result.until(2).to_frame()) == 2
    assert "Arrival 2 raised it" in result.explain("ann")
    assert "Since then" in result.explain("ann")
    assert "Since then" not in result.explain("cyd")
    with pytest.raises(fb.InvalidInput, match="user must be one of the users, got 'cyd'"):
        result.until(2).explain("cyd")
