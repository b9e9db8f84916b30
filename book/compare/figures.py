"""Drawings for the comparison: one row a mechanism, one marker a trace; frames of :mod:`book.compare.studies`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pandas as pd
from matplotlib.axes import Axes

from book.common.style import COLOURS, Svg, axes, drawing, legend_below, number, of_measure, percent, whiskers
from fairbook.errors import InvalidInput

__all__ = ["arrivals", "day", "envy", "lying", "shares", "use"]

#: Mechanisms by what they hand out, as they are shown.
GROUPS: dict[str, dict[str, str]] = {
    "fractions of one pool": {
        "drf": "DRF", "dmfa_srq": "DMFA-SRQ", "cbdrf": "cbDRF", "karma": "Karma", "tv_drf_fluid": "TV-DRF, fluid"},
    "whole tasks of one pool": {"drf_by_task": "DRF, task by task"},
    "fractions on machines": {"drfh_fluid": "DRFH, fluid"},
    "whole tasks on machines": {
        "drfh": "DRFH, Best-Fit", "drfh_first_fit": "DRFH, First-Fit", "gdrf": "GDRF", "mdrf": "MDRF (stand-in)",
        "per_server_drf": "DRF per machine", "tv_drf": "TV-DRF", "slots": "virtual clusters, one",
        "slots_racks": "virtual clusters, four"},
}


class _Trace(NamedTuple):
    label: str
    colour: str
    marker: str


#: Traces as they are shown.
TRACES = {
    "google2011": _Trace("Google 2011", COLOURS["blue"], "o"),
    "alibaba2017": _Trace("Alibaba 2017", COLOURS["vermilion"], "s"),
    "alibaba_gpu2023": _Trace("Alibaba 2023, with GPUs", COLOURS["black"], "^"),
}


class _Column(NamedTuple):
    """A measure, the label of its axis, how its ticks are written, and where it starts and ends (None: with values)."""

    measure: str
    label: str
    ticks: Callable[[float, float], str] = number
    end: float | None = None
    start: float | None = 0.0


def _rows(panel: Axes) -> dict[str, float]:
    """Give every mechanism a height, groups under their heads, and write the names; the first is on top."""
    heights: dict[str, float] = {}
    ticks: list[tuple[float, str]] = []
    y = 0.0
    for group, mechanisms in GROUPS.items():
        ticks.append((y, group))
        for name, label in mechanisms.items():
            y -= 1
            heights[name] = y
            ticks.append((y, label))
        y -= 1.25
    panel.set_yticks([place for place, _ in ticks], [label for _, label in ticks])
    for (_, label), text in zip(ticks, panel.get_yticklabels(), strict=True):
        if label in GROUPS:
            text.set_color(COLOURS["grey"])
            text.set_fontstyle("italic")
    panel.set_ylim(y + 0.65, 0.6)
    panel.tick_params(axis="y", length=0)
    return heights


@drawing
def _dots(frame: pd.DataFrame, *columns: _Column, width: float = 7.4) -> Svg:
    unknown = sorted(set(frame["trace"]) - set(TRACES)) + sorted(
        set(frame["mechanism"]) - {name for group in GROUPS.values() for name in group})
    if unknown:
        raise InvalidInput("frame", "must hold traces and mechanisms of the comparison only", unknown)
    figure, panels = axes(1, len(columns), width=width, height=5.6, share_y=True)
    heights = _rows(panels[0])
    shown = [name for name in TRACES if name in set(frame["trace"])]
    for panel, column in zip(panels, columns, strict=True):
        part = of_measure(frame, column.measure).dropna(subset=["mean"])
        for k, name in enumerate(shown):
            trace, rows = TRACES[name], part[part["trace"] == name]
            y = rows["mechanism"].map(heights) + 0.24 * ((len(shown) - 1) / 2 - k)
            panel.errorbar(rows["mean"], y, xerr=whiskers(rows),
                           color=trace.colour, marker=trace.marker, markersize=4, linestyle="", elinewidth=1.1,
                           label=trace.label)
        start = float(part["low"].min()) if column.start is None else column.start
        end = column.end or float(part["high"].max()) or 1.0
        panel.set(xlim=(start - 0.03 * (end - start), end + 0.05 * (end - start)), xlabel=column.label)
        panel.xaxis.set_major_formatter(column.ticks)
        panel.locator_params(axis="x", nbins=5)
        panel.tick_params(axis="y", length=0)
    legend_below(figure, panels, len(shown), top_first=False)
    return Svg(figure)


def shares(frame: pd.DataFrame) -> Svg:
    """Draw the least dominant share, handed out and running, and the sum of what is handed out (``moment``)."""
    return _dots(frame, _Column("min_share", "least share\nhanded out (percent)", percent),
                 _Column("min_placed", "least share\nthat runs (percent)", percent),
                 _Column("sum_share", "sum of the dominant\nshares (pool = 1)"))


def use(frame: pd.DataFrame) -> Svg:
    """Draw what is in use, and how much of what is handed out runs on machines (``moment``)."""
    return _dots(frame, _Column("utilisation", "utilisation (percent)", percent, 1.0),
                 _Column("placed", "part of it that runs (percent)", percent, 1.0, None))


def envy(frame: pd.DataFrame) -> Svg:
    """Draw who envies, who is worse off than alone, and by how much at most (``moment``)."""
    return _dots(frame, _Column("envious", "users who envy\n(percent)", percent, 1.0),
                 _Column("losers", "users worse off\nthan alone (percent)", percent, 1.0),
                 _Column("loss", "largest loss\n(percent)", percent, 1.0))


def lying(frame: pd.DataFrame) -> Svg:
    """Draw how many of those who try find a lie that pays, and what it brings in the mean (``lying``)."""
    return _dots(frame, _Column("paying", "users whose lie pays (percent)", percent, 1.0),
                 _Column("gain", "mean gain by the best lie (percent)", percent))


def arrivals(frame: pd.DataFrame) -> Svg:
    """Draw what an arrival takes away from those who are there (``moment``)."""
    return _dots(frame, _Column("taken", "taken back at an arrival (percent of what runs)", percent), width=6.0)


def day(frame: pd.DataFrame) -> Svg:
    """Draw the least share, the largest loss and the part of the work done, over six periods (``day``)."""
    return _dots(frame, _Column("min_share", "least share a period\n(percent)", percent),
                 _Column("loss", "largest loss\n(percent)", percent, 1.0),
                 _Column("done", "work done\n(percent of what is asked)", percent, 1.0))
