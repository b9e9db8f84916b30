"""Tables of traces that are published as headerless CSV: every field of every line is checked.

The grammar of a table is one regular expression, made of the forms of its columns, that is run over whole blocks of
lines at the speed of the decompression. Only what it takes is parsed, by pandas; of a line that it does not take, its
columns are looked at one by one, to say which is wrong.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

import pandas as pd

from fairbook.errors import TraceError
from fairbook.traces.raw.files import File, Part

__all__ = ["Column", "Table", "frames"]

Kind = Literal["time", "microseconds", "count", "positive", "decimal", "word", "words", "name", "text"]

# Integers of 18 digits fit 64 bits; decimals of this form are finite.
_FORMS: Final[dict[str, tuple[str, str]]] = {
    "time": (r"-?[0-9]{1,18}+", "an integer of at most 18 digits"),
    "microseconds": (r"(?:9223372036854775807|[0-9]{1,18}+)", "a time of at most 18 digits, or 2**63 - 1"),
    "count": (r"[0-9]{1,18}+", "a non-negative integer of at most 18 digits"),
    "positive": (r"(?!0+(?![0-9]))[0-9]{1,18}+", "a positive integer of at most 18 digits"),
    "decimal": (
        r"(?:[0-9]{1,40}+\.?+[0-9]{0,40}+|\.[0-9]{1,40}+)(?:[eE][+-]?+[0-9]{1,2}+|)",
        "a non-negative number of at most 40 digits before and after the point and an exponent of two",
    ),
    "word": (r"[A-Za-z0-9_.:-]{1,64}+", "a plain word of at most 64 characters"),
    "words": (r"[A-Za-z0-9_.:-]{1,64}+(?:\|[A-Za-z0-9_.:-]{1,64}+){0,99}+", "plain words separated by |"),
    "name": (r"[A-Za-z0-9_.:+/=-]{1,1000}+", "a plain name of at most 1000 characters"),
    "text": (r"[!#-+\--~]{1,64}+", "a plain text of at most 64 characters"),  # printable ASCII but quote and comma
}
# Decimals are to come out as float() reads them; pandas from 3.1 does so by itself, and warns if asked.
_OLD_PANDAS: Final = tuple(int(text) for text in pd.__version__.split(".")[:2]) < (3, 1)
_EXACT: Final[dict[str, Any]] = {"float_precision": "round_trip"} if _OLD_PANDAS else {}


class Column(NamedTuple):
    """One column of a table as published: its form, or the words that may stand there, and whether it may be empty."""

    name: str
    kind: Kind = "word"
    optional: bool = False
    words: tuple[str, ...] = ()

    @property
    def form(self) -> tuple[str, str]:
        """A regular expression, and the same in words."""
        return ("|".join(self.words), f"one of {', '.join(self.words)}") if self.words else _FORMS[self.kind]

    @property
    def dtype(self) -> str:
        """What its values are read as."""
        if self.kind in ("time", "microseconds", "count", "positive"):
            return "Int64" if self.optional else "int64"
        return "float64" if self.kind == "decimal" else "category"


def _reason(line: bytes, columns: Sequence[Column]) -> str:
    """Say what is wrong with a line."""
    fields = line.split(b",")
    if len(fields) != len(columns):
        return f"expected {len(columns)} columns, found {len(fields)}"
    for number, (column, text) in enumerate(zip(columns, fields, strict=True), start=1):
        pattern, said = column.form
        if not text and not column.optional:
            return f"column {number} ({column.name}) is empty but mandatory"
        if text and not re.fullmatch(pattern.encode(), text):
            return f"column {number} ({column.name}) is not {said}: {text[:80]!r}"
    raise AssertionError(line)  # a bug here, not in the file


def _parsed(text: bytes, columns: Sequence[Column], kinds: dict[str, str]) -> pd.DataFrame:
    """Parse the columns that are keys of `kinds`; nothing in the text is out of form."""
    return pd.read_csv(
        io.BytesIO(text),
        header=None,
        names=[column.name for column in columns],
        usecols=list(kinds),
        dtype=kinds,
        keep_default_na=False,
        na_values={name: [""] for name, kind in kinds.items() if kind not in ("category", "str")},
        quoting=csv.QUOTE_NONE,
        **_EXACT,
    )


def frames(
    file: File, columns: Sequence[Column], *, titles: tuple[str, ...] = (), use: Sequence[str] | None = None
) -> Iterator[pd.DataFrame]:
    """Read one file in blocks, counting its rows.

    Parameters
    ----------
    file : File
        Not yet read.
    columns : sequence of Column
        The table. All are checked.
    titles : tuple of str
        A header that copies of the file may have.
    use : sequence of str, optional
        Columns that are wanted, by default all.

    Yields
    ------
    pandas.DataFrame
        Rows in file order: int64 for integers (Int64 where they may be missing), float64 for decimals, the doubles
        nearest to them (NaN where there is none), and str or categories of str for texts (``""`` where there is none).

    Raises
    ------
    TraceError
        At the first line that is not in the published format, or where the file is damaged; it names file and line.
    """
    fields = ",".join(f"(?:{column.form[0]}{'|' * column.optional})" for column in columns)
    lines = re.compile(f"(?:{fields}\n)*+".encode())
    used = [column for column in columns if use is None or column.name in use]
    kinds = {column.name: column.dtype for column in used}
    for text in file.blocks(titles):
        matched = lines.match(text)
        end = matched.end() if matched else 0
        if end < len(text):
            row = file.rows + text.count(b"\n", 0, end)
            bad = text[end : text.index(b"\n", end)]
            raise TraceError(f"{file.where(row)}: {_reason(bad, columns)}")
        frame = _parsed(text, columns, kinds)
        texts = [name for name, kind in kinds.items() if kind == "category"]
        if any(pd.api.types.is_numeric_dtype(frame[name].cat.categories) for name in texts):
            # where all texts of a block look like numbers, pandas takes them for numbers
            frame = _parsed(text, columns, kinds | dict.fromkeys(texts, "str"))
        file.rows += len(frame)
        yield frame


class Table:
    """A table that is read whole: its rows in file order, with the file and line of each.

    Attributes
    ----------
    frame : pandas.DataFrame
        As :func:`frames` gives it, texts as str.
    files : list of File
        In part order.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        columns: Sequence[Column],
        *,
        titles: tuple[str, ...] = (),
        unique: Sequence[str] = (),
    ) -> None:
        self.files = [File(part) for part in parts]
        texts = {column.name: "str" for column in columns if column.dtype == "category"}
        read = (frame.astype(texts) for file in self.files for frame in frames(file, columns, titles=titles))
        self.frame = pd.concat(read, ignore_index=True)
        key = self.frame[list(unique)]
        if unique and key.duplicated().any():
            row = int(key.duplicated().argmax())
            before = int((key == key.iloc[row]).all(axis=1).argmax())
            shown = ", ".join(f"{name} {value}" for name, value in key.iloc[row].items())
            raise TraceError(f"{self.where(row)}: {shown} is there already ({self.where(before)})")

    def where(self, row: int) -> str:
        """Return the file and line of a row."""
        for file in self.files:
            if row < file.rows:
                return file.where(row)
            row -= file.rows
        raise AssertionError("no such row")  # a bug here, not in the file

    def described(self) -> list[dict[str, Any]]:
        """Describe the files for the record of a digest."""
        return [file.described() for file in self.files]
