"""Runs of cbDRF, dominant resource fairness scaled by a credit that follows what nodes release (Lu et al. 2014).

The rule stands in :mod:`fairbook.mechanisms.credit.cbdrf_phase`. :func:`cbdrf` runs it on doubles,
:func:`cbdrf_rule` on fractions, and :class:`fairbook.CbDrf` takes one phase at a time. A
:class:`~fairbook.CreditRun` says what happened.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from fairbook.mechanisms.credit.cbdrf_phase import as_ratios, check_nodes, run_phases
from fairbook.mechanisms.credit.cbdrf_run import CreditRun
from fairbook.mechanisms.credit.credit_rule import CreditRule, Terms
from fairbook.mechanisms.readings import Engine, Grant, Held, Penalty, Ratio
from fairbook.model.exact import fractions
from fairbook.model.inputs import FloatArray, as_capacities, phased_demands
from fairbook.model.instance import takes_instance

__all__ = ["cbdrf", "cbdrf_rule"]


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


# -------------------------------------------------------------------------------------------------- one phase at a time
