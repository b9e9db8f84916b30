"""Build the HTML book with warnings as errors: ``python tools/build_book.py [FOLDER]`` (default: ``_build``).

Every page is read again, since a page that warned in the last build would be skipped, and pass, in the next. With
``--page gdrf/story``, for writers: only what changed is read, and only that page is written, into a book built before.
"""

import argparse
import functools
from pathlib import Path

import jupyter_book.sphinx
from jupyter_book.cli.main import main as jupyter_book_cli
from sphinx.builders.html import StandaloneHTMLBuilder

ROOT = Path(__file__).resolve().parents[1]
OPTIONS = ["-W", "-n", "--keep-going", "--path-output"]


def build(source: Path, output: Path) -> None:
    """Build the book at `source` into ``output/_build/html``; raise SystemExit with a code above 0 on any warning."""
    options = ["--all", *OPTIONS, str(output)]
    jupyter_book_cli(["build", str(source), *options], prog_name="jupyter-book", standalone_mode=True)


class PageOnly(StandaloneHTMLBuilder):
    """Writes a page and its pictures, and leaves index, search and assets as the last whole build made them."""

    def finish(self) -> None:
        self.copy_image_files()


def build_page(page: Path) -> None:
    """Write one page, with its notebook's stored outputs; the same command otherwise, so that its cache is of use."""
    jupyter_book.sphinx.build_sphinx = functools.partial(jupyter_book.sphinx.build_sphinx, filenames=[str(page)])
    StandaloneHTMLBuilder.finish = PageOnly.finish
    import api_pages  # type: ignore[import-not-found]  # as Sphinx calls the module; its pages stay as they were

    api_pages.write = lambda folder: None
    jupyter_book_cli(["build", str(ROOT), *OPTIONS, str(ROOT)], prog_name="jupyter-book", standalone_mode=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    if options.page:
        notebook = ROOT / "book" / options.page.with_suffix(".ipynb")
        build_page(notebook if notebook.is_file() else notebook.with_suffix(".md"))
    else:
        build(ROOT, options.folder.resolve())
