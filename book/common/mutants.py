"""How fast levels rise in mechanisms that are broken on purpose, each in one named way.

Each is a :data:`book.common.arrivals.Pace`, written in + - * / and comparisons only, so that fractions in give exact
fractions out, and for being read rather than for speed. The broken mechanisms are in the modules of the papers.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from fairbook.model.inputs import as_demands, as_weights


def as_rows(demands: Any, weights: Any) -> tuple[list[list[Any]], list[Any]]:
    """Give demands and weights as lists: of fractions where either holds a fraction, else of checked floats."""
    d, w = np.asarray(demands), np.asarray(weights)
    if d.dtype != object and w.dtype != object:
        named = as_demands(demands)
        return named.values.tolist(), as_weights(weights, len(named.values), scaled=False).tolist()
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
