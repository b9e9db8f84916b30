"""Types and style: mypy and ruff find nothing."""

import subprocess
import sys

import pytest

from tests.conftest import ROOT


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=600)


@pytest.mark.slow
def test_types() -> None:
    done = run("mypy")
    assert done.returncode == 0, done.stdout + done.stderr


def test_style() -> None:
    done = run("ruff", "check", "--no-cache", ".")
    assert done.returncode == 0, done.stdout + done.stderr
