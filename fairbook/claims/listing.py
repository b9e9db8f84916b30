"""The ledger as a page shows it: every claim with its verdict, kind, grades of evidence and name, ready to be filtered.

The words that a filter looks for stand in the text itself, each marked by a class, so that the page says everything
without the script of the filter, on paper too.
"""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from fairbook.claims.registry import claims, ledger
from fairbook.tables import Markdown, myst

__all__ = ["anchor", "counts", "document", "listing", "papers"]


@cache
def papers() -> dict[str, Any]:
    """Read what is written, and not computed, about the papers: ``papers.toml`` beside this module."""
    return tomllib.loads(Path(__file__).with_name("papers.toml").read_text(encoding="utf-8"))


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


def document(frame: pd.DataFrame) -> str:
    """Write rows of the ledger as a JSON document to cite, which ``ledger.schema.json`` describes.

    Parameters
    ----------
    frame : DataFrame
        Rows of the ledger.

    Returns
    -------
    str
        The same for the same ledger.
    """
    written, registered = papers(), claims()
    copied = ["id", "paper", "locator", "kind", "variant", "statement", "verdict", "effort", "evidence"]
    found = {
        "title": "The ledger of fairbook: every claim of five papers on fair allocation, with its verdict",
        "version": written["version"],
        "date": written["released"],
        "licence": "CC-BY-4.0",
        "papers": [{"key": key} | one for key, one in written["papers"].items() if key in set(frame["paper"])],
        "rows": [
            {name: row[name] for name in copied}
            | {
                "grades": row["grade"].split(", "),
                "proof": registered[row["id"]].proof,
                "page": f"book/claims.html#{anchor(row['id'])}",
            }
            for row in frame.to_dict("records")
        ],
    }
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"
