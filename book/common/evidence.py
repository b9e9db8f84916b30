"""Turning what a search or a solver found into a part of a claim's evidence: the same words for every paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from book.common.smt import Settled
from fairbook.claims.registry import Evidence, Mechanism, Part
from fairbook.properties.search import Search

__all__ = ["EXACT", "in_words", "margin_in_words", "searched", "settled", "witnessed"]

#: What a solver's counterexample begins with.
EXACT = "Counterexample in exact fractions: "


def in_words(value: Any) -> str:
    """Write numbers, fractions and lists of them, leaving out what is empty."""
    if isinstance(value, dict):
        return ", ".join(
            f"{str(key).replace('_', ' ')}{' of' if isinstance(v, dict) else ''} {in_words(v)}"
            for key, v in value.items()
            if v is not None and v != {}
        )
    if isinstance(value, (tuple, list)):
        return "(" + ", ".join(in_words(v) for v in value) + ")"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def margin_in_words(value: float) -> str:
    """Write a margin: the last digits differ from processor to processor."""
    return "0 up to rounding" if abs(value) < 1e-9 else f"{value:.3g}"


def settled(asked: Iterable[Settled], says: Callable[[Any], str] = lambda witness: "") -> Part:
    """Read what the solver says about all sizes asked for, smallest first; a counterexample ends the asking.

    ``says`` adds in words what is wrong in a counterexample.
    """
    answers = []
    for answer in asked:
        answers.append(answer)
        if answer.witness is not None:
            return Part(False, "witness", f"{EXACT}{in_words(answer.witness)}.{says(answer.witness)}", answer.cases)
    last = answers[-1]
    if all(answer.status == "holds" and answer.premises_satisfiable for answer in answers):
        vacuous = sum(answer.vacuous for answer in answers)
        return Part(
            True,
            "smt",
            f"No counterexample among all real instances with up to {last.n} users, {last.m} resources and "
            f"{last.demands} demands (z3: {sum(a.unsat for a in answers)} cases, all unsatisfiable"
            + (f", {vacuous} of them with impossible premises)." if vacuous else ")."),
            sum(a.cases for a in answers),
        )
    return Part(
        None, "smt", f"The solver left {sum(a.unknown for a in answers)} cases open at n = {last.n}, m = {last.m}."
    )


def searched(found: Search) -> Part:
    """Read what a search found in floats."""
    if found.found:
        return Part(
            False,
            "search",
            f"Violated, margin {float(found.margin):.3g}: {found.instance} {in_words(found.details)}.",
            found.evaluations,
        )
    return Part(
        True,
        "search",
        f"Local search over instances{' and lies' if found.details else ''} "
        f"({found.evaluations} runs, {found.restarts} restarts) found nothing; smallest margin "
        f"{margin_in_words(float(found.margin))}.",
        found.evaluations,
    )


def witnessed(
    judged: Mechanism,
    witness: Any,
    check: Callable[[Any, Any], Any],
    told: Callable[[Any, Any, Any], str],
) -> Evidence | None:
    """Decide a statement on one instance in exact fractions; None where it holds there or there is no instance."""
    if witness is None:
        return None
    outcome = judged.run(witness, True)
    margin = check(witness, outcome)
    return Evidence.of(Part(False, "witness", told(witness, outcome, margin), 1)) if margin < 0 else None
