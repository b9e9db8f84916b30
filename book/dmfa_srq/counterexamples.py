"""Statements about DMFA-SRQ that fail, each on one instance that can be checked by hand: judged in exact fractions."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from book.common.claims.registry import Effort, Evidence, Kind, Mechanism, claim
from book.common.evidence import EXACT, as_data, computed, in_words
from book.dmfa_srq.properties import MUTANTS, reference
from fairbook.properties.dynamic import dynamic_envy_freeness, dynamic_pareto_optimality
from fairbook.properties.finding import Finding, Trajectory
from fairbook.properties.lies import true_tasks

#: (demands, weights) -> the run that is judged, whether the statement holds in it, what is seen in words.
Judge = Callable[[Any, Any], tuple[Trajectory, bool, str]]
#: The mechanism and the static optimum, in fractions.
Rule = Callable[[Any, Any], Trajectory]
static: Rule = MUTANTS["may_shrink"]
#: What a liar claims.
LIE = [Fraction(1, 2), Fraction(1)]


def _found(run: Trajectory, finding: Finding) -> tuple[Trajectory, bool, str]:
    witness = finding.witness or {}
    text = f"After arrival {witness['step']} user {witness['user'] + 1} could have more" if witness else ""
    return run, finding.holds, text


def pareto(demands: Any, weights: Any, rule: Rule = reference) -> tuple[Trajectory, bool, str]:
    """Whether nobody can gain without another losing; what gives somebody more is as good for the lowest level."""
    run = rule(demands, weights)
    return _found(run, dynamic_pareto_optimality(run))


def where_positive(judge: Judge) -> Judge:
    """The same where zero demands are small ones."""
    return lambda demands, weights: judge([[x or Fraction(1, 10) for x in row] for row in demands], weights)


def whole_pool(demands: Any, weights: Any) -> tuple[Trajectory, bool, str]:
    """Whether the first user alone can gain within what all will have brought; demands are positive."""
    run, pool = reference(demands, weights), sum(weights)
    used = max(run.use_at(1))
    return run, used >= pool, f"After arrival 1 user 1 uses {used} of {pool}"


def printed_envy(demands: Any, weights: Any) -> tuple[Trajectory, bool, str]:
    """Whether envy as printed, N_i(A_i) / w_h > N_i(A_i) / w_i, is never towards the later of two users."""
    run = reference(demands, weights)
    tasks = run.tasks_at(2)[0]
    text = (f"After arrival 2 user i = 1 runs {tasks} tasks, {tasks / weights[1]} by the weight of user h = 2 and "
            f"{tasks / weights[0]} by its own")  # fmt: skip
    return run, tasks / weights[1] <= tasks / weights[0], text


def envy(demands: Any, weights: Any) -> tuple[Trajectory, bool, str]:
    """Whether envy as meant is only towards earlier users who have gained nothing since."""
    run = reference(demands, weights)
    return _found(run, dynamic_envy_freeness(run))


def more_for_more(demands: Any, weights: Any, rule: Rule = reference) -> tuple[Trajectory, bool, str]:
    """Whether after the last arrival the last user, who brings more, has at least what the first one has."""
    run, n = rule(demands, weights), len(weights)
    first, *_, last = run.tasks_at()
    text = f"User {n} brings {weights[-1]} and has {last} after arrival {n}; user 1 brings {weights[0]} and has {first}"
    return run, last >= first, text


def _lying(liar: int, demands: Any, weights: Any, rule: Rule) -> tuple[Trajectory, Trajectory]:
    claimed = [LIE if i == liar else row for i, row in enumerate(demands)]
    return rule(demands, weights), rule(claimed, weights)


def nobody_loses(demands: Any, weights: Any, rule: Rule = reference) -> tuple[Trajectory, bool, str]:
    """Whether all present keep what they have, whenever user 1 claims (1/2, 1) and has a larger claimed share."""
    honest, lying = _lying(0, demands, weights, rule)
    for t in range(1, len(weights) + 1):
        before, after = honest.levels_at(t), lying.levels_at(t)
        if after[0] > before[0]:
            less = [f"user {h} has {b} instead of {a}" for h, (a, b) in enumerate(zip(before, after), 1) if b < a]
            if less:
                text = f"User 1 claims {in_words(LIE)} and has {after[0]} instead of {before[0]} after arrival {t}"
                return honest, False, f"{text}, {', '.join(less)}"
    return honest, True, ""


def nobody_gains(demands: Any, weights: Any, rule: Rule = reference) -> tuple[Trajectory, bool, str]:
    """Whether nobody has more at the end when user 2 claims (1/2, 1) and loses no true tasks by it."""
    honest, lying = _lying(1, demands, weights, rule)
    before, after = honest.tasks_at(), lying.tasks_at()
    true = true_tasks(after[1], honest.demands[1], lying.demands[1])
    more = [f"user {h + 1} has {b} instead of {a}" for h, (a, b) in enumerate(zip(before, after)) if h != 1 and b > a]
    text = f"User 2 claims {in_words(LIE)} and runs {true} true tasks, honestly {before[1]}; {', '.join(more)}"
    return honest, true < before[1] or not more, text


def refuted_claim(
    name: str,
    locator: str,
    statement: str,
    judge: Judge,
    *,
    kind: Kind,
    weights: str,
    demands: str,
    mended: Judge,
    variant: str = "as stated",
) -> None:
    """Register a statement that fails on one instance; ``mended`` judges by a reading or a rule with which it holds.

    Weights and demands are text: numbers with spaces between them, and a comma after each user's demands.
    """
    brought = [Fraction(w) for w in weights.split()]
    rows = [[Fraction(x) for x in row.split()] for row in demands.split(",")]

    @claim(
        id=f"dmfa_srq.{name}",
        locator=locator,
        kind=kind,
        statement=statement,
        variant=variant,
        mechanism=Mechanism("as stated", judge),
        mutant=Mechanism("mended", mended),
    )
    def _check(effort: Effort, subject: Mechanism) -> Evidence:
        run, holds, text = subject.run(rows, brought)
        levels = [run.levels_at(k).tolist() for k in range(1, len(brought) + 1)]
        found = f"{EXACT}weights {in_words(brought)}, demands {in_words(rows)}, levels {in_words(levels)}. {text}."
        call = "[fb.dmfa_srq(demands, weights=weights).levels_at(k) for k in range(1, len(weights) + 1)]"
        return Evidence.of(computed(holds, found, 1, as_data(call, levels, weights=brought, demands=rows)))
