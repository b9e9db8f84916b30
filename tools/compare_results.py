"""Say what differs between two states of the stored results: tables, and the ledgers row by row.

    python tools/compare_results.py OLD [NEW]    each a revision of the repository or a folder; NEW is data/results

Seconds do not count, nor do versions or the hash of the sources. The exit code is 1 where anything else differs.
"""

import argparse
import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
STORED = "data/results"


def state(where: str) -> dict[str, bytes]:
    """Read the files of a state, by their path below ``data/results``."""
    folder = Path(where)
    if folder.is_dir():
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.*"))}
    archive = subprocess.run(["git", "archive", where, STORED], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        return {
            one.name.removeprefix(STORED + "/"): files.extractfile(one).read()  # type: ignore[union-attr]
            for one in files.getmembers()
            if one.isfile()
        }


def _cells(data: bytes) -> pd.DataFrame:
    frame = pd.read_csv(io.BytesIO(data), dtype=str, keep_default_na=False).drop(columns="seconds", errors="ignore")
    return frame.set_index("id") if "id" in frame else frame


def _cut(value: object) -> str:
    return text if len(text := str(value)) <= 100 else text[:97] + "..."


def differences(old: dict[str, bytes], new: dict[str, bytes]) -> Iterator[str]:
    """Yield a line for each thing that differs."""
    for path in sorted(old.keys() | new.keys()):
        name, _, kind = path.rpartition(".")
        if path not in old or path not in new:
            yield f"{path}: {'added' if path in new else 'removed'}"
        elif old[path] == new[path]:
            continue
        elif kind == "json":
            before, after = (json.loads(one[path])["facts"] for one in (old, new))
            yield from (
                f"{name}, {key}: {_cut(before.get(key))} -> {_cut(after.get(key))}"
                for key in sorted(before.keys() | after.keys())
                if before.get(key) != after.get(key)
            )
        elif kind == "csv":
            before, after = _cells(old[path]), _cells(new[path])
            if before.index.name is None and len(before) != len(after):
                yield f"{name}: {len(before)} rows -> {len(after)}"
                continue
            for axis in (0, 1):  # rows where they have names, and columns
                one, two = before.axes[axis], after.axes[axis]
                yield from (f"{name} {key}: removed" for key in one.difference(two, sort=False))
                yield from (f"{name} {key}: added" for key in two.difference(one, sort=False))
            before, after = before.align(after, join="inner")
            for key, column in zip(*np.nonzero((before != after).to_numpy()), strict=True):
                both = (_cut(frame.iat[key, column]) for frame in (before, after))
                yield f"{name} {before.index[key]}, {before.columns[column]}: {' -> '.join(both)}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare two states of the stored results.")
    parser.add_argument("old", help="a revision or a folder")
    parser.add_argument("new", nargs="?", default=str(ROOT / STORED), help="the same; default: data/results")
    options = parser.parse_args()
    found = list(differences(state(options.old), state(options.new)))
    print(*found, f"{len(found)} differences", sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
