"""The drawings of the TV-DRF chapter: what they show, the same bytes each time, and fit to print."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
import pytest

from book.common import style
from book.tv_drf import figures as draw
from book.tv_drf import studies as study
from fairbook.errors import InvalidInput
from tests.drawings import Drawings, legends, notes


@cache
def curves() -> pd.DataFrame:
    return study.curves(4, n=5, unserved=("waits", "expires"), min_load=0.5)


@cache
def sizes() -> pd.DataFrame:
    return study.curves(3, n=(8, 12))


@cache
def losses() -> pd.DataFrame:
    return study.losses(3, sizes=(2, 4, 5))


@cache
def gaps() -> pd.DataFrame:
    return study.gaps(3, sizes=(2, 4, 5))


@cache
def readings() -> pd.DataFrame:
    return study.readings(6, sizes=(3, 5))


#: Every drawing, as the page calls it, with fewer runs.
DRAWINGS: dict[str, Callable[[], style.Svg]] = {
    "fig1": lambda: draw.fig1(study.fig1()),
    "fig2": lambda: draw.fig2(study.fig2()),
    "fig3": lambda: draw.fig3(curves()),
    "fig4": lambda: draw.fig4(sizes().query("n == 8")),
    "fig5": lambda: draw.fig5(curves()),
    "fig6": lambda: draw.fig6(curves()),
    "fig7": lambda: draw.fig7(sizes().query("n == 12")),
    "utilisation": lambda: draw.utilisation(sizes()),
    "comparison": lambda: draw.comparison(curves()),
    "example": lambda: draw.example(study.example()),
    "memory_course": lambda: draw.memory_course(study.memory_course()),
    "losses": lambda: draw.losses(losses()),
    "gaps": lambda: draw.gaps(gaps()),
    "readings": lambda: draw.readings(readings()),
}
DOTS = ("losses", "gaps", "readings")
each = pytest.mark.parametrize("name", DRAWINGS)
held = Drawings(DRAWINGS, draw)
svg, ready = held.svg, held.ready


# --------------------------------------------------------------------------------------------------------- bytes


def test_every_drawing_is_checked() -> None:
    held.are_all()


@each
def test_the_same_bytes_each_time(name: str) -> None:
    held.same_each_time(name)


def test_settings_of_the_caller_neither_count_nor_change() -> None:
    names = ["fig1", "fig3", "comparison", "example", "memory_course", "losses", "gaps", "readings"]
    held.same_with_other_settings(names)


def test_nothing_else_is_touched() -> None:
    frames = {"fig1": study.fig1(), "fig3": curves(), "utilisation": sizes(), "comparison": curves(),
              "example": study.example(), "memory_course": study.memory_course(), "losses": losses(), "gaps": gaps(),
              "readings": readings()}
    held.touch_nothing(frames)


# --------------------------------------------------------------------------------------------------------- words


@each
def test_titles_are_outside_and_axes_are_labelled(name: str) -> None:
    figure = DRAWINGS[name]().figure
    assert figure.get_suptitle() == ""
    below = [panel for panel in figure.axes if panel.get_subplotspec().is_last_row()]
    assert all(panel.get_xlabel() for panel in below)
    assert figure.axes[0].get_ylabel() or name in DOTS
    for panel in figure.axes:
        assert [panel.get_title(loc=where) for where in ("left", "center", "right")] == ["", "", ""]
        for label in filter(None, (panel.get_xlabel(), panel.get_ylabel())):
            words = re.sub(r"\$[^$]*\$", "", label).split()
            assert all(word == word.lower() or word.strip("(,)") in ("CPU", "GB") for word in words), label
            assert re.search(r"\$.+\$|\(.+\)", label), label  # a symbol or a unit


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("fig1", ["100 tasks", "1 000 tasks"]),
        ("fig3", ["TV-DRF", "exact optimum", "DRF per period", "no sharing"]),
        ("fig7", ["TV-DRF", "exact optimum", "DRF per period", "no sharing"]),
        ("utilisation", ["TV-DRF", "exact optimum", "DRF per period", "no sharing"]),
        ("comparison", ["TV-DRF", "exact optimum", "DRF per period", "no sharing"]),
        ("example", ["CPU", "memory", "what it would have had alone", "sharing coefficient, the lesser ratio"]),
        ("memory_course", ["TV-DRF, user A", "TV-DRF, user B", "DRF per period, user A", "DRF per period, user B"]),
        ("losses", ["what does not run waits", "what does not run expires"]),
        ("gaps", ["mean", "95 of 100 are within", "worst", "filled: waits", "open: expires"]),
        ("readings", ["3 users", "5 users"]),
    ],
)
def test_legends_name_what_is_drawn(name: str, labels: list[str]) -> None:
    assert [text.get_text() for legend in legends(DRAWINGS[name]().figure) for text in legend.get_texts()] == labels


def test_panels_are_named() -> None:
    waits, expires, lead = "what does not run waits", "what does not run expires", "TV-DRF minus no sharing"
    assert notes(DRAWINGS["fig3"]().figure) == [waits, lead, expires, lead]
    assert notes(DRAWINGS["fig4"]().figure) == [waits, lead]
    assert notes(DRAWINGS["utilisation"]().figure) == [f"{n} users; {waits}" for n in (8, 12)]
    assert notes(DRAWINGS["comparison"]().figure) == [f"5 users; {waits}", f"5 users; {expires}"]
    assert notes(DRAWINGS["example"]().figure) == ["user A", "user B"]
    assert notes(DRAWINGS["memory_course"]().figure) == ["TV-DRF", "DRF per period"]
    assert notes(DRAWINGS["losses"]().figure) == ["2 users", "4 users", "5 users"]


def test_rows_of_dots_are_named() -> None:
    def rows(name: str) -> list[str]:
        return [text.get_text() for text in DRAWINGS[name]().figure.axes[0].get_yticklabels()]

    assert rows("losses") == ["TV-DRF, bundles", "TV-DRF, whole bundles", "TV-DRF, resources",
                              "DRF per period, whole bundles", "exact optimum, bundles", "exact optimum, resources"]
    assert rows("gaps") == [f"{n} users, {packing}" for n in (2, 4, 5) for packing in ("machines as they are",
                                                                                      "one machine")]
    assert rows("readings") == [f"{point}: {value}" for point in study.READINGS for value in study.READINGS[point]]


# ------------------------------------------------------------------------------------------------- what is drawn


@pytest.mark.parametrize("name", ["fig1", "fig2"])
def test_bubbles_stand_where_the_tasks_are(name: str) -> None:
    frame = getattr(study, name)()
    (panel,) = DRAWINGS[name]().figure.axes
    drawn = panel.collections[0]
    area = np.maximum(900 * frame["tasks"] / frame["tasks"].max(), 3).round()
    wanted = set(zip(frame["memory"].round(2), frame["cpu"], area, strict=True))
    assert {(x, y, size) for (x, y), size in zip(drawn.get_offsets(), drawn.get_sizes(), strict=True)} == wanted
    assert len(drawn.get_sizes()) == len(wanted)
    assert (np.diff(drawn.get_sizes()) <= 0).all()  # small ones in front
    shown = {text.get_text(): handle for text, handle in zip(
        panel.get_legend().get_texts(), panel.get_legend().legend_handles, strict=True)}
    assert shown["1 000 tasks"].get_sizes()[0] == pytest.approx(900 * 1000 / frame["tasks"].max())


@pytest.mark.parametrize(("name", "measure"), [("fig3", "min_share"), ("fig4", "cpu"), ("fig5", "memory"),
                                               ("fig6", "cpu"), ("fig7", "memory")])
def test_courses_and_leads_are_those_of_the_frame(name: str, measure: str) -> None:
    frame = {"fig4": sizes().query("n == 8"), "fig7": sizes().query("n == 12")}.get(name, curves())
    frame = frame[frame["measure"] == measure]
    panels = iter(DRAWINGS[name]().figure.axes)
    for _, rows in frame.groupby("unserved", sort=False):
        left, right = next(panels), next(panels)
        assert len(left.lines) == 4
        bands = dict(zip([line.get_label() for line in left.lines], left.collections, strict=True))
        for line in left.lines:
            key = next(key for key, look in style.LOOKS.items() if look.label == line.get_label())
            look, part = style.LOOKS[key], rows[rows["mechanism"] == key]
            np.testing.assert_array_equal(line.get_xydata(), part[["period", "mean"]])
            assert (line.get_color(), line.get_marker()) == (look.colour, look.marker)
            heights = bands[look.label].get_paths()[0].vertices[:, 1]
            assert heights.min() == pytest.approx(part["low"].min(), abs=1e-12)
            assert heights.max() == pytest.approx(part["high"].max())
        part = rows[rows["mechanism"] == "difference"]
        np.testing.assert_array_equal(right.lines[1].get_xydata(), part[["period", "mean"]])
        assert set(right.lines[0].get_ydata()) == {0}
    assert next(panels, None) is None


def test_figures_ask_for_what_they_draw() -> None:
    with pytest.raises(InvalidInput, match="one number of users"):
        draw.fig4(sizes())
    with pytest.raises(InvalidInput, match="measure cpu"):
        draw.fig4(sizes().query("measure == 'memory'"))


@pytest.mark.parametrize(("name", "measures"), [("utilisation", ("cpu", "memory")),
                                                ("comparison", ("min_share", "behind", "memory"))])
def test_grids_are_those_of_the_frame(name: str, measures: tuple[str, ...]) -> None:
    frame = {"utilisation": sizes, "comparison": curves}[name]()
    panels = iter(DRAWINGS[name]().figure.axes)
    for _, rows in frame.groupby(["n", "unserved"], sort=False):
        for measure in measures:
            panel = next(panels)
            for line in panel.lines:
                key = next(key for key, look in style.LOOKS.items() if look.label == line.get_label())
                part = rows[(rows["mechanism"] == key) & (rows["measure"] == measure)]
                np.testing.assert_array_equal(line.get_xydata(), part[["period", "mean"]])
                low, high = panel.get_ylim()
                assert ((low <= part["mean"]) & (part["mean"] <= high)).all()
    assert next(panels, None) is None


def test_the_example_is_drawn_as_amounts() -> None:
    frame = study.example()
    for panel, (_, part) in zip(DRAWINGS["example"]().figure.axes, frame.groupby("user"), strict=True):
        assert [bar.get_height() for bar in panel.patches] == part[["cpu", "memory"]].to_numpy().ravel().tolist()
        assert [line.get_ydata()[0] for line in panel.lines] == part[["own_cpu", "own_memory"]].to_numpy(
            ).ravel().tolist()
        words = [text.get_text() for text in panel.texts]
        assert words[:4] == [exact if "/" not in exact else f"{exact}\n= {beta:.4g}"
                             for exact, beta in zip(part["exact"], part["beta"], strict=True)]


def test_memory_is_drawn_as_run() -> None:
    frame = study.memory_course()
    panels = DRAWINGS["memory_course"]().figure.axes
    for place, (panel, (value, mechanism)) in enumerate(zip(
            panels, [("share", "tv_drf"), ("share", "memoryless"), ("tasks", "tv_drf"), ("tasks", "memoryless")],
            strict=True)):
        for line, user in zip(panel.lines, "AB", strict=True):
            part = frame[(frame["mechanism"] == mechanism) & (frame["user"] == user)]
            np.testing.assert_array_equal(line.get_xydata(), part[["period", value]])
            assert line.get_color() == style.LOOKS[mechanism].colour
        assert panel.get_ylim() == panels[place // 2 * 2].get_ylim()


def test_losses_are_those_of_the_frame() -> None:
    frame = losses()
    cases = list(frame[["mechanism", "alone"]].drop_duplicates().itertuples(index=False, name=None))
    for panel, (_, rows) in zip(DRAWINGS["losses"]().figure.axes, frame.groupby("n"), strict=True):
        found = {(cases[round(line.get_ydata()[0])], line.get_markerfacecolor() == "white"): line.get_xdata()[0]
                 for line in panel.lines}
        assert found == {((row.mechanism, row.alone), row.unserved == "expires"): row.below
                         for row in rows.itertuples()}


def test_gaps_are_those_of_the_frame() -> None:
    frame = gaps()
    steps, lost = DRAWINGS["gaps"]().figure.axes
    cases = [(n, packing) for n in (2, 4, 5) for packing in ("machines", "merged")]
    for panel, columns in ((steps, {"o": "mean", "s": "p95", "D": "worst"}),
                           (lost, {"o": "total_share", "D": "total_share_least"})):
        seen = 0
        for line in panel.lines:
            if line.get_marker() not in columns:
                continue
            seen += 1
            n, packing = cases[round(line.get_ydata()[0])]
            unserved = "expires" if line.get_markerfacecolor() == "white" else "waits"
            row = frame[(frame["n"] == n) & (frame["packing"] == packing) & (frame["unserved"] == unserved)].iloc[0]
            value = row[columns[line.get_marker()]]
            assert line.get_xdata()[0] == pytest.approx(max(value, 3e-3) if panel is steps else 1 - value)
        assert seen == len(frame) * len(columns)
    low, high = steps.get_xlim()
    assert low < 3e-3
    assert high > frame["worst"].max()


def test_readings_are_those_of_the_frame() -> None:
    frame = readings()
    for panel, measure in zip(DRAWINGS["readings"]().figure.axes, ("min_share", "cpu", "memory"), strict=True):
        for bars, n in zip(panel.containers, (3, 5), strict=True):
            part = frame[(frame["n"] == n) & (frame["measure"] == measure)]
            points, _, (whiskers,) = bars.lines
            np.testing.assert_array_equal(points.get_xdata(), part["gain"])
            assert (points.get_ydata().round() == np.arange(len(part))).all()
            ends = np.array([segment[:, 0] for segment in whiskers.get_segments()])
            np.testing.assert_allclose(ends, part[["low", "high"]].to_numpy() / part[["alone"]].to_numpy(), atol=1e-12)


# ------------------------------------------------------------------------------------------------ fit to be printed


@each
def test_no_text_is_cut_off_or_lies_on_another(name: str) -> None:
    held.words_fit(name)


@each
def test_no_legend_covers_a_panel(name: str) -> None:
    held.panels_apart(name)


@each
def test_everything_can_be_seen_on_white(name: str) -> None:
    held.seen_on_white(name)
