"""Fairness of one allocation: sharing incentive, envy-freeness, Pareto optimality, feasibility.

Each check takes an :class:`~fairbook.model.Allocation` and returns a :class:`~fairbook.properties.Finding`.
Tasks are divisible; zero demands, weights that differ by resource and task bounds are taken into account. Users that
need nothing at all are left out.
Strategy-proofness is a property of a mechanism and not of an allocation: see :mod:`fairbook.properties.lies`.

Where demands, weights, tasks, capacities and bounds hold fractions, the checks are exact.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.model.allocation import Allocation
from fairbook.model.inputs import per_user
from fairbook.properties.finding import Finding, default_tolerance, ratio, show

__all__ = ["envy_freeness", "feasibility", "pareto_optimality", "sharing_incentive"]


def present(allocation: Any, instead: str) -> tuple[Allocation, NDArray[np.bool_]]:
    """Check the type, and leave out users that need nothing: nothing is owed to them, and they envy nobody.

    Returns
    -------
    Allocation
        Of the users that are left.
    ndarray of bool, shape (n,)
        Who they are.
    """
    if not isinstance(allocation, Allocation):
        raise InvalidInput(
            "allocation", f"must be an Allocation (for sequences there is {instead})", type(allocation).__name__
        )
    here: NDArray[np.bool_] = np.asarray((allocation.demands > 0).any(axis=1), dtype=bool)
    if here.all():
        return allocation, here
    if not here.any():
        raise InvalidInput("allocation", "must have at least one user that needs something", allocation.demands)
    users = tuple(name for name, there in zip(allocation.users, here, strict=True) if there)
    rows = ((name, getattr(allocation, name)) for name, sizes in allocation.arrays.items() if sizes[0] == "n")
    left: dict[str, Any] = {name: values[here] for name, values in rows if values is not None}
    return replace(allocation, **left, named_users=users), here


def _weights(allocation: Allocation) -> NDArray[Any]:
    """Weights as shares of the pool, shape (n, m)."""
    weights = allocation.weights if allocation.weights.ndim == 2 else allocation.weights[:, None]
    return np.broadcast_to(weights / weights.sum(axis=0), allocation.demands.shape)


def _instance(allocation: Allocation) -> dict[str, Any]:
    found: dict[str, Any] = {
        "demands": allocation.demands,
        "weights": allocation.weights,
        "capacities": allocation.capacities,
    }
    if (allocation.max_tasks != np.inf).any():
        found["max_tasks"] = allocation.max_tasks
    return {**found, "tasks": allocation.tasks}


def _finding(
    name: str,
    margins: NDArray[Any],
    tolerance: float,
    checked: int,
    witness: dict[str, Any] | None,
    certificate: dict[str, Any] | None = None,
) -> Finding:
    margin = margins.min() if margins.size else np.inf
    holds = bool(margin >= -tolerance)
    return Finding(
        name, holds, margin, None if holds else witness, certificate if holds else None, checked, tolerance, margins
    )


def sharing_incentive(allocation: Allocation, entitlements: Any = None, rtol: float | None = None) -> Finding:
    """Check that nobody would run more tasks alone on its weight's part of the pool, up to its own bound.

    Parameters
    ----------
    allocation : Allocation
    entitlements : array_like, shape (n,), optional
        Tasks that each user could run alone. Default: w_i of every capacity (of resource j w_ij, where weights differ
        by resource), with weights scaled to sum to 1, and at most the user's bound.
    rtol : float, optional
        Default 1e-9, and 0 for fractions.

    Returns
    -------
    Finding
        Margin: min over users of tasks / entitlement - 1. Certificate: the entitlements.

    Notes
    -----
    Cost O(n m).

    References
    ----------
    Ghodsi et al., "Dominant Resource Fairness", NSDI 2011, section 3; with weights section 4.3.

    Examples
    --------
    >>> import fairbook as fb
    >>> print(sharing_incentive(fb.drf([[1, 4], [3, 1]], capacities=[9, 18])))
    sharing incentive: holds in 2 cases, smallest margin 0.333333
    """
    names = allocation.named_users if isinstance(allocation, Allocation) else None
    allocation, here = present(allocation, "dynamic_sharing_incentive")
    tasks, share = allocation.tasks, allocation.demands / allocation.capacities
    if entitlements is None:
        alone = np.minimum(1 / (share / _weights(allocation)).max(axis=1), allocation.max_tasks)
    else:
        alone = per_user(entitlements, len(here), names, "entitlements")[here]
    margins = np.where(alone > 0, ratio(tasks, alone) - 1, np.inf)
    i = int(margins.argmin())
    witness = {
        "says": f"user {allocation.users[i]} runs {show(tasks[i])} tasks and could run {show(alone[i])} alone",
        "user": allocation.users[i],
        "alone": alone[i],
        **_instance(allocation),
    }
    return _finding(
        "sharing incentive", margins, default_tolerance(tasks, rtol), int((alone > 0).sum()), witness, {"alone": alone}
    )


def envy_freeness(allocation: Allocation, rtol: float | None = None) -> Finding:
    """Check that nobody would rather have another's bundle, scaled by the ratio of their weights.

    User i envies h if it could run more tasks than it has on A_h w_i / w_h (resource by resource, where weights
    differ by resource), up to its own bound.

    Parameters
    ----------
    allocation : Allocation
    rtol : float, optional
        Default 1e-9, and 0 for fractions.

    Returns
    -------
    Finding
        Margin: 1 - max over pairs of (tasks i could run on the scaled bundle of h) / (tasks of i).

    Notes
    -----
    Cost O(n^2 m) time, O(n^2) memory.

    References
    ----------
    Ghodsi et al. 2011, section 3; with weights Parkes, Procaccia, Shah, TEAC 2015, section 3.

    Examples
    --------
    >>> import fairbook as fb
    >>> print(envy_freeness(fb.drf([[1, 4], [3, 1]], capacities=[9, 18])))
    envy-freeness: holds in 2 cases, smallest margin 0.5
    """
    allocation, _ = present(allocation, "dynamic_envy_freeness")
    tasks, demands, weights = allocation.tasks, allocation.demands, _weights(allocation)
    n, m = demands.shape
    value: Any = np.full((n, n), np.inf, dtype=np.result_type(tasks, np.float64))
    for j in range(m):
        needs = demands[:, j] > 0
        held = tasks * demands[:, j] / weights[:, j]  # of resource j, per unit of weight
        own = weights[:, j] / np.where(needs, demands[:, j], 1)
        value = np.minimum(value, np.where(needs[:, None], held[None, :] * own[:, None], np.inf))
    value = np.minimum(value, allocation.max_tasks[:, None])
    envy = 1 - ratio(value, tasks[:, None])
    np.fill_diagonal(envy, np.inf)
    margins = envy.min(axis=1)
    i = int(margins.argmin())
    h = int(envy[i].argmin())
    witness = {
        "says": f"user {allocation.users[i]} runs {show(tasks[i])} tasks and could run {show(value[i, h])} on "
        f"the bundle of user {allocation.users[h]}, scaled by the ratio of their weights",
        "user": allocation.users[i],
        "envied": allocation.users[h],
        "could_run": value[i, h],
        **_instance(allocation),
    }
    return _finding("envy-freeness", margins, default_tolerance(tasks, rtol), n * (n - 1), witness)


def feasibility(allocation: Allocation, rtol: float | None = None) -> Finding:
    """Check that no resource is overdrawn and that tasks lie between 0 and their bounds.

    Returns
    -------
    Finding
        Margin: min over resources of 1 - use / capacity, or a bound's violation relative to it.

    Notes
    -----
    Cost O(n m).
    """
    allocation, _ = present(allocation, "dynamic_feasibility")
    tasks = allocation.tasks
    left = 1 - tasks @ allocation.demands / allocation.capacities
    j = int(left.argmin())
    witness = {
        "says": f"{show(1 - left[j])} of {allocation.resources[j]} is in use",
        "resource": allocation.resources[j],
        **_instance(allocation),
    }
    bounds = np.where(tasks > allocation.max_tasks, 1 - ratio(tasks, allocation.max_tasks), 0)
    outside = np.where(tasks < 0, -np.inf, bounds)
    if outside.min() < min(left[j], 0):
        i = int(outside.argmin())
        witness = {
            "says": f"user {allocation.users[i]} runs {show(tasks[i])} tasks, outside 0 and its bound",
            "user": allocation.users[i],
            **_instance(allocation),
        }
        left = np.append(left, outside[i])
    return _finding("feasibility", left, default_tolerance(tasks, rtol), len(left) + len(tasks), witness)


def pareto_optimality(allocation: Allocation, rtol: float | None = None) -> Finding:
    """Check that the allocation is feasible and nobody can have more without another having less.

    What is feasible with divisible tasks stays feasible when someone has less, so it is enough to look at each user
    alone: it must be at its bound, or need a resource that is used up.

    Parameters
    ----------
    allocation : Allocation
    rtol : float, optional
        Default 1e-9, and 0 for fractions.

    Returns
    -------
    Finding
        Margin: minus the largest part of the pool by which all that one user needs could still grow (of its own
        bound, where this is nearer), or minus the part of a capacity that is overdrawn. Certificate: for each user
        under ``"stopped_by"`` a resource it needs that is used up, -1 for its own bound.

    Notes
    -----
    Cost O(n m).

    Examples
    --------
    >>> import fairbook as fb
    >>> print(pareto_optimality(fb.drf([[1, 0], [1, 1], [1, 1]])))
    Pareto optimality: holds in 3 cases, smallest margin 0
    """
    allocation, _ = present(allocation, "dynamic_pareto_optimality")
    feasible = feasibility(allocation, rtol)
    tasks, tolerance = allocation.tasks, feasible.tolerance
    left = 1 - tasks @ allocation.demands / allocation.capacities
    needed = np.where(allocation.demands > 0, left, np.inf)
    stopped_by = needed.argmin(axis=1)
    room = needed.min(axis=1)
    bounded = np.where(allocation.max_tasks == np.inf, np.inf, 1 - ratio(tasks, allocation.max_tasks))
    stopped_by = np.where(bounded <= tolerance, -1, stopped_by)
    room = np.minimum(room, bounded)
    margins = -np.maximum(room, 0)
    if not feasible:
        margins = np.append(margins, np.asarray(feasible.margin))
        return _finding("Pareto optimality", margins, tolerance, feasible.checked, feasible.witness)
    i = int(margins.argmin())
    witness = {
        "says": f"user {allocation.users[i]} could have more: of every resource it needs {show(room[i])} of the "
        f"capacity is free",
        "user": allocation.users[i],
        "free": left,
        **_instance(allocation),
    }
    return _finding("Pareto optimality", margins + 0, tolerance, len(tasks), witness, {"stopped_by": stopped_by})
