"""Versions of DRF that are broken on purpose, each in one named way: what every static check must be able to refute.

:data:`STATIC_MUTANTS` maps a name to a function of (demands, weights), like ``fairbook.drf``, that returns an
:class:`~fairbook.model.Allocation` of one pool of ones. All of them are written in + - * / and comparisons only, so
that fractions in give exact fractions out, and for being read rather than for speed. Broken versions of one paper's
mechanism are in the module of that paper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from book.common.arrivals import Pace, highest, one
from book.common.oracle_drf import exact_tasks
from fairbook.model.allocation import Allocation
from fairbook.model.inputs import as_demands, as_weights
from fairbook.properties.finding import numbers

__all__ = ["STATIC_MUTANTS", "exact_drf"]


def as_rows(demands: Any, weights: Any) -> tuple[list[list[Any]], list[Any]]:
    """Give demands and weights as lists: of fractions where either holds a fraction, else of checked floats."""
    d, w = np.asarray(demands), np.asarray(weights)
    if d.dtype != object and w.dtype != object:
        named = as_demands(demands)
        return named.values.tolist(), as_weights(weights, len(named.values), contributed=True).tolist()
    return [[Fraction(x) for x in row] for row in d.tolist()], [Fraction(x) for x in w.tolist()]


def inverse_weight(i: int, d: Sequence[Sequence[Any]], w: Sequence[Any]) -> Any:
    """Equal shares whatever the weights."""
    return 1 / w[i]


def double_first(i: int, d: Sequence[Sequence[Any]], w: Sequence[Any]) -> Any:
    """The first user twice as fast."""
    return 2 if i == 0 else 1


def double_newest(i: int, d: Sequence[Sequence[Any]], w: Sequence[Any]) -> Any:
    """The last user twice as fast."""
    return 2 if i == len(w) - 1 else 1


def inverse_sum(i: int, d: Sequence[Sequence[Any]], w: Sequence[Any]) -> Any:
    """By the sum of the shares."""
    return 1 / sum(d[i])


def whole_need(i: int, d: Sequence[Sequence[Any]], w: Sequence[Any]) -> Any:
    """The more, the more is asked for."""
    return sum(d[i])


def inverse_first(i: int, d: Sequence[Sequence[Any]], w: Sequence[Any]) -> Any:
    """By the share of the first resource."""
    return 1 / d[i][0] if d[i][0] > 0 else 1


def inverse_scarcest(i: int, d: Sequence[Sequence[Any]], w: Sequence[Any]) -> Any:
    """By the share of the resource that all together demand most."""
    total = [sum(amount * row[j] for row, amount in zip(d, w)) for j in range(len(d[0]))]
    scarcest = d[i][total.index(max(total))]
    return 1 / scarcest if scarcest > 0 else 1


def _allocation(tasks: Sequence[Any], rows: Any, amounts: Sequence[Any], name: str) -> Allocation:
    values, weights = numbers(rows), numbers(amounts)
    ones = numbers([amounts[0] / amounts[0]] * values.shape[1])
    x = numbers(tasks)
    left = np.where(values > 0, ones - x @ values, np.inf)
    return Allocation(
        x,
        values,
        weights / weights.sum(),
        ones,
        np.full(len(x), np.inf),
        left.argmin(axis=1).astype(np.int64),
        mechanism=name,
    )


def _static(name: str, pace: Pace = one, overdraw: Fraction = Fraction(1)) -> Callable[..., Allocation]:
    def mechanism(demands: Any, weights: Any = None) -> Allocation:
        """Share out a pool of ones among all at once."""
        rows, amounts = as_rows(demands, weights if weights is not None else [1.0] * len(demands))
        total = sum(amounts)
        shares = [w / total for w in amounts]
        normal = [[x / max(row) for x in row] for row in rows]
        rates = [[w * x for x in row] for row, w in zip(normal, shares)]
        paces = [pace(i, normal, shares) for i in range(len(rows))]
        whole = total / total
        capacity = overdraw if isinstance(whole, Fraction) else float(overdraw)
        M = highest(rates, paces, [0 * whole] * len(rows), capacity)
        tasks = [M * p * w / max(row) for p, w, row in zip(paces, shares, rows)]
        return _allocation(tasks, rows, amounts, name)

    return mechanism


#: Broken static mechanisms by name: one round of sharing out, each with one defect (for positive demands).
STATIC_MUTANTS: dict[str, Callable[..., Allocation]] = {
    "weights_ignored": _static("weights_ignored", inverse_weight),
    "first_user_favoured": _static("first_user_favoured", double_first),
    "capacity_overshot": _static("capacity_overshot", overdraw=Fraction(101, 100)),
    "capacity_wasted": _static("capacity_wasted", overdraw=Fraction(99, 100)),
    "level_by_sum": _static("level_by_sum", inverse_sum),
    "first_resource": _static("first_resource", inverse_first),
    "scarcest_resource": _static("scarcest_resource", inverse_scarcest),
    "need_favoured": _static("need_favoured", whole_need),
}


def exact_drf(demands: Any, weights: Any) -> Allocation:
    """Run DRF on a pool of ones in exact fractions (``book.common.oracle_drf.exact_tasks``)."""
    rows, amounts = [[Fraction(x) for x in row] for row in demands], [Fraction(w) for w in weights]
    return _allocation(exact_tasks(rows, amounts), rows, amounts, "drf")
