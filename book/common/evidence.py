"""Turning what a search found into a part of a claim's evidence: the same words for every paper."""

from collections.abc import Callable
from typing import Any

import numpy as np

from book.common.claims.registry import Effort, Evidence, Grade, Mechanism, Part, claim
from book.common.runs import stream
from book.common.search import Search

#: What a counterexample begins with.
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


def _as_text(value: Any) -> Any:
    """Write the numbers in nested lists as text."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    return [_as_text(one) for one in value] if isinstance(value, (tuple, list)) else in_words(value)


def as_data(call: str = "", gives: Any = (), **arguments: Any) -> dict[str, Any]:
    """Give an instance as data, for a table and for Python to paste; see :class:`book.common.claims.Part`.

    Examples
    --------
    >>> from fractions import Fraction
    >>> as_data("fb.drf(demands).tasks", (1,), demands=((Fraction(1, 2), 1),))
    {'arguments': {'demands': [['1/2', '1']]}, 'call': 'fb.drf(demands).tasks', 'gives': ['1']}
    """
    return {"arguments": {k: _as_text(v) for k, v in arguments.items()}, "call": call, "gives": _as_text(gives)}


def margin_in_words(value: float) -> str:
    """Write a margin: the last digits differ from processor to processor."""
    return "0 up to rounding" if abs(value) < 1e-9 else f"{value:.3g}"


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


def computed(holds: Any, found: str, size: int, witness: dict[str, Any] | None = None) -> Part:
    """Decide by a computation about one instance, or a few: where it fails, it is the witness."""
    return Part(bool(holds), "numbers" if holds else "witness", found, size, witness=None if holds else witness)


def witnessed(
    judged: Mechanism,
    witness: Any,
    check: Callable[[Any, Any], Any],
    told: Callable[[Any, Any, Any], str],
    shows: Callable[[Any, Any], dict[str, Any]],
) -> Evidence | None:
    """Decide a statement on one instance in exact fractions; None where it holds there or there is no instance."""
    if witness is None:
        return None
    outcome = judged.run(witness, True)
    margin = check(witness, outcome)
    if margin >= 0:
        return None
    return Evidence.of(Part(False, "witness", told(witness, outcome, margin), 1, witness=shows(witness, outcome)))


#: What a check looks at: (random stream, mechanism to judge, number of the instance) -> see :func:`sampled`.
Look = Callable[[np.random.Generator, Mechanism, int], Any]


def sampled(
    look: Look,
    effort: Effort,
    judged: Mechanism,
    *,
    key: int,
    share: int,
    said: str | Callable[[list[Any]], str],
    right: Callable[[list[Any]], Any] = all,
    least: int = 0,
    most: int | None = None,
    again: bool = False,
    grade: Grade = "numbers",
) -> Part:
    """Look at random instances one by one, all drawn from one stream, and say what was found in them all.

    Parameters
    ----------
    look : callable
        Draws an instance and gives what was found in it: a :class:`Part` ends the search (a counterexample); None
        says that the statement does not speak of the instance; anything else is kept.
    effort, judged
    key : int
        The stream is ``stream(effort.seed, key)``.
    share : int
        ``effort.evaluations // share`` instances are drawn, but at least `least` and at most `most`.
    said : str or callable
        The evidence in words, from the list of what was kept; in a string, "{count}" is their number.
    right : callable
        Whether the part holds, from the same list.
    again : bool
        Whether an instance of which the statement does not speak is drawn again.
    grade : str
        Of the part where no instance ended the search.

    Examples
    --------
    >>> from book.common.claims import QUICK
    >>> fair = Mechanism("fair coin", lambda rng: rng.random() < 0.5)
    >>> part = sampled(lambda rng, judged, at: judged.run(rng), QUICK, fair, key=1, share=100,
    ...                said=lambda heads: f"{sum(heads)} of {len(heads)} are heads.", right=any)
    >>> part.holds, part.size, part.found
    (True, 20, '7 of 20 are heads.')
    """
    rng, drawn = stream(effort.seed, key), 0
    found: list[Any] = []
    count = max(least, effort.evaluations // share)
    count = count if most is None else min(count, most)
    while (len(found) if again else drawn) < count:
        one = look(rng, judged, drawn)
        drawn += 1
        if isinstance(one, Part):
            return one
        if one is not None:
            found.append(one)
    text = said.format(count=len(found)) if isinstance(said, str) else said(found)
    return Part(bool(right(found)), grade, text, len(found))


def sampled_claim(
    *,
    key: int,
    share: int,
    said: str | Callable[[list[Any]], str],
    right: Callable[[list[Any]], Any] = all,
    least: int = 0,
    most: int | None = None,
    again: bool = False,
    grade: Grade = "numbers",
    **about: Any,
) -> Callable[[Look], Look]:
    """Register a claim that is checked on random instances alone: decorates what :func:`sampled` calls ``look``.

    ``about`` is what :func:`book.common.claims.claim` takes.
    """

    def register(look: Look) -> Look:
        claim(**about)(
            lambda effort, judged: Evidence.of(
                sampled(
                    look,
                    effort,
                    judged,
                    key=key,
                    share=share,
                    said=said,
                    right=right,
                    least=least,
                    most=most,
                    again=again,
                    grade=grade,
                )
            )
        )
        return look

    return register
