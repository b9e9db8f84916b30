"""The experiments of the GDRF paper on Google's mix of machines, what its blanks do to them, and the whole cell.

Table 1 of the paper is the published mix of 12 583 machines. Smaller cells have the same mix, largest remainders first,
with all capacities times 100. Machines are numbered class after class in the order of the table, which matters to every
mechanism that prefers low numbers. 20 users, with CPU and memory from 1 to 4, want as many VMs as they can get.

The paper's users are lost. ``"paper"`` stands for one mix that is as the text says, :data:`USERS`; ``"random"`` for
mixes whose requests are drawn evenly from 1 to 4 (the total of two such numbers has a bell shape, too). The i-th random
mix is the same in every study with the same seed, at every number of machines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from tqdm import tqdm

from book.common.runs import choices, interval, repeat
from book.gdrf.oracle import most_tasks, same_mix
from book.gdrf.oracle_drfh import fluid_share
from fairbook import results
from fairbook.errors import InvalidInput
from fairbook.mechanisms.drfh import drfh
from fairbook.mechanisms.gdrf import gdrf
from fairbook.mechanisms.mdrf import mdrf
from fairbook.mechanisms.per_server_drf import per_server_drf
from fairbook.mechanisms.readings import READINGS as ALL_READINGS
from fairbook.metrics import jain_index, placement_fairness, relative_utilisation
from fairbook.model.inputs import FloatArray, as_whole
from fairbook.model.placement import Placement
from fairbook.traces.google2011 import load_digest

__all__ = [
    "BASELINES",
    "CASES",
    "CELLS",
    "DATA",
    "EXAMPLE",
    "FACTORS",
    "FULL",
    "IDLE",
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
    "Example",
    "Instance",
    "ablation",
    "arrivals",
    "balance",
    "bounds",
    "by_machine",
    "cell",
    "cell_machines",
    "cells",
    "conclusions",
    "curves",
    "example",
    "fig1",
    "fig2",
    "fig3",
    "fig4",
    "instance",
    "lies",
    "mixes",
    "own",
    "readings",
]

#: Root of every random stream.
SEED = 2016
#: Numbers of users.
SIZES = (60, 120, 180, 240, 300)
#: Repetitions of each size.
RUNS = (200, 200, 200, 200, 200)
#: Data files, below ``data/``, on which the stored results depend.
DATA = ("google2011.json", "google2011_machines.csv", "google2011_requests.csv")

#: Table 1: CPU and memory of a machine as parts of the largest, and how many there are (Reiss et al., SoCC 2012).
MACHINES: tuple[tuple[float, float, int], ...] = (
    (0.5, 0.5, 6732), (0.5, 0.25, 3863), (0.5, 0.75, 1001), (1.0, 1.0, 795), (0.25, 0.25, 126), (0.5, 0.12, 52),
    (0.5, 0.03, 5), (0.5, 0.97, 5), (1.0, 0.5, 3), (0.5, 0.06, 1))

#: A stand-in for Table 3: each pair from 1 to 4 once, and four in the middle once more.
USERS: tuple[tuple[int, int], ...] = (*((c, m) for c in range(1, 5) for m in range(1, 5)), (2, 3), (3, 2), (2, 2),
                                      (3, 3))

#: Rules that are compared.
MECHANISMS = ("gdrf", "mdrf_entropy", "mdrf_type", "drfh_best_fit", "drfh_first_fit", "per_server_drf")
#: Those that GDRF is compared with.
BASELINES = MECHANISMS[1:]

#: What is measured on a placement, see :func:`curves`.
MEASURES = ("tasks", "cpu", "memory", "cpu_mean", "memory_mean", "memory_gap", "min_share", "jain", "fairness",
            "fairness_mean", "fairness_whole", "fairness_present")

#: Compared by difference, not by ratio.
_DIFFERENCES = ("memory_gap",)

_SCALE = 100.0

Settings = Mapping[str, Any]


def _numbers(values: Any, argument: str, what: str) -> tuple[int, ...]:
    found = tuple(values) if isinstance(values, (Sequence, np.ndarray)) and not isinstance(values, str) else (values,)
    if not found:
        raise InvalidInput(argument, f"must name at least one {what}", values)
    return tuple(as_whole(value, argument, 1) for value in found)


def _runs_of(runs: Any, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Give the number of runs of each size: one for all, or one each."""
    found = _numbers(runs, "runs", "number of runs")
    if len(found) not in (1, len(sizes)):
        raise InvalidInput("runs", f"must be one number or one for each of the {len(sizes)} sizes", runs)
    return found * len(sizes) if len(found) == 1 else found


# ------------------------------------------------------------------------------------------------- worked example


class Example(NamedTuple):
    """A cell that is small enough for paper.

    Attributes
    ----------
    users : tuple of str
    demands : tuple of (CPU, memory)
    machines : tuple of (CPU, memory)
        Of each class.
    counts : tuple of int
    """

    users: tuple[str, ...]
    demands: tuple[tuple[int, int], ...]
    machines: tuple[tuple[int, int], ...]
    counts: tuple[int, ...]


#: A worked example: three users on two machines.
EXAMPLE = Example(("A", "B", "C"), ((2, 1), (1, 2), (2, 2)), ((8, 4), (4, 8)), (1, 2))

_Pair = tuple[Fraction, Fraction]


def example() -> pd.DataFrame:
    """Follow GDRF through the worked example, VM by VM, by a scan of all machines in fractions.

    Returns
    -------
    DataFrame
        One row a VM that was placed or that fitted nowhere, in order: ``round`` (from 1), ``user``, ``machine`` (-1
        where it fits nowhere and the user leaves), ``level`` (0: of the user's type, 1: of its second resource), ``f``
        (of the machine before, 1 if it is empty; nan where none), and of the machine afterwards: ``cpu``, ``memory``
        (used), ``cpu_free``, ``memory_free``, ``f_after``.

    Notes
    -----
    Shares no code with :func:`fairbook.gdrf`: one rule after the other, as in the text of the chapter. There are no
    ties that would have to be drawn.

    Examples
    --------
    >>> frame = example()
    >>> frame.loc[frame["machine"] >= 0, "user"].str.cat()
    'CABCABCA'
    """
    users, demands, classes, counts = EXAMPLE
    machines = [c for c, count in zip(classes, counts, strict=True) for _ in range(count)]
    totals = [sum(c[r] for c in machines) for r in (0, 1)]
    mu = [[Fraction(d[r], totals[r]) for r in (0, 1)] for d in demands]
    ranking = sorted(range(len(users)), key=lambda i: (-max(mu[i]), -sum(mu[i]) / max(mu[i])))
    types = [0 if Fraction(c[0], totals[0]) > Fraction(c[1], totals[1]) else 1 for c in machines]
    used = [[0, 0] for _ in machines]
    stakes = [Fraction(0) for _ in machines]
    slots, left = [0] * len(users), set(range(len(users)))

    def f(j: int) -> float:
        return float(stakes[j]) ** (sum(used[j]) / sum(machines[j]))

    rows: list[dict[str, Any]] = []
    number = 0
    while left:
        number += 1
        queue = []
        for _ in users:
            i = min(left, key=lambda h: (slots[h] * sum(demands[h]), ranking.index(h)))
            slots[i] += 1
            queue.append(i)
        for i in sorted(queue, key=ranking.index):
            if i not in left:
                continue
            wanted = sorted((0, 1), key=lambda r: -mu[i][r])
            room = [j for j, c in enumerate(machines) if all(used[j][r] + demands[i][r] <= c[r] for r in (0, 1))]
            row: dict[str, Any] = {"round": number, "user": users[i]}
            if not room:
                left.remove(i)
                rows.append({**row, "machine": -1, "level": -1, **dict.fromkeys(_AFTER, np.nan)})
                continue
            level = min(wanted.index(types[j]) for j in room)
            best = max((j for j in room if types[j] == wanted[level]), key=lambda j: (f(j), -j))
            row |= {"machine": best, "level": level, "f": f(best)}
            used[best] = [used[best][r] + demands[i][r] for r in (0, 1)]
            stakes[best] += max(mu[i])
            rows.append({**row, "cpu": used[best][0], "memory": used[best][1],
                         "cpu_free": machines[best][0] - used[best][0],
                         "memory_free": machines[best][1] - used[best][1], "f_after": f(best)})
    return pd.DataFrame(rows)


_AFTER = ("f", "cpu", "memory", "cpu_free", "memory_free", "f_after")


# ----------------------------------------------------------------------------------------------- cells and users


class Instance(NamedTuple):
    """What the mechanisms take, in their order.

    Attributes
    ----------
    demands : ndarray, shape (n, 2)
        CPU and memory of a VM.
    machines : ndarray, shape (K, 2)
        Of one machine of each class that is there.
    counts : ndarray of int, shape (K,)
    """

    demands: FloatArray
    machines: FloatArray
    counts: NDArray[np.int64]


def _share_out(number: int, weights: FloatArray) -> NDArray[np.int64]:
    """Share a number out by largest remainders, ties to the earlier."""
    quota = number * weights / weights.sum()
    counts = np.floor(quota).astype(np.int64)
    most = np.argsort(counts - quota, kind="stable")[: number - int(counts.sum())]
    counts[most] += 1
    return counts


@lru_cache(maxsize=2)
def _table(capacities: str) -> FloatArray:
    """Give CPU, memory and count of each class, the most frequent first."""
    if capacities == "published":
        return np.array(MACHINES)
    frame = load_digest().machines.sort_values("last_known", ascending=False, kind="stable")
    return frame[["cpu", "memory", "last_known"]].to_numpy(dtype=float)


#: How a cell of so many machines may be read off Table 1; the first is that of the figures.
CELLS: dict[str, dict[str, Any]] = {
    "as in the figures": {},
    "machines drawn": {"machines": "drawn"},
    "capacities of the trace": {"capacities": "trace"},
    "classes in reverse": {"order": "reversed"},
    "machines shuffled": {"order": "shuffled"},
    "all 16 pairs of users": {"users": "covering"},
}


def instance(
    rng: np.random.Generator,
    number: int = 60,
    *,
    users: str = "drawn",
    machines: str = "proportional",
    capacities: str = "published",
    order: str = "table",
) -> Instance:
    """Draw 20 users and a cell of so many machines.

    Parameters
    ----------
    rng : numpy.random.Generator
        Of the run; the users are drawn first.
    number : int
        Machines.
    users : {"drawn", "covering", "paper"}
        Requests drawn evenly from 1 to 4, each pair once and four more drawn, or :data:`USERS`.
    machines : {"proportional", "drawn"}
        The mix of Table 1 by largest remainders, or every machine drawn from it.
    capacities : {"published", "trace"}
        As printed (0.25, ...) or as recorded in the trace (0.2493, ...), times 100 either way.
    order : {"table", "reversed", "shuffled"}
        Machines numbered class after class, the most frequent first or last, or in an order that is drawn.

    Examples
    --------
    >>> from book.common.runs import stream
    >>> instance(stream(1), 60).counts.tolist()
    [32, 18, 5, 4, 1]
    """
    if not isinstance(rng, np.random.Generator):
        raise InvalidInput("rng", "must be a numpy.random.Generator", rng)
    number = as_whole(number, "number", 1)
    choices((users,), "users", ("drawn", "covering", "paper"))
    choices((machines,), "machines", ("proportional", "drawn"))
    choices((capacities,), "capacities", ("published", "trace"))
    choices((order,), "order", ("table", "reversed", "shuffled"))
    demands = np.array(USERS, dtype=float)
    if users == "drawn":
        demands = rng.integers(1, 5, demands.shape).astype(float)
    elif users == "covering":
        demands[16:] = rng.integers(1, 5, (4, 2))
    table = _table(capacities)
    if machines == "proportional":
        counts = _share_out(number, table[:, 2])
    else:
        counts = rng.multinomial(number, table[:, 2] / table[:, 2].sum()).astype(np.int64)
    there = counts > 0
    sizes, counts = _SCALE * table[there, :2], counts[there]
    if order == "reversed":
        sizes, counts = sizes[::-1], counts[::-1]
    elif order == "shuffled":
        sizes = rng.permutation(np.repeat(sizes, counts, axis=0))
        counts = np.ones(number, dtype=np.int64)
    return Instance(demands, sizes, counts)


# ---------------------------------------------------------------------------------------------------- placements


def _place(case: Instance, mechanism: str, lot: int, **settings: Any) -> Placement:
    if mechanism == "gdrf":
        return gdrf(*case, seed=lot, **settings)
    if mechanism.startswith("mdrf"):
        return mdrf(*case, seed=lot, reading="entropy" if mechanism == "mdrf_entropy" else "type")
    if mechanism == "per_server_drf":
        return per_server_drf(*case)
    return drfh(*case, method="best_fit" if mechanism == "drfh_best_fit" else "first_fit")


def _measured(placed: Placement) -> list[float]:
    """Give the :data:`MEASURES` of a placement."""
    total, mean = placed.utilisation, placed.mean_utilisation
    shares = placed.dominant_shares
    n, N = len(shares), len(placed.cell.machine_class)
    capacities = placed.cell.machines[placed.cell.machine_class]
    w = relative_utilisation(np.minimum(placed.machine_use, capacities), capacities)
    stakes = np.bincount(placed.placed_machine, placed.cell.shares.max(axis=1)[placed.placed_user], minlength=N)
    f = placement_fairness(stakes, w)
    pairs = np.unique(placed.placed_machine.astype(np.int64) * n + placed.placed_user)
    present = np.bincount(pairs // n, minlength=N)
    whole = placed.tasks @ placed.cell.demands
    return [len(placed), total[0], total[1], mean[0], mean[1], abs(mean[1] - total[1]), shares.min(),
            jain_index(shares), f.sum(), f.mean(), shares.sum() ** (whole.sum() / placed.cell.totals.sum()),
            placement_fairness(stakes, w, present).sum()]


def _one(rng: np.random.Generator, number: int, mechanisms: tuple[str, ...], **how: Any) -> FloatArray:
    """Give what the mechanisms reach in one run, shape (mechanisms, measures)."""
    case = instance(rng, number, **how)
    lot = int(rng.integers(2**31))
    return np.array([_measured(_place(case, mechanism, lot)) for mechanism in mechanisms])


@lru_cache(maxsize=32)
def _values(number: int, runs: int, seed: int, progress: bool, mechanisms: tuple[str, ...] = MECHANISMS,
            how: tuple[tuple[str, str], ...] = ()) -> FloatArray:
    """Give what the mechanisms reach in each run, shape (runs, mechanisms, measures)."""
    return np.stack(repeat(_one, runs, seed=seed, progress=progress, label=f"{number} machines", number=number,
                           mechanisms=mechanisms, **dict[str, Any](how)))


def _gains(of: FloatArray, against: FloatArray) -> FloatArray:
    """Compare measures, the last axis: by ratio less 1, a few by difference; nan where divided by 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: FloatArray = np.where(against != 0, of / against - 1, np.nan)
    for name in _DIFFERENCES:
        at = MEASURES.index(name)
        found[..., at] = of[..., at] - against[..., at]
    # what is equal but for rounding is equal
    rounded: FloatArray = np.round(found, 12) + 0.0
    return rounded


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
        (their mean), ``fairness_whole`` (f of the cell as one machine), ``fairness_present`` (sum, k = number of users
        on the machine). With k = 20, the number of all users, f is 20 times as large.

    Notes
    -----
    Cost of a mix, two thirds of it for ``mdrf_entropy`` and ``drfh_best_fit``: 0.03 s for 60 machines, 0.2 s for 300.
    """
    sizes = _numbers(sizes, "sizes", "number of machines")
    parts = []
    for number, many in zip(sizes, _runs_of(runs, sizes), strict=True):
        for mix, values in (("paper", _values(number, 1, seed, False, how=(("users", "paper"),))),
                            ("random", _values(number, many, seed, progress))):
            index = pd.MultiIndex.from_product([[mix], [number], MECHANISMS, MEASURES],
                                               names=["mix", "machines", "mechanism", "measure"])
            frame = interval(values.round(12).reshape(len(values), -1))
            parts.append(pd.concat([index.to_frame(index=False), frame], axis=1).assign(runs=len(values)))
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
        ``low``, ``high`` (95 %), ``median``, ``p05``, ``p95`` (quantiles), ``above`` (part of mixes with a gain above
        0), ``above_12``, ``above_15`` (above 12 and 15 %), ``runs``.
    """
    sizes = _numbers(sizes, "sizes", "number of machines")
    rows = []
    for number, many in zip(sizes, _runs_of(runs, sizes), strict=True):
        paper = _values(number, 1, seed, False, how=(("users", "paper"),))
        values = _values(number, many, seed, progress)
        for k, against in enumerate(BASELINES, start=1):
            one, gains = _gains(paper[0, 0], paper[0, k]), _gains(values[:, 0], values[:, k])
            for at, measure in enumerate(MEASURES):
                rows.append({"machines": number, "against": against, "measure": measure, "paper": one[at],
                             **_spread(gains[:, at])})
    return pd.DataFrame(rows)


def _spread(gains: FloatArray) -> dict[str, Any]:
    gains = gains[np.isfinite(gains)]
    if not len(gains):
        return {**dict.fromkeys(("mean", "low", "high", "median", "p05", "p95", "above", "above_12", "above_15"),
                                np.nan), "runs": 0}
    mean = interval(gains[:, None]).iloc[0]
    p05, median, p95 = np.quantile(gains, [0.05, 0.5, 0.95])
    return {"mean": mean["mean"], "low": mean["low"], "high": mean["high"], "median": median, "p05": p05, "p95": p95,
            "above": (gains > 0).mean(), "above_12": (gains > 0.12).mean(), "above_15": (gains > 0.15).mean(),
            "runs": len(gains)}


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
        machine-average is above its total), ``cpu_mean_above_total``, ``memory_above_cpu`` (in which more of the memory
        is in use than of the CPU), ``memory_less_cpu`` (mean difference of the totals), ``gap`` (memory: mean of
        machine-average minus total), the same for the one mix: ``paper_gap``, ``paper_memory_less_cpu``; ``runs``.
    """
    sizes = _numbers(sizes, "sizes", "number of machines")
    cpu, memory, cpu_mean, memory_mean = (MEASURES.index(name) for name in ("cpu", "memory", "cpu_mean", "memory_mean"))
    rows = []
    for number, many in zip(sizes, _runs_of(runs, sizes), strict=True):
        paper = _values(number, 1, seed, False, how=(("users", "paper"),)).round(12)[0]
        values = _values(number, many, seed, progress).round(12)
        for k, mechanism in enumerate(MECHANISMS):
            found = values[:, k]
            rows.append({
                "machines": number, "mechanism": mechanism,
                "mean_above_total": (found[:, memory_mean] > found[:, memory]).mean(),
                "cpu_mean_above_total": (found[:, cpu_mean] > found[:, cpu]).mean(),
                "memory_above_cpu": (found[:, memory] > found[:, cpu]).mean(),
                "memory_less_cpu": (found[:, memory] - found[:, cpu]).mean(),
                "gap": (found[:, memory_mean] - found[:, memory]).mean(),
                "paper_gap": paper[k, memory_mean] - paper[k, memory],
                "paper_memory_less_cpu": paper[k, memory] - paper[k, cpu], "runs": many})
    return pd.DataFrame(rows)


# ------------------------------------------------------------------------------------------------ the paper's figures


@lru_cache(maxsize=4)
def _curves(runs: int | tuple[int, ...], seed: int, progress: bool) -> pd.DataFrame:
    return curves(runs, seed, progress=progress)


def _of(measures: tuple[str, ...], runs: int | Sequence[int], seed: int, progress: bool) -> pd.DataFrame:
    frame = _curves(tuple(runs) if isinstance(runs, (Sequence, np.ndarray)) else runs, seed, progress)
    return frame[frame["measure"].isin(measures)].reset_index(drop=True)


def fig1(runs: int | Sequence[int] = RUNS, seed: int = SEED, *, progress: bool = False) -> pd.DataFrame:
    """Count the VMs placed (Figure 1); columns as in :func:`curves`."""
    return _of(("tasks",), runs, seed, progress)


def fig2(runs: int | Sequence[int] = RUNS, seed: int = SEED, *, progress: bool = False) -> pd.DataFrame:
    """Measure CPU utilisation, total and machine-average (Figure 2); columns as in :func:`curves`."""
    return _of(("cpu", "cpu_mean"), runs, seed, progress)


def fig3(runs: int | Sequence[int] = RUNS, seed: int = SEED, *, progress: bool = False) -> pd.DataFrame:
    """Measure memory utilisation, total and machine-average (Figure 3); columns as in :func:`curves`."""
    return _of(("memory", "memory_mean"), runs, seed, progress)


def fig4(runs: int | Sequence[int] = RUNS, seed: int = SEED, *, progress: bool = False) -> pd.DataFrame:
    """Measure the fairness value in four readings (Figure 4); columns as in :func:`curves`."""
    return _of(("fairness", "fairness_mean", "fairness_whole", "fairness_present"), runs, seed, progress)


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
    number = as_whole(number, "number", 1)
    rows = []
    for name, how in tqdm(CELLS.items(), desc="cells", disable=not progress, leave=False):
        values = _values(number, as_whole(runs, "runs", 1), seed, False, how=tuple(sorted(how.items())))
        for k, against in enumerate(BASELINES, start=1):
            gains = _gains(values[:, 0], values[:, k])
            rows += [{"cell": name, "against": against, "measure": measure, **_spread(gains[:, at])}
                     for at, measure in enumerate(MEASURES)]
    return pd.DataFrame(rows)


#: The readings of GDRF, the first of each is the default. Without types ("any") what a machine's type is plays no role.
READINGS: dict[str, tuple[str, ...]] = {
    name: ALL_READINGS["gdrf"][name].values for name in ("least", "machine_type", "match", "choice", "queue")}

#: Measures of :func:`readings`.
_JUDGED = ("tasks", "cpu", "cpu_mean", "memory", "memory_mean", "memory_gap", "min_share", "fairness",
           "fairness_whole", "fairness_present")


def _crossed() -> list[dict[str, str]]:
    rows = [dict(zip(READINGS, values, strict=True)) for values in product(*READINGS.values())]
    return [row for row in rows if row["match"] != "any" or row["machine_type"] == "share"]


def _read(rng: np.random.Generator, number: int) -> tuple[FloatArray, FloatArray]:
    """Give the measures of each baseline and of GDRF in each reading, in one run."""
    case = instance(rng, number)
    lot = int(rng.integers(2**31))
    others = [_measured(_place(case, mechanism, lot)) for mechanism in BASELINES]
    return np.array(others), np.array([_measured(gdrf(*case, seed=lot, **how)) for how in _crossed()])  # type: ignore[arg-type]


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
        ``against``: for each measure X its mean gain as in :func:`mixes`, ``X``, with ``X_low``, ``X_high`` (95 %), and
        ``X_above`` (part of mixes with a gain above 0); ``runs``. Rounded to 5 digits.

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
            gains = _gains(values[:, at], others[:, k])
            row: dict[str, Any] = {**name, "against": against}
            for measure in _JUDGED:
                spread = _spread(gains[:, MEASURES.index(measure)])
                row |= {measure: spread["mean"], **{f"{measure}_{part}": spread[part]
                                                    for part in ("low", "high", "above")}}
            rows.append(row)
    return pd.DataFrame(rows).round(5).assign(runs=runs)


def conclusions(frame: pd.DataFrame) -> pd.DataFrame:
    """Ask of a frame of :func:`readings` which conclusions hold in every reading.

    Returns
    -------
    DataFrame
        One row per ``against`` and ``measure``: ``readings`` (their number), ``ahead`` (in how many the mean gain is
        above 0), ``surely_ahead`` (in which its whole interval is), ``surely_behind`` (below 0), ``every_mix`` (in
        which GDRF is ahead in each mix), ``nearest`` (mean gain in the reading nearest to the text, the first),
        ``least``, ``median``, ``most`` (mean gains over readings), ``by_12``, ``by_15`` (readings with a mean gain of
        12 and 15 % at least), ``verdict`` ("ahead", "behind": surely so in every reading; else "depends").
    """
    rows = []
    for against, part in frame.groupby("against", sort=False):
        for measure in _JUDGED:
            mean, low, high = part[measure], part[f"{measure}_low"], part[f"{measure}_high"]
            ahead, behind = int((low > 0).sum()), int((high < 0).sum())
            verdict = "ahead" if ahead == len(part) else "behind" if behind == len(part) else "depends"
            rows.append({
                "against": against, "measure": measure, "readings": len(part), "ahead": int((mean > 0).sum()),
                "surely_ahead": ahead, "surely_behind": behind, "every_mix": int((part[f"{measure}_above"] == 1).sum()),
                "nearest": mean.iloc[0], "least": mean.min(), "median": mean.median(), "most": mean.max(),
                "by_12": int((mean >= 0.12).sum()), "by_15": int((mean >= 0.15).sum()), "verdict": verdict})
    return pd.DataFrame(rows)


def own(runs: int = 10, seed: int = SEED, *, sizes: int | Sequence[int] = (60, 180, 300),
        progress: bool = False) -> pd.DataFrame:
    """Look at each reading of GDRF and at each baseline by itself, by the number of machines.

    Returns
    -------
    DataFrame
        One row per ``machines``, ``mechanism`` and ``reading`` (from 0, the one nearest to the text; 0 for baselines):
        means over the random mixes of :func:`readings` of ``tasks``, ``cpu``, ``fairness``, ``fairness_mean``, and
        ``mean_above_total``, ``memory_above_cpu``, ``memory_less_cpu`` as in :func:`balance`; ``runs``.
    """
    rows = []
    for number in _numbers(sizes, "sizes", "number of machines"):
        others, values = _crossing(number, as_whole(runs, "runs", 1), seed, progress)
        named = [*((name, 0, others[:, k]) for k, name in enumerate(BASELINES)),
                 *(("gdrf", at, values[:, at]) for at in range(values.shape[1]))]
        for name, at, found in named:
            one = dict(zip(MEASURES, found.round(12).T, strict=True))
            rows.append({
                "machines": number, "mechanism": name, "reading": at,
                **{measure: one[measure].mean() for measure in ("tasks", "cpu", "fairness", "fairness_mean")},
                "mean_above_total": (one["memory_mean"] > one["memory"]).mean(),
                "memory_above_cpu": (one["memory"] > one["cpu"]).mean(),
                "memory_less_cpu": (one["memory"] - one["cpu"]).mean(), "runs": runs})
    return pd.DataFrame(rows)


#: Use of memory from which a machine counts as nearly full, and up to which as hardly used, read in two ways.
FULL, IDLE = 0.9, (0.5, 0.7)


def _by_machine(rng: np.random.Generator, number: int) -> FloatArray:
    case = instance(rng, number)
    lot = int(rng.integers(2**31))
    placed = [_place(case, mechanism, lot) for mechanism in MECHANISMS]
    use = np.array([one.machine_utilisation[:, 1] for one in placed])
    users = np.array([(_on_machines(one) > 0).sum(axis=1) for one in placed])
    parts = [users > 1, use >= FULL, *(use <= idle for idle in IDLE)]
    return np.stack([part.mean(axis=1) for part in parts], axis=1)


def by_machine(runs: int = 100, seed: int = SEED, *, number: int = 60, progress: bool = False) -> pd.DataFrame:
    """Look at machines one by one: whether users are together on them, and how evenly memory is used.

    Returns
    -------
    DataFrame
        One row per ``mechanism`` and ``idle`` (one of :data:`IDLE`): ``shared`` (part of the machines with VMs of two
        users or more), ``full`` (with at least :data:`FULL` of their memory in use), ``low`` (with at most ``idle``),
        means over random mixes; ``uneven`` (part of the mixes in which most machines are full and some are low),
        ``runs``.
    """
    runs, number = as_whole(runs, "runs", 1), as_whole(number, "number", 1)
    found = np.stack(repeat(_by_machine, runs, seed=seed, progress=progress, label="machines", number=number))
    rows = []
    for k, mechanism in enumerate(MECHANISMS):
        shared, full, *lows = found[:, k].T
        rows += [{"mechanism": mechanism, "idle": idle, "shared": shared.mean(), "full": full.mean(), "low": low.mean(),
                  "uneven": ((full > 0.5) & (low > 0)).mean(), "runs": runs}
                 for idle, low in zip(IDLE, lows, strict=True)]
    return pd.DataFrame(rows)


# -------------------------------------------------------------------------------------------- lies, coming and going

#: Readings of GDRF in which lies are tried, and the factors by which a liar overstates each resource.
LIED_TO: dict[str, Settings] = {
    "GDRF": {}, "types as printed": {"match": "same"}, "least share": {"least": "dominant_share"}}
#: What a lie multiplies demands by.
FACTORS = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0)


def _lies_of(case: Instance, lot: int, user: int, **how: Any) -> FloatArray:
    """Give true tasks of a user with the truth and with each lie, and whether a VM of the lie runs one task."""
    found = []
    for factors in product(FACTORS, FACTORS):
        demands = case.demands.copy()
        demands[user] *= factors
        tasks = gdrf(demands, case.machines, case.counts, seed=lot, **how).tasks[user]
        found.append((tasks * int(min(factors)), min(factors) < 2))  # whole tasks, each within one VM
    return np.array(found, dtype=float)


def _lied(rng: np.random.Generator, number: int, **how: Any) -> FloatArray:
    """Give for each reading and user: honest tasks, best lie, best lie of one task a VM, how many lies pay."""
    case = instance(rng, number, **how)
    lot = int(rng.integers(2**31))
    rows = []
    for reading in LIED_TO.values():
        for user in range(len(case.demands)):
            tasks, single = _lies_of(case, lot, user, **reading).T
            rows.append([tasks[0], tasks.max(), tasks[single > 0].max(), (tasks > tasks[0]).sum()])
    return np.array(rows).reshape(len(LIED_TO), -1, 4)


def lies(runs: int = 5, seed: int = SEED, *, number: int = 60, progress: bool = False) -> pd.DataFrame:
    """Let each user in turn overstate its demand, everybody else telling the truth.

    Parameters
    ----------
    runs, seed
        Random mixes and their root seed.
    number : int
        Machines.

    Returns
    -------
    DataFrame
        One row per ``mix`` ("paper", "random") and ``reading`` (keys of :data:`LIED_TO`): ``users`` (who lie one at a
        time), ``lies`` (of each: all pairs of :data:`FACTORS` but the truth), ``gain`` (users with a lie that pays),
        ``gain_single`` (with one that pays and whose VMs run one task each), ``paying`` (part of the lies that pay),
        ``most`` (largest gain in tasks), ``most_part`` (largest gain as a part of the honest number), ``mean_part``
        (mean over users of the gain by the best lie, or by the truth if none pays).

    Notes
    -----
    A VM of the lie runs as many whole tasks as fit in it. Cost of a mix: some 2000 placements, five seconds.
    """
    runs, number = as_whole(runs, "runs", 1), as_whole(number, "number", 1)
    rows = []
    for mix, many, users in (("paper", 1, "paper"), ("random", runs, "drawn")):
        found = np.stack(repeat(_lied, many, seed=seed, progress=progress, label="lies", number=number, users=users))
        for at, reading in enumerate(LIED_TO):
            honest, best, single, paying = found[:, at].reshape(-1, 4).T
            gain = (best - honest) / np.maximum(honest, 1)
            rows.append({
                "mix": mix, "reading": reading, "users": len(honest), "lies": len(FACTORS) ** 2 - 1,
                "gain": int((best > honest).sum()), "gain_single": int((single > honest).sum()),
                "paying": paying.mean() / (len(FACTORS) ** 2 - 1), "most": int((best - honest).max()),
                "most_part": gain.max(), "mean_part": gain.mean()})
    return pd.DataFrame(rows).round(9)


def _on_machines(placed: Placement) -> NDArray[np.int64]:
    """Count the tasks of each user on each machine, shape (N, n)."""
    n, N = len(placed.cell.demands), len(placed.cell.machine_class)
    at = placed.placed_machine.astype(np.int64) * n + placed.placed_user
    return np.bincount(at, minlength=N * n).reshape(N, n)


def _kept(before: NDArray[np.int64], after: NDArray[np.int64], kind: NDArray[np.int64]) -> int:
    """Count the tasks that can stay, if machines of a class are renumbered so that most do."""
    kept = 0
    for k in range(int(kind.max()) + 1):
        old, new = before[kind == k], after[kind == k]
        common = np.minimum(old[:, None], new[None]).sum(axis=2)
        kept += int(common[linear_sum_assignment(common, maximize=True)].sum())
    return kept


def _arrive(rng: np.random.Generator, number: int) -> FloatArray:
    """Let the users of a mix come one after the other, shape (n - 1, 6); see :func:`arrivals`."""
    case = instance(rng, number)
    lot, n = int(rng.integers(2**31)), len(case.demands)
    before = gdrf(case.demands[:1], case.machines, case.counts, seed=lot)
    rows = []
    for users in range(2, n + 1):
        after = gdrf(case.demands[:users], case.machines, case.counts, seed=lot)
        old, new = _on_machines(before), _on_machines(after)
        stay = np.minimum(before.tasks, after.tasks[:-1])
        kept = _kept(old, new[:, :-1], before.cell.machine_class)
        free = np.maximum(before.cell.machines[before.cell.machine_class] - before.machine_use, 0)
        room = np.floor((free / case.demands[users - 1]).min(axis=1) + 1e-9).sum()
        rows.append([before.tasks.sum(), after.tasks[-1], room, (before.tasks - stay).sum(), stay.sum() - kept,
                     1 - kept / before.tasks.sum()])
        before = after
    return np.array(rows, dtype=float)


def arrivals(runs: int = 50, seed: int = SEED, *, number: int = 60, progress: bool = False) -> pd.DataFrame:
    """Run GDRF anew whenever a user arrives, and count what that does to the VMs that run already.

    Parameters
    ----------
    runs, seed
        Random mixes and their root seed; users arrive in the order in which they are drawn.
    number : int
        Machines.

    Returns
    -------
    DataFrame
        One row per number of ``users`` after an arrival (2 to 20), means over mixes: ``running`` (VMs before), ``own``
        (VMs of the newcomer after), ``room`` (VMs that it could have had without touching any), ``stopped`` (VMs by
        which those present shrink), ``moved`` (others that are on another machine, machines of a class renumbered so
        that these are fewest), ``touched`` (stopped or moved, as a part of those running); ``runs``.

    Notes
    -----
    Read from below, the same counts are those of a departure: what is stopped on arrival is started when the newcomer
    leaves, and as many are moved. Cost of a mix: 0.1 s for 60 machines.
    """
    runs, number = as_whole(runs, "runs", 1), as_whole(number, "number", 1)
    found = np.stack(repeat(_arrive, runs, seed=seed, progress=progress, label="arrivals", number=number))
    frame = pd.DataFrame(found.mean(axis=0).round(9),
                         columns=["running", "own", "room", "stopped", "moved", "touched"])
    frame.insert(0, "users", np.arange(2, len(frame) + 2))
    return frame.assign(runs=runs)


# ---------------------------------------------------------------------------------------------------- what does what

_PLAIN = {"match": "any", "choice": "first", "queue": "one_by_one", "least": "dominant_share"}

#: From DRFH First-Fit to GDRF, one ingredient more each time; GDRF with one less; GDRF with one exchanged.
_STEPS: dict[str, Settings | None] = {
    "DRFH First-Fit": None,
    "+ ties by GDRS, GDRW": _PLAIN,
    "+ least amount": {**_PLAIN, "least": "amount"},
    "+ nearest type": {"choice": "first", "queue": "one_by_one"},
    "+ largest f": {"queue": "one_by_one"},
    "+ rounds = GDRF": {},
}
_WITHOUT: dict[str, Settings] = {
    "without rounds": {"queue": "one_by_one"},
    "without f": {"choice": "first"},
    "without types": {"match": "any"},
    "least share, not amount": {"least": "dominant_share"},
}
_INSTEAD: dict[str, Settings] = {
    "types as printed": {"match": "same"},
    "type by amount": {"machine_type": "amount"},
    "least sum of shares": {"least": "shares"},
    "f with the VM in it": {"choice": "fairness_after"},
    "empty machines last": {"choice": "fairness_empty_last"},
}
_KINDS = {**dict.fromkeys(_STEPS, "step"), **dict.fromkeys(_WITHOUT, "without"), **dict.fromkeys(_INSTEAD, "instead")}


def _taken_apart(rng: np.random.Generator, number: int) -> FloatArray:
    case = instance(rng, number)
    lot = int(rng.integers(2**31))
    return np.array([
        _measured(_place(case, "drfh_first_fit", lot) if how is None else gdrf(*case, seed=lot, **how))
        for how in (*_STEPS.values(), *_WITHOUT.values(), *_INSTEAD.values())])


def ablation(runs: int = 200, seed: int = SEED, *, number: int = 120, progress: bool = False) -> pd.DataFrame:
    """Build GDRF up from DRFH First-Fit, and take it apart: what each ingredient does.

    Parameters
    ----------
    runs, seed, number
        As in :func:`cells`.

    Returns
    -------
    DataFrame
        One row per ``kind`` ("step": one ingredient more than the row before; "without": GDRF with one less; "instead":
        GDRF with one exchanged), ``variant`` and ``measure`` (see :func:`curves`): ``mean`` with ``low``, ``high``
        (95 %), ``change`` with ``change_low``, ``change_high``: mean over mixes of the ratio to the step before or to
        GDRF, less 1 (``memory_gap``: difference; nan for the first step); ``runs``.
    """
    runs, number = as_whole(runs, "runs", 1), as_whole(number, "number", 1)
    values = np.stack(repeat(_taken_apart, runs, seed=seed, progress=progress, label="ablation", number=number))
    full = list(_KINDS).index("+ rounds = GDRF")
    parts = []
    for at, (variant, kind) in enumerate(_KINDS.items()):
        mean = interval(values[:, at].round(12))
        before = at - 1 if kind == "step" else full
        change = interval(_gains(values[:, at], values[:, max(before, 0)])).add_prefix("change_")
        change = change.rename(columns={"change_mean": "change"})
        if before < 0:
            change[:] = np.nan
        names = pd.DataFrame({"kind": kind, "variant": variant, "measure": MEASURES})
        parts.append(pd.concat([names, mean, change], axis=1))
    return pd.concat(parts, ignore_index=True).assign(runs=runs)


# ----------------------------------------------------------------------------------------------------------- bounds

#: Measures of :func:`bounds`.
_BOUNDED = ("tasks", "theta", "packed", "most", "of_most", "min_share", "level", "of_level")


def _bound(case: Instance, placed: Mapping[str, Placement]) -> FloatArray:
    """Give the measures of :data:`_BOUNDED` for each placement, then for DRFH in fractions of tasks."""
    most = float(most_tasks(*case).upper)
    fluid = fluid_share(*case)
    level = float(fluid.upper) / len(case.demands)
    found: list[tuple[float, Any, float]] = [
        (len(one), one.tasks, one.dominant_shares.min()) for one in placed.values()]
    found.append((fluid.tasks.sum(), fluid.tasks, fluid.level / len(case.demands)))
    rows = []
    for count, tasks, least in found:
        theta = float(same_mix(tasks, *case).upper)
        rows.append([count, theta, 1 / theta, most, count / most, least, level, least / level])
    return np.array(rows)


def _bound_one(rng: np.random.Generator, number: int, **how: Any) -> FloatArray:
    case = instance(rng, number, **how)
    lot = int(rng.integers(2**31))
    return _bound(case, {mechanism: _place(case, mechanism, lot) for mechanism in MECHANISMS})


def bounds(
    runs: int = 50, seed: int = SEED, *, sizes: int | Sequence[int] = (60, 300), progress: bool = False
) -> pd.DataFrame:
    """Put bounds beside what the mechanisms reach; all of them follow from prices in fractions.

    Parameters
    ----------
    runs, seed, sizes
        As in :func:`curves`.

    Returns
    -------
    DataFrame
        One row per ``mix``, ``machines``, ``mechanism`` (also "drfh_fluid") and ``measure``, with ``mean``, ``low``,
        ``high`` (95 %), ``runs``: ``tasks``; ``theta`` (how many times as many tasks in the same proportions would fit
        in fractions), ``packed`` (1 / theta); ``most`` (no placement has more tasks), ``of_most`` (tasks / most);
        ``min_share`` (least dominant share), ``level`` (no placement gives everybody more), ``of_level``.

    Notes
    -----
    Cost of a mix: nine linear programs, some 0.1 s, and the placements.
    """
    sizes = _numbers(sizes, "sizes", "number of machines")
    parts = []
    for number, many in zip(sizes, _runs_of(runs, sizes), strict=True):
        paper = np.stack(repeat(_bound_one, 1, seed=seed, number=number, users="paper"))
        drawn = np.stack(repeat(_bound_one, many, seed=seed, progress=progress, label=f"bounds, {number} machines",
                                number=number))
        for mix, values in (("paper", paper), ("random", drawn)):
            index = pd.MultiIndex.from_product([[mix], [number], [*MECHANISMS, "drfh_fluid"], _BOUNDED],
                                               names=["mix", "machines", "mechanism", "measure"])
            frame = interval(values.round(9).reshape(len(values), -1))
            parts.append(pd.concat([index.to_frame(index=False), frame], axis=1).assign(runs=len(values)))
    return pd.concat(parts, ignore_index=True)


# --------------------------------------------------------------------------------------------------- the whole cell

#: Who fills the whole cell: the one mix of 20 users on the published capacities, or the 40 users of the trace who
#: submitted most tasks, each with the mean of its own requests, on the capacities of the trace.
CASES = ("integers", "trace")
TRACE_USERS = 40

#: Mechanisms whose machines are kept, see :func:`cell_machines`.
_PICTURED = ("gdrf", "drfh_best_fit", "per_server_drf")


def _trace_users(n: int) -> FloatArray:
    """Give the mean request of each of the n users of the trace with most tasks; tasks that lack a resource are out."""
    frame = load_digest().frame.query("cpu > 0 and memory > 0")
    tasks = frame.groupby("user")["tasks"].sum()
    means = [(frame[resource] * frame["tasks"]).groupby(frame["user"]).sum() / tasks for resource in ("cpu", "memory")]
    most = tasks.sort_values(ascending=False, kind="stable").index[:n]
    requests: FloatArray = np.column_stack([mean[most] for mean in means])
    return requests


def _whole(case: str, trace_users: int) -> Instance:
    if case == "integers":
        table = _table("published")
        return Instance(np.array(USERS, dtype=float), _SCALE * table[:, :2], table[:, 2].astype(np.int64))
    table = _table("trace")
    return Instance(_SCALE * _trace_users(trace_users), _SCALE * table[:, :2], table[:, 2].astype(np.int64))


@lru_cache(maxsize=16)
def _filled(case: str, mechanism: str, seed: int, trace_users: int) -> Placement:
    """Fill the whole cell; both tables are made from the same placements."""
    return _place(_whole(case, trace_users), mechanism, seed)


def cell(
    seed: int = SEED,
    *,
    cases: str | Sequence[str] = CASES,
    mechanisms: str | Sequence[str] = MECHANISMS,
    trace_users: int = TRACE_USERS,
    progress: bool = False,
) -> pd.DataFrame:
    """Fill all 12 583 machines until nothing fits.

    Parameters
    ----------
    seed : int
        Of the lot.
    cases : {"integers", "trace"} or both
        See :data:`CASES`.
    mechanisms : sequence of str
        Some of :data:`MECHANISMS`.
    trace_users : int
        Users of the trace, those with most tasks first.

    Returns
    -------
    DataFrame
        One row per ``case`` and ``mechanism``: ``users``, the measures of :func:`curves`, ``states`` (machines of the
        same class with the same contents counted once), ``empty`` (machines without a VM), and the bounds ``theta``,
        ``packed``, ``most``, ``of_most``, ``level``, ``of_level`` of :func:`bounds`. A last row for each case has DRFH
        in fractions ("drfh_fluid"), with nan where a measure needs machines.

    Notes
    -----
    Cost: two seconds a case for GDRF, half a minute or less for ``mdrf_entropy`` and for ``drfh_best_fit``.
    """
    chosen = choices(mechanisms, "mechanisms", MECHANISMS)
    trace_users = as_whole(trace_users, "trace_users", 1)
    rows: list[dict[str, Any]] = []
    for case in choices(cases, "cases", CASES):
        whole = _whole(case, trace_users)
        bar = tqdm(chosen, desc=f"whole cell, {case}", disable=not progress, leave=False)
        placed = {mechanism: _filled(case, mechanism, seed, trace_users) for mechanism in bar}
        limits = _bound(whole, placed)
        for (mechanism, one), limit in zip(placed.items(), limits, strict=False):
            counts = np.bincount(one.placed_machine, minlength=len(one.cell.machine_class))
            rows.append({
                "case": case, "mechanism": mechanism, "users": len(whole.demands),
                **dict(zip(MEASURES, _measured(one), strict=True)), "states": len(one.states.machines),
                "empty": int((counts == 0).sum()), **_limits(limit)})
        fluid = fluid_share(*whole)
        shares = fluid.levels / len(whole.demands)
        totals = whole.counts @ whole.machines
        cpu, memory = fluid.tasks @ whole.demands / totals
        rows.append({
            "case": case, "mechanism": "drfh_fluid", "users": len(whole.demands), **dict.fromkeys(MEASURES, np.nan),
            "tasks": fluid.tasks.sum(), "cpu": cpu, "memory": memory, "min_share": shares.min(),
            "jain": jain_index(shares), "states": np.nan, "empty": np.nan, **_limits(limits[-1])})
    return pd.DataFrame(rows).round(9)


def _limits(values: FloatArray) -> dict[str, float]:
    found = dict(zip(_BOUNDED, values.tolist(), strict=True))
    return {name: found[name] for name in ("theta", "packed", "most", "of_most", "level", "of_level")}


def cell_machines(
    seed: int = SEED,
    *,
    cases: str | Sequence[str] = CASES,
    mechanisms: str | Sequence[str] = _PICTURED,
    trace_users: int = TRACE_USERS,
    progress: bool = False,
) -> pd.DataFrame:
    """Count the machines of the whole cell by class and by what is in use, for a picture.

    Parameters
    ----------
    seed, cases, mechanisms, trace_users
        As in :func:`cell`, the same placements.

    Returns
    -------
    DataFrame
        One row per ``case``, ``mechanism``, class (``cpu_capacity``, ``memory_capacity``, as parts of the largest
        machine), ``cpu`` and ``memory`` (utilisation, rounded to 2 digits): ``machines``. Classes in the order of Table
        1, fuller machines first.
    """
    chosen = choices(mechanisms, "mechanisms", MECHANISMS)
    trace_users = as_whole(trace_users, "trace_users", 1)
    parts = []
    for case in choices(cases, "cases", CASES):
        for mechanism in tqdm(chosen, desc=f"machines, {case}", disable=not progress, leave=False):
            placed = _filled(case, mechanism, seed, trace_users)
            kind = placed.cell.machine_class
            use = placed.machine_utilisation.clip(0, 1).round(12).round(2)
            frame = pd.DataFrame({"kind": kind, "cpu": use[:, 0], "memory": use[:, 1], "total": -use.sum(axis=1)})
            frame = frame.groupby(["kind", "total", "cpu", "memory"]).size().rename("machines").reset_index()
            capacity = (placed.cell.machines / _SCALE)[frame["kind"]].round(6)
            parts.append(pd.DataFrame({
                "case": case, "mechanism": mechanism, "cpu_capacity": capacity[:, 0], "memory_capacity": capacity[:, 1],
                "cpu": frame["cpu"], "memory": frame["memory"], "machines": frame["machines"]}))
    return pd.concat(parts, ignore_index=True)


# ------------------------------------------------------------------------------------------------------------ stored


def _store(name: str, compute: Callable[..., pd.DataFrame], **arguments: Any) -> Callable[..., None]:
    def run(*, progress: bool = True) -> None:
        frame = compute(seed=SEED, progress=progress, **arguments)
        results.save(f"gdrf/{name}", frame, module=__name__, data=DATA, seed=SEED, **arguments)

    return run


#: Full-effort tables kept in data/results, each with the call that computes it (with a bar on stderr or without).
STORED: dict[str, Callable[..., None]] = {
    "gdrf/curves": _store("curves", curves, runs=list(RUNS)),
    "gdrf/mixes": _store("mixes", mixes, runs=list(RUNS)),
    "gdrf/balance": _store("balance", balance, runs=list(RUNS)),
    "gdrf/cells": _store("cells", cells, runs=100),
    "gdrf/readings": _store("readings", readings, runs=100),
    "gdrf/lies": _store("lies", lies, runs=5),
    "gdrf/arrivals": _store("arrivals", arrivals, runs=50),
    "gdrf/ablation": _store("ablation", ablation, runs=200),
    "gdrf/bounds": _store("bounds", bounds, runs=50),
    "gdrf/cell": _store("cell", cell),
    "gdrf/cell_machines": _store("cell_machines", cell_machines),
}

#: Where a figure's frame lies in the store: the table, and the value that its rows have in these columns. A figure
#: takes from it the measures that it draws.
STORED_FIGURES: dict[str, tuple[str, dict[str, Any]]] = {f"fig{k}": ("gdrf/curves", {}) for k in range(1, 5)}
