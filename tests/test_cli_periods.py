"""``fairbook periods``: what it alone has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fairbook as fb
from tests.commands import PERIODIC, PERIODS, ROOT, run

HALVES = "machine,cpu,memory\nleft,50,50\nright,50,50\n"


def tasks(told: pd.DataFrame) -> list[float]:
    return told["tasks"].to_list()


def test_the_worked_example_is_printed(tmp_path: Path) -> None:
    code, out, err = run(*PERIODS.given(tmp_path), "--alone", "resources", "--verify")
    assert code == 0
    assert err == (
        "fairbook: verified: no constraint is violated, and queues, shares and coefficients follow from the tasks\n"
    )
    lines = [line.split() for line in out.splitlines()]
    library = fb.tv_drf(*PERIODIC, alone="resources")
    assert ["2", "bob", "2", f"{library.cumulative_shares[1, 1]:.6g}", "1", "2", "cpu"] in lines
    use, alone = library.use.mean(axis=0), library.utilisation_alone.mean(axis=0)
    assert ["cpu", "100", f"{use[0]:.6g}", f"{use[0] / 100:.6g}", f"{alone[0]:.6g}"] in lines


def test_a_coefficient_below_one_is_told(tmp_path: Path) -> None:
    demands = "period,user,tasks,cpu\n4,a,1,2\n4,b,1,2\n5,a,1,1\n"
    assert run(*PERIODS.given(tmp_path, demands=demands, machines="cpu\n3\n"))[2].splitlines()[-1] == (
        "fairbook: after 2 of 2 period(s), the first of them 4, someone has used less than it would have alone "
        "(sharing_coefficient below 1)"
    )
    assert "below 1" not in run(*PERIODS.given(tmp_path, demands=demands, machines="cpu\n4\n"))[2]


def test_a_queue_is_served_in_periods_without_a_line(tmp_path: Path) -> None:
    given = PERIODS.given(tmp_path, demands="period,user,tasks,cpu\n10,b,1,1\n07,a,5,1\n",
                          machines="user,cpu\na,2\nb,1\n")
    told = PERIODS.told(*given, "--unserved", "waits").sort_index()
    assert list(told.index) == [(t, user) for t in (7, 8, 9, 10) for user in "ab"]
    assert tasks(told) == [3, 0, 2, 0, 0, 0, 0, 1]
    assert tasks(PERIODS.told(*given).sort_index()) == [3, 0, 0, 0, 0, 0, 0, 1]


def test_tasks_without_bound(tmp_path: Path) -> None:
    given = PERIODS.given(tmp_path, demands="period,user,tasks,cpu\n1,a,,1\n1,b,inf,1\n",
                          machines="user,cpu\na,3\nb,1\n")
    code, out, _ = run(*given, "--output", tmp_path / "out.json")
    assert code == 0
    written = json.loads((tmp_path / "out.json").read_text())["periods"]
    assert [(row["tasks"], row["unserved"]) for row in written] == [(3, None), (1, None)]
    assert "inf" in out


# --------------------------------------------------------------------------------------- who brought which machine


def test_machines_by_the_number(tmp_path: Path) -> None:
    short = "user,count,cpu,memory\nann,3,10,20\nbob,1,70,40\n"
    long = "user,cpu,memory\nann,10,20\nann,10,20\nann,10,20\nbob,70,40\n"
    told = PERIODS.told(*PERIODS.given(tmp_path, machines=short))
    pd.testing.assert_frame_equal(told, PERIODS.told(*PERIODS.given(tmp_path, machines=long)))
    library = fb.tv_drf(*PERIODIC[:2], [[10, 20]] * 3 + [[70, 40]], np.array([[1, 1, 1, 0], [0, 0, 0, 1]]))
    assert tasks(told) == tasks(library.to_frame())


@pytest.mark.parametrize(("tables", "parts", "silent"), [
    ({"contributions": "machine,user,part\nleft,ann,0.25\nleft,bob,0.75\nright,bob,1\n"}, [[0.25, 0], [0.75, 1]],
     False),
    ({"contributions": "user,part\nann,0.3\nbob,0.7\n"}, [0.3, 0.7], False),
    ({}, [0.5, 0.5], True),
])  # fmt: skip
def test_machines_that_several_brought(tmp_path: Path, tables: dict[str, str], parts: Any, silent: bool) -> None:
    code, out, err = run(*PERIODS.given(tmp_path, machines=HALVES, **tables), "--output", "-")
    assert code == 0
    assert ("everyone is taken to have brought the same part" in err) == silent
    expected = fb.tv_drf(*PERIODIC[:3], parts).to_frame()
    assert tasks(PERIODS.rows(out)) == tasks(expected)
    assert PERIODS.rows(out)["cumulative_share"].to_list() == expected["cumulative_share"].to_list()


def test_who_brings_and_submits_nothing(tmp_path: Path) -> None:
    given = PERIODS.given(tmp_path, machines=PERIODS.files["machines"] + "third,cyd,50,50\n")
    code, out, _ = run(*given, "--output", tmp_path / "out.json", "--explain", "cyd:1")
    assert code == 0
    assert out.splitlines()[-1] == "cyd has no tasks in period 1."
    content = json.loads((tmp_path / "out.json").read_text())
    assert content["weights"] == pytest.approx({"ann": 1 / 3, "bob": 1 / 3, "cyd": 1 / 3})
    assert content["terms"] == {"method": "heuristic", "alone": "bundles", "unserved": "expires", "memory": True}
    demands, submitted = np.zeros((3, 3, 2)), np.zeros((3, 3))
    demands[:, :2], submitted[:, :2] = PERIODIC[:2]
    library = fb.tv_drf(demands, submitted, [[50, 50]] * 3, np.eye(3))
    assert [row["tasks"] for row in content["periods"]] == library.tasks.ravel().tolist()


# ------------------------------------------------------------------------------------------- explain, placements


def test_explanations_tell_the_period_of_the_file(tmp_path: Path) -> None:
    later = PERIODS.files["demands"].replace("\n1,", "\n2011,").replace("\n2,", "\n2012,").replace("\n3,", "\n2013,")
    arguments = [*PERIODS.given(tmp_path, demands=later), "--explain"]
    first, second = run(*arguments, "bob:2012", "ann:2013")[1].splitlines()[-2:]
    assert first.startswith("bob runs 2 tasks in period 2012: ")
    assert second == "ann has no tasks in period 2013."
    assert [line.split(":")[0].split(".")[0] for line in run(*arguments, "bob")[1].splitlines()[-3:]] == [
        "bob runs 70 tasks in period 2011", "bob runs 2 tasks in period 2012", "bob has no tasks in period 2013"]
    assert PERIODS.told(*arguments, "bob:2012")["explanation"].ne("").tolist() == [i == 3 for i in range(6)]


def test_placements(tmp_path: Path) -> None:
    target = tmp_path / "placement.csv"
    given = PERIODS.given(tmp_path, machines="machine,user,count,cpu,memory\nleft,ann,2,25,25\nright,bob,1,50,50\n")
    assert run(*given, "--placement", target) == run(*given)
    frame = pd.read_csv(target)
    assert list(frame.columns) == ["period", "user", "machine", "number", "tasks"]
    pool = np.array([[25.0, 25.0], [25.0, 25.0], [50.0, 50.0]])
    library = fb.tv_drf(*PERIODIC[:2], pool, np.array([[1.0, 1, 0], [0, 0, 1]]), placement=True)
    assert library.placement is not None
    placed = np.zeros_like(library.placement)
    places = {("left", 1): 0, ("left", 2): 1, ("right", 1): 2}
    for row in frame.itertuples():
        placed[row.period - 1, ["ann", "bob"].index(row.user), places[row.machine, row.number]] += row.tasks
    np.testing.assert_array_equal(placed, library.placement)
    assert (frame["tasks"] > 0).all()
    given = PERIODS.given(tmp_path, machines="user,cpu,memory\nann,50,50\nbob,50,50\n")
    assert run(*given, "--placement", target)[0] == 0
    frame = pd.read_csv(target)
    assert list(frame.columns) == ["period", "user", "machine", "tasks"]
    assert set(frame["machine"]) == {1, 2}  # without names their lines
    assert frame.groupby(["period", "user"])["tasks"].sum().to_dict() == {
        (1, "ann"): 15, (1, "bob"): 70, (2, "ann"): 12, (2, "bob"): 2}


def test_the_shipped_example() -> None:
    """Its first periods show a loan and its return, which is what the example is for."""
    arguments = ("periods", ROOT / "data/example_periods.csv", "--machines", ROOT / "data/example_machines.csv")
    options = ([], ["--no-memory"], ["--unserved", "waits"])
    shared, forgetful, waits = (PERIODS.told(*arguments, *more) for more in options)
    for frame in (shared, forgetful, waits):
        assert frame.loc[(1, "ann"), "sharing_coefficient"] > 1  # used more than it brought
    assert shared.loc[(2, "ann"), "tasks"] < forgetful.loc[(2, "ann"), "tasks"]
    assert shared.loc[(2, "bob"), "tasks"] > forgetful.loc[(2, "bob"), "tasks"]


@settings(deadline=None, derandomize=True, database=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_good_tables_hold_together(tmp_path: Path, data: st.DataObject) -> None:
    keys = data.draw(st.lists(st.tuples(st.integers(0, 4), st.sampled_from("abc")), unique=True, min_size=1))
    number = st.sampled_from(["1", "0.5", "3"])
    lines = [f"{t},{user},{data.draw(st.integers(0, 9))},{data.draw(number)},{data.draw(number)}" for t, user in keys]
    options = ["--unserved", data.draw(st.sampled_from(["expires", "waits"])),
               "--method", data.draw(st.sampled_from(["heuristic", "lexicographic"])),
               "--alone", data.draw(st.sampled_from(["bundles", "whole_bundles", "resources"]))]
    given = PERIODS.given(tmp_path, demands="\n".join(["period,user,tasks,cpu,gpu", *lines]),
                          machines="user,count,cpu,gpu\na,1,4,4\nb,2,2,2\nc,1,1,1\n")
    code, _, err = run(*given, *options, "--verify", "--explain")
    assert code == 0, err
