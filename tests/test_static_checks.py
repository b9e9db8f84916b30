"""Types and style: mypy and ruff find nothing, and would find something."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, SHARE, KeepTogether

UNTYPED = "def f(x):\n    return x\n\n\ny: int = 'a'\n"
UNTIDY = "import os\nl=[1,2 ]\nassert (l, 'always true')\n"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=600)


@pytest.mark.slow
def test_types() -> None:
    done = run("mypy")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_types_that_are_wrong_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(UNTYPED)
    done = run("mypy", "--cache-dir", str(tmp_path / "cache"), str(tmp_path / "wrong.py"))
    assert "no-untyped-def" in done.stdout
    assert "Incompatible types" in done.stdout


def test_style() -> None:
    done = run("ruff", "check", "--no-cache", ".")
    assert done.returncode == 0, done.stdout + done.stderr


def test_style_that_is_wrong_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(UNTIDY)
    done = run("ruff", "check", "--no-cache", "--config", str(ROOT / "pyproject.toml"), str(tmp_path / "wrong.py"))
    assert all(code in done.stdout for code in ("F401", "F631")), done.stdout


def test_what_is_dear_is_made_by_one_worker() -> None:
    """The book, of which one check in a file of others may have need, and what the checks of some files share."""

    def scope(nodeid: str) -> str:
        return KeepTogether._split_scope(None, nodeid)  # type: ignore[arg-type]

    with_book = ("api_pages", "accessibility", "book_build", "claims_page", "pages_in_browser", "pdf")
    assert {scope(f"tests/test_{name}.py::test_x") for name in with_book} == {"the built book"}
    for name in SHARE:
        assert (ROOT / "tests" / name).is_file()
        assert scope(f"tests/{name}::test_x") == f"tests/{name.replace('_shown', '')}"
    check = "tests/test_claims.py::test_the_check_gives_the_stored_verdict_and_can_fail"
    assert {scope(f"{check}[gdrf.figure1.{name}]") for name in ("more", "steady")} == {"claims of gdrf"}
    assert scope("tests/test_drf.py::test_x") == "tests/test_drf.py::test_x"
    # scattered over workers, the cells of a notebook run in kernels that have not seen each other's names
    assert scope("book/a.ipynb::Cell 0") == scope("book/a.ipynb::Cell 1") != scope("book/b.ipynb::Cell 0")
