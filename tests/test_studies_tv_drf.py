"""The experiments of the TV-DRF chapter: by hand, against a queue and the oracle, and the stored tables again."""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from book.common.runs import interval, stream
from book.tv_drf import studies as study
from book.tv_drf.oracle import lexicographic_run
from fairbook import results
from fairbook.errors import InvalidInput, MissingDependency, StaleResult
from fairbook.mechanisms.tv_drf import tv_drf
from fairbook.traces import alibaba2018
from fairbook.traces.alibaba2017 import Jobs, load_digest, read_jobs

JOBS = load_digest()
#: The same jobs as the trace of 2018 would have them; how long they took and what waits for what is made up.
JOBS_2018 = alibaba2018.Jobs(
    JOBS.first.copy(), JOBS.created.copy(), JOBS.instances.copy(), JOBS.plan_cpu.astype(float), JOBS.memory.copy(),
    np.full(len(JOBS.created), 60), np.arange(len(JOBS.created)) - JOBS.first[:-1].repeat(JOBS.groups_per_job))


def value(frame: pd.DataFrame, measure: str, mechanism: str, column: str = "mean", **case: Any) -> np.ndarray:
    """Give one number a period."""
    part = frame[(frame["measure"] == measure) & (frame["mechanism"] == mechanism)]
    for name, wanted in case.items():
        part = part[part[name] == wanted]
    assert part["period"].tolist() == list(range(1, len(part) + 1))
    return part[column].to_numpy()


# ------------------------------------------------------------------------------------------------- worked example


def test_the_example_by_hand() -> None:
    # A: 15 (2, 1) = (30, 15), then alone (50, 50) more. B: 70 (1, 1), of which alone 50; then, by resources, 4 (20, 10)
    # against (50, 50): (50, 40). The end: 12 tasks of A, 2 of B, (60 + 40, 60 + 20) of (100, 100).
    frame = study.example()
    wide = frame.set_index(["moment", "user"])
    assert wide.loc[("after period 1", "B"), ["cpu", "memory", "own_cpu", "own_memory"]].tolist() == [70, 70, 50, 50]
    for moment in ("start of period 2", "A has (50, 50), B (40, 20)", "end of period 2"):
        assert wide.loc[(moment, "A"), ["own_cpu", "own_memory"]].tolist() == [80, 65]
        assert wide.loc[(moment, "B"), ["own_cpu", "own_memory"]].tolist() == [100, 90]
    assert wide.loc[("end of period 2", "A"), ["tasks", "cpu", "memory"]].tolist() == [12, 90, 75]
    assert wide.loc[("end of period 2", "B"), ["tasks", "cpu", "memory"]].tolist() == [2, 110, 90]
    expected = ["1", "7/5", "3/13", "7/10", "1", "1", "9/8", "1"]
    assert frame["exact"].tolist() == expected
    np.testing.assert_allclose(frame["beta"], [float(Fraction(x)) for x in expected], rtol=1e-15)
    assert frame["agrees"].all()
    assert frame["source"].tolist() == ["by hand"] * 6 + ["engine"] * 2


def test_the_example_in_other_readings_by_hand() -> None:
    # bundles: B alone runs 2.5 of (20, 10), so (100, 75) in all; whole ones 2, so (90, 70)
    for alone, owned, betas in (("bundles", [100, 75], ("3/13", "7/10")), ("whole_bundles", [90, 70], ("3/13", "7/9"))):
        frame = study.example(alone=alone)  # type: ignore[arg-type]
        start = frame[frame["moment"] == "start of period 2"]
        assert start["exact"].tolist() == list(betas)
        assert start[["own_cpu", "own_memory"]].iloc[1].tolist() == owned
        assert start["agrees"].tolist() == [True, alone == "bundles"]
        assert not frame["agrees"].all()


def test_which_counts_print_the_example() -> None:
    frame = study.example_counts()
    assert len(frame) == 3 * 30 * 10
    assert frame["after_first"].all()
    good = frame[frame["all"]]
    # A: at least the 12 that it runs; B: 4, for by memory alone it would have had min(10 b, 50) = 40
    assert set(zip(good["alone"], good["tasks_a"], good["tasks_b"], strict=True)) == {
        ("resources", a, 4) for a in range(12, 31)}
    rows = frame.set_index(["alone", "tasks_a", "tasks_b"])
    for alone, limit in (("resources", 10), ("bundles", 10)):
        for a, b in ((9, 4), (10, 4), (10, 3), (20, 2)):
            more = (min(20 * b, 50), min(10 * b, 50)) if alone == "resources" else (min(20 * b, 50), min(10 * b, 25))
            owned_b = (50 + more[0], 50 + more[1])
            owned_a = (30 + 5 * min(a, limit), 15 + 5 * min(a, limit))
            row = rows.loc[(alone, a, b)]
            assert row["start_a"] == pytest.approx(min(30 / owned_a[0], 15 / owned_a[1]), rel=1e-12)
            assert row["start_b"] == pytest.approx(min(70 / owned_b[0], 70 / owned_b[1]), rel=1e-12)
            assert row["middle_b"] == pytest.approx(min(110 / owned_b[0], 90 / owned_b[1]), rel=1e-12)
            assert row["passed"] == (a >= 10 and b >= 3)  # nine of A's are not 50; two of B's are 1 at once
    assert not frame.loc[frame["alone"] != "resources", "end"].any()
    for row in frame.sample(40, random_state=1).itertuples():
        run = tv_drf(study.EXAMPLE.demands, [study.EXAMPLE.first, (row.tasks_a, row.tasks_b)], study.EXAMPLE.machines,
                     np.eye(2), alone=row.alone)
        assert run.sharing_coefficients[1].tolist() == [row.end_a, row.end_b]


# ------------------------------------------------------------------------------------------- users from the trace


def test_users_are_jobs_of_the_trace_with_their_groups_in_order() -> None:
    case = study.instance(stream(1), 30, periods=12, memory_gb=64.0)
    assert case.demands.shape == (12, 30, 2)
    starts = JOBS.first[:-1][JOBS.groups_per_job >= 12]
    known = {tuple(JOBS.instances[a:a + 12]) + tuple(JOBS.plan_cpu[a:a + 12]) + tuple(JOBS.memory[a:a + 12].round(9))
             for a in starts}
    for i in range(30):
        job = (*case.tasks[:, i], *(100 * case.demands[:, i, 0]).round().astype(int),
               *(case.demands[:, i, 1] / 64).round(9))
        assert job in known


@pytest.mark.parametrize(("n", "machines", "number", "size"), [
    (20, "table", 1, (250, 40)), (100, "table", 1, (200, 40)), (5, "twelve", 12, (50, 40)),
    (100, "twelve", 1, (200, 40))])
def test_machines_are_those_of_the_table(n: int, machines: str, number: int, size: tuple[float, float]) -> None:
    case = study.instance(stream(2), n, machines=machines)
    assert case.machines.tolist() == [list(size)] * (n * number)
    assert case.contributions.tolist() == [1 / n] * n
    assert (case.demands <= case.machines[0]).all()
    assert (case.demands > 0).all()
    assert (case.tasks >= 1).all()


def test_every_task_of_the_trace_fits_a_machine_of_the_table() -> None:
    assert JOBS.cores.max() == 8
    assert JOBS.memory.max() == 0.127
    with pytest.raises(InvalidInput, match="memory_gb"):
        study.instance(stream(1), 5, memory_gb=40 / JOBS.memory[JOBS.groups_per_job.repeat(JOBS.groups_per_job)
                                                                 >= 20].min() * 1.01)


def test_short_jobs_begin_again() -> None:
    case = study.instance(stream(3), 40, periods=9, min_groups=1)
    again = study.instance(stream(3), 40, periods=18, min_groups=1)
    np.testing.assert_array_equal(case.tasks, again.tasks[:9])
    lengths = set()
    for i in range(40):
        rows = np.column_stack([again.tasks[:, i], again.demands[:, i]])
        lengths |= {p for p in range(1, 9) if (rows[p:] == rows[:-p]).all()}
    assert {1, 2, 3} <= lengths  # and not only such as say the same in each group
    assert any(len(set(again.tasks[:, i])) > 1 for i in range(40))


def test_busy_users_are_busy() -> None:
    for load in (0.5, 1.0):
        case = study.instance(stream(4), 40, min_load=load)
        need = (case.tasks[:, :, None] * case.demands).mean(axis=0) / (250, 40)
        assert (need.max(axis=1) >= load * (1 - 1e-9)).all()
    usual = study.instance(stream(4), 300)
    need = ((usual.tasks[:, :, None] * usual.demands).mean(axis=0) / (200, 40)).max(axis=1)
    assert np.median(need) < 0.25
    with pytest.raises(InvalidInput, match="at most 67"):
        study.instance(stream(4), 68, min_load=1.0)


def test_dealt_users_bring_as_much_work_as_others() -> None:
    able = np.flatnonzero(JOBS.groups_per_job >= 20)
    at = JOBS.first[able][:, None] + np.arange(20)
    usual = (JOBS.instances[at] * JOBS.memory[at]).mean()
    loads = []
    for r in range(4):
        case = study.dealt_instance(stream(5, r), 100, 300.0)
        assert case.tasks.shape == (205, 100)
        loads.append((case.tasks * case.demands[:, :, 1]).mean() / 40)
    assert np.mean(loads) == pytest.approx(usual, rel=0.15)
    assert study.dealt_instance(stream(5), 5, 3600.0).tasks.shape == (18, 5)


# --------------------------------------------------------------------------------------------- ways to serve them


def serve(demands: np.ndarray, tasks: np.ndarray, machine: Any, waits: bool) -> tuple[np.ndarray, np.ndarray]:
    """Run one user alone on one machine, a queue in order: tasks run of each group in each period, and use."""
    T = len(tasks)
    queue: list[list[int]] = []
    ran, use = np.zeros((T, T)), np.zeros((T, 2))
    for t in range(T):
        queue = [*queue, [t, int(tasks[t])]] if waits else [[t, int(tasks[t])]]
        room = np.array(machine, dtype=float)
        while queue:
            s, left = queue[0]
            some = min(left, int(np.floor((room / demands[s]).min() * (1 + 1e-12))))
            ran[t, s] += some
            room -= some * demands[s]
            queue[0][1] -= some
            if queue[0][1]:
                break
            queue.pop(0)
        use[t] = machine - room
    return ran, use


@pytest.mark.parametrize("unserved", study.UNSERVED)
def test_no_sharing_against_a_queue_served_by_hand(unserved: str) -> None:
    runs, n = 3, 6
    frame = study.curves(runs, 7, n, unserved=unserved, periods=15)
    expected = {"min_share": [], "cpu": [], "memory": [], "total_share": [], "served": []}  # type: ignore[var-annotated]
    for r in range(runs):
        case = study.instance(stream(7, n, r), n, periods=15)
        machine = np.array([250.0, 40.0])
        parts = [serve(case.demands[:, i], case.tasks[:, i], machine, unserved == "waits") for i in range(n)]
        size = (case.demands / machine).max(axis=2)  # r / w: the pool is n machines, of which each brought one
        shares = np.stack([np.cumsum(ran @ size[:, i]) for i, (ran, _) in enumerate(parts)], axis=1)
        use = sum(use for _, use in parts) / (n * machine)
        ran = np.cumsum(sum(ran.sum(axis=1) for ran, _ in parts))
        for measure, line in (("min_share", shares.min(axis=1)), ("cpu", use[:, 0]), ("memory", use[:, 1]),
                              ("total_share", shares.mean(axis=1)),
                              ("served", ran / np.cumsum(case.tasks.sum(axis=1)))):
            expected[measure].append(line)
    for measure, lines in expected.items():
        mean = interval(np.array(lines))
        for column in ("mean", "low", "high"):
            np.testing.assert_allclose(value(frame, measure, "alone", column), mean[column], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(value(frame, measure, "alone", "least"), np.min(lines, axis=0), atol=1e-9)
    for measure in ("min_beta", "min_ratio"):
        np.testing.assert_allclose(value(frame, measure, "alone"), 1, rtol=1e-9)


def test_the_optimum_against_linear_programs() -> None:
    frame = study.curves(1, 8, 3, unserved="expires", periods=4, min_load=1.0)
    case = study.instance(stream(8, 3, 0), 3, periods=4, min_load=1.0)
    pool = case.machines.sum(axis=0, keepdims=True)
    run = lexicographic_run(case.demands, case.tasks, pool, case.contributions[:, None])
    np.testing.assert_allclose(value(frame, "min_share", "optimum"), run.cumulative_shares.min(axis=1), rtol=1e-6)
    np.testing.assert_allclose(value(frame, "total_share", "optimum"), run.cumulative_shares.mean(axis=1), rtol=1e-6)
    use = np.einsum("ti,tij->tj", run.tasks, case.demands) / pool
    np.testing.assert_allclose(value(frame, "cpu", "optimum"), use[:, 0], rtol=1e-6)
    np.testing.assert_allclose(value(frame, "memory", "optimum"), use[:, 1], rtol=1e-6)


@pytest.mark.parametrize("unserved", study.UNSERVED)
def test_measures_of_the_heuristic_from_its_amounts(unserved: Any) -> None:
    frame = study.curves(2, 9, 4, unserved=unserved, mechanisms=("memoryless", "alone", "tv_drf"), min_load=0.5)
    assert list(dict.fromkeys(frame["mechanism"])) == ["memoryless", "alone", "tv_drf", "difference"]
    assert list(dict.fromkeys(frame["measure"])) == list(study.MEASURES)
    lines: dict[str, list[np.ndarray]] = {}
    for r in range(2):
        case = study.instance(stream(9, 4, r), 4, min_load=0.5)
        for name, memory in (("tv_drf", True), ("memoryless", False)):
            run = tv_drf(case.demands, case.tasks, case.machines, case.contributions, alone="whole_bundles",
                         unserved=unserved, memory=memory)
            used, owned = np.cumsum(run.amounts, axis=0), np.cumsum(run.alone, axis=0)
            lines.setdefault(f"min_beta {name}", []).append((used / owned).min(axis=(1, 2)))
            lines.setdefault(f"memory {name}", []).append(run.amounts[:, :, 1].sum(axis=1) / 160)
            behind = []
            for t in range(20):
                ahead = [g for g, x in zip(run.cumulative_shares[t], run.tasks[t], strict=True) if x > 0]
                needy = [g for g, x in zip(run.cumulative_shares[t], run.unserved[t], strict=True) if x > 0]
                behind.append(max([0.0, *(a - b for a in ahead for b in needy)]))
            lines.setdefault(f"behind {name}", []).append(np.array(behind))
            # on machines of their own, whole bundles are all that anyone can have alone
            own = np.stack([np.cumsum([serve(case.demands[:, i], case.tasks[:, i], np.array([250.0, 40.0]),
                                             unserved == "waits")[0][t] @ (case.demands[:, i] / (250, 40)).max(axis=1)
                                       for t in range(20)]) for i in range(4)], axis=1)
            lines.setdefault(f"min_ratio {name}", []).append((run.cumulative_shares / own).min(axis=1))
    for name, found in lines.items():
        measure, mechanism = name.split()
        np.testing.assert_allclose(value(frame, measure, mechanism), np.mean(found, axis=0), rtol=1e-9, atol=1e-9)
    assert max(np.max(found) for name, found in lines.items() if name.startswith("behind")) > 1


def test_differences_are_taken_run_by_run() -> None:
    case: dict[str, Any] = {"unserved": "waits", "mechanisms": ("tv_drf", "alone"), "min_load": 0.5}
    frame = study.curves(4, 3, 5, **case)
    first = study.curves(1, 3, 5, **case)
    for measure in study.MEASURES:
        lead = value(frame, measure, "difference")
        both = value(frame, measure, "tv_drf") - value(frame, measure, "alone")
        np.testing.assert_allclose(lead, both, atol=1e-9)
        one = value(first, measure, "tv_drf") - value(first, measure, "alone")
        np.testing.assert_allclose(value(first, measure, "difference", "low"), one, atol=1e-9)
        assert (value(frame, measure, "difference", "least") <= one + 1e-9).all()
        below = value(frame, measure, "difference", "below")
        assert set((4 * below).tolist()) <= {0, 1, 2, 3, 4}
        np.testing.assert_array_equal(value(first, measure, "difference", "below"), one < -1e-9)
    assert frame.loc[frame["mechanism"] != "difference", "below"].isna().all()
    assert value(frame, "memory", "difference", "below").max() > 0  # a backlog is worked off sooner
    assert set(frame["n"]) == {5}
    assert set(frame["runs"]) == {4}


def test_only_pairs_have_differences() -> None:
    frame = study.curves(1, 1, (2, 3), unserved=("expires", "waits"), mechanisms=("optimum",), periods=10)
    assert set(frame["mechanism"]) == {"optimum"}
    assert list(frame[["n", "unserved"]].drop_duplicates().itertuples(index=False, name=None)) == [
        (2, "expires"), (2, "waits"), (3, "expires"), (3, "waits")]
    with pytest.raises(InvalidInput, match="frame"):
        study.moments(frame)


def test_idle_users_have_a_coefficient_of_one() -> None:
    frame = study.curves(2, 1, 2, mechanisms=("tv_drf", "alone"), unserved="waits", seconds=900.0)
    assert np.isfinite(frame[["mean", "low", "high", "least"]]).all(axis=None)
    assert value(frame, "min_beta", "alone")[0] == 1


def test_moments_by_hand() -> None:
    rows = [("difference", "cpu", t, mean, high, below) for t, mean, high, below in (
        (1, 0.1, 0.2, 0.0), (2, -0.1, 0.05, 0.5), (3, -0.3, -0.2, 1.0), (4, 0.4, 0.5, 0.25))]
    frame = pd.DataFrame(rows, columns=["mechanism", "measure", "period", "mean", "high", "below"]).assign(
        n=20, unserved="waits", runs=8)
    assert study.moments(frame).to_dict("records") == [{
        "n": 20, "unserved": "waits", "measure": "cpu", "first": 0.1, "last": 0.4, "least": -0.3, "periods_below": 2,
        "surely_below": 1, "below": 0.4375, "falls": 2, "periods": 4, "runs": 8}]


# ------------------------------------------------------------------------------------------------ the paper's figures


@pytest.mark.parametrize(("figure", "n"), [(study.fig1, 20), (study.fig2, 100)])
def test_bubbles_are_the_first_run(figure: Callable[..., pd.DataFrame], n: int) -> None:
    frame = figure(5)
    case = study.instance(stream(5, n, 0), n)
    assert len(frame) == 20 * n
    for row in frame.sample(50, random_state=2).itertuples():
        t, i = row.period - 1, row.user - 1
        assert (row.n, row.tasks) == (n, case.tasks[t, i])
        assert (row.cpu, row.memory) == tuple(case.demands[t, i])


@pytest.mark.parametrize(("figure", "n", "measure"), [
    (study.fig3, 5, "min_share"), (study.fig4, 20, "cpu"), (study.fig5, 20, "memory"), (study.fig6, 100, "cpu"),
    (study.fig7, 100, "memory")])
def test_figures_take_their_part_of_the_experiment(figure: Callable[..., pd.DataFrame], n: int, measure: str) -> None:
    frame = figure(2, 4, unserved="expires")
    assert set(frame["measure"]) == {measure}
    assert set(frame["unserved"]) == {"expires"}
    assert set(frame["n"]) == {n}
    both = study.curves(2, 4, n, unserved="expires", mechanisms=("tv_drf", "alone"))
    for mechanism in ("tv_drf", "alone", "difference"):
        np.testing.assert_array_equal(value(frame, measure, mechanism), value(both, measure, mechanism))


# ------------------------------------------------------------------------------------- the heuristic and its optimum


def test_losses_counted_by_hand() -> None:
    runs, n = 3, 4
    frame = study.losses(runs, 2, sizes=(n,), min_load=0.5).set_index(["unserved", "mechanism", "alone"])
    assert len(frame) == 2 * 6
    for (unserved, mechanism, alone), row in frame.iterrows():
        how: dict[str, Any] = {"alone": alone, "unserved": unserved}
        if mechanism == "optimum":
            how["method"] = "lexicographic"
        below, least, reach = [], [], []
        for r in range(runs):
            run = tv_drf(*study.instance(stream(2, n, r), n, min_load=0.5), memory=mechanism != "memoryless", **how)
            below.append(run.sharing_coefficients < 1 - 1e-9)
            least.append(run.sharing_coefficients.min())
            reach.append(run.below_one.mean())
        cells = np.array(below)
        assert row["below"] == pytest.approx(cells.mean(), abs=1e-11)
        assert row["periods_below"] == pytest.approx(cells.any(axis=2).mean(), abs=1e-11)
        assert row["runs_below"] == pytest.approx(cells.any(axis=(1, 2)).mean(), abs=1e-11)
        assert row["least"] == pytest.approx(min(least), rel=1e-9)
        expected = np.mean(reach) if mechanism == "optimum" else np.nan
        assert row["unreachable"] == pytest.approx(expected, abs=1e-11, nan_ok=True)
        assert row["runs"] == runs
    assert (frame.xs("bundles", level="alone")[["below", "runs_below"]] == 0).all(axis=None)  # Theorem 1
    assert (frame.xs("resources", level="alone")["below"] > 0.1).all()


def test_gaps_measured_by_hand() -> None:
    runs, n = 2, 4
    frame = study.gaps(runs, 6, sizes=(n,), unserved="expires", min_load=0.5).set_index("packing")
    for packing in ("machines", "merged"):
        steps, total, least = [], [], []
        for r in range(runs):
            case = study.instance(stream(6, n, r), n, min_load=0.5)
            pool = case.machines if packing == "machines" else [[1000.0, 160.0]]
            found = tv_drf(case.demands, case.tasks, pool, case.contributions, alone="whole_bundles").cumulative_shares
            best = tv_drf(case.demands, case.tasks, [[1000.0, 160.0]], case.contributions,
                          method="lexicographic").cumulative_shares
            for t in range(20):
                for i in range(n):
                    largest = max(max(case.demands[s, i] / (1000, 160)) * n for s in range(t + 1))
                    steps.append(abs(found[t, i] - best[t, i]) / largest)
            total.append(found.sum(axis=1) / best.sum(axis=1))
            least.append(found.min(axis=1) / best.min(axis=1))
        row, cells = frame.loc[packing], np.array(steps).reshape(runs, 20, n)
        for column, wanted in {
                "mean": cells.mean(), "median": np.median(cells), "p95": np.quantile(cells, 0.95), "worst": cells.max(),
                "beyond": (cells > 1).mean(), "end_mean": cells[:, -1].mean(), "end_worst": cells[:, -1].max(),
                "total_share": np.mean(total), "total_share_least": np.min(total), "min_share": np.mean(least),
                "min_share_least": np.min(least)}.items():
            assert row[column] == pytest.approx(wanted, rel=1e-8, abs=1e-9), column
    assert frame.loc["machines", "worst"] > frame.loc["merged", "worst"] > 0


# ------------------------------------------------------------------------------------------ what the paper leaves out


def test_readings_are_ends_of_curves() -> None:
    frame = study.readings(3, 5, sizes=(4,), points=("unserved", "Table 1"))
    assert frame["value"].tolist() == [name for name in ("waits", "expires", "1 x (250, 40)", "12 x (50, 40)")
                                       for _ in range(3)]
    for name, how in (("waits", {}), ("expires", {"unserved": "expires"}), ("12 x (50, 40)", {"machines": "twelve"})):
        courses = study.curves(3, 5, 4, mechanisms=("tv_drf", "alone"), **how)  # type: ignore[arg-type]
        rows = frame[frame["value"] == name].set_index("measure")
        assert (rows["figures"] == (not how)).all()
        for measure in ("min_share", "cpu", "memory"):
            row = rows.loc[measure]
            for column, mechanism in (("shared", "tv_drf"), ("alone", "alone"), ("difference", "difference")):
                line = value(courses, measure, mechanism)
                assert row[column] == pytest.approx(line[-1] if measure == "min_share" else line.mean(), abs=1e-9)
            assert row["gain"] == pytest.approx(row["difference"] / row["alone"], rel=1e-12)
            assert row["below"] == pytest.approx(value(courses, measure, "difference", "below").mean(), abs=1e-9)
            assert row["low"] <= row["difference"] <= row["high"]


def test_every_reading_changes_something() -> None:
    points = [point for point in study.READINGS if point != "time"]
    frame = study.readings(2, 5, sizes=(6,), points=points)
    for point, part in frame.groupby("point"):
        columns = part.set_index(["value", "measure"])[["alone", "shared"]]
        first = next(iter(study.READINGS[str(point)]))
        assert list(study.READINGS[str(point)][first]) == []
        for other in list(study.READINGS[str(point)])[1:]:
            if other != "bundles":  # half a task more or less alone: that hardly ever decides anything
                assert not np.allclose(columns.loc[first], columns.loc[other], rtol=1e-9), (point, other)


# -------------------------------------------------------------------------------------------------- what memory buys


def test_what_memory_buys_by_hand() -> None:
    frame = study.memory_course()
    tasks = {key: part["tasks"].to_numpy() for key, part in frame.groupby(["mechanism", "user"])}
    shares = {key: part["share"].to_numpy() for key, part in frame.groupby(["mechanism", "user"])}
    for mechanism in ("tv_drf", "memoryless"):
        # B fills what A leaves: 5 of A's 120 GB, and 57 whole tasks of 2
        assert set(tasks[mechanism, "A"][:8]) == {5}
        assert set(tasks[mechanism, "B"][:8]) == {57}
        for user in "AB":  # both resources are 120; a task adds 2 / 120 over 1 / 2
            np.testing.assert_allclose(shares[mechanism, user], np.cumsum(tasks[mechanism, user]) / 30, rtol=1e-12)
    # without memory DRF, 40 each: 2 * 40 + 40 = 120
    assert set(tasks["memoryless", "A"][8:]) == set(tasks["memoryless", "B"][8:]) == {40}
    # with it all of A's 60, until G is equal
    assert set(tasks["tv_drf", "A"][8:14]) == {60}
    assert set(tasks["tv_drf", "B"][8:14]) == {0}
    assert abs(shares["tv_drf", "A"][-1] - shares["tv_drf", "B"][-1]) <= 1 / 30 + 1e-12
    assert shares["memoryless", "B"][-1] - shares["memoryless", "A"][-1] == pytest.approx(8 * 52 / 30)
    assert (frame.loc[frame["mechanism"] == "tv_drf", "beta"] >= 1 - 1e-12).all()
    assert frame["submitted"].tolist() == ([5] * 8 + [60] * 12 + [60] * 20) * 2


# ---------------------------------------------------------------------------------------------------------- edges


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: study.instance(1, 5), "rng"),  # type: ignore[arg-type]
        (lambda: study.instance(stream(1), 0), "n"),
        (lambda: study.instance(stream(1), 336), "n"),
        (lambda: study.instance(stream(1), 2, periods=0), "periods"),
        (lambda: study.instance(stream(1), 2, machines="five"), "machines"),
        (lambda: study.instance(stream(1), 2, memory_gb=0), "memory_gb"),
        (lambda: study.instance(stream(1), 2, memory_gb=True), "memory_gb"),
        (lambda: study.instance(stream(1), 2, memory_gb=10_000), "memory_gb"),
        (lambda: study.instance(stream(1), 2, min_groups=0), "min_groups"),
        (lambda: study.instance(stream(1), 2, min_load=-1), "min_load"),
        (lambda: study.instance(stream(1), 2, min_load=[1]), "min_load"),  # type: ignore[arg-type]
        (lambda: study.instance(stream(1), 2, min_load=float("nan")), "min_load"),
        (lambda: study.instance(stream(1), 2, min_load=0.5, min_groups=3), "min_load"),
        (lambda: study.instance(stream(1), 2, min_load=0.5, jobs=JOBS_2018), "min_load"),
        (lambda: study.instance(stream(1), 2, jobs=3), "jobs"),  # type: ignore[arg-type]
        (lambda: study.dealt_instance(stream(1), 2, 0.5), "period"),
        (lambda: study.dealt_instance(stream(1), 0, 900.0), "n"),
        (lambda: study.example((0, 4)), "counts"),
        (lambda: study.example(4), "counts"),  # type: ignore[arg-type]
        (lambda: study.example(alone="own"), "alone"),  # type: ignore[arg-type]
        (lambda: study.example_counts((3, 1.5)), "most"),  # type: ignore[arg-type]
        (lambda: study.curves(0), "runs"),
        (lambda: study.curves(1, -1), "seed"),
        (lambda: study.curves(1, n=()), "n"),
        (lambda: study.curves(1, n=0), "n"),
        (lambda: study.curves(1, n=5, unserved="stays"), "unserved"),
        (lambda: study.curves(1, n=5, unserved=()), "unserved"),
        (lambda: study.curves(1, n=5, mechanisms=("drf",)), "mechanisms"),
        (lambda: study.curves(1, n=5, mechanisms=()), "mechanisms"),
        (lambda: study.fig4(0), "runs"),
        (lambda: study.losses(1, sizes=()), "sizes"),
        (lambda: study.losses(1, sizes=(2,), unserved="stays"), "unserved"),
        (lambda: study.gaps(1, sizes=(0,)), "sizes"),
        (lambda: study.gaps(True, sizes=(2,)), "runs"),
        (lambda: study.readings(1, points=("colour",)), "points"),
        (lambda: study.readings(0, sizes=(2,), points=("alone",)), "runs"),
        (lambda: study.memory_course(quiet=20), "quiet"),
        (lambda: study.memory_course(periods=1), "periods"),
    ],
)
def test_bad_arguments_are_named(call: Callable[[], object], argument: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert caught.value.where.split("[")[0] == argument


@pytest.mark.traces
@pytest.mark.slow
def test_figures_from_the_raw_trace_agree_with_those_from_the_digest() -> None:
    root = os.environ.get("FAIRBOOK_TRACES")
    if not root or not (Path(root) / "alibaba2017").is_dir():
        pytest.skip("FAIRBOOK_TRACES names no folder with alibaba2017: figures from the raw trace were NOT compared")
    raw = read_jobs(Path(root) / "alibaba2017")
    assert isinstance(raw, Jobs)
    assert not np.array_equal(raw.memory, JOBS.memory)
    for n in (5, 20):
        case: dict[str, Any] = {"unserved": ("waits", "expires"), "mechanisms": ("tv_drf", "alone")}
        rounded, exact = study.curves(20, 1, n, **case), study.curves(20, 1, n, jobs=raw, **case)
        keys = ["mechanism", "measure", "period", "unserved"]
        pd.testing.assert_frame_equal(rounded[keys], exact[keys])
        for measure, tolerance in (("min_share", 0.02), ("cpu", 0.01), ("memory", 0.01), ("total_share", 0.05)):
            part = rounded["measure"] == measure
            assert (rounded["mean"] - exact["mean"])[part].abs().max() < tolerance, (n, measure)
        assert (rounded["mean"] != exact["mean"]).any()


# ----------------------------------------------------------------------------------------------- second workload


def test_the_second_workload_is_judged_like_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "read_tasks", lambda: JOBS_2018)
    frame = study.second_workload(runs=3, sizes=[4])
    assert frame.groupby(["unserved", "value"]).size().tolist() == [3] * 4
    halves = [frame[frame["value"] == name].drop(columns=["value", "figures"]).reset_index(drop=True)
              for name in ("2017", "2018 sample")]  # fmt: skip
    pd.testing.assert_frame_equal(*halves)  # the same jobs, the same users, the same numbers
    case = study.instance(stream(study.SEED, 4, 0), 4)
    run = tv_drf(*case, alone="whole_bundles", unserved="waits")
    cpu = [run.utilisation[:, 0].mean()]
    for r in (1, 2):
        cpu.append(tv_drf(*study.instance(stream(study.SEED, 4, r), 4), alone="whole_bundles",
                          unserved="waits").utilisation[:, 0].mean())
    row = frame[(frame["unserved"] == "waits") & (frame["measure"] == "cpu") & (frame["value"] == "2017")]
    assert np.isclose(row["shared"].iloc[0], np.mean(cpu))


def test_the_second_workload_needs_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alibaba2018, "PACKAGE", "no-such-package-here")
    with pytest.raises(MissingDependency, match="workloads"):
        study.second_workload(runs=1)


# ------------------------------------------------------------------------------------------------- stored tables


def stored(name: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    try:
        return results.load(f"tv_drf/{name}"), results.load_facts(f"tv_drf/{name}")["facts"]
    except StaleResult as stale:
        pytest.fail(str(stale))


#: How much of each table is computed again, and the runs that it must hold.
AGAIN: dict[str, tuple[dict[str, Any], int]] = {
    "curves_5": ({}, 100), "curves_20": ({}, 100), "curves_busy": ({"n": 5}, 100), "losses": ({"sizes": [5]}, 30),
    "losses_busy": ({"sizes": [5]}, 30), "gaps": ({"sizes": [5, 20]}, 30), "gaps_busy": ({"sizes": [5]}, 30),
    "readings": ({"sizes": [5], "points": ["unserved", "load"]}, 50)}


def test_every_stored_table_is_computed_again() -> None:
    assert {f"tv_drf/{name}" for name in (*AGAIN, "curves_100", "second_workload")} == set(study.STORED)


@pytest.mark.parametrize("name", list(AGAIN))
def test_stored_tables_computed_again(name: str) -> None:
    frame, facts = stored(name)
    smaller, runs = AGAIN[name]
    assert facts["seed"] == study.SEED
    assert facts["runs"] == runs
    again = getattr(study, name.split("_")[0])(**{**facts, **smaller})
    part = frame[frame["n"].isin(again["n"])]
    if "point" in part:
        part = part[part["point"].isin(smaller["points"])]
    pd.testing.assert_frame_equal(part.reset_index(drop=True), again, rtol=1e-8, atol=1e-8, check_dtype=False)


def test_the_longest_stored_table_holds_its_first_runs() -> None:
    """All of curves_100 would take a minute: some of its runs, held against mean, interval and least of all."""
    frame, facts = stored("curves_100")
    assert (facts["seed"], facts["runs"], set(frame["runs"])) == (study.SEED, 100, {100})
    few = 4
    again = study.curves(**{**facts, "runs": few})
    keys = ["n", "unserved", "mechanism", "measure", "period"]
    pd.testing.assert_frame_equal(frame[keys], again[keys], check_dtype=False)
    assert (frame["least"] <= again["least"] + 1e-9).all()
    np.testing.assert_allclose(frame["mean"] - frame["low"], frame["high"] - frame["mean"], atol=1e-9)
    spread = (frame["high"] - frame["mean"]) * np.sqrt(100) / stats.t.ppf(0.975, 99)  # of one run
    off = (frame["mean"] - again["mean"]).abs()
    # some of a hundred numbers cannot have a mean further from that of all than this
    assert (off <= spread * np.sqrt(99 * (100 - few) / (100 * few)) + 1e-8).all()
    # and hardly ever have one further than the interval for a mean of so few says
    assert (off <= 1.96 * spread / np.sqrt(few) + 1e-8).mean() > 0.9
    assert len(frame[spread < 1e-9]) < len(frame) / 2


def test_the_second_workload_computed_again() -> None:
    try:
        alibaba2018.read_tasks()
    except MissingDependency:
        pytest.skip("the extra 'workloads' is not installed: the stored second workload was NOT computed again")
    frame, facts = stored("second_workload")
    assert (facts["seed"], facts["runs"]) == (study.SEED, 50)
    again = study.second_workload(**facts, sizes=[5])
    part = frame[frame["n"] == 5].reset_index(drop=True)
    pd.testing.assert_frame_equal(part, again, rtol=1e-8, atol=1e-8, check_dtype=False)
