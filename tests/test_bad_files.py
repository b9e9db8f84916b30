"""Files that are not what they should be, places where nothing can be written, and inputs that want to be more."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from fairbook import files
from fairbook.files import write_whole
from tests.commands import run

USERS = "user,cpu\nann,1\nbob,2\n"
CPU = "--capacity=cpu=9"


def _kept(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# ---------------------------------------------------------------------------------------------------- writing


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
