"""Tasks of users in one pool at one time."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.model.inputs import FITS, IDLE, NOTHING, OWN, RTOL, FloatArray, Names, as_tolerance, row_max
from fairbook.model.result import Result, called, labelled, unsound, use_columns

__all__ = ["Allocation", "Words", "used_up"]

#: What an empty list of ``violations()`` says of an allocation, by its rule.
_SAYS = {
    "max_min": "proved: everything fits, and the levels are max-min fair",
    "whole_tasks": "consistent: whole tasks fit, and one more of anybody does not; whose turn it was is not checked",
    "full": "consistent: everything fits, and what stops a user is used up; the levels are not checked",
    "credit": "consistent: everything fits, and what stops a user is used up; the levels are not checked",
}


@dataclass(frozen=True)
class Words:
    """What ``Allocation.explain`` calls things; by default as in DRF.

    Attributes
    ----------
    measure : str
        What a level is.
    own, nothing : str
        What holds a user whose bottleneck is -1, or -2.
    """

    measure: str = "its share divided by its part of all weights"
    own: str = "its own bound stops it"
    nothing: str = "nothing stops it, but the mechanism gave it no more"


@dataclass(frozen=True, eq=False, repr=False)
class Allocation(Result):
    """Tasks of n users in one pool, with the reason why nobody has more.

    Attributes
    ----------
    tasks : ndarray, shape (n,)
        Tasks of each user, fractions allowed unless the mechanism says otherwise.
    demands : ndarray, shape (n, m)
        Resource per task, as given.
    weights : ndarray, shape (n,) or (n, m)
        As the mechanism used them.
    capacities : ndarray, shape (m,)
    max_tasks : ndarray, shape (n,)
    min_tasks : ndarray, shape (n,), or None
        What each user has before the others rise, where there are minima.
    bottlenecks : ndarray of int, shape (n,)
        The resource that stops each user; -1 where the user's own bound does, -2 where nothing does (where a mechanism
        in whole tasks ended early, or credit withholds what is free), -3 where the user is not present.
    users, resources : tuple
        Labels.
    mechanism : str
    rule : {"max_min", "whole_tasks", "full", "credit"}
        What the mechanism promises, which is what :meth:`explain` says and :meth:`violations` checks.
        ``"max_min"``: levels are lexicographically max-min fair. ``"whole_tasks"``: tasks are whole, and one more task
        of a user would overdraw its bottleneck. ``"full"``: every bottleneck is used up and needed. ``"credit"``: the
        same, but that a user may be held back by something else, or may not be there.
    floor : {"counted", "apart"}
        Whether a level is of all tasks, or of those above the minimum.
    given_weights : ndarray or None
        The weights before they were scaled, where they were: scaling rounds.
    exact : callable or None
        The rule in fractions, where :meth:`violations` is to compare with it.
    per_task : ndarray, shape (n,), or None
        The level of one task; None: its dominant share divided by the weight.
    words : Words
        What the level is, and what the bottlenecks -1 and -2 mean, as ``explain`` says it.
    """

    arrays: ClassVar[dict[str, str]] = {
        "demands": "nm amount",
        "tasks": "n number",
        "weights": "n|nm size",
        "given_weights": "n|nm size",
        "capacities": "m size",
        "max_tasks": "n bound",
        "min_tasks": "n amount",
        "bottlenecks": "n place",
        "per_task": "n amount",
    }

    tasks: FloatArray
    demands: FloatArray
    weights: FloatArray
    capacities: FloatArray
    max_tasks: FloatArray
    bottlenecks: NDArray[np.int64]
    named_users: Names | None = None
    named_resources: Names | None = None
    mechanism: str = "drf"
    rule: Literal["max_min", "whole_tasks", "full", "credit"] = "max_min"
    given_weights: FloatArray | None = None
    exact: Callable[..., Any] | None = field(default=None, kw_only=True)
    min_tasks: FloatArray | None = field(default=None, kw_only=True)
    floor: Literal["counted", "apart"] = field(default="counted", kw_only=True)
    per_task: FloatArray | None = field(default=None, kw_only=True)
    words: Words = field(default=Words(), kw_only=True)

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.tasks), len(self.capacities)

    @cached_property
    def use(self) -> FloatArray:
        """Resource in use, shape (m,), in the unit of the capacities."""
        return self.tasks @ self.demands

    @property
    def slack(self) -> FloatArray:
        """Capacity left, shape (m,)."""
        return self.capacities - self.use

    @property
    def utilisation(self) -> FloatArray:
        """Use divided by capacity, shape (m,)."""
        return self.use / self.capacities

    @cached_property
    def dominant_shares(self) -> FloatArray:
        """Largest share of each user over the resources, shape (n,), without weights."""
        return self.tasks * row_max(self.demands, self.capacities)

    @cached_property
    def levels(self) -> FloatArray:
        """Tasks times ``per_task``, shape (n,); of DRF the dominant share divided by weight."""
        return self._level_of(self._above if self.floor == "apart" else self.tasks)

    def _level_of(self, tasks: FloatArray) -> FloatArray:
        if self.per_task is not None:
            return tasks * self.per_task
        weights = self.weights if self.weights.ndim == 2 else self.weights[:, None]
        return tasks * row_max(self.demands / self.capacities / weights)

    @property
    def _above(self) -> FloatArray:
        """Tasks above the minimum."""
        return self.tasks if self.min_tasks is None else self.tasks - self.min_tasks

    @cached_property
    def _needing(self) -> NDArray[np.int64]:
        """Users who need each resource, shape (m,)."""
        return (self.demands > 0).sum(axis=0)

    @cached_property
    def _highest(self) -> FloatArray:
        """The highest level of those who need each resource and have more than their minimum, shape (m,)."""
        risen = (self._above > 0)[:, None] & (self.demands > 0)
        found: FloatArray = np.where(risen, self.levels[:, None], 0.0).max(axis=0)
        return found

    def to_frame(self) -> pd.DataFrame:
        """Give one row a user: tasks, use of each resource, the dominant one and its share, level, bottleneck."""
        reasons = {OWN: "own bound", NOTHING: "nothing", IDLE: "not present"}
        stops = [reasons.get(int(j)) or self.resources[j] for j in self.bottlenecks]
        return pd.DataFrame(
            {
                "tasks": self.tasks,
                **use_columns(self.tasks[:, None] * self.demands, self.demands, self.capacities, self.resources),
                "dominant_share": self.dominant_shares,
                "level": self.levels,
                "bottleneck": stops,
            },
            index=labelled(self.users, "user"),
        )

    def explain(self, user: Hashable) -> str:
        """Say in one sentence why this user has this share.

        Raises
        ------
        InvalidInput
            Where no user has that name.
        """
        i, name = self._row(user), called(user)
        has, j = f"{name} runs {self.tasks[i]:.6g} tasks", int(self.bottlenecks[i])
        if j < 0:
            why = {OWN: self.words.own, NOTHING: self.words.nothing}
            return f"{has}: {why[j]}." if j in why else f"{name} is not present."
        above = ", above its minimum" * (self.floor == "apart" and self.min_tasks is not None)
        has += f" at level {self.levels[i]:.6g} ({self.words.measure}{above})"
        resource = called(self.resources[j], "resource")
        if self.rule == "whole_tasks":
            return (
                f"{has}: another would need {self.demands[i, j]:.6g} of {resource}, "
                f"and {max(self.slack[j], 0.0):.6g} of {self.capacities[j]:.6g} is left."
            )
        if self.rule in ("credit", "full"):
            return f"{has}: {resource}, which it needs, is used up."
        least, save = (
            ("", "")
            if self.min_tasks is None
            else (f"its minimum is {self.min_tasks[i]:.6g}, ", ", save at its minimum")
        )
        return (
            f"{has}: {resource} stops it. {self.utilisation[j]:.2%} of it is in use, {name} needs it, {least}"
            f"and none of the {self._needing[j]} users who need it stands at a higher level{save} "
            f"(the highest: {self._highest[j]:.6g})."
        )

    @property
    def certificate(self) -> str:
        """What an empty list of ``violations()`` says."""
        return _SAYS[self.rule]

    def violations(self, rtol: float = RTOL) -> list[str]:
        """List every way in which this allocation breaks what its rule promises; ``certificate`` says what that is.

        Uses nothing but the numbers stored here, so it judges any code that made them. An allocation is
        lexicographically max-min fair exactly if it is feasible and every user is at its own bound or has a
        resource that is used up, that it needs, and that no user needing it has at a higher level; a user at its
        minimum has nothing to give, and may stand higher. For the other
        rules the certificate says that nobody can be given more as things stand, not that the levels are fair.
        What a light user has too much or too little is no more than rounding beside what others hold of a resource.
        So tasks said to be max-min fair, in which nothing else is wrong, are also compared with the rule in fractions,
        for up to 300 users.

        Notes
        -----
        Cost O(n m); the rule O(n m^2) operations on fractions, some 0.1 s for 300 users.
        """
        rtol = as_tolerance(rtol)
        if found := unsound(self):
            return found
        share = self.demands / self.capacities
        levels, least = self.levels, np.zeros(len(self.tasks)) if self.min_tasks is None else self.min_tasks
        if self.floor == "apart":  # what is above a minimum is known as well as all tasks are
            levels = levels + rtol * self._level_of(self.tasks)
        used = self.tasks @ share
        for j in np.flatnonzero(~(used <= 1 + rtol)).tolist():
            found.append(f"{self.resources[j]} is used {used[j]:.12g} times its capacity")
        within = (self.tasks >= least * (1 - rtol)) & (self.tasks <= self.max_tasks * (1 + rtol))
        for i in np.flatnonzero(~within).tolist():
            found.append(f"{self.users[i]} has {self.tasks[i]:.12g} tasks, outside {least[i]:.12g} and its bound")
        full = used >= 1 - rtol
        over = used + share > 1 + FITS  # one more task
        whole = self.rule == "whole_tasks"
        if whole and (self.tasks != np.floor(self.tasks)).any():
            found.append("some tasks are not whole")
        for i, j in enumerate(self.bottlenecks.tolist()):
            if not (IDLE if self.rule == "credit" else NOTHING) <= j < len(self.capacities):
                found.append(f"there is no resource {j} that could stop {self.users[i]}")
            elif j == IDLE:
                if self.tasks[i] != 0 or self.demands[i].any():
                    found.append(f"{self.users[i]} is said not to be present")
            elif j == NOTHING:
                if self.rule != "credit" or not self.tasks[i] < self.max_tasks[i]:
                    found.append(f"nothing stops {self.users[i]}")
            elif j == OWN:
                if not self.tasks[i] >= self.max_tasks[i] * (1 - rtol):
                    found.append(f"{self.users[i]} is below its own bound")
            elif not (over[i, j] if whole else full[j] and self.demands[i, j] > 0) or (
                self.rule == "max_min" and not levels[i] >= self._highest[j] * (1 - rtol)
            ):
                found.append(f"{self.resources[j]} does not stop {self.users[i]}")
        if not found and self.exact is not None and len(self.tasks) <= 300:
            weights = self.weights if self.given_weights is None else self.given_weights
            exact, _ = self.exact(self.demands, weights, self.capacities, self.max_tasks, self.min_tasks, self.floor)
            for i in np.flatnonzero(~(np.abs(self.tasks - exact) <= rtol * exact)).tolist():
                found.append(f"{self.users[i]} has {self.tasks[i]:.12g} tasks where {exact[i]:.12g} are fair")
        return found


def used_up(
    tasks: FloatArray,
    demands: FloatArray,
    weights: FloatArray,
    capacity: float,
    slack: FloatArray,
    users: Names,
    resources: Names,
    mechanism: str,
) -> Allocation:
    """Give the allocation of a pool that users brought; the scarcest resource that a user needs stops it.

    ``weights`` (n,) are what the users brought, ``slack`` (m,) what is left. Where all that a user needs is left,
    nothing stops it (bottleneck -2): with zero demands there may be such users, as only the lowest level is raised.
    """
    left = np.where(demands > 0, slack, np.inf)
    bottlenecks = np.where(left.min(axis=1) <= 1e-9 * capacity, left.argmin(axis=1), NOTHING)
    return Allocation(
        tasks,
        demands,
        weights / capacity,
        np.full(len(slack), capacity),
        np.full(len(tasks), np.inf),
        bottlenecks,
        users,
        resources,
        mechanism=mechanism,
        rule="full",
    )
