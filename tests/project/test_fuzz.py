"""Damaged files and odd arguments at random for every command; instances for every engine.

A few dozen of each by default; ``FAIRBOOK_FUZZ=20000`` says how many to try of each, ``FAIRBOOK_FUZZ_ENGINES=100000``
how many instances of each engine. ``make fuzz`` sets both.
"""

import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from fairbook.mechanisms import registry
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


@pytest.mark.parametrize("name", registry)
def test_engines_agree_with_their_rules(name: str) -> None:
    seen = fuzz_engines.fuzz(name, ENGINE_EXAMPLES or 100)
    assert seen["agree"] > seen["refused"]
    if ENGINE_EXAMPLES:
        print(name, dict(seen), file=sys.stderr)


def test_what_differs_is_found() -> None:
    for name in registry:
        rng, found = np.random.default_rng(0), list[np.ndarray]()
        while not any(one.size for one in found):  # bounds may leave nothing to place
            data, given_ = fuzz_engines.drawn(name, rng)
            found = fuzz_engines.numbers(name, registry[name].function(*data, **given_))
        assert not fuzz_engines.differ(found, found, 1.0)
        assert fuzz_engines.differ([one * (1 + 1e-6) + 1e-6 for one in found], found, 1.0)
