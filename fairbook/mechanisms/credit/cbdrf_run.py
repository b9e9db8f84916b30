"""What happened in a run of cbDRF, one phase of it, and how both are judged without the code that made them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.mechanisms.credit.credit_rule import CreditRule
from fairbook.mechanisms.readings import Grant
from fairbook.model.allocation import Allocation, Words
from fairbook.model.inputs import (
    FITS,
    IDLE,
    NOTHING,
    OWN,
    RTOL,
    FloatArray,
    Names,
    as_tolerance,
    row_max,
)
from fairbook.model.phased import PhasedRun
from fairbook.model.result import called, unsound


@dataclass(frozen=True, eq=False, repr=False)
class CreditRun(PhasedRun):
    """What happened in each of T phases to each of n nodes.

    Attributes
    ----------
    credit, credit_factor : ndarray, shape (T, n)
        Credit C and psi in force in each phase, before its end.
    tasks, drf_tasks : ndarray, shape (T, n)
        Granted, and what DRF grants from the same pool.
    released : ndarray, shape (T, n)
        Release ratio eta at the end of each phase; 1 where nothing was granted.
    complied : ndarray of bool, shape (T, n)
        Whether eta came up to rho, within 1e-12; so it does where nothing was granted.
    pool : ndarray, shape (T, m)
        What there was to share: the capacities, less what was still held where ``held="stays"``.
    held_back : ndarray, shape (T, m)
        Resource not released at the end of each phase, by all nodes together.
    bottlenecks : ndarray of int, shape (T, n)
        What stops each node, as :func:`fairbook.grant_tasks` says it.
    demands : ndarray, shape (T, n, m)
    capacities : ndarray, shape (m,)
    final_credit : ndarray, shape (n,)
        After the last phase.
    rule : CreditRule
    ratios : ndarray, shape (T, n, 1) or (T, n, m)
        Release ratios as they were given, for each resource where they differ.
    """

    mechanism = "cbdrf"
    arrays: ClassVar[dict[str, str]] = {
        "demands": "tnm amount",
        **dict.fromkeys(("credit", "tasks", "drf_tasks"), "tn amount"),
        **dict.fromkeys(("credit_factor", "released"), "tn part"),
        "complied": "tn truth",
        "pool": "tm amount",
        "held_back": "tm amount",
        "bottlenecks": "tn place",
        "capacities": "m size",
        "final_credit": "n amount",
        "ratios": "tn1|tnm part",
        "rule.rho": "|n|tn|t1 part",
    }

    credit: FloatArray
    credit_factor: FloatArray
    tasks: FloatArray
    drf_tasks: FloatArray
    released: FloatArray
    complied: NDArray[np.bool_]
    pool: FloatArray
    held_back: FloatArray
    bottlenecks: NDArray[np.int64]
    demands: FloatArray
    capacities: FloatArray
    final_credit: FloatArray
    rule: CreditRule
    ratios: FloatArray
    named_users: Names | None = None
    named_resources: Names | None = None

    @property
    def granted_ratio(self) -> FloatArray:
        """Tasks granted over DRF tasks, shape (T, n): the paper's xi; NaN where DRF grants nothing."""
        granted = self.drf_tasks > 0
        return np.where(granted, self.tasks / np.where(granted, self.drf_tasks, 1.0), np.nan)

    @property
    def dominant_shares(self) -> FloatArray:
        """Largest part of a capacity that each node was granted, shape (T, n)."""
        return self.tasks * (self.demands / self.capacities).max(axis=2)

    @property
    def slack(self) -> FloatArray:
        """What nobody was granted of each phase's pool, shape (T, m)."""
        return self.pool - self.use

    def at(self, phase: int) -> Grants:
        """Give the allocation of one phase (from 0) in the pool of that phase."""
        t = self._step(phase)
        if not (self.pool[t] > 0).all():
            raise InvalidInput("phase", "must be one whose pool has some of every resource", phase)
        granted = self.tasks[t], self.drf_tasks[t], self.bottlenecks[t]
        names = self.named_users, self.named_resources
        return as_grants(*granted, self.demands[t], self.credit_factor[t], self.pool[t], self.rule.grant, names)

    def to_frame(self) -> pd.DataFrame:
        """Give one row a phase and node: credit, credit factor, tasks, DRF tasks, release ratio, complied."""
        columns = ("credit", "credit_factor", "tasks", "drf_tasks", "released", "complied")
        return self._frame({name: getattr(self, name) for name in columns})

    def explain(self, user: Hashable, phase: int | None = None) -> str:
        """Say in one or two sentences why this node has this amount in this phase (from 0; default: the last)."""
        t, i = self._place(user, phase)
        psi, stop, pool = self.credit_factor[t], int(self.bottlenecks[t, i]), self.pool[t]
        if stop == IDLE:
            return f"{called(user)} is not present in phase {t}."
        x, drf = self.tasks[t, i], self.drf_tasks[t, i]
        if stop >= 0 and pool[stop] == 0:
            return (
                f"{called(user)} runs {x:.6g} tasks in phase {t}: it needs {called(self.resources[stop], 'resource')}, "
                "all of which is still held from the phase before."
            )
        left = " from what is left" if (pool < self.capacities).any() else ""
        text = f"{called(user)} runs {x:.6g} tasks in phase {t}; DRF would give it {drf:.6g}{left}. "
        if psi[i] < 1:
            broken = int((~self.complied[:t, i]).sum())
            means = {
                "scaled": "the part of its DRF amount that it gets",
                "weighted": "which is its weight",
                "capped": "the part of an equal split that it gets",
            }
            return (
                f"{text}It failed to release enough in {broken} of {t} phases before, and stands at {psi[i]:.2%} of "
                f"the initial credit, {means[self.rule.grant]}."
            )
        if (psi[self.bottlenecks[t] != IDLE] == 1).all():
            return text + "It is in good standing, and so is everyone who is present."
        if self.rule.grant == "scaled":
            return text + "It is in good standing: what is withheld from others lies idle."
        if x < drf:
            return text + "It is in good standing: others in good standing took what was withheld, and more."
        return text + "It is in good standing: what is withheld from others goes to it and its like."

    certificate = "proved: credits follow from what was released, pools from what is held, and the grants from both"

    def violations(self, rtol: float = RTOL) -> list[str]:
        """List every way in which the stored numbers break the rule; empty proves the run right, by its numbers alone.

        Each number follows from those stored of its phase and of the one before: the credits from the release ratios,
        the pools from what is held, the tasks from pools and credits. That tasks are right, also those of DRF, is seen
        from what is used up, who needs it, and who stands higher.

        Notes
        -----
        Cost O(T n m).
        """
        rtol = as_tolerance(rtol)
        if wrong := unsound(self):
            return wrong
        credits = ((name, t) for name, wrong in credit_faults(self, rtol).items() for t in np.flatnonzero(wrong))
        found = [f"{name} is not what follows from the rest in phase {t}" for name, t in credits]
        return found + [f"{text} in phase {t}" for t, text in told_faults(self, self.pool, self.rule.grant, rtol)]


Mask = NDArray[np.bool_]


def stopping(tasks: FloatArray, share: FloatArray, weights: FloatArray, rtol: float) -> Mask:
    """Say which resources prove that a user has its max-min fair tasks, (T, n, m).

    The resource is used up, the user needs it, and nobody that needs it stands at a higher level. It is used up to
    ``rtol`` of what those whom it stops have of it, so that their levels are right to ``rtol``, however light they are.
    """
    taken = tasks[:, :, None] * share
    level = (tasks * row_max(share) / weights)[:, :, None]
    highest = np.where(share > 0, level, 0).max(axis=1, keepdims=True)
    stops: Mask = (share > 0) & (level >= highest * (1 - rtol))
    theirs = np.where(stops, taken, 0).sum(axis=1, keepdims=True)
    return stops & (np.abs(1 - taken.sum(axis=1, keepdims=True)) <= rtol * theirs + FITS)


def grant_faults(
    tasks: FloatArray,
    drf_tasks: FloatArray,
    psi: FloatArray,
    stops: NDArray[np.int64],
    demands: FloatArray,
    pool: FloatArray,
    grant: Grant,
    rtol: float,
) -> list[tuple[str, Mask]]:
    """Give faults, each with the phases and nodes (T, n) that have it; ``demands`` (T, n, m), ``pool`` (T, m).

    DRF amounts are max-min fair: that they are can be seen. ``"scaled"`` grants are psi times as much, ``"weighted"``
    ones max-min fair with weights psi, and ``"capped"`` ones max-min fair besides what punished nodes are given: psi of
    what one could run alone on an equal part. Cost O(T n m).
    """
    needs, there = demands > 0, pool[:, None] > 0
    present, blocked = np.asarray(needs.any(axis=2)), np.asarray((needs & ~there).any(axis=2))
    able: Mask = present & ~blocked
    nothing, capped = able & (psi == 0), able & (psi < 1) & (grant == "capped")
    share = np.where(able[:, :, None] & there, demands / np.where(there, pool[:, None], 1), 0)
    used, plain = (np.einsum("ti,tij->tj", one, share)[:, None] for one in (tasks, drf_tasks))
    fair = stopping(drf_tasks, share, np.ones_like(psi), rtol)
    if grant == "scaled":
        full, by_credit, right = needs & (used >= 1 - rtol), able, psi * drf_tasks
        free = (fair & (used < 1 - FITS / 10)).any(axis=2) | ~full.any(axis=2)  # what stops it in DRF is withheld
    else:
        weights = np.where((psi == 0) | (grant == "capped"), 1, psi / psi.max(axis=1, initial=5e-324, keepdims=True))
        full, free, by_credit = stopping(tasks, share, weights, rtol), nothing, capped | nothing
        alone = np.maximum(present.sum(axis=1, keepdims=True), 1) * np.where(able, row_max(share), 1)
        right = np.where(capped, psi / alone, 0)
    stops_it = np.where(blocked[:, :, None], needs & ~there, full & ~nothing[:, :, None])
    named = np.clip(stops, 0, share.shape[2] - 1)
    said = (stops == named) & np.take_along_axis(stops_it, named[:, :, None], axis=2)[:, :, 0]
    said |= (stops == NOTHING) & (nothing | (able & free))
    return [
        ("{user} is granted what it cannot use", ~able & ~((tasks == 0) & (drf_tasks == 0))),
        ("what {user} needs is overdrawn", (needs & ~((used <= 1 + rtol) & (plain <= 1 + rtol))).any(axis=2)),
        ("the DRF amount of {user} is not max-min fair", able & ~fair.any(axis=2)),
        ("the grant of {user} is not max-min fair", able & ~by_credit & ~full.any(axis=2)),
        ("the grant of {user} is not what its credit makes", by_credit & ~(np.abs(tasks - right) <= rtol * right)),
        ("{user} is not stopped by {stop}", np.where(present, ~np.where(capped, stops == OWN, said), stops != IDLE)),
    ]


def credit_faults(run: Any, rtol: float) -> dict[str, Mask]:
    """Give what does not follow from the rest in a run of cbDRF, each with the phases (T,) that have it.

    Each number follows from those of its phase and of the one before. Cost O(T n m).
    """
    rule, need, shape = run.rule, run.demands > 0, run.tasks.shape
    start, cap, floor = rule.initial_credit, np.inf if rule.credit_cap is None else rule.credit_cap, rule.credit_floor

    def off(told: FloatArray, right: FloatArray, unit: Any) -> Mask:
        return ~(np.abs(told - right) <= rtol * (unit + np.abs(right))).all(axis=1)

    each, dominant = np.broadcast_to(run.ratios, need.shape), (run.demands / run.capacities).argmax(axis=2)
    several = {
        "least": np.where(need, each, 1).min(axis=2),
        "mean": np.where(need, each, 0).sum(axis=2) / np.maximum(need.sum(axis=2), 1),
        "dominant": np.take_along_axis(each, dominant[:, :, None], axis=2)[:, :, 0],
    }
    ratio = np.where((run.tasks > 0) & need.any(axis=2), several[rule.ratio], 1)
    lost = rule.step_down * (1 - ratio if rule.penalty == "graded" else 1)
    moved = np.where(run.complied, run.credit + rule.step_up, np.maximum(run.credit - lost, floor))
    right = np.vstack([np.full(shape[1:], start), np.minimum(moved, cap)])
    told, steps = np.vstack([run.credit, run.final_credit]), (rule.step_up, rule.step_down)
    apart = np.abs(told - right) - 1e-15 * np.maximum(right, start)  # rounding
    # credit as near to a mark as this is set to it
    snap = min([1e-9 * start, *(step / 1000 for step in steps if step > 0)])
    wrong = ~((apart <= rtol * max(steps)) | (np.isin(told, [start, cap, floor]) & (apart <= snap))).all(axis=1)
    held = np.einsum("ti,tij->tj", run.tasks, run.demands * (1 - run.ratios))
    kept = np.vstack([0 * held[:1], run.held_back[:-1]]) * (rule.held == "stays")
    return {
        "released": off(run.released, ratio, 1e-3),
        "complied": (run.complied != (ratio >= np.full(shape, rule.rho) - FITS)).any(axis=1),
        "credit_factor": off(run.credit_factor, np.minimum(run.credit, start) / start, 0),
        "credit": wrong[:-1],
        "final_credit": wrong[1:] & (np.arange(shape[0]) == shape[0] - 1),
        "held_back": off(run.held_back, held, run.capacities),
        "pool": off(run.pool, run.capacities - kept, run.capacities),
    }


@dataclass(frozen=True, eq=False)
class Grants(Allocation):
    """Tasks granted in one phase, with the credit factors that they follow from.

    Attributes
    ----------
    drf_tasks, credit_factor : ndarray, shape (n,)
        What DRF would have granted, and psi.
    grant : {"scaled", "weighted", "capped"}
    """

    arrays: ClassVar[dict[str, str]] = {**Allocation.arrays, "drf_tasks": "n amount", "credit_factor": "n part"}

    drf_tasks: FloatArray = field(kw_only=True)
    credit_factor: FloatArray = field(kw_only=True)
    grant: Grant = field(kw_only=True)

    certificate = "proved: grants are what the credit factors make of DRF amounts, which are max-min fair"

    def violations(self, rtol: float = RTOL) -> list[str]:
        """List each grant, DRF amount and bottleneck that does not follow from demands, pool and credit factors.

        Uses the numbers alone, without the code that made them. Cost O(n m).
        """
        rtol = as_tolerance(rtol)
        return unsound(self) or [text for _, text in told_faults(self, self.capacities[None], self.grant, rtol)]


def told_faults(result: Any, pool: FloatArray, grant: Grant, rtol: float) -> Iterator[tuple[int, str]]:
    """Give what is wrong with the grants of one phase (n,), or of several (T, n), with the number of the phase."""
    names = "tasks", "drf_tasks", "credit_factor", "bottlenecks"
    tasks, drf_tasks, psi, stops = (np.atleast_2d(getattr(result, name)) for name in names)
    demands = result.demands.reshape(*tasks.shape, -1)
    reasons = {OWN: "its own bound", NOTHING: "nothing", IDLE: "being away"} | dict(enumerate(result.resources))
    for text, wrong in grant_faults(tasks, drf_tasks, psi, stops, demands, pool, grant, rtol):
        for t, i in np.argwhere(wrong).tolist():
            stop = int(stops[t, i])
            yield t, text.format(user=result.users[i], stop=reasons.get(stop, f"resource {stop}"))


def as_grants(
    tasks: FloatArray,
    drf_tasks: FloatArray,
    stops: NDArray[np.int64],
    demands: FloatArray,
    psi: FloatArray,
    pool: FloatArray,
    grant: Grant,
    names: tuple[Names | None, Names | None],
) -> Grants:
    """Give what :func:`grant_phase` granted as an allocation among n nodes of equal weight, without task bounds."""
    n = len(tasks)
    return Grants(
        tasks,
        demands,
        np.full(n, 1.0 / n),
        pool,
        np.full(n, np.inf),
        stops,
        *names,
        mechanism=f"cbdrf, {grant}",
        rule="credit",
        words=Words(
            own="the cap by its credit stops it", nothing="it has what its credit factor leaves of its DRF amount"
        ),
        drf_tasks=drf_tasks,
        credit_factor=psi,
        grant=grant,
    )
