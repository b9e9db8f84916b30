"""Many independent jobs: where they run, and how they show their progress. What they compute is not decided here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

from fairbook.errors import InvalidInput

__all__ = ["sweep"]

Job = TypeVar("Job")
Result = TypeVar("Result")


def sweep(
    call: Callable[[Job], Result],
    jobs: Iterable[Job],
    *,
    about: dict[str, Any],
    workers: int | None = None,
    progress: bool = False,
    label: str = "runs",
) -> list[Result]:
    """Call ``call(job)`` for every job and list the results in the order of the jobs.

    Parameters
    ----------
    call : callable
        Must be importable by name, or a ``functools.partial`` of such a function, where jobs leave this process.
    jobs : iterable
    about : dict
        What the results depend on besides the job.
    workers : int, optional
        Processes. Default: what ``joblib.parallel_config`` says around the call, and without it this process alone.
    progress : bool
        Whether to draw a bar on stderr.
    label : str
        What the bar counts.
    """
    if workers is not None and (
        isinstance(workers, bool) or not isinstance(workers, (int, np.integer)) or workers < 1
    ):
        raise InvalidInput("workers", "must be a whole number of at least 1", workers)
    listed = list(jobs)
    found = Parallel(n_jobs=workers, return_as="generator")(delayed(call)(job) for job in listed)
    return list(tqdm(found, total=len(listed), desc=label, disable=not progress, leave=False))
