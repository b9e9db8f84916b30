"""Claims, how they are checked, and how a verdict follows from what a check found.

A claim is data and one function, registered with :func:`claim`, that takes an :class:`Effort` and the mechanism to
judge and gives the parts of the claim, each true, false or open, with the grade of what says so: an :class:`Evidence`
of them all, or one after the other. The verdict is computed from the parts, never written down:

=============================  ======================================  ================================
parts                          theorems and other statements           figures and numbers
=============================  ======================================  ================================
all true                       ``holds``, if a proof is in the text    ``reproduced``
                               and a search or a computation
                               was at work; without a proof
                               ``undetermined``
some true, some false          ``partly``                              ``partly``
all false                      ``refuted``, if each has a witness      ``not reproduced``
otherwise (some open)          ``undetermined``                        ``nothing to compare``, but
                                                                       ``undetermined`` if one is false
=============================  ======================================  ================================

Each claim names a *mutant*: a broken mechanism (for a refuted claim, a mended one) on which some part of the same
check must get another answer. :func:`check_mutant` runs it.
"""

import inspect
import json
import re
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from book.common import checkout
from fairbook.errors import InvalidInput

__all__ = [
    "COLUMNS",
    "FULL",
    "QUICK",
    "REVERSED",
    "Claim",
    "Effort",
    "Evidence",
    "Mechanism",
    "Part",
    "check_mutant",
    "claim",
    "claims",
    "compute",
]

Grade = Literal["proof", "search", "witness", "numbers"]
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
    "proof",
    "witness",
    "seconds",
]
FIGURE_KINDS = {"figure", "number"}
#: What the evidence begins with where the reverse of what is printed prevails in all that is compared.
REVERSED = "More often the other way round than as printed."


@dataclass(frozen=True)
class Effort:
    """How hard to look: counts, never seconds.

    Attributes
    ----------
    name : str
    runs : int
        Repetitions of an experiment.
    evaluations : int
        Mechanism evaluations of one adversarial search.
    seed : int
    """

    name: Literal["quick", "full"]
    runs: int
    evaluations: int
    seed: int = 2016


#: Seconds a claim: for notebooks and for every run of the checks.
QUICK = Effort("quick", runs=60, evaluations=2_000)
#: The repetitions of the papers and deep searches: what the stored ledger is computed with.
FULL = Effort("full", runs=1000, evaluations=40_000)


@dataclass(frozen=True)
class Mechanism:
    """What a claim is about.

    Attributes
    ----------
    name : str
    run : callable
        The mechanism, with the signature that the claim's check expects.
    zeros : bool
        Whether demands may be zero.
    """

    name: str
    run: Callable[..., Any]
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
    reverse : bool or None
        Of two that are compared, whether more readings show the reverse than show what is printed.
    witness : dict, optional
        The instance in question: ``arguments`` of a mechanism by name, a ``call`` that takes them, and what it
        ``gives``, all numbers as text in nested lists; a call of "" where no function of the library is judged.
    """

    holds: bool | None
    grade: Grade
    found: str
    size: int = 0
    reverse: bool | None = None
    witness: dict[str, Any] | None = None


@dataclass(frozen=True)
class Evidence:
    """What a check found, part by part."""

    parts: tuple[Part, ...]

    @classmethod
    def of(cls, *parts: Part) -> "Evidence":
        return cls(tuple(parts))


@dataclass(frozen=True)
class Claim:
    """A registered claim; see :func:`claim` for the fields. ``declared`` is the module and line that register it."""

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
    declared: tuple[str, int] = ("", 0)

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
        worked = any(part.grade in ("search", "numbers") and part.size > 0 for part in evidence.parts)
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


#: What a claim is checked by.
Check = Callable[[Effort, Mechanism], Evidence | Iterable[Part]]
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
) -> Callable[[Check], Check]:
    """Register a claim of a paper, by the function that checks it.

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
    # many claims share a function that registers them; what tells them apart is the module's own line
    declared = next(
        (frame.f_globals["__name__"], line)
        for frame, line in traceback.walk_stack(inspect.currentframe())
        if frame.f_code.co_name == "<module>"
    )

    def register(check: Check) -> Check:
        def gathered(effort: Effort, judged: Mechanism) -> Evidence:
            found = check(effort, judged)
            return found if isinstance(found, Evidence) else Evidence(tuple(found))

        if id in _CLAIMS:
            raise InvalidInput("id", "must not be registered already", id)
        if not re.fullmatch(r"[a-z0-9_]+(\.[a-z0-9_]+)+", id):
            raise InvalidInput("id", "must look like 'paper.claim.variant'", id)
        _CLAIMS[id] = Claim(
            id, id.split(".")[0], locator, kind, variant, statement, gathered, mechanism, mutant, proof, declared
        )
        return check

    return register


def claims(paper: str | None = None) -> dict[str, Claim]:
    """Give the registered claims, of one paper or of all, each paper's in the order of its module.

    Raises
    ------
    FairbookError
        Outside a checkout: what judges a paper lies in the book.
    """
    checkout.load("checks")
    return {key: value for key, value in _CLAIMS.items() if paper in (None, value.paper)}


def compute(one: Claim, effort: Effort = QUICK) -> dict[str, Any]:
    """Check one claim and give its row of the ledger."""
    started = time.perf_counter()
    evidence = one.check(effort, one.mechanism)
    verdict = one.verdict(evidence)
    lead = [REVERSED] if {part.reverse for part in evidence.parts} - {None} == {True} else []
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
        "evidence": " ".join([*lead, *(part.found for part in evidence.parts)]),
        "proof": one.proof or "",
        "witness": next((json.dumps(part.witness) for part in evidence.parts if part.witness), ""),
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
