"""Claims, how they are checked, and how a verdict follows from what a check found.

A claim is a function, registered with :func:`claim`, that takes an :class:`Effort` and the mechanism to judge and
returns an :class:`Evidence`: the parts of the claim, each true, false or open, with the grade of what says so. The
verdict is computed from the parts, never written down:

=============================  ======================================  ================================
parts                          theorems and other statements           figures and numbers
=============================  ======================================  ================================
all true                       ``holds``, if a proof is in the text    ``reproduced``
                               and a solver, a search or a
                               computation was at work;
                               without a proof ``undetermined``
some true, some false          ``partly``                              ``partly``
all false                      ``refuted``, if each has a witness      ``not reproduced``
otherwise (some open)          ``undetermined``                        ``nothing to compare``, but
                                                                       ``undetermined`` if one is false
=============================  ======================================  ================================

Each claim names a *mutant*: a broken mechanism (for a refuted claim, a mended one) on which some part of the same
check must get another answer. :func:`check_mutant` runs it.
"""

from __future__ import annotations

import importlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from tqdm import tqdm

from fairbook import results
from fairbook.errors import InvalidInput, StaleResult
from fairbook.tables import Markdown, myst

__all__ = [
    "COLUMNS",
    "FULL",
    "QUICK",
    "Claim",
    "Effort",
    "Evidence",
    "Mechanism",
    "Part",
    "card",
    "check_mutant",
    "claim",
    "claims",
    "compute",
    "ledger",
    "missing_proofs",
    "store_ledger",
    "table",
]

Grade = Literal["proof", "smt", "search", "witness", "numbers"]
Kind = Literal["lemma", "theorem", "algorithm", "complexity", "equation", "statement", "extension", "figure", "number"]

#: Columns of a row of the ledger.
COLUMNS = [
    "id",
    "paper",
    "locator",
    "kind",
    "variant",
    "statement",
    "verdict",
    "grade",
    "effort",
    "evidence",
    "seconds",
]
FIGURE_KINDS = {"figure", "number"}


@dataclass(frozen=True)
class Effort:
    """How hard to look: counts and deterministic resource limits, never seconds.

    Attributes
    ----------
    name : str
    runs : int
        Repetitions of an experiment.
    evaluations : int
        Mechanism evaluations of one adversarial search.
    sizes : tuple of (n, m)
        Users and resources for which the solver settles a statement.
    seed : int
    """

    name: Literal["quick", "full"]
    runs: int
    evaluations: int
    sizes: tuple[tuple[int, int], ...]
    seed: int = 2016


#: Seconds a claim: for notebooks and for every run of the checks.
QUICK = Effort("quick", runs=60, evaluations=2_000, sizes=((3, 2),))
#: The repetitions of the papers and deep searches: what the stored ledger is computed with.
FULL = Effort("full", runs=1000, evaluations=40_000, sizes=((3, 2), (5, 3)))


@dataclass(frozen=True)
class Mechanism:
    """What a claim is about.

    Attributes
    ----------
    name : str
    run : callable
        The mechanism, with the signature that the claim's check expects.
    smt : str or None
        The name under which the solver's encodings know it, if they do.
    zeros : bool
        Whether demands may be zero.
    """

    name: str
    run: Callable[..., Any]
    smt: str | None = None
    zeros: bool = False


@dataclass(frozen=True)
class Part:
    """One assertion of a claim.

    Attributes
    ----------
    holds : bool or None
        None where it was not decided.
    grade : str
        What says so.
    found : str
        The evidence in words and rounded numbers: sizes of searches, the witness, the measured numbers.
    size : int
        Instances, cases or runs looked at.
    """

    holds: bool | None
    grade: Grade
    found: str
    size: int = 0


@dataclass(frozen=True)
class Evidence:
    """What a check found, part by part."""

    parts: tuple[Part, ...]

    @classmethod
    def of(cls, *parts: Part) -> Evidence:
        return cls(tuple(parts))


@dataclass(frozen=True)
class Claim:
    """A registered claim; see :func:`claim` for the fields."""

    id: str
    paper: str
    locator: str
    kind: Kind
    variant: str
    statement: str
    check: Callable[[Effort, Mechanism], Evidence]
    mechanism: Mechanism
    mutant: Mechanism
    proof: str | None = None

    def verdict(self, evidence: Evidence) -> str:
        """Derive the verdict; see the table at the head of this module."""
        return _verdict(self.kind, evidence, self.proof)


def _verdict(kind: Kind, evidence: Evidence, proof: str | None) -> str:
    answers = [part.holds for part in evidence.parts]
    if not answers or None in answers:
        # a part of a picture is open only where the paper states nothing about it; a part that fails is never hidden
        compared = kind not in FIGURE_KINDS or not answers or False in answers
        return "undetermined" if compared else "nothing to compare"
    good, bad = ("reproduced", "not reproduced") if kind in FIGURE_KINDS else ("holds", "refuted")
    if all(answers):
        if kind in FIGURE_KINDS:
            return good
        worked = any(part.grade in ("smt", "search", "numbers") and part.size > 0 for part in evidence.parts)
        return good if proof is not None and worked else "undetermined"
    if any(answers):
        return "partly"
    if kind not in FIGURE_KINDS and not all(part.grade == "witness" for part in evidence.parts):
        return "undetermined"  # a statement is refuted by a witness, not by a failed search
    return bad


def _grades(claim: Claim, evidence: Evidence, verdict: str) -> str:
    grades = list(dict.fromkeys(part.grade for part in evidence.parts))
    if claim.proof is not None and verdict == "holds":
        grades.insert(0, "proof")
    return ", ".join(grades)


_CLAIMS: dict[str, Claim] = {}


def claim(
    *,
    id: str,
    locator: str,
    kind: Kind,
    statement: str,
    mechanism: Mechanism,
    mutant: Mechanism,
    variant: str = "as stated",
    proof: str | None = None,
) -> Callable[[Callable[[Effort, Mechanism], Evidence]], Callable[[Effort, Mechanism], Evidence]]:
    """Register a claim of a paper.

    Parameters
    ----------
    id : str
        ``paper.name`` or ``paper.name.variant``, unique.
    locator : str
        Where the paper says it ("Theorem 4").
    kind : str
    statement : str
        The claim in our words.
    mechanism : Mechanism
        What it is about.
    mutant : Mechanism
        A broken (or, for claims that fail, mended) mechanism on which the check must come to another verdict.
    variant : str
        Which reading of the paper.
    proof : str, optional
        Label of the proof in the chapter. Without one, nothing ``holds``.
    """

    def register(check: Callable[[Effort, Mechanism], Evidence]) -> Callable[[Effort, Mechanism], Evidence]:
        if id in _CLAIMS:
            raise InvalidInput("id", "must not be registered already", id)
        if not re.fullmatch(r"[a-z0-9_]+(\.[a-z0-9_]+)+", id):
            raise InvalidInput("id", "must look like 'paper.claim.variant'", id)
        _CLAIMS[id] = Claim(id, id.split(".")[0], locator, kind, variant, statement, check, mechanism, mutant, proof)
        return check

    return register


def claims(paper: str | None = None) -> dict[str, Claim]:
    """Give the registered claims, of one paper or of all, in the order in which they were registered."""
    # Registers them; by name, so that the ledger of one paper does not depend on the claims of all.
    importlib.import_module("fairbook.claims")
    return {key: value for key, value in _CLAIMS.items() if paper in (None, value.paper)}


def compute(one: Claim, effort: Effort = QUICK) -> dict[str, Any]:
    """Check one claim and give its row of the ledger."""
    started = time.perf_counter()
    evidence = one.check(effort, one.mechanism)
    verdict = one.verdict(evidence)
    return {
        "id": one.id,
        "paper": one.paper,
        "locator": one.locator,
        "kind": one.kind,
        "variant": one.variant,
        "statement": one.statement,
        "verdict": verdict,
        "grade": _grades(one, evidence, verdict),
        "effort": effort.name,
        "evidence": " ".join(part.found for part in evidence.parts),
        "seconds": round(time.perf_counter() - started, 1),
    }


def check_mutant(one: Claim, effort: Effort = QUICK, *, evidence: Evidence | None = None) -> bool:
    """Run a claim's check on its mechanism and on its mutant; tell whether some part turns from true to false or back.

    A part that is open on either side, or missing, shows nothing. Pass ``evidence`` of the same effort where the check
    has been run on the mechanism already.
    """
    honest = [part.holds for part in (evidence or one.check(effort, one.mechanism)).parts]
    broken = [part.holds for part in one.check(effort, one.mutant).parts]
    return any({a, b} == {True, False} for a, b in zip(honest, broken, strict=False))


def _stored_name(paper: str) -> str:
    return f"{paper}/ledger"


def _rows(chosen: dict[str, Claim], effort: Effort, progress: bool) -> pd.DataFrame:
    rows = []
    bar = tqdm(chosen.values(), disable=not progress, leave=False, desc=f"claims, {effort.name}")
    for one in bar:
        bar.set_postfix_str(one.id)
        rows.append(compute(one, effort))
    return pd.DataFrame(rows, columns=COLUMNS)


def store_ledger(paper: str, *, effort: Effort = FULL, progress: bool = True) -> None:
    """Check all claims of a paper at full effort and store the rows."""
    frame = _rows(claims(paper), effort, progress)
    results.save(
        _stored_name(paper),
        frame,
        module=f"fairbook.claims.{paper}",
        data=_data(paper),
        seed=effort.seed,
        runs=effort.runs,
        evaluations=effort.evaluations,
    )


def _data(paper: str) -> tuple[str, ...]:
    return tuple(importlib.import_module(f"fairbook.studies.{paper}").DATA)


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
        False reads the stored results of full effort. True checks every claim now.
    paper : str, optional
        Key of one paper.
    effort : {"quick", "full"}
        For ``recompute``.
    progress : bool
        Whether to draw a bar on stderr.

    Returns
    -------
    DataFrame
        Columns ``id, paper, locator, kind, variant, statement, verdict, grade, effort, evidence, seconds``.

    Raises
    ------
    StaleResult
        Where stored results do not belong to the present sources and claims.

    Examples
    --------
    >>> import fairbook as fb
    >>> fb.claims.ledger().columns[:3].tolist()
    ['id', 'paper', 'locator']
    """
    chosen = claims(paper)
    if not chosen:
        raise InvalidInput("paper", f"must be one of {', '.join(sorted({c.paper for c in claims().values()}))}", paper)
    if effort not in ("quick", "full"):
        raise InvalidInput("effort", "must be 'quick' or 'full'", effort)
    if recompute:
        return _rows(chosen, FULL if effort == "full" else QUICK, progress)
    stored = pd.concat(
        [results.load(_stored_name(key)) for key in dict.fromkeys(c.paper for c in chosen.values())], ignore_index=True
    )
    if stored["id"].tolist() != list(chosen):
        raise StaleResult(
            "the stored ledger does not have the registered claims; `fairbook results --full` refreshes it"
        )
    return stored


def missing_proofs(book: Path) -> list[str]:
    """List claims whose proof label is in no page below ``book``."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in sorted(book.rglob("*.md")))
    labels = set(re.findall(r"^:label:\s*(\S+)", text, re.MULTILINE))
    return [one.id for one in claims().values() if one.proof is not None and one.proof not in labels]


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
