"""Drawings for the cbDRF chapter: each takes a frame of :mod:`book.cbdrf.studies`."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from book.common.style import (
    COLOURS,
    LOOKS,
    Line,
    Look,
    Svg,
    axes,
    band,
    drawing,
    name_rows,
    note,
    number,
    percent,
    tint,
    whiskers,
    with_legend,
)

__all__ = ["comparison", "fig1", "fig2", "fig3", "fig4", "fig5", "hoarding", "nodes", "operator"]

_CBDRF, _DRF = LOOKS["cbdrf"], LOOKS["drf"]
_MARKERS = ("o", "s", "^", "D")
_LINES: tuple[Line, ...] = ("-", "--", "-.", ":")


_PRIME = "\N{PRIME}"  # as a letter: browsers show that of mathematics as a raised zero
_PERCENT = "granted / DRF,\n" + r"$\xi$ (percent)"


def _phases(panel: Axes, last: int, **more: Any) -> None:
    panel.set(
        xlabel="phase $t$",
        xlim=(0.5, last + 0.5),
        xticks=[t for t in range(1, last + 1) if last <= 10 or t % 5 == 0 or t == 1],
        **more,
    )


# ------------------------------------------------------------------------------------------------ the paper's figures

_WIDTH, _HEIGHT, _ACROSS, _DOWN = 1.72, 0.5, 2.15, 0.7


def _arrow(panel: Axes, places: Sequence[tuple[float, float]], colour: str = COLOURS["black"]) -> None:
    xs, ys = zip(*places, strict=True)
    panel.plot(xs, ys, color=colour, linewidth=1.1, solid_joinstyle="round", zorder=1)
    panel.annotate(
        "",
        places[-1],
        places[-2],
        arrowprops={
            "arrowstyle": "-|>",
            "color": colour,
            "linewidth": 1.1,
            "shrinkA": 0,
            "shrinkB": 0,
            "mutation_scale": 10,
        },
    )


@drawing
def fig1(frame: pd.DataFrame) -> Svg:
    """Draw Figure 1: the loop from demand to credit and on to the next phase, with the numbers of one run.

    A column is a phase; it is read downwards, and the credit at its foot leads to the grant of the next.
    """
    figure, (panel,) = axes(width=5.2, height=4.6)
    heads = [
        "demand\n$D_i$",
        "DRF",
        "grant\n" + r"$\psi_i\,x_i^{\mathrm{DRF}}$",
        "release\n" + r"ratio $\eta_i$",
        r"$\eta_i\geq\rho$ ?",
        "credit\n$C_i$",
    ]
    colours = [COLOURS["black"], _DRF.colour, _CBDRF.colour, COLOURS["black"], COLOURS["black"], _CBDRF.colour]
    middle, foot = _WIDTH / 2, -5 * _DOWN
    for k, (head, colour) in enumerate(zip(heads, colours, strict=True)):
        panel.text(-0.12, _HEIGHT / 2 - _DOWN * k, head, ha="right", va="center", color=colour)
    for column, line in enumerate(frame.itertuples()):
        x = _ACROSS * column
        sign = r"\geq" if line.complied else "<"
        step = f"{'+' if line.complied else '-'}{number(round(abs(line.next_credit - line.credit), 9))}"
        texts = [
            f"{number(line.cpu)} CPU, {number(line.memory)}\nmemory per task",
            f"{number(line.drf_tasks)} tasks",
            rf"${number(line.credit_factor)}\times {number(line.drf_tasks)}$ = {number(line.tasks)} tasks",
            f"{number(line.released * line.tasks)} of {number(line.tasks)} tasks\nreleased: {number(line.released)}",
            rf"${number(line.released)}{sign}{number(line.rho)}$: {'yes' if line.complied else 'no'}",
            rf"${number(line.credit)}{step}$ = {number(line.next_credit)}",
        ]
        for k, (text, colour) in enumerate(zip(texts, colours, strict=True)):
            y = -_DOWN * k
            panel.add_patch(
                FancyBboxPatch(
                    (x, y),
                    _WIDTH,
                    _HEIGHT,
                    boxstyle="round,pad=0,rounding_size=0.08",
                    facecolor="white",
                    edgecolor=colour,
                    linewidth=1.4,
                    zorder=2,
                )
            )
            panel.text(x + middle, y + _HEIGHT / 2, text, ha="center", va="center", zorder=3)
            if k:
                _arrow(panel, [(x + middle, y + _DOWN), (x + middle, y + _HEIGHT)])
        panel.text(
            x + middle,
            _HEIGHT + 0.14,
            f"phase {line.phase}",
            ha="center",
            va="center",
            color=COLOURS["grey"],
        )
        grant, lane = -2 * _DOWN + _HEIGHT / 2, x + (_WIDTH + _ACROSS) / 2
        last = column == len(frame) - 1
        _arrow(
            panel,
            [
                (x + middle, foot),
                (x + middle, foot - 0.16),
                (lane, foot - 0.16),
                (lane, grant),
                (x + _ACROSS - (0.06 if last else 0), grant),
            ],
            _CBDRF.colour,
        )
        panel.text(
            x + middle,
            foot - 0.33,
            rf"$\psi_i=\min(1,\,C_i/C_0)={number(min(1.0, line.next_credit))}$",
            ha="center",
            va="center",
            color=_CBDRF.colour,
        )
    panel.text(
        _ACROSS * len(frame) - 0.02,
        grant,
        "phase\n" + str(len(frame) + 1),
        va="center",
        color=COLOURS["grey"],
    )
    panel.set(xlim=(-0.75, _ACROSS * len(frame) + 0.4), ylim=(foot - 0.45, _HEIGHT + 0.25))
    panel.set_axis_off()
    return Svg(figure)


def _xi(panel: Axes, frame: pd.DataFrame) -> None:
    """Draw the ratio of both resources: they coincide, so one is drawn around the other."""
    ways: dict[str, dict[str, Any]] = {
        "CPU": {"marker": "s", "markersize": 9, "markerfacecolor": "none", "linestyle": "-", "linewidth": 1.2},
        "memory": {"marker": ".", "markersize": 7, "linestyle": ":", "linewidth": 2.6},
    }
    for resource, how in ways.items():
        band(
            panel,
            frame[frame["resource"] == resource],
            "phase",
            _CBDRF,
            y="ratio",
            alpha=0.25,
            label=f"{_CBDRF.label}, {resource}",
            **how,
        )
    panel.axhline(1, color=_DRF.colour, linestyle=_DRF.line, label=_DRF.label)
    _phases(panel, int(frame["phase"].max()), ylim=(0, 1.08), ylabel=_PERCENT)
    panel.yaxis.set_major_formatter(percent)


#: Unit and size of the paper's pool, by resource.
_POOL = {"CPU": (1.0, "CPU (of 500)"), "memory": (1000.0, "memory (1000s, of 50)")}


def _amounts(panel: Axes, part: pd.DataFrame) -> None:
    unit, label = _POOL[part["resource"].iloc[0]]
    part = part.assign(drf=part["drf"] / unit, granted=part["granted"] / unit)
    panel.plot(
        part["phase"],
        part["drf"],
        color=_DRF.colour,
        marker=_DRF.marker,
        linestyle=_DRF.line,
        markersize=7.5,
        label=_DRF.label,
    )
    panel.plot(
        part["phase"],
        part["granted"],
        color=_CBDRF.colour,
        marker=_CBDRF.marker,
        linestyle=_CBDRF.line,
        label=f"{_CBDRF.label}, granted",
    )
    panel.fill_between(
        part["phase"], part["granted"], part["drf"], color=_CBDRF.colour, alpha=0.12, linewidth=0, label="withheld"
    )
    _phases(panel, int(part["phase"].max()), ylabel=label, ylim=(0, 1.08 * float(part["drf"].max())))


@drawing
def fig2(frame: pd.DataFrame) -> Svg:
    """Draw Figure 2: what a node that never releases enough gets, as a part of what DRF would grant."""
    figure, (panel,) = axes(width=5.2, height=3.0)
    _xi(panel, frame)
    printed = {"color": COLOURS["black"], "marker": "o", "markersize": 14, "markerfacecolor": "none", "linestyle": ""}
    panel.plot([1, frame["phase"].max()], [1.0, 0.1], **printed, label="printed: 100 %, 10 %")
    panel.legend(loc="lower left")
    return Svg(figure)


@drawing
def fig3(frame: pd.DataFrame) -> Svg:
    """Draw Figure 3: a node that fails for five phases and then complies, as a ratio and in amounts."""
    figure, panels = axes(3, 1, width=5.2, height=6.2, share_x=True)
    _xi(panels[0], frame)
    panels[0].axvline(6, color=COLOURS["grey"], linewidth=1, linestyle=":", label="printed: rises from 6 on")
    for panel, resource in zip(panels[1:], _POOL, strict=True):
        _amounts(panel, frame[frame["resource"] == resource])
    for panel in panels[:2]:
        panel.set_xlabel("")
    return with_legend(figure, panels[:2], 2, top_first=False, columnspacing=1.2, handlelength=2.2)


def _two_nodes(frame: pd.DataFrame, words: Sequence[str]) -> Svg:
    figure, panels = axes(2, 2, width=5.2, height=4.6, share_x=True)
    for place, panel in enumerate(panels):
        node, resource = place // 2 + 1, tuple(_POOL)[place % 2]
        part = frame[(frame["node"] == node) & (frame["resource"] == resource)]
        _amounts(panel, part)
        last, unit = part.iloc[-1], _POOL[resource][0]
        panel.annotate(
            f"{last['ratio']:.0%}",
            (last["phase"], last["granted"] / unit),
            xytext=(6, -2),  # never on the axis
            textcoords="offset points",
            va="bottom",
            color=_CBDRF.colour,
        )
        panel.set(xlim=(0.5, last["phase"] + 3.2), xticks=[1, 4, 7, 10])
        panel.set_ylim(0, 1.25 * float(part["drf"].max()) / unit)
        if node == 1:
            panel.set_xlabel("")
        note(panel, f"node {node} {words[node - 1]}")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return Svg(figure)


@drawing
def fig4(frame: pd.DataFrame) -> Svg:
    """Draw Figure 4: two nodes, neither of which releases enough; the numbers are the last ratios."""
    return _two_nodes(frame, ("never complies", "never complies"))


@drawing
def fig5(frame: pd.DataFrame) -> Svg:
    """Draw Figure 5: a node that complies and one that does not; the numbers are the last ratios."""
    return _two_nodes(frame, ("complies", "never complies"))


@drawing
def nodes(frame: pd.DataFrame) -> Svg:
    """Draw the ratio of each node in one panel (frame of ``fig4`` or ``fig5``): node A is the first."""
    figure, (panel,) = axes(width=5.2, height=3.0)
    looks = ((COLOURS["blue"], "o", "-", COLOURS["blue"]), (COLOURS["vermilion"], "s", "--", "white"))
    part = frame[frame["resource"] == "CPU"]
    for (node, line), (colour, marker, style, face) in zip(part.groupby("node"), looks, strict=True):
        panel.plot(
            line["phase"],
            line["ratio"],
            color=colour,
            marker=marker,
            linestyle=style,
            markerfacecolor=face,
            label=f"node {'AB'[int(node) - 1]}",
        )
    _phases(panel, int(frame["phase"].max()), ylim=(0, 1.08), ylabel=_PERCENT)
    panel.yaxis.set_major_formatter(percent)
    panel.legend(loc="lower left")
    return Svg(figure)


# ------------------------------------------------------------------------------------------------- what it all costs


def _mechanisms(cells: Sequence[tuple[str, pd.DataFrame, str]], count: str, height: float) -> Svg:
    """Draw panels in two columns, row by row, each with its name, its rows of one measure and its vertical axis."""
    figure, panels = axes(len(cells) // 2, 2, width=5.2, height=height, share_x=True)
    for place, (panel, (name, part, label)) in enumerate(zip(panels, cells, strict=True)):
        for k, mechanism in enumerate(dict.fromkeys(part["mechanism"])):
            band(
                panel,
                part[part["mechanism"] == mechanism],
                count,
                LOOKS[mechanism],
                alpha=0.2,
                markersize=max(7.5 - k, 4.5),
            )  # those that coincide show around each other
        panel.set(
            ylabel=label,
            xlim=(-0.3, 9.3),
            xticks=[0, 3, 6, 9],
            xlabel=f"{count} (of 10 nodes)" if place >= len(panels) - 2 else "",
        )
        if name:
            note(panel, name)
    return with_legend(figure, panels[:1], 3, top_first=False, columnspacing=1.2)


@drawing
def comparison(frame: pd.DataFrame) -> Svg:
    """Draw what is used, and what those who comply and those who do not get (frame of ``comparison``)."""
    measures = {
        "utilisation": "granted\n(part of the pool)",
        "complying": "complying node\n(DRF = 1)",
        "defecting": "defecting node\n(DRF = 1)",
    }
    cells = [
        (
            f"what is held {held}" if measure == "utilisation" else "",
            part[part["measure"] == measure],
            label if held == "returns" else "",
        )
        for (measure, label), (held, part) in product(measures.items(), frame.groupby("held", sort=False))
    ]
    shown = _mechanisms(cells, "defectors", height=6.6)
    for place, panel in enumerate(shown.figure.axes):
        if place // 2 == 1:
            panel.set_yscale("log", base=2)
            panel.set_ylim(0.45, 9)
            panel.set_yticks([0.5, 1, 2, 4, 8], ["0.5", "1", "2", "4", "8"])
        else:
            panel.set_ylim(0, 1.06)
    return shown


@drawing
def hoarding(frame: pd.DataFrame, hoarders: int = 3) -> Svg:
    """Draw what honest nodes lose to some hoarders, and what the last of these gains (frame of ``hoarding``)."""
    cases = {
        ("holds", "returns"): ("hold, returns", "o", "blue"),
        ("holds", "stays"): ("hold, stays", "s", "vermilion"),
        ("releases", "returns"): ("release all", "D", "green"),
    }
    measures = {
        "honest": ("honest node\n(change, percent)", 1.0),
        "switch": ("hoarder by hoarding\n(change, percent)", 0.0),
    }
    names = list(dict.fromkeys(frame["mechanism"]))
    figure, panels = axes(1, 2, width=5.2, height=3.6)
    for panel, (measure, (label, base)) in zip(panels, measures.items(), strict=True):
        part = frame[(frame["measure"] == measure) & (frame["hoarders"] == hoarders)]
        for k, ((conduct, held), (name, marker, colour)) in enumerate(cases.items()):
            rows = part[(part["conduct"] == conduct) & (part["held"] == held)].set_index("mechanism").loc[names]
            panel.errorbar(
                rows["mean"] - base,
                np.arange(len(names)) + 0.22 * (k - 1),
                xerr=whiskers(rows),
                color=COLOURS[colour],
                marker=marker,
                linestyle="",
                markersize=5.5,
                elinewidth=1.4,
                label=name,
            )
        panel.axvline(0, color=COLOURS["grey"], linewidth=1, zorder=1)
        name_rows(panel, [LOOKS[name].label for name in names], panel is panels[0])
        panel.set_xlabel(label)
        panel.xaxis.set_major_formatter(percent)
    return with_legend(figure, panels[:1], 3, top_first=False)


# ----------------------------------------------------------------------------------------------- what an operator sets


def _worths(panel: Axes, part: pd.DataFrame, look: Look) -> None:
    label, colour, marker, style = look
    line = part[part["source"] == "closed form"].sort_values("step_down")
    dots = part[(part["source"] == "dynamic programme") & (part["worth"] < 2)].sort_values("step_down")
    if len(line):
        panel.plot(line["step_down"], np.minimum(line["worth"], 1e3), color=colour, linestyle=style)
    panel.plot(
        dots["step_down"],
        dots["worth"],
        color=colour,
        marker=marker,
        linestyle="" if len(line) else style,
        linewidth=1.2,
    )
    panel.plot([], [], color=colour, marker=marker, linestyle=style, label=label)


@drawing
def operator(frame: pd.DataFrame) -> Svg:
    """Draw the largest worth of holding at which releasing pays, against the step down (frame of ``operator``).

    Lines are the closed form, markers the dynamic programme. Below a line releasing pays.
    """
    figure, panels = axes(1, 2, width=5.2, height=4.0, share_y=True)
    first = frame.iloc[0]
    main = frame[frame["grant"] == "scaled"]
    tints = (1.0, 0.88, 0.76, 0.66)
    for k, (ratio, part) in enumerate(main.groupby("ratio")):
        _worths(
            panels[0],
            part,
            Look(
                rf"$\varepsilon${_PRIME}$\,/\,\varepsilon={number(float(ratio))}$",
                tint(_CBDRF.colour, tints[k]),
                _MARKERS[k],
                _LINES[k],
            ),
        )
    for grant, part in frame[frame["ratio"] == first["ratio"]].groupby("grant", sort=False):
        _worths(panels[1], part, LOOKS["cbdrf" if grant == "scaled" else grant])
    paper = main[(main["ratio"] == first["ratio"]) & (main["step_down"] == 0.1)].iloc[0]
    for panel, name in zip(panels, ("time of recovery", "grant"), strict=True):
        panel.plot(
            [0.1],
            [paper["worth"]],
            color=COLOURS["black"],
            marker="o",
            markersize=11,
            markerfacecolor="none",
            linestyle="",
            zorder=4,
        )
        panel.set(xscale="log", xlim=(0.018, 1.12), ylim=(0, 1), xlabel=rf"step down $\varepsilon${_PRIME}$\,/\,C_0$")
        panel.set_xticks([0.02, 0.1, 0.5], ["0.02", "0.1", "0.5"])
        panel.set_xticks([], minor=True)
        note(panel, name)
        panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), handlelength=2.6)
    panels[0].set_ylabel("largest worth of holding $v^*$\n(granted = 1)")
    panels[0].annotate("equal steps\nof a tenth", (0.1, paper["worth"]), xytext=(9, -13), textcoords="offset points")
    panels[1].annotate(
        "releasing\npays below", (0.97, 0.08), xycoords="axes fraction", ha="right", color=COLOURS["grey"]
    )
    return Svg(figure)
