"""Machines in classes, and whole tasks placed on them: what the mechanisms for heterogeneous machines talk about.

Machines come as K classes, each with its capacities and its number of machines. Single machines are numbered from 0 on,
class after class in the order given. A placement remembers which user's task went to which machine, in the order of
placing; everything else (tasks a user, contents of a machine, machines in the same state) is computed from that.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.model.inputs import (
    FITS,
    RTOL,
    FloatArray,
    IntArray,
    Named,
    Names,
    as_demands,
    as_max_tasks,
    as_tolerance,
    check_demands,
    demand_matrix,
    in_order,
    in_words,
    number_of_dimensions,
    per_user,
    raise_at_first,
)
from fairbook.model.names import in_pandas
from fairbook.model.result import Result, called, labelled, labels_or_positions, unsound, use_columns

__all__ = ["Cell", "Placement", "States", "as_cell", "machine_matrix"]


#: The most machines and the most whole tasks that are handled one by one.
MOST_MACHINES, MOST_PLACED = 10**7, 5 * 10**8


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
        return self.class_capacities.sum(axis=0)

    @cached_property
    def class_capacities(self) -> FloatArray:
        """Capacity of all machines of each class together, shape (K, m)."""
        return self.machine_counts[:, None] * self.machines

    @cached_property
    def machine_class(self) -> IntArray:
        """Class of each machine, shape (N,)."""
        return np.repeat(np.arange(len(self.machines)), self.machine_counts.astype(np.intp))

    @cached_property
    def shares(self) -> FloatArray:
        """Part of the totals that one task needs, shape (n, m): mu_ir of equation (2); 0 where there is nothing."""
        return np.divide(self.demands, self.totals, out=np.zeros_like(self.demands), where=self.totals > 0)


def machine_matrix(machines: Any, m: int, resources: Names | None) -> Named:
    """Check the capacities of K machines, or of one of each class; names of machines stand in place of users.

    Columns are matched with the resources by name.
    """
    with in_words(("n users, m", f"K machines, {m}"), ("one user", "one machine")):
        given = demand_matrix(machines, "machines")
    values = in_order(given._replace(users=None), None, resources, "machines")
    if values.shape[1] != m:
        raise InvalidInput("machines", f"must have one column for each of the {m} resources", values.shape)
    check_demands(values, "machines")
    return Named(values, given.users, resources)


def as_cell(demands: Any, machines: Any, machine_counts: Any = None, max_tasks: Any = None) -> Cell:
    """Check users and machines.

    Parameters
    ----------
    demands : array_like or DataFrame, shape (n, m)
        Resource per task, under the rules of :func:`~fairbook.model.inputs.as_demands`.
    machines : array_like or DataFrame, shape (K, m), or (m,) for one class
        Capacities of one machine of each class: not negative, at least one positive entry a row. A DataFrame's
        index names the classes; its columns are matched with those of the demands. A resource that somebody
        needs must be there on some machine. A column ``count`` that is no resource holds the machine counts.
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
    machines = in_pandas(machines, "machines")
    if number_of_dimensions(machines) == 1:
        machines = in_pandas([machines], "machines")
    if isinstance(machines, pd.DataFrame) and "count" in machines and "count" not in (named.resources or ()):
        if machine_counts is not None:
            raise InvalidInput(
                "machine_counts", "must not be given beside a column 'count' of machines", machine_counts
            )
        machines, machine_counts = machines.drop(columns="count"), machines["count"]
    given = machine_matrix(machines, m, named.resources)
    floats = np.ones(len(given.values))
    if machine_counts is not None:
        with in_words(("user", "machine")):
            floats = per_user(machine_counts, len(floats), given.users, "machine_counts")
    whole = (floats >= 1) & (floats == np.floor(floats)) & (floats < np.inf)
    raise_at_first(~whole, "machine_counts", "must be a whole number of at least 1", floats)
    if floats.sum() > MOST_MACHINES:
        raise InvalidInput("machine_counts", f"must add up to at most {MOST_MACHINES:g}", float(floats.sum()))
    bounds = np.floor(as_max_tasks(max_tasks, n, named.users))
    cell = Cell(named.values, given.values, floats.astype(np.int64), bounds, named.users, given.resources, given.users)
    missing = (cell.totals == 0) & (cell.demands > 0).any(axis=0)
    for j in np.flatnonzero(missing):
        rule = f"must hold all resources that are needed; none holds {cell.resources[j]!r}"
        raise InvalidInput("machines", rule, cell.totals.tolist())
    return cell


#: What :class:`~fairbook.model.result.Result` wants to know of the arrays of a cell.
_OF_CELL = {
    "cell.demands": "nm amount",
    "cell.machines": "km amount",
    "cell.machine_counts": "k count",
    "cell.max_tasks": "n bound",
}


class States(NamedTuple):
    """Machines grouped by what they are and what they hold."""

    machine_class: IntArray
    """Class of each state, shape (Z,)."""
    machines: IntArray
    """Machines in it, shape (Z,)."""
    tasks: Any
    """Tasks of each user on one of them, a sparse array of shape (Z, n): most users have none there."""


class _Placed(Result):
    """What placements of whole tasks and of fractions share: a cell, and what its users have of it."""

    cell: Cell
    tasks: Any
    names = ("users", "resources", "classes")

    users = property(attrgetter("cell.users"))
    resources = property(attrgetter("cell.resources"))
    classes = property(attrgetter("cell.classes"))

    @property
    def use(self) -> FloatArray:
        """Resource in use on all machines together, shape (m,)."""
        total: FloatArray = self.tasks @ self.cell.demands
        return total

    @property
    def slack(self) -> FloatArray:
        """What is left of each resource on all machines together, shape (m,)."""
        return self.cell.totals - self.use

    @property
    def utilisation(self) -> FloatArray:
        """Use of all machines divided by their capacity, shape (m,); nan where there is none."""
        with np.errstate(invalid="ignore"):
            return self.use / self.cell.totals

    @cached_property
    def dominant_shares(self) -> FloatArray:
        """Largest part of the totals that each user holds, shape (n,)."""
        return self.tasks * self.cell.shares.max(axis=1)

    def _columns(self) -> dict[str, Any]:
        """What the frames of both have in common, by column."""
        need = self.cell.demands
        return {
            "tasks": self.tasks,
            **use_columns(self.tasks[:, None] * need, need, self.cell.totals, self.resources),
            "dominant_share": self.dominant_shares,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Placement(_Placed):
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
    >>> p.states.tasks.toarray()
    array([[2, 0],
           [0, 2]])
    """

    arrays: ClassVar[dict[str, str]] = {**_OF_CELL, "placed_user": "p place", "placed_machine": "p place"}

    cell: Cell
    placed_user: NDArray[np.int32]
    placed_machine: NDArray[np.int32]
    mechanism: str
    full: bool = True

    def __len__(self) -> int:
        """Tasks placed."""
        return len(self.placed_user)

    @cached_property
    def tasks(self) -> IntArray:
        """Tasks of each user, shape (n,). Cost O(P)."""
        return np.bincount(self.placed_user, minlength=len(self.cell.demands)).astype(np.int64)

    @cached_property
    def machine_use(self) -> FloatArray:
        """Resource in use on each machine, shape (N, m). Cost O(P m)."""
        N = len(self.cell.machine_class)
        columns = [
            np.bincount(self.placed_machine, self.cell.demands[self.placed_user, j], minlength=N)
            for j in range(self.cell.demands.shape[1])
        ]
        return np.stack(columns, axis=1)

    @cached_property
    def _sizes(self) -> FloatArray:
        return self.cell.machines[self.cell.machine_class]

    @cached_property
    def _free(self) -> FloatArray:
        """The largest task that fits each machine, (N, m), rounded as in the engine."""
        return self._sizes * (1 + FITS) - self.machine_use

    @property
    def machine_utilisation(self) -> FloatArray:
        """Use divided by capacity, machine by machine, shape (N, m); nan where a machine lacks the resource."""
        with np.errstate(invalid="ignore"):
            return self.machine_use / self._sizes

    @cached_property
    def states(self) -> States:
        """Machines grouped by class and contents, first machine first. Time O(P log P + N), memory O(P + N)."""
        from scipy import sparse  # a fifth of a second, for those who ask

        kinds, ones = self.cell.machine_class, np.ones(len(self), np.int64)
        shape = len(kinds), len(self.cell.demands)
        tasks = sparse.csr_array((ones, (self.placed_machine, self.placed_user)), shape=shape)
        tasks.sum_duplicates()  # in order of the users
        found: dict[Any, list[int]] = {}
        for j, k in enumerate(kinds.tolist()):
            part = slice(tasks.indptr[j], tasks.indptr[j + 1])
            found.setdefault((k, tasks.indices[part].tobytes(), tasks.data[part].tobytes()), []).append(j)
        first = [alike[0] for alike in found.values()]
        return States(kinds[first], np.array([len(alike) for alike in found.values()]), tasks[first])

    def room(self, user: Hashable) -> IntArray:
        """Give the numbers of the machines with room for one more task of this user. Cost O(N m + P m)."""
        return np.flatnonzero((self._free >= self.cell.demands[self._row(user)]).all(axis=1))

    def to_frame(self) -> pd.DataFrame:
        """Give one row a user: tasks, use of each resource, the dominant one and its share, what stops the user,
        machines that have one of its tasks.
        """
        done = self.tasks >= self.cell.max_tasks
        pairs = np.unique(self.placed_machine.astype(np.int64) * len(self.users) + self.placed_user)
        return pd.DataFrame(
            {
                **self._columns(),
                "stopped_by": np.where(done, "own bound", "no room" if self.full else "no room where it may go"),
                "machines": np.bincount((pairs % len(self.users)).astype(np.intp), minlength=len(self.users)),
            },
            index=labelled(self.users, "user"),
        )

    def explain(self, user: Hashable) -> str:
        """Say in a sentence why this user has no more tasks.

        Raises
        ------
        InvalidInput
            Where no user has that name.
        """
        i = self._row(user)
        has = f"{called(user)} runs {self.tasks[i]} tasks ({self.dominant_shares[i]:.2%} of its dominant resource)"
        if self.tasks[i] >= self.cell.max_tasks[i]:
            return f"{has}: all that it asked for."
        short = self._free < self.cell.demands[i]
        room = int((~short).all(axis=1).sum())
        if room:
            return f"{has}: {room} machines would have room for another, but {self.mechanism} does not use them."
        if (self.cell.machines * (1 + FITS) < self.cell.demands[i]).any(axis=1).all():
            return f"{has}: none of the {len(short)} machines would be large enough for a task even if it were empty."
        alone = (short & (short.sum(axis=1) == 1)[:, None]).sum(axis=0)
        blamed = ", ".join(
            f"{k} for want of {called(name, 'resource')} alone"
            for k, name in zip(alone, self.resources, strict=True)
            if k
        )
        return f"{has}: none of the {len(short)} machines has room for another" + (f" ({blamed})." if blamed else ".")

    @property
    def certificate(self) -> str:
        """What an empty list of ``violations()`` says."""
        room = ", and no machine has room for another that somebody wants" if self.full else ""
        return f"consistent: whole tasks fit on their machines{room}; whose turn it was is not checked"

    def violations(self, rtol: float = RTOL) -> list[str]:
        """List every way in which this placement breaks what it promises; empty means that it keeps its promises.

        Uses the demands, the machines and the list of tasks only. Cost O(P m + n N m).
        """
        rtol, counts = as_tolerance(rtol), self.cell.machine_counts
        most, users, number = self.cell.max_tasks, self.users, int(counts.sum())
        found = unsound(self) or ["there are too many machines"] * (not 0 < number <= MOST_MACHINES)
        for what, given, end in (("user", self.placed_user, len(users)), ("machine", self.placed_machine, number)):
            found += [f"there is no {what} {k}" for k in np.unique(given[(given < 0) | (given >= end)]).tolist()]
        if found:
            return found
        tasks = self.tasks
        over = np.argwhere(~(self.machine_use <= self._sizes * (1 + rtol)))
        found = [
            f"machine {j} holds {self.machine_use[j, r]:.12g} of {self.resources[r]}, "
            f"more than its {self._sizes[j, r]:.12g}"
            for j, r in over.tolist()
        ]
        found += [f"{users[i]} has {tasks[i]} tasks, more than its bound" for i in np.flatnonzero(tasks > most)]
        rooms = ((users[i], self.room(users[i])) for i in np.flatnonzero(self.full & (tasks < most)))
        return found + [f"machine {room[0]} has room for another task of {user}" for user, room in rooms if len(room)]
