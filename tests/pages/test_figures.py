"""The drawings of all chapters, each made once from its stored frame: what they show, and fit to print.

Pixels, which pytest-mpl compares, would say that a drawing is as it was, not that it is right.
"""

import re
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from book.common import style
from book.common.claims import stored as claims
from book.common.style import LOOKS
from book.compare import figures as compare
from book.compare.entrants import ENTRANTS
from book.dmfa_srq import figures as dmfa
from book.gdrf import figures as gdrf
from book.virtual_cluster import figures as vc
from fairbook.errors import InvalidInput
from tests.conftest import ROOT
from tests.drawings import (
    apart,
    contrast,
    curves_are,
    told,
    visible,
    words_fit,
)
from tests.pages_drawn import Frame, clusters, each, figure, parts, picture, stored, taken, thirty
from tools import execute

# ------------------------------------------------------------------------------------------------ fit to be printed


@each
def test_a_drawing_is_fit_to_print_and_touches_nothing(name: str) -> None:
    plt.close("all")
    frame, settings = taken(name), dict(mpl.rcParams)
    before = frame.copy() if isinstance(frame, Frame) else None
    made, _ = picture(name)  # the first check that asks for it, so that it is drawn here
    if before is not None:
        pd.testing.assert_frame_equal(frame, before)
    assert plt.get_fignums() == []
    assert dict(mpl.rcParams) == settings
    scheme = name == "cbdrf/fig1"  # no axes; its boxes hold words
    words_fit(made, made.axes[0].texts if scheme else None)
    if not scheme:
        apart(made)
    visible(made, lines=not name.startswith(("dmfa_srq", "foundations")), faint=("DRF",) if scheme else ())


# ------------------------------------------------------------------------------------- curves are those of the frame


def each_machine(frame: Frame) -> list[Frame]:
    vms = frame[frame["measure"] == "tasks"]
    values = ["mean", "low", "high"]
    return parts(vms, mix=("paper", "random")) + parts(
        vms.assign(**vms[values].div(vms["machines"], axis=0)), mix=("paper", "random")
    )


def grid(*measures: str) -> Callable[[Frame], list[Frame]]:
    return lambda frame: [
        part[part["mechanism"] != "difference"]
        for part in parts(
            frame, measure=measures, unserved=dict.fromkeys(frame["unserved"]), n=dict.fromkeys(frame["n"])
        )
    ]


def enough(frame: Frame, most: int | None = None) -> Frame:
    """Means over ten runs or more; a part of the runs lies between 0 and 1, and so does its interval."""
    frame = frame[(frame["runs"] >= min(10, most or frame["runs"].max())) & frame["mean"].notna()]
    part = frame["measure"] == "everybody"
    return frame.assign(
        low=frame["low"].where(~part, frame["low"].clip(0, 1)),
        high=frame["high"].where(~part, frame["high"].clip(0, 1)),
    )


def by_size(measure: str, *sizes: str) -> Callable[[Frame], list[Frame]]:
    def cut(frame: Frame) -> list[Frame]:
        frame = enough(frame)[enough(frame)["method"].isin(vc._SHOWN)]
        frame = frame.assign(demand=30.0 * frame["users"])
        return parts(frame, measure=[measure], variance=["variance"], size=sizes)

    return cut


#: Horizontal axis, column that tells curves apart, and the part of the frame in each panel.
CURVES: dict[str, tuple[str, str, Callable[[Frame], list[Frame]]]] = {
    "cbdrf/comparison": (
        "defectors",
        "mechanism",
        lambda frame: parts(frame, measure=("utilisation", "complying", "defecting"), held=("returns", "stays")),
    ),
    "dmfa_srq/fig5": (
        "n",
        "mechanism",
        lambda frame: parts(
            frame[(frame["mechanism"] != "difference") & (frame["k"] == frame["n"])],
            measure=dict.fromkeys(frame["measure"]),
        ),
    ),
    "gdrf/fig1": ("machines", "mechanism", each_machine),
    **{
        f"gdrf/{name}": (
            "machines",
            "mechanism",
            lambda frame, measures=measures: parts(frame, measure=measures, mix=("paper", "random")),
        )
        for name, measures in {
            "fig2": ("cpu", "cpu_mean"),
            "fig3": ("memory", "memory_mean"),
            "fig4": ("fairness", "fairness_whole"),
        }.items()
    },
    "tv_drf/curves": (
        "period",
        "mechanism",
        lambda panels: [part[part["mechanism"].isin(("tv_drf", "alone"))] for part in panels.values()],
    ),
    "tv_drf/comparison": ("period", "mechanism", grid("min_share", "behind", "memory")),
    "virtual_cluster/fig2": ("demand", "method", by_size("y", "small", "large")),
    "virtual_cluster/fig3": ("demand", "method", by_size("remaining", "small", "large")),
    "virtual_cluster/fig4": ("demand", "method", by_size("y", "large")),
    "virtual_cluster/fig5": ("demand", "method", by_size("remaining", "large")),
    "virtual_cluster/gains": (
        "load",
        "method",
        lambda frame: parts(
            enough(frame)[~enough(frame)["method"].isin(["relaxation", "bound"])],
            measure=["gain"],
            variance=["variance"],
            size=("small", "large"),
        ),
    ),
    "virtual_cluster/spread": (
        "load",
        "method",
        lambda frame: parts(
            frame[frame["sd"].notna() & frame["method"].isin(("relaxation", "greedy", "mixed_knapsack"))].assign(
                mean=frame["sd"], low=frame["sd_low"], high=frame["sd_high"]
            ),
            variance=["variance"],
            size=("small", "large"),
        ),
    ),
    "virtual_cluster/price": ("per_cluster", "method", lambda frame: [frame[frame["method"] != "guaranteed"]]),
    "virtual_cluster/tariffs": (
        "load",
        "statement",
        lambda frame: parts(enough(frame), measure=("revenue", "min_fraction", "hurt")),
    ),
}
OWN = {"virtual_cluster/tariffs": vc._STATED, "dmfa_srq/fig5": dmfa._LOOK}


@pytest.mark.parametrize("name", CURVES)
def test_curves_are_those_of_the_frame(name: str) -> None:
    x, key, cut = CURVES[name]
    for panel, part in zip(figure(name).axes, cut(taken(name)), strict=True):
        curves_are(panel, part, x, key, OWN.get(name, LOOKS))


#: What each panel draws of the frame: what its rows have in common (or what tells the panels apart), and its height.
PANELS = list[tuple[dict[str, Any], str]] | tuple[str, str]
#: Drawings of lines: the panels, what tells the lines of a panel apart, and what goes to the right.
LINES: dict[str, tuple[PANELS, str, str]] = {
    **{f"cbdrf/{name}": ([({}, "ratio")], "resource", "phase") for name in ("fig2", "fig3")},
    "cbdrf/nodes": ([({"resource": "CPU"}, "ratio")], "node", "phase"),
    "dmfa_srq/fig2": (("n", "memory"), "n", "cpu"),
    "foundations/plane": ([({}, "y")], "part", "x"),
    "foundations/course": (("kind", "value"), "name", "water"),
    "tv_drf/memory_course": (
        [({"mechanism": name}, value) for value in ("share", "tasks") for name in ("tv_drf", "memoryless")],
        "user",
        "period",
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_lines_are_rows_of_the_frame(name: str) -> None:
    (panels, by, x), frame = LINES[name], taken(name)
    if isinstance(panels, tuple):
        panels = [({panels[0]: one}, panels[1]) for one in dict.fromkeys(frame[panels[0]])]
    for panel, (chosen, y) in zip(figure(name).axes[: len(panels)], panels, strict=True):
        part = frame[(frame[list(chosen)] == pd.Series(chosen)).all(axis=1)]
        groups = [rows[[x, y]] for _, rows in part.groupby(by, sort=False)]
        for line, rows in zip(panel.lines[: len(groups)], groups, strict=True):
            np.testing.assert_array_equal(line.get_xydata(), rows)


# ------------------------------------------------------------------------------------------------ what papers print

#: The cell that draws each figure of a page, by its label.
CELLS = {
    cell.metadata["mystnb"]["figure"]["name"]: (path.parent.name, cell.source)
    for path in execute.pages()
    for cell in execute.unexecuted(path.read_text("utf8")).cells
    if "figure" in cell.metadata.get("mystnb", {})
}


@pytest.mark.parametrize("name", claims.printed())
def test_a_printed_figure_is_drawn_with_its_quantity_and_all_its_curves(name: str) -> None:
    """Each curve is named, in all its parts, in a panel with the printed axes; stated numbers are marks."""
    entry = claims.printed()[name]
    if entry["drawn"].startswith("alg-"):
        text = (ROOT / "book" / entry["paper"] / "story.md").read_text("utf8")
        steps = text.split(f":label: {entry['drawn']}\n")[1].split("\n:::")[0]
        assert re.findall(r"^(\d+)\. ", steps, re.MULTILINE) == entry["curves"]
        return
    paper, source = CELLS[entry["drawn"]]
    (function,) = re.findall(r"^draw\.(\w+)\(", source, re.MULTILINE)
    made = figure(f"{paper}/{function}")
    panels = [told(made, panel) for panel in made.axes]
    ways = np.atleast_1d(entry.get("y", ""))
    fits = [words for x, y, words in panels if entry.get("x", "") in x and any(way in y for way in ways)]
    for curve in entry["curves"]:
        assert any(all(part in words for part in curve.split(", ")) for words in fits), curve
    assert [number for number in entry["states"] if number not in " ".join(fits)] == []


# ------------------------------------------------------------------------------------------------------ comparison


@pytest.mark.parametrize(
    ("name", "measures"),
    {
        "shares": ("min_share", "min_placed", "sum_share"),
        "use": ("utilisation", "placed"),
        "envy": ("envious", "losers", "loss"),
        "lying": ("paying", "gain"),
        "arrivals": ("taken",),
        "day": ("min_share", "loss", "done"),
    }.items(),
)
def test_every_number_is_where_its_mechanism_is(name: str, measures: tuple[str, ...]) -> None:
    panels = figure(f"compare/{name}").axes
    heads = zip(panels[0].get_yticks(), panels[0].get_yticklabels(), strict=True)
    written = ((y, one) for y, head in heads for one in re.split(r";\s", head.get_text()))
    places = {" ".join(label.split()): round(y, 6) for y, label in written}  # long names are broken
    assert set(places) == {one.label for one in ENTRANTS.values()}
    for panel, measure in zip(panels, measures, strict=True):
        part = style.of_measure(taken(f"compare/{name}"), measure).dropna(subset=["mean"])
        texts = {(x, round(y, 6)): text.get_text() for text in panel.texts for x, y in [text.get_position()]}
        shades = {(bar.get_x() + 0.5, round(bar.get_y() + 0.5, 6)): sum(bar.get_facecolor()) for bar in panel.patches}
        found = [
            (list(compare.TRACES).index(one.trace), places[ENTRANTS[one.mechanism].label]) for one in part.itertuples()
        ]
        assert set(found) == set(texts) == set(shades)
        for where, mean in zip(found, 100 * part["mean"], strict=True):
            assert float(texts[where] or 0) == pytest.approx(mean, abs=0.0501 if mean < 19.9 else 0.501)
            assert (texts[where] == "") == (mean < 0.05)  # zeros are blank
        order = np.argsort(part["mean"].to_numpy(), kind="stable")
        assert (np.diff([shades[found[k]] for k in order]) <= 0.02).all()  # the more, the darker


# ------------------------------------------------------------------------------------------ DMFA-SRQ, foundations


def test_levels_never_fall() -> None:
    (panel,) = figure("dmfa_srq/levels").axes
    steps = [np.asarray(line.get_ydata(), dtype=float) for line in panel.lines if line.get_drawstyle() != "default"]
    assert all((np.diff(drawn[~np.isnan(drawn)]) >= 0).all() for drawn in steps)
    assert len(steps) == 30
    np.testing.assert_array_equal(panel.lines[-1].get_ydata(), thirty().lowest)


# ------------------------------------------------------------------------------------------------------------ GDRF


def test_readings_of_gdrf_are_dots() -> None:
    frame = taken("gdrf/readings")
    for panel, measure in zip(figure("gdrf/readings").axes, ("tasks", "fairness"), strict=True):
        marks = [line.get_xydata() for line in panel.lines if line.get_marker() != "None"]
        found = np.concatenate(marks)
        places = frame["against"].map(list(dict.fromkeys(frame["against"])).index)
        assert sorted(found[:, 0]) == sorted(frame[measure])
        assert sorted(found[:, 1].round()) == sorted(places)


# ------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        *(
            (lambda column=column: compare.shares(stored("compare/moment").assign(**{column: "nonsense"})), "frame")
            for column in ("trace", "mechanism", "measure")
        ),
        (lambda: gdrf.fig2(stored("gdrf/curves").query("measure == 'tasks'")), "measure cpu"),
        (lambda: gdrf.cell_machines(stored("gdrf/cell_machines"), "floats"), "case"),
        (lambda: vc.fig2(clusters("small").query("measure == 'ratio'")), "measure y"),
        (lambda: vc.fig3(clusters("small"), "both"), "variance"),
        (lambda: vc.gains(stored("virtual_cluster/curves"), "both"), "variance"),
        (lambda: vc.spread(stored("virtual_cluster/spread"), "both"), "variance"),
    ],
)
def test_frames_that_are_not_meant_are_refused(call: Callable[[], object], rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        call()


# ------------------------------------------------------------------------------------------------------- the style


def test_mechanisms_look_different_in_every_way() -> None:
    assert {"dmfa_srq", "static"} <= set(LOOKS)
    for field in ("label", "colour", "marker"):
        assert len({getattr(look, field) for look in LOOKS.values()}) == len(LOOKS)
    lines = [look.line for key, look in LOOKS.items() if key != "difference"]
    assert len(set(lines)) == len(lines)
    for look in [*LOOKS.values(), *vc._STATED.values()]:
        assert look.colour in style.COLOURS.values()
        assert contrast(look.colour, "white") >= 3, look
