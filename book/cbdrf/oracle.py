"""cbDRF and its two repairs in exact fractions, straight from their definitions."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from book.common.oracle_drf import exact_tasks
from fairbook.errors import InvalidInput
from fairbook.model.exact import as_fractions
from fairbook.model.inputs import number_of_dimensions

ONE, NONE = Fraction(1), Fraction(0)


class ExactRun(NamedTuple):
    """What happened over T phases, in fractions; the names are those of ``fairbook.CreditRun``.

    Attributes
    ----------
    credit, credit_factor, tasks, drf_tasks : list of T lists of n
    pool : list of T lists of m
    final_credit : list of n
    """

    credit: list[list[Fraction]]
    credit_factor: list[list[Fraction]]
    tasks: list[list[Fraction]]
    drf_tasks: list[list[Fraction]]
    pool: list[list[Fraction]]
    final_credit: list[Fraction]


def exact_grant(
    demands: Sequence[Sequence[Any]],
    credit_factor: Sequence[Any],
    capacities: Sequence[Any] | None = None,
    grant: str = "scaled",
) -> list[Fraction]:
    """Share out one phase exactly, given the credit factors.

    Parameters
    ----------
    demands : sequence of n sequences of m
        Resource per task; anything ``fractions.Fraction`` takes. A row of zeros: the node is not present.
    credit_factor : sequence of n
        psi in [0, 1].
    capacities : sequence of m, optional
        The pool; an entry may be zero: who needs that resource gets nothing. Default: ones.
    grant : {"scaled", "weighted", "capped"}
        As for ``fairbook.grant_tasks``.

    Returns
    -------
    list of n Fractions
        Tasks.

    Notes
    -----
    Each rule is a lexicographic max-min optimum: of DRF, then scaled; with weights psi; with psi_i a_i as the bound of
    a punished node, where a_i = 1 / (n' max_j D_ij / P_j) with n' nodes present. Cost O(n^2 m) operations on fractions.

    References
    ----------
    Lu et al. 2014, equation (7) (reconstructed) for ``"scaled"``.

    Examples
    --------
    >>> for grant in ("scaled", "weighted", "capped"):
    ...     print(grant, *exact_grant([[1, 4], [3, 1]], [1, "1/2"], [9, 18], grant))
    scaled 3 1
    weighted 54/13 18/13
    capped 69/16 3/4
    """
    rows, psi = as_fractions(demands, "demands"), as_fractions(credit_factor, "credit_factor")
    pool = [ONE] * len(rows[0]) if capacities is None else as_fractions(capacities, "capacities")
    if grant not in ("scaled", "weighted", "capped"):
        raise InvalidInput("grant", "must be 'scaled', 'weighted' or 'capped'", grant)
    present = [any(row) for row in rows]
    served = [
        i
        for i, row in enumerate(rows)
        if present[i] and all(size > 0 for d, size in zip(row, pool, strict=True) if d > 0)
    ]
    if grant == "weighted":
        served = [i for i in served if psi[i] > 0]
    tasks = [NONE] * len(rows)
    if not served:
        return tasks
    kept = [j for j, size in enumerate(pool) if size > 0]
    need = [[rows[i][j] for j in kept] for i in served]
    size = [pool[j] for j in kept]
    if grant == "scaled":
        found = [psi[i] * x for i, x in zip(served, exact_tasks(need, None, size), strict=True)]
    elif grant == "weighted":
        found = exact_tasks(need, [psi[i] for i in served], size)
    else:
        alone = [1 / (sum(present) * max(d / c for d, c in zip(row, size, strict=True))) for row in need]
        found = exact_tasks(
            need, None, size, [None if psi[i] == 1 else psi[i] * a for i, a in zip(served, alone, strict=True)]
        )
    for i, x in zip(served, found, strict=True):
        tasks[i] = x
    return tasks


def _reading(ratios: list[Fraction], demand: list[Fraction], capacities: list[Fraction], ratio: str) -> Fraction:
    """Make one number of a node's ratios, over the resources that it needs."""
    needed = [r for r, d in zip(ratios, demand, strict=True) if d > 0]
    if ratio == "least":
        return min(needed)
    if ratio == "mean":
        return sum(needed, NONE) / len(needed)
    shares = [d / c for d, c in zip(demand, capacities, strict=True)]
    return ratios[shares.index(max(shares))]


def exact_run(
    demands: Sequence[Sequence[Sequence[Any]]],
    capacities: Sequence[Any] | None = None,
    released: Any = 1,
    rho: Any = "3/4",
    step_up: Any = "0.1",
    step_down: Any = "0.1",
    initial_credit: Any = 1,
    credit_cap: Any = "initial",
    credit_floor: Any = 0,
    held: str = "returns",
    grant: str = "scaled",
    penalty: str = "step",
    ratio: str = "least",
) -> ExactRun:
    """Run credit-based DRF over T phases in exact fractions.

    Parameters
    ----------
    demands : nested sequences, shape (T, n, m)
    capacities : sequence of m, optional
        Default: ones.
    released : number, or nested sequences of shape (T, n) or (T, n, m)
    rho : number, or nested sequences of shape (T, n)
    step_up, step_down, initial_credit, credit_cap, credit_floor, held, grant, penalty, ratio
        As for ``fairbook.cbdrf``. A tenth is exact as ``"0.1"`` or ``Fraction(1, 10)``; a float counts at face value.

    Notes
    -----
    With ``held="stays"`` the fractions grow with every phase: for some ten phases. Cost O(T n^2 m) operations.

    References
    ----------
    Lu et al. 2014, equations (1)-(7) (reconstructed).

    Examples
    --------
    The paper's Figure 2: who never releases falls from 100 % to 10 %.

    >>> run = exact_run([[[20, 300]]] * 10, [500, 50_000], released=0)
    >>> [str(psi) for (psi,) in run.credit_factor][::3]
    ['1', '7/10', '2/5', '1/10']
    """
    need = as_fractions(demands, "demands")
    T, n, m = len(need), len(need[0]), len(need[0][0])
    size = [ONE] * m if capacities is None else as_fractions(capacities, "capacities")
    up, down, start, floor = as_fractions([step_up, step_down, initial_credit, credit_floor], "steps and credits")
    cap = start if credit_cap == "initial" else credit_cap
    cap = None if cap is None else as_fractions([cap], "credit_cap")[0]
    thresholds, kept = _per_phase(rho, T, n, "rho"), _per_phase(released, T, n, "released")
    for value, argument, known in (
        (held, "held", ("returns", "stays")),
        (penalty, "penalty", ("step", "graded")),
        (ratio, "ratio", ("least", "mean", "dominant")),
    ):
        if value not in known:
            raise InvalidInput(argument, f"must be one of {', '.join(known)}", value)
    run = ExactRun([], [], [], [], [], [start] * n)
    missing = [NONE] * m
    for t in range(T):
        pool = [c - h for c, h in zip(size, missing, strict=True)] if held == "stays" else list(size)
        credit = list(run.final_credit)
        psi = [min(ONE, c / start) for c in credit]
        tasks = exact_grant(need[t], psi, pool, grant)
        for column, values in zip(
            run[:5], (credit, psi, tasks, exact_grant(need[t], [ONE] * n, pool), pool), strict=True
        ):
            column.append(values)
        missing = [NONE] * m
        for i, x in enumerate(tasks):
            eta = ONE
            if x > 0:
                each = kept[t][i] if isinstance(kept[t][i], list) else [kept[t][i]] * m
                eta = _reading(each, need[t][i], size, ratio)
                missing = [h + x * d * (1 - r) for h, d, r in zip(missing, need[t][i], each, strict=True)]
            if eta >= thresholds[t][i]:
                run.final_credit[i] = credit[i] + up if cap is None else min(cap, credit[i] + up)
            else:
                run.final_credit[i] = max(floor, credit[i] - (down * (1 - eta) if penalty == "graded" else down))
    return run


def _per_phase(values: Any, T: int, n: int, argument: str) -> list[Any]:
    """Give one number for all, or what has shape (T, n) or (T, n, m), phase by phase in fractions."""
    if number_of_dimensions(values) == 0:
        return [as_fractions([values], argument) * n] * T
    return as_fractions(values, argument)
