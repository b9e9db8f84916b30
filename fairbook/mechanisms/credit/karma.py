"""Karma (Vuppalapati et al., OSDI 2023), as published for one resource and generalised to dominant shares.

Credits carry fairness over time: a user that takes less than its guaranteed share earns them, one that takes more pays
them, and the richest borrows first. Here one credit buys a dominant share of 1. A phase among n users goes like this:

1. Each gets (1 - alpha) / n credits. Each is guaranteed a dominant share of g = alpha / n, and claims one of b, that
   of as many tasks as its bound allows.
2. Each holds min(g, b) for nothing. If b < g, it *donates* g - b. If b > g and it has credit, it *borrows*.
3. The richest borrow first: a level lambda falls from the largest credit to 0, and a user with more credit c than
   lambda has borrowed c - lambda. It goes on until its bound, the end of its credit (lambda = 0), or a resource that it
   needs and that is used up stops it. The others go on. These are the paper's slices, shrunk to nothing.
4. Borrowers pay one credit a unit. Donors earn one for each unit borrowed, up to what they donate, the poorest first: a
   level rises from the least credit among them. Dominant shares of different resources do not add up, so more may be
   borrowed than is donated and shared. Then every donor earns in full.

``lend`` has steps 3 and 4, ``run_phases`` the first two. :func:`karma` runs them on doubles, :func:`karma_rule` on
fractions; :func:`karma_phase` is one phase with the credits given, and :class:`fairbook.Karma` takes one phase at a
time.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from fairbook.errors import InvalidInput
from fairbook.filling import fill
from fairbook.kernels import INSIDE, kernel
from fairbook.mechanisms.credit.karma_run import KarmaRun, affordable, normalised
from fairbook.mechanisms.readings import Engine
from fairbook.model.allocation import Allocation
from fairbook.model.exact import fractions
from fairbook.model.inputs import (
    FAR_APART,
    LARGEST,
    LEFT,
    OWN,
    Array,
    FloatArray,
    Names,
    as_capacities,
    as_max_tasks,
    as_number,
    check_amounts,
    check_bounds,
    demand_matrix,
    in_order,
    number_of_dimensions,
    per_user,
    phased_demands,
    raise_at_first,
)
from fairbook.model.instance import checks_choices, takes_instance
from fairbook.model.names import in_pandas

__all__ = ["karma", "karma_phase", "karma_rule"]


# ---------------------------------------------------------------------------------------------------- the rule


def run_phases(
    demands: Array, capacities: Array, claims: Array, credit: Array, alpha: Any, free_credit: Any = None
) -> KarmaRun:
    """Say what is guaranteed and donated; then, phase after phase, what is borrowed and earned, and the credit after.

    Of doubles or fractions: demands (T, n, m), bounds (T, n), credit (n,) at the start.
    """
    n = len(credit)
    free_credit = (1 - alpha) / n if free_credit is None else free_credit
    need, largest = normalised(demands, capacities)
    claims = np.where(demands.any(axis=2), claims, 0)
    claimed = claims * largest
    guaranteed = np.minimum(claimed, alpha / n)
    donated = alpha / n - guaranteed
    # added up from parts that are not negative: 1 minus the use would keep rounding errors
    left = (alpha - np.minimum(claimed * n, alpha)[..., None] * need + (1 - alpha)).sum(axis=1) / n
    wanted, near = claimed - guaranteed, 0 if need.dtype == object else LEFT
    history, borrowed, earned, stops = lend(need, wanted, donated, left, credit, free_credit, near)
    before, credit = history[:-1], history[-1]
    most = affordable(claims, largest, before + free_credit, alpha)
    tasks = np.where(stops == OWN, most, np.minimum((guaranteed + borrowed) / largest, most))
    return KarmaRun(
        tasks, before, credit, guaranteed, borrowed, donated, earned, stops, demands, claims, capacities, alpha,
        free_credit,
    )  # fmt: skip


@kernel(lambda need, *_: 20 * need.size)
def lend(need: Any, wanted: Any, donated: Any, left: Any, credit: Any, free_credit: Any, near: Any) -> Any:
    """Phase after phase, let the richest borrow first, and the poorest donors earn first.

    Gives credits, one row more than phases, what is borrowed and earned, and what stops each user.
    """
    T, n, _ = need.shape
    history, borrowed, earned = np.zeros((T + 1, n), need.dtype), 0 * donated, donated.copy()
    stops, ignored, alike = np.zeros((T, n), np.int64), np.zeros(n, np.int64), 0 * need[0, :, :1] + 1
    history[0] = credit
    for t in range(T):
        spend = history[t] + free_credit
        room, sold, offered = np.minimum(wanted[t], spend), 0 * free_credit, 0 * free_credit
        fill(need[t], moments_of(spend), room, left[t], near, borrowed[t], stops[t])
        for i in range(n):
            sold, offered = sold + borrowed[t, i], offered + donated[t, i]
        if sold < offered:
            fill(alike, moments_of(-spend), donated[t], np.full(1, sold), near, earned[t], ignored)
        history[t + 1] = spend - borrowed[t] + earned[t]
    return history, borrowed, earned, stops


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


def karma_rule(
    demands: Any,
    *,
    initial_credit: Any,
    alpha: Any,
    capacities: Any = None,
    max_tasks: Any = None,
    free_credit: Any = None,
) -> KarmaRun:
    """Karma in dominant shares, in fractions; doubles count at face value.

    Demands (T, n, m), credits (n,), capacities (m,), bounds (T, n) with None for none. Each gets ``free_credit``
    before a phase, (1 - alpha) / n where nothing is said. A user that demands nothing has nothing.

    By hand: of one resource half is guaranteed, a quarter each. The second user sits out; the first borrows 3/4.

    >>> run = karma_rule([[[1], [1]]], initial_credit=[2, 2], max_tasks=[[1, 0]], alpha="1/2")
    >>> [str(c) for c in run.final_credit]
    ['3/2', '5/2']
    """
    values = fractions(demands)
    T, n, m = values.shape
    pool = fractions([1] * m if capacities is None else capacities)
    claims = fractions([[None] * n] * T if max_tasks is None else max_tasks)
    extra = None if free_credit is None else Fraction(free_credit)
    return run_phases(values, pool, claims, fractions(initial_credit), Fraction(alpha), extra)


# --------------------------------------------------------------------------------------------- the input, and one phase


def as_credit(credit: Any, n: int, users: Names | None, argument: str) -> FloatArray:
    """Check credits, one for everybody or one a user."""
    credit = in_pandas(credit, argument)
    if number_of_dimensions(credit) == 0:
        return np.full(n, as_number(credit, argument, 0.0, LARGEST))
    values = per_user(credit, n, users, argument)
    raise_at_first(~((values >= 0) & (values <= LARGEST)), argument, f"must be between 0 and {LARGEST:g}", values)
    return values


def _as_bounds(max_tasks: Any, count: int, n: int, users: Names | None) -> FloatArray:
    """Check bounds, and give them as (T, n)."""
    max_tasks = in_pandas(max_tasks, "max_tasks")
    if max_tasks is not None and number_of_dimensions(max_tasks) == 2:
        named = demand_matrix(max_tasks, "max_tasks")
        if named.values.shape != (count, n):
            raise InvalidInput(
                "max_tasks", f"must have shape ({count} phases, {n} users) or ({n},)", named.values.shape
            )
        bounds = in_order(named._replace(users=None), None, users, "max_tasks", columns="users")
        check_bounds(bounds)
        return bounds
    return np.broadcast_to(as_max_tasks(max_tasks, n, users), (count, n))


def work_out(
    demands: FloatArray,
    capacities: FloatArray,
    claims: FloatArray,
    credit: FloatArray,
    alpha: float,
    engine: Engine = "fast",
    free_credit: Any = None,
) -> KarmaRun:
    """Run the rule on doubles, and refuse what these do not tell; or, by ``engine="plain"``, on fractions of them."""
    if engine == "plain":
        given = {"capacities": capacities, "max_tasks": claims, "initial_credit": credit, "alpha": alpha}
        return replace(karma_rule(demands, free_credit=free_credit, **given).rounded(), demands=demands)
    need, _ = normalised(demands, capacities)
    least = need[need > 0].min(initial=1)
    if least * FAR_APART < 1:
        rule = f"must have needs of a task, in parts of the pool, within {FAR_APART:g} of each other in doubles"
        raise InvalidInput("demands", f'{rule} (engine="plain" takes fractions)', f"{1 / least:.3g}")
    return run_phases(demands, capacities, claims, credit, alpha, free_credit)


@checks_choices
def karma_phase(
    demands: Any,
    credit: Any,
    *,
    capacities: Any = None,
    max_tasks: Any = None,
    alpha: float = 0.5,
    engine: Engine = "fast",
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
    engine : {"fast", "plain"}
        ``"plain"`` works the same code out in fractions.

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
    found = work_out(values[None], pool, bounds[None], spend, part, free_credit=0.0, engine=engine)
    return replace(found, named_users=users, named_resources=resources).at(0)


# ------------------------------------------------------------------------------------------------- many phases


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
        ``"plain"`` works the same code out in fractions, as :func:`karma_rule` does.

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
    doubles, to 1e-16 of the largest, and shares to some 1e-16 of the pool: a user who lives on less of it has less
    right digits, and one that needs r times more of another resource r times less. Needs of a task that are more than
    1e8 apart are refused; ``engine="plain"`` takes them.

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
    claims = _as_bounds(max_tasks, count, n, users)
    pool = as_capacities(capacities, m, resources)
    part = as_number(alpha, "alpha", 0.0, 1.0)
    credit = as_credit(float(count) if initial_credit is None else initial_credit, n, users, "initial_credit")
    found = work_out(values, pool, claims, credit, part, engine=engine)
    return replace(found, named_users=users, named_resources=resources)
