"""cbDRF: how credit moves, and what happened over the phases of a run, with its certificate."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.mechanisms.choices import check_choice
from fairbook.mechanisms.drf import exact_fill
from fairbook.mechanisms.readings import Grant, Held, Penalty, Ratio
from fairbook.model.allocation import Allocation
from fairbook.model.inputs import (
    LARGEST,
    SMALLEST,
    FloatArray,
    Names,
    as_floats,
    as_number,
    as_positive,
    as_tolerance,
    check_fractions,
)
from fairbook.model.phased import PhasedRun

#: Credits this close to C_0, cap or floor, in parts of C_0, are set to it: after any realistic number of steps such as
#: 0.1 a node that has regained its credit is in good standing, not one rounding error short of it. Where steps are
#: tiny, a thousandth of the smaller one, so that every step counts.
SNAP = 1e-9

#: What stops a node in place of a resource: not being there, nothing (the rule withholds what is free), its cap.
IDLE, UNSTOPPED, OWN = -3, -2, -1


def _tuples(values: Any) -> Any:
    return tuple(map(_tuples, values)) if isinstance(values, list) else values


@dataclass(frozen=True)
class CreditRule:
    """How credit moves and what it does; checked on construction, equal and hashed by value.

    Attributes
    ----------
    rho : float or tuple
        Part of its grant, in [0, 1], that a node must release to comply: one number, one a node (shape (n,)), or for
        whole runs anything that broadcasts to (T, n), such as one threshold a phase and priority.
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
        object.__setattr__(self, "rho", _tuples(rho.tolist()))
        for name in ("step_up", "step_down"):
            object.__setattr__(self, name, as_number(getattr(self, name), name, 0.0, LARGEST))
        start = as_positive(self.initial_credit, "initial_credit")
        object.__setattr__(self, "initial_credit", start)
        floor = as_number(self.credit_floor, "credit_floor", 0.0)
        cap = self.credit_cap
        if cap is not None:
            cap = start if isinstance(cap, str) and cap == "initial" else as_number(cap, "credit_cap", 0.0, LARGEST)
        if floor > start:
            raise InvalidInput("credit_floor", f"must be between 0 and {start:g}, the initial_credit", floor)
        if cap is not None and cap < start:
            raise InvalidInput("credit_cap", f"must be at least {start:g}, the initial_credit, or None", cap)
        object.__setattr__(self, "credit_floor", floor)
        object.__setattr__(self, "credit_cap", cap)
        for name, kind in (("held", Held), ("grant", Grant), ("penalty", Penalty), ("ratio", Ratio)):
            check_choice(getattr(self, name), name, kind)

    def factor(self, credit: FloatArray) -> FloatArray:
        """Give psi = min(1, C / C_0)."""
        return np.minimum(credit / self.initial_credit, 1.0)

    def settle(self, credit: FloatArray, released: FloatArray, rho: Any) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Give the credit after a phase, and who complied. Arrays of shape (n,); cost O(n).

        A ratio within 1e-12 of its threshold meets it.
        """
        complied = released >= np.asarray(rho) - 1e-12
        lost = self.step_down * (1.0 - released) if self.penalty == "graded" else self.step_down
        after = np.where(complied, credit + self.step_up, np.maximum(credit - lost, self.credit_floor))
        marks = [self.initial_credit, self.credit_floor]
        if self.credit_cap is not None:
            after = np.minimum(after, self.credit_cap)
            marks.append(self.credit_cap)
        steps = [step for step in (self.step_up, self.step_down) if step > 0]
        near = min([SNAP * self.initial_credit, *(1e-3 * step for step in steps)])
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
    demands : ndarray, shape (T, n, m)
    capacities : ndarray, shape (m,)
    final_credit : ndarray, shape (n,)
        After the last phase.
    rule : CreditRule
    ratios : ndarray, shape (T, n, 1) or (T, n, m)
        Release ratios as they were given, for each resource where they differ.
    held_back : ndarray, shape (T, m)
        Resource not released at the end of each phase, by all nodes together.
    bottlenecks : ndarray of int, shape (T, n)
        What stops each node, as :func:`fairbook.grant_tasks` says it.
    """

    credit: FloatArray
    credit_factor: FloatArray
    tasks: FloatArray
    drf_tasks: FloatArray
    released: FloatArray
    complied: NDArray[np.bool_]
    pool: FloatArray
    demands: FloatArray
    capacities: FloatArray
    final_credit: FloatArray
    rule: CreditRule
    ratios: FloatArray = field(repr=False)
    held_back: FloatArray = field(repr=False)
    bottlenecks: NDArray[np.int64] = field(repr=False)
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

    def at(self, phase: int) -> Allocation:
        """Give the allocation of one phase (from 0) in the pool of that phase."""
        t = self._step(phase)
        if not (self.pool[t] > 0).all():
            raise InvalidInput("phase", "must be one whose pool has some of every resource", phase)
        n = self.tasks.shape[1]
        return Allocation(
            self.tasks[t],
            self.demands[t],
            np.full(n, 1.0 / n),
            self.pool[t],
            np.full(n, np.inf),
            self.bottlenecks[t],
            self.named_users,
            self.named_resources,
            mechanism=f"cbdrf, {self.rule.grant}",
            rule="credit",
        )

    def to_frame(self) -> pd.DataFrame:
        """Give one row a phase and node: credit, credit factor, tasks, DRF tasks, release ratio, complied."""
        columns = ("credit", "credit_factor", "tasks", "drf_tasks", "released", "complied")
        return self._frame({name: getattr(self, name) for name in columns})

    def explain(self, user: Hashable, phase: int | None = None) -> str:
        """Say in one or two sentences why this node has this amount in this phase (from 0; default: the last)."""
        t, i = self._place(user, phase)
        x, drf, psi = self.tasks[t, i], self.drf_tasks[t, i], self.credit_factor[t, i]
        if self.bottlenecks[t, i] == IDLE:
            return f"{user} is not present in phase {t}."
        if self.bottlenecks[t, i] >= 0 and self.pool[t, self.bottlenecks[t, i]] == 0:
            return (
                f"{user} runs 0 tasks in phase {t}: it needs {self.resources[self.bottlenecks[t, i]]}, "
                "all of which is still held from the phase before."
            )
        left = " from what is left" if (self.pool[t] < self.capacities).any() else ""
        text = f"{user} runs {x:.6g} tasks in phase {t}; DRF would give it {drf:.6g}{left}. "
        if psi == 1:
            there = self.bottlenecks[t] != IDLE
            if (self.credit_factor[t, there] == 1).all():
                return text + "It is in good standing, and so is everyone who is present."
            return (
                text
                + "It is in good standing: "
                + (
                    "what is withheld from others lies idle."
                    if self.rule.grant == "scaled"
                    else "others in good standing took what was withheld, and more."
                    if x < drf
                    else "what is withheld from others goes to it and its like."
                )
            )
        broken = int((~self.complied[:t, i]).sum())
        return (
            text
            + (
                f"It failed to release enough in {broken} of {t} phases before, and stands at {psi:.2%} of the "
                "initial credit, "
            )
            + {
                "scaled": "the part of its DRF amount that it gets.",
                "weighted": "which is its weight.",
                "capped": "the part of an equal split that it gets.",
            }[self.rule.grant]
        )

    def violations(self, rtol: float = 1e-9) -> list[str]:
        """List every way in which the stored numbers break the rule; empty means certified.

        Looks at the release ratios, at the credits (each follows from the one before), at the pools, and at the DRF
        amounts and the grants: each node has a resource that is used up, that it needs, and that no node who needs it
        has at a higher level, or else the amount that its credit alone sets. Uses nothing but the numbers stored here
        and the rule. Amounts are compared with the rule in fractions for up to 50 nodes.

        Notes
        -----
        Cost O(T n m), in fractions O(T n m^2) and some microseconds each.
        """
        rtol = as_tolerance(rtol)
        found: list[str] = []
        rule = self.rule
        T, n = self.tasks.shape

        def check(right: NDArray[np.bool_], text: str) -> None:
            found.extend(f"{text} in phase {t}" for t in np.flatnonzero(~right.reshape(T, -1).all(axis=1)).tolist())

        def close(a: Any, b: Any, unit: Any) -> NDArray[np.bool_]:
            return np.abs(a - b) <= rtol * (unit + np.abs(b))

        start = rule.initial_credit
        each = np.where((self.tasks > 0)[..., None], self.ratios, 1.0)
        check((each >= 0) & (each <= 1), "a release ratio is not between 0 and 1")
        one = np.stack([one_ratio(each[t], self.demands[t], self.capacities, rule.ratio) for t in range(T)])
        check(close(self.released, one, 1e-3), "the ratio of a node does not follow from those of its resources")
        before = np.vstack([np.full((1, n), start), self.credit])
        check(close(before[0], self.credit[0], start) | (np.arange(T) > 0)[:, None], "credit does not begin at C_0")
        after, complied = rule.settle(self.credit, self.released, np.broadcast_to(rule.rho, (T, n)))
        check(close(np.vstack([self.credit[1:], self.final_credit]), after, start), "credit moves against the rule")
        check(self.complied == complied, "who complied is told wrongly")
        check(close(self.credit_factor, rule.factor(self.credit), 0.0), "a credit factor is not min(1, C / C_0)")
        held = np.stack([(self.tasks[t][:, None] * self.demands[t] * (1.0 - each[t])).sum(axis=0) for t in range(T)])
        check(close(self.held_back, held, self.capacities), "what is held is told wrongly")
        missing = np.vstack([np.zeros(len(self.capacities)), held[:-1]]) if rule.held == "stays" else 0.0
        check(
            close(self.pool, self.capacities - missing, self.capacities) & (self.pool >= 0),
            "the pool is not what was left",
        )
        for t in range(T):
            found += [
                f"{text} in phase {t}"
                for text in _grant_violations(
                    self.tasks[t],
                    self.drf_tasks[t],
                    self.demands[t],
                    self.pool[t],
                    self.credit_factor[t],
                    self.bottlenecks[t],
                    rule.grant,
                    rtol,
                )
            ]
        return found


@dataclass(frozen=True, eq=False)
class Grants(Allocation):
    """Tasks granted in one phase, with the credit factors that they follow from.

    Attributes
    ----------
    drf_tasks, credit_factor : ndarray, shape (n,)
        What DRF would have granted, and psi.
    grant : {"scaled", "weighted", "capped"}
    """

    drf_tasks: FloatArray = field(kw_only=True)
    credit_factor: FloatArray = field(kw_only=True)
    grant: Grant = field(kw_only=True)

    def violations(self, rtol: float = 1e-9) -> list[str]:
        """List what is wrong with the pool and the bottlenecks, and each grant that does not follow from the credit."""
        rest = self.demands, self.capacities, self.credit_factor, self.bottlenecks, self.grant, as_tolerance(rtol)
        return super().violations(rtol) + _grant_violations(self.tasks, self.drf_tasks, *rest)


def _is_max_min(tasks: FloatArray, demands: FloatArray, pool: FloatArray, weights: FloatArray, rtol: float) -> bool:
    """Tell whether tasks are the lexicographic max-min optimum, by each node's resource; weight inf: not looked at.

    For up to 50 nodes also by the rule in fractions: what a node with little credit has too much or too
    little is no more than rounding beside what others hold.
    """
    if not np.isfinite(tasks).all():
        return False
    share = demands / pool
    free = np.isinf(weights)
    if len(tasks) <= 50:  # a run has many phases
        exact, _ = exact_fill(demands, np.where(free, 1.0, weights), pool, np.where(free, tasks, np.inf))
        if not (np.abs(tasks - exact) <= rtol * exact).all():
            return False
    use = tasks @ share
    levels = tasks * share.max(axis=1) / weights
    needed = share > 0
    highest = np.where(needed, levels[:, None], 0.0).max(axis=0)
    stopped = (needed & (use >= 1 - rtol) & (levels[:, None] >= highest * (1 - rtol))).any(axis=1)
    return bool((use <= 1 + rtol).all() and (stopped | free).all())


def _grant_violations(
    tasks: FloatArray,
    drf_tasks: FloatArray,
    demands: FloatArray,
    pool: FloatArray,
    psi: FloatArray,
    stops: NDArray[np.int64],
    grant: str,
    rtol: float,
) -> list[str]:
    """Judge one phase by what the rules promise, not by how the engine computes it."""
    found = []
    some = pool > 0
    present = (demands > 0).any(axis=1)
    idle = ~present | (demands[:, ~some] > 0).any(axis=1)
    if not ((tasks >= 0) & (drf_tasks >= 0)).all() or (tasks[idle] > 0).any() or (drf_tasks[idle] > 0).any():
        found.append("a node has fewer tasks than none, or some of what is not there")
    used_up = tasks @ demands >= pool * (1 - rtol)
    at = np.clip(stops, 0, len(pool) - 1)
    named = (stops == at) & (demands > 0)[np.arange(len(tasks)), at] & used_up[at]
    if not np.where(stops >= 0, named, (stops >= IDLE) & ((stops == IDLE) == ~present)).all():
        found.append("a resource that stops a node is not used up, or not needed")
    if idle.all():
        return found
    rows, left, x, drf, psi = demands[~idle][:, some], pool[some], tasks[~idle], drf_tasks[~idle], psi[~idle]
    alone = 1.0 / (rows / left).max(axis=1)
    if not _is_max_min(drf, rows, left, np.ones(len(x)), rtol):
        found.append("the DRF amounts are not max-min fair")
    bound = {"scaled": psi * drf, "capped": psi * alone / present.sum(), "weighted": np.zeros(len(x))}[grant]
    good = {
        "scaled": np.zeros(len(x), dtype=bool),
        "capped": psi == 1,
        "weighted": (psi > 0) & (psi >= SMALLEST * psi.max()),
    }[grant]
    if not (np.abs(x - bound) <= rtol * bound)[~good].all():
        found.append("a grant is not what the credit factor makes of it")
    # the punished of "capped" stand below all others, so that an infinite weight, level zero, changes no verdict
    weights = np.where(good, psi / max(psi.max(), np.nextafter(0, 1)) if grant == "weighted" else 1.0, np.inf)
    if good.any() and not _is_max_min(x, rows, left, weights, rtol):
        found.append("the grants of the nodes that no bound stops are not max-min fair")
    return found


def one_ratio(each: FloatArray, demands: FloatArray, capacities: FloatArray, how: str) -> FloatArray:
    """Make one ratio a node, shape (n,), of ratios of shape (n, 1) or (n, m)."""
    if each.shape[1] == 1:
        return each[:, 0]
    needs = demands > 0
    if how == "least":
        return np.where(needs, each, 1.0).min(axis=1)
    if how == "mean":
        number = needs.sum(axis=1)
        return np.where(number > 0, np.where(needs, each, 0.0).sum(axis=1) / np.maximum(number, 1), 1.0)
    return each[np.arange(len(each)), (demands / capacities).argmax(axis=1)]
