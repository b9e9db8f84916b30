"""A small trace, the worked example of the page "How to add a paper, how to add a trace".

The format, invented for that page: headerless CSV ``batch_log.csv[.gz]``, a line for each job, with the second of its
submission, its owner, its number of tasks, and what each of them asks for: CPU in cores, memory in GB.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from fairbook.errors import InvalidInput, TraceError
from fairbook.traces.raw.digests import DigestReport
from fairbook.traces.raw.files import Source, find_parts
from fairbook.traces.raw.tables import Column, Table
from fairbook.traces.stored import open_digest

TABLE = "batch_log_requests.csv"
COLUMNS = (
    Column("second", "count"),
    Column("owner", "name"),
    Column("tasks", "positive"),
    Column("cpu", "decimal"),
    Column("memory", "decimal"),
)


def read_log(source: Source) -> pd.DataFrame:
    """Read the log as published, a row for each job; every field of every line is checked."""
    return _frame(Table(find_parts(source, "batch_log"), COLUMNS))


def _frame(table: Table) -> pd.DataFrame:
    nothing = table.frame["cpu"] + table.frame["memory"] == 0
    if nothing.any():
        raise TraceError(f"{table.where(int(nothing.argmax()))}: the job asks for nothing")
    return table.frame


def digest(source: Source, folder: Path) -> Path:
    """Count the tasks of each distinct request, and record what that was made of."""
    table = Table(find_parts(source, "batch_log"), COLUMNS)
    jobs = _frame(table)
    counts = jobs.groupby(["cpu", "memory"], as_index=False)["tasks"].sum()
    facts = {
        "trace": "batch log of the page on extending fairbook",
        "licence": "CC-BY 4.0, as the text of the book",
        "attribution": "The fairbook developers",
        "changes": "tasks counted per request; times, owners, and which tasks belong to one job, are lost",
        "command": "batch_log.digest(FILE, FOLDER)",
        "inputs": {"batch_log": table.described()},
        "counts": {"jobs": len(jobs), "tasks": int(jobs["tasks"].sum())},
    }
    lines = counts.to_csv(index=False, lineterminator="\n").splitlines()
    DigestReport.of("batch_log", facts, {TABLE: lines}, said=[]).write(folder)
    return folder


def load_digest(folder: Path) -> pd.DataFrame:
    """Read the digest back, and refuse it where its table is not the one that was recorded."""
    _, paths = open_digest("batch_log", folder)
    return pd.read_csv(paths[TABLE])


def sample_users(rng: np.random.Generator, n: int, counts: pd.DataFrame) -> pd.DataFrame:
    """Draw n tasks at random as users, with replacement: demands, shape (n, 2), one row a user."""
    if not isinstance(n, int) or n < 1:
        raise InvalidInput("n", "must be a whole number of at least 1", n)
    drawn = rng.choice(len(counts), size=n, p=counts["tasks"] / counts["tasks"].sum())
    return counts.loc[drawn, ["cpu", "memory"]].set_axis([f"user-{i}" for i in range(n)])
