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
_TARIFFS = ("revenue", "hurt", "min_fraction")


def _stated(rng: np.random.Generator, users: int) -> FloatArray:
    """Give the measures for each statement; nan where not everybody is served even under truth."""
    case = instance(rng, "small", users)
    honest = virtual_cluster(*case)
    if not honest.served.all():
        return np.full((len(_STATEMENTS), len(_TARIFFS)), np.nan)
    idle = 1 - case.tolerance <= honest.min_fraction
    rows = []
    for tolerance in (case.tolerance, np.where(idle, 1.0, case.tolerance), np.full(users, 0.9)):
        found = virtual_cluster(case.max_vms, tolerance, case.capacities)
        revenue = found.cost(HIGH, LOW).sum() / case.capacities.sum()
        rows.append([revenue, (found.vms < honest.requests.minimum).mean(), found.min_fraction])
    return np.array(rows)


def tariffs(
    runs: int = RUNS, seed: int = SEED, *, users: int | Sequence[int] = _TARIFF_USERS, progress: bool = False
) -> pd.DataFrame:
    """Compare what the provider earns if users state their true tolerance and if they do not, on 5 clusters, exactly.

    Parameters
    ----------
    runs, seed, progress
        As in :func:`book.virtual_cluster.studies.curves`.
    users : int or sequence of int

    Returns
    -------
    DataFrame
        One row per ``users`` (``load``), ``statement`` ("truth"; "equilibrium": all whose true minimum is at most the
        least fraction under truth state 1, the others the truth, which is a best response of each on one pool with VMs
        that are not whole; "all 0.9") and ``measure``, over the runs in which truth lets everybody be served: ``mean``,
        ``low``, ``high`` (95 %), ``runs``. Measures: ``revenue`` (a unit of time and VM of the clusters; tariffs 2 and
        1), ``hurt`` (part of the users with fewer VMs than their true minimum), ``min_fraction``.
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
                "statement": statement,
                "measure": name,
                **summary(values[:, b, c]),
            }
            for (b, statement), (c, name) in product(enumerate(_STATEMENTS), enumerate(_TARIFFS))
        ]
    return pd.DataFrame(rows)
