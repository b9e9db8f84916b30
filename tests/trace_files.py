"""Small files of each trace in the published format, and where the genuine ones are."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest


def raw_folder(name: str) -> Path:
    """Return the folder with a genuine trace, or skip."""
    root = os.environ.get("FAIRBOOK_TRACES")
    if not root or not (Path(root) / name).is_dir():
        pytest.skip(f"FAIRBOOK_TRACES names no folder with {name}: the raw trace was NOT read")
    return Path(root) / name


def write(folder: Path, text: str | bytes, name: str) -> Path:
    """Write a file, packed where its name says so."""
    folder.mkdir(parents=True, exist_ok=True)
    data = text.encode() if isinstance(text, str) else text
    (folder / name).write_bytes(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)
    return folder / name
