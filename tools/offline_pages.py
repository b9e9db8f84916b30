"""Sphinx extension: pages that can be opened from disk, with no network and without a word in the console.

Formulas are typeset by files beside the pages. The package sphinx-mathjax-offline ships all of MathJax (24 MB); pages
need the combined TeX component, its fonts and the small extensions that it loads on demand (2 MB). Only those are
copied. The theme asks the browser to preload its icon fonts in a way that browsers refuse for pages on disk; the
style sheets load the same fonts anyway, so the hints are taken out. Its script of icons holds 2 000 (1.5 MB), of which
those stay that a page or another script names.
"""

import re
import shutil
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

NEEDED = ("tex-chtml.js", "output/chtml/fonts/woff-v2/*.woff", "input/tex/extensions/*.js")
UNNEEDED = {"all-packages.js", "mhchem.js", "physics.js"}
FONT_HINT = re.compile(r'\s*<link rel="preload" as="font"[^>]*>')
ICON_SCRIPTS = ("vendor/fontawesome/*/js/all.min.js", "scripts/fontawesome.js")
#: Of Font Awesome, as its scripts hold it: a name, its size, other names, its code and its paths.
ICON = re.compile(r'"?([a-z0-9-]+)"?:\[\d+,\d+,(\[[^\]]*\]),"[0-9a-f]+",(?:"[^"]*"|\[[^\]]*\])\],?')
NAMED = re.compile(r"\bfa-([a-z0-9-]+)")


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
    icons = {path for pattern in ICON_SCRIPTS for path in (output / "_static").glob(pattern)}
    named = {one for path in {*output.rglob("*.js")} - icons for one in NAMED.findall(path.read_text("utf8"))}
    for page in sorted(output.rglob("*.html")):
        text = page.read_text("utf8")
        named.update(NAMED.findall(text))
        if FONT_HINT.search(text):
            page.write_text(FONT_HINT.sub("", text), encoding="utf8")
    for path in icons:
        path.write_text(ICON.sub(lambda icon: kept(icon, named), path.read_text("utf8")), encoding="utf8")


def kept(icon: re.Match[str], named: set[str]) -> str:
    """Give an icon's entry if one of its names is used, else nothing."""
    return icon[0] if named & {icon[1], *re.findall(r"[a-z][a-z0-9-]+", icon[2])} else ""


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.config.mathjax_path = "mathjax/tex-chtml.js"
    app.connect("build-finished", finish)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
