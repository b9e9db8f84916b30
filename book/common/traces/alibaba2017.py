"""Alibaba cluster-trace-v2017: the digest of batch jobs, and the two samplings of users from it.

The trace (one cluster of 1 313 machines in 2017; Alibaba) is published "for research or study purpose". A **job**
consists of **task groups** (the trace calls them tasks); a group has a number of **instances**, all with the same
request. What the papers call a task is an instance.

Units. ``plan_cpu`` is in 1/100 core (50 is half a core; machines have 64), ``plan_mem`` a fraction of the largest
machine's memory, times are seconds since the start of the trace; a few are negative, before it.

The digest that ships holds memory and instance counts to 3 significant digits, for the trace is published for research
and study only, and a digest of it should not stand in for it. Rounding changes nearly every memory request and 1 717
instance counts, all above 1 000; CPU and times stay. ``book/common/raw/alibaba2017.py`` says what was left out, and
gives everything exact.

References
----------
Alibaba Group. *Alibaba cluster trace program, cluster-trace-v2017*, ``trace_201708.md`` and ``schema.csv``. That 100
stands for one core is confirmed in issue 11 of the repository ``alibaba/clusterdata``.
"""

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from book.common.traces.rounding import significant
from fairbook.errors import InvalidInput, TraceError
from fairbook.model.inputs import as_whole
from fairbook.model.instance import checks_choices
from fairbook.traces import stored

__all__ = ["After", "DealtJobs", "Jobs", "Merge", "SampledJobs", "load_digest"]

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

#: How groups of one job with different requests are merged: into their mean, or queued one after the other.
Merge = Literal["mean", "queue"]
#: What a user does once its job has ended: nothing, or the job again.
After = Literal["idle", "cycle"]

_TOKEN = re.compile(r"(\d{1,9})(?:\*(\d{1,18}))?(?:\+(\d{1,18}))?")


def _check_number(value: Any, argument: str, least: float, rule: str) -> float:
    """Check that a number is positive, finite and at least `least`."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number or not (value > 0 and least <= value < 1e300):
        raise InvalidInput(argument, rule, value)
    return float(value)


class SampledJobs(NamedTuple):
    """Users drawn by :meth:`Jobs.sample`.

    Attributes
    ----------
    demands : (T, n, 2) float array, positive as the trace's requests are
        CPU in cores and memory that one instance of user i asks for in period t.
    tasks : (T, n) int array
        Number of instances; 0 where the user has none.
    jobs : (n,) int array
        Row of each user's job.
    """

    demands: NDArray[np.float64]
    tasks: NDArray[np.int64]
    jobs: NDArray[np.int64]


class DealtJobs(NamedTuple):
    """Users dealt their jobs by :meth:`Jobs.deal`.

    Attributes
    ----------
    demands : (T, n, 2) float array, positive as the trace's requests are
        CPU in cores and memory per instance of user i in period t; with ``merge="mean"`` the mean over its instances.
    tasks : (T, n) int array
        Number of instances; 0 where the user has none.
    users : (J,) int array
        To whom each job was dealt.
    start : float
        Second at which period 0 begins; a multiple of the period.
    """

    demands: NDArray[np.float64]
    tasks: NDArray[np.int64]
    users: NDArray[np.int64]
    start: float


def _fill_idle(demands: NDArray[np.float64], tasks: NDArray[np.int64]) -> None:
    """Give idle periods the user's last demand before (else its first one), so that no demand vector is empty."""
    T = len(tasks)
    at = np.where(tasks > 0, np.arange(T)[:, None], -1)
    np.maximum.accumulate(at, axis=0, out=at)
    first = np.argmax(tasks > 0, axis=0)
    at = np.where(at < 0, first, at)
    demands[:] = np.take_along_axis(demands, at[:, :, None], axis=0)


def _queue(when: NDArray[np.int64], owner: NDArray[np.int64], order: NDArray[np.intp]) -> NDArray[np.int64]:
    """Give each group, in `order` (by owner, then time), the first period, from its own on, that its owner has free."""
    slot = np.empty_like(when)
    bounds = np.flatnonzero(np.diff(owner[order])) + 1
    for groups in np.split(order, bounds):
        rank = np.arange(len(groups))
        slot[groups] = np.maximum.accumulate(when[groups] - rank) + rank
    return slot


@dataclass(frozen=True, eq=False, repr=False)
class Jobs:
    """The batch jobs of the trace with their task groups, in order of creation.

    From :func:`load_digest`: of the digest that ships (memory and instance counts to 3 significant digits), or of one
    that ``book.common.raw.alibaba2017.digest`` made from raw files (exact). The first is, to the last bit, what
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
        Cores, memory (fraction of the largest), number of machines.
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
    >>> draw = jobs.sample(5, np.random.default_rng(1), periods=8, min_groups=4)
    >>> draw.demands.shape, draw.tasks.shape, bool((draw.tasks[:4] > 0).all())
    ((8, 5, 2), (8, 5), True)
    >>> deal = jobs.deal(100, np.random.default_rng(1), 300.0)
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
    ) -> "Jobs":
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

    def quantised(self, *, memory_digits: int | None = None, instance_digits: int | None = None) -> "Jobs":
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
        memory = significant(self.memory, memory_digits, "memory_digits")
        counts = self.instances.astype(np.float64)
        instances = significant(counts, instance_digits, "instance_digits").astype(np.int64)
        arrays = (self.first.copy(), self.created.copy(), instances.copy(), self.plan_cpu.copy(), memory.copy())
        return Jobs(*arrays, self.machine_classes.copy())

    def __len__(self) -> int:
        return len(self.first) - 1

    def __repr__(self) -> str:
        return f"Jobs({len(self)} jobs, {len(self.created)} task groups, {int(self.instances.sum())} instances)"

    @property
    def cores(self) -> NDArray[np.float64]:
        """Cores per instance of each group, (G,)."""
        return self.plan_cpu / 100.0

    @property
    def groups_per_job(self) -> NDArray[np.int64]:
        """Number of task groups of each job, (J,), at least 1."""
        return np.diff(self.first)

    @property
    def frame(self) -> pd.DataFrame:
        """One row per task group: job, s (place in the job, from 0), created, instances, plan_cpu, memory."""
        job = np.repeat(np.arange(len(self)), self.groups_per_job.astype(np.intp))
        s = np.arange(len(self.created)) - self.first[job]
        columns = {"job": job, "s": s, "created": self.created, "instances": self.instances}
        return pd.DataFrame(columns | {"plan_cpu": self.plan_cpu, "memory": self.memory})

    @checks_choices
    def sample(
        self,
        n: int,
        rng: np.random.Generator,
        *,
        periods: int | None = None,
        min_groups: int = 1,
        after: After = "idle",
        memory_unit: float = 1.0,
    ) -> SampledJobs:
        """Draw n jobs as users, a job's s-th group of tasks being its demand in period s.

        Parameters
        ----------
        n : int
            Number of users, positive.
        rng : numpy.random.Generator
            Source of randomness; the same state gives the same draw.
        periods : int, optional
            Number T of periods; by default that of the drawn job with the most groups. Later groups are cut off.
        min_groups : int
            Draw among the jobs with at least so many groups.
        after : {"idle", "cycle"}
            What a job with fewer groups than periods does afterwards: nothing (0 tasks; the demand vector, which then
            has no meaning, stays the last one, so that it is positive), or begin again with its first group.
        memory_unit : float
            Memory of the largest machine in the unit wanted, positive; 1 leaves fractions of it.

        Returns
        -------
        SampledJobs

        Raises
        ------
        InvalidInput
            If an argument is none of the above, or fewer than n jobs have `min_groups` groups.

        Notes
        -----
        Jobs are drawn uniformly without replacement. O(T n + J).
        """
        stored.check_rng(rng)
        n = as_whole(n, "n", 1)
        least = as_whole(min_groups, "min_groups", 1)
        if periods is not None:
            periods = as_whole(periods, "periods", 1)
        unit = _check_number(memory_unit, "memory_unit", 0.0, "must be a positive finite number")
        groups = self.groups_per_job
        able = np.flatnonzero(groups >= least)
        if len(able) < n:
            raise InvalidInput("n", f"must be at most {len(able)}, the jobs with {least} or more task groups", n)
        drawn = rng.choice(able, n, replace=False)
        T = int(groups[drawn].max()) if periods is None else periods
        s = np.arange(T)[:, None]
        has = s < groups[drawn]
        place = np.minimum(s, groups[drawn] - 1) if after == "idle" else s % groups[drawn]
        at = self.first[drawn] + place
        tasks = np.where(has | (after == "cycle"), self.instances[at], 0)
        demands = np.stack((self.cores[at], self.memory[at] * unit), axis=-1)
        return SampledJobs(demands, tasks, drawn)

    @checks_choices
    def deal(
        self,
        n: int,
        rng: np.random.Generator,
        period: float,
        *,
        merge: Merge = "mean",
        memory_unit: float = 1.0,
    ) -> DealtJobs:
        """Deal all jobs out to n users, like cards, at their true times.

        Parameters
        ----------
        n : int
            Number of users, positive, at most the number of jobs. Users' numbers of jobs differ by one at most.
        rng : numpy.random.Generator
            Source of randomness; the same state gives the same deal.
        period : float
            Length of a period in seconds, at least 1. Period 0 begins at the last multiple of it that is not after the
            first creation; a group belongs to the period it was created in.
        merge : {"mean", "queue"}
            A user has one demand vector per period. If more groups fall into it: ``"mean"`` joins them, with all their
            instances and the mean of their requests, weighted by instances, so that the total of each resource is kept
            while shapes are averaged; ``"queue"`` lets a group wait, in order of creation, until the first period that
            its user has free, so that every request is kept while time is not, and there are more periods.
        memory_unit : float
            Memory of the largest machine in the unit wanted, positive; 1 leaves fractions of it.

        Returns
        -------
        DealtJobs
            An idle period has 0 tasks and the user's last demand vector before (or, before all, its first), so that it
            is positive.

        Raises
        ------
        InvalidInput
            If an argument is none of the above.

        Notes
        -----
        O(G log G + T n) for G groups; 24 T n bytes of results and about twice that on the way.
        """
        stored.check_rng(rng)
        n = as_whole(n, "n", 1)
        if n > len(self):
            raise InvalidInput("n", f"must be at most {len(self)}, the number of jobs", n)
        length = _check_number(period, "period", 1.0, "must be a finite number of seconds, at least 1")
        unit = _check_number(memory_unit, "memory_unit", 0.0, "must be a positive finite number")
        users = rng.permutation(np.arange(len(self)) % n)
        owner = np.repeat(users, self.groups_per_job.astype(np.intp))
        begin = math.floor(int(self.created.min()) / length)
        grid = np.floor(self.created / length) - begin
        when = grid.astype(np.int64)
        if merge == "queue":
            when = _queue(when, owner, np.lexsort((np.arange(len(owner)), self.created, owner)))
        T = int(when.max()) + 1
        cell = when * n + owner
        order = np.argsort(cell, kind="stable")
        cells, starts = np.unique(cell[order], return_index=True)
        count = self.instances[order].astype(np.float64)
        tasks = np.zeros(T * n, np.int64)
        tasks[cells] = np.add.reduceat(self.instances[order], starts)
        demands = np.zeros((T * n, 2))
        for k, request in enumerate((self.plan_cpu[order] / 100.0, self.memory[order] * unit)):
            mean = np.add.reduceat(request * count, starts) / tasks[cells]
            # The bounds make the mean of equal requests that request itself, to the last bit.
            low, high = np.minimum.reduceat(request, starts), np.maximum.reduceat(request, starts)
            demands[cells, k] = np.clip(mean, low, high)
        shaped, counts = demands.reshape(T, n, 2), tasks.reshape(T, n)
        _fill_idle(shaped, counts)
        return DealtJobs(shaped, counts, users, begin * length)


def _listed(jobs: pd.DataFrame, requests: NDArray[np.float64]) -> list[Job]:
    """Decode the table of jobs, and hold it against that of requests."""
    kinds = [(int(cpu), float(memory)) for _, cpu, memory, *_ in requests.tolist()]
    found = np.zeros((len(kinds), 2))
    listed: list[Job] = []
    for when, shape in jobs.astype(str).itertuples(index=False):
        times = [int(time) for time in when.split(" ")]
        groups: list[Group] = []
        for token in shape.split(" "):
            matched = _TOKEN.fullmatch(token)
            if matched is None:
                raise TraceError(f"{token!r} among its jobs")
            kind = int(matched[1])
            groups.append((int(matched[3] or 0), int(matched[2] or 1), *kinds[kind]))
            found[kind] += len(times), len(times) * groups[-1][1]
        listed += [(time, tuple(groups)) for time in times]
    if not listed or not np.array_equal(found, requests[:, 3:]):
        raise TraceError(f"the groups and instances of {JOBS} do not add up to those of {REQUESTS}")
    return listed


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
    record, tables = stored.read_digest(NAME, folder)
    requests, machines = (tables[name].to_numpy(dtype=np.float64) for name in (REQUESTS, MACHINES))
    return Jobs.of(_listed(tables[JOBS], requests), machines, record)
