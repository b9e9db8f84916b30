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

import math
from collections import Counter
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from book.common.raw.digests import DigestReport, described, find_files, number, read
from book.common.traces import alibaba2017 as trace
from book.common.traces.alibaba2017 import JOBS, MACHINES, NAME, REQUESTS, Jobs

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


def digest(folder: str | Path, *, memory_digits: int | None = 3, instance_digits: int | None = 3) -> DigestReport:
    """Digest batch_task and server_event into requests, distinct job shapes with times, and machines.

    Parameters
    ----------
    folder : path
        The trace, with ``batch_task*.csv`` and ``server_event*.csv`` in it, or ``.csv.gz``. A first line that holds the
        schema's titles, as in some copies, is skipped.
    memory_digits, instance_digits : int or None
        Round to so many significant digits first; None rounds nothing but memory, to 9 decimals. The digest in
        ``data/`` was made with 3 and 3.

    Returns
    -------
    DigestReport

    Raises
    ------
    TraceError
        If a file is missing, damaged or not in the published format.

    Notes
    -----
    About a second for the trace. The same input gives the same bytes, in whatever order its lines are.
    """
    path, server = find_files(folder, "batch_task")[0], find_files(folder, "server_event")[0]
    (tasks, header), (events, _) = read(path, _TASK_COLUMNS, titles=_TASK_TITLES), read(server, _SERVER_COLUMNS)
    known = tasks.dropna(subset=["cpu", "memory"])
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
    rounding = " and ".join(
        f"{name} to {digits} significant digits" for name, digits in rounded.items() if digits is not None
    )
    given = "".join(f", {name}={value}" for name, value in options.items())
    facts: dict[str, Any] = {
        "trace": "Alibaba cluster-trace-v2017",
        "licence": "for research or study purpose",
        "attribution": "Alibaba Group, Alibaba cluster trace program, cluster-trace-v2017",
        "changes": (
            "task groups with a request gathered into jobs; jobs with the same groups made one row, with their "
            f"creation times; memory rounded to {_MEMORY_DECIMALS} decimals{', then ' + rounding if rounding else ''}; "
            "job and task numbers, end times and states dropped; machines counted per capacity"
        ),
        "command": f"book.common.raw.alibaba2017.digest(FOLDER{given}).write('data')",
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
    return DigestReport.of(NAME, facts, tables)
