"""Metrics against their definitions, written out in loops or in exact fractions."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

import fairbook as fb
from book.gdrf import measures
from fairbook import metrics

RNG = np.random.default_rng(20160701)


@pytest.fixture
def run():
    return fb.dmfa_srq(RNG.uniform(0.05, 1, (7, 3)), weights=10 ** RNG.uniform(-3, 3, 7))


def test_who_needs_nothing_and_what_is_not_there_are_measured():
    demands, tasks, capacities = [[2, 0, 1], [0, 0, 0], [1, 5, 0]], [3, 7, 0], [12, 0, 6]
    assert metrics.dominant_shares(tasks, demands, capacities).tolist() == [0.5, 0, 0]
    assert metrics.utilisation(tasks, demands, capacities).tolist() == [0.5, 0, 0.5]
    assert metrics.envy_matrix([3, 7, 1], demands).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert metrics.envy_matrix(tasks, [[1, 1], [0, 0], [1, 1]]).tolist() == [[1, 0, 0], [0, 1, 0], [np.inf, 1, 1]]
    assert metrics.envy_matrix([0, 0], [[0, 0], [0, 0]]).tolist() == [[1, 0], [0, 1]]
    for call in (metrics.dominant_shares, metrics.utilisation):
        with pytest.raises(fb.InvalidInput, match=r"demands\[2, 1\] must be 0 where .* none of the resource, got 5"):
            call([3, 7, 1], demands, capacities)


def test_jain_index_in_fractions():
    values = [Fraction(1, 2), Fraction(1, 3), Fraction(2), Fraction(0)]
    exact = sum(values) ** 2 / (len(values) * sum(v * v for v in values))
    assert metrics.jain_index([float(v) for v in values]) == pytest.approx(float(exact), rel=1e-14)


def test_envy_matrix_against_the_definition():
    demands, tasks, weights = RNG.uniform(0, 1, (4, 3)), RNG.uniform(0.1, 1, 4), RNG.uniform(0.1, 1, 4)
    demands[demands < 0.3] = 0
    demands[:, 0] += 0.1
    envy = metrics.envy_matrix(tasks, demands, weights)
    for i in range(4):
        for h in range(4):
            value = min(tasks[h] * demands[h, j] / demands[i, j] for j in range(3) if demands[i, j] > 0)
            assert envy[i, h] == pytest.approx(value / weights[h] / (tasks[i] / weights[i]))


@pytest.mark.parametrize("steps", [None, [1], [3, 4, 5], [7, 2, 5]])
def test_level_rows_are_levels_at(run, steps):
    table = metrics.level_rows(run, metrics.check_steps(run, steps))
    for row, k in zip(table, sorted(steps or range(1, 8)), strict=True):
        assert row[:k].tolist() == run.levels_at(k).tolist()
        assert not row[k:].any()


# ------------------------------------------------------------------------------------------- Lan and Joe-Wong


def direct_lan(values, beta):
    """The formula as printed, in 60 digits."""
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = 60, 10**12, -(10**12)
        numbers, b = [Decimal(float(v)) for v in values], Decimal(float(beta))
        total = sum(numbers)
        inner = sum((v / total) ** (1 - b) for v in numbers if v > 0)
        return float((1 if b < 1 else -1) * inner ** (1 / b))


BETAS = [-30, -1, -0.099, -1e-12, 1e-5, 0.1, 0.5, 1 - 1e-9, 1 + 1e-9, 1.3, 2, 40]


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(
    "values",
    [
        [3, 1],
        [1, 1, 1, 1, 1],
        [1e-6, 1, 0.25, 3],
        [1e-200, 1e-200, 3e-200],
        np.random.default_rng(7).lognormal(size=50),
    ],
)
def test_lan_fairness_against_the_formula_in_many_digits(values, beta):
    expected = direct_lan(values, beta)
    assert measures.lan_fairness(values, beta) == pytest.approx(expected, rel=2e-12)
    if beta < 1:
        assert 1 - 1e-12 <= expected <= len(values) * (1 + 1e-12)
    else:
        assert expected <= -len(values) * (1 - 1e-12)


@pytest.mark.parametrize("beta", [beta for beta in BETAS if beta < 1])
def test_a_zero_adds_nothing_to_lan_fairness_below_1(beta):
    assert measures.lan_fairness([0, 3, 0, 1], beta) == measures.lan_fairness([3, 1], beta)


@pytest.mark.parametrize("beta", [1.5, np.inf])
def test_a_zero_makes_lan_fairness_infinitely_bad_above_1(beta):
    assert measures.lan_fairness([0, 3, 1], beta) == -np.inf
    assert measures.lan_fairness([1e-9, 3, 1], beta) > -np.inf
    assert measures.joe_wong_fairness([0, 0.3, 0.1], beta, -5) == -np.inf


def test_limits_of_lan_fairness_at_0_from_both_sides():
    values = [0.5, 0.3, 0.15, 0.05, 0]
    entropy = -sum(p * np.log(p) for p in values if p)
    assert measures.lan_fairness(values, 0) == pytest.approx(np.exp(entropy), rel=1e-14)
    for beta in (1e-3, 1e-9, 1e-31):
        for signed in (beta, -beta):
            assert measures.lan_fairness(values, signed) == pytest.approx(np.exp(entropy), rel=2 * beta + 1e-14)
    assert measures.lan_fairness(values, -1e-6) < np.exp(entropy) < measures.lan_fairness(values, 1e-6)


def test_limits_of_lan_fairness_at_1_from_both_sides():
    values = [0.5, 0.3, 0.15, 0.05]
    for distance in (1e-3, 1e-6, 1e-12, 2**-52):
        assert measures.lan_fairness(values, 1 - distance) == pytest.approx(4, rel=4 * distance + 1e-14)
        assert measures.lan_fairness(values, 1 + distance) == pytest.approx(-4, rel=4 * distance + 1e-14)
    assert measures.lan_fairness([*values, 0], 1 - 1e-12) == pytest.approx(4)


@pytest.mark.parametrize("lam", [-3, -0.5, 0, 0.25, 1, 6])
@pytest.mark.parametrize("beta", [-2, 0, 0.3, 2, 5, np.inf])
def test_joe_wong_fairness_is_lan_times_a_power_of_the_sum(beta, lam):
    shares = RNG.uniform(0.01, 0.2, 5)
    expected = measures.lan_fairness(shares, beta) * shares.sum() ** lam
    assert measures.joe_wong_fairness(shares, beta, lam) == pytest.approx(expected, rel=1e-12)


# ---------------------------------------------------------------------------------------------- over machines


def test_relative_utilisation_by_its_equations_and_by_amounts():
    capacities = RNG.uniform(0, 1, (20, 3)) * (RNG.uniform(0, 1, (20, 3)) < 0.7)
    capacities[:, 1] += 0.1
    used = capacities * RNG.uniform(0, 1, (20, 3))
    w, eta = measures.relative_utilisation(used, capacities), used / np.where(capacities > 0, capacities, 1)
    for j in range(20):
        total = sum(capacities[j])
        assert w[j] == pytest.approx(sum(capacities[j, r] / total * eta[j, r] for r in range(3) if capacities[j, r]))
        assert w[j] == pytest.approx(sum(used[j]) / total, rel=1e-13)
    assert measures.relative_utilisation(np.array([[0, 0]]), np.array([[1, 0]])).tolist() == [0]


def test_placement_fairness_entry_by_entry():
    shares, w = RNG.uniform(0, 2, 5), RNG.uniform(0, 1, 5)
    assert measures.placement_fairness(shares, w, 3) == pytest.approx([3 * s**u for s, u in zip(shares, w)], rel=1e-14)
    users = [1, 2, 0, 4, 5]
    assert measures.placement_fairness(shares, w, np.array(users)) == pytest.approx(
        [k * s**u for k, s, u in zip(users, shares, w)], rel=1e-14
    )
    assert measures.placement_fairness(0, 0) == 1


@pytest.mark.parametrize(
    ("call", "argument"),
    [  # beyond the table of bad inputs
        (lambda: measures.lan_fairness([1, 2], 1), "beta"),
        (lambda: metrics.check_steps(fb.dmfa_srq([[1]], weights=[1]), [0]), "steps"),
        (lambda: metrics.check_steps(fb.dmfa_srq([[1]], weights=[1]), [2]), "steps"),
        (lambda: metrics.check_steps(fb.dmfa_srq([[1]], weights=[1]), []), "steps"),
    ],
)
def test_bad_input_is_named(call, argument):
    with pytest.raises(fb.InvalidInput) as caught:
        call()
    assert caught.value.where == argument
