"""Tables that users bring as CSV files, and the words for what is wrong in them."""

from __future__ import annotations

import csv
import gzip
import io
import math
import re
import sys
import zlib
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fairbook.cli.common import NUMBER, Refused, few, note, shown, written
from fairbook.errors import InvalidInput
from fairbook.exports import frames, read
from fairbook.model.placement import MOST_MACHINES

_LONGEST_NAME = 200
_BEFORE_TEXT = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"  # blanks, and the marks that Windows writes before UTF-8 and UTF-16
_MISSING = {"", "na", "n/a", "nan", "+nan", "-nan", "null", "none"}
_INFINITE = {"inf", "+inf", "infinity", "+infinity"}


class Table(NamedTuple):
    """A CSV file, or what a scheduler exported: text by column, and the line on which each row stands."""

    source: str
    columns: dict[str, list[str]]
    lines: list[int]
    held: dict[str, list[float]] | None = None  # of an export: by resource, what each user holds now
    machines: dict[str, list[str]] | None = None  # of an export that names them, too

    def line(self, row: int) -> str:
        """Say where a row stands; in an export, whose it is."""
        if self.held is None:
            return f"{self.source}, line {self.lines[row]}"
        kind, names = next(iter(self.columns.items()))
        return f"{self.source}, {kind} {names[row]!r}"

    def at(self, row: int, column: str) -> str:
        return f"{self.line(row)}, column {column!r}"

    def numbers(self, column: str, *, unbounded: bool = False) -> list[float]:
        """Give a column as floats; with ``unbounded`` an empty cell or ``inf`` means no bound, and nothing else."""
        found = []
        for row, text in enumerate(self.columns[column]):
            if unbounded and (not text or text.lower() in _INFINITE):
                found.append(math.inf)
            elif not NUMBER.fullmatch(text) or math.isinf(float(text)):
                why = f"{shown(text)} is not a number{written(text)}"
                if text.lower() in _MISSING:
                    why = f"the number is missing, got {text!r}"
                raise Refused(f"{self.at(row, column)}: {why}")
            else:
                found.append(float(text))
        return found

    def is_text(self, column: str) -> bool:
        """Tell whether a column is plainly not meant as numbers: it has entries, and none begins like a number.

        ``4 GB`` and ``1,5`` begin like one, and are errors rather than left out.
        """
        filled = [text for text in self.columns[column] if text.lower() not in _MISSING]
        return bool(filled) and not any(re.match(r"[+-]?\.?\d|[+-]?inf", text, re.ASCII | re.I) for text in filled)


def read_table(source: str, of: str = "user", by: str | None = None) -> Table:
    """Read a CSV file of users, or of something else: a header, then a line for each; or an export (JSON)."""
    name = "stdin" if source == "-" else source
    if source == "-" and sys.stdin is None:
        raise Refused("stdin is closed")
    content = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise Refused(f"{name}: the gzip stream is damaged ({error})") from None
    if content[:99].lstrip(_BEFORE_TEXT)[:1] == b"{":
        return _exported(content, name, of, by)
    try:
        reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        header = [cell.strip() for cell in next(reader, [])]
        _check_header(header, name, of)
        found = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Refused(f"{name}, line {line}: is not UTF-8 text") from None
    except csv.Error as error:
        raise Refused(f"{name}, line {reader.line_num}: is not CSV ({error})") from None
    for line, row in found:
        if len(row) != len(header):
            raise Refused(f"{name}, line {line}: {len(row)} columns where the header has {len(header)}")
    if not found:
        raise Refused(f"{name}: holds no {of}, only a header")
    columns = {column: [row[j].strip() for _, row in found] for j, column in enumerate(header)}
    return Table(name, columns, [line for line, _ in found])


def _exported(content: bytes, name: str, of: str, by: str | None) -> Table:
    """Give the users, or the machines, of an export."""
    try:
        users, machines = frames(read(content, name, by))
    except InvalidInput as error:
        if error.argument != "user":
            raise
        raise Refused(f"{name}: --user-column {error.complaint}") from None
    for text in users.attrs["notes"]:
        note(f"{name}: {text}")
    found, other, taken = (
        (users, machines, "machines, which --machines takes")
        if of == "user"
        else (machines, users, "users, which TABLE takes")
    )
    if found.empty:
        raise Refused(f"{name}: holds no {of} that counts{'' if other.empty else f', only {taken}'}")
    held = {one.removeprefix("held_"): users[one].tolist() for one in users if one.startswith("held_")}
    lines = list(range(1, len(found) + 1))
    return Table(name, _texts(found), lines, held, None if machines.empty else _texts(machines))


def _texts(frame: Any) -> dict[str, list[str]]:
    """Give a frame of an export as a file would hold it."""
    columns = {name: list(map(repr, frame[name].tolist())) for name in frame if not name.startswith("held_")}
    return {frame.index.name: list(frame.index), **columns}


def _check_header(header: list[str], name: str, of: str) -> None:
    if not any(header):
        raise Refused(f"{name}: is empty; the first line must name the columns")
    if len(header) == 1 and re.search("[;\t|]", header[0]):
        raise Refused(f"{name}, line 1: {shown(header[0])} is one column; columns are separated by commas")
    if of == "user" and 2 * sum(bool(NUMBER.fullmatch(cell)) for cell in header) >= len(header):
        raise Refused(f"{name}, line 1 looks like data: a header is missing")  # of machines, users' numbers may be one
    seen: set[str] = set()
    for column in header:
        if not column or len(column) > _LONGEST_NAME or not column.isprintable():
            raise Refused(f"{name}, line 1: {shown(column)} is not the name of a column")
        if column in seen:
            raise Refused(f"{name}, line 1: two columns are named {column!r}")
        seen.add(column)


def _bare(column: str) -> str:
    """Strip what slips in a heading: capitals, blanks and strokes, the s of a plural."""
    return re.sub(r"[\s_-]", "", column).lower().removesuffix("s")


def _called(table: Table, names: Iterable[str]) -> str | None:
    """Give the column that is called one of these, whatever its capitals and strokes."""
    found = [column for column in table.columns if _bare(column) in names]
    if len(found) > 1:
        raise Refused(f"{table.source}: columns {found[0]!r} and {found[1]!r} say the same; leave one out")
    return found[0] if found else None


def _named(table: Table, columns: list[str], named: str | None) -> tuple[str | None, list[str]]:
    """Give the column of names, the first one of words where none is told, and those of numbers; say what is left."""
    words = [column for column in columns if table.is_text(column)]
    named = named or next(iter(words), None)
    left_out = [column for column in words if column != named]
    if left_out:
        note(f"{table.source}: no numbers in column {', '.join(map(repr, left_out))}, which is left out")
    return named, [column for column in columns if column not in (named, *left_out)]


def _names(table: Table, column: str | None) -> list[str]:
    """Read the name in each row; without such a column rows are numbered from 1."""
    if column is None:
        return [str(row + 1) for row in range(len(table.lines))]
    for row, name in enumerate(table.columns[column]):
        if not name or len(name) > _LONGEST_NAME or not name.isprintable():
            raise Refused(f"{table.at(row, column)}: {shown(name)} is not a name")
    return table.columns[column]


def _no_two(table: Table, column: str | None, keys: list[Any], said: list[str]) -> None:
    """Refuse a row that is there twice."""
    first: dict[Any, int] = {}
    for row, (key, line) in enumerate(zip(keys, table.lines, strict=True)):
        if first.setdefault(key, line) != line:
            raise Refused(f"{table.at(row, str(column))}: {said[row]} on line {first[key]} already")


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
    user: str | None  # the column of names
    period: str | None  # the column of periods
    columns: dict[str, str]  # of what else the mechanisms take, by argument
    resources: list[str]
    names: list[str]
    periods: list[str]
    sorting: str  # by what the periods are sorted
    cells: list[tuple[int, int]]  # period and user of each line, by position

    @property
    def held(self) -> Any:
        """What each user holds now of each resource, shape (n, m), or None where nobody says."""
        if self.table.held is not None:
            return np.array([self.table.held[name] for name in self.resources]).T
        if "running" in self.columns and not self.period:
            return self.spread(self.columns["running"], 0.0)[:, None] * self.demands()
        return None

    def spread(self, column: str, default: float, *, unbounded: bool = False) -> Any:
        """Give a column as an array of shape (T, n), or (n,) where there are no periods; default where no line is."""
        found = np.full((len(self.periods), len(self.names)), default)
        found[tuple(zip(*self.cells, strict=True))] = self.table.numbers(column, unbounded=unbounded)
        return found if self.period else found[0]

    def demands(self) -> Any:
        """Give the columns of resources as an array of shape (T, n, m), or (n, m) where there are no periods."""
        return np.stack([self.spread(name, 0.0) for name in self.resources], axis=-1)

    def place(self, argument: str, index: tuple[int, ...]) -> str | None:
        """Say where the entry of an argument stands in the file."""
        index = index if self.period else (0, *index)
        if len(index) < 2 or (argument != "demands" and argument not in self.columns):
            return None
        period, user, *resource = index
        row = self.cells.index((period, user))
        if argument == "demands" and not resource:
            return f"{self.table.line(row)}: the demands"
        return f"{self.table.at(row, self.resources[resource[0]] if resource else self.columns[argument])}:"


def read_users(source: str, user: str | None) -> Users:
    """Read a table of users; ``user`` is the column of their names where that is told."""
    table = read_table(source, by=user)
    user = user if table.held is None else "user"
    period = _called(table, _PERIODS)
    columns = {name: found for name, words in _MEANINGS.items() if (found := _called(table, words))}
    rest = [column for column in table.columns if column not in (period, *columns.values())]
    if user is not None and user not in rest:
        raise Refused(f"--user-column {shown(user)} is none of the columns {', '.join(map(shown, rest))}")
    called = _called(table, ("user",))
    words = next((column for column in rest if table.is_text(column)), None)
    if user is None and called and words and not table.is_text(called):
        raise Refused(
            f"{table.source}: column {called!r} holds numbers and {words!r} words; --user-column says which names the "
            "users"
        )
    user, resources = _named(table, rest, user or called)
    if taken := [column for column in resources if _bare(column) in _OF_MACHINES]:
        raise Refused(f"{table.source}: no resource can be called {taken[0]!r}, which has another meaning in tables")
    if period is not None and user is None:
        raise Refused(f"{table.source}: has a column {period!r} and none with names of users; --user-column names it")
    if not resources and not {"max_vms", "tolerance"} <= columns.keys():
        found = ", ".join(map(shown, table.columns))
        raise Refused(f"{table.source}: has no column of demands (numbers), only {found}")
    if {"running", "max_tasks"} <= columns.keys():
        most = table.numbers(columns["max_tasks"], unbounded=True)
        for row, now in enumerate(table.numbers(columns["running"])):
            if not 0 <= now <= most[row]:
                raise Refused(
                    f"{table.at(row, columns['running'])}: must be from 0 to the number of tasks, {most[row]:g}, "
                    f"got {now:g}"
                )
    lines = _names(table, user)
    names = list(dict.fromkeys(lines))
    at_user = {name: i for i, name in enumerate(names)}
    periods, sorting, at_line = _sorted_periods(table, period) if period else ([""], "", [0] * len(lines))
    cells = list(zip(at_line, map(at_user.__getitem__, lines), strict=True))
    has = [f"has {period} {periods[t]}" if period else "is" for t in at_line]
    _no_two(table, user, cells, [f"{name!r} {word}" for name, word in zip(lines, has, strict=True)])
    return Users(table, user, period, columns, resources, names, periods, sorting, cells)


def _sorted_periods(table: Table, column: str) -> tuple[list[str], str, list[int]]:
    """Give the periods, by what they are sorted, and the period of each line: numbers, dates, or else names."""
    texts = _names(table, column)
    keys: list[Any] = texts
    sorting = "in the order of the file"
    if all(NUMBER.fullmatch(text) for text in texts):
        keys, sorting = [float(text) for text in texts], "by number"
    else:
        with suppress(ValueError):
            moments = [datetime.fromisoformat(text) for text in texts]
            keys, sorting = [moment.replace(tzinfo=moment.tzinfo or UTC) for moment in moments], "by date"
    label = dict(zip(reversed(keys), reversed(texts), strict=True))  # as it is written first
    order = list(dict.fromkeys(keys)) if keys is texts else sorted(label)
    at = {key: t for t, key in enumerate(order)}
    return [label[key] for key in order], sorting, [at[key] for key in keys]


# --------------------------------------------------------------------------------------------------------- machines


class Machines(NamedTuple):
    """A table of machines, or of clusters: a line for each, or for some that are alike."""

    table: Table
    names: list[str]  # by line
    counts: list[int]
    resources: list[str]
    capacities: Any  # of one machine of each line, shape (K, m)
    owner: str | None  # the column that says who brought it
    others: list[str]  # columns of numbers that are no resource: parts that users brought, if anything

    @property
    def singly(self) -> list[str]:
        """Names of the machines one by one."""
        if set(self.counts) == {1}:
            return self.names
        return [f"{name} {k + 1}" for name, count in zip(self.names, self.counts, strict=True) for k in range(count)]

    def place(self, line: int, column: tuple[int, ...]) -> str:
        """Say where a line stands, or an entry in it."""
        if not column:
            return f"{self.table.line(line)}: the machine"
        return f"{self.table.at(line, self.resources[column[0]])}:"


def read_machines(source: str | None, users: Users) -> Machines:
    """Read a table of machines that have the resources of the users.

    Without a file they are those that the export of the users names.
    """
    resources = users.resources if "max_vms" not in users.columns else ["capacity"]
    if source is None:
        columns = users.table.machines or {}
        table = Table(users.table.source, columns, list(range(1, len(columns["machine"]) + 1)), users.table.held)
    else:
        table = read_table(source, "machine")
    for column in resources:
        if column not in table.columns:
            raise Refused(f"{table.source}: has no column {column!r}, only {', '.join(map(shown, table.columns))}")
    owner = _called(table, {"user", "owner", _bare(users.user or "user")})
    count = _called(table, ("count",))
    rest = [column for column in table.columns if column not in (owner, count, *resources)]
    named, others = _named(table, rest, _called(table, ("machine", "cluster")))
    counts = []
    for row, text in enumerate(table.columns[count] if count else ["1"] * len(table.lines)):
        if not re.fullmatch(r"\d{1,9}", text, re.ASCII) or int(text) == 0:
            raise Refused(f"{table.at(row, str(count))}: {shown(text)} is not a number of machines")
        counts.append(int(text))
        if sum(counts) > MOST_MACHINES:
            raise Refused(f"{table.at(row, str(count))}: more than {MOST_MACHINES} machines")
    capacities = np.array([table.numbers(name) for name in resources]).T
    for column, values in zip(resources, capacities.T, strict=True):
        if column in users.resources and users.spread(column, 0.0).any() and not values.any():
            raise Refused(f"{table.source}, column {column!r}: no machine has any")
    others = others if table.held is None else []  # an export names resources that nobody asks for
    names = _names(table, named)
    _no_two(table, named, names, [f"{name!r} is" for name in names])
    return Machines(table, names, counts, resources, capacities, owner, others)


def read_parts(users: Users, machines: Machines) -> Any:
    """Give which part of each line of machines each user brought, shape (n, K).

    Told by columns that are called like users, or by a column of owners.
    """
    table, columns, owner = machines.table, machines.others, machines.owner
    parts = np.zeros((len(users.names), len(table.lines)))
    both = [name for name in columns if name in users.names]
    if owner and both:
        raise Refused(f"columns {owner!r} and {both[0]!r} of {table.source} both say who brought what")
    if owner and columns:
        note(f"{table.source}: no task needs column {', '.join(map(repr, columns))}; left out")
        columns = []

    def of(name: str, where: str) -> Any:
        if name not in users.names:
            raise Refused(
                f"{where} {shown(name)} fits no user of {users.table.source} ({few(users.names)}), and is no resource "
                f"there; who brings machines and runs nothing has a line with 0 tasks"
            )
        return parts[users.names.index(name)]

    if not (owner or columns):
        note(f"{table.source}: does not say who brought what; everyone is taken to have brought the same part of each")
        return parts + 1 / len(parts)
    for line, name in enumerate(table.columns[owner] if owner else ()):
        of(name, f"{table.at(line, str(owner))}:")[line] = 1.0
    for column in columns:
        of(column, f"{table.source}: column")[:] = table.numbers(column)
        for row, value in enumerate(table.numbers(column)):
            if not 0 <= value <= 1:
                raise Refused(f"{table.at(row, column)}: must be between 0 and 1, got {value:g}")
    sums = parts.sum(axis=0)
    for k in np.flatnonzero(np.abs(sums - 1) > 1e-6)[:1].tolist():
        raise Refused(f"{table.line(k)}: the parts must sum to 1, got {sums[k]:.9g}")
    return parts / sums
