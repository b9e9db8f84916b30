"""Metrics against their definitions, written out in loops or in exact fractions."""

from fractions import Fraction

import numpy as np
import pytest

import fairbook as fb
from fairbook import metrics
from fairbook.properties import MUTANTS, Trajectory

RNG = np.random.default_rng(20160701)


@pytest.fixture
def run():
    return fb.dmfa_srq(RNG.uniform(0.05, 1, (7, 3)), 10 ** RNG.uniform(-3, 3, 7))


def test_dominant_shares_and_utilisation_of_the_drf_example():
    demands, capacities = [[1, 4], [3, 1]], [9, 18]
    assert metrics.dominant_shares([3, 2], demands, capacities) == pytest.approx([2 / 3, 2 / 3])
    assert metrics.utilisation([3, 2], demands, capacities) == pytest.approx([1, 14 / 18])


def test_jain_index_in_fractions():
    values = [Fraction(1, 2), Fraction(1, 3), Fraction(2), Fraction(0)]
    exact = sum(values) ** 2 / (len(values) * sum(v * v for v in values))
    assert metrics.jain_index([float(v) for v in values]) == pytest.approx(float(exact), rel=1e-14)


def test_jain_index_lies_between_1_over_n_and_1_at_any_scale():
    for scale in (1e-200, 1.0, 1e200):
        assert metrics.jain_index([scale] * 5) == pytest.approx(1)
        assert metrics.jain_index([scale, 0, 0, 0, 0]) == pytest.approx(1 / 5)
    assert metrics.jain_index([0, 0]) == 1


def test_envy_matrix_against_the_definition():
    demands, tasks, weights = RNG.uniform(0, 1, (4, 3)), RNG.uniform(0.1, 1, 4), RNG.uniform(0.1, 1, 4)
    demands[demands < 0.3] = 0
    demands[:, 0] += 0.1
    envy = metrics.envy_matrix(tasks, demands, weights)
    for i in range(4):
        for h in range(4):
            value = min(tasks[h] * demands[h, j] / demands[i, j] for j in range(3) if demands[i, j] > 0)
            assert envy[i, h] == pytest.approx(value / weights[h] / (tasks[i] / weights[i]))


def test_who_has_nothing_envies_infinitely_what_it_can_use():
    envy = metrics.envy_matrix([0, 1, 1], [[1, 0], [1, 1], [0, 1]])
    assert envy[0].tolist() == [1, np.inf, 1]


@pytest.mark.parametrize("steps", [None, [1], [3, 4, 5], [7, 2, 5]])
def test_levels_by_step_are_levels_at(run, steps):
    table = metrics.levels_by_step(run, steps)
    for row, k in zip(table, sorted(steps or range(1, 8)), strict=True):
        assert row[:k].tolist() == run.levels_at(k).tolist()
        assert not row[k:].any()


def test_levels_of_any_object_with_tasks():
    class Log:
        demands, weights = np.array([[2.0, 4.0], [1.0, 1.0]]), np.array([1.0, 4.0])

        def __len__(self):
            return 2

        def tasks_at(self, k):
            return np.array([0.25, 4.0][:k])

    assert isinstance(Log(), metrics.Run)
    assert metrics.levels_by_step(Log()).tolist() == [[1, 0], [1, 1]]


def test_by_arrival_against_loops(run):
    frame = metrics.by_arrival(run, [1, 4, 7])
    assert frame.index.tolist() == [1, 4, 7]
    for k, row in frame.iterrows():
        assert row["min_level"] == pytest.approx(min(run.levels_at(k)))
        assert row["sum_shares"] == pytest.approx(sum(run.shares_at(k)))
        assert row["jain_levels"] == pytest.approx(metrics.jain_index(run.levels_at(k)))
        for j in range(3):
            assert row[f"utilisation_{j}"] == pytest.approx(run.utilisation_at(k)[j])


def test_by_arrival_of_runs_that_shrink():
    demands, weights = [[1, 0.5], [0.5, 1], [0.5, 1]], [0.25, 0.25, 0.5]
    one, other = fb.static_optimum(demands, weights), MUTANTS["may_shrink"](demands, weights)
    assert np.allclose(metrics.by_arrival(one), metrics.by_arrival(other), rtol=1e-12)
    assert isinstance(other, Trajectory)


@pytest.mark.parametrize(("call", "argument"), [
    (lambda: metrics.jain_index([]), "values"),
    (lambda: metrics.jain_index([1, -1]), "values"),
    (lambda: metrics.jain_index([1, np.nan]), "values"),
    (lambda: metrics.dominant_shares([1], [[1, 4], [3, 1]]), "tasks"),
    (lambda: metrics.utilisation([1, -2], [[1, 4], [3, 1]]), "tasks"),
    (lambda: metrics.by_arrival(fb.dmfa_srq([[1]], [1]), [0]), "steps"),
    (lambda: metrics.by_arrival(fb.dmfa_srq([[1]], [1]), [2]), "steps"),
    (lambda: metrics.by_arrival(fb.dmfa_srq([[1]], [1]), []), "steps"),
])
def test_bad_input_is_named(call, argument):
    with pytest.raises(fb.InvalidInput) as caught:
        call()
    assert caught.value.argument == argument
