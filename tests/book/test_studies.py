"""The experiments: what those of all papers must do, refuse and hold; then those on dynamic max-min fairness."""

import inspect
import re
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from book.common import results
from book.common.checkout import load
from book.common.runs import interval, repeat, stream
from book.dmfa_srq import studies as study
from fairbook.errors import InvalidInput
from fairbook.traces.google2011 import load_digest


def draw(rng: np.random.Generator, scale: float = 1.0) -> float:
    return scale * rng.random()


# ------------------------------------------------------------------------------------------------- runs, intervals


def test_every_run_has_a_stream_of_its_own_which_repeat_takes() -> None:
    firsts = {stream(seed, *key).random() for seed in (1, 2) for key in [(), (0,), (1,), (0, 1), (1, 0), (0, 0, 1)]}
    assert len(firsts) == 12
    assert repeat(draw, 5, seed=7, key=(20,), scale=2.0) == [2 * stream(7, 20, r).random() for r in range(5)]
    with pytest.raises(InvalidInput, match="workers"):  # what more of them give is asked of sweeps
        repeat(draw, 1, seed=1, workers=0)


# --------------------------------------------------------------------------------------------- what all studies do


STUDIES = load("studies")
del STUDIES["foundations"]  # that one stores nothing, and its frames are no experiments
#: What a study does at random, by the argument that says how often.
TIMES = ("runs", "tries", "instances", "run")


#: Every experiment.
RANDOM = [
    f"{paper}/{name}"
    for paper, module in STUDIES.items()
    for name in sorted(module.__all__)
    if callable(getattr(module, name)) and {*TIMES} & {*inspect.signature(getattr(module, name)).parameters}
]
#: Each experiment made small: two runs where nothing else is said.
SMALL: dict[str, dict[str, Any]] = {
    **{name: {"runs": 2} for name in RANDOM if not re.search(r"/fig\d$", name)},
    "cbdrf/comparison": {"runs": 2, "n": 4, "phases": 8, "defectors": (2,)},
    "cbdrf/course": {"runs": 2, "released": [[0.5], [1]]},
    "cbdrf/hoarding": {"runs": 2, "n": 4, "phases": 20, "hoarders": (2,)},
    "compare/day": {"runs": 1, "traces": "google2011"},
    "compare/lying": {"runs": 1, "traces": "google2011", "liars": 1},
    "compare/matrix": {"tries": 1},
    "compare/moment": {"runs": 1, "traces": "google2011"},
    "compare/readings": {"runs": 1, "traces": "google2011"},
    "dmfa_srq/algorithm_repairs": {"instances": 30},
    "dmfa_srq/curves": {"runs": 2, "sizes": (5, 9), "points": 3},
    "dmfa_srq/readings": {"runs": 1, "n": 5},
    "dmfa_srq/shares_by_weight": {"runs": 2, "n": 9},
    **{f"gdrf/{name}": {"runs": 2, "number": 6} for name in ("ablation", "by_machine", "cells")},
    **{
        f"gdrf/{name}": {"runs": 2, "sizes": size}
        for size, name in enumerate(("balance", "bounds", "curves", "mixes", "own"), 5)
    },  # of the same runs each of them would take the others'
    "gdrf/lies": {"runs": 1, "number": 4},
    "gdrf/readings": {"runs": 1, "number": 4},
    "tv_drf/curves": {"runs": 2, "n": 3},
    "tv_drf/gaps": {"runs": 1, "sizes": (3,)},
    "tv_drf/losses": {"runs": 1, "sizes": (3,), "min_load": 0.5},
    "tv_drf/readings": {"runs": 1, "sizes": (2,), "points": ("unserved", "load")},
    "virtual_cluster/counted": {"runs": 5, "near": 5},
    "virtual_cluster/curves": {"runs": 2, "sizes": "small", "users": 9},
    "virtual_cluster/gaps": {"runs": 2, "cases": [("small", 9)]},
    "virtual_cluster/nearest": {"runs": 5},
    "virtual_cluster/packing": {"run": 1},
    "virtual_cluster/price": {"runs": 2, "per_cluster": 2},
    "virtual_cluster/readings": {"runs": 5},
    "virtual_cluster/spanning_gain": {"runs": 2, "sizes": "small", "users": 12},
    "virtual_cluster/spread": {"runs": 20, "sizes": "small", "users": 12},
    "virtual_cluster/tariffs": {"runs": 2, "users": 9},
}


def call(name: str, **arguments: Any) -> Any:
    """Call a function of a study; where it draws, from a stream."""
    paper, function = name.split("/")
    how = {"rng": stream(1)} if "instance" in function and "rng" not in arguments else {}
    return getattr(STUDIES[paper], function)(**how, **arguments)


def test_every_experiment_is_here() -> None:
    assert [name for name in RANDOM if not re.search(r"/fig\d$", name)] == sorted(SMALL)


#: These take some ten seconds at their smallest.
DEAR = {"compare/matrix", "gdrf/lies", "virtual_cluster/counted", "virtual_cluster/nearest", "virtual_cluster/readings"}


@pytest.mark.parametrize("name", [name for name in SMALL if name not in DEAR])
def test_a_seed_gives_a_frame_silently_and_another_seed_another(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    frame = call(name, **SMALL[name], seed=5)
    assert capfd.readouterr() == ("", "")
    assert not frame.empty
    assert not frame.duplicated().any()
    if "progress" in inspect.signature(getattr(STUDIES[name.split("/")[0]], name.split("/")[1])).parameters:
        pd.testing.assert_frame_equal(call(name, **SMALL[name], seed=5, progress=True), frame)
        out, err = capfd.readouterr()
        assert (out, bool(err)) == ("", True)
    assert not call(name, **SMALL[name], seed=6).equals(frame)


@pytest.mark.parametrize("name", RANDOM)
def test_how_often_and_the_seed_are_whole_numbers(name: str) -> None:
    usual = SMALL.get(name, {})
    (times,) = {*TIMES} & {*inspect.signature(getattr(STUDIES[name.split("/")[0]], name.split("/")[1])).parameters}
    for argument, value in ((times, -1), (times, 1.5), (times, True), (times, "2"), ("seed", -1), ("seed", "a")):
        with pytest.raises(InvalidInput) as caught:
            call(name, **{**usual, argument: value})
        assert caught.value.where.split("[")[0] == argument, value


NAN = float("nan")
#: What else is refused, and the argument that is named.
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    *(
        (f"{paper}/instance", arguments, argument)
        for paper, arguments, argument in (
            ("dmfa_srq", {"n": 0}, "n"),
            ("dmfa_srq", {"n": 2, "unit": "tasks"}, "unit"),
            ("dmfa_srq", {"n": 2, "contribution": "normal"}, "contribution"),
            ("dmfa_srq", {"n": 2, "order": "sorted"}, "order"),
            ("dmfa_srq", {"n": 2, "scale": "cell"}, "scale"),
            ("compare", {"trace": "alibaba2017", "users": 0}, "users"),
            ("compare", {"trace": "alibaba2017", "load": -1.0}, "load"),
            ("gdrf", {"rng": 1, "number": 5}, "rng"),
            ("gdrf", {"number": 0}, "number"),
            ("gdrf", {"number": 5, "users": "trace"}, "users"),
            ("gdrf", {"number": 5, "machines": "all"}, "machines"),
            ("gdrf", {"number": 5, "capacities": "rounded"}, "capacities"),
            ("gdrf", {"number": 5, "order": "up"}, "order"),
            ("tv_drf", {"rng": 1, "n": 5}, "rng"),
            ("tv_drf", {"n": 0}, "n"),
            ("tv_drf", {"n": 336}, "n"),
            ("tv_drf", {"n": 2, "periods": 0}, "periods"),
            ("tv_drf", {"n": 2, "machines": "five"}, "machines"),
            ("tv_drf", {"n": 2, "memory_gb": 0}, "memory_gb"),
            ("tv_drf", {"n": 2, "memory_gb": True}, "memory_gb"),
            ("tv_drf", {"n": 2, "memory_gb": 10_000}, "memory_gb"),
            ("tv_drf", {"n": 2, "min_groups": 0}, "min_groups"),
            ("tv_drf", {"n": 2, "min_load": -1}, "min_load"),
            ("tv_drf", {"n": 2, "min_load": [1]}, "min_load"),
            ("tv_drf", {"n": 2, "min_load": NAN}, "min_load"),
            ("tv_drf", {"n": 2, "min_load": 0.5, "min_groups": 3}, "min_load"),
            ("tv_drf", {"n": 2, "jobs": 3}, "jobs"),
            ("virtual_cluster", {"size": "medium"}, "size"),
            ("virtual_cluster", {"users": 0}, "users"),
            ("virtual_cluster", {"users": 101}, "users"),
            ("virtual_cluster", {"variance": "10"}, "variance"),
        )
    ),
    *(
        (f"cbdrf/{name}", arguments, argument)
        for name, arguments, argument in (
            ("course", {"released": [[2.0]]}, "released"),
            ("course", {"released": [[0.5]], "runs": 1, "held": "leaves"}, "held"),
            ("comparison", {"runs": 1, "defectors": (10,)}, "defectors"),
            ("comparison", {"runs": 1, "defectors": (-1,)}, "defectors"),
            ("comparison", {"runs": 1, "defectors": ()}, "defectors"),
            ("hoarding", {"runs": 1, "hoarders": (10,)}, "hoarders"),
            ("hoarding", {"runs": 1, "phases": 5}, "phases"),
        )
    ),
    ("compare/matrix", {"tries": 0}, "tries"),
    ("compare/day", {"runs": 1, "traces": "azure"}, "traces"),
    ("compare/lying", {"runs": 1, "liars": 13}, "liars"),
    *(
        (f"gdrf/{name}", arguments, argument)
        for name, arguments, argument in (
            ("curves", {"runs": 0, "sizes": 5}, "runs"),
            ("curves", {"runs": (1, 2), "sizes": (5, 6, 7)}, "runs"),
            ("curves", {"runs": 1, "sizes": ()}, "sizes"),
            ("mixes", {"runs": 1, "sizes": "60"}, "sizes"),
            ("cells", {"runs": 1, "number": 0}, "number"),
            ("own", {"runs": 1, "sizes": (0,)}, "sizes"),
            ("ablation", {"runs": 1, "number": True}, "number"),
            ("bounds", {"runs": 1, "sizes": (0,)}, "sizes"),
            ("cell", {"cases": "floats"}, "cases"),
            ("cell", {"mechanisms": ("drf",)}, "mechanisms"),
            ("cell", {"trace_users": 0}, "trace_users"),
            ("cell_machines", {"cases": ()}, "cases"),
        )
    ),
    *(
        (f"tv_drf/{name}", arguments, argument)
        for name, arguments, argument in (
            ("dealt_instance", {"n": 2, "seconds": 0.5}, "period"),
            ("dealt_instance", {"n": 0, "seconds": 900.0}, "n"),
            ("curves", {"runs": 1, "n": ()}, "n"),
            ("curves", {"runs": 1, "n": 0}, "n"),
            ("curves", {"runs": 1, "n": 5, "unserved": "stays"}, "unserved"),
            ("curves", {"runs": 1, "n": 5, "unserved": ()}, "unserved"),
            ("curves", {"runs": 1, "n": 5, "mechanisms": ("drf",)}, "mechanisms"),
            ("curves", {"runs": 1, "n": 5, "mechanisms": ()}, "mechanisms"),
            ("losses", {"runs": 1, "sizes": ()}, "sizes"),
            ("losses", {"runs": 1, "sizes": (2,), "unserved": "stays"}, "unserved"),
            ("gaps", {"runs": 1, "sizes": (0,)}, "sizes"),
            ("readings", {"runs": 1, "points": ("colour",)}, "points"),
            ("memory_course", {"quiet": 20}, "quiet"),
            ("memory_course", {"periods": 1}, "periods"),
        )
    ),
    *(
        (f"virtual_cluster/{name}", arguments, argument)
        for name, arguments, argument in (
            ("curves", {"runs": 1, "sizes": ()}, "sizes"),
            ("curves", {"runs": 1, "sizes": "tiny"}, "sizes"),
            ("curves", {"runs": 1, "variances": "both"}, "variances"),
            ("curves", {"runs": 1, "users": ()}, "users"),
            ("spread", {"runs": 1, "users": 2.5}, "users"),
            ("readings", {"runs": 4}, "runs"),
            ("gaps", {"runs": 1, "cases": [("tiny", 3)]}, "cases"),
            ("spanning_gain", {"runs": 1, "sizes": "all"}, "sizes"),
            ("price", {"runs": 1, "per_cluster": 0}, "per_cluster"),
            ("price", {"runs": 1, "load": 0}, "load"),
            ("packing", {"run": -1}, "run"),
            ("packing", {"methods": "best"}, "methods"),
        )
    ),
]


@pytest.mark.parametrize(("name", "arguments", "argument"), REFUSED)
def test_what_cannot_be_asked(name: str, arguments: dict[str, Any], argument: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call(name, **arguments)
    assert caught.value.where.split("[")[0] == argument


# ------------------------------------------------------------------------------------------------- stored tables


#: The function that computes a table, how much of it is computed again, and the runs that it must hold.
AGAIN: dict[str, tuple[str, dict[str, Any], dict[str, int]]] = {
    **{f"dmfa_srq/fig{k}": (f"fig{k}", {}, {"runs": 1000}) for k in range(3, 9)},
    "dmfa_srq/algorithm_repairs": ("algorithm_repairs", {}, {}),
    "cbdrf/comparison": ("comparison", {"defectors": (7,)}, {"runs": 40}),
    "cbdrf/hoarding": ("hoarding", {"hoarders": (4,)}, {"runs": 40}),
    "tv_drf/curves_5": ("curves", {}, {"runs": 100}),
    "tv_drf/curves_20": ("curves", {}, {"runs": 100}),
    "tv_drf/curves_busy": ("curves", {"n": 5}, {"runs": 100}),
    **{
        f"tv_drf/{name}": (name.split("_")[0], {"sizes": sizes}, {"runs": 30})
        for name, sizes in (("losses_busy", [5]), ("gaps_busy", [5]))
    },
    "tv_drf/readings": ("readings", {"sizes": [5], "points": ["unserved", "load"]}, {"runs": 50}),
}
#: Where the column of a frame is called otherwise than the argument.
COLUMNS = {"sizes": "n", "points": "point"}


@pytest.mark.parametrize("name", AGAIN)
def test_stored_tables_computed_again(name: str) -> None:
    function, smaller, runs = AGAIN[name]
    frame, facts = results.load(name), results.load_facts(name)["facts"]
    assert facts.items() >= {"seed": STUDIES[name.split("/")[0]].SEED, **runs}.items()
    again = call(f"{name.split('/')[0]}/{function}", **{**facts, **smaller})
    for column in (COLUMNS.get(argument, argument) for argument in smaller):
        frame = frame[frame[column].isin(again[column])]
    pd.testing.assert_frame_equal(frame.reset_index(drop=True), again, rtol=1e-8, atol=1e-8, check_dtype=False)


# ----------------------------------------------------------------------------------------------------- instances


@pytest.mark.parametrize(("contribution", "order", "scale"), list(product(*list(study.READINGS.values())[1:])))
def test_readings_of_an_instance(contribution: Any, order: Any, scale: Any) -> None:
    demands, weights = study.instance(stream(1, 2), 50, contribution=contribution, order=order, scale=scale)
    assert demands.shape == (50, 2)
    assert weights.shape == (50,)
    assert (demands > 0).all()
    assert (weights > 0).all()
    assert weights.sum() == pytest.approx(1, abs=1e-14)
    steps = np.diff(weights)
    if contribution == "equal":
        assert np.allclose(weights, 1 / 50)
    elif order == "big_first":
        assert (steps <= 0).all()
    elif order == "small_first":
        assert (steps >= 0).all()
    else:
        assert (steps > 0).any()
        assert (steps < 0).any()
    # the same draw, whatever is done with it
    as_published = study.instance(stream(1, 2), 50)[0]
    pool = load_digest().pool() if scale == "pool" else 1.0
    np.testing.assert_allclose(demands * pool, as_published, rtol=1e-13)


@pytest.mark.parametrize("unit", study.READINGS["unit"])
def test_users_are_drawn_by_their_unit(unit: Any) -> None:
    frame = load_digest().frame
    frame = frame[(frame["cpu"] > 0) & (frame["memory"] > 0)]
    if unit == "user":
        weight = frame["tasks"] / frame.groupby("user")["tasks"].transform("sum")
    else:
        weight = frame["tasks" if unit == "task" else "jobs"]
    expected = float((frame["cpu"] * weight).sum() / weight.sum())
    spread = float(((frame["cpu"] - expected) ** 2 * weight).sum() / weight.sum()) ** 0.5
    found = study.instance(stream(6), 20_000, unit=unit)[0][:, 0].mean()
    assert abs(found - expected) < 4 * spread / 20_000**0.5


# -------------------------------------------------------------------------------------------------------- frames


def two_users(rng: np.random.Generator, n: int, **how: object) -> tuple[np.ndarray, np.ndarray]:
    """Give one of two instances whose allocations are known: (1, 1/2), (1/2, 1) with weights 1:1 or 3:1."""
    assert n == 2
    weights = np.array([0.5, 0.5]) if rng.random() < 0.5 else np.array([0.75, 0.25])
    return np.array([[1.0, 0.5], [0.5, 1.0]]), weights


def test_curves_of_two_users_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "instance", two_users)
    runs, seed = 6, 3
    equal = np.array([stream(seed, 2, r).random() < 0.5 for r in range(runs)])
    assert 0 < equal.sum() < runs
    frame = study.curves(runs, seed, sizes=(2,))
    # k = 1: everyone has what it brought. k = 2, equal weights: level 4/3, both resources used up. Weights 3/4, 1/4:
    # CPU is 7/8 M, so M = 8/7, and memory in use is (3/8 + 1/4) 8/7 = 5/7. Nothing was above M before: static alike.
    w1 = np.where(equal, 0.5, 0.75)
    level = np.where(equal, 4 / 3, 8 / 7)
    by_hand = {
        (1, "min_level"): np.ones(runs),
        (1, "sum_shares"): w1,
        (1, "cpu"): np.ones(runs),
        (1, "memory"): np.full(runs, 0.5),
        (2, "min_level"): level,
        (2, "sum_shares"): level,
        (2, "cpu"): np.ones(runs),
        (2, "memory"): np.where(equal, 1, 5 / 7),
    }
    assert len(frame) == 2 * 4 * 3
    for (k, measure), values in by_hand.items():
        rows = frame[(frame["k"] == k) & (frame["measure"] == measure)].set_index("mechanism")
        expected = interval(values[:, None]).iloc[0]
        for mechanism in ("dynamic", "static"):
            for column in ("mean", "low", "high"):
                assert rows.loc[mechanism, column] == pytest.approx(expected[column], abs=1e-11)
        assert (rows.loc["difference", ["mean", "low", "high"]] == 0).all()
    assert (frame["runs"] == runs).all()


def test_readings_cover_all_combinations_and_contain_the_curves() -> None:
    frame = study.readings(2, n=10)
    names = list(study.READINGS)
    assert len(frame) == np.prod([len(values) for values in study.READINGS.values()]) * len(study.MEASURES)
    assert not frame.duplicated([*names, "measure"]).any()
    assert {tuple(row) for row in frame[names].to_numpy().tolist()} == set(product(*study.READINGS.values()))
    how: dict[str, Any] = {"unit": "user", "contribution": "simplex", "order": "small_first", "scale": "pool"}
    direct = study.curves(2, sizes=(10,), points=1, **how).set_index(["mechanism", "measure"])
    rows = frame[(frame[names] == pd.Series(how)).all(axis=1)].set_index("measure")
    for measure in study.MEASURES:
        assert rows.loc[measure, "dynamic"] == direct.loc[("dynamic", measure), "mean"]


def test_halves_of_the_trace_differ_by_as_much_as_the_page_says() -> None:
    half = results.load("dmfa_srq/halves").query("files != 'all'").set_index("files")
    apart = half.max() / half.min() - 1
    assert apart[["cpu", "memory"]].max() < 0.2
    assert apart[["min_level", "sum_shares", "used_cpu", "used_memory"]].max() < 0.05
    counted = results.load("dmfa_srq/halves").set_index("files")["tasks"]
    assert counted["even"] + counted["odd"] > counted["all"] > counted[["even", "odd", "first", "last"]].max()
