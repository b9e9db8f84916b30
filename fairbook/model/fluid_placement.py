"""Fractions of tasks on classes of machines."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pandas as pd

from fairbook.model.inputs import (
    SOLVER,
    FloatArray,
    IntArray,
    as_tolerance,
)
from fairbook.model.placement import (
    _OF_CELL,
    Cell,
    _Placed,
)
from fairbook.model.result import called, labelled, unsound


@dataclass(frozen=True, eq=False, repr=False)
class FluidPlacement(_Placed):
    """Fractions of tasks on classes of machines.

    Attributes
    ----------
    cell : Cell
    by_class : ndarray, shape (K, n)
        Tasks of each user on all machines of a class together.
    turn : ndarray of int, shape (n,)
        Users stop in turns, those at the lowest level first.
    prices : ndarray, shape (turns, K, m)
        What all that a class has of a resource costs: the dual of each turn's programme.
    weights : ndarray, shape (n,)
        Scaled to sum to 1.
    mechanism : str
    """

    arrays: ClassVar[dict[str, str]] = {
        **_OF_CELL,
        "by_class": "kn number",
        "turn": "n place",
        "prices": "tkm number",
        "weights": "n size",
    }

    cell: Cell
    by_class: FloatArray
    turn: IntArray
    prices: FloatArray
    weights: FloatArray
    mechanism: str

    @cached_property
    def tasks(self) -> FloatArray:
        """Tasks of each user, shape (n,)."""
        return self.by_class.sum(axis=0)

    @cached_property
    def class_use(self) -> FloatArray:
        """Resource in use on all machines of each class together, shape (K, m)."""
        total: FloatArray = self.by_class @ self.cell.demands
        return total

    @cached_property
    def levels(self) -> FloatArray:
        """Dominant share divided by weight, shape (n,)."""
        return self.dominant_shares / self.weights

    @property
    def level(self) -> float:
        """The lowest level."""
        return float(self.levels.min())

    def to_frame(self) -> pd.DataFrame:
        """Give one row a user: tasks, use of each resource, the dominant one and its share, level."""
        return pd.DataFrame({**self._columns(), "level": self.levels}, index=labelled(self.users, "user"))

    def explain(self, user: Hashable) -> str:
        """Say in a sentence why this user has no more tasks.

        Raises
        ------
        InvalidInput
            Where no user has that name.
        """
        i = self._row(user)
        need, capacity = self.cell.demands[i] > 0, self.cell.class_capacities
        able = np.asarray((capacity[:, need] > 0).all(axis=1))
        full = need & able[:, None] & np.asarray(self.class_use >= capacity * (1 - SOLVER))
        has = f"{called(user)} runs {self.tasks[i]:.6g} tasks at level {self.levels[i]:.6g} (share divided by weight)"
        if self.tasks[i] >= self.cell.max_tasks[i] * (1 - SOLVER):
            return f"{has}: all that it asked for."
        if not able.any():
            return f"{has}: no class of machines has all the resources that it needs."
        room = int((able & ~full.any(axis=1)).sum())
        if room:
            return f"{has}: there is room for more on {room} of the classes, but {self.mechanism} does not use it."
        blamed = ", ".join(
            f"{called(name, 'resource')} on {full[:, j].sum()}"
            for j, name in enumerate(self.resources)
            if full[:, j].any()
        )
        return f"{has}: every class of machines that it can use is full ({blamed})."

    certificate = "proved: everything fits, and the levels are max-min fair"

    def violations(self, rtol: float = SOLVER) -> list[str]:
        """List every way in which this is not the max-min fair placement in fractions; an empty list proves that it is.

        In each turn prices of resources say what a task costs where it is cheapest. All that is bought then costs what
        all resources do, and only tasks of users at or below the turn's level cost anything: none of them can have
        more unless one at or below its level has less. Cost O(K n m) a turn. Levels count as equal to ``10 rtol``, and
        what a user with little weight has too little is found where it is more than ``rtol`` of a turn's resources.
        """
        rtol = as_tolerance(rtol)
        if wrong := unsound(self):
            return wrong
        over = np.argwhere(~(self.class_use <= self.cell.class_capacities * (1 + rtol))).tolist()
        found = [f"{self.resources[r]} of class {self.classes[k]} is overdrawn" for k, r in over]
        found += ["some tasks are negative"] * (not (self.by_class >= 0).all())
        most = np.flatnonzero(~(self.tasks <= self.cell.max_tasks * (1 + rtol)))
        found += [f"{self.users[i]} has more tasks than its bound" for i in most]
        return found + self._unfair(rtol)

    def _unfair(self, rtol: float) -> list[str]:
        """List where the prices do not prove that levels are max-min fair."""
        need, capacity, tasks, levels = self.cell.demands, self.cell.class_capacities, self.tasks, self.levels
        able = ((need == 0) | (capacity[:, None] > 0)).all(axis=2)
        some = able.any(axis=0)
        rises = some & (tasks < self.cell.max_tasks * (1 - rtol))
        free, found = rises & ~np.isin(self.turn, np.arange(len(self.prices))), list[str]()
        for t, price in enumerate(self.prices):
            stop = rises & (self.turn == t)
            if not stop.any():
                continue
            each = np.divide(price, capacity, out=np.zeros_like(price), where=capacity > 0)
            cost = np.where(some, np.where(able, each @ need.T, np.inf).min(axis=0), 0.0)
            paid, level = tasks * cost, levels[stop].max()
            if not (price >= 0).all() or not abs(paid.sum() - price.sum()) <= rtol * price.sum():
                found.append(f"tasks do not cost what all resources do where users stop at level {level:.6g}")
            for i in np.flatnonzero(~((paid <= rtol * price.sum()) | (levels <= level * (1 + 10 * rtol)))).tolist():
                found.append(f"{self.users[i]} stands at level {levels[i]:.6g}, at the cost of others at {level:.6g}")
            free |= stop & ~((cost > 0) & (levels >= level * (1 - 10 * rtol)))
        return found + [f"nothing stops {self.users[i]}" for i in np.flatnonzero(free)]
