"""A small trace, the worked example of the page "How to add a paper, how to add a trace".

The format, invented for that page: headerless CSV ``batch_log.csv[.gz]``, a line for each job, with the second of its
submission, its owner, its number of tasks, and what each of them asks for: CPU in cores, memory in GB.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from book.common.raw.digests import DigestReport, described, read
from fairbook.errors import InvalidInput, TraceError
from fairbook.traces.stored import open_digest

TABLE = "batch_log_requests.csv"
COLUMNS = {"second": "int64", "owner": "str", "tasks": "int64", "cpu": "float64", "memory": "float64"}


def require(path: Path, right: pd.Series, rule: str) -> None:
    """Refuse the first row that breaks a rule."""
    if not right.all():
        raise TraceError(f"{path}, row {int(right.to_numpy().argmin()) + 1}: {rule}")


def read_log(path: Path) -> pd.DataFrame:
    """Read the log as published, a row for each job."""
    jobs, _ = read(path, COLUMNS)
    require(path, jobs["tasks"] > 0, "a job must have tasks")
    require(path, (jobs["cpu"] >= 0) & (jobs["memory"] >= 0), "CPU and memory must be numbers from 0")
    require(path, jobs["cpu"] + jobs["memory"] > 0, "the job asks for nothing")
    return jobs


def digest(path: Path, folder: Path) -> Path:
    """Count the tasks of each distinct request, and record what that was made of."""
    jobs = read_log(path)
    counts = jobs.groupby(["cpu", "memory"], as_index=False)["tasks"].sum()
    facts = {
        "trace": "batch log of the page on extending fairbook",
        "licence": "CC-BY 4.0, as the text of the book",
        "attribution": "The fairbook developers",
        "changes": "tasks counted per request; times, owners, and which tasks belong to one job, are lost",
        "command": "batch_log.digest(FILE, FOLDER)",
        "inputs": {"batch_log": [described(path, len(jobs))]},
        "counts": {"jobs": len(jobs), "tasks": int(jobs["tasks"].sum())},
    }
    lines = counts.to_csv(index=False, lineterminator="\n").splitlines()
    DigestReport.of("batch_log", facts, {TABLE: lines}).write(folder)
    return folder


def load_digest(folder: Path) -> pd.DataFrame:
    """Read the digest back, and refuse it where its table is not the one that was recorded."""
    _, paths = open_digest("batch_log", folder)
    return pd.read_csv(paths[TABLE])


def sample_users(n: int, rng: np.random.Generator, counts: pd.DataFrame) -> pd.DataFrame:
    """Draw n tasks at random as users, with replacement: demands, shape (n, 2), one row a user."""
    if not isinstance(n, int) or n < 1:
        raise InvalidInput("n", "must be a whole number of at least 1", n)
    drawn = rng.choice(len(counts), size=n, p=counts["tasks"] / counts["tasks"].sum())
    return counts.loc[drawn, ["cpu", "memory"]].set_axis([f"user-{i}" for i in range(n)])
