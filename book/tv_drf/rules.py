"""The mechanisms of the TV-DRF chapter as rules that turn a workload into an outcome, and rules that are broken.

A rule decides in floats or, on small workloads, in exact fractions.
"""

import zlib
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from book.tv_drf.workloads import Array, Outcome, Workload, in_order, serve
from fairbook.mechanisms.tv_drf.rule import sharing_coefficient, tv_drf_rule
from fairbook.mechanisms.tv_drf.tv_drf import tv_drf

Rule = Callable[[Workload, bool], Outcome]


def _in_fractions(w: Workload, unserved: str, **how: Any) -> Outcome:
    """Run the rule itself on a workload in fractions."""
    data = [values.tolist() for values in (w.demands, w.tasks, w.machines, w.contributions)]
    run = tv_drf_rule(*data, unserved=unserved, **how)  # type: ignore[arg-type]
    placement = np.zeros((*run.tasks.shape, len(w.machines)), dtype=object)
    for t, placed in enumerate(run.placed):
        for i, k in placed:
            placement[t, i, k] += 1
    fluid = how.get("method") == "lexicographic"
    numbers = run.tasks, run.cumulative_shares, run.amounts, run.alone
    return Outcome(*numbers, unserved == "waits", None if fluid else placement)


def _fluid(w: Workload, exact: bool, *, unserved: Any, **how: Any) -> Outcome:
    w = replace(w, machines=w.capacities[None], contributions=w.weights[:, None])
    how |= {"unserved": unserved, "method": "lexicographic"}
    if exact:
        return _in_fractions(w, **how)
    return Outcome.of_run(tv_drf(w.demands, w.tasks, w.machines, w.contributions, **how))


def _without_constraint(w: Workload, exact: bool, *, unserved: Any) -> Outcome:
    """The same without beta >= 1: a further user, who submits nothing, has brought everything."""
    free = np.insert(w.weights * 0, 0, 1)[:, None]
    more = Workload(
        np.insert(w.demands, 0, w.demands[:, 0], axis=1), np.insert(w.tasks, 0, 0, axis=1), w.capacities[None], free
    )
    weights = np.insert(w.weights, 0, 1) / 2
    if exact:
        found = _in_fractions(more, unserved, method="lexicographic", weights=weights.tolist())
    else:
        data = more.demands, more.tasks, more.machines, more.contributions
        found = Outcome.of_run(tv_drf(*data, method="lexicographic", unserved=unserved, weights=weights))
    return Outcome(
        found.tasks[:, 1:],
        found.shares[:, 1:] / 2,
        found.amounts[:, 1:],
        _fluid(w, exact, unserved=unserved).alone,
        found.waits,
    )


def _whole(
    w: Workload,
    exact: bool,
    *,
    unserved: Any,
    alone: Any = "whole_bundles",
    one_machine: bool = False,
    from_zero: bool = False,
) -> Outcome:
    if one_machine:
        w = replace(w, machines=w.capacities[None], contributions=w.weights[:, None])
    if exact or from_zero:
        how = {"coefficient": _from_zero} if from_zero else {}
        return _in_fractions(w.in_fractions(), unserved, alone=alone, **how)
    data = w.demands, w.tasks, w.machines, w.contributions
    return Outcome.of_run(tv_drf(*data, alone=alone, unserved=unserved, placement=True))


def _from_zero(used: list[Any], owned: list[Any]) -> Any:
    """Give beta as Algorithm 1 sets it at first: 0, also where a user owns nothing and has used nothing."""
    return sharing_coefficient(used, owned) if any(used) else 0


def _made(w: Workload, tasks: Array, alone: Array, placement: Array | None = None) -> Outcome:
    """Build the outcome of rules where unserved tasks expire, from their tasks."""
    rate = (w.demands / w.capacities).max(axis=2) / w.weights
    return Outcome(tasks, np.cumsum(tasks * rate, axis=0), tasks[:, :, None] * w.demands, alone, False, placement)


def _use_at_home(w: Workload) -> Array:
    """What each could use of its part of the merged pool, fluid, tasks that expire, (T, n, m)."""
    fits: Array = (w.weights[:, None] * w.capacities / w.demands).min(axis=2)
    return np.minimum(fits, w.tasks)[:, :, None] * w.demands


def _alone(w: Workload, exact: bool, *, unserved: str, whole: bool) -> Outcome:
    """Nobody shares: each by itself on its part of the merged pool."""
    one = np.array([[Fraction(1)]]) if exact else np.ones((1, 1))
    parts = [
        (_whole if whole else _fluid)(
            Workload(w.demands[:, i : i + 1], w.tasks[:, i : i + 1], w.capacities[None] * weight, one),
            exact,
            unserved=unserved,
        )
        for i, weight in enumerate(w.weights)
    ]
    tasks, shares, amounts, alone = (
        np.concatenate([getattr(part, name) for part in parts], axis=1)
        for name in ("tasks", "shares", "amounts", "alone")
    )
    placement = np.concatenate([part.placement for part in parts], axis=1) if whole else None
    return Outcome(tasks, shares, amounts, alone, unserved == "waits", placement)


# -------------------------------------------------------------------------------------------------- broken on purpose


def _nothing(w: Workload, exact: bool, *, waits: bool) -> Outcome:
    """Nobody gets anything."""
    placement = np.zeros((*w.tasks.shape, len(w.machines)), dtype=object if exact else float)
    return replace(_made(w, w.tasks * 0, w.demands * 0, placement), waits=waits)


def _short(w: Workload, exact: bool, *, rule: Rule) -> Outcome:
    """Hand out nine tenths of every machine."""
    outcome = rule(replace(w, machines=w.machines * 9 / 10), exact)
    return replace(outcome, alone=outcome.alone * 10 / 9)  # bounds by own tasks apart, what the whole part runs


def _dictator(w: Workload, exact: bool, *, waits: bool) -> Outcome:
    """Let the users choose one after the other, the last one first."""
    tasks = w.tasks * 0
    for t in range(len(tasks)):
        left = w.capacities.copy()
        for i in reversed(range(len(w.weights))):
            tasks[t, i] = some = min((left / w.demands[t, i]).min(), w.tasks[t, i])
            left = np.maximum(left - some * w.demands[t, i], left * 0)
    return replace(_made(w, tasks, _use_at_home(w)), waits=waits)


def _by_claims(w: Workload, exact: bool) -> Outcome:
    """Share the pool in proportion to what is claimed of it, in each period."""
    claimed = w.tasks * (w.demands / w.capacities).max(axis=2)
    worth = claimed / claimed.sum(axis=1, keepdims=True)
    fits = (worth[:, :, None] * w.capacities / w.demands).min(axis=2)
    return _made(w, np.minimum(fits, w.tasks), _use_at_home(w))


def _any_course(w: Workload, exact: bool, *, waits: bool, swapped: bool = False) -> Outcome:
    """Let everyone run its tasks in order on a part of the pool that is drawn anew in each period.

    ``swapped`` credits each user with the tasks of the next one.
    """
    rng = np.random.default_rng(zlib.crc32(str(w.in_floats()).encode()))
    tasks = w.tasks * 0
    rest: list[list[list[Any]]] = [[] for _ in w.weights]
    for t in range(len(tasks)):
        drawn = rng.integers(0, 5, len(rest))
        for i, queue in enumerate(rest):
            if not waits:
                queue.clear()
            queue.append([w.demands[t, i], w.tasks[t, i]])
            tasks[t, i] = serve(queue, w.capacities * int(drawn[i]) / (int(drawn.sum()) + 1), tasks[t, i])
    outcome = in_order(w, tasks, waits)
    return replace(outcome, tasks=np.roll(tasks, 1, axis=1)) if swapped else outcome


#: The mechanisms of the chapter: {fluid, whole}, by what happens to unserved tasks, and rules to compare them with.
RULES: dict[str, Rule] = {
    "fluid, expires": partial(_fluid, unserved="expires"),
    "fluid, waits": partial(_fluid, unserved="waits"),
    "fluid, resources": partial(_fluid, alone="resources", unserved="expires"),
    "fluid, no memory": partial(_fluid, unserved="expires", memory=False),
    "fluid, no constraint": partial(_without_constraint, unserved="expires"),
    "fluid, no constraint, waits": partial(_without_constraint, unserved="waits"),
    "any course, expires": partial(_any_course, waits=False),
    "any course, waits": partial(_any_course, waits=True),
    "whole, expires": partial(_whole, unserved="expires"),
    "whole, waits": partial(_whole, unserved="waits"),
    "whole, resources": partial(_whole, alone="resources", unserved="expires"),
    "whole, beta from 0": partial(_whole, unserved="expires", from_zero=True),
    "whole, one machine, expires": partial(_whole, unserved="expires", one_machine=True),
    "whole, one machine, waits": partial(_whole, unserved="waits", one_machine=True),
    "alone, expires": partial(_alone, unserved="expires", whole=False),
    "alone, waits": partial(_alone, unserved="waits", whole=False),
    "alone, whole, expires": partial(_alone, unserved="expires", whole=True),
    "alone, whole, waits": partial(_alone, unserved="waits", whole=True),
}

#: Rules that break in one named way.
BROKEN: dict[str, Rule] = {
    **{
        f"nine tenths of {name}, {fate}": partial(_short, rule=RULES[f"{name}, {fate}"])
        for name in ("fluid", "whole")
        for fate in ("expires", "waits")
    },
    "the last one first, expires": partial(_dictator, waits=False),
    "the last one first, waits": partial(_dictator, waits=True),
    "tasks of others": partial(_any_course, waits=False, swapped=True),
    "by claims": _by_claims,
    "nothing, expires": partial(_nothing, waits=False),
    "nothing, waits": partial(_nothing, waits=True),
}
