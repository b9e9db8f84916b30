"""DMFA-SRQ: dynamic weighted dominant resource fairness (Zhang, Liu, Li, Zhang 2016).

Users arrive one at a time, bring w_i of every resource and never get less than they once had. At each arrival
the lowest level (dominant share / weight: what a user has of its dominant resource, over the w_i that it brought) is
raised as far as the pool allows, model (4) of the paper.

* :func:`dmfa_srq_rule` is the rule; :func:`exact_levels` runs it in exact fractions.
* :func:`dmfa_srq` is the engine: a stack of groups of equal level, O(n m) for n arrivals together.
* :func:`static_optimum` is equation (5): everything shared out anew at each arrival.
* :class:`DmfaSrq` takes one arrival or departure at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.kernels import INSIDE, kernel
from fairbook.mechanisms.readings import Engine
from fairbook.model.dynamic import DynamicAllocation
from fairbook.model.exact import by_rule, exact_instance
from fairbook.model.inputs import (
    FloatArray,
    Named,
    as_demands,
    check_apart,
    check_positive,
    per_user,
    row_max,
)
from fairbook.model.instance import takes_instance

__all__ = ["dmfa_srq", "dmfa_srq_rule", "exact_levels", "static_optimum", "static_optimum_rule"]


#: What becomes of what a user who departs has brought.
Contribution = Literal["leaves", "stays"]


def lower_highest(levels: dict[Any, Any], need: Any, left: list[Any]) -> None:
    """Lower the highest levels to the largest common one at which nothing is overdrawn."""
    order, rate, lowered = sorted(levels, key=lambda i: levels[i], reverse=True), [0 * x for x in left], None
    for i, below in zip(order, [*order[1:], None]):
        if all(x >= 0 for x in left):
            break
        rate = [r + d for r, d in zip(rate, need[i], strict=True)]
        floor = 0 * levels[i] if below is None else levels[below]
        drops = [-x / r if r > 0 else levels[i] for x, r in zip(left, rate, strict=True) if x < 0]
        lowered = max(levels[i] - max(drops), floor)
        left[:] = [x + r * (levels[i] - lowered) for x, r in zip(left, rate, strict=True)]
        if lowered > floor:
            break
    if lowered is not None:
        levels.update({i: min(y, lowered) for i, y in levels.items()})


def raise_lowest(levels: dict[int, Any], need: Sequence[Any], left: list[Any]) -> tuple[Any, int]:
    """Raise the lowest level, and whoever it reaches with it, until a resource is used up; give the level and that."""
    height, growth, rising = 0 * left[0], [0 * x for x in left], []
    for i in sorted(levels, key=lambda i: levels[i]):
        step = levels[i] - height
        if any(g * step > x for g, x in zip(growth, left, strict=True)):
            break
        left[:] = [x - g * step for g, x in zip(growth, left, strict=True)]
        height, growth = levels[i], [g + x for g, x in zip(growth, need[i], strict=True)]
        rising.append(i)
    step, stop = min((max(x, 0 * x) / g, j) for j, (x, g) in enumerate(zip(left, growth, strict=True)) if g > 0)
    left[:] = [max(x - g * step, 0 * x) for g, x in zip(growth, left, strict=True)]
    left[stop] *= 0
    levels.update(dict.fromkeys(rising, height + step))
    return height + step, stop


def dmfa_srq_rule(
    demands: Any,
    *,
    weights: Any,
    events: Sequence[int] | None = None,
    contribution: Contribution = "leaves",
) -> list[tuple[Any, int, dict[int, Any]]]:
    """Model (4) of Zhang et al. 2016: after each event M^k, the resource that stops it, and the level of each user.

    A newcomer adds what it brings to the pool; then the lowest level is raised as far as the pool allows, and nobody
    loses. In ``events`` the first mention of a user is its arrival, the second its departure (ours, not the paper's):
    where the pool no longer holds what the others have, the highest come down to a common level first. Default: all
    arrive in order. Numbers of any kind.

    By hand, Figure 1: alone the first user holds what it brought; with the second both have 4/3 of that, since
    4/3 (1/4 + 1/8) = 1/2; the third uses up the second resource at its own level 1.

    >>> from fractions import Fraction as F
    >>> h = F(1, 2)
    >>> run = dmfa_srq_rule([[F(1), h], [h, F(1)], [h, F(1)]], weights=[F(1, 4), F(1, 4), h])
    >>> [(str(M), stop) for M, stop, _ in run]
    [('1', 0), ('4/3', 0), ('1', 1)]
    """
    m = len(demands[0])
    need = [[w * d / max(row) for d in row] for row, w in zip(demands, weights, strict=True)]  # for a level of one
    levels: dict[int, Any] = {}
    table: list[tuple[Any, int, dict[int, Any]]] = []
    pool, left = 0 * weights[0], [0 * weights[0]] * m
    for user in range(len(weights)) if events is None else events:
        if user not in levels:
            levels[user], pool = 0 * pool, pool + weights[user]
            left = [x + weights[user] for x in left]
        else:
            had, gone = levels.pop(user), weights[user] if contribution == "leaves" else 0 * pool
            pool -= gone
            left = [x + had * d - gone for x, d in zip(left, need[user], strict=True)]
            lower_highest(levels, need, left)
        lowest, stop = raise_lowest(levels, need, left) if levels else (0 * pool, -1)
        table.append((lowest, stop, dict(levels)))
    return table


def static_optimum_rule(demands: Any, *, weights: Any) -> list[tuple[Any, int]]:
    """Equation (5) of Zhang et al. 2016: after each arrival W_k / max_j sum w_i d_ij, and the full resource.

    d_ij is what user i needs of resource j, divided by what it needs of its dominant one.

    >>> from fractions import Fraction as F
    >>> [str(M) for M, _ in static_optimum_rule([[F(2), F(1)], [F(1), F(2)]], weights=[F(1), F(1)])]
    ['1', '4/3']
    """
    pool, need, table = 0 * weights[0], [0 * weights[0]] * len(demands[0]), []
    for row, w in zip(demands, weights, strict=True):
        pool += w
        need = [x + w * d / max(row) for x, d in zip(need, row, strict=True)]
        table.append((pool / max(need), need.index(max(need))))
    return table


@kernel(INSIDE)
def _rise(top: int, level: Any, rate: Any, slack: Any) -> tuple[int, int]:
    """Raise the group on top of a stack until a resource ends, merging it with each group that it reaches.

    The stack holds groups of users with equal level, the highest at the bottom (Lemma 2). ``level[g]`` is the
    level of group g, ``rate[g][j]`` what it takes of resource j per unit of level, ``slack[j]`` what is left.
    Returns the new top and the resource that stopped the rise.

    The slack is the state, never "capacity minus use": with weights 10^6 apart that difference loses nine digits.
    """
    m = len(slack)
    while top > 0:
        step = level[top - 1] - level[top]
        reaches = True
        for j in range(m):
            if rate[top][j] * step > slack[j]:
                reaches = False
        if not reaches:
            break
        for j in range(m):
            slack[j] -= rate[top][j] * step
            rate[top - 1][j] += rate[top][j]
        top -= 1
    step, stop = np.inf, 0
    for j in range(m):
        if rate[top][j] > 0.0 and slack[j] / rate[top][j] < step:
            step = slack[j] / rate[top][j]
            stop = j
    for j in range(m):
        slack[j] = max(slack[j] - rate[top][j] * step, 0.0)
    slack[stop] = 0.0  # used up by definition, not up to rounding
    level[top] += step
    return top, stop


@kernel(lambda demands, *_: 4 * demands.size)
def _run(demands: Any, weights: Any, lowest: Any, binding: Any) -> None:
    """All arrivals."""
    n, m = demands.shape
    level, rate, slack = np.empty(n), np.empty((n, m)), np.zeros(m)
    top = -1
    for k in range(n):
        top += 1
        level[top] = 0.0
        scale = weights[k] / demands[k].max()
        for j in range(m):
            rate[top, j] = demands[k, j] * scale
            slack[j] += weights[k]
        top, binding[k] = _rise(top, level, rate, slack)
        lowest[k] = level[top]


@kernel()
def restack(levels: Any, need: Any, slack: Any, sizes: Any) -> int:
    """Let users who hold ``levels``, in order of arrival, give back what is overdrawn, and then the lowest rise.

    Falling levels are in the order in which :func:`lower_highest` goes through them. Levels, and needs for a level of
    one, become those of the groups on the stack, beside their sizes; returns the number of groups. Cost O(n m).
    """
    n, m = need.shape
    lowered, rate, top = np.inf, np.zeros(m), -1
    for i in range(n):
        floor, drop = levels[i + 1] if i + 1 < n else 0.0, -1.0
        for j in range(m):
            rate[j] += need[i, j]
            if slack[j] < 0.0:
                drop = max(drop, -slack[j] / rate[j] if rate[j] > 0.0 else levels[i])
        if drop < 0.0:
            break
        lowered = max(levels[i] - drop, floor)
        for j in range(m):
            slack[j] += rate[j] * (levels[i] - lowered)
        if lowered > floor:
            break
    for j in range(m):
        slack[j] = max(slack[j], 0.0)
    for i in range(n):
        level = min(levels[i], lowered)
        if top < 0 or levels[top] != level:
            top += 1
            levels[top] = level
            for j in range(m):
                need[top, j] = need[i, j]
        else:
            for j in range(m):
                need[top, j] += need[i, j]
        sizes[top] += 1
    last = top
    if top >= 0:
        top, _ = _rise(top, levels, need, slack)
        for g in range(top + 1, last + 1):
            sizes[top] += sizes[g]
    return top + 1


def checked_arrivals(demands: Any, weights: Any) -> tuple[Named, FloatArray]:
    """Check demands (n, m) and amounts that users bring (n,), in order of arrival."""
    named = as_demands(demands)
    amounts = per_user(weights, len(named.values), named.users, "weights")
    check_positive(amounts, "weights")
    return named, amounts


def _told(table: Sequence[Any]) -> tuple[FloatArray, NDArray[np.int32]]:
    """Give what a rule says as arrays: levels, rounded once, and what binds."""
    return np.array([float(one[0]) for one in table]), np.array([one[1] for one in table], dtype=np.int32)


@takes_instance
def dmfa_srq(demands: Any, *, weights: Any, engine: Engine = "fast") -> DynamicAllocation:
    """Allocate at each arrival by DMFA-SRQ, model (4) of Zhang et al. 2016, with the group stack.

    Parameters
    ----------
    demands : array_like or DataFrame, shape (n, m)
        Resource per task, users in order of arrival. The paper asks for positive entries; zeros are
        accepted, and then Pareto optimality is no longer promised.
    weights : array_like or Series, shape (n,)
        Amount of *every* resource that each user brings, in the unit of the demands, positive. The pool after
        k arrivals is the sum of the first k. (The paper scales the sum to 1; nothing here needs that.)
    engine : {"fast", "plain"}
        ``"plain"`` works :func:`dmfa_srq_rule` out in fractions.

    Returns
    -------
    DynamicAllocation
        ``lowest`` (n,) = M^1, ..., M^n; ``tasks`` (n,) after the last arrival, with ``tasks @ demands`` the use;
        ``tasks_at(k)`` after arrival k, counted from 1.

    Raises
    ------
    InvalidInput
        Naming argument, rule and value.

    Notes
    -----
    Cost O(n m) for all arrivals together: each arrival pushes one group, each merge removes one. Memory O(n m).
    ``tasks_at`` costs O(k m) a call. After 10^6 arrivals the constraints hold to about 1e-13.
    What is left of a resource is a difference of large numbers, and a newcomer with little weight may live on it: a
    level is right to about 1e-15 times the pool over the newcomer's weight, so to 1e-8 where weights and demands lie
    within 10^6. Weights more than 10^8 apart are refused; ``engine="plain"`` takes them.

    References
    ----------
    Zhang, Liu, Li, Zhang, Journal on Communications 37(7), 2016, model (4) and Lemmas 1-3. The stack is ours.

    Examples
    --------
    Figure 1 of the paper: three users, the third brings half of the pool.

    >>> r = dmfa_srq([[1, 1/2], [1/2, 1], [1/2, 1]], weights=[1/4, 1/4, 1/2])
    >>> [r.tasks_at(k).round(4).tolist() for k in (1, 2, 3)]
    [[0.25], [0.3333, 0.3333], [0.3333, 0.3333, 0.5]]
    >>> r.lowest.round(4)
    array([1.    , 1.3333, 1.    ])
    """
    named, amounts = checked_arrivals(demands, weights)
    if engine == "plain":
        lowest, binding = _told(by_rule(dmfa_srq_rule, demands=named.values, weights=amounts))
    else:
        check_apart(amounts.max() / amounts.min(), "weights")
        lowest, binding = np.empty(len(amounts)), np.empty(len(amounts), dtype=np.int32)
        _run(named.values, amounts, lowest, binding)
    names = named.users, named.resources
    return DynamicAllocation(lowest, binding, named.values, amounts, *names, exact=dmfa_srq_rule)


def exact_levels(demands: Sequence[Sequence[Any]], weights: Sequence[Any]) -> list[Fraction]:
    """Run the rule in exact fractions: M^1, ..., M^n for small instances and witnesses.

    Parameters
    ----------
    demands, weights
        As for :func:`dmfa_srq`; anything that ``fractions.Fraction`` takes (floats count at face value).

    Raises
    ------
    InvalidInput
        Naming argument, rule and value.

    Notes
    -----
    Cost O(n^2 m) operations on fractions whose digits grow with n.

    Examples
    --------
    >>> [str(M) for M in exact_levels([["1", "1/2"], ["1/2", "1"]], ["1/4", "1/4"])]
    ['1', '4/3']
    """
    if weights is None:
        raise InvalidInput("weights", "must be given", weights)
    rows, amounts, _, _ = exact_instance(demands, weights)
    return [M for M, *_ in dmfa_srq_rule(rows, weights=amounts)]


@takes_instance
def static_optimum(demands: Any, *, weights: Any, engine: Engine = "fast") -> DynamicAllocation:
    """Share out everything anew at each arrival: the static optimum, equation (5) of Zhang et al. 2016.

    M^k = W_k / max_j sum_{i<=k} w_i d_ij, with d_ij the need of resource j divided by that of the dominant one, is the
    level of all of the first k users, and the allocation is weighted DRF on the pool of that moment. With zero demands
    it is the first round of DRF only.

    Parameters
    ----------
    demands, weights
        As for :func:`dmfa_srq`.
    engine : {"fast", "plain"}
        ``"plain"`` works :func:`static_optimum_rule` out in fractions.

    Returns
    -------
    DynamicAllocation
        As of :func:`dmfa_srq`, but the levels may fall: nobody keeps what was given before.

    Raises
    ------
    InvalidInput
        As :func:`dmfa_srq` does.

    Notes
    -----
    Cost O(n m).

    Examples
    --------
    >>> static_optimum([[1, 1/2], [1/2, 1], [1/2, 1]], weights=[1/4, 1/4, 1/2]).lowest.round(4)
    array([1.    , 1.3333, 1.1429])
    """
    named, amounts = checked_arrivals(demands, weights)
    if engine == "plain":
        lowest, binding = _told(by_rule(static_optimum_rule, demands=named.values, weights=amounts))
    else:
        need = (named.values * (amounts / row_max(named.values))[:, None]).cumsum(axis=0)  # for a level of one
        highest, binding = row_max(need), np.zeros(len(need), np.int32)
        for j in range(need.shape[1] - 1, -1, -1):  # the first of several, column by column
            binding[need[:, j] == highest] = j
        lowest = amounts.cumsum() / highest
    return DynamicAllocation(
        lowest,
        binding,
        named.values,
        amounts,
        named.users,
        named.resources,
        irrevocable=False,
        mechanism="static_optimum",
        exact=static_optimum_rule,
    )
