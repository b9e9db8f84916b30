"""Karma (Vuppalapati et al., OSDI 2023), as published for one resource and generalised to dominant shares.

Credits carry fairness over time: who takes less than its guaranteed share earns them, who takes more pays them, and
the richest borrows first. :func:`karma_phase` is one phase of the generalisation, with the credits given: divisible
tasks, several resources. :func:`karma` runs phases and keeps the credits; :class:`Karma` takes one phase at a time and
can be saved.

The generalisation counts dominant shares: one credit buys a dominant share of 1. Of n users each is guaranteed
g = alpha / n and gets (1 - alpha) / n credits before each phase. What a user claims, b, is its bound on tasks in
dominant share. It holds min(g, b) for nothing; if b < g it *donates* g - b, if b > g and it has credit it *borrows*.
Borrowing lets the paper's slices shrink to nothing: a level lambda falls from the largest credit to 0, and who has more
credit c than lambda has borrowed c - lambda, until its bound, the end of its credit (lambda = 0) or a resource that it
needs and that is used up stops it; the others go on. Donors earn one credit for each unit of dominant share borrowed,
up to what they donate, the poorest first: a level rises from the least credit among them. Dominant shares of different
resources do not add up, so more may be borrowed than is donated and shared; then every donor earns in full.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.kernels import kernel
from fairbook.mechanisms.pools import CreditPool
from fairbook.mechanisms.saved import names_for_json
from fairbook.model.allocation import Allocation
from fairbook.model.inputs import (
    LARGEST,
    FloatArray,
    Names,
    as_capacities,
    as_max_tasks,
    as_number,
    as_tolerance,
    check_amounts,
    check_apart,
    check_bounds,
    demand_matrix,
    number_of_dimensions,
    order_of,
    per_user,
    phased_demands,
    raise_at_first,
)
from fairbook.model.instance import takes_instance
from fairbook.model.phased import PhasedRun

__all__ = ["Karma", "KarmaRun", "karma", "karma_phase"]

_UNSET = -2  # marks a user whom nothing has stopped yet
_OWN = -1  # marks a user whom its own bound or the end of its credit stops

# -------------------------------------------------------------------------------------------------- the engine


@kernel()
def _fill_late(
    need: Any, begin: Any, room: Any, rising: Any, ending: Any, slack: Any, tree: Any, gained: Any, stops: Any
) -> None:
    """Progressive filling in which each user sets out at a moment of its own, exactly and from event to event.

    From the moment ``begin[i]`` on user i gains 1 per unit of time, and with it takes ``need[i, j]`` of resource j,
    until it has gained ``room[i]`` or a resource that it needs is used up. ``rising`` and ``ending`` list those with
    room, sorted by the moment at which they set out and by that at which they would be done. Where nobody rises, time
    runs on. ``gained``, ``stops`` (all _UNSET before) and ``slack`` receive the result.

    ``tree`` (zeros, shape (2 n, m)) adds up the needs of those who rise in pairs, pairs of pairs and so on, user i at
    n + i and the sum at 1: a user who stops is not subtracted but left out, and no rounding error stays behind.
    Written with + - * / and comparisons only, so that it also runs on fractions. Cost O(n m (log n + m)).
    """
    n, m = need.shape
    clock = begin[rising[0]]
    up = 0
    down = 0
    while down < len(ending):
        i = ending[down]
        if stops[i] != _UNSET:
            down += 1
            continue
        target = begin[i] + room[i]
        starts = up < len(rising) and begin[rising[up]] <= target
        if starts:
            i = rising[up]
            if stops[i] != _UNSET:
                up += 1
                continue
            target = begin[i]
        step = target - clock
        short = False
        for j in range(m):
            if tree[1, j] * step > slack[j]:
                short = True
        if not short:  # nothing runs out before this user sets out or is done
            for j in range(m):
                slack[j] -= tree[1, j] * step
            clock = target
            place = n + i
            for j in range(m):
                tree[place, j] = need[i, j] if starts else need[i, j] * 0
            while place > 1:
                place //= 2
                for j in range(m):
                    tree[place, j] = tree[2 * place, j] + tree[2 * place + 1, j]
            if starts:
                up += 1
            else:
                down += 1
                gained[i] = room[i]
                stops[i] = _OWN
            continue
        step = np.inf
        for j in range(m):
            if tree[1, j] > 0:
                left = slack[j] / tree[1, j]
                if left < step:
                    step = left
        clock += step
        for j in range(m):
            if tree[1, j] > 0:
                # the resource that sets the step is empty by definition, not up to rounding
                left = slack[j] - tree[1, j] * step
                slack[j] = left if slack[j] / tree[1, j] > step and left > 0 else slack[j] * 0
        for place in range(down, len(ending)):  # who needs an empty resource stops, or does not even set out
            i = ending[place]
            if stops[i] == _UNSET:
                for j in range(m):
                    if need[i, j] > 0 and slack[j] == 0:
                        stops[i] = j
                        if clock > begin[i]:
                            gained[i] = min(clock - begin[i], room[i])
                        for k in range(m):
                            tree[n + i, k] = need[i, k] * 0
                        break
        for place in range(n - 1, 0, -1):
            for j in range(m):
                tree[place, j] = tree[2 * place, j] + tree[2 * place + 1, j]


def _moments(heights: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Say when a level that falls from the top reaches each height, and in which order; long waits are cut short.

    Nobody rises for longer than 1, as a dominant share is at most 1. So where no height lies within 2 below
    another, all is over before the level gets to the next, and the wait may be any length of at least 2. Cutting it to
    2 keeps the digits: credits may be 10^9 apart, shares are not. Within a group heights are subtracted directly.
    """
    order = np.argsort(-heights, kind="stable")
    falling = heights[order]
    if falling[0] - falling[-1] <= 2:
        return falling[0] - heights, order
    far = falling[:-1] - falling[1:] > 2
    group = np.concatenate(([0], np.cumsum(far)))
    first = np.concatenate(([0], np.flatnonzero(far) + 1))
    last = np.append(first[1:], len(falling)) - 1
    waits = np.cumsum(falling[first] - falling[last] + 2)
    offset = np.concatenate((waits[:1] * 0, waits[:-1]))
    begin = np.empty_like(heights)
    begin[order] = falling[first][group] - falling + offset[group]
    return begin, order


def _fill_from_top(
    need: NDArray[Any], heights: NDArray[Any], room: NDArray[Any], slack: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Let a level fall from the largest height; give what each gains (below its height) and what stops it.

    Works on floats and, slowly, on fractions (arrays of objects). ``slack`` is overwritten.
    """
    gained = room * 0
    stops = np.full(len(room), _OWN, dtype=np.int64)
    some = np.flatnonzero(room > 0)
    if not len(some):
        return gained, stops
    fill = _fill_late if need.dtype != object else _fill_late.py_func
    begin, rising = _moments(heights[some])
    width = room[some]
    part, ends = gained[some], np.full(len(some), _UNSET, dtype=np.int64)
    tree = np.zeros((2 * len(some), need.shape[1]), dtype=need.dtype)
    fill(need[some], begin, width, rising, np.argsort(begin + width, kind="stable"), slack, tree, part, ends)
    gained[some], stops[some] = part, ends
    return gained, stops


class _Settled(NamedTuple):
    """What one phase comes to, in dominant shares; each of shape (n,)."""

    guaranteed: NDArray[Any]
    borrowed: NDArray[Any]
    donated: NDArray[Any]
    earned: NDArray[Any]
    stops: NDArray[np.int64]


def _settle(need: NDArray[Any], claimed: NDArray[Any], credit: NDArray[Any], alpha: Any) -> _Settled:
    """Run one phase on normalised demands (n, m), claims in dominant share, credits; cost O(n m (log n + m))."""
    n = len(need)
    entitled = alpha / n
    guaranteed = np.minimum(claimed, entitled)
    # what is left of a resource, added up from parts that are not negative: 1 minus the use would keep rounding errors
    kept = alpha - np.minimum(claimed * n, alpha)[:, None] * need
    slack = (kept + (1 - alpha)).sum(axis=0) / n
    over = claimed > entitled
    borrowed, stops = _fill_from_top(
        need, credit, np.where(over, np.minimum(claimed - guaranteed, credit), 0 * credit), slack
    )
    donated = entitled - guaranteed
    supply, sold = donated.sum(), borrowed.sum()
    if sold >= supply:
        earned = donated
    else:
        earned, _ = _fill_from_top(np.ones_like(donated)[:, None], -credit, donated, np.array([sold]))
    return _Settled(guaranteed, borrowed, donated, earned, stops)


def _normalised(demands: FloatArray, capacities: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Give demands per unit of dominant share, and the dominant share of one task (1 for who demands nothing)."""
    share = demands / capacities
    largest = share.max(axis=-1)
    largest = np.where(largest > 0, largest, 1.0)
    return share / largest[..., None], largest


def _affordable(max_tasks: FloatArray, largest: FloatArray, credit: FloatArray, alpha: float) -> FloatArray:
    """Bounds on tasks: what the user claims, and what its guaranteed share and its credit pay for."""
    paid: FloatArray = (alpha / credit.shape[-1] + credit) / largest
    return np.minimum(max_tasks, paid)


def _tasks(settled: _Settled, bounds: FloatArray, largest: FloatArray) -> FloatArray:
    tasks = np.minimum((settled.guaranteed + settled.borrowed) / largest, bounds)
    return np.where(settled.stops == _OWN, bounds, tasks)


# --------------------------------------------------------------------------------------------- the input, and one phase


def as_credit(credit: Any, n: int, users: Names | None, argument: str) -> FloatArray:
    """Check credits, one for everybody or one a user."""
    if number_of_dimensions(credit) == 0:
        return np.full(n, as_number(credit, argument, 0.0, LARGEST))
    values = per_user(credit, n, users, argument)
    raise_at_first(~((values >= 0) & (values <= LARGEST)), argument, f"must be between 0 and {LARGEST:g}", values)
    return values


def _as_bounds(max_tasks: Any, demands: FloatArray, users: Names | None) -> FloatArray:
    """Check bounds and give them as (T, n); who demands nothing is bounded at 0."""
    count, n, _ = demands.shape
    if max_tasks is not None and number_of_dimensions(max_tasks) == 2:
        named = demand_matrix(max_tasks, "max_tasks")
        if named.values.shape != (count, n):
            raise InvalidInput(
                "max_tasks", f"must have shape ({count} phases, {n} users) or ({n},)", named.values.shape
            )
        columns = order_of(named.resources, users, "max_tasks.columns", "users")
        bounds = named.values if columns is None else named.values[:, columns]
        check_bounds(bounds)
    else:
        bounds = np.broadcast_to(as_max_tasks(max_tasks, n, users), (count, n))
    return np.where((demands > 0).any(axis=2), bounds, 0.0)


def karma_phase(
    demands: Any, credit: Any, *, capacities: Any = None, max_tasks: Any = None, alpha: float = 0.5
) -> Allocation:
    """Allocate one phase by Karma in dominant shares, the credits given (after Vuppalapati et al. 2023).

    Parameters
    ----------
    demands : array_like or DataFrame, shape (n, m)
        Resource per task, in the unit of ``capacities``. A row of zeros: this user needs nothing in this phase.
    credit : float or array_like or Series, shape (n,)
        What each may spend in this phase, its free credits included; one credit buys a dominant share of 1.
        Between 0 and 1e75.
    capacities : array_like or Series, shape (m,), optional
        Positive. Default: ones.
    max_tasks : array_like or Series, shape (n,), optional
        What each claims to be able to run, ``inf`` for no bound, 0 for nothing. Default: no bounds.
    alpha : float, in [0, 1]
        Part of the pool that is guaranteed: alpha / n of dominant share each.

    Returns
    -------
    Allocation
        ``max_tasks`` of it is what was claimed or, if less, what guaranteed share and credit pay for. ``bottlenecks``:
        the resource that stops each user, -1 where this bound does. ``violations()`` checks that nobody with credit
        and unmet need could have more.

    Raises
    ------
    InvalidInput
        Naming argument, rule and value.

    Notes
    -----
    The dominant share of a borrower is alpha / n + max(0, credit - lambda) at the level lambda where it stops. With
    equal credits that nobody exhausts and no bounds this is DRF, whatever alpha. As soon as a resource stops a
    borrower, all that was donated and shared has been borrowed: with d <= 1 the use per unit of dominant share, the
    resource had at least so much left, and it is gone. So donors earn less than they donate only where nothing is
    scarce.
    Ties: a user whose bound and resource end at the same level is stopped by the bound; of two resources that end
    together, the one with the smaller index is named. Cost O(n m (log n + m)).

    References
    ----------
    Vuppalapati, Fikioris, Agarwal, Cidon, Khandelwal, Tardos, "Karma: Resource Allocation for Dynamic Demands", OSDI
    2023, Algorithm 1. Several resources and divisible tasks are ours.

    Examples
    --------
    Each is guaranteed a quarter. The first, richer by 1/4, borrows a quarter before the other borrows anything.

    >>> a = karma_phase([[1, 1/2], [1/2, 1]], credit=[1, 3/4])
    >>> a.dominant_shares.round(6)
    array([0.75, 0.5 ])
    >>> karma_phase([[1, 1/2], [1/2, 1]], credit=[1, 1]).dominant_shares.round(6)
    array([0.666667, 0.666667])
    """
    values, users, resources = demand_matrix(demands)[:3]
    check_amounts(values, "demands")
    n, m = values.shape
    pool = as_capacities(capacities, m, resources)
    spend = as_credit(credit, n, users, "credit")
    bounds = as_max_tasks(max_tasks, n, users)
    return _phase(values, pool, bounds, spend, as_number(alpha, "alpha", 0.0, 1.0), users, resources)[0]


def _phase(
    demands: FloatArray,
    pool: FloatArray,
    max_tasks: FloatArray,
    spend: FloatArray,
    alpha: float,
    users: Names | None,
    resources: Names | None,
) -> tuple[Allocation, _Settled]:
    n = len(demands)
    check_apart(demands / pool)
    need, largest = _normalised(demands, pool)
    max_tasks = np.where((demands > 0).any(axis=1), max_tasks, 0.0)
    settled = _settle(need, max_tasks * largest, spend, alpha)
    bounds = _affordable(max_tasks, largest, spend, alpha)
    return Allocation(
        _tasks(settled, bounds, largest),
        demands,
        np.full(n, 1.0 / n),
        pool,
        bounds,
        settled.stops,
        users,
        resources,
        mechanism="karma",
        rule="full",
    ), settled


# ------------------------------------------------------------------------------------------------- many phases


@dataclass(frozen=True, eq=False, repr=False)
class KarmaRun(PhasedRun):
    """Phases of Karma with the credits between them.

    Attributes
    ----------
    tasks : ndarray, shape (T, n)
    credit : ndarray, shape (T, n)
        At the start of each phase, *before* its free credits; row 0 is the initial credit.
        ``credit[t + 1] = credit[t] + free_credit - borrowed[t] + earned[t]``.
    final_credit : ndarray, shape (n,)
        After the last phase.
    guaranteed, borrowed : ndarray, shape (T, n)
        The two parts of the dominant share: taken for nothing, and paid for at 1 credit a unit.
    donated, earned : ndarray, shape (T, n)
        What each left of its guaranteed dominant share; credits for what was borrowed of that, at most ``donated``.
    bottlenecks : ndarray of int, shape (T, n)
        The resource that stops each user; -1 where its own bound or the end of its credit does.
    demands : ndarray, shape (T, n, m)
        Resource per task, as given.
    max_tasks : ndarray, shape (T, n)
        As claimed; 0 for who demands nothing.
    capacities : ndarray, shape (m,)
    alpha : float
    named_users, named_resources : tuple or None
    """

    tasks: FloatArray
    credit: FloatArray
    final_credit: FloatArray
    guaranteed: FloatArray
    borrowed: FloatArray
    donated: FloatArray
    earned: FloatArray
    bottlenecks: NDArray[np.int64]
    demands: FloatArray
    max_tasks: FloatArray
    capacities: FloatArray
    alpha: float
    named_users: Names | None = None
    named_resources: Names | None = None

    @property
    def free_credit(self) -> float:
        """Credits that each user gets before each phase, (1 - alpha) / n."""
        return (1.0 - self.alpha) / self.tasks.shape[1]

    @property
    def dominant_shares(self) -> FloatArray:
        """Dominant share in each phase, shape (T, n)."""
        return self.guaranteed + self.borrowed

    @property
    def _bounds(self) -> FloatArray:
        _, largest = _normalised(self.demands, self.capacities)
        return _affordable(self.max_tasks, largest, self.credit + self.free_credit, self.alpha)

    def at(self, phase: int) -> Allocation:
        """Give one phase (from 0) as :func:`karma_phase` does, with what credit pays for among the bounds."""
        t, n = self._step(phase), self.tasks.shape[1]
        _, largest = _normalised(self.demands[t], self.capacities)
        bounds = _affordable(self.max_tasks[t], largest, self.credit[t] + self.free_credit, self.alpha)
        return Allocation(
            self.tasks[t],
            self.demands[t],
            np.full(n, 1.0 / n),
            self.capacities,
            bounds,
            self.bottlenecks[t],
            self.named_users,
            self.named_resources,
            mechanism="karma",
            rule="full",
        )

    def explain(self, user: Hashable, phase: int | None = None) -> str:
        """Say in a few sentences why this user has this amount in this phase (from 0; default: the last)."""
        t, i = self._place(user, phase)
        spend, borrowed = self.credit[t] + self.free_credit, self.borrowed[t]
        text = (
            f"{user} runs {self.tasks[t, i]:.6g} tasks in phase {t}, a dominant share of "
            f"{self.dominant_shares[t, i]:.6g}: {self.guaranteed[t, i]:.6g} for nothing and {borrowed[i]:.6g} "
            f"borrowed, with a credit of {spend[i]:.6g}. "
        )
        if self.donated[t, i] > 0:
            return text + (
                f"It claims less than its guarantee, donates {self.donated[t, i]:.6g} of it and earns "
                f"{self.earned[t, i]:.6g}."
            )
        j, richer = int(self.bottlenecks[t, i]), int((spend > spend[i]).sum())
        if j == _OWN:
            spent = self._bounds[t, i] < self.max_tasks[t, i]
            return text + ("Its credit is spent." if spent else "That is its claim.")
        return text + (
            f"{self.resources[j]} is used up; the {richer} with more credit borrowed first."
            if richer
            else f"{self.resources[j]} is used up; nobody has more credit."
        )

    def to_frame(self) -> pd.DataFrame:
        """Give one row a phase and user: tasks, shares, credit at the start of the phase, what stops the user."""
        names = np.empty(len(self.resources) + 2, dtype=object)
        names[:-2] = self.resources
        names[-2:] = ["credit", "own bound"]
        # -1 is the last name, own bound; where credit ends first it is the last but one
        stops = np.where((self.bottlenecks == _OWN) & (self._bounds < self.max_tasks), -2, self.bottlenecks)
        columns = ("tasks", "dominant_shares", "guaranteed", "borrowed", "donated", "earned", "credit")
        return self._frame({**{name: getattr(self, name) for name in columns}, "bottleneck": names[stops]})

    def violations(self, rtol: float = 1e-9) -> list[str]:
        """List every way in which the stored numbers break the rule; empty means certified.

        One phase is right exactly if everyone holds min(guarantee, claim) for nothing, and every borrower is at its
        bound, at the end of its credit, or needs a resource that is used up and of which nobody holds borrowed shares
        who has less credit left; and if the donors' earnings add up and no donor that has unpaid donations
        left ends poorer than one that earned. Credits must follow from one phase to the next. Cost O(T n m).
        """
        rtol = as_tolerance(rtol)
        found: list[str] = []
        need, largest = _normalised(self.demands, self.capacities)
        claimed = self.max_tasks * largest
        spend = self.credit + self.free_credit
        left, after = spend - self.borrowed, spend - self.borrowed + self.earned
        near = rtol * (1 + spend.max(axis=1))

        def check(wrong: NDArray[np.bool_], text: str) -> None:
            found.extend(f"{text} in phase {t}" for t in np.flatnonzero(wrong.any(axis=1)).tolist())

        def off(a: FloatArray, b: FloatArray) -> NDArray[np.bool_]:
            return ~(np.abs(a - b) <= near[:, None])

        given = np.minimum(claimed, self.alpha / self.tasks.shape[1])
        check(off(np.vstack([self.credit[1:], self.final_credit]), after), "credits do not follow from what was paid")
        check(off(self.guaranteed, given), "what is held for nothing is not min(guarantee, claim)")
        check(off(self.donated, self.alpha / self.tasks.shape[1] - given), "donations are told wrongly")
        check(off(self.tasks * largest, self.dominant_shares), "tasks are not what the shares pay for")
        check((self.borrowed < 0) | (left < -near[:, None]), "someone borrows what its credit does not pay for")
        check((self.earned < 0) | (self.earned > self.donated + near[:, None]), "someone earns more than it donates")
        sums = self.earned.sum(axis=1), np.minimum(self.donated.sum(axis=1), self.borrowed.sum(axis=1))
        check(off(sums[0][:, None], sums[1][:, None]), "donors do not earn what is borrowed from them")
        richest = np.where(self.earned > near[:, None], after, -np.inf).max(axis=1)
        unpaid = self.earned < self.donated - near[:, None]
        check(unpaid & (after < (richest - near)[:, None]), "a donor earns before a poorer one")
        for j, name in enumerate(self.resources):
            holds = (need[:, :, j] > 0) & (self.borrowed > near[:, None])
            least = np.where(holds, left, np.inf).min(axis=1)
            check((self.bottlenecks == j) & (left > (least + near)[:, None]), f"a richer user is denied {name}")
        for t in range(len(self)):
            found += [f"{text} in phase {t}" for text in self.at(t).violations(rtol)]
        return found


@takes_instance
def karma(
    demands: Any, *, capacities: Any = None, max_tasks: Any = None, alpha: float = 0.5, initial_credit: Any = None
) -> KarmaRun:
    """Run Karma in dominant shares over phases, divisible tasks (after Vuppalapati et al. 2023).

    Parameters
    ----------
    demands : array_like, shape (T, n, m), or sequence of T DataFrames with the same labels
        Resource per task in each phase. A row of zeros: this user sits the phase out, and donates all its guarantee.
    capacities : array_like or Series, shape (m,), optional
        Positive, the same in every phase. Default: ones.
    max_tasks : array_like, Series or DataFrame, shape (T, n) or (n,), optional
        What each claims to be able to run, ``inf`` for no bound, 0 for nothing. Default: no bounds. A Series, and the
        columns of a DataFrame, are matched by name with the users.
    alpha : float, in [0, 1]
        Part of the pool that is guaranteed: alpha / n of dominant share each.
    initial_credit : float or array_like or Series, shape (n,), optional
        One credit buys a dominant share of 1. Default: T each, which nobody can exhaust, since a phase costs at
        most 1; any larger amount gives the same allocations.

    Returns
    -------
    KarmaRun
        ``tasks``, ``credit``, ``borrowed``, ``donated``, ``earned``, ... of shape (T, n); ``at(t)`` is an Allocation.

    Raises
    ------
    InvalidInput
        Naming argument, rule and value.

    Notes
    -----
    Cost O(T n m (log n + m)); 1000 phases of 500 users and 2 resources take a fraction of a second. Credits are kept in
    doubles, to 1e-16 of the largest; what is left of a resource, to some 1e-16 of the pool. Whoever lives on that and
    needs r times more of another may have a share off by r times as much: r above 1e9 is refused.

    References
    ----------
    Vuppalapati et al., OSDI 2023, Algorithm 1. Several resources and divisible tasks are ours.

    Examples
    --------
    Of one resource half is guaranteed, a quarter each. The second user sits out the first phase: the first borrows
    3/4, and the second earns a credit of 1/4. Richer by 1 now, it borrows all that is shared.

    >>> run = karma([[[1], [1]], [[1], [1]]], max_tasks=[[1, 0], [1, 1]])
    >>> run.dominant_shares
    array([[1.  , 0.  ],
           [0.25, 0.75]])
    >>> run.credit
    array([[2. , 2. ],
           [1.5, 2.5]])
    """
    values, users, resources = phased_demands(demands)
    count, n, m = values.shape
    claims = _as_bounds(max_tasks, values, users)
    pool = as_capacities(capacities, m, resources)
    part = as_number(alpha, "alpha", 0.0, 1.0)
    credit = as_credit(float(count) if initial_credit is None else initial_credit, n, users, "initial_credit")
    check_apart(values / pool)
    need, largest = _normalised(values, pool)
    claimed = claims * largest
    kept = {name: np.empty((count, n)) for name in ("tasks", "credit", "guaranteed", "borrowed", "donated", "earned")}
    stops = np.empty((count, n), dtype=np.int64)
    for t in range(count):
        kept["credit"][t] = credit
        spend = credit + (1.0 - part) / n
        settled = _settle(need[t], claimed[t], spend, part)
        kept["tasks"][t] = _tasks(settled, _affordable(claims[t], largest[t], spend, part), largest[t])
        kept["guaranteed"][t], kept["borrowed"][t] = settled.guaranteed, settled.borrowed
        kept["donated"][t], kept["earned"][t], stops[t] = settled.donated, settled.earned, settled.stops
        credit = spend - settled.borrowed + settled.earned
    return KarmaRun(
        **kept,
        final_credit=credit,
        bottlenecks=stops,
        demands=values,
        max_tasks=claims,
        capacities=pool,
        alpha=part,
        named_users=users,
        named_resources=resources,
    )


class Karma(CreditPool):
    """Karma in dominant shares one phase at a time, saved and restored.

    :meth:`phase` costs O(n m (log n + m)) and gives digit for digit what :func:`karma` does.

    Parameters
    ----------
    users : int or sequence of hashable
        Number of users, or their names.
    capacities : array_like or Series, shape (m,)
        Positive. A Series names the resources.
    alpha : float, in [0, 1]
        Part of the pool that is guaranteed.
    initial_credit : float or array_like or Series, shape (n,)
        One credit buys a dominant share of 1. The default, 1000, lasts for 1000 phases whatever happens.

    Attributes
    ----------
    credit : ndarray, shape (n,)
        Credit now, before the free credits of the next phase.
    phases : int
        Phases settled so far.

    Examples
    --------
    >>> pool = Karma(["ann", "bob"], capacities=[10], initial_credit=2)
    >>> pool.phase([[1], [1]], max_tasks=[10, 0]).tasks
    array([10.,  0.])
    >>> pool.credit
    array([1.5, 2.5])
    >>> Karma.from_dict(pool.to_dict()).phase([[1], [1]]).tasks
    array([2.5, 7.5])
    """

    def __init__(
        self, users: int | Sequence[Hashable], capacities: Any, *, alpha: float = 0.5, initial_credit: Any = 1000.0
    ) -> None:
        super().__init__(users, capacities)
        self._alpha = as_number(alpha, "alpha", 0.0, 1.0)
        self._credit = as_credit(initial_credit, len(self), self._users, "initial_credit")

    def __repr__(self) -> str:
        return f"Karma({len(self)} users, {len(self._capacities)} resources, phase {self.phases})"

    @property
    def alpha(self) -> float:
        return self._alpha

    @property
    def free_credit(self) -> float:
        """Credits that each user gets before each phase, (1 - alpha) / n."""
        return (1.0 - self._alpha) / len(self)

    def phase(self, demands: Any, *, max_tasks: Any = None) -> Allocation:
        """Hand out the free credits, allocate one phase, and settle what was borrowed and donated.

        Parameters
        ----------
        demands : array_like or DataFrame, shape (n, m)
            Resource per task, a row of zeros for who needs nothing. A DataFrame is matched by name with the users and
            resources, where these have names.
        max_tasks : array_like or Series, shape (n,), optional
            What each claims to be able to run. Default: no bounds.

        Returns
        -------
        Allocation
            As from :func:`karma_phase`.

        Raises
        ------
        InvalidInput
            Before anything changes.
        """
        values, users, resources = self._matched(demands, "demands")
        bounds = as_max_tasks(max_tasks, len(self), users)
        spend = self._credit + self.free_credit
        allocation, settled = _phase(values, self.capacities, bounds, spend, self._alpha, users, resources)
        self._credit = spend - settled.borrowed + settled.earned
        self.phases += 1
        return allocation

    def _state(self) -> dict[str, Any]:
        return {
            "users": names_for_json(self._users, "users") or len(self),
            "resources": names_for_json(self._resources, "resources"),
            "capacities": self._capacities.tolist(),
            "alpha": self._alpha,
            "credit": self._credit.tolist(),
            "phases": self.phases,
        }

    @classmethod
    def _restored(cls, state: dict[str, Any]) -> Karma:
        self = cls(state["users"], state["capacities"], alpha=state["alpha"], initial_credit=state["credit"])
        self._resources = state["resources"] and tuple(state["resources"])
        self.phases = state["phases"]
        return self
