"""Sphinx extension: what is made of the repository when the book is built.

``{stored-results}`` is a table of the records beside the tables in ``data/results/``. The page that says how to cite
gets the version of the package, each page an entry to cite it and what a link to it shows, and each page with code the
ways to run it. Beside the page of claims lies the ledger as a file.
"""

import html
import json
import re
import shutil
import subprocess
import textwrap
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[1]


def table(caption: str, name: str, rows: list[list[str]]) -> str:
    """Write a numbered table in MyST; the first row is its head.

    Examples
    --------
    >>> print(table("Sizes", "tab-sizes", [["what", "size"], ["a", "1"]]))
    :::{table} Sizes
    :name: tab-sizes
    <BLANKLINE>
    | what | size |
    |---|---|
    | a | 1 |
    :::
    """
    head, *body = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([f":::{{table}} {caption}", f":name: {name}", "", head, "|---" * len(rows[0]) + "|", *body, ":::"])


class StoredResults(SphinxDirective):
    """Tells for each stored result its rows, its seed, its repetitions and what else bounds its effort."""

    def run(self) -> list[nodes.Node]:
        """Return a table."""
        from book.common import results  # here, since it takes a second that other pages need not wait for

        folder = ROOT / "data" / "results"
        rows = [["result", "rows", "seed", "runs", "further"]]

        def said(value: Any) -> str:
            if not isinstance(value, list):
                return str(value)
            return str(value[0]) if len(set(value)) == 1 else ", ".join(str(one) for one in value)

        for name in sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.glob("*/*.json")):
            one = results.load_facts(name, check=False)
            facts = dict(one["facts"])
            seed, runs = said(facts.pop("seed", "-")), said(facts.pop("runs", "-"))
            further = "; ".join(f"{key} {said(value)}" for key, value in facts.items())
            rows.append([f"`{name}`", str(one["rows"]), seed, runs, further or "-"])
        container = nodes.container()
        lines = table("Stored results of full effort", "tab-execution-results", rows).splitlines()
        self.state.nested_parse(StringList(lines, source=self.env.docname), self.content_offset, container)
        return container.children


def state_version(app: Any, docname: str, source: list[str]) -> None:
    """Put the version for the word VERSION on the page that says how to cite: it stands in one place, the package."""
    if docname == "book/cite":
        source[0] = source[0].replace("VERSION", version("fairbook"))


def commit() -> str:
    """Give the short name and the date of the commit that the book is built from; empty outside a repository."""
    with suppress(OSError, subprocess.CalledProcessError):
        asked = ["git", "-C", str(ROOT), "log", "-1", "--format=%h of %cs"]
        return ", commit " + subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    return ""


def sign(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Say at the foot of each page what it is a page of, and how to cite it."""
    title = re.sub(r"<[^>]+>|^[\d.]+ ", "", context.get("title") or "fairbook")
    fields = {
        "author": "{The fairbook developers}",
        "title": f"{{{html.unescape(title)}}}",
        "booktitle": "fairbook: fair allocation of several resources, five papers as an executable book",
        "year": str(app.config.copyright),
        "note": f"Version {version('fairbook')}{app.fairbook_commit}",
    }
    key = re.sub(r"\W+", "_", page.removeprefix("book/"))
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    entry = f'@incollection{{fairbook_{key},\n{html.escape(lines)}<span class="here"></span>}}'
    context["theme_extra_footer"] = (
        f'<details class="cite-page"><summary>Cite this page</summary><pre>{entry}</pre></details>fairbook '
        f'{version("fairbook")}{app.fairbook_commit}. <a href="{context["pathto"]("book/cite")}">How to cite</a>. '
        + app.config.html_theme_options["extra_footer"]
    )
    # what a link to the page shows; a picture's address should be whole, once there is a host
    texts = [] if doctree is None else [" ".join(one.astext().split()) for one in doctree.findall(nodes.paragraph)]
    said = textwrap.shorten(
        next((text for text in texts if len(text) > 60), fields["booktitle"]), 240, placeholder=" ..."
    )
    picture = (
        f"{app.config.html_baseurl}_static/preview.png"
        if app.config.html_baseurl
        else context["pathto"]("_static/preview.png", resource=True)
    )
    tags = {
        "og:type": "article",
        "og:site_name": "fairbook",
        "og:title": html.unescape(title),
        "og:description": said,
        "og:image": picture,
    }
    found = [f'<meta property="{name}" content="{html.escape(value)}">' for name, value in tags.items()]
    context["metatags"] = "\n".join(
        [context.get("metatags", ""), f'<meta name="description" content="{html.escape(said)}">', *found]
    )
    if page == "book/intro":
        context["docstitle"] = "fair allocation of several resources"


#: Under each page with code; JupyterLab needs the set-up that `make lab` brings, and so does any other reader's kernel.
RUN = """<details class="run-page"><summary>Run this page</summary><p>In a checkout, one of:</p><ul>
<li><code>make lab PAGE={page}</code> opens it in JupyterLab: change a cell, press Shift+Enter</li>
<li><code>make execute PAGE={page}</code> runs all of its cells, then <code>make page PAGE={page}</code> shows this page
with what they gave; <code>.venv/bin/jupyter execute --inplace book/{page}.ipynb</code> changes the notebook
alone; ignore its warning about TCP without encryption: nothing leaves your machine</li>
<li><a href="{notebook}" download>download the notebook</a> for VS Code or another reader, with the Python of
<code>.venv</code> as its kernel</li></ul>
<p><code>git checkout book</code> undoes your changes to the pages, and <code>make page PAGE={page}</code> shows
it.</p></details>"""


#: What MyST has beyond Markdown, in the order in which it is taken out, and what takes its place.
BEYOND = {
    r"^\([\w-]+\)=(?:\n|\Z)|^:(?:label|class|name|width|alt): .*\n|^:{3,}[ \t]*(?:\n|\Z)": "",
    r"^[:`]{3,}\{(?:\w+:)?([\w-]+)\} *(.*)$": r"**\1** \2\n",
    r"^\$\$ \(([\w-]+)\)$": "$$",
    r"\{[\w:-]+\}`([^<`]+?)\s*<[^>`]*>`": r"\1",
    r"\{[\w:-]+\}`([^`]+)`": r"[\1]",
}


def plain(text: str) -> str:
    r"""Say a cell of text in plain Markdown, for readers that know no MyST; a reference is the name of what is meant.

    Examples
    --------
    >>> print(plain(":::{prf:lemma} Slots\n:label: lem-a\nSee {ref}`there <b>` and {eq}`eq-c`."))
    **lemma** Slots
    <BLANKLINE>
    See there and [eq-c].
    """
    for pattern, instead in BEYOND.items():
        text = re.sub(pattern, instead, text, flags=re.MULTILINE)
    return text


def offer(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Say at the end of each page with code how to run it, and put its notebook beside it, in plain Markdown."""
    source = ROOT / f"{page}.ipynb"
    if source.is_file():
        notebook = json.loads(source.read_text("utf8"))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = plain("".join(cell["source"]))
        beside = Path(app.outdir, page).with_suffix(".ipynb")
        beside.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(json.dumps(notebook), encoding="utf8")
        context["body"] += RUN.format(page=page.removeprefix("book/"), notebook=beside.name)


def write_ledger(app: Any) -> list[Any]:
    """Put the ledger and its schema beside the page that offers them, a stale ledger excepted; collect no page."""
    from book.common import claims
    from book.common.claims.stored import document
    from book.common.results import StaleResult

    folder = Path(app.outdir) / "book"
    shutil.copyfile(Path(claims.__path__[0], "ledger.schema.json"), folder / "ledger.schema.json")
    (folder / "ledger.json").unlink(missing_ok=True)
    with suppress(StaleResult):
        (folder / "ledger.json").write_text(document(claims.ledger()), encoding="utf8")
    return []


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.fairbook_commit = commit()
    app.connect("source-read", state_version)
    app.connect("html-page-context", sign)
    app.connect("html-page-context", offer)
    app.connect("html-collect-pages", write_ledger)
    app.add_directive("stored-results", StoredResults)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
