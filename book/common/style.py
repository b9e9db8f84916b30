"""One look for the whole book: colours, markers and line styles by mechanism, in files that stay the same.

Colours are those of Okabe and Ito, which readers with any colour vision can tell apart, and a few darker ones that keep
apart from them; a mechanism has the same colour, marker and line style in every chapter: a style
sheet of matplotlib cannot say that.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from fairbook.errors import InvalidInput

Arguments = ParamSpec("Arguments")
Drawn = TypeVar("Drawn")

#: Okabe-Ito, grey, and further mechanisms' colours: two of Paul Tol's muted scheme, the orange darkened until lines in
#: it can be seen on white, and three sets, of four and twice seven, chosen to keep apart, for any colour vision, in the
#: one chapter that has them all.
COLOURS = {
    "black": "#000000",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "green": "#009E73",
    "yellow": "#F0E442",
    "blue": "#0072B2",
    "vermilion": "#D55E00",
    "purple": "#CC79A7",
    "grey": "#666666",
    "wine": "#882255",
    "indigo": "#332288",
    "ochre": "#B07D00",
    "cobalt": "#1235DE",
    "rose": "#FF437D",
    "lilac": "#AB6FD2",
    "brown": "#6B2305",
    "flame": "#FF4B0F",
    "pine": "#003C00",
    "azure": "#4B87FF",
    "plum": "#5A0F5A",
    "violet": "#5A1EFF",
    "clay": "#D2785A",
    "royal": "#4B0096",
    "rust": "#82371A",
    "leaf": "#38A900",
    "marine": "#2C1CFE",
    "orchid": "#D464CA",
    "grape": "#7F01AA",
    "ink": "#00003E",
    "soot": "#320007",
}

#: A marker by name, or as (points, 1 for a star, angle).
Marker = str | tuple[int, int, int]
#: A line style by name, or as (offset, lengths of dashes and gaps).
Line = str | tuple[float, tuple[float, ...]]


class Look(NamedTuple):
    """How one mechanism is drawn in every figure of the book."""

    label: str
    colour: str
    marker: Marker
    line: Line


#: Colour, marker and line style of each mechanism, the same in the whole book.
LOOKS = {
    "dmfa_srq": Look("DMFA-SRQ", COLOURS["blue"], "o", "-"),
    "drf": Look("DRF", COLOURS["green"], "^", "-."),
    "static": Look("static weighted DRF", COLOURS["vermilion"], "s", "--"),
    "cbdrf": Look("cbDRF", COLOURS["wine"], "v", (0, (6, 1))),
    "weighted": Look("cbDRF, weighted", COLOURS["purple"], "P", (0, (3, 1, 1, 1, 1, 1))),
    "capped": Look("cbDRF, capped", COLOURS["ochre"], "X", (0, (1, 1))),
    "karma": Look("Karma", COLOURS["indigo"], "*", (0, (8, 1.5, 1, 1.5))),
    "tv_drf": Look("TV-DRF", COLOURS["cobalt"], ">", (0, (12, 1))),
    "optimum": Look("exact optimum", COLOURS["lilac"], "h", (0, (2, 1))),
    "memoryless": Look("DRF per period", COLOURS["rose"], "d", (0, (5, 1, 1, 1))),
    "alone": Look("no sharing", COLOURS["brown"], "<", (0, (4, 2))),
    "gdrf": Look("GDRF", COLOURS["flame"], "p", (0, (16, 1))),
    "mdrf_entropy": Look("MDRF stand-in, entropy", COLOURS["plum"], (4, 1, 0), (0, (9, 2, 2, 2))),
    "mdrf_type": Look("MDRF stand-in, type", COLOURS["violet"], "1", ":"),
    "drfh_best_fit": Look("DRFH, Best-Fit", COLOURS["pine"], "H", (0, (7, 2))),
    "drfh_first_fit": Look("DRFH, First-Fit", COLOURS["azure"], "x", (0, (2, 2))),
    "per_server_drf": Look("DRF per server", COLOURS["clay"], "+", (0, (3, 3))),
    "drfh_fluid": Look("DRFH, fluid", COLOURS["royal"], "|", (0, (6, 2, 1, 2, 1, 2))),
    "relaxation": Look("relaxation", COLOURS["rust"], "8", (0, (3, 1.5))),
    "greedy": Look("greedy", COLOURS["leaf"], (3, 0, 45), (0, (6, 1.5, 1, 1.5))),
    "mixed_knapsack": Look("mixed knapsack", COLOURS["marine"], (4, 1, 45), (0, (10, 1.5))),
    "metagreedy": Look("MetaGreedy", COLOURS["orchid"], "2", (0, (4, 1, 1, 1))),
    "vector_packing": Look("vector packing", COLOURS["grape"], (5, 1, 180), (0, (2, 1, 4, 1))),
    "exact": Look("exact", COLOURS["ink"], (6, 1, 0), (0, (20, 1))),
    "spanning": Look("spanning clusters", COLOURS["soot"], (8, 2, 0), (0, (1, 1.5, 4, 1.5))),
    "bound": Look("upper bound", COLOURS["grey"], "_", (0, (1, 2))),
    "difference": Look("difference", COLOURS["black"], "D", "-"),
}

_SETTINGS: dict[Any, Any] = {
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "savefig.facecolor": "white",
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "axes.labelsize": 10,
    "legend.fontsize": 10,  # nothing smaller: on a phone a figure of 5.2 in is shown at three quarters
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "svg.hashsalt": "fairbook",
    "svg.fonttype": "none",
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": (-6, 6),  # a factor above the axis would lie on the panel's name
}

#: Inches: the width of a drawing of what a paper prints, which a page shows as wide as its text.
PRINTED = 5.8
#: Behind what is drawn: where a curve would lie by the numbers that a paper states.
STATED = "#E3E3E3"


def axes(
    rows: int = 1,
    columns: int = 1,
    *,
    width: float = 6.4,
    height: float = 3.4,
    share_x: bool = False,
    share_y: bool = False,
) -> tuple[Figure, list]:
    """Make an empty figure in the book's style.

    Parameters
    ----------
    rows, columns : int
        Panels.
    width, height : float
        Of the whole figure, in inches.
    share_x, share_y : bool
        Whether the panels share an axis.

    Returns
    -------
    Figure, list of Axes
        Not registered with pyplot, so that nothing is kept alive or shown twice.
    """
    with _styled():
        figure = Figure(figsize=(width, height))
        panels = figure.subplots(rows, columns, squeeze=False, sharex=share_x, sharey=share_y)
    return figure, list(panels.flat)


@contextmanager
def _styled() -> Iterator[None]:
    with mpl.rc_context({**mpl.rcParamsDefault, **_SETTINGS, "backend": mpl.rcParams["backend"]}):
        yield


def drawing(draw: Callable[Arguments, Drawn]) -> Callable[Arguments, Drawn]:
    """Let a function draw in the book's style, whatever matplotlib's settings are where it is called."""

    @wraps(draw)
    def styled(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Drawn:
        with _styled():
            return draw(*args, **kwargs)

    return styled


def note(panel: Axes, text: str, height: float = 1.02) -> None:
    """Name a panel above its frame, not inside it; the height is a part of the panel's own."""
    panel.annotate(text, (0.0, height), xycoords="axes fraction", color=COLOURS["grey"])


def band(
    panel: Axes, part: pd.DataFrame, x: str, look: Look, *, y: str = "mean", alpha: float = 0.15, **how: Any
) -> None:
    """Draw a line of means in a mechanism's look, and behind it the band of its intervals.

    Parameters
    ----------
    panel : Axes
    part : DataFrame
        Columns ``x``, ``y``, ``low`` and ``high``, one row a point.
    x, y : str
        What lies along the axis, and the means.
    look : Look
    alpha : float
        Of the band.
    **how
        Of the line, where it differs from the look.
    """
    panel.fill_between(part[x], part["low"], part["high"], color=look.colour, alpha=alpha, linewidth=0)
    panel.plot(
        part[x],
        part[y],
        **{"color": look.colour, "marker": look.marker, "linestyle": look.line, "label": look.label, **how},
    )


def whiskers(part: pd.DataFrame | pd.Series, centre: str = "mean", low: str = "low", high: str = "high") -> list[Any]:
    """Give the lengths of error bars, to the left and to the right of one mean or of many."""
    lengths = [part[centre] - part[low], part[high] - part[centre]]
    return lengths if isinstance(part, pd.DataFrame) else [[one] for one in lengths]


def name_rows(panel: Axes, names: Sequence[str], first: bool) -> None:
    """Name the rows of a dot plot, the first on top; beside the first panel only."""
    panel.set_ylim(len(names) - 0.5, -0.5)
    panel.set_yticks(range(len(names)), names if first else [""] * len(names))
    panel.tick_params(axis="y", length=0, pad=6)


def tint(colour: str, part: float) -> str:
    """Mix a colour with white: all of it where ``part`` is 1."""
    red, green, blue = (1 - part * (1 - c) for c in to_rgb(colour))
    return to_hex((red, green, blue))


def number(value: float, _: float = 0.0) -> str:
    """Write a number, also as the label of a tick: thousands set apart by spaces, a true minus sign."""
    return f"{value:,.10g}".replace(",", " ").replace("-", "\N{MINUS SIGN}")


def percent(value: float, _: float = 0.0) -> str:
    """Write a part of one in percent, also as the label of a tick."""
    return f"{100 * value:.10g}".replace("-", "\N{MINUS SIGN}")


def of_measure(frame: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Give the rows of a frame that hold one measure; InvalidInput where there are none."""
    part = frame[frame["measure"] == measure]
    if not len(part):
        raise InvalidInput("frame", f"must hold the measure {measure}", sorted(set(frame["measure"])))
    return part


def with_legend(
    figure: Figure, panels: Sequence[Axes], columns: int, top_first: bool = True, **spacing: float
) -> "Svg":
    """Give the drawing with one legend for all panels below them.

    What was drawn last, on top, comes first in it, or what was drawn first.
    """
    found: dict[str, Any] = {}
    for panel in panels:
        handles, labels = panel.get_legend_handles_labels()
        for handle, label in list(zip(handles, labels, strict=True))[:: -1 if top_first else 1]:
            found.setdefault(label, handle)
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=columns, **spacing)
    return Svg(figure)


#: The face of the pages, for the browser; what is laid out for the wider face of matplotlib has room for it.
_FACE = "system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans'"


class Svg:
    """Wrap a figure so that a notebook shows it as SVG with the same bytes on every machine and run.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    """

    def __init__(self, figure: Figure) -> None:
        self.figure = figure

    def _repr_svg_(self) -> str:
        text = io.StringIO()
        with _styled():
            self.figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
        # Each layout starts from the one before and would move things by some 0.001 points.
        self.figure.set_layout_engine("none")
        return text.getvalue().replace("'DejaVu Sans', 'Bitstream Vera Sans'", _FACE)

    def __repr__(self) -> str:
        return "<figure>"
