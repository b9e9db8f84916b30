"""Frames and random instances behind the page on dominant resource fairness."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from book.common.oracle_drf import exact_tasks, leximin_tasks
from book.common.runs import stream
from fairbook.mechanisms.pool.drf import drf
from fairbook.model.allocation import Allocation
from fairbook.model.inputs import FloatArray
from fairbook.properties.finding import Finding

__all__ = ["agreement", "course", "instances", "plane", "shares", "sweep"]


def shares(allocations: dict[str, Allocation]) -> pd.DataFrame:
    """Give each user's share of each resource under several allocations.

    Parameters
    ----------
    allocations : dict of str to Allocation
        Name of a rule and what it gives; the same users and resources in each.

    Returns
    -------
    DataFrame
        Columns ``rule, user, resource, share``, share as a fraction of the capacity.

    Notes
    -----
    Cost O(n m) an allocation.

    Examples
    --------
    >>> shares({"DRF": drf([[1, 4], [3, 1]], capacities=[9, 18])})["share"].round(4).tolist()
    [0.3333, 0.6667, 0.6667, 0.1111]
    """
    rows = [
        (rule, user, resource, held[i, j])
        for rule, a in allocations.items()
        for held in [a.tasks[:, None] * a.demands / a.capacities]
        for i, user in enumerate(a.users)
        for j, resource in enumerate(a.resources)
    ]
    return pd.DataFrame(rows, columns=["rule", "user", "resource", "share"])


def plane(allocation: Allocation) -> pd.DataFrame:
    """Give the lines of the picture in the plane of two users' tasks.

    Parameters
    ----------
    allocation : Allocation
        Of two users who both need every resource, without bounds.

    Returns
    -------
    DataFrame
        Columns ``part, kind, x, y``: each resource's line of full use (kind ``"capacity"``), from axis to axis, and the
        path of progressive filling (kind ``"path"``).

    Examples
    --------
    >>> plane(drf([[1, 4], [3, 1]], capacities=[9, 18])).to_dict("list")["x"]
    [9.0, 0.0, 4.5, 0.0, 0.0, 3.0]
    """
    ends = allocation.capacities / allocation.demands
    axes = [
        (name, "capacity", *at) for name, (x, y) in zip(allocation.resources, ends.T) for at in ((x, 0.0), (0.0, y))
    ]
    path = [("filling", "path", 0.0, 0.0), ("filling", "path", *allocation.tasks)]
    return pd.DataFrame([*axes, *path], columns=["part", "kind", "x", "y"])


def course(allocation: Allocation) -> pd.DataFrame:
    """Give the course of progressive filling that ends in an allocation.

    Parameters
    ----------
    allocation : Allocation
        From ``fairbook.drf``.

    Returns
    -------
    DataFrame
        Columns ``water, kind, name, value``: while the common level (``water``) rises from 0, the level of each user
        (kind ``"user"``: it follows the water until the user stops) and the use of each resource as a fraction of
        its capacity (kind ``"resource"``), at 0 and at each level where somebody stops.

    Notes
    -----
    Cost O(e n m) for e different levels.

    Examples
    --------
    >>> frame = course(drf([[1, 4], [3, 1]], capacities=[9, 18]))
    >>> frame[frame["kind"] == "resource"].round(4)["value"].tolist()
    [0.0, 0.0, 1.0, 0.7778]
    """
    levels, share = allocation.levels, allocation.tasks[:, None] * allocation.demands / allocation.capacities
    need = np.divide(share, levels[:, None], out=np.zeros_like(share), where=levels[:, None] > 0)
    rows = []
    for water in [0.0, *_distinct(levels)]:
        at = np.minimum(water, levels)
        rows += [(water, "user", user, at[i]) for i, user in enumerate(allocation.users)]
        rows += [(water, "resource", name, use) for name, use in zip(allocation.resources, at @ need, strict=True)]
    return pd.DataFrame(rows, columns=["water", "kind", "name", "value"])


def _distinct(levels: FloatArray) -> list[float]:
    """Sort the positive levels, those that differ by rounding only taken as one."""
    found: list[float] = []
    for level in np.sort(levels).tolist():
        if level > 0 and (not found or level > found[-1] * (1 + 1e-9)):
            found.append(level)
    return found


def instances(runs: int, *, seed: int, users: int = 6, resources: int = 3) -> Iterator[dict[str, Any]]:
    """Yield random instances of ``fairbook.drf`` with what makes them hard: zeros, ties, bounds, unequal weights.

    Parameters
    ----------
    runs : int
        How many.
    seed : int
        Run r draws from its own stream, so the first ones stay the same when more are asked for.
    users, resources : int
        At most so many, at least 2 users and 1 resource.

    Yields
    ------
    dict
        ``demands`` (n, m), about a third zero, small whole numbers in every other run so that levels tie;
        ``weights`` (n,) over four powers of ten; ``capacities`` (m,); ``max_tasks`` (n,), infinite for half of them.

    Examples
    --------
    >>> [len(one["weights"]) >= 2 for one in instances(2, seed=1)]
    [True, True]
    """
    for r in range(runs):
        rng = stream(seed, r)
        n, m = int(rng.integers(2, users + 1)), int(rng.integers(1, resources + 1))
        values = rng.integers(1, 5, (n, m)).astype(float) if r % 2 else np.exp(rng.normal(size=(n, m)))
        values[rng.random((n, m)) < 1 / 3] = 0.0
        empty = ~values.any(axis=1)
        values[empty, rng.integers(m, size=int(empty.sum()))] = 1.0
        weights = np.ones(n) if r % 4 == 1 else 10.0 ** rng.uniform(-2, 2, n)
        bounds = np.where(rng.random(n) < 0.5, np.inf, rng.integers(0, 9, n) / 4)
        yield {
            "demands": values,
            "weights": weights,
            "capacities": rng.integers(1, 9, m).astype(float),
            "max_tasks": bounds,
        }


def agreement(runs: int, *, seed: int) -> pd.DataFrame:
    """Hold ``fairbook.drf`` against exact fractions and against linear programs, and its certificate against both.

    Returns
    -------
    DataFrame
        One row a comparison: ``instances``, ``largest difference`` in tasks, relative to 1 task or more. The row for
        the certificate gives the number of allocations that ``violations`` does not certify.

    Notes
    -----
    Cost: one exact run and up to n (n + 1) HiGHS runs an instance, n at most 5.
    """
    exact = lp = 0.0
    refused = 0
    for one in instances(runs, seed=seed, users=5):
        a = drf(**one)
        bounds = [None if np.isinf(b) else b for b in one["max_tasks"]]
        fractions = exact_tasks(one["demands"].tolist(), one["weights"].tolist(), one["capacities"].tolist(), bounds)
        programs = leximin_tasks(**one)
        scale = np.maximum(a.tasks, 1.0)
        exact = max(exact, float((np.abs(a.tasks - np.array([float(x) for x in fractions])) / scale).max()))
        lp = max(lp, float((np.abs(a.tasks - programs) / scale).max()))
        refused += bool(a.violations())
    return pd.DataFrame(
        {
            "held against": ["exact fractions", "linear programs", "certificate"],
            "instances": runs,
            "within": [exact < 1e-12, lp < 1e-5, refused == 0],
            "tolerance": ["1e-12", "1e-5", "1e-9"],
        }
    )


def sweep(
    checks: dict[str, Callable[[Allocation], Finding]], runs: int, *, seed: int, rule: Callable[..., Allocation] = drf
) -> pd.DataFrame:
    """Run checks of a property on the allocations of many random instances.

    Parameters
    ----------
    checks : dict
        Name and check, each from an Allocation to a Finding.
    runs, seed
        As for :func:`instances`.
    rule : callable
        The mechanism; takes what an instance holds.

    Returns
    -------
    DataFrame
        One row a check: ``instances, cases, violations, smallest margin`` (to 9 digits).

    Examples
    --------
    >>> from fairbook.properties.static import sharing_incentive
    >>> sweep({"sharing incentive": sharing_incentive}, 5, seed=1)["violations"].tolist()
    [0]
    """
    allocations = [rule(**one) for one in instances(runs, seed=seed)]
    found = {name: [check(a) for a in allocations] for name, check in checks.items()}
    frame = {
        "property": list(found),
        "instances": runs,
        "cases": [sum(f.checked for f in of) for of in found.values()],
        "violations": [sum(not f for f in of) for of in found.values()],
        # rounding may leave -1e-16, and -0.0
        "smallest margin": [round(float(min(f.margin for f in of)), 9) + 0.0 for of in found.values()],
    }
    return pd.DataFrame(frame)
