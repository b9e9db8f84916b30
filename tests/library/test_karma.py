"""Karma: fluid phases against exact fractions, against Algorithm 1 in whole slices, certified, and in special cases."""

import pickle
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import fairbook as fb
from book.common.oracle_drf import exact_tasks
from fairbook.mechanisms.credit.karma import karma, karma_phase, karma_rule
from fairbook.mechanisms.credit.karma_run import KarmaRun
from fairbook.mechanisms.credit.online import Karma
from tests.strategies import FEW, REPEATABLE, Instance, floats, instances

F = Fraction
ALPHAS = st.sampled_from([F(0), F(1, 4), F(1, 2), F(2, 3), F(1)])


def close(a: Any, b: Any, scale: float = 1.0) -> bool:
    return np.allclose(floats(a), floats(b), rtol=1e-12, atol=1e-13 * scale)


def test_several_hand_numbers() -> None:
    # three users, one resource, half guaranteed: a sixth each. The first needs nothing, so its sixth is for sale, too:
    # 2/3 in all. Credits 1 and 3/4: the second borrows 1/4 alone, then both share the other 5/12.
    run = karma(np.ones((1, 3, 1)), max_tasks=[[0, 1, 1]], initial_credit=[F(1, 2), F(1), F(3, 4)])
    third = F(1, 6)
    borrowed = [F(0), F(1, 4) + F(5, 24), F(5, 24)]
    assert close(run.borrowed, [borrowed])
    assert close(run.dominant_shares, [[0, third + borrowed[1], third + borrowed[2]]])
    assert close(run.earned, [[third, 0, 0]])
    assert close(run.final_credit, [F(1, 2) + 2 * third, 1 + third - borrowed[1], F(3, 4) + third - borrowed[2]])


# ------------------------------------------------------------------------------------------- in whole slices


def naive_slices(demands: Any, share: int, alpha: Fraction, credits: list[int]) -> tuple[list[Any], list[Any]]:
    """Algorithm 1 line by line, looking at everyone before every slice."""
    n, own = len(credits), int(alpha * share)
    credits, allocs, balances = list(credits), [], []
    for demand in demands:
        credits = [c + share - own for c in credits]
        alloc = [min(d, own) for d in demand]
        donated, shared = [max(0, own - d) for d in demand], n * (share - own)
        while True:
            borrowers = [u for u in range(n) if alloc[u] < demand[u] and credits[u] > 0]
            donors = [u for u in range(n) if donated[u] > 0]
            if not borrowers or not (donors or shared):
                break
            b = max(borrowers, key=lambda u: (credits[u], -u))
            if donors:
                d = min(donors, key=lambda u: (credits[u], u))
                credits[d] += 1
                donated[d] -= 1
            else:
                shared -= 1
            alloc[b] += 1
            credits[b] -= 1
        allocs.append(alloc)
        balances.append(list(credits))
    return allocs, balances


@FEW
@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 4), st.integers(0, 2**31))
def test_fine_slices_come_close_to_the_fluid(n: int, T: int, guaranteed: int, seed: int) -> None:
    # With credits that nobody exhausts, levelling from the top (and from below) lets no difference in credits grow, so
    # each phase adds at most the one slice (and, for donors, the one credit) by which the levels are uneven.
    rng = np.random.default_rng(seed)
    alpha, coarse = guaranteed / 4, rng.integers(0, 13, (T, n)) / (4 * n)  # demands as parts of the pool
    run = karma(np.ones((T, n, 1)), max_tasks=coarse, alpha=alpha, initial_credit=float(T))
    for share in (8, 200):
        pool = n * share
        wanted = np.round(coarse * pool).astype(int).tolist()
        alloc, balances = map(np.array, naive_slices(wanted, share, F(guaranteed, 4), [T * pool] * n))
        within = (2 * np.arange(1, T + 1) + 1)[:, None] / pool + 1e-9
        assert (np.abs(alloc / pool - run.dominant_shares) <= within).all()
        assert (np.abs(balances / pool - np.vstack([run.credit[1:], run.final_credit])) <= within).all()


# ------------------------------------------------------------------------------------------------- reductions


@REPEATABLE
@given(instances(max_n=5, max_m=3), ALPHAS)
def test_equal_credits_and_no_bounds_are_drf_whatever_alpha(case: Instance, alpha: Fraction) -> None:
    n = len(case.demands)
    exact = karma_rule([case.demands], initial_credit=[2] * n, capacities=case.capacities, alpha=alpha)
    assert exact.tasks[0].tolist() == exact_tasks(case.demands, None, case.capacities)
    demands, _, capacities, _ = case.floats
    run = karma(np.repeat(demands[None], 3, axis=0), capacities=capacities, alpha=float(alpha))
    assert close(run.tasks, np.repeat(fb.drf(demands, capacities=capacities).tasks[None], 3, axis=0))
    if (demands > 0).all():
        assert np.ptp(run.final_credit) < 1e-9


def test_more_may_be_borrowed_than_is_donated_and_shared() -> None:
    run = karma([[[1, 0.1], [0.1, 1], [1, 1]]], max_tasks=[np.inf, np.inf, 0])
    assert run.borrowed.sum() > 1.3 > run.donated.sum() + 0.5
    assert run.earned.tolist() == run.donated.tolist()


def test_default_credit_is_never_exhausted_and_more_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    demands = rng.uniform(0.05, 1, (30, 5, 2))
    bounds = np.where(rng.random((30, 5)) < 0.4, 0, np.inf)
    bounds[:, 0] = np.inf
    run, rich = karma(demands, max_tasks=bounds), karma(demands, max_tasks=bounds, initial_credit=300)
    assert (run.credit[0] == 30).all()
    assert (run.final_credit > 0).all()
    assert np.allclose(run.tasks, rich.tasks, rtol=1e-9, atol=1e-11)


# ---------------------------------------------------------------------------------- feasible, Pareto, certified


def test_many_phases_are_certified() -> None:
    rng = np.random.default_rng(0)
    demands = rng.uniform(0.01, 1, (200, 40, 2))
    demands[rng.random(demands.shape) < 0.3] = 0
    bounds = rng.exponential(2 / 40, (200, 40)) / np.maximum(demands.max(axis=2), 0.01)
    for initial in (0.0, 0.02, None):
        run = karma(demands, capacities=[3, 0.5], max_tasks=bounds * 4, alpha=0.5, initial_credit=initial)
        assert run.violations() == []
        assert not run.tasks[~(demands > 0).any(axis=2)].any()


def test_certificate_notices_another_rule_and_who_borrows_out_of_turn() -> None:
    rng = np.random.default_rng(1)
    some = karma(rng.uniform(0.1, 1, (4, 5, 2)), max_tasks=rng.uniform(0, 0.6, (4, 5)))
    swapped = replace(some, borrowed=some.borrowed[:, ::-1], guaranteed=some.guaranteed[:, ::-1])
    for wrong in (swapped, replace(some, bottlenecks=np.full(some.tasks.shape, -1)), replace(some, alpha=0.4)):
        assert wrong.violations() != []
    run = karma(np.ones((1, 2, 1)), initial_credit=[2, 1])
    assert run.borrowed.tolist() == [[0.5, 0]]
    even = replace(
        run,
        borrowed=np.full((1, 2), 0.25),
        tasks=np.full((1, 2), 0.5),
        final_credit=np.array([2.0, 1.0]),
        bottlenecks=np.zeros((1, 2), dtype=np.int64),
    )
    assert even.violations() == ["a richer user is denied 0 in phase 0"]
    earned = karma(np.ones((1, 3, 1)), max_tasks=[0, 0, 0.5], alpha=1, initial_credit=[1, 2, 3])
    assert close(earned.earned, [[1 / 6, 0, 0]])
    wrong = replace(earned, earned=earned.earned[:, [1, 0, 2]], final_credit=np.array([1, 2 + 1 / 6, 3 - 1 / 6]))
    assert wrong.violations() == ["a donor earns before a poorer one in phase 0"]


# -------------------------------------------------------------------------------------------- one at a time


def test_one_at_a_time_is_the_same_digit_for_digit() -> None:
    rng = np.random.default_rng(2)
    demands, bounds = rng.uniform(0.1, 1, (20, 6, 2)), rng.uniform(0, 0.5, (20, 6))
    run = karma(demands, capacities=[1, 2], max_tasks=bounds, alpha=0.3, initial_credit=1.5)
    pool = Karma(6, [1, 2], alpha=0.3, initial_credit=1.5)
    for t in range(20):
        assert (pool.credit == run.credit[t]).all()
        allocation = pool.phase(demands[t], max_tasks=bounds[t])
        again = karma_phase(
            demands[t], run.credit[t] + run.free_credit, capacities=[1, 2], max_tasks=bounds[t], alpha=0.3
        )
        for one in (allocation, again):
            assert (one.tasks == run.tasks[t]).all()
            assert (one.max_tasks == run.at(t).max_tasks).all()
            assert (one.bottlenecks == run.at(t).bottlenecks).all()
        pool = pickle.loads(pickle.dumps(pool))
    assert (pool.credit == run.final_credit).all()
    assert repr(pool) == "Karma(6 users, 2 resources, phase 20)"


# ---------------------------------------------------------------------------------------------- names and input


def test_long_frame() -> None:
    users = ["ann", "bob", "cyd"]
    run = karma(
        [pd.DataFrame(np.ones((3, 1)), users, ["cpu"])] * 2,
        max_tasks=[[0.2, 0.3, 1], [1, 1, 1]],
        initial_credit=[5, 5, 0],
    )
    frame = run.to_frame()
    stops = frame["bottleneck"]
    assert stops[[(0, "ann"), (0, "cyd"), (1, "bob")]].tolist() == ["own bound", "credit", "cpu"]
    assert close(frame["dominant_shares"].unstack().to_numpy(), run.dominant_shares)


def test_a_row_of_zeros_is_a_bound_of_zero() -> None:
    absent = karma([[[1, 1], [0, 0]], [[1, 1], [1, 0]]])
    bounded = karma([[[1, 1], [1, 0]], [[1, 1], [1, 0]]], max_tasks=[[np.inf, 0], [np.inf, np.inf]])
    assert (absent.tasks == bounded.tasks).all()
    assert (absent.final_credit == bounded.final_credit).all()
    assert absent.max_tasks.tolist() == bounded.max_tasks.tolist()
    exact = karma_rule([[[1, 1], [0, 0]], [[1, 1], [1, 0]]], initial_credit=[2, 2], alpha="1/2")
    assert exact.tasks.tolist() == absent.tasks.tolist()
    assert exact.final_credit.tolist() == absent.final_credit.tolist()
    assert karma_phase([[0, 0], [0, 0]], 1).tasks.tolist() == [0, 0]
    assert Karma(2, [1, 1]).phase([[1, 1], [0, 0]]).tasks.tolist() == [1, 0]
    assert absent.at(0).bottlenecks.tolist() == [0, -1]


def test_who_is_done_when_a_resource_ends_is_stopped_by_its_bound() -> None:
    """Both resources end with the poorer user, long after the richer one is at its bound: no rounding stops it."""
    run = karma_phase([[0.75, 0.375], [0.5, 1.0]], [3.4, 1001.0], capacities=[3, 3], max_tasks=[np.inf, 2], alpha=0.25)
    assert run.bottlenecks.tolist() == [0, -1]
    assert run.tasks == pytest.approx([8 / 3, 2])
    whole = karma(
        [[[0.75, 0.375], [0.5, 1.0]]],
        max_tasks=[[np.inf, 2.0]],
        initial_credit=[3.050982, 1000.949018],
        capacities=[3, 3],
        alpha=0.25,
    )
    assert whole.violations() == []


def test_credits_far_apart() -> None:
    apart = karma_phase(np.ones((4, 1)), [2e9, 1e9, 1e9, 0], max_tasks=[0.3, 0.2, np.inf, 1])
    assert close(apart.tasks, [0.3, 0.2, 0.375, 0.125])
    assert apart.violations() == []


def test_needs_too_far_apart_for_doubles_are_refused() -> None:
    demands, given = [[1.0, 0.5], [1e-9, 1.0], [1.0, 1e-7]], {"credit": [9.0, 8.0, 1.0], "alpha": 0.0}
    with pytest.raises(fb.InvalidInput, match=r'^demands must .*engine="plain"'):
        karma_phase(demands, **given)
    found = karma_phase(demands, **given, engine="plain")
    exact = karma_rule([demands], initial_credit=given["credit"], alpha=0, free_credit=0)
    assert found.tasks.tolist() == exact.tasks[0].astype(float).tolist()
    assert found.violations() == []


WAITED = fb.karma([[[1.0], [1.0]]] * 2, max_tasks=[[1.0, 0.0], [1.0, 1.0]])


@pytest.mark.parametrize(
    ("run", "user", "phase", "said"),
    [
        (WAITED, 0, 0, "0.75 borrowed, with a credit of 2.25. That is its claim."),
        (WAITED, 1, 0, "It claims less than its guarantee, donates 0.25 of it and earns 0.25."),
        (WAITED, 0, None, "0 is used up; the 1 with more credit borrowed first."),
        (
            WAITED,
            1,
            None,
            "1 runs 0.75 tasks in phase 1, a dominant share of 0.75: 0.25 for nothing and 0.5 borrowed, with "
            "a credit of 2.75. resource 0 is used up; nobody with more credit borrowed of it.",
        ),
        (fb.karma([[[1.0], [1.0]]], initial_credit=0.0, alpha=0.9), 0, None, "Its credit is spent."),
        (fb.karma([[[1], [1]]], max_tasks=[9, 0.1], initial_credit=[1, 5]), 0, None, "more credit borrowed of it."),
    ],
)
def test_a_run_explains_itself(run: KarmaRun, user: int, phase: int | None, said: str) -> None:
    assert run.explain(user, phase).endswith(said)
