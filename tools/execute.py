"""Turn the pages of the book that have code into executed notebooks.

A page is a pair: ``book/<page>.md`` (MyST, the only file that is edited) and ``book/<page>.ipynb`` (generated here,
with its outputs). The text is brought into the form in which JupyterLab saves it, so that saving a page there changes
nothing else. The same page gives the same bytes whenever it is executed: no timings, cell ids derived from the
text, fixed metadata, one thread; jupytext and jupyter-cache do not promise that, so this is written by hand.

    python tools/execute.py                     execute every page
    python tools/execute.py dmfa_srq/story     execute one
    python tools/execute.py --text PAGE ...     take over the text alone where no cell of code has changed

By hand, since neither jupytext --execute nor jupyter-cache gives the same bytes twice.
"""

import argparse
import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from jupytext.compare import NotebookDifference, compare_notebooks
from jupytext.config import load_jupytext_config

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"

# What the outputs may depend on besides the code; the checks run notebooks under the same.
ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "COLUMNS": "100",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
SECONDS_PER_CELL = 600


def is_notebook_text(text: str) -> bool:
    """Tell whether a page has code to execute, that is, a front matter with a jupytext entry."""
    if not text.startswith("---\n"):
        return False
    return "\njupytext:" in "\n" + text[4:].split("\n---", 1)[0]


def pages(book: Path = BOOK) -> list[Path]:
    """Return the text twin of every page with code, sorted."""
    return [path for path in sorted(book.rglob("*.md")) if is_notebook_text(path.read_text("utf8"))]


def as_saved(path: Path) -> str:
    """Return the text of a page in the form in which JupyterLab saves it: what is saved unchanged stays the same."""
    config = load_jupytext_config(str(path))
    notebook = jupytext.reads(path.read_text("utf8"), "md:myst", config=config)
    for cell in notebook.cells:
        if figure := cell.metadata.get("mystnb", {}).get("figure"):
            figure["caption"] = figure.get("caption", "").strip()  # a block of YAML ends with an empty line
    return jupytext.writes(notebook, "md:myst", config=config)


def before_saving(model: dict[str, Any], **_: Any) -> None:
    """Take out of a notebook that JupyterLab saves what it says of the kernel, and of when cells ran; a hook of it."""
    if model["type"] == "notebook":
        model["content"]["metadata"] = METADATA
        for cell in model["content"]["cells"]:
            cell["metadata"].pop("execution", None)


def unexecuted(text: str) -> nbformat.NotebookNode:
    """Read a MyST page as a notebook with ids derived from the text and fixed metadata."""
    notebook = jupytext.reads(text, fmt="md:myst")
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    seen: dict[str, int] = {}
    for cell in notebook.cells:
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:12]
        seen[digest] = seen.get(digest, 0) + 1
        cell.id = f"{digest}-{seen[digest]}"
    return notebook


def executed(text: str, folder: Path) -> str:
    """Execute a MyST page in `folder`; return the notebook as it is stored."""
    from nbclient import NotebookClient

    os.environ.update(ENVIRONMENT)
    notebook = unexecuted(text)
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=SECONDS_PER_CELL,
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    nbformat.validate(notebook)
    return nbformat.writes(notebook, indent=1) + "\n"


def with_new_text(text: str, stored: str) -> str | None:
    """Return a stored notebook with the text of its page as it is now; None if a cell of code is another one."""
    notebook, before = unexecuted(text), nbformat.reads(stored, as_version=4)
    new, old = ([cell for cell in one.cells if cell.cell_type == "code"] for one in (notebook, before))
    if [cell.source for cell in new] != [cell.source for cell in old]:
        return None
    for cell, ran in zip(new, old):
        cell.outputs, cell.execution_count = ran.outputs, ran.execution_count
    return nbformat.writes(notebook, indent=1) + "\n"


def twin_difference(text: str, stored: str) -> str | None:
    """Say how a stored notebook differs from its text twin, outputs aside; None if it does not."""
    try:
        compare_notebooks(nbformat.reads(stored, as_version=4), unexecuted(text), fmt="md:myst", compare_ids=True)
    except NotebookDifference as difference:
        return str(difference)
    return None


def unsound_cells(stored: str) -> Iterator[str]:
    """Yield what is wrong with the stored outputs: cells not run, run out of order, failed or warning."""
    notebook = nbformat.reads(stored, as_version=4)
    for number, cell in enumerate((cell for cell in notebook.cells if cell.cell_type == "code"), start=1):
        if cell.execution_count != number:
            yield f"code cell {number} has execution count {cell.execution_count}"
        for output in cell.outputs:
            if output.output_type == "error":
                yield f"code cell {number} stores the error {output.ename}"
            if output.output_type == "stream" and output.name == "stderr":
                yield f"code cell {number} stores standard error: {output.text[:80]!r}"


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", nargs="*", help="page below book/, without suffix; default: all")
    parser.add_argument("--text", action="store_true", help="execute only where code has changed; else keep outputs")
    options = parser.parse_args(arguments)

    chosen = pages()
    if options.page:
        wanted = {(BOOK / page).with_suffix(".md") for page in options.page}
        if options.text:
            wanted &= set(chosen)  # a page without code has no notebook that could lag behind
        if unknown := wanted - set(chosen):
            parser.error(f"no page with code: {', '.join(str(path.relative_to(BOOK)) for path in sorted(unknown))}")
        chosen = sorted(wanted)

    for path in chosen:
        twin = path.with_suffix(".ipynb")
        text, stored = path.read_text("utf8"), twin.read_text("utf8") if twin.exists() else None
        if text != (saved := as_saved(path)):
            path.write_text(text := saved, encoding="utf8", newline="\n")
        new = with_new_text(text, stored) if options.text and stored else None
        if new is None:
            start = time.perf_counter()
            print(f"{path.relative_to(BOOK)}: executing", end=" ", flush=True)
            new = executed(text, path.parent)
            print(f"({time.perf_counter() - start:.1f} s) {'as stored' if new == stored else 'written'}")
        if new != stored:
            twin.write_text(new, encoding="utf8", newline="\n")


if __name__ == "__main__":
    main()
