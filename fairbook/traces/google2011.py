"""Google ClusterData2011_2: the digest of task requests, and the sampling of users from it.

The trace (29 days of one cluster of 12 583 machines, May 2011; CC-BY 4.0, Google) normalises CPU and memory, each by
itself, to the largest machine. ``book/common/raw/google2011.py`` reads its files and says what counts as a task.

References
----------
C. Reiss, J. Wilkes, J. L. Hellerstein. *Google cluster-usage traces: format + schema*. Google Inc., version 2.1, 2014.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.model.inputs import as_whole
from fairbook.model.instance import check_choice, checks_choices
from fairbook.traces import stored

__all__ = ["Digest", "load_digest"]

NAME: Final = "google2011"
REQUESTS: Final = "google2011_requests.csv"
MACHINES: Final = "google2011_machines.csv"
REQUEST_HEADER: Final = "user,cpu,memory,tasks,jobs"
MACHINE_HEADER: Final = "platform,cpu,memory,at_start,last_known"

When = Literal["at_start", "last_known"]
Unit = Literal["task", "job", "user"]
Zeros = Literal["drop", "keep"]
Scale = Literal["machine", "pool"]


@dataclass(frozen=True, eq=False, repr=False)
class Digest:
    """Counts of distinct tasks per trace user and request; draws users' demand vectors.

    Load one with :func:`load_digest`.

    Attributes
    ----------
    user : (r,) int array
        Code of the trace user, 0 to number of users - 1; rows are sorted by user, CPU, memory.
    cpu, memory : (r,) float array
        Request as a fraction of the largest machine, in [0, 1].
    tasks, jobs : (r,) int array, positive
        Distinct tasks with this user and request, and distinct jobs among them.
    machine_classes : (c, 5) float array
        Platform code, CPU, memory, machines at time 0, machines as last known.
    provenance : dict
        Contents of ``google2011.json``.
    """

    user: NDArray[np.int64]
    cpu: NDArray[np.float64]
    memory: NDArray[np.float64]
    tasks: NDArray[np.int64]
    jobs: NDArray[np.int64]
    machine_classes: NDArray[np.float64]
    provenance: dict[str, Any]

    def __post_init__(self) -> None:
        for array in (self.user, self.cpu, self.memory, self.tasks, self.jobs, self.machine_classes):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.tasks)

    def __repr__(self) -> str:
        return f"Digest({len(self)} rows, {int(self.tasks.sum())} tasks, {int(self.user[-1]) + 1} users)"

    @property
    def frame(self) -> pd.DataFrame:
        """The rows as a DataFrame with columns user, cpu, memory, tasks, jobs."""
        return pd.DataFrame({name: getattr(self, name) for name in REQUEST_HEADER.split(",")})

    @property
    def machines(self) -> pd.DataFrame:
        """The machine classes as a DataFrame with columns platform, cpu, memory, at_start, last_known."""
        frame = pd.DataFrame(self.machine_classes, columns=MACHINE_HEADER.split(","))
        return frame.astype({"platform": "int64", "at_start": "int64", "last_known": "int64"})

    def pool(self, when: When = "at_start") -> NDArray[np.float64]:
        """Total capacity of the machines.

        Parameters
        ----------
        when : {"at_start", "last_known"}
            The machines present at time 0, or all machines ever seen, each as last known.

        Returns
        -------
        (2,) float array
            CPU and memory, in units of the largest machine.

        Raises
        ------
        InvalidInput
            If `when` is something else.

        Examples
        --------
        >>> load_digest().pool().round(2).tolist()
        [6603.25, 5862.75]
        """
        check_choice(when, "when", When)
        of_each = self.machine_classes[:, 3 if when == "at_start" else 4]
        return np.array([math.fsum(self.machine_classes[:, k] * of_each) for k in (1, 2)])

    @checks_choices
    def sample(
        self,
        n: int,
        rng: np.random.Generator,
        *,
        unit: Unit = "task",
        zeros: Zeros = "drop",
        scale: Scale = "machine",
    ) -> NDArray[np.float64]:
        """Draw the demand vectors of n users, independently and with replacement.

        Parameters
        ----------
        n : int
            Number of users, positive.
        rng : numpy.random.Generator
            Source of randomness; the same state gives the same draw.
        unit : {"task", "job", "user"}
            What a user is. ``"task"``: each distinct task of the trace is equally likely (exact). ``"job"``: each
            distinct pair of a job and one of its requests is equally likely. That is a job drawn at random, except that
            a job whose tasks have r different requests is r times as likely as one whose tasks are all alike, and its
            requests are equally likely however many tasks have each (the digest does not say which rows belong to the
            same job; in the 14 parts 19 512 pairs are 19 115 jobs). ``"user"``: each trace user is equally likely, then
            each of its tasks (exact).
        zeros : {"drop", "keep"}
            ``"drop"`` leaves out requests with zero CPU or zero memory, and trace users that have no other; the paper's
            models need positive demands. ``"keep"`` leaves out only requests that are zero in both.
        scale : {"machine", "pool"}
            ``"machine"``: fractions of the largest machine, as published. ``"pool"``: divided by :meth:`pool`, so
            fractions of all machines present at time 0.

        Returns
        -------
        (n, 2) float array
            Columns CPU, memory.

        Raises
        ------
        InvalidInput
            If an argument is none of the above.

        Notes
        -----
        O(r + n log r) for r rows. Lost in the digest: arrival times and order, priorities, disk, which tasks belong to
        the same job.

        Examples
        --------
        >>> demands = load_digest().sample(500, np.random.default_rng(1))
        >>> demands.shape, bool((demands > 0).all())
        ((500, 2), True)
        """
        n = as_whole(n, "n", 1)
        stored.check_rng(rng)
        asks = np.column_stack((self.cpu > 0, self.memory > 0))
        rows = np.flatnonzero(asks.all(axis=1) if zeros == "drop" else asks.any(axis=1))
        if not len(rows):
            raise InvalidInput("zeros", "leaves no row to draw from", zeros)
        count = (self.jobs if unit == "job" else self.tasks)[rows]
        cumulative = np.cumsum(count)
        if unit == "user":
            first = np.unique(self.user[rows], return_index=True)[1]
            who = rng.integers(len(first), size=n)
            ticket = (cumulative - count)[first][who] + rng.integers(np.add.reduceat(count, first)[who])
        else:
            ticket = rng.integers(cumulative[-1], size=n)
        found = rows[np.searchsorted(cumulative, ticket, side="right")]
        demands = np.column_stack((self.cpu[found], self.memory[found]))
        if scale == "pool":
            demands /= self.pool()
        return demands


def _build(tables: dict[str, stored.Rows], record: dict[str, Any]) -> Digest:
    # as floats: counts are far below 2**53
    user, cpu, memory, tasks, jobs = np.array(tables[REQUESTS], np.float64).reshape(-1, 5).T.copy()
    machines = np.array(tables[MACHINES], np.float64).reshape(-1, 5)
    return Digest(user.astype(np.int64), cpu, memory, tasks.astype(np.int64), jobs.astype(np.int64), machines, record)


def load_digest(folder: str | Path | None = None) -> Digest:
    """Load the digest that ships with the package, or one made from raw files, and verify its checksums.

    Parameters
    ----------
    folder : path, optional
        Where the digest is; by default the shipped digest of parts 0-13.

    Returns
    -------
    Digest

    Raises
    ------
    TraceError
        If a file is missing or is not the one whose SHA-256 the provenance records.

    Examples
    --------
    >>> load_digest()
    Digest(4441 rows, 613827 tasks, 565 users)
    """
    return stored.load_digest(NAME, folder, {REQUESTS: REQUEST_HEADER, MACHINES: MACHINE_HEADER}, _build)
