"""Repetitions: one random stream per run, in parallel where it pays, with progress on stderr; and their storage."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from scipy import special

from book.common import results
from fairbook.errors import InvalidInput
from fairbook.model.inputs import as_whole
from fairbook.sweeps import sweep

Result = TypeVar("Result")


def choices(values: Any, argument: str, allowed: Sequence[Any]) -> tuple[Any, ...]:
    """Give one choice or several as a tuple.

    Parameters
    ----------
    values : str, bool or sequence of them
    argument : str
        Its name, for the error.
    allowed : sequence
        What may be chosen.

    Raises
    ------
    InvalidInput
        Where a choice is none of these.

    Examples
    --------
    >>> choices("drf", "mechanisms", ("drf", "karma")), choices([True, False], "whole", (True, False))
    (('drf',), (True, False))
    """
    names = (
        (values,) if isinstance(values, (str, bool)) or not isinstance(values, (Sequence, Mapping)) else tuple(values)
    )
    for name in names or (values,):
        if isinstance(name, (list, dict)) or name not in allowed:
            raise InvalidInput(argument, f"must be one or more of {', '.join(map(str, allowed))}", name)
    return names


def several(
    values: Any,
    argument: str,
    check: Callable[..., Any],
    *limits: float,
    what: str = "number",
) -> tuple[Any, ...]:
    """Give one number or several as a tuple, each checked by ``check(value, argument, *limits)``; at least one."""
    found = tuple(values) if isinstance(values, (Sequence, np.ndarray)) and not isinstance(values, str) else (values,)
    if not found:
        raise InvalidInput(argument, f"must name at least one {what}", values)
    return tuple(check(value, argument, *limits) for value in found)


def numbers(values: Any, argument: str, what: str) -> tuple[int, ...]:
    """Give one whole number, or several, as a tuple; InvalidInput where one is below 1 or there is none.

    Examples
    --------
    >>> numbers(5, "sizes", "number of users"), numbers([5, 20], "sizes", "number of users")
    ((5,), (5, 20))
    """
    return several(values, argument, as_whole, 1, what=what)


def stream(seed: int, *key: int) -> np.random.Generator:
    """Give the random stream of one run: the same for a key whatever else is run, in whatever order.

    Examples
    --------
    >>> bool(stream(2016, 100, 3).integers(100) == stream(2016, 100, 3).integers(100))
    True
    """
    return np.random.default_rng(np.random.SeedSequence(as_whole(seed, "seed", 0), spawn_key=key))


def _one(run: Callable[..., Result], seed: int, key: tuple[int, ...], arguments: dict[str, Any], r: int) -> Result:
    return run(stream(seed, *key, r), **arguments)


def repeat(
    run: Callable[..., Result],
    runs: int,
    *,
    seed: int,
    key: Sequence[int] = (),
    workers: int | None = None,
    progress: bool = False,
    label: str = "runs",
    **arguments: Any,
) -> list[Result]:
    """Call ``run(rng, **arguments)`` once per run, each with a stream of its own, and list the results in order.

    Parameters
    ----------
    run : callable
        Takes a ``numpy.random.Generator`` first. Must be importable by name where runs leave this process.
    runs : int
        At least 1.
    seed, key
        The stream of run r is ``stream(seed, *key, r)``: the first r runs do not change when more are asked for.
    workers : int, optional
        Processes. Default: what ``joblib.parallel_config`` says around the call, and without it this process alone.
    progress : bool
        Whether to draw a bar on stderr.

    Notes
    -----
    Where and in which order runs are computed is up to :func:`fairbook.sweeps.sweep`; what they give is not.
    """
    as_whole(runs, "runs", 1)
    return sweep(
        partial(_one, run, seed, tuple(key), arguments),
        range(runs),
        workers=workers,
        progress=progress,
        label=label,
    )


def interval(values: np.ndarray) -> pd.DataFrame:
    """Mean over runs with its 95 % t interval.

    Parameters
    ----------
    values : ndarray, shape (runs, points)

    Returns
    -------
    DataFrame
        One row a point: ``mean``, ``low``, ``high`` (equal to the mean for a single run).
    """
    runs = len(values)
    mean = values.mean(axis=0)
    half = np.zeros_like(mean)
    if runs > 1:
        half = special.stdtrit(runs - 1, 0.975) * values.std(axis=0, ddof=1) / np.sqrt(runs)
    return pd.DataFrame({"mean": mean, "low": mean - half, "high": mean + half})


def storing(
    table: str,
    compute: Callable[..., pd.DataFrame],
    *,
    module: str,
    data: tuple[str, ...] = (),
    **arguments: Any,
) -> Callable[..., None]:
    """Give the call that computes a table of full effort, with a bar on stderr or without, and stores it.

    Parameters
    ----------
    table : str
        Its name in ``data/results/``.
    compute : callable
        Takes ``progress`` and the ``arguments``, with the seed of what is drawn; returns the frame.
    module, data
        Of :func:`book.common.results.save`: on whose sources and which files the table depends.
    """

    def run(*, progress: bool = True) -> None:
        frame = compute(progress=progress, **arguments)
        results.save(table, frame, module=module, data=data, **arguments)

    return run
