"""cbDRF: how credit moves, and what happened over the phases of a run, with its certificate."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.mechanisms.cbdrf_phase import IDLE, NEAR, Grants, as_grants, grant_faults
from fairbook.mechanisms.choices import check_choice
from fairbook.mechanisms.readings import Grant, Held, Penalty, Ratio
from fairbook.model.inputs import (
    LARGEST,
    FloatArray,
    Names,
    as_floats,
    as_number,
    as_positive,
    as_tolerance,
    check_fractions,
    labels_of,
    order_of,
    reordered,
)
from fairbook.model.phased import PhasedRun
from fairbook.model.result import called

#: Credits this close to C_0, cap or floor, in parts of C_0, are set to it: after any realistic number of steps such as
#: 0.1 a node that has regained its credit is in good standing, not one rounding error short of it. Where steps are
#: tiny, a thousandth of the smaller one, so that every step counts.
SNAP = 1e-9


def as_ratios(values: Any, argument: str, users: Names | None, shapes: tuple[tuple[int, ...], ...]) -> FloatArray:
    """Check parts between 0 and 1 of one of some shapes; a Series, and the columns of a DataFrame, go by name."""
    if isinstance(values, pd.Series):
        values = reordered(values, users, argument, "users")
    elif isinstance(values, pd.DataFrame):
        order = order_of(labels_of(values.columns, f"{argument}.columns"), users, f"{argument}.columns", "users")
        values = values if order is None else values.iloc[:, order]
    rule = f"must be one number, or have one of the shapes {', '.join(map(str, shapes[1:]))}"
    ratios = as_floats(values, argument, (0, 1, 2, 3), rule)
    check_fractions(ratios, argument)
    if ratios.shape not in shapes:
        raise InvalidInput(argument, rule, f"shape {ratios.shape}")
    return ratios


def left(capacities: NDArray[Any], held: NDArray[Any], reading: Held) -> NDArray[Any]:
    """Give what there is to share: all, or what is not still held; of a hair's breadth nothing."""
    pool = capacities - held if reading == "stays" else capacities + 0 * held
    return np.where(pool > NEAR * capacities, pool, 0)


def one_ratio(each: NDArray[Any], demands: NDArray[Any], capacities: NDArray[Any], how: Ratio) -> NDArray[Any]:
    """Make one release ratio a node, (..., n), of those of the resources that it needs, (..., n, m), or of one."""
    if each.shape[-1] == 1:
        return each[..., 0]
    needs = demands > 0
    if how == "least":
        return np.where(needs, each, 1).min(axis=-1)
    if how == "mean":
        return np.where(needs, each, 0).sum(axis=-1) / np.maximum(needs.sum(axis=-1), 1)
    dominant = (demands / capacities).argmax(axis=-1)[..., None]
    return np.take_along_axis(each, dominant, axis=-1)[..., 0]


def _tuples(values: Any) -> Any:
    return tuple(map(_tuples, values)) if isinstance(values, list) else values


@dataclass(frozen=True)
class CreditRule:
    """How credit moves and what it does; checked on construction, equal and hashed by value.

    Attributes
    ----------
    rho : float or tuple
        Part of its grant, in [0, 1], that a node must release to comply: one number, one a node (shape (n,)), or for
        whole runs (T, n) or (T, 1), such as one threshold a phase and priority.
    step_up, step_down : float
        What a phase adds to the credit of a node that complied, and takes from one that did not; at least 0.
    initial_credit : float
        C_0, positive: the credit at the start, and the credit at which nothing is withheld.
    credit_cap, credit_floor : float
        Credit stays between them; floor <= C_0 <= cap. The paper's "(C_i < C_0)" beside psi = C_i / C_0 may be a range
        or a case. The default ``"initial"`` is the range: the cap is C_0, and that number stands here. ``None`` is the
        case: no cap, and psi = 1 above C_0.
    held : {"returns", "stays"}
        Whether what is not released is back in the next phase's pool, or is missing there and back one phase later.
    grant : {"scaled", "weighted", "capped"}
        What credit does; see :func:`fairbook.grant_tasks`.
    penalty : {"step", "graded"}
        Whether a node that does not comply loses ``step_down``, or ``step_down`` times the part it held.
    ratio : {"least", "mean", "dominant"}
        How ratios given for each resource become one number: the smallest, the mean, or that of the dominant resource;
        over the resources that the node needs.
    """

    rho: Any = 0.75
    step_up: float = 0.1
    step_down: float = 0.1
    initial_credit: float = 1.0
    credit_cap: Any = "initial"
    credit_floor: float = 0.0
    held: Held = "returns"
    grant: Grant = "scaled"
    penalty: Penalty = "step"
    ratio: Ratio = "least"

    def __post_init__(self) -> None:
        rho = as_floats(self.rho, "rho", (0, 1, 2), "must be one number, one a node, or (T, n) of them")
        check_fractions(rho, "rho")
        start = as_positive(self.initial_credit, "initial_credit")
        initial = isinstance(self.credit_cap, str) and self.credit_cap == "initial"
        cap = self.initial_credit if initial else self.credit_cap
        kept = {
            "rho": (_tuples(rho.tolist()), None),
            "step_up": (as_number(self.step_up, "step_up", 0.0, LARGEST), self.step_up),
            "step_down": (as_number(self.step_down, "step_down", 0.0, LARGEST), self.step_down),
            "initial_credit": (start, self.initial_credit),
            "credit_floor": (as_number(self.credit_floor, "credit_floor", 0.0, start), self.credit_floor),
            "credit_cap": (None if cap is None else as_number(cap, "credit_cap", start, LARGEST), cap),
        }
        for name, (number, given) in kept.items():
            object.__setattr__(self, name, given if isinstance(given, Fraction) else number)
        for name, kind in (("held", Held), ("grant", Grant), ("penalty", Penalty), ("ratio", Ratio)):
            check_choice(getattr(self, name), name, kind)

    def factor(self, credit: NDArray[Any]) -> NDArray[Any]:
        """Give psi = min(1, C / C_0)."""
        return np.minimum(credit, self.initial_credit) / self.initial_credit

    def settle(self, credit: NDArray[Any], released: NDArray[Any], rho: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Give the credit after a phase, and who complied. Arrays of shape (n,); cost O(n).

        A ratio within 1e-12 of its threshold meets it.
        """
        complied = released >= np.asarray(rho) - NEAR
        lost = self.step_down * (1 - released) if self.penalty == "graded" else self.step_down
        after = np.where(complied, credit + self.step_up, np.maximum(credit - lost, self.credit_floor))
        marks = [self.initial_credit, self.credit_floor]
        if self.credit_cap is not None:
            after = np.minimum(after, self.credit_cap)
            marks.append(self.credit_cap)
        near = min([SNAP * self.initial_credit, *(step / 1000 for step in (self.step_up, self.step_down) if step > 0)])
        for mark in marks:
            after = np.where(np.abs(after - mark) <= near, mark, after)
        return after, complied


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
        one = np.where(self.tasks > 0, one_ratio(self.ratios, self.demands, self.capacities, rule.ratio), 1.0)
        after, complied = rule.settle(self.credit, self.released, np.broadcast_to(rule.rho, self.tasks.shape))
        held = (self.tasks[..., None] * self.demands * (1 - self.ratios)).sum(axis=1)
        before = np.vstack([0 * held[:1], held[:-1]])
        right = {
            "credit": (self.credit, np.vstack([0 * after[:1] + start, after[:-1]]), start),
            "final_credit": (self.final_credit[None], after[-1:], start),
            "credit_factor": (self.credit_factor, rule.factor(self.credit), 0.0),
            "released": (self.released, one, 1e-3),
            "complied": (1 * self.complied, complied, 0.0),
            "held_back": (self.held_back, held, self.capacities),
            "pool": (self.pool, left(self.capacities, before, rule.held), self.capacities),
        }
        found = []
        for name, (told, made, unit) in right.items():
            wrong = ~(np.abs(told - made) <= rtol * (unit + np.abs(made))).all(axis=1)
            found += [f"{name} is not what follows from the rest in phase {t}" for t in np.flatnonzero(wrong)]
        for t, pool in enumerate(self.pool):
            granted = self.tasks[t], self.drf_tasks[t], self.demands[t], self.credit_factor[t], pool
            faults = self.at(t).violations(rtol) if (pool > 0).all() else grant_faults(*granted, rule.grant, rtol)
            found += [f"{text} in phase {t}" for text in faults]
        return found
