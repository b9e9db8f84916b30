"""Drawings for the chapter on virtual clusters: each takes a frame of :mod:`book.virtual_cluster.studies`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from book.common.style import (
    COLOURS,
    LOOKS,
    Look,
    Svg,
    axes,
    band,
    drawing,
    legend_below,
    name_rows,
    note,
    of_measure,
    percent,
    tint,
)
from fairbook.errors import InvalidInput

__all__ = [
    "course",
    "dynamic",
    "fig2",
    "fig3",
    "fig4",
    "fig5",
    "gains",
    "gaps",
    "packing",
    "price",
    "spanning_gain",
    "spread",
    "tariffs",
    "tolerance_price",
    "trace",
]

_VARIANCES = {"variance": "variance 10", "deviation": "standard deviation 10"}
_CLUSTERS = {"small": "5 clusters, 320 VMs", "large": "8 clusters, 1000 VMs"}
_LOAD = "load (part of all VMs)"
_WIDE: dict[str, Any] = {"top_first": False, "columnspacing": 1.6, "handlelength": 3.4}  # of legends
_FEW = 10  # runs from which on a mean over some of them is drawn


def _lines(panel: Axes, part: pd.DataFrame, x: str = "load") -> None:
    """Draw mean and interval of each method, where there is one."""
    for method in dict.fromkeys(part["method"]):
        band(panel, part[(part["method"] == method) & part["mean"].notna()], x, LOOKS[method], markersize=6)


def _of_few(part: pd.DataFrame, all_runs: pd.Series) -> pd.DataFrame:
    """Leave out means over so few runs that they say nothing, unless there are no others."""
    return part[part["runs"] >= min(_FEW, all_runs.max())]


def _asked(part: pd.DataFrame, frame: pd.DataFrame, column: str, value: str) -> pd.DataFrame:
    """Give the part back; InvalidInput where the frame has no rows for what was asked."""
    if not len(part):
        raise InvalidInput(column, f"must be one of {', '.join(dict.fromkeys(frame[column]))}", value)
    return part


# ------------------------------------------------------------------------------------------------ the paper's figures


@drawing
def _grid(frame: pd.DataFrame, rows: dict[str, str], parts: tuple[str, ...] = ()) -> Svg:
    """Draw a row for each measure and a column for each reading of the variance."""
    shown = [name for name in _VARIANCES if name in set(frame["variance"])]
    figure, panels = axes(len(rows), len(shown), width=7.2, height=1.1 + 2.1 * len(rows), share_x=True)
    for place, panel in enumerate(panels):
        row, column = divmod(place, len(shown))
        measure, label = list(rows.items())[row]
        part = _of_few(of_measure(frame, measure), frame["runs"])
        part = part[part["variance"] == shown[column]]
        if measure == "everybody":
            part = part.assign(low=part["low"].clip(0, 1), high=part["high"].clip(0, 1))
            panel.set_ylim(-0.05, 1.05)
        elif measure in ("y", "y_common"):
            panel.set_ylim(0, 1.05)
        _lines(panel, part)
        if measure in parts:
            panel.yaxis.set_major_formatter(percent)
        panel.set(ylabel="" if column else label, xlabel=_LOAD if row == len(rows) - 1 else "")
        if row == 0:
            note(panel, _VARIANCES[shown[column]])
    legend_below(figure, panels, 4, **_WIDE)
    return Svg(figure)


_Y_ROWS = {"y": "$Y$ (turned away:\ncounts as 0)", "everybody": "all are served\n(percent of runs)",
           "y_common": "$Y$ (runs in which\nall serve all)"}
_LEFT_ROWS = {"remaining": "free (VMs)", "remaining_common": "free (VMs), runs in\nwhich all serve all"}


def fig2(frame: pd.DataFrame) -> Svg:
    """Draw Figures 2 and 4: the least fraction on 5 or 8 clusters by load, and how often everybody is served."""
    return _grid(frame, _Y_ROWS, ("everybody",))


def fig3(frame: pd.DataFrame) -> Svg:
    """Draw Figures 3 and 5: VMs left free on 5 or 8 clusters by load."""
    return _grid(frame, _LEFT_ROWS)


fig4, fig5 = fig2, fig3


_PRINTED = {"small": (0.2, 0.4), "large": (0.2, 0.5)}


@drawing
def gains(frame: pd.DataFrame, variance: str = "variance") -> Svg:
    """Draw by how much each method is above relaxation, with what the paper prints shaded (frame of curves)."""
    part = of_measure(frame, "gain")
    part = part[(part["variance"] == variance) & ~part["method"].isin(["relaxation", "bound"])]
    part = _asked(part, frame, "variance", variance)
    sizes = [size for size in _CLUSTERS if size in set(part["size"])]
    figure, panels = axes(1, len(sizes), width=7.2, height=3.8, share_y=True)
    for k, (panel, size) in enumerate(zip(panels, sizes, strict=True)):
        panel.axhspan(*_PRINTED[size], color="#E3E3E3", linewidth=0, zorder=0, label="printed in the paper")
        _lines(panel, _of_few(part[part["size"] == size], part["runs"]))
        panel.axhline(0, color=COLOURS["grey"], linewidth=1, zorder=1)
        panel.yaxis.set_major_formatter(percent)
        panel.set(xlabel=_LOAD, ylabel="" if k else "$Y$ over relaxation (gain, percent)")
        note(panel, _CLUSTERS[size])
    legend_below(figure, panels, 3, **_WIDE)
    return Svg(figure)


@drawing
def spread(frame: pd.DataFrame, variance: str = "variance") -> Svg:
    """Draw how unsteady the paper's three are: standard deviation of the least fraction over the best proved bound."""
    three = ("relaxation", "greedy", "mixed_knapsack")
    part = frame[(frame["variance"] == variance) & frame["method"].isin(three) & frame["sd"].notna()]
    part = _asked(part, frame, "variance", variance)
    sizes = [size for size in _CLUSTERS if size in set(part["size"])]
    figure, panels = axes(1, len(sizes), width=7.2, height=3.3, share_y=True, share_x=True)
    for k, (panel, size) in enumerate(zip(panels, sizes, strict=True)):
        _lines(panel, part[part["size"] == size].rename(columns={"mean": "level", "sd": "mean", "sd_low": "low",
                                                                 "sd_high": "high"}))
        panel.set(xlabel=_LOAD, ylabel="" if k else "$Y$ over the bound\n(standard deviation)")
        if k == 0:
            panel.set_ylim(bottom=0)
        note(panel, _CLUSTERS[size])
    legend_below(figure, panels, 3, **_WIDE)
    return Svg(figure)


# ------------------------------------------------------------------------------------------------------ rows of bars


@drawing
def gaps(frame: pd.DataFrame) -> Svg:
    """Draw what each method reaches of the best proved bound: mean with interval, and the worst run (open)."""
    part = frame[frame["whole"]]
    if not len(part):
        raise InvalidInput("frame", "must hold runs with whole VMs", "none")
    cases = list(dict.fromkeys(zip(part["size"], part["users"], strict=True)))
    figure, panels = axes(1, len(cases), width=7.4, height=3.2, share_x=True)
    for k, (panel, (size, users)) in enumerate(zip(panels, cases, strict=True)):
        rows = part[(part["size"] == size) & (part["users"] == users)]
        for place, line in enumerate(rows.to_dict("records")):
            look = LOOKS[line["method"]]
            panel.plot([line["worst"], line["common"]], [place, place], color=look.colour, linewidth=1.2)
            panel.plot([line["worst"]], [place], color=look.colour, marker="o", markerfacecolor="white", markersize=5,
                       linestyle="")
            panel.plot([line["common"]], [place], color=look.colour, marker="o", markersize=6, linestyle="")
        name_rows(panel, [LOOKS[method].label for method in rows["method"]], k == 0)
        panel.axvline(1, color=COLOURS["grey"], linewidth=1, zorder=1)
        panel.xaxis.set_major_formatter(percent)
        panel.set_xlabel("$Y$ (percent of\nbest bound)")
        note(panel, f"{5 if size == 'small' else 8} clusters, {users} users")
    grey = COLOURS["grey"]
    figure.legend(handles=[
        Line2D([], [], linestyle="", marker="o", color=grey, label="mean over runs"),
        Line2D([], [], linestyle="", marker="o", color=grey, markerfacecolor="white", label="worst run")],
        loc="outside lower center", ncols=2)
    return Svg(figure)


# ------------------------------------------------------------------------------------------------- who lives where


@drawing
def packing(frame: pd.DataFrame) -> Svg:
    """Draw who lives where: clusters as bars, users as blocks, what they must have dark and what is above it light."""
    methods = list(dict.fromkeys(frame["method"]))
    capacities = [int(size) for size in frame["all_clusters"].iloc[0].split()]
    away = (frame["cluster"] < 0).any()
    figure, panels = axes(1, len(methods), width=7.4, height=4.4, share_y=True)
    for k, (panel, method) in enumerate(zip(panels, methods, strict=True)):
        rows = frame[frame["method"] == method]
        least = rows["fraction"].min()
        for j, size in enumerate(capacities):
            bottom = 0.0
            for line in rows[rows["cluster"] == j].to_dict("records"):
                poorest = line["fraction"] == least
                colour = COLOURS["flame"] if poorest else COLOURS["marine"]
                for height, part in ((line["minimum"], 1.0), (line["vms"] - line["minimum"], 0.38)):
                    if height > 0:
                        panel.add_patch(Rectangle((j - 0.4, bottom), 0.8, height, facecolor=tint(colour, part),
                                                  linewidth=0))
                        bottom += height
                start = bottom - line["vms"]
                panel.add_patch(Rectangle((j - 0.4, start), 0.8, line["vms"], fill=False, edgecolor="white",
                                          linewidth=1.6))
                panel.text(j, start + line["vms"] / 2, f"{100 * line['fraction']:.0f}", ha="center", va="center",
                           fontsize=8.5, bbox={"boxstyle": "round,pad=0.15", "facecolor": "white",
                                               "edgecolor": "none"})
            panel.add_patch(Rectangle((j - 0.42, 0), 0.84, size, fill=False, edgecolor=COLOURS["black"],
                                      linewidth=1.2))
        panel.set(xlim=(-0.6, len(capacities) - 0.4), ylim=(0, 1.04 * max(capacities)), xlabel="cluster (number)",
                  ylabel="" if k else "VMs (number)")
        panel.set_xticks(range(len(capacities)), [f"{j + 1}" for j in range(len(capacities))])
        panel.grid(axis="x", visible=False)
        gone = int((rows["cluster"] < 0).sum())
        free = sum(capacities) - int(rows["vms"].sum())
        words = f", {gone} turned away" if away and gone else ""
        note(panel, f"{LOOKS[method].label}: $Y={100 * least:.0f}$ %{words}, {free} free")
    blue = COLOURS["marine"]
    figure.legend(handles=[Patch(facecolor=blue, label="what a user must have"),
                           Patch(facecolor=tint(blue, 0.38), label="what it has above that"),
                           Patch(facecolor=COLOURS["flame"], label="the least fraction (percent in boxes)"),
                           Patch(facecolor="white", edgecolor=COLOURS["black"], label="free")],
                  loc="outside lower center", ncols=4, columnspacing=1.2)
    return Svg(figure)


@drawing
def price(frame: pd.DataFrame) -> Svg:
    """Draw the price of living on one cluster by users a cluster: least fraction as a part of that of one pool."""
    figure, (panel,) = axes(1, 1, width=6.6, height=3.6)
    _lines(panel, frame[frame["method"] != "guaranteed"], "per_cluster")
    sure = frame[frame["method"] == "guaranteed"]
    panel.plot(sure["per_cluster"], sure["mean"], color=COLOURS["grey"], linestyle="--",
               label="promised by the theorem")
    panel.axhline(1, color=COLOURS["grey"], linewidth=1, zorder=1)
    panel.set_xscale("log", base=2)
    steps = sorted(set(frame["per_cluster"]))
    panel.set_xticks(steps, [str(step) for step in steps])
    panel.set_xticks([], minor=True)
    panel.set(ylim=(0, 1.05), xlabel="users (a cluster)", ylabel="$Y$ (percent of one pool)")
    panel.yaxis.set_major_formatter(percent)
    legend_below(figure, [panel], 3, **_WIDE)
    return Svg(figure)


@drawing
def spanning_gain(frame: pd.DataFrame) -> Svg:
    """Draw the least fraction with one cluster a user and with several."""
    sizes = [size for size in _CLUSTERS if size in set(frame["size"])]
    figure, panels = axes(2, len(sizes), width=7.2, height=4.6, share_x=True)
    for k, size in enumerate(sizes):
        part = frame[frame["size"] == size]
        upper, lower = panels[k], panels[k + len(sizes)]
        for name in ("exact", "spanning"):
            band(upper, of_measure(part, name), "load", LOOKS[name], markersize=6)
        gain = of_measure(part, "gain")
        gain = _of_few(gain, gain["runs"])
        band(lower, gain, "load", LOOKS["difference"], label=None)
        lower.yaxis.set_major_formatter(percent)
        lower.set(ylim=(min(0.0, gain["low"].min()), None), xlabel=_LOAD, ylabel="" if k else "$Y$ (gain, percent)")
        upper.set_ylabel("" if k else "$Y$")
        note(upper, _CLUSTERS[size])
    legend_below(figure, panels, 2, **_WIDE)
    return Svg(figure)


# ------------------------------------------------------------------------------------------------ coming and going

#: Policies by name.
_POLICIES: dict[str, Look] = {name: Look(name, COLOURS[colour], marker, line) for name, colour, marker, line in (
    ("gap, surplus", "marine", "o", "-"), ("gap, printed", "azure", "s", "--"),
    ("tolerance, surplus", "leaf", "^", "-."), ("tolerance, printed", "rust", "v", ":"),
    ("reshare", "orchid", "P", (0, (6, 1))), ("maxima only", "flame", "X", (0, (3, 1, 1, 1))),
    ("optimum, free moves", "soot", "*", (0, (10, 1))))}
_DYNAMIC = {"admitted": "let in\n(percent)", "slowdown": "slowdown\n(mean, times)",
            "fraction": "VMs a user\n(percent of wanted)",
            "min_fraction": "least fraction\n(percent)", "revenue": "revenue\n(a VM and time)",
            "taken": "taken back\n(VMs a newcomer)"}


@drawing
def dynamic(frame: pd.DataFrame, policies: Sequence[str] | None = None) -> Svg:
    """Draw what the policies do under coming and going, by load (frame of dynamic).

    Parameters
    ----------
    frame : DataFrame
    policies : sequence of str, optional
        Which of them; all if not given.
    """
    known = list(dict.fromkeys(frame["policy"]))
    shown = known if policies is None else list(policies)
    for name in shown or [policies]:
        if name not in known:
            raise InvalidInput("policies", f"must be some of {'; '.join(known)}", name)
    figure, panels = axes(2, 3, width=7.4, height=5.0, share_x=True)
    for k, (panel, (measure, label)) in enumerate(zip(panels, _DYNAMIC.items(), strict=True)):
        part = of_measure(frame, measure)
        for name in shown:
            band(panel, part[part["policy"] == name], "load", _POLICIES[name], alpha=0.12)
        panel.set(ylabel=label, xlabel=_LOAD if k >= 3 else "")
        if measure in ("admitted", "fraction", "min_fraction"):
            panel.yaxis.set_major_formatter(percent)
    legend_below(figure, panels, 3, **_WIDE)
    return Svg(figure)


@drawing
def course(frame: pd.DataFrame) -> Svg:
    """Draw one run over time: users present, the least fraction, VMs in use and revenue (frame of course)."""
    rows = {"users": "users\n(number)", "min_fraction": "least fraction\n(percent)", "used": "in use\n(percent)",
            "revenue": "revenue\n(a VM)"}
    figure, panels = axes(len(rows), 1, width=7.2, height=6.2, share_x=True)
    for panel, (column, label) in zip(panels, rows.items(), strict=True):
        for name, part in frame.groupby("policy", sort=False):
            panel.step(part["time"], part[column], where="post", color=_POLICIES[str(name)].colour, label=name,
                       linewidth=1.3)
        panel.set_ylabel(label)
        if column in ("min_fraction", "used"):
            panel.yaxis.set_major_formatter(percent)
            panel.set_ylim(0, 1.06)
        panel.margins(x=0.01)
    panels[-1].set_xlabel("time (mean stays)")
    legend_below(figure, panels, 3, **_WIDE)
    return Svg(figure)


# ------------------------------------------------------------------------------------------------------------ prices

_STATED = {"truth": Look("all tell the truth", COLOURS["marine"], "o", "-"),
           "equilibrium": Look("equilibrium", COLOURS["flame"], "s", "--"),
           "all 0.9": Look("all say 0.9", COLOURS["grape"], "^", "-.")}


@drawing
def tariffs(frame: pd.DataFrame, method: str = "exact") -> Svg:
    """Draw revenue, price and who falls short of its true minimum by what users state (frame of tariffs)."""
    part = _asked(frame[frame["method"] == method], frame, "method", method)
    rows = {"revenue": "revenue (a VM\nof the clusters)", "min_fraction": "least fraction\n(percent)",
            "hurt": "below true minimum\n(percent of users)"}
    figure, panels = axes(1, len(rows), width=7.4, height=3.1)
    for panel, (measure, label) in zip(panels, rows.items(), strict=True):
        of = of_measure(part, measure)
        for name, some in _of_few(of, of["runs"]).groupby("statement", sort=False):
            band(panel, some, "load", _STATED[str(name)])
        panel.set(ylabel=label, xlabel=_LOAD, ylim=(0, None))
        if measure != "revenue":
            panel.yaxis.set_major_formatter(percent)
    legend_below(figure, panels, 3, **_WIDE)
    return Svg(figure)


_SHADES = ("azure", "leaf", "orchid", "flame", "grape", "marine", "rust", "ink")


@drawing
def tolerance_price(frame: pd.DataFrame, users: Sequence[int] = (10, 12, 14, 16)) -> Svg:
    """Draw VMs got and price paid by tolerance, a line for each load (frame of tolerance_price).

    Parameters
    ----------
    frame : DataFrame
    users : sequence of int
        Which numbers of users, at most eight.
    """
    known = sorted(set(frame["users"]))
    chosen = list(users)
    if not 1 <= len(chosen) <= len(_SHADES) or any(number not in known for number in chosen):
        raise InvalidInput("users", f"must be one to eight of {', '.join(map(str, known))}", chosen)
    figure, panels = axes(1, 2, width=7.2, height=3.4)
    for k, (panel, (measure, label)) in enumerate(zip(panels, {
            "fraction": "VMs (percent of wanted)", "price": "price (a VM)"}.items(), strict=True)):
        part = of_measure(frame, measure)
        for place, number in enumerate(chosen):
            rows = part[part["users"] == number]
            band(panel, rows, "k", Look(f"load {rows['load'].iloc[0]:.2f}", COLOURS[_SHADES[place]],
                                        "osD^vPX*"[place], "-"))
        panel.set(xlabel="tolerance, $k$", ylabel=label)
        if k == 0:
            floor = np.array([0.0, 0.9])
            panel.plot(floor, 1 - floor, color=COLOURS["grey"], linestyle="--", label="minimum, $1-k$")
            panel.set_ylim(0, 1.05)
            panel.yaxis.set_major_formatter(percent)
    legend_below(figure, panels, 5, **_WIDE)
    return Svg(figure)


@drawing
def trace(frame: pd.DataFrame) -> Svg:
    """Draw the least fraction of those served, and how many are, for users of the Google trace (frame of trace)."""
    rows = {"y_served": "$Y$ (of those served)", "everybody": "all are served\n(percent of runs)",
            "remaining": "free (VMs)"}
    part = frame[frame["method"] != "wanted"]
    figure, panels = axes(1, len(rows), width=7.4, height=3.4)
    for panel, (measure, label) in zip(panels, rows.items(), strict=True):
        of = of_measure(part, measure)
        if measure == "everybody":
            of = of.assign(low=of["low"].clip(0, 1), high=of["high"].clip(0, 1))
        _lines(panel, of)
        panel.set(ylabel=label, xlabel=_LOAD)
        if measure == "everybody":
            panel.yaxis.set_major_formatter(percent)
    legend_below(figure, panels, 3, **_WIDE)
    return Svg(figure)
