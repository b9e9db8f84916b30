"""What a run of TV-DRF came to, period by period, and how it is judged from its own numbers alone."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.model.allocation import Allocation, Words
from fairbook.model.inputs import FITS, IDLE, NOTHING, OWN, RTOL, FloatArray, Names, as_tolerance
from fairbook.model.phased import PhasedRun
from fairbook.model.result import called, labels_or_positions, unsound


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

    mechanism = "tv_drf"
    step = "period"
    drawn = "cumulative_shares"
    names = ("users", "resources", "machine_names")
    arrays: ClassVar[dict[str, str]] = {
        "demands": "tnm amount",
        "machines": "km amount",
        "max_tasks": "tn bound",
        "contributions": "nk amount",
        "weights": "n size",
        **dict.fromkeys(("tasks", "cumulative_shares"), "tn amount"),
        "sharing_coefficients": "tn bound",
        "amounts": "tnm amount",
        "alone": "tnm amount",
        "unserved": "tn told",
        "bottlenecks": "tn place",
        "below_one": "t truth",
        "machine_use": "tkm number",
        "placement": "tnk whole",
    }

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
        have run, queue included. Its levels are what the period adds to G. The bottleneck of whoever has tasks left is
        -2 unless a resource is used up to the last bit: whole tasks leave something of it over. ``explain`` then says
        that there is no room for the next task.
        """
        t = self._step(period)
        demands, bounds, stops = self.demands[t], self.tasks[t] + self.unserved[t], self.bottlenecks[t]
        ran, before = self.tasks[t] > 0, self.cumulative_shares[t - 1] if t else 0.0
        if self.waits:
            demands = np.where(ran[:, None], self.amounts[t] / np.where(ran, self.tasks[t], 1.0)[:, None], demands)
        needs = demands[np.arange(len(stops)), np.maximum(stops, 0)] > 0
        stops = np.where((stops == IDLE) & (demands > 0).any(axis=1), OWN, stops)
        full = (self.use[t] >= self.capacities * (1 - FITS))[np.maximum(stops, 0)]
        stops = np.where((stops >= 0) & ~(needs & full), NOTHING, stops)  # in whole tasks nothing need be full
        return Allocation(
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
            per_task=(self.cumulative_shares[t] - before) * ran / np.where(ran, self.tasks[t], 1.0),
            words=Words("what this period adds to its G", nothing="there is no room for its next task"),
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

    def explain(self, user: Hashable, period: int | None = None) -> str:
        """Say in a few words why this user has what it has after a period (from 0; default: the last)."""
        t, i = self._place(user, period)
        stop = int(self.bottlenecks[t, i])
        if stop == IDLE:
            return f"{called(user)} has no tasks in period {t}."
        why = {
            OWN: "it has no more",
            NOTHING: "the next fits on no machine, though the pool as a whole has room",
        }.get(stop)
        if why is None:
            name = called(self.resources[stop], "resource")
            why = f"{name} is used up" if self.machine_use is None else f"the next needs more {name} than is left"
        return (
            f"{called(user)} runs {self.tasks[t, i]:.6g} tasks in period {t}: {why}. So far it has "
            f"{self.sharing_coefficients[t, i]:.6g} times what it would have had alone (its scarcest resource), "
            f"and stands at G = {self.cumulative_shares[t, i]:.6g}."
        )

    certificate = "consistent: all accounts follow from the tasks, which fit; the choice between users is not checked"

    def violations(self, rtol: float = RTOL) -> list[str]:
        """List every way in which the stored numbers contradict the model; empty means that they do not.

        Capacity of each machine (of the pool, where fluid), bounds, queues, whole tasks, amounts and G from the tasks
        in the order of submission, beta from the amounts, parts and weights that sum to 1, and what stops a user:
        fluid, a resource that is used up; whole tasks, a next task that fits on no machine and needs more than is left
        of the resource named. What each would have had alone is worked out from demands, bounds and parts, by code that
        the mechanism does not use. Not whether the choice was fair.

        Notes
        -----
        Cost O(T n (K m + log T)).
        """
        rtol = as_tolerance(rtol)
        if found := unsound(self):
            return found
        sums = {
            "weights do not sum to 1": _near(self.weights.sum(), np.array(1.0), rtol),
            "contributions do not sum to 1": _near(self.contributions.sum(axis=0), np.array(1.0), rtol, 1e-9).all(),
        }
        found = [text for text, right in sums.items() if not right]
        if not (self.machines.sum(axis=0) > 0).all():
            return [*found, "there is nothing of some resource"]
        waited = np.zeros_like(self.tasks)
        if self.waits:
            waited[1:] = self.unserved[:-1]
        most = self.max_tasks + waited
        slight = rtol * (1 + np.where(np.isfinite(most), most, 0.0))
        for right, text in chain(
            self._placed(rtol), self._accounted(rtol, most, slight), self._stopped(rtol, most, slight)
        ):
            at = np.flatnonzero(
                ~right.reshape(len(self), -1).all(axis=1)
            )  # what is right is said, so that NaN is wrong
            found.extend(f"{text} in period {t}" for t in at)
        return found

    def _placed(self, rtol: float) -> Iterator[tuple[NDArray[np.bool_], str]]:
        """Say of each period whether machines and the pool hold what is on them, and that this is all that ran."""
        share = self.amounts / self.capacities
        if self.machine_use is not None:
            yield self.machine_use <= self.machines * (1 + rtol), "a machine is overdrawn"
            yield self.tasks == np.floor(self.tasks), "some tasks are not whole"
            on = self.machine_use.sum(axis=1) / self.capacities
            yield _near(on, share.sum(axis=1), rtol), "machines and users do not add up"
        if self.placement is not None:
            yield self.placement.sum(axis=2) == self.tasks, "placements and tasks do not add up"
            if self.machine_use is not None and not self.waits:
                placed = np.einsum("tik,tij->tkj", self.placement.astype(float), self.demands / self.capacities)
                yield _near(placed, self.machine_use / self.capacities, rtol), "placements and machines do not add up"
        yield share.sum(axis=1) <= 1 + rtol, "the pool is overdrawn"

    def _accounted(self, rtol: float, most: FloatArray, slight: FloatArray) -> Iterator[tuple[NDArray[np.bool_], str]]:
        """Say of each period whether queues, amounts, G and beta follow from the tasks; of ``most`` that could run."""
        whole, rate = self.machine_use is not None, self.demands / self.capacities
        yield (self.tasks >= 0) & (self.unserved >= -slight), "tasks or tasks left over are negative"
        added = _near(self.tasks + self.unserved, most, rtol, slight) & np.isfinite(self.tasks)
        yield added, "tasks do not add up"
        size = np.concatenate([rate, rate.max(axis=2, keepdims=True) / self.weights[:, None]], axis=2)
        low, _ = self._in_order(size, -FITS * (not whole))
        high, _ = self._in_order(size, FITS * (not whole))
        used = np.cumsum(self.amounts / self.capacities, axis=0)
        told = np.concatenate([used, self.cumulative_shares[:, :, None]], axis=2)
        right = (told >= low - rtol * (1 + low)) & (told <= high + rtol * (1 + high))
        yield right[:, :, :-1], "amounts do not follow from the tasks"
        yield right[:, :, -1], "G does not follow from the tasks"
        own = amounts_alone(self.demands, self.max_tasks, self.machines, self.contributions, self.reading, self.waits)
        same = np.abs(self.alone - own) <= rtol * self.capacities
        yield same, "amounts alone do not follow from the queue and the own parts"
        beta = self.sharing_coefficients
        yield _near(beta, shared_coefficients(self.amounts, self.alone), rtol), "beta is wrong"
        if not whole and not self.memory:  # what was decided on: each period by itself
            beta = shared_coefficients(self.amounts, self.alone, False)
        yield self.below_one == (beta < 1 - FITS).any(axis=1), "below_one is wrong"
        if not whole and self.reading != "resources" and (self.memory or not self.waits):
            # then all can run what they would run alone, and alone they are in no other queue
            yield beta >= 1 - rtol, "someone has less than it would have had alone"

    def _stopped(self, rtol: float, most: FloatArray, slight: FloatArray) -> Iterator[tuple[NDArray[np.bool_], str]]:
        """Say of each period whether that stops a user which is said to."""
        stops, total, rate = self.bottlenecks, self.capacities, self.demands / self.capacities
        share = self.amounts / total
        _, following = self._in_order(rate, FITS * (self.machine_use is None))
        named, users = np.clip(stops, 0, len(total) - 1)[:, :, None], np.arange(len(self.weights))
        yield (stops >= IDLE) & (stops < len(total)), "some bottleneck does not exist"
        yield (stops == IDLE) == (most <= 0), "someone is wrongly said to have no tasks, or to have some"
        yield (stops != OWN) | (self.unserved <= slight), "someone has tasks left after all"
        yield (stops == IDLE) | (stops == OWN) | (self.unserved > 0), "someone is stopped without tasks left"
        if self.machine_use is None:
            full = np.broadcast_to((share.sum(axis=1) >= 1 - rtol)[:, None], share.shape)
            needed = rate[following, users] > 0
            for one, text in (
                (full, "a resource is said to stop someone and is not used up"),
                (needed, "a resource is said to stop someone whose next task does not need it"),
            ):
                yield (stops < 0) | np.take_along_axis(one, named, axis=2)[:, :, 0], text
            yield stops != NOTHING, "no machine is said to have room, and there is one pool"
            return
        free = np.broadcast_to(((total - self.use) / total)[:, None], share.shape)
        short = np.take_along_axis(rate[following, users] > free - rtol, named, axis=2)[:, :, 0]
        yield (stops < 0) | short, "a resource is said to stop someone and suffices"
        room = (self.machines * (1 - rtol) - self.machine_use) / total
        fits = np.zeros(stops.shape, dtype=np.bool_)
        for t, i in np.argwhere((stops >= 0) | (stops == NOTHING)):
            fits[t, i] = (rate[following[t, i], i] <= room[t]).all(axis=1).any()
        yield ~fits, "someone's next task fits on a machine"

    def _in_order(self, size: FloatArray, more: float) -> tuple[FloatArray, NDArray[np.int64]]:
        """Add up what the tasks so far take, ``size`` (T, n, d) each, in the order of submission.

        Once for the tasks and a part of them more, for a group may end a rounding error earlier or later. Gives (T, n,
        d), and the period that submitted the next task, (T, n).
        """
        ran, users = np.cumsum(self.tasks, axis=0) * (1 + more), np.arange(len(self.weights))
        if not self.waits:
            return np.cumsum(self.tasks[:, :, None] * size, axis=0), np.indices(ran.shape)[0]
        begin, taken, ends = np.zeros_like(ran), np.zeros_like(size), np.cumsum(self.max_tasks, axis=0)
        begin[1:], taken[1:] = ends[:-1], np.cumsum(self.max_tasks[:, :, None] * size, axis=0)[:-1]
        group = np.stack([np.searchsorted(ends[:-1, i], ran[:, i], side="right") for i in users], axis=1)
        return taken[group, users] + (ran - begin[group, users])[:, :, None] * size[group, users], group


# ------------------------------------------------------------------------------------------------- what judges it


def _near(a: FloatArray, b: FloatArray, rtol: float, slop: Any = 0.0) -> NDArray[np.bool_]:
    """Say which numbers are nearly the same; infinite ones are if they are equal."""
    with np.errstate(invalid="ignore"):  # infinite less infinite
        close: NDArray[np.bool_] = np.isfinite(b) & (np.abs(a - b) <= rtol * (1 + np.abs(b)) + slop)
    return close | (a == b)


def shared_coefficients(amounts: FloatArray, alone: FloatArray, memory: bool = True) -> FloatArray:
    """Give beta after each period, (T, n): the least ratio over what a user would have had alone; without, 1 or inf."""
    used, owned = (np.cumsum(one, axis=0) if memory else one for one in (amounts, alone))
    some = owned > 0
    least = np.where(some, used / np.where(some, owned, 1), np.inf).min(axis=2)
    return np.where(some.any(axis=2) | used.any(axis=2), least, 1.0)


def amounts_alone(
    demands: FloatArray, tasks: FloatArray, machines: FloatArray, parts: FloatArray, reading: str, waits: bool
) -> FloatArray:
    """Give what each user would have in use without sharing, (T, n, m), in one of the three readings.

    Cost O(T n K m), where machines of one size and one ownership count as one.
    """
    if reading == "resources":
        asked, brought = demands * np.where(demands > 0, tasks[:, :, None], 0), parts @ machines
        if not waits:
            return np.minimum(asked, brought)
        # each resource serves a queue at one speed: done is, of all moments, the least that had come until then and
        # full service since
        full = np.arange(1, len(demands) + 1)[:, None, None] * brought
        done = full + np.minimum(np.minimum.accumulate(np.cumsum(asked, axis=0) - full, axis=0), 0)
        return np.diff(done, axis=0, prepend=0 * done[:1])
    m, own = machines.shape[1], np.zeros_like(demands)
    kinds, count = np.unique(np.hstack([machines, parts.T]), axis=0, return_counts=True)
    sizes, block = kinds[:, :m] * count[:, None], max(1, 10**6 // kinds.size)
    for first in range(0, len(parts), block):
        some = slice(first, first + block)
        own[:, some] = _run_alone(
            demands[:, some], tasks[:, some], kinds[:, m:].T[some, :, None] * sizes, reading, waits
        )
    return own


def _run_alone(demands: FloatArray, tasks: FloatArray, own: FloatArray, reading: str, waits: bool) -> FloatArray:
    """Run each user's queue on its own parts of machines, (n, K, m): group by group, spread as room allows."""
    (T, n), whole, slight = tasks.shape, reading == "whole_bundles", FITS * own
    left, ran, at = tasks.copy(), np.zeros_like(demands), np.zeros(n, np.int64)
    for t in range(T):
        room, going, at = own.copy(), np.arange(n), at if waits else np.full(n, t)
        while len(going):
            group = at[going], going
            need = np.where(demands[group].any(axis=1, keepdims=True), demands[group], 1)[:, None]
            over = room[going] + slight[going] * whole
            holds = np.where(need > 0, over / np.where(need > 0, need, 1), np.inf).min(axis=2)
            most = holds.sum(axis=1)
            runs = np.floor(np.minimum(most, left[group])) if whole else np.minimum(most, left[group])
            ran[t, going] += runs[:, None] * demands[group]
            left[group] -= runs
            part = (runs / np.where(most > 0, most, 1))[:, None, None]
            rest = room[going] - part * holds[:, :, None] * need
            room[going] = np.where(rest > slight[going], rest, 0)
            done = left[group] <= FITS * tasks[group]
            at[going] += done
            going = going[done & (at[going] <= t)]
    return ran
