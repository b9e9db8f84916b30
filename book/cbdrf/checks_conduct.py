"""What the cbDRF paper says of conduct: what releasing keeps, what a failure costs (sections 2.2 and 3.1)."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from book.cbdrf.histories import (
    MEMORYLESS,
    NO_CAP,
    TENTHS,
    WITH_CAP,
    by_rule,
    exactly,
    opened,
    seen,
    uncapped,
    watched,
)
from book.common.claims.registry import Effort, Evidence, Mechanism, Part, claim
from book.common.evidence import computed, in_words, sampled
from book.common.runs import stream
from fairbook.mechanisms.credit.cbdrf import cbdrf
from fairbook.mechanisms.credit.cbdrf_run import CreditRun


def _each_failure_costs(subject: Mechanism, demands: Any, released: Any) -> str | None:
    run: CreditRun = subject.run(demands, released=released)
    ratio = run.granted_ratio
    for t, i in np.argwhere(~run.complied[:-1] & (run.credit[:-1] > run.rule.credit_floor)):
        if ratio[t + 1, i] >= ratio[t, i]:  # no number where the node is not present
            return f"node {i} fails in phase {t} and keeps {ratio[t + 1, i]:.3g} of its DRF amount"
    return None


def _three_are_free(judged: Mechanism) -> tuple[bool, str] | None:
    if not uncapped(judged):
        return None
    run = exactly(judged, [[["1"]]] * 7, [["1"]] * 3 + [["0"]] * 4)
    psi = [row[0] for row in run.credit_factor]
    return all(b < a for a, b in zip(psi[3:], psi[4:], strict=False)), (
        f"One node releases all in phases 1 to 3 and nothing afterwards: psi is {in_words(psi)} in phases 1 to "
        "7. Three failures are free."
    )


def _no_less(subject: Mechanism, demands: Any, released: Any) -> str | None:
    """After a phase in which it complied, no node has a smaller part of its DRF amount."""
    run: CreditRun = subject.run(demands, released=released)
    ratio = run.granted_ratio
    for t, i in np.argwhere(run.complied[:-1]):
        if ratio[t + 1, i] < run.credit_factor[t, i] * (1 - 1e-12):
            return f"node {i} complies in phase {t} and falls to {ratio[t + 1, i]:.3g} of its DRF amount"
    return None


claim(
    id="cbdrf.compliance.no_less",
    locator="Section 2.2, on equation (7)",
    kind="theorem",
    variant="no smaller part than before, credit never above C_0",
    statement="After each phase in which a node releases enough, its part of the DRF amount is no smaller in the next, "
    "if it needs something then.",
    proof="thm-cbdrf-2",
    mechanism=WITH_CAP,
    mutant=Mechanism(
        "who fails for who complies",
        lambda d, released: replace(run := cbdrf(d, released=released), complied=~run.complied),
    ),
)(lambda effort, judged: seen(_no_less, effort, judged, "Complying lowers nothing"))


@claim(
    id="cbdrf.compliance.in_full",
    locator="Section 2.2, on equation (7)",
    kind="theorem",
    variant="the whole DRF amount",
    statement="A node that releases enough in a phase is granted its whole DRF amount in the next.",
    mechanism=WITH_CAP,
    mutant=by_rule(step_up=1.0),
)
def _in_full(effort: Effort, subject: Mechanism) -> Evidence:
    psi = [row[0] for row in exactly(subject, [[["1"]]] * 4, [["0"], ["0"], ["1"], ["1"]]).credit_factor]
    text = f"One node releases nothing in phases 1 and 2 and all in phase 3: psi is {in_words(psi)} in phases 1 to 4."
    return Evidence.of(computed(psi[3] == 1, text, 1))


for _name, _subject, _mutant, _proof in (
    ("cap", WITH_CAP, MEMORYLESS, "thm-cbdrf-3"),
    ("no_cap", NO_CAP, WITH_CAP, None),
):
    claim(
        id=f"cbdrf.theorem_3.next_phase.{_name}",
        locator="Section 2.2, on equation (7)",
        kind="theorem",
        variant=f"the next phase, credit {'without a cap' if _proof is None else 'never above C_0'}",
        proof=_proof,
        mechanism=_subject,
        mutant=_mutant,
        statement="After each phase in which a node above the floor fails to release enough, its part of the DRF "
        "amount is smaller in the next, if it needs something then.",
    )(lambda effort, judged: seen(_each_failure_costs, effort, judged, "Each failure costs something", _three_are_free))


def _larger_penalty(penalty: str, proof: str | None, mutant: Mechanism) -> None:
    @claim(
        id=f"cbdrf.penalty.{penalty}",
        locator="Section 3.1" if penalty == "step" else "beyond the paper (Section 3.1)",
        kind="statement",
        variant=f"the amount held, {'equation (6)' if penalty == 'step' else 'a step times the part held'}, "
        "credit never above C_0",
        proof=proof,
        mechanism=by_rule(penalty=penalty),
        mutant=mutant,
        statement="Among nodes with the same credit that release too little, the one that holds more is punished more, "
        "unless both then stand at the floor.",
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        ratios = ("0", "1/4", "1/2", "37/50")
        runs = [exactly(judged, [[["1"]]] * 2, [[r]] * 2) for r in ratios]
        psi = [run.credit_factor[1][0] for run in runs]
        text = (
            f"Four nodes with psi 1 release the parts {in_words(ratios)} in a phase ({in_words(TENTHS)}). Then their "
            f"psi are {in_words(psi)}."
        )
        more = stream(effort.seed, 8)

        def look(rng: np.random.Generator, judged: Mechanism, at: int) -> tuple[bool, bool]:
            """Whether the order is wrong, and whether both stand at the floor."""
            low, high = np.sort(rng.uniform(0, 0.74, 2))
            before = more.integers(0, 5, int(more.integers(0, 4))) / 4  # ratios of phases that bring down the credit
            run = opened(more, judged).run(
                np.ones((len(before) + 1, 2, 1)), released=[*([r, r] for r in before), [low, high]]
            )
            worse, better = run.rule.factor(run.final_credit)
            floored = bool((run.final_credit == run.rule.credit_floor).all())
            fails = not run.complied[-1].any()  # at zero nothing is held
            return fails and not floored and not worse < better, fails and floored

        found = sampled(
            look, effort, judged, key=7, share=40, least=50,
            right=lambda pairs: not any(wrong for wrong, _ in pairs),
            said=lambda pairs: f"{text} {len(pairs)} random pairs of ratios, after random phases under random steps "
            f"and floors: {sum(wrong for wrong, _ in pairs)} exceptions, {sum(both for _, both in pairs)} pairs with "
            "both at the floor.",
        )  # fmt: skip
        grows = all(a < b for a, b in zip(psi, psi[1:], strict=False))
        return Evidence.of(found if grows else Part(False, "witness", text, found.size))


_larger_penalty("step", None, by_rule(penalty="graded"))
_larger_penalty("graded", "prop-cbdrf-graded", by_rule(penalty="step"))


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
    ratios = ([["1"]] * (6 - failures) + [["0"]] * failures + [["1"]] for failures in range(6))
    psi = [exactly(subject, [[["1"]]] * 7, released).credit_factor[6][0] for released in ratios]
    falls = all(b < a for a, b in zip(psi, psi[1:], strict=False))
    text = f"psi in phase 7 after 0 to 5 failures in a row: {in_words(psi)}."
    rows = computed(falls, text, 6)
    return Evidence.of(rows, watched(_more_in_a_row, effort, subject, "More failures in a row leave less"))


def _more_in_a_row(subject: Mechanism, demands: Any, released: Any) -> str | None:
    """Compare what failures in all of the last phases, begun in good standing, leave of credits."""
    run: CreditRun = subject.run(demands, released=released)
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
