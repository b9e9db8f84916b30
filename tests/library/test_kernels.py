"""Kernels: in plain Python and compiled they give the same bits, small inputs need no numba, and no folder to write."""

import ast
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
    kinds = (rng.integers(0, 4, shape).astype(float), 10 ** rng.uniform(-2, 2, shape), rng.random(shape).round(1) + 0.1)
    found = kinds[rng.integers(3)]
    found[rng.random(shape) < 0.2] = 0.0
    found[..., 0] = np.where((found > 0).any(axis=-1), found[..., 0], 1.0)
    return found


def drf(rng: Rng, n: int, m: int) -> list[Any]:
    asked, weights = demands(rng, n, m), 10 ** rng.uniform(-1, 1, n)
    whole = fb.drf_by_task(np.where(asked > 0, np.clip(asked, 1e-4, 0.5), 0.0), weights=weights)
    return [fb.drf(asked, weights=weights), fb.drf(asked, weights=weights, max_tasks=rng.random(n)), whole]


def dmfa_srq(rng: Rng, n: int, m: int) -> list[Any]:
    asked, pool = demands(rng, n, 4 * m), fb.DmfaSrq(4 * m)  # up to 8 resources in tuples, beyond in arrays
    levels = [pool.arrive(i, row, 1.0 + i % 3) for i, row in enumerate(asked)]
    pool.depart(0, "stays")
    pool.depart(n - 1)
    return [fb.dmfa_srq(asked, weights=10 ** rng.uniform(-3, 3, n)), *levels, pool]


def karma(rng: Rng, n: int, m: int) -> list[Any]:
    bounds = rng.random((3, n)) / n
    demands = rng.random((3, n, m)) + 1e-3
    return [fb.karma(demands, max_tasks=bounds, initial_credit=rng.random(n), alpha=0.5)]


def cbdrf(rng: Rng, n: int, m: int) -> list[Any]:
    grant = ("scaled", "weighted", "capped")[n % 3]
    asked = demands(rng, 3, n, m)
    asked[asked > 0] = np.clip(asked, 1e-2, 1e2)[asked > 0]
    return [fb.cbdrf(asked, released=rng.random((3, n)), grant=grant, held="stays")]  # type: ignore[arg-type]


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


@pytest.mark.parametrize("run", [drf, dmfa_srq, cbdrf, karma, tv_drf, virtual_cluster])
def test_plain_and_compiled_give_the_same_bits(
    run: Callable[[Rng, int, int], list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(20):
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


def told(code: str, said: str = "", **environment: str) -> str:
    """Run code in a process of its own, which warns once at most."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "PYTHON"))}
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, env=inherited | environment, capture_output=True, text=True, timeout=300)
    assert done.stderr.count("UserWarning") == bool(said), done.stderr
    assert said in done.stderr
    return done.stdout


def test_everything_works_where_nothing_can_be_written() -> None:
    """Small inputs, without numba; and compiled ones, for this process alone."""
    code = (
        "import sys, fairbook as fb\n"
        "print(fb.drf([[1, 4], [3, 1]], capacities=[9, 18]).tasks, 'numba' in sys.modules)\n"
        "fb.kernels.MOST = 0\n"
        "print(fb.drf([[1, 4], [3, 1]], capacities=[9, 18]).tasks, 'numba' in sys.modules)"
    )
    nowhere = {"XDG_CACHE_HOME": "/dev/null/nothing", "HOME": "/dev/null/nothing"}
    assert told(code, NUMBA_CACHE_LOCATOR_CLASSES="_UserWideCacheLocator", **nowhere) == "[3. 2.] False\n[3. 2.] True\n"


CALLER = """
from fairbook.callee import inner
from fairbook.kernels import ALWAYS, kernel

@kernel(ALWAYS)
def outer(x):
    return inner(x)
"""
CALLEE = """
from fairbook.kernels import INSIDE, kernel

@kernel(INSIDE)
def inner(x):
    return x + 1
"""


def test_compiled_code_is_that_of_the_present_sources_and_a_bad_cache_costs_time_alone(tmp_path: Path) -> None:
    copy = tmp_path / "fairbook"
    shutil.copytree(Path(fb.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "caller.py").write_text(CALLER, "utf8")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from fairbook.caller import outer; "
    code += "print(outer(3), sum(outer.compiled.stats.cache_hits.values()))"
    for text, expected in ((CALLEE, "4 0"), (CALLEE, "4 1"), (CALLEE.replace("x + 1", "x + 2"), "5 0")):
        (copy / "callee.py").write_text(text, "utf8")
        assert told(code, PYTHONDONTWRITEBYTECODE="1").strip() == expected

    def again(said: str) -> str:
        return told(code, said, PYTHONDONTWRITEBYTECODE="1").strip()

    cache = copy / "__pycache__"
    for name in ("*.nbi", "*.nbc"):  # as a power failure leaves them
        for path in cache.glob(name):
            path.write_bytes(path.read_bytes()[:1])
        assert again("costs time and nothing else") == "5 0"
        assert again("") == "5 1", "it is mended"
    for path in cache.glob("*.nbi"):  # nothing can be written there, not even by root
        path.unlink()
        path.mkdir()
    assert again("costs time and nothing else") == "5 0"


#: Kernels that sort through numpy, copy slices or give way, each of which numba takes a second or more to compile.
SLOW = {
    *("packing._list", "packing._tight", "packing.complete_search", "packing.random_fills", "karma.moments_of"),
    *("nearest_machine.build", "alone.coefficients", "whole.hand_out"),
}


def slow_to_compile(kernel: ast.FunctionDef) -> bool:
    """Tell whether a kernel assigns to a slice, gives way, sorts or chooses through numpy, or has a text in it."""
    for node in (node for line in kernel.body[bool(ast.get_docstring(kernel)) :] for node in ast.walk(line)):
        text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        called = isinstance(node, ast.Attribute) and node.attr in {"where", "sort", "argsort", "lexsort", "unique"}
        stored = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
        copied = stored and any(isinstance(part, ast.Slice) for part in ast.walk(node))
        if text or called or copied or isinstance(node, (ast.Yield, ast.YieldFrom, ast.GeneratorExp)):
            return True
    return False


def test_kernels_are_plain_loops_but_for_those_that_are_named() -> None:
    found = {
        f"{path.stem}.{node.name}": slow_to_compile(node)
        for path in Path(kernels.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf8")))
        if isinstance(node, ast.FunctionDef)
        and any(ast.unparse(one).startswith("kernel") for one in node.decorator_list)
    }
    assert len(found) > 50
    assert {name for name, slow in found.items() if slow} == SLOW
