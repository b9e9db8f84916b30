"""The claims about Theorems 1 to 3 of the TV-DRF paper: sharing incentive, Pareto, envy."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from book.common.claims.registry import Effort, Evidence, Mechanism, Part, claim
from book.common.evidence import computed, in_words, sampled_claim
from book.tv_drf.checks_lemmas import FLUID
from book.tv_drf.judging import EARLY, GOES_ON, HALF, NO_TIE, POSITIVE, SPLIT, ZEROS, about_runs, rule_named
from book.tv_drf.oracle import lexicographic_run
from book.tv_drf.properties import (
    RULES,
    drf_in_each_period,
    envy_freeness,
    envy_of_equals,
    envy_of_the_constant,
    next_task_refused,
    pareto_in_period,
    resource_used_up,
    sharing_incentive_so_far,
)
from book.tv_drf.workloads import Outcome, Workload, in_fractions, in_order, on_shapes

_T1 = "beta_i(t) >= 1 for every user and period"
_T2 = "In no period could somebody run more tasks and nobody fewer, the past being what it is"
_T3 = (
    "Whoever has run fewer tasks than submitted so far holds, against every h, of some resource at least as much so "
    "far per weight"
)
#: What a user would have alone, counted by resources.
_BY_RESOURCES = '"alone" is, of each resource, the smaller of what the user needs and what it owns'
#: Where the paper says of Algorithm 1, not of the mechanism, that it is fair.
_OF_THE_ALGORITHM = "contribution 2; section 4"
_LEAD = "a user with tasks left has less of every resource per weight than another, the difference being at most"
_CELLS = {
    "one": ("one period", "expires", (1, 1)),
    "several_expires": ("several periods, tasks expire", "expires", (1, 4)),
    "several_waits": ("several periods, tasks wait", "waits", (1, 4)),
}

for _cell, (_when, _fate, _periods) in _CELLS.items():
    _fluid = f"fluid, {_fate}"
    about_runs(
        f"theorem_1.fluid.{_cell}",
        "Theorem 1",
        _T1 + ZEROS,
        sharing_incentive_so_far,
        _fluid,
        f"nine tenths of {_fluid}",
        variant=f"divisible tasks, {_when}",
        periods=_periods,
        proof="thm-tv_drf-1",
    )
    about_runs(
        f"theorem_2.fluid.{_cell}",
        "Theorem 2",
        _T2 + ZEROS,
        resource_used_up,
        _fluid,
        f"nine tenths of {_fluid}",
        variant=f"divisible tasks, {_when}",
        periods=_periods,
        proof="thm-tv_drf-2",
    )
    about_runs(
        f"theorem_3.fluid.{_cell}",
        "Theorem 3",
        _T3 + POSITIVE,
        envy_freeness,
        _fluid,
        *(("the last one first, expires",) if _cell == "one" else (f"nothing, {_fate}",)),
        variant=f"divisible tasks, {_when}",
        periods=_periods,
        witness=None if _cell == "one" else EARLY,
        what=_LEAD,
        proof="thm-tv_drf-3" if _cell == "one" else None,
    )

about_runs(
    "theorem_2.fluid.resources",
    "Theorem 2",
    _T2 + ZEROS,
    resource_used_up,
    "fluid, resources",
    "nine tenths of fluid, expires",
    variant=f"divisible tasks, several periods, tasks expire; {_BY_RESOURCES}",
    proof="thm-tv_drf-2",
)

#: What of Theorems 1 to 3 breaks for Algorithm 1, already in one period: statement, check, mutant, witness.
_BREAKS: dict[str, tuple[str, Any, str, Workload, str]] = {
    "theorem_1": (_T1, sharing_incentive_so_far, "alone, whole, expires", NO_TIE, "the smallest beta minus 1 is"),
    "theorem_2": (
        _T2,
        pareto_in_period,
        "whole, one machine, expires",
        SPLIT,
        "one more task would fit, so the margin is",
    ),
    "theorem_3": (_T3, envy_freeness, "nothing, expires", GOES_ON, _LEAD),
}
for _theorem, (_says, _check, _mutant, _witness, _what) in _BREAKS.items():
    about_runs(
        f"{_theorem}.whole.one",
        _OF_THE_ALGORITHM,
        _says + POSITIVE,
        _check,
        "whole, expires",
        _mutant,
        variant="Algorithm 1, already in one period",
        periods=(1, 1),
        witness=_witness,
        what=_what,
    )

about_runs(
    "theorem_3.every_resource",
    "beyond the paper (introduction, of fairness in general)",
    "Whoever has run fewer tasks than submitted so far holds, against every h, of every resource at least as much so "
    "far per weight" + POSITIVE,
    partial(envy_freeness, every=True),
    "fluid, expires",
    "nothing, expires",
    kind="statement",
    variant="divisible tasks, one period, no envy of any resource",
    periods=(1, 1),
    witness=Workload.of([[[2, 1], [1, 2]]], [[1, 1]], [[2, 2]], HALF),
    what="for some resource the amount per weight of a user with tasks left, minus that of another, is",
)
for _fate in ("expires", "waits"):
    _variant = f'Algorithm 1 on one machine, "alone" in whole tasks, 0/0 = 1, tasks {_fate[:-1]}'
    for _theorem, _says, _check in (
        ("theorem_1", _T1, sharing_incentive_so_far),
        ("theorem_2", _T2, next_task_refused),
    ):
        about_runs(
            f"{_theorem}.one_machine.{_fate}",
            _OF_THE_ALGORITHM,
            _says + ZEROS,
            _check,
            f"whole, {_fate}",
            f"nine tenths of whole, {_fate}",
            variant=_variant,
            proof=f"thm-tv_drf-{_theorem[-1]}-whole",
        )
about_runs(
    "theorem_1.whole.resources",
    _OF_THE_ALGORITHM,
    _T1 + POSITIVE,
    sharing_incentive_so_far,
    "whole, resources",
    "whole, expires",
    variant=f"Algorithm 1 on one machine; {_BY_RESOURCES}",
    witness=Workload.of([[[2], [2]]], [[1, 1]], [[3]], HALF),
    what="the smallest beta minus 1 is",
)
about_runs(
    "theorem_1.beta_from_zero",
    _OF_THE_ALGORITHM,
    _T1 + POSITIVE,
    sharing_incentive_so_far,
    "whole, beta from 0",
    "whole, expires",
    variant="Algorithm 1 on one machine; as printed, beta is 0 until a user has used something",
    witness=Workload.of([[[3], [1]]], [[1, 2]], [[4]], HALF),
    what="the smallest beta minus 1 is",
)
about_runs(
    "theorem_1.resources",
    "Theorem 1",
    _T1 + POSITIVE,
    sharing_incentive_so_far,
    "fluid, resources",
    "fluid, expires",
    variant=f"divisible tasks; {_BY_RESOURCES}",
    witness=Workload.of([[[1, "1/2"]]], [[2]], [[1, 1]], ["1"]),
    what="the smallest beta minus 1 is",
)
for _fate, _variant in FLUID.items():
    about_runs(
        f"theorem_3.constant_{_fate}",
        "beyond the paper (Theorem 3)",
        "Whoever has tasks left in a period, and the same demand vector in all periods so far, holds, against every h "
        "that got more in it than beta >= 1 asks for, of some resource at least as much so far per weight" + POSITIVE,
        envy_of_the_constant,
        f"fluid, {_fate}",
        f"the last one first, {_fate}",
        kind="theorem",
        variant=f"restated; {_variant}",
        proof="thm-tv_drf-3",
    )
about_runs(
    "theorem_3.equal_levels",
    "Theorem 3",
    _T3 + POSITIVE,
    envy_of_equals,
    "fluid, expires",
    "nothing, expires",
    variant="divisible tasks, several periods, equal G and tasks left in all periods",
    witness=Workload.of([[[1, "1/4"], [1, "3/4"]], [["1/4", 1], ["3/4", 1]]], [[1, 1]] * 2, [[1, 1]], HALF),
    what=_LEAD,
)
about_runs(
    "no_memory.each_period",
    "beyond the paper: no memory",
    "In each period everybody runs what weighted DRF of that period by itself gives, at least what it runs alone; "
    "nobody could run more and nobody fewer; and whoever has tasks left holds, against every h, of some resource at "
    "least as much per weight. Over all periods beta_i(t) >= 1" + POSITIVE,
    drf_in_each_period,
    "fluid, no memory",
    "fluid, expires",
    kind="extension",
    variant="divisible tasks in one pool, without memory, several periods, tasks expire",
    proof="prop-tv_drf-memoryless",
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
        locator="beyond the paper (Theorem 2)",
        kind="theorem",
        variant=f"divisible tasks, several periods, tasks of all periods added up, {variant}",
        statement="No other tasks in all periods together give somebody more in total and nobody less" + POSITIVE,
        mechanism=rule_named(f"fluid, {fate}"),
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
        return Evidence.of(computed(not better, text, 1, w.as_data(judged.name, ours.tasks)))


for _name in TRADES:
    _trade(_name)


SHAPES: dict[str, list[list[int]]] = {"two shapes": [[2, 1], [1, 2]], "one shape": [[2, 1], [2, 1]]}


def _sharing_against_envy(machines: list[list[int]]) -> tuple[bool | None, str]:
    """Whether what beta >= 1 leaves is free of envy, one period, and why; None where the linear programs disagree."""
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
        f"weights {in_words(weight)}. The linear programs give {in_words(in_fractions(run.tasks[0], 1000).tolist())}."
    )
    return not envy if agree else None, text


def _on_shapes(name: str, locator: str, statement: str, proof: str | None) -> None:
    @claim(
        id=f"tv_drf.theorem_3.{name}",
        locator=locator,
        kind="extension" if proof else "theorem",
        variant="divisible tasks, one period, machines of different shapes",
        statement=statement + POSITIVE,
        proof=proof,
        mechanism=Mechanism("two shapes", lambda: SHAPES["two shapes"]),
        mutant=Mechanism("one shape", lambda: SHAPES["one shape"]),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        free, text = _sharing_against_envy(judged.run())
        holds = free if proof is None or free is None else not free
        return Evidence.of(Part(holds, "witness" if holds is False else "numbers", text, 1))


_on_shapes("shapes", "Theorem 3", _T3, None)
_on_shapes(
    "no_allocation",
    "beyond the paper: sharing incentive against envy-freeness",
    "There are machines and users for which no allocation has both beta >= 1 for all and, for whoever has tasks left "
    "and every h, of some resource at least as much per weight",
    "prop-tv_drf-shapes",
)


def _runs_alone(machines: Any, parts: Any, demands: Any) -> Any:
    """Tasks that each could run alone, bounds apart, shape (n,); one period."""
    fits = parts[:, :, None] * machines / demands[:, None, :]
    return fits.min(axis=2).sum(axis=1)


@sampled_claim(
    id="tv_drf.theorem_3.weights",
    locator="beyond the paper: weights on machines of different shapes",
    kind="extension",
    variant="divisible tasks, one period, machines of different shapes",
    statement="With weights in proportion to the dominant share of what each could run alone, where everyone could run "
    "something, beta >= 1 for everyone, and whoever has tasks left holds, against every h, of some resource at least "
    "as much per weight" + POSITIVE,
    proof="prop-tv_drf-weights",
    mechanism=Mechanism("by what each could run", lambda alone, share, mean: alone * share),
    mutant=Mechanism("mean of the parts", lambda alone, share, mean: mean),
    key=9,
    share=80,
    said="{count} workloads on machines of different shapes, by linear programs: it holds up to 1e-5.",
    grade="search",
    right=lambda margins: True,
)
def _weights_on_shapes(rng: np.random.Generator, judged: Mechanism, at: int) -> Any:
    w = on_shapes(rng, 1) if at else Workload(np.full((1, 2, 2), [2.0, 1.0]), np.full((1, 2), 2.0),
                                              np.array(SHAPES["two shapes"]) * 1.0, np.eye(2))  # fmt: skip
    demands, tasks = w.demands[0], w.tasks[0]
    share = (demands / w.capacities).max(axis=1)
    weights = judged.run(_runs_alone(w.machines, w.contributions, demands), share, w.weights)
    run = lexicographic_run(w.demands, w.tasks, w.machines, w.contributions, weights=weights)
    held = run.tasks[0][:, None] * demands / w.capacities / weights[:, None]
    behind = np.flatnonzero(run.tasks[0] < tasks - 1e-5)
    lead = [(held[i] - held).max(axis=1).min() for i in behind]
    margin = min(run.sharing_coefficients.min() - 1, min(lead, default=np.inf) / np.abs(held).max())
    return Part(False, "search", f"Violated, margin {margin:.3g}: {w}.", at + 1) if margin < -1e-5 else margin
