"""Every mechanism that places whole tasks on machines: against the rules in fractions, by hand, and on bad input."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import OptimizeResult
from tqdm import tqdm

import fairbook as fb
from book.gdrf.oracle import exact_drfh, exact_gdrf, exact_mdrf, exact_per_server
from book.gdrf.oracle_drfh import fluid_share
from fairbook.mechanisms import filling
from fairbook.mechanisms.gdrf import ranks
from fairbook.mechanisms.readings import READINGS
from fairbook.model.placement import as_cell
from tests.cells import cells, instance, random_cell, same
from tests.strategies import FEW, REPEATABLE

RNG = np.random.default_rng(2016)
KINDS = ("whole", "zeros", "real", "alike", "small machines")


class Rule(NamedTuple):
    """A mechanism with one choice of its options, and the judge in fractions."""

    place: Callable[..., fb.Placement]
    judge: Callable[..., Any]
    options: dict[str, Any]

    def agrees(self, cell: Any, **given_: Any) -> None:
        """Compare task by task; where fractions tie and floats cannot, the judge follows the engine."""
        weights = given_.pop("weights", None)
        placed = self.place(instance(cell, weights), **given_, **self.options)
        found = list(zip(placed.placed_user.tolist(), placed.placed_machine.tolist()))
        rows = [np.floor(one).tolist() if k == 3 else np.asarray(one).tolist() for k, one in enumerate(cell)]
        if self.judge is exact_per_server:  # the order of placing is open
            assert sorted(found) == sorted(self.judge(*rows, weights=weights).placed)
        else:
            prefer = [] if {"first", "first_fit", "type"} & set(self.options.values()) else found
            given_ |= {} if weights is None else {"weights": weights}
            assert found == self.judge(*rows, **given_, **self.options, prefer=prefer).placed, self
        assert placed.violations() == [], self


def crossed(mechanism: str) -> list[dict[str, str]]:
    values = [[value for value in one.values if value != "fluid"] for one in READINGS[mechanism].values()]
    return [dict(zip(READINGS[mechanism], chosen, strict=True)) for chosen in itertools.product(*values)]


GDRF, DRFH, MDRF, PER_SERVER = (
    [Rule(getattr(fb, name), judge, options) for options in crossed(name)] for name, judge in (
        ("gdrf", exact_gdrf), ("drfh", exact_drfh), ("mdrf", exact_mdrf), ("per_server_drf", exact_per_server)))
PLACING = (fb.gdrf, fb.drfh, fb.mdrf, fb.per_server_drf)


# ------------------------------------------------------------------- against the rules in fractions, beyond small cells


@pytest.mark.parametrize("kind", KINDS)
def test_every_reading_against_the_rules(kind: str) -> None:
    for n, m, K in ((1, 1, 1), (2, 2, 3), (5, 3, 2)):
        cell = random_cell(RNG, kind, n, m, K)
        for rule in GDRF:
            rule.agrees(cell, seed=3)
    for n, m, K in ((3, 2, 4), (8, 2, 20), (90, 2, 5)):
        cell = random_cell(RNG, kind, n, m, K)
        for rule in (*GDRF[::41], *MDRF):
            rule.agrees(cell, seed=4)
        for rule, weights in itertools.product(DRFH + PER_SERVER, (None, RNG.choice([1.0, 1.0, 2.0, 4.0], n).tolist())):
            rule.agrees(cell, weights=weights)


@pytest.mark.parametrize(("n", "choice", "match"), [
    (64, "fairness", "nearest"), (65, "fairness_empty_last", "same"), (70, "fairness_after", "any"),
    *((150, "first", match) for match in READINGS["gdrf"]["match"].values)])
def test_more_users_than_kinds(n: int, choice: str, match: str) -> None:
    """Beyond 64 different demands a branch may seem to have room and have none."""
    rng = np.random.default_rng(n)
    demands, machines = rng.uniform(0.02, 0.4, (n, 2)), rng.uniform(0.3, 1, (15, 2))
    demands[rng.random((n, 2)) < 0.2] = 0.01
    cell = demands, machines, np.full(15, 3), rng.integers(0, 5, n)
    Rule(fb.gdrf, exact_gdrf, {"match": match, "choice": choice}).agrees(cell, seed=1)


@pytest.mark.parametrize("kinds", [1, 2, 5])
def test_few_kinds_give_the_same(monkeypatch: pytest.MonkeyPatch, kinds: int) -> None:
    """Where memory is short users share what the tree knows about room."""
    cell = random_cell(np.random.default_rng(kinds), "whole", 8, 2, 5)
    monkeypatch.setattr(filling, "_MOST_SHARED", 4 * int(cell[2].sum()) * kinds)
    GDRF[0].agrees(cell)


@REPEATABLE
@given(bounds=st.lists(st.integers(0, 40), min_size=2, max_size=2), count=st.integers(1, 9))
def test_bounds_used_up_on_the_way(bounds: list[int], count: int) -> None:
    """Machines of a class are done at once, server by server, only as long as no bound is near."""
    PER_SERVER[0].agrees(([[1, 2], [2, 1]], [[7, 8]], [count], bounds))


# ------------------------------------------------------------------------------------------ what all have in common


@FEW
@given(cell=cells(), times=st.sampled_from([2.0, 64.0, 0.25]))
def test_neither_units_nor_classes_nor_blocks_matter(cell: Any, times: float) -> None:
    demands, machines, counts, bounds = cell
    for place in PLACING:
        one = place(instance(cell))
        expected = one.placed_user.tolist(), one.placed_machine.tolist()
        assert same(place(demands * times, machines * times, counts, max_tasks=bounds), expected)
        assert same(place(demands, np.repeat(machines, counts, axis=0), max_tasks=bounds), expected)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(filling, "_BLOCK", 3)
            assert same(place(instance(cell)), expected)


def test_names_in_any_order_mean_the_same() -> None:
    demands = pd.DataFrame({"cpu": [1.0, 4.0], "memory": [3.0, 1.0]}, ["ann", "bob"])
    machines = pd.DataFrame({"cpu": [8.0, 4.0], "memory": [8.0, 16.0]}, ["large", "fat"])
    counts, bounds = pd.Series({"large": 1, "fat": 2}), pd.Series({"ann": 6, "bob": np.inf})
    for place in PLACING:
        one = place(demands, machines, counts, max_tasks=bounds)
        expected = one.placed_user.tolist(), one.placed_machine.tolist()
        assert same(place(demands, machines[["memory", "cpu"]], counts[::-1], max_tasks=bounds[::-1]), expected)
        assert same(place(instance([one.to_numpy() for one in (demands, machines, counts, bounds)])), expected)
        assert (one.users, one.resources, one.classes) == (("ann", "bob"), ("cpu", "memory"), ("large", "fat"))
        assert (one.to_dict()["classes"], one.to_dict()["placed_machine"]) == (["large", "fat"], expected[1])
    with pytest.raises(fb.InvalidInput, match=r"machines\.columns must name the same resources"):
        fb.gdrf(demands, machines.rename(columns={"cpu": "disk"}))
    with pytest.raises(fb.InvalidInput, match=r"machine_counts\.index must name the same machines"):
        fb.gdrf(demands, machines, counts.rename({"fat": "slim"}))
    assert as_cell(demands.to_numpy(), machines).resources == ("cpu", "memory")


def test_nothing_fits_nothing_is_asked_and_ten_tenths_fill_a_machine() -> None:
    for rule in (*GDRF[::7], *DRFH, *MDRF, *PER_SERVER):
        assert rule.place([[3, 3], [9, 1]], [[2, 2], [2, 1]], **rule.options).tasks.tolist() == [0, 0]
        assert rule.place([[1, 1]], [[2, 2]], max_tasks=[0.9], **rule.options).tasks.tolist() == [0]
        assert rule.place([[0.1, 0.1]], [[1, 1]], **rule.options).tasks.tolist() == [10]


def test_input_is_left_alone() -> None:
    given_ = np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([[4.0, 4.0]]), np.array([2]), np.array([3.0, np.inf])
    before = [one.copy() for one in given_]
    for place in PLACING:
        assert place(instance(given_)).violations() == []
        assert all((one == was).all() for one, was in zip(given_, before))


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
    # f with the task: (1/12)^(1/4) on an empty machine is more than (2/12)^(2/4)
    for choice, machines in (("fairness", [0, 1, 2]), ("fairness_empty_last", [0, 0, 0]), ("first", [0, 0, 0]),
                             ("fairness_after", [0, 1, 2])):
        placed = fb.gdrf([[1, 1]], [[4, 4]], [3], max_tasks=[3], choice=choice)  # type: ignore[arg-type]
        assert placed.placed_machine.tolist() == machines


def test_weights_that_are_equal_come_out_equal() -> None:
    """Proportional and mirrored demands have one GDRW, to the last digit: the lot decides."""
    cell = as_cell([[1, 1], [3, 3], [7, 7]], [[5, 4], [4, 4]], [1, 3])
    for lot in itertools.permutations(range(3)):
        assert ranks(cell, np.array(lot), by_share=False).tolist() == list(lot)
    mirrored = as_cell([[1, 3, 7], [7, 1, 3], [3, 7, 1]], [[11, 11, 11]])
    assert ranks(mirrored, np.array([2, 0, 1])).tolist() == [2, 0, 1]
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


@pytest.mark.parametrize(("place", "demands", "machines", "pairs"), [
    (fb.drfh, [[0.2, 1], [1, 0.2]], [[2, 12], [12, 2]], {(0, 0): 10, (1, 1): 10}),
    (fb.mdrf, [[2, 1], [1, 3]], [[8, 4], [4, 12]], {(0, 0): 4, (1, 1): 4}),
    (fb.per_server_drf, [[1, 1], [1, 0]], [[4, 0], [2, 2]], {(1, 0): 4, (0, 1): 1, (1, 1): 1}),  # it lacks a resource
])
def test_the_machine_that_suits(place: Any, demands: Any, machines: Any, pairs: Any) -> None:
    placed = place(demands, machines)
    found = list(zip(placed.placed_user.tolist(), placed.placed_machine.tolist()))
    assert {pair: found.count(pair) for pair in found} == pairs


def test_a_machine_that_is_all_but_full_counts_as_free_for_what_fits() -> None:
    """Tasks far below the tolerance fit a machine without any room; its shape must not come out as infinite."""
    for place in (fb.drfh, fb.mdrf):
        assert place([[1.0, 1e-9], [1e-13, 0.2]], [[1.0, 1.0]], max_tasks=[1, 3]).tasks.tolist() == [1, 3]


# ------------------------------------------------------------------------------------------------ fractions


def spread(rng: np.random.Generator, n: int, m: int, K: int) -> tuple[Any, Any, Any, Any]:
    """Demands and machines of sizes far apart, with zeros: users stop at many levels."""
    demands, machines, counts, bounds = random_cell(rng, "real", n, m, K)
    demands[rng.random((n, m)) < 0.4] = 0
    demands[~demands.any(axis=1), 0] = 0.3
    return (demands * 10.0 ** rng.integers(-3, 3, (n, 1)), machines * 10.0 ** rng.integers(-2, 3, (K, 1)),
            counts * rng.integers(1, 50, K), bounds)


@pytest.mark.parametrize("seed", range(40))
def test_the_fluid_optimum_against_its_oracle(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m, K = int(rng.integers(1, 9)), int(rng.integers(1, 4)), int(rng.integers(1, 6))
    kind = ("whole", "zeros", "real", "spread")[seed % 4]
    cell = spread(rng, n, m, K) if kind == "spread" else random_cell(rng, kind, n, m, K)
    weights = rng.choice([1, 2, 3, 0.25], n) if seed % 3 else None
    demands, machines, counts, bounds = cell
    fluid = fb.drfh(instance(cell, weights), method="fluid")
    oracle = fluid_share(demands.tolist(), machines.tolist(), counts.tolist(), np.floor(bounds), weights)
    assert fluid.violations() == []
    assert fluid.levels == pytest.approx(oracle.levels, rel=1e-6, abs=1e-8)
    assert fluid.level <= float(oracle.upper) * (1 + 1e-9)  # proved in fractions by prices
    assert fluid.machine_frame()["tasks"].sum() == pytest.approx(fluid.tasks.sum(), rel=1e-12)


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


def test_a_program_that_is_not_solved_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    # by its path: the function hides the module of the same name
    unsolved = OptimizeResult(status=4, message="numbers")
    monkeypatch.setattr(sys.modules["fairbook.mechanisms.drfh"], "linprog", lambda *_, **__: unsolved)
    with pytest.raises(fb.FairbookError, match="not solved: numbers"):
        fb.drfh([[1, 1]], [[2, 2]], method="fluid")


# ------------------------------------------------------------------------------------------------ the edges


GOOD: dict[str, Any] = {"demands": [[1, 2], [2, 1]], "machines": [[4, 4]]}
#: What all of them check of machines: argument, value, what is named, part of the rule.
BAD: list[tuple[str, Any, str, str]] = [
    ("demands", [[1e-9, 1e-9], [1, 1]], "demands", "whole tasks"),
    ("machines", [[1, 2], [3]], "machines", "K machines, 2 resources"),
    ("machines", [], "machines", "one machine"),
    ("machines", [[1, 1], [0, 0]], "machines[1]", "positive"),
    ("machines", [[1, 0]], "machines", "all resources that are needed"),
    ("machine_counts", [0], "machine_counts[0]", "at least 1"),
    ("machine_counts", [1.5], "machine_counts[0]", "whole number"),
    ("machine_counts", [1, 2], "machine_counts", "1 machines"),
    ("machine_counts", 3, "machine_counts", "shape"),
    ("machine_counts", [1e8], "machine_counts", "add up"),
]
BAD_OPTIONS: list[tuple[Any, str, Any, str, str]] = [
    (fb.gdrf, "match", "best", "match", "nearest, same, any"), (fb.drfh, "method", "worst_fit", "method", "best_fit"),
    (fb.mdrf, "seed", 1.5, "seed", "whole number"), (fb.drfh, "weights", [1], "weights", "2 users"),
]


@pytest.mark.parametrize(("place", "argument", "value", "where", "rule"),
                         [(place, *row) for row in BAD for place in PLACING] + BAD_OPTIONS)
def test_bad_input(place: Any, argument: str, value: Any, where: str, rule: str) -> None:
    with pytest.raises(fb.InvalidInput) as caught:
        place(**{**GOOD, argument: value})
    assert caught.value.where == where
    assert rule in caught.value.rule


def test_too_many_rankings_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "_MOST_OWN", 7)
    with pytest.raises(fb.InvalidInput, match=r"machine_counts must be fewer .*users times machines") as caught:
        fb.gdrf(**GOOD, machine_counts=[4], choice="fairness_after")
    assert caught.value.value == "2 times 4"
    assert len(fb.gdrf(**GOOD, machine_counts=[4])) == 8  # a ranking that all share needs no such memory


def test_an_interrupt_between_blocks_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "_BLOCK", 2)
    expected = fb.gdrf(**GOOD, machine_counts=[5])

    class Interrupted(tqdm):  # type: ignore[type-arg]
        def update(self, n: float | None = 1) -> bool | None:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tqdm.tqdm", Interrupted)
        with pytest.raises(KeyboardInterrupt):
            fb.gdrf(**GOOD, machine_counts=[5], progress=True)
    assert same(fb.gdrf(**GOOD, machine_counts=[5]), (expected.placed_user.tolist(), expected.placed_machine.tolist()))


def test_progress_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    fb.gdrf(**GOOD)
    assert capsys.readouterr() == ("", "")
    fb.gdrf(**GOOD, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "gdrf" in err
