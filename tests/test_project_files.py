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
from book.common.checkout import papers
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
    """Say what a citation file breaks of the format's official schema, and of what the project promises."""
    cff = yaml.safe_load(text)
    asjson = {key: value.isoformat() if isinstance(value, datetime.date) else value for key, value in cff.items()}
    found = [f"{error.json_path}: {error.message}" for error in SCHEMA.iter_errors(asjson)]
    if cff.get("authors") != [{"name": "The fairbook developers"}]:
        found.append("the author is The fairbook developers")
    references = cff.get("references", [])
    for reference in references:  # the schema asks for title and authors
        found += [
            f"{reference['title']}: no {key}"
            for key, kind in (("year", int), ("journal", str))
            if not isinstance(reference.get(key), kind)
        ]
        if not all(set(person) == {"family-names", "given-names"} for person in reference["authors"]):
            found.append(f"{reference['title']}: an author without both names")
    noted = " ".join(str(reference.get("notes")) for reference in references)
    found += [f"no reference with the key {key}" for key in KEYS if not re.search(rf"Key {key}\.", noted)]
    return found


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


def stated_versions(text: str) -> list[str]:
    """Return where a text states a version of the package, which only the files of the bump may do."""
    return re.findall(r"fairbook(?:==|-| v?)\d+\.\d+\.\d+", text)


def words_that_do_not_belong(text: str) -> list[str]:
    """Return paths of someone's machine and hosts of package registries."""
    found = re.findall(r"(?:/home/|/Users/|/root/|/work/|[A-Z]:\\\\Users)[\w.-]*", text)
    hosts = ("pypi" + ".org", "pythonhosted" + ".org", "npmjs" + ".org", "anaconda" + ".org", "deb.debian" + ".org")
    return found + [host for host in hosts if host in text]


def test_versions_agree() -> None:
    citation, changelog = (ROOT / "CITATION.cff").read_text("utf8"), (ROOT / "CHANGELOG.md").read_text("utf8")
    assert version_faults(fairbook.__version__, citation, changelog) == []
    assert importlib.metadata.version("fairbook") == fairbook.__version__, "`make setup` installs the package again"
    assert version_faults("9.9.9", citation, changelog) == [
        f"CITATION.cff says {fairbook.__version__}",
        f"the first entry of CHANGELOG.md is {fairbook.__version__}",
    ]


def test_no_other_file_states_a_version() -> None:
    """The records in data/ say which version made them, which stays true."""
    texts = {path.relative_to(ROOT).as_posix(): path.read_text("utf8") for path in project_files()}
    assert {name: found for name, text in texts.items() if (found := stated_versions(text))} == {}
    assert stated_versions("pip install fairbook" + "==0.1.0 and fairbook" + " 0.1.0")


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

    present = fairbook.__version__
    # from a version not yet released, whatever the project's own is by now
    latest = re.compile(r"^(## \[[^\]]+\]) - \S+$", flags=re.MULTILINE)
    before = latest.sub(r"\1 - unreleased", (copy / "CHANGELOG.md").read_text("utf8"), count=1)
    (copy / "CHANGELOG.md").write_text(before)
    bump.bump(copy, "97.0")
    assert faults("97.0") == []
    renamed = before.replace(f"## [{present}] - unreleased", "## [97.0] - unreleased")
    assert (copy / "CHANGELOG.md").read_text("utf8") == renamed
    bump.bump(copy, "97.0", "2027-01-31")
    assert faults("97.0") == []
    for name, key in (("codemeta.json", "datePublished"), (".zenodo.json", "publication_date")):
        said = json.loads((copy / name).read_text("utf8"))
        assert (said["version"], said[key]) == ("97.0", "2027-01-31")
    assert "date-released: 2027-01-31" in (copy / "CITATION.cff").read_text("utf8")
    assert citation_faults((copy / "CITATION.cff").read_text("utf8")) == []
    bump.bump(copy, "98.7.6")
    assert faults("98.7.6") == []
    assert "## [98.7.6] - unreleased\n\n## [97.0] - 2027-01-31\n" in (copy / "CHANGELOG.md").read_text("utf8")
    assert "date-released" not in (copy / "CITATION.cff").read_text("utf8")
    assert before.split("\n## [")[1].split("\n", 1)[1] in (copy / "CHANGELOG.md").read_text("utf8")
    bump.bump(copy, "98.7.6", "2027-02-28")
    assert faults("98.7.6") == []
    (copy / "CITATION.cff").write_text((copy / "CITATION.cff").read_text("utf8").replace("2027-02-28", "2027-03-01"))
    assert faults("98.7.6") == ["CITATION.cff was released 2027-03-01, CHANGELOG.md says 2027-02-28"]


def test_citation() -> None:
    text = (ROOT / "CITATION.cff").read_text("utf8")
    assert citation_faults(text) == []
    for old, new in (
        ("Key tv_drf.", ""),
        ("year: 2019", "year: soon"),
        ("given-names: Jie ", "name: Jie "),
        ("1.2.0", "1.0.0"),
        ("type: software", "type: program"),
        ("license: BSD-3-Clause", "license: BSD"),
        ('journal: "Journal on Communications"', "journal: 7"),
        ("message:", "massage:"),
    ):
        assert old in text
        assert citation_faults(text.replace(old, new)), old


def test_three_formats_say_what_the_citation_says() -> None:
    for name, text in bump.descriptions((ROOT / "CITATION.cff").read_text("utf8")).items():
        assert (ROOT / name).read_text("utf8") == text, "`python tools/bump.py` writes both again"
        assert {"version", "description", "license", "keywords"} <= set(json.loads(text))


def test_licences() -> None:
    code, words = (ROOT / "LICENSE").read_text("utf8"), (ROOT / "LICENSE-TEXT").read_text("utf8")
    assert code.startswith("BSD 3-Clause License")
    assert "The fairbook developers" in code
    assert "Neither the name of the copyright holder" in code
    assert "https://creativecommons.org/licenses/by/4.0/legalcode" in words
    assert all(f"Section {number}" in words for number in range(1, 9))
    # A package states all that is in it, joined by AND. A list in CITATION.cff would mean OR, so it names the code's.
    terms = PROJECT["license"].split(" AND ")
    assert terms == ["BSD-3-Clause", "CC-BY-4.0"]
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text("utf8"))["license"] == terms[0]
    data = (ROOT / "data/README.md").read_text("utf8")
    assert "for research or study purpose" in data
    assert "https://creativecommons.org/licenses/by/4.0/" in data
    assert PROJECT["authors"] == [{"name": "The fairbook developers"}]


def test_targets_of_make_are_documented() -> None:
    makefile = (ROOT / "Makefile").read_text("utf8")
    phony = re.search(r"^\.PHONY: (.+)$", makefile, flags=re.MULTILINE)
    assert phony
    documented = set(re.findall(r"^([a-z]+):.*## ", makefile, flags=re.MULTILINE))
    assert (
        documented
        == set(phony[1].split())
        >= {"setup", "book", "test", "bench", "execute", "results", "lock", "lint", "package", "bump", "clean"}
    )


def test_scripts_parse_and_can_be_run() -> None:
    for name in (".ci/run", "postBuild", "tools/fresh.sh", "tools/make_venv.sh"):
        assert (ROOT / name).stat().st_mode & 0o111, f"{name} is not executable"
        assert subprocess.run(["bash", "-n", str(ROOT / name)], capture_output=True).returncode == 0


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


def test_the_picture_in_the_readme_is_what_the_code_draws() -> None:
    import fairbook as fb
    from book.common.runs import stream
    from book.dmfa_srq import figures, studies

    demands, weights = studies.instance(stream(studies.SEED, 30, 0), 30)
    run = fb.dmfa_srq(demands, weights=weights)
    drawn = figures.levels(run)._repr_svg_()
    assert (ROOT / "book/assets/levels.svg").read_text("utf8") == drawn
    assert "book/assets/levels.svg" in (ROOT / "README.md").read_text("utf8")
