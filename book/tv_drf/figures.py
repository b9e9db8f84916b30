"""Drawings for the TV-DRF chapter: each takes a frame of :mod:`book.tv_drf.studies`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from book.common.style import (
    COLOURS,
    LOOKS,
    Svg,
    axes,
    band,
    drawing,
    legend_below,
    name_rows,
    note,
    of_measure,
    percent,
)
from fairbook.errors import InvalidInput

__all__ = [
    "comparison",
    "example",
    "fig1",
    "fig2",
    "fig3",
    "fig4",
    "fig5",
    "fig6",
    "fig7",
    "gaps",
    "losses",
    "memory_course",
    "readings",
    "utilisation",
]

_TV_DRF = LOOKS["tv_drf"]
_QUEUE = {"waits": "what does not run waits", "expires": "what does not run expires"}
_LABELS = {
    "min_share": "least cumulative share $G_i$",
    "cpu": "CPU in use (percent)",
    "memory": "memory in use (percent)",
    "total_share": r"all shares, $\sum_i w_i\,G_i$",
    "min_beta": r"least coefficient $\beta_i$",
    "min_ratio": "least $G_i$ (alone = 1)",
    "behind": "lead over the needy (in $G$)",
    "served": "tasks run (percent)",
}
_PERCENT = ("cpu", "memory", "served")


def _periods(panel: Axes, last: int) -> None:
    step = max(1, round(last / 4 / 5) * 5)
    panel.set(xlabel="period $t$", xlim=(0.5, last + 0.5), xticks=[1, *range(step, last + 1, step)])


# ------------------------------------------------------------------------------------------------ the paper's figures


@drawing
def fig1(frame: pd.DataFrame) -> Svg:
    """Draw Figures 1 and 2: what 20 or 100 users ask for per task, and for how many (area).

    A circle for each user and period, large ones behind; those that would look the same are drawn once. The smallest
    are drawn larger than they are.
    """
    figure, (panel,) = axes(width=6.6, height=3.6)
    scale = 900.0 / frame["tasks"].max()

    def area(tasks: Any) -> Any:
        return np.maximum(scale * tasks, 3.0)

    spots = frame[["memory", "cpu", "tasks"]].assign(area=area(frame["tasks"]).round(0))
    spots = spots.round({"memory": 2}).drop_duplicates(["memory", "cpu", "area"]).sort_values("tasks", ascending=False)

    look = {"facecolor": COLOURS["sky"], "edgecolor": COLOURS["blue"], "linewidth": 0.5, "alpha": 0.55}
    panel.scatter(spots["memory"], spots["cpu"], s=spots["area"], **look)
    most = 10.0 ** int(np.log10(spots["tasks"].max()))
    for tasks in (most / 10, most):
        panel.scatter([], [], s=area(tasks), label=f"{tasks:,.0f} tasks".replace(",", " "), **look)
    panel.set(xlabel="memory per task (GB)", ylabel="CPU per task (cores)")
    panel.margins(0.12, 0.3)
    panel.set(xlim=(0, None), ylim=(0, None))
    panel.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), labelspacing=2.6, handletextpad=1.4, borderpad=1.6)
    return Svg(figure)


fig2 = fig1


def _courses(panel: Axes, part: pd.DataFrame, measure: str) -> None:
    """Draw mean and interval of each mechanism; those that coincide show around each other."""
    present = [name for name in dict.fromkeys(part["mechanism"]) if name != "difference"]
    for k, mechanism in enumerate(reversed(present)):
        band(panel, part[part["mechanism"] == mechanism], "period", LOOKS[mechanism],
             markersize=max(7.5 - 1.1 * k, 4.0), zorder=2 + k / 10)
    _periods(panel, int(part["period"].max()))
    panel.set(ylabel=_LABELS[measure], ylim=(0, None))
    if measure in _PERCENT:
        panel.yaxis.set_major_formatter(percent)


def _lead(panel: Axes, part: pd.DataFrame, measure: str) -> None:
    panel.axhline(0, color=COLOURS["grey"], linewidth=1, zorder=1)
    band(panel, part[part["mechanism"] == "difference"], "period", LOOKS["difference"], markersize=3.5, label=None)
    _periods(panel, int(part["period"].max()))
    panel.set_ylabel("lead in $G_i$" if measure == "min_share" else "lead (percentage points)")
    if measure in _PERCENT:
        panel.yaxis.set_major_formatter(percent)


@drawing
def _with_lead(frame: pd.DataFrame, measure: str) -> Svg:
    """Draw a row for each way with unserved tasks: all mechanisms, and the lead of sharing with its own interval."""
    part = of_measure(frame, measure)
    if part["n"].nunique() > 1:
        raise InvalidInput("frame", "must hold one number of users", sorted(set(part["n"])))
    queues = list(dict.fromkeys(part["unserved"]))
    figure, panels = axes(len(queues), 2, width=7.4, height=0.75 + 2.6 * len(queues))
    for row, queue in enumerate(queues):
        rows = part[part["unserved"] == queue]
        left, right = panels[2 * row], panels[2 * row + 1]
        _courses(left, rows, measure)
        _lead(right, rows, measure)
        note(left, _QUEUE[queue])
        note(right, f"{_TV_DRF.label} minus {LOOKS['alone'].label}")
        for panel in (left, right) if row < len(queues) - 1 else ():
            panel.set_xlabel("")
    legend_below(figure, panels, 4, columnspacing=1.3, handlelength=3.2)
    return Svg(figure)


def fig3(frame: pd.DataFrame) -> Svg:
    """Draw Figure 3: the least cumulative dominant share of 5 users, and how far sharing is ahead in the same runs."""
    return _with_lead(frame, "min_share")


def fig4(frame: pd.DataFrame) -> Svg:
    """Draw Figures 4 and 6: CPU utilisation with 20 or 100 users, and the lead of sharing."""
    return _with_lead(frame, "cpu")


def fig5(frame: pd.DataFrame) -> Svg:
    """Draw Figures 5 and 7: memory utilisation with 20 or 100 users, and the lead of sharing."""
    return _with_lead(frame, "memory")


fig6, fig7 = fig4, fig5


@drawing
def _grid(frame: pd.DataFrame, measures: Sequence[str], height: float) -> Svg:
    """Draw a row for each number of users and a column for each measure."""
    queues, sizes = list(dict.fromkeys(frame["unserved"])), list(dict.fromkeys(frame["n"]))
    cases = [(n, queue) for n in sizes for queue in queues]
    width = 7.6 if len(measures) > 2 else 7.2
    figure, panels = axes(len(cases), len(measures), width=width, height=0.7 + height * len(cases))
    for place, panel in enumerate(panels):
        (n, queue), measure = cases[place // len(measures)], measures[place % len(measures)]
        part = of_measure(frame, measure)
        _courses(panel, part[(part["n"] == n) & (part["unserved"] == queue)], measure)
        if place % len(measures) == 0:
            note(panel, f"{n} users; {_QUEUE[queue]}")
        if place < len(panels) - len(measures):
            panel.set_xlabel("")
    legend_below(figure, panels, 4, columnspacing=1.3, handlelength=3.2)
    return Svg(figure)


@drawing
def utilisation(frame: pd.DataFrame) -> Svg:
    """Draw Figures 4 to 7 in one: CPU and memory in use, a row for each number of users."""
    shown = _grid(frame, ("cpu", "memory"), 2.5)
    for panel in shown.figure.axes:
        panel.set_ylim(0, 1.02 if panel.get_ylim()[1] > 0.5 else 0.42)
    return shown


@drawing
def comparison(frame: pd.DataFrame) -> Svg:
    """Draw what the worst-off user has, how far others are ahead of those who still need, and what is used."""
    return _grid(frame, ("min_share", "behind", "memory"), 2.5)


# ---------------------------------------------------------------------------------------------------- worked example


@drawing
def example(frame: pd.DataFrame) -> Svg:
    """Draw the worked example: what A and B have used so far at each moment, over what they would have had alone."""
    figure, panels = axes(1, 2, width=7.6, height=3.9, share_y=True)
    tints = {"CPU": COLOURS["blue"], "memory": COLOURS["orange"]}
    words = {"after period 1": "after\nperiod 1", "start of period 2": "start of\nperiod 2",
             "end of period 2": "end of\nperiod 2"}
    top = float(frame[["cpu", "memory", "own_cpu", "own_memory"]].to_numpy().max())
    for panel, (user, part) in zip(panels, frame.groupby("user"), strict=True):
        for place, line in enumerate(part.to_dict("records")):
            for k, (resource, colour) in enumerate(tints.items()):
                x = place + 0.36 * (k - 0.5)
                name = resource.lower()
                panel.bar(x, line[name], 0.32, color=colour, edgecolor=COLOURS["black"], linewidth=0.6,
                          hatch="" if k == 0 else "//")
                panel.plot([x - 0.17, x + 0.17], [line[f"own_{name}"]] * 2, color=COLOURS["black"], linewidth=2.4,
                           solid_capstyle="butt")
            high = max(line[name] for name in ("cpu", "memory", "own_cpu", "own_memory"))
            text = line["exact"] if "/" not in line["exact"] else f"{line['exact']}\n= {line['beta']:.4g}"
            panel.annotate(text, (place, high), xytext=(0, 5), textcoords="offset points", ha="center", va="bottom",
                           fontsize=9, color=COLOURS["cobalt"], linespacing=1.05)
        panel.set_xticks(range(len(part)), [words.get(moment, moment.replace(", B", ",\nB").replace("has ", "has\n"))
                                            for moment in part["moment"]], fontsize=8.5)
        panel.set(xlim=(-0.55, len(part) - 0.45), ylim=(0, 1.24 * top), xlabel="moment (in order)")
        panel.grid(axis="x", visible=False)
        note(panel, f"user {user}")
    panels[0].set_ylabel("used so far (CPU, GB)")
    figure.legend(handles=[
        *(Patch(facecolor=colour, edgecolor=COLOURS["black"], hatch="" if name == "CPU" else "//", label=name)
          for name, colour in tints.items()),
        Line2D([], [], color=COLOURS["black"], linewidth=2.4, label="what it would have had alone"),
        Line2D([], [], linestyle="", marker=r"$\beta$", markersize=8, color=COLOURS["cobalt"],
               label="sharing coefficient, the lesser ratio")],
        loc="outside lower center", ncols=4, columnspacing=1.4)
    return Svg(figure)


@drawing
def memory_course(frame: pd.DataFrame) -> Svg:
    """Draw what a user who asked for little has later, with memory and without: G, and the tasks of each period."""
    mechanisms = ("tv_drf", "memoryless")
    figure, panels = axes(2, 2, width=7.2, height=5.0, share_x=True)
    ways: dict[str, dict[str, Any]] = {"A": {"marker": "o", "linestyle": "-"},
                                       "B": {"marker": "s", "linestyle": "--", "markerfacecolor": "white"}}
    values = {"share": "cumulative share $G_i$", "tasks": "tasks run (per period)"}
    for column, mechanism in enumerate(mechanisms):
        look = LOOKS[mechanism]
        for row, (value, label) in enumerate(values.items()):
            panel = panels[2 * row + column]
            for user, line in frame[frame["mechanism"] == mechanism].groupby("user"):
                panel.plot(line["period"], line[value], color=look.colour, label=f"{look.label}, user {user}",
                           **ways[str(user)])
            _periods(panel, int(frame["period"].max()))
            panel.set(ylim=(0, 1.07 * float(frame[value].max())), ylabel="" if column else label)
            if row == 0:
                panel.set_xlabel("")
                note(panel, look.label)
    legend_below(figure, panels[:2], 4, top_first=False, columnspacing=1.2, handlelength=2.4)
    return Svg(figure)


# ------------------------------------------------------------------------------------- the heuristic and its optimum

_READING = {"bundles": "bundles", "whole_bundles": "whole bundles", "resources": "resources"}


@drawing
def losses(frame: pd.DataFrame) -> Svg:
    """Draw how often a user has less than alone, by mechanism and reading of alone (frame of ``losses``)."""
    sizes = list(dict.fromkeys(frame["n"]))
    cases = list(frame[["mechanism", "alone"]].drop_duplicates().itertuples(index=False, name=None))
    figure, panels = axes(1, len(sizes), width=7.6, height=3.3)
    for column, (panel, n) in enumerate(zip(panels, sizes, strict=True)):
        for place, (mechanism, alone) in enumerate(cases):
            look = LOOKS[mechanism]
            for queue, shift, face in (("waits", -0.15, look.colour), ("expires", 0.15, "white")):
                part = frame[(frame["n"] == n) & (frame["mechanism"] == mechanism) & (frame["alone"] == alone)
                             & (frame["unserved"] == queue)]
                panel.plot(part["below"], [place + shift] * len(part), color=look.colour, marker=look.marker,
                           markerfacecolor=face, markersize=6.5, linestyle="", clip_on=False, zorder=3)
        name_rows(panel, [f"{LOOKS[mechanism].label}, {_READING[alone]}" for mechanism, alone in cases], column == 0)
        most = float(frame["below"].max()) or 1.0
        panel.set(xlim=(-0.06 * most, 1.08 * most), xlabel=r"$\beta_i<1$ (percent)")
        panel.xaxis.set_major_formatter(percent)
        note(panel, f"{n} users")
    figure.legend(handles=[
        Line2D([], [], linestyle="", marker="o", color=COLOURS["grey"], label=_QUEUE["waits"]),
        Line2D([], [], linestyle="", marker="o", color=COLOURS["grey"], markerfacecolor="white",
               label=_QUEUE["expires"])], loc="outside lower center", ncols=2)
    return Svg(figure)


_STEPS = {"mean": ("mean", "o"), "p95": ("95 of 100 are within", "s"), "worst": ("worst", "D")}


@drawing
def gaps(frame: pd.DataFrame) -> Svg:
    """Draw by how many tasks the heuristic is off, and what part of the optimum it has (frame of ``gaps``)."""
    names = {"machines": "machines as they are", "merged": "one machine"}
    cases = [(n, packing) for n in dict.fromkeys(frame["n"]) for packing in dict.fromkeys(frame["packing"])]
    figure, panels = axes(1, 2, width=7.6, height=1.4 + 0.36 * len(cases))
    for place, (n, packing) in enumerate(cases):
        colour = _TV_DRF.colour if packing == "machines" else COLOURS["black"]
        for queue, shift in (("waits", -0.15), ("expires", 0.15)):
            face = colour if queue == "waits" else "white"
            part = frame[(frame["n"] == n) & (frame["packing"] == packing) & (frame["unserved"] == queue)]
            how: dict[str, Any] = {"color": colour, "markerfacecolor": face, "linestyle": "", "markersize": 5.5}
            for column, (_, marker) in _STEPS.items():
                # what is next to nothing stands at the left edge
                panels[0].plot(np.maximum(part[column], 3e-3), [place + shift] * len(part), marker=marker, **how)
            panels[1].plot(1 - part["total_share"], [place + shift] * len(part), marker="o", **how)
            panels[1].plot(1 - part["total_share_least"], [place + shift] * len(part), marker="D", **how)
    rows = [f"{n} users, {names[packing]}" for n, packing in cases]
    for k, panel in enumerate(panels):
        name_rows(panel, rows, k == 0)
    panels[0].set(xscale="log", xlim=(2e-3, 2 * float(frame["worst"].max())),
                  xlabel=r"distance from optimum (tasks, $|\Delta G_i|\,w_i/r_i$)")
    panels[0].axvline(1, color=COLOURS["grey"], linewidth=1, zorder=1)
    panels[1].set(xlabel=r"share $\Sigma\,w_i\,G_i$ lost (percent)", xlim=(-0.0003, None))
    panels[1].xaxis.set_major_formatter(percent)
    figure.legend(handles=[
        *(Line2D([], [], linestyle="", marker=marker, color=COLOURS["grey"], label=label)
          for label, marker in _STEPS.values()),
        Line2D([], [], linestyle="", marker="o", color=COLOURS["grey"], label="filled: waits"),
        Line2D([], [], linestyle="", marker="o", color=COLOURS["grey"], markerfacecolor="white",
               label="open: expires")], loc="outside lower center", ncols=5, columnspacing=1.2)
    return Svg(figure)


@drawing
def readings(frame: pd.DataFrame) -> Svg:
    """Draw what sharing gains over no sharing in each reading, with 95 % intervals (frame of ``readings``)."""
    measures = {"min_share": "least $G_i$, at the end\n(gain, percent)", "cpu": "CPU in use\n(gain, percent)",
                "memory": "memory in use\n(gain, percent)"}
    cases = list(frame[["point", "value"]].drop_duplicates().itertuples(index=False, name=None))
    sizes = list(dict.fromkeys(frame["n"]))
    figure, panels = axes(1, len(measures), width=7.6, height=1.3 + 0.245 * len(cases))
    for column, (panel, (measure, label)) in enumerate(zip(panels, measures.items(), strict=True)):
        for k, n in enumerate(sizes):
            part = frame[(frame["n"] == n) & (frame["measure"] == measure)].set_index(["point", "value"]).loc[cases]
            colour = _TV_DRF.colour if k else COLOURS["wine"]
            places = np.arange(len(cases)) + 0.32 * (k - (len(sizes) - 1) / 2)
            gain = part["gain"].to_numpy()
            low, high = (part[side].to_numpy() / part["alone"].to_numpy() for side in ("low", "high"))
            panel.errorbar(gain, places, xerr=[gain - low, high - gain], color=colour, linestyle="",
                           marker="o" if k else "s", markersize=4, markerfacecolor=colour if k else "white",
                           elinewidth=1.2, label=f"{n} users")
        for place, (above, under) in enumerate(pairwise(cases)):
            if above[0] != under[0]:
                panel.axhline(place + 0.5, color=COLOURS["grey"], linewidth=0.6)
        panel.axvline(0, color=COLOURS["grey"], linewidth=1, zorder=1)
        name_rows(panel, [f"{point}: {value}" for point, value in cases], column == 0)
        panel.grid(axis="y", visible=False)
        panel.set_xlabel(label)
        panel.xaxis.set_major_formatter(percent)
    legend_below(figure, panels[:1], len(sizes), top_first=False)
    return Svg(figure)
