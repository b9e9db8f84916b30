"""What happened over the phases of a run of cbDRF, with its certificate."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.mechanisms.cbdrf_phase import IDLE, CreditRule, Grants, as_grants, end_phase, grant_faults, pool_of
from fairbook.model.inputs import FloatArray, Names, as_tolerance
from fairbook.model.phased import PhasedRun
from fairbook.model.result import called


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
        rest = self.demands[t], self.credit_factor[t], self.pool[t], self.rule.grant
        return as_grants(granted, *rest, (self.named_users, self.named_resources))

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

    def violations(self, rtol: float = 1e-9) -> list[str]:
        """List every way in which the stored numbers break the rule; empty means certified.

        Each number follows from those stored of its phase and of the one before: the credits from the release ratios,
        the pools from what is held, the tasks from pools and credits. These are compared with the rule, worked out in
        fractions for up to 50 nodes; what stops a node must be used up and needed, in pools that have some of all.
        """
        rtol = as_tolerance(rtol)
        rule, start = self.rule, self.rule.initial_credit
        rho, sizes = np.broadcast_to(rule.rho, self.tasks.shape).copy(), [self.capacities] * len(self)
        phases = zip(self.credit, self.tasks, self.demands, sizes, self.ratios, rho, strict=True)
        ends = zip(*(end_phase(rule.terms, *phase) for phase in phases), strict=True)
        eta, held, after, complied = map(np.stack, ends)
        before = np.vstack([0 * held[:1], held[:-1]])
        right = {
            "credit": (self.credit, np.vstack([0 * after[:1] + start, after[:-1]]), start),
            "final_credit": (self.final_credit[None], after[-1:], start),
            "credit_factor": (self.credit_factor, rule.factor(self.credit), 0.0),
            "released": (self.released, eta, 1e-3),
            "complied": (1 * self.complied, complied, 0.0),
            "held_back": (self.held_back, held, self.capacities),
            "pool": (self.pool, pool_of(self.capacities, before, rule.held), self.capacities),
        }
        found = []
        for name, (told, made, unit) in right.items():
            wrong = ~(np.abs(told - made) <= rtol * (unit + np.abs(made))).all(axis=1)
            found += [f"{name} is not what follows from the rest in phase {t}" for t in np.flatnonzero(wrong)]
        for t, pool in enumerate(self.pool):
            phase = self.tasks[t], self.drf_tasks[t], self.demands[t], self.credit_factor[t], pool
            faults = self.at(t).violations(rtol) if (pool > 0).all() else grant_faults(*phase, rule.grant, rtol)
            found += [f"{text} in phase {t}" for text in faults]
        return found
