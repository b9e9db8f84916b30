"""Digests on disk: small tables with a record of what they were made of, which holds their checksums."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from fairbook.errors import InvalidInput, TraceError
from fairbook.traces.paths import data_path

__all__ = ["check_rng", "open_digest", "read_digest"]

# Decimals are to come out as float() reads them; pandas from 3.1 does so by itself, and warns if asked.
_NEW: Final = tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)
EXACT: Final[dict[str, Any]] = {} if _NEW else {"float_precision": "round_trip"}


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


def read_digest(name: str, folder: str | Path | None) -> tuple[dict[str, Any], dict[str, pd.DataFrame]]:
    """Read a digest: its record, and its tables by file name; arguments and errors as of :func:`open_digest`."""
    record, paths = open_digest(name, folder)
    return record, {table: pd.read_csv(path, keep_default_na=False, **EXACT) for table, path in paths.items()}
