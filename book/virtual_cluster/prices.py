"""What users pay and the provider earns, if users tell the truth and if they do not."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from book.common.runs import repeat, several
from book.virtual_cluster.settings import DRAWN, HIGH, LOW, RUNS, SEED, instance, load_of, summary
from fairbook.mechanisms.virtual_cluster import virtual_cluster
from fairbook.model.inputs import FloatArray, as_whole

__all__ = ["lies", "tariffs", "tolerance_price"]

_TARIFF_USERS = (8, 10, 11, 12, 13, 14, 15)
_STATEMENTS = ("truth", "equilibrium", "all 0.9")
_TARIFFS = ("revenue", "high_part", "price", "hurt", "fraction", "min_fraction")


def _stated(rng: np.random.Generator, users: int) -> FloatArray:
    """Give the measures for each method and statement; nan where not everybody is served even under truth."""
    case = instance(rng, "small", users)
    blocks = []
    for method in ("exact", "spanning"):
        honest = virtual_cluster(*case, method=method)  # type: ignore[arg-type]
        if not honest.served.all():
            blocks.append(np.full((len(_STATEMENTS), len(_TARIFFS)), np.nan))
            continue
        idle = 1 - case.tolerance <= honest.min_fraction
        rows = []
        for tolerance in (case.tolerance, np.where(idle, 1.0, case.tolerance), np.full(users, 0.9)):
            found = virtual_cluster(case.max_vms, tolerance, case.capacities, method=method)  # type: ignore[arg-type]
            cost, vms = found.cost(HIGH, LOW).sum(), found.vms.sum()
            high = HIGH * np.minimum((1 - tolerance) * case.max_vms, found.vms).sum()
            rows.append(
                [
                    cost / case.capacities.sum(),
                    high / cost,
                    cost / vms,
                    (found.vms < honest.requests.minimum).mean(),
                    found.fraction.mean(),
                    found.min_fraction,
                ]
            )
        blocks.append(np.array(rows))
    return np.stack(blocks)


def tariffs(
    runs: int = RUNS, seed: int = SEED, *, users: int | Sequence[int] = _TARIFF_USERS, progress: bool = False
) -> pd.DataFrame:
    """Compare what the provider earns if users state their true tolerance and if they do not, on 5 clusters.

    Parameters
    ----------
    runs, seed, progress
        As in :func:`book.virtual_cluster.studies.curves`.
    users : int or sequence of int

    Returns
    -------
    DataFrame
        One row per ``users`` (``load``), ``method`` ("exact", "spanning"), ``statement`` ("truth"; "equilibrium": all
        whose true minimum is at most the least fraction under truth state 1, the others the truth, which is a best
        response of each on one pool with VMs that are not whole; "all 0.9") and
        ``measure``, over the runs in which truth lets everybody be served: ``mean``, ``low``, ``high`` (95 %),
        ``runs``. Measures: ``revenue`` (a unit of time and VM of the clusters; tariffs 2 and 1), ``high_part`` (of the
        revenue, at the high tariff), ``price`` (revenue a VM handed out), ``hurt`` (part of the users with fewer VMs
        than their true minimum), ``fraction`` (mean), ``min_fraction``.
    """
    rows: list[dict[str, Any]] = []
    for number in several(users, "users", as_whole, 1, DRAWN):
        values = np.stack(
            repeat(_stated, runs, seed=seed, progress=progress, label=f"tariffs, {number} users", users=number)
        )
        rows += [
            {
                "users": number,
                "load": load_of("small", number),
                "method": method,
                "statement": statement,
                "measure": name,
                **summary(values[:, a, b, c]),
            }
            for (a, method), (b, statement), (c, name) in product(
                enumerate(("exact", "spanning")), enumerate(_STATEMENTS), enumerate(_TARIFFS)
            )
        ]
    return pd.DataFrame(rows)


def _lied(rng: np.random.Generator, users: int) -> list[tuple[bool, bool, float, float]]:
    """Let each user alone state 1: below the least fraction?, does it pay?, change of VMs, of what it pays, a VM."""
    case = instance(rng, "small", users)
    honest = virtual_cluster(*case)
    if not honest.served.all():
        return []
    paid = honest.cost(HIGH, LOW)
    rows = []
    for i in range(users):
        tolerance = case.tolerance.copy()
        tolerance[i] = 1.0
        lie = virtual_cluster(case.max_vms, tolerance, case.capacities)
        vms, cost = int(lie.vms[i]), float(lie.cost(HIGH, LOW)[i])
        gain = HIGH * (vms - int(honest.vms[i])) - (cost - paid[i])  # a VM is worth the high tariff
        pays = vms >= honest.requests.minimum[i] and gain > 1e-9
        rows.append(
            (
                bool(1 - case.tolerance[i] <= honest.min_fraction),
                bool(pays),
                (vms - int(honest.vms[i])) / int(case.max_vms[i]),
                (cost - float(paid[i])) / int(case.max_vms[i]),
            )
        )
    return rows


def lies(
    runs: int = 60, seed: int = SEED, *, users: int | Sequence[int] = (9, 11, 12, 13, 14), progress: bool = False
) -> pd.DataFrame:
    """Ask each user of a small setting whether stating a tolerance of 1, alone, would pay.

    Parameters
    ----------
    runs, seed, progress, users
        As in :func:`tariffs`.

    Returns
    -------
    DataFrame
        One row per ``users`` (``load``) and ``group`` ("below": the true minimum is at most the least fraction under
        truth; "above"): ``asked`` (users), ``pays`` (part for whom it pays: at least the true minimum, and a larger
        value of VMs, at the high tariff each, less cost), ``vms``, ``cost`` (mean changes, a VM wanted). The exact
        method, whole VMs; runs in which truth lets everybody be served.
    """
    rows: list[dict[str, Any]] = []
    for number in several(users, "users", as_whole, 1, DRAWN):
        found = [
            row
            for run in repeat(_lied, runs, seed=seed, progress=progress, label=f"lies, {number} users", users=number)
            for row in run
        ]
        values = np.array(found, dtype=float).reshape(-1, 4)
        for group, flag in (("below", 1.0), ("above", 0.0)):
            part = values[values[:, 0] == flag, 1:]
            means = part.mean(axis=0) if len(part) else np.full(3, np.nan)
            rows.append(
                {
                    "users": number,
                    "load": load_of("small", number),
                    "group": group,
                    "asked": len(part),
                    "pays": means[0],
                    "vms": means[1],
                    "cost": means[2],
                }
            )
    return pd.DataFrame(rows).round(12)


_PAID = ("fraction", "served", "cost", "price")


def _tolerated(rng: np.random.Generator, users: int) -> FloatArray:
    """Give of each user its tenth of the tolerances, and the measures of :data:`_PAID`."""
    case = instance(rng, "small", users)
    found = virtual_cluster(*case)
    cost = found.cost(HIGH, LOW)
    with np.errstate(invalid="ignore"):
        each = np.where(found.vms > 0, cost / found.vms, np.nan)
    tenth = np.minimum((case.tolerance / 0.09).astype(int), 9)
    return np.column_stack([tenth, found.fraction, found.served, cost / case.max_vms, each])


def tolerance_price(
    runs: int = RUNS,
    seed: int = SEED,
    *,
    users: int | Sequence[int] = (8, 10, 11, 12, 13, 14, 16, 18),
    progress: bool = False,
) -> pd.DataFrame:
    """Ask what a large tolerance costs in VMs and saves in money, by load, on 5 clusters by the exact method.

    Parameters
    ----------
    runs, seed, progress, users
        As in :func:`tariffs`.

    Returns
    -------
    DataFrame
        One row per ``users`` (``load``), ``tenth`` of the tolerances (0 to 9; ``k`` is its middle) and ``measure``:
        ``mean``, ``low``, ``high`` (95 % over users), ``runs`` (users). Measures: ``fraction`` (VMs / VMs wanted, 0
        where turned away), ``served`` (part of the users), ``cost`` (a VM wanted), ``price`` (a VM handed out).
    """
    rows: list[dict[str, Any]] = []
    for number in several(users, "users", as_whole, 1, DRAWN):
        values = np.concatenate(
            repeat(_tolerated, runs, seed=seed, progress=progress, label=f"prices, {number} users", users=number)
        )
        rows += [
            {
                "users": number,
                "load": load_of("small", number),
                "tenth": tenth,
                "k": round(0.09 * (tenth + 0.5), 3),
                "measure": name,
                **summary(values[values[:, 0] == tenth, at]),
            }
            for tenth, (at, name) in product(range(10), enumerate(_PAID, start=1))
        ]
    return pd.DataFrame(rows)
