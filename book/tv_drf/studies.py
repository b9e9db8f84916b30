"""The experiments of the TV-DRF paper on the Alibaba trace of 2017, and what its blanks do to them.

Every run has a random stream of its own. Periods count from 1 in every frame. :mod:`book.tv_drf.users` says who the
users are and how they are served.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from book.common.runs import choices, interval, numbers, repeat, storing, stream
from book.tv_drf.against_optimum import NOTHING, gaps, losses, ratio
from book.tv_drf.example import EXAMPLE, Example, example
from book.tv_drf.users import (
    MACHINES,
    MECHANISMS,
    PERIODS,
    SEED,
    SIZES,
    UNSERVED,
    Instance,
    Separate,
    Unserved,
    dealt_instance,
    draw,
    instance,
    separate,
    shared,
)
from fairbook.errors import InvalidInput
from fairbook.mechanisms.tv_drf.run import TvDrfRun
from fairbook.mechanisms.tv_drf.tv_drf import tv_drf
from fairbook.model.inputs import FloatArray, as_whole

__all__ = [
    "DATA",
    "EXAMPLE",
    "MACHINES",
    "MEASURES",
    "MECHANISMS",
    "PERIODS",
    "READINGS",
    "SEED",
    "SIZES",
    "STORED",
    "STORED_FIGURES",
    "Example",
    "Instance",
    "curves",
    "dealt_instance",
    "example",
    "fig1",
    "fig2",
    "fig3",
    "fig4",
    "fig5",
    "fig6",
    "fig7",
    "gaps",
    "instance",
    "losses",
    "memory_course",
    "readings",
]

#: Repetitions of the figures.
RUNS = 100
#: Data files, below ``data/``, on which the stored results depend.
DATA = ("alibaba2017.json",)

#: What is measured in each period.
MEASURES = ("min_share", "cpu", "memory", "total_share", "min_ratio", "behind", "served")


def _behind(run: TvDrfRun | Separate) -> FloatArray:
    """Give by how much, in each period, someone is ahead who got some although another had less and tasks left."""
    shares = run.cumulative_shares
    most = np.where(run.tasks > 0, shares, -np.inf).max(axis=1)
    least = np.where(run.unserved > 0.5, shares, np.inf).min(axis=1)
    return np.maximum(most - least, 0.0)


def _measured(case: Instance, run: TvDrfRun | Separate, usual: Separate) -> FloatArray:
    """Give the measures, shape (measures, T)."""
    use = run.amounts.sum(axis=1) / case.machines.sum(axis=0)
    shares = run.cumulative_shares
    submitted = np.cumsum(case.tasks.sum(axis=1))
    return np.stack(
        [
            shares.min(axis=1),
            use[:, 0],
            use[:, 1],
            shares @ case.contributions,
            ratio(shares, usual.cumulative_shares).min(axis=1),
            _behind(run),
            ratio(np.cumsum(run.tasks.sum(axis=1)), submitted.astype(float)),
        ]
    )


def _served(
    rng: np.random.Generator, n: int, unserved: str, mechanisms: Sequence[str], alone: str | None = None, **how: Any
) -> FloatArray:
    """Give the measures of one run, shape (mechanisms, measures, T)."""
    case = draw(rng, n, **how)
    usual = separate(case, unserved)
    served: Iterator[TvDrfRun | Separate] = (
        usual if name == "alone" else shared(case, name, unserved, alone if name == "tv_drf" else None)
        for name in mechanisms
    )
    return np.stack([_measured(case, run, usual) for run in served])


def curves(
    runs: int = RUNS,
    seed: int = SEED,
    n: int | Sequence[int] = SIZES,
    *,
    unserved: str | Sequence[str] = "waits",
    mechanisms: Sequence[str] = MECHANISMS,
    progress: bool = False,
    **how: Any,
) -> pd.DataFrame:
    """Run the experiment behind Figures 3 to 7: how users and pool fare period by period, shared and not.

    Parameters
    ----------
    runs, seed
        Repetitions, each with other users, and their root seed.
    n : int or sequence of int
        Users.
    unserved : {"waits", "expires"} or both
        What happens to tasks that do not run in their period.
    mechanisms : sequence of str
        Some of :data:`MECHANISMS`.
    progress : bool
        Whether to draw a bar on stderr.
    **how
        Readings, see :func:`instance`, or :func:`dealt_instance` where ``seconds`` is among them.

    Returns
    -------
    DataFrame
        One row per ``n``, ``unserved``, ``mechanism``, ``measure`` and ``period`` (from 1), with ``mean``, ``low``,
        ``high`` (95 % interval of the mean over runs), ``below`` and ``runs``. The mechanism
        "difference" is "tv_drf" minus "alone", run by run; there ``below`` is the part of the runs in which it is
        negative. Measures: ``min_share`` (least G of any user), ``cpu``, ``memory`` (part in use in this period),
        ``total_share`` (sum of w G: dominant shares of all tasks run so far), ``min_ratio`` (least G of any user over
        what the same user has alone), ``behind`` (largest lead in G of a user that ran tasks in this period over one
        that had tasks left; in the optimum only floors cause one), ``served`` (part of the tasks submitted so far that
        has run).

    Notes
    -----
    Cost per run and 20 periods on one core: 0.02 s for 5 users, 0.05 s for 20, 0.4 s for 100.
    """
    names = list(choices(mechanisms, "mechanisms", MECHANISMS))
    paired = {"tv_drf", "alone"} <= set(names)
    parts = []
    for size, queue in product(numbers(n, "n", "number of users"), choices(unserved, "unserved", UNSERVED)):
        values = np.stack(
            repeat(
                _served,
                runs,
                seed=seed,
                key=(size,),
                progress=progress,
                label=f"n = {size}, {queue}",
                n=size,
                unserved=queue,
                mechanisms=names,
                **how,
            )
        )
        if paired:
            gain = values[:, names.index("tv_drf")] - values[:, names.index("alone")]
            values = np.concatenate([values, gain[:, None]], axis=1)
        values = values.round(12)  # differences of equal numbers differ from processor to processor below that
        T = values.shape[-1]
        index = pd.MultiIndex.from_product(
            [[size], [queue], names + ["difference"] * paired, MEASURES, range(1, T + 1)],
            names=["n", "unserved", "mechanism", "measure", "period"],
        )
        flat = values.reshape(len(values), -1)
        below = np.where(index.get_level_values("mechanism") == "difference", (flat < -NOTHING).mean(axis=0), np.nan)
        parts.append(pd.concat([index.to_frame(index=False), interval(flat)], axis=1).assign(below=below))
    return pd.concat(parts, ignore_index=True).assign(runs=runs)


# ------------------------------------------------------------------------------------------------ the paper's figures


def _bubbles(n: int, seed: int = SEED, **how: Any) -> pd.DataFrame:
    """Show what users ask for: those of the first run.

    Returns
    -------
    DataFrame
        One row a period and user: ``n``, ``user``, ``period``, ``cpu`` (cores per task), ``memory`` (GB per task),
        ``tasks``. Readings as in :func:`instance`.
    """
    case = instance(stream(seed, n, 0), n, **how)
    period, user = (part.ravel() for part in np.indices(case.tasks.shape))
    return pd.DataFrame(
        {
            "n": n,
            "user": user + 1,
            "period": period + 1,
            "cpu": case.demands[..., 0].ravel(),
            "memory": case.demands[..., 1].ravel(),
            "tasks": case.tasks.ravel(),
        }
    )


#: What 20 users ask for (Figure 1), and 100 (Figure 2).
fig1, fig2 = partial(_bubbles, 20), partial(_bubbles, 100)


@lru_cache(maxsize=8)
def _curves(n: int, runs: int, seed: int, unserved: str, progress: bool) -> pd.DataFrame:
    """CPU and memory come from one experiment."""
    return curves(runs, seed, n, unserved=unserved, progress=progress)


#: The measure and the number of users of each figure of curves.
_CURVES = {
    "fig3": ("min_share", 5),
    "fig4": ("cpu", 20),
    "fig5": ("memory", 20),
    "fig6": ("cpu", 100),
    "fig7": ("memory", 100),
}


def _of(
    figure: str, runs: int = RUNS, seed: int = SEED, *, unserved: Unserved = "waits", progress: bool = False
) -> pd.DataFrame:
    """Follow one measure (Figures 3 to 7); columns as in :func:`curves`."""
    measure, n = _CURVES[figure]
    frame = _curves(n, runs, seed, unserved, progress)
    return frame[frame["measure"] == measure].reset_index(drop=True)


fig3, fig4, fig5, fig6, fig7 = (partial(_of, figure) for figure in _CURVES)


# ------------------------------------------------------------------------------------------ what the paper leaves out

#: What is open, its readings, and what each changes; the first of each is that of the figures.
READINGS: dict[str, dict[str, dict[str, Any]]] = {
    "periods": {"20": {}, "10": {"periods": 10}, "40": {"periods": 40}},
    "memory unit": {
        "40 GB": {},
        "64 GB": {"memory_gb": 64.0},
        "128 GB": {"memory_gb": 128.0},
        "256 GB": {"memory_gb": 256.0},
    },
    "Table 1": {"1 x (250, 40)": {}, "12 x (50, 40)": {"machines": "twelve"}},
    "unserved": {"waits": {}, "expires": {"unserved": "expires"}},
    "alone": {"whole bundles": {}, "bundles": {"alone": "bundles"}, "resources": {"alone": "resources"}},
    "jobs": {"20 or more groups": {}, "5 or more": {"min_groups": 5}, "all": {"min_groups": 1}},
    "load": {"any": {}, "0.5 or more": {"min_load": 0.5}, "1 or more": {"min_load": 1.0}},
    "time": {
        "a group a period": {},
        "3600 s": {"seconds": 3600.0},
        "900 s": {"seconds": 900.0},
        "300 s": {"seconds": 300.0},
    },
}


def _end(rng: np.random.Generator, **how: Any) -> FloatArray:
    """Give least G after the last period and mean utilisation, and how often sharing is behind: (2 ways, 3, 2)."""
    values = _served(rng, mechanisms=("tv_drf", "alone"), **how)[:, [MEASURES.index(name) for name in _ENDS]]
    level = np.concatenate([values[:, :1, -1], values[:, 1:].mean(axis=2)], axis=1)
    behind = (values[0] - values[1] < -NOTHING).mean(axis=1)
    return np.stack([level, np.stack([behind, behind])], axis=2)


_ENDS = ("min_share", "cpu", "memory")


def _gains(values: FloatArray, figures: bool) -> list[dict[str, Any]]:
    """Compare what :func:`_end` gives for each run, with everyone alone."""
    values = values.round(12)
    lead = interval(values[:, 0, :, 0] - values[:, 1, :, 0])
    shared, alone = values[:, :, :, 0].mean(axis=0)
    return [
        {
            "measure": measure,
            "figures": figures,
            "alone": alone[k],
            "shared": shared[k],
            "difference": lead["mean"][k],
            "low": lead["low"][k],
            "high": lead["high"][k],
            "gain": lead["mean"][k] / alone[k],
            "below": values[:, 0, k, 1].mean(),
        }
        for k, measure in enumerate(_ENDS)
    ]


def readings(
    runs: int = 50,
    seed: int = SEED,
    *,
    sizes: Sequence[int] = (5, 20),
    points: Sequence[str] = tuple(READINGS),
    progress: bool = False,
) -> pd.DataFrame:
    """Change one thing that the paper leaves open at a time: what sharing gains over everyone alone.

    Parameters
    ----------
    runs, seed
        Repetitions and their root seed.
    sizes : sequence of int
        Numbers of users, at most 67 where the point "load" is among the points.
    points : sequence of str
        Keys of :data:`READINGS`.

    Returns
    -------
    DataFrame
        One row per ``n``, ``point``, ``value`` and ``measure`` ("min_share" after the last period, "cpu" and "memory"
        in the mean over periods): ``figures`` (whether this is the reading of the figures), ``alone``, ``shared``
        (means over runs), ``difference`` with ``low``, ``high`` (95 %), ``gain`` (difference / alone), ``below`` (part
        of runs and periods in which sharing is behind), ``runs``.

    Notes
    -----
    Cost for 20 users: some 0.03 s a run and reading, more where periods are many.
    """
    rows = []
    points = choices(points, "points", tuple(READINGS))
    cases = [
        (n, point, value, how)
        for n in numbers(sizes, "sizes", "number of users")
        for point in points
        for value, how in READINGS[point].items()
    ]
    known: dict[str, FloatArray] = {}
    for n, point, value, how in tqdm(cases, desc="readings", disable=not progress, leave=False):
        key = f"{n} {how}"
        if key not in known:
            known[key] = np.stack(repeat(_end, runs, seed=seed, key=(n,), n=n, **{"unserved": "waits", **how}))
        rows += [{"n": n, "point": point, "value": value, **row} for row in _gains(known[key], not how)]
    return pd.DataFrame(rows).assign(runs=runs)


# -------------------------------------------------------------------------------------------------- what memory buys


def memory_course(*, quiet: int = 8, periods: int = 20) -> pd.DataFrame:
    """Let one of two users ask for little at first, and see what it gets later with memory and without.

    Both bring a machine of (60, 60). A's tasks need (2, 1), B's (1, 2). B always has 60 of them. A has 5 a period while
    it is quiet and 60 from then on. What does not run expires.

    Parameters
    ----------
    quiet : int
        Periods in which A asks for little; at least 1, less than all.
    periods : int

    Returns
    -------
    DataFrame
        One row per ``mechanism`` ("tv_drf", "memoryless"), ``user`` ("A", "B") and ``period`` (from 1): ``submitted``,
        ``tasks`` (run), ``share`` (G).
    """
    periods = as_whole(periods, "periods", 2)
    if as_whole(quiet, "quiet", 1) >= periods:
        raise InvalidInput("quiet", f"must be below the number of periods, {periods}", quiet)
    demands = np.broadcast_to(np.array([[2.0, 1.0], [1.0, 2.0]]), (periods, 2, 2))
    tasks = np.full((periods, 2), 60)
    tasks[:quiet, 0] = 5
    parts = []
    for mechanism in ("tv_drf", "memoryless"):
        run = tv_drf(demands, tasks, [[60.0, 60.0]] * 2, np.eye(2), alone="whole_bundles", memory=mechanism == "tv_drf")
        for i, user in enumerate("AB"):
            parts.append(
                pd.DataFrame(
                    {
                        "mechanism": mechanism,
                        "user": user,
                        "period": np.arange(1, periods + 1),
                        "submitted": tasks[:, i],
                        "tasks": run.tasks[:, i],
                        "share": run.cumulative_shares[:, i],
                    }
                )
            )
    return pd.concat(parts, ignore_index=True)


# ------------------------------------------------------------------------------------------------------------ stored


#: Users that have work for their own machines all the time.
_BUSY: dict[str, Any] = {"min_load": 1.0}

_store = partial(storing, module=__name__, seed=SEED, data=DATA)
_judge = partial(_store, module=losses.__module__, runs=30, sizes=[5, 20], **_BUSY)

#: Full-effort tables kept in data/results, each with the call that computes it (with a bar on stderr or without).
STORED: dict[str, Callable[..., None]] = {
    "tv_drf/curves_5": _store("tv_drf/curves_5", curves, runs=RUNS, n=5, unserved=list(UNSERVED)),
    "tv_drf/curves_20": _store("tv_drf/curves_20", curves, runs=RUNS, n=20, unserved=list(UNSERVED)),
    "tv_drf/curves_100": _store("tv_drf/curves_100", curves, runs=RUNS, n=100, unserved=list(UNSERVED)),
    "tv_drf/curves_busy": _store("tv_drf/curves_busy", curves, runs=RUNS, n=[5, 20], unserved=list(UNSERVED), **_BUSY),
    "tv_drf/losses_busy": _judge("tv_drf/losses_busy", losses),
    "tv_drf/gaps_busy": _judge("tv_drf/gaps_busy", gaps),
    "tv_drf/readings": _store("tv_drf/readings", readings, runs=50),
}

#: Where a figure's frame lies in the store: the table, and the value that its rows have in these columns.
STORED_FIGURES: dict[str, tuple[str, dict[str, Any]]] = {
    figure: (f"tv_drf/curves_{n}", {"measure": measure, "unserved": "waits"})
    for figure, (measure, n) in _CURVES.items()
}
