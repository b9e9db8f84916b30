"""The claims about the model of virtual clusters: what kind of problem it is, how hard, and what bounds it."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from book.common.claims.registry import Effort, Evidence, Mechanism, claim
from book.common.evidence import margin_in_words, sampled_claim
from book.virtual_cluster.judging import (
    Number,
    witness,
)
from book.virtual_cluster.oracle import exact_optimum, lp_bound
from book.virtual_cluster.properties import Case, cases, pour
from fairbook.mechanisms.clusters.virtual_cluster import virtual_cluster


@claim(
    id="virtual_cluster.linear",
    locator="Section 1.3",
    kind="statement",
    variant="condition (4) as printed",
    statement="Problem (1) to (5) is a linear program.",
    # (4): one user's VMs are on one cluster
    mechanism=Mechanism("condition (4)", lambda row: sum(1 for x in row if x) <= 1),
    mutant=Mechanism("no condition (4)", lambda row: True),
)
def _linear(effort: Effort, judged: Mechanism) -> Evidence:
    one, two = (Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))
    middle = tuple((x + y) / 2 for x, y in zip(one, two, strict=True))
    allowed = judged.run(one) and judged.run(two)
    return witness(
        not allowed or judged.run(middle),
        "One user wants 1 VM, there are two clusters of 1, and VMs can be divided. The VM may be on either one, but "
        "not half on each. The solutions of a linear program would form a convex set.",
    )


@sampled_claim(
    key=21,
    share=40,
    again=True,
    right=lambda found: all(agrees for agrees, _ in found),
    said=lambda found: (
        f"In {len(found)} partition questions about six numbers, {sum(split for _, split in found)} "
        "with answer yes, everybody is served in full exactly where the numbers can be divided."
    ),
    id="virtual_cluster.hard",
    locator="Section 2",
    kind="complexity",
    variant="strongly NP-hard",
    statement="Exact solution is hard: whether everybody can have all it wants decides 3-partition.",
    proof="thm-virtual_cluster-hard",
    mechanism=Mechanism("exact", partial(virtual_cluster, method="exact")),
    mutant=Mechanism("pool", partial(virtual_cluster, method="spanning")),
)
def _hard(rng: np.random.Generator, judged: Mechanism, at: int) -> tuple[bool, bool] | None:
    target = int(rng.integers(40, 120))
    items: list[int] = []
    for _ in range(2):
        a = int(rng.integers(target // 4 + 1, (target + 1) // 2))
        b = int(rng.integers(target // 4 + 1, (target + 1) // 2))
        items += [a, b, max(1, target - a - b)]
    shifted = int(rng.integers(0, 6))  # where nothing moves, the answer is yes
    items[0], items[3] = items[0] + shifted, max(1, items[3] - shifted)
    items = rng.permutation(items).tolist()
    if sum(items) != 2 * target:
        return None
    split = any(sum(chosen) == target for r in range(1, 6) for chosen in combinations(items, r))
    return bool(judged.run(items, 0, (target, target)).served.all()) == split, split


def _level(judge: Callable[..., Any], case: Case) -> Number | None:
    """The largest least fraction, or a bound on it, by one judge; None where the minima do not fit."""
    found = judge(case.max_vms, case.tolerance, case.capacities, case.whole)
    return None if found is None else found[0]


@sampled_claim(
    key=23,
    share=100,
    again=True,
    right=lambda found: max(found) < Fraction(1, 10**6),
    said=lambda found: (
        f"On {len(found)} random cases with a level below 1 the two differ by at most "
        f"{margin_in_words(float(max(found)))}."
    ),
    id="virtual_cluster.bound",
    locator="Section 1.3",
    kind="statement",
    variant="condition (4) relaxed, divisible VMs",
    statement="Where all can be served, problem (1) to (5) is a linear program; its optimum is that of one pool.",
    proof="thm-virtual_cluster-bound",
    mechanism=Mechanism("linear relaxation", partial(_level, lp_bound)),
    mutant=Mechanism("one cluster a user", partial(_level, exact_optimum)),
)
def _bound(rng: np.random.Generator, judged: Mechanism, at: int) -> Fraction | None:
    case = cases(rng, clusters=(2, 3), whole=False)
    pool = pour(case)
    if not pool.all_served or pool.level(case) == 1:
        return None
    found = judged.run(case)
    return None if found is None else abs(found - pool.level(case))
