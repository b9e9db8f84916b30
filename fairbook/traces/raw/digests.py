"""Making, writing and verifying a digest: the same for every trace."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import fairbook
from fairbook.errors import InvalidInput, TraceError
from fairbook.files import write_whole
from fairbook.traces.stored import open_digest

__all__ = ["DigestReport", "check_folder", "number"]

#: What of the record must come out again; the rest says how, where and of which copies a digest was made.
_COMPARED = ("counts", "machines", "requested_in_trace", "last_time_us", "missing_parts")


def number(x: float) -> str:
    """Write a float with the fewest digits that give it back; whole numbers without a point."""
    return str(int(x)) if x == int(x) and x < 1e15 else repr(float(x))


def check_folder(output_folder: str | Path) -> Path:
    """Return the folder that a digest is to be written to; it need not exist."""
    if not isinstance(output_folder, str | Path):
        raise InvalidInput("output_folder", "must be a path", output_folder)
    if Path(output_folder).exists() and not Path(output_folder).is_dir():
        raise TraceError(f"{output_folder}: is not a folder")
    return Path(output_folder)


@dataclass(frozen=True)
class DigestReport:
    """What a digest was made of and what it holds.

    Attributes
    ----------
    name : str
        The trace.
    provenance : dict
        The record ``<name>.json``: origin and terms, units, counts, input files, and the checksums of the tables.
    said : tuple of str
        The counts in words.
    files : dict of str to bytes
        The tables, and last the record that vouches for them.
    folder : pathlib.Path or None
        Where they were written, if they were.
    """

    name: str
    provenance: dict[str, Any]
    said: tuple[str, ...]
    files: dict[str, bytes] = field(repr=False)
    folder: Path | None = None

    @classmethod
    def of(
        cls, name: str, facts: Mapping[str, Any], tables: Mapping[str, Sequence[str]], said: Sequence[str]
    ) -> DigestReport:
        """Put a digest together from its tables' lines, headers first, and from what is known of it."""
        files = {table: ("\n".join(lines) + "\n").encode() for table, lines in tables.items()}
        outputs = {
            table: {"rows": len(tables[table]) - 1, "sha256": hashlib.sha256(content).hexdigest()}
            for table, content in files.items()
        }
        about = {key: facts[key] for key in ("trace", "licence", "attribution", "changes", "command")}
        provenance = about | {"fairbook": fairbook.__version__} | dict(facts) | {"outputs": outputs}
        files[f"{name}.json"] = (json.dumps(provenance, indent=1) + "\n").encode()
        return cls(name, provenance, tuple(said), files)

    @property
    def counts(self) -> dict[str, int]:
        """What was counted, by name."""
        return dict(self.provenance["counts"])

    @property
    def outputs(self) -> dict[str, str]:
        """SHA-256 of each table, by name."""
        return {table: output["sha256"] for table, output in self.provenance["outputs"].items()}

    def __str__(self) -> str:
        return "\n".join([*self.said, *(f"{table}  sha256 {value}" for table, value in self.outputs.items())])

    def write(self, folder: Path) -> DigestReport:
        """Write the files, each whole or not at all, the record last; the folder is made if absent.

        Raises
        ------
        TraceError
            If that cannot be done, or the folder holds a table of another digest of this trace that this one lacks.
        """
        stray = next((path for path in folder.glob(f"{self.name}_*.csv") if path.name not in self.files), None)
        if stray is not None:
            raise TraceError(f"{stray}: is of another digest, and these inputs give none")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # to be shared, whatever the umask
            write_whole({folder / name: content for name, content in self.files.items()}, mode=0o644)
        except OSError as error:
            raise TraceError(f"{folder}: cannot write the digest ({error.strerror or error})") from error
        return replace(self, folder=folder)

    def held_against(self, committed: str | Path | None) -> DigestReport:
        """Compare with a digest on disk, by default the one that ships, byte by byte; the files may be other copies.

        Raises
        ------
        TraceError
            At the first difference, with the input files that the other was not made of.
        """
        record, paths = open_digest(self.name, committed)
        known = json.dumps(record.get("inputs"))
        inputs = [file for files in self.provenance["inputs"].values() for file in files]
        others = [file["file"] for file in inputs if file["sha256"] not in known]
        copies = f" (not the file it was made of: {', '.join(others)})" if others else ""
        for table, path in paths.items():
            if table not in self.files:
                raise TraceError(f"{path}: what it was made of is missing")
            old, new = path.read_bytes().split(b"\n"), self.files[table].split(b"\n")
            if old != new:
                pairs = enumerate(zip(old, new, strict=False), start=1)
                line = next((k for k, (a, b) in pairs if a != b), min(len(old), len(new)))
                raise TraceError(f"{path}, line {line}: differs from the digest computed now{copies}")
        for key in _COMPARED:
            if record.get(key) != self.provenance.get(key):
                now = self.provenance.get(key)
                raise TraceError(f"{key} of the committed digest differ: {record.get(key)} and now {now}{copies}")
        return self
