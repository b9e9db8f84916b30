"""How a statement about several phases under credit is attacked: by random histories, and by hand in exact fractions.

A *history* is what all nodes demand and release, phase by phase. The mechanism judged runs :func:`fairbook.cbdrf` by
some rule (:func:`by_rule`).
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from book.common.claims.registry import Effort, Evidence, Mechanism, Part
from book.common.evidence import in_words, sampled
from book.common.runs import stream
from fairbook.mechanisms.credit.cbdrf import cbdrf, cbdrf_rule
from fairbook.mechanisms.credit.cbdrf_run import CreditRun

#: (mechanism, demands, release ratios) -> what is wrong with the history, or None.
Test = Callable[[Mechanism, Any, Any], str | None]
#: The mechanism -> whether the statement holds in a history by hand, and that history in words; None where it has none.
ByHand = Callable[[Mechanism], tuple[bool, str] | None]


def watched(test: Test, effort: Effort, subject: Mechanism, what: str, share: int = 40) -> Part:
    """Run random histories until ``test`` says what is wrong with one.

    Every second one draws what the subject leaves open, and zero demands where it allows them.
    """
    more = stream(effort.seed, 6)

    def look(rng: np.random.Generator, subject: Mechanism, done: int) -> Part | bool:
        T, n, m = int(rng.integers(2, 13)), int(rng.integers(1, 6)), int(rng.integers(1, 4))
        # ratios in quarters, so that thresholds are met exactly
        demands, released = rng.integers(1, 9, (T, n, m)) / 8, rng.integers(0, 5, (T, n)) / 4
        judged = opened(more, subject) if done % 2 else subject
        if done % 2 and subject.zeros:  # of one resource, or of all: then the node is not present
            demands = demands * (more.random((T, n, m)) < 0.7) * (more.random((T, n, 1)) < 0.8)
        wrong = test(judged, demands, released)
        return wrong is None or Part(False, "search", f"History {done + 1}: {wrong}.", done + 1)

    said = what + " in {count} random histories of up to 12 phases and 5 nodes."
    return sampled(look, effort, subject, key=5, share=share, least=50, said=said, grade="search")


def seen(
    test: Test, effort: Effort, subject: Mechanism, what: str, by_hand: ByHand | None = None, share: int = 40
) -> Evidence:
    """Watch random histories; where one breaks the statement, show one by hand that does, if there is one."""
    found = watched(test, effort, subject, what, share)
    shown = by_hand(subject) if by_hand is not None and found.holds is False else None
    return Evidence.of(found if shown is None else Part(shown[0], "witness", shown[1], found.size))


def by_rule(**terms: Any) -> Mechanism:
    """CbDRF by a rule with these terms, the others as printed."""
    name = ", ".join(f"{key} {value}" for key, value in terms.items()) or "as printed"
    return Mechanism(name, partial(cbdrf, **terms), zeros=True)


def uncapped(subject: Mechanism) -> bool:
    """Tell whether a mechanism made by :func:`by_rule` has no cap on credit."""
    return terms_of(subject).get("credit_cap", "initial") is None


def terms_of(subject: Mechanism) -> dict[str, Any]:
    """The terms with which a mechanism made by :func:`by_rule` runs."""
    return getattr(subject.run, "keywords", {})


def opened(rng: np.random.Generator, subject: Mechanism) -> Mechanism:
    """Draw the steps and the floor that a rule leaves open, in sixteenths of C_0: so credits meet the clips exactly."""
    if not isinstance(subject.run, partial):
        return subject
    drawn = {"step_up": rng.integers(1, 17), "step_down": rng.integers(1, 17), "credit_floor": rng.integers(0, 4)}
    return by_rule(**{key: int(value) / 16 for key, value in drawn.items()} | terms_of(subject))


#: The rule as printed in both readings of "(C_i < C_0)", a cap at C_0 and none, and one that takes no credit away.
WITH_CAP = by_rule()
NO_CAP = by_rule(credit_cap=None)
MEMORYLESS = by_rule(step_down=0.0)
#: The rule in exact numbers.
TENTHS: dict[str, Any] = {"step_up": Fraction(1, 10), "step_down": Fraction(1, 10), "rho": Fraction(3, 4)}


def exactly(subject: Mechanism, demands: Any, released: Any) -> Any:
    """The same run in exact fractions; steps of a tenth are tenths."""
    terms = {key: Fraction(str(v)) if isinstance(v, float) else v for key, v in terms_of(subject).items()}
    rule: dict[str, Any] = {**TENTHS, **terms}
    return cbdrf_rule(demands, released=released, **rule)


def lying_pays(rng: np.random.Generator, needless: bool, subject: Mechanism, demands: Any, released: Any) -> str | None:
    """Let node 0 lie in some phases and look for one in which it runs more true tasks.

    It claims something in each phase in which it needs something; ``needless``: now and then in others, too.
    """
    truth = demands[:, 0]
    honest: CreditRun = subject.run(demands, released=released)
    needs = truth.any(axis=1)
    for _ in range(4):
        lies = (needs | needless) & (rng.random(len(truth)) < rng.choice([0.2, 0.5, 1.0]))
        claims = rng.integers(0, 9, truth.shape) / 8
        claims[~claims.any(axis=1)] = 1
        claimed = demands.copy()
        claimed[lies, 0] = claims[lies]
        lying: CreditRun = subject.run(claimed, released=released)
        bundle = lying.tasks[:, [0]] * claimed[:, 0]
        true = np.where(truth > 0, bundle / np.where(truth > 0, truth, 1), np.inf).min(axis=1)
        more = np.flatnonzero(needs & (true > honest.tasks[:, 0] * (1 + 1e-9)))
        if more.size:
            return f"a lie raises the true tasks of node 0 in phase {more[0]} to {true[more[0]]:.4g}"
    return None


class Lie(NamedTuple):
    """A lie of the first of two nodes over some phases, by hand: who needs what, what it claims, who releases what."""

    demands: list[Any]
    claimed: list[Any]
    released: list[str]
    terms: dict[str, Any]
    told: str

    def by_hand(self, judged: Mechanism) -> tuple[bool, str]:
        """Whether the lie does not pay, and what comes of it."""
        claimed = [[mine, *theirs] for mine, (_, *theirs) in zip(self.claimed, self.demands, strict=True)]
        terms = replace(judged, run=partial(judged.run, **self.terms))
        ratios = [self.released] * len(self.demands)
        before, after = (
            [row[0] for row in exactly(terms, demands, ratios).tasks] for demands in (self.demands, claimed)
        )
        for t, (mine, told) in enumerate(zip(self.demands, self.claimed, strict=True)):
            needs = [(Fraction(c), Fraction(d)) for c, d in zip(told, mine[0], strict=True) if Fraction(d) > 0]
            after[t] *= min((c / d for c, d in needs), default=Fraction(0))
        return sum(after) <= sum(before), (
            f"Two nodes, demands {in_words(self.demands)} phase by phase; {self.told} and runs {in_words(after)} = "
            f"{sum(after)} true tasks instead of {in_words(before)} = {sum(before)}."
        )
