"""Kernels: in plain Python and compiled they give the same bits, small inputs need no numba, and no folder to write."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairbook as fb
from fairbook import kernels

Rng = np.random.Generator


def demands(rng: Rng, *shape: int) -> np.ndarray:
    """Draw demands of all kinds: ties, zeros, numbers many decades apart."""
    kinds = (rng.integers(0, 4, shape).astype(float), 10 ** rng.uniform(-6, 6, shape), rng.random(shape).round(1) + 0.1)
    found = kinds[rng.integers(3)]
    found[rng.random(shape) < 0.2] = 0.0
    found[..., 0] = np.where((found > 0).any(axis=-1), found[..., 0], 1.0)
    return found


def drf(rng: Rng, n: int, m: int) -> list[Any]:
    asked, weights = demands(rng, n, m), 10 ** rng.uniform(-9, 9, n)
    whole = fb.drf_by_task(np.where(asked > 0, np.clip(asked, 1e-4, 0.5), 0.0), weights=weights)
    return [fb.drf(asked, weights=weights), fb.drf(asked, weights=weights, max_tasks=rng.random(n)), whole]


def dmfa_srq(rng: Rng, n: int, m: int) -> list[Any]:
    asked, pool = demands(rng, n, 4 * m), fb.DmfaSrq(4 * m)  # up to 8 resources in tuples, beyond in arrays
    levels = [pool.arrive(i, row, 1.0 + i % 3) for i, row in enumerate(asked)]
    pool.depart(0, "stays")
    return [fb.dmfa_srq(asked, weights=10 ** rng.uniform(-6, 6, n)), *levels, pool]


def cbdrf(rng: Rng, n: int, m: int) -> list[Any]:
    grant = ("scaled", "weighted", "capped")[n % 3]
    return [fb.cbdrf(demands(rng, 3, n, m), released=rng.random((3, n)), grant=grant, held="stays")]  # type: ignore[arg-type]


def tv_drf(rng: Rng, n: int, m: int) -> list[Any]:
    asked, tasks = np.clip(demands(rng, 3, n, m), 0.0, 50.0), rng.integers(0, 9, (3, n)).astype(float)
    asked[(asked > 0) & (asked < 1e-3)] = 1e-3
    parts, pool = np.full(n, 1 / n), np.outer(rng.integers(1, 4, 3), rng.integers(1, 9, m)).astype(float)
    alone = ("bundles", "whole_bundles", "resources")[n % 3]
    how: Any = {"alone": alone, "unserved": "waits" if m % 2 else "expires"}
    runs = [fb.tv_drf(asked, tasks, pool, parts, method=method, **how) for method in ("heuristic", "lexicographic")]
    return [*runs, *(text for run in runs for text in run.violations())]


def virtual_cluster(rng: Rng, n: int, m: int) -> list[Any]:
    asked = rng.integers(1, 40, n), rng.random(n).round(1), rng.integers(1, 60, m)
    return [
        fb.virtual_cluster(*asked, method=method, whole=whole)
        for whole in (True, False)  # type: ignore[arg-type]
        for method in ("greedy", "mixed_knapsack", "metagreedy", "vector_packing", "spanning")
    ]


@pytest.mark.parametrize("run", [drf, dmfa_srq, cbdrf, tv_drf, virtual_cluster])
def test_plain_and_compiled_give_the_same_bits(
    run: Callable[[Rng, int, int], list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(40):
        told = []
        for most in (np.inf, 0):
            monkeypatch.setattr(kernels, "MOST", most)
            rng = np.random.default_rng(seed)
            results = run(rng, int(rng.integers(2, 9)), int(rng.integers(1, 5)))
            told.append([json.dumps(one.to_dict()) if hasattr(one, "to_dict") else repr(one) for one in results])
        assert told[0] == told[1], seed


def test_a_kernel_is_compiled_once_it_has_had_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once kernels had enough together what is on disk is used; what is not is made once a kernel had enough itself."""
    one, other = (kernels.kernel()(np.sum) for _ in range(2))
    for kept, kernel in ((False, one), (True, other)):
        monkeypatch.setitem(kernel.__dict__, "_kept", kept)
        monkeypatch.setitem(kernel.__dict__, "compiled", lambda *_: "compiled")
    monkeypatch.setattr(kernels, "MOST", 10)
    monkeypatch.setattr(kernels.Kernel, "together", 0.0)
    ran = [(kernel(np.ones(4))) for kernel in (one, one, other, other, one, one)]
    assert ran == [4, 4, "compiled", "compiled", "compiled", "compiled"]
    assert kernels.kernel(kernels.ALWAYS)(lambda: 0)() == 0
    monkeypatch.setattr(kernels, "_numba", lambda: None)  # as in a browser
    assert one(np.ones(4)) == other(np.ones(4)) == kernels.kernel(kernels.ALWAYS)(lambda: 4)()


NOWHERE = "/dev/null/nothing"


@pytest.mark.parametrize(
    "nowhere",
    [
        {"NUMBA_CACHE_DIR": NOWHERE},
        {"NUMBA_CACHE_LOCATOR_CLASSES": "_UserWideCacheLocator", "XDG_CACHE_HOME": NOWHERE, "HOME": NOWHERE},
    ],
)
def test_everything_works_where_nothing_can_be_written(nowhere: dict[str, str]) -> None:
    """Small inputs, without numba; and compiled ones, for this process alone."""
    code = (
        "import sys, fairbook as fb\n"
        "print(fb.drf([[1, 4], [3, 1]], capacities=[9, 18]).tasks, 'numba' in sys.modules)\n"
        "fb.kernels.MOST = 0\n"
        "print(fb.drf([[1, 4], [3, 1]], capacities=[9, 18]).tasks, 'numba' in sys.modules)"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA")} | nowhere
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300)
    assert done.stdout == "[3. 2.] False\n[3. 2.] True\n", done.stderr
    assert done.stderr == ""


CALLER = """
from fairbook import callee
from fairbook.callee import ADDED, inner
from fairbook.kernels import ALWAYS, kernel

@kernel(ALWAYS)
def outer(x):
    return inner(x) + ADDED + callee.ONE_MORE
"""
CALLEE = """
from fairbook.kernels import INSIDE, kernel

ADDED, ONE_MORE = 20, 100

@kernel(INSIDE)
def inner(x):
    return x + 1
"""


def full(folder: Path) -> None:
    """Let nothing be written: nobody may, and where root may all the same there are folders in the way."""
    for path in folder.glob("*.nbi"):
        path.unlink()
        path.mkdir()


def test_compiled_code_is_that_of_the_present_sources_and_a_bad_cache_costs_time_alone(tmp_path: Path) -> None:
    copy = tmp_path / "fairbook"
    shutil.copytree(Path(fb.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "caller.py").write_text(CALLER, "utf8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "PYTHON"))}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # which would be taken for that of an edit in the same second
    code = "from fairbook.caller import outer; print(outer(3), sum(outer.compiled.stats.cache_hits.values()))"

    def run(text: str) -> tuple[str, str]:
        (copy / "callee.py").write_text(text, "utf8")
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300
        )
        return done.stdout.strip() or done.stderr, done.stderr

    def kept() -> list[Path]:
        return sorted((copy / "__pycache__").glob("*.nb?"))

    assert run(CALLEE) == ("124 0", "")
    assert len(kept()) == 4
    for edit, expected in [
        (("\n@", "# a comment\n\n@"), "124 1"),
        (("x + 1", "x + 2"), "125 0"),
        (("ADDED, ONE_MORE = 20", "ADDED, ONE_MORE = 30"), "134 0"),
        (("100", "200"), "224 0"),
    ]:
        assert run(CALLEE.replace(*edit)) == (expected, ""), edit
    assert len(kept()) == 4, "old code is swept"

    for name, harm in (("*.nbi", 0), ("*.nbc", 1000)):
        assert run(CALLEE) == ("124 0" if harm == 0 else "124 1", "")
        for path in (copy / "__pycache__").glob(name):
            path.write_bytes(path.read_bytes()[:harm])
        printed, said = run(CALLEE)
        assert printed == "124 0"
        assert said.count("this costs time") == 1, said
    full(copy / "__pycache__")
    printed, said = run(CALLEE)
    assert printed == "124 0"
    assert said.count("this costs time") == 1, said
