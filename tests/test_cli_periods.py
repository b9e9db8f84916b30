"""``fairbook periods``: tables of demands, machines and parts in, tables of tasks out, and how it refuses."""

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
from fairbook.cli import periods as _periods
from tests.commands import Run, Write, inputs_are_kept, refused, runner, writer

ROOT = Path(__file__).resolve().parents[1]
# the instance of the paper's worked example, and a third period in which nobody submits anything
DEMANDS = "period,user,tasks,cpu,memory\n1,A,15,2,1\n1,B,70,1,1\n2,A,12,5,5\n2,B,4,20,10\n3,A,0,1,1\n"
MACHINES = "machine,user,cpu,memory\nleft,A,50,50\nright,B,50,50\n"
ARRAYS = (
    np.array([[[2, 1], [1, 1]], [[5, 5], [20, 10]], [[1, 1], [0, 0]]], dtype=float),
    np.array([[15, 70], [12, 4], [0, 0]], dtype=float),
    np.full((2, 2), 50.0),
    np.eye(2),
)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run ``fairbook periods``."""
    return runner(capsys, "periods")


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a table."""
    return writer(tmp_path, DEMANDS, "demands.csv")


@pytest.fixture
def files(write: Write) -> Callable[..., list[Any]]:
    """Write both tables, and the table of parts where there is one; give the arguments."""

    def all_of(demands: str | bytes = DEMANDS, machines: str = MACHINES, parts: str | None = None) -> list[Any]:
        arguments = [write(demands), "--machines", write(machines, "machines.csv")]
        return arguments if parts is None else [*arguments, "--contributions", write(parts, "parts.csv")]

    return all_of


def read(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text), index_col=["period", "user"])


def expected(result: fb.TvDrfRun, periods: Any = (1, 2, 3), users: Any = ("A", "B")) -> pd.DataFrame:
    frame = result.to_frame()
    frame.index = pd.MultiIndex.from_product([list(periods), list(users)], names=["period", "user"])
    # without names the library calls resources by their position
    return frame.assign(bottleneck=frame["bottleneck"].replace({0: "cpu", 1: "memory"}))


def same(text: str, frame: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(read(text), frame, check_exact=True, check_dtype=False)


# ------------------------------------------------------------------------------------------------------- results


@pytest.mark.parametrize("method", ["heuristic", "lexicographic"])
@pytest.mark.parametrize("alone", ["bundles", "whole_bundles", "resources"])
@pytest.mark.parametrize("unserved", ["expires", "waits"])
def test_it_gives_what_the_library_gives(
    run: Run, files: Callable[..., list[Any]], method: Any, alone: Any, unserved: Any
) -> None:
    flags = ("--method", method, "--alone", alone, "--unserved", unserved)
    library = fb.tv_drf(*ARRAYS, method=method, alone=alone, unserved=unserved)
    code, out, _ = run(*files(), *flags, "--verify", "--output", "-")
    assert code == 0
    same(out, expected(library))
    _, out, _ = run(*files(), *flags, "--no-memory", "--output", "-")
    same(out, expected(fb.tv_drf(*ARRAYS, method=method, alone=alone, unserved=unserved, memory=False)))


def test_the_worked_example_is_printed(run: Run, files: Callable[..., list[Any]]) -> None:
    code, out, err = run(*files(), "--alone", "resources", "--verify")
    assert code == 0
    assert err == (
        "fairbook: verified: no constraint is violated, and queues, shares and coefficients follow from the tasks\n"
    )
    lines = [line.split() for line in out.splitlines()]
    library = fb.tv_drf(*ARRAYS, alone="resources")
    assert ["2", "B", "2", f"{library.cumulative_shares[1, 1]:.6g}", "1", "2", "cpu"] in lines
    use, alone = library.use.mean(axis=0), library.utilisation_alone.mean(axis=0)
    assert ["cpu", "100", f"{use[0]:.6g}", f"{use[0] / 100:.6g}", f"{alone[0]:.6g}"] in lines


def test_a_coefficient_below_one_is_told(run: Run, files: Callable[..., list[Any]]) -> None:
    demands = "period,user,tasks,cpu\n4,a,1,2\n4,b,1,2\n5,a,1,1\n"
    _, _, err = run(*files(demands, "cpu\n3\n"))
    assert err.splitlines()[-1] == (
        "fairbook: after 2 of 2 period(s), the first of them 4, someone has used less than it would have alone "
        "(sharing_coefficient below 1)"
    )
    _, _, err = run(*files(demands, "cpu\n4\n"))
    assert "below 1" not in err


def test_rows_may_stand_in_any_order_and_form(
    run: Run, files: Callable[..., list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    header, *rows = DEMANDS.splitlines()
    wanted = run(*files(), "--output", "-")
    assert wanted[0] == 0
    mirrored = "\n".join(",".join(line.split(",")[::-1]) for line in DEMANDS.splitlines())
    for content in (
        "\n".join([header, rows[0], "", *rows[1:]]),
        "\ufeff" + DEMANDS.replace("\n", "\r\n"),
        mirrored,
        DEMANDS.replace("1,A", "01, A "),
        gzip.compress(DEMANDS.encode(), mtime=0),
    ):
        code, out, err = run(*files(content), "--output", "-")
        assert (code, err) == (0, "")
        pd.testing.assert_frame_equal(read(out), read(wanted[1]))
    shuffled = read(run(*files("\n".join([header, *rows[::-1]])), "--output", "-")[1])
    assert shuffled["tasks"].sum() == read(wanted[1])["tasks"].sum()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(DEMANDS.encode())))
    assert run("-", *files()[1:], "--output", "-") == wanted


def test_a_queue_is_served_in_periods_without_a_line(run: Run, files: Callable[..., list[Any]]) -> None:
    demands = "period,user,tasks,cpu\n7,a,5,1\n10,b,1,1\n"
    machines = "user,cpu\na,2\nb,1\n"
    _, out, _ = run(*files(demands, machines), "--unserved", "waits", "--output", "-")
    frame = read(out)
    assert list(frame.index) == [(t, user) for t in (7, 8, 9, 10) for user in "ab"]
    assert frame["tasks"].tolist() == [3, 0, 2, 0, 0, 0, 0, 1]
    _, out, _ = run(*files(demands, machines), "--output", "-")
    assert read(out)["tasks"].tolist() == [3, 0, 0, 0, 0, 0, 0, 1]


def test_tasks_without_bound(run: Run, files: Callable[..., list[Any]], tmp_path: Path) -> None:
    demands = "period,user,tasks,cpu\n1,a,,1\n1,b,inf,1\n"
    code, out, _ = run(*files(demands, "user,cpu\na,3\nb,1\n"), "--output", tmp_path / "out.json")
    assert code == 0
    written = json.loads((tmp_path / "out.json").read_text())["periods"]
    assert [row["tasks"] for row in written] == [3, 1]
    assert [row["unserved"] for row in written] == [None, None]
    assert "inf" in out
    line = refused(run(*files(demands, "cpu\n3\n"), "--unserved", "waits"))
    assert "demands.csv, line 2, column 'tasks': must be finite where unserved tasks wait" in line


# --------------------------------------------------------------------------------------- who brought which machine


def test_machines_by_the_number(run: Run, files: Callable[..., list[Any]]) -> None:
    short = "user,count,cpu,memory\nA,3,10,20\nB,1,70,40\n"
    long = "user,cpu,memory\nA,10,20\nA,10,20\nA,10,20\nB,70,40\n"
    assert run(*files(machines=short), "--output", "-") == run(*files(machines=long), "--output", "-")
    contributions = np.array([[1, 1, 1, 0], [0, 0, 0, 1]])
    machines = [[10, 20]] * 3 + [[70, 40]]
    same(run(*files(machines=short), "--output", "-")[1], expected(fb.tv_drf(*ARRAYS[:2], machines, contributions)))


def test_machines_that_several_brought(run: Run, files: Callable[..., list[Any]]) -> None:
    anonymous = "machine,cpu,memory\nleft,50,50\nright,50,50\n"
    parts = "machine,user,part\nleft,A,0.25\nleft,B,0.75\nright,B,1\n"
    code, out, err = run(*files(DEMANDS, anonymous, parts), "--output", "-")
    assert (code, err) == (0, "")
    same(out, expected(fb.tv_drf(*ARRAYS[:3], [[0.25, 0], [0.75, 1]])))
    _, out, _ = run(*files(DEMANDS, anonymous, "user,part\nA,0.3\nB,0.7\n"), "--output", "-")
    same(out, expected(fb.tv_drf(*ARRAYS[:3], [0.3, 0.7])))
    _, out, err = run(*files(DEMANDS, anonymous), "--output", "-")
    same(out, expected(fb.tv_drf(*ARRAYS[:3], [0.5, 0.5])))
    assert "everyone is taken to have brought the same part" in err


def test_who_brings_and_submits_nothing(run: Run, files: Callable[..., list[Any]], tmp_path: Path) -> None:
    machines = MACHINES + "third,C,50,50\n"
    code, out, _ = run(*files(machines=machines), "--output", tmp_path / "out.json", "--explain", "C:1")
    assert code == 0
    assert out.splitlines()[-1] == "C has no tasks in period 1."
    content = json.loads((tmp_path / "out.json").read_text())
    assert content["weights"] == pytest.approx({"A": 1 / 3, "B": 1 / 3, "C": 1 / 3})
    demands, tasks = np.zeros((3, 3, 2)), np.zeros((3, 3))
    demands[:, :2], tasks[:, :2] = ARRAYS[:2]
    library = fb.tv_drf(demands, tasks, [[50, 50]] * 3, np.eye(3))
    assert [row["tasks"] for row in content["periods"]] == library.tasks.ravel().tolist()


def test_columns_that_are_left_out(run: Run, files: Callable[..., list[Any]]) -> None:
    demands = DEMANDS.replace("\n", ",x\n").replace("memory,x", "memory,note")
    machines = MACHINES.replace("\n", ",5\n").replace("memory,5", "memory,rack")
    code, out, err = run(*files(demands, machines), "--output", "-")
    assert code == 0
    assert "'note', which is left out" in err
    assert "machines.csv: no task needs column 'rack', which is left out" in err
    same(out, expected(fb.tv_drf(*ARRAYS)))


# ------------------------------------------------------------------------------------------------ explain, output


def test_explanations_tell_the_period_of_the_file(run: Run, files: Callable[..., list[Any]]) -> None:
    later = DEMANDS.replace("\n1,", "\n2011,").replace("\n2,", "\n2012,").replace("\n3,", "\n2013,")
    _, out, _ = run(*files(later), "--explain", "B:2012", "A:2013")
    first, second = out.splitlines()[-2:]
    assert first.startswith("B runs 2 tasks in period 2012: ")
    assert second == "A has no tasks in period 2013."
    _, out, _ = run(*files(later), "--explain", "B")
    assert [line.split(":")[0].split(".")[0] for line in out.splitlines()[-3:]] == [
        "B runs 70 tasks in period 2011", "B runs 2 tasks in period 2012", "B has no tasks in period 2013"]
    _, out, _ = run(*files(later), "--explain", "B:2012", "--output", "-")
    assert pd.read_csv(io.StringIO(out))["explanation"].notna().tolist() == [i == 3 for i in range(6)]


def test_output_as_csv_and_json(run: Run, files: Callable[..., list[Any]], tmp_path: Path) -> None:
    arguments = files()
    code, out, _ = run(*arguments, "--output", tmp_path / "out.csv")
    assert code == 0
    assert "utilisation_alone" in out
    assert (tmp_path / "out.csv").read_text() == run(*arguments, "--output", "-")[1]
    assert run(*arguments, "--unserved", "waits", "--verify", "--output", tmp_path / "out.json")[0] == 0
    content = json.loads((tmp_path / "out.json").read_text())
    assert content["mechanism"] == "tv_drf"
    assert content["terms"] == {"method": "heuristic", "alone": "bundles", "unserved": "waits", "memory": True}
    assert content["weights"] == {"A": 0.5, "B": 0.5}
    assert content["violations"] == []
    assert [row["resource"] for row in content["resources"]] == ["cpu", "memory"]
    assert [(row["period"], row["user"]) for row in content["periods"]][:3] == [(1, "A"), (1, "B"), (2, "A")]
    inputs_are_kept(run, arguments, (0, 2))
    assert ".csv or .json" in refused(run(*arguments, "--output", "out.txt"))


def test_placements(run: Run, files: Callable[..., list[Any]], tmp_path: Path) -> None:
    target = tmp_path / "placement.csv"
    machines = "machine,user,count,cpu,memory\nleft,A,2,25,25\nright,B,1,50,50\n"
    code, out, _ = run(*files(machines=machines), "--placement", target)
    assert code == 0
    assert out == run(*files(machines=machines))[1]
    frame = pd.read_csv(target)
    assert list(frame.columns) == ["period", "user", "machine", "number", "tasks"]
    pool = np.array([[25.0, 25.0], [25.0, 25.0], [50.0, 50.0]])
    library = fb.tv_drf(*ARRAYS[:2], pool, np.array([[1.0, 1, 0], [0, 0, 1]]), placement=True)
    assert library.placement is not None
    placed = np.zeros_like(library.placement)
    places = {("left", 1): 0, ("left", 2): 1, ("right", 1): 2}
    for row in frame.itertuples():
        placed[row.period - 1, "AB".index(row.user), places[row.machine, row.number]] += row.tasks
    np.testing.assert_array_equal(placed, library.placement)
    assert (frame["tasks"] > 0).all()

    assert run(*files(machines="user,cpu,memory\nA,50,50\nB,50,50\n"), "--placement", target)[0] == 0
    frame = pd.read_csv(target)
    assert list(frame.columns) == ["period", "user", "machine", "tasks"]
    assert set(frame["machine"]) == {1, 2}  # without names their lines
    assert frame.groupby(["period", "user"])["tasks"].sum().to_dict() == {
        (1, "A"): 15, (1, "B"): 70, (2, "A"): 12, (2, "B"): 2}


def test_wrong_placements(
    run: Run, files: Callable[..., list[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments, target = files(), tmp_path / "placement.csv"
    line = refused(run(*arguments, "--placement", target, "--method", "lexicographic"))
    assert "--placement goes with --method heuristic" in line
    for other in ("placement.txt", "-"):
        assert "--placement must end in .csv" in refused(run(*arguments, "--placement", other))
    assert "must not be the same file" in refused(run(*arguments, "--placement", target, "--output", target))
    inputs_are_kept(run, arguments, (0, 2), "--placement")
    monkeypatch.setattr(_periods, "_MOST_PLACES", 11)
    line = refused(run(*arguments, "--placement", target))
    assert "3 periods times 2 users times 2 machines must not pass 11" in line
    assert not target.exists()


def test_failed_verification_is_told(
    run: Run, files: Callable[..., list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fb.TvDrfRun, "violations", lambda self: ["something is wrong in period 1"])
    code, _, err = run(*files(), "--verify")
    assert code == 1
    assert err.endswith("fairbook: violated: something is wrong in period 2\n")  # the file counts from 1


def test_the_shipped_example(run: Run) -> None:
    """Its first periods show a loan and its return, which is what the example is for."""
    arguments = (ROOT / "data/example_periods.csv", "--machines", ROOT / "data/example_machines.csv")
    for option in ((), ("--unserved", "waits"), ("--no-memory",)):
        code, out, _ = run(*arguments, *option, "--verify", "--output", "-")
        assert code == 0
        frame = read(out)
        assert frame.loc[(1, "ann"), "sharing_coefficient"] > 1  # used more than it brought
    shared, forgetful = (read(run(*arguments, *option, "--output", "-")[1]) for option in ((), ("--no-memory",)))
    assert shared.loc[(2, "ann"), "tasks"] < forgetful.loc[(2, "ann"), "tasks"]
    assert shared.loc[(2, "bob"), "tasks"] > forgetful.loc[(2, "bob"), "tasks"]


# ------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(("arguments", "part"), [
    ([], "demands.csv"),
    (["d.csv"], "--machines"),
    (["d.csv", "--machines", "m.csv", "--method", "lp"], "invalid choice"),
    (["d.csv", "--machines", "m.csv", "--alone", "none"], "invalid choice"),
    (["d.csv", "--machines", "m.csv", "--unserved", "stays"], "invalid choice"),
    (["d.csv", "--machines", "m.csv"], "d.csv: No such file"),
    (["-", "--machines", "-"], "only one file can be -"),
])
def test_wrong_arguments(run: Run, arguments: list[str], part: str) -> None:
    assert part in refused(run(*arguments))


@pytest.mark.parametrize(("arguments", "part"), [
    (["--explain", "dan"], "--explain 'dan' is no user of"),
    (["--explain", "A:4"], "demands.csv has no period '4'"),
    (["--explain", "A:x"], "has no period 'x'"),
    (["--contributions", "none.csv"], "names in column 'user' who brought a machine"),
])
def test_wrong_options(run: Run, files: Callable[..., list[Any]], arguments: list[str], part: str) -> None:
    assert part in refused(run(*files(), *arguments))


BAD_DEMANDS = {
    "empty": ("", "demands.csv: is empty"),
    "header only": ("period,user,tasks,cpu\n", "demands.csv: holds no user, only a header"),
    "no period": ("user,tasks,cpu\na,1,1\n", "has no column 'period', only 'user', 'tasks', 'cpu'"),
    "no tasks": ("period,user,cpu\n1,a,1\n", "has no column 'tasks'"),
    "no demands": ("period,user,tasks\n1,a,1\n", "no column of demands"),
    "period in words": ("period,user,tasks,cpu\nMay,a,1,1\n", "line 2, column 'period': 'May' is not the whole number"),
    "user twice": ("period,user,tasks,cpu\n1,a,1,1\n01,a,1,1\n", "line 3, column 'user': 'a' has period 1 on line 2"),
    "half a task": ("period,user,tasks,cpu\n1,a,1,1\n3,a,1.5,1\n", "line 3, column 'tasks': must be whole"),
    "tasks negative": ("period,user,tasks,cpu\n1,a,-1,1\n", "line 2, column 'tasks': must not be negative"),
    "tasks in words": ("period,user,tasks,cpu\n1,a,few,1\n", "line 2, column 'tasks': 'few' is not a number"),
    "demand negative": ("period,user,tasks,cpu,gpu\n1,b,1,1,1\n1,a,1,1,-1\n", "line 3, column 'gpu': must not be neg"),
    "demand infinite": ("period,user,tasks,cpu\n1,a,1,inf\n", "line 2, column 'cpu': 'inf' is not a number"),
    "demand missing": ("period,user,tasks,cpu\n1,a,1,\n", "line 2, column 'cpu': the number is missing"),
    "demand of nothing": ("period,user,tasks,cpu\n1,a,0,0\n1,b,1,0\n", "line 3, column 'tasks': tasks are submitted"),
    "resource that no machine has": ("period,user,tasks,cpu,fpga\n1,a,1,1,1\n", "machines.csv: has no column 'fpga'"),
    "periods that are seconds": ("period,user,tasks,cpu\n1,a,1,1\n900000000,a,1,1\n", "are too many to run"),
    "too many periods": ("period,user,tasks,cpu\n1,a,1,1\n6000000,b,1,1\n", "6000000 periods (every one from 1 to"),
    "an output": ("period,user,tasks,cpu,unserved\n1,a,1,1,0\n", "would be taken for a resource"),
    "a column of machines": ("period,user,tasks,cpu,machine\n1,a,1,1,1\n", "column 'machine' would be taken for a res"),
    "how many machines": ("period,user,tasks,cpu,Count\n1,a,1,1,1\n", "is it meant as 'count'?"),
    "a part": ("period,user,tasks,cpu,part\n1,a,1,1,0.5\n", "column 'part' would be taken for a resource"),
    "tasks that overflow": ("period,user,tasks,cpu\n1,a,1,1\n1,b,1e400,1\n", "line 3, column 'tasks': must be finite"),
    "demand that overflows": ("period,user,tasks,cpu\n1,a,1,1e400\n", "line 2, column 'cpu': must be finite"),
    "column in capitals": ("period,user,tasks,Tasks,cpu\n1,a,1,1,1\n", "'Tasks' would be taken for a resource"),
    "semicolons": ("period;user;tasks;cpu\n1;a;1;1\n", "columns are separated by commas"),
}


@pytest.mark.parametrize("name", list(BAD_DEMANDS))
def test_bad_demands(run: Run, files: Callable[..., list[Any]], name: str) -> None:
    content, part = BAD_DEMANDS[name]
    line = refused(run(*files(content, "user,cpu,gpu\na,5,5\nb,5,5\n"), "--explain"))
    assert part in line
    assert len(line) < 600


BAD_MACHINES = {
    "empty": ("", "machines.csv: is empty"),
    "header only": ("cpu,memory\n", "machines.csv: holds no machine, only a header"),
    "resource missing": ("user,cpu\nA,1\nB,1\n", "machines.csv: has no column 'memory', only 'user', 'cpu'"),
    "capacity missing": ("user,cpu,memory\nA,1,\nB,1,1\n", "machines.csv, line 2, column 'memory': the number is"),
    "capacity that overflows": ("user,cpu,memory\nA,1,1e400\nB,1,1\n", "line 2, column 'memory': must be finite"),
    "capacity negative": ("user,cpu,memory\nA,1,1\nB,1,-1\n", "machines.csv, line 3, column 'memory': must not be neg"),
    "negative, by the number": ("count,user,cpu,memory\n5,A,1,1\n5,B,1,-1\n", "line 3, column 'memory': must not be"),
    "none of a resource": ("user,cpu,memory\nA,1,0\nB,1,0\n", "machines.csv, column 'memory': no machine has any"),
    "nothing at all": ("user,cpu,memory\nA,1,1\nB,0,0\n", "machines.csv, line 3"),
    "owner missing": ("user,cpu,memory\nA,1,1\n,1,1\n", "machines.csv, line 3, column 'user': '' is not a name"),
    "machine twice": ("machine,user,cpu,memory\nm,A,1,1\n\nm,B,1,1\n", "line 4, column 'machine': 'm' is on line 2 al"),
    "machine without name": ("machine,user,cpu,memory\n,A,1,1\n", "line 2, column 'machine': '' is not a name"),
    "count zero": ("count,user,cpu,memory\n0,A,1,1\n", "line 2, column 'count': '0' is not a number of machines"),
    "count of halves": ("count,user,cpu,memory\n0.5,A,1,1\n", "line 2, column 'count': '0.5' is not a number"),
    "count huge": ("count,user,cpu,memory\n9,A,1,1\n999999,B,1,1\n", "line 3, column 'count': more than 100000"),
    "who brought nothing": ("user,cpu,memory\nA,1,1\n", "'B' has tasks in"),
}


@pytest.mark.parametrize("name", list(BAD_MACHINES))
def test_bad_machines(run: Run, files: Callable[..., list[Any]], name: str) -> None:
    content, part = BAD_MACHINES[name]
    assert part in refused(run(*files(machines=content)))


@pytest.mark.parametrize(("content", "part"), [
    ("", "parts.csv: is empty"),
    ("user,part\n", "parts.csv: holds no part, only a header"),
    ("user,share\nA,1\n", "parts.csv: has no column 'part'"),
    ("user,part\nA,0.3\nB,0.6\n", "parts.csv: the parts of every machine must sum to 1, got 0.9"),
    ("machine,user,part\nleft,A,1\nright,B,0.5\n", "the parts of machine 'right' must sum to 1, got 0.5"),
    ("machine,user,part\nleft,A,1\n", "the parts of machine 'right' must sum to 1, got 0"),
    ("machine,user,part\nmiddle,A,1\n", "parts.csv, line 2, column 'machine': 'middle' is no machine of"),
    ("user,part\nA,1.5\nB,-0.5\n", "parts.csv, line 2, column 'part': must be between 0 and 1, got 1.5"),
    ("user,part\nA,half\n", "parts.csv, line 2, column 'part': 'half' is not a number"),
    ("user,part\nA,0.5\nA,0.5\n", "parts.csv, line 3, column 'user': the part that 'A' brought is there already"),
    ("user,part\nA,0\nB,1\n", "'A' has tasks in"),
    ("user,part\n,1\n", "parts.csv, line 2, column 'user': '' is not a name"),
])
def test_bad_parts(run: Run, files: Callable[..., list[Any]], content: str, part: str) -> None:
    anonymous = "machine,cpu,memory\nleft,50,50\nright,50,50\n"
    assert part in refused(run(*files(DEMANDS, anonymous, content)))


def test_the_fluid_optimum_needs_one_pool(run: Run, files: Callable[..., list[Any]]) -> None:
    machines = "user,cpu,memory\nA,2,1\nB,1,2\n"
    line = refused(run(*files(machines=machines), "--method", "lexicographic"))
    assert "--method lexicographic needs machines of one shape" in line
    assert "machines.csv" in line


def test_help(run: Run) -> None:
    code, text, err = run("--help")
    assert (code, err) == (0, "")
    assert "examples:" in text
    columns = fb.tv_drf(*ARRAYS).to_frame().columns
    told = [*columns, "mean_use", "utilisation", "utilisation_alone"]
    assert all(f"\n  {column} " in text for column in told)


# --------------------------------------------------------------------------------------------------- anything at all

FUZZ = settings(deadline=None, derandomize=True, database=None, max_examples=60,
                suppress_health_check=[HealthCheck.function_scoped_fixture])
CELL = st.one_of(st.sampled_from(["", "0", "1", "2", "0.5", "-1", "nan", "inf", "1e80", "x", '"', "1e-80", "a"]),
                 st.text(max_size=3))
LINES = st.lists(st.lists(CELL, min_size=3, max_size=4), max_size=4)


@FUZZ
@given(rows=LINES, kinds=LINES, parts=LINES, three=st.booleans())
def test_any_tables_are_computed_or_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, rows: list[list[str]], kinds: list[list[str]],
    parts: list[list[str]], three: bool,
) -> None:
    for name, header, lines in (("d", "period,user,tasks,cpu", [*rows, ["1", "a", "2", "1"]]),
                                ("m", "machine,cpu,count" if three else "machine,user,cpu", kinds),
                                ("p", "machine,user,part", parts)):
        text = "\n".join([header, *map(",".join, lines)])
        (tmp_path / f"{name}.csv").write_bytes(text.encode("utf-8", "surrogatepass"))
    capsys.readouterr()
    code = cli.main(["periods", str(tmp_path / "d.csv"), "--machines", str(tmp_path / "m.csv"), "--explain", "--verify",
                     *(["--contributions", str(tmp_path / "p.csv")] if three else [])])
    out, err = capsys.readouterr()
    assert code in (0, 2)
    assert "Traceback" not in err
    assert code == 0 or (out == "" and err.splitlines()[-1].startswith("fairbook: error: "))


@FUZZ
@given(data=st.data())
def test_good_tables_hold_together(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, data: st.DataObject
) -> None:
    keys = data.draw(st.lists(st.tuples(st.integers(0, 4), st.sampled_from("abc")), unique=True, min_size=1))
    number = st.sampled_from(["1", "0.5", "3"])
    lines = [f"{t},{user},{data.draw(st.integers(0, 9))},{data.draw(number)},{data.draw(number)}" for t, user in keys]
    (tmp_path / "d.csv").write_text("\n".join(["period,user,tasks,cpu,gpu", *lines]))
    (tmp_path / "m.csv").write_text("user,count,cpu,gpu\na,1,4,4\nb,2,2,2\nc,1,1,1\n")
    options = ["--unserved", data.draw(st.sampled_from(["expires", "waits"])),
               "--method", data.draw(st.sampled_from(["heuristic", "lexicographic"])),
               "--alone", data.draw(st.sampled_from(["bundles", "whole_bundles", "resources"]))]
    capsys.readouterr()
    arguments = [str(tmp_path / "d.csv"), "--machines", str(tmp_path / "m.csv"), *options, "--verify", "--explain"]
    assert cli.main(["periods", *arguments]) == 0, capsys.readouterr().err


def test_what_is_too_large_is_refused_before_it_is_made(
    run: Run, files: Callable[..., list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_periods, "MOST_CELLS", 12)
    assert run(*files())[0] == 0  # 3 periods, 2 users, 2 resources
    monkeypatch.setattr(_periods, "MOST_CELLS", 11)
    assert "must not pass 11" in refused(run(*files()))
