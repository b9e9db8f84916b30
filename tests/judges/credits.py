"""Credits from phase to phase: cbDRF and Karma."""

from fractions import Fraction
from math import inf
from typing import Any

from tests.judges.pool import Row, Rows, poured, times, total


def grants(demands: Rows, psi: Row, pool: Row, grant: str) -> list[Any]:
    """Lu et al. 2014, (7), or one of the repairs: tasks of nodes of equal weight, with credit factors psi."""
    zero = [Fraction(0)] * len(psi)
    alone = [min((c / d for d, c in zip(row, pool, strict=True) if d), default=Fraction(0)) for row in demands]
    if grant == "weighted":
        alone = [x * y for x, y in zip(alone, psi, strict=True)]
    held = zero
    if grant == "capped":  # the punished first, then the others
        held = [(y < 1) * x * y / max(1, sum(map(any, demands))) for x, y in zip(alone, psi, strict=True)]
        alone = [x * (y == 1) for x, y in zip(alone, psi, strict=True)]
    left = [c - x for c, x in zip(pool, total(times(demands, held)), strict=True)]
    levels = poured(times(demands, alone), zero, [inf if x else 0 for x in alone], left)
    tasks = [h + level * x for h, level, x in zip(held, levels, alone, strict=True)]
    return [x * y for x, y in zip(tasks, psi, strict=True)] if grant == "scaled" else tasks


def cbdrf(
    demands: Any, capacities: Row, released: Any, *, rho: Any, step_up: Any, step_down: Any, initial_credit: Any,
    credit_cap: Any, credit_floor: Any, held: str, grant: str, penalty: str, ratio: str,
) -> dict[str, Any]:  # fmt: skip
    """Lu et al. 2014, (1) to (7), with release ratios (T, n, m)."""
    credit, kept = [initial_credit] * len(demands[0]), [Fraction(0)] * len(capacities)
    cap = {"initial": initial_credit, None: inf}.get(credit_cap, credit_cap)
    found: dict[str, Any] = {"tasks": [], "credit": [], "pool": []}
    for rows, parts in zip(demands, released, strict=True):
        pool = [c - k * (held == "stays") for c, k in zip(capacities, kept, strict=True)]
        tasks = grants(rows, [min(C / initial_credit, 1) for C in credit], pool, grant)
        for name, what in (("tasks", tasks), ("credit", credit), ("pool", pool)):
            found[name].append(what)
        kept = total([[x * d * (1 - p) for d, p in zip(*both, strict=True)] for x, *both in zip(tasks, rows, parts)])
        credit = list(credit)
        for i, (need, part) in enumerate(zip(rows, parts, strict=True)):
            some = [(d / c, p) for d, c, p in zip(need, capacities, part, strict=True) if d and tasks[i]] or [(1, 1)]
            mean = sum(p for _, p in some) / len(some)
            eta = {"least": min(p for _, p in some), "mean": mean, "dominant": max(some, key=lambda one: one[0])[1]}[
                ratio
            ]
            lost = step_down if penalty == "step" else step_down * (1 - eta)
            credit[i] = min(credit[i] + step_up if eta >= rho else max(credit[i] - lost, credit_floor), cap)
    return found | {"final_credit": credit}


def karma(
    demands: Any, capacities: Row, max_tasks: Any, initial_credit: Any, alpha: Any, free: Any = None
) -> dict[str, Any]:
    """Vuppalapati et al. 2023, Algorithm 1 in dominant shares: the richest borrow, and the poorest earn, first."""
    n = len(demands[0])
    credit = initial_credit if isinstance(initial_credit, list) else [initial_credit or Fraction(len(demands))] * n
    found: dict[str, Any] = {name: [] for name in ("tasks", "borrowed", "earned")}
    for rows, bounds in zip(demands, max_tasks, strict=True):
        spend = [c + ((1 - alpha) / n if free is None else free) for c in credit]
        top = [max(d / c for d, c in zip(row, capacities, strict=True)) for row in rows]
        need = [
            [d / c / (t or 1) for d, c in zip(row, capacities, strict=True)] for row, t in zip(rows, top, strict=True)
        ]
        claims = [(inf if b is None else b * t) if t else 0 for b, t in zip(bounds, top, strict=True)]
        given = [min(alpha / n, claim) for claim in claims]
        begin = [max(spend) - s for s in spend]
        end = [b + min(claim - g, s) for b, claim, g, s in zip(begin, claims, given, spend, strict=True)]
        left = [1 - x for x in total(times(need, given))]
        lent = [e - b for e, b in zip(poured(need, begin, end, left), begin, strict=True)]
        rich = [s + alpha / n - g for s, g in zip(spend, given, strict=True)]
        rich = rich if sum(lent) >= alpha - sum(given) else poured([[1]] * n, spend, rich, [sum(lent)])
        found["tasks"].append([(g + x) / (t or 1) for g, x, t in zip(given, lent, top, strict=True)])
        found["borrowed"].append(lent)
        found["earned"].append([r - s for r, s in zip(rich, spend, strict=True)])
        credit = [r - x for r, x in zip(rich, lent, strict=True)]
    return found | {"final_credit": credit}
