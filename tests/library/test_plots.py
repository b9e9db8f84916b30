"""Results as people meet them: printed, in a notebook, drawn."""

from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import fairbook as fb
from fairbook.mechanisms import registry
from tests.library.test_protocol import data

matplotlib.use("Agg")


def _drawn(result: Any) -> tuple[Any, list[str]]:
    """Draw a result to the last letter; give the panel, and what its legend says."""
    panel = Figure().add_subplot()
    assert result.plot(panel) is panel
    panel.figure.canvas.draw()
    return panel, [text.get_text().replace(r"\$", "$") for text in panel.get_legend().get_texts()]


@pytest.mark.parametrize("name", registry)
def test_every_result_prints_shows_and_draws_itself(name: str) -> None:
    result = registry[name].function(**data(name))
    assert len(repr(result).splitlines()) <= 12
    assert repr(result).startswith(f"{type(result).__name__}: 3 users")
    assert "ann" in repr(result)
    assert "<table" in result._repr_html_()
    panel, legend = _drawn(result)
    assert panel.get_title().startswith(name.removesuffix("_by_task"))
    assert panel.get_title().endswith(", 3 users")
    assert panel.get_ylabel()
    assert sorted(", ".join(legend).split(", ")) == ["ann", "bob", "cyd"]


@pytest.mark.parametrize("name", registry)
@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["$x^$", "a$", "$"], ["$x^$", "a$", "$"]),
        (["_a", "_b", "_c"], ["_a", "_b", "_c"]),
        ([("a", 1), ("a", 2), 1], ["('a', 1)", "('a', 2)", "1"]),
        ([1, "1", 2], ["1", "1", "2"]),
        (["\x1b[2J", "a\nb", "\0"], [r"\x1b[2J", r"a\nb", r"\x00"]),
        (["x" * 99, "y", "z"], ["x" * 21 + "...", "y", "z"]),
    ],
)
def test_any_names_can_be_drawn(name: str, names: list[Any], shown: list[str]) -> None:
    index = pd.Index(names, dtype=object, tupleize_cols=False)
    given = data(name)
    if name == "virtual_cluster":
        given["max_vms"] = given["max_vms"].set_axis(index)
    else:
        phased = isinstance(given["demands"], list)
        frames = [one.set_axis(index) for one in (given["demands"] if phased else [given["demands"]])]
        given["demands"] = frames if phased else frames[0]
    result = registry[name].function(**given)
    _, legend = _drawn(result)
    assert all(any(one in line for line in legend) for one in shown)
    for text in (result._repr_html_(), repr(result)):
        assert all(c.isprintable() or c == "\n" for c in text)


def test_bars_reach_what_is_in_use() -> None:
    a = fb.drf([[1, 4], [3, 1]], capacities=[9, 18])
    bars = a.plot(Figure().add_subplot()).patches
    tops = [bar.get_y() + bar.get_height() for bar in bars]
    np.testing.assert_allclose(tops[2:], a.utilisation)
    assert [bar.get_height() for bar in bars[:2]] == pytest.approx([3 / 9, 12 / 18])


def test_resources_that_are_written_alike_have_bars_of_their_own() -> None:
    a = fb.drf(pd.DataFrame([[1, 4], [3, 1]], columns=[1, "1"]), capacities={1: 9, "1": 18})
    panel, _ = _drawn(a)
    assert [round(bar.get_x() + bar.get_width() / 2) for bar in panel.patches] == [0, 1, 0, 1]
    assert [one.get_text() for one in panel.get_xticklabels()] == ["1", "1"]
    names = ["cpu", "memory", "ephemeral-storage", "pods"]  # of Kubernetes
    panel, _ = _drawn(fb.drf(pd.DataFrame([[1, 1, 1, 1]], columns=names), capacities=[1, 1, 1, 1]))
    ends = [one.get_window_extent() for one in panel.get_xticklabels()]
    assert all(left.x1 <= right.x0 for left, right in zip(ends, ends[1:]))


def test_of_many_users_the_largest_have_a_colour_and_the_legend_says_what_is_grey() -> None:
    demands = np.ones((200, 2))
    demands[7] = [2, 1]
    big = fb.drf(demands, weights=[3 if i == 9 else 1 for i in range(200)], capacities=[9, 18])
    panel, legend = _drawn(big)
    assert (len(legend), legend[-1], "9" in legend) == (9, "192 others together", True)
    tops = {}
    for bar in panel.patches:
        tops[round(bar.get_x(), 3)] = bar.get_y() + bar.get_height()
    np.testing.assert_allclose(list(tops.values()), big.utilisation)
    assert len(panel.patches) == 9 * 2  # no user is a stripe
    assert len(repr(big).splitlines()) <= 12
    panel, legend = _drawn(fb.dmfa_srq(demands + np.arange(200)[:, None] / 999, weights=np.arange(1, 201)))
    assert legend[-1] == "192 others"
    assert {legend[0], legend[7]} == {"0", "199"}


def test_lines_that_coincide_are_one_or_lie_behind_each_other() -> None:
    released = np.ones((4, 5))
    released[:, 4] = 0
    legend = _drawn(fb.cbdrf([np.ones((5, 1))] * 4, capacities=[5], released=released))[1]
    assert legend == ["0, 1, 2 and 1 more", "4"]
    first, second, third = (
        fb.dmfa_srq([[1, 0.5], [0.5, 1], [1, 1]], weights=[1, 1, 1]).plot(Figure().add_subplot()).lines
    )
    assert first.get_linewidth() > second.get_linewidth() >= third.get_linewidth()  # they meet at the second arrival


@pytest.mark.parametrize("method", ["best_fit", "fluid"])
def test_a_placement_shows_whose_tasks_are_where(method: str) -> None:
    p = fb.drfh([[1, 2], [2, 1]], [[4, 4], [4, 8]], method=method)
    panel, legend = _drawn(p)
    assert legend == ["0", "1"]
    tasks = p.states.tasks.toarray() if method == "best_fit" else p.by_class
    use = tasks.T[:, :, None] * p.cell.demands[:, None] / p.cell.machines  # users, machines, resources
    np.testing.assert_allclose([bar.get_height() for bar in panel.patches], use.ravel(), atol=1e-12)


def test_many_machines_stand_from_the_fullest_on() -> None:
    panel, legend = _drawn(fb.drfh([[1, 2], [2, 1]], [[4, 4]], machine_counts=[60], max_tasks=[50, 9]))
    assert "fullest" in panel.get_xlabel()
    assert (len(panel.collections), legend) == (2, ["0", "1"])
    assert panel.collections[0].get_paths()[0].get_extents().intervalx.tolist() == [-0.5, 59.5]  # as wide at the ends
    clusters = fb.virtual_cluster([5] * 50, tolerance=0.5, capacities=[6] * 50, method="greedy")
    panel, legend = _drawn(clusters)
    assert (len(panel.lines), legend[-1]) == (1, "42 others together")


@pytest.mark.parametrize("method", ["best_fit", "fluid"])
def test_machines_go_by_their_names_and_may_lack_a_resource(method: str) -> None:
    machines = pd.DataFrame([[8, 0], [4, 2]], ["plain", "gpu"], ["cpu", "gpu"])
    placed = fb.drfh(pd.DataFrame([[1, 0], [1, 1]], columns=["cpu", "gpu"]), machines, method=method)
    panel = placed.plot(Figure().add_subplot())
    assert [one.get_text() for one in panel.get_xticklabels()] == ["plain", "gpu"]


def test_capacities_may_be_a_dict() -> None:
    demands = pd.DataFrame([[1, 4], [3, 1]], columns=["cpu", "memory"])
    assert fb.drf(demands, capacities={"memory": 18, "cpu": 9}).tasks.tolist() == [3.0, 2.0]
    with pytest.raises(fb.InvalidInput, match="capacities"):
        fb.drf(demands, capacities={"memory": 18, "disk": 9})
