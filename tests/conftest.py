"""What all checks share: one environment, one built book, one browser, and which checks run on the same worker."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from packaging.requirements import Requirement
from xdist.scheduler import LoadScopeScheduling

from fairbook.mechanisms import registry
from tests.visits import Visit, visit
from tools import execute
from tools.chromium import Chromium, find_chromium

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["project"]
LOCK = (ROOT / "requirements.txt").read_text("utf8")

# Notebooks are compared under the very environment that they were executed in.
os.environ.update(execute.ENVIRONMENT)
matplotlib.use("Agg")

#: Files whose checks share what is dear to make: archives, a cluster, tables, drawings. Two workers would make two.
SHARE = {
    "test_figures.py", "test_notebooks_guard.py", "test_package.py",
    "test_studies_compare.py", "test_studies_gdrf.py", "test_studies_virtual_cluster.py", "test_sweeps.py",
}  # fmt: skip


@cache
def needs_the_book(file: str) -> bool:
    """Tell whether a file has a check that asks for the built book, which takes a minute to build."""
    path = ROOT / file
    return Path(__file__).parent in path.parents and bool(
        re.search(r"\b(book: Book|visited: )", path.read_text(encoding="utf8"))
    )


class KeepTogether(LoadScopeScheduling):
    """Deal out checks one by one, but keep on one worker what shares something that takes long to make."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        if needs_the_book(file):
            return "the built book"
        if claim := re.search(r"test_claims\.py::test_the_check\w+\[(\w+)\.", nodeid):
            return f"claims of {claim[1]}"  # of one paper many take the same runs
        return file if file.endswith(".ipynb") or Path(file).name in SHARE else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> KeepTogether:
    """Use the scheduler above, whatever ``--dist`` says. (xdist's own groups do not take effect under pytest 9.2.)"""
    return KeepTogether(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Let kernels be compiled once, before there are workers: each would run them plain for long, and then compile."""
    config = session.config
    names = list(registry)
    whole = set(config.args) == set(config.getini("testpaths")) and not config.option.keyword
    if whole and getattr(config.option, "numprocesses", None):  # where there are to be workers, and in none of them
        parts = [subprocess.Popen([sys.executable, "-m", "fairbook", "warm", *names[k::3]], cwd=ROOT) for k in range(3)]
        for one in parts:  # what fails here, a test will tell
            one.wait()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what checks claims again or runs experiments, of whatever chapter."""
    for item in items:
        if re.search(r"test_studies\w*\.py|test_claims\.py::test_the_check", item.nodeid):
            item.add_marker("slow")


@dataclass(frozen=True)
class Book:
    """The book as built for this run: its pages, what the build printed, and how it ended."""

    html: Path
    output: str
    code: int


def build(source: Path, folder: Path) -> Book:
    """Build a book in a process of its own, warnings being errors."""
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from pathlib import Path; from tools.build_book import build\n"
    )
    script += f"build(Path({str(source)!r}), Path({str(folder)!r}))"
    done = subprocess.run([sys.executable, "-c", script], cwd=source, capture_output=True, text=True, timeout=600)
    return Book(folder / "_build" / "html", done.stdout + done.stderr, done.returncode)


def toc_files() -> list[str]:
    """Return the pages that the table of contents names, the root first."""
    return re.findall(r"(?:root|file): (\S+)", (ROOT / "_toc.yml").read_text("utf8"))


def locked(text: str) -> dict[str, list[Requirement]]:
    """Return the pins of a lock by normalised name."""
    found: dict[str, list[Requirement]] = {}
    for line in re.sub(r"(?: \\\n +--hash=sha256:[0-9a-f]{64})+", "", text).splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            pin = Requirement(line)
            found.setdefault(re.sub(r"[-_.]+", "-", pin.name).lower(), []).append(pin)
    return found


@pytest.fixture(scope="session")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """Return the book, built once from the present sources."""
    return build(ROOT, tmp_path_factory.mktemp("book"))


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """Yield a headless browser without a network; skip where there is none."""
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium on the PATH, and CHROMIUM names none: pages were NOT opened in a browser")
    with Chromium(program) as browser:
        yield browser


@pytest.fixture(scope="session")
def visited(book: Book, chromium: Chromium) -> Callable[[str], Visit]:
    """Return a function that gives what was seen on a page of the book; each page is opened once."""
    seen: dict[str, Visit] = {}
    judged: dict[str, list[str]] = {}

    def look_at(name: str) -> Visit:
        if name not in seen:
            seen[name] = visit(chromium, (book.html / name).as_uri(), judged)
        return seen[name]

    return look_at


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let numpy refuse int64 where it needs its own index, as it does where that has 32 bits.

    There the two are different types; here long long, which is another type for numpy, stands for int64.
    """

    def refusing(function: Callable[..., Any], place: int) -> Callable[..., Any]:
        def call(*args: Any, **how: Any) -> Any:
            assert np.asarray(args[place]).dtype.char != "q", f"{function.__name__} takes no int64 with 32 bits"
            return function(*args, **how)

        return call

    monkeypatch.setattr(np, "repeat", refusing(np.repeat, 1))
    monkeypatch.setattr(np, "bincount", refusing(np.bincount, 0))
    monkeypatch.setattr(np, "int64", np.longlong)
