"""DRFH judged: the fair division of a heterogeneous cell in fractions of tasks."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from book.gdrf.exact_cell import exact_cell
from book.gdrf.oracle import Fluid, bound_on_mix
from fairbook.errors import FairbookError
from fairbook.model.inputs import FloatArray

__all__ = ["FluidShare", "fluid_share"]


class FluidShare(NamedTuple):
    """Lexicographically max-min dominant shares per weight, in fractions of tasks, with bounds on any placement.

    Attributes
    ----------
    level : float
        The least dominant share per weight of all users.
    upper : Fraction
        No placement, in whole tasks or not, gives every user more than this.
    levels, tasks : ndarray, shape (n,)
    by_class : ndarray, shape (K, n)
        Tasks of each user on each class.
    """

    level: float
    upper: Fraction
    levels: FloatArray
    tasks: FloatArray
    by_class: FloatArray


def fluid_share(
    demands: Any, machines: Any, machine_counts: Any = None, max_tasks: Any = None, weights: Any = None
) -> FluidShare:
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
    rates = [w / top for w, top in zip(cell.weights, cell.dominant, strict=True)]  # tasks at level 1
    # nobody is above the level at which it has all it wants
    bounds = [b / rate for b, rate in zip(cell.max_tasks, rates, strict=True) if b is not None]
    while not fixed.all():
        level, user_prices, result = fluid.raise_level(np.where(fixed, 0.0, weight), levels * weight * (1 - 1e-9))
        found = [bound_on_mix(cell, rates, prices) for prices in fluid.prices(result)]
        bounds += [bound for bound in found if bound is not None]
        stuck = ~fixed & ((user_prices > 1e-7) | (fluid.most <= level * weight * (1 + 1e-9)))
        if not stuck.any():
            raise FairbookError("a program of DRFH fixed nobody: tolerances too tight for this input")
        levels[stuck] = level
        fixed |= stuck
    held = levels * weight
    result = fluid.solve(
        np.zeros(fluid.each.shape[1]),
        sparse.vstack([fluid.use, fluid.each, -fluid.each]),
        np.concatenate([fluid.room.ravel(), held, -held * (1 - 1e-8)]),
        fluid.highest,
    )
    by_class = fluid.by_class(result.x)
    return FluidShare(float(levels.min()), min(bounds), levels, by_class.sum(axis=0), by_class)
