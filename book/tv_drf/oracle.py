"""TV-DRF judged: the optimum of (9) by linear programs with certificates, and in exact fractions.

:func:`lexicographic_run` takes machines of any shapes. Each round of a period is one linear program that raises the
smallest value (first of min(beta, 1), then of G) among the users not yet fixed. Its dual prices say who is stuck, and
on what: by complementary slackness a user whose price is positive stands at the smallest value in every optimum.

:func:`exact_run` is the same for one pool in fractions, queues included, worked out from what everyone would use at a
trial level, not from event to event.

:func:`exact_whole_run` is Algorithm 1 in whole tasks, in fractions: every user and every machine looked at anew before
every task.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from book.common.oracle_drf import solved
from fairbook.errors import FairbookError
from fairbook.model.exact import as_fractions
from fairbook.model.inputs import FloatArray, as_weights, demand_matrix, phased_demands

ZERO = Fraction(0)

# --------------------------------------------------------------------------------------------- linear programs


@dataclass(frozen=True)
class Round:
    """One linear program of a period, and why its value cannot be higher.

    Attributes
    ----------
    kind : {"coefficient", "share"}
        Whether min(beta, 1) or G was raised.
    value : float
        The smallest value of the users not fixed before.
    fixed : tuple of int
        Users found stuck at it.
    user_prices : ndarray, shape (n,)
        Not negative, sum 1: how much each user's row holds the value down.
    prices : ndarray, shape (K, m)
        Not negative, per part of the pool's total: which resource of which machine does.
    bound : float
        The dual objective: an upper bound on the value that follows from the prices alone.
    """

    kind: str
    value: float
    fixed: tuple[int, ...]
    user_prices: FloatArray
    prices: FloatArray
    bound: float


class LpRun(NamedTuple):
    """What happened over T periods.

    Attributes
    ----------
    tasks, sharing_coefficients, cumulative_shares : ndarray, shape (T, n)
    alone : ndarray, shape (T, n, m)
    on_machines : ndarray, shape (T, n, K)
        Tasks on each machine.
    rounds : list of T lists of Round
    """

    tasks: FloatArray
    sharing_coefficients: FloatArray
    cumulative_shares: FloatArray
    alone: FloatArray
    on_machines: FloatArray
    rounds: list[list[Round]]


class _Programs:
    """The programs of one period. Variables: y_ik >= 0, what user i runs on machine k in dominant share of the pool."""

    def __init__(self, need: FloatArray, most: FloatArray, room: FloatArray, able: NDArray[np.bool_]) -> None:
        self.need, self.most, self.room, self.able = need, most, room, able
        self.n, self.m = need.shape
        self.K = len(room)
        self.rounds: list[Round] = []

    def use_rows(self) -> FloatArray:
        return np.einsum("kl,ij->kjil", np.eye(self.K), self.need).reshape(self.K * self.m, -1)

    def leximin(self, kind: str, rates: FloatArray, starts: FloatArray, cap: float, floors: FloatArray) -> FloatArray:
        """Maximise the sorted values v_i = min over r of starts[i, r] + rates[i, r] * y_i, none counted beyond ``cap``.

        ``floors`` (n,) are values of y_i to keep. Give y_i per machine, (n, K).
        """
        n, K = self.n, self.K
        base = np.hstack([self.use_rows(), np.zeros((self.K * self.m, 1))])
        each = np.kron(np.eye(n), np.ones(K))
        per_user = np.hstack([each, np.zeros((n, 1))])
        fixed = np.full(n, np.nan)
        shift = min(starts.min(), 0.0) if kind == "coefficient" else starts.min()
        lower = floors.copy()
        while True:
            free = np.flatnonzero(np.isnan(fixed))
            if not len(free):
                break
            pairs = [(i, r) for i in free for r in range(starts.shape[1]) if np.isfinite(starts[i, r])]
            above = np.zeros((len(pairs), n * K + 1))
            for p, (i, r) in enumerate(pairs):
                above[p, i * K : (i + 1) * K] = -rates[i, r]
                above[p, -1] = 1.0
            right_above = np.array([starts[i, r] - shift for i, r in pairs])
            low, high = lower, np.maximum(self.most, lower)
            rows = np.vstack([base, above, per_user, -per_user])
            right = np.concatenate([self.room.ravel(), right_above, high, -low])
            bounds = np.array(
                [[0.0, np.inf if self.able[i, k] else 0.0] for i in range(n) for k in range(K)]
                + [[0.0, cap - shift if np.isfinite(cap) else np.inf]]
            )
            cost = np.zeros(n * K + 1)
            cost[-1] = -1.0
            result = solved("a program of TV-DRF", cost, rows, right, bounds)
            value = float(result.x[-1])
            price = -result.ineqlin.marginals
            a, b = self.K * self.m, self.K * self.m + len(pairs)
            user_prices = np.zeros(n)
            for (i, _), weight in zip(pairs, price[a:b], strict=True):
                user_prices[i] += weight
            dual = float(price @ right)
            if np.isfinite(cap):
                dual += (cap - shift) * max(0.0, 1.0 - float(price[a:b].sum()))
            stuck = free if value >= cap - shift - 1e-9 else free[user_prices[free] > 1e-7]
            if not len(stuck):
                raise FairbookError("a program of TV-DRF fixed nobody: tolerances too tight for this input")
            self.rounds.append(
                Round(
                    kind,
                    value + shift,
                    tuple(stuck.tolist()),
                    user_prices,
                    price[:a].reshape(self.K, self.m),
                    dual + shift,
                )
            )
            for i in free:  # the least that gives this value (nobody falls below it again)
                with np.errstate(divide="ignore", invalid="ignore"):
                    wanted = np.where(
                        np.isfinite(starts[i]) & (value + shift > starts[i]),
                        (value + shift - starts[i]) / rates[i],
                        0.0,
                    ).max()
                lower[i] = min(max(lower[i], wanted * (1 - 1e-9) - 1e-10), self.most[i])
            fixed[stuck] = value
        result = solved(
            "a program of TV-DRF",
            np.zeros(n * K),
            np.vstack([self.use_rows(), -each, each]),
            np.concatenate([self.room.ravel(), -lower * (1 - 1e-9), lower]),
            bounds[:-1],
        )
        self.placed = result.x.reshape(n, K)
        return lower


def _own(demands: FloatArray, bounds: FloatArray, machines: FloatArray, parts: FloatArray, alone: str) -> FloatArray:
    """What each would have in use without sharing, (n, m), one period."""
    if alone == "resources":
        with np.errstate(invalid="ignore"):
            return np.minimum(np.where(demands > 0, demands * bounds[:, None], 0.0), parts @ machines)
    own = np.zeros_like(demands)
    for i, row in enumerate(demands):
        if bounds[i] > 0:
            needs = row > 0
            runs = sum(float((parts[i, k] * machines[k][needs] / row[needs]).min()) for k in range(len(machines)))
            own[i] = row * min(bounds[i], runs)
    return own


def lexicographic_run(
    demands: Any, tasks: Any, machines: Any, contributions: Any, alone: str = "bundles", weights: Any = None
) -> LpRun:
    """Run the lexicographic mechanism (9), fluid, on machines of any shapes; unserved tasks expire.

    Parameters
    ----------
    demands, tasks, machines, contributions, alone, weights
        As for ``fairbook.mechanisms.tv_drf.tv_drf``; contributions of shape (n, K), ``alone`` "bundles" or "resources".

    Returns
    -------
    LpRun

    Raises
    ------
    InvalidInput, FairbookError
        The latter where HiGHS does not solve a program.

    Notes
    -----
    Variables are dominant shares of the pool, capacities parts of its totals. Cost: at most 2 n programs of n K + 1
    variables and K m + n (m + 2) rows a period; for n and K up to about 20. Accurate to about 1e-7.

    Examples
    --------
    >>> run = lexicographic_run([[[2, 1], [1, 1]], [[5, 5], [20, 10]]], [[15, 70], [12, 4]], [[50, 50], [50, 50]],
    ...                         [[1, 0], [0, 1]], alone="resources")
    >>> run.tasks.round(6)
    array([[15., 70.],
           [12.,  2.]])
    """
    values = phased_demands(demands).values
    T, n, m = values.shape
    pool = demand_matrix(machines, "machines").values
    parts = demand_matrix(contributions, "contributions").values
    counts = demand_matrix(tasks, "tasks").values
    total = pool.sum(axis=0)
    weight = (parts @ pool / total).mean(axis=1) if weights is None else as_weights(weights, n)
    run = LpRun(
        np.zeros((T, n)), np.zeros((T, n)), np.zeros((T, n)), np.zeros_like(values), np.zeros((T, n, len(pool))), []
    )
    used, owned, level = np.zeros((n, m)), np.zeros((n, m)), np.zeros(n)
    for t in range(T):
        share = values[t] / total
        dominant = share.max(axis=1)
        some = dominant > 0
        need = share / np.where(some, dominant, 1.0)[:, None]
        most = np.minimum(np.where(some, counts[t], 0.0) * np.where(some, dominant, 1.0), 2.0)
        run.alone[t] = _own(values[t], np.where(some, counts[t], 0.0), pool, parts, alone)
        owned += run.alone[t] / total
        able = np.array([[bool((machine[row > 0] > 0).all()) for machine in pool] for row in values[t]])
        programs = _Programs(need, most, pool / total, able)
        with np.errstate(divide="ignore", invalid="ignore"):
            starts = np.where(owned > 0, used / owned, np.inf)
            rates = np.where(owned > 0, need / owned, 0.0)
        starts[~np.isfinite(starts).any(axis=1)] = 1.0  # nothing owned: nothing to make good
        floors = programs.leximin("coefficient", rates, starts, 1.0, np.zeros(n))
        y = programs.leximin("share", 1.0 / weight[:, None], level[:, None].copy(), np.inf, floors)
        run.tasks[t] = y / np.where(some, dominant, 1.0)
        run.on_machines[t] = programs.placed / np.where(some, dominant, 1.0)[:, None]
        used += y[:, None] * need
        level += y / weight
        with np.errstate(divide="ignore", invalid="ignore"):
            beta = np.where(owned > 0, used / owned, np.inf).min(axis=1)
        run.sharing_coefficients[t] = np.where(np.isinf(beta) & ~(used > 0).any(axis=1), 1.0, beta)
        run.cumulative_shares[t] = level
        run.rounds.append(programs.rounds)
    return run


# -------------------------------------------------------------------------------------------- exact fractions


class ExactTvRun(NamedTuple):
    """What happened over T periods, in fractions; names as in the float result.

    Attributes
    ----------
    tasks, sharing_coefficients, cumulative_shares : list of T lists of n
        A coefficient is None where it is infinite.
    amounts, alone : list of T lists of n lists of m
    below_one : list of T bools
        Whether beta >= 1 was out of reach for some user; in whole tasks, whether some beta is below 1 in the end.
    placement : list of T lists of n lists of K
        Tasks on each machine; empty for the fluid mechanism.
    order : list of T lists
        Users in the order in which they were given tasks; empty for the fluid mechanism.
    """

    tasks: list[list[Fraction]]
    sharing_coefficients: list[list[Fraction | None]]
    cumulative_shares: list[list[Fraction]]
    amounts: list[list[list[Fraction]]]
    alone: list[list[list[Fraction]]]
    below_one: list[bool]
    placement: list[list[list[int]]]
    order: list[list[int]]


Queue = list[tuple[list[Fraction], Fraction]]  # (demand vector in parts of the pool, tasks)


def _add(a: Sequence[Fraction], b: Sequence[Fraction], times: Fraction = Fraction(1)) -> list[Fraction]:
    return [x + times * y for x, y in zip(a, b, strict=True)]


def _least_ratio(used: Sequence[Fraction], owned: Sequence[Fraction]) -> Fraction | None:
    """Sharing coefficient; None where it is infinite."""
    ratios = [u / o for u, o in zip(used, owned, strict=True) if o > 0]
    return min(ratios) if ratios else None if any(used) else Fraction(1)


def _cut(queue: Queue, some: Fraction) -> tuple[list[Fraction], Fraction, Queue]:
    """Run so many tasks of a queue: what they use, their dominant shares added up, what is left."""
    use, share = [ZERO] * (len(queue[0][0]) if queue else 0), ZERO
    for place, (row, count) in enumerate(queue):
        now = min(some, count)
        use, share, some = _add(use, row, now), share + now * max(row), some - now
        if now < count:
            return use, share, [(row, count - now), *queue[place + 1 :]]
    return use, share, []


def _tasks_for_share(queue: Queue, share: Fraction) -> Fraction:
    """Tasks of a queue that add up to a dominant share (or all of them)."""
    left, done = max(share, ZERO), ZERO
    for row, count in queue:
        some = min(count, left / max(row))
        left, done = left - some * max(row), done + some
        if some < count:
            break
    return done


def _tasks_for_coefficient(
    queue: Queue, used: list[Fraction], owned: list[Fraction], value: Fraction
) -> Fraction | None:
    """Give the least number of tasks that brings beta to a value, None where all of them do not."""
    lack = [value * o - u for u, o in zip(used, owned, strict=True)]
    done = ZERO
    for row, count in queue:
        if max(lack) <= 0:
            return done
        full = all(x <= count * r for x, r in zip(lack, row, strict=True) if x > 0)
        some = max((x / r for x, r in zip(lack, row, strict=True) if x > 0), default=ZERO) if full else count
        lack, done = _add(lack, row, -some), done + some
        if full:
            return done
    return done if max(lack) <= 0 else None


def _leximin(
    queues: list[Queue],
    tasks_at: Callable[[int, Fraction], Fraction],
    corners: Callable[[int], list[Fraction]],
    top: Fraction | None,
) -> list[Fraction]:
    """Raise a common value for all; whoever needs next what is used up stays. Give the tasks of each user.

    ``tasks_at(i, value)`` is the least that gives user i the value: linear between ``corners(i)``, not falling. It may
    jump behind a corner, over tasks that do not raise the value. Who stands before a jump with others crosses if it
    leaves room for all who rise from there: who need not jump first, then by index.
    """
    n = len(queues)
    m = max((len(queue[0][0]) for queue in queues if queue), default=0)
    fixed: dict[int, Fraction] = {i: ZERO for i in range(n) if not queues[i]}

    def use(tasks: dict[int, Fraction]) -> list[Fraction]:
        found = [ZERO] * m
        for i, x in (fixed | tasks).items():
            found = _add(found, _cut(queues[i], x)[0]) if queues[i] else found
        return found

    def behind(i: int, low: Fraction, high: Fraction) -> Fraction:
        """Tasks of user i just above ``low``: two points between two corners tell."""
        return 2 * tasks_at(i, (low + high) / 2) - tasks_at(i, high)

    level = min((corners(i)[0] for i in range(n) if i not in fixed), default=ZERO)
    while len(fixed) < n:
        free = [i for i in range(n) if i not in fixed]
        marks = sorted(
            {level} | {c for i in free for c in corners(i) if c > level and (top is None or c <= top)}
            | ({top} if top is not None else set())
        )  # fmt: skip
        for low, high in pairwise(marks):
            below = use({i: behind(i, low, high) for i in free})
            above = use({i: tasks_at(i, high) for i in free})
            ends = [(1 - a) / (b - a) for a, b in zip(below, above, strict=True) if b > 1 and b > a]
            part = min([*ends, Fraction(1)]) if max(below) <= 1 else ZERO
            level = low + (high - low) * max(part, ZERO)
            if level < high:
                break
        held = {i: tasks_at(i, level) for i in free}
        after = min((mark for mark in marks if mark > level), default=None)
        if after is None:
            fixed |= held
            break
        then = {i: behind(i, level, after) for i in free}
        going: list[int] = []
        for i in sorted(free, key=lambda i: then[i] > held[i]):
            rises = [*going, i]
            now = use(held | {h: then[h] for h in rises})
            rows = [_cut(queues[h], then[h])[2][0][0] for h in rises if tasks_at(h, after) > then[h]]
            if tasks_at(i, after) > held[i] and max(now) <= 1 and not any(
                u == 1 and row[j] > 0 for row in rows for j, u in enumerate(now)
            ):  # fmt: skip
                going.append(i)
        fixed |= {
            i: held[i] for i in free if i not in going and (tasks_at(i, after) > held[i] or max(corners(i)) <= level)
        }
    return [fixed[i] for i in range(n)]


def _floors(
    queues: list[Queue], used: list[list[Fraction]], owned: list[list[Fraction]]
) -> tuple[list[Fraction], bool]:
    """Tasks that everyone is sure of because of beta >= 1, and whether that is out of reach."""
    n = len(queues)
    wanted = [_tasks_for_coefficient(queues[i], used[i], owned[i], Fraction(1)) for i in range(n)]
    if None not in wanted:
        needed = [x for x in wanted if x is not None]
        use = [_cut(queue, x)[0] for queue, x in zip(queues, needed, strict=True) if queue]
        if not use or max(sum(column, ZERO) for column in zip(*use, strict=True)) <= 1:
            return needed, False
    # out of reach: make min(beta, 1) lexicographically max-min
    corner: list[list[Fraction]] = []
    for i in range(n):
        marks, (u, rest) = [], (used[i], queues[i])
        o = owned[i]
        while rest:
            ratios = [(a / b, r / b) for a, b, r in zip(u, o, rest[0][0], strict=True) if b > 0]
            if not ratios or min(ratios)[0] >= 1:
                break
            low, rate = min(ratios)  # among equal ratios the slowest
            marks.append(low)
            steps = [(v - low) / (rate - g) for v, g in ratios if g < rate and v > low]
            width = min([rest[0][1], *steps, *([(1 - low) / rate] if rate else [])])
            u, rest = _add(u, rest[0][0], width), _cut(rest, width)[2]
            marks.append(low + rate * width)
        corner.append(marks or [Fraction(1)])

    def tasks_at(i: int, value: Fraction) -> Fraction:
        x = _tasks_for_coefficient(queues[i], used[i], owned[i], min(value, max(corner[i])))
        if x is None:
            raise FairbookError("a coefficient that was reached is out of reach: a defect of fairbook")
        return x

    return _leximin(queues, tasks_at, lambda i: [*corner[i], Fraction(1)], Fraction(1)), True


def _period(
    queues: list[Queue],
    used: list[list[Fraction]],
    owned: list[list[Fraction]],
    level: list[Fraction],
    weights: list[Fraction],
) -> tuple[list[Fraction], bool]:
    floors, below = _floors(queues, used, owned)

    def tasks_at(i: int, value: Fraction) -> Fraction:
        return max(floors[i], _tasks_for_share(queues[i], (value - level[i]) * weights[i]))

    def corners(i: int) -> list[Fraction]:
        marks = [level[i]]
        for row, count in queues[i]:
            marks.append(marks[-1] + count * max(row) / weights[i])
        return [*marks, level[i] + _cut(queues[i], floors[i])[1] / weights[i]]

    return _leximin(queues, tasks_at, corners, None), below


def _alone_on_machines(groups: Queue, room: list[list[Fraction]], whole: bool) -> tuple[list[Fraction], Queue]:
    """Run a queue on own parts of machines: what it uses, and what is left of it."""
    use = [ZERO] * len(room[0])
    while groups:
        task, count = groups[0]
        fit = [min(c / d for c, d in zip(part, task, strict=True) if d > 0) for part in room]
        some = min(sum(fit, ZERO), count)
        if whole:
            some = Fraction(some.numerator // some.denominator)
        if some > 0:
            use = _add(use, task, some)
            room = [_add(part, task, -some * one / sum(fit, ZERO)) for part, one in zip(room, fit, strict=True)]
        if some < count:
            return use, [(task, count - some), *groups[1:]]
        groups = groups[1:]
    return use, []


class _AtHome:
    """One user without sharing: its parts of machines, its queue, and what it asked for of each resource and lacked."""

    def __init__(self, rooms: list[list[Fraction]], alone: str, unserved: str) -> None:
        self.rooms, self.alone, self.waits = rooms, alone, unserved == "waits"
        self.brought = [sum(column, ZERO) for column in zip(*rooms, strict=True)]
        self.queue: Queue = []
        self.lacking = [ZERO] * len(self.brought)

    def uses(self, row: list[Fraction], count: Fraction) -> list[Fraction]:
        """Give what it uses in a period in which it submits so many tasks."""
        if self.alone == "resources":
            asked = _add(self.lacking, row, count)
            own = [min(a, b) for a, b in zip(asked, self.brought, strict=True)]
            self.lacking = _add(asked, own, Fraction(-1)) if self.waits else self.lacking
            return own
        self.queue = (self.queue if self.waits else []) + _submitted(row, count)
        own, self.queue = _alone_on_machines(self.queue, self.rooms, self.alone == "whole_bundles")
        return own


def _submitted(row: list[Fraction], count: Fraction) -> Queue:
    return [(row, count)] if any(row) and count > 0 else []


def exact_run(
    demands: Sequence[Any],
    tasks: Sequence[Any],
    capacities: Sequence[Any],
    parts: Sequence[Any],
    alone: str = "bundles",
    unserved: str = "expires",
    weights: Sequence[Any] | None = None,
) -> ExactTvRun:
    """Run the lexicographic mechanism in one pool in exact fractions.

    Parameters
    ----------
    demands : nested sequences, shape (T, n, m)
        A row of zeros: no tasks.
    tasks : nested sequences, shape (T, n)
        Finite.
    capacities : sequence, shape (m,)
        Of the pool.
    parts : sequence, shape (n,)
        The part of the pool (of each resource) that each user brought; sums to 1. Weights unless given.
    alone, unserved
        As for ``fairbook.mechanisms.tv_drf.tv_drf``, "whole_bundles" excepted.

    Raises
    ------
    InvalidInput

    Notes
    -----
    Cost O(T n^3 m q) operations on fractions, q the length of a queue: for small instances.

    Examples
    --------
    >>> run = exact_run([[[2, 1], [1, 1]], [[5, 5], [20, 10]]], [[15, 70], [12, 4]], [100, 100], ["1/2", "1/2"],
    ...                 alone="resources")
    >>> [str(beta) for beta in run.sharing_coefficients[1]]
    ['9/8', '1']
    """
    rows, counts = as_fractions(demands, "demands"), as_fractions(tasks, "tasks")
    size, part = as_fractions(capacities, "capacities"), as_fractions(parts, "parts")
    T, n, m = len(rows), len(part), len(size)
    weight = part if weights is None else as_fractions(weights, "weights")
    weight = [w / sum(weight, ZERO) for w in weight]
    used, owned, level = [[ZERO] * m for _ in range(n)], [[ZERO] * m for _ in range(n)], [ZERO] * n
    queues: list[Queue] = [[] for _ in range(n)]
    home = [_AtHome([[part[i]] * m], alone, unserved) for i in range(n)]
    periods = []
    for t in range(T):
        own = []
        for i in range(n):
            row = [d / c for d, c in zip(rows[t][i], size, strict=True)]
            queues[i] = (queues[i] if unserved == "waits" else []) + _submitted(row, counts[t][i])
            own.append(home[i].uses(row, counts[t][i]))
            owned[i] = _add(owned[i], own[i])
        found, below = _period(queues, used, owned, level, weight)
        amounts, beta = [], []
        for i in range(n):
            use, share, queues[i] = _cut(queues[i], found[i])
            use = use or [ZERO] * m
            used[i], level[i] = _add(used[i], use), level[i] + share / weight[i]
            amounts.append([u * c for u, c in zip(use, size, strict=True)])
            beta.append(_least_ratio(used[i], owned[i]))
        own = [[o * c for o, c in zip(row, size, strict=True)] for row in own]
        periods.append((found, beta, list(level), amounts, own, below))
    return ExactTvRun._make([*map(list, zip(*periods, strict=True)), [], []])


def exact_whole_run(
    demands: Sequence[Any],
    tasks: Sequence[Any],
    machines: Sequence[Any],
    contributions: Sequence[Any],
    alone: str = "bundles",
    unserved: str = "expires",
    from_zero: bool = False,
) -> ExactTvRun:
    """Run Algorithm 1 in whole tasks in exact fractions.

    Parameters
    ----------
    demands : nested sequences, shape (T, n, m)
        A row of zeros: no tasks.
    tasks : nested sequences, shape (T, n)
        Whole.
    machines : nested sequences, shape (K, m)
        Positive.
    contributions : nested sequences, shape (n, K)
        Each column sums to 1.
    alone, unserved
        As for ``fairbook.mechanisms.tv_drf.tv_drf``.
    from_zero : bool
        Whether beta is 0, as Algorithm 1 sets it at first, and not 1 where a user owns nothing and has used nothing.

    Raises
    ------
    InvalidInput

    Notes
    -----
    Cost O((n + K) m) operations on fractions per task handed out.

    Examples
    --------
    >>> exact_whole_run([[[2], [2]]], [[1, 1]], [[3]], [["1/2"], ["1/2"]]).placement
    [[[1], [0]]]
    """
    rows, counts = as_fractions(demands, "demands"), as_fractions(tasks, "tasks")
    size, parts = as_fractions(machines, "machines"), as_fractions(contributions, "contributions")
    n, m, K = len(parts), len(size[0]), len(size)
    total = [sum((c[j] for c in size), ZERO) for j in range(m)]
    home = [_AtHome([[p[k] * c for c in size[k]] for k in range(K)], alone, unserved) for p in parts]
    weight = [sum((b / c for b, c in zip(one.brought, total, strict=True)), ZERO) / m for one in home]
    used, owned, level = [[ZERO] * m for _ in range(n)], [[ZERO] * m for _ in range(n)], [ZERO] * n
    queues: list[Queue] = [[] for _ in range(n)]
    periods = []
    for period, submitted in zip(rows, counts, strict=True):
        own = []
        for i in range(n):
            queues[i] = (queues[i] if unserved == "waits" else []) + _submitted(period[i], submitted[i])
            own.append(home[i].uses(period[i], submitted[i]))
            owned[i] = _add(owned[i], own[i])
        left = [list(machine) for machine in size]
        ran, amounts = [0] * n, [[ZERO] * m for _ in range(n)]
        placed = [[0] * K for _ in range(n)]
        turns: list[int] = []
        stuck: set[int] = set()
        while active := [i for i in range(n) if queues[i] and i not in stuck]:
            beta = {i: ZERO if from_zero and not any(used[i]) else _least_ratio(used[i], owned[i]) for i in active}
            behind = [i for i in active if beta[i] is not None and beta[i] < 1]  # type: ignore[operator]
            i = min(behind, key=lambda h: (beta[h], h)) if behind else min(active, key=lambda h: (level[h], h))
            task, count = queues[i][0]
            lead = next(j for j in range(m) if task[j] > 0)
            fits = [
                (
                    sum(
                        (
                            abs(task[j] / task[lead] - machine[j] / machine[lead]) * total[lead] / total[j]
                            for j in range(m)
                        ),
                        ZERO,
                    ),
                    k,
                )
                for k, machine in enumerate(left)
                if all(a <= b for a, b in zip(task, machine, strict=True))
            ]
            if not fits:
                stuck.add(i)
                continue
            k = min(fits)[1]
            left[k] = _add(left[k], task, Fraction(-1))
            used[i], amounts[i] = _add(used[i], task), _add(amounts[i], task)
            level[i] += max(a / c for a, c in zip(task, total, strict=True)) / weight[i]
            ran[i], placed[i][k] = ran[i] + 1, placed[i][k] + 1
            turns.append(i)
            queues[i] = [(task, count - 1), *queues[i][1:]] if count > 1 else queues[i][1:]
        ratios = [_least_ratio(u, o) for u, o in zip(used, owned, strict=True)]
        below = any(ratio is not None and ratio < 1 for ratio in ratios)
        periods.append(([Fraction(x) for x in ran], ratios, list(level), amounts, own, below, placed, turns))
    return ExactTvRun._make(map(list, zip(*periods, strict=True)))
