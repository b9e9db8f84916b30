"""The lock, pyproject.toml, environment.yml and what is installed say the same."""

import importlib.metadata
import re
import sys

import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema
from jsonschema import Draft7Validator
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tests.conftest import LOCK, PROJECT, ROOT, locked

CONDA = (ROOT / "environment.yml").read_text("utf8")
VERSIONS = ("3.11", "3.12", "3.13", "3.14")


def test_one_version_of_everything_on_every_python() -> None:
    """Pages show the same numbers on 3.11 and 3.13 only if the same libraries computed them."""
    assert [name for name, pins in locked(LOCK).items() if len(pins) > 1] == []


def test_what_is_installed_is_what_is_locked() -> None:
    wrong = []
    for name, pins in locked(LOCK).items():
        for pin in pins:
            if pin.marker is None or pin.marker.evaluate():
                try:
                    version = importlib.metadata.version(name)
                except importlib.metadata.PackageNotFoundError:
                    version = "missing"
                if not pin.specifier.contains(version, prereleases=True):
                    wrong.append(f"{pin}: {version}")
    assert wrong == [], "`make setup` installs the lock"


def test_the_newest_sphinx_is_held_back_by_nobody() -> None:
    """What Jupyter Book or our own pins hold of Sphinx and its extensions, `make next` lets go."""
    free = set(re.findall(r"^[\w-]+$", (ROOT / "tools/newest.txt").read_text("utf8"), flags=re.MULTILINE))
    asked = [*(importlib.metadata.requires("jupyter-book") or []), *PROJECT["optional-dependencies"]["book"]]
    held = {need.name for need in map(Requirement, asked) if need.specifier and need.marker is None}
    assert {name for name in held if name.startswith(("sphinx", "myst"))} - free == set()


def test_python_is_one_that_the_project_supports() -> None:
    supported = SpecifierSet(PROJECT["requires-python"])
    assert supported.contains("{}.{}.{}".format(*sys.version_info[:3]))
    assert all(supported.contains(f"{version}.0") for version in VERSIONS)
    assert not supported.contains("3.10.13")
    classified = {c.rsplit(" ", 1)[1] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)}
    assert classified == {*VERSIONS}


def test_conda_environment_agrees() -> None:
    """Python and pip only, the rest comes from the lock; Binder looks for ``python=X.Y``, and else takes its own."""
    found = yaml.safe_load(CONDA)
    python = found["dependencies"].pop(0)
    assert python.removeprefix("python=") in VERSIONS
    assert found == {
        "name": PROJECT["name"],
        "channels": ["conda-forge"],
        "dependencies": ["pip", {"pip": ["-r requirements.txt"]}],
    }
    assert "pip install --no-deps --no-build-isolation -e ." in (ROOT / "postBuild").read_text("utf8")


def workflow_faults(text: str) -> list[str]:
    """Say where a workflow breaks the schema of its host, leaves out a Python, or runs what is not there."""
    flow = yaml.safe_load(text)
    schema = Draft7Validator(get_builtin_schema("vendor.github-workflows"))
    found = [error.message for error in schema.iter_errors({"on" if key is True else key: flow[key] for key in flow})]
    if found:
        return found
    runs = {step["run"] for job in flow["jobs"].values() for step in job["steps"] if "run" in step}
    if "check" in flow["jobs"] and flow["jobs"]["check"]["strategy"]["matrix"]["python"] != list(VERSIONS):
        found.append("another Python")
    ours = {".ci/run", "make book", "make next", "make package", "pip install ."}
    ours |= {"python -W error tests/stranger.py README.md", "make library RESOLUTION=${{ matrix.resolution }}"}
    return found + sorted(runs - ours)


@pytest.mark.parametrize("name", ["check", "release"])
def test_workflows_are_valid_and_call_what_is_there(name: str) -> None:
    text = (ROOT / f".github/workflows/{name}.yml").read_text("utf8")
    assert workflow_faults(text) == []
    assert workflow_faults(text.replace("steps:", "stages:"))
    used = re.findall(r"uses: \S+", text)
    assert [one for one in used if not re.search(r"@[0-9a-f]{40}$", one)] == [], "actions are pinned by their commit"
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")
