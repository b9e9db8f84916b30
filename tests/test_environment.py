"""The lock, pyproject.toml, environment.yml and what is installed say the same."""

import importlib.metadata
import json
import re
import sys

import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema
from jsonschema import Draft7Validator
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet

from tests.conftest import LOCK, PROJECT, ROOT, locked

CONDA = (ROOT / "environment.yml").read_text("utf8")
VERSIONS = ("3.11", "3.12", "3.13")
NEWEST = "3.14"  # for the library; the tools of the book are not tried on it


def lock_faults(text: str) -> list[str]:
    """Say what is wrong with a lock: anything but exact pins with hashes, a host, a path."""
    found: list[str] = []
    if re.search(r"https?://|^--(?:index|extra|find|trusted)|file:", text):
        found.append("the lock names a host or a place")
    bare = re.findall(r"^[a-z].*(?<!\\)$", text, flags=re.MULTILINE)
    found += [f"{line} has no hash" for line in bare]
    try:
        pinned = locked(text)
    except InvalidRequirement as error:
        return [*found, f"the lock has a line that is no pin: {error}"]
    found += [] if pinned else ["the lock is empty"]
    for name, pins in pinned.items():
        if any([s.operator for s in pin.specifier] != ["=="] or "*" in str(pin.specifier) for pin in pins):
            found.append(f"{name} is not pinned exactly")
    return found


def direct_requirements() -> list[Requirement]:
    """Return what pyproject.toml asks for, with all extras but those that set-up leaves to who wants them."""
    lines = list(PROJECT["dependencies"])
    for name, extra in PROJECT["optional-dependencies"].items():
        lines += extra if name not in ("workloads", "bench") else []
    return [Requirement(line) for line in lines]


def unmet(requirements: list[Requirement], text: str) -> list[str]:
    """Return the requirements that a lock does not meet on some Python that the project supports."""
    pins, found = locked(text), []
    for need in requirements:
        candidates = pins.get(re.sub(r"[-_.]+", "-", need.name).lower(), [])
        for python in VERSIONS:
            environment = {"python_version": python, "python_full_version": f"{python}.9"}
            fit = [pin for pin in candidates if pin.marker is None or pin.marker.evaluate(environment)]
            version = str(fit[0].specifier).removeprefix("==") if len(fit) == 1 else None
            if version is None or not need.specifier.contains(version, prereleases=True):
                found.append(f"{need} on Python {python}: {[str(pin) for pin in fit]}")
    return found


def test_lock_has_exact_pins_and_no_hosts() -> None:
    assert lock_faults(LOCK) == []


def test_lock_meets_what_the_project_asks_for() -> None:
    assert unmet(direct_requirements(), LOCK) == []


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


def test_python_is_one_that_the_project_supports() -> None:
    supported = SpecifierSet(PROJECT["requires-python"])
    assert supported.contains("{}.{}.{}".format(*sys.version_info[:3]))
    assert all(supported.contains(f"{version}.0") for version in VERSIONS)
    assert not supported.contains("3.10.13")
    classified = {c.rsplit(" ", 1)[1] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)}
    assert classified == {*VERSIONS, NEWEST}


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
    ours = {".ci/run", "make book", "make package", "pip install .", "python -W error tests/stranger.py README.md"}
    return found + sorted(runs - ours)


@pytest.mark.parametrize("name", ["check", "release"])
def test_workflows_are_valid_and_call_what_is_there(name: str) -> None:
    text = (ROOT / f".github/workflows/{name}.yml").read_text("utf8")
    assert workflow_faults(text) == []
    assert workflow_faults(text.replace("steps:", "stages:"))
    used = re.findall(r"uses: \S+", text)
    assert [one for one in used if not re.search(r"@[0-9a-f]{40}$", one)] == [], "actions are pinned by their commit"
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")


def test_binder_finds_one_environment_and_a_kernel_for_every_notebook() -> None:
    """repo2docker looks for any of these first, and then no further; its kernel is called python3."""
    others = ("binder", ".binder", "Dockerfile", "runtime.txt", "Pipfile", "setup.py", "start", "apt.txt")
    assert [name for name in others if (ROOT / name).exists()] == []
    notebooks = sorted((ROOT / "book").rglob("*.ipynb"))
    assert len(notebooks) > 5
    assert {json.loads(path.read_text("utf8"))["metadata"]["kernelspec"]["name"] for path in notebooks} == {"python3"}


@pytest.mark.parametrize(
    "line",
    ["numpy==2.0", "numpy>=2", "numpy", "--index-url https://example.org/simple", "numpy==2.*", "./b", "a @ file:///b"],
)
def test_a_loose_lock_is_noticed(line: str) -> None:
    assert lock_faults(line + "\n")


def test_an_unmet_requirement_is_noticed() -> None:
    assert unmet([Requirement("numpy>=99")], LOCK)
    assert unmet([Requirement("no-such-package")], LOCK)
    assert unmet([Requirement("numpy")], "numpy==2.0 ; python_version < '3.13'\n")
