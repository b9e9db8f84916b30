"""Cells and placements: what is computed from the list of tasks, the rules by hand, and every violation provoked."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

import fairbook as fb
from fairbook.mechanisms.placing.gdrf import as_filled
from fairbook.mechanisms.pool import whole_tasks
from fairbook.model.placement import as_cell
from tests.cells import cells, instance, same
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
    use, total = ((np.divide(a, b, out=np.full_like(b, np.nan), where=b > 0)) for a, b in (
        (runs @ demands, size), ((runs @ demands).sum(axis=0), size.sum(axis=0))))  # fmt: skip
    np.testing.assert_array_equal(placed.machine_utilisation, use)
    np.testing.assert_allclose(placed.utilisation, total, rtol=1e-12)
    share = [max(d / s for d, s in zip(row, size.sum(axis=0)) if s) for row in demands]
    assert placed.dominant_shares == pytest.approx(runs.sum(axis=0) * share, rel=1e-12)
    assert placed.use + placed.slack == pytest.approx(size.sum(axis=0), rel=1e-12)


@FEW
@given(cell=cells())
def test_states_are_the_machines_grouped(cell: Any) -> None:
    placed = fb.gdrf(instance(cell))
    kinds, machines, tasks = placed.states
    expected: dict[tuple[int, ...], int] = {}
    for k, row in zip(placed.cell.machine_class.tolist(), by_hand(placed).tolist()):
        expected[k, *row] = expected.get((k, *row), 0) + 1
    found = [(int(k), *row) for k, row in zip(kinds, tasks.toarray().tolist())]
    assert found == list(expected)  # in order of the first machine, each once
    assert machines.tolist() == list(expected.values())
    assert machines.sum() == sum(cell[2])
    assert (machines @ tasks).tolist() == placed.tasks.tolist()


def named() -> fb.Placement:
    demands = pd.DataFrame({"cpu": [1.0, 4.0], "memory": [3.0, 1.0]}, ["ann", "bob"])
    machines = pd.DataFrame({"cpu": [8.0, 4.0], "memory": [8.0, 16.0]}, ["large", "fat"])
    return fb.gdrf(demands, machines, pd.Series({"large": 1, "fat": 2}), max_tasks=pd.Series({"ann": 6, "bob": np.inf}))


def test_frames() -> None:
    placed = named()
    runs = by_hand(placed)
    pd.testing.assert_frame_equal(
        placed.to_frame()[["tasks", "dominant_share", "stopped_by", "machines"]],
        pd.DataFrame(
            {
                "tasks": placed.tasks,
                "dominant_share": placed.dominant_shares,
                "stopped_by": ["own bound", "no room"],
                "machines": (runs > 0).sum(axis=0),
            },
            pd.Index(["ann", "bob"], name="user"),
        ),
        check_exact=True,
    )
    same_only = fb.gdrf([[1, 2]], [[4, 2], [2, 4]], match="same").to_frame()
    assert same_only["stopped_by"].tolist() == ["no room where it may go"]


FLUID = fb.drfh([[1, 1], [1, 1], [1, 0]], [[24, 4]], max_tasks=[1, np.inf, np.inf], method="fluid")


@pytest.mark.parametrize(
    ("placed", "user", "parts"),
    [
        (named(), "ann", ["ann runs 6 tasks", "all that it asked for"]),
        (named(), "bob", ["bob runs", "none of the 3 machines has room", "for want of cpu alone"]),
        (fb.gdrf([[9, 1]], [[4, 4]]), 0, ["0 runs 0 tasks", "even if it were empty"]),
        (
            fb.gdrf([[1, 2]], [[4, 2], [2, 4]], match="same"),
            0,
            ["1 machines would have room", "gdrf does not use them"],
        ),
        (FLUID, 0, ["0 runs 1 tasks at level 0.75", "all that it asked for"]),
        (
            FLUID,
            1,
            ["1 runs 3 tasks", "every class of machines that it can use is full (resource 0 on 1, resource 1 on 1)"],
        ),
        (FLUID, 2, ["2 runs 20 tasks", "is full (resource 0 on 1)"]),
        (
            fb.drfh([[1, 1], [1, 0]], [[4, 0], [0, 4]], method="fluid"),
            0,
            ["no class of machines has all the resources"],
        ),
        (replace(FLUID, by_class=FLUID.by_class / 2), 2, ["room for more on 1 of the classes, but drfh_fluid does"]),
    ],
)
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
    bounded = replace(fluid, cell=replace(fluid.cell, max_tasks=np.array([4.9, 50])))
    assert bounded.violations()[0] == "0 has more tasks than its bound"
    assert "some tasks are negative" in replace(fluid, by_class=-fluid.by_class).violations()
    assert "nothing stops 1" in replace(fluid, turn=np.array([0, 9])).violations()


def test_fluid_levels_with_weights_far_apart() -> None:
    demands, machines = [[1, 0, 1], [0, 1, 1], [1, 1, 0]], [[4, 3, 2]]
    for weights in ([1, 1e5, 1e6], [1, 8e6, 1], [1e6, 3, 2]):
        fluid = fb.drfh(demands, machines, weights=weights, method="fluid")
        assert fluid.tasks == pytest.approx(fb.drf(demands, weights=weights, capacities=machines[0]).tasks, rel=1e-5)
        assert fluid.violations() == []
    for weights in ([1, 1, 1e8], [1, 1, 1e10], [1e12, 1, 1e12]):
        with pytest.raises(fb.InvalidInput, match=r"^weights\[\d\] must be at least 1e-07 of their sum where fluid"):
            fb.drfh(demands, machines, weights=weights, method="fluid")
    with pytest.raises(fb.InvalidInput, match=r"^demands.*1.1e-09 of its largest where fluid"):
        fb.drfh([[1, 1], [1, 1e-7]], [[4, 4]], weights=[1, 1e-3], method="fluid")


# ------------------------------------------------------------------------------------------------ cells


def test_totals_are_added_up_in_order() -> None:
    # a matrix product rounds as the processor does, and the totals may decide which of two machines is taken
    rng = np.random.default_rng(3)
    machines, counts, total = rng.random((97, 3)) + 0.1, rng.integers(1, 99, 97), np.zeros(3)
    for machine, count in zip(machines, counts, strict=True):
        total += count * machine
    assert as_cell([[1, 1, 1]], machines, counts).totals.tolist() == total.tolist()


# ---------------------------------------------------------------------------------------------- rules by hand


def test_weights_that_are_equal_come_out_equal() -> None:
    """Proportional and mirrored demands have one GDRW, to the last digit: the lot decides."""
    for cell in (as_cell([[1, 1], [3, 3], [7, 7]], [[5, 4], [4, 4]], [1, 3]),
                 as_cell([[1, 3, 7], [7, 1, 3], [3, 7, 1]], [[11, 11, 11]])):  # fmt: skip
        for lot in itertools.permutations(range(3)):
            drawn = np.array(lot), np.arange(cell.demands.shape[1])
            order = as_filled(cell, drawn, least="amount", by_share=False)["order"]
            assert np.argsort(order).tolist() == list(lot)
    # of DRFH: 49 times 1/49 is not 1 in floats; who has equal levels is still served by number
    demands = np.array([[1.0, 2.0], [2.0, 1.0]] * 24 + [[1.0, 1.0]])
    plain, sevens = (fb.drfh(demands, [[49.0, 49.0]], [4], weights=one) for one in (None, np.full(49, 7)))
    assert same(sevens, (plain.placed_user.tolist(), plain.placed_machine.tolist()))
    assert plain.placed_user[:49].tolist() == list(range(49))


def test_the_lot_settles_what_is_left() -> None:
    orders = {tuple(fb.gdrf([[1, 1]] * 3, [[3, 3]], seed=seed).placed_user.tolist()) for seed in range(40)}
    assert orders == set(itertools.permutations(range(3)))
    first, again = (fb.gdrf([[1, 1]] * 9, [[3, 3]], seed=7) for _ in range(2))
    assert first.placed_user.tolist() == again.placed_user.tolist()


def test_a_machine_that_is_all_but_full_counts_as_free_for_what_fits() -> None:
    """Tasks far below the tolerance fit a machine without any room; its shape must not come out as infinite."""
    for place, engine in itertools.product((fb.drfh, fb.mdrf), ("fast", "plain")):
        given: Any = {"max_tasks": [1, 3], "engine": engine}
        assert place([[1.0, 1e-9], [1e-13, 0.2]], [[1.0, 1.0]], **given).tasks.tolist() == [1, 3]
        # what the first task leaves of the first machine has the shape of the last one
        given["max_tasks"] = [1, 0, 1]
        placed = place([[1, 0.99], [0, 0.2], [1e-13, 1e-3]], [[1, 1], [1, 1]], **given)
        assert placed.placed_machine.tolist() == [0, 0]


@pytest.mark.parametrize("sizes", [[10.9, 27.2], [12.3, 17.7], [16.7, 22.9]])
@pytest.mark.parametrize("count", [3, 5, 7, 10])
def test_machines_that_are_all_alike_have_every_type(sizes: list[float], count: int) -> None:
    """Three machines of 10.9 have a third of the pool each, though doubles add up to something else."""
    expected = fb.gdrf([[1, 2], [2, 1]], machines=[sizes], machine_counts=[count]).tasks
    for engine in ("fast", "plain"):
        run = fb.gdrf([[1, 2], [2, 1]], machines=[sizes], machine_counts=[count], match="same", engine=engine)  # type: ignore[arg-type]
        assert run.tasks.min() > 0
        assert run.tasks.tolist() == expected.tolist()


# ------------------------------------------------------------------------------------------------ fractions


#: Demands, machines, options, tasks, levels. Bounds first, then memory, which stops one; the CPU left is for whom needs
#: nothing else.
FLUID: list[tuple[Any, Any, dict[str, Any], list[float], list[float]]] = [
    ([[1, 2], [2, 1]], [[10, 4], [4, 10]], {}, [4, 4], [8 / 7, 8 / 7]),
    ([[1, 1], [1, 1]], [[6, 6]], {"weights": [2, 1]}, [4, 2], [1, 1]),
    ([[1, 1], [1, 1], [1, 0]], [[24, 4]], {"max_tasks": [1, np.inf, np.inf]}, [1, 3, 20], [0.75, 2.25, 2.5]),
    ([[1, 1], [1, 1]], [[4, 4]], {"max_tasks": [0, np.inf]}, [0, 4], [0, 2]),
    ([[1, 1], [1, 0]], [[4, 0], [0, 4]], {}, [0, 4], [0, 2]),  # a user whom no class can serve
]


@pytest.mark.parametrize(("demands", "machines", "options", "tasks", "levels"), FLUID)
def test_fluid_by_hand(demands: Any, machines: Any, options: Any, tasks: list[float], levels: list[float]) -> None:
    fluid = fb.drfh(demands, machines, **options, method="fluid")
    assert fluid.tasks == pytest.approx(tasks, rel=1e-7, abs=1e-7)
    assert fluid.to_frame()["level"].to_list() == pytest.approx(levels, rel=1e-7, abs=1e-7)
    assert fluid.use + fluid.slack == pytest.approx(np.sum(machines, axis=0), rel=1e-12)
    assert fluid.to_dict()["by_class"] == fluid.by_class.tolist()


def test_of_machines_as_near_in_two_blocks_the_first_is_taken() -> None:
    """64 that have a millionth too little memory for the task's shape and 64 that have as much too much."""
    sizes = np.array([[k / 10, float(f"{k * one / 10:.7f}")] for k in range(11, 75) for one in (0.999999, 1.000001)])
    for seed in range(30):
        order = np.random.default_rng(seed).permutation(len(sizes))
        assert fb.drfh([[1, 1]], sizes[order], max_tasks=[1]).placed_machine.tolist() == [0]


# ------------------------------------------------------------------------------------------------ the edges


def test_what_is_too_much_is_refused() -> None:
    for place in (fb.gdrf, fb.drfh, fb.mdrf, fb.per_server_drf):
        with pytest.raises(fb.InvalidInput, match=r"^demands .*whole tasks"):
            place([[1e-9, 1e-9], [1, 1]], [[4, 4]])


def test_what_one_machine_is_not_handed_out_whole_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_tasks, "MOST_HANDED_OUT", 4.0)
    assert fb.per_server_drf([[1.0], [1.0]], [[4.0]], [9]).tasks.sum() == 36
    with pytest.raises(fb.InvalidInput, match=r"^demands .*at most 4 whole tasks"):
        fb.per_server_drf([[1.0], [1.0]], [[4.0], [40.0]], [9, 2])
