"""Stored results of full effort: tables in ``data/results/`` that pages and ledger read.

Each result ``<paper>/<name>`` is a CSV file with a JSON file beside it that records the seed, the effort, the
versions, and two checksums: one of the table, one of the sources and data the table was computed from. A
result whose sources have changed since is *stale*: loading it raises :class:`~fairbook.errors.StaleResult`, so that no page
can show a number that the present code did not make. Comments, docstrings and white space do not count.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import os
import platform
import tempfile
import tokenize
from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from fairbook.errors import InvalidInput, StaleResult
from fairbook.traces._paths import data_path

__all__ = ["is_fresh", "load", "load_facts", "save", "source_hash"]

_PACKAGE = Path(__file__).resolve().parent
_DIGITS = "%.10g"  # more would tie the stored bytes to one processor


def _module_file(module: str) -> Path | None:
    parts = module.split(".")[1:]
    base = _PACKAGE.joinpath(*parts)
    for candidate in (base.with_suffix(".py"), base / "__init__.py"):
        if parts and candidate.is_file():
            return candidate
    return None


def _bare_source(path: Path) -> str:
    """Source without comments, docstrings and white space."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    cuts: list[tuple[int, int, int, int]] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
                assert first.end_lineno is not None
                assert first.end_col_offset is not None
                cuts.append((first.lineno, first.col_offset, first.end_lineno, first.end_col_offset))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            cuts.append((*token.start, *token.end))
    kept = [list(line) for line in lines]
    for row, column, end_row, end_column in cuts:
        for r in range(row - 1, end_row):
            low = column if r == row - 1 else 0
            high = end_column if r == end_row - 1 else len(kept[r])
            kept[r][low:high] = " " * (high - low)
    return "".join("".join("".join(line).split()) for line in kept)


def _imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names if alias.name.startswith("fairbook."))
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("fairbook"):
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return {name for name in found if _module_file(name)}


def _closure(modules: Iterable[str]) -> list[str]:
    waiting, seen = list(modules), set()
    while waiting:
        name = waiting.pop()
        path = _module_file(name)
        if name in seen or path is None:
            continue
        seen.add(name)
        waiting.extend(_imports(path))
    # this file stores and compares; it does not compute
    return sorted(seen - {"fairbook.results", "fairbook.errors"})


@cache
def source_hash(module: str, data: tuple[str, ...] = ()) -> str:
    """Hash of a module, of every fairbook module it imports, and of data files, as 16 hex digits.

    Parameters
    ----------
    module : str
        Full name, for example ``"fairbook.studies.dmfa_srq"``.
    data : tuple of str
        Names below ``data/``.
    """
    digest = hashlib.sha256()
    for name in _closure([module]):
        path = _module_file(name)
        assert path is not None
        digest.update(f"{name}\0{_bare_source(path)}\0".encode())
    for name in sorted(data):
        digest.update(name.encode() + b"\0" + data_path(name).read_bytes())
    return digest.hexdigest()[:16]


def _files(name: str) -> tuple[Path, Path]:
    parts = name.split("/")
    if len(parts) != 2 or not all(part.isidentifier() for part in parts):
        raise InvalidInput("name", "must look like 'paper/result'", name)
    base = data_path("README.md").parent / "results" / parts[0]
    return base / f"{parts[1]}.csv", base / f"{parts[1]}.json"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def save(name: str, frame: pd.DataFrame, *, module: str, data: tuple[str, ...] = (), **facts: Any) -> None:
    """Store a table under ``paper/result`` with the facts that made it; each file is replaced whole.

    Parameters
    ----------
    name : str
        ``"dmfa_srq/curves"``, say.
    frame : DataFrame
        Tidy; the index is not kept. Floats are rounded to ten digits.
    module, data
        What the table depends on, as for :func:`source_hash`.
    **facts
        Seed, runs, effort ... anything JSON can hold.
    """
    table, record = _files(name)
    text = frame.to_csv(index=False, float_format=_DIGITS, lineterminator="\n")
    versions = {package: version(package) for package in ("numpy", "scipy", "pandas", "numba")}
    meta = {"name": name, "module": module, "data": sorted(data), "sources": source_hash(module, data), "rows": len(frame),
            "sha256": hashlib.sha256(text.encode()).hexdigest(), "facts": facts,
            "versions": {"python": platform.python_version(), **versions}}
    _write(table, text)
    _write(record, json.dumps(meta, indent=2, sort_keys=True) + "\n")


def load_facts(name: str, *, check: bool = True) -> dict[str, Any]:
    """Read what is recorded about a stored result; with ``check`` make sure that it is whole and not stale.

    Raises
    ------
    StaleResult
        Where the table is missing, was changed by hand, or was made by other sources or data.
    """
    table, record = _files(name)
    if not table.is_file() or not record.is_file():
        raise StaleResult(f"{name} is not stored; `fairbook results --full` computes it")
    meta: dict[str, Any] = json.loads(record.read_text(encoding="utf-8"))
    if check:
        if hashlib.sha256(table.read_bytes()).hexdigest() != meta["sha256"]:
            raise StaleResult(f"{table.name} is not the table that {record.name} describes")
        if source_hash(meta["module"], tuple(meta["data"])) != meta["sources"]:
            raise StaleResult(f"{name} was computed by other sources or data; `fairbook results --full` refreshes it")
    return meta


def load(name: str, *, check: bool = True) -> pd.DataFrame:
    """Read a stored table.

    Parameters
    ----------
    name : str
        ``"paper/result"``.
    check : bool
        Whether to refuse a stale table.

    Raises
    ------
    StaleResult
        See :func:`load_facts`.
    """
    load_facts(name, check=check)
    return pd.read_csv(_files(name)[0], keep_default_na=False, na_values=["nan", "NaN"])


def is_fresh(name: str) -> bool:
    """Tell whether a stored result is there, whole and made by the present sources."""
    try:
        load_facts(name)
    except StaleResult:
        return False
    return True


def refresh(stored: dict[str, Callable[[], None]], *, force: bool = False) -> list[str]:
    """Compute every stored result that is missing or stale, one after the other; what is fresh is left alone.

    An interrupted call keeps the results it had finished.
    """
    done = []
    for name, compute in stored.items():
        if force or not is_fresh(name):
            compute()
            done.append(name)
    return done
