"""What each drawing shows is what its frame says, and the worked examples are as run."""

import re
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from book.common import style
from book.compare import figures as compare
from book.compare.properties import ENTRANTS
from book.dmfa_srq import studies as dmfa_study
from book.gdrf import studies as gdrf_study
from book.tv_drf import studies as tv_study
from book.virtual_cluster import studies as vc_study
from tests.drawings import (
    dots,
)
from tests.pages_drawn import figure, parts, stored, taken, thirty

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


# ----------------------------------------------------------------------------------------------------------- cbDRF


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
    places = {label: round(y, 6) for y, head in heads for label in re.split(r";\s", head.get_text())}
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


def test_comparison_without_numbers() -> None:
    some = stored("compare/lying").copy()
    some.loc[some["mechanism"] == "drf", ["mean", "low", "high"]] = np.nan
    panel = compare.lying(some).figure.axes[0]  # what was not measured leaves a gap
    assert [text.get_text() for text in panel.texts[:3]] == ["-"] * 3
    none = some.assign(mean=0.0, low=0.0, high=0.0)  # and where all is zero nothing is shaded
    assert {bar.get_facecolor() for bar in compare.lying(none).figure.axes[1].patches} == {(1.0, 1.0, 1.0, 1.0)}


# ------------------------------------------------------------------------------------------ DMFA-SRQ, foundations


def test_gap_shows_the_differences() -> None:
    ends = taken("dmfa_srq/gap").query("mechanism == 'difference'").sort_values("n")
    for panel, part in zip(figure("dmfa_srq/gap").axes, parts(ends, measure=dmfa_study.MEASURES), strict=True):
        np.testing.assert_array_equal(panel.lines[0].get_ydata(), part["mean"])
        _, _, (bars,) = panel.containers[0].lines
        np.testing.assert_allclose([one[:, 1] for one in bars.get_segments()], part[["low", "high"]])
        assert [tick.get_text() for tick in panel.get_xticklabels()] == ["20", "100", "500"]


def test_water_and_levels() -> None:
    run = taken("dmfa_srq/water")
    for panel, k in zip(figure("dmfa_srq/water").axes, (1, 2, 3), strict=True):
        area = sum(bar.get_width() * bar.get_height() for bar in panel.patches)
        assert area == pytest.approx(run.use_at(k)[1])
        assert [bar.get_height() for bar in panel.patches] == pytest.approx(run.levels_at(k))
    (panel,) = figure("dmfa_srq/levels").axes
    steps = [np.asarray(line.get_ydata(), dtype=float) for line in panel.lines if line.get_drawstyle() != "default"]
    assert all((np.diff(drawn[~np.isnan(drawn)]) >= 0).all() for drawn in steps)
    assert len(steps) == 30
    np.testing.assert_array_equal(panel.lines[-1].get_ydata(), thirty().levels)


# ------------------------------------------------------------------------------------------------------------ GDRF


def test_the_example_is_drawn_vm_by_vm() -> None:
    frame = taken("gdrf/example").query("machine >= 0")
    *machines, steps = figure("gdrf/example").axes
    demands = dict(zip(*gdrf_study.EXAMPLE[:2], strict=True))
    for j, (panel, size) in enumerate(zip(machines, [(8, 4), (4, 8), (4, 8)], strict=True)):
        outline, *vms = panel.patches
        assert (outline.get_width(), outline.get_height()) == size
        own = frame[frame["machine"] == j]
        assert [(vm.get_width(), vm.get_height()) for vm in vms] == [demands[user] for user in own["user"]]
        assert [text.get_text() for text in panel.texts if text.get_text().isdigit()] == [str(k + 1) for k in own.index]
    bars = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in steps.patches}
    assert bars == {k + 1: f for k, f in frame["f"].items()}


def test_readings_of_gdrf_are_dots() -> None:
    frame = taken("gdrf/readings")
    for panel, measure in zip(figure("gdrf/readings").axes, ("tasks", "fairness"), strict=True):
        marks = [line.get_xydata() for line in panel.lines if line.get_marker() != "None"]
        found = np.concatenate(marks)
        places = frame["against"].map(list(dict.fromkeys(frame["against"])).index)
        assert sorted(found[:, 0]) == sorted(frame[measure])
        assert sorted(found[:, 1].round()) == sorted(places)


def test_what_is_idle_is_that_of_the_frame() -> None:
    frame = taken("gdrf/cell_machines").query("case == 'trace' and cpu_capacity == 0.5 and memory_capacity == 0.5")
    (panel,) = figure("gdrf/cell_machines").axes
    for k, (_, rows) in enumerate(frame.groupby("mechanism", sort=False)):
        bars = [bar.get_width() for bar in panel.patches if round(bar.get_y() + 0.12, 9) == round(0.26 * (k - 1), 9)]
        idle = 1 - np.average(rows[["cpu", "memory"]], axis=0, weights=rows["machines"])
        np.testing.assert_allclose(bars, [-idle[0], idle[1]])


def test_gains_are_those_of_the_frame() -> None:
    table = taken("gdrf/mixes").set_index(["against", "machines", "measure"])
    for panel, measure in zip(figure("gdrf/mixes").axes, ("tasks", "fairness"), strict=True):
        for (row, against), (machines, shift) in product(enumerate(gdrf_study.BASELINES), ((60, -0.16), (300, 0.16))):
            wanted = table.loc[(against, machines, measure)]
            found = [list(line.get_xdata()) for line in panel.lines if np.allclose(line.get_ydata(), row + shift)]
            assert found == [[wanted["p05"], wanted["p95"]], [wanted["median"]], [wanted["paper"]]]


# ---------------------------------------------------------------------------------------------------------- TV-DRF


def test_readings_of_tv_drf_begin_with_the_figures_and_the_farthest() -> None:
    frame = taken("tv_drf/readings")
    panels = figure("tv_drf/readings").axes
    names = [text.get_text() for text in panels[0].get_yticklabels()]
    assert names[0] == "as in the figures"
    assert sorted(names[1:]) == sorted(
        f"{point}: {value}" for point, values in tv_study.READINGS.items() for value in list(values)[1:]
    )
    for panel, measure in zip(panels, ("cpu", "memory"), strict=True):
        part = frame[(frame["measure"] == measure) & ((frame["point"] == "periods") | ~frame["figures"])]
        np.testing.assert_allclose(sorted(dots(panel)[:, 0]), sorted(part["gain"]), atol=1e-12)


# ------------------------------------------------------------------------------------------------- virtual clusters


def test_best_and_worst_are_those_of_the_frame() -> None:
    frame = taken("virtual_cluster/gaps")
    for panel, (size, users) in zip(figure("virtual_cluster/gaps").axes, vc_study.CASES, strict=True):
        rows = frame[(frame["size"] == size) & (frame["users"] == users)]
        marks = [line for line in panel.lines if line.get_marker() == "o"]
        wanted = rows[["worst", "common"]].to_numpy().ravel()
        np.testing.assert_allclose([line.get_xdata()[0] for line in marks], wanted)
        assert [to_hex(line.get_markerfacecolor()) == "#ffffff" for line in marks] == [True, False] * len(rows)


def test_each_curve_has_its_name_at_its_end() -> None:
    for panel in figure("virtual_cluster/of_bound").axes:
        ends = {line.get_label(): line.get_xydata()[-1] for line in panel.lines}
        names = {text.get_text(): text for text in panel.texts if "clusters" not in text.get_text()}
        assert set(names) == set(ends)
        assert [text.xy[0] for text in names.values()] == pytest.approx([ends[name][0] for name in names])
        in_order = sorted(names, key=lambda name: ends[name][1])
        assert sorted(names, key=lambda name: names[name].xy[1]) == in_order  # moved apart, never past each other
