"""The drawings of the GDRF chapter: what they show, the same bytes each time, and fit to print."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import AxesImage

from book.common import style
from book.gdrf import figures as draw
from book.gdrf import studies as study
from fairbook.errors import InvalidInput
from tests.drawings import Drawings, legends, notes


@cache
def curves() -> pd.DataFrame:
    return study.curves(3, sizes=(10, 14, 18))


@cache
def mixes() -> pd.DataFrame:
    return study.mixes(4, sizes=(10, 14, 18))


@cache
def readings() -> pd.DataFrame:
    return study.readings(2, number=6)


@cache
def ablation() -> pd.DataFrame:
    return study.ablation(4, number=12)


@cache
def bounds() -> pd.DataFrame:
    return study.bounds(3, sizes=(8, 12))


@cache
def cell() -> pd.DataFrame:
    return study.cell_machines(mechanisms=("drfh_first_fit", "mdrf_type", "per_server_drf"), trace_users=8)


#: Every drawing, as the page calls it, with fewer runs.
DRAWINGS: dict[str, Callable[[], style.Svg]] = {
    "fig1": lambda: draw.fig1(curves()),
    "fig2": lambda: draw.fig2(curves()),
    "fig3": lambda: draw.fig3(curves()),
    "fig4": lambda: draw.fig4(curves()),
    "utilisation": lambda: draw.utilisation(curves()),
    "example": lambda: draw.example(study.example()),
    "mixes": lambda: draw.mixes(mixes()),
    "readings": lambda: draw.readings(readings()),
    "ablation": lambda: draw.ablation(ablation()),
    "bounds": lambda: draw.bounds(bounds()),
    "cell_machines": lambda: draw.cell_machines(cell()),
}
DOTS = ("utilisation", "mixes", "ablation", "bounds", "cell_machines")
each = pytest.mark.parametrize("name", DRAWINGS)
held = Drawings(DRAWINGS, draw)
svg, ready = held.svg, held.ready
LABELS = {look.label: key for key, look in style.LOOKS.items()}


# --------------------------------------------------------------------------------------------------------- bytes


def test_every_drawing_is_checked() -> None:
    held.are_all()


@each
def test_the_same_bytes_each_time(name: str) -> None:
    held.same_each_time(name, most=200_000)


def test_settings_of_the_caller_neither_count_nor_change() -> None:
    held.same_with_other_settings(["fig1", "example", "mixes", "ablation", "bounds", "cell_machines"])


def test_nothing_else_is_touched() -> None:
    frames = {"fig1": curves(), "fig4": curves(), "utilisation": curves(), "example": study.example(),
              "mixes": mixes(), "readings": readings(), "ablation": ablation(), "bounds": bounds(),
              "cell_machines": cell()}
    held.touch_nothing(frames)


# --------------------------------------------------------------------------------------------------------- words


@each
def test_titles_are_outside_and_axes_are_labelled(name: str) -> None:
    figure = DRAWINGS[name]().figure
    assert figure.get_suptitle() == ""
    shown = [panel for panel in figure.axes if panel.get_visible()]
    assert any(panel.get_xlabel() for panel in shown)
    assert shown[0].get_ylabel() or name in DOTS
    for panel in shown:
        assert [panel.get_title(loc=where) for where in ("left", "center", "right")] == ["", "", ""]
        for label in filter(None, (panel.get_xlabel(), panel.get_ylabel())):
            words = re.sub(r"\$[^$]*\$", "", label).split()
            assert all(word == word.lower() or word.strip("(,)") in ("CPU", "VMs", "VM", "CPU,") for word in words)
            assert re.search(r"\$.+\$|\(.+\)", label), label  # a symbol or a unit


def test_legends_and_panels_are_named() -> None:
    def words(name: str) -> list[str]:
        return [text.get_text() for legend in legends(DRAWINGS[name]().figure) for text in legend.get_texts()]

    six = [style.LOOKS[key].label for key in study.MECHANISMS]
    for name in ("fig1", "fig2", "fig3", "fig4"):
        assert words(name) == six
        assert notes(DRAWINGS[name]().figure) == ["one mix", "mean over random mixes"]
    assert words("example") == ["user A", "user B", "user C"]
    assert words("mixes") == ["10 machines, 90 of 100 mixes", "18 machines, 90 of 100 mixes", "the one mix",
                              "printed in the paper"]
    assert words("bounds") == ["8 machines", "12 machines"]
    assert notes(DRAWINGS["readings"]().figure) == [f"over {name}" for name in (
        "MDRF, entropy", "MDRF, type", "Best-Fit", "First-Fit", "DRF per server")]
    assert notes(DRAWINGS["cell_machines"]().figure) == ["before: all idle", "DRFH, First-Fit", "MDRF stand-in, type",
                                                        "DRF per server"]


# ------------------------------------------------------------------------------------------------- what is drawn


@pytest.mark.parametrize(("name", "measures"), [
    ("fig1", ("tasks", "tasks")), ("fig2", ("cpu", "cpu_mean")), ("fig3", ("memory", "memory_mean")),
    ("fig4", ("fairness", "fairness_mean", "fairness_present", "fairness_whole"))])
def test_lines_are_those_of_the_frame(name: str, measures: tuple[str, ...]) -> None:
    panels = iter(DRAWINGS[name]().figure.axes)
    for row, measure in enumerate(measures):
        for mix in ("paper", "random"):
            panel = next(panels)
            assert len(panel.lines) == len(study.MECHANISMS)
            bands = dict(zip([line.get_label() for line in panel.lines], panel.collections, strict=True))
            for line in panel.lines:
                key = LABELS[line.get_label()]
                frame = curves()
                part = frame[(frame["mix"] == mix) & (frame["measure"] == measure) & (frame["mechanism"] == key)]
                unit = part["machines"] if name == "fig1" and row == 1 else 1
                np.testing.assert_array_equal(line.get_xdata(), part["machines"])
                np.testing.assert_allclose(line.get_ydata(), part["mean"] / unit)
                assert (line.get_color(), line.get_marker()) == (style.LOOKS[key].colour, style.LOOKS[key].marker)
                heights = bands[line.get_label()].get_paths()[0].vertices[:, 1]
                assert heights.min() == pytest.approx((part["low"] / unit).min())
                assert heights.max() == pytest.approx((part["high"] / unit).max())
    assert next(panels, None) is None


def test_the_example_is_drawn_vm_by_vm() -> None:
    frame = study.example().query("machine >= 0")
    *machines, steps = DRAWINGS["example"]().figure.axes
    sizes = [(8, 4), (4, 8), (4, 8)]
    demands = dict(zip(study.EXAMPLE.users, study.EXAMPLE.demands, strict=True))
    for j, panel in enumerate(machines):
        outline, *vms = panel.patches
        assert (outline.get_width(), outline.get_height()) == sizes[j]
        own = frame[frame["machine"] == j]
        assert [(vm.get_width(), vm.get_height()) for vm in vms] == [demands[user] for user in own["user"]]
        assert [text.get_text() for text in panel.texts if text.get_text().isdigit()] == [str(k + 1) for k in own.index]
    bars = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in steps.patches}
    assert bars == {k + 1: f for k, f in frame["f"].items()}


def test_gains_are_those_of_the_frame() -> None:
    for panel, measure in zip(DRAWINGS["mixes"]().figure.axes, ("tasks", "fairness"), strict=True):
        for row, against in enumerate(study.BASELINES):
            for machines in (10, 18):
                wanted = mixes().set_index(["against", "machines", "measure"]).loc[(against, machines, measure)]
                y = row - 0.16 if machines == 10 else row + 0.16
                found = [line.get_xdata() for line in panel.lines if np.allclose(line.get_ydata(), y)]
                assert [list(x) for x in found] == [[wanted["p05"], wanted["p95"]], [wanted["median"]],
                                                    [wanted["paper"]]]


def test_every_reading_is_a_point() -> None:
    panels = [panel for panel in DRAWINGS["readings"]().figure.axes if panel.get_visible()]
    for panel, against in zip(panels, study.BASELINES, strict=True):
        points = np.concatenate([line.get_xydata() for line in panel.lines if line.get_marker() != "None"])
        wanted = readings().loc[readings()["against"] == against, ["tasks", "fairness"]].to_numpy()
        assert len(points) == 120
        np.testing.assert_array_equal(points[np.lexsort(points.T)], wanted[np.lexsort(wanted.T)])


def test_changes_are_those_of_the_frame() -> None:
    frame = ablation()
    names = list(dict.fromkeys(frame["variant"]))[1:]
    for panel, measure in zip(DRAWINGS["ablation"]().figure.axes, ("tasks", "cpu", "min_share", "fairness"),
                              strict=True):
        part = frame[frame["measure"] == measure].set_index("variant")
        found = {}
        for bars in panel.containers:
            points, _, (whiskers,) = bars.lines
            for (x, y), segment in zip(points.get_xydata(), whiskers.get_segments(), strict=True):
                found[names[int(y)]] = (x, *segment[:, 0])
        assert list(found) == names
        for name, values in found.items():
            np.testing.assert_allclose(values, part.loc[name, ["change", "change_low", "change_high"]].tolist(),
                                       atol=1e-12)
    assert [text.get_text() for text in DRAWINGS["ablation"]().figure.axes[0].get_yticklabels()] == names


def test_bounds_are_those_of_the_frame() -> None:
    for panel, measure in zip(DRAWINGS["bounds"]().figure.axes, ("packed", "of_level", "of_most"), strict=True):
        found = [bars.lines[0].get_xydata()[0] for bars in panel.containers]
        means = bounds().set_index(["mix", "measure", "mechanism", "machines"])["mean"]
        wanted = [[means["random", measure, name, size], row + shift]
                  for row, name in enumerate((*study.MECHANISMS, "drfh_fluid"))
                  for size, shift in ((8, -0.15), (12, 0.15))]
        np.testing.assert_allclose(found, wanted)


def test_total_and_mean_of_the_largest_cell() -> None:
    for panel, resource in zip(DRAWINGS["utilisation"]().figure.axes, ("cpu", "memory"), strict=True):
        found = [bars.lines[0].get_xdata()[0] for bars in panel.containers]
        part = curves().query("mix == 'random' and machines == 18").set_index(["mechanism", "measure"])["mean"]
        assert found == [part[name, measure] for name in study.MECHANISMS for measure in (resource, f"{resource}_mean")]


def test_every_machine_is_a_tile() -> None:
    *panels, legend = DRAWINGS["cell_machines"]().figure.axes
    names = [None, "drfh_first_fit", "mdrf_type", "per_server_drf"]
    for panel, name in zip(panels, names, strict=True):
        (image,) = panel.get_images()
        assert isinstance(image, AxesImage)
        pixels = np.asarray(image.get_array()).reshape(-1, 3)
        found = pd.Series([tuple(row) for row in pixels[(pixels != 255).any(axis=1)].tolist()]).value_counts()
        assert found.sum() == 12583
        if name is None:
            assert len(found) == 1
            continue
        rows = cell()[(cell()["case"] == "trace") & (cell()["mechanism"] == name)]
        wanted: dict[tuple[int, ...], int] = {}
        for tint, count in zip(draw._tint(rows["cpu"].to_numpy(), rows["memory"].to_numpy()).tolist(),
                               rows["machines"], strict=True):
            wanted[tuple(tint)] = wanted.get(tuple(tint), 0) + count
        assert found.to_dict() == wanted
    assert legend.get_xlabel() == "idle CPU (percent)"


def test_colours_of_tiles_say_what_is_idle() -> None:
    full, no_cpu, no_memory, empty = draw._tint(np.array([1, .5, 1, 0]), np.array([1, 1, .5, 0])).astype(int)
    assert full.sum() < 200  # dark
    assert empty.min() > 220  # nearly white
    assert no_cpu[0] > no_cpu[2] + 100  # orange
    assert no_memory[2] > no_memory[0] + 100  # blue
    steps = draw._tint(np.linspace(1, .5, 6), np.ones(6)).astype(int)
    assert (np.diff(steps[:, 0]) > 0).all()


def test_frames_must_hold_what_is_drawn() -> None:
    with pytest.raises(InvalidInput, match="measure cpu"):
        draw.fig2(curves().query("measure == 'tasks'"))
    with pytest.raises(InvalidInput, match="case"):
        draw.cell_machines(cell(), "floats")


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
