"""Users of the TV-DRF experiments, from the Alibaba trace of 2017, and four ways to serve them.

A user is a job of the trace with at least as many task groups as there are periods; its s-th group is what it submits
in period s. Every user brings machines of Table 1, and all bring the same, so that each owns 1/n of every machine.

Four ways to serve the same users are compared: TV-DRF by the authors' heuristic (``"tv_drf"``), the optimum that it
stands for (``"optimum"``, fluid), the heuristic without memory, which is DRF in each period (``"memoryless"``), and
everyone for himself on his own machines (``"alone"``).
"""

from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from book.common.runs import choices
from book.common.traces.alibaba2017 import Jobs, load_digest
from fairbook.errors import InvalidInput
from fairbook.mechanisms.tv_drf.run import TvDrfRun
from fairbook.mechanisms.tv_drf.tv_drf import tv_drf
from fairbook.model.inputs import FloatArray, as_number, as_positive, as_whole

#: Root of every random stream.
SEED = 2019
#: Numbers of users.
SIZES = (5, 20, 100)
#: Periods of a run.
PERIODS = 20
MEMORY_GB = 40.0
#: Machines of one user, (number, cores, GB): below 100 users and from 100 on. Table 1 has lost its separators; "table"
#: reads its rows as 5 | 1 | 250 | 40, 20 | 1 | 250 | 40, 100 | 1 | 200 | 40, "twelve" as 5 | 12 | 50 | 40, 20 | 12 | 50
#: | 40, 100 | 1 | 200 | 40.
MACHINES: dict[str, tuple[tuple[int, float, float], tuple[int, float, float]]] = {
    "table": ((1, 250.0, 40.0), (1, 200.0, 40.0)),
    "twelve": ((12, 50.0, 40.0), (1, 200.0, 40.0)),
}

Alone = Literal["bundles", "whole_bundles", "resources"]
ALONE: tuple[Alone, ...] = ("bundles", "whole_bundles", "resources")
Unserved = Literal["waits", "expires"]
UNSERVED: tuple[Unserved, ...] = ("waits", "expires")

#: Rules that are compared.
MECHANISMS = ("tv_drf", "optimum", "memoryless", "alone")


class Instance(NamedTuple):
    """What :func:`~fairbook.mechanisms.tv_drf.tv_drf` takes, in its order.

    Attributes
    ----------
    demands : ndarray, shape (T, n, 2)
        Cores and GB of one task.
    tasks : ndarray of int, shape (T, n)
    machines : ndarray, shape (K, 2)
        All alike; K is a multiple of n.
    contributions : ndarray, shape (n,)
        1/n each.
    """

    demands: FloatArray
    tasks: NDArray[np.int64]
    machines: FloatArray
    contributions: FloatArray


@lru_cache(maxsize=1)
def digest() -> Jobs:
    """Give the jobs of the trace, read once."""
    return load_digest()


def _kind(machines: str, n: int) -> tuple[int, float, float]:
    return MACHINES[choices((machines,), "machines", tuple(MACHINES))[0]][n >= 100]


def _needs(jobs: Jobs, kind: tuple[int, float, float], memory_gb: float) -> FloatArray:
    """Give what each task group asks for in parts of one user's machines, shape (G, 2)."""
    number, cores, memory = kind
    needs: FloatArray = np.stack([jobs.cores / cores, jobs.memory * memory_gb / memory], axis=1)
    return jobs.instances[:, None] * needs / number


@lru_cache(maxsize=8)
def _loads(jobs: Jobs, periods: int, kind: tuple[int, float, float], memory_gb: float) -> FloatArray:
    """Give the mean need per period of each job with enough groups, nan for the others, shape (J,)."""
    loads = np.full(len(jobs), np.nan)
    able = np.flatnonzero(jobs.groups_per_job >= periods)
    needs = _needs(jobs, kind, memory_gb)
    loads[able] = needs[jobs.first[able][:, None] + np.arange(periods)].mean(axis=1).max(axis=1)
    return loads


@lru_cache(maxsize=8)
def _busy(jobs: Jobs, periods: int, kind: tuple[int, float, float], memory_gb: float, min_load: float) -> Jobs:
    """Keep the jobs that ask for enough."""
    kept = np.flatnonzero(_loads(jobs, periods, kind, memory_gb) >= min_load)
    rows = [np.arange(jobs.first[j], jobs.first[j + 1]) for j in kept]
    at = np.concatenate(rows) if rows else np.array([], dtype=np.int64)
    first = np.cumsum([0, *(len(row) for row in rows)])
    return Jobs(
        first, jobs.created[at], jobs.instances[at], jobs.plan_cpu[at], jobs.memory[at], jobs.machine_classes.copy()
    )


def _assembled(demands: FloatArray, tasks: NDArray[np.int64], n: int, machines: str, memory_gb: float) -> Instance:
    number, cores, memory = _kind(machines, n)
    if (demands > (cores, memory)).any():
        raise InvalidInput(
            "memory_gb", f"must let every task fit on a machine of {cores:g} cores and {memory:g} GB", memory_gb
        )
    return Instance(demands, tasks, np.tile((cores, memory), (n * number, 1)), np.full(n, 1 / n))


def instance(
    rng: np.random.Generator,
    n: int,
    *,
    periods: int = PERIODS,
    machines: str = "table",
    memory_gb: float = MEMORY_GB,
    min_groups: int | None = None,
    min_load: float = 0.0,
    jobs: Jobs | None = None,
) -> Instance:
    """Draw n jobs of the trace as users, each with the machines of Table 1.

    Parameters
    ----------
    rng : numpy.random.Generator
    n : int
        Users.
    periods : int
        A user is a job with at least so many task groups; the s-th is its demand in period s, later ones are cut off.
    machines : {"table", "twelve"}
        Reading of Table 1: key of :data:`MACHINES`.
    memory_gb : float
        Memory of the trace's largest machine in GB; the trace gives memory in parts of that machine.
    min_groups : int, optional
        Let jobs with fewer groups than periods, down to this number, be users, too; they begin again after their last
        group.
    min_load : float
        Let only those be users who ask for at least this part of what their own machines have over all periods, of the
        resource that they need more of. Of the 335 jobs with 20 groups half ask for less than 0.2 of one machine of
        (250, 40), three in four for less than 0.8.
    jobs : Jobs, optional
        By default the digest that ships.

    Returns
    -------
    Instance

    Raises
    ------
    InvalidInput
        Also where a task is larger than a machine. None of the trace is, up to 300 GB: the largest requests among all
        12 014 jobs are 8 cores and 12.7 % of the largest machine's memory.
    """
    n, periods = as_whole(n, "n", 1), as_whole(periods, "periods", 1)
    least = periods if min_groups is None else as_whole(min_groups, "min_groups", 1)
    unit, held = as_positive(memory_gb, "memory_gb"), digest() if jobs is None else jobs
    min_load = as_number(min_load, "min_load")
    if not isinstance(held, Jobs):
        raise InvalidInput("jobs", "must be None or Jobs", jobs)
    if min_load:
        if least < periods:
            raise InvalidInput("min_load", "cannot be asked for where min_groups is below the periods", min_load)
        held = _busy(held, periods, _kind(machines, n), unit, min_load)
    drawn = held.sample(n, rng, periods=periods, min_groups=least, after="cycle", memory_unit=unit)
    return _assembled(drawn.demands, drawn.tasks, n, machines, memory_gb)


def _dealt_to(jobs: Jobs, n: int, T: int, machines: str, memory_gb: float) -> int:
    """Give the number of users among whom the trace is dealt, so that one brings the mean load of :func:`instance`."""
    kind = _kind(machines, n)
    usual = np.nanmean(_loads(jobs, PERIODS, kind, memory_gb))
    return int(np.clip(round(float(_needs(jobs, kind, memory_gb).sum(axis=0).max() / (T * usual))), n, len(jobs)))


def dealt_instance(
    rng: np.random.Generator,
    n: int,
    seconds: float,
    *,
    machines: str = "table",
    memory_gb: float = MEMORY_GB,
    jobs: Jobs | None = None,
) -> Instance:
    """Draw n users among whom jobs are dealt at the trace's own times: what is created in a period is submitted in it.

    All jobs are dealt out at random to many users, of whom n are drawn; so many that a user brings as much work per
    period, of the scarcer resource, as one of :func:`instance` does on average, for the same machines. That is 750
    users for periods of 300 s (205 of them), 2229 for 900 s (69) and 8545 for 3600 s (18).

    Parameters
    ----------
    rng, n, machines, memory_gb, jobs
        As in :func:`instance`.
    seconds : float
        Length of a period.

    Returns
    -------
    Instance
        A user's groups that fall into one period are joined, with the mean of their requests; many periods have none.
    """
    n, held, unit = as_whole(n, "n", 1), digest() if jobs is None else jobs, as_positive(memory_gb, "memory_gb")
    T = len(held.deal(1, np.random.default_rng(0), seconds).tasks)
    users = _dealt_to(held, n, T, machines, unit)
    dealt = held.deal(users, rng, seconds, memory_unit=unit)
    some = rng.choice(users, n, replace=False)
    return _assembled(np.ascontiguousarray(dealt.demands[:, some]), dealt.tasks[:, some], n, machines, memory_gb)


def draw(rng: np.random.Generator, n: int, seconds: float | None = None, **how: Any) -> Instance:
    """Draw users in either way: groups in order, or dealt out at the trace's own times."""
    return instance(rng, n, **how) if seconds is None else dealt_instance(rng, n, seconds, **how)


# --------------------------------------------------------------------------------------------- ways to serve them


def shared(case: Instance, mechanism: str, unserved: Any, alone: Any = None) -> TvDrfRun:
    """Serve all users from one pool. Unless told otherwise whole tasks are held against whole ones."""
    if mechanism == "optimum":
        return tv_drf(*case, method="lexicographic", alone=alone or "bundles", unserved=unserved)
    return tv_drf(*case, alone=alone or "whole_bundles", unserved=unserved, memory=mechanism != "memoryless")


class Separate(NamedTuple):
    """Everyone on its own machines; G on the pool's scale."""

    tasks: FloatArray
    amounts: FloatArray
    cumulative_shares: FloatArray
    unserved: FloatArray


def separate(case: Instance, unserved: Any) -> Separate:
    """Serve each user by itself on its own machines, by the same heuristic.

    Everyone brings the part 1/n of each resource. So what a task adds to G of the own machines, max_j alpha_j / (C_j /
    n), is also what it adds in the pool, r / w.
    """
    n = case.tasks.shape[1]
    own, whole = case.machines[: len(case.machines) // n], np.ones(1)
    runs = [
        tv_drf(case.demands[:, [i]], case.tasks[:, [i]], own, whole, alone="whole_bundles", unserved=unserved)
        for i in range(n)
    ]
    return Separate(*(np.hstack([getattr(run, name) for run in runs]) for name in Separate._fields))
