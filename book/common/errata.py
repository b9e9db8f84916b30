"""Errata: the papers' own statements that are wrong, gathered from the ledger, with what is true instead.

Which statements are wrong, in which readings and by what witness follows from the ledger. What is true instead does
not: ``papers.toml`` has a sentence for each wrong statement, under what the ids of its claims begin with.
"""

import re

import pandas as pd

from book.common.evidence import EXACT
from book.common.tables import Markdown, myst
from fairbook.claims.registry import FIGURE_KINDS, REVERSED, claims
from fairbook.claims.stored import anchor, ledger, own, papers

_WRONG = ("refuted", "partly", "not reproduced")
_LONG = 300  # of evidence: about two lines


def wrong(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Give each statement of the papers that fails in some reading, with its rows in all readings.

    Parameters
    ----------
    frame : DataFrame
        Rows of the ledger.

    Returns
    -------
    dict of str to DataFrame
        Keys as in ``papers.toml``; of a statement that is not there, paper and first word of the id.
    """
    keys = {k: key for key, form in papers()["errata"].items() for k in (key, *form.get("also", ()))}
    longest = sorted(keys, key=len, reverse=True)

    def key(one: str) -> str:
        return next((keys[k] for k in longest if f"{one}.".startswith(f"{k}.")), ".".join(one.split(".")[:2]))

    said = own(frame[~frame["kind"].isin(FIGURE_KINDS)])
    gathered = said.groupby(said["id"].map(key), sort=False)
    return {str(k): rows for k, rows in gathered if rows["verdict"].isin(_WRONG).any()}


def _link(one: str, text: str = "") -> str:
    return f'<a href="{one.split(".")[0]}/ledger.html#{anchor(one)}">{text or one}</a>'


def _where(see: list[str]) -> str:
    """Lead to the proof of each claim, or to the claim if it has none, or to a label of the book."""
    found = []
    for one in see:
        label = claims()[one].proof if "." in one else one
        if label is None:
            found.append(_link(one))
        elif label.startswith("ex-"):
            found.append(f"{{ref}}`exercise <{label}>`")
        else:
            found.append(f"{{prf:ref}}`{label}`")
    return ", ".join(dict.fromkeys(found))


def _short(evidence: str) -> str:
    """Keep one counterexample, and of what is said of it the first sentences."""
    evidence = evidence.removeprefix(EXACT).split(f" {EXACT}")[0]
    kept, *rest = re.split(r"(?<=\.) (?=[A-Z])", evidence)
    for sentence in rest:
        if len(kept) + len(sentence) > _LONG:
            return f"{kept} ..."
        kept += f" {sentence}"
    return kept


def _readings(rows: pd.DataFrame) -> str:
    """Say in which readings a statement has which verdict: by name if that is short."""
    if rows["variant"].tolist() == ["as stated"]:
        return f"**{rows['verdict'].item()}**."
    groups = list(rows.groupby("verdict", sort=False)["variant"])
    named = "; ".join(f"**{verdict}** ({'; '.join(some)})" for verdict, some in groups)
    counted = ", ".join(f"**{verdict}** in {len(some)}" for verdict, some in groups)
    return f"{named}." if len(named) < 150 else f"{counted} of {len(rows)} readings."


def errata(paper: str) -> Markdown:
    """List the wrong statements of a paper: what it says, what is true instead, and the shortest witness there is.

    Parameters
    ----------
    paper : str
        Key of a paper.
    """
    lines = []
    for key, rows in wrong(ledger(paper=paper)).items():
        failing = rows[rows["verdict"].isin(_WRONG)]
        where = ", ".join(failing["locator"].unique())
        failing = failing[failing["statement"] == failing["statement"].iloc[0]]
        shown = failing.loc[failing["evidence"].str.len().idxmin()]
        same, form = rows[rows["statement"] == shown["statement"]], papers()["errata"][key]
        reading = f" ({shown['variant']})" if len(same) > 1 else ""
        lines.append(
            f"[**{where}.**]{{#{anchor(key).replace('claim', 'erratum')}}} {shown['statement']}\n"
            f": {_readings(same)} *Instead:* {form['instead']} {_where(form['see'])}. "
            f"*Witness{reading}:* {_short(shown['evidence'])} {_link(shown['id'])}\n"
        )
    return Markdown(":::{div} verdicts\n" + "\n".join(lines) + ":::")


def _missed(frame: pd.DataFrame) -> list[pd.DataFrame]:
    """Gather the readings of what a paper says of a figure or a number, where none of them reproduces it."""
    said = own(frame[frame["kind"].isin(FIGURE_KINDS)]).groupby(["paper", "locator", "statement"], sort=False)
    return [
        rows for _, rows in said if rows["verdict"].isin(_WRONG).any() and "reproduced" not in rows["verdict"].tolist()
    ]


def misses(frame: pd.DataFrame, *, caption: str, name: str) -> Markdown:
    """List what the papers say of figures and numbers that came out in part only, or not, in all readings.

    Parameters
    ----------
    frame : DataFrame
        Rows of the ledger.
    caption, name : str
        Of the table.
    """
    shown = [
        {
            "paper": papers()["papers"][rows["paper"].iloc[0]]["short"],
            "where": rows["locator"].iloc[0],
            "the paper says": rows["statement"].iloc[0],
            "verdict": ", ".join(
                _link(one, f"{verdict}, more often the other way round" if found.startswith(REVERSED) else verdict)
                for one, verdict, found in zip(rows["id"], rows["verdict"], rows["evidence"], strict=True)
            ),
        }
        for rows in _missed(frame)
    ]
    return myst(pd.DataFrame(shown), caption=caption, name=name)


def counts(frame: pd.DataFrame, *, caption: str, name: str) -> Markdown:
    """Count for each paper the wrong statements, the rows that say so, and what came out otherwise.

    Parameters
    ----------
    frame : DataFrame
        Rows of the ledger.
    caption, name : str
        Of the table.
    """
    rows = []
    for paper, its in frame.groupby("paper", sort=False):
        gathered = wrong(its).values()
        rows.append(
            {
                "paper": papers()["papers"][paper]["short"],
                "claims of the paper": len(own(its)),
                "statements that fail in a reading": len(gathered),
                "claims that say so": sum(int(one["verdict"].isin(_WRONG).sum()) for one in gathered),
                "figures and numbers that came out otherwise": len(_missed(its)),
            }
        )
    table = pd.DataFrame(rows)
    table.loc[len(table)] = {"paper": "all", **table.iloc[:, 1:].sum()}
    return myst(table, caption=caption, name=name)
