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
TOLD = re.compile(r"book/(\w+/(story|theory|evidence|more|lemmas)|intro|findings|one_level|cluster)")
ROLE = r"\{[\w:]+\}`([^`<]+?)\s*(?:<[^`]*>)?`"
KEYS = {
    "dmfa_srq": "DMFA-SRQ",
    "cbdrf": "cbDRF",
    "tv_drf": "TV-DRF",
    "gdrf": "GDRF",
    "virtual_cluster": "virtual clusters",
}
#: Terms of the glossary that pages mostly use in another sense, and the head of its tables.
EVERYDAY = {"bound", "load", "minimum", "cluster", "term"}


def rows(text: str) -> list[list[str]]:
    """Return the cells of all tables of a page, those of the heads among them."""
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]


def said(cell: str) -> str:
    r"""Give what a cell says as plain text, without Chinese and without the keys of papers after it.

    Examples
    --------
    >>> said(r"the *level* {ref}`of a user <gdrf>`, $\alpha_{ij} / w_i$ (gdrf)")
    'the level of a user, alpha_ij / w_i'
    """
    text = re.sub(r"\*(\w[^*]*)\*", r"\1", re.sub(ROLE, r"\1", cell))
    text = re.sub(rf"\s*\((?:{'|'.join(KEYS)})\)|\s*[\u3400-\u9fff]+|[$\\{{}}]", "", text)
    return re.sub("|".join(KEYS), lambda key: KEYS[key[0]], text).strip()


def names(cell: str) -> list[str]:
    """Give the English terms of the first cell of a row of the glossary, in small letters.

    Examples
    --------
    >>> names("{ref}`period <tv_drf>` (tv_drf); {ref}`phase <cbdrf>` (cbdrf)")
    ['period', 'phase']
    """
    parts = (re.sub("[^A-Za-z -]", "", said(part)).strip().lower() for part in cell.split(";"))
    return [part for part in parts if part]


def anchor(cell: str) -> str:
    """Give the anchor of a row of the glossary."""
    return nodes.make_id(f"term {names(cell)[0]}")


def symbol(formula: str) -> str:
    r"""Give what a formula is a symbol of: what stands before an equals sign, at any time.

    Examples
    --------
    >>> symbol(r"\psi_i(t) = C_i / C_0")
    '\\psi_i'
    """
    return formula.split("=")[0].replace("(t)", "").strip()


def terms() -> dict[str, tuple[str, str]]:
    """Give for each term of the glossary its meaning and where it stands."""
    found = rows((ROOT / f"{GLOSSARY}.md").read_text("utf8"))
    told = ((name, row) for row in found for name in names(row[0]) if name not in EVERYDAY)
    return {name: (said(row[1]), f"{GLOSSARY}#{anchor(row[0])}") for name, row in told}


def symbols(key: str) -> dict[str, tuple[str, str]]:
    """Give for each symbol of a chapter's table in the notation its meaning and where it stands.

    Ours count, where a cell begins with them, else the paper's; where each of several has its meaning, it gets that.
    """
    found: dict[str, tuple[str, str]] = {}
    table = (ROOT / f"{NOTATION}.md").read_text("utf8").partition(f":name: tab-notation-{key}\n")[2]
    for cells in rows(table.partition(":::")[0]):
        cell = cells[2] if cells[2].startswith("$") else cells[0]
        formulas = re.findall(r"\$([^$]+)\$", re.split(r"; |, [a-z]", cell)[0])
        parts = cells[1].split("; ")
        for k, formula in enumerate(formulas):
            words = said(parts[k] if len(parts) == len(formulas) else cells[1])
            found.setdefault(symbol(formula), (words, f"{NOTATION}#{nodes.make_id(f'tab-notation-{key}')}"))
    return found


def explain(app: Any, doctree: nodes.document, here: str) -> None:
    """Explain what stands in plain text outside tables; in the glossary, give each row its anchor."""

    def link(told: tuple[str, str], node: nodes.Node) -> nodes.Node:
        page, _, place = told[1].partition("#")
        uri = f"{app.builder.get_relative_uri(here, page)}#{place}"
        return nodes.reference("", "", node, internal=True, refuri=uri, reftitle=told[0], classes=["means"])

    for row in doctree.findall(nodes.row) if here == GLOSSARY else ():
        row["ids"].append(anchor(row[0].astext()))
    if not TOLD.fullmatch(here):
        return
    key, meanings, signs = here.split("/")[1], terms(), dict[str, tuple[str, str]]()
    all_signs = symbols("book" if key in ("foundations", "one_level") else key)
    words = re.compile(rf"\b((?:{'|'.join(sorted(meanings, key=len, reverse=True))})s?)\b", re.IGNORECASE)
    for node in list(doctree.findall()):
        if isinstance(node, nodes.section):
            signs = dict(all_signs)
        if not isinstance(node, nodes.paragraph) or isinstance(node.parent, nodes.entry):
            continue
        for child in list(node):
            if isinstance(child, nodes.math) and (told := signs.pop(symbol(child.astext()), None)):
                node.replace(child, link(told, child.deepcopy()))
            elif isinstance(child, nodes.Text) and words.search(child):
                parts: list[nodes.Node] = []
                for k, part in enumerate(words.split(child)):  # every other one is a term
                    name = part.lower() if part.lower() in meanings else part.lower().removesuffix("s")
                    told = meanings.pop(name, None) if k % 2 else None
                    parts.append(link(told, nodes.inline("", part)) if told else nodes.Text(part))
                node.replace(child, parts)


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("doctree-resolved", explain)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
