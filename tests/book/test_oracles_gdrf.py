"""The judges of placements: rules in fractions by hand, bounds against certificates and brute force."""

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import linprog

import fairbook as fb
from book.gdrf.exact_cell import exact_cell, sign_of_product
from book.gdrf.oracle import (
    exact_drfh,
    exact_gdrf,
    exact_mdrf,
    exact_per_server,
    fluid_share,
    most_tasks,
    same_mix,
    task_prices,
    total_price,
)
from tests.cells import cells
from tests.strategies import FEW, REPEATABLE, ratios

F = Fraction
INF = float("inf")


class Case(NamedTuple):
    """Whole numbers: demands (n, m), machines (K, m), counts (K,), bounds (n,) with inf for none."""

    demands: list[list[int]]
    machines: list[list[int]]
    counts: list[int]
    max_tasks: list[float]


def cases() -> st.SearchStrategy[Case]:
    return cells().map(lambda c: Case(*(one.astype(int).tolist() for one in c[:3]), list(c[3])))


# ------------------------------------------------------------------------------------------------------- powers


@REPEATABLE
@given(st.lists(st.tuples(ratios(9), st.integers(-6, 6), st.integers(1, 4)), min_size=1, max_size=4))
def test_sign_of_a_product_is_that_of_whole_powers(terms: list[tuple[Fraction, int, int]]) -> None:
    product_ = F(1)
    for x, a, b in terms:  # x^(a/b): all to the 12th power
        product_ *= x ** (12 * a // b)
    assert sign_of_product([(x, F(a, b)) for x, a, b in terms]) == (product_ > 1) - (product_ < 1)


def test_sign_of_a_product_sees_ties_and_what_is_nearly_one() -> None:
    assert sign_of_product([(F(1, 8), F(1, 3)), (F(1, 4), F(-1, 2))]) == 0  # both are 1/2; in floats they differ
    assert sign_of_product([(F(1, 8), F(1, 3) + F(1, 10**30)), (F(1, 4), F(-1, 2))]) == -1
    assert sign_of_product([(F(10**60 + 1, 10**60), F(1)), (F(10**60, 10**60 - 1), F(-1))]) == -1
    assert sign_of_product([(F(6), F(10**9)), (F(2), F(-(10**9))), (F(3), F(-(10**9)))]) == 0
    assert sign_of_product([(F(1), F(5)), (F(7), F(0))]) == 0


# ----------------------------------------------------------------------------------------------- worked by hand

#: For types: pool (8, 10); A (2, 1) has shares (1/4, 1/10), B (1, 2) has (1/8, 1/5). Machine 0 = (4, 2) has parts
#: (1/2, 1/5), machine 1 = (4, 8) has (1/2, 4/5). A wants machine 0 and fits there twice; beside a B machine 1 has room
#: for an A.
MATCHED = ([[2, 1], [1, 2]], [[4, 2], [4, 8]], None, [None, 1])
#: Pool (12, 6): (2, 1) is 1/6 of both, and the larger amount makes the first resource dominant. By part of the pool
#: machine 0 = (4, 4) is of the second type (1/3, 2/3), by amount it is of both.
TYPED = ([[2, 1]], [[4, 4], [8, 2]])


@pytest.mark.parametrize(
    ("given_", "reading", "placed"),
    [
        # One resource, 20 of it on one machine; A needs 1, B 3, C 4, so rank is C, B, A. Least amounts so far:
        # round 1: C B A (all 0), now A1 B3 C4. Round 2: A (to 2), A (to 3), B (tie at 3, higher rank), now A3 B6 C4;
        # served B A A. Round 3: A (4), C (tie at 4), A (5), served C A A, 19 in use. Round 4: A (6), B (tie), A (7):
        # B does not fit and leaves, A fits once and leaves. Round 5: all to C, which does not fit.
        (([[1], [3], [4]], [[20]]), {}, [(i, 0) for i in (2, 1, 0, 1, 0, 0, 2, 0, 0, 0)]),
        # One by one: C B A, A A (to 3), B, A (to 4), C, A A: 20 in use.
        (([[1], [3], [4]], [[20]]), {"queue": "one_by_one"}, [(i, 0) for i in (2, 1, 0, 0, 0, 1, 0, 2, 0, 0)]),
        # A needs 1, B 2; machines of 4 and 8, so S counts twelfths, w quarters or eighths. Slots: B A, B A, A A, B A.
        # f as it stands, empty 1: B on 0, A on the empty 1; then 1 has (1/12)^(1/8) = .73 against (1/6)^(1/2) = .41,
        # and .59, .58, .58, .59 as it fills, always more. B then has no room on 0, A takes what is left there.
        (
            ([[1], [2]], [[4], [8]]),
            {"choice": "fairness"},
            [(1, 0), (0, 1), (1, 1), (0, 1), (0, 1), (0, 1), (1, 1), (0, 0), (0, 0)],
        ),
        # f of an empty machine 0: A joins B on 0 (3 of 4); B does not fit there; then 1 has (1/6)^(1/4) = .64 against
        # (1/4)^(3/4) = .35 and stays above .57.
        (
            ([[1], [2]], [[4], [8]]),
            {"choice": "fairness_empty_last"},
            [(1, 0), (0, 0), (1, 1), (0, 1), (0, 1), (0, 1), (1, 1), (0, 1), (0, 0)],
        ),
        # f with the task: B (1/6)^(1/2) = .41 or (1/6)^(1/4) = .64; A (1/12)^(1/4) = .54 or (1/4)^(3/8) = .59; B .41 or
        # (5/12)^(5/8) = .58; A .54 or .59, .62, .67: machine 1 is full after six tasks.
        (
            ([[1], [2]], [[4], [8]]),
            {"choice": "fairness_after"},
            [(1, 1), (0, 1), (1, 1), (0, 1), (0, 1), (0, 1), (1, 0), (0, 0), (0, 0)],
        ),
        (
            ([[1], [2]], [[4], [8]]),
            {"choice": "first"},
            [(1, 0), (0, 0), (1, 1), (0, 0), (0, 1), (0, 1), (1, 1), (0, 1), (0, 1)],
        ),
        (MATCHED, {"match": "nearest"}, [(0, 0), (1, 1), (0, 0), (0, 1)]),
        (MATCHED, {"match": "same"}, [(0, 0), (1, 1), (0, 0)]),
        # Without types A has (1/4)^(1/2) = .5 on machine 0 against (1/5)^(1/4) = .67.
        (MATCHED, {"match": "any"}, [(0, 0), (1, 1), (0, 1), (0, 0)]),
        (TYPED, {"choice": "first"}, [(0, 1), (0, 1), (0, 0), (0, 0)]),
        (TYPED, {"choice": "first", "machine_type": "amount"}, [(0, 0), (0, 0), (0, 1), (0, 1)]),
        # A (2, 1) and B (1, 4) on (10, 40): amounts 3, 5, dominant shares .2, .1, shares .225, .2; A is first at ties.
        # Held before each: 0 0, 3 0, 3 5, 6 5, 6 10, 9 10
        (([["2", "1"], ["1", "4"]], [[10, 40]]), {"queue": "one_by_one"}, [(i, 0) for i in (0, 1, 0, 1, 0, 0)]),
        # 0 0, .2 0, .2 .1, .2 .2, .4 .2, .4 .3, .4 .4
        (
            ([["2", "1"], ["1", "4"]], [[10, 40]]),
            {"queue": "one_by_one", "least": "dominant_share"},
            [(i, 0) for i in (0, 1, 1, 0, 1, 1, 0)],
        ),
        # 0 0, .225 0, .225 .2, .225 .4, .45 .4, .45 .6, .675 .6
        (
            ([["2", "1"], ["1", "4"]], [[10, 40]]),
            {"queue": "one_by_one", "least": "shares"},
            [(i, 0) for i in (0, 1, 1, 0, 1, 0, 1)],
        ),
        # ten tenths fill a unit; the float .1 is a little more than a tenth, so only nine of it do
        (([["1/10"]], [[1]]), {}, [(0, 0)] * 10),
        (([[0.1]], [[1.0]]), {}, [(0, 0)] * 9),
    ],
)
def test_gdrf_by_hand(given_: Any, reading: dict[str, Any], placed: list[tuple[int, int]]) -> None:
    run = exact_gdrf(*given_, **reading)
    assert run.placed == placed
    assert run.tasks == [sum(user == i for user, _ in placed) for i in range(len(given_[0]))]


def test_drfh_by_hand() -> None:
    # The example of the DRFH paper. First-Fit: one task each on machine 0 leaves (4/5, 54/5): no second (1, 1/5), but
    # four more (1/5, 1). Machine 1 takes four (1, 1/5), then the sixth (1/5, 1), and a fifth: its memory is full.
    given_ = ([["1/5", 1], [1, "1/5"]], [[2, 12], [12, 2]])
    assert exact_drfh(*given_, method="first_fit").tasks == [6, 6]
    assert exact_drfh(*given_).placed == [(0, 0), (1, 1)] * 10
    assert exact_per_server(*given_).tasks == [6, 6]  # 5 and 1 on the first machine, 1 and 5 on the second
    # Totals (10, 10, 100); (1, 1, 1) is .1, .1, .01 of them, and machine 2 lacks the first resource. Differences:
    # machine 0 = (5, 1, 40): .8 + .7; machine 1 = (5, 5, 50): 0 + .9. In units instead of parts it would be 7.8 and 9.
    assert exact_drfh([[1, 1, 1]], [[5, 1, 40], [5, 5, 50], [0, 4, 10]], max_tasks=[1]).placed == [(0, 1)]
    # Weights 2 and 1 of 6: levels rise by 1/12 and 1/6 (times 3), ties to the lower number.
    run = exact_drfh([[1], [1]], [[6]], weights=[2, 1], method="first_fit")
    assert [i for i, _ in run.placed] == [0, 1, 0, 0, 1, 0]


def test_mdrf_by_hand() -> None:
    # Pool (12, 12): A (2, 1) and B (2, 2) both have 1/6, B the larger weight 2. Entropy: B, with the mix (1/2, 1/2),
    # takes (4, 4), not (8, 4) with the mix (2/3, 1/3); A's mix is (2/3, 1/3), so machine 0 is its own. Then ties anew:
    # B on machine 1, now full; A on 0, now (4, 2); B there: (2, 0) is left, and nobody fits.
    given_ = ([[2, 1], [2, 2]], [[8, 4], [4, 4], [0, 4]])
    assert exact_mdrf(*given_).placed == [(1, 1), (0, 0), (1, 1), (0, 0), (1, 0)]
    # Types: A's resource is the first, of which machine 0 has 2/3 (its second 1/3), machine 1 1/3 of both. B is tied in
    # all, so the lot of resources decides where it looks first: at machine 0 or at machine 1.
    for seed in range(4):
        rng = np.random.default_rng(seed)
        rng.permutation(2)
        first = rng.permutation(2).tolist().index(0)
        assert exact_mdrf(*given_, reading="type", seed=seed).placed[0] == (1, 0 if first == 0 else 1)


# -------------------------------------------------------------------------------------------------- LP and duals


def check_fluid(case: Case, by_class: Any, tasks: Any) -> None:
    capacity = np.array(case.counts)[:, None] * np.array(case.machines)
    assert (by_class >= 0).all()
    assert (by_class @ np.array(case.demands) <= capacity * (1 + 1e-7) + 1e-7).all()
    assert np.allclose(by_class.sum(axis=0), tasks)
    assert (tasks <= np.array(case.max_tasks) * (1 + 1e-7) + 1e-9).all()


@REPEATABLE
@given(cases())
def test_most_tasks_is_proved_by_its_prices(case: Case) -> None:
    found = most_tasks(*case[:3])
    check_fluid(case._replace(max_tasks=[INF] * len(case.demands)), found.by_class, found.tasks)
    assert all(p >= 0 for row in found.prices for p in row)
    assert all(price is None or price >= 1 for price in task_prices(exact_cell(*case[:3]), found.prices))
    assert total_price(exact_cell(*case[:3]), found.prices) == found.upper
    assert found.value * (1 - 1e-9) <= found.upper <= found.value * (1 + 1e-7) + 1e-9
    assert found.upper.denominator < 10**9  # small numbers: the dual optimum itself, not one near it


@FEW
@given(cases(), st.lists(st.integers(0, 5), min_size=5, max_size=5))
def test_same_mix_is_proved_by_its_prices(case: Case, mix: list[int]) -> None:
    tasks = mix[: len(case.demands)]
    if not any(tasks):
        return
    found = same_mix(tasks, case.demands, case.machines, case.counts)
    check_fluid(case._replace(max_tasks=[INF] * len(tasks)), found.by_class, found.tasks)
    assert (
        np.allclose(found.tasks, found.value * np.array(tasks), atol=1e-6)
        or (found.tasks >= found.value * np.array(tasks) - 1e-7).all()
    )
    offers = task_prices(exact_cell(*case[:3]), found.prices)
    priced = [(x, price) for x, price in zip(tasks, offers, strict=True) if x]
    if any(price is None for _, price in priced):
        assert found.upper == 0
    else:
        assert found.upper * sum(x * price for x, price in priced if price) == total_price(
            exact_cell(*case[:3]), found.prices
        )
    assert found.value * (1 - 1e-9) - 1e-12 <= found.upper <= found.value * (1 + 1e-7) + 1e-9


@FEW
@given(cases(), st.lists(st.integers(1, 3), min_size=5, max_size=5))
def test_nobody_can_rise_without_one_no_higher_falling(case: Case, weights: list[int]) -> None:
    own = np.array(weights[: len(case.demands)], dtype=float)
    share = fluid_share(*case, own.tolist())
    check_fluid(case, share.by_class, share.tasks)
    assert share.level == share.levels.min()
    assert float(share.upper) == pytest.approx(share.level, rel=1e-7, abs=1e-9)
    n, K = len(case.demands), len(case.machines)
    rows, right = np.kron(np.transpose(case.demands), np.eye(K)), (np.transpose(case.machines) * case.counts).ravel()
    each = np.kron(np.eye(n), np.ones(K))
    for i in range(n):
        keep = [h for h in range(n) if h != i and share.levels[h] <= share.levels[i] * (1 + 1e-6)]
        result = linprog(
            -each[i],
            A_ub=np.vstack([rows, -each[keep]]),
            b_ub=np.concatenate([right, -share.tasks[keep] * (1 - 1e-9) + 1e-9]),
        )
        top = min(-result.fun, case.max_tasks[i])
        assert top == pytest.approx(share.tasks[i], rel=1e-5, abs=1e-6)


def test_users_that_no_machine_runs() -> None:
    demands, machines = [[1, 1], [1, 0]], [[4, 0], [0, 4]]
    share = fluid_share(demands, machines)
    assert (share.upper, share.level) == (0, 0.0)
    assert np.allclose(share.tasks, [0, 4])
    assert most_tasks(demands, machines).upper == 4
    assert same_mix([1, 1], demands, machines).upper == 0
    assert same_mix([0, 2], demands, machines).upper == 2
    assert fluid_share(demands, machines, max_tasks=[0, 3]).upper == 0


@pytest.mark.parametrize("apart", [1e2, 1e4, 1e6])
def test_fluid_levels_of_light_users_are_right(apart: float) -> None:
    """What a heavy user may lose to rounding is much to a light one."""
    demands, weights = [[1, 1], [1, 1], [0, 1], [0, 1], [1, 0]], [apart, apart, 1, 1, 1]
    fluid = fb.drfh(demands, [[1, 1]], weights=weights, method="fluid")
    np.testing.assert_allclose(fluid.levels, fb.drf(demands, weights=weights, capacities=[1, 1]).levels, rtol=1e-6)


def test_what_the_solver_would_drop_is_refused() -> None:
    with pytest.raises(fb.InvalidInput, match=r"demands\[0, 0\] times the user's part of the weights"):
        fb.drfh([[1, 1000], [1, 0]], [[1, 1]], weights=[1, 1e6], method="fluid")
