"""Sphinx extension: verdicts of the ledger wherever a page speaks of them, linked both ways.

``{verdict}`tv_drf.theorem_1.fluid.one``` is a badge that leads to the claim's row; ``{verdict}`words <id>``` names the
claim that it judges.
``{ledger} tv_drf`` is the whole ledger of a paper: what stands at each place, and each row on it with its proof, the
places in the book where its badge stands, the source of its check and the command that runs it again.
``{verdict-map}`` is one tile for each statement of each paper, ``{verdict-counts}`` their table, and
``{verdict-total}`` a number in the text. All are read from the stored ledger when the book is built.
``{puzzle} tv_drf`` is a counterexample of a paper to play with. sphinx-needs links such rows as well, but wants them
written on the pages; these are computed.

By hand, since verdicts are computed: sphinx-needs keeps what is written into a page.
"""

import html
import re
from functools import cache
from importlib import import_module
from math import ceil
from typing import Any

import pandas as pd
from docutils import nodes
from docutils.statemachine import StringList
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx.util.docutils import SphinxDirective, SphinxRole

from book.common.checkout import ROOT
from book.common.claims import claims, stored
from book.common.claims.stored import anchor, papers
from book.common.evidence import EXACT
from proofs import check
from tools.book_tables import table as numbered
from tools.formulas import typeset, typeset_original
from tools.witnesses import as_table, python, witness

_LONG = 300  # of evidence: about two lines
GOOD, BAD = {"holds", "reproduced"}, {"refuted", "not reproduced"}
#: The parts into which the counted statements fall, wherever they are counted: words, and verdicts, the first of which
#: gives colour and icon.
PARTS = {
    "stand": ("holds", "reproduced"),
    "stand in part": ("partly", "depends on the reading"),
    "fall": ("refuted", "not reproduced"),
    "cannot be compared": ("nothing to compare", "undetermined", "lost"),
}
#: Why a statement is not counted with the others.
APART = {
    "presumed": "its words are lost, and what is judged is our guess",
    "reconstructed": "inputs or formulas are lost, and ours stand in for them",
    "stand-in": "it rests on our stand-in for MDRF",
    "abstract": "the paper was read in its abstract alone",
    "denied": "the paper says that DRF does not consider it",
    "lost": "nothing is left to judge",
}


@cache
def ledger() -> pd.DataFrame:
    """Read the stored ledgers of all papers as they are; the tests see to it that they are fresh."""
    found = [pd.read_csv(ROOT / "data" / "results" / key / "ledger.csv", keep_default_na=False) for key in papers()]
    return stored.placed(pd.concat(found, ignore_index=True)).set_index("id", drop=False)


@cache
def statements() -> pd.DataFrame:
    """Give what the papers say, place by place, each with its claims and one verdict over its readings."""
    return stored.statements(ledger()).set_index("place", drop=False)


def counted(frame: pd.DataFrame) -> pd.DataFrame:
    """Leave out the statements that are counted apart."""
    return frame[frame["apart"] == ""]


def classes(verdict: str) -> str:
    """Give the class of a verdict's colour and icon.

    Examples
    --------
    >>> classes("not reproduced")
    'verdict verdict-not-reproduced'
    """
    return f"verdict verdict-{verdict.replace(' ', '-')}"


def shown(module: str) -> str:
    """Give the page that shows a module.

    Examples
    --------
    >>> shown("book.gdrf.checks")
    'book/gdrf/source/checks'
    """
    folder, _, name = module.replace(".", "/").rpartition("/")
    return f"{folder}/source/{name}"


#: At the head of each ledger.
HEAD = (
    "What the paper says, place by place, with the decisive words of the original, and below it each reading that was "
    "judged. A card has the statement tested, the verdict and the reason; opened, it says how we checked it, and how "
    "to run it again (in a checkout, after `make setup`). "
    "{ref}`The words <reading-claims>` are explained elsewhere; {doc}`../errata` says what is true instead."
)


class Page(SphinxDirective):
    """What the directives share."""

    has_content = False
    final_argument_whitespace = True

    def address(self, page: str, target: str = "") -> str:
        """Give the address of a page, seen from this one."""
        uri = self.env.app.builder.get_relative_uri(self.env.docname, page)
        return f"{uri}#{target}" if target else uri

    def parse(self, text: str) -> list[nodes.Node]:
        """Parse MyST."""
        holder = nodes.container()
        self.state.nested_parse(StringList(text.splitlines(), source=self.env.docname), self.content_offset, holder)
        return holder.children


class Badge(SphinxRole):
    """A verdict, as a link to its row of the ledger."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the badge, and note that it stands here."""
        words, name = named.groups() if (named := re.fullmatch(r"(.+?)\s*<(\S+)>", self.text)) else ("", self.text)
        if name not in ledger().index:
            return [], [self.inliner.reporter.error(f"no claim is named {name}", line=self.lineno)]
        row = ledger().loc[name]
        places = self.env.__dict__.setdefault("fairbook_badges", {}).setdefault(name, [])
        here = f"{anchor(name)}-{sum(page == self.env.docname for page, _ in places)}"
        places.append((self.env.docname, here))
        uri = self.env.app.builder.get_relative_uri(self.env.docname, f"book/{row['paper']}/ledger")
        text = (
            f'<a id="{here}" class="{classes(row["verdict"])}" href="{uri}#{anchor(name)}" '
            f'aria-label="{row["verdict"]}: {html.escape(words or row["locator"])}">'
            f"{html.escape(words and f'{words}: ')}{row['verdict']}</a>"
        )
        return [nodes.raw("", text, format="html")], []


def parted(frame: pd.DataFrame) -> dict[str, int]:
    """Count the statements of each of the :data:`PARTS`, those that are counted apart left out.

    Parameters
    ----------
    frame : DataFrame
        Statements, as :func:`book.common.claims.stored.statements` gives them.
    """
    verdicts = counted(frame)["verdict"]
    return {part: int(verdicts.isin(its).sum()) for part, its in PARTS.items()}


def bar(frame: pd.DataFrame) -> str:
    """Draw how many statements fall into each part, as wide as there are many; none, where all are counted apart."""
    found = {part: count for part, count in parted(frame).items() if count}
    told = ", ".join(f"{count} {part}" for part, count in found.items())
    parts = (f'<span class="{classes(PARTS[part][0])}" style="flex-grow: {n}">{n}</span>' for part, n in found.items())
    drawn = f'<div class="verdict-bar" role="img" aria-label="{told}" title="{told}">{"".join(parts)}</div>'
    return drawn if found else ""


class Total(SphinxRole):
    """A count in a sentence: ``claims``, ``readings``, ``statements``, ``apart``, or one of :data:`PARTS`.

    ``of PAPER`` or of all. ``readings`` are the rows that judge a place.
    """

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the number."""
        what, _, paper = self.text.partition(" of ")
        if paper and paper not in papers():
            return [], [self.inliner.reporter.error(f"no paper is called {paper}", line=self.lineno)]
        rows, said = (one[one["paper"] == paper] if paper else one for one in (ledger(), statements()))
        counts = {
            "claims": len(rows),
            "readings": int(rows["reading"].isin(stored.JUDGES).sum()),
            "statements": len(counted(said)),
            "apart": len(said) - len(counted(said)),
            **parted(said),
        }
        if what not in counts:
            return [], [self.inliner.reporter.error(f"nothing is counted as {self.text}", line=self.lineno)]
        return [nodes.Text(str(counts[what]))], []


#: Whose reading of a place a row tests.
WHOSE = {"letter": "the letter's", "charitable": "a charitable one", "ours": "ours, which does not judge the paper"}


def original(place: dict[str, Any]) -> str:
    """Give the decisive words of the original."""
    return f' <span class="term" lang="zh">{typeset_original(place["term"])}</span>' if place["term"] else ""


def place(one: dict[str, Any]) -> str:
    """Say what stands at a place of a paper, with the decisive words of the original, and the verdict on it."""
    facts = stored.places()[one["place"]]
    apart = f" Counted apart: {APART[one['apart']]}." if one["apart"] else ""
    reply = f" *An author answers:* {facts['reply']}" if "reply" in facts else ""
    return (
        f"[**{typeset(one['where'])}.**]{{#{anchor(one['place']).replace('claim', 'place', 1)}}} "
        f"The paper: {typeset(one['says'])}{original(facts)} "
        f"[{one['verdict']}]{{.{' .'.join(classes(one['verdict']).split())}}}{apart}{reply}"
    )


def told(row: Any) -> str:
    """Say where a claim is made and in which reading."""
    return row["locator"] + ("" if row["variant"] == "as stated" else f", {row['variant']}")


def first(evidence: str) -> str:
    """Keep one counterexample, and of what is said of it the first sentences."""
    evidence = evidence.removeprefix(EXACT).split(f" {EXACT}")[0]
    kept, *rest = re.split(r"(?<=\.) (?=[A-Z])", evidence)
    for sentence in rest:
        if len(kept) + len(sentence) > _LONG:
            return f"{kept} ..."
        kept += f" {sentence}"
    return kept


def shown_witness(row: Any, lead: str = "") -> str:
    """Give the first witness for the eye: a table and what is said of it, or a sentence where there is no table."""
    drawn, said = as_table(row), first(row["evidence"])
    if drawn:  # the sentence begins with the numbers of the table
        said = after[1] if (after := re.search(r"\)[^().]*?[:.] (.+)", said)) else ""
    return f"{lead}{typeset(said)}\n\n{drawn}"


def why(row: dict[str, Any]) -> str:
    """Give the reason of a verdict: the proof, the witness, or the numbers."""
    if row["proof"]:
        role = "ref" if row["proof"].startswith("ex-") else "prf:ref"
        return f"Proof: {{{role}}}`{row['proof']}`{checked(row['proof'])}."
    return shown_witness(row)


class Back(nodes.General, nodes.Element):
    """The places of a claim's badge; known when all pages are read."""


class Ledger(Page):
    """All claims of a paper."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the rows, place by place, which a filter turns into a search."""
        paper = self.arguments[0]
        rows = ledger()[ledger()["paper"] == paper]
        if rows.empty:
            raise self.error(f"no paper is called {paper}")
        said, beyond = statements(), rows[rows["place"] == ""]
        box = nodes.container(classes=["verdicts"])
        for one in said[said["paper"] == paper].to_dict("records"):
            box += self.group(place(one), ledger().loc[one["ids"]])
        if len(beyond):
            box += self.group("**Beyond the paper**", beyond)
        return [*self.parse(HEAD), nodes.raw("", bar(said[said["paper"] == paper]), format="html"), box]

    def group(self, head: str, rows: pd.DataFrame) -> nodes.Node:
        """Give what stands at a place, and the cards on it."""
        box = nodes.container(classes=["place"])
        box.extend([*self.parse(head), *map(self.card, rows.to_dict("records"))])
        return box

    def card(self, row: dict[str, Any]) -> nodes.Node:
        """Give one claim: what is tested, the verdict and why; folded, the search, the source and the command."""
        module, line = claims()[row["id"]].declared
        page = self.address(shown(module), f"L-{line}")
        head = row["variant"].replace("as stated", "In our words") if row["place"] else told(row)
        whose = (
            f"Reading: {WHOSE[row['reading']]}{row['ours'] and ' (our choice: ' + typeset(row['ours']) + ')'}. "
            if row["place"]
            else ""
        )
        run = witness(row)
        rest = "" if not row["proof"] and row["evidence"] == first(row["evidence"]) else row["evidence"]
        text = f"""
[{row["verdict"]}]{{.{" .".join(classes(row["verdict"]).split())} .claim-verdict}} **{typeset(head)}.** {
            typeset(row["statement"])
        }

{why(row)}

<details class="claim-more"><summary>How we checked it, and how to run it again</summary>

<span class="claim-kind">{row["kind"]}</span>: <span class="claim-grade">{row["grade"]}</span>. {whose}{
            rest
        } {{claim-places}}`{row["id"]}` <a href="{page}">Source of the check</a>.

{f"```python{chr(10)}{python(run)}{chr(10)}```" if run else ""}

Again, in {ceil(float(row["seconds"])) or 1} s: `.venv/bin/python -m book claims --recompute --effort full --id`
<a class="claim-id" href="#{anchor(row["id"])}">{row["id"]}</a>

</details>
"""
        return nodes.container("", *self.parse(text), classes=["claim"], ids=[anchor(row["id"])])


def checked(label: str) -> str:
    """Lead to what a machine has checked of a proof, if it is all of it."""
    return f" ({{ref}}`machine-checked <{check.anchor(label)}>`)" if label in check.record()["whole"] else ""


class Places(SphinxRole):
    """Where in the book the badge of a claim stands."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return what is replaced when all pages are read."""
        return [Back(claim=self.text)], []


def backlinks(app: Any, doctree: nodes.document, docname: str) -> None:
    """Replace each :class:`Back` by links to the places where the badge of its claim stands."""
    for node in list(doctree.findall(Back)):
        places = getattr(app.env, "fairbook_badges", {}).get(node["claim"], [])
        first = {page: here for page, here in reversed(places) if page != docname}
        links = [
            f'<a href="{app.builder.get_relative_uri(docname, page)}#{here}">'
            f"{html.escape(app.env.titles[page].astext())}</a>"
            for page, here in first.items()
        ]
        node.replace_self(nodes.raw("", "In the text: " + ", ".join(links) + "." if links else "", format="html"))


class Map(Page):
    """A tile for each statement of each paper; those that are counted apart have a dashed frame."""

    def tile(self, one: dict[str, Any]) -> str:
        """Give one tile: colour and icon are seen, all of it is heard, and shown where a pointer rests."""
        said = html.escape(f"{one['where']}: {one['verdict']}")
        row = self.address(f"book/{one['paper']}/ledger", anchor(one["place"]).replace("claim", "place", 1))
        apart = " tile-apart" if one["apart"] else ""
        return (
            f'<li><a class="tile{apart} {classes(one["verdict"])}" href="{row}" '
            f'title="{said}. {html.escape(one["says"])}"><span>{said}</span></a></li>'
        )

    def run(self) -> list[nodes.Node]:
        """Return for each paper a bar and a row of tiles, and what the colours mean."""
        rows, frame = [], statements()
        for paper, facts in papers().items():
            its = frame[frame["paper"] == paper]
            link = f'<a href="{self.address(f"book/{paper}/story")}">{html.escape(facts["short"])}</a>'
            rows.append(
                f"<div>{link}<div>{bar(its)}<ul>{''.join(map(self.tile, its.to_dict('records')))}</ul></div></div>"
            )
        counts = parted(frame)
        legend = " ".join(
            f'<span class="{classes(PARTS[part][0])}">{count} {part}</span>' for part, count in counts.items()
        )
        legend += f'<span class="verdict tile-apart">{len(frame) - sum(counts.values())} counted apart</span>'
        text = f'<div class="verdict-map">{"".join(rows)}<p class="verdict-legend">{legend}</p></div>'
        return [nodes.raw("", text, format="html")]


class Puzzle(Page):
    """A counterexample of a paper under the reader's hand."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the experiment."""
        made = import_module(f"book.{self.arguments[0]}.explorable").puzzle()
        return [nodes.raw("", made._repr_html_(), format="html")]


class Counts(Page):
    """The verdicts on the statements of each paper, each count a link to the claims."""

    def run(self) -> list[nodes.Node]:
        """Return a table."""
        frame, rows = statements(), [["paper", *PARTS, "all", "counted apart"]]
        for paper, facts in papers().items():
            its = frame[frame["paper"] == paper]
            rows.append([f"{{ref}}`{facts['short']} <{paper}-ledger>`", *counts(its)])
        rows.append(["**all**", *counts(frame)])
        return self.parse(numbered("Verdicts on the statements of the papers", "tab-claims-counts", rows))


def counts(frame: pd.DataFrame) -> list[str]:
    """Write the parts, their sum, and what is counted apart."""
    parts = [*parted(frame).values()]
    return [str(count or "-") for count in (*parts, sum(parts), len(frame) - sum(parts))]


def sources(app: Any) -> Any:
    """Yield a page for each module that checks claims, with a name for each line."""
    for module in sorted({claims()[name].declared[0] for name in ledger().index}):
        path = module.replace(".", "/") + ".py"
        look = HtmlFormatter(linenos="inline", lineanchors="L", anchorlinenos=True, cssclass="highlight")
        code = highlight((ROOT / path).read_text("utf8"), PythonLexer(), look)
        code = re.sub(r'<a id="(L-\d+)" name="\1"></a>', r'<span id="\1"></span>', code)
        yield shown(module), {"title": path, "body": f"<h1>{path}</h1>{code}"}, "page.html"


def forget(app: Any, env: Any, docname: str) -> None:
    """Forget the badges of a page that is read again."""
    for places in env.__dict__.get("fairbook_badges", {}).values():
        places[:] = [place for place in places if place[0] != docname]


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_role("verdict", Badge())
    app.add_role("verdict-total", Total())
    app.add_role("claim-places", Places())
    app.add_directive("ledger", Ledger)
    app.add_directive("verdict-map", Map)
    app.add_directive("verdict-counts", Counts)
    app.add_directive("puzzle", Puzzle)
    app.add_node(Back)
    app.connect("env-purge-doc", forget)
    app.connect("doctree-resolved", backlinks)
    app.connect("html-collect-pages", sources)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": False}
