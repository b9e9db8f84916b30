"""Damaged files and odd arguments at random for every command and record; instances for every engine.

A few dozen of each by default; ``FAIRBOOK_FUZZ=20000`` says how many to try of each, ``FAIRBOOK_FUZZ_ENGINES=10000``
how many instances of each dear engine; of each cheap one ten times as many. ``make fuzz`` sets both.
"""

import math
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from fairbook.mechanisms import dmfa_srq, drf
from tests import fuzz, fuzz_engines

EXAMPLES = int(os.environ.get("FAIRBOOK_FUZZ", "0"))
ENGINE_EXAMPLES = int(os.environ.get("FAIRBOOK_FUZZ_ENGINES", "0"))
USUAL = {"commands": 20, "records": 4}


@pytest.mark.parametrize(("group", "name"), list(fuzz.targets()))
def test_nothing_ends_badly(group: str, name: str) -> None:
    seen: Counter[str] = Counter()

    @settings(
        max_examples=EXAMPLES or USUAL[group],
        deadline=None,
        database=None,
        derandomize=not EXAMPLES,
        suppress_health_check=list(HealthCheck),
    )
    @given(seed=st.integers(0, 2**63 - 1))
    def check(seed: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            seen[fuzz.attempt(group, name, Random(seed), Path(folder))] += 1

    check()
    if EXAMPLES:
        print(group, name, dict(seen), file=sys.stderr)


def test_the_checks_can_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that leaves a part behind, writes over its input, or dies, is found out."""
    (tmp_path / "a.csv").write_text("user,cpu\nann,1\n")
    argv = ["allocate", str(tmp_path / "a.csv"), "--capacity", "cpu=9"]
    assert fuzz.check_command(argv, tmp_path) == "fine"

    broken: tuple[Callable[[list[str]], Any], ...] = (
        lambda _: 3,  # no such code
        lambda _: 2,  # and no line that says why
        lambda _: print("fairbook: error: a\nmore", file=sys.stderr) or 2,
        lambda _: (tmp_path / ".a.part").write_text("x") * 0,
        lambda _: (tmp_path / "a.csv").write_text("x") * 0,
    )
    for main in broken:
        monkeypatch.setattr(fuzz.cli, "main", main)
        with pytest.raises(AssertionError):
            fuzz.check_command(argv, tmp_path)


def check_engine(engine: fuzz_engines.Engine, tries: int, phases: tuple[Phase, ...] = tuple(Phase)) -> None:
    """Hold an engine against its judge on so many instances; hypothesis makes one on which they differ small."""

    @settings(
        max_examples=tries,
        deadline=None,
        database=None,
        derandomize=not ENGINE_EXAMPLES,
        phases=phases,
        suppress_health_check=list(HealthCheck),
    )
    @given(engine.cases)
    def check(case: dict[str, Any]) -> None:
        assert fuzz_engines.difference(engine, case) <= engine.rtol

    check()


@pytest.mark.parametrize("name", fuzz_engines.ENGINES)
def test_engines_agree_with_their_judges(name: str) -> None:
    engine = fuzz_engines.ENGINES[name]
    check_engine(engine, ENGINE_EXAMPLES * (1 if engine.dear else 10) or engine.tries)
    faulty = engine._replace(run=lambda **case: [x * (1 + 3 * engine.rtol) for x in engine.run(**case)])
    with pytest.raises(AssertionError):
        check_engine(faulty, 50, (Phase.generate,))


@pytest.mark.parametrize("name", fuzz_engines.LOST_DIGITS)
def test_engines_that_lose_digits_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, case = fuzz_engines.ENGINES[name], fuzz_engines.LOST_DIGITS[name]
    assert fuzz_engines.difference(engine, case) <= engine.rtol
    monkeypatch.setattr(drf, "FAR_APART", math.inf)
    monkeypatch.setattr(dmfa_srq, "FAR_APART", math.inf)
    assert fuzz_engines.difference(engine, case) > engine.rtol
