"""How far the digest of the trace, and the figures drawn from it, move between disjoint halves of its files.

The digest does not say which file a task stood in, so this, alone of all that is stored, is made from the raw files, in
the folder ``google2011`` of the folder that ``FAIRBOOK_TRACES`` names.
"""

import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from book.common.raw import google2011
from book.common.raw.digests import find_files
from book.common.runs import storing
from book.dmfa_srq.studies import DATA, MEASURES, RUNS, SEED, curves
from fairbook.errors import TraceError
from fairbook.traces.google2011 import Digest, load_digest

__all__ = ["STORED", "halves"]

#: Files by their place in the order of time: two ways to halve them.
HALVES = {
    "all": lambda k, n: True,
    "even": lambda k, n: k % 2 == 0,
    "odd": lambda k, n: k % 2 == 1,
    "first": lambda k, n: k < n // 2,
    "last": lambda k, n: k >= n // 2,
}


def _digest(files: list[Path], others: list[Path]) -> Digest:
    """Digest some files of the trace, with all of those that are not divided."""
    with tempfile.TemporaryDirectory() as folder:
        for path in (*files, *others):
            (Path(folder) / path.name).symlink_to(path.resolve())
        google2011.digest(folder).write(Path(folder) / "digest")
        return load_digest(Path(folder) / "digest")


def halves(runs: int = RUNS, seed: int = SEED, *, n: int = 100, progress: bool = False) -> pd.DataFrame:
    """Digest each half, and run the experiment of Figures 5 to 8 on it, at one size after the last arrival.

    Returns
    -------
    DataFrame
        One row a half: ``files`` (which), ``tasks``, ``requests`` (different ones), ``cpu`` and ``memory`` (a task's
        mean request, in parts of the largest machine), ``cpu_first`` (the part of the tasks that ask for a larger part
        of CPU), and of each measure the mean of DMFA-SRQ (of CPU and memory: ``used_``) and, after ``gain_``, its mean
        difference from the static optimum; ``n`` and ``runs``.

    Raises
    ------
    TraceError
        If ``FAIRBOOK_TRACES`` names no folder with the trace.
    """
    folder = Path(os.environ.get("FAIRBOOK_TRACES", "")) / "google2011"
    if not folder.is_dir():
        raise TraceError(
            "the halves of the trace need its files: FAIRBOOK_TRACES names no folder with google2011 in it"
        )
    events, machines = find_files(folder, "task_events"), find_files(folder, "machine_events")
    rows = []
    for half, belongs in HALVES.items():
        digest = _digest([path for k, path in enumerate(events) if belongs(k, len(events))], machines)
        asked = digest.frame
        weight = asked["tasks"] / asked["tasks"].sum()
        found = curves(runs, seed, sizes=(n,), points=1, progress=progress, digest=digest)
        means = found.pivot(index="measure", columns="mechanism", values="mean")
        rows.append(
            {
                "files": half,
                "tasks": asked["tasks"].sum(),
                "requests": len(asked.drop_duplicates(["cpu", "memory"])),
                "cpu": np.dot(asked["cpu"], weight),
                "memory": np.dot(asked["memory"], weight),
                "cpu_first": weight[asked["cpu"] > asked["memory"]].sum(),
            }
            | {
                measure if measure not in asked else f"used_{measure}": means["dynamic"][measure]
                for measure in MEASURES
            }
            | {f"gain_{measure}": means["difference"][measure] for measure in MEASURES}
        )
    return pd.DataFrame(rows).assign(n=n, runs=runs)


STORED = {"dmfa_srq/halves": storing("dmfa_srq/halves", halves, module=__name__, seed=SEED, data=DATA, runs=RUNS)}
