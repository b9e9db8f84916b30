"""The files around the package are there, parse, and agree with each other."""

import datetime
import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema
from jsonschema import Draft7Validator

import fairbook
from benchmarks.__main__ import SMALL
from book.common.checkout import papers
from fairbook.mechanisms.rows import registry
from tests.conftest import PROJECT, ROOT
from tools import bump

KEYS = tuple(papers("checks"))
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
            ".venv-library",
            ".venv-next",
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


#: The schema of the format 1.2.0, by its authors, as a package brings it.
SCHEMA = Draft7Validator(get_builtin_schema("vendor.citation-file-format"))


def citation_faults(text: str) -> list[str]:
    """Say what a citation file breaks of the format's official schema, and which papers it does not name."""
    cff = yaml.safe_load(text)
    asjson = {key: value.isoformat() if isinstance(value, datetime.date) else value for key, value in cff.items()}
    found = [f"{error.json_path}: {error.message}" for error in SCHEMA.iter_errors(asjson)]
    noted = " ".join(str(reference.get("notes")) for reference in cff["references"])
    return found + [f"no reference with the key {key}" for key in KEYS if not re.search(rf"Key {key}\.", noted)]


def version_faults(version: str, citation: str, changelog: str) -> list[str]:
    """Say where the version, or the date of its release, differs from the package's."""
    cff = yaml.safe_load(citation)
    found = [] if str(cff.get("version")) == version else [f"CITATION.cff says {cff.get('version')}"]
    latest = re.search(r"^## \[([^\]]+)\] - (\d{4}-\d{2}-\d{2}|unreleased)$", changelog, flags=re.MULTILINE)
    if latest is None or latest[1] != version:
        found.append(f"the first entry of CHANGELOG.md is {latest and latest[1]}")
    elif str(cff.get("date-released", "unreleased")) != latest[2]:
        found.append(f"CITATION.cff was released {cff.get('date-released')}, CHANGELOG.md says {latest[2]}")
    return found


def test_versions_agree() -> None:
    citation, changelog = (ROOT / "CITATION.cff").read_text("utf8"), (ROOT / "CHANGELOG.md").read_text("utf8")
    assert version_faults(fairbook.__version__, citation, changelog) == []
    assert importlib.metadata.version("fairbook") == fairbook.__version__, "`make setup` installs the package again"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in bump.PLACES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_one_command_writes_the_version_everywhere(copy: Path) -> None:
    def faults(version: str) -> list[str]:
        assert set(bump.versions(copy).values()) == {version}
        citation, changelog = (copy / "CITATION.cff").read_text("utf8"), (copy / "CHANGELOG.md").read_text("utf8")
        return version_faults(version, citation, changelog)

    for version, date in (("97.0", None), ("97.0", "2027-01-31"), ("98.7.6", None)):
        bump.bump(copy, version, date)
        assert faults(version) == []
        for name, key in (("codemeta.json", "datePublished"), (".zenodo.json", "publication_date")):
            said = json.loads((copy / name).read_text("utf8"))
            assert (said["version"], said.get(key)) == (version, date)
        assert citation_faults((copy / "CITATION.cff").read_text("utf8")) == []
    assert "## [98.7.6] - unreleased\n\n## [97.0] - 2027-01-31\n" in (copy / "CHANGELOG.md").read_text("utf8")


def test_citation() -> None:
    assert citation_faults((ROOT / "CITATION.cff").read_text("utf8")) == []


def test_three_formats_say_what_the_citation_says() -> None:
    for name, text in bump.descriptions((ROOT / "CITATION.cff").read_text("utf8")).items():
        assert (ROOT / name).read_text("utf8") == text, "`python tools/bump.py` writes both again"
        assert {"version", "description", "license", "keywords"} <= set(json.loads(text))
        for paper in yaml.safe_load((ROOT / "CITATION.cff").read_text("utf8"))["references"]:
            said = (paper["title"], paper["journal"], str(paper.get("end", "")), bump.doubts(paper))
            assert [one for one in said if one not in text] == [], "a guess must not pass for a fact"


def test_the_entry_for_latex_says_what_the_citation_says() -> None:
    cff, page = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf8")), (ROOT / "book/cite.md").read_text("utf8")
    fields = dict(re.findall(r"^  (\w+) += \{(.+?)\},?$", re.sub(r"\n {4,}", " ", page), flags=re.MULTILINE))
    released = str(cff.get("date-released", yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))["copyright"]))
    author = f"{{{cff['authors'][0]['name']}}}"
    expected = {"author": author, "title": cff["title"], "year": released[:4], "license": bump.LICENCE}
    assert fields == expected | {"version": "VERSION"}


def test_licences() -> None:
    code, words = (ROOT / "LICENSE").read_text("utf8"), (ROOT / "LICENSE-TEXT").read_text("utf8")
    assert code.startswith("BSD 3-Clause License")
    assert "https://creativecommons.org/licenses/by/4.0/legalcode" in words
    # A package states all that is in it, joined by AND. A list in CITATION.cff would mean OR, so it names the code's.
    terms = PROJECT["license"].split(" AND ")
    assert terms == ["BSD-3-Clause", "CC-BY-4.0"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf8"))
    assert citation["license"] == terms[0]
    assert PROJECT["license"] == bump.LICENCE
    assert bump.LICENCE in citation["message"]
    assert "for research or study purpose" in (ROOT / "data/README.md").read_text("utf8")


@pytest.mark.parametrize(("told", "kept"), [(None, False), ("of another\n", False), ("its own", True)])
def test_an_environment_that_was_not_finished_is_made_again(told: str | None, kept: bool, tmp_path: Path) -> None:
    """`kill -9` leaves an interpreter, perhaps without pip, and nothing that says of which Python it is."""
    python = tmp_path / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    origin = f"{tmp_path}\n{sys.base_prefix} {sys.version.split()[0]}\n" if told == "its own" else told
    if origin:
        (tmp_path / ".venv/.origin").write_text(origin, "utf8")
    subprocess.run([ROOT / "tools/make_venv.sh", "--check", ".venv", ""], cwd=tmp_path, check=True)
    assert python.exists() == kept


def test_nothing_of_a_machine_or_a_registry_is_named() -> None:
    own = r"(?:/home/|/Users/|/root/|/work/|[A-Z]:\\\\Users)[\w.-]|(?:pypi|pythonhosted|npmjs|anaconda)\.org"
    texts = {path: path.read_text("utf8") for path in project_files() if path.name != Path(__file__).name}
    assert {str(path): found for path, text in texts.items() if (found := re.findall(own, text))} == {}


def test_the_picture_in_the_readme_is_what_the_code_draws() -> None:
    import fairbook as fb
    from book.common.runs import stream
    from book.dmfa_srq import figures, studies

    demands, weights = studies.instance(stream(studies.SEED, 30, 0), 30)
    run = fb.dmfa_srq(demands, weights=weights)
    drawn = figures.levels(run)._repr_svg_()
    assert (ROOT / "book/assets/levels.svg").read_text("utf8") == drawn
    assert "book/assets/levels.svg" in (ROOT / "README.md").read_text("utf8")


def test_every_mechanism_has_a_limit_in_the_benchmarks() -> None:
    assert {registry[name].kind for name in SMALL} == {row.kind for row in registry.values()}
