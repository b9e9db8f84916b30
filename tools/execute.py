"""Turn the pages of the book that have code into executed notebooks.

A page is a pair: ``book/<page>.md`` (MyST, the only file that is edited) and ``book/<page>.ipynb`` (generated here,
with its outputs). The text is brought into the form in which JupyterLab saves it, so that saving a page there changes
nothing else. The same page gives the same bytes whenever it is executed: no timings, cell ids derived from the
text, fixed metadata, one thread. How long it took, on what and with which versions stands beside the pages, in
``book/execution.json``: one entry for each page, of the run that made the stored bytes.

    python tools/execute.py                     execute every page
    python tools/execute.py dmfa_srq/story     execute one
    python tools/execute.py --twins             execute nothing, fail where text and notebook have drifted apart
    python tools/execute.py --text PAGE ...     take over the text alone where no cell of code has changed
"""

import argparse
import hashlib
import importlib.metadata
import json
import os
import platform
import resource
import sys
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
RECORD = BOOK / "execution.json"
# packages that outputs depend on, or that run the cells
RECORDED = (
    "numpy", "scipy", "pandas", "numba", "llvmlite", "matplotlib", "joblib", "ipykernel", "nbclient",
)  # fmt: skip


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


def machine() -> dict[str, Any]:
    """Return what pages are executed on: processor, cores, memory in GB and system, as far as they are known."""
    cpuinfo, memory = Path("/proc/cpuinfo"), None
    lines = cpuinfo.read_text("utf8", errors="replace").splitlines() if cpuinfo.is_file() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    try:
        memory = round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30)
        system = platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except (AttributeError, OSError, ValueError):
        system = platform.system()
    return {
        "processor": models[0] if models else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "memory": memory,
        "system": f"{system}, {platform.machine()}",
    }


def environment() -> dict[str, Any]:
    """Return the versions and the machine of this run."""
    versions = {name: importlib.metadata.version(name) for name in ("fairbook", *RECORDED)}
    return {"python": platform.python_version(), "packages": versions, "machine": machine()}


def entry(notebook: str, seconds: float, processor_seconds: float) -> dict[str, Any]:
    """Return what is recorded of the run that made a stored notebook."""
    cells = sum(cell.cell_type == "code" for cell in nbformat.reads(notebook, as_version=4).cells)
    return {
        "sha256": hashlib.sha256(notebook.encode()).hexdigest(),
        "cells": cells,
        "seconds": round(seconds, 1),
        "processor_seconds": round(processor_seconds, 1),
        **environment(),
    }


def is_described(notebook: str, recorded: dict[str, Any] | None) -> bool:
    """Tell whether an entry is of these bytes and of the packages that are installed: then it stays as it is.

    The version of fairbook in it is that of the run; a release that changes no output leaves it true.
    """
    if recorded is None or recorded["sha256"] != hashlib.sha256(notebook.encode()).hexdigest():
        return False
    now = environment()["packages"]
    return all(recorded["packages"].get(name) == now[name] for name in RECORDED)


def write_record(entries: dict[str, dict[str, Any]]) -> None:
    """Store the entries of all pages that there are, sorted."""
    names = {path.relative_to(BOOK).with_suffix("").as_posix() for path in pages()}
    kept = {name: entries[name] for name in sorted(entries) if name in names}
    RECORD.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf8", newline="\n")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the number of pages whose text and notebook differ."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", nargs="*", help="page below book/, without suffix; default: all")
    parser.add_argument("--text", action="store_true", help="execute only where code has changed; else keep outputs")
    parser.add_argument("--twins", action="store_true", help="execute nothing; fail where text and notebook differ")
    options = parser.parse_args(arguments)

    chosen = pages()
    if options.page:
        wanted = {(BOOK / page).with_suffix(".md") for page in options.page}
        if options.text:
            wanted &= set(chosen)  # a page without code has no notebook that could lag behind
        if unknown := wanted - set(chosen):
            parser.error(f"no page with code: {', '.join(str(path.relative_to(BOOK)) for path in sorted(unknown))}")
        chosen = sorted(wanted)

    record = json.loads(RECORD.read_text("utf8")) if RECORD.is_file() else {}
    failures = 0
    for path in chosen:
        name, twin = path.relative_to(BOOK).with_suffix("").as_posix(), path.with_suffix(".ipynb")
        text, stored = path.read_text("utf8"), twin.read_text("utf8") if twin.exists() else None
        if options.twins:
            difference = "there is no notebook" if stored is None else twin_difference(text, stored)
            difference = difference or ("" if text == as_saved(path) else "its text is not as JupyterLab would save it")
            if difference:
                failures += 1
                print(f"{name}: {difference}")
            continue
        if text != (saved := as_saved(path)):
            path.write_text(text := saved, encoding="utf8", newline="\n")
        new = with_new_text(text, stored) if options.text and stored else None
        if new and stored:
            twin.write_text(new, encoding="utf8", newline="\n")
            if is_described(stored, record.get(name)):  # the run stays the one that made these outputs
                record[name]["sha256"] = hashlib.sha256(new.encode()).hexdigest()
                write_record(record)
            continue
        start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"{name}: executing", end=" ", flush=True)
        notebook = executed(text, path.parent)
        seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        if notebook != stored:
            twin.write_text(notebook, encoding="utf8", newline="\n")
        if not is_described(notebook, record.get(name)):
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            record[name] = entry(notebook, seconds, used)
            write_record(record)
        print(f"({seconds:.1f} s) {'as stored' if notebook == stored else 'written'}")
    return failures


if __name__ == "__main__":
    sys.exit(min(main(), 1))
