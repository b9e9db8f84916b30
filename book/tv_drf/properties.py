"""What is asked of a run over periods with contributed machines.

A :class:`Workload` says who submits what and who brought what; a *rule* makes an :class:`Outcome` of it, in floats or,
on small workloads, in exact fractions. The checks look at outcomes only and give a margin, negative where the property
is violated. :data:`RULES` has the mechanisms of the chapter by name, :data:`BROKEN` rules that are wrong in one named
way each.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.random import Generator

from book.common.cases import Lowest, lowest_margin
from book.common.evidence import in_words
from book.common.oracle_drf import exact_tasks
from book.common.packing import packs
from book.tv_drf.rules import RULES, Rule
from book.tv_drf.workloads import (
    Array,
    Outcome,
    Workload,
    as_claimed,
    groups,
    moved,
    serve,
    workloads,
)
from fairbook.mechanisms.pool.drf import drf

#: Where floats are compared: parts of capacities, tasks in units of those submitted, shares.
TOLERANCE = 1e-7


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

    Margin: least of G_k - max over h of G_h, over periods and such k; positive infinite where there is none. It is
    not negative exactly where some G has G_i = min(G, G_i^max) for all i: those k then stand at one G, the largest.
    """
    short = np.cumsum(w.tasks, axis=0) - np.cumsum(outcome.tasks, axis=0)
    lag = outcome.shares - outcome.shares.max(axis=1, keepdims=True)
    behind = short > _above(outcome, np.cumsum(w.tasks, axis=0))
    return lag[behind].min() if behind.any() else np.inf


def one_level_above_past(w: Workload, outcome: Outcome) -> Any:
    """Lemma 1 as the group has it elsewhere: G_i = max(G_i before, min(G, G_i^max)) for one G and all i, each period.

    Margin: minus the largest over periods of the least, over numbers G, of the largest difference.
    """
    rate = (w.demands / w.capacities).max(axis=2) / w.weights
    most, past, far = np.cumsum(w.tasks * rate, axis=0), outcome.shares[0] * 0, 0
    for shares, top in zip(outcome.shares, most, strict=True):
        # if some G will do, so will the G_i of somebody
        off = [np.abs(np.maximum(past, np.minimum(level, top)) - shares).max() for level in shares]
        past, far = shares, max(far, min(off))
    return -far


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
    margins = [
        outcome.shares[t, k] - outcome.shares[t, h]
        for t in range(len(left))
        for k in np.flatnonzero(unfinished[t])
        for h in np.flatnonzero(above[t])
        if h != k
    ]
    return min(margins, default=np.inf)


def up_to_one_task(w: Workload, outcome: Outcome) -> Any:
    """Lemma 2 in whole tasks, literally: G_k + one task of k or of h >= G_h, where k has tasks left (that expire)."""
    step = (w.demands / w.capacities).max(axis=2) / w.weights
    left = outcome.left(w) > 0
    margins = [
        outcome.shares[t, k] + max(step[t, k], step[t, h]) - outcome.shares[t, h]
        for t, k in np.argwhere(left)
        for h in range(w.tasks.shape[1])
        if outcome.tasks[t, h] > 0
    ]
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
    """Lemma 3: for whoever has tasks left, some resource that its next task needs is used up in the pool.

    So in a period nobody can run more tasks and nobody fewer, the past being what it is: Theorem 2, for fluid outcomes
    in one pool. Margin: minus the least part that is free of the fullest such resource, over such users and periods.
    """
    free = 1 - outcome.amounts.sum(axis=1) / w.capacities
    left, tasks = outcome.left(w) > _above(outcome, w.tasks), next_tasks(w, outcome)
    return min((-free[t][tasks[t, i] > 0].min() for t, i in np.argwhere(left)), default=np.inf)


def next_tasks(w: Workload, outcome: Outcome) -> Array:
    """Demand vector of the task that each would run next after each period, (T, n, m)."""
    demands, edge = w.demands.copy(), _above(outcome, w.tasks)
    if outcome.waits:
        submitted, ran = np.cumsum(w.tasks, axis=0), np.cumsum(outcome.tasks, axis=0)
        for t, i in np.argwhere(outcome.left(w) > edge):
            demands[t, i] = w.demands[int(np.argmax(submitted[:, i] > ran[t, i] + edge[t, i])), i]
    return demands


def next_task_refused(w: Workload, outcome: Outcome) -> Any:
    """Lemma 3 in whole tasks: the next task of whoever has tasks left does not fit. Only for one machine.

    Margin: least over such users of (task - what is left) / capacity, of the resource that is shortest; -1 where a
    task fits.
    """
    free, tasks = w.capacities - outcome.amounts.sum(axis=1), next_tasks(w, outcome)
    margins = [((tasks[t, i] - free[t]) / w.capacities).max() for t, i in np.argwhere(outcome.left(w) > 0)]
    least = min(margins, default=np.inf)
    return least if least > (0 if outcome.exact else 1e-9) else -1


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
    margins = [
        (held[t, i] - held[t, h]).max()
        for t, i in np.argwhere(unfinished)
        if (w.demands[: t + 1, i] == w.demands[0, i]).all()
        for h in np.flatnonzero(above[t])
        if h != i
    ]
    return min(margins, default=np.inf)


def drf_in_each_period(w: Workload, outcome: Outcome) -> Any:
    """What no memory keeps: weighted DRF in each period, as much as alone, efficiency, no envy within; beta >= 1.

    Fluid outcomes in one pool, tasks that expire. Margin: the least of all five.
    """
    found = [sharing_incentive_so_far(w, outcome), resource_used_up(w, outcome)]
    for t, (demands, tasks, ran) in enumerate(zip(w.demands, w.tasks, outcome.tasks, strict=True)):
        if outcome.exact:
            fair = np.array(exact_tasks(demands.tolist(), w.weights.tolist(), w.capacities.tolist(), tasks.tolist()))
        else:
            fair = drf(demands, weights=w.weights, capacities=w.capacities, max_tasks=tasks).tasks
        alone = np.minimum((w.weights[:, None] * w.capacities / demands).min(axis=1), tasks)
        found += [-np.abs(ran / fair - 1).max(), (ran / alone - 1).min()]
        once = replace(outcome, tasks=ran[None], amounts=outcome.amounts[[t]], shares=outcome.shares[[t]])
        found.append(envy_freeness(replace(w, demands=demands[None], tasks=tasks[None]), once))
    return min(found)


@lru_cache(maxsize=50_000)
def pareto_in_period(w: Workload, outcome: Outcome) -> Any:
    """Theorem 2 in whole tasks, the past given: in no period could someone run more tasks and nobody fewer.

    -1 where one more task of someone fits beside all that are run, wherever they are put; 1 where it never does.
    """
    rooms, after = tuple(sorted(map(tuple, w.machines.tolist()))), next_tasks(w, outcome)
    for t, i in np.argwhere(outcome.left(w) > 0):
        rows = [(tuple(w.demands[s, h].tolist()), int(count)) for h, s, count in groups(w, outcome, int(t))]
        rows.append((tuple(after[t, i].tolist()), 1))
        if packs(rooms, tuple(row for row, _ in rows), tuple(count for _, count in rows)):
            return -1
    return 1


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
    slack, placement = 0 if outcome.exact else 1e-9, outcome.placement

    def floor(value: Any) -> Any:
        return value if placement is None else (value * (1 + slack)) // 1

    queue: list[list[Any]] = []
    total = w.tasks[0, user] * 0
    for t, (truth, count) in enumerate(zip(w.demands[:, user], w.tasks[:, user], strict=True)):
        if placement is not None and not outcome.waits:
            held = placement[t, user][:, None] * claimed[t]
            total += min(sum(floor(min(row / truth)) for row in held), count)
            continue
        queue = [*(queue if outcome.waits else []), [truth, count]]
        total = serve(queue, outcome.amounts[t, user], total, floor)
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
    outcome = rule(as_claimed(w, user, demands, tasks), exact)
    return true_tasks_over_time(w, outcome, user, demands) - honest


def lies(
    rng: Generator,
    w: Workload,
    user: int,
    *,
    whole: bool,
    about: Sequence[str] = ("demands", "tasks"),
    last_only: bool = False,
) -> tuple[Array, Array]:
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
            factors = rng.choice(
                [1, 1, 2, 3] if whole else [0.25, 0.5, 0.8, 0.95, 1, 1, 1.05, 1.25, 2, 4], demands.shape[1]
            )
            demands[t] = demands[t] * factors
        if "tasks" in about and rng.random() < 0.7:
            if whole:
                tasks[t] = rng.integers(1, 2 * int(tasks[t]) + 2)
            else:
                tasks[t] = (tasks[t] or 1) * rng.choice([0.01, 0.25, 0.5, 0.8, 1, 1.25, 2, 4])
    return demands, tasks


def search_workload(
    margin: Callable[[Workload], Any],
    *,
    evaluations: int,
    rng: Generator,
    moves: int = 15,
    whole: bool = False,
    **sample: Any,
) -> Lowest[Workload]:
    """Drive a margin down: random workloads, from each some moves that are kept where the margin does not rise."""
    return lowest_margin(
        lambda w: float(margin(w)),
        partial(workloads, whole=whole, **sample),
        partial(moved, whole=whole),
        evaluations=evaluations,
        rng=rng,
        moves=moves,
        tolerance=TOLERANCE,
    )


def search_lie_over_time(
    rule: Rule,
    *,
    evaluations: int,
    rng: Generator,
    whole: bool = False,
    about: Sequence[str] = ("demands", "tasks"),
    last_only: bool = False,
    each: int = 8,
    **sample: Any,
) -> tuple[float, str, int]:
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
                told = as_claimed(w, user, demands, tasks)
            if gain > best:
                said = f"demands {in_words(demands.tolist())}, tasks {in_words(tasks.tolist())}"
                best, words = gain, f"{w}; user {user + 1} claims {said}"
    return best, words, done
