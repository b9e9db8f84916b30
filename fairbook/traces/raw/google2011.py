"""Google ClusterData2011_2 as published: the reader, and the digest of task requests.

The trace is headerless CSV, in 500 parts for `task_events`. CPU, memory and disk are normalised, each by itself, to the
largest machine; times are microseconds, 0 stands for "before the trace" and 2**63 - 1 for "after it".

What counts as a task: a distinct (job ID, task index) among the SUBMIT events (type 0). A task may be submitted many
times, after a failure or an eviction. It keeps the CPU and memory request (and the trace user) of its **earliest SUBMIT
event that carries both**, by time and then by file order; a task none of whose SUBMIT events carries both is counted
and left out. Zero requests are genuine and kept.

References
----------
C. Reiss, J. Wilkes, J. L. Hellerstein. *Google cluster-usage traces: format + schema*. Google Inc., version 2.1, 2014.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from fairbook.errors import TraceError
from fairbook.progress import bar
from fairbook.traces.google2011 import MACHINE_HEADER, MACHINES, NAME, REQUEST_HEADER, REQUESTS
from fairbook.traces.raw.digests import (
    DigestReport,
    described,
    find_files,
    number,
    part_of,
    read,
    require,
    require_amounts,
)
from fairbook.traces.stored import open_digest

__all__ = ["digest", "verify_digest"]

_END_OF_TRACE: Final = 2**63 - 1
_INTEGERS: Final = ("time", "job_id", "task_index", "event_type", "machine_id")
_TEXTS: Final = ("user", "platform")
_TASK_COLUMNS: Final = (
    "time,missing_info,job_id,task_index,machine,event_type,user,scheduling_class,priority,"
    "cpu,memory,disk,different_machines"
)
_MACHINE_COLUMNS: Final = "time,machine_id,event_type,platform,cpu,memory"
_TASK: Final = ["job_id", "task_index"]
_REQUEST: Final = ["cpu", "memory"]


def _read(path: Path, columns: str, events: int) -> pd.DataFrame:
    kinds = {
        name: "int64" if name in _INTEGERS else "str" if name in _TEXTS else "float64" for name in columns.split(",")
    }
    frame, _ = read(path, kinds)
    require(path, frame["event_type"].between(0, events - 1), f"the type of event must be from 0 to {events - 1}")
    require_amounts(path, frame, _REQUEST)
    return frame


def _machine_mix(events: pd.DataFrame) -> pd.DataFrame:
    """Count machines by platform and capacity, sorted: at time 0, and all ever seen as last known."""
    known = events.sort_values("time", kind="stable").dropna(subset=_REQUEST)  # file order among equal times
    counts = {
        name: some.drop_duplicates("machine_id", keep="last").groupby(["platform", *_REQUEST]).size()
        for name, some in (("at_start", known[known["time"] == 0]), ("last_known", known))
    }
    mix = pd.DataFrame(counts).fillna(0).astype("int64").sort_index().reset_index()
    return mix.assign(platform=pd.factorize(mix["platform"], sort=True)[0])


def _compute(files: Sequence[Path], machines: Sequence[Path], progress: bool) -> DigestReport:
    """Read everything; write nothing."""
    users: dict[str, int] = {}  # in order of appearance
    held, rows_of, submits, lacking, last_time = [], [], 0, 0, 0
    for path in bar(files, shown=progress, desc="task_events", unit="part", leave=False):
        part = _read(path, _TASK_COLUMNS, 9)
        rows_of.append(len(part))
        last_time = max(last_time, int(part["time"].where(part["time"] < _END_OF_TRACE, 0).max()))
        part = part[part["event_type"] == 0].sort_values("time", kind="stable")
        submits, lacking = submits + len(part), lacking + int(part[_REQUEST].isna().any(axis=1).sum())
        codes = {user: users.setdefault(user, len(users)) for user in part["user"].unique()}
        part["user"] = part["user"].map(codes).astype("int32")
        held.append(part[["time", *_TASK, "user", *_REQUEST]].drop_duplicates([*_TASK, "user", *_REQUEST]))
    rows = pd.concat(held, ignore_index=True).sort_values("time", kind="stable")
    distinct = len(rows.drop_duplicates(_TASK))
    known = rows.dropna(subset=_REQUEST)
    kept = known.drop_duplicates(_TASK)  # in time order: the earliest
    if kept.empty:
        raise TraceError(f"{files[0]} and {len(files) - 1} more: no SUBMIT event carries CPU and memory requests")
    variants = known.drop_duplicates([*_TASK, *_REQUEST])
    changing = len(variants[variants.duplicated(_TASK)].drop_duplicates(_TASK))
    named = kept.assign(user=pd.factorize(np.array(list(users), object)[kept["user"]], sort=True)[0])
    table = named.groupby(["user", *_REQUEST])["job_id"].agg(["size", "nunique"]).reset_index()
    table.columns = pd.Index(["user", *_REQUEST, "tasks", "jobs"])
    zero_cpu, zero_memory = table["cpu"] == 0, table["memory"] == 0
    counts = {
        "events": sum(rows_of),
        "submit_events": submits,
        "submit_events_without_request": lacking,
        "distinct_tasks": distinct,
        "tasks_without_request": distinct - len(kept),
        "tasks": len(kept),
        "tasks_changing_request": changing,
        "tasks_zero_cpu": int(table["tasks"][zero_cpu].sum()),
        "tasks_zero_memory": int(table["tasks"][zero_memory].sum()),
        "tasks_zero_both": int(table["tasks"][zero_cpu & zero_memory].sum()),
        "jobs": kept["job_id"].nunique(),
        "users": table["user"].nunique(),
        "distinct_requests": len(table.drop_duplicates(_REQUEST)),
        "rows": len(table),
    }
    requests = [
        f"{user},{number(cpu)},{number(memory)},{n},{jobs}"
        for user, cpu, memory, n, jobs in table.itertuples(index=False, name=None)
    ]
    pool = [_read(path, _MACHINE_COLUMNS, 3) for path in machines]
    events = pd.concat(pool, ignore_index=True)
    mix = _machine_mix(events)
    classes = [f"{p},{number(c)},{number(m)},{a},{b}" for p, c, m, a, b in mix.itertuples(index=False, name=None)]
    pools = {"events": len(events), "machines_seen": events["machine_id"].nunique()} | {
        when: {
            "machines": int(mix[when].sum()),
            "cpu": round(math.fsum(mix["cpu"] * mix[when]), 9),
            "memory": round(math.fsum(mix["memory"] * mix[when]), 9),
        }
        for when in ("at_start", "last_known")
    }
    parts = [part for part in map(part_of, files) if part[0] is not None]
    missing = sorted({*range(max((int(k) for k, _ in parts if k is not None), default=-1))} - {k for k, _ in parts})
    facts: dict[str, Any] = {
        "trace": "Google ClusterData2011_2",
        "licence": "CC-BY-4.0",
        "attribution": "Google Inc.; C. Reiss, J. Wilkes, J. L. Hellerstein, Google cluster-usage traces, 2011",
        "changes": (
            "SUBMIT events reduced to distinct tasks, each with its earliest CPU and memory request, and counted per "
            "trace user and request; machines counted per platform and capacity; user and platform hashes replaced "
            "by their rank"
        ),
        "command": "fairbook.traces.raw.google2011.digest(FOLDER, 'data')",
        "units": {
            "user": "rank of the published user hash among the users of this digest, from 0",
            "cpu": "fraction of the largest machine's CPU",
            "memory": "fraction of the largest machine's memory",
            "tasks": "distinct (job ID, task index)",
            "jobs": "distinct job IDs with such a task",
            "platform": "rank of the published platform hash, from 0",
            "at_start": "machines with an event at time 0",
            "last_known": "machines by their last event that carries both capacities",
        },
        "last_time_us": last_time,
        "parts": [number for number, _ in parts],
        "parts_total": parts[0][1] if parts else None,
        "missing_parts": missing,
        "counts": counts,
        "machines": pools,
        "inputs": {
            "task_events": [described(path, rows) for path, rows in zip(files, rows_of, strict=True)],
            "machine_events": [described(path, len(frame)) for path, frame in zip(machines, pool, strict=True)],
        },
    }
    said = [
        f"{len(files)} files, {counts['events']} events, {submits} SUBMIT",
        f"{distinct} distinct tasks of {counts['jobs']} jobs and {counts['users']} users in {len(table)} rows",
        f"{distinct - len(kept)} tasks without a request left out, {changing} change theirs,"
        f" {counts['tasks_zero_cpu']} ask for no CPU and {counts['tasks_zero_memory']} for no memory",
        *([f"{len(missing)} part(s) of task_events missing: {missing}"] if missing else []),
    ]
    return DigestReport.of(
        NAME, facts, {REQUESTS: [REQUEST_HEADER, *requests], MACHINES: [MACHINE_HEADER, *classes]}, said
    )


def _files(source: str | Path, parts: Collection[int | None] | None) -> tuple[list[Path], list[Path]]:
    tasks, machines = find_files(source, "task_events"), find_files(source, "machine_events")
    if parts is None:
        return tasks, machines
    tasks = [path for path in tasks if part_of(path)[0] in parts]
    if len(tasks) < len(parts):
        raise TraceError(f"{source}: {len(tasks)} of the {len(parts)} parts of the committed digest are there")
    return tasks, machines


def digest(source: str | Path, output_folder: str | Path, progress: bool = True) -> DigestReport:
    """Digest task_events and machine_events into counts per trace user and request.

    Parameters
    ----------
    source : path
        The folder of the trace as published or flattened: ``task_events*`` or ``task_events/part-*``, and the same of
        ``machine_events``, ``.csv`` or ``.csv.gz``. Not all parts need be there; the record says which are missing
        below the highest.
    output_folder : path
        Receives ``google2011_requests.csv``, ``google2011_machines.csv`` and ``google2011.json``; made if absent.
    progress : bool
        Show a progress bar on stderr.

    Returns
    -------
    DigestReport
        Counts: events, submit_events, submit_events_without_request, distinct_tasks, tasks_without_request, tasks
        (those in the digest), tasks_changing_request, tasks_zero_cpu, tasks_zero_memory, tasks_zero_both, jobs, users,
        distinct_requests, rows.

    Raises
    ------
    TraceError
        If a file is missing, damaged or not in the published format, or the output cannot be written.
    InvalidInput
        If an argument is not a path.

    Notes
    -----
    One part is read at a time; of each, the distinct (task, user, request) are kept, 44 bytes each (44 000
    tasks a part in the 14 parts of the shipped digest). Joining them takes up to 350 bytes each for a while: the peak
    of the whole process is 310 MB for the 14 parts, and would be some 9 GB for the 25 million distinct tasks that all
    500 parts hold. Two or three seconds for the 14 parts, nearly all of it in decompression and pandas' parser.

    The same input gives the same bytes. Nothing is written before all is read; each file is written under a temporary
    name and renamed, the record last (and ``load_digest`` notices a mixture by its checksums).
    """
    return _compute(*_files(source, None), progress).write(output_folder)


def verify_digest(source: str | Path, committed: str | Path | None = None, progress: bool = False) -> DigestReport:
    """Compute a digest again from the trace's files and hold it equal to a committed one.

    Parameters
    ----------
    source : path
        As for :func:`digest`; parts that the committed digest does not cover are ignored.
    committed : path, optional
        Folder of the digest; by default the one that ships with the package.
    progress : bool
        Show a progress bar on stderr.

    Returns
    -------
    DigestReport
        Of the digest computed now; nothing is written.

    Raises
    ------
    TraceError
        If a part is missing, or the digests differ; the message names the table.
    """
    record, _ = open_digest(NAME, committed)
    return _compute(*_files(source, record.get("parts") or None), progress).held_against(committed)
