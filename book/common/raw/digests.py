"""Finding and reading the files of a trace; making, writing and verifying a digest: the same for every trace."""

import hashlib
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pandas as pd

import fairbook
from fairbook.errors import TraceError
from fairbook.files import write_whole
from fairbook.traces.stored import EXACT, open_digest

#: What of the record must come out again; the rest says how, where and of which copies a digest was made.
_COMPARED: Final = ("counts", "machines", "requested_in_trace", "last_time_us", "missing_parts")


def number(x: float) -> str:
    """Write a float with the fewest digits that give it back; whole numbers without a point."""
    return str(int(x)) if x == int(x) else repr(float(x))


def find_files(folder: str | Path, table: str) -> list[Path]:
    """List the files of a table, as ``<table>*`` in the folder or ``part-*`` in ``<table>/`` below it, in part order.

    Raises
    ------
    TraceError
        If there is none.
    """
    names = (f"{start}*{end}" for start in (table, f"{table}/part-") for end in (".csv", ".csv.gz"))
    found = sorted(path for name in names for path in Path(folder).glob(name))
    if not found:
        raise TraceError(f"{folder}: no {table} file (.csv or .csv.gz) in this folder")
    return found


def part_of(path: Path) -> tuple[int | None, int | None]:
    """Give the number of a part and the number of parts that its name carries."""
    found = re.search(r"part-(\d+)-of-(\d+)\.csv", path.name)
    return (int(found[1]), int(found[2])) if found else (None, None)


def read(path: Path, columns: Mapping[str, str], *, titles: Sequence[str] = ()) -> tuple[pd.DataFrame, bool]:
    """Read a file whole.

    Parameters
    ----------
    path : pathlib.Path
        Comma-separated, plain or packed by gzip.
    columns : mapping of str to str
        Name and dtype of each: ``int64``, ``float64`` (NaN where nothing stands) or ``str``.
    titles : sequence of str
        What the first line may hold instead of a row.

    Returns
    -------
    frame, header
        The rows in file order, and whether titles stand above them.

    Raises
    ------
    TraceError
        If the file cannot be read, or does not have these columns; the message names it and says what is wrong.
    """
    try:
        first = [str(name).strip() for name in pd.read_csv(path, nrows=0).columns]
        if len(first) != len(columns):
            raise ValueError(f"{len(columns)} columns expected, {len(first)} found")
        frame = pd.read_csv(
            path,
            header=None,
            skiprows=int(first == list(titles)),
            names=list(columns),
            dtype=dict(columns),
            keep_default_na=False,
            na_values={name: [""] for name, kind in columns.items() if kind == "float64"},
            **EXACT,
        )
    except (OSError, EOFError, zlib.error, ValueError, OverflowError) as error:
        raise TraceError(f"{path}: is not a table of this trace as published ({error})") from error
    return frame, first == list(titles)


def described(path: Path, rows: int, **more: Any) -> dict[str, Any]:
    """Describe a file for the record of a digest."""
    with path.open("rb") as content:
        checksum = hashlib.file_digest(content, "sha256").hexdigest()
    return {"file": path.name, "part": part_of(path)[0], "rows": rows, **more, "sha256": checksum}


@dataclass(frozen=True)
class DigestReport:
    """What a digest was made of and what it holds.

    Attributes
    ----------
    name : str
        The trace.
    provenance : dict
        The record ``<name>.json``: origin and terms, units, counts, input files, and the checksums of the tables.
    files : dict of str to bytes
        The tables, and last the record that vouches for them.
    """

    name: str
    provenance: dict[str, Any]
    files: dict[str, bytes] = field(repr=False)

    @classmethod
    def of(cls, name: str, facts: Mapping[str, Any], tables: Mapping[str, Sequence[str]]) -> "DigestReport":
        """Put a digest together from its tables' lines, headers first, and from what is known of it."""
        files = {table: ("\n".join(lines) + "\n").encode() for table, lines in tables.items()}
        outputs = {
            table: {"rows": len(tables[table]) - 1, "sha256": hashlib.sha256(content).hexdigest()}
            for table, content in files.items()
        }
        about = {key: facts[key] for key in ("trace", "licence", "attribution", "changes", "command")}
        provenance = about | {"fairbook": fairbook.__version__} | dict(facts) | {"outputs": outputs}
        files[f"{name}.json"] = (json.dumps(provenance, indent=1) + "\n").encode()
        return cls(name, provenance, files)

    def __str__(self) -> str:
        counts, outputs = self.provenance["counts"], self.provenance["outputs"]
        said = [f"{name}: {count}" for name, count in counts.items()]
        return "\n".join([*said, *(f"{table}: sha256 {output['sha256']}" for table, output in outputs.items())])

    def write(self, folder: str | Path) -> None:
        """Write the files, each whole or not at all, the record last; the folder is made if absent."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        # to be shared, whatever the umask
        write_whole({Path(folder) / name: content for name, content in self.files.items()}, mode=0o644)

    def held_against(self, committed: str | Path | None = None) -> None:
        """Compare with a digest on disk, by default the one in ``data/``: tables byte by byte, and what was counted.

        Raises
        ------
        TraceError
            At the first difference.
        """
        record, paths = open_digest(self.name, committed)
        for table, path in paths.items():
            if path.read_bytes() != self.files.get(table):
                raise TraceError(f"{path}: differs from the digest computed now")
        for key in _COMPARED:
            if record.get(key) != self.provenance.get(key):
                now = self.provenance.get(key)
                raise TraceError(f"{key} of the committed digest differ: {record.get(key)} and now {now}")
