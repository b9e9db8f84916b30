"""The experiments of the TV-DRF chapter: by hand, and against a queue."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from book.common.runs import interval, stream
from book.common.traces.alibaba2017 import load_digest
from book.tv_drf import studies as study
from fairbook.errors import InvalidInput
from fairbook.mechanisms.tv_drf.run import TvDrfRun
from fairbook.mechanisms.tv_drf.tv_drf import tv_drf

near, JOBS = np.testing.assert_allclose, load_digest()


def value(frame: pd.DataFrame, measure: str, mechanism: str, column: str = "mean") -> np.ndarray:
    """Give one number a period."""
    part = frame[(frame["measure"] == measure) & (frame["mechanism"] == mechanism)]
    assert part["period"].tolist() == list(range(1, len(part) + 1))
    return part[column].to_numpy()


def serve(demands: np.ndarray, tasks: np.ndarray, waits: bool) -> tuple[np.ndarray, np.ndarray]:
    """Run one user alone on a machine of (250, 40), a queue in order: tasks run of each group in each period, and use.

    It shares nothing with the mechanism.
    """
    T = len(tasks)
    queue: list[list[int]] = []
    ran, use = np.zeros((T, T)), np.zeros((T, 2))
    for t in range(T):
        queue = [*queue, [t, int(tasks[t])]] if waits else [[t, int(tasks[t])]]
        room = np.array([250.0, 40.0])
        while queue:
            s, left = queue[0]
            some = min(left, int(np.floor((room / demands[s]).min() * (1 + 1e-12))))
            ran[t, s] += some
            room -= some * demands[s]
            queue[0][1] -= some
            if queue[0][1]:
                break
            queue.pop(0)
        use[t] = (250, 40) - room
    return ran, use


def alone(case: study.Instance, waits: bool) -> dict[str, np.ndarray]:
    """Give the measures where everyone has a machine of (250, 40), of which the pool has n; and G of each user."""
    ran, use = (
        np.stack(parts)
        for parts in zip(
            *(serve(case.demands[:, i], case.tasks[:, i], waits) for i in range(case.tasks.shape[1])), strict=True
        )
    )
    size = (case.demands / (250, 40)).max(axis=2)  # r / w
    shares = np.einsum("its,si->ti", ran, size).cumsum(axis=0)
    part = use.mean(axis=0) / (250, 40)
    return {
        "G": shares,
        "min_share": shares.min(axis=1),
        "total_share": shares.mean(axis=1),
        "cpu": part[:, 0],
        "memory": part[:, 1],
        "served": ran.sum(axis=(0, 2)).cumsum() / case.tasks.sum(axis=1).cumsum(),
    }


# ------------------------------------------------------------------------------------------------- worked example


def test_the_example_by_hand() -> None:
    # A: 15 (2, 1) = (30, 15), then alone (50, 50) more. B: 70 (1, 1), of which alone 50; then, by resources, 4 (20, 10)
    # against (50, 50): (50, 40). The end: 12 tasks of A, 2 of B, (60 + 40, 60 + 20) of (100, 100).
    frame = study.example()
    assert frame["exact"].tolist() == ["1", "7/5", "3/13", "7/10", "1", "1", "9/8", "1"]
    assert frame["beta"].tolist() == [float(Fraction(x)) for x in frame["exact"]]
    shown = ["tasks", "cpu", "memory", "own_cpu", "own_memory"]
    assert frame[shown].iloc[[1, 6, 7]].to_numpy().tolist() == [
        [70, 70, 70, 50, 50],
        [12, 90, 75, 80, 65],
        [2, 110, 90, 100, 90],
    ]
    assert frame[["own_cpu", "own_memory"]].iloc[2:].to_numpy().tolist() == [[80, 65], [100, 90]] * 3
    # bundles: B alone runs 2.5 of (20, 10), so (100, 75) in all; whole ones 2, so (90, 70)
    for reading, owned, beta in (("bundles", [100, 75], "7/10"), ("whole_bundles", [90, 70], "7/9")):
        frame = study.example(alone=reading)  # type: ignore[arg-type]
        start = frame.iloc[2:4]
        assert start["exact"].tolist() == ["3/13", beta]
        assert start[["own_cpu", "own_memory"]].iloc[1].tolist() == owned


# ------------------------------------------------------------------------------------------- users from the trace


def test_users_are_jobs_of_the_trace_with_their_groups_in_order() -> None:
    case = study.instance(stream(1), 30, periods=12, memory_gb=64.0)
    assert case.demands.shape == (12, 30, 2)
    starts = JOBS.first[:-1][JOBS.groups_per_job >= 12]
    known = {
        tuple(JOBS.instances[a : a + 12]) + tuple(JOBS.plan_cpu[a : a + 12]) + tuple(JOBS.memory[a : a + 12].round(9))
        for a in starts
    }
    for i in range(30):
        job = (
            *case.tasks[:, i],
            *(100 * case.demands[:, i, 0]).round().astype(int),
            *(case.demands[:, i, 1] / 64).round(9),
        )
        assert job in known


@pytest.mark.parametrize(
    ("n", "machines", "number", "size"),
    [
        (20, "table", 1, (250, 40)),
        (100, "table", 1, (200, 40)),
        (5, "twelve", 12, (50, 40)),
        (100, "twelve", 1, (200, 40)),
    ],
)
def test_machines_are_those_of_the_table(n: int, machines: str, number: int, size: tuple[float, float]) -> None:
    case = study.instance(stream(2), n, machines=machines)
    assert case.machines.tolist() == [list(size)] * (n * number)
    assert case.contributions.tolist() == [1 / n] * n
    assert (case.demands <= case.machines[0]).all()
    assert (case.demands > 0).all()
    assert (case.tasks >= 1).all()


def test_short_jobs_begin_again() -> None:
    case = study.instance(stream(3), 40, periods=9, min_groups=1)
    again = study.instance(stream(3), 40, periods=18, min_groups=1)
    assert case.tasks.tolist() == again.tasks[:9].tolist()
    assert (again.tasks > 0).all()


def test_busy_users_are_busy() -> None:
    case = study.instance(stream(4), 40, min_load=0.5)
    need = (case.tasks[:, :, None] * case.demands).mean(axis=0) / (250, 40)
    assert (need.max(axis=1) >= 0.5 * (1 - 1e-9)).all()
    with pytest.raises(InvalidInput, match="at most 67"):
        study.instance(stream(4), 68, min_load=1.0)


# --------------------------------------------------------------------------------------------- ways to serve them


@pytest.mark.parametrize("unserved", study.UNSERVED)
def test_no_sharing_against_a_queue_served_by_hand(unserved: str) -> None:
    frame = study.curves(3, 7, 6, unserved=unserved, periods=15)
    runs = [alone(study.instance(stream(7, 6, r), 6, periods=15), unserved == "waits") for r in range(3)]
    for measure in ("min_share", "cpu", "memory", "total_share", "served"):
        lines = np.array([run[measure] for run in runs])
        wanted = interval(lines)
        for column in wanted:
            near(value(frame, measure, "alone", column), wanted[column], rtol=1e-9, atol=1e-9)
    near(value(frame, "min_ratio", "alone"), 1, rtol=1e-9)


def by_hand(case: study.Instance, run: TvDrfRun, waits: bool) -> dict[str, np.ndarray]:
    """Compute measures of sharing from amounts, tasks and G."""
    ahead, needy = np.where(run.tasks > 0, run.cumulative_shares, np.nan), run.unserved > 0
    gaps = np.where(needy[:, None], ahead[:, :, None] - run.cumulative_shares[:, None], np.nan)
    return {
        "memory": run.amounts[:, :, 1].sum(axis=1) / 160,
        "behind": np.fmax(np.nanmax(gaps, axis=(1, 2)), 0),
        "min_ratio": (run.cumulative_shares / alone(case, waits)["G"]).min(axis=1),
    }


@pytest.mark.filterwarnings("ignore:All-NaN")
@pytest.mark.parametrize("unserved", study.UNSERVED)
def test_measures_of_the_heuristic_from_its_amounts(unserved: Any) -> None:
    names = ("memoryless", "alone", "tv_drf")
    frame = study.curves(2, 9, 4, unserved=unserved, mechanisms=names, min_load=0.5)
    assert list(dict.fromkeys(frame["mechanism"])) == [*names, "difference"]
    assert list(dict.fromkeys(frame["measure"])) == list(study.MEASURES)
    cases = [study.instance(stream(9, 4, r), 4, min_load=0.5) for r in range(2)]
    for name in ("tv_drf", "memoryless"):
        found = [
            by_hand(
                case,
                tv_drf(*case, alone="whole_bundles", unserved=unserved, memory=name == "tv_drf"),
                unserved == "waits",
            )
            for case in cases
        ]
        for measure in found[0]:
            near(value(frame, measure, name), np.mean([one[measure] for one in found], axis=0), rtol=1e-9, atol=1e-9)
    assert max(one["behind"].max() for one in found) > 1


def test_differences_are_taken_run_by_run() -> None:
    case: dict[str, Any] = {"unserved": "waits", "mechanisms": ("tv_drf", "alone"), "min_load": 0.5}
    frame, first = (study.curves(runs, 3, 5, **case) for runs in (4, 1))
    for measure in study.MEASURES:
        both, one = (value(some, measure, "tv_drf") - value(some, measure, "alone") for some in (frame, first))
        near(value(frame, measure, "difference"), both, atol=1e-9)
        near(value(first, measure, "difference", "low"), one, atol=1e-9)
        assert set((4 * value(frame, measure, "difference", "below")).tolist()) <= {0, 1, 2, 3, 4}
        assert value(first, measure, "difference", "below").tolist() == (one < -1e-9).tolist()
    assert frame.loc[frame["mechanism"] != "difference", "below"].isna().all()
    assert value(frame, "memory", "difference", "below").max() > 0  # a backlog is worked off sooner
    assert (set(frame["n"]), set(frame["runs"])) == ({5}, {4})


# ------------------------------------------------------------------------------------------------ the paper's figures


@pytest.mark.parametrize(("figure", "n"), [(study.fig1, 20), (study.fig2, 100)])
def test_bubbles_are_the_first_run(figure: Callable[..., pd.DataFrame], n: int) -> None:
    frame, case = figure(5), study.instance(stream(5, n, 0), n)
    assert set(frame["n"]) == {n}
    for name, values in {"tasks": case.tasks, "cpu": case.demands[..., 0], "memory": case.demands[..., 1]}.items():
        assert frame.pivot(index="period", columns="user", values=name).to_numpy().tolist() == values.tolist()


# ------------------------------------------------------------------------------------- the heuristic and its optimum


def test_gaps_measured_by_hand() -> None:
    frame = study.gaps(2, 6, sizes=(4,), unserved="expires", min_load=0.5).set_index("packing")
    for packing in ("machines", "merged"):
        steps, parts = [], []
        for r in range(2):
            case = study.instance(stream(6, 4, r), 4, min_load=0.5)
            merged = case._replace(machines=np.array([[1000.0, 160.0]]))
            found = tv_drf(*(case if packing == "machines" else merged), alone="whole_bundles").cumulative_shares
            best = tv_drf(*merged, method="lexicographic").cumulative_shares
            largest = np.maximum.accumulate((case.demands / (1000, 160)).max(axis=2) * 4, axis=0)
            steps.append(np.abs(found - best) / largest)
            parts.append(found.sum(axis=1) / best.sum(axis=1))
        cells, total = np.array(steps), np.array(parts)
        wanted = {
            "mean": cells.mean(),
            "worst": cells.max(),
            "total_share": total.mean(),
            "total_share_least": total.min(),
        }
        near(frame.loc[packing, list(wanted)].to_numpy(float), list(wanted.values()), rtol=1e-8, atol=1e-9)
    assert frame.loc["machines", "worst"] > frame.loc["merged", "worst"] > 0


# -------------------------------------------------------------------------------------------------- what memory buys


def test_what_memory_buys_by_hand() -> None:
    frame = study.memory_course()
    tasks, shares = (
        {key: part[name].to_numpy() for key, part in frame.groupby(["mechanism", "user"])}
        for name in ("tasks", "share")
    )
    for key in tasks:  # both resources are 120; a task adds 2 / 120 over 1 / 2
        near(shares[key], np.cumsum(tasks[key]) / 30, rtol=1e-12)
        # B fills what A leaves: 5 of A's 120 GB, and 57 whole tasks of 2
        assert set(tasks[key][:8]) == {5 if key[1] == "A" else 57}
    # without memory DRF, 40 each: 2 * 40 + 40 = 120
    assert set(tasks["memoryless", "A"][8:]) == set(tasks["memoryless", "B"][8:]) == {40}
    # with it all of A's 60, until G is equal
    assert (set(tasks["tv_drf", "A"][8:14]), set(tasks["tv_drf", "B"][8:14])) == ({60}, {0})
    assert abs(shares["tv_drf", "A"][-1] - shares["tv_drf", "B"][-1]) <= 1 / 30 + 1e-12
    assert shares["memoryless", "B"][-1] - shares["memoryless", "A"][-1] == pytest.approx(8 * 52 / 30)
    assert frame["submitted"].tolist() == ([5] * 8 + [60] * 12 + [60] * 20) * 2
