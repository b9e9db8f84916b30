"""The price of living on one cluster, measured, and the fraction that the theorem on lists promises."""

from bisect import bisect
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from book.common.runs import repeat, several
from book.virtual_cluster.settings import MEAN, SEED, Instance, Size, cut, requests, summary
from fairbook.mechanisms.clusters.virtual_cluster import virtual_cluster
from fairbook.model.inputs import FloatArray, as_number, as_whole
from fairbook.model.requests import as_requests

#: Users a cluster, of :func:`price`.
PER_CLUSTER = (2, 3, 4, 6, 8, 12, 16, 24)


def _sure(case: Instance) -> float:
    """Give the largest fraction that the chapter's theorem on lists promises: sizes leave (H - 1)(largest - 1) free."""
    asked = as_requests(*case)
    values = np.unique(np.concatenate([np.arange(1, a + 1) / a for a in np.unique(asked.max_vms)]))

    def promised(fraction: float) -> bool:
        sizes = asked.sizes(fraction)
        return bool(sizes.sum() <= asked.capacities.sum() - (len(asked.capacities) - 1) * (sizes.max() - 1))

    return float(np.r_[0, values][bisect(values, False, key=lambda fraction: not promised(fraction))])


_PRICED = ("exact", "vector_packing", "greedy", "mixed_knapsack", "guaranteed")


def _priced(rng: np.random.Generator, per: int, load: float) -> FloatArray:
    """Give the least fractions as parts of that of one pool."""
    users = 5 * per
    total = max(5, round(MEAN * users / load))
    capacities = cut(rng, Size(5, total, total * 50 // 320))
    case = Instance(*requests(rng, users, "variance"), capacities)
    found = [virtual_cluster(*case, method=method) for method in _PRICED[:-1]]  # type: ignore[arg-type]
    pool = float((found[0].requests.pooled / case.max_vms).min())
    if pool == 0:
        return np.full(len(_PRICED), np.nan)
    return np.array([*(one.min_fraction / pool for one in found), _sure(case) / pool])


def price(
    runs: int = 100,
    seed: int = SEED,
    *,
    per_cluster: int | Sequence[int] = PER_CLUSTER,
    load: float = 1.25,
    progress: bool = False,
) -> pd.DataFrame:
    """Measure the price of living on one cluster: least fraction as a part of that of one pool of all clusters.

    Parameters
    ----------
    runs, seed, progress
        As in :func:`curves`.
    per_cluster : int or sequence of int
        Users a cluster, of 5 clusters which grow with them.
    load : float
        VMs wanted, 30 a user, divided by VMs.

    Returns
    -------
    DataFrame
        One row per ``per_cluster`` and ``method`` (also "guaranteed": the least fraction that the theorem on lists
        promises): ``mean``, ``low``, ``high`` (95 %), ``runs`` (those in which one pool could serve everybody).
    """
    load = as_number(load, "load", 0.05, 20.0)
    rows: list[dict[str, Any]] = []
    for per in several(per_cluster, "per_cluster", as_whole, 1, 1000):
        values = np.stack(
            repeat(_priced, runs, seed=seed, progress=progress, label=f"price, {per} a cluster", per=per, load=load)
        )
        values = values[~np.isnan(values[:, 0])]
        rows += [{"per_cluster": per, "method": name, **summary(values[:, k])} for k, name in enumerate(_PRICED)]
    return pd.DataFrame(rows)
