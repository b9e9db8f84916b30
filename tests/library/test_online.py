"""DmfaSrq: one arrival at a time as all together, departures, saving and restoring."""

from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairbook as fb
from book.dmfa_srq.properties import with_departures
from fairbook.mechanisms.pool.dmfa_srq import dmfa_srq_rule
from tests.judges import pool as judges
from tests.strategies import floats, random_arrivals


def check(pool: fb.DmfaSrq, rtol: float = 1e-9) -> None:
    """Hold what is promised after every event."""
    levels, capacity = pool.levels, pool.capacity
    demands = pool._demands[: len(pool)]
    use = pool.tasks @ demands
    assert (use <= capacity * (1 + rtol)).all()
    assert np.allclose(capacity - use, pool.slack, rtol=0, atol=capacity * rtol)
    assert (pool.slack >= 0).all()
    if len(pool):
        assert (levels >= 1 - rtol).all()
        assert (np.diff(levels) <= 0).all()
        assert pool.level == levels[-1] == levels.min()
        assert (pool.slack == 0).any()  # the rise went on until some resource was used up: exactly, not up to rounding


# ----------------------------------------------------------------------------------------------------- arrivals


@pytest.mark.parametrize("m", [1, 3, 8, 9])
def test_equals_the_batch_as_it_grows(m: int) -> None:
    demands, weights = random_arrivals(np.random.default_rng(m), 300, m, decades=6, zeros=0.3)
    pool = fb.DmfaSrq(m)
    levels = [pool.arrive(k, demands[k], weights[k]) for k in range(len(weights))]
    assert levels == fb.dmfa_srq(demands, weights=weights).lowest.tolist()
    assert len(pool) == 300
    assert repr(pool).startswith("DmfaSrq(300 users")


def test_names() -> None:
    pool = fb.DmfaSrq(["cpu", "memory"])
    pool.arrive("ann", [1, 1 / 2], 1 / 4)
    pool.arrive(1, pd.Series([1.0, 0.5], ["memory", "cpu"]), 1 / 4)  # in the order of the resources' names
    pool.arrive(("c", 3), [1 / 2, 1], 1 / 2)
    assert pool.users == ("ann", 1, ("c", 3))
    assert pool.resources == ("cpu", "memory")
    assert np.allclose(pool.tasks, [1 / 3, 1 / 3, 1 / 2])
    assert pool.allocation().users == pool.users
    assert pool.allocation().to_frame().index.tolist() == list(pool.users)
    with pytest.raises(fb.InvalidInput, match="user must not be present already, got 'ann'"):
        pool.arrive("ann", [1, 1], 1)
    pool.depart("ann")
    pool.arrive("ann", [1, 1], 1)


def test_empty_pool() -> None:
    pool = fb.DmfaSrq(2)
    assert (len(pool), pool.capacity, pool.tasks.tolist(), pool.levels.tolist()) == (0, 0, [], [])
    for ask in (lambda: pool.level, pool.allocation, lambda: pool.depart(0)):
        with pytest.raises(fb.InvalidInput):
            ask()


# --------------------------------------------------------------------------------------------------- departures


@pytest.mark.parametrize("contribution", ["leaves", "stays"])
def test_departures_and_their_judge_agree(contribution: Any) -> None:
    for seed in range(60):
        rng = Random(seed)
        n, m = rng.randint(1, 5), rng.randint(1, 3)
        demands = [
            [Fraction(rng.choice((1, 3)) * (j == i % m) + rng.randint(0, 2)) for j in range(m)] for i in range(n)
        ]
        weights, events = (
            [Fraction(rng.randint(1, 6), rng.randint(1, 6)) for _ in range(n)],
            rng.choices(range(n), k=3 * n),
        )
        levels = judges.of_events(demands, weights, events, contribution)
        rule = dmfa_srq_rule(demands, weights=weights, events=events, contribution=contribution)
        assert [after for *_, after in rule] == levels
        unit = [w / max(row) for row, w in zip(demands, weights, strict=True)]
        table = with_departures(events, contribution)(floats(demands), floats(weights)).table  # DmfaSrq
        assert np.allclose(
            table, [[float(after.get(i, 0) * unit[i]) for i in range(n)] for after in levels], atol=1e-12
        )


def test_last_user_leaves_an_empty_pool_and_what_stays() -> None:
    for contribution, capacity in (("leaves", 0.0), ("stays", 2.0)):
        pool = fb.DmfaSrq(2)
        pool.arrive(0, [1, 1], 2.0)
        pool.depart(0, contribution)  # type: ignore[arg-type]
        assert (len(pool), pool.capacity, pool.slack.tolist()) == (0, capacity, [capacity] * 2)
        assert pool.arrive("new", [1, 0.5], 1.0) == 1 + capacity
    assert dmfa_srq_rule([[1]], weights=[1], events=[0, 0])[-1] == (0, -1, {})


@pytest.mark.parametrize(("m", "decades", "zeros"), [(2, 0, 0.0), (3, 2, 0.0), (2, 6, 0.3), (9, 1, 0.2)])
def test_ten_thousand_events(m: int, decades: float, zeros: float) -> None:
    events, target = (10_000, 60) if m == 2 and not decades else (2_000, 60)
    rng = np.random.default_rng(m)
    demands, weights = random_arrivals(rng, events, m, decades=decades, zeros=zeros)
    pool = fb.DmfaSrq(m)
    for event in range(events):
        if len(pool) and rng.random() < len(pool) / (2 * target):
            user = pool.users[rng.integers(len(pool))]
            before = dict(zip(pool.users, pool.levels.tolist(), strict=True))
            stays = rng.random() < 0.3
            pool.depart(user, "stays" if stays else "leaves")
            if stays:  # nobody loses, not even by rounding
                assert all(level >= before[name] for name, level in zip(pool.users, pool.levels.tolist(), strict=True))
        else:
            levels = pool.levels
            pool.arrive(event, demands[event], weights[event])
            assert (pool.levels[:-1] >= levels).all()
        check(pool)
