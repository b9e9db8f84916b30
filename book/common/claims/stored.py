"""The ledger as it is stored, and as a document."""

import json
import re
import tomllib
from functools import cache
from typing import Any, Literal

import pandas as pd

import fairbook as fb
from book.common import results
from book.common.checkout import BOOK
from book.common.claims.registry import COLUMNS, FULL, QUICK, Claim, Effort, claims, compute
from fairbook.errors import InvalidInput
from fairbook.progress import bar

__all__ = ["JUDGES", "anchor", "document", "ledger", "papers", "placed", "places", "printed", "rows", "statements"]

#: Readings that judge a paper: what its words say, and what they can bear in its favour. The third is ``ours``.
JUDGES = ("letter", "charitable")
#: Columns that rows get from the files of the papers.
PLACED = ["place", "says", "reading", "ours"]


@cache
def papers() -> dict[str, Any]:
    """Read what is written, and not computed, about the papers: ``places.toml`` of each, in the book's order."""
    found = {path.parent.name: tomllib.loads(path.read_text(encoding="utf-8")) for path in BOOK.glob("*/places.toml")}
    return dict(sorted(found.items(), key=lambda one: one[1]["chapter"]))


def places() -> dict[str, dict[str, Any]]:
    """Give the places of all papers, each under ``paper.place``: where it stands, what it says, and the rows on it."""
    return {
        f"{key}.{name}": {"paper": key, "apart": facts.get("apart", "")} | place
        for key, facts in papers().items()
        for name, place in facts.get("places", {}).items()
    }


def printed() -> dict[str, dict[str, Any]]:
    """Give the figures of all papers as they are printed, each under ``paper.number``, and our figure that draws each.

    The texts at hand have captions and no pictures. So an entry has what caption and prose say: ``where``, the
    ``caption`` and the decisive words (``term``) in the original, and what they mean (``says``); the axes ``x`` and
    ``y`` and all ``curves``, in the words that our drawing has for them; the numbers that it ``states``; which of
    these are ``inferred``, because the text is silent, and what stays ``unknown``. ``drawn`` is the label of the
    figure, or algorithm, on a page of the paper.
    """
    return {
        f"{key}.{number}": {"paper": key, "states": [], "inferred": [], "unknown": ""} | entry
        for key, facts in papers().items()
        for number, entry in facts.get("printed", {}).items()
    }


def placed(frame: pd.DataFrame) -> pd.DataFrame:
    """Say of each row of the ledger which place of the paper it judges, what stands there, and whose reading it is.

    Parameters
    ----------
    frame : DataFrame
        Rows of the ledger.

    Returns
    -------
    DataFrame
        With columns ``place, says, reading, ours``, empty in rows that go beyond the papers.
    """
    known = {
        row["id"]: (name, place["says"], row["reading"], row.get("ours", ""))
        for name, place in places().items()
        for row in place["rows"]
    }
    added = [known.get(one, ("", "", "", "")) for one in frame["id"]]
    return frame.assign(**{name: [one[at] for one in added] for at, name in enumerate(PLACED)})


def rows(chosen: dict[str, Claim], effort: Effort, progress: bool) -> pd.DataFrame:
    """Check claims, one after the other, and give their rows of the ledger."""
    each = bar(chosen.values(), shown=progress, leave=False, desc=f"claims, {effort.name}")
    return pd.DataFrame([compute(one, effort) for one in each], columns=COLUMNS)


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
        Columns ``id, paper, locator, kind, variant, statement, verdict, grade, effort, evidence, proof, witness,
        seconds``, and of rows on a place of a paper ``place, says, reading, ours``; see :func:`placed`.

    Raises
    ------
    StaleResult
        Where stored results do not belong to the present sources.

    Examples
    --------
    >>> from book.common import claims
    >>> claims.ledger().columns[:3].tolist()
    ['id', 'paper', 'locator']
    """
    known = list(papers())
    if paper is not None and (not isinstance(paper, str) or paper not in known):
        raise InvalidInput("paper", f"must be one of {', '.join(known)}", paper)
    if effort not in ("quick", "full"):
        raise InvalidInput("effort", "must be 'quick' or 'full'", effort)
    if recompute:
        return placed(rows(claims(paper), FULL if effort == "full" else QUICK, progress))
    stored = [results.load(f"{key}/ledger") for key in known if paper in (None, key)]
    return placed(pd.concat(stored, ignore_index=True))


def _over_readings(verdicts: list[str]) -> str:
    """Give one verdict over all readings that judge a place."""
    told = set(verdicts) - {"nothing to compare", "undetermined"}
    if len(told) > 1:
        return "depends on the reading"
    return next(iter(told or set(verdicts)), "lost")


def statements(frame: pd.DataFrame) -> pd.DataFrame:
    """Give what the papers say, a row for each place, with one verdict over its readings.

    Parameters
    ----------
    frame : DataFrame
        Rows of the ledger.

    Returns
    -------
    DataFrame
        Columns ``place, paper, where, says, apart, kind, ids, verdict``, in the order of the papers. ``ids`` are all
        rows on the place; the verdict is that of those whose reading is the letter's or charitable: ``depends on the
        reading`` where they differ, ``lost`` where there are none. ``apart`` says why a place is not counted with the
        others, or is empty.
    """
    verdicts, kinds = (dict(zip(frame["id"], frame[name], strict=True)) for name in ("verdict", "kind"))
    found = []
    for name, place in places().items():
        its = {row["id"]: row["reading"] for row in place["rows"] if row["id"] in verdicts}
        if not its and (place["rows"] or place["paper"] not in set(frame["paper"])):
            continue
        found.append(
            {
                "place": name,
                **{key: place[key] for key in ("paper", "where", "says", "apart")},
                "kind": next((kinds[one] for one in its), "statement"),
                "ids": list(its),
                "verdict": _over_readings([verdicts[one] for one, reading in its.items() if reading in JUDGES]),
            }
        )
    return pd.DataFrame(found, columns=["place", "paper", "where", "says", "apart", "kind", "ids", "verdict"])


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
    copied = ["id", "paper", "locator", "kind", "variant", "statement", "verdict", "effort", "evidence", *PLACED]
    whose = ("short", "title", "authors", "year", "doi")
    found = {
        "title": "The ledger of fairbook: every claim of the papers on fair allocation, with its verdict",
        "version": fb.__version__,
        "date": fb.__released__,
        "licence": "CC-BY-4.0",
        "papers": [
            {"key": key} | {name: one[name] for name in whose if name in one}
            for key, one in papers().items()
            if key in set(frame["paper"])
        ],
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
