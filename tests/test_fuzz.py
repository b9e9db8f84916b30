"""Damaged files and odd arguments at random for every command; instances for every engine.

A few dozen of each by default; ``FAIRBOOK_FUZZ=20000`` says how many to try of each, ``FAIRBOOK_FUZZ_ENGINES=10000``
how many instances of each dear engine; of each cheap one ten times as many. ``make fuzz`` sets both.
"""

import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from tests import fuzz, fuzz_engines

EXAMPLES = int(os.environ.get("FAIRBOOK_FUZZ", "0"))
ENGINE_EXAMPLES = int(os.environ.get("FAIRBOOK_FUZZ_ENGINES", "0"))


@pytest.mark.parametrize("name", fuzz.COMMANDS)
def test_nothing_ends_badly(name: str) -> None:
    seen: Counter[str] = Counter()

    @settings(
        max_examples=EXAMPLES or 20,
        deadline=None,
        database=None,
        derandomize=not EXAMPLES,
        suppress_health_check=list(HealthCheck),
    )
    @given(seed=st.integers(0, 2**63 - 1))
    def check(seed: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            seen[fuzz.try_command(name, Random(seed), Path(folder))] += 1

    check()
    if EXAMPLES:
        print(name, dict(seen), file=sys.stderr)


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
