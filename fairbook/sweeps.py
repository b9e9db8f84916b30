"""Many runs of one function, in this process or over several, with progress.

:func:`sweep` calls a function once per job and lists the results in the order of the jobs, wherever they were computed:
in this process or in others, as `joblib's <https://joblib.readthedocs.io>`_ configuration says. The function derives
its random numbers from the job, so the results equal those of a single process, to the last bit::

    with joblib.parallel_config("loky", n_jobs=4, inner_max_num_threads=1):
        book.gdrf.ablation.ablation(runs=2000, progress=True)

Those who outgrow one machine take joblib's backend for Dask: install ``distributed``, connect with
``client = distributed.Client("tcp://10.0.0.1:8786")`` to workers that have the same sources, data and versions (nothing
checks this), and write ``parallel_config(backend="dask")``. Whoever can reach the scheduler can run any code, so keep
a firewall around it. Bits may differ on different processors.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from fairbook.errors import InvalidInput, MissingDependency
from fairbook.files import write_whole
from fairbook.model.inputs import as_whole
from fairbook.progress import bar

__all__ = ["sweep"]


def __dir__() -> list[str]:
    return sorted(__all__)


Job = TypeVar("Job")
Result = TypeVar("Result")


def _kept(call: Callable[[Job], Result], folder: Path, job: Job) -> Result:
    """Give what is stored of a job; where nothing is, do it, and store that at once, whatever becomes of the others."""
    path = folder / f"{hashlib.sha256(pickle.dumps((call, job), protocol=5)).hexdigest()}.pickle"
    if not path.exists():
        write_whole({path: pickle.dumps(call(job), protocol=5)})
    found: Result = pickle.loads(path.read_bytes())
    return found


def sweep(
    call: Callable[[Job], Result],
    jobs: Iterable[Job],
    *,
    workers: int | None = None,
    progress: bool = False,
    label: str = "runs",
    keep: str | Path | None = None,
) -> list[Result]:
    """Call a function once per job and list the results in the order of the jobs, wherever they were computed.

    Parameters
    ----------
    call : callable
        Takes a job. Must give the same for a job whatever ran before: a random stream is made from the job. Where
        other processes run it, it is importable by name, or a ``functools.partial`` of such.
    jobs : iterable
    workers : int, optional
        Processes. Default: what ``joblib.parallel_config`` says around the call, and without it this process alone.
        With 1 everything happens in this process, whatever is configured.
    progress : bool
        Whether to draw a bar on stderr, which moves as results come in; lines that count without the package tqdm.
    label : str
        Its name.
    keep : str or Path, optional
        Folder, made where there is none, in which each result is stored as soon as it is there, by ``pickle``. What is
        found there is not computed again, so that the same sweep goes on where it was interrupted, or where a worker
        was killed. Only for a ``call`` that is importable by name, or a ``functools.partial`` of such; equal jobs are
        told by their bytes. Nothing notices that the sources have changed: take another folder then, and none into
        which others may write, who could have any code run. Default: nothing is stored.

    Raises
    ------
    InvalidInput
        For bad arguments.
    OSError
        Where the folder cannot be written to.
    MissingDependency
        For more than one worker without the package joblib.
    Exception
        Whatever ``call`` raises.

    Notes
    -----
    Overhead a job: below 10 us in this process, 10 to 40 us in others (in batches that joblib makes). What is kept
    is on the disk before the next job begins: some milliseconds a job.

    Examples
    --------
    >>> sweep(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    if workers is not None:
        as_whole(workers, "workers", 1)
    if not isinstance(jobs, Iterable):
        raise InvalidInput("jobs", "must be a list, or anything else to go through", jobs)
    listed = list(jobs)
    if keep is not None:
        try:
            pickle.dumps(call)
        except (pickle.PicklingError, AttributeError, TypeError):
            raise InvalidInput("call", "must be importable by name where results are kept", call) from None
        Path(keep).mkdir(parents=True, exist_ok=True)
        call = partial(_kept, call, Path(keep).resolve())
    arrived: Any = map(call, listed)
    try:
        from joblib import Parallel, delayed

        if workers != 1:
            arrived = Parallel(n_jobs=workers, return_as="generator")(delayed(call)(job) for job in listed)
    except ImportError:
        if workers not in (None, 1):
            raise MissingDependency("more than one worker needs joblib: pip install 'fairbook[sweeps]'") from None
    return list(bar(arrived, shown=progress, total=len(listed), desc=label, leave=False))
