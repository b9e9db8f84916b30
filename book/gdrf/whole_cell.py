"""Bounds beside what the mechanisms place, and all 12 583 machines of the Google cell filled."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from book.common.runs import choices
from book.gdrf.cells import (
    MECHANISMS,
    SCALE,
    SEED,
    USERS,
    Instance,
    by_size,
    drawn,
    means,
    place,
    run_all,
    table_1,
)
from book.gdrf.oracle import fluid_share, same_mix
from fairbook.model.inputs import FloatArray, as_whole
from fairbook.model.placement import Placement
from fairbook.traces.google2011 import load_digest

#: Measures of :func:`bounds`.
_BOUNDED = ("tasks", "packed", "of_level")


def _bound(case: Instance, placed: Mapping[str, Placement]) -> FloatArray:
    """Give the measures of :data:`_BOUNDED` for each placement, then for DRFH in fractions of tasks."""
    fluid, n = fluid_share(*case), len(case.demands)
    found = [(one.tasks, one.dominant_shares.min()) for one in placed.values()] + [(fluid.tasks, fluid.level / n)]
    level = float(fluid.upper) / n
    return np.array([[tasks.sum(), 1 / float(same_mix(tasks, *case).upper), x / level] for tasks, x in found])


def _bound_one(rng: np.random.Generator, number: int) -> FloatArray:
    case, lot = drawn(rng, number)
    return _bound(case, {mechanism: place(case, mechanism, lot) for mechanism in MECHANISMS})


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
        One row per ``machines``, ``mechanism`` (also "drfh_fluid") and ``measure``, over random mixes ``mean``,
        ``low``, ``high`` (95 %), ``runs``: ``tasks``; ``packed`` (1 / theta, where theta times as many tasks in the
        same proportions would fit in fractions); ``of_level`` (least dominant share, divided by the bound that no
        placement gives everybody more than).

    Notes
    -----
    Cost of a mix: eight linear programs, some 0.1 s, and the placements.
    """
    found = {
        number: run_all(_bound_one, many, seed, progress, f"bounds, {number} machines", number=number)
        for number, many in by_size(sizes, runs)
    }
    about: dict[str, Any] = {"mechanism": [*MECHANISMS, "drfh_fluid"], "measure": _BOUNDED}
    return pd.concat([means(of, 9, machines=[number], **about) for number, of in found.items()], ignore_index=True)


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
    table = table_1("published" if case == "integers" else "trace")
    demands = np.array(USERS, dtype=float) if case == "integers" else SCALE * _trace_users(trace_users)
    return Instance(demands, SCALE * table[:, :2], table[:, 2].astype(np.int64))


@lru_cache(maxsize=16)
def _filled(case: str, mechanism: str, seed: int, trace_users: int) -> Placement:
    """Fill the whole cell; both tables are made from the same placements."""
    return place(_whole(case, trace_users), mechanism, seed)


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
        One row per ``case`` and ``mechanism``, with the measures of :func:`bounds`. A last row for each case has DRFH
        in fractions ("drfh_fluid").

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
        rows += [
            {"case": case, "mechanism": mechanism, **dict(zip(_BOUNDED, values.tolist(), strict=True))}
            for mechanism, values in zip((*chosen, "drfh_fluid"), _bound(whole, placed), strict=True)
        ]
    return pd.DataFrame(rows).round(9)


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
            capacity = (placed.cell.machines / SCALE)[frame["kind"]].round(6)
            parts.append(
                pd.DataFrame(
                    {
                        "case": case,
                        "mechanism": mechanism,
                        "cpu_capacity": capacity[:, 0],
                        "memory_capacity": capacity[:, 1],
                        "cpu": frame["cpu"],
                        "memory": frame["memory"],
                        "machines": frame["machines"],
                    }
                )
            )
    return pd.concat(parts, ignore_index=True)
