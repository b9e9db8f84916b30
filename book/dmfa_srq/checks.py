"""The claims of the DMFA-SRQ paper (Zhang, Liu, Li, Zhang 2016), each with its check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import combinations, islice, product
from math import lcm
from typing import Any

import numpy as np

from book.common.evidence import in_words, margin_in_words, searched, settled
from book.common.runs import stream
from book.dmfa_srq import oracle
from book.dmfa_srq import studies as study
from book.dmfa_srq.properties import MUTANTS, lemma_1, lemma_2, lemma_3, lemma_4, schedule, with_departures
from book.dmfa_srq.smt import is_violated, settle
from fairbook.claims.registry import Effort, Evidence, Kind, Mechanism, Part, claim
from fairbook.mechanisms.dmfa_srq import (
    REPAIRS,
    DmfaSrq,
    algorithm_1,
    algorithm_1_printed,
    dmfa_srq,
    static_optimum,
)
from fairbook.mechanisms.drf import drf
from fairbook.model.dynamic import DynamicAllocation
from fairbook.model.inputs import FloatArray
from fairbook.properties.dynamic import dynamic_envy_freeness, dynamic_pareto_optimality, dynamic_sharing_incentive
from fairbook.properties.finding import Trajectory
from fairbook.properties.instances import Instance, sampler
from fairbook.properties.search import claimed_tasks, minimise_margin, search_instance, true_tasks

DMFA_SRQ = Mechanism("dmfa_srq", dmfa_srq, smt="dmfa_srq")
WITH_ZEROS = replace(DMFA_SRQ, zeros=True)


def _mutant(name: str, smt: str | None = None) -> Mechanism:
    return Mechanism(name, MUTANTS[name], smt=smt or name)


# ----------------------------------------------------------------------------------------------- ways of looking


def _says(statement: str, witness: dict[str, Any]) -> str:
    """Say who has less under a lie, or what the printed envy compares; else nothing."""
    if statement == "theorem_3_printed":
        k, i, h, weights = (witness[name] for name in ("k", "i", "h", "weights"))
        tasks = witness["levels"][k - 1][i - 1] * weights[i - 1]
        return (f" Printed envy after arrival k = {k}: user i = {i} runs {tasks} tasks, {tasks / weights[h - 1]} by "
                f"the weight of user h = {h} and {tasks / weights[i - 1]} by its own.")  # fmt: skip
    if "levels_under_lie" not in witness or "t" not in witness:
        return ""
    rows = (witness[name][witness["t"] - 1] for name in ("levels_under_lie", "levels"))
    less = [f"user {u} has {a} instead of {b}" for u, (a, b) in enumerate(zip(*rows, strict=True), 1) if a < b]
    return f" Under the lie, after arrival {witness['t']}, {', '.join(less)}." if less else ""


def _settled(statement: str, effort: Effort, subject: Mechanism) -> Part:
    """Ask the solver for all real instances of the sizes of this effort."""
    if subject.smt is None:
        return Part(None, "smt", "The solver does not know this mechanism.")
    domain = "nonnegative" if subject.zeros else "positive"
    asked = (settle(statement, n, m, demands=domain, mechanism=subject.smt or "") for n, m in effort.sizes)
    return settled(asked, partial(_says, statement))


def _arrival_by_arrival(demands: Any, weights: Any) -> Trajectory:
    """Every allocation of the mechanism as it stood after each arrival, taken from the online pool.

    A :class:`DynamicAllocation` derives all allocations from M^1, ..., M^n and so has Lemmas 1 to 3 built in: checks on
    it could not fail.
    """
    pool = DmfaSrq(len(demands[0]))
    steps = []
    for user, row in enumerate(demands):
        pool.arrive(user, row, weights[user])
        steps.append(pool.levels)
    return Trajectory.of_levels(steps, demands, weights)


def _attacked(check: Callable[[Any], Any], effort: Effort, subject: Mechanism) -> Part:
    """Drive the margin of a property down by local search over instances."""
    run = _arrival_by_arrival if subject.run is dmfa_srq else subject.run
    return searched(
        minimise_margin(
            lambda i: check(run(i.demands, i.weights)),
            seed=effort.seed,
            zeros=subject.zeros,
            evaluations=effort.evaluations,
            restarts=max(5, effort.evaluations // 1000),
        )
    )


def _lied_to(effort: Effort, subject: Mechanism, liars: int = 1) -> Part:
    """Search for an instance and lies that pay for every liar on it."""
    return searched(
        search_instance(
            subject.run,
            seed=effort.seed,
            zeros=subject.zeros,
            coalition=liars,
            evaluations=2 * effort.evaluations,
            restarts=max(5, effort.evaluations // 1000),
        )
    )


def _lied_to_others(effort: Effort, subject: Mechanism) -> Part:
    """Search for a lie that takes from others when it raises the liar's claim; the last row of demands is the lie."""

    def margin(instance: Instance) -> float:
        demands, weights = instance.demands[:-1], instance.weights[:-1]
        honest = subject.run(demands, weights)
        margins = []
        for i in range(len(demands)):
            claimed = demands.copy()
            claimed[i] = instance.demands[-1]
            margins.append(lemma_4(honest, subject.run(claimed, weights), i).margin)
        return float(min(margins))

    return searched(
        minimise_margin(
            margin,
            sampler(users=(3, 8), resources=(2, 4), corners=["uniform", "small_integers", "two_kinds", "staircase"]),
            seed=effort.seed,
            evaluations=effort.evaluations // 4,
            restarts=max(5, effort.evaluations // 4000),
            resize=False,
        )
    )


def _deceived(effort: Effort, subject: Mechanism, liars: int, late: bool = False) -> Part:
    """Search for lies, smaller contributions and perhaps a later arrival that pay for all the liars at one time.

    The last rows of demands are the claims, the last weights what the liars bring at most. Every group of users is
    tried as the liars, and a late one at every later place, with its claim and with the truth.
    """

    def margins(instance: Instance) -> FloatArray:
        n = len(instance.demands) - liars
        truth, weights = instance.demands[:n], instance.weights[:n]
        honest = subject.run(truth, weights)
        found = []
        for users in map(list, combinations(range(n), liars)):
            claimed, brought = truth.copy(), weights.copy()
            claimed[users] = instance.demands[n:]
            brought[users] = np.minimum(weights[users], instance.weights[n:])
            for place in range(users[0] + 1, n) if late else users[:1]:
                order = list(range(n))
                order.insert(place, order.pop(users[0]))
                for stated in (claimed, truth) if late else (claimed,):
                    lying = subject.run(stated[order], brought[order])
                    after = [true_tasks(claimed_tasks(lying, order.index(u)), truth[u], stated[u]) for u in users]
                    span = min(len(row) for row in after)
                    gains = [
                        row[-span:] / claimed_tasks(honest, u)[-span:] for row, u in zip(after, users, strict=True)
                    ]
                    found.append(1 - float(np.min(gains, axis=0).max()))
        return np.array(found)

    return searched(
        minimise_margin(
            margins,
            sampler(users=(2 * liars + 1, 4 + liars), resources=(2, 4), zeros=subject.zeros),
            name="lies and smaller contributions",
            seed=effort.seed,
            zeros=subject.zeros,
            evaluations=effort.evaluations // 4,
            restarts=max(5, effort.evaluations // 4000),
            resize=False,
        )
    )


def _small_instances(n: int, entries: tuple[Fraction, ...], amounts: tuple[int, ...]) -> Iterator[tuple[Any, Any]]:
    """All instances with n users and two resources whose normalised demands and weights come from short lists."""
    rows = [(Fraction(1), e) for e in entries] + [(e, Fraction(1)) for e in entries if e != 1]
    for weights in product(amounts, repeat=n):
        for demands in product(rows, repeat=n):
            yield demands, weights


FIGURE_1 = (
    ((Fraction(1), Fraction(1, 2)), (Fraction(1, 2), Fraction(1)), (Fraction(1, 2), Fraction(1))),
    (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)),
)


def _instances(effort: Effort) -> Iterator[tuple[Any, Any]]:
    """The paper's example, then small ones in a fixed order; ``effort.evaluations`` of them at most."""
    yield FIGURE_1
    small = (_small_instances(n, (Fraction(1), Fraction(1, 2), Fraction(1, 4)), (1, 2, 3)) for n in (2, 3, 4))
    for some in small:
        yield from islice(some, effort.evaluations)


def _floats(demands: Any, weights: Any) -> tuple[FloatArray, FloatArray]:
    return np.array([[float(x) for x in row] for row in demands]), np.array([float(w) for w in weights])


def _computes_the_mechanism(subject: Mechanism, effort: Effort, decades: int = 0) -> Part:
    """Compare M^1, ..., M^n with exact oracles until they differ; large contributions spread over some decades."""
    count = 0
    for demands, weights in _instances(effort):
        count += 1
        run = subject.run(*_floats(demands, weights))
        exact = oracle.exact_levels(demands, weights)
        off = np.abs(run.levels / np.array([float(x) for x in exact]) - 1)
        if off.max() > 1e-9:
            k = int(off.argmax()) + 1
            found = Fraction(float(run.levels[k - 1])).limit_denominator(1000)
            use = [Fraction(float(u)).limit_denominator(1000) for u in run.use_at(k)]
            capacity = sum(weights[:k])
            return Part(
                False,
                "witness",
                f"Users {in_words(demands)} with contributions {in_words(weights)}: M^{k} = {found} "
                f"instead of {exact[k - 1]}; in use {in_words(use)} of {capacity}.",
                count,
            )
    rng = stream(effort.seed, 1)
    worst = 0.0
    large = 2 if effort.name == "quick" else 20
    for _ in range(large):
        demands = rng.random((200, 3)) + 1e-3
        weights = 10.0 ** rng.uniform(-decades, 0, 200) * (rng.random(200) + 0.1)
        exact_levels = np.array([float(x) for x in oracle.decimal_levels(demands, weights)])
        worst = max(worst, float(np.abs(subject.run(demands, weights).levels / exact_levels - 1).max()))
    return Part(
        worst < 1e-9,
        "search",
        f"{count} small instances agree with exact fractions; {large} of 200 users and 3 resources, "
        f"contributions spread over {decades + 1} decade{'s' if decades else ''}, agree to 1e-9 with 60 digits.",
        count + large,
    )


# ------------------------------------------------------------------------------------------- lemmas and theorems


def _register(
    name: str,
    locator: str,
    statement: str,
    check: Callable[[Any], Any] | None,
    *,
    kind: Kind,
    proof: str,
    mutant: str,
    mutant_smt: str | None = None,
    variant: str = "as stated",
    mechanism: Mechanism = DMFA_SRQ,
    solver: str | None = None,
    attack: Callable[[Effort, Mechanism], Part] | None = None,
) -> None:
    """Register a statement that the solver settles and the search attacks, by its check or in its own way."""
    known = solver or name.split(".")[0]

    @claim(
        id=f"dmfa_srq.{name}",
        locator=locator,
        kind=kind,
        statement=statement,
        proof=proof,
        variant=variant,
        mechanism=mechanism,
        mutant=replace(_mutant(mutant, mutant_smt), zeros=mechanism.zeros),
    )
    def _check(effort: Effort, subject: Mechanism) -> Evidence:
        parts = [_settled(known, effort, subject)]
        if check is not None:
            parts.append(_attacked(check, effort, subject))
        if attack is not None:
            parts.append(attack(effort, subject))
        return Evidence(tuple(parts))


def _refuted(
    name: str,
    locator: str,
    statement: str,
    solver: str,
    *,
    kind: Kind,
    variant: str,
    mended: Mechanism | str,
    mechanism: Mechanism = DMFA_SRQ,
) -> None:
    """Register a statement that the solver refutes; ``mended`` is the mechanism or the statement that is true."""
    reading = mended if isinstance(mended, str) else solver
    mutant = replace(DMFA_SRQ, name=f"statement {mended}") if isinstance(mended, str) else mended

    @claim(
        id=f"dmfa_srq.{name}",
        locator=locator,
        kind=kind,
        statement=statement,
        variant=variant,
        mechanism=mechanism,
        mutant=mutant,
    )
    def _check(effort: Effort, subject: Mechanism) -> Evidence:
        return Evidence.of(_settled(reading if subject is mutant else solver, effort, subject))


STATIC = Mechanism("static_optimum", static_optimum, smt="may_shrink")
ZEROS = "zero demands allowed"

_register(
    "lemma_1.positive",
    "Lemma 1",
    "Every optimum of (4) has x_i^k = max(M^k w_i, x_i^{k-1}).",
    lemma_1,
    kind="lemma",
    proof="lem-dmfa_srq-1",
    mutant="may_shrink",
)
_refuted(
    "lemma_1.zeros",
    "beyond the paper (Lemma 1)",
    "Every optimum of (4) has x_i^k = max(M^k w_i, x_i^{k-1}).",
    "lemma_1",
    kind="lemma",
    variant=ZEROS,
    mechanism=WITH_ZEROS,
    mended=DMFA_SRQ,
)
_register(
    "lemma_2",
    "Lemma 2",
    "Who came earlier has at least the level of who came later.",
    lemma_2,
    kind="lemma",
    proof="lem-dmfa_srq-2",
    mutant="weights_ignored",
)
_register(
    "lemma_3",
    "Lemma 3",
    "Who has more than i per contribution came before i and has gained nothing since i came.",
    lemma_3,
    kind="lemma",
    proof="lem-dmfa_srq-3",
    mutant="weights_ignored",
)
_refuted(
    "lemma_4.any",
    "Lemma 4",
    "If a lie raises the liar's claimed share at t, nobody present has less at t.",
    "lemma_4_any",
    kind="lemma",
    variant="read for any t with a larger claim",
    mended=STATIC,
)
_register(
    "lemma_4.rises",
    "Lemma 4",
    "When an arrival raises the liar's claimed share above the honest one, nobody present has less.",
    None,
    kind="lemma",
    variant="read for t at which the claim rises",
    proof="lem-dmfa_srq-4",
    mutant="need_favoured",
    mutant_smt="claims_rewarded",
    solver="lemma_4_rises",
    attack=_lied_to_others,
)
_register(
    "theorem_1.positive",
    "Theorem 1",
    "Within W_k nobody can gain without another losing.",
    dynamic_pareto_optimality,
    kind="theorem",
    variant="as stated",
    proof="thm-dmfa_srq-1",
    mutant="capacity_wasted",
)
_refuted(
    "theorem_1.whole_pool",
    "beyond the paper (Theorem 1)",
    "Within the whole pool nobody can gain without another losing.",
    "theorem_1_whole_pool",
    kind="theorem",
    variant="within W_n, before the last arrival",
    mended="theorem_1",
)
_refuted(
    "theorem_1.zeros",
    "beyond the paper (Theorem 1)",
    "Within W_k nobody can gain without another losing.",
    "theorem_1",
    kind="theorem",
    variant=ZEROS,
    mechanism=WITH_ZEROS,
    mended=DMFA_SRQ,
)
_register(
    "theorem_2.positive",
    "Theorem 2",
    "Nobody has less than with what it brought.",
    dynamic_sharing_incentive,
    kind="theorem",
    proof="thm-dmfa_srq-2",
    mutant="weights_ignored",
)
_register(
    "theorem_2.zeros",
    "beyond the paper (Theorem 2)",
    "Nobody has less than with what it brought.",
    dynamic_sharing_incentive,
    kind="theorem",
    variant=ZEROS,
    proof="thm-dmfa_srq-2",
    mutant="weights_ignored",
    mechanism=WITH_ZEROS,
)
_register(
    "theorem_3.positive",
    "Theorem 3",
    "Envy only towards earlier users who have gained nothing since.",
    dynamic_envy_freeness,
    kind="theorem",
    proof="thm-dmfa_srq-3",
    mutant="newest_favoured",
)
_register(
    "theorem_3.zeros",
    "beyond the paper (Theorem 3)",
    "Envy only towards earlier users who have gained nothing since.",
    dynamic_envy_freeness,
    kind="theorem",
    variant=ZEROS,
    proof="thm-dmfa_srq-3",
    mutant="newest_favoured",
    mechanism=WITH_ZEROS,
)
_refuted(
    "theorem_3.printed",
    "Section 4, property 3",
    "Envy, as defined in print, is only towards earlier users who have gained nothing since.",
    "theorem_3_printed",
    kind="theorem",
    variant="definition as printed",
    mended="theorem_3",
)


for _zeros in (False, True):

    @claim(
        id=f"dmfa_srq.theorem_4.{'zeros' if _zeros else 'positive'}",
        locator="beyond the paper (Theorem 4)" if _zeros else "Theorem 4",
        kind="theorem",
        variant=ZEROS if _zeros else "as stated",
        statement="No lie about its demand gives a user more true tasks at any time.",
        proof="thm-dmfa_srq-4",
        mechanism=WITH_ZEROS if _zeros else DMFA_SRQ,
        mutant=replace(_mutant("need_favoured", "claims_rewarded"), zeros=_zeros),
    )
    def _theorem_4(effort: Effort, subject: Mechanism) -> Evidence:
        return Evidence.of(_settled("theorem_4", effort, subject), _lied_to(effort, subject))


@claim(
    id="dmfa_srq.equation_5.positive",
    locator="Equation (5)",
    kind="equation",
    statement="W_k / max_j sum_i w_i d_ij is the static optimum, the level of weighted DRF, and at least M^k.",
    proof="prop-dmfa_srq-static",
    mechanism=replace(STATIC, smt="dmfa_srq"),
    mutant=_mutant("capacity_wasted"),
)
def _equation_5(effort: Effort, subject: Mechanism) -> Evidence:
    rng = stream(effort.seed, 4)
    worst, count = 0.0, effort.evaluations // 20
    for _ in range(count):
        n, m = int(rng.integers(1, 9)), int(rng.integers(1, 5))
        demands, weights = rng.random((n, m)) + 1e-3, 10.0 ** rng.uniform(-3, 0, n)
        pool = np.full(m, weights.sum())
        # drf measures shares of the pool and scales weights to 1, which cancels
        worst = max(
            worst,
            float(np.abs(subject.run(demands, weights).levels_at(n) / drf(demands, weights, pool).levels - 1).max()),
        )
    return Evidence.of(
        _settled("equation_5", effort, subject),
        _settled("dynamic_below_static", effort, subject),
        Part(
            worst < 1e-9,
            "numbers",
            f"Equal to the exact progressive filling on {count} random instances (1e-9).",
            count,
        ),
    )


_refuted(
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


@claim(
    id="dmfa_srq.late_arrival",
    locator="beyond the paper",
    kind="extension",
    statement="Who comes later (the others in the same order), may lie and may bring less never runs more true tasks.",
    proof="thm-dmfa_srq-late",
    mechanism=WITH_ZEROS,
    mutant=replace(_mutant("newest_favoured"), zeros=True),
)
def _late_arrival(effort: Effort, subject: Mechanism) -> Evidence:
    return Evidence.of(_settled("late_arrival", effort, subject), _deceived(effort, subject, 1, late=True))


@claim(
    id="dmfa_srq.coalition",
    locator="beyond the paper",
    kind="extension",
    statement="Users who lie together, and may bring less, never all run more true tasks at one time.",
    proof="thm-dmfa_srq-coalition",
    mechanism=WITH_ZEROS,
    mutant=replace(_mutant("need_favoured", "claims_rewarded"), zeros=True),
)
def _coalition(effort: Effort, subject: Mechanism) -> Evidence:
    return Evidence.of(
        _settled("coalition_both_gain", effort, subject),
        *(
            replace(part, found=f"{liars} users{more}: {part.found}")
            for liars in (2, 3)
            for more, part in (
                ("", _lied_to(effort, subject, liars)),
                (" who may bring less", _deceived(effort, subject, liars)),
            )
        ),
    )


# ------------------------------------------------------------------------------------------------- the algorithms

_PRINTED = {
    "position": "as printed; line 6 pairs the i-th largest value with user i",
    "own": "as printed; line 6 read as the users' own previous amounts",
    "largest": "as printed; line 6 read as the largest value for everyone",
}

for _reading, _variant in _PRINTED.items():

    @claim(
        id=f"dmfa_srq.algorithm_1.{_reading}",
        locator="Algorithm 1",
        kind="algorithm",
        variant=_variant,
        statement="Algorithm 1 computes the optimum of (4).",
        mechanism=Mechanism(
            "algorithm_1_printed",
            partial(algorithm_1_printed, line_6=_reading),  # type: ignore[arg-type]
        ),
        mutant=Mechanism("repaired", partial(algorithm_1_printed, repairs=REPAIRS)),
    )
    def _algorithm_printed(effort: Effort, subject: Mechanism) -> Evidence:
        return Evidence.of(_computes_the_mechanism(subject, effort))


@claim(
    id="dmfa_srq.algorithm_1.repaired",
    locator="Algorithm 1",
    kind="algorithm",
    variant="with the three repairs",
    statement="Algorithm 1 computes the optimum of (4).",
    proof="thm-dmfa_srq-algorithm",
    mechanism=Mechanism("algorithm_1", algorithm_1),
    mutant=Mechanism("without_the_last_repair", partial(algorithm_1_printed, repairs=("levels", "line_6"))),
)
def _algorithm_repaired(effort: Effort, subject: Mechanism) -> Evidence:
    return Evidence.of(_computes_the_mechanism(subject, effort))


@claim(
    id="dmfa_srq.stack",
    locator="beyond the paper",
    kind="extension",
    statement="The stack of groups computes the optimum of (4).",
    proof="thm-dmfa_srq-stack",
    mechanism=DMFA_SRQ,
    mutant=_mutant("capacity_overshot"),
)
def _stack(effort: Effort, subject: Mechanism) -> Evidence:
    return Evidence.of(_computes_the_mechanism(subject, effort, decades=6))


def _merges(levels: FloatArray) -> list[int]:
    """Merges at each arrival, from M^1, ..., M^n alone: groups below that the newcomer reached."""
    stack: list[float] = []
    merges = []
    for level in levels:
        count = 0
        while stack and stack[-1] <= level:
            stack.pop()
            count += 1
        stack.append(float(level))
        merges.append(count)
    return merges


def _no_bisection(demands: FloatArray, weights: FloatArray, *, work: list[int]) -> None:
    """Algorithm 1 without its bisection: every place is tried from the top, each with fresh sums."""
    run = dmfa_srq(demands, weights)
    m = demands.shape[1]
    for k in range(1, len(run) + 1):
        kept = int((run.levels_at(k)[: k - 1] > run.levels[k - 1]).sum())
        work.append(m * k * (kept + 1))


@claim(
    id="dmfa_srq.complexity",
    locator="Section 5",
    kind="complexity",
    variant="m fixed, repaired algorithm",
    statement="n arrivals cost O(n^2 log n).",
    proof="thm-dmfa_srq-algorithm",
    mechanism=Mechanism("algorithm_1", algorithm_1),
    mutant=Mechanism("no_bisection", _no_bisection),
)
def _complexity(effort: Effort, subject: Mechanism) -> Evidence:
    ratios = []
    sizes = (64, 128, 256, 512) if effort.name == "quick" else (64, 128, 256, 512, 1024, 2048)
    for n in sizes:
        demands, weights = _falling_levels(n)
        work: list[int] = []
        subject.run(demands, weights, work=work)
        ratios.append(sum(work) / (n * n * np.log2(n)))
    falls = all(b <= a for a, b in zip(ratios, ratios[1:], strict=False))
    return Evidence.of(
        Part(
            falls,
            "numbers",
            "Entries read, divided by n^2 log2 n, at n = "
            + ", ".join(f"{n}: {r:.2f}" for n, r in zip(sizes, ratios, strict=True))
            + " on instances whose levels fall at every arrival.",
            len(sizes),
        )
    )


def _falling_levels(n: int) -> tuple[FloatArray, FloatArray]:
    """N users whose levels fall from arrival 2 on, so that nothing merges any more: the worst case of a scan.

    The first two leave much of resource 2; each later one is stopped by resource 1, a little earlier than the one
    before.
    """
    falling = 1 + np.arange(n, 0, -1) / (3 * (n + 1))
    demands = np.column_stack([1 / falling, np.ones(n)])
    demands[0], demands[1] = [1, 0.25], [0.25, 1]
    weights = np.ones(n)
    weights[0], weights[1] = n, n / 2
    return demands, weights


def _finer_steps(demands: FloatArray, weights: FloatArray, *, work: list[int]) -> None:
    """Water filling again, in steps ten times as small."""
    for k, level in enumerate(dmfa_srq(demands, weights).levels):
        work.append(demands.shape[1] * (k + 1) * int(np.ceil(level / 0.001)))


@claim(
    id="dmfa_srq.water_filling.small_steps",
    locator="Sections 1, 5",
    kind="number",
    variant="water filling in small equal steps",
    statement="Algorithm 1 takes less time than water filling.",
    mechanism=Mechanism("algorithm_1", algorithm_1),
    mutant=Mechanism("finer_steps", _finer_steps),
)
def _water_small(effort: Effort, subject: Mechanism) -> Evidence:
    rows, ok = [], True
    for n in study.SIZES[: 2 if effort.name == "quick" else 3]:
        demands, weights = study.instance(stream(effort.seed, n, 0), n)
        work: list[int] = []
        subject.run(demands, weights, work=work)
        levels = dmfa_srq(demands, weights).levels
        # a step of 1/100 of what was brought, every user and resource looked at in each step
        steps = sum(2 * (k + 1) * int(np.ceil(level / 0.01)) for k, level in enumerate(levels))
        ok &= sum(work) < steps
        rows.append(f"n = {n}: {sum(work)} against {steps}")
    return Evidence.of(
        Part(
            ok,
            "numbers",
            "Entries read, by count of the lines, Algorithm 1 (repaired) against steps of a hundredth of a level: "
            + "; ".join(rows)
            + ".",
            len(rows),
        )
    )


@claim(
    id="dmfa_srq.water_filling.groups",
    locator="Sections 1, 5",
    kind="number",
    variant="water filling from group to group",
    statement="Algorithm 1 takes less time than water filling.",
    mechanism=Mechanism("algorithm_1", algorithm_1),
    mutant=Mechanism("free_of_charge", lambda demands, weights, work: work.append(0)),
)
def _water_groups(effort: Effort, subject: Mechanism) -> Evidence:
    # what the uses and rates cost before the first rise: summed up afresh over all users, or for the newcomer alone
    ways = {"with all sums made afresh at each arrival": lambda k: k, "with the groups kept": lambda k: 1}
    rows: dict[str, list[str]] = {way: [] for way in ways}
    ok = dict.fromkeys(ways, True)
    for n in study.SIZES[: 2 if effort.name == "quick" else 3]:
        demands, weights = study.instance(stream(effort.seed, n, 0), n)
        work: list[int] = []
        subject.run(demands, weights, work=work)
        merges = _merges(dmfa_srq(demands, weights).levels)
        for way, read in ways.items():
            steps = sum(2 * (read(k) + count + 1) for k, count in enumerate(merges, 1))
            ok[way] &= sum(work) < steps
            rows[way].append(f"n = {n}: {sum(work)} against {steps}")
    return Evidence.of(
        *(
            Part(
                ok[way],
                "numbers",
                f"Entries read, Algorithm 1 (repaired) against water filling {way}: " + "; ".join(rows[way]) + ".",
                len(rows[way]),
            )
            for way in ways
        )
    )


def _equal_steps(levels: list[Fraction]) -> int:
    """Steps of water filling when all are equal and as long as the exact levels allow."""
    return int(sum(levels) * lcm(*(level.denominator for level in levels)))


def _rises_to_groups(levels: list[Fraction]) -> int:
    """Steps of water filling when each goes to the next group or to the end of a resource."""
    return sum(count + 1 for count in _merges(np.array([float(level) for level in levels])))


_EQUAL = Mechanism("equal_steps", _equal_steps)
_GROUPS = Mechanism("rises_to_groups", _rises_to_groups)

for _name, _how, _way, _other in (
    ("small_steps", "in equal steps that meet the levels exactly", _EQUAL, _GROUPS),
    ("groups", "from group to group", _GROUPS, _EQUAL),
):

    @claim(
        id=f"dmfa_srq.water_filling.pseudo_polynomial.{_name}",
        locator="Section 1",
        kind="complexity",
        variant=f"water filling {_how}",
        statement="The time of water filling is not bounded by a polynomial in the length of the input.",
        proof="prop-dmfa_srq-water" if _way is _EQUAL else None,
        mechanism=_way,
        mutant=_other,
    )
    def _pseudo_polynomial(effort: Effort, subject: Mechanism) -> Evidence:
        sizes = (10, 1000, 100_000)
        counts = [subject.run(oracle.exact_levels([[1, Fraction(1, q)], [Fraction(1, q), 1]], [1, 1])) for q in sizes]
        found = "Two users with d = (1, 1/q), (1/q, 1) who bring 1 each: " + ", ".join(
            f"{count} steps at q = {q}" for q, count in zip(sizes, counts, strict=True)
        )
        if all(count > q for q, count in zip(sizes, counts, strict=True)):
            return Evidence.of(Part(True, "numbers", f"{found}: more than q, which has log q digits.", len(sizes)))
        if max(counts) <= 3:
            return Evidence.of(
                Part(False, "witness", f"{found}. A bound for all inputs: 2n - 1 steps of O(m) operations.", len(sizes))
            )
        return Evidence.of(Part(None, "numbers", f"{found}."))


# ------------------------------------------------------------------------------------------------------- figures


@claim(
    id="dmfa_srq.figure_1",
    locator="Figure 1",
    kind="figure",
    mechanism=DMFA_SRQ,
    mutant=_mutant("weights_ignored"),
    statement="Three users get 1/4; then 1/3, 1/3; then 1/3, 1/3, 1/2.",
)
def _figure_1(effort: Effort, subject: Mechanism) -> Evidence:
    run = subject.run(*_floats(*FIGURE_1))
    printed = ([1 / 4], [1 / 3, 1 / 3], [1 / 3, 1 / 3, 1 / 2])
    shares = [run.tasks_at(k) * run.demands[:k].max(axis=1) for k in (1, 2, 3)]
    same = all(np.allclose(a, b, rtol=1e-12) for a, b in zip(shares, printed, strict=True))
    text = "; then ".join(", ".join(str(Fraction(float(x)).limit_denominator(100)) for x in a) for a in shares)
    return Evidence.of(Part(same, "numbers", f"Computed: {text}.", 3))


def _from_the_square(rng: np.random.Generator, n: int) -> FloatArray:
    return rng.random((n, 2))


def _from_the_trace(rng: np.random.Generator, n: int) -> FloatArray:
    return study.instance(rng, n)[0]


@claim(
    id="dmfa_srq.figure_2",
    locator="Figure 2",
    kind="figure",
    statement="The demands of 100 and of 500 users drawn at random from the trace, in the plane of CPU and memory.",
    mechanism=Mechanism("from_the_trace", _from_the_trace),
    mutant=Mechanism("from_the_square", _from_the_square),
)
def _figure_2(effort: Effort, subject: Mechanism) -> Evidence:
    rows = study.trace_requests()
    distances = []
    for n in (100, 500):
        sample = subject.run(stream(effort.seed, n, 0), n)
        for j, name in enumerate(("cpu", "memory")):
            grid = np.unique(rows[name])
            trace = np.array([rows["tasks"][rows[name] <= g].sum() for g in grid]) / rows["tasks"].sum()
            ours = np.searchsorted(np.sort(sample[:, j]), grid, side="right") / n
            distances.append(float(np.abs(trace - ours).max() * np.sqrt(n)))
    return Evidence.of(
        # 1.95 is exceeded by chance once in a thousand draws (Kolmogorov's distribution)
        Part(
            max(distances) < 1.95,
            "numbers",
            "Both samples follow the requests in the trace: largest Kolmogorov distance "
            f"{max(distances):.2f} / sqrt(n).",
            2,
        ),
        Part(None, "numbers", "Nothing to compare: the paper states nothing about its picture."),
    )


def _same_for_all(demands: FloatArray, weights: FloatArray) -> DynamicAllocation:
    """Contributions ignored: everyone is treated as bringing the mean."""
    return dmfa_srq(demands, np.full(len(weights), weights.mean()))


def _rises(frame_of: int) -> Callable[[Effort, Mechanism], Evidence]:
    def check(effort: Effort, subject: Mechanism) -> Evidence:
        frame = study.shares_by_weight(frame_of, effort.runs, effort.seed, mechanism=subject.run)
        mean, falls = np.diff(frame["share"]), frame["falls"].to_numpy()[1:]
        return Evidence.of(
            Part(
                bool((mean > 0).all()),
                "numbers",
                f"Mean over {effort.runs} runs: the share rises at {int((mean > 0).sum())} of "
                f"{len(mean)} steps from one sampled rank to the next.",
                effort.runs,
            ),
            Part(
                bool((falls == 0).all()),
                "numbers",
                f"In single runs it falls at {falls.mean():.1%} of the steps (at one step: {falls.max():.1%}).",
                effort.runs,
            ),
        )

    return check


for _figure, _n in ((3, 100), (4, 500)):
    claim(
        id=f"dmfa_srq.figure_{_figure}",
        locator=f"Figure {_figure}",
        kind="figure",
        statement=f"Among {_n} users the share does not fall as the contribution rises (single runs, and on average).",
        mechanism=DMFA_SRQ,
        mutant=Mechanism("contributions_ignored", _same_for_all),
    )(_rises(_n))


@claim(
    id="dmfa_srq.contribution.across_users",
    locator="Sections 4, 6",
    kind="statement",
    variant="two users of one run",
    statement="Who brings at least as much gets at least as much.",
    mechanism=DMFA_SRQ,
    mutant=Mechanism("static_optimum", static_optimum, smt="may_shrink"),
)
def _contribution_across(effort: Effort, subject: Mechanism) -> Evidence:
    return Evidence.of(_settled("weight_order", effort, subject))


@claim(
    id="dmfa_srq.contribution.own",
    locator="Section 4",
    kind="statement",
    variant="one user brings more, all else equal",
    statement="Who brings more gets no less.",
    proof="ex-dmfa_srq-contribution",
    mechanism=DMFA_SRQ,
    mutant=Mechanism("inverse_weights", lambda demands, weights: dmfa_srq(demands, 1 / weights)),
)
def _contribution_own(effort: Effort, subject: Mechanism) -> Evidence:
    def smallest_change(instance: Instance) -> float:
        before = subject.run(instance.demands, instance.weights).tasks_at(len(instance.weights))
        changes = []
        for i in range(len(before)):
            for factor in (1.01, 3.0):
                more = instance.weights.copy()
                more[i] *= factor
                changes.append(subject.run(instance.demands, more).tasks_at(len(more))[i] / before[i] - 1)
        return float(min(changes))

    return Evidence.of(
        searched(
            minimise_margin(
                smallest_change,
                sampler(users=(1, 6)),
                seed=effort.seed,
                evaluations=max(200, effort.evaluations // 10),
                restarts=10,
            )
        )
    )


@claim(
    id="dmfa_srq.figure_5",
    locator="Figure 5",
    kind="figure",
    mechanism=DMFA_SRQ,
    mutant=Mechanism("static_optimum", static_optimum),
    statement="The minimum dominant share lies below that of static weighted DRF and never below 1.",
)
def _figure_5(effort: Effort, subject: Mechanism) -> Evidence:
    frame = study.curves(effort.runs, effort.seed, mechanism=subject.run)
    rows = frame[frame["measure"] == "min_level"]
    ends = study.end_points(rows)
    gap = ends[ends["mechanism"] == "difference"]
    lowest = min(
        float(subject.run(*study.instance(stream(effort.seed, n, r), n)).levels.min())
        for n in study.SIZES
        for r in range(effort.runs)
    )
    return Evidence.of(
        Part(
            bool((gap["high"] < 0).all()),
            "numbers",
            f"Mean difference after the last arrival ({effort.runs} runs): "
            + ", ".join(f"{r['mean']:.3f} at n = {r['n']}" for _, r in gap.iterrows())
            + ".",
            effort.runs,
        ),
        Part(
            bool((rows[rows["mechanism"] == "difference"]["high"] <= 1e-9).all()),
            "numbers",
            "At no number of users present is the mean above the static one.",
            len(rows) // 3,
        ),
        Part(lowest >= 1 - 1e-9, "numbers", f"Smallest level in any run: {lowest:.6f}.", effort.runs),
    )


def _no_sharing(demands: FloatArray, weights: FloatArray) -> DynamicAllocation:
    """Everyone keeps what it brought."""
    run = dmfa_srq(demands, weights)
    return replace(run, levels=np.ones(len(run)))


NO_SHARING = Mechanism("no_sharing", _no_sharing)


def _relative_gap(effort: Effort, subject: Mechanism, measure: str) -> dict[int, float]:
    frame = study.end_points(study.curves(effort.runs, effort.seed, points=1, mechanism=subject.run))
    wide = frame[frame["measure"] == measure].pivot(index="n", columns="mechanism", values="mean")
    return {int(n): float(gap) for n, gap in (wide["difference"] / wide["static"]).items()}


@claim(
    id="dmfa_srq.figure_6",
    locator="Figure 6",
    kind="figure",
    mechanism=DMFA_SRQ,
    mutant=NO_SHARING,
    statement="The sums of dominant-share units are close (within 5 %, our limit).",
)
def _figure_6(effort: Effort, subject: Mechanism) -> Evidence:
    gaps = _relative_gap(effort, subject, "sum_shares")
    return Evidence.of(
        Part(
            all(abs(g) < 0.05 for g in gaps.values()),
            "numbers",
            f"Relative difference of the means ({effort.runs} runs): "
            + ", ".join(f"{100 * g:.2f} % at n = {n}" for n, g in gaps.items())
            + ".",
            effort.runs,
        )
    )


for _figure, _measure, _name in ((7, "cpu", "CPU"), (8, "memory", "Memory")):

    @claim(
        id=f"dmfa_srq.figure_{_figure}",
        locator=f"Figure {_figure}",
        kind="figure",
        mechanism=DMFA_SRQ,
        mutant=NO_SHARING,
        statement=f"{_name} utilisation is within 0.05 of the static one at the last arrival, closer for larger n.",
    )
    def _utilisation_figure(effort: Effort, subject: Mechanism, measure: str = _measure) -> Evidence:
        frame = study.end_points(study.curves(effort.runs, effort.seed, points=1, mechanism=subject.run))
        rows = frame[(frame["measure"] == measure) & (frame["mechanism"] == "difference")].sort_values("n")
        gaps = rows["mean"].abs().tolist()
        text = ", ".join(f"{mean:+.4f} at n = {n}" for n, mean in zip(rows["n"], rows["mean"], strict=True))
        return Evidence.of(
            Part(max(gaps) < 0.05, "numbers", f"Mean difference ({effort.runs} runs): {text}.", effort.runs),
            Part(
                all(b <= a + 1e-9 for a, b in zip(gaps, gaps[1:], strict=False)),
                "numbers",
                "Sizes: " + ", ".join(f"{gap:.5f}" for gap in gaps) + ".",
                len(gaps),
            ),
        )


@claim(
    id="dmfa_srq.utilisation.on_average",
    locator="Section 6",
    kind="number",
    variant="means over the runs",
    statement="Utilisation is not lower than that of the static optimum.",
    mechanism=DMFA_SRQ,
    mutant=NO_SHARING,
)
def _utilisation_average(effort: Effort, subject: Mechanism) -> Evidence:
    frame = study.end_points(study.curves(effort.runs, effort.seed, points=1, mechanism=subject.run))
    rows = frame[frame["measure"].isin(["cpu", "memory"]) & (frame["mechanism"] == "difference")]
    return Evidence.of(
        Part(
            bool((rows["mean"] >= -1e-9).all()),
            "numbers",
            f"Mean difference ({effort.runs} runs): "
            + ", ".join(f"{r['mean']:+.5f} ({r['measure']}, n = {r['n']})" for _, r in rows.iterrows())
            + ".",
            effort.runs,
        )
    )


@claim(
    id="dmfa_srq.utilisation.always",
    locator="Section 6",
    kind="statement",
    variant="each instance, every resource",
    statement="Utilisation is not lower than that of the static optimum.",
    mechanism=DMFA_SRQ,
    mutant=Mechanism("static_optimum", static_optimum),
)
def _utilisation_always(effort: Effort, subject: Mechanism) -> Evidence:
    count = 0
    for demands, weights in _instances(effort):
        count += 1
        run, static = subject.run(*_floats(demands, weights)), static_optimum(*_floats(demands, weights))
        lost = (static.use_at() - run.use_at()) / static.weights.sum()
        if lost.max() > 1e-9:
            j = int(lost.argmax())
            both = [str(Fraction(float(r.utilisation_at()[j])).limit_denominator(1000)) for r in (run, static)]
            return Evidence.of(
                Part(
                    False,
                    "witness",
                    f"Users {in_words(demands)} with contributions {in_words(weights)}: resource "
                    f"{j + 1} is used to {both[0]}, statically to {both[1]}.",
                    count,
                )
            )
    return Evidence.of(Part(True, "search", f"{count} small instances.", count))
