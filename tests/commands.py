"""What the checks of the command line share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairbook import cli

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]


def runner(capsys: pytest.CaptureFixture[str], *command: str, main: Callable[..., int] = cli.main) -> Run:
    """Give a function that runs a command in this process and gives exit code, stdout and stderr."""

    def call(*arguments: Any) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([*command, *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def writer(folder: Path, usual: str, usually: str) -> Write:
    """Give a function that writes a CSV file, with what is usual in it and by its usual name, and gives the path."""

    def write(content: str | bytes = usual, name: str = usually) -> Path:
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def refused(outcome: tuple[int, str, str]) -> str:
    """Check that a command ended in one line of error and nothing else, and give the line."""
    code, out, err = outcome
    assert code == 2
    assert out == ""
    lines = [line for line in err.splitlines() if line.startswith("fairbook: error: ")]
    assert len(lines) == 1
    assert err.endswith(lines[0] + "\n")
    assert "Traceback" not in err
    return lines[0]


def inputs_are_kept(run: Run, arguments: list[Any], places: tuple[int, ...], option: str = "--output") -> None:
    """Check that a command does not write over the files that it reads, at these places of its arguments."""
    for path in (arguments[place] for place in places):
        before = path.read_bytes()
        line = refused(run(*arguments, option, path))
        assert f"{option} would overwrite the input" in line
        assert path.read_bytes() == before
