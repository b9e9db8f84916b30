"""cbDRF: dominant resource fairness scaled by a credit that follows what nodes release (Lu et al. 2014).

Nodes run a chain of phases. In each phase the pool is shared by DRF, and a node gets the part psi = min(1, C / C_0) of
its DRF amount, where C is its credit. At the end of the phase it should release all that it was granted. Who releases
at least the part rho gains credit, who does not loses some.

:func:`cbdrf_rule` is the rule in fractions. :func:`cbdrf` runs the same loops compiled, :class:`fairbook.CbDrf` takes
one phase at a time, and :func:`grant_tasks` is what happens inside of one. Two repairs that keep the punishment and
mend what it breaks stand beside the paper's rule, under ``grant``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.kernels import INSIDE, kernel
from fairbook.mechanisms.cbdrf_run import IDLE, OWN, SNAP, UNSTOPPED, CreditRule, CreditRun, Grants
from fairbook.mechanisms.cbdrf_strategies import NodeView, Strategy, answer, behaviour, by_name
from fairbook.mechanisms.choices import Engine, check_choice
from fairbook.mechanisms.drf import EXACT, FAR_APART, fill_bounded, in_fractions
from fairbook.mechanisms.pools import as_array, fractions
from fairbook.mechanisms.readings import Grant, Held, Penalty, Ratio
from fairbook.model.allocation import Allocation
from fairbook.model.inputs import (
    SMALLEST,
    FloatArray,
    Names,
    as_capacities,
    check_amounts,
    check_fractions,
    demand_matrix,
    per_user,
    phased_demands,
)
from fairbook.model.instance import takes_instance
from fairbook.model.result import labels_or_positions

__all__ = ["CreditRule", "CreditRun", "NodeView", "cbdrf", "cbdrf_rule", "grant_tasks"]

# ----------------------------------------------------------------------------------------------------- the rule


class Terms(NamedTuple):
    """A :class:`CreditRule` in numbers of one kind; what is ``near`` a mark of credit, or ``within`` of 1, is there."""

    step_up: Any
    step_down: Any
    initial_credit: Any
    credit_cap: Any
    credit_floor: Any
    near: Any
    within: Any
    held: str
    grant: str
    penalty: str
    ratio: str


@kernel(INSIDE)
def open_phase(credit: Any, missing: Any, capacities: Any, terms: Any, factor: Any, pool: Any) -> None:
    """Begin a phase: psi = min(1, C / C_0), and what there is to share."""
    for i in range(len(credit)):
        factor[i] = min(credit[i], terms.initial_credit) / terms.initial_credit
    for j in range(len(pool)):
        left = capacities[j] - missing[j] if terms.held == "stays" else capacities[j]
        pool[j] = left if left > terms.within * capacities[j] else 0


@kernel(INSIDE)
def fill(demands: Any, rate: Any, pool: Any, cap: Any, tasks: Any, stops: Any) -> float:
    """DRF for ``rate`` tasks per unit of level, each up to the level ``cap``; say how far apart the nodes are."""
    levels = 0 * rate
    apart = fill_bounded(demands, rate, pool, cap, np.argsort(cap, kind="mergesort"), levels, stops)
    tasks[:] = levels * rate
    return apart


@kernel(INSIDE)
def largest_shares(demands: Any, pool: Any, stops: Any) -> Any:
    """Largest part of the pool that a task takes; who is not present, or needs what is not there, is told."""
    n, m = demands.shape
    share = 0 * demands[:, 0]
    for i in range(n):
        stops[i] = IDLE
        for j in range(m - 1, -1, -1):
            if demands[i, j] > 0 and pool[j] == 0:
                stops[i] = j
            elif demands[i, j] > 0:
                share[i] = max(share[i], demands[i, j] / pool[j])
                stops[i] = UNSTOPPED if stops[i] == IDLE else stops[i]
    return share


@kernel()
def grant_phase(
    demands: Any, factor: Any, pool: Any, terms: Any, tasks: Any, drf_tasks: Any, bottlenecks: Any
) -> float:
    """Share out a phase by equation (7) of Lu et al. 2014, or one of the two repairs; say how far apart nodes are."""
    share = largest_shares(demands, pool, bottlenecks)
    tasks[:], drf_tasks[:] = 0 * factor, 0 * factor
    served, present = np.flatnonzero(bottlenecks == UNSTOPPED), np.sum(bottlenecks != IDLE)
    if len(served) == 0:
        return 1.0
    rows, psi = demands[served], factor[served]
    one, unbounded = 0 * psi[0] + 1, 0 * psi + np.inf
    alone = one / share[served]  # tasks with the whole pool
    drf, found, stops = 0 * psi, 0 * psi, 0 * served
    apart = fill(rows, one / len(served) / share[served], pool, unbounded, drf, stops)
    if terms.grant == "scaled":
        found = psi * drf
        for j in range(len(pool)):  # what is withheld lies idle, and then nothing stops anybody
            used = 0 * pool[j]
            for i in range(len(found)):
                used += found[i] * rows[i, j]
            if used < pool[j] * (1 - terms.within):
                stops = np.where(stops == j, UNSTOPPED, stops)
        stops = np.where(psi > 0, stops, UNSTOPPED)
    elif terms.grant == "weighted" and psi.max() > 0:
        stops[:] = UNSTOPPED
        some = np.flatnonzero(psi / psi.max() >= SMALLEST)  # with less, nothing that a double can tell
        part, ends = 0 * psi[some], 0 * some
        apart = max(apart, fill(rows[some], (psi / psi.max() * alone)[some], pool, unbounded[some], part, ends))
        found[some], stops[some] = part, ends
    elif terms.grant == "weighted":
        stops[:] = UNSTOPPED
    else:
        cap = np.where(psi < 1, psi * (one / present), np.inf)
        apart = max(apart, fill(rows, alone, pool, cap, found, stops))
        found, stops = np.where(psi < 1, cap * alone, found), np.where(psi < 1, OWN, stops)
    tasks[served], drf_tasks[served], bottlenecks[served] = found, drf, stops
    return apart


@kernel(INSIDE)
def one_ratio_of(released: Any, demand: Any, capacities: Any, ratio: str) -> Any:
    """Make one release ratio of those of the resources that a node needs."""
    least, total, number, first = 0 * capacities[0] + 1, 0 * capacities[0], 0, 0
    for j in range(len(demand)):
        if demand[j] > 0:
            least = min(least, released[j])
            total += released[j]
            number += 1
            if demand[j] / capacities[j] > demand[first] / capacities[first]:
                first = j
    if ratio == "dominant":
        return released[first]
    return total / number if ratio == "mean" else least


@kernel()
def settle_phase(
    demands: Any,
    capacities: Any,
    tasks: Any,
    released: Any,
    rho: Any,
    credit: Any,
    terms: Any,
    eta: Any,
    complied: Any,
    after: Any,
    missing: Any,
) -> None:
    """End a phase: what is not released is held, and credit rises or falls."""
    each, graded = released.shape[1] > 1, terms.penalty == "graded"
    missing[:] = 0 * capacities
    for i in range(len(tasks)):
        eta[i] = 0 * capacities[0] + 1  # who was granted nothing holds nothing
        if tasks[i] > 0:
            eta[i] = one_ratio_of(released[i], demands[i], capacities, terms.ratio) if each else released[i, 0]
            for j in range(len(capacities)):
                missing[j] += tasks[i] * demands[i, j] * (1 - released[i, j * each])
        complied[i] = eta[i] >= rho[i] - terms.within
        if complied[i]:
            now = credit[i] + terms.step_up
        else:
            lost = terms.step_down * (1 - eta[i]) if graded else terms.step_down
            now = max(credit[i] - lost, terms.credit_floor)
        now = min(now, terms.credit_cap)
        for mark in (terms.initial_credit, terms.credit_floor, terms.credit_cap):
            if abs(now - mark) <= terms.near:
                now = mark
        after[i] = now


class Phases(NamedTuple):
    """T phases in doubles or fractions: arrays of shape (T, n) or (T, m); of credit and what is held T + 1 rows."""

    credit: NDArray[Any]
    credit_factor: NDArray[Any]
    tasks: NDArray[Any]
    drf_tasks: NDArray[Any]
    released: NDArray[Any]
    complied: NDArray[np.bool_]
    pool: NDArray[Any]
    held: NDArray[Any]
    bottlenecks: NDArray[np.int64]


def _steps(demands: FloatArray, *_: Any) -> float:
    """Two fillings, and the accounts."""
    return 5 * demands.size * demands.shape[2]


@kernel(_steps)
def run_phases(demands: Any, capacities: Any, released: Any, rho: Any, terms: Any, now: Any, first: int) -> int:
    """Phase after phase, from ``first`` on; give the number of one whose nodes are too far apart for doubles, or T."""
    for t in range(first, len(demands)):
        open_phase(now.credit[t], now.held[t], capacities, terms, now.credit_factor[t], now.pool[t])
        granted = now.tasks[t], now.drf_tasks[t], now.bottlenecks[t]
        apart = grant_phase(demands[t], now.credit_factor[t], now.pool[t], terms, *granted)
        if apart >= FAR_APART:
            return t
        ended = now.released[t], now.complied[t], now.credit[t + 1], now.held[t + 1]
        settle_phase(demands[t], capacities, now.tasks[t], released[t], rho[t], now.credit[t], terms, *ended)
    return len(demands)


def cbdrf_rule(
    demands: Any,
    *,
    capacities: Any = None,
    released: Any = 1,
    rho: Any = "3/4",
    step_up: Any = "1/10",
    step_down: Any = "1/10",
    initial_credit: Any = 1,
    credit_cap: Any = "initial",
    credit_floor: Any = 0,
    held: Held = "returns",
    grant: Grant = "scaled",
    penalty: Penalty = "step",
    ratio: Ratio = "least",
) -> Phases:
    """Credit-based DRF over T phases (Lu et al. 2014) in fractions, by the code above; doubles count at face value.

    Takes what :func:`cbdrf` does, but no names and no strategies: ``released`` and ``rho`` are one number, or (T, n),
    ``released`` also (T, n, m). With ``held="stays"`` the fractions grow with every phase: for some ten phases.

    The paper's Figure 2: who never releases falls from 100 % to 10 %.

    >>> [str(psi) for (psi,) in cbdrf_rule([[[20, 300]]] * 10, capacities=[500, 50_000], released=0).credit_factor][::3]
    ['1', '7/10', '2/5', '1/10']
    """
    need = fractions(demands)
    T, n, m = need.shape
    start = Fraction(initial_credit)
    cap = np.inf if credit_cap is None else start if credit_cap == "initial" else Fraction(credit_cap)
    steps = Fraction(step_up), Fraction(step_down), start, cap, Fraction(credit_floor)
    kept = fractions(released)
    kept = kept if kept.ndim == 3 else np.broadcast_to(kept, (T, n))[..., None]
    terms = Terms(*steps, Fraction(0), Fraction(0), held, grant, penalty, ratio)
    pool = fractions([1] * m if capacities is None else capacities)
    return run(need, pool, kept, np.broadcast_to(fractions(rho), (T, n)), terms)


def grant_tasks_rule(demands: Any, credit_factor: Any, *, capacities: Any = None, grant: Grant = "scaled") -> list[Any]:
    """Share out one phase of :func:`cbdrf_rule`, given the credit factors: tasks in fractions.

    >>> for grant in ("scaled", "weighted", "capped"):
    ...     print(grant, *grant_tasks_rule([[1, 4], [3, 1]], [1, "1/2"], capacities=[9, 18], grant=grant))
    scaled 3 1
    weighted 54/13 18/13
    capped 69/16 3/4
    """
    need = fractions(demands)
    pool = fractions([1] * need.shape[1] if capacities is None else capacities)
    return granted(need, fractions(credit_factor), pool, terms_of(CreditRule(grant=grant), exact=True))[0].tolist()


# ------------------------------------------------------------------------------------------------- around the rule


def terms_of(rule: CreditRule, exact: bool = False) -> Terms:
    """Give the rule as the loops take it."""
    steps = [step for step in (rule.step_up, rule.step_down) if step > 0]
    near = min([SNAP * rule.initial_credit, *(1e-3 * step for step in steps)])
    cap = np.inf if rule.credit_cap is None else rule.credit_cap
    numbers = rule.step_up, rule.step_down, rule.initial_credit, cap, rule.credit_floor, near, 1e-12
    if exact:
        numbers = tuple(x if x == np.inf else Fraction(x) for x in numbers)  # type: ignore[assignment]
    return Terms(*numbers, rule.held, rule.grant, rule.penalty, rule.ratio)


def granted(
    demands: NDArray[Any], factor: NDArray[Any], pool: NDArray[Any], terms: Terms
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """Share out one phase, in fractions where doubles do not do: tasks, DRF tasks, what stops each."""
    tasks, drf_tasks, stops = np.zeros_like(factor), np.zeros_like(factor), np.zeros(len(factor), np.int64)
    apart = grant_phase(demands, factor, pool, terms, tasks, drf_tasks, stops)
    if apart >= FAR_APART and demands.dtype != object:
        if len(factor) > EXACT:
            rule = f"must give nodes parts of a resource within {FAR_APART:g} of each other beyond {EXACT} nodes"
            raise InvalidInput("demands", rule, f"{apart:.3g}")
        asked, psi, left = (as_array(in_fractions(one)) for one in (demands, factor, pool))
        tasks, drf_tasks, stops = granted(asked, psi, left, terms)
        return tasks.astype(np.float64), drf_tasks.astype(np.float64), stops
    return tasks, drf_tasks, stops


def run(
    demands: NDArray[Any],
    capacities: NDArray[Any],
    released: NDArray[Any],
    rho: NDArray[Any],
    terms: Terms,
    strategies: dict[int, Strategy] | None = None,
    users: Names = (),
) -> Phases:
    """Run all phases; ``released`` is overwritten where a strategy decides."""
    (T, n, m), kind = demands.shape, demands.dtype
    credit, held = np.zeros((T + 1, n), kind), np.zeros((T + 1, m), kind)
    factor, tasks, drf_tasks, ones = (np.zeros((T, n), kind) for _ in range(4))
    complied, stops = np.zeros((T, n), bool), np.zeros((T, n), np.int64)
    now = Phases(credit, factor, tasks, drf_tasks, ones, complied, np.zeros((T, m), kind), held, stops)
    credit[0] = terms.initial_credit
    t = 0
    while t < T:
        if not strategies:
            t = run_phases(demands, capacities, released, rho, terms, now, t)
            if t == T:
                break
        open_phase(credit[t], held[t], capacities, terms, factor[t], now.pool[t])
        tasks[t], drf_tasks[t], stops[t] = granted(demands[t], factor[t], now.pool[t], terms)
        if strategies:
            answers = released[t].astype(np.float64)
            for i, strategy in strategies.items():
                has, psi, mine, drf = (float(one[t, i]) for one in (credit, factor, tasks, drf_tasks))
                row, pool = demands[t, i].astype(np.float64), now.pool[t].astype(np.float64)
                answers[i] = answer(strategy, NodeView(t, i, users[i], has, psi, mine, drf, row, pool))
            released[t] = as_array(in_fractions(answers)) if released.dtype == object else answers
        ended = ones[t], complied[t], credit[t + 1], held[t + 1]
        settle_phase(demands[t], capacities, tasks[t], released[t], rho[t], credit[t], terms, *ended)
        t += 1
    return now


def grant_tasks(demands: Any, credit_factor: Any, *, capacities: Any = None, grant: Grant = "scaled") -> Allocation:
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
        ``"weighted"``: DRF with the credit factors as weights (ours); below 1e-75 of the largest a factor counts as 0.
        ``"capped"``: a punished node gets psi times what it could run alone on an equal part of the pool; DRF shares
        the rest among the nodes in good standing (ours).

    Returns
    -------
    Allocation
        With equal weights and no task bounds, so that the checks of :mod:`fairbook.properties` judge it as any other.
        ``bottlenecks``: a resource that is used up; -1 where a cap stops the node; -2 where the rule withholds what
        is free; -3 where the node is not present. Besides ``drf_tasks`` and ``credit_factor``, both (n,).

    Notes
    -----
    Cost O(n m) per resource that runs out, with ``"capped"`` O(n log n) more.

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
    rule = CreditRule(grant=grant)
    named = demand_matrix(demands)
    check_amounts(named.values, "demands")
    n, m = named.values.shape
    factor = per_user(credit_factor, n, named.users, "credit_factor")
    check_fractions(factor, "credit_factor")
    pool = as_capacities(capacities, m, named.resources)
    tasks, drf_tasks, stops = granted(named.values, factor, pool, terms_of(rule))
    return Grants(
        tasks,
        named.values,
        np.full(n, 1.0 / n),
        pool,
        np.full(n, np.inf),
        stops,
        named.users,
        named.resources,
        mechanism=f"cbdrf, {grant}",
        rule="credit",
        drf_tasks=drf_tasks,
        credit_factor=factor,
        grant=grant,
    )


@takes_instance
def cbdrf(
    demands: Any,
    *,
    capacities: Any = None,
    released: Any = 1.0,
    rho: Any = 0.75,
    step_up: float = 0.1,
    step_down: float = 0.1,
    initial_credit: float = 1.0,
    credit_cap: float | Literal["initial"] | None = "initial",
    credit_floor: float = 0.0,
    held: Held = "returns",
    grant: Grant = "scaled",
    penalty: Penalty = "step",
    ratio: Ratio = "least",
    engine: Engine = "fast",
) -> CreditRun:
    """Run credit-based DRF over T phases (Lu et al. 2014), or a repaired form of it.

    Parameters
    ----------
    demands : array_like, shape (T, n, m), or sequence of T DataFrames
        Resource per task in each phase; a row of zeros means that the node sits the phase out.
    capacities : array_like or Series, shape (m,), optional
        The pool, in the unit of the demands. Default: ones.
    released : float, array_like or sequence
        Part of its grant that each node releases at the end of each phase, in [0, 1]: one number, one a node (n,), one
        a phase and node (T, n), or one a resource besides (T, n, m). A Series, and the columns of a DataFrame, are
        matched by name. Or a list of n entries, each a number, T numbers or a *strategy*: a function of a
        :class:`NodeView` that gives the ratio (or one ratio a resource). Or one strategy for all; or a mapping from
        nodes to such entries, 1 for those it does not name.
    rho, step_up, step_down, initial_credit, credit_cap, credit_floor, held, grant, penalty, ratio
        See :class:`CreditRule`. The paper gives rho = 0.75; the steps follow from its Figure 2; the floor is a blank,
        and its bracket on the cap has two readings: ``"initial"``, never above C_0, and ``None``, no cap.
    engine : {"fast", "plain"}
        ``"plain"`` works the same code (:func:`cbdrf_rule`) out in fractions.

    Returns
    -------
    CreditRun
        ``credit_factor`` (T, n) in force in each phase, ``tasks`` and ``drf_tasks`` (T, n), and the rest.

    Raises
    ------
    InvalidInput
        Naming argument, rule and value.

    Notes
    -----
    Cost O(T n m) up to the factor of :func:`grant_tasks`, and T n calls where strategies are given; memory O(T n m).
    A node that was granted nothing holds nothing: its ratio counts as 1. Held resources come back after one phase.

    References
    ----------
    Lu et al. 2014, equations (1)-(7) (reconstructed: the text at hand has lost them).

    Examples
    --------
    The paper's Figure 5: one node complies, one never releases enough.

    >>> demands = [[[20, 1000], [100, 300]]] * 10
    >>> r = cbdrf(demands, capacities=[500, 50_000], released=[1.0, 0.5])
    >>> r.credit_factor[[0, 1, 9]].round(3)
    array([[1. , 1. ],
           [1. , 0.9],
           [1. , 0.1]])
    >>> bool((r.tasks[:, 0] == r.drf_tasks[:, 0]).all())
    True
    """
    named = phased_demands(demands)
    T, n, m = named.values.shape
    rule = CreditRule(
        by_name(rho, named.users, "rho"),
        step_up,
        step_down,
        initial_credit,
        credit_cap,
        credit_floor,
        held,
        grant,
        penalty,
        ratio,
    )
    pool = as_capacities(capacities, m, named.resources)
    given, strategies = behaviour(released, T, n, m, named.users)
    try:
        thresholds = np.broadcast_to(rule.rho, (T, n))
    except ValueError:
        raise InvalidInput("rho", f"must broadcast to ({T}, {n})", np.shape(rule.rho)) from None
    check_choice(engine, "engine", Engine)
    exact = engine == "plain"
    each = np.array(np.broadcast_to(given, (T, n, m)) if strategies else given)
    arrays = named.values, pool, each, np.array(thresholds)
    data = [as_array(in_fractions(one)) if exact else one for one in arrays]
    found = run(
        data[0], data[1], data[2], data[3], terms_of(rule, exact), strategies, labels_or_positions(named.users, n)
    )
    return CreditRun(
        found.credit[:-1],
        *found[1:7],
        demands=named.values,
        capacities=pool,
        final_credit=found.credit[-1],
        rule=rule,
        ratios=data[2],
        held_back=found.held[1:],
        bottlenecks=found.bottlenecks,
        named_users=named.users,
        named_resources=named.resources,
    ).rounded()
