"""TV-DRF (Li et al. 2019): contributed machines, demands that change with time, fairness over all periods so far.

Users bring parts of machines. In period t user i submits up to B_i(t) tasks that need alpha_i(t) each and last one
period; then all machines are empty again. Two numbers carry fairness over time, both added up over the periods so far:

* the *cumulative share* G_i = sum of N_i r_i / w_i, where N_i is the number of tasks run, r_i the dominant share of one
  task and w_i what i brought;
* the *sharing coefficient* beta_i = min over j of (resource j used) / (resource j that i would have had alone).

The mechanism is the lexicographic max-min optimum of G(t) among the allocations with beta(t) >= 1, period by period,
what was used before being history. :func:`tv_drf` runs the authors' heuristic in whole tasks, or this optimum itself,
fluid.

Readings, since most formulas of the paper are lost:

* **alone**. ``"bundles"``: the amounts of the tasks that i could run on its own parts of the machines, fractions of
  tasks allowed. ``"whole_bundles"``: the same, rounded down to whole tasks after adding up over machines (on several of
  them the sum may hold tasks that no single part does). ``"resources"``: of each resource by itself
  the smaller of what all submitted tasks need and what i brought; what no task vector can use counts, too.
* **unserved**. ``"expires"``: tasks not run in their period are gone, in the pool and alone. ``"waits"``: they queue,
  in the pool and, by what would have been left over there, alone. A queue is served in the order of submission: tasks
  keep the demand vector of the period that submitted them, and none overtakes an older one of the same user, not even
  where the older one does not fit. (Alone in the reading ``"resources"`` each resource has a queue of its own.)
* **0/0**. beta_i is the least ratio over the resources that i would have had some of, so far. Where there is none, beta
  is 1 if i has used nothing and infinite if it has.
* **best fit (17)**, after DRFH. Demand and what is left on a machine, both as parts of the pool's totals, are divided
  by their entry for the first resource that the task needs; the distance is the sum of the absolute differences. (Where
  the first resource of all is needed, that is DRFH's.) Among the machines that hold the task the nearest one takes it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.mechanisms.choices import check_choice
from fairbook.mechanisms.engines.nearest import DISTANCE, as_machines
from fairbook.mechanisms.engines.tv_drf_fluid import NEAR, State, as_queues, enough, flow
from fairbook.mechanisms.engines.tv_drf_kernels import (
    DONE,
    FITS,
    IDLE,
    SPLIT,
    add_parts,
    alone_by_resources,
    alone_by_tasks,
    coefficients,
    heuristic,
)
from fairbook.mechanisms.readings import Alone, TvMethod, Unserved
from fairbook.mechanisms.tv_drf_replay import refused, replay, replay_alone
from fairbook.model.allocation import Allocation
from fairbook.model.inputs import (
    LARGEST,
    FloatArray,
    Named,
    Names,
    as_tolerance,
    as_weights,
    check_amounts,
    check_apart,
    check_switch,
    demand_matrix,
    in_words,
    number_of_dimensions,
    order_of,
    per_user,
    phased_demands,
    raise_at_first,
)
from fairbook.model.instance import takes_instance
from fairbook.model.phased import PhasedRun
from fairbook.model.placement import machine_matrix
from fairbook.model.result import labels_or_positions, position

__all__ = ["TvDrfRun", "tv_drf"]

#: The heuristic hands out no more whole tasks than about this, and keeps no more numbers on their machines.
MOST = 1e9

# ------------------------------------------------------------------------------------------------------ results


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
            own = _alike(self.machines / total, self.contributions)
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


# ---------------------------------------------------------------------------------------------------- the input


def _matrix(values: Any, argument: str, rows: str, columns: str) -> Named:
    """Read a matrix of two kinds of things."""
    with in_words(
        ("n users, m resources", f"{rows}, {columns}"),
        ("one user and one resource", f"one {rows[2:-1]} and one {columns[2:-1]}"),
    ):
        return demand_matrix(values, argument)


def _as_contributions(
    contributions: Any, n: int, K: int, users: Names | None, machines: Names | None
) -> tuple[FloatArray, Names | None]:
    """Give the parts, (n, K), and names of machines."""
    if number_of_dimensions(contributions) == 1:
        values = np.broadcast_to(per_user(contributions, n, users, "contributions")[:, None], (n, K))  # one column
    else:
        named = _matrix(contributions, "contributions", "n users", "K machines")
        values = named.values
        if values.shape != (n, K):
            raise InvalidInput("contributions", f"must have shape ({n} users, {K} machines) or ({n},)", values.shape)
        rows = order_of(named.users, users, "contributions.index", "users")
        if machines == tuple(range(K)) and named.resources is not None and set(named.resources) != set(machines):
            machines = None  # mere positions, not names
        columns = order_of(named.resources, machines, "contributions.columns", "machines")
        machines = machines if machines is not None else named.resources
        if rows is not None:
            values = np.ascontiguousarray(values[rows])
        if columns is not None:
            values = np.ascontiguousarray(values[:, columns])
    check_amounts(values, "contributions")
    sums = values.sum(axis=0)
    for k in np.flatnonzero(~(np.abs(sums - 1) <= 1e-9))[:1].tolist():
        raise InvalidInput(
            "contributions", f"must sum to 1 over the users for each machine (machine {k})", float(sums[k])
        )
    return values, machines


def _as_tasks(tasks: Any, demands: FloatArray, users: Names | None, whole: bool, waits: bool) -> FloatArray:
    T, n, _ = demands.shape
    named = _matrix(tasks, "tasks", "T periods", "n users")
    if named.values.shape != (T, n):
        raise InvalidInput("tasks", f"must have shape ({T} periods, {n} users)", named.values.shape)
    columns = order_of(named.resources, users, "tasks.columns", "users")
    values = named.values if columns is None else np.ascontiguousarray(named.values[:, columns])
    finite = np.isfinite(values)
    for bad, rule in (
        (np.isnan(values), "must be a number"),
        (values < 0, "must not be negative"),
        (finite & (values > LARGEST), f"must be at most {LARGEST:g} or infinite"),
        (~finite & waits, "must be finite where unserved tasks wait"),
        (whole & finite & (values != np.floor(values)), "must be whole for method='heuristic'"),
        (~(demands > 0).any(axis=2) & (values != 0), "must be 0 where the demand vector is zero"),
    ):
        raise_at_first(bad, "tasks", rule, values)
    return values


def _most_handed_out(demands: FloatArray, bounds: FloatArray, total: FloatArray, waits: bool) -> float:
    """Bound the number of whole tasks from above: the smallest ones first, by their mean share, until the pool is full.

    Cost O(T n (m + log n)).
    """
    size = (demands / total).mean(axis=2)
    periods = 1.0
    if waits:  # any period from then on may serve them
        size, bounds, periods = size.reshape(1, -1), bounds.reshape(1, -1), float(len(bounds))
    some = bounds > 0
    size = np.where(some, size, 1.0)
    count = np.where(some, np.minimum(bounds, periods / size), 0.0)
    order = np.argsort(size, axis=1)
    size, count = np.take_along_axis(size, order, axis=1), np.take_along_axis(count, order, axis=1)
    before = np.cumsum(count * size, axis=1) - count * size
    return float(np.minimum(count, np.maximum(periods - before, 0.0) / size).sum())


def _alike(pool: FloatArray, parts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Capacities and parts where machines of one size and one ownership count as one."""
    m = pool.shape[1]
    if len(pool) == 1:  # sorting takes numpy 30 us, a third of all that a small input costs
        return pool + 0.0, parts.copy()
    if not parts.strides[1]:  # the same part of every machine
        kinds, alike = np.unique(pool + 0.0, axis=0, return_counts=True)
        parts = parts[:, :1]
    else:
        kinds, alike = np.unique(np.hstack([pool, parts.T]) + 0.0, axis=0, return_counts=True)
        parts = kinds[:, m:].T
    return kinds[:, :m] * alike[:, None], np.broadcast_to(parts, (len(parts), len(kinds))).copy()


@takes_instance
def tv_drf(
    demands: Any,
    tasks: Any = None,
    machines: Any = None,
    contributions: Any = None,
    *,
    method: TvMethod = "heuristic",
    alone: Alone = "bundles",
    unserved: Unserved = "expires",
    weights: Any = None,
    memory: bool = True,
    placement: bool = False,
) -> TvDrfRun:
    """Allocate over periods by TV-DRF (Li et al. 2019).

    Parameters
    ----------
    demands : array_like, shape (T, n, m), sequence of T DataFrames with the same labels, or Instance
        Resource per task in each period, in the unit of ``machines``. A row of zeros: no tasks.
    tasks : array_like or DataFrame, shape (T, n)
        Tasks that each submits in each period, an upper bound: whole for the heuristic, ``inf`` allowed where unserved
        tasks expire, 0 where the demands are zero. The columns of a DataFrame are matched with the users by name; its
        index is not read: row t is period t. In an Instance these are its ``max_tasks``.
    machines : array_like or DataFrame, shape (K, m)
        Capacity of each machine.
    contributions : array_like or DataFrame, shape (n, K), or (n,)
        The part of each machine that each user brought, in [0, 1]; sums to 1 over the users. Shape (n,): the same part
        of every machine. The columns of a DataFrame are matched with the index of ``machines`` by name.
    method : {"heuristic", "lexicographic"}
        ``"heuristic"``: whole tasks one by one (Algorithm 1): as long as someone who can still run a task has beta
        below 1, to the one among them with the least beta, else to the one with the least G; to the machine that fits
        best. Whose next task fits nowhere is done for this period, and the others go on. ``"lexicographic"``: the
        optimum of (9), fluid; machines must have one shape, so that they are one pool.
    alone : {"bundles", "whole_bundles", "resources"}
    unserved : {"expires", "waits"}
        Readings: see the head of :mod:`fairbook.mechanisms.tv_drf`.
    weights : array_like or Series, shape (n,), optional
        w, scaled to sum to 1. Default: the mean over the resources of the part of the pool's total that the user
        brought.
    memory : bool
        Whether the past counts. Without it every period is shared as if it were the first, by beta and G of that period
        alone; the run still reports beta and G over all periods.
    placement : bool
        Whether to keep how many tasks of each user are on each machine: T n K numbers of 4 bytes, at most 1e9 of them.

    Returns
    -------
    TvDrfRun
        ``tasks``, ``sharing_coefficients``, ``cumulative_shares`` (T, n), ``use`` (T, m), ...

    Raises
    ------
    InvalidInput
        Naming argument, rule and value.

    Notes
    -----
    Where beta >= 1 cannot be had for all at once the fluid mechanism first makes min(beta, 1) lexicographically max-min
    fair (``below_one`` tells), then G. This is what Algorithm 1 does in whole tasks. In bundles, whole ones too, it can
    always be had, unless tasks wait and ``memory`` is off; with ``"resources"`` it fails with one user, one period:
    tasks of (1, 1/2), capacities (1, 1). Of the users that have the same beta while their next tasks do not raise it,
    those with smaller indices pass these tasks if there is not room for all (most would pass by solving a knapsack).

    Ties of the heuristic: the user with the smaller index, the machine with the smaller index, among numbers that are
    equal as computed. Where two accounts, or two distances, are equal in exact arithmetic and not in doubles, either
    may come first, and a run can differ by some tasks from one in fractions. A task fits if it leaves
    no resource of the machine below -1e-12 of its capacity. A coefficient within 1e-12 of 1 is 1.

    What rounding leaves over holds up no queue: up to 1e-12 of a group of tasks or of an own part (alone), and up to
    1e-13 of a resource of the pool (fluid), count as nothing. Whoever lives on what is left of a resource and needs r
    times more of another may have a share off by r times as much; the fluid refuses r above 1e9.

    Cost of the heuristic, per task handed out on K machines: O(log n + m K) where they are at most 256, looked at one
    by one; more stand in a tree, O(log n + m log K) where what is free on them is spread evenly, at worst O(m K).
    Besides, O(K (m + log K) + n m) a period; O(m K) for each user that is refused after a placement, to say what is
    missing; and for the amounts alone O(m) per user, period and distinct machine. All this where the tasks need the
    same resource first: where L different ones come first, m L numbers are kept of a machine in place of m. Memory
    O(K m L + T (K + n) m), but for ``placement``.
    Input for which the pool could hold more than about 1e9 tasks in all is refused.

    Cost of the lexicographic mechanism: O(n m log n + n m^2) a period where nothing waits. Where tasks wait, each
    period goes through all groups that are still in a queue: in a pool that is always overloaded the time grows with
    the square of T (measured with few users: below a second for 4000 periods, 6 seconds for 16000).

    The run of a period depends on that period and the ones before: with more periods appended, what is already run
    comes out the same. To go on from day to day, append and run again.

    References
    ----------
    Li, Zhang, Li, Zhang 2019, Algorithm 1, (9) and (17) (reconstructed); Wang, Li, Liang, "Dominant resource fairness
    in cloud computing systems with heterogeneous servers", INFOCOM 2014, for the distance.

    Examples
    --------
    The worked example of the paper (task counts of the second period are ours, found by search).

    >>> run = tv_drf([[[2, 1], [1, 1]], [[5, 5], [20, 10]]], [[15, 70], [12, 4]], [[50, 50], [50, 50]],
    ...              [[1, 0], [0, 1]], alone="resources")
    >>> run.tasks
    array([[15., 70.],
           [12.,  2.]])
    >>> run.sharing_coefficients
    array([[1.   , 1.4  ],
           [1.125, 1.   ]])
    """
    check_choice(method, "method", TvMethod)
    check_choice(alone, "alone", Alone)
    check_choice(unserved, "unserved", Unserved)
    check_switch(placement, "placement")
    check_switch(memory, "memory")
    with in_words(("phase", "period")):
        values, users, resources = phased_demands(demands)
    T, n, m = values.shape
    waits, whole = unserved == "waits", method == "heuristic"
    bounds = _as_tasks(tasks, values, users, whole, waits)
    pool, names, resources = machine_matrix(machines, m, resources)
    for j in np.flatnonzero(~(pool > 0).any(axis=0))[:1].tolist():
        raise InvalidInput("machines", f"must have some of resource {j}", pool[:, j].tolist())
    K, total = len(pool), pool.sum(axis=0)
    parts, names = _as_contributions(contributions, n, K, users, names)
    brought = np.zeros((n, m))
    add_parts(parts, pool, brought)  # the digits of a matrix product depend on the processor
    if weights is None:
        weight = (brought / total).mean(axis=1)
        for i in np.flatnonzero(~(weight > 0))[:1].tolist():
            raise InvalidInput(
                "contributions", "must be positive somewhere unless weights are given", parts[i].tolist(), (i,)
            )
    else:
        weight = as_weights(weights, n, users)
    if not whole and K > 1 and not (np.abs(pool / total / (pool / total).max(axis=1, keepdims=True) - 1) <= 1e-9).all():
        raise InvalidInput(
            "machines", "must have one shape for method='lexicographic', so that they are one pool", pool.tolist()
        )
    if not whole:
        check_apart(values / total)
    if whole and bounds.sum() > MOST and (count := _most_handed_out(values, bounds, total, waits)) > MOST:
        raise InvalidInput(
            "tasks",
            "must be fewer for method='heuristic', which hands out whole tasks one by one; use "
            "larger tasks or method='lexicographic'",
            f"room for about {count:.2g}",
        )
    if whole and placement and T * n * K > MOST:
        raise InvalidInput("placement", f"must be False where it would hold more than {MOST:.0g} numbers", T * n * K)
    most = bounds if whole else np.minimum(bounds, enough(values, total) * (T if waits else 1))
    heads, rests = np.zeros((T, n), dtype=np.int64), np.zeros((T, n))
    if alone == "resources":  # as good as infinite, and times zero it is zero
        own = alone_by_resources(values, np.minimum(bounds, LARGEST**2), brought, waits)
    else:
        own = np.zeros_like(values)
        alone_by_tasks(values, most, *_alike(pool, parts), waits, alone == "whole_bundles", FITS, own, heads, rests)
    ran, cumulative, left, beta = (np.zeros((T, n)) for _ in range(4))
    amounts, stops = np.zeros_like(values), np.full((T, n), IDLE)
    machine_use = placed = None
    if whole:
        machine_use, placed = np.zeros((T, K, m)), np.zeros((T, n, K) if placement else (0, 0, 0), dtype=np.int32)
        some = values[(values > 0).any(axis=2)] if values.any() else total[None]
        leads = np.unique((some > 0).argmax(axis=1))
        scale = 1.0 / total
        unit = scale / scale[leads][:, None]
        at = as_machines(pool.copy(), pool.copy(), some.min(axis=0), leads, unit, DISTANCE)
        results = ran, amounts, machine_use, beta, cumulative, left, stops, placed
        steps = heuristic(values, bounds, pool, weight, own, waits, memory, *results, at)
    else:
        sure = never_below(alone, waits, memory)
        known = as_queues(most), total, own, weight, waits, memory, sure, (heads, rests), NEAR
        state = State(*np.zeros((2, n, m)), *np.zeros((2, n)))
        steps = flow(values, *known, state, (ran, amounts, cumulative, left, stops))
    with np.errstate(all="ignore"):
        for _ in steps:  # between two of them an interrupt is seen
            pass
    if not whole:
        left = left + np.cumsum(bounds - most, axis=0) if waits else bounds - ran
    if not (whole and memory):
        beta = coefficients(amounts, own)
    decided = beta if whole or memory else coefficients(amounts, own, False)
    below = np.asarray((decided < 1 - FITS).any(axis=1))
    return TvDrfRun(
        ran,
        beta,
        cumulative,
        amounts,
        own,
        left,
        stops,
        below,
        machine_use,
        placed if placement else None,
        values,
        bounds,
        pool,
        parts,
        weight,
        method,
        alone,
        waits,
        memory,
        users,
        resources,
        names,
    )
