"""Drawings for the DMFA-SRQ chapter: each takes a frame of :mod:`book.dmfa_srq.studies` or an allocation."""

import numpy as np
import pandas as pd

from book.common.style import (
    COLOURS,
    LOOKS,
    PRINTED,
    Svg,
    axes,
    band,
    drawing,
    note,
    percent,
    whiskers,
    with_legend,
)
from fairbook.model.dynamic import DynamicAllocation

__all__ = ["fig1", "fig2", "fig3", "fig5", "gap", "levels"]

_LOOK = {"dynamic": LOOKS["dmfa_srq"], "static": LOOKS["static"]}
_USERS = (COLOURS["blue"], COLOURS["orange"], COLOURS["green"])
_HATCHES = ("", "//", "..")


@drawing
def fig1(frame: pd.DataFrame) -> Svg:
    """Draw Figure 1: the shares of three users after each of their arrivals."""
    figure, (panel,) = axes(width=5.0, height=3.0)
    for user, group in frame.groupby("user"):
        i = int(user) - 1
        place = group["arrival"] + (i - 1) * 0.27
        bars = panel.bar(
            place,
            group["share"],
            width=0.25,
            color=_USERS[i],
            hatch=_HATCHES[i],
            edgecolor="white",
            label=f"user {user}",
        )
        panel.bar_label(bars, labels=group["exact"].tolist(), padding=2)
    panel.set(xticks=[1, 2, 3], xlabel="arrival $k$", ylabel="dominant-share units $x_i^k$", ylim=(0, 0.56))
    return with_legend(figure, [panel], 3, top_first=False)


@drawing
def fig2(frame: pd.DataFrame) -> Svg:
    """Draw Figure 2: demands of 100 and of 500 users in the plane of CPU and memory."""
    sizes = sorted(frame["n"].unique())
    figure, panels = axes(1, len(sizes), width=5.2, height=2.9, share_x=True, share_y=True)
    for panel, n in zip(panels, sizes, strict=True):
        part = frame[frame["n"] == n]
        panel.plot(part["cpu"], part["memory"], "o", color=COLOURS["blue"], alpha=0.35, markeredgewidth=0)
        panel.set_xlabel("CPU request\n(largest machine = 1)")
        note(panel, f"{n} users")
    panels[0].set_ylabel("memory request\n(largest machine = 1)")
    return Svg(figure)


@drawing
def fig3(frame: pd.DataFrame) -> Svg:
    """Draw Figures 3 and 4: the shares of 20 of 100 and of 500 users over their contributions, mean and first run."""
    sizes = list(dict.fromkeys(frame["n"]))
    figure, panels = axes(len(sizes), width=PRINTED, height=5.6)
    for panel, n in zip(panels, sizes, strict=True):
        part = frame[frame["n"] == n].sort_values("rank")
        mean = f"{LOOKS['dmfa_srq'].label}, mean of {int(part['runs'].iloc[0])} runs"
        panel.plot(
            part["first_weight"],
            part["first_share"],
            **{"color": COLOURS["orange"], "marker": "^", "linestyle": ":", "label": "the first run alone"},
        )
        band(panel, part, "weight", LOOKS["dmfa_srq"], y="share", alpha=0.25, label=mean)
        ends = [0, part["weight"].max()]
        panel.plot(ends, ends, color=COLOURS["grey"], linewidth=1, label="what was brought")
        rises, falls = part["share"].diff().iloc[1:] > 0, part["falls"].iloc[1:]
        words = f"the mean rises at {rises.sum()} of {len(rises)} steps, single runs fall at {falls.mean():.0%}"
        note(panel, f"$n = {n}$: {words}")
        panel.set(xlabel="contribution $w_i$", ylabel="dominant-share units $x_i$", xlim=(0, None), ylim=(0, None))
        panel.locator_params(nbins=6)
    return with_legend(figure, panels[:1], 2, top_first=False)


#: What Figures 5 to 8 measure: the axis, and its limits.
_MEASURES = {
    "min_level": ("minimum of $x_i^k/w_i$", (0.98, None)),
    "sum_shares": ("sum of $x_i^k$", (0, None)),
    "cpu": ("CPU in use (percent)", (None, None)),
    "memory": ("memory in use (percent)", (None, None)),
}


@drawing
def fig5(frame: pd.DataFrame) -> Svg:
    """Draw Figures 5 to 8 over the number of users: a panel for each ``measure`` in the frame, Figure 5 if it has none.

    A large mark is all n users of an experiment; dots are the k users that are present so far.
    """
    frame = frame if "measure" in frame else frame.assign(measure="min_level")
    shown = [name for name in _MEASURES if name in set(frame["measure"])]
    figure, panels = axes(
        -(-len(shown) // 2), min(2, len(shown)), width=PRINTED, height=0.8 + 2.4 * (len(shown) // 2 or 1)
    )
    for panel, measure in zip(panels, shown, strict=True):
        rows = frame[frame["measure"] == measure]
        for mechanism, look in _LOOK.items():
            part = rows[rows["mechanism"] == mechanism]
            panel.plot(part["k"], part["mean"], ".", color=look.colour, markersize=3, alpha=0.6)
            how = (
                {"markersize": 5, "zorder": 3}
                if mechanism == "dynamic"
                else {"markersize": 9, "markerfacecolor": "none"}
            )
            band(panel, part[part["k"] == part["n"]], "n", look, alpha=0.22, **how)
        ends = rows[rows["k"] == rows["n"]].pivot(index="n", columns="mechanism", values="mean")
        apart = (ends["difference"] / ends["static"]).abs()
        note(
            panel,
            f"Figure {5 + list(_MEASURES).index(measure)}:\napart by "
            + ", ".join(f"{100 * one:.2g}" for one in apart)
            + " %",
        )
        label, limits = _MEASURES[measure]
        panel.set(xscale="log", xlabel="users (number)", ylabel=label, ylim=limits)
        panel.set_xticks(ticks := [1, *sorted(set(rows["n"]))], [str(one) for one in ticks])
        panel.set_xticks([], minor=True)
        if "percent" in label:
            panel.yaxis.set_major_formatter(percent)
        if measure == "min_level":
            panel.axhline(1, color=COLOURS["grey"], linewidth=1, label="what was brought")
    return with_legend(figure, panels[:1], 3, top_first=False)


@drawing
def gap(frame: pd.DataFrame) -> Svg:
    """Draw dynamic minus static after the last arrival over the number of users (frame of ``end_points``)."""
    names = {"sum_shares": "sum of $x_i$", "cpu": "CPU in use", "memory": "memory in use"}
    figure, panels = axes(1, len(names), width=5.2, height=2.4)
    part = frame[frame["mechanism"] == "difference"]
    look = LOOKS["difference"]
    for panel, (measure, name) in zip(panels, names.items(), strict=True):
        rows = part[part["measure"] == measure].sort_values("n")
        place = np.arange(len(rows))
        panel.errorbar(
            place, rows["mean"], whiskers(rows), color=look.colour, marker=look.marker, linestyle="", capsize=4
        )
        panel.axhline(0, color=COLOURS["grey"], linewidth=1)
        panel.set_xticks(place, rows["n"].astype(str))
        panel.set(xlim=(-0.5, len(rows) - 0.5), xlabel="users $n$")
        note(panel, name)
    panels[0].set_ylabel("DMFA-SRQ minus static")
    return Svg(figure)


@drawing
def levels(run: DynamicAllocation) -> Svg:
    """Draw the level of every user after every arrival: sorted by arrival, never falling."""
    n = len(run)
    figure, (panel,) = axes(width=5.2, height=3.6)
    history = np.full((n, n), np.nan)
    for k in range(1, n + 1):
        history[:k, k - 1] = run.levels_at(k)
    for i in range(n):
        shade = 0.15 + 0.75 * i / max(n - 1, 1)
        panel.step(
            np.arange(1, n + 1),
            history[i],
            where="mid",
            color=(0.0, shade * 0.62, 0.45 + 0.5 * (1 - shade)),
            linewidth=1.2,
        )
    panel.plot(
        np.arange(1, n + 1),
        run.lowest,
        color=LOOKS["dmfa_srq"].colour,
        marker="o",
        linestyle="",
        label="lowest level $M^k$",
    )
    ends = run.levels_at(n)
    starts = [i for i in range(n) if i == 0 or ends[i] < ends[i - 1] * (1 - 1e-9)]  # those at one level in the end
    for first, last in ((starts[0], [*starts, n][1]), (starts[-1], n)):
        panel.annotate(
            f"users {first + 1} to {last}",
            (n + 0.4, ends[first]),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
        )
    panel.set(xlabel="arrival $k$", ylabel="level $x_i^k/w_i$")
    return with_legend(figure, [panel], 1)
