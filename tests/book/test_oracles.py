"""The oracles against the definition of the optimum, against each other, and free of the mechanisms they judge."""

import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import fairbook as fb
from book.common import oracle_drf as drf
from book.dmfa_srq import oracle as srq
from tests.strategies import REPEATABLE, Instance, instances, random_arrivals


def test_oracles_do_without_compiled_engines() -> None:
    """Of each paper: one process loads all of them; the plain rules come with them, and no compiled engine."""
    book = Path(__file__).resolve().parents[2] / "book"
    oracles = [f"book.{path.parent.name}.{path.stem}" for path in sorted(book.glob("*/*oracle*.py"))]
    assert len(oracles) >= 6
    code = (
        f"import sys, importlib\nfor name in {[*oracles, 'book.common.packing']}:\n"
        "    importlib.import_module(name)\n"
        "print(sorted(name for name in sys.modules if name.startswith('numba')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == "[]\n", done.stderr


# --------------------------------------------------------------------------------------------------- model (4)


@REPEATABLE
@given(instances())
def test_exact_levels_are_the_largest_feasible_ones(case: Instance) -> None:
    demands, weights = case.demands, case.weights
    m = len(demands[0])
    rates = [[w * d / max(row) for d in row] for row, w in zip(demands, weights, strict=True)]
    before: list[Fraction] = []
    for k, level in enumerate(srq.exact_levels(demands, weights), start=1):
        before.append(Fraction(0))
        pool = sum(weights[:k], Fraction(0))

        def fits(height: Fraction, before: list[Fraction] = before, k: int = k, pool: Fraction = pool) -> bool:
            held = [max(height, y) for y in before]
            return all(sum((rates[i][j] * held[i] for i in range(k)), Fraction(0)) <= pool for j in range(m))

        assert fits(level)
        assert not fits(level * Fraction(10**9 + 1, 10**9))
        before[:] = [max(level, y) for y in before]


def test_decimal_levels_have_the_digits_asked_for() -> None:
    demands, weights = random_arrivals(np.random.default_rng(1), 25, 2, decades=6, zeros=0.3)
    exact = srq.exact_levels(demands.tolist(), weights.tolist())
    for digits, error in ((30, 1e-24), (60, 1e-54)):
        for found, level in zip(srq.decimal_levels(demands, weights, digits=digits), exact, strict=True):
            assert abs(Fraction(found) / level - 1) < error


def test_exact_levels_take_texts_and_whole_numbers() -> None:
    assert srq.exact_levels([["1", "1/2"], [1, 2]], [1, "1"]) == [1, Fraction(4, 3)]
    big = srq.exact_levels(np.array([[2**62, 2**61], [2**61, 2**62]]), np.array([2**62, 2**62]))
    assert big == [1, Fraction(4, 3)]


def test_program_that_is_not_solved_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def unsolved(*_: Any, **__: Any) -> SimpleNamespace:
        return SimpleNamespace(status=4, message="numerical difficulties")

    monkeypatch.setattr(drf, "linprog", unsolved)
    with pytest.raises(fb.FairbookError, match="numerical difficulties"):
        srq.lp_levels([[1.0]], [1.0])
    with pytest.raises(fb.FairbookError, match="numerical difficulties"):
        drf.leximin_tasks([[1.0]])


# --------------------------------------------------------------------------------------------------------- drf


@REPEATABLE
@given(instances(), st.data())
def test_exact_tasks_cannot_be_improved_for_anyone(case: Instance, data: st.DataObject) -> None:
    tasks = drf.exact_tasks(*case)
    demands, weights, capacities, bounds = case
    n, m = len(demands), len(capacities)
    use = [sum((tasks[i] * demands[i][j] for i in range(n)), Fraction(0)) for j in range(m)]
    assert all(u <= c for u, c in zip(use, capacities, strict=True))
    assert all(x >= 0 and (b is None or x <= b) for x, b in zip(tasks, bounds, strict=True))
    level = [tasks[i] / weights[i] * max(d / c for d, c in zip(demands[i], capacities, strict=True)) for i in range(n)]
    i = data.draw(st.integers(0, n - 1))
    at_bound = bounds[i] is not None and tasks[i] == bounds[i]
    stopped = any(
        use[j] == capacities[j]
        and demands[i][j] > 0
        and all(level[h] <= level[i] for h in range(n) if demands[h][j] > 0)
        for j in range(m)
    )
    assert at_bound or stopped


def test_exact_tasks_of_the_paper() -> None:
    assert drf.exact_tasks([[1, 4], [3, 1]], capacities=[9, 18]) == [3, 2]
    assert drf.exact_tasks([["1", "1/3"]], max_tasks=[None]) == [1]
    assert drf.exact_tasks([[1]], max_tasks=["1/7"]) == [Fraction(1, 7)]
