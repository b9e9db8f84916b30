"""``fairbook phases``: what it alone has."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fairbook as fb
from tests.commands import BOUNDED, PHASED, PHASES, RELEASED, run


def test_what_is_printed(tmp_path: Path) -> None:
    code, out, err = run(*PHASES.given(tmp_path), *PHASES.options, "--verify")
    assert code == 0
    assert err == ("fairbook: verified: no constraint is violated, and pools, grants and credits follow from phase to "
                   "phase\n")
    lines = [line.split() for line in out.splitlines()]
    assert ["phase", "user"] in lines
    assert ["2", "bob", "0.9", "0.9", "1.8", "2", "0.5", "False"] in lines
    assert ["3", "ann", "1.2", "1", "0", "0", "1", "True"] in lines  # not present, and that complies
    use = fb.cbdrf(PHASED, [9, 18], **RELEASED).use.mean(axis=0)
    assert ["cpu", "9", f"{use[0]:.6g}", f"{use[0] / 9:.6g}"] in lines


def test_rows_may_stand_in_any_order(tmp_path: Path) -> None:
    header, *rows = PHASES.files["phases"].splitlines()
    usual = PHASES.told(*PHASES.given(tmp_path), *PHASES.options)
    mixed = "\n".join([header, *rows[::-1]]).replace("1,ann", "01,ann")
    told = PHASES.told(*PHASES.given(tmp_path, phases=mixed), *PHASES.options)
    pd.testing.assert_frame_equal(told.sort_index(), usual.sort_index())


def test_phases_without_a_line_are_not_run(tmp_path: Path) -> None:
    later = PHASES.files["phases"].replace("\n3,", "\n700,")
    usual = PHASES.told(*PHASES.given(tmp_path), *PHASES.options)
    code, out, err = run(*PHASES.given(tmp_path, phases=later), *PHASES.options, "--output", "-")
    assert code == 0
    assert err.endswith("phases.csv: 697 phase(s) between 1 and 700 have no line and are not run\n")
    pd.testing.assert_frame_equal(PHASES.rows(out), usual.rename({3: 700}, level="phase"))


def test_columns_that_the_rule_does_not_use(tmp_path: Path) -> None:
    code, out, err = run(*PHASES.given(tmp_path, phases="phase,user,cpu,weight\n0,a,1,3\n0,b,1,1\n"), "--output", "-")
    assert code == 0
    assert PHASES.rows(out)["tasks"].tolist() == [0.5, 0.5]
    assert PHASES.rows(out)["released"].tolist() == [1, 1]  # without that column everyone releases all
    assert "column 'weight' is left out" in err
    assert run(*PHASES.given(tmp_path), "--rule", "karma")[2] == "fairbook: karma does not use column 'released'\n"
    given = PHASES.given(tmp_path, phases=BOUNDED)
    assert run(*given)[2] == "fairbook: cbdrf does not use column 'max_tasks'\n"
    bottlenecks = PHASES.told(*given, *PHASES.options, "--rule", "karma")["bottleneck"]
    assert {"own bound"} <= set(bottlenecks) <= {"cpu", "memory", "own bound", "credit"}


def test_explanations_tell_the_phase_of_the_file(tmp_path: Path) -> None:
    arguments = [*PHASES.given(tmp_path), *PHASES.options, "--explain"]
    assert run(*arguments, "bob:2", "ann:3")[1].splitlines()[-2:] == [
        "bob runs 1.8 tasks in phase 2; DRF would give it 2. It failed to release enough in 1 of 1 phases before, and "
        "stands at 90.00% of the initial credit, the part of its DRF amount that it gets.",
        "ann is not present in phase 3.",
    ]
    assert [line.split(";")[0] for line in run(*arguments, "bob")[1].splitlines()[-3:]] == [
        "bob runs 2 tasks in phase 1", "bob runs 1.8 tasks in phase 2", "bob runs 1.2 tasks in phase 3"]
    last = run(*arguments)[1].splitlines()[-3:]
    assert [line.split()[0] for line in last if "in phase 3" in line] == ["ann", "bob", "cyd"]
    told = run(*PHASES.given(tmp_path, phases=BOUNDED), "--rule", "karma", "--explain", "bob:2")[1].splitlines()[-1]
    assert told.startswith("bob runs ")
    assert "in phase 2" in told
    assert PHASES.told(*arguments, "bob:2")["explanation"].ne("").tolist() == [i == 4 for i in range(9)]


def test_users_with_awkward_names(tmp_path: Path) -> None:
    given = PHASES.given(tmp_path, phases="phase,user,cpu\n7,a:7,1\n7,x in phase 0 of 3,1\n8,a,1\n")
    _, out, _ = run(*given, "--explain", "a:7:7", "x in phase 0 of 3:7", "a:8")
    assert [line.split(";")[0] for line in out.splitlines()[-3:]] == [
        "a:7 runs 0.5 tasks in phase 7", "x in phase 0 of 3 runs 0.5 tasks in phase 7", "a runs 1 tasks in phase 8"]
    _, out, _ = run(*given, "--explain", "a:7")  # the user of that name, in all phases
    assert [line.split(" ")[0] for line in out.splitlines()[-2:]] == ["a:7", "a:7"]


def test_everything_as_json(tmp_path: Path) -> None:
    arguments = [*PHASES.given(tmp_path), *PHASES.options, "--output", tmp_path / "out.json"]
    assert run(*arguments, "--grant", "capped")[0] == 0
    content = json.loads((tmp_path / "out.json").read_text())
    assert content["rule"] == "cbdrf"
    assert content["terms"]["credit_cap"] is None
    assert content["violations"] is None  # nobody has asked
    assert content["phases"][4] == {
        "phase": 2, "user": "bob", "credit": 0.9, "credit_factor": 0.9, "tasks": pytest.approx(0.9 * 3 / 2),
        "drf_tasks": 2.0, "released": 0.5, "complied": False}
    assert run(*arguments, "--rule", "karma")[0] == 0
    assert json.loads((tmp_path / "out.json").read_text())["terms"] == {"alpha": 0.5, "initial_credit": 3.0}


def test_long_tables_are_shortened_on_the_terminal_only(tmp_path: Path) -> None:
    lines = "".join(f"{t},u{i},1\n" for t in range(50) for i in range(50))
    given = PHASES.given(tmp_path, phases="phase,user,cpu\n" + lines)
    code, out, _ = run(*given)
    assert code == 0
    assert "(2500 rows; --output writes all)" in out
    assert len(out.splitlines()) < 2100
    assert len(PHASES.told(*given)) == 2500


@settings(deadline=None, derandomize=True, database=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_good_tables_are_certified(tmp_path: Path, data: st.DataObject) -> None:
    keys = data.draw(st.lists(st.tuples(st.integers(0, 4), st.sampled_from("abc")), unique=True, min_size=1))
    number, eta = st.sampled_from(["0", "1", "0.5", "3"]), st.sampled_from(["0", "0.5", "0.75", "1"])
    lines = [f"{t},{user},{data.draw(number)},{data.draw(number)},{data.draw(eta)}" for t, user in keys]
    options = ["--held", data.draw(st.sampled_from(["returns", "stays"])), "--grant",
               data.draw(st.sampled_from(["scaled", "weighted", "capped"]))]
    rule = ["--rule", "karma"] if data.draw(st.booleans()) else options
    given = PHASES.given(tmp_path, phases="\n".join(["phase,user,cpu,gpu,released", *lines]))
    code, _, err = run(*given, *rule, "--verify", "--explain")
    assert code == 0, err
