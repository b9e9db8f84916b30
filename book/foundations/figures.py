"""Drawings for the page on dominant resource fairness: each takes a frame of :mod:`book.foundations.studies`."""

import pandas as pd

from book.common.style import COLOURS, LOOKS, Svg, axes, drawing, note, with_legend

__all__ = ["course", "plane", "pools"]

_DRF = LOOKS["drf"]
_COLOURS = [COLOURS[name] for name in ("blue", "orange", "green", "purple", "sky", "vermilion")]
_HATCHES = ["", "//", "..", "xx", "--", "++"]
_MARKERS = ["o", "s", "^", "D", "v", "P"]
_LINES = ["-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1))]


@drawing
def pools(frame: pd.DataFrame) -> Svg:
    """Draw how much of each resource each user holds under several rules (frame of ``shares``)."""
    rules = list(dict.fromkeys(frame["rule"]))
    users, resources = list(dict.fromkeys(frame["user"])), list(dict.fromkeys(frame["resource"]))
    figure, panels = axes(len(rules), 1, width=4.6, height=3.4, share_x=True)
    for panel, rule in zip(panels, rules, strict=True):
        part = frame[frame["rule"] == rule]
        held = part.pivot(index="resource", columns="user", values="share").loc[resources, users]
        left = [0.0] * len(resources)
        for i, user in enumerate(users):
            panel.barh(
                resources,
                held[user],
                left=left,
                color=_COLOURS[i],
                hatch=_HATCHES[i],
                edgecolor="white",
                height=0.6,
                label=str(user),
            )
            left = [a + b for a, b in zip(left, held[user], strict=True)]
        panel.axvline(1, color=COLOURS["grey"], linewidth=1)
        panel.set(xlim=(0, 1.02), xlabel="share of the capacity" if panel is panels[-1] else "")
        panel.invert_yaxis()  # the first resource on top
        panel.grid(visible=False, axis="y")
        note(panel, rule, height=1.03)
    return with_legend(figure, panels[:1], len(users), top_first=False)


@drawing
def plane(frame: pd.DataFrame) -> Svg:
    """Draw what two users can run together, and the path of progressive filling (frame of ``plane``)."""
    figure, (panel,) = axes(width=4.8, height=3.4)
    lines = frame[frame["kind"] == "capacity"]
    names = list(dict.fromkeys(lines["part"]))
    for i, name in enumerate(names):
        line = lines[lines["part"] == name]
        panel.plot(line["x"], line["y"], color=_COLOURS[i], linestyle=_LINES[i], label=f"all {name} in use")
    path = frame[frame["kind"] == "path"]
    panel.plot(path["x"], path["y"], color=_DRF.colour, linestyle=_DRF.line, label="progressive filling")
    end = path.iloc[-1]
    panel.plot([end["x"]], [end["y"]], color=_DRF.colour, marker=_DRF.marker, markersize=9, linestyle="")
    panel.annotate("DRF", (end["x"], end["y"]), xytext=(7, 3), textcoords="offset points")
    top = 1.05 * min(lines.loc[lines["part"] == name, "y"].max() for name in names) * 1.6
    panel.set(xlim=(0, 1.05 * lines["x"].max()), ylim=(0, top), xlabel="tasks of ann", ylabel="tasks of bob")
    panel.legend(loc="upper right")
    return Svg(figure)


@drawing
def course(frame: pd.DataFrame) -> Svg:
    """Draw users' levels and the use of resources while the water rises (frame of ``course``)."""
    figure, panels = axes(2, 1, width=4.8, height=5.6)
    labels = {"user": "level", "resource": "use (fraction of the capacity)"}
    for panel, (kind, label) in zip(panels, labels.items(), strict=True):
        part = frame[frame["kind"] == kind]
        for i, name in enumerate(dict.fromkeys(part["name"])):
            line = part[part["name"] == name]
            panel.plot(
                line["water"],
                line["value"],
                color=_COLOURS[i],
                linestyle=_LINES[i],
                marker=_MARKERS[i],
                label=str(name),
            )
        panel.set(xlabel="water level", ylabel=label, xlim=(0, None), ylim=(0, None))
        panel.legend(loc="upper left" if kind == "user" else "lower right")
    return Svg(figure)
