"""Runs of cbDRF, dominant resource fairness scaled by a credit that follows what nodes release (Lu et al. 2014).

The rule stands in :mod:`fairbook.mechanisms.cbdrf_phase`. :func:`cbdrf` runs it on doubles, :func:`cbdrf_rule` on
fractions, and :class:`fairbook.CbDrf` takes one phase at a time. A :class:`CreditRun` says what happened.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.mechanisms.cbdrf_phase import (
    CreditRule,
    Grants,
    Terms,
    as_grants,
    as_ratios,
    check_nodes,
    end_phase,
    grant_tasks,
    grant_tasks_rule,
    pool_of,
    run_phases,
    share_out,
    told_faults,
)
from fairbook.mechanisms.judges import credit_faults
from fairbook.mechanisms.pools import CreditPool
from fairbook.mechanisms.readings import Engine, Grant, Held, Penalty, Ratio
from fairbook.model.exact import fractions
from fairbook.model.inputs import IDLE, FloatArray, Names, as_capacities, as_tolerance, phased_demands
from fairbook.model.instance import takes_instance
from fairbook.model.names import in_pandas
from fairbook.model.phased import PhasedRun
from fairbook.model.result import called, unsound

__all__ = ["CbDrf", "CreditRule", "CreditRun", "cbdrf", "cbdrf_rule", "grant_tasks", "grant_tasks_rule"]


# ---------------------------------------------------------------------------------------------------------------- a run


def run_by(rule: CreditRule, demands: FloatArray, capacities: FloatArray, released: Any, rho: Any) -> CreditRun:
    """Run the phases, of doubles or fractions, and refuse what doubles do not tell."""
    shape = demands.shape[:2]
    part = np.ascontiguousarray(released if released.ndim == 3 else np.full(shape, released)[..., None])
    credit, *columns, held, stops, apart = run_phases(demands, capacities, part, np.full(shape, rho), rule.terms)
    check_nodes(apart)
    return CreditRun(credit[:-1], *columns, held[1:], stops, demands, capacities, credit[-1], rule, part)  # type: ignore[call-arg]


def cbdrf_rule(demands: Any, *, capacities: Any = None, released: Any = 1, rho: Any = "3/4", **terms: Any) -> CreditRun:
    """Credit-based DRF over T phases (Lu et al. 2014) in fractions; doubles count at face value.

    Takes what :func:`cbdrf` does but ``engine``, and no names; texts such as "3/4" are numbers. ``released`` and
    ``rho`` are one number, (n,), or (T, n), ``rho`` also (T, 1), ``released`` also (T, n, m).
    With ``held="stays"`` the fractions grow with every phase: for some ten phases.

    The paper's Figure 2: who never releases falls from 100 % to 10 %.

    >>> [str(psi) for (psi,) in cbdrf_rule([[[20, 300]]] * 10, capacities=[500, 50_000], released=0).credit_factor][::3]
    ['1', '7/10', '2/5', '1/10']
    """
    need, part, threshold = fractions(demands), fractions(released), fractions(rho)
    pool = fractions([1] * need.shape[2] if capacities is None else capacities)
    given = {"step_up": "1/10", "step_down": "1/10", "initial_credit": 1, "credit_floor": 0, **terms}
    exact = {
        name: Fraction(one) for name, one in given.items() if name in Terms._fields[:5] and one not in (None, "initial")
    }
    rule = CreditRule(threshold.astype(float), **{**given, **exact})
    return run_by(rule, need, pool, part, threshold)


@takes_instance
def cbdrf(
    demands: Any,
    *,
    capacities: Any = None,
    released: Any = 1.0,
    rho: Any = 0.75,
    step_up: float = 0.1,
    step_down: float = 0.1,
    initial_credit: float = 1.0,
    credit_cap: float | Literal["initial"] | None = "initial",
    credit_floor: float = 0.0,
    held: Held = "returns",
    grant: Grant = "scaled",
    penalty: Penalty = "step",
    ratio: Ratio = "least",
    engine: Engine = "fast",
) -> CreditRun:
    """Run credit-based DRF over T phases (Lu et al. 2014), or a repaired form of it.

    Parameters
    ----------
    demands : array_like, shape (T, n, m), or sequence of T DataFrames
        Resource per task in each phase; a row of zeros means that the node sits the phase out.
    capacities : array_like or Series, shape (m,), optional
        The pool, in the unit of the demands. Default: ones.
    released : float, array_like or sequence
        Part of its grant that each node releases at the end of each phase, in [0, 1]: one number, one a node (n,), one
        a phase and node (T, n), or one a resource besides (T, n, m). A Series, and the columns of a DataFrame, are
        matched by name.
    rho, step_up, step_down, initial_credit, credit_cap, credit_floor, held, grant, penalty, ratio
        See :class:`CreditRule`. The paper gives rho = 0.75; the steps follow from its Figure 2; the floor is a blank,
        and its bracket on the cap has two readings: ``"initial"``, never above C_0, and ``None``, no cap.
    engine : {"fast", "plain"}
        ``"plain"`` works the same code out in fractions, as :func:`cbdrf_rule` does.

    Returns
    -------
    CreditRun
        ``credit_factor`` (T, n) in force in each phase, ``tasks`` and ``drf_tasks`` (T, n), and the rest.

    Raises
    ------
    InvalidInput
        Naming argument, rule and value.

    Notes
    -----
    Cost O(T n m) up to the factor of :func:`grant_tasks`; memory O(T n m).
    A node that was granted nothing holds nothing: its ratio counts as 1. Held resources come back after one phase.

    References
    ----------
    Lu et al. 2014, equations (1)-(7) (reconstructed: the text at hand has lost them).

    Examples
    --------
    The paper's Figure 5: one node complies, one never releases enough.

    >>> demands = [[[20, 1000], [100, 300]]] * 10
    >>> r = cbdrf(demands, capacities=[500, 50_000], released=[1.0, 0.5])
    >>> r.credit_factor[[0, 1, 9]].round(3)
    array([[1. , 1. ],
           [1. , 0.9],
           [1. , 0.1]])
    >>> bool((r.tasks[:, 0] == r.drf_tasks[:, 0]).all())
    True
    """
    named = phased_demands(demands)
    T, n, m = named.values.shape
    shapes = (), (n,), (T, n)
    threshold = as_ratios(rho, "rho", named.users, (*shapes, (T, 1)))
    part = as_ratios(released, "released", named.users, (*shapes, (T, n, m)), named.resources)
    pool, values = as_capacities(capacities, m, named.resources), np.ascontiguousarray(named.values)
    numbers = step_up, step_down, initial_credit, credit_cap, credit_floor
    rule = CreditRule(threshold, *numbers, held, grant, penalty, ratio)
    terms = {**vars(rule), "capacities": pool, "released": part, "rho": threshold}
    found = cbdrf_rule(values, **terms) if engine == "plain" else run_by(rule, values, pool, part, threshold)
    return replace(found.rounded(), rule=rule, named_users=named.users, named_resources=named.resources)


# -------------------------------------------------------------------------------------------------------- what happened


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

    def violations(self, rtol: float = 1e-9) -> list[str]:
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


# -------------------------------------------------------------------------------------------------- one phase at a time


class CbDrf(CreditPool):
    """cbDRF one phase at a time: share it out, then tell it what was released. ``pickle`` saves and restores it.

    Parameters
    ----------
    users : int or sequence of hashable
        The nodes: their number or their names. All may be present from the start; who is not has a row of zeros.
    capacities : array_like or Series, shape (m,)
        Positive. A Series names the resources.
    rule : CreditRule, optional
        Fields of it may also be given by keyword, which then counts. ``rho`` is one number or (n,).

    Notes
    -----
    Each phase costs what :func:`grant_tasks` costs.

    Examples
    --------
    >>> pool = CbDrf(["ann", "bob"], [9, 18])
    >>> pool.phase([[1, 4], [3, 1]]).tasks
    array([3., 2.])
    >>> pool.release([1.0, 0.2])
    >>> pool.phase([[1, 4], [3, 1]]).tasks.round(3)
    array([3. , 1.8])
    """

    def __init__(
        self, users: int | Sequence[Hashable], capacities: Any, *, rule: CreditRule | None = None, **terms: Any
    ) -> None:
        super().__init__(users, capacities)
        shapes = (), (len(self),)
        if "rho" in terms:
            terms["rho"] = as_ratios(terms["rho"], "rho", self._users, shapes)
        self.rule = CreditRule(**terms) if rule is None else replace(rule, **terms)
        as_ratios(self.rule.rho, "rho", None, shapes)
        self._credit += self.rule.initial_credit
        self._held = 0 * self._capacities
        self._granted: Grants | None = None

    def __repr__(self) -> str:
        good = int((self.credit_factor == 1).sum())
        return f"CbDrf({len(self)} nodes, {good} in good standing, phase {self.phases})"

    @property
    def credit_factor(self) -> FloatArray:
        """Factor psi of each node, shape (n,)."""
        return self.rule.factor(self._credit)

    @property
    def pool(self) -> FloatArray:
        """What this phase has to share, shape (m,): less than 1e-12 of a capacity counts as nothing."""
        return pool_of(self._capacities, self._held, self.rule.held)

    def phase(self, demands: Any) -> Grants:
        """Share out this phase.

        Parameters
        ----------
        demands : array_like or DataFrame, shape (n, m)
            Resource per task; a row of zeros for a node that is not present. A DataFrame is matched by name with the
            nodes and resources, where these have names.

        Raises
        ------
        InvalidInput
            Before anything changes; also where the phase has been shared out already.
        """
        if self._granted is not None:
            raise InvalidInput("demands", "must wait: tell release() first how the phase ended", f"phase {self.phases}")
        values = self._matched(demands, "demands").values
        names = self._users, self._resources
        granted = share_out(values, self.credit_factor, self.pool, self.rule.grant, names)
        self._granted = copy.deepcopy(granted)  # what the caller does with its own changes nothing here
        return granted

    def release(self, ratios: Any, *, rho: Any = None) -> None:
        """End the phase: say which part of its grant each node released, and settle the credits.

        Parameters
        ----------
        ratios : float, array_like, Series or DataFrame, shape (n,) or (n, m)
            One for all, one a node, or one a node and resource. A Series and a DataFrame are matched by name.
        rho : float or array_like, shape (n,), optional
            Threshold of this phase alone.

        Raises
        ------
        InvalidInput
            Before anything changes; also where the phase has not been shared out yet.
        """
        if self._granted is None:
            raise InvalidInput("ratios", "must wait: nothing has been shared out in this phase", f"phase {self.phases}")
        n, m = self._granted.demands.shape
        ratios = in_pandas(ratios, "ratios")
        if isinstance(ratios, pd.DataFrame):
            ratios = self._matched(ratios, "ratios").values
        part = as_ratios(ratios, "ratios", self._users, ((), (n,), (n, m)))
        part = part if part.ndim == 2 else np.full(n, part)[:, None]
        threshold = np.full(n, as_ratios(self.rule.rho if rho is None else rho, "rho", self._users, ((), (n,))))
        granted = self._granted.tasks, self._granted.demands, self._capacities
        _, self._held, self._credit, _ = end_phase(self.rule.terms, self._credit, *granted, part, threshold)
        self._granted = None
        self.phases += 1
