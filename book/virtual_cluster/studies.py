"""The experiments of the chapter on virtual clusters: load, readings, gaps, one cluster or several, coming and going.

The paper's two settings: 5 clusters of different size with 320 VMs together and at least 50 each (``"small"``), and 8
with 1000 and at least 90 (``"large"``). What is above the least is cut at random points, anew in each run. Users want
some 30 VMs, normally distributed, and tolerate between 0 and 0.9; "variance 10" may mean that, or a standard deviation
of 10. Users are added one by one, so a run's first n users are the same at every n. *Load* is 30 n VMs divided by all
that the clusters hold.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from book.common.runs import choices, repeat, several, storing, stream
from book.virtual_cluster.one_cluster import PER_CLUSTER, price
from book.virtual_cluster.readings import (
    NEAREST,
    NEAREST_RUNS,
    READINGS,
    STATEMENTS,
    conclusions,
    counted,
    nearest,
    readings,
)
from book.virtual_cluster.settings import (
    DRAWN,
    FIELDS,
    HIGH,
    LOW,
    METHODS,
    RUNS,
    SEED,
    SIZES,
    VARIANCES,
    Instance,
    Size,
    instance,
    load_of,
    measured,
    summary,
)
from fairbook.mechanisms.clusters.virtual_cluster import virtual_cluster
from fairbook.model.inputs import FloatArray, as_whole

__all__ = [
    "CASES",
    "DATA",
    "MEASURES",
    "METHODS",
    "NEAREST",
    "NEAREST_RUNS",
    "PER_CLUSTER",
    "READINGS",
    "RUNS",
    "SEED",
    "SIZES",
    "STATEMENTS",
    "STORED",
    "STORED_FIGURES",
    "USERS",
    "VARIANCES",
    "Instance",
    "Size",
    "conclusions",
    "counted",
    "curves",
    "fig2",
    "fig3",
    "fig4",
    "fig5",
    "gaps",
    "instance",
    "nearest",
    "packing",
    "price",
    "readings",
    "spanning_gain",
    "spread",
    "tariffs",
]

#: Data files, below ``data/``, on which the stored results depend.
DATA = ("google2011.json", "google2011_requests.csv")

#: Numbers of users of :func:`curves`: from a load of 0.75 or 0.84 to 1.88 or 1.8.
USERS: dict[str, tuple[int, ...]] = {
    "small": (8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20),
    "large": tuple(range(28, 61, 4)),
}

#: What :func:`curves` measures; the last three over the runs in which all methods serve everybody.
MEASURES = ("y", "everybody", "remaining", "remaining_common", "gain", "ratio")


# ------------------------------------------------------------------------------------------------------- the figures


def _one(rng: np.random.Generator, size: str, users: int, variance: str) -> FloatArray:
    """Give the fields of each method, then a row of the best proved bound, in one run."""
    case = instance(rng, size, users, variance=variance)
    found = [virtual_cluster(*case, method=method) for method in METHODS]  # type: ignore[arg-type]
    return np.array([*map(measured, found), [found[-1].bound] * len(FIELDS)])


@lru_cache(maxsize=256)
def _values(size: str, users: int, variance: str, runs: int, seed: int, progress: bool) -> FloatArray:
    """Give the fields of each run, shape (runs, methods + 1, fields)."""
    return np.stack(
        repeat(
            _one,
            runs,
            seed=seed,
            progress=progress,
            label=f"{size}, {users} users, {variance}",
            size=size,
            users=users,
            variance=variance,
        )
    )


def _grid(sizes: Any, variances: Any, users: Any) -> Iterator[tuple[str, str, int]]:
    chosen_sizes = choices(sizes, "sizes", tuple(SIZES))
    chosen_variances = choices(variances, "variances", tuple(VARIANCES))
    numbers = None if users is None else several(users, "users", as_whole, 1, DRAWN)
    for size, variance in product(chosen_sizes, chosen_variances):
        for number in USERS[size] if numbers is None else numbers:
            yield size, variance, number


def curves(
    runs: int = RUNS,
    seed: int = SEED,
    *,
    sizes: str | Sequence[str] = tuple(SIZES),
    variances: str | Sequence[str] = tuple(VARIANCES),
    users: int | Sequence[int] | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Add users one by one and measure what each method gives (Figures 2 to 5).

    Parameters
    ----------
    runs : int
        Random settings: clusters and users.
    seed : int
        Root of the random streams.
    sizes : {"small", "large"} or both
    variances : {"variance", "deviation"} or both
    users : int or sequence of int, optional
        Numbers of users; those of :data:`USERS` if not given.
    progress : bool
        Whether to draw bars on stderr.

    Returns
    -------
    DataFrame
        One row per ``size``, ``variance``, ``users`` (``load``), ``method`` and ``measure``: ``mean``, ``low``,
        ``high`` (95 % t interval of the mean over runs), ``runs``. Measures: ``y`` (least fraction, 0 where somebody is
        turned away), ``everybody`` (part of the runs in which all are served), ``remaining`` (VMs free); and over the
        runs in which all six methods serve everybody, whose number is in ``runs``: ``remaining_common``, ``gain``
        (least fraction divided by that of relaxation, less 1, run by run), ``ratio`` (least fraction divided by the
        best bound that the exact method proved).

    Notes
    -----
    Cost: some 10 ms a run and number of users.
    """
    rows: list[dict[str, Any]] = []
    for size, variance, number in _grid(sizes, variances, users):
        values = _values(size, number, variance, runs, seed, progress)
        of, bound = values[:, :-1], values[:, -1, 0]
        common = of[:, :, 2].all(axis=1)
        relaxation = of[common, METHODS.index("relaxation"), 0]
        at = {"size": size, "variance": variance, "users": number, "load": load_of(size, number)}
        for k, name in enumerate(METHODS):
            y, _, everybody, remaining = of[:, k].T
            shared = remaining[common], y[common] / relaxation - 1, y[common] / bound[common]
            found = zip(MEASURES, (y, everybody, remaining, *shared), strict=True)
            rows += [{**at, "method": name, "measure": measure, **summary(some)} for measure, some in found]
    return pd.DataFrame(rows)


@lru_cache(maxsize=2)
def _curves(size: str, runs: int = RUNS, seed: int = SEED, *, progress: bool = False) -> pd.DataFrame:
    return curves(runs, seed, sizes=size, progress=progress)


#: The least fraction (Figure 2), and what is left free (Figure 3), on 5 clusters; the same on 8 (Figures 4 and 5).
fig2 = fig3 = partial(_curves, "small")
fig4 = fig5 = partial(_curves, "large")


def spread(
    runs: int = RUNS,
    seed: int = SEED,
    *,
    sizes: str | Sequence[str] = tuple(SIZES),
    variances: str | Sequence[str] = tuple(VARIANCES),
    users: int | Sequence[int] | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Ask how steady each method is: least fraction divided by the best proved bound, over runs.

    Parameters
    ----------
    runs, seed, sizes, variances, users, progress
        As in :func:`curves`, and the same runs.

    Returns
    -------
    DataFrame
        One row per ``size``, ``variance``, ``users`` (``load``), ``method``, over the runs in which all six methods
        serve everybody: ``sd`` (standard deviation) with ``sd_low``, ``sd_high`` (95 %, 400 resamples), ``runs``; nan
        where fewer than 10 such runs are left.
    """
    rows: list[dict[str, Any]] = []
    for size, variance, number in _grid(sizes, variances, users):
        values = _values(size, number, variance, runs, seed, progress)
        common = values[:, :-1, 2].all(axis=1)
        ratios = (values[:, :-1, 0] / np.where(common, values[:, -1, 0], 1.0)[:, None])[common].round(12)
        at = {"size": size, "variance": variance, "users": number, "load": load_of(size, number)}
        for k, method in enumerate(METHODS):
            rows.append({**at, "method": method, **_steady(ratios[:, k], seed), "runs": len(ratios)})
    return pd.DataFrame(rows)


def _steady(values: FloatArray, seed: int) -> dict[str, float]:
    if len(values) < 10:
        return dict.fromkeys(("sd", "sd_low", "sd_high"), np.nan)
    again = values[stream(seed, 0).integers(len(values), size=(400, len(values)))].std(axis=1, ddof=1)
    low, high = np.quantile(again, [0.025, 0.975])
    return {"sd": values.std(ddof=1), "sd_low": low, "sd_high": high}


# --------------------------------------------------------------------------------------------------- to the optimum

#: Settings of :func:`gaps`: size and users.
CASES: tuple[tuple[str, int], ...] = (("small", 14), ("large", 30), ("large", 35), ("large", 40))


def _gap(rng: np.random.Generator, size: str, users: int) -> FloatArray:
    """Give least fraction and whether everybody is served for each method; last the best proved bound, and if it is."""
    case = instance(rng, size, users)
    found = [virtual_cluster(*case, method=method) for method in METHODS]  # type: ignore[arg-type]
    rows = [[one.min_fraction, float(one.served.all())] for one in found]
    return np.array([*rows, [found[-1].bound, float(found[-1].optimal)]])


def gaps(
    runs: int = 500,
    seed: int = SEED,
    *,
    cases: Sequence[tuple[str, int]] = CASES,
    progress: bool = False,
) -> pd.DataFrame:
    """Put each method beside the best bound that the exact method proved.

    Parameters
    ----------
    runs, seed, progress
        As in :func:`curves`.
    cases : sequence of (size, users)

    Returns
    -------
    DataFrame
        One row per ``size``, ``users``, ``method``: ``mean``, ``low``, ``high`` (95 %) of the least fraction divided by
        the bound, 0 where the method turns somebody away; ``common`` (mean over the runs in which all methods serve
        everybody), ``worst`` of these, ``solved`` (part of the runs in which the exact method proved its optimum),
        ``runs`` (runs in which the bound is not 0).
    """
    pairs = [(choices((size,), "cases", tuple(SIZES))[0], as_whole(users, "cases", 1, DRAWN)) for size, users in cases]
    rows: list[dict[str, Any]] = []
    for size, users in pairs:
        values = np.stack(
            repeat(
                _gap,
                runs,
                seed=seed,
                progress=progress,
                label=f"gaps, {size}, {users} users",
                size=size,
                users=users,
            )
        )
        values = values[values[:, -1, 0] > 0]
        bound, common = values[:, -1, 0], values[:, :-1, 1].all(axis=1)
        for k, method in enumerate(METHODS):
            ratio = values[:, k, 0] / bound
            rows.append(
                {
                    "size": size,
                    "users": users,
                    "method": method,
                    **summary(ratio),
                    "common": ratio[common].mean() if common.any() else np.nan,
                    "worst": ratio[common].min() if common.any() else np.nan,
                    "solved": values[:, -1, 1].mean(),
                }
            )
    return pd.DataFrame(rows)


# ------------------------------------------------------------------------------------------------ one or several


def _spanned(rng: np.random.Generator, size: str, users: int) -> float:
    """Give by how much the largest least fraction grows, nan where not both serve everybody."""
    case = instance(rng, size, users)
    one, several = (virtual_cluster(*case, method=method).min_fraction for method in ("exact", "spanning"))  # type: ignore[arg-type]
    return several / one - 1 if one > 0 and several > 0 else np.nan


def spanning_gain(
    runs: int = RUNS,
    seed: int = SEED,
    *,
    sizes: str | Sequence[str] = tuple(SIZES),
    users: int | Sequence[int] | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Ask what it brings to let virtual clusters live on several physical ones.

    Returns
    -------
    DataFrame
        One row per ``size``, ``users`` (``load``): ``mean``, ``low``, ``high`` (95 %) of the gain, run by run in the
        ``runs`` in which both serve everybody: the least fraction of the best allocation with several clusters a user,
        divided by that with one, less 1.
    """
    how: dict[str, Any] = {"seed": seed, "progress": progress}
    gains = {
        (size, number): repeat(_spanned, runs, label=f"spanning, {size}, {number}", size=size, users=number, **how)
        for size, _, number in _grid(sizes, "variance", users)
    }
    return pd.DataFrame(
        {"size": size, "users": number, "load": load_of(size, number), **summary(np.array(found))}
        for (size, number), found in gains.items()
    )


def packing(
    seed: int = SEED,
    *,
    run: int = 16,
    users: int = 13,
    size: str = "small",
    methods: str | Sequence[str] = ("relaxation", "mixed_knapsack", "exact"),
) -> pd.DataFrame:
    """Show who lives where in one run.

    Parameters
    ----------
    seed, run : int
        Root of the random streams, and which run.
    users, size
        As in :func:`instance`.
    methods : str or sequence of str
        Some of :data:`METHODS`.

    Returns
    -------
    DataFrame
        One row per ``method`` and ``user`` (from 0): ``cluster`` (-1 where turned away), ``max_vms``, ``minimum``,
        ``vms``, ``fraction``, and ``all_clusters`` (the capacities, joined by spaces).
    """
    case = instance(stream(seed, as_whole(run, "run", 0)), size, users)
    runs = {method: virtual_cluster(*case, method=method) for method in choices(methods, "methods", METHODS)}
    parts = [
        pd.DataFrame(
            {
                "method": method,
                "user": range(len(case.max_vms)),
                "cluster": found.cluster,
                "max_vms": case.max_vms,
                "minimum": found.requests.minimum,
                "vms": found.vms,
                "fraction": found.fraction,
                "all_clusters": " ".join(map(str, case.capacities.tolist())),
            }
        )
        for method, found in runs.items()
    ]
    return pd.concat(parts, ignore_index=True)


# ------------------------------------------------------------------------------------------------------------ prices

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
        As in :func:`curves`.
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


# ------------------------------------------------------------------------------------------------------------ stored


_store = partial(storing, module=__name__, seed=SEED)
#: Full-effort tables kept in data/results, each with the call that computes it (with a bar on stderr or without).
STORED: dict[str, Callable[..., None]] = {
    "virtual_cluster/curves": _store("virtual_cluster/curves", curves, runs=RUNS),
    "virtual_cluster/spread": _store("virtual_cluster/spread", spread, runs=RUNS),
    "virtual_cluster/readings": _store("virtual_cluster/readings", counted, runs=100),
    "virtual_cluster/nearest": _store("virtual_cluster/nearest", nearest, runs=NEAREST_RUNS),
    "virtual_cluster/gaps": _store("virtual_cluster/gaps", gaps, runs=500),
    "virtual_cluster/spanning_gain": _store("virtual_cluster/spanning_gain", spanning_gain, runs=RUNS),
    "virtual_cluster/price": _store("virtual_cluster/price", price, module=price.__module__, runs=100),
    "virtual_cluster/tariffs": _store("virtual_cluster/tariffs", tariffs, runs=RUNS),
}

#: Where a figure's frame lies in the store: the table, and the value that its rows have in these columns. A figure
#: takes from it the measures that it draws.
STORED_FIGURES: dict[str, tuple[str, dict[str, Any]]] = {
    "fig2": ("virtual_cluster/curves", {"size": "small"}),
    "fig3": ("virtual_cluster/curves", {"size": "small"}),
    "fig4": ("virtual_cluster/curves", {"size": "large"}),
    "fig5": ("virtual_cluster/curves", {"size": "large"}),
}
