"""Repetitions: one random stream per run, in parallel where it pays, with progress on stderr."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy import stats
from tqdm import tqdm

from fairbook.errors import InvalidInput

__all__ = ["interval", "repeat", "stream"]

Result = TypeVar("Result")


def stream(seed: int, *key: int) -> np.random.Generator:
    """Give the random stream of one run: the same for a key whatever else is run, in whatever order.

    Examples
    --------
    >>> bool(stream(2016, 100, 3).integers(100) == stream(2016, 100, 3).integers(100))
    True
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InvalidInput("seed", "must be a whole number of at least 0", seed)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def repeat(
    run: Callable[..., Result],
    runs: int,
    *,
    seed: int,
    key: Sequence[int] = (),
    workers: int = 1,
    progress: bool = False,
    label: str = "runs",
    **arguments: Any,
) -> list[Result]:
    """Call ``run(rng, **arguments)`` once per run, each with a stream of its own, and list the results in order.

    Parameters
    ----------
    run : callable
        Takes a ``numpy.random.Generator`` first. Must be importable by name where ``workers`` exceeds 1.
    runs : int
        At least 1.
    seed, key
        The stream of run r is ``stream(seed, *key, r)``: the first r runs do not change when more are asked for.
    workers : int
        Processes for joblib; 1 stays in this process.
    progress : bool
        Whether to draw a bar on stderr.
    """
    if isinstance(runs, bool) or not isinstance(runs, (int, np.integer)) or runs < 1:
        raise InvalidInput("runs", "must be a whole number of at least 1", runs)
    if isinstance(workers, bool) or not isinstance(workers, (int, np.integer)) or workers < 1:
        raise InvalidInput("workers", "must be a whole number of at least 1", workers)
    numbers = tqdm(range(runs), desc=label, disable=not progress, leave=False)
    if workers == 1:
        return [run(stream(seed, *key, r), **arguments) for r in numbers]
    return list(Parallel(n_jobs=workers)(delayed(run)(stream(seed, *key, r), **arguments) for r in numbers))


def interval(values: np.ndarray, level: float = 0.95) -> pd.DataFrame:
    """Mean over runs with its t interval.

    Parameters
    ----------
    values : ndarray, shape (runs, points)
    level : float
        Confidence level of the interval for the mean.

    Returns
    -------
    DataFrame
        One row a point: ``mean``, ``low``, ``high`` (equal to the mean for a single run).
    """
    if not 0 < level < 1:
        raise InvalidInput("level", "must lie between 0 and 1", level)
    runs = len(values)
    mean = values.mean(axis=0)
    half = np.zeros_like(mean)
    if runs > 1:
        half = stats.t.ppf(0.5 + level / 2, runs - 1) * values.std(axis=0, ddof=1) / np.sqrt(runs)
    return pd.DataFrame({"mean": mean, "low": mean - half, "high": mean + half})
