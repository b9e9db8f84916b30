"""The one filling against a naive loop from event to event, in fractions and in doubles; and a mechanism made of it."""

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import fairbook as fb
from fairbook.filling import fill, filled
from fairbook.model.allocation import Words
from tests.strategies import REPEATABLE, Instance, instances

ROOM = st.one_of(st.none(), st.fractions(0, 5, max_denominator=6))


def from_event_to_event(need: Any, begin: Any, room: Any, left: Any) -> tuple[list[Any], list[Any]]:
    """Go from one moment to the next at which somebody sets out, is done, or a resource is used up."""
    gained, stops, level, left = [Fraction(0)] * len(begin), [-2] * len(begin), min(begin), list(left)
    while True:
        for i, row in enumerate(need):  # the lid goes first, and a resource that is used up stops also who sets out
            if stops[i] == -2 and (level >= begin[i] + room[i] or room[i] == 0):
                gained[i], stops[i] = room[i], -1
            elif stops[i] == -2 and any(d > 0 and x == 0 for d, x in zip(row, left)):
                gained[i], stops[i] = (
                    max(level - begin[i], Fraction(0)),
                    next(j for j, d in enumerate(row) if d > 0 and left[j] == 0),
                )
        going = [i for i, stop in enumerate(stops) if stop == -2]
        rising = [i for i in going if begin[i] <= level]
        rate = [sum(need[i][j] for i in rising) for j in range(len(left))]
        events = [x / r for x, r in zip(left, rate) if r > 0] + [begin[i] - level for i in going if begin[i] > level]
        step = min(events + [begin[i] + room[i] - level for i in rising], default=np.inf)
        if step == np.inf:
            return [g if s != -2 else level - b for g, s, b in zip(gained, stops, begin)], stops
        level, left = level + step, [x - step * r for x, r in zip(left, rate)]


@st.composite
def fillings(draw: st.DrawFn) -> tuple[Any, ...]:
    n, m = draw(st.integers(1, 7)), draw(st.integers(1, 3))
    number = st.fractions(0, 4, max_denominator=6)
    need = draw(st.lists(st.lists(number, min_size=m, max_size=m), min_size=n, max_size=n))
    begin = draw(st.lists(number, min_size=n, max_size=n))
    room = [np.inf if one is None else one for one in draw(st.lists(ROOM, min_size=n, max_size=n))]
    left = draw(st.lists(st.fractions(0, 9, max_denominator=6), min_size=m, max_size=m))
    return need, begin, room, left


@REPEATABLE
@given(fillings())
def test_in_fractions_and_in_doubles(case: Any) -> None:
    exact, found = (filled(*(np.array(one, kind) for one in case)) for kind in (object, float))
    assert (exact.gained.tolist(), exact.stops.tolist()) == from_event_to_event(*case)
    np.testing.assert_allclose(found.gained, exact.gained.astype(float), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("order", ["as drawn", "rising", "falling", "there and back"])
def test_compiled_and_plain_are_equal_to_the_last_bit_in_any_order(order: str) -> None:
    rng = np.random.default_rng(5)
    begin = rng.uniform(0, 2, 300)
    begin = {"as drawn": begin, "rising": np.sort(begin), "falling": -np.sort(-begin)}.get(
        order, abs(np.sort(begin) - 1)
    )
    room, need, left = (
        rng.choice([0.0, 0.4, 1.0, np.inf], 300),
        rng.uniform(0, 1, (300, 3)),
        np.array([60.0, 90.0, 45.0]),
    )
    results = []
    for run in (fill.compiled, fill.py_func):
        gained, stops = np.empty(300), np.empty(300, np.int64)
        run(need, begin, room, left, 0.0, gained, stops)
        results.append((gained.tolist(), stops.tolist()))
    assert results[0] == results[1]
    used = (np.array(results[0][0])[:, None] * need).sum(axis=0)
    assert (used <= left * (1 + 1e-12)).all()
    assert set(results[0][1]) > {-1}


# ------------------------------------------------------------------------------------ a mechanism by somebody else

SUM = "the sum of its shares divided by its weight"


def asset_fairness(needs: Any, weights: Any, pool: Any, bounds: Any) -> fb.Allocation:
    """Raise the sums of all shares together (Ghodsi et al. 2011, section 5.1).

    The example of the DRF paper: 63/25 and 54/25 tasks. DRF, by the larger share, gives 3 and 2.

    >>> found = asset_fairness(np.array([[1, 4], [3, 1]]), np.ones(2), np.array([9, 18]), np.full(2, np.inf))
    >>> found.tasks.round(6).tolist(), found.levels.round(6).tolist(), found.violations()
    ([2.52, 2.16], [0.84, 0.84], [])
    >>> replace(found, per_task=None).violations()
    ['0 does not stop 0']
    """
    per_task = (needs / pool).sum(axis=1) / weights
    found = filled(needs / per_task[:, None], 0 * per_task, bounds * per_task, pool)
    own: Any = {"mechanism": "asset fairness", "per_task": per_task, "words": Words(SUM)}
    return fb.Allocation(found.gained / per_task, needs, weights, pool, bounds, found.stops, **own)


@REPEATABLE
@given(instances())
def test_certificate_and_reasons_are_of_the_measure_of_the_mechanism(case: Instance) -> None:
    found, n = asset_fairness(*case.floats), len(case.weights)
    rows = zip(case.demands, case.weights, strict=True)
    rate = [w / sum(d / c for d, c in zip(row, case.capacities, strict=True)) for row, w in rows]
    need = [[d * r for d in row] for row, r in zip(case.demands, rate, strict=True)]
    room = [np.inf if most is None else most / r for most, r in zip(case.max_tasks, rate, strict=True)]
    levels, _ = from_event_to_event(need, [Fraction(0)] * n, room, case.capacities)
    assert found.to_frame()["level"].tolist() == pytest.approx([float(level) for level in levels], rel=1e-9)
    assert (found.violations(), found.certificate[:6]) == ([], "proved")
    for i, j in enumerate(found.bottlenecks.tolist()):
        numbers = re.findall(rf"at level (\S+) \({SUM}\): .* of the (\d+) users .* highest: (\S+)\)", found.explain(i))
        rivals = [level for level, row in zip(levels, need, strict=True) if row[j]]
        expected = [levels[i], len(rivals), max(rivals)] if j >= 0 else []
        assert [float(one) for row in numbers for one in row] == pytest.approx([float(x) for x in expected], rel=1e-5)
        for part in (0.99, 1.01) if levels[i] else ():  # less is wasted or goes to others, more takes it from them
            assert replace(found, tasks=found.tasks * np.where(np.arange(n) == i, part, 1)).violations()
