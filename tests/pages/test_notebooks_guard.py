"""Notebooks are whole: text and notebook agree, every cell was run, in order, without error or warning.

The comparison of outputs itself is done by nbval, which collects the notebooks beside these checks; it lets pass what
was never run, and a notebook that it does not collect. Both are looked for here.
"""

import json
from collections import Counter
from pathlib import Path

import nbformat
import pytest

from tests.conftest import ROOT, toc_files
from tools import execute

TEXTS = execute.pages()
NAMES = [path.relative_to(execute.BOOK).with_suffix("").as_posix() for path in TEXTS]


@pytest.mark.parametrize("text", TEXTS, ids=NAMES)
def test_text_and_notebook_are_twins_as_they_would_be_written_again(text: Path) -> None:
    stored = text.with_suffix(".ipynb").read_text("utf8")
    assert execute.twin_difference(text.read_text("utf8"), stored) is None, "make execute PAGE=... mends this"
    assert text.read_text("utf8") == execute.as_saved(text), "make execute PAGE=... mends this, too"
    assert list(execute.unsound_cells(stored)) == []
    notebook = nbformat.reads(stored, as_version=4)
    assert dict(notebook.metadata) == execute.METADATA
    assert "execution" not in {key for cell in notebook.cells for key in cell.metadata}
    assert nbformat.writes(notebook, indent=1) + "\n" == stored


def test_no_notebook_without_its_text() -> None:
    notebooks = {p.with_suffix("") for p in execute.BOOK.rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts}
    assert notebooks == {text.with_suffix("") for text in TEXTS}


def test_contents_name_the_executed_notebook_of_every_page_with_code() -> None:
    listed = toc_files()
    assert len(listed) == len(set(listed))
    wanted = {text.relative_to(ROOT).with_suffix("").as_posix() for text in TEXTS}
    assert {name.removesuffix(".ipynb") for name in listed if name.endswith(".ipynb")} == wanted
    plain = {path.relative_to(ROOT).with_suffix("").as_posix() for path in execute.BOOK.rglob("*.md")} - wanted
    assert {name.removesuffix(".md") for name in listed if not name.endswith(".ipynb")} == plain


def test_every_code_cell_is_compared(request: pytest.FixtureRequest) -> None:
    """Hold what nbval collected in this run, cell by cell, against what the notebooks contain."""
    config = request.config
    if config.option.keyword or config.option.markexpr or set(config.args) != set(config.getini("testpaths")):
        pytest.skip("only part of the checks is run")
    assert "--nbval" in config.getini("addopts")
    assert "book" in config.getini("testpaths")
    collected = Counter(item.path for item in request.session.items if item.path.suffix == ".ipynb")
    cells: Counter[Path] = Counter()
    for twin in (text.with_suffix(".ipynb") for text in TEXTS):
        notebook = nbformat.reads(twin.read_text("utf8"), as_version=4)
        cells[twin] = sum(cell.cell_type == "code" for cell in notebook.cells)
    assert collected == cells


TEXT = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
---

# A page

```{code-cell} ipython3
1 + 1
```

```{code-cell} ipython3
1 + 1
```
"""


def test_a_page_executes_to_the_same_bytes(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    stored = execute.executed(TEXT, tmp_path_factory.mktemp("page"))
    assert execute.executed(TEXT, tmp_path) == stored
    ids = [cell["id"] for cell in json.loads(stored)["cells"]]
    assert len(set(ids)) == 3, "equal cells get ids of their own"
    assert list(execute.unsound_cells(stored)) == []
    assert execute.twin_difference(TEXT, stored) is None
