"""The judges of virtual clusters: against brute force, cases by hand, certificates and each other."""

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from book.virtual_cluster.oracle import (
    as_case,
    exact_optimum,
    lp_bound,
    share,
)
from fairbook.mechanisms.clusters.virtual_cluster import virtual_cluster_rule
from tests.strategies import REPEATABLE
from tests.vm_cases import Asked, asked, random_asked

F = Fraction


def ints(values: Any) -> list[int]:
    assert all(v == int(v) for v in values)
    return [int(v) for v in values]


# ------------------------------------------------------------------------------------------------- one cluster


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
        tried = virtual_cluster_rule(case.wanted, case.tolerance, case.capacities, whole=whole)
        assert (found is None) == (len(tried) < case.n), seed
        if found is not None:
            feasible += 1
            assert found.level == min(v / case.wanted[i] for i, _, v in tried) == case.level(found.vms)
            use = [sum(v for v, on in zip(found.vms, found.cluster, strict=True) if on == j) for j in range(case.H)]
            assert all(u <= C for u, C in zip(use, case.capacities, strict=True))
            assert all(low <= v <= high for low, v, high in zip(case.minimum, found.vms, case.wanted, strict=True))
    assert 15 < feasible < 75


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


# ------------------------------------------------------------------------------------------------- who is served


# ------------------------------------------------------------------------------------------------- input


def test_floats_count_as_the_decimals_they_print() -> None:
    assert as_case([10], 0.7, [3]).minimum == [3]  # 1 - 0.7 in floats is a little more than 3/10
    assert as_case(np.array([10, 20]), np.array([0.7, 0.9]), pd.Series([3.9])).capacities == [3]
    assert as_case(["1/3"], "1/2", ["2/3"], whole=False).minimum == [F(1, 6)]
    assert exact_optimum([10], 0.7, [3]) is not None
    assert exact_optimum([10], F(0.7), [3]) is None
