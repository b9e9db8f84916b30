"""What is asked of a run over periods with contributed machines, and broken rules that must fail it.

A :class:`Workload` says who submits what and who brought what; a *rule* makes an :class:`Outcome` of it, in floats or,
on small workloads, in exact fractions. The checks look at outcomes only and give a margin, negative where the property
is violated. :data:`RULES` has the mechanisms of the chapter by name, :data:`BROKEN` rules that are wrong in one named
way each.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.optimize import linprog

from book.common.cases import Lowest, lowest_margin
from book.common.packing import packs
from book.tv_drf.oracle import ExactTvRun, exact_run, exact_whole_run
from fairbook.errors import InvalidInput
from fairbook.mechanisms.tv_drf import TvDrfRun, tv_drf
from fairbook.model.exact import as_fractions
from fairbook.properties.finding import Finding

__all__ = [
    "BROKEN", "Outcome", "RULES", "Workload", "envy_freeness", "envy_of_equals", "envy_of_the_constant", "findings",
    "gain_of_lie", "in_order", "largest_above_floor", "largest_unserved", "lies", "moved", "next_task_refused",
    "pareto_in_period", "resource_used_up", "search_lie_over_time", "search_workload", "sharing_incentive_so_far",
    "tasks_against_alone", "true_tasks_over_time", "up_to_one_task", "within_tasks", "workloads",
]

Array = NDArray[Any]

#: Where floats are compared: parts of capacities, tasks in units of those submitted, shares.
TOLERANCE = 1e-7


# ------------------------------------------------------------------------------------------------- what is judged


@dataclass(frozen=True, eq=False)
class Workload:
    """Who submits what, and who brought what.

    Attributes
    ----------
    demands : ndarray, shape (T, n, m)
        Resource per task. Numbers of any kind: floats, or fractions in an array of objects.
    tasks : ndarray, shape (T, n)
        Tasks submitted.
    machines : ndarray, shape (K, m)
    contributions : ndarray, shape (n, K)
        The part of each machine that each user brought; columns sum to 1.
    """

    demands: Array
    tasks: Array
    machines: Array
    contributions: Array

    @classmethod
    def of(cls, demands: Any, tasks: Any, machines: Any, parts: Any) -> Workload:
        """Make one from nested sequences of numbers or strings such as "1/3", in fractions.

        ``parts`` has one entry a user (the same part of every machine), or one row a user.
        """
        K = len(machines)
        rows = [row if isinstance(row, (list, tuple)) else [row] * K for row in parts]
        return cls(*(_objects(as_fractions(given, name)) for given, name in
                     ((demands, "demands"), (tasks, "tasks"), (machines, "machines"), (rows, "parts"))))

    @classmethod
    def of_run(cls, run: TvDrfRun) -> Workload:
        """Take what a run was given: demands, bounds (finite), machines and contributions."""
        if not np.isfinite(run.max_tasks).all():
            raise InvalidInput("run", "must have finite numbers of tasks", run.max_tasks)
        return cls(run.demands, run.max_tasks, run.machines, run.contributions)

    @property
    def capacities(self) -> Array:
        """Of the whole pool, shape (m,)."""
        total: Array = self.machines.sum(axis=0)
        return total

    @property
    def weights(self) -> Array:
        """Mean over the resources of the part of the pool that each user brought, shape (n,)."""
        share: Array = (self.contributions @ self.machines / self.capacities).sum(axis=1) / len(self.capacities)
        return share

    def in_floats(self) -> Workload:
        """Give the same in floats."""
        return Workload(*(np.asarray(a, dtype=float) for a in
                          (self.demands, self.tasks, self.machines, self.contributions)))

    def in_fractions(self) -> Workload:
        """Give the same in fractions: those nearest to the floats with denominators up to 10^6."""
        if self.demands.dtype == object:
            return self

        def exact(array: Array) -> Array:
            values = [Fraction(x).limit_denominator(10**6) for x in array.astype(float).ravel().tolist()]
            return _objects(values).reshape(array.shape)

        parts = exact(self.contributions)
        return Workload(exact(self.demands), exact(self.tasks), exact(self.machines), parts / parts.sum(axis=0))

    def __str__(self) -> str:
        demands, tasks, machines, parts = (_plain(a) for a in
                                           (self.demands, self.tasks, self.machines, self.contributions))
        return f"demands {demands}, tasks {tasks}, machines {machines}, parts {parts}"


def _objects(values: Any) -> Array:
    shape: list[int] = []
    level = values
    while isinstance(level, (list, tuple)):
        shape.append(len(level))
        level = level[0]
    array = np.empty(shape, dtype=object)
    array[...] = values
    return array


def _plain(array: Array) -> str:
    def words(value: Any) -> str:
        if isinstance(value, list):
            return "(" + ", ".join(map(words, value)) + ")"
        return f"{value:.4g}" if isinstance(value, float) else str(value)

    return words(array.tolist())


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a rule made of a workload; floats, or fractions in arrays of objects.

    Attributes
    ----------
    tasks, shares : ndarray, shape (T, n)
        Tasks run, and G after each period.
    amounts, alone : ndarray, shape (T, n, m)
        Resource in use, and what would have been in use without sharing.
    waits : bool
        Whether tasks not run in their period wait.
    placement : ndarray, shape (T, n, K), or None
        Whole tasks on each machine.
    """

    tasks: Array
    shares: Array
    amounts: Array
    alone: Array
    waits: bool = False
    placement: Array | None = None

    @classmethod
    def of_run(cls, run: TvDrfRun) -> Outcome:
        """Take what a run came to."""
        return cls(run.tasks, run.cumulative_shares, run.amounts, run.alone, run.waits, run.placement)

    def left(self, workload: Workload) -> Array:
        """Tasks that each could still run at the end of each period, shape (T, n)."""
        if not self.waits:
            return workload.tasks - self.tasks
        rest: Array = np.cumsum(workload.tasks, axis=0) - np.cumsum(self.tasks, axis=0)
        return rest

    @property
    def exact(self) -> bool:
        """Whether the numbers are fractions."""
        return self.tasks.dtype == object


Rule = Callable[[Workload, bool], Outcome]


# ------------------------------------------------------------------------------------------------------- the rules


def _from_exact(run: ExactTvRun, waits: bool) -> Outcome:
    placement = _objects(run.placement) if run.placement else None
    return Outcome(_objects(run.tasks), _objects(run.cumulative_shares), _objects(run.amounts), _objects(run.alone),
                   waits, placement)


def _fluid(alone: Any, unserved: Any, memory: bool = True) -> Rule:
    def rule(w: Workload, exact: bool) -> Outcome:
        total = w.capacities
        if exact:
            found = [exact_run(demands, tasks, total.tolist(), w.weights.tolist(), alone, unserved)
                     for demands, tasks in _stretches(w, memory)]
            run = ExactTvRun(*([row for one in found for row in getattr(one, field)] for field in ExactTvRun._fields))
            outcome = _from_exact(run, unserved == "waits")
            return outcome if memory else replace(outcome, shares=np.cumsum(outcome.shares, axis=0))
        flat = tv_drf(w.demands, w.tasks, total[None], w.weights, method="lexicographic", alone=alone,
                      unserved=unserved, memory=memory)
        return Outcome(flat.tasks, flat.cumulative_shares, flat.amounts, flat.alone, unserved == "waits")

    return rule


def _without_constraint(unserved: Any) -> Rule:
    """The same without beta >= 1: a further user, who submits nothing, has brought everything."""
    mechanism = _fluid("bundles", unserved)

    def rule(w: Workload, exact: bool) -> Outcome:
        if exact:
            run = exact_run(np.insert(w.demands, 0, w.demands[:, 0], axis=1).tolist(),
                            np.insert(w.tasks, 0, 0, axis=1).tolist(), w.capacities.tolist(),
                            [1] + [0] * len(w.weights), "bundles", unserved, [1, *w.weights])
            found = _from_exact(run, unserved == "waits")
        else:
            flat = tv_drf(np.insert(w.demands, 0, w.demands[:, 0], axis=1), np.insert(w.tasks, 0, 0, axis=1),
                          w.capacities[None], [1.0] + [0.0] * len(w.weights), method="lexicographic",
                          unserved=unserved, weights=[1.0, *w.weights])
            found = Outcome(flat.tasks, flat.cumulative_shares, flat.amounts, flat.alone, unserved == "waits")
        return Outcome(found.tasks[:, 1:], found.shares[:, 1:] / 2, found.amounts[:, 1:],
                       mechanism(w, exact).alone, found.waits)

    return rule


def _stretches(w: Workload, memory: bool) -> Iterator[tuple[Any, Any]]:
    """Periods that are shared in one run: all, or each by itself."""
    if memory:
        yield w.demands.tolist(), w.tasks.tolist()
    else:
        for t in range(len(w.tasks)):
            yield [w.demands[t].tolist()], [w.tasks[t].tolist()]


def _whole(alone: Any, unserved: Any, one_machine: bool = False, from_zero: bool = False) -> Rule:
    def rule(w: Workload, exact: bool) -> Outcome:
        if one_machine:
            w = replace(w, machines=w.capacities[None], contributions=w.weights[:, None])
        if exact or from_zero:
            w = w.in_fractions()
            run = exact_whole_run(w.demands.tolist(), w.tasks.tolist(), w.machines.tolist(), w.contributions.tolist(),
                                  alone, unserved, from_zero=from_zero)
            return _from_exact(run, unserved == "waits")
        flat = tv_drf(w.demands, w.tasks, w.machines, w.contributions, alone=alone, unserved=unserved, placement=True)
        return Outcome(flat.tasks, flat.cumulative_shares, flat.amounts, flat.alone, unserved == "waits",
                       flat.placement)

    return rule


def _made(w: Workload, tasks: Array, alone: Array, placement: Array | None = None) -> Outcome:
    """Build the outcome of rules where unserved tasks expire, from their tasks."""
    rate = (w.demands / w.capacities).max(axis=2) / w.weights
    return Outcome(tasks, np.cumsum(tasks * rate, axis=0), tasks[:, :, None] * w.demands, alone, False, placement)


def _at_home(w: Workload) -> Array:
    """Fluid tasks that each could run on its part of the merged pool, tasks that expire, (T, n)."""
    fits: Array = (w.weights[:, None] * w.capacities / w.demands).min(axis=2)
    return np.minimum(fits, w.tasks)


def _alone(waits: bool, whole: bool) -> Rule:
    """Nobody shares: each by itself on its part of the merged pool."""
    def rule(w: Workload, exact: bool) -> Outcome:
        merged = replace(w, machines=w.capacities[None], contributions=w.weights[:, None])
        one = np.ones(1) if not exact else _objects([Fraction(1)])
        parts = []
        for i, weight in enumerate(w.weights):
            own = Workload(w.demands[:, i : i + 1], w.tasks[:, i : i + 1], merged.machines * weight, one[:, None])
            kind = _whole("whole_bundles" if whole else "bundles", "waits" if waits else "expires") if whole else (
                _fluid("bundles", "waits" if waits else "expires"))
            parts.append(kind(own, exact))
        tasks, shares, amounts, alone = (np.concatenate([getattr(part, name) for part in parts], axis=1)
                                         for name in ("tasks", "shares", "amounts", "alone"))
        placement = np.concatenate([part.placement for part in parts], axis=1) if whole else None
        return Outcome(tasks, shares, amounts, alone, waits, placement)

    return rule


def _nothing(waits: bool) -> Rule:
    """Nobody gets anything."""
    def rule(w: Workload, exact: bool) -> Outcome:
        none = w.tasks * 0
        placement = np.zeros((*w.tasks.shape, len(w.machines)), dtype=object if exact else float)
        return replace(_made(w, none, w.demands * 0, placement), waits=waits)

    return rule


def _short(rule: Rule) -> Rule:
    """Hand out nine tenths of every machine."""
    def short(w: Workload, exact: bool) -> Outcome:
        outcome = rule(replace(w, machines=w.machines * 9 / 10), exact)
        return replace(outcome, alone=outcome.alone * 10 / 9)  # bounds by own tasks apart, what the whole part runs

    return short


def _dictator(waits: bool) -> Rule:
    """Let the users choose one after the other, the last one first."""
    def rule(w: Workload, exact: bool) -> Outcome:
        T, n = w.tasks.shape
        tasks = w.tasks * 0
        for t in range(T):
            left = w.capacities.copy()
            for i in reversed(range(n)):
                some = min((left / w.demands[t, i]).min(), w.tasks[t, i])
                tasks[t, i] = some
                left = np.maximum(left - some * w.demands[t, i], left * 0)
        return replace(_made(w, tasks, _at_home(w)[:, :, None] * w.demands), waits=waits)

    return rule


def _by_claims() -> Rule:
    """Share the pool in proportion to what is claimed of it, in each period."""
    def rule(w: Workload, exact: bool) -> Outcome:
        claimed = w.tasks * (w.demands / w.capacities).max(axis=2)
        worth = claimed / claimed.sum(axis=1, keepdims=True)
        fits = (worth[:, :, None] * w.capacities / w.demands).min(axis=2)
        return _made(w, np.minimum(fits, w.tasks), _at_home(w)[:, :, None] * w.demands)

    return rule


def _any_course(waits: bool, swapped: bool = False) -> Rule:
    """Let everyone run its tasks in order on a part of the pool that is drawn anew in each period.

    ``swapped`` credits each user with the tasks of the next one.
    """
    def rule(w: Workload, exact: bool) -> Outcome:
        rng = np.random.default_rng(zlib.crc32(str(w.in_floats()).encode()))
        tasks = w.tasks * 0
        rest: list[list[list[Any]]] = [[] for _ in w.weights]
        for t in range(len(tasks)):
            drawn = rng.integers(0, 5, len(rest))
            for i, queue in enumerate(rest):
                if not waits:
                    queue.clear()
                queue.append([w.demands[t, i], w.tasks[t, i]])
                room = w.capacities * int(drawn[i]) / (int(drawn.sum()) + 1)
                while queue:
                    task, count = queue[0]
                    some = min(min(room / task), count)
                    tasks[t, i] += some
                    room = np.maximum(room - some * task, room * 0)
                    if some < count:
                        queue[0][1] = count - some
                        break
                    queue.pop(0)
        outcome = in_order(w, tasks, waits)
        return replace(outcome, tasks=np.roll(tasks, 1, axis=1)) if swapped else outcome

    return rule


#: The mechanisms of the chapter: {fluid, whole}, by what happens to unserved tasks, and rules to compare them with.
RULES: dict[str, Rule] = {
    "fluid, expires": _fluid("bundles", "expires"),
    "fluid, waits": _fluid("bundles", "waits"),
    "fluid, resources": _fluid("resources", "expires"),
    "fluid, no memory": _fluid("bundles", "expires", memory=False),
    "fluid, no constraint": _without_constraint("expires"),
    "fluid, no constraint, waits": _without_constraint("waits"),
    "any course, expires": _any_course(False),
    "any course, waits": _any_course(True),
    "whole, expires": _whole("whole_bundles", "expires"),
    "whole, waits": _whole("whole_bundles", "waits"),
    "whole, bundles": _whole("bundles", "expires"),
    "whole, beta from 0": _whole("whole_bundles", "expires", from_zero=True),
    "whole, one machine, expires": _whole("whole_bundles", "expires", one_machine=True),
    "whole, one machine, waits": _whole("whole_bundles", "waits", one_machine=True),
    "alone, expires": _alone(False, False),
    "alone, waits": _alone(True, False),
    "alone, whole, expires": _alone(False, True),
    "alone, whole, waits": _alone(True, True),
}

#: Rules that break in one named way.
BROKEN: dict[str, Rule] = {
    **{f"nine tenths of {name}, {fate}": _short(RULES[f"{name}, {fate}"])
       for name in ("fluid", "whole") for fate in ("expires", "waits")},
    "the last one first, expires": _dictator(False),
    "the last one first, waits": _dictator(True),
    "tasks of others": _any_course(False, swapped=True),
    "by claims": _by_claims(),
    "nothing, expires": _nothing(False),
    "nothing, waits": _nothing(True),
}


# ---------------------------------------------------------------------------------------------------- the checks



def _above(outcome: Outcome, scale: Any, tolerance: float = TOLERANCE) -> Any:
    """From where a number counts as positive."""
    return scale * 0 if outcome.exact else tolerance * (1 + scale)


def sharing_incentive_so_far(w: Workload, outcome: Outcome) -> Any:
    """Theorem 1: least of beta - 1 over users and periods, over resources that somebody would have had alone."""
    used, owned = np.cumsum(outcome.amounts, axis=0), np.cumsum(outcome.alone, axis=0)
    some = owned > 0
    if not some.any():
        return Fraction(0) if outcome.exact else 0.0
    return (used[some] / owned[some]).min() - 1


def tasks_against_alone(w: Workload, outcome: Outcome) -> Any:
    """Section 1.2: beta is above, at or below 1 where a user has run more, as many, fewer tasks so far than alone.

    For fluid outcomes in one pool; beta of the resources so far against those alone. Margin: 1 where this is so for
    all users and periods, else -1.
    """
    home = RULES["alone, waits" if outcome.waits else "alone, expires"](w, outcome.exact)
    used, owned = np.cumsum(outcome.amounts, axis=0), np.cumsum(home.amounts, axis=0)
    more = np.cumsum(outcome.tasks, axis=0) - np.cumsum(home.tasks, axis=0)
    gain = ((used - owned) / w.capacities).min(axis=2)
    edge = _above(outcome, np.ones_like(outcome.tasks))
    clear = [(np.abs(x) <= edge) | (np.abs(x) >= 100 * edge) for x in (more, gain)]
    wrong = (((more > edge) != (gain > edge)) | ((more < -edge) != (gain < -edge))) & clear[0] & clear[1]
    return -1 if wrong.any() else 1


def largest_unserved(w: Workload, outcome: Outcome) -> Any:
    """Lemma 2 as printed: whoever has run less than it submitted so far has a G at least everyone's.

    Margin: least of G_k - max over h of G_h, over periods and such k; positive infinite where there is none.
    """
    short = np.cumsum(w.tasks, axis=0) - np.cumsum(outcome.tasks, axis=0)
    lag = outcome.shares - outcome.shares.max(axis=1, keepdims=True)
    behind = short > _above(outcome, np.cumsum(w.tasks, axis=0))
    return lag[behind].min() if behind.any() else np.inf


def _more_than_floor(w: Workload, outcome: Outcome, tolerance: float = TOLERANCE) -> Array:
    """Who got more in a period than the least with which its beta is at least 1 (positive demands), (T, n)."""
    used, owned = np.cumsum(outcome.amounts, axis=0), np.cumsum(outcome.alone, axis=0)
    spare = ((used - owned) / w.capacities).min(axis=2)
    scale = np.ones_like(outcome.tasks)
    more: Array = (outcome.tasks > _above(outcome, w.tasks, tolerance)) & (spare > _above(outcome, scale, tolerance))
    return more


def largest_above_floor(w: Workload, outcome: Outcome, tolerance: float = TOLERANCE) -> Any:
    """Lemma 2 restated: who has tasks left in a period has a G at least that of all who got more than their floor.

    Margin: least of G_k - G_h over periods, over k with tasks left and h with more tasks than beta_h >= 1 asks for.
    """
    left = outcome.left(w)
    unfinished = left > _above(outcome, w.tasks, tolerance)
    above = _more_than_floor(w, outcome, tolerance)
    margins = [outcome.shares[t, k] - outcome.shares[t, h]
               for t in range(len(left)) for k in np.flatnonzero(unfinished[t]) for h in np.flatnonzero(above[t])
               if h != k]
    return min(margins, default=np.inf)


def up_to_one_task(w: Workload, outcome: Outcome) -> Any:
    """Lemma 2 in whole tasks, literally: G_k + one task of k or of h >= G_h, where k has tasks left (that expire)."""
    step = (w.demands / w.capacities).max(axis=2) / w.weights
    left = outcome.left(w) > 0
    margins = [outcome.shares[t, k] + max(step[t, k], step[t, h]) - outcome.shares[t, h]
               for t, k in np.argwhere(left) for h in range(w.tasks.shape[1]) if outcome.tasks[t, h] > 0]
    return min(margins, default=np.inf)


def within_tasks(w: Workload, outcome: Outcome) -> Any:
    """Lemma 2 in whole tasks on one machine, restated (tasks that expire).

    Where k has tasks left and r_h / w_h is what one task adds to G_h: G_h is at most r_h / w_h times (1 + the largest
    of alpha_kj / alpha_hj) above G_k, or r_h / w_h times that ratio above what beta_h >= 1 asks for.
    """
    step = (w.demands / w.capacities).max(axis=2) / w.weights
    used, owned = np.cumsum(outcome.amounts, axis=0), np.cumsum(outcome.alone, axis=0)
    lack = owned - (used - outcome.amounts)
    slack = 0 if outcome.exact else 1e-9
    floor = np.minimum(np.maximum(-((slack - (lack / w.demands).max(axis=2)) // 1), 0), outcome.tasks)
    base = outcome.shares - (outcome.tasks - floor) * step
    margins = []
    for t, k in np.argwhere(outcome.left(w) > 0):
        for h in range(w.tasks.shape[1]):
            more = max(w.demands[t, k] / w.demands[t, h]) * step[t, h]
            margins.append(max(outcome.shares[t, k] + step[t, h], base[t, h]) + more - outcome.shares[t, h])
    return min(margins, default=np.inf)


def resource_used_up(w: Workload, outcome: Outcome) -> Any:
    """Lemma 3: for whoever has tasks left, some resource that it needs is used up in the pool (positive demands).

    Margin: minus the least part of the pool that is free of the fullest resource, over such periods.
    """
    full = (outcome.amounts.sum(axis=1) / w.capacities).max(axis=1)
    left = (outcome.left(w) > _above(outcome, w.tasks)).any(axis=1)
    return (full[left] - 1).min() if left.any() else np.inf


def _next(w: Workload, outcome: Outcome) -> Array:
    """Demand vector of the task that each would run next after each period, (T, n, m)."""
    demands = w.demands.copy()
    if outcome.waits:
        submitted, ran = np.cumsum(w.tasks, axis=0), np.cumsum(outcome.tasks, axis=0)
        for t, i in np.argwhere(outcome.left(w) > 0):
            demands[t, i] = w.demands[int(np.argmax(submitted[:, i] > ran[t, i])), i]
    return demands


def _groups(w: Workload, outcome: Outcome, t: int) -> Iterator[tuple[int, int, Any]]:
    """Tasks run in period t: user, period in which they were submitted, how many."""
    for i in range(w.tasks.shape[1]):
        if not outcome.waits:
            yield i, t, outcome.tasks[t, i]
            continue
        end = outcome.tasks[: t + 1, i].sum()
        begin = end - outcome.tasks[t, i]
        for s in range(t + 1):
            high = w.tasks[: s + 1, i].sum()
            some = min(end, high) - max(begin, high - w.tasks[s, i])
            if some > 0:
                yield i, s, some


def next_task_refused(w: Workload, outcome: Outcome) -> Any:
    """Lemma 3 in whole tasks: the next task of whoever has tasks left does not fit. Only for one machine.

    Margin: least over such users of (task - what is left) / capacity, of the resource that is shortest.
    """
    if len(w.machines) != 1:
        raise InvalidInput("machines", "must be one", len(w.machines))
    free, tasks = w.capacities - outcome.amounts.sum(axis=1), _next(w, outcome)
    margins = [((tasks[t, i] - free[t]) / w.capacities).max() for t, i in np.argwhere(outcome.left(w) > 0)]
    return min(margins, default=np.inf)


def _placement(outcome: Outcome) -> Array:
    if outcome.placement is None:
        raise InvalidInput("outcome", "must place whole tasks on machines", "no placement")
    return outcome.placement


def envy_freeness(w: Workload, outcome: Outcome, every: bool = False) -> Any:
    """Theorem 3 as the paper defines it.

    Who has run less than it submitted so far holds, for every h, of some resource at least as much so far per weight.
    Margin: least over periods, such i, and h of the largest difference over resources, in parts of the pool; with
    ``every`` of the smallest one: of every resource at least as much, as the paper's introduction has it.
    """
    short = np.cumsum(w.tasks, axis=0) - np.cumsum(outcome.tasks, axis=0)
    behind = short > _above(outcome, np.cumsum(w.tasks, axis=0))
    held = np.cumsum(outcome.amounts, axis=0) / w.capacities / w.weights[:, None]
    lead = [held[t, i] - held[t] for t, i in np.argwhere(behind)]
    return min((one.min() if every else one.max(axis=1).min() for one in lead), default=np.inf)


def envy_of_equals(w: Workload, outcome: Outcome) -> Any:
    """Theorem 3 as the paper defines it, asked only where all have the same G and tasks left in every period."""
    level = outcome.shares - outcome.shares[:, :1]
    edge = _above(outcome, np.ones_like(outcome.tasks))
    if (np.abs(level) > edge).any() or not (outcome.left(w) > edge).all():
        return np.inf
    return envy_freeness(w, outcome)


def envy_of_the_constant(w: Workload, outcome: Outcome) -> Any:
    """Theorem 3 restated: users with one demand vector in all periods so far, against who got more than its floor.

    Margin as for :func:`envy_freeness`, over users with tasks left in the period.
    """
    held = np.cumsum(outcome.amounts, axis=0) / w.capacities / w.weights[:, None]
    unfinished, above = outcome.left(w) > _above(outcome, w.tasks), _more_than_floor(w, outcome)
    margins = [(held[t, i] - held[t, h]).max()
               for t, i in np.argwhere(unfinished) if (w.demands[: t + 1, i] == w.demands[0, i]).all()
               for h in np.flatnonzero(above[t]) if h != i]
    return min(margins, default=np.inf)


@lru_cache(maxsize=50_000)
def pareto_in_period(w: Workload, outcome: Outcome) -> Any:
    """Theorem 2, the past given: in no period could someone run more tasks and nobody fewer (fluid: tasks that expire).

    Fluid: margin minus the tasks that all could run more in total, each at least what it has, by a linear program (in
    fractions: -1 where all resources that someone with tasks left needs have room, in one pool). Whole tasks: -1 where
    one more task of someone fits beside all that are run, wherever they are put; 1 where it never does.
    """
    if outcome.placement is not None:
        rooms = tuple(sorted(map(tuple, w.machines.tolist())))
        after = _next(w, outcome)
        worst: Any = 1
        for t, i in np.argwhere(outcome.left(w) > 0):
            rows = [(tuple(w.demands[s, h].tolist()), int(count)) for h, s, count in _groups(w, outcome, int(t))]
            rows.append((tuple(after[t, i].tolist()), 1))
            if packs(rooms, tuple(row for row, _ in rows), tuple(count for _, count in rows)):
                worst = -1
        return worst
    if outcome.exact:
        left = outcome.left(w)
        free = w.capacities - outcome.amounts.sum(axis=1)
        return -1 if any(min(free[t]) > 0 for t, _ in np.argwhere(left > 0)) else 1
    margin = np.inf
    for t in range(len(w.tasks)):
        n = len(w.weights)
        left = np.maximum(outcome.left(w)[t], 0)
        room = np.maximum(w.capacities - outcome.amounts[t].sum(axis=0), 0) / w.capacities
        best = linprog(-np.ones(n), (w.demands[t] / w.capacities).T, room, bounds=np.column_stack([left * 0, left]))
        margin = min(margin, float(best.fun) / (1 + float(w.tasks[t].max())))
    return margin


def findings(run: TvDrfRun) -> tuple[Finding, ...]:
    """Ask of one run, of one's own data say, what the paper's Theorems 1 and 3 and Lemma 2 promise.

    Parameters
    ----------
    run : TvDrfRun
        With finite numbers of tasks.

    Returns
    -------
    tuple of Finding
        Sharing incentive (margin: least beta - 1), envy-freeness as the paper defines it, over all periods, and Lemma 2
        restated: who has tasks left stands at least as high as all who got more than their floor (fluid, positive
        demands; whole tasks miss it by some tasks). Each names the period (from 0) where it is tightest.

    Raises
    ------
    InvalidInput

    Notes
    -----
    Cost O(T n^2 m).

    Examples
    --------
    >>> run = tv_drf([[[1], [1]]] * 2, [[1, 1/4], [1, 2]], [[1]], [1/4, 3/4], "lexicographic")
    >>> [finding.holds for finding in findings(run)]
    [True, False, True]
    """
    w, outcome = Workload.of_run(run), Outcome.of_run(run)
    found = []
    for name, check in (("sharing incentive so far", sharing_incentive_so_far), ("envy-freeness", envy_freeness),
                        ("largest above the floor", largest_above_floor)):
        margins = np.array([float(check(*_until(w, outcome, t))) for t in range(len(run))])
        margin, t = float(margins.min()), int(margins.argmin())
        holds = margin >= -TOLERANCE
        says = {"says": f"first after period {int(np.argmax(margins < -TOLERANCE))}, most after period {t}"}
        found.append(Finding(name, holds, margin, None if holds else says, None, len(run), TOLERANCE, margins))
    return tuple(found)


def _until(w: Workload, outcome: Outcome, t: int) -> tuple[Workload, Outcome]:
    """Cut both after period t."""
    end = t + 1
    placement = None if outcome.placement is None else outcome.placement[:end]
    return (replace(w, demands=w.demands[:end], tasks=w.tasks[:end]),
            Outcome(outcome.tasks[:end], outcome.shares[:end], outcome.amounts[:end], outcome.alone[:end],
                    outcome.waits, placement))


def in_order(w: Workload, tasks: Array, waits: bool) -> Outcome:
    """Make the outcome of given tasks (T, n) in one pool, queues served in order; nothing is compared with alone."""
    outcome = Outcome(tasks, tasks * 0, w.demands * 0, w.demands * 0, waits)
    rate = (w.demands / w.capacities).max(axis=2) / w.weights
    shares, amounts = tasks * 0, w.demands * 0
    for t in range(len(tasks)):
        for i, s, count in _groups(w, outcome, t):
            amounts[t, i] += count * w.demands[s, i]
            shares[t, i] += count * rate[s, i]
    return replace(outcome, shares=np.cumsum(shares, axis=0), amounts=amounts)


# ------------------------------------------------------------------------------------------------------------ lies


def true_tasks_over_time(w: Workload, outcome: Outcome, user: int, claimed: Array) -> Any:
    """Own true tasks that a user can run with what it was given, over all periods.

    Parameters
    ----------
    w : Workload
        The truth.
    outcome : Outcome
        Of the workload with the claims.
    user : int
    claimed : ndarray, shape (T, m)
        Demand vectors that it claimed: what its whole tasks on a machine add up to (tasks that expire).

    Notes
    -----
    Where tasks wait, it works through its true queue, period by period, with what it holds of each resource (in whole
    tasks: on one machine). Where they expire, whole tasks run on each machine by themselves (equations (1) and (2)).
    """
    truth, counts = w.demands[:, user], w.tasks[:, user]
    zero = counts[0] * 0
    whole = outcome.placement is not None
    slack = 0 if outcome.exact else 1e-9

    def floor(value: Any) -> Any:
        return (value * (1 + slack)) // 1 if whole else value

    if not outcome.waits:
        total = zero
        for t in range(len(counts)):
            if whole:
                held = _placement(outcome)[t, user][:, None] * claimed[t]
                some = sum((floor(min(row / truth[t])) for row in held), zero)
            else:
                some = min(outcome.amounts[t, user] / truth[t])
            total += min(some, counts[t])
        return total
    total, queue = zero, []
    for t in range(len(counts)):
        queue.append([truth[t], counts[t]])
        room = outcome.amounts[t, user].copy()
        while queue:
            task, count = queue[0]
            some = min(floor(min(room / task)), count)
            total += some
            room = np.maximum(room - some * task, room * 0)
            if some < count:
                queue[0][1] = count - some
                break
            queue.pop(0)
    return total


def gain_of_lie(rule: Rule, w: Workload, user: int, demands: Array, tasks: Array, honest: Any = None) -> Any:
    """True tasks with the claims less those without, over all periods.

    Parameters
    ----------
    demands, tasks : ndarray, shape (T, m) and (T,)
        What the user claims.
    honest : number, optional
        Its tasks without a lie, if known.
    """
    exact = w.demands.dtype == object
    if honest is None:
        honest = rule(w, exact).tasks[:, user].sum()
    all_demands, all_tasks = w.demands.copy(), w.tasks.copy()
    all_demands[:, user], all_tasks[:, user] = demands, tasks
    outcome = rule(replace(w, demands=all_demands, tasks=all_tasks), exact)
    return true_tasks_over_time(w, outcome, user, demands) - honest


def lies(rng: Generator, w: Workload, user: int, *, whole: bool, about: Sequence[str] = ("demands", "tasks"),
         last_only: bool = False) -> tuple[Array, Array]:
    """Draw one lie: some demands multiplied, some counts changed; all stay positive, or become so.

    Parameters
    ----------
    whole : bool
        Whether counts stay whole, and demands multiples of what they were.
    about : sequence of {"demands", "tasks"}
    last_only : bool
        Whether only the last period is lied about.
    """
    demands, tasks = w.demands[:, user].copy(), w.tasks[:, user].copy()
    periods = [len(tasks) - 1] if last_only else list(range(len(tasks)))
    for t in periods:
        if "demands" in about and rng.random() < 0.7:
            factors = rng.choice([1, 1, 2, 3] if whole else [0.25, 0.5, 0.8, 0.95, 1, 1, 1.05, 1.25, 2, 4],
                                 demands.shape[1])
            demands[t] = demands[t] * factors
        if "tasks" in about and rng.random() < 0.7:
            if whole:
                tasks[t] = rng.integers(1, 2 * int(tasks[t]) + 2)
            else:
                tasks[t] = (tasks[t] or 1) * rng.choice([0.01, 0.25, 0.5, 0.8, 1, 1.25, 2, 4])
    return demands, tasks


def workloads(rng: Generator, *, periods: tuple[int, int] = (1, 4), users: tuple[int, int] = (2, 4),
              resources: tuple[int, int] = (1, 3), machines: tuple[int, int] = (1, 1), whole: bool = False,
              idle: bool = False) -> Workload:
    """Draw a workload: small whole numbers, positive demands and counts, machines of one shape, scarce or not.

    Parameters
    ----------
    periods, users, resources, machines : (int, int)
        Least and most.
    whole : bool
        Whether counts are whole (up to 6); else quarters of tasks occur.
    idle : bool
        Whether now and then a user, the last one apart, has no tasks in a period.
    """
    T, n, m, K = (int(rng.integers(low, high + 1)) for low, high in (periods, users, resources, machines))
    demands = rng.integers(1, 5, (T, n, m)).astype(float)
    if rng.random() < 0.3:
        demands[:] = demands[:1]
    tasks = rng.integers(1, 7, (T, n)).astype(float) if whole else rng.integers(1, 17, (T, n)) / 4
    if rng.random() < 0.3:
        tasks[:] = 20.0
    if idle:
        tasks[:, :-1][rng.random((T, n - 1)) < 0.3] = 0.0
    shape = rng.integers(4, 13, m).astype(float)
    parts = rng.integers(1, 4, n).astype(float)
    sizes = np.repeat(shape[None], K, axis=0)
    return Workload(demands, tasks, sizes, np.repeat((parts / parts.sum())[:, None], K, axis=1))


def moved(rng: Generator, w: Workload, *, whole: bool = False) -> Workload:
    """Change one thing in a workload: a demand, a count, a capacity of all machines, what someone brought.

    Parameters
    ----------
    whole : bool
        Whether demands, capacities and counts stay whole.
    """
    what = rng.integers(4)
    demands, tasks, machines, parts = (a.copy() for a in (w.demands, w.tasks, w.machines, w.contributions))

    def change(array: Array, place: Any) -> None:
        if whole:
            array[place] = np.maximum(array[place] + rng.choice([-1, 1]), 1)
        else:
            array[place] = array[place] * rng.choice([0.25, 0.5, 0.8, 0.97, 1.03, 1.25, 2, 4])

    if what == 0:
        place: tuple[Any, ...] = tuple(rng.integers(0, demands.shape))
        change(demands, place if rng.random() < 0.7 else place[:2])
    elif what == 1:
        change(tasks, tuple(rng.integers(0, tasks.shape)))
    elif what == 2:
        j = int(rng.integers(machines.shape[1]))
        change(machines, (slice(None), j))
    else:
        parts[rng.integers(len(parts))] *= rng.choice([0.5, 0.8, 1.25, 2])
        parts /= parts.sum(axis=0)
    return Workload(demands, tasks, machines, parts)


def search_workload(margin: Callable[[Workload], Any], *, evaluations: int, rng: Generator, moves: int = 15,
                    whole: bool = False, **sample: Any) -> Lowest[Workload]:
    """Drive a margin down: random workloads, from each some moves that are kept where the margin does not rise."""
    return lowest_margin(lambda w: float(margin(w)), partial(workloads, whole=whole, **sample),
                         partial(moved, whole=whole), evaluations=evaluations, rng=rng, moves=moves,
                         tolerance=TOLERANCE)


def search_lie_over_time(rule: Rule, *, evaluations: int, rng: Generator, whole: bool = False,
                         about: Sequence[str] = ("demands", "tasks"), last_only: bool = False, each: int = 8,
                         **sample: Any) -> tuple[float, str, int]:
    """Draw workloads, on each a liar and some lies, each the best one so far changed further.

    Returns
    -------
    float, str, int
        Largest gain in true tasks, what was found in words, and lies tried. Ends with the first that pays.
    """
    best, words, done = -np.inf, "", 0
    while done < evaluations and best <= TOLERANCE:
        w = workloads(rng, whole=whole, **sample)
        user = int(rng.integers(w.tasks.shape[1]))
        honest = rule(w, False).tasks[:, user].sum()
        told, here = w, -np.inf
        for _ in range(each):
            demands, tasks = lies(rng, told, user, whole=whole, about=about, last_only=last_only)
            gain = float(gain_of_lie(rule, w, user, demands, tasks, honest)) / (1 + float(honest))
            done += 1
            if gain >= here:
                here = gain
                all_demands, all_tasks = w.demands.copy(), w.tasks.copy()
                all_demands[:, user], all_tasks[:, user] = demands, tasks
                told = replace(w, demands=all_demands, tasks=all_tasks)
            if gain > best:
                best, words = gain, f"{w}; user {user + 1} claims demands {_plain(demands)}, tasks {_plain(tasks)}"
    return best, words, done
