"""The experiments: random streams, frames against direct computation, and the stored tables computed again."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from book.common.runs import interval, repeat, stream
from book.dmfa_srq import studies as study
from fairbook import results
from fairbook.errors import InvalidInput, StaleResult
from fairbook.mechanisms.dmfa_srq import dmfa_srq, static_optimum
from fairbook.traces.google2011 import load_digest

KEYS = ["n", "k", "mechanism", "measure"]


def draw(rng: np.random.Generator, scale: float = 1.0) -> float:
    return scale * rng.random()


# ------------------------------------------------------------------------------------------------- runs, intervals


def test_every_run_has_a_stream_of_its_own() -> None:
    firsts = {stream(seed, *key).random() for seed in (1, 2) for key in [(), (0,), (1,), (0, 1), (1, 0), (0, 0, 1)]}
    assert len(firsts) == 12
    assert stream(2016, 100, 3).random() == stream(2016, 100, 3).random()


def test_repeat_calls_each_run_with_its_stream() -> None:
    found = repeat(draw, 5, seed=7, key=(20,), scale=2.0)
    assert found == [2 * stream(7, 20, r).random() for r in range(5)]


def test_the_first_runs_stay_when_more_are_asked_for() -> None:
    assert repeat(draw, 9, seed=7)[:4] == repeat(draw, 4, seed=7)


def test_two_workers_give_what_one_gives() -> None:
    assert repeat(draw, 6, seed=7, key=(1,), workers=2, scale=3.0) == repeat(draw, 6, seed=7, key=(1,), scale=3.0)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_intervals_are_those_of_scipy(level: float) -> None:
    values = np.random.default_rng(1).normal(size=(12, 3))
    found = interval(values, level)
    for column, (_, row) in zip(values.T, found.iterrows(), strict=True):
        low, high = stats.ttest_1samp(column, 0).confidence_interval(level)
        assert row["mean"] == pytest.approx(np.mean(column), rel=1e-13)
        assert (row["low"], row["high"]) == pytest.approx((low, high), rel=1e-12)


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


@pytest.mark.parametrize("contribution", ["uniform", "simplex"])
def test_the_order_sorts_the_same_contributions(contribution: Any) -> None:
    drawn = {
        order: study.instance(stream(3), 40, contribution=contribution, order=order)[1]
        for order in study.READINGS["order"]
    }
    for order in ("big_first", "small_first"):
        np.testing.assert_allclose(np.sort(drawn[order]), np.sort(drawn["random"]), rtol=1e-12)


def test_contributions_follow_their_laws() -> None:
    # w_1 times n: for uniform ones about U / (1/2); on the simplex a Beta(1, n - 1)
    uniform = [study.instance(stream(5, r), 200)[1] for r in range(40)]
    simplex = [study.instance(stream(5, r), 200, contribution="simplex")[1] for r in range(40)]
    assert max(w.max() * 200 for w in uniform) < 2.4
    firsts = np.array([w[:20] for w in simplex]).ravel()
    assert stats.kstest(firsts, stats.beta(1, 199).cdf).pvalue > 1e-3
    assert stats.kstest(np.array([w[:20] for w in uniform]).ravel(), stats.beta(1, 199).cdf).pvalue < 1e-6


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


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: study.instance(stream(1), 0), "n"),
        (lambda: study.instance(stream(1), 2, unit="tasks"), "unit"),  # type: ignore[arg-type]
        (lambda: study.instance(stream(1), 2, contribution="normal"), "contribution"),  # type: ignore[arg-type]
        (lambda: study.instance(stream(1), 2, order="sorted"), "order"),  # type: ignore[arg-type]
        (lambda: study.instance(stream(1), 2, scale="cell"), "scale"),  # type: ignore[arg-type]
        (lambda: study.curves(0), "runs"),
        (lambda: study.curves(1.5), "runs"),  # type: ignore[arg-type]
        (lambda: study.curves(True), "runs"),
        (lambda: study.curves(1, seed=-1), "seed"),
        (lambda: study.curves(1, seed="a"), "seed"),  # type: ignore[arg-type]
        (lambda: study.shares_by_weight(10, 0), "runs"),
        (lambda: study.fig5(0), "runs"),
        (lambda: study.readings(0), "runs"),
        (lambda: repeat(draw, 1, seed=1, workers=0), "workers"),
        (lambda: interval(np.ones((2, 2)), 1.0), "level"),
    ],
)
def test_bad_arguments_are_named(call: Callable[[], object], argument: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert caught.value.where == argument


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


def test_a_difference_is_taken_run_by_run() -> None:
    frame = study.curves(4, 11, sizes=(30,), points=3)
    grid = sorted(frame["k"].unique())
    assert grid[0] == 1
    assert grid[-1] == 30
    values = []
    for r in range(4):
        demands, weights = study.instance(stream(11, 30, r), 30)
        moving, fixed = dmfa_srq(demands, weights), static_optimum(demands, weights)
        values.append(
            [moving.levels_at(30).min() - fixed.levels_at(30).min(), float(moving.use_at(30)[1] - fixed.use_at(30)[1])]
        )
    expected = interval(np.array(values))
    rows = frame[(frame["mechanism"] == "difference") & (frame["k"] == 30)].set_index("measure")
    np.testing.assert_allclose(rows.loc[["min_level", "memory"], ["mean", "low", "high"]], expected, atol=1e-11)
    wide = frame.pivot(index=["k", "measure"], columns="mechanism", values="mean")
    np.testing.assert_allclose(wide["difference"], wide["dynamic"] - wide["static"], atol=1e-11)


def test_end_points_are_the_rows_after_the_last_arrival() -> None:
    frame = study.curves(2, 1, sizes=(5, 60), points=10)
    ends = study.end_points(frame)
    assert (ends["k"] == ends["n"]).all()
    assert len(ends) == 2 * len(study.MEASURES) * 3
    pd.testing.assert_frame_equal(study.end_points(ends), ends)
    # one point a curve is the last one
    one = study.curves(2, 1, sizes=(5, 60), points=1)
    pd.testing.assert_frame_equal(one.sort_values(KEYS, ignore_index=True), ends.sort_values(KEYS, ignore_index=True))


def test_curves_judge_the_mechanism_they_are_given() -> None:
    frame = study.curves(3, 1, sizes=(20,), mechanism=static_optimum)
    assert (frame.loc[frame["mechanism"] == "difference", ["mean", "low", "high"]] == 0).all(axis=None)
    assert (study.curves(3, 1, sizes=(20,)).query("mechanism == 'difference'")["mean"] != 0).any()


def test_figure_2_is_the_first_run() -> None:
    frame = study.fig2()
    for n in (100, 500):
        part = frame.loc[frame["n"] == n, ["cpu", "memory"]].to_numpy()
        np.testing.assert_array_equal(part, study.instance(stream(study.SEED, n, 0), n)[0])


def test_shares_by_weight_averages_runs() -> None:
    both = study.shares_by_weight(30, 2, 4)
    singles = []
    for r in range(2):
        demands, weights = study.instance(stream(4, 30, r), 30)
        order = np.argsort(weights)[both["rank"] - 1]
        singles.append((weights[order], dmfa_srq(demands, weights).shares_at()[order]))
    np.testing.assert_allclose(both["weight"], (singles[0][0] + singles[1][0]) / 2, rtol=1e-14)
    np.testing.assert_allclose(both["share"], (singles[0][1] + singles[1][1]) / 2, rtol=1e-14)
    falls = sum((np.diff(shares) < 0).astype(float) for _, shares in singles) / 2
    np.testing.assert_array_equal(both["falls"][1:], falls)
    pd.testing.assert_series_equal(both["first_share"], study.shares_by_weight(30, 1, 4)["first_share"])


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
        assert rows.loc[measure, "static"] == direct.loc[("static", measure), "mean"]
        assert rows.loc[measure, "difference"] == direct.loc[("difference", measure), "mean"]
        assert rows.loc[measure, "low"] == direct.loc[("difference", measure), "low"]
        assert rows.loc[measure, "high"] == direct.loc[("difference", measure), "high"]


def test_reading_effects_average_over_all_else() -> None:
    rng = np.random.default_rng(1)
    rows: list[dict[str, Any]] = [
        dict(zip(study.READINGS, values, strict=True)) | {"measure": measure}
        for values in product(*study.READINGS.values())
        for measure in study.MEASURES
    ]
    frame = pd.DataFrame(rows).assign(dynamic=rng.random(len(rows)), difference=rng.random(len(rows)))
    effects = study.reading_effects(frame)
    assert list(zip(effects["open point"], effects["reading"], strict=True)) == [
        (point, value) for point, values in study.READINGS.items() for value in values
    ]
    for _, effect in effects.iterrows():
        for measure in study.MEASURES:
            chosen = [
                (d, e)
                for at, of, d, e in zip(
                    frame[effect["open point"]], frame["measure"], frame["dynamic"], frame["difference"], strict=True
                )
                if at == effect["reading"] and of == measure
            ]
            name = measure.replace("_", " ")
            assert effect[name] == pytest.approx(sum(d for d, _ in chosen) / len(chosen))
            assert effect[f"{name}, minus static"] == pytest.approx(sum(e for _, e in chosen) / len(chosen))


def test_algorithm_repairs_need_all_three() -> None:
    frame = study.algorithm_repairs(40)
    assert len(frame) == 4 * 3 + 4
    complete = frame[frame["repairs"].str.count(",") == 2]
    assert len(complete) == 1
    assert complete["wrong"].item() == complete["overdrawn"].item() == 0
    assert (frame.drop(complete.index)["wrong"] > 0).all()
    assert (frame["overdrawn"] <= frame["instances"]).all()


# ------------------------------------------------------------------------------------------------- stored tables


@pytest.mark.parametrize("name", ["fig3", "fig4", "fig5", "fig6", "fig7", "fig8", "algorithm_repairs"])
def test_stored_tables_computed_again(name: str) -> None:
    try:
        facts = results.load_facts(f"dmfa_srq/{name}")
        stored = results.load(f"dmfa_srq/{name}")
    except StaleResult as stale:
        pytest.fail(str(stale))
    again = getattr(study, name)(**facts["facts"])
    if name.startswith("fig"):
        assert facts["facts"] == {"runs": 1000, "seed": study.SEED}
    pd.testing.assert_frame_equal(stored, again, rtol=1e-8, atol=1e-8, check_dtype=False)


def test_stored_readings_contain_those_of_the_figures() -> None:
    # 200 runs of all 54 combinations take half a minute; the one of the figures and a far one are computed again
    stored = results.load("dmfa_srq/readings")
    facts = results.load_facts("dmfa_srq/readings")["facts"]
    names = list(study.READINGS)
    for pick in (0, -1):
        how: dict[str, Any] = {name: values[pick] for name, values in study.READINGS.items()}
        again = study.curves(facts["runs"], facts["seed"], sizes=(100,), points=1, **how)
        wide = again.pivot(index="measure", columns="mechanism", values="mean")
        rows = stored[(stored[names] == pd.Series(how)).all(axis=1)].set_index("measure")
        assert len(rows) == len(study.MEASURES)
        for column in ("dynamic", "static", "difference"):
            np.testing.assert_allclose(rows.loc[wide.index, column], wide[column], rtol=1e-8, atol=1e-8)


def test_stored_end_points_gather_the_figures() -> None:
    frame = study.stored_end_points()
    assert (frame["k"] == frame["n"]).all()
    assert len(frame) == len(study.SIZES) * len(study.MEASURES) * 3
    for figure, measure in zip(("fig5", "fig6", "fig7", "fig8"), study.MEASURES, strict=True):
        part = frame[frame["measure"] == measure].drop(columns="measure").reset_index(drop=True)
        pd.testing.assert_frame_equal(part, study.end_points(results.load(f"dmfa_srq/{figure}")))


# ---------------------------------------------------------------------------------------------------- raw traces


class RawTasks:
    """Draws tasks from the raw trace, each of its distinct tasks with positive requests being equally likely."""

    def __init__(self, folder: Path) -> None:
        names = {0: "time", 2: "job", 3: "task", 5: "event", 9: "cpu", 10: "memory"}
        files = sorted(folder.glob("task_events_part-*.csv.gz"))
        frames = (pd.read_csv(path, header=None, usecols=list(names)).rename(columns=names) for path in files)
        events = pd.concat(frame[frame["event"] == 0] for frame in frames).dropna(subset=["cpu", "memory"])
        tasks = events.sort_values("time", kind="stable").drop_duplicates(["job", "task"])
        self.requests = tasks.loc[(tasks["cpu"] > 0) & (tasks["memory"] > 0), ["cpu", "memory"]].to_numpy()

    def sample(self, n: int, rng: np.random.Generator, **how: object) -> np.ndarray:
        assert how == {"unit": "task", "zeros": "drop", "scale": "machine"}
        return self.requests[rng.integers(len(self.requests), size=n)]


@pytest.mark.traces
@pytest.mark.slow
def test_figures_from_raw_tasks_agree_with_those_from_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    root = os.environ.get("FAIRBOOK_TRACES")
    if not root or not (Path(root) / "google2011").is_dir():
        pytest.skip("FAIRBOOK_TRACES names no folder with google2011: figures from raw tasks were NOT compared")
    raw = RawTasks(Path(root) / "google2011")
    drawn = study.trace_requests()
    assert len(raw.requests) == drawn["tasks"].sum()
    counts = pd.DataFrame(raw.requests, columns=["cpu", "memory"]).value_counts().sort_index()
    pd.testing.assert_series_equal(counts, drawn.groupby(["cpu", "memory"])["tasks"].sum(), check_names=False)
    digest = study.end_points(study.curves(400, 1, sizes=(20, 100), points=1)).set_index(KEYS)
    monkeypatch.setattr(study, "_digest", lambda: raw)
    other = study.end_points(study.curves(400, 2, sizes=(20, 100), points=1)).set_index(KEYS)
    # two independent samples: the difference of their means has the variances added; 4 standard errors, 24 means
    error = np.hypot(digest["high"] - digest["mean"], other["high"] - other["mean"]) / stats.t.ppf(0.975, 399)
    assert ((digest["mean"] - other["mean"]).abs() <= 4 * error + 1e-9).all()
    assert (error < 0.02).all(), "too few runs to tell anything"
