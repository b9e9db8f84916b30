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

__all__ = ["tariffs"]

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
