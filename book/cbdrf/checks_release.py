"""Releasing as a choice under cbDRF, and what punishment does to utilisation."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from book.cbdrf.checks_table import HEADS
from book.cbdrf.histories import NO_CAP, TENTHS, WITH_CAP, by_rule, exactly, terms_of
from book.cbdrf.release import best_response, largest_worth, search_release, worth_threshold
from book.common.claims.registry import Effort, Evidence, Mechanism, Part, claim
from book.common.evidence import computed, in_words, sampled
from fairbook.mechanisms.credit.cbdrf import cbdrf
from fairbook.mechanisms.credit.credit_rule import CreditRule

# ------------------------------------------------------------------------------------------------ release as a choice


@claim(
    id="cbdrf.release.threshold",
    locator="beyond the paper (Corollary 1)",
    kind="extension",
    variant="as printed, credit never above C_0, floor 0, step down at most C_0, the same demands in each phase, what "
    "is held returns",
    statement="Releasing rho in every phase is a best response exactly while the worth of holding is at most "
    "P / (rho - (1 - rho) P), and always where rho <= (1 - rho) P; P, what a failure costs, is the sum over k >= 1 of "
    "g^k max(0, d - (k - 1) u), at a discount g below 1, with steps d down and u up in parts of C_0.",
    proof="thm-cbdrf-release",
    mechanism=Mechanism("scaled", worth_threshold),
    mutant=Mechanism(
        "the loss of one phase only",
        lambda rule, discount: worth_threshold(replace(rule, step_up=rule.initial_credit), discount=discount),
    ),
)
def _threshold(effort: Effort, subject: Mechanism) -> Evidence:
    def off(rng: np.random.Generator, judged: Mechanism, at: int) -> float:
        down = int(rng.integers(1, 21))
        rule = CreditRule(
            rho=int(rng.integers(21)) / 20,
            step_down=down / 20,
            step_up=int(rng.integers(1, down + 1)) / 20,
        )
        discount = float(rng.choice([0.5, 0.9, 0.95]))
        found, closed = largest_worth(rule, discount=discount), judged.run(rule, discount=discount)
        return 0.0 if found == closed else abs(found - closed) / (1 + min(found, closed))

    def said(found: list[float]) -> str:
        told = "to 1e-7." if max(found) < 1e-7 else f"the largest difference is {max(found):.2g}."
        same = sum(one < 1e-7 for one in found)
        return f"Dynamic programming agrees for {same} of {len(found)} random rules (rho, both steps, discount), {told}"

    programmed = sampled(off, effort, subject, key=9, share=100, most=200, right=lambda found: max(found) < 1e-7,
                         said=said)  # fmt: skip
    tried = 0
    agree = True
    for worth in (0.1, 0.2, 0.5):
        rule = CreditRule()
        phases = 4 if effort.name == "quick" else 6
        search = search_release(rule, [[1.0], [1.0]], worth=worth, discount=0.9, phases=phases)
        tried += search.looked_at
        agree &= (search.gain <= 1e-9) == (worth <= subject.run(rule, discount=0.9))
    return Evidence.of(
        programmed,
        Part(agree, "search", f"So does playing every sequence of ratios on the mechanism ({tried} phases).", tried),
    )


def _worth_of(
    subject: Mechanism, demands: Any, ratios: list[Fraction], worth: Fraction, discount: Fraction, nodes: int = 1
) -> Fraction:
    """Give exactly what a sequence of ratios is worth to the first node; the others release all."""
    run = exactly(subject, demands, [[ratio, *[Fraction(1)] * (nodes - 1)] for ratio in ratios])
    terms = (discount**t * row[0] * (1 + worth * (1 - ratios[t])) for t, row in enumerate(run.tasks))
    return sum(terms, Fraction(0))


@claim(
    id="cbdrf.release.banked",
    locator="beyond the paper (equation (6))",
    kind="extension",
    variant="credit without a cap",
    statement="If a held task is worth a tenth, over ten phases known in advance and without discount, a node does "
    "best to release enough in each phase but the last.",
    mechanism=NO_CAP,
    mutant=WITH_CAP,
)
def _banked(effort: Effort, subject: Mechanism) -> Evidence:
    found = best_response(CreditRule(**terms_of(subject)), worth=0.1, discount=1.0, phases=10)
    sequences = ([Fraction(str(r)) for r in found.ratios.tolist()], [Fraction(3, 4)] * 9 + [Fraction(0)])
    best, honest = (_worth_of(subject, [[["1"]]] * 10, one, Fraction(1, 10), Fraction(1)) for one in sequences)
    return Evidence.of(
        computed(
            best <= honest,
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
    demands, rule = subject.run(), CreditRule()
    found = search_release(rule, demands, worth=0.05, phases=4, tail=20)
    enough = [Fraction(3, 4)] * 20
    chosen = [Fraction(str(r)) for r in found.ratios.tolist()]
    exact = [[[Fraction(str(d)) for d in row] for row in demands[t % 2]] for t in range(24)]
    best, honest = (
        _worth_of(WITH_CAP, exact, [*first, *enough], Fraction(1, 20), Fraction(99, 100), nodes=2)
        for first in (chosen, enough[:4])
    )
    tasks = [[row[0] for row in exactly(WITH_CAP, exact, [[r, Fraction(1)] for r in (*first, *enough)]).tasks[:6]]
             for first in (chosen, enough[:4])]  # fmt: skip
    return Evidence.of(
        computed(
            best <= honest,
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
    variant=f"{HEADS['capped']}, credit never above C_0, floor 0, step down at most C_0, the same demands in each "
    "phase, what is held returns",
    statement="Releasing stays a best response up to at least the worth of holding up to which it is under the printed "
    "grant.",
    proof="prop-cbdrf-capped-release",
    mechanism=Mechanism("capped", partial(CreditRule, grant="capped")),
    mutant=Mechanism("weighted", partial(CreditRule, grant="weighted")),
)
def _capped_stronger(effort: Effort, subject: Mechanism) -> Evidence:
    def ratio(rng: np.random.Generator, judged: Mechanism, at: int) -> tuple[float, str]:
        n, down = int(rng.integers(2, 6)), int(rng.integers(1, 11))
        terms = {"step_down": down / 10, "step_up": int(rng.integers(1, down + 1)) / 10}
        demands, discount = rng.integers(1, 9, (n, 2)) / 8, float(rng.choice([0.5, 0.9]))
        printed = worth_threshold(CreditRule(**terms), discount=discount)  # type: ignore[arg-type]
        found = largest_worth(judged.run(**terms), discount=discount, demands=demands)
        where = f", at demands {in_words(demands.tolist())}, {in_words(terms)}, discount {discount}"
        return 1.0 if np.isinf(found) else found / printed, where

    def least(found: list[tuple[float, str]]) -> tuple[float, str]:
        return min(found, key=lambda one: one[0])

    part = sampled(
        ratio, effort, subject, key=11, share=100, most=100, grade="search",
        right=lambda found: least(found)[0] >= 1 - 1e-7,
        said=lambda found: f"{len(found)} random instances and rules: the smallest ratio of the two worths is "
        f"{least(found)[0]:.4g}{least(found)[1]}.",
    )  # fmt: skip
    return Evidence.of(part if part.holds else replace(part, grade="witness"))


# ---------------------------------------------------------------------------------------------------------- utilisation


def _utilisation(held: str) -> None:
    @claim(
        id=f"cbdrf.utilisation.{held}",
        locator="beyond the paper (Section 2.2)",
        kind="statement",
        variant=f"the same behaviour of nodes, what is held {held}",
        statement="cbDRF grants no less of the pool than DRF does.",
        mechanism=by_rule(held=held),
        mutant=by_rule(held=held, grant="capped"),
    )
    def _check(effort: Effort, subject: Mechanism) -> Evidence:
        demands, ratios = [[["1"], ["1"]]] * 2, [["1", "0"]] * 2
        plain = {**terms_of(subject), "step_down": 0.0}
        runs = [exactly(one, demands, ratios) for one in (subject, Mechanism("drf", partial(cbdrf, **plain)))]
        granted = [in_words([tuple(row) for row in run.tasks]) for run in runs]
        totals = [sum(sum(row) for row in run.tasks) for run in runs]
        return Evidence.of(
            computed(
                totals[0] >= totals[1],
                f"Two nodes share one resource for two phases ({in_words(TENTHS)}), the second releases nothing: "
                f"cbDRF grants {granted[0]} of the pool, {totals[0]} in all, and DRF {granted[1]}, {totals[1]} in all.",
                2,
            )
        )


_utilisation("returns")
_utilisation("stays")


@claim(
    id="cbdrf.utilisation.responding",
    locator="Section 2.2, on Figure 1",
    kind="number",
    variant="if all release under cbDRF, and one does not under DRF; what is held stays",
    statement="cbDRF grants more of the pool than DRF does to nodes that hold.",
    mechanism=Mechanism("all release", lambda: ["1", "1"]),
    mutant=Mechanism("one holds all the same", lambda: ["1", "0"]),
)
def _responding(effort: Effort, subject: Mechanism) -> Evidence:
    demands = [[["1"], ["1"]]] * 10
    with_credit = exactly(by_rule(held="stays"), demands, [subject.run()] * 10)
    without = exactly(by_rule(held="stays", step_down=0.0), demands, [["1", "0"]] * 10)
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
