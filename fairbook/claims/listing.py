"""The ledger as a page shows it: every claim with its verdict, kind, grades of evidence and name, ready to be filtered.

The words that a filter looks for stand in the text itself, each marked by a class, so that the page says everything
without the script of the filter, on paper too.
"""

from __future__ import annotations

import re

import pandas as pd

from fairbook.claims.registry import ledger
from fairbook.tables import Markdown, myst

__all__ = ["anchor", "counts", "listing"]


def anchor(claim: str) -> str:
    """Give the name under which a page can be opened at a claim.

    Examples
    --------
    >>> anchor("tv_drf.theorem_1.fluid")
    'claim-tv-drf-theorem-1-fluid'
    """
    return "claim-" + re.sub(r"[^a-z0-9]+", "-", claim)


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
