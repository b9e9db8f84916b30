"""Sphinx extension: what is wrong in the papers, and what the theorems of the book need, gathered from data.

``{errata} cbdrf`` lists the statements of a paper that are refuted or fail in part, then those that depend on the
reading, from the ledger: what stands there, the verdict in each reading, what is true instead (the ``instead`` of the
place, in ``book/<key>/places.toml``), the first witness, and an author's answer if there is one. ``{withdrawn}``
lists what stood there before and was taken back, ``{misses}`` the figures and numbers that came out otherwise.
``{hypotheses}`` is the table of what each theorem that carries rows needs, with what fails without it.
"""

import tomllib
from collections import Counter
from typing import Any

import pandas as pd
from docutils import nodes

from book.common.checkout import ROOT
from book.common.claims import claims
from book.common.claims.registry import FIGURE_KINDS, REVERSED
from book.common.claims.stored import JUDGES, anchor, papers, places
from tools.book_tables import table as numbered
from tools.formulas import typeset
from tools.verdicts import Page, classes, ledger, original, shown_witness, statements
from tools.witnesses import python, witness

_DEPENDS = "depends on the reading"
_OTHERWISE = ("partly", "not reproduced", _DEPENDS)


def wrong(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Give the statements that are refuted or fail in part, and those that depend on the reading, each once.

    Parameters
    ----------
    frame : DataFrame
        Statements, as :func:`book.common.claims.stored.statements` gives them.
    """
    said = frame[~frame["kind"].isin(FIGURE_KINDS) & (frame["apart"] == "")]
    return said[said["verdict"].isin(("refuted", "partly"))], said[said["verdict"] == _DEPENDS]


def where(see: list[str]) -> str:
    """Lead to the proof of each claim, or to the claim if it has none, or to a label of the book."""
    found = []
    for one in see:
        label = claims()[one].proof if "." in one else one
        if label is None:
            found.append(link(one))
        elif label.startswith("ex-"):
            found.append(f"{{ref}}`exercise <{label}>`")
        else:
            found.append(f"{{prf:ref}}`{label}`")
    return ", ".join(dict.fromkeys(found))


def link(one: str, text: str = "", look: str = "") -> str:
    """Lead to the row of a claim."""
    return f'<a class="{look}" href="{one.split(".")[0]}/ledger.html#{anchor(one)}">{text or one}</a>'


def badge(one: str, text: str = "") -> str:
    """Lead to the row of a claim, in the colour of its verdict."""
    verdict = ledger().loc[one, "verdict"]
    return link(one, text or verdict, classes(verdict))


def entry(name: str) -> str:
    """Give the card of a place: what stands there, what is true instead, a witness, and folded each reading."""
    place = places()[name]
    rows = [(one, ledger().loc[one["id"]]) for one in place["rows"] if one["reading"] in JUDGES]
    rows.sort(key=lambda pair: pair[1]["verdict"] not in ("holds", "reproduced"))
    readings = [
        f"* {badge(one['id'])} <code>{one['id']}</code> "
        + typeset(row["variant"].replace("as stated", row["statement"].rstrip(".")))
        + (f" (our choice: {typeset(one['ours'])})" if one.get("ours") else "")
        for one, row in rows
    ]
    counts = Counter(row["verdict"] for _, row in rows)
    told = ", ".join(f"{verdict} in {count}" for verdict, count in counts.items())
    shown = next(row for _, row in rows if row["verdict"] in ("refuted", "partly"))
    reply = f"*An author answers:* {place['reply']}" if "reply" in place else ""
    return f""":::{{div}} claim
[**{typeset(place["where"])}.**]{{#{anchor(name).replace("claim", "erratum", 1)}}} {typeset(place["says"])}{
        original(place)
    }

**Instead:** {typeset(place["instead"])} {where(place["see"])}.

{shown_witness(shown, badge(shown["id"], "Counterexample:") + " ")}

{reply}

<details class="claim-more"><summary>{"Reading" if len(rows) == 1 else "Readings"}: {told}</summary>

{chr(10).join(readings)}

{f"```python{chr(10)}{python(run)}{chr(10)}```" if (run := witness(shown)) else ""}

</details>
:::
"""


class Errata(Page):
    """The wrong statements of a paper."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return two lists."""
        frame = statements()
        lists = wrong(frame[frame["paper"] == self.arguments[0]])
        text = ""
        for head, its in zip(("", "**Depends on the reading:**"), lists, strict=True):
            if len(its):
                text += f"{head}\n\n::::{{div}} verdicts\n" + "\n".join(map(entry, its["place"])) + "::::\n\n"
        return self.parse(text or "Nothing.")


class Withdrawn(Page):
    """What we objected to and take back."""

    def run(self) -> list[nodes.Node]:
        """Return a list."""
        lines = [
            f"* {facts['short']}, {typeset(one['was'])} *Withdrawn:* {typeset(one['why'])}"
            for facts in papers().values()
            for one in facts.get("withdrawn", ())
        ]
        return self.parse("\n".join(lines))


def missed(frame: pd.DataFrame) -> pd.DataFrame:
    """Give what the papers say of figures and numbers, where no reading that judges reproduces it."""
    said = frame[frame["kind"].isin(FIGURE_KINDS) & frame["verdict"].isin(_OTHERWISE)]
    verdicts = said["ids"].map(lambda ids: [ledger().loc[one, "verdict"] for one in ids])
    return said[["reproduced" not in its for its in verdicts]]


class Misses(Page):
    """Figures and numbers that came out otherwise."""

    def run(self) -> list[nodes.Node]:
        """Return a table."""
        rows = [["paper", "where", "the paper says", "verdict"]]
        for one in missed(statements()).to_dict("records"):
            found = [ledger().loc[name] for name in one["ids"]]
            told = [
                badge(
                    row["id"],
                    row["verdict"]
                    + (", more often the other way round" if row["evidence"].startswith(REVERSED) else ""),
                )
                for row in found
            ]
            rows.append([papers()[one["paper"]]["short"], one["where"], typeset(one["says"]), ", ".join(told)])
        return self.parse(numbered("Figures and numbers that came out otherwise", "tab-errata-figures", rows))


def hypotheses() -> dict[str, dict[str, Any]]:
    """Read what the theorems of each chapter need: a file a chapter, by label; ``standing`` is true of all of them."""
    return {
        path.parent.name: tomllib.loads(path.read_text("utf8"))
        for path in sorted((ROOT / "book").glob("*/hypotheses.toml"))
    }


def ground(one: dict[str, Any]) -> str:
    """Say what fails without a hypothesis, or what was tried."""
    if one["ground"] == "open":
        return f"open; tried: {typeset(one['tried'])}"
    if one["ground"] == "witness":
        return "<code>" + "<br>".join(one["witness"].strip().replace("|", "&#124;").splitlines()) + "</code>"
    if one["ground"] == "mutant":
        return f"the mutant of {link(one['of'])}"
    return badge(one["ground"]) + " " + link(one["ground"])


class Hypotheses(Page):
    """What each theorem needs."""

    def run(self) -> list[nodes.Node]:
        """Return a table a chapter, and the count of what is open."""
        text, known = "", papers()
        for chapter, found in hypotheses().items():
            rows = [["theorem", "hypothesis", "why", "without it"]]
            standing = found.pop("standing", [])
            rows += [["all", typeset(one["words"]), typeset(one["why"]), ground(one)] for one in standing]
            for label, form in found.items():
                head = f"{{prf:ref}}`{label}`"
                for one in form["hypotheses"]:
                    rows.append([head, typeset(one["words"]), typeset(one["why"]), ground(one)])
                    head = ""
            title = known[chapter]["short"] if chapter in known else chapter.replace("_", " ").capitalize()
            name = f"tab-hypotheses-{chapter}"
            text += f"## {title}\n\n{numbered(f'What the theorems need: {title}', name, rows)}\n\n"
        return self.parse(text)


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_directive("errata", Errata)
    app.add_directive("withdrawn", Withdrawn)
    app.add_directive("misses", Misses)
    app.add_directive("hypotheses", Hypotheses)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": False}
