"""The instances on which all mechanisms are compared: users and machines from three traces.

A user is a shape of task: a request drawn from the trace. Each of n users brings the same block of machines, drawn from
the trace's machines; a request that fits on none of them is drawn again. At *one moment* everybody has more work than
fits. Over *a day* of some periods the shape changes from period to period, and how much a user asks for is drawn: a
part of the pool, exponentially distributed. Amounts, arrivals and whose is what are ours, shapes and machines the
traces'.
"""

from functools import lru_cache

import numpy as np

from book.common.runs import choices
from book.common.traces import alibaba2017, alibaba_gpu2023
from book.compare.entrants import Shared
from fairbook.model.inputs import FloatArray, as_number, as_whole
from fairbook.model.placement import FITS
from fairbook.traces import google2011

#: The three workloads: two of CPU and memory, and one of CPU, memory and GPUs.
TRACES = ("google2011", "alibaba2017", "alibaba_gpu2023")

USERS, BLOCK = 12, 4
#: The part of the requests that fit in a slot, resource by resource.
SLOT = 0.75


@lru_cache(maxsize=4)
def _requests(trace: str) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Give requests (r, m) with how often each occurs (r,), and kinds of machines (c, m) with their numbers (c,)."""
    if trace == "google2011":
        google = google2011.load_digest()
        kinds = ["cpu", "memory"]
        rows = google.frame[(google.frame[kinds] > 0).any(axis=1)]
        machines = google.machines[google.machines["at_start"] > 0]
        tasks, counts = (one.to_numpy(dtype=float) for one in (rows["tasks"], machines["at_start"]))
        return rows[kinds].to_numpy(), tasks, machines[kinds].to_numpy(), counts
    if trace == "alibaba2017":
        jobs = alibaba2017.load_digest()
        return (
            np.column_stack([jobs.cores, jobs.memory]),
            np.ones(len(jobs.memory)),
            jobs.machine_classes[:, :2],
            jobs.machine_classes[:, 2],
        )
    pods = alibaba_gpu2023.load_digest()
    return pods.requests, pods.pods.astype(float), pods.capacities, pods.counts.astype(float)


@lru_cache(maxsize=16)
def slot_of(trace: str, part: float = SLOT) -> FloatArray:
    """Give what a slot holds: in each resource as much as a part of the requests, three of four, need at most."""
    values, weights, _, _ = _requests(trace)
    found = []
    for column in values.T:
        order = np.argsort(column)
        found.append(column[order][np.searchsorted(np.cumsum(weights[order]), part * weights.sum())])
    return np.array(found)


def instance(
    rng: np.random.Generator,
    trace: str,
    *,
    users: int = USERS,
    block: int = BLOCK,
    periods: int = 1,
    load: float | None = None,
) -> Shared:
    """Draw users and machines from a trace.

    Parameters
    ----------
    rng : numpy.random.Generator
    trace : str
        One of :data:`TRACES`.
    users, block : int
        Users, and machines that each brings.
    periods : int
    load : float, optional
        What all ask for together in a period, in the mean, as a part of the pool, each by its dominant resource.
        Default: everybody asks for more than the pool holds.

    Examples
    --------
    >>> case = instance(np.random.default_rng(1), "alibaba_gpu2023")
    >>> case.demands.shape, case.machines.shape
    ((1, 12, 3), (48, 3))
    """
    choices((trace,), "trace", TRACES)
    users, block = as_whole(users, "users", 1), as_whole(block, "block", 1)
    periods = as_whole(periods, "periods", 1)
    values, weights, kinds, counts = _requests(trace)
    while True:
        machines = kinds[rng.choice(len(kinds), block, p=counts / counts.sum())]
        fits = np.any([(values <= machine * (1 + FITS)).all(axis=1) for machine in machines], axis=0)
        if (machines.sum(axis=0) > 0).all() and fits.any():
            break
    drawn = rng.choice(len(values), (periods, users), p=weights * fits / (weights * fits).sum())
    demands = values[drawn]
    total = machines.sum(axis=0) * users
    whole = np.divide(total, demands, out=np.full(demands.shape, np.inf), where=demands > 0).min(axis=2)
    if load is None:
        tasks = np.floor(whole) + 1
    else:
        part = rng.exponential(as_number(load, "load", 0.0) / users, (periods, users))
        tasks = np.minimum(np.ceil(part * whole), np.floor(whole) + 1)
    return Shared(demands, tasks, machines, slot_of(trace), np.zeros((0, values.shape[1])))
