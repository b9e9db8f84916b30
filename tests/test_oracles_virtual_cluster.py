"""The judges of virtual clusters: against brute force, cases by hand, certificates and each other."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from book.virtual_cluster import oracle
from book.virtual_cluster.oracle import (
    as_case,
    exact_optimum,
    greedy,
    lp_bound,
    mixed_knapsack,
    most_served,
    relaxation,
    share,
)
from tests.strategies import REPEATABLE
from tests.vm_cases import Asked, asked, pooled, random_asked

F = Fraction


def ints(values: Any) -> list[int]:
    assert all(v == int(v) for v in values)
    return [int(v) for v in values]


# ------------------------------------------------------------------------------------------------- one cluster


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[int], list[int], int]:
    """Least, most, capacity, in whole numbers."""
    n = draw(st.integers(1, 4))
    most = draw(st.lists(st.integers(1, 5), min_size=n, max_size=n))
    least = [draw(st.integers(0, b)) for b in most]
    return least, most, sum(least) + draw(st.integers(0, 8))


@REPEATABLE
@given(clusters(), st.integers(1, 7))
def test_poured_shares_stand_at_one_level(given_: tuple[list[int], list[int], int], part: int) -> None:
    least, most, capacity = ([F(x, part) for x in given_[0]], [F(x, part) for x in given_[1]], F(given_[2], part))
    vms = share(least, most, capacity, whole=False)
    assert sum(vms) == min(capacity, sum(most))
    level = max((v / b for a, v, b in zip(least, vms, most, strict=True) if v > a), default=F(0))
    # whoever has more than it must stands at the level, whoever has no more stands there or above
    assert all(v == b * level if v > a else v == a >= b * level for a, v, b in zip(least, vms, most, strict=True))


def test_ties_go_to_the_smaller_request_then_to_the_first() -> None:
    assert ints(share([6, 2], [12, 4], 9)) == [6, 3]
    assert ints(share([0, 0, 0], [3, 3, 3], 4)) == [2, 1, 1]
    assert share([F(1, 3)], ["1/2"], 1, whole=False) == [F(1, 2)]


# ------------------------------------------------------------------------------------------------- the optimum


@pytest.mark.parametrize("whole", [True, False])
def test_all_subsets_find_what_trying_every_home_finds(whole: bool) -> None:
    feasible = 0
    for seed in range(80):
        one = random_asked(np.random.default_rng(seed), max_n=5, max_H=3)
        found, case = exact_optimum(*one, whole), as_case(*one, whole)
        levels = []
        for homes in product(range(case.H), repeat=case.n):
            lists = [[i for i in range(case.n) if homes[i] == j] for j in range(case.H)]
            shared = [case.share(users, C) for users, C in zip(lists, case.capacities, strict=True)]
            if None not in shared:
                levels.append(min(v / case.wanted[i] for users, vms in zip(lists, shared, strict=True)
                                  for i, v in zip(users, vms, strict=True)))  # fmt: skip
        assert (found is None) == (not levels), seed
        if found is None:
            continue
        assert found.level == max(levels)
        for j, C in enumerate(case.capacities):
            assert sum(v for v, home in zip(found.vms, found.cluster, strict=True) if home == j) <= C
        assert all(low <= v <= high for low, v, high in zip(case.minimum, found.vms, case.wanted, strict=True))
        assert found.level == min(v / a for v, a in zip(found.vms, case.wanted, strict=True))
        feasible += 1
    assert 15 < feasible < 75


@REPEATABLE
@given(asked(), st.booleans())
def test_spanning_is_one_pool(one: Asked, whole: bool) -> None:
    found, apart = pooled(one, whole), exact_optimum(*one, whole)
    if found is None:
        assert apart is None
        return
    assert apart is None or apart.level <= found
    bound = lp_bound(*one, whole)
    assert found == bound.upper if not whole else found <= bound.upper


# ------------------------------------------------------------------------------------------------- the relaxation


@REPEATABLE
@given(asked(), st.booleans())
def test_prices_prove_the_bound(one: Asked, whole: bool) -> None:
    bound, case = lp_bound(*one, whole), as_case(*one, whole)
    if bound is None:
        assert sum(case.minimum) > sum(case.capacities)
        return
    assert bound.value == pytest.approx(float(bound.upper), abs=1e-7)
    best = exact_optimum(*one, whole)
    assert best is None or best.level <= bound.upper
    # nobody can pay for more: at a level above, what all must have costs more than all that there is
    above = bound.upper + F(1, 10**9)
    cost = min(bound.prices) * sum(max(above * a, m) for a, m in zip(case.wanted, case.minimum, strict=True))
    worth = sum(p * C for p, C in zip(bound.prices, case.capacities, strict=True))
    assert bound.upper == 1 or cost > worth


def test_any_prices_give_a_true_bound() -> None:
    useful = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        one = random_asked(rng)
        case, best = as_case(*one), pooled(one)
        if best is not None:
            found = oracle._highest(case, [F(int(p)) for p in rng.integers(0, 4, case.H)])
            assert best <= found
            useful += found < 1
    assert useful > 20


# ------------------------------------------------------------------------------------------------- who is served


@REPEATABLE
@given(st.lists(st.integers(0, 5), min_size=1, max_size=5), st.lists(st.integers(0, 7), min_size=1, max_size=3))
def test_most_served_tries_everything(sizes: list[int], room: list[int]) -> None:
    def holds(where: Any) -> bool:
        return all(sum(s for s, j in zip(sizes, where, strict=True) if j == b) <= C for b, C in enumerate(room))

    everywhere = product(range(-1, len(room)), repeat=len(sizes))
    assert most_served(sizes, room) == max(sum(j >= 0 for j in where) for where in everywhere if holds(where))


# ------------------------------------------------------------------------------------- algorithms by hand


MIXED = ([10, 10, 10, 10], ["1/10", "2/5", "9/10", "9/10"], [12, 12])
#: Method, what is asked for, options, clusters, VMs.
BY_HAND: list[tuple[Any, Any, dict[str, Any], list[int] | None, list[int] | None]] = [
    # minima 5, 5, 3, 1 on 20 and 10. Relative: 0 0 -> first; .25 0 -> second; .25 .5 -> first; .4 .5 -> first.
    (relaxation, ([10, 10, 6, 2], "1/2", [20, 10]), {}, [0, 1, 0, 0], [10, 10, 6, 2]),
    # free: 20 10 -> first; 15 10 -> first; 10 10 -> first, a tie; 7 10 -> second.
    (relaxation, ([10, 10, 6, 2], "1/2", [20, 10]), {"load": "free"}, [0, 0, 0, 1], None),
    # 16 + 2 on 8 and 10: 4 and 4 go first and second, 8 nowhere; what is left goes where a VM is missing most.
    (relaxation, ([8, 8, 16, 8], ["1/2", "1/2", "1/2", 1], [8, 10]), {}, [0, 1, -1, 1], [8, 5, 0, 5]),
    (relaxation, ([4], 0, [0, 3]), {}, [-1], None),
    # a cluster without VMs comes last
    (relaxation, ([4, 4], 1, [0, 2, 3]), {}, [1, 1], [1, 1]),
    (greedy, ([4, 4], 1, [0, 2, 3]), {}, [2, 1], None),
    (greedy, ([4, 4], 1, [0, 2, 3]), {"fit": "first_fit"}, [2, 1], None),
    (mixed_knapsack, ([4, 4], 1, [0, 2, 3]), {}, [2, 1], None),
    # wanted parts with the newcomer: 4/10 4/12 -> second; 6/10 10/12 -> first; 14/10 12/12 -> second.
    (greedy, ([4, 6, 8], "1/2", [10, 12]), {}, [1, 0, 1], None),
    # best fit: 4 into the tighter; then 6 fits there to the brim; 8 into the other.
    (greedy, ([4, 6, 8], "1/2", [10, 12]), {"fit": "best_fit"}, [0, 0, 1], None),
    (greedy, ([4, 6, 8], "1/2", [10, 12]), {"fit": "first_fit"}, [0, 0, 1], None),
    (greedy, ([4, 7, 6], "1/2", [12, 10]), {"fit": "first_fit"}, [0, 0, 1], None),
    (greedy, ([4, 7, 6], "1/2", [12, 10]), {"fit": "best_fit"}, [1, 0, 1], None),
    # nobody has room for 8 more: 18/10 against 12/8 -> second, where 4 and 8 then share 8
    (greedy, ([10, 4, 8], "1/2", [10, 8]), {"fit": "best_fit"}, [0, 1, 1], [10, 3, 5]),
    # tau = 24/40: A = {k <= .4} is the first two, at 9 and 6: 9 into the first (a tie), 6 into the second, as the
    # first has 3 left. B: 3 and 6 left, 20 wanted, tau = 9/20: A = {k <= .55} is nobody. Greedy: 10/3 against 10/6 ->
    # second; 10/3 against 20/6, a tie -> the first.
    (mixed_knapsack, MIXED, {"small": 0}, [0, 1, 1, 0], [9, 6, 6, 3]),
    # shared anew, the second cluster gives 6 and 6, the first 9 and 3: the same
    (mixed_knapsack, MIXED, {"small": 0, "top_up": True}, [0, 1, 1, 0], [9, 6, 6, 3]),
    # tau = 18/20: A = {k <= 1/10}: nobody, though one of them has k = 1/5
    (mixed_knapsack, ([10, 10], ["1/5", 1], [18]), {"small": 0}, None, [9, 9]),
    # best fit: 5 goes first and into 10; 4 into 4, where nothing is left, not beside the 5
    (mixed_knapsack, ([4, 5, 20], [0, 0, 1], [10, 4]), {"small": 0}, [1, 0, 0], None),
    # what queue A does not get: tau = 9/14, A = {1/4}: 3, B: 6; tau = 8/6: A empty
    (mixed_knapsack, ([4, 10], ["1/4", "3/4"], [9]), {"small": 0}, None, [3, 6]),
    (mixed_knapsack, ([4, 2], ["1/2", "3/4"], [6, 2]), {"small": 0}, None, [4, 2]),
    # tau = 9/12: A = {k <= 1/4}: user 0 at 6 into the first. B: 1 and 2 left, 4 wanted: 2 on the second.
    (mixed_knapsack, ([8, 4], ["1/4", "1/2"], [7, 2]), {"small": 0}, None, [6, 2]),
    (mixed_knapsack, ([8, 4], ["1/4", "1/2"], [7, 2]), {"small": 0, "top_up": True}, None, [7, 2]),
]


@pytest.mark.parametrize(("method", "given_", "options", "cluster", "vms"), BY_HAND)
def test_by_hand(method: Any, given_: Any, options: dict[str, Any], cluster: Any, vms: Any) -> None:
    placed = method(*given_, **options)
    assert cluster in (None, placed.cluster)
    assert vms in (None, ints(placed.vms))


def test_few_users_are_placed_by_the_general_method() -> None:
    assert mixed_knapsack(*MIXED, small=4) == greedy(*MIXED)
    assert mixed_knapsack(*MIXED, small=4, general="relaxation") == relaxation(*MIXED)
    assert mixed_knapsack([2, 2], 0, [9], small=0) == greedy([2, 2], 0, [9])  # more than enough: A is empty


# ------------------------------------------------------------------------------------------------- input


def test_floats_count_as_the_decimals_they_print() -> None:
    assert as_case([10], 0.7, [3]).minimum == [3]  # 1 - 0.7 in floats is a little more than 3/10
    assert as_case(np.array([10, 20]), np.array([0.7, 0.9]), pd.Series([3.9])).capacities == [3]
    assert as_case(["1/3"], "1/2", ["2/3"], whole=False).minimum == [F(1, 6)]
    assert exact_optimum([10], 0.7, [3]) is not None
    assert exact_optimum([10], F(0.7), [3]) is None
