"""TV-DRF: fluid against exact fractions and linear programs, whole tasks against a plain loop, the paper's example."""

import math
import signal
import subprocess
import sys
import time
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import fairbook as fb
from book.common.oracle_drf import exact_tasks
from book.tv_drf.oracle import lexicographic_run
from fairbook.mechanisms.placing.nearest_machine import S as BLOCK
from fairbook.mechanisms.readings import READINGS
from fairbook.mechanisms.tv_drf import case, whole as tv_drf_whole
from fairbook.mechanisms.tv_drf.alone import coefficients
from fairbook.mechanisms.tv_drf.run import TvDrfRun
from fairbook.mechanisms.tv_drf.tv_drf import tv_drf
from tests.strategies import FEW, Periods, floats, periods

F = Fraction
METHODS, FATES = (READINGS["tv_drf"][name].values for name in ("method", "unserved"))
ACCOUNTS = st.sampled_from(["bundles", "resources"])


def fluid(case: Periods, alone: Any, unserved: Any) -> TvDrfRun:
    demands, tasks, parts = case.floats
    return tv_drf(demands, tasks, np.ones((1, case.m)), parts, method="lexicographic", alone=alone, unserved=unserved)


# ------------------------------------------------------------------------------------- fluid against its judges


@FEW
@given(periods(max_n=4, max_T=2), ACCOUNTS)
def test_fluid_equals_linear_programs(case: Periods, alone: str) -> None:
    demands, tasks, parts = case.floats
    run = fluid(case, alone, "expires")
    oracle = lexicographic_run(demands, tasks, np.ones((1, case.m)), parts[:, None], alone)
    positive = bool((demands > 0).all())
    assert np.allclose(run.alone, oracle.alone)
    if positive or not run.below_one.any():  # with zeros and beta out of reach the two rise differently
        assert np.allclose(run.tasks * demands.max(axis=2), oracle.tasks * demands.max(axis=2), atol=1e-5)


@FEW
@given(st.integers(0, 2**31), st.integers(1, 4), st.integers(1, 3), ACCOUNTS)
def test_programs_certify_their_rounds_on_machines_of_any_shape(seed: int, n: int, K: int, alone: str) -> None:
    rng = np.random.default_rng(seed)
    demands, machines = rng.uniform(0.1, 1, (2, n, 2)), rng.uniform(0.2, 1, (K, 2))
    parts = rng.dirichlet(np.ones(n), K).T
    oracle = lexicographic_run(demands, rng.uniform(0, 1.5, (2, n)), machines, parts, alone)
    for rounds in oracle.rounds:
        for one in rounds:
            assert one.bound == pytest.approx(one.value, abs=1e-6)
            assert one.prices.min() >= -1e-9
            assert one.user_prices.min() >= -1e-9
            assert len(one.fixed) > 0
    assert alone != "bundles" or (oracle.sharing_coefficients >= 1 - 1e-6).all()


def test_machines_of_one_shape_are_one_pool() -> None:
    rng = np.random.default_rng(3)
    demands, tasks = rng.uniform(0.1, 1, (3, 4, 2)), rng.uniform(0, 2, (3, 4))
    machines, parts = np.array([[1.0, 2.0], [0.5, 1.0], [3.0, 6.0]]), rng.dirichlet(np.ones(4), 3).T
    run = tv_drf(demands, tasks, machines, parts, method="lexicographic")
    assert np.allclose(run.tasks, lexicographic_run(demands, tasks, machines, parts).tasks, atol=1e-6)


# ------------------------------------------------------------------------------------------------- whole tasks


@pytest.mark.parametrize(("m", "unserved"), [(1, "waits"), (2, "expires"), (3, "waits")])
def test_many_machines_stand_in_blocks_and_nothing_changes(m: int, unserved: Any) -> None:
    # more machines than a block holds; powers of two; tasks that do not need the first resource, too
    rng = np.random.default_rng(m)
    demands = rng.choice([0.25, 0.5, 1.0, 2.0], (2, 4, m)) * (rng.random((2, 4, m)) < 0.8)
    demands[..., -1] = np.where((demands > 0).any(axis=2), demands[..., -1], 1.0)
    machines = np.array([rng.permutation([0.5] * 192 + [2.5] * 96) for _ in range(m)]).T
    assert len(machines) > BLOCK
    tasks, parts = rng.integers(40, 80, (2, 4)), [0.25] * 4
    given_: Any = {"unserved": unserved, "placement": True}
    run, plain = (tv_drf(demands, tasks, machines, parts, **given_, engine=one) for one in ("fast", "plain"))  # type: ignore[arg-type]
    for name in ("placement", "alone", "cumulative_shares", "sharing_coefficients", "below_one"):
        assert np.allclose(getattr(run, name), getattr(plain, name), rtol=1e-12, atol=1e-12), name
    assert run.violations() == []


def test_long_queues_of_large_and_tiny_groups_lose_nothing() -> None:
    rng = np.random.default_rng(0)
    demands, tasks = rng.uniform(0.1, 1, (60, 8, 2)), rng.uniform(0, 4, (60, 8))
    demands *= 10.0 ** rng.integers(-5, 1, (60, 8, 1))
    run = tv_drf(demands, tasks, [[1, 1]], np.full(8, 1 / 8), method="lexicographic", unserved="waits")
    assert run.violations() == []
    assert run.sharing_coefficients.min() >= 1 - 1e-9
    assert np.allclose(run.tasks.sum(axis=0) + run.unserved[-1], tasks.sum(axis=0), rtol=1e-12)


# --------------------------------------------------------------------------------------------------- by hand

HALVES, TURN = [0.5, 0.5], ([[[0.5, 0.25]], [[0.25, 0.5]]], [[3], [2]], [[1, 1]], [1])
SPLIT = [[[1, 1], [2, 1]]], [[3, 1]], [[3, 3]], HALVES
FLUID, WHOLE, WAITS = {"method": "lexicographic"}, {"alone": "whole_bundles"}, {"unserved": "waits"}
#: What happens, what is passed, options, what comes out.
BY_HAND: dict[str, tuple[tuple[Any, Any, Any, Any], dict[str, Any], dict[str, Any]]] = {
    # with the memory, and what else the figures need, in the claims about the example
    **{
        f"the example of the paper, {method}": (
            ([[[2, 1], [1, 1]], [[5, 5], [20, 10]]], [[15, 70], [12, 4]], [[50, 50], [50, 50]], [[1, 0], [0, 1]]),
            {"alone": "resources", "method": method},
            {
                "tasks": [[15, 70], [12, 2]],
                "use": [[100, 85], [100, 80]],
                "sharing_coefficients": [[1, 1.4], [1.125, 1]],
            },
        )
        for method in METHODS
    },
    # the task of period 3 must start in period 3, alone and in the pool
    **{
        f"three times a third is one, {method}": (
            ([[[3, 0]], [[3, 0]], [[0, 1]]], [[1], [0], [1]], [[1, 1]], [1]),
            {"method": method, "unserved": "waits"},
            {"alone": [[[1, 0]], [[1, 0]], [[1, 1]]]},
        )
        for method in METHODS
    },
    "twice a third of two is no queue": (
        ([[[3, 0], [1, 1]]] * 2 + [[[0, 1], [1, 2]]], [[1, 0], [0, 0], [1, 9]], [[2, 2]], HALVES),
        FLUID | WAITS,
        {"tasks": [[2 / 3, 0], [1 / 3, 0], [1, 0.5]]},
    ),
    # the whole of the first resource in three periods, and of the second from the third one on
    "a queue ends where another resource begins": (
        ([[[3, 0]], [[0, 2]], [[0, 0]]], [[1], [2], [0]], [[1, 1]], [1]),
        FLUID | WAITS | {"alone": "resources"},
        {"tasks": [[1 / 3], [1 / 3], [1 / 3 + 1 / 2]]},
    ),
    "without bounds it is DRF": (
        ([[[1, 4], [3, 1]]], [[math.inf] * 2], [[9, 18]], HALVES),
        FLUID,
        {"tasks": [[3, 2]], "unserved": [[math.inf] * 2]},
    ),
    "in whole tasks, too": (([[[1, 4], [3, 1]]], [[math.inf] * 2], [[9, 18]], HALVES), WHOLE, {"tasks": [[3, 2]]}),
    # whoever had all of the first period is owed its half of the second like the other; weights are for the rest
    **{
        f"without memory the first period is forgotten, {method}": (
            ([[[1], [1]]] * 2, [[10, 0], [10, 10]], [[10]], HALVES),
            {"memory": False, "weights": [1, 9], "method": method},
            {"tasks": [[10, 0], [5, 5]]},
        )
        for method in METHODS
    },
    "with memory it is not": (
        ([[[1], [1]]] * 2, [[10, 0], [10, 10]], [[10]], HALVES),
        {"weights": [1, 9]},
        {"tasks": [[10, 0], [0, 10]]},
    ),
    "more tasks than anyone could run": (([[[2, 1]]], [[10**9]], [[1, 1]], [1]), {}, {"bottlenecks": [[0]]}),
    "of many small ones few are no rounding error": (
        ([[[2.0**-23]]], [[2**23 + 1000]], [[1]], [1]),
        FLUID,
        {"tasks": [[2**23]], "unserved": [[1000]]},
    ),
    "they wait": (
        ([[[1, 1]]] * 3, [[10**9]] * 3, [[1, 1]], [1]),
        WAITS,
        {"tasks": [[1]] * 3, "unserved": [[10**9 - 1], [2 * 10**9 - 2], [3 * 10**9 - 3]]},
    ),
    **{
        f"nobody has a task, {method}": (
            ([[[1.0]]], [[0]], [[1]], [1]),
            {"method": method},
            {"tasks": [[0]], "bottlenecks": [[-3]], "sharing_coefficients": [[1]]},
        )
        for method in METHODS
    },
    "ten tenths fill a machine": (
        ([[[0.1, 0.1]]], [[11]], [[1, 1]], [[1]]),
        {},
        {"tasks": [[10]], "bottlenecks": [[0]]},
    ),
    "a task that lacks the ten thousand millionth part does not fit": (
        ([[[0.25 + 1e-11]]], [[4]], [[1]], [1]),
        {},
        {"tasks": [[3]], "bottlenecks": [[0]]},
    ),
    "and so do many small ones": (([[[1e-5]]], [[10**6]], [[1]], [[1]]), {}, {"tasks": [[10**5]]}),
    "best fit takes the machine of the same shape": (
        ([[[0.25, 1], [1, 0.25], [1, 1]]], [[1, 1, 1]], [[1, 4], [4, 1], [2, 2]], [1 / 3] * 3),
        {"placement": True},
        {"placement": [[[1, 0, 0], [0, 1, 0], [0, 0, 1]]]},
    ),
    "machines alike in order": (
        ([[[1, 1]]], [[3]], np.full((4, 2), 1.5), [1]),
        {"placement": True},
        {"placement": [[[1, 1, 1, 0]]]},
    ),
    # the old one, then one of the new: (3/4, 3/4)
    "waiting tasks keep demand and turn": (
        TURN,
        WAITS,
        {"tasks": [[2], [2]], "unserved": [[1], [1]], "amounts": [[[1, 0.5]], [[0.75, 0.75]]]},
    ),
    "expired tasks are gone": (
        TURN,
        {},
        {"tasks": [[2], [2]], "amounts": [[[1, 0.5]], [[0.5, 1]]], "unserved": [[1], [0]]},
    ),
    **{
        f"who is alone has what it would have alone, {fate}": (
            TURN,
            FLUID | {"unserved": fate},
            {"sharing_coefficients": [[1], [1]]},
        )
        for fate in FATES
    },
    "beta of 0/0 is 1": (
        ([[[1, 0], [1, 1]], [[1, 1], [1, 1]]], [[0, 1], [1, 1]], [[2, 2]], HALVES),
        FLUID,
        {"sharing_coefficients": [[1, 1], [1, 1]], "bottlenecks": [[-3, -1], [-1, -1]]},
    ),
    "of a guest it is infinite": (
        ([[[1], [1]]], [[1, 1]], [[2]], [1, 0]),
        FLUID | {"weights": [1, 1]},
        {"sharing_coefficients": [[1, math.inf]]},
    ),
    "of a guest without tasks it is 1": (
        ([[[1], [1]]], [[1, 0]], [[2]], [1, 0]),
        {"weights": [1, 1]},
        {"sharing_coefficients": [[1, 1]]},
    ),
    # the floor of the second period is what is left of the first group but for rounding, before a group of 3 tasks
    "who owns all has all that it would have alone": (
        ([[[0, 8], [0.1, 0.2]], [[500, 0.01], [0.1, 2]]], [[1, 2], [2, 3]], [[16, 7]], [1, 0]),
        FLUID | WAITS | {"weights": [1, 1]},
        {"tasks": [[0.875, 0], [0.157, 0]], "sharing_coefficients": [[1, 1], [1, 1]], "below_one": [False, False]},
    ),
    "and who owns half": (
        ([[[0, 3], [0, 0.7]], [[16, 3], [1000, 0.2]]], [[2, 3], [5, 3]], [[1, 8]], HALVES),
        FLUID | WAITS,
        {"sharing_coefficients": [[1.475, 1], [1, 1]], "below_one": [False, False]},
    ),
    "a coefficient of 1 is not below 1": (
        ([[[0.1, 2]], [[16, 0.002]]], [[20], [20]], [[2, 4]], [1]),
        FLUID,
        {"sharing_coefficients": [[1], [1]], "below_one": [False, False]},
    ),
    # the second user lacks CPU, and its next task needs none: it runs this quarter, and then a twelfth of what it owned
    "who is worst off runs tasks that do not help, for those behind them": (
        ([[[0, 2], [0, 2]], [[2, 1], [1, 3]]], [[2, 1], [0, 3]], [[8, 2]], [0.75, 0.25]),
        FLUID | WAITS | {"alone": "resources"},
        {"sharing_coefficients": [[1, 1], [0.5, 1 / 12]], "tasks": [[0.75, 0.25], [0, 11 / 12]]},
    ),
    # which the next one needs; so far it ran what needs memory alone
    "a resource stops who has used none of it": (
        ([[[0, 0], [0, 2]], [[1, 0], [1, 0]]], [[0, 1], [5, 5]], [[1, 1]], HALVES),
        FLUID | WAITS,
        {"tasks": [[0, 0.5], [1, 0.5]], "bottlenecks": [[-3, 1], [0, 0]]},
    ),
    # both have 0 of the CPU that they owned, each first needs 3/4 of all memory
    "where one can pass it is the first": (
        ([[[1, 0], [1, 0]], [[0, 3], [0, 3]], [[1, 1], [1, 1]]], [[0, 0], [1, 1], [1, 1]], [[4, 4]], HALVES),
        FLUID | WAITS | {"alone": "resources", "memory": False},
        {"tasks": [[0, 0], [2 / 3, 2 / 3], [1 / 3 + 1, 1 / 3 + 1]]},
    ),
    # alone it could run one task, (1, 1/2); of memory by itself it "would have had" 1
    "resources can ask for more than the pool": (
        ([[[1, 0.5]]], [[2]], [[1, 1]], [1]),
        FLUID | {"alone": "resources"},
        {"below_one": [True], "sharing_coefficients": [[0.5]]},
    ),
    "bundles cannot": (([[[1, 0.5]]], [[2]], [[1, 1]], [1]), FLUID, {"sharing_coefficients": [[1]]}),
    # both lack memory; the first can have at most 1/2 of what it lacks per CPU, the second more
    "below one the worst off come first": (
        ([[[1, 0.5], [1, 0.25]]], [[2, 2]], [[1, 1]], HALVES),
        FLUID | {"alone": "resources"},
        {"tasks": [[1 / 3, 2 / 3]], "sharing_coefficients": [[1 / 3, 1 / 3]]},
    ),
    # alone each could run 3/4 of a task
    "whole tasks can break sharing incentive": (
        ([[[2], [2]]], [[1, 1]], [[3]], HALVES),
        {},
        {"tasks": [[1, 0]], "below_one": [True]},
    ),
    "not where alone they are whole, too": (([[[2], [2]]], [[1, 1]], [[3]], HALVES), WHOLE, {"below_one": [False]}),
    "an honest user": (SPLIT, WHOLE, {"tasks": [[1, 1]]}),
    "a lie gives room for two true tasks": (([[[2, 2], [2, 1]]], *SPLIT[1:]), WHOLE, {"amounts": [[[2, 2], [0, 0]]]}),
    # the first user's task leaves no room, and the second goes on with what the first cannot use
    "whole tasks, more than one from the fluid": (
        ([[[1, 3], [1, 1]]], [[5, 5]], [[3, 3]], HALVES),
        WHOLE,
        {"tasks": [[0, 3]]},
    ),
    "the fluid": (([[[1, 3], [1, 1]]], [[5, 5]], [[3, 3]], HALVES), FLUID, {"tasks": [[0.5, 1.5]]}),
    # 2 units are left, one on each machine
    "machines split what a user could run alone": (
        ([[[3], [2]]], [[2, 3]], [[6], [6]], [[1, 0], [0, 1]]),
        WHOLE | {"placement": True},
        {"placement": [[[1, 1], [1, 1]]], "sharing_coefficients": [[1, 2 / 3]], "bottlenecks": [[-1, -2]]},
    ),
    "whole tasks stop before a resource is used up": (
        ([[[2, 1], [2, 1]]], [[1, 1]], [[3, 10]], HALVES),
        WHOLE,
        {"tasks": [[1, 0]], "use": [[2, 1]], "bottlenecks": [[-1, 0]], "slack": [[1, 9]]},
    ),
}


def run_by_hand(what: str) -> TvDrfRun:
    given_, options, _ = BY_HAND[what]
    return tv_drf(*given_, **options)


@pytest.mark.parametrize("what", BY_HAND)
def test_by_hand(what: str) -> None:
    run = run_by_hand(what)
    assert run.violations() == []
    for name, value in BY_HAND[what][2].items():
        np.testing.assert_allclose(getattr(run, name), value, rtol=1e-12, atol=1e-12, err_msg=name)
    assert all(run.at(t).violations() == [] for t in range(len(run)))


@pytest.mark.parametrize(
    ("what", "user", "told", "of_the_period"),
    [
        ("machines split what a user could run alone", 1, "fits on no machine", "no room for its next task"),
        (
            "whole tasks stop before a resource is used up",
            1,
            "0 tasks in period 0: the next needs more resource 0 than is left.",
            "1 runs 0 tasks: there is no room for its next task.",
        ),
        (
            "whole tasks stop before a resource is used up",
            0,
            "it has no more",
            "0 runs 1 tasks: its own bound stops it.",
        ),
        ("the fluid", 1, "resource 1 is used up", "1, which it needs, is used up"),
        ("nobody has a task, heuristic", 0, "0 has no tasks in period 0.", "its own bound stops it"),
    ],
)
def test_explanations(what: str, user: int, told: str, of_the_period: str) -> None:
    run = run_by_hand(what)
    assert told in run.explain(user, 0)
    assert run.explain(user) == run.explain(user, 0)  # by default the last period
    assert of_the_period in run.at(0).explain(user)


# ------------------------------------------------------------------------------------------------ names and input


def test_names_are_kept_and_matched() -> None:
    users, resources, hosts = ["ann", "bob"], ["cpu", "memory"], ["left", "right"]
    frames = [pd.DataFrame(rows, users, resources) for rows in ([[2.0, 1.0], [1.0, 1.0]], [[5.0, 5.0], [20.0, 10.0]])]
    tasks = pd.DataFrame([[15, 70], [12, 40]], columns=users)
    machines = pd.DataFrame([[50.0, 50.0], [100, 100]], hosts, resources)
    parts = pd.DataFrame([[1, 0], [0, 1]], users, hosts)
    run = tv_drf(frames, tasks, machines, parts, placement=True)
    mixed = tv_drf(frames, tasks[users[::-1]], machines[resources[::-1]], parts.loc[users[::-1], hosts[::-1]])
    assert mixed.tasks.tolist() == run.tasks.tolist()
    assert mixed.contributions.tolist() == run.contributions.tolist() == [[1, 0], [0, 1]]
    assert (run.users, run.resources, run.named_machines) == (("ann", "bob"), ("cpu", "memory"), ("left", "right"))
    assert run.at(1).users == run.users
    with pytest.raises(fb.InvalidInput, match=r"^contributions.columns must not name machines that have no names"):
        tv_drf(frames, tasks, machines.to_numpy(), parts)
    placed = run.placement_frame()["tasks"]
    there = np.argwhere(run.placement)
    assert placed.to_dict() == {(t, users[i], hosts[k]): run.placement[t, i, k] for t, i, k in there}
    with pytest.raises(fb.InvalidInput, match=r"^placement must be True"):
        mixed.placement_frame()
    frame = run.to_frame()
    assert frame["sharing_coefficient"].tolist() == run.sharing_coefficients.ravel().tolist()
    assert {"own bound", "cpu"} <= set(frame["bottleneck"])


GOOD: dict[str, Any] = {
    "demands": np.ones((2, 2, 2)),
    "tasks": np.ones((2, 2)),
    "machines": [[4, 4]],
    "contributions": [[0.5], [0.5]],
}
#: What only TV-DRF asks for.
BAD: list[tuple[dict[str, Any], str]] = [
    ({"demands": [pd.DataFrame([[1]]), pd.DataFrame([[1]], index=["a"])]}, "demands[1].index"),
    ({"tasks": np.ones((1, 2))}, "tasks"),
    ({"tasks": [[1, 1], [0.5, 1]]}, "tasks[1, 0]"),
    ({"tasks": [[1, math.inf], [1, 1]], "unserved": "waits"}, "tasks[0, 1]"),
    ({"tasks": [[1, 1e80], [1, 1]]}, "tasks[0, 1]"),
    ({"demands": [[[0, 0], [1, 1]], [[1, 1], [1, 1]]]}, "tasks[0, 0]"),
    ({"demands": [[[0, 0], [1, 1]], [[1, 1], [1, 1]]], "tasks": [[math.inf, 1], [1, 1]]}, "tasks[0, 0]"),
    ({"machines": [[4]]}, "machines"),
    ({"machines": [[0, 0], [1, 1]], "contributions": [0.5, 0.5]}, "machines[0]"),
    ({"contributions": [[0.5], [0.4]]}, "contributions"),
    ({"contributions": [[1.5], [-0.5]]}, "contributions[1, 0]"),
    ({"contributions": [0.5]}, "contributions"),
    ({"contributions": [[1], [0]]}, "contributions[1]"),
    ({"method": "lexicographic", "machines": [[1, 2], [2, 1]], "contributions": [0.5, 0.5]}, "machines"),
]


@pytest.mark.parametrize(("changed", "where"), BAD)
def test_bad_input_is_named(changed: dict[str, Any], where: str) -> None:
    with pytest.raises(fb.InvalidInput) as caught:
        tv_drf(**{**GOOD, **changed})
    assert caught.value.where == where, caught.value


ARRAYS = [f.name for f in fields(TvDrfRun) if "ndarray" in str(f.type).lower() or "Array" in str(f.type)]


def overloaded(method: Any, unserved: Any) -> TvDrfRun:
    """Three periods with queues, two resources, users of unlike parts, of whom one has no tasks once."""
    demands = [[[2, 1], [1, 2], [1, 1]], [[1, 3], [2, 2], [1, 1]], [[1, 1], [2, 1], [3, 1]]]
    run = tv_drf(
        demands,
        [[9, 4, 2], [5, 5, 0], [2, 3, 4]],
        [[8, 8], [6, 6]],
        [0.5, 0.25, 0.25],
        method=method,
        unserved=unserved,
        placement=method == "heuristic",
    )
    assert (run.unserved > 0).any()
    assert run.violations() == []
    return run


@pytest.mark.parametrize("field", ARRAYS)
@pytest.mark.parametrize("unserved", ["expires", "waits"])
@pytest.mark.parametrize("method", ["heuristic", "lexicographic"])
def test_violations_can_fail(method: str, unserved: str, field: str) -> None:
    run = overloaded(method, unserved)
    values = getattr(run, field)
    if values is None:
        assert method == "lexicographic"
        return
    each = np.eye(values.size, dtype=bool).reshape(-1, *values.shape)
    if values.dtype.kind == "f":
        changes = [values * 1.01, -values, *np.where(each, math.nan, values)]
    else:
        changes = [*np.where(each, ~values, values)] if values.dtype == bool else [values + 1, values - 1]
    for changed in changes:
        assert replace(run, **{field: changed}).violations() != [], changed


@pytest.mark.parametrize(
    ("what", "changed", "told"),
    [
        (
            "three times a third is one, heuristic",
            {"alone": np.array([[[1.0, 0]], [[1, 0]], [[1, 0]]])},
            "amounts alone do not follow from the queue and the own parts in period 2",
        ),
        (
            "a queue ends where another resource begins",
            {
                "tasks": np.full((3, 1), 1 / 3),
                "unserved": np.array([[2 / 3], [7 / 3], [2]]),
                "amounts": np.array([[[1.0, 0]]] * 3),
                "bottlenecks": np.zeros((3, 1), dtype=np.int64),
            },
            "next task does not need it",
        ),
        # the task of period 2, in period 2, while one of period 1 waits
        (
            "waiting tasks keep demand and turn",
            dict.fromkeys(("amounts", "machine_use"), np.array([[[1, 0.5]], [[0.5, 1]]])),
            "amounts do not follow from the tasks in period 1",
        ),
    ],
)
def test_violations_see_what_a_queue_does_not_do(what: str, changed: dict[str, Any], told: str) -> None:
    assert any(told in text for text in replace(run_by_hand(what), **changed).violations())


@pytest.mark.parametrize("stop", [-4, -3, -2, -1, 0, 1, 2])
@pytest.mark.parametrize("method", ["heuristic", "lexicographic"])
def test_violations_see_wrong_reasons(method: str, stop: int) -> None:
    run = overloaded(method, "waits")
    assert replace(run, bottlenecks=np.full_like(run.bottlenecks, stop)).violations() != []


@pytest.mark.parametrize(
    "what",
    ["they wait", "nobody has a task, heuristic", "who is alone has what it would have alone, waits", "bundles cannot"],
)
def test_where_doubles_lose_nothing_nothing_is_allowed_for(what: str) -> None:
    assert run_by_hand(what).violations(0) == []


def test_violations_see_a_machine_overdrawn_beside_one_with_room() -> None:
    run, placed = run_by_hand("machines alike in order"), np.array([[[2, 1, 0, 0]]], dtype=np.int32)
    moved = replace(run, placement=placed, machine_use=placed[0][..., None] * np.ones(2))
    assert moved.violations() == ["a machine is overdrawn in period 0"]


def test_violations_see_that_there_is_nothing_of_a_resource() -> None:
    run = run_by_hand("machines alike in order")
    assert replace(run, machines=run.machines * [1, 0]).violations() == ["there is nothing of some resource"]


def test_violations_see_less_than_alone() -> None:
    run = run_by_hand("who owns all has all that it would have alone")
    ran = np.array([[0.875, 0], [0.075, 5]])  # the second user has taken nearly all
    amounts = np.array([[[0, 7], [0, 0]], [[0, 0.6], [0.5, 6.4]]])
    told = replace(run, tasks=ran, amounts=amounts, sharing_coefficients=coefficients(amounts, run.alone))
    assert "someone has less than it would have had alone in period 1" in told.violations()


@pytest.mark.parametrize("unserved", FATES)
@pytest.mark.parametrize("alone", ["bundles", "resources"])
def test_floors_of_a_backlog_that_never_ends(alone: Any, unserved: Any) -> None:
    # of 10^70 tasks a double keeps no single one; the first user is behind in G and may not have it all
    demands = [[[1, 1], [1, 1]]] * 3
    given_: Any = {"method": "lexicographic", "weights": [1e6, 1], "alone": alone, "unserved": unserved}
    run = tv_drf(demands, [[1e70, 1e70]] * 3, [[4, 4]], HALVES, **given_)
    assert np.allclose(run.sharing_coefficients, 1)
    assert run.violations() == []


def test_what_is_too_far_apart_for_doubles_is_refused_and_right_in_fractions() -> None:
    """Three users leave 7 10^-14 of the second resource, of which a task of the fourth takes 10^-13."""
    data: Any = [[[0, 1]] * 3 + [[1, 1e-13]]], [[0.3, 0.3, 0.4 - 0.7e-13, 9]], [[1, 1]], [0.25] * 4
    with pytest.raises(fb.InvalidInput, match=r'^weights and demands must not lie .*engine="plain"'):
        tv_drf(*data, method="lexicographic")
    run = tv_drf(*data, method="lexicographic", engine="plain")
    assert np.allclose(run.tasks[0], floats(exact_tasks(data[0][0], [1] * 4, [1, 1], data[1][0])), rtol=1e-12)
    assert run.tasks[0, 3] == pytest.approx(0.7, abs=1e-3)
    assert run.violations() == []


def test_an_interrupt_is_heard() -> None:
    code = (
        "import signal, fairbook as fb\nfrom fairbook import kernels\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a job in the background may ignore it
        "kernels.MOST = 0\nrun = lambda tasks: fb.tv_drf([[[1e-6]]], [[tasks]], [[1000]], [1])\n"
        "run(5)\nprint('compiled', flush=True)\nrun(9e8)\n"  # for minutes
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "compiled\n"
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in process.communicate(timeout=40)[1]
    finally:
        process.kill()


def test_tasks_that_no_pool_could_hold_wait_for_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tv_drf_whole.hand_out, "_taken", 0.0)
    run = tv_drf([[[2, 1], [1, 1]]], [[1e6, math.inf]], [[50, 50]], [0.5, 0.5])
    assert run.tasks.tolist() == [[13, 24]]
    assert 0 < tv_drf_whole.hand_out._taken < 1000


def test_more_whole_tasks_than_can_be_handed_out_one_by_one() -> None:
    for unserved in ("expires", "waits"):
        with pytest.raises(fb.InvalidInput, match=r"^tasks .*lexicographic.*3e\+09"):
            tv_drf([[[1e-9, 1e-10]]] * 3, [[10**10]] * 3, [[1, 0.1]], [1], unserved=unserved)  # type: ignore[arg-type]
    # many users who each could fill the pool together run no more than one could
    many = tv_drf(np.full((1, 2000, 1), 1e-6), np.full((1, 2000), math.inf), [[0.01]], np.full(2000, 1 / 2000))
    assert many.tasks.sum() == 10_000
    with pytest.raises(fb.InvalidInput, match=r"^placement must be False"):
        tv_drf(np.ones((10_000, 1, 1)), np.ones((10_000, 1)), np.ones((100_001, 1)), [1], placement=True)
    with pytest.raises(fb.InvalidInput, match=r"^placement must be False .*one pool"):
        tv_drf([[[1]]], [[1]], [[1]], [1], method="lexicographic", placement=True)


def test_as_many_tasks_and_numbers_as_can_be_kept_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case, "MOST", 6.0)
    assert tv_drf([[[1]]], [[6]], [[1]] * 6, [1], placement=True).tasks.tolist() == [[6]]
    with pytest.raises(fb.InvalidInput, match=r"^placement must be False"):
        tv_drf([[[1]]], [[6]], [[1]] * 7, [1], placement=True)


def test_what_users_would_have_alone_is_exact_where_tasks_may_be_divided() -> None:
    """The room that whole tasks may take beyond a part is none of divisible ones."""
    run = fb.tv_drf([[[1.0], [1.0]]], [[2, 2]], [[2]], [[0.5], [0.5]], alone="bundles", engine="plain")
    assert run.alone.tolist() == [[[1.0], [1.0]]]
    assert run.below_one.tolist() == [False]


@pytest.mark.parametrize("engine", ["fast", "plain"])
def test_beta_stops_at_one_and_who_has_next_to_nothing_loses_no_digits(engine: Any) -> None:
    given: dict[str, Any] = {"method": "lexicographic", "alone": "resources", "engine": engine}
    third = [1 / 3] * 3
    run = tv_drf([[[1]] * 3], [[1, 100, 100]], [[15]], third, weights=[0.1, 0.8, 0.1], **given)
    assert run.tasks == pytest.approx(np.array([[1, 9, 5]]), rel=1e-12)
    far = [[[5e-3, 500], [700, 3e-3], [0.2, 0.03]], [[0, 1], [8, 0.5], [60, 3]], [[0, 1], [10, 900], [4, 20]]]
    tasks = [[5, 11, 6], [13, 6, 0], [9, 7, 2]]
    run = tv_drf(far, tasks, [[8, 8]], third, unserved="waits", memory=False, **given)
    assert run.tasks[2, 0] == pytest.approx(6.856946938775e-8, rel=1e-9)


@pytest.mark.parametrize("engine", ["fast", "plain"])
def test_who_brought_nothing_takes_no_rounding_error(engine: Any) -> None:
    demands = [[[0.03, 10, 9], [40, 900, 0.09]], [[0.07, 60, 0.008], [0.002, 0.09, 0.8]]]
    given: dict[str, Any] = {"weights": [1, 1], "unserved": "waits", "method": "lexicographic", "engine": engine}
    run = tv_drf(demands, [[4, 11], [10, 13]], [[56, 34, 36]], [1, 0], **given)
    assert (run.tasks[:, 1] == 0).all()
    assert run.sharing_coefficients == pytest.approx(1)
