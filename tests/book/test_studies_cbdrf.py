"""The experiments of the cbDRF chapter: by hand, against exact fractions and DRF itself, and the tables again."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from book.cbdrf import studies as study
from book.common import results
from book.common.runs import stream
from fairbook.mechanisms.credit.cbdrf import cbdrf
from fairbook.mechanisms.credit.cbdrf_phase import grant_tasks_rule
from fairbook.mechanisms.credit.online import Karma

# ------------------------------------------------------------------------------------------------- what it all costs


def simulate(demands: np.ndarray, released: np.ndarray, grant: str, held: str) -> np.ndarray:
    """Tasks, shape (T, n), under a rule with a cap; under DRF nobody loses credit."""
    rule: Any = {"grant": "scaled", "step_down": 0.0} if grant == "drf" else {"grant": grant.replace("cbdrf", "scaled")}
    return cbdrf(demands, released=released, held=held, **rule).tasks  # type: ignore[arg-type]


def rows_of(frame: pd.DataFrame, count: str, number: int, held: str, mechanism: str) -> pd.Series:
    part = frame[(frame[count] == number) & (frame["held"] == held) & (frame["mechanism"] == mechanism)]
    return part.set_index("measure")["mean"]


#: What hoarders do at the end of an idle phase, and whether what they hold returns or stays.
HOARDERS = (("holds", "returns"), ("holds", "stays"), ("releases", "returns"))


def useful(demands: np.ndarray, busy: np.ndarray, hoarders: int, mechanism: str, conduct: str, held: str) -> np.ndarray:
    T, n = busy.shape
    claims = busy | (np.arange(n) < hoarders)
    if mechanism == "karma":
        pool = Karma(n, np.ones(2), initial_credit=T)
        return np.stack([pool.phase(demands, max_tasks=np.where(row, np.inf, 0.0)).tasks for row in claims]) * busy
    released = np.where(claims & ~busy, 0.0 if conduct == "holds" else 1.0, 1.0)
    tasks = simulate(demands * claims[..., None], released, mechanism, held)
    extra = np.zeros_like(tasks)
    if held == "stays":
        extra[1:] = (tasks * (1 - released))[:-1]
    return (tasks + extra) * busy


def test_hoarding_against_drf_phase_by_phase() -> None:
    n, phases = 5, 24
    frame = study.hoarding(1, 3, n=n, phases=phases, hoarders=(0, 3))
    rng = stream(3, n, 2, 0)
    demands = rng.uniform(0.1, 1.0, (n, 2))
    busy = rng.random((phases, n)) < 0.5
    usual = useful(demands, busy, 0, "drf", "holds", "returns").sum(axis=0)
    assert list(frame[["conduct", "held"]].drop_duplicates().itertuples(index=False, name=None)) == list(HOARDERS)
    for case, mechanism in product(HOARDERS, ("drf", "cbdrf", "weighted", "capped", "karma")):
        none, two, three = (useful(demands, busy, k, mechanism, *case) for k in (0, 2, 3))
        rows = frame[frame["conduct"] == case[0]]
        found = rows_of(rows, "hoarders", 0, case[1], mechanism)
        assert set(found.index) == {"honest"}
        assert found["honest"] == pytest.approx((none.sum(axis=0) / usual).mean(), abs=1e-9)
        part = three.sum(axis=0) / usual
        found = rows_of(rows, "hoarders", 3, case[1], mechanism)
        for measure, value in {
            "honest": part[3:].mean(),
            "switch": three[:, 2].sum() / two[:, 2].sum() - 1,
        }.items():
            assert found[measure] == pytest.approx(value, abs=1e-9), (*case, mechanism, measure)


def test_the_page_reads_the_stored_hoarders_rightly() -> None:
    frame = results.load("cbdrf/hoarding")
    wide = frame.pivot(index=["measure", "conduct", "held", "mechanism"], columns="hoarders", values="mean")
    switch, honest = wide.loc["switch"].loc[:, 1:], wide.loc["honest"]
    third, half = pytest.approx(1 / 3, abs=0.05), pytest.approx(1 / 2, abs=0.05)
    karma = ("releases", "returns", "karma")
    assert all(-value == half for value in switch.loc[karma])  # loses about half
    assert (honest.loc[karma] - 1).abs().max() < 0.01  # whole
    assert all(-value == third for value in switch.loc[("holds", "returns", "cbdrf")])
    assert (honest.loc[("holds", "returns", "cbdrf")] == honest.loc[("holds", "returns", "drf")]).all()
    assert honest.loc[("holds", "returns", "capped"), [1, 2, 3]].min() > 0.97  # nearly whole while few hoard
    assert honest.loc[("holds", "returns", "capped"), [7, 8, 9]].min() > 1.1
    for mechanism in ("cbdrf", "weighted", "capped"):
        clean = ("releases", "returns", mechanism)
        assert switch.loc[clean].abs().max() < 1e-9
        assert 1 - honest.loc[clean, 3] == pytest.approx(1 / 4, abs=0.02)
        assert 1 - honest.loc[clean, 9] == pytest.approx(1 / 2, abs=0.02)
    stays = switch.loc["holds", "stays"]
    assert stays.loc["drf"].min() > 0.3
    assert stays.loc[["cbdrf", "weighted"]].abs().max(axis=None) < 0.15
    assert stays.loc["capped"].max() < -0.15


# ----------------------------------------------------------------------------------------------- what an operator sets


def bound(rho: float, delta: float, s: float, u: float) -> float:
    """Give h* as the theorem states it, term by term."""
    penalty, j = 0.0, 1
    while s - (j - 1) * u > 1e-12:
        penalty += delta**j * (s - (j - 1) * u)
        j += 1
    return penalty / (rho - (1 - rho) * penalty) if rho > (1 - rho) * penalty else np.inf


def test_repaired_grants_are_solved_by_the_programme_alone() -> None:
    frame = study.operator(steps=[0.05, 0.2], ratios=[1])
    wide = frame[frame["source"] == "dynamic programme"].pivot(index="step_down", columns="grant", values="worth")
    assert set(frame.loc[frame["source"] == "closed form", "grant"]) == {"scaled"}
    # among nodes of two kinds who loses its standing falls to its part of an equal split at once
    assert (wide["capped"] > wide["scaled"] + 0.2).all()
    # at most one step below full credit pays: h (rho + (1 - rho) p) = p (1 + h (1 - rho)) ... for one lost phase
    for step, row in wide.iterrows():
        alone = Fraction(3, 4)  # an equal split over DRF: (1/10) / (1 / (5 + 2.5))
        lost = 1 - (1 - float(step)) * float(alone)
        p = 0.99 * lost
        assert row["capped"] == pytest.approx(p / (0.75 - 0.25 * p), rel=1e-9)
        weighted = grant_tasks_rule(study.MIXED, [1 - Fraction(str(step))] + [1] * 9, grant="weighted")[0]
        p = 0.99 * (1 - float(weighted / grant_tasks_rule(study.MIXED, [1] * 10, grant="weighted")[0]))
        assert row["weighted"] == pytest.approx(p / (0.75 - 0.25 * p), rel=1e-9)


# ------------------------------------------------------------------------------------------------- stored tables


def test_the_stored_thresholds_computed_again() -> None:
    assert bound(0.75, 0.99, 0.1, 0.1) == pytest.approx(0.099 / 0.72525)  # one term, by hand: P = 0.99 * 0.1
    frame = results.load("cbdrf/operator")
    assert results.load_facts("cbdrf/operator")["facts"] == {}
    again = study.operator(steps=(0.1, 0.5), ratios=(1, 10))
    key = ["grant", "ratio", "step_down", "source"]
    both = again.merge(frame, on=key, suffixes=("", "_stored"))
    assert len(both) >= 2 * 4
    np.testing.assert_allclose(both["worth"], both["worth_stored"], rtol=1e-8)
    for row in frame[frame["grant"] == "scaled"].itertuples():
        assert row.worth == pytest.approx(bound(0.75, 0.99, row.step_down, row.step_down / row.ratio), rel=1e-6)
