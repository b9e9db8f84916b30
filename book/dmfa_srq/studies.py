"""The experiments of the DMFA-SRQ paper (section 6), one function per figure, and what its text leaves open.

The paper draws 20, 100 or 500 users from the Google trace, gives them random contributions, lets them arrive
in random order, and averages 1000 runs. Here every run has a random stream of its own, so the first runs do
not change when more are asked for. Readings of what the text leaves open are arguments, and :func:`readings` crosses
them.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from itertools import combinations, product
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from tqdm import tqdm

from book.common import results
from book.common.runs import choices, interval, repeat, storing, stream
from book.dmfa_srq.printed import REPAIRS, algorithm_1_printed
from fairbook.mechanisms.pool.dmfa_srq import dmfa_srq, exact_levels, static_optimum
from fairbook.model.dynamic import DynamicAllocation
from fairbook.model.inputs import FloatArray, as_whole
from fairbook.traces.google2011 import Digest, load_digest

__all__ = [
    "MEASURES",
    "SEED",
    "SIZES",
    "STORED",
    "algorithm_repairs",
    "curves",
    "end_points",
    "fig1",
    "fig2",
    "fig3",
    "fig4",
    "fig5",
    "fig6",
    "fig7",
    "fig8",
    "instance",
    "reading_effects",
    "readings",
    "shares_by_weight",
    "stored_end_points",
    "trace_requests",
]

#: Root of every random stream.
SEED = 2016
#: Numbers of users.
SIZES = (20, 100, 500)
RUNS = 1000
#: What is measured after each arrival.
MEASURES = ("min_level", "sum_shares", "cpu", "memory")
DATA = ("google2011.json",)

UserUnit = Literal["task", "job", "user"]
Contribution = Literal["uniform", "simplex", "equal"]
Order = Literal["random", "big_first", "small_first"]
Scale = Literal["machine", "pool"]
Mechanism = Callable[..., DynamicAllocation]


@lru_cache(maxsize=1)
def _digest() -> Digest:
    return load_digest()


def trace_requests() -> pd.DataFrame:
    """Give the requests from which users are drawn: ``cpu``, ``memory`` (both positive) and the number of ``tasks``."""
    frame = _digest().frame
    return frame.loc[(frame["cpu"] > 0) & (frame["memory"] > 0), ["cpu", "memory", "tasks"]]


def instance(
    rng: np.random.Generator,
    n: int,
    *,
    unit: UserUnit = "task",
    contribution: Contribution = "uniform",
    order: Order = "random",
    scale: Scale = "machine",
    digest: Digest | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Draw n users from the Google trace with random contributions, in order of arrival.

    Parameters
    ----------
    rng : numpy.random.Generator
    n : int
        Users.
    unit : {"task", "job", "user"}
        What a "user" of the paper is: a random task, a random job's request, or a random trace user with one of its
        tasks.
    contribution : {"uniform", "simplex", "equal"}
        w_i uniform in (0, 1) and scaled to sum to 1; uniform on the simplex (Dirichlet with ones); or all 1/n.
    order : {"random", "big_first", "small_first"}
        Arrival in random order, or sorted by w.
    scale : {"machine", "pool"}
        Requests as published (each resource in units of the largest machine), or divided by the cell's total,
        which is what "a fraction of the pool" means.
    digest : Digest, optional
        What is drawn from, by default the digest of all files that we have.

    Returns
    -------
    demands, weights : ndarray, shapes (n, 2) and (n,)
        CPU and memory; weights sum to 1.
    """
    choices(contribution, "contribution", get_args(Contribution))
    choices(order, "order", get_args(Order))
    demands = (digest or _digest()).sample(n, rng, unit=unit, zeros="drop", scale=scale)
    if contribution == "equal":
        weights = np.ones(n)
    else:
        weights = 1.0 - rng.random(n) if contribution == "uniform" else rng.standard_exponential(n)
    if order != "random":
        weights = np.sort(weights)
        if order == "big_first":
            weights = weights[::-1].copy()
    return demands, weights / weights.sum()


def _grid(n: int, points: int = 25) -> np.ndarray:
    """Arrivals at which curves are evaluated: at most ``points``, from 1 to n."""
    return np.unique(np.linspace(n, 1, min(n, points)).round().astype(int))


def _measures(run: DynamicAllocation, k: int) -> tuple[float, float, float, float]:
    """Lowest level, sum of dominant-share units, CPU and memory utilisation after arrival k."""
    capacity = run.weights[:k].sum()
    cpu, memory = run.use_at(k) / capacity
    return run.levels_at(k).min(), run.shares_at(k).sum(), cpu, memory


def _one_run(rng: np.random.Generator, n: int, grid: Sequence[int], mechanism: Mechanism, **how: Any) -> np.ndarray:
    demands, weights = instance(rng, n, **how)
    both = (mechanism(demands, weights=weights), static_optimum(demands, weights=weights))
    return np.array([[_measures(run, int(k)) for k in grid] for run in both])


def curves(
    runs: int = RUNS,
    seed: int = SEED,
    *,
    sizes: Sequence[int] = SIZES,
    points: int = 25,
    mechanism: Mechanism = dmfa_srq,
    progress: bool = False,
    **how: Any,
) -> pd.DataFrame:
    """Run the experiment behind Figures 5 to 8: four measures after k arrivals, both mechanisms.

    Parameters
    ----------
    runs, seed
        Repetitions and their root seed.
    sizes : sequence of int
        Numbers of users.
    points : int
        At most so many values of k a size.
    mechanism : callable
        The dynamic mechanism; always compared with the static optimum on the same instances.
    **how
        Readings, see :func:`instance`.

    Returns
    -------
    DataFrame
        One row per n, k, mechanism ("dynamic", "static" or "difference" = dynamic - static, run by run) and measure,
        with ``mean``, ``low``, ``high`` (95 % interval of the mean) and ``runs``.

    Notes
    -----
    Cost O(runs * points * n m) a size; about ten seconds for the paper's 1000 runs.
    """
    parts = []
    for n in sizes:
        grid = _grid(n, points)
        values = np.stack(
            repeat(
                _one_run,
                runs,
                seed=seed,
                key=(n,),
                progress=progress,
                label=f"n = {n}",
                n=n,
                grid=grid,
                mechanism=mechanism,
                **how,
            )
        )
        values = np.concatenate([values, values[:, :1] - values[:, 1:]], axis=1)
        values = values.round(12)  # differences of equal numbers differ from processor to processor below that
        for c, name in enumerate(("dynamic", "static", "difference")):
            for d, measure in enumerate(MEASURES):
                about = pd.DataFrame({"n": n, "k": grid, "mechanism": name, "measure": measure})
                parts.append(pd.concat([about, interval(values[:, c, :, d])], axis=1))
    return pd.concat(parts, ignore_index=True).assign(runs=runs)


@lru_cache(maxsize=4)
def _curves(runs: int, seed: int, progress: bool) -> pd.DataFrame:
    """Figures 5 to 8 share one experiment."""
    return curves(runs, seed, progress=progress)


def _of(measure: str, runs: int = RUNS, seed: int = SEED, *, progress: bool = False) -> pd.DataFrame:
    """Follow one measure; columns as in :func:`curves`."""
    frame = _curves(runs, seed, progress)
    return frame[frame["measure"] == measure].drop(columns="measure").reset_index(drop=True)


def end_points(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows after the last arrival, k = n: the other reading of the x axis of Figures 5 to 8."""
    return frame[frame["k"] == frame["n"]].reset_index(drop=True)


def fig1() -> pd.DataFrame:
    """Compute the three-user example of Figure 1 in exact fractions.

    Returns
    -------
    DataFrame
        One row per arrival and user: ``arrival``, ``user``, ``share`` (x_i^k as a float), ``exact`` (as text).

    Examples
    --------
    >>> fig1().query("arrival == 3")["exact"].tolist()
    ['1/3', '1/3', '1/2']
    """
    demands = [["1", "1/2"], ["1/2", "1"], ["1/2", "1"]]
    weights = ["1/4", "1/4", "1/2"]
    levels = exact_levels(demands, weights)
    shares = {(k, i): max(levels[i:k]) * Fraction(weights[i]) for k in range(1, 4) for i in range(k)}
    rows = [(k, i + 1, float(share), str(share)) for (k, i), share in shares.items()]
    return pd.DataFrame(rows, columns=["arrival", "user", "share", "exact"])


def fig2(seed: int = SEED, *, unit: UserUnit = "task", scale: Scale = "machine") -> pd.DataFrame:
    """Draw the demands of 100 and of 500 users (Figure 2): the first run of the experiment.

    Returns
    -------
    DataFrame
        ``n``, ``cpu``, ``memory``: requests as published, in units of the largest machine.
    """
    drawn = {n: instance(stream(seed, n, 0), n, unit=unit, scale=scale)[0] for n in (100, 500)}
    parts = [pd.DataFrame({"n": n, "cpu": demands[:, 0], "memory": demands[:, 1]}) for n, demands in drawn.items()]
    return pd.concat(parts, ignore_index=True)


def _ranked(rng: np.random.Generator, n: int, picked: np.ndarray, mechanism: Mechanism, **how: Any) -> np.ndarray:
    demands, weights = instance(rng, n, **how)
    order = np.argsort(weights, kind="stable")[picked]
    return np.stack([weights[order], mechanism(demands, weights=weights).shares_at()[order]])


def shares_by_weight(
    n: int, runs: int = RUNS, seed: int = SEED, *, mechanism: Mechanism = dmfa_srq, progress: bool = False, **how: Any
) -> pd.DataFrame:
    """Relate x_i to w_i: 20 users evenly spaced in the order of w, ascending (Figures 3 and 4).

    Returns
    -------
    DataFrame
        One row a sampled rank: ``rank``, ``weight`` and ``share`` averaged over runs with ``low``, ``high``, and
        ``first_weight``, ``first_share`` of the first run alone. ``falls`` is the part of the runs in which the
        share falls from the rank before to this one.
    """
    picked = np.linspace(0, n - 1, min(n, 20)).round().astype(int)
    values = np.stack(
        repeat(
            _ranked,
            runs,
            seed=seed,
            key=(n,),
            progress=progress,
            label=f"n = {n}",
            n=n,
            picked=picked,
            mechanism=mechanism,
            **how,
        )
    )
    frame = interval(values[:, 1]).rename(columns={"mean": "share"})
    frame.insert(0, "weight", values[:, 0].mean(axis=0))
    frame.insert(0, "rank", picked + 1)
    frame.insert(0, "n", n)
    falls = np.zeros(len(picked))
    falls[1:] = (np.diff(values[:, 1], axis=1) < 0).mean(axis=0)
    return frame.assign(first_weight=values[0, 0], first_share=values[0, 1], falls=falls, runs=runs)


#: x_i and w_i among 100 users (Figure 3) and among 500 (Figure 4).
fig3, fig4 = partial(shares_by_weight, 100), partial(shares_by_weight, 500)
#: The minimum dominant share min_i x_i^k / w_i (Figure 5), the sum of dominant-share units (Figure 6), and CPU and
#: memory utilisation, use divided by W_k (Figures 7 and 8).
fig5, fig6, fig7, fig8 = (partial(_of, measure) for measure in MEASURES)


#: The readings of what the paper leaves open: the first of each is the one that the figures use.
READINGS: dict[str, tuple[str, ...]] = {
    "unit": get_args(UserUnit),
    "contribution": get_args(Contribution),
    "order": get_args(Order),
    "scale": get_args(Scale),
}


def readings(runs: int = 200, seed: int = SEED, *, n: int = 100, progress: bool = False) -> pd.DataFrame:
    """Cross all readings of what the paper leaves open, at one size.

    Returns
    -------
    DataFrame
        One row per combination and measure: the readings, ``measure``, ``dynamic`` (mean of DMFA-SRQ after the last
        arrival), ``n``, ``runs``.
    """
    rows = []
    for values in product(*READINGS.values()):
        how: dict[str, Any] = dict(zip(READINGS, values, strict=True))
        frame = curves(runs, seed, sizes=(n,), points=1, progress=progress, **how)
        means = frame[frame["mechanism"] == "dynamic"].set_index("measure")["mean"]
        rows += [{**how, "measure": measure, "dynamic": means[measure]} for measure in MEASURES]
    return pd.DataFrame(rows).assign(n=n, runs=runs)


def algorithm_repairs(instances: int = 500, seed: int = SEED, *, progress: bool = False) -> pd.DataFrame:
    """Run Algorithm 1 under every combination of its repairs on random instances of five users and two resources.

    Returns
    -------
    DataFrame
        One row per combination (and per reading of line 6 where that is not repaired): ``repairs``, ``line 6``,
        ``wrong`` (instances
        where some M^k differs from the optimum by more than 1e-9), ``overdrawn`` (instances where more than the pool
        is handed out), ``instances``.

    Notes
    -----
    Cost O(instances) runs of 16 variants, about a millisecond each.
    """
    as_whole(instances, "instances", 1)
    rows = []
    numbers = tqdm(range(instances), desc="repairs", disable=not progress, leave=False)
    streams = (stream(seed, 5, number) for number in numbers)
    draws = [(rng.integers(1, 6, (5, 2)).astype(float), rng.integers(1, 6, 5).astype(float)) for rng in streams]
    for count in range(len(REPAIRS) + 1):
        for repairs in combinations(REPAIRS, count):
            for line_6 in ("repaired",) if "line_6" in repairs else ("position", "own", "largest"):
                wrong = overdrawn = 0
                for demands, weights in draws:
                    reading = {} if line_6 == "repaired" else {"line_6": line_6}
                    run = algorithm_1_printed(demands, weights, repairs=repairs, **reading)  # type: ignore[arg-type]
                    wrong += not np.allclose(run.lowest, dmfa_srq(demands, weights=weights).lowest, rtol=1e-9)
                    overdrawn += bool((run.use_at() > weights.sum() * (1 + 1e-9)).any())
                rows.append(
                    {
                        "repairs": ", ".join(repairs) or "none",
                        "line 6": line_6,
                        "wrong": wrong,
                        "overdrawn": overdrawn,
                        "instances": instances,
                    }
                )
    return pd.DataFrame(rows)


def reading_effects(frame: pd.DataFrame) -> pd.DataFrame:
    """Average the frame of :func:`readings` over all readings but one: one row per choice.

    Returns
    -------
    DataFrame
        ``open point``, ``reading``, and per measure the mean of DMFA-SRQ.
    """
    means = {
        (point, value): frame[frame[point] == value].groupby("measure")["dynamic"].mean()
        for point, values in READINGS.items()
        for value in values
    }
    return pd.DataFrame(
        {"open point": point, "reading": value, **{one.replace("_", " "): of[one] for one in MEASURES}}
        for (point, value), of in means.items()
    )


def stored_end_points() -> pd.DataFrame:
    """Give the stored rows after the last arrival, of Figures 5 to 8 together, with a column ``measure``."""
    figures = dict(zip(("fig5", "fig6", "fig7", "fig8"), MEASURES, strict=True))
    return pd.concat(
        [end_points(results.load(f"dmfa_srq/{figure}")).assign(measure=measure) for figure, measure in figures.items()],
        ignore_index=True,
    )


_store = partial(storing, module=__name__, seed=SEED, data=DATA)

#: Full-effort tables kept in data/results, each with the call that computes it (with a bar on stderr or without).
STORED: dict[str, Callable[..., None]] = {
    **{
        f"dmfa_srq/fig{k}": _store(f"dmfa_srq/fig{k}", figure, runs=RUNS)
        for k, figure in enumerate((fig3, fig4, fig5, fig6, fig7, fig8), 3)
    },
    "dmfa_srq/readings": _store("dmfa_srq/readings", readings, runs=200),
    "dmfa_srq/algorithm_repairs": _store("dmfa_srq/algorithm_repairs", algorithm_repairs, instances=500),
}
