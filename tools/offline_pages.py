"""Sphinx extension: pages that can be opened from disk, with no network and without a word in the console.

Formulas are typeset by files beside the pages. The package sphinx-mathjax-offline ships all of MathJax (24 MB); pages
need the combined TeX component, its fonts and the small extensions that it loads on demand (2 MB). Only those are
copied. The theme asks the browser to preload its icon fonts in a way that browsers refuse for pages on disk; the
style sheets load the same fonts anyway, so the hints are taken out.
"""

import re
import shutil
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

NEEDED = ("tex-chtml.js", "output/chtml/fonts/woff-v2/*.woff", "input/tex/extensions/*.js")
UNNEEDED = {"all-packages.js", "mhchem.js", "physics.js"}
FONT_HINT = re.compile(r'\s*<link rel="preload" as="font"[^>]*>')


def finish(app: Any, failure: Exception | None) -> None:
    """Copy what the pages need into the built book, and take the font hints out of the pages."""
    if failure is not None or app.builder.format != "html":
        return
    output = Path(app.outdir)
    source = Path(str(distribution("sphinx-mathjax-offline").locate_file("sphinx-mathjax-offline/static/mathjax")))
    for pattern in NEEDED:
        for path in sorted(source.glob(pattern)):
            copied = output / "_static" / "mathjax" / path.relative_to(source)
            if path.name not in UNNEEDED and not copied.exists():
                copied.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copied)
    for page in sorted(output.rglob("*.html")):
        text = page.read_text("utf8")
        if FONT_HINT.search(text):
            page.write_text(FONT_HINT.sub("", text), encoding="utf8")


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.config.mathjax_path = "mathjax/tex-chtml.js"
    app.connect("build-finished", finish)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
