"""The files around the package are there, parse, and agree with each other."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import fairbook

ROOT = Path(__file__).resolve().parents[1]
KEYS = ("dmfa_srq", "cbdrf", "tv_drf", "gdrf", "virtual_cluster")
FILES = [
    "README.md",
    "LICENSE",
    "LICENSE-TEXT",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "Makefile",
    "pyproject.toml",
    "requirements.txt",
    "environment.yml",
    "_config.yml",
    "_toc.yml",
    ".ci/run",
    ".gitignore",
    ".pre-commit-config.yaml",
    "fairbook/py.typed",
]
TEXT = {".py", ".md", ".toml", ".yml", ".yaml", ".txt", ".cff", ".bib", ".css", ".js", ".sh", ".ipynb", ".json", ""}


def project_files() -> list[Path]:
    """Return the text files of the project: those that git would track, or in an archive all but the usual litter."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    if shutil.which("git") and (ROOT / ".git").exists():
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
        paths = [ROOT / name for name in listed]
    else:
        litter = {
            ".venv",
            "_build",
            "build",
            "dist",
            "__pycache__",
            ".pytest_cache",
            ".mypy_cache",
            ".ruff_cache",
            ".hypothesis",
        }
        paths = [path for path in ROOT.rglob("*") if not litter & set(path.relative_to(ROOT).parts)]
    return [path for path in paths if path.is_file() and path.suffix in TEXT and ".venv" not in path.parts]


def citation_faults(text: str) -> list[str]:
    """Say what a citation file lacks of the format 1.2.0 and of what the project promises."""
    cff, found = yaml.safe_load(text), []
    found += [f"no {key}" for key in ("cff-version", "message", "title", "authors") if not cff.get(key)]
    if cff.get("cff-version") != "1.2.0":
        found.append("the format is 1.2.0")
    if cff.get("authors") != [{"name": "The fairbook developers"}]:
        found.append("the author is The fairbook developers")
    references = cff.get("references", [])
    for reference in references:
        found += [
            f"{reference.get('title')}: no {key}"
            for key in ("type", "title", "authors", "year", "journal")
            if not reference.get(key)
        ]
        people = reference.get("authors", [])
        if not all(set(person) == {"family-names", "given-names"} for person in people):
            found.append(f"{reference.get('title')}: an author without both names")
        if not isinstance(reference.get("year"), int):
            found.append(f"{reference.get('title')}: the year is a whole number")
    noted = " ".join(str(reference.get("notes")) for reference in references)
    found += [f"no reference with the key {key}" for key in KEYS if not re.search(rf"Key {key}\.", noted)]
    return found


def version_faults(version: str, citation: str, changelog: str) -> list[str]:
    """Say where the version differs from the package's."""
    cited = str(yaml.safe_load(citation).get("version"))
    found = [] if cited == version else [f"CITATION.cff says {cited}"]
    latest = re.search(r"^## \[([^\]]+)\] - (\d{4}-\d{2}-\d{2}|unreleased)$", changelog, flags=re.MULTILINE)
    if latest is None or latest[1] != version:
        found.append(f"the first entry of CHANGELOG.md is {latest and latest[1]}")
    return found


def words_that_do_not_belong(text: str) -> list[str]:
    """Return paths of someone's machine and hosts of package registries."""
    found = re.findall(r"(?:/home/|/Users/|/root/|/work/|[A-Z]:\\\\Users)[\w.-]*", text)
    hosts = ("pypi" + ".org", "pythonhosted" + ".org", "npmjs" + ".org", "anaconda" + ".org", "deb.debian" + ".org")
    return found + [host for host in hosts if host in text]


def test_files_are_there() -> None:
    assert [name for name in FILES if not (ROOT / name).is_file()] == []


def test_versions_agree() -> None:
    citation, changelog = (ROOT / "CITATION.cff").read_text("utf8"), (ROOT / "CHANGELOG.md").read_text("utf8")
    assert version_faults(fairbook.__version__, citation, changelog) == []
    assert importlib.metadata.version("fairbook") == fairbook.__version__, "`make setup` installs the package again"
    assert version_faults("9.9.9", citation, changelog) == [
        "CITATION.cff says 0.1.0",
        "the first entry of CHANGELOG.md is 0.1.0",
    ]


def test_citation() -> None:
    text = (ROOT / "CITATION.cff").read_text("utf8")
    assert citation_faults(text) == []
    for old, new in (
        ("Key tv_drf.", ""),
        ("year: 2019", "year: soon"),
        ("given-names: Jie ", "name: Jie "),
        ("1.2.0", "1.0.0"),
    ):
        assert old in text
        assert citation_faults(text.replace(old, new)), old


def test_licences() -> None:
    code, words = (ROOT / "LICENSE").read_text("utf8"), (ROOT / "LICENSE-TEXT").read_text("utf8")
    assert code.startswith("BSD 3-Clause License")
    assert "The fairbook developers" in code
    assert "Neither the name of the copyright holder" in code
    assert "https://creativecommons.org/licenses/by/4.0/legalcode" in words
    assert all(f"Section {number}" in words for number in range(1, 9))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["project"]
    assert project["license"] == "BSD-3-Clause" == yaml.safe_load((ROOT / "CITATION.cff").read_text("utf8"))["license"]
    assert project["authors"] == [{"name": "The fairbook developers"}]


def test_targets_of_make_are_documented() -> None:
    makefile = (ROOT / "Makefile").read_text("utf8")
    phony = re.search(r"^\.PHONY: (.+)$", makefile, flags=re.MULTILINE)
    assert phony
    documented = set(re.findall(r"^([a-z]+):.*## ", makefile, flags=re.MULTILINE))
    assert (
        documented
        == set(phony[1].split())
        >= {"setup", "book", "test", "bench", "execute", "results", "lock", "lint", "clean"}
    )


def test_scripts_parse_and_can_be_run() -> None:
    for name in (".ci/run", "tools/make_venv.sh"):
        assert (ROOT / name).stat().st_mode & 0o111, f"{name} is not executable"
        assert subprocess.run(["bash", "-n", str(ROOT / name)], capture_output=True).returncode == 0


def test_nothing_of_a_machine_or_a_registry_is_named() -> None:
    wrong = {}
    for path in project_files():
        found = words_that_do_not_belong(path.read_text("utf8"))
        if found and path.name != Path(__file__).name:
            wrong[str(path.relative_to(ROOT))] = found
    assert wrong == {}
    assert words_that_do_not_belong("see /" + "root/x and " + "pypi" + ".org")


def test_code_is_ascii() -> None:
    code = [path for path in project_files() if path.suffix in (".py", ".sh") or path.name == "Makefile"]
    assert len(code) > 10
    assert [str(path.relative_to(ROOT)) for path in code if not path.read_text("utf8").isascii()] == []


def test_nothing_generated_is_tracked() -> None:
    if not (shutil.which("git") and (ROOT / ".git").exists()):
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    generated = re.compile(
        r"(^|/)(\.venv|_build|__pycache__|\.mypy_cache|\.ipynb_checkpoints|\.hypothesis)/|\.egg-info/|task_events_part-"
    )
    assert [name for name in listed if generated.search(name)][:5] == []


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return zipfile.ZipFile(built).namelist()


def test_wheel_ships_the_package_its_types_its_data_and_its_licences(wheel: list[str]) -> None:
    modules = [path.relative_to(ROOT).as_posix() for path in (ROOT / "fairbook").rglob("*.py")]
    data = [p.relative_to(ROOT / "data").as_posix() for p in project_files() if p.is_relative_to(ROOT / "data")]
    assert set(modules) <= set(wheel)
    assert {f"fairbook/_data/{name}" for name in data} <= set(wheel)
    assert "fairbook/py.typed" in wheel
    assert {name.rsplit("/", 1)[1] for name in wheel if "/licenses/" in name} == {"LICENSE", "LICENSE-TEXT"}
    assert not [
        name
        for name in wheel
        if name.startswith(("tests", "tools", "book/", "data/")) or name.endswith((".nbi", ".nbc", ".pyc"))
    ]


def test_the_picture_in_the_readme_is_what_the_code_draws() -> None:
    import fairbook as fb

    run = fb.dmfa_srq(*fb.studies.dmfa_srq.instance(fb.studies.runs.stream(fb.studies.dmfa_srq.SEED, 30, 0), 30))
    drawn = fb.figures.dmfa_srq.levels(run)._repr_svg_()
    assert (ROOT / "book/assets/levels.svg").read_text("utf8") == drawn
    assert "book/assets/levels.svg" in (ROOT / "README.md").read_text("utf8")
