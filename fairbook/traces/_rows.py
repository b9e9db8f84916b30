"""Tables of traces that are published as headerless CSV: every field of every line is checked."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from fairbook.errors import TraceError
from fairbook.traces._files import BlockReader, Part

__all__ = ["Column", "Table"]


class Column(NamedTuple):
    """One column of a table as published: its form, the least value of a count, and the words that may stand there."""

    name: str
    kind: Literal["time", "count", "decimal", "word", "words", "name"]
    least: int = 0
    optional: bool = False
    words: tuple[str, ...] = ()


_FORMS: Final = {
    "time": (re.compile(rb"-?\d{1,18}"), "an integer of at most 18 digits"),
    "count": (re.compile(rb"\d{1,18}"), "a non-negative integer of at most 18 digits"),
    "decimal": (re.compile(rb"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?"), "a non-negative finite number"),
    "word": (re.compile(rb"[A-Za-z0-9_.:-]{1,64}"), "a plain word of at most 64 characters"),
    "words": (re.compile(rb"[A-Za-z0-9_.:-]{1,64}(?:\|[A-Za-z0-9_.:-]{1,64}){0,99}"), "plain words separated by |"),
    "name": (re.compile(rb"[A-Za-z0-9_.:+/=-]{1,1000}"), "a plain name of at most 1000 characters"),
}
_READ: Final[dict[str, Callable[[bytes], Any]]] = {"decimal": float, "word": bytes.decode, "words": bytes.decode,
                                                   "name": bytes.decode}


def _parse_line(line: bytes, columns: tuple[Column, ...], where: Callable[[], str]) -> list[Any]:
    """Parse one line of a published table; None stands for an empty field.

    Parameters
    ----------
    line : bytes
        Without its newline; one carriage return at the end is ignored.
    columns : tuple of Column
        The table.
    where : callable
        Gives file and line, for the message.

    Raises
    ------
    TraceError
        If the number of columns, a mandatory field or a field's form is wrong.
    """
    fields = line.removesuffix(b"\r").split(b",")
    if len(fields) != len(columns):
        raise TraceError(f"{where()}: expected {len(columns)} columns, found {len(fields)}")
    values: list[Any] = []
    for number, (column, text) in enumerate(zip(columns, fields, strict=True), start=1):
        if not text:
            if not column.optional:
                raise TraceError(f"{where()}: column {number} ({column.name}) is empty but mandatory")
            values.append(None)
            continue
        form, wanted = _FORMS[column.kind]
        value: Any = None
        if form.fullmatch(text):
            value = _READ.get(column.kind, int)(text)
        if value is None or value == math.inf:
            raise TraceError(f"{where()}: column {number} ({column.name}) is not {wanted}: {text[:80]!r}")
        if column.words and value not in column.words:
            known = ", ".join(column.words)
            raise TraceError(f"{where()}: column {number} ({column.name}) is none of {known}: {value}")
        if column.kind == "count" and value < column.least:
            raise TraceError(f"{where()}: column {number} ({column.name}) is less than {column.least}: {value}")
        values.append(value)
    return values


@dataclass
class _File:
    """One file as read: its lines (with a header, if it has one) and its checksum."""

    part: Part
    lines: int = 0
    header: bool = False
    sha256: str = ""


class Table:
    """Rows of a table in file order, with the file and line of each."""

    def __init__(self, parts: Sequence[Part], columns: tuple[Column, ...], titles: tuple[bytes, ...] = ()) -> None:
        self.files = [_File(part) for part in parts]
        self.rows: list[list[Any]] = []
        with BlockReader([part.path for part in parts]) as reader:
            for block in reader:
                file = self.files[block.part]

                def where(file: _File = file) -> str:
                    return f"{file.part.path}, line {file.lines}"

                if block.error is not None:
                    raise TraceError(f"{file.part.path}, line {file.lines + 1}: {block.error}")
                if block.last:
                    file.sha256 = block.sha256
                    if file.lines == file.header:
                        raise TraceError(f"{file.part.path}, line {file.lines + 1}: the file holds no row")
                elif block.stop:
                    for line in block.data[: block.stop - 1].split(b"\n"):
                        file.lines += 1
                        if file.lines == 1 and titles and self._is_header(line, titles):
                            file.header = True
                        else:
                            self.rows.append(_parse_line(line, columns, where))

    @staticmethod
    def _is_header(line: bytes, titles: tuple[bytes, ...]) -> bool:
        return tuple(field.strip() for field in line.split(b",")) == titles

    def where(self, row: int) -> str:
        """Return the file and line of a row."""
        for file in self.files:
            rows = file.lines - file.header
            if row < rows:
                return f"{file.part.path}, line {row + 1 + file.header}"
            row -= rows
        raise AssertionError("no such row")  # a bug here, not in the file

    def described(self) -> list[dict[str, Any]]:
        """Describe the files for the provenance."""
        return [
            {
                "file": f.part.path.name,
                "part": f.part.number,
                "rows": f.lines - f.header,
                "header": f.header,
                "sha256": f.sha256,
            }
            for f in self.files
        ]
