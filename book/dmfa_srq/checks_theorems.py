"""The lemmas and theorems of the DMFA-SRQ paper, and what holds beyond them: departures, late arrivals, coalitions."""

from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from book.common.evidence import in_words, margin_in_words, sampled
from book.common.runs import stream
from book.dmfa_srq import oracle
from book.dmfa_srq.attacks import (
    DMFA_SRQ,
    STATIC,
    WITH_ZEROS,
    ZEROS,
    attacked_claim,
    broken,
    deceived,
    lied_to,
    lied_to_others,
    refuted_claim,
    settled_for,
)
from book.dmfa_srq.properties import lemma_1, lemma_2, lemma_3, schedule, with_departures
from book.dmfa_srq.smt import is_violated
from fairbook.claims.registry import Effort, Evidence, Mechanism, Part, claim
from fairbook.mechanisms.drf import drf
from fairbook.properties.dynamic import dynamic_envy_freeness, dynamic_pareto_optimality, dynamic_sharing_incentive
from fairbook.properties.instances import sampler
from fairbook.properties.lies import search_instance

attacked_claim(
    "lemma_1.positive",
    "Lemma 1",
    "Every optimum of (4) has x_i^k = max(M^k w_i, x_i^{k-1}).",
    lemma_1,
    kind="lemma",
    proof="lem-dmfa_srq-1",
    mutant=broken("may_shrink"),
)
refuted_claim(
    "lemma_1.zeros",
    "beyond the paper (Lemma 1)",
    "Every optimum of (4) has x_i^k = max(M^k w_i, x_i^{k-1}).",
    "lemma_1",
    kind="lemma",
    variant=ZEROS,
    mechanism=WITH_ZEROS,
    mended=DMFA_SRQ,
)
attacked_claim(
    "lemma_2",
    "Lemma 2",
    "Who came earlier has at least the level of who came later.",
    lemma_2,
    kind="lemma",
    proof="lem-dmfa_srq-2",
    mutant=broken("weights_ignored"),
)
attacked_claim(
    "lemma_3",
    "Lemma 3",
    "Who has more than i per contribution came before i and has gained nothing since i came.",
    lemma_3,
    kind="lemma",
    proof="lem-dmfa_srq-3",
    mutant=broken("weights_ignored"),
)
refuted_claim(
    "lemma_4.any",
    "Lemma 4",
    "If a lie raises the liar's claimed share at t, nobody present has less at t.",
    "lemma_4_any",
    kind="lemma",
    variant="read for any t with a larger claim",
    mended=STATIC,
)
attacked_claim(
    "lemma_4.rises",
    "Lemma 4",
    "When an arrival raises the liar's claimed share above the honest one, nobody present has less.",
    None,
    kind="lemma",
    variant="read for t at which the claim rises",
    proof="lem-dmfa_srq-4",
    mutant=broken("need_favoured", "claims_rewarded"),
    solver="lemma_4_rises",
    attack=lied_to_others,
)
attacked_claim(
    "theorem_1.positive",
    "Theorem 1",
    "Within W_k nobody can gain without another losing.",
    dynamic_pareto_optimality,
    kind="theorem",
    variant="as stated",
    proof="thm-dmfa_srq-1",
    mutant=broken("capacity_wasted"),
)
refuted_claim(
    "theorem_1.whole_pool",
    "beyond the paper (Theorem 1)",
    "Within the whole pool nobody can gain without another losing.",
    "theorem_1_whole_pool",
    kind="theorem",
    variant="within W_n, before the last arrival",
    mended="theorem_1",
)
refuted_claim(
    "theorem_1.zeros",
    "beyond the paper (Theorem 1)",
    "Within W_k nobody can gain without another losing.",
    "theorem_1",
    kind="theorem",
    variant=ZEROS,
    mechanism=WITH_ZEROS,
    mended=DMFA_SRQ,
)
attacked_claim(
    "theorem_2.positive",
    "Theorem 2",
    "Nobody has less than with what it brought.",
    dynamic_sharing_incentive,
    kind="theorem",
    proof="thm-dmfa_srq-2",
    mutant=broken("weights_ignored"),
)
attacked_claim(
    "theorem_2.zeros",
    "beyond the paper (Theorem 2)",
    "Nobody has less than with what it brought.",
    dynamic_sharing_incentive,
    kind="theorem",
    variant=ZEROS,
    proof="thm-dmfa_srq-2",
    mutant=broken("weights_ignored"),
    mechanism=WITH_ZEROS,
)
attacked_claim(
    "theorem_3.positive",
    "Theorem 3",
    "Envy only towards earlier users who have gained nothing since.",
    dynamic_envy_freeness,
    kind="theorem",
    proof="thm-dmfa_srq-3",
    mutant=broken("newest_favoured"),
)
attacked_claim(
    "theorem_3.zeros",
    "beyond the paper (Theorem 3)",
    "Envy only towards earlier users who have gained nothing since.",
    dynamic_envy_freeness,
    kind="theorem",
    variant=ZEROS,
    proof="thm-dmfa_srq-3",
    mutant=broken("newest_favoured"),
    mechanism=WITH_ZEROS,
)
refuted_claim(
    "theorem_3.printed",
    "beyond the paper (section 4, property 3: a misprint)",
    "Envy, as defined in print, is only towards earlier users who have gained nothing since.",
    "theorem_3_printed",
    kind="theorem",
    variant="definition as printed",
    mended="theorem_3",
)


for _name, _locator, _variant, _mechanism in (
    ("theorem_4.positive", "Theorem 4", "as stated", DMFA_SRQ),
    ("theorem_4.zeros", "beyond the paper (Theorem 4)", ZEROS, WITH_ZEROS),
):
    attacked_claim(
        _name,
        _locator,
        "No lie about its demand gives a user more true tasks at any time.",
        None,
        kind="theorem",
        variant=_variant,
        proof="thm-dmfa_srq-4",
        mechanism=_mechanism,
        mutant=broken("need_favoured", "claims_rewarded"),
        attack=lied_to,
    )


@claim(
    id="dmfa_srq.equation_5.positive",
    locator="Equation (5)",
    kind="equation",
    statement="W_k / max_j sum_i w_i d_ij is the static optimum, the level of weighted DRF, and at least M^k.",
    proof="prop-dmfa_srq-static",
    mechanism=replace(STATIC, smt="dmfa_srq"),
    mutant=broken("capacity_wasted"),
)
def _equation_5(effort: Effort, subject: Mechanism) -> Evidence:
    def off(rng: np.random.Generator, judged: Mechanism, at: int) -> float:
        n, m = int(rng.integers(1, 9)), int(rng.integers(1, 5))
        demands, weights = rng.random((n, m)) + 1e-3, 10.0 ** rng.uniform(-3, 0, n)
        pool = np.full(m, weights.sum())
        # drf measures shares of the pool and scales weights to 1, which cancels
        levels = drf(demands, weights, pool).levels
        return float(np.abs(judged.run(demands, weights).levels_at(n) / levels - 1).max())

    said = "Equal to the exact progressive filling on {count} random instances (1e-9)."
    return Evidence.of(
        settled_for("equation_5", effort, subject),
        settled_for("dynamic_below_static", effort, subject),
        sampled(off, effort, subject, key=4, share=20, said=said, right=lambda found: max(found) < 1e-9),
    )


refuted_claim(
    "equation_5.zeros",
    "beyond the paper (Equation (5))",
    "The level of (5), given to all, is weighted DRF.",
    "equation_5",
    kind="equation",
    variant=ZEROS,
    mechanism=WITH_ZEROS,
    mended=DMFA_SRQ,
)


_LEAVES = Mechanism("leaves", partial(with_departures, contribution="leaves"))
_STAYS = Mechanism("stays", partial(with_departures, contribution="stays"))
#: Users 1, 2, 3 arrive, user 1 departs; user 2 lies.
_SCHEDULE, _TRUTH = [0, 1, 2, 0], [["1", "1/2"], ["1/3", "1"], ["1", "2/3"]]
_LIE = ["1/2", "1"]


@claim(
    id="dmfa_srq.departures.stays",
    locator="beyond the paper",
    kind="extension",
    variant="the contribution stays",
    statement="With departures, no lie about its demand gives a user more true tasks.",
    proof="prop-dmfa_srq-stays",
    mechanism=_STAYS,
    mutant=_LEAVES,
)
def _departures_stay(effort: Effort, subject: Mechanism) -> Evidence:
    rng = stream(effort.seed, 5)
    # the first schedule is one on which lies pay when contributions leave
    schedules = [_SCHEDULE] + [
        schedule(rng, int(rng.integers(3, 6))) for _ in range(5 if effort.name == "quick" else 40)
    ]
    spent, worst = 0, np.inf
    for number, events in enumerate(schedules):
        n = max(events) + 1
        found = search_instance(
            subject.run(events),
            sampler(users=(n, n), resources=(2, 3)),
            resize=False,
            evaluations=6000 if number == 0 else effort.evaluations // 10,
            restarts=20,
            seed=effort.seed,
        )
        spent, worst = spent + found.evaluations, min(worst, float(found.margin))
        if found.found:
            return Evidence.of(Part(False, "search", f"A lie pays on the schedule {events}: {found.instance}.", spent))
    return Evidence.of(
        Part(
            True,
            "search",
            f"Search over instances and lies on {len(schedules)} schedules of arrivals and "
            f"departures ({spent} runs) found nothing; smallest margin {margin_in_words(worst)}.",
            spent,
        )
    )


@claim(
    id="dmfa_srq.departures.leaves",
    locator="beyond the paper",
    kind="extension",
    variant="the contribution leaves",
    statement="With departures, no lie about its demand gives a user more true tasks.",
    mechanism=_LEAVES,
    mutant=_STAYS,
)
def _departures_leave(effort: Effort, subject: Mechanism) -> Evidence:
    honest = oracle.exact_departures(_SCHEDULE, _TRUTH, [1, 1, 1], subject.name)  # type: ignore[arg-type]
    lying = oracle.exact_departures(_SCHEDULE, [_TRUTH[0], _LIE, _TRUTH[2]], [1, 1, 1], subject.name)  # type: ignore[arg-type]
    true = [row[1] * min(Fraction(c) / Fraction(d) for c, d in zip(_LIE, _TRUTH[1], strict=True)) for row in lying]
    gains = [t - row[1] for t, row in zip(true, honest, strict=True)]
    text = (
        f"Users {in_words(_TRUTH)} bring 1 each; the first departs. The second claims {in_words(_LIE)}: then it "
        f"has {true[-1]} true tasks, honestly {honest[-1][1]}."
    )
    return Evidence.of(Part(max(gains) <= 0, "witness", text, 1))


@claim(
    id="dmfa_srq.harmless_lie",
    locator="beyond the paper",
    kind="extension",
    statement="A lie that costs the liar no true tasks gives nobody else more.",
    mechanism=DMFA_SRQ,
    mutant=STATIC,
)
def _harmless_lie(effort: Effort, subject: Mechanism) -> Evidence:
    half, quarter, one = Fraction(1, 2), Fraction(1, 4), Fraction(1)
    witness = {
        "weights": (one,) * 4,
        "demands": ((one, half), (quarter, one), (one, 1 - quarter), (1 - quarter, one)),
        "claims": {2: (half, one)},
        "t": 4,
        "i": 2,
        "h": 4,
    }
    return Evidence.of(
        Part(
            not is_violated("harmless_lie", witness, str(subject.smt)),
            "witness",
            f"{in_words(witness)}: user 2 keeps its true tasks, user 4 gains at the expense of user 3.",
            1,
        )
    )


attacked_claim(
    "late_arrival",
    "beyond the paper",
    "Who comes later (the others in the same order), may lie and may bring less never runs more true tasks.",
    None,
    kind="extension",
    proof="thm-dmfa_srq-late",
    mechanism=WITH_ZEROS,
    mutant=broken("newest_favoured"),
    attack=partial(deceived, liars=1, late=True),
)


@claim(
    id="dmfa_srq.coalition",
    locator="beyond the paper",
    kind="extension",
    statement="Users who lie together, and may bring less, never all run more true tasks at one time.",
    proof="thm-dmfa_srq-coalition",
    mechanism=WITH_ZEROS,
    mutant=replace(broken("need_favoured", "claims_rewarded"), zeros=True),
)
def _coalition(effort: Effort, subject: Mechanism) -> Evidence:
    return Evidence.of(
        settled_for("coalition_both_gain", effort, subject),
        *(
            replace(part, found=f"{liars} users{more}: {part.found}")
            for liars in (2, 3)
            for more, part in (
                ("", lied_to(effort, subject, liars)),
                (" who may bring less", deceived(effort, subject, liars)),
            )
        ),
    )
