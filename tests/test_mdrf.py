"""The stand-in for MDRF against a scan of all machines before every task."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairbook as fb
from tests import scan_gdrf
from tests.cells import cells, random_cell, same
from tests.strategies import REPEATABLE

RNG = np.random.default_rng(52)


@pytest.mark.parametrize("reading", ["entropy", "type"])
@pytest.mark.parametrize("kind", ["whole", "zeros", "real", "alike", "small machines"])
def test_against_the_scan(kind: str, reading: Any) -> None:
    for n, m, K in ((1, 1, 1), (3, 2, 4), (5, 3, 2), (8, 2, 20), (90, 2, 5)):
        cell = random_cell(RNG, kind, n, m, K)
        placed = fb.mdrf(*cell, 4, reading=reading)
        assert same(placed, scan_gdrf.mdrf(*cell, 4, reading=reading))
        assert placed.violations() == []


@REPEATABLE
@given(cell=cells(), reading=st.sampled_from(["entropy", "type"]), seed=st.integers(0, 9))
def test_small_cells_against_the_scan(cell: Any, reading: Any, seed: int) -> None:
    assert same(fb.mdrf(*cell, seed, reading=reading), scan_gdrf.mdrf(*cell, seed, reading=reading))


def test_the_machine_of_the_same_mixture() -> None:
    demands, machines = [[2, 1], [1, 3]], [[9, 9], [8, 4], [4, 12]]
    placed = fb.mdrf(demands, machines, max_tasks=[1, 1])
    assert sorted(zip(placed.placed_user.tolist(), placed.placed_machine.tolist())) == [(0, 1), (1, 2)]


@pytest.mark.parametrize(("given", "argument"), [({"reading": "weight"}, "reading"), ({"seed": -1}, "seed"),
                                                 ({"machines": [[0, 0]]}, "machines[0]")])
def test_bad_input(given: dict[str, Any], argument: str) -> None:
    with pytest.raises(fb.InvalidInput) as caught:
        fb.mdrf(**{"demands": [[1, 2]], "machines": [[4, 4]], **given})
    assert caught.value.where == argument
