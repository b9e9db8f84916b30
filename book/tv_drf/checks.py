"""The claims of the TV-DRF paper (Li et al. 2019): its example, lemmas and theorems, and its figures.

Each theorem is judged for the fluid mechanism and for Algorithm 1 in whole tasks, in one period and in several, where
unserved tasks expire and where they wait. All demands and all counts of tasks are positive, as the paper assumes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from book.common.evidence import in_words, margin_in_words, witnessed
from book.common.runs import stream
from book.tv_drf import studies as study
from book.tv_drf.oracle import LpRun, exact_whole_run, lexicographic_run
from book.tv_drf.properties import (
    BROKEN,
    RULES,
    Outcome,
    Workload,
    envy_freeness,
    envy_of_equals,
    envy_of_the_constant,
    gain_of_lie,
    in_order,
    largest_above_floor,
    largest_unserved,
    lies,
    next_task_refused,
    pareto_in_period,
    resource_used_up,
    search_lie_over_time,
    search_workload,
    sharing_incentive_so_far,
    tasks_against_alone,
    up_to_one_task,
    within_tasks,
    workloads,
)
from fairbook.claims.registry import Effort, Evidence, Kind, Mechanism, Part, claim
from fairbook.claims.stored import ledger
from fairbook.traces.alibaba2017 import load_digest

Check = Callable[[Workload, Outcome], Any]
Lie = tuple[int, Any, Any]  # user, demands (T, m), tasks (T,) that it claims

HALF = ["1/2", "1/2"]


def _rule(name: str) -> Mechanism:
    return Mechanism(name, (RULES | BROKEN)[name])


# --------------------------------------------------------------------------------------------------- ways of looking


def _searched(check: Check, effort: Effort, judged: Mechanism, *, periods: tuple[int, int], whole: bool) -> list[Part]:
    """Drive the margin down in floats, and check random small workloads in fractions."""
    one_pool = "one machine" if whole else "one pool"
    margin, where, done, _ = search_workload(
        lambda w: check(w, judged.run(w, False)),
        evaluations=effort.evaluations // 4,
        rng=stream(effort.seed, 1),
        periods=periods,
        whole=whole,
    )
    if margin < -1e-7:
        return [Part(False, "search", f"Violated, margin {margin:.3g}: {where}.", done)]
    most = "one period" if periods[1] == 1 else f"up to {periods[1]} periods"
    rng, count = stream(effort.seed, 2), effort.evaluations // 50
    for at in range(count):
        w = workloads(rng, periods=periods, whole=whole).in_fractions()
        value = check(w, judged.run(w, True))
        if value < 0:
            return [Part(False, "witness", f"Violated in fractions, margin {value}: {w}.", at + 1)]
    least = "no case met" if margin == np.inf else f"smallest margin {margin_in_words(margin)}"
    return [
        Part(
            True,
            "search",
            f"Local search over workloads ({done} runs; {one_pool}, {most}, 2 to 4 users, 1 to 3 "
            f"resources at the start) found nothing; {least}.",
            done,
        ),
        Part(True, "numbers", f"Holds in fractions on {count} random workloads.", count),
    ]


def _told(w: Workload, outcome: Outcome, what: str | Callable[[Workload, Outcome], str], margin: Any) -> str:
    what = f"{what} {margin}" if isinstance(what, str) else what(w, outcome)
    return f"{w}. Tasks run {in_words(outcome.tasks.tolist())}, G {in_words(outcome.shares.tolist())}; {what}."


def _about_runs(
    name: str,
    locator: str,
    statement: str,
    check: Check,
    rule: str,
    mutant: str,
    *,
    kind: Kind = "theorem",
    variant: str = "as stated",
    periods: tuple[int, int] = (1, 4),
    witness: Workload | None = None,
    what: str | Callable[[Workload, Outcome], str] = "margin",
    proof: str | None = None,
) -> None:
    """Register a statement about what a mechanism does with a workload; one with a witness is refuted by it."""

    @claim(
        id=f"tv_drf.{name}",
        locator=locator,
        kind=kind,
        variant=variant,
        statement=statement,
        proof=proof,
        mechanism=_rule(rule),
        mutant=_rule(mutant),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        if against := witnessed(judged, witness, check, lambda w, outcome, margin: _told(w, outcome, what, margin)):
            return against
        return Evidence(tuple(_searched(check, effort, judged, periods=periods, whole=rule.startswith("whole"))))


def _about_lies(
    name: str,
    statement: str,
    rule: str,
    mutant: str,
    *,
    variant: str,
    periods: tuple[int, int] = (1, 4),
    about: Sequence[str] = ("demands", "tasks"),
    last_only: bool = False,
    witness: tuple[Workload, Lie] | None = None,
    proof: str | None = None,
    locator: str = "Theorem 4",
) -> None:
    """Register a statement that no lie pays; one with a witness is refuted by it."""

    @claim(
        id=f"tv_drf.{name}",
        locator=locator,
        kind="theorem",
        variant=variant,
        statement=statement,
        proof=proof,
        mechanism=_rule(rule),
        mutant=_rule(mutant),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        whole = rule.startswith("whole")
        if witness is not None:
            w, (user, demands, tasks) = witness
            lie = Workload.of([[row] for row in demands], [[x] for x in tasks], [[1] * len(demands[0])], ["1"])
            run = judged.run(w, True).tasks
            honest = run[:, user].sum()
            gain = gain_of_lie(judged.run, w, user, lie.demands[:, 0], lie.tasks[:, 0], honest)
            if gain > 0:
                said = replace(w, demands=w.demands.copy(), tasks=w.tasks.copy())
                said.demands[:, user], said.tasks[:, user] = lie.demands[:, 0], lie.tasks[:, 0]
                return Evidence.of(
                    Part(
                        False,
                        "witness",
                        f"{w}. User {user + 1} claims demands {in_words(demands)} and tasks {in_words(tasks)}: with "
                        f"what it then holds it runs {honest + gain} true tasks instead of {honest}. Tasks by period: "
                        f"{in_words(run.tolist())}, and as claimed {in_words(judged.run(said, True).tasks.tolist())}.",
                        1,
                    )
                )
        gain, words, done = search_lie_over_time(
            judged.run,
            evaluations=effort.evaluations // 2,
            rng=stream(effort.seed, 3),
            whole=whole,
            about=about,
            last_only=last_only,
            periods=periods,
        )
        if gain > 1e-7:
            return Evidence.of(Part(False, "search", f"A lie gains {gain:.3g} (relative): {words}.", done))
        most = "one period" if periods[1] == 1 else f"up to {periods[1]} periods"
        count = effort.evaluations // 100
        for idle, rng in ((False, stream(effort.seed, 5)), (True, stream(effort.seed, 8))):
            for at in range(count):
                w = workloads(rng, periods=periods, whole=whole, idle=idle).in_fractions()
                told = lies(rng, w, 0, whole=whole, about=about, last_only=last_only)
                demands, tasks = _fractions(told[0]), _fractions(told[1])
                gain_exact = gain_of_lie(judged.run, w, 0, demands, tasks)
                if gain_exact > 0:
                    return Evidence.of(Part(False, "witness", f"A lie gains {gain_exact}: {w}.", at + 1))
        return Evidence.of(
            Part(
                True,
                "numbers",
                f"None of {count} random lies pays in fractions, and none of {count} where users have no tasks in some "
                "periods and may claim some.",
                2 * count,
            ),
            Part(
                True,
                "search",
                f"Search over workloads and lies about {' and '.join(about)} ({done} lies; {most}, 2 "
                f"to 4 users, 1 to 3 resources) found none that pays; largest gain {margin_in_words(gain)}.",
                done,
            ),
        )


# ------------------------------------------------------------------------------------------------- the worked example


@lru_cache(maxsize=2000)
def _printed(alone: str, size: int, counts: tuple[int, int]) -> Any:
    """Run the example in fractions on machines of ``size``.

    Counts are the tasks that A and B submit in the second period, which the text has lost.
    """
    return exact_whole_run(
        [[[2, 1], [1, 1]], [[5, 5], [20, 10]]], [[15, 70], list(counts)], [[size] * 2] * 2, [[1, 0], [0, 1]], alone
    )


def _reading(alone: str, size: int = 50) -> Mechanism:
    """What each would have had alone, and of machines of which size."""
    return Mechanism(alone if size == 50 else f"{alone}, machines of {size}", partial(_printed, alone, size))


def _two_digits(value: Fraction) -> str:
    return f"{float(value):.2f}"


def _at_start(run: Any) -> tuple[Fraction, ...]:
    """Betas at the start of the second period: what is used by then, what would have been used by its end alone."""
    used, own = run.amounts[0], [[sum(x) for x in zip(*rows, strict=True)] for rows in zip(*run.alone, strict=True)]
    return tuple(min(u / o for u, o in zip(*pair, strict=True)) for pair in zip(used, own, strict=True))


def _at_fifty(run: Any) -> tuple[Fraction, ...]:
    """Betas when, in the second period, A holds (50, 50) and B (40, 20)."""
    own = [[sum(x) for x in zip(*rows, strict=True)] for rows in zip(*run.alone, strict=True)]
    used = [
        [u + more for u, more in zip(row, held, strict=True)]
        for row, held in zip(run.amounts[0], ((50, 50), (40, 20)), strict=True)
    ]
    return tuple(min(u / o for u, o in zip(*pair, strict=True)) for pair in zip(used, own, strict=True))


def _first_of_a(run: Any) -> int:
    """What A is given in the second period before B is given anything, of each resource: five times the tasks."""
    order = run.order[1]
    return 5 * (order.index(1) if 1 in order else len(order))


def _passed(run: Any) -> bool:
    """Whether the second period passes the state in which A has 10 tasks, (50, 50), and B has 2, (40, 20)."""
    turns = [(run.order[1][:k].count(0), run.order[1][:k].count(1)) for k in range(len(run.order[1]) + 1)]
    return (10, 2) in turns


def _after_first(run: Any) -> tuple[Any, ...]:
    """Tasks of the first period, and what is left of each resource."""
    left = [100 - sum(row[j] for row in run.amounts[0]) for j in range(2)]
    return (*run.tasks[0], *left)


#: Printed in the text, and how to get it from a run of the example.
PRINTED: dict[str, tuple[str, str, Callable[[Any], bool]]] = {
    "run": (
        "in the first period A runs 15 tasks and B 70, and then the resources are used up",
        "tasks of A and of B, CPU and memory left: {}",
        lambda run: run.tasks[0] == [15, 70] and 0 in _after_first(run)[2:],
    ),
    "t1": (
        "after the first period beta_A = 1 and beta_B = 1.4",
        "beta (A, B) is {}",
        lambda run: run.sharing_coefficients[0] == [1, Fraction(7, 5)],
    ),
    "start": (
        "at the start of the second period beta_A = 0.23 and beta_B = 0.7",
        "beta (A, B) is {}",
        lambda run: [_two_digits(b) for b in _at_start(run)] == ["0.23", "0.70"],
    ),
    "first": (
        "in the second period A is given (35, 35) before B is given anything",
        "A is given {} of each",
        lambda run: _first_of_a(run) == 35,
    ),
    "middle": (
        "when A has been given (50, 50) and B (40, 20), both betas are 1",
        "beta (A, B) is {}",
        lambda run: _passed(run) and _at_fifty(run) == (1, 1),
    ),
    "final": (
        "in the end beta_A = 1.125 and beta_B = 1",
        "beta (A, B) is {}",
        lambda run: run.sharing_coefficients[1] == [Fraction(9, 8), 1],
    ),
}
_VALUE: dict[str, Callable[[Any], Any]] = {
    "run": _after_first,
    "t1": lambda run: run.sharing_coefficients[0],
    "start": _at_start,
    "first": _first_of_a,
    "middle": _at_fifty,
    "final": lambda run: run.sharing_coefficients[1],
}
COUNTS = tuple(product(range(1, 31), range(1, 11)))


def _example(number: str, alone: str) -> None:
    says, shown, test = PRINTED[number]
    shape = {
        "bundles": "the tasks it could run",
        "resources": "of each resource by itself, the smaller of need and own",
    }

    @claim(
        id=f"tv_drf.example.{number}.{alone}",
        locator="worked example",
        kind="number",
        variant=f"alone: {shape[alone]}",
        statement=f"In the worked example {says}.",
        mechanism=_reading(alone),
        mutant=_reading("resources") if alone == "bundles" and number in ("middle", "final") else _reading(alone, 30),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        fits, values = [], {}
        for counts in COUNTS:
            run = judged.run(counts)
            values[counts] = _VALUE[number](run)
            if test(run):
                fits.append(counts)
        at = fits[0] if fits else (12, 4)
        text = shown.format(in_words(values[at]))
        if fits:
            a, b = (sorted({pair[k] for pair in fits}) for k in (0, 1))
            which = f"Fits {len(fits)} of {len(COUNTS)} pairs of lost counts: A {_range(a)}, B {_range(b)}; {text}."
        else:
            which = f"Fits none of {len(COUNTS)} pairs of lost counts; with 12 tasks of A and 4 of B {text}."
        return Evidence.of(Part(bool(fits), "numbers", which, len(COUNTS)))


def _range(values: list[int]) -> str:
    return str(values[0]) if len(values) == 1 else f"{values[0]} to {values[-1]}"


for _number in PRINTED:
    for _alone in ("bundles", "resources"):
        _example(_number, _alone)


@claim(
    id="tv_drf.example.together",
    locator="worked example",
    kind="number",
    variant="one pair of lost counts for all printed numbers",
    statement="Some pair of lost task counts gives all printed numbers of the worked example at once.",
    mechanism=_reading("resources"),
    mutant=_reading("bundles"),
)
def _together(effort: Effort, judged: Mechanism) -> Evidence:
    fits = []
    for counts in COUNTS:
        run = judged.run(counts)
        if all(test(run) for _, _, test in PRINTED.values()):
            fits.append(counts)
    a, b = (sorted({pair[k] for pair in fits}) for k in (0, 1))
    found = f"{len(fits)} pairs: A {_range(a)}, B {_range(b)}." if fits else "no pair."
    return Evidence.of(Part(bool(fits), "numbers", f"Reading {judged.name!r}: {found}", len(COUNTS)))


# ------------------------------------------------------------------------------------------------------------ lemmas

POSITIVE = " (positive demands and counts)."
#: Who was served early stays ahead: one resource, the second user has little to run in period 1.
EARLY = Workload.of([[[1], [1]]] * 2, [[1, "1/4"], [1, 2]], [[1]], ["1/4", "3/4"])
#: After one task each only one unit is left; the next task of the first user needs two.
GOES_ON = Workload.of([[[2], [1]]], [[2, 2]], [[4]], ["3/4", "1/4"])
#: Large tasks early, small ones late, and what was run early counts against the user.
CHEAP = Workload.of([[[1], [1]], [["1/4"], [1]]], [[1, "1/4"], [2, 1]], [[1]], HALF)
#: Best fit gives the second user the place that the first one's second task needs.
CUT = Workload.of([[[1, 3], [1, 1]]], [[2, 1]], [[3, 3], [2, 5]], [["1", "0"], ["0", "1"]])
#: Each could fill its own machine; best fit cuts the room for the second user's third task in two.
SPLIT = Workload.of([[[3, 1], [1, 1]]], [[2, 3]], [[6, 3], [3, 5]], [["1", "0"], ["0", "1"]])


def _again(w: Workload) -> Workload:
    """The same twice."""
    return replace(w, demands=np.concatenate([w.demands] * 2), tasks=np.concatenate([w.tasks] * 2))


_LITERAL_1 = "There is one G with G_i = min(G, G_i^max) for all i, where G_i^max counts all tasks submitted so far"
_LITERAL_2 = "Whoever has run fewer tasks than it has submitted so far has a G at least everyone else's"
_ONE = "fluid, one period"
_FLUID = {"expires": "fluid, several periods, tasks expire", "waits": "fluid, several periods, tasks wait"}

_about_runs(
    "lemma_1.one",
    "Lemma 1",
    _LITERAL_1 + POSITIVE,
    largest_unserved,
    "fluid, expires",
    "the last one first, expires",
    kind="lemma",
    variant=_ONE,
    periods=(1, 1),
    proof="lem-tv_drf-1",
)
_about_runs(
    "lemma_2.one",
    "Lemma 2",
    _LITERAL_2 + POSITIVE,
    largest_unserved,
    "fluid, expires",
    "the last one first, expires",
    kind="lemma",
    variant=_ONE,
    periods=(1, 1),
    proof="lem-tv_drf-2",
)
for _fate, _variant in _FLUID.items():
    for _lemma, _literal in ((1, _LITERAL_1), (2, _LITERAL_2)):
        _about_runs(
            f"lemma_{_lemma}.several_{_fate}",
            f"Lemma {_lemma}",
            _literal + POSITIVE,
            largest_unserved,
            f"fluid, {_fate}",
            f"nothing, {_fate}",
            kind="lemma",
            variant=_variant,
            witness=EARLY,
            what="G of the unfinished less the largest G",
        )
    _about_runs(
        f"lemma_1.restated_{_fate}",
        "Lemma 1",
        "In every period there is one level: whoever got more than its floor and less than all its tasks stands "
        "at it, nobody with tasks left stands below it, nobody above its floor stands above it, and for whoever "
        "has tasks left a resource is used up" + POSITIVE,
        lambda w, o: min(largest_above_floor(w, o), resource_used_up(w, o)),
        f"fluid, {_fate}",
        f"the last one first, {_fate}",
        kind="lemma",
        variant=f"restated; {_variant}",
        proof="lem-tv_drf-1",
    )
    _about_runs(
        f"lemma_2.restated_{_fate}",
        "Lemma 2",
        "Whoever has tasks left at the end of a period has a G at least that of everyone who got more in it than "
        "beta >= 1 asks for" + POSITIVE,
        largest_above_floor,
        f"fluid, {_fate}",
        f"the last one first, {_fate}",
        kind="lemma",
        variant=f"restated; {_variant}",
        proof="lem-tv_drf-2",
    )
    _about_runs(
        f"lemma_3.{_fate}",
        "Lemma 3",
        "For whoever has tasks left some resource is used up in the pool" + POSITIVE,
        resource_used_up,
        f"fluid, {_fate}",
        f"nine tenths of fluid, {_fate}",
        kind="lemma",
        variant=f"the statement is lost, this one presumed; {_variant}",
        proof="lem-tv_drf-3",
    )

_about_runs(
    "lemma_2.whole",
    "Lemma 2",
    "In whole tasks, whoever has tasks left has, with one task, its own or one of h, a G at least that of h" + POSITIVE,
    up_to_one_task,
    "whole, expires",
    "nothing, expires",
    kind="lemma",
    variant="Algorithm 1, up to one task",
    witness=GOES_ON,
    what="G_k plus the larger of both tasks, less G_h:",
)
_about_runs(
    "lemma_2.whole_restated",
    "Lemma 2",
    "In whole tasks on one machine, where k has tasks left: G_h exceeds "
    "G_k by at most one task of h and what h can run in the room that a task of k lacks, or exceeds what "
    "beta_h >= 1 asks for by that alone" + POSITIVE,
    within_tasks,
    "whole, expires",
    "the last one first, expires",
    kind="lemma",
    variant="restated; Algorithm 1, tasks expire",
    proof="lem-tv_drf-whole",
)
_about_runs(
    "lemma_3.whole",
    "Lemma 3",
    "In whole tasks, for whoever has tasks left some resource is used up in the pool" + POSITIVE,
    resource_used_up,
    "whole, expires",
    "fluid, expires",
    kind="lemma",
    variant="Algorithm 1",
    witness=Workload.of([[[2], [2]]], [[1, 1]], [[3]], HALF),
    what="used of the fullest resource, less 1:",
)
for _fate in _FLUID:
    _about_runs(
        f"lemma_3.whole_restated_{_fate}",
        "Lemma 3",
        "In whole tasks on one machine the next task of whoever has tasks left does not fit" + POSITIVE,
        next_task_refused,
        f"whole, {_fate}",
        f"nine tenths of whole, {_fate}",
        kind="lemma",
        variant=f"restated; Algorithm 1, tasks {_fate[:-1]}",
        proof="lem-tv_drf-3",
    )


@claim(
    id="tv_drf.order_example",
    locator="section 2",
    kind="number",
    statement="Of the printed vectors G = (1.0, 0.2, 0.6) and G' = (0.6, 0.3, 0.4) the second is the larger one in the "
    "order of (9).",
    variant="the conclusion is lost, this one presumed",
    mechanism=Mechanism("in increasing order", sorted),
    mutant=Mechanism("by the sum", lambda values: [sum(values)]),
)
def _order_example(effort: Effort, judged: Mechanism) -> Evidence:
    one, other = ([Fraction(x) for x in values] for values in (("1.0", "0.2", "0.6"), ("0.6", "0.3", "0.4")))
    first, second = judged.run(one), judged.run(other)
    text = f"Compared are {in_words(first)} and {in_words(second)}."
    return Evidence.of(Part(first < second, "numbers", text, 1))


# ---------------------------------------------------------------------------------------------------------- theorems

_T1 = "beta_i(t) >= 1 for every user and period"
_T2 = "In no period could somebody run more tasks and nobody fewer, the past being what it is"
_T3 = (
    "Whoever has run fewer tasks than submitted so far holds, against every h, of some resource at least as much so "
    "far per weight"
)
_T4 = "Nobody runs more of its true tasks, all periods together, by lying about its demands or its numbers of tasks"
_CELLS = {
    "one": ("one period", "expires", (1, 1)),
    "several_expires": ("several periods, tasks expire", "expires", (1, 4)),
    "several_waits": ("several periods, tasks wait", "waits", (1, 4)),
}

for _cell, (_when, _fate, _periods) in _CELLS.items():
    _fluid, _whole = f"fluid, {_fate}", f"whole, {_fate}"
    _about_runs(
        f"theorem_1.fluid.{_cell}",
        "Theorem 1",
        _T1 + POSITIVE,
        sharing_incentive_so_far,
        _fluid,
        f"nine tenths of {_fluid}",
        variant=f"fluid, {_when}",
        periods=_periods,
        proof="thm-tv_drf-1",
    )
    _about_runs(
        f"theorem_1.whole.{_cell}",
        "Theorem 1",
        _T1 + POSITIVE,
        sharing_incentive_so_far,
        _whole,
        f"alone, whole, {_fate}",
        variant=f"Algorithm 1, {_when}",
        periods=_periods,
        witness=SPLIT if _cell == "one" else _again(SPLIT),
        what="least beta less 1:",
    )
    _about_runs(
        f"theorem_2.fluid.{_cell}",
        "Theorem 2",
        _T2 + POSITIVE,
        pareto_in_period if _fate == "expires" else resource_used_up,
        _fluid,
        f"nine tenths of {_fluid}",
        variant=f"fluid, {_when}",
        periods=_periods,
        proof="thm-tv_drf-2",
    )
    _about_runs(
        f"theorem_2.whole.{_cell}",
        "Theorem 2",
        _T2 + POSITIVE,
        pareto_in_period,
        _whole,
        f"whole, one machine, {_fate}",
        variant=f"Algorithm 1, {_when}",
        periods=_periods,
        witness=CUT if _cell == "one" else _again(CUT),
        what="-1 where one task more fits beside all others:",
    )
    _about_runs(
        f"theorem_3.fluid.{_cell}",
        "Theorem 3",
        _T3 + POSITIVE,
        envy_freeness,
        _fluid,
        *(("the last one first, expires",) if _cell == "one" else (f"nothing, {_fate}",)),
        variant=f"fluid, {_when}",
        periods=_periods,
        witness=None if _cell == "one" else EARLY,
        what="largest of (held of j per weight by the unfinished, less by the other):",
        proof="thm-tv_drf-3" if _cell == "one" else None,
    )
    _about_runs(
        f"theorem_3.whole.{_cell}",
        "Theorem 3",
        _T3 + POSITIVE,
        envy_freeness,
        _whole,
        f"nothing, {_fate}",
        variant=f"Algorithm 1, {_when}",
        periods=_periods,
        witness=GOES_ON if _cell == "one" else _again(GOES_ON),
        what="largest of (held of j per weight by the unfinished, less by the other):",
    )

_about_runs(
    "theorem_3.every_resource",
    "introduction",
    "Whoever has run fewer tasks than submitted so far holds, against every h, of every resource at least as much so "
    "far per weight" + POSITIVE,
    partial(envy_freeness, every=True),
    "fluid, expires",
    "nothing, expires",
    kind="statement",
    variant="fluid, one period: nobody envies another any resource",
    periods=(1, 1),
    witness=Workload.of([[[2, 1], [1, 2]]], [[1, 1]], [[2, 2]], HALF),
    what="least of (held of j per weight by the unfinished, less by the other):",
)
for _fate in ("expires", "waits"):
    _about_runs(
        f"theorem_1.one_machine.{_fate}",
        "Theorem 1",
        _T1 + POSITIVE,
        sharing_incentive_so_far,
        f"whole, {_fate}",
        f"nine tenths of whole, {_fate}",
        variant=f"Algorithm 1 on one machine, alone in whole tasks, tasks {_fate[:-1]}",
        proof="thm-tv_drf-1-whole",
    )
    _about_runs(
        f"theorem_2.one_machine.{_fate}",
        "Theorem 2",
        _T2 + POSITIVE,
        pareto_in_period if _fate == "expires" else next_task_refused,
        f"whole, {_fate}",
        f"nine tenths of whole, {_fate}",
        variant=f"Algorithm 1 on one machine, tasks {_fate[:-1]}",
        proof="thm-tv_drf-2-whole",
    )
_about_runs(
    "theorem_1.bundles_in_whole_tasks",
    "Theorem 1",
    _T1 + POSITIVE,
    sharing_incentive_so_far,
    "whole, bundles",
    "whole, expires",
    variant="Algorithm 1 on one machine, alone in fractions of tasks",
    witness=Workload.of([[[2], [2]]], [[1, 1]], [[3]], HALF),
    what="least beta less 1:",
)
_about_runs(
    "theorem_1.beta_from_zero",
    "Theorem 1",
    _T1 + POSITIVE,
    sharing_incentive_so_far,
    "whole, beta from 0",
    "whole, expires",
    variant="Algorithm 1 on one machine, beta 0 as printed until a user has used something",
    witness=Workload.of([[[3], [1]]], [[1, 2]], [[4]], HALF),
    what="least beta less 1:",
)
_about_runs(
    "theorem_1.resources",
    "Theorem 1",
    _T1 + POSITIVE,
    sharing_incentive_so_far,
    "fluid, resources",
    "fluid, expires",
    variant="fluid, alone: of each resource by itself, the smaller of need and own",
    witness=Workload.of([[[1, "1/2"]]], [[2]], [[1, 1]], ["1"]),
    what="least beta less 1:",
)
for _fate, _variant in _FLUID.items():
    _about_runs(
        f"theorem_3.constant_{_fate}",
        "Theorem 3",
        "Whoever has tasks left in a period, and the same demand vector in all periods so far, holds, against every h "
        "that got more in it than beta >= 1 asks for, of some resource at least as much so far per weight" + POSITIVE,
        envy_of_the_constant,
        f"fluid, {_fate}",
        f"the last one first, {_fate}",
        kind="theorem",
        variant=f"restated; {_variant}",
        proof="thm-tv_drf-3",
    )
_about_runs(
    "theorem_3.equal_levels",
    "Theorem 3",
    _T3.replace("Whoever", "Where all have equal G and tasks left in every period, whoever") + POSITIVE,
    envy_of_equals,
    "fluid, expires",
    "nothing, expires",
    variant="fluid, several periods, equal G and tasks left in all periods",
    witness=Workload.of([[[1, "1/4"], [1, "3/4"]], [["1/4", 1], ["3/4", 1]]], [[1, 1]] * 2, [[1, 1]], HALF),
    what="largest of (held of j per weight by the unfinished, less by the other):",
)


#: Workload, whether tasks wait, and other tasks for all periods that are better for somebody and worse for nobody.
TRADES: dict[str, tuple[Workload, str, list[list[Any]], str]] = {
    "expires": (
        Workload.of([[[1], ["1/2"]], [["1/2"], [1]]], [[2, 2]] * 2, [[1]], HALF),
        "expires",
        [[0, 2], [2, 0]],
        "tasks expire",
    ),
    "within_beta": (
        Workload.of([[[1], ["1/2"], [1]], [["1/2"], [1], [1]]], [[2, 2, "1/3"]] * 2, [[1]], ["1/4", "1/4", "1/2"]),
        "expires",
        [["1/4", "5/6", "1/3"], ["5/6", "1/4", "1/3"]],
        "tasks expire, the others keep beta >= 1",
    ),
    "waits": (
        Workload.of([[[1, 1], [1, "1/4"]], [["1/4", 1], ["1/4", 1]]], [["3/4", "3/4"], [1, 1]], [[1, 1]], HALF),
        "waits",
        [["3/4", "1/4"], ["7/16", "15/16"]],
        "tasks wait",
    ),
}


def _trade(name: str) -> None:
    w, fate, other, variant = TRADES[name]
    tasks = Workload.of(w.demands.tolist(), other, w.machines.tolist(), w.contributions.tolist()).tasks

    def traded(given: Workload, exact: bool) -> Outcome:
        return in_order(given, tasks, fate == "waits")

    @claim(
        id=f"tv_drf.theorem_2.whole_run.{name}",
        locator="Theorem 2",
        kind="theorem",
        variant=f"fluid, several periods, tasks of all periods added up, {variant}",
        statement="No other tasks in all periods together give somebody more in total and nobody less" + POSITIVE,
        mechanism=_rule(f"fluid, {fate}"),
        mutant=Mechanism("periods traded", traded),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        ours, theirs = judged.run(w, True), in_order(w, tasks, fate == "waits")
        alone = RULES[f"fluid, {fate}"](w, True).alone
        allowed = (
            (theirs.amounts.sum(axis=1) <= w.capacities).all()
            and (theirs.left(w) >= 0).all()
            and (name != "within_beta" or sharing_incentive_so_far(w, replace(theirs, alone=alone)) >= 0)
        )
        before, after = ours.tasks.sum(axis=0), theirs.tasks.sum(axis=0)
        better = bool(allowed and (after >= before).all() and (after > before).any())
        text = (
            f"{w}. In total {in_words(before.tolist())} tasks; the tasks {in_words(tasks.tolist())} fit and give "
            f"{in_words(after.tolist())}."
        )
        return Evidence.of(Part(not better, "witness" if better else "numbers", text, 1))


for _name in TRADES:
    _trade(_name)


def _fractions(values: Any) -> Any:
    exact = np.empty(values.shape, dtype=object)
    exact.ravel()[:] = [Fraction(x).limit_denominator(1000) for x in values.ravel().tolist()]
    return exact


SHAPES: dict[str, list[list[int]]] = {"two shapes": [[2, 1], [1, 2]], "one shape": [[2, 1], [2, 1]]}


@claim(
    id="tv_drf.theorem_3.shapes",
    locator="Theorem 3",
    kind="theorem",
    variant="fluid, one period, machines of different shapes",
    statement="With beta >= 1 for everyone, whoever has tasks left holds, against every h, of some resource at least "
    "as much per weight" + POSITIVE,
    mechanism=Mechanism("two shapes", lambda: SHAPES["two shapes"]),
    mutant=Mechanism("one shape", lambda: SHAPES["one shape"]),
)
def _shapes(effort: Effort, judged: Mechanism) -> Evidence:
    machines = judged.run()
    task = (2, 1)
    fits = [min(Fraction(c, a) for c, a in zip(machine, task, strict=True)) for machine in machines]
    most, need_a = sum(fits), fits[0]  # A brought the first machine, and its beta is 1 only with what that one can run
    total = [Fraction(sum(c)) for c in zip(*machines, strict=True)]
    weight = [sum(Fraction(c) / t for c, t in zip(m, total, strict=True)) / 2 for m in machines]
    a, b = need_a, most - need_a  # at best for B
    run = lexicographic_run([[task, task]], [[5, 5]], machines, np.eye(2))
    agree = bool(np.allclose(run.tasks[0], [float(a), float(b)], atol=1e-6))
    envy = b / weight[1] < a / weight[0]
    text = (
        f"Machines {in_words([tuple(m) for m in machines])}, the first brought by A, the second by B, tasks of "
        f"{task} for both: {most} tasks fit in all, beta_A >= 1 asks for {need_a} for A, so B runs at most {b}; "
        f"weights {in_words(weight)}. The linear programs give {in_words(_fractions(run.tasks[0]).tolist())}."
    )
    return Evidence.of(Part(not envy if agree else None, "witness" if envy else "numbers", text, 1))


def _runs_alone(machines: Any, parts: Any, demands: Any) -> Any:
    """Tasks that each could run alone, bounds apart, shape (n,); one period."""
    fits = parts[:, :, None] * machines / demands[:, None, :]
    return fits.min(axis=2).sum(axis=1)


@claim(
    id="tv_drf.theorem_3.weights",
    locator="beyond the paper: weights on machines of different shapes",
    kind="extension",
    variant="fluid, one period, machines of different shapes",
    statement="With weights in proportion to the dominant share of what each could run alone, where everyone could run "
    "something, beta >= 1 for everyone, and whoever has tasks left holds, against every h, of some resource at least "
    "as much per weight" + POSITIVE,
    proof="prop-tv_drf-weights",
    mechanism=Mechanism("by what each could run", lambda alone, share, mean: alone * share),
    mutant=Mechanism("mean of the parts", lambda alone, share, mean: mean),
)
def _weights_on_shapes(effort: Effort, judged: Mechanism) -> Evidence:
    rng, count = stream(effort.seed, 9), effort.evaluations // 80
    for done in range(count):
        if done == 0:
            demands, tasks, parts = np.array([[2, 1]] * 2), np.full(2, 2.0), np.eye(2)
            machines = np.array(SHAPES["two shapes"])
        else:
            n, m, K = (int(rng.integers(low, 4)) for low in (2, 1, 2))
            demands, tasks = rng.integers(1, 5, (n, m)), rng.integers(1, 17, n) / 4
            machines, parts = rng.integers(2, 9, (K, m)), rng.dirichlet(np.ones(n), K).T
        w = Workload(demands[None] * 1.0, tasks[None], machines * 1.0, parts)
        share = (demands / w.capacities).max(axis=1)
        weights = judged.run(_runs_alone(w.machines, parts, demands), share, w.weights)
        run = lexicographic_run(w.demands, w.tasks, w.machines, parts, weights=weights)
        held = run.tasks[0][:, None] * demands / w.capacities / weights[:, None]
        behind = np.flatnonzero(run.tasks[0] < tasks - 1e-5)
        lead = [(held[i] - held).max(axis=1).min() for i in behind]
        margin = min(run.sharing_coefficients.min() - 1, min(lead, default=np.inf) / np.abs(held).max())
        if margin < -1e-5:
            return Evidence.of(Part(False, "search", f"Violated, margin {margin:.3g}: {w}.", done + 1))
    return Evidence.of(
        Part(
            True,
            "search",
            f"{count} workloads on machines of different shapes, by linear programs: it holds up to 1e-5.",
            count,
        )
    )


# -------------------------------------------------------------------------------------------------- Theorem 4: lies

_about_lies(
    "theorem_4.fluid.one",
    _T4 + POSITIVE,
    "fluid, expires",
    "by claims",
    variant="fluid, one period",
    periods=(1, 1),
    proof="thm-tv_drf-4",
)
_about_lies(
    "theorem_4.fluid.several_expires",
    _T4 + POSITIVE,
    "fluid, expires",
    "alone, expires",
    variant="fluid, several periods, tasks expire",
    witness=(CHEAP, (0, [[1], ["1/4"]], ["1/2", 2])),
)
_about_lies(
    "theorem_4.fluid.several_waits",
    _T4 + POSITIVE,
    "fluid, waits",
    "alone, waits",
    variant="fluid, several periods, tasks wait",
    witness=(
        Workload.of([[[1, 2], [1, 1]], [[3, 1], [3, 1]]], [[1, 1], [1, 3]], [[2, 2]], HALF),
        (0, [[3, 4], [6, 2]], [3, 1]),
    ),
)
_about_lies(
    "theorem_4.counts_only.expires",
    _T4.replace("its demands or ", "") + POSITIVE,
    "fluid, expires",
    "alone, expires",
    variant="fluid, several periods, tasks expire, lies about counts only",
    about=("tasks",),
    witness=(CHEAP, (0, [[1], ["1/4"]], ["1/2", 2])),
)
_about_lies(
    "theorem_4.counts_only.waits",
    _T4.replace("its demands or ", "") + POSITIVE,
    "fluid, waits",
    "alone, waits",
    variant="fluid, several periods, tasks wait, lies about counts only",
    about=("tasks",),
    witness=(
        Workload.of(
            [[[2, 1], [2, 3], [2, 3]], [[3, 2], [1, 2], [1, 3]]],
            [[2, 3, 1], [3, 2, 3]],
            [[3, 4]],
            ["1/5", "1/5", "3/5"],
        ),
        (0, [[2, 1], [3, 2]], ["1/4", 3]),
    ),
)
_about_lies(
    "theorem_4.demands_only.expires",
    _T4.replace(" or its numbers of tasks", "") + POSITIVE,
    "fluid, expires",
    "alone, expires",
    variant="fluid, several periods, tasks expire, lies about demands only",
    about=("demands",),
    witness=(
        Workload.of([[[2], [3]], [[1], [2]]], [[1, 1], [2, 1]], [[1]], ["3/4", "1/4"]),
        (0, [["1/2"], [1]], [1, 2]),
    ),
)
_about_lies(
    "theorem_4.demands_only.waits",
    _T4.replace(" or its numbers of tasks", "") + POSITIVE,
    "fluid, waits",
    "alone, waits",
    variant="fluid, several periods, tasks wait, lies about demands only",
    about=("demands",),
    witness=(
        Workload.of([[[1, 2], [1, 3]], [[3, 1], [2, 1]]], [[2, 3], [1, 1]], [[4, 4]], ["3/5", "2/5"]),
        (0, [[2, 2], [3, 2]], [2, 1]),
    ),
)
_LAST = "With an honest past, nobody runs more of its true tasks by lying in the last period" + POSITIVE
_about_lies(
    "theorem_4.last_period.expires",
    _LAST,
    "fluid, expires",
    "fluid, no memory",
    variant="fluid, several periods, tasks expire, lies in the last period only",
    last_only=True,
    witness=(
        Workload.of([[[1], [1]]] * 2, [["2/3", "1/6"], ["1/3", 1]], [[1]], HALF),
        (0, [[1], [1]], ["2/3", 1]),
    ),
)
_about_lies(
    "theorem_4.last_period.waits",
    _LAST,
    "fluid, waits",
    "by claims",
    variant="fluid, several periods, tasks wait, lies in the last period only",
    last_only=True,
    proof="thm-tv_drf-4",
)
_about_lies(
    "theorem_4.no_constraint",
    _LAST,
    "fluid, no constraint",
    "by claims",
    variant="without the constraint beta >= 1, tasks expire, lies in the last period only",
    locator="beyond the paper: no constraint",
    last_only=True,
    proof="prop-tv_drf-no-floor",
)
_about_lies(
    "theorem_4.no_memory",
    _T4 + POSITIVE,
    "fluid, no memory",
    "by claims",
    variant="without memory, several periods, tasks expire",
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
    constraint = "without the constraint beta >= 1, " if "no constraint" in rule else "fluid, "

    @claim(
        id=f"tv_drf.theorem_4.unbounded.{name}",
        locator="beyond the paper: how much a lie pays",
        kind="extension",
        variant=f"{constraint}two periods, tasks {'wait' if workload is _queued else 'expire'}",
        statement="No factor bounds what claiming fewer tasks in the first of two periods gains: for each 0 < e <= 1/4 "
        "there are two users of whom one runs fewer than 2 tasks, and more than 1/(30 e) with such a lie" + POSITIVE,
        proof="prop-tv_drf-unbounded",
        mechanism=_rule(rule),
        mutant=_rule("fluid, no memory"),
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
_about_lies(
    "theorem_4.whole.one",
    _T4 + POSITIVE,
    "whole, expires",
    "alone, whole, expires",
    variant="Algorithm 1, one period",
    periods=(1, 1),
    witness=(SIZES, (1, [[2]], [2])),
)
_about_lies(
    "theorem_4.whole.several_expires",
    _T4 + POSITIVE,
    "whole, expires",
    "alone, whole, expires",
    variant="Algorithm 1, several periods, tasks expire",
    witness=(Workload.of([[[3], [1]], [[1], [3]]], [[2, 1], [4, 3]], [[7]], HALF), (0, [[3], [1]], [1, 4])),
)
_about_lies(
    "theorem_4.whole.several_waits",
    _T4 + POSITIVE,
    "whole, waits",
    "alone, whole, waits",
    variant="Algorithm 1, several periods, tasks wait",
    witness=(
        Workload.of([[[1], [4]], [[1], [1]]], [[4, 4], [2, 3]], [[8]], ["1/5", "4/5"]),
        (0, [[1], [1]], [1, 4]),
    ),
)


def _any_machines(rng: np.random.Generator, K: int, m: int) -> Any:
    """Draw machines of any shapes; where there are several resources, now and then one of a machine is missing."""
    machines = rng.integers(2, 9, (K, m)).astype(float)
    if m > 1 and rng.random() < 0.3:
        machines[rng.integers(K), rng.integers(m)] = 0.0
    return machines


def _more_than_the_floor(w: Workload, run: Any) -> float:
    """Lemma 2 restated, from what the linear programs give: tasks that expire, G in floats."""
    amounts = run.tasks[:, :, None] * w.demands
    outcome = Outcome(run.tasks, run.cumulative_shares, amounts, run.alone)
    return float(largest_above_floor(w, outcome, 1e-4))


@claim(
    id="tv_drf.lemma_2.shapes",
    locator="Lemma 2",
    kind="lemma",
    variant="restated; fluid, several periods, tasks expire, machines of different shapes",
    statement="Whoever has tasks left at the end of a period has a G at least that of everyone who got more in it than "
    "beta >= 1 asks for" + POSITIVE,
    proof="lem-tv_drf-2",
    mechanism=Mechanism("lexicographic optimum", lambda d, b, c, p: lexicographic_run(d, b, c, p)),
    mutant=Mechanism("periods in turn", lambda d, b, c, p: _in_turn(d, b, c, p)),
)
def _lemma_2_on_shapes(effort: Effort, judged: Mechanism) -> Evidence:
    """Who may stand higher on machines of any shapes, by linear programs."""
    rng, count, least = stream(effort.seed, 7), effort.evaluations // 80, np.inf
    for done in range(count):
        n, m, K = (int(rng.integers(low, 4)) for low in (2, 1, 2))
        demands, tasks = rng.integers(1, 5, (3, n, m)).astype(float), rng.integers(1, 17, (3, n)) / 4
        machines = rng.integers(2, 9, (K, m)).astype(float)
        w = Workload(demands, tasks, machines, rng.dirichlet(np.ones(n), K).T)
        margin = _more_than_the_floor(w, judged.run(demands, tasks, machines, w.contributions))
        least = min(least, margin)
        if margin < -1e-4:
            return Evidence.of(Part(False, "search", f"Violated, margin {margin:.3g}: {w}.", done + 1))
    return Evidence.of(
        Part(
            True,
            "search",
            f"{count} random workloads of 3 periods on 2 or 3 machines of different shapes, by linear programs: it "
            f"holds up to 1e-4.",
            count,
        )
    )


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


@claim(
    id="tv_drf.theorem_1.shapes",
    locator="Theorem 1",
    kind="theorem",
    variant="fluid, several periods, tasks expire, machines of different shapes",
    statement=_T1 + POSITIVE,
    proof="thm-tv_drf-1",
    mechanism=Mechanism("lexicographic optimum", lambda d, b, c, p: lexicographic_run(d, b, c, p)),
    mutant=Mechanism("resources", lambda d, b, c, p: lexicographic_run(d, b, c, p, "resources")),
)
def _sharing_on_shapes(effort: Effort, judged: Mechanism) -> Evidence:
    """Sharing incentive on machines of any shapes, by linear programs."""
    rng, count, least = stream(effort.seed, 6), effort.evaluations // 80, np.inf
    for done in range(count):
        n, m, K = (int(rng.integers(low, 4)) for low in (2, 1, 2))
        demands, tasks = rng.integers(1, 5, (3, n, m)).astype(float), rng.integers(1, 17, (3, n)) / 4
        machines, parts = _any_machines(rng, K, m), rng.dirichlet(np.ones(n), K).T
        least = min(least, float(judged.run(demands, tasks, machines, parts).sharing_coefficients.min()))
        if least < 1 - 1e-6:
            return Evidence.of(
                Part(
                    False,
                    "search",
                    f"Least beta {least:.3g}: demands {in_words(demands.tolist())}, "
                    f"machines {in_words(machines.tolist())}.",
                    done + 1,
                )
            )
    return Evidence.of(
        Part(
            True,
            "search",
            f"{count} random workloads of 3 periods on 2 or 3 machines of different "
            "shapes, by linear programs: every beta is at least 1 up to 1e-6.",
            count,
        )
    )


@claim(
    id="tv_drf.theorem_4.shapes",
    locator="Theorem 4",
    kind="theorem",
    variant="fluid, one period, machines of different shapes",
    statement=_T4 + POSITIVE,
    proof="thm-tv_drf-4",
    mechanism=Mechanism("lexicographic optimum", lambda d, b, c, p: lexicographic_run(d[None], b[None], c, p)),
    mutant=Mechanism("by claims", lambda d, b, c, p: BROKEN["by claims"](Workload(d[None], b[None], c, p), False)),
)
def _lies_on_shapes(effort: Effort, judged: Mechanism) -> Evidence:
    """Lies on machines of any shapes, by linear programs."""
    rng, count, most = stream(effort.seed, 4), effort.evaluations // 40, -np.inf
    for done in range(count):
        n, m, K = (int(rng.integers(low, 4)) for low in (2, 1, 2))
        demands, tasks = rng.integers(1, 5, (n, m)).astype(float), rng.integers(1, 17, n) / 4
        machines, parts = _any_machines(rng, K, m), rng.dirichlet(np.ones(n), K).T
        honest = judged.run(demands, tasks, machines, parts).tasks[0, 0]
        claimed, counts = demands.copy(), tasks.copy()
        claimed[0] *= rng.choice([0.5, 0.8, 1, 1.25, 2, 4], m)
        counts[0] *= rng.choice([0.5, 1, 2, 4])
        lying = judged.run(claimed, counts, machines, parts)
        gain = min(lying.tasks[0, 0] * min(claimed[0] / demands[0]), tasks[0]) - honest
        most = max(most, float(gain) / (1 + honest))
        if most > 1e-5:
            return Evidence.of(
                Part(
                    False,
                    "search",
                    f"A lie gains {most:.3g} (relative): demands "
                    f"{in_words(demands.tolist())}, claimed {in_words(claimed[0].tolist())}.",
                    done,
                )
            )
    return Evidence.of(
        Part(
            True,
            "search",
            f"{count} random lies on 2 or 3 machines of different shapes, by linear "
            f"programs: none pays; largest gain {'below 1e-5' if most < 1e-5 else f'{most:.3g}'}.",
            count,
        )
    )


# ------------------------------------------------------------------------------------- is the heuristic the optimum?


def _all_whole(w: Workload) -> list[tuple[Fraction, ...]]:
    """Sorted G of every allocation of whole tasks that fits, one period (by trying every count)."""
    step = (w.demands[0] / w.capacities).max(axis=1) / w.weights
    found = []
    for counts in product(*(range(int(b) + 1) for b in w.tasks[0])):
        tasks = np.array(counts, dtype=object)
        one = Outcome(
            np.array([counts], dtype=object),
            np.array([tasks * step]),
            tasks[None, :, None] * w.demands,
            w.demands * 0,
            False,
            np.zeros((1, *w.contributions.shape), dtype=object),
        )
        # it fits exactly if one more of somebody would fit beside one fewer of it
        if _fits(w, one):
            found.append(tuple(sorted(tasks * step)))
    return found


def _fits(w: Workload, outcome: Outcome) -> bool:
    for i in np.flatnonzero(outcome.tasks[0] > 0)[:1]:
        fewer = outcome.tasks.copy()
        fewer[0, i] -= 1
        only = np.zeros_like(w.tasks)
        only[0] = fewer[0]
        only[0, i] += 1
        return bool(pareto_in_period(replace(w, tasks=only), replace(outcome, tasks=fewer)) < 0)
    return True


@claim(
    id="tv_drf.heuristic_optimal",
    locator="section 5",
    kind="statement",
    variant="one period, whole tasks",
    statement="Algorithm 1 reaches the lexicographic max-min optimum of G among the allocations of whole tasks"
    + POSITIVE,
    mechanism=_rule("whole, expires"),
    mutant=_rule("whole, one machine, expires"),
)
def _heuristic_optimal(effort: Effort, judged: Mechanism) -> Evidence:
    outcome = judged.run(SPLIT, True)
    ours, best = tuple(sorted(outcome.shares[0])), max(_all_whole(SPLIT))
    optimal = ours >= best
    return Evidence.of(
        Part(
            optimal,
            "numbers" if optimal else "witness",
            f"{SPLIT}. Algorithm 1 runs {in_words(outcome.tasks[0].tolist())} tasks, G in order "
            f"{in_words(ours)}; the best in order is {in_words(best)}.",
            1,
        )
    )


# ----------------------------------------------------------------------------------------- what beta says about tasks

_SIGN = (
    "A user has beta above, at or below 1 exactly if it has run, over all periods so far, more, as many or fewer tasks "
    "than alone" + POSITIVE
)
for _name, _rule_name, _mutant, _variant, _periods in (
    ("one", "any course, expires", "tasks of others", "one period", (1, 1)),
    ("waits", "any course, waits", "any course, expires", "several periods, tasks wait", (1, 4)),
):
    _about_runs(
        f"coefficient.{_name}",
        "section 1.2",
        _SIGN,
        tasks_against_alone,
        _rule_name,
        _mutant,
        kind="statement",
        variant=f"any course of allocations in one pool; {_variant}",
        periods=_periods,
        proof="prop-tv_drf-tasks",
    )


def _beta_and_tasks(w: Workload, outcome: Outcome) -> str:
    """What the first user has at the end, by beta and in tasks."""
    used, alone = (np.sum(amounts[:, 0], axis=0) for amounts in (outcome.amounts, outcome.alone))
    beta = min(u / a for u, a in zip(used, alone, strict=True))
    tasks = [row[0] / d[0] for row, d in zip(outcome.alone[:, 0], w.demands[:, 0], strict=True)]
    runs = outcome.tasks[:, 0].sum()
    return f"in the end beta of user 1 is {beta}; it has run {runs} tasks, alone {in_words(tasks)}, so {sum(tasks)}"


_about_runs(
    "coefficient.expires",
    "section 1.2",
    _SIGN,
    tasks_against_alone,
    "fluid, expires",
    "alone, expires",
    kind="statement",
    variant=_FLUID["expires"],
    witness=CHEAP,
    what=_beta_and_tasks,
)


# ----------------------------------------------------------------------------------------------------------- figures


def _drawn(n: int, seed: int) -> pd.DataFrame:
    return study.fig1(seed) if n == 20 else study.fig2(seed)


def _from_the_square(n: int, seed: int) -> pd.DataFrame:
    frame = _drawn(n, seed)
    return frame.assign(cpu=stream(seed, n).random(len(frame)))


def _figure_of_demands(number: int, n: int) -> None:
    @claim(
        id=f"tv_drf.figure_{number}",
        locator=f"Figure {number}",
        kind="figure",
        statement=f"What {n} users drawn from the trace ask for, in the plane of CPU and memory.",
        mechanism=Mechanism("from the trace", _drawn),
        mutant=Mechanism("CPU from the unit interval", _from_the_square),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        frame, jobs = judged.run(n, effort.seed), load_digest()
        known = set(zip(jobs.plan_cpu.tolist(), (jobs.memory * study.MEMORY_GB).round(6).tolist(), strict=True))
        asked = set(zip((frame["cpu"] * 100).round(6).tolist(), frame["memory"].round(6).tolist(), strict=True))
        return Evidence.of(
            Part(
                asked <= known,
                "numbers",
                f"{len(asked & known)} of {len(asked)} different requests of {n} users are requests of the trace.",
                len(asked),
            ),
            Part(None, "numbers", "Nothing to compare: the text says nothing about this picture."),
        )


_figure_of_demands(1, 20)
_figure_of_demands(2, 100)


def _leads(figure: Callable[..., pd.DataFrame], runs: int, seed: int, unserved: str) -> pd.DataFrame:
    """TV-DRF less no sharing, period by period; mean over runs, and the part of the runs in which it is negative."""
    frame = figure(runs, seed, unserved=unserved)
    return frame[frame["mechanism"] == "difference"].sort_values("period")


def _exchanged(figure: Callable[..., pd.DataFrame], runs: int, seed: int, unserved: str) -> pd.DataFrame:
    """No sharing judged as if it were TV-DRF."""
    leads = _leads(figure, runs, seed, unserved)
    return leads.assign(mean=-leads["mean"], below=1 - leads["below"])


COMPARED, EXCHANGED = Mechanism("TV-DRF", _leads), Mechanism("roles exchanged", _exchanged)
NOTHING = 1e-9  # up to that a lead is none


def _runs(effort: Effort, n: int) -> int:
    """The paper's 100; fewer at quick effort where there are many users, as each costs more."""
    return 100 if n == 5 else min(100, effort.runs // (8 if n == 100 and effort.name == "quick" else 1))


def _lead_and_growth(mean: Any) -> list[Part]:
    """Whether a lead is there in every period, larger in the end, and larger from period to period."""
    ahead, grows = int((mean > NOTHING).sum()), int((np.diff(mean) > NOTHING).sum())
    return [
        Part(ahead == len(mean), "numbers", f"The mean lead is positive in {ahead} of {len(mean)} periods.", 1),
        Part(
            bool(mean[-1] > mean[0] + NOTHING),
            "numbers",
            f"It is {mean[0]:.4f} in the first period and {mean[-1]:.4f} in the last.",
            1,
        ),
        Part(grows == len(mean) - 1, "numbers", f"It grows in {grows} of {len(mean) - 1} steps.", 1),
    ]


def _figure_3(unserved: str) -> None:
    @claim(
        id=f"tv_drf.figure_3.{unserved}",
        locator="Figure 3",
        kind="figure",
        variant=f"5 users, tasks {unserved[:-1]}",
        statement="Averaged over the runs, the least cumulative dominant share under TV-DRF is above that without "
        "sharing, and the gap grows from period to period.",
        mechanism=COMPARED,
        mutant=EXCHANGED,
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        leads = judged.run(study.fig3, _runs(effort, 5), study.SEED, unserved)
        return Evidence(tuple(_lead_and_growth(leads["mean"].to_numpy())))


for _fate in ("waits", "expires"):
    _figure_3(_fate)


def _figure_of_use(number: int, n: int, what: str, unserved: str) -> None:
    @claim(
        id=f"tv_drf.figure_{number}.{unserved}",
        locator=f"Figure {number}",
        kind="figure",
        variant=f"{n} users, {what}, tasks {unserved[:-1]}",
        statement=f"Averaged over the runs, {what} utilisation under TV-DRF is above that without sharing at every "
        "moment.",
        mechanism=COMPARED,
        mutant=EXCHANGED,
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        leads = judged.run(getattr(study, f"fig{number}"), _runs(effort, n), study.SEED, unserved)
        mean = leads["mean"].to_numpy()
        return Evidence.of(
            Part(
                bool((mean > NOTHING).all()),
                "numbers",
                f"The mean lead over {_runs(effort, n)} runs is positive in "
                f"{int((mean > NOTHING).sum())} of {len(mean)} periods, {mean.min():.3f} at least; in single runs and "
                f"periods sharing is behind in {leads['below'].mean():.1%}.",
                len(mean),
            ),
        )


for _figure, _n, _what in ((4, 20, "CPU"), (5, 20, "memory"), (6, 100, "CPU"), (7, 100, "memory")):
    for _fate in ("waits", "expires"):
        _figure_of_use(_figure, _n, _what, _fate)


@lru_cache(maxsize=8)
def _created(n: int, runs: int, seconds: float) -> pd.DataFrame:
    """TV-DRF less no sharing where tasks are submitted when they were created; CPU and memory from one experiment."""
    frame = study.curves(runs, study.SEED, n, mechanisms=("tv_drf", "alone"), seconds=seconds)
    return frame[frame["mechanism"] == "difference"].sort_values("period")


def _figure_of_created(number: int, n: int, measure: str, what: str) -> None:
    @claim(
        id=f"tv_drf.figure_{number}.created",
        locator=f"Figure {number}",
        kind="figure",
        variant=f"{n} users, tasks wait, submitted at create_timestamp (section 4, 3)); periods of 900 and of 300 s",
        statement=f"Averaged over the runs, {what} under TV-DRF is above that without sharing at every moment"
        + (", and the gap grows from period to period." if number == 3 else "."),
        mechanism=Mechanism("TV-DRF", lambda frame: frame["mean"].to_numpy()),
        mutant=Mechanism("one more than nothing, growing", lambda frame: np.arange(1.0, 1 + len(frame))),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        parts, runs = [], min(_runs(effort, n), 25 if n == 100 else 100)
        for seconds in (900.0, 300.0):
            leads = _created(n, runs, seconds)
            mean = judged.run(leads[leads["measure"] == measure])
            ahead, behind = int((mean > NOTHING).sum()), int((mean < -NOTHING).sum())
            found = (
                f"Periods of {seconds:.0f} s: the mean lead over {runs} runs is positive in {ahead} of {len(mean)} "
                f"and negative in {behind}; {mean.mean():.3f} in the mean, {mean.min():.3f} at least."
            )
            parts.append(Part(ahead == len(mean), "numbers", found, len(mean)))
            parts += _lead_and_growth(mean)[1:] if number == 3 else []
        return Evidence(tuple(parts))


for _figure, _n, _measure, _what in (
    (3, 5, "min_share", "the least cumulative dominant share"),
    (4, 20, "cpu", "CPU utilisation"),
    (5, 20, "memory", "memory utilisation"),
    (6, 100, "cpu", "CPU utilisation"),
    (7, 100, "memory", "memory utilisation"),
):
    _figure_of_created(_figure, _n, _measure, _what)


def _served(n: int, runs: int, seed: int, unserved: str) -> pd.DataFrame:
    """Part of the tasks submitted so far that has run: TV-DRF less no sharing."""
    frame = study.curves(runs, seed, n, unserved=unserved, mechanisms=("tv_drf", "alone"))
    return frame[(frame["mechanism"] == "difference") & (frame["measure"] == "served")].sort_values("period")


def _more_tasks(unserved: str) -> None:
    @claim(
        id=f"tv_drf.more_tasks.{unserved}",
        locator="section 4",
        kind="number",
        variant=f"5 and 20 users, tasks {unserved[:-1]}",
        statement="Averaged over the runs, users have completed more of their tasks under TV-DRF than without "
        "sharing, in every period.",
        mechanism=Mechanism("TV-DRF", _served),
        mutant=Mechanism("roles exchanged", lambda *how: _served(*how).assign(mean=lambda frame: -frame["mean"])),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        parts = []
        for n in (5, 20):
            mean = judged.run(n, min(100, effort.runs), study.SEED, unserved)["mean"].to_numpy()
            parts.append(
                Part(
                    bool((mean > NOTHING).all()),
                    "numbers",
                    f"{n} users: the part of the tasks that has run is larger by {mean.min():.3f} to {mean.max():.3f}.",
                    len(mean),
                )
            )
        return Evidence(tuple(parts))


for _fate in ("waits", "expires"):
    _more_tasks(_fate)


@claim(
    id="tv_drf.trace_size",
    locator="section 4",
    kind="number",
    statement="12 951, the text's number of tasks, is in the trace: of tasks in the paper's sense, a group with one "
    "request or one instance; of jobs.",
    mechanism=Mechanism("the digest's counts", lambda: load_digest().provenance["counts"]),
    mutant=Mechanism("jobs as groups", lambda: {"jobs_in_trace": 0, "rows": 12_951, "instances_in_trace": 12_951}),
)
def _trace_size(effort: Effort, judged: Mechanism) -> Evidence:
    counts = judged.run()
    jobs, groups, instances = (int(counts[name]) for name in ("jobs_in_trace", "rows", "instances_in_trace"))
    return Evidence.of(
        Part(12_951 in (groups, instances), "numbers", f"It has {groups} groups and {instances} instances.", 1),
        Part(jobs == 12_951, "numbers", f"It has {jobs} jobs; the paper takes a job for a user.", 1),
    )


def grid(frame: pd.DataFrame | None = None) -> pd.DataFrame:
    """Arrange the verdicts on Theorems 1 to 4 by mechanism and by what time does.

    Parameters
    ----------
    frame : DataFrame, optional
        A ledger; by default the stored one.

    Returns
    -------
    DataFrame
        One row a theorem; in one period nothing can wait for long, so that column stands for both fates of tasks.
    """
    verdict = (ledger(paper="tv_drf") if frame is None else frame).set_index("id")["verdict"]
    heads = {"one": "one period", "several_expires": "several, tasks expire", "several_waits": "several, tasks wait"}
    names = ("sharing incentive", "Pareto optimality in each period", "envy-freeness", "truthfulness")
    rows = []
    for number, name in enumerate(names, start=1):
        row = {"theorem": f"{number}: {name}"}
        for kind, says in (("fluid", "fluid"), ("whole", "whole tasks")):
            for cell, head in heads.items():
                row[f"{says}, {head}"] = verdict[f"tv_drf.theorem_{number}.{kind}.{cell}"]
        rows.append(row)
    return pd.DataFrame(rows)
