"""Drawings for the cbDRF chapter: each takes a frame of :mod:`book.cbdrf.studies`."""

from __future__ import annotations

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
    legend_below,
    note,
    number,
    percent,
    tint,
)

__all__ = ["blanks", "comparison", "fig1", "fig2", "fig3", "fig4", "fig5", "hoarding", "nodes", "operator"]

_CBDRF, _DRF = LOOKS["cbdrf"], LOOKS["drf"]
_MARKERS = ("o", "s", "^", "D")
_LINES: tuple[Line, ...] = ("-", "--", "-.", ":")


_PERCENT = r"granted / DRF, $\xi$ (percent)"


def _phases(panel: Axes, last: int, **more: Any) -> None:
    panel.set(xlabel="phase $t$", xlim=(0.5, last + 0.5),
              xticks=[t for t in range(1, last + 1) if last <= 10 or t % 5 == 0 or t == 1], **more)


# ------------------------------------------------------------------------------------------------ the paper's figures

_WIDTH, _HEIGHT, _STEP = 1.1, 0.78, 1.27


def _arrow(panel: Axes, places: Sequence[tuple[float, float]]) -> None:
    xs, ys = zip(*places, strict=True)
    panel.plot(xs, ys, color=COLOURS["black"], linewidth=1.1, solid_joinstyle="round", zorder=1)
    panel.annotate("", places[-1], places[-2], arrowprops={
        "arrowstyle": "-|>", "color": COLOURS["black"], "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0,
        "mutation_scale": 10})


@drawing
def fig1(frame: pd.DataFrame) -> Svg:
    """Draw Figure 1: the loop from demand to credit and on to the next phase, with the numbers of one run."""
    figure, (panel,) = axes(width=7.6, height=3.5)
    heads = ["demand $D_i$", "DRF", r"grant $\psi_i\,x_i^{\mathrm{DRF}}$", r"release ratio $\eta_i$",
             r"$\eta_i\geq\rho$ ?", "credit $C_i$"]
    colours = [COLOURS[name] for name in ("black", "green", "wine", "black", "black", "wine")]
    middle = _WIDTH / 2
    for row, line in enumerate(frame.itertuples()):
        y = -1.55 * row
        sign = r"\geq" if line.complied else "<"
        step = f"{'+' if line.complied else '-'}{number(round(abs(line.next_credit - line.credit), 9))}"
        texts = [
            f"{number(line.cpu)} CPU,\n{number(line.memory)} memory\nper task",
            f"{number(line.drf_tasks)} tasks",
            rf"${number(line.credit_factor)}\times {number(line.drf_tasks)}$" + f"\n= {number(line.tasks)} tasks",
            f"{number(line.released * line.tasks)} of {number(line.tasks)}\ntasks released:\n"
            f"{number(line.released)}",
            rf"${number(line.released)}{sign}{number(line.rho)}$:" + f"\n{'yes' if line.complied else 'no'}",
            rf"${number(line.credit)}{step}$" + f"\n= {number(line.next_credit)}",
        ]
        for k, (text, colour) in enumerate(zip(texts, colours, strict=True)):
            x = _STEP * k
            panel.add_patch(FancyBboxPatch((x, y), _WIDTH, _HEIGHT, boxstyle="round,pad=0,rounding_size=0.08",
                                           facecolor="white", edgecolor=colour, linewidth=1.4, zorder=2))
            panel.text(x + middle, y + _HEIGHT / 2, text, ha="center", va="center", fontsize=9, zorder=3)
            if row == 0:
                panel.text(x + middle, y + _HEIGHT + 0.5, heads[k], ha="center", va="center", fontsize=9.5,
                           color=colour)
            if k:
                _arrow(panel, [(x - (_STEP - _WIDTH), y + _HEIGHT / 2), (x, y + _HEIGHT / 2)])
        panel.text(-0.16, y + _HEIGHT / 2, f"phase {line.phase}", rotation=90, ha="center", va="center", fontsize=9.5,
                   color=COLOURS["grey"])
        grant, credit = 2 * _STEP + middle, 5 * _STEP + middle
        if row == 0:
            _arrow(panel, [(grant, y + _HEIGHT + 0.32), (grant, y + _HEIGHT)])
            panel.text(grant + 0.08, y + _HEIGHT + 0.17, rf"$\psi_i={number(line.credit_factor)}$", va="center",
                       fontsize=9, color=COLOURS["wine"])
        lane = y - 0.38
        _arrow(panel, [(credit, y), (credit, lane), (grant, lane), (grant, y - 1.55 + _HEIGHT)])
        panel.text((grant + credit) / 2, lane + 0.05,
                   rf"next phase: $\psi_i=\min(1,\,C_i/C_0)={number(min(1.0, line.next_credit))}$", ha="center",
                   va="bottom", fontsize=9, color=COLOURS["wine"])
    panel.text(grant + 0.1, lane - 0.37, f"phase {len(frame) + 1}", va="center", fontsize=9.5, color=COLOURS["grey"])
    panel.set(xlim=(-0.3, 5 * _STEP + _WIDTH + 0.02), ylim=(-1.55 * (len(frame) - 1) - 0.95, _HEIGHT + 0.65))
    panel.set_axis_off()
    return Svg(figure)


def _xi(panel: Axes, frame: pd.DataFrame) -> None:
    """Draw the ratio of both resources: they coincide, so one is drawn around the other."""
    ways: dict[str, dict[str, Any]] = {
        "CPU": {"marker": "s", "markersize": 9, "markerfacecolor": "none", "linestyle": "-", "linewidth": 1.2},
        "memory": {"marker": ".", "markersize": 7, "linestyle": ":", "linewidth": 2.6},
    }
    for resource, how in ways.items():
        band(panel, frame[frame["resource"] == resource], "phase", _CBDRF, y="ratio", alpha=0.25,
             label=f"{_CBDRF.label}, {resource}", **how)
    panel.axhline(1, color=_DRF.colour, linestyle=_DRF.line, label=_DRF.label)
    _phases(panel, int(frame["phase"].max()), ylim=(0, 1.08), ylabel=_PERCENT)
    panel.yaxis.set_major_formatter(percent)


#: Unit and size of the paper's pool, by resource.
_POOL = {"CPU": (1.0, "CPU (of 500)"), "memory": (1000.0, "memory (thousands, of 50)")}


def _amounts(panel: Axes, part: pd.DataFrame) -> None:
    unit, label = _POOL[part["resource"].iloc[0]]
    part = part.assign(drf=part["drf"] / unit, granted=part["granted"] / unit)
    panel.plot(part["phase"], part["drf"], color=_DRF.colour, marker=_DRF.marker, linestyle=_DRF.line,
               markersize=7.5, label=_DRF.label)
    panel.plot(part["phase"], part["granted"], color=_CBDRF.colour, marker=_CBDRF.marker, linestyle=_CBDRF.line,
               label=f"{_CBDRF.label}, granted")
    panel.fill_between(part["phase"], part["granted"], part["drf"], color=_CBDRF.colour, alpha=0.12, linewidth=0,
                       label="withheld")
    _phases(panel, int(part["phase"].max()), ylabel=label, ylim=(0, 1.08 * float(part["drf"].max())))


@drawing
def fig2(frame: pd.DataFrame) -> Svg:
    """Draw Figure 2: what a node that never releases enough gets, as a part of what DRF would grant."""
    figure, (panel,) = axes(width=5.6, height=3.2)
    _xi(panel, frame)
    panel.legend(loc="lower left")
    return Svg(figure)


@drawing
def fig3(frame: pd.DataFrame) -> Svg:
    """Draw Figure 3: a node that fails for five phases and then complies, as a ratio and in amounts."""
    figure, panels = axes(1, 3, width=7.6, height=3.1)
    _xi(panels[0], frame)
    for panel, resource in zip(panels[1:], _POOL, strict=True):
        _amounts(panel, frame[frame["resource"] == resource])
    legend_below(figure, panels[:2], 5, top_first=False, columnspacing=1.2, handlelength=2.2)
    return Svg(figure)


def _two_nodes(frame: pd.DataFrame, words: Sequence[str]) -> Svg:
    figure, panels = axes(2, 2, width=7.2, height=5.0, share_x=True)
    for place, panel in enumerate(panels):
        node, resource = place // 2 + 1, tuple(_POOL)[place % 2]
        part = frame[(frame["node"] == node) & (frame["resource"] == resource)]
        _amounts(panel, part)
        last, unit = part.iloc[-1], _POOL[resource][0]
        panel.annotate(f"{last['ratio']:.0%}", (last["phase"], last["granted"] / unit), xytext=(0, 7),
                       textcoords="offset points", ha="center", fontsize=9, color=_CBDRF.colour)
        panel.set_ylim(0, 1.25 * float(part["drf"].max()) / unit)
        if node == 1:
            panel.set_xlabel("")
        note(panel, f"node {node}, which {words[node - 1]}")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return Svg(figure)


@drawing
def fig4(frame: pd.DataFrame) -> Svg:
    """Draw Figure 4: two nodes, neither of which releases enough; the numbers are the last ratios."""
    return _two_nodes(frame, ("never releases enough", "never releases enough"))


@drawing
def fig5(frame: pd.DataFrame) -> Svg:
    """Draw Figure 5: a node that complies and one that does not; the numbers are the last ratios."""
    return _two_nodes(frame, ("complies", "never releases enough"))


@drawing
def nodes(frame: pd.DataFrame) -> Svg:
    """Draw the ratio of each node in one panel (frame of ``fig4`` or ``fig5``): node A is the first."""
    figure, (panel,) = axes(width=6.4, height=3.2)
    looks = ((COLOURS["blue"], "o", "-", COLOURS["blue"]), (COLOURS["vermilion"], "s", "--", "white"))
    part = frame[frame["resource"] == "CPU"]
    for (node, line), (colour, marker, style, face) in zip(part.groupby("node"), looks, strict=True):
        panel.plot(line["phase"], line["ratio"], color=colour, marker=marker, linestyle=style, markerfacecolor=face,
                   label=f"node {'AB'[int(node) - 1]}")
    _phases(panel, int(frame["phase"].max()), ylim=(0, 1.08), ylabel=_PERCENT)
    panel.yaxis.set_major_formatter(percent)
    panel.legend(loc="lower left")
    return Svg(figure)


# ------------------------------------------------------------------------------------------ what the paper leaves out

_SIGNS = {"step down": r"$\varepsilon^{\prime}\,/\,C_0$", "step up": r"$\varepsilon/C_0$", "cap": "cap$/C_0$",
          "floor": "floor$/C_0$"}
_CONDUCT = {"never": "never complies", "from phase 6 on": "complies from phase 6 on",
            "not in phases 6 to 10": "fails in phases 6 to 10", "every second phase": "complies every second phase"}


@drawing
def blanks(frame: pd.DataFrame) -> Svg:
    """Draw what each thing that the paper leaves out does to the ratio of one node (frame of ``blanks``)."""
    names = list(dict.fromkeys(frame["blank"]))
    figure, panels = axes(2, (len(names) + 1) // 2, width=7.4, height=5.2, share_y=True)
    for panel, name in zip(panels, names, strict=True):
        part = frame[frame["blank"] == name]
        tints = (1.0, 0.8, 0.62, 0.62)
        for k, (value, line) in enumerate(part.groupby("value", sort=False)):
            paper = bool(line["paper"].iloc[0])
            colour = _CBDRF.colour if paper else tint(COLOURS["black"], tints[k])
            panel.plot(line["phase"], line["ratio"], color=colour, marker=_MARKERS[k], linestyle=_LINES[k],
                       linewidth=2.2 if paper else 1.3, markersize=4, zorder=3 if paper else 2, label=str(value))
        _phases(panel, int(part["phase"].max()), ylim=(-0.03, 1.06))
        panel.yaxis.set_major_formatter(percent)
        note(panel, f"{name}; the node {_CONDUCT[part['pattern'].iloc[0]]}")
        panel.legend(title=_SIGNS[name], title_fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5),
                     handlelength=2.4, borderaxespad=0.3)
    for panel in panels[::2]:
        panel.set_ylabel(_PERCENT)
    return Svg(figure)


# ------------------------------------------------------------------------------------------------- what it all costs


def _mechanisms(rows: dict[str, pd.DataFrame], count: str, measures: dict[str, str], height: float) -> Svg:
    """Draw a row of panels for each frame, under its name, and a column for each measure."""
    figure, panels = axes(len(rows), len(measures), width=7.6, height=height, share_x=True)
    for place, (panel, ((name, frame), measure)) in enumerate(
            zip(panels, product(rows.items(), measures), strict=True)):
        part = frame[frame["measure"] == measure]
        for k, mechanism in enumerate(dict.fromkeys(frame["mechanism"])):
            band(panel, part[part["mechanism"] == mechanism], count, LOOKS[mechanism], alpha=0.2,
                 markersize=max(7.5 - k, 4.5))  # those that coincide show around each other
        panel.set(ylabel=measures[measure], xlim=(-0.3, 9.3), xticks=[0, 3, 6, 9],
                  xlabel=f"{count} (of 10 nodes)" if place >= len(panels) - len(measures) else "")
        if place % len(measures) == 0:
            note(panel, name)
    legend_below(figure, panels[:1], frame["mechanism"].nunique(), top_first=False)
    return Svg(figure)


@drawing
def comparison(frame: pd.DataFrame) -> Svg:
    """Draw what is used, and what those who comply and those who do not get (frame of ``comparison``)."""
    rows = {f"what is held {held}": part for held, part in frame.groupby("held", sort=False)}
    shown = _mechanisms(rows, "defectors", {
        "utilisation": "granted (part of the pool)", "complying": "complying node (DRF = 1)",
        "defecting": "defecting node (DRF = 1)"}, height=5.4)
    for place, panel in enumerate(shown.figure.axes):
        if place % 3 == 1:
            panel.set_yscale("log", base=2)
            panel.set_ylim(0.45, 9)
            panel.set_yticks([0.5, 1, 2, 4, 8], ["0.5", "1", "2", "4", "8"])
        else:
            panel.set_ylim(0, 1.06)
    return shown


@drawing
def hoarding(frame: pd.DataFrame) -> Svg:
    """Draw useful work, what honest nodes get, and the temptation to hoard (frame of ``hoarding``)."""
    names = {("holds", "returns"): "what hoarders hold returns", ("holds", "stays"): "what hoarders hold stays",
             ("releases", "returns"): "hoarders release all"}
    rows = {names[case]: part for case, part in frame.groupby(["conduct", "held"], sort=False)}
    shown = _mechanisms(rows, "hoarders", {
        "useful": "useful (part of the pool)", "honest": "honest node (DRF = 1)",
        "switch": "hoarding gains (percent)"}, height=7.4)
    for place, panel in enumerate(shown.figure.axes):
        if place % 3 == 2:
            panel.axhline(0, color=COLOURS["grey"], linewidth=1, zorder=1)
            panel.set_ylim(-0.75, 0.75)
            panel.yaxis.set_major_formatter(percent)
        else:
            panel.set_ylim(0, 1.55 if place % 3 else 1.06)
    for panel, height in zip(shown.figure.axes[-3:], (0.46, 0.27, 0.56), strict=True):
        panel.annotate("all but Karma", (0.06, height), xycoords="axes fraction", fontsize=9, color=COLOURS["grey"])
    return shown


# ----------------------------------------------------------------------------------------------- what an operator sets


def _worths(panel: Axes, part: pd.DataFrame, look: Look) -> None:
    label, colour, marker, style = look
    line = part[part["source"] == "closed form"].sort_values("step_down")
    dots = part[(part["source"] == "dynamic programme") & (part["worth"] < 2)].sort_values("step_down")
    if len(line):
        panel.plot(line["step_down"], np.minimum(line["worth"], 1e3), color=colour, linestyle=style)
    panel.plot(dots["step_down"], dots["worth"], color=colour, marker=marker, linestyle="" if len(line) else style,
               linewidth=1.2)
    panel.plot([], [], color=colour, marker=marker, linestyle=style, label=label)


@drawing
def operator(frame: pd.DataFrame) -> Svg:
    """Draw the largest worth of holding at which releasing pays, against the step down (frame of ``operator``).

    Lines are the closed form, markers the dynamic programme. Below a line releasing pays.
    """
    figure, panels = axes(1, 3, width=7.6, height=3.9, share_y=True)
    first = frame.iloc[0]
    usual = (frame["rho"] == first["rho"]) & (frame["discount"] == first["discount"])
    scaled = frame["grant"] == "scaled"
    main, one = frame[usual & scaled], frame["ratio"] == first["ratio"]
    tints = (1.0, 0.88, 0.76, 0.66)
    for k, (ratio, part) in enumerate(main.groupby("ratio")):
        _worths(panels[0], part, Look(rf"$\varepsilon^{{\prime}}\,/\,\varepsilon={number(float(ratio))}$",
                                      tint(_CBDRF.colour, tints[k]), _MARKERS[k], _LINES[k]))
    for k, ((rho, discount), part) in enumerate(frame[one & scaled].groupby(["rho", "discount"], sort=False)):
        _worths(panels[1], part, Look(
            rf"$\rho={number(rho)}$, $\delta={number(discount)}$",
            _CBDRF.colour if k == 0 else tint(COLOURS["black"], (1.0, 0.9, 0.7, 0.55)[k]), _MARKERS[k], _LINES[k]))
    for grant, part in frame[one & usual].groupby("grant", sort=False):
        _worths(panels[2], part, LOOKS["cbdrf" if grant == "scaled" else grant])
    paper = main[(main["ratio"] == first["ratio"]) & (main["step_down"] == 0.1)].iloc[0]
    for panel, name in zip(panels, ("steps", "threshold and patience", "grant"), strict=True):
        panel.plot([0.1], [paper["worth"]], color=COLOURS["black"], marker="o", markersize=11, markerfacecolor="none",
                   linestyle="", zorder=4)
        panel.set(xscale="log", xlim=(0.018, 1.12), ylim=(0, 1), xlabel=r"step down $\varepsilon^{\prime}\,/\,C_0$")
        panel.set_xticks([0.02, 0.05, 0.1, 0.2, 0.5, 1], ["0.02", "0.05", "0.1", "0.2", "0.5", "1"])
        panel.set_xticks([], minor=True)
        note(panel, name)
        panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), handlelength=2.6)
    panels[0].set_ylabel("largest worth of holding $v^*$\n(granted = 1)")
    panels[0].annotate("default", (0.1, paper["worth"]), xytext=(7, -10), textcoords="offset points", fontsize=9)
    panels[0].annotate("releasing\npays below", (0.97, 0.27), xycoords="axes fraction", ha="right", fontsize=9,
                       color=COLOURS["grey"])
    return Svg(figure)
