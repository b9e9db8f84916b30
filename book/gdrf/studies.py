"""The experiments of the GDRF paper on Google's mix of machines, what its blanks do to them, and all that is stored."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from book.common.runs import interval, numbers, repeat, storing
from book.gdrf.ablation import ablation
from book.gdrf.behaviour import FACTORS, LIED_TO, lies
from book.gdrf.cells import (
    BASELINES,
    CELLS,
    MACHINES,
    MEASURES,
    MECHANISMS,
    SEED,
    SIZES,
    USERS,
    Instance,
    by_size,
    drawn,
    gains_over,
    instance,
    means,
    measured,
    place,
)
from book.gdrf.exact_cell import ZERO, exact_cell
from book.gdrf.machine_by_machine import by_machine, lacking
from book.gdrf.oracle import exact_gdrf
from book.gdrf.whole_cell import CASES, bounds, cell, cell_machines
from fairbook.mechanisms.placing.gdrf import gdrf
from fairbook.mechanisms.readings import READINGS as ALL_READINGS
from fairbook.model.inputs import FloatArray, as_whole

__all__ = [
    "BASELINES",
    "CASES",
    "CELLS",
    "DATA",
    "EXAMPLE",
    "FACTORS",
    "LIED_TO",
    "MACHINES",
    "MEASURES",
    "MECHANISMS",
    "READINGS",
    "RUNS",
    "SEED",
    "SIZES",
    "STORED",
    "STORED_FIGURES",
    "USERS",
    "Instance",
    "ablation",
    "balance",
    "bounds",
    "by_machine",
    "cell",
    "cell_machines",
    "cells",
    "conclusions",
    "curves",
    "example",
    "instance",
    "lacking",
    "lies",
    "mixes",
    "own",
    "readings",
]

#: Repetitions of each size.
RUNS = (200, 200, 200, 200, 200)
#: Data files, below ``data/``, on which the stored results depend.
DATA = ("google2011.json", "google2011_machines.csv", "google2011_requests.csv")

# ------------------------------------------------------------------------------------------------ the paper's figures


def _one(rng: np.random.Generator, number: int, mechanisms: tuple[str, ...], **how: Any) -> FloatArray:
    """Give what the mechanisms reach in one run, shape (mechanisms, measures)."""
    case, lot = drawn(rng, number, **how)
    return np.array([measured(place(case, mechanism, lot)) for mechanism in mechanisms])


@lru_cache(maxsize=32)
def _values(
    number: int,
    runs: int,
    seed: int,
    progress: bool,
    mechanisms: tuple[str, ...] = MECHANISMS,
    how: tuple[tuple[str, str], ...] = (),
) -> FloatArray:
    """Give what the mechanisms reach in each run, shape (runs, mechanisms, measures)."""
    return np.stack(
        repeat(
            _one,
            runs,
            seed=seed,
            progress=progress,
            label=f"{number} machines",
            number=number,
            mechanisms=mechanisms,
            **dict[str, Any](how),
        )
    )


def _by_size(sizes: Any, runs: Any, seed: int, progress: bool) -> list[tuple[int, FloatArray, FloatArray]]:
    """Give for each number of machines what the mechanisms reach with the one mix and with random ones."""
    return [
        (number, _values(number, 1, seed, False, how=(("users", "paper"),)), _values(number, many, seed, progress))
        for number, many in by_size(sizes, runs)
    ]


def curves(
    runs: int | Sequence[int] = RUNS,
    seed: int = SEED,
    *,
    sizes: int | Sequence[int] = SIZES,
    progress: bool = False,
) -> pd.DataFrame:
    """Measure what each mechanism reaches, by the number of machines (Figures 1 to 4).

    Parameters
    ----------
    runs : int or sequence of int
        Random mixes, for all sizes or for each.
    seed : int
        Root of the random streams.
    sizes : int or sequence of int
        Numbers of machines.
    progress : bool
        Whether to draw a bar on stderr.

    Returns
    -------
    DataFrame
        One row per ``mix`` ("paper": :data:`USERS`; "random"), ``machines``, ``mechanism``, ``measure``: ``mean``,
        ``low``, ``high`` (95 % t interval of the mean over mixes; equal for the one mix), ``runs``. Measures: ``tasks``
        (VMs), ``cpu``, ``memory`` (use of all machines by capacity of all), ``cpu_mean``, ``memory_mean`` (mean of the
        machines' own utilisations), ``memory_gap`` (distance of the two), ``min_share`` (least dominant share),
        ``jain`` (index of the dominant shares), ``fairness`` (sum over machines of f with k = 1), ``fairness_mean``
        (their mean), ``fairness_whole`` (f of the cell as one machine). With k = 20, the number of all users, f is 20
        times as large.

    Notes
    -----
    Cost of a mix, two thirds of it for ``mdrf_entropy`` and ``drfh_best_fit``: 0.03 s for 60 machines, 0.2 s for 300.
    """
    parts = [
        means(values, 12, mix=[mix], machines=[number], mechanism=MECHANISMS, measure=MEASURES)
        for number, paper, random in _by_size(sizes, runs, seed, progress)
        for mix, values in (("paper", paper), ("random", random))
    ]
    return pd.concat(parts, ignore_index=True)


def mixes(
    runs: int | Sequence[int] = RUNS,
    seed: int = SEED,
    *,
    sizes: int | Sequence[int] = SIZES,
    progress: bool = False,
) -> pd.DataFrame:
    """Ask by how much GDRF is above each baseline, mix by mix.

    Parameters
    ----------
    runs, seed, sizes, progress
        As in :func:`curves`, and the same mixes.

    Returns
    -------
    DataFrame
        One row per ``machines``, ``against`` (a baseline) and ``measure`` (see :func:`curves`). Of the gains, GDRF /
        baseline - 1 (``memory_gap``: GDRF - baseline): ``paper`` (of the one mix), over random mixes ``mean`` with
        ``low``, ``high`` (95 %), ``median``, ``p05``, ``p95`` (quantiles), ``above_12``, ``above_15`` (part of mixes
        with a gain above 12 and 15 %), ``runs``.
    """
    return pd.DataFrame(
        {"machines": number, "paper": gain, **row}
        for number, paper, values in _by_size(sizes, runs, seed, progress)
        for gain, row in zip(gains_over(paper[0, :1], paper[0, 1:]).ravel(), _against(values), strict=True)
    )


def _against(values: FloatArray) -> list[dict[str, Any]]:
    """Sum up the gains of GDRF, mix by mix, over each baseline in each measure; values by run, mechanism, measure."""
    return [
        {"against": against, "measure": measure, **_spread(gains_over(values[:, 0], values[:, k])[:, at])}
        for k, against in enumerate(BASELINES, start=1)
        for at, measure in enumerate(MEASURES)
    ]


#: What is told of gains over random mixes, beside their number.
_SPREAD = ("mean", "low", "high", "median", "p05", "p95", "above_12", "above_15")


def _spread(gains: FloatArray) -> dict[str, Any]:
    gains = gains[np.isfinite(gains)]
    if not len(gains):
        return {**dict.fromkeys(_SPREAD, np.nan), "runs": 0}
    mean = interval(gains[:, None]).iloc[0][["mean", "low", "high"]]
    found = [*mean, *np.quantile(gains, [0.5, 0.05, 0.95]), (gains > 0.12).mean(), (gains > 0.15).mean()]
    return {**dict(zip(_SPREAD, found, strict=True)), "runs": len(gains)}


def balance(
    runs: int | Sequence[int] = RUNS,
    seed: int = SEED,
    *,
    sizes: int | Sequence[int] = SIZES,
    progress: bool = False,
) -> pd.DataFrame:
    """Look at CPU and memory within each mechanism, mix by mix; the mixes of :func:`curves`.

    Returns
    -------
    DataFrame
        One row per ``machines`` and ``mechanism``: ``mean_above_total`` (part of the random mixes in which memory's
        machine-average is above its total), ``memory_above_cpu`` (in which more of the memory is in use than of the
        CPU), ``memory_less_cpu`` (mean difference of the totals), ``gap`` (memory: mean of machine-average minus
        total); ``runs``.
    """
    rows = []
    for number, _, values in _by_size(sizes, runs, seed, progress):
        for k, mechanism in enumerate(MECHANISMS):
            found = dict(zip(MEASURES, values[:, k].round(12).T, strict=True))
            gap = (found["memory_mean"] - found["memory"]).mean()
            rows.append(
                {"machines": number, "mechanism": mechanism, **_balance(found), "gap": gap, "runs": len(values)}
            )
    return pd.DataFrame(rows)


def _balance(found: Mapping[str, FloatArray]) -> dict[str, Any]:
    """How memory's machine-average stands to its total, and memory to CPU, over mixes; measures by name."""
    return {
        "mean_above_total": (found["memory_mean"] > found["memory"]).mean(),
        "memory_above_cpu": (found["memory"] > found["cpu"]).mean(),
        "memory_less_cpu": (found["memory"] - found["cpu"]).mean(),
    }


# ------------------------------------------------------------------------------------------------ the paper's figures


@lru_cache(maxsize=4)
def _curves(runs: int | tuple[int, ...], seed: int, progress: bool) -> pd.DataFrame:
    return curves(runs, seed, progress=progress)


def _of(
    measures: tuple[str, ...], runs: int | Sequence[int] = RUNS, seed: int = SEED, *, progress: bool = False
) -> pd.DataFrame:
    """Keep some measures of the experiment; columns as in :func:`curves`."""
    frame = _curves(tuple(runs) if isinstance(runs, (Sequence, np.ndarray)) else runs, seed, progress)
    return frame[frame["measure"].isin(measures)].reset_index(drop=True)


#: VMs placed; CPU utilisation, total and machine-average; memory utilisation, likewise; the fairness value, read twice.
fig1, fig2 = partial(_of, ("tasks",)), partial(_of, ("cpu", "cpu_mean"))
fig3, fig4 = partial(_of, ("memory", "memory_mean")), partial(_of, ("fairness", "fairness_whole"))


#: A worked example: names of users, what a VM of each needs, classes of machines, and their numbers.
EXAMPLE = ("A", "B", "C"), ((2, 1), (1, 2), (2, 2)), ((8, 4), (4, 8)), (1, 2)


def example() -> pd.DataFrame:
    """Follow GDRF through the worked example, VM by VM, as a scan of all machines in fractions places them.

    Returns
    -------
    DataFrame
        One row a VM, in order: ``user``, ``machine``, ``f`` (of the machine before, 1 if it is empty), and of the
        machine afterwards: ``cpu``, ``memory`` (used), ``cpu_free``, ``memory_free``.

    Examples
    --------
    >>> example()["user"].str.cat()
    'CABCABCA'
    """
    users, demands, machines, counts = EXAMPLE
    cell = exact_cell(demands, machines, counts)
    used, stakes = [[ZERO] * 2 for _ in cell.classes], [ZERO] * len(cell.classes)
    rows = []
    for i, j in exact_gdrf(demands, machines, counts).placed:
        size = cell.machines[cell.classes[j]]
        f = float(stakes[j]) ** float(sum(used[j], ZERO) / sum(size, ZERO))
        used[j] = [u + d for u, d in zip(used[j], cell.demands[i], strict=True)]
        stakes[j] += cell.dominant[i]
        cpu, memory = map(float, used[j])
        rows.append((users[i], j, f, cpu, memory, float(size[0]) - cpu, float(size[1]) - memory))
    return pd.DataFrame(rows, columns=["user", "machine", "f", "cpu", "memory", "cpu_free", "memory_free"])


# ------------------------------------------------------------------------------------------ what the paper leaves out


def cells(runs: int = 200, seed: int = SEED, *, number: int = 60, progress: bool = False) -> pd.DataFrame:
    """Read the cell off Table 1 in other ways, and ask what GDRF gains over each baseline.

    Parameters
    ----------
    runs, seed
        Random mixes and their root seed.
    number : int
        Machines.

    Returns
    -------
    DataFrame
        One row per ``cell`` (keys of :data:`CELLS`), ``against`` and ``measure``: columns as in :func:`mixes`, without
        ``machines`` and ``paper``.
    """
    number, runs = as_whole(number, "number", 1), as_whole(runs, "runs", 1)
    return pd.DataFrame(
        {"cell": name, **row}
        for name, how in tqdm(CELLS.items(), desc="cells", disable=not progress, leave=False)
        for row in _against(_values(number, runs, seed, False, how=tuple(sorted(how.items()))))
    )


#: The readings of GDRF, the first of each is the default. Without types ("any") what a machine's type is plays no role.
READINGS: dict[str, tuple[str, ...]] = {
    name: ALL_READINGS["gdrf"][name].values for name in ("least", "machine_type", "match", "choice", "queue")
}

#: Measures of :func:`readings`.
_JUDGED = ("tasks", "cpu", "cpu_mean", "memory", "memory_gap", "fairness", "fairness_whole")


def _crossed() -> list[dict[str, str]]:
    rows = [dict(zip(READINGS, values, strict=True)) for values in product(*READINGS.values())]
    return [row for row in rows if row["match"] != "any" or row["machine_type"] == "share"]


def _read(rng: np.random.Generator, number: int) -> tuple[FloatArray, FloatArray]:
    """Give the measures of each baseline and of GDRF in each reading, in one run."""
    case, lot = drawn(rng, number)
    others = [measured(place(case, mechanism, lot)) for mechanism in BASELINES]
    return np.array(others), np.array([measured(gdrf(*case, seed=lot, **how)) for how in _crossed()])  # type: ignore[arg-type]


@lru_cache(maxsize=8)
def _crossing(number: int, runs: int, seed: int, progress: bool) -> tuple[FloatArray, FloatArray]:
    """Give what the baselines reach, and GDRF in each reading, shapes (runs, baselines or readings, measures)."""
    found = repeat(_read, runs, seed=seed, progress=progress, label=f"readings, {number} machines", number=number)
    return np.stack([others for others, _ in found]), np.stack([values for _, values in found])


def readings(runs: int = 100, seed: int = SEED, *, number: int = 60, progress: bool = False) -> pd.DataFrame:
    """Cross all readings of GDRF: what it gains over each baseline in each.

    Parameters
    ----------
    runs, seed, number
        As in :func:`cells`.

    Returns
    -------
    DataFrame
        One row per reading (a column for each key of :data:`READINGS`; without types ``machine_type`` is "either") and
        ``against``: for each measure X its mean gain as in :func:`mixes`, ``X``, with ``X_low``, ``X_high`` (95 %);
        ``runs``. Rounded to 5 digits.

    Notes
    -----
    Cost of a mix: 120 placements by GDRF, some 0.4 s for 60 machines. :func:`conclusions` sums it up.
    """
    runs, number = as_whole(runs, "runs", 1), as_whole(number, "number", 1)
    others, values = _crossing(number, runs, seed, progress)
    rows = []
    for at, how in enumerate(_crossed()):
        name = {**how, "machine_type": "either" if how["match"] == "any" else how["machine_type"]}
        for k, against in enumerate(BASELINES):
            gains = gains_over(values[:, at], others[:, k])
            row: dict[str, Any] = {**name, "against": against}
            for measure in _JUDGED:
                spread = _spread(gains[:, MEASURES.index(measure)])
                row |= {f"{measure}{part}": spread[part.lstrip("_") or "mean"] for part in ("", "_low", "_high")}
            rows.append(row)
    return pd.DataFrame(rows).round(5).assign(runs=runs)


def conclusions(frame: pd.DataFrame) -> pd.DataFrame:
    """Ask of a frame of :func:`readings` which conclusions hold in every reading.

    Returns
    -------
    DataFrame
        One row per ``against`` and ``measure``: in how many readings the whole interval of the mean gain is above 0
        (``surely_ahead``) and below (``surely_behind``), ``nearest`` (mean gain in the reading nearest to the text, the
        first), ``least``, ``most`` (mean gains over readings), ``by_12``, ``by_15`` (readings with a mean gain of 12
        and 15 % at least).
    """
    rows = []
    for against, part in frame.groupby("against", sort=False):
        for measure in _JUDGED:
            mean = part[measure]
            rows.append(
                {
                    "against": against,
                    "measure": measure,
                    "surely_ahead": int((part[f"{measure}_low"] > 0).sum()),
                    "surely_behind": int((part[f"{measure}_high"] < 0).sum()),
                    "nearest": mean.iloc[0],
                    "least": mean.min(),
                    "most": mean.max(),
                    "by_12": int((mean >= 0.12).sum()),
                    "by_15": int((mean >= 0.15).sum()),
                }
            )
    return pd.DataFrame(rows)


def own(
    runs: int = 10, seed: int = SEED, *, sizes: int | Sequence[int] = (60, 180, 300), progress: bool = False
) -> pd.DataFrame:
    """Look at each reading of GDRF and at each baseline by itself, by the number of machines.

    Returns
    -------
    DataFrame
        One row per ``machines``, ``mechanism`` and ``reading`` (from 0, the one nearest to the text; 0 for baselines):
        means over the random mixes of :func:`readings` of ``tasks``, ``cpu``, ``fairness``, ``fairness_mean``, and
        ``mean_above_total``, ``memory_above_cpu``, ``memory_less_cpu`` as in :func:`balance`; ``runs``.
    """
    rows = []
    for number in numbers(sizes, "sizes", "number of machines"):
        others, values = _crossing(number, as_whole(runs, "runs", 1), seed, progress)
        named = [
            *((name, 0, others[:, k]) for k, name in enumerate(BASELINES)),
            *(("gdrf", at, values[:, at]) for at in range(values.shape[1])),
        ]
        for name, at, found in named:
            one = dict(zip(MEASURES, found.round(12).T, strict=True))
            rows.append(
                {
                    "machines": number,
                    "mechanism": name,
                    "reading": at,
                    **{measure: one[measure].mean() for measure in ("tasks", "cpu", "fairness", "fairness_mean")},
                    **_balance(one),
                    "runs": runs,
                }
            )
    return pd.DataFrame(rows)


# ------------------------------------------------------------------------------------------------------------ stored


_store = partial(storing, module=__name__, seed=SEED, data=DATA)

#: Full-effort tables kept in data/results, each with the call that computes it (with a bar on stderr or without).
STORED: dict[str, Callable[..., None]] = {
    "gdrf/curves": _store("gdrf/curves", curves, runs=list(RUNS)),
    "gdrf/mixes": _store("gdrf/mixes", mixes, runs=list(RUNS)),
    "gdrf/balance": _store("gdrf/balance", balance, runs=list(RUNS)),
    "gdrf/cells": _store("gdrf/cells", cells, runs=100),
    "gdrf/readings": _store("gdrf/readings", readings, runs=100),
    "gdrf/lies": _store("gdrf/lies", lies, module=lies.__module__, runs=5),
    "gdrf/ablation": _store("gdrf/ablation", ablation, module=ablation.__module__, runs=200),
    "gdrf/bounds": _store("gdrf/bounds", bounds, module=bounds.__module__, runs=50),
    "gdrf/cell": _store("gdrf/cell", cell, module=cell.__module__),
    "gdrf/cell_machines": _store("gdrf/cell_machines", cell_machines, module=cell_machines.__module__),
}

#: Where a figure's frame lies in the store: the table, and the value that its rows have in these columns. A figure
#: takes from it the measures that it draws.
STORED_FIGURES: dict[str, tuple[str, dict[str, Any]]] = {f"fig{k}": ("gdrf/curves", {}) for k in range(1, 5)}
