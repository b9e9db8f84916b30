"""A small trace, the worked example of the page "How to add a mechanism, how to add a trace".

The format, invented for that page: headerless CSV ``batch_log.csv[.gz]``, a line for each job, with the second of its
submission, its owner, its number of tasks, and what each of them asks for: CPU in cores, memory in GB.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd

from fairbook.errors import InvalidInput, TraceError
from fairbook.traces._files import Source, file_sha256, find_parts, read_provenance, write_atomically
from fairbook.traces._rows import Column, Table

TABLE = "batch_log_requests.csv"
COLUMNS = (
    Column("second", "count"),
    Column("owner", "name"),
    Column("tasks", "count", least=1),
    Column("cpu", "decimal"),
    Column("memory", "decimal"),
)


def read_log(source: Source) -> pd.DataFrame:
    """Read the log as published, a row for each job; every field of every line is checked."""
    return _frame(Table(find_parts(source, "batch_log"), COLUMNS))


def _frame(table: Table) -> pd.DataFrame:
    for number, (_, owner, _, cpu, memory) in enumerate(table.rows):
        if not cpu + memory > 0:
            raise TraceError(f"{table.where(number)}: the job of {owner} asks for nothing")
    return pd.DataFrame(table.rows, columns=[column.name for column in COLUMNS])


def digest(source: Source, folder: Path) -> Path:
    """Count the tasks of each distinct request, and record what that was made of."""
    table = Table(find_parts(source, "batch_log"), COLUMNS)
    jobs = _frame(table)
    counts = jobs.groupby(["cpu", "memory"], as_index=False)["tasks"].sum()
    output = counts.to_csv(index=False, lineterminator="\n").encode()
    facts = {
        "trace": "batch log of the page on extending fairbook",
        "licence": "CC-BY 4.0, as the text of the book",
        "attribution": "The fairbook developers",
        "lost": "times, owners, and which tasks belong to one job",
        "inputs": table.described(),
        "counts": {"jobs": len(jobs), "tasks": int(jobs["tasks"].sum())},
        "outputs": {TABLE: {"rows": len(counts), "sha256": hashlib.sha256(output).hexdigest()}},
    }
    write_atomically(folder, {TABLE: output, "batch_log.json": (json.dumps(facts, indent=1) + "\n").encode("ascii")})
    return folder


def load_digest(folder: Path) -> pd.DataFrame:
    """Read the digest back, and refuse it where its table is not the one that was recorded."""
    facts = read_provenance(folder / "batch_log.json", [TABLE])
    if file_sha256(folder / TABLE) != facts["outputs"][TABLE]["sha256"]:
        raise TraceError(f"{folder / TABLE}: is not the file that batch_log.json describes")
    return pd.read_csv(folder / TABLE)


def sample_users(rng: np.random.Generator, n: int, counts: pd.DataFrame) -> pd.DataFrame:
    """Draw n tasks at random as users, with replacement: demands, shape (n, 2), one row a user."""
    if not isinstance(n, int) or n < 1:
        raise InvalidInput("n", "must be a whole number of at least 1", n)
    drawn = rng.choice(len(counts), size=n, p=counts["tasks"] / counts["tasks"].sum())
    return counts.loc[drawn, ["cpu", "memory"]].set_axis([f"user-{i}" for i in range(n)])
