"""Batch jobs with their groups of tasks, as more than one trace has them, and the two samplings of users from them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.traces.checks import check_choice, check_rng, check_whole

__all__ = ["After", "BatchJobs", "DealtJobs", "Merge", "SampledJobs"]

_MOST_CELLS: Final = 2**27
#: How groups of one job with different requests are merged: into their mean, or queued one after the other.
Merge = Literal["mean", "queue"]
#: What a user does once its job has ended: nothing, or the job again.
After = Literal["idle", "cycle"]


def _check_number(value: Any, argument: str, least: float, rule: str) -> float:
    """Check that a number is positive, finite and at least `least`."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number or not (value > 0 and least <= value < 1e300):
        raise InvalidInput(argument, rule, value)
    return float(value)


def _check_cells(periods: int, n: int, argument: str, value: object) -> None:
    if periods * n > _MOST_CELLS:
        rule = f"must leave at most {_MOST_CELLS} pairs of period and user (here {periods} x {n})"
        raise InvalidInput(argument, rule, value)


class SampledJobs(NamedTuple):
    """Users drawn by :meth:`BatchJobs.sample`.

    Attributes
    ----------
    demands : (T, n, 2) float array, positive as the trace's requests are
        CPU in cores and memory that one instance of user i asks for in period t.
    tasks : (T, n) int array
        Number of instances; 0 where the user has none.
    jobs : (n,) int array
        Row of each user's job.
    """

    demands: NDArray[np.float64]
    tasks: NDArray[np.int64]
    jobs: NDArray[np.int64]


class DealtJobs(NamedTuple):
    """Users dealt their jobs by :meth:`BatchJobs.deal`.

    Attributes
    ----------
    demands : (T, n, 2) float array, positive as the trace's requests are
        CPU in cores and memory per instance of user i in period t; with ``merge="mean"`` the mean over its instances.
    tasks : (T, n) int array
        Number of instances; 0 where the user has none.
    users : (J,) int array
        To whom each job was dealt.
    start : float
        Second at which period 0 begins; a multiple of the period.
    """

    demands: NDArray[np.float64]
    tasks: NDArray[np.int64]
    users: NDArray[np.int64]
    start: float


def _fill_idle(demands: NDArray[np.float64], tasks: NDArray[np.int64]) -> None:
    """Give idle periods the user's last demand before (else its first one), so that no demand vector is empty."""
    T = len(tasks)
    at = np.where(tasks > 0, np.arange(T)[:, None], -1)
    np.maximum.accumulate(at, axis=0, out=at)
    first = np.argmax(tasks > 0, axis=0)
    at = np.where(at < 0, first, at)
    demands[:] = np.take_along_axis(demands, at[:, :, None], axis=0)


def _queue(when: NDArray[np.int64], owner: NDArray[np.int64], order: NDArray[np.intp]) -> NDArray[np.int64]:
    """Give each group, in `order` (by owner, then time), the first period, from its own on, that its owner has free."""
    slot = np.empty_like(when)
    bounds = np.flatnonzero(np.diff(owner[order])) + 1
    for groups in np.split(order, bounds):
        rank = np.arange(len(groups))
        slot[groups] = np.maximum.accumulate(when[groups] - rank) + rank
    return slot


class BatchJobs:
    """Jobs in order of creation, each with its groups of tasks.

    The class of a trace has the attributes first (J + 1,), created, instances, plan_cpu and memory (G,): job j has the
    groups first[j], ..., first[j + 1] - 1.
    """

    if TYPE_CHECKING:
        first: NDArray[np.int64]
        created: NDArray[np.int64]
        instances: NDArray[np.int64]
        plan_cpu: NDArray[Any]
        memory: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.first) - 1

    def __repr__(self) -> str:
        return f"Jobs({len(self)} jobs, {len(self.created)} task groups, {int(self.instances.sum())} instances)"

    @property
    def cores(self) -> NDArray[np.float64]:
        """Cores per instance of each group, (G,)."""
        return self.plan_cpu / 100.0

    @property
    def groups_per_job(self) -> NDArray[np.int64]:
        """Number of task groups of each job, (J,), at least 1."""
        return np.diff(self.first)

    @property
    def frame(self) -> pd.DataFrame:
        """One row per task group: job, s (place in the job, from 0), created, instances, plan_cpu, memory."""
        job = np.repeat(np.arange(len(self)), self.groups_per_job)
        s = np.arange(len(self.created)) - self.first[job]
        columns = {"job": job, "s": s, "created": self.created, "instances": self.instances}
        return pd.DataFrame(columns | {"plan_cpu": self.plan_cpu, "memory": self.memory})

    def sample(
        self,
        rng: np.random.Generator,
        n: int,
        *,
        periods: int | None = None,
        min_groups: int = 1,
        after: After = "idle",
        memory_unit: float = 1.0,
    ) -> SampledJobs:
        """Draw n jobs as users, a job's s-th group of tasks being its demand in period s.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness; the same state gives the same draw.
        n : int
            Number of users, positive.
        periods : int, optional
            Number T of periods; by default that of the drawn job with the most groups. Later groups are cut off.
        min_groups : int
            Draw among the jobs with at least so many groups.
        after : {"idle", "cycle"}
            What a job with fewer groups than periods does afterwards: nothing (0 tasks; the demand vector, which then
            has no meaning, stays the last one, so that it is positive), or begin again with its first group.
        memory_unit : float
            Memory of the largest machine in the unit wanted, positive; 1 leaves fractions of it.

        Returns
        -------
        SampledJobs

        Raises
        ------
        InvalidInput
            If an argument is none of the above, or fewer than n jobs have `min_groups` groups.

        Notes
        -----
        Jobs are drawn uniformly without replacement. O(T n + J).
        """
        check_rng(rng)
        n = check_whole(n, "n")
        least = check_whole(min_groups, "min_groups")
        if periods is not None:
            periods = check_whole(periods, "periods")
        check_choice(after, "after", ("idle", "cycle"))
        unit = _check_number(memory_unit, "memory_unit", 0.0, "must be a positive finite number")
        groups = self.groups_per_job
        able = np.flatnonzero(groups >= least)
        if len(able) < n:
            raise InvalidInput("n", f"must be at most {len(able)}, the jobs with {least} or more task groups", n)
        drawn = rng.choice(able, n, replace=False)
        T = int(groups[drawn].max()) if periods is None else periods
        _check_cells(T, n, "n" if periods is None else "periods", n if periods is None else periods)
        s = np.arange(T)[:, None]
        has = s < groups[drawn]
        place = np.minimum(s, groups[drawn] - 1) if after == "idle" else s % groups[drawn]
        at = self.first[drawn] + place
        tasks = np.where(has | (after == "cycle"), self.instances[at], 0)
        demands = np.stack((self.cores[at], self.memory[at] * unit), axis=-1)
        return SampledJobs(demands, tasks, drawn)

    def deal(
        self,
        rng: np.random.Generator,
        n: int,
        period: float,
        *,
        merge: Merge = "mean",
        memory_unit: float = 1.0,
    ) -> DealtJobs:
        """Deal all jobs out to n users, like cards, at their true times.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness; the same state gives the same deal.
        n : int
            Number of users, positive, at most the number of jobs. Users' numbers of jobs differ by one at most.
        period : float
            Length of a period in seconds, at least 1. Period 0 begins at the last multiple of it that is not after the
            first creation; a group belongs to the period it was created in.
        merge : {"mean", "queue"}
            A user has one demand vector per period. If more groups fall into it: ``"mean"`` joins them, with all their
            instances and the mean of their requests, weighted by instances, so that the total of each resource is kept
            while shapes are averaged; ``"queue"`` lets a group wait, in order of creation, until the first period that
            its user has free, so that every request is kept while time is not, and there are more periods.
        memory_unit : float
            Memory of the largest machine in the unit wanted, positive; 1 leaves fractions of it.

        Returns
        -------
        DealtJobs
            An idle period has 0 tasks and the user's last demand vector before (or, before all, its first), so that it
            is positive.

        Raises
        ------
        InvalidInput
            If an argument is none of the above, or T n would pass 2**27.

        Notes
        -----
        O(G log G + T n) for G groups; 24 T n bytes of results and about twice that on the way.
        """
        check_rng(rng)
        n = check_whole(n, "n")
        if n > len(self):
            raise InvalidInput("n", f"must be at most {len(self)}, the number of jobs", n)
        length = _check_number(period, "period", 1.0, "must be a finite number of seconds, at least 1")
        check_choice(merge, "merge", ("mean", "queue"))
        unit = _check_number(memory_unit, "memory_unit", 0.0, "must be a positive finite number")
        users = rng.permutation(np.arange(len(self)) % n)
        owner = np.repeat(users, self.groups_per_job)
        begin = math.floor(int(self.created.min()) / length)
        grid = np.floor(self.created / length) - begin
        when = grid.astype(np.int64)
        if merge == "queue":
            when = _queue(when, owner, np.lexsort((np.arange(len(owner)), self.created, owner)))
        T = int(when.max()) + 1
        _check_cells(T, n, "period", period)
        cell = when * n + owner
        order = np.argsort(cell, kind="stable")
        cells, starts = np.unique(cell[order], return_index=True)
        count = self.instances[order].astype(np.float64)
        tasks = np.zeros(T * n, np.int64)
        tasks[cells] = np.add.reduceat(self.instances[order], starts)
        demands = np.zeros((T * n, 2))
        for k, request in enumerate((self.plan_cpu[order] / 100.0, self.memory[order] * unit)):
            mean = np.add.reduceat(request * count, starts) / tasks[cells]
            # The bounds make the mean of equal requests that request itself, to the last bit.
            low, high = np.minimum.reduceat(request, starts), np.maximum.reduceat(request, starts)
            demands[cells, k] = np.clip(mean, low, high)
        shaped, counts = demands.reshape(T, n, 2), tasks.reshape(T, n)
        _fill_idle(shaped, counts)
        return DealtJobs(shaped, counts, users, begin * length)
