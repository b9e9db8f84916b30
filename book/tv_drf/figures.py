"""Drawings for the pages on TV-DRF: each takes a frame of :mod:`book.tv_drf.studies`.

All are as wide as a phone can show without scrolling: panels stand below each other, two at most side by side.
"""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from book.common.style import (
    COLOURS,
    LOOKS,
    PRINTED,
    Svg,
    axes,
    band,
    drawing,
    name_rows,
    note,
    of_measure,
    percent,
    with_legend,
)

__all__ = [
    "comparison",
    "curves",
    "example",
    "fig1",
    "fig2",
    "gaps",
    "memory_course",
    "readings",
]

_TV_DRF = LOOKS["tv_drf"]
_WIDTH = 5.2
_QUEUE = {"waits": "what does not run waits", "expires": "what does not run expires"}
_LABELS = {
    "min_share": "least cumulative share $G_i$",
    "cpu": "CPU in use (percent)",
    "memory": "memory in use (percent)",
    "behind": "behind (in $G$)",
}
_PERCENT = ("cpu", "memory")


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
    figure, (panel,) = axes(width=_WIDTH, height=3.9)
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
    panel.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, columnspacing=4, handletextpad=2, borderpad=2
    )
    return Svg(figure)


fig2 = fig1


def _courses(panel: Axes, part: pd.DataFrame, measure: str, largest: float = 7.5) -> None:
    """Draw mean and interval of each mechanism; those that coincide show around each other."""
    present = [name for name in dict.fromkeys(part["mechanism"]) if name != "difference"]
    for k, mechanism in enumerate(reversed(present)):
        band(
            panel,
            part[part["mechanism"] == mechanism],
            "period",
            LOOKS[mechanism],
            markersize=max(largest - 1.1 * k, 4.0),
            zorder=2 + k / 10,
        )
    _periods(panel, int(part["period"].max()))
    panel.set(ylabel=_LABELS[measure], ylim=(0, None))
    if measure in _PERCENT:
        panel.yaxis.set_major_formatter(percent)


@drawing
def curves(panels: dict[str, pd.DataFrame]) -> Svg:
    """Draw TV-DRF and no sharing over time (Figures 3 to 7), two panels in a row, and count where the paper is right.

    Parameters
    ----------
    panels : dict
        What stands above each panel, and its rows of ``curves``: of one measure and one number of users.
    """
    rows = -(-len(panels) // 2)
    figure, places = axes(rows, 2, width=PRINTED, height=0.6 + 2.1 * rows)
    for place, (panel, (name, part)) in enumerate(zip(places, panels.items(), strict=True)):
        measure = part["measure"].iloc[0]
        _courses(panel, part[part["mechanism"].isin(("tv_drf", "alone"))], measure, 5.5)
        lead = part[part["mechanism"] == "difference"].sort_values("period")["mean"]
        grows = lead.diff().iloc[1:] > 0
        said = f"lead grows at {grows.sum()} of {len(grows)} steps"
        said = said if measure == "min_share" else f"above at {(lead > 0).sum()} of {len(lead)} moments"
        note(panel, f"{name}:\n{said}")
        if place < len(panels) - 2:
            panel.set_xlabel("")
    return with_legend(figure, places[:1], 2)


@drawing
def comparison(frame: pd.DataFrame) -> Svg:
    """Draw what the worst-off user has, how far others are ahead of those who still need, and what is used.

    A row for each measure and fate of unserved tasks, and a column for each number of users.
    """
    measures = ("min_share", "behind", "memory")
    queues, sizes = list(dict.fromkeys(frame["unserved"])), list(dict.fromkeys(frame["n"]))
    rows = [(measure, queue) for measure in measures for queue in queues]
    figure, panels = axes(len(rows), len(sizes), width=_WIDTH, height=0.9 + 2.0 * len(rows))
    for panel, ((measure, queue), n) in zip(panels, product(rows, sizes), strict=True):
        part = of_measure(frame, measure)
        _courses(panel, part[(part["n"] == n) & (part["unserved"] == queue)], measure)
        if len(queues) > 1 or measure == measures[0]:
            note(panel, f"{n} users, tasks {'wait' if queue == 'waits' else 'expire'}")
        if n != sizes[0]:
            panel.set_ylabel("")
        if (measure, queue) != rows[-1]:
            panel.set_xlabel("")
    return with_legend(figure, panels, 2, columnspacing=1.3, handlelength=3.2)


# ---------------------------------------------------------------------------------------------------- worked example


@drawing
def example(frame: pd.DataFrame) -> Svg:
    """Draw the worked example: what A and B have used so far at each moment, over what they would have had alone."""
    figure, panels = axes(2, 1, width=_WIDTH, height=6.4, share_x=True, share_y=True)
    tints = {"CPU": COLOURS["blue"], "memory": COLOURS["orange"]}
    words = {
        "after period 1": "after\nperiod 1",
        "start of period 2": "start of\nperiod 2",
        "end of period 2": "end of\nperiod 2",
    }
    top = float(frame[["cpu", "memory", "own_cpu", "own_memory"]].to_numpy().max())
    for panel, (user, part) in zip(panels, frame.groupby("user"), strict=True):
        for place, line in enumerate(part.to_dict("records")):
            for k, (resource, colour) in enumerate(tints.items()):
                x = place + 0.36 * (k - 0.5)
                name = resource.lower()
                panel.bar(
                    x,
                    line[name],
                    0.32,
                    color=colour,
                    edgecolor=COLOURS["black"],
                    linewidth=0.6,
                    hatch="" if k == 0 else "//",
                )
                panel.plot(
                    [x - 0.17, x + 0.17],
                    [line[f"own_{name}"]] * 2,
                    color=COLOURS["black"],
                    linewidth=2.4,
                    solid_capstyle="butt",
                )
            high = max(line[name] for name in ("cpu", "memory", "own_cpu", "own_memory"))
            text = line["exact"] if "/" not in line["exact"] else f"{line['exact']}\n= {line['beta']:.4g}"
            panel.annotate(
                text,
                (place, high),
                xytext=(0, 5),
                textcoords="offset points",
                ha="center",
                va="bottom",
                color=COLOURS["cobalt"],
                linespacing=1.05,
            )
        panel.set_xticks(
            range(len(part)),
            [words.get(moment, moment.replace(", B", ",\nB").replace("has ", "has\n")) for moment in part["moment"]],
        )
        panel.set(xlim=(-0.55, len(part) - 0.45), ylim=(0, 1.24 * top), ylabel="used so far (CPU, GB)")
        panel.grid(axis="x", visible=False)
        note(panel, f"user {user}")
    panels[-1].set_xlabel("moment (in order)")
    figure.legend(
        handles=[
            *(
                Patch(facecolor=colour, edgecolor=COLOURS["black"], hatch="" if name == "CPU" else "//", label=name)
                for name, colour in tints.items()
            ),
            Line2D([], [], color=COLOURS["black"], linewidth=2.4, label="what it would have had alone"),
            Line2D(
                [],
                [],
                linestyle="",
                marker=r"$\beta$",
                markersize=8,
                color=COLOURS["cobalt"],
                label="sharing coefficient, the lesser ratio",
            ),
        ],
        loc="outside lower center",
        ncols=2,
        columnspacing=1.4,
    )
    return Svg(figure)


@drawing
def memory_course(frame: pd.DataFrame) -> Svg:
    """Draw what a user who asked for little has later, with memory and without: G, and the tasks of each period."""
    mechanisms = ("tv_drf", "memoryless")
    figure, panels = axes(2, 2, width=_WIDTH, height=4.9, share_x=True)
    ways: dict[str, dict[str, Any]] = {
        "A": {"marker": "o", "linestyle": "-"},
        "B": {"marker": "s", "linestyle": "--", "markerfacecolor": "white"},
    }
    values = {"share": "cumulative share $G_i$", "tasks": "tasks run (per period)"}
    for column, mechanism in enumerate(mechanisms):
        look = LOOKS[mechanism]
        for row, (value, label) in enumerate(values.items()):
            panel = panels[2 * row + column]
            for user, line in frame[frame["mechanism"] == mechanism].groupby("user"):
                panel.plot(
                    line["period"],
                    line[value],
                    color=look.colour,
                    label=f"{look.label}, user {user}",
                    **ways[str(user)],
                )
            _periods(panel, int(frame["period"].max()))
            panel.set(ylim=(0, 1.07 * float(frame[value].max())), ylabel="" if column else label)
            if row == 0:
                panel.set_xlabel("")
                note(panel, look.label)
    return with_legend(figure, panels[:2], 2, top_first=False, columnspacing=1.2, handlelength=2.4)


# ------------------------------------------------------------------------------------- the heuristic and its optimum


@drawing
def gaps(frame: pd.DataFrame) -> Svg:
    """Draw what part of the optimum the heuristic loses (frame of ``gaps``): a mark is the mean, its line the worst."""
    names = {"machines": "machines as they are", "merged": "one machine"}
    cases = [(n, packing) for n in dict.fromkeys(frame["n"]) for packing in dict.fromkeys(frame["packing"])]
    figure, (panel,) = axes(width=_WIDTH, height=1.1 + 0.36 * len(cases))
    for queue, shift, face in (("waits", -0.15, _TV_DRF.colour), ("expires", 0.15, "white")):
        part = frame[frame["unserved"] == queue].set_index(["n", "packing"]).loc[cases]
        mean, worst = 1 - part["total_share"], 1 - part["total_share_least"]
        panel.errorbar(
            mean,
            np.arange(len(cases)) + shift,
            xerr=[np.zeros(len(cases)), worst - mean],
            color=_TV_DRF.colour,
            linestyle="",
            marker=_TV_DRF.marker,
            markerfacecolor=face,
            markersize=6,
            elinewidth=1.2,
            capsize=3,
            label=_QUEUE[queue],
        )
    name_rows(panel, [f"{n} users, {names[packing]}" for n, packing in cases], True)
    panel.set(xlabel=r"share $\Sigma\,w_i\,G_i$ lost (percent)", xlim=(-0.0003, None))
    panel.xaxis.set_major_formatter(percent)
    return with_legend(figure, [panel], 2, top_first=False)


@drawing
def readings(frame: pd.DataFrame) -> Svg:
    """Draw what sharing gains over no sharing in each reading, with 95 % intervals (frame of ``readings``).

    The reading of the figures is on top, with a line through it; the others follow, the farthest from it first.
    """
    gains = {name: f"{name} in use\n(gain, percent)" for name in ("CPU", "memory")}
    chosen = frame[frame["measure"].isin([name.lower() for name in gains])]
    first = frame.loc[frame["figures"], ["point", "value"]].iloc[0].tolist()
    table = chosen.pivot(index=["point", "value"], columns=["measure", "n"], values="gain")
    far = (table - table.loc[tuple(first)]).abs().max(axis=1)
    changed = frame.loc[~frame["figures"], ["point", "value"]].drop_duplicates().apply(tuple, axis=1)
    cases = [tuple(first), *far[changed].sort_values(ascending=False, kind="stable").index]
    figure, panels = axes(1, 2, width=_WIDTH, height=1.4 + 0.23 * len(cases))
    for panel, (name, label) in zip(panels, gains.items(), strict=True):
        for k, n in enumerate(dict.fromkeys(frame["n"])):
            part = frame[(frame["n"] == n) & (frame["measure"] == name.lower())]
            part = part.set_index(["point", "value"]).loc[cases]
            gain = part["gain"].to_numpy()
            low, high = (part[side].to_numpy() / part["alone"].to_numpy() for side in ("low", "high"))
            panel.errorbar(
                gain,
                np.arange(len(cases)) + 0.3 * k - 0.15,
                xerr=[gain - low, high - gain],
                color=_TV_DRF.colour,
                linestyle="",
                marker="o" if k else "s",
                markersize=4,
                markerfacecolor=_TV_DRF.colour if k else "white",
                elinewidth=1.2,
                label=f"{n} users",
            )
            panel.axvline(gain[0], color=COLOURS["grey"], linewidth=0.8, linestyle="--" if k else ":", zorder=1)
        panel.axvline(0, color=COLOURS["grey"], linewidth=1, zorder=1)
        names = ["as in the figures", *(f"{point}: {value}" for point, value in cases[1:])]
        name_rows(panel, names, panel is panels[0])
        panel.set_xlabel(label)
        panel.xaxis.set_major_formatter(percent)
    return with_legend(figure, panels[:1], 2, top_first=False)
