"""The claims about Theorem 4 of the TV-DRF paper, lies; about machines of different shapes; and about Algorithm 1.

Whether a lie pays on one pool is asked in fractions and by a search; on machines of different shapes, linear programs
answer.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from book.common.claims.registry import Effort, Evidence, Mechanism, Part, claim
from book.common.evidence import computed, in_words, sampled_claim
from book.common.oracle_drf import solved
from book.common.packing import packs
from book.tv_drf.judging import CHEAP, HALF, NO_TIE, POSITIVE, about_lies, rule_named
from book.tv_drf.oracle import LpRun, lexicographic_run
from book.tv_drf.properties import gain_of_lie, largest_above_floor
from book.tv_drf.rules import BROKEN
from book.tv_drf.workloads import Outcome, Workload, on_shapes

T4 = "Nobody runs more of its true tasks, all periods together, by lying about its demands or its numbers of tasks"

about_lies(
    "theorem_4.fluid.one",
    T4 + POSITIVE,
    "fluid, expires",
    "by claims",
    variant="divisible tasks, one period",
    periods=(1, 1),
    proof="thm-tv_drf-4",
)
about_lies(
    "theorem_4.fluid.several_expires",
    T4 + POSITIVE,
    "fluid, expires",
    "alone, expires",
    variant="divisible tasks, several periods, tasks expire",
    witness=(CHEAP, (0, [[1], ["1/4"]], ["1/2", 2])),
)
about_lies(
    "theorem_4.fluid.several_waits",
    T4 + POSITIVE,
    "fluid, waits",
    "alone, waits",
    variant="divisible tasks, several periods, tasks wait",
    witness=(
        Workload.of([[[1, 2], [1, 3]], [[3, 1], [2, 1]]], [[2, 3], [1, 1]], [[4, 4]], ["3/5", "2/5"]),
        (0, [[2, 2], [3, 2]], [2, 1]),
    ),
)
_LAST = "With an honest past, nobody runs more of its true tasks by lying in the last period" + POSITIVE
about_lies(
    "theorem_4.last_period.expires",
    _LAST,
    "fluid, expires",
    "fluid, no memory",
    variant="divisible tasks, several periods, tasks expire, lies about demands only",
    about=("demands",),
    last_only=True,
    witness=(
        Workload.of([[[1], [1]]] * 2, [["2/3", "1/6"], ["1/3", 1]], [[1]], HALF),
        (0, [[1], [3]], ["2/3", "1/3"]),
    ),
)
about_lies(
    "theorem_4.last_period.waits",
    _LAST,
    "fluid, waits",
    "by claims",
    variant="divisible tasks, several periods, tasks wait",
    last_only=True,
    proof="thm-tv_drf-4",
)
for _id, _fate in (("no_constraint", "expires"), ("no_constraint_waits", "waits")):
    about_lies(
        f"theorem_4.{_id}",
        _LAST,
        "fluid, no constraint" + ", waits" * (_fate == "waits"),
        "by claims",
        variant=f"divisible tasks, without the constraint beta >= 1, several periods, tasks {_fate[:-1]}",
        locator="beyond the paper: no constraint",
        last_only=True,
        proof="prop-tv_drf-no-floor",
    )
about_lies(
    "theorem_4.no_memory",
    T4 + POSITIVE,
    "fluid, no memory",
    "by claims",
    variant="divisible tasks in one pool, without memory, several periods, tasks expire",
    locator="beyond the paper: no memory",
    proof="prop-tv_drf-memoryless",
)


def _cheap(eps: Fraction) -> Workload:
    """CHEAP with small tasks of size ``eps``, as many as fill half the pool."""
    return Workload.of([[[1], [1]], [[eps], [1]]], [[1, eps], [1 / (2 * eps), 1]], [[1]], HALF)


def _queued(eps: Fraction) -> Workload:
    """Where tasks wait: the first user comes just to the end of its tasks of period 1, small ones are next."""
    small = [3 * eps, 2 * eps]
    return Workload.of([[[3, 2], [2, 2]], [small, [1, 3]]], [["11/10", 1], [2 / eps, 2]], [[3, 3]], HALF)


#: Rule, workload for a size of small tasks, what its first user claims in period 1, tasks with that lie.
UNBOUNDED: dict[str, tuple[str, Callable[[Fraction], Workload], str, Callable[[Fraction], Fraction]]] = {
    "expires": ("fluid, expires", _cheap, "1/2", lambda eps: (1 + 1 / eps) / 2),
    "waits": ("fluid, waits", _queued, "1/3", lambda eps: Fraction(11, 10) + 1 / (30 * eps)),
    "no_constraint_expires": ("fluid, no constraint", _cheap, "1/2", lambda eps: 1 + 1 / (4 * eps)),
    "no_constraint_waits": (
        "fluid, no constraint, waits",
        _queued,
        "1/3",
        lambda eps: Fraction(11, 10) + 1 / (30 * eps),
    ),
}


def _unbounded(name: str) -> None:
    rule, workload, claimed, lying = UNBOUNDED[name]
    constraint = "without the constraint beta >= 1, " if "no constraint" in rule else "divisible tasks, "

    @claim(
        id=f"tv_drf.theorem_4.unbounded.{name}",
        locator="beyond the paper: how much a lie pays",
        kind="extension",
        variant=f"{constraint}two periods, tasks {'wait' if workload is _queued else 'expire'}",
        statement="No factor bounds what claiming fewer tasks in the first of two periods gains: for each 0 < e <= 1/4 "
        "there are two users of whom one runs fewer than 2 tasks, and more than 1/(30 e) with such a lie" + POSITIVE,
        proof="prop-tv_drf-unbounded",
        mechanism=rule_named(rule),
        mutant=rule_named("fluid, no memory"),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        sizes = [Fraction(1, k) for k in (4, 10, 100, 1000)]
        right = True
        for eps in sizes:
            w = workload(eps)
            honest = judged.run(w, True).tasks[:, 0].sum()
            tasks = w.tasks[:, 0].copy()
            tasks[0] = Fraction(claimed)
            with_lie = honest + gain_of_lie(judged.run, w, 0, w.demands[:, 0], tasks, honest)
            right &= honest < 2 and with_lie == lying(eps)
        text = f"With e = {sizes[-1]}: {honest} true tasks, and {with_lie} with the lie."
        return Evidence.of(
            Part(bool(right), "numbers", f"As proved, in fractions, for e = {in_words(sizes)}. {text}", len(sizes))
        )


for _name in UNBOUNDED:
    _unbounded(_name)

SIZES = Workload.of([[[1], [1]]], [[2, 2]], [[3]], HALF)
about_lies(
    "theorem_4.whole.one",
    T4 + POSITIVE,
    "whole, expires",
    "alone, whole, expires",
    variant="Algorithm 1, already in one period",
    periods=(1, 1),
    witness=(SIZES, (1, [[2]], [2])),
    locator="contribution 2; section 4",
)


# ------------------------------------------------------------------------------------- machines of different shapes

_OPTIMUM = Mechanism("lexicographic optimum", lexicographic_run)


def _in_turn(demands: Any, tasks: Any, machines: Any, parts: Any) -> Any:
    """Broken: every period is shared as if it were the first."""
    runs = [lexicographic_run(demands[[t]], tasks[[t]], machines, parts) for t in range(len(demands))]
    found = {name: np.concatenate([getattr(run, name) for run in runs]) for name in ("tasks", "alone")}
    return LpRun(
        found["tasks"],
        np.ones_like(found["tasks"]),
        np.cumsum(np.concatenate([run.cumulative_shares for run in runs]), axis=0),
        found["alone"],
        np.zeros((0, 0, 0)),
        [],
    )


@sampled_claim(
    id="tv_drf.lemma_2.shapes",
    locator="beyond the paper (Lemma 2)",
    kind="lemma",
    variant="restated; divisible tasks, several periods, tasks expire, machines of different shapes",
    statement="Whoever has tasks left at the end of a period has a G at least that of everyone who got more in it than "
    "beta >= 1 asks for" + POSITIVE,
    proof="lem-tv_drf-2",
    mechanism=_OPTIMUM,
    mutant=Mechanism("periods in turn", _in_turn),
    key=7,
    share=80,
    said="{count} random workloads of 3 periods on 2 or 3 machines of different shapes, by linear programs: it holds "
    "up to 1e-4.",
    grade="search",
    right=lambda margins: True,
)
def _lemma_2_on_shapes(rng: np.random.Generator, judged: Mechanism, at: int) -> Any:
    """Who may stand higher on machines of any shapes: tasks that expire, G in floats."""
    w = on_shapes(rng, 3)
    run = judged.run(w.demands, w.tasks, w.machines, w.contributions)
    outcome = Outcome(run.tasks, run.cumulative_shares, run.tasks[:, :, None] * w.demands, run.alone)
    margin = float(largest_above_floor(w, outcome, 1e-4))
    return Part(False, "search", f"Violated, margin {margin:.3g}: {w}.", at + 1) if margin < -1e-4 else margin


@sampled_claim(
    id="tv_drf.theorem_1.shapes",
    locator="Theorem 1",
    kind="theorem",
    variant="divisible tasks, several periods, tasks expire, machines of different shapes",
    statement="beta_i(t) >= 1 for every user and period" + POSITIVE,
    proof="thm-tv_drf-1",
    mechanism=_OPTIMUM,
    mutant=Mechanism("resources", partial(lexicographic_run, alone="resources")),
    key=6,
    share=80,
    said="{count} random workloads of 3 periods on 2 or 3 machines of different shapes, by linear programs: every "
    "beta is at least 1 up to 1e-6.",
    grade="search",
    right=lambda betas: True,
)
def _sharing_on_shapes(rng: np.random.Generator, judged: Mechanism, at: int) -> Any:
    """Sharing incentive on machines of any shapes."""
    w = on_shapes(rng, 3, lacking=True)
    least = float(judged.run(w.demands, w.tasks, w.machines, w.contributions).sharing_coefficients.min())
    demands, machines = in_words(w.demands.tolist()), in_words(w.machines.tolist())
    words = f"Least beta {least:.3g}: demands {demands}, machines {machines}."
    return Part(False, "search", words, at + 1) if least < 1 - 1e-6 else least


def _most(w: Workload, t: int, least: Any) -> float:
    """Tasks that can be run in all in a period on machines of any shapes, nobody fewer than ``least``."""
    n, K = w.contributions.shape
    use = np.einsum("kl,ij->kjil", np.eye(K), w.demands[t]).reshape(-1, n * K)
    each = np.kron(np.eye(n), np.ones(K))
    right = np.concatenate([w.machines.ravel(), w.tasks[t], -least * (1 - 1e-9)])
    return -float(solved("the most tasks", -np.ones(n * K), np.vstack([use, each, -each]), right, (0, None)).fun)


@sampled_claim(
    id="tv_drf.theorem_2.shapes",
    locator="Theorem 2",
    kind="theorem",
    variant="divisible tasks, several periods, tasks expire, machines of different shapes",
    statement="In no period could somebody run more tasks and nobody fewer, the past being what it is" + POSITIVE,
    proof="thm-tv_drf-2",
    mechanism=_OPTIMUM,
    mutant=Mechanism("nine tenths", lambda d, b, machines, parts: lexicographic_run(d, b, 0.9 * machines, parts)),
    key=10,
    share=80,
    said="{count} random workloads of 3 periods on 2 or 3 machines of different shapes, by linear programs: nobody "
    "could run more up to 1e-5.",
    grade="search",
    right=lambda gains: True,
)
def _efficient_on_shapes(rng: np.random.Generator, judged: Mechanism, at: int) -> Any:
    """Efficiency of each period on machines of any shapes: what more could be run in all."""
    w = on_shapes(rng, 3, lacking=True)
    run = judged.run(w.demands, w.tasks, w.machines, w.contributions)
    gain = max(_most(w, t, ran) / (1 + ran.sum()) - ran.sum() / (1 + ran.sum()) for t, ran in enumerate(run.tasks))
    return Part(False, "search", f"{gain:.3g} more (relative): {w}.", at + 1) if gain > 1e-5 else gain


@sampled_claim(
    id="tv_drf.theorem_4.shapes",
    locator="Theorem 4",
    kind="theorem",
    variant="divisible tasks, one period, machines of different shapes",
    statement=T4 + POSITIVE,
    proof="thm-tv_drf-4",
    mechanism=_OPTIMUM,
    mutant=Mechanism("by claims", lambda *w: BROKEN["by claims"](Workload(*w), False)),
    key=4,
    share=40,
    said=lambda gains: (
        f"{len(gains)} random lies on 2 or 3 machines of different shapes, by linear programs: none "
        f"pays; largest gain {'below 1e-5' if max(gains) < 1e-5 else f'{max(gains):.3g}'}."
    ),
    grade="search",
    right=lambda gains: True,
)
def _lies_on_shapes(rng: np.random.Generator, judged: Mechanism, at: int) -> Any:
    """Lies of the first user on machines of any shapes."""
    w = on_shapes(rng, 1, lacking=True)
    honest = judged.run(w.demands, w.tasks, w.machines, w.contributions).tasks[0, 0]
    claimed, counts = w.demands.copy(), w.tasks.copy()
    claimed[0, 0] *= rng.choice([0.5, 0.8, 1, 1.25, 2, 4], claimed.shape[2])
    counts[0, 0] *= rng.choice([0.5, 1, 2, 4])
    lying = judged.run(claimed, counts, w.machines, w.contributions)
    true = min(lying.tasks[0, 0] * min(claimed[0, 0] / w.demands[0, 0]), w.tasks[0, 0])
    gain = float(true - honest) / (1 + honest)
    said = f"demands {in_words(w.demands[0].tolist())}, claimed {in_words(claimed[0, 0].tolist())}"
    return Part(False, "search", f"A lie gains {gain:.3g} (relative): {said}.", at) if gain > 1e-5 else gain


# ------------------------------------------------------------------------------------- is the heuristic the optimum?


def all_whole(w: Workload) -> list[tuple[Fraction, ...]]:
    """Sorted G of every allocation of whole tasks that fits, one period (by trying every count)."""
    step = (w.demands[0] / w.capacities).max(axis=1) / w.weights
    rooms, tasks = (tuple(map(tuple, rows.tolist())) for rows in (w.machines, w.demands[0]))
    counts = product(*(range(int(b) + 1) for b in w.tasks[0]))
    return [tuple(sorted(some * step)) for some in counts if packs(rooms, tasks, some)]


@claim(
    id="tv_drf.heuristic_optimal",
    locator="beyond the paper (section 4, 1); section 5)",
    kind="statement",
    variant="one period, whole tasks",
    statement="Algorithm 1 reaches the lexicographic max-min optimum of G among the allocations of whole tasks"
    + POSITIVE,
    mechanism=rule_named("whole, expires"),
    mutant=rule_named("whole, one machine, expires"),
)
def _heuristic_optimal(effort: Effort, judged: Mechanism) -> Evidence:
    outcome = judged.run(NO_TIE, True)
    ours, best = tuple(sorted(outcome.shares[0])), max(all_whole(NO_TIE))
    return Evidence.of(
        computed(
            ours >= best,
            f"{NO_TIE}. Algorithm 1 runs {in_words(outcome.tasks[0].tolist())} tasks; the G, sorted, are "
            f"{in_words(ours)}. The best possible are {in_words(best)}.",
            1,
            NO_TIE.as_data(judged.name, outcome.tasks),
        )
    )
