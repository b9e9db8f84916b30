"""TV-DRF (Li et al. 2019): contributed machines, demands that change with time, fairness over all periods so far.

Users bring parts of machines. In period t user i submits up to B_i(t) tasks that need alpha_i(t) each and last one
period; then all machines are empty again. Two numbers carry fairness over time, both added up over the periods so far:

* the *cumulative share* G_i = sum of N_i r_i / w_i, where N_i is the number of tasks run, r_i the dominant share of one
  task and w_i what i brought;
* the *sharing coefficient* beta_i = min over j of (resource j used) / (resource j that i would have had alone).

The mechanism is the lexicographic max-min optimum of G(t) among the allocations with beta(t) >= 1, period by period,
what was used before being history. :func:`tv_drf` runs the authors' heuristic in whole tasks, or this optimum itself,
fluid.

Readings, since most formulas of the paper are lost:

* **alone**. ``"bundles"``: the amounts of the tasks that i could run on its own parts of the machines, fractions of
  tasks allowed. ``"whole_bundles"``: the same, rounded down to whole tasks after adding up over machines (on several of
  them the sum may hold tasks that no single part does). ``"resources"``: of each resource by itself
  the smaller of what all submitted tasks need and what i brought; what no task vector can use counts, too.
* **unserved**. ``"expires"``: tasks not run in their period are gone, in the pool and alone. ``"waits"``: they queue,
  in the pool and, by what would have been left over there, alone. A queue is served in the order of submission: tasks
  keep the demand vector of the period that submitted them, and none overtakes an older one of the same user, not even
  where the older one does not fit. (Alone in the reading ``"resources"`` each resource has a queue of its own.)
* **0/0**. beta_i is the least ratio over the resources that i would have had some of, so far. Where there is none, beta
  is 1 if i has used nothing and infinite if it has.
* **best fit (17)**, after DRFH. Demand and what is left on a machine, both as parts of the pool's totals, are divided
  by their entry for the first resource that the task needs; the distance is the sum of the absolute differences. (Where
  the first resource of all is needed, that is DRFH's.) Among the machines that hold the task the nearest one takes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from fractions import Fraction
from math import inf
from typing import Any, NamedTuple

import numpy as np

from fairbook.mechanisms.choices import Engine, check_choice
from fairbook.mechanisms.engines.nearest import DISTANCE, as_machines
from fairbook.mechanisms.engines.tv_drf_alone import (
    DONE,
    FITS,
    IDLE,
    SPLIT,
    amounts_alone,
    coefficients,
)
from fairbook.mechanisms.engines.tv_drf_fluid import NEAR, State, as_queues, enough, flow
from fairbook.mechanisms.engines.tv_drf_whole import as_stock, as_users, hand_out
from fairbook.mechanisms.readings import Alone, TvMethod, Unserved
from fairbook.mechanisms.tv_drf_case import Case, as_case, check_one_shape, check_size, too_far_apart
from fairbook.mechanisms.tv_drf_run import TvDrfRun, never_below
from fairbook.model.inputs import LARGEST, FloatArray, check_switch
from fairbook.model.instance import takes_instance

__all__ = ["TvDrfRun", "tv_drf", "tv_drf_rule"]

Queue = list[tuple[list[Any], Any]]

# ------------------------------------------------------------------------------------------------------ the rule


def sharing_coefficient(used: Sequence[Any], owned: Sequence[Any]) -> Any:
    """Equation (8), beta: the least ratio over the resources that the user would have had some of."""
    return min((u / o for u, o in zip(used, owned, strict=True) if o > 0), default=inf if any(used) else 1)


def plus(amounts: Sequence[Any], task: Sequence[Any], times: Any) -> list[Any]:
    """Add a task so many times."""
    return [x + times * d for x, d in zip(amounts, task, strict=True)]


def on_own_parts(queue: Queue, parts: Any, whole: bool, near: Any) -> tuple[list[Any], Queue]:
    """Equations (1) and (2): what a queue uses on own parts of machines, group after group, and what is left of it.

    A group is spread over the parts in proportion to what each could run of it.
    """
    use, room = [0 * c for c in parts[0]], parts
    for at, (task, count) in enumerate(queue):
        fit = [
            min((c + whole * near * part) / d for c, part, d in zip(left, own, task, strict=True) if d > 0)
            for left, own in zip(room, parts, strict=True)
        ]
        some = min(sum(fit), count) // 1 if whole else min(sum(fit), count)
        use = plus(use, task, some)
        if some < (1 - near) * count:
            return use, [(task, count - some), *queue[at + 1 :]]
        room = [plus(left, task, -some * one / sum(fit)) for left, one in zip(room, fit, strict=True)]
    return use, []


class User:
    """The accounts of one user: what it used, what it would have had alone (owned), and G, all so far; its queues."""

    def __init__(self, parts: Any, pool: Any, weight: Any, coefficient: Callable[..., Any], near: Any) -> None:
        self.parts, self.pool, self.weight, self.coefficient, self.near = parts, pool, weight, coefficient, near
        self.used = self.owned = self.lacking = self.nothing = [0 * c for c in pool]
        self.share = self.past = 0 * weight
        self.queue: Queue = []  # groups of tasks alike, (task, count), in order
        self.home: Queue = []  # and those that it would have left alone

    @property
    def beta(self) -> Any:
        """The sharing coefficient so far."""
        return self.coefficient(self.used, self.owned)

    def begin(self, task: Any, count: Any, alone: Alone, waits: bool, memory: bool) -> None:
        """Begin a period: submit tasks, and add what the user would have had in it alone."""
        new = [(task, count)] if count > 0 else []
        self.queue, self.home = (self.queue + new, self.home + new) if waits else (new, new)
        self.tasks, self.amounts, self.held = 0 * self.weight, self.nothing, bool(self.queue)
        if not memory:
            self.used, self.owned, self.past, self.share = self.nothing, self.nothing, self.past + self.share, 0
        if alone == "resources":
            asked = plus(self.lacking if waits else self.nothing, task, count)
            self.alone = [min(x, sum(own)) for x, own in zip(asked, zip(*self.parts, strict=True), strict=True)]
            self.lacking = plus(asked, self.alone, -1)
        else:
            self.alone, self.home = on_own_parts(self.home, self.parts, alone == "whole_bundles", self.near)
        self.owned = plus(self.owned, self.alone, 1)

    def run(self, some: Any) -> None:
        """Run so many of the next tasks, all alike."""
        (task, count), *others = self.queue
        self.queue = [(task, count - some), *others] if count - some > self.near * count else others
        self.used, self.amounts = plus(self.used, task, some), plus(self.amounts, task, some)
        self.tasks, self.share = self.tasks + some, self.share + some * self.height(task)

    def height(self, task: Any) -> Any:
        """Equations (4) and (5): what one task adds to G."""
        return max(d / c for d, c in zip(task, self.pool, strict=True)) / self.weight


def distance(task: Any, free: Any, machine: Any, pool: Any, near: Any) -> Any:
    """Equation (17); where all of the first resource is used up, what may be overdrawn counts."""
    lead = next(j for j, d in enumerate(task) if d > 0)
    ahead = free[lead] if free[lead] > 0 else near * machine[lead] + free[lead]
    return sum(abs(d / task[lead] - c / ahead) * pool[lead] / s for d, c, s in zip(task, free, pool, strict=True))


def heuristic(
    users: list[User], machines: Any, free: Any, near: Any, prefer: Iterable[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Algorithm 1 in one period: (user, machine) of each whole task, in order; ``free`` is what is left on machines."""
    placed: list[tuple[int, int]] = []
    active, wish = {i for i, user in enumerate(users) if user.queue}, Counter(prefer)
    while active := {i for i in active if users[i].queue}:
        behind = {i: users[i].beta for i in active if users[i].beta < 1 - near}
        value = behind or {i: users[i].share for i in active}
        tied = sorted(i for i in value if value[i] == min(value.values()))
        i = next((i for i in tied if any(h == i for h, _ in wish.elements())), tied[0])
        task = users[i].queue[0][0]
        far = {
            k: distance(task, free[k], machine, users[i].pool, near)
            for k, machine in enumerate(machines)
            if all(d <= c + near * size for d, c, size in zip(task, free[k], machine, strict=True))
        }
        if not far:  # it no longer takes part in this period
            active.remove(i)
            continue
        best = [k for k in far if far[k] == min(far.values())]
        k = next((k for k in best if wish[i, k] > 0), best[0])
        free[k] = plus(free[k], task, -1)
        users[i].run(1)
        placed.append((i, k))
        wish[i, k] -= 1
    return placed


def pace(user: User, value: str) -> tuple[Any, list[Any]]:
    """By how much the next task raises beta or G, and how far beta rises until another resource is the scarcest."""
    low, task = user.beta, user.queue[0][0]
    if value == "share":
        return user.height(task), []
    lines = [(u / o, d / o) for u, o, d in zip(user.used, user.owned, task, strict=True) if o > 0]
    slope = min(g for x, g in lines if x <= low + user.near)
    return slope, [(x - low) / (1 - g / slope) for x, g in lines if g < slope and x > low + user.near]


def beyond_level(user: User) -> User:
    """Give the user after the next tasks that do not raise beta; its queue is empty where none does."""
    after = copy(user)
    while after.queue and not pace(after, "beta")[0] > 0:
        after.run(after.queue[0][1])
    return after


def fill(users: list[User], left: list[Any], value: str, top: Any, near: Any) -> None:
    """Raise the lowest values (beta or G) together, up to ``top``; who needs next what is used up stays."""
    rising = set(range(len(users)))
    while True:
        at = {i: getattr(users[i], value) for i in rising if users[i].queue}
        rising = {i for i in at if at[i] < top - near and _has_room(users[i], left)}
        if not rising:
            return
        low = min(at[i] for i in rising)
        paces = {i: pace(users[i], value) for i in sorted(rising) if at[i] <= low + near}
        growth = [sum(users[i].queue[0][0][j] / x for i, (x, _) in paces.items() if x > 0) for j in range(len(left))]
        level = [i for i, (x, _) in paces.items() if not x > 0]
        if level:  # the first whose next tasks do not raise beta: all of these at once, or none
            after = beyond_level(users[level[0]])
            rest = plus(left, plus(after.amounts, users[level[0]].amounts, -1), -1)
            if min(rest) >= 0 and _has_room(after, rest) and all(x > 0 or not g for x, g in zip(rest, growth)):
                users[level[0]], left[:] = after, rest
            else:
                rising.remove(level[0])
            continue
        ends = [at[i] - low for i in rising if i not in paces] + [top - low]
        for i, (x, kinks) in paces.items():
            ends += [users[i].queue[0][1] * x, *kinks]
        step = min(ends + [x / g for x, g in zip(left, growth, strict=True) if g > 0])
        for i, (x, _) in paces.items():
            users[i].run(step / x)
        left[:] = [max(x, 0 * x) for x in plus(left, growth, -step)]


def _has_room(user: User, left: Sequence[Any]) -> bool:
    """Whether nothing that its next task needs is used up."""
    return bool(user.queue) and all(x > 0 or not d for d, x in zip(user.queue[0][0], left, strict=True))


class Period(NamedTuple):
    """Users at the end of a period, what is left on machines (fluid: of the pool), user and machine of each task."""

    users: list[User]
    free: list[Any]
    placed: list[tuple[int, int]]


def tv_drf_rule(
    demands: Any,
    tasks: Any,
    machines: Any,
    contributions: Any,
    *,
    method: TvMethod = "heuristic",
    alone: Alone = "bundles",
    unserved: Unserved = "expires",
    weights: Any = None,
    memory: bool = True,
    coefficient: Callable[..., Any] = sharing_coefficient,
    prefer: Sequence[Iterable[tuple[int, int]]] = (),
    near: Any = 0,
) -> list[Period]:
    """TV-DRF period by period: Algorithm 1 in whole tasks, or the optimum of (9) in one pool; numbers of any kind.

    Arguments are those of :func:`tv_drf`, lists in place of arrays; weights sum to 1. ``prefer`` is a placement to
    follow, period by period, where users or machines are exactly tied: there rounding decides in an engine. The part
    ``near`` of a machine may be overdrawn, and of a group be left over.

    The second period of the example by hand: both first reach beta = 1, then the lower G takes what is left.

    >>> from fractions import Fraction as F
    >>> demands = [[[F(2), F(1)], [F(1), F(1)]], [[F(5), F(5)], [F(20), F(10)]]]
    >>> run = tv_drf_rule(demands, [[15, 70], [12, 4]], [[F(50), F(50)]] * 2, [[1, 0], [0, 1]], alone="resources")
    >>> [(str(user.tasks), str(user.beta)) for user in run[1].users]
    [('12', '9/8'), ('2', '1')]
    """
    pool, whole = [sum(column) for column in zip(*machines, strict=True)], method == "heuristic"
    users = []
    for i, row in enumerate(contributions):
        parts = [[part * c for c in size] for part, size in zip(row, machines, strict=True)]
        brought = [sum(column) for column in zip(*parts, strict=True)]
        weight = weights[i] if weights else sum(b / c for b, c in zip(brought, pool, strict=True)) / len(pool)
        users.append(User(parts if whole else [brought], pool, weight, coefficient, near))
    run = []
    for t, submitted in enumerate(zip(demands, tasks, strict=True)):
        for user, task, count in zip(users, *submitted, strict=True):
            user.begin(task, count, alone, unserved == "waits", memory)
        free, placed = list(machines) if whole else list(pool), []
        if whole:
            placed = heuristic(users, machines, free, near, prefer[t] if prefer else ())
        else:
            fill(users, free, "beta", 1, near)
            fill(users, free, "share", inf, near)
        run.append(Period([copy(user) for user in users], free, placed))
    return run


@takes_instance
def tv_drf(
    demands: Any,
    tasks: Any = None,
    machines: Any = None,
    contributions: Any = None,
    *,
    method: TvMethod = "heuristic",
    alone: Alone = "bundles",
    unserved: Unserved = "expires",
    weights: Any = None,
    memory: bool = True,
    placement: bool = False,
    engine: Engine = "fast",
) -> TvDrfRun:
    """Allocate over periods by TV-DRF (Li et al. 2019).

    Parameters
    ----------
    demands : array_like, shape (T, n, m), sequence of T DataFrames with the same labels, or Instance
        Resource per task in each period, in the unit of ``machines``. A row of zeros: no tasks.
    tasks : array_like or DataFrame, shape (T, n)
        Tasks that each submits in each period, an upper bound: whole for the heuristic, ``inf`` allowed where unserved
        tasks expire, 0 where the demands are zero. The columns of a DataFrame are matched with the users by name; its
        index is not read: row t is period t. In an Instance these are its ``max_tasks``.
    machines : array_like or DataFrame, shape (K, m)
        Capacity of each machine.
    contributions : array_like or DataFrame, shape (n, K), or (n,)
        The part of each machine that each user brought, in [0, 1]; sums to 1 over the users. Shape (n,): the same part
        of every machine. The columns of a DataFrame are matched with the index of ``machines`` by name.
    method : {"heuristic", "lexicographic"}
        ``"heuristic"``: whole tasks one by one (Algorithm 1): as long as someone who can still run a task has beta
        below 1, to the one among them with the least beta, else to the one with the least G; to the machine that fits
        best. Whose next task fits nowhere is done for this period, and the others go on. ``"lexicographic"``: the
        optimum of (9), fluid; machines must have one shape, so that they are one pool.
    alone : {"bundles", "whole_bundles", "resources"}
    unserved : {"expires", "waits"}
        Readings: see the head of :mod:`fairbook.mechanisms.tv_drf`.
    weights : array_like or Series, shape (n,), optional
        w, scaled to sum to 1. Default: the mean over the resources of the part of the pool's total that the user
        brought.
    memory : bool
        Whether the past counts. Without it every period is shared as if it were the first, by beta and G of that period
        alone; the run still reports beta and G over all periods.
    placement : bool
        Whether to keep how many tasks of each user are on each machine: T n K numbers of 4 bytes, at most 1e9 of them.
    engine : {"fast", "plain"}
        ``"plain"`` runs :func:`tv_drf_rule` on fractions made of the doubles: slow, and exact.

    Returns
    -------
    TvDrfRun
        ``tasks``, ``sharing_coefficients``, ``cumulative_shares`` (T, n), ``use`` (T, m), ...

    Raises
    ------
    InvalidInput
        Naming argument, rule and value.

    Notes
    -----
    Where beta >= 1 cannot be had for all at once the fluid mechanism first makes min(beta, 1) lexicographically max-min
    fair (``below_one`` tells), then G. This is what Algorithm 1 does in whole tasks. In bundles, whole ones too, it can
    always be had, unless tasks wait and ``memory`` is off; with ``"resources"`` it fails with one user, one period:
    tasks of (1, 1/2), capacities (1, 1). Of the users that have the same beta while their next tasks do not raise it,
    those with smaller indices pass these tasks if there is not room for all (most would pass by solving a knapsack).

    Ties of the heuristic: the user with the smaller index, the machine with the smaller index, among numbers that are
    equal as computed. Where two accounts, or two distances, are equal in exact arithmetic and not in doubles, either
    may come first, and a run can differ by some tasks from one in fractions. A task fits if it leaves
    no resource of the machine below -1e-12 of its capacity. A coefficient within 1e-12 of 1 is 1.

    What rounding leaves over holds up no queue: up to 1e-12 of a group of tasks or of an own part (alone), and up to
    1e-13 of a resource of the pool (fluid), count as nothing. Whoever lives on what is left of a resource and needs r
    times more of another may have a share off by r times as much. Where users of a resource need parts of it, for a
    unit of G, that are more than 1e8 times apart, the fluid is worked out by the rule in fractions; more than 60
    periods times users are refused then.

    Cost of the heuristic, per task handed out on K machines: O(log n + m K) where they are at most 256, looked at one
    by one; more stand in a tree, O(log n + m log K) where what is free on them is spread evenly, at worst O(m K).
    Besides, O(K (m + log K) + n m) a period; O(m K) for each user that is refused after a placement, to say what is
    missing; and for the amounts alone O(m) per user, period and distinct machine. All this where the tasks need the
    same resource first: where L different ones come first, m L numbers are kept of a machine in place of m. Memory
    O(K m L + T (K + n) m), but for ``placement``.
    Input for which the pool could hold more than about 1e9 tasks in all is refused.

    Cost of the lexicographic mechanism: O(n m log n + n m^2) a period where nothing waits. Where tasks wait, each
    period goes through all groups that are still in a queue: in a pool that is always overloaded the time grows with
    the square of T (measured with few users: below a second for 4000 periods, 6 seconds for 16000).

    The run of a period depends on that period and the ones before: with more periods appended, what is already run
    comes out the same. To go on from day to day, append and run again.

    References
    ----------
    Li, Zhang, Li, Zhang 2019, Algorithm 1, (9) and (17) (reconstructed); Wang, Li, Liang, "Dominant resource fairness
    in cloud computing systems with heterogeneous servers", INFOCOM 2014, for the distance.

    Examples
    --------
    The worked example of the paper (task counts of the second period are ours, found by search).

    >>> run = tv_drf([[[2, 1], [1, 1]], [[5, 5], [20, 10]]], [[15, 70], [12, 4]], [[50, 50], [50, 50]],
    ...              [[1, 0], [0, 1]], alone="resources")
    >>> run.tasks
    array([[15., 70.],
           [12.,  2.]])
    >>> run.sharing_coefficients
    array([[1.   , 1.4  ],
           [1.125, 1.   ]])
    """
    check_choice(method, "method", TvMethod)
    check_choice(alone, "alone", Alone)
    check_choice(unserved, "unserved", Unserved)
    check_choice(engine, "engine", Engine)
    check_switch(placement, "placement")
    check_switch(memory, "memory")
    case = as_case(demands, tasks, machines, contributions, weights, method, alone, unserved, memory)
    whole = method == "heuristic"
    if whole:
        check_size(case, placement)
    else:
        check_one_shape(case.machines)
    if engine == "plain" or (not whole and too_far_apart(case)):
        found = by_rule(case, method)
    else:
        found = by_task(case, placement) if whole else by_flow(case)
    beta = coefficients(found["amounts"], found["alone"])
    # what the fluid decides on is each period by itself where the past does not count
    decided = beta if whole or memory else coefficients(found["amounts"], found["alone"], False)
    return TvDrfRun(
        **found | ({} if placement and whole else {"placement": None}),
        sharing_coefficients=beta,
        below_one=np.asarray((decided < 1 - FITS).any(axis=1)),
        demands=case.demands,
        max_tasks=case.bounds,
        machines=case.machines,
        contributions=case.parts,
        weights=case.weights,
        method=method,
        reading=alone,
        waits=case.waits,
        memory=memory,
        named_users=case.users,
        named_resources=case.resources,
        named_machines=case.names,
    )


# ------------------------------------------------------------------------------------------- worked out in one way


def by_rule(case: Case, method: TvMethod) -> dict[str, Any]:
    """Work out :func:`tv_drf_rule` in fractions of the doubles, what users brought adding up to all there is."""
    whole, total = method == "heuristic", case.machines.sum(axis=0)
    demands, tasks, machines, parts, weights = (
        np.array([Fraction(x) for x in values.ravel().tolist()], dtype=object).reshape(values.shape)
        for values in (case.demands, np.minimum(case.bounds, LARGEST**2), case.machines, case.parts, case.weights)
    )
    run = tv_drf_rule(
        demands.tolist(),
        tasks.tolist(),
        machines.tolist(),
        (parts / parts.sum(axis=0)).tolist(),
        method=method,
        alone=case.alone,
        unserved="waits" if case.waits else "expires",
        weights=weights.tolist(),
        memory=case.memory,
        near=Fraction(FITS if whole else NEAR),
    )
    found = _nothing(case) | {"alone": np.zeros_like(case.demands), "machine_use": None}
    if whole:
        found["machine_use"] = np.array([machines - np.array(free) for _, free, _ in run], dtype=float)
    found["placement"] = np.zeros((*case.bounds.shape, len(machines)), dtype=np.int32)
    for t, (users, free, placed) in enumerate(run):
        left = np.array(free).reshape(-1, len(total)).sum(axis=0)
        for i, user in enumerate(users):
            found["tasks"][t, i], found["cumulative_shares"][t, i] = user.tasks, user.past + user.share
            found["amounts"][t, i], found["alone"][t, i] = user.amounts, user.alone
            found["unserved"][t, i] = sum(count for _, count in user.queue) if case.bounds[t, i] < np.inf else np.inf
            if user.queue:
                short = (
                    (left < user.queue[0][0] - FITS * total)
                    if whole
                    else (left <= 0) & (np.array(user.queue[0][0]) > 0)
                )
                found["bottlenecks"][t, i] = short.argmax() if short.any() else SPLIT
            elif user.held:
                found["bottlenecks"][t, i] = DONE
        for i, k in placed:
            found["placement"][t, i, k] += 1
    return found


def by_task(case: Case, placement: bool) -> dict[str, Any]:
    """Hand out whole tasks one by one."""
    (T, n, m), (K, _) = case.demands.shape, case.machines.shape
    total, waits = case.machines.sum(axis=0), case.waits
    own, *_ = _own(case, case.bounds)
    found = _nothing(case)
    found |= {
        "alone": own,
        "machine_use": np.zeros((T, K, m)),
        "placement": np.zeros((T, n, K) if placement else (0, 0, 0), dtype=np.int32),
    }
    some = case.demands[(case.demands > 0).any(axis=2)] if case.demands.any() else total[None]
    leads = np.unique((some > 0).argmax(axis=1))
    scale = 1.0 / total
    unit = scale / scale[leads][:, None]
    at = as_machines(case.machines.copy(), case.machines.copy(), some.min(axis=0), leads, unit, DISTANCE)
    fields = "tasks", "amounts", "machine_use", "cumulative_shares", "unserved", "bottlenecks", "placement"
    state = as_users(n, m), as_stock(case.machines), at, tuple(found[name] for name in fields)
    _go(hand_out(case.demands, case.bounds, case.machines, case.weights, own, waits, case.memory, *state))
    return found


def by_flow(case: Case) -> dict[str, Any]:
    """Fill one pool progressively; bounds that nobody could reach are none."""
    (T, n, m), total = case.demands.shape, case.machines.sum(axis=0)
    most = np.minimum(case.bounds, enough(case.demands, total) * (T if case.waits else 1))
    own, *alone = _own(case, most)
    found = _nothing(case) | {"alone": own, "machine_use": None}
    sure = never_below(case.alone, case.waits, case.memory)
    results = tuple(found[name] for name in ("tasks", "amounts", "cumulative_shares", "unserved", "bottlenecks"))
    known = as_queues(most), total, own, case.weights, case.waits, case.memory, sure, tuple(alone), NEAR
    _go(flow(case.demands, *known, State(*np.zeros((2, n, m)), *np.zeros((2, n))), results))
    if case.waits:
        found["unserved"] += np.cumsum(case.bounds - most, axis=0)
    else:
        found["unserved"] = case.bounds - found["tasks"]
    return found


def _nothing(case: Case) -> dict[str, Any]:
    """Make room for what the engines find."""
    names = "tasks", "cumulative_shares", "unserved"
    found: dict[str, Any] = {name: np.zeros(case.bounds.shape) for name in names}
    return found | {"amounts": np.zeros_like(case.demands), "bottlenecks": np.full(case.bounds.shape, IDLE)}


def _own(case: Case, most: FloatArray) -> tuple[FloatArray, Any, FloatArray]:
    """Give what each would have had alone, and how far its queue would have come."""
    return amounts_alone(case.demands, most, case.machines, case.parts, case.alone, case.waits)


def _go(steps: Iterable[None]) -> None:
    """Let an engine run; between two of its steps an interrupt is seen."""
    with np.errstate(all="ignore"):
        for _ in steps:
            pass
