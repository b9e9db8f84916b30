"""Drawings for the comparison: maps of numbers, a row a mechanism, a column a trace (:mod:`book.compare.studies`)."""

import re
import textwrap
from itertools import groupby
from typing import NamedTuple

import pandas as pd

from book.common.style import COLOURS, Svg, axes, drawing, of_measure, tint
from book.compare.entrants import ENTRANTS
from fairbook.errors import InvalidInput

__all__ = ["arrivals", "day", "envy", "lying", "shares", "use"]

#: Traces as they are shown.
TRACES = {"google2011": "Google", "alibaba2017": "Alibaba", "alibaba_gpu2023": "with GPUs"}
_ROW, _HEAD = 0.27, 1.45  # inches of a row, and of what stands above all
_LINE, _GAP = 0.68, 0.4  # rows that a line of a label takes, and that are between groups


class _Column(NamedTuple):
    """A measure, what stands above its columns, and whether more of it is a harm."""

    measure: str
    label: str
    harm: bool = False


def _written(value: float) -> str:
    """Write a part of one in percent, with a digit after the point below twenty; nothing for what rounds to zero."""
    if pd.isna(value):
        return "-"
    if abs(value) < 0.0005:
        return ""
    return f"{100 * value:z.1f}" if abs(value) < 0.1995 else f"{100 * value:.0f}"


def _rows(texts: pd.DataFrame) -> list[tuple[float, str, list[str]]]:
    """Give each row its height, its label, its mechanisms: those of a group that show the same numbers share one."""
    rows: list[tuple[float, str, list[str]]] = []
    top = 0.0
    for _, group in groupby(ENTRANTS.values(), key=lambda one: one.kind):
        alike: dict[tuple[str, ...], list[str]] = {}
        for name in (one.name for one in group):
            alike.setdefault(tuple(texts.loc[name]), []).append(name)
        for names in alike.values():
            # a label is broken between mechanisms; in one after a comma, or before a bracket
            whole = "; ".join(re.sub(r"(?<!,) (?!\()", "\N{NO-BREAK SPACE}", ENTRANTS[name].label) for name in names)
            lines = textwrap.wrap(whole, 22, break_on_hyphens=False)
            tall = max(1.0, _LINE * len(lines))
            rows.append((top + tall / 2, "\n".join(lines).replace("\N{NO-BREAK SPACE}", " "), names))
            top += tall
        top += _GAP
    return rows


@drawing
def _map(frame: pd.DataFrame, *columns: _Column) -> Svg:
    unknown = sorted(set(frame["trace"]) - set(TRACES)) + sorted(set(frame["mechanism"]) - set(ENTRANTS))
    if unknown:
        raise InvalidInput("frame", "must hold traces and mechanisms of the comparison only", unknown)
    shown = [name for name in TRACES if name in set(frame["trace"])]
    values = {
        one.measure: of_measure(frame, one.measure)
        .pivot(index="mechanism", columns="trace", values="mean")
        .reindex(index=list(ENTRANTS), columns=shown)
        for one in columns
    }
    rows = _rows(pd.concat(values, axis=1).map(_written))
    first, last = rows[0][0] - 0.5, rows[-1][0] + 0.5
    figure, panels = axes(1, len(columns), width=5.2, height=_HEAD + _ROW * (last - first), share_y=True)
    for panel, column in zip(panels, columns, strict=True):
        table = values[column.measure]
        low = 0.0 if column.harm else float(table.min(axis=None))
        span = float(table.max(axis=None)) - low
        colour = COLOURS["vermilion" if column.harm else "blue"]
        for y, _, names in rows:
            for x, value in enumerate(table.loc[names[0]]):
                part = (value - low) / span if span > 0 and not pd.isna(value) else 0.0
                panel.bar(x, 1, width=1, bottom=y - 0.5, color=tint(colour, 0.55 * part), edgecolor="white")
                panel.text(x, y, _written(value), ha="center", va="center")
        panel.set(xlim=(-0.5, len(shown) - 0.5), ylim=(last, first), xlabel=column.label)
        panel.set_xticks(range(len(shown)), [TRACES[name] for name in shown], rotation=90)
        panel.xaxis.set_label_position("top")
        panel.xaxis.labelpad = 8
        panel.tick_params(length=0, labeltop=True, labelbottom=False)
        panel.grid(False)
        panel.spines[:].set_visible(False)
    panels[0].set_yticks([y for y, _, _ in rows], [label for _, label, _ in rows])
    return Svg(figure)


def shares(frame: pd.DataFrame) -> Svg:
    """Draw the least dominant share, handed out and running, and the sum of what is handed out (``moment``)."""
    return _map(
        frame,
        _Column("min_share", "least share\nhanded out\n(percent)"),
        _Column("min_placed", "least share\nthat runs\n(percent)"),
        _Column("sum_share", "sum of\nthe shares\n(percent)"),
    )


def use(frame: pd.DataFrame) -> Svg:
    """Draw what is in use, and how much of what is handed out runs on machines (``moment``)."""
    return _map(
        frame, _Column("utilisation", "in use\n(percent)"), _Column("placed", "part of it\nthat runs (percent)")
    )


def envy(frame: pd.DataFrame) -> Svg:
    """Draw who envies, who is worse off than alone, and by how much at most (``moment``)."""
    return _map(
        frame,
        _Column("envious", "users who\nenvy\n(percent)", True),
        _Column("losers", "worse off\nthan alone\n(percent)", True),
        _Column("loss", "largest\nloss\n(percent)", True),
    )


def lying(frame: pd.DataFrame) -> Svg:
    """Draw how many of those who try find a lie that pays, and what it brings in the mean (``lying``)."""
    return _map(
        frame,
        _Column("paying", "users whose\nlie pays (percent)", True),
        _Column("gain", "mean gain by\nthe best lie (percent)", True),
    )


def arrivals(frame: pd.DataFrame) -> Svg:
    """Draw what an arrival takes away from those who are there (``moment``)."""
    return _map(frame, _Column("taken", "taken back at an arrival\n(percent of what runs)", True))


def day(frame: pd.DataFrame) -> Svg:
    """Draw the least share, the largest loss and the part of the work done, over six periods (``day``)."""
    return _map(
        frame,
        _Column("min_share", "least share\na period\n(percent)"),
        _Column("loss", "largest\nloss\n(percent)", True),
        _Column("done", "work done\n(percent)"),
    )
