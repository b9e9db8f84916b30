"""cbDRF: dominant resource fairness scaled by a credit that follows what nodes release (Lu et al. 2014).

Nodes run a chain of phases. In each phase the pool is shared by DRF, and a node gets the part psi = min(1, C / C_0) of
its DRF amount, where C is its credit. At the end of the phase it should release all that it was granted. Who releases
at least the part rho gains credit, who does not loses some.

:func:`cbdrf` runs many phases, :class:`CbDrf` one at a time, and :func:`grant_tasks` is what happens inside of one. Two
repairs that keep the punishment and mend what it breaks stand beside the paper's rule, under ``grant``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.mechanisms.cbdrf_run import IDLE, OWN, UNSTOPPED, CreditRule, CreditRun, Grants, one_ratio
from fairbook.mechanisms.choices import check_choice
from fairbook.mechanisms.drf import EXACT, FAR_APART, exact_fill, fill, fill_bounded
from fairbook.mechanisms.pools import CreditPool
from fairbook.mechanisms.readings import Grant, Held, Penalty, Ratio
from fairbook.mechanisms.saved import names_for_json
from fairbook.model.allocation import Allocation
from fairbook.model.inputs import (
    SMALLEST,
    FloatArray,
    Named,
    Names,
    as_capacities,
    as_floats,
    check_amounts,
    check_fractions,
    demand_matrix,
    labels_of,
    number_of_dimensions,
    order_of,
    per_user,
    phased_demands,
    reordered,
)
from fairbook.model.instance import takes_instance
from fairbook.model.result import labels_or_positions

__all__ = ["CbDrf", "CreditRule", "CreditRun", "NodeView", "cbdrf", "grant_tasks"]


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
    bottlenecks = np.full(n, IDLE, dtype=np.int64)
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
        stops = np.where(used_up[stops] & (psi > 0), stops, UNSTOPPED)
    elif grant == "weighted":
        found, stops = np.zeros(len(psi)), np.full(len(psi), UNSTOPPED, dtype=np.int64)
        weights = psi / psi.max() if psi.max() > 0 else psi
        weighed = np.flatnonzero(weights >= SMALLEST)  # with less than that beside 1, nothing that a double can tell
        if weighed.size:
            found[weighed], stops[weighed] = fill(rows[weighed], (weights * per_share)[weighed], left, psi[weighed])
    else:
        found, stops = _capped(rows, psi, left, per_share, 1.0 / present.sum())
    tasks[active], drf_tasks[active] = found, drf
    bottlenecks[active] = np.where(stops >= 0, kept[np.maximum(stops, 0)], stops)
    return _Granted(tasks, drf_tasks, bottlenecks)


def _capped(
    rows: FloatArray, psi: FloatArray, left: FloatArray, per_share: FloatArray, equal: float
) -> tuple[FloatArray, NDArray[np.int64]]:
    cap = np.where(psi < 1, psi * equal, np.inf)
    levels, stops = np.empty(len(psi)), np.empty(len(psi), dtype=np.int64)
    far = fill_bounded(rows, per_share, left, cap, np.argsort(cap, kind="stable"), levels, stops) >= FAR_APART
    tasks = levels * per_share
    if far and len(psi) <= EXACT:
        tasks, stops = exact_fill(rows, np.ones(len(psi)), left, cap * per_share)
    # a cap never lies above what DRF gives, so that rounding alone could let a resource stop a punished node first
    return np.where(psi < 1, cap * per_share, tasks), np.where(psi < 1, OWN, stops)


def grant_tasks(demands: Any, credit_factor: Any, *, capacities: Any = None, grant: Grant = "scaled") -> Allocation:
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
        ``"weighted"``: DRF with the credit factors as weights (ours); below 1e-75 of the largest a factor counts as 0.
        ``"capped"``: a punished node gets psi times what it could run alone on an equal part of the pool; DRF shares
        the rest among the nodes in good standing (ours).

    Returns
    -------
    Allocation
        With equal weights and no task bounds, so that the checks of :mod:`fairbook.properties` judge it as any other.
        ``bottlenecks``: a resource that is used up; -1 where a cap stops the node; -2 where the rule withholds what
        is free; -3 where the node is not present. Besides ``drf_tasks`` and ``credit_factor``, both (n,).

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
    ...     print(grant, grant_tasks([[1, 4], [3, 1]], [1, 1/2], capacities=[9, 18], grant=grant).tasks.round(3))
    scaled [3. 1.]
    weighted [4.154 1.385]
    capped [4.312 0.75 ]
    """
    check_choice(grant, "grant", Grant)
    named = demand_matrix(demands)
    check_amounts(named.values, "demands")
    n, m = named.values.shape
    factor = per_user(credit_factor, n, named.users, "credit_factor")
    check_fractions(factor, "credit_factor")
    return _allocation(named, as_capacities(capacities, m, named.resources), factor, grant)


def _allocation(named: Named, pool: FloatArray, factor: FloatArray, grant: Grant) -> Allocation:
    granted = _share_out(named.values, factor, pool, grant)
    n = len(factor)
    return Grants(
        granted.tasks,
        named.values,
        np.full(n, 1.0 / n),
        pool,
        np.full(n, np.inf),
        granted.bottlenecks,
        named.users,
        named.resources,
        mechanism=f"cbdrf, {grant}",
        rule="credit",
        drf_tasks=granted.drf_tasks,
        credit_factor=factor,
        grant=grant,
    )


# ----------------------------------------------------------------------------------------------------- many phases


def _ratios(values: Any, shape: tuple[int, ...], argument: str) -> FloatArray:
    ratios = as_floats(values, argument, (0, 1, 2), f"must be one number or have shape {shape}")
    check_fractions(ratios, argument)
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
        any(map(callable, released)) or len(set(map(number_of_dimensions, released))) > 1
    ):
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
    ratios = as_floats(
        released,
        "released",
        (0, 1, 2, 3),
        f"must be one ratio, or have shape ({n},), ({T}, {n}) or ({T}, {n}, {m}), or be a list of {n} strategies",
    )
    check_fractions(ratios, "released")
    if ratios.shape not in ((), (n,), (T, n), (T, n, m)):
        raise InvalidInput(
            "released",
            f"must be one ratio, or have shape ({n},), ({T}, {n}) or ({T}, {n}, {m})",
            f"shape {ratios.shape}",
        )
    ratios = ratios if ratios.ndim == 3 else ratios[..., None]
    return np.broadcast_to(ratios, (T, n, ratios.shape[-1])), {}


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
        matched by name. Or a list of n entries, each a number, T numbers or a *strategy*: a function of a
        :class:`NodeView` that gives the ratio (or one ratio a resource). Or one strategy for all; or a mapping from
        nodes to such entries, 1 for those it does not name.
    rho, step_up, step_down, initial_credit, credit_cap, credit_floor, held, grant, penalty, ratio
        See :class:`CreditRule`. The paper gives rho = 0.75; the steps follow from its Figure 2; the floor is a blank,
        and its bracket on the cap has two readings: ``"initial"``, never above C_0, and ``None``, no cap.

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
    rule = CreditRule(
        _by_name(rho, named.users, "rho"),
        step_up,
        step_down,
        initial_credit,
        credit_cap,
        credit_floor,
        held,
        grant,
        penalty,
        ratio,
    )
    pool = as_capacities(capacities, m, named.resources)
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
    return CreditRun(
        credit,
        factor,
        tasks,
        drf_tasks,
        ones,
        complied,
        pools,
        named.values,
        pool,
        state.credit,
        rule,
        each,
        held_back,
        bottlenecks,
        named.users,
        named.resources,
    )


def _decided(strategies: dict[int, Strategy], given: Any, state: CbDrf, granted: _Granted, t: int) -> FloatArray:
    """Ask the strategies for their ratios of phase t."""
    n, m = state._demands.shape
    ratios = np.broadcast_to(given, (n, m)).copy()
    users = state.users
    for i, strategy in strategies.items():
        view = NodeView(
            t,
            i,
            users[i],
            float(state._credit[i]),
            float(state.credit_factor[i]),
            float(granted.tasks[i]),
            float(granted.drf_tasks[i]),
            state._demands[i].copy(),
            state.pool,
        )
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
    >>> pool = CbDrf(["ann", "bob"], [9, 18])
    >>> pool.phase([[1, 4], [3, 1]]).tasks
    array([3., 2.])
    >>> pool.release([1.0, 0.2])
    >>> pool.phase([[1, 4], [3, 1]]).tasks.round(3)
    array([3. , 1.8])
    >>> copy = CbDrf.from_dict(pool.to_dict())
    >>> copy.release(1.0); copy.credit_factor
    array([1., 1.])
    """

    def __init__(
        self, users: int | Sequence[Hashable], capacities: Any, *, rule: CreditRule | None = None, **terms: Any
    ) -> None:
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
        one = one_ratio(full, self._demands, self._capacities, self._rule.ratio)
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
        return Allocation(
            granted.tasks.copy(),
            values.copy(),
            np.full(n, 1.0 / n),
            pool,
            np.full(n, np.inf),
            granted.bottlenecks,
            self._users,
            self._resources,
            mechanism=f"cbdrf, {self._rule.grant}",
            rule="credit",
        )

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
        self._settle(
            np.broadcast_to(given if given.ndim == 2 else given[..., None], (n, m if given.ndim == 2 else 1)), threshold
        )

    def _state(self) -> dict[str, Any]:
        return {
            "users": names_for_json(self._users, "users") or len(self),
            "resources": names_for_json(self._resources, "resources"),
            "capacities": self._capacities.tolist(),
            "rule": {**asdict(self._rule), "rho": np.asarray(self._rule.rho).tolist()},
            "credit": self._credit.tolist(),
            "held": self._held.tolist(),
            "demands": self._demands.tolist(),
            "tasks": self._tasks.tolist(),
            "granted": self._granted,
            "phases": self.phases,
        }

    @classmethod
    def _restored(cls, state: dict[str, Any]) -> CbDrf:
        self = cls(state["users"], state["capacities"], **state["rule"])
        self._resources = state["resources"] and tuple(state["resources"])
        for name in ("credit", "held", "demands", "tasks"):
            setattr(self, f"_{name}", np.array(state[name], dtype=np.float64))
        self._granted, self.phases = state["granted"], state["phases"]
        return self
