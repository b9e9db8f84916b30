"""The command line: what each command prints and writes, and how it refuses."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fairbook as fb
from fairbook import cli, results
from fairbook.claims.registry import COLUMNS, Claim, Evidence, Mechanism, Part
from fairbook.cli.allocate import RULES
from tests.commands import Run, refused, runner, writer

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "data" / "example_users.csv"
DRF_PAPER = "user,cpu,memory\nA,1,4\nB,3,1\n"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line."""
    return runner(capsys)


@pytest.fixture
def users(tmp_path: Path) -> Callable[..., Path]:
    """Write a table of users."""
    return writer(tmp_path, DRF_PAPER, "users.csv")


# ------------------------------------------------------------------------------------------------ the program


def child(*arguments: str, **how: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how
    )


def test_version_and_help_of_every_command(run: Run) -> None:
    assert run("--version") == (0, f"fairbook {fb.__version__}\n", "")
    code, overview, _ = run("--help")
    assert code == 0
    assert "examples:" in overview
    for command in (
        ["allocate"],
        ["claims"],
        ["phases"],
        ["periods"],
        ["traces", "digest"],
        ["traces", "verify"],
        ["traces", "show"],
    ):
        assert command[0] in overview
        code, text, err = run(*command, "--help")
        assert (code, err) == (0, "")
        assert command == ["traces", "show"] or "examples:" in text
    assert all(rule.about in run("allocate", "--help")[1] for rule in RULES.values())
    for command in (["cluster"], ["phases"], ["periods"], ["traces", "show"]):
        assert "--progress" not in run(*command, "--help")[1]  # they draw no bars


def test_examples_of_the_help_are_understood() -> None:
    import re
    import shlex

    parser = cli._parser()
    texts = [parser.epilog or ""]
    actions = [parser]
    while actions:
        for action in actions.pop()._actions:
            if isinstance(action.choices, dict):
                actions += action.choices.values()
                texts += [one.epilog or "" for one in action.choices.values()]
    examples = [
        line for text in texts for line in re.findall(r"fairbook [^|>\n]+", text) if not line.startswith("fairbook:")
    ]
    assert len(examples) >= 15
    for line in examples:
        assert callable(parser.parse_args(shlex.split(line)[1:]).run)


def test_the_command_line_itself_loads_nothing_heavy() -> None:
    script = f"""
import sys, types
package = types.ModuleType("fairbook")
package.__path__, package.__version__ = [{str(ROOT / "fairbook")!r}], "0"
sys.modules["fairbook"] = package
from fairbook import cli
assert cli.main(["allocate", "--help"]) == 0
print(sorted({{"numpy", "pandas", "numba", "scipy", "matplotlib", "tqdm"}} & set(sys.modules)))
"""
    out, err = child("-c", script).communicate(timeout=60)
    assert out.decode().splitlines()[-1] == "[]", err.decode()


def test_module_is_a_program_and_a_closed_pipe_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    program = subprocess.run(
        [sys.executable, "-m", "fairbook", "traces", "show"],
        cwd=ROOT,
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    os.close(writer)
    assert program.returncode == 141
    assert program.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
def test_a_full_disk_is_one_line() -> None:
    with open("/dev/full", "wb") as full:
        program = subprocess.run(
            [sys.executable, "-m", "fairbook.cli", "traces", "show"],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert program.returncode == 2
    assert program.stderr.decode().startswith("fairbook: error: ")
    assert program.stderr.count(b"\n") == 1


def test_interruption_by_signal(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "users.csv")  # the program waits for somebody to write
    program = child("-m", "fairbook", "allocate", str(tmp_path / "users.csv"))
    writer = os.open(tmp_path / "users.csv", os.O_WRONLY)  # returns once the program has opened its end
    time.sleep(0.1)
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=60)
    os.close(writer)
    assert (program.returncode, out, err) == (130, b"", b"fairbook: interrupted\n")


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "fairbook: interrupted\n"),
        (BrokenPipeError(), 141, ""),
        (MemoryError(), 2, "fairbook: error: not enough memory\n"),
        (OSError(28, "No space left on device", "x.csv"), 2, "fairbook: error: x.csv: No space left on device\n"),
        (fb.TraceError("two\nlines and \x1b[31m"), 2, "fairbook: error: two lines and \\x1b[31m\n"),
    ],
)
def test_what_ends_a_command(
    run: Run, monkeypatch: pytest.MonkeyPatch, raised: BaseException, code: int, said: str
) -> None:
    def end(options: object) -> int:
        raise raised

    monkeypatch.setattr(cli, "_traces_show", end)
    assert run("traces", "show") == (code, "", said)


def test_defects_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "_traces_show", lambda options: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        cli.main(["traces", "show"])


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([], "COMMAND"),
        (["alocate"], "invalid choice"),
        (["allocate"], "users.csv"),
        (["allocate", "u.csv", "--mechanism", "best"], "invalid choice"),
        (["allocate", "u.csv", "--after", "0"], "at least 1"),
        (["allocate", "u.csv", "--after", "1.5"], "at least 1"),
        (["allocate", "u.csv", "--after", "9" * 30], "at least 1"),
        (["allocate", "u.csv", "--verif"], "unrecognized"),
        (["allocate", "u.csv", "--capacity"], "--capacity"),
        (["claims", "--verdict", "true"], "invalid choice"),
        (["traces"], "ACTION"),
        (["traces", "digest", "folder"], "--output"),
    ],
)
def test_wrong_arguments(run: Run, arguments: list[str], part: str) -> None:
    line = refused(run(*arguments))
    assert part in line
    assert "--help` helps" in line


# --------------------------------------------------------------------------------------------------- allocate


def test_the_example_of_the_drf_paper(run: Run, users: Callable[..., Path]) -> None:
    code, out, err = run("allocate", users(), "--capacity", "memory=18", "cpu=9", "--explain", "--verify")
    assert code == 0
    assert err == "fairbook: verified: no constraint is violated, and each user's bottleneck stops it\n"
    lines = [line.split() for line in out.splitlines()]
    assert ["A", "3", "0.666667", "1.33333", "cpu"] in lines
    assert ["B", "2", "0.666667", "1.33333", "cpu"] in lines
    assert ["cpu", "9", "9", "1"] in lines
    assert ["memory", "18", "14", "0.777778"] in lines
    assert "A runs 3 tasks at level 1.33333: cpu stops it." in out
    assert "B runs 2 tasks" in out
    _, some, _ = run("allocate", users(), "--capacity", "memory=18", "cpu=9", "--explain", "B")
    assert "B runs 2 tasks" in some
    assert "A runs" not in some


def library(mechanism: str, frame: pd.DataFrame) -> pd.DataFrame:
    demands, weights = frame[["cpu", "memory", "gpu"]], frame["weight"].to_numpy()
    bounds = frame["max_tasks"].fillna(np.inf).to_numpy()
    arguments = {
        "drf": {"weights": weights, "max_tasks": bounds},
        "drf_by_task": {"weights": weights, "max_tasks": bounds},
        "dynamic_drf": {},
    }.get(mechanism, {"weights": weights})
    allocated: pd.DataFrame = getattr(fb, mechanism)(demands, **arguments).to_frame()
    return allocated


@pytest.mark.parametrize("mechanism", list(RULES))
def test_every_mechanism_gives_what_the_library_gives(run: Run, mechanism: str) -> None:
    expected = library(mechanism, pd.read_csv(EXAMPLE, index_col="user"))
    code, out, _ = run("allocate", EXAMPLE, "--mechanism", mechanism, "--output", "-")
    assert code == 0
    pd.testing.assert_frame_equal(
        pd.read_csv(io.StringIO(out), index_col="user"), expected, rtol=1e-12, check_dtype=False
    )
    if RULES[mechanism].certified:
        assert run("allocate", EXAMPLE, "--mechanism", mechanism, "--verify")[0] == 0


def test_the_shipped_example_shows_three_reasons(run: Run) -> None:
    _, out, _ = run("allocate", EXAMPLE, "--output", "-")
    assert {"memory", "gpu", "own bound"} == set(pd.read_csv(io.StringIO(out))["bottleneck"])
    assert pd.read_csv(EXAMPLE)["user"].str.fullmatch("team-[a-z]").all()


def test_arrivals_share_the_pool_that_capacity_describes(run: Run, users: Callable[..., Path]) -> None:
    path = users("user,cpu,memory,weight\na,1,4,2\nb,3,1,4\nc,1,1,2\n")
    arguments = ("allocate", path, "--mechanism", "dmfa_srq", "--capacity", "cpu=90", "memory=180")
    _, out, _ = run(*arguments, "--output", "-")
    got = pd.read_csv(io.StringIO(out), index_col="user")
    demands = np.array([[1, 4], [3, 1], [1, 1]])
    expected = fb.dmfa_srq(demands / [90, 180], [1 / 4, 1 / 2, 1 / 4])
    np.testing.assert_allclose(got["tasks"], expected.tasks)
    assert (got["tasks"].to_numpy() @ demands / [90, 180]).max() == pytest.approx(1)
    _, table, _ = run(*arguments, "--after", "2", "--explain", "b", "--verify")
    first_two = expected.tasks_at(2) @ demands[:2]
    lines = [line.split() for line in table.splitlines()]
    assert ["cpu", "67.5", f"{first_two[0]:.6g}", f"{first_two[0] / 67.5:.6g}"] in lines
    assert ["memory", "135", f"{first_two[1]:.6g}", f"{first_two[1] / 135:.6g}"] in lines
    assert not [line for line in lines if line[:1] == ["c"]]
    assert "b runs" in table
    assert "c" in refused(run(*arguments, "--after", "2", "--explain", "c"))
    assert "from 1 to 3" in refused(run(*arguments, "--after", "4"))


def test_arrivals_without_weights_bring_one_each(run: Run, users: Callable[..., Path]) -> None:
    _, out, _ = run("allocate", users(), "--mechanism", "dmfa_srq", "--output", "-")
    np.testing.assert_allclose(pd.read_csv(io.StringIO(out))["tasks"], fb.dmfa_srq([[1, 4], [3, 1]], [1, 1]).tasks)


@pytest.mark.parametrize(
    "content",
    [
        DRF_PAPER.replace("\n", "\r\n"),
        "\ufeff" + DRF_PAPER,
        DRF_PAPER.rstrip(),
        DRF_PAPER.replace("A,1", "\n , \nA,1").replace(" , ", " , , "),
        'user, cpu , memory\n A, 1.0,4e0\n"B",+3,.1e1\n',
        "cpu,user,memory\n1,A,4\n3,B,1\n",
        "user,cpu,memory,max_tasks\nA,1,4,\nB,3,1,inf\n",
        "user,cpu,memory,note\nA,1,4,first\nB,3,1,\n",
        gzip.compress(DRF_PAPER.encode(), mtime=0),
    ],
)
def test_forms_of_the_same_file(
    run: Run, users: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, content: str | bytes
) -> None:
    capacity = ("--capacity", "cpu=9", "memory=18")
    expected = run("allocate", users(), *capacity)[1]
    path = users(content, "other.csv.gz" if isinstance(content, bytes) else "other.csv")
    code, out, err = run("allocate", path, *capacity)
    assert (code, out) == (0, expected)
    assert ("left out" in err) == ("first" in str(content))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert run("allocate", "-", *capacity)[:2] == (0, expected)


def test_users_without_names_are_numbered(run: Run, users: Callable[..., Path]) -> None:
    code, out, _ = run("allocate", users("cpu,memory\n1,4\n3,1\n"), "--explain", "2")
    assert code == 0
    assert out.splitlines()[2].startswith("1 ")
    assert "\n2 runs" in out


def test_columns_by_name(run: Run, users: Callable[..., Path]) -> None:
    path = users("user,cpu,tier,cap\na,1,1,\nb,1,3,0.25\nc,1,4,\n")
    _, out, _ = run("allocate", path, "--weights", "tier", "--max-tasks", "cap", "--output", "-")
    np.testing.assert_allclose(pd.read_csv(io.StringIO(out))["tasks"], [0.15, 0.25, 0.6])
    assert "has no column 'tire'" in refused(run("allocate", path, "--weights", "tire"))
    assert "cannot serve twice" in refused(run("allocate", path, "--weights", "tier", "--max-tasks", "tier"))
    assert "cannot serve twice" in refused(run("allocate", path, "--weights", "user"))


def test_what_a_mechanism_does_not_use_is_said(run: Run) -> None:
    _, _, err = run("allocate", EXAMPLE, "--mechanism", "dynamic_drf")
    assert (
        err
        == "fairbook: dynamic_drf does not use column 'weight'\nfairbook: dynamic_drf does not use column 'max_tasks'\n"
    )


def test_stuck(run: Run, users: Callable[..., Path]) -> None:
    path, tasks = users("user,cpu,memory\na,1,0\nb,0,1\n"), {}
    for stuck in ("skip", "stop"):
        arguments = ("--mechanism", "drf_by_task", "--stuck", stuck, "--capacity", "cpu=1.5", "memory=10")
        _, out, _ = run("allocate", path, *arguments, "--output", "-")
        tasks[stuck] = pd.read_csv(io.StringIO(out))["tasks"].tolist()
    assert tasks == {"skip": [1, 10], "stop": [1, 7]}


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--mechanism", "drf", "--after", "1"], "has none"),
        (["--mechanism", "drf", "--stuck", "skip"], "drf_by_task"),
        (["--mechanism", "dynamic_drf", "--weights", "weight"], "equal part"),
        (["--mechanism", "dmfa_srq", "--max-tasks", "max_tasks"], "no bounds"),
        (["--mechanism", "drf_by_task", "--verify"], "whole tasks"),
        (["--explain", "team-z"], "'team-z'"),
        (["--output", "out.parquet"], ".csv or .json"),
        (["--capacity", "cpu"], "name=number"),
        (["--capacity", "cpu=nine"], "name=number"),
        (["--capacity", "cpu=nan"], "name=number"),
        (["--capacity", "cpu=inf"], "name=number"),
        (["--capacity", "=1"], "none of the resources"),
        (["--capacity", "disk=1"], "none of the resources cpu, memory, gpu"),
        (["--capacity", "cpu=1", "--capacity", "cpu=2"], "twice"),
        (["--capacity", "cpu=-9", "memory=1", "gpu=1"], "--capacity cpu must be positive"),
        (["--capacity", "cpu=0", "memory=1", "gpu=1"], "--capacity cpu must be positive"),
        (["--capacity", "cpu=1e999", "memory=1", "gpu=1"], "finite"),
        (["--capacity", "cpu=1e99", "memory=1", "gpu=1"], "capacities"),
        (["--mechanism", "dmfa_srq", "--capacity", "cpu=1e99", "memory=1", "gpu=1"], "capacities"),
        (["--capacity", "cpu=1"], "also for memory, gpu"),
    ],
)
def test_wrong_options(run: Run, arguments: list[str], part: str) -> None:
    assert part in refused(run("allocate", EXAMPLE, *arguments))


BAD_FILES = {
    "empty": ("", "is empty"),
    "blank": ("\n", "is empty"),
    "header only": ("user,cpu\n", "holds no user"),
    "header and blank lines": ("user,cpu\n\n , \n", "holds no user"),
    "no demands": ("user,weight\na,1\n", "no column of demands"),
    "words only": ("user,cpu\na,much\n", "no column of demands"),
    "semicolons": ("user;cpu\na;1\n", "separated by commas"),
    "semicolons, decimal comma": ("user;cpu\na;1,5\n", "separated by commas"),
    "tabs": ("user\tcpu\na\t1\n", "separated by commas"),
    "weight with a capital": ("user,cpu,Weight\na,1,2\n", "column 'Weight' would be taken for a resource"),
    "bound with a blank": ("user,cpu,max tasks\na,1,2\n", "is it meant as 'max_tasks'?"),
    "users": ("Users,cpu\na,1\n", "is it meant as 'user'?"),
    "short row": ("user,cpu,memory\na,1\n", "line 2: 2 columns where the header has 3"),
    "long row": ("user,cpu\na,1\nb,1,2\n", "line 3: 3 columns where the header has 2"),
    "column twice": ("user,cpu,cpu\na,1,2\n", "two columns are named 'cpu'"),
    "column without a name": ("user,,cpu\na,1,2\n", "line 1: '' is not the name"),
    "column with an escape": ("user,\x1b[31m\na,1\n", "is not the name"),
    "user twice": ("user,cpu\na,1\nb,1\n\na,2\n", "line 5, column 'user': 'a' is on line 2"),
    "user without a name": ("user,cpu\n ,1\n", "is not a name"),
    "user with an escape": ("user,cpu\na\x1b[31m,1\n", "is not a name"),
    "endless name": (f"user,cpu\n{'a' * 300},1\n", "is not a name"),
    "word among numbers": ("user,cpu\na,1\nb,two\n", "line 3, column 'cpu': 'two' is not a number"),
    "unit": ("user,cpu\na,4 GB\nb,2 GB\n", "line 2, column 'cpu': '4 GB' is not a number"),
    "decimal comma": ('user,cpu\na,"1,5"\n', "'1,5' is not a number; write it with a decimal point"),
    "thousands": ("user,cpu\na,1.000.000\n", "'1.000.000' is not a number; write it with a decimal point"),
    "underscore": ("user,cpu\na,1_000\n", "'1_000' is not a number"),
    "hexadecimal": ("user,cpu\na,0x10\n", "'0x10' is not a number"),
    "other digits": ("user,cpu,gpu\na,1,1\nb,\u0661,1\n", "is not a number"),
    "nan": ("user,cpu\na,1\nb,NaN\n", "line 3, column 'cpu': the number is missing"),
    "gap": ("user,cpu,memory\na,1,\n", "line 2, column 'memory': the number is missing"),
    "infinite": ("user,cpu\na,inf\n", "'inf' is not a number"),
    "overflow": ("user,cpu\na,1e999\n", "line 2, column 'cpu': must be finite"),
    "negative": ("user,cpu,memory\na,1,1\nb,1,-2\n", "line 3, column 'memory': must not be negative, got -2.0"),
    "huge": ("user,cpu,memory\na,1,1\n\nb,1,1e99\n", "line 4, column 'memory': must be zero or between"),
    "all zero": ("user,cpu,memory\na,0,0\n", "line 2: the demands must have at least one positive entry"),
    "weight zero": ("user,cpu,weight\na,1,1\nb,1,0\n", "line 3, column 'weight': must be positive"),
    "weight missing": ("user,cpu,weight\na,1,\n", "line 2, column 'weight': the number is missing"),
    "weight in words": ("user,cpu,weight\na,1,heavy\n", "column 'weight': 'heavy' is not a number"),
    "weight negative": ("user,cpu,weight\na,1,-1\n", "column 'weight': must be positive"),
    "bound negative": ("user,cpu,max_tasks\na,1,-1\n", "column 'max_tasks': must not be negative"),
    "bound nan": ("user,cpu,max_tasks\na,1,nan\n", "column 'max_tasks': the number is missing"),
    "bound in words": ("user,cpu,max_tasks\na,1,many\n", "column 'max_tasks': 'many' is not a number"),
    "open quote": ('user,cpu\n"a,1\n', "is not CSV"),
    "text after a quote": ('user,cpu\n"a"b,1\n', "line 2: is not CSV"),
    "huge field": (f"user,cpu\n{'a' * 200_000},1\n", "is not CSV (field larger"),
    "huge line": (f"user,cpu\n{'1,' * 600_000}\n", "line 2: the line is longer than"),
    "huge header": ("x" * 2_000_000, "line 1: the line is longer than"),
    "null bytes": (b"user,cpu\na,1\0\n", "line 2: holds a null byte"),
    "latin 1": ("user,cpu\na\xe9,1\n".encode("latin1"), "line 2: is not UTF-8"),
    "utf 16": (DRF_PAPER.encode("utf-16"), "line 1: is not UTF-8"),
    "binary": (bytes(range(256)) * 8, "line 1"),
    "png": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "line 1: is not UTF-8"),
    "gzip cut short": (gzip.compress(DRF_PAPER.encode(), mtime=0)[:-9], "gzip stream is damaged"),
    "gzip with a wrong sum": (gzip.compress(DRF_PAPER.encode(), mtime=0)[:-8] + b"\0" * 8, "gzip stream is damaged"),
    "gzip with junk inside": (gzip.compress(DRF_PAPER.encode(), mtime=0)[:10] + b"\xff" * 40, "gzip stream is damaged"),
    "gzip of nothing": (gzip.compress(b""), "is empty"),
}


@pytest.mark.parametrize("name", list(BAD_FILES))
def test_bad_files(run: Run, users: Callable[..., Path], name: str) -> None:
    content, part = BAD_FILES[name]
    line = refused(run("allocate", users(content), "--explain"))
    assert part in line
    assert "users.csv" in line
    assert len(line) < 500


def test_files_that_cannot_be_read(run: Run, tmp_path: Path) -> None:
    assert "none.csv: No such file" in refused(run("allocate", tmp_path / "none.csv"))
    assert "Is a directory" in refused(run("allocate", tmp_path))
    assert "holds a null byte" in refused(run("allocate", "a\0b"))
    assert "name" in refused(run("allocate", tmp_path / ("x" * 5000)))


def test_numbers_too_far_apart_are_refused_or_computed(run: Run, users: Callable[..., Path]) -> None:
    for demands, weights in ((("1e74", "1e-74"), ("1e-74", "1e74")), (("1e-74", "1e74"), ("1e-74", "1e74"))):
        path = users(f"cpu,weight\n{demands[0]},{weights[0]}\n{demands[1]},{weights[1]}\n")
        for mechanism in ("drf", "dmfa_srq", "static_optimum", "dynamic_drf"):
            for capacity in ((), ("--capacity", "cpu=1e-74"), ("--capacity", "cpu=1e74")):
                code, _, err = run("allocate", path, "--mechanism", mechanism, *capacity)
                assert code == 0 or "fairbook: error: " in err


# ----------------------------------------------------------------------------------------------------- output


def test_output_as_csv_and_json(run: Run, users: Callable[..., Path], tmp_path: Path) -> None:
    arguments = ("allocate", users(), "--capacity", "cpu=9", "memory=18", "--explain", "A")
    code, out, _ = run(*arguments, "--output", tmp_path / "out.csv")
    assert code == 0
    assert "A runs 3 tasks" in out
    table = pd.read_csv(tmp_path / "out.csv", index_col="user", keep_default_na=False)
    assert table["tasks"].tolist() == [3, 2]
    assert table["explanation"].str.len().gt(0).tolist() == [True, False]
    assert run(*arguments, "--verify", "--output", tmp_path / "out.json")[0] == 0
    content = json.loads((tmp_path / "out.json").read_text())
    assert content["mechanism"] == "drf"
    assert [user["tasks"] for user in content["users"]] == [3, 2]
    assert content["resources"][0] == {"resource": "cpu", "capacity": 9, "use": 9, "utilisation": 1}
    assert content["violations"] == []
    _, text, err = run(*arguments, "--output", "-", "--verify")
    assert text == (tmp_path / "out.csv").read_text()
    assert "verified" in err


def test_json_of_arrivals(run: Run, tmp_path: Path) -> None:
    run("allocate", EXAMPLE, "--mechanism", "dmfa_srq", "--after", "2", "--output", tmp_path / "out.json")
    content = json.loads((tmp_path / "out.json").read_text())
    assert content["after"] == 2
    assert [user["raised_at"] for user in content["users"]] == [2, 2]


def test_the_input_is_never_overwritten(run: Run, users: Callable[..., Path], tmp_path: Path) -> None:
    path = users()
    (tmp_path / "link.csv").symlink_to(path)
    os.link(path, tmp_path / "hard.csv")
    for name in ("users.csv", "link.csv", "hard.csv", "./users.csv"):
        assert "overwrite the input" in refused(run("allocate", path, "--output", f"{tmp_path}/{name}"))
    assert path.read_text() == DRF_PAPER


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize("there", [True, False])
def test_a_file_is_written_whole_or_not_at_all(
    run: Run, users: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, there: bool
) -> None:
    path, target = users(), tmp_path / "out.csv"
    if there:
        target.write_text("old")
    before = sorted(p.name for p in tmp_path.iterdir())

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "out.csv")

    monkeypatch.setattr(os, step, fail)
    line = refused(run("allocate", path, "--output", target))
    assert "out.csv: No space left on device" in line
    assert sorted(p.name for p in tmp_path.iterdir()) == before
    assert not there or target.read_text() == "old"


def test_where_nothing_can_be_written(run: Run, tmp_path: Path) -> None:
    text = refused(run("allocate", EXAMPLE, "--output", tmp_path / "none" / "out.csv"))
    assert text == f"fairbook: error: {tmp_path / 'none' / 'out.csv'}: No such file or directory"
    (tmp_path / "folder.csv").mkdir()
    assert "folder.csv" in refused(run("allocate", EXAMPLE, "--output", tmp_path / "folder.csv"))
    assert [p.name for p in tmp_path.iterdir()] == ["folder.csv"]


def test_links_and_permissions_survive(run: Run, tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        run("allocate", EXAMPLE, "--output", tmp_path / "new.csv")
    finally:
        os.umask(old)
    assert (tmp_path / "new.csv").stat().st_mode & 0o777 == 0o640
    (tmp_path / "new.csv").chmod(0o604)
    (tmp_path / "link.csv").symlink_to("new.csv")
    (tmp_path / "new.csv").write_text("old")
    run("allocate", EXAMPLE, "--output", tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "new.csv").read_text().startswith("user,tasks")
    assert (tmp_path / "new.csv").stat().st_mode & 0o777 == 0o604


def test_a_broken_mechanism_does_not_pass_the_certificate(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from dataclasses import replace

    honest, arrivals = fb.drf, fb.dmfa_srq

    def half(*arguments: Any, **named: Any) -> Any:
        whole = honest(*arguments, **named)
        return replace(whole, tasks=whole.tasks / 2)

    monkeypatch.setattr(fb, "drf", half)
    code, out, err = run("allocate", EXAMPLE, "--verify", "--output", tmp_path / "out.json")
    assert code == 1
    assert "fairbook: violated: gpu does not stop team-c" in err
    assert "team-c" in out
    assert "gpu does not stop team-c" in json.loads((tmp_path / "out.json").read_text())["violations"]

    def third_step_wrong(*arguments: Any, **named: Any) -> Any:
        whole = arrivals(*arguments, **named)
        return replace(whole, levels=np.where(np.arange(len(whole)) == 2, whole.levels / 2, whole.levels))

    monkeypatch.setattr(fb, "dmfa_srq", third_step_wrong)
    code, _, err = run("allocate", EXAMPLE, "--mechanism", "dmfa_srq", "--verify")
    assert code == 1
    assert "violated: after arrival 3: " in err
    assert run("allocate", EXAMPLE, "--mechanism", "dmfa_srq", "--verify", "--after", "2")[0] == 0


def test_names_that_the_terminal_cannot_show(users: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(terminal, "ascii"))
    assert cli.main(["allocate", str(users("user,cpu\n\u0105\u4e2d,1\n"))]) == 0
    assert rb"\u0105\u4e2d" in terminal.getvalue()


# ------------------------------------------------------------------------------------------------------- fuzz

FUZZ = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
CELL = st.one_of(
    st.sampled_from(
        [
            "",
            "0",
            "1",
            "2.5",
            "-1",
            "1e3",
            "1e-3",
            "1e74",
            "1e-74",
            "1e75",
            "1e999",
            "inf",
            "nan",
            "NA",
            "x",
            '"',
            "a,b",
            "\r",
            "\ufeff",
        ]
    ),
    st.floats(0.01, 100).map(repr),
    st.text(max_size=5),
)
COLUMN = st.one_of(st.sampled_from(["user", "cpu", "memory", "gpu", "weight", "max_tasks"]), st.text(max_size=4))


def survives(content: bytes, capsys: pytest.CaptureFixture[str], path: Path, *arguments: str) -> int:
    path.write_bytes(content)
    capsys.readouterr()
    code = cli.main(["allocate", str(path), *arguments])
    _, err = capsys.readouterr()
    assert code in (0, 2)
    assert (code == 2) == (err.count("fairbook: error: ") == 1)
    assert all(line.startswith("fairbook: ") for line in err.splitlines())
    return code


@FUZZ
@given(content=st.binary(max_size=200))
def test_bytes_never_crash(content: bytes, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    survives(content, capsys, tmp_path / "fuzz.csv")
    survives(b"user,cpu\na,1\n" + content, capsys, tmp_path / "fuzz.csv")
    survives(b"\x1f\x8b\x08\0" + content, capsys, tmp_path / "fuzz.csv")


@FUZZ
@given(content=st.text(max_size=200))
def test_text_never_crashes(content: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    survives(content.encode("utf-8", "surrogatepass"), capsys, tmp_path / "fuzz.csv")


@FUZZ
@given(data=st.data())
def test_tables_never_crash(data: st.DataObject, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    header = data.draw(st.lists(COLUMN, min_size=1, max_size=5))
    rows = data.draw(st.lists(st.lists(CELL, min_size=len(header), max_size=len(header)), max_size=5))
    mechanism = data.draw(st.sampled_from(["drf", "dmfa_srq", "static_optimum", "dynamic_drf"]))
    text = "\n".join(",".join(row) for row in [header, *rows])
    survives(
        text.encode("utf-8", "surrogatepass"), capsys, tmp_path / "fuzz.csv", "--mechanism", mechanism, "--explain"
    )


POSITIVE = st.one_of(st.sampled_from([1e-74, 1e-40, 1e-3, 1.0, 1e3, 1e40, 1e74]), st.floats(0.01, 100))


@FUZZ
@given(data=st.data())
def test_numbers_never_crash_and_are_certified(
    data: st.DataObject, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    m, extreme = data.draw(st.integers(1, 3)), data.draw(st.booleans())
    number = POSITIVE if extreme else st.floats(0.01, 100)
    row = st.tuples(st.lists(st.one_of(number, st.just(0.0)), min_size=m, max_size=m), number)
    rows = data.draw(st.lists(row, min_size=1, max_size=5))
    lines = [",".join(f"r{j}" for j in range(m)) + ",weight"] + [",".join(map(repr, [*d, w])) for d, w in rows]
    mechanism = data.draw(st.sampled_from(["drf", "dmfa_srq", "static_optimum", "dynamic_drf"]))
    capacity = [f"r{j}={data.draw(number)!r}" for j in range(m)]
    arguments = ["--mechanism", mechanism, *(["--capacity", *capacity] if data.draw(st.booleans()) else [])]
    if not extreme:
        arguments.append("--verify")
    code = survives("\n".join(lines).encode(), capsys, tmp_path / "fuzz.csv", *arguments)
    assert code == 0 or extreme or any(not any(d) for d, _ in rows)


# ----------------------------------------------------------------------------------------------------- claims


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep stored results in a folder of their own."""
    folder = tmp_path / "results"

    def files(name: str) -> tuple[Path, Path]:
        return folder / f"{name}.csv", folder / f"{name}.json"

    monkeypatch.setattr(results, "_files", files)
    return folder


def fake_claim(name: str, mutant_holds: bool) -> Claim:
    def check(effort: object, subject: Mechanism) -> Evidence:
        return Evidence.of(Part(subject.run(), "numbers", f"Seen: {subject.name}.", 1))

    return Claim(
        name,
        name.split(".")[0],
        "Theorem 1",
        "number",
        "as stated",
        f"Statement | of {name}.",
        check,
        Mechanism("honest", lambda: True),
        Mechanism("broken", lambda: mutant_holds),
    )


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch, store: Path) -> dict[str, Claim]:
    """Replace the registry by four claims of two papers, one of which has a check that sees nothing."""
    from fairbook.claims import registry, stored

    known = {
        name: fake_claim(name, name == "two.blind")
        for name in ("one.first", "one.second.a", "one.second.b", "two.blind")
    }
    monkeypatch.setattr(registry, "_CLAIMS", known)
    papers = {"version": "0", "released": "unreleased", "papers": {"one": {}, "two": {}}}
    monkeypatch.setattr(stored, "papers", lambda: papers)
    return known


def keep_ledgers(known: dict[str, Claim]) -> None:
    for paper in ("one", "two"):
        rows = [
            {column: f"{column} of {key}" for column in COLUMNS}
            | {"id": key, "verdict": "holds" if key == "one.first" else "refuted", "seconds": 0.5}
            for key in known
            if key.startswith(paper)
        ]
        results.save(f"{paper}/ledger", pd.DataFrame(rows), module="fairbook.errors")


def test_stored_ledger(run: Run, registered: dict[str, Claim]) -> None:
    assert "`fairbook claims --recompute`" in refused(run("claims"))
    keep_ledgers(registered)
    code, out, err = run("claims")
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()[1:5]] == list(registered)
    assert "4 claims: 1 holds, 3 refuted" in out
    assert "statement of two.blind" in out
    assert "two.blind" not in run("claims", "--paper", "one")[1]
    _, out, _ = run("claims", "--verdict", "refuted", "--format", "csv")
    frame = pd.read_csv(io.StringIO(out))
    assert frame.columns.tolist() == COLUMNS
    assert frame["id"].tolist() == ["one.second.a", "one.second.b", "two.blind"]
    assert run("claims", "--verdict", "undetermined")[1] == "no claim with this verdict\n"
    assert [row["id"] for row in json.loads(run("claims", "--format", "json", "--id", "one.second")[1])] == [
        "one.second.a",
        "one.second.b",
    ]
    assert json.loads(run("claims", "--format", "json", "--verdict", "partly")[1]) == []
    _, out, _ = run("claims", "--id", "one.first")
    assert "evidence of one.first" in out
    assert "one.second" not in out


def test_the_ledger_as_a_file(run: Run, registered: dict[str, Claim], tmp_path: Path) -> None:
    from fairbook.claims import ledger
    from fairbook.claims.stored import document

    keep_ledgers(registered)
    file = str(tmp_path / "ledger.json")
    assert run("claims", "--output", file)[1] == run("claims")[1]
    assert Path(file).read_text("utf8") == document(ledger())
    run("claims", "--verdict", "holds", "--output", file)
    assert [row["id"] for row in json.loads(Path(file).read_text("utf8"))["rows"]] == ["one.first"]
    assert "a .json file" in refused(run("claims", "--output", str(tmp_path / "ledger.csv")))
    assert "--mutants" in refused(run("claims", "--mutants", "--output", file))


def test_recomputed_claims(run: Run, registered: dict[str, Claim]) -> None:
    code, out, err = run("claims", "--recompute", "--id", "one.second", "--format", "csv")
    assert (code, err) == (0, "")
    frame = pd.read_csv(io.StringIO(out))
    assert frame["id"].tolist() == ["one.second.a", "one.second.b"]
    assert set(frame["verdict"]) == {"reproduced"}
    assert set(frame["effort"]) == {"quick"}
    _, out, err = run("claims", "--recompute", "--effort", "full", "--format", "csv", "--progress")
    assert set(pd.read_csv(io.StringIO(out))["effort"]) == {"full"}
    assert "one.second.b" in err


def test_mutants(run: Run, registered: dict[str, Claim]) -> None:
    code, out, _ = run("claims", "--mutants", "--paper", "one")
    assert code == 0
    assert out.endswith("3 of 3 mutants caught\n")
    code, out, _ = run("claims", "--mutants")
    assert code == 1
    assert "two.blind: the check DOES NOT TELL honest from broken" in out


def test_wrong_claims(run: Run, registered: dict[str, Claim]) -> None:
    assert "one of one, two" in refused(run("claims", "--paper", "three"))
    assert "no claim" in refused(run("claims", "--id", "one.sec"))
    assert "no claim" in refused(run("claims", "--paper", "two", "--id", "one.first"))
    assert "--recompute" in refused(run("claims", "--effort", "full"))


def test_a_real_claim(run: Run) -> None:
    code, out, _ = run("claims", "--recompute", "--id", "dmfa_srq.figure_1")
    assert code == 0
    assert out.startswith("dmfa_srq.figure_1 (Figure 1, as stated): reproduced\n")
    assert "1/3, 1/3, 1/2" in out
    assert run("claims", "--mutants", "--id", "dmfa_srq.figure_1")[0] == 0


# ----------------------------------------------------------------------------------------------------- traces


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Make a small trace in the published format, with a part missing."""
    folder = tmp_path / "trace"
    folder.mkdir()
    for part in (0, 2):
        lines = [
            f"{part},,{job},{task},,0,u{job},0,0,0.{job + 1},0.25,0,0\n" for job in range(3) for task in range(2 + part)
        ]
        (folder / f"task_events_part-{part:05d}-of-00500.csv").write_text("".join(lines))
    (folder / "machine_events_part-00000-of-00001.csv").write_text("0,5,0,p,0.5,0.25\n0,6,0,p,1,1\n")
    return folder


def test_traces(run: Run, trace: Path, tmp_path: Path) -> None:
    code, out, err = run("traces", "digest", trace, "--output", tmp_path / "digest")
    assert code == 0
    assert err == "fairbook: warning: 1 part(s) of task_events missing: 1\n"
    assert "12 distinct tasks of 3 jobs" in out
    assert str(tmp_path / "digest") in out
    code, out, err = run("traces", "verify", trace, "--digest", tmp_path / "digest")
    assert (code, err) == (0, "")
    assert out.endswith(f"equal to the digest in {tmp_path / 'digest'}\n")
    code, out, _ = run("traces", "show", "--digest", tmp_path / "digest")
    assert code == 0
    assert "2 of 500 (0 to 2), missing [1]" in out
    assert "2 with CPU 1.5, memory 1.25" in out
    (trace / "task_events_part-00002-of-00500.csv").write_text("0,,1,1,,0,u,0,0,0.5,0.25,0,0\n")
    said = refused(run("traces", "verify", trace, "--digest", tmp_path / "digest"))
    assert "not the file it was made of: task_events_part-00002" in said
    assert "task_events" in run("traces", "digest", trace, "--output", tmp_path / "again", "--progress")[2]


def test_the_shipped_digest_is_shown(run: Run) -> None:
    _, out, err = run("traces", "show")
    facts = fb.traces.google2011.load_digest().provenance
    assert err == ""
    assert f"{facts['counts']['distinct_tasks']}\n" in out
    assert all(entry["sha256"] in out for entry in facts["outputs"].values())


def test_wrong_traces(run: Run, tmp_path: Path) -> None:
    assert "no such file" in refused(run("traces", "digest", tmp_path / "none", "--output", tmp_path / "out"))
    assert "no task_events file" in refused(run("traces", "digest", tmp_path, "--output", tmp_path / "out"))
    assert "no task_events file" in refused(run("traces", "verify", tmp_path))
    assert "cannot be read" in refused(run("traces", "show", "--digest", tmp_path))
    assert list(tmp_path.iterdir()) == []
