"""Drawings for the DMFA-SRQ chapter: each takes a frame of :mod:`book.dmfa_srq.studies` or an allocation."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from book.common.style import COLOURS, LOOKS, Svg, axes, band, drawing, legend_below, note, whiskers
from fairbook.model.dynamic import DynamicAllocation

__all__ = ["fig1", "fig2", "fig3", "fig5", "gap", "levels", "water"]

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
    legend_below(figure, [panel], 3, top_first=False)
    return Svg(figure)


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
    """Draw Figures 3 and 4 as levels, share by contribution, in the order of contributions: 20 of 100 or 500 users."""
    sizes = list(dict.fromkeys(frame["n"]))
    figure, panels = axes(1, len(sizes), width=5.2, height=3.2, share_y=True)
    look = LOOKS["dmfa_srq"]
    for panel, n in zip(panels, sizes, strict=True):
        part = frame[frame["n"] == n]
        level = part[["rank"]].assign(**{c: part[c] / part["weight"] for c in ("share", "low", "high")})
        mean = f"mean of {int(part['runs'].iloc[0])} runs"
        band(panel, level, "rank", look, y="share", alpha=0.25, label=mean)
        panel.plot(
            part["rank"], part["first_share"] / part["first_weight"], "^", color=COLOURS["orange"], label="first run"
        )
        panel.axhline(1, color=COLOURS["grey"], linewidth=1, label="what was brought")
        panel.set(xlabel="rank by contribution $w_i$", ylim=(0.9, None))
        note(panel, f"$n = {n}$")
    panels[0].set_ylabel("level $x_i/w_i$")
    legend_below(figure, panels[:1], 3, top_first=False)
    return Svg(figure)


@drawing
def fig5(frame: pd.DataFrame) -> Svg:
    """Draw Figure 5: the lowest level; the line at 1 is what each user brought."""
    sizes = sorted(frame["n"].unique())
    figure, panels = axes(len(sizes), width=5.0, height=5.4, share_y=True)
    for panel, n in zip(panels, sizes, strict=True):
        part = frame[frame["n"] == n]
        for mechanism, look in _LOOK.items():
            band(panel, part[part["mechanism"] == mechanism], "k", look, alpha=0.22, markersize=3)
        panel.axhline(1, color=COLOURS["grey"], linewidth=1, label="what was brought")
        note(panel, f"$n = {n}$")
    panels[-1].set_xlabel("users present $k$")
    panels[len(sizes) // 2].set_ylabel("minimum of $x_i^k/w_i$")
    legend_below(figure, panels[:1], 2, top_first=False)  # covers no curve
    return Svg(figure)


@drawing
def gap(frame: pd.DataFrame) -> Svg:
    """Draw dynamic minus static after the last arrival against the number of users (frame of ``end_points``)."""
    names = {
        "min_level": "minimum of $x_i/w_i$",
        "sum_shares": "sum of $x_i$",
        "cpu": "CPU in use",
        "memory": "memory in use",
    }
    figure, panels = axes(2, 2, width=5.2, height=4.2)
    part = frame[frame["mechanism"] == "difference"]
    look = LOOKS["difference"]
    for panel, (measure, name) in zip(panels, names.items(), strict=True):
        rows = part[part["measure"] == measure].sort_values("n")
        place = np.arange(len(rows))
        panel.errorbar(
            place,
            rows["mean"],
            whiskers(rows),
            color=look.colour,
            marker=look.marker,
            linestyle="",
            capsize=4,
        )
        panel.axhline(0, color=COLOURS["grey"], linewidth=1)
        panel.set_xticks(place, rows["n"].astype(str))
        panel.set_xlim(-0.5, len(rows) - 0.5)
        note(panel, name)
    for panel in panels[2:]:
        panel.set_xlabel("users $n$")
    for panel in panels[::2]:
        panel.set_ylabel("DMFA-SRQ minus static")
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
        run.levels,
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
    legend_below(figure, [panel], 1)
    return Svg(figure)


@drawing
def water(run: DynamicAllocation, steps: Sequence[int], resource: int) -> Svg:
    """Draw the pool as water in columns after some arrivals.

    Each column is a user: its width is what the user takes of the resource per unit of level, its height the level,
    so the area is the resource in use. The dashed line is the lowest level; capacity is an area too and is named above
    the panel.
    """
    figure, panels = axes(len(steps), width=5.0, height=5.4, share_x=True, share_y=True)
    rate = run.demands[:, resource] * run.weights / run.demands.max(axis=1)
    for panel, k in zip(panels, steps, strict=True):
        left = np.concatenate([[0.0], np.cumsum(rate[: k - 1])])
        heights = run.levels_at(k)
        lowest = heights <= heights.min() * (1 + 1e-9)
        colours = np.where(lowest, COLOURS["blue"], COLOURS["sky"])
        panel.bar(left, heights, width=rate[:k], align="edge", color=colours, edgecolor="white", linewidth=1)
        bottom = float(heights.min())
        panel.axhline(bottom, color=COLOURS["black"], linestyle="--", linewidth=1, label="lowest level $M^k$")
        for i in range(k):
            panel.annotate(
                str(i + 1),
                (left[i] + rate[i] / 2, 0),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                color="white" if lowest[i] else "black",
            )
        note(panel, f"after arrival {k}: use {float(rate[:k] @ heights):.3g} of {run.weights[:k].sum():.3g}")
    panels[-1].set_xlabel("taken per unit of level")
    panels[len(panels) // 2].set_ylabel("level $x_i^k/w_i$")
    legend_below(figure, panels[:1], 1)
    return Svg(figure)
