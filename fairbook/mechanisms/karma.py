"""Karma (Vuppalapati et al., OSDI 2023), as published for one resource and generalised to dominant shares.

Credits carry fairness over time: who takes less than its guaranteed share earns them, who takes more pays them, and
the richest borrows first. :func:`karma_rule` is the rule, generalised to divisible tasks and several resources, and
:func:`karma` runs it; :func:`karma_phase` is one phase with the credits given, and :class:`fairbook.Karma` takes one
phase at a time and can be saved.

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

from collections.abc import Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.kernels import INSIDE, kernel
from fairbook.mechanisms.choices import Engine, check_choice
from fairbook.mechanisms.drf import in_fractions
from fairbook.mechanisms.pools import as_array
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
    check_bounds,
    demand_matrix,
    number_of_dimensions,
    order_of,
    per_user,
    phased_demands,
    raise_at_first,
)
from fairbook.model.instance import takes_instance
from fairbook.model.phased import PhasedRun, phase_allocation

__all__ = ["KarmaRun", "karma", "karma_phase", "karma_rule"]

_OWN = -1  # marks a user whom its own bound or the end of its credit stops

#: Where needs of a task are further apart than this, or the pool and what a user has of it, fractions tell more.
FAR_APART = 1e8
#: Up to so many users a phase is worked out in fractions: seconds.
EXACT = 100

# ---------------------------------------------------------------------------------------------------- the rule


@kernel(INSIDE)
def moments_of(height: Any) -> Any:
    """Say when a level that falls from the top reaches each height; waits of more than 2 are cut to that.

    Nobody rises for longer than 1, as a dominant share is at most 1, so that all is over before. Credits may be far
    apart, and moments are not.
    """
    order = np.argsort(-height, kind="mergesort")
    begin = 0 * height
    for k in range(1, len(order)):
        begin[order[k]] = begin[order[k - 1]] + min(height[order[k - 1]] - height[order[k]], 2)
    return begin


@kernel(INSIDE)
def gained_by(moment: Any, begin: Any, room: Any) -> Any:
    """What who sets out at ``begin`` and gains 1 per unit of time has gained by a moment, at most ``room``."""
    return room if begin + room <= moment else max(moment - begin, 0 * room)


@kernel(INSIDE)
def used_by(moment: Any, need: Any, begin: Any, room: Any) -> Any:
    """What all together use of a resource by a moment."""
    used = 0 * need[0]
    for i in range(len(need)):
        used += need[i] * gained_by(moment, begin[i], room[i])
    return used


@kernel(INSIDE)
def used_up_at(need: Any, begin: Any, room: Any, moments: Any, left: Any) -> Any:
    """Give the moment at which a resource is used up, inf if it never is: use is linear between ``moments``."""
    first, last = 0, len(moments)
    while first < last:
        middle = (first + last) // 2
        if used_by(moments[middle], need, begin, room) > left:
            last = middle
        else:
            first = middle + 1
    if first == len(moments):
        return np.inf
    moment, growth = moments[max(first - 1, 0)], 0 * need[0]
    for i in range(len(need)):
        if begin[i] <= moment and begin[i] + room[i] > moment:
            growth += need[i]
    return moment + max(left - used_by(moment, need, begin, room), 0 * left) / growth


@kernel(INSIDE)
def fill_late(need: Any, begin: Any, room: Any, left: Any, gained: Any, stops: Any) -> None:
    """Progressive filling in which each user sets out at a moment of its own, until its room or a resource ends."""
    n, m = need.shape
    moments = np.sort(np.concatenate((begin, begin + room)))
    rising = room > 0
    gained[:], stops[:] = room, _OWN
    end = 0 * begin[0]
    while True:
        now, end, stop = end, np.inf, 0
        for j in range(m):  # time does not go back, not even by a rounding error: who is done by now is done
            at = max(used_up_at(need[:, j] * rising, begin, room, moments, left[j]), now)
            if at < end:
                end, stop = at, j
        if end == np.inf:
            break
        left[stop] = np.inf  # it stops whom it can now, and nobody later
        for i in range(n):
            if rising[i] and need[i, stop] > 0 and begin[i] + room[i] > end:
                rising[i], stops[i], gained[i] = False, stop, gained_by(end, begin[i], room[i])
                for j in range(m):
                    left[j] -= need[i, j] * gained[i]


def _steps(need: FloatArray, *_: Any) -> float:
    """Each resource is looked for in each round among all users, some ten times."""
    return 10 * need.size * need.shape[2]


@kernel(INSIDE)
def far_apart(need: Any, share: Any, stops: Any) -> bool:
    """Tell whether needs of a task, or the pool and what somebody has of it, are too far apart for doubles."""
    apart = 1.0
    for i in range(len(need)):
        if stops[i] >= 0 and share[i] > 0:
            apart = max(apart, 1 / share[i])
        for d in need[i]:
            if d > 0:
                apart = max(apart, 1 / d)
    return apart > FAR_APART


@kernel(_steps)
def settle_phases(
    need: Any, claimed: Any, alpha: Any, free: Any, credit: Any, kept: Any, stops: Any, first: int, exact: bool
) -> int:
    """Phase after phase, from ``first`` on; give the number of one that doubles cannot tell, or of all.

    Demands (T, n, m) are per unit of dominant share; what is claimed is a bound on that, (T, n). Credits, (T + 1, n),
    follow from those before; ``kept`` (4, T, n) receives what is guaranteed, borrowed, donated and earned.
    """
    guaranteed, borrowed, donated, earned = kept[0], kept[1], kept[2], kept[3]
    T, n, m = need.shape
    left = need[0, 0] * 0
    for t in range(first, T):
        spend = credit[t] + free
        guaranteed[t] = np.minimum(claimed[t], alpha / n)
        donated[t] = alpha / n - guaranteed[t]
        room = np.minimum(claimed[t] - guaranteed[t], spend)
        left[:] = 0 * alpha
        for i in range(n):  # added up from parts that are not negative: 1 minus the use would keep rounding errors
            for j in range(m):
                left[j] += (alpha - min(claimed[t, i] * n, alpha) * need[t, i, j] + (1 - alpha)) / n
        fill_late(need[t], moments_of(spend), room, left, borrowed[t], stops[t])  # the richest first
        supply, sold = 0 * alpha, 0 * alpha
        for i in range(n):
            supply += donated[t, i]
            sold += borrowed[t, i]
        earned[t] = donated[t]
        if sold < supply:  # the poorest first
            left[0] = sold
            fill_late(need[t, :, :1] * 0 + 1, moments_of(-spend), donated[t], left[:1], earned[t], stops[t] * 0)
        if not exact and far_apart(need[t], guaranteed[t] + borrowed[t], stops[t]):
            return t
        credit[t + 1] = spend - borrowed[t] + earned[t]
    return T


def karma_rule(
    demands: Any, *, initial_credit: Any, alpha: Any, capacities: Any = None, max_tasks: Any = None, free: Any = None
) -> KarmaRun:
    """Karma in dominant shares: arrays of doubles by the code above compiled, all else by the same code in fractions.

    Demands (T, n, m), credits (n,), capacities (m,), bounds (T, n) with None for none, 0 for who demands nothing. Each
    gets ``free`` credits before a phase, (1 - alpha) / n where nothing is said.

    By hand: of one resource half is guaranteed, a quarter each. The second user sits out; the first borrows 3/4.

    >>> run = karma_rule([[[1], [1]]], initial_credit=[2, 2], max_tasks=[[1, 0]], alpha="1/2")
    >>> [str(c) for c in run.final_credit]
    ['3/2', '5/2']
    """
    values, start = as_array(demands), as_array(initial_credit)
    T, n, m = values.shape
    pool = as_array([1] * m if capacities is None else capacities)
    claims = as_array([[None] * n] * T if max_tasks is None else max_tasks)
    exact = values.dtype == object
    part: Any = Fraction(alpha) if exact else alpha
    free = (1 - part) / n if free is None else free
    need, largest = _normalised(values, pool)
    claimed = claims * largest
    credit, kept = np.zeros((T + 1, n), need.dtype), np.zeros((4, T, n), need.dtype)
    stops, t = np.zeros((T, n), np.int64), 0
    credit[0] = start
    while (t := settle_phases(need, claimed, part, free, credit, kept, stops, t, exact)) < T:
        if n > EXACT:
            rule = f"must, as parts of the pool and of what is left of it, be within {FAR_APART:g} beyond {EXACT} users"
            raise InvalidInput("demands", rule, f"phase {t}")
        phase = karma_rule(
            in_fractions(values[t : t + 1]),
            capacities=in_fractions(pool),
            initial_credit=in_fractions(credit[t]),
            max_tasks=in_fractions(claims[t : t + 1]),
            alpha=part,
            free=Fraction(free),
        )
        for one, name in zip(kept, ("guaranteed", "borrowed", "donated", "earned"), strict=True):
            one[t] = getattr(phase, name)[0]
        stops[t], credit[t + 1] = phase.bottlenecks[0], phase.final_credit
        t += 1
    bounds = _affordable(claims, largest, credit[:-1] + free, part)
    tasks = np.where(stops == _OWN, bounds, np.minimum((kept[0] + kept[1]) / largest, bounds))
    return KarmaRun(
        tasks, credit[:-1], credit[-1], kept[0], kept[1], kept[2], kept[3], stops, values, claims, pool, part, free
    )


def _normalised(demands: NDArray[Any], capacities: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Give demands per unit of dominant share, and the dominant share of one task (1 for who demands nothing)."""
    share = demands / capacities
    largest = share.max(axis=-1)
    largest = np.where(largest > 0, largest, 1)
    return share / largest[..., None], largest


def _affordable(max_tasks: NDArray[Any], largest: NDArray[Any], credit: NDArray[Any], alpha: Any) -> NDArray[Any]:
    """Bounds on tasks: what the user claims, and what its guaranteed share and its credit pay for."""
    return np.minimum(max_tasks, (alpha / credit.shape[-1] + credit) / largest)


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
    together, the one with the smaller index is named. Cost O(n m^2 log n).

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
    part = as_number(alpha, "alpha", 0.0, 1.0)
    claims = np.where((values > 0).any(axis=1), bounds, 0.0)[None]
    found = karma_rule(values[None], initial_credit=spend, alpha=part, capacities=pool, max_tasks=claims, free=0.0)
    return replace(found, named_users=users, named_resources=resources).at(0)


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
    free_credit : float
        Credits that each user gets before each phase, (1 - alpha) / n.
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
    free_credit: float
    named_users: Names | None = None
    named_resources: Names | None = None

    @property
    def dominant_shares(self) -> FloatArray:
        """Dominant share in each phase, shape (T, n)."""
        return self.guaranteed + self.borrowed

    @property
    def _bounds(self) -> FloatArray:
        largest = _normalised(self.demands, self.capacities)[1]
        return _affordable(self.max_tasks, largest, self.credit + self.free_credit, self.alpha)

    def at(self, phase: int) -> Allocation:
        """Give one phase (from 0) as :func:`karma_phase` does, with what credit pays for among the bounds."""
        t = self._step(phase)
        numbers = self.tasks[t], self.demands[t], self.capacities, self._bounds[t], self.bottlenecks[t]
        return phase_allocation(*numbers, self.named_users, self.named_resources, "karma", "full")

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
    demands: Any,
    *,
    capacities: Any = None,
    max_tasks: Any = None,
    alpha: float = 0.5,
    initial_credit: Any = None,
    engine: Engine = "fast",
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
    engine : {"fast", "plain"}
        ``"plain"`` works the same code (:func:`karma_rule`) out in fractions.

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
    Cost O(T n m^2 log n); 1000 phases of 500 users and 2 resources take a fraction of a second. Credits are kept in
    doubles, to 1e-16 of the largest; what is left of a resource, to some 1e-16 of the pool. Whoever lives on that and
    needs r times more of another has its share to r times as much. A phase in which needs of a task are more than 1e8
    apart, or a resource leaves somebody less than 1e-8 of the pool, is worked out in fractions for up to 100 users
    (seconds), and refused for more.

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
    check_choice(engine, "engine", Engine)
    given = {"demands": values, "capacities": pool, "initial_credit": credit, "max_tasks": claims}
    if engine == "plain":
        given = {name: in_fractions(one) for name, one in given.items()}
    found = karma_rule(**given, alpha=part).rounded()
    return replace(found, demands=values, named_users=users, named_resources=resources)
