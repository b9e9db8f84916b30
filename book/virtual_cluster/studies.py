"""The experiments of the chapter on virtual clusters: load, readings, gaps, one cluster or several, coming and going.

The paper's two settings: 5 clusters of different size with 320 VMs together and at least 50 each (``"small"``), and 8
with 1000 and at least 90 (``"large"``). What is above the least is cut at random points, anew in each run. Users want
some 30 VMs, normally distributed, and tolerate between 0 and 0.9; "variance 10" may mean that, or a standard deviation
of 10. Users are added one by one, so a run's first n users are the same at every n. *Load* is 30 n VMs divided by all
that the clusters hold.
"""

from __future__ import annotations

import heapq
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from tqdm import tqdm

from book.common.runs import choices, interval, repeat, stream
from fairbook import results
from fairbook.errors import InvalidInput
from fairbook.mechanisms.packing import LISTS, list_pack
from fairbook.mechanisms.virtual_cluster import virtual_cluster
from fairbook.mechanisms.virtual_cluster_pool import VirtualClusterPool
from fairbook.model.clusters import SPANS, Requests, VirtualClusters, as_requests
from fairbook.model.inputs import FloatArray, as_number, as_whole
from fairbook.traces.google2011 import load_digest

__all__ = [
    "CASES",
    "DATA",
    "LOADS",
    "MEASURES",
    "METHODS",
    "NEAREST",
    "PER_CLUSTER",
    "POLICIES",
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
    "course",
    "curves",
    "dynamic",
    "fig2",
    "fig3",
    "fig4",
    "fig5",
    "gaps",
    "instance",
    "keys",
    "lies",
    "nearest",
    "packing",
    "price",
    "readings",
    "spanning_gain",
    "spread",
    "tariffs",
    "tolerance_price",
    "trace",
]

#: Root of every random stream.
SEED = 2011
#: Repetitions.
RUNS = 200
#: Data files, below ``data/``, on which the stored results depend.
DATA = ("google2011.json", "google2011_requests.csv")


class Size(NamedTuple):
    """A set of physical clusters: how many, VMs of all, least VMs of one."""

    clusters: int
    vms: int
    least: int


#: Sizes of instances, by name.
SIZES: dict[str, Size] = {"small": Size(5, 320, 50), "large": Size(8, 1000, 90)}

#: What "variance 10" may mean, as a standard deviation in VMs.
VARIANCES: dict[str, float] = {"variance": 10.0**0.5, "deviation": 10.0}

#: Numbers of users of :func:`curves`: from a load of 0.75 or 0.84 to 1.88 or 1.8.
USERS: dict[str, tuple[int, ...]] = {"small": (8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20),
                                       "large": tuple(range(28, 61, 4))}

#: Methods that are compared; all of them give each user one cluster.
METHODS = ("relaxation", "greedy", "mixed_knapsack", "metagreedy", "vector_packing", "exact")

#: What :func:`curves` measures; the last four over the runs in which all methods serve everybody.
MEASURES = ("y", "y_served", "everybody", "served", "remaining", "y_common", "remaining_common", "gain", "ratio")

_MEAN = 30.0  # VMs that a user wants
_DRAWN = 100  # users drawn in each run, of whom the first are taken
_HIGH, _LOW = 2.0, 1.0  # tariffs


def _counts(values: Any, argument: str, most: int = _DRAWN) -> tuple[int, ...]:
    found = tuple(values) if isinstance(values, (Sequence, np.ndarray)) and not isinstance(values, str) else (values,)
    if not found:
        raise InvalidInput(argument, "must name at least one number", values)
    return tuple(as_whole(value, argument, 1, most) for value in found)


def _levels(values: Any, argument: str) -> tuple[float, ...]:
    found = tuple(values) if isinstance(values, (Sequence, np.ndarray)) and not isinstance(values, str) else (values,)
    if not found:
        raise InvalidInput(argument, "must name at least one number", values)
    return tuple(as_number(value, argument, 0.05, 20.0) for value in found)


class Instance(NamedTuple):
    """What :func:`fairbook.virtual_cluster` takes, in its order.

    Attributes
    ----------
    max_vms : ndarray of int, shape (n,)
    tolerance : ndarray, shape (n,)
    capacities : ndarray of int, shape (H,)
    """

    max_vms: NDArray[np.int64]
    tolerance: FloatArray
    capacities: NDArray[np.int64]


def _cut(rng: np.random.Generator, size: Size) -> NDArray[np.int64]:
    """Give each cluster the least and cut what is left at random points."""
    spare = size.vms - size.clusters * size.least
    cuts = np.sort(rng.integers(0, spare + 1, size.clusters - 1))
    found: NDArray[np.int64] = size.least + np.diff(np.concatenate([[0], cuts, [spare]])).astype(np.int64)
    return found


def _requests(rng: np.random.Generator, users: int, variance: str) -> tuple[NDArray[np.int64], FloatArray]:
    drawn = max(users, _DRAWN)
    wanted = np.rint(rng.normal(_MEAN, VARIANCES[variance], drawn))
    tolerance = rng.uniform(0.0, 0.9, drawn)
    return np.maximum(wanted, 1).astype(np.int64)[:users], tolerance[:users]


def instance(rng: np.random.Generator, size: str = "small", users: int = 14, *,
             variance: str = "variance") -> Instance:
    """Draw the clusters and the users of one run; the first users are the same whatever their number.

    Parameters
    ----------
    rng : numpy.random.Generator
        Of the run.
    size : {"small", "large"}
        5 clusters of 320 VMs or 8 of 1000.
    users : int
        At most 100.
    variance : {"variance", "deviation"}
        What is 10: the variance of the VMs wanted, or their standard deviation.

    Examples
    --------
    >>> from book.common.runs import stream
    >>> instance(stream(1, 0), users=3).capacities.tolist()
    [51, 61, 87, 59, 62]
    """
    if not isinstance(rng, np.random.Generator):
        raise InvalidInput("rng", "must be a numpy.random.Generator", rng)
    choices((size,), "size", tuple(SIZES))
    choices((variance,), "variance", tuple(VARIANCES))
    users = as_whole(users, "users", 1, _DRAWN)
    capacities = _cut(rng, SIZES[size])
    return Instance(*_requests(rng, users, variance), capacities)


# ------------------------------------------------------------------------------------------------------- the figures

_FIELDS = ("y", "y_served", "everybody", "served", "remaining")


def _measured(found: VirtualClusters) -> list[float]:
    """Give the :data:`_FIELDS` of an allocation; nobody served counts as a least fraction of 0."""
    served = found.served
    return [found.min_fraction, found.served_fraction if served.any() else 0.0, float(served.all()),
            float(served.mean()), float(found.slack.sum())]


def _one(rng: np.random.Generator, size: str, users: int, variance: str) -> FloatArray:
    """Give the fields of each method, then in a last row: best proved bound, bound of one pool, ..., in one run."""
    case = instance(rng, size, users, variance=variance)
    found = [virtual_cluster(*case, method=method) for method in METHODS]  # type: ignore[arg-type]
    best = found[-1]
    return np.array([*map(_measured, found), [best.bound, best.requests.bound, float(best.optimal), 0.0, 0.0]])


@lru_cache(maxsize=256)
def _values(size: str, users: int, variance: str, runs: int, seed: int, progress: bool) -> FloatArray:
    """Give the fields of each run, shape (runs, methods + 1, fields)."""
    return np.stack(repeat(_one, runs, seed=seed, progress=progress, label=f"{size}, {users} users, {variance}",
                           size=size, users=users, variance=variance))


def _summary(values: FloatArray, digits: int = 12) -> dict[str, float]:
    """Give mean and interval over runs; nan where there is none."""
    if not len(values):
        return {"mean": np.nan, "low": np.nan, "high": np.nan, "runs": 0}
    row = interval(np.asarray(values, dtype=float).round(digits)[:, None]).iloc[0]
    return {"mean": row["mean"], "low": row["low"], "high": row["high"], "runs": len(values)}


def _load(size: str, users: int) -> float:
    return _MEAN * users / SIZES[size].vms


def _grid(sizes: Any, variances: Any, users: Any) -> Iterator[tuple[str, str, int]]:
    chosen_sizes = choices(sizes, "sizes", tuple(SIZES))
    chosen_variances = choices(variances, "variances", tuple(VARIANCES))
    numbers = None if users is None else _counts(users, "users")
    for size, variance in product(chosen_sizes, chosen_variances):
        for number in USERS[size] if numbers is None else numbers:
            yield size, variance, number


def curves(runs: int = RUNS, seed: int = SEED, *, sizes: str | Sequence[str] = tuple(SIZES),
           variances: str | Sequence[str] = tuple(VARIANCES), users: int | Sequence[int] | None = None,
           progress: bool = False) -> pd.DataFrame:
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
        turned away), ``y_served`` (least fraction of those served), ``everybody`` (part of the runs in which all are
        served), ``served`` (part of the users), ``remaining`` (VMs free); and over the runs in which all six methods
        serve everybody, whose number is in ``runs``: ``y_common``, ``remaining_common``, ``gain`` (least fraction
        divided by that of relaxation, less 1, run by run), ``ratio`` (least fraction divided by the best bound that the
        exact method proved). The method ``"bound"`` (``y``, ``y_common``, ``gain``, ``ratio`` only) is one pool of
        all clusters.

    Notes
    -----
    Cost: some 10 ms a run and number of users.
    """
    runs = as_whole(runs, "runs", 1)
    rows: list[dict[str, Any]] = []
    for size, variance, number in _grid(sizes, variances, users):
        values = _values(size, number, variance, runs, seed, progress)
        of, limits = values[:, :-1], values[:, -1]
        common = of[:, :, 2].all(axis=1)
        least = {**{name: of[:, k, 0] for k, name in enumerate(METHODS)}, "bound": limits[:, 1]}
        at = {"size": size, "variance": variance, "users": number, "load": _load(size, number)}
        for name, y in least.items():
            found: dict[str, FloatArray] = {"y": y}
            if name != "bound":
                found |= {field: of[:, METHODS.index(name), k] for k, field in enumerate(_FIELDS) if k}
            found["y_common"] = y[common]
            if name != "bound":
                found["remaining_common"] = found["remaining"][common]
            found["gain"] = y[common] / least["relaxation"][common] - 1
            found["ratio"] = y[common] / limits[common, 0]
            rows += [{**at, "method": name, "measure": measure, **_summary(some)} for measure, some in found.items()]
    return pd.DataFrame(rows)


@lru_cache(maxsize=4)
def _curves(size: str, runs: int, seed: int, progress: bool) -> pd.DataFrame:
    return curves(runs, seed, sizes=size, progress=progress)


_OF_Y = ("y", "y_common", "everybody")
_OF_REMAINING = ("remaining", "remaining_common")


def _of(size: str, measures: tuple[str, ...], runs: int, seed: int, progress: bool) -> pd.DataFrame:
    frame = _curves(size, runs, seed, progress)
    return frame[frame["measure"].isin(measures)].reset_index(drop=True)


def fig2(runs: int = RUNS, seed: int = SEED, *, progress: bool = False) -> pd.DataFrame:
    """Measure the least fraction on 5 clusters (Figure 2), in three ways to count; columns as in :func:`curves`."""
    return _of("small", _OF_Y, runs, seed, progress)


def fig3(runs: int = RUNS, seed: int = SEED, *, progress: bool = False) -> pd.DataFrame:
    """Measure what is left free on 5 clusters (Figure 3); columns as in :func:`curves`."""
    return _of("small", _OF_REMAINING, runs, seed, progress)


def fig4(runs: int = RUNS, seed: int = SEED, *, progress: bool = False) -> pd.DataFrame:
    """Measure the least fraction on 8 clusters (Figure 4); columns as in :func:`curves`."""
    return _of("large", _OF_Y, runs, seed, progress)


def fig5(runs: int = RUNS, seed: int = SEED, *, progress: bool = False) -> pd.DataFrame:
    """Measure what is left free on 8 clusters (Figure 5); columns as in :func:`curves`."""
    return _of("large", _OF_REMAINING, runs, seed, progress)


def spread(runs: int = RUNS, seed: int = SEED, *, sizes: str | Sequence[str] = tuple(SIZES),
           variances: str | Sequence[str] = tuple(VARIANCES), users: int | Sequence[int] | None = None,
           progress: bool = False) -> pd.DataFrame:
    """Ask how steady each method is: least fraction divided by the best proved bound, over runs.

    Parameters
    ----------
    runs, seed, sizes, variances, users, progress
        As in :func:`curves`, and the same runs.

    Returns
    -------
    DataFrame
        One row per ``size``, ``variance``, ``users`` (``load``), ``method``, over the runs in which all six methods
        serve everybody: ``mean``, ``sd`` (standard deviation) with ``sd_low``, ``sd_high`` (95 %, 400 resamples),
        ``p05``, ``median``, ``p95``, ``runs``; nan where fewer than 10 such runs are left.
    """
    runs = as_whole(runs, "runs", 1)
    rows: list[dict[str, Any]] = []
    for size, variance, number in _grid(sizes, variances, users):
        values = _values(size, number, variance, runs, seed, progress)
        common = values[:, :-1, 2].all(axis=1)
        ratios = (values[:, :-1, 0] / np.where(common, values[:, -1, 0], 1.0)[:, None])[common].round(12)
        at = {"size": size, "variance": variance, "users": number, "load": _load(size, number)}
        for k, method in enumerate(METHODS):
            rows.append({**at, "method": method, **_steady(ratios[:, k], seed), "runs": len(ratios)})
    return pd.DataFrame(rows)


def _steady(values: FloatArray, seed: int) -> dict[str, float]:
    names = ("mean", "sd", "sd_low", "sd_high", "p05", "median", "p95")
    if len(values) < 10:
        return dict.fromkeys(names, np.nan)
    again = values[stream(seed, 0).integers(len(values), size=(400, len(values)))].std(axis=1, ddof=1)
    found = [values.mean(), values.std(ddof=1), *np.quantile(again, [0.025, 0.975]),
             *np.quantile(values, [0.05, 0.5, 0.95])]
    return dict(zip(names, map(float, found), strict=True))


# ------------------------------------------------------------------------------------------------------ all readings

#: The open points of the paper and how each may be read. ``order``, ``fit``: how greedy sorts the users and where it
#: puts them; METAGREEDY, the best of 16 lists, is a reading of both. ``relaxed``: how relaxation sorts them.
#: ``general``: who is at work in step 7a, greedy or relaxation, read as outside. ``queue``: the order in which it meets
#: those whom it does not sort itself, as they came or by k, which step 3 prints. ``range``: the loads over which
#: means are taken.
READINGS: dict[str, tuple[Any, ...]] = {
    "variance": ("variance", "deviation"),
    "load": ("relative", "free"),
    "relaxed": ("given", "minimum"),
    "order": ("given", "wish", "minimum", "elastic", "metagreedy"),
    "fit": ("least_wanted", "best_fit", "first_fit", "metagreedy"),
    "general": ("greedy", "relaxation"),
    "queue": ("given", "tolerance"),
    "counting": ("common", "zero", "served"),
    "range": ("0.9 to 1.5", "0.9 to 1.2"),
}

#: The reading nearest to the text. For greedy the text refers to Stillwell et al., whose best greedy is METAGREEDY; for
#: all else it is what is printed, or the plain sense of the words. Its ``range`` is each load.
NEAREST: dict[str, Any] = {"variance": "variance", "load": "relative", "relaxed": "given", "order": "metagreedy",
                           "fit": "metagreedy", "general": "greedy", "queue": "tolerance", "counting": "common"}

#: Loads of :func:`readings`, rounded, and the numbers of users.
_READ_AT: dict[str, tuple[int, ...]] = {"small": (10, 11, 12, 13, 14, 16), "large": (31, 34, 38, 41, 44, 50)}
_READ_LOADS = ("0.9", "1.0", "1.1", "1.2", "1.3", "1.5")
_RANGES = {"0.9 to 1.5": slice(None), "0.9 to 1.2": slice(0, 4)}

_Key = tuple[Any, ...]


def _crossed() -> list[dict[str, Any]]:
    """Give every reading of the algorithms, once: where the algorithm of step 7a sorts, ``queue`` plays no part."""
    names = ("load", "relaxed", "order", "fit", "general", "queue")
    every = (dict(zip(names, values, strict=True)) for values in product(*(READINGS[name] for name in names)))
    return [how for how in every if (how["order"] == "metagreedy") == (how["fit"] == "metagreedy")
            and (how["queue"] == "tolerance" or _inside(how)[1] == "given")]


def _inside(how: Mapping[str, Any]) -> _Key:
    """Give algorithm, order and choice of a cluster in step 7a; METAGREEDY tries the users as it gets them, too."""
    algorithm, order, own = ("greedy", how["order"], how["fit"]) if how["general"] == "greedy" else (
        "relaxation", how["relaxed"], how["load"])
    unsorted = order in ("given", "metagreedy") and how["queue"] == "tolerance"
    return algorithm, "tolerance" if unsorted else order, own


def _orders(case: Instance) -> dict[str, NDArray[np.int64]]:
    """Sort the users in each way, the first first at ties."""
    least = as_requests(*case).minimum
    keys = {"given": 0 * case.max_vms, "wish": -case.max_vms, "minimum": -least, "elastic": least - case.max_vms,
            "tolerance": case.tolerance}
    return {name: np.argsort(key, kind="stable") for name, key in keys.items()}


def _read(rng: np.random.Generator, size: str, users: int, variance: str) -> tuple[dict[_Key, list[float]], float]:
    """Give the fields of relaxation, greedy and mixed knapsack in every reading, and the best proved bound."""
    case = instance(rng, size, users, variance=variance)
    orders = _orders(case)
    found: dict[_Key, list[float]] = {}

    def run(key: _Key, order: str, method: Any, **how: Any) -> None:
        if key not in found:
            chosen = orders["given" if order == "metagreedy" else order]
            found[key] = _measured(virtual_cluster(case.max_vms[chosen], case.tolerance[chosen], case.capacities,
                                                   method=method, **how))

    for how in _crossed():
        relaxed, greedy, mixed = _keys(how)
        run(relaxed, how["relaxed"], "relaxation", load=how["load"])
        meta = how["fit"] == "metagreedy"
        run(greedy, how["order"], *(["metagreedy"] if meta else ["greedy"]), **({} if meta else {"fit": how["fit"]}))
        algorithm, order, own = _inside(how)
        inside = {"general": own} if own == "metagreedy" else {
            "general": algorithm, "fit" if algorithm == "greedy" else "load": own}
        run(mixed, order, "mixed_knapsack", **inside)
    return found, virtual_cluster(*case, method="exact").bound


def _keys(how: Mapping[str, Any]) -> tuple[_Key, _Key, _Key]:
    """Tell relaxation, greedy and mixed knapsack of different readings apart."""
    return ("relaxation", how["relaxed"], how["load"]), ("greedy", how["order"], how["fit"]), (
        "mixed", *_inside(how))


def _mean(values: FloatArray, keep: NDArray[np.bool_]) -> FloatArray:
    """Average along the last axis what is kept; nan where nothing is."""
    number = keep.sum(axis=-1)
    found: FloatArray = np.where(number > 0, np.where(keep, values, 0.0).sum(axis=-1) / np.maximum(number, 1), np.nan)
    return found


def _compared(relaxed: FloatArray, greedy: FloatArray, mixed: FloatArray, bound: FloatArray, counting: str,
              ) -> dict[str, float]:
    """Compare the three in one reading: arrays of shape (loads, runs, fields), bound (loads, runs)."""
    three = np.stack([relaxed, greedy, mixed])
    least = three[..., 1] if counting == "served" else three[..., 0]
    keep = np.asarray(three[..., 2].all(axis=0) if counting == "common" else np.ones(bound.shape, bool))
    reached: NDArray[np.bool_] = np.asarray(keep & (bound > 0))
    ratio = least / np.where(reached, bound, 1.0)
    means = [_mean(of, keep) for of in least]
    row: dict[str, float] = {}
    for name, of in zip(("greedy", "mixed"), means[1:], strict=True):
        gain = of / means[0] - 1
        gain = gain[~np.isnan(gain)]
        row |= {f"gain_{name}": gain.mean(), f"gain_{name}_least": gain.min(), f"gain_{name}_most": gain.max()}
    for k, name in enumerate(("relaxation", "greedy", "mixed")):
        centre = _mean(ratio[k], reached)
        square = _mean((ratio[k] - centre[:, None]) ** 2, reached)
        row |= {f"remaining_{name}": float(np.nanmean(_mean(three[k, ..., 4], keep))),
                f"sd_{name}": float(np.nanmean(square**0.5)), f"near_{name}": float(np.nanmean(centre))}
    difference = np.where(keep, least[1] - least[2], 0.0)
    seen = keep.any(axis=0)
    ahead = _summary(difference.sum(axis=0)[seen] / keep.sum(axis=0)[seen])
    return {**row, "ahead": ahead["mean"], "ahead_low": ahead["low"], "ahead_high": ahead["high"],
            "kept": float(keep.mean())}


def readings(runs: int = 100, seed: int = SEED, *, progress: bool = False) -> pd.DataFrame:
    """Cross all readings of the paper's three algorithms and of its experiments.

    Parameters
    ----------
    runs, seed, progress
        As in :func:`curves`. At least 5 runs.

    Returns
    -------
    DataFrame
        One row per ``size`` and reading (:data:`READINGS`; ``counting``: the runs in which all three serve everybody,
        or all runs with a least fraction of 0 where somebody is turned away, or of those served), and for the one of
        :data:`NEAREST` also one per load, whose ``range`` is that load. Means over the loads: ``gain_greedy``,
        ``gain_mixed`` (mean least fraction divided by that of relaxation, less 1; also ``_least``, ``_most`` over the
        loads), ``remaining_*`` (VMs free), ``sd_*`` and ``near_*`` (standard deviation and mean of the least fraction
        divided by the best proved bound), ``ahead`` (least fraction of greedy less that of mixed knapsack) with
        ``ahead_low``, ``ahead_high`` (95 %), ``kept`` (part of the runs).

    Notes
    -----
    Clusters, users, the optimum and each algorithm are computed once for all readings that share them: some 15 ms a run
    and load, and 1 ms a reading. Figure 1 stops at its default of 8 users and tops nothing up: the one changes means by
    about a hundredth at most, the other no least fraction at all.
    """
    runs = as_whole(runs, "runs", 5)
    rows = []
    for size, variance in product(SIZES, READINGS["variance"]):
        found = [repeat(_read, runs, seed=seed, progress=progress, label=f"readings, {size}, {users} users, {variance}",
                        size=size, users=users, variance=variance) for users in _READ_AT[size]]
        bound = np.array([[run[1] for run in at] for at in found])
        fields = {key: np.array([[run[0][key] for run in at] for at in found]) for key in found[0][0][0]}
        for how, counting in product(_crossed(), READINGS["counting"]):
            reading = {"variance": variance, **how, "counting": counting}
            each = {load: slice(k, k + 1) for k, load in enumerate(_READ_LOADS)} if reading == NEAREST else {}
            relaxed, greedy, mixed = (fields[key] for key in _keys(how))
            for name, part in (_RANGES | each).items():
                rows.append({"size": size, **reading, "range": name,
                             **_compared(relaxed[part], greedy[part], mixed[part], bound[part], counting)})
    return pd.DataFrame(rows).round(6)


def nearest(runs: int = 100, seed: int = SEED, *, progress: bool = False) -> pd.DataFrame:
    """Give the rows of :func:`readings` that belong to the reading nearest to the text, one per ``size`` and load."""
    frame = readings(runs, seed, progress=progress)
    return frame[frame["range"].isin(_READ_LOADS)].drop(columns=list(NEAREST)).reset_index(drop=True)


_Judge = Callable[[pd.DataFrame, pd.DataFrame], tuple[pd.Series, pd.Series, pd.Series]]


def _between(column: str, size: str, low: float, high: float) -> _Judge:
    """Hold where the mean gain lies in the band; surely where it does at every load."""

    def judge(small: pd.DataFrame, large: pd.DataFrame) -> tuple[pd.Series, pd.Series, pd.Series]:
        of = small if size == "small" else large
        mean = of[column]
        return mean, mean.between(low, high), (of[f"{column}_least"] >= low) & (of[f"{column}_most"] <= high)

    return judge


def _more_left(size: str) -> _Judge:
    def judge(small: pd.DataFrame, large: pd.DataFrame) -> tuple[pd.Series, pd.Series, pd.Series]:
        of = small if size == "small" else large
        more = of["remaining_relaxation"] - of[["remaining_greedy", "remaining_mixed"]].max(axis=1)
        return more, more > 0, more > 1

    return judge


def _ahead(size: str, sign: int) -> _Judge:
    def judge(small: pd.DataFrame, large: pd.DataFrame) -> tuple[pd.Series, pd.Series, pd.Series]:
        of = small if size == "small" else large
        surely = of["ahead_low"] > 0 if sign > 0 else of["ahead_high"] < 0
        return sign * of["ahead"], sign * of["ahead"] > 0, surely

    return judge


def _crossing(small: pd.DataFrame, large: pd.DataFrame) -> tuple[pd.Series, pd.Series, pd.Series]:
    value = np.minimum(small["ahead"], -large["ahead"])
    return value, value > 0, (small["ahead_low"] > 0) & (large["ahead_high"] < 0)


def _less_steady(small: pd.DataFrame, large: pd.DataFrame) -> tuple[pd.Series, pd.Series, pd.Series]:
    value = small["sd_mixed"] / small["sd_greedy"] - 1
    return value, value > 0, value > 0.1


def _steadier(small: pd.DataFrame, large: pd.DataFrame) -> tuple[pd.Series, pd.Series, pd.Series]:
    names = ["sd_relaxation", "sd_greedy", "sd_mixed"]
    value = 1 - (large[names] / small[names]).max(axis=1)
    return value, value > 0, value > 0.1


def _near(size: str, part: float = 0.9) -> _Judge:
    def judge(small: pd.DataFrame, large: pd.DataFrame) -> tuple[pd.Series, pd.Series, pd.Series]:
        value = (small if size == "small" else large)[["near_greedy", "near_mixed"]].min(axis=1)
        return value, value >= part, value >= part + 0.05

    return judge


#: What the paper says of its experiments: a name, its text, and how it is judged in one reading.
STATEMENTS: dict[str, tuple[str, _Judge]] = {
    "greedy_small": ("greedy 20 to 40 % above relaxation, 5 clusters", _between("gain_greedy", "small", 0.2, 0.4)),
    "mixed_small": ("mixed knapsack 20 to 40 % above relaxation, 5 clusters",
                    _between("gain_mixed", "small", 0.2, 0.4)),
    "greedy_large": ("greedy 20 to 50 % above relaxation, 8 clusters", _between("gain_greedy", "large", 0.2, 0.5)),
    "mixed_large": ("mixed knapsack 20 to 50 % above relaxation, 8 clusters",
                    _between("gain_mixed", "large", 0.2, 0.5)),
    "greedy_above": ("greedy above relaxation, 5 clusters", _between("gain_greedy", "small", 1e-9, np.inf)),
    "greedy_above_large": ("greedy above relaxation, 8 clusters", _between("gain_greedy", "large", 1e-9, np.inf)),
    "mixed_above": ("mixed knapsack above relaxation, 5 clusters", _between("gain_mixed", "small", 1e-9, np.inf)),
    "mixed_above_large": ("mixed knapsack above relaxation, 8 clusters",
                          _between("gain_mixed", "large", 1e-9, np.inf)),
    "remaining_small": ("relaxation leaves most VMs free, 5 clusters", _more_left("small")),
    "remaining_large": ("relaxation leaves most VMs free, 8 clusters", _more_left("large")),
    "small_greedy": ("greedy better than mixed knapsack, 5 clusters", _ahead("small", 1)),
    "large_mixed": ("mixed knapsack better than greedy, 8 clusters", _ahead("large", -1)),
    "crossing": ("greedy better with 5, mixed knapsack with 8", _crossing),
    "less_steady": ("mixed knapsack less steady than greedy, 5 clusters", _less_steady),
    "steadier": ("all three steadier with 8 clusters than with 5", _steadier),
    "near_small": ("greedy and mixed knapsack near the optimum (90 %), 5 clusters", _near("small")),
    "near_large": ("greedy and mixed knapsack near the optimum (90 %), 8 clusters", _near("large")),
    "near_small_80": ("greedy and mixed knapsack near the optimum (80 %), 5 clusters", _near("small", 0.8)),
    "near_large_80": ("greedy and mixed knapsack near the optimum (80 %), 8 clusters", _near("large", 0.8)),
}


def conclusions(frame: pd.DataFrame) -> pd.DataFrame:
    """Count under how many readings each of the paper's statements holds.

    Parameters
    ----------
    frame : DataFrame
        Of :func:`readings`.

    Returns
    -------
    DataFrame
        One row per ``statement`` (:data:`STATEMENTS`; ``text``): ``readings``, ``holds`` (in how many, in the mean over
        loads), ``surely`` (a band: at every load; better: 95 % interval; free VMs: by more than one; steadiness: by
        more than 10 %; near: by 5 percent more), ``least``, ``median``, ``most`` of what is compared, ``verdict``
        ("holds", "fails", "depends"), ``nearest`` (loads at which it holds in the reading nearest to the text, out of
        ``loads``) and ``hinges_on`` (open points, the part of the readings in which it holds for each choice, where
        these differ by more than a quarter).
    """
    keys = list(READINGS)
    small, large = (frame[frame["size"] == size].drop(columns="size").set_index(keys).sort_index() for size in SIZES)
    if not len(small) or not small.index.equals(large.index):
        raise InvalidInput("frame", "must have the same readings for both sizes", len(frame))
    ranges = small.index.get_level_values("range")
    one = ~ranges.isin(READINGS["range"])
    rows = []
    for name, (text, judge) in STATEMENTS.items():
        value, holds, surely = (of[~one] for of in judge(small, large))
        number = int(holds.sum())
        verdict = "holds" if number == len(holds) else "depends" if number else "fails"
        parts = []
        for key in keys:
            shares = holds.groupby(level=key).mean()
            if shares.max() - shares.min() > 0.25:
                words = ", ".join(f"{choice} {100 * share:.0f} %" for choice, share in shares.items())
                parts.append(f"{key}: {words}")
        rows.append({"statement": name, "text": text, "readings": len(holds), "holds": number,
                     "surely": int(surely.sum()), "least": value.min(), "median": value.median(), "most": value.max(),
                     "verdict": verdict, "nearest": ", ".join(ranges[one & judge(small, large)[1].to_numpy()]),
                     "loads": ", ".join(ranges[one]), "hinges_on": "; ".join(parts)})
    return pd.DataFrame(rows)


def counted(runs: int = 100, seed: int = SEED, *, progress: bool = False) -> pd.DataFrame:
    """Give the :func:`conclusions` from all :func:`readings`."""
    return conclusions(readings(runs, seed, progress=progress))


# --------------------------------------------------------------------------------------------------- to the optimum

#: Settings of :func:`gaps`: size and users.
CASES: tuple[tuple[str, int], ...] = (("small", 14), ("large", 30), ("large", 35), ("large", 40))


def _gap(rng: np.random.Generator, size: str, users: int, whole: bool) -> FloatArray:
    """Give least fraction, everybody served, optimal for each method and last the best proved bound."""
    case = instance(rng, size, users)
    limit = 300_000 if whole else 30_000
    found = [virtual_cluster(*case, method=method, whole=whole, node_limit=limit)  # type: ignore[arg-type]
             for method in METHODS]
    rows = [[one.min_fraction, float(one.served.all()), float(one.min_fraction >= found[-1].bound * (1 - 1e-9))]
            for one in found]
    return np.array([*rows, [found[-1].bound, found[-1].requests.bound, float(found[-1].optimal)]])


def gaps(runs: int = 500, seed: int = SEED, *, cases: Sequence[tuple[str, int]] = CASES,
         whole: bool | Sequence[bool] = (True, False), progress: bool = False) -> pd.DataFrame:
    """Put each method beside the best bound that the exact method proved.

    Parameters
    ----------
    runs, seed, progress
        As in :func:`curves`. Where VMs are not whole, a thirtieth of the runs on 8 clusters, at least
        one.
    cases : sequence of (size, users)
    whole : bool or both

    Returns
    -------
    DataFrame
        One row per ``size``, ``users``, ``whole``, ``method``: ``mean``, ``low``, ``high`` (95 %) of the least fraction
        divided by the bound, 0 where the method turns somebody away; ``common`` (mean over the ``common_runs`` in which
        all methods serve everybody), ``worst`` of these, ``at_bound`` (part of the runs that reach the bound),
        ``everybody`` (part in which all are served), ``solved`` (part in which the exact method proved its optimum),
        ``runs`` (runs in which the bound is not 0).
    """
    runs = as_whole(runs, "runs", 1)
    pairs = []
    for case in cases:
        if not isinstance(case, (tuple, list)) or len(case) != 2:
            raise InvalidInput("cases", "must be pairs of size and users", case)
        pairs.append((choices((case[0],), "cases", tuple(SIZES))[0], as_whole(case[1], "cases", 1, _DRAWN)))
    rows: list[dict[str, Any]] = []
    for exactly, (size, users) in product(choices(whole, "whole", (True, False)), pairs):
        number = runs if exactly or size == "small" else max(1, runs // 30)
        values = np.stack(repeat(_gap, number, seed=seed, progress=progress, label=f"gaps, {size}, {users} users",
                                 size=size, users=users, whole=bool(exactly)))
        values = values[values[:, -1, 0] > 0]
        bound, common = values[:, -1, 0], values[:, :-1, 1].all(axis=1)
        for k, method in enumerate(METHODS):
            ratio = values[:, k, 0] / bound
            rows.append({
                "size": size, "users": users, "whole": bool(exactly), "method": method, **_summary(ratio),
                "common": ratio[common].mean() if common.any() else np.nan,
                "worst": ratio[common].min() if common.any() else np.nan, "at_bound": values[:, k, 2].mean(),
                "everybody": values[:, k, 1].mean(), "solved": values[:, -1, 2].mean(),
                "common_runs": int(common.sum())})
    return pd.DataFrame(rows)


# --------------------------------------------------------------------------------------------------- more orders


def _fits(asked: Requests, y: float) -> bool:
    """Tell whether some list rule packs the sizes at a value, users in the order of one of four more numbers."""
    keys = asked.max_vms, asked.minimum, asked.max_vms - asked.minimum, asked.minimum / asked.max_vms
    orders = [np.argsort(-key, kind="stable") for key in keys]
    return any(list_pack(asked.sizes(y), asked.capacities, order, rule) is not None for order in orders
               for rule in LISTS)


def _reached(rng: np.random.Generator, size: str, users: int, variance: str) -> FloatArray:
    case = instance(rng, size, users, variance=variance)
    best, lists = (virtual_cluster(*case, method=method) for method in ("exact", "vector_packing"))
    levels = np.unique(np.concatenate([np.arange(1, most + 1) / most for most in case.max_vms]))
    more = np.r_[0, levels][bisect(levels, False, key=lambda y: not _fits(best.requests, y))]
    return np.array([best.min_fraction, lists.min_fraction, max(more, lists.min_fraction)])


def keys(runs: int = RUNS, seed: int = SEED, *, size: str = "small", users: int = 14,
         progress: bool = False) -> pd.DataFrame:
    """Ask what the list rules of ``vector_packing`` gain by sorting users by four more numbers.

    The numbers: VMs wanted, VMs that must be there, what is wanted beyond that, and the least fraction. With them the
    rules search by bisection among the values that some user's whole VMs can give, as METAHVP does.

    Returns
    -------
    DataFrame
        One row per ``variance`` (reading of "variance 10") and ``lists`` ("21" of them, or "with four more orders"):
        ``mean``, ``low``, ``high`` (95 %) of the least fraction as a part of the optimum, ``at_optimum`` (part of the
        runs that reach it), ``runs`` (those in which the optimum serves everybody).
    """
    runs = as_whole(runs, "runs", 1)
    choices((size,), "size", tuple(SIZES))
    users = as_whole(users, "users", 1, _DRAWN)
    rows: list[dict[str, Any]] = []
    for variance in VARIANCES:
        values = np.stack(repeat(_reached, runs, seed=seed, progress=progress, label=f"orders, {variance}", size=size,
                                 users=users, variance=variance))
        values = values[values[:, 0] > 0]
        for k, name in enumerate(("21", "with four more orders"), 1):
            ratio = values[:, k] / values[:, 0]
            rows.append({"variance": variance, "lists": name, **_summary(ratio),
                         "at_optimum": float((ratio >= 1 - 1e-12).mean())})
    return pd.DataFrame(rows)


# ------------------------------------------------------------------------------------------------ one or several


def _spanned(rng: np.random.Generator, size: str, users: int) -> FloatArray:
    case = instance(rng, size, users)
    one, several = (virtual_cluster(*case, method=method) for method in ("exact", "spanning"))  # type: ignore[arg-type]
    both = one.min_fraction > 0 and several.min_fraction > 0
    cut = float((several.cluster == SPANS).sum())
    return np.array([one.min_fraction, several.min_fraction,
                     several.min_fraction / one.min_fraction - 1 if both else np.nan, cut,
                     one.served.mean(), several.served.mean()])


def spanning_gain(runs: int = RUNS, seed: int = SEED, *, sizes: str | Sequence[str] = tuple(SIZES),
                  users: int | Sequence[int] | None = None, progress: bool = False) -> pd.DataFrame:
    """Ask what it brings to let virtual clusters live on several physical ones.

    Returns
    -------
    DataFrame
        One row per ``size``, ``users`` (``load``), ``measure``: ``mean``, ``low``, ``high`` (95 %), ``runs``. Measures:
        ``exact``, ``spanning`` (least fraction of the best allocation with one cluster a user, and with several),
        ``gain`` (spanning / exact - 1, run by run, where both serve everybody), ``cut`` (users on several clusters),
        ``served_exact``, ``served_spanning`` (part of the users).
    """
    runs = as_whole(runs, "runs", 1)
    names = ("exact", "spanning", "gain", "cut", "served_exact", "served_spanning")
    rows: list[dict[str, Any]] = []
    for size, _, number in _grid(sizes, "variance", users):
        values = np.stack(repeat(_spanned, runs, seed=seed, progress=progress, label=f"spanning, {size}, {number}",
                                 size=size, users=number))
        for k, name in enumerate(names):
            some = values[~np.isnan(values[:, k]), k]
            rows.append({"size": size, "users": number, "load": _load(size, number), "measure": name,
                         **_summary(some)})
    return pd.DataFrame(rows)


#: Users a cluster, of :func:`price`.
PER_CLUSTER = (2, 3, 4, 6, 8, 12, 16, 24)


def _sure(case: Instance) -> float:
    """Give the largest fraction that the chapter's theorem on lists promises: sizes leave (H - 1)(largest - 1) free."""
    asked = as_requests(*case)
    values = np.unique(np.concatenate([np.arange(1, a + 1) / a for a in np.unique(asked.max_vms)]))

    def promised(fraction: float) -> bool:
        sizes = asked.sizes(fraction)
        return bool(sizes.sum() <= asked.capacities.sum() - (len(asked.capacities) - 1) * (sizes.max() - 1))

    low, high = -1, len(values)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if promised(float(values[middle])) else (low, middle)
    return float(values[low]) if low >= 0 else 0.0


_PRICED = ("exact", "vector_packing", "greedy", "mixed_knapsack", "guaranteed")


def _priced(rng: np.random.Generator, per: int, load: float) -> FloatArray:
    """Give the least fractions as parts of that of one pool."""
    users = 5 * per
    total = max(5, round(_MEAN * users / load))
    capacities = _cut(rng, Size(5, total, total * 50 // 320))
    case = Instance(*_requests(rng, users, "variance"), capacities)
    found = [virtual_cluster(*case, method=method) for method in _PRICED[:-1]]  # type: ignore[arg-type]
    pool = float((found[0].requests.pooled / case.max_vms).min())
    if pool == 0:
        return np.full(len(_PRICED), np.nan)
    return np.array([*(one.min_fraction / pool for one in found), _sure(case) / pool])


def price(runs: int = 100, seed: int = SEED, *, per_cluster: int | Sequence[int] = PER_CLUSTER, load: float = 1.25,
          progress: bool = False) -> pd.DataFrame:
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
    runs, load = as_whole(runs, "runs", 1), as_number(load, "load", 0.05, 20.0)
    rows: list[dict[str, Any]] = []
    for per in _counts(per_cluster, "per_cluster", 1000):
        values = np.stack(repeat(_priced, runs, seed=seed, progress=progress, label=f"price, {per} a cluster", per=per,
                                 load=load))
        values = values[~np.isnan(values[:, 0])]
        rows += [{"per_cluster": per, "method": name, **_summary(values[:, k])} for k, name in enumerate(_PRICED)]
    return pd.DataFrame(rows)


def packing(seed: int = SEED, *, run: int = 16, users: int = 13, size: str = "small",
            methods: str | Sequence[str] = ("relaxation", "mixed_knapsack", "exact")) -> pd.DataFrame:
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
        One row per ``method`` and ``user`` (from 0): ``cluster`` (-1 where turned away), ``capacity`` (of the cluster;
        0), ``max_vms``, ``minimum``, ``vms``, ``fraction``, and ``all_clusters`` (the capacities, joined by spaces).
    """
    case = instance(stream(seed, as_whole(run, "run", 0)), size, users)
    parts = []
    for method in choices(methods, "methods", METHODS):
        found = virtual_cluster(*case, method=method)
        on = np.where(found.served, case.capacities[found.cluster], 0)
        parts.append(pd.DataFrame({
            "method": method, "user": range(len(case.max_vms)), "cluster": found.cluster, "capacity": on,
            "max_vms": case.max_vms, "minimum": found.requests.minimum, "vms": found.vms, "fraction": found.fraction,
            "all_clusters": " ".join(map(str, case.capacities.tolist()))}))
    return pd.concat(parts, ignore_index=True)


# ------------------------------------------------------------------------------------------------ coming and going

#: Who is let in and who gets what: rules b (free VMs to the least fraction, or to the largest tolerance as printed) and
#: c (VMs are taken from the largest surplus, or as printed); clusters shared anew at each event; only those who can
#: have all that they want, who keep it; the best static allocation at each moment, with users moved at will.
POLICIES = ("gap, surplus", "gap, printed", "tolerance, surplus", "tolerance, printed", "reshare", "maxima only",
            "optimum, free moves")
#: Loads: all that is wanted over all there is.
LOADS = (0.8, 1.2, 1.6, 2.0)
_WARM = 2.0  # stays before anything is measured

_OVER_TIME = ("users", "fraction", "slowdown", "min_fraction", "used", "revenue")


class _Maxima:
    """Let in those who can have all that they want on some cluster, the fullest of these; they keep it."""

    def __init__(self, capacities: NDArray[np.int64]) -> None:
        self.free = capacities.copy()
        self.there: dict[int, tuple[int, float, int]] = {}
        self.taken = self.moved = 0

    def arrive(self, user: int, wanted: int, tolerance: float) -> bool:
        fits = np.flatnonzero(self.free >= wanted)
        if not len(fits):
            return False
        cluster = int(fits[self.free[fits].argmin()])
        self.free[cluster] -= wanted
        self.there[user] = wanted, tolerance, cluster
        return True

    def depart(self, user: int) -> None:
        wanted, _, cluster = self.there.pop(user)
        self.free[cluster] += wanted

    def state(self) -> tuple[NDArray[Any], NDArray[Any], FloatArray]:
        rows = np.array([(w, k) for w, k, _ in self.there.values()]).reshape(-1, 2)
        return rows[:, 0].astype(np.int64), rows[:, 0].astype(np.int64), rows[:, 1]


class _Optimum:
    """Allocate anew at each event by the exact method; a newcomer is let in if everybody can be served."""

    def __init__(self, capacities: NDArray[np.int64]) -> None:
        self.capacities = capacities
        self.there: dict[int, tuple[int, float]] = {}
        self.has: dict[int, tuple[int, int]] = {}
        self.taken = self.moved = 0

    def _anew(self, there: dict[int, tuple[int, float]]) -> bool:
        if there:
            wanted, tolerance = zip(*there.values(), strict=True)
            found = virtual_cluster(wanted, tolerance, self.capacities, node_limit=20_000)
            if not found.served.all():
                return False
            has = dict(zip(there, zip(found.vms.tolist(), found.cluster.tolist(), strict=True), strict=True))
            for user, (vms, cluster) in self.has.items():
                if user in has:
                    self.taken += max(0, vms - has[user][0])
                    self.moved += cluster != has[user][1]
            self.has = has
        self.there = there
        return True

    def arrive(self, user: int, wanted: int, tolerance: float) -> bool:
        return self._anew({**self.there, user: (wanted, tolerance)})

    def depart(self, user: int) -> None:
        self._anew({one: what for one, what in self.there.items() if one != user})

    def state(self) -> tuple[NDArray[Any], NDArray[Any], FloatArray]:
        rows = np.array([(w, k) for w, k in self.there.values()]).reshape(-1, 2)
        return rows[:, 0].astype(np.int64), np.array([self.has[user][0] for user in self.there], np.int64), rows[:, 1]


class _Rules:
    """The pool of the three rules."""

    def __init__(self, capacities: NDArray[np.int64], policy: str) -> None:
        give, take = ("gap", "reshare") if policy == "reshare" else policy.split(", ")
        self.pool = VirtualClusterPool(capacities, give=give, take=take)  # type: ignore[arg-type]
        self.moved = 0

    @property
    def taken(self) -> int:
        return self.pool.taken_back

    def arrive(self, user: int, wanted: int, tolerance: float) -> bool:
        return self.pool.arrive(user, wanted, tolerance)

    def depart(self, user: int) -> None:
        self.pool.depart(user)

    def state(self) -> tuple[NDArray[Any], NDArray[Any], FloatArray]:
        if not len(self.pool):
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
        now = self.pool.state
        return now.requests.max_vms, now.vms, now.requests.tolerance


def _manager(policy: str, capacities: NDArray[np.int64]) -> _Maxima | _Optimum | _Rules:
    if policy == "maxima only":
        return _Maxima(capacities)
    if policy == "optimum, free moves":
        return _Optimum(capacities)
    return _Rules(capacities, policy)


class _Traffic(NamedTuple):
    """Who comes when, wants what, and stays how long; times in mean stays."""

    capacities: NDArray[np.int64]
    times: FloatArray
    stays: FloatArray
    wanted: NDArray[np.int64]
    tolerance: FloatArray


def _traffic(rng: np.random.Generator, load: float, stays: float) -> _Traffic:
    capacities = _cut(rng, SIZES["small"])
    rate = load * capacities.sum() / _MEAN
    count = rng.poisson(rate * stays)
    times = np.sort(rng.uniform(0.0, stays, count))
    wanted = np.maximum(np.rint(rng.normal(_MEAN, VARIANCES["variance"], count)), 1).astype(np.int64)
    return _Traffic(capacities, times, rng.exponential(1.0, count), wanted, rng.uniform(0.0, 0.9, count))


def _events(traffic: _Traffic, policy: str) -> Iterator[tuple[float, bool | None, dict[str, float], Any]]:
    """Run one policy; give after each event: time, whether a newcomer got in (None: a departure), state, manager."""
    manager = _manager(policy, traffic.capacities)
    total = int(traffic.capacities.sum())
    leaving: list[tuple[float, int]] = []
    for user, time in [*enumerate(traffic.times.tolist()), (-1, np.inf)]:
        while leaving and leaving[0][0] <= time:
            when, one = heapq.heappop(leaving)
            manager.depart(one)
            yield when, None, _now(manager, total), manager
        if user < 0:
            return
        admitted = manager.arrive(user, int(traffic.wanted[user]), float(traffic.tolerance[user]))
        if admitted:
            heapq.heappush(leaving, (time + float(traffic.stays[user]), user))
        yield time, admitted, _now(manager, total), manager


def _now(manager: _Maxima | _Optimum | _Rules, total: int) -> dict[str, float]:
    """Sum up the users present: number, sums of fraction and of slowdown, least fraction, VMs and revenue a VM."""
    wanted, vms, tolerance = manager.state()
    if not len(wanted):
        return dict.fromkeys(_OVER_TIME, 0.0) | {"min_fraction": 1.0}
    fraction = vms / wanted
    guaranteed = np.minimum((1 - tolerance) * wanted, vms)
    with np.errstate(divide="ignore"):
        slow = float((1 / fraction).sum())
    return {"users": float(len(wanted)), "fraction": float(fraction.sum()), "slowdown": slow,
            "min_fraction": float(fraction.min()), "used": vms.sum() / total,
            "revenue": float((_LOW * vms + (_HIGH - _LOW) * guaranteed).sum()) / total}


_DYNAMIC = ("admitted", "fraction", "slowdown", "min_fraction", "used", "users", "revenue", "taken", "moved")


def _managed(traffic: _Traffic, policy: str, stays: float) -> list[float]:
    """Give the measures of :data:`_DYNAMIC` between the warming up and the last arrival."""
    sums = dict.fromkeys(_OVER_TIME, 0.0)
    state, last, counted, admitted = dict.fromkeys(_OVER_TIME, 0.0) | {"min_fraction": 1.0}, 0.0, 0, 0
    before, after = (0, 0), (0, 0)
    for time, came, now, manager in _events(traffic, policy):
        span = max(0.0, min(time, stays) - max(last, _WARM))
        for name in _OVER_TIME:
            sums[name] += span * state[name]
        if time > stays:
            break
        state, last, after = now, time, (manager.taken, manager.moved)
        if time < _WARM:
            before = after
        elif came is not None:
            counted, admitted = counted + 1, admitted + came
    else:
        span = max(0.0, stays - max(last, _WARM))
        for name in _OVER_TIME:
            sums[name] += span * state[name]
    whole = stays - _WARM
    users = max(sums["users"], 1e-300)
    per = max(counted, 1)
    return [admitted / per, sums["fraction"] / users, sums["slowdown"] / users, sums["min_fraction"] / whole,
            sums["used"] / whole, sums["users"] / whole, sums["revenue"] / whole, (after[0] - before[0]) / per,
            (after[1] - before[1]) / per]


def _course_of_all(rng: np.random.Generator, load: float, stays: float, policies: tuple[str, ...]) -> FloatArray:
    traffic = _traffic(rng, load, stays)
    return np.array([_managed(traffic, policy, stays) for policy in policies])


def dynamic(runs: int = 20, seed: int = SEED, *, loads: float | Sequence[float] = LOADS, stays: float = 8.0,
            policies: str | Sequence[str] = POLICIES, progress: bool = False) -> pd.DataFrame:
    """Let users come (a Poisson process) and go (exponential stays) on 5 clusters, under each policy.

    Parameters
    ----------
    runs, seed, progress
        As in :func:`curves`; all policies see the same users.
    loads : float or sequence of float
        VMs that all newcomers together would want on average, divided by VMs.
    stays : float
        Time simulated, in mean stays, of which the first two are not measured: more than 2.
    policies : str or sequence of str
        Some of :data:`POLICIES`.

    Returns
    -------
    DataFrame
        One row per ``load``, ``policy``, ``measure``: ``mean``, ``low``, ``high`` (95 % over runs), ``runs``. Measures:
        ``admitted`` (part of the newcomers), ``fraction`` and ``slowdown`` (mean of VMs / VMs wanted and of its
        inverse, over users present and time), ``min_fraction`` (least fraction, mean over time), ``used`` (part of the
        VMs), ``users`` (number present), ``revenue`` (a unit of time and VM; tariffs 2 and 1), ``taken`` (VMs taken
        back, a newcomer), ``moved`` (users that changed their cluster, a newcomer).
    """
    runs = as_whole(runs, "runs", 1)
    stays = as_number(stays, "stays", _WARM + 0.5, 1e4)
    chosen = choices(policies, "policies", POLICIES)
    rows: list[dict[str, Any]] = []
    for load in _levels(loads, "loads"):
        values = np.stack(repeat(_course_of_all, runs, seed=seed, progress=progress, label=f"dynamic, load {load:g}",
                                 load=load, stays=stays, policies=chosen))
        for k, policy in enumerate(chosen):
            rows += [{"load": load, "policy": policy, "measure": name, **_summary(values[:, k, at])}
                     for at, name in enumerate(_DYNAMIC)]
    return pd.DataFrame(rows)


def course(seed: int = SEED, *, run: int = 0, load: float = 1.4, stays: float = 6.0,
           policies: str | Sequence[str] = ("gap, surplus", "maxima only", "optimum, free moves"),
           progress: bool = False) -> pd.DataFrame:
    """Follow one run of :func:`dynamic` over time.

    Returns
    -------
    DataFrame
        One row per ``policy`` and event: ``time`` (in mean stays), ``event`` ("in", "turned away", "out"), and
        afterwards ``users``, ``fraction`` (mean; nan if nobody is there), ``min_fraction``, ``used``, ``revenue`` (a
        unit of time and VM), ``taken`` (VMs taken back so far).
    """
    load, stays = as_number(load, "load", 0.05, 20.0), as_number(stays, "stays", 0.5, 1e4)
    traffic = _traffic(stream(seed, as_whole(run, "run", 0)), load, stays)
    rows: list[dict[str, Any]] = []
    for policy in tqdm(choices(policies, "policies", POLICIES), desc="course", disable=not progress, leave=False):
        for time, came, now, manager in _events(traffic, policy):
            if time > stays:
                break
            rows.append({
                "policy": policy, "time": time, "event": "out" if came is None else "in" if came else "turned away",
                "users": int(now["users"]), "fraction": now["fraction"] / now["users"] if now["users"] else np.nan,
                "min_fraction": now["min_fraction"] if now["users"] else np.nan, "used": now["used"],
                "revenue": now["revenue"], "taken": manager.taken})
    return pd.DataFrame(rows)


# ------------------------------------------------------------------------------------------------------------ prices

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
            cost, vms = found.cost(_HIGH, _LOW).sum(), found.vms.sum()
            high = _HIGH * np.minimum((1 - tolerance) * case.max_vms, found.vms).sum()
            rows.append([cost / case.capacities.sum(), high / cost, cost / vms,
                         (found.vms < honest.requests.minimum).mean(), found.fraction.mean(), found.min_fraction])
        blocks.append(np.array(rows))
    return np.stack(blocks)


def tariffs(runs: int = RUNS, seed: int = SEED, *, users: int | Sequence[int] = _TARIFF_USERS,
            progress: bool = False) -> pd.DataFrame:
    """Compare what the provider earns if users state their true tolerance and if they do not, on 5 clusters.

    Parameters
    ----------
    runs, seed, progress
        As in :func:`curves`.
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
    runs = as_whole(runs, "runs", 1)
    rows: list[dict[str, Any]] = []
    for number in _counts(users, "users"):
        values = np.stack(repeat(_stated, runs, seed=seed, progress=progress, label=f"tariffs, {number} users",
                                 users=number))
        for (a, method), (b, statement), (c, name) in product(
                enumerate(("exact", "spanning")), enumerate(_STATEMENTS), enumerate(_TARIFFS)):
            some = values[~np.isnan(values[:, a, b, c]), a, b, c]
            rows.append({"users": number, "load": _load("small", number), "method": method, "statement": statement,
                         "measure": name, **_summary(some)})
    return pd.DataFrame(rows)


def _lied(rng: np.random.Generator, users: int) -> list[tuple[bool, bool, float, float]]:
    """Let each user alone state 1: below the least fraction?, does it pay?, change of VMs, of what it pays, a VM."""
    case = instance(rng, "small", users)
    honest = virtual_cluster(*case)
    if not honest.served.all():
        return []
    paid = honest.cost(_HIGH, _LOW)
    rows = []
    for i in range(users):
        tolerance = case.tolerance.copy()
        tolerance[i] = 1.0
        lie = virtual_cluster(case.max_vms, tolerance, case.capacities)
        vms, cost = int(lie.vms[i]), float(lie.cost(_HIGH, _LOW)[i])
        gain = _HIGH * (vms - int(honest.vms[i])) - (cost - paid[i])  # a VM is worth the high tariff
        pays = vms >= honest.requests.minimum[i] and gain > 1e-9
        rows.append((bool(1 - case.tolerance[i] <= honest.min_fraction), bool(pays),
                     (vms - int(honest.vms[i])) / int(case.max_vms[i]), (cost - float(paid[i])) / int(case.max_vms[i])))
    return rows


def lies(runs: int = 60, seed: int = SEED, *, users: int | Sequence[int] = (9, 11, 12, 13, 14),
         progress: bool = False) -> pd.DataFrame:
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
    runs = as_whole(runs, "runs", 1)
    rows: list[dict[str, Any]] = []
    for number in _counts(users, "users"):
        found = [row for run in repeat(_lied, runs, seed=seed, progress=progress, label=f"lies, {number} users",
                                       users=number) for row in run]
        values = np.array(found, dtype=float).reshape(-1, 4)
        for group, flag in (("below", 1.0), ("above", 0.0)):
            part = values[values[:, 0] == flag, 1:]
            means = part.mean(axis=0) if len(part) else np.full(3, np.nan)
            rows.append({"users": number, "load": _load("small", number), "group": group, "asked": len(part),
                         "pays": means[0], "vms": means[1], "cost": means[2]})
    return pd.DataFrame(rows).round(12)


_PAID = ("fraction", "served", "cost", "price")


def _tolerated(rng: np.random.Generator, users: int) -> FloatArray:
    """Give of each user its tenth of the tolerances, and the measures of :data:`_PAID`."""
    case = instance(rng, "small", users)
    found = virtual_cluster(*case)
    cost = found.cost(_HIGH, _LOW)
    with np.errstate(invalid="ignore"):
        each = np.where(found.vms > 0, cost / found.vms, np.nan)
    tenth = np.minimum((case.tolerance / 0.09).astype(int), 9)
    return np.column_stack([tenth, found.fraction, found.served, cost / case.max_vms, each])


def tolerance_price(runs: int = RUNS, seed: int = SEED, *, users: int | Sequence[int] = (8, 10, 11, 12, 13, 14, 16, 18),
                    progress: bool = False) -> pd.DataFrame:
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
    runs = as_whole(runs, "runs", 1)
    rows: list[dict[str, Any]] = []
    for number in _counts(users, "users"):
        values = np.concatenate(repeat(_tolerated, runs, seed=seed, progress=progress, label=f"prices, {number} users",
                                       users=number))
        for tenth, (at, name) in product(range(10), enumerate(_PAID, start=1)):
            some = values[values[:, 0] == tenth, at]
            rows.append({"users": number, "load": _load("small", number), "tenth": tenth,
                         "k": round(0.09 * (tenth + 0.5), 3), "measure": name, **_summary(some[~np.isnan(some)])})
    return pd.DataFrame(rows)


# ----------------------------------------------------------------------------------------------------- a real trace


@lru_cache(maxsize=1)
def _jobs() -> FloatArray:
    """Give the CPU of a mean job of each user of the Google trace, as a part of the largest machine."""
    frame = load_digest().frame.query("cpu > 0")
    asked = (frame["cpu"] * frame["tasks"]).groupby(frame["user"]).sum()
    found: FloatArray = (asked / frame.groupby("user")["jobs"].sum()).to_numpy()
    return found


def _traced(rng: np.random.Generator, size: str, users: int, load: float) -> FloatArray:
    capacities = _cut(rng, SIZES[size])
    cpu = rng.choice(_jobs(), users, replace=False)
    most = int(capacities.min())
    low, high = 0.0, most / cpu.min()
    for _ in range(60):  # the scale at which all together want so many VMs
        scale = 0.5 * (low + high)
        total = np.clip(np.rint(scale * cpu), 1, most).sum()
        low, high = (scale, high) if total < load * capacities.sum() else (low, scale)
    wanted = np.clip(np.rint(high * cpu), 1, most).astype(np.int64)
    case = Instance(wanted, rng.uniform(0.0, 0.9, users), capacities)
    found = [virtual_cluster(*case, method=method) for method in METHODS]  # type: ignore[arg-type]
    last = [found[-1].bound, wanted.max(), float(np.median(wanted)), (wanted == most).mean(), (wanted == 1).mean()]
    return np.array([*map(_measured, found), last])


def trace(runs: int = 100, seed: int = SEED, *, size: str = "large", users: int = 40,
          loads: float | Sequence[float] = (0.9, 1.0, 1.1, 1.2, 1.4, 1.6), progress: bool = False) -> pd.DataFrame:
    """Take what users want from the Google trace: as many VMs as their mean job asks CPU.

    Parameters
    ----------
    runs, seed, progress
        As in :func:`curves`.
    size : {"small", "large"}
    users : int
        Different users of the trace, drawn.
    loads : float or sequence of float
        VMs wanted divided by VMs. A VM is as much CPU as makes it so; nobody wants fewer than one VM, nor more than
        the smallest cluster holds.

    Returns
    -------
    DataFrame
        One row per ``load``, ``method``, ``measure`` with ``mean``, ``low``, ``high``, ``runs``: ``y``, ``y_served``,
        ``everybody``, ``served``, ``remaining`` as in :func:`curves`, and ``ratio`` (least fraction divided by the best
        proved bound, over runs in which all methods serve everybody). The method "wanted" has ``largest``, ``median``
        (VMs wanted), ``capped``, ``single`` (part of the users that want as much as the smallest cluster, or one VM).

    Notes
    -----
    The trace has no tolerances: they are drawn as in the paper. CPU requests are those of whole jobs, as if all tasks
    of a job ran at the same time.
    """
    runs = as_whole(runs, "runs", 1)
    choices((size,), "size", tuple(SIZES))
    users = as_whole(users, "users", 1, 300)
    rows: list[dict[str, Any]] = []
    for load in _levels(loads, "loads"):
        values = np.stack(repeat(_traced, runs, seed=seed, progress=progress, label=f"trace, load {load:g}", size=size,
                                 users=users, load=load))
        common = values[:, :-1, 2].all(axis=1)
        for k, method in enumerate(METHODS):
            found = {name: values[:, k, at] for at, name in enumerate(_FIELDS)}
            found["ratio"] = values[common, k, 0] / values[common, -1, 0]
            rows += [{"load": load, "method": method, "measure": name, **_summary(some)}
                     for name, some in found.items()]
        rows += [{"load": load, "method": "wanted", "measure": name, **_summary(values[:, -1, at])}
                 for at, name in enumerate(("largest", "median", "capped", "single"), start=1)]
    return pd.DataFrame(rows)


# ------------------------------------------------------------------------------------------------------------ stored


def _store(name: str, compute: Callable[..., pd.DataFrame], data: tuple[str, ...] = (), **arguments: Any,
           ) -> Callable[..., None]:
    def run(*, progress: bool = True) -> None:
        frame = compute(seed=SEED, progress=progress, **arguments)
        results.save(f"virtual_cluster/{name}", frame, module=__name__, data=data, seed=SEED, **arguments)

    return run


#: Full-effort tables kept in data/results, each with the call that computes it (with a bar on stderr or without).
STORED: dict[str, Callable[..., None]] = {
    "virtual_cluster/curves": _store("curves", curves, runs=RUNS),
    "virtual_cluster/spread": _store("spread", spread, runs=RUNS),
    "virtual_cluster/readings": _store("readings", counted, runs=100),
    "virtual_cluster/nearest": _store("nearest", nearest, runs=100),
    "virtual_cluster/gaps": _store("gaps", gaps, runs=500),
    "virtual_cluster/keys": _store("keys", keys, runs=RUNS),
    "virtual_cluster/spanning_gain": _store("spanning_gain", spanning_gain, runs=RUNS),
    "virtual_cluster/price": _store("price", price, runs=100),
    "virtual_cluster/dynamic": _store("dynamic", dynamic, runs=20),
    "virtual_cluster/course": _store("course", course),
    "virtual_cluster/tariffs": _store("tariffs", tariffs, runs=RUNS),
    "virtual_cluster/lies": _store("lies", lies, runs=60),
    "virtual_cluster/tolerance_price": _store("tolerance_price", tolerance_price, runs=RUNS),
    "virtual_cluster/trace": _store("trace", trace, DATA, runs=100),
}

#: Where a figure's frame lies in the store: the table, and the value that its rows have in these columns. A figure
#: takes from it the measures that it draws.
STORED_FIGURES: dict[str, tuple[str, dict[str, Any]]] = {
    "fig2": ("virtual_cluster/curves", {"size": "small"}), "fig3": ("virtual_cluster/curves", {"size": "small"}),
    "fig4": ("virtual_cluster/curves", {"size": "large"}), "fig5": ("virtual_cluster/curves", {"size": "large"})}
