"""The experiments of the chapter on virtual clusters: by hand, and with their own arithmetic undone."""

from collections.abc import Callable
from itertools import product
from math import isclose
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairbook as fb
from book.common.runs import interval, stream
from book.virtual_cluster import one_cluster, readings as all_readings, studies as study
from fairbook.errors import InvalidInput
from fairbook.mechanisms.clusters.virtual_cluster import virtual_cluster
from fairbook.model.requests import as_requests


def by_hand(case: study.Instance, method: str, **how: Any) -> dict[str, float]:
    """Measure an allocation user by user."""
    found = virtual_cluster(*case, method=method, **how)  # type: ignore[arg-type]
    there = [i for i, j in enumerate(found.cluster.tolist()) if j >= 0]
    fractions = [int(found.vms[i]) / int(case.max_vms[i]) for i in range(len(case.max_vms))]
    return {
        "y": min(fractions) if len(there) == len(fractions) else 0.0,
        "y_served": min((fractions[i] for i in there), default=0.0),
        "everybody": float(len(there) == len(fractions)),
        "remaining": float(case.capacities.sum() - sum(int(v) for v in found.vms)),
    }


def close(row: pd.Series, values: list[float]) -> None:
    same(row, {**interval(np.array(values, dtype=float)[:, None]).iloc[0], "runs": len(values)})


def same(row: Any, values: dict[Any, Any], tolerance: float = 1e-9) -> None:
    for name, value in values.items():
        assert isclose(row[name], value, rel_tol=1e-9, abs_tol=tolerance), name


def drawn(runs: int, seed: int, size: str, users: int, variance: str = "variance") -> list[study.Instance]:
    return [study.instance(stream(seed, r), size, users, variance=variance) for r in range(runs)]


def judged(cases: list[study.Instance]) -> tuple[list[dict[str, dict[str, float]]], list[int]]:
    """Measure each method in each run, and list the runs in which all of them serve everybody."""
    runs = [{method: by_hand(case, method) for method in study.METHODS} for case in cases]
    return runs, [r for r, run in enumerate(runs) if all(one["everybody"] == 1 for one in run.values())]


# ------------------------------------------------------------------------------------------------------ the settings


def test_instances_are_as_the_text_says() -> None:
    for size, (clusters, total, least) in {"small": (5, 320, 50), "large": (8, 1000, 90)}.items():
        cases = drawn(300, 3, size, 20)
        rooms = np.array([case.capacities for case in cases])
        assert rooms.shape == (300, clusters)
        assert (rooms.sum(axis=1) == total).all()
        assert rooms.min() == least
        np.testing.assert_allclose(rooms.mean(axis=0), total / clusters, rtol=0.07)  # no cluster is favoured
        wanted, tolerance = (np.concatenate(of) for of in list(zip(*cases, strict=True))[:2])
        assert abs(wanted.mean() - 30) < 0.2
        assert abs(wanted.std() - 10**0.5) < 0.1
        assert 0 <= tolerance.min() < 0.01 < 0.89 < tolerance.max() <= 0.9
        assert abs(tolerance.mean() - 0.45) < 0.01
    wide = np.concatenate([study.instance(stream(3, r), users=100, variance="deviation").max_vms for r in range(60)])
    assert abs(wide.std() - 10) < 0.3
    assert wide.min() >= 1


# ------------------------------------------------------------------------------------------------------- the figures


@pytest.fixture(scope="module")
def curves() -> pd.DataFrame:
    return study.curves(12, 5, sizes="small", users=(9, 15))


@pytest.mark.parametrize(("users", "variance"), [(9, "variance"), (15, "variance"), (15, "deviation")])
def test_curves_by_hand(users: int, variance: str, curves: pd.DataFrame) -> None:
    part = curves[(curves["users"] == users) & (curves["variance"] == variance)]
    rows = part.set_index(["method", "measure"])
    assert set(part["load"]) == {30 * users / 320}
    cases = drawn(12, 5, "small", users, variance)
    runs, common = judged(cases)
    bounds = [virtual_cluster(*case).bound for case in cases]
    assert len(common) < 12 or users == 9
    for method in study.METHODS:
        for measure in ("y", "everybody", "remaining"):
            close(rows.loc[(method, measure)], [run[method][measure] for run in runs])
        of_all = [
            (run["remaining"], run["y"] / runs[r]["relaxation"]["y"] - 1, run["y"] / bounds[r])
            for r in common
            for run in [runs[r][method]]
        ]
        for k, measure in enumerate(("remaining_common", "gain", "ratio")):
            close(rows.loc[(method, measure)], [values[k] for values in of_all])
    assert set(part["measure"]) == set(study.MEASURES)
    least = rows.xs("y", level="measure")["mean"]
    assert (least <= least["exact"] + 1e-12).all()  # nobody is above the optimum


# ------------------------------------------------------------------------------------------------------ all readings


@pytest.fixture(scope="module")
def readings() -> pd.DataFrame:
    return study.readings(6, 8)


@pytest.fixture(scope="module")
def nearest() -> pd.DataFrame:
    return study.nearest(6, 8)


LISTS: dict[str, Callable[[int, float, float], float]] = {
    "given": lambda a, k, m: 0,
    "wish": lambda a, k, m: -a,
    "minimum": lambda a, k, m: -m,
    "elastic": lambda a, k, m: m - a,
    "tolerance": lambda a, k, m: k,
}


def listed(case: study.Instance, order: str) -> study.Instance:
    """Sort the users of a case."""
    least = as_requests(*case).minimum
    users = sorted(range(len(least)), key=lambda i: LISTS[order](case.max_vms[i], case.tolerance[i], least[i]))
    return study.Instance(case.max_vms[users], case.tolerance[users], case.capacities)


def test_readings_by_hand(readings: pd.DataFrame, nearest: pd.DataFrame) -> None:
    assert len(readings) == 2 * 1704
    assert not readings.duplicated(["size", *study.READINGS]).any()
    ranges = {"0.9 to 1.5": range(6), "0.9 to 1.2": range(4), "1.1": [2]}
    small = readings[readings["size"] == "small"]
    chosen = [small[small["fit"] == fit].sample(4, random_state=2) for fit in study.READINGS["fit"]]
    one = nearest[(nearest["size"] == "small") & (nearest["range"] == "1.1")].assign(**study.NEAREST)
    for row in pd.concat([*chosen, one]).to_dict("records"):
        lists: dict[str, list[list[dict[str, float]]]] = {"relaxation": [], "greedy": [], "mixed": []}
        bounds = []
        loads = list(range(len(ranges[row["range"]])))
        meta = row["order"] == "metagreedy"
        inner = (row["fit"], row["order"]) if row["general"] == "greedy" else (row["load"], row["relaxed"])
        own = {"general": "metagreedy" if inner[0] == "metagreedy" else row["general"]}
        if not meta or row["general"] == "relaxation":
            own["fit" if row["general"] == "greedy" else "load"] = inner[0]
        mixed_order = row["queue"] if inner[1] in ("given", "metagreedy") else inner[1]
        for users in np.array((10, 11, 12, 13, 14, 16))[list(ranges[row["range"]])].tolist():
            cases = drawn(6, 8, "small", users, row["variance"])
            bounds.append([virtual_cluster(*case).bound for case in cases])
            lists["relaxation"].append(
                [by_hand(listed(case, row["relaxed"]), "relaxation", load=row["load"]) for case in cases]
            )
            lists["greedy"].append(
                [
                    by_hand(case, "metagreedy")
                    if meta
                    else by_hand(listed(case, row["order"]), "greedy", fit=row["fit"])
                    for case in cases
                ]
            )
            lists["mixed"].append([by_hand(listed(case, mixed_order), "mixed_knapsack", **own) for case in cases])
        kept = [
            [
                r
                for r in range(6)
                if row["counting"] != "common" or all(part[at][r]["everybody"] == 1 for part in lists.values())
            ]
            for at in loads
        ]
        column = "y_served" if row["counting"] == "served" else "y"
        means = {
            name: [np.mean([part[at][r][column] for r in kept[at]]) for at in loads if kept[at]]
            for name, part in lists.items()
        }
        for name in ("greedy", "mixed"):
            gains = [a / b - 1 for a, b in zip(means[name], means["relaxation"], strict=True)]
            same(
                row,
                {f"gain_{name}": np.mean(gains), f"gain_{name}_least": min(gains), f"gain_{name}_most": max(gains)},
                2e-6,
            )
        for name, part in lists.items():
            free = [np.mean([part[at][r]["remaining"] for r in kept[at]]) for at in loads if kept[at]]
            ratios = [[part[at][r][column] / bounds[at][r] for r in kept[at] if bounds[at][r] > 0] for at in loads]
            same(
                row,
                {
                    f"remaining_{name}": np.mean(free),
                    f"near_{name}": np.mean([np.mean(some) for some in ratios if some]),
                    f"sd_{name}": np.mean([np.std(some) for some in ratios if some]),
                },
                2e-6,
            )
        ahead = [
            np.mean(some)
            for r in range(6)
            if (
                some := [
                    lists["greedy"][at][r][column] - lists["mixed"][at][r][column] for at in loads if r in kept[at]
                ]
            )
        ]
        same(row, {"ahead": np.mean(ahead), "kept": sum(map(len, kept)) / (6 * len(loads))}, 2e-6)
        assert row["ahead_low"] <= row["ahead"] <= row["ahead_high"]


def test_conclusions_by_hand() -> None:
    keys = list(study.READINGS)
    columns = [f"{a}_{b}" for a in ("remaining", "sd", "near") for b in ("relaxation", "greedy", "mixed")]
    rows = []
    for size, reading in product(("small", "large"), (0, 1, 2)):
        row: dict[str, Any] = {
            "size": size,
            **{key: study.READINGS[key][0] for key in keys},
            "counting": ("common", "zero", "common")[reading],
            "range": ("0.9 to 1.5", "0.9 to 1.5", "1.1")[reading],
            **dict.fromkeys(columns, 1.0),
        }
        row |= {
            "gain_greedy": (0.3, 0.5, 0.3)[reading],
            "gain_greedy_least": 0.25,
            "gain_greedy_most": 0.35,
            "gain_mixed": 0.1,
            "gain_mixed_least": 0.0,
            "gain_mixed_most": 0.2,
            "ahead": (0.1, -0.1, -0.1)[reading],
            "ahead_low": 0.05,
            "ahead_high": 0.2,
            "remaining_relaxation": 5.0,
            "sd_greedy": 0.1,
            "sd_mixed": 0.2 if size == "small" else 0.05,
        }
        rows.append(row)
    frame = pd.DataFrame(rows)
    one = frame["range"] == "1.1"
    found = study.conclusions(frame[~one], frame[one].drop(columns=list(study.NEAREST))).set_index("statement")
    assert list(found.index) == list(study.STATEMENTS)
    for statement, wanted in {
        "greedy_small": {
            "readings": 2,
            "holds": 1,
            "surely": 2,
            "nearest": "1.1",
            "hinges_on": "counting: common 100 %, zero 0 %",
        },
        "greedy_large": {"holds": 2},
        "mixed_small": {"holds": 0, "nearest": ""},
        "mixed_above": {"holds": 2, "surely": 0},
        "remaining_large": {"holds": 2, "surely": 2},
        "small_greedy": {"holds": 1, "surely": 2},
        "large_mixed": {"holds": 1, "surely": 0, "nearest": "1.1"},
        "crossing": {"holds": 0, "surely": 0},
        "less_steady": {"holds": 2, "surely": 2},
        "steadier": {"holds": 0, "surely": 0},
        "near_small": {"holds": 2, "surely": 2, "hinges_on": ""},
    }.items():
        assert found.loc[statement, list(wanted)].to_dict() == wanted
    assert (found["loads"] == "1.1").all()


def test_conclusions_take_all_readings(
    readings: pd.DataFrame, nearest: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = study.conclusions(readings, nearest)
    for name, runs, frame in (("readings", 6, readings), ("nearest", 7, nearest)):  # known already
        monkeypatch.setattr(all_readings, name, lambda *of, progress, runs=runs, frame=frame: {(runs, 8): frame}[of])
    pd.testing.assert_frame_equal(study.counted(6, 8, near=7), found)
    assert set(found["readings"]) == {1704}
    # without the order of users and METAGREEDY nothing was near the optimum, and no reading had the printed order
    near = found.set_index("statement").loc[["near_small", "near_large", "crossing"]]
    assert (near["holds"] > 0).all()
    plain = readings[(readings["order"] == "given") & (readings["queue"] == "given") & (readings["relaxed"] == "given")]
    assert (study.conclusions(plain, nearest).set_index("statement").loc[near.index, "holds"] == 0).all()
    with pytest.raises(InvalidInput, match="frame"):
        study.conclusions(readings[readings["size"] == "small"], nearest)


# ---------------------------------------------------------------------------------------------------- to the optimum


def test_gaps_by_hand() -> None:
    frame = study.gaps(8, 6, cases=[("small", 15)]).set_index("method")
    cases = drawn(8, 6, "small", 15)
    best = [virtual_cluster(*case) for case in cases]
    cases = [case for case, one in zip(cases, best, strict=True) if one.bound > 0]
    bounds = [one.bound for one in best if one.bound > 0]
    runs, common = judged(cases)
    assert 0 < len(common) < len(cases)
    for method in study.METHODS:
        ratios = [run[method]["y"] / bound for run, bound in zip(runs, bounds, strict=True)]
        row = frame.loc[method]
        close(row, ratios)
        same(
            row,
            {
                "common": np.mean([ratios[r] for r in common]),
                "worst": min(ratios[r] for r in common),
            },
        )
    assert frame.loc["exact", "mean"] == frame.loc["exact", "solved"] == 1


# ----------------------------------------------------------------------------------------------------- one or several


def test_the_promise_is_kept() -> None:
    for case in drawn(12, 7, "large", 36):
        sure = one_cluster._sure(case)
        assert 0 < sure <= by_hand(case, "exact")["y"] + 1e-12
        minimum = fb.virtual_cluster(*case).requests.minimum

        def holds(level: float, case: study.Instance = case, minimum: np.ndarray = minimum) -> bool:
            sizes = np.maximum(minimum, np.ceil(level * case.max_vms - 1e-9))
            return bool(sizes.sum() <= 1000 - 7 * (sizes.max() - 1))

        assert holds(sure)
        assert not holds(min(p / a for a in case.max_vms.tolist() for p in range(1, a + 1) if p / a > sure + 1e-9))
    nothing = study.Instance(np.array([10, 10]), np.zeros(2), np.array([5, 5]))
    assert one_cluster._sure(nothing) == 0
    three = np.array([4, 4, 4]), np.zeros(3)  # (H - 1)(largest - 1) = 3 VMs must be free, and no fewer will do
    assert one_cluster._sure(study.Instance(*three, np.array([8, 7]))) == 1
    assert one_cluster._sure(study.Instance(*three, np.array([7, 7]))) == 0


def test_price_by_hand() -> None:
    frame = study.price(4, 5, per_cluster=(2, 12)).pivot(index="per_cluster", columns="method", values="mean")
    assert (frame.le(frame["exact"] + 1e-9, axis=0)).all(axis=None)
    assert (frame.loc[12, ["exact", "guaranteed"]] > frame.loc[2, ["exact", "guaranteed"]]).all()
    rng = stream(5, 0)
    total = round(30 * 10 / 1.25)
    cuts = np.sort(rng.integers(0, total - 5 * 37 + 1, 4))
    capacities = 37 + np.diff([0, *cuts, total - 5 * 37])
    wanted = np.rint(rng.normal(30, 10**0.5, 100)).astype(int)[:10]
    case = study.Instance(wanted, rng.uniform(0, 0.9, 100)[:10], capacities)
    level = fb.virtual_cluster(case.max_vms, case.tolerance, [total]).min_fraction
    one = study.price(1, 5, per_cluster=2).set_index("method")["mean"]
    assert isclose(one["greedy"], by_hand(case, "greedy")["y"] / level)


# ------------------------------------------------------------------------------------------------------------ prices


def test_tariffs_by_hand() -> None:
    frame = study.tariffs(5, 6, users=13).set_index(["statement", "measure"])
    found: dict[tuple[str, str], list[float]] = {}
    for case in drawn(5, 6, "small", 13):
        honest = fb.virtual_cluster(*case)
        assert honest.served.all()
        floors = np.ceil((1 - case.tolerance) * case.max_vms - 1e-9)
        lied = np.array([1 if 1 - t <= honest.min_fraction else t for t in case.tolerance])
        for statement, k in {"truth": case.tolerance, "all 0.9": np.full(13, 0.9), "equilibrium": lied}.items():
            vms = fb.virtual_cluster(case.max_vms, k, case.capacities).vms
            sure = (1 - k) * case.max_vms
            for name, value in {
                "revenue": (2 * sure.sum() + (vms - sure).sum()) / 320,
                "hurt": (vms < floors).mean(),
                "min_fraction": (vms / case.max_vms).min(),
            }.items():
                found.setdefault((statement, name), []).append(value)
    for key, values in found.items():
        close(frame.loc[key], values)
    means = frame["mean"]
    assert means["truth", "revenue"] > means["equilibrium", "revenue"]
    assert means["equilibrium", "hurt"] < means["all 0.9", "hurt"]
