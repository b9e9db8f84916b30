"""DRFH judged: the fair division of a heterogeneous cell in fractions of tasks, and in whole tasks for small cases."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from book.gdrf.oracle import ZERO, ExactCell, Fluid, Whole, exact_cell, task_prices, total_price
from fairbook.errors import FairbookError
from fairbook.model.inputs import FloatArray

__all__ = ["FluidShare", "WholeShare", "fluid_share", "whole_share"]


class FluidShare(NamedTuple):
    """Lexicographically max-min dominant shares per weight, in fractions of tasks, with bounds on any placement.

    Attributes
    ----------
    level : float
        The least dominant share per weight of all users.
    upper : Fraction
        No placement, in whole tasks or not, gives every user more than this.
    open_level : float
        The least of the users that want more than they have; ``inf`` where all have what they want.
    open_upper : Fraction or None
        No placement gives every user either more than this or all it wants. None: no bound follows.
    levels, tasks : ndarray, shape (n,)
    by_class : ndarray, shape (K, n)
        Tasks of each user on each class.
    prices : list of K lists of m
        Not negative, per unit of each resource of each class: from these ``open_upper`` follows.
    """

    level: float
    upper: Fraction
    open_level: float
    open_upper: Fraction | None
    levels: FloatArray
    tasks: FloatArray
    by_class: FloatArray
    prices: list[list[Fraction]]


def highest_level(cell: ExactCell, prices: list[list[Fraction]]) -> Fraction | None:
    """Give the highest level for which all users can pay; None where they can for what all of them want.

    With v_i the least price of a task of user i, what user i has at level L, min(max_tasks_i, L w_i / mu_i) tasks,
    costs v_i apiece or more, and all machines together are worth sum_k N_k C_k y_k. Any prices give a true bound.
    """
    left = total_price(cell, prices)
    growth, ends = ZERO, []  # cost per level; (level at which a user has all it wants, what its growth was)
    for bound, price, top, weight in zip(cell.max_tasks, task_prices(cell, prices), cell.dominant, cell.weights,
                                         strict=True):
        if bound == 0:
            continue
        if price is None:
            return ZERO  # no machine runs its tasks
        growth += price * weight / top
        if bound is not None:
            ends.append((bound * top / weight, price * weight / top))
    level = ZERO
    for end, own in sorted(ends):
        if growth and level + left / growth <= end:
            return level + left / growth
        left -= growth * (end - level)
        level, growth = end, growth - own
    return level + left / growth if growth else None


def fluid_share(demands: Any, machines: Any, machine_counts: Any = None, max_tasks: Any = None,
                weights: Any = None) -> FluidShare:
    """Find the DRFH optimum: raise the least dominant share per weight, then the next, by linear programs.

    Maximise L with sum_k x_ik mu_i* >= L w_i and sum_i x_ik d_ir <= N_k C_kr. Users whose row has a positive dual price
    stand at L in every optimum, by complementary slackness: they are fixed there, and the rest goes on. One variable
    stands for a user on a whole class: in fractions the N_k machines of a class are one machine N_k times as large.

    Parameters
    ----------
    demands, machines, machine_counts, max_tasks
        As for :func:`book.gdrf.oracle.exact_gdrf`; bounds are not rounded.
    weights : sequence, shape (n,), optional
        Positive, scaled to sum 1; None means 1/n each.

    Returns
    -------
    FluidShare

    Raises
    ------
    InvalidInput, FairbookError
        The latter where HiGHS does not solve a program.

    Notes
    -----
    Accurate to about 1e-7, the bounds aside, which are exact consequences of the prices. With positive demands and
    capacities and no bounds one program fixes all users. Cost: at most n + 1 HiGHS runs with n K + 1 variables and
    K m + 2 n rows, and O(n K m) operations on fractions for each.

    References
    ----------
    Wang, Liang, Li: Multi-resource fair allocation in heterogeneous cloud computing systems, IEEE TPDS 26(10), 2015.

    Examples
    --------
    Two machines and two users who suit one each; each gets 4/7 of its dominant resource, 8/7 of its half.

    >>> share = fluid_share([[1, 2], [2, 1]], [[10, 4], [4, 10]])
    >>> str(share.upper), share.tasks.round(6)
    ('8/7', array([4., 4.]))
    """
    cell = exact_cell(demands, machines, machine_counts, max_tasks, weights)
    fluid, n = Fluid(cell), cell.n
    weight = np.array([float(w) for w in cell.weights])
    levels, fixed = np.zeros(n), np.zeros(n, dtype=bool)
    proofs: list[tuple[Fraction, list[list[Fraction]]]] = []
    first: list[list[Fraction]] = []
    while not fixed.all():
        level, user_prices, result = fluid.raise_level(np.where(fixed, 0.0, weight), levels * weight * (1 - 1e-9))
        for prices in fluid.prices(result):
            first = first or prices
            if (bound := highest_level(cell, prices)) is not None:
                proofs.append((bound, prices))
        stuck = ~fixed & ((user_prices > 1e-7) | (fluid.most <= level * weight * (1 + 1e-9)))
        if not stuck.any():
            raise FairbookError("a program of DRFH fixed nobody: tolerances too tight for this input")
        levels[stuck] = level
        fixed |= stuck
    held = levels * weight
    result = fluid.solve(np.zeros(fluid.each.shape[1]), sparse.vstack([fluid.use, fluid.each, -fluid.each]),
                         np.concatenate([fluid.room.ravel(), held, -held * (1 - 1e-8)]), fluid.highest)
    by_class = fluid.by_class(result.x)
    waiting = fluid.most > held * (1 + 1e-7)
    open_upper, prices = min(proofs, key=lambda proof: proof[0]) if proofs else (None, first)
    own = [b * top / w for b, top, w in zip(cell.max_tasks, cell.dominant, cell.weights, strict=True) if b is not None]
    return FluidShare(float(levels.min()), min([*own, *([open_upper] if open_upper is not None else [])]),
                      float(levels[waiting].min()) if waiting.any() else np.inf, open_upper, levels,
                      by_class.sum(axis=0), by_class, prices)


class WholeShare(NamedTuple):
    """The best least dominant share per weight in whole tasks, and the most tasks that go with it.

    Attributes
    ----------
    level : Fraction
    total : int
    tasks : list of n
    by_machine : ndarray of int, shape (N, n)
    """

    level: Fraction
    total: int
    tasks: list[int]
    by_machine: NDArray[np.int64]


def whole_share(demands: Any, machines: Any, machine_counts: Any = None, max_tasks: Any = None,
                weights: Any = None) -> WholeShare:
    """Find the largest least dominant share per weight in whole tasks, then the most tasks, by integer programs.

    Parameters
    ----------
    demands, machines, machine_counts, max_tasks, weights
        As for :func:`fluid_share`; bounds are rounded down. A user with a bound counts like any other: where one may
        have nothing, the level is 0.

    Returns
    -------
    WholeShare

    Raises
    ------
    InvalidInput, FairbookError
        The latter where HiGHS does not solve a program, or only by overfilling a machine.

    Notes
    -----
    Whether a level is the largest is asked in whole numbers: can every user have one task more than it needs for that
    level? Only a "no" ends the search. Cost: HiGHS runs with n N integer variables, exponential at worst; for n N up to
    about 60.

    Examples
    --------
    >>> share = whole_share([[1, 2], [2, 1]], [[10, 4], [4, 10]])
    >>> str(share.level), share.tasks
    ('8/7', [4, 4])
    """
    cell = exact_cell(demands, machines, machine_counts, max_tasks, weights)
    program = Whole(cell)
    rates = [top / w for top, w in zip(cell.dominant, cell.weights, strict=True)]  # level of one task
    goal = np.array([float(rate / max(rates)) for rate in rates])
    level, least = ZERO, [0] * cell.n
    while (found := program.solve(least, goal)) is not None:
        level = min(int(x) * rate for x, rate in zip(found.sum(axis=0), rates, strict=True))
        least = [level // rate + 1 for rate in rates]
    best = program.solve([-(-level // rate) for rate in rates])
    if best is None:
        raise FairbookError("HiGHS lost a placement that it had found")
    tasks = best.sum(axis=0).tolist()
    return WholeShare(level, sum(tasks), tasks, best)
