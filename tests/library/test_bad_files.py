"""Files that are not what they should be, places where nothing can be written, and inputs that want to be more."""

import errno
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fairbook as fb
from fairbook import files
from fairbook.files import write_whole
from tests.commands import PERIODS, ROOT, refused, run

USERS = "user,cpu\nann,1\nbob,2\n"
CPU = "--capacity=cpu=9"


def _kept(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# ---------------------------------------------------------------------------------------------------- writing


def test_what_is_no_file_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    users, folder, old = tmp_path / "users.csv", tmp_path / "folder.csv", tmp_path / "old.csv"
    users.write_text(USERS)
    folder.mkdir()
    old.write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # nothing is read-only to root
    for target in (folder, old):
        with pytest.raises(OSError, match=target.name):
            write_whole({tmp_path / "first.csv": b"new", target: b"new"})
        said = refused(run("allocate", CPU, users, "--output", target))
        assert f"{target.name}: Not a file that may be written" in said
    assert _kept(tmp_path) == ["folder.csv", "old.csv", "users.csv"]  # nor the first one
    assert old.read_bytes() == b"old"


def test_inputs_are_never_overwritten_and_places_must_be_there(tmp_path: Path) -> None:
    given = PERIODS.given(tmp_path)
    (tmp_path / "link.csv").symlink_to(tmp_path / "machines.csv")
    os.link(tmp_path / "demands.csv", tmp_path / "hard.csv")
    for name in ("demands", "machines", "link", "hard", "./demands"):
        assert "--output would overwrite the input" in refused(run(*given, "--output", f"{tmp_path}/{name}.csv"))
    assert "/no/x.csv: No such file" in refused(run(*given, "--output", tmp_path / "no" / "x.csv"))
    assert _kept(tmp_path) == ["demands.csv", "hard.csv", "link.csv", "machines.csv"]


def test_links_and_permissions_survive(tmp_path: Path) -> None:
    target, link = tmp_path / "old.csv", tmp_path / "link.csv"
    target.write_text("old")
    target.chmod(0o604)
    link.symlink_to("old.csv")
    write_whole({link: b"new"})
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == 0o604


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("after", [0, 1])
def test_a_write_that_fails_leaves_whole_files_and_nothing_else(
    after: int, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets = {tmp_path / name: b"new" for name in "ab"}
    for path in targets:
        path.write_bytes(b"old")
    real, outcomes = os.replace, [None] * after + [error]

    def failing(*given: Any) -> None:
        if outcome := outcomes.pop(0):
            raise outcome
        real(*given)

    monkeypatch.setattr(files.os, "replace", failing)
    with pytest.raises(type(error)):
        write_whole(targets)
    # the first may be in its place before the second fails to get there, which is the one that vouches for it
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "a": b"new" if after else b"old",
        "b": b"old",
    }


# ---------------------------------------------------------------------------------------------------- reading


def test_files_that_unpack_to_gigabytes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_UNPACKED", 2**20)
    users, bomb = tmp_path / "users.csv.gz", tmp_path / "bomb.json.gz"
    users.write_bytes(gzip.compress(USERS.encode()))
    bomb.write_bytes(gzip.compress(b" " * 2**21))
    assert run("allocate", CPU, users)[0] == 0
    assert "bomb.json.gz: Unpacks to more than" in refused(run("allocate", CPU, bomb))
    with pytest.raises(OSError, match="Unpacks to more than"):
        fb.read_export(bomb)


def test_a_closed_stdout_is_told(tmp_path: Path) -> None:
    words = f"{sys.executable} -m fairbook completion bash >&-"
    done = subprocess.run(["bash", "-c", words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "fairbook: error: stdout is closed, and nothing could be told\n")


def test_quantities_of_kubernetes_in_a_table(tmp_path: Path) -> None:
    path, out = tmp_path / "users.csv", tmp_path / "out.json"
    path.write_text("user,cpu,memory\nann,500m,512Mi\nbob,2,0\nnil,0,0\n")
    assert run("allocate", path, "--capacity", "cpu=4500m", "memory=1Gi", "--output", out)[0] == 0
    told = [(one["tasks"], one["use_memory"]) for one in json.loads(out.read_text())["users"]]
    ann, bob = fb.drf([[0.5, 0.5], [2, 0]], capacities=[4.5, 1]).tasks
    assert told == [pytest.approx(row) for row in ((ann, ann / 2), (bob, 0), (0, 0))]  # who asks for nothing is a user


def test_no_cell_is_a_formula_to_a_spreadsheet(tmp_path: Path) -> None:
    names = ["=1+1", "+cmd|' /C calc'!A0", "@SUM(A1)", "-x", "\uff1d1+1", "-2", "a=1"]
    path, out = tmp_path / "users.csv", tmp_path / "out.csv"
    path.write_text("user,cpu\n" + "".join(f"{name},1\n" for name in names), "utf8")
    assert run("allocate", CPU, path, "--output", out)[0] == 0
    expected = [f"'{name}" for name in names[:5]] + names[5:]
    assert [line.split(",")[0] for line in out.read_text("utf8").splitlines()[1:]] == expected
    assert run("allocate", CPU, path, "--output", "-")[1] == out.read_text("utf8")
    assert run("allocate", CPU, path, "--output", out.with_suffix(".json"))[0] == 0
    assert [row["user"] for row in json.loads(out.with_suffix(".json").read_text("utf8"))["users"]] == names


# ------------------------------------------------------------------------------------------ nothing is executed

#: Runs commands on damaged tables twice, the second time with an ear on the interpreter; then something it must hear.
_WATCH = """
import os, pathlib, random, sys, tempfile
sys.path.insert(0, sys.argv[1])
from tests import fuzz

FORBIDDEN = ("os.system", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "pty.", "socket.",
             "urllib.", "http.", "ftplib.", "smtplib.", "webbrowser.", "pickle.", "marshal.", "ctypes.dlopen", "exec",
             "compile", "import", "code.__new__", "os.link", "os.symlink")
seen, watching = [], False

def hook(event, given):
    if watching and event.startswith(FORBIDDEN):
        seen.append((event, str(given)[:200]))

sys.addaudithook(hook)
for turn in range(2):
    for name in fuzz.COMMANDS:
        for seed in range(6):
            with tempfile.TemporaryDirectory() as folder:
                watching = turn == 1  # what the commands need is loaded and compiled by then
                fuzz.try_command(name, random.Random(seed), pathlib.Path(folder))
                watching = False
print(seen)
watching = True
eval("1")
os.system("true")
watching = False
print(sorted({event for event, _ in seen}))
"""


def test_no_input_is_executed_fetched_or_unpickled(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WATCH, ROOT], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-2:] == ["[]", "['compile', 'exec', 'os.system']"]
    assert _kept(tmp_path) == []
