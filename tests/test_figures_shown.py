"""What each drawing shows is what its frame says, and the worked examples are as run."""

import re
from itertools import product
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from book.cbdrf import figures as cbdrf, studies as cbdrf_study
from book.common import style
from book.common.style import LOOKS
from book.compare import figures as compare, studies as compare_study
from book.compare.properties import ENTRANTS
from book.dmfa_srq import studies as dmfa_study
from book.gdrf import figures as gdrf, studies as gdrf_study
from book.tv_drf import studies as tv_study
from book.virtual_cluster import figures as vc, studies as vc_study
from tests.drawings import (
    box,
    dots,
    entries,
    notes,
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


def test_figure_1_tells_the_run_in_boxes_that_hold_their_words() -> None:
    (panel,) = figure("cbdrf/fig1").axes
    words = "\n".join(text.get_text().replace("\n", " ") for text in panel.texts)
    for piece in (
        "25 CPU, 500 memory",
        "10 tasks",
        r"$1\times 10$ = 10 tasks",
        "5 of 10 tasks released: 0.5",
        "$0.5<0.75$: no",
        "$1-0.1$ = 0.9",
        "C_0)=0.9$",
        r"$0.9\times 5$ = 4.5 tasks",
        "4.5 of 4.5",
        r"$1\geq0.75$: yes",
        "$0.9+0.1$ = 1",
        "C_0)=1$",
        "phase 1",
        "phase 2",
        "phase 3",
    ):
        assert piece in words, piece
    other = cbdrf.fig1(cbdrf_study.fig1().assign(tasks=[7.0, 2.0])).figure.axes[0]
    assert sum(text.get_text().endswith(("= 7 tasks", "= 2 tasks")) for text in other.texts) == 2
    boxes = [patch.get_window_extent() for patch in panel.patches if isinstance(patch, mpl.patches.FancyBboxPatch)]
    around = [
        (one, box(text)) for text in panel.texts for one in boxes if one.contains(*((box(text).p0 + box(text).p1) / 2))
    ]
    assert len(boxes) == len(around) == 12
    assert all((one.p0 <= text.p0).all() and (text.p1 <= one.p1).all() for one, text in around)


@pytest.mark.parametrize(("name", "last"), [("fig2", 0.1), ("fig3", 0.9)])
def test_both_resources_are_drawn_and_coincide(name: str, last: float) -> None:
    cpu, memory, whole = figure(f"cbdrf/{name}").axes[0].lines
    assert cpu.get_ydata()[-1] == memory.get_ydata()[-1] == pytest.approx(last)
    assert set(whole.get_ydata()) == {1}
    assert cpu.get_markersize() > memory.get_markersize()
    assert cpu.get_markerfacecolor() == "none"


@pytest.mark.parametrize("name", ["fig3", "fig4", "fig5"])
def test_amounts_are_those_of_the_frame(name: str) -> None:
    frame = taken(f"cbdrf/{name}")
    panels = figure(f"cbdrf/{name}").axes[1 if name == "fig3" else 0 :]
    cases = product(dict.fromkeys(frame["node"]), (("CPU", 1), ("memory", 1000)))
    for panel, (node, (resource, unit)) in zip(panels, cases, strict=True):
        part = frame[(frame["resource"] == resource) & (frame["node"] == node)]
        for line, column in zip(panel.lines, ("drf", "granted"), strict=True):
            np.testing.assert_allclose(line.get_ydata(), part[column] / unit, rtol=1e-14)
        assert name == "fig3" or f"{part['ratio'].iloc[-1]:.0%}" in [text.get_text() for text in panel.texts]


def test_operator_marks_the_paper_and_draws_both_sources() -> None:
    frame = taken("cbdrf/operator").query("grant == 'scaled'")
    panels = figure("cbdrf/operator").axes
    paper = frame.query("ratio == 1 and step_down == 0.1")
    assert len(paper) == 2
    for panel in panels:
        assert panel.lines[-1].get_xydata()[0] == pytest.approx([0.1, paper["worth"].mean()], rel=1e-9)
        assert (panel.get_xscale(), panel.get_ylim()) == ("log", (0, 1))
    assert "equal steps\nof a tenth" in [text.get_text() for text in panels[0].texts]
    lines = [line for line in panels[0].lines if line.get_marker() == "None"]
    marks = [line for line in panels[0].lines[:-1] if line.get_linestyle() == "None"]
    for line, mark, ratio in zip(lines, marks, (1, 2, 5, 10), strict=True):
        for source, one in (("closed form", line), ("dynamic programme", mark)):
            part = frame[(frame["source"] == source) & (frame["ratio"] == ratio)].sort_values("step_down")
            part = part[part["worth"] < (2 if one is mark else 1)]
            where = np.isin(one.get_xdata(), part["step_down"])
            np.testing.assert_array_equal(one.get_xydata()[where], part[["step_down", "worth"]])


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
            assert float(texts[where]) == pytest.approx(mean, abs=0.0501 if mean < 19.9 else 0.501)
        order = np.argsort(part["mean"].to_numpy(), kind="stable")
        assert (np.diff([shades[found[k]] for k in order]) <= 0.02).all()  # the more, the darker


def test_rows_are_the_mechanisms_by_what_they_hand_out() -> None:
    assert tuple(compare.TRACES) == compare_study.TRACES
    names = [text.get_text() for text in figure("compare/shares").axes[0].get_yticklabels()]
    assert names[0].split() == ["DRF;", "cbDRF;", "Karma;", "TV-DRF,", "fluid"]  # one row for those that agree


def test_comparison_without_numbers() -> None:
    some = stored("compare/lying").copy()
    some.loc[some["mechanism"] == "drf", ["mean", "low", "high"]] = np.nan
    panel = compare.lying(some).figure.axes[0]  # what was not measured leaves a gap
    assert [text.get_text() for text in panel.texts[:3]] == ["-"] * 3
    none = some.assign(mean=0.0, low=0.0, high=0.0)  # and where all is zero nothing is shaded
    assert {bar.get_facecolor() for bar in compare.lying(none).figure.axes[1].patches} == {(1.0, 1.0, 1.0, 1.0)}


# ------------------------------------------------------------------------------------------ DMFA-SRQ, foundations


def test_shares_of_three_users() -> None:
    (panel,) = figure("dmfa_srq/fig1").axes
    bars = sorted((round(bar.get_x() + bar.get_width() / 2), bar.get_x(), bar.get_height()) for bar in panel.patches)
    np.testing.assert_allclose([height for _, _, height in bars], [1 / 4, 1 / 3, 1 / 3, 1 / 3, 1 / 3, 1 / 2])
    assert sorted(text.get_text() for text in panel.texts) == ["1/2", "1/3", "1/3", "1/3", "1/3", "1/4"]


def test_every_user_is_drawn_on_one_scale() -> None:
    left, right = figure("dmfa_srq/fig2").axes
    assert (left.get_xlim(), left.get_ylim()) == (right.get_xlim(), right.get_ylim())


@pytest.mark.parametrize("name", ["dmfa_srq/fig3", "dmfa_srq/fig4"])
def test_shares_by_contribution(name: str) -> None:
    frame, (panel,) = taken(name), figure(name).axes
    for line, columns in zip(panel.lines, (["weight", "share"], ["first_weight", "first_share"]), strict=False):
        np.testing.assert_array_equal(line.get_xydata(), frame[columns])
    heights = panel.collections[0].get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (frame["low"].min(), frame["high"].max())
    np.testing.assert_array_equal(*panel.lines[2].get_data())


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


def test_pools_plane_and_course() -> None:
    frame = taken("foundations/pools")
    for panel, (_, part) in zip(figure("foundations/pools").axes, frame.groupby("rule", sort=False), strict=True):
        assert [bar.get_width() for bar in panel.patches] == pytest.approx(part["share"].tolist())
    (panel,) = figure("foundations/plane").axes
    assert panel.lines[-2].get_xydata()[-1].tolist() == panel.lines[-1].get_xydata()[0].tolist() == [3, 2]
    for panel, part in zip(
        figure("foundations/course").axes, parts(taken("foundations/course"), kind=("user", "resource")), strict=True
    ):
        assert [line.get_label() for line in panel.lines] == list(dict.fromkeys(part["name"]))


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


def test_gains_are_those_of_the_frame() -> None:
    table = taken("gdrf/mixes").set_index(["against", "machines", "measure"])
    for panel, measure in zip(figure("gdrf/mixes").axes, ("tasks", "fairness"), strict=True):
        for (row, against), (machines, shift) in product(enumerate(gdrf_study.BASELINES), ((60, -0.16), (300, 0.16))):
            wanted = table.loc[(against, machines, measure)]
            found = [list(line.get_xdata()) for line in panel.lines if np.allclose(line.get_ydata(), row + shift)]
            assert found == [[wanted["p05"], wanted["p95"]], [wanted["median"]], [wanted["paper"]]]


def test_readings_of_gdrf_lie_within_their_lines() -> None:
    frame = taken("gdrf/readings")
    kinds = list(frame[["match", "machine_type"]].drop_duplicates().itertuples(index=False, name=None))
    assert len(kinds) == len(gdrf._TYPES)
    for panel, measure in zip(figure("gdrf/readings").axes, ("tasks", "fairness"), strict=True):
        found = dots(panel)
        for (place, kind), (row, against) in product(enumerate(gdrf._TYPES), enumerate(gdrf_study.BASELINES)):
            gains = frame.loc[
                (frame["match"] == kind[0]) & (frame["machine_type"] == kind[1]) & (frame["against"] == against),
                measure,
            ]
            wanted = [gains.median(), row + 0.16 * (place - 2), gains.min(), gains.max()]
            np.testing.assert_allclose(found[place * len(gdrf_study.BASELINES) + row], wanted, atol=1e-12)


def test_dots_of_gdrf_are_those_of_the_frame() -> None:
    frame = taken("gdrf/ablation")
    names = list(dict.fromkeys(frame["variant"]))
    panels = figure("gdrf/ablation").axes
    for panel, measure in zip(panels, ("tasks", "min_share"), strict=True):
        part = frame[frame["measure"] == measure].set_index("variant").loc[names]
        found = dots(panel)
        np.testing.assert_allclose(
            found[np.argsort(found[:, 1])][:, [0, 2, 3]], part[["change", "change_low", "change_high"]], atol=1e-12
        )
    assert [text.get_text() for text in panels[0].get_yticklabels()] == names
    means = taken("gdrf/bounds").set_index(["measure", "mechanism", "machines"])
    cases = list(product(enumerate((*gdrf_study.MECHANISMS, "drfh_fluid")), ((60, -0.15), (300, 0.15))))
    for panel, measure in zip(figure("gdrf/bounds").axes, ("packed", "of_level"), strict=True):
        wanted = [
            [row["mean"], place + shift, row["low"], row["high"]]
            for (place, name), (size, shift) in cases
            for row in [means.loc[(measure, name, size)]]
        ]
        np.testing.assert_allclose(dots(panel), wanted)


def test_every_machine_is_a_tile() -> None:
    frame = taken("gdrf/cell_machines").query("case == 'trace'")
    *panels, _ = (panel for panel in figure("gdrf/cell_machines").axes if panel.get_visible())
    for panel, name in zip(panels, [None, *dict.fromkeys(frame["mechanism"])], strict=True):
        (image,) = panel.get_images()
        pixels = np.asarray(image.get_array()).reshape(-1, 3)
        found = pd.Series([tuple(row) for row in pixels[(pixels != 255).any(axis=1)].tolist()]).value_counts()
        assert found.sum() == 12583
        if name is None:
            assert len(found) == 1
            continue
        rows = frame[frame["mechanism"] == name]
        tints = gdrf._tint(rows["cpu"].to_numpy(), rows["memory"].to_numpy()).tolist()
        wanted = rows.groupby(pd.Series(map(tuple, tints), rows.index))["machines"].sum()
        assert found.to_dict() == wanted.to_dict()


def test_idle_machines_are_light_and_idle_resources_have_their_colour() -> None:
    busy, idle, no_cpu, no_memory = gdrf._tint(np.array([1.0, 0, 0, 1]), np.array([1.0, 0, 1, 0])).astype(int)
    assert busy.sum() < 150 < 600 < idle.sum()
    assert no_cpu[0] > no_cpu[2] + 100  # orange
    assert no_memory[2] > no_memory[0] + 100  # blue
    steps = gdrf._tint(np.linspace(1, 0.5, 6), np.ones(6)).astype(int)
    assert (np.diff(steps[:, 0]) > 0).all()


# ---------------------------------------------------------------------------------------------------------- TV-DRF


@pytest.mark.parametrize("name", ["tv_drf/fig1", "tv_drf/fig2"])
def test_bubbles_stand_where_the_tasks_are(name: str) -> None:
    frame, (panel,) = taken(name), figure(name).axes
    spots = panel.collections[0]
    area = np.maximum(900 * frame["tasks"] / frame["tasks"].max(), 3).round()
    wanted = set(zip(frame["memory"].round(2), frame["cpu"], area, strict=True))
    assert {(x, y, size) for (x, y), size in zip(spots.get_offsets(), spots.get_sizes(), strict=True)} == wanted
    assert len(spots.get_sizes()) == len(wanted)
    assert (np.diff(spots.get_sizes()) <= 0).all()  # small ones in front
    handles = dict(zip(entries(figure(name)), panel.get_legend().legend_handles, strict=True))
    assert handles["1 000 tasks"].get_sizes()[0] == pytest.approx(900 * 1000 / frame["tasks"].max())


def test_examples_are_drawn_as_run() -> None:
    frame = taken("tv_drf/example")
    for panel, (_, part) in zip(figure("tv_drf/example").axes, frame.groupby("user"), strict=True):
        assert [bar.get_height() for bar in panel.patches] == part[["cpu", "memory"]].to_numpy().ravel().tolist()
        own = part[["own_cpu", "own_memory"]].to_numpy().ravel().tolist()
        assert [line.get_ydata()[0] for line in panel.lines] == own
        assert [text.get_text() for text in panel.texts][:4] == [
            exact if "/" not in exact else f"{exact}\n= {beta:.4g}"
            for exact, beta in zip(part["exact"], part["beta"], strict=True)
        ]
    shares, tasks = np.split(np.array([panel.get_ylim() for panel in figure("tv_drf/memory_course").axes]), 2)
    assert np.ptp(shares, axis=0).tolist() == np.ptp(tasks, axis=0).tolist() == [0, 0]


def rows_of(name: str) -> list[str]:
    return [text.get_text() for text in figure(name).axes[0].get_yticklabels()]


def test_losses_and_gaps_are_those_of_the_frame() -> None:
    frame = taken("tv_drf/losses")
    cases = list(frame[["mechanism", "alone"]].drop_duplicates().itertuples(index=False, name=None))
    assert rows_of("tv_drf/losses") == [f"{LOOKS[name].label}, {alone.replace('_', ' ')}" for name, alone in cases]
    for panel, (_, rows) in zip(figure("tv_drf/losses").axes, frame.groupby("n"), strict=True):
        found = {
            (cases[round(line.get_ydata()[0])], line.get_markerfacecolor() == "white"): line.get_xdata()[0]
            for line in panel.lines
            if len(line.get_xdata())
        }
        assert found == {
            ((row.mechanism, row.alone), row.unserved == "expires"): row.below for row in rows.itertuples()
        }
    frame = taken("tv_drf/gaps")
    names = {"machines": "machines as they are", "merged": "one machine"}
    pairs = list(product(dict.fromkeys(frame["n"]), dict.fromkeys(frame["packing"])))
    assert rows_of("tv_drf/gaps") == [f"{n} users, {names[packing]}" for n, packing in pairs]
    for panel, columns in zip(
        figure("tv_drf/gaps").axes, (("mean", "worst"), ("total_share", "total_share_least")), strict=True
    ):
        for k, queue in enumerate(("waits", "expires")):
            found = dots(panel)[k * len(pairs) :][: len(pairs)]
            assert [pairs[round(y)] for y in found[:, 1]] == pairs
            rows = frame[frame["unserved"] == queue].set_index(["n", "packing"]).loc[pairs, list(columns)].to_numpy()
            ends = rows if columns[0] == "mean" else 1 - rows
            np.testing.assert_allclose(found[:, [0, 2, 3]], ends[:, [0, 0, 1]], atol=1e-12)
            assert (panel.containers[k].lines[0].get_markerfacecolor() == "white") == (queue == "expires")


def test_readings_of_tv_drf_are_those_of_the_frame() -> None:
    frame = taken("tv_drf/readings")
    changed = [(point, value) for point, values in tv_study.READINGS.items() for value in list(values)[1:]]
    assert rows_of("tv_drf/readings") == ["as in the figures", *(f"{point}: {value}" for point, value in changed)]
    least = frame[frame["measure"] == "min_share"]
    moves = set(least.loc[least["low"] * least["high"] > 0, "point"] + ": " + least["value"])
    panels = figure("tv_drf/readings").axes
    names = [text.get_text() for text in panels[2].get_yticklabels()]
    assert names == [f"{point}: {value}" for point, value in changed if f"{point}: {value}" in moves]
    for panel, measure, cases in zip(
        panels,
        ("cpu", "memory", "min_share"),
        ([("periods", "20"), *changed],) * 2 + ([case for case in changed if f"{case[0]}: {case[1]}" in moves],),
        strict=True,
    ):
        part = pd.concat(
            [one.set_index(["point", "value"]).loc[cases] for one in parts(frame, measure=[measure], n=(5, 20))]
        )
        ends = part[["low", "high"]].to_numpy() / part[["alone"]].to_numpy()
        np.testing.assert_allclose(dots(panel)[:, [0, 2, 3]], np.column_stack([part["gain"], ends]), atol=1e-12)
        assert (dots(panel)[:, 1].round() == np.tile(np.arange(len(cases)), 2)).all()


# ------------------------------------------------------------------------------------------------- virtual clusters


def test_gains_have_the_printed_band() -> None:
    for panel, most in zip(figure("virtual_cluster/gains").axes, (0.4, 0.5), strict=True):
        (band,) = panel.patches
        area = band.get_extents().transformed(panel.transData.inverted())
        assert [area.ymin, area.ymax] == pytest.approx([0.2, most])


def test_best_and_worst_are_those_of_the_frame() -> None:
    frame = taken("virtual_cluster/gaps")
    for panel, (size, users) in zip(figure("virtual_cluster/gaps").axes, vc_study.CASES, strict=True):
        rows = frame[(frame["size"] == size) & (frame["users"] == users)]
        marks = [line for line in panel.lines if line.get_marker() == "o"]
        wanted = rows[["worst", "common"]].to_numpy().ravel()
        np.testing.assert_allclose([line.get_xdata()[0] for line in marks], wanted)
        assert [to_hex(line.get_markerfacecolor()) == "#ffffff" for line in marks] == [True, False] * len(rows)


def test_blocks_are_the_vms() -> None:
    frame = taken("virtual_cluster/packing")
    capacities = [int(size) for size in frame["all_clusters"].iloc[0].split()]
    panels, heads = figure("virtual_cluster/packing").axes, notes(figure("virtual_cluster/packing"))
    for panel, head, (_, rows) in zip(panels, heads, frame.groupby("method", sort=False), strict=True):
        filled = [bar for bar in panel.patches if bar.get_fill()]
        outlines = [
            bar.get_height() for bar in panel.patches if not bar.get_fill() and to_hex(bar.get_edgecolor()) == "#000000"
        ]
        assert outlines == capacities
        assert sum(bar.get_height() for bar in filled) == rows["vms"].sum()
        for j, size in enumerate(capacities):
            own = rows[rows["cluster"] == j]
            bars = [bar for bar in filled if round(bar.get_x() + 0.4) == j]
            assert sum(bar.get_height() for bar in bars) == own["vms"].sum() <= size
            assert max(bar.get_y() + bar.get_height() for bar in bars) == own["vms"].sum()  # one upon the other
            dark = [
                bar
                for bar in bars
                if to_hex(bar.get_facecolor()).upper() in (style.COLOURS["marine"], style.COLOURS["flame"])
            ]
            assert sum(bar.get_height() for bar in dark) == own["minimum"].sum()
        least = rows["fraction"].min()
        red = [bar for bar in filled if to_hex(bar.get_facecolor()).upper() == style.COLOURS["flame"]]
        assert len(red) == (rows["fraction"] == least).sum()
        assert [int(text.get_text()) for text in panel.texts if text.get_text().isdigit()] == [
            round(100 * value) for j in range(5) for value in rows.loc[rows["cluster"] == j, "fraction"]
        ]
        assert f"{100 * least:.0f}" in head
    crowded = vc_study.packing(users=24, methods="relaxation")
    assert f"{(crowded['cluster'] < 0).sum()} turned away" in notes(vc.packing(crowded).figure)[0]


def test_what_is_promised_is_that_of_the_frame() -> None:
    sure = taken("virtual_cluster/price").query("method == 'guaranteed'")
    lines = {line.get_label(): line for line in figure("virtual_cluster/price").axes[0].lines}
    np.testing.assert_array_equal(lines["promised by the theorem"].get_xydata(), sure[["per_cluster", "mean"]])


def test_each_curve_has_its_name_at_its_end() -> None:
    for panel in figure("virtual_cluster/fig2").axes:
        ends = {line.get_label(): line.get_xydata()[-1] for line in panel.lines}
        names = {text.get_text(): text for text in panel.texts}
        assert set(names) == set(ends)
        assert [text.xy[0] for text in names.values()] == pytest.approx([ends[name][0] for name in names])
        in_order = sorted(names, key=lambda name: ends[name][1])
        assert sorted(names, key=lambda name: names[name].xy[1]) == in_order  # moved apart, never past each other
