"""cbDRF: dominant resource fairness scaled by a credit that follows what nodes release (Lu et al. 2014).

Nodes run a chain of phases, and each has a credit C, at first C_0. A phase goes like this:

1. The pool is shared out by DRF, equation (1).
2. Each node is granted the part psi = min(1, C / C_0) of its DRF amount, (7). The rest lies idle.
3. At the end of the phase a node releases the part eta of its grant, (5). It should release all, (4).
4. If eta >= rho, its credit rises by a step, up to a cap; else it falls by a step, down to a floor, (6).

``run_phases`` is this rule; its steps stand in :mod:`fairbook.mechanisms.cbdrf_phase`, with two repairs of the second.
:func:`cbdrf` runs it on doubles, :func:`cbdrf_rule` on fractions, and :class:`fairbook.CbDrf` takes one phase at a
time.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairbook.kernels import kernel
from fairbook.mechanisms.cbdrf_phase import (
    CreditRule,
    Terms,
    as_ratios,
    check_nodes,
    end_phase,
    grant_phase,
    grant_tasks,
    grant_tasks_rule,
    pool_of,
)
from fairbook.mechanisms.cbdrf_run import CreditRun
from fairbook.mechanisms.pools import fractions
from fairbook.mechanisms.readings import Engine, Grant, Held, Penalty, Ratio
from fairbook.model.inputs import as_capacities, phased_demands
from fairbook.model.instance import takes_instance

__all__ = ["CreditRule", "CreditRun", "cbdrf", "cbdrf_rule", "grant_tasks", "grant_tasks_rule"]

Array = NDArray[Any]
#: The terms of a rule that are numbers.
NUMBERS = ("step_up", "step_down", "initial_credit", "credit_cap", "credit_floor")


@kernel(lambda demands, *_: 9 * demands.size * demands.shape[-1])
def run_phases(demands: Array, capacities: Array, released: Array, rho: Array, terms: Terms) -> Any:
    """Phase after phase: psi, what there is to share, and the grants; then what is held, and the credit that follows.

    Of doubles or fractions: demands (T, n, m), release ratios (T, n, 1) or (T, n, m), thresholds (T, n). Gives the
    columns of a run, credit and what is held with one row more, and how far apart the nodes of each phase are, (T, 2).
    """
    (T, n, m), kind = demands.shape, demands.dtype
    credit, psi, tasks = np.full((T + 1, n), terms.initial_credit), np.zeros((T, n), kind), np.zeros((T, n), kind)
    drf_tasks, eta, apart = np.zeros((T, n), kind), np.zeros((T, n), kind), np.zeros((T, 2), kind)
    pool, held = np.zeros((T, m), kind), np.zeros((T + 1, m), kind)
    complied, stops = np.zeros((T, n), np.bool_), np.zeros((T, n), np.int64)
    for t in range(T):
        psi[t] = np.minimum(credit[t], terms.initial_credit) / terms.initial_credit
        pool[t] = pool_of(capacities, held[t], terms.held)
        granted = grant_phase(demands[t], psi[t], pool[t], terms.grant)
        tasks[t], drf_tasks[t], stops[t], apart[t, 0], apart[t, 1] = granted
        ended = end_phase(terms, credit[t], tasks[t], demands[t], capacities, released[t], rho[t])
        eta[t], held[t + 1], credit[t + 1], complied[t] = ended
    return credit, psi, tasks, drf_tasks, eta, complied, pool, held, stops, apart


def run_by(rule: CreditRule, demands: Array, capacities: Array, released: Array, rho: Array) -> CreditRun:
    """Run the phases, and refuse what doubles do not tell."""
    credit, *columns, held, stops, apart = run_phases(demands, capacities, released, rho, rule.terms)
    check_nodes(apart)
    return CreditRun(credit[:-1], *columns, held[1:], stops, demands, capacities, credit[-1], rule, released)  # type: ignore[call-arg]


def cbdrf_rule(demands: Any, *, capacities: Any = None, released: Any = 1, rho: Any = "3/4", **terms: Any) -> CreditRun:
    """Credit-based DRF over T phases (Lu et al. 2014) in fractions; doubles count at face value.

    Takes what :func:`cbdrf` does, but no names: ``released`` and ``rho`` are one number, (n,), or (T, n), ``released``
    also (T, n, m). With ``held="stays"`` the fractions grow with every phase: for some ten phases.

    The paper's Figure 2: who never releases falls from 100 % to 10 %.

    >>> [str(psi) for (psi,) in cbdrf_rule([[[20, 300]]] * 10, capacities=[500, 50_000], released=0).credit_factor][::3]
    ['1', '7/10', '2/5', '1/10']
    """
    need, part, threshold = fractions(demands), fractions(released), fractions(rho)
    T, n, m = need.shape
    part = part if part.ndim == 3 else np.broadcast_to(part, (T, n))[..., None]
    pool = fractions([1] * m if capacities is None else capacities)
    given = {"step_up": "1/10", "step_down": "1/10", "initial_credit": 1, "credit_floor": 0, **terms}
    exact = {name: Fraction(one) for name, one in given.items() if name in NUMBERS and one not in (None, "initial")}
    rule = CreditRule(threshold.astype(float), **{**given, **exact})
    return run_by(rule, need, pool, part, np.broadcast_to(threshold, (T, n)))


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
    part = as_ratios(released, "released", named.users, (*shapes, (T, n, m)))
    part = part if part.ndim == 3 else np.broadcast_to(part, (T, n))[..., None]
    given = named.values, as_capacities(capacities, m, named.resources), part, np.broadcast_to(threshold, (T, n))
    arrays = [np.ascontiguousarray(one) for one in given]
    numbers = step_up, step_down, initial_credit, credit_cap, credit_floor
    rule = CreditRule(threshold, *numbers, held, grant, penalty, ratio)
    if engine == "plain":
        how = {**vars(rule), "capacities": arrays[1], "released": arrays[2], "rho": arrays[3]}
        found = cbdrf_rule(arrays[0], **how).rounded()
    else:
        found = run_by(rule, *arrays)
    return replace(found, rule=rule, named_users=named.users, named_resources=named.resources)
