"""Tables that users bring as CSV files, and the words for what is wrong in them."""

from __future__ import annotations

import csv
import gzip
import io
import math
import re
import sys
import zlib
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fairbook.cli.common import NUMBER, Refused, few, note, shown
from fairbook.exports import frames, read
from fairbook.model.inputs import raise_at_first
from fairbook.model.placement import MOST_MACHINES

_LONGEST_NAME = 200
_BEFORE_TEXT = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"  # blanks, and the marks that Windows writes before UTF-8 and UTF-16
_MISSING = {"", "na", "n/a", "nan", "+nan", "-nan", "null", "none"}
_INFINITE = {"", "inf", "+inf", "infinity", "+infinity"}


class Table(NamedTuple):
    """A CSV file, or what a scheduler exported."""

    source: str
    cells: pd.DataFrame  # text; its index says where each row stands
    held: pd.DataFrame | None = None  # of an export: what each user holds now, by held_<resource>
    machines: Any = None  # the table of an export that names them, too

    def at(self, row: int, column: str | None) -> str:
        return f"{self.cells.index[row]}, column {column!r}"

    def numbers(self, column: str, *, unbounded: bool = False) -> pd.Series:
        """Give a column as floats; with ``unbounded`` an empty cell or ``inf`` means no bound, and nothing else."""
        texts = self.cells[column]
        found = texts.map(lambda text: float(text) if NUMBER.fullmatch(text) else math.nan).astype(float)
        endless = texts.str.lower().isin(_INFINITE if unbounded else ())
        for row in np.flatnonzero(~np.isfinite(found) & ~endless)[:1].tolist():
            why = f"{shown(texts.iloc[row])} is not a number; cells are plain, such as 1.5, all of a column in one unit"
            if texts.iloc[row].lower() in _MISSING:
                why = f"the number is missing, got {texts.iloc[row]!r}"
            raise Refused(f"{self.at(row, column)}: {why}")
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
        names: list[str] = self.cells[column].tolist()
        for row, name in enumerate(names):
            if not name or len(name) > _LONGEST_NAME or not name.isprintable():
                raise Refused(f"{self.at(row, column)}: {shown(name)} is not a name")
        return names

    def no_two(self, column: str | None, keys: pd.Index) -> None:
        """Refuse a row that is there twice."""
        for row in np.flatnonzero(keys.duplicated())[:1].tolist():
            first = keys.tolist().index(keys[row])
            name = self.names(column)[row]
            raise Refused(f"{self.at(row, column)}: {name!r} stands in {self.cells.index[first]} already")

    def split(self, columns: list[str], named: str | None) -> tuple[str | None, list[str]]:
        """Give the column of names, the first one of words where none is told, and those of numbers."""
        words = [column for column in columns if self.is_text(column)]
        named = named or next(iter(words), None)
        left_out = [column for column in words if column != named]
        if left_out:
            note(f"{self.source}: no numbers in column {', '.join(map(repr, left_out))}, which is left out")
        return named, [column for column in columns if column not in (named, *left_out)]


def read_table(source: str, of: str = "user", by: str | None = None) -> Table:
    """Read a CSV file of users, or of something else: a header, then a line for each; or an export (JSON)."""
    name = "stdin" if source == "-" else source
    content = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    try:
        content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
        if content[:99].lstrip(_BEFORE_TEXT)[:1] == b"{":
            return _exported(content, name, of, by)
        reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        rows = [(f"{name}, line {reader.line_num}", [cell.strip() for cell in row]) for row in reader]
    except (EOFError, gzip.BadGzipFile, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise Refused(f"{name}: is not CSV in UTF-8 ({error})") from None
    rows = [(place, row) for place, row in rows if any(row)]
    if len(rows) < 2:
        rule = f"the first line must name the columns, each other one {of}; of Slurm and Kubernetes, give the JSON"
        raise Refused(f"{name}: is empty, or only a header; {rule}")
    (_, header), *rows = rows
    _check_header(header, name, of)
    for place, row in rows:
        if len(row) != len(header):
            raise Refused(f"{place}: {len(row)} columns where the header has {len(header)}")
    places = [place for place, _ in rows]
    return Table(name, pd.DataFrame([row for _, row in rows], places, header, dtype=object))


def _check_header(header: list[str], name: str, of: str) -> None:
    if len(header) == 1 and re.search("[;\t|]", header[0]):
        raise Refused(f"{name}, line 1: {shown(header[0])} is one column; columns are separated by commas")
    if of == "user" and 2 * sum(bool(NUMBER.fullmatch(cell)) for cell in header) >= len(header):
        raise Refused(f"{name}, line 1 looks like data: a header is missing")  # of machines, users' numbers may be one
    for column, times in Counter(header).items():
        if times > 1 or not column or len(column) > _LONGEST_NAME or not column.isprintable():
            raise Refused(f"{name}, line 1: {shown(column)} is not the name of one column")


def _exported(content: bytes, name: str, of: str, by: str | None) -> Table:
    """Give the users, or the machines, of an export, as a file would hold them."""
    users, machines = frames(read(content, name, by))
    for text in users.attrs["notes"]:
        note(f"{name}: {text}")
    held, tables = users.filter(regex="^held_"), dict[str, Table]()
    for one, frame in {"machine": machines, "user": users.drop(columns=held)}.items():
        cells = pd.DataFrame({one: frame.index, **frame.map(str).reset_index(drop=True)}, dtype=object)
        places = [f"{name}, {one} {label!r}" for label in frame.index]
        if not frame.empty:
            tables[one] = Table(name, cells.set_axis(places), held, tables.get("machine"))
    if of not in tables:
        raise Refused(f"{name}: holds no {of} that counts; users stand in TABLE, machines in --machines")
    return tables[of]


def _bare(column: str) -> str:
    """Strip what slips in a heading: capitals, blanks and strokes, the s of a plural."""
    return re.sub(r"[\s_-]", "", column).lower().removesuffix("s")


# ------------------------------------------------------------------------------------------------------------ users

#: Headings of columns, bare, by what they mean.
_PERIODS = ("period", "phase", "step", "round", "date", "day", "hour", "week", "month")
_MEANINGS = {
    "weights": ("weight",),
    "max_tasks": ("maxtask", "task"),
    "released": ("released", "release"),
    "running": ("running",),
    "max_vms": ("maxvm",),
    "tolerance": ("tolerance",),
}
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
            return self.table.held[[f"held_{name}" for name in self.resources]].to_numpy()
        if "running" in self.columns and not self.period:
            tasks = self.spread(self.columns["running"], 0.0)
            raise_at_first(tasks < 0, "running", "must not be negative", tasks)
            return tasks[:, None] * self.demands()
        return None

    def spread(self, column: str, default: float, *, unbounded: bool = False) -> Any:
        """Give a column as an array of shape (T, n), or (n,) where there are no periods; default where no line is."""
        of_lines = self.table.numbers(column, unbounded=unbounded).set_axis(self.lines)
        found = of_lines.reindex(self.grid, fill_value=default).to_numpy()
        return found.reshape(-1, len(self.names)) if self.period else found

    def demands(self) -> Any:
        """Give the columns of resources as an array of shape (T, n, m), or (n, m) where there are no periods."""
        return np.stack([self.spread(name, 0.0) for name in self.resources], axis=-1)

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


def read_users(source: str, user: str | None) -> Users:
    """Read a table of users; ``user`` is the column of their names where that is told."""
    table = read_table(source, by=user)
    user = user if table.held is None else "user"
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


def read_machines(source: str | None, users: Users) -> Machines:
    """Read a table of machines that have the resources of the users.

    Without a file they are those that the export of the users names.
    """
    resources = users.resources if "max_vms" not in users.columns else ["capacity"]
    table = users.table.machines if source is None else read_table(source, "machine")
    for column in resources:
        if column not in table.cells:
            raise Refused(f"{table.source}: has no column {column!r}, only {', '.join(map(shown, table.cells))}")
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
    capacities = np.array([table.numbers(name) for name in resources]).T
    names = table.names(named)
    table.no_two(named, pd.Index(names))
    others = others if table.held is None else []  # an export names resources that nobody asks for
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
