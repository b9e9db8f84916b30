"""The drawings of all chapters, each made once from its stored frame: what they show, and fit to print."""

from collections.abc import Callable
from functools import cache
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from book.common import style
from book.common.style import LOOKS
from book.compare import figures as compare
from book.dmfa_srq import figures as dmfa
from book.gdrf import figures as gdrf, studies as gdrf_study
from book.virtual_cluster import figures as vc, studies as vc_study
from fairbook.errors import InvalidInput
from tests.drawings import (
    apart,
    contrast,
    curves_are,
    drawn,
    entries,
    labelled,
    legends,
    notes,
    visible,
    words_fit,
)
from tests.pages_drawn import Frame, clusters, draw, each, figure, parts, picture, stored, taken

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
    labelled(made, units=not name.startswith("foundations"))
    words_fit(made, made.axes[0].texts if scheme else None)
    if not scheme:
        apart(made)
    visible(made, lines=not name.startswith(("dmfa_srq", "foundations")), faint=("DRF",) if scheme else ())
    assert entries(made) == LEGENDS.get(name, entries(made))
    assert notes(made) == NOTES.get(name, notes(made))


#: What a caller may have set, and no drawing may show.
ODD = {
    "lines.linewidth": 9,
    "font.size": 20,
    "legend.frameon": True,
    "axes.grid": False,
    "svg.hashsalt": "x",
    "axes.facecolor": "black",
    "axes.labelsize": 30,
    "patch.linewidth": 5,
    "xtick.labelsize": 3,
}


@pytest.mark.parametrize(
    "name",
    [
        "cbdrf/fig1",
        "cbdrf/nodes",
        "cbdrf/operator",
        "compare/day",
        "dmfa_srq/fig3",
        "dmfa_srq/gap",
        "dmfa_srq/water",
        "foundations/pools",
        "gdrf/fig1",
        "gdrf/example",
        "gdrf/mixes",
        "tv_drf/fig1",
        "tv_drf/leads",
        "tv_drf/comparison",
        "tv_drf/losses",
        "virtual_cluster/free",
        "virtual_cluster/packing",
        "virtual_cluster/tariffs",
    ],
)
def test_settings_of_the_caller_neither_count_nor_change(name: str) -> None:
    _, plain = picture(name)
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
    "cbdrf/comparison": ["DRF", "cbDRF", "cbDRF, weighted", "cbDRF, capped"],
    "cbdrf/hoarding": ["hold, returns", "hold, stays", "release all"],
    "cbdrf/operator": [
        *(f"$\\varepsilon$\N{PRIME}$\\,/\\,\\varepsilon={k}$" for k in (1, 2, 5, 10)),
        "cbDRF",
        "cbDRF, weighted",
        "cbDRF, capped",
    ],
    **same([f"compare/{name}" for name in compare.__all__], []),
    "dmfa_srq/fig1": ["user 1", "user 2", "user 3"],
    "dmfa_srq/fig3": ["mean of 1000 runs", "first run", "what was brought"],
    "dmfa_srq/fig5": ["DMFA-SRQ", "static weighted DRF", "what was brought"],
    **same(("dmfa_srq/levels", "dmfa_srq/water"), ["lowest level $M^k$"]),
    **same([f"gdrf/fig{k}" for k in (1, 2, 3, 4)], PLACED),
    "gdrf/example": ["user A", "user B", "user C"],
    "gdrf/mixes": [
        "60 machines, 90 of 100 mixes",
        "300 machines, 90 of 100 mixes",
        "the one mix",
        "printed in the paper",
    ],
    "gdrf/readings": [
        "nearest, by share",
        "nearest, by amount",
        "as printed, by share",
        "as printed, by amount",
        "no types",
        "printed in the paper",
    ],
    "tv_drf/fig1": ["100 tasks", "1 000 tasks"],
    **same([f"tv_drf/{name}" for name in ("utilisation", "comparison")], FOUR),
    "tv_drf/example": ["CPU", "memory", "what it would have had alone", "sharing coefficient, the lesser ratio"],
    "tv_drf/memory_course": [f"{rule}, user {user}" for rule in ("TV-DRF", "DRF per period") for user in "AB"],
    "tv_drf/losses": QUEUES,
    "tv_drf/gaps": QUEUES,
    "tv_drf/readings": ["5 users", "20 users"],
    **same(("virtual_cluster/of_bound", "virtual_cluster/free"), []),  # names stand at the ends of the curves
    "virtual_cluster/gains": ["printed in the paper", *SIX[1:]],
    "virtual_cluster/spread": SIX[:3],
    "virtual_cluster/tariffs": ["all tell the truth", "equilibrium", "all say 0.9"],
}
NOTES: dict[str, list[str]] = {
    "cbdrf/fig4": [f"node {k} never complies" for k in (1, 1, 2, 2)],
    "cbdrf/fig5": ["node 1 complies"] * 2 + ["node 2 never complies"] * 2,
    "cbdrf/comparison": ["what is held returns", "what is held stays"],
    "cbdrf/operator": ["time of recovery", "grant"],
    **same([f"compare/{name}" for name in compare.__all__], []),
    **same(["dmfa_srq/fig5"], [f"$n = {n}$" for n in (20, 100, 500)]),
    **same([f"gdrf/fig{k}" for k in (1, 2, 3, 4)], ["one mix", "mean over random mixes"]),
    "tv_drf/comparison": [f"{n} users, tasks wait" for n in (5, 20)],
    "tv_drf/example": ["user A", "user B"],
    "tv_drf/memory_course": ["TV-DRF", "DRF per period"],
    **same(
        ("virtual_cluster/gains", "virtual_cluster/spread", "virtual_cluster/of_bound"),
        ["5 clusters, 320 VMs", "8 clusters, 1000 VMs"],
    ),
    "virtual_cluster/gaps": [f"{5 if size == 'small' else 8} clusters, {n} users" for size, n in vc_study.CASES],
}


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


def both_sizes(measure: str) -> Callable[[Frame], list[Frame]]:
    return lambda frame: parts(
        enough(frame)[enough(frame)["method"].isin(vc._SHOWN)],
        measure=[measure],
        variance=["variance"],
        size=("small", "large"),
    )


#: Horizontal axis, column that tells curves apart, and the part of the frame in each panel.
CURVES: dict[str, tuple[str, str, Callable[[Frame], list[Frame]]]] = {
    "cbdrf/comparison": (
        "defectors",
        "mechanism",
        lambda frame: parts(frame, measure=("utilisation", "complying", "defecting"), held=("returns", "stays")),
    ),
    "dmfa_srq/fig5": (
        "k",
        "mechanism",
        lambda frame: parts(frame[frame["mechanism"] != "difference"], n=(20, 100, 500)),
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
    "tv_drf/leads": (
        "period",
        "mechanism",
        lambda panels: [part[part["mechanism"] == "difference"] for part in panels.values()],
    ),
    "tv_drf/comparison": ("period", "mechanism", grid("min_share", "behind", "memory")),
    "virtual_cluster/of_bound": ("load", "method", both_sizes("ratio")),
    "virtual_cluster/free": ("load", "method", both_sizes("remaining")),
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
        (lambda: vc.of_bound(clusters("small").query("measure == 'y'")), "measure ratio"),
        (lambda: vc.free(clusters("small"), "both"), "variance"),
        (lambda: vc.gains(stored("virtual_cluster/curves"), "both"), "variance"),
        (lambda: vc.spread(stored("virtual_cluster/spread"), "both"), "variance"),
    ],
)
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
    for look in [*LOOKS.values(), *vc._STATED.values()]:
        assert look.colour in style.COLOURS.values()
        assert contrast(look.colour, "white") >= 3, look


def test_numbers_in_drawings() -> None:
    assert [style.percent(value, 0) for value in (-0.025, 0.3, 0.07)] == ["\N{MINUS SIGN}2.5", "30", "7"]
    assert [style.number(value) for value in (12583, -0.5, 1e6)] == ["12 583", "\N{MINUS SIGN}0.5", "1 000 000"]


@cache
def three_panels(change: Callable[[Any], object] = lambda panel: None) -> Figure:
    made, panels = style.axes(1, 3)
    for panel in panels:
        panel.set(xlabel="side (m)", ylabel="height (m)")
    change(panels[0])
    return drawn(style.Svg(made))[0]


@pytest.mark.parametrize(
    ("check", "change"),
    [
        (words_fit, lambda panel: panel.figure.text(0.95, 0.5, "cut off at the edge")),
        (words_fit, lambda panel: [panel.text(0.2, 0.5, word) for word in ("one", "other")]),
        (words_fit, lambda panel: panel.text(0.2, 0.5, "small", fontsize=7)),
        (
            words_fit,
            lambda panel: (panel.text(0.4, 0.5, "below"), panel.plot([0, 1], label="x"), panel.legend(loc="center")),
        ),
        (apart, lambda panel: (panel.plot([0, 1], label="x"), panel.figure.legend(loc="center"))),
        (apart, lambda panel: (panel.plot([0, 1], label="x"), panel.legend(loc="center"))),
        (apart, lambda panel: panel.figure.add_axes((0.2, 0.2, 0.5, 0.5))),
        (visible, lambda panel: panel.plot([0, 1], color=style.COLOURS["yellow"])),
        (visible, lambda panel: panel.text(0.2, 0.5, "pale", color=style.COLOURS["orange"])),
        (labelled, lambda panel: panel.set_title("what it is")),
        (labelled, lambda panel: panel.set_ylabel("Of Course (part)")),
        (labelled, lambda panel: panel.set_ylabel("no unit")),
        (lambda made: None, lambda panel: panel.text(0.2, 0.5, "drawn on 2020-02-02")),
    ],
)
def test_a_bad_drawing_is_noticed(check: Callable[[Figure], None], change: Callable[[Any], object]) -> None:
    check(three_panels())
    with pytest.raises(AssertionError):
        check(three_panels(change))
    assert legends(three_panels()) == []
