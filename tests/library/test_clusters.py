"""Requests, the sharing of one cluster, and allocations: against the judges, by hand, and what is wrong is said."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairbook as fb
from book.virtual_cluster.oracle import share
from fairbook.mechanisms.clusters.virtual_cluster import cut
from fairbook.model.requests import SPANS, TURNED_AWAY, as_requests
from fairbook.model.sharing import share_out

# ------------------------------------------------------------------------------------------------- one cluster


@pytest.mark.parametrize("largest", [12, 60, 1000])
def test_sharing_of_many(largest: int) -> None:
    """Fractions such as 1/2 that several users can have: who gets the next VM there is settled by exact comparison."""
    for seed in range(150):
        rng = np.random.default_rng([largest, seed])
        n = int(rng.integers(2, 12))
        most = rng.integers(1, largest, n) // 6 * 6 + 6 if seed % 2 else rng.integers(1, largest, n)
        least = (most * rng.choice([0, 0, 0.5, 1, rng.random()], n)).astype(int)
        capacity = int(rng.integers(least.sum(), most.sum() + 1)) if seed % 3 else int(least.sum())
        assert share_out(least, most, capacity).tolist() == share(least, most, capacity), seed


@pytest.mark.parametrize("most", [[10**9, 10**9, 999_999_999, 3], [10**9] * 4, [123_456_789, 10**9, 5, 7]])
def test_sharing_of_a_billion(most: list[int]) -> None:
    """What differs between two users is less than a VM of either, though floats cannot tell such fractions apart."""
    for part in (0.1, 1 / 3, 0.5, 0.999):
        capacity = int(sum(most) * part)
        vms = share_out(np.zeros(len(most), int), np.array(most), capacity).tolist()
        assert sum(vms) == capacity
        level = min(Fraction(v, b) for v, b in zip(vms, most))
        assert all(Fraction(v - 1, b) <= level for v, b in zip(vms, most))


def test_sharing_where_sums_in_two_orders_differ() -> None:
    """All that is wanted fits by one sum and not by the other."""
    for seed in range(3000):
        rng = np.random.default_rng(seed)
        most = rng.random(int(rng.integers(9, 60)))
        least = most * (rng.integers(0, 2, len(most)) if seed % 2 else 1)
        for capacity in (np.cumsum(most)[-1], np.cumsum(most[::-1])[-1], most.sum(), np.nextafter(most.sum(), 0)):
            vms = share_out(least, most, capacity)
            assert vms.sum() == pytest.approx(capacity, rel=1e-12)
            assert (vms >= least).all()


# ------------------------------------------------------------------------------------------------- requests


def test_nobody_gets_more_than_the_largest_cluster() -> None:
    for whole in (True, False):
        assert as_requests([8, 2], [0.5, 0], [5, 5, 5], whole).bound == 5 / 8
        assert as_requests([8, 2], [0.25, 0], [5, 5, 5], whole).bound == 0  # no cluster holds 6
        assert as_requests([8, 8], [0.5, 0.5], [5, 4], whole).bound == (0.5 if whole else 9 / 16)


@pytest.mark.parametrize("alpha", [1, 10, 30, 10**4, 10**9])
def test_minima_are_rounded_up_but_not_for_a_rounding_error(alpha: int) -> None:
    for parts in (10, 100, 64):
        k = np.arange(parts + 1) / parts
        minimum = as_requests(np.full(len(k), alpha), k, [alpha]).minimum
        assert minimum.tolist() == [-(-(parts - a) * alpha // parts) for a in range(parts + 1)]


def test_next_to_nothing_is_a_piece_and_so_is_nothing() -> None:
    assert cut([0, 1], [1e-8, 0.0], [4.0], 1e-13) == [(0, 0, 1e-8), (1, 0, 0.0)]


def test_minima_of_billions_that_do_not_fit_by_one_vm() -> None:
    requests = as_requests([10**9] * 3 + [1], 0, [10**9] * 3)
    assert requests.pooled.tolist() == [0, 0, 0, 0]
    assert requests.bound == 0
    assert requests.fits(np.array([3, 4]), 3).tolist() == [True, False]
    assert as_requests([1.0], 0, [1], whole=False).fits(1 + 1e-12, 1.0)
    assert not as_requests([1.0], 0, [1], whole=False).fits(1 + 1e-8, 1.0)


def test_names() -> None:
    max_vms, k = pd.Series({"ann": 4, "bob": 6}), pd.Series({"bob": 0.5, "ann": 0.25})
    requests = as_requests(max_vms, k, pd.Series({"north": 5.5, "south": 3}))
    assert (requests.users, requests.clusters) == (("ann", "bob"), ("north", "south"))
    assert requests.tolerance.tolist() == [0.25, 0.5]  # matched by name
    assert requests.capacities.tolist() == [5, 3]
    assert as_requests([4, 6], 0.5, [5]).users == (0, 1)
    assert as_requests([4, 6], 0.5, [5]).tolerance.tolist() == [0.5, 0.5]


GOOD: dict[str, Any] = {"max_vms": [4, 6], "tolerance": [0.5, 0.25], "capacities": [7, 4]}


@pytest.mark.parametrize(
    ("given_", "argument", "rule"),
    [
        ({"max_vms": [4, 2e9]}, "max_vms[1]", "at most 1e+09"),
        ({"tolerance": [0.5, 1.01]}, "tolerance[1]", "between 0 and 1"),
        ({"tolerance": 1.5}, "tolerance", "between 0 and 1"),
        ({"tolerance": np.nan}, "tolerance", "between 0 and 1"),
        (
            {"tolerance": pd.Series({"a": 0.5, "b": 1}), "max_vms": pd.Series({"a": 4, "c": 6})},
            "tolerance.index",
            "users",
        ),
        ({"capacities": [0, 0]}, "capacities", "at least one VM"),
        ({"capacities": [0.5]}, "capacities", "at least one VM"),
        ({"capacities": [1e10]}, "capacities[0]", "at most 1e+09"),
        ({"whole": 1}, "whole", "True or False"),
    ],
)
def test_bad_input(given_: dict[str, Any], argument: str, rule: str) -> None:
    with pytest.raises(fb.InvalidInput) as caught:
        as_requests(**{**GOOD, **given_})
    assert caught.value.where == argument
    assert rule in caught.value.rule


# ------------------------------------------------------------------------------------------------- allocations


def named(method: Any = "exact", **options: Any) -> fb.VirtualClusters:
    return fb.virtual_cluster(
        pd.Series({"ann": 8, "bob": 6, "cat": 4, "dan": 9}),
        [0.5, 0.5, 1, 0],
        pd.Series({"north": 8, "south": 5, "west": 0}),
        method=method,
        **options,
    )


def test_frames() -> None:
    found = named("relaxation")
    # minima 4 -> north (0, a tie), 3 -> south, 0 -> north (4/8 < 3/5), 9 -> nowhere; north shares 8: 5 of 8, 3 of 4
    pd.testing.assert_frame_equal(
        found.to_frame(),
        pd.DataFrame(
            {
                "max_vms": [8, 6, 4, 9],
                "minimum": [4, 3, 0, 9],
                "vms": [5, 5, 3, 0],
                "fraction": [5 / 8, 5 / 6, 3 / 4, 0],
                "cluster": ["north", "south", "north", ""],
            },
            pd.Index(["ann", "bob", "cat", "dan"], name="user"),
        ),
        check_dtype=False,
    )
    pd.testing.assert_frame_equal(
        found.cluster_frame(),
        pd.DataFrame(
            {
                "capacity": [8, 5, 0],
                "users": [2, 1, 0],
                "use": [8, 5, 0],
                "slack": [0, 0, 0],
                "min_fraction": [5 / 8, 5 / 6, np.nan],
            },
            pd.Index(["north", "south", "west"], name="cluster"),
        ),
        check_dtype=False,
    )
    assert found.by_cluster.tolist() == [[5, 0, 0], [0, 5, 0], [3, 0, 0], [0, 0, 0]]
    assert (found.min_fraction, found.served_fraction) == (0, 5 / 8)
    assert found.served.tolist() == [True, True, True, False]
    assert (found.optimal, found.bound) == (True, 0)  # nothing holds dan
    assert found.to_dict()["clusters"] == ["north", "south", "west"]


def test_frames_where_users_span() -> None:
    found = fb.virtual_cluster([4, 4, 2], 0.5, [5, 4], method="spanning")
    assert found.vms.tolist() == [4, 3, 2]
    assert found.cluster.tolist() == [0, SPANS, 1]
    assert found.to_frame()["cluster"].to_list() == [0, "several", 1]
    assert found.by_cluster.tolist() == [[4, 0], [1, 2], [0, 2]]
    assert found.cluster_frame()[["users", "min_fraction"]].to_numpy().tolist() == [[2, 0.75], [2, 0.75]]
    assert found.use.tolist() == [5, 4]
    assert found.use.dtype == np.int64
    assert found.violations() == []


def test_nobody_is_served() -> None:
    for method in ("exact", "spanning", "relaxation", "greedy", "mixed_knapsack", "metagreedy", "vector_packing"):
        found = fb.virtual_cluster([9, 8], 0, [7], method=method)  # type: ignore[arg-type]
        assert found.cluster.tolist() == [TURNED_AWAY, TURNED_AWAY]
        assert found.min_fraction == 0
        assert np.isnan(found.served_fraction)
        assert found.slack.tolist() == [7]
        assert found.cluster_frame()["min_fraction"].isna().all()


def test_cost() -> None:
    found = named("relaxation")
    assert found.cost().tolist() == [2 * 4 + 1, 2 * 3 + 2, 3, 0]
    assert found.cost(5, 0.5).tolist() == [20.5, 16, 1.5, 0]
    assert found.cost(3, 3).tolist() == [15, 15, 9, 0]
    # the guaranteed part is (1 - k) alpha though the minimum is rounded up
    odd = fb.virtual_cluster([5, 5], 0.5, [6])
    assert odd.vms.tolist() == [3, 3]
    assert odd.cost(4, 1).tolist() == [2.5 * 4 + 0.5] * 2
    for given_, argument in (((-1, 0), "high"), ((1, 2), "low"), ((1, -1), "low")):
        with pytest.raises(fb.InvalidInput, match=f"^{argument} "):
            found.cost(*given_)


#: What is asked for and how, of whom, what is said.
EXPLAINED: list[tuple[tuple[Any, Any, Any], Any, int, str]] = [
    (
        ([10, 10], [0.1, 1], [12]),
        "exact",
        0,
        "user 0 has 9 of 10 VMs (90.0%) on cluster 0, its minimum: others there have a smaller fraction, and cluster 0 "
        "is used up.",
    ),
    (([10, 10], [0.1, 1], [12]), "exact", 1, "user 1 has 3 of 10 VMs (30.0%) on cluster 0, which is used up."),
    (([2], 0, [3]), "exact", 0, "user 0 has 2 of 2 VMs (100.0%): all that it asked for."),
    (([4, 4, 2], 0.5, [5, 4]), "spanning", 1, "user 1 has 3 of 4 VMs (75.0%) on several clusters, which are used up."),
    (
        ([5, 6], 0, [4, 4]),
        "spanning",
        1,
        "user 1 was turned away: it needs at least 6 VMs, and all clusters together have fewer to give, "
        "after the minima of the users that were served.",
    ),
    (
        ([5, 6], 0, [4, 5]),
        "greedy",
        1,
        "user 1 was turned away: it needs at least 6 VMs on one cluster, and no cluster has as many to give,"
        " after the minima "
        "of the users that were served.",
    ),
]


@pytest.mark.parametrize(("given_", "method", "user", "said"), EXPLAINED)
def test_explanations(given_: tuple[Any, Any, Any], method: Any, user: int, said: str) -> None:
    assert fb.virtual_cluster(*given_, method=method).explain(user) == said


def test_an_explanation_names_and_tells_what_is_not_handed_out() -> None:
    assert named("relaxation").explain("ann") == "ann has 5 of 8 VMs (62.5%) on north, which is used up."
    left = fb.virtual_cluster([8, 4], [0.25, 0.5], [7, 2], method="mixed_knapsack", small=0)
    assert left.explain(0) == (
        "user 0 has 6 of 8 VMs (75.0%) on cluster 0, where 1 VMs are free that mixed_knapsack does not hand out."
    )


def test_what_a_search_left_open_is_said() -> None:
    found = fb.virtual_cluster([11, 11, 15, 19, 3], 0.9, [9, 17], node_limit=1)
    said = "the search gave up after 0 nodes: at most 0.4 may be possible"
    assert (found.optimal, found.open_question, found.resources) == (False, said, (0, 1))
    assert [said in found.explain(i) for i in range(5)] == [False, False, False, True, False]
    assert said in repr(found)
    assert fb.virtual_cluster([11, 11, 15, 19, 3], 0.9, [9, 17]).open_question == ""


# ------------------------------------------------------------------------------------------------- violations


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"vms": [6, 5, 3, 0]}, ["cluster north holds 9 of 8 VMs"]),
        ({"cluster": [0, 0, 0, -1]}, ["cluster north holds 13 of 8 VMs"]),
        ({"vms": [3, 5, 5, 0]}, ["cat has 5 VMs, more than the 4 it wants", "ann has 3 VMs, fewer than its minimum 4"]),
        ({"vms": [4, 2, 4, 0]}, ["bob has 2 VMs, fewer than its minimum 3"]),
        ({"vms": [5, 5, -1, 0]}, ["cat has -1 VMs, fewer than its minimum 0"]),
        ({"vms": [5, 5, 3, 2]}, ["dan was turned away and has 2 VMs"]),
        ({"cluster": [0, 1, 2, -1]}, ["cluster west holds 3 of 0 VMs"]),
    ],
)
def test_violations_are_found(whole: bool, change: dict[str, Any], expected: list[str]) -> None:
    found = named("relaxation", whole=whole)
    sound = replace(found, vms=np.array([5, 5, 3, 0]).astype(found.vms.dtype), method="mixed_knapsack")
    assert sound.violations() == found.violations() == []
    assert whole or "not its fair part of north" in replace(sound, method="exact").violations()[0]
    changed = replace(
        sound, **{name: np.array(value).astype(getattr(found, name).dtype) for name, value in change.items()}
    )
    assert changed.violations() == expected


def test_violations_of_pieces_are_found() -> None:
    found = fb.virtual_cluster([4, 4, 2], 0.5, [5, 4], method="spanning")
    assert found.pieces is not None
    short = replace(found, pieces=found.pieces[1:])
    assert short.violations() == ["the pieces of 0 do not add up to its 4 VMs"]
    moved = found.pieces.copy()
    moved[moved[:, 1] == 1, 1] = 0
    assert replace(found, pieces=moved).violations() == ["cluster 0 holds 9 of 5 VMs"]
    fluid = fb.virtual_cluster([4, 4, 2], 0.5, [5, 4], method="spanning", whole=False)
    assert fluid.pieces is not None
    assert fluid.violations() == []
    assert len(replace(fluid, pieces=fluid.pieces * [1, 1, 1 - 1e-6]).violations()) == 3


def test_a_rounding_is_no_violation_and_a_part_of_a_vm_is() -> None:
    fluid = fb.virtual_cluster([10.0, 10], 0.5, [15], whole=False)
    assert replace(fluid, vms=fluid.vms * (1 + 1e-12)).violations() == []
    assert replace(fluid, vms=fluid.vms * (1 + 1e-7)).violations() != []
    assert replace(fluid, vms=fluid.vms * (1 + 1e-7)).violations(rtol=1e-6) == []
    assert replace(fluid, vms=np.array([np.nan, 1])).violations() != []
    billions = fb.virtual_cluster([10**9], 0, [10**9])
    assert replace(billions, vms=np.array([10**9 - 1])).violations(rtol=1e-3) != []  # whole VMs are counted
