"""The ledger as it is stored, and as a document."""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from fairbook import results
from fairbook.claims.registry import COLUMNS, FULL, QUICK, Claim, Effort, claims, compute
from fairbook.errors import InvalidInput
from fairbook.progress import bar

__all__ = ["anchor", "asserted", "document", "ledger", "papers", "rows", "statements"]


@cache
def papers() -> dict[str, Any]:
    """Read what is written, and not computed, about the papers: ``papers.toml`` beside this module."""
    return tomllib.loads(Path(__file__).with_name("papers.toml").read_text(encoding="utf-8"))


def rows(chosen: dict[str, Claim], effort: Effort, progress: bool) -> pd.DataFrame:
    """Check claims, one after the other, and give their rows of the ledger."""
    found = []
    under = bar(chosen.values(), shown=progress, leave=False, desc=f"claims, {effort.name}")
    for one in under:
        under.set_postfix_str(one.id)
        found.append(compute(one, effort))
    return pd.DataFrame(found, columns=COLUMNS)


def ledger(
    recompute: bool = False,
    *,
    paper: str | None = None,
    effort: Literal["quick", "full"] = "quick",
    progress: bool = False,
) -> pd.DataFrame:
    """Give the verdict on every claim.

    Parameters
    ----------
    recompute : bool
        False reads the stored results of full effort. True checks every claim now, which needs a checkout.
    paper : str, optional
        Key of one paper.
    effort : {"quick", "full"}
        For ``recompute``.
    progress : bool
        Whether to draw a bar on stderr.

    Returns
    -------
    DataFrame
        Columns ``id, paper, locator, kind, variant, statement, verdict, grade, effort, evidence, proof, seconds``.

    Raises
    ------
    StaleResult
        Where stored results do not belong to the present sources.
    FairbookError
        Where claims are to be checked and there is no checkout.

    Examples
    --------
    >>> import fairbook as fb
    >>> fb.claims.ledger().columns[:3].tolist()
    ['id', 'paper', 'locator']
    """
    known = sorted(papers()["papers"])
    if paper not in (None, *known):
        raise InvalidInput("paper", f"must be one of {', '.join(known)}", paper)
    if effort not in ("quick", "full"):
        raise InvalidInput("effort", "must be 'quick' or 'full'", effort)
    if recompute:
        return rows(claims(paper), FULL if effort == "full" else QUICK, progress)
    stored = [results.load(f"{key}/ledger") for key in known if paper in (None, key)]
    return pd.concat(stored, ignore_index=True)


def asserted(frame: pd.DataFrame) -> pd.DataFrame:
    """Leave out the rows that assert nothing of a paper's: extensions, and what a paper itself denies."""
    beyond = (frame["kind"] == "extension") | frame["locator"].str.startswith("beyond")
    return frame[~beyond & ~frame["id"].isin(papers()["denied"])]


def statements(frame: pd.DataFrame) -> pd.DataFrame:
    """Give the papers' own statements, each with one verdict over all its readings.

    A statement is what is said in the same words at the same place; its readings are claims. What goes beyond the
    paper, or tests what the paper itself denies, is left out.

    Parameters
    ----------
    frame : DataFrame
        Rows of the ledger.

    Returns
    -------
    DataFrame
        Columns ``paper, locator, statement, kind, ids, verdict``; ``depends on the reading`` where readings differ.
    """

    def verdict(found: pd.Series) -> str:
        kinds = set(found)
        if len(kinds) == 1:
            return str(found.iloc[0])
        told = kinds - {"nothing to compare", "undetermined"}
        return "depends on the reading" if len(told) != 1 else told.pop()

    grouped = asserted(frame).groupby(["paper", "locator", "statement"], sort=False)
    return grouped.agg(kind=("kind", "first"), ids=("id", list), verdict=("verdict", verdict)).reset_index()


def anchor(claim: str) -> str:
    """Give the name under which a page can be opened at a claim.

    Examples
    --------
    >>> anchor("tv_drf.theorem_1.fluid")
    'claim-tv-drf-theorem-1-fluid'
    """
    return "claim-" + re.sub(r"[^a-z0-9]+", "-", claim)


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
    written = papers()
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
                "proof": row["proof"] or None,
                "page": f"book/{row['paper']}/ledger.html#{anchor(row['id'])}",
            }
            for row in frame.to_dict("records")
        ],
    }
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"
