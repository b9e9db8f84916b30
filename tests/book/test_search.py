"""The search finds planted defects, finds nothing where there is a proof, and shrinks what it finds to fractions."""

from fractions import Fraction

import numpy as np
import pytest

import fairbook as fb
from book.common.instances import APART, Instance, move, sampler
from book.common.search import lie_gain, minimise_margin, search_instance
from book.common.shrinking import shrink
from book.dmfa_srq import properties as srq
from fairbook import properties as p

F = Fraction
MANIPULABLE = ["newest_favoured", "scarcest_resource", "need_favoured"]


# -------------------------------------------------------------------------------------------- one instance, one lie


@pytest.mark.parametrize("name", MANIPULABLE)
def test_the_best_lie_is_at_least_as_good_as_a_dense_grid(name):
    """With two resources a lie is one number, the ratio: try 400 of them."""
    mechanism, rng, better = srq.MUTANTS[name], np.random.default_rng(0), 0
    for _ in range(8):
        demands, weights = rng.uniform(0.1, 1, (3, 2)), rng.uniform(0.3, 1, 3)
        found = p.strategy_proofness(mechanism, demands, weights, evaluations=500)
        user = int(rng.integers(3))
        claims = [np.array([r, 1.0]) for r in np.exp(np.linspace(-4, 4, 400))]
        grid = max(lie_gain(mechanism, Instance(demands, weights, {user: claim})) for claim in claims)
        assert -found.margins[user] >= grid - 0.02 * abs(grid) - 1e-9, (demands, weights, user)
        if not found:  # the reported tasks, recomputed from scratch
            better, w = better + 1, found.witness
            (user, lie), step = *w["lies"].items(), w["step"]
            claimed = demands.copy()
            claimed[user] = lie
            had, has = (mechanism(rows, weights).tasks_at(user + 1 + step)[user] for rows in (demands, claimed))
            assert w["honest"] == [pytest.approx(had)]
            assert w["lying"] == [pytest.approx(has * min(lie / demands[user]))]
            assert -found.margin == pytest.approx(w["lying"][0] / had - 1, abs=1e-12)
    assert better or name == "newest_favoured"


@pytest.mark.parametrize("coalition", [1, 2])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("mechanism", [fb.dmfa_srq, fb.drf], ids=lambda m: m.__name__)
def test_nobody_gains_by_a_lie_where_there_is_a_proof(mechanism, zeros, coalition):
    found = search_instance(mechanism, evaluations=4000, restarts=16, seed=1, zeros=zeros, coalition=coalition)
    assert not found.found, str(found)
    assert 3900 < found.evaluations <= 4000


# --------------------------------------------------------------------------------------------- planted defects


@pytest.mark.parametrize("name", MANIPULABLE)
def test_search_instance_finds_planted_manipulability(name):
    found = search_instance(srq.MUTANTS[name], evaluations=12_000, restarts=40, seed=0)
    assert found.found, str(found)
    small = shrink(found.instance, lambda i: -lie_gain(srq.MUTANTS[name], i))
    assert lie_gain(srq.MUTANTS[name], small) > 0
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

    found = minimise_margin(statement, evaluations=400, restarts=8, name=name)
    assert found.found, str(found)
    small = shrink(found.instance, statement)
    finding = statement(small)
    assert finding.margin < 0
    assert isinstance(finding.margin, Fraction) or finding.margin == -np.inf
    assert len(small.weights) <= 3
    assert all(x.denominator <= 12 for x in small.demands.ravel())


# ---------------------------------------------------------------------------------------------------- coalitions


def test_a_planted_coalition_is_found():
    found = search_instance(srq.MUTANTS["need_favoured"], evaluations=4000, seed=3, coalition=2)
    assert found.found
    assert len(found.details["users"]) == 2
    assert all(lied > honest for lied, honest in zip(found.details["lying"], found.details["honest"], strict=True))


# ------------------------------------------------------------------------------------------------ the machinery


def test_searches_depend_on_seed_and_counts_only():
    def once():
        found = search_instance(srq.MUTANTS["need_favoured"], evaluations=800, seed=7)
        return found.margin, found.evaluations, str(found.instance)

    assert once() == once()
    margins = {minimise_margin(lambda i: float(i.weights.min()), evaluations=200, seed=s).margin for s in (0, 0, 1)}
    assert len(margins) == 2


@pytest.mark.parametrize("zeros", [False, True])
def test_samples_and_moves_stay_valid(zeros):
    rng, draw, seen = np.random.default_rng(8), sampler(zeros=zeros), False
    for _ in range(150):
        instance = draw(rng)
        seen |= bool((instance.demands == 0).any())
        instance = Instance(instance.demands, instance.weights, {0: instance.demands[0] * rng.uniform(0.5, 2)})
        for _ in range(20):
            instance = move(rng, instance, 2.0, zeros=zeros)
            fb.dmfa_srq(instance.claimed, weights=instance.weights)  # refuses what is not valid
            assert instance.weights.max() / instance.weights.min() < APART * 1.01
            assert [0 <= i < len(instance.weights) for i in instance.lies] == [True]
    assert seen == zeros


def test_shrink_refuses_what_is_only_rounding():
    instance = Instance(np.array([[0.1, 0.2]]), np.array([0.3]))
    assert shrink(instance, lambda i: F(1)) is None
