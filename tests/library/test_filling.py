"""The one filling against a naive loop from event to event, in fractions and in doubles."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fairbook.filling import fill, filled
from tests.strategies import REPEATABLE

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
def test_in_fractions(case: Any) -> None:
    found = filled(*(np.array(one, object) for one in case))
    assert (found.gained.tolist(), found.stops.tolist()) == from_event_to_event(*case)


@REPEATABLE
@given(fillings())
def test_in_doubles(case: Any) -> None:
    gained, _ = from_event_to_event(*case)
    np.testing.assert_allclose(
        filled(*(np.array(one, float) for one in case)).gained, np.array(gained, float), rtol=1e-11, atol=1e-11
    )


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
