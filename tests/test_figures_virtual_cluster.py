"""The drawings of the chapter on virtual clusters: what they show, the same bytes each time, and fit to print."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from book.common import style
from book.virtual_cluster import figures as draw
from book.virtual_cluster import studies as study
from fairbook.errors import InvalidInput
from tests.drawings import Drawings, legends, notes


@cache
def curves() -> pd.DataFrame:
    return study.curves(4, users=(9, 13, 17))


def of(size: str) -> pd.DataFrame:
    frame = curves()
    return frame[frame["size"] == size]


@cache
def spread() -> pd.DataFrame:
    return study.spread(12, variances="variance", users=(9, 12))


@cache
def gaps() -> pd.DataFrame:
    return study.gaps(3, cases=(("small", 12), ("large", 30)), whole=True)


@cache
def price() -> pd.DataFrame:
    return study.price(3, per_cluster=(2, 4, 8))


@cache
def spanning_gain() -> pd.DataFrame:
    return study.spanning_gain(3, users=(9, 12, 15))


@cache
def dynamic() -> pd.DataFrame:
    return study.dynamic(2, loads=(0.8, 1.5), stays=3.0)


@cache
def course() -> pd.DataFrame:
    return study.course(stays=1.5)


@cache
def tariffs() -> pd.DataFrame:
    return study.tariffs(3, users=(9, 11, 13))


@cache
def tolerance_price() -> pd.DataFrame:
    return study.tolerance_price(8, users=(10, 12, 14, 16))


@cache
def trace() -> pd.DataFrame:
    return study.trace(3, loads=(1.0, 1.3), users=20)


#: Every drawing, as the page calls it, with fewer runs.
DRAWINGS: dict[str, Callable[[], style.Svg]] = {
    "fig2": lambda: draw.fig2(of("small")),
    "fig3": lambda: draw.fig3(of("small")),
    "fig4": lambda: draw.fig4(of("large")),
    "fig5": lambda: draw.fig5(of("large")),
    "gains": lambda: draw.gains(curves()),
    "spread": lambda: draw.spread(spread()),
    "gaps": lambda: draw.gaps(gaps()),
    "packing": lambda: draw.packing(study.packing()),
    "price": lambda: draw.price(price()),
    "spanning_gain": lambda: draw.spanning_gain(spanning_gain()),
    "dynamic": lambda: draw.dynamic(dynamic()),
    "course": lambda: draw.course(course()),
    "tariffs": lambda: draw.tariffs(tariffs()),
    "tolerance_price": lambda: draw.tolerance_price(tolerance_price()),
    "trace": lambda: draw.trace(trace()),
}
ROWS = ("gaps",)
each = pytest.mark.parametrize("name", DRAWINGS)
held = Drawings(DRAWINGS, draw)
svg = held.svg
LABELS = {look.label: key for key, look in style.LOOKS.items()}


def pick(frame: pd.DataFrame, runs: int = 0, **values: object) -> pd.DataFrame:
    """Take the rows that have these values in these columns, and at least so many runs."""
    for column, value in values.items():
        frame = frame[frame[column] == value]
    return frame[frame["runs"] >= runs] if runs else frame


# --------------------------------------------------------------------------------------------------------- bytes


def test_every_drawing_is_checked() -> None:
    held.are_all()


@each
def test_the_same_bytes_each_time(name: str) -> None:
    held.same_each_time(name, most=200_000)


def test_settings_of_the_caller_neither_count_nor_change() -> None:
    held.same_with_other_settings(["gaps", "packing", "price", "course", "tariffs"])


def test_nothing_else_is_touched() -> None:
    frames = {"fig2": of("small"), "fig5": of("large"), "gains": curves(), "spread": spread(),
              "gaps": gaps(), "packing": study.packing(), "price": price(),
              "spanning_gain": spanning_gain(), "dynamic": dynamic(), "course": course(), "tariffs": tariffs(),
              "tolerance_price": tolerance_price(), "trace": trace()}
    held.touch_nothing(frames)


# --------------------------------------------------------------------------------------------------------- words


@each
def test_titles_are_outside_and_axes_are_labelled(name: str) -> None:
    figure = DRAWINGS[name]().figure
    assert figure.get_suptitle() == ""
    assert any(panel.get_xlabel() for panel in figure.axes)
    assert figure.axes[0].get_ylabel() or name in ROWS
    for panel in figure.axes:
        assert [panel.get_title(loc=where) for where in ("left", "center", "right")] == ["", "", ""]
        for label in filter(None, (panel.get_xlabel(), panel.get_ylabel())):
            words = re.sub(r"\$[^$]*\$", "", label).split()
            assert all(word == word.lower() or word.strip("(,)") in ("VMs", "VM") for word in words)
            assert re.search(r"\$.+\$|\(.+\)", label, re.DOTALL), label  # a symbol or a unit


def test_legends_and_panels_are_named() -> None:
    def words(name: str) -> list[str]:
        return [text.get_text() for legend in legends(DRAWINGS[name]().figure) for text in legend.get_texts()]

    six = [style.LOOKS[key].label for key in study.METHODS]
    assert words("fig2") == words("fig4") == [*six, "upper bound"]
    assert words("fig3") == words("fig5") == six
    assert words("gains") == ["printed in the paper", *six[1:]]
    assert words("spread") == six[:3]
    assert words("dynamic") == list(study.POLICIES)
    assert words("course") == ["gap, surplus", "maxima only", "optimum, free moves"]
    assert words("tolerance_price") == ["load 0.94", "load 1.12", "load 1.31", "load 1.50", "minimum, $1-k$"]
    for name in ("fig2", "fig3", "fig4", "fig5"):
        assert notes(DRAWINGS[name]().figure) == ["variance 10", "standard deviation 10"]
    for name in ("gains", "spread", "spanning_gain"):
        assert notes(DRAWINGS[name]().figure) == ["5 clusters, 320 VMs", "8 clusters, 1000 VMs"]
    assert notes(DRAWINGS["gaps"]().figure) == ["5 clusters, 12 users", "8 clusters, 30 users"]


# ------------------------------------------------------------------------------------------------- what is drawn


@pytest.mark.parametrize(("name", "size", "measures"), [
    ("fig2", "small", ("y", "everybody", "y_common")), ("fig3", "small", ("remaining", "remaining_common")),
    ("fig4", "large", ("y", "everybody", "y_common")), ("fig5", "large", ("remaining", "remaining_common"))])
def test_lines_are_those_of_the_frame(name: str, size: str, measures: tuple[str, ...]) -> None:
    panels = iter(DRAWINGS[name]().figure.axes)
    for measure in measures:
        for variance in ("variance", "deviation"):
            panel = next(panels)
            frame = pick(of(size), 4, measure=measure, variance=variance)
            assert {LABELS[line.get_label()] for line in panel.lines} == set(frame["method"])
            bands = dict(zip([line.get_label() for line in panel.lines], panel.collections, strict=True))
            for line in panel.lines:
                key = LABELS[line.get_label()]
                part = frame[frame["method"] == key]
                np.testing.assert_allclose(line.get_xdata(), part["load"])
                np.testing.assert_allclose(line.get_ydata(), part["mean"])
                assert (line.get_color(), line.get_marker()) == (style.LOOKS[key].colour, style.LOOKS[key].marker)
                heights = bands[line.get_label()].get_paths()[0].vertices[:, 1]
                low, high = (part["low"].clip(0, 1), part["high"].clip(0, 1)) if measure == "everybody" else (
                    part["low"], part["high"])
                assert heights.min() == pytest.approx(low.min())
                assert heights.max() == pytest.approx(high.max())
    assert next(panels, None) is None


def test_gains_have_the_printed_band() -> None:
    for panel, size, most in zip(DRAWINGS["gains"]().figure.axes, ("small", "large"), (0.4, 0.5), strict=True):
        (band,) = panel.patches
        assert band.get_extents().transformed(panel.transData.inverted()).ymin == pytest.approx(0.2)
        assert band.get_extents().transformed(panel.transData.inverted()).ymax == pytest.approx(most)
        part = pick(curves(), 4, measure="gain", variance="variance", size=size)
        for line in panel.lines:
            if line.get_label() in LABELS:
                rows = part[part["method"] == LABELS[line.get_label()]]
                np.testing.assert_allclose(line.get_ydata(), rows["mean"])


def test_spread_is_that_of_the_frame() -> None:
    for panel, size in zip(DRAWINGS["spread"]().figure.axes, ("small", "large"), strict=True):
        assert len(panel.lines) == 3
        for line in panel.lines:
            part = pick(spread(), size=size, method=LABELS[line.get_label()])
            np.testing.assert_allclose(line.get_ydata(), part["sd"])


def test_gaps_are_those_of_the_frame() -> None:
    for panel, (size, users) in zip(DRAWINGS["gaps"]().figure.axes, (("small", 12), ("large", 30)), strict=True):
        rows = pick(gaps(), size=size, users=users)
        dots = [line for line in panel.lines if line.get_marker() == "o"]
        found = [float(np.asarray(line.get_xdata())[0]) for line in dots]
        wanted = [value for row in rows.to_dict("records") for value in (row["worst"], row["common"])]
        np.testing.assert_allclose(found, wanted)
        assert [to_hex(line.get_markerfacecolor()) == "#ffffff" for line in dots] == [True, False] * len(rows)


def test_blocks_are_the_vms() -> None:
    frame = study.packing()
    for panel, method in zip(DRAWINGS["packing"]().figure.axes, ("relaxation", "mixed_knapsack", "exact"), strict=True):
        rows = frame[frame["method"] == method]
        filled = [bar for bar in panel.patches if bar.get_fill()]
        outlines = [bar for bar in panel.patches if not bar.get_fill()]
        assert sum(bar.get_height() for bar in filled) == rows["vms"].sum()
        clusters = [bar.get_height() for bar in outlines if to_hex(bar.get_edgecolor()) == "#000000"]
        assert sorted(clusters) == sorted(map(int, frame["all_clusters"].iloc[0].split()))
        for j, size in enumerate(map(int, frame["all_clusters"].iloc[0].split())):
            own = rows[rows["cluster"] == j]
            bars = [bar for bar in filled if round(bar.get_x() + 0.4) == j]
            assert sum(bar.get_height() for bar in bars) == own["vms"].sum() <= size
            dark = [bar for bar in bars if to_hex(bar.get_facecolor()).upper() in (
                style.COLOURS["marine"], style.COLOURS["flame"])]
            assert sum(bar.get_height() for bar in dark) == own["minimum"].sum()
            tops = sorted(bar.get_y() + bar.get_height() for bar in bars)
            assert tops[-1] == own["vms"].sum()  # one upon the other
        least = rows["fraction"].min()
        red = [bar for bar in filled if to_hex(bar.get_facecolor()).upper() == style.COLOURS["flame"]]
        assert len(red) == (rows["fraction"] == least).sum()
        assert [int(text.get_text()) for text in panel.texts if text.get_text().isdigit()] == [
            round(100 * value) for j in range(5) for value in rows.loc[rows["cluster"] == j, "fraction"]]
        assert f"{100 * least:.0f}" in notes(DRAWINGS["packing"]().figure)[list(study.METHODS).index(method) // 2]


def test_those_turned_away_are_counted() -> None:
    words = notes(draw.packing(study.packing(users=24, methods="relaxation")).figure)
    frame = study.packing(users=24, methods="relaxation")
    assert f"{(frame['cluster'] < 0).sum()} turned away" in words[0]


def test_prices_are_those_of_the_frame() -> None:
    (panel,) = DRAWINGS["price"]().figure.axes
    lines = {line.get_label(): line.get_ydata() for line in panel.lines}
    for method, part in price().groupby("method"):
        label = "promised by the theorem" if method == "guaranteed" else style.LOOKS[str(method)].label
        np.testing.assert_allclose(lines[label], part["mean"])
    upper, _, lower, _ = DRAWINGS["spanning_gain"]().figure.axes
    for line, name in zip(upper.lines, ("exact", "spanning"), strict=True):
        np.testing.assert_allclose(line.get_ydata(), pick(spanning_gain(), size="small", measure=name)["mean"])
    np.testing.assert_allclose(lower.lines[0].get_ydata(), pick(spanning_gain(), size="small", measure="gain")["mean"])


def test_policies_are_those_of_the_frame() -> None:
    measures = ("admitted", "slowdown", "fraction", "min_fraction", "revenue", "taken")
    for panel, measure in zip(DRAWINGS["dynamic"]().figure.axes, measures, strict=True):
        assert len(panel.lines) == len(study.POLICIES)
        for line in panel.lines:
            part = pick(dynamic(), policy=line.get_label(), measure=measure)
            np.testing.assert_allclose(line.get_ydata(), part["mean"])
    few = draw.dynamic(dynamic(), ["reshare", "maxima only"]).figure
    assert [line.get_label() for line in few.axes[0].lines] == ["reshare", "maxima only"]
    columns = ("users", "min_fraction", "used", "revenue")
    for panel, column in zip(DRAWINGS["course"]().figure.axes, columns, strict=True):
        assert len(panel.lines) == 3
        for line in panel.lines:
            part = course()[course()["policy"] == line.get_label()]
            np.testing.assert_array_equal(line.get_xdata(), part["time"])
            np.testing.assert_array_equal(line.get_ydata(), part[column])


def test_money_is_that_of_the_frame() -> None:
    names = {"all tell the truth": "truth", "equilibrium": "equilibrium", "all say 0.9": "all 0.9"}
    for panel, measure in zip(DRAWINGS["tariffs"]().figure.axes, ("revenue", "min_fraction", "hurt"), strict=True):
        assert len(panel.lines) == 3
        for line in panel.lines:
            part = pick(tariffs(), 3, method="exact", measure=measure)
            part = part[part["statement"] == names[line.get_label()]]
            np.testing.assert_allclose(line.get_ydata(), part["mean"])
    for panel, measure in zip(DRAWINGS["tolerance_price"]().figure.axes, ("fraction", "price"), strict=True):
        lines = [line for line in panel.lines if str(line.get_label()).startswith("load")]
        for line, users in zip(lines, (10, 12, 14, 16), strict=True):
            part = pick(tolerance_price(), users=users, measure=measure)
            np.testing.assert_allclose(line.get_ydata(), part["mean"])
    for panel, measure in zip(DRAWINGS["trace"]().figure.axes, ("y_served", "everybody", "remaining"), strict=True):
        assert len(panel.lines) == len(study.METHODS)
        for line in panel.lines:
            part = pick(trace(), measure=measure, method=LABELS[line.get_label()])
            np.testing.assert_allclose(line.get_ydata(), part["mean"])


def test_frames_must_hold_what_is_drawn() -> None:
    with pytest.raises(InvalidInput, match="measure everybody"):
        draw.fig2(of("small").query("measure == 'y'"))
    with pytest.raises(InvalidInput, match="variance"):
        draw.gains(curves(), "both")
    with pytest.raises(InvalidInput, match="variance"):
        draw.spread(spread(), "deviation")
    with pytest.raises(InvalidInput, match="whole"):
        draw.gaps(gaps().query("not whole"))
    with pytest.raises(InvalidInput, match="policies"):
        draw.dynamic(dynamic(), ["first come"])
    with pytest.raises(InvalidInput, match="policies"):
        draw.dynamic(dynamic(), [])
    with pytest.raises(InvalidInput, match="method"):
        draw.tariffs(tariffs(), "greedy")
    with pytest.raises(InvalidInput, match="users"):
        draw.tolerance_price(tolerance_price(), [11])


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
