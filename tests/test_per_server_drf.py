"""DRF on each machine by itself, against a plain loop over all machines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairbook as fb
from tests import scan_gdrf
from tests.cells import cells, random_cell
from tests.strategies import REPEATABLE

RNG = np.random.default_rng(11)


def agrees(cell: Any, weights: Any) -> None:
    placed = fb.per_server_drf(*cell, weights)
    expected = scan_gdrf.per_server_drf(*cell, weights)
    found = np.zeros_like(expected)
    np.add.at(found, (placed.placed_machine, placed.placed_user), 1)
    assert found.tolist() == expected.tolist()
    assert placed.violations() == []


@pytest.mark.parametrize("kind", ["whole", "zeros", "real", "alike", "small machines"])
def test_against_a_loop_over_machines(kind: str) -> None:
    for n, m, K in ((1, 1, 1), (3, 2, 4), (5, 3, 2), (20, 2, 12)):
        for weights in (None, RNG.choice([1.0, 1.0, 2.0, 3.0], n)):
            agrees(random_cell(RNG, kind, n, m, K), weights)


@REPEATABLE
@given(cell=cells(), weights=st.lists(st.integers(1, 3), min_size=5, max_size=5))
def test_small_cells_against_a_loop_over_machines(cell: Any, weights: list[int]) -> None:
    agrees(cell, weights[: len(cell[0])])


@REPEATABLE
@given(bounds=st.lists(st.integers(0, 40), min_size=2, max_size=2), count=st.integers(1, 9))
def test_bounds_used_up_on_the_way(bounds: list[int], count: int) -> None:
    """Machines of a class are done at once only as long as no bound is near."""
    agrees(([[1, 2], [2, 1]], [[7, 8]], [count], bounds), None)


def test_a_machine_that_lacks_a_resource() -> None:
    placed = fb.per_server_drf([[1, 1], [1, 0]], [[4, 0], [2, 2]])
    assert placed.tasks.tolist() == [1, 5]


@pytest.mark.parametrize(("given", "argument"), [
    ({"weights": [0]}, "weights[0]"),
    ({"max_tasks": [-1]}, "max_tasks[0]"),
    ({"demands": [[1e-12, 1e-12]]}, "demands"),
])
def test_bad_input(given: dict[str, Any], argument: str) -> None:
    with pytest.raises(fb.InvalidInput) as caught:
        fb.per_server_drf(**{"demands": [[1, 2]], "machines": [[4, 4]], **given})
    assert caught.value.where == argument
