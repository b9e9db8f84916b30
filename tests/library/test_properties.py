"""Checks on allocations: against definitions in plain loops of fractions, on right mechanisms and on mutants."""

import dataclasses
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog

import fairbook as fb
from book.cbdrf.properties import EXACT_PHASES
from book.common.instances import sampler
from book.common.search import minimise_margin, search_instance
from book.dmfa_srq import properties as srq
from book.dmfa_srq.properties import reference
from fairbook import properties as p

F = Fraction
STATIC = [p.sharing_incentive, p.envy_freeness, p.pareto_optimality, p.feasibility]
DYNAMIC = [
    p.dynamic_sharing_incentive,
    p.dynamic_feasibility,
    p.dynamic_pareto_optimality,
    p.dynamic_envy_freeness,
    p.irrevocability,
    srq.lemma_1,
    srq.lemma_2,
    srq.lemma_3,
]
SHORT = {
    "dynamic_sharing_incentive": "SI",
    "dynamic_feasibility": "feasible",
    "dynamic_pareto_optimality": "DPO",
    "dynamic_envy_freeness": "DEF",
    "irrevocability": "irrevocable",
    "lemma_1": "L1",
    "lemma_2": "L2",
    "lemma_3": "L3",
    "sharing_incentive": "SI",
    "envy_freeness": "EF",
    "pareto_optimality": "PO",
    "feasibility": "feasible",
}
FIGURE_1 = ([[F(1), F(1, 2)], [F(1, 2), F(1)], [F(1, 2), F(1)]], [F(1, 4), F(1, 4), F(1, 2)])


def instances(count=12, seed=0, **options):
    draw, rng = sampler(**options), np.random.default_rng(seed)
    return [draw(rng) for _ in range(count)]


# ---------------------------------------------------------------------------------- the definitions, written anew


def judge(tasks, demands, weights):
    """Say by the definitions, in loops, which properties a sequence of exact task vectors has."""
    n, m = len(demands), len(demands[0])
    x = [[t * max(demands[i]) for i, t in enumerate(row)] for row in tasks]  # dominant-share units
    y = [[v / weights[i] for i, v in enumerate(row)] for row in x]

    def count(i, bundle):
        return min(bundle[j] / demands[i][j] for j in range(m) if demands[i][j] > 0)

    held = dict.fromkeys(SHORT.values(), True)
    for k in range(1, n + 1):
        pool, row, level = sum(weights[:k]), tasks[k - 1], y[k - 1]
        left = [pool - sum(row[i] * demands[i][j] for i in range(k)) for j in range(m)]
        held["feasible"] &= min(left) >= 0
        held["SI"] &= all(row[i] >= count(i, [weights[i]] * m) for i in range(k))
        held["DPO"] &= min(left) >= 0 and all(
            any(demands[i][j] > 0 and left[j] == 0 for j in range(m)) for i in range(k)
        )
        lowest = min(level)
        before = [*y[k - 2], F(0)] if k > 1 else [F(0)]
        held["irrevocable"] &= all(level[i] >= before[i] for i in range(k - 1))
        held["L1"] &= all(level[i] == max(lowest, before[i]) for i in range(k))
        for i in range(k):
            for h in range(k):
                held["L2"] &= not (i < h and level[i] < level[h])
                held["L3"] &= level[h] <= level[i] or unchanged_since(x, h, i, k)
                envies = count(i, [row[h] * d for d in demands[h]]) / weights[h] > row[i] / weights[i]
                held["DEF"] &= not envies or unchanged_since(x, h, i, k)
    return held


def unchanged_since(x, h, i, k):
    """Whether h came before i and has after arrival k what it had just before i came (positions from 0)."""
    return h < i and x[k - 1][h] == x[i - 1][h]  # x[i - 1] is the allocation among the i users before i


@pytest.mark.parametrize("name", ["dmfa_srq", *srq.MUTANTS])
def test_exact_findings_equal_the_definitions(name):
    mechanism = reference if name == "dmfa_srq" else srq.MUTANTS[name]
    rng = np.random.default_rng(7)
    seen = set()
    for trial in range(25):
        n, m = int(rng.integers(1, 5)), int(rng.integers(1, 4))
        demands = [[F(int(v), 4) for v in row] for row in rng.integers(trial % 2, 5, (n, m))]
        demands = [row if max(row) > 0 else [F(1)] * m for row in demands]
        weights = [F(int(v)) for v in rng.integers(1, 4, n)]
        run = mechanism(demands, weights)
        expected = judge([list(run.tasks_at(k)) for k in range(1, n + 1)], demands, weights)
        for check in DYNAMIC:
            finding = check(run)
            assert bool(finding) == expected[SHORT[check.__name__]], (check.__name__, demands, weights, str(finding))
            assert finding.tolerance == 0
            assert len(finding.margins) == n
            assert (finding.witness is None) == bool(finding)
            seen.add((check.__name__, bool(finding)))
    if name != "dmfa_srq":
        assert any(not held for _, held in seen)


# -------------------------------------------------------------------------------------------- what holds, what breaks


@pytest.mark.parametrize("check", STATIC, ids=lambda c: c.__name__)
def test_drf_passes(check):
    for instance in instances(40, seed=2, zeros=True):
        if check is p.sharing_incentive and (instance.demands == 0).any():
            continue
        finding = check(fb.drf(instance.demands, weights=instance.weights))
        assert finding, str(finding)


#: Exactly what each mutant breaks: a check that finds more, or less, is wrong about it.
BREAKS = {
    "weights_ignored": "SI DEF L1 L2 L3",
    "first_user_favoured": "SI DEF L1 L3",
    "newest_favoured": "DEF L1 L2 L3",
    "capacity_overshot": "feasible DPO",
    "capacity_wasted": "SI DPO",
    "may_shrink": "irrevocable L1",
    "level_by_sum": "SI L1 L2 L3",
    "first_resource": "SI L1 L2 L3",
    "scarcest_resource": "SI L1 L2 L3",
    "need_favoured": "SI DEF L1 L2 L3",
    "no_sharing": "DPO",
}


def found_broken(mechanism, checks, seed):
    broken = set()
    for instance in instances(60, seed=seed, users=(2, 6), resources=(2, 3)):
        result = mechanism(instance.demands, instance.weights)
        for check in checks:
            finding = check(result)
            if not finding:
                broken.add(SHORT[check.__name__])
                assert finding.witness
                assert finding.witness["says"] in str(finding)
    return broken


@pytest.mark.parametrize("name", srq.MUTANTS)
def test_each_mutant_breaks_what_it_says(name):
    assert found_broken(srq.MUTANTS[name], DYNAMIC, seed=3) == set(BREAKS[name].split())


STATIC_BREAKS = {
    "weights_ignored": "SI EF",
    "first_user_favoured": "SI EF",
    "capacity_overshot": "feasible PO",
    "capacity_wasted": "SI PO",
    "level_by_sum": "SI",
    "first_resource": "SI",
    "scarcest_resource": "SI",
    "need_favoured": "SI EF",
}


@pytest.mark.parametrize("name", STATIC_BREAKS)
def test_each_static_mutant_breaks_what_it_says(name):
    def at_once(demands, weights):
        """Share out a pool of ones among all as the mutant does when the last one has come."""
        shared = srq.MUTANTS[name](demands, weights, irrevocable=False).tasks_at(len(weights))
        return replace(fb.drf(demands, weights=weights), tasks=shared / np.sum(weights))

    assert found_broken(at_once, STATIC, seed=4) == set(STATIC_BREAKS[name].split())


# --------------------------------------------------------------------------------------- static, by linear programs


def slack_by_program(allocation):
    """The most by which dominant shares can grow in sum while nobody falls: 0 exactly if it is Pareto optimal."""
    here = (allocation.demands > 0).any(axis=1)
    share = (allocation.demands / allocation.capacities)[here]
    tasks, most = allocation.tasks[here], allocation.max_tasks[here]
    largest = share.max(axis=1)
    result = linprog(
        -np.ones(len(share)),
        A_ub=(share / largest[:, None]).T,
        b_ub=np.maximum(1 - tasks @ share, 0.0),
        bounds=[(0, max(b, 0.0)) for b in (most - tasks) * largest],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert result.status == 0
    return float(-result.fun)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10**6))
def test_pareto_optimality_by_hand_and_by_linear_program(seed):
    rng = np.random.default_rng(seed)
    instance = sampler(users=(1, 6), zeros=True)(rng)
    n = len(instance.weights)
    bounds = np.where(rng.random(n) < 0.4, rng.uniform(0, 0.5, n) / instance.demands.max(axis=1), np.inf)
    best = fb.drf(instance.demands, weights=instance.weights, max_tasks=bounds)
    assert p.pareto_optimality(best)
    assert slack_by_program(best) < 1e-7
    stops = p.pareto_optimality(best).certificate["stopped_by"]
    for i, j in enumerate(stops):
        if j >= 0:
            assert instance.demands[i, j] > 0
            assert best.utilisation[j] > 1 - 1e-9
        else:
            assert best.tasks[i] == pytest.approx(bounds[i])
    i = int(rng.integers(n))
    if best.tasks[i] * instance.demands[i].max() > 1e-3:
        worse = replace(best, tasks=np.where(np.arange(n) == i, best.tasks * 0.9, best.tasks))
        assert not p.pareto_optimality(worse)
        assert slack_by_program(worse) > 1e-5


# --------------------------------------------------------------------------------------------------- static, exact


def test_static_checks_are_exact_on_fractions():
    a = replace(EXACT_PHASES["weighted"](*FIGURE_1), weights=np.array(FIGURE_1[1]))
    assert p.sharing_incentive(a).margin == F(1, 7)
    assert p.envy_freeness(a).margin == 0
    assert p.pareto_optimality(a).margin == 0
    assert all(check(a).tolerance == 0 for check in STATIC)
    assert p.feasibility(replace(a, tasks=a.tasks * F(101, 100))).margin == F(-1, 100)


def test_bounds_limit_entitlement_and_envy():
    a = fb.drf([[1.0], [1.0]], max_tasks=[0.1, np.inf])
    assert p.sharing_incentive(a).certificate["alone"].tolist() == [0.1, 0.5]
    assert p.sharing_incentive(a)
    assert p.envy_freeness(a)  # user 0 could use no more of what user 1 has
    assert not p.envy_freeness(type(a)(**{**vars(a), "max_tasks": np.array([0.2, np.inf])}))


# ------------------------------------------------------------------------------------------------------- findings


def test_steps_can_be_sampled():
    instance = instances(1, seed=6, users=(8, 8), corners=["uniform"])[0]
    for name, mechanism in {"dmfa_srq": fb.dmfa_srq, **srq.MUTANTS}.items():
        run = mechanism(instance.demands, weights=instance.weights)
        for check in DYNAMIC:
            whole = check(run)
            for steps in ([3], [2, 3, 4], [8, 1, 5]):
                part = check(run, steps)
                assert part.margins == pytest.approx(whole.margins[np.array(sorted(steps)) - 1]), (name, check.__name__)


def test_trajectory_agrees_with_the_allocation_it_copies():
    for instance in instances(8, seed=8, users=(2, 6)):
        run = fb.dmfa_srq(instance.demands, weights=instance.weights)
        levels = [run.levels_at(k) for k in range(1, len(run) + 1)]
        copy = p.Trajectory.of_levels(levels, run.demands, run.weights)
        for check in DYNAMIC:
            assert check(copy).margins == pytest.approx(check(run).margins, abs=1e-9)


def test_lemma_4_in_the_sense_of_its_proof():
    demands, weights = [[F(1, 2), F(1)], [F(1), F(1)], [F(1), F(1, 2)]], [F(1)] * 3
    honest = reference(demands, weights)
    lying = reference([demands[0], [F(1), F(1, 2)], demands[2]], weights)
    assert srq.lemma_4(honest, lying, 1)
    assert list(honest.levels_at(3)) == [F(6, 5)] * 3
    assert list(lying.levels_at(3)) == [F(4, 3), F(4, 3), 1]  # x_1 is up from 6/5, x_2 down from 6/5
    assert srq.lemma_4(honest, honest, 0).checked == 0


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: p.sharing_incentive(fb.dmfa_srq([[1]], weights=[1])), "allocation"),
        (lambda: p.dynamic_sharing_incentive(fb.drf([[1]])), "run"),
        (lambda: srq.lemma_1([[1.0]]), "run"),
        (lambda: srq.lemma_2(fb.dmfa_srq([[1]], weights=[1]), [2]), "steps"),
        (lambda: srq.lemma_3(fb.dmfa_srq([[1]], weights=[1]), rtol=-1), "rtol"),
        (lambda: srq.lemma_4(fb.dmfa_srq([[1]], weights=[1]), fb.dmfa_srq([[1]], weights=[1]), 1), "user"),
        (lambda: p.Trajectory.of_levels([[1], [1]], [[1], [1]], [1, 1]), "steps"),
        (lambda: p.Trajectory.of_levels([[1]], [1], [1]), "demands"),
        (lambda: search_instance(fb.drf, evaluations=0), "evaluations"),
        (lambda: minimise_margin(lambda i: 1.0, evaluations=0), "evaluations"),
        (lambda: minimise_margin(lambda i: float("nan"), evaluations=5), "statement"),
    ],
)
def test_bad_input_is_named(call, argument):
    with pytest.raises(fb.InvalidInput) as caught:
        call()
    assert caught.value.where == argument


def test_users_that_need_nothing_are_left_out() -> None:
    with_idle = fb.grant_tasks([[1.0, 0.5], [0.0, 0.0], [0.5, 1.0]], [1, 1, 1])
    without = fb.grant_tasks([[1.0, 0.5], [0.5, 1.0]], [1, 1])
    for check in (p.sharing_incentive, p.envy_freeness, p.pareto_optimality, p.feasibility):
        assert check(with_idle)
        assert check(with_idle).margin == check(without).margin
    assert slack_by_program(with_idle) == pytest.approx(0, abs=1e-9)
    assert not p.sharing_incentive(with_idle, entitlements=[1.0, 5.0, 0.1])
    assert p.sharing_incentive(with_idle, entitlements=[0.1, 5.0, 0.1])
    with pytest.raises(fb.InvalidInput, match="at least one user that needs something"):
        p.sharing_incentive(dataclasses.replace(with_idle, demands=np.zeros((3, 2))))
