"""The claims of the GDRF paper (2016): its measures and algorithms, what section 2.4 says of fairness, its figures.

Statements about rules are asked in whole numbers, where every comparison can be decided exactly; a refuted statement
has a witness of a few numbers that was judged in fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from book.common.evidence import in_words, margin_in_words, witnessed
from book.common.packing import packs
from book.common.runs import stream
from book.gdrf import studies as study
from book.gdrf.oracle import most_tasks, same_mix, sign_of_product
from book.gdrf.oracle_drfh import fluid_share
from book.gdrf.properties import (
    BROKEN,
    RULES,
    Case,
    Outcome,
    Queue,
    Rule,
    cases,
    compare_with_judge,
    envy_in_queue,
    envy_up_to_one,
    first_round,
    fluid_slack,
    gain_of_lie,
    held_after,
    least_used_first,
    level_within_one,
    maximality,
    pareto_optimality,
    printed_algorithm,
    queue_rounds,
    roomy_machine,
    rounds_of_one,
    search_case,
    search_lie_in,
    shares_in_queue,
    sharing_incentive,
    side_by_side,
    slots_lost_by_lie,
)
from fairbook import metrics
from fairbook.claims.registry import FULL, Effort, Evidence, Kind, Mechanism, Part, claim
from fairbook.mechanisms.drfh import drfh

Vector = Sequence[Any]


def _own_parts(case: Case, exact: bool) -> Outcome:
    """Everybody alone on its n-th part of every machine, in whole tasks."""
    n = len(case.demands)
    placed = []
    for i, need in enumerate(case.demands):
        for j, machine in enumerate(case.machines):
            runs = min(int(Fraction(c) / n // d) for c, d in zip(machine, need, strict=True) if d)
            placed += [(i, j)] * runs
    return Outcome.of(case, placed)


def _rule(name: str) -> Mechanism:
    return Mechanism(name, (RULES | BROKEN | {"each on its part": _own_parts})[name])


# ------------------------------------------------------------------------------------------- measures, (4) to (8)


def _sum_of_four(used: Vector, capacity: Vector) -> Any:
    """(4) as printed, term by term."""
    size = sum(capacity)
    return sum(Fraction(c) / size * (Fraction(u) / c) for u, c in zip(used, capacity, strict=True) if c)


def _plain_mean(used: Vector, capacity: Vector) -> Any:
    """Mean of the utilisations, without weights."""
    return sum(Fraction(u) / c for u, c in zip(used, capacity, strict=True) if c) / sum(1 for c in capacity if c)


@claim(
    id="gdrf.utilisation_weight",
    locator="Equations (4), (5)",
    kind="equation",
    statement="The weighted utilisation w of a machine is the amount in use as a part of the amount that there is.",
    proof="lem-gdrf-utilisation",
    mechanism=Mechanism("equation (4)", _sum_of_four),
    mutant=Mechanism("plain mean", _plain_mean),
)
def _utilisation(effort: Effort, judged: Mechanism) -> Evidence:
    rng, count = stream(effort.seed, 11), effort.evaluations // 10
    agree = True
    for _ in range(count):
        capacity = rng.integers(0, 9, int(rng.integers(1, 5)))
        capacity[0] = max(capacity[0], 1)
        used = [int(rng.integers(0, c + 1)) for c in capacity.tolist()]
        agree = agree and judged.run(used, capacity.tolist()) == Fraction(sum(used), int(capacity.sum()))
    return Evidence.of(Part(agree, "numbers", f"Compared in fractions on {count} random machines.", count))


def _weight(demand: Vector, pool: Vector) -> Fraction:
    shares = [Fraction(d) / s for d, s in zip(demand, pool, strict=True)]
    return sum(shares, Fraction(0)) / max(shares)


def _total_share(demand: Vector, pool: Vector) -> Fraction:
    return sum((Fraction(d) / s for d, s in zip(demand, pool, strict=True)), Fraction(0))


@claim(
    id="gdrf.weight_scale",
    locator="Section 1.2",
    kind="statement",
    statement="The higher the weight (6) of a user, the larger is the amount of resources of one of its machines.",
    mechanism=Mechanism("GDRW (6)", _weight),
    mutant=Mechanism("sum of shares", _total_share),
)
def _weight_scale(effort: Effort, judged: Mechanism) -> Evidence:
    pool, small, large = (10, 10), (1, 1), (4, 1)
    a, b = judged.run(small, pool), judged.run(large, pool)
    return Evidence.of(
        Part(
            not (a > b and sum(small) < sum(large)),
            "witness",
            f"In a cell of {pool}, a machine of {small} has the weight {a} and the amount {sum(small)}; "
            f"one of {large} has the weight {b} and the amount {sum(large)}.",
            1,
        )
    )


def _seven(y: Vector, beta: float, lam: float) -> float:
    return metrics.joe_wong_fairness(list(y), beta, lam)


def _seven_tied(y: Vector, beta: float, lam: float) -> float:
    return metrics.joe_wong_fairness(list(y), beta, (1 - beta) / beta)


def _positive(rng: np.random.Generator) -> Any:
    return rng.uniform(0.01, 0.5, int(rng.integers(2, 7)))


@claim(
    id="gdrf.limit.left",
    locator="Section 1.3",
    kind="equation",
    variant="lambda = w fixed, from the left, k the number of users",
    statement="(8) is the limit of (7) as beta tends to 1.",
    proof="prop-gdrf-limit",
    mechanism=Mechanism("(7), lambda fixed", _seven),
    mutant=Mechanism("(7), lambda = (1 - beta)/beta", _seven_tied),
)
def _left(effort: Effort, judged: Mechanism) -> Evidence:
    rng, count, worst = stream(effort.seed, 12), effort.evaluations // 10, 0.0
    for _ in range(count):
        y, w = _positive(rng), float(rng.uniform(0.1, 1))
        limit = metrics.placement_fairness(y.sum(), w, k=len(y))
        worst = max(worst, abs(judged.run(y, 1 - 1e-9, w) / float(limit) - 1))
    return Evidence.of(
        Part(
            worst < 1e-6,
            "numbers",
            f"At beta = 1 - 1e-9 the largest relative difference on {count} random allocations is {worst:.1g}.",
            count,
        )
    )


def _ordered_as_proportional(judged: Mechanism, pairs: Sequence[tuple[Any, Any]]) -> int:
    """Pairs that (7) orders near beta = 1 otherwise than the sum of logarithms does."""
    wrong = 0
    for y, z in pairs:
        better = np.log(y).sum() > np.log(z).sum()
        for beta in (1 - 1e-7, 1 + 1e-7):
            wrong += (judged.run(y, beta, 0.5) > judged.run(z, beta, 0.5)) != better
    return wrong


@claim(
    id="gdrf.limit.proportional",
    locator="Section 1.3",
    kind="statement",
    variant="lambda fixed",
    statement="As beta tends to 1, (7) judges by proportional fairness.",
    mechanism=Mechanism("(7), lambda fixed", _seven),
    mutant=Mechanism("(7), lambda = (1 - beta)/beta", _seven_tied),
)
def _proportional(effort: Effort, judged: Mechanism) -> Evidence:
    y, z = (0.5, 0.5), (0.98, 0.04)
    wrong = _ordered_as_proportional(judged, [(y, z)])
    below, above = (tuple(judged.run(x, beta, 0.5) for x in (y, z)) for beta in (1 - 1e-7, 1 + 1e-7))
    return Evidence.of(
        Part(
            wrong == 0,
            "witness",
            f"{y} and {z} have the products {np.prod(y):.4g} and {np.prod(z):.4g} and the totals {sum(y):.4g} and "
            f"{sum(z):.4g}. With lambda = 1/2, (7) is {in_words(below)} just below beta = 1, {in_words(above)} just "
            f"above: of these two comparisons {wrong} {'goes' if wrong == 1 else 'go'} against the product.",
            1,
        )
    )


@claim(
    id="gdrf.limit.tied",
    locator="beyond the paper (section 1.3 restated)",
    kind="extension",
    variant="lambda = (1 - beta)/beta",
    statement="As beta tends to 1, (7) judges by proportional fairness if lambda is tied to beta.",
    proof="prop-gdrf-limit",
    mechanism=Mechanism("(7), lambda = (1 - beta)/beta", _seven_tied),
    mutant=Mechanism("(7), lambda fixed", _seven),
)
def _tied(effort: Effort, judged: Mechanism) -> Evidence:
    rng, count = stream(effort.seed, 13), effort.evaluations // 10
    pairs: list[tuple[Any, Any]] = []
    while len(pairs) < count:
        y = _positive(rng)
        z = rng.uniform(0.01, 0.5, len(y))
        if abs(np.log(y).sum() - np.log(z).sum()) > 1e-3:  # nearer ones need a beta still nearer to 1
            pairs.append((y, z))
    wrong = _ordered_as_proportional(judged, pairs)
    return Evidence.of(
        Part(
            wrong == 0,
            "numbers",
            f"Compared on {count} random pairs of allocations, on both sides of beta = 1; {wrong} comparisons differ.",
            count,
        )
    )


def _eight(y: Vector, w: Fraction) -> list[tuple[Fraction, Fraction]]:
    """Give f as factors (base, exponent)."""
    return [(sum(y, Fraction(0)), w)]


def _product(y: Vector, w: Fraction) -> list[tuple[Fraction, Fraction]]:
    return [(Fraction(x), Fraction(1)) for x in y]


def _larger(a: Sequence[tuple[Fraction, Fraction]], b: Sequence[tuple[Fraction, Fraction]]) -> int:
    """Sign of the difference of two products of powers; 0^0 is 1, and any other power of 0 is 0."""
    zero = [any(not base and exponent for base, exponent in product) for product in (a, b)]
    if any(zero):
        return zero[1] - zero[0]
    return sign_of_product([(x, e) for x, e in (*a, *((base, -exponent) for base, exponent in b)) if x])


@claim(
    id="gdrf.f.blind",
    locator="Section 1.3",
    kind="statement",
    statement="The larger f (8), the fairer is the division of a machine.",
    mechanism=Mechanism("f (8)", _eight),
    mutant=Mechanism("product of shares", _product),
)
def _blind(effort: Effort, judged: Mechanism) -> Evidence:
    even, uneven, w = [Fraction(1, 2)] * 2, [Fraction(99, 100), Fraction(1, 100)], Fraction(1, 2)
    sign = _larger(judged.run(even, w), judged.run(uneven, w))
    said = {0: "the same value as", 1: "a larger value than", -1: "a smaller value than"}[sign]
    return Evidence.of(
        Part(sign > 0, "witness", f"Shares of {in_words(even)} on a machine have {said} {in_words(uneven)}.", 1)
    )


def _f_after(shares: Fraction, used: Fraction) -> list[tuple[Fraction, Fraction]]:
    return [(shares, used)]


def _share_after(shares: Fraction, used: Fraction) -> list[tuple[Fraction, Fraction]]:
    return [(shares, Fraction(1))]


@claim(
    id="gdrf.f.empty",
    locator="beyond the paper (section 1.3)",
    kind="extension",
    statement="On a machine that is a small part of the cell (all its shares together at most exp(-|S|/min S)) every "
    "task lowers f, so an idle cell has the largest mean of f.",
    proof="prop-gdrf-empty",
    mechanism=Mechanism("f (8)", _f_after),
    mutant=Mechanism("sum of shares", _share_after),
)
def _empty(effort: Effort, judged: Mechanism) -> Evidence:
    rng, count, falls = stream(effort.seed, 14), effort.evaluations // 20, True
    for _ in range(count):
        m = int(rng.integers(1, 4))
        capacity = [Fraction(int(c)) for c in rng.integers(4, 20, m)]
        pool = [Fraction(int(x)) for x in rng.integers(400, 500, m)]
        bound = Fraction(np.exp(-float(sum(pool)) / float(min(pool)))) * Fraction(999, 1000)
        while sum((c / s for c, s in zip(capacity, pool, strict=True)), Fraction(0)) > bound:
            pool = [2 * s for s in pool]
        free, shares, used = list(capacity), Fraction(0), Fraction(0)
        while True:
            need = [Fraction(int(d)) for d in rng.integers(1, 4, m)]
            if any(d > f for d, f in zip(need, free, strict=True)):
                break
            free = [f - d for f, d in zip(free, need, strict=True)]
            top = max(d / s for d, s in zip(need, pool, strict=True))
            step = sum(need, Fraction(0)) / sum(capacity)
            before = judged.run(shares, used)
            shares, used = shares + top, used + step
            falls = falls and _larger(judged.run(shares, used), before) < 0
    return Evidence.of(Part(falls, "numbers", f"{count} random machines filled task by task, compared exactly.", count))


# ----------------------------------------------------------------------------------------------- the queue, 2.2 and 2.4


def _queue(demands: Any, rounds: int, exact: bool, skips: int | None = None) -> Queue:
    return queue_rounds(demands, rounds, exact=exact, skips=skips)


def _users(rng: np.random.Generator, at: int, low: int, high: int) -> tuple[tuple[int, ...], ...]:
    """Draw 2 to 6 users; every fourth time all but the first with zeros, and up to 10^6 times as large."""
    n, m = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    demands = rng.integers(low, high + 1, (n, m))
    if at % 4 == 3:
        demands[1:] *= rng.integers(0, 2, (n - 1, m)) * 10 ** rng.integers(0, 7, (n - 1, 1))
        demands[1:, 0] += demands[1:].sum(axis=1) == 0
    return tuple(map(tuple, demands.tolist()))


def _about_the_queue(
    name: str,
    locator: str,
    statement: str,
    check: Callable[..., Any],
    proof: str,
    *,
    kind: Kind = "statement",
    largest: int = 9,
) -> None:
    """Register a statement about Algorithm 2 where nothing ever fails to fit."""

    @claim(
        id=f"gdrf.{name}",
        locator=locator,
        kind=kind,
        statement=statement,
        proof=proof,
        mechanism=Mechanism("queue of GDRF", _queue),
        mutant=Mechanism("queue that passes one user over", partial(_queue, skips=0)),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        rng, count, least = stream(effort.seed, 15), effort.evaluations // 20, None
        for at in range(count):
            demands = _users(rng, at, 1 if at % 2 else largest - 1, largest)  # similar users in every other case
            queue = judged.run(demands, 12, at % 10 == 0)
            margin = check(demands, queue) if check is envy_in_queue else check(queue)
            if margin < 0:
                return Evidence.of(Part(False, "witness", f"Users {demands}: margin {margin}.", at + 1))
            least = margin if least is None else min(least, margin)
        return Evidence.of(
            Part(
                True,
                "numbers",
                f"{count} random sets of 2 to 6 users, a quarter of them with zeros and far apart, through 12 rounds, "
                f"counted in whole numbers (every tenth placed in fractions): smallest margin {least}.",
                count,
            )
        )


_about_the_queue(
    "round_one", "Section 2.4", "The first round gives every user a slot.", first_round, "thm-gdrf-first-round"
)
_about_the_queue(
    "rounds.similar",
    "Section 2.4",
    "Where amounts lie within a factor 1 + eps, every round before round 1 + 1/eps gives everybody one slot.",
    rounds_of_one,
    "prop-gdrf-rounds",
)
_about_the_queue(
    "queue",
    "Section 2.2, Algorithm 2",
    "At the end of a round that all are in, nobody has more resource than another by more than its own last task.",
    level_within_one,
    "thm-gdrf-queue",
    kind="algorithm",
)
_about_the_queue(
    "envy.one",
    "beyond the paper (section 2.4)",
    "At the end of a round that all are in, nobody could run more tasks than it has on what another holds, "
    "less one task of the other.",
    envy_in_queue,
    "thm-gdrf-envy",
    kind="extension",
)


def _counted(
    demands: Any, rounds: int, room: Any, *, least: str = "amount", exact: bool = False, skips: int | None = None
) -> Queue:
    return queue_rounds(demands, rounds, exact=exact, room=room, least=least, skips=skips)


@claim(
    id="gdrf.shares",
    locator="beyond the paper (section 1.1)",
    kind="extension",
    statement="At the end of a round that all are in, a dominant share, less one task, is at most |S|/min S times any "
    "other; and two users reach this factor.",
    proof="prop-gdrf-shares",
    mechanism=Mechanism("queue of GDRF", _counted),
    mutant=Mechanism("queue that passes one user over", partial(_counted, skips=0)),
)
def _apart(effort: Effort, judged: Mechanism) -> Evidence:
    rng, count, least = stream(effort.seed, 22), effort.evaluations // 20, None
    for at in range(count):
        demands = _users(rng, at, 1, 9)
        room = roomy_machine(demands, 12, rng.integers(1, 6, len(demands[0])).tolist())
        margin = shares_in_queue(demands, room, judged.run(demands, 12, room))
        least = margin if least is None else min(least, margin)
    reached, cell = ((1, 0), (1, 2)), (300, 600)
    slots = held_after(judged.run(reached, 12, cell))[-1]
    tops = [max(Fraction(t * d, s) for d, s in zip(row, cell, strict=True))
            for t, row in zip(slots, reached, strict=True)]  # fmt: skip
    return Evidence.of(
        Part(
            least is not None and least >= 0,
            "numbers",
            f"{count} random sets of 2 to 6 users through 12 rounds, cells of many shapes: smallest margin "
            f"{float(least or 0):.3g}.",
            count,
        ),
        Part(
            tops[0] == tops[1] * Fraction(sum(cell), min(cell)),
            "numbers",
            f"In a cell of {cell}, users {in_words(reached)} have {slots[0]} and {slots[1]} slots after 12 rounds, "
            f"dominant shares {tops[0]} and {tops[1]}.",
            1,
        ),
    )


@claim(
    id="gdrf.lie.slots",
    locator="Section 2.4 restated",
    kind="statement",
    variant="while all are in",
    statement="A user who overstates its demand has at no end of a round more slots than with the truth.",
    proof="prop-gdrf-lie",
    mechanism=Mechanism("queue of GDRF", _counted),
    mutant=Mechanism("least dominant share", partial(_counted, least="dominant_share")),
)
def _slots(effort: Effort, judged: Mechanism) -> Evidence:
    rng, count = stream(effort.seed, 23), effort.evaluations // 20
    for at in range(count):
        demands = _users(rng, at, 1, 5)
        more = rng.integers(0, 4, len(demands[0])).tolist()
        said = tuple(d + more for d, more in zip(demands[0], more, strict=True))
        if at == 0:  # a tie for the last slot of a round, which the larger GDRW wins
            demands, said = ((4, 1), (4, 2), (2, 2)), (4, 3)
        lost = slots_lost_by_lie(demands, said, 12, judged.run)
        if lost < 0:
            return Evidence.of(
                Part(False, "witness", f"Users {in_words(demands)}: saying {in_words(said)} gains {-lost} slots.", 1)
            )
    return Evidence.of(
        Part(True, "numbers", f"{count} random sets of 2 to 6 users through 12 rounds: no lie gains a slot.", count)
    )


# ------------------------------------------------------------------------------------------------ Algorithm 3 and 2.4


def _course(outcome: Outcome) -> str:
    """Write where the tasks go, in the order of placing."""
    return ", ".join(f"{i + 1} on {j + 1}" for i, j in outcome.placed) or "nothing"


def _free(case: Case, outcome: Outcome) -> list[tuple[Any, ...]]:
    """Give what is left of each machine."""
    return [
        tuple(c - sum(case.demands[i][r] for i, at in outcome.placed if at == j) for r, c in enumerate(machine))
        for j, machine in enumerate(case.machines)
    ]


def _past_a_less_used_one(case: Case, outcome: Outcome) -> str:
    """Name the first task that goes past a less used machine, and f and the use of each machine before it."""
    firsts = [Outcome.of(case, outcome.placed[:t]) for t in range(len(outcome.placed) + 1)]
    before = next(a for a, b in zip(firsts, firsts[1:], strict=False) if least_used_first(case, b) < 0)
    words = []
    for j, (machine, free) in enumerate(zip(case.machines, _free(case, before), strict=True)):
        tops = [max(Fraction(d, s) for d, s in zip(case.demands[i], case.pool, strict=True))
                for i, at in before.placed if at == j]  # fmt: skip
        shares, used = sum(tops, Fraction(0)), 1 - Fraction(sum(free), sum(machine))
        words.append(f"machine {j + 1} has f = ({shares})^({used}) = {float(shares) ** float(used):.3f}")
    task = len(before.placed)
    return (f"Before task {task + 1}, which goes to machine {outcome.placed[task][1] + 1}, {', '.join(words)}; "
            "the exponent is the part in use")  # fmt: skip


def _room(case: Case, outcome: Outcome) -> str:
    """Name who has room on which machine, and the resource of which each has the largest share."""
    left = _free(case, outcome)
    room = [f"user {i + 1} on machine {j + 1}" for i, need in enumerate(case.demands) for j, free in enumerate(left)
            if all(d <= f for d, f in zip(need, free, strict=True))]  # fmt: skip
    shares = ([[Fraction(x, s) for x, s in zip(row, case.pool, strict=True)] for row in rows]
              for rows in (case.demands, case.machines))  # fmt: skip
    users, machines = (in_words([row.index(max(row)) + 1 for row in rows]) for rows in shares)
    return (f"Left is {in_words(left)}: room for {', '.join(room)}. The resource of the largest share is {users} for "
            f"the users, {machines} for the machines")  # fmt: skip


def _better(case: Case, outcome: Outcome) -> str:
    """Give a placement in which one user has a task more and all others keep theirs, found by trying all."""
    for i in range(len(case.demands)):
        users = [h for h, has in enumerate(outcome.tasks) for _ in range(has + (h == i))]
        for places in product(range(len(case.machines)), repeat=len(users)):
            other = Outcome.of(case, list(zip(users, places, strict=True)))
            if min(map(min, _free(case, other))) >= 0:
                return f"Better is {_course(other)}"
    return "Nothing is better"


def _envied(case: Case, outcome: Outcome) -> str:
    """Say what each could run on what another holds, less one task of the other."""
    pairs = [(i, h) for i in range(len(case.demands)) for h in range(len(case.demands)) if i != h and outcome.tasks[h]]
    held = {h: [(outcome.tasks[h] - 1) * d for d in case.demands[h]] for _, h in pairs}
    runs = {(i, h): min(Fraction(x, d) for x, d in zip(held[h], case.demands[i], strict=True) if d) for i, h in pairs}
    i, h = min(pairs, key=lambda pair: outcome.tasks[pair[0]] - runs[pair])
    return (f"Left is {in_words(_free(case, outcome))}. On {in_words(tuple(held[h]))}, what user {h + 1} holds less "
            f"one task, user {i + 1} could run {runs[i, h]}; it has {outcome.tasks[i]}")  # fmt: skip


def _alone(case: Case, outcome: Outcome) -> str:
    return f"Each on its part of every machine, they would run {in_words(_own_parts(case, True).tasks)}"


def _about_outcomes(
    name: str,
    locator: str,
    statement: str,
    check: Callable[[Case, Outcome], Any],
    rule: str,
    mutant: str,
    *,
    variant: str = "as stated",
    kind: Kind = "statement",
    proof: str | None = None,
    witness: Case | None = None,
    says: Callable[[Case, Outcome], str] = _room,
    share: int = 4,
) -> None:
    """Register a statement about what a rule has placed at the end; one with a witness is refuted by it.

    ``says`` words what is wrong in it.
    """

    def told(case: Case, outcome: Outcome, margin: Any) -> str:
        placed = f"tasks {in_words(outcome.tasks)}, placed (user on machine) {_course(outcome)}"
        return f"{case}: {placed}. {says(case, outcome)}."

    @claim(
        id=f"gdrf.{name}",
        locator=locator,
        kind=kind,
        variant=variant,
        statement=statement,
        proof=proof,
        mechanism=_rule(rule),
        mutant=_rule(mutant),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        if against := witnessed(judged, witness, check, told):
            return against
        margin, where, done, _ = search_case(
            lambda c: check(c, judged.run(c, False)),
            evaluations=effort.evaluations // share,
            rng=stream(effort.seed, 16),
        )
        if margin < 0:
            exact = check(where, judged.run(where, True))
            return Evidence.of(Part(exact >= 0, "witness", f"{where}: margin {exact}.", done))
        return Evidence.of(
            Part(
                True,
                "search",
                f"Local search over cases of 2 to 4 users and 1 to 4 machines ({done} runs) "
                f"found nothing; smallest margin {in_words(margin)}.",
                done,
            )
        )


_about_outcomes(
    "f.least_used",
    "Section 1.3",
    "The machine with the largest f is the least used one of those with room.",
    least_used_first,
    "gdrf",
    "least used machine",
    witness=Case(((1, 1),), ((2, 2), (6, 6))),
    says=_past_a_less_used_one,
)
_about_outcomes(
    "maximal.nearest",
    "Section 2.4",
    "At the end nobody who wants more could get one more task while all stay where they are.",
    maximality,
    "gdrf",
    "last task taken back",
    variant="nearest type",
    proof="thm-gdrf-maximal",
)
_about_outcomes(
    "maximal.printed",
    "Section 2.4",
    "At the end nobody who wants more could get one more task while all stay where they are.",
    maximality,
    "gdrf_same",
    "gdrf",
    variant="Algorithm 3 as printed",
    witness=Case(((2, 1),), ((4, 2), (2, 4))),
)
_about_outcomes(
    "pareto",
    "Section 2.4",
    "At the end nobody could get more and all others keep the number of their tasks, wherever tasks are put.",
    pareto_optimality,
    "gdrf",
    "largest packing",
    variant="tasks may move",
    witness=Case(((2,), (3,)), ((4,), (3,))),
    says=_better,
    share=40,
)
_about_outcomes(
    "envy.end",
    "beyond the paper (section 2.4)",
    "At the end nobody could run more tasks than it has on what another holds, less one task of the other.",
    envy_up_to_one,
    "gdrf",
    "nothing placed",
    kind="extension",
    witness=Case(((1, 1), (2, 2)), ((5, 5),)),
    says=_envied,
)
_about_outcomes(
    "together.nearest",
    "Section 2.4",
    "Users share machines: none that one user has for itself has room for another who wants more.",
    side_by_side,
    "gdrf",
    "each on its part",
    variant="nearest type",
    proof="prop-gdrf-together",
)
_about_outcomes(
    "together.printed",
    "Section 2.4",
    "Users share machines: none that one user has for itself has room for another who wants more.",
    side_by_side,
    "gdrf_same",
    "gdrf",
    variant="Algorithm 3 as printed",
    witness=Case(((3, 1), (1, 2)), ((4, 3), (2, 4))),
)
_about_outcomes(
    "sharing",
    "beyond the paper (sharing incentive)",
    "Nobody runs fewer tasks than on its n-th part of every machine.",
    sharing_incentive,
    "gdrf",
    "each on its part",
    kind="extension",
    witness=Case(((1, 1), (2, 3)), ((4, 4),)),
    says=_alone,
    share=40,
)


def _about_lies(name: str, variant: str, rule: str, case: Case, said: tuple[int, ...]) -> None:
    @claim(
        id=f"gdrf.lie.{name}",
        locator="Section 2.4",
        kind="statement",
        variant=variant,
        statement="A user gains nothing by stating a larger demand than it has.",
        mechanism=_rule(rule),
        mutant=_rule("nothing placed"),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        gain = gain_of_lie(judged.run, case, 0, said, True)
        if gain > 0:
            honest, lied = (judged.run(one, True) for one in (case, case.with_demand(0, said)))
            runs = honest.tasks[0] + gain
            return Evidence.of(
                Part(
                    False,
                    "witness",
                    f"{case}: placed (user on machine) {_course(honest)}. The first user says {in_words(said)}: placed "
                    f"{_course(lied)}, each of its own holding {Fraction(runs, lied.tasks[0])} of its true tasks: "
                    f"{runs} instead of {honest.tasks[0]}.",
                    1,
                )
            )
        best, where, lie, done = search_lie_in(
            judged.run, evaluations=effort.evaluations // 4, rng=stream(effort.seed, 17)
        )
        if best > 0:
            exact = gain_of_lie(judged.run, where, 0, lie, True)
            return Evidence.of(Part(exact <= 0, "witness", f"{where}: saying {lie} gains {exact}.", done))
        return Evidence.of(Part(True, "search", f"None of {done} lies pays.", done))


_about_lies("nearest", "nearest type", "gdrf", Case(((1, 1), (3, 1)), ((7, 3),)), (2, 1))
_about_lies("printed", "Algorithm 3 as printed", "gdrf_same", Case(((1, 1), (3, 2)), ((4, 5), (12, 3))), (3, 1))


@claim(
    id="gdrf.lie.next",
    locator="Section 2.4",
    kind="statement",
    statement="A user who gets more in a round by a lie gets nothing in the next rounds.",
    mechanism=Mechanism("queue of GDRF", _counted),
    mutant=Mechanism("queue that passes one user over", partial(_counted, skips=0)),
)
def _next(effort: Effort, judged: Mechanism) -> Evidence:
    (one, two), rounds, room = ((1,), (2,)), 3, (20,)
    honest, lied = (judged.run((said, two), rounds, room).rounds for said in (one, two))
    more = honest[0][0] * one[0] < lied[0][0] * two[0]
    slots = [row[0] for row in lied]
    return Evidence.of(
        Part(
            not (more and any(slots[1:])),
            "witness",
            f"Users {in_words((one, two))}, a machine of {in_words(room)}: the first says {in_words(two)}, has "
            f"{slots[0] * two[0]} instead of {honest[0][0] * one[0]} after the first round, and "
            f"{' and '.join(map(str, slots[1:]))} slots in the next two.",
            1,
        )
    )


def _no_bound(
    name: str, statement: str, mutant: str, cases_of: Callable[[int], Sequence[Callable[[Rule], bool]]], words: str
) -> None:
    """Register that a family of cases, one or more for each size, comes out as the text counts it."""

    @claim(
        id=f"gdrf.{name}",
        locator="beyond the paper (section 2.4)",
        kind="extension",
        statement=statement,
        proof="prop-gdrf-no-bound",
        mechanism=_rule("gdrf"),
        mutant=_rule(mutant),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        largest = 8 if effort.evaluations < FULL.evaluations else 20
        asked = [one for size in range(3, largest + 1) for one in cases_of(size)]
        wrong = sum(not holds(judged.run) for holds in asked)
        return Evidence.of(
            Part(wrong == 0, "numbers", f"{words.format(largest)}, in fractions: {wrong} of {len(asked)} cases differ.",
                 len(asked))
        )  # fmt: skip


def _gains(case: Case, said: Vector, factor: int) -> Callable[[Rule], bool]:
    """Ask whether the first user runs one task with the truth and so many with the lie."""
    return lambda rule: rule(case, True).tasks[0] == 1 and gain_of_lie(rule, case, 0, tuple(said), True) == factor - 1


def _lies_of_size(k: int) -> list[Callable[[Rule], bool]]:
    in_one = _gains(Case(((1,), (k - 1,)), ((k,),)), (k,), k)
    each_in_one = _gains(Case(((1, 1), (k, 1)), ((k, k * k), (k * k, 0), (1, 1))), (1, k), k)
    return [in_one, each_in_one]


def _packed_apart(size: int) -> list[Callable[[Rule], bool]]:
    """Large tasks that need a whole machine, and one small task on each of the others.

    For an odd number of machines a round ends with one slot each, the large task comes first and gets one more.
    """
    if size % 2:
        return []
    case = Case(((2 * size,), (1,)), ((2 * size,),) * size, (None, size - 1))
    fits = packs(case.machines, case.demands, (size - 1, size - 1))
    return [lambda rule: rule(case, True).tasks == (1, size - 1) and fits]


_no_bound(
    "lie.unbounded",
    "No factor bounds the gain of a lie: for each K from 3 on a user runs one task with the truth and K with a lie, "
    "all in one that is claimed to be K times as large, or each in one of its own.",
    "first user first",
    _lies_of_size,
    "K from 3 to {}, both ways",
)
_no_bound(
    "packing.unbounded",
    "No factor bounds what packing loses: on N machines one user has one task where N - 1 would fit beside all that "
    "the other has and wants, for each even N.",
    "drfh_first_fit",
    _packed_apart,
    "Even N from 4 to {}",
)


# ------------------------------------------------------------------------------ Algorithm 3 to the letter, engine


@claim(
    id="gdrf.printed.stuck",
    locator="Algorithm 3",
    kind="algorithm",
    variant="0^0 = 0",
    statement="The printed comparison, fmax < f from fmax = 0, finds a machine for the first task.",
    mechanism=Mechanism("0^0 = 0", partial(printed_algorithm, zero_to_zero=0)),
    mutant=Mechanism("0^0 = 1", partial(printed_algorithm, zero_to_zero=1)),
)
def _stuck(effort: Effort, judged: Mechanism) -> Evidence:
    case = Case(((2, 1), (1, 2)), ((8, 4), (4, 8)))
    found = len(judged.run(case).placed)
    return Evidence.of(
        Part(
            found > 0,
            "witness",
            f"{case}, the printed loop run line by line: {found} of {len(case.demands)} tasks of the first round "
            "get a machine.",
            1,
        )
    )


def _as_built(rule: Rule) -> Rule:
    return rule


def _last_taken_back(rule: Rule) -> Rule:
    """Take the last task back, in floats only."""

    def run(case: Case, exact: bool, *how: Any) -> Outcome:
        found = rule(case, exact, *how)
        return found if exact else Outcome.of(case, found.placed[:-1])

    return run


@claim(
    id="gdrf.engine",
    locator="beyond the paper (engine)",
    kind="number",
    statement="Tournaments in floats place every task where a scan of all machines in fractions places it, or on a "
    "machine that is exactly tied with it.",
    mechanism=Mechanism("engine", _as_built),
    mutant=Mechanism("last task taken back", _last_taken_back),
)
def _engine(effort: Effort, judged: Mechanism) -> Evidence:
    rng, count = stream(effort.seed, 18), effort.evaluations // 20
    drawn = [cases(rng) for _ in range(count)]
    ties, other = [], 0
    for name, rule in RULES.items():
        found = [compare_with_judge(judged.run(rule), case) for case in drawn]
        ties += [name] * found.count("tie")
        other += found.count("other")
    where = f" ({', '.join(sorted(set(ties)))})" if ties else ""
    return Evidence.of(
        Part(
            other == 0,
            "numbers",
            f"{count} random cases, {len(RULES)} rules: {other} of {count * len(RULES)} runs differ, not counting "
            f"{len(ties)} that do so by exact ties alone{where}.",
            count * len(RULES),
        )
    )


# --------------------------------------------------------------------------------------------------------- DRFH, fluid


def _fluid(demands: Any, machines: Any) -> Any:
    return drfh(demands, machines, method="fluid").by_class


def _fluid_of_one(demands: Any, machines: Any) -> Any:
    """Give the machines to the first user."""
    alone = np.min(np.asarray(machines)[:, None] / np.asarray(demands)[None, :1], axis=2)[:, 0]
    by_class = np.zeros((len(machines), len(demands)))
    by_class[:, 0] = alone
    return by_class


def _half(demands: Any, machines: Any) -> Any:
    return _fluid(demands, machines) / 2


def _small(distance: float) -> str:
    """Write what the solver's accuracy leaves of a zero."""
    return margin_in_words(distance if distance > 1e-6 else 0.0)


def _about_fluid(
    name: str, statement: str, mutant: Mechanism, margin: Callable[[Any, Any, Any], float], words: str
) -> None:
    @claim(
        id=f"gdrf.drfh.{name}",
        locator="beyond the paper (DRFH)",
        kind="extension",
        statement=statement,
        proof="thm-gdrf-drfh",
        mechanism=Mechanism("drfh, fluid", _fluid),
        mutant=mutant,
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        rng, count, worst = stream(effort.seed, 19), min(effort.evaluations // 50, 200), np.inf
        for _ in range(count):
            n, K, m = (int(rng.integers(1, 5)) for _ in range(3))
            demands, machines = rng.uniform(0.1, 1, (n, m)), rng.uniform(0.5, 4, (K, m))
            worst = min(worst, margin(demands, machines, judged.run(demands, machines)))
        return Evidence.of(Part(worst > -1e-6, "numbers", f"{count} random cells: {words} {_small(-worst)}.", count))


def _shares(demands: Any, machines: Any, by_class: Any) -> Any:
    return by_class.sum(axis=0) * (demands / machines.sum(axis=0)).max(axis=1)


def _equal(demands: Any, machines: Any, by_class: Any) -> float:
    """All at the level that the certificate in fractions allows at most."""
    shares = _shares(demands, machines, by_class) * len(demands)
    upper = float(fluid_share(demands.tolist(), machines.tolist()).upper)
    return float(min(shares.min() - shares.max(), shares.min() - upper))


def _no_envy(demands: Any, machines: Any, by_class: Any) -> float:
    return -float((metrics.envy_matrix(by_class.sum(axis=0), demands) - 1).max())


def _no_room(demands: Any, machines: Any, by_class: Any) -> float:
    """Nothing to gain for anybody if nobody has less: a linear program over all placements."""
    return -fluid_slack(demands.tolist(), machines.tolist(), by_class.sum(axis=0))


_about_fluid(
    "level",
    "Without bounds and zero demands all dominant shares are equal, as high as prices allow.",
    Mechanism("all to the first user", _fluid_of_one),
    _equal,
    "the largest distance between levels, and from the certified bound, is",
)
_about_fluid(
    "envy",
    "Nobody could run more tasks on what another holds.",
    Mechanism("all to the first user", _fluid_of_one),
    _no_envy,
    "what anybody could run on what another holds is above its own by a part of",
)
_about_fluid(
    "pareto",
    "Nobody can have more unless somebody has less, even if everything may be moved.",
    Mechanism("half of everything", _half),
    _no_room,
    "the most that dominant shares could gain in all, by a linear program, is",
)


def _fluid_by_amount(demands: Any, machines: Any) -> Any:
    """Give larger tasks the larger weight."""
    return drfh(demands, machines, weights=np.sum(demands, axis=1) ** 2, method="fluid").by_class


@claim(
    id="gdrf.drfh.truth",
    locator="beyond the paper (DRFH)",
    kind="extension",
    statement="No user can run more tasks by stating another demand.",
    proof="thm-gdrf-drfh",
    mechanism=Mechanism("drfh, fluid", _fluid),
    mutant=Mechanism("weights by amount", _fluid_by_amount),
)
def _truth(effort: Effort, judged: Mechanism) -> Evidence:
    rng, count, most = stream(effort.seed, 20), min(effort.evaluations // 50, 400), -np.inf
    for at in range(count):
        n, K, m = int(rng.integers(2, 5)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
        demands, machines = rng.uniform(0.1, 1, (n, m)), rng.uniform(0.5, 4, (K, m))
        factors = rng.uniform(0.5 if at % 2 else 1, 2, m)  # every other lie overstates
        lied = np.vstack([demands[:1] * factors, demands[1:]])
        honest, claimed = (float(judged.run(d, machines)[:, 0].sum()) for d in (demands, lied))
        most = max(most, claimed * factors.min() / honest - 1)
    return Evidence.of(
        Part(
            bool(most < 1e-6),
            "numbers",
            f"{count} random cells, one random lie in each: the largest gain, as a part of the honest number, is "
            f"{_small(most)}.",
            count,
        )
    )


def _own_fluid_parts(demands: Any, machines: Any) -> Any:
    return np.min(np.asarray(machines)[:, None] / np.asarray(demands)[None], axis=2) / len(demands)


@claim(
    id="gdrf.drfh.sharing",
    locator="beyond the paper (DRFH)",
    kind="extension",
    statement="Nobody runs fewer tasks than on its n-th part of every machine, tasks divisible.",
    mechanism=Mechanism("drfh, fluid", _fluid),
    mutant=Mechanism("each on its part", _own_fluid_parts),
)
def _fluid_sharing(effort: Effort, judged: Mechanism) -> Evidence:
    demands, machines = ((2, 1), (1, 1)), ((4, 2), (2, 4))
    top = max(Fraction(d, sum(column)) for d, column in zip(demands[0], zip(*machines, strict=True), strict=True))
    at_most = fluid_share(demands, machines).upper / len(demands) / top
    alone = sum(min(Fraction(c, d) for c, d in zip(row, demands[0], strict=True)) / len(demands) for row in machines)
    runs = float(judged.run(demands, machines)[:, 0].sum())
    return Evidence.of(
        Part(
            runs > float(alone) - 1e-6,
            "witness",
            f"Users {in_words(demands)} on machines {in_words(machines)}: the first runs "
            f"{Fraction(runs).limit_denominator(1000)}, and alone on half "
            f"of each machine {alone}; at the level that prices allow at most it runs {at_most}.",
            1,
        )
    )


# ------------------------------------------------------------------------------------------------------------ prices


class Limits(NamedTuple):
    """What no placement of a cell can exceed, and how near to it a placement in fractions of tasks comes."""

    most: Any
    """Tasks in any mix."""
    level: Any
    """Least dominant share."""
    times: Callable[[Sequence[int]], Any]
    """How many times the given tasks of all users."""
    slack: float
    """Largest relative distance of a bound from the solver's optimum."""


def _limits(case: Case) -> Limits:
    most, level = most_tasks(case.demands, case.machines), fluid_share(case.demands, case.machines)
    found = [(float(most.upper), most.value), (float(level.upper), level.level)]
    slack = max(abs(upper / value - 1) for upper, value in found)
    return Limits(
        most.upper,
        level.upper / len(case.demands),
        lambda tasks: same_mix(tasks, case.demands, case.machines).upper,
        slack,
    )


def _limits_of_fewer(case: Case) -> Limits:
    """Leave out the first machine wherever there are two."""
    return _limits(Case(case.demands, case.machines[1:] or case.machines))


@claim(
    id="gdrf.prices",
    locator="beyond the paper (bounds)",
    kind="extension",
    statement="Prices bound every placement: the number of tasks, how many times its own mix would fit, the least "
    "dominant share; and the best such bounds are the optima in fractions of tasks.",
    proof="prop-gdrf-prices",
    mechanism=Mechanism("prices of all machines", _limits),
    mutant=Mechanism("prices of all but one machine", _limits_of_fewer),
)
def _prices(effort: Effort, judged: Mechanism) -> Evidence:
    rng, count, over, slack = stream(effort.seed, 21), min(effort.evaluations // 50, 200), 0, 0.0
    for _ in range(count):
        demands, machines = rng.integers(1, 5, (int(rng.integers(2, 5)), 2)), rng.integers(4, 17, (3, 2))
        case = Case(tuple(map(tuple, demands.tolist())), tuple(map(tuple, machines.tolist())))
        limits, tops = judged.run(case), [max(Fraction(d, s) for d, s in zip(row, case.pool, strict=True))
                                          for row in case.demands]  # fmt: skip
        slack = max(slack, limits.slack)
        for rule in RULES.values():
            tasks = rule(case, False).tasks
            least = min(t * top for t, top in zip(tasks, tops, strict=True))
            over += sum(tasks) > limits.most or least > limits.level or limits.times(tasks) < 1
    return Evidence.of(
        Part(
            over == 0,
            "numbers",
            f"{count} random cells, {len(RULES)} rules: {over} of {count * len(RULES)} placements are above a bound.",
            count * len(RULES),
        ),
        Part(
            slack < 1e-6,
            "numbers",
            f"The largest distance of a bound from the optimum is {_small(slack)}.",
            count,
        ),
    )


# ------------------------------------------------------------------------------------------------------------- figures

_MDRF = ("mdrf_entropy", "mdrf_type")
_FEW, _ALL = 20, 100  # mixes at quick effort, and those of the stored crossing, so that page and ledger show the same
Frames = dict[str, pd.DataFrame]


@lru_cache(maxsize=2)
def _studied(runs: int) -> Frames:
    """Gains and own values of all readings on 60 machines; own values on 60 to 300, of fewer mixes, as these cost."""
    return {"gains": study.readings(runs), "own": study.own(runs, sizes=60), "growth": study.own(max(runs // 10, 3))}


def _as_printed(runs: int) -> Frames:
    """Gains as the paper states them, and a lead in f that grows with the machines."""
    frames = dict(_studied(runs))
    shown = {"tasks": 0.12, "memory_gap": -0.01}
    shown |= dict.fromkeys(("cpu", "cpu_mean", "memory", "fairness", "fairness_whole"), 0.15)
    gains = {measure + end: gain for measure, gain in shown.items() for end in ("", "_low", "_high")}
    growth = frames["growth"]
    ours = {measure: growth[measure].mask(growth["mechanism"] == "gdrf", 100.0 + growth["machines"])
            for measure in ("fairness", "fairness_mean")}  # fmt: skip
    return frames | {"gains": frames["gains"].assign(**gains), "growth": growth.assign(**ours)}


def _bent(runs: int) -> Frames:
    """Tasks growing with the root of the number of machines, utilisation by a step at each size, memory below CPU."""
    own, growth = (_studied(runs)[name].copy() for name in ("own", "growth"))
    for measure in ("tasks", "cpu"):
        growth[measure] /= np.sqrt(growth["machines"])
    own["mean_above_total"] = 1 - own["mean_above_total"]
    own["memory_less_cpu"] *= -1
    return _studied(runs) | {"own": own, "growth": growth}


def _about_figures(
    name: str,
    locator: str,
    statement: str,
    parts: Callable[[Frames], Sequence[Part]],
    mutant: Mechanism,
    kind: Kind = "figure",
) -> None:
    """Register what a figure is said to show; ask whether some readings of GDRF show it and whether all do."""

    @claim(
        id=f"gdrf.{name}",
        locator=locator,
        kind=kind,
        variant="all readings of GDRF, stand-ins for MDRF",
        statement=statement,
        mechanism=Mechanism("studies of GDRF", _studied),
        mutant=mutant,
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        return Evidence(tuple(parts(judged.run(_FEW if effort.evaluations < FULL.evaluations else _ALL))))


#: Words for the cards: measures whose names do not speak, and stand-ins.
_NAMES = {
    "tasks": "Tasks",
    "cpu": "CPU",
    "cpu_mean": "CPU",
    "memory": "Memory",
    "memory_gap": "Distance",
    "fairness": "Sum",
    "fairness_mean": "Mean",
    "fairness_whole": "Whole cell",
    "gdrf": "GDRF",
    "mdrf_entropy": "entropy",
    "mdrf_type": "type",
}


def _some_and_all(words: str, holds: Any, nearest: str) -> list[Part]:
    """Whether something is so in some readings of GDRF, and whether in all; and what is so nearest to the text."""
    count, many = int(holds.sum()), len(holds)
    return [
        Part(count > 0, "numbers", f"{words} in {count} of {many} readings.", many),
        Part(count == many, "numbers", f"In the one nearest to the text {nearest}.", many),
    ]


def _against_each(measure: str, words: str, holds: Callable[[pd.DataFrame], Any]) -> Callable[[Frames], list[Part]]:
    """Ask of the mean gains over each stand-in, and over both, in how many readings something holds."""

    def parts(frames: Frames) -> list[Part]:
        found: list[Part] = []
        both = np.ones(len(frames["gains"]) // frames["gains"]["against"].nunique(), dtype=bool)
        for against in _MDRF:
            rows = frames["gains"].query("against == @against")
            mean, low, high = (rows[measure + end].to_numpy() for end in ("", "_low", "_high"))
            so = holds(pd.DataFrame({"mean": mean, "low": low, "high": high})).to_numpy()
            both = both & so
            nearest = f"{mean[0]:+.3f} ({low[0]:+.3f} to {high[0]:+.3f})"
            found += _some_and_all(f"{_NAMES[measure]} over {_NAMES[against]}: {words}", so, nearest)
        return [*found, Part(bool(both.any()), "numbers", f"Over both: in {both.sum()}.", len(both))]

    return parts


def _ahead(measure: str, sign: int = 1) -> Callable[[Frames], list[Part]]:
    """Whether the 95 % interval of the mean gain is on one side of 0."""
    if sign > 0:
        return _against_each(measure, "surely above 0", lambda gain: gain["low"] > 0)
    return _against_each(measure, "surely below 0", lambda gain: gain["high"] < 0)


def _about(measure: str, stated: float) -> Callable[[Frames], list[Part]]:
    """Whether the mean gain is the one stated, within 3 points."""
    return _against_each(measure, "within 3 points", lambda gain: (gain["mean"] - stated).abs() <= 0.03)


def _both(*some: Callable[[Frames], list[Part]]) -> Callable[[Frames], list[Part]]:
    return lambda frames: [part for one in some for part in one(frames)]


def _of_each(
    frame: str, measure: str, value: Callable[[pd.DataFrame], Any], words: str, holds: Callable[[Any], Any], how: str
) -> Callable[[Frames], list[Part]]:
    """Ask of GDRF in each reading, and of the stand-ins, whether the value of a measure, sizes by readings, is so."""

    def parts(frames: Frames) -> list[Part]:
        found = []
        for mechanism in ("gdrf", *_MDRF):
            values = value(_by_size(frames[frame], measure, mechanism))
            so, first = holds(values), format(values.iloc[0], how)
            if mechanism == "gdrf":
                found += _some_and_all(f"GDRF: {words}", so, first)
            else:
                found.append(Part(bool(so.iloc[0]), "numbers", f"{_NAMES[mechanism]}: {first}.", 1))
        return found

    return parts


def _by_size(frame: pd.DataFrame, measure: str, mechanism: str) -> pd.DataFrame:
    return frame.query("mechanism == @mechanism").pivot(index="machines", columns="reading", values=measure)


def _spread(tasks: pd.DataFrame) -> Any:
    per_machine = tasks.div(tasks.index.to_numpy(), axis=0)
    return per_machine.max() / per_machine.min() - 1


def _last_step(use: pd.DataFrame) -> Any:
    return use.diff().abs().iloc[-1]


def _at_60(frame: pd.DataFrame) -> Any:
    return frame.loc[60]


def _gap(frames: Frames) -> list[Part]:
    found = []
    for measure in ("fairness", "fairness_mean"):
        for against in _MDRF:
            ours, theirs = (_by_size(frames["growth"], measure, name) for name in ("gdrf", against))
            gap = ours.sub(theirs[0], axis=0)
            so = (gap > 0).all() & (gap.diff().iloc[1:] > 0).all()
            words = f"{_NAMES[measure]}, lead over {_NAMES[against]}: grows"
            found += _some_and_all(words, so, f"from {gap[0].iloc[0]:+.2g} to {gap[0].iloc[-1]:+.2g}")
    return found


_PRINTED, _BENT = (
    Mechanism("gains as printed", _as_printed),
    Mechanism("bent curves", _bent),
)
_about_figures("figure1.more", "Figure 1", "GDRF places more tasks than MDRF.", _ahead("tasks"), _PRINTED)
_about_figures(
    "figure1.percent",
    "Figure 1",
    "GDRF places about 12 % more tasks than MDRF.",
    _about("tasks", 0.12),
    _PRINTED,
    "number",
)
_about_figures(
    "figure1.steady",
    "Figure 1",
    "The number of tasks grows steadily with the machines.",
    _of_each("growth", "tasks", _spread, "tasks a machine vary by less than 2 %", lambda spread: spread < 0.02, ".1%"),
    _BENT,
)
_about_figures("figure2.total", "Figure 2", "GDRF's total CPU utilisation is above MDRF's.", _ahead("cpu"), _PRINTED)
_about_figures(
    "figure2.mean", "Figure 2", "GDRF's machine-average of CPU is above MDRF's.", _ahead("cpu_mean"), _PRINTED
)
_about_figures(
    "figure2.level",
    "Figure 2",
    "CPU utilisation levels off as machines are added.",
    _of_each("growth", "cpu", _last_step, "the last step is below 0.005", lambda step: step < 0.005, ".4f"),
    _BENT,
)
_about_figures(
    "figure3.total", "Figure 3", "GDRF's total memory utilisation is above MDRF's.", _ahead("memory"), _PRINTED
)
_about_figures(
    "figure3.mean_above",
    "Figure 3",
    "Memory's machine-average exceeds its total under both, in most mixes.",
    _of_each("own", "mean_above_total", _at_60, "so in most mixes", lambda often: often > 0.5, ".0%"),
    _BENT,
)
_about_figures(
    "figure3.close",
    "Figure 3",
    "GDRF's total and machine-average of memory are closer together than MDRF's.",
    _ahead("memory_gap", -1),
    _PRINTED,
)
_about_figures(
    "figure3.above_cpu",
    "Figures 2 and 3",
    "Memory utilisation is far above CPU's.",
    _both(
        _of_each("own", "memory_less_cpu", _at_60, "mean lead above 0.05", lambda lead: lead > 0.05, ".3f"),
        _of_each("own", "memory_above_cpu", _at_60, "ahead in every mix", lambda often: often == 1, ".0%"),
    ),
    _BENT,
)
_about_figures(
    "figure4.higher",
    "Figure 4",
    "GDRF's fairness value is above MDRF's (summed over machines; the cell as one machine).",
    _both(_ahead("fairness"), _ahead("fairness_whole")),
    _PRINTED,
)
_about_figures(
    "figure4.percent",
    "Figure 4",
    "GDRF's fairness value is about 15 % above MDRF's (summed over machines; the cell as one machine).",
    _both(_about("fairness", 0.15), _about("fairness_whole", 0.15)),
    _PRINTED,
    "number",
)
_about_figures(
    "figure4.gap", "Figure 4", "The lead in the fairness value grows with the number of machines.", _gap, _PRINTED
)


def _upside_down(runs: int) -> pd.DataFrame:
    """Nearly full machines and hardly used ones exchanged, and some of both everywhere."""
    frame = study.by_machine(runs)
    return frame.assign(full=frame["low"], low=frame["full"], uneven=1 - frame["uneven"])


@claim(
    id="gdrf.figure3.uneven",
    locator="Figure 3",
    kind="figure",
    variant=f"stand-ins for MDRF, {_ALL} random mixes, 60 machines",
    statement="MDRF leaves a large part of the machines with much of their memory in use and a small part with little.",
    mechanism=Mechanism("machine by machine", study.by_machine),
    mutant=Mechanism("upside down", _upside_down),
)
def _uneven(effort: Effort, judged: Mechanism) -> Evidence:
    rows = judged.run(_ALL).query("mechanism in @_MDRF")
    return Evidence.of(
        *(
            Part(
                bool(row["uneven"] > 0.5),
                "numbers",
                f"{_NAMES[row['mechanism']]}: {row['full']:.0%} of the machines have at least {study.FULL:.0%} of "
                f"their memory in use, {row['low']:.1%} at most {row['idle']:.0%}; in {row['uneven']:.0%} of the mixes "
                "most are so full and some so empty.",
                _ALL,
            )
            for _, row in rows.iterrows()
        )
    )


def _mix() -> Any:
    return np.array(study.MACHINES)


def _mix_exchanged() -> Any:
    """The mix with CPU and memory exchanged."""
    return _mix()[:, [1, 0, 2]]


@claim(
    id="gdrf.figure3.supply",
    locator="Section 3",
    kind="number",
    variant="the published mix",
    statement="In the Google cell the CPUs are more than the memory in all.",
    mechanism=Mechanism("Table 1", _mix),
    mutant=Mechanism("CPU and memory exchanged", _mix_exchanged),
)
def _supply(effort: Effort, judged: Mechanism) -> Evidence:
    table = judged.run()
    cpu, memory = (float(x) for x in table[:, 2] @ table[:, :2])
    words = f"In units of the largest machine {cpu:.0f} CPU and {memory:.0f} memory: {cpu / memory - 1:+.1%}."
    return Evidence.of(Part(cpu > memory, "numbers", words, len(table)))


@claim(
    id="gdrf.figure3.balanced",
    locator="Section 3",
    kind="statement",
    variant="requests balanced in all",
    statement="Where the CPUs are more than the memory and users request as much of the one as of the other, a larger "
    "part of the memory is used.",
    mechanism=_rule("gdrf"),
    mutant=_rule("least used machine"),
)
def _balanced(effort: Effort, judged: Mechanism) -> Evidence:
    case = Case(((2, 1), (3, 4)), ((16, 15),))
    tasks = judged.run(case, True).tasks
    cpu, memory = (sum(t * d for t, d in zip(tasks, needs, strict=True)) for needs in zip(*case.demands, strict=True))
    return Evidence.of(
        Part(
            memory * case.pool[0] > cpu * case.pool[1],
            "witness",
            f"{case}: tasks {in_words(tasks)}, in use {cpu} of {case.pool[0]} and {memory} of {case.pool[1]}.",
            1,
        )
    )


def _by_share(pool: Any) -> list[float]:
    """CPU by memory of what users request, in parts of the cell."""
    return [(cpu / pool[0]) / (memory / pool[1]) for cpu, memory in sorted(set(study.USERS))]


def _by_scarcity(pool: Any) -> list[float]:
    """The same with the parts exchanged."""
    return [1 / ratio for ratio in _by_share(pool)]


@claim(
    id="gdrf.figure3.cpu_first",
    locator="Section 3",
    kind="number",
    variant="dominant resources of the 16 possible requests",
    statement="GDRF goes by CPU mostly.",
    mechanism=Mechanism("shares (2)", _by_share),
    mutant=Mechanism("shares exchanged", _by_scarcity),
)
def _cpu_first(effort: Effort, judged: Mechanism) -> Evidence:
    case = study.instance(stream(effort.seed), 60)
    ratios = judged.run(case.counts @ case.machines)
    cpu, memory = sum(ratio > 1 for ratio in ratios), sum(ratio < 1 for ratio in ratios)
    words = f"On 60 machines CPU is dominant for {cpu} of the 16 pairs from 1 to 4, memory for {memory}."
    return Evidence.of(Part(cpu > memory, "numbers", words, len(ratios)))


def _about_users(name: str, statement: str, stand_in: str, holds: Callable[[Any], bool]) -> None:
    """Register what the text says of a table that is lost: there is nothing to compare it with but our stand-in."""

    @claim(
        id=f"gdrf.users.{name}",
        locator="Table 3",
        kind="number",
        statement=statement,
        mechanism=Mechanism("stand-in for Table 3", lambda: study.USERS),
        mutant=Mechanism("one user twenty times", lambda: study.USERS[:1] * 20),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        users = judged.run()
        return Evidence.of(
            Part(None, "numbers", "Table 3 is lost: nothing to compare."),
            Part(holds(users), "numbers", f"Our stand-in {stand_in}.", len(users)),
        )


def _bell(users: Sequence[tuple[int, int]]) -> bool:
    """Whether totals are symmetric about 5 and rarer the further they are from it."""
    totals = [sum(user) for user in users]
    counts = [totals.count(total) for total in range(2, 9)]
    return counts == counts[::-1] and all(a < b for a, b in zip(counts[:3], counts[1:4], strict=True))


_about_users(
    "cover",
    "The 20 users cover nearly all combinations of CPU and memory from 1 to 4.",
    "has all 16",
    lambda users: len(set(users)) == 16,
)
_about_users(
    "normal",
    "The totals of the 20 users are normally distributed.",
    "has totals that are symmetric and rarer the further from the middle",
    _bell,
)
