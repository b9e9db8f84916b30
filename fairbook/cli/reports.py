"""Allocations as they are printed and written."""

from __future__ import annotations

import argparse
import json
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fairbook
from fairbook.cli.common import Refused, csv_of, note, shown, six
from fairbook.files import write_whole

if TYPE_CHECKING:
    import pandas as pd

_MOST_ROWS = 2000  # of phases or periods times users that are printed


@dataclass
class Report:
    """An allocation as it is printed and written: rows, resources, and what was asked about them.

    ``head`` goes into a JSON file before the rows, which stand there under ``name``; ``promise`` is what an empty list
    of violations certifies. Where there are no resources, another table stands in their place, named ``second``.
    """

    rows: pd.DataFrame
    resources: pd.DataFrame
    head: dict[str, Any]
    name: str
    promise: str
    sentences: dict[Any, str] = field(default_factory=dict)
    violations: list[str] | None = None
    beside: dict[str, pd.DataFrame] = field(default_factory=dict)  # more tables, in a JSON file only
    second: str = "resources"


def check_output(source: str, output: str | None) -> None:
    if output in (None, "-"):
        return
    if not output.endswith((".csv", ".json")):
        raise Refused(f"--output must end in .csv or .json, or be -, got {shown(output)}")
    keep(source, output, "--output")


def keep(source: str, output: str, flag: str) -> None:
    """Refuse to write over a file that is read."""
    try:
        same = source != "-" and os.path.samefile(source, output)
    except (OSError, ValueError):  # one of them is not there
        same = False
    if same:
        raise Refused(f"{flag} would overwrite the input {source}")


def deliver(report: Report, options: argparse.Namespace) -> None:
    frame = report.rows
    if report.sentences:
        frame = frame.assign(explanation=[report.sentences.get(name, "") for name in frame.index])
    if options.output == "-":
        print(csv_of(frame), end="")
    else:
        if options.output is not None:
            write_whole({Path(options.output): _file_of(report, frame, options)})
        most = _MOST_ROWS if frame.index.nlevels > 1 else None
        print(report.rows.to_string(float_format=six, max_rows=most, sparsify=False))
        if most is not None and len(report.rows) > most:
            print(f"({len(report.rows)} rows; --output writes all)")
        print()
        print(report.resources.to_string(float_format=six))
        if report.sentences:
            print("\n" + "\n".join(report.sentences.values()))
    for text in report.violations or ():
        note(f"violated: {text}")
    if report.violations == []:
        note(f"verified: no constraint is violated, and {report.promise}")


def _records(frame: pd.DataFrame) -> list[dict[Any, Any]]:
    """Give the rows as JSON holds them, which has no infinity and no nan."""
    return [
        {name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()}
        for row in frame.reset_index().to_dict("records")
    ]


def _file_of(report: Report, frame: pd.DataFrame, options: argparse.Namespace) -> bytes:
    if options.output.endswith(".csv"):
        return csv_of(frame).encode()
    content = {
        "fairbook": fairbook.__version__,
        **report.head,
        **{name: _records(table) for name, table in {report.name: frame, **report.beside}.items()},
        report.second: _records(report.resources),
        "violations": report.violations,
    }
    return (
        json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False, default=lambda x: x.item()) + "\n"
    ).encode()
