"""Every reading of the paper's three algorithms and of its experiments, and what it says of them under each."""

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from book.common.runs import repeat
from book.virtual_cluster.settings import SEED, SIZES, Instance, instance, measured, summary
from fairbook.errors import InvalidInput
from fairbook.mechanisms.clusters.virtual_cluster import virtual_cluster
from fairbook.model.inputs import FloatArray, as_whole
from fairbook.model.requests import as_requests

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
NEAREST: dict[str, Any] = {
    "variance": "variance",
    "load": "relative",
    "relaxed": "given",
    "order": "metagreedy",
    "fit": "metagreedy",
    "general": "greedy",
    "queue": "tolerance",
    "counting": "common",
}
#: Runs of :func:`nearest`: where greedy and mixed knapsack are a hundredth apart, their order takes more than of all
#: readings together.
NEAREST_RUNS = 600

#: Loads of :func:`readings`, rounded, and the numbers of users.
_READ_AT: dict[str, tuple[int, ...]] = {"small": (10, 11, 12, 13, 14, 16), "large": (31, 34, 38, 41, 44, 50)}
_READ_LOADS = ("0.9", "1.0", "1.1", "1.2", "1.3", "1.5")
_RANGES = {"0.9 to 1.5": slice(None), "0.9 to 1.2": slice(0, 4)}

_Key = tuple[Any, ...]


def _crossed() -> list[dict[str, Any]]:
    """Give every reading of the algorithms, once: where the algorithm of step 7a sorts, ``queue`` plays no part."""
    names = ("load", "relaxed", "order", "fit", "general", "queue")
    every = (dict(zip(names, values, strict=True)) for values in product(*(READINGS[name] for name in names)))
    return [
        how
        for how in every
        if (how["order"] == "metagreedy") == (how["fit"] == "metagreedy")
        and (how["queue"] == "tolerance" or _inside(how)[1] == "given")
    ]


def _inside(how: Mapping[str, Any]) -> _Key:
    """Give algorithm, order and choice of a cluster in step 7a; METAGREEDY tries the users as it gets them, too."""
    algorithm, order, own = (
        ("greedy", how["order"], how["fit"])
        if how["general"] == "greedy"
        else ("relaxation", how["relaxed"], how["load"])
    )
    unsorted = order in ("given", "metagreedy") and how["queue"] == "tolerance"
    return algorithm, "tolerance" if unsorted else order, own


def _orders(case: Instance) -> dict[str, NDArray[np.int64]]:
    """Sort the users in each way, the first first at ties."""
    least = as_requests(*case).minimum
    keys = {
        "given": 0 * case.max_vms,
        "wish": -case.max_vms,
        "minimum": -least,
        "elastic": least - case.max_vms,
        "tolerance": case.tolerance,
    }
    return {name: np.argsort(key, kind="stable") for name, key in keys.items()}


def _read(
    rng: np.random.Generator,
    size: str,
    users: int,
    variance: str,
    crossed: bool,
) -> tuple[dict[_Key, list[float]], float]:
    """Give the fields of relaxation, greedy and mixed knapsack in every reading or one, and the best proved bound."""
    case = instance(rng, size, users, variance=variance)
    orders = _orders(case)
    found: dict[_Key, list[float]] = {}

    def run(key: _Key, order: str, method: Any, **how: Any) -> None:
        if key not in found:
            chosen = orders["given" if order == "metagreedy" else order]
            found[key] = measured(
                virtual_cluster(case.max_vms[chosen], case.tolerance[chosen], case.capacities, method=method, **how)
            )

    for how in _crossed() if crossed else [NEAREST]:
        relaxed, greedy, mixed = _keys(how)
        run(relaxed, how["relaxed"], "relaxation", load=how["load"])
        meta = how["fit"] == "metagreedy"
        run(greedy, how["order"], "metagreedy" if meta else "greedy", **({} if meta else {"fit": how["fit"]}))
        algorithm, order, own = _inside(how)
        inside = (
            {"general": own}
            if own == "metagreedy"
            else {"general": algorithm, "fit" if algorithm == "greedy" else "load": own}
        )
        run(mixed, order, "mixed_knapsack", **inside)
    return found, virtual_cluster(*case, method="exact").bound


def _keys(how: Mapping[str, Any]) -> tuple[_Key, _Key, _Key]:
    """Tell relaxation, greedy and mixed knapsack of different readings apart."""
    return ("relaxation", how["relaxed"], how["load"]), ("greedy", how["order"], how["fit"]), ("mixed", *_inside(how))


def _mean(values: FloatArray, keep: NDArray[np.bool_]) -> FloatArray:
    """Average along the last axis what is kept; nan where nothing is."""
    number = keep.sum(axis=-1)
    found: FloatArray = np.where(number > 0, np.where(keep, values, 0.0).sum(axis=-1) / np.maximum(number, 1), np.nan)
    return found


def _compared(three: FloatArray, bound: FloatArray, counting: str) -> dict[str, float]:
    """Compare the three in one reading: shape (3, loads, runs, fields), bound (loads, runs)."""
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
        row |= {
            f"remaining_{name}": float(np.nanmean(_mean(three[k, ..., 3], keep))),
            f"sd_{name}": float(np.nanmean(square**0.5)),
            f"near_{name}": float(np.nanmean(centre)),
        }
    difference = np.where(keep, least[1] - least[2], 0.0)
    seen = keep.any(axis=0)
    ahead = summary(difference.sum(axis=0)[seen] / keep.sum(axis=0)[seen])
    return {
        **row,
        "ahead": ahead["mean"],
        "ahead_low": ahead["low"],
        "ahead_high": ahead["high"],
        "kept": float(keep.mean()),
    }


def _drawn(
    size: str,
    variance: str,
    crossed: bool,
    runs: int,
    seed: int,
    progress: bool,
) -> tuple[dict[_Key, FloatArray], FloatArray]:
    """Give the fields by algorithm and reading, shape (loads, runs, fields), and the bound, shape (loads, runs)."""
    found = [
        repeat(
            _read,
            runs,
            seed=seed,
            progress=progress,
            label=f"readings, {size}, {users} users, {variance}",
            size=size,
            users=users,
            variance=variance,
            crossed=crossed,
        )
        for users in _READ_AT[size]
    ]
    fields = {key: np.array([[run[0][key] for run in at] for at in found]) for key in found[0][0][0]}
    return fields, np.array([[run[1] for run in at] for at in found])


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
        or all runs with a least fraction of 0 where somebody is turned away, or of those served). Means over the loads:
        ``gain_greedy``, ``gain_mixed`` (mean least fraction divided by that of relaxation, less 1; also ``_least``,
        ``_most`` over the loads), ``remaining_*`` (VMs free), ``sd_*`` and ``near_*`` (standard deviation and mean of
        the least fraction divided by the best proved bound), ``ahead`` (least fraction of greedy less that of mixed
        knapsack) with ``ahead_low``, ``ahead_high`` (95 %), ``kept`` (part of the runs).

    Notes
    -----
    Clusters, users, the optimum and each algorithm are computed once for all readings that share them: some 15 ms a run
    and load, and 1 ms a reading. Figure 1 stops at its default of 8 users and tops nothing up: the one changes means by
    about a hundredth at most, the other no least fraction at all.
    """
    runs = as_whole(runs, "runs", 5)
    rows = []
    for size, variance in product(SIZES, READINGS["variance"]):
        fields, bound = _drawn(size, variance, True, runs, seed, progress)
        for how, counting in product(_crossed(), READINGS["counting"]):
            three = np.stack([fields[key] for key in _keys(how)])
            rows += [
                {
                    "size": size,
                    "variance": variance,
                    **how,
                    "counting": counting,
                    "range": name,
                    **_compared(three[:, part], bound[part], counting),
                }
                for name, part in _RANGES.items()
            ]
    return pd.DataFrame(rows).round(6)


def nearest(runs: int = NEAREST_RUNS, seed: int = SEED, *, progress: bool = False) -> pd.DataFrame:
    """Follow the reading nearest to the text load by load.

    Parameters
    ----------
    runs, seed, progress
        As in :func:`readings`, whose first runs are the same.

    Returns
    -------
    DataFrame
        One row per ``size`` and load (``range``), with what :func:`readings` compares.

    Notes
    -----
    Cost: some 15 ms a run and load.
    """
    runs = as_whole(runs, "runs", 5)
    rows = []
    for size in SIZES:
        fields, bound = _drawn(size, NEAREST["variance"], False, runs, seed, progress)
        three = np.stack([fields[key] for key in _keys(NEAREST)])
        rows += [
            {"size": size, "range": load, **_compared(three[:, [k]], bound[[k]], NEAREST["counting"])}
            for k, load in enumerate(_READ_LOADS)
        ]
    return pd.DataFrame(rows).round(6)


#: Takes the rows of one size, or of both; tells whether a statement holds, and whether it surely does.
_Judge = Callable[..., tuple[pd.Series, pd.Series]]


def _between(column: str, low: float, high: float) -> _Judge:
    """Hold where the mean gain lies in the band; surely where it does at every load."""
    return lambda of: (
        of[column].between(low, high),
        (of[f"{column}_least"] >= low) & (of[f"{column}_most"] <= high),
    )


def _above(margin: Callable[..., pd.Series], sure: float) -> _Judge:
    """Hold where a margin is above 0; surely where it is above more than that."""
    return lambda *sizes: (margin(*sizes) > 0, margin(*sizes) > sure)


def _free(of: pd.DataFrame) -> pd.Series:
    return of["remaining_relaxation"] - of[["remaining_greedy", "remaining_mixed"]].max(axis=1)


def _steadier(small: pd.DataFrame, large: pd.DataFrame) -> pd.Series:
    names = ["sd_relaxation", "sd_greedy", "sd_mixed"]
    return 1 - (large[names] / small[names]).max(axis=1)


def _near(part: float) -> _Judge:
    return lambda of: tuple(of[["near_greedy", "near_mixed"]].min(axis=1) >= least for least in (part, part + 0.05))


_SMALL, _LARGE = ("small",), ("large",)
#: What the paper says of its experiments: a name, its text, the sizes of which it speaks, how one reading is judged.
STATEMENTS: dict[str, tuple[str, tuple[str, ...], _Judge]] = {
    "greedy_small": ("greedy 20 to 40 % above relaxation, 5 clusters", _SMALL, _between("gain_greedy", 0.2, 0.4)),
    "mixed_small": ("mixed knapsack 20 to 40 % above relaxation, 5 clusters", _SMALL, _between("gain_mixed", 0.2, 0.4)),
    "greedy_large": ("greedy 20 to 50 % above relaxation, 8 clusters", _LARGE, _between("gain_greedy", 0.2, 0.5)),
    "mixed_large": ("mixed knapsack 20 to 50 % above relaxation, 8 clusters", _LARGE, _between("gain_mixed", 0.2, 0.5)),
    "greedy_above": ("greedy above relaxation, 5 clusters", _SMALL, _between("gain_greedy", 1e-9, np.inf)),
    "greedy_above_large": ("greedy above relaxation, 8 clusters", _LARGE, _between("gain_greedy", 1e-9, np.inf)),
    "mixed_above": ("mixed knapsack above relaxation, 5 clusters", _SMALL, _between("gain_mixed", 1e-9, np.inf)),
    "mixed_above_large": ("mixed knapsack above relaxation, 8 clusters", _LARGE, _between("gain_mixed", 1e-9, np.inf)),
    "remaining_small": ("relaxation leaves the most VMs free, 5 clusters", _SMALL, _above(_free, 1)),
    "remaining_large": ("relaxation leaves the most VMs free, 8 clusters", _LARGE, _above(_free, 1)),
    "small_greedy": (
        "greedy better than mixed knapsack, 5 clusters",
        _SMALL,
        lambda of: (of["ahead"] > 0, of["ahead_low"] > 0),
    ),
    "large_mixed": (
        "mixed knapsack better than greedy, 8 clusters",
        _LARGE,
        lambda of: (of["ahead"] < 0, of["ahead_high"] < 0),
    ),
    "crossing": (
        "greedy better with 5, mixed knapsack with 8",
        tuple(SIZES),
        lambda small, large: (
            (small["ahead"] > 0) & (large["ahead"] < 0),
            (small["ahead_low"] > 0) & (large["ahead_high"] < 0),
        ),
    ),
    "less_steady": (
        "mixed knapsack less steady than greedy, 5 clusters",
        _SMALL,
        _above(lambda of: of["sd_mixed"] / of["sd_greedy"] - 1, 0.1),
    ),
    "steadier": ("all three steadier with 8 clusters than with 5", tuple(SIZES), _above(_steadier, 0.1)),
    "near_small": ("greedy and mixed knapsack near the optimum (90 %), 5 clusters", _SMALL, _near(0.9)),
    "near_large": ("greedy and mixed knapsack near the optimum (90 %), 8 clusters", _LARGE, _near(0.9)),
    "near_small_80": ("greedy and mixed knapsack near the optimum (80 %), 5 clusters", _SMALL, _near(0.8)),
    "near_large_80": ("greedy and mixed knapsack near the optimum (80 %), 8 clusters", _LARGE, _near(0.8)),
}


def conclusions(frame: pd.DataFrame, near: pd.DataFrame) -> pd.DataFrame:
    """Count under how many readings each of the paper's statements holds.

    Parameters
    ----------
    frame : DataFrame
        Of :func:`readings`.
    near : DataFrame
        Of :func:`nearest`.

    Returns
    -------
    DataFrame
        One row per ``statement`` (:data:`STATEMENTS`; ``text``): ``readings``, ``holds`` (in how many, in the mean over
        loads), ``surely`` (a band: at every load; better: 95 % interval; free VMs: by more than one; steadiness: by
        more than 10 %; near: by 5 percent more), ``nearest`` (loads at which it holds in the reading nearest to the
        text, out of ``loads``) and ``hinges_on`` (open points, the part of the readings in which it holds for each
        choice, where these differ by more than a quarter).
    """
    keys = list(READINGS)
    crossed, by_load = (
        {size: rows[rows["size"] == size].drop(columns="size").set_index(index).sort_index() for size in SIZES}
        for rows, index in ((frame, keys), (near, "range"))
    )
    if not len(crossed["small"]) or not crossed["small"].index.equals(crossed["large"].index):
        raise InvalidInput("frame", "must have the same readings for both sizes", len(frame))
    rows = []
    for name, (text, sizes, judge) in STATEMENTS.items():
        holds, surely = judge(*(crossed[size] for size in sizes))
        at = judge(*(by_load[size] for size in sizes))[0]
        parts = []
        for key in keys:
            shares = holds.groupby(level=key).mean()
            if shares.max() - shares.min() > 0.25:
                words = ", ".join(f"{choice} {100 * share:.0f} %" for choice, share in shares.items())
                parts.append(f"{key}: {words}")
        rows.append(
            {
                "statement": name,
                "text": text,
                "readings": len(holds),
                "holds": int(holds.sum()),
                "surely": int(surely.sum()),
                "nearest": ", ".join(at.index[at]),
                "loads": ", ".join(at.index),
                "hinges_on": "; ".join(parts),
            }
        )
    return pd.DataFrame(rows)


def counted(runs: int = 100, seed: int = SEED, *, near: int = NEAREST_RUNS, progress: bool = False) -> pd.DataFrame:
    """Give the :func:`conclusions` from all :func:`readings`, and from ``near`` runs of the nearest one."""
    return conclusions(readings(runs, seed, progress=progress), nearest(near, seed, progress=progress))
