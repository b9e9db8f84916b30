"""The experiments of the GDRF chapter: by hand, against scans in fractions, and with their own arithmetic undone."""

from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from book.common.runs import interval, stream
from book.gdrf import behaviour, cells, machine_by_machine, studies as study, whole_cell
from book.gdrf.oracle import exact_drfh, exact_gdrf, exact_mdrf, exact_per_server
from fairbook.mechanisms.placing.drfh import drfh
from fairbook.mechanisms.placing.gdrf import gdrf
from fairbook.traces.google2011 import load_digest

MEASURES, near = list(study.MEASURES), np.testing.assert_allclose


def by_hand(case: study.Instance, placed: list[tuple[int, int]]) -> dict[str, float]:
    """Compute the measures of a placement, machine by machine, from the list of (user, machine)."""
    machines = [m for m, count in zip(case.machines.tolist(), case.counts.tolist(), strict=True) for _ in range(count)]
    totals = [sum(m[r] for m in machines) for r in (0, 1)]
    mu = [max(d[r] / totals[r] for r in (0, 1)) for d in case.demands.tolist()]
    values, eta, used = [], [], [0.0, 0.0]
    tasks = [0] * len(mu)
    for j, size in enumerate(machines):
        there = [i for i, k in placed if k == j]
        use = [sum(case.demands[i, r] for i in there) for r in (0, 1)]
        f = sum(mu[i] for i in there) ** (sum(use) / sum(size)) if there else 1.0
        values.append(f)
        eta.append([use[r] / size[r] for r in (0, 1)])
        used = [used[r] + use[r] for r in (0, 1)]
        for i in there:
            tasks[i] += 1
    shares = [m * x for m, x in zip(mu, tasks, strict=True)]
    cpu_mean, memory_mean = (sum(e[r] for e in eta) / len(eta) for r in (0, 1))
    return {
        "tasks": len(placed),
        "cpu": used[0] / totals[0],
        "memory": used[1] / totals[1],
        "cpu_mean": cpu_mean,
        "memory_mean": memory_mean,
        "memory_gap": abs(memory_mean - used[1] / totals[1]),
        "min_share": min(shares),
        "jain": sum(shares) ** 2 / len(shares) / sum(s * s for s in shares),
        "fairness": sum(values),
        "fairness_mean": sum(values) / len(values),
        "fairness_whole": sum(shares) ** (sum(used) / sum(totals)),
    }


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


@cache
def run_by_hand(
    seed: int,
    r: int,
    number: int,
    mechanism: str,
    how: tuple[tuple[str, str], ...] = (),
    drawn: tuple[tuple[str, str], ...] = (),
) -> dict[str, float]:
    """Give the measures of one run; ``how`` are readings, ``drawn`` says how users and cell are drawn."""
    case, lot = cells.drawn(stream(seed, r), number, **dict(drawn))
    return by_hand(case, scanned(case, mechanism, lot, **dict(how)))


def runs_by_hand(
    seed: int, runs: int, number: int, mechanism: str, how: dict[str, str] | None = None, **drawn: str
) -> pd.DataFrame:
    """Give the measures of the first runs, one row a run."""
    asked = tuple((how or {}).items()), tuple(drawn.items())
    return pd.DataFrame([run_by_hand(seed, r, number, mechanism, *asked) for r in range(runs)])


# ------------------------------------------------------------------------------------------------- worked example


def test_the_example_is_that_of_the_text_and_the_engine() -> None:
    frame = study.example()
    assert frame["user"].str.cat() == "CABCABCA"
    assert frame["machine"].tolist() == [0, 0, 1, 2, 0, 1, 2, 1]
    values = [1, Fraction(1, 8) ** (1 / 3), 1, 1, 0.25 ** (7 / 12), 0.1**0.25, 0.125 ** (1 / 3), 0.2**0.5]
    near(frame["f"], [*map(float, values)], rtol=1e-12)
    assert frame.groupby("machine")[["cpu_free", "memory_free"]].last().to_numpy().tolist() == [[2, 0], [0, 3], [0, 4]]
    wanted = list(zip(["ABC".index(u) for u in frame["user"]], frame["machine"], strict=True))
    run = gdrf(*study.EXAMPLE[1:])
    assert list(zip(run.placed_user.tolist(), run.placed_machine.tolist(), strict=True)) == wanted


# ----------------------------------------------------------------------------------------------- cells and users


@pytest.mark.usefixtures("narrow")
def test_tasks_are_counted_by_machine() -> None:
    run = gdrf(*study.EXAMPLE[1:])
    counted = machine_by_machine.on_machines(run)
    assert (counted.sum(axis=0) == run.tasks).all()
    assert counted.sum(axis=1).tolist() == np.bincount(run.placed_machine).tolist()


def test_cells_have_the_mix_of_the_trace() -> None:
    *sizes, count = np.array(study.MACHINES).T
    recorded = load_digest().machines.sort_values("last_known", ascending=False, kind="stable")
    assert (count.sum(), count.tolist()) == (12583, recorded["last_known"].tolist())
    near(np.transpose(sizes), recorded[["cpu", "memory"]], atol=0.005)
    for number in (1, 60, 97, 300, 12583):
        case = study.instance(stream(1), number)
        got, quota = np.zeros(10), count * number / 12583
        for size, there in zip(case.machines.tolist(), case.counts, strict=True):
            got[[(100 * c, 100 * m) for c, m, _ in study.MACHINES].index(tuple(size))] = there
        assert got.sum() == number
        assert (np.abs(got - quota) < 1).all()
        up = got > np.floor(quota)  # largest remainders
        assert not up.any() or (quota % 1)[up].min() >= (quota % 1)[~up].max()


def test_other_cells() -> None:
    usual, back, mixed = (study.instance(stream(4), 60, order=order) for order in ("table", "reversed", "shuffled"))
    assert back.machines.tolist() == usual.machines[::-1].tolist()
    assert back.demands.tolist() == usual.demands.tolist()
    assert sorted(mixed.machines.tolist()) == sorted(np.repeat(usual.machines, usual.counts, axis=0).tolist())
    assert study.instance(stream(4), 60, capacities="trace").machines[:2].tolist() == [[50, 49.95], [50, 24.93]]
    counts = [study.instance(stream(7, r), 60, machines="drawn").counts for r in range(300)]
    assert {total.sum() for total in counts} == {60}


# ------------------------------------------------------------------------------------------------ what is measured


@pytest.fixture(scope="module")
def curves() -> pd.DataFrame:
    return study.curves(3, 5, sizes=(8, 12)).set_index(["machines", "mechanism", "mix", "measure"]).sort_index()


@pytest.mark.parametrize("mechanism", study.MECHANISMS)
def test_curves_against_scans_in_fractions(mechanism: str, curves: pd.DataFrame) -> None:
    for number, (mix, runs, users) in product((8, 12), (("random", 3, "drawn"), ("paper", 1, "paper"))):
        rows = curves.loc[(number, mechanism, mix)].loc[MEASURES]
        wanted = interval(runs_by_hand(5, runs, number, mechanism, users=users)[MEASURES].to_numpy())
        near(rows[["mean", "low", "high"]], wanted, rtol=1e-9, atol=1e-9)
        assert set(rows["runs"]) == {runs}


def test_mixes_compare_run_by_run_and_balance_counts_them() -> None:
    frame, ours = study.mixes(6, 5, sizes=8).set_index(["against", "measure"]), runs_by_hand(5, 6, 8, "gdrf")
    for against, measure in product(study.BASELINES, MEASURES):
        theirs = runs_by_hand(5, 6, 8, against)[measure]
        gains = ours[measure] - theirs if measure == "memory_gap" else (ours[measure] / theirs)[theirs != 0] - 1
        gains, row = gains.to_numpy().round(12), frame.loc[(against, measure)]
        assert row["runs"] == len(gains)
        if len(gains):
            columns = {
                "mean": gains.mean(),
                "median": np.median(gains),
                "p05": np.quantile(gains, 0.05),
                "p95": np.quantile(gains, 0.95),
                "above_12": (gains > 0.12).mean(),
                "above_15": (gains > 0.15).mean(),
            }
            near(row[list(columns)].to_numpy(float), list(columns.values()), rtol=1e-9, atol=1e-9)
            assert row["low"] <= row["mean"] <= row["high"]
    counted = study.balance(6, 5, sizes=8).set_index("mechanism")
    for mechanism in study.MECHANISMS:
        found = runs_by_hand(5, 6, 8, mechanism).round(12)
        wanted = {
            "mean_above_total": found["memory_mean"] > found["memory"],
            "memory_above_cpu": found["memory"] > found["cpu"],
            "memory_less_cpu": found["memory"] - found["cpu"],
            "gap": found["memory_mean"] - found["memory"],
        }
        row = counted.loc[mechanism, list(wanted)].to_numpy(float)
        near(row, [values.mean() for values in wanted.values()], atol=1e-12)


# ------------------------------------------------------------------------------------------ what the paper leaves out


def test_readings_are_those_of_the_exact_scan() -> None:
    frame, base = study.readings(1, 6, number=5), run_by_hand(6, 0, 5, "mdrf_type")
    assert len(frame) == 120 * 5
    assert len(frame.drop_duplicates([*study.READINGS])) == 120
    for row in frame[frame["against"] == "mdrf_type"].sample(25, random_state=1).to_dict("records"):
        how = {name: row[name].replace("either", "amount") for name in study.READINGS}
        ours = run_by_hand(6, 0, 5, "gdrf", tuple(how.items()))
        for measure in ("tasks", "cpu", "cpu_mean", "memory", "fairness", "fairness_whole"):
            assert row[measure] == pytest.approx(ours[measure] / base[measure] - 1, abs=6e-6), how
        assert row["memory_gap"] == pytest.approx(ours["memory_gap"] - base["memory_gap"], abs=6e-6)


def gain(ours: pd.DataFrame, theirs: pd.DataFrame) -> Any:
    return pytest.approx((ours["tasks"] / theirs["tasks"] - 1).mean(), abs=1e-9)


def test_cells_change_the_cell_and_nothing_else() -> None:
    tasks = study.cells(2, 5, number=12).query("measure == 'tasks'").set_index(["cell", "against"])["mean"]
    for name, how in (("as in the figures", {}), ("classes in reverse", {"order": "reversed"})):
        for against in ("drfh_first_fit", "mdrf_type"):
            assert tasks[name, against] == gain(*(runs_by_hand(5, 2, 12, one, **how) for one in ("gdrf", against)))
    assert len(tasks.unstack("against").drop_duplicates()) == len(study.CELLS)


def test_ablation_changes_one_thing_at_a_time() -> None:
    frame = study.ablation(2, 5, number=10).set_index(["variant", "measure"])
    assert len(frame) == 14 * len(MEASURES)
    tasks = frame.xs("tasks", level="measure")
    plain = {"match": "any", "choice": "first", "queue": "one_by_one", "least": "dominant_share"}
    steps = [
        plain,
        {**plain, "least": "amount"},
        {"choice": "first", "queue": "one_by_one"},
        {"queue": "one_by_one"},
        {},
    ]
    before = runs_by_hand(5, 2, 10, "drfh_first_fit")
    for how, row in zip(steps, tasks.iloc[:5].to_dict("records"), strict=True):
        after = runs_by_hand(5, 2, 10, "gdrf", how)
        assert row["change"] == gain(after, before)
        before = after
    for variant, how in {"without types": {"match": "any"}, "types as printed": {"match": "same"}}.items():
        assert tasks.loc[variant, "change"] == gain(runs_by_hand(5, 2, 10, "gdrf", how), before)


def test_bounds_hold_and_are_met_where_they_can_be() -> None:
    rows = study.bounds(1, 5, sizes=12).pivot(index="mechanism", columns="measure", values="mean")
    case, _ = cells.drawn(stream(5, 0), 12)
    level = drfh(*case, method="fluid").dominant_shares.min()  # another program
    near(rows.loc["drfh_fluid", ["of_level", "packed"]].to_numpy(float), 1, atol=1e-6)
    assert (rows[["of_level", "packed"]] <= 1 + 1e-6).all(axis=None)
    for mechanism in study.MECHANISMS:
        (found,) = runs_by_hand(5, 1, 12, mechanism).to_dict("records")
        near(rows.loc[mechanism, ["tasks", "of_level"]], [found["tasks"], found["min_share"] / level], rtol=1e-6)


# --------------------------------------------------------------------------------------------------- the whole cell


def test_the_whole_cell_adds_up() -> None:
    how: dict[str, Any] = {"mechanisms": ("drfh_first_fit", "per_server_drf"), "trace_users": 6}
    frame, machines = study.cell(**how), study.cell_machines(**how)
    assert frame["mechanism"].tolist() == [*how["mechanisms"], "drfh_fluid"] * 2
    assert (frame[["packed", "of_level"]] <= 1 + 1e-6).all(axis=None)
    frame = frame.set_index(["case", "mechanism"])
    for case, mechanism in product(study.CASES, how["mechanisms"]):
        part = machines[(machines["case"] == case) & (machines["mechanism"] == mechanism)]
        placed = whole_cell._filled(case, mechanism, study.SEED, 6)
        assert frame.loc[(case, mechanism), "tasks"] == len(placed)
        counts = part.groupby(["cpu_capacity", "memory_capacity"], sort=False)["machines"].sum()
        assert counts.tolist() == [count for *_, count in study.MACHINES]
        for r, name in enumerate(("cpu", "memory")):
            amounts = part["machines"] * part[f"{name}_capacity"]
            near(np.average(part[name], weights=amounts), placed.utilisation[r], atol=0.005)
    # DRF on one machine of each class at a time, in fractions
    each = [
        exact_per_server(study.USERS, [[round(100 * cpu), round(100 * memory)]]) for cpu, memory, _ in study.MACHINES
    ]
    total = sum(count * sum(one.tasks) for one, (*_, count) in zip(each, study.MACHINES, strict=True))
    assert frame.loc[("integers", "per_server_drf"), "tasks"] == total


# -------------------------------------------------------------------------------------------- lies, coming and going


def test_lies_by_hand() -> None:
    # one user alone fills what there is: no lie pays, and twice the size is half as many, of two tasks each
    alone = study.Instance(np.array([[1.0, 1.0]]), np.array([[4.0, 4.0]]), np.array([1]))
    tasks, single = behaviour._lies_of(alone, 0, 0).T
    lies = list(product(study.FACTORS, study.FACTORS))
    found = dict(zip(lies, tasks.tolist(), strict=True))
    assert (found[1.0, 1.0], found[2.0, 2.0], found[2.0, 1.0], found[3.0, 3.0], found[1.5, 1.5]) == (4, 4, 2, 3, 2)
    assert [bool(x) for x in single] == [min(lie) < 2 for lie in lies]
