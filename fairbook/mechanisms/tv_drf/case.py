"""What TV-DRF is given: demands, tasks, machines and contributions, read, matched by name and checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairbook.errors import InvalidInput
from fairbook.mechanisms.readings import Alone, TvMethod, Unserved
from fairbook.mechanisms.tv_drf.alone import add_parts
from fairbook.model.inputs import (
    LARGEST,
    FloatArray,
    Named,
    Names,
    as_weights,
    check_amounts,
    check_apart,
    demand_matrix,
    in_order,
    in_words,
    number_of_dimensions,
    per_user,
    phased_demands,
    raise_at_first,
)
from fairbook.model.names import in_pandas
from fairbook.model.placement import machine_matrix
from fairbook.model.result import called, labels_or_positions

#: The heuristic hands out no more whole tasks than about this, and keeps no more numbers on their machines.
MOST = 1e9


def as_case(
    demands: Any,
    tasks: Any,
    machines: Any,
    contributions: Any,
    weights: Any,
    method: TvMethod,
    alone: Alone,
    unserved: Unserved,
    memory: bool,
) -> dict[str, Any]:
    """Read the arguments of :func:`fairbook.mechanisms.tv_drf.tv_drf`, by the names that ``TvDrfRun`` has for them."""
    with in_words(("phase", "period")):
        values, users, resources = phased_demands(demands)
    _, n, m = values.shape
    waits = unserved == "waits"
    bounds = _as_tasks(tasks, values, users, method == "heuristic", waits)
    pool, names, resources = machine_matrix(machines, m, resources)
    for j in np.flatnonzero(~(pool > 0).any(axis=0))[:1].tolist():
        missing = called(labels_or_positions(resources, m)[j], "resource")
        raise InvalidInput("machines", f"must have some of {missing}", pool[:, j].tolist())
    parts, names = _as_contributions(contributions, n, len(pool), users, names)
    brought = np.zeros((n, m))
    add_parts(parts, pool, brought)  # the digits of a matrix product depend on the processor
    if weights is None:
        weight = (brought / pool.sum(axis=0)).mean(axis=1)
        for i in np.flatnonzero(~(weight > 0))[:1].tolist():
            raise InvalidInput(
                "contributions", "must be positive somewhere unless weights are given", parts[i].tolist(), (i,)
            )
    else:
        weight = as_weights(weights, n, users)
    return {
        "demands": values,
        "max_tasks": bounds,
        "machines": pool,
        "contributions": parts,
        "weights": weight,
        "method": method,
        "reading": alone,
        "waits": waits,
        "memory": memory,
        "named_users": users,
        "named_resources": resources,
        "named_machines": names,
    }


def check_whole(case: dict[str, Any], placement: bool) -> None:
    """Refuse more whole tasks, or numbers on their machines, than can be handed out and kept."""
    demands, bounds, machines = case["demands"], case["max_tasks"], case["machines"]
    count = _most_handed_out(demands, bounds, machines.sum(axis=0), case["waits"])
    if count > MOST:
        rule = "must be fewer for method='heuristic', which hands out whole tasks one by one; use larger tasks or "
        raise InvalidInput("tasks", rule + "method='lexicographic'", f"room for about {count:.2g}")
    numbers = bounds.size * len(machines)
    if placement and numbers > MOST:
        raise InvalidInput("placement", f"must be False where it would hold more than {MOST:.0g} numbers", numbers)


def check_fluid(case: dict[str, Any], placement: bool, exact: bool) -> None:
    """Refuse what is no pool, and in doubles users of a resource that lie too far apart."""
    machines, rule = case["machines"], "for method='lexicographic', which fills one pool"
    shapes = machines / machines.sum(axis=0)
    if not (np.abs(shapes / shapes.max(axis=1, keepdims=True) - 1) <= 1e-9).all():
        raise InvalidInput("machines", f"must have one shape {rule}", machines.tolist())
    if placement:
        raise InvalidInput("placement", f"must be False {rule}", placement)
    if exact:
        return
    share = case["demands"] / machines.sum(axis=0)
    largest = share.max(axis=2, keepdims=True)
    need = share / np.where(largest > 0, largest, 1.0) * case["weights"][:, None]  # for a unit of G
    least = np.where(need > 0, need, np.inf).min(axis=(0, 1))
    check_apart(float((need.max(axis=(0, 1)) / least).max()))


def _matrix(values: Any, argument: str, rows: str, columns: str) -> Named:
    """Read a matrix of two kinds of things."""
    with in_words(
        ("n users, m resources", f"{rows}, {columns}"),
        ("one user and one resource", f"one {rows[2:-1]} and one {columns[2:-1]}"),
    ):
        return demand_matrix(values, argument)


def _as_contributions(
    contributions: Any, n: int, K: int, users: Names | None, machines: Names | None
) -> tuple[FloatArray, Names | None]:
    """Give the parts, (n, K), and names of machines."""
    contributions = in_pandas(contributions, "contributions")
    if number_of_dimensions(contributions) == 1:
        values = np.broadcast_to(per_user(contributions, n, users, "contributions")[:, None], (n, K))  # one column
    else:
        named = _matrix(contributions, "contributions", "n users", "K machines")
        values = named.values
        if values.shape != (n, K):
            raise InvalidInput("contributions", f"must have shape ({n} users, {K} machines) or ({n},)", values.shape)
        values = in_order(named, users, machines, "contributions", columns="machines")
    check_amounts(values, "contributions")
    sums = values.sum(axis=0)
    for k in np.flatnonzero(~(np.abs(sums - 1) <= 1e-9))[:1].tolist():
        raise InvalidInput(
            "contributions", f"must sum to 1 over the users for each machine (machine {k})", float(sums[k])
        )
    return values, machines


def _as_tasks(tasks: Any, demands: FloatArray, users: Names | None, whole: bool, waits: bool) -> FloatArray:
    T, n, _ = demands.shape
    named = _matrix(tasks, "tasks", "T periods", "n users")
    if named.values.shape != (T, n):
        raise InvalidInput("tasks", f"must have shape ({T} periods, {n} users)", named.values.shape)
    values = in_order(named._replace(users=None), None, users, "tasks", columns="users")
    finite = np.isfinite(values)
    for bad, rule in (
        (np.isnan(values), "must be a number"),
        (values < 0, "must not be negative"),
        (finite & (values > LARGEST), f"must be at most {LARGEST:g} or infinite"),
        (~finite & waits, "must be finite where unserved tasks wait"),
        (whole & finite & (values != np.floor(values)), "must be whole for method='heuristic'"),
        (~(demands > 0).any(axis=2) & (values != 0), "must be 0 where the demand vector is zero"),
    ):
        raise_at_first(bad, "tasks", rule, values)
    return values


def _most_handed_out(demands: FloatArray, bounds: FloatArray, total: FloatArray, waits: bool) -> float:
    """Bound the number of whole tasks from above: the smallest ones first, by their mean share, until the pool is full.

    Cost O(T n (m + log n)).
    """
    size = (demands / total).mean(axis=2)
    periods = 1.0
    if waits:  # any period from then on may serve them
        size, bounds, periods = size.reshape(1, -1), bounds.reshape(1, -1), float(len(bounds))
    some = bounds > 0
    size = np.where(some, size, 1.0)
    count = np.where(some, np.minimum(bounds, periods / size), 0.0)
    order = np.argsort(size, axis=1)
    size, count = np.take_along_axis(size, order, axis=1), np.take_along_axis(count, order, axis=1)
    before = np.cumsum(count * size, axis=1) - count * size
    return float(np.minimum(count, np.maximum(periods - before, 0.0) / size).sum())
