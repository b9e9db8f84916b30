"""Build the HTML book with warnings as errors: ``python tools/build_book.py [FOLDER]`` (default: ``_build``).

Every page is read again, since a page that warned in the last build would be skipped, and pass, in the next.
"""

from __future__ import annotations

import sys
from pathlib import Path

from jupyter_book.cli.main import main as jupyter_book

ROOT = Path(__file__).resolve().parents[1]


def build(source: Path, output: Path) -> None:
    """Build the book at `source` into ``output/_build/html``; raise SystemExit with a code above 0 on any warning."""
    options = ["--all", "-W", "-n", "--keep-going", "--path-output", str(output)]
    jupyter_book(["build", str(source), *options], prog_name="jupyter-book", standalone_mode=True)


if __name__ == "__main__":
    build(ROOT, Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT)
