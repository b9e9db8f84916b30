"""Cells and placements: what is computed from the list of tasks, names, and every violation provoked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

import fairbook as fb
from fairbook.model.placement import as_cell
from tests.cells import cells, instance
from tests.strategies import FEW


def by_hand(placed: fb.Placement) -> np.ndarray:
    """Count the tasks of each user on each machine."""
    runs = np.zeros((int(placed.cell.machine_counts.sum()), len(placed.users)), int)
    for i, j in zip(placed.placed_user.tolist(), placed.placed_machine.tolist()):
        runs[j, i] += 1
    return runs


@FEW
@given(cell=cells())
def test_what_follows_from_the_list_of_tasks(cell: Any) -> None:
    placed = fb.gdrf(instance(cell))
    demands, machines, counts, _ = cell
    runs, size = by_hand(placed), np.repeat(machines, counts, axis=0)
    assert len(placed) == runs.sum()
    assert placed.tasks.tolist() == runs.sum(axis=0).tolist()
    assert (placed.machine_use == runs @ demands).all()
    there = size > 0
    use = np.divide(runs @ demands, size, out=np.full_like(size, np.nan), where=there)
    assert np.array_equal(placed.machine_utilisation, use, equal_nan=True)
    for r in range(size.shape[1]):
        if there[:, r].any():
            assert placed.mean_utilisation[r] == pytest.approx(use[there[:, r], r].mean(), rel=1e-12)
            assert placed.utilisation[r] == pytest.approx((runs @ demands)[:, r].sum() / size[:, r].sum(), rel=1e-12)
        else:
            assert np.isnan([placed.mean_utilisation[r], placed.utilisation[r]]).all()
    share = [max(d / s for d, s in zip(row, size.sum(axis=0)) if s) for row in demands]
    assert placed.dominant_shares == pytest.approx(runs.sum(axis=0) * share, rel=1e-12)
    by_class = [sum(runs[placed.cell.machine_class == k], 0 * runs[0]) for k in range(len(machines))]
    assert placed.by_class.tolist() == np.array(by_class).tolist()
    assert placed.class_use == pytest.approx(placed.by_class @ demands, rel=1e-12)
    assert placed.use + placed.slack == pytest.approx(size.sum(axis=0), rel=1e-12)


@FEW
@given(cell=cells())
def test_states_are_the_machines_grouped(cell: Any) -> None:
    placed = fb.gdrf(instance(cell))
    kinds, machines, tasks = placed.states
    expected: dict[tuple[int, ...], int] = {}
    for k, row in zip(placed.cell.machine_class.tolist(), by_hand(placed).tolist()):
        expected[k, *row] = expected.get((k, *row), 0) + 1
    found = [(int(k), *row) for k, row in zip(kinds, tasks.tolist())]
    assert found == list(expected)  # in order of the first machine, each once
    assert machines.tolist() == list(expected.values())
    assert machines.sum() == sum(cell[2])
    assert (machines @ tasks).tolist() == placed.tasks.tolist()


def test_room_is_where_one_more_task_would_fit() -> None:
    placed = fb.gdrf([[2, 1], [1, 3]], [[4, 4], [5, 2]], [2, 2], max_tasks=[2, 1], match="same")
    demands, left = placed.cell.demands, placed.cell.machines[placed.cell.machine_class] - placed.machine_use
    for i in range(2):
        assert placed.room(i).tolist() == [j for j in range(4) if (left[j] >= demands[i]).all()]
    with pytest.raises(fb.InvalidInput, match="user must be one of the users"):
        placed.room("nobody")


def named() -> fb.Placement:
    demands = pd.DataFrame({"cpu": [1.0, 4.0], "memory": [3.0, 1.0]}, ["ann", "bob"])
    machines = pd.DataFrame({"cpu": [8.0, 4.0], "memory": [8.0, 16.0]}, ["large", "fat"])
    return fb.gdrf(demands, machines, pd.Series({"large": 1, "fat": 2}), max_tasks=pd.Series({"ann": 6, "bob": np.inf}))


def test_frames() -> None:
    placed = named()
    frame = placed.to_frame()
    assert frame.index.tolist() == ["ann", "bob"]
    assert frame["tasks"].tolist() == placed.tasks.tolist()
    assert frame["dominant_share"].tolist() == placed.dominant_shares.tolist()
    assert frame["machines"].tolist() == (by_hand(placed) > 0).sum(axis=0).tolist()
    assert frame["stopped_by"].tolist() == ["own bound", "no room"]
    kinds = placed.machine_frame()
    runs = by_hand(placed)
    assert kinds.index.tolist() == ["large", "fat"]
    assert kinds["machines"].tolist() == [1, 2]
    assert kinds["tasks"].tolist() == [runs[0].sum(), runs[1:].sum()]
    assert kinds["utilisation_memory"].tolist() == [placed.machine_use[0, 1] / 8, placed.machine_use[1:, 1].sum() / 32]
    same_only = fb.gdrf([[1, 2]], [[4, 2], [2, 4]], match="same").to_frame()
    assert same_only["stopped_by"].tolist() == ["no room where it may go"]


def test_a_class_without_a_resource() -> None:
    placed = fb.gdrf([[1, 0], [1, 1]], [[4, 0], [4, 4]])
    assert placed.machine_frame()["utilisation_1"].isna().tolist() == [True, False]
    assert placed.mean_utilisation[1] == placed.machine_utilisation[1, 1]
    nobody = fb.gdrf([[1, 0]], [[4, 0]])
    assert np.isnan(nobody.mean_utilisation).tolist() == [False, True]
    assert np.isnan(nobody.utilisation).tolist() == [False, True]


FLUID = fb.drfh([[1, 1], [1, 1], [1, 0]], [[24, 4]], max_tasks=[1, np.inf, np.inf], method="fluid")


@pytest.mark.parametrize(("placed", "user", "parts"), [
    (named(), "ann", ["ann runs 6 tasks", "all that it asked for"]),
    (named(), "bob", ["bob runs", "none of the 3 machines has room", "for want of cpu alone"]),
    (fb.gdrf([[9, 1]], [[4, 4]]), 0, ["0 runs 0 tasks", "even if it were empty"]),
    (fb.gdrf([[1, 2]], [[4, 2], [2, 4]], match="same"), 0, ["1 machines would have room", "gdrf does not use them"]),
    (FLUID, 0, ["0 runs 1 tasks at level 0.75", "all that it asked for"]),
    (FLUID, 1, ["1 runs 3 tasks", "every class of machines that it can use is full (0 on 1, 1 on 1)"]),
    (FLUID, 2, ["2 runs 20 tasks", "is full (0 on 1)"]),
    (fb.drfh([[1, 1], [1, 0]], [[4, 0], [0, 4]], method="fluid"), 0, ["no class of machines has all the resources"]),
    (replace(FLUID, by_class=FLUID.by_class / 2), 2, ["room for more on 1 of the classes, but drfh_fluid does"]),
])
def test_explanations(placed: Any, user: Any, parts: list[str]) -> None:
    told = placed.explain(user)
    assert all(part in told for part in parts), told
    with pytest.raises(fb.InvalidInput, match="user must be one of the users"):
        placed.explain("nobody")


# ------------------------------------------------------------------------------------------------ violations


def test_violations_are_found() -> None:
    placed = fb.gdrf([[1, 2], [2, 1]], [[4, 4]], [2], max_tasks=[4, 4])
    assert placed.violations() == []
    users, machines = placed.placed_user, placed.placed_machine
    one_more = replace(placed, placed_user=np.append(users, users[-1:]), placed_machine=np.append(machines, 0))
    assert any("machine 0 holds" in one and "more than its 4" in one for one in one_more.violations())
    tight = replace(placed, cell=replace(placed.cell, max_tasks=np.array([1.0, 4.0])))
    assert [one for one in tight.violations() if "more than its bound" in one] == ["0 has 2 tasks, more than its bound"]
    fewer = replace(placed, placed_user=users[:-1], placed_machine=machines[:-1])
    assert any("has room for another task" in one for one in fewer.violations())
    assert replace(fewer, full=False).violations() == []


def test_violations_of_a_fluid_placement_are_found() -> None:
    fluid = fb.drfh([[1, 2], [2, 1]], [[4, 4], [40, 40]], max_tasks=[5, 50], method="fluid")
    assert fluid.violations() == []
    more = fluid.by_class.copy()
    more[0] *= 1.001
    assert all("overdrawn" in one for one in replace(fluid, by_class=more).violations())
    assert len(replace(fluid, by_class=more).violations()) >= 1
    assert "some tasks are negative" in replace(fluid, by_class=-fluid.by_class).violations()
    bounded = replace(fluid, cell=replace(fluid.cell, max_tasks=np.array([4.9, 50])))
    assert bounded.violations() == ["0 has more tasks than its bound"]


# ------------------------------------------------------------------------------------------------ cells


def test_totals_are_added_up_in_order() -> None:
    # a matrix product rounds as the processor does, and the totals may decide which of two machines is taken
    rng = np.random.default_rng(3)
    machines, counts, total = rng.random((97, 3)) + 0.1, rng.integers(1, 99, 97), np.zeros(3)
    for machine, count in zip(machines, counts, strict=True):
        total += count * machine
    assert as_cell([[1, 1, 1]], machines, counts).totals.tolist() == total.tolist()


def test_cells() -> None:
    cell = as_cell([[1, 2], [2, 1]], [[4, 4], [2, 8]], [3, 1], [1.5, np.inf])
    assert cell.totals.tolist() == [14, 20]
    assert cell.machine_class.tolist() == [0, 0, 0, 1]
    assert cell.shares.tolist() == [[1 / 14, 2 / 20], [2 / 14, 1 / 20]]
    assert cell.max_tasks.tolist() == [1, np.inf]
    assert (cell.users, cell.resources, cell.classes) == ((0, 1), (0, 1), (0, 1))
    assert as_cell([[1, 2]], [4, 4]).machines.tolist() == [[4, 4]]  # one class


