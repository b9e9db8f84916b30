"""One phase of cbDRF, step by step: the pool, the grants, the release, and the credit (Lu et al. 2014, two repairs).

``pool_of`` says what there is to share, ``grant_phase`` shares it out, ``end_phase`` settles what was released, by the
terms of a :class:`CreditRule`. Arrays hold doubles or fractions. :func:`grant_tasks` shares out one
phase by itself and checks what it is given.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.mechanisms.drf import fill_bounded
from fairbook.mechanisms.pools import fractions
from fairbook.mechanisms.readings import Engine, Grant, Held, Penalty, Ratio
from fairbook.model.allocation import Allocation
from fairbook.model.inputs import (
    LARGEST,
    FloatArray,
    Names,
    as_capacities,
    as_floats,
    as_number,
    as_positive,
    as_tolerance,
    check_amounts,
    check_apart,
    check_fractions,
    demand_matrix,
    labels_of,
    order_of,
    per_user,
    reordered,
)
from fairbook.model.instance import check_choice, checks_choices

__all__ = ["CreditRule", "Grants", "grant_tasks", "grant_tasks_rule"]

Array = NDArray[Any]

#: What stops a node in place of a resource: not being there, nothing (the rule withholds what is free), its cap.
IDLE, UNSTOPPED, OWN = -3, -2, -1
#: A resource of which less than this part is left is used up.
NEAR = 1e-12
#: Credits this close to C_0, cap or floor, in parts of C_0, are set to it: after any realistic number of steps such as
#: 0.1 a node that has regained its credit is in good standing, not one rounding error short of it. Where steps are
#: tiny, a thousandth of the smaller one, so that every step counts.
SNAP = 1e-9


# ------------------------------------------------------------------------------------------------------ a phase begins


def pool_of(capacities: Array, held: Array, reading: Held) -> Array:
    """Give what there is to share: all, or what is not still held; of a hair's breadth nothing."""
    pool = capacities - held if reading == "stays" else capacities + 0 * held
    return np.where(pool > NEAR * capacities, pool, 0)


# ----------------------------------------------------------------------------------------------------- what is granted


def grant_phase(demands: Array, psi: Array, pool: Array, grant: Grant) -> tuple[Array, Array, NDArray[np.int64]]:
    """Share out a phase among nodes with credit factors psi: tasks, DRF tasks, and what stops each.

    A node that is not present, or needs a resource of which nothing is there, gets nothing.
    """
    needs = demands > 0
    present, missing = needs.any(axis=1), needs & (pool == 0)
    served = present & ~missing.any(axis=1)
    tasks, drf_tasks, stops = 0 * psi, 0 * psi, np.where(present, missing.argmax(axis=1), IDLE)
    if served.any():
        need, factor, some = demands[served], psi[served], np.where(pool > 0, pool, 1)
        drf_tasks[served], ends = fill(need, some)
        if grant == "scaled":
            found = scaled(need, factor, some, drf_tasks[served], ends)
        elif grant == "weighted":
            found = weighted(need, factor, some)
        else:
            found = capped(need, factor, some, int(present.sum()))
        tasks[served], stops[served] = found
    return tasks, drf_tasks, stops


def scaled(demands: Array, psi: Array, pool: Array, drf_tasks: Array, stops: Array) -> tuple[Array, Array]:
    """Give psi times the DRF amount, equation (7); what is withheld lies idle, and then nothing stops anybody."""
    tasks = psi * drf_tasks
    idle = tasks @ demands < pool * (1 - NEAR)
    return tasks, np.where(idle[stops] | (psi == 0), UNSTOPPED, stops)


def weighted(demands: Array, psi: Array, pool: Array) -> tuple[Array, Array]:
    """Give DRF with weights psi; a node without credit gets nothing."""
    some = psi > 0
    tasks, stops = 0 * psi, np.full(len(psi), UNSTOPPED)
    if some.any():
        tasks[some], stops[some] = fill(demands[some], pool, psi[some] / psi.max(), blamed="credit_factor")
    return tasks, stops


def capped(demands: Array, psi: Array, pool: Array, present: int) -> tuple[Array, Array]:
    """Give a punished node psi times what it could run alone on an equal part; DRF shares the rest among the others."""
    cap = psi / (demands / pool).max(axis=1) / present
    punished = psi < 1
    tasks, stops = fill(demands, pool, max_tasks=np.where(punished, cap, np.inf))
    return np.where(punished, cap, tasks), np.where(punished, OWN, stops)


def fill(
    demands: Array, pool: Array, weights: Any = 1, max_tasks: Any = np.inf, blamed: str = "demands"
) -> tuple[Array, Array]:
    """DRF with weights and bounds: tasks, and what stops each node."""
    rate = weights / (demands / pool).max(axis=1)
    cap = max_tasks / rate
    levels, stops = 0 * rate, np.zeros(len(rate), np.int64)
    apart = fill_bounded(demands, rate, pool, cap, np.argsort(cap, kind="stable"), levels, stops)
    if demands.dtype != object:
        check_apart(apart, blamed)
    return levels * rate, stops


# -------------------------------------------------------------------------------------------------------- a phase ends


def end_phase(
    rule: CreditRule, credit: Array, tasks: Array, demands: Array, capacities: Array, released: Array, rho: Array
) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
    """End a phase, or each of several: release ratios eta, (5), what is held, the credit after, (6), who complied."""
    each = one_ratio(released, demands, capacities, rule.ratio)
    eta = np.where(tasks > 0, each, 1)  # nothing granted, nothing held
    held = (tasks[..., None] * demands * (1 - released)).sum(axis=-2)
    return eta, held, *rule.settle(credit, eta, rho)


def one_ratio(each: Array, demands: Array, capacities: Array, how: Ratio) -> Array:
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

    def factor(self, credit: Array) -> Array:
        """Give the credit factor psi = min(1, C / C_0)."""
        return np.minimum(credit, self.initial_credit) / self.initial_credit

    def settle(self, credit: Array, released: Array, rho: Any) -> tuple[Array, NDArray[np.bool_]]:
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


def _tuples(values: Any) -> Any:
    """Make tuples of nested lists."""
    return tuple(map(_tuples, values)) if isinstance(values, list) else values


# ----------------------------------------------------------------------------------------------------- around the rule


def grant_tasks_rule(demands: Any, credit_factor: Any, *, capacities: Any = None, grant: Grant = "scaled") -> list[Any]:
    """Share out one phase in fractions, given the credit factors: tasks.

    >>> for grant in ("scaled", "weighted", "capped"):
    ...     print(grant, *grant_tasks_rule([[1, 4], [3, 1]], [1, "1/2"], capacities=[9, 18], grant=grant))
    scaled 3 1
    weighted 54/13 18/13
    capped 69/16 3/4
    """
    need = fractions(demands)
    pool = fractions([1] * need.shape[1] if capacities is None else capacities)
    return grant_phase(need, fractions(credit_factor), pool, grant)[0].tolist()


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


def grant_faults(
    tasks: FloatArray,
    drf_tasks: FloatArray,
    demands: FloatArray,
    psi: FloatArray,
    pool: FloatArray,
    grant: Grant,
    rtol: float,
) -> list[str]:
    """Compare tasks with the rule, worked out in fractions for up to 50 nodes and in Python's floats for more."""
    given = [fractions(one) if len(tasks) <= 50 else one.astype(object) for one in (demands, psi, pool)]
    granted, plain, _ = grant_phase(given[0], given[1], given[2], grant)
    texts = ("a grant is not what the credit factor makes of it", "the DRF amounts are not max-min fair")
    pairs = zip(texts, (tasks, drf_tasks), (granted.astype(float), plain.astype(float)), strict=True)
    return [text for text, told, right in pairs if not (np.abs(told - right) <= rtol * right).all()]


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
        rest = self.demands, self.credit_factor, self.capacities, self.grant, as_tolerance(rtol)
        return super().violations(rtol) + grant_faults(self.tasks, self.drf_tasks, *rest)


def as_grants(
    granted: tuple[FloatArray, FloatArray, NDArray[np.int64]],
    demands: FloatArray,
    psi: FloatArray,
    pool: FloatArray,
    grant: Grant,
    names: tuple[Names | None, Names | None],
) -> Grants:
    """Give what :func:`grant_phase` granted as an allocation among n nodes of equal weight, without task bounds."""
    tasks, drf_tasks, stops = granted
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
        drf_tasks=drf_tasks,
        credit_factor=psi,
        grant=grant,
    )


@checks_choices
def grant_tasks(
    demands: Any, credit_factor: Any, *, capacities: Any = None, grant: Grant = "scaled", engine: Engine = "fast"
) -> Grants:
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
    engine : {"fast", "plain"}
        ``"plain"`` works the same code out in fractions.

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
    named = demand_matrix(demands)
    check_amounts(named.values, "demands")
    n, m = named.values.shape
    factor = per_user(credit_factor, n, named.users, "credit_factor")
    check_fractions(factor, "credit_factor")
    pool = as_capacities(capacities, m, named.resources)
    given = [fractions(one) if engine == "plain" else one for one in (named.values, factor, pool)]
    tasks, drf_tasks, stops = grant_phase(given[0], given[1], given[2], grant)
    granted = tasks.astype(float), drf_tasks.astype(float), stops
    return as_grants(granted, named.values, factor, pool, grant, (named.users, named.resources))
