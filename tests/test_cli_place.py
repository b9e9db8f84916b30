"""``fairbook place``: thin over the library, errors in one line, nothing written by halves."""

from __future__ import annotations

import inspect
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fairbook as fb
from fairbook import cli
from fairbook.cli import place
from tests.commands import Run, inputs_are_kept, refused, runner

ROOT = Path(__file__).resolve().parents[1]
USERS = "user,cpu,memory,max_tasks\nann,1,4,6\nbob,3,1,\n"
MACHINES = "machine,count,memory,cpu\nsmall,2,32,8\nlarge,1,64,32\n"
DEMANDS = pd.DataFrame({"cpu": [1.0, 3.0], "memory": [4.0, 1.0]}, ["ann", "bob"])
SIZES = pd.DataFrame({"cpu": [8.0, 32.0], "memory": [32.0, 64.0]}, ["small", "large"])
LIBRARY = fb.Instance(DEMANDS, machines=SIZES, machine_counts=[2, 1], max_tasks=[6, float("inf")])


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys, "place")


@pytest.fixture
def files(tmp_path: Path) -> Callable[..., list[Any]]:
    def write(users: str = USERS, machines: str = MACHINES) -> list[Any]:
        (tmp_path / "users.csv").write_text(users)
        (tmp_path / "machines.csv").write_text(machines)
        return [tmp_path / "users.csv", "--machines", tmp_path / "machines.csv"]

    return write


def read(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text))


RULES: list[tuple[list[str], Callable[[], Any]]] = [
    ([], lambda: fb.gdrf(LIBRARY)),
    (["--match", "same", "--least", "shares", "--machine-type", "amount", "--choice", "fairness_after", "--queue",
      "one_by_one", "--seed", "3"],
     lambda: fb.gdrf(LIBRARY, seed=3, match="same", least="shares", machine_type="amount", choice="fairness_after",
                     queue="one_by_one")),
    (["--rule", "drfh"], lambda: fb.drfh(LIBRARY)),
    (["--rule", "drfh", "--method", "first_fit"], lambda: fb.drfh(LIBRARY, method="first_fit")),
    (["--rule", "drfh", "--method", "fluid"], lambda: fb.drfh(LIBRARY, method="fluid")),
    (["--rule", "mdrf", "--reading", "type", "--seed", "5"], lambda: fb.mdrf(LIBRARY, seed=5, reading="type")),
    (["--rule", "per_server_drf"], lambda: fb.per_server_drf(LIBRARY)),
]


@pytest.mark.parametrize(("options", "library"), RULES)
def test_what_is_written_is_what_the_library_says(
    run: Run, files: Callable[..., list[Any]], tmp_path: Path, options: list[str], library: Callable[[], Any]
) -> None:
    placed = library()
    code, out, err = run(*files(), *options, "--output", "-", "--verify")
    assert code == 0
    assert "verified" in err
    told = read(out).set_index("user")
    assert told["tasks"].to_list() == pytest.approx(placed.tasks.tolist(), rel=1e-12)
    assert told["dominant_share"].to_list() == pytest.approx(placed.dominant_shares.tolist(), rel=1e-12)
    code, text, _ = run(*files(), *options, "--output", tmp_path / "all.json")
    assert code == 0
    assert "ann" in text
    whole = json.loads((tmp_path / "all.json").read_text())
    assert whole["mechanism"] == placed.mechanism
    assert [row["tasks"] for row in whole["users"]] == told["tasks"].to_list()
    assert sum(row["tasks"] for row in whole["machines"]) == pytest.approx(placed.tasks.sum(), rel=1e-12)
    assert [row["utilisation"] for row in whole["resources"]] == pytest.approx(placed.utilisation.tolist(), rel=1e-12)
    assert ("states" in whole) == isinstance(placed, fb.Placement)


def test_tables(run: Run, files: Callable[..., list[Any]]) -> None:
    placed = fb.gdrf(LIBRARY)
    code, out, _ = run(*files(), "--table", "machines", "--output", "-")
    assert code == 0
    pd.testing.assert_frame_equal(read(out).set_index("class"), placed.machine_frame())
    code, out, _ = run(*files(), "--table", "states", "--output", "-")
    states = read(out)
    assert states["machines"].to_list() == placed.states.machines.tolist()
    assert states["tasks"].to_list() == placed.states.tasks.sum(axis=1).tolist()
    first = dict(part.split()[::-1] for part in states["contents"][0].split(", "))
    assert [int(first.get(user, 0)) for user in ("ann", "bob")] == placed.states.tasks[0].tolist()


def test_weights(run: Run, files: Callable[..., list[Any]]) -> None:
    machines = "cpu,memory\n8,8\n"
    for rule in ("drfh", "per_server_drf"):
        for name, options in (("weight", []), ("entitlement", ["--weights", "entitlement"])):
            users = f"user,cpu,memory,{name}\nann,1,1,3\nbob,1,1,1\n"
            code, out, _ = run(*files(users, machines), "--rule", rule, *options, "--output", "-")
            assert code == 0
            assert read(out)["tasks"].to_list() == [6, 2]
    code, _, err = run(*files("user,cpu,weight\nann,1,3\n", "cpu\n4\n"))
    assert code == 0
    assert "gdrf does not use column 'weight'" in err


def test_explanations(run: Run, files: Callable[..., list[Any]]) -> None:
    code, out, _ = run(*files(), "--explain")
    assert code == 0
    placed = fb.gdrf(LIBRARY)
    assert out.endswith("\n".join(placed.explain(user) for user in ("ann", "bob")) + "\n")
    code, out, _ = run(*files(), "--explain", "bob", "--output", "-")
    assert read(out).set_index("user")["explanation"].fillna("").to_list() == ["", placed.explain("bob")]
    assert "'dan'" in refused(run(*files(), "--explain", "dan"))


def test_a_class_that_lacks_a_resource_is_null_in_json(
    run: Run, files: Callable[..., list[Any]], tmp_path: Path
) -> None:
    target = tmp_path / "out.json"
    assert run(*files("cpu,gpu\n1,0\n1,1\n", "cpu,gpu\n4,0\n4,4\n"), "--output", target)[0] == 0
    lacks, has = (row["utilisation_gpu"] for row in json.loads(target.read_text())["machines"])
    assert lacks is None
    assert has > 0


def test_failed_verification_is_told(
    run: Run, files: Callable[..., list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fb.Placement, "violations", lambda self: ["machine 0 is on fire"])
    code, _, err = run(*files(), "--verify")
    assert code == 1
    assert err.endswith("fairbook: violated: machine 0 is on fire\n")


def test_progress_goes_to_stderr(run: Run, files: Callable[..., list[Any]]) -> None:
    quiet = run(*files(), "--output", "-")
    loud = run(*files(), "--output", "-", "--progress")
    assert quiet[:2] == loud[:2]
    assert quiet[2] == ""
    assert "tasks" in loud[2]


def test_an_interrupt_writes_nothing(
    run: Run, files: Callable[..., list[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "placed.csv"
    target.write_text("before")

    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    arguments = files()
    monkeypatch.setattr(fb, "gdrf", stop)
    code, out, err = run(*arguments, "--output", target)
    assert (code, out, err) == (130, "", "fairbook: interrupted\n")
    assert target.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["machines.csv", "placed.csv", "users.csv"]


def test_stdin(run: Run, files: Callable[..., list[Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = files()
    expected = run(*arguments, "--output", "-")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(USERS.encode())))
    assert run("-", *arguments[1:], "--output", "-") == expected


def test_the_shipped_example(run: Run) -> None:
    code, out, _ = run(ROOT / "data/example_tasks.csv", "--machines", ROOT / "data/example_machines.csv", "--verify")
    assert code == 0
    assert "utilisation" in out


def test_the_options_are_those_of_the_library() -> None:
    for rule, takes in place.TAKES.items():
        instance = {"demands", "machines", "machine_counts", "max_tasks", "progress"}
        assert set(takes) == set(inspect.signature(getattr(fb, rule)).parameters) - instance


# ------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(("arguments", "part"), [
    ([], "users.csv"),
    (["u.csv"], "--machines"),
    (["u.csv", "--machines", "m.csv"], "u.csv: No such file"),
    (["u.csv", "--machines", "m.csv", "--rule", "fifo"], "invalid choice"),
    (["u.csv", "--machines", "m.csv", "--match", "best"], "invalid choice"),
    (["u.csv", "--machines", "m.csv", "--seed", "-1"], "whole number"),
    (["-", "--machines", "-"], "only one file can be -"),
    (["u.csv", "--machines", "m.csv", "--rule", "drfh", "--match", "any"], "--match belongs to gdrf, not to drfh"),
    (["u.csv", "--machines", "m.csv", "--method", "fluid"], "--method belongs to drfh, not to gdrf"),
    (["u.csv", "--machines", "m.csv", "--rule", "drfh", "--seed", "1"], "--seed belongs to gdrf, mdrf"),
    (["u.csv", "--machines", "m.csv", "--rule", "mdrf", "--weights", "w"], "--weights belongs to drfh, per_server_drf"),
    (["u.csv", "--machines", "m.csv", "--rule", "drfh", "--method", "fluid", "--table", "states"], "--table states"),
    (["u.csv", "--machines", "m.csv", "--table", "states", "--explain"], "--explain goes with --table users"),
    (["u.csv", "--machines", "m.csv", "--output", "placed.txt"], "--output must end in"),
])
def test_wrong_arguments(run: Run, arguments: list[str], part: str) -> None:
    assert part in refused(run(*arguments))


BAD: dict[str, tuple[str, str, str]] = {
    "empty users": ("", MACHINES, "users.csv: is empty"),
    "no user": ("user,cpu,memory\n", MACHINES, "holds no user, only a header"),
    "no demands": ("user,max_tasks\nann,1\n", MACHINES, "no column of demands"),
    "user twice": ("user,cpu\nann,1\nann,2\n", MACHINES, "line 3, column 'user': 'ann' is on line 2"),
    "demand negative": ("user,cpu\nann,1\nbob,-1\n", MACHINES, "users.csv, line 3, column 'cpu': must not be negative"),
    "demand of nothing": ("cpu,memory\n0,0\n", MACHINES, "users.csv, line 2: the demands must have at least one"),
    "demand in words": ("cpu,memory\n1,4 GB\n", MACHINES, "line 2, column 'memory': '4 GB' is not a number"),
    "bound negative": ("cpu,max_tasks\n1,-1\n", MACHINES, "line 2, column 'max_tasks': must not be negative"),
    "tasks too small": ("cpu\n1e-12\n", MACHINES, "large enough"),
    "no such resource": ("cpu,gpu\n1,1\n", MACHINES, "machines.csv: has no column 'gpu'"),
    "nobody has it": ("cpu,memory\n1,1\n", "cpu,memory\n4,0\n", "machines.csv, column 'memory': no machine has any"),
    "a count of users": ("cpu,count\n1,1\n", "cpu,count\n1,1\n", "column 'count' would be taken for a resource"),
    "empty machines": (USERS, "", "machines.csv: is empty"),
    "no machine": (USERS, "cpu,memory\n", "machines.csv: holds no machine, only a header"),
    "capacity negative": (USERS, "cpu,memory\n4,4\n4,-4\n", "machines.csv, line 3, column 'memory': must not be neg"),
    "capacity missing": (USERS, "cpu,memory\n4,\n", "machines.csv, line 2, column 'memory': the number is missing"),
    "nothing at all": (USERS, "cpu,memory\n4,4\n0,0\n", "machines.csv, line 3: the machine must have at least one"),
    "count zero": (USERS, "count,cpu,memory\n0,4,4\n", "line 2, column 'count': '0' is not a number of machines"),
    "count negative": (USERS, "count,cpu,memory\n-2,4,4\n", "column 'count': '-2' is not a number of machines"),
    "count of halves": (USERS, "count,cpu,memory\n1.5,4,4\n", "column 'count': '1.5' is not a number of machines"),
    "too many": (USERS, "count,cpu,memory\n9999999,4,4\n2,4,4\n", "line 3, column 'count': more than 10000000"),
    "class twice": (USERS, "machine,cpu,memory\nm,4,4\nm,4,4\n", "line 3, column 'machine': 'm' is on line 2 already"),
}


@pytest.mark.parametrize("name", list(BAD))
def test_bad_files(run: Run, files: Callable[..., list[Any]], tmp_path: Path, name: str) -> None:
    users, machines, part = BAD[name]
    target = tmp_path / "placed.json"
    assert part in refused(run(*files(users, machines), "--output", target))
    assert not target.exists()


def test_missing_columns(run: Run, files: Callable[..., list[Any]]) -> None:
    for option in (["--max-tasks", "most"], ["--rule", "drfh", "--weights", "most"]):
        assert "has no column 'most'" in refused(run(*files(), *option))


def test_inputs_are_not_overwritten(run: Run, files: Callable[..., list[Any]]) -> None:
    inputs_are_kept(run, files(), (0, 2))


def test_unused_columns_are_told(run: Run, files: Callable[..., list[Any]]) -> None:
    code, _, err = run(*files(machines="machine,cpu,memory,disk\nm,4,4,9\n"))
    assert code == 0
    assert "no task needs column 'disk'" in err


def test_help(run: Run) -> None:
    code, text, err = run("--help")
    assert (code, err) == (0, "")
    assert all(f"\n  {rule} " in text for rule in place.TAKES)
    assert "examples:" in text


# --------------------------------------------------------------------------------------------------- anything at all

CELL = st.one_of(st.sampled_from(["", "0", "1", "2", "0.5", "-1", "nan", "inf", "1e80", "x", '"', "1e-80", "3"]),
                 st.text(max_size=3))
LINES = st.lists(st.lists(CELL, min_size=3, max_size=3), max_size=4)


@settings(deadline=None, derandomize=True, database=None, max_examples=60,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(users=LINES, machines=LINES, rule=st.sampled_from(list(place.TAKES)))
def test_any_tables_are_computed_or_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, users: list[list[str]], machines: list[list[str]], rule: str
) -> None:
    for name, header, lines in (("u", "user,cpu,max_tasks", [*users, ["a", "1", "2"]]),
                                ("m", "machine,cpu,count", [*machines, ["m", "3", "2"]])):
        text = "\n".join([header, *map(",".join, lines)])
        (tmp_path / f"{name}.csv").write_bytes(text.encode("utf-8", "surrogatepass"))
    capsys.readouterr()
    code = cli.main(["place", str(tmp_path / "u.csv"), "--machines", str(tmp_path / "m.csv"), "--rule", rule,
                     "--explain", "--verify"])
    out, err = capsys.readouterr()
    assert code in (0, 2)
    assert "Traceback" not in err
    assert code == 0 or (out == "" and err.splitlines()[-1].startswith("fairbook: error: "))
