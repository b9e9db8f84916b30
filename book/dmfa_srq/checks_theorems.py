"""The lemmas and theorems of the DMFA-SRQ paper, and what holds beyond them: departures, late arrivals, coalitions."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from book.common.claims.registry import Effort, Evidence, Mechanism, Part, claim
from book.common.evidence import in_words, margin_in_words, sampled
from book.common.instances import sampler
from book.common.runs import stream
from book.common.search import search_instance
from book.dmfa_srq import oracle
from book.dmfa_srq.attacks import (
    DMFA_SRQ,
    POSITIVE,
    STATIC,
    WITH_ZEROS,
    ZEROS,
    attacked,
    attacked_claim,
    broken,
    deceived,
    floats,
    lied_to,
    lied_to_others,
)
from book.dmfa_srq.counterexamples import (
    envy,
    nobody_gains,
    nobody_loses,
    pareto,
    printed_envy,
    refuted_claim,
    static,
    where_positive,
    whole_pool,
)
from book.dmfa_srq.properties import lemma_1, lemma_2, lemma_3, schedule, theorems_after, with_departures
from fairbook.mechanisms.pool.dmfa_srq import dmfa_srq
from fairbook.mechanisms.pool.drf import drf
from fairbook.properties.dynamic import dynamic_envy_freeness, dynamic_pareto_optimality, dynamic_sharing_incentive
from fairbook.properties.lies import claimed_tasks, true_tasks

attacked_claim(
    "lemma_1.positive",
    "Lemma 1",
    "Every optimum of (4) has x_i^k = max(M^k w_i, x_i^{k-1}).",
    partial(attacked, lemma_1),
    kind="lemma",
    variant=POSITIVE,
    proof="lem-dmfa_srq-1",
    mutant=broken("may_shrink"),
)
refuted_claim(
    "lemma_1.zeros",
    "beyond the paper (Lemma 1)",
    "Every optimum of (4) has x_i^k = max(M^k w_i, x_i^{k-1}).",
    pareto,
    kind="lemma",
    variant=ZEROS,
    weights="1 2",
    demands="1 0, 0 1",
    mended=where_positive(pareto),
)
attacked_claim(
    "lemma_2",
    "Lemma 2",
    "Who came earlier has at least the level of who came later.",
    partial(attacked, lemma_2),
    kind="lemma",
    proof="lem-dmfa_srq-2",
    mutant=broken("weights_ignored"),
)
attacked_claim(
    "lemma_3",
    "Lemma 3",
    "Who has more than i per contribution came before i and has gained nothing since i came.",
    partial(attacked, lemma_3),
    kind="lemma",
    proof="lem-dmfa_srq-3",
    mutant=broken("weights_ignored"),
)
refuted_claim(
    "lemma_4.any",
    "Lemma 4",
    "If a lie raises the liar's claimed share at t, nobody present has less at t.",
    nobody_loses,
    kind="lemma",
    variant="any t after which the claimed share is larger",
    weights="1 1 1",
    demands="1 1, 1 1/2, 1/2 1",
    mended=partial(nobody_loses, rule=static),
)
attacked_claim(
    "lemma_4.rises",
    "Lemma 4",
    "When an arrival raises the liar's claimed share, and above the honest one, nobody present has less.",
    lied_to_others,
    kind="lemma",
    variant="a t that itself raises the claimed share",
    proof="lem-dmfa_srq-4",
    mutant=broken("need_favoured"),
)
attacked_claim(
    "theorem_1.positive",
    "Theorem 1",
    "Within W_k nobody can gain without another losing.",
    partial(attacked, dynamic_pareto_optimality),
    kind="theorem",
    variant=POSITIVE,
    proof="thm-dmfa_srq-1",
    mutant=broken("capacity_wasted"),
)
refuted_claim(
    "theorem_1.whole_pool",
    "beyond the paper (Theorem 1)",
    "Within the whole pool nobody can gain without another losing.",
    whole_pool,
    kind="theorem",
    variant="within W_n, before the last arrival",
    weights="1 1 1",
    demands="1 1, 1 1, 1 1",
    mended=pareto,
)
refuted_claim(
    "theorem_1.zeros",
    "beyond the paper (Theorem 1)",
    "Within W_k nobody can gain without another losing.",
    pareto,
    kind="theorem",
    variant=ZEROS,
    weights="1 2",
    demands="1 0, 0 1",
    mended=where_positive(pareto),
)
attacked_claim(
    "theorem_2.positive",
    "Theorem 2",
    "Nobody has less than with what it brought.",
    partial(attacked, dynamic_sharing_incentive),
    kind="theorem",
    proof="thm-dmfa_srq-2",
    mutant=broken("weights_ignored"),
)
attacked_claim(
    "theorem_2.zeros",
    "beyond the paper (Theorem 2)",
    "Nobody has less than with what it brought.",
    partial(attacked, dynamic_sharing_incentive),
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
    partial(attacked, dynamic_envy_freeness),
    kind="theorem",
    proof="thm-dmfa_srq-3",
    mutant=broken("newest_favoured"),
)
attacked_claim(
    "theorem_3.zeros",
    "beyond the paper (Theorem 3)",
    "Envy only towards earlier users who have gained nothing since.",
    partial(attacked, dynamic_envy_freeness),
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
    printed_envy,
    kind="theorem",
    variant="definition as printed",
    weights="2 1",
    demands="1 1, 1 1",
    mended=envy,
)


for _name, _locator, _variant, _mechanism in (
    ("theorem_4.positive", "Theorem 4", "as stated", DMFA_SRQ),
    ("theorem_4.zeros", "beyond the paper (Theorem 4)", ZEROS, WITH_ZEROS),
):
    attacked_claim(
        _name,
        _locator,
        "No lie about its demand gives a user more true tasks at any time.",
        lied_to,
        kind="theorem",
        variant=_variant,
        proof="thm-dmfa_srq-4",
        mechanism=_mechanism,
        mutant=broken("need_favoured"),
    )


@claim(
    id="dmfa_srq.equation_5.positive",
    locator="Equation (5)",
    kind="equation",
    variant=POSITIVE,
    statement="W_k / max_j sum_i w_i d_ij is the static optimum, the level of weighted DRF, and at least M^k.",
    proof="prop-dmfa_srq-static",
    mechanism=STATIC,
    mutant=broken("capacity_wasted"),
)
def _equation_5(effort: Effort, subject: Mechanism) -> Evidence:
    def off(rng: np.random.Generator, judged: Mechanism, at: int) -> float:
        n, m = int(rng.integers(1, 9)), int(rng.integers(1, 5))
        demands, weights = rng.random((n, m)) + 1e-3, 10.0 ** rng.uniform(-3, 0, n)
        pool = np.full(m, weights.sum())
        # drf measures shares of the pool and scales weights to 1, which cancels
        levels = drf(demands, weights=weights, capacities=pool).levels
        above = dmfa_srq(demands, weights=weights).lowest[-1] / levels.max() - 1
        return max(float(np.abs(judged.run(demands, weights=weights).levels_at(n) / levels - 1).max()), float(above))

    said = "Equal to the exact progressive filling, and at least M^n, on {count} random instances (1e-9)."
    return Evidence.of(
        sampled(off, effort, subject, key=4, share=20, said=said, right=lambda found: max(found) < 1e-9),
    )


@claim(
    id="dmfa_srq.equal_contributions",
    locator="Section 1",
    kind="statement",
    statement="With equal contributions weighted DRF is DRF.",
    proof="prop-dmfa_srq-static",
    mechanism=Mechanism("drf", drf),
    mutant=Mechanism("unequal", lambda demands, weights: drf(demands, weights=np.arange(1, len(weights) + 1))),
)
def _equal_contributions(effort: Effort, subject: Mechanism) -> Evidence:
    def off(rng: np.random.Generator, judged: Mechanism, at: int) -> float:
        n, m = int(rng.integers(2, 5)), int(rng.integers(1, 4))
        demands = rng.integers(1, 7, (n, m))
        shares = [list(map(Fraction, row.tolist())) for row in demands]
        # raise all dominant shares together: no weights anywhere
        share = 1 / max(sum(row[j] / max(row) for row in shares) for j in range(m))
        tasks = judged.run(demands, weights=np.full(n, 10.0 ** rng.uniform(-2, 2))).tasks
        return float(np.abs(tasks * demands.max(axis=1) / float(share) - 1).max())

    said = "In {count} random instances all dominant shares are the one that fits, as DRF has it (1e-9)."
    return Evidence.of(sampled(off, effort, subject, key=7, share=20, said=said, right=lambda found: max(found) < 1e-9))


refuted_claim(
    "equation_5.zeros",
    "beyond the paper (Equation (5))",
    "The level of (5), given to all, is weighted DRF.",
    partial(pareto, rule=static),
    kind="equation",
    variant=ZEROS,
    weights="1 2",
    demands="1 0, 0 1",
    mended=where_positive(partial(pareto, rule=static)),
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
    variant="the contribution stays; Theorem 1 for positive demands",
    statement="With departures at times that depend on nobody's statements, Theorems 1 to 4 hold for the users "
    "present, who comes later (the other events in the same order) never runs more, and users who lie together, and "
    "may bring less, never all run more at one time.",
    proof="prop-dmfa_srq-stays",
    mechanism=_STAYS,
    mutant=_LEAVES,
)
def _departures_stay(effort: Effort, subject: Mechanism) -> Iterator[Part]:
    rng = stream(effort.seed, 5)
    # the first schedule is one on which lies pay when contributions leave
    schedules = [_SCHEDULE] + [
        schedule(rng, int(rng.integers(3, 6))) for _ in range(5 if effort.name == "quick" else 40)
    ]
    kept = "{count} runs keep Theorems 1 to 3; nobody gained by coming late, lying or bringing less."
    yield sampled(_departing, effort, subject, key=6, share=16, grade="search", right=lambda found: min(found) > -1e-9,
                  said=kept)  # fmt: skip
    for liars in (1, 2):
        spent, worst = 0, np.inf
        for number, events in enumerate(schedules):
            n = max(events) + 1
            found = search_instance(
                subject.run(events),
                sampler(users=(n, n), resources=(2, 3)),
                resize=False,
                coalition=liars,
                evaluations=6000 if number == 0 and liars == 1 else effort.evaluations // (10 * liars**2),
                restarts=20,
                seed=effort.seed,
            )
            spent, worst = spent + found.evaluations, min(worst, float(found.margin))
            if found.found:
                break
        text = (
            f"Search over instances and lies of {liars} on {len(schedules)} schedules of arrivals and departures "
            f"({spent} runs) found nothing; smallest margin {margin_in_words(worst)}."
        )
        if found.found:
            text = f"A lie of {liars} pays on the schedule {events}: {found.instance}."
        yield Part(not found.found, "search", text, spent)


def _departing(rng: np.random.Generator, subject: Mechanism, at: int) -> float:
    """Draw a run with departures, and one in which a user comes later, lies and brings less; give the least margin."""
    events, claims = schedule(rng, int(rng.integers(2, 7))), rng.random(4) + 1e-3
    n, late = max(events) + 1, int(rng.integers(max(events) + 1))
    drawn = sampler(users=(n, n), resources=(1, 4))(rng)
    honest = subject.run(events)(drawn.demands, drawn.weights).table
    came, end = events.index(late), len(events) - (events[::-1].index(late) if events.count(late) > 1 else 0)
    place = int(rng.integers(came, end - (events.count(late) > 1)))
    moved = events[:came] + events[came + 1 :]
    moved.insert(place, late)
    told, brought = drawn.demands.copy(), drawn.weights.copy()
    told[late] = claims[: told.shape[1]] if at % 2 else told[late]
    brought[late] *= rng.choice([0.5, 1.0])
    lying = true_tasks(subject.run(moved)(told, brought).tasks_of(late), drawn.demands[late], told[late])
    kept = theorems_after(events, drawn.demands, drawn.weights, honest)
    there = honest[place:, late] > 0
    return min(kept, float(np.min(1 - lying[place:][there] / honest[place:, late][there], initial=np.inf)))


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


refuted_claim(
    "harmless_lie",
    "beyond the paper",
    "A lie that costs the liar no true tasks gives nobody else more.",
    nobody_gains,
    kind="extension",
    weights="1 1 1 1",
    demands="1 1/2, 1/4 1, 1 3/4, 3/4 1",
    mended=partial(nobody_gains, rule=static),
)


@claim(
    id="dmfa_srq.coalition_sometime",
    locator="beyond the paper",
    kind="extension",
    variant="each at a time of its own",
    statement="Users who lie together never all run more true tasks.",
    mechanism=DMFA_SRQ,
    mutant=STATIC,
)
def _coalition_sometime(effort: Effort, subject: Mechanism) -> Evidence:
    truth = [["1", "1", "1/10"], ["1", "1/10", "1/10"], ["1/10", "1", "1/10"], ["1", "1/10", "1/10"],
             ["1/10", "1/10", "1"]]  # fmt: skip
    lies = {1: ["1", "1/2", "1/10"], 3: ["3/4", "1/10", "1"]}
    needed, claimed = ([[Fraction(x) for x in (chosen or row)] for row, chosen in zip(truth, some, strict=True)]
                       for some in ([None] * 5, [lies.get(i) for i in range(5)]))  # fmt: skip
    honest, lying = (subject.run(**floats(rows, [1] * 5)) for rows in (needed, claimed))
    gains, told = [], []
    for user in lies:
        true = true_tasks(
            claimed_tasks(lying, user), *(floats(rows, [1])["demands"][user] for rows in (needed, claimed))
        )
        more = true - claimed_tasks(honest, user)
        gains.append(more.max() > 1e-9)
        had, has = (
            Fraction(float(x[more.argmax()])).limit_denominator(1000) for x in (claimed_tasks(honest, user), true)
        )
        told.append(f"user {user + 1} has {has} true tasks after arrival {user + 1 + more.argmax()}, honestly {had}")
    text = (
        f"Users {in_words(truth)} bring 1 each; users 2 and 4 claim {in_words(list(lies.values()))}: {'; '.join(told)}."
    )
    return Evidence.of(Part(not all(gains), "witness", text, 1))


attacked_claim(
    "late_arrival",
    "beyond the paper",
    "Who comes later (the others in the same order), may lie and may bring less never runs more true tasks.",
    partial(deceived, liars=1, late=True),
    kind="extension",
    proof="thm-dmfa_srq-late",
    mechanism=WITH_ZEROS,
    mutant=broken("newest_favoured"),
)


@claim(
    id="dmfa_srq.coalition",
    locator="beyond the paper",
    kind="extension",
    statement="Users who lie together, and may bring less, never all run more true tasks at one time.",
    proof="thm-dmfa_srq-coalition",
    mechanism=WITH_ZEROS,
    mutant=replace(broken("need_favoured"), zeros=True),
)
def _coalition(effort: Effort, subject: Mechanism) -> Evidence:
    return Evidence.of(
        *(
            replace(part, found=f"{liars} users{more}: {part.found}")
            for liars in (2, 3)
            for more, part in (
                ("", lied_to(effort, subject, liars)),
                (" who may bring less", deceived(effort, subject, liars)),
            )
        ),
    )


@claim(
    id="dmfa_srq.coalition_first",
    locator="beyond the paper",
    kind="extension",
    variant=POSITIVE,
    statement="Of users who lie together, and may bring less, the first to arrive never runs more true tasks at a time "
    "when all are present and none of the others runs fewer.",
    proof="thm-dmfa_srq-coalition",
    mechanism=DMFA_SRQ,
    mutant=broken("need_favoured"),
)
def _coalition_first(effort: Effort, subject: Mechanism) -> Evidence:
    return Evidence.of(
        *(
            replace(part, found=f"{liars} users: {part.found}")
            for liars in (2, 3)
            for part in (deceived(effort, subject, liars, alone=True),)
        )
    )
