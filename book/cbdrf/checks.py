"""The claims of the cbDRF paper (Lu et al. 2014), its Table 1, and what the repaired mechanisms promise instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from book.cbdrf import studies as study
from book.cbdrf.oracle import exact_run
from book.cbdrf.phases import (
    Check,
    Records,
    all_good,
    any_record,
    attacked,
    equal_records,
    exact_rule,
    lied_to,
    sampled,
    sampled_lies,
    solved,
    someone_good,
)
from book.cbdrf.properties import (
    EXACT_PHASES,
    PHASE_MUTANTS,
    PHASES,
    gain_from_record,
    justified_envy_freeness,
    pareto_optimality_within_caps,
    sharing_incentive_by_record,
    sharing_incentive_in_good_standing,
)
from book.cbdrf.release import best_response, largest_worth, search_release, worth_threshold
from book.cbdrf.smt import GRANTS as SOLVED
from book.common.evidence import in_words
from book.common.runs import stream
from fairbook.claims.registry import Effort, Evidence, Kind, Mechanism, Part, claim
from fairbook.claims.stored import ledger
from fairbook.mechanisms.cbdrf import CreditRule, CreditRun, cbdrf
from fairbook.mechanisms.drf import drf
from fairbook.mechanisms.karma import karma
from fairbook.model.allocation import Allocation
from fairbook.properties.finding import Finding
from fairbook.properties.instances import Instance, sampler
from fairbook.properties.static import envy_freeness, pareto_optimality, sharing_incentive


def _phase(name: str) -> Mechanism:
    return Mechanism(name, PHASES[name], smt=name if name in SOLVED else None)


def _broken(name: str) -> Mechanism:
    return Mechanism(name, PHASE_MUTANTS[name])


SCALED, WEIGHTED, CAPPED, DRF, KARMA = map(_phase, ("scaled", "weighted", "capped", "drf", "karma"))


def _literal(check: Callable[[Allocation], Any]) -> Check:
    return lambda allocation, factor: check(allocation)


def _about_a_phase(
    name: str,
    locator: str,
    statement: str,
    check: Check | None,
    *,
    subject: Mechanism = SCALED,
    mutant: Mechanism,
    solver: str | None = None,
    records: Records = any_record,
    kind: Kind = "theorem",
    variant: str = "as stated",
    proof: str | None = None,
    sample: bool = False,
    zeros: bool = False,
    strict: bool = False,
) -> None:
    """Register a statement about one phase; ``check`` None means strategy-proofness."""
    if not zeros:
        statement = f"{statement.removesuffix('.')} (positive demands)."

    @claim(
        id=f"cbdrf.{name}",
        locator=locator,
        kind=kind,
        statement=statement,
        variant=variant,
        proof=proof,
        mechanism=replace(subject, zeros=zeros),
        mutant=replace(mutant, zeros=zeros),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        if check is None:
            parts = [lied_to(effort, judged, records)]
            if sample:
                parts.append(sampled_lies(effort, judged, records))
        else:
            parts = [attacked(check, effort, judged, records, strict=strict)]
            if sample:
                parts.append(sampled(check, effort, judged, records))
        if solver is not None:
            settled = solved(solver, effort, judged)
            parts = settled + parts if check is None else parts + settled  # of lies, the solver finds the smaller ones
        return Evidence(tuple(parts))


# --------------------------------------------------------------------------------------------- ways of looking: phases


def _history(rng: np.random.Generator, T: int = 8, n: int = 4, m: int = 2) -> tuple[Any, Any]:
    """Demands and release ratios of some phases; ratios in quarters, so that thresholds are met exactly."""
    return rng.integers(1, 9, (T, n, m)) / 8, rng.integers(0, 5, (T, n)) / 4


def _watched(
    test: Callable[[Mechanism, Any, Any], str | None], effort: Effort, subject: Mechanism, what: str, share: int = 40
) -> Part:
    """Run random histories until ``test`` says what is wrong with one.

    Every second one draws what the subject leaves open, and zero demands where it allows them.
    """
    rng, more = stream(effort.seed, 5), stream(effort.seed, 6)
    count = max(50, effort.evaluations // share)
    for done in range(count):
        T, n, m = int(rng.integers(2, 13)), int(rng.integers(1, 6)), int(rng.integers(1, 4))
        demands, released = _history(rng, T, n, m)
        judged = _opened(more, subject) if done % 2 else subject
        if done % 2 and subject.zeros:  # of one resource, or of all: then the node is not present
            demands = demands * (more.random((T, n, m)) < 0.7) * (more.random((T, n, 1)) < 0.8)
        wrong = test(judged, demands, released)
        if wrong is not None:
            return Part(False, "search", f"History {done + 1}: {wrong}.", done + 1)
    return Part(True, "search", f"{what} in {count} random histories of up to 12 phases and 5 nodes.", count)


def _rule(**terms: Any) -> Mechanism:
    name = ", ".join(f"{key} {value}" for key, value in terms.items()) or "as printed"
    return Mechanism(name, partial(cbdrf, **terms), zeros=True)


def _terms(subject: Mechanism) -> dict[str, Any]:
    """The terms with which a mechanism made by :func:`_rule` runs."""
    return getattr(subject.run, "keywords", {})


def _opened(rng: np.random.Generator, subject: Mechanism) -> Mechanism:
    """Draw the steps and the floor that a rule leaves open, in sixteenths of C_0: so credits meet the clips exactly."""
    if not isinstance(subject.run, partial):
        return subject
    drawn = {"step_up": rng.integers(1, 17), "step_down": rng.integers(1, 17), "credit_floor": rng.integers(0, 4)}
    return _rule(**{key: int(value) / 16 for key, value in drawn.items()} | _terms(subject))


PRINTED = _rule()
WITH_CAP = _rule(credit_cap=1.0)
MEMORYLESS = _rule(credit_cap=1.0, step_down=0.0)


_TENTHS = {"step_up": Fraction(1, 10), "step_down": Fraction(1, 10), "rho": Fraction(3, 4)}


def _exactly(subject: Mechanism, demands: Any, released: Any) -> Any:
    """The same run in exact fractions; steps of a tenth are tenths."""
    terms = {key: Fraction(str(v)) if isinstance(v, float) else v for key, v in _terms(subject).items()}
    rule: dict[str, Any] = {**_TENTHS, **terms}
    return exact_run(demands, [Fraction(1)] * len(demands[0][0]), released, **rule)


# ---------------------------------------------------------------------------------------------- the paper's theorems


def _one_level(allocation: Allocation, factor: Any) -> Finding:
    """All shares follow from one level: share of j = psi_i d_ij L, with the same L for all nodes (positive demands)."""
    level = allocation.dominant_shares[factor > 0] / factor[factor > 0]
    return Finding("one level", bool(np.ptp(level) <= 1e-9 * level.max()), 1 - level.max() / level.min())


_about_a_phase(
    "theorem_1.given_the_demand",
    "Theorem 1",
    "Given its demand vector, all shares of a node follow from its dominant share psi_i L, one L for all nodes.",
    _one_level,
    mutant=_broken("by_sum"),
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
    same = shares[0] == shares[1]
    return Evidence.of(
        Part(
            same,
            "numbers" if same else "witness",
            f"Demands {in_words(demands.tolist())} of a pool of ones: shares {in_words(shares)}.",
            1,
        )
    )


def _accumulates(subject: Mechanism, demands: Any, released: Any) -> str | None:
    run: CreditRun = subject.run(demands, None, released)
    after = np.vstack([run.credit_factor[1:], run.rule.factor(run.final_credit)])
    for t, i in np.ndindex(*run.tasks.shape):
        before, now = run.credit_factor[t, i], after[t, i]
        floor = run.rule.credit_floor / run.rule.initial_credit
        if run.complied[t, i] and not (now > before or before == 1):
            return f"psi of node {i} does not rise after it complied in phase {t} ({before:.3g} to {now:.3g})"
        if not run.complied[t, i] and not (now < before or before <= floor):
            return f"psi of node {i} does not fall after it failed in phase {t} ({before:.3g} to {now:.3g})"
    return None


def _theorem_2(variant: str, subject: Mechanism, mutant: Mechanism, proof: str | None) -> None:
    @claim(
        id=f"cbdrf.theorem_2.{'no_cap' if proof is None else 'cap'}",
        locator="Theorem 2",
        kind="theorem",
        variant=variant,
        proof=proof,
        mechanism=subject,
        mutant=mutant,
        statement="psi falls with each phase in which a node fails to release enough, down to the floor, and rises "
        "with each in which it does, up to 1.",
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        found = _watched(_accumulates, effort, judged, "psi moves as stated")
        if found.holds is False and _terms(judged).get("credit_cap") is None:
            run = _exactly(judged, [[["1"]]] * 3, [["1"], ["0"], ["0"]])
            psi = [row[0] for row in run.credit_factor]
            return Evidence.of(
                Part(
                    psi[2] < psi[1],
                    "witness",
                    f"One node releases all in phase 1, nothing in phase 2: psi is {in_words(psi)} in phases 1 to 3.",
                    found.size,
                )
            )
        return Evidence.of(found)


_theorem_2("credit never above C_0", WITH_CAP, MEMORYLESS, "thm-cbdrf-2")
_theorem_2("credit without a cap", PRINTED, WITH_CAP, None)


def _no_regret(subject: Mechanism, demands: Any, released: Any) -> str | None:
    """Whoever complies where it failed is never granted less later."""
    base: CreditRun = subject.run(demands, None, released)
    for t, i in np.argwhere(released < base.rule.rho)[:3]:
        better = released.copy()
        better[t, i] = 1.0
        other: CreditRun = subject.run(demands, None, better)
        lost = np.flatnonzero(other.tasks[:, i] < base.tasks[:, i] * (1 - 1e-12))
        if lost.size:
            return f"node {i} releases all in phase {t} and has less in phase {lost[0]}"
    return None


for _grant in ("scaled", "weighted", "capped"):
    claim(
        id=f"cbdrf.corollary_1.never_less.{_grant}",
        locator="Corollary 1" if _grant == "scaled" else "beyond the paper (Corollary 1)",
        kind="theorem",
        variant=f"{_grant}, what is held returns, floor above 0",
        statement="A node that releases enough in a phase where it did not is granted no less in any later phase.",
        proof="prop-cbdrf-monotone",
        mechanism=_rule(grant=_grant, credit_cap=1.0, credit_floor=0.05),
        mutant=Mechanism(
            "credit inverted",
            lambda d, c, r, g=_grant: cbdrf(
                d, c, released=1 - np.asarray(r), grant=g, credit_cap=1.0, credit_floor=0.05, rho=0.5
            ),
        ),
    )(
        lambda effort, judged: Evidence.of(
            _watched(_no_regret, effort, judged, "Complying never costs a later grant", share=80)
        )
    )


@claim(
    id="cbdrf.corollary_1.never_less.floor_0",
    locator="beyond the paper (Corollary 1)",
    kind="theorem",
    variant="floor 0, release ratios given, 0/0 counts as compliance",
    statement="A node that releases enough in a phase where it did not is granted no less in any later phase.",
    mechanism=_rule(credit_cap=1.0),
    mutant=_rule(credit_cap=1.0, credit_floor=0.05),
)
def _never_less_at_zero(effort: Effort, subject: Mechanism) -> Evidence:
    runs = [_exactly(subject, [[["1"]]] * 12, [[ratio], *[["0"]] * 11]) for ratio in ("0", "1")]
    held, released = ([row[0] for row in run.tasks] for run in runs)
    less = any(b < a for a, b in zip(held, released, strict=True))
    return Evidence.of(
        Part(
            not less,
            "witness" if less else "numbers",
            f"One node alone ({in_words(_TENTHS)}) releases nothing, or all at the end of phase 1 only: tasks "
            f"{in_words(held[9:])} and "
            f"{in_words(released[9:])} in phases 10 to 12. Who is granted nothing holds nothing, and so complies.",
            2,
        )
    )


def _releasing(
    name: str, variant: str, worth: Fraction, subject: Mechanism, mutant: Mechanism, proof: str | None
) -> None:
    @claim(
        id=f"cbdrf.corollary_1.best_response.{name}",
        locator="Corollary 1",
        kind="theorem",
        variant=f"{variant}; cap C_0, rho 3/4, discount 0.99",
        statement="Releasing enough in every phase is the best that a node can do; holding everything once is worse.",
        proof=proof,
        mechanism=subject,
        mutant=mutant,
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        rule = CreditRule(**_terms(judged))
        best = best_response(rule, worth=float(worth))
        # in exact terms: hold everything once at full credit, then comply
        rho, discount = Fraction(3, 4), Fraction(99, 100)
        down, up = Fraction(str(rule.step_down)), Fraction(str(rule.step_up))
        steps = range(1, int(np.ceil(rule.step_down / rule.step_up)) + 2)
        lost = sum((discount**j * max(Fraction(0), down - (j - 1) * up) for j in steps), Fraction(0))
        gain, loss = worth * rho, (1 + worth * (1 - rho)) * lost
        programme = (
            f"Dynamic programming over {best.looked_at} credits: the best strategy gains {best.gain:.2%} over "
            "releasing 3/4 always."
        )
        later, cost = (str(x) if x.denominator < 10**6 else f"{float(x):.4f}" for x in (lost, loss))
        once = (f"Holding everything once gains {worth} * {rho} = {gain} of a phase's grant and costs "
                f"(1 + {worth} * {1 - rho}) * {later} = {cost} of one later: psi falls by {down} and rises by {up}.")
        if gain >= loss:  # exact; what the programme finds in floats can only add to it
            return Evidence.of(Part(False, "witness", f"{once} {programme}", best.looked_at))
        return Evidence.of(
            Part(best.releases, "numbers", programme, best.looked_at), Part(True, "numbers", once, 1)
        )


_HALF = Fraction(1, 2)
_releasing("worthless", "what is held is of no use to the node", Fraction(0), WITH_CAP, MEMORYLESS, "thm-cbdrf-release")
_releasing("equal_steps", "a held task is worth half, equal steps", _HALF, WITH_CAP,
           _rule(credit_cap=1.0, step_up=0.01), None)  # fmt: skip
_releasing("slow_recovery", "a held task is worth half, step up a tenth of the step down", _HALF,
           _rule(credit_cap=1.0, step_up=0.01), WITH_CAP, "thm-cbdrf-release")  # fmt: skip


@claim(
    id="cbdrf.corollary_1.more_than_rho",
    locator="beyond the paper (Corollary 1)",
    kind="theorem",
    variant="releasing all",
    statement="A node has a reason to release more than the part rho: some later grant is larger for it.",
    mechanism=PRINTED,
    mutant=_rule(rho=1.0, credit_cap=1.0),
)
def _more_than_rho(effort: Effort, subject: Mechanism) -> Evidence:
    runs = [_exactly(subject, [[["1"]]] * 4, [[ratio]] * 4) for ratio in ("1", "3/4")]
    tasks = [[row[0] for row in run.tasks] for run in runs]
    more = tasks[0] > tasks[1]
    return Evidence.of(
        Part(
            more,
            "numbers" if more else "witness",
            f"One node alone releases all, or 3/4, after each of four phases: tasks {in_words(tasks[0])} and "
            f"{in_words(tasks[1])}.",
            2,
        )
    )


_LITERAL_SI = _literal(sharing_incentive)
_LITERAL_EF = _literal(envy_freeness)
_LITERAL_PE = _literal(pareto_optimality)

_about_a_phase(
    "corollary_2.literally",
    "Corollary 2",
    "Every node runs at least what it could alone on an equal part of the pool.",
    _LITERAL_SI,
    mutant=DRF,
    solver="sharing_incentive",
    variant="every node",
)
_about_a_phase(
    "corollary_2.good_standing",
    "Corollary 2",
    "Every node with psi = 1 runs at least what it could alone on an equal part of the pool.",
    sharing_incentive_in_good_standing,
    mutant=_broken("inverse"),
    solver="sharing_incentive_good_standing",
    records=someone_good,
    variant="nodes in good standing",
    proof="prop-cbdrf-scaled-si",
    zeros=True,
)
_about_a_phase(
    "corollary_2.by_record",
    "Corollary 2",
    "Every node runs at least psi times what it could alone on an equal part of the pool.",
    sharing_incentive_by_record,
    mutant=_broken("inverse"),
    solver="sharing_incentive_scaled_by_record",
    variant="psi times an equal split",
    proof="prop-cbdrf-scaled-si",
    zeros=True,
)


def _protected(whole: bool) -> Callable[[Mechanism, Any, Any], str | None]:
    def test(subject: Mechanism, demands: Any, released: Any) -> str | None:
        """A node that always complied has at least an equal split in every phase."""
        released = released.copy()
        released[:, 0] = 1.0
        run: CreditRun = subject.run(demands, None, released)
        there = np.ones_like(run.pool) if whole else run.pool
        need = run.demands[:, 0]
        present = np.maximum((run.demands > 0).any(axis=2).sum(axis=1), 1)[:, None]
        most = np.where(need > 0, there / (present * np.where(need > 0, need, 1)), np.inf).min(axis=1)
        alone = np.where(np.isinf(most), 0, most)  # nothing is owed to a node that needs nothing
        short = np.flatnonzero(run.tasks[:, 0] < alone * (1 - 1e-9))
        return f"node 0 complies and has {run.tasks[short[0], 0]:.4g} of {alone[short[0]]:.4g}" if short.size else None

    return test


def _theirs_is_safe(name: str, held: str, of: str, proof: str | None, mutant: Mechanism) -> None:
    @claim(
        id=f"cbdrf.corollary_2.protected.{name}",
        locator="Corollary 2 (proof)",
        kind="theorem",
        variant=f"what is held {held}, {of}",
        proof=proof,
        mechanism=_rule(held=held),
        mutant=mutant,
        statement="A node that always releases enough has at least an equal split in every phase, whatever others "
        "hold.",
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        found = _watched(_protected(name != "of_the_moment"), effort, judged, "Its equal split is safe")
        if found.holds is False and _terms(judged).get("held") == "stays":
            run = _exactly(judged, [[["1"], ["1"]]] * 2, [["1", "0"], ["1", "0"]])
            short = run.tasks[1][0] < Fraction(1, 2)
            found = Part(
                not short,
                "witness",
                "Two nodes share one resource; the second holds its half after phase 1: the first, which released "
                f"all, then gets {run.tasks[1][0]} instead of 1/2.",
                found.size,
            )
        return Evidence.of(found)


_theirs_is_safe("returns", "returns", "of the whole pool", "prop-cbdrf-scaled-si", _rule(held="stays"))
_theirs_is_safe("stays", "stays", "of the whole pool", None, _rule(held="returns"))
_theirs_is_safe("of_the_moment", "stays", "of what is there in the phase", "prop-cbdrf-scaled-si",
                Mechanism("half of it", lambda d, c, r: replace(run := cbdrf(d, c, released=r, held="stays"),
                                                                tasks=run.tasks / 2)))  # fmt: skip


def _less_than_drf(subject: Mechanism, demands: Any, released: Any) -> str | None:
    """A node that always complied has at least what DRF would give it, others' conduct being the same."""
    released = released.copy()
    released[:, 0] = 1.0
    run, plain = (one.run(demands, None, released) for one in (subject, _rule(**_terms(subject) | {"step_down": 0.0})))
    short = np.flatnonzero(run.tasks[:, 0] < plain.tasks[:, 0] * (1 - 1e-9))
    return f"node 0 complies and has less than under DRF in phase {short[0]}" if short.size else None


@claim(
    id="cbdrf.corollary_2.than_drf",
    locator="beyond the paper (Corollary 2)",
    kind="extension",
    variant="what is held stays, credit never above C_0",
    statement="A node that always releases enough is granted no less in any phase than under DRF, the conduct of all "
    "nodes being the same.",
    mechanism=_rule(credit_cap=1.0, held="stays"),
    mutant=WITH_CAP,
)
def _than_drf(effort: Effort, subject: Mechanism) -> Evidence:
    found = _watched(_less_than_drf, effort, subject, "It has no less than under DRF")
    if found.holds is False:
        demands, ratios = [[["1"]] * 3] * 4, [["1", "0", "1"], ["1", "0", "1"], ["1", "1", "0"], ["1", "1", "1"]]
        plain = _rule(**_terms(subject) | {"step_down": 0.0})
        tasks = [_exactly(one, demands, ratios).tasks[3][0] for one in (subject, plain)]
        found = Part(
            tasks[0] >= tasks[1],
            "witness",
            "Three nodes share one resource; the second holds all it got after phases 1 and 2, the third after phase "
            f"3: in phase 4 the first, which released all, gets {tasks[0]} instead of {tasks[1]}.",
            found.size,
        )
    return Evidence.of(found)


def _strictly(gain: Any) -> Any:
    """Margin of a strict gain: itself where positive beyond the last bits of a float, else -1."""
    return gain if gain > (0 if isinstance(gain, Fraction) else 1e-14) else -1


def _below_drf(allocation: Allocation, factor: Any) -> Any:
    """Margin: by which part punished nodes stand below their DRF amount."""
    exact = allocation.tasks.dtype == object
    whole = EXACT_PHASES["drf"](allocation.demands, factor) if exact else drf(allocation.demands)
    part = [1 - x / y for x, y, psi in zip(allocation.tasks, whole.tasks, factor, strict=True) if psi < 1]
    return np.array([_strictly(one) for one in part] or [np.inf])


_about_a_phase(
    "theorem_3.below_drf",
    "Theorem 3",
    "A node with psi < 1 gets fewer tasks than DRF gives it.",
    _below_drf,
    mutant=DRF,
    solver="punished_below_drf",
    variant="a node with psi < 1",
    proof="thm-cbdrf-3",
    strict=True,
    zeros=True,
)


def _each_failure_costs(subject: Mechanism, demands: Any, released: Any) -> str | None:
    run: CreditRun = subject.run(demands, None, released)
    ratio = run.granted_ratio
    for t, i in np.argwhere(~run.complied[:-1] & (run.credit[:-1] > run.rule.credit_floor)):
        if ratio[t + 1, i] >= ratio[t, i]:  # no number where the node is not present
            return f"node {i} fails in phase {t} and keeps {ratio[t + 1, i]:.3g} of its DRF amount"
    return None


def _theorem_3(variant: str, subject: Mechanism, mutant: Mechanism, proof: str | None) -> None:
    @claim(
        id=f"cbdrf.theorem_3.next_phase.{'no_cap' if proof is None else 'cap'}",
        locator="Theorem 3",
        kind="theorem",
        variant=variant,
        proof=proof,
        mechanism=subject,
        mutant=mutant,
        statement="After each phase in which a node above the floor fails to release enough, its part of the DRF "
        "amount is smaller.",
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        found = _watched(_each_failure_costs, effort, judged, "Each failure costs something")
        if found.holds is False and _terms(judged).get("credit_cap") is None:
            run = _exactly(judged, [[["1"]]] * 7, [["1"]] * 3 + [["0"]] * 4)
            psi = [row[0] for row in run.credit_factor]
            found = Part(
                all(b < a for a, b in zip(psi[3:], psi[4:], strict=False)),
                "witness",
                f"One node releases all in phases 1 to 3 and nothing afterwards: psi is {in_words(psi)} in phases 1 to "
                "7. Three failures are free.",
                found.size,
            )
        return Evidence.of(found)


_theorem_3("the next phase, credit never above C_0", WITH_CAP, MEMORYLESS, "thm-cbdrf-3")
_theorem_3("the next phase, credit without a cap", PRINTED, WITH_CAP, None)


def _larger_penalty(penalty: str, proof: str | None, mutant: Mechanism) -> None:
    @claim(
        id=f"cbdrf.penalty.{penalty}",
        locator="Section 3.1" if penalty == "step" else "beyond the paper (Section 3.1)",
        kind="statement",
        variant="equation (6)" if penalty == "step" else "graded: the step times the part held",
        proof=proof,
        mechanism=_rule(credit_cap=1.0, penalty=penalty),
        mutant=mutant,
        statement="Among nodes with the same credit that release too little, the one that holds more is punished more, "
        "unless both then stand at the floor.",
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        ratios = ("0", "1/4", "1/2", "37/50")
        runs = [_exactly(judged, [[["1"]]] * 2, [[r]] * 2) for r in ratios]
        psi = [run.credit_factor[1][0] for run in runs]
        grows = all(a < b for a, b in zip(psi, psi[1:], strict=False))
        rng, more = stream(effort.seed, 7), stream(effort.seed, 8)
        count = max(50, effort.evaluations // 40)
        wrong = clipped = 0
        for _ in range(count):
            low, high = np.sort(rng.uniform(0, 0.74, 2))
            before = more.integers(0, 5, int(more.integers(0, 4))) / 4  # ratios of phases that bring down the credit
            run = _opened(more, judged).run(
                np.ones((len(before) + 1, 2, 1)), None, [*([r, r] for r in before), [low, high]]
            )
            worse, better = run.final_credit
            floored = worse == better == run.rule.credit_floor
            if not run.complied[-1].any():  # at zero nothing is held
                clipped, wrong = clipped + floored, wrong + (not floored and not worse < better)
        text = f"psi is 1 and, after a phase with ratios {in_words(ratios)} ({in_words(_TENTHS)}), {in_words(psi)}."
        if not grows:
            return Evidence.of(Part(False, "witness", text, count))
        text += (f" {count} random pairs of ratios, after random phases under random steps and floors: {wrong} "
                 f"exceptions, {clipped} pairs with both at the floor.")
        return Evidence.of(Part(wrong == 0, "numbers", text, count))


_larger_penalty("step", None, _rule(credit_cap=1.0, penalty="graded"))
_larger_penalty("graded", "prop-cbdrf-graded", _rule(credit_cap=1.0, penalty="step"))

@claim(
    id="cbdrf.penalty.phases",
    locator="Section 3.1",
    kind="statement",
    variant="the number of phases in a row, credit never above C_0",
    statement="Among nodes that were in good standing before they began to fail and have failed in every phase since, "
    "the one that has failed in more of them is punished more, unless both stand at the floor.",
    proof="thm-cbdrf-2",
    mechanism=WITH_CAP,
    mutant=MEMORYLESS,
)
def _penalty_by_phases(effort: Effort, subject: Mechanism) -> Evidence:
    psi = []
    for failures in range(6):
        released = [["1"]] * (6 - failures) + [["0"]] * failures
        psi.append(_exactly(subject, [[["1"]]] * 7, [*released, ["1"]]).credit_factor[6][0])
    falls = all(b < a for a, b in zip(psi, psi[1:], strict=False))
    text = f"psi in phase 7 after 0 to 5 failures in a row: {in_words(psi)}."
    rows = Part(falls, "numbers" if falls else "witness", text, 6)
    return Evidence.of(rows, _watched(_more_in_a_row, effort, subject, "More failures in a row leave less"))


def _more_in_a_row(subject: Mechanism, demands: Any, released: Any) -> str | None:
    """Compare what failures in all of the last phases, begun in good standing, leave of credits."""
    run: CreditRun = subject.run(demands, None, released)
    T, n = run.tasks.shape
    rows = []
    for i in range(n):
        failures = 0
        while failures < T and not run.complied[T - 1 - failures, i]:
            failures += 1
        if run.credit_factor[T - failures, i] == 1 if failures else run.final_credit[i] >= 1:
            rows.append((failures, run.final_credit[i]))
    for (few, higher), (many, lower) in product(rows, rows):
        if few < many and not (lower < higher or higher <= run.rule.credit_floor):
            return f"{few} failures in a row leave the credit {higher:.3g}, {many} leave {lower:.3g}"
    return None


_about_a_phase(
    "theorem_4.literally",
    "Theorem 4",
    "No node would rather have the bundle of another.",
    _LITERAL_EF,
    mutant=DRF,
    solver="envy_freeness",
    variant="any records",
)
_about_a_phase(
    "theorem_4.equal_records",
    "Theorem 4",
    "Where all nodes have the same psi, no node would rather have the bundle of another.",
    _LITERAL_EF,
    mutant=_broken("by_tasks"),
    records=equal_records,
    variant="equal records",
    proof="thm-cbdrf-4",
    zeros=True,
)
_about_a_phase(
    "theorem_4.justified",
    "Theorem 4",
    "No node would rather have the bundle of one whose record is no better.",
    justified_envy_freeness,
    mutant=_broken("inverse"),
    solver="justified_envy_freeness",
    variant="towards nodes with no better record",
    proof="thm-cbdrf-4",
    zeros=True,
)
_about_a_phase(
    "theorem_5.phase",
    "Theorem 5",
    "Credits given, no claim about its demand lets a node run more of its true tasks.",
    None,
    mutant=_broken("by_tasks"),
    solver="strategy_proofness",
    variant="within a phase",
    proof="thm-cbdrf-5",
    zeros=True,
)


def _lying_pays(
    rng: np.random.Generator, needless: bool, subject: Mechanism, demands: Any, released: Any
) -> str | None:
    """Let node 0 lie in some phases and look for one in which it runs more true tasks.

    It claims something in each phase in which it needs something; ``needless``: now and then in others, too.
    """
    truth = demands[:, 0]
    honest: CreditRun = subject.run(demands, None, released)
    needs = truth.any(axis=1)
    for _ in range(4):
        lies = (needs | needless) & (rng.random(len(truth)) < rng.choice([0.2, 0.5, 1.0]))
        claims = rng.integers(0, 9, truth.shape) / 8
        claims[~claims.any(axis=1)] = 1
        claimed = demands.copy()
        claimed[lies, 0] = claims[lies]
        lying: CreditRun = subject.run(claimed, None, released)
        bundle = lying.tasks[:, [0]] * claimed[:, 0]
        true = np.where(truth > 0, bundle / np.where(truth > 0, truth, 1), np.inf).min(axis=1)
        more = np.flatnonzero(needs & (true > honest.tasks[:, 0] * (1 + 1e-9)))
        if more.size:
            return f"a lie raises the true tasks of node 0 in phase {more[0]} to {true[more[0]]:.4g}"
    return None


class _Lie(NamedTuple):
    """A lie of the first of two nodes over some phases, by hand: who needs what, what it claims, who releases what."""

    demands: list[Any]
    claimed: list[Any]
    released: list[str]
    terms: dict[str, Any]
    told: str


_WAITING = _Lie(
    [[["1", "1/4"], ["1/4", "1"]], [["1/4", "1/4"], ["1", "1/4"]]],
    [["1/4", "1/4"], ["1/4", "1/4"]],
    ["1", "0"],
    {},
    "the second holds all it got. The first claims (1/4, 1/4) in phase 1",
)
_AT_ZERO = _Lie(
    [[["0"], ["1"]], [["1"], ["1"]], [["1/100"], ["1"]]],
    [["1"], ["1"], ["1/100"]],
    ["0", "1"],
    {"step_down": 1.0},
    "step down C_0; the first never releases. It claims 1 in phase 1, fails and stands at zero in phase 2, so that it "
    "holds nothing there and complies,",
)


def _over_phases(
    name: str, variant: str, claims: str, subject: Mechanism, mutant: Mechanism, *, lie: _Lie | None = None
) -> None:
    """Register a statement about lies in any phases: a ``lie`` that pays by hand, or a proof."""

    @claim(
        id=f"cbdrf.theorem_5.phases.{name}",
        locator="beyond the paper (Theorem 5)",
        kind="extension",
        variant=f"tasks over several phases, {variant}",
        proof="thm-cbdrf-5" if lie is None else None,
        mechanism=subject,
        mutant=mutant,
        statement=f"Release ratios given, no claims let a node that claims something {claims} in which it needs "
        f"something run more of its true tasks {'in any phase' if lie is None else 'in all'}.",
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        test = partial(_lying_pays, stream(effort.seed, 10), claims == _AT_LEAST)
        found = _watched(test, effort, judged, "No lies pay")
        if lie is not None and found.holds is False:
            claimed = [[mine, *theirs] for mine, (_, *theirs) in zip(lie.claimed, lie.demands, strict=True)]
            terms = replace(judged, run=partial(judged.run, **lie.terms))
            ratios = [lie.released] * len(lie.demands)
            before, after = (
                [row[0] for row in _exactly(terms, demands, ratios).tasks] for demands in (lie.demands, claimed)
            )
            for t, (mine, told) in enumerate(zip(lie.demands, lie.claimed, strict=True)):
                needs = [(Fraction(c), Fraction(d)) for c, d in zip(told, mine[0], strict=True) if Fraction(d) > 0]
                after[t] *= min((c / d for c, d in needs), default=Fraction(0))
            found = Part(
                sum(after) <= sum(before),
                "witness",
                f"Two nodes, demands {in_words(lie.demands)} phase by phase; {lie.told} and runs {in_words(after)} = "
                f"{sum(after)} true tasks instead of {in_words(before)} = {sum(before)}.",
                found.size,
            )
        return Evidence.of(found)


_EXACTLY, _AT_LEAST = "in exactly the phases", "at least in the phases"
_FLOOR, _NO_FLOOR = (_rule(credit_cap=1.0, credit_floor=floor) for floor in (0.05, 0.0))
_STAYS = _rule(held="stays", credit_cap=1.0)
_over_phases("returns", "what is held returns", _EXACTLY, WITH_CAP, _STAYS)
_over_phases("floor", "what is held returns, floor above 0", _AT_LEAST, _FLOOR, _NO_FLOOR)
_over_phases("needless", "what is held returns, floor 0", _AT_LEAST, _NO_FLOOR, _FLOOR, lie=_AT_ZERO)
_over_phases("stays", "what is held stays", _EXACTLY, _STAYS, WITH_CAP, lie=_WAITING)


@claim(
    id="cbdrf.theorem_5.sitting_out",
    locator="beyond the paper (Theorem 5)",
    kind="extension",
    variant="tasks over several phases, claims of nothing, what is held returns",
    statement="Release ratios given, no claim about its demand lets a node run more of its true tasks in all.",
    mechanism=WITH_CAP,
    mutant=MEMORYLESS,
)
def _sitting_out(effort: Effort, subject: Mechanism) -> Evidence:
    small, nothing = Fraction(1, 100), Fraction(0)
    ratios = [["0", "1"]] * 2
    honest, lying = (
        [row[0] for row in _exactly(subject, [[[first], ["1"]], [[small], [small]]], ratios).tasks]
        for first in (Fraction(1), nothing)
    )
    holds = sum(lying) <= sum(honest)
    return Evidence.of(
        Part(
            holds,
            "numbers" if holds else "witness",
            f"Two nodes, one resource, demands 1 and then 1/100; the first never releases. It runs {in_words(honest)} "
            f"tasks if it is honest and {in_words(lying)} if it claims nothing in phase 1: who is granted nothing "
            "holds nothing, and so complies.",
            1,
        )
    )


def _ratio_reading(reading: str, words: str, claimed: list[Any], released: list[str], told: str) -> None:
    @claim(
        id=f"cbdrf.ratio_reading.{reading}",
        locator="beyond the paper (equation (5))",
        kind="theorem",
        variant=words,
        statement="A node that holds all it got of a resource that it needs counts as failing to release.",
        mechanism=_rule(ratio=reading, credit_cap=1.0),
        mutant=_rule(ratio="least", credit_cap=1.0),
    )
    def _check(effort: Effort, subject: Mechanism) -> Evidence:
        psi = [row[0] for row in _exactly(subject, [[claimed]] * 3, [[released]] * 3).credit_factor]
        fails = psi[1] < 1
        text = f"{told}: psi is {in_words(psi)} in phases 1 to 3."
        return Evidence.of(Part(fails, "numbers" if fails else "witness", text, 1))


_ratio_reading(
    "mean",
    "the ratio is the mean over resources",
    ["1", Fraction(1, 100), Fraction(1, 100), Fraction(1, 100)],
    ["0", "1", "1", "1"],
    "A node that needs only the first of four resources claims 1/100 of each other, releases those and holds the first",
)
_ratio_reading(
    "dominant",
    "the ratio is that of the dominant resource",
    ["1", Fraction(101, 100)],
    ["0", "1"],
    "A node that needs (1, 99/100) claims (1, 101/100), releases the second resource and holds the first",
)


_about_a_phase(
    "theorem_6.literally",
    "Theorem 6",
    "No allocation of the pool gives one node more and none less.",
    _LITERAL_PE,
    mutant=WEIGHTED,
    solver="pareto_optimality",
    variant="any records",
)
_about_a_phase(
    "theorem_6.all_good",
    "Theorem 6",
    "Where every psi is 1, no allocation of the pool gives one node more and none less.",
    _LITERAL_PE,
    mutant=_broken("wasted"),
    solver="pareto_optimality_all_in_good_standing",
    records=all_good,
    variant="all in good standing",
    proof="thm-cbdrf-6",
    zeros=True,
)

# ------------------------------------------------------------------------------------------------ Table 1, cell by cell

COLUMNS = {"drf": DRF, "scaled": SCALED, "weighted": WEIGHTED, "capped": CAPPED, "karma": KARMA}
HEADS = {
    "drf": "DRF",
    "scaled": "cbDRF as printed",
    "weighted": "cbDRF, weighted",
    "capped": "cbDRF, capped",
    "karma": "Karma",
}
ROWS = {
    "sharing_incentive": "sharing incentive",
    "envy_freeness": "envy-freeness",
    "strategy_proofness": "strategy-proofness",
    "pareto_efficiency": "Pareto efficiency",
    "punitive_allocation": "punitive allocation",
    "release_incentive": "release incentive, credit without a cap",
    "release_incentive_cap": "release incentive, credit never above C_0",
}
#: What the paper's text implies for Table 1, whose cells are lost: row to (DRF, cbDRF).
PRINTED_TABLE = {
    "sharing_incentive": (True, True),
    "envy_freeness": (True, True),
    "strategy_proofness": (True, True),
    "pareto_efficiency": (True, True),
    "punitive_allocation": (False, True),
    "release_incentive": (False, True),
    "release_incentive_cap": (False, True),
}
def _where(column: str) -> str:
    return "Table 1" if column in ("drf", "scaled") else "beyond the paper (Table 1)"


def _cell(row: str, column: str, statement: str, check: Check | None, solver: str, mutant: Mechanism,
          proofs: dict[str, str]) -> None:
    _about_a_phase(
        f"table_1.{row}.{column}",
        _where(column),
        statement,
        check,
        subject=COLUMNS[column],
        mutant=mutant,
        solver=solver,
        kind="statement",
        variant=HEADS[column],
        proof=proofs.get(column),
        zeros=column == "drf" or (check is None and column != "karma"),
        sample=check is None and column == "capped",
    )


_CELLS: tuple[tuple[str, str, Check | None, str, dict[str, str]], ...] = (
    ("sharing_incentive", "Every node runs at least what it could alone on an equal part of the pool.", _LITERAL_SI,
     "sharing_incentive", {"drf": "thm-foundations-si"}),
    ("envy_freeness", "No node would rather have the bundle of another.", _LITERAL_EF, "envy_freeness",
     {"drf": "thm-foundations-ef"}),
    ("strategy_proofness", "Credits given, no claim about its demand lets a node run more true tasks in the phase.",
     None, "strategy_proofness",
     {"drf": "thm-foundations-sp", "karma": "prop-cbdrf-karma"} | dict.fromkeys(("scaled", "weighted", "capped"),
                                                                              "thm-cbdrf-5")),
    ("pareto_efficiency", "Where some psi is positive, no allocation of the pool gives one node more and none less.",
     _LITERAL_PE, "pareto_optimality_someone_with_credit",
     {"drf": "thm-foundations-po", "weighted": "prop-cbdrf-weighted-pe", "karma": "prop-cbdrf-karma"}),
)  # fmt: skip
_MUTANTS: dict[tuple[str, str], Mechanism] = {
    **{("sharing_incentive", c): DRF for c in COLUMNS},
    ("sharing_incentive", "drf"): _broken("by_sum"),
    **{("envy_freeness", c): DRF for c in COLUMNS},
    ("envy_freeness", "drf"): _broken("by_tasks"),
    **{("strategy_proofness", c): _broken("by_tasks") for c in COLUMNS},
    ("strategy_proofness", "capped"): _broken("capped_at_drf"),
    **{("pareto_efficiency", c): WEIGHTED for c in COLUMNS},
    ("pareto_efficiency", "karma"): _broken("wasted"),
    ("pareto_efficiency", "drf"): _broken("wasted"),
    ("pareto_efficiency", "weighted"): _broken("wasted"),
}
for _row, _statement, _test, _solver, _proofs in _CELLS:
    for _column in COLUMNS:
        _cell(_row, _column, _statement, _test, _solver, _MUTANTS[_row, _column], _proofs)


def _tenth(like: Any) -> Any:
    return Fraction(1, 10) if isinstance(like, Fraction) else 0.1


def _two_credits(row: str, credit: Any) -> tuple[Any, Any]:
    """Two credits of a node, over C_0, that its conduct decides between: the worse and the better one."""
    if row == "punitive_allocation":
        return credit, max(credit, credit * 0 + 1)
    low, high = max(credit * 0, credit - _tenth(credit)), credit + _tenth(credit)
    return low, high if row == "release_incentive" else min(1, high)


def _rewarded(row: str, subject: Mechanism, company: bool) -> Check:
    """Margin: how much more each node gets with the better of two credits; ``company``: beside others with credit."""

    def check(allocation: Allocation, credit: Any) -> Any:
        exact = allocation.tasks.dtype == object
        rule = exact_rule(subject) if exact else subject.run
        assert rule is not None
        margins = []
        for i in range(len(credit)):
            low, high = _two_credits(row, credit[i])
            if low < high and (not company or np.delete(credit, i).any()):
                psi = np.minimum(credit, 1)
                psi[i] = min(low, 1)
                margins.append(_strictly(gain_from_record(rule, allocation.demands, psi, i, min(high, 1))))
        return np.array(margins or [np.inf])

    return check


def _credit_cell(row: str, column: str, statement: str, proof: str | None, terms: str = "") -> None:
    """Register a cell about what a better credit brings; ``row`` says which two credits are compared."""
    company = column == "weighted"  # alone, or where nobody needs the same, a weight decides nothing
    where = " (two nodes or more, another with credit, positive demands)." if company else "."

    @claim(
        id=f"cbdrf.table_1.{row}.{column}",
        locator=_where(column),
        kind="statement",
        variant=HEADS[column] + terms,
        statement=statement + where,
        proof=proof,
        mechanism=COLUMNS[column],
        mutant=replace(COLUMNS[column], name=f"{column}, with a cap") if row == "release_incentive" else DRF,
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        compared = "release_incentive_cap" if judged.name.endswith("with a cap") else row
        records = _as_it_is if compared == "release_incentive" else any_record
        test = _rewarded(compared, judged, company)

        def run(demands: Any, credit: Any) -> Allocation:
            return judged.run(demands, np.minimum(credit, 1))

        def told(i: Instance) -> str:
            credit, rule = records(i.weights), exact_rule(judged)
            assert rule is not None
            for node in range(len(credit)):
                low, high = _two_credits(compared, credit[node])
                tasks = []
                for one in (low, high):
                    psi = np.minimum(credit, 1)
                    psi[node] = min(one, 1)
                    tasks.append(rule(i.demands, psi).tasks[node])
                if low < high and tasks[0] >= tasks[1]:
                    return f"node {node + 1} gets {tasks[0]} with credit {low} and {tasks[1]} with {high}"
            return "no node gains"

        zeros = not company
        small = sampler(users=(2 if company else 1, 4), resources=(1, 3), zeros=zeros)  # two allocations a node
        tried = replace(judged, run=run, zeros=zeros)
        parts = [attacked(test, effort, tried, records, strict=True, sample=small, explain=told)]
        if row == "punitive_allocation":
            parts += solved("punitive_in_company", effort, judged)
        return Evidence(tuple(parts))


def _as_it_is(weights: Any) -> Any:
    return weights


_PUNITIVE = "gets fewer tasks than with a clean record, all else equal"
_RELEASE = "A node that releases enough in a phase gets more tasks in the next than if it had not, all else equal"


def _blind_cell(row: str, column: str, statement: str) -> None:
    """Register a cell about releases for a mechanism that does not see them."""

    @claim(
        id=f"cbdrf.table_1.{row}.{column}",
        locator=_where(column),
        kind="statement",
        variant=HEADS[column],
        statement=f"{statement}.",
        mechanism=Mechanism(column, _second_phase[column]),
        mutant=Mechanism("scaled", _second_phase["scaled"]),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        held, released = (judged.run(ratio) for ratio in (0.0, 1.0))
        more = bool(released > held)
        return Evidence.of(
            Part(
                more,
                "numbers" if more else "witness",
                f"Two nodes want all of one resource in two phases; the first has {held:.3g} of it in phase 2 if it "
                f"releases nothing after phase 1, and {released:.3g} if it releases all.",
                2,
            )
        )


_ONES = np.ones((2, 2, 1))
#: Tasks of node 0 in phase 2, from what it releases after phase 1; DRF and Karma are told nothing of that.
_second_phase: dict[str, Callable[[float], float]] = {
    "drf": lambda ratio: float(drf(_ONES[1]).tasks[0]),
    "karma": lambda ratio: float(karma(_ONES).tasks[1, 0]),
    "scaled": lambda ratio: float(cbdrf(_ONES, None, released=[ratio, 1.0]).tasks[1, 0]),
}
for _column in ("scaled", "weighted", "capped"):
    _credit_cell("punitive_allocation", _column, f"A node with psi < 1 {_PUNITIVE}",
                 "prop-cbdrf-weighted-punitive" if _column == "weighted" else "thm-cbdrf-3")  # fmt: skip
    _credit_cell("release_incentive", _column, _RELEASE, None, ", credit without a cap")
    _credit_cell("release_incentive_cap", _column, _RELEASE, "prop-cbdrf-monotone", ", credit never above C_0")
for _column in ("drf", "karma"):
    _blind_cell("punitive_allocation", _column, f"A node that failed to release {_PUNITIVE}")
    _blind_cell("release_incentive", _column, _RELEASE)


# ----------------------------------------------------------------------------------------- in which sense each holds

SENSES: dict[str, str] = {
    "good_standing": "sharing incentive for nodes in good standing",
    "by_record": "sharing incentive times psi",
    "justified": "envy-freeness towards nodes with no better record",
    "pareto": "Pareto efficiency where someone is in good standing",
}


def _sense(row: str, column: str, statement: str, check: Check, solver: str | None, mutant: Mechanism,
           proof: str | None, records: Records = any_record) -> None:
    _about_a_phase(
        f"sense.{row}.{column}",
        "beyond the paper (Table 1)",
        statement,
        check,
        subject=COLUMNS[column],
        mutant=mutant,
        solver=solver,
        records=records,
        kind="extension",
        variant=HEADS[column],
        proof=proof,
        sample=column == "capped",
        zeros=row != "pareto" and column != "karma",
    )


_PROOFS = {
    "scaled": {
        "good_standing": "prop-cbdrf-scaled-si",
        "by_record": "prop-cbdrf-scaled-si",
        "justified": "thm-cbdrf-4",
    },
    "weighted": {
        "good_standing": "prop-cbdrf-weighted-si",
        "by_record": "prop-cbdrf-weighted-si",
        "justified": "thm-cbdrf-4",
        "pareto": "prop-cbdrf-weighted-pe",
    },
    "capped": dict.fromkeys(("good_standing", "by_record", "justified", "pareto"), "thm-cbdrf-capped"),
    "karma": dict.fromkeys(("good_standing", "justified", "pareto"), "prop-cbdrf-karma"),
}
_INVERSE = _broken("inverse")
for _column in ("scaled", "weighted", "capped", "karma"):
    _richest = "A user with the largest credit, of at least 1," if _column == "karma" else "Every node with psi = 1"
    _sense("good_standing", _column, f"{_richest} runs at least what it could alone on an equal part.",
           sharing_incentive_in_good_standing, "sharing_incentive_good_standing", _INVERSE,
           _PROOFS[_column].get("good_standing"), someone_good if _column == "karma" else any_record)  # fmt: skip
    if _column != "karma":  # its credit is not a part of anything
        _sense("by_record", _column, "Every node runs at least psi times what it could alone on an equal part.",
               sharing_incentive_by_record, "sharing_incentive_scaled_by_record", _INVERSE,
               _PROOFS[_column].get("by_record"))  # fmt: skip
    _other = "with no more credit" if _column == "karma" else "whose record is no better"
    _sense("justified", _column, f"No node would rather have the bundle of one {_other}.",
           justified_envy_freeness, "justified_envy_freeness", _INVERSE, _PROOFS[_column].get("justified"))  # fmt: skip
    _where_some = "some credit is at least 1" if _column == "karma" else "some psi is 1"
    _sense("pareto", _column, f"Where {_where_some}, no allocation of the pool gives one node more and none less.",
           _LITERAL_PE, "pareto_optimality_someone_in_good_standing", _broken("wasted") if _column != "scaled" else
           WEIGHTED, _PROOFS[_column].get("pareto"), someone_good)  # fmt: skip


def _asks_for_nothing(subject: Mechanism, demands: Any, released: Any) -> str | None:
    """A user that claims nothing in phase 1 has more in phase 2 than if it had claimed without bound."""
    two = demands[:2]
    if two.shape[1] < 2:
        return None
    needs = np.full(two.shape[:2], np.inf)
    asked = subject.run(two, None, needs).tasks[1, 0]
    needs[0, 0] = 0
    modest = subject.run(two, None, needs).tasks[1, 0]
    return None if modest > asked * (1 + 1e-12) else f"node 0 then has {modest:.4g}, not more than {asked:.4g}"


class _Again(NamedTuple):
    """DRF in each phase, with the attribute that Karma's runs have."""

    tasks: Any


@claim(
    id="cbdrf.karma.memory",
    locator="beyond the paper (Table 1)",
    kind="extension",
    variant="Karma, equal and ample credits, unlimited needs of the others",
    statement="A user that claims nothing in a phase gets more tasks in the next than if it had claimed without bound "
    "(two users or more, positive demands).",
    proof="prop-cbdrf-karma",
    mechanism=Mechanism("karma", karma),
    mutant=Mechanism("drf", lambda d, c, needs: _Again(np.stack([drf(d[0]).tasks, drf(d[1]).tasks]))),
)
def _karma_remembers(effort: Effort, subject: Mechanism) -> Evidence:
    return Evidence.of(_watched(_asks_for_nothing, effort, subject, "Asking for nothing brings more next time"))


_WORDS = {"holds": "yes", "refuted": "no", "undetermined": "open"}


def _words(verdicts: pd.Series, key: str) -> str:
    return _WORDS.get(verdicts[key], verdicts[key]) if key in verdicts.index else "-"


def _asked(row: str, column: str) -> str:
    """Give the row whose claim answers a cell: what has no credit has no cap on it."""
    return row.removesuffix("_cap") if column in ("drf", "karma") else row


def table_1() -> pd.DataFrame:
    """Give Table 1 as computed: one row a property, one column a mechanism, from the stored ledger.

    Returns
    -------
    DataFrame
        Columns ``property``, what the paper's text implies for DRF and for cbDRF, then one a mechanism: "yes" where
        the cell's claim holds, "no" where it is refuted.
    """
    verdicts = ledger(paper="cbdrf").set_index("id")["verdict"]
    rows = []
    for row, said in PRINTED_TABLE.items():
        cells = {HEADS[c]: _words(verdicts, f"cbdrf.table_1.{_asked(row, c)}.{c}") for c in COLUMNS}
        printed = ", ".join("yes" if yes else "no" for yes in said)
        rows.append({"property": ROWS[row], "paper: DRF, cbDRF": printed, **cells})
    return pd.DataFrame(rows)


def table_senses() -> pd.DataFrame:
    """Give for each mechanism under credit the sense in which each property holds, from the stored ledger.

    Returns
    -------
    DataFrame
        Columns ``property``, then one a mechanism, in the words of :func:`table_1`; "-" where a sense does not apply.
    """
    verdicts = ledger(paper="cbdrf").set_index("id")["verdict"]
    columns = ("scaled", "weighted", "capped", "karma")
    return pd.DataFrame(
        {"property": words, **{HEADS[c]: _words(verdicts, f"cbdrf.sense.{row}.{c}") for c in columns}}
        for row, words in SENSES.items()
    )


# ------------------------------------------------------------------------------------------- the repaired mechanisms


def _at_least_drf(allocation: Allocation, factor: Any) -> Any:
    """Margin: by which part nodes in good standing stand above their DRF amount."""
    exact = allocation.tasks.dtype == object
    whole = EXACT_PHASES["drf"](allocation.demands, factor) if exact else drf(allocation.demands)
    good = factor == 1
    return (allocation.tasks / whole.tasks - 1)[good] if good.any() else np.array([np.inf])


def _exactly_capped(allocation: Allocation, factor: Any) -> Any:
    """Margin: minus the distance of punished nodes from psi times an equal split, in equal splits."""
    share = (allocation.demands / allocation.capacities).max(axis=1)
    part = allocation.tasks * share * len(factor)
    return -np.abs(part - factor)[factor < 1] if (factor < 1).any() else np.array([np.inf])


def _same_as_drf(allocation: Allocation, factor: Any) -> Any:
    exact = allocation.tasks.dtype == object
    whole = EXACT_PHASES["drf"](allocation.demands, factor) if exact else drf(allocation.demands)
    return -np.abs(allocation.tasks / whole.tasks - 1)


_REPAIRED = partial(_about_a_phase, kind="extension", proof="thm-cbdrf-capped", subject=CAPPED, sample=True)
_REPAIRED(
    "repaired.at_least_drf",
    "beyond the paper (repair)",
    "A node in good standing gets at least what DRF would give it.",
    _at_least_drf,
    mutant=_INVERSE,
    solver="never_below_drf_in_good_standing",
    variant=HEADS["capped"],
)
_REPAIRED(
    "repaired.exact_cap",
    "beyond the paper (repair)",
    "A punished node gets exactly psi times what it could run alone on an equal part of the pool.",
    _exactly_capped,
    mutant=SCALED,
    variant=HEADS["capped"],
    zeros=True,
)
_REPAIRED(
    "repaired.below_drf",
    "beyond the paper (repair)",
    "A punished node gets less than DRF would give it.",
    _below_drf,
    mutant=DRF,
    solver="punished_below_drf",
    variant=HEADS["capped"],
    zeros=True,
)
_REPAIRED(
    "repaired.within_caps",
    "beyond the paper (repair)",
    "Among the allocations that leave punished nodes no more than they have, it is Pareto efficient for any records.",
    pareto_optimality_within_caps,
    mutant=_broken("wasted"),
    variant=HEADS["capped"],
    zeros=True,
)
_REPAIRED(
    "repaired.clean",
    "beyond the paper (repair)",
    "Where all are in good standing it is DRF.",
    _same_as_drf,
    mutant=_broken("by_sum"),
    solver="clean_records_as_drf",
    records=all_good,
    variant=HEADS["capped"],
    zeros=True,
)
_about_a_phase(
    "weighted.below_drf",
    "beyond the paper (repair)",
    "A punished node gets less than DRF would give it.",
    _below_drf,
    subject=WEIGHTED,
    mutant=SCALED,
    solver="punished_below_drf",
    kind="extension",
    variant=HEADS["weighted"],
)
_about_a_phase(
    "weighted.equal_records",
    "beyond the paper (repair)",
    "Where all records are equal it is DRF: nobody is punished.",
    _same_as_drf,
    subject=WEIGHTED,
    mutant=SCALED,
    solver="equal_records_as_drf",
    records=equal_records,
    kind="extension",
    variant=HEADS["weighted"],
    proof="prop-cbdrf-weighted-punitive",
)
_about_a_phase(
    "tempting_cap",
    "beyond the paper (repair)",
    "With the cap at psi times the DRF amount, no claim about its demand lets a node run more true tasks.",
    None,
    subject=Mechanism("capped_at_drf", PHASE_MUTANTS["capped_at_drf"], smt="capped_at_drf"),
    mutant=CAPPED,
    solver="strategy_proofness",
    kind="extension",
    variant="cap at psi times the DRF amount",
)


# ------------------------------------------------------------------------------------------------ release as a choice


@claim(
    id="cbdrf.release.threshold",
    locator="beyond the paper (Corollary 1)",
    kind="extension",
    variant="as printed, credit never above C_0, floor 0, step down at most C_0",
    statement="Releasing rho > 0 in every phase is a best response exactly while the worth of holding is at most "
    "P / (rho - (1 - rho) P), and always where rho <= (1 - rho) P.",
    proof="thm-cbdrf-release",
    mechanism=Mechanism("scaled", worth_threshold),
    mutant=Mechanism(
        "the loss of one phase only",
        lambda rule, discount: worth_threshold(replace(rule, step_up=rule.initial_credit), discount=discount),
    ),
)
def _threshold(effort: Effort, subject: Mechanism) -> Evidence:
    rng = stream(effort.seed, 9)
    count = 20 if effort.name == "quick" else 200
    worst, same = 0.0, 0
    for _ in range(count):
        down = int(rng.integers(1, 21))
        rule = CreditRule(
            rho=int(rng.integers(1, 21)) / 20,
            step_down=down / 20,
            step_up=int(rng.integers(1, down + 1)) / 20,
            credit_cap=1.0,
        )
        discount = float(rng.choice([0.5, 0.9, 0.95]))
        found, closed = largest_worth(rule, discount=discount), subject.run(rule, discount=discount)
        if np.isinf(found) or np.isinf(closed):
            same += found == closed
            continue
        off = abs(found - closed) / (1 + closed)
        worst, same = max(worst, off), same + (off < 1e-7)
    tried = 0
    agree = True
    for worth in (0.1, 0.2, 0.5):
        rule = CreditRule(credit_cap=1.0)
        phases = 4 if effort.name == "quick" else 6
        search = search_release(rule, [[1.0], [1.0]], worth=worth, discount=0.9, phases=phases)
        tried += search.looked_at
        agree &= (search.gain <= 1e-9) == (worth <= subject.run(rule, discount=0.9))
    return Evidence.of(
        Part(
            same == count,
            "numbers",
            f"Dynamic programming agrees for {same} of {count} random rules (rho, both steps, discount), "
            + ("to 1e-7." if same == count else f"the largest difference is {worst:.2g}."),
            count,
        ),
        Part(agree, "search", f"So does playing every sequence of ratios on the mechanism ({tried} phases).", tried),
    )


def _worth_of(
    subject: Mechanism, demands: Any, ratios: list[Fraction], worth: Fraction, discount: Fraction, nodes: int = 1
) -> Fraction:
    """Give exactly what a sequence of ratios is worth to the first node; the others release all."""
    run = _exactly(subject, demands, [[ratio, *[Fraction(1)] * (nodes - 1)] for ratio in ratios])
    terms = (discount**t * row[0] * (1 + worth * (1 - ratios[t])) for t, row in enumerate(run.tasks))
    return sum(terms, Fraction(0))


@claim(
    id="cbdrf.release.banked",
    locator="beyond the paper (equation (6))",
    kind="extension",
    variant="credit without a cap",
    statement="If a held task is worth a tenth, over ten phases known in advance and without discount, a node does "
    "best to release enough in each phase but the last.",
    mechanism=PRINTED,
    mutant=WITH_CAP,
)
def _banked(effort: Effort, subject: Mechanism) -> Evidence:
    found = best_response(CreditRule(**_terms(subject)), worth=0.1, discount=1.0, phases=10)
    sequences = ([Fraction(str(r)) for r in found.ratios.tolist()], [Fraction(3, 4)] * 9 + [Fraction(0)])
    best, honest = (_worth_of(subject, [[["1"]]] * 10, one, Fraction(1, 10), Fraction(1)) for one in sequences)
    return Evidence.of(
        Part(
            best <= honest,
            "numbers" if best <= honest else "witness",
            f"The best strategy by dynamic programming releases {in_words(sequences[0])} and is worth {best} grants; "
            f"releasing 3/4 in nine phases is worth {honest}.",
            found.looked_at,
        )
    )


@claim(
    id="cbdrf.release.changing",
    locator="beyond the paper (Corollary 1)",
    kind="extension",
    variant="demands that change; equal steps, cap C_0, discount 0.99",
    statement="If a held task is worth a twentieth, releasing enough in every phase is a best response.",
    mechanism=Mechanism("large and small phases", lambda: [[[1.0], [1.0]], [[0.1], [0.1]]]),
    mutant=Mechanism("the same in each phase", lambda: [[[1.0], [1.0]], [[1.0], [1.0]]]),
)
def _changing(effort: Effort, subject: Mechanism) -> Evidence:
    demands, rule = subject.run(), CreditRule(credit_cap=1.0)
    found = search_release(rule, demands, worth=0.05, phases=4, tail=20)
    enough = [Fraction(3, 4)] * 20
    chosen = [Fraction(str(r)) for r in found.ratios.tolist()]
    exact = [[[Fraction(str(d)) for d in row] for row in demands[t % 2]] for t in range(24)]
    best, honest = (
        _worth_of(WITH_CAP, exact, [*first, *enough], Fraction(1, 20), Fraction(99, 100), nodes=2)
        for first in (chosen, enough[:4])
    )
    tasks = [[row[0] for row in _exactly(WITH_CAP, exact, [[r, Fraction(1)] for r in (*first, *enough)]).tasks[:6]]
             for first in (chosen, enough[:4])]  # fmt: skip
    return Evidence.of(
        Part(
            best <= honest,
            "numbers" if best <= honest else "witness",
            f"Two nodes share one resource, a task needs {in_words([d[0][0] for d in exact[:2]])} of it in turn. Of "
            "all sequences of 1, 3/4 and 0 over four phases, 3/4 later, the first begins best with "
            f"{in_words(chosen)}: its tasks in phases 1 to 6 are {in_words(tasks[0])} instead of {in_words(tasks[1])}. "
            f"A phase is worth its tasks times 1 + (1 - ratio)/20: in all {float(best - honest):.4f} more than with "
            f"3/4 always. With equal demands the limit is {worth_threshold(rule):.4f}.",
            found.looked_at,
        )
    )


@claim(
    id="cbdrf.release.capped_stronger",
    locator="beyond the paper (repair)",
    kind="extension",
    variant=HEADS["capped"],
    statement="Releasing stays a best response up to at least the worth of holding up to which it is under the printed "
    "grant.",
    proof="prop-cbdrf-capped-release",
    mechanism=Mechanism("capped", partial(CreditRule, grant="capped")),
    mutant=Mechanism("weighted", partial(CreditRule, grant="weighted")),
)
def _capped_stronger(effort: Effort, subject: Mechanism) -> Evidence:
    rng = stream(effort.seed, 11)
    count = 20 if effort.name == "quick" else 100
    least, where = np.inf, ""
    for _ in range(count):
        n, down = int(rng.integers(2, 6)), int(rng.integers(1, 11))
        terms = {"step_down": down / 10, "step_up": int(rng.integers(1, down + 1)) / 10, "credit_cap": 1.0}
        demands, discount = rng.integers(1, 9, (n, 2)) / 8, float(rng.choice([0.5, 0.9]))
        printed = worth_threshold(CreditRule(**terms), discount=discount)  # type: ignore[arg-type]
        found = largest_worth(subject.run(**terms), discount=discount, demands=demands)
        ratio = 1.0 if np.isinf(found) else found / printed
        if ratio < least:
            least = ratio
            where = f", at demands {in_words(demands.tolist())}, {in_words(terms)}, discount {discount}"
    holds = bool(least >= 1 - 1e-7)
    return Evidence.of(
        Part(
            holds,
            "search" if holds else "witness",
            f"{count} random instances and rules: the smallest ratio of the two worths is {least:.4g}{where}.",
            count,
        )
    )


# ---------------------------------------------------------------------------------------------------------- utilisation


def _utilisation(held: str) -> None:
    @claim(
        id=f"cbdrf.utilisation.{held}",
        locator="Sections 1, 2.2",
        kind="statement",
        variant=f"the same behaviour of nodes, what is held {held}",
        statement="cbDRF grants no less of the pool than DRF does.",
        mechanism=_rule(credit_cap=1.0, held=held),
        mutant=_rule(credit_cap=1.0, held=held, grant="capped"),
    )
    def _check(effort: Effort, subject: Mechanism) -> Evidence:
        demands, ratios = [[["1"], ["1"]]] * 2, [["1", "0"]] * 2
        plain = {**_terms(subject), "step_down": 0.0}
        runs = [_exactly(one, demands, ratios) for one in (subject, Mechanism("drf", partial(cbdrf, **plain)))]
        granted = [in_words([tuple(row) for row in run.tasks]) for run in runs]
        totals = [sum(sum(row) for row in run.tasks) for run in runs]
        holds = totals[0] >= totals[1]
        return Evidence.of(
            Part(
                holds,
                "numbers" if holds else "witness",
                f"Two nodes share one resource for two phases ({in_words(_TENTHS)}), the second releases nothing: "
                f"cbDRF grants {granted[0]} of the pool, {totals[0]} in all, and DRF {granted[1]}, {totals[1]} in all.",
                2,
            )
        )


_utilisation("returns")
_utilisation("stays")


@claim(
    id="cbdrf.utilisation.responding",
    locator="Sections 1, 2.2",
    kind="number",
    variant="nodes that release because they are punished otherwise, what is held stays",
    statement="cbDRF grants more of the pool than DRF does to nodes that hold.",
    mechanism=Mechanism("all release", lambda: ["1", "1"]),
    mutant=Mechanism("one holds all the same", lambda: ["1", "0"]),
)
def _responding(effort: Effort, subject: Mechanism) -> Evidence:
    demands = [[["1"], ["1"]]] * 10
    with_credit = _exactly(_rule(credit_cap=1.0, held="stays"), demands, [subject.run()] * 10)
    without = _exactly(_rule(credit_cap=1.0, held="stays", step_down=0.0), demands, [["1", "0"]] * 10)
    granted = [sum(sum(row) for row in run.tasks) / 10 for run in (with_credit, without)]
    return Evidence.of(
        Part(
            granted[0] > granted[1],
            "numbers",
            f"Two nodes, one resource, ten phases: {granted[0]} of the pool per phase, against {granted[1]} "
            "under DRF with a node that releases nothing.",
            10,
        )
    )


# -------------------------------------------------------------------------------------------------------------- figures


def _ratios(*never: bool, until: int = 10) -> Any:
    """Release ratios of ten phases: half, too little, by some nodes up to a phase."""
    released = np.ones((10, len(never)))
    released[:until, np.array(never)] = 0.5
    return released


def _curves(subject: Mechanism, effort: Effort, released: Any) -> tuple[pd.DataFrame, Any]:
    """The study's frame, and the mean ratio over CPU and memory, shape (phases, nodes)."""
    frame = subject.run(released, runs=max(5, effort.runs // 10), seed=effort.seed)
    wide = frame[frame["resource"] == "CPU"].pivot(index="phase", columns="node", values="ratio")
    return frame, wide.to_numpy()


COURSE = Mechanism("cbdrf", study.course)


def _course(**rule: Any) -> Mechanism:
    return Mechanism(", ".join(rule), partial(study.course, **rule))


def _figure_1(name: str, variant: str, subject: Mechanism, mutant: Mechanism) -> None:
    @claim(
        id=f"cbdrf.figure_1{name}",
        locator="Figure 1",
        kind="figure",
        variant=variant,
        mechanism=subject,
        mutant=mutant,
        statement="Whether a node releases enough at the end of a phase acts on later grants, not on earlier ones.",
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        _, base = _curves(judged, effort, _ratios(False))
        acts = 0
        backwards = False
        for phase in range(9):
            released = _ratios(False)
            released[phase] = 0.5
            _, changed = _curves(judged, effort, released)
            differs = np.flatnonzero(changed[:, 0] != base[:, 0])
            acts += differs.size > 0
            backwards |= bool((differs <= phase).any())
        return Evidence.of(
            Part(acts == 9, "numbers", f"{acts} of nine single failures lower a later grant.", 9),
            Part(not backwards, "numbers", "None changes the grant of its own phase or of one before.", 9),
        )


_figure_1(".cap", "credit never above C_0", _course(credit_cap=1.0), COURSE)
_figure_1(".no_cap", "credit without a cap", COURSE, _course(credit_cap=1.0))


def _percent(values: Any) -> str:
    return ", ".join(f"{100 * v:.0f}" for v in values) + " %"


def _in_common(frame: pd.DataFrame) -> Part:
    """CPU and memory fall alike."""
    wide = frame.pivot(index=["phase", "node"], columns="resource", values="ratio")
    gap = float((wide["CPU"] - wide["memory"]).abs().max())
    return Part(gap < 1e-9, "numbers", f"CPU and memory differ by at most {gap:.1g}.", len(wide))


@claim(
    id="cbdrf.figure_2",
    locator="Figure 2",
    kind="figure",
    variant="step down = C_0 / 10, which the figure fixes",
    mechanism=COURSE,
    mutant=_course(step_down=0.05),
    statement="One node that never releases enough: granted / DRF falls from 100 % to 10 % over ten phases, for CPU "
    "and memory alike.",
)
def _figure_2(effort: Effort, subject: Mechanism) -> Evidence:
    frame, ratio = _curves(subject, effort, _ratios(True))
    one = ratio[:, 0]
    return Evidence.of(
        Part(abs(one[0] - 1) < 1e-9, "numbers", f"Computed: {_percent(one)}.", 10),
        Part(abs(one[9] - 0.1) < 1e-9, "numbers", f"At the end {100 * one[9]:.6g} %.", 10),
        Part(bool((np.diff(one) < 0).all()), "numbers", "It falls in every phase.", 9),
        _in_common(frame),
    )


@claim(
    id="cbdrf.figure_3",
    locator="Figure 3",
    kind="figure",
    mechanism=COURSE,
    mutant=_course(step_up=0.0),
    statement="A node that fails to release in five phases and complies from phase 6 on: granted / DRF falls, then "
    "climbs back towards 1.",
)
def _figure_3(effort: Effort, subject: Mechanism) -> Evidence:
    _, ratio = _curves(subject, effort, _ratios(True, until=5))
    one = ratio[:, 0]
    return Evidence.of(
        Part(bool((np.diff(one[:6]) < 0).all()), "numbers", f"Computed: {_percent(one)}.", 10),
        Part(bool((np.diff(one[5:]) > 0).all()), "numbers", "It rises from phase 7 on, after it first complied.", 4),
    )


@claim(
    id="cbdrf.figure_4",
    locator="Figure 4",
    kind="figure",
    mechanism=COURSE,
    mutant=_course(step_down=0.05),
    statement="Two nodes that never release enough: both end at about 10 % of what DRF would give them.",
)
def _figure_4(effort: Effort, subject: Mechanism) -> Evidence:
    frame, ratio = _curves(subject, effort, _ratios(True, True))
    return Evidence.of(
        Part(
            bool((np.abs(ratio[9] - 0.1) < 0.01).all()),
            "numbers",
            f"At the end {_percent(ratio[9])} (about: within 1 %, our limit).",
            2,
        ),
        _in_common(frame),
    )


@claim(
    id="cbdrf.figure_5.returns",
    variant="what is held returns",
    locator="Figure 5",
    kind="figure",
    mechanism=COURSE,
    mutant=_course(grant="weighted"),
    statement="A node that complies gets exactly its DRF amount while one that does not declines.",
)
def _figure_5(effort: Effort, subject: Mechanism) -> Evidence:
    frame, ratio = _curves(subject, effort, _ratios(False, True))
    first = frame[frame["node"] == 1]
    exact = bool((first["granted"] == first["drf"]).all())
    return Evidence.of(
        Part(exact, "numbers", f"Granted and DRF amounts {'' if exact else 'do not '}agree to the bit.", 20),
        Part(bool((np.diff(ratio[:, 1]) < 0).all()), "numbers", f"The second: {_percent(ratio[:, 1])}.", 9),
    )


@claim(
    id="cbdrf.figure_5.stays",
    locator="Figure 5",
    kind="figure",
    variant="what is held leaves the next phase's pool",
    mechanism=_course(credit_cap=1.0, held="stays"),
    mutant=COURSE,
    statement="The node that complies gets no less than DRF would give it from the whole pool.",
)
def _figure_5_stays(effort: Effort, subject: Mechanism) -> Evidence:
    released = _ratios(False, True)
    frame = subject.run(released, runs=5, seed=effort.seed)
    whole = study.course(released, runs=5, seed=effort.seed)
    key = ["phase", "node", "resource"]
    both = frame.merge(whole, on=key, suffixes=("", "_whole"))
    part = (both["granted"] / both["drf_whole"])[both["node"] == 1]
    return Evidence.of(
        Part(
            bool((part >= 1 - 1e-9).all()),
            "numbers",
            f"In the first run it gets between {part.min():.1%} and {part.max():.1%} of that.",
            len(part),
        )
    )


@claim(
    id="cbdrf.figure_5.of_the_moment",
    locator="Figure 5",
    kind="figure",
    variant="what is held leaves the next phase's pool, DRF of what is left",
    mechanism=_course(credit_cap=1.0, held="stays"),
    mutant=_course(credit_cap=1.0, held="stays", grant="weighted"),
    statement="The node that complies gets exactly what DRF would give it.",
)
def _figure_5_of_the_moment(effort: Effort, subject: Mechanism) -> Evidence:
    frame = subject.run(_ratios(False, True), runs=5, seed=effort.seed)
    first = frame[frame["node"] == 1]
    exact = bool((first["granted"] == first["drf"]).all())
    text = f"Granted and DRF amounts {'' if exact else 'do not '}agree to the bit."
    return Evidence.of(Part(exact, "numbers", text, len(first)))
