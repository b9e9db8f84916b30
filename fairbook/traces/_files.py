"""Trace files on disk: finding the parts, decompressing them in a thread, writing results atomically."""

from __future__ import annotations

import hashlib
import json
import os
import queue
import re
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from fairbook.errors import InvalidInput, TraceError
from fairbook.files import write_whole

__all__ = [
    "Block",
    "BlockReader",
    "Part",
    "Source",
    "file_sha256",
    "find_parts",
    "missing_numbers",
    "read_provenance",
    "write_atomically",
]

Source = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""A folder, a file, or a sequence of files."""

_READ_BYTES = 1 << 15
_BLOCK_BYTES = 1 << 20
_QUEUE_BLOCKS = 64
_LONGEST_LINE = 1 << 16
_SUFFIXES = (".csv", ".csv.gz")
_NUMBERED = re.compile(r"(?:^|[_.-])part-(\d+)-of-(\d+)\.csv(?:\.gz)?$")


@dataclass(frozen=True)
class Part:
    """One file of a table; `number` and `total` are None where the name does not carry them."""

    path: Path
    number: int | None
    total: int | None


@dataclass(frozen=True)
class Block:
    """Whole lines of one file, ``data[:stop]``, in file order.

    `last` marks the end of a file and comes with the file's SHA-256 and size (`data` is empty then). `error`, if not
    None, says why no more of this file can be read. `consumed` counts bytes of the file as stored.
    """

    part: int
    data: bytes = b""
    stop: int = 0
    consumed: int = 0
    last: bool = False
    sha256: str = ""
    error: str | None = None


def _belongs(path: Path, table: str) -> bool:
    """Tell whether a file found in a folder is a part of `table`."""
    if not path.name.endswith(_SUFFIXES) or path.name.startswith("."):
        return False
    return path.name.startswith(table) or (path.name.startswith("part-") and path.parent.name == table)


def _part(path: Path) -> Part:
    found = _NUMBERED.search(path.name)
    return Part(path, int(found[1]), int(found[2])) if found else Part(path, None, None)


def find_parts(source: Source, table: str, *, any_name: bool = True) -> list[Part]:
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

    Returns
    -------
    list of Part
        At least one.

    Raises
    ------
    TraceError
        If there is no file, a file does not exist, the same part is there twice, or the names disagree on the number
        of parts.
    InvalidInput
        If `source` is not a path or a sequence of paths, or is an empty sequence.
    """
    if isinstance(source, str | os.PathLike):
        root = Path(source)
        if not root.exists():
            raise TraceError(f"{root}: no such file or folder")
        if root.is_dir():
            here = sorted(p for p in root.iterdir() if p.is_file())
            inner = root / table
            if inner.is_dir():
                here += sorted(p for p in inner.iterdir() if p.is_file())
            paths = [p for p in here if _belongs(p, table)]
            if not paths and any_name:
                csv = [p for p in here if p.name.endswith(_SUFFIXES)]
                if all(p.name.startswith("part-") for p in csv):
                    paths = csv
            if not paths:
                raise TraceError(f"{root}: no {table} file (.csv or .csv.gz) in this folder")
        else:
            paths = [root]
    else:
        if not isinstance(source, Sequence) or not all(isinstance(p, str | os.PathLike) for p in source):
            raise InvalidInput("source", "must be a folder, a file or a sequence of files", source)
        paths = [Path(p) for p in source]
        if not paths:
            raise InvalidInput("source", "must name at least one file", source)
    for path in paths:
        if not path.is_file():
            raise TraceError(f"{path}: no such file")
        if not path.name.endswith(_SUFFIXES):
            raise TraceError(f"{path}: the name must end in .csv or .csv.gz")
    parts = sorted(
        (_part(p) for p in paths),
        key=lambda p: (p.number is None, p.number if p.number is not None else 0, p.path.name, str(p.path)),
    )
    seen: dict[object, Path] = {}
    for part in parts:
        key: object = part.path.resolve() if part.number is None else part.number
        if key in seen:
            raise TraceError(f"{part.path}: the same part as {seen[key]}")
        seen[key] = part.path
    totals = sorted({p.total for p in parts if p.total is not None})
    if len(totals) > 1:
        raise TraceError(f"{parts[0].path.parent}: the names disagree on the number of parts: {totals}")
    for part in parts:
        if part.number is not None and part.total is not None and part.number >= part.total:
            raise TraceError(f"{part.path}: part {part.number} of {part.total} cannot exist (numbers start at 0)")
    return parts


def missing_numbers(parts: Sequence[Part]) -> list[int]:
    """List the part numbers that are absent below the highest one present (the parts after it are merely unread)."""
    present = {p.number for p in parts if p.number is not None}
    return [k for k in range(max(present, default=-1)) if k not in present]


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    try:
        with path.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as error:
        raise TraceError(f"{path}: cannot be read ({error.strerror or error})") from error


def read_provenance(path: Path, needed: Sequence[str]) -> dict[str, Any]:
    """Read the record of what a digest was made of; its outputs must name the files that are ``needed``."""
    try:
        loaded = json.loads(path.read_text(encoding="ascii"))
        if not isinstance(loaded["outputs"], dict) or not set(needed) <= set(loaded["outputs"]):
            raise KeyError(needed[0])
        for name, output in loaded["outputs"].items():
            if Path(name).name != name or not isinstance(output["sha256"], str):
                raise ValueError(f"{name!r} among its outputs")
    except OSError as error:
        raise TraceError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise TraceError(f"{path}: is not the provenance of a digest ({error})") from error
    return dict(loaded)


class _BrokenFileError(Exception):
    """The file cannot be read on; the message says why."""


def _chunks(handle: BinaryIO, digest: object, zipped: bool) -> Iterator[tuple[bytes, int]]:
    """Yield decompressed pieces of at most `_BLOCK_BYTES` with the stored bytes that were read for them."""
    update = digest.update  # type: ignore[attr-defined]
    size = 0
    inflate = zlib.decompressobj(31) if zipped else None
    padding = False
    while raw := handle.read(_READ_BYTES if zipped else _BLOCK_BYTES):
        update(raw)
        read = len(raw)
        size += read
        if inflate is None:
            yield raw, read
            continue
        more = False
        while raw or more:
            if padding or inflate.eof:
                # A gzip file is one or more members; gzip itself allows zero bytes after the last.
                if not padding and raw[:1] == b"\x1f":
                    inflate = zlib.decompressobj(31)
                elif raw.count(0) == len(raw):
                    padding = True
                    break
                else:
                    raise _BrokenFileError("bytes that are not gzip follow the end of the gzip stream")
            try:
                out = inflate.decompress(raw, _BLOCK_BYTES)
            except zlib.error as error:
                raise _BrokenFileError(f"the gzip stream is damaged ({error})") from error
            # A full piece may have left output inside the inflater: go round again, with no input if need be.
            more = len(out) == _BLOCK_BYTES and not inflate.eof
            raw = inflate.unused_data if inflate.eof else inflate.unconsumed_tail
            if out:
                yield out, read
                read = 0
        if read:
            yield b"", read
    if size == 0:
        raise _BrokenFileError("the file is empty")
    if inflate is not None and not inflate.eof:
        raise _BrokenFileError("the gzip stream is cut short")


def _file_blocks(index: int, path: Path) -> Iterator[Block]:
    """Cut one file into blocks of whole lines; the last block carries the checksum, or the reason of failure."""
    digest = hashlib.sha256()
    tail = b""
    try:
        with path.open("rb") as handle:
            for piece, consumed in _chunks(handle, digest, path.name.endswith(".gz")):
                text = tail + piece if tail else piece
                stop = text.rfind(b"\n") + 1
                tail = text[stop:]
                if len(tail) > _LONGEST_LINE:
                    if stop:
                        yield Block(index, text, stop, consumed)
                    raise _BrokenFileError(f"the line is longer than {_LONGEST_LINE} bytes")
                yield Block(index, text, stop, consumed)
        if tail:
            raise _BrokenFileError("the last line does not end in a newline: the file looks cut short")
    except _BrokenFileError as error:
        yield Block(index, error=str(error))
    except OSError as error:
        yield Block(index, error=f"cannot be read ({error.strerror or error})")
    else:
        yield Block(index, last=True, sha256=digest.hexdigest())


class BlockReader:
    """Read files one after the other, decompressing and hashing in a thread of its own.

    zlib and hashlib release the interpreter lock, so on two cores the caller parses one block while the next is
    decompressed. Memory: at most 64 blocks of about 1 MiB wait in between. Reading starts with the object; leaving
    the ``with`` block stops it.

    Parameters
    ----------
    paths : sequence of pathlib.Path
        Files; those named ``*.gz`` are decompressed.

    Notes
    -----
    Iterating yields :class:`Block` objects in order; one that carries an `error` is the last of all.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = list(paths)
        self._waiting: queue.Queue[Block | BaseException | None] = queue.Queue(_QUEUE_BLOCKS)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="fairbook-read", daemon=True)
        self._thread.start()

    def _put(self, item: Block | BaseException | None) -> bool:
        while not self._stop.is_set():
            try:
                self._waiting.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def _work(self) -> None:
        try:
            for index, path in enumerate(self._paths):
                for block in _file_blocks(index, path):
                    if not self._put(block) or block.error is not None:
                        return
            self._put(None)
        except BaseException as error:  # handed over: a thread that died silently would leave the caller waiting
            self._put(error)

    def __enter__(self) -> BlockReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def __iter__(self) -> Iterator[Block]:
        while (item := self._waiting.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
            if item.error is not None:
                return


def write_atomically(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of a folder, made where it is missing, as :func:`fairbook.files.write_whole` does.

    Raises
    ------
    TraceError
        If the folder cannot be made or written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # to be shared, whatever the umask
        write_whole({folder / name: content for name, content in files.items()}, mode=0o644)
    except OSError as error:
        raise TraceError(f"{folder}: cannot write the digest ({error.strerror or error})") from error
