"""The ledger as pages show it."""

from __future__ import annotations

import pandas as pd

from book.common.tables import Markdown, myst
from fairbook.claims.stored import anchor, ledger
from fairbook.errors import InvalidInput

__all__ = ["card", "counts", "listing", "table"]


def counts(frame: pd.DataFrame, *, caption: str, name: str) -> Markdown:
    """Count the verdicts of each paper; each count leads to these claims on the page that lists them.

    Parameters
    ----------
    frame : DataFrame
        The ledger.
    caption, name : str
        Of the table.
    """
    table = pd.crosstab(frame["paper"], frame["verdict"])

    def cell(paper: str, verdict: str, count: int) -> str:
        return f'<a href="#paper={paper}&amp;verdict={verdict.replace(" ", "+")}">{count}</a>' if count else "-"

    verdicts = [str(verdict) for verdict in table.columns]
    rows = [
        {"paper": f"`{paper}`"}
        | {verdict: cell(str(paper), verdict, int(table.loc[paper, verdict])) for verdict in verdicts}
        | {"all": f'<a href="#paper={paper}">{int(table.loc[paper].sum())}</a>'}
        for paper in table.index
    ]
    return myst(pd.DataFrame(rows), caption=caption, name=name)


def listing(paper: str) -> Markdown:
    """List the stored claims of a paper: what is claimed, then the verdict and what it rests on.

    Parameters
    ----------
    paper : str
        Key of a paper.

    Raises
    ------
    InvalidInput
        Where no paper has that key.
    """
    lines = []
    for _, row in ledger(paper=paper).iterrows():
        variant = "" if row["variant"] == "as stated" else f", {row['variant']}"
        lines.append(
            f"[**{row['locator']}{variant}.**]{{#{anchor(row['id'])}}} {row['statement']}\n"
            f": [**{row['verdict']}**]{{.claim-verdict}} ([{row['kind']}]{{.claim-kind}}; "
            f"[{row['grade']}]{{.claim-grade}}). {row['evidence']} "
            f'<a class="claim-id" href="#{anchor(row["id"])}">{row["id"]}</a>\n'
        )
    return Markdown(f"::::{{div}} verdicts claims-of-{paper.replace('_', '-')}\n" + "\n".join(lines) + "::::")


def table(frame: pd.DataFrame, *, caption: str, name: str) -> Markdown:
    """Render rows of the ledger as a numbered table: what is claimed where, and the verdict."""
    return myst(frame[["locator", "variant", "statement", "verdict", "grade"]], caption=caption, name=name)


def card(*ids: str) -> Markdown:
    """Render the stored verdict and evidence on some claims and all their variants.

    Parameters
    ----------
    *ids : str
        ``"paper.claim"`` takes all variants ``"paper.claim.*"`` along.

    Raises
    ------
    InvalidInput
        Where no claim has that id.
    """
    if not ids:
        raise InvalidInput("ids", "must name at least one claim", ids)
    frames = []
    for key in ids:
        rows = ledger(paper=key.split(".")[0])
        rows = rows[[one == key or one.startswith(key + ".") for one in rows["id"]]]
        if rows.empty:
            raise InvalidInput("ids", "must name registered claims", key)
        frames.append(rows)
    shown = pd.concat(frames, ignore_index=True)
    lines = []
    for _, row in shown.iterrows():
        variant = "" if row["variant"] == "as stated" else f", {row['variant']}"
        lines.append(
            f"**{row['locator']}{variant}.** {row['statement']}\n"
            f": **{row['verdict']}** ({row['grade']}). {row['evidence']}\n"
        )
    return Markdown(":::{div} verdicts\n" + "\n".join(lines) + ":::")
