"""The import direction: the library knows no book, no paper another, and nothing runs past the hash of sources."""

import ast
from graphlib import TopologicalSorter

import pytest

from book.common.checkout import ROOT, module_file

#: Each room of the library (a module or a folder of it) with the other rooms that it may import.
MAY: dict[str, set[str]] = {
    "errors": set(),
    "exports": {"errors", "files"},
    "files": set(),
    "filling": {"kernels", "model"},
    "kernels": set(),
    "progress": {"errors"},
    "model": {"errors", "kernels"},
    "mechanisms": {"errors", "files", "filling", "kernels", "model", "progress"},
    "metrics": {"errors", "model"},
    "properties": {"errors", "mechanisms", "metrics", "model"},
    "traces": {"errors", "model"},
    "sweeps": {"errors", "files", "model", "progress"},
    "cli": {"errors", "exports", "files", "kernels", "mechanisms", "metrics", "model", "progress"},
    "__main__": {"cli"},
}
#: What may look modules up by name at run time, which no table can follow.
BY_NAME = {"book.common.checkout", "fairbook.mechanisms.rows", "book.__main__"}
#: Folders of the book that all papers may use.
SHARED = {"common", "foundations"}


def faults(module: str, text: str) -> list[str]:
    """List what the source of a module imports against the rules."""
    parts = module.split(".")
    top, room, package = parts[0], parts[1], parts[:-1]
    tree, found, tops = ast.parse(text), [], set()
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            tops |= {
                alias.asname or "fairbook"
                for alias in node.names
                if alias.name == "fairbook" or (alias.name.startswith("fairbook.") and not alias.asname)
            }
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            inner = [f"{source}.{alias.name}" for alias in node.names]
            names = [name if module_file(name) else source for name in inner]
            if source == "fairbook":  # the hash of sources follows modules: a name from the top would escape it
                found += [
                    f"takes {name.split('.')[1]} from the top of the package" for name in inner if not module_file(name)
                ]
        found += [fault for name in names if (fault := _fault(top, room, name.split(".")))]
        if {"importlib", "importlib.import_module"} & set(names) and module not in BY_NAME:
            found.append("imports by name")
    for node in ast.walk(tree) if top == "fairbook" and room != "cli" else ():
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in tops:
            if not module_file(f"fairbook.{node.attr}") and node.attr not in ("__version__", "__released__"):
                found.append(f"takes {node.attr} from the top of the package")
            elif node.attr in MAY and (fault := _fault(top, room, ["fairbook", node.attr])):
                found.append(fault)
    return found


def _fault(top: str, room: str, name: list[str]) -> str:
    other = name[1] if len(name) > 1 else room
    if name[0] == "book" and (top == "fairbook" or (room != "__main__" and other not in {room, *SHARED})):
        return f"imports book.{other}"
    if name[0] == "book" and room in SHARED and other not in {room, "common"}:
        return f"imports book.{other}"
    if name[0] == top == "fairbook" and other != room and other not in MAY[room]:
        return f"imports {other}"
    return ""


def sources() -> list[str]:
    found = [path.relative_to(ROOT) for top in ("fairbook", "book") for path in sorted((ROOT / top).rglob("*.py"))]
    return [".".join(path.with_suffix("").parts) for path in found if len(path.parts) > 2 or path.stem != "__init__"]


@pytest.mark.parametrize("top", ["fairbook", "book"])
def test_imports_run_one_way(top: str) -> None:
    found = {
        module: faults(module, ROOT.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8"))
        for module in sources()
        if module.split(".")[0] == top and not module.startswith("book.examples")
    }
    assert len(found) > 30
    assert {module: what for module, what in found.items() if what} == {}


def test_the_table_names_every_room_and_has_no_circle() -> None:
    assert {module.split(".")[1] for module in sources() if module.startswith("fairbook.")} == set(MAY)
    assert list(TopologicalSorter(MAY).static_order())[-1] == "__main__"


@pytest.mark.parametrize(
    ("module", "text", "fault"),
    [
        ("fairbook.model", "from fairbook.mechanisms.pool.drf import drf", "imports mechanisms"),
        ("fairbook.errors", "import fairbook.model", "imports model"),
        ("fairbook.mechanisms.pool.drf", "from fairbook.traces import google2011", "imports traces"),
        ("fairbook.mechanisms.pool.drf", "def f():\n    from fairbook import traces", "imports traces"),
        ("fairbook.mechanisms.pool.drf", "if TYPE_CHECKING:\n    from fairbook import metrics", "imports metrics"),
        ("fairbook.properties.static", "from ..traces import google2011", "imports traces"),
        ("fairbook.properties.static", "import os, book.common.results as r", "imports book.common"),
        ("fairbook.properties.static", "from book.common import runs", "imports book.common"),
        ("fairbook.properties.static", "import book", "imports book.properties"),
        ("fairbook.metrics", "from fairbook import drf", "takes drf from the top of the package"),
        ("fairbook.metrics", "from . import drf", "takes drf from the top of the package"),
        ("book.gdrf.studies", "from fairbook import drf", "takes drf from the top of the package"),
        ("fairbook.metrics", "import fairbook as fb\nfb.drf([[1]])", "takes drf from the top of the package"),
        ("fairbook.metrics", "import fairbook.model\nfairbook.traces.google2011", "imports traces"),
        ("fairbook.metrics", "import importlib", "imports by name"),
        ("book.gdrf.studies", "from importlib import import_module", "imports by name"),
        ("book.gdrf.studies", "from book.tv_drf import oracle", "imports book.tv_drf"),
        ("book.gdrf.studies", "from ..tv_drf.oracle import LpRun", "imports book.tv_drf"),
        ("book.common.runs", "from book.foundations import studies", "imports book.foundations"),
        ("book.foundations.studies", "from book.compare import studies", "imports book.compare"),
        (
            "book.gdrf.checks",
            "from fairbook import metrics\nfrom fairbook.mechanisms.pool.drf import drf\nfrom . import oracle",
            "",
        ),
        ("book.gdrf.checks", "from book.common.runs import stream\nfrom book.foundations import figures", ""),
        ("book.__main__", "import importlib\nfrom book.gdrf import studies", ""),
        (
            "fairbook.mechanisms.pool.drf",
            "from ..model import Allocation\nfrom fairbook.mechanisms import dmfa_srq",
            "",
        ),
        ("fairbook.traces.google2011", "import fairbook\nfairbook.__version__", ""),
        ("fairbook.cli.allocate", "import fairbook\nfairbook.drf", ""),
    ],
)
def test_an_import_against_the_direction_is_caught_and_no_other(module: str, text: str, fault: str) -> None:
    assert faults(module, text) == [fault] * bool(fault)
