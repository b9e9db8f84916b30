"""Alibaba cluster-trace-v2017 as published: readers, and the digest of batch jobs.

The trace is headerless CSV: one line of `batch_task` for each task group of a job. ``plan_cpu`` is in 1/100 core (50 is
half a core; machines have 64), ``plan_mem`` a fraction of the largest machine's memory, times are seconds since the
start of the trace; a few are negative, before it.

What is left out: a group whose line carries no ``plan_cpu`` or no ``plan_mem`` is counted and left out, and so is a job
that has no other. (Both are mandatory by the schema, and yet absent from 9 017 lines, nearly all of them still
Waiting.) Nothing else is: groups of every status are kept. A line that is not in the published format is an error that
names file and line.

References
----------
Alibaba Group. *Alibaba cluster trace program, cluster-trace-v2017*, ``trace_201708.md`` and ``schema.csv``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from fairbook.errors import TraceError
from fairbook.traces.alibaba2017 import (
    JOB_HEADER,
    JOBS,
    MACHINE_HEADER,
    MACHINES,
    NAME,
    REQUEST_HEADER,
    REQUESTS,
    Job,
    Jobs,
)
from fairbook.traces.raw.digests import DigestReport, check_folder, number
from fairbook.traces.raw.files import Part, Source, find_tables, refuse_missing
from fairbook.traces.raw.tables import Column, Table
from fairbook.traces.stored import open_digest

__all__ = ["SHIPPED_DIGITS", "digest", "verify_digest"]

SHIPPED_DIGITS: Final = 3
"""Significant digits of memory and of instance counts in the digest that ships."""

_MEMORY_DECIMALS: Final = 9
_STATUS: Final = ("Ready", "Waiting", "Running", "Terminated", "Failed", "Cancelled")
_EVENTS: Final = ("add", "softerror", "harderror")
_TASK_COLUMNS: Final = (
    Column("create_timestamp", "time"),
    Column("modify_timestamp", "time"),
    Column("job_id", "count"),
    Column("task_id", "count"),
    Column("instance_num", "positive"),
    Column("status", words=_STATUS),
    Column("plan_cpu", "count", optional=True),
    Column("plan_mem", "decimal", optional=True),
)
_SERVER_COLUMNS: Final = (
    Column("timestamp", "time"),
    Column("machine_id", "count"),
    Column("event_type", words=_EVENTS),
    Column("event_detail", "word", optional=True),
    Column("cpu", "count", optional=True),
    Column("memory", "decimal", optional=True),
    Column("disk", "decimal", optional=True),
)
# Copies of the trace are about that begin with the schema's own wording; anything else on line 1 is an error.
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


def _task_table(parts: Sequence[Part]) -> Table:
    refuse_missing(parts, "batch_task")
    return Table(parts, _TASK_COLUMNS, titles=_TASK_TITLES, unique=("job_id", "task_id"))


def _machine_mix(events: Table) -> pd.DataFrame:
    """Count machines by cores and memory (fraction of the largest), each as its last ``add`` event says, sorted.

    Errors are passed over: by the trace's documentation what runs on such a machine goes on running.
    """
    frame = events.frame.sort_values("timestamp", kind="stable")  # file order among equal times
    known = frame[frame["event_type"] == "add"].dropna(subset=["cpu", "memory"])
    last = known.drop_duplicates("machine_id", keep="last").astype({"cpu": "int64"})
    return last.groupby(["cpu", "memory"]).size().rename("machines").reset_index()


def _gather(table: Table) -> tuple[list[Job], dict[str, int]]:
    """Gather the groups that carry a request into jobs, and count all."""
    frame = table.frame
    lacking = frame[["plan_cpu", "plan_mem"]].isna().sum(axis=1)
    known = frame[lacking == 0].sort_values(["job_id", "create_timestamp", "task_id"])
    if known.empty:
        raise TraceError(f"{table.files[0].part.path}: no row carries a request of CPU and memory")
    groups_of: dict[int, list[tuple[int, int, int, float]]] = {}
    columns = ("job_id", "create_timestamp", "instance_num", "plan_cpu", "plan_mem")
    for job, created, instances, cpu, memory in zip(*(known[name].tolist() for name in columns), strict=True):
        groups_of.setdefault(job, []).append((created, instances, cpu, round(memory, _MEMORY_DECIMALS)))
    listed: list[Job] = [
        (groups[0][0], tuple((created - groups[0][0], k, cpu, memory) for created, k, cpu, memory in groups))
        for groups in groups_of.values()
    ]
    instances_of = frame["instance_num"]
    return listed, {
        "rows": len(frame),
        "jobs_in_trace": frame["job_id"].nunique(),
        "instances_in_trace": _total(instances_of),
        "rows_without_request": len(frame) - len(known),
        "rows_with_half_a_request": int((lacking == 1).sum()),
        "instances_without_request": _total(instances_of[lacking > 0]),
        "jobs_without_request": frame["job_id"].nunique() - len(listed),
        "jobs": len(listed),
        "groups": len(known),
        "instances": _total(known["instance_num"]),
        "groups_zero_cpu": int((known["plan_cpu"] == 0).sum()),
        "groups_zero_memory": sum(group[3] == 0 for _, groups in listed for group in groups),
        "jobs_before_trace": sum(time < 0 for time, _ in listed),
        "jobs_within_a_second": sum(groups[-1][0] <= 1 for _, groups in listed),
        **{f"rows_{name.lower()}": int((frame["status"] == name).sum()) for name in _STATUS},
    }


def _total(counts: pd.Series) -> int:
    return sum(counts.tolist())  # 64 bits might not hold it


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
    return {REQUESTS: [REQUEST_HEADER, *requests], JOBS: [JOB_HEADER, *shapes]}


def _compute(source: Source, memory_digits: int | None, instance_digits: int | None) -> DigestReport:
    """Read everything; write nothing."""
    task_parts, machine_parts = find_tables(source, "batch_task", "server_event")
    tasks = _task_table(task_parts)
    server = Table(machine_parts, _SERVER_COLUMNS) if machine_parts else None
    listed, counts = _gather(tasks)
    options = {"memory_digits": memory_digits, "instance_digits": instance_digits}
    kept = Jobs.of(listed, np.empty((0, 3))).quantised(**options)
    tables = _encode(kept)
    counts |= {
        "instances_stored": int(kept.instances.sum()),
        "distinct_requests": len(tables[REQUESTS]) - 1,
        "distinct_shapes": len(tables[JOBS]) - 1,
    }
    rounded = {"memory": memory_digits, "instance counts": instance_digits}
    parts = [f"{name} to {digits}" for name, digits in rounded.items() if digits is not None]
    rounding = f"{' and '.join(parts)} significant digits" if parts else ""
    machines: dict[str, Any] | None = None
    if server is not None:
        mix = _machine_mix(server)
        tables[MACHINES] = [
            MACHINE_HEADER,
            *(f"{cpu},{number(x)},{k}" for cpu, x, k in mix.itertuples(index=False, name=None)),
        ]
        machines = {
            "events": len(server.frame),
            **{f"{name}_events": int((server.frame["event_type"] == name).sum()) for name in _EVENTS},
            "machines": int(mix["machines"].sum()),
            "cpu": int((mix["cpu"] * mix["machines"]).sum()),
            "memory": round(math.fsum(mix["memory"] * mix["machines"]), 9),
        }
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
        "inputs": {"batch_task": tasks.described(), "server_event": server.described() if server else []},
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
    source: Source,
    output_folder: str | Path,
    *,
    memory_digits: int | None = None,
    instance_digits: int | None = None,
) -> DigestReport:
    """Digest batch_task (and server_event, if there) into requests, distinct job shapes with times, and machines.

    Parameters
    ----------
    source : path or sequence of paths
        The folder of the trace (``batch_task*.csv`` or ``.csv.gz`` in it), or its files, in any order; a table may be
        cut into parts. A first line that holds the schema's titles, as in some copies, is skipped. Files of
        ``server_event`` are recognised by their own or their folder's name.
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
        cannot be written; the message names file and line.
    InvalidInput
        If an argument is none of the above.

    Notes
    -----
    Every field of every line is checked. About a second for the trace, linear in its lines, which are held. The same
    input gives the same bytes, in whatever order its lines are. Nothing is written before all is read; each file is
    written under a temporary name and renamed, the record last.
    """
    target = check_folder(output_folder)
    return _compute(source, memory_digits, instance_digits).write(target)


def verify_digest(source: Source, committed: str | Path | None = None) -> DigestReport:
    """Compute a digest again from the raw files and hold it equal to a recorded one, byte by byte.

    Parameters
    ----------
    source : path or sequence of paths
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
        If a file is missing or the digests differ; the message names the first difference.

    Notes
    -----
    Memory and instance counts are rounded as the record says they were.
    """
    record, _ = open_digest(NAME, committed)
    return _compute(source, record.get("memory_digits"), record.get("instance_digits")).held_against(committed)
