"""The drawings of the cbDRF chapter: what they show, the same bytes each time, and fit to print."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from book.cbdrf import figures as draw
from book.cbdrf import studies as study
from book.common import style
from tests.drawings import Drawings, box, legends, notes, overlap

COUNTS = (0, 1, 5, 9)


@cache
def comparison() -> pd.DataFrame:
    return study.comparison(2, defectors=COUNTS)


@cache
def hoarding() -> pd.DataFrame:
    return study.hoarding(2, hoarders=COUNTS)


@cache
def operator() -> pd.DataFrame:
    return study.operator(steps=(0.02, 0.1, 0.5, 1.0))


#: Every drawing, as the page calls it, with fewer runs.
DRAWINGS: dict[str, Callable[[], style.Svg]] = {
    "fig1": lambda: draw.fig1(study.fig1()),
    "fig2": lambda: draw.fig2(study.fig2(5)),
    "fig3": lambda: draw.fig3(study.fig3(5)),
    "fig4": lambda: draw.fig4(study.fig4(5)),
    "fig5": lambda: draw.fig5(study.fig5(5)),
    "nodes": lambda: draw.nodes(study.fig5(5)),
    "blanks": lambda: draw.blanks(study.blanks()),
    "comparison": lambda: draw.comparison(comparison()),
    "hoarding": lambda: draw.hoarding(hoarding()),
    "operator": lambda: draw.operator(operator()),
}
CHARTS = [name for name in DRAWINGS if name != "fig1"]
each = pytest.mark.parametrize("name", DRAWINGS)
chart = pytest.mark.parametrize("name", CHARTS)
held = Drawings(DRAWINGS, draw)
svg, ready = held.svg, held.ready


# --------------------------------------------------------------------------------------------------------- bytes


def test_every_drawing_is_checked() -> None:
    held.are_all()


@each
def test_the_same_bytes_each_time(name: str) -> None:
    held.same_each_time(name)


def test_settings_of_the_caller_neither_count_nor_change() -> None:
    names = ["fig1", "fig3", "fig5", "nodes", "blanks", "comparison", "hoarding"]
    held.same_with_other_settings(names)


def test_nothing_else_is_touched() -> None:
    frames = {"fig1": study.fig1(), "fig3": study.fig3(2), "fig5": study.fig5(2), "nodes": study.fig5(2),
              "blanks": study.blanks(), "comparison": comparison(), "hoarding": hoarding(), "operator": operator()}
    held.touch_nothing(frames)


# --------------------------------------------------------------------------------------------------------- words


@chart
def test_titles_are_outside_and_axes_are_labelled(name: str) -> None:
    figure = DRAWINGS[name]().figure
    assert figure.get_suptitle() == ""
    below = [panel for panel in figure.axes if panel.get_subplotspec().is_last_row()]
    assert all(panel.get_xlabel() for panel in below)
    assert figure.axes[0].get_ylabel()
    for panel in figure.axes:
        assert [panel.get_title(loc=where) for where in ("left", "center", "right")] == ["", "", ""]
        for label in filter(None, (panel.get_xlabel(), panel.get_ylabel())):
            words = re.sub(r"\$[^$]*\$", "", label).split()
            assert all(word == word.lower() or word.strip("(,") in ("CPU", "DRF") for word in words), label
            assert re.search(r"\$.+\$|\(.+\)", label), label  # a symbol or a unit


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("fig2", ["cbDRF, CPU", "cbDRF, memory", "DRF"]),
        ("fig3", ["cbDRF, CPU", "cbDRF, memory", "DRF", "cbDRF, granted", "withheld"]),
        ("fig4", ["DRF", "cbDRF, granted", "withheld"]),
        ("fig5", ["DRF", "cbDRF, granted", "withheld"]),
        ("nodes", ["node A", "node B"]),
        ("blanks", ["0.1", "0.05", "0.2", "0.5", "0.1", "0.02", "0.05", "0.3", "none", "1.2", "1", "0", "0.3", "0.6"]),
        ("comparison", ["DRF", "cbDRF", "cbDRF, weighted", "cbDRF, capped"]),
        ("hoarding", ["DRF", "cbDRF", "cbDRF, weighted", "cbDRF, capped", "Karma"]),
        ("operator", [*(rf"$\varepsilon^{{\prime}}\,/\,\varepsilon={k}$" for k in (1, 2, 5, 10)),
                      *(rf"$\rho={rho}$, $\delta={delta}$" for rho, delta in
                        ((0.75, 0.99), (0.5, 0.99), (0.9, 0.99), (0.75, 0.9))),
                      "cbDRF", "cbDRF, weighted", "cbDRF, capped"]),
    ],
)
def test_legends_name_what_is_drawn(name: str, labels: list[str]) -> None:
    assert [text.get_text() for legend in legends(DRAWINGS[name]().figure) for text in legend.get_texts()] == labels


def test_panels_are_named() -> None:
    def told(name: str) -> list[str]:
        return notes(DRAWINGS[name]().figure)

    assert told("fig5") == ["node 1, which complies"] * 2 + ["node 2, which never releases enough"] * 2
    assert told("fig4") == [f"node {k}, which never releases enough" for k in (1, 1, 2, 2)]
    assert told("comparison") == ["what is held returns", "what is held stays"]
    assert told("hoarding") == ["what hoarders hold returns", "what hoarders hold stays", "hoarders release all"]
    assert [note.split(";")[0] for note in told("blanks")] == ["step down", "step up", "cap", "floor"]
    assert told("operator") == ["steps", "threshold and patience", "grant"]


# ------------------------------------------------------------------------------------------------- what is drawn


def test_figure_1_tells_the_run() -> None:
    (panel,) = DRAWINGS["fig1"]().figure.axes
    words = "\n".join(text.get_text().replace("\n", " ") for text in panel.texts)
    for piece in ("25 CPU, 500 memory", "10 tasks", r"$1\times 10$ = 10 tasks", "5 of 10 tasks released: 0.5",
                  "$0.5<0.75$: no", "$1-0.1$ = 0.9", "C_0)=0.9$", r"$0.9\times 5$ = 4.5 tasks", "4.5 of 4.5",
                  r"$1\geq0.75$: yes", "$0.9+0.1$ = 1", "C_0)=1$", "phase 1", "phase 2", "phase 3"):
        assert piece in words, piece
    boxes = [patch for patch in panel.patches if isinstance(patch, mpl.patches.FancyBboxPatch)]
    assert len(boxes) == 12


def test_figure_1_follows_its_frame() -> None:
    frame = study.fig1().assign(tasks=[7.0, 2.0])
    (panel,) = draw.fig1(frame).figure.axes
    words = " ".join(text.get_text() for text in panel.texts)
    assert "= 7 tasks" in words
    assert "= 2 tasks" in words


@pytest.mark.parametrize(("name", "last"), [("fig2", 0.1), ("fig3", 0.9)])
def test_both_resources_are_drawn_and_coincide(name: str, last: float) -> None:
    panel = DRAWINGS[name]().figure.axes[0]
    cpu, memory, whole = panel.lines
    np.testing.assert_array_equal(cpu.get_xydata(), memory.get_xydata())
    assert cpu.get_ydata()[-1] == pytest.approx(last)
    assert set(whole.get_ydata()) == {1}
    assert cpu.get_markersize() > memory.get_markersize()
    assert cpu.get_markerfacecolor() == "none"


@pytest.mark.parametrize("name", ["fig3", "fig4", "fig5"])
def test_amounts_are_those_of_the_frame(name: str) -> None:
    frame = getattr(study, name)(5)
    panels = DRAWINGS[name]().figure.axes[1 if name == "fig3" else 0:]
    wanted = [("CPU", 1), ("memory", 1000)] * (len(panels) // 2)
    for place, (panel, (resource, unit)) in enumerate(zip(panels, wanted, strict=True)):
        part = frame[(frame["resource"] == resource) & (frame["node"] == place // 2 + 1)]
        for line, column in zip(panel.lines, ("drf", "granted"), strict=True):
            np.testing.assert_allclose(line.get_ydata(), part[column] / unit, rtol=1e-14)
        if name != "fig3":
            assert f"{part['ratio'].iloc[-1]:.0%}" in [text.get_text() for text in panel.texts]


def test_blanks_are_those_of_the_frame() -> None:
    frame = study.blanks()
    for panel, (_, part) in zip(DRAWINGS["blanks"]().figure.axes, frame.groupby("blank", sort=False), strict=True):
        for line, (value, rows) in zip(panel.lines, part.groupby("value", sort=False), strict=True):
            np.testing.assert_array_equal(line.get_xydata(), rows[["phase", "ratio"]])
            assert line.get_label() == value
            assert (to_hex(line.get_color()).upper() == style.COLOURS["wine"]) == rows["paper"].iloc[0]


@pytest.mark.parametrize(("name", "measures", "count"), [("comparison", ("utilisation", "complying", "defecting"),
                                                          "defectors"),
                                                         ("hoarding", ("useful", "honest", "switch"), "hoarders")])
def test_mechanisms_have_their_own_looks_and_numbers(name: str, measures: tuple[str, ...], count: str) -> None:
    frame = {"comparison": comparison, "hoarding": hoarding}[name]()
    panels = iter(DRAWINGS[name]().figure.axes)
    cases: tuple[dict[str, str], ...] = ({"held": "returns"}, {"held": "stays"})
    if name == "hoarding":
        cases = (*({**case, "conduct": "holds"} for case in cases), {"conduct": "releases"})
    assert len(DRAWINGS[name]().figure.axes) == len(cases) * len(measures)
    for case in cases:
        rows = frame[np.all([frame[column] == value for column, value in case.items()], axis=0)]
        for measure in measures:
            panel = next(panels)
            for line, band, mechanism in zip(panel.lines, panel.collections, dict.fromkeys(frame["mechanism"])):
                part = rows[(rows["measure"] == measure) & (rows["mechanism"] == mechanism)]
                np.testing.assert_array_equal(line.get_xydata(), part[[count, "mean"]])
                heights = band.get_paths()[0].vertices[:, 1]
                assert heights.min() == pytest.approx(part["low"].min())
                assert heights.max() == pytest.approx(part["high"].max())
                look = style.LOOKS[mechanism]
                assert (line.get_color(), line.get_marker(), line.get_label()) == (look.colour, look.marker, look.label)
                low, high = panel.get_ylim()
                assert ((low <= part["mean"]) & (part["mean"] <= high)).all()


def test_operator_marks_the_paper_and_draws_both_sources() -> None:
    frame = operator()
    panels = DRAWINGS["operator"]().figure.axes
    paper = frame.query("grant == 'scaled' and rho == 0.75 and discount == 0.99 and ratio == 1 and step_down == 0.1")
    assert len(paper) == 2
    for panel in panels:
        ring = panel.lines[-1]
        assert ring.get_xydata()[0] == pytest.approx([0.1, paper["worth"].mean()], rel=1e-9)
        assert panel.get_xscale() == "log"
        assert panel.get_ylim() == (0, 1)
    assert "default" in [text.get_text() for text in panels[0].texts]
    lines = [line for line in panels[0].lines if len(line.get_xdata()) > 10]
    dots = [line for line in panels[0].lines if line.get_linestyle() == "None" and line.get_marker() != "o"]
    assert len(lines) == 4
    assert len(dots) == 3
    for line, ratio in zip(lines, (1, 2, 5, 10), strict=True):
        part = frame.query("grant == 'scaled' and rho == 0.75 and discount == 0.99 and source == 'closed form'"
                           f" and ratio == {ratio}")
        np.testing.assert_array_equal(line.get_xdata(), part["step_down"])
        drawn = np.asarray(part["worth"]) < 1
        np.testing.assert_array_equal(line.get_ydata()[drawn], part["worth"][drawn])


# ------------------------------------------------------------------------------------------------ fit to be printed


@each
def test_no_text_is_cut_off_or_lies_on_another(name: str) -> None:
    held.words_fit(name, ready(name).axes[0].texts if name == "fig1" else None)  # the axes of fig1 are off


def test_the_boxes_of_figure_1_hold_their_words() -> None:
    figure = ready("fig1")
    (panel,) = figure.axes
    boxes = [patch.get_window_extent() for patch in panel.patches if isinstance(patch, mpl.patches.FancyBboxPatch)]
    held = 0
    for text in panel.texts:
        around = [one for one in boxes if one.contains(*((box(text).p0 + box(text).p1) / 2))]
        for one in around:
            held += 1
            assert one.x0 <= box(text).x0, text
            assert box(text).x1 <= one.x1, text
            assert one.y0 <= box(text).y0, text
            assert box(text).y1 <= one.y1, text
    assert held == 12


@chart
def test_no_legend_covers_data(name: str) -> None:
    figure = ready(name)
    for legend in legends(figure):
        area = legend.get_window_extent()
        for panel in figure.axes:
            if legend in figure.legends or name in ("blanks", "operator"):
                assert not overlap(area, panel.get_window_extent())
            if legend is not panel.get_legend():
                continue
            for line in panel.lines:
                points = line.get_transform().transform(np.column_stack(line.get_data()).astype(float))
                for a, b in zip(points[:-1], points[1:], strict=True):
                    assert not any(area.contains(x, y) for x, y in a + np.linspace(0, 1, 50)[:, None] * (b - a)), line


@each
def test_everything_can_be_seen_on_white(name: str) -> None:
    held.seen_on_white(name, ["DRF"] if name == "fig1" else ())
