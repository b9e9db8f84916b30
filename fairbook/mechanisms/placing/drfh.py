"""DRFH (Wang, Liang, Li 2015): dominant resource fairness over a whole cell of machines of many shapes.

A user's dominant share is its largest part of the whole cell. Divisible tasks: the lowest level (dominant share by
weight) is made as large as the machines allow, then the next, a linear programme over classes of machines. Whole tasks:
progressive filling, the user with the lowest level next, with a rule for the machine: Best-Fit takes the one whose free
resources have the shape of the task, First-Fit the first with room.
"""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from fairbook.errors import FairbookError
from fairbook.mechanisms.placing.engine import fill
from fairbook.mechanisms.placing.machines import Machines, as_arguments, as_placement, progressive
from fairbook.mechanisms.readings import DrfhMethod, Engine
from fairbook.model.exact import by_rule
from fairbook.model.fluid_placement import FluidPlacement
from fairbook.model.inputs import FloatArray, as_weights, check_switch, raise_at_first, row_max
from fairbook.model.instance import checks_choices, takes_instance
from fairbook.model.placement import Cell, Placement, as_cell

__all__ = ["drfh", "drfh_rule"]


@checks_choices
def drfh_rule(
    demands: Any,
    machines: Any,
    *,
    machine_counts: Any = None,
    max_tasks: Any = None,
    weights: Any = None,
    method: Literal["best_fit", "first_fit"] = "best_fit",
    near: Any = 0,
) -> list[tuple[int, int]]:
    """Progressive filling in whole tasks: (user, machine) of each task, in order; numbers of any kind.

    The user with the lowest level is next, and leaves where its task fits nowhere. The programme for fractions of
    tasks is a linear one and needs a solver. The example of the DRFH paper, all amounts ten times as large:

    >>> from fractions import Fraction as F
    >>> drfh_rule([[F(2), F(10)], [F(10), F(2)]], [[F(2 * 10), F(12 * 10)], [F(12 * 10), F(2 * 10)]])[:3]
    [(0, 0), (1, 1), (0, 0)]
    """
    stand = Machines(demands, machines, machine_counts, near)
    per_task = [max(share) / w for share, w in zip(stand.shares, weights or [1 for _ in demands], strict=True)]

    def suits(i: int, j: int) -> Any:
        """Minus the sum of abs(d_r / d_1 - c_r / c_1), parts of the pool, 1 the first resource that the task needs."""
        if method == "first_fit":
            return -j
        need = stand.shares[i]
        free = [c / s if c else c for c, s in zip(stand.free(i, j), stand.pool, strict=True)]
        one = next(r for r, d in enumerate(need) if d)
        return -sum(abs(d / need[one] - c / free[one]) for d, c in zip(need, free, strict=True))

    return progressive(stand, max_tasks, per_task, range(len(per_task)), lambda i, room: room, suits)


_NEAR = 1e-9  # levels and prices this close count as equal
_SLACK = 1e-13  # what a user that has stopped may lose to rounding, so that the next programme has a solution
_DROPPED = 1.1e-9  # coefficients up to 1e-9 are nothing to the solver
_LEAST = 1e-7  # part of all weights that a weight may be where there is a programme, whose solver drops what is less


@overload
def drfh(
    demands: Any,
    machines: Any = None,
    machine_counts: Any = None,
    *,
    max_tasks: Any = None,
    weights: Any = None,
    method: Literal["best_fit", "first_fit"] = "best_fit",
    engine: Engine = "fast",
    progress: bool = False,
) -> Placement: ...
@overload
def drfh(
    demands: Any,
    machines: Any = None,
    machine_counts: Any = None,
    *,
    max_tasks: Any = None,
    weights: Any = None,
    method: Literal["fluid"],
    engine: Engine = "fast",
    progress: bool = False,
) -> FluidPlacement: ...
@takes_instance
def drfh(
    demands: Any,
    machines: Any = None,
    machine_counts: Any = None,
    *,
    max_tasks: Any = None,
    weights: Any = None,
    method: DrfhMethod = "best_fit",
    engine: Engine = "fast",
    progress: bool = False,
) -> Placement | FluidPlacement:
    """Place tasks by dominant resource fairness over all machines (DRFH, Wang et al. 2015).

    Parameters
    ----------
    demands : array_like or DataFrame, shape (n, m), or Instance
        Resource per task; zeros allowed, at least one positive entry a row.
    machines : array_like or DataFrame, shape (K, m)
        Capacity of one machine of each class, in the unit of the demands.
    machine_counts : array_like, shape (K,), optional
        Machines of each class. Default: one each.
    max_tasks : array_like, shape (n,), optional
        Bounds, rounded down; ``inf`` for none; fluid: 0, or a level (dominant share / weight) of 1e-7 or more.
        Default: no bounds.
    weights : array_like, shape (n,), optional
        Positive, scaled to sum to 1; fluid: none below 1e-7 of their sum. Default: equal.
    method : {"best_fit", "first_fit", "fluid"}
        Whole tasks with one of the two heuristics, or the optimum in fractions of tasks.
    engine : {"fast", "plain"}
        ``"plain"`` runs :func:`drfh_rule` on fractions made of the doubles: slow and exact. Fluid has one engine.
    progress : bool
        Show a progress bar on stderr (heuristics).

    Returns
    -------
    Placement or, for ``"fluid"``, FluidPlacement
        ``tasks`` (n,), ``dominant_shares`` (n,), ``utilisation`` (m,), ``violations()``; fluid: ``level``.

    Raises
    ------
    InvalidInput
        Naming argument, rule and value.

    Notes
    -----
    Best-Fit takes the machine with the smallest sum over r of abs(d_r / d_1 - c_r / c_1), where d and the free c
    are parts of the cell's totals and 1 stands for the first resource that the task needs. Ties: lowest number of
    user and machine, among sums within 1e-12. A user whose task fits nowhere leaves, the others go on.

    Cost for P tasks on N machines: First-Fit O(N m u + P (log n + m u + (b + m) log N)), u different demands, 1024 at
    most, of b kinds, 16 at most (measured: a task costs as much on 100 000 machines as on 1 000); Best-Fit O(N (m + log
    N) + P (log n + m N / 64)), at worst O(P N m), and O(N m + n m + P) memory (measured: 0.7 microseconds a task on
    1 000 machines, 2 on 10 000, 6 to 20 on 100 000); fluid a linear programme with K n variables per level at which
    users stop, at most n of them (measured: 1 to 2 s for 640 classes and 20 users).
    Fluid levels are right to 1e-6, where weights lie 10^7 apart to some 1e-5.

    References
    ----------
    Wang, Liang, Li, "Multi-resource fair allocation in heterogeneous cloud computing systems", IEEE TPDS 26(10),
    2015: the programme of DRFH and the Best-Fit heuristic.

    Examples
    --------
    One machine of (2 CPU, 12 GB) and one of (12 CPU, 2 GB); tasks of (0.2, 1) and (1, 0.2), as in the DRFH paper:

    >>> drfh([[0.2, 1], [1, 0.2]], machines=[[2, 12], [12, 2]]).tasks
    array([10, 10])
    >>> drfh([[0.2, 1], [1, 0.2]], machines=[[2, 12], [12, 2]], method="first_fit").tasks
    array([6, 6])
    """
    check_switch(progress, "progress")
    cell = as_cell(demands, machines, machine_counts, max_tasks)
    n = len(cell.demands)
    given = as_weights(weights, n, cell.named_users, scaled=False)  # equal levels stay equal
    if method == "fluid":
        scaled = given / given.sum()
        raise_at_first(scaled < _LEAST, "weights", f"must be at least {_LEAST:g} of their sum where fluid", given)
        load = cell.shares * (scaled / row_max(cell.shares))[:, None]
        dropped = (load > 0) & (load < _DROPPED)
        rule = f"times the user's part of the weights must be 0 or {_DROPPED:g} of its largest where fluid"
        raise_at_first(dropped, "demands", rule, cell.demands)
        highest = cell.max_tasks * (row_max(cell.shares) / scaled)
        tiny = (highest > 0) & (highest < _LEAST)
        raise_at_first(tiny, "max_tasks", f"must be 0 or allow a level of {_LEAST:g} where fluid", cell.max_tasks)
        return FluidPlacement(cell, *_fluid(cell, scaled), scaled, "drfh_fluid")
    if engine == "plain":
        placed = by_rule(drfh_rule, **as_arguments(cell), weights=given, method=method)
        return as_placement(cell, placed, f"drfh_{method}")
    dominant = cell.shares.argmax(axis=1)
    return fill(
        cell,
        f"drfh_{method}",
        per_slot=row_max(cell.shares) / given,
        order=np.arange(n),
        key="best_fit" if method == "best_fit" else "first",
        dominant=dominant,
        group=np.zeros_like(cell.machine_class),
        misfit=np.zeros((n, 1), np.int64),
        progress=progress,
    )


def _fluid(cell: Cell, weights: FloatArray) -> tuple[FloatArray, NDArray[np.int64], FloatArray]:
    """Solve for tasks by class, shape (K, n), lexicographically max-min in dominant share by weight.

    With the turn in which each user stops, and what all that a class has of a resource costs in each.
    Identical machines are one large machine here: what the large one holds can be dealt out in equal parts.
    """
    from scipy import sparse  # a fifth of a second, for those who ask
    from scipy.optimize import linprog

    n, m = cell.demands.shape
    K = len(cell.machines)
    capacity = cell.class_capacities / np.where(cell.totals > 0, cell.totals, 1)
    # a unit of y is a level of one: a user's share of its dominant resource equal to its weight
    per_level = weights / row_max(cell.shares)
    load = cell.shares * per_level[:, None]
    with np.errstate(over="ignore"):  # a bound beyond the range is none
        bounds = cell.max_tasks / per_level
    has = capacity > 0
    able = ((cell.demands == 0) | has[:, None]).all(axis=2)  # whether a class has all that a user needs, (K, n)
    # rows (k, r), columns (k, i), each row as a part of what the class has, so that tolerances are such parts, too
    scale = sparse.diags_array(np.divide(1.0, capacity, out=np.zeros_like(capacity), where=has).ravel())
    use = scale @ sparse.kron(sparse.eye_array(K), load.T, format="csr")
    add = sparse.kron(np.ones((1, K)), sparse.eye_array(n), format="csr")
    highest = np.where(able, np.inf, 0.0).ravel()
    rising, frozen, turn = np.ones(n, np.bool_), np.zeros(n), np.zeros(n, np.int64)
    prices: list[FloatArray] = []
    cost = np.append(np.zeros(K * n), -1.0)
    while rising.any():
        # maximise g: sum_k y_ki >= g for who rises, >= its level for who has stopped; no bound may lie below g
        rows = [[use, sparse.csr_array((K * m, 1))], [-add, sparse.csr_array(rising[:, None].astype(float))]]
        right = np.concatenate([has.ravel().astype(float), -frozen * (1 - _SLACK)])
        limits = np.column_stack([np.zeros(K * n + 1), np.append(highest, bounds[rising].min())])
        found = linprog(cost, A_ub=sparse.block_array(rows, format="csc"), b_ub=right, bounds=limits)
        if found.status != 0:
            raise FairbookError(f"the linear programme of DRFH was not solved: {found.message}")
        g = found.x[-1]
        # A price on a user's row: in every optimum its level is g (complementary slackness). The prices and that of
        # the bound on g add up to one. Some of the users that cannot rise may have none; they stop in a later turn.
        stop = rising & ((bounds <= g * (1 + _NEAR)) | (-found.ineqlin.marginals[K * m :] > _NEAR))
        if not stop.any():
            raise FairbookError("the linear programme of DRFH stopped nobody: its numbers are too far apart")
        frozen[stop], turn[stop], rising[stop] = np.minimum(g, bounds[stop]), len(prices), False
        prices.append(np.maximum(-found.ineqlin.marginals[: K * m], 0.0).reshape(K, m))
    by_level = np.maximum(found.x[:-1], 0.0).reshape(K, n)
    # at the last optimum some may stand above their level, where it costs nobody anything: DRFH equalises
    have = by_level.sum(axis=0)
    by_level *= np.divide(np.minimum(frozen, have), have, out=np.zeros(n), where=have > 0)
    return by_level * per_level, turn, np.array(prices)
