"""What a run of TV-DRF came to, period by period, and how it is judged from its own numbers alone."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.kernels import ALWAYS, kernel
from fairbook.mechanisms.engines.tv_drf_alone import DONE, FITS, IDLE, SPLIT, coefficients
from fairbook.mechanisms.engines.tv_drf_fluid import NEAR
from fairbook.model.allocation import Allocation
from fairbook.model.inputs import FloatArray, Names, as_tolerance
from fairbook.model.phased import PhasedRun
from fairbook.model.result import labels_or_positions, position


class _Period(Allocation):
    """One period of a run; what nothing stops here is stopped by its next task."""

    def explain(self, user: Hashable) -> str:
        i = position(user, self.users)
        if self.bottlenecks[i] == SPLIT:
            return f"{user} runs {self.tasks[i]:.6g} tasks: there is no room for its next task."
        return super().explain(user)


@dataclass(frozen=True, eq=False, repr=False)
class TvDrfRun(PhasedRun):
    """What happened in each of T periods to each of n users.

    Attributes
    ----------
    tasks : ndarray, shape (T, n)
        Tasks run in each period; with ``unserved="waits"`` those of older periods among them.
    sharing_coefficients : ndarray, shape (T, n)
        beta after each period.
    cumulative_shares : ndarray, shape (T, n)
        G after each period.
    amounts : ndarray, shape (T, n, m)
        Resource in use by each user in each period.
    alone : ndarray, shape (T, n, m)
        What each would have had in use in each period without sharing, in the reading ``reading``.
    unserved : ndarray, shape (T, n)
        Tasks left over at the end of each period: expired in it, or in the queue.
    bottlenecks : ndarray of int, shape (T, n)
        The resource that stops the user. Fluid: it is used up. Whole tasks: the pool as a whole has less left of it
        than the next task needs. -1 where all its tasks are run; -2 where its next task fits on no machine though the
        pool has room for it; -3 where it has no tasks.
    below_one : ndarray of bool, shape (T,)
        The periods at whose end some beta is below 1; fluid: in which beta >= 1 was out of reach.
    machine_use : ndarray, shape (T, K, m), or None
        Resource in use on each machine; None for the fluid mechanism.
    placement : ndarray of int, shape (T, n, K), or None
        Tasks on each machine, where asked for.
    demands : ndarray, shape (T, n, m)
    max_tasks : ndarray, shape (T, n)
    machines : ndarray, shape (K, m)
    contributions : ndarray, shape (n, K)
    weights : ndarray, shape (n,)
        w, summing to 1.
    method : {"heuristic", "lexicographic"}
    reading : {"bundles", "whole_bundles", "resources"}
        ``alone`` as given.
    waits : bool
        Whether ``unserved`` was given as ``"waits"``.
    memory : bool
    named_users, named_resources, named_machines : tuple or None
        Labels, where some were given.
    """

    step = "period"
    drawn = "cumulative_shares"
    names = ("users", "resources", "machine_names")

    tasks: FloatArray
    sharing_coefficients: FloatArray
    cumulative_shares: FloatArray
    amounts: FloatArray
    alone: FloatArray
    unserved: FloatArray
    bottlenecks: NDArray[np.int64]
    below_one: NDArray[np.bool_]
    machine_use: FloatArray | None
    placement: NDArray[np.int32] | None
    demands: FloatArray
    max_tasks: FloatArray
    machines: FloatArray
    contributions: FloatArray
    weights: FloatArray
    method: str
    reading: str
    waits: bool
    memory: bool = True
    named_users: Names | None = None
    named_resources: Names | None = None
    named_machines: Names | None = None

    @property
    def capacities(self) -> FloatArray:
        """Capacity of the whole pool, shape (m,)."""
        total: FloatArray = self.machines.sum(axis=0)
        return total

    @property
    def use(self) -> FloatArray:
        """Resource in use in each period, shape (T, m), in the unit of the capacities."""
        if self.machine_use is not None:
            return self.machine_use.sum(axis=1)
        return self.amounts.sum(axis=1)

    @property
    def utilisation_alone(self) -> FloatArray:
        """The same where nobody shares, shape (T, m)."""
        return self.alone.sum(axis=1) / self.capacities

    def at(self, period: int) -> Allocation:
        """Give one period (from 0) as an Allocation of the merged pool.

        Where tasks wait, its demands are those of the mean task that a user ran, and its bounds what a user could
        have run, queue included. The bottleneck of whoever has tasks left is -2 unless a resource is used up to the
        last bit: whole tasks leave something of it over. ``explain`` then says that there is no room for the next task.
        """
        t = self._step(period)
        demands, bounds, stops = self.demands[t], self.tasks[t] + self.unserved[t], self.bottlenecks[t]
        if self.waits:
            ran = self.tasks[t] > 0
            demands = np.where(ran[:, None], self.amounts[t] / np.where(ran, self.tasks[t], 1.0)[:, None], demands)
        needs = demands[np.arange(len(stops)), np.maximum(stops, 0)] > 0
        stops = np.where((stops == IDLE) & (demands > 0).any(axis=1), DONE, stops)
        full = (self.use[t] >= self.capacities * (1 - FITS))[np.maximum(stops, 0)]
        stops = np.where((stops >= 0) & ~(needs & full), SPLIT, stops)  # in whole tasks nothing need be full
        return _Period(
            self.tasks[t],
            demands,
            self.weights,
            self.capacities,
            bounds,
            stops,
            self.named_users,
            self.named_resources,
            mechanism=f"tv_drf, {self.method}",
            rule="credit",
        )

    def to_frame(self) -> pd.DataFrame:
        """Give one row a period and user: tasks, G, beta, tasks left over, what stops the user."""
        names = np.empty(len(self.resources) + 3, dtype=object)
        names[:-3] = self.resources
        names[-3:] = ["no tasks", "no machine", "own bound"]
        return self._frame(
            {
                "tasks": self.tasks,
                "cumulative_share": self.cumulative_shares,
                "sharing_coefficient": self.sharing_coefficients,
                "unserved": self.unserved,
                "bottleneck": names[self.bottlenecks],
            }
        )

    @property
    def machine_names(self) -> Names:
        """Names of the machines, or their positions."""
        return labels_or_positions(self.named_machines, len(self.machines))

    def placement_frame(self) -> pd.DataFrame:
        """Give one row a period, user and machine with tasks of that user on it: how many.

        Raises
        ------
        InvalidInput
            Where the run was made without ``placement=True``.
        """
        if self.placement is None:
            raise InvalidInput("placement", "must be True where the run is made (method='heuristic')", None)
        where = np.argwhere(self.placement > 0)
        users, machines = ([names[k] for k in where[:, c]] for c, names in ((1, self.users), (2, self.machine_names)))
        index = pd.MultiIndex.from_arrays([where[:, 0], users, machines], names=["period", "user", "machine"])
        return pd.DataFrame({"tasks": self.placement[tuple(where.T)]}, index=index)

    def _resource(self, j: int) -> str:
        return f"resource {j}" if self.named_resources is None else str(self.named_resources[j])

    def explain(self, user: Hashable, period: int | None = None) -> str:
        """Say in a few words why this user has what it has after a period (from 0; default: the last)."""
        t, i = self._place(user, period)
        stop = int(self.bottlenecks[t, i])
        if stop == IDLE:
            return f"{user} has no tasks in period {t}."
        if stop == DONE:
            why = "it has no more"
        elif stop == SPLIT:
            why = "the next fits on no machine, though the pool as a whole has room"
        elif self.machine_use is None:
            why = f"{self._resource(stop)} is used up"
        else:
            why = f"the next needs more {self._resource(stop)} than is left"
        return (
            f"{user} runs {self.tasks[t, i]:.6g} tasks in period {t}: {why}. So far it has "
            f"{self.sharing_coefficients[t, i]:.6g} times what it would have had alone (its scarcest resource), "
            f"and stands at G = {self.cumulative_shares[t, i]:.6g}."
        )

    def violations(self, rtol: float = 1e-9) -> list[str]:
        """List every way in which the stored numbers contradict the model; empty means that they do not.

        Capacity of each machine (of the pool, where fluid), bounds, queues, whole tasks, amounts and G from the tasks
        in the order of submission, beta from the amounts, parts and weights that sum to 1, and what stops a user:
        fluid, a resource that is used up; whole tasks, a next task that fits on no machine and needs more than is left
        of the resource named. Of ``alone`` that it is made of tasks in that order, that they fit on the own parts, and
        that the next one does not. Not whether the choice was fair.

        Notes
        -----
        Cost O(T n K m).
        """
        rtol = as_tolerance(rtol)
        found: list[str] = []

        def check(right: NDArray[np.bool_], text: str) -> None:
            """Comparisons say what is right, so that NaN is wrong."""
            found.extend(f"{text} in period {t}" for t in np.flatnonzero(~right.reshape(len(self), -1).all(axis=1)))

        def near(a: FloatArray, b: FloatArray, slop: Any = 0.0) -> NDArray[np.bool_]:
            with np.errstate(invalid="ignore"):  # infinite less infinite
                close: NDArray[np.bool_] = np.isfinite(b) & (np.abs(a - b) <= rtol * (1 + np.abs(b)) + slop)
            return close | (a == b)

        if not (near(self.weights.sum(), np.array(1.0)) and (self.weights > 0).all()):
            found.append("weights are not positive or do not sum to 1")
        if not (near(self.contributions.sum(axis=0), np.array(1.0), 1e-9).all() and (self.contributions >= 0).all()):
            found.append("contributions are negative or do not sum to 1")
        if not ((self.machines >= 0) & np.isfinite(self.machines)).all():
            found.append("machines are not numbers")
        total, whole = self.capacities, self.machine_use is not None
        share, rate = self.amounts / total, self.demands / total
        if self.machine_use is not None:
            check(self.machine_use <= self.machines * (1 + rtol), "a machine is overdrawn")
            check(self.tasks == np.floor(self.tasks), "some tasks are not whole")
            check(near(self.machine_use.sum(axis=1) / total, share.sum(axis=1)), "machines and users do not add up")
        if self.placement is not None:
            check(self.placement.sum(axis=2) == self.tasks, "placements and tasks do not add up")
            if self.machine_use is not None and not self.waits:
                placed = np.einsum("tik,tij->tkj", self.placement.astype(float), rate)
                check(near(placed, self.machine_use / total), "placements and machines do not add up")
        check(share.sum(axis=1) <= 1 + rtol, "the pool is overdrawn")
        waited = np.zeros_like(self.tasks)
        if self.waits:
            waited[1:] = self.unserved[:-1]
        finite = np.isfinite(self.max_tasks)
        most = np.where(finite, self.max_tasks, 0.0) + waited
        slight = rtol * (1 + most)
        check((self.tasks >= 0) & (self.unserved >= -slight), "tasks or tasks left over are negative")
        check(self.max_tasks >= 0, "bounds are not numbers")
        check((self.demands >= 0) & np.isfinite(self.demands), "demands are not numbers")
        left = np.where(finite, self.unserved, np.inf)
        check(
            np.where(
                finite,
                np.abs(self.tasks + self.unserved - most) <= slight,
                np.isfinite(self.tasks) & (self.unserved == np.inf),
            ),
            "tasks do not add up",
        )
        amounts, gained, slop, following = replay(
            rate, self.max_tasks, self.tasks, self.weights, self.waits, 0.0 if whole else NEAR
        )
        check(near(share, amounts, slop), "amounts do not follow from the tasks")
        slop = np.cumsum(slop.max(axis=2) / self.weights, axis=0)
        check(near(self.cumulative_shares, np.cumsum(gained, axis=0), slop), "G does not follow from the tasks")
        check(self.alone >= 0, "amounts alone are not numbers")
        check(self._alone_stands(rtol), "amounts alone do not follow from the queue and the own parts")
        check(near(self.sharing_coefficients, coefficients(self.amounts, self.alone)), "beta is wrong")
        beta = self.sharing_coefficients
        if not whole and not self.memory:  # what was decided on: each period by itself
            beta = coefficients(self.amounts, self.alone, False)
        check(self.below_one == (beta < 1 - FITS).any(axis=1), "below_one is wrong")
        if not whole and never_below(self.reading, self.waits, self.memory):
            check(beta >= 1 - rtol, "someone has less than it would have had alone")
        stops = self.bottlenecks
        check((stops >= IDLE) & (stops < len(total)), "some bottleneck does not exist")
        check((stops == IDLE) == (finite & (most <= 0)), "someone is wrongly said to have no tasks, or to have some")
        check((stops != DONE) | (left <= slight), "someone has tasks left after all")
        if self.machine_use is None:
            full = share.sum(axis=1) >= 1 - rtol
            for j in range(len(total)):
                check(
                    (stops != j) | full[:, j, None], f"{self._resource(j)} is said to stop someone and is not used up"
                )
            check(stops != SPLIT, "no machine is said to have room, and there is one pool")
            after = rate[following, np.arange(len(self.weights))]  # of whoever has tasks left: the next one
            needed = np.take_along_axis(after, np.clip(stops, 0, len(total) - 1)[:, :, None], axis=2)[:, :, 0] > 0
            check((stops < 0) | needed, "a resource is said to stop someone whose next task does not need it")
        else:
            check((stops == IDLE) | (stops == DONE) | (left > 0), "someone is stopped without tasks left")
            free = (total - self.use) / total
            held, room = refused(
                rate, following, stops, free, (self.machines - self.machine_use) / total, self.machines / total, rtol
            )
            check(held, "a resource is said to stop someone and suffices")
            check(room, "someone's next task fits on a machine")
        return found

    def _alone_stands(self, rtol: float) -> NDArray[np.bool_]:
        """Whether ``alone`` is right, shape (T, n), from the stored amounts themselves."""
        total = self.capacities
        if self.reading != "resources":
            own = alike(self.machines / total, self.contributions)
            return replay_alone(
                self.demands / total,
                self.max_tasks,
                *own,
                self.alone / total,
                self.waits,
                self.reading == "whole_bundles",
                rtol,
            )
        with np.errstate(invalid="ignore"):  # infinitely many tasks of nothing, and infinite less infinite
            asked = np.where(self.demands > 0, self.demands * self.max_tasks[:, :, None], 0.0)
            if self.waits:
                asked[1:] += np.cumsum(asked - self.alone, axis=0)[:-1]
            right = np.minimum(asked, self.contributions @ self.machines)
            return np.asarray((np.abs(self.alone - right) <= rtol * total).all(axis=2))


def never_below(alone: str, waits: bool, memory: bool) -> bool:
    """Whether beta >= 1 can always be had: all run what they could run alone, and alone are in no other queue."""
    return alone != "resources" and (memory or not waits)


def alike(pool: FloatArray, parts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Capacities and parts where machines of one size and one ownership count as one."""
    m = pool.shape[1]
    if len(pool) == 1:  # sorting takes numpy 30 us, a third of all that a small input costs
        return pool + 0.0, parts.copy()
    if not parts.strides[1]:  # the same part of every machine
        kinds, count = np.unique(pool + 0.0, axis=0, return_counts=True)
        parts = parts[:, :1]
    else:
        kinds, count = np.unique(np.hstack([pool, parts.T]) + 0.0, axis=0, return_counts=True)
        parts = kinds[:, m:].T
    return kinds[:, :m] * count[:, None], np.broadcast_to(parts, (len(parts), len(kinds))).copy()


# ------------------------------------------------------------------------------- tasks gone through once more


@kernel(ALWAYS)
def replay_alone(
    rate: FloatArray,
    bounds: FloatArray,
    machines: FloatArray,
    parts: FloatArray,
    own: FloatArray,
    waits: bool,
    whole: bool,
    rtol: float,
) -> NDArray[np.bool_]:
    """Say of each period and user whether ``own`` is what its queue runs on its own parts, up to ``rtol`` of the pool.

    All as parts of the pool. How far a queue has come follows from the amounts added up over resources: each task adds
    to them. Cost O(T n K m).
    """
    T, n, m = rate.shape
    K = len(machines)
    right = np.zeros((T, n), dtype=np.bool_)
    room, made, fits = np.empty((K, m)), np.empty(m), np.empty(K)
    for i in range(n):
        head, rest = 0, bounds[0, i]
        for t in range(T):
            if not waits:
                head, rest = t, bounds[t, i]
            for k in range(K):
                for j in range(m):
                    room[k, j] = machines[k, j] * parts[i, k]
            want, stands = own[t, i].sum(), True
            made[:] = 0.0
            while head <= t:
                size = rate[head, i].sum()
                if rest > 0.0 and size > 0.0:
                    for k in range(K):
                        fits[k] = np.inf
                        for j in range(m):
                            if rate[head, i, j] > 0.0:
                                # half of what the run allows: less than that was refused, a tie is more
                                spare = FITS / 2.0 * machines[k, j] * parts[i, k] if whole else 0.0
                                fits[k] = min(fits[k], (room[k, j] + spare) / rate[head, i, j])
                    most = fits.sum()
                    some = min(max(want, 0.0) / size, rest)
                    if whole:
                        some = np.floor(some + 0.5)
                    stands &= (some - most) * size <= rtol
                    for j in range(m):
                        made[j] += some * rate[head, i, j]
                        if most > 0.0:
                            for k in range(K):
                                room[k, j] = max(room[k, j] - some * fits[k] / most * rate[head, i, j], 0.0)
                    want -= some * size
                    rest -= some
                    if rest * size > rtol:  # it stops here, as there is no room
                        more = min(most - some, rest)
                        stands &= more < 1.0 if whole else more * size <= rtol
                        break
                head += 1
                if head <= t:
                    rest = bounds[head, i]
            for j in range(m):
                stands &= abs(made[j] - own[t, i, j]) <= rtol
            right[t, i] = stands
            if head > t and t + 1 < T:
                head, rest = t + 1, bounds[t + 1, i]
    return right


@kernel()
def replay(
    rate: FloatArray, bounds: FloatArray, tasks: FloatArray, weights: FloatArray, waits: bool, near: float
) -> tuple[FloatArray, FloatArray, FloatArray, NDArray[np.int64]]:
    """Give what given tasks take when they are served in the order of submission.

    Returns amounts as parts of the pool (T, n, m); what they add to G (T, n); how far amounts may be off because a
    group may have ended a rounding error earlier or later (T, n, m), where ``near`` is that error; the period that
    submitted the next task (T, n). Cost O(T n m).
    """
    T, n, m = rate.shape
    amounts, gained, slop = np.zeros((T, n, m)), np.zeros((T, n)), np.zeros((T, n, m))
    following = np.zeros((T, n), dtype=np.int64)
    for i in range(n):
        head, rest = 0, bounds[0, i]
        for t in range(T):
            want = tasks[t, i]
            if not waits:
                head, rest = t, bounds[t, i]
            while True:
                error = near * (tasks[t, i] + bounds[head, i]) if near > 0.0 else 0.0
                some = want if want < rest - error else rest
                if not waits:
                    some = want
                if some > 0.0 and want > 0.0:
                    largest = 0.0
                    for j in range(m):
                        amounts[t, i, j] += some * rate[head, i, j]
                        largest = max(largest, rate[head, i, j])
                    gained[t, i] += some * largest / weights[i]
                if waits:
                    for j in range(m):
                        slop[t, i, j] += error * rate[head, i, j]
                if not waits or want < rest - error:
                    rest -= max(some, 0.0)
                    break
                want -= rest
                if head == t:
                    rest = 0.0
                    break
                head += 1
                rest = bounds[head, i]
                if not want > error:
                    break
            while head < t and not rest > 0.0:  # nothing was submitted then
                head += 1
                rest = bounds[head, i]
            following[t, i] = head
            if waits and rest <= 0.0 and head == t and t + 1 < T:
                head, rest = t + 1, bounds[t + 1, i]
    return amounts, gained, slop, following


@kernel()
def refused(
    rate: FloatArray,
    following: NDArray[np.int64],
    stops: NDArray[np.int64],
    free: FloatArray,
    left: FloatArray,
    sizes: FloatArray,
    rtol: float,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Say of each user with tasks left whether the resource named falls short, and whether no machine has room.

    All as parts of the pool: tasks (T, n, m), what is left of it (T, m) and of each machine (T, K, m), sizes (K, m).
    """
    T, n, m = rate.shape
    short, none = np.ones((T, n), dtype=np.bool_), np.ones((T, n), dtype=np.bool_)
    for t in range(T):
        for i in range(n):
            j = stops[t, i]
            if j >= m:  # no resource falls short that is not there
                short[t, i] = False
                continue
            if j < 0 and j != SPLIT:
                continue
            task = rate[following[t, i], i]
            if j >= 0:
                short[t, i] = task[j] > free[t, j] - rtol
            for k in range(len(sizes)):
                fits = True
                for f in range(m):
                    fits &= task[f] <= left[t, k, f] - rtol * sizes[k, f]
                if fits:
                    none[t, i] = False
    return short, none
