"""All mechanisms on the same instances: what they give at one moment and over a day, and what lies bring.

:mod:`book.compare.instances` says who the users are, :mod:`book.compare.matrix` looks for what breaks a property.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from book.common.runs import choices, interval, repeat, storing
from book.compare.entrants import ENTRANTS, MECHANISMS, Entrant, Outcome, Shared, each_period, failing
from book.compare.findings import (
    ENOUGH,
    EVIDENCE,
    HEADS,
    NEEDS,
    PROOFS,
    Need,
    accounts,
    averaged,
    cells,
    guide,
    leaders,
    sheet,
)
from book.compare.instances import SLOT, TRACES, USERS, instance, slot_of
from book.compare.matrix import SEED, matrix
from book.compare.properties import alone, best_lie, less, slack, usable, worth
from fairbook.mechanisms.placing.drfh import drfh
from fairbook.mechanisms.placing.gdrf import gdrf
from fairbook.mechanisms.readings import Held
from fairbook.model.inputs import FloatArray, as_whole
from fairbook.model.placement import FITS

__all__ = [
    "DATA",
    "DAY",
    "ENOUGH",
    "EVIDENCE",
    "FAILURES",
    "HEADS",
    "MECHANISMS",
    "MOMENT",
    "NEEDS",
    "PROOFS",
    "READINGS",
    "RUNS",
    "SEED",
    "STORED",
    "TRACES",
    "Need",
    "accounts",
    "averaged",
    "cells",
    "day",
    "failures",
    "guide",
    "instance",
    "leaders",
    "lying",
    "matrix",
    "moment",
    "readings",
    "sheet",
]

#: Instances of each trace.
RUNS = 100
#: Data files, below ``data/``, on which the stored results depend.
DATA = (
    "alibaba2017.json",
    "alibaba2017_jobs.csv",
    "alibaba2017_machines.csv",
    "alibaba2017_requests.csv",
    "alibaba_gpu2023.json",
    "alibaba_gpu2023_machines.csv",
    "alibaba_gpu2023_requests.csv",
    "google2011.json",
    "google2011_machines.csv",
    "google2011_requests.csv",
)
#: What :func:`moment` measures.
MOMENT = ("min_share", "sum_share", "utilisation", "envious", "losers", "loss", "placed", "min_placed", "taken")
#: What :func:`day` measures.
DAY = ("min_share", "sum_share", "utilisation", "losers", "loss", "done")

_PERIODS, _LOAD = 6, 1.5


# -------------------------------------------------------------------------------------------------------- measures


def _envious(case: Shared, given: Outcome, entrant: Entrant) -> float:
    """Give the part of the users who could run more on what another holds (whole tasks: less one of the other's)."""
    n = case.demands.shape[1]
    but = int(entrant.whole)
    return float(
        np.mean(
            [
                any(
                    usable(case, given, entrant.whole, 0, i, h, but=but) > given.tasks[0, i] * (1 + 1e-6)
                    for h in range(n)
                    if h != i
                )
                for i in range(n)
            ]
        )
    )


def _losses(case: Shared, given: Outcome, entrant: Entrant) -> tuple[float, float]:
    """Give the part of the users worse off than alone (whole tasks: by more than one of anybody), the largest loss."""
    has = worth(case, given.tasks)
    own = worth(case, alone(case, whole=entrant.whole, places=entrant.places))
    worse = np.array([less(x, y, slack(case, entrant)) for x, y in zip(has, own)])
    lost = np.divide(own - has, own, out=np.zeros_like(own), where=own > 0)
    return float(worse.mean()), float(np.where(worse, lost, 0).max())


def _placed(case: Shared, given: Outcome, entrant: Entrant) -> list[float]:
    """Give the part of what was handed out that runs on machines as whole tasks, and the smallest share that runs.

    What is handed out in fractions, or without saying where, is rounded down and placed by Best-Fit.
    """
    runs = given.tasks
    if not (entrant.whole and entrant.places):
        kinds, counts = np.unique(case.machines, axis=0, return_counts=True)
        promised = np.floor(given.tasks * (1 + FITS))
        runs = np.stack([drfh(rows, kinds, counts, max_tasks=most).tasks for rows, most in zip(case.demands, promised)])
    handed, run = worth(case, given.tasks).sum(), worth(case, runs)
    return [float(run.sum() / handed) if handed > 0 else np.nan, float(run.min())]


def _taken(case: Shared, entrant: Entrant, last: Outcome) -> float:
    """Give the part of what runs that an arrival takes away, by dominant share, in the mean over arrivals."""
    n = case.demands.shape[1]
    courses = [entrant.call(case.among(k)).tasks[0] for k in range(1, n)] + [last.tasks[0]]
    parts = []
    for k, (before, after) in enumerate(zip(courses, courses[1:]), 1):
        unit = case.unit[0, :k]
        held = before @ unit
        parts.append(np.maximum(before - after[:k], 0) @ unit / held if held > 0 else 0.0)
    return float(np.mean(parts))


def _shared_by(case: Shared, given: Outcome) -> list[float]:
    """Give the smallest and the sum of the dominant shares, and the mean utilisation, in the mean over periods."""
    shares = worth(case, given.tasks) / len(case.demands)
    used = np.einsum("tn,tnm->m", given.tasks, case.demands) / (case.total * len(case.demands))
    return [float(shares.min()), float(shares.sum()), float(used.mean())]


def _of_each(case: Shared, measures: Callable[[Entrant, Outcome], list[float]]) -> FloatArray:
    """Measure what each mechanism gives, shape (mechanisms, measures)."""
    return np.array([measures(entrant, entrant.call(case)) for entrant in ENTRANTS.values()])


def _one_moment(rng: np.random.Generator, trace: str) -> FloatArray:
    case = instance(rng, trace)
    return _of_each(
        case,
        lambda entrant, given: [
            *_shared_by(case, given),
            _envious(case, given, entrant),
            *_losses(case, given, entrant),
            *_placed(case, given, entrant),
            _taken(case, entrant, given),
        ],
    )


def _one_day(rng: np.random.Generator, trace: str, load: float) -> FloatArray:
    case = instance(rng, trace, periods=_PERIODS, load=load)
    asked = worth(case, case.tasks).sum()
    return _of_each(
        case,
        lambda entrant, given: [
            *_shared_by(case, given),
            *_losses(case, given, entrant),
            worth(case, given.tasks).sum() / asked,
        ],
    )


def _one_lying(rng: np.random.Generator, trace: str, liars: int) -> FloatArray:
    """Let some users lie one at a time, shape (mechanisms, 2): how many it pays, and what the best lie brings."""
    case = instance(rng, trace)
    who = rng.choice(case.demands.shape[1], liars, replace=False)
    rows = []
    for entrant in ENTRANTS.values():
        honest = entrant.call(case).tasks[0]
        gains = []
        for i in who.tolist():
            unit = float(case.unit[0, i])
            truth, gained = honest[i] * unit, float(best_lie(case, entrant, i, honest[i : i + 1])[0][0]) * unit
            pays = less(truth, gained, slack(case, entrant))
            gains.append([float(pays), (gained - truth) / max(truth, unit) if less(truth, gained) else 0.0])
        rows.append(gains)
    return np.array(rows).mean(axis=1)


#: One row of values a mechanism.
_EACH = tuple({"mechanism": name} for name in MECHANISMS)


def _measured(
    run: Callable[..., FloatArray],
    names: Sequence[str],
    key: int,
    traces: str | Sequence[str],
    runs: int,
    seed: int,
    progress: bool,
    *,
    label: str,
    each: Sequence[dict[str, str]] = _EACH,
    **arguments: Any,
) -> pd.DataFrame:
    """Run on instances of each trace what gives values of shape (mechanisms, measures), and sum them up."""
    rows: list[dict[str, Any]] = []
    for trace in choices(traces, "traces", TRACES):
        values = np.stack(
            repeat(
                run,
                runs,
                seed=seed,
                key=(key, TRACES.index(trace)),
                progress=progress,
                label=f"{label}, {trace}",
                trace=trace,
                **arguments,
            )
        )
        for (k, who), (j, measure) in product(enumerate(each), enumerate(names)):
            some = values[~np.isnan(values[:, k, j]), k, j]
            row = interval(some.round(12)[:, None]).iloc[0] if len(some) else {}
            rows.append(
                {
                    "trace": trace,
                    **who,
                    "measure": measure,
                    **{part: row.get(part, np.nan) for part in ("mean", "low", "high")},
                    "runs": len(some),
                }
            )
    return pd.DataFrame(rows)


def moment(
    runs: int = RUNS, seed: int = SEED, *, traces: str | Sequence[str] = TRACES, progress: bool = False
) -> pd.DataFrame:
    """Give every mechanism the same users at one moment, who could all use more than there is.

    Parameters
    ----------
    runs, seed
        Instances of each trace, and their root seed.
    traces : str or sequence of str
    progress : bool

    Returns
    -------
    DataFrame
        One row per ``trace``, ``mechanism``, ``measure``: ``mean``, ``low``, ``high`` (95 %), ``runs``. Measures:
        ``min_share`` and ``sum_share`` (smallest and sum of the dominant shares), ``utilisation`` (mean over the
        resources), ``envious`` (part of the users who could run more on what another holds; whole tasks: less one of
        the other's), ``losers`` (part worse off than with their own block; whole tasks: by more than one task of
        anybody), ``loss`` (the largest of these losses, as a part), ``placed`` (part of what is handed out that runs
        on the machines in whole tasks; what is handed out in fractions, or without saying where, is rounded down and
        placed by Best-Fit), ``min_placed`` (the smallest dominant share that runs so), ``taken`` (part of what runs
        that is taken away when one more user comes with its block, in the mean over arrivals).

    Notes
    -----
    Cost of a run: 16 mechanisms, 12 calls each, some 0.5 s.
    """
    return _measured(_one_moment, MOMENT, 0, traces, runs, seed, progress, label="moment")


def day(
    runs: int = RUNS,
    seed: int = SEED,
    *,
    traces: str | Sequence[str] = TRACES,
    load: float = _LOAD,
    progress: bool = False,
) -> pd.DataFrame:
    """Give every mechanism the same six periods, in which users ask for changing amounts of changing tasks.

    Parameters
    ----------
    runs, seed, traces, progress
        As for :func:`moment`.
    load : float
        As for :func:`instance`: 1.5, so that some users are idle while others have more to do than fits.

    Returns
    -------
    DataFrame
        As :func:`moment`, shares in the mean over periods; losses compare the sum over the day with the same sum
        alone; ``done`` is the part of what was asked for that was run, by dominant share.

    Notes
    -----
    Cost of a run: 16 mechanisms, some 0.2 s.
    """
    return _measured(_one_day, DAY, 1, traces, runs, seed, progress, label="day", load=load)


#: What :func:`failures` compares: in words, part of the nodes that fail, where what they hold is in the next period.
FAILURES: tuple[tuple[str, float, Held], ...] = (
    ("nobody fails", 0.0, "returns"),
    ("one node in ten fails, what it holds is back in the next period", 0.1, "returns"),
    ("one node in ten fails, what it holds stays away for a period", 0.1, "stays"),
)


def _one_failing(rng: np.random.Generator, trace: str, load: float) -> FloatArray:
    case = instance(rng, trace, periods=_PERIODS, load=load)
    asked, drawn, rows = worth(case, case.tasks).sum(), rng.random(case.tasks.shape), []
    for _, part, held in FAILURES:
        entrant = failing(np.where(drawn < part, 0.0, 1.0), held)
        given = entrant.call(case)
        done = worth(case, given.tasks).sum() / asked
        rows.append([*_shared_by(case, given), *_losses(case, given, entrant), done])
    return np.array(rows)


def failures(
    runs: int = RUNS,
    seed: int = SEED,
    *,
    traces: str | Sequence[str] = TRACES,
    load: float = _LOAD,
    progress: bool = False,
) -> pd.DataFrame:
    """Run cbDRF over the periods of :func:`day` where one node in ten gives nothing back, drawn anew in each period.

    Parameters
    ----------
    runs, seed, traces, load, progress
        As for :func:`day`, on the same instances.

    Returns
    -------
    DataFrame
        One row per ``trace``, ``reading`` (of :data:`FAILURES`), ``measure`` (of :data:`DAY`): ``mean``, ``low``,
        ``high`` (95 %), ``runs``.

    Notes
    -----
    Cost of a run: 10 ms.
    """
    each = [{"reading": words} for words, _, _ in FAILURES]
    return _measured(_one_failing, DAY, 1, traces, runs, seed, progress, label="failures", each=each, load=load)


def lying(
    runs: int = 30, seed: int = SEED, *, traces: str | Sequence[str] = TRACES, liars: int = 3, progress: bool = False
) -> pd.DataFrame:
    """Let some users of each instance claim another demand, one at a time, and keep the lie that pays most.

    Parameters
    ----------
    runs, seed, traces, progress
        As for :func:`moment`.
    liars : int
        Users of each instance who try, drawn at random.

    Returns
    -------
    DataFrame
        As :func:`moment`; measures ``paying`` (part of those who tried who found a lie that pays; whole tasks: by more
        than one of anybody) and ``gain`` (what the best lie brings, however little, as a part of the tasks with the
        truth, 0 where none brings anything).

    Notes
    -----
    Claims: each resource halved, as it is, or doubled, 8 lies with two resources and 26 with three, without those that
    fit on no machine. Cost of a run: 0.3 s with two resources, 1 s with three.
    """
    return _measured(
        _one_lying,
        ("paying", "gain"),
        2,
        traces,
        runs,
        seed,
        progress,
        label="lies",
        liars=as_whole(liars, "liars", 1, USERS),
    )


def _one_reading(rng: np.random.Generator, trace: str) -> FloatArray:
    case = instance(rng, trace)
    rows = []
    for _, _, entrant, part in READINGS:
        seen = replace(case, slot=slot_of(trace, part))
        given = entrant.call(seen)
        rows.append([*_shared_by(seen, given), *_losses(seen, given, entrant)])
    return np.array(rows)


#: What :func:`readings` compares: name, reading, mechanism, part of the requests that fit in a slot by each resource.
READINGS: tuple[tuple[str, str, Entrant, float], ...] = (
    ("gdrf", "amounts in mean machines", ENTRANTS["gdrf"], SLOT),
    ("gdrf", "amounts in the trace's units", replace(ENTRANTS["gdrf"], call=each_period(gdrf)), SLOT),
    *(
        ("slots", f"a slot holds {part:.0%} of the requests", ENTRANTS["slots"], part)
        for part in (0.25, 0.5, 0.75, 0.9)
    ),
)


def readings(
    runs: int = 30, seed: int = SEED, *, traces: str | Sequence[str] = TRACES, progress: bool = False
) -> pd.DataFrame:
    """Show how much two choices of ours move a mechanism: the units that GDRF adds up, and the size of a slot.

    Parameters
    ----------
    runs, seed, traces, progress
        As for :func:`moment`, on the same instances.

    Returns
    -------
    DataFrame
        One row per ``trace``, ``mechanism``, ``reading``, ``measure``: ``mean``, ``low``, ``high``, ``runs``.

    Notes
    -----
    Cost of a run: 10 ms.
    """
    return _measured(
        _one_reading,
        ("min_share", "sum_share", "utilisation", "losers", "loss"),
        0,
        traces,
        runs,
        seed,
        progress,
        label="readings",
        each=[{"mechanism": name, "reading": reading} for name, reading, _, _ in READINGS],
    )


_store = partial(storing, module=__name__, seed=SEED)
#: What is stored, each with the call that computes it.
STORED: dict[str, Callable[..., None]] = {
    "compare/moment": _store("compare/moment", moment, data=DATA, runs=RUNS),
    "compare/day": _store("compare/day", day, data=DATA, runs=RUNS),
    "compare/failures": _store("compare/failures", failures, data=DATA, runs=RUNS),
    "compare/lying": _store("compare/lying", lying, data=DATA, runs=30),
    "compare/matrix": _store("compare/matrix", matrix, module=matrix.__module__, tries=1000),
}
