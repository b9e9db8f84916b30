"""The checkout: the modules of package and book by name, and the folders of papers that have a part."""

import importlib
from pathlib import Path
from types import ModuleType

#: What package and book lie in.
ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"


def module_file(module: str) -> Path | None:
    """Give the file of a module of the package or of the book; None where there is no such module.

    Examples
    --------
    >>> module_file("fairbook.errors").name, module_file("numpy")
    ('errors.py', None)
    """
    top, *parts = module.split(".")
    if not parts or top not in ("fairbook", "book"):
        return None
    base = ROOT.joinpath(top, *parts)
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)


def papers(part: str) -> list[str]:
    """List the folders of the book that have a module of this name, alphabetically."""
    return sorted(path.parent.name for path in BOOK.glob(f"*/{part}.py"))


def load(part: str) -> dict[str, ModuleType]:
    """Import a module of each folder of the book that has it."""
    return {key: importlib.import_module(f"book.{key}.{part}") for key in papers(part)}
