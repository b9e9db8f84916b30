"""The drawings of the comparison: what they show, the same bytes each time, and fit to print."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

from book.common import style
from book.compare import figures as draw
from book.compare import studies as study
from book.compare.properties import ENTRANTS
from fairbook.errors import InvalidInput
from tests.drawings import Drawings, notes

MEASURES = {"moment": study.MOMENT, "day": study.DAY, "lying": ("paying", "gain")}


@cache
def frame(name: str) -> pd.DataFrame:
    """Make up a frame as the studies give it; every number in it is another one."""
    rng = np.random.default_rng(3)
    rows = [{"trace": trace, "mechanism": mechanism, "measure": measure, "mean": (mean := 0.1 + 0.8 * rng.random()),
             "low": mean - 0.05, "high": mean + 0.05, "runs": 5}
            for trace in study.TRACES for mechanism in study.MECHANISMS for measure in MEASURES[name]]
    return pd.DataFrame(rows)


#: Every drawing with the frame that it takes and the measures that it shows, one a panel.
SHOWN = {"shares": ("moment", ("min_share", "min_placed", "sum_share")), "use": ("moment", ("utilisation", "placed")),
         "envy": ("moment", ("envious", "losers", "loss")), "lying": ("lying", ("paying", "gain")),
         "arrivals": ("moment", ("taken",)), "day": ("day", ("min_share", "loss", "done"))}
held = Drawings({
    "shares": lambda: draw.shares(frame("moment")),
    "use": lambda: draw.use(frame("moment")),
    "envy": lambda: draw.envy(frame("moment")),
    "lying": lambda: draw.lying(frame("lying")),
    "arrivals": lambda: draw.arrivals(frame("moment")),
    "day": lambda: draw.day(frame("day")),
}, draw)
svg = held.svg
each = pytest.mark.parametrize("name", SHOWN)


def test_all_drawings_are_here() -> None:
    held.are_all()


@each
def test_same_bytes_each_time(name: str) -> None:
    held.same_each_time(name)


def test_settings_of_the_caller_neither_count_nor_change() -> None:
    held.same_with_other_settings(["shares", "day"])


def test_drawing_touches_nothing() -> None:
    held.touch_nothing({name: frame(SHOWN[name][0]) for name in ("use", "lying")})


@each
def test_texts_can_be_read(name: str) -> None:
    held.words_fit(name)


@each
def test_panels_apart(name: str) -> None:
    held.panels_apart(name)


@each
def test_seen_on_white(name: str) -> None:
    held.seen_on_white(name)


def test_rows_are_the_mechanisms_by_what_they_hand_out() -> None:
    kinds: dict[str, dict[str, str]] = {}
    for one in ENTRANTS.values():
        kinds.setdefault(one.kind, {})[one.name] = one.label
    assert kinds == draw.GROUPS
    assert tuple(draw.TRACES) == study.TRACES


@each
def test_every_mark_is_where_its_number_is(name: str) -> None:
    table, measures = SHOWN[name]
    figure = held.ready(name)
    heads = dict(zip(figure.axes[0].get_yticks(), [text.get_text() for text in figure.axes[0].get_yticklabels()]))
    for panel, measure in zip(figure.axes, measures, strict=True):
        part = style.of_measure(frame(table), measure)
        assert len(panel.containers) == len(study.TRACES)
        for trace, marks in zip(study.TRACES, panel.containers):
            rows = part[part["trace"] == trace].set_index("mechanism")
            line, _, (bars,) = marks.lines
            seen = {}
            for x, y, bar in zip(line.get_xdata(), line.get_ydata(), bars.get_segments()):
                row = min(heads, key=lambda place: abs(place - y))  # the nearest name is the one that is meant
                assert abs(row - y) < 0.3
                seen[heads[row]] = (x, bar[0][0], bar[1][0])
            assert seen == {ENTRANTS[key].label: pytest.approx(tuple(rows.loc[key, ["mean", "low", "high"]]))
                            for key in study.MECHANISMS}
            low, high = panel.get_xlim()
            assert (rows["mean"].between(low, high)).all()


def test_traces_differ_in_colour_and_marker() -> None:
    assert len({trace.colour for trace in draw.TRACES.values()}) == len(draw.TRACES)
    assert len({trace.marker for trace in draw.TRACES.values()}) == len(draw.TRACES)


@each
def test_no_titles_and_lower_case_labels(name: str) -> None:
    figure = held.ready(name)
    assert notes(figure) == []
    for panel in figure.axes:
        assert panel.get_title() == ""
        assert panel.get_xlabel()[0].islower()


def test_a_measure_that_was_not_measured_leaves_a_gap() -> None:
    some = frame("lying").copy()
    some.loc[some["mechanism"] == "drf", ["mean", "low", "high"]] = np.nan
    panel = draw.lying(some).figure.axes[0]
    assert len(panel.containers[0].lines[0].get_xdata()) == len(study.MECHANISMS) - 1


def test_where_all_is_zero_the_axis_still_has_a_length() -> None:
    none = frame("lying").assign(mean=0.0, low=0.0, high=0.0)
    assert np.ptp(draw.lying(none).figure.axes[1].get_xlim()) > 0.5


@pytest.mark.parametrize("column", ["trace", "mechanism", "measure"])
def test_frames_that_are_not_meant(column: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        draw.shares(frame("moment").assign(**{column: "nonsense"}))
    assert caught.value.where == "frame"


def test_drawings_are_svg() -> None:
    assert isinstance(draw.use(frame("moment")), style.Svg)
