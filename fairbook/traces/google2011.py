"""Google ClusterData2011_2: streaming readers, the digest of task requests, and the sampling of users from it.

The trace (29 days of one cluster of 12 583 machines, May 2011; CC-BY 4.0, Google) is published as headerless CSV, in
500 parts for `task_events`. CPU, memory and disk are normalised, each by itself, to the largest machine; times are
microseconds, 0 stands for "before the trace".

What counts as a task: a distinct (job ID, task index) among the SUBMIT events (type 0). A task may be submitted many
times, after a failure or an eviction. It keeps the CPU and memory request (and the trace user) of its **earliest SUBMIT
event that carries both**, by time and then by file order; a task none of whose SUBMIT events carries both is counted
and left out. Zero requests are genuine and kept.

References
----------
C. Reiss, J. Wilkes, J. L. Hellerstein. *Google cluster-usage traces: format + schema*. Google Inc., version 2.1, 2014.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

import fairbook
from fairbook.errors import InvalidInput, TraceError
from fairbook.traces._files import (
    Block,
    BlockReader,
    Part,
    Source,
    file_sha256,
    find_parts,
    missing_numbers,
    read_provenance,
    write_atomically,
)
from fairbook.traces._paths import data_path

if TYPE_CHECKING:
    import pandas as pd

    from fairbook.traces._google2011_scan import Tables

__all__ = [
    "Digest",
    "DigestReport",
    "MissingPartsWarning",
    "TaskEvents",
    "digest",
    "load_digest",
    "machine_mix",
    "read_machine_events",
    "read_task_events",
    "verify_digest",
]

REQUESTS: Final = "google2011_requests.csv"
MACHINES: Final = "google2011_machines.csv"
PROVENANCE: Final = "google2011.json"

_TASK_COLUMNS: Final = (
    "time",
    "missing_info",
    "job_id",
    "task_index",
    "machine_id",
    "event_type",
    "user",
    "scheduling_class",
    "priority",
    "cpu_request",
    "memory_request",
    "disk_request",
    "different_machines",
)
_MACHINE_COLUMNS: Final = ("time", "machine_id", "event_type", "platform", "cpu", "memory")
_OPTIONAL: Final = {
    _TASK_COLUMNS: {
        "missing_info",
        "machine_id",
        "user",
        "scheduling_class",
        "cpu_request",
        "memory_request",
        "disk_request",
        "different_machines",
    },
    _MACHINE_COLUMNS: {"platform", "cpu", "memory"},
}
_TEXT: Final = {"user", "platform"}
_DECIMAL: Final = {"cpu_request", "memory_request", "disk_request", "cpu", "memory"}
_HIGHEST: Final = {"event_type": 8, "task_index": 2**31 - 1}
_REQUEST_HEADER: Final = "user,cpu,memory,tasks,jobs"
_MACHINE_HEADER: Final = "platform,cpu,memory,at_start,last_known"

_INTEGER_FORM = re.compile(rb"\d+")
_DECIMAL_FORM = re.compile(rb"(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_TEXT_FORM = re.compile(rb"[!#-+\--~]{0,64}")  # printable ASCII but quote and comma

Unit = Literal["task", "job", "user"]
Zeros = Literal["drop", "keep"]
Scale = Literal["machine", "pool"]


class MissingPartsWarning(UserWarning):
    """A numbered part is absent below the highest part that is present."""


# ---------------------------------------------------------------------------------------------------------------------
# One line


def _parse_line(line: bytes, columns: tuple[str, ...], where: str) -> list[Any]:
    """Parse one line of a published table; None stands for an empty field.

    This is the grammar of the reader: the compiled scanner takes a subset of it and asks here when in doubt.

    Parameters
    ----------
    line : bytes
        Without its newline; one carriage return at the end is ignored.
    columns : tuple of str
        The table: `_TASK_COLUMNS` or `_MACHINE_COLUMNS`.
    where : str
        File and line, for the message.

    Raises
    ------
    TraceError
        If the number of columns, a mandatory field or a number's form is wrong.
    """
    fields = line.removesuffix(b"\r").split(b",")
    if len(fields) != len(columns):
        raise TraceError(f"{where}: expected {len(columns)} columns, found {len(fields)}")
    values: list[Any] = []
    for number, (name, text) in enumerate(zip(columns, fields, strict=True), start=1):
        shown = f"{where}: column {number} ({name})"
        if name in _TEXT:
            if not _TEXT_FORM.fullmatch(text):
                raise TraceError(f"{shown} is not a plain word of at most 64 characters: {text[:80]!r}")
            values.append(text.decode("ascii"))
        elif not text:
            if name not in _OPTIONAL[columns]:
                raise TraceError(f"{shown} is empty but mandatory")
            values.append(None)
        elif name in _DECIMAL:
            if not _DECIMAL_FORM.fullmatch(text) or not math.isfinite(float(text)):
                raise TraceError(f"{shown} is not a non-negative finite number: {text[:80]!r}")
            values.append(float(text))
        else:
            # Length first: int() refuses very long texts with an exception of its own.
            if not _INTEGER_FORM.fullmatch(text) or len(text) > 40 or int(text) >= 2**63:
                raise TraceError(f"{shown} is not a non-negative 64-bit integer: {text[:80]!r}")
            if int(text) > _HIGHEST.get(name, 2**63):
                raise TraceError(f"{shown} is out of range (at most {_HIGHEST[name]}): {text[:80]!r}")
            values.append(int(text))
    return values


# ---------------------------------------------------------------------------------------------------------------------
# All lines, compiled


@dataclass
class _Scan:
    """What `_scan_blocks` knows of the file at hand."""

    part: Part
    lines: int = 0
    sha256: str = ""


def _grow(scanner: ModuleType, t: Tables, status: int) -> Tables:
    """Double one table, column by column."""
    stem = {scanner.GROW_JOBS: "job", scanner.GROW_USERS: "user", scanner.GROW_GROUPS: "group"}.get(status, "task")
    columns: dict[str, NDArray[Any]] = t._asdict()
    for name in [name for name in columns if name.startswith(f"{stem}_")]:
        column = columns.pop(name)
        shape = (2 * len(column), *column.shape[1:])
        if name == f"{stem}_slot":
            columns[name] = np.full(shape, -1, np.int32)
        else:
            columns[name] = np.empty(shape, column.dtype)
            columns[name][: len(column)] = column
        del column
    t = type(t)(**columns)
    scanner.rebuild_slots(t, stem == "job", stem == "user", stem == "group", stem == "task")
    return t


class _Scanner:
    """Run the compiled scan over blocks, with the slow path for odd lines and file:line in every error."""

    def __init__(self, parts: Sequence[Part], insert: bool) -> None:
        from fairbook.traces import _google2011_scan  # numba takes a while to load; blocks are decompressed meanwhile

        self.kernel = _google2011_scan
        self.tables = _google2011_scan.new_tables() if insert else _google2011_scan.new_tables(1, 1, 1, 1)
        self.insert = insert
        self.files = [_Scan(part) for part in parts]

    def _where(self, index: int) -> str:
        file = self.files[index]
        done = sum(f.lines for f in self.files[:index])
        return f"{file.part.path}, line {int(self.tables.tally[self.kernel.LINES]) - done + 1}"

    def take(self, block: Block) -> None:
        """Check (and with `insert` take in) the lines of one block."""
        kernel = self.kernel
        if block.error is not None:
            raise TraceError(f"{self._where(block.part)}: {block.error}")
        if block.last:
            file = self.files[block.part]
            file.lines = int(self.tables.tally[kernel.LINES]) - sum(f.lines for f in self.files[: block.part])
            file.sha256 = block.sha256
            if file.lines == 0:
                raise TraceError(f"{file.part.path}, line 1: the file holds no event")
            return
        text = np.frombuffer(block.data, np.uint8)
        at = 0
        while at < block.stop:
            at, status = kernel.scan(text, at, block.stop, self.insert, self.tables)
            if status == kernel.ODD_LINE:
                end = block.data.index(b"\n", at)
                self._odd(block, at, end)
                at = end + 1
            elif status != kernel.DONE:
                self.tables = _grow(kernel, self.tables, status)

    def _odd(self, block: Block, at: int, end: int) -> None:
        kernel = self.kernel
        line = block.data[at:end]
        values = _parse_line(line, _TASK_COLUMNS, self._where(block.part))
        row = dict(zip(_TASK_COLUMNS, values, strict=True))
        count = self.tables.tally
        if self.insert:
            if row["event_type"] == 0:
                user = np.frombuffer(row["user"].encode(), np.uint8)
                cpu, memory = row["cpu_request"], row["memory_request"]
                known = cpu is not None and memory is not None
                task = (row["time"], row["job_id"], row["task_index"], known, cpu or 0.0, memory or 0.0)
                while (status := kernel.submit(self.tables, user, 0, len(user), *task)) != kernel.DONE:
                    self.tables = _grow(kernel, self.tables, status)
            if row["time"] < 2**63 - 1:
                count[kernel.LAST_TIME] = max(int(count[kernel.LAST_TIME]), row["time"])
        count[kernel.LINES] += 1


def _warn_missing(parts: Sequence[Part], stacklevel: int) -> None:
    missing = missing_numbers(parts)
    if missing:
        shown = ", ".join(map(str, missing[:20])) + (", ..." if len(missing) > 20 else "")
        warnings.warn(
            f"{len(missing)} part(s) of task_events missing below part {max(p.number or 0 for p in parts)}: {shown}",
            MissingPartsWarning,
            stacklevel=stacklevel + 1,
        )


# ---------------------------------------------------------------------------------------------------------------------
# Readers for general use


class TaskEvents:
    """The events of task_events, in file order, as an iterable of DataFrames; iterate as often as you like.

    Attributes
    ----------
    files : list of pathlib.Path
        In part order, whatever order they were given in.
    parts : list of int
        Part numbers read off the names.
    missing_parts : list of int
        Numbers absent below the highest one present.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = list(parts)
        self.files: list[Path] = [p.path for p in parts]
        self.parts: list[int] = [p.number for p in parts if p.number is not None]
        self.missing_parts: list[int] = missing_numbers(parts)

    def __iter__(self) -> Iterator[pd.DataFrame]:
        import pandas as pd

        optional = _OPTIONAL[_TASK_COLUMNS]
        dtypes: dict[str, str] = dict.fromkeys(_TASK_COLUMNS, "int64")
        dtypes |= dict.fromkeys(optional, "Int64")
        dtypes |= dict.fromkeys(_DECIMAL & set(_TASK_COLUMNS), "float64")
        dtypes["user"] = "str"
        # Decimals are to come out as float() reads them; later pandas does so by itself and warns if asked.
        old = tuple(int(number) for number in pd.__version__.split(".")[:2]) < (3, 1)
        exact: dict[str, Any] = {"float_precision": "round_trip"} if old else {}
        with BlockReader(self.files) as reader:
            scanner = _Scanner(self._parts, insert=False)
            for block in reader:
                scanner.take(block)
                if block.stop:
                    # The scanner has vouched for every field, so pandas cannot be lenient about any.
                    yield pd.read_csv(
                        io.BytesIO(block.data[: block.stop]),
                        header=None,
                        names=list(_TASK_COLUMNS),
                        dtype=dtypes,
                        keep_default_na=False,
                        na_values={name: [""] for name in optional - _TEXT},
                        quoting=3,
                        **exact,
                    )

    def __repr__(self) -> str:
        return f"TaskEvents({len(self.files)} files, {len(self.missing_parts)} missing parts)"


def read_task_events(source: Source) -> TaskEvents:
    r"""Iterate over the events of task_events as published, in DataFrames of some ten thousand rows.

    Parameters
    ----------
    source : path or sequence of paths
        A folder (searched for ``task_events*`` and ``task_events/part-*``), a file, or files in any order; ``.csv`` or
        ``.csv.gz``.

    Returns
    -------
    TaskEvents
        Iterable of DataFrames with columns time (int, microseconds), missing_info, job_id, task_index, machine_id,
        event_type, user (str), scheduling_class, priority, cpu_request, memory_request, disk_request (float, fractions
        of the largest machine, NaN where the trace has none) and different_machines; empty integers are `pandas.NA`.

    Raises
    ------
    TraceError
        Here, if there is nothing to read. While iterating, at the first line that is not in the published format or
        where a file is damaged or cut short; the message names file and line.

    Warns
    -----
    MissingPartsWarning
        If a numbered part is absent below the highest one present.

    Notes
    -----
    Every field of every line is checked. Memory does not grow with the number of parts (about 100 MB of buffers).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name) / "part-00000-of-00500.csv"
    >>> _ = file.write_text("0,,3418314,0,3938719206,0,alice,3,9,0.125,0.07446,0.0004244,0\n")
    >>> for frame in read_task_events(folder.name):
    ...     print(frame[["job_id", "task_index", "cpu_request", "memory_request"]].to_string(index=False))
     job_id  task_index  cpu_request  memory_request
    3418314           0        0.125         0.07446
    >>> folder.cleanup()
    """
    parts = find_parts(source, "task_events")
    _warn_missing(parts, stacklevel=2)
    return TaskEvents(parts)


def _machine_rows(parts: Sequence[Part]) -> tuple[list[list[Any]], list[_Scan]]:
    """Read machine_events whole (38 000 rows in the full trace), with the checksum of each file."""
    rows: list[list[Any]] = []
    tails: dict[bytes, list[Any]] = {}
    files = [_Scan(part) for part in parts]
    with BlockReader([p.path for p in parts]) as reader:
        for block in reader:
            file = files[block.part]
            if block.error is not None:
                raise TraceError(f"{file.part.path}, line {file.lines + 1}: {block.error}")
            if block.last:
                file.sha256 = block.sha256
                if file.lines == 0:
                    raise TraceError(f"{file.part.path}, line 1: the file holds no event")
            elif block.stop:
                for line in block.data[: block.stop - 1].split(b"\n"):
                    file.lines += 1
                    # All that follows the machine ID repeats endlessly, so it is parsed once.
                    time, machine, rest = (*line.split(b",", 2), b"", b"")[:3]
                    known = tails.get(rest)
                    plain = time.isdigit() and machine.isdigit() and max(len(time), len(machine)) <= 18
                    if known is None or not plain:
                        where = f"{file.part.path}, line {file.lines}"
                        row = _parse_line(line, _MACHINE_COLUMNS, where)
                        if row[2] > 2:
                            raise TraceError(f"{where}: column 3 (event_type) is out of range (at most 2): {row[2]}")
                        known = tails[rest] = row[2:]
                        rows.append(row)
                    else:
                        rows.append([int(time), int(machine), *known])
    rows.sort(key=lambda row: row[0])  # stable: file order among equal times
    return rows, files


_Mix = list[tuple[str, float, float, int, int]]


def _mix(rows: Sequence[Sequence[Any]]) -> _Mix:
    """Count machines by (platform, CPU, memory), at time 0 and as last known; `rows` in time order."""
    start: dict[int, tuple[str, float, float]] = {}
    last: dict[int, tuple[str, float, float]] = {}
    for time, machine, _, platform, cpu, memory in rows:
        if cpu is None or memory is None:
            continue
        last[machine] = (platform, cpu, memory)
        if time == 0:
            start[machine] = (platform, cpu, memory)
    classes: dict[tuple[str, float, float], list[int]] = {}
    for column, known in enumerate((start, last)):
        for kind in known.values():
            classes.setdefault(kind, [0, 0])[column] += 1
    return [(*kind, counts[0], counts[1]) for kind, counts in sorted(classes.items())]


def read_machine_events(source: Source) -> pd.DataFrame:
    """Read machine_events as published, in time order.

    Parameters
    ----------
    source : path or sequence of paths
        As in :func:`read_task_events`, for ``machine_events``.

    Returns
    -------
    pandas.DataFrame
        Columns time (int, microseconds), machine_id, event_type (0 add, 1 remove, 2 update), platform (str), cpu and
        memory (float, fractions of the largest machine; NaN where the trace has none).

    Raises
    ------
    TraceError
        As in :func:`read_task_events`.

    See Also
    --------
    machine_mix : capacities at time 0 and as last known.
    """
    import pandas as pd

    rows, _ = _machine_rows(find_parts(source, "machine_events"))
    frame = pd.DataFrame(rows, columns=list(_MACHINE_COLUMNS))
    return frame.astype({"platform": "str", "cpu": "float64", "memory": "float64"})


def machine_mix(events: pd.DataFrame) -> pd.DataFrame:
    """Count machines by platform and capacity, at time 0 and as last known.

    Parameters
    ----------
    events : pandas.DataFrame
        From :func:`read_machine_events`.

    Returns
    -------
    pandas.DataFrame
        Columns platform, cpu, memory, at_start (machines with an event at time 0) and last_known (all machines, by
        their last event that carries both capacities, also those removed since), sorted.
    """
    import pandas as pd

    if not isinstance(events, pd.DataFrame) or list(events.columns) != list(_MACHINE_COLUMNS):
        raise InvalidInput("events", "must be a frame from read_machine_events", events)
    ordered = events.sort_values("time", kind="stable").astype(object)
    rows = ordered.where(ordered.notna(), None).to_numpy().tolist()
    return pd.DataFrame(_mix(rows), columns=["platform", "cpu", "memory", "at_start", "last_known"])


# ---------------------------------------------------------------------------------------------------------------------
# The digest


@dataclass(frozen=True)
class DigestReport:
    """What a digest was made of and what it holds.

    Attributes
    ----------
    counts : dict of str to int
        events, submit_events, submit_events_without_request, distinct_tasks, tasks_without_request, tasks (those in the
        digest), tasks_changing_request, tasks_zero_cpu, tasks_zero_memory, tasks_zero_both, jobs, users,
        distinct_requests, rows.
    parts, missing_parts : list of int
        Part numbers read; those absent below the highest one read.
    parts_total : int or None
        Number of parts of the whole table, by the file names.
    outputs : dict of str to str
        SHA-256 of each data file written, by name.
    provenance : dict
        All of this and more, as in ``google2011.json``.
    folder : pathlib.Path or None
        Where the files were written, if they were.
    """

    counts: dict[str, int]
    parts: list[int]
    missing_parts: list[int]
    parts_total: int | None
    outputs: dict[str, str]
    provenance: dict[str, Any] = field(repr=False)
    folder: Path | None = None

    def __str__(self) -> str:
        c = self.counts
        lines = [
            f"{len(self.provenance['inputs']['task_events'])} files, {c['events']} events, {c['submit_events']} SUBMIT",
            f"{c['distinct_tasks']} distinct tasks of {c['jobs']} jobs and {c['users']} users in {c['rows']} rows",
            f"{c['tasks_without_request']} tasks without a request left out, {c['tasks_changing_request']} change"
            f" theirs, {c['tasks_zero_cpu']} ask for no CPU and {c['tasks_zero_memory']} for no memory",
        ]
        if self.missing_parts:
            lines.append(f"missing parts: {', '.join(map(str, self.missing_parts))}")
        lines += [f"{name}  sha256 {value}" for name, value in self.outputs.items()]
        return "\n".join(lines)


def _number(x: float) -> str:
    """Write a float with the fewest digits that give it back; whole numbers without a point."""
    return str(int(x)) if x == int(x) and x < 1e15 else repr(float(x))


def _sum(values: NDArray[np.float64], counts: NDArray[np.int64]) -> float:
    return math.fsum(v * float(c) for v, c in zip(values.tolist(), counts.tolist(), strict=True))


def _compute(
    task_parts: Sequence[Part], machine_parts: Sequence[Part], progress: bool
) -> tuple[dict[str, bytes], DigestReport]:
    """Scan everything and return the files' contents (provenance last) with the report; write nothing."""
    with BlockReader([p.path for p in task_parts]) as reader:
        if progress:
            from tqdm import tqdm

            size = sum(p.path.stat().st_size for p in task_parts)
            bar = tqdm(total=size, unit="B", unit_scale=True, desc="task_events", leave=False, file=sys.stderr)
        else:
            bar = None
        try:
            scanner = _Scanner(task_parts, insert=True)
            for block in reader:
                scanner.take(block)
                if bar is not None:
                    bar.update(block.consumed)
        finally:
            if bar is not None:
                bar.close()
    kernel, t = scanner.kernel, scanner.tables
    n_jobs, n_users, n_groups, n_tasks, n_lines, n_submits, n_lacking, last_time = t.tally.tolist()

    tasks = np.zeros(n_groups, np.int64)
    n_pairs, tasks_lacking, tasks_changed = kernel.job_group_pairs(t, tasks, t.task_key)
    pairs = np.unique(t.task_key[:n_pairs])
    jobs = np.bincount(pairs & 0xFFFFFFFF, minlength=n_groups)
    n_digest_jobs = int(np.unique(pairs >> 32).size)

    # A group whose every task moved to an earlier request has none left; so may a user. Codes count what remains.
    alive = np.flatnonzero(tasks)
    names = [bytes(t.user_text[u, : t.user_length[u]]) for u in range(n_users)]
    used = sorted({names[u] for u in t.group_user[alive].tolist()})
    code_of = {name: code for code, name in enumerate(used)}
    users = np.array([code_of.get(name, -1) for name in names], np.int64)[t.group_user[alive]]
    cpu, memory = t.group_cpu[alive], t.group_memory[alive]
    tasks, jobs = tasks[alive], jobs[alive]
    order = np.lexsort((memory, cpu, users))
    users, cpu, memory, tasks, jobs = users[order], cpu[order], memory[order], tasks[order], jobs[order]
    if not len(tasks):
        files_read = f"{task_parts[0].path} and {len(task_parts) - 1} more"
        raise TraceError(f"{files_read}: no SUBMIT event carries CPU and memory requests")

    lines = [_REQUEST_HEADER]
    lines += [
        f"{u},{_number(c)},{_number(m)},{k},{j}"
        for u, c, m, k, j in zip(
            users.tolist(), cpu.tolist(), memory.tolist(), tasks.tolist(), jobs.tolist(), strict=True
        )
    ]
    files = {REQUESTS: ("\n".join(lines) + "\n").encode()}
    rows_of = {REQUESTS: len(tasks)}

    machines: dict[str, Any] | None = None
    machine_files: list[_Scan] = []
    if machine_parts:
        events, machine_files = _machine_rows(machine_parts)
        mix = _mix(events)
        platforms = {name: code for code, name in enumerate(sorted({row[0] for row in mix}))}
        files[MACHINES] = (
            "\n".join(
                [_MACHINE_HEADER]
                + [f"{platforms[p]},{_number(c)},{_number(m)},{start},{last}" for p, c, m, start, last in mix]
            )
            + "\n"
        ).encode()
        rows_of[MACHINES] = len(mix)
        capacity = np.array([row[1:3] for row in mix], np.float64).reshape(-1, 2)
        count = np.array([row[3:5] for row in mix], np.int64).reshape(-1, 2)
        machines = {
            "events": len(events),
            "machines_seen": len({row[1] for row in events}),
        } | {
            name: {
                "machines": int(count[:, k].sum()),
                "cpu": round(_sum(capacity[:, 0], count[:, k]), 9),
                "memory": round(_sum(capacity[:, 1], count[:, k]), 9),
            }
            for k, name in enumerate(("at_start", "last_known"))
        }

    counts = {
        "events": n_lines,
        "submit_events": n_submits,
        "submit_events_without_request": n_lacking,
        "distinct_tasks": n_tasks,
        "tasks_without_request": int(tasks_lacking),
        "tasks": int(tasks.sum()),
        "tasks_changing_request": int(tasks_changed),
        "tasks_zero_cpu": int(tasks[cpu == 0].sum()),
        "tasks_zero_memory": int(tasks[memory == 0].sum()),
        "tasks_zero_both": int(tasks[(cpu == 0) & (memory == 0)].sum()),
        "jobs": n_digest_jobs,
        "users": len(used),
        "distinct_requests": len(set(zip(cpu.tolist(), memory.tolist(), strict=True))),
        "rows": len(tasks),
    }
    if n_jobs < n_digest_jobs or int(tasks.sum()) + int(tasks_lacking) != n_tasks:
        raise AssertionError("the digest does not add up")  # a bug here, not in the file
    parts = [p.number for p in task_parts if p.number is not None]
    missing = missing_numbers(task_parts)
    total = next((p.total for p in task_parts if p.total is not None), None)
    outputs = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}

    def described(scanned: Sequence[_Scan]) -> list[dict[str, Any]]:
        return [
            {"file": f.part.path.name, "part": f.part.number, "rows": f.lines, "sha256": f.sha256} for f in scanned
        ]

    provenance: dict[str, Any] = {
        "trace": "Google ClusterData2011_2",
        "licence": "CC-BY-4.0",
        "attribution": "Google Inc.; C. Reiss, J. Wilkes, J. L. Hellerstein, Google cluster-usage traces, 2011",
        "changes": (
            "SUBMIT events reduced to distinct tasks, each with its earliest CPU and memory request, and counted per "
            "trace user and request; machines counted per platform and capacity; user and platform hashes replaced "
            "by their rank"
        ),
        "command": "fairbook.traces.google2011.digest(FOLDER, 'data')",
        "fairbook": fairbook.__version__,
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
        "parts": parts,
        "parts_total": total,
        "missing_parts": missing,
        "counts": counts,
        "machines": machines,
        "inputs": {"task_events": described(scanner.files), "machine_events": described(machine_files)},
        "outputs": {name: {"rows": rows_of[name], "sha256": value} for name, value in outputs.items()},
    }
    files[PROVENANCE] = (json.dumps(provenance, indent=1) + "\n").encode()
    return files, DigestReport(counts, parts, missing, total, outputs, provenance)


def _split(source: Source) -> tuple[list[Part], list[Part]]:
    """Find the task parts and, if there are any, the machine parts."""
    if isinstance(source, Sequence) and not isinstance(source, str):
        try:
            paths = [Path(p) for p in source]
        except TypeError as error:
            raise InvalidInput("source", "must be a folder, a file or a sequence of files", source) from error
        machine = [p for p in paths if p.name.startswith("machine_events") or p.parent.name == "machine_events"]
        others = [p for p in paths if p not in machine]
        return find_parts(others, "task_events"), find_parts(machine, "machine_events") if machine else []
    tasks = find_parts(source, "task_events")
    try:
        return tasks, find_parts(source, "machine_events", any_name=False) if Path(source).is_dir() else []
    except TraceError:
        return tasks, []


def digest(paths_or_folder: Source, output_folder: str | Path, progress: bool = True) -> DigestReport:
    """Digest task_events (and machine_events, if there) into counts per trace user and request.

    Parameters
    ----------
    paths_or_folder : path or sequence of paths
        The folder of the trace as published or flattened, or its files in any order; see :func:`read_task_events`.
        Files of ``machine_events`` are recognised by their own or their folder's name.
    output_folder : path
        Receives ``google2011_requests.csv``, ``google2011_machines.csv`` and ``google2011.json``; made if absent.
    progress : bool
        Show a progress bar on stderr.

    Returns
    -------
    DigestReport
        Counts, missing parts and checksums.

    Raises
    ------
    TraceError
        If a file is missing, damaged or not in the published format, or the output cannot be written.
    InvalidInput
        If an argument is not a path.

    Warns
    -----
    MissingPartsWarning
        If a numbered part is absent below the highest one present; the numbers are in the report.

    Notes
    -----
    One pass, two threads; time is linear in the bytes. Per distinct task 21 bytes of columns and 8 to 16 bytes of hash
    slots, allocated by doubling, so that old and new columns coexist while a table grows. Peak of the whole process:
    about 270 MB for the 14 parts of the shipped digest; 1.3 GB measured for 25 million distinct tasks, as many as all
    500 parts hold, with up to 64 MB of read-ahead on top. The number of events does not matter. The same input
    gives the same bytes, whatever the order of the files. Nothing is written before all is read; each file is written
    under a temporary name and renamed, the provenance last, so an interruption leaves either the old files or whole
    new ones (and :func:`load_digest` notices a mixture by its checksums).
    """
    if not isinstance(output_folder, str | Path):
        raise InvalidInput("output_folder", "must be a path", output_folder)
    target = Path(output_folder)
    if target.exists() and not target.is_dir():
        raise TraceError(f"{target}: is not a folder")
    task_parts, machine_parts = _split(paths_or_folder)
    _warn_missing(task_parts, stacklevel=2)
    files, report = _compute(task_parts, machine_parts, progress)
    if MACHINES not in files and (target / MACHINES).exists():
        raise TraceError(f"{target}: holds {MACHINES} of another digest, and these inputs have no machine_events")
    write_atomically(target, files)
    return DigestReport(
        report.counts,
        report.parts,
        report.missing_parts,
        report.parts_total,
        report.outputs,
        report.provenance,
        target,
    )


# ---------------------------------------------------------------------------------------------------------------------
# The digest, loaded


@dataclass(frozen=True, eq=False, repr=False)
class Digest:
    """Counts of distinct tasks per trace user and request; draws users' demand vectors.

    Load one with :func:`load_digest`.

    Attributes
    ----------
    user : (r,) int array
        Code of the trace user, 0 to number of users - 1; rows are sorted by user, CPU, memory.
    cpu, memory : (r,) float array
        Request as a fraction of the largest machine, in [0, 1].
    tasks, jobs : (r,) int array, positive
        Distinct tasks with this user and request, and distinct jobs among them.
    machine_classes : (c, 5) float array
        Platform code, CPU, memory, machines at time 0, machines as last known; no rows without machine_events.
    provenance : dict
        Contents of ``google2011.json``.
    """

    user: NDArray[np.int64]
    cpu: NDArray[np.float64]
    memory: NDArray[np.float64]
    tasks: NDArray[np.int64]
    jobs: NDArray[np.int64]
    machine_classes: NDArray[np.float64]
    provenance: dict[str, Any]
    _plans: dict[tuple[str, str], tuple[NDArray[np.int64], ...]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        for array in (self.user, self.cpu, self.memory, self.tasks, self.jobs, self.machine_classes):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.tasks)

    def __repr__(self) -> str:
        return f"Digest({len(self)} rows, {int(self.tasks.sum())} tasks, {int(self.user[-1]) + 1} users)"

    @property
    def frame(self) -> pd.DataFrame:
        """The rows as a DataFrame with columns user, cpu, memory, tasks, jobs."""
        import pandas as pd

        return pd.DataFrame({name: getattr(self, name) for name in _REQUEST_HEADER.split(",")})

    @property
    def machines(self) -> pd.DataFrame:
        """The machine classes as a DataFrame with columns platform, cpu, memory, at_start, last_known."""
        import pandas as pd

        frame = pd.DataFrame(self.machine_classes, columns=_MACHINE_HEADER.split(","))
        return frame.astype({"platform": "int64", "at_start": "int64", "last_known": "int64"})

    def pool(self, when: Literal["at_start", "last_known"] = "at_start") -> NDArray[np.float64]:
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
            If `when` is something else, or the digest was made without machine_events.

        Examples
        --------
        >>> load_digest().pool().round(2).tolist()
        [6603.25, 5862.75]
        """
        if when not in ("at_start", "last_known"):
            raise InvalidInput("when", "must be 'at_start' or 'last_known'", when)
        if not len(self.machine_classes):
            raise InvalidInput("when", "needs a digest made with machine_events", when)
        count = self.machine_classes[:, 3 if when == "at_start" else 4].astype(np.int64)
        return np.array([_sum(self.machine_classes[:, k], count) for k in (1, 2)])

    def _plan(self, unit: str, zeros: str) -> tuple[NDArray[np.int64], ...]:
        """Rows that may be drawn, their cumulative counts and, per user, the first and the number of its counts."""
        key = (unit, zeros)
        if key not in self._plans:
            if zeros == "drop":
                rows = np.flatnonzero((self.cpu > 0) & (self.memory > 0))
            else:
                rows = np.flatnonzero((self.cpu > 0) | (self.memory > 0))
            if not len(rows):
                raise InvalidInput("zeros", "leaves no row to draw from", zeros)
            count = (self.jobs if unit == "job" else self.tasks)[rows]
            cumulative = np.cumsum(count)
            _, first, size = np.unique(self.user[rows], return_index=True, return_counts=True)
            begin = (cumulative - count)[first]
            self._plans[key] = (rows, cumulative, begin, cumulative[first + size - 1] - begin)
        return self._plans[key]

    def sample_rows(
        self, n: int, rng: np.random.Generator, *, unit: Unit = "task", zeros: Zeros = "drop"
    ) -> NDArray[np.int64]:
        """Draw row numbers of the digest; see :meth:`sample`, which draws the same for the same generator."""
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise InvalidInput("n", "must be a positive integer", n)
        if not isinstance(rng, np.random.Generator):
            raise InvalidInput("rng", "must be a numpy.random.Generator", rng)
        if unit not in ("task", "job", "user"):
            raise InvalidInput("unit", "must be 'task', 'job' or 'user'", unit)
        if zeros not in ("drop", "keep"):
            raise InvalidInput("zeros", "must be 'drop' or 'keep'", zeros)
        rows, cumulative, begin, size = self._plan(unit, zeros)
        if unit == "user":
            who = rng.integers(len(size), size=n)
            ticket = begin[who] + rng.integers(size[who])
        else:
            ticket = rng.integers(cumulative[-1], size=n)
        found: NDArray[np.int64] = rows[np.searchsorted(cumulative, ticket, side="right")]
        return found

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
        O(n log r) for r rows. Lost in the digest: arrival times and order, priorities, disk, which tasks belong to the
        same job.

        Examples
        --------
        >>> demands = load_digest().sample(500, np.random.default_rng(1))
        >>> demands.shape, bool((demands > 0).all())
        ((500, 2), True)
        """
        if scale not in ("machine", "pool"):
            raise InvalidInput("scale", "must be 'machine' or 'pool'", scale)
        rows = self.sample_rows(n, rng, unit=unit, zeros=zeros)
        demands = np.column_stack((self.cpu[rows], self.memory[rows]))
        if scale == "pool":
            demands /= self.pool()
        return demands


def _table(path: Path, header: str) -> NDArray[np.float64]:
    """Read one of the digest's own CSV files as floats (counts are far below 2**53)."""
    try:
        lines = path.read_text(encoding="ascii").splitlines()
        if not lines or lines[0] != header:
            raise TraceError(f"{path}, line 1: expected the header {header!r}")
        rows = [[float(x) for x in line.split(",")] for line in lines[1:]]
        table = np.array(rows, np.float64).reshape(-1, header.count(",") + 1)
    except (OSError, ValueError) as error:
        raise TraceError(f"{path}: is not a table of numbers ({error})") from error
    if not (np.isfinite(table) & (table >= 0)).all():
        raise TraceError(f"{path}: holds a number that is not finite, or negative")
    return table


def load_digest(folder: str | Path | None = None) -> Digest:
    """Load the digest that ships with the package, or one made by :func:`digest`, and verify its checksums.

    Parameters
    ----------
    folder : path, optional
        Output folder of :func:`digest`; by default the shipped digest of parts 0-13.

    Returns
    -------
    Digest

    Raises
    ------
    TraceError
        If a file is missing or is not the one whose SHA-256 the provenance records.

    Examples
    --------
    >>> load_digest()
    Digest(4441 rows, 613827 tasks, 565 users)
    """
    if folder is not None and not isinstance(folder, str | Path):
        raise InvalidInput("folder", "must be a path or None", folder)

    def find(name: str) -> Path:
        return data_path(name) if folder is None else Path(folder) / name

    provenance = read_provenance(find(PROVENANCE), (REQUESTS,))
    tables: dict[str, NDArray[np.float64]] = {MACHINES: np.empty((0, 5))}
    for name, header in ((REQUESTS, _REQUEST_HEADER), (MACHINES, _MACHINE_HEADER)):
        if name not in provenance["outputs"]:
            continue
        path = find(name)
        recorded = provenance["outputs"][name]["sha256"]
        if file_sha256(path) != recorded:
            raise TraceError(f"{path}: its SHA-256 is not the recorded {recorded}; make the digest again")
        tables[name] = _table(path, header)
    user, cpu, memory, tasks, jobs = tables[REQUESTS].T.copy()
    if not (tables[REQUESTS][:, [0, 3, 4]] <= 2**53).all():
        raise TraceError(f"{find(REQUESTS)}: holds a count of more than 2**53")
    return Digest(
        user.astype(np.int64),
        cpu,
        memory,
        tasks.astype(np.int64),
        jobs.astype(np.int64),
        tables[MACHINES],
        provenance,
    )


def verify_digest(
    folder: str | Path, committed: str | Path | None = None, progress: bool = False
) -> DigestReport:
    """Compute a digest again from the trace's files and hold it equal to a committed one.

    Parameters
    ----------
    folder : path
        Folder of the trace; parts that the committed digest does not cover are ignored.
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
        If a part is missing or has another checksum than recorded, or the digests differ; the message names the first
        difference.
    """
    if not isinstance(folder, str | Path):
        raise InvalidInput("folder", "must be a path", folder)
    held = load_digest(committed).provenance
    for key in ("counts", "inputs", "last_time_us", "machines", "missing_parts"):
        if key not in held:
            raise TraceError(f"{PROVENANCE}: is not the provenance of a digest of this trace: it has no {key!r}")
    try:
        return _verified(folder, committed, held, progress)
    except (AttributeError, KeyError, TypeError) as error:  # not where something should be that digest() writes
        raise TraceError(f"{PROVENANCE}: is not the provenance of a digest of this trace ({error!r})") from error


def _verified(
    folder: str | Path, committed: str | Path | None, held: dict[str, Any], progress: bool
) -> DigestReport:
    recorded_inputs: Mapping[str, list[dict[str, Any]]] = held["inputs"]
    wanted: dict[str, list[Part]] = {"task_events": [], "machine_events": []}
    for table, recorded in recorded_inputs.items():
        if not recorded:
            continue
        present = find_parts(folder, table, any_name=table == "task_events")
        by_number = {p.number: p for p in present if p.number is not None}
        by_name = {p.path.name: p for p in present}
        for entry in recorded:
            part = by_number.get(entry["part"]) if entry["part"] is not None else by_name.get(entry["file"])
            if part is None:
                raise TraceError(f"{folder}: {entry['file']} of the committed digest is missing")
            wanted[table].append(part)
    files, report = _compute(wanted["task_events"], wanted["machine_events"], progress)
    for table, recorded in recorded_inputs.items():
        for part, now, entry in zip(wanted[table], report.provenance["inputs"][table], recorded, strict=True):
            # A file that was unpacked since has another checksum; its rows must still be as many.
            same_form = part.path.name.endswith(".gz") == entry["file"].endswith(".gz")
            if now["rows"] != entry["rows"] or (same_form and now["sha256"] != entry["sha256"]):
                raise TraceError(f"{part.path}: is not the file that the committed digest was made of")
    for name in held["outputs"]:
        path = data_path(name) if committed is None else Path(committed) / name
        old, new = path.read_bytes(), files[name]
        if old != new:
            a, b = old.split(b"\n"), new.split(b"\n")
            line = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
            raise TraceError(f"{path}, line {line + 1}: differs from the digest computed now")
    for key in ("counts", "machines", "last_time_us", "missing_parts"):
        if held[key] != report.provenance[key]:
            raise TraceError(f"{key} of the committed digest differ: {held[key]} and now {report.provenance[key]}")
    return report
