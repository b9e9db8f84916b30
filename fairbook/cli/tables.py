"""Tables that users bring as CSV files, and the words for what is wrong in them."""

from __future__ import annotations

import argparse
import csv
import io
import math
import re
import sys
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fairbook.cli.common import NUMBER, Refused, few, note, shown
from fairbook.exports import read
from fairbook.exports.summary import summed_up
from fairbook.exports.told import BYTES, Export, as_name, quantity
from fairbook.files import unpacked
from fairbook.model.inputs import raise_at_first
from fairbook.model.placement import MOST_MACHINES

_BEFORE_TEXT = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"  # blanks, and the marks that Windows writes before UTF-8 and UTF-16
_MISSING = {"", "na", "n/a", "nan", "+nan", "-nan", "null", "none"}
_INFINITE = {"", "inf", "+inf", "infinity", "+infinity"}
_IN_BYTES = {False: re.compile(r"[\d.]+[KMGTPE]i", re.ASCII), True: re.compile(r"[\d.]+[kKMGTPE]i?", re.ASCII)}
_TOTAL = re.compile(r"(grand ?)?totals?|sums?|all", re.IGNORECASE)
_JSON_OF_SLURM = "give what `squeue --json`, and for --machines `sinfo --json`, writes"
_SUMMED = "a line for each user with the mean of its jobs in each resource, and their number as max_tasks"
#: What the first line of a text that is no CSV begins with, and what to give instead.
_TEXTS = {
    r"(---|[\w.-]+:)(\s|$)": "YAML, or a description; give what `-o json` (kubectl) or `--json` (Slurm) writes",
    r"(NAMESPACE|NAME)\s+[A-Z][^,]*$": "a table to be read; give what `kubectl get nodes,pods -A -o json` writes",
    r"JobID(Raw)?\b": f"of past jobs (sacct); give what `squeue --json` writes, or {_SUMMED}",
    r"(ACCOUNT|HOSTNAMES|JOBID|NODELIST|PARTITION|USER)\s+[A-Z(][^,]*$": f"a table to be read; {_JSON_OF_SLURM}",
    r"(NodeName|PartitionName|JobId)=": f"no JSON; {_JSON_OF_SLURM}",
    r";\s*\w+:|(-?[\d.]+\s+){17}-?\d+\s*$": f"a log of jobs (SWF); give {_SUMMED}",
    r"[\[{]": "JSON; --users takes CSV, a line for each user with weight, max_tasks or min_tasks",
    r"[^,;|\t]*\S {2,}\S[^,;|\t]*$": "set in columns by blanks; give CSV, or what `--json` or `-o json` writes",
}
_ONE_A_JOB = f"; where a line is a job, sum up first: {_SUMMED}"


class Table(NamedTuple):
    """A CSV file, or what a scheduler exported."""

    source: str
    cells: pd.DataFrame  # text; its index says where each row stands
    held: pd.DataFrame | None = None  # of an export: what each user holds now, by resource
    machines: Any = None  # of an export that tells them, too

    def at(self, row: int, column: str | None) -> str:
        return f"{self.cells.index[row]}, column {column!r}"

    def in_bytes(self, column: str) -> bool:
        """Tell whether a column has quantities such as ``512Mi``, or ``2G`` of memory, which are read in GiB."""
        return any(map(_IN_BYTES[_bare(column) in ("mem", "memory")].fullmatch, self.cells[column]))

    def numbers(self, column: str, *, unbounded: bool = False, units: bool = False) -> pd.Series:
        """Give a column as floats; with ``unbounded`` an empty cell or ``inf`` means no bound, and nothing else.

        With ``units`` quantities of Kubernetes are read as in an export: cores, GiB and pieces.
        """
        texts, in_bytes = self.cells[column], units and self.in_bytes(column)

        def number(text: str) -> float | None:
            if NUMBER.fullmatch(text):  # beside 512Mi nobody knows of which unit
                return None if in_bytes and float(text) else float(text)
            return quantity(text, in_bytes=in_bytes) if units else None

        found = texts.map(number).astype(float)
        endless = texts.str.lower().isin(_INFINITE if unbounded else ())
        for row in np.flatnonzero(~np.isfinite(found) & ~endless)[:1].tolist():
            raise Refused(f"{self.at(row, column)}: {_no_number(texts.iloc[row], units, in_bytes)}")
        return found.mask(endless, math.inf)

    def is_text(self, column: str) -> bool:
        """Tell whether a column is plainly not meant as numbers: it has entries, and none begins like a number.

        ``4 GB`` and ``1,5`` begin like one, and are errors rather than left out.
        """
        filled = [text for text in self.cells[column] if text.lower() not in _MISSING]
        return bool(filled) and not any(re.match(r"[+-]?\.?\d|[+-]?inf", text, re.ASCII | re.I) for text in filled)

    def called(self, names: Collection[str]) -> str | None:
        """Give the first column that is called one of these, whatever its capitals and strokes."""
        return next((column for column in self.cells if _bare(column) in names), None)

    def names(self, column: str | None) -> list[str]:
        """Read the name in each row; without such a column rows are numbered from 1."""
        if column is None:
            return [str(row + 1) for row in range(len(self.cells))]
        return [as_name(name, f"{self.at(row, column)}:") for row, name in enumerate(self.cells[column])]

    def no_two(self, column: str | None, keys: pd.Index) -> None:
        """Refuse a row that is there twice."""
        for row in np.flatnonzero(keys.duplicated())[:1].tolist():
            first = keys.tolist().index(keys[row])
            name = self.names(column)[row]
            said = f"{self.at(row, column)}: {name!r} stands in {self.cells.index[first]} already"
            raise Refused(said + (_ONE_A_JOB if isinstance(keys, pd.MultiIndex) and not keys.names[0] else ""))

    def no_total(self, names: list[str], columns: list[str]) -> None:
        """Refuse a last row that sums up the others, as spreadsheets have it."""
        if len(names) < 3 or not _TOTAL.fullmatch(names[-1]):
            return
        for column in columns:
            *others, last = self.numbers(column, units=True)
            if last and math.isclose(last, math.fsum(others)):
                raise Refused(f"{self.cells.index[-1]}: {names[-1]!r} is the sum of the others; leave this row out")

    def split(self, columns: list[str], named: str | None) -> tuple[str | None, list[str]]:
        """Give the column of names, the first one of words where none is told, and those of numbers."""
        words = [column for column in columns if self.is_text(column)]
        named = named or next(iter(words), None)
        left_out = [column for column in words if column != named]
        if left_out:
            note(f"{self.source}: no numbers in column {', '.join(map(repr, left_out))}, which is left out")
        return named, [column for column in columns if column not in (named, *left_out)]


def _no_number(text: str, units: bool, in_bytes: bool) -> str:
    """Say what a cell is in place of a number, and what it may be."""
    if text.lower() in _MISSING:
        return f"the number is missing, got {text!r}"
    if in_bytes and NUMBER.fullmatch(text):
        return f"{shown(text)} has no unit, and others in the column have one, such as 512Mi"
    commas = re.fullmatch(r"[+-]?\d[\d.,' \xa0\u202f]*", text)
    hint = "; write 1.5 for 1,5 (a decimal comma) and 1024 for 1,024 (a separator of thousands)" if commas else ""
    hint = hint or (", or as 500m and 4Gi" if units else "")
    return f"{shown(text)} is not a number; cells are plain, such as 1.5, all of a column in one unit{hint}"


def read_content(source: str) -> tuple[str, bytes]:
    """Give the name of a file, and what is in it, unpacked."""
    name = "stdin" if source == "-" else source
    return name, unpacked(sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes(), name)


def is_export(content: bytes) -> bool:
    return content[:99].lstrip(_BEFORE_TEXT)[:1] in (b"{", b"[")


def read_table(name: str, content: bytes, of: str = "user") -> Table:
    """Read a CSV file of users, or of something else: a header, then a line for each."""
    head = content[:999].decode("utf-8-sig", "replace").lstrip().partition("\n")[0].rstrip()
    if said := next((said for pattern, said in _TEXTS.items() if re.match(pattern, head)), None):
        raise Refused(f"{name}: is {said}")
    try:
        reader = csv.reader(io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", newline=""), strict=True)
        rows = [(f"{name}, line {reader.line_num}", [cell.strip() for cell in row]) for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise Refused(f"{name}: is not CSV in UTF-8 ({error})") from None
    rows = [(place, row) for place, row in rows if any(row)]
    if len(rows) < 2:
        rule = f"the first line must name the columns, each other one {of}; of Slurm and Kubernetes, give the JSON"
        raise Refused(f"{name}: is empty, or only a header; {rule}")
    (_, header), *rows = rows
    header = _header(header, name, of)
    for place, row in rows:
        if len(row) != len(header):
            raise Refused(f"{place}: {len(row)} columns where the header has {len(header)}")
    places = [place for place, _ in rows]
    return Table(name, pd.DataFrame([row for _, row in rows], places, header, dtype=object))


def _header(header: list[str], name: str, of: str) -> list[str]:
    """Check the names of columns."""
    if len(header) == 1 and re.search("[;\t|]", header[0]):
        raise Refused(f"{name}, line 1: {shown(header[0])} is one column; columns are separated by commas")
    if of == "user" and 2 * sum(bool(NUMBER.fullmatch(cell)) for cell in header) >= len(header):
        raise Refused(f"{name}, line 1 looks like data: a header is missing")  # of machines, users' numbers may be one
    if not header[0]:
        rule = "an index of pandas, which index=False leaves out and index_label='user' names?"
        raise Refused(f"{name}, line 1: the first column has no name: {rule}")
    header = [as_name(column, f"{name}, line 1: a column") for column in header]
    if len(set(header)) < len(header):
        twice = Counter(header).most_common(1)[0][0]
        raise Refused(f"{name}, line 1: {shown(twice)} is not the name of one column")
    return header


def _bare(column: str) -> str:
    """Strip what slips in a heading: capitals, blanks and strokes, the s of a plural."""
    return re.sub(r"[\s_-]", "", column).lower().removesuffix("s")


# ------------------------------------------------------------------------------------------------------------ users

#: Headings of columns, bare, by what they mean.
_PERIODS = ("period", "phase", "step", "round", "date", "day", "hour", "week", "month")
_MEANINGS = {
    "weights": ("weight",),
    "max_tasks": ("maxtask", "task"),
    "min_tasks": ("mintask",),
    "released": ("released", "release"),
    "running": ("running",),
    "max_vms": ("maxvm",),
    "tolerance": ("tolerance",),
}
NO_WEIGHT = "must be positive; a weight of 0 is no share: leave this user out, and give it what the others leave"
#: Headings with a meaning in a table of machines, which no resource may have.
_OF_MACHINES = {"user", "owner", "machine", "cluster", "count"}


class Users(NamedTuple):
    """A table with a line for each user, or for each user and period."""

    table: Table
    period: str | None  # the column of periods
    columns: dict[str, str]  # of what else the mechanisms take, by argument
    resources: list[str]
    names: list[str]
    periods: list[str]
    sorting: str  # by what the periods are sorted
    lines: pd.MultiIndex  # period and user of each line

    @property
    def grid(self) -> pd.MultiIndex:
        """All users of all periods."""
        return pd.MultiIndex.from_product([self.periods, self.names], names=[self.period, "user"])

    @property
    def held(self) -> Any:
        """What each user holds now of each resource, shape (n, m), or None where nobody says."""
        if self.table.held is not None:
            return self.table.held[self.resources].to_numpy()
        if "running" in self.columns and not self.period:
            tasks = self.spread(self.columns["running"], 0.0)
            raise_at_first(tasks < 0, "running", "must not be negative", tasks)
            return tasks[:, None] * self.demands()
        return None

    def spread(self, column: str, default: float, *, unbounded: bool = False) -> Any:
        """Give a column as an array of shape (T, n), or (n,) where there are no periods; default where no line is."""
        units = column in self.resources
        of_lines = self.table.numbers(column, unbounded=unbounded, units=units).set_axis(self.lines)
        found = of_lines.reindex(self.grid, fill_value=default).to_numpy()
        return found.reshape(-1, len(self.names)) if self.period else found

    def demands(self) -> Any:
        """Give the columns of resources as an array of shape (T, n, m), or (n, m) where there are no periods."""
        return np.stack([self.spread(name, 0.0) for name in self.resources], axis=-1)

    def quantity(self, name: str, text: str) -> float | None:
        """Read a capacity such as ``16Gi`` where its column has such quantities, too, or is of an export."""
        told = self.table.held is not None or not all(map(NUMBER.fullmatch, self.table.cells.get(name, ())))
        if name not in self.resources or not told:
            return None
        return quantity(text, in_bytes=bool(BYTES.fullmatch(name)) or self.table.in_bytes(name))

    def place(self, argument: str, index: tuple[int, ...]) -> str | None:
        """Say where the entry of an argument stands in the file."""
        index = index if self.period else (0, *index)
        if len(index) < 2 or (argument != "demands" and argument not in self.columns):
            return None
        period, user, *resource = index
        row = self.lines.get_loc((self.periods[period], self.names[user]))
        if argument == "demands" and not resource:
            return f"{self.table.cells.index[row]}: the demands"
        return f"{self.table.at(row, self.resources[resource[0]] if resource else self.columns[argument])}:"


def read_users(name: str, content: bytes, user: str | None) -> Users:
    """Read a table of users; ``user`` is the column of their names where that is told."""
    table = read_table(name, content)
    period = table.called(_PERIODS)
    columns = {name: found for name, words in _MEANINGS.items() if (found := table.called(words))}
    rest = [column for column in table.cells if column not in (period, *columns.values())]
    if user is not None and user not in rest:
        raise Refused(f"--user-column {shown(user)} is none of the columns {', '.join(map(shown, rest))}")
    user, resources = table.split(rest, user or table.called(("user",)))
    if taken := [column for column in resources if _bare(column) in _OF_MACHINES]:
        raise Refused(f"{table.source}: no resource can be called {taken[0]!r}, which has another meaning in tables")
    if period is not None and user is None:
        raise Refused(f"{table.source}: has a column {period!r} and none with names of users; --user-column names it")
    if not resources and not {"max_vms", "tolerance"} <= columns.keys():
        found = ", ".join(map(shown, table.cells))
        raise Refused(f"{table.source}: has no column of demands (numbers), only {found}")
    names = table.names(user)
    times = table.names(period) if period else [""] * len(names)
    lines = pd.MultiIndex.from_arrays([times, names], names=[period, user or "user"])
    periods, sorting = _sorted_periods(times)
    table.no_two(user, lines)
    table.no_total(names, resources if user and not period else [])
    return Users(table, period, columns, resources, list(dict.fromkeys(names)), periods, sorting, lines)


def _sorted_periods(times: list[str]) -> tuple[list[str], str]:
    """Give the periods, and by what they are sorted: numbers, dates, or else names."""
    periods = list(dict.fromkeys(times))
    kinds: dict[str, Any] = {"by number": float, "by date": datetime.fromisoformat}
    for sorting, kind in kinds.items():
        with suppress(TypeError, ValueError):  # dates with and without a time zone cannot be compared
            return sorted(periods, key=kind), sorting
    return periods, "in the order of the file"


# --------------------------------------------------------------------------------------------------------- machines


class Machines(NamedTuple):
    """A table of machines, or of clusters: a line for each, or for some that are alike."""

    table: Table
    names: list[str]  # by line
    counts: list[int]
    capacities: Any  # of one machine of each line, shape (K, m)
    owner: str | None  # the column that says who brought it
    others: list[str]  # columns of numbers that are no resource: parts that users brought, if anything

    @property
    def singly(self) -> list[str]:
        """Names of the machines one by one."""
        if set(self.counts) == {1}:
            return self.names
        return [f"{name} {k + 1}" for name, count in zip(self.names, self.counts, strict=True) for k in range(count)]


def read_machines(name: str, content: bytes, users: Users, options: argparse.Namespace) -> Machines:
    """Read a table of machines, or an export, that have the resources of the users."""
    resources = users.resources if "max_vms" not in users.columns else ["capacity"]
    told = _summed_up(read(content, name, None), name, options)[1] if is_export(content) else None
    table = read_table(name, content, "machine") if told is None else Table(name, told)
    if table.cells.empty:
        raise Refused(f"{name}: {_NO_MACHINE}")
    for column in resources:
        if column not in table.cells:
            raise Refused(f"{table.source}: has no column {column!r}, only {', '.join(map(shown, table.cells))}")
    if told is not None:
        return _machines(name, told[resources])
    owner = table.called({"user", "owner", _bare(users.lines.names[1])})
    count = table.called(("count",))
    rest = [column for column in table.cells if column not in (owner, count, *resources)]
    named, others = table.split(rest, table.called(("machine", "cluster")))
    counts = table.cells[count].tolist() if count else ["1"] * len(table.cells)
    for row, text in enumerate(counts):
        if not re.fullmatch(r"[1-9]\d{0,7}", text, re.ASCII):
            raise Refused(f"{table.at(row, count)}: {shown(text)} is not a number of machines")
    if sum(map(int, counts)) > MOST_MACHINES:
        raise Refused(f"{table.source}, column {count!r}: more than {MOST_MACHINES} machines")
    capacities = np.array([table.numbers(name, units=True) for name in resources]).T
    names = table.names(named)
    table.no_two(named, pd.Index(names))
    table.no_total(names, resources if named else [])
    return Machines(table, names, list(map(int, counts)), capacities, owner, others)


def read_parts(users: Users, machines: Machines) -> Any:
    """Give which part of each line of machines each user brought, shape (n, K).

    Told by a column of owners, or by columns that are called like users.
    """
    table, names = machines.table, users.names
    owners = table.cells[machines.owner].tolist() if machines.owner else []
    parts = {name: [float(one == name) for one in owners] for name in owners}
    parts = parts or {name: table.numbers(name) for name in machines.others}
    if not parts:
        note(f"{table.source}: does not say who brought what; everyone is taken to have brought the same part of each")
        return np.full((len(names), len(table.cells)), 1 / len(names))
    if strangers := [name for name in parts if name not in names]:
        raise Refused(
            f"{table.source}: {shown(strangers[0])} fits no user of {users.table.source} ({few(names)}), and is no "
            "resource there; who brings machines and runs nothing has a line with 0 tasks"
        )
    return np.array([parts.get(name, [0.0] * len(table.cells)) for name in names])


# ---------------------------------------------------------------------------------------------------------- exports


_NOBODY = "that counts; users stand in TABLE, machines in --machines"
_NO_MACHINE = f"holds no machine {_NOBODY}; --all-nodes counts the closed ones, too"


def exported(file: tuple[str, bytes], machines: tuple[str, bytes] | None, options: argparse.Namespace) -> Users:
    """Read users from an export; machines come from another, or from it where nothing else says how much there is."""
    (name, content), source, other = file, file[0], machines is not None and is_export(machines[1])
    export = read(content, name, options.user_column)
    if machines is not None or options.capacity:
        export = export.beside(read(machines[1], machines[0], None) if machines and other else Export())
        source = machines[0] if machines else name
    asks, there = _summed_up(export, f"{name}, {source}" if other else name, options)
    if asks.empty or (other and there.empty):
        raise Refused(f"{name}: holds no user {_NOBODY}" if asks.empty else f"{source}: {_NO_MACHINE}")
    resources, names = list(there), list(asks.index)
    cells = asks[[*resources, "max_tasks"]].map(str).astype(object)
    cells.index = pd.Index([f"{name}, user {user!r}" for user in names])
    held = asks[[f"held_{resource}" for resource in resources]].set_axis(resources, axis=1)
    lines = pd.MultiIndex.from_arrays([[""] * len(names), names], names=[None, "user"])
    table = Table(name, cells, held, None if there.empty else _machines(source, there))
    users = Users(table, None, {"max_tasks": "max_tasks"}, resources, names, [""], "", lines)
    return users if options.users is None else _with_terms(users, options.users, {ask.user for ask in export.asks})


def _summed_up(export: Export, name: str, options: argparse.Namespace) -> tuple[pd.DataFrame, pd.DataFrame]:
    users, machines = summed_up(export, options.all_nodes)
    for text in users.attrs["notes"]:
        note(f"{name}: {text}")
    return users, machines


def _machines(source: str, frame: pd.DataFrame) -> Machines:
    return Machines(Table(source, frame), list(frame.index), [1] * len(frame), frame.to_numpy(), None, [])


#: What another table may tell of the users of an export, and what holds of those who are not there.
_TERMS = {"weights": 1.0, "max_tasks": math.inf, "min_tasks": 0.0}


def _with_terms(users: Users, source: str, known: set[str]) -> Users:
    """Give users the weights, bounds and minima that another table tells; ``known`` may ask for nothing now."""
    table = read_table(*read_content(source))
    told = {name: column for name in _TERMS if (column := table.called(_MEANINGS[name]))}
    rest = [column for column in table.cells if column not in told.values()]
    user, others = table.split(rest, table.called(("user",)))
    if user is None or not told or others:
        found = ", ".join(map(shown, table.cells))
        raise Refused(f"{source}: the columns must be user, and some of weight, max_tasks and min_tasks, got {found}")
    names, cells, columns = table.names(user), users.table.cells.copy(), dict(users.columns)
    table.no_two(user, pd.Index(names))
    for row in [row for row, name in enumerate(names) if name not in known]:
        raise Refused(
            f"{table.at(row, user)}: {shown(names[row])} is no user of {users.table.source} ({few([*known])})"
        )
    if missing := [name for name in users.names if name not in names]:
        note(f"{source}: weight 1, and no other bound, for whom it does not name: {few(missing)}")
    for argument, column in told.items():
        values = table.numbers(column, unbounded=argument == "max_tasks")
        rule, bad = (NO_WEIGHT, values <= 0) if argument == "weights" else ("must not be negative", values < 0)
        for row in np.flatnonzero(bad)[:1].tolist():
            raise Refused(f"{table.at(row, column)}: {rule}, got {values.iloc[row]}")
        values = values.set_axis(names).reindex(users.names, fill_value=_TERMS[argument])
        if argument == "max_tasks":
            values = np.minimum(values, users.spread(columns[argument], 0.0))
        columns.setdefault(argument, f"{column} ({source})")  # no resource is called so
        cells[columns[argument]] = values.map(str).to_numpy()
    return users._replace(table=users.table._replace(cells=cells), columns=columns)
