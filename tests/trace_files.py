"""Small files of each trace in the published format, and where the genuine ones are."""

import gzip
import importlib
import math
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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


def exact(name: str, source: Any, **options: Any) -> Any:
    """Digest a folder of a trace, without rounding unless options say so, and load what comes out."""
    with tempfile.TemporaryDirectory() as folder:
        importlib.import_module(f"fairbook.traces.raw.{name}").digest(source, folder, **options)
        return importlib.import_module(f"fairbook.traces.{name}").load_digest(folder)


def follows(drawn: Mapping[Any, int], weights: Mapping[Any, float]) -> None:
    """Hold numbers of draws against a law, up to five standard deviations."""
    assert set(drawn) == set(weights)
    n, total = sum(drawn.values()), sum(weights.values())
    for key, p in ((key, weight / total) for key, weight in weights.items()):
        assert abs(drawn[key] - n * p) < 5 * math.sqrt(n * p * (1 - p)), key
