"""Digests on disk: small tables with a record of what they were made of, which holds their checksums."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from fairbook.errors import InvalidInput, TraceError
from fairbook.traces.paths import data_path

__all__ = ["Rows", "check_rng", "load_digest", "open_digest"]

Rows = list[list[str]]
"""The fields of a table without its header."""

T = TypeVar("T")


def check_rng(rng: object) -> None:
    """Refuse what is no generator."""
    if not isinstance(rng, np.random.Generator):
        raise InvalidInput("rng", "must be a numpy.random.Generator", rng)


def open_digest(name: str, folder: str | Path | None) -> tuple[dict[str, Any], dict[str, Path]]:
    """Read the record ``<name>.json`` of a digest and hold its tables against the checksums in it.

    Parameters
    ----------
    name : str
        Name of the trace.
    folder : path or None
        Where the digest is; None for the one that ships with the package.

    Returns
    -------
    dict, dict of str to pathlib.Path
        The record, and the tables that it lists.

    Raises
    ------
    TraceError
        If a file is missing, the record is none, or a table is not the one whose SHA-256 it holds.
    InvalidInput
        If `folder` is not a path or None.
    """
    if folder is not None and not isinstance(folder, str | Path):
        raise InvalidInput("folder", "must be a path or None", folder)

    def find(file: str) -> Path:
        return data_path(file) if folder is None else Path(folder) / file

    path = find(f"{name}.json")
    try:
        record = dict(json.loads(path.read_text(encoding="ascii")))
        recorded = {table: str(output["sha256"]) for table, output in record["outputs"].items()}
        paths = {table: find(table) for table in recorded}
        for table, path in paths.items():
            if hashlib.sha256(path.read_bytes()).hexdigest() != recorded[table]:
                raise TraceError(f"{path}: its SHA-256 is not the recorded {recorded[table]}; make the digest again")
    except OSError as error:
        raise TraceError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise TraceError(f"{path}: is not the provenance of a digest ({error})") from error
    return record, paths


def load_digest(
    name: str,
    folder: str | Path | None,
    headers: Mapping[str, str],
    build: Callable[[dict[str, Rows], dict[str, Any]], T],
) -> T:
    """Open a digest and build from its tables what they hold.

    Parameters
    ----------
    name, folder
        As for :func:`open_digest`, which also says what is raised.
    headers : mapping of str to str
        The header of each table that the digest may have.
    build : callable
        Takes the rows of each table that is there, and the record. What it raises for tables that do not hold what
        they should, ``ValueError`` or an exception of look-up, becomes a ``TraceError``.
    """
    record, paths = open_digest(name, folder)
    tables = {}
    try:
        for table, header in headers.items():
            if table in paths:
                first, *lines = paths[table].read_text(encoding="ascii").splitlines()
                if first != header:
                    raise ValueError(f"{table}: expected the header {header!r}")
                tables[table] = [line.split(",") for line in lines]
        return build(tables, record)
    except (ValueError, LookupError, OverflowError) as error:
        raise TraceError(f"{folder or name}: is not a digest of this trace ({error})") from error
