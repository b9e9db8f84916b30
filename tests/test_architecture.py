"""The import direction: data flows one way, and no module runs back against it or past the hash of its sources."""

from __future__ import annotations

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "fairbook"

#: Each room (a module or a folder of the package) with the other rooms that it may import.
MAY: dict[str, set[str]] = {
    "errors": set(),
    "_decimals": set(),
    "files": set(),
    "tables": {"errors"},
    "model": {"_decimals", "errors"},
    "placement": {"errors", "model"},
    "clusters": {"errors", "model"},
    "mechanisms": {"_decimals", "files", "clusters", "errors", "model", "placement"},
    "oracles": {"clusters", "errors", "model", "placement"},
    "smt": {"errors", "model"},
    "metrics": {"errors", "model"},
    "traces": {"files", "errors"},
    "properties": {"clusters", "errors", "mechanisms", "metrics", "model", "oracles", "placement"},
    "results": {"files", "errors", "traces"},
    "sweeps": {"errors", "results", "traces"},
    "studies": {"clusters", "errors", "mechanisms", "metrics", "model", "oracles", "placement", "properties", "results",
                "sweeps", "traces"},
    "claims": {"clusters", "errors", "mechanisms", "metrics", "model", "oracles", "placement", "properties", "results",
               "smt", "studies", "tables", "traces"},
    "figures": {"errors", "model"},
    "cli": {"files", "claims", "clusters", "errors", "figures", "model", "placement", "results", "studies", "sweeps",
            "tables", "traces"},
    "__main__": {"cli"},
}
#: Rooms that look others up by name at run time, which no table can follow; what they compute is hashed elsewhere.
BY_NAME = {"cli", "claims", "results", "smt"}  # smt only looks for z3

CHAIN = re.compile(r"^ {4}(model -> .+ -> pages)$", re.MULTILINE)


def is_module(name: str) -> bool:
    base = PACKAGE.joinpath(*name.split(".")[1:])
    return base.with_suffix(".py").is_file() or (base / "__init__.py").is_file()


def faults(path: str, text: str) -> list[str]:
    """List what a source, at a path below the package, imports against the rules."""
    parts = path.removesuffix(".py").split("/")
    room, package = parts[0], ["fairbook", *parts[:-1]]
    if room not in MAY:
        return [f"{room} is no room of the table"]
    tree, found, tops = ast.parse(text), [], set()
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "fairbook":
                    names.append(alias.name)
                    if alias.name == "fairbook" or not alias.asname:
                        tops.add(alias.asname or "fairbook")
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            if source == "fairbook":
                for alias in node.names:
                    if is_module(f"fairbook.{alias.name}"):
                        names.append(f"fairbook.{alias.name}")
                    else:
                        found.append(f"takes {alias.name} from the top of the package")
            elif source.startswith("fairbook."):
                names.append(source)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for name in names:
                other = name.split(".")[1] if "." in name else room
                if other != room and other not in MAY[room]:
                    found.append(f"imports {other}")
            loaded = [alias.name for alias in node.names] + [getattr(node, "module", None)]
            if "importlib" in loaded and room not in BY_NAME:
                found.append("imports by name")
    # The hash of sources follows imports of modules; names taken through the top of the package would escape it.
    for node in ast.walk(tree) if room != "cli" else ():
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in tops:
            if not is_module(f"fairbook.{node.attr}") and node.attr != "__version__":
                found.append(f"takes {node.attr} from the top of the package")
            elif node.attr in MAY and node.attr != room and node.attr not in MAY[room]:
                found.append(f"imports {node.attr}")
    return found


def sources() -> list[str]:
    found = [path.relative_to(PACKAGE).as_posix() for path in sorted(PACKAGE.rglob("*.py"))]
    return [path for path in found if path != "__init__.py" and not path.startswith("_data/")]


@pytest.mark.parametrize("path", sources())
def test_imports_run_one_way(path: str) -> None:
    assert faults(path, (PACKAGE / path).read_text(encoding="utf-8")) == []


def test_the_table_names_every_room_and_has_no_circle() -> None:
    assert {path.split("/")[0].removesuffix(".py") for path in sources()} == set(MAY)
    assert list(TopologicalSorter(MAY).static_order())[-1] == "__main__"


def test_the_table_is_what_the_rules_for_contributors_say() -> None:
    line = CHAIN.search((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert line
    steps = [step.replace("command line", "cli").split(", ") for step in line[1].split(" -> ")]
    rank = {room: place for place, step in enumerate(steps) for room in step}
    assert set(rank) - set(MAY) == {"pages"}
    against = [(room, other) for room in MAY for other in MAY[room]
               if room in rank and other in rank and rank[other] > rank[room]]
    assert against == []
    # besides: judges know no mechanism, mechanisms no trace, plot or claim, and figures take frames
    assert "mechanisms" not in MAY["oracles"] | MAY["smt"]
    assert not MAY["mechanisms"] & {"traces", "figures", "claims", "oracles", "smt"}
    assert not MAY["figures"] & {"claims", "mechanisms", "studies", "results"}


@pytest.mark.parametrize(("path", "text", "fault"), [
    ("model.py", "from fairbook.mechanisms.drf import drf", "imports mechanisms"),
    ("errors.py", "import fairbook.model", "imports model"),
    ("mechanisms/drf.py", "from fairbook.traces import google2011", "imports traces"),
    ("mechanisms/drf.py", "def f():\n    from fairbook import claims", "imports claims"),
    ("mechanisms/drf.py", "if TYPE_CHECKING:\n    from fairbook import oracles", "imports oracles"),
    ("oracles/drf.py", "from ..mechanisms import drf", "imports mechanisms"),
    ("oracles/drf.py", "from ..mechanisms.drf import drf", "imports mechanisms"),
    ("smt/__init__.py", "from ..mechanisms import drf", "imports mechanisms"),
    ("properties/static.py", "import os, book.common.runs", "imports studies"),
    ("properties/static.py", "import book.common.runs as runs", "imports studies"),
    ("studies/runs.py", "from fairbook import errors, figures", "imports figures"),
    ("figures/style.py", "from fairbook.studies import foundations", "imports studies"),
    ("studies/runs.py", "from fairbook import drf", "takes drf from the top of the package"),
    ("studies/runs.py", "from .. import drf", "takes drf from the top of the package"),
    ("cli/_periods.py", "from fairbook import drf", "takes drf from the top of the package"),
    ("studies/runs.py", "import fairbook\nfairbook.drf([[1]])", "takes drf from the top of the package"),
    ("studies/runs.py", "import fairbook as fb\nfb.drf([[1]])", "takes drf from the top of the package"),
    ("studies/runs.py", "import fairbook.model\nfairbook.figures.style", "imports figures"),
    ("studies/runs.py", "import importlib", "imports by name"),
    ("studies/runs.py", "from importlib import import_module", "imports by name"),
    ("kitchen.py", "", "kitchen is no room of the table"),
])
def test_an_import_against_the_direction_is_caught(path: str, text: str, fault: str) -> None:
    assert faults(path, text) == [fault]


@pytest.mark.parametrize(("path", "text"), [
    ("studies/runs.py", "from fairbook import results\nfrom fairbook.mechanisms.drf import drf\nfrom . import runs"),
    ("mechanisms/drf.py", "import numpy\nfrom ..model import Users\nfrom fairbook.mechanisms import dmfa_srq"),
    ("traces/google2011.py", "import fairbook\nfairbook.__version__"),
    ("claims/registry.py", "import importlib"),
    ("cli/_periods.py", "import fairbook\nfairbook.drf"),
])
def test_an_import_along_the_direction_is_not(path: str, text: str) -> None:
    assert faults(path, text) == []
