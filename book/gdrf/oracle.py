"""GDRF and its opponents judged: the rules in exact fractions, and bounds by linear programs.

The functions ``exact_*`` run the rules of the library on fractions. What a fraction cannot hold, the placement fairness
f = T^w, is compared by logarithms of whole numbers, and where these are close by coprime factors of the numbers
themselves, so that a tie is a tie and nothing else is.

:func:`most_tasks` and :func:`same_mix` bound what any placement can reach. Their programs have one block a machine
class, because in fractions the N_k machines of a class run exactly what one machine N_k times as large runs (give each
machine the N_k-th part; the other way round, add up). Floats enter only the search for prices. The bound that is
returned follows from these prices in fractions, by weak duality, so it holds whatever the solver did.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from book.common.oracle_drf import solved
from book.gdrf.exact_cell import ZERO, ExactCell, Power, exact_cell
from fairbook.errors import FairbookError
from fairbook.mechanisms.placing.drfh import drfh_rule
from fairbook.mechanisms.placing.gdrf import gdrf_rule
from fairbook.mechanisms.placing.mdrf import mdrf_rule
from fairbook.mechanisms.placing.per_server_drf import per_server_drf_rule
from fairbook.model.exact import as_fractions
from fairbook.model.inputs import FloatArray, as_whole

# ------------------------------------------------------------------------------------------- the rules, exactly


class ExactPlacement(NamedTuple):
    """Tasks of each user, and every task placed as (user, machine), in order; machines are numbered class by class."""

    tasks: list[int]
    placed: list[tuple[int, int]]


def _exactly(rule: Callable[..., Any], *data: Any, seed: int | None = None, **how: Any) -> ExactPlacement:
    """Run a rule of the library on demands, machines, counts, bounds and weights in fractions.

    A seed is that of the lots: ``default_rng(seed)`` permutes the users, then the resources.
    """
    cell = exact_cell(*data)
    if seed is not None:
        rng = np.random.default_rng(as_whole(seed, "seed", 0))
        how["lots"] = rng.permutation(cell.n).tolist(), rng.permutation(cell.m).tolist()
    bounds = [np.inf if limit is None else limit for limit in cell.limits]
    placed = rule(cell.demands, cell.machines, machine_counts=cell.counts, max_tasks=bounds, **how)
    users = [user for user, _ in placed]
    return ExactPlacement([users.count(i) for i in range(cell.n)], placed)


def exact_gdrf(
    demands: Any, machines: Any, machine_counts: Any = None, max_tasks: Any = None, seed: int = 0, **how: Any
) -> ExactPlacement:
    """Run the rule of GDRF in fractions, T^w compared exactly; ``how``: readings as for ``fairbook.gdrf``.

    Floats count at face value; VMs fit exactly or not at all. The user of the first resource takes the machine of its
    type first, then the other one.

    >>> exact_gdrf([[2, 1], [1, 2]], [[4, 2], [2, 4]], max_tasks=[3, 1])
    ExactPlacement(tasks=[2, 1], placed=[(0, 0), (1, 1), (0, 0)])
    """
    return _exactly(gdrf_rule, demands, machines, machine_counts, max_tasks, seed=seed, power=Power, **how)


def exact_drfh(
    demands: Any, machines: Any, machine_counts: Any = None, max_tasks: Any = None, weights: Any = None, **how: Any
) -> ExactPlacement:
    """Run the rule of DRFH in fractions; ``how``: ``method``.

    >>> exact_drfh([[1, 2], [2, 1]], [[4, 2], [2, 4]]).placed
    [(0, 1), (1, 0), (0, 1), (1, 0)]
    """
    shares = exact_cell(demands, machines, machine_counts, max_tasks, weights).weights
    return _exactly(drfh_rule, demands, machines, machine_counts, max_tasks, weights=shares, **how)


def exact_per_server(
    demands: Any, machines: Any, machine_counts: Any = None, max_tasks: Any = None, weights: Any = None
) -> ExactPlacement:
    """Run the rule of DRF machine by machine in fractions.

    >>> exact_per_server([["1/5", 1], [1, "1/5"]], [[2, 12], [12, 2]]).tasks
    [6, 6]
    """
    shares = exact_cell(demands, machines, machine_counts, max_tasks, weights).weights
    return _exactly(per_server_drf_rule, demands, machines, machine_counts, max_tasks, weights=shares)


def exact_mdrf(
    demands: Any, machines: Any, machine_counts: Any = None, max_tasks: Any = None, *, seed: int = 0, **how: Any
) -> ExactPlacement:
    """Run the rule of the stand-in for MDRF in fractions, entropies compared exactly; ``how``: ``reading``.

    >>> exact_mdrf([[1, 2]], [[4, 2], [2, 4]]).placed
    [(0, 1), (0, 1), (0, 0)]
    """
    return _exactly(mdrf_rule, demands, machines, machine_counts, max_tasks, seed=seed, power=Power, **how)


# --------------------------------------------------------------------------------------------- linear programs


class FluidOptimum(NamedTuple):
    """Optimum in fractions of tasks, and the proof that there is none higher.

    Attributes
    ----------
    value : float
        What the solver reached, accurate to about 1e-7.
    upper : Fraction
        A bound that follows from ``prices`` alone: no placement, in whole tasks or not, has more.
    tasks : ndarray, shape (n,)
    by_class : ndarray, shape (K, n)
        Tasks of each user on each class.
    prices : list of K lists of m
        Not negative, per unit of each resource of each class.
    """

    value: float
    upper: Fraction
    tasks: FloatArray
    by_class: FloatArray
    prices: list[list[Fraction]]


class Fluid:
    """Linear programs over a cell. Variables: z_ki >= 0, the dominant share of user i that it runs on class k."""

    def __init__(self, cell: ExactCell) -> None:
        self.cell = cell
        n, K = cell.n, len(cell.machines)
        self.dominant = np.array([float(x) for x in cell.dominant])
        need = np.array([[float(x / top) for x in row] for row, top in zip(cell.shares, cell.dominant, strict=True)])
        self.room = np.array(
            [
                [float(count * c / s) if c else 0.0 for c, s in zip(row, cell.pool, strict=True)]
                for row, count in zip(cell.machines, cell.counts, strict=True)
            ]
        )
        self.most = np.array(
            [np.inf if b is None else float(b * top) for b, top in zip(cell.max_tasks, cell.dominant, strict=True)]
        )
        self.use = sparse.kron(sparse.eye_array(K), need.T).tocsr()
        self.each = sparse.kron(np.ones((1, K)), sparse.eye_array(n)).tocsr()
        self.highest = np.where(np.array(cell.able).ravel(), np.inf, 0.0)
        self.bounded = np.flatnonzero(np.isfinite(self.most))

    def solve(self, cost: FloatArray, rows: Any, right: FloatArray, highest: FloatArray) -> Any:
        return solved("a program of the cell", cost, rows, right, np.column_stack([np.zeros(len(cost)), highest]))

    def prices(self, result: Any) -> list[list[list[Fraction]]]:
        """Give dual prices of the resources, per unit of each, in fractions and none negative: as found, and rounded.

        Where the instance has small numbers, one of the rounded ones is as a rule the true dual optimum up to scale,
        and the bound that follows from it is the optimum itself.
        """
        K, m = self.room.shape
        found = np.maximum(-result.ineqlin.marginals[: K * m], 0.0).reshape(K, m)
        exact = [
            [Fraction(float(p)) / s if s else ZERO for p, s in zip(row, self.cell.pool, strict=True)] for row in found
        ]
        top = max(max(row) for row in exact)
        rounded = [
            [[(p / top).limit_denominator(largest) for p in row] for row in exact]
            for largest in (100, 10**4, 10**6)
            if top
        ]
        return [exact, *rounded]

    def by_class(self, shares: FloatArray) -> FloatArray:
        return np.asarray(shares, dtype=float).reshape(len(self.room), -1) / self.dominant

    def raise_level(self, goal: FloatArray, floor: FloatArray) -> tuple[float, FloatArray, Any]:
        """Maximise L with at least floor_i + L goal_i of dominant share for each user, and no more than its bound.

        Give L, the price of each user's row (of floor + L goal), and the solver's result.
        """
        last = sparse.csr_array(goal[:, None])
        rows = sparse.vstack(
            [
                sparse.hstack([self.use, sparse.csr_array((self.use.shape[0], 1))]),
                sparse.hstack([-self.each, last]),
                sparse.hstack([self.each[self.bounded], sparse.csr_array((len(self.bounded), 1))]),
            ],
            format="csr",
        )
        cost = np.zeros(self.each.shape[1] + 1)
        cost[-1] = -1.0
        result = self.solve(
            cost,
            rows,
            np.concatenate([self.room.ravel(), -floor, self.most[self.bounded]]),
            np.append(self.highest, np.inf),
        )
        a = self.use.shape[0]
        return float(result.x[-1]), -result.ineqlin.marginals[a : a + self.cell.n], result


def total_price(cell: ExactCell, prices: list[list[Fraction]]) -> Fraction:
    """Price of all machines."""
    return sum(
        (
            count * c * p
            for row, count, price in zip(cell.machines, cell.counts, prices, strict=True)
            for c, p in zip(row, price, strict=True)
        ),
        ZERO,
    )


def task_prices(cell: ExactCell, prices: list[list[Fraction]]) -> list[Fraction | None]:
    """Price of a task of each user where it is cheapest among the classes that can run it; None if none can."""
    offers = [
        [
            sum((d * p for d, p in zip(row, price, strict=True)), ZERO)
            for price, able in zip(prices, cell.able, strict=True)
            if able[i]
        ]
        for i, row in enumerate(cell.demands)
    ]
    return [min(of, default=None) for of in offers]


def _bound_on_tasks(cell: ExactCell, prices: list[list[Fraction]]) -> tuple[Fraction, list[list[Fraction]]] | None:
    """Scale prices so that the cheapest task costs 1: the least bound on the number of tasks that follows from them.

    None where none does, as somebody pays nothing.
    """
    asked = [price for price in task_prices(cell, prices) if price is not None]
    if not all(asked):
        return None
    scale = max((1 / price for price in asked), default=ZERO)
    return scale * total_price(cell, prices), [[scale * p for p in row] for row in prices]


def bound_on_mix(cell: ExactCell, mix: Sequence[Fraction], prices: list[list[Fraction]]) -> Fraction | None:
    """Give how many times the given tasks of all users can be paid for; None where they cost nothing."""
    cost = ZERO
    for x, price in zip(mix, task_prices(cell, prices), strict=True):
        if x and price is None:
            return ZERO  # no machine runs its tasks
        cost += x * (price or ZERO)
    return total_price(cell, prices) / cost if cost else None


def most_tasks(demands: Any, machines: Any, machine_counts: Any = None) -> FluidOptimum:
    """Bound the number of tasks of any placement by a linear program.

    Maximise the sum of x_ik with sum_i x_ik d_ir <= N_k C_kr. One variable stands for a user on a whole class: in
    fractions the machines of a class are one large machine.

    Parameters
    ----------
    demands, machines, machine_counts
        As for :func:`exact_gdrf`.

    Returns
    -------
    FluidOptimum
        ``value`` and ``upper`` in tasks.

    Raises
    ------
    InvalidInput, FairbookError
        The latter where HiGHS does not solve the program.

    Notes
    -----
    The bound: let a task of user i cost at least v_i at the prices y. Then the tasks are at most sum_k N_k C_k y_k,
    given v_i >= 1; where the solver's prices miss that by a rounding error, the price of the scarcest resource is
    raised until it holds. The least bound of the solver's prices and of the same rounded is given, each in its best
    scale.
    A float engine that lets a machine be overfull by a part of 1e-12 may exceed the bound by that part.
    Cost: one HiGHS run with n K variables and K m rows, and O(n K m) operations on fractions.

    Examples
    --------
    >>> bound = most_tasks([[2, 1], [1, 2]], [[4, 2], [2, 4]])
    >>> str(bound.upper), bound.tasks.round(6)
    ('4', array([2., 2.]))
    """
    cell = exact_cell(demands, machines, machine_counts)
    fluid = Fluid(cell)
    unit = fluid.dominant.min()
    cost = np.tile(-unit / fluid.dominant, len(cell.machines))
    result = fluid.solve(cost, fluid.use, fluid.room.ravel(), fluid.highest)
    exact, *rounded = fluid.prices(result)
    exact = [[p / Fraction(float(unit)) for p in row] for row in exact]
    for machine, able, row in zip(cell.machines, cell.able, exact, strict=True):
        for i, need in enumerate(cell.demands):
            lack = 1 - sum((d * p for d, p in zip(need, row, strict=True)), ZERO)
            if able[i] and lack > 0:
                r = min((r for r in range(cell.m) if need[r]), key=lambda r: machine[r] / need[r])
                row[r] += lack / need[r]
    proofs = [proof for found in (exact, *rounded) if (proof := _bound_on_tasks(cell, found)) is not None]
    upper, prices = min(proofs, key=lambda proof: proof[0])
    by_class = fluid.by_class(result.x)
    return FluidOptimum(float(by_class.sum()), upper, by_class.sum(axis=0), by_class, prices)


def same_mix(tasks: Any, demands: Any, machines: Any, machine_counts: Any = None) -> FluidOptimum:
    """Find the largest theta for which theta times the given tasks fit on the machines in fractions of tasks.

    No placement with the users in the same proportions has more than theta times as many tasks.

    Parameters
    ----------
    tasks : sequence, shape (n,)
        Not negative, some positive: how many each user has.
    demands, machines, machine_counts
        As for :func:`exact_gdrf`.

    Returns
    -------
    FluidOptimum
        ``value`` and ``upper`` are theta.

    Raises
    ------
    InvalidInput, FairbookError
        The latter where HiGHS does not solve the program.

    Notes
    -----
    The bound: with v_i the least cost of a task of user i at the prices y, theta sum_i tasks_i v_i is at most
    sum_k N_k C_k y_k. This holds for all prices, so nothing needs repair.
    Cost: one HiGHS run with n K + 1 variables and K m + n rows, and O(n K m) operations on fractions.

    Examples
    --------
    >>> str(same_mix([1, 1], [[2, 1], [1, 2]], [[4, 2], [2, 4]]).upper)
    '2'
    """
    cell = exact_cell(demands, machines, machine_counts)
    mix = as_fractions(tasks, "tasks")
    fluid = Fluid(cell)
    held = [x * top for x, top in zip(mix, cell.dominant, strict=True)]
    unit = max(held)
    level, _, result = fluid.raise_level(np.array([float(h / unit) for h in held]), np.zeros(cell.n))
    by_class = fluid.by_class(result.x[:-1])
    proofs = [
        (bound, prices) for prices in fluid.prices(result) if (bound := bound_on_mix(cell, mix, prices)) is not None
    ]
    upper, prices = min(proofs, key=lambda proof: proof[0])
    return FluidOptimum(level / float(unit), upper, by_class.sum(axis=0), by_class, prices)


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
        As for :func:`exact_gdrf`; bounds are not rounded.
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
