"""Google ClusterData2011_2 as published: streaming readers, and the digest of task requests.

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
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from fairbook.errors import TraceError
from fairbook.progress import bar
from fairbook.traces.google2011 import MACHINE_HEADER, MACHINES, NAME, REQUEST_HEADER, REQUESTS
from fairbook.traces.raw.digests import DigestReport, check_folder, number
from fairbook.traces.raw.files import File, Part, Source, find_tables, missing_numbers, said_missing
from fairbook.traces.raw.tables import Column, Table, frames
from fairbook.traces.stored import open_digest

__all__ = ["MissingPartsWarning", "digest", "verify_digest"]

_END_OF_TRACE: Final = 2**63 - 1
_JOINED_ROWS: Final = 1_000_000
_TASK_COLUMNS: Final = (
    Column("time", "microseconds"),
    Column("missing_info", "count", optional=True),
    Column("job_id", "count"),
    Column("task_index", "count"),
    Column("machine_id", "count", optional=True),
    Column("event_type", "count", words=tuple("012345678")),
    Column("user", "text", optional=True),
    Column("scheduling_class", "count", optional=True),
    Column("priority", "count"),
    Column("cpu_request", "decimal", optional=True),
    Column("memory_request", "decimal", optional=True),
    Column("disk_request", "decimal", optional=True),
    Column("different_machines", "count", optional=True),
)
_MACHINE_COLUMNS: Final = (
    Column("time", "microseconds"),
    Column("machine_id", "count"),
    Column("event_type", "count", words=tuple("012")),
    Column("platform", "text", optional=True),
    Column("cpu", "decimal", optional=True),
    Column("memory", "decimal", optional=True),
)
_TASK: Final = ["job_id", "task_index"]
_REQUEST: Final = ["user", "cpu_request", "memory_request"]
_CLASS: Final = ["platform", "cpu", "memory"]


class MissingPartsWarning(UserWarning):
    """A numbered part is absent below the highest part that is present."""


def _machine_mix(events: Table) -> pd.DataFrame:
    """Count machines by platform and capacity, sorted: at time 0, and all ever seen as last known."""
    frame = events.frame.sort_values("time", kind="stable")  # file order among equal times
    known = frame.dropna(subset=["cpu", "memory"])
    counts = {
        name: some.drop_duplicates("machine_id", keep="last").groupby(_CLASS).size()
        for name, some in (("at_start", known[known["time"] == 0]), ("last_known", known))
    }
    return pd.DataFrame(counts).fillna(0).astype("int64").sort_index().reset_index()


class _Tasks:
    """The distinct (task, user, request) of all SUBMIT events so far, each with its earliest time, in time order."""

    def __init__(self) -> None:
        self.held: list[pd.DataFrame] = []
        self.codes: dict[tuple[str, float, float], int] = {}
        """Distinct (user, CPU, memory), in order of appearance; -1 stands for a request that is not complete."""

    def add(self, submitted: pd.DataFrame) -> int:
        """Take in SUBMIT events, which follow the others in file order; count those without a request."""
        complete = submitted[_REQUEST[1:]].notna().all(axis=1).to_numpy()  # every user has a name, if an empty one
        known = submitted[complete]
        place = known.groupby(_REQUEST, sort=False, observed=True).ngroup().to_numpy()
        first = known[_REQUEST][~pd.Series(place).duplicated().to_numpy()]
        code = [self.codes.setdefault(key, len(self.codes)) for key in first.itertuples(index=False, name=None)]
        request = np.full(len(submitted), -1, np.int32)
        request[complete] = np.array(code, np.int32)[place]
        self.held.append(submitted[[*_TASK, "time"]].assign(request=request))
        # What was read since is joined to what is held once it is as much, so that all joining costs as much as a few.
        if sum(map(len, self.held[1:])) > max(len(self.held[0]), _JOINED_ROWS):
            self.held = [self.all()]
        return int((~complete).sum())

    def all(self) -> pd.DataFrame:
        """Return the rows: job_id, task_index, time, request."""
        ordered = pd.concat(self.held, ignore_index=True).sort_values("time", kind="stable")
        return ordered.drop_duplicates([*_TASK, "request"])


def _compute(tasks: Sequence[Part], machines: Sequence[Part], progress: bool) -> DigestReport:
    """Read everything; write nothing."""
    files, seen = [File(part) for part in tasks], _Tasks()
    submits = lacking = last_time = 0
    for file in bar(files, shown=progress, desc="task_events", unit="part", leave=False):
        for frame in frames(file, _TASK_COLUMNS, use=["time", *_TASK, "event_type", *_REQUEST]):
            times = frame["time"].to_numpy()
            last_time = max(last_time, int(times[times < _END_OF_TRACE].max(initial=0)))
            submitted = frame[(frame["event_type"] == 0).to_numpy()]
            submits += len(submitted)
            lacking += seen.add(submitted)
    rows = seen.all()
    known = rows[rows["request"] >= 0]
    kept = known.drop_duplicates(_TASK)  # in time order: the earliest
    if kept.empty:
        raise TraceError(f"{tasks[0].path} and {len(tasks) - 1} more: no SUBMIT event carries CPU and memory requests")

    table = pd.DataFrame(list(seen.codes), columns=["user", "cpu", "memory"])
    table["request"] = table.groupby(["cpu", "memory"]).ngroup()
    variants = known.assign(request=table["request"].to_numpy()[known["request"]]).drop_duplicates([*_TASK, "request"])
    changing = len(variants[variants.duplicated(_TASK)].drop_duplicates(_TASK))
    table["tasks"] = np.bincount(kept["request"], minlength=len(table))
    table["jobs"] = np.bincount(kept.drop_duplicates(["job_id", "request"])["request"], minlength=len(table))
    # A request whose every task moved to an earlier one has none left; so may a user. Codes count what remains.
    table = table[table["tasks"] > 0]
    table["user"] = pd.factorize(table["user"], sort=True)[0]
    table = table.sort_values(["user", "cpu", "memory"])
    distinct = len(rows.drop_duplicates(_TASK))
    zero_cpu, zero_memory = table["cpu"] == 0, table["memory"] == 0
    counts = {
        "events": sum(file.rows for file in files),
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
        "distinct_requests": table["request"].nunique(),
        "rows": len(table),
    }
    requests = [
        f"{user},{number(cpu)},{number(memory)},{n},{jobs}"
        for user, cpu, memory, n, jobs in table.drop(columns="request").itertuples(index=False, name=None)
    ]
    tables = {REQUESTS: [REQUEST_HEADER, *requests]}
    events = Table(machines, _MACHINE_COLUMNS) if machines else None
    pools = None
    if events is not None:
        mix = _machine_mix(events)
        mix["platform"] = pd.factorize(mix["platform"], sort=True)[0]
        tables[MACHINES] = [MACHINE_HEADER]
        tables[MACHINES] += [
            f"{p},{number(c)},{number(m)},{a},{b}" for p, c, m, a, b in mix.itertuples(index=False, name=None)
        ]
        pools = {"events": len(events.frame), "machines_seen": events.frame["machine_id"].nunique()} | {
            when: {
                "machines": int(mix[when].sum()),
                "cpu": round(math.fsum(mix["cpu"] * mix[when]), 9),
                "memory": round(math.fsum(mix["memory"] * mix[when]), 9),
            }
            for when in ("at_start", "last_known")
        }
    missing = missing_numbers(tasks)
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
        "parts": [part.number for part in tasks if part.number is not None],
        "parts_total": next((part.total for part in tasks if part.total is not None), None),
        "missing_parts": missing,
        "counts": counts,
        "machines": pools,
        "inputs": {"task_events": _described(files), "machine_events": _described(events.files if events else [])},
    }
    said = [
        f"{len(files)} files, {counts['events']} events, {submits} SUBMIT",
        f"{distinct} distinct tasks of {counts['jobs']} jobs and {counts['users']} users in {len(table)} rows",
        f"{distinct - len(kept)} tasks without a request left out, {changing} change theirs,"
        f" {counts['tasks_zero_cpu']} ask for no CPU and {counts['tasks_zero_memory']} for no memory",
        *([said_missing(missing, "task_events")] if missing else []),
    ]
    return DigestReport.of(NAME, facts, tables, said)


def _described(files: Sequence[File]) -> list[dict[str, Any]]:
    """Describe files that never have a header."""
    return [{key: value for key, value in file.described().items() if key != "header"} for file in files]


def digest(source: Source, output_folder: str | Path, progress: bool = True) -> DigestReport:
    """Digest task_events (and machine_events, if there) into counts per trace user and request.

    Parameters
    ----------
    source : path or sequence of paths
        The folder of the trace as published or flattened (``task_events*``, ``task_events/part-*``), or its files in
        any order, ``.csv`` or ``.csv.gz``.
        Files of ``machine_events`` are recognised by their own or their folder's name.
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
        If a file is missing, damaged or not in the published format, or the output cannot be written; the message
        names file and line.
    InvalidInput
        If an argument is not a path.

    Warns
    -----
    MissingPartsWarning
        If a numbered part is absent below the highest one present; the numbers are in the record.

    Notes
    -----
    One pass, part by part in blocks of 32 MiB; time is linear in the bytes, about three times that of ``gzip -dc`` on a
    busy machine and nearly all of it in decompression, one regular expression and pandas' parser. Between parts only
    the distinct (task, user, request) are kept, 36 bytes each (44 000 tasks or 1.6 MB a part, in the 14 parts of the
    shipped digest). Joining them takes up to 140 bytes each for a while: the peak of the whole process is 240 MB for
    the 14 parts, and would be some 3.5 GB for the 25 million distinct tasks that all 500 parts hold. The number of
    events does not matter.

    The same input gives the same bytes, whatever the order of the files. Nothing is written before all is read; each
    file is written under a temporary name and renamed, the record last, so an interruption leaves either the old files
    or whole new ones (and ``load_digest`` notices a mixture by its checksums).
    """
    target = check_folder(output_folder)
    tasks, machines = find_tables(source, "task_events", "machine_events", any_name=True)
    if missing := missing_numbers(tasks):
        warnings.warn(said_missing(missing, "task_events"), MissingPartsWarning, stacklevel=2)
    return _compute(tasks, machines, progress).write(target)


def verify_digest(source: Source, committed: str | Path | None = None, progress: bool = False) -> DigestReport:
    """Compute a digest again from the trace's files and hold it equal to a committed one.

    Parameters
    ----------
    source : path or sequence of paths
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
        If a part is missing, or the digests differ; the message names the first difference.
    """
    record, _ = open_digest(NAME, committed)
    tasks, machines = find_tables(source, "task_events", "machine_events", any_name=True)
    try:
        numbers = {entry["part"] for entry in record["inputs"]["task_events"]}
        machines = machines if record["inputs"]["machine_events"] else []
    except (KeyError, TypeError) as error:
        raise TraceError(f"{NAME}.json: is not the provenance of a digest of this trace ({error!r})") from error
    tasks = [part for part in tasks if part.number in numbers]
    missing = numbers - {part.number for part in tasks}
    if missing:
        raise TraceError(f"part(s) of the committed digest missing: {', '.join(map(str, sorted(missing, key=str)))}")
    return _compute(tasks, machines, progress).held_against(committed)
