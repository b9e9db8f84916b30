"""Build the HTML book with warnings as errors: ``python tools/build_book.py [FOLDER]`` (default: ``_build``).

Every page is read again, since a page that warned in the last build would be skipped, and pass, in the next. With
``--page gdrf/story``, for writers: only what changed is read, and only that page is written, into a book built before;
for that, this file is a Sphinx extension as well.
"""

import argparse
import shutil
import sys
from pathlib import Path
from typing import Any

from sphinx.builders.html import StandaloneHTMLBuilder

ROOT = Path(__file__).resolve().parents[1]
OPTIONS = ["-W", "-n", "--keep-going", "--path-output"]


def build(source: Path, output: Path) -> None:
    """Build the book at `source` into ``output/_build/html``; raise SystemExit with a code above 0 on any warning."""
    from jupyter_book.cli.main import main

    shutil.rmtree(output / "_build" / "html", ignore_errors=True)  # pages that went
    main(["build", str(source), "--all", *OPTIONS, str(output)], prog_name="jupyter-book", standalone_mode=True)


def build_page(page: Path) -> int | Exception:
    """Write one page, with its notebook's stored outputs; configured as by `build`, so that its cache is of use."""
    from jupyter_book.sphinx import build_sphinx

    settings = {"external_toc_path": str(ROOT / "_toc.yml"), "latex_individualpages": False, "nitpicky": True}
    options = {"noconfig": True, "path_config": ROOT / "_config.yml", "warningiserror": True, "keep_going": True}
    html = ROOT / "_build" / "html"
    found = build_sphinx(ROOT, html, confoverrides=settings, filenames=[str(page)], tags=["page"], **options)
    return found  # type: ignore[no-any-return]


class Builder(StandaloneHTMLBuilder):
    """Sphinx's own; for a page alone it leaves index, search and assets as the last whole build made them."""

    def finish(self) -> None:
        """Write what belongs to all pages, or the page's pictures."""
        if self.tags.has("page"):
            self.copy_image_files()
        else:
            super().finish()


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_builder(Builder, override=True)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    if options.page:
        notebook = ROOT / "book" / options.page.with_suffix(".ipynb")
        sys.exit(bool(build_page(notebook if notebook.is_file() else notebook.with_suffix(".md"))))
    build(ROOT, options.folder.resolve())
