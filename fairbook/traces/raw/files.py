"""Trace files on disk: finding the parts of a table, and reading them in blocks of whole lines."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from fairbook.errors import InvalidInput, TraceError

__all__ = ["File", "Part", "Source", "find_parts", "find_tables", "missing_numbers", "refuse_missing", "said_missing"]

Source = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""A folder, a file, or a sequence of files."""

_BLOCK_BYTES = 1 << 25
_LONGEST_LINE = 1 << 16
_SUFFIXES = (".csv", ".csv.gz")
_NUMBERED = re.compile(r"(?:^|[_.-])part-(\d+)-of-(\d+)\.csv(?:\.gz)?$")


class Part(NamedTuple):
    """One file of a table; `number` and `total` are None where the name does not carry them."""

    path: Path
    number: int | None
    total: int | None


def _paths(source: Sequence[Any]) -> list[Path]:
    if not isinstance(source, Sequence) or not source or not all(isinstance(p, str | os.PathLike) for p in source):
        raise InvalidInput("source", "must be a folder, a file or a sequence of files", source)
    return [Path(p) for p in source]


def _in_folder(root: Path, table: str, any_name: bool) -> list[Path]:
    """List the files in a folder that belong to a table."""
    files = sorted(p for folder in (root, root / table) if folder.is_dir() for p in folder.iterdir() if p.is_file())
    files = [p for p in files if p.name.endswith(_SUFFIXES) and not p.name.startswith(".")]
    found = [p for p in files if p.name.startswith(table) or (p.name.startswith("part-") and p.parent.name == table)]
    here = [p for p in files if p.parent == root]
    if not found and any_name and all(p.name.startswith("part-") for p in here):
        return here
    return found


def find_parts(source: Source, table: str, *, any_name: bool = True, needed: bool = True) -> list[Part]:
    """List the files of one table, in part order (files without a number last, by name).

    Parameters
    ----------
    source : path or sequence of paths
        A folder is searched for ``part-*`` in ``<table>/`` (or in itself, if it is named `table`) and for
        ``<table>*.csv[.gz]``. Files given by name are taken as they are, whatever they are called.
    table : str
        Name of the table as published, for instance ``"task_events"``.
    any_name : bool
        Take a folder that holds nothing but ``part-*`` files as the table, whatever the folder's name.
    needed : bool
        Whether a folder without the table is an error.

    Raises
    ------
    TraceError
        If there is no file, a file does not exist, the same part is there twice, or the names disagree on the number
        of parts.
    InvalidInput
        If `source` is not a path or a sequence of paths, or is an empty sequence.
    """
    if not isinstance(source, str | os.PathLike):
        paths = _paths(source)
    elif not Path(source).exists():
        raise TraceError(f"{source}: no such file or folder")
    elif Path(source).is_dir():
        paths = _in_folder(Path(source), table, any_name)
        if needed and not paths:
            raise TraceError(f"{source}: no {table} file (.csv or .csv.gz) in this folder")
    else:
        paths = [Path(source)]
    parts = []
    for path in paths:
        if not path.is_file():
            raise TraceError(f"{path}: no such file")
        if not path.name.endswith(_SUFFIXES):
            raise TraceError(f"{path}: the name must end in .csv or .csv.gz")
        found = _NUMBERED.search(path.name)
        parts.append(Part(path, int(found[1]), int(found[2])) if found else Part(path, None, None))
    parts.sort(key=lambda p: (p.number is None, p.number or 0, p.path.name, str(p.path)))
    seen: dict[object, Path] = {}
    for part in parts:
        before = seen.setdefault(part.path.resolve() if part.number is None else part.number, part.path)
        if before is not part.path:
            raise TraceError(f"{part.path}: the same part as {before}")
        if part.total is not None and part.total != parts[0].total:
            raise TraceError(f"{part.path}: the names disagree on the number of parts")
        if part.number is not None and part.total is not None and part.number >= part.total:
            raise TraceError(f"{part.path}: part {part.number} of {part.total} cannot exist (numbers start at 0)")
    return parts


def find_tables(
    source: Source, main: str, second: str, *, prefix: str | None = None, any_name: bool = False
) -> tuple[list[Part], list[Part]]:
    """List the files of a trace's main table and of a second one, which may be absent.

    Files given by name belong to the second where their own or their folder's name says so: `prefix`, by default the
    table's name.
    """
    prefix = prefix or second
    if isinstance(source, str | os.PathLike):
        parts = find_parts(source, main, any_name=any_name)
        folder = Path(source).is_dir()
        return parts, find_parts(source, second, any_name=False, needed=False) if folder else []
    paths = _paths(source)
    others = [p for p in paths if p.name.startswith(prefix) or p.parent.name == prefix]
    return find_parts([p for p in paths if p not in others], main), find_parts(others, second) if others else []


def missing_numbers(parts: Sequence[Part], *, to_the_end: bool = False) -> list[int]:
    """List the part numbers that are absent below the highest one present, or below the number of parts."""
    present = {p.number for p in parts if p.number is not None}
    end = max([*present, *(p.total - 1 for p in parts if p.total and to_the_end)], default=-1)
    return [k for k in range(end + 1) if k not in present]


def refuse_missing(parts: Sequence[Part], table: str) -> None:
    """Refuse to read a table without some of its parts, where it is published as one file and was cut by somebody."""
    missing = missing_numbers(parts, to_the_end=True)
    if missing:
        raise TraceError(f"{parts[0].path.parent}: {said_missing(missing, table)}")


def said_missing(missing: Sequence[int], table: str) -> str:
    """Say which parts of a table are missing."""
    shown = ", ".join(map(str, missing[:20])) + (", ..." if len(missing) > 20 else "")
    return f"{len(missing)} part(s) of {table} missing: {shown}"


@dataclass
class File:
    """One file as far as it was read: its rows, whether a header stands before them, and its checksum."""

    part: Part
    rows: int = 0
    header: bool = False
    sha256: str = ""

    def where(self, row: int) -> str:
        """Name a row by file and line; rows count from 0, lines from 1."""
        return f"{self.part.path}, line {row + 1 + self.header}"

    def described(self) -> dict[str, Any]:
        """Describe the file for the record of a digest."""
        return {
            "file": self.part.path.name,
            "part": self.part.number,
            "rows": self.rows,
            "header": self.header,
            "sha256": self.sha256,
        }

    def blocks(self, titles: tuple[str, ...] = ()) -> Iterator[bytes]:
        """Yield the lines in blocks of some 32 MiB, each ended by a newline; whoever takes them counts `rows`.

        A first line of `titles` is left out. An error in the file's form names the line before which reading stopped.
        """
        path, tail = self.part.path, b""
        try:
            with path.open("rb") as stored:
                self.sha256 = hashlib.file_digest(stored, "sha256").hexdigest()
                stored.seek(0)
                unpacked: Any = gzip.GzipFile(fileobj=stored) if path.suffix == ".gz" else stored
                while more := unpacked.read(_BLOCK_BYTES):
                    text = tail + more
                    stop = text.rfind(b"\n") + 1
                    tail = text[stop:]
                    text = text[:stop]
                    if b"\r" in text:
                        text = text.replace(b"\r\n", b"\n")
                    if titles and not self.rows and not self.header:
                        first, _, rest = text.partition(b"\n")
                        self.header = tuple(f.strip() for f in first.decode("latin-1").split(",")) == titles
                        text = rest if self.header else text
                    if text:
                        yield text
                    if len(tail) > _LONGEST_LINE:
                        raise TraceError(f"{self.where(self.rows)}: the line is longer than {_LONGEST_LINE} bytes")
        except (OSError, EOFError, zlib.error) as error:
            raise TraceError(f"{self.where(self.rows)} or later: cannot be read ({error})") from error
        if tail:
            raise TraceError(f"{self.where(self.rows)}: does not end in a newline: the file looks cut short")
        if not self.rows:
            raise TraceError(f"{self.where(0)}: the file holds no row")
