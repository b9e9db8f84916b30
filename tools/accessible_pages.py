"""Sphinx extension: what screen readers and keyboards need of a page and the theme does not give.

Tables get a name and header cells that say what they head, code in them may break after a stroke or a dot, Chinese
terms get their language, no id is there twice, and the list of a page's sections gets a name. What depends on the
reader's window (boxes that scroll) is done in the browser by ``book/assets/fairbook.js``.
"""

import html
import re
from pathlib import Path
from typing import Any

from docutils import nodes

CHINESE = re.compile(r"([\u3400-\u9fff][\u3000-\u303f\u3400-\u9fff\uff00-\uffef]*)")
TABLE = re.compile(r"<table\b.*?</table>", re.DOTALL)
CODE = re.compile(r'(?<=<span class="pre">)[^<]+')
HEAD = re.compile(r"<h([1-6])\b[^>]*>(.*?)</h\1>", re.DOTALL)
FOLD = re.compile(
    r'(<a class="[^"]*reference internal" href="[^"]*">(?:(?!</a>).)*</a><details[^>]*>)<summary>', re.DOTALL
)
ID = re.compile(r'(<[a-zA-Z][^<>]*?)\s+id="([^"]*)"')
# the inner sections of every statement, exercise and solution have the same id, and nothing refers to it
NOBODYS = {"proof-content", "exercise-content", "solution-content"}

SIDEBAR = 'class="bd-sidebar-primary bd-sidebar">'
SCHEME = '<i class="theme-switch '  # drawings in a button with a name


def pieces(text: str) -> list[tuple[str, bool]]:
    """Split a text into pieces, each with whether it is Chinese.

    Examples
    --------
    >>> [len(piece) for piece, chinese in pieces(f"share {chr(0x4EFD)}{chr(0x989D)}.") if chinese]
    [2]
    """
    return [(piece, place % 2 == 1) for place, piece in enumerate(CHINESE.split(text)) if piece]


def mark_chinese(app: Any, doctree: nodes.document, docname: str) -> None:
    """Give every run of Chinese its language: docutils turns the class ``language-zh`` into ``lang="zh"``."""
    for text in list(doctree.findall(nodes.Text)):
        parent = text.parent
        if CHINESE.search(text) and parent is not None and not isinstance(parent, (nodes.literal_block, nodes.raw)):
            parts = [
                nodes.inline("", "", nodes.Text(piece), classes=["language-zh"]) if chinese else nodes.Text(piece)
                for piece, chinese in pieces(str(text))
            ]
            parent.replace(text, parts)


def words(fragment: str) -> str:
    """Return the text of a piece of HTML, without the mark that links to a head."""
    text = re.sub(r'<a class="headerlink".*?</a>|<[^>]+>', "", fragment, flags=re.DOTALL)
    return html.escape(" ".join(html.unescape(text).split()))


def mend_table(table: str, head: str) -> str:
    """Give the header cells of a table their scope, and a table without a caption a name from the head above it."""
    opening = re.match(r"<table\b[^>]*>", table)
    assert opening
    start = opening[0]
    if 'class="indextable' in start:
        return table if "role=" in start else table.replace("<table", '<table role="presentation"', 1)
    body = re.sub(
        r"<thead\b.*?</thead>",
        lambda part: re.sub(r"<th(?![\w-])(?![^>]*\bscope=)", '<th scope="col"', part[0]),
        table[len(start) :],
        flags=re.DOTALL,
    )
    body = re.sub(r"<th(?![\w-])(?![^>]*\bscope=)", '<th scope="row"', body)
    body = CODE.sub(lambda code: re.sub(r"((?<=\w)[/_:]+|(?<=\w{3})\.)(?=[^\W_])", r"\1<wbr>", code[0]), body)
    if 'class="autosummary' in start:  # a list of names, each with a line
        return (start if "role=" in start else f'{start[:-1]} role="presentation">') + body
    if "<caption" not in body and "aria-label" not in start and head:
        start = f'{start[:-1]} aria-label="Table: {head}">'
    return start + body


def mend(page: str) -> str:
    """Return the HTML of a page with its tables, ids and navigations mended; what is mended stays as it is.

    Examples
    --------
    >>> mend('<h2>Users</h2><table><thead><tr><th>CPU</th></tr></thead></table>')
    '<h2>Users</h2><table aria-label="Table: Users"><thead><tr><th scope="col">CPU</th></tr></thead></table>'
    """
    heads = [(found.start(), words(found[2])) for found in HEAD.finditer(page)]

    def with_head(found: re.Match[str]) -> str:
        above = [text for place, text in heads if place < found.start() and text]
        return mend_table(found[0], above[-1] if above else "")

    page = TABLE.sub(with_head, page)
    seen: set[str] = set()

    def once(found: re.Match[str]) -> str:
        if found[2] in seen or found[2] in NOBODYS:
            return found[1]
        seen.add(found[2])
        return found[0]

    page = ID.sub(once, page)
    page = page.replace(' role="doc-biblioentry"', ' role="listitem"')  # docutils' list of works is a list
    page = page.replace(SIDEBAR, f'{SIDEBAR[:-1]} role="region" aria-label="Book">')
    page = page.replace(SCHEME, SCHEME.replace("<i", '<i aria-hidden="true"'))
    page = FOLD.sub(lambda found: f'{found[1]}<summary aria-label="Pages below {words(found[1])}">', page)
    return re.sub(r'<nav class="bd-toc-nav page-toc"(?! aria)', r'\g<0> aria-label="On this page"', page)


def finish(app: Any, failure: Exception | None) -> None:
    """Mend every page of the built book."""
    if failure is not None or app.builder.format != "html":
        return
    for path in sorted(Path(app.outdir).rglob("*.html")):
        text = path.read_text("utf8")
        mended = mend(text)
        if mended != text:
            path.write_text(mended, encoding="utf8")


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("doctree-resolved", mark_chinese)
    app.connect("build-finished", finish)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
