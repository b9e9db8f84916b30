"""Files that are not what they should be, places where nothing can be written, and inputs that want to be more."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairbook import files
from fairbook.files import write_whole
from tests.commands import refused, run

USERS = "user,cpu\nann,1\nbob,2\n"
CPU = "--capacity=cpu=9"


def _kept(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# ---------------------------------------------------------------------------------------------------- writing


#: What may stand where a file is to be written: how it is made.
NO_FILES: dict[str, Callable[[Path], Any]] = {
    "folder": Path.mkdir,
    "read-only": lambda target: target.write_bytes(b"old"),
}


@pytest.mark.parametrize("kind", NO_FILES)
def test_what_is_no_file_is_not_replaced(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out.csv"
    NO_FILES[kind](target)
    if kind == "read-only":
        monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # nothing is read-only to root
    before, mode = _kept(tmp_path), os.lstat(target).st_mode
    with pytest.raises(OSError, match=r"out\.csv"):
        write_whole({tmp_path / "first.csv": b"new", target: b"new"})
    assert _kept(tmp_path) == before  # not the first one either
    assert os.lstat(target).st_mode == mode
    assert kind != "read-only" or target.read_bytes() == b"old"


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize("fails", ["fsync", "replace"])
def test_a_write_that_fails_leaves_whole_files_and_nothing_else(
    fails: str, after: int, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "ab":
        (tmp_path / name).write_bytes(b"old")
    real, calls = getattr(os, fails), []

    def failing(*given: Any, **more: Any) -> Any:
        calls.append(given)
        if len(calls) > after:
            raise error
        return real(*given, **more)

    monkeypatch.setattr(files.os, fails, failing)
    with pytest.raises(type(error)):
        write_whole({tmp_path / "a": b"new", tmp_path / "b": b"new"})
    assert _kept(tmp_path) == ["a", "b"]
    # the first may be in its place before the second fails to get there, which is the one that vouches for it
    assert (tmp_path / "a").read_bytes() == (b"new" if fails == "replace" and after else b"old")
    assert (tmp_path / "b").read_bytes() == b"old"


# ---------------------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize("place", ["missing.csv", "a" * 5000, "folder", "users.csv/x"])
def test_a_place_without_a_file_is_an_error(place: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("users.csv").write_text(USERS)
    refused(run("allocate", CPU, place))
    for command in ("digest", "verify"):
        extra = ["--output", "out"] if command == "digest" else []
        if place not in ("folder", "users.csv"):
            refused(run("traces", command, place, *extra))
    before = _kept(tmp_path)
    if place != "missing.csv":
        refused(run("allocate", CPU, "users.csv", "--output", place if place.endswith(".csv") else f"{place}/no/x.csv"))
    assert _kept(tmp_path) == before


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


# --------------------------------------------------------------------------------------------- records, states


# ------------------------------------------------------------------------------------------ nothing is executed
