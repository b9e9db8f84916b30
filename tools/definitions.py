"""Sphinx extension: the first use of a term on a page, and of a symbol in a section, says what it means.

Terms are those of the glossary, symbols those of the chapter's table in the notation. Each becomes a link with a title
that leads to its row: where a pointer rests, the browser shows the title, at the keyboard ``fairbook.css`` does, and
under a finger ``fairbook.js``. sphinx-tippy and sphinx-hoverxref show more, with scripts and texts that are fetched.
"""

import re
from typing import Any

from docutils import nodes

from tools.book_tables import ROOT

GLOSSARY, NOTATION = "book/glossary", "book/notation"
TOLD = re.compile(r"book/(\w+/(?:story|theory|evidence|more|lemmas)|intro|findings|one_level|cluster)")
ROLE = r"\{[\w:]+\}`([^`<]+?)\s*(?:<[^`]*>)?`"
KEYS = {
    "dmfa_srq": "DMFA-SRQ",
    "cbdrf": "cbDRF",
    "tv_drf": "TV-DRF",
    "gdrf": "GDRF",
    "virtual_cluster": "virtual clusters",
}
#: Terms of the glossary that pages mostly use in another sense.
EVERYDAY = {"bound", "load", "minimum", "cluster"}


def rows(text: str) -> list[list[str]]:
    """Return the cells of all tables of a page, those of the heads among them."""
    lines = (line for line in text.splitlines() if line.startswith("| "))
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def said(cell: str) -> str:
    r"""Give what a cell says as plain text, without Chinese and without the keys of papers after it.

    Examples
    --------
    >>> said(r"the *level* {ref}`of a user <gdrf>`, $\alpha_{ij} / w_i$ (gdrf)")
    'the level of a user, alpha_ij / w_i'
    """
    text = re.sub(r"\*(\w[^*]*)\*", r"\1", re.sub(ROLE, r"\1", cell))
    text = re.sub(rf"\s*\((?:{'|'.join(KEYS)})\)|\s*[\u3400-\u9fff]+|[$\\\\{{}}]", "", text)
    return re.sub("|".join(KEYS), lambda key: KEYS[key[0]], text).strip()


def names(cell: str) -> list[str]:
    """Give the English terms of the first cell of a row of the glossary.

    Examples
    --------
    >>> names("{ref}`period <tv_drf>` (tv_drf); {ref}`phase <cbdrf>` (cbdrf)")
    ['period', 'phase']
    """
    parts = (re.sub("[^A-Za-z -]", "", said(part)).strip() for part in cell.split(";"))
    return [part for part in parts if part]


def symbol(formula: str) -> str:
    r"""Give what a formula is a symbol of: what stands before an equals sign, at any time.

    Examples
    --------
    >>> symbol(r"\psi_i(t) = C_i / C_0")
    '\\psi_i'
    """
    return formula.split("=")[0].replace("(t)", "").strip()


def terms() -> dict[str, tuple[str, str]]:
    """Give for each term of the glossary, in small letters, the anchor of its row and its meaning."""
    found = (row for row in rows((ROOT / f"{GLOSSARY}.md").read_text("utf8")) if row[0] != "term")
    told = ((name, row) for row in found for name in names(row[0]) if name not in EVERYDAY)
    return {name.lower(): (anchor(row[0]), said(row[1])) for name, row in told}


def anchor(cell: str) -> str:
    """Give the anchor of a row of the glossary."""
    return nodes.make_id(f"term {names(cell)[0]}")


def symbols() -> dict[str, dict[str, tuple[str, str]]]:
    """Give for each table of the notation, by symbol, the table's anchor and the meaning.

    Ours count, where a cell begins with them, else the paper's; where each of several has its meaning, it gets that.
    """
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for table in (ROOT / f"{NOTATION}.md").read_text("utf8").split(":name: tab-notation-")[1:]:
        key = table.split()[0]
        for cells in rows(table.split(":::")[0]):
            cell = cells[2] if key != "book" and cells[2].startswith("$") else cells[0]
            formulas = re.findall(r"\$([^$]+)\$", re.split(r"; |, [a-z]", cell)[0])
            parts = cells[1].split("; ")
            for formula, part in zip(formulas, parts if len(parts) == len(formulas) else [cells[1]] * len(formulas)):
                told = (nodes.make_id(f"tab-notation-{key}"), said(part))
                found.setdefault(key, {}).setdefault(symbol(formula), told)
    return found


def link(app: Any, here: str, page: str, told: tuple[str, str], node: nodes.Node) -> nodes.reference:
    """Make a word or a formula a link to its row."""
    uri = f"{app.builder.get_relative_uri(here, page)}#{told[0]}"
    return nodes.reference("", "", node, internal=True, refuri=uri, reftitle=told[1], classes=["means"])


def explain(app: Any, doctree: nodes.document, here: str) -> None:
    """Explain what stands in plain text of paragraphs; in the glossary, give each row its anchor."""
    if here == GLOSSARY:
        for row in doctree.findall(nodes.row):
            if names(row[0].astext()) != ["term"]:
                row["ids"].append(anchor(row[0].astext()))
    if not TOLD.fullmatch(here):
        return
    key, meanings = here.split("/")[1], terms()
    signs = symbols().get("book" if key in ("foundations", "one_level") else key, {})
    words = re.compile(rf"\b({'|'.join(sorted(map(re.escape, meanings), key=len, reverse=True))})s?\b", re.IGNORECASE)
    known: set[Any] = set()
    for paragraph in list(doctree.findall(nodes.paragraph)):
        above, node = [paragraph], paragraph.parent
        while node is not None and not isinstance(node, nodes.document):
            above, node = [*above, node], node.parent
        if any(isinstance(one, (nodes.entry, nodes.caption, nodes.figure)) for one in above):
            continue
        section = above[-2] if isinstance(above[-2], nodes.section) else above[-1]
        for child in list(paragraph):
            if isinstance(child, nodes.math) and (sign := symbol(child.astext())) in signs:
                if (id(section), sign) not in known:
                    known.add((id(section), sign))
                    paragraph.replace(child, link(app, here, NOTATION, signs[sign], child.deepcopy()))
            elif isinstance(child, nodes.Text):
                parts, end = [], 0
                for match in words.finditer(child):
                    if (term := match[1].lower()) not in known:
                        known.add(term)
                        told = link(app, here, GLOSSARY, meanings[term], nodes.inline("", match[0]))
                        parts, end = [*parts, nodes.Text(child[end : match.start()]), told], match.end()
                if parts:
                    paragraph.replace(child, [*parts, nodes.Text(child[end:])])


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("doctree-resolved", explain)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
