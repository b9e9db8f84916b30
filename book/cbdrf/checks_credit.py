"""Theorems 1 and 2 of the cbDRF paper and its corollaries: shares by credit, how it moves, what releasing brings."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from book.cbdrf.histories import (
    MEMORYLESS,
    NO_CAP,
    WITH_CAP,
    by_rule,
    exactly,
    seen,
    terms_of,
    uncapped,
)
from book.cbdrf.phases import (
    DRF,
    LITERAL_SI,
    SCALED,
    about_a_phase,
    broken,
    someone_good,
)
from book.cbdrf.properties import (
    PHASES,
    sharing_incentive_by_record,
    sharing_incentive_in_good_standing,
)
from book.cbdrf.release import best_response
from book.common.claims.registry import Effort, Evidence, Mechanism, Part, claim
from book.common.evidence import computed, in_words
from fairbook.mechanisms.credit.cbdrf import cbdrf
from fairbook.mechanisms.credit.cbdrf_run import CreditRun
from fairbook.mechanisms.credit.credit_rule import CreditRule
from fairbook.model.allocation import Allocation
from fairbook.properties.finding import Finding


def _one_level(allocation: Allocation, factor: Any) -> Finding:
    """All shares follow from one level: share of j = psi_i d_ij L, with the same L for all nodes (positive demands)."""
    if not factor.any():
        return Finding("one level", True, 0)
    level = allocation.dominant_shares[factor > 0] / factor[factor > 0]
    return Finding("one level", bool(np.ptp(level) <= 1e-9 * level.max()), 1 - level.max() / level.min())


about_a_phase(
    "theorem_1.given_the_demand",
    "Theorem 1",
    "Given its demand vector, all shares of a node follow from its dominant share psi_i L, one L for all nodes.",
    _one_level,
    mutant=broken("by_sum"),
    variant="for a given demand vector",
    proof="thm-cbdrf-1",
)


@claim(
    id="cbdrf.theorem_1.dominant_alone",
    locator="Theorem 1",
    kind="theorem",
    variant="by the dominant demand alone",
    statement="Two nodes with the same dominant demand (and the same record) get the same shares of every resource.",
    mechanism=SCALED,
    mutant=Mechanism("whole slices", lambda d, psi: PHASES["scaled"](np.ones_like(d), psi)),
)
def _theorem_1_literally(effort: Effort, subject: Mechanism) -> Evidence:
    demands = np.array([[1.0, 0.5], [1.0, 0.25]])
    found = subject.run(demands, np.ones(2))
    shares = [[Fraction(float(x)).limit_denominator(1000) for x in row] for row in found.tasks[:, None] * found.demands]
    return Evidence.of(
        computed(
            shares[0] == shares[1],
            f"Demands {in_words(demands.tolist())} of a pool of ones: shares {in_words(shares)}.",
            1,
        )
    )


def _accumulates(subject: Mechanism, demands: Any, released: Any) -> str | None:
    run: CreditRun = subject.run(demands, released=released)
    after = np.vstack([run.credit_factor[1:], run.rule.factor(run.final_credit)])
    for t, i in np.ndindex(*run.tasks.shape):
        before, now = run.credit_factor[t, i], after[t, i]
        floor = run.rule.credit_floor / run.rule.initial_credit
        if run.complied[t, i] and not (now > before or before == 1):
            return f"psi of node {i} does not rise after it complied in phase {t} ({before:.3g} to {now:.3g})"
        if not run.complied[t, i] and not (now < before or before <= floor):
            return f"psi of node {i} does not fall after it failed in phase {t} ({before:.3g} to {now:.3g})"
    return None


def _psi_falls_late(judged: Mechanism) -> tuple[bool, str] | None:
    if not uncapped(judged):
        return None
    run = exactly(judged, [[["1"]]] * 3, [["1"], ["0"], ["0"]])
    psi = [row[0] for row in run.credit_factor]
    told = f"One node releases all in phase 1, nothing in phase 2: psi is {in_words(psi)} in phases 1 to 3."
    return psi[2] < psi[1], told


for _name, _variant, _subject, _mutant, _proof in (
    ("cap", "credit never above C_0", WITH_CAP, MEMORYLESS, "thm-cbdrf-2"),
    ("no_cap", "credit without a cap", NO_CAP, WITH_CAP, None),
):
    claim(
        id=f"cbdrf.theorem_2.{_name}",
        locator="Theorem 2",
        kind="theorem",
        variant=_variant,
        proof=_proof,
        mechanism=_subject,
        mutant=_mutant,
        statement="psi falls with each phase in which a node fails to release enough, down to the floor, and rises "
        "with each in which it does, up to 1.",
    )(lambda effort, judged: seen(_accumulates, effort, judged, "psi moves as stated", _psi_falls_late))


def _no_regret(subject: Mechanism, demands: Any, released: Any) -> str | None:
    """Whoever complies where it failed is never granted less later."""
    base: CreditRun = subject.run(demands, released=released)
    for t, i in np.argwhere(released < base.rule.rho)[:3]:
        better = released.copy()
        better[t, i] = 1.0
        other: CreditRun = subject.run(demands, released=better)
        lost = np.flatnonzero(other.tasks[:, i] < base.tasks[:, i] * (1 - 1e-12))
        if lost.size:
            return f"node {i} releases all in phase {t} and has less in phase {lost[0]}"
    return None


for _grant in ("scaled", "weighted", "capped"):
    claim(
        id=f"cbdrf.corollary_1.never_less.{_grant}",
        locator="Corollary 1" if _grant == "scaled" else "beyond the paper (Corollary 1)",
        kind="theorem",
        variant=f"{_grant} grants, what is held returns, floor above 0",
        statement="A node that releases enough in a phase where it did not is granted no less in any later phase.",
        proof="prop-cbdrf-monotone",
        mechanism=by_rule(grant=_grant, credit_floor=0.05),
        mutant=Mechanism(
            "credit inverted",
            lambda d, released, g=_grant: cbdrf(
                d, released=1 - np.asarray(released), grant=g, credit_floor=0.05, rho=0.5
            ),
        ),
    )(lambda effort, judged: seen(_no_regret, effort, judged, "Complying never costs a later grant", share=80))


@claim(
    id="cbdrf.corollary_1.never_less.floor_0",
    locator="Corollary 1",
    kind="theorem",
    variant="what is held returns, floor 0, steps of a half, release ratios given, 0/0 counts as compliance",
    statement="A node that releases enough in a phase where it did not is granted no less in any later phase.",
    mechanism=by_rule(step_up=0.5, step_down=0.5),
    mutant=by_rule(step_up=0.5, step_down=0.5, credit_floor=0.05),
)
def _never_less_at_zero(effort: Effort, subject: Mechanism) -> Evidence:
    runs = [exactly(subject, [[["1"]]] * 4, [[ratio], *[["0"]] * 3]) for ratio in ("0", "1")]
    held, released = ([row[0] for row in run.tasks] for run in runs)
    return Evidence.of(
        computed(
            all(b >= a for a, b in zip(held, released, strict=True)),
            f"One node alone releases nothing, or all at the end of phase 1 only: tasks {in_words(held)} and "
            f"{in_words(released)} in phases 1 to 4. Who is granted nothing holds nothing, and so complies.",
            2,
        )
    )


def _releasing(
    name: str, locator: str, variant: str, worth: Fraction, subject: Mechanism, mutant: Mechanism, proof: str | None
) -> None:
    """Register that releasing pays; the paper names neither what a held task is worth nor how the future counts."""

    @claim(
        id=f"cbdrf.corollary_1.best_response.{name}",
        locator=locator,
        kind="theorem",
        variant=f"{variant}; cap C_0, the same demands in each phase, what is held returns",
        statement="Releasing enough in every phase is the best that a node can do; holding everything once is worse.",
        proof=proof,
        mechanism=subject,
        mutant=mutant,
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        rule = CreditRule(**terms_of(judged))
        best = best_response(rule, worth=float(worth))
        # in exact terms: hold everything once at full credit, then comply
        rho, discount = Fraction(3, 4), Fraction(99, 100)
        down, up = Fraction(str(rule.step_down)), Fraction(str(rule.step_up))
        lost = sum((discount ** (j + 1) * (down - j * up) for j in range(1 + int(down / up))), Fraction(0))
        gain, loss = worth * rho, (1 + worth * (1 - rho)) * lost
        programme = (
            f"Dynamic programming over {best.looked_at} credits: the best strategy gains {best.gain:.2%} over "
            "releasing 3/4 always."
        )
        later, cost = (str(x) if x.denominator < 10**6 else f"{float(x):.4f}" for x in (lost, loss))
        once = (
            f"With rho {rho}, and numbers of ours, a held task worth {worth} and the next phase {discount}: holding "
            f"everything once gains {worth} * {rho} = {gain} of a phase's grant and costs "
            f"(1 + {worth} * {1 - rho}) * {later} = {cost} of one later: psi falls by {down} and rises by {up}."
        )
        if gain >= loss:  # exact; what the programme finds in floats can only add to it
            return Evidence.of(Part(False, "witness", f"{once} {programme}", best.looked_at))
        return Evidence.of(Part(best.releases, "numbers", programme, best.looked_at), Part(True, "numbers", once, 1))


_releasing("worthless", "Corollary 1", "what is held is of no use to the node", Fraction(0), WITH_CAP, MEMORYLESS,
           "thm-cbdrf-release")  # fmt: skip
_releasing("equal_steps", "Corollary 1", "whatever a held task is worth to the node, equal steps", Fraction(1, 2),
           WITH_CAP, by_rule(step_up=0.01), None)  # fmt: skip
_releasing("slow_recovery", "beyond the paper (Corollary 1)",
           "a held task worth half, step up a tenth of the step down, discount 0.99", Fraction(1, 2),
           by_rule(step_up=0.01), WITH_CAP, "thm-cbdrf-release")  # fmt: skip


@claim(
    id="cbdrf.corollary_1.more_than_rho",
    locator="beyond the paper (Corollary 1)",
    kind="theorem",
    variant="releasing all",
    statement="A node has a reason to release more than the part rho: some later grant is larger for it.",
    mechanism=WITH_CAP,
    mutant=by_rule(rho=1.0),
)
def _more_than_rho(effort: Effort, subject: Mechanism) -> Evidence:
    runs = [exactly(subject, [[["1"]]] * 4, [[ratio]] * 4) for ratio in ("1", "3/4")]
    tasks = [[row[0] for row in run.tasks] for run in runs]
    return Evidence.of(
        computed(
            tasks[0] > tasks[1],
            f"One node alone releases all, or 3/4, after each of four phases: tasks {in_words(tasks[0])} and "
            f"{in_words(tasks[1])}.",
            2,
        )
    )


about_a_phase(
    "corollary_2.literally",
    "Corollary 2",
    "Every node runs at least what it could alone on an equal part of the pool.",
    LITERAL_SI,
    mutant=DRF,
    variant="every node",
)
about_a_phase(
    "corollary_2.good_standing",
    "Corollary 2",
    "Every node with psi = 1 runs at least what it could alone on an equal part of the pool.",
    sharing_incentive_in_good_standing,
    mutant=broken("inverse"),
    records=someone_good,
    variant="nodes in good standing",
    proof="prop-cbdrf-scaled-si",
    zeros=True,
)
about_a_phase(
    "corollary_2.by_record",
    "beyond the paper (Corollary 2)",
    "Every node runs at least psi times what it could alone on an equal part of the pool.",
    sharing_incentive_by_record,
    mutant=broken("inverse"),
    variant="psi times an equal split",
    proof="prop-cbdrf-scaled-si",
    zeros=True,
)


def _protected(whole: bool) -> Callable[[Mechanism, Any, Any], str | None]:
    def test(subject: Mechanism, demands: Any, released: Any) -> str | None:
        """A node that always complied has at least an equal split in every phase."""
        released = released.copy()
        released[:, 0] = 1.0
        run: CreditRun = subject.run(demands, released=released)
        there = np.ones_like(run.pool) if whole else run.pool
        need = run.demands[:, 0]
        present = np.maximum((run.demands > 0).any(axis=2).sum(axis=1), 1)[:, None]
        most = np.where(need > 0, there / (present * np.where(need > 0, need, 1)), np.inf).min(axis=1)
        alone = np.where(np.isinf(most), 0, most)  # nothing is owed to a node that needs nothing
        short = np.flatnonzero(run.tasks[:, 0] < alone * (1 - 1e-9))
        return f"node 0 complies and has {run.tasks[short[0], 0]:.4g} of {alone[short[0]]:.4g}" if short.size else None

    return test


def _half_is_held(judged: Mechanism) -> tuple[bool, str] | None:
    if terms_of(judged).get("held") != "stays":
        return None
    run = exactly(judged, [[["1"], ["1"]]] * 2, [["1", "0"], ["1", "0"]])
    told = (f"Two nodes share one resource; the second holds its half after phase 1: the first, which released all, "
            f"then gets {run.tasks[1][0]} instead of 1/2.")  # fmt: skip
    return run.tasks[1][0] >= Fraction(1, 2), told


def _theirs_is_safe(name: str, held: str, of: str, proof: str | None, mutant: Mechanism) -> None:
    claim(
        id=f"cbdrf.corollary_2.protected.{name}",
        locator="Corollary 2 (proof)",
        kind="theorem",
        variant=f"what is held {held}, an equal split {of}",
        proof=proof,
        mechanism=by_rule(held=held),
        mutant=mutant,
        statement="A node that always releases enough has at least an equal split in every phase, whatever others "
        "hold.",
    )(
        lambda effort, judged: seen(
            _protected(name != "of_the_moment"), effort, judged, "Its equal split is safe", _half_is_held
        )
    )


_theirs_is_safe("returns", "returns", "of the whole pool", "prop-cbdrf-scaled-si", by_rule(held="stays"))
_theirs_is_safe("stays", "stays", "of the whole pool", None, by_rule(held="returns"))
_theirs_is_safe("of_the_moment", "stays", "of what is there in the phase, R_j(t) > 0", "prop-cbdrf-scaled-si",
                Mechanism("half of it", lambda d, released: replace(run := cbdrf(d, released=released, held="stays"),
                                                                tasks=run.tasks / 2)))  # fmt: skip


def _without_penalty(subject: Mechanism) -> Mechanism:
    return by_rule(**terms_of(subject) | {"step_down": 0.0})


def _less_than_drf(subject: Mechanism, demands: Any, released: Any) -> str | None:
    """A node that always complied has at least what DRF would give it, others' conduct being the same."""
    released = released.copy()
    released[:, 0] = 1.0
    run, plain = (one.run(demands, released=released) for one in (subject, _without_penalty(subject)))
    short = np.flatnonzero(run.tasks[:, 0] < plain.tasks[:, 0] * (1 - 1e-9))
    return f"node 0 complies and has less than under DRF in phase {short[0]}" if short.size else None


def _less_in_phase_4(subject: Mechanism) -> tuple[bool, str]:
    demands, ratios = [[["1"]] * 3] * 4, [["1", "0", "1"], ["1", "0", "1"], ["1", "1", "0"], ["1", "1", "1"]]
    mine, plain = (exactly(one, demands, ratios).tasks[3][0] for one in (subject, _without_penalty(subject)))
    return mine >= plain, (
        "Three nodes share one resource; the second holds all it got after phases 1 and 2, the third after phase "
        f"3: in phase 4 the first, which released all, gets {mine} instead of {plain}."
    )


claim(
    id="cbdrf.corollary_2.than_drf",
    locator="beyond the paper (Corollary 2)",
    kind="extension",
    variant="what is held stays, credit never above C_0",
    statement="A node that always releases enough is granted no less in any phase than under DRF, the conduct of all "
    "nodes being the same.",
    mechanism=by_rule(held="stays"),
    mutant=WITH_CAP,
)(lambda effort, judged: seen(_less_than_drf, effort, judged, "It has no less than under DRF", _less_in_phase_4))
