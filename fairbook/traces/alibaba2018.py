"""An hour of batch tasks of Alibaba's cluster-trace-v2018: a second workload, from a package that anyone can install.

The trace itself (8 days of some 4 000 machines; Alibaba, "for research or study purpose") is 48 GB. The package
``spar`` 0.0.7 (MIT; Tian, Zheng and Wang's generator of such workloads) carries one hour of its jobs as a CSV file
without header: 67 634 tasks of 16 749 jobs, 3 056 536 instances. Nothing of it is in fairbook: install the extra
``workloads``, or give the path of the file. Only this file of the package is opened; none of its code is imported.

As in :mod:`fairbook.traces.alibaba2017` a job consists of groups of instances, all of a group with the same request,
and what the papers call a task is an instance; the trace calls a group a task. Each line has: the second at which the
job arrived, the job's name, the task's name, seconds it took, CPU per instance in 1/100 core, memory per instance in
1/100 of the largest machine's, number of instances.

**Order.** All tasks of a job carry the job's arrival. Their names tell which waits for which: ``R3_1_2`` is number 3
and starts when 1 and 2 are done (``task_...`` waits for none). Within a job, groups are in the order of their *level*,
the length of the longest chain of tasks before it, and then of their number. (3 336 dependencies point to a higher
number, so that numbers alone would not do.)

References
----------
Alibaba Group. *Alibaba cluster trace program, cluster-trace-v2018*, ``trace_2018.md``: units, and how to read names.
H. Tian, Y. Zheng, W. Wang, "Characterizing and synthesizing task dependencies of data-parallel jobs in Alibaba cloud",
SoCC 2019.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fairbook.errors import MissingDependency, TraceError
from fairbook.traces.jobs import BatchJobs
from fairbook.traces.raw.files import Source, find_parts
from fairbook.traces.raw.tables import Column, Table

__all__ = ["Jobs", "read_tasks"]

PACKAGE: Final = "spar"
SHA256: Final = "3635e21b9b7e7755cf24112ce8ff802ac086fe1a89eccdd20f39ee0f4f37fe1b"
"""Of the file in version 0.0.7 of the package."""

_FILE: Final = "spar/data/samples/sample_tasks.csv"
_COLUMNS: Final = (
    Column("arrival", "count"),
    Column("job", "name"),
    Column("task", "name"),
    Column("seconds", "count"),
    Column("plan_cpu", "decimal"),
    Column("plan_mem", "decimal"),
    Column("instances", "positive"),
)
_MOST_INSTANCES: Final = 2**53  # sums of them are exact as floats too
_ORDERED = re.compile(r"[A-Za-z]+(\d{1,6})((?:_\d{1,6})*)")


@dataclass(frozen=True, eq=False, repr=False)
class Jobs(BatchJobs):
    """Jobs in order of arrival with their tasks, as groups of instances; from :func:`read_tasks`.

    ``sample`` and ``deal`` draw users from them. Of the 16 749 jobs 3 937 have one task, 1 407 have 10 or more and 275
    have 20 or more; the most is 91. The sample lasts an hour (arrivals from 0 to 3 600 s). All tasks of a job arrive at
    once, so that in a deal with ``merge="mean"`` a job is one demand vector.

    Attributes
    ----------
    first : (J + 1,) int array
        Job j has the groups first[j], ..., first[j + 1] - 1, at least one.
    created : (G,) int array
        Second at which the group's job arrived, from the start of the sample.
    instances : (G,) int array, positive
        Tasks, in the papers' sense, of the group.
    plan_cpu : (G,) float array, positive
        1/100 cores per instance.
    memory : (G,) float array, positive
        Fraction of the largest machine's memory per instance.
    seconds : (G,) int array
        How long the group took.
    level : (G,) int array
        Length of the longest chain of groups of the job that must end before this one starts; 0 for none.
    """

    first: NDArray[np.int64]
    created: NDArray[np.int64]
    instances: NDArray[np.int64]
    plan_cpu: NDArray[np.float64]
    memory: NDArray[np.float64]
    seconds: NDArray[np.int64]
    level: NDArray[np.int64]

    def __post_init__(self) -> None:
        for array in (self.first, self.created, self.instances, self.plan_cpu, self.memory, self.seconds, self.level):
            array.flags.writeable = False


def _in_the_package() -> Path:
    """Find the file in the installed package, without importing the package."""
    try:
        path = Path(str(importlib.metadata.distribution(PACKAGE).locate_file(_FILE)))
    except importlib.metadata.PackageNotFoundError as error:
        raise MissingDependency(
            f"the sample of cluster-trace-v2018 comes with the package {PACKAGE} (extra 'workloads'), which is not "
            "installed; or give the path of its sample_tasks.csv"
        ) from error
    if not path.is_file():
        raise TraceError(f"{path}: is missing from the installed package {PACKAGE}; is it another one of this name?")
    return path


def _levels(names: Sequence[str], where: Sequence[str]) -> list[tuple[int, int]]:
    """Give level and number of each task of a job from their names."""
    waits_for: dict[int, list[int]] = {}
    place: dict[int, int] = {}
    numbers: list[int | None] = []
    for name, line in zip(names, where, strict=True):
        found = _ORDERED.fullmatch(name)
        numbers.append(None if found is None else int(found[1]))
        if found is not None:
            if int(found[1]) in place:
                raise TraceError(f"{line}: the job has a task with the number {found[1]} already")
            place[int(found[1])] = len(numbers) - 1
            waits_for[int(found[1])] = [int(text) for text in found[2].split("_")[1:]]
    left = {number: len(set(others)) for number, others in waits_for.items()}
    after: dict[int, list[int]] = {}
    for number, others in waits_for.items():
        for other in set(others):
            after.setdefault(other, []).append(number)
    level = {number: 0 for number, count in left.items() if count == 0}
    ready = list(level)
    for done in ready:  # grows while it is walked: each task and each wait is looked at once
        for number in after.get(done, ()):
            left[number] -= 1
            if not left[number]:
                level[number] = 1 + max(level[other] for other in waits_for[number])
                ready.append(number)
    stuck = next((number for number in waits_for if number not in level), None)
    if stuck is not None:
        name = names[place[stuck]]
        raise TraceError(f"{where[place[stuck]]}: {name} waits for a task that is not there, or for itself")
    return [(0, 0) if number is None else (level[number], number) for number in numbers]


def read_tasks(source: Source | None = None) -> Jobs:
    r"""Read the tasks of the sample.

    Parameters
    ----------
    source : path or sequence of paths, optional
        The file ``sample_tasks.csv`` (or ``.csv.gz``), the folder that holds it, or its parts. By default the file of
        the installed package ``spar`` (extra ``workloads``), whose SHA-256 must be the known one.

    Returns
    -------
    Jobs

    Raises
    ------
    MissingDependency
        If no source is given and the package is not installed.
    TraceError
        If there is nothing to read, a file is damaged or cut short, a line is not in the format or asks for nothing of
        one resource, a task is there twice, tasks wait for each other in a circle, or there are more than 2**53
        instances; the message names file and line. Without a source also if the file
        is not the known one.

    Notes
    -----
    Every field of every line is checked. Linear time, about a second, and some 60 MB for the 67 634 lines. Jobs are in
    order of arrival, those of the same second in the order of the file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name) / "sample_tasks.csv"
    >>> _ = file.write_text("7,j_1,R2_1,30,50.0,0.3,4\n7,j_1,M1,12,100.0,0.5,9\n")
    >>> jobs = read_tasks(file)
    >>> jobs, jobs.instances.tolist(), jobs.level.tolist()
    (Jobs(1 jobs, 2 task groups, 13 instances), [9, 4], [0, 1])
    >>> folder.cleanup()
    """
    parts = find_parts(_in_the_package() if source is None else source, "sample_tasks", any_name=False)
    table = Table(parts, _COLUMNS, unique=("job", "task"))
    if source is None and table.files[0].sha256 != SHA256:
        raise TraceError(f"{parts[0].path}: its SHA-256 is not {SHA256}, that of {PACKAGE} 0.0.7")
    frame = table.frame
    for wrong, said in (
        (frame["plan_cpu"] == 0, "column 5 (plan_cpu) asks for nothing"),
        (frame["plan_mem"] == 0, "column 6 (plan_mem) asks for nothing"),
        (frame["plan_mem"] > 100, "column 6 (plan_mem) is more than 100, a whole machine"),
        (frame["arrival"] != frame.groupby("job")["arrival"].transform("first"), "its job arrived at another time"),
        (frame["instances"].astype(object).cumsum() > _MOST_INSTANCES, "more than 2**53 instances up to here"),
    ):
        if wrong.any():
            raise TraceError(f"{table.where(int(wrong.argmax()))}: {said}")
    order: list[int] = []
    levels: list[int] = []
    counts: list[int] = []
    names = frame["task"].tolist()
    arrivals = frame["arrival"].tolist()
    jobs = frame.groupby("job").indices.values()
    for rows in sorted(jobs, key=lambda rows: (arrivals[rows[0]], rows[0])):  # of the same second, as in the file
        places = _levels([names[k] for k in rows], [table.where(k) for k in rows])
        counts.append(len(rows))
        for (level, _), k in sorted(zip(places, rows.tolist(), strict=True)):
            order.append(k)
            levels.append(level)
    arrival, seconds, cpu, memory, instances = (
        frame[name].to_numpy()[order] for name in ("arrival", "seconds", "plan_cpu", "plan_mem", "instances")
    )
    return Jobs(
        np.cumsum([0, *counts]).astype(np.int64),
        arrival,
        instances,
        cpu,
        memory / 100.0,
        seconds,
        np.array(levels, np.int64),
    )
