"""Allocations after each of many arrivals."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.kernels import kernel
from fairbook.model.allocation import Allocation, used_up
from fairbook.model.exact import by_rule
from fairbook.model.inputs import RTOL, FloatArray, Names, as_tolerance, as_whole, row_max
from fairbook.model.result import Result, called, labelled, unsound, use_columns

__all__ = ["DynamicAllocation"]


@kernel()
def _follow(lowest: Any, demands: Any, weights: Any, irrevocable: bool, use: Any, needed: Any) -> None:
    """Tell, after each arrival, what is in use of each resource, and whether who stands lowest needs it. Cost O(n m).

    Groups of equal level lie on a stack, the lowest on top. A newcomer takes with it all whom its level reaches; where
    allocations may shrink, everybody. So what is in use only grows by what is added, and loses no digits.
    """
    n, m = demands.shape
    level, rate, now = np.empty(n), np.empty((n, m)), np.zeros(m)
    top = -1
    for k in range(n):
        top += 1
        level[top] = lowest[k]
        scale = weights[k] / demands[k].max()
        for j in range(m):
            rate[top, j] = demands[k, j] * scale
            now[j] += rate[top, j] * lowest[k]
        while top > 0 and (level[top - 1] <= lowest[k] or not irrevocable):
            for j in range(m):
                now[j] += rate[top - 1, j] * (lowest[k] - level[top - 1])
                rate[top - 1, j] += rate[top, j]
            top -= 1
            level[top] = lowest[k]
        for j in range(m):
            use[k, j] = now[j] if irrevocable else rate[top, j] * lowest[k]
            needed[k, j] = rate[top, j] > 0.0


@dataclass(frozen=True, eq=False, repr=False)
class DynamicAllocation(Result):
    """Allocations after each of n arrivals, kept in O(n) numbers.

    After arrival k (counted from 1) the pool holds what the first k users brought, W_k = w_1 + ... + w_k of every
    resource. The lowest level, M^k, is raised as far as the pool allows. Where allocations never shrink, the
    level of user i after arrival k is max(M^i, ..., M^k), so the n numbers M^k tell every allocation.

    Attributes
    ----------
    lowest : ndarray, shape (n,)
        M^1, ..., M^n: the lowest level after each arrival.
    binding : ndarray of int, shape (n,)
        The resource that was used up at each arrival and stopped the rise.
    demands : ndarray, shape (n, m)
        Resource per task, as given, in order of arrival.
    weights : ndarray, shape (n,)
        Amount of every resource that each user brought.
    irrevocable : bool
        True where allocations never shrink; False where everything is shared out anew at each arrival.
    users, resources : tuple
        Labels.
    mechanism : str
    exact : callable or None
        The rule in fractions, where :meth:`violations` is to compare with it.
    """

    arrays: ClassVar[dict[str, str]] = {
        "demands": "nm amount",
        "lowest": "n number",
        "binding": "n place",
        "weights": "n size",
    }

    lowest: FloatArray
    binding: NDArray[np.int32]
    demands: FloatArray
    weights: FloatArray
    named_users: Names | None = None
    named_resources: Names | None = None
    irrevocable: bool = True
    mechanism: str = "dmfa_srq"
    exact: Callable[..., Any] | None = field(default=None, kw_only=True)

    def __len__(self) -> int:
        return len(self.lowest)

    @property
    def _shape(self) -> tuple[int, int]:
        n, m = self.demands.shape
        return n, m

    @property
    def use(self) -> FloatArray:
        """Resource in use after the last arrival, shape (m,)."""
        return self.tasks @ self.demands

    @property
    def slack(self) -> FloatArray:
        """Pool left after the last arrival, shape (m,)."""
        return self.capacities - self.use

    @property
    def tasks(self) -> FloatArray:
        """Tasks after the last arrival, shape (n,); ``tasks @ demands`` is the resource in use. Cost O(n m)."""
        return self.shares_at() / row_max(self.demands)

    @property
    def capacities(self) -> FloatArray:
        """Pool after the last arrival, shape (m,)."""
        return np.full(self.demands.shape[1], self.weights.sum())

    @property
    def dominant_shares(self) -> FloatArray:
        """Largest part of the pool that each user holds after the last arrival, shape (n,)."""
        return self.shares_at() / self.weights.sum()

    def until(self, k: int | None = None) -> DynamicAllocation:
        """Give the first k arrivals (from 1), by default all: what they say is of the moment after arrival k."""
        k = len(self) if k is None else as_whole(k, "k", 1, len(self))
        arrays = {name: getattr(self, name)[:k] for name in ("lowest", "binding", "demands", "weights")}
        return replace(self, **arrays, named_users=None if self.named_users is None else self.named_users[:k])

    def levels_at(self, k: int | None = None) -> FloatArray:
        """Level x_i^k / w_i of each of the first k users after arrival k, shape (k,). Cost O(k)."""
        lowest = self.until(k).lowest
        if not self.irrevocable:
            return np.full(len(lowest), lowest[-1])
        return np.maximum.accumulate(lowest[::-1])[::-1]

    def shares_at(self, k: int | None = None) -> FloatArray:
        """Dominant-share units x_i^k of each of the first k users after arrival k, shape (k,). Cost O(k)."""
        return self.levels_at(k) * self.weights[:k]

    def tasks_at(self, k: int | None = None) -> FloatArray:
        """Tasks of each of the first k users after arrival k (from 1), shape (k,). Cost O(k m)."""
        return self.until(k).tasks

    def use_at(self, k: int | None = None) -> FloatArray:
        """Resource in use after arrival k, shape (m,). Cost O(k m)."""
        return self.until(k).use

    def at(self, k: int) -> Allocation:
        """Give the allocation after arrival k (from 1), of the pool of that moment. Cost O(k m)."""
        one = self.until(k)
        capacity, names = float(one.weights.sum()), (one.users, one.resources)
        return used_up(one.tasks, one.demands, one.weights, capacity, one.slack, *names, self.mechanism)

    def raised_at(self, k: int | None = None) -> NDArray[np.int64]:
        """Arrival (from 1) at which each of the first k users last gained, shape (k,). Cost O(k)."""
        backwards = self.until(k).lowest[::-1]
        k = len(backwards)
        if not self.irrevocable:
            return np.full(k, k)
        highest = np.maximum.accumulate(backwards)
        # the level equals M^t for the earliest t at which the maximum is attained: later equal M^t add nothing
        arrival = np.where(np.append(True, backwards[1:] >= highest[:-1]), np.arange(k, 0, -1), k + 1)
        return np.minimum.accumulate(arrival)[::-1]

    @property
    def bottlenecks(self) -> NDArray[np.int64]:
        """Resource that was used up when each user last gained, shape (n,)."""
        return self.binding[self.raised_at() - 1].astype(np.int64)

    def to_frame(self) -> pd.DataFrame:
        """Give one row a user: weight, tasks, use of each resource, the dominant one and its share, level, the arrival
        that set it, the bottleneck.
        """
        return pd.DataFrame(
            {
                "weight": self.weights,
                "tasks": self.tasks,
                **use_columns(self.tasks[:, None] * self.demands, self.demands, self.weights.sum(), self.resources),
                "dominant_share": self.dominant_shares,
                "level": self.levels_at(),
                "raised_at": self.raised_at(),
                "bottleneck": [self.resources[j] for j in self.bottlenecks],
            },
            index=labelled(self.users, "user"),
        )

    def explain(self, user: Hashable) -> str:
        """Say in one or two sentences why this user has this share after the last arrival."""
        i = self._row(user)
        level, t = self.levels_at()[i], int(self.raised_at()[i])
        text = f"{called(user)} runs {self.tasks[i]:.6g} tasks at level {level:.6g} (1 is what it brought). "
        if not self.irrevocable:
            return text + (
                f"After arrival {len(self)} all was shared out anew, with everyone at this level: "
                f"then {called(self.resources[self.binding[-1]], 'resource')} was used up."
            )
        stop = called(self.resources[self.binding[t - 1]], "resource")
        text += f"Arrival {t} raised it to this level; then {stop} was used up."
        if t < len(self):
            text += (
                f" Since then newcomers have been raised no higher than {self.lowest[t:].max():.6g}, and what "
                "has been allocated is not taken back."
            )
        return text

    certificate = "proved: after each arrival everything fits, and the lowest level is as high as can be"

    def violations(self, rtol: float = RTOL) -> list[str]:
        """List every way in which one of the allocations is not the optimum of (4), given the one before.

        At each arrival the pool must hold what all have, and the binding resource must be used up and needed by someone
        at the lowest level, so that M^k cannot rise. Then each step is right, and nobody lost anything. Uses only the
        numbers stored here, not the code that made them.
        What a light user has too much or too little is no more than rounding beside what others hold of a resource.
        So, for up to 100 arrivals, all M^k are also compared with the rule in fractions.

        Notes
        -----
        Cost O(n m); the rule O(n^2 m) operations on fractions, once.
        """
        rtol = as_tolerance(rtol)
        if wrong := unsound(self):
            return wrong
        lowest, binding, (n, m) = self.lowest, self.binding.astype(np.int64), self.demands.shape
        there = (binding >= 0) & (binding < m)
        use, needed = np.zeros((n, m)), np.zeros((n, m), np.bool_)
        _follow(lowest, self.demands, self.weights, self.irrevocable, use, needed)
        pool, at, steps = self.weights.cumsum(), np.where(there, binding, 0), np.arange(n)
        full = use[steps, at] >= pool * (1 - rtol)
        found: list[tuple[int, str]] = []
        for t, j in np.argwhere(~(use <= pool[:, None] * (1 + rtol))).tolist():
            found.append((t, f"{self.resources[j]}: {use[t, j]:.12g} in use of {pool[t]:.12g}"))
        for t in np.flatnonzero(~(lowest > 0)).tolist():
            found.append((t, "tasks are not all positive"))
        for t in np.flatnonzero(~there).tolist():
            found.append((t, f"there is no resource {binding[t]} that could bind"))
        for t in np.flatnonzero(there & ~full).tolist():
            found.append((t, f"{self.resources[binding[t]]} is said to bind but is not used up"))
        for t in np.flatnonzero(there & ~needed[steps, at]).tolist():
            found.append((t, f"nobody at the lowest level needs {self.resources[binding[t]]}"))
        if not found and self.exact is not None and n <= 100:
            exact = np.array([float(M) for M, *_ in by_rule(self.exact, demands=self.demands, weights=self.weights)])
            for t in np.flatnonzero(~(np.abs(lowest - exact) <= rtol * exact)).tolist():
                found.append((t, f"the lowest level is {lowest[t]:.12g} where {exact[t]:.12g} is the highest possible"))
        return [f"after arrival {t + 1}: {text}" for t, text in sorted(found)]
