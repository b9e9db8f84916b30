"""The rule of cbDRF, and one phase by itself (Lu et al. 2014; two repairs).

Nodes run a chain of phases, and each has a credit C, at first C_0. A phase goes like this:

1. The pool is shared out by DRF, equation (1).
2. Each node is granted the part psi = min(1, C / C_0) of its DRF amount, (7). The rest lies idle. Two repairs give it
   to others: ``"weighted"`` and ``"capped"``.
3. At the end of the phase a node releases the part eta of its grant, (5). It should release all, (4).
4. If eta >= rho, its credit rises by a step, up to a cap; else it falls by a step, down to a floor, (6).

``run_phases`` is this rule: ``grant_phase`` is steps 1 and 2, ``end_phase`` steps 3 and 4. Arrays hold doubles or
fractions. A :class:`CreditRule` has the terms, and :func:`grant_tasks` shares out one phase, given the credit factors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.filling import fill_by_rate
from fairbook.kernels import INSIDE, kernel
from fairbook.mechanisms.credit.cbdrf_run import Grants, as_grants
from fairbook.mechanisms.credit.credit_rule import DOMINANT, GRANTS, LEAST, SCALED, WEIGHTED, Terms
from fairbook.mechanisms.readings import Engine, Grant
from fairbook.model.exact import fractions
from fairbook.model.inputs import (
    FAR_APART,
    IDLE,
    NOTHING,
    OWN,
    TIED,
    Array,
    FloatArray,
    Names,
    as_capacities,
    as_floats,
    check_amounts,
    check_apart,
    check_fractions,
    demand_matrix,
    in_order,
    in_phases,
    per_user,
)
from fairbook.model.instance import checks_choices
from fairbook.model.names import in_pandas, labels_of, order_of, reordered

__all__ = ["grant_tasks", "grant_tasks_rule"]

#: A resource of which less than this part is left is used up, and a node this close to its threshold complies.
NEAR = 1e-12


# ------------------------------------------------------------------------------------------------------------ the rule


@kernel(lambda demands, *_: 9 * demands.size * demands.shape[-1])
def run_phases(demands: Array, capacities: Array, released: Array, rho: Array, terms: Terms) -> Any:
    """Phase after phase: psi, what there is to share, and the grants; then what is held, and the credit that follows.

    Of doubles or fractions: demands (T, n, m), release ratios (T, n, 1) or (T, n, m), thresholds (T, n). Gives the
    columns of a run, credit and what is held with one row more, and how far apart the nodes of each phase are, (T, 2).
    """
    (T, n, m), kind = demands.shape, demands.dtype
    credit, psi, tasks = np.zeros((T + 1, n), kind), np.zeros((T, n), kind), np.zeros((T, n), kind)
    drf_tasks, eta, apart = np.zeros((T, n), kind), np.zeros((T, n), kind), np.zeros((T, 2), kind)
    pool, held = np.zeros((T, m), kind), np.zeros((T + 1, m), kind)
    complied, stops = np.zeros((T, n), np.bool_), np.zeros((T, n), np.int64)
    for i in range(n):
        credit[0, i] += terms.initial_credit
    for t in range(T):
        for i in range(n):
            psi[t, i] = min(credit[t, i], terms.initial_credit) / terms.initial_credit
        pool_of(capacities, held[t], terms.stays, pool[t])
        grant_phase(demands[t], psi[t], pool[t], terms.grant, tasks[t], drf_tasks[t], stops[t], apart[t])
        given = credit[t], tasks[t], demands[t], capacities, released[t], rho[t]
        end_phase(terms, *given, eta[t], held[t + 1], credit[t + 1], complied[t])
    return credit, psi, tasks, drf_tasks, eta, complied, pool, held, stops, apart


# ------------------------------------------------------------------------------------------------------ a phase begins


@kernel(INSIDE)
def pool_of(capacities: Array, held: Array, stays: bool, pool: Array) -> None:
    """Fill in what there is to share: all, or what is not still held; of a hair's breadth nothing."""
    for j in range(len(pool)):
        pool[j] = capacities[j] - held[j] if stays else capacities[j]
        if pool[j] <= NEAR * capacities[j]:
            pool[j] = 0 * pool[j]


# ----------------------------------------------------------------------------------------------------- what is granted


@kernel(lambda demands, *_: 9 * demands.size * demands.shape[-1])
def grant_phase(
    demands: Array, psi: Array, pool: Array, grant: int, tasks: Array, drf_tasks: Array, stops: Array, apart: Array
) -> None:
    """Share out a phase among nodes with credit factors psi: tasks, DRF tasks, and what stops each, filled in.

    Besides, how far apart nodes are that share a resource: by their demands, and by their weights.
    """
    n, kind = len(psi), demands.dtype
    alone, stopped, lid, rate = np.zeros(n, kind), np.zeros(n, np.int64), np.zeros(n, kind), np.zeros(n, kind)
    alone_in(demands, pool, alone, stopped)
    present, most = 0, 0 * psi[0]
    for i in range(n):
        lid[i] = np.inf
        present += stopped[i] != IDLE
        most = max(most, psi[i]) if alone[i] > 0 else most
    apart[0] = apart[1] = share(demands, alone, pool, lid, drf_tasks, stops)
    if grant == SCALED:  # equation (7); what is withheld lies idle, and then nothing stops anybody
        used = 0 * pool
        for i in range(n):
            tasks[i] = psi[i] * drf_tasks[i]
            for j in range(len(pool)):
                used[j] += tasks[i] * demands[i, j]
        for i in range(n):
            if psi[i] == 0 or (stops[i] >= 0 and used[stops[i]] < pool[stops[i]] * (1 - NEAR)):
                stops[i] = NOTHING
    elif grant == WEIGHTED:  # a node without credit gets nothing
        for i in range(n):
            rate[i] = (psi[i] / most if most > 0 else psi[i]) * alone[i]
        apart[1] = share(demands, rate, pool, lid, tasks, stops)
    else:  # a punished node gets psi times what it could run alone on an equal part; DRF shares the rest
        for i in range(n):
            lid[i] = psi[i] / max(present, 1) if psi[i] < 1 else lid[i]
        share(demands, alone, pool, lid, tasks, stops)
        for i in range(n):
            if psi[i] < 1:
                tasks[i], stops[i] = lid[i] * alone[i], OWN
    for i in range(n):
        if alone[i] == 0:
            stops[i] = stopped[i]


@kernel(INSIDE)
def alone_in(demands: Array, pool: Array, tasks: Array, stops: NDArray[np.int64]) -> None:
    """Fill in what each node could run alone, and what stops one that runs nothing.

    That is not being present, or the first resource that it needs and of which nothing is there.
    """
    for i in range(len(demands)):
        largest, stops[i] = 0 * pool[0], IDLE
        for j in range(len(pool) - 1, -1, -1):
            if demands[i, j] > 0:
                stops[i] = j if pool[j] == 0 else max(stops[i], NOTHING)
                largest = max(largest, demands[i, j] / pool[j]) if pool[j] > 0 else largest
        if stops[i] == NOTHING:
            tasks[i] = 1 / largest


@kernel(INSIDE)
def share(demands: Array, rate: Array, pool: Array, lid: Array, tasks: Array, stops: Array) -> Any:
    """DRF of ``rate`` tasks for each unit of level, up to the levels ``lid``; fills in tasks, and what stops each."""
    apart = fill_by_rate(demands, rate, 0 * rate, lid, pool, tasks, stops)
    for i in range(len(rate)):
        tasks[i] *= rate[i]
    return apart


# -------------------------------------------------------------------------------------------------------- a phase ends


@kernel()
def end_phase(
    terms: Terms,
    credit: Array,
    tasks: Array,
    demands: Array,
    capacities: Array,
    released: Array,
    rho: Array,
    eta: Array,
    held: Array,
    after: Array,
    complied: NDArray[np.bool_],
) -> None:
    """End a phase; fill in release ratios eta, (5), what is held, zero before, credit after, (6), and who complied."""
    for i in range(len(tasks)):
        eta[i] = 1 + 0 * tasks[i]
        if tasks[i] > 0:  # nothing granted, nothing held
            one = released.shape[1] == 1
            eta[i] = released[i, 0] if one else one_ratio(released[i], demands[i], capacities, terms.ratio)
        after[i], complied[i] = settle(terms, credit[i], eta[i], rho[i])
        for j in range(len(held)):
            held[j] += tasks[i] * (demands[i, j] * (1 - released[i, min(j, released.shape[1] - 1)]))


@kernel(INSIDE)
def one_ratio(released: Array, demand: Array, capacities: Array, how: int) -> Any:
    """Make one release ratio of those of the resources that a node needs."""
    largest, least, total, count = 0 * released[0], 1 + 0 * released[0], 0 * released[0], 0
    for j in range(len(demand)):
        if demand[j] > 0:
            largest, least = max(largest, demand[j] / capacities[j]), min(least, released[j])
            total, count = total + released[j], count + 1
    if how == DOMINANT:
        for j in range(len(demand)):
            if demand[j] / capacities[j] >= largest * (1 - TIED):  # the first of those that are tied
                return released[j]
    return least if how == LEAST else total / count


@kernel(INSIDE)
def settle(terms: Terms, credit: Any, eta: Any, rho: Any) -> tuple[Any, bool]:
    """Give the credit of a node after a phase, (6), and whether it complied: within 1e-12 of its threshold it does."""
    complied = eta >= rho - NEAR
    lost = terms.step_down * (1 - eta) if terms.graded else terms.step_down
    after = credit + terms.step_up if complied else max(credit - lost, terms.credit_floor)
    after = min(after, terms.credit_cap)
    for mark in (terms.initial_credit, terms.credit_floor, terms.credit_cap):
        if abs(after - mark) <= terms.near:
            after = mark
    return after, complied


# ------------------------------------------------------------------------------------------------- what the rule takes


def check_nodes(apart: Array) -> None:
    """Refuse the first phase, (T, 2), whose nodes lie too far apart for doubles: by their demands, or their weights."""
    if apart.dtype != object:
        first = int((~(apart.ravel() < FAR_APART)).argmax())
        check_apart(apart.ravel()[first], ("demands", "credit_factor")[first % 2])


# ----------------------------------------------------------------------------------------------------- around the rule


def grant_tasks_rule(demands: Any, credit_factor: Any, *, capacities: Any = None, grant: Grant = "scaled") -> list[Any]:
    """Share out one phase in fractions, given the credit factors: tasks.

    >>> for grant in ("scaled", "weighted", "capped"):
    ...     print(grant, *grant_tasks_rule([[1, 4], [3, 1]], [1, "1/2"], capacities=[9, 18], grant=grant))
    scaled 3 1
    weighted 54/13 18/13
    capped 69/16 3/4
    """
    need = fractions(demands)
    pool = fractions([1] * need.shape[1] if capacities is None else capacities)
    return granted(need, fractions(credit_factor), pool, grant)[0].tolist()


def granted(demands: Array, psi: Array, pool: Array, grant: Grant) -> tuple[Array, Array, NDArray[np.int64], Array]:
    """Share out a phase, of doubles or fractions: tasks, DRF tasks, what stops each, how far apart they are."""
    tasks, drf_tasks, stops = np.zeros_like(psi), np.zeros_like(psi), np.zeros(len(psi), np.int64)
    apart = np.zeros(2, psi.dtype)
    grant_phase(demands, psi, pool, GRANTS.index(grant), tasks, drf_tasks, stops, apart)
    return tasks, drf_tasks, stops, apart


def as_ratios(
    values: Any,
    argument: str,
    users: Names | None,
    shapes: tuple[tuple[int, ...], ...],
    resources: Names | None = None,
) -> FloatArray:
    """Check parts between 0 and 1 of one of some shapes; names of users, and of resources with three axes, count."""
    given = in_phases(values, argument)
    values = given.values if given.users is not None else in_pandas(given.values, argument)
    if given.users is not None:
        values = np.stack([in_order(given._replace(values=one), users, resources, argument) for one in values])
    elif isinstance(values, pd.Series):
        values = reordered(values, users, argument, "users")
    elif isinstance(values, pd.DataFrame):
        order = order_of(labels_of(values.columns, f"{argument}.columns"), users, f"{argument}.columns", "users")
        values = values if order is None else values.iloc[:, order]
    rule = f"must be one number, or have one of the shapes {', '.join(map(str, shapes[1:]))}"
    ratios = as_floats(values, argument, (0, 1, 2, 3), rule)
    check_fractions(ratios, argument)
    if ratios.shape not in shapes:
        raise InvalidInput(argument, rule, f"shape {ratios.shape}")
    return ratios


def share_out(
    demands: FloatArray,
    psi: FloatArray,
    pool: FloatArray,
    grant: Grant,
    names: tuple[Names | None, Names | None],
    engine: Engine = "fast",
) -> Grants:
    """Share out a phase, and refuse what doubles do not tell."""
    need, factor, room = (fractions(one) if engine == "plain" else one for one in (demands, psi, pool))
    tasks, drf_tasks, stops, apart = granted(need, factor, room, grant)
    check_nodes(apart)
    return as_grants(tasks.astype(float), drf_tasks.astype(float), stops, demands, psi, pool, grant, names)


@checks_choices
def grant_tasks(
    demands: Any, credit_factor: Any, *, capacities: Any = None, grant: Grant = "scaled", engine: Engine = "fast"
) -> Grants:
    """Share out one phase, given the credit factors.

    Parameters
    ----------
    demands : array_like or DataFrame, shape (n, m)
        Resource per task in this phase; a row of zeros means that the node is not present.
    credit_factor : array_like or Series, shape (n,)
        psi in [0, 1]. A node with psi = 1 is *in good standing*, one with psi < 1 is *punished*.
    capacities : array_like or Series, shape (m,), optional
        The pool. Default: ones.
    grant : {"scaled", "weighted", "capped"}
        ``"scaled"``: psi times the DRF amount; nobody gets the rest (the paper's equation (7)).
        ``"weighted"``: DRF with the credit factors as weights (ours).
        ``"capped"``: a punished node gets psi times what it could run alone on an equal part of the pool, one part for
        each node present; DRF shares the rest among the nodes in good standing (ours).
    engine : {"fast", "plain"}
        ``"plain"`` works the same code out in fractions.

    Returns
    -------
    Grants
        An Allocation with equal weights and no task bounds, so that the checks of :mod:`fairbook.properties` judge it
        as any other. ``bottlenecks``: a resource that is used up; -1 where a cap stops the node; -2 where the rule
        withholds what is free, or all, for psi = 0 (with ``"capped"`` that is a cap); -3 where the node is not
        present. Besides ``drf_tasks`` and ``credit_factor``, both (n,).

    Notes
    -----
    Cost O(n m) per resource that runs out, expected.

    References
    ----------
    Lu et al. 2014, equation (7) (reconstructed).

    Examples
    --------
    The example of the DRF paper, with the second node at half its credit.

    >>> for grant in ("scaled", "weighted", "capped"):
    ...     print(grant, grant_tasks([[1, 4], [3, 1]], [1, 1/2], capacities=[9, 18], grant=grant).tasks.round(3))
    scaled [3. 1.]
    weighted [4.154 1.385]
    capped [4.312 0.75 ]
    """
    named = demand_matrix(demands)
    check_amounts(named.values, "demands")
    n, m = named.values.shape
    factor = per_user(credit_factor, n, named.users, "credit_factor")
    check_fractions(factor, "credit_factor")
    pool = as_capacities(capacities, m, named.resources)
    return share_out(named.values, factor, pool, grant, (named.users, named.resources), engine)
