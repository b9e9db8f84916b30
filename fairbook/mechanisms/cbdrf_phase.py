"""What happens inside a phase of cbDRF: DRF, and what credit makes of it (Lu et al. 2014, and two repairs).

:func:`grant_phase` is the rule. Its arrays hold doubles or fractions; :func:`grant_tasks` checks what it is given.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbook.mechanisms.choices import Engine, check_choice
from fairbook.mechanisms.drf import fill_bounded
from fairbook.mechanisms.pools import fractions
from fairbook.mechanisms.readings import Grant
from fairbook.model.allocation import Allocation
from fairbook.model.inputs import (
    FloatArray,
    Names,
    as_capacities,
    as_tolerance,
    check_amounts,
    check_apart,
    check_fractions,
    demand_matrix,
    per_user,
)

__all__ = ["Grants", "grant_phase", "grant_tasks"]

Array = NDArray[Any]

#: What stops a node in place of a resource: not being there, nothing (the rule withholds what is free), its cap.
IDLE, UNSTOPPED, OWN = -3, -2, -1
#: A resource of which less than this part is left is used up.
NEAR = 1e-12


# ----------------------------------------------------------------------------------------------------- the rule


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


def scaled(demands: Array, psi: Array, pool: Array, drf_tasks: Array, stops: Array) -> tuple[Array, Array]:
    """Give psi times the DRF amount, equation (7); what is withheld lies idle, and then nothing stops anybody."""
    tasks = psi * drf_tasks
    idle = tasks @ demands < pool * (1 - NEAR)
    return tasks, np.where(idle[stops] | (psi == 0), UNSTOPPED, stops)


def weighted(demands: Array, psi: Array, pool: Array) -> tuple[Array, Array]:
    """Give DRF with weights psi; who has no credit gets nothing."""
    some = psi > 0
    tasks, stops = 0 * psi, np.full(len(psi), UNSTOPPED)
    if some.any():
        tasks[some], stops[some] = fill(demands[some], pool, psi[some] / psi.max(), blamed="credit_factor")
    return tasks, stops


def capped(demands: Array, psi: Array, pool: Array, present: int) -> tuple[Array, Array]:
    """Give who is punished psi times what it could run alone on an equal part; DRF shares the rest among the others."""
    cap = psi / (demands / pool).max(axis=1) / present
    punished = psi < 1
    tasks, stops = fill(demands, pool, max_tasks=np.where(punished, cap, np.inf))
    return np.where(punished, cap, tasks), np.where(punished, OWN, stops)


def grant_phase(demands: Array, psi: Array, pool: Array, grant: Grant) -> tuple[Array, Array, NDArray[np.int64]]:
    """Share out a phase among nodes with credit factors psi: tasks, DRF tasks, and what stops each.

    Who is not present, or needs a resource of which nothing is there, gets nothing.
    """
    needs = demands > 0
    present, missing = needs.any(axis=1), needs & (pool == 0)
    served = present & ~missing.any(axis=1)
    tasks, drf_tasks, stops = 0 * psi, 0 * psi, np.where(present, missing.argmax(axis=1), IDLE)
    if served.any():
        rows, part, left = demands[served], psi[served], np.where(pool > 0, pool, 1)
        plain, ends = fill(rows, left)
        if grant == "scaled":
            found, ends = scaled(rows, part, left, plain, ends)
        elif grant == "weighted":
            found, ends = weighted(rows, part, left)
        else:
            found, ends = capped(rows, part, left, int(present.sum()))
        tasks[served], drf_tasks[served], stops[served] = found, plain, ends
    return tasks, drf_tasks, stops


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


# ------------------------------------------------------------------------------------------------- around the rule


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
    check_choice(grant, "grant", Grant)
    check_choice(engine, "engine", Engine)
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
