"""What happened in a run of Karma."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.model.allocation import Allocation, Words
from fairbook.model.inputs import (
    OWN,
    RTOL,
    Array,
    FloatArray,
    Names,
    as_tolerance,
    row_max,
)
from fairbook.model.phased import PhasedRun
from fairbook.model.result import called, unsound


@dataclass(frozen=True, eq=False, repr=False)
class KarmaRun(PhasedRun):
    """Phases of Karma with the credits between them.

    Attributes
    ----------
    tasks : ndarray, shape (T, n)
    credit : ndarray, shape (T, n)
        At the start of each phase, *before* its free credits; row 0 is the initial credit.
        ``credit[t + 1] = credit[t] + free_credit - borrowed[t] + earned[t]``.
    final_credit : ndarray, shape (n,)
        After the last phase.
    guaranteed, borrowed : ndarray, shape (T, n)
        The two parts of the dominant share: taken for nothing, and paid for at 1 credit a unit.
    donated, earned : ndarray, shape (T, n)
        What each left of its guaranteed dominant share; credits for what was borrowed of that, at most ``donated``.
    bottlenecks : ndarray of int, shape (T, n)
        The resource that stops each user; -1 where its own bound or the end of its credit does.
    demands : ndarray, shape (T, n, m)
        Resource per task, as given.
    max_tasks : ndarray, shape (T, n)
        As claimed; 0 for who demands nothing.
    capacities : ndarray, shape (m,)
    alpha : float
    free_credit : float
        Credits that each user gets before each phase, (1 - alpha) / n.
    named_users, named_resources : tuple or None
    """

    mechanism = "karma"
    arrays: ClassVar[dict[str, str]] = {
        "demands": "tnm amount",
        **dict.fromkeys(("tasks", "credit", "guaranteed", "borrowed", "donated", "earned"), "tn number"),
        "final_credit": "n number",
        "bottlenecks": "tn place",
        "max_tasks": "tn bound",
        "capacities": "m size",
        "alpha": " part",
        "free_credit": " amount",
    }

    tasks: FloatArray
    credit: FloatArray
    final_credit: FloatArray
    guaranteed: FloatArray
    borrowed: FloatArray
    donated: FloatArray
    earned: FloatArray
    bottlenecks: NDArray[np.int64]
    demands: FloatArray
    max_tasks: FloatArray
    capacities: FloatArray
    alpha: float
    free_credit: float
    named_users: Names | None = None
    named_resources: Names | None = None

    @property
    def dominant_shares(self) -> FloatArray:
        """Dominant share in each phase, shape (T, n)."""
        return self.guaranteed + self.borrowed

    @property
    def _bounds(self) -> FloatArray:
        largest = normalised(self.demands, self.capacities)[1]
        return affordable(self.max_tasks, largest, self.credit + self.free_credit, self.alpha)

    def at(self, phase: int) -> Allocation:
        """Give one phase (from 0) as :func:`karma_phase` does, with what credit pays for among the bounds."""
        t = self._step(phase)
        return Allocation(
            self.tasks[t],
            self.demands[t],
            np.full(self.tasks.shape[1], 1.0 / self.tasks.shape[1]),
            self.capacities,
            self._bounds[t],
            self.bottlenecks[t],
            self.named_users,
            self.named_resources,
            mechanism="karma",
            rule="full",
            per_task=row_max(self.demands[t] / self.capacities),
            words=Words("its dominant share", "its claim or the end of its credit stops it"),
        )

    def explain(self, user: Hashable, phase: int | None = None) -> str:
        """Say in a few sentences why this user has this amount in this phase (from 0; default: the last)."""
        t, i = self._place(user, phase)
        spend, borrowed = self.credit[t] + self.free_credit, self.borrowed[t]
        text = (
            f"{called(user)} runs {self.tasks[t, i]:.6g} tasks in phase {t}, a dominant share of "
            f"{self.dominant_shares[t, i]:.6g}: {self.guaranteed[t, i]:.6g} for nothing and {borrowed[i]:.6g} "
            f"borrowed, with a credit of {spend[i]:.6g}. "
        )
        if self.donated[t, i] > 0:
            return text + (
                f"It claims less than its guarantee, donates {self.donated[t, i]:.6g} of it and earns "
                f"{self.earned[t, i]:.6g}."
            )
        j = int(self.bottlenecks[t, i])
        if j == OWN:
            spent = self._bounds[t, i] < self.max_tasks[t, i]
            return text + ("Its credit is spent." if spent else "That is its claim.")
        first = int(((spend > spend[i]) & (self.demands[t, :, j] > 0) & (borrowed > 0)).sum())
        who = f"the {first} with more credit borrowed first" if first else "nobody with more credit borrowed of it"
        return f"{text}{called(self.resources[j], 'resource')} is used up; {who}."

    def to_frame(self) -> pd.DataFrame:
        """Give one row a phase and user: tasks, shares, credit at the start of the phase, what stops the user."""
        names = np.empty(len(self.resources) + 2, dtype=object)
        names[:-2] = self.resources
        names[-2:] = ["credit", "own bound"]
        # -1 is the last name, own bound; where credit ends first it is the last but one
        stops = np.where((self.bottlenecks == OWN) & (self._bounds < self.max_tasks), -2, self.bottlenecks)
        columns = ("tasks", "dominant_shares", "guaranteed", "borrowed", "donated", "earned", "credit")
        return self._frame({**{name: getattr(self, name) for name in columns}, "bottleneck": names[stops]})

    certificate = "proved: in each phase the richest borrow first and the poorest earn first; credits follow from that"

    def violations(self, rtol: float = RTOL) -> list[str]:
        """List every way in which the stored numbers break the rule; empty proves the run right, by its numbers alone.

        One phase is right exactly if everyone holds min(guarantee, claim) for nothing, and every borrower is at its
        bound, at the end of its credit, or needs a resource that is used up and of which nobody holds borrowed shares
        who has less credit left; and if the donors' earnings add up and no donor that has unpaid donations
        left ends poorer than one that earned. Credits must follow from one phase to the next. Shares are compared to
        ``rtol`` of the pool, credits to ``rtol`` of the largest. Cost O(T n m).
        """
        rtol = as_tolerance(rtol)
        if wrong := unsound(self):
            return wrong
        found: list[str] = []
        size, guarantee = self.demands / self.capacities, self.alpha / self.tasks.shape[1]
        largest, needs = size.max(axis=2), size > 0
        claim = self.max_tasks * np.where(largest > 0, largest, 1)
        given = np.minimum(claim, guarantee)
        spend = self.credit + self.free_credit
        left, after = spend - self.borrowed, spend - self.borrowed + self.earned
        near = rtol * (1 + spend.max(axis=1, keepdims=True))

        def check(right: NDArray[np.bool_], text: str) -> None:
            """Comparisons say what is right, so that NaN is wrong."""
            found.extend(f"{text} in phase {t}" for t in np.flatnonzero(~right.all(axis=1)).tolist())

        def same(a: FloatArray, b: FloatArray, slop: Any = rtol) -> NDArray[np.bool_]:
            close: NDArray[np.bool_] = np.abs(a - b) <= slop
            return close

        credits = np.vstack([self.credit[1:], self.final_credit])
        check(same(credits, after, near), "credits do not follow from what was paid")
        check(same(self.guaranteed, given), "what is held for nothing is not min(guarantee, claim)")
        check(same(self.donated, guarantee - given), "donations are told wrongly")
        shares = np.where(largest > 0, self.tasks * largest, self.tasks)
        check(same(shares, self.dominant_shares, rtol * self.dominant_shares), "tasks are not what the shares pay for")
        check(self.tasks <= self.max_tasks * (1 + rtol), "someone has more than it claims")
        check((self.borrowed >= 0) & (left >= -near), "someone borrows what its credit does not pay for")
        check((self.earned >= 0) & (self.earned <= self.donated + near), "someone earns more than it donates")
        earned, donated, borrowed = (a.sum(axis=1, keepdims=True) for a in (self.earned, self.donated, self.borrowed))
        check(same(earned, np.minimum(donated, borrowed), near), "donors do not earn what is borrowed from them")
        richest = np.where(self.earned > near, after, -np.inf).max(axis=1, keepdims=True)
        check((self.earned >= self.donated - near) | (after >= richest - near), "a donor earns before a poorer one")
        used, stops = np.einsum("ti,tij->tj", self.tasks, size), self.bottlenecks
        check(used <= 1 + rtol, "the pool is overdrawn")
        check((stops >= OWN) & (stops < len(self.capacities)), "there is no resource as is said to stop someone")
        most = np.minimum(np.where(needs.any(axis=2), claim, 0), given + spend)
        bound = (self.dominant_shares >= most * (1 - rtol)) | (stops != OWN)
        check(bound, "someone is below its claim and the end of its credit")
        for j, name in enumerate(self.resources):
            ends = (used[:, j : j + 1] >= 1 - rtol) & needs[:, :, j]
            check(ends | (stops != j), f"{name} is said to stop someone and does not")
            holds = needs[:, :, j] & (self.borrowed > near)
            least = np.where(holds, left, np.inf).min(axis=1, keepdims=True)
            check((left <= least + near) | (stops != j), f"a richer user is denied {name}")
        return found


def normalised(demands: Array, capacities: Array) -> tuple[Array, Array]:
    """Give demands per unit of dominant share, and the dominant share of one task (1 for who demands nothing)."""
    share = demands / capacities
    largest = row_max(share)
    largest = np.where(largest > 0, largest, 1)
    return share / largest[..., None], largest


def affordable(max_tasks: Array, largest: Array, credit: Array, alpha: Any) -> Array:
    """Bounds on tasks: what the user claims, and what its guaranteed share and its credit pay for."""
    return np.minimum(max_tasks, (alpha / credit.shape[-1] + credit) / largest)
