"""Drawings of the chapter on whole tasks: each takes a frame of :mod:`book.sequential_minmax.studies`."""

import pandas as pd

from book.common.style import COLOURS, Look, Svg, axes, band, drawing, note, percent, with_legend

__all__ = ["trace"]

#: The two rules differ in colour, marker and line style.
_LOOKS = {
    "sequential_minmax": Look("SequentialMinMax: the level after the task", COLOURS["blue"], "o", "-"),
    "drf_by_task": Look("DRF task by task: the level before it", COLOURS["vermilion"], "s", "--"),
}


@drawing
def trace(frame: pd.DataFrame) -> Svg:
    """Draw how often each property is broken, by the size of the pool (frame of ``studies.trace``)."""
    broken = frame[frame["measure"] != "use"]
    names = list(dict.fromkeys(broken["measure"]))
    figure, panels = axes(len(names), 1, width=4.8, height=5.2, share_x=True, share_y=True)
    for panel, name in zip(panels, names, strict=True):
        for rule, look in _LOOKS.items():
            band(panel, broken[(broken["measure"] == name) & (broken["rule"] == rule)], "machines", look)
        panel.set_xscale("log", base=2)
        panel.xaxis.set_major_formatter("{x:.0f}")
        panel.yaxis.set_major_formatter(percent)
        panel.set_ylabel("broken (% of runs)")
        note(panel, name)
    panels[-1].set_xlabel("pool (machines)")
    return with_legend(figure, panels[:1], 1, top_first=False)
