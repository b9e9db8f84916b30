"""Drawings for the pages on virtual clusters: each takes a frame of :mod:`book.virtual_cluster.studies`."""

from functools import partial
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from book.common.style import (
    COLOURS,
    LOOKS,
    PRINTED,
    STATED,
    Look,
    Svg,
    axes,
    band,
    drawing,
    name_rows,
    note,
    of_measure,
    percent,
    tint,
    with_legend,
)
from book.virtual_cluster.settings import MEAN
from fairbook.errors import InvalidInput

__all__ = [
    "fig2",
    "fig3",
    "fig4",
    "fig5",
    "gains",
    "gaps",
    "packing",
    "price",
    "spread",
    "tariffs",
]

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


#: The curves of Figures 2 to 5: the paper's three, the best greedy, and the optimum.
_PAPER = ("relaxation", "greedy", "mixed_knapsack")
_SHOWN = (*_PAPER, "metagreedy", "exact")
#: By how much greedy and mixed knapsack are above relaxation, as printed.
_LEADS = {"small": (0.2, 0.4), "large": (0.2, 0.5)}


def _counted(part: pd.DataFrame, measure: str, size: str) -> str:
    """Count at how many loads the paper is right: in the lead over relaxation, or that relaxation leaves the most."""
    means = part.pivot(index="load", columns="method", values="mean")
    if measure == "remaining":
        most = means[list(_PAPER)].idxmax(axis=1).eq("relaxation").sum()
        return f"relaxation leaves the most at {most} of {len(means)} loads"
    low, high = _LEADS[size]
    inside = means.div(means["relaxation"], axis=0).sub(1).apply(lambda lead: lead.between(low, high).sum())
    return f"mixed in the band at {inside['mixed_knapsack']} of {len(means)} loads, greedy at {inside['greedy']}"


@drawing
def _sizes(frame: pd.DataFrame, variance: str = "variance", *, measure: str, label: str) -> Svg:
    """Draw one measure on five and on eight clusters over the total demand, 30 VMs for each user.

    Parameters
    ----------
    frame : DataFrame
        Of ``curves``.
    variance : {"variance", "deviation"}
        What "variance 10" is read as.
    measure, label : str
    """
    frame = _asked(frame[frame["variance"] == variance], frame, "variance", variance)
    frame = frame.assign(demand=MEAN * frame["users"])
    sizes = [size for size in _CLUSTERS if size in set(frame["size"])]
    figure, panels = axes(len(sizes), 1, width=PRINTED, height=1.2 + 2.4 * len(sizes))
    for panel, size in zip(panels, sizes, strict=True):
        part = _of_few(of_measure(frame[frame["size"] == size], measure), frame["runs"])
        part = part[part["method"].isin(_SHOWN) & part["mean"].notna()]
        if measure == "y":
            least = part[part["method"] == "relaxation"]
            low, high = _LEADS[size]
            panel.fill_between(
                least["demand"],
                (1 + low) * least["mean"],
                (1 + high) * least["mean"],
                color=STATED,
                linewidth=0,
                zorder=0,
                label=f"printed: {100 * low:.0f} to {100 * high:.0f} %",
            )
        _lines(panel, part, "demand")
        vms = (part["demand"] / part["load"]).iloc[0]
        panel.axvline(vms, color=COLOURS["grey"], linewidth=1, linestyle=":", zorder=1, label="all VMs")
        panel.set(ylabel=label, xlabel="total demand (VMs)", ylim=(0, 1.05 if measure == "y" else None))
        number = 2 + 2 * (size == "large") + (measure == "remaining")
        note(panel, f"Figure {number}, {vms:.0f} VMs: {_counted(part, measure, size)}")
    return with_legend(figure, panels, 2, **_WIDE)


#: The least fraction (Figures 2 and 4), and the VMs that a method leaves free (Figures 3 and 5).
fig2 = fig4 = partial(_sizes, measure="y", label="least fraction $Y$")
fig3 = fig5 = partial(_sizes, measure="remaining", label="free (VMs)")


@drawing
def gains(frame: pd.DataFrame, variance: str = "variance") -> Svg:
    """Draw by how much each method is above relaxation, with what the paper prints shaded (frame of curves)."""
    part = of_measure(frame, "gain")
    part = part[(part["variance"] == variance) & (part["method"] != "relaxation")]
    part = _asked(part, frame, "variance", variance)
    sizes = [size for size in _CLUSTERS if size in set(part["size"])]
    figure, panels = axes(1, len(sizes), width=5.2, height=4.0, share_y=True)
    for k, (panel, size) in enumerate(zip(panels, sizes, strict=True)):
        panel.axhspan(*_LEADS[size], color=STATED, linewidth=0, zorder=0, label="printed lead")
        _lines(panel, _of_few(part[part["size"] == size], part["runs"]))
        panel.axhline(0, color=COLOURS["grey"], linewidth=1, zorder=1)
        panel.yaxis.set_major_formatter(percent)
        panel.set(xlabel=_LOAD, ylabel="" if k else "$Y$ over relaxation (gain, percent)")
        note(panel, _CLUSTERS[size])
    return with_legend(figure, panels, 2, **_WIDE)


@drawing
def spread(frame: pd.DataFrame, variance: str = "variance") -> Svg:
    """Draw how unsteady the paper's three are: standard deviation of the least fraction over the best proved bound."""
    part = frame[(frame["variance"] == variance) & frame["method"].isin(_PAPER) & frame["sd"].notna()]
    part = _asked(part, frame, "variance", variance)
    sizes = [size for size in _CLUSTERS if size in set(part["size"])]
    figure, panels = axes(1, len(sizes), width=5.2, height=3.2, share_y=True, share_x=True)
    for k, (panel, size) in enumerate(zip(panels, sizes, strict=True)):
        _lines(
            panel,
            part[part["size"] == size].rename(columns={"sd": "mean", "sd_low": "low", "sd_high": "high"}),
        )
        panel.set(xlabel=_LOAD, ylabel="" if k else "$Y$ over the bound\n(standard deviation)")
        if k == 0:
            panel.set_ylim(bottom=0)
        note(panel, _CLUSTERS[size])
    return with_legend(figure, panels, 3, **_WIDE)


# ------------------------------------------------------------------------------------------------------ rows of bars


@drawing
def gaps(frame: pd.DataFrame) -> Svg:
    """Draw what each method reaches of the best proved bound: mean with interval, and the worst run (open)."""
    cases = list(dict.fromkeys(zip(frame["size"], frame["users"], strict=True)))
    figure, panels = axes(-(-len(cases) // 2), 2, width=5.2, height=5.2, share_x=True)
    for k, (panel, (size, users)) in enumerate(zip(panels, cases, strict=True)):
        rows = frame[(frame["size"] == size) & (frame["users"] == users)]
        for place, line in enumerate(rows.to_dict("records")):
            look = LOOKS[line["method"]]
            panel.plot([line["worst"], line["common"]], [place, place], color=look.colour, linewidth=1.2)
            panel.plot(
                [line["worst"]],
                [place],
                color=look.colour,
                marker="o",
                markerfacecolor="white",
                markersize=5,
                linestyle="",
            )
            panel.plot([line["common"]], [place], color=look.colour, marker="o", markersize=6, linestyle="")
        name_rows(panel, [LOOKS[method].label for method in rows["method"]], k % 2 == 0)
        panel.axvline(1, color=COLOURS["grey"], linewidth=1, zorder=1)
        panel.xaxis.set_major_formatter(percent)
        panel.set_xlabel("$Y$ (percent of best bound)" if k >= len(cases) - 2 else "")
        note(panel, f"{5 if size == 'small' else 8} clusters, {users} users")
    grey = COLOURS["grey"]
    figure.legend(
        handles=[
            Line2D([], [], linestyle="", marker="o", color=grey, label="mean over runs"),
            Line2D([], [], linestyle="", marker="o", color=grey, markerfacecolor="white", label="worst run"),
        ],
        loc="outside lower center",
        ncols=2,
    )
    return Svg(figure)


# ------------------------------------------------------------------------------------------------- who lives where


@drawing
def packing(frame: pd.DataFrame) -> Svg:
    """Draw who lives where: clusters as bars, users as blocks, what they must have dark and what is above it light."""
    methods = list(dict.fromkeys(frame["method"]))
    capacities = [int(size) for size in frame["all_clusters"].iloc[0].split()]
    away = (frame["cluster"] < 0).any()
    columns = min(2, len(methods))
    lines = -(-len(methods) // columns)
    figure, panels = axes(lines, columns, width=5.2, height=0.9 + 3.1 * lines, share_y=True)
    for spare in panels[len(methods) :]:
        spare.set_visible(False)
    for k, (panel, method) in enumerate(zip(panels, methods, strict=False)):
        rows = frame[frame["method"] == method]
        least = rows["fraction"].min()
        for j, size in enumerate(capacities):
            bottom = 0.0
            for line in rows[rows["cluster"] == j].to_dict("records"):
                poorest = line["fraction"] == least
                colour = COLOURS["flame"] if poorest else COLOURS["marine"]
                for height, part in ((line["minimum"], 1.0), (line["vms"] - line["minimum"], 0.38)):
                    if height > 0:
                        panel.add_patch(
                            Rectangle((j - 0.4, bottom), 0.8, height, facecolor=tint(colour, part), linewidth=0)
                        )
                        bottom += height
                start = bottom - line["vms"]
                panel.add_patch(
                    Rectangle((j - 0.4, start), 0.8, line["vms"], fill=False, edgecolor="white", linewidth=1.6)
                )
                panel.text(
                    j,
                    start + line["vms"] / 2,
                    f"{100 * line['fraction']:.0f}",
                    ha="center",
                    va="center",
                    bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"},
                )
            panel.add_patch(Rectangle((j - 0.42, 0), 0.84, size, fill=False, edgecolor=COLOURS["black"], linewidth=1.2))
        panel.set(
            xlim=(-0.6, len(capacities) - 0.4),
            ylim=(0, 1.04 * max(capacities)),
            xlabel="cluster (number)",
            ylabel="" if k % columns else "VMs (number)",
        )
        panel.set_xticks(range(len(capacities)), [f"{j + 1}" for j in range(len(capacities))])
        panel.grid(axis="x", visible=False)
        gone = int((rows["cluster"] < 0).sum())
        free = sum(capacities) - int(rows["vms"].sum())
        words = f"\n{gone} turned away, " if away and gone else ", "
        note(panel, f"{LOOKS[method].label}: $Y={100 * least:.0f}$ %{words}{free} free")
    blue = COLOURS["marine"]
    figure.legend(
        handles=[
            Patch(facecolor=blue, label="what a user must have"),
            Patch(facecolor=tint(blue, 0.38), label="what it has above that"),
            Patch(facecolor=COLOURS["flame"], label="the least fraction (percent in boxes)"),
            Patch(facecolor="white", edgecolor=COLOURS["black"], label="free"),
        ],
        loc="outside lower center",
        ncols=2,
        columnspacing=1.2,
    )
    return Svg(figure)


@drawing
def price(frame: pd.DataFrame) -> Svg:
    """Draw the price of living on one cluster by users a cluster: least fraction as a part of that of one pool."""
    figure, (panel,) = axes(1, 1, width=5.2, height=3.6)
    _lines(panel, frame[frame["method"] != "guaranteed"], "per_cluster")
    sure = frame[frame["method"] == "guaranteed"]
    panel.plot(
        sure["per_cluster"], sure["mean"], color=COLOURS["grey"], linestyle="--", label="promised by the theorem"
    )
    panel.axhline(1, color=COLOURS["grey"], linewidth=1, zorder=1)
    panel.set_xscale("log", base=2)
    steps = sorted(set(frame["per_cluster"]))
    panel.set_xticks(steps, [str(step) for step in steps])
    panel.set_xticks([], minor=True)
    panel.set(ylim=(0, 1.05), xlabel="users (a cluster)", ylabel="$Y$ (percent of one pool)")
    panel.yaxis.set_major_formatter(percent)
    return with_legend(figure, [panel], 2, **_WIDE)


# ------------------------------------------------------------------------------------------------------------ prices

_STATED = {
    "truth": Look("all tell the truth", COLOURS["marine"], "o", "-"),
    "equilibrium": Look("equilibrium", COLOURS["flame"], "s", "--"),
    "all 0.9": Look("all say 0.9", COLOURS["grape"], "^", "-."),
}


@drawing
def tariffs(frame: pd.DataFrame) -> Svg:
    """Draw revenue, the least fraction and who falls short of its true minimum by what users state."""
    rows = {
        "revenue": "revenue (a VM\nof the clusters)",
        "min_fraction": "least fraction\n(percent)",
        "hurt": "below minimum\n(percent of users)",
    }
    figure, panels = axes(len(rows), 1, width=5.2, height=5.6, share_x=True)
    for panel, (measure, label) in zip(panels, rows.items(), strict=True):
        of = of_measure(frame, measure)
        for name, some in _of_few(of, of["runs"]).groupby("statement", sort=False):
            band(panel, some, "load", _STATED[str(name)])
        panel.set(ylabel=label, xlabel=_LOAD if panel is panels[-1] else "", ylim=(0, None))
        if measure != "revenue":
            panel.yaxis.set_major_formatter(percent)
    return with_legend(figure, panels, 3, **_WIDE)
