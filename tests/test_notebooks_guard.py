"""Notebooks are whole: text and notebook agree, every cell was run, in order, without error or warning.

The comparison of outputs itself is done by nbval, which collects the notebooks beside these checks; it lets pass what
was never run, and a notebook that it does not collect. Both are looked for here.
"""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import nbformat
import nbformat.v4 as v4
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
    assert "--nbval" in config.getini("addopts")
    assert "book" in config.getini("testpaths")
    if config.option.keyword or config.option.markexpr or set(config.args) != set(config.getini("testpaths")):
        pytest.skip("only part of the checks is run")
    collected = Counter(item.path for item in request.session.items if item.path.suffix == ".ipynb")
    cells: Counter[Path] = Counter()
    for twin in (text.with_suffix(".ipynb") for text in TEXTS):
        notebook = nbformat.reads(twin.read_text("utf8"), as_version=4)
        cells[twin] = sum(cell.cell_type == "code" for cell in notebook.cells)
    assert collected == cells


# --- each guard can fail -------------------------------------------------------------------------------------------

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


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> str:
    return execute.executed(TEXT, tmp_path_factory.mktemp("page"))


def test_a_page_executes_to_the_same_bytes(stored: str, tmp_path: Path) -> None:
    assert execute.executed(TEXT, tmp_path) == stored
    ids = [cell["id"] for cell in json.loads(stored)["cells"]]
    assert len(set(ids)) == 3, "equal cells get ids of their own"
    assert list(execute.unsound_cells(stored)) == []
    assert execute.twin_difference(TEXT, stored) is None


@pytest.mark.parametrize(
    "drifted",
    [
        TEXT.replace("1 + 1", "1 + 2", 1),
        TEXT.replace("# A page", "# Another page"),
        TEXT.replace("```{code-cell} ipython3\n", "```{code-cell} ipython3\n:tags: [hide-input]\n\n", 1),
        TEXT + "\n```{code-cell} ipython3\n2\n```\n",
    ],
    ids=["code", "prose", "metadata", "cell"],
)
def test_drifted_twins_are_noticed(drifted: str, stored: str) -> None:
    assert execute.twin_difference(drifted, stored)


def changed(stored: str, **fields: object) -> str:
    notebook = nbformat.reads(stored, as_version=4)
    notebook.cells[-1].update(fields)
    return nbformat.writes(notebook)


def test_cells_not_run_or_failed_or_warning_are_noticed(stored: str) -> None:
    assert list(execute.unsound_cells(changed(stored, execution_count=None)))
    assert list(execute.unsound_cells(changed(stored, execution_count=7)))
    error = v4.new_output("error", ename="ValueError", evalue="no", traceback=[])
    assert list(execute.unsound_cells(changed(stored, outputs=[error])))
    warning = v4.new_output("stream", name="stderr", text="careful")
    assert list(execute.unsound_cells(changed(stored, outputs=[warning])))


def test_nbval_notices_a_changed_output(stored: str, tmp_path: Path) -> None:
    """Run nbval on a page whose stored outputs are right, and on one where one is wrong by a digit."""
    (tmp_path / "none.ini").write_text("[pytest]\n")
    (tmp_path / "right.ipynb").write_text(stored)
    (tmp_path / "wrong.ipynb").write_text(stored.replace('"2"', '"3"', 1))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        "none.ini",
        "--nbval",
        "-p",
        "no:cacheprovider",
        "-rA",
        "--color=no",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    outcomes = re.findall(r"^(PASSED|FAILED) (\w+)\S*(?:ipynb)?::", done.stdout, flags=re.MULTILINE)
    assert Counter(outcomes) == {("PASSED", "right"): 2, ("PASSED", "wrong"): 1, ("FAILED", "wrong"): 1}, done.stdout


def test_pages_with_code_are_told_from_those_without() -> None:
    assert execute.is_notebook_text(TEXT)
    assert not execute.is_notebook_text("# A page\n\njupytext: no\n")
    assert not execute.is_notebook_text("---\ntitle: a\n---\n\njupytext:\n")
