"""Tables that users bring as CSV files."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import math
import re
import sys
import zlib
from collections.abc import Iterator, Set
from contextlib import contextmanager
from typing import Any, NamedTuple

from fairbook.cli.common import NUMBER, Refused, note, shown

_LONGEST_LINE = 1 << 20  # characters; a longer line is no table of users
_LONGEST_NAME = 200
_MOST_CELLS = 10_000_000  # of a table, a few GB; a small file that unpacks to more is refused, not read
_MOST_LINES = 10_000_000
_MISSING = {"", "na", "n/a", "nan", "+nan", "-nan", "null", "none"}
_INFINITE = {"inf", "+inf", "infinity", "+infinity"}


class Table(NamedTuple):
    """A CSV file: text by column, and the line on which each row stands."""

    source: str
    columns: dict[str, list[str]]
    lines: list[int]

    def at(self, row: int, column: str) -> str:
        return f"{self.source}, line {self.lines[row]}, column {column!r}"

    def numbers(self, column: str, *, unbounded: bool = False) -> list[float]:
        """Give a column as floats; with ``unbounded`` an empty cell or ``inf`` means no bound, and nothing else."""
        found = []
        for row, text in enumerate(self.columns[column]):
            if unbounded and (not text or text.lower() in _INFINITE):
                found.append(math.inf)
            elif text.lower() in _MISSING:
                raise Refused(f"{self.at(row, column)}: the number is missing, got {text!r}")
            elif not NUMBER.fullmatch(text):
                marks = re.fullmatch(r"[+-]?\d[\d.,']*", text, re.ASCII)  # 1,5 and 1.000,5 and 1'000
                hint = "; write it with a decimal point and no other mark" if marks else ""
                raise Refused(f"{self.at(row, column)}: {shown(text)} is not a number{hint}")
            elif math.isinf(float(text)):
                raise Refused(f"{self.at(row, column)}: must be finite, got {shown(text)}")
            else:
                found.append(float(text))
        return found

    def is_text(self, column: str) -> bool:
        """Tell whether a column is plainly not meant as numbers: it has entries, and none begins like a number.

        ``4 GB`` and ``1,5`` begin like one, and are errors rather than left out.
        """
        filled = [text for text in self.columns[column] if text.lower() not in _MISSING]
        return bool(filled) and not any(re.match(r"[+-]?\.?\d|[+-]?inf", text, re.ASCII | re.I) for text in filled)


@contextmanager
def _bytes_of(source: str) -> Iterator[io.BufferedIOBase]:
    """Open a file, or stdin for ``-``, and unpack it where it begins like gzip."""
    if source == "-" and sys.stdin is None:
        raise Refused("stdin is closed")
    try:
        raw: Any = sys.stdin.buffer if source == "-" else open(source, "rb")  # noqa: SIM115
    except ValueError:  # a name with a null byte
        raise Refused(f"{shown(source)} is not the name of a file") from None
    try:
        buffered = raw if hasattr(raw, "peek") else io.BufferedReader(raw)
        yield gzip.GzipFile(fileobj=buffered) if buffered.peek(2)[:2] == b"\x1f\x8b" else buffered
    finally:
        if source != "-":
            raw.close()


def _text_lines(stream: io.BufferedIOBase, name: str) -> Iterator[str]:
    """Yield decoded lines, refusing what is no text before it fills the memory."""
    decode = codecs.getincrementaldecoder("utf-8-sig")().decode
    number = 0
    while line := stream.readline(_LONGEST_LINE + 1):
        number += 1
        if number > _MOST_LINES:
            raise Refused(f"{name}: has more than {_MOST_LINES} lines")
        if len(line) > _LONGEST_LINE:
            raise Refused(f"{name}, line {number}: the line is longer than {_LONGEST_LINE} bytes")
        try:
            text = decode(line)
        except UnicodeDecodeError:
            raise Refused(f"{name}, line {number}: is not UTF-8 text") from None
        if "\0" in text:
            raise Refused(f"{name}, line {number}: holds a null byte, so this is not a CSV file")
        yield text


def read_table(source: str, of: str = "user") -> Table:
    """Read a CSV file of users, or of something else: a header, then a line for each."""
    name = "stdin" if source == "-" else source
    try:
        with _bytes_of(source) as stream:
            reader = csv.reader(_text_lines(stream, name), strict=True)
            header = [cell.strip() for cell in next(reader, [])]
            _check_header(header, name)
            rows, lines = [], []
            for row in reader:
                if not any(cell.strip() for cell in row):
                    continue  # a blank line
                if len(row) != len(header):
                    raise Refused(
                        f"{name}, line {reader.line_num}: {len(row)} columns where the header has {len(header)}"
                    )
                rows.append([cell.strip() for cell in row])
                lines.append(reader.line_num)
                if len(rows) * len(header) > _MOST_CELLS:
                    raise Refused(f"{name}, line {reader.line_num}: holds more than {_MOST_CELLS} cells")
    except csv.Error as error:
        raise Refused(f"{name}, line {reader.line_num}: is not CSV ({error})") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise Refused(f"{name}: the gzip stream is damaged ({error})") from None
    if not rows:
        raise Refused(f"{name}: holds no {of}, only a header")
    return Table(name, {column: [row[j] for row in rows] for j, column in enumerate(header)}, lines)


def _check_header(header: list[str], name: str) -> None:
    if not any(header):
        raise Refused(f"{name}: is empty; the first line must name the columns")
    if len(header) == 1 and re.search("[;\t|]", header[0]):
        raise Refused(f"{name}, line 1: {shown(header[0])} is one column; columns are separated by commas")
    seen: set[str] = set()
    for column in header:
        if not column or len(column) > _LONGEST_NAME or not column.isprintable():
            raise Refused(f"{name}, line 1: {shown(column)} is not the name of a column")
        if column in seen:
            raise Refused(f"{name}, line 1: two columns are named {column!r}")
        seen.add(column)


def need_columns(table: Table, names: tuple[str, ...]) -> None:
    """Refuse a table that lacks one of these columns."""
    for column in names:
        if column not in table.columns:
            raise Refused(f"{table.source}: has no column {column!r}, only {', '.join(map(shown, table.columns))}")


def checked_name(table: Table, row: int, column: str) -> str:
    """Read a name."""
    name = table.columns[column][row]
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise Refused(f"{table.at(row, column)}: {shown(name)} is not a name")
    return name


def row_names(table: Table, column: str) -> list[str]:
    """Read the name of each row, no two alike; without such a column rows are numbered from 1."""
    if column not in table.columns:
        return [str(row + 1) for row in range(len(table.lines))]
    first: dict[str, int] = {}
    for row, line in enumerate(table.lines):
        name = checked_name(table, row, column)
        if first.setdefault(name, line) != line:
            raise Refused(f"{table.at(row, column)}: {name!r} is on line {first[name]} already")
    return list(first)


def read_machines(source: str, resources: list[str]) -> Table:
    """Read a CSV file of machines that must have these resources; what no task needs is left out, and told."""
    table = read_table(source, "machine")
    need_columns(table, tuple(resources))
    for column in table.columns:
        if column not in {"machine", "user", "count"} and column not in resources:
            note(f"{table.source}: no task needs column {column!r}, which is left out")
    return table


def machine_lines(table: Table, most: int) -> tuple[list[str], list[int]]:
    """Read the name and the number of machines of each line of a table of machines; at most so many in all."""
    names = row_names(table, "machine")
    counts: list[int] = []
    for row in range(len(table.lines)):
        text = table.columns["count"][row] if "count" in table.columns else "1"
        if not re.fullmatch(r"\d{1,9}", text, re.ASCII) or int(text) == 0:
            raise Refused(f"{table.at(row, 'count')}: {shown(text)} is not a number of machines")
        counts.append(int(text))
        if sum(counts) > most:
            raise Refused(f"{table.at(row, 'count')}: more than {most} machines")
    return names, counts


def checked_user(table: Table, row: int) -> str:
    """Read the name of a user."""
    return checked_name(table, row, "user")


def _bare(column: str) -> str:
    """Strip what slips in a heading: capitals, blanks and strokes, the s of a plural."""
    return re.sub(r"[\s_-]", "", column).lower().removesuffix("s")


def resource_columns(table: Table, others: Set[str]) -> list[str]:
    """List the columns of demands: all but the others, and those that are plainly words.

    A heading that is nearly one of the others, such as ``Weight`` or ``max tasks``, is refused: as a resource it would
    give numbers that look right.
    """
    rest = [column for column in table.columns if column not in others]
    meant = {_bare(other): other for other in sorted(others)}
    for column in rest:
        if _bare(column) in meant:
            raise Refused(
                f"{table.source}: column {shown(column)} would be taken for a resource; is it meant as "
                f"{meant[_bare(column)]!r}? Rename it or leave it out"
            )
    words = {column: None for column in rest if table.is_text(column)}
    if len(words) == len(rest):
        found = ", ".join(map(shown, table.columns))
        raise Refused(f"{table.source}: has no column of demands (numbers), only {found}")
    if words:
        names = "" if "user" in table.columns else "; names of users are read from the column 'user'"
        note(f"{table.source}: no numbers in column {', '.join(map(repr, words))}, which is left out{names}")
    return [column for column in rest if column not in words]


def given_capacities(pairs: list[str], resources: list[str]) -> list[float] | None:
    """Read ``name=number`` for every resource."""
    if not pairs:
        return None
    given: dict[str, float] = {}
    for pair in pairs:
        name, sign, text = pair.rpartition("=")
        if not sign or not NUMBER.fullmatch(text):
            raise Refused(f"--capacity must be given as name=number, got {shown(pair)}")
        if name not in resources:
            raise Refused(f"--capacity names {shown(name)}, which is none of the resources {', '.join(resources)}")
        if name in given:
            raise Refused(f"--capacity names {name!r} twice")
        given[name] = float(text)
        if not given[name] > 0 or math.isinf(given[name]):
            raise Refused(f"--capacity {name} must be positive and finite, got {text}")
    if len(given) < len(resources):
        raise Refused(
            f"--capacity must be given for every resource, also for {', '.join(r for r in resources if r not in given)}"
        )
    return [given[name] for name in resources]
