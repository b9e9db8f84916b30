"""How a statement about one phase under credit is attacked: by search, by sampling, by lies.

A *phase rule* takes demands and credit factors. The searches draw instances with weights; here a weight stands for a
node's credit over C_0, and *records* turn weights into credit factors.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, get_args

import numpy as np

from book.cbdrf.properties import EXACT_PHASES, PHASE_MUTANTS, PHASES
from book.common.claims.registry import Effort, Kind, Mechanism, Part, claim
from book.common.evidence import EXACT, as_data, in_words, margin_in_words, sampled, searched
from book.common.instances import Instance, Sampler, sampler
from book.common.search import lie_gain, lowest, minimise_margin, search_instance
from book.common.shrinking import shrink
from fairbook.mechanisms.readings import Grant
from fairbook.model.allocation import Allocation
from fairbook.model.inputs import RTOL
from fairbook.properties.lies import Lie
from fairbook.properties.static import envy_freeness, pareto_optimality, sharing_incentive

#: (allocation of one phase, credit factors) -> margin, margins or Finding.
Check = Callable[[Allocation, Any], Any]
#: Weights of an instance -> credit factors.
Records = Callable[[Any], Any]


def any_record(weights: Any) -> Any:
    """Credits up to 1; the poor ones have none, now and then all of them."""
    return np.where((weights * 10 < 1) | (weights.max() * 4 < 1), weights * 0, np.minimum(weights, 1))


def someone_with_credit(weights: Any) -> Any:
    """Credits up to 1; the poor ones have none, but never all of them."""
    poor = (weights * 10 < 1) & (weights * 10 < weights.max())
    return np.where(poor, weights * 0, np.minimum(weights, 1))


def karma_credits(weights: Any) -> Any:
    """Karma's credits less 1: from 0 to 1, the largest of them 1."""
    return someone_with_credit(someone_good(weights)) - 1


def someone_good(weights: Any) -> Any:
    """Credits over the largest: somebody is in good standing."""
    return weights / weights.max()


def all_good(weights: Any) -> Any:
    """Ones."""
    return weights / weights


def equal_records(weights: Any) -> Any:
    """The smallest credit for everyone, none where it is poor."""
    return equal_credits(weights) * (weights.min() * 10 >= 1)


def equal_credits(weights: Any) -> Any:
    """The smallest credit for everyone."""
    return np.minimum(weights / weights * weights.min(), 1)


def exact_rule(subject: Mechanism) -> Callable[[Any, Any], Allocation] | None:
    """Give the same rule in exact fractions, if there is one; credits above C_0 count as C_0."""
    rule = EXACT_PHASES.get(subject.name.split(",")[0])
    return None if rule is None else lambda demands, credit: rule(demands, np.minimum(credit, 1))


def _in_numbers(instance: Instance, records: Records) -> str:
    psi = records(instance.weights)
    name, unit = ("psi", "") if max(psi.tolist()) <= 1 else ("credits", " times C_0")
    text = f"demands {in_words(instance.demands.tolist())}, {name} {in_words(psi.tolist())}{unit}"
    for user, claim_ in instance.lies.items():
        text += f", node {user + 1} claims {in_words(claim_.tolist())}"
    return text


def attacked(
    check: Check,
    effort: Effort,
    subject: Mechanism,
    records: Records,
    *,
    strict: bool = False,
    sample: Sampler | None = None,
    explain: Callable[[Instance], str] | None = None,
) -> Part:
    """Drive a margin down over instances and records; a violation is made small and exact where the rule can be."""
    found = minimise_margin(
        lambda i: check(subject.run(i.demands, records(i.weights)), records(i.weights)),
        sample or sampler(zeros=subject.zeros),
        seed=effort.seed,
        zeros=subject.zeros,
        evaluations=effort.evaluations // 2,
        restarts=max(5, effort.evaluations // 1000),
    )
    exact = exact_rule(subject)
    if not found.found:
        demands = "zero demands among them" if subject.zeros else "demands within a factor of a million"
        size = "up to 4 nodes and 3" if sample is not None else "1 to 8 nodes, now and then 50, and 1 to 4"
        margin = (
            f"smallest gain {float(found.margin):.1e}"
            if strict
            else (f"smallest margin {margin_in_words(float(found.margin))}")
        )
        return Part(
            True,
            "search",
            f"Local search over demands and records ({found.evaluations} runs, {found.restarts} restarts; {size} "
            f"resources at the start, {demands}) found nothing; {margin}.",
            found.evaluations,
        )
    if exact is None:
        return searched(found)

    def margin_of(i: Instance) -> Any:
        return lowest(check(exact(i.demands, records(i.weights)), records(i.weights)))

    def told(i: Instance) -> str:
        tasks = exact(i.demands, records(i.weights)).tasks.tolist()
        return f"tasks {in_words(tasks)}" + ("" if strict else f", margin {margin_of(i)}")

    def shown(i: Instance) -> dict[str, Any] | None:
        psi, pool = records(i.weights), in_words([1] * i.demands.shape[1]).translate(str.maketrans("()", "[]"))
        call = f'fb.grant_tasks(demands, psi, capacities={pool}, grant="{subject.name}").tasks'
        if max(psi.tolist()) > 1:
            return None
        if subject.name not in get_args(Grant):
            return as_data(demands=i.demands, psi=psi)
        return as_data(call, exact(i.demands, psi).tasks, demands=i.demands, psi=psi)

    return _witness(found.instance, margin_of, records, told if explain is None else explain, shown)


def _witness(
    instance: Instance,
    margin: Any,
    records: Records,
    told: Callable[[Instance], str],
    shown: Callable[[Instance], dict[str, Any] | None] = lambda instance: None,
) -> Part:
    """Make a violation small; ``told`` gives what comes of the small instance in words, ``shown`` as data."""
    small = shrink(instance, margin)
    if small is None:
        return Part(None, "search", "What the search found does not survive exact arithmetic.")
    return Part(False, "witness", f"{EXACT}{_in_numbers(small, records)}; {told(small)}.", witness=shown(small))


def lied_to(effort: Effort, subject: Mechanism, records: Records) -> Part:
    """Search for an instance, records and a lie that pays; what is found is made small and exact."""
    found = search_instance(
        lambda demands, weights: subject.run(demands, records(weights)),
        seed=effort.seed,
        zeros=subject.zeros,
        evaluations=effort.evaluations,
        restarts=max(5, effort.evaluations // 1000),
    )
    exact = exact_rule(subject)
    if not found.found or exact is None:
        return searched(found)

    def rule(demands: Any, weights: Any) -> Allocation:
        return exact(demands, records(weights))

    def told(i: Instance) -> str:
        details = Lie(rule).details(i.demands, i.weights, i.lies)
        return f"true tasks {in_words(details['lying'])} instead of {in_words(details['honest'])}"

    return _witness(found.instance, lambda i: -lie_gain(rule, i), records, told)


def drawn(check: Check, effort: Effort, subject: Mechanism, records: Records) -> Part:
    """Draw instances and check each; 10 000 at full effort."""
    draw = sampler(zeros=subject.zeros)

    def look(rng: np.random.Generator, judged: Mechanism, done: int) -> Part | bool:
        instance = draw(rng)
        psi = records(instance.weights)
        return lowest(check(judged.run(instance.demands, psi), psi)) >= -RTOL or Part(
            False, "search", f"Violated at instance {done + 1}: {_in_numbers(instance, records)}.", done + 1
        )

    return sampled(look, effort, subject, key=3, share=4, said="Holds on {count} random instances.")


def drawn_lies(effort: Effort, subject: Mechanism, records: Records) -> Part:
    """Draw instances, and on each a liar and three claims; 10 000 instances at full effort."""
    draw = sampler(users=(2, 8), resources=(2, 4), zeros=subject.zeros)
    score = Lie(lambda demands, weights: subject.run(demands, records(weights)))

    def look(rng: np.random.Generator, judged: Mechanism, done: int) -> Part | bool:
        honest = draw(rng)
        i = int(rng.integers(len(honest.demands)))
        truth = honest.demands[i]
        for _ in range(3):
            lie = np.where(truth > 0, truth * np.exp(rng.standard_normal(len(truth))), rng.random(len(truth)))
            if score.gains(honest.demands, honest.weights, {i: lie}).max() > RTOL:
                where = _in_numbers(Instance(honest.demands, honest.weights, {i: lie}), records)
                return Part(False, "search", f"A lie pays at instance {done + 1}: {where}.", done + 1)
        return True

    return sampled(
        look, effort, subject, key=4, share=4, said="No lie pays on {count} random instances with three claims each."
    )


def phase(name: str) -> Mechanism:
    """One phase under a rule of the book."""
    return Mechanism(name, PHASES[name])


def broken(name: str) -> Mechanism:
    """One phase under a rule that is broken."""
    return Mechanism(name, PHASE_MUTANTS[name])


#: The rules of the book, phase by phase.
SCALED, WEIGHTED, CAPPED, DRF, KARMA = map(phase, ("scaled", "weighted", "capped", "drf", "karma"))


def _literally(check: Callable[[Allocation], Any]) -> Check:
    """Let a check ignore the records."""
    return lambda allocation, factor: check(allocation)


#: The literal properties, whatever the records.
LITERAL_SI = _literally(sharing_incentive)
LITERAL_EF = _literally(envy_freeness)
LITERAL_PE = _literally(pareto_optimality)


def of_drf(allocation: Allocation, factor: Any) -> Any:
    """Give the tasks of each node as a part of what DRF gives it, exactly where they are exact."""
    rule = (EXACT_PHASES if allocation.tasks.dtype == object else PHASES)["drf"]
    return allocation.tasks / rule(allocation.demands, factor).tasks


def strictly(gain: Any) -> Any:
    """Margin of a strict gain: itself where positive beyond the last bits of a float, else -1."""
    return gain if gain > (0 if isinstance(gain, Fraction) else 1e-14) else -1


def below_drf(allocation: Allocation, factor: Any) -> Any:
    """Margin: by which part punished nodes stand below their DRF amount."""
    part = [strictly(1 - x) for x, psi in zip(of_drf(allocation, factor), factor, strict=True) if psi < 1]
    return np.array(part or [np.inf])


def about_a_phase(
    name: str,
    locator: str,
    statement: str,
    check: Check | None,
    *,
    subject: Mechanism = SCALED,
    mutant: Mechanism,
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
    def _check(effort: Effort, judged: Mechanism) -> Iterator[Part]:
        if check is None:
            yield lied_to(effort, judged, records)
        else:
            yield attacked(check, effort, judged, records, strict=strict)
        if sample:
            yield drawn_lies(effort, judged, records) if check is None else drawn(check, effort, judged, records)
