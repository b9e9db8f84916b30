"""What is asked of one phase under credit: fairness up to each node's record, and broken rules that must fail it.

A *phase rule* takes demands and credit factors and gives an :class:`~fairbook.model.Allocation` with equal weights.
:data:`PHASES` has those of the book, :data:`EXACT_PHASES` the same in fractions, and :data:`PHASE_MUTANTS` rules that
are broken in one named way each. Checks of the literal properties are those of :mod:`fairbook.properties.static`; here
are the forms in which credit is taken into account.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from book.common.oracle_drf import exact_tasks
from book.common.search import at_any_distance
from fairbook.mechanisms.credit.cbdrf_phase import grant_tasks, grant_tasks_rule
from fairbook.mechanisms.credit.karma import karma_phase, karma_rule
from fairbook.mechanisms.pool.drf import drf as in_doubles
from fairbook.mechanisms.readings import READINGS
from fairbook.model.allocation import Allocation
from fairbook.properties.finding import Finding, default_tolerance, numbers, ratio, show
from fairbook.properties.static import pareto_optimality, present, sharing_incentive

Phase = Callable[[Any, Any], Allocation]
Array = NDArray[Any]


# --------------------------------------------------------------------------------------------------------- the checks


def _judged(allocation: Allocation, factor: Any) -> tuple[Allocation, Array]:
    """Leave out the nodes that are not present: nothing is owed to them."""
    allocation, here = present(allocation, "at(phase) of a run")
    return allocation, np.asarray(factor)[here]


def _alone(allocation: Allocation) -> Array:
    """Tasks that each node could run on an equal part of the pool, shape (n,)."""
    n = len(allocation.tasks)
    return np.asarray(1 / (n * (allocation.demands / allocation.capacities).max(axis=1)))


def sharing_incentive_in_good_standing(allocation: Allocation, factor: Any, rtol: float | None = None) -> Finding:
    """Check that a node with psi = 1 runs at least what it could on an equal part of the pool. Cost O(n m)."""
    allocation, psi = _judged(allocation, factor)
    return replace(
        sharing_incentive(allocation, np.where(psi == 1, _alone(allocation), 0), rtol),
        property="sharing incentive in good standing",
    )


def sharing_incentive_by_record(allocation: Allocation, factor: Any, rtol: float | None = None) -> Finding:
    """Check that every node runs at least psi times what it could on an equal part of the pool. Cost O(n m)."""
    allocation, psi = _judged(allocation, factor)
    return replace(
        sharing_incentive(allocation, psi * _alone(allocation), rtol), property="sharing incentive by record"
    )


def justified_envy_freeness(allocation: Allocation, factor: Any, rtol: float | None = None) -> Finding:
    """Check that no node would rather have the bundle of one whose record is no better.

    Parameters
    ----------
    allocation : Allocation
        Of one phase.
    factor : array_like, shape (n,)
        Credit factors psi, or any other record: not negative. With equal records this is envy-freeness. A node that
        demands nothing is left out, here as in the other checks of this module.

    Returns
    -------
    Finding
        Margin: 1 - max over pairs with psi_h <= psi_i of (tasks i could run on the bundle of h) / (tasks of i).

    Notes
    -----
    Cost O(n^2 m) time, O(n^2) memory.

    Examples
    --------
    >>> a = grant_tasks([[1.0], [1.0]], [1, 0.5])
    >>> justified_envy_freeness(a, [1, 0.5]).holds, justified_envy_freeness(a, [1, 1]).holds
    (True, False)
    """
    allocation, psi = _judged(allocation, factor)
    tasks, demands = allocation.tasks, allocation.demands
    n, m = demands.shape
    value: Any = np.full((n, n), np.inf, dtype=np.result_type(tasks, np.float64))
    for j in range(m):
        needs = demands[:, j] > 0
        own = np.where(needs, demands[:, j], 1)
        value = np.minimum(value, np.where(needs[:, None], (tasks * demands[:, j])[None, :] / own[:, None], np.inf))
    envy = np.where((psi[None, :] <= psi[:, None]) & ~np.eye(n, dtype=bool), 1 - ratio(value, tasks[:, None]), np.inf)
    margins = envy.min(axis=1)
    i = int(margins.argmin())
    h = int(envy[i].argmin())
    tolerance = default_tolerance(tasks, rtol)
    margin = margins.min()
    witness = {
        "says": f"node {allocation.users[i]} runs {show(tasks[i])} tasks and could run {show(value[i, h])} on "
        f"the bundle of node {allocation.users[h]}, whose record is no better",
        "demands": demands,
        "credit_factor": psi,
        "tasks": tasks,
    }
    holds = bool(margin >= -tolerance)
    return Finding(
        "justified envy-freeness",
        holds,
        margin,
        None if holds else witness,
        None,
        int(np.isfinite(envy.astype(np.float64)).sum()),
        tolerance,
        margins,
    )


def pareto_optimality_within_caps(allocation: Allocation, factor: Any, rtol: float | None = None) -> Finding:
    """Check Pareto optimality among the allocations in which no punished node has more than it has. Cost O(n m)."""
    allocation, psi = _judged(allocation, factor)
    caps = np.where(psi < 1, allocation.tasks, np.inf)
    return replace(
        pareto_optimality(replace(allocation, max_tasks=caps), rtol), property="Pareto optimality within caps"
    )


def gain_from_record(rule: Phase, demands: Any, factor: Any, node: int, better: Any) -> Any:
    """Give by which part of its grant a node has more with a better credit factor, all else equal.

    Returns
    -------
    float or Fraction
        (grant at ``better``) / (grant now) - 1, or 1 where there was nothing before and there is something now.
    """
    raised = np.array(factor, copy=True)
    raised[node] = better
    before, after = rule(demands, factor).tasks[node], rule(demands, raised).tasks[node]
    return after / before - 1 if before > 0 else (1 if after > 0 else 0)


# --------------------------------------------------------------------------------------------------- the phase rules


drf = at_any_distance(in_doubles)


def _karma(demands: Any, factor: Any) -> Allocation:
    """Karma with half of an equal share guaranteed and credits 1 + psi: for psi >= 0 enough, as its authors have it."""
    needs = np.asarray(demands)
    if needs.dtype != object:  # needs further apart count as that: fractions take long
        needs = np.where(needs > 0, np.maximum(needs, needs.max(axis=1, keepdims=True) / 9e8), needs)
    found = at_any_distance(karma_phase)(needs, 1 + np.asarray(factor), alpha=0.5)
    return replace(found, max_tasks=np.full(len(found.tasks), np.inf))  # what credit pays for is no bound on wants


#: One phase by name: (demands, credit factors) -> Allocation.
PHASES: dict[str, Phase] = {
    "drf": lambda demands, factor: drf(demands),
    **{name: partial(at_any_distance(grant_tasks), grant=name) for name in READINGS["cbdrf"]["grant"].values},
    "karma": _karma,
}


def _exact_allocation(tasks: Any, demands: Any, name: str) -> Allocation:
    values, x = numbers(demands), numbers(tasks)
    n, m = values.shape
    one = values[0, 0] / values[0].max() * 0 + 1  # of the type of the entries
    ones, weights = np.full(m, one, dtype=object), np.full(n, one / n, dtype=object)
    return Allocation(x, values, weights, ones, np.full(n, np.inf), np.full(n, -2), mechanism=name, rule="full")


def _exact(name: str) -> Phase:
    def rule(demands: Any, factor: Any) -> Allocation:
        """Share out one phase in exact fractions."""
        rows = numbers(demands).tolist()
        psi = numbers(factor).tolist()
        tasks: Any
        if name == "karma":
            run = karma_rule([rows], initial_credit=[1 + p for p in psi], alpha="1/2", free_credit=0)
            tasks = run.tasks[0].tolist()
        elif name == "capped_at_drf":
            whole = exact_tasks(rows)
            tasks = exact_tasks(rows, max_tasks=[p * x if p < 1 else None for p, x in zip(psi, whole, strict=True)])
        elif name == "drf":
            tasks = exact_tasks(rows)
        else:
            tasks = grant_tasks_rule(rows, psi, grant=name)  # type: ignore[arg-type]
        return _exact_allocation(tasks, rows, name)

    return rule


#: The same in exact fractions, and one of the mutants.
EXACT_PHASES: dict[str, Phase] = {name: _exact(name) for name in (*PHASES, "capped_at_drf")}


# ------------------------------------------------------------------------------------------------------- the mutants


def _unweighted(allocation: Allocation, name: str, times: float = 1.0) -> Allocation:
    n = len(allocation.tasks)
    return replace(
        allocation,
        tasks=allocation.tasks * times,
        weights=np.full(n, 1.0 / n),
        max_tasks=np.full(n, np.inf),
        mechanism=name,
        rule="full",
    )


def inverse(demands: Any, factor: Any) -> Allocation:
    """Weigh nodes by 1 / psi: the worse the record, the more. Breaks every property that credit is to serve."""
    return _unweighted(drf(demands, weights=1.0 / np.maximum(factor, 1e-6)), "inverse")


def wasted(demands: Any, factor: Any) -> Allocation:
    """Hand out 99 % of what the weighted rule does. Breaks Pareto optimality and sharing incentive."""
    return _unweighted(PHASES["weighted"](demands, factor), "wasted", 0.99)


def capped_at_drf(demands: Any, factor: Any) -> Allocation:
    """Cap a punished node at psi times its DRF amount instead of its equal split. Breaks strategy-proofness: who lies
    can lower the caps of others.
    """
    psi = np.asarray(factor, dtype=np.float64)
    caps = np.where(psi < 1, psi * drf(demands).tasks, np.inf)
    return _unweighted(drf(demands, max_tasks=caps), "capped_at_drf")


def by_sum(demands: Any, factor: Any) -> Allocation:
    """Scale an allocation that equalises the sums of shares instead of dominant shares. Breaks Theorem 1, sharing
    incentive in good standing and justified envy-freeness.
    """
    values = np.asarray(demands, dtype=np.float64)
    found = drf(demands, weights=values.max(axis=1) / values.sum(axis=1))
    return _unweighted(replace(found, tasks=found.tasks * np.asarray(factor)), "by_sum")


def by_tasks(demands: Any, factor: Any) -> Allocation:
    """Give everyone psi times the same number of tasks. Breaks strategy-proofness."""
    values = np.asarray(demands, dtype=np.float64)
    return _unweighted(replace(drf(demands), tasks=np.asarray(factor) / values.sum(axis=0).max()), "by_tasks")


#: Broken phase rules by name.
PHASE_MUTANTS: dict[str, Phase] = {
    function.__name__: function for function in (inverse, wasted, capped_at_drf, by_sum, by_tasks)
}
