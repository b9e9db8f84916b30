"""The experiments of the GDRF chapter: by hand, against scans in fractions, and with their own arithmetic undone."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import isclose
from typing import Any

import numpy as np
import pandas as pd
import pytest

from book.common.runs import interval, stream
from book.gdrf import studies as study
from book.gdrf.oracle import exact_drfh, exact_gdrf, exact_mdrf, exact_per_server
from fairbook.errors import InvalidInput
from fairbook.mechanisms.drfh import drfh
from fairbook.mechanisms.gdrf import gdrf
from fairbook.traces.google2011 import load_digest


def by_hand(case: study.Instance, placed: list[tuple[int, int]]) -> dict[str, float]:
    """Compute the measures of a placement, machine by machine, from the list of (user, machine)."""
    machines = [m for m, count in zip(case.machines.tolist(), case.counts.tolist(), strict=True) for _ in range(count)]
    totals = [sum(m[r] for m in machines) for r in (0, 1)]
    mu = [max(d[r] / totals[r] for r in (0, 1)) for d in case.demands.tolist()]
    values, with_users, eta, used = [], [], [], [0.0, 0.0]
    tasks = [0] * len(mu)
    for j, size in enumerate(machines):
        there = [i for i, k in placed if k == j]
        use = [sum(case.demands[i, r] for i in there) for r in (0, 1)]
        f = sum(mu[i] for i in there) ** (sum(use) / sum(size)) if there else 1.0
        values.append(f)
        with_users.append(len(set(there)) * f)
        eta.append([use[r] / size[r] for r in (0, 1)])
        used = [used[r] + use[r] for r in (0, 1)]
        for i in there:
            tasks[i] += 1
    shares = [m * x for m, x in zip(mu, tasks, strict=True)]
    cpu_mean, memory_mean = (sum(e[r] for e in eta) / len(eta) for r in (0, 1))
    return {
        "tasks": len(placed), "cpu": used[0] / totals[0], "memory": used[1] / totals[1], "cpu_mean": cpu_mean,
        "memory_mean": memory_mean, "memory_gap": abs(memory_mean - used[1] / totals[1]), "min_share": min(shares),
        "jain": sum(shares) ** 2 / len(shares) / sum(s * s for s in shares), "fairness": sum(values),
        "fairness_mean": sum(values) / len(values), "fairness_whole": sum(shares) ** (sum(used) / sum(totals)),
        "fairness_present": sum(with_users)}


def scanned(case: study.Instance, mechanism: str, lot: int, **how: Any) -> list[tuple[int, int]]:
    """Place by looking at each machine in fractions."""
    cell = tuple(part.astype(int).tolist() for part in case)
    if mechanism == "gdrf":
        return exact_gdrf(*cell, seed=lot, **how).placed
    if mechanism == "per_server_drf":
        return exact_per_server(*cell).placed
    if mechanism.startswith("mdrf"):
        return exact_mdrf(*cell, seed=lot, reading=mechanism.removeprefix("mdrf_")).placed  # type: ignore[arg-type]
    return exact_drfh(*cell, method=mechanism.removeprefix("drfh_")).placed  # type: ignore[arg-type]


def first_run(seed: int, r: int, number: int, **how: Any) -> tuple[study.Instance, int]:
    rng = stream(seed, r)
    case = study.instance(rng, number, **how)
    return case, int(rng.integers(2**31))


# ------------------------------------------------------------------------------------------------- worked example


def test_the_example_is_that_of_the_text() -> None:
    frame = study.example()
    assert frame["user"].str.cat() == "CABCABCABCA"
    assert frame["round"].tolist() == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4]
    assert frame["machine"].tolist() == [0, 0, 1, 2, 0, 1, 2, 1, -1, -1, -1]
    values = [1, Fraction(1, 8) ** (1 / 3), 1, 1, 0.25 ** (7 / 12), 0.1**0.25, 0.125 ** (1 / 3), 0.2**0.5]
    np.testing.assert_allclose(frame["f"][:8], [float(v) for v in values], rtol=1e-12)
    assert frame["f"][8:].isna().all()
    last = frame[frame["machine"] >= 0].groupby("machine").last()
    assert last[["cpu_free", "memory_free"]].to_numpy().tolist() == [[2, 0], [0, 3], [0, 4]]


def test_the_example_is_what_the_engine_and_the_exact_scan_do() -> None:
    frame = study.example()
    frame = frame[frame["machine"] >= 0]
    wanted = list(zip(["ABC".index(u) for u in frame["user"]], frame["machine"], strict=True))
    _, demands, machines, counts = study.EXAMPLE
    run = gdrf(demands, machines, counts)
    assert list(zip(run.placed_user.tolist(), run.placed_machine.tolist(), strict=True)) == wanted
    assert exact_gdrf(demands, machines, counts).placed == wanted


# ----------------------------------------------------------------------------------------------- cells and users


def test_cells_have_the_mix_of_the_trace() -> None:
    assert sum(count for *_, count in study.MACHINES) == 12583
    recorded = load_digest().machines.sort_values("last_known", ascending=False, kind="stable")
    assert [count for *_, count in study.MACHINES] == recorded["last_known"].tolist()
    np.testing.assert_allclose([row[:2] for row in study.MACHINES], recorded[["cpu", "memory"]], atol=0.005)
    for number in (1, 60, 97, 300, 12583):
        case = study.instance(stream(1), number)
        assert case.counts.sum() == number
        quota = np.array([count for *_, count in study.MACHINES]) * number / 12583
        got = np.zeros(10)
        for size, count in zip(case.machines.tolist(), case.counts, strict=True):
            got[[(100 * c, 100 * m) for c, m, _ in study.MACHINES].index(tuple(size))] = count
        assert (np.abs(got - quota) < 1).all()
        up = got > np.floor(quota)  # largest remainders
        if up.any():
            assert (quota % 1)[up].min() >= (quota % 1)[~up].max()


def test_other_cells() -> None:
    usual = study.instance(stream(4), 60)
    assert usual.counts.tolist() == [32, 18, 5, 4, 1]
    back = study.instance(stream(4), 60, order="reversed")
    np.testing.assert_array_equal(back.machines, usual.machines[::-1])
    np.testing.assert_array_equal(back.demands, usual.demands)
    mixed = study.instance(stream(4), 60, order="shuffled")
    rows, counts = np.unique(mixed.machines, axis=0, return_counts=True)
    assert sorted(zip(rows.tolist(), counts, strict=True)) == sorted(zip(usual.machines.tolist(), usual.counts,
                                                                        strict=True))
    assert not np.array_equal(mixed.machines, np.repeat(usual.machines, usual.counts, axis=0))
    assert study.instance(stream(4), 60, capacities="trace").machines[:2].tolist() == [[50, 49.95], [50, 24.93]]
    drawn = np.zeros(2)
    for r in range(300):
        case = study.instance(stream(7, r), 60, machines="drawn")
        assert case.counts.sum() == 60
        drawn += [count for size, count in zip(case.machines.tolist(), case.counts, strict=True)
                  if size in ([50, 50], [50, 25])]
    np.testing.assert_allclose(drawn / 300, [60 * 6732 / 12583, 60 * 3863 / 12583], rtol=0.05)


def test_users_are_as_the_text_says() -> None:
    assert len(study.USERS) == 20
    assert set(study.USERS) == {(c, m) for c in range(1, 5) for m in range(1, 5)}
    totals = pd.Series([c + m for c, m in study.USERS]).value_counts().sort_index()
    assert totals.tolist() == [1, 2, 4, 6, 4, 2, 1]  # a bell
    drawn = np.concatenate([study.instance(stream(1, r), 60).demands for r in range(200)])
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(counts) == 16
    assert (np.abs(counts / 250 - 1) < 0.3).all()
    cover = study.instance(stream(3), 60, users="covering").demands
    assert len(np.unique(cover, axis=0)) == 16
    np.testing.assert_array_equal(study.instance(stream(3), 60, users="paper").demands, study.USERS)


# ------------------------------------------------------------------------------------------------ what is measured


@pytest.fixture(scope="module")
def curves() -> pd.DataFrame:
    return study.curves(3, 5, sizes=(8, 12))


@pytest.mark.parametrize("mechanism", study.MECHANISMS)
def test_curves_against_scans_in_fractions(mechanism: str, curves: pd.DataFrame) -> None:
    for number in (8, 12):
        rows = curves[(curves["machines"] == number) & (curves["mechanism"] == mechanism)]
        random, paper = (rows[rows["mix"] == mix].set_index("measure") for mix in ("random", "paper"))
        found = []
        for r in range(3):
            case, lot = first_run(5, r, number)
            found.append(by_hand(case, scanned(case, mechanism, lot)))
        case, lot = first_run(5, 0, number, users="paper")
        one = by_hand(case, scanned(case, mechanism, lot))
        for measure in study.MEASURES:
            wanted = interval(np.array([[run[measure]] for run in found])).iloc[0]
            for column in ("mean", "low", "high"):
                assert isclose(random.loc[measure, column], wanted[column], rel_tol=1e-9, abs_tol=1e-9), measure
                assert isclose(paper.loc[measure, column], one[measure], rel_tol=1e-9, abs_tol=1e-9), measure
        assert set(random["runs"]) == {3}
        assert set(paper["runs"]) == {1}


def test_mixes_compare_run_by_run() -> None:
    frame = study.mixes(6, 5, sizes=8).set_index(["against", "measure"])
    runs = [study.curves(1, 5, sizes=8)]  # the first mix alone
    values = study._values(8, 6, 5, False)
    first = runs[0][runs[0]["mix"] == "random"].pivot(index="mechanism", columns="measure", values="mean")
    np.testing.assert_allclose(first.loc[list(study.MECHANISMS), list(study.MEASURES)], values[0], rtol=1e-9, atol=1e-9)
    for k, against in enumerate(study.BASELINES, start=1):
        for at, measure in enumerate(study.MEASURES):
            ours, theirs = values[:, 0, at], values[:, k, at]
            gains = ours - theirs if measure == "memory_gap" else ours[theirs != 0] / theirs[theirs != 0] - 1
            row = frame.loc[(against, measure)]
            assert row["runs"] == len(gains)
            if not len(gains):
                continue
            gains = gains.round(12)
            for column, wanted in {
                    "mean": gains.mean(), "median": np.median(gains), "p05": np.quantile(gains, 0.05),
                    "p95": np.quantile(gains, 0.95), "above": (gains > 0).mean(), "above_12": (gains > 0.12).mean(),
                    "above_15": (gains > 0.15).mean()}.items():
                assert isclose(row[column], wanted, rel_tol=1e-9, abs_tol=1e-9), (against, measure, column)
            assert row["low"] <= row["mean"] <= row["high"]
    # sum and mean over machines have the same ratio
    for against in study.BASELINES:
        assert isclose(frame.loc[(against, "fairness"), "mean"], frame.loc[(against, "fairness_mean"), "mean"],
                       abs_tol=1e-9)


def test_balance_counts_mixes() -> None:
    frame = study.balance(6, 5, sizes=8).set_index("mechanism")
    values = study._values(8, 6, 5, False).round(12)
    at = {name: k for k, name in enumerate(study.MEASURES)}
    for k, mechanism in enumerate(study.MECHANISMS):
        memory, mean, cpu = (values[:, k, at[name]] for name in ("memory", "memory_mean", "cpu"))
        row = frame.loc[mechanism]
        assert row["mean_above_total"] == sum(a > b for a, b in zip(mean, memory, strict=True)) / 6
        assert row["memory_above_cpu"] == sum(a > b for a, b in zip(memory, cpu, strict=True)) / 6
        assert isclose(row["gap"], np.mean(mean - memory), abs_tol=1e-12)
        assert isclose(row["memory_less_cpu"], np.mean(memory - cpu), abs_tol=1e-12)


@pytest.mark.parametrize(("figure", "measures"), [
    (study.fig1, {"tasks"}), (study.fig2, {"cpu", "cpu_mean"}), (study.fig3, {"memory", "memory_mean"}),
    (study.fig4, {"fairness", "fairness_mean", "fairness_present", "fairness_whole"})])
def test_figures_take_their_part(figure: Callable[..., pd.DataFrame], measures: set[str]) -> None:
    frame = figure(1, 4)
    assert set(frame["measure"]) == measures
    assert set(frame["machines"]) == set(study.SIZES)
    assert set(frame["mix"]) == {"paper", "random"}


# ------------------------------------------------------------------------------------------ what the paper leaves out


def test_readings_are_those_of_the_exact_scan() -> None:
    frame = study.readings(1, 6, number=5)
    assert len(frame) == 120 * 5
    assert len(frame.drop_duplicates([*study.READINGS])) == 120
    case, lot = first_run(6, 0, 5)
    base = by_hand(case, scanned(case, "mdrf_type", lot))
    part = frame[frame["against"] == "mdrf_type"]
    for row in part.sample(25, random_state=1).to_dict("records"):
        how = {name: row[name] for name in study.READINGS}
        if how["machine_type"] == "either":
            how["machine_type"] = "amount"
        ours = by_hand(case, scanned(case, "gdrf", lot, **how))
        for measure in ("tasks", "cpu", "memory_mean", "min_share", "fairness", "fairness_whole", "fairness_present"):
            gain = ours[measure] / base[measure] - 1
            assert isclose(row[measure], gain, abs_tol=6e-6), (measure, how)
            assert row[f"{measure}_above"] == (gain > 1e-12)
        assert isclose(row["memory_gap"], ours["memory_gap"] - base["memory_gap"], abs_tol=6e-6)


def test_conclusions_by_hand() -> None:
    rows = {"tasks": [(0.2, 0.1, 0.3, 1.0), (0.13, 0.1, 0.2, 0.9), (-0.1, -0.2, 0.0, 0.2)],
            "cpu": [(0.2, 0.1, 0.3, 1.0)] * 3, "memory": [(-0.2, -0.3, -0.1, 0.0)] * 3}
    columns: dict[str, list[float]] = {}
    for measure in study._JUDGED:
        for part, values in zip(("", "_low", "_high", "_above"),
                                zip(*rows.get(measure, rows["cpu"]), strict=True), strict=True):
            columns[measure + part] = list(values)
    found = study.conclusions(pd.DataFrame({"against": ["x"] * 3, **columns})).set_index("measure")
    wanted = {"readings": 3, "ahead": 2, "surely_ahead": 2, "surely_behind": 0, "every_mix": 1, "nearest": 0.2,
              "least": -0.1, "median": 0.13, "most": 0.2, "by_12": 2, "by_15": 1, "verdict": "depends"}
    assert found.loc["tasks"].drop("against").to_dict() == wanted
    assert found.loc["cpu", "verdict"] == "ahead"
    assert found.loc["memory", "verdict"] == "behind"


def test_own_values_are_those_of_the_exact_scan() -> None:
    frame = study.own(2, 6, sizes=(5, 7)).set_index(["machines", "mechanism", "reading"])
    assert len(frame) == 2 * (len(study.BASELINES) + 120)
    for size in (5, 7):
        for mechanism in ("gdrf", "mdrf_type"):
            found = []
            for r in range(2):
                case, lot = first_run(6, r, size)
                found.append(by_hand(case, scanned(case, mechanism, lot)))
            row = frame.loc[(size, mechanism, 0)]
            assert isclose(row["tasks"], np.mean([one["tasks"] for one in found]))
            assert isclose(row["memory_less_cpu"], np.mean([one["memory"] - one["cpu"] for one in found]), abs_tol=1e-9)
            assert row["mean_above_total"] == np.mean([one["memory_mean"] > one["memory"] + 1e-12 for one in found])


def test_machine_by_machine_is_counted_on_the_scan() -> None:
    frame = study.by_machine(2, 5, number=10).set_index(["mechanism", "idle"])
    shared, full, low = [], [], []
    for r in range(2):
        case, lot = first_run(5, r, 10)
        placed = scanned(case, "gdrf", lot)
        machines = np.repeat(case.machines, case.counts, axis=0)
        used = [sum(case.demands[i][1] for i, at in placed if at == j) for j in range(10)]
        shared.append(np.mean([len({i for i, at in placed if at == j}) > 1 for j in range(10)]))
        full.append(np.mean(used >= 0.9 * machines[:, 1]))
        low.append(np.mean(used <= 0.7 * machines[:, 1]))
    row = frame.loc[("gdrf", 0.7)]
    np.testing.assert_allclose(row[["shared", "full", "low"]].to_numpy(float),
                               [np.mean(shared), np.mean(full), np.mean(low)], atol=1e-9)
    assert row["uneven"] == np.mean([f > 0.5 and v > 0 for f, v in zip(full, low, strict=True)])


def test_cells_change_the_cell_and_nothing_else() -> None:
    frame = study.cells(2, 5, number=12).set_index(["cell", "against", "measure"])
    usual = study.mixes(2, 5, sizes=12).set_index(["against", "measure"])
    for against in study.BASELINES:
        assert isclose(frame.loc[("as in the figures", against, "tasks"), "mean"],
                       usual.loc[(against, "tasks"), "mean"], abs_tol=1e-12)
    gains = []
    for r in range(2):
        case, lot = first_run(5, r, 12, order="reversed")
        gains.append(len(scanned(case, "gdrf", lot)) / len(scanned(case, "drfh_first_fit", lot)) - 1)
    assert isclose(frame.loc[("classes in reverse", "drfh_first_fit", "tasks"), "mean"], np.mean(gains), abs_tol=1e-9)
    tasks = frame.xs("tasks", level="measure")["mean"].unstack("against")
    assert len(tasks.drop_duplicates()) == len(study.CELLS)


def test_ablation_changes_one_thing_at_a_time() -> None:
    frame = study.ablation(2, 5, number=10).set_index(["variant", "measure"])
    plain = {"match": "any", "choice": "first", "queue": "one_by_one", "least": "dominant_share"}
    steps = [None, plain, {**plain, "least": "amount"}, {"choice": "first", "queue": "one_by_one"},
             {"queue": "one_by_one"}, {}]
    variants = list(dict.fromkeys(name for name, _ in frame.index))
    counts = []
    for r in range(2):
        case, lot = first_run(5, r, 10)
        counts.append([len(scanned(case, "drfh_first_fit", lot) if how is None else scanned(case, "gdrf", lot, **how))
                       for how in steps])
    counts = np.array(counts)
    for k, variant in enumerate(variants[:6]):
        assert isclose(frame.loc[(variant, "tasks"), "mean"], counts[:, k].mean(), abs_tol=1e-9)
        change = (counts[:, k] / counts[:, k - 1] - 1).mean() if k else np.nan
        assert frame.loc[(variant, "tasks"), "change"] == pytest.approx(change, abs=1e-9, nan_ok=True)
    case, lot = first_run(5, 0, 10)
    for variant, how in {"without types": {"match": "any"}, "types as printed": {"match": "same"}}.items():
        found = [len(scanned(*first_run(5, r, 10)[:1], "gdrf", first_run(5, r, 10)[1], **how)) for r in range(2)]
        assert isclose(frame.loc[(variant, "tasks"), "change"], (found / counts[:, 5] - 1).mean(), abs_tol=1e-9)
    assert len(frame) == 15 * len(study.MEASURES)


def test_bounds_hold_and_are_met_where_they_can_be() -> None:
    frame = study.bounds(2, 5, sizes=12)
    rows = frame[frame["mix"] == "paper"].pivot(index="mechanism", columns="measure", values="mean")
    case = study.instance(stream(5, 0), 12, users="paper")
    fluid = drfh(*case, method="fluid")  # another program than the oracle's
    np.testing.assert_allclose(rows["level"], fluid.dominant_shares.min(), rtol=1e-6)
    assert rows.loc["drfh_fluid", "of_level"] == pytest.approx(1, abs=1e-6)
    assert rows.loc["drfh_fluid", "theta"] == pytest.approx(1, abs=1e-6)
    # tasks of (1, 1) alone: as many as the lesser resource of each machine
    np.testing.assert_allclose(rows["most"], case.counts @ case.machines.min(axis=1), rtol=1e-9)
    assert (rows["theta"] >= 1 - 1e-9).all()
    assert (rows["of_level"] <= 1 + 1e-9).all()
    assert (rows["of_most"] < 1).all()
    np.testing.assert_allclose(rows["packed"] * rows["theta"], 1, rtol=1e-7)
    for mechanism in study.MECHANISMS:
        found = by_hand(case, scanned(case, mechanism, first_run(5, 0, 12, users="paper")[1]))
        assert rows.loc[mechanism, "tasks"] == found["tasks"]
        assert isclose(rows.loc[mechanism, "min_share"], found["min_share"], abs_tol=1e-8)


# --------------------------------------------------------------------------------------------------- the whole cell


@pytest.fixture(scope="module")
def whole() -> tuple[pd.DataFrame, pd.DataFrame]:
    how: dict[str, Any] = {"mechanisms": ("drfh_first_fit", "per_server_drf"), "trace_users": 6}
    return study.cell(**how), study.cell_machines(**how)


def test_users_of_the_trace_are_those_with_most_tasks() -> None:
    frame = load_digest().frame
    frame = frame[(frame["cpu"] > 0) & (frame["memory"] > 0)]
    tasks = frame.groupby("user")["tasks"].sum()
    requests = study._trace_users(6)
    for row, user in zip(requests, tasks.sort_values(ascending=False).index[:6], strict=True):
        own = frame[frame["user"] == user]
        np.testing.assert_allclose(row, [np.average(own[name], weights=own["tasks"]) for name in ("cpu", "memory")])
    assert tasks.nlargest(study.TRACE_USERS).sum() / tasks.sum() > 0.85


def test_the_whole_cell_adds_up(whole: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    frame, machines = whole
    table = np.array(study.MACHINES)
    for case in study.CASES:
        rows = frame[frame["case"] == case].set_index("mechanism")
        assert list(rows.index) == ["drfh_first_fit", "per_server_drf", "drfh_fluid"]
        assert rows.loc["per_server_drf", "states"] == 10  # each machine of a class does the same
        assert (rows["theta"] >= 1 - 1e-6).all()
        assert (rows["of_level"] <= 1 + 1e-6).all()
        for mechanism in ("drfh_first_fit", "per_server_drf"):
            part = machines[(machines["case"] == case) & (machines["mechanism"] == mechanism)]
            assert part["machines"].sum() == 12583
            counts = part.groupby(["cpu_capacity", "memory_capacity"], sort=False)["machines"].sum()
            assert counts.tolist() == table[:, 2].tolist()
            for name in ("cpu", "memory"):
                mean = np.average(part[name], weights=part["machines"])
                assert abs(mean - rows.loc[mechanism, f"{name}_mean"]) < 0.005
                total = np.average(part[name], weights=part["machines"] * part[f"{name}_capacity"])
                assert abs(total - rows.loc[mechanism, name]) < 0.005


def test_integers_on_the_whole_cell_by_hand(whole: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    # DRF on one machine of each class at a time, in fractions
    frame, _ = whole
    row = frame[(frame["case"] == "integers") & (frame["mechanism"] == "per_server_drf")].iloc[0]
    total = 0
    for cpu, memory, count in study.MACHINES:
        one = exact_per_server(study.USERS, [[round(100 * cpu), round(100 * memory)]])
        total += count * sum(one.tasks)
    assert row["tasks"] == total


# ---------------------------------------------------------------------------------------------------------- edges


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: study.instance(1, 5), "rng"),  # type: ignore[arg-type]
        (lambda: study.instance(stream(1), 0), "number"),
        (lambda: study.instance(stream(1), 5, users="trace"), "users"),
        (lambda: study.instance(stream(1), 5, machines="all"), "machines"),
        (lambda: study.instance(stream(1), 5, capacities="rounded"), "capacities"),
        (lambda: study.instance(stream(1), 5, order="up"), "order"),
        (lambda: study.curves(0, sizes=5), "runs"),
        (lambda: study.curves((1, 2), sizes=(5, 6, 7)), "runs"),
        (lambda: study.curves(1, -1, sizes=5), "seed"),
        (lambda: study.curves(1, sizes=()), "sizes"),
        (lambda: study.mixes(1, sizes="60"), "sizes"),  # type: ignore[arg-type]
        (lambda: study.balance(1.5, sizes=5), "runs"),  # type: ignore[arg-type]
        (lambda: study.cells(0), "runs"),
        (lambda: study.cells(1, number=0), "number"),
        (lambda: study.readings(0), "runs"),
        (lambda: study.ablation(1, number=True), "number"),
        (lambda: study.lies(0), "runs"),
        (lambda: study.arrivals(1, number=0), "number"),
        (lambda: study.bounds(1, sizes=(0,)), "sizes"),
        (lambda: study.cell(cases="floats"), "cases"),
        (lambda: study.cell(mechanisms=("drf",)), "mechanisms"),
        (lambda: study.cell(trace_users=0), "trace_users"),
        (lambda: study.cell_machines(cases=()), "cases"),
    ],
)
def test_bad_arguments_are_named(call: Callable[[], object], argument: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert caught.value.where.split("[")[0] == argument


def test_lies_by_hand() -> None:
    # one user alone fills what there is: no lie pays, and twice the size is half as many, of two tasks each
    alone = study.Instance(np.array([[1.0, 1.0]]), np.array([[4.0, 4.0]]), np.array([1]))
    tasks, single = study._lies_of(alone, 0, 0).T
    lies = [(a, b) for a in study.FACTORS for b in study.FACTORS]
    found = dict(zip(lies, tasks.tolist(), strict=True))
    assert (found[1.0, 1.0], found[2.0, 2.0], found[2.0, 1.0], found[3.0, 3.0], found[1.5, 1.5]) == (4, 4, 2, 3, 2)
    assert [bool(x) for x in single] == [min(lie) < 2 for lie in lies]


def test_lies_against_honest_runs() -> None:
    frame = study.lies(1, number=12).set_index(["mix", "reading"])
    assert set(frame.index) == {(mix, reading) for mix in ("paper", "random") for reading in study.LIED_TO}
    assert (frame["gain"] >= frame["gain_single"]).all()
    assert frame["users"].tolist() == [20] * 6
    case, lot = first_run(study.SEED, 0, 12)
    for at, how in enumerate(study.LIED_TO.values()):
        honest = gdrf(*case, seed=lot, **how).tasks  # type: ignore[arg-type]
        best, paying = 0, 0
        for user, d in enumerate(case.demands):
            for a in study.FACTORS:
                for b in study.FACTORS:
                    lied = case.demands.copy()
                    lied[user] = d * (a, b)
                    runs = gdrf(lied, case.machines, case.counts, seed=lot, **how).tasks[user]  # type: ignore[arg-type]
                    gain = int(runs) * int(min(lied[user] / d + 1e-9)) - int(honest[user])
                    best, paying = max(best, gain), paying + (gain > 0)
        row = frame.loc[("random", list(study.LIED_TO)[at])]
        assert row["most"] == best
        assert isclose(row["paying"], paying / 20 / (len(study.FACTORS) ** 2 - 1), abs_tol=1e-8)


def test_what_can_stay_is_counted_up_to_numbering() -> None:
    before = np.array([[2, 0], [0, 3], [1, 1]])
    assert study._kept(before, before[[1, 0, 2]], np.array([0, 0, 1])) == 7  # two alike have changed names
    assert study._kept(before, before[[1, 0, 2]], np.array([0, 1, 2])) == 2  # three classes: only the last stays
    assert study._kept(before, np.array([[1, 1], [1, 2], [0, 5]]), np.array([0, 0, 1])) == 1 + 2 + 1


def test_arrivals_add_up() -> None:
    frame = study.arrivals(2, number=12)
    assert frame["users"].tolist() == list(range(2, 21))
    rows = []
    for r in range(2):
        case, lot = first_run(study.SEED, r, 12)
        tasks = [gdrf(case.demands[:k], case.machines, case.counts, seed=lot).tasks for k in range(1, 21)]
        for old, new in zip(tasks, tasks[1:], strict=False):
            rows.append([old.sum(), new[-1], np.maximum(old - new[:-1], 0).sum()])
    expected = np.array(rows, dtype=float).reshape(2, 19, 3).mean(axis=0)
    np.testing.assert_allclose(frame[["running", "own", "stopped"]], expected)
    assert (frame["moved"] >= 0).all()
    assert ((frame["touched"] > 0) & (frame["touched"] < 1)).all()


def test_stored_figures_lie_in_stored_tables() -> None:
    assert {table for table, _ in study.STORED_FIGURES.values()} <= set(study.STORED)
    assert all(callable(getattr(study, name)) for name in study.STORED_FIGURES)
    assert {name.split("/")[1] for name in study.STORED} <= set(study.__all__)
