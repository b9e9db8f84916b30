"""The claims about the measures of the GDRF paper, (4) to (8): utilisation, weights, and what f tells."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from book.common.claims.registry import Effort, Evidence, Mechanism, Part, claim
from book.common.evidence import in_words, sampled_claim
from book.gdrf.exact_cell import sign_of_product
from book.gdrf.measures import joe_wong_fairness, placement_fairness
from fairbook import metrics

Vector = Sequence[Any]


def _mean_utilisation(used: Vector, capacity: Vector, weights: Vector) -> Any:
    """Mean of the utilisations of the resources that there are, term by term as (4) is printed."""
    of_each = [(Fraction(u) / c, w) for u, c, w in zip(used, capacity, weights, strict=True) if c]
    return sum(Fraction(w) / sum(w for _, w in of_each) * utilisation for utilisation, w in of_each)


@sampled_claim(
    id="gdrf.utilisation_weight",
    locator="Equations (4), (5)",
    kind="equation",
    statement="The weighted utilisation w of a machine is the amount in use as a part of the amount that there is.",
    proof="lem-gdrf-utilisation",
    mechanism=Mechanism("equation (4)", lambda used, capacity: _mean_utilisation(used, capacity, capacity)),
    mutant=Mechanism("plain mean", lambda used, capacity: _mean_utilisation(used, capacity, [1] * len(used))),
    key=11,
    share=10,
    said="Compared in fractions on {count} random machines.",
)
def _utilisation(rng: np.random.Generator, judged: Mechanism, at: int) -> bool:
    capacity = rng.integers(0, 9, int(rng.integers(1, 5)))
    capacity[0] = max(capacity[0], 1)
    used = [int(rng.integers(0, c + 1)) for c in capacity.tolist()]
    return bool(judged.run(used, capacity.tolist()) == Fraction(sum(used), int(capacity.sum())))


def _total_share(demand: Vector, pool: Vector) -> Fraction:
    return sum((Fraction(d) / s for d, s in zip(demand, pool, strict=True)), Fraction(0))


def _weight(demand: Vector, pool: Vector) -> Fraction:
    return _total_share(demand, pool) / max(Fraction(d) / s for d, s in zip(demand, pool, strict=True))


@claim(
    id="gdrf.weight_scale",
    locator="Section 1.2",
    kind="statement",
    statement="The higher the weight (6) of a user, the larger is the amount of resources of one of its VMs.",
    mechanism=Mechanism("GDRW (6)", _weight),
    mutant=Mechanism("sum of shares", _total_share),
)
def _weight_scale(effort: Effort, judged: Mechanism) -> Evidence:
    pool, small, large = (10, 10), (2, 1), (4, 1)  # the larger has more CPU and as much memory
    a, b = judged.run(small, pool), judged.run(large, pool)
    return Evidence.of(
        Part(
            not (a > b and sum(small) < sum(large)),
            "witness",
            f"In a cell of {pool}, a VM of {small} has the weight {a} and the amount {sum(small)}; "
            f"one of {large} has the weight {b} and the amount {sum(large)}.",
            1,
        )
    )


@sampled_claim(
    id="gdrf.weight.tied",
    locator="Section 1.2",
    kind="statement",
    variant="users with the same GDRS",
    statement="The weight (6) lies between 1 and the number of resources and does not change if a demand is "
    "multiplied; of users with the same GDRS the one with the larger weight asks for the larger sum of shares.",
    proof="lem-gdrf-weight",
    mechanism=Mechanism("GDRW (6)", _weight),
    mutant=Mechanism("sum of shares", _total_share),
    key=25,
    share=10,
    said="Compared in fractions on {count} random pairs of users with the same GDRS.",
)
def _tied_weights(rng: np.random.Generator, judged: Mechanism, at: int) -> bool:
    m = int(rng.integers(1, 5))
    pool = rng.integers(1, 9, m).tolist()
    # shares in twentieths, the largest of each user 1/2
    parts = rng.integers(0, 11, (2, m))
    parts[[0, 1], rng.integers(0, m, 2)] = 10
    a, b = ([Fraction(int(x), 20) * s for x, s in zip(row, pool, strict=True)] for row in parts)
    weights, sums = ([of(user, pool) for user in (a, b)] for of in (judged.run, _total_share))
    scaled = judged.run([3 * x for x in a], pool)
    return bool(
        all(1 <= w <= m for w in weights) and scaled == weights[0] and (weights[0] > weights[1]) == (sums[0] > sums[1])
    )


def _measures(demand: Vector, pool: Vector) -> tuple[Any, ...]:
    """The three readings of what one VM adds to the resource so far."""
    shares = [Fraction(d) / s for d, s in zip(demand, pool, strict=True)]
    return sum(demand), max(shares), sum(shares)


@sampled_claim(
    id="gdrf.measure",
    locator="beyond the paper (section 2.2)",
    kind="extension",
    statement="In each of three readings of the resource so far (amount, dominant share, sum of shares) nobody could "
    "run more VMs, divided if need be, on one VM of another than that VM counts by its own.",
    proof="lem-gdrf-measure",
    mechanism=Mechanism("readings of the resource so far", _measures),
    mutant=Mechanism("squares", lambda demand, pool: (sum(d * d for d in demand),)),
    key=26,
    share=10,
    said="Compared in fractions on {count} random pairs of VMs, some of them multiples and with zeros.",
)
def _one_by_another(rng: np.random.Generator, judged: Mechanism, at: int) -> bool:
    m = int(rng.integers(1, 5))
    pool, own = rng.integers(1, 9, m).tolist(), rng.integers(0, 4, m)
    own[0] += own.sum() == 0
    other = own * int(rng.integers(1, 4)) + rng.integers(0, 3, m) * (at % 2)
    own, other = (other, own) if at % 3 else (own, other)
    runs = min(Fraction(int(h), int(d)) for h, d in zip(other, own, strict=True) if d)
    of_other, of_own = (judged.run(one.tolist(), pool) for one in (other, own))
    return all(a >= runs * b for a, b in zip(of_other, of_own, strict=True))


FIXED = Mechanism("(7), lambda fixed", lambda y, beta, lam: joe_wong_fairness(list(y), beta, lam))
ZERO = Mechanism("(7), lambda = 0", lambda y, beta, lam: joe_wong_fairness(list(y), beta, 0))
TIED = Mechanism(
    "(7), lambda = (1 - beta)/beta", lambda y, beta, lam: joe_wong_fairness(list(y), beta, (1 - beta) / beta)
)


def _positive(rng: np.random.Generator) -> Any:
    return rng.uniform(0.01, 0.5, int(rng.integers(2, 7)))


@sampled_claim(
    id="gdrf.family",
    locator="beyond the paper (section 1.3)",
    kind="extension",
    statement="Where everybody has something, (7) with lambda = 0 is n times Jain's index at beta = -1, tends to the "
    "exponential of the entropy at 0, and to -1 divided by the least part for large beta; with "
    "lambda = (1 - beta)/beta and beta > 0 it rises with each share.",
    proof="prop-gdrf-family",
    mechanism=FIXED,
    mutant=Mechanism("sum of shares", lambda y, beta, lam: sum(y)),
    key=27,
    share=20,
    said="Computed for {count} random allocations; large beta is 100, near 0 is 1e-6.",
)
def _family(rng: np.random.Generator, judged: Mechanism, at: int) -> bool:
    y, beta = _positive(rng), float(rng.choice([0.3, 0.8, 1.5, 4.0]))
    part, more = y / y.sum(), y * np.where(np.arange(len(y)) == at % len(y), 1.1, 1.0)
    least, power = -float(judged.run(y, 100.0, 0.0)) * part.min(), (1 - beta) / beta
    return bool(
        np.isclose(judged.run(y, -1.0, 0.0), len(y) * metrics.jain_index(y))
        and np.isclose(judged.run(y, 1e-6, 0.0), np.exp(-(part * np.log(part)).sum()), rtol=1e-4)
        and part.min() ** 0.01 * (1 - 1e-9) <= least <= (len(y) * part.min()) ** 0.01 * (1 + 1e-9)
        and judged.run(more, beta, power) > judged.run(y, beta, power)
    )


_LIMIT: dict[str, Any] = {
    "locator": "Section 1.3",
    "kind": "equation",
    "statement": "(8) is the limit of (7) as beta tends to 1.",
    "mechanism": FIXED,
    "mutant": TIED,
}


@sampled_claim(
    id="gdrf.limit.left",
    variant="lambda = w fixed, from the left, k the number of users, each with a VM on the machine",
    proof="prop-gdrf-limit",
    key=12,
    share=10,
    said=lambda off: (
        f"At beta = 1 - 1e-9 the largest relative difference on {len(off)} random allocations is {max(off):.1g}."
    ),
    right=lambda off: max(off) < 1e-6,
    **_LIMIT,
)
def _left(rng: np.random.Generator, judged: Mechanism, at: int) -> float:
    y, w = _positive(rng), float(rng.uniform(0.1, 1))
    limit = placement_fairness(y.sum(), w, k=len(y))
    return float(abs(judged.run(y, 1 - 1e-9, w) / float(limit) - 1))


@claim(
    id="gdrf.limit.absent",
    variant="lambda = w fixed, from the left, one k, some users with nothing on the machine",
    **{**_LIMIT, "mutant": Mechanism("sum of shares", lambda y, beta, lam: sum(y))},
)
def _absent(effort: Effort, judged: Mechanism) -> Evidence:
    machines = [(0.5, 0.0, 0.0), (0.2, 0.2, 0.0), (0.1, 0.1, 0.1)]
    near = [float(judged.run(y, 1 - 1e-9, 0.5)) for y in machines]
    eight = [float(placement_fairness(sum(y), 0.5, k=3)) for y in machines]
    by_seven, by_eight = (sorted(range(3), key=of.__getitem__) for of in (near, eight))
    return Evidence.of(
        Part(
            by_seven == by_eight,
            "witness",
            f"Three machines, half in use, on which three users have {in_words(machines)}: (7) with lambda = 1/2 is "
            f"{in_words(tuple(near))} just below beta = 1, and (8) with k = 3 is {in_words(tuple(eight))}: another "
            "order, whatever k is.",
            3,
        )
    )


def _against_the_product(judged: Mechanism, y: Any, z: Any) -> int:
    """On how many sides of beta = 1 (7) orders two allocations otherwise than the sum of logarithms does."""
    better = np.log(y).sum() > np.log(z).sum()
    return sum((judged.run(y, beta, 0.5) > judged.run(z, beta, 0.5)) != better for beta in (1 - 1e-7, 1 + 1e-7))


def _about_the_order(name: str, variant: str, judged: Mechanism, lam: str, y: tuple[float, ...], z: Any) -> None:
    """Register that (7) orders allocations near beta = 1 as their products do, with two that it orders otherwise."""

    @claim(
        id=f"gdrf.limit.{name}",
        locator="Section 1.3",
        kind="statement",
        variant=variant,
        statement="As beta tends to 1, (7) judges by proportional fairness.",
        mechanism=judged,
        mutant=TIED,
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        wrong = _against_the_product(judged, y, z)
        below, above = (tuple(judged.run(x, beta, 0.5) for x in (y, z)) for beta in (1 - 1e-7, 1 + 1e-7))
        ahead = max(below[0] - below[1], 0)
        first = f", the first by {ahead:.1g} the larger" if ahead else ""
        return Evidence.of(
            Part(
                wrong == 0,
                "witness",
                f"{y} and {z} have the products {np.prod(y):.4g} and {np.prod(z):.4g} and the totals {sum(y):.4g} and "
                f"{sum(z):.4g}. With lambda = {lam}, (7) gives them {in_words(below)} just below beta = 1, and "
                f"{in_words(above)} just above{first}. Of these two comparisons {wrong} "
                f"{'contradicts' if wrong == 1 else 'contradict'} the products.",
                1,
            )
        )


_about_the_order("proportional", "lambda fixed and not 0", FIXED, "1/2", (0.5, 0.5), (0.98, 0.04))
_about_the_order("zero", "lambda = 0", ZERO, "0", (0.2, 0.2), (0.9, 0.05))


@sampled_claim(
    id="gdrf.limit.tied",
    locator="Section 1.3",
    kind="statement",
    variant="lambda = (1 - beta)/beta",
    statement="As beta tends to 1, (7) judges by proportional fairness.",
    proof="prop-gdrf-limit",
    mechanism=TIED,
    mutant=FIXED,
    key=13,
    share=10,
    again=True,
    said=lambda wrong: (
        f"Compared on {len(wrong)} random pairs of allocations, on both sides of beta = 1; {sum(wrong)} "
        "comparisons differ."
    ),
    right=lambda wrong: not any(wrong),
)
def _tied(rng: np.random.Generator, judged: Mechanism, at: int) -> int | None:
    y = _positive(rng)
    z = rng.uniform(0.01, 0.5, len(y))
    # nearer ones need a beta still nearer to 1
    return _against_the_product(judged, y, z) if abs(np.log(y).sum() - np.log(z).sum()) > 1e-3 else None


def _larger(a: Sequence[tuple[Fraction, Fraction]], b: Sequence[tuple[Fraction, Fraction]]) -> int:
    """Sign of the difference of two products of factors (base, exponent); 0^0 is 1, any other power of 0 is 0."""
    zero = [any(not base and exponent for base, exponent in product) for product in (a, b)]
    if any(zero):
        return zero[1] - zero[0]
    return sign_of_product([(x, e) for x, e in (*a, *((base, -exponent) for base, exponent in b)) if x])


@claim(
    id="gdrf.f.blind",
    locator="Section 1.3",
    kind="statement",
    variant="users compared, f as an overall value",
    statement="The larger f (8), the fairer is the allocation.",
    mechanism=Mechanism("f (8)", lambda y, w: [(sum(y, Fraction(0)), w)]),
    mutant=Mechanism("product of shares", lambda y, w: [(Fraction(x), Fraction(1)) for x in y]),
)
def _blind(effort: Effort, judged: Mechanism) -> Evidence:
    even, less, uneven = ([Fraction(a, 100), Fraction(b, 100)] for a, b in ((50, 50), (50, 49), (99, 1)))
    signs = [_larger(judged.run(one, sum(one)), judged.run(uneven, sum(uneven))) for one in (even, less)]
    same, other = ({0: "the same value as", 1: "a larger value than", -1: "a smaller value than"}[s] for s in signs)
    return Evidence.of(
        Part(
            min(signs) > 0,
            "witness",
            f"Shares of {in_words(even)} of a machine have {same} {in_words(uneven)}; {in_words(less)} have {other} "
            "these.",
            1,
        )
    )


@sampled_claim(
    id="gdrf.f.empty",
    locator="Section 1.3",
    kind="statement",
    variant="machines compared, k = 1",
    statement="On a machine that is a small part of the cell (all its shares together at most exp(-|S|/min S)) every "
    "VM lowers f, so an idle cell has the largest mean of f.",
    proof="prop-gdrf-empty",
    mechanism=Mechanism("f (8)", lambda shares, used: [(shares, used)]),
    mutant=Mechanism("sum of shares", lambda shares, used: [(shares, Fraction(1))]),
    key=14,
    share=20,
    said="{count} random machines filled VM by VM, compared exactly.",
)
def _empty(rng: np.random.Generator, judged: Mechanism, at: int) -> bool:
    m, falls = int(rng.integers(1, 4)), True
    capacity = [Fraction(int(c)) for c in rng.integers(4, 20, m)]
    pool = [Fraction(int(x)) for x in rng.integers(400, 500, m)]
    bound = Fraction(np.exp(-float(sum(pool)) / float(min(pool)))) * Fraction(999, 1000)
    while _total_share(capacity, pool) > bound:
        pool = [2 * s for s in pool]
    free, shares, used = list(capacity), Fraction(0), Fraction(0)
    while True:
        need = [Fraction(int(d)) for d in rng.integers(1, 4, m)]
        if any(d > f for d, f in zip(need, free, strict=True)):
            return falls
        free = [f - d for f, d in zip(free, need, strict=True)]
        before = judged.run(shares, used)
        shares += max(d / s for d, s in zip(need, pool, strict=True))
        used += sum(need, Fraction(0)) / sum(capacity)
        falls = falls and _larger(judged.run(shares, used), before) < 0
