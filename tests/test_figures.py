"""The drawings of all chapters, each made once from its stored frame: what they show, and fit to print."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from itertools import product
from types import ModuleType
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import fairbook as fb
from book.cbdrf import figures as cbdrf
from book.cbdrf import studies as cbdrf_study
from book.common import style
from book.common.runs import stream
from book.common.style import LOOKS
from book.compare import figures as compare
from book.compare import studies as compare_study
from book.compare.properties import ENTRANTS
from book.dmfa_srq import figures as dmfa
from book.dmfa_srq import studies as dmfa_study
from book.foundations import figures as foundations
from book.foundations import studies as groundwork
from book.gdrf import figures as gdrf
from book.gdrf import studies as gdrf_study
from book.tv_drf import figures as tv
from book.tv_drf import studies as tv_study
from book.virtual_cluster import figures as vc
from book.virtual_cluster import studies as vc_study
from fairbook.errors import InvalidInput
from tests.drawings import (
    apart,
    box,
    contrast,
    curves_are,
    dots,
    drawn,
    entries,
    labelled,
    legends,
    notes,
    visible,
    words_fit,
)

Frame = pd.DataFrame
MODULES: dict[str, ModuleType] = {"cbdrf": cbdrf, "compare": compare, "dmfa_srq": dmfa, "foundations": foundations,
                                  "gdrf": gdrf, "tv_drf": tv, "virtual_cluster": vc}


@cache
def stored(name: str) -> Frame:
    """Give what is stored now, though sources may have changed since."""
    return fb.results.load(name, check=False)


def thirty() -> fb.DynamicAllocation:
    return fb.dmfa_srq(*dmfa_study.instance(stream(2016, 30, 0), 30))


def three() -> fb.DynamicAllocation:
    return fb.dmfa_srq([[1, 0.5], [0.5, 1], [0.5, 1]], [3, 3, 6])


def two() -> fb.Allocation:
    demands = Frame([[1, 4], [3, 1]], index=["ann", "bob"], columns=["cpu", "memory"])
    return fb.drf(demands, capacities=[9, 18])


@cache
def periods(n: int | None = None, name: str | None = None) -> Frame:
    """Give the curves of TV-DRF for one number of users, or for those of Figures 4 to 7."""
    if name is None:
        name = f"curves_{n}" if n else "curves_20"
    frame = stored(f"tv_drf/{name}")
    return frame[frame["n"] == n] if n else pd.concat([frame, stored("tv_drf/curves_100")], ignore_index=True)


def clusters(size: str) -> Frame:
    frame = stored("virtual_cluster/curves")
    return frame[frame["size"] == size]


#: What each drawing takes, as its page gives it; where nothing is said here, what is stored under its name.
TAKEN: dict[str, Callable[[], Any]] = {
    **{f"cbdrf/{name}": getattr(cbdrf_study, name) for name in ("fig1", "fig2", "fig3", "fig4", "fig5", "blanks")},
    "cbdrf/nodes": cbdrf_study.fig5,
    **{f"compare/{name}": lambda: stored("compare/moment") for name in ("shares", "use", "envy", "arrivals")},
    "dmfa_srq/fig1": dmfa_study.fig1, "dmfa_srq/fig2": dmfa_study.fig2, "dmfa_srq/gap": dmfa_study.stored_end_points,
    "dmfa_srq/levels": thirty, "dmfa_srq/water": three,
    "foundations/pools": lambda: groundwork.shares({"DRF": two(), "again": two()}),
    "foundations/plane": lambda: groundwork.plane(two()), "foundations/course": lambda: groundwork.course(two()),
    **{f"gdrf/{name}": lambda: stored("gdrf/curves") for name in ("fig1", "fig2", "fig3", "fig4", "utilisation")},
    "gdrf/example": gdrf_study.example,
    **{f"tv_drf/{name}": getattr(tv_study, name) for name in ("fig1", "fig2", "example", "memory_course")},
    "tv_drf/fig3": lambda: periods(5), "tv_drf/fig4": lambda: periods(20), "tv_drf/fig5": lambda: periods(20),
    "tv_drf/fig6": lambda: periods(100), "tv_drf/fig7": lambda: periods(100), "tv_drf/utilisation": periods,
    "tv_drf/comparison": lambda: stored("tv_drf/curves_busy").query("unserved == 'waits'"),
    "virtual_cluster/fig2": lambda: clusters("small"), "virtual_cluster/fig3": lambda: clusters("small"),
    "virtual_cluster/fig4": lambda: clusters("large"), "virtual_cluster/fig5": lambda: clusters("large"),
    "virtual_cluster/gains": lambda: stored("virtual_cluster/curves"), "virtual_cluster/packing": vc_study.packing,
}
MORE: dict[str, dict[str, Any]] = {"dmfa_srq/water": {"steps": [1, 2, 3], "resource": 1}}
DRAWINGS = [f"{paper}/{name}" for paper, module in MODULES.items() for name in module.__all__]
each = pytest.mark.parametrize("name", DRAWINGS)


@cache
def taken(name: str) -> Any:
    return TAKEN.get(name, lambda: stored(name))()


def draw(name: str) -> style.Svg:
    paper, function = name.split("/")
    shown: style.Svg = getattr(MODULES[paper], function)(taken(name), **MORE.get(name, {}))
    return shown


@cache
def figure(name: str) -> Figure:
    return drawn(draw(name))


# ------------------------------------------------------------------------------------------------ fit to be printed


@each
def test_a_drawing_is_fit_to_print_and_touches_nothing(name: str) -> None:
    plt.close("all")
    frame, settings = taken(name), dict(mpl.rcParams)
    before = frame.copy() if isinstance(frame, Frame) else None
    shown = draw(name)
    made = drawn(shown)
    if before is not None:
        pd.testing.assert_frame_equal(frame, before)
    assert plt.get_fignums() == []
    assert dict(mpl.rcParams) == settings
    assert repr(shown) == "<figure>"
    scheme = name == "cbdrf/fig1"  # no axes; its boxes hold words
    labelled(made, units=not name.startswith("foundations"))
    words_fit(made, made.axes[0].texts if scheme else None)
    if not scheme:
        apart(made)
    visible(made, lines=not name.startswith(("dmfa_srq", "foundations")), faint=("DRF",) if scheme else ())


#: What a caller may have set, and no drawing may show.
ODD = {"lines.linewidth": 9, "font.size": 20, "legend.frameon": True, "axes.grid": False, "svg.hashsalt": "x",
       "axes.facecolor": "black", "axes.labelsize": 30, "patch.linewidth": 5, "xtick.labelsize": 3}


@pytest.mark.parametrize("name", [
    "cbdrf/fig1", "cbdrf/nodes", "cbdrf/blanks", "compare/day", "dmfa_srq/fig3", "dmfa_srq/fig6", "dmfa_srq/gap",
    "dmfa_srq/water", "foundations/pools", "gdrf/fig1", "gdrf/example", "gdrf/mixes", "tv_drf/fig1", "tv_drf/fig3",
    "tv_drf/comparison", "tv_drf/losses", "virtual_cluster/fig3", "virtual_cluster/packing", "virtual_cluster/tariffs"])
def test_settings_of_the_caller_neither_count_nor_change(name: str) -> None:
    plain = draw(name)._repr_svg_()
    with mpl.rc_context(ODD):
        before = dict(mpl.rcParams)
        assert draw(name)._repr_svg_() == plain
        assert dict(mpl.rcParams) == before


same = dict.fromkeys
QUEUES = ["what does not run waits", "what does not run expires"]
FOUR = ["TV-DRF", "exact optimum", "DRF per period", "no sharing"]
SIX = [LOOKS[name].label for name in vc_study.METHODS]
PLACED = [LOOKS[name].label for name in gdrf_study.MECHANISMS]
LEGENDS: dict[str, list[str]] = {
    "cbdrf/fig2": ["cbDRF, CPU", "cbDRF, memory", "DRF"],
    "cbdrf/fig3": ["cbDRF, CPU", "cbDRF, memory", "DRF", "cbDRF, granted", "withheld"],
    **same(("cbdrf/fig4", "cbdrf/fig5"), ["DRF", "cbDRF, granted", "withheld"]),
    "cbdrf/nodes": ["node A", "node B"],
    "cbdrf/blanks": ["0.1", "0.05", "0.2", "0.5", "0.1", "0.02", "0.05", "0.3", "none", "1.2", "1", "0", "0.3", "0.6"],
    "cbdrf/comparison": ["DRF", "cbDRF", "cbDRF, weighted", "cbDRF, capped"],
    "cbdrf/hoarding": ["DRF", "cbDRF", "cbDRF, weighted", "cbDRF, capped", "Karma"],
    "cbdrf/operator": [*(rf"$\varepsilon^{{\prime}}\,/\,\varepsilon={k}$" for k in (1, 2, 5, 10)),
                       *(rf"$\rho={rho}$, $\delta={delta}$" for rho, delta in
                         ((0.75, 0.99), (0.5, 0.99), (0.9, 0.99), (0.75, 0.9))),
                       "cbDRF", "cbDRF, weighted", "cbDRF, capped"],
    **same([f"compare/{name}" for name in compare.__all__],
                    ["Google 2011", "Alibaba 2017", "Alibaba 2023, with GPUs"]),
    "dmfa_srq/fig1": ["user 1", "user 2", "user 3"],
    **same(("dmfa_srq/fig3", "dmfa_srq/fig4"), [
        "DMFA-SRQ, mean of 1000 runs", "DMFA-SRQ, first run alone", "contribution, $x = w$"]),
    "dmfa_srq/fig5": ["DMFA-SRQ", "static weighted DRF", "what was brought"],
    **same([f"dmfa_srq/fig{k}" for k in (6, 7, 8)], ["DMFA-SRQ", "static weighted DRF"]),
    **same(("dmfa_srq/levels", "dmfa_srq/water"), ["lowest level $M^k$"]),
    **same([f"gdrf/fig{k}" for k in (1, 2, 3, 4)], PLACED),
    "gdrf/example": ["user A", "user B", "user C"],
    "gdrf/mixes": ["60 machines, 90 of 100 mixes", "300 machines, 90 of 100 mixes", "the one mix",
                   "printed in the paper"],
    "tv_drf/fig1": ["100 tasks", "1 000 tasks"],
    **same([f"tv_drf/{name}" for name in ("fig3", "fig7", "utilisation", "comparison")], FOUR),
    "tv_drf/example": ["CPU", "memory", "what it would have had alone", "sharing coefficient, the lesser ratio"],
    "tv_drf/memory_course": [f"{rule}, user {user}" for rule in ("TV-DRF", "DRF per period") for user in "AB"],
    "tv_drf/losses": QUEUES,
    "tv_drf/gaps": ["mean", "95 of 100 are within", "worst", "filled: waits", "open: expires"],
    "tv_drf/readings": ["5 users", "20 users"],
    **same(("virtual_cluster/fig2", "virtual_cluster/fig4"), [*SIX, "upper bound"]),
    **same(("virtual_cluster/fig3", "virtual_cluster/fig5"), SIX),
    "virtual_cluster/gains": ["printed in the paper", *SIX[1:]], "virtual_cluster/spread": SIX[:3],
    "virtual_cluster/dynamic": list(vc_study.POLICIES),
    "virtual_cluster/course": ["gap, surplus", "maxima only", "optimum, free moves"],
    "virtual_cluster/tariffs": ["all tell the truth", "equilibrium", "all say 0.9"],
    "virtual_cluster/tolerance_price": ["load 0.94", "load 1.12", "load 1.31", "load 1.50", "minimum, $1-k$"],
}
NEVER = "which never releases enough"
BASE = [f"over {gdrf.NAMES[name]}" for name in gdrf_study.BASELINES]
NOTES: dict[str, list[str]] = {
    "cbdrf/fig4": [f"node {k}, {NEVER}" for k in (1, 1, 2, 2)],
    "cbdrf/fig5": ["node 1, which complies"] * 2 + [f"node 2, {NEVER}"] * 2,
    "cbdrf/comparison": ["what is held returns", "what is held stays"],
    "cbdrf/hoarding": ["what hoarders hold returns", "what hoarders hold stays", "hoarders release all"],
    "cbdrf/blanks": ["step down; the node never complies", "step up; the node complies from phase 6 on",
                     "cap; the node fails in phases 6 to 10", "floor; the node never complies"],
    "cbdrf/operator": ["steps", "threshold and patience", "grant"],
    **same([f"compare/{name}" for name in compare.__all__], []),
    **same([f"dmfa_srq/fig{k}" for k in (5, 6, 7, 8)], [f"$n = {n}$" for n in (20, 100, 500)]),
    **same([f"gdrf/fig{k}" for k in (1, 2, 3, 4)], ["one mix", "mean over random mixes"]),
    "gdrf/readings": BASE,
    "tv_drf/fig3": [note for queue in QUEUES for note in (queue, "TV-DRF minus no sharing")],
    "tv_drf/fig4": [note for queue in QUEUES for note in (queue, "TV-DRF minus no sharing")],
    "tv_drf/utilisation": [f"{n} users; {queue}" for n, queue in product((20, 100), QUEUES)],
    "tv_drf/comparison": [f"{n} users; {QUEUES[0]}" for n in (5, 20)], "tv_drf/example": ["user A", "user B"],
    "tv_drf/memory_course": ["TV-DRF", "DRF per period"],
    **same([f"virtual_cluster/fig{k}" for k in (2, 3, 4, 5)], ["variance 10", "standard deviation 10"]),
    **same([f"virtual_cluster/{name}" for name in ("gains", "spread", "spanning_gain")],
                    ["5 clusters, 320 VMs", "8 clusters, 1000 VMs"]),
    "virtual_cluster/gaps": [f"{5 if size == 'small' else 8} clusters, {n} users" for size, n in vc_study.CASES],
}


@each
def test_legends_and_panels_are_named(name: str) -> None:
    assert entries(figure(name)) == LEGENDS.get(name, entries(figure(name)))
    assert notes(figure(name)) == NOTES.get(name, notes(figure(name)))


# ------------------------------------------------------------------------------------- curves are those of the frame


def parts(frame: Frame, **choices: Iterable[Any]) -> list[Frame]:
    """Cut a frame into one part a panel: all combinations of what columns may be, the last fastest."""
    return [frame[np.all([frame[column] == one for column, one in zip(choices, values, strict=True)], axis=0)]
            for values in product(*choices.values())]


def hoards(frame: Frame) -> list[Frame]:
    cases = frame[["conduct", "held"]].drop_duplicates().itertuples(index=False, name=None)
    return [part for conduct, held in cases for part in parts(
        frame, conduct=[conduct], held=[held], measure=("useful", "honest", "switch"))]


def each_machine(frame: Frame) -> list[Frame]:
    vms = frame[frame["measure"] == "tasks"]
    values = ["mean", "low", "high"]
    return parts(vms, mix=("paper", "random")) + parts(
        vms.assign(**vms[values].div(vms["machines"], axis=0)), mix=("paper", "random"))


def leads(measure: str) -> Callable[[Frame], list[Frame]]:
    """Two panels for each way with unserved tasks: the mechanisms, and the difference."""
    return lambda frame: [part[(part["mechanism"] == "difference") == last] for part in parts(
        frame, measure=[measure], unserved=dict.fromkeys(frame["unserved"])) for last in (False, True)]


def grid(*measures: str) -> Callable[[Frame], list[Frame]]:
    return lambda frame: [part[part["mechanism"] != "difference"] for part in parts(
        frame, n=dict.fromkeys(frame["n"]), unserved=dict.fromkeys(frame["unserved"]), measure=measures)]


def enough(frame: Frame, most: int | None = None) -> Frame:
    """Means over ten runs or more; a part of the runs lies between 0 and 1, and so does its interval."""
    frame = frame[(frame["runs"] >= min(10, most or frame["runs"].max())) & frame["mean"].notna()]
    part = frame["measure"] == "everybody"
    return frame.assign(low=frame["low"].where(~part, frame["low"].clip(0, 1)),
                        high=frame["high"].where(~part, frame["high"].clip(0, 1)))


def settings(*measures: str) -> Callable[[Frame], list[Frame]]:
    return lambda frame: parts(enough(frame), measure=measures, variance=("variance", "deviation"))


MEANS = ("fig5", "fig6", "fig7", "fig8")
#: Horizontal axis, column that tells curves apart, and the part of the frame in each panel.
CURVES: dict[str, tuple[str, str, Callable[[Frame], list[Frame]]]] = {
    "cbdrf/comparison": ("defectors", "mechanism", lambda frame: parts(
        frame, held=("returns", "stays"), measure=("utilisation", "complying", "defecting"))),
    "cbdrf/hoarding": ("hoarders", "mechanism", hoards),
    **{f"dmfa_srq/{name}": ("k", "mechanism", lambda frame: parts(
        frame[frame["mechanism"] != "difference"], n=(20, 100, 500))) for name in MEANS},
    "gdrf/fig1": ("machines", "mechanism", each_machine),
    **{f"gdrf/{name}": ("machines", "mechanism", lambda frame, measures=measures: parts(
        frame, measure=measures, mix=("paper", "random"))) for name, measures in {
            "fig2": ("cpu", "cpu_mean"), "fig3": ("memory", "memory_mean"),
            "fig4": ("fairness", "fairness_mean", "fairness_present", "fairness_whole")}.items()},
    **{f"tv_drf/{name}": ("period", "mechanism", leads(measure)) for name, measure in {
        "fig3": "min_share", "fig4": "cpu", "fig5": "memory", "fig6": "cpu", "fig7": "memory"}.items()},
    "tv_drf/utilisation": ("period", "mechanism", grid("cpu", "memory")),
    "tv_drf/comparison": ("period", "mechanism", grid("min_share", "behind", "memory")),
    **same(("virtual_cluster/fig2", "virtual_cluster/fig4"),
                    ("load", "method", settings("y", "everybody", "y_common"))),
    **same(("virtual_cluster/fig3", "virtual_cluster/fig5"),
                    ("load", "method", settings("remaining", "remaining_common"))),
    "virtual_cluster/gains": ("load", "method", lambda frame: parts(
        enough(frame)[~enough(frame)["method"].isin(["relaxation", "bound"])], measure=["gain"],
        variance=["variance"], size=("small", "large"))),
    "virtual_cluster/spread": ("load", "method", lambda frame: parts(
        frame[frame["sd"].notna() & frame["method"].isin(("relaxation", "greedy", "mixed_knapsack"))].assign(
            mean=frame["sd"], low=frame["sd_low"], high=frame["sd_high"]), variance=["variance"],
        size=("small", "large"))),
    "virtual_cluster/price": ("per_cluster", "method", lambda frame: [frame[frame["method"] != "guaranteed"]]),
    "virtual_cluster/spanning_gain": ("load", "measure", lambda frame: [
        part[part["measure"].isin(shown)].replace({"measure": {"gain": "difference"}})
        for shown in (("exact", "spanning"), ("gain",)) for part in parts(enough(frame), size=("small", "large"))]),
    "virtual_cluster/dynamic": ("load", "policy", lambda frame: parts(frame, measure=(
        "admitted", "slowdown", "fraction", "min_fraction", "revenue", "taken"))),
    "virtual_cluster/tariffs": ("load", "statement", lambda frame: parts(
        enough(frame), method=["exact"], measure=("revenue", "min_fraction", "hurt"))),
    "virtual_cluster/trace": ("load", "method", lambda frame: parts(
        enough(frame[frame["method"] != "wanted"]), measure=("y_served", "everybody", "remaining"))),
}
OWN = {"virtual_cluster/dynamic": vc._POLICIES, "virtual_cluster/tariffs": vc._STATED,
       **same([f"dmfa_srq/{name}" for name in MEANS], dmfa._LOOK)}


@pytest.mark.parametrize("name", CURVES)
def test_curves_are_those_of_the_frame(name: str) -> None:
    x, key, cut = CURVES[name]
    for panel, part in zip(figure(name).axes, cut(taken(name)), strict=True):
        curves_are(panel, part, x, key, OWN.get(name, LOOKS))


def test_what_is_over_each_panel_of_hoarders_is_what_the_frame_has_there() -> None:
    frame = taken("cbdrf/hoarding")
    assert [*frame[["conduct", "held"]].drop_duplicates().itertuples(index=False, name=None)] == [
        ("holds", "returns"), ("holds", "stays"), ("releases", "returns")]


# ----------------------------------------------------------------------------------------------------------- cbDRF


def test_figure_1_tells_the_run_in_boxes_that_hold_their_words() -> None:
    (panel,) = figure("cbdrf/fig1").axes
    words = "\n".join(text.get_text().replace("\n", " ") for text in panel.texts)
    for piece in ("25 CPU, 500 memory", "10 tasks", r"$1\times 10$ = 10 tasks", "5 of 10 tasks released: 0.5",
                  "$0.5<0.75$: no", "$1-0.1$ = 0.9", "C_0)=0.9$", r"$0.9\times 5$ = 4.5 tasks", "4.5 of 4.5",
                  r"$1\geq0.75$: yes", "$0.9+0.1$ = 1", "C_0)=1$", "phase 1", "phase 2", "phase 3"):
        assert piece in words, piece
    other = cbdrf.fig1(cbdrf_study.fig1().assign(tasks=[7.0, 2.0])).figure.axes[0]
    assert sum(text.get_text().endswith(("= 7 tasks", "= 2 tasks")) for text in other.texts) == 2
    boxes = [patch.get_window_extent() for patch in panel.patches if isinstance(patch, mpl.patches.FancyBboxPatch)]
    around = [(one, box(text)) for text in panel.texts for one in boxes
              if one.contains(*((box(text).p0 + box(text).p1) / 2))]
    assert len(boxes) == len(around) == 12
    assert all((one.p0 <= text.p0).all() and (text.p1 <= one.p1).all() for one, text in around)


@pytest.mark.parametrize(("name", "last"), [("fig2", 0.1), ("fig3", 0.9)])
def test_both_resources_are_drawn_and_coincide(name: str, last: float) -> None:
    cpu, memory, whole = figure(f"cbdrf/{name}").axes[0].lines
    frame = taken(f"cbdrf/{name}")
    for line, resource in ((cpu, "CPU"), (memory, "memory")):
        np.testing.assert_array_equal(line.get_xydata(), frame.loc[frame["resource"] == resource, ["phase", "ratio"]])
    assert cpu.get_ydata()[-1] == memory.get_ydata()[-1] == pytest.approx(last)
    assert set(whole.get_ydata()) == {1}
    assert cpu.get_markersize() > memory.get_markersize()
    assert cpu.get_markerfacecolor() == "none"


@pytest.mark.parametrize("name", ["fig3", "fig4", "fig5"])
def test_amounts_are_those_of_the_frame(name: str) -> None:
    frame = taken(f"cbdrf/{name}")
    panels = figure(f"cbdrf/{name}").axes[1 if name == "fig3" else 0:]
    cases = product(dict.fromkeys(frame["node"]), (("CPU", 1), ("memory", 1000)))
    for panel, (node, (resource, unit)) in zip(panels, cases, strict=True):
        part = frame[(frame["resource"] == resource) & (frame["node"] == node)]
        for line, column in zip(panel.lines, ("drf", "granted"), strict=True):
            np.testing.assert_allclose(line.get_ydata(), part[column] / unit, rtol=1e-14)
        assert name == "fig3" or f"{part['ratio'].iloc[-1]:.0%}" in [text.get_text() for text in panel.texts]


def test_nodes_and_blanks_are_those_of_the_frame() -> None:
    frame = taken("cbdrf/nodes").query("resource == 'CPU'")
    for line, (_, part) in zip(figure("cbdrf/nodes").axes[0].lines, frame.groupby("node"), strict=True):
        np.testing.assert_array_equal(line.get_xydata(), part[["phase", "ratio"]])
    blanks = taken("cbdrf/blanks").groupby("blank", sort=False)
    for panel, (_, part) in zip(figure("cbdrf/blanks").axes, blanks, strict=True):
        for line, (value, rows) in zip(panel.lines, part.groupby("value", sort=False), strict=True):
            np.testing.assert_array_equal(line.get_xydata(), rows[["phase", "ratio"]])
            assert line.get_label() == value
            assert (to_hex(line.get_color()).upper() == style.COLOURS["wine"]) == rows["paper"].iloc[0]


def test_operator_marks_the_paper_and_draws_both_sources() -> None:
    frame = taken("cbdrf/operator").query("grant == 'scaled' and rho == 0.75 and discount == 0.99")
    panels = figure("cbdrf/operator").axes
    paper = frame.query("ratio == 1 and step_down == 0.1")
    assert len(paper) == 2
    for panel in panels:
        assert panel.lines[-1].get_xydata()[0] == pytest.approx([0.1, paper["worth"].mean()], rel=1e-9)
        assert (panel.get_xscale(), panel.get_ylim()) == ("log", (0, 1))
    assert "default" in [text.get_text() for text in panels[0].texts]
    lines = [line for line in panels[0].lines if line.get_marker() == "None"]
    marks = [line for line in panels[0].lines[:-1] if line.get_linestyle() == "None"]
    for line, mark, ratio in zip(lines, marks, (1, 2, 5, 10), strict=True):
        for source, one in (("closed form", line), ("dynamic programme", mark)):
            part = frame[(frame["source"] == source) & (frame["ratio"] == ratio)].sort_values("step_down")
            part = part[part["worth"] < (2 if one is mark else 1)]
            where = np.isin(one.get_xdata(), part["step_down"])
            np.testing.assert_array_equal(one.get_xydata()[where], part[["step_down", "worth"]])


# ------------------------------------------------------------------------------------------------------ comparison


@pytest.mark.parametrize(("name", "measures"), {
    "shares": ("min_share", "min_placed", "sum_share"), "use": ("utilisation", "placed"),
    "envy": ("envious", "losers", "loss"), "lying": ("paying", "gain"), "arrivals": ("taken",),
    "day": ("min_share", "loss", "done")}.items())
def test_every_mark_is_where_its_number_is(name: str, measures: tuple[str, ...]) -> None:
    panels = figure(f"compare/{name}").axes
    heads = dict(zip(panels[0].get_yticks(), [text.get_text() for text in panels[0].get_yticklabels()], strict=True))
    for panel, measure in zip(panels, measures, strict=True):
        part = style.of_measure(taken(f"compare/{name}"), measure).dropna(subset=["mean"])
        assert part["mean"].between(*panel.get_xlim()).all()
        wanted = part[["mean", "low", "high"]].to_numpy()
        found = dots(panel)
        assert len(panel.containers) == len(compare_study.TRACES)
        np.testing.assert_allclose(found[:, [0, 2, 3]], wanted, atol=1e-12)
        near = [min(heads, key=lambda place, y=y: abs(place - y)) for y in found[:, 1]]
        assert [heads[place] for place in near] == [ENTRANTS[key].label for key in part["mechanism"]]
        assert (abs(np.array(near) - found[:, 1]) < 0.3).all()


def test_rows_are_the_mechanisms_by_what_they_hand_out() -> None:
    kinds: dict[str, dict[str, str]] = {}
    for one in ENTRANTS.values():
        kinds.setdefault(one.kind, {})[one.name] = one.label
    assert kinds == compare.GROUPS
    assert tuple(compare.TRACES) == compare_study.TRACES
    assert len({trace.colour for trace in compare.TRACES.values()}) == len(compare.TRACES)
    assert len({trace.marker for trace in compare.TRACES.values()}) == len(compare.TRACES)


def test_comparison_without_numbers() -> None:
    some = stored("compare/lying").copy()
    some.loc[some["mechanism"] == "drf", ["mean", "low", "high"]] = np.nan
    panel = compare.lying(some).figure.axes[0]  # what was not measured leaves a gap
    assert len(panel.containers[0].lines[0].get_xdata()) == len(ENTRANTS) - 1
    none = some.assign(mean=0.0, low=0.0, high=0.0)  # and where all is zero the axis still has a length
    assert np.ptp(compare.lying(none).figure.axes[1].get_xlim()) > 0.5


# ------------------------------------------------------------------------------------------ DMFA-SRQ, foundations


def test_shares_of_three_users() -> None:
    (panel,) = figure("dmfa_srq/fig1").axes
    bars = sorted((round(bar.get_x() + bar.get_width() / 2), bar.get_x(), bar.get_height()) for bar in panel.patches)
    np.testing.assert_allclose([height for _, _, height in bars], [1 / 4, 1 / 3, 1 / 3, 1 / 3, 1 / 3, 1 / 2])
    assert sorted(text.get_text() for text in panel.texts) == ["1/2", "1/3", "1/3", "1/3", "1/3", "1/4"]


def test_every_user_is_drawn_on_one_scale() -> None:
    left, right = figure("dmfa_srq/fig2").axes
    for panel, part in zip((left, right), parts(taken("dmfa_srq/fig2"), n=(100, 500)), strict=True):
        np.testing.assert_array_equal(panel.lines[0].get_xydata(), part[["cpu", "memory"]])
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
    for line, (_, part) in zip(panel.lines, taken("foundations/plane").groupby("part", sort=False), strict=False):
        np.testing.assert_array_equal(line.get_xydata(), part[["x", "y"]])
    for panel, part in zip(figure("foundations/course").axes, parts(
            taken("foundations/course"), kind=("user", "resource")), strict=True):
        for line, (name, rows) in zip(panel.lines, part.groupby("name", sort=False), strict=True):
            np.testing.assert_array_equal(line.get_xydata(), rows[["water", "value"]])
            assert line.get_label() == name


# ------------------------------------------------------------------------------------------------------------ GDRF


def test_the_example_is_drawn_vm_by_vm() -> None:
    frame = taken("gdrf/example").query("machine >= 0")
    *machines, steps = figure("gdrf/example").axes
    demands = dict(zip(gdrf_study.EXAMPLE.users, gdrf_study.EXAMPLE.demands, strict=True))
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


def test_every_reading_is_a_point() -> None:
    frame = taken("gdrf/readings")
    panels = [panel for panel in figure("gdrf/readings").axes if panel.get_visible()]
    for panel, against in zip(panels, gdrf_study.BASELINES, strict=True):
        points = np.concatenate([line.get_xydata() for line in panel.lines if line.get_marker() != "None"])
        wanted = frame.loc[frame["against"] == against, ["tasks", "fairness"]].to_numpy()
        assert len(points) == 120
        np.testing.assert_array_equal(points[np.lexsort(points.T)], wanted[np.lexsort(wanted.T)])


def test_dots_of_gdrf_are_those_of_the_frame() -> None:
    frame = taken("gdrf/ablation")
    names = list(dict.fromkeys(frame["variant"]))[1:]
    panels = figure("gdrf/ablation").axes
    for panel, measure in zip(panels, ("tasks", "cpu", "min_share", "fairness"), strict=True):
        part = frame[frame["measure"] == measure].set_index("variant").loc[names]
        found = dots(panel)
        np.testing.assert_allclose(found[np.argsort(found[:, 1])][:, [0, 2, 3]],
                                   part[["change", "change_low", "change_high"]], atol=1e-12)
    assert [text.get_text() for text in panels[0].get_yticklabels()] == names
    means = taken("gdrf/bounds").set_index(["mix", "measure", "mechanism", "machines"])
    cases = list(product(enumerate((*gdrf_study.MECHANISMS, "drfh_fluid")), ((60, -0.15), (300, 0.15))))
    for panel, measure in zip(figure("gdrf/bounds").axes, ("packed", "of_level", "of_most"), strict=True):
        wanted = [[row["mean"], place + shift, row["low"], row["high"]] for (place, name), (size, shift) in cases
                  for row in [means.loc[("random", measure, name, size)]]]
        np.testing.assert_allclose(dots(panel), wanted)
    largest = taken("gdrf/utilisation").query("mix == 'random' and machines == 300").set_index(["mechanism", "measure"])
    for panel, resource in zip(figure("gdrf/utilisation").axes, ("cpu", "memory"), strict=True):
        assert dots(panel)[:, 0].tolist() == [largest["mean"][name, measure] for name in gdrf_study.MECHANISMS
                                              for measure in (resource, f"{resource}_mean")]


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
    steps = gdrf._tint(np.linspace(1, .5, 6), np.ones(6)).astype(int)
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
            for exact, beta in zip(part["exact"], part["beta"], strict=True)]
    frame, panels = taken("tv_drf/memory_course"), figure("tv_drf/memory_course").axes
    for panel, (value, mechanism) in zip(panels, product(("share", "tasks"), ("tv_drf", "memoryless")), strict=True):
        for line, part in zip(panel.lines, parts(frame, mechanism=[mechanism], user="AB"), strict=True):
            np.testing.assert_array_equal(line.get_xydata(), part[["period", value]])
            assert line.get_color() == LOOKS[mechanism].colour
        assert panel.get_ylim() == panels[0 if value == "share" else 2].get_ylim()


def rows_of(name: str) -> list[str]:
    return [text.get_text() for text in figure(name).axes[0].get_yticklabels()]


def test_losses_and_gaps_are_those_of_the_frame() -> None:
    frame = taken("tv_drf/losses")
    cases = list(frame[["mechanism", "alone"]].drop_duplicates().itertuples(index=False, name=None))
    assert rows_of("tv_drf/losses") == [f"{LOOKS[name].label}, {alone.replace('_', ' ')}" for name, alone in cases]
    for panel, (_, rows) in zip(figure("tv_drf/losses").axes, frame.groupby("n"), strict=True):
        found = {(cases[round(line.get_ydata()[0])], line.get_markerfacecolor() == "white"): line.get_xdata()[0]
                 for line in panel.lines if len(line.get_xdata())}
        assert found == {((row.mechanism, row.alone), row.unserved == "expires"): row.below
                         for row in rows.itertuples()}
    frame = taken("tv_drf/gaps")
    names = {"machines": "machines as they are", "merged": "one machine"}
    pairs = list(product(dict.fromkeys(frame["n"]), dict.fromkeys(frame["packing"])))
    assert rows_of("tv_drf/gaps") == [f"{n} users, {names[packing]}" for n, packing in pairs]
    for panel, columns in zip(figure("tv_drf/gaps").axes, (
            {"o": "mean", "s": "p95", "D": "worst"}, {"o": "total_share", "D": "total_share_least"}), strict=True):
        lines = [line for line in panel.lines if line.get_marker() in columns and len(line.get_xdata())]
        for line in lines:
            n, packing = pairs[round(line.get_ydata()[0])]
            unserved = "expires" if line.get_markerfacecolor() == "white" else "waits"
            ((value,),) = frame.loc[(frame["n"] == n) & (frame["packing"] == packing) & (frame["unserved"] == unserved),
                                    [columns[line.get_marker()]]].to_numpy()
            assert line.get_xdata()[0] == pytest.approx(max(value, 3e-3) if "s" in columns else 1 - value)
        assert len(lines) == len(frame) * len(columns)
    low, high = figure("tv_drf/gaps").axes[0].get_xlim()
    assert low < 3e-3 < frame["worst"].max() < high


def test_readings_of_tv_drf_are_those_of_the_frame() -> None:
    frame = taken("tv_drf/readings")
    assert rows_of("tv_drf/readings") == [f"{point}: {value}" for point, values in tv_study.READINGS.items()
                                          for value in values]
    for panel, measure in zip(figure("tv_drf/readings").axes, ("min_share", "cpu", "memory"), strict=True):
        part = pd.concat(parts(frame, measure=[measure], n=(5, 20)))
        ends = part[["low", "high"]].to_numpy() / part[["alone"]].to_numpy()
        np.testing.assert_allclose(dots(panel)[:, [0, 2, 3]], np.column_stack([part["gain"], ends]), atol=1e-12)
        assert (dots(panel)[:, 1].round() == np.tile(np.arange(len(part) // 2), 2)).all()


# ------------------------------------------------------------------------------------------------- virtual clusters


def test_gains_have_the_printed_band() -> None:
    for panel, most in zip(figure("virtual_cluster/gains").axes, (0.4, 0.5), strict=True):
        (band,) = panel.patches
        area = band.get_extents().transformed(panel.transData.inverted())
        assert [area.ymin, area.ymax] == pytest.approx([0.2, most])


def test_best_and_worst_are_those_of_the_frame() -> None:
    frame = taken("virtual_cluster/gaps").query("whole")
    for panel, case in zip(figure("virtual_cluster/gaps").axes, vc_study.CASES, strict=True):
        rows = frame[(frame[["size", "users"]] == case).all(axis=1)]
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
        outlines = [bar.get_height() for bar in panel.patches if not bar.get_fill()
                    and to_hex(bar.get_edgecolor()) == "#000000"]
        assert outlines == capacities
        assert sum(bar.get_height() for bar in filled) == rows["vms"].sum()
        for j, size in enumerate(capacities):
            own = rows[rows["cluster"] == j]
            bars = [bar for bar in filled if round(bar.get_x() + 0.4) == j]
            assert sum(bar.get_height() for bar in bars) == own["vms"].sum() <= size
            assert max(bar.get_y() + bar.get_height() for bar in bars) == own["vms"].sum()  # one upon the other
            dark = [bar for bar in bars if to_hex(bar.get_facecolor()).upper() in (
                style.COLOURS["marine"], style.COLOURS["flame"])]
            assert sum(bar.get_height() for bar in dark) == own["minimum"].sum()
        least = rows["fraction"].min()
        red = [bar for bar in filled if to_hex(bar.get_facecolor()).upper() == style.COLOURS["flame"]]
        assert len(red) == (rows["fraction"] == least).sum()
        assert [int(text.get_text()) for text in panel.texts if text.get_text().isdigit()] == [
            round(100 * value) for j in range(5) for value in rows.loc[rows["cluster"] == j, "fraction"]]
        assert f"{100 * least:.0f}" in head
    crowded = vc_study.packing(users=24, methods="relaxation")
    assert f"{(crowded['cluster'] < 0).sum()} turned away" in notes(vc.packing(crowded).figure)[0]


def test_what_is_promised_and_the_course_of_a_run() -> None:
    sure = taken("virtual_cluster/price").query("method == 'guaranteed'")
    lines = {line.get_label(): line for line in figure("virtual_cluster/price").axes[0].lines}
    np.testing.assert_array_equal(lines["promised by the theorem"].get_xydata(), sure[["per_cluster", "mean"]])
    few = vc.dynamic(taken("virtual_cluster/dynamic"), ["reshare", "maxima only"]).figure
    assert [line.get_label() for line in few.axes[0].lines] == ["reshare", "maxima only"]
    frame = taken("virtual_cluster/course")
    for panel, column in zip(figure("virtual_cluster/course").axes, ("users", "min_fraction", "used", "revenue"),
                             strict=True):
        for line, (policy, part) in zip(panel.lines, frame.groupby("policy", sort=False), strict=True):
            np.testing.assert_array_equal(line.get_xydata(), part[["time", column]])
            assert (line.get_label(), line.get_color()) == (policy, vc._POLICIES[str(policy)].colour)


def test_tolerance_and_price_are_those_of_the_frame() -> None:
    frame = taken("virtual_cluster/tolerance_price")
    for panel, measure in zip(figure("virtual_cluster/tolerance_price").axes, ("fraction", "price"), strict=True):
        found = [line for line in panel.lines if str(line.get_label()).startswith("load")]
        for line, part in zip(found, parts(frame, measure=[measure], users=(10, 12, 14, 16)), strict=True):
            np.testing.assert_array_equal(line.get_xydata(), part[["k", "mean"]])


# ------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(("call", "rule"), [
    *((lambda column=column: compare.shares(stored("compare/moment").assign(**{column: "nonsense"})), "frame")
      for column in ("trace", "mechanism", "measure")),
    (lambda: gdrf.fig2(stored("gdrf/curves").query("measure == 'tasks'")), "measure cpu"),
    (lambda: gdrf.cell_machines(stored("gdrf/cell_machines"), "floats"), "case"),
    (lambda: tv.fig4(periods()), "one number of users"),
    (lambda: tv.fig4(periods(20).query("measure == 'memory'")), "measure cpu"),
    (lambda: vc.fig2(clusters("small").query("measure == 'y'")), "measure everybody"),
    (lambda: vc.gains(stored("virtual_cluster/curves"), "both"), "variance"),
    (lambda: vc.spread(stored("virtual_cluster/spread"), "both"), "variance"),
    (lambda: vc.gaps(stored("virtual_cluster/gaps").query("not whole")), "whole"),
    (lambda: vc.dynamic(stored("virtual_cluster/dynamic"), ["first come"]), "policies"),
    (lambda: vc.dynamic(stored("virtual_cluster/dynamic"), []), "policies"),
    (lambda: vc.tariffs(stored("virtual_cluster/tariffs"), "greedy"), "method"),
    (lambda: vc.tolerance_price(stored("virtual_cluster/tolerance_price"), [9]), "users"),
])
def test_frames_that_are_not_meant_are_refused(call: Callable[[], object], rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        call()


# ------------------------------------------------------------------------------------------------------- the style


def test_colours_are_those_of_okabe_and_ito() -> None:
    published = {
        "black": (0, 0, 0), "orange": (230, 159, 0), "sky": (86, 180, 233), "green": (0, 158, 115),
        "yellow": (240, 228, 66), "blue": (0, 114, 178), "vermilion": (213, 94, 0), "purple": (204, 121, 167),
    }  # fmt: skip
    assert {name: style.COLOURS[name] for name in published} == {
        name: to_hex([c / 255 for c in rgb]).upper() for name, rgb in published.items()
    }


def test_mechanisms_look_different_in_every_way() -> None:
    assert {"dmfa_srq", "static"} <= set(LOOKS)
    for field in ("label", "colour", "marker"):
        assert len({getattr(look, field) for look in LOOKS.values()}) == len(LOOKS)
    lines = [look.line for key, look in LOOKS.items() if key != "difference"]
    assert len(set(lines)) == len(lines)
    for look in [*LOOKS.values(), *vc._POLICIES.values(), *vc._STATED.values()]:
        assert look.colour in style.COLOURS.values()
        assert contrast(look.colour, "white") >= 3, look


def test_numbers_in_drawings() -> None:
    assert [style.percent(value, 0) for value in (-0.025, 0.3, 0.07)] == ["\N{MINUS SIGN}2.5", "30", "7"]
    assert [style.number(value) for value in (12583, -0.5, 1e6)] == ["12 583", "\N{MINUS SIGN}0.5", "1 000 000"]


@pytest.mark.parametrize(("check", "change"), [
    (words_fit, lambda panel: panel.figure.text(0.95, 0.5, "cut off at the edge")),
    (words_fit, lambda panel: [panel.text(0.2, 0.5, word) for word in ("one", "other")]),
    (words_fit, lambda panel: panel.text(0.2, 0.5, "small", fontsize=7)),
    (words_fit, lambda panel: (panel.text(0.4, 0.5, "below"), panel.plot([0, 1], label="x"),
                               panel.legend(loc="center"))),
    (apart, lambda panel: (panel.plot([0, 1], label="x"), panel.figure.legend(loc="center"))),
    (apart, lambda panel: (panel.plot([0, 1], label="x"), panel.legend(loc="center"))),
    (apart, lambda panel: panel.figure.add_axes((0.2, 0.2, 0.5, 0.5))),
    (visible, lambda panel: panel.plot([0, 1], color=style.COLOURS["yellow"])),
    (visible, lambda panel: panel.text(0.2, 0.5, "pale", color=style.COLOURS["orange"])),
    (labelled, lambda panel: panel.set_title("what it is")),
    (labelled, lambda panel: panel.set_ylabel("Of Course (part)")),
    (labelled, lambda panel: panel.set_ylabel("no unit")),
    (lambda made: None, lambda panel: panel.text(0.2, 0.5, "drawn on 2020-02-02")),
])
def test_a_bad_drawing_is_noticed(check: Callable[[Figure], None], change: Callable[[Any], object]) -> None:
    def plain(fault: bool) -> Figure:
        made, panels = style.axes(1, 3)
        for panel in panels:
            panel.set(xlabel="side (m)", ylabel="height (m)")
        if fault:
            change(panels[0])
        return drawn(style.Svg(made))

    check(plain(False))
    with pytest.raises(AssertionError):
        check(plain(True))
    assert legends(plain(False)) == []
