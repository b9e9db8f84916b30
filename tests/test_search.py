"""The search finds planted defects, finds nothing where there is a proof, and shrinks what it finds to fractions."""

from fractions import Fraction

import numpy as np
import pytest

import fairbook as fb
from book.cbdrf.properties import EXACT_PHASES
from book.dmfa_srq import properties as srq
from fairbook import properties as p
from fairbook.properties.instances import APART, move

F = Fraction
MANIPULABLE = ["newest_favoured", "scarcest_resource", "need_favoured"]


# -------------------------------------------------------------------------------------------- one instance, one lie


@pytest.mark.parametrize("name", MANIPULABLE)
def test_search_lie_is_at_least_as_good_as_a_dense_grid(name):
    """With two resources a lie is one number, the ratio: try 400 of them."""
    mechanism, rng, better = srq.MUTANTS[name], np.random.default_rng(0), 0
    for _ in range(8):
        demands, weights = rng.uniform(0.1, 1, (3, 2)), rng.uniform(0.3, 1, 3)
        user = int(rng.integers(3))
        found = p.search_lie(mechanism, demands, weights, user, evaluations=500)
        ratios = np.exp(np.linspace(-4, 4, 400))
        grid = max(p.lie_gain(mechanism, p.Instance(demands, weights, {user: np.array([r, 1.0])})) for r in ratios)
        assert found.gain >= grid - 0.02 * abs(grid) - 1e-9, (demands, weights, user)
        better += grid > 1e-6
        # the reported tasks, recomputed from scratch
        step, lie = found.details["step"], found.instance.lies[user]
        honest = mechanism(demands, weights).tasks_at(user + 1 + step)[user]
        claimed = mechanism(found.instance.claimed, weights).tasks_at(user + 1 + step)[user]
        assert found.details["honest"] == [pytest.approx(honest)]
        assert found.details["lying"] == [pytest.approx(claimed * min(lie / demands[user]))]
        assert found.gain == pytest.approx(found.details["lying"][0] / honest - 1, abs=1e-12)
    assert better or name == "newest_favoured"


@pytest.mark.parametrize("coalition", [1, 2])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("mechanism", [fb.dmfa_srq, fb.drf], ids=lambda m: m.__name__)
def test_nobody_gains_by_a_lie_where_there_is_a_proof(mechanism, zeros, coalition):
    found = p.search_instance(mechanism, evaluations=4000, restarts=16, seed=1, zeros=zeros, coalition=coalition)
    assert not found.found, str(found)
    assert found.witness is None
    assert 3900 < found.evaluations <= 4000
    assert found.finding().certificate["evaluations"] == found.evaluations


def test_strategy_proofness_of_one_instance():
    demands, weights = [[1, 0.5], [0.5, 1], [0.5, 1]], [0.25, 0.25, 0.5]
    honest = p.strategy_proofness(fb.dmfa_srq, demands, weights, evaluations=200)
    assert honest
    assert len(honest.margins) == 3
    broken = p.strategy_proofness(srq.MUTANTS["scarcest_resource"], demands, weights, evaluations=200)
    assert not broken
    assert broken.margin == min(broken.margins)
    assert broken.witness["users"] == [0]
    assert broken.witness["lies"]


# --------------------------------------------------------------------------------------------- planted defects


@pytest.mark.parametrize("name", MANIPULABLE)
def test_search_instance_finds_planted_manipulability(name):
    found = p.search_instance(srq.MUTANTS[name], evaluations=12_000, restarts=40, seed=0)
    assert found.found, str(found)
    small = p.shrink(found.instance, lambda i: -p.lie_gain(srq.MUTANTS[name], i))
    assert p.lie_gain(srq.MUTANTS[name], small) > 0
    assert small.demands.dtype == object
    assert small.demands.size <= found.instance.demands.size
    assert len(str(small)) < 200


STATEMENTS = {
    "weights_ignored": p.dynamic_sharing_incentive,
    "first_user_favoured": p.dynamic_envy_freeness,
    "newest_favoured": srq.lemma_2,
    "capacity_overshot": p.dynamic_feasibility,
    "capacity_wasted": p.dynamic_pareto_optimality,
    "may_shrink": p.irrevocability,
    "level_by_sum": srq.lemma_1,
    "first_resource": p.dynamic_sharing_incentive,
    "scarcest_resource": srq.lemma_3,
    "need_favoured": srq.lemma_1,
    "no_sharing": p.dynamic_pareto_optimality,
}


@pytest.mark.parametrize("name", srq.MUTANTS)
def test_minimise_margin_refutes_every_mutant_and_shrinks_the_witness(name):
    mutant, check = srq.MUTANTS[name], STATEMENTS[name]

    def statement(instance):
        return check(mutant(instance.demands, instance.weights))

    found = p.minimise_margin(statement, evaluations=400, restarts=8, name=name)
    assert found.found, str(found)
    small = p.shrink(found.instance, statement)
    finding = statement(small)
    assert finding.margin < 0
    assert isinstance(finding.margin, Fraction) or finding.margin == -np.inf
    assert len(small.weights) <= 3
    assert all(x.denominator <= 12 for x in small.demands.ravel())


# ---------------------------------------------------------------------------------------------------- coalitions


def test_a_planted_coalition_is_found():
    found = p.search_instance(srq.MUTANTS["need_favoured"], evaluations=4000, seed=3, coalition=2)
    assert found.found
    assert len(found.details["users"]) == 2
    assert all(lied > honest for lied, honest in zip(found.details["lying"], found.details["honest"], strict=True))


def test_with_zero_demands_one_user_of_drf_can_help_another_at_no_cost():
    """User 0, stopped by resource 0, claims resource 1 in vain: user 2 stops earlier and user 3 has more."""
    demands = np.array([[F(1), F(0), F(0)], [F(1), F(0), F(0)], [F(0), F(1), F(1, 2)], [F(0), F(0), F(1)]])
    weights = np.array([F(1)] * 4)
    pair = p.Instance(demands, weights, {0: np.array([F(1), F(1), F(0)]), 3: demands[3]})
    honest, lying = (EXACT_PHASES["drf"](rows, weights) for rows in (demands, pair.claimed))
    assert list(honest.tasks) == [F(1, 2), F(1, 2), F(2, 3), F(2, 3)]
    assert list(lying.tasks) == [F(1, 2), F(1, 2), F(1, 2), F(3, 4)]


# ------------------------------------------------------------------------------------------------ the machinery


def test_searches_depend_on_seed_and_counts_only():
    def once():
        found = p.search_instance(srq.MUTANTS["need_favoured"], evaluations=800, seed=7)
        return found.gain, found.evaluations, str(found.instance)

    assert once() == once()
    margins = {p.minimise_margin(lambda i: float(i.weights.min()), evaluations=200, seed=s).margin for s in (0, 0, 1)}
    assert len(margins) == 2


@pytest.mark.parametrize("zeros", [False, True])
def test_samples_and_moves_stay_valid(zeros):
    rng = np.random.default_rng(8)
    draw = p.sampler(zeros=zeros)
    kinds = set()
    for _ in range(150):
        instance = draw(rng)
        n, m = instance.demands.shape
        kinds |= {(n == 1), ("m", m == 1), ("n", n == 50), ("0", bool((instance.demands == 0).any()))}
        lies = {0: instance.demands[0] * np.exp(rng.standard_normal(m))} if rng.random() < 0.5 else {}
        instance = p.Instance(instance.demands, instance.weights, lies)
        for _ in range(20):
            instance = move(rng, instance, 2.0, zeros=zeros)
            fb.dmfa_srq(instance.claimed, weights=instance.weights)  # refuses what is not valid
            assert len(instance.lies) == len(lies)
            assert instance.weights.max() / instance.weights.min() < APART * 1.01
            assert all(0 <= i < len(instance.weights) for i in instance.lies)
    assert {True, ("m", True), ("n", True), ("0", zeros)} <= kinds
    assert (("0", True) in kinds) == zeros


def test_shrink_refuses_what_is_only_rounding():
    instance = p.Instance(np.array([[0.1, 0.2]]), np.array([0.3]))
    assert p.shrink(instance, lambda i: F(1)) is None
