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
    frame : DataFrame
        One row a user and request, sorted. ``user``: code of the trace user, from 0. ``cpu``, ``memory``: fractions of
        the largest machine, in [0, 1]. ``tasks``, ``jobs``: distinct tasks with this user and request, and distinct
        jobs among them, positive.
    machines : DataFrame
        One row a class: ``platform`` code, ``cpu``, ``memory``, and how many there are, ``at_start`` (time 0) and as
        ``last_known``.
    provenance : dict
        Contents of ``google2011.json``.
    """

    frame: pd.DataFrame
    machines: pd.DataFrame
    provenance: dict[str, Any]

    def __len__(self) -> int:
        return len(self.frame)

    def __repr__(self) -> str:
        users = self.frame["user"].nunique()
        return f"Digest({len(self)} rows, {self.frame['tasks'].sum()} tasks, {users} users)"

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
        return np.array([math.fsum(self.machines[name] * self.machines[when]) for name in ("cpu", "memory")])

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
        asks = self.frame[["cpu", "memory"]] > 0
        rows = self.frame[asks.all(axis=1) if zeros == "drop" else asks.any(axis=1)]
        if rows.empty:
            raise InvalidInput("zeros", "leaves no row to draw from", zeros)
        count = rows["jobs" if unit == "job" else "tasks"].to_numpy()
        cumulative = np.cumsum(count)
        if unit == "user":
            first = np.unique(rows["user"], return_index=True)[1]
            who = rng.integers(len(first), size=n)
            ticket = (cumulative - count)[first][who] + rng.integers(np.add.reduceat(count, first)[who])
        else:
            ticket = rng.integers(cumulative[-1], size=n)
        found = np.searchsorted(cumulative, ticket, side="right")
        demands = rows[["cpu", "memory"]].to_numpy(dtype=np.float64)[found]
        return demands / self.pool() if scale == "pool" else demands


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
    InvalidInput
        If `folder` is not a path or None.

    Examples
    --------
    >>> load_digest()
    Digest(4441 rows, 613827 tasks, 565 users)
    """
    record, tables = stored.read_digest(NAME, folder)
    return Digest(tables[REQUESTS], tables[MACHINES], record)
