"""GDRF: the engine against a scan of all machines before every task, in all readings; what it promises; bad input."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tqdm import tqdm

import fairbook as fb
from fairbook.mechanisms import _filling
from fairbook.mechanisms.gdrf import ranks
from fairbook.model.placement import as_cell
from tests import scan_gdrf
from tests.cells import cells, random_cell, same
from tests.strategies import FEW, REPEATABLE

READINGS: dict[str, tuple[str, ...]] = {
    "match": ("nearest", "same", "any"),
    "least": ("amount", "dominant_share", "shares"),
    "machine_type": ("share", "amount"),
    "choice": ("fairness", "fairness_empty_last", "fairness_after", "first"),
    "queue": ("rounds", "one_by_one"),
}
ALL = [dict(zip(READINGS, one)) for one in itertools.product(*READINGS.values())]
RNG = np.random.default_rng(2016)


def agrees(cell: Any, seed: int, reading: dict[str, Any]) -> fb.Placement:
    placed = fb.gdrf(*cell, seed, **reading)
    assert same(placed, scan_gdrf.gdrf(*cell, seed, **reading)), reading
    assert placed.violations() == []
    return placed


# ------------------------------------------------------------------------------------------------ against the scan


@pytest.mark.parametrize("kind", ["whole", "zeros", "real", "alike", "small machines"])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_every_reading_against_the_scan(kind: str, n: int) -> None:
    for m, K in ((1, 1), (2, 3), (3, 2)):
        cell = random_cell(RNG, kind, n, m, K)
        for reading in ALL:
            agrees(cell, 3, reading)


@pytest.mark.parametrize("kind", ["whole", "real", "alike"])
def test_as_many_classes_as_machines(kind: str) -> None:
    cell = random_cell(RNG, kind, 4, 2, 20)
    for reading in ALL[:: 5]:
        agrees(cell, 0, reading)


@pytest.mark.parametrize("n", [64, 65, 150])
@pytest.mark.parametrize("choice", READINGS["choice"])
def test_more_users_than_kinds(n: int, choice: str) -> None:
    """Beyond 64 different demands a branch may seem to have room and have none."""
    rng = np.random.default_rng(n)
    demands, machines = rng.uniform(0.02, 0.4, (n, 2)), rng.uniform(0.3, 1, (15, 2))
    demands[rng.random((n, 2)) < 0.2] = 0.01
    for match in READINGS["match"]:
        agrees((demands, machines, np.full(15, 4), rng.integers(0, 6, n)), 1, {"match": match, "choice": choice})


@pytest.mark.parametrize("kinds", [1, 2, 5])
def test_few_kinds_give_the_same(monkeypatch: pytest.MonkeyPatch, kinds: int) -> None:
    """Where memory is short users share what the tree knows about room."""
    cell = random_cell(np.random.default_rng(kinds), "whole", 8, 2, 5)
    expected = scan_gdrf.gdrf(*cell)
    monkeypatch.setattr(_filling, "_MOST_SHARED", 4 * int(cell[2].sum()) * kinds)
    assert same(fb.gdrf(*cell), expected)


@REPEATABLE
@given(cell=cells(), reading=st.sampled_from(ALL), seed=st.integers(0, 9))
def test_small_cells_against_the_scan(cell: Any, reading: dict[str, str], seed: int) -> None:
    agrees(cell, seed, reading)


@FEW
@given(cell=cells(), seed=st.integers(0, 3), times=st.sampled_from([2.0, 64.0, 0.25]))
def test_the_unit_does_not_matter(cell: Any, seed: int, times: float) -> None:
    demands, machines, counts, bounds = cell
    placed = fb.gdrf(*cell, seed)
    other = fb.gdrf(demands * times, machines * times, counts, max_tasks=bounds, seed=seed)
    assert same(other, (placed.placed_user.tolist(), placed.placed_machine.tolist()))


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = random_cell(RNG, "whole", 5, 2, 3)
    for reading in ({}, {"choice": "fairness_after"}, {"queue": "one_by_one"}):
        whole = fb.gdrf(*cell, **reading)
        with monkeypatch.context() as patch:
            patch.setattr(_filling, "_BLOCK", 3)
            assert same(fb.gdrf(*cell, **reading), (whole.placed_user.tolist(), whole.placed_machine.tolist()))


# ---------------------------------------------------------------------------------------------- rules by hand


def test_a_round_is_served_in_order_of_shares() -> None:
    """Slots go to who has least; the larger share is served first."""
    placed = fb.gdrf([[1, 1], [4, 4]], [[20, 20]], max_tasks=[5, 2])
    # amounts 2 and 8. Round 1: one slot each, user 1 is served first. Round 2: both to user 0, who then has 6.
    # Round 3: one to user 0, then 8 = 8, and user 1 ranks first. Round 4: what user 0 still asks for.
    assert placed.placed_user.tolist() == [1, 0, 0, 0, 1, 0, 0]
    queue = fb.gdrf([[1, 1], [4, 4]], [[20, 20]], max_tasks=[5, 2], queue="one_by_one")
    assert queue.placed_user.tolist() == [1, 0, 0, 0, 0, 1, 0]


def test_types_and_what_happens_when_they_are_full() -> None:
    demands, machines = [[2, 1]], [[4, 2], [2, 4]]
    assert fb.gdrf(demands, machines).placed_machine.tolist() == [0, 0, 1]
    assert fb.gdrf(demands, machines, match="same").placed_machine.tolist() == [0, 0]
    assert not fb.gdrf(demands, machines, match="same").full
    # by amount machine 0 has more memory; as a part of all there is it has more CPU
    split = [[3, 4], [1, 9]]
    assert fb.gdrf([[3, 1]], split, match="same").placed_machine.tolist() == [0]
    assert fb.gdrf([[3, 1]], split, match="same", machine_type="amount").tasks.tolist() == [0]


def test_empty_machines_first_or_last() -> None:
    demands, machines = [[1, 1]], [[4, 4]]
    assert fb.gdrf(demands, machines, [3], max_tasks=[3]).placed_machine.tolist() == [0, 1, 2]
    assert fb.gdrf(demands, machines, [3], max_tasks=[3], choice="fairness_empty_last").placed_machine.tolist() == [0, 0, 0]
    assert fb.gdrf(demands, machines, [3], max_tasks=[3], choice="first").placed_machine.tolist() == [0, 0, 0]
    # f with the task: (1/12)^(1/4) on an empty machine is more than (2/12)^(2/4)
    assert fb.gdrf(demands, machines, [3], max_tasks=[3], choice="fairness_after").placed_machine.tolist() == [0, 1, 2]


def test_weights_that_are_equal_come_out_equal() -> None:
    """Proportional and mirrored demands have one GDRW, to the last digit: the lot decides."""
    cell = as_cell([[1, 1], [3, 3], [7, 7]], [[5, 4], [4, 4]], [1, 3])
    for lot in itertools.permutations(range(3)):
        assert ranks(cell, np.array(lot), by_share=False).tolist() == list(lot)
    mirrored = as_cell([[1, 3, 7], [7, 1, 3], [3, 7, 1]], [[11, 11, 11]])
    assert ranks(mirrored, np.array([2, 0, 1])).tolist() == [2, 0, 1]


def test_the_lot_settles_what_is_left() -> None:
    orders = {tuple(fb.gdrf([[1, 1]] * 3, [[3, 3]], seed=seed).placed_user.tolist()) for seed in range(40)}
    assert orders == set(itertools.permutations(range(3)))
    first, again = (fb.gdrf([[1, 1]] * 9, [[3, 3]], seed=7) for _ in range(2))
    assert first.placed_user.tolist() == again.placed_user.tolist()


def test_nothing_fits_and_nothing_is_asked() -> None:
    for reading in ALL[::7]:
        assert fb.gdrf([[3, 3], [9, 1]], [[2, 2], [2, 1]], **reading).tasks.tolist() == [0, 0]
        assert fb.gdrf([[1, 1]], [[2, 2]], max_tasks=[0.9], **reading).tasks.tolist() == [0]


def test_ten_tenths_fill_a_machine() -> None:
    for reading in ALL[::7]:
        assert fb.gdrf([[0.1, 0.1]], [[1, 1]], **reading).tasks.tolist() == [10]


# ------------------------------------------------------------------------------------------------ the edges


GOOD: dict[str, Any] = {"demands": [[1, 2], [2, 1]], "machines": [[4, 4]]}


@pytest.mark.parametrize(("given", "argument", "rule"), [
    ({"demands": [1, 1]}, "demands", "shape"),
    ({"demands": [[0, 0], [1, 1]]}, "demands[0]", "positive"),
    ({"demands": [[1, -1]]}, "demands[0, 1]", "negative"),
    ({"demands": [[1e-9, 1e-9], [1, 1]]}, "demands", "whole tasks"),
    ({"machines": [[1, 2], [3]]}, "machines", "K classes, 2 resources"),
    ({"machines": [[1, 2, 3]]}, "machines", "2 columns"),
    ({"machines": []}, "machines", "at least one class"),
    ({"machines": "x"}, "machines", "K classes"),
    ({"machines": None}, "machines", "K classes"),
    ({"machines": [[-1, 2]]}, "machines[0, 0]", "negative"),
    ({"machines": [[1, 1], [0, 0]]}, "machines[1]", "positive"),
    ({"machines": [[1, 0]]}, "machines", "all resources that are needed"),
    ({"machines": [[np.nan, 1]]}, "machines[0, 0]", "finite"),
    ({"machine_counts": [0]}, "machine_counts[0]", "at least 1"),
    ({"machine_counts": [1.5]}, "machine_counts[0]", "whole number"),
    ({"machine_counts": [np.inf]}, "machine_counts[0]", "whole number"),
    ({"machine_counts": [np.nan]}, "machine_counts[0]", "whole number"),
    ({"machine_counts": [1, 2]}, "machine_counts", "1 classes"),
    ({"machine_counts": 3}, "machine_counts", "shape"),
    ({"machine_counts": [1e8]}, "machine_counts", "add up"),
    ({"max_tasks": [1]}, "max_tasks", "2 users"),
    ({"max_tasks": [1, -1]}, "max_tasks[1]", "negative"),
    ({"max_tasks": [1, np.nan]}, "max_tasks[1]", "number"),
    ({"seed": -1}, "seed", "whole number"),
    ({"seed": 1.5}, "seed", "whole number"),
    ({"match": "best"}, "match", "nearest, same, any"),
    ({"match": np.array(["any", "same"])}, "match", "nearest"),
    ({"least": "cpu"}, "least", "amount"),
    ({"machine_type": None}, "machine_type", "share"),
    ({"choice": "f"}, "choice", "fairness_after"),
    ({"queue": 1}, "queue", "one_by_one"),
])
def test_bad_input(given: dict[str, Any], argument: str, rule: str) -> None:
    with pytest.raises(fb.InvalidInput) as caught:
        fb.gdrf(**{**GOOD, **given})
    assert caught.value.where == argument
    assert rule in caught.value.rule


def test_too_many_rankings_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_filling, "_MOST_OWN", 7)
    with pytest.raises(fb.InvalidInput, match=r"machine_counts must be fewer .*users times machines") as caught:
        fb.gdrf(**GOOD, machine_counts=[4], choice="fairness_after")
    assert caught.value.value == "2 times 4"
    assert len(fb.gdrf(**GOOD, machine_counts=[4])) == 8  # a ranking that all share needs no such memory


def test_an_interrupt_between_blocks_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_filling, "_BLOCK", 2)
    expected = fb.gdrf(**GOOD, machine_counts=[5])

    class Interrupted(tqdm):  # type: ignore[type-arg]
        def update(self, n: float | None = 1) -> bool | None:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_filling, "tqdm", Interrupted)
        with pytest.raises(KeyboardInterrupt):
            fb.gdrf(**GOOD, machine_counts=[5])
    again = fb.gdrf(**GOOD, machine_counts=[5])
    assert same(again, (expected.placed_user.tolist(), expected.placed_machine.tolist()))


def test_progress_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    fb.gdrf(**GOOD)
    assert capsys.readouterr() == ("", "")
    fb.gdrf(**GOOD, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "gdrf" in err


def test_input_is_left_alone() -> None:
    given = np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([[4.0, 4.0]]), np.array([2]), np.array([3.0, np.inf])
    before = [one.copy() for one in given]
    placed = fb.gdrf(*given)
    assert all((one == was).all() for one, was in zip(given, before))
    assert placed.violations() == []
