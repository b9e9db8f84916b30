"""What is recorded of how pages were executed is whole, is of the stored pages, and agrees with the lock."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet

from tests.conftest import LOCK, PROJECT, locked
from tools import book_tables, execute

RECORD = book_tables.executed()
PAGES = {path.relative_to(execute.BOOK).with_suffix("").as_posix(): path for path in execute.pages()}


def faults(record: dict[str, Any], pages: dict[str, Path]) -> Iterator[str]:
    """Yield what is wrong with a record: pages without an entry, entries of other bytes, versions not of the lock."""
    pins = locked(LOCK)
    yield from (f"{name}: no entry" for name in sorted(pages.keys() - record.keys()))
    yield from (f"{name}: no such page" for name in sorted(record.keys() - pages.keys()))
    for name in sorted(pages.keys() & record.keys()):
        one, notebook = record[name], pages[name].with_suffix(".ipynb").read_bytes()
        if one["sha256"] != hashlib.sha256(notebook).hexdigest():
            yield f"{name}: the entry is of other bytes"
        if not (one["processor_seconds"] > 0 and one["seconds"] > 0 and one["cells"] > 0):
            yield f"{name}: times or cells"
        if not SpecifierSet(PROJECT["requires-python"]).contains(one["python"]):
            yield f"{name}: Python {one['python']}"
        if set(one["packages"]) != {"fairbook", *execute.RECORDED}:
            yield f"{name}: the packages recorded are {sorted(one['packages'])}"
        for package, version in one["packages"].items():
            wanted = [pin.specifier for pin in pins.get(package, [])]
            if package != "fairbook" and not any(specifier.contains(version) for specifier in wanted):
                yield f"{name}: {package} {version} is not the locked one"


def test_every_page_has_its_entry() -> None:
    assert list(faults(RECORD, PAGES)) == [], "`make execute PAGE=...` writes it"


def test_an_entry_stays_while_bytes_and_packages_are_the_same() -> None:
    notebook = PAGES["one_level"].with_suffix(".ipynb").read_text("utf8")
    one = execute.entry(notebook, 1.26, 0.51)
    assert (one["seconds"], one["processor_seconds"]) == (1.3, 0.5)
    assert execute.is_described(notebook, one)
    assert not execute.is_described(notebook + " ", one)
    assert not execute.is_described(notebook, None)
    assert not execute.is_described(notebook, one | {"packages": one["packages"] | {"numpy": "1.0"}})
    assert execute.is_described(notebook, one | {"packages": one["packages"] | {"fairbook": "0.0.1"}})
