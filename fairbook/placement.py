"""Machines in classes, and whole tasks placed on them: what the mechanisms for heterogeneous machines talk about.

Machines come as K classes, each with its capacities and its number of machines. Single machines are numbered from 0 on,
class after class in the order given. A placement remembers which user's task went to which machine, in the order of
placing; everything else (tasks a user, contents of a machine, machines in the same state) is computed from that.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.model.inputs import (
    FloatArray,
    Names,
    as_demands,
    as_max_tasks,
    as_tolerance,
    check_demands,
    demand_matrix,
    number_of_dimensions,
    order_of,
    per_user,
)
from fairbook.model.result import labelled, labels_or_positions, position

__all__ = ["Cell", "FluidPlacement", "Placement", "States", "as_cell"]

IntArray = NDArray[np.int64]

#: A task fits if it overdraws no resource of the machine by more than this part of it: ten tenths fill a unit.
FITS = 1e-12

#: The most machines and the most whole tasks that are handled one by one.
MOST_MACHINES, MOST_TASKS = 10**7, 5 * 10**8


@dataclass(frozen=True, eq=False)
class Cell:
    """Users with demands and bounds, and the machines they share; checked. Build one with :func:`as_cell`.

    Attributes
    ----------
    demands : ndarray, shape (n, m)
        Resource per task.
    machines : ndarray, shape (K, m)
        Capacity of one machine of each class, in the unit of the demands.
    machine_counts : ndarray of int, shape (K,)
        Machines of each class.
    max_tasks : ndarray, shape (n,)
        Whole bounds, ``inf`` for none.
    named_users, named_resources, named_machines : tuple or None
        Labels, where the caller gave some.
    """

    demands: FloatArray
    machines: FloatArray
    machine_counts: IntArray
    max_tasks: FloatArray
    named_users: Names | None = None
    named_resources: Names | None = None
    named_machines: Names | None = None

    @property
    def users(self) -> Names:
        return labels_or_positions(self.named_users, len(self.demands))

    @property
    def resources(self) -> Names:
        return labels_or_positions(self.named_resources, self.demands.shape[1])

    @property
    def classes(self) -> Names:
        return labels_or_positions(self.named_machines, len(self.machines))

    @cached_property
    def totals(self) -> FloatArray:
        """Capacity of all machines together, shape (m,): S_r of equation (1) of the GDRF paper."""
        # not a product of matrices: its last digits depend on the processor, and may decide ties
        return (self.machine_counts[:, None] * self.machines).sum(axis=0)

    @cached_property
    def machine_class(self) -> IntArray:
        """Class of each machine, shape (N,)."""
        return np.repeat(np.arange(len(self.machines)), self.machine_counts)

    @cached_property
    def shares(self) -> FloatArray:
        """Part of the totals that one task needs, shape (n, m): mu_ir of equation (2); 0 where there is nothing."""
        return np.divide(self.demands, self.totals, out=np.zeros_like(self.demands), where=self.totals > 0)


def _of_classes(error: InvalidInput, m: int) -> InvalidInput:
    """Say of classes of machines, with m resources, what a check of users found."""
    rule = error.rule.replace("n users, m resources", f"K classes, {m} resources")
    rule = rule.replace("users", "classes").replace("user", "class")
    return InvalidInput(error.argument, rule, error.value, error.index)


def as_cell(demands: Any, machines: Any, machine_counts: Any = None, max_tasks: Any = None) -> Cell:
    """Check users and machines.

    Parameters
    ----------
    demands : array_like or DataFrame, shape (n, m)
        Resource per task, under the rules of :func:`fairbook.model.as_demands`.
    machines : array_like or DataFrame, shape (K, m), or (m,) for one class
        Capacities of one machine of each class: not negative, at least one positive entry a row. A DataFrame's
        index names the classes; its columns are matched with those of the demands. A resource that somebody
        needs must be there on some machine.
    machine_counts : array_like or Series, shape (K,), optional
        Whole numbers from 1 on, 10^7 machines in all at most. Default: one machine of each class.
    max_tasks : array_like or Series, shape (n,), optional
        Bounds, rounded down to whole tasks; ``inf`` for none. Default: no bounds.

    Raises
    ------
    InvalidInput
        Naming argument, rule and value.

    Examples
    --------
    >>> as_cell([[1, 2], [2, 1]], [[4, 4], [2, 8]], [3, 1]).totals
    array([14., 20.])
    """
    named = as_demands(demands)
    n, m = named.values.shape
    if number_of_dimensions(machines) == 1 and not isinstance(machines, pd.Series):
        machines = [machines]
    if number_of_dimensions(machines) != 2:
        raise InvalidInput("machines", f"must have shape (K classes, {m} resources)", machines)
    try:
        given = demand_matrix(machines, "machines")
    except InvalidInput as error:
        raise _of_classes(error, m) from None
    capacities, classes = given.values, given.users
    if capacities.shape[1] != m:
        raise InvalidInput("machines", f"must have {m} columns, one a resource of the demands", capacities.shape)
    columns = order_of(given.resources, named.resources, "machines.columns", "resources")
    if columns is not None:
        capacities = np.ascontiguousarray(capacities[:, columns])
    check_demands(capacities, "machines")
    K = len(capacities)
    if machine_counts is None:
        counts = np.ones(K, dtype=np.int64)
    else:
        try:
            floats = per_user(machine_counts, K, classes, "machine_counts")
        except InvalidInput as error:
            raise _of_classes(error, m) from None
        for k in np.flatnonzero(~((floats >= 1) & (floats == np.floor(floats)) & (floats < np.inf)))[:1].tolist():
            raise InvalidInput("machine_counts", "must be a whole number of at least 1", float(floats[k]), (k,))
        if floats.sum() > MOST_MACHINES:
            raise InvalidInput("machine_counts", f"must add up to at most {MOST_MACHINES:g}", float(floats.sum()))
        counts = floats.astype(np.int64)
    bounds = np.floor(as_max_tasks(max_tasks, n, named.users))
    cell = Cell(named.values, capacities, counts, bounds, named.users, named.resources or given.resources, classes)
    missing = (cell.totals == 0) & (cell.demands > 0).any(axis=0)
    if missing.any():
        j = int(np.flatnonzero(missing)[0])
        raise InvalidInput("machines", f"must hold all resources that are needed; none holds {cell.resources[j]!r}",
                           cell.totals.tolist())
    return cell


class States(NamedTuple):
    """Machines grouped by what they are and what they hold."""

    machine_class: IntArray
    """Class of each state, shape (Z,)."""
    machines: IntArray
    """Machines in it, shape (Z,)."""
    tasks: IntArray
    """Tasks of each user on one of them, shape (Z, n)."""


@dataclass(frozen=True, eq=False)
class Placement:
    """Whole tasks of n users on N machines, in the order in which they were placed.

    Attributes
    ----------
    cell : Cell
        Users and machines.
    placed_user, placed_machine : ndarray of int32, shape (P,)
        User and machine of each task, in order of placing.
    mechanism : str
    full : bool
        Whether the mechanism promises to leave no room for a task that somebody still wants.

    Examples
    --------
    >>> import fairbook as fb
    >>> p = fb.gdrf([[1, 2], [2, 1]], machines=[[4, 4]], machine_counts=[2])
    >>> p.tasks
    array([2, 2])
    >>> p.states.tasks
    array([[2, 0],
           [0, 2]])
    """

    cell: Cell
    placed_user: NDArray[np.int32]
    placed_machine: NDArray[np.int32]
    mechanism: str
    full: bool = True

    def __len__(self) -> int:
        """Tasks placed."""
        return len(self.placed_user)

    @property
    def users(self) -> Names:
        return self.cell.users

    @property
    def resources(self) -> Names:
        return self.cell.resources

    @cached_property
    def tasks(self) -> IntArray:
        """Tasks of each user, shape (n,). Cost O(P)."""
        return np.bincount(self.placed_user, minlength=len(self.cell.demands)).astype(np.int64)

    @property
    def dominant_shares(self) -> FloatArray:
        """Largest part of the totals that each user holds, shape (n,)."""
        return self.tasks * self.cell.shares.max(axis=1)

    @property
    def utilisation(self) -> FloatArray:
        """Use of all machines divided by their capacity, shape (m,); nan where there is none."""
        with np.errstate(invalid="ignore"):
            return (self.tasks @ self.cell.demands) / self.cell.totals

    @cached_property
    def used(self) -> FloatArray:
        """Resource in use on each machine, shape (N, m). Cost O(P m)."""
        N = len(self.cell.machine_class)
        columns = [np.bincount(self.placed_machine, self.cell.demands[self.placed_user, j], minlength=N)
                   for j in range(self.cell.demands.shape[1])]
        return np.stack(columns, axis=1)

    @property
    def machine_utilisation(self) -> FloatArray:
        """Use divided by capacity, machine by machine, shape (N, m); nan where a machine lacks the resource."""
        with np.errstate(invalid="ignore"):
            return self.used / self.cell.machines[self.cell.machine_class]

    @property
    def mean_utilisation(self) -> FloatArray:
        """Mean over the machines that have the resource of their utilisation, shape (m,); nan where none has it."""
        there = self.cell.machine_counts @ (self.cell.machines > 0)
        total = np.nansum(self.machine_utilisation, axis=0)
        return np.divide(total, there, out=np.full(len(total), np.nan), where=there > 0)

    @cached_property
    def states(self) -> States:
        """Machines grouped by class and contents, in order of the first machine. Cost O(P log P + N + Z n)."""
        n, N = len(self.cell.demands), len(self.cell.machine_class)
        what, count = np.unique(self.placed_machine.astype(np.int64) * n + self.placed_user, return_counts=True)
        owner, user = np.divmod(what, n)
        cuts = np.searchsorted(owner, np.arange(N + 1))
        found: dict[tuple[int, bytes, bytes], int] = {}
        first: list[int] = []
        machines: list[int] = []
        for j, k in enumerate(self.cell.machine_class.tolist()):
            part = slice(cuts[j], cuts[j + 1])
            place = found.setdefault((k, user[part].tobytes(), count[part].tobytes()), len(found))
            if place == len(first):
                first.append(j)
                machines.append(0)
            machines[place] += 1
        tasks = np.zeros((len(first), n), dtype=np.int64)
        for z, j in enumerate(first):
            part = slice(cuts[j], cuts[j + 1])
            tasks[z, user[part]] = count[part]
        return States(self.cell.machine_class[first], np.array(machines, dtype=np.int64), tasks)

    def room(self, user: Hashable) -> IntArray:
        """Give the numbers of the machines with room for one more task of this user. Cost O(N m) after ``used``."""
        need = self.cell.demands[position(user, self.users)]
        capacities = self.cell.machines[self.cell.machine_class]
        return np.flatnonzero((capacities * (1 + FITS) - self.used >= need).all(axis=1))  # rounded as in the engine

    def to_frame(self) -> pd.DataFrame:
        """Give one row a user: tasks, dominant share, what stops it, machines that have one of its tasks."""
        done = self.tasks >= self.cell.max_tasks
        pairs = np.unique(self.placed_machine.astype(np.int64) * len(self.users) + self.placed_user) % len(self.users)
        return pd.DataFrame(
            {"tasks": self.tasks, "dominant_share": self.dominant_shares,
             "stopped_by": np.where(done, "own bound", "no room" if self.full else "no room where it may go"),
             "machines": np.bincount(pairs, minlength=len(self.users))},
            index=labelled(self.users, "user"),
        )

    def machine_frame(self) -> pd.DataFrame:
        """Give one row a class of machines: machines, tasks on them, use of each resource as a part of capacity."""
        k, K = self.cell.machine_class, len(self.cell.machines)
        frame = pd.DataFrame({"machines": self.cell.machine_counts,
                              "tasks": np.bincount(k[self.placed_machine], minlength=K)},
                             index=labelled(self.cell.classes, "class"))
        for j, name in enumerate(self.resources):
            capacity = self.cell.machine_counts * self.cell.machines[:, j]
            use = np.bincount(k, self.used[:, j], minlength=K)
            frame[f"utilisation_{name}"] = np.divide(use, capacity, out=np.full(K, np.nan), where=capacity > 0)
        return frame

    def explain(self, user: Hashable) -> str:
        """Say in a sentence why this user has no more tasks.

        Raises
        ------
        InvalidInput
            Where no user has that name.
        """
        i = position(user, self.users)
        has = f"{user} runs {self.tasks[i]} tasks ({self.dominant_shares[i]:.2%} of its dominant resource)"
        if self.tasks[i] >= self.cell.max_tasks[i]:
            return f"{has}: all that it asked for."
        open_ones = self.room(user)
        if len(open_ones):
            return (f"{has}: {len(open_ones)} machines would have room for another, "
                    f"but {self.mechanism} does not use them.")
        capacities = self.cell.machines[self.cell.machine_class]
        free = capacities * (1 + FITS) - self.used
        if not (capacities * (1 + FITS) >= self.cell.demands[i]).all(axis=1).any():
            return f"{has}: none of the {len(free)} machines would be large enough for a task even if it were empty."
        short = free < self.cell.demands[i]
        alone = (short.sum(axis=1) == 1)
        blamed = ", ".join(f"{int((short[:, j] & alone).sum())} for want of {name} alone"
                           for j, name in enumerate(self.resources) if (short[:, j] & alone).any())
        return f"{has}: none of the {len(free)} machines has room for another" + (f" ({blamed})." if blamed else ".")

    def violations(self) -> list[str]:
        """List every way in which this placement breaks what it promises; empty means that it keeps its promises.

        Uses the demands, the machines and the list of tasks only. Cost O(P m + n N m).
        """
        found: list[str] = []
        capacities = self.cell.machines[self.cell.machine_class]
        over = self.used > capacities * (1 + 1e-9)
        for j, r in np.argwhere(over).tolist():
            found.append(f"machine {j} holds {self.used[j, r]:.12g} of {self.resources[r]}, "
                         f"more than its {capacities[j, r]:.12g}")
        for i in np.flatnonzero(self.tasks > self.cell.max_tasks).tolist():
            found.append(f"{self.users[i]} has {self.tasks[i]} tasks, more than its bound")
        if self.full:
            for i in np.flatnonzero(self.tasks < self.cell.max_tasks).tolist():
                open_ones = self.room(self.users[i])
                if len(open_ones):
                    found.append(f"machine {open_ones[0]} has room for another task of {self.users[i]}")
        return found


@dataclass(frozen=True, eq=False)
class FluidPlacement:
    """Fractions of tasks on classes of machines.

    Attributes
    ----------
    cell : Cell
    by_class : ndarray, shape (K, n)
        Tasks of each user on all machines of a class together.
    weights : ndarray, shape (n,)
        Scaled to sum to 1.
    mechanism : str
    """

    cell: Cell
    by_class: FloatArray
    weights: FloatArray
    mechanism: str

    @property
    def tasks(self) -> FloatArray:
        """Tasks of each user, shape (n,)."""
        return self.by_class.sum(axis=0)

    @property
    def dominant_shares(self) -> FloatArray:
        """Largest part of the totals that each user holds, shape (n,)."""
        return self.tasks * self.cell.shares.max(axis=1)

    @property
    def levels(self) -> FloatArray:
        """Dominant share divided by weight, shape (n,)."""
        return self.dominant_shares / self.weights

    @property
    def level(self) -> float:
        """The lowest level."""
        return float(self.levels.min())

    @property
    def utilisation(self) -> FloatArray:
        """Use of all machines divided by their capacity, shape (m,); nan where there is none."""
        with np.errstate(invalid="ignore"):
            return (self.tasks @ self.cell.demands) / self.cell.totals

    def to_frame(self) -> pd.DataFrame:
        """Give one row a user: tasks, dominant share, level."""
        return pd.DataFrame({"tasks": self.tasks, "dominant_share": self.dominant_shares, "level": self.levels},
                            index=labelled(self.cell.users, "user"))

    def violations(self, rtol: float = 1e-7) -> list[str]:
        """List where more is used than a class of machines has, or a bound is broken. Cost O(K n m)."""
        rtol = as_tolerance(rtol)
        found: list[str] = []
        capacity = self.cell.machine_counts[:, None] * self.cell.machines
        for k, r in np.argwhere(self.by_class @ self.cell.demands > capacity * (1 + rtol)).tolist():
            found.append(f"{self.cell.resources[r]} of class {self.cell.classes[k]} is overdrawn")
        if (self.by_class < 0).any():
            found.append("some tasks are negative")
        for i in np.flatnonzero(self.tasks > self.cell.max_tasks * (1 + rtol)).tolist():
            found.append(f"{self.cell.users[i]} has more tasks than its bound")
        return found
