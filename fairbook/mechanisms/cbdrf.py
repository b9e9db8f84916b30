"""cbDRF: dominant resource fairness scaled by a credit that follows what nodes release (Lu et al. 2014).

Nodes run a chain of phases. In each phase the pool is shared by DRF, and a node gets the part psi = min(1, C / C_0) of
its DRF amount, where C is its credit. At the end of the phase it should release all that it was granted. Who releases
at least the part rho gains credit, who does not loses some.

:func:`cbdrf` runs many phases, :class:`CbDrf` one at a time, and :func:`grant_tasks` is what happens inside of one. Two
repairs that keep the punishment and mend what it breaks stand beside the paper's rule, under ``grant``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook import decimals
from fairbook.errors import InvalidInput
from fairbook.mechanisms.choices import check_choice
from fairbook.mechanisms.drf import fill, fill_bounded
from fairbook.mechanisms.pools import CreditPool
from fairbook.mechanisms.readings import Grant, Held, Penalty, Ratio
from fairbook.mechanisms.saved import names_for_json
from fairbook.model.allocation import Allocation
from fairbook.model.inputs import (
    LARGEST,
    SMALLEST,
    FloatArray,
    Named,
    Names,
    as_capacities,
    as_floats,
    as_number,
    as_positive,
    as_tolerance,
    check_amounts,
    demand_matrix,
    labels_of,
    number_of_dimensions,
    order_of,
    per_user,
    phased_demands,
    raise_at_first,
    reordered,
)
from fairbook.model.instance import takes_instance
from fairbook.model.phased import PhasedRun
from fairbook.model.result import labels_or_positions

__all__ = ["CbDrf", "CreditRule", "CreditRun", "NodeView", "cbdrf", "grant_tasks"]

#: Credits this close to C_0, cap or floor, in parts of C_0, are set to it: after any realistic number of steps such as
#: 0.1 a node that has regained its credit is in good standing, not one rounding error short of it. Where steps are
#: tiny, a thousandth of the smaller one, so that every step counts.
SNAP = 1e-9
_IDLE, _UNSTOPPED, _OWN = -3, -2, -1


@dataclass(frozen=True, eq=False)
class CreditRule:
    """How credit moves and what it does; checked on construction, equal and hashed by value.

    Attributes
    ----------
    rho : float or ndarray (read-only)
        Part of its grant, in [0, 1], that a node must release to comply: one number, one a node (shape (n,)), or for
        whole runs anything that broadcasts to (T, n), such as one threshold a phase and priority.
    step_up, step_down : float
        What a phase adds to the credit of a node that complied, and takes from one that did not; at least 0.
    initial_credit : float
        C_0, positive: the credit at the start, and the credit at which nothing is withheld.
    credit_cap, credit_floor : float or None
        Credit stays between them; floor <= C_0 <= cap. None: no cap, as the paper has it.
    held : {"returns", "stays"}
        Whether what is not released is back in the next phase's pool, or is missing there and back one phase later.
    grant : {"scaled", "weighted", "capped"}
        What credit does; see :func:`grant_tasks`.
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
    credit_cap: float | None = None
    credit_floor: float = 0.0
    held: Held = "returns"
    grant: Grant = "scaled"
    penalty: Penalty = "step"
    ratio: Ratio = "least"

    def __post_init__(self) -> None:
        rho = np.asarray(as_floats(self.rho, "rho", (0, 1, 2), "must be one number, one a node, or (T, n) of them"))
        raise_at_first(~((rho >= 0) & (rho <= 1)), "rho", "must be between 0 and 1", rho)
        if rho.ndim:
            rho = rho.copy()
            rho.flags.writeable = False
        object.__setattr__(self, "rho", rho if rho.ndim else float(rho))
        for name in ("step_up", "step_down"):
            object.__setattr__(self, name, as_number(getattr(self, name), name, 0.0, LARGEST))
        start = as_positive(self.initial_credit, "initial_credit")
        object.__setattr__(self, "initial_credit", start)
        floor = as_number(self.credit_floor, "credit_floor", 0.0)
        cap = start if self.credit_cap is None else as_number(self.credit_cap, "credit_cap", 0.0, LARGEST)
        if floor > start:
            raise InvalidInput("credit_floor", f"must be between 0 and {start:g}, the initial_credit", floor)
        if cap < start:
            raise InvalidInput("credit_cap", f"must be at least {start:g}, the initial_credit, or None", cap)
        object.__setattr__(self, "credit_floor", floor)
        object.__setattr__(self, "credit_cap", None if self.credit_cap is None else cap)
        for name, kind in (("held", Held), ("grant", Grant), ("penalty", Penalty), ("ratio", Ratio)):
            check_choice(getattr(self, name), name, kind)

    def _key(self) -> tuple[Any, ...]:
        rho = np.asarray(self.rho)
        return (rho.shape, (rho + 0.0).tobytes(),  # minus zero becomes zero
                *(getattr(self, name) for name in self.__dataclass_fields__ if name != "rho"))

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, CreditRule) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

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


class NodeView(NamedTuple):
    """What a strategy sees of its node at the end of a phase.

    Attributes
    ----------
    phase : int
        From 0.
    node : int
        Position.
    user : hashable
        Name, or position where there are no names.
    credit, credit_factor : float
        In force in this phase.
    tasks, drf_tasks : float
        Granted, and what DRF would have granted.
    demand, pool : ndarray, shape (m,)
        Resource per task, and the pool of this phase.
    """

    phase: int
    node: int
    user: Hashable
    credit: float
    credit_factor: float
    tasks: float
    drf_tasks: float
    demand: FloatArray
    pool: FloatArray


Strategy = Callable[[NodeView], Any]


# ------------------------------------------------------------------------------------------------------ one phase


class _Granted(NamedTuple):
    tasks: FloatArray
    drf_tasks: FloatArray
    bottlenecks: NDArray[np.int64]


def _share_out(demands: FloatArray, factor: FloatArray, pool: FloatArray, grant: str) -> _Granted:
    """Grant one phase; input is checked already, up to empty rows and empty resources."""
    n = len(demands)
    tasks, drf_tasks = np.zeros(n), np.zeros(n)
    bottlenecks = np.full(n, _IDLE, dtype=np.int64)
    some = pool > 0
    needs_empty = (demands[:, ~some] > 0).any(axis=1) if not some.all() else np.zeros(n, dtype=bool)
    present = (demands > 0).any(axis=1)
    if needs_empty.any():
        bottlenecks[needs_empty] = ((demands[needs_empty] > 0) & ~some).argmax(axis=1)
    active = np.flatnonzero(present & ~needs_empty)
    if active.size == 0:
        return _Granted(tasks, drf_tasks, bottlenecks)
    rows = np.ascontiguousarray(demands[active][:, some])
    left, psi = pool[some], factor[active]
    kept = np.flatnonzero(some)
    largest = (rows / left).max(axis=1)
    per_share = 1.0 / largest  # tasks per unit of dominant share
    drf, stops = fill(rows, 1.0 / len(rows) / largest, left, np.ones(len(rows)))  # the digits of fairbook.drf
    if grant == "scaled":
        found = psi * drf
        used_up = (found @ rows) >= left * (1 - 1e-12)
        stops = np.where(used_up[stops] & (psi > 0), stops, _UNSTOPPED)
    elif grant == "weighted":
        found, stops = np.zeros(len(psi)), np.full(len(psi), _UNSTOPPED, dtype=np.int64)
        weights = psi / psi.max() if psi.max() > 0 else psi
        weighed = np.flatnonzero(weights >= SMALLEST)  # with less than that beside 1, nothing that a double can tell
        if weighed.size:
            found[weighed], stops[weighed] = fill(rows[weighed], (weights * per_share)[weighed], left, psi[weighed])
    else:
        found, stops = _capped(rows, psi, left, per_share, 1.0 / present.sum())
    tasks[active], drf_tasks[active] = found, drf
    bottlenecks[active] = np.where(stops >= 0, kept[np.maximum(stops, 0)], stops)
    return _Granted(tasks, drf_tasks, bottlenecks)


def _capped(rows: FloatArray, psi: FloatArray, left: FloatArray, per_share: FloatArray,
            equal: float) -> tuple[FloatArray, NDArray[np.int64]]:
    cap = np.where(psi < 1, psi * equal, np.inf)
    levels, stops = np.empty(len(psi)), np.empty(len(psi), dtype=np.int64)
    doubt = fill_bounded(rows, per_share, left, cap, np.argsort(cap, kind="stable"), levels, stops)
    tasks = levels * per_share
    if not doubt <= decimals.DOUBTFUL and len(psi) <= decimals.MOST:
        tasks, stops = decimals.fill(rows, np.ones(len(psi)), left, cap * per_share)
    # a cap never lies above what DRF gives, so that rounding alone could let a resource stop a punished node first
    return np.where(psi < 1, cap * per_share, tasks), np.where(psi < 1, _OWN, stops)


def grant_tasks(demands: Any, credit_factor: Any, capacities: Any = None, *, grant: Grant = "scaled") -> Allocation:
    """Share out one phase, given the credit factors.

    Parameters
    ----------
    demands : array_like or DataFrame, shape (n, m)
        Resource per task in this phase; a row of zeros means that the node is not present.
    credit_factor : array_like or Series, shape (n,)
        psi in [0, 1]. A node with psi = 1 is *in good standing*, one with psi < 1 is *punished*.
    capacities : array_like or Series, shape (m,), optional
        The pool. Default: ones.
    grant : {"scaled", "weighted", "capped"}
        ``"scaled"``: psi times the DRF amount; nobody gets the rest (the paper's equation (7)).
        ``"weighted"``: DRF with the credit factors as weights (ours).
        ``"capped"``: a punished node gets psi times what it could run alone on an equal part of the pool; DRF shares
        the rest among the nodes in good standing (ours).

    Returns
    -------
    Allocation
        With equal weights and no task bounds, so that the checks of :mod:`fairbook.properties` judge it as any other.
        ``bottlenecks``: a resource that is used up; -1 where a cap stops the node; -2 where the rule withholds what
        is free; -3 where the node is not present.

    Notes
    -----
    Cost O(n m) per resource that runs out, with ``"capped"`` O(n log n) more.

    References
    ----------
    Lu et al. 2014, equation (7) (reconstructed).

    Examples
    --------
    The example of the DRF paper, with the second node at half its credit.

    >>> for grant in ("scaled", "weighted", "capped"):
    ...     print(grant, grant_tasks([[1, 4], [3, 1]], [1, 1/2], [9, 18], grant=grant).tasks.round(3))
    scaled [3. 1.]
    weighted [4.154 1.385]
    capped [4.312 0.75 ]
    """
    check_choice(grant, "grant", Grant)
    named = demand_matrix(demands)
    check_amounts(named.values, "demands")
    n, m = named.values.shape
    factor = per_user(credit_factor, n, named.users, "credit_factor")
    raise_at_first(~((factor >= 0) & (factor <= 1)), "credit_factor", "must be between 0 and 1", factor)
    return _allocation(named, as_capacities(capacities, m, named.resources), factor, grant)


def _allocation(named: Named, pool: FloatArray, factor: FloatArray, grant: str) -> Allocation:
    granted = _share_out(named.values, factor, pool, grant)
    n = len(factor)
    return Allocation(granted.tasks, named.values, np.full(n, 1.0 / n), pool, np.full(n, np.inf), granted.bottlenecks,
                      named.users, named.resources, mechanism=f"cbdrf, {grant}", rule="credit")


# ----------------------------------------------------------------------------------------------------- many phases


@dataclass(frozen=True, eq=False)
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
        What stops each node, as :func:`grant_tasks` says it.
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
        return Allocation(self.tasks[t], self.demands[t], np.full(n, 1.0 / n), self.pool[t], np.full(n, np.inf),
                          self.bottlenecks[t], self.named_users, self.named_resources,
                          mechanism=f"cbdrf, {self.rule.grant}", rule="credit")

    def to_frame(self) -> pd.DataFrame:
        """Give one row a phase and node: credit, credit factor, tasks, DRF tasks, release ratio, complied."""
        columns = ("credit", "credit_factor", "tasks", "drf_tasks", "released", "complied")
        return self._frame({name: getattr(self, name) for name in columns})

    def explain(self, user: Hashable, phase: int | None = None) -> str:
        """Say in one or two sentences why this node has this amount in this phase (from 0; default: the last)."""
        t, i = self._place(user, phase)
        x, drf, psi = self.tasks[t, i], self.drf_tasks[t, i], self.credit_factor[t, i]
        if self.bottlenecks[t, i] == _IDLE:
            return f"{user} is not present in phase {t}."
        if self.bottlenecks[t, i] >= 0 and self.pool[t, self.bottlenecks[t, i]] == 0:
            return (f"{user} runs 0 tasks in phase {t}: it needs {self.resources[self.bottlenecks[t, i]]}, "
                    "all of which is still held from the phase before.")
        left = " from what is left" if (self.pool[t] < self.capacities).any() else ""
        text = f"{user} runs {x:.6g} tasks in phase {t}; DRF would give it {drf:.6g}{left}. "
        if psi == 1:
            there = self.bottlenecks[t] != _IDLE
            if (self.credit_factor[t, there] == 1).all():
                return text + "It is in good standing, and so is everyone who is present."
            return text + "It is in good standing: " + (
                "what is withheld from others lies idle." if self.rule.grant == "scaled" else
                "others in good standing took what was withheld, and more." if x < drf else
                "what is withheld from others goes to it and its like.")
        broken = int((~self.complied[:t, i]).sum())
        return text + (f"It failed to release enough in {broken} of {t} phases before, and stands at {psi:.2%} of the "
                       "initial credit, ") + {"scaled": "the part of its DRF amount that it gets.",
                                              "weighted": "which is its weight.",
                                              "capped": "the part of an equal split that it gets."}[self.rule.grant]

    def violations(self, rtol: float = 1e-9) -> list[str]:
        """List every way in which the stored numbers break the rule; empty means certified.

        Looks at the release ratios, at the credits (each follows from the one before), at the pools, and at the DRF
        amounts and the grants: each node has a resource that is used up, that it needs, and that no node who needs it
        has at a higher level, or else the amount that its credit alone sets. Uses nothing but the numbers stored here
        and the rule. Amounts are compared with what they are in decimals for up to 50 nodes.

        Notes
        -----
        Cost O(T n m), with decimals O(T n m^2) and about a microsecond each.
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
        one = np.stack([_one_ratio(each[t], self.demands[t], self.capacities, rule.ratio) for t in range(T)])
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
        check(close(self.pool, self.capacities - missing, self.capacities) & (self.pool >= 0),
              "the pool is not what was left")
        for t in range(T):
            found += [f"{text} in phase {t}" for text in _grant_violations(
                self.tasks[t], self.drf_tasks[t], self.demands[t], self.pool[t], self.credit_factor[t],
                self.bottlenecks[t], rule.grant, rtol)]
        return found


def _is_max_min(tasks: FloatArray, demands: FloatArray, pool: FloatArray, weights: FloatArray, rtol: float) -> bool:
    """Tell whether tasks are the lexicographic max-min optimum, by each node's resource; weight inf: not looked at.

    For up to 50 nodes also by working it out anew in decimals: what a node with little credit has too much or too
    little is no more than rounding beside what others hold.
    """
    if not np.isfinite(tasks).all():
        return False
    share = demands / pool
    free = np.isinf(weights)
    if len(tasks) <= 50:  # a run has many phases
        exact, _ = decimals.fill(demands, np.where(free, 1.0, weights), pool, np.where(free, tasks, np.inf))
        if not (np.abs(tasks - exact) <= rtol * exact).all():
            return False
    use = tasks @ share
    levels = tasks * share.max(axis=1) / weights
    needed = share > 0
    highest = np.where(needed, levels[:, None], 0.0).max(axis=0)
    stopped = (needed & (use >= 1 - rtol) & (levels[:, None] >= highest * (1 - rtol))).any(axis=1)
    return bool((use <= 1 + rtol).all() and (stopped | free).all())


def _grant_violations(tasks: FloatArray, drf_tasks: FloatArray, demands: FloatArray, pool: FloatArray, psi: FloatArray,
                      stops: NDArray[np.int64], grant: str, rtol: float) -> list[str]:
    """Judge one phase by what the rules promise, not by how :func:`_share_out` computes it."""
    found = []
    some = pool > 0
    present = (demands > 0).any(axis=1)
    idle = ~present | (demands[:, ~some] > 0).any(axis=1)
    if not ((tasks >= 0) & (drf_tasks >= 0)).all() or (tasks[idle] > 0).any() or (drf_tasks[idle] > 0).any():
        found.append("a node has fewer tasks than none, or some of what is not there")
    used_up = tasks @ demands >= pool * (1 - rtol)
    at = np.maximum(stops, 0)
    named = (demands > 0)[np.arange(len(tasks)), at] & used_up[at]
    if not np.where(stops >= 0, named, (stops == _IDLE) == ~present).all():
        found.append("a resource that stops a node is not used up, or not needed")
    if idle.all():
        return found
    rows, left, x, drf, psi = demands[~idle][:, some], pool[some], tasks[~idle], drf_tasks[~idle], psi[~idle]
    alone = 1.0 / (rows / left).max(axis=1)
    if not _is_max_min(drf, rows, left, np.ones(len(x)), rtol):
        found.append("the DRF amounts are not max-min fair")
    bound = {"scaled": psi * drf, "capped": psi * alone / present.sum(), "weighted": np.zeros(len(x))}[grant]
    good = {"scaled": np.zeros(len(x), dtype=bool), "capped": psi == 1,
            "weighted": (psi > 0) & (psi >= SMALLEST * psi.max())}[grant]
    if not (np.abs(x - bound) <= rtol * bound)[~good].all():
        found.append("a grant is not what the credit factor makes of it")
    # the punished of "capped" stand below all others, so that an infinite weight, level zero, changes no verdict
    weights = np.where(good, psi if grant == "weighted" else 1.0, np.inf)
    if good.any() and not _is_max_min(x, rows, left, weights, rtol):
        found.append("the grants of the nodes that no bound stops are not max-min fair")
    return found


def _one_ratio(each: FloatArray, demands: FloatArray, capacities: FloatArray, how: str) -> FloatArray:
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


def _ratios(values: Any, shape: tuple[int, ...], argument: str) -> FloatArray:
    ratios = as_floats(values, argument, (0, 1, 2), f"must be one number or have shape {shape}")
    raise_at_first(~((ratios >= 0) & (ratios <= 1)), argument, "must be between 0 and 1", ratios)
    return ratios


def _by_name(values: Any, users: Names | None, argument: str) -> Any:
    """Put the nodes of a Series, or of the columns of a DataFrame, in the order of the demands."""
    if isinstance(values, pd.Series) and users is not None:
        return reordered(values, users, argument, "users")
    if isinstance(values, pd.DataFrame):
        order = order_of(labels_of(values.columns, f"{argument}.columns"), users, f"{argument}.columns", "users")
        return values if order is None else values.iloc[:, order]
    return values


def _behaviour(released: Any, T: int, n: int, m: int, users: Names | None) -> tuple[FloatArray, dict[int, Strategy]]:
    """Give release ratios of shape (T, n, m) or (T, n, 1), NaN where a strategy decides, and the strategies."""
    if isinstance(released, Mapping):
        names = labels_or_positions(users, n)
        if unknown := [name for name in released if name not in names]:
            raise InvalidInput("released", "must name nodes", unknown)
        released = [released.get(name, 1.0) for name in names]
    elif callable(released):
        released = [released] * n
    released = _by_name(released, users, "released")
    if isinstance(released, (list, tuple)) and (
            any(map(callable, released)) or len(set(map(number_of_dimensions, released))) > 1):
        if len(released) != n:
            raise InvalidInput("released", f"must have one strategy for each of the {n} nodes", len(released))
        fixed = np.full((T, n, 1), np.nan)
        strategies = {}
        for i, one in enumerate(released):
            if callable(one):
                strategies[i] = one
            else:
                ratios = _ratios(one, (T,), f"released[{i}]")
                if ratios.ndim > 1 or ratios.shape not in ((), (T,)):
                    raise InvalidInput("released", f"must be a strategy, one ratio, or {T} of them", one, (i,))
                fixed[:, i, 0] = ratios
        return fixed, strategies
    ratios = as_floats(released, "released", (0, 1, 2, 3), f"must be one ratio, or have shape ({n},), ({T}, {n}) or "
                      f"({T}, {n}, {m}), or be a list of {n} strategies")
    raise_at_first(~((ratios >= 0) & (ratios <= 1)), "released", "must be between 0 and 1", ratios)
    if ratios.shape not in ((), (n,), (T, n), (T, n, m)):
        raise InvalidInput("released", f"must be one ratio, or have shape ({n},), ({T}, {n}) or ({T}, {n}, {m})",
                           f"shape {ratios.shape}")
    ratios = ratios.copy() if ratios.ndim == 3 else ratios[..., None].copy()  # the result keeps them
    return np.broadcast_to(ratios, (T, n, ratios.shape[-1])), {}


@takes_instance
def cbdrf(demands: Any, capacities: Any = None, *, released: Any = 1.0, rho: Any = 0.75, step_up: float = 0.1,
          step_down: float = 0.1, initial_credit: float = 1.0, credit_cap: float | None = None,
          credit_floor: float = 0.0, held: Held = "returns", grant: Grant = "scaled",
          penalty: Penalty = "step", ratio: Ratio = "least") -> CreditRun:
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
        matched by name. Or a list of n entries, each a number, T numbers or a *strategy*: a function of a
        :class:`NodeView` that gives the ratio (or one ratio a resource). Or one strategy for all; or a mapping from
        nodes to such entries, 1 for those it does not name.
    rho, step_up, step_down, initial_credit, credit_cap, credit_floor, held, grant, penalty, ratio
        See :class:`CreditRule`. The paper gives rho = 0.75; the steps follow from its Figure 2; cap and floor are
        its blanks.

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
    Cost O(T n m) up to the factor of :func:`grant_tasks`, and T n calls where strategies are given; memory O(T n m).
    A node that was granted nothing holds nothing: its ratio counts as 1. Held resources come back after one phase.

    References
    ----------
    Lu et al. 2014, equations (1)-(7) (reconstructed: the text at hand has lost them).

    Examples
    --------
    The paper's Figure 5: one node complies, one never releases enough.

    >>> demands = [[[20, 1000], [100, 300]]] * 10
    >>> r = cbdrf(demands, [500, 50_000], released=[1.0, 0.5])
    >>> r.credit_factor[[0, 1, 9]].round(3)
    array([[1. , 1. ],
           [1. , 0.9],
           [1. , 0.1]])
    >>> bool((r.tasks[:, 0] == r.drf_tasks[:, 0]).all())
    True
    """
    named = phased_demands(demands)
    T, n, m = named.values.shape
    rule = CreditRule(_by_name(rho, named.users, "rho"), step_up, step_down, initial_credit, credit_cap, credit_floor,
                      held, grant, penalty, ratio)
    pool = as_capacities(capacities, m, named.resources).copy()
    given, strategies = _behaviour(released, T, n, m, named.users)
    try:
        thresholds = np.broadcast_to(rule.rho, (T, n))
    except ValueError:
        raise InvalidInput("rho", f"must broadcast to ({T}, {n})", np.shape(rule.rho)) from None
    state = CbDrf(named.users or n, pool, rule=replace(rule, rho=0.0))
    credit, factor = np.empty((T, n)), np.empty((T, n))
    tasks, drf_tasks, ones = np.empty((T, n)), np.empty((T, n)), np.empty((T, n))
    each = np.empty((T, n, m)) if strategies else given
    complied = np.empty((T, n), dtype=bool)
    pools, held_back = np.empty((T, m)), np.empty((T, m))
    bottlenecks = np.empty((T, n), dtype=np.int64)
    for t in range(T):
        credit[t], factor[t], pools[t] = state.credit, state.credit_factor, state.pool
        granted = state._grant(named.values[t])
        tasks[t], drf_tasks[t], bottlenecks[t] = granted
        if strategies:
            each[t] = _decided(strategies, given[t], state, granted, t)
        ones[t], complied[t] = state._settle(each[t], thresholds[t])
        held_back[t] = state._held
    return CreditRun(credit, factor, tasks, drf_tasks, ones, complied, pools, named.values, pool, state.credit, rule,
                     each, held_back, bottlenecks, named.users, named.resources)


def _decided(strategies: dict[int, Strategy], given: Any, state: CbDrf, granted: _Granted, t: int) -> FloatArray:
    """Ask the strategies for their ratios of phase t."""
    n, m = state._demands.shape
    ratios = np.broadcast_to(given, (n, m)).copy()
    users = state.users
    for i, strategy in strategies.items():
        view = NodeView(t, i, users[i], float(state._credit[i]), float(state.credit_factor[i]),
                        float(granted.tasks[i]), float(granted.drf_tasks[i]), state._demands[i].copy(), state.pool)
        answer = _ratios(strategy(view), (m,), f"released[{i}] in phase {t}")
        if answer.shape not in ((), (m,)):
            raise InvalidInput(f"released[{i}] in phase {t}", f"must be one ratio or {m} of them", answer.tolist())
        ratios[i] = answer
    return ratios


class CbDrf(CreditPool):
    """cbDRF one phase at a time: share it out, then tell it what was released; saved and restored.

    Parameters
    ----------
    users : int or sequence of hashable
        The nodes: their number or their names. All may be present from the start; who is not has a row of zeros.
    capacities : array_like or Series, shape (m,)
        Positive. A Series names the resources.
    rule : CreditRule, optional
        Or its fields by keyword.

    Notes
    -----
    Each phase costs what :func:`grant_tasks` costs.

    Examples
    --------
    >>> pool = CbDrf(["ann", "bob"], [9, 18], credit_cap=1.0)
    >>> pool.phase([[1, 4], [3, 1]]).tasks
    array([3., 2.])
    >>> pool.release([1.0, 0.2])
    >>> pool.phase([[1, 4], [3, 1]]).tasks.round(3)
    array([3. , 1.8])
    >>> copy = CbDrf.from_dict(pool.to_dict())
    >>> copy.release(1.0); copy.credit_factor
    array([1., 1.])
    """

    def __init__(self, users: int | Sequence[Hashable], capacities: Any, *, rule: CreditRule | None = None,
                 **terms: Any) -> None:
        if rule is not None and (terms or not isinstance(rule, CreditRule)):
            raise InvalidInput("rule", "must be a CreditRule, and not be given together with its fields", rule)
        unknown = set(terms) - set(CreditRule.__dataclass_fields__)
        if unknown:
            raise InvalidInput(", ".join(sorted(unknown)), "must be a field of CreditRule", "an unknown keyword")
        super().__init__(users, capacities)
        n, m = len(self), len(self._capacities)
        if "rho" in terms:
            terms["rho"] = _by_name(terms["rho"], self._users, "rho")
        self._rule = rule or CreditRule(**terms)
        if np.shape(self._rule.rho) not in ((), (n,)):
            raise InvalidInput("rho", f"must be one number or have shape ({n},)", np.shape(self._rule.rho))
        self._credit += self._rule.initial_credit
        self._held = np.zeros(m)
        self._demands = np.zeros((n, m))
        self._tasks = np.zeros(n)
        self._granted = False

    def __repr__(self) -> str:
        good = int((self.credit_factor == 1).sum())
        return f"CbDrf({len(self)} nodes, {good} in good standing, phase {self.phases})"

    @property
    def rule(self) -> CreditRule:
        return self._rule

    @property
    def credit_factor(self) -> FloatArray:
        """Factor psi of each node, shape (n,)."""
        return self._rule.factor(self._credit)

    @property
    def pool(self) -> FloatArray:
        """What this phase has to share, shape (m,): less than 1e-12 of a capacity counts as nothing."""
        if self._rule.held == "returns":
            return self._capacities.copy()
        left = self._capacities - self._held
        return np.where(left > 1e-12 * self._capacities, left, 0.0)

    def _grant(self, demands: FloatArray) -> _Granted:
        granted = _share_out(demands, self.credit_factor, self.pool, self._rule.grant)
        self._demands, self._tasks, self._granted = demands, granted.tasks, True
        return granted

    def _settle(self, ratios: Any, rho: Any) -> tuple[FloatArray, NDArray[np.bool_]]:
        full = np.where((self._tasks > 0)[:, None], ratios, 1.0)
        one = _one_ratio(full, self._demands, self._capacities, self._rule.ratio)
        self._held = (self._tasks[:, None] * self._demands * (1.0 - full)).sum(axis=0)
        self._credit, complied = self._rule.settle(self._credit, one, rho)
        self._granted = False
        self.phases += 1
        return one, complied

    def phase(self, demands: Any) -> Allocation:
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
        if self._granted:
            raise InvalidInput("demands", "must wait: tell release() first how the phase ended", f"phase {self.phases}")
        values = self._matched(demands, "demands").values
        pool = self.pool
        granted = self._grant(values)
        n = len(self)
        return Allocation(granted.tasks.copy(), values.copy(), np.full(n, 1.0 / n), pool, np.full(n, np.inf),
                          granted.bottlenecks, self._users, self._resources, mechanism=f"cbdrf, {self._rule.grant}",
                          rule="credit")

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
        n, m = self._demands.shape
        if not self._granted:
            raise InvalidInput("ratios", "must wait: nothing has been shared out in this phase", f"phase {self.phases}")
        if isinstance(ratios, pd.Series):
            ratios = per_user(ratios, n, self._users, "ratios")
        elif isinstance(ratios, pd.DataFrame):
            ratios = self._matched(ratios, "ratios").values
        given = _ratios(ratios, (n,), "ratios")
        if given.shape not in ((), (n,), (n, m)):
            raise InvalidInput("ratios", f"must be one number or have shape ({n},) or ({n}, {m})", given.shape)
        threshold = self._rule.rho if rho is None else _ratios(_by_name(rho, self._users, "rho"), (n,), "rho")
        if np.shape(threshold) not in ((), (n,)):
            raise InvalidInput("rho", f"must be one number or have shape ({n},)", np.shape(threshold))
        self._settle(np.broadcast_to(given if given.ndim == 2 else given[..., None], (n, m if given.ndim == 2 else 1)),
                     threshold)

    def _state(self) -> dict[str, Any]:
        return {
            "users": names_for_json(self._users, "users") or len(self),
            "resources": names_for_json(self._resources, "resources"), "capacities": self._capacities.tolist(),
            "rule": {**asdict(self._rule), "rho": np.asarray(self._rule.rho).tolist()},
            "credit": self._credit.tolist(), "held": self._held.tolist(), "demands": self._demands.tolist(),
            "tasks": self._tasks.tolist(), "granted": self._granted, "phases": self.phases,
        }

    @classmethod
    def _restored(cls, state: dict[str, Any]) -> CbDrf:
        self = cls(state["users"], state["capacities"], **state["rule"])
        self._resources = state["resources"] and tuple(state["resources"])
        for name in ("credit", "held", "demands", "tasks"):
            setattr(self, f"_{name}", np.array(state[name], dtype=np.float64))
        self._granted, self.phases = state["granted"], state["phases"]
        return self
