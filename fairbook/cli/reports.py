"""Allocations as they are printed and written."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import textwrap
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

import fairbook
from fairbook.cli.common import Refused, csv_of, few, note, short, shown
from fairbook.files import write_whole

_MOST_ROWS = 2000  # of a table that are printed
#: Columns that a terminal has no room for.
_DETAILS = {
    "dominant",
    "dominant_shares",
    "level",
    "weight",
    "raised_at",
    "cumulative_share",
    "drf_tasks",
    "complied",
    "guaranteed",
    "borrowed",
    "donated",
    "earned",
    "credit",
    "bound",
    "served_fraction",
}
_HEADS = {
    "dominant_share": "share",
    "bottleneck": "stopped by",
    "stopped_by": "stopped by",
    "credit_factor": "credit",
    "sharing_coefficient": "to alone",
    "utilisation_alone": "alone",
}
#: How numbers are printed that are no plain ones, by heading.
_FORMATS = dict.fromkeys(("share", "share now", "fair share", "difference"), " {:.1%}".format) | {
    "gain in %": lambda part: short(part) if math.isfinite(part) else "from nothing"
}


@dataclass
class Report:
    """An allocation as it is printed and written: a row for each user, what there is, and what was asked about them."""

    rows: pd.DataFrame
    head: dict[str, Any]  # what goes into a JSON file before the rows
    lines: list[str] = field(default_factory=list)  # what is said below the tables
    amounts: pd.DataFrame | None = None
    placement: pd.DataFrame | None = None
    comparisons: list[pd.DataFrame] = field(default_factory=list)  # with what is held now, with another mechanism
    sentences: dict[Any, str] = field(default_factory=dict)
    violations: list[str] | None = None
    certificate: str = ""  # what it says that there are none


def check_output(sources: list[str], output: str | None) -> None:
    """Refuse a file that is no table, or that is read."""
    if output in (None, "-"):
        return
    if not output.endswith((".csv", ".json")):
        raise Refused(f"--output must end in .csv or .json, or be -, got {shown(output)}")
    for source in sources:
        with suppress(OSError, ValueError):  # one of them is not there
            if source != "-" and os.path.samefile(source, output):
                raise Refused(f"--output would overwrite the input {source}")


def deliver(report: Report, output: str | None) -> None:
    """Write what is to be written, print what is to be printed."""
    frame = report.rows
    if report.sentences:
        frame = frame.assign(explanation=[report.sentences.get(name, "") for name in frame.index])
    if output == "-":
        print(csv_of(frame), end="")
    else:
        if output is not None:
            content = csv_of(frame) if output.endswith(".csv") else _json_of(report, frame)
            write_whole({Path(output): content.encode()})
        _print(report)
    for text in report.violations or ():
        note(f"violated: {text}")
    if report.violations == []:
        note(report.certificate)


def _print(report: Report) -> None:
    width = shutil.get_terminal_size().columns if sys.stdout and sys.stdout.isatty() else 80

    def say(text: str) -> None:
        print(textwrap.fill(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))

    say(f"{report.head['mechanism']}: {report.head['reason']}")
    placement = [] if report.placement is None else [_alike(report.placement)]
    for table in [_shown(report.rows), report.amounts, *placement, *report.comparisons]:
        if table is not None:
            how: Any = {"float_format": short, "formatters": _FORMATS, "sparsify": False, "max_rows": _MOST_ROWS}
            print(f"\n{table.rename(columns=_HEADS).to_string(**how, line_width=width)}")
    if len(report.rows) > _MOST_ROWS:
        print(f"({len(report.rows)} rows; --output writes all)")
    print()
    if "dominant" in report.rows:
        say("* the user's dominant resource: it holds the largest part of it, its share")
    for text in (*report.lines, *report.sentences.values()):
        say(text)


def _alike(placement: pd.DataFrame) -> pd.DataFrame:
    """Put machines on which the same tasks are on one line, and write tasks as text."""
    tasks = [", ".join(f"{short(n)} {name}" for name, n in held.items()) for held in placement["tasks"]]
    frame = placement.assign(tasks=tasks)
    keys = [name for name in frame if name not in ("machine", "machines")]
    if "machines" in frame:
        names = {"machine": lambda some: _first(list(dict.fromkeys(some))), "machines": "sum"}
        frame = frame.groupby(keys, sort=False).agg(names).reset_index()[list(placement)]
    return frame.set_index(frame.columns[0])


def _first(names: list[str]) -> str:
    """List some names where a column has room for them, or the first."""
    listed = few(names)
    return listed if len(listed) <= 40 or len(names) == 1 else f"{names[0]}, ..."


def _shown(rows: pd.DataFrame) -> pd.DataFrame:
    """Give the columns that are printed, with what is in use of the dominant resource marked."""
    frame = rows[[]].copy()
    use = [name for name in rows.columns if name.startswith("use_")]
    for name in dict.fromkeys(["tasks", *use, "dominant_share", *rows.columns] if use else rows.columns):
        if name in use:
            resource = name.removeprefix("use_")
            frame[name if resource in {*rows.columns, *_HEADS.values()} else resource] = [
                f"{short(value)}{'*' if resource == dominant else ' '}"
                for value, dominant in zip(rows[name], rows["dominant"], strict=True)
            ]
        elif name not in _DETAILS:
            frame[name] = rows[name]
    return frame


def _records(frame: pd.DataFrame) -> list[dict[Any, Any]]:
    """Give the rows as JSON holds them, which has no infinity and no nan."""
    return [
        {name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()}
        for row in frame.to_dict("records")
    ]


def _json_of(report: Report, frame: pd.DataFrame) -> str:
    tables = {"users": frame.reset_index(), "placement": report.placement}
    if report.comparisons:
        tables["comparison"] = pd.concat(report.comparisons, axis=1).reset_index()
    if report.amounts is not None:
        tables["resources" if "dominant" in frame else "clusters"] = report.amounts.reset_index()
    content = {
        "fairbook": fairbook.__version__,
        **{name: None if value != value else value for name, value in report.head.items()},
        **{name: _records(table) for name, table in tables.items() if table is not None},
        "violations": report.violations,
    }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False, default=lambda x: x.item()) + "\n"
