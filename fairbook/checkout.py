"""The checkout around the package, if there is one: its ``book`` holds what judges and reproduces each paper.

Nothing in the library imports the book. Where it is needed (claims are checked, stored results are held against the
sources that made them) it is looked up here, by name.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

from fairbook.errors import FairbookError

#: What the package lies in.
ROOT = Path(__file__).resolve().parents[1]


def is_checkout() -> bool:
    """Tell whether the package lies in a checkout. Among installed packages ``book`` would be somebody else's."""
    return (ROOT / "_toc.yml").is_file() and (ROOT / "book" / "__init__.py").is_file()


def module_file(module: str) -> Path | None:
    """Give the file of a module of the package or of the checkout's book; None where there is no such module.

    Examples
    --------
    >>> module_file("fairbook.errors").name, module_file("numpy")
    ('errors.py', None)
    """
    top, *parts = module.split(".")
    if not parts or top not in (["fairbook", "book"] if is_checkout() else ["fairbook"]):
        return None
    base = ROOT.joinpath(top, *parts)
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)


def needed() -> Path:
    """Give the folder of the book.

    Raises
    ------
    FairbookError
        Where fairbook is installed without a checkout.
    """
    if not is_checkout():
        raise FairbookError("this needs a checkout of fairbook: an installed package has the stored results only")
    return ROOT / "book"


def papers(part: str) -> list[str]:
    """List the folders of the book that have a module of this name, alphabetically."""
    return sorted(path.parent.name for path in needed().glob(f"*/{part}.py"))


def load(part: str) -> dict[str, ModuleType]:
    """Import a module of each folder of the book that has it."""
    return {key: importlib.import_module(f"book.{key}.{part}") for key in papers(part)}
