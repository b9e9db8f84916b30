"""The package that others install: both archives, and the wheel at work where nothing but its requirements is."""

import email
import importlib.metadata
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import fairbook
from tests.conftest import ROOT

NAME = f"fairbook-{fairbook.__version__}"


@dataclass(frozen=True)
class Built:
    """The archives built from the checkout, and those built from the unpacked source archive."""

    sdist: Path
    wheel: Path
    unpacked: Path
    again: Path


def build(source: Path, folder: Path) -> None:
    """Build both archives without a network and without an environment of their own."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("archives")
    build(ROOT, folder / "first")
    with tarfile.open(folder / "first" / f"{NAME}.tar.gz") as archive:
        # our own archive; the first releases of 3.11, Debian 12's among them, know no filter
        archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    build(folder / NAME, folder / "second")
    wheel = folder / "first" / f"{NAME}-py3-none-any.whl"
    return Built(folder / "first" / f"{NAME}.tar.gz", wheel, folder / NAME, folder / "second")


def kept() -> set[str]:
    """Return what version control keeps, or would once it is added, but for the digests that archives may not have."""
    if not (shutil.which("git") and (ROOT / ".git").exists()):
        pytest.skip("not a git checkout")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return {
        name for name in listed if (ROOT / name).is_file() and not name.startswith(("data/alibaba", "data/results"))
    }


def test_source_archive_holds_the_library_its_data_and_its_terms(built: Built) -> None:
    unpacked = {p.relative_to(built.unpacked).as_posix() for p in built.unpacked.rglob("*") if p.is_file()}
    around = {"LICENSE", "LICENSE-TEXT", "README.md", "CHANGELOG.md", "CITATION.cff", "pyproject.toml", ".gitignore"}
    assert unpacked - {"PKG-INFO"} == around | {name for name in kept() if name.startswith(("fairbook/", "data/"))}


def test_nothing_for_research_only_is_in_an_archive(built: Built) -> None:
    """Alibaba grants no more for its traces; their digests are in the repository, and named apart there."""
    names = [*zipfile.ZipFile(built.wheel).namelist(), *map(str, built.unpacked.rglob("*.*"))]
    assert [name for name in names if "data/alibaba" in name] == []
    assert sum("data/google2011" in name for name in names) == 6


def test_nothing_for_research_only_is_in_an_archive_of_the_repository() -> None:
    """Hosts offer such archives, and Zenodo keeps one for ever, under the licence that the citation names."""
    if not (shutil.which("git") and (ROOT / ".git").exists()):
        pytest.skip("not a git checkout")
    command = ["git", "archive", "--worktree-attributes", "HEAD", "data"]
    packed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        names = archive.getnames()
    assert "data/google2011.json" in names
    assert [name for name in names if name.startswith("data/alibaba")] == []


def test_the_same_sources_give_the_same_bytes(built: Built) -> None:
    """Once from the checkout, once from the source archive: other folder, other times of change."""
    for path in (built.sdist, built.wheel):
        assert path.read_bytes() == (built.again / path.name).read_bytes(), path.name


def test_wheel_ships_the_package_its_data_and_its_licences_and_nothing_else(built: Built) -> None:
    names = {name for name in zipfile.ZipFile(built.wheel).namelist() if not name.startswith(f"{NAME}.dist-info/")}
    wanted = {name.replace("data/", "fairbook/_data/", 1) if name.startswith("data/") else name for name in kept()}
    assert names == {name for name in wanted if name.startswith("fairbook/")}
    assert {"fairbook/py.typed", "fairbook/_data/README.md"} <= names


def requirements(wheel: Path) -> set[str]:
    """Return all that a wheel requires, and what that requires in turn, by normalised names."""
    head = email.message_from_bytes(zipfile.ZipFile(wheel).read(f"{NAME}.dist-info/METADATA"))
    todo, found = list(head.get_all("Requires-Dist", [])), set()
    while todo:
        need = Requirement(todo.pop())
        name = re.sub(r"[-_.]+", "-", need.name).lower()
        if name not in found and (need.marker is None or need.marker.evaluate({"extra": ""})):
            found.add(name)
            todo += importlib.metadata.distribution(name).requires or []
    return found


def empty_environment(folder: Path, wheel: Path) -> Path:
    """Make an environment with a wheel and what it requires, by links, so that nothing is fetched or copied."""
    venv.create(folder, with_pip=False, symlinks=True)
    (site,) = folder.glob("lib/python3*/site-packages")
    for name in requirements(wheel):
        installed = importlib.metadata.distribution(name)
        for top in {file.parts[0] for file in installed.files or [] if file.parts[0] not in ("..", "__pycache__")}:
            (site / top).symlink_to(Path(str(installed.locate_file(top))).resolve())
    python = folder / "bin" / "python"
    command = [sys.executable, "-m", "uv", "pip", "install", "--offline", "--no-index", "--no-deps", "--python"]
    done = subprocess.run([*command, str(python), str(wheel)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return python


def test_wheel_works_where_only_its_requirements_are(built: Built, tmp_path: Path) -> None:
    """Every module loads, and every line of the README runs, on the data that the wheel brings."""
    python, empty = empty_environment(tmp_path / "venv", built.wheel), tmp_path / "empty"
    (site,) = (tmp_path / "venv").glob("lib/python3*/site-packages")
    empty.mkdir()
    (empty / "data").symlink_to(site / "fairbook" / "_data")
    # Compiling all kernels would take most of the time, and is no question of packaging.
    ours = ("PYTHON", "FAIRBOOK", "NUMBA")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment |= {"NUMBA_DISABLE_JIT": "1", "MPLBACKEND": "Agg"}
    command = [str(python), str(ROOT / "tests" / "stranger.py"), str(ROOT / "README.md")]
    done = subprocess.run(command, cwd=empty, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert Path(said["home"]).is_relative_to(site)
    assert said["others"] == []
    assert said["blocks"] >= 1
    assert said["commands"] >= 5
    assert set(said["codes"]) == {0}
    shown = subprocess.run([str(python.with_name("fairbook")), "--version"], cwd=empty, capture_output=True, text=True)
    assert shown.stdout == f"fairbook {fairbook.__version__}\n"
