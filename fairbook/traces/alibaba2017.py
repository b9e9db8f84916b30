"""Alibaba cluster-trace-v2017: the digest of batch jobs, and the two samplings of users from it.

The trace (one cluster of 1 313 machines in 2017; Alibaba) is published "for research or study purpose". A **job**
consists of **task groups** (the trace calls them tasks); a group has a number of **instances**, all with the same
request. What the papers call a task is an instance.

Units. ``plan_cpu`` is in 1/100 core (50 is half a core; machines have 64), ``plan_mem`` a fraction of the largest
machine's memory, times are seconds since the start of the trace; a few are negative, before it.

The digest that ships holds memory and instance counts to 3 significant digits, for the trace is published for research
and study only, and a digest of it should not stand in for it. Rounding changes nearly every memory request and 1 717
instance counts, all above 1 000; CPU and times stay. :mod:`fairbook.traces.raw.alibaba2017` says what was left out, and
gives everything exact.

References
----------
Alibaba Group. *Alibaba cluster trace program, cluster-trace-v2017*, ``trace_201708.md`` and ``schema.csv``. That 100
stands for one core is confirmed in issue 11 of the repository ``alibaba/clusterdata``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.traces import stored
from fairbook.traces.checks import check_digits, significant
from fairbook.traces.jobs import BatchJobs

__all__ = ["Jobs", "load_digest"]

NAME: Final = "alibaba2017"
REQUESTS: Final = "alibaba2017_requests.csv"
JOBS: Final = "alibaba2017_jobs.csv"
MACHINES: Final = "alibaba2017_machines.csv"
REQUEST_HEADER: Final = "request,plan_cpu,plan_mem,groups,instances"
JOB_HEADER: Final = "created,groups"
MACHINE_HEADER: Final = "cpu,memory,machines"

Group = tuple[int, int, int, float]
"""Seconds after the job's first group, instances, 1/100 cores, memory."""
Job = tuple[int, tuple[Group, ...]]
"""Second at which the first group was created, and the groups in order."""

_TOKEN = re.compile(r"(\d{1,9})(?:\*(\d{1,18}))?(?:\+(\d{1,18}))?")


@dataclass(frozen=True, eq=False, repr=False)
class Jobs(BatchJobs):
    """The batch jobs of the trace with their task groups, in order of creation.

    From :func:`load_digest`: of the digest that ships (memory and instance counts to 3 significant digits), or of one
    that :func:`fairbook.traces.raw.alibaba2017.digest` made from raw files (exact). The first is, to the last bit, what
    :meth:`quantised` makes of the second. ``sample`` and ``deal`` draw users from them.

    Attributes
    ----------
    first : (J + 1,) int array
        Job j has the groups first[j], ..., first[j + 1] - 1, at least one.
    created : (G,) int array
        Second at which each group was created, since the start of the trace; a few are negative.
    instances : (G,) int array, positive
        Tasks, in the papers' sense, of the group.
    plan_cpu : (G,) int array
        1/100 cores per instance.
    memory : (G,) float array
        Fraction of the largest machine's memory per instance, to 9 decimals or as the digest was rounded.
    machine_classes : (c, 3) float array
        Cores, memory (fraction of the largest), number of machines; no rows if the digest was made without them.
    provenance : dict
        Contents of ``alibaba2017.json``; empty after :meth:`quantised`.

    Notes
    -----
    Jobs are in order of creation, those of the same second in order of their groups (offset, instances, request);
    rounding may make a few of the same second equal or, in a digest, change their order, which in the one that ships it
    does not;
    the groups of a job in order of creation and of the published task number. Job and task numbers are not kept, nor is
    the status. 5 numbers per group: 3 MB for the trace.

    Of the 12 014 jobs that ship, 3 055 have one group, half have 5 or more, 2 526 have 10 or more and 335 have 20 or
    more; the most is 156. In 99 % of them all groups are created within one second: in a sample the order of the groups
    (by creation, then by task number) stands for time, their timestamps do not. The first creation is 1 078 s before
    the trace's start.

    Examples
    --------
    >>> jobs = load_digest()
    >>> draw = jobs.sample(np.random.default_rng(1), 5, periods=8, min_groups=4)
    >>> draw.demands.shape, draw.tasks.shape, bool((draw.tasks[:4] > 0).all())
    ((8, 5, 2), (8, 5), True)
    >>> deal = jobs.deal(np.random.default_rng(1), 100, 300.0)
    >>> deal.demands.shape, deal.start, int(deal.tasks.sum())
    ((205, 100, 2), -1200.0, 11057692)
    """

    first: NDArray[np.int64]
    created: NDArray[np.int64]
    instances: NDArray[np.int64]
    plan_cpu: NDArray[np.int64]
    memory: NDArray[np.float64]
    machine_classes: NDArray[np.float64]
    provenance: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for array in (self.first, self.created, self.instances, self.plan_cpu, self.memory, self.machine_classes):
            array.flags.writeable = False

    @classmethod
    def of(
        cls, listed: list[Job], machine_classes: NDArray[np.float64], provenance: dict[str, Any] | None = None
    ) -> Jobs:
        """Sort jobs and lay them out as arrays."""
        listed = sorted(listed)
        flat = [(time + offset, *rest) for time, groups in listed for offset, *rest in groups]
        created, instances, cpu, memory = zip(*flat, strict=True)
        return cls(
            np.cumsum([0, *(len(groups) for _, groups in listed)]).astype(np.int64),
            np.array(created, np.int64),
            np.array(instances, np.int64),
            np.array(cpu, np.int64),
            np.array(memory, np.float64),
            machine_classes,
            provenance or {},
        )

    @property
    def machines(self) -> pd.DataFrame:
        """The machine classes as a DataFrame with columns cpu, memory, machines."""
        frame = pd.DataFrame(self.machine_classes, columns=MACHINE_HEADER.split(","))
        return frame.astype({"cpu": "int64", "machines": "int64"})

    def quantised(self, *, memory_digits: int | None = None, instance_digits: int | None = None) -> Jobs:
        """Round memory and instance counts to significant digits, each half to even.

        Parameters
        ----------
        memory_digits, instance_digits : int, optional
            1 to 15 significant decimal digits; None leaves the numbers alone.

        Returns
        -------
        Jobs
            In the same order as these, so that the same generator draws the same jobs.

        Examples
        --------
        >>> load_digest().quantised(memory_digits=2, instance_digits=1)
        Jobs(12014 jobs, 71536 task groups, 10959626 instances)
        """
        memory = significant(self.memory, check_digits(memory_digits, "memory_digits"))
        digits = check_digits(instance_digits, "instance_digits")
        instances = significant(self.instances.astype(np.float64), digits).astype(np.int64)
        arrays = (self.first.copy(), self.created.copy(), instances.copy(), self.plan_cpu.copy(), memory.copy())
        return Jobs(*arrays, self.machine_classes.copy())


def _build(tables: dict[str, stored.Rows], record: dict[str, Any]) -> Jobs:
    """Decode the table of jobs, and hold it against that of requests."""
    requests = np.array(tables[REQUESTS], np.float64).reshape(-1, 5)
    kinds = [(int(cpu), float(memory)) for _, cpu, memory, *_ in requests.tolist()]
    found = np.zeros((len(kinds), 2))
    listed: list[Job] = []
    for when, shape in tables[JOBS]:
        times = [int(time) for time in when.split(" ")]
        groups: list[Group] = []
        for token in shape.split(" "):
            matched = _TOKEN.fullmatch(token)
            if matched is None:
                raise ValueError(f"{token!r} among its jobs")
            kind = int(matched[1])
            groups.append((int(matched[3] or 0), int(matched[2] or 1), *kinds[kind]))
            found[kind] += len(times), len(times) * groups[-1][1]
        listed += [(time, tuple(groups)) for time in times]
    if not listed or not np.array_equal(found, requests[:, 3:]):
        raise ValueError(f"the groups and instances of {JOBS} do not add up to those of {REQUESTS}")
    return Jobs.of(listed, np.array(tables.get(MACHINES, []), np.float64).reshape(-1, 3), record)


def load_digest(folder: str | Path | None = None) -> Jobs:
    """Load the digest that ships with the package, or one made from raw files, and verify its checksums.

    Parameters
    ----------
    folder : path, optional
        Where the digest is; by default the shipped digest of the whole trace.

    Returns
    -------
    Jobs

    Raises
    ------
    TraceError
        If a file is missing, is not the one whose SHA-256 the provenance records, or does not hold what it should.

    Notes
    -----
    Less than half a second; nothing is kept between calls, so load once and pass it on.

    Examples
    --------
    >>> load_digest()
    Jobs(12014 jobs, 71536 task groups, 11057692 instances)
    """
    headers = {REQUESTS: REQUEST_HEADER, JOBS: JOB_HEADER, MACHINES: MACHINE_HEADER}
    return stored.load_digest(NAME, folder, headers, _build)
