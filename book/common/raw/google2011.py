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

import math
from pathlib import Path
from typing import Any, Final

import pandas as pd

from book.common.raw.digests import DigestReport, described, find_files, number, part_of, read
from fairbook.traces.google2011 import MACHINE_HEADER, MACHINES, NAME, REQUEST_HEADER, REQUESTS

_END_OF_TRACE: Final = 2**63 - 1
_TASK: Final = ["job_id", "task_index"]
_REQUEST: Final = ["cpu", "memory"]
_TASK_COLUMNS: Final = {
    "time": "int64", "missing_info": "float64", "job_id": "int64", "task_index": "int64", "machine": "float64",
    "event_type": "int64", "user": "str", "scheduling_class": "float64", "priority": "float64",
    "cpu": "float64", "memory": "float64", "disk": "float64", "different_machines": "float64",
}  # fmt: skip
_MACHINE_COLUMNS: Final = {
    "time": "int64", "machine_id": "int64", "event_type": "int64", "platform": "str",
    "cpu": "float64", "memory": "float64",
}  # fmt: skip


def _machine_mix(events: pd.DataFrame) -> pd.DataFrame:
    """Count machines by platform and capacity, sorted: at time 0, and all ever seen as last known."""
    known = events.sort_values("time", kind="stable").dropna(subset=_REQUEST)  # file order among equal times
    counts = {
        name: some.drop_duplicates("machine_id", keep="last").groupby(["platform", *_REQUEST]).size()
        for name, some in (("at_start", known[known["time"] == 0]), ("last_known", known))
    }
    mix = pd.DataFrame(counts).fillna(0).astype("int64").sort_index().reset_index()
    return mix.assign(platform=pd.factorize(mix["platform"], sort=True)[0])


def digest(folder: str | Path) -> DigestReport:
    """Digest task_events and machine_events into counts per trace user and request.

    Parameters
    ----------
    folder : path
        The trace as published or flattened: ``task_events*`` or ``task_events/part-*``, and the same of
        ``machine_events``, ``.csv`` or ``.csv.gz``. Not all parts need be there; the record says which are missing
        below the highest. The digest in ``data/`` is that of parts 0 to 13.

    Returns
    -------
    DigestReport

    Raises
    ------
    TraceError
        If a file is missing, damaged or not in the published format.

    Notes
    -----
    All SUBMIT events of the parts are held at once: 936 182 in 14 parts. The same input gives the same bytes.
    """
    files, machines = find_files(folder, "task_events"), find_files(folder, "machine_events")
    submits, rows_of, last_time = [], [], 0
    for path in files:
        part, _ = read(path, _TASK_COLUMNS)
        rows_of.append(len(part))
        last_time = max(last_time, int(part["time"].where(part["time"] < _END_OF_TRACE, 0).max()))
        submits.append(part.loc[part["event_type"] == 0, ["time", *_TASK, "user", *_REQUEST]])
    submitted = pd.concat(submits, ignore_index=True).sort_values("time", kind="stable")
    known = submitted.dropna(subset=_REQUEST)
    kept = known.drop_duplicates(_TASK)  # in time order: the earliest
    distinct = len(submitted.drop_duplicates(_TASK))
    variants = known.drop_duplicates([*_TASK, *_REQUEST])
    changing = variants[variants.duplicated(_TASK)].drop_duplicates(_TASK)
    named = kept.assign(user=pd.factorize(kept["user"], sort=True)[0])
    table = named.groupby(["user", *_REQUEST])["job_id"].agg(["size", "nunique"]).reset_index()
    table.columns = pd.Index(["user", *_REQUEST, "tasks", "jobs"])
    zero_cpu, zero_memory = table["cpu"] == 0, table["memory"] == 0
    counts = {
        "events": sum(rows_of),
        "submit_events": len(submitted),
        "submit_events_without_request": len(submitted) - len(known),
        "distinct_tasks": distinct,
        "tasks_without_request": distinct - len(kept),
        "tasks": len(kept),
        "tasks_changing_request": len(changing),
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
    pool = [read(path, _MACHINE_COLUMNS)[0] for path in machines]
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
        "command": "book.common.raw.google2011.digest(FOLDER).write('data')",
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
    return DigestReport.of(NAME, facts, {REQUESTS: [REQUEST_HEADER, *requests], MACHINES: [MACHINE_HEADER, *classes]})
