"""DMFA-SRQ one arrival at a time: :class:`DmfaSrq`."""

from __future__ import annotations

import math
from array import array
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from fairbook.errors import InvalidInput
from fairbook.mechanisms.pool.dmfa_srq import (
    Contribution,
    _rise,
    restack,
)
from fairbook.model.allocation import Allocation, used_up
from fairbook.model.inputs import (
    FloatArray,
    as_positive,
    check_demands,
    check_newcomer,
    names_or_number,
    per_resource,
    row_max,
)
from fairbook.model.instance import check_choice
from fairbook.model.result import labels_or_positions, position


class DmfaSrq:
    """DMFA-SRQ one arrival at a time, with departures. ``pickle`` saves and restores it.

    Parameters
    ----------
    resources : int or sequence of str
        The pool's resources: their number or their names.

    Notes
    -----
    :meth:`arrive` costs O(m) amortised over a run, in plain Python, :meth:`depart` O(n m).
    Departures are ours, not the paper's.
    With ``contribution="stays"`` all four theorems survive. With ``contribution="leaves"`` allocations must be
    able to shrink: irrevocability is lost, and with it strategy-proofness; the chapter gives proof and witness.
    Amounts are kept in doubles: a level is right to about 1e-15 times the pool over the newcomer's weight. Where
    weights lie further apart than 10^8, :func:`dmfa_srq` with ``engine="plain"`` is exact.

    Examples
    --------
    >>> pool = DmfaSrq(["cpu", "memory"])
    >>> pool.arrive("ann", [1, 1/2], weight=1/4)
    1.0
    >>> round(pool.arrive("bob", [1/2, 1], weight=1/4), 4)
    1.3333
    >>> pool.tasks.round(4)
    array([0.3333, 0.3333])
    """

    def __init__(self, resources: int | Sequence[str]) -> None:
        number, given = names_or_number(resources, "resources")
        self.resources: tuple[Hashable, ...] = labels_or_positions(given, number)
        self._users: dict[Hashable, None] = {}  # in order of arrival
        self._given = array("d")  # demand and weight of one after the other
        self._level: list[float] = []  # of each group on the stack
        self._rate: list[list[float]] = []
        self._size: list[int] = []
        self._slack = [0.0] * number
        self._left_behind = 0.0  # brought by users who have gone

    def __len__(self) -> int:
        return len(self._users)

    def __repr__(self) -> str:
        return f"DmfaSrq({len(self)} users, {len(self._level)} levels, capacity {self.capacity:.6g})"

    @property
    def users(self) -> tuple[Hashable, ...]:
        """Users present, in order of arrival."""
        return tuple(self._users)

    @property
    def capacity(self) -> float:
        """Amount of every resource in the pool. Cost O(n)."""
        return math.fsum(self._given[len(self.resources) :: len(self.resources) + 1]) + self._left_behind

    @property
    def level(self) -> float:
        """The lowest level, M^k."""
        if not self._level:
            raise InvalidInput("level", "needs at least one user in the pool", 0)
        return self._level[-1]

    @property
    def levels(self) -> FloatArray:
        """Level of each user present, shape (n,)."""
        return np.repeat(self._level, self._size)

    @property
    def _demands(self) -> FloatArray:
        return np.array(self._given).reshape(-1, len(self.resources) + 1)[:, :-1].copy()

    @property
    def _weights(self) -> FloatArray:
        return np.array(self._given[len(self.resources) :: len(self.resources) + 1])

    @property
    def tasks(self) -> FloatArray:
        """Tasks of each user present, shape (n,)."""
        return self.levels * self._weights / row_max(self._demands)

    @property
    def slack(self) -> FloatArray:
        """Amount of each resource that is left, shape (m,)."""
        return np.array(self._slack)

    def arrive(self, user: Hashable, demand: Any, weight: float) -> float:
        """Let a user in and allocate; returns the new lowest level M^k.

        Parameters
        ----------
        user : hashable
            A name not present yet.
        demand : array_like, shape (m,)
            Resource per task.
        weight : float
            Amount of every resource that the user brings, positive.

        Raises
        ------
        InvalidInput
            Before anything changes.
        """
        m = len(self.resources)
        row = per_resource(demand, m, None if self.resources == tuple(range(m)) else self.resources, "demand")
        check_demands(row, "demand")
        amount = as_positive(weight, "weight")
        check_newcomer(user, self._users)
        self._users[user] = None
        need = row.tolist()
        self._given.extend([*need, amount])
        self._slack = [x + amount for x in self._slack]
        self._level.append(0.0)  # a group of its own, until the rise reaches others
        self._rate.append([d * (amount / max(need)) for d in need])
        self._size.append(1)
        return self._raise_lowest()

    def depart(self, user: Hashable, contribution: Contribution = "leaves") -> None:
        """Let a user go, together with what it brought or without.

        Parameters
        ----------
        user : hashable
            A user present.
        contribution : {"leaves", "stays"}
            ``"stays"``: the pool keeps what the user brought; nobody loses, the lowest rise. ``"leaves"``: it goes
            with the user; where the rest no longer fits, the highest levels are lowered to a common one, which is
            never under 1, and then the lowest rise.

        Notes
        -----
        Cost O(n m).
        """
        check_choice(contribution, "contribution", Contribution)
        i, step = position(user, self.users), len(self.resources) + 1
        levels = np.delete(self.levels, i)
        del self._users[self.users[i]]
        if contribution == "stays":
            self._left_behind += self._given[i * step + step - 1]
        del self._given[i * step : (i + 1) * step]
        demands, capacity = self._demands, self.capacity
        need = demands * (self._weights / row_max(demands))[:, None]
        slack = capacity - levels @ need  # anew, for a difference would keep rounding errors
        slack[np.abs(slack) < 1e-14 * capacity] = 0.0
        if contribution == "stays":  # then only rounding can be below zero, and nobody is to lose for that
            np.maximum(slack, 0.0, out=slack)
        sizes = np.zeros(len(self), np.int64)
        groups = restack(levels, need, slack, sizes)
        self._slack = slack.tolist()
        self._level, self._rate, self._size = (one[:groups].tolist() for one in (levels, need, sizes))

    def _raise_lowest(self) -> float:
        top, _ = _rise.py_func(len(self._level) - 1, self._level, self._rate, self._slack)
        self._size[top:] = [sum(self._size[top:])]
        del self._level[top + 1 :], self._rate[top + 1 :]
        return self._level[-1]

    def allocation(self) -> Allocation:
        """Give the present allocation; a user's bottleneck is the scarcest resource that it needs."""
        if not self._users:
            raise InvalidInput("allocation", "needs at least one user in the pool", 0)
        pool = (self._demands, self._weights, self.capacity, self.slack)
        return used_up(self.tasks, *pool, self.users, self.resources, "dmfa_srq")
