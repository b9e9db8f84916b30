"""Print the built book as one PDF: ``python -m tools.make_pdf [PAGE ...]`` writes ``_build/pdf/fairbook.pdf``.

The pages are those of ``make book``, so that every number, reference and formula is the one that was checked: their
articles are joined into one page, with links between them made links within it, and a headless Chromium prints that.
Proofs and solutions are open. Code that a page folds away, what is folded in cards and accounts, the reference of the
library, the tables of hypotheses and of runs, and formal statements are left out: they are looked up, not read. What is
wider than the paper is made smaller until it fits. Formulas are set by a script, which WeasyPrint does not run.

By hand, since formulas want a browser: WeasyPrint and typst have no MathJax.
"""

import base64
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urljoin

import yaml
from bs4 import BeautifulSoup

from tools.chromium import Chromium, find_chromium

ROOT = Path(__file__).resolve().parents[1]
PAPER, MARGIN = (8.27, 11.69), 0.6  # A4, in inches
WIDTH = round((PAPER[0] - 2 * MARGIN) * 96)  # what a line has, in CSS pixels
FOOTER = (
    '<div style="width: 100%; font: 8px sans-serif; color: #333; text-align: center">'
    '<span class="pageNumber"></span></div>'
)
LEFT_OUT = {"book/proofs", "book/hypotheses", "book/execution", "book/api/index", "book/api/commands"}
STYLE = """
  :root { color-scheme: light; }
  html { font-size: 12px; }
  .verdicts { font-size: 10.5px; }
  body { margin: 0; background: #fff; line-height: 1.45; }
  main { display: block; padding: 0; }
  .page:not(.follows) { break-before: page; }
  h1, h2, h3, h4, summary, .admonition-title { break-after: avoid; }
  p, li { orphans: 3; widows: 3; }
  a { text-decoration: none; }
  .headerlink, .copybtn, .toctree-wrapper { display: none !important; }
  pre { white-space: pre-wrap !important; overflow-wrap: anywhere; overflow: visible !important; }
  div.cell_input, div.cell_output, div.highlight, figure, div.proof, div.math { overflow: visible !important; }
  .pst-scrollable-table-container { overflow: visible !important; container-type: normal !important; }
  .pst-scrollable-table-container caption { max-width: none !important; }
  .bd-article table.table, .bd-article table.dataframe { font-size: .78rem; }
  table.dataframe { border: 0; border-collapse: collapse; margin: .5rem auto; }
  table.dataframe :is(th, td) { border: 0; padding: .15rem .6rem; text-align: right; }
  table.dataframe thead { border-bottom: 1px solid #666; }
  .bd-article table td code, .bd-article table td a { overflow-wrap: anywhere; }
  table { break-inside: auto !important; }
  thead { display: table-header-group; }
  caption { break-after: avoid; } tbody tr:first-child { break-before: avoid; }
  tr, figure, .cell_output img, mjx-container { break-inside: avoid; }
  div.proof, details { break-inside: auto !important; }
  figure img, .cell_output img { max-width: 100% !important; height: auto !important; zoom: .85; }
  .bd-article figure { margin: .5rem auto; } .bd-article figure > figcaption { margin: .3rem auto .8rem; }
  details.sd-dropdown { margin-bottom: .6rem !important; }
  details.sd-dropdown > summary { padding: .2rem .6rem !important; }
  details > .sd-card-body { padding: .4rem .6rem; }
  div.claim.claim { border-width: 1px 0 0; border-radius: 0; padding: .2rem 0 !important; margin: .2rem 0; }
  .place.place { margin-block: .7rem; } .claim p, .place > p { margin: 0 0 .15rem; }
  .verdicts :is(th, td) { padding: .1rem .5rem !important; } .verdicts table { margin: .1rem 0 .3rem !important; }
  .explore :is(th, td) { padding: .1rem .5rem !important; }
  .cell_output details dl { columns: 2; column-gap: 2rem; } .cell_output details :is(dt, dd) { break-inside: avoid; }
  .cell_output details dt { break-after: avoid; } .cell_output details dd { margin: 0 0 .4rem 1rem; }
  .title { text-align: center; padding-top: 60mm; }
  .title h1 { font-size: 40px; } .title p { font-size: 16px; } .title .small { font-size: 12px; margin-top: 60mm; }
  .contents ol { list-style: none; padding: 0; } .contents li { margin: .3rem 0; }
  .contents .part { font-weight: 600; margin-top: 1rem; }
"""
# Makes smaller what is wider than a line; a formula or a picture is shrunk, and so is a table with its words.
FIT = """(() => {
  const width = document.querySelector("article").clientWidth, small = [];
  for (const one of document.querySelectorAll("table, mjx-container[display=true], figure > img, figure svg, pre")) {
    const wide = Math.max(one.scrollWidth, one.getBoundingClientRect().width);
    const room = Math.min(width, one.parentElement.getBoundingClientRect().width || width);
    if (wide > room + 1) {
      one.style.zoom = Math.max(0.4, room / wide);
      small.push([one.localName, room / wide]);
    }
  }
  return small;
})()"""


class CannotPrint(Exception):
    """What is needed for printing is not there."""


def contents(toc: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield the parts of a table of contents, each with its pages; the root comes first, in a part without a name.

    Examples
    --------
    >>> list(contents({"root": "a", "parts": [{"caption": "B", "chapters": [{"file": "c.ipynb"}]}]}))
    [('', ['a']), ('B', ['c'])]
    """

    def pages(entries: list[dict[str, Any]]) -> Iterator[str]:
        for one in entries:
            if (name := one.get("file", "").removesuffix(".ipynb")) and name not in LEFT_OUT:  # no modules of the API
                yield name
            yield from pages(one.get("sections", []))

    yield "", [toc["root"]]
    for part in toc.get("parts", []):
        yield part.get("caption", ""), list(pages(part.get("chapters", [])))


def article(html: Path, page: str, pages: list[str]) -> tuple[str, str]:
    """Return the title and the article of a built page, its ids prefixed and its links made to fit one long page."""
    path = html / f"{page}.html"
    if not path.is_file():
        raise CannotPrint(f"{path.name} of the page {page} is not built: `make book` builds it")
    found = BeautifulSoup(path.read_text("utf8"), "html.parser").find("article")
    assert found is not None, page
    here = path.resolve().as_uri()
    addresses = {(html / f"{one}.html").resolve().as_uri(): f"page-{number}" for number, one in enumerate(pages)}
    prefix = addresses[here]
    for one in found.select("a.headerlink, script, .toctree-wrapper, details.above-input, details.claim-more"):
        one.decompose()
    for one in found.select("details.account"):  # links lead to where it stood
        one.replace_with(BeautifulSoup(f'<span id="{one["id"]}"></span>', "html.parser"))
    for one in found.select("[id]"):
        one["id"] = f"{prefix}-{one['id']}"
    for name in ("aria-labelledby", "aria-describedby", "aria-controls", "for"):
        for one in found.select(f"[{name}]"):
            one[name] = " ".join(f"{prefix}-{word}" for word in str(one[name]).split())
    for fold in found.select("details"):
        fold["open"] = ""
    for image in found.select("img[src]"):
        image["src"] = urljoin(here, str(image["src"]))
        image["loading"] = "eager"
    for link in found.select("a[href]"):
        address, part = urldefrag(urljoin(here, str(link["href"])))
        if address in addresses:
            link["href"] = f"#{addresses[address]}" + (f"-{part}" if part and "=" not in part else "")
        elif address.startswith("file:"):
            del link["href"]  # a download: there is no file beside a PDF
    head = found.find("h1")
    number = pages.index(page)  # the pages of one chapter follow one another, and so do short ones outside chapters
    follows = " follows" if number and Path(page).parent == Path(pages[number - 1]).parent else ""
    return (
        head.get_text(" ", strip=True) if head else page
    ), f'<section class="page{follows}" id="{prefix}">{found}</section>'


def joined(html: Path, chosen: list[str] | None = None) -> str:
    """Return the whole book, or some pages of it, as one HTML page."""
    config, toc = (yaml.safe_load((ROOT / name).read_text("utf8")) for name in ("_config.yml", "_toc.yml"))
    parts = [(caption, [p for p in pages if chosen is None or p in chosen]) for caption, pages in contents(toc)]
    pages = [page for _, some in parts for page in some]
    if missing := set(chosen or ()) - set(pages):
        raise CannotPrint(f"no page of the book: {', '.join(sorted(missing))}")
    read = {page: article(html, page, pages) for page in pages}
    lines = []
    for caption, some in parts:
        lines += [f'<li class="part">{caption}</li>'] if caption and some else []
        lines += [f'<li><a href="#page-{pages.index(page)}">{read[page][0]}</a></li>' for page in some]
    head = (html / f"{pages[-1]}.html").read_text("utf8").split("</head>")[0]
    last = (html / f"{pages[-1]}.html").resolve().as_uri()
    links = [link for link in re.findall(r"<link\b[^>]*>", head) if 'rel="stylesheet"' in link]
    styles = [urljoin(last, match[1]) for link in links if (match := re.search(r'href="([^"?]+)', link))]
    version = re.search(r'__version__ = "([^"]+)"', (ROOT / "fairbook" / "__init__.py").read_text("utf8"))
    mathjax = (html / "_static" / "mathjax" / "tex-chtml.js").resolve().as_uri()
    classes = "tex2jax_process|mathjax_process|math|output_area"
    mathjax_options = f'{{"options": {{"processHtmlClass": "{classes}", "enableMenu": false}}}}'
    title = config["title"]
    return "\n".join(
        [
            '<!doctype html><html lang="en" data-theme="light" data-mode="light"><head><meta charset="utf-8">',
            f"<title>{title}</title>",
            *(f'<link rel="stylesheet" href="{style}">' for style in dict.fromkeys(styles)),
            f"<style>{STYLE}</style><script>window.MathJax = {mathjax_options}</script>",
            f'<script defer src="{mathjax}"></script></head><body>',
            f'<main class="bd-article"><section class="title"><h1>{title}</h1>',
            "<p>Fair allocation of several resources:<br>five papers as an executable book</p>",
            f"<p>{config['author']}</p><p>Version {version[1] if version else 'unknown'}, {config['copyright']}</p>",
            '<p class="small">Text and figures: CC-BY 4.0. Code: BSD 3-Clause.<br>'
            "The same pages as notebooks that run, and the library, are in the repository.</p></section>",
            f'<section class="page contents"><h2>Contents</h2><ol>{"".join(lines)}</ol></section>',
            *(text for _, text in read.values()),
            "</main></body></html>",
        ]
    )


def print_pdf(page: Path, output: Path, program: str, seconds: float = 600.0) -> None:
    """Print one HTML page, typeset and made to fit the paper, with page numbers and an outline."""
    with Chromium(program, seconds) as browser:
        browser.send("Emulation.setDeviceMetricsOverride", width=WIDTH, height=1000, deviceScaleFactor=1, mobile=False)
        browser.send("Emulation.setEmulatedMedia", media="print")
        seen = browser.open(page.resolve().as_uri())
        if seen.failed or seen.errors:
            raise CannotPrint(f"the page did not load whole: {(seen.failed + seen.errors)[:3]}")
        browser.evaluate(FIT)
        printed = browser.send(
            "Page.printToPDF", paperWidth=PAPER[0], paperHeight=PAPER[1], marginLeft=MARGIN, marginRight=MARGIN,
            marginTop=MARGIN, marginBottom=MARGIN, printBackground=True, displayHeaderFooter=True,
            headerTemplate="<span></span>", footerTemplate=FOOTER, generateTaggedPDF=True,
            generateDocumentOutline=True,
        )  # fmt: skip
    output.write_bytes(base64.b64decode(printed["data"]))


def make_pdf(html: Path, output: Path, chosen: list[str] | None = None) -> None:
    """Write the book, or some of its pages, as a PDF; raise :class:`CannotPrint` where that is not possible."""
    program = find_chromium()
    if program is None:
        raise CannotPrint("no Chromium on the PATH, and CHROMIUM names none: the PDF is printed by a browser")
    output.parent.mkdir(parents=True, exist_ok=True)
    page = output.with_suffix(".html")
    page.write_text(joined(html, chosen), encoding="utf8")
    print_pdf(page, output, program)
    page.unlink()


if __name__ == "__main__":
    written = ROOT / "_build" / "pdf" / "fairbook.pdf"
    try:
        make_pdf(ROOT / "_build" / "html", written, sys.argv[1:] or None)
    except CannotPrint as reason:
        sys.exit(f"make_pdf: {reason}")
    print(f"{written}: {written.stat().st_size / 1e6:.1f} MB")
