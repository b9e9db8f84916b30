"""The heuristic against its optimum: how often somebody has less than alone, and how far its users are off."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from book.common.runs import choices, numbers, repeat
from book.tv_drf.users import ALONE, SEED, SIZES, UNSERVED, Alone, draw, shared
from fairbook.model.inputs import FloatArray

#: Below this a difference is rounding.
NOTHING = 1e-9


def ratio(over: FloatArray, under: FloatArray) -> FloatArray:
    """Divide; 1 where both are zero, infinite where only the second is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: FloatArray = np.where(under > 0, over / under, np.where(over > 0, np.inf, 1.0))
    return found


#: What is asked for sharing losses: a mechanism with a reading of what a user would have had alone.
_JUDGED: tuple[tuple[str, Alone], ...] = (
    *(("tv_drf", alone) for alone in ALONE),
    ("memoryless", "whole_bundles"),
    ("optimum", "bundles"),
    ("optimum", "resources"),
)


def _lost(rng: np.random.Generator, n: int, unserved: str, **how: Any) -> FloatArray:
    """Give per judged mechanism: the part of users' periods below 1, and of periods in which 1 is out of reach."""
    case = draw(rng, n, **how)
    found = []
    for mechanism, alone in _JUDGED:
        run = shared(case, mechanism, unserved, alone)
        reach = run.below_one.mean() if mechanism == "optimum" else np.nan
        found.append([(run.sharing_coefficients < 1 - NOTHING).mean(), reach])
    return np.array(found)


def _each(
    run: Callable[..., Any],
    name: str,
    runs: int,
    seed: int,
    sizes: Any,
    unserved: Any,
    progress: bool,
    how: dict[str, Any],
) -> Iterator[tuple[dict[str, Any], list[Any]]]:
    """Give for each number of users and fate of their tasks what every run finds."""
    for n, queue in product(numbers(sizes, "sizes", "number of users"), choices(unserved, "unserved", UNSERVED)):
        yield (
            {"n": n, "unserved": queue},
            repeat(
                run, runs, seed=seed, key=(n,), progress=progress, label=f"{name}, n = {n}", n=n, unserved=queue, **how
            ),
        )


def losses(
    runs: int = 30,
    seed: int = SEED,
    *,
    sizes: Sequence[int] = SIZES,
    unserved: str | Sequence[str] = UNSERVED,
    progress: bool = False,
    **how: Any,
) -> pd.DataFrame:
    """Count how often somebody has less than alone: the sharing coefficient is below 1.

    Parameters
    ----------
    runs, seed
        Repetitions and their root seed.
    sizes : sequence of int
        Numbers of users.
    unserved : {"waits", "expires"} or both
    **how
        Readings, see :func:`instance`.

    Returns
    -------
    DataFrame
        One row per ``n``, ``unserved``, ``mechanism`` and ``alone`` (the reading in which the coefficient is meant):
        ``below`` (part of all users, periods and runs with beta < 1), ``unreachable`` (fluid optimum only: part of the
        periods in which beta >= 1 is out of reach for all at once), ``runs``.

    Notes
    -----
    Cost per run: six runs of the mechanism; 0.7 s for 100 users.
    """
    parts = []
    for case, found in _each(_lost, "losses", runs, seed, sizes, unserved, progress, how):
        mean = np.mean(found, axis=0).round(12)
        parts += [
            {
                **case,
                "mechanism": mechanism,
                "alone": alone,
                "below": mean[k, 0],
                "unreachable": mean[k, 1],
                "runs": runs,
            }
            for k, (mechanism, alone) in enumerate(_JUDGED)
        ]
    return pd.DataFrame(parts)


#: Machines as they are, and one machine that has all they have.
_PACKINGS = ("machines", "merged")


def _gap(rng: np.random.Generator, n: int, unserved: str, **how: Any) -> list[tuple[FloatArray, ...]]:
    """Give per packing: distances in steps, shape (T, n), and ratios of the sums of w G, shape (T,)."""
    case = draw(rng, n, **how)
    best = shared(case, "optimum", unserved)
    step = (case.demands / case.machines.sum(axis=0)).max(axis=2) / case.contributions
    step = np.maximum.accumulate(np.where(case.tasks > 0, step, 0.0), axis=0)
    found: list[tuple[FloatArray, ...]] = []
    for packing in _PACKINGS:
        pool = case.machines if packing == "machines" else case.machines.sum(axis=0, keepdims=True)
        run = shared(case._replace(machines=pool), "tv_drf", unserved)
        off = np.abs(run.cumulative_shares - best.cumulative_shares)
        total = ratio(run.cumulative_shares @ case.contributions, best.cumulative_shares @ case.contributions)
        found.append((np.where(step > 0, off / np.where(step > 0, step, 1.0), 0.0), total))
    return found


def gaps(
    runs: int = 30,
    seed: int = SEED,
    *,
    sizes: Sequence[int] = SIZES,
    unserved: str | Sequence[str] = UNSERVED,
    progress: bool = False,
    **how: Any,
) -> pd.DataFrame:
    """Hold the heuristic against the optimum, fluid: by how many of its own tasks is each user off?

    Parameters
    ----------
    runs, seed, sizes, unserved, how
        As in :func:`losses`.

    Returns
    -------
    DataFrame
        One row per ``n``, ``unserved`` and ``packing`` ("machines": as they are; "merged": one machine that has all
        they have, so that whole tasks are the only difference). Of ``abs(G - G of the optimum)`` in units of the
        user's largest step r / w so far, over users, periods and runs: ``mean``, ``worst``. Of the sum of w G as a part
        of the optimum's, over periods and runs: ``total_share`` (mean), ``total_share_least``. ``runs``.
    """
    parts = []
    for case, found in _each(_gap, "gaps", runs, seed, sizes, unserved, progress, how):
        for k, packing in enumerate(_PACKINGS):
            steps, total = (np.stack([run[k][part] for run in found]).round(12) for part in range(2))
            parts.append(
                {
                    **case,
                    "packing": packing,
                    "mean": steps.mean(),
                    "worst": steps.max(),
                    "total_share": total.mean(),
                    "total_share_least": total.min(),
                    "runs": runs,
                }
            )
    return pd.DataFrame(parts)
