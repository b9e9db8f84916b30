"""How a statement about DMFA-SRQ is attacked: by search, by lies, by exact oracles."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, islice, product
from typing import Any

import numpy as np

from book.common.claims.registry import Effort, Evidence, Kind, Mechanism, Part, claim
from book.common.evidence import as_data, in_words, sampled, searched
from book.common.instances import Instance, sampler
from book.common.search import minimise_margin, search_instance
from book.dmfa_srq import oracle
from book.dmfa_srq.properties import MUTANTS, lemma_4
from fairbook.mechanisms.pool.dmfa_srq import dmfa_srq, static_optimum
from fairbook.mechanisms.pool.online import DmfaSrq
from fairbook.model.inputs import FloatArray
from fairbook.properties.finding import Trajectory
from fairbook.properties.lies import claimed_tasks, true_tasks

#: The paper's mechanism, the same where demands may be zero, and the static optimum.
DMFA_SRQ = Mechanism("dmfa_srq", dmfa_srq)
WITH_ZEROS = replace(DMFA_SRQ, zeros=True)
STATIC = Mechanism("static_optimum", static_optimum)
POSITIVE, ZEROS = "positive demands", "zero demands allowed"


def broken(name: str) -> Mechanism:
    """A broken version."""
    return Mechanism(name, MUTANTS[name])


# ----------------------------------------------------------------------------------------------- ways of looking


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


def attacked(check: Callable[[Any], Any], effort: Effort, subject: Mechanism) -> Part:
    """Drive the margin of a property down by local search over instances."""
    run = _arrival_by_arrival if subject.run is dmfa_srq else subject.run
    return searched(
        minimise_margin(
            lambda i: check(run(i.demands, weights=i.weights)),
            seed=effort.seed,
            zeros=subject.zeros,
            evaluations=effort.evaluations,
            restarts=max(5, effort.evaluations // 1000),
        )
    )


def lied_to(effort: Effort, subject: Mechanism, liars: int = 1) -> Part:
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


def lied_to_others(effort: Effort, subject: Mechanism) -> Part:
    """Search for a lie that takes from others when it raises the liar's claim; the last row of demands is the lie."""

    def margin(instance: Instance) -> float:
        demands, weights = instance.demands[:-1], instance.weights[:-1]
        honest = subject.run(demands, weights=weights)
        told = [Instance(demands, weights, {i: instance.demands[-1]}).claimed for i in range(len(demands))]
        lying = [subject.run(claimed, weights=weights) for claimed in told]
        return float(min(lemma_4(honest, run, i).margin for i, run in enumerate(lying)))

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


def deceived(effort: Effort, subject: Mechanism, liars: int, late: bool = False, alone: bool = False) -> Part:
    """Search for lies, smaller contributions and perhaps a later arrival that pay for all the liars at one time.

    The last rows of demands are the claims, the last weights what the liars bring at most. Every group of users is
    tried as the liars, and a late one at every later place, with its claim and with the truth. Where the lies may pay
    for the first liar ``alone``, it is enough that the others lose nothing.
    """

    def margins(instance: Instance) -> FloatArray:
        n = len(instance.demands) - liars
        truth, weights = instance.demands[:n], instance.weights[:n]
        honest = subject.run(truth, weights=weights)
        found = []
        for users in map(list, combinations(range(n), liars)):
            claimed, brought = truth.copy(), weights.copy()
            claimed[users] = instance.demands[n:]
            brought[users] = np.minimum(weights[users], instance.weights[n:])
            for place in range(users[0] + 1, n) if late else users[:1]:
                order = list(range(n))
                order.insert(place, order.pop(users[0]))
                for stated in (claimed, truth) if late else (claimed,):
                    lying = subject.run(stated[order], weights=brought[order])
                    after = [true_tasks(claimed_tasks(lying, order.index(u)), truth[u], stated[u]) for u in users]
                    span = min(len(row) for row in after)
                    gains = [
                        row[-span:] / claimed_tasks(honest, u)[-span:] for row, u in zip(after, users, strict=True)
                    ]
                    gained = np.min(gains, axis=0)
                    if alone:
                        gained = np.where(gained > 1 - 1e-12, gains[0], gained)
                    found.append(1 - float(gained.max()))
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


#: Demands and contributions of the paper's example.
FIGURE_1 = (
    ((Fraction(1), Fraction(1, 2)), (Fraction(1, 2), Fraction(1)), (Fraction(1, 2), Fraction(1))),
    (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)),
)


def instances(effort: Effort) -> Iterator[tuple[Any, Any]]:
    """The paper's example, then small ones in a fixed order; ``effort.evaluations`` of them at most."""
    yield FIGURE_1
    small = (_small_instances(n, (Fraction(1), Fraction(1, 2), Fraction(1, 4)), (1, 2, 3)) for n in (2, 3, 4))
    for some in small:
        yield from islice(some, effort.evaluations)


def floats(demands: Any, weights: Any) -> dict[str, FloatArray]:
    """Give an instance in fractions as arrays."""
    return {
        "demands": np.array([[float(x) for x in row] for row in demands]),
        "weights": np.array([float(w) for w in weights]),
    }


def computes_the_mechanism(effort: Effort, subject: Mechanism, decades: int = 0) -> Evidence:
    """Compare M^1, ..., M^n with exact oracles until they differ; large contributions spread over some decades."""
    for count, (demands, weights) in enumerate(instances(effort), 1):
        run = subject.run(**floats(demands, weights))
        exact = oracle.exact_levels(demands, weights)
        off = np.abs(run.lowest / np.array([float(x) for x in exact]) - 1)
        if off.max() > 1e-9:
            k = int(off.argmax()) + 1
            found = Fraction(float(run.lowest[k - 1])).limit_denominator(1000)
            use = [Fraction(float(u)).limit_denominator(1000) for u in run.use_at(k)]
            text = (f"Users {in_words(demands)} with contributions {in_words(weights)}: M^{k} = {found} instead of "
                    f"{exact[k - 1]}; this would use {in_words(use)} where there is {sum(weights[:k])} of each "
                    "resource.")  # fmt: skip
            return Evidence.of(Part(False, "witness", text, count, witness=as_data(demands=demands, weights=weights)))

    def off_by(rng: np.random.Generator, subject: Mechanism, at: int) -> float:
        demands = rng.random((200, 3)) + 1e-3
        weights = 10.0 ** rng.uniform(-decades, 0, 200) * (rng.random(200) + 0.1)
        exact_levels = np.array([float(x) for x in oracle.decimal_levels(demands, weights)])
        return float(np.abs(subject.run(demands, weights=weights).lowest / exact_levels - 1).max())

    large = sampled(
        off_by, effort, subject, key=1, share=2000, least=2, grade="search", right=lambda found: max(found) < 1e-9,
        said=f"{count} small instances agree with exact fractions; {{count}} of 200 users and 3 resources, "
        f"contributions spread over {decades + 1} decade{'s' if decades else ''}, agree to 1e-9 with 60 digits.",
    )  # fmt: skip
    return Evidence.of(replace(large, size=count + large.size))


def attacked_claim(
    name: str,
    locator: str,
    statement: str,
    attack: Callable[[Effort, Mechanism], Part],
    *,
    kind: Kind,
    proof: str,
    mutant: Mechanism,
    variant: str = "as stated",
    mechanism: Mechanism = DMFA_SRQ,
) -> None:
    """Register a statement that a search attacks."""
    claim(
        id=f"dmfa_srq.{name}",
        locator=locator,
        kind=kind,
        statement=statement,
        proof=proof,
        variant=variant,
        mechanism=mechanism,
        mutant=replace(mutant, zeros=mechanism.zeros),
    )(lambda effort, subject: Evidence.of(attack(effort, subject)))
