"""The drawings: in the book's style wherever they are called, the same bytes each time, and fit to print."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Text

import fairbook as fb
from book.common import style
from book.common.runs import stream
from book.dmfa_srq import figures as draw
from book.dmfa_srq import studies as study
from book.foundations import figures as foundations
from book.foundations import studies as groundwork
from tests.drawings import Drawings, box, contrast, overlap


@cache
def curves() -> pd.DataFrame:
    return study.curves(12)


def measured(measure: str) -> pd.DataFrame:
    frame = curves()
    return frame[frame["measure"] == measure].drop(columns="measure")


def thirty() -> fb.DynamicAllocation:
    return fb.dmfa_srq(*study.instance(stream(2016, 30, 0), 30))


def two() -> fb.Allocation:
    demands = pd.DataFrame([[1, 4], [3, 1]], index=["ann", "bob"], columns=["cpu", "memory"])
    return fb.drf(demands, capacities=[9, 18])


#: Every drawing, as the pages call it.
DRAWINGS: dict[str, Callable[[], style.Svg]] = {
    "fig1": lambda: draw.fig1(study.fig1()),
    "fig2": lambda: draw.fig2(study.fig2()),
    "fig3": lambda: draw.fig3(study.fig3(12)),
    "fig4": lambda: draw.fig4(study.fig4(12)),
    "fig5": lambda: draw.fig5(measured("min_level")),
    "fig6": lambda: draw.fig6(measured("sum_shares")),
    "fig7": lambda: draw.fig7(measured("cpu")),
    "fig8": lambda: draw.fig8(measured("memory")),
    "gap": lambda: draw.gap(study.end_points(curves())),
    "levels": lambda: draw.levels(thirty()),
    "water": lambda: draw.water(fb.dmfa_srq([[1, 0.5], [0.5, 1], [0.5, 1]], [3, 3, 6]), steps=[1, 2, 3], resource=1),
    "pools": lambda: foundations.pools(groundwork.shares({"DRF": two(), "again": two()})),
    "plane": lambda: foundations.plane(groundwork.plane(two())),
    "course": lambda: foundations.course(groundwork.course(two())),
}
PAPER = [name for name in DRAWINGS if name in draw.__all__]
each = pytest.mark.parametrize("name", DRAWINGS)
held = Drawings(DRAWINGS, draw, foundations)
svg, ready = held.svg, held.ready


# --------------------------------------------------------------------------------------------------------- bytes


def test_every_drawing_is_checked() -> None:
    held.are_all()


@each
def test_the_same_bytes_each_time(name: str) -> None:
    held.same_each_time(name)
    assert repr(DRAWINGS[name]()) == "<figure>"


def test_the_same_bytes_in_another_process() -> None:
    """One chapter stands for all; the stored notebooks hold the drawings of every chapter, each by its own process."""
    held.same_elsewhere(__name__, ["fig1", "fig3", "fig5", "gap", "levels", "water", "pools", "course"])


def test_settings_of_the_caller_neither_count_nor_change() -> None:
    held.same_with_other_settings(["fig1", "fig3", "fig5", "gap", "levels", "water", "pools", "course"])


@each
def test_pyplot_knows_nothing_of_it(name: str) -> None:
    plt.close("all")
    DRAWINGS[name]()._repr_svg_()
    assert plt.get_fignums() == []


@pytest.mark.parametrize("name", ["fig1", "fig2", "fig3", "fig5", "gap"])
def test_the_frame_is_left_as_it_was(name: str) -> None:
    frames = {"fig1": study.fig1, "fig2": study.fig2, "fig3": lambda: study.fig3(2), "gap": curves}
    frame = frames.get(name, lambda: measured("min_level"))()
    before = frame.copy()
    getattr(draw, name)(frame)
    pd.testing.assert_frame_equal(frame, before)


# --------------------------------------------------------------------------------------------------------- words


@each
def test_titles_are_outside_and_axes_are_labelled(name: str) -> None:
    figure = DRAWINGS[name]().figure
    assert figure.get_suptitle() == ""
    for panel in figure.axes:
        assert [panel.get_title(loc=where) for where in ("left", "center", "right")] == ["", "", ""]
        assert panel.get_xlabel()
    assert any(panel.get_ylabel() for panel in figure.axes) or name == "pools"
    for panel in figure.axes:
        for label in filter(None, (panel.get_xlabel(), panel.get_ylabel())):
            words = re.sub(r"\$[^$]*\$", "", label).split()
            assert all(word == word.lower() or word in ("CPU", "DMFA-SRQ") for word in words), label


@pytest.mark.parametrize("name", PAPER)
def test_labels_carry_a_symbol_or_a_unit(name: str) -> None:
    for panel in DRAWINGS[name]().figure.axes:
        for label in filter(None, (panel.get_xlabel(), panel.get_ylabel())):
            assert re.search(r"\$.+\$|\(.+\)|per unit|minus", label), label


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("fig1", ["user 1", "user 2", "user 3"]),
        ("fig3", ["DMFA-SRQ, mean of 12 runs", "DMFA-SRQ, first run alone", "contribution, $x = w$"]),
        ("fig5", ["DMFA-SRQ", "static weighted DRF", "what was brought"]),
        *((name, ["DMFA-SRQ", "static weighted DRF"]) for name in ("fig6", "fig7", "fig8")),
        ("levels", ["lowest level $M^k$"]),
        ("water", ["lowest level $M^k$"]),
    ],
)
def test_legends_name_what_is_drawn(name: str, labels: list[str]) -> None:
    figure = DRAWINGS[name]().figure
    legends = [*figure.legends, *(panel.get_legend() for panel in figure.axes if panel.get_legend())]
    assert [text.get_text() for legend in legends for text in legend.get_texts()] == labels


def test_panels_are_named() -> None:
    for name in ("fig5", "fig6", "fig7", "fig8"):
        notes = [panel.texts[0].get_text() for panel in DRAWINGS[name]().figure.axes]
        assert notes == ["$n = 20$", "$n = 100$", "$n = 500$"]


# ------------------------------------------------------------------------------------------------- what is drawn


def test_figure_1_shows_the_shares() -> None:
    (panel,) = DRAWINGS["fig1"]().figure.axes
    bars = sorted((round(bar.get_x() + bar.get_width() / 2), bar.get_x(), bar.get_height()) for bar in panel.patches)
    np.testing.assert_allclose([height for _, _, height in bars], [1 / 4, 1 / 3, 1 / 3, 1 / 3, 1 / 3, 1 / 2])
    assert sorted(text.get_text() for text in panel.texts) == ["1/2", "1/3", "1/3", "1/3", "1/3", "1/4"]


def test_figure_2_shows_every_user_on_one_scale() -> None:
    left, right = DRAWINGS["fig2"]().figure.axes
    assert [len(panel.lines[0].get_xdata()) for panel in (left, right)] == [100, 500]
    assert left.get_xlim() == right.get_xlim()
    assert left.get_ylim() == right.get_ylim()


@pytest.mark.parametrize(("name", "measure"), list(zip(("fig5", "fig6", "fig7", "fig8"), study.MEASURES, strict=True)))
def test_curves_show_means_and_intervals(name: str, measure: str) -> None:
    frame = measured(measure)
    for panel, n in zip(DRAWINGS[name]().figure.axes, study.SIZES, strict=True):
        for line, band, mechanism in zip(panel.lines[:2], panel.collections, ("dynamic", "static"), strict=True):
            part = frame[(frame["n"] == n) & (frame["mechanism"] == mechanism)]
            np.testing.assert_array_equal(line.get_xydata(), part[["k", "mean"]])
            heights = band.get_paths()[0].vertices[:, 1]
            assert heights.min() == part["low"].min()
            assert heights.max() == part["high"].max()


def test_gap_shows_the_differences() -> None:
    ends = study.end_points(curves()).query("mechanism == 'difference'")
    for panel, measure in zip(DRAWINGS["gap"]().figure.axes, study.MEASURES, strict=True):
        part = ends[ends["measure"] == measure].sort_values("n")
        np.testing.assert_array_equal(panel.lines[0].get_ydata(), part["mean"])
        assert [tick.get_text() for tick in panel.get_xticklabels()] == ["20", "100", "500"]


def test_water_is_what_is_in_use() -> None:
    run = fb.dmfa_srq([[1, 0.5], [0.5, 1], [0.5, 1]], [3, 3, 6])
    for panel, k in zip(draw.water(run, [1, 2, 3], 1).figure.axes, (1, 2, 3), strict=True):
        area = sum(bar.get_width() * bar.get_height() for bar in panel.patches)
        assert area == pytest.approx(run.use_at(k)[1])
        assert [bar.get_height() for bar in panel.patches] == pytest.approx(run.levels_at(k))


def test_levels_never_fall() -> None:
    (panel,) = DRAWINGS["levels"]().figure.axes
    for line in panel.lines:
        if line.get_drawstyle() != "default":
            drawn = np.asarray(line.get_ydata(), dtype=float)
            assert (np.diff(drawn[~np.isnan(drawn)]) >= 0).all()
    np.testing.assert_array_equal(panel.lines[-1].get_ydata(), thirty().levels)


# ------------------------------------------------------------------------------------------------ fit to be printed


@each
def test_no_text_is_cut_off_or_lies_on_another(name: str) -> None:
    held.words_fit(name)


@each
def test_no_legend_covers_data(name: str) -> None:
    figure = ready(name)
    legends = [*figure.legends, *(panel.get_legend() for panel in figure.axes if panel.get_legend())]
    for legend in legends:
        area = legend.get_window_extent()
        for panel in figure.axes:
            if legend in figure.legends:
                assert not overlap(area, panel.get_window_extent())
            for line in panel.lines:
                points = line.get_transform().transform(
                    np.column_stack([line.get_xdata(), line.get_ydata()]).astype(float)
                )
                for a, b in zip(points[:-1], points[1:], strict=True):
                    course = a + np.linspace(0, 1, 50)[:, None] * (b - a)
                    assert not any(area.contains(x, y) for x, y in course if np.isfinite([x, y]).all()), line
            for bar in panel.patches:
                assert not overlap(area, bar.get_window_extent())


def test_colours_are_those_of_okabe_and_ito() -> None:
    published = {
        "black": (0, 0, 0), "orange": (230, 159, 0), "sky": (86, 180, 233), "green": (0, 158, 115),
        "yellow": (240, 228, 66), "blue": (0, 114, 178), "vermilion": (213, 94, 0), "purple": (204, 121, 167),
    }  # fmt: skip
    assert {name: style.COLOURS[name] for name in published} == {
        name: to_hex([c / 255 for c in rgb]).upper() for name, rgb in published.items()
    }
    further = {"grey", "wine", "indigo", "ochre", "cobalt", "rose", "lilac", "brown", "flame", "pine", "azure", "plum",
               "violet", "clay", "royal", "rust", "leaf", "marine", "orchid", "grape", "ink", "soot"}
    assert set(style.COLOURS) == {*published, *further}


def test_mechanisms_look_different_in_every_way() -> None:
    looks = style.LOOKS
    assert {"dmfa_srq", "static"} <= set(looks)
    for field in ("label", "colour", "marker"):
        assert len({getattr(look, field) for look in looks.values()}) == len(looks)
    lines = [look.line for key, look in looks.items() if key != "difference"]
    assert len(set(lines)) == len(lines)
    for look in looks.values():
        assert look.colour in style.COLOURS.values()
        assert contrast(look.colour, "white") >= 3, look


def test_numbers_in_drawings() -> None:
    assert [style.percent(value, 0) for value in (-0.025, 0.3, 0.07)] == ["\N{MINUS SIGN}2.5", "30", "7"]
    assert [style.number(value) for value in (12583, -0.5, 1e6)] == ["12 583", "\N{MINUS SIGN}0.5", "1 000 000"]


@each
def test_text_can_be_read(name: str) -> None:
    figure = ready(name)
    assert to_hex(figure.get_facecolor()) == "#ffffff"
    for panel in figure.axes:
        assert to_hex(panel.get_facecolor()) == "#ffffff"
    for text in figure.findobj(Text):
        if not text.get_text().strip():
            continue
        ground = "#ffffff"
        middle = box(text)
        for panel in figure.axes:
            for bar in panel.patches:
                if bar.get_window_extent().contains((middle.x0 + middle.x1) / 2, (middle.y0 + middle.y1) / 2):
                    ground = to_hex(bar.get_facecolor())
        assert contrast(to_hex(text.get_color()), ground) >= 4.5, (text, ground)


# --------------------------------------------------------------------------------------- the checks can fail, too


def _plain(change: Callable[[mpl.axes.Axes], object]) -> Drawings:
    """Give a drawing of three panels that is without fault but for a change to the first."""

    def drawn() -> style.Svg:
        figure, panels = style.axes(1, 3)
        change(panels[0])
        return style.Svg(figure)

    return Drawings({"one": drawn})


@pytest.mark.parametrize(("check", "change"), [
    ("words_fit", lambda panel: panel.figure.text(0.95, 0.5, "cut off at the edge")),
    ("words_fit", lambda panel: [panel.text(0.2, 0.5, word) for word in ("one", "other")]),
    ("words_fit", lambda panel: panel.text(0.2, 0.5, "small", fontsize=7)),
    ("words_fit", lambda panel: (panel.text(0.4, 0.5, "below"), panel.plot([0, 1], label="x"),
                                 panel.legend(loc="center"))),
    ("panels_apart", lambda panel: (panel.plot([0, 1], label="x"), panel.legend())),
    ("panels_apart", lambda panel: panel.figure.add_axes((0.2, 0.2, 0.5, 0.5))),
    ("seen_on_white", lambda panel: panel.plot([0, 1], color=style.COLOURS["yellow"])),
    ("seen_on_white", lambda panel: panel.text(0.2, 0.5, "pale", color=style.COLOURS["orange"])),
    ("same_each_time", lambda panel: panel.plot(np.random.default_rng().random(2))),
    ("same_each_time", lambda panel: panel.text(0.2, 0.5, "drawn on 2020-02-02")),
])
def test_a_bad_drawing_is_noticed(check: str, change: Callable[[mpl.axes.Axes], object]) -> None:
    getattr(_plain(lambda panel: None), check)("one")
    with pytest.raises(AssertionError):
        getattr(_plain(change), check)("one")
