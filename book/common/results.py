"""Stored results of full effort: tables in ``data/results/`` that pages and ledger read.

Each result ``<paper>/<name>`` is a CSV file with a JSON file beside it that records the seed, the effort, the
versions, and two checksums: one of the table, one of the sources and data the table was computed from. A
result whose sources have changed since is *stale*: loading it raises :class:`StaleResult`, so that
no page can show a number that the present code did not make. Comments, docstrings and white space do not count,
which is why DVC and joblib, for which each byte of a source counts, do not do this.
"""

import ast
import hashlib
import json
import platform
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import pandas as pd

from book.common import checkout
from fairbook.errors import FairbookError, InvalidInput
from fairbook.files import write_whole
from fairbook.traces.paths import data_path

__all__ = ["StaleResult", "edited_sources", "is_fresh", "load", "load_facts", "save", "source_hash"]


class StaleResult(FairbookError):
    """A stored result was computed by other sources, data or versions than the present ones.

    Parameters
    ----------
    text : str
        What is stale and how to make it anew.
    missing : bool
        Whether it is not there at all.
    """

    def __init__(self, text: str, *, missing: bool = False) -> None:
        self.missing = missing
        super().__init__(text)


_DIGITS = "%.10g"  # more would tie the stored bytes to one processor
_DOCUMENTED = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_KINDS = {"f": "float64", "i": "int64", "u": "int64", "b": "bool"}
_RECORDED = {"columns", "data", "facts", "module", "name", "sha256", "sources"}


def _sources() -> list[Path]:
    """List every source there is, by name."""
    return sorted(path for top in ("fairbook", "book") for path in checkout.ROOT.glob(f"{top}/**/*.py"))


def file_stamp(path: Path) -> tuple[int, int, int]:
    """Tell one state of a file from another, without a clock: a file's time may lie in the future."""
    told = path.stat()
    return told.st_mtime_ns, told.st_size, told.st_ino


#: The sources as this process found them. What has been edited since it does not run.
_LOADED = {path: file_stamp(path) for path in _sources()}


@cache
def _nodes(text: str) -> list[Any]:
    """Give the module, and all that is in it."""
    return list(ast.walk(ast.parse(text)))


@cache
def _bare(text: str) -> str:
    """Give the syntax of a source without its docstrings; comments and layout are not in it.

    The same for every Python that fairbook runs on: what newer ones add, if only nothing to an f-string, is left out.
    """

    def plain(part: Any) -> Any:
        if isinstance(part, list):
            return [plain(one) for one in part]
        if not isinstance(part, ast.AST):
            return part
        held = dict(ast.iter_fields(part))
        if isinstance(part, _DOCUMENTED) and ast.get_docstring(part, clean=False) is not None:
            held["body"] = held["body"][1:]
        if isinstance(part, ast.JoinedStr):
            held["values"] = [one for one in part.values if not (isinstance(one, ast.Constant) and one.value == "")]
        return [type(part).__name__, {name: plain(one) for name, one in held.items() if one not in (None, [])}]

    return repr(plain(_nodes(text)[0]))


def _imports(module: str, path: Path) -> set[str]:
    """Modules of fairbook, or of the book, that a module takes something from.

    ``from package import module`` depends on the module, not on all that the package's ``__init__`` gathers.
    """
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    found: set[str] = set()
    for node in _nodes(path.read_text(encoding="utf-8")):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                found.add(inner if checkout.module_file(inner) else source)
    return found


def _closure(modules: Iterable[str]) -> dict[str, Path]:
    waiting, found = list(modules), dict[str, Path]()
    while waiting:
        name = waiting.pop()
        path = checkout.module_file(name)
        if path and name not in found:
            found[name] = path
            waiting.extend(_imports(name, path))
    # these dispatch, store, compare, render and complain; they do not compute
    ours = {f"fairbook.{name}" for name in ("files", "errors", "model.plots", "progress", "sweeps")}
    books = {f"book.common.{name}" for name in ("checkout", "claims.stored", "results")}
    return {name: found[name] for name in sorted(found.keys() - ours - books)}


#: Gathers the options of all mechanisms. Of it counts what is taken by name: another paper's make no result stale.
_GATHERED = "fairbook.mechanisms.readings"


def _taken(closure: dict[str, Path]) -> str:
    """Tokens of those assignments in the module that gathers whose names are taken; of all if it is taken whole."""
    text, names = {one: path.read_text(encoding="utf-8") for one, path in closure.items()}, set()
    package, _, own = _GATHERED.rpartition(".")
    for node in (node for one in text.values() for node in _nodes(one) if isinstance(node, ast.ImportFrom)):
        names |= {alias.name for alias in node.names if node.module == _GATHERED}
        if node.module == package and own in {alias.name for alias in node.names}:
            return _bare(text[_GATHERED])
    return _bare(
        "\n".join(
            str(ast.get_source_segment(text[_GATHERED], part))
            for part in _nodes(text[_GATHERED])[0].body
            if names
            & {found.id for found in ast.walk(part) if isinstance(found, ast.Name) and isinstance(found.ctx, ast.Store)}
        )
    )


def _state(module: str, data: tuple[str, ...]) -> str:
    """Hash, byte by byte, whatever :func:`source_hash` might read: every source there is, and the data.

    A new file counts, too: it may stand before another.
    """
    files = [*_sources(), *map(data_path, data)]
    read = [(str(path), hashlib.sha256(path.read_bytes()).digest()) for path in files if path.is_file()]
    return hashlib.sha256(repr((module, data, read)).encode()).hexdigest()


def source_hash(module: str, data: tuple[str, ...] = ()) -> str:
    """Hash of a module, of every module of fairbook and its book that it imports, and of data files: 16 hex digits.

    Parameters
    ----------
    module : str
        Full name, for example ``"book.dmfa_srq.studies"``.
    data : tuple of str
        Names below ``data/``.

    Raises
    ------
    InvalidInput
        Where there is no such module: a hash of nothing would never be stale.
    """
    if checkout.module_file(module) is None:
        raise InvalidInput("module", "must be a module of fairbook or of its book", module)
    # To take 120 sources apart takes seconds: the last answer is kept beside the bytecode, with the bytes it is of.
    state, named = _state(module, data), hashlib.sha256(repr((module, data)).encode()).hexdigest()[:16]
    kept = Path(cache_from_source(str(checkout.ROOT / "fairbook" / f"{named}.py"))).with_suffix(".hash")
    with suppress(OSError, ValueError):
        found, of = kept.read_text(encoding="utf-8").split()
        if of == state:
            return found
    digest = hashlib.sha256()
    closure = _closure([module])
    for name, path in closure.items():
        digest.update(
            f"{name}\0{_taken(closure) if name == _GATHERED else _bare(path.read_text(encoding='utf-8'))}\0".encode()
        )
    for name in sorted(data):
        digest.update(name.encode() + b"\0" + data_path(name).read_bytes())
    found = digest.hexdigest()[:16]
    if not sys.dont_write_bytecode and state == _state(module, data):  # nothing was edited meanwhile
        with suppress(OSError):  # where nothing can be written nothing is kept
            write_whole({kept: f"{found} {state}".encode()})
    return found


def edited_sources(module: str) -> list[str]:
    """List what of a module, and of all that it imports from fairbook, was edited after this process started."""
    return [one for one, path in _closure([module]).items() if file_stamp(path) != _LOADED.get(path)]


def _files(name: str) -> tuple[Path, Path]:
    parts = name.split("/") if isinstance(name, str) else []
    if len(parts) != 2 or not all(part.isidentifier() for part in parts):
        raise InvalidInput("name", "must look like 'paper/result'", name)
    base = data_path("README.md").parent / "results" / parts[0]
    return base / f"{parts[1]}.csv", base / f"{parts[1]}.json"


def save(name: str, frame: pd.DataFrame, *, module: str, data: tuple[str, ...] = (), **facts: Any) -> None:
    """Store a table under ``paper/result`` with the facts that made it; each file is replaced whole.

    Parameters
    ----------
    name : str
        ``"dmfa_srq/curves"``, say.
    frame : DataFrame
        Tidy; the index is not kept. Floats are rounded to ten digits and may be missing; text may not.
    module, data
        What the table depends on, as for :func:`source_hash`.
    **facts
        Seed, runs, effort ... anything JSON can hold.

    Raises
    ------
    InvalidInput
        Where the name is not of that form, or the table cannot be read back as it is.
    StaleResult
        Where a source was edited after this process started: the table may not belong to what is there now.
    """
    table, record = _files(name)
    # The process computes with the sources as it loaded them; the hash below is of the sources as they are now.
    changed = edited_sources(module)
    if changed:
        raise StaleResult(f"{', '.join(changed)} changed while {name} was computed; compute it again")
    kinds = {str(column): _KINDS.get(kind.kind, "str") for column, kind in frame.dtypes.items()}
    if len(kinds) != frame.shape[1] or frame[[c for c, kind in kinds.items() if kind == "str"]].isna().any(axis=None):
        raise InvalidInput("frame", "must have columns of different names, and no missing text", list(frame.columns))
    text = frame.to_csv(index=False, float_format=_DIGITS, lineterminator="\n", na_rep="nan")
    versions = {package: version(package) for package in ("numpy", "scipy", "pandas", "numba")}
    meta = {
        "name": name,
        "module": module,
        "data": sorted(data),
        "sources": source_hash(module, data),
        "rows": len(frame),
        "columns": kinds,
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "facts": facts,
        "versions": {"python": platform.python_version(), **versions},
    }
    table.parent.mkdir(parents=True, exist_ok=True)
    written = json.dumps(meta, indent=2, sort_keys=True) + "\n"
    write_whole({table: text.encode(), record: written.encode()}, mode=0o644)  # to be shared, whatever the umask


def load_facts(name: str, *, check: bool = True) -> dict[str, Any]:
    """Read what is recorded about a stored result; with ``check`` make sure that it is whole and not stale.

    Raises
    ------
    StaleResult
        Where the table is missing, was changed by hand, or was made by other sources or data.
    """
    table, record = _files(name)
    if not table.is_file() or not record.is_file():
        raise StaleResult(f"{name} is not stored; `make results` computes it", missing=True)
    try:
        meta: dict[str, Any] = json.loads(record.read_text(encoding="utf-8"))
        fits = meta["name"] == name and meta.keys() >= _RECORDED
    except (ValueError, KeyError, TypeError):
        fits = False
    if not fits:
        raise StaleResult(f"{record.name} is not the record of {name}; `make results` writes it again")
    if check:
        if hashlib.sha256(table.read_bytes()).hexdigest() != meta["sha256"]:
            raise StaleResult(f"{table.name} is not the table that {record.name} describes")
        # an installed package has what was shipped, and not the sources that made it
        if not (
            checkout.module_file(meta["module"]) and source_hash(meta["module"], tuple(meta["data"])) == meta["sources"]
        ):
            raise StaleResult(f"{name} was computed by other sources or data; `make results` refreshes it")
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
    kinds = load_facts(name, check=check)["columns"]
    missing = {column: ["nan"] for column, kind in kinds.items() if kind == "float64"}
    return pd.read_csv(_files(name)[0], dtype=kinds, keep_default_na=False, na_values=missing)


def is_fresh(name: str) -> bool:
    """Tell whether a stored result is there, whole and made by the present sources."""
    try:
        load_facts(name)
    except StaleResult:
        return False
    return True
