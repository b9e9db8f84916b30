"""Drawings for the GDRF chapter: each takes a frame of :mod:`book.gdrf.studies`."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from book.common.style import (
    COLOURS,
    LOOKS,
    STATED,
    Svg,
    axes,
    band,
    drawing,
    name_rows,
    note,
    number,
    of_measure,
    percent,
    whiskers,
    with_legend,
)
from fairbook.errors import InvalidInput

__all__ = [
    "ablation",
    "bounds",
    "cell_machines",
    "example",
    "fig1",
    "fig2",
    "fig3",
    "fig4",
    "mixes",
    "readings",
]

#: Inches: what a phone can show at a size that can be read.
_WIDTH = 5.2

_MIXES = {"paper": "one mix", "random": "mean over random mixes"}
#: How figures and tables call the mechanisms.
NAMES = {
    "mdrf_entropy": "MDRF, entropy",
    "mdrf_type": "MDRF, type",
    "drfh_best_fit": "Best-Fit",
    "drfh_first_fit": "First-Fit",
    "per_server_drf": "DRF per server",
    "gdrf": "GDRF",
    "drfh_fluid": "DRFH, fluid",
}


# ------------------------------------------------------------------------------------------------ the paper's figures


def _lines(panel: Axes, part: pd.DataFrame, per: bool, lead: float) -> None:
    """Draw mean and interval of each mechanism over the number of machines; GDRF on top."""
    if per:
        part = part.assign(**{column: part[column] / part["machines"] for column in ("mean", "low", "high")})
    if lead:
        rivals = part[part["mechanism"].isin(("mdrf_entropy", "mdrf_type"))].groupby("machines")["mean"]
        ends = (1 + lead) * rivals.min(), (1 + lead) * rivals.max()
        panel.fill_between(
            ends[0].index, *ends, color=STATED, label=f"printed: {100 * lead:.0f} % above MDRF", zorder=0
        )
    for k, mechanism in enumerate(reversed(list(dict.fromkeys(part["mechanism"])))):
        line = part[part["mechanism"] == mechanism]
        band(panel, line, "machines", LOOKS[mechanism], markersize=6.5, zorder=2 + k / 10)
    panel.margins(x=0.08)
    panel.set(xticks=sorted(set(part["machines"])), xlabel="machines (number)")


@drawing
def _grid(
    frame: pd.DataFrame,
    rows: Sequence[tuple[str, str]],
    *,
    per: Sequence[bool] | None = None,
    in_percent: bool = False,
    lead: float = 0.0,
) -> Svg:
    """Draw a row for each measure and a column for each mix; shaded is GDRF if it leads the stand-ins as printed."""
    shown = [mix for mix in _MIXES if mix in set(frame["mix"])]
    figure, panels = axes(len(rows), len(shown), width=_WIDTH, height=1.2 + 2 * len(rows))
    for place, panel in enumerate(panels):
        row, mix = divmod(place, len(shown))
        measure, label = rows[row]
        part = of_measure(frame, measure)
        _lines(panel, part[part["mix"] == shown[mix]], bool(per and per[row]), lead)
        if row == 0:
            note(panel, _MIXES[shown[mix]])
        panel.set(ylabel="" if mix else label, xlabel="" if row < len(rows) - 1 else panel.get_xlabel())
        panel.yaxis.set_major_formatter(percent if in_percent else number)
    for row in range(len(rows)):  # one scale for a measure
        line = panels[row * len(shown) : (row + 1) * len(shown)]
        low, high = (pick(panel.get_ylim()[k] for panel in line) for k, pick in enumerate((min, max)))
        for panel in line:
            panel.set_ylim(low, high)
    return with_legend(figure, panels[:1], 2, columnspacing=1.6, handlelength=3.4)


def fig1(frame: pd.DataFrame) -> Svg:
    """Draw Figure 1: VMs by the number of machines, and VMs per machine, where the mechanisms can be told apart."""
    return _grid(
        pd.concat([of_measure(frame, "tasks"), of_measure(frame, "tasks").assign(measure="each")]),
        [("tasks", "VMs (number)"), ("each", "VMs per machine (number)")],
        per=(False, True),
        lead=0.12,
    )


#: CPU utilisation (Figure 2) and memory utilisation (Figure 3), of all machines together and in the mean over machines.
fig2 = partial(
    _grid,
    rows=[("cpu", "CPU, total\n(percent)"), ("cpu_mean", "CPU, mean over\nmachines (percent)")],
    in_percent=True,
)
fig3 = partial(
    _grid,
    rows=[("memory", "memory, total\n(percent)"), ("memory_mean", "memory, mean over\nmachines (percent)")],
    in_percent=True,
)
#: The fairness value summed over machines, and of the cell as one machine (Figure 4).
fig4 = partial(_grid, rows=[("fairness", r"$\Sigma_j f_j$"), ("fairness_whole", "$f$ of the cell")], lead=0.15)


# ---------------------------------------------------------------------------------------------------- worked example

_USERS = {"A": (COLOURS["blue"], ""), "B": (COLOURS["vermilion"], "//"), "C": (COLOURS["green"], "..")}


@drawing
def example(frame: pd.DataFrame) -> Svg:
    """Draw the worked example: each machine with CPU to the right and memory upwards, VM on VM, and f at each step."""
    placed = frame[frame["machine"] >= 0].reset_index(drop=True)
    machines = sorted(set(placed["machine"]))
    figure, panels = axes(-(-(len(machines) + 1) // 2), 2, width=_WIDTH, height=5.6)
    last = placed.groupby("machine").last()
    sizes = {
        j: (last.loc[j, "cpu"] + last.loc[j, "cpu_free"], last.loc[j, "memory"] + last.loc[j, "memory_free"])
        for j in machines
    }
    most = max(max(size) for size in sizes.values())
    for panel, j in zip(panels, machines, strict=False):
        panel.add_patch(
            Rectangle(
                (0, 0), *sizes[j], facecolor="white", edgecolor=COLOURS["black"], linewidth=1.6, zorder=4, fill=False
            )
        )
        x, y = 0.0, 0.0
        for step, line in placed[placed["machine"] == j].iterrows():
            colour, hatch = _USERS[line["user"]]
            panel.add_patch(
                Rectangle(
                    (x, y),
                    line["cpu"] - x,
                    line["memory"] - y,
                    facecolor=colour,
                    hatch=hatch,
                    edgecolor=COLOURS["black"],
                    linewidth=0.8,
                    zorder=2,
                )
            )
            panel.text(
                (x + line["cpu"]) / 2,
                (y + line["memory"]) / 2,
                f"{int(str(step)) + 1}",
                ha="center",
                va="center",
                zorder=5,
                bbox={"boxstyle": "circle,pad=0.12", "facecolor": "white", "edgecolor": "none"},
            )
            x, y = line["cpu"], line["memory"]
        ticks = range(0, int(most) + 1, 2)
        panel.set(
            xlim=(-0.2, most + 0.2),
            ylim=(-0.2, most + 0.2),
            aspect="equal",
            xticks=ticks,
            yticks=ticks,
            xlabel="CPU (units)",
            ylabel="memory (units)",
        )
        note(panel, f"machine {j}")
    panel = panels[-1]
    for user, part in placed.groupby("user"):
        colour, hatch = _USERS[str(user)]
        panel.bar(part.index + 1, part["f"], 0.62, color=colour, hatch=hatch, edgecolor=COLOURS["black"], linewidth=0.8)
    panel.set_xticks(placed.index + 1, [f"{k + 1}\n{j}" for k, j in enumerate(placed["machine"])])
    panel.set(xlabel="VM (in order), and its machine", ylabel="$f$ of the machine before", ylim=(0, 1.1))
    panel.grid(axis="x", visible=False)
    figure.legend(
        handles=[
            Patch(facecolor=colour, hatch=hatch, edgecolor=COLOURS["black"], label=f"user {user}")
            for user, (colour, hatch) in _USERS.items()
        ],
        loc="outside lower center",
        ncols=3,
    )
    return Svg(figure)


# --------------------------------------------------------------------------------------------------- rows of dots


def _zero(panel: Axes, printed: float | None = None) -> None:
    """Mark no gain, and the gain that the paper prints."""
    panel.axvline(0, color=COLOURS["grey"], linewidth=1, zorder=1)
    if printed is not None:
        panel.axvline(printed, color=COLOURS["black"], linewidth=1.2, linestyle=(0, (4, 2)), zorder=1)
    panel.xaxis.set_major_formatter(percent)


_PRINTED = Line2D([], [], color=COLOURS["black"], linewidth=1.2, linestyle=(0, (4, 2)), label="printed in the paper")


@drawing
def mixes(frame: pd.DataFrame) -> Svg:
    """Draw what GDRF gains over each baseline: median and 90 of 100 random mixes, and the one mix (frame of mixes)."""
    measures = {"tasks": ("VMs (gain, percent)", 0.12), "fairness": (r"$\Sigma_j f_j$ (gain, percent)", 0.15)}
    names = list(dict.fromkeys(frame["against"]))
    sizes = sorted(set(frame["machines"]))
    sizes = [sizes[0], sizes[-1]] if len(sizes) > 1 else sizes
    figure, panels = axes(1, 2, width=_WIDTH, height=4.2)
    for k, (panel, (measure, (label, printed))) in enumerate(zip(panels, measures.items(), strict=True)):
        part = of_measure(frame, measure)
        for row, name in enumerate(names):
            colour = LOOKS[name].colour
            for place, size in enumerate(sizes):
                line = part[(part["against"] == name) & (part["machines"] == size)].iloc[0]
                y = row + 0.32 * (place - (len(sizes) - 1) / 2)
                panel.plot([line["p05"], line["p95"]], [y, y], color=colour, linewidth=2.2, solid_capstyle="butt")
                panel.plot(
                    [line["median"]],
                    [y],
                    color=colour,
                    marker="os"[place],
                    markersize=6,
                    markerfacecolor="white" if place else colour,
                    linestyle="",
                )
                panel.plot(
                    [line["paper"]],
                    [y],
                    color=COLOURS["black"],
                    marker="|",
                    markersize=9,
                    markeredgewidth=1.8,
                    linestyle="",
                    zorder=4,
                )
        name_rows(panel, [f"over {NAMES[name]}" for name in names], k == 0)
        _zero(panel, printed)
        panel.set_xlabel(label)
    grey = COLOURS["grey"]
    figure.legend(
        handles=[
            *(
                Line2D(
                    [],
                    [],
                    color=grey,
                    marker="os"[place],
                    markersize=6,
                    linewidth=2.2,
                    markerfacecolor="white" if place else grey,
                    label=f"{size} machines, 90 of 100 mixes",
                )
                for place, size in enumerate(sizes)
            ),
            Line2D(
                [],
                [],
                color=COLOURS["black"],
                marker="|",
                markersize=9,
                markeredgewidth=1.8,
                linestyle="",
                label="the one mix",
            ),
            _PRINTED,
        ],
        loc="outside lower center",
        ncols=2,
    )
    return Svg(figure)


#: How types are treated, which moves the gains most: match, machine_type.
_TYPES = {
    ("nearest", "share"): ("nearest, by share", "o", "flame"),
    ("nearest", "amount"): ("nearest, by amount", "s", "plum"),
    ("same", "share"): ("as printed, by share", "x", "azure"),
    ("same", "amount"): ("as printed, by amount", "+", "black"),
    ("any", "either"): ("no types", "^", "pine"),
}


@drawing
def readings(frame: pd.DataFrame) -> Svg:
    """Draw GDRF's mean gain in every reading as a dot, in a row for each treatment of types."""
    measures = {"tasks": ("VMs (gain, percent)", 0.12), "fairness": (r"$\Sigma_j f_j$ (gain, percent)", 0.15)}
    names = list(dict.fromkeys(frame["against"]))
    figure, panels = axes(1, 2, width=_WIDTH, height=5.4)
    for k, (panel, (measure, (label, printed))) in enumerate(zip(panels, measures.items(), strict=True)):
        for place, ((match, machine_type), (kind, marker, colour)) in enumerate(_TYPES.items()):
            part = frame[(frame["match"] == match) & (frame["machine_type"] == machine_type)]
            places = part["against"].map(names.index) + 0.16 * (place - 2)
            panel.plot(part[measure], places, marker, label=kind, color=COLOURS[colour], markersize=3.5)
        name_rows(panel, [f"over {NAMES[name]}" for name in names], k == 0)
        for row in range(1, len(names)):
            panel.axhline(row - 0.5, color=COLOURS["grey"], linewidth=0.6)
        panel.grid(axis="y", visible=False)
        _zero(panel, printed)
        panel.set_xlabel(label)
    figure.legend(
        handles=[*panels[0].get_legend_handles_labels()[0], _PRINTED],
        loc="outside lower center",
        ncols=2,
        columnspacing=1.6,
    )
    return Svg(figure)


@drawing
def ablation(frame: pd.DataFrame) -> Svg:
    """Draw what each ingredient changes, as ratios mix by mix with 95 % intervals (frame of ablation)."""
    measures = {"tasks": "VMs", "min_share": "least dominant share"}
    tints = {"step": COLOURS["azure"], "without": COLOURS["flame"], "instead": COLOURS["plum"]}
    markers = {"step": "o", "without": "s", "instead": "D"}
    names = list(dict.fromkeys(frame["variant"]))
    kinds = frame.drop_duplicates("variant")["kind"].tolist()
    figure, panels = axes(1, len(measures), width=_WIDTH, height=4.7)
    for k, (panel, (measure, label)) in enumerate(zip(panels, measures.items(), strict=True)):
        part = of_measure(frame, measure)
        panel.axvline(0, color=COLOURS["grey"], linewidth=1, zorder=1)
        for kind, line in part.groupby("kind", sort=False):
            places = [names.index(variant) for variant in line["variant"]]
            panel.errorbar(
                line["change"],
                places,
                xerr=whiskers(line, "change", "change_low", "change_high"),
                color=tints[str(kind)],
                marker=markers[str(kind)],
                linestyle="",
                markersize=5,
                elinewidth=1.4,
            )
        name_rows(panel, names, k == 0)
        panel.set_xlabel(f"{label}\n(change, percent)")
        panel.margins(x=0.12)
        panel.locator_params(axis="x", nbins=4)
        panel.xaxis.set_major_formatter(percent)
        for row in range(1, len(kinds)):
            if kinds[row] != kinds[row - 1]:
                panel.axhline(row - 0.5, color=COLOURS["grey"], linewidth=0.6)
    words = {"step": "one ingredient more", "without": "GDRF with one less", "instead": "one exchanged"}
    figure.legend(
        handles=[
            Line2D([], [], linestyle="", marker=markers[kind], color=tints[kind], label=text)
            for kind, text in words.items()
        ],
        loc="outside lower center",
        ncols=3,
        columnspacing=1,
        handletextpad=0.2,
    )
    return Svg(figure)


@drawing
def bounds(frame: pd.DataFrame) -> Svg:
    """Draw what each mechanism reaches in parts of what is possible, over random mixes with 95 % intervals."""
    measures = {"packed": "VMs, same mix\n(percent of bound)", "of_level": "least dominant share\n(percent of bound)"}
    names, sizes = list(dict.fromkeys(frame["mechanism"])), sorted(set(frame["machines"]))
    figure, panels = axes(1, len(measures), width=_WIDTH, height=3.7)
    for k, (panel, (measure, label)) in enumerate(zip(panels, measures.items(), strict=True)):
        rows = of_measure(frame, measure)
        for row, name in enumerate(names):
            colour = LOOKS[name].colour
            for place, size in enumerate(sizes):
                line = rows[(rows["mechanism"] == name) & (rows["machines"] == size)].iloc[0]
                y = row + 0.3 * (place - (len(sizes) - 1) / 2)
                panel.errorbar(
                    line["mean"],
                    y,
                    xerr=whiskers(line),
                    color=colour,
                    marker="os"[place % 2],
                    markersize=5.5,
                    markerfacecolor="white" if place else colour,
                    elinewidth=1.4,
                )
        panel.axvline(1, color=COLOURS["grey"], linewidth=1, zorder=1)
        name_rows(panel, [NAMES[name] for name in names], k == 0)
        panel.set_xlabel(label)
        panel.xaxis.set_major_formatter(percent)
    figure.legend(
        handles=[
            Line2D(
                [],
                [],
                linestyle="",
                marker="os"[place % 2],
                color=COLOURS["grey"],
                markerfacecolor="white" if place else COLOURS["grey"],
                label=f"{size} machines",
            )
            for place, size in enumerate(sizes)
        ],
        loc="outside lower center",
        ncols=len(sizes),
    )
    return Svg(figure)


def _share(value: float) -> str:
    return {0.25: "\u00bc", 0.5: "\u00bd", 0.75: "\u00be", 1.0: "1"}.get(round(4 * value) / 4, f"{value:.2g}")


@drawing
def cell_machines(frame: pd.DataFrame, case: str = "trace") -> Svg:
    """Draw what is stranded in the full cell, shape by shape: idle CPU to the left, idle memory to the right.

    Parameters
    ----------
    frame : DataFrame
        Of :func:`book.gdrf.studies.cell_machines`.
    case : str
        Which case of the frame.
    """
    part = frame[frame["case"] == case]
    if not len(part):
        raise InvalidInput("case", f"must be one of {', '.join(dict.fromkeys(frame['case']))}", case)
    rules = list(dict.fromkeys(part["mechanism"]))
    shape = part[["cpu_capacity", "memory_capacity"]].apply(tuple, axis=1)
    sizes = part[part["mechanism"] == rules[0]].groupby(shape)["machines"].sum().sort_values(ascending=False)
    large = list(sizes.index[:4])
    shape = shape.where(shape.isin(large), "others")
    figure, (panel,) = axes(width=_WIDTH, height=4.2)
    for k, rule in enumerate(rules):
        rows = part[part["mechanism"] == rule]
        for row, one in enumerate([*large, "others"]):
            here = rows[shape[rows.index] == one]
            look, at = LOOKS[rule], row + 0.26 * (k - (len(rules) - 1) / 2)
            for resource, side in (("cpu", -1), ("memory", 1)):
                idle = 1 - np.average(here[resource], weights=here["machines"])
                label = look.label if row == 0 and side > 0 else None
                panel.barh(at, side * idle, 0.24, color=look.colour, label=label)
    panel.axvline(0, color=COLOURS["black"], linewidth=1)
    shapes = [f"{_share(c)} CPU, {_share(m)} mem.\n({sizes[c, m]} machines)" for c, m in large]
    name_rows(panel, [*shapes, f"others\n({sizes.iloc[4:].sum()} machines)"], True)
    most = max(abs(bar.get_width()) for bar in panel.patches)
    panel.set(xlim=(-1.08 * most, 1.08 * most), xlabel="idle CPU (percent)   |   idle memory (percent)")
    panel.xaxis.set_major_formatter(lambda value, at: percent(abs(value), at))
    panel.grid(axis="y", visible=False)
    return with_legend(figure, [panel], 3, top_first=False)
