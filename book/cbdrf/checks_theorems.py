"""Theorems 3 to 6 of the cbDRF paper (Lu et al. 2014): less than DRF gives, envy, lies, Pareto efficiency."""

from fractions import Fraction
from functools import partial
from typing import Any

from book.cbdrf.histories import (
    MEMORYLESS,
    WITH_CAP,
    Lie,
    by_rule,
    exactly,
    lying_pays,
    seen,
)
from book.cbdrf.phases import (
    DRF,
    LITERAL_EF,
    LITERAL_PE,
    about_a_phase,
    all_good,
    below_drf,
    broken,
    equal_records,
)
from book.cbdrf.properties import (
    justified_envy_freeness,
)
from book.common.claims.registry import Effort, Evidence, Mechanism, claim
from book.common.evidence import computed, in_words
from book.common.runs import stream

about_a_phase(
    "theorem_3.below_drf",
    "Theorem 3",
    "A node with psi < 1 gets fewer tasks than DRF gives it.",
    below_drf,
    mutant=DRF,
    variant="a node with psi < 1",
    proof="thm-cbdrf-3",
    strict=True,
    zeros=True,
)


about_a_phase(
    "theorem_4.literally",
    "Theorem 4",
    "No node would rather have the bundle of another.",
    LITERAL_EF,
    mutant=DRF,
    variant="any records",
)
about_a_phase(
    "theorem_4.equal_records",
    "Theorem 4",
    "Where all nodes have the same psi, no node would rather have the bundle of another.",
    LITERAL_EF,
    mutant=broken("by_tasks"),
    records=equal_records,
    variant="equal records",
    proof="thm-cbdrf-4",
    zeros=True,
)
about_a_phase(
    "theorem_4.justified",
    "beyond the paper (Theorem 4)",
    "No node would rather have the bundle of one whose record is no better.",
    justified_envy_freeness,
    mutant=broken("inverse"),
    variant="towards nodes with no better record",
    proof="thm-cbdrf-4",
    zeros=True,
)
about_a_phase(
    "theorem_5.phase",
    "Theorem 5",
    "Credits given, no claim about its demand lets a node run more of its true tasks.",
    None,
    mutant=broken("by_tasks"),
    variant="within a phase",
    proof="thm-cbdrf-5",
    zeros=True,
)


_WAITING = Lie(
    [[["1", "1/4"], ["1/4", "1"]], [["1/4", "1/4"], ["1", "1/4"]]],
    [["1/4", "1/4"], ["1/4", "1/4"]],
    ["1", "0"],
    {},
    "the second holds all it got. The first claims (1/4, 1/4) in phase 1",
)
_AT_ZERO = Lie(
    [[["0"], ["1"]], [["1"], ["1"]], [["1/100"], ["1"]]],
    [["1"], ["1"], ["1/100"]],
    ["0", "1"],
    {"step_down": 1.0},
    "step down C_0; the first never releases. It claims 1 in phase 1, fails and stands at zero in phase 2, so that it "
    "holds nothing there and complies,",
)


def _over_phases(
    name: str, variant: str, claims: str, subject: Mechanism, mutant: Mechanism, *, lie: Lie | None = None
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
        test = partial(lying_pays, stream(effort.seed, 10), claims == _AT_LEAST)
        return seen(test, effort, judged, "No lies pay", None if lie is None else lie.by_hand)


_EXACTLY, _AT_LEAST = "in exactly the phases", "at least in the phases"
_FLOOR, _NO_FLOOR = (by_rule(credit_floor=floor) for floor in (0.05, 0.0))
_STAYS = by_rule(held="stays")
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
        [row[0] for row in exactly(subject, [[[first], ["1"]], [[small], [small]]], ratios).tasks]
        for first in (Fraction(1), nothing)
    )
    return Evidence.of(
        computed(
            sum(lying) <= sum(honest),
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
        mechanism=by_rule(ratio=reading),
        mutant=by_rule(ratio="least"),
    )
    def _check(effort: Effort, subject: Mechanism) -> Evidence:
        psi = [row[0] for row in exactly(subject, [[claimed]] * 3, [[released]] * 3).credit_factor]
        text = f"{told}: psi is {in_words(psi)} in phases 1 to 3."
        return Evidence.of(computed(psi[1] < 1, text, 1))


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


about_a_phase(
    "theorem_6.literally",
    "Theorem 6",
    "No allocation of the pool gives one node more and none less.",
    LITERAL_PE,
    mutant=DRF,
    variant="any records",
)
about_a_phase(
    "theorem_6.all_good",
    "Theorem 6",
    "Where every psi is 1, no allocation of the pool gives one node more and none less.",
    LITERAL_PE,
    mutant=broken("wasted"),
    records=all_good,
    variant="all in good standing",
    proof="thm-cbdrf-6",
    zeros=True,
)
