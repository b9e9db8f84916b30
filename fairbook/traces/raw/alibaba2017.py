"""Alibaba cluster-trace-v2017 as published: the reader, and the digest of batch jobs.

The trace is headerless CSV: one line of `batch_task` for each task group of a job. ``plan_cpu`` is in 1/100 core (50 is
half a core; machines have 64), ``plan_mem`` a fraction of the largest machine's memory, times are seconds since the
start of the trace; a few are negative, before it.

What is left out: a group whose line carries no ``plan_cpu`` or no ``plan_mem`` is counted and left out, and so is a job
that has no other. (Both are mandatory by the schema, and yet absent from 9 017 lines, nearly all of them still
Waiting.) Nothing else is: groups of every status are kept.

References
----------
Alibaba Group. *Alibaba cluster trace program, cluster-trace-v2017*, ``trace_201708.md`` and ``schema.csv``.
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from fairbook.errors import TraceError
from fairbook.traces import alibaba2017 as trace
from fairbook.traces.alibaba2017 import JOBS, MACHINES, NAME, REQUESTS, Jobs
from fairbook.traces.raw.digests import DigestReport, described, find_files, number, read, require, require_amounts
from fairbook.traces.stored import open_digest

__all__ = ["SHIPPED_DIGITS", "digest", "verify_digest"]

SHIPPED_DIGITS: Final = 3
"""Significant digits of memory and of instance counts in the digest that ships."""

_MEMORY_DECIMALS: Final = 9
_STATUS: Final = ("Ready", "Waiting", "Running", "Terminated", "Failed", "Cancelled")
_EVENTS: Final = ("add", "softerror", "harderror")
_INTEGERS: Final = {"created": "int64", "modified": "int64", "job": "int64", "task": "int64", "instances": "int64"}
_TASK_COLUMNS: Final = _INTEGERS | {"status": "str", "cpu": "float64", "memory": "float64"}
_SERVER_COLUMNS: Final = {
    "time": "int64", "machine": "int64", "event": "str", "detail": "str",
    "cpu": "float64", "memory": "float64", "disk": "float64",
}  # fmt: skip
# Copies of the trace are about that begin with the schema's own wording.
_TASK_TITLES: Final = (
    "task_create_time",
    "task_end_time",
    "job_id",
    "task_id",
    "number_of_instances",
    "status",
    "number_of_cpus_requested_per_instance_in_the_task",
    "normalized_memory_requested_per_instance_in_the_task",
)


def _read_tasks(path: Path) -> tuple[pd.DataFrame, bool]:
    tasks, header = read(path, _TASK_COLUMNS, titles=_TASK_TITLES)
    require(path, tasks["status"].isin(_STATUS), f"the status must be one of {', '.join(_STATUS)}")
    require(path, tasks["instances"] > 0, "the number of instances must be positive")
    require(path, ~tasks.duplicated(["job", "task"]), "this task of this job is there already")
    require_amounts(path, tasks, ["cpu", "memory"])
    return tasks, header


def _gather(known: pd.DataFrame) -> list[trace.Job]:
    """Gather the groups that carry a request into jobs."""
    ordered = known.sort_values(["job", "created", "task"])
    groups_of: dict[int, list[trace.Group]] = {}
    rows = zip(*(ordered[name].tolist() for name in ("job", "created", "instances", "cpu", "memory")), strict=True)
    for job, created, instances, cpu, memory in rows:
        groups_of.setdefault(job, []).append((created, instances, int(cpu), round(memory, _MEMORY_DECIMALS)))
    return [(g[0][0], tuple((t - g[0][0], n, cpu, memory) for t, n, cpu, memory in g)) for g in groups_of.values()]


def _counted(tasks: pd.DataFrame, known: pd.DataFrame, listed: list[trace.Job]) -> dict[str, int]:
    lacking = tasks[["cpu", "memory"]].isna().sum(axis=1)
    return {
        "rows": len(tasks),
        "jobs_in_trace": tasks["job"].nunique(),
        "instances_in_trace": int(tasks["instances"].sum()),
        "rows_without_request": len(tasks) - len(known),
        "rows_with_half_a_request": int((lacking == 1).sum()),
        "instances_without_request": int(tasks["instances"][lacking > 0].sum()),
        "jobs_without_request": tasks["job"].nunique() - len(listed),
        "jobs": len(listed),
        "groups": len(known),
        "instances": int(known["instances"].sum()),
        "groups_zero_cpu": int((known["cpu"] == 0).sum()),
        "groups_zero_memory": sum(group[3] == 0 for _, groups in listed for group in groups),
        "jobs_before_trace": sum(time < 0 for time, _ in listed),
        "jobs_within_a_second": sum(groups[-1][0] <= 1 for _, groups in listed),
        **{f"rows_{name.lower()}": int((tasks["status"] == name).sum()) for name in _STATUS},
    }


def _encode(jobs: Jobs) -> dict[str, list[str]]:
    """Write jobs as the lines of the digest's two tables."""
    keys = list(zip(jobs.plan_cpu.tolist(), jobs.memory.tolist(), strict=True))
    groups = Counter(keys)
    instances: Counter[tuple[int, float]] = Counter()
    for key, count in zip(keys, jobs.instances.tolist(), strict=True):
        instances[key] += count
    # Frequent requests get short codes: that is what keeps the table of jobs small.
    ranked = sorted(groups, key=lambda key: (-groups[key], key))
    code = {key: str(k) for k, key in enumerate(ranked)}
    requests = [f"{code[key]},{key[0]},{number(key[1])},{groups[key]},{instances[key]}" for key in ranked]

    times_of: dict[str, list[int]] = {}
    first = jobs.first.tolist()
    created, counts = jobs.created.tolist(), jobs.instances.tolist()
    for begin, end in zip(first[:-1], first[1:], strict=True):
        time = created[begin]
        shape = " ".join(
            code[keys[g]]
            + (f"*{counts[g]}" if counts[g] != 1 else "")
            + (f"+{created[g] - time}" if created[g] != time else "")
            for g in range(begin, end)
        )
        times_of.setdefault(shape, []).append(time)
    rows = sorted((times, shape) for shape, times in times_of.items())
    shapes = [f"{' '.join(map(str, times))},{shape}" for times, shape in rows]
    return {REQUESTS: [trace.REQUEST_HEADER, *requests], JOBS: [trace.JOB_HEADER, *shapes]}


def _compute(source: str | Path, memory_digits: int | None, instance_digits: int | None) -> DigestReport:
    """Read everything; write nothing."""
    path, server = find_files(source, "batch_task")[0], find_files(source, "server_event")[0]
    (tasks, header), (events, _) = _read_tasks(path), read(server, _SERVER_COLUMNS)
    require(server, events["event"].isin(_EVENTS), f"the event must be one of {', '.join(_EVENTS)}")
    require_amounts(server, events, ["cpu", "memory"])
    known = tasks.dropna(subset=["cpu", "memory"])
    if known.empty:
        raise TraceError(f"{path}: no row carries a request of CPU and memory")
    listed = _gather(known)
    options = {"memory_digits": memory_digits, "instance_digits": instance_digits}
    kept = Jobs.of(listed, np.empty((0, 3))).quantised(**options)
    tables = _encode(kept)
    counts = _counted(tasks, known, listed) | {
        "instances_stored": int(kept.instances.sum()),
        "distinct_requests": len(tables[REQUESTS]) - 1,
        "distinct_shapes": len(tables[JOBS]) - 1,
    }
    # each machine as its last event says; what runs on one with an error goes on running, by the documentation
    added = events[events["event"] == "add"].sort_values("time", kind="stable").dropna(subset=["cpu", "memory"])
    last = added.drop_duplicates("machine", keep="last").astype({"cpu": "int64"})
    mix = last.groupby(["cpu", "memory"]).size().rename("machines").reset_index()
    classes = (f"{cpu},{number(x)},{k}" for cpu, x, k in mix.itertuples(index=False, name=None))
    tables[MACHINES] = [trace.MACHINE_HEADER, *classes]
    machines = {
        "events": len(events),
        **{f"{name}_events": int((events["event"] == name).sum()) for name in _EVENTS},
        "machines": int(mix["machines"].sum()),
        "cpu": int((mix["cpu"] * mix["machines"]).sum()),
        "memory": round(math.fsum(mix["memory"] * mix["machines"]), 9),
    }
    rounded = {"memory": memory_digits, "instance counts": instance_digits}
    parts = [f"{name} to {digits}" for name, digits in rounded.items() if digits is not None]
    rounding = f"{' and '.join(parts)} significant digits" if parts else ""
    given = "".join(f", {name}={value}" for name, value in options.items() if value is not None)
    facts: dict[str, Any] = {
        "trace": "Alibaba cluster-trace-v2017",
        "licence": "for research or study purpose",
        "attribution": "Alibaba Group, Alibaba cluster trace program, cluster-trace-v2017",
        "changes": (
            "task groups with a request gathered into jobs, jobs into distinct shapes with their creation times; "
            f"memory rounded to {_MEMORY_DECIMALS} decimals{', then ' + rounding if rounding else ''}; "
            "job and task numbers, end times and states dropped; machines counted per capacity"
        ),
        "command": f"fairbook.traces.raw.alibaba2017.digest(FOLDER, 'data'{given})",
        "units": {
            "plan_cpu": "1/100 core per instance",
            "plan_mem": "fraction of the largest machine's memory per instance",
            "groups": "task groups (rows of batch_task) with this request",
            "instances": "instances of these groups",
            "created": "seconds since the start of the trace; one entry per job of this shape",
            "jobs.groups": "request[*instances][+seconds after the job's first group], in order; *1 and +0 left out",
            "cpu": "cores of a machine",
            "memory": "fraction of the largest machine's memory",
        },
        **options,
        "counts": counts,
        "machines": machines,
        "inputs": {
            "batch_task": [described(path, len(tasks), header=header)],
            "server_event": [described(server, len(events), header=False)],
        },
    }
    said = [
        f"{counts['rows']} task groups of {counts['jobs_in_trace']} jobs, {counts['instances_in_trace']} instances",
        f"{counts['rows_without_request']} groups without a request left out ({counts['instances_without_request']}"
        f" instances), and {counts['jobs_without_request']} jobs that have no other",
        f"{counts['groups']} groups of {counts['jobs']} jobs with {counts['instances']} instances in"
        f" {counts['distinct_shapes']} shapes of {counts['distinct_requests']} requests",
        *([f"{rounding}: {counts['instances_stored']} instances stored"] if rounding else []),
    ]
    return DigestReport.of(NAME, facts, tables, said)


def digest(
    source: str | Path,
    output_folder: str | Path,
    *,
    memory_digits: int | None = None,
    instance_digits: int | None = None,
) -> DigestReport:
    """Digest batch_task and server_event into requests, distinct job shapes with times, and machines.

    Parameters
    ----------
    source : path
        The folder of the trace, with ``batch_task*.csv`` and ``server_event*.csv`` in it, or ``.csv.gz``. A first line
        that holds the schema's titles, as in some copies, is skipped.
    output_folder : path
        Receives ``alibaba2017_requests.csv``, ``alibaba2017_jobs.csv``, ``alibaba2017_machines.csv`` and
        ``alibaba2017.json``; made if absent.
    memory_digits, instance_digits : int, optional
        Round to so many significant digits first. By default nothing is rounded but memory, to 9 decimals. The digest
        that ships was made with 3 and 3, which are also what the command line takes unless told otherwise.

    Returns
    -------
    DigestReport
        Counts: rows, jobs_in_trace, instances_in_trace; rows_without_request, rows_with_half_a_request,
        instances_without_request, jobs_without_request (left out); jobs, groups, instances (kept, before rounding);
        groups_zero_cpu, groups_zero_memory, jobs_before_trace, jobs_within_a_second; rows by status; after rounding:
        instances_stored, distinct_requests, distinct_shapes.

    Raises
    ------
    TraceError
        If a file is missing, damaged or not in the published format, a task of a job is there twice, or the output
        cannot be written.
    InvalidInput
        If an argument is none of the above.

    Notes
    -----
    About a second for the trace, linear in its lines, which are held: 110 MB for the whole process.
    The same input gives the same bytes, in whatever order its lines are. Nothing is written before all is read; each
    file is written under a temporary name and renamed, the record last.
    """
    return _compute(source, memory_digits, instance_digits).write(output_folder)


def verify_digest(source: str | Path, committed: str | Path | None = None) -> DigestReport:
    """Compute a digest again from the raw files and hold it equal to a recorded one, byte by byte.

    Parameters
    ----------
    source : path
        As for :func:`digest`. The files need not be the very ones of the record (copies differ in header, line ends and
        decimals of memory); what they say must be the same.
    committed : path, optional
        Folder of the digest; by default the one that ships with the package.

    Returns
    -------
    DigestReport
        Of the digest computed now; nothing is written.

    Raises
    ------
    TraceError
        If a file is missing or the digests differ; the message names the table.

    Notes
    -----
    Memory and instance counts are rounded as the record says they were.
    """
    record, _ = open_digest(NAME, committed)
    return _compute(source, record.get("memory_digits"), record.get("instance_digits")).held_against(committed)
