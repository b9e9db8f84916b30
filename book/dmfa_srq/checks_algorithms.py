"""The algorithms of the DMFA-SRQ paper: what they compute, and what they cost."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import islice
from math import lcm
from typing import Any

import numpy as np

from book.common.claims.registry import Effort, Evidence, Mechanism, Part, claim
from book.common.evidence import as_data, in_words
from book.common.runs import stream
from book.dmfa_srq import oracle, studies as study
from book.dmfa_srq.attacks import DMFA_SRQ, FIGURE_1, broken, computes_the_mechanism, instances
from book.dmfa_srq.printed import REPAIRS, algorithm_1, algorithm_1_printed
from fairbook.mechanisms.pool.dmfa_srq import dmfa_srq
from fairbook.model.inputs import FloatArray

# ------------------------------------------------------------------------------------------------- the algorithms

_PRINTED: dict[str, tuple[str, dict[str, Any]]] = {
    "position": ("as printed; line 6 pairs the i-th largest value with user i", {}),
    "own": ("as printed; line 6 takes each user's own previous amount", {"line_6": "own"}),
    "largest": ("as printed; line 6 takes the largest value for everyone", {"line_6": "largest"}),
    "levels": ("as printed; levels in place of amounts", {"line_6": "own", "repairs": ("levels",)}),
    "end": ("levels in place of amounts, line 6 as meant; only the end as printed", {"repairs": ("levels", "line_6")}),
}

for _reading, (_variant, _options) in _PRINTED.items():
    claim(
        id=f"dmfa_srq.algorithm_1.{_reading}",
        locator="Algorithm 1",
        kind="algorithm",
        variant=_variant,
        statement="Algorithm 1 computes the optimum of (4).",
        mechanism=Mechanism(
            "algorithm_1_printed",
            partial(algorithm_1_printed, **_options),
        ),
        mutant=Mechanism("repaired", partial(algorithm_1_printed, repairs=REPAIRS)),
    )(computes_the_mechanism)


def _threshold(effort: Effort, subject: Mechanism) -> Evidence:
    """Look for an arrival at which no value parts those who keep what they had from those who rise."""
    for count, (demands, weights) in enumerate([FOUR, *islice(instances(effort), 500)], 1):
        lowest = oracle.exact_levels(demands, weights)
        for k in range(2, len(lowest) + 1):
            had = [max(lowest[i : k - 1]) for i in range(k - 1)]
            size = subject.run(had, weights)
            keep = [size[i] for i in range(k - 1) if had[i] > lowest[k - 1]]
            rise = [size[i] for i in range(k - 1) if had[i] <= lowest[k - 1]]
            if keep and rise and min(keep) <= max(rise):
                text = (f"Users {in_words(demands)} with contributions {in_words(weights)}. At arrival {k} a user that "
                        f"has {min(keep)} keeps it, and a user that has {max(rise)} rises.")  # fmt: skip
                shown = as_data(demands=demands, weights=weights)
                return Evidence.of(Part(False, "witness", text, count, witness=shown))
    return Evidence.of(Part(True, "search", f"There is one at each arrival of {count} small instances.", count))


#: The paper's example, and a fourth user.
FOUR = ((*FIGURE_1[0], (Fraction(1), Fraction(1, 2))), (*FIGURE_1[1], Fraction(1, 4)))
claim(
    id="dmfa_srq.equation_9",
    locator="Equations (8), (9)",
    kind="equation",
    variant="amounts, as in (8), and not levels",
    statement="At each arrival some v_tau parts the amounts x_i^{k-1}: those who had more keep it, all others rise to "
    "M^k w_i.",
    mechanism=Mechanism("amounts", lambda had, weights: [y * w for y, w in zip(had, weights)]),
    mutant=Mechanism("levels", lambda had, weights: had),
)(_threshold)
claim(
    id="dmfa_srq.algorithm_1.repaired",
    locator="beyond the paper (Algorithm 1)",
    kind="algorithm",
    variant="with the three repairs",
    statement="Algorithm 1 computes the optimum of (4).",
    proof="thm-dmfa_srq-algorithm",
    mechanism=Mechanism("algorithm_1", algorithm_1),
    mutant=Mechanism("without_the_last_repair", partial(algorithm_1_printed, repairs=("levels", "line_6"))),
)(computes_the_mechanism)
claim(
    id="dmfa_srq.stack",
    locator="beyond the paper",
    kind="extension",
    statement="The stack of groups computes the optimum of (4).",
    proof="thm-dmfa_srq-stack",
    mechanism=DMFA_SRQ,
    mutant=broken("capacity_overshot"),
)(partial(computes_the_mechanism, decades=6))


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
    run = dmfa_srq(demands, weights=weights)
    m = demands.shape[1]
    for k in range(1, len(run) + 1):
        kept = int((run.levels_at(k)[: k - 1] > run.lowest[k - 1]).sum())
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
    return Evidence.of(
        Part(
            all(b <= a for a, b in zip(ratios, ratios[1:], strict=False)),
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
    for k, level in enumerate(dmfa_srq(demands, weights=weights).lowest):
        work.append(demands.shape[1] * (k + 1) * int(np.ceil(level / 0.001)))


def _against(steps: Callable[[FloatArray], int], effort: Effort, subject: Mechanism) -> tuple[bool, list[str]]:
    """Compare what an algorithm reads with what water filling reads to reach the same levels, at growing sizes."""
    rows, ok = [], True
    for n in study.SIZES[: 2 if effort.name == "quick" else 3]:
        demands, weights = study.instance(stream(effort.seed, n, 0), n)
        work: list[int] = []
        subject.run(demands, weights, work=work)
        other = steps(dmfa_srq(demands, weights=weights).lowest)
        ok &= sum(work) < other
        rows.append(f"n = {n}: {sum(work)} against {other}")
    return ok, rows


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
    # a step of 1/100 of what was brought, every user and resource looked at in each step
    ok, rows = _against(
        lambda levels: sum(2 * (k + 1) * int(np.ceil(level / 0.01)) for k, level in enumerate(levels)), effort, subject
    )
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
def _water_groups(effort: Effort, subject: Mechanism) -> Iterator[Part]:
    # what the uses and rates cost before the first rise: summed up afresh over all users, or for the newcomer alone
    ways: dict[str, Callable[[int], int]] = {
        "with all sums made afresh at each arrival": lambda k: k,
        "with the groups kept": lambda k: 1,
    }
    for way, read in ways.items():
        ok, rows = _against(
            lambda levels, read=read: sum(  # type: ignore[misc]
                2 * (read(k) + count + 1) for k, count in enumerate(_merges(levels), 1)
            ),
            effort,
            subject,
        )
        text = f"Entries read, Algorithm 1 (repaired) against water filling {way}: " + "; ".join(rows) + "."
        yield Part(ok, "numbers", text, len(rows))


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
        locator="beyond the paper (Section 1)",
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
