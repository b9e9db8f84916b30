"""The forms that remember: pickled and restored they go on as if nothing had been; what is refused changes nothing."""

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairbook as fb
from tests.strategies import random_arrivals

DEMANDS = np.array([[1.0, 4.0], [3.0, 1.0], [2.0, 2.0]])
POOL = pd.Series([9.0, 18.0], ["cpu", "memory"])
USERS = ["ann", "bob", "cyd"]


def arrivals(n: int, m: int = 2, seed: int = 0) -> fb.DmfaSrq:
    pool = fb.DmfaSrq(m)
    demands, weights = random_arrivals(np.random.default_rng(seed), n, m, decades=1)
    for user in range(n):
        pool.arrive(user, demands[user], weights[user])
    for user in range(n // 4):
        pool.depart(user, "stays" if user % 2 else "leaves")
    return pool


def clusters(**rules: Any) -> fb.VirtualClusterPool:
    pool = fb.VirtualClusterPool(pd.Series({"north": 8, "south": 5}), **rules)
    for user, wanted, tolerance in (("ann", 8, 0.5), ("bob", 6, 0.25), ("cat", 4, 0.5), (4, 9, 0.0)):
        pool.arrive(user, wanted, tolerance)
    return pool


def more_arrivals(pool: fb.DmfaSrq) -> Any:
    found = [pool.arrive(100 + i, np.linspace(1, 1 / (i + 1), len(pool.resources)), 0.5 + i) for i in range(9)]
    for user in pool.users[::3]:
        pool.depart(user)
    return found, pool.tasks.tolist()


def more_clusters(pool: fb.VirtualClusterPool) -> Any:
    for user in pool.users[:1]:
        pool.depart(user)
    return [pool.arrive(user, 5, 0.4) for user in ("eve", "fay")], pool.state.to_frame().to_dict(), pool.taken_back


def in_a_phase() -> fb.CbDrf:
    pool = fb.CbDrf(USERS, POOL)
    pool.phase(DEMANDS)
    return pool


def more_phases(pool: Any) -> Any:
    return [pool.phase(DEMANDS[::-1]).tasks.tolist(), pool.credit.tolist()]


#: What is saved, and what goes on from there.
CASES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "DmfaSrq": (lambda: arrivals(12), more_arrivals),
    "DmfaSrq, many": (lambda: arrivals(40, 9, seed=1), more_arrivals),
    "DmfaSrq, empty": (lambda: fb.DmfaSrq(["cpu"]), more_arrivals),
    "CbDrf": (lambda: fb.CbDrf(USERS, POOL), more_phases),
    "CbDrf in a phase": (in_a_phase, lambda pool: (pool.release([1.0, 0.5, 0.1]), more_phases(pool))),
    "Karma": (lambda: fb.Karma(USERS, POOL), lambda pool: (more_phases(pool), more_phases(pool))),
    "VirtualClusterPool": (clusters, more_clusters),
    "VirtualClusterPool, printed": (lambda: clusters(give="tolerance", take="printed", pick="free"), more_clusters),
    "VirtualClusterPool, empty": (lambda: fb.VirtualClusterPool([8], take="reshare"), more_clusters),
}


@pytest.mark.parametrize("case", CASES)
def test_a_pickled_pool_goes_on_digit_for_digit(case: str) -> None:
    make, go_on = CASES[case]
    pool = make()
    again, twin = pickle.loads(pickle.dumps(pool)), copy.deepcopy(pool)
    assert (repr(again), again.users) == (repr(pool), pool.users)
    assert go_on(again) == go_on(pool) == go_on(twin)


FRAME = pd.DataFrame(DEMANDS, USERS, POOL.index)
WRONG = FRAME.rename({"ann": "zoe"}), FRAME.rename(columns={"cpu": "gpu"}), DEMANDS[:2], -DEMANDS, "x"
#: Events that are refused, each with the argument that is to blame.
MISUSE: dict[str, list[tuple[Callable[[Any], Any], str]]] = {
    "CbDrf": [*((lambda p, one=one: p.phase(one), "demands") for one in WRONG), (lambda p: p.release(1.0), "ratios")],
    "CbDrf in a phase": [
        (lambda p: p.phase(DEMANDS), "demands"),
        (lambda p: p.release(1.1), "ratios"),
        (lambda p: p.release(pd.Series([1, 1, 1], ["x", "y", "z"])), "ratios"),
        (lambda p: p.release(1.0, rho=np.ones((3, 2))), "rho"),
    ],
    "Karma": [
        *((lambda p, one=one: p.phase(one), "demands") for one in WRONG),
        *((lambda p, one=one: p.phase(DEMANDS, max_tasks=one), "max_tasks") for one in ([1, 1], [-1, 1, 1])),
    ],
    "DmfaSrq": [
        (lambda p: p.arrive("new", [1.0], 1.0), "demand"),
        (lambda p: p.arrive("new", [1.0, math.nan], 1.0), "demand"),
        (lambda p: p.arrive("new", [0.0, 0.0], 1.0), "demand"),
        (lambda p: p.arrive("new", [1.0, 1.0], 0.0), "weight"),
        (lambda p: p.arrive(["a"], [1.0, 1.0], 1.0), "user"),
        (lambda p: p.arrive(5, [1, 1], 1), "user"),
        (lambda p: p.depart("nobody"), "user"),
        (lambda p: p.depart(5, "goes"), "contribution"),
    ],
    "VirtualClusterPool": [
        (lambda p: p.arrive("ann", 1, 0), "user"),
        (lambda p: p.arrive(["new"], 1, 0), "user"),
        (lambda p: p.arrive("new", 1.5, 0), "max_vms"),
        (lambda p: p.arrive("new", 1, 2), "tolerance"),
        (lambda p: p.arrive("new", 1, None), "tolerance"),
        (lambda p: p.depart("eve"), "user"),
        (lambda p: p.depart((["ann"],)), "user"),
    ],
}


@pytest.mark.parametrize("case", MISUSE)
def test_misuse_changes_nothing(case: str) -> None:
    pool = CASES[case][0]()
    before = pickle.dumps(pool)
    for step, argument in MISUSE[case]:
        with pytest.raises(fb.InvalidInput) as caught:
            step(pool)
        assert caught.value.argument.startswith(argument), caught.value
        assert pickle.dumps(pool) == before
    CASES[case][1](pool)


@pytest.mark.parametrize(
    ("case", "names"),
    [
        ("DmfaSrq", "tasks levels slack"),
        ("VirtualClusterPool", "capacities"),
        ("CbDrf", "capacities credit"),
        ("Karma", "capacities credit"),
    ],
)
def test_what_is_read_cannot_change_it(case: str, names: str) -> None:
    pool = CASES[case][0]()
    before = pickle.dumps(pool)
    for name in names.split():
        array = getattr(pool, name)
        array *= 2
    assert pickle.dumps(pool) == before
