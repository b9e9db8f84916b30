"""``fairbook phases``: long tables in, long tables out, and how it refuses."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fairbook as fb
from fairbook import cli
from fairbook.cli.phases import PHASE_RULES
from tests.commands import Run, Write, refused, runner, writer

LONG = """phase,user,cpu,memory,released
1,ann,1,4,1
1,bob,3,1,0.5
2,ann,1,4,1
2,bob,3,1,0.5
3,bob,3,1,1
3,cyd,1,1,0
"""
POOL = ("--capacity", "cpu=9", "memory=18")
DEMANDS = np.array([[[1, 4], [3, 1], [0, 0]], [[1, 4], [3, 1], [0, 0]], [[0, 0], [3, 1], [1, 1]]], dtype=float)
RELEASED = [[1, 0.5, 1], [1, 0.5, 1], [1, 1, 0]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run ``fairbook phases``."""
    return runner(capsys, "phases")


@pytest.fixture
def table(tmp_path: Path) -> Write:
    """Write a table of phases."""
    return writer(tmp_path, LONG, "phases.csv")


def read(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text), index_col=["phase", "user"])


def expected(frame: pd.DataFrame, phases: Any = (1, 2, 3), users: Any = ("ann", "bob", "cyd")) -> pd.DataFrame:
    frame.index = pd.MultiIndex.from_product([list(phases), list(users)], names=["phase", "user"])
    return frame


# ------------------------------------------------------------------------------------------------------- results


@pytest.mark.parametrize("options", [
    {},
    {"held": "stays"},
    {"grant": "capped", "credit_cap": 1.0},
    {"grant": "weighted", "held": "stays", "penalty": "graded"},
    {"rho": 0.5, "step_up": 0.2, "step_down": 0.3, "initial_credit": 2.0, "credit_cap": 2.5, "credit_floor": 1.0},
])
def test_cbdrf_gives_what_the_library_gives(run: Run, table: Callable[..., Path], options: dict[str, Any]) -> None:
    flags = [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", value)]
    library = fb.cbdrf(DEMANDS, [9, 18], released=RELEASED, **options)
    code, out, err = run(table(), *POOL, *flags, "--output", "-")
    assert (code, err) == (0, "")
    pd.testing.assert_frame_equal(read(out), expected(library.to_frame()), check_exact=True)
    assert run(table(), *POOL, *flags, "--verify")[0] == 0


def test_karma_gives_what_the_library_gives(run: Run, table: Callable[..., Path]) -> None:
    bounds = np.array([[np.inf, 2, 0], [1, np.inf, 0], [0, 5, 0]])
    text = "phase,user,cpu,memory,max_tasks\n1,ann,1,4,\n1,bob,3,1,2\n2,ann,1,4,1\n2,bob,3,1,inf\n3,bob,3,1,5\n"
    text += "3,cyd,1,1,0\n"
    own: dict[str, Any] = {"alpha": 0.2, "initial_credit": 0.25}
    for flags, terms in (((), {}), (("--alpha", 0.2, "--initial-credit", 0.25), own)):
        library = fb.karma(DEMANDS, [9, 18], max_tasks=bounds, **terms)
        code, out, err = run(table(text), *POOL, "--rule", "karma", *flags, "--verify", "--output", "-")
        assert code == 0
        assert "verified" in err
        frame = expected(library.to_frame())
        pd.testing.assert_frame_equal(read(out).drop(columns="bottleneck"), frame.drop(columns="bottleneck"))
        assert {"own bound"} <= set(read(out)["bottleneck"]) <= {"cpu", "memory", "own bound", "credit"}
    _, _, err = run(table(), "--rule", "karma")
    assert err == "fairbook: karma does not use column 'released'\n"
    _, _, err = run(table(text))
    assert err == "fairbook: cbdrf does not use column 'max_tasks'\n"


def test_what_is_printed(run: Run, table: Callable[..., Path]) -> None:
    code, out, err = run(table(), *POOL, "--verify")
    assert code == 0
    assert err == ("fairbook: verified: no constraint is violated, and pools, grants and credits follow from phase to "
                   "phase\n")
    lines = [line.split() for line in out.splitlines()]
    assert ["phase", "user"] in lines
    assert ["2", "bob", "0.9", "0.9", "1.8", "2", "0.5", "False"] in lines
    assert ["3", "ann", "1.2", "1", "0", "0", "1", "True"] in lines  # not present, and that complies
    library = fb.cbdrf(DEMANDS, [9, 18], released=RELEASED)
    use = library.use.mean(axis=0)
    assert ["cpu", "9", f"{use[0]:.6g}", f"{use[0] / 9:.6g}"] in lines


def test_rows_may_stand_in_any_order_and_form(
    run: Run, table: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    header, *rows = LONG.splitlines()
    wanted = run(table(), *POOL, "--output", "-")[1]
    for content in (
        "\n".join([header, *rows[:3], "", *rows[3:]]),
        "\ufeff" + LONG.replace("\n", "\r\n"),
        "released,memory,user,cpu,phase\n" + "\n".join(
            ",".join([line.split(",")[k] for k in (4, 3, 1, 2, 0)]) for line in rows),
        LONG.replace("1,ann", "01, ann "),
        gzip.compress(LONG.encode(), mtime=0),
    ):
        assert run(table(content), *POOL, "--output", "-") == (0, wanted, "")
    shuffled = read(run(table("\n".join([header, *rows[::-1]])), *POOL, "--output", "-")[1])
    pd.testing.assert_frame_equal(shuffled.sort_index(), read(wanted).sort_index())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LONG.encode())))
    assert run("-", *POOL, "--output", "-") == (0, wanted, "")


def test_phases_without_a_line_are_not_run(run: Run, table: Callable[..., Path]) -> None:
    text = LONG.replace("\n3,", "\n700,")
    code, out, err = run(table(text), *POOL, "--output", "-")
    assert code == 0
    assert err.endswith("phases.csv: 697 phase(s) between 1 and 700 have no line and are not run\n")
    frame = read(out)
    run = fb.cbdrf(DEMANDS, [9, 18], released=RELEASED)
    pd.testing.assert_frame_equal(frame, expected(run.to_frame(), (1, 2, 700)))


def test_columns_that_are_left_out(run: Run, table: Callable[..., Path]) -> None:
    text = "phase,user,cpu,weight,note\n0,a,1,3,first\n0,b,1,1,\n"
    code, out, err = run(table(text), "--output", "-")
    assert code == 0
    assert read(out)["tasks"].tolist() == [0.5, 0.5]
    assert read(out)["released"].tolist() == [1, 1]  # without that column everyone releases all
    assert "'note', which is left out" in err
    assert "column 'weight' is left out" in err


# ------------------------------------------------------------------------------------------------------- explain


def test_explanations_tell_the_phase_of_the_file(run: Run, table: Callable[..., Path]) -> None:
    _, out, _ = run(table(), *POOL, "--explain", "bob:2", "ann:3")
    assert out.splitlines()[-2:] == [
        "bob runs 1.8 tasks in phase 2; DRF would give it 2. It failed to release enough in 1 of 1 phases before, and "
        "stands at 90.00% of the initial credit, the part of its DRF amount that it gets.",
        "ann is not present in phase 3.",
    ]
    _, out, _ = run(table(), *POOL, "--explain", "bob")
    assert [line.split(";")[0] for line in out.splitlines()[-3:]] == [
        "bob runs 2 tasks in phase 1", "bob runs 1.8 tasks in phase 2", "bob runs 1.2 tasks in phase 3"]
    _, out, _ = run(table(), *POOL, "--explain")
    assert [line.split()[0] for line in out.splitlines()[-3:]] == ["ann", "bob", "cyd"]
    assert all("in phase 3" in line for line in out.splitlines()[-3:])
    _, out, _ = run(table(), *POOL, "--rule", "karma", "--explain", "bob:2")
    assert out.splitlines()[-1].startswith("bob runs ")
    assert "in phase 2" in out.splitlines()[-1]
    _, out, _ = run(table(), *POOL, "--explain", "bob:2", "--output", "-")
    assert pd.read_csv(io.StringIO(out))["explanation"].notna().tolist() == [i == 4 for i in range(9)]


def test_users_with_awkward_names(run: Run, table: Callable[..., Path]) -> None:
    text = "phase,user,cpu\n7,a:7,1\n7,x in phase 0 of 3,1\n8,a,1\n"
    _, out, _ = run(table(text), "--explain", "a:7:7", "x in phase 0 of 3:7", "a:8")
    assert out.splitlines()[-3:] == [
        "a:7 runs 0.5 tasks in phase 7; DRF would give it 0.5. It is in good standing, and so is everyone who is "
        "present.",
        "x in phase 0 of 3 runs 0.5 tasks in phase 7; DRF would give it 0.5. It is in good standing, and so is "
        "everyone who is present.",
        "a runs 1 tasks in phase 8; DRF would give it 1. It is in good standing, and so is everyone who is present.",
    ]
    _, out, _ = run(table(text), "--explain", "a:7")  # the user of that name, in all phases
    assert [line.split(" ")[0] for line in out.splitlines()[-2:]] == ["a:7", "a:7"]


# -------------------------------------------------------------------------------------------------------- output


def test_output_as_csv_and_json(run: Run, table: Callable[..., Path], tmp_path: Path) -> None:
    path = table()
    code, out, _ = run(path, *POOL, "--grant", "capped", "--output", tmp_path / "out.csv")
    assert code == 0
    assert "utilisation" in out
    assert (tmp_path / "out.csv").read_text() == run(path, *POOL, "--grant", "capped", "--output", "-")[1]
    assert run(path, *POOL, "--grant", "capped", "--verify", "--output", tmp_path / "out.json")[0] == 0
    content = json.loads((tmp_path / "out.json").read_text())
    assert content["rule"] == "cbdrf"
    assert content["terms"]["grant"] == "capped"
    assert content["terms"]["credit_cap"] is None
    assert content["violations"] == []
    assert content["phases"][4] == {
        "phase": 2, "user": "bob", "credit": 0.9, "credit_factor": 0.9, "tasks": pytest.approx(0.9 * 3 / 2),
        "drf_tasks": 2.0, "released": 0.5, "complied": False}
    assert [row["resource"] for row in content["resources"]] == ["cpu", "memory"]
    assert run(path, *POOL, "--rule", "karma", "--output", tmp_path / "out.json")[0] == 0
    content = json.loads((tmp_path / "out.json").read_text())
    assert content["terms"] == {"alpha": 0.5, "initial_credit": 3.0}
    assert "overwrite the input" in refused(run(path, "--output", path))
    assert ".csv or .json" in refused(run(path, "--output", "out.txt"))


def test_long_tables_are_shortened_on_the_terminal_only(run: Run, table: Callable[..., Path]) -> None:
    path = table("phase,user,cpu\n" + "".join(f"{t},u{i},1\n" for t in range(50) for i in range(50)))
    code, out, _ = run(path)
    assert code == 0
    assert "(2500 rows; --output writes all)" in out
    assert len(out.splitlines()) < 2100
    assert len(run(path, "--output", "-")[1].splitlines()) == 2501


def test_failed_verification_is_told(
    run: Run, table: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fb.CreditRun, "violations", lambda self: ["something is wrong in phase 1"])
    code, _, err = run(table(), *POOL, "--verify")
    assert code == 1
    assert err == "fairbook: violated: something is wrong in phase 2\n"  # the file counts from 1


# ------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(("arguments", "part"), [
    ([], "phases.csv"),
    (["p.csv", "--rule", "drf"], "invalid choice"),
    (["p.csv", "--rho", "x"], "argument --rho: must be a number, got 'x'"),
    (["p.csv", "--rho", "nan"], "must be a number"),
    (["p.csv", "--step-up", "1e"], "must be a number"),
    (["p.csv", "--held", "goes"], "invalid choice"),
    (["p.csv", "--grant", "best"], "invalid choice"),
    (["p.csv", "--penalty", "none"], "invalid choice"),
    (["p.csv", "--rule", "karma", "--rho", "0.5"], "--rho belongs to cbdrf, not to karma"),
    (["p.csv", "--rule", "karma", "--grant", "scaled"], "--grant belongs to cbdrf"),
    (["p.csv", "--alpha", "0.5"], "--alpha belongs to karma, not to cbdrf"),
    (["p.csv"], "p.csv: No such file"),
])
def test_wrong_arguments(run: Run, arguments: list[str], part: str) -> None:
    assert part in refused(run(*arguments))


@pytest.mark.parametrize(("arguments", "part"), [
    (["--rho", "1.5"], "--rho must be between 0 and 1, got 1.5"),
    (["--rho=-1"], "--rho must be between 0 and 1"),
    (["--step-up=-0.1"], "--step-up must be between"),
    (["--step-down", "1e99"], "--step-down must be between"),
    (["--initial-credit", "0"], "--initial-credit must be positive"),
    (["--credit-cap", "0.5"], "--credit-cap must be"),
    (["--credit-floor", "2"], "--credit-floor must be between 0 and 1"),
    (["--rule", "karma", "--alpha", "2"], "--alpha must be between 0 and 1"),
    (["--rule", "karma", "--initial-credit=-1"], "--initial-credit"),
    (["--explain", "dan"], "--explain 'dan' is no user"),
    (["--explain", "ann:4"], "--explain 'ann:4': "),
    (["--explain", "ann:x"], "--explain 'ann:x'"),
    (["--explain", ":1"], "--explain ':1'"),
    (["--capacity", "disk=1"], "none of the resources cpu, memory"),
    (["--capacity", "cpu=1"], "also for memory"),
])
def test_wrong_options(run: Run, table: Callable[..., Path], arguments: list[str], part: str) -> None:
    assert part in refused(run(table(), *arguments))


BAD_FILES = {
    "empty": ("", "is empty"),
    "header only": ("phase,user,cpu\n", "only a header"),
    "no phase": ("user,cpu\na,1\n", "has no column 'phase', only 'user', 'cpu'"),
    "no user": ("phase,cpu\n1,1\n", "has no column 'user'"),
    "no demands": ("phase,user,released\n1,a,1\n", "no column of demands"),
    "phase in words": ("phase,user,cpu\none,a,1\n", "line 2, column 'phase': 'one' is not the whole number of a phase"),
    "phase with a fraction": ("phase,user,cpu\n1,a,1\n1.5,a,1\n", "line 3, column 'phase': '1.5'"),
    "phase negative": ("phase,user,cpu\n-1,a,1\n", "line 2, column 'phase': '-1'"),
    "phase missing": ("phase,user,cpu\n,a,1\n", "line 2, column 'phase': ''"),
    "phase in other digits": ("phase,user,cpu\n\u0661,a,1\n", "line 2, column 'phase'"),
    "phase endless": (f"phase,user,cpu\n{'9' * 30},a,1\n", "line 2, column 'phase'"),
    "user missing": ("phase,user,cpu\n1,,1\n", "line 2, column 'user': '' is not a name"),
    "user twice": ("phase,user,cpu\n1,a,1\n2,a,1\n\n1,a,2\n",
                   "line 5, column 'user': 'a' has phase 1 on line 2 already"),
    "user twice, zero before": ("phase,user,cpu\n1,a,1\n01,a,2\n", "line 3, column 'user': 'a' has phase 1 on line 2"),
    "demand in words": ("phase,user,cpu\n1,a,1\n1,b,much\n", "line 3, column 'cpu': 'much' is not a number"),
    "demand missing": ("phase,user,cpu,gpu\n1,a,1,\n1,b,1,1\n", "line 2, column 'gpu': the number is missing"),
    "demand negative": ("phase,user,cpu,gpu\n2,b,1,1\n1,a,1,-1\n",
                        "line 3, column 'gpu': must not be negative, got -1.0"),
    "demand huge": ("phase,user,cpu,gpu\n1,a,1e99,1\n", "line 2, column 'cpu': must be zero or between"),
    "demand infinite": ("phase,user,cpu\n1,a,1e999\n", "line 2, column 'cpu': must be finite"),
    "released above 1": ("phase,user,cpu,released\n1,a,1,1\n2,c,1,1\n1,b,1,1.5\n",
                         "line 4, column 'released': must be between 0 and 1, got 1.5"),
    "released negative": ("phase,user,cpu,released\n1,a,1,-0.5\n", "line 2, column 'released': must be between"),
    "released missing": ("phase,user,cpu,released\n1,a,1,\n", "line 2, column 'released': the number is missing"),
    "released in words": ("phase,user,cpu,released\n1,a,1,all\n", "line 2, column 'released': 'all' is not a number"),
    "short row": ("phase,user,cpu\n1,a\n", "line 2: 2 columns where the header has 3"),
    "column twice": ("phase,user,cpu,cpu\n1,a,1,1\n", "two columns are named 'cpu'"),
    "semicolons": ("phase;user;cpu\n1;a;1\n", "columns are separated by commas"),
    "null bytes": (b"phase,user,cpu\n1,a,1\0\n", "line 2: holds a null byte"),
    "binary": (bytes(range(256)) * 8, "line 1"),
}


@pytest.mark.parametrize("name", list(BAD_FILES))
def test_bad_files(run: Run, table: Callable[..., Path], name: str) -> None:
    content, part = BAD_FILES[name]
    line = refused(run(table(content), "--explain"))
    assert part in line
    assert "phases.csv" in line
    assert len(line) < 500


@pytest.mark.parametrize(("content", "part"), [
    ("phase,user,cpu,max_tasks\n1,a,1,1\n2,b,1,-1\n", "line 3, column 'max_tasks': must not be negative, got -1.0"),
    ("phase,user,cpu,max_tasks\n1,a,1,many\n", "line 2, column 'max_tasks': 'many' is not a number"),
    ("phase,user,cpu,gpu\n1,a,1,-1\n", "line 2, column 'gpu': must not be negative"),
])
def test_bad_files_of_karma(run: Run, table: Callable[..., Path], content: str, part: str) -> None:
    assert part in refused(run(table(content), "--rule", "karma"))


def test_help(run: Run) -> None:
    code, text, err = run("--help")
    assert (code, err) == (0, "")
    assert "examples:" in text
    assert all(f"  {row.name} " in text and row.about in text for row in PHASE_RULES.values())
    for row in PHASE_RULES.values():
        options = set(row.takes) - {*row.needs, "capacities", "released", "max_tasks", "ratio"}
        assert all(f"--{name.replace('_', '-')}" in text for name in options)


# --------------------------------------------------------------------------------------------------- anything at all

FUZZ = settings(deadline=None, derandomize=True, database=None, max_examples=60,
                suppress_health_check=[HealthCheck.function_scoped_fixture])
CELL = st.one_of(st.sampled_from(["", "0", "1", "2", "0.5", "-1", "nan", "inf", "1e80", "x", '"', "1e-80", "a"]),
                 st.text(max_size=3))


@FUZZ
@given(rows=st.lists(st.lists(CELL, min_size=4, max_size=5), max_size=5), rule=st.sampled_from(["cbdrf", "karma"]),
       last=st.sampled_from(["released", "max_tasks", "gpu"]))
def test_any_table_is_computed_or_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, rows: list[list[str]], rule: str, last: str
) -> None:
    path = tmp_path / "fuzz.csv"
    path.write_bytes("\n".join([f"phase,user,cpu,{last}", *map(",".join, rows)]).encode("utf-8", "surrogatepass"))
    capsys.readouterr()
    code = cli.main(["phases", str(path), "--rule", rule, "--explain", "--verify"])
    out, err = capsys.readouterr()
    assert code in (0, 2)
    assert "Traceback" not in err
    assert code == 0 or (out == "" and err.splitlines()[-1].startswith("fairbook: error: "))


@FUZZ
@given(data=st.data())
def test_good_tables_are_certified(capsys: pytest.CaptureFixture[str], tmp_path: Path, data: st.DataObject) -> None:
    keys = data.draw(st.lists(st.tuples(st.integers(0, 4), st.sampled_from("abc")), unique=True, min_size=1))
    number = st.sampled_from(["0", "1", "0.5", "3"])
    eta = st.sampled_from(["0", "0.5", "0.75", "1"])
    lines = [f"{t},{user},{data.draw(number)},{data.draw(number)},{data.draw(eta)}" for t, user in keys]
    path = tmp_path / "fuzz.csv"
    path.write_text("\n".join(["phase,user,cpu,gpu,released", *lines]))
    capsys.readouterr()
    options = ["--held", data.draw(st.sampled_from(["returns", "stays"])), "--grant",
               data.draw(st.sampled_from(["scaled", "weighted", "capped"]))]
    rule = ["--rule", "karma"] if data.draw(st.booleans()) else options
    assert cli.main(["phases", str(path), *rule, "--verify", "--explain"]) == 0, capsys.readouterr().err
