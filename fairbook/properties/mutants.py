"""Mechanisms that are broken on purpose, each in one named way: what every check must be able to refute.

:data:`MUTANTS` maps a name to a function of (demands, weights), like ``fairbook.dmfa_srq``, that returns a
:class:`~fairbook.properties.Trajectory`; :data:`STATIC_MUTANTS` likewise to functions that return an
:class:`~fairbook.model.Allocation` of one pool of ones, like ``fairbook.drf``. All of them are written in + - * / and
comparisons only, so that fractions in give exact fractions out, and for being read rather than for speed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from fairbook.mechanisms import dmfa_srq as engine
from fairbook.model import Allocation, as_demands, as_weights
from fairbook.oracles.drf import exact_tasks
from fairbook.properties.finding import Trajectory, _array

__all__ = ["MUTANTS", "STATIC_MUTANTS", "exact_dmfa_srq", "exact_drf", "reference"]

#: Level of a user per unit of M, from (position, normalised demands and weights of the users present).
Pace = Callable[[int, Sequence[Sequence[Any]], Sequence[Any]], Any]


def _rows(demands: Any, weights: Any) -> tuple[list[list[Any]], list[Any]]:
    """Give demands and weights as lists: of fractions where either holds a fraction, else of checked floats."""
    d, w = np.asarray(demands), np.asarray(weights)
    if d.dtype != object and w.dtype != object:
        named = as_demands(demands)
        return named.values.tolist(), as_weights(weights, len(named.values), contributed=True).tolist()
    return [[Fraction(x) for x in row] for row in d.tolist()], [Fraction(x) for x in w.tolist()]


def _highest(rates: list[list[Any]], paces: list[Any], held: list[Any], capacity: Any) -> Any:
    """Largest M for which sum_i rate_ij max(pace_i M, held_i) <= capacity for every resource j."""
    count = len(held)
    corners = [level / pace for level, pace in zip(held, paces)]
    order = sorted(range(count), key=corners.__getitem__)
    best = None
    for j in range(len(rates[0])):
        kept = [0 * capacity] * (count + 1)  # kept[p] = what users from place p on hold, added up, never subtracted
        for place in range(count - 1, -1, -1):
            kept[place] = kept[place + 1] + rates[order[place]][j] * held[order[place]]
        slope = 0 * capacity
        for place, i in enumerate(order):
            slope += rates[i][j] * paces[i]
            if slope > 0:
                level = (capacity - kept[place + 1]) / slope
                if place + 1 == count or level <= corners[order[place + 1]]:
                    best = level if best is None or level < best else best
                    break
    return best


def _one(i: int, d: Sequence[Sequence[Any]], w: Sequence[Any]) -> Any:
    return 1


def _inverse_weight(i: int, d: Sequence[Sequence[Any]], w: Sequence[Any]) -> Any:
    return 1 / w[i]


def _double_first(i: int, d: Sequence[Sequence[Any]], w: Sequence[Any]) -> Any:
    return 2 if i == 0 else 1


def _double_newest(i: int, d: Sequence[Sequence[Any]], w: Sequence[Any]) -> Any:
    return 2 if i == len(w) - 1 else 1


def _inverse_sum(i: int, d: Sequence[Sequence[Any]], w: Sequence[Any]) -> Any:
    return 1 / sum(d[i])


def _sum(i: int, d: Sequence[Sequence[Any]], w: Sequence[Any]) -> Any:
    return sum(d[i])


def _inverse_first(i: int, d: Sequence[Sequence[Any]], w: Sequence[Any]) -> Any:
    return 1 / d[i][0] if d[i][0] > 0 else 1


def _inverse_scarcest(i: int, d: Sequence[Sequence[Any]], w: Sequence[Any]) -> Any:
    total = [sum(amount * row[j] for row, amount in zip(d, w)) for j in range(len(d[0]))]
    scarcest = d[i][total.index(max(total))]
    return 1 / scarcest if scarcest > 0 else 1


def _share_out(name: str, demands: Any, weights: Any, *, pace: Pace = _one, overdraw: Fraction = Fraction(1),
               irrevocable: bool = True) -> Trajectory:
    rows, amounts = _rows(demands, weights)
    exact = isinstance(amounts[0], Fraction)
    normal = [[x / max(row) for x in row] for row in rows]
    rates = [[w * x for x in row] for row, w in zip(normal, amounts)]
    factor = overdraw if exact else float(overdraw)
    held: list[Any] = []
    steps: list[list[Any]] = []
    for k in range(1, len(rows) + 1):
        held = [*held, 0 * amounts[0]] if irrevocable else [0 * amounts[0]] * k
        paces = [pace(i, normal[:k], amounts[:k]) for i in range(k)]
        M = _highest(rates[:k], paces, held, factor * sum(amounts[:k]))
        held = [max(p * M, y) for p, y in zip(paces, held)]
        steps.append(held)
    return Trajectory.of_levels(steps, rows, amounts, mechanism=name)


def reference(demands: Any, weights: Any) -> Trajectory:
    """DMFA-SRQ itself by the mutants' code: not broken, so that a mutant differs from it in its one way only."""
    return _share_out("reference", demands, weights)


def weights_ignored(demands: Any, weights: Any) -> Trajectory:
    """Raise the lowest x_i, not the lowest x_i / w_i. Breaks sharing incentive, envy-freeness, Lemmas 1 to 3."""
    return _share_out("weights_ignored", demands, weights, pace=_inverse_weight)


def first_user_favoured(demands: Any, weights: Any) -> Trajectory:
    """Raise user 0 twice as fast as the others. Breaks sharing incentive, envy-freeness and Lemmas 1 and 3."""
    return _share_out("first_user_favoured", demands, weights, pace=_double_first)


def newest_favoured(demands: Any, weights: Any) -> Trajectory:
    """Raise the newest user twice as fast as the others. Breaks envy-freeness, strategy-proofness and Lemmas 1 to 3."""
    return _share_out("newest_favoured", demands, weights, pace=_double_newest)


def capacity_overshot(demands: Any, weights: Any) -> Trajectory:
    """Hand out 1 % more than there is. Breaks feasibility, and with it Pareto optimality."""
    return _share_out("capacity_overshot", demands, weights, overdraw=Fraction(101, 100))


def capacity_wasted(demands: Any, weights: Any) -> Trajectory:
    """Hand out 99 % of what there is. Breaks Pareto optimality, sharing incentive and the optimality of M^k."""
    return _share_out("capacity_wasted", demands, weights, overdraw=Fraction(99, 100))


def may_shrink(demands: Any, weights: Any) -> Trajectory:
    """Share out anew at each arrival. Breaks irrevocability and Lemma 1."""
    return _share_out("may_shrink", demands, weights, irrevocable=False)


def level_by_sum(demands: Any, weights: Any) -> Trajectory:
    """Compare users by the sum of their shares, not the largest (asset fairness). Breaks sharing incentive and Lemmas 1
    to 3; strategy-proof all the same (Ghodsi et al. 2011, Table 2).
    """
    return _share_out("level_by_sum", demands, weights, pace=_inverse_sum)


def first_resource(demands: Any, weights: Any) -> Trajectory:
    """Compare users by their share of resource 0 only (the dominant one where they need none of it). Breaks sharing
    incentive and Lemmas 1 to 3.
    """
    return _share_out("first_resource", demands, weights, pace=_inverse_first)


def scarcest_resource(demands: Any, weights: Any) -> Trajectory:
    """Compare users by their share of the resource that all together demand most. Breaks strategy-proofness (a lie
    can change which resource that is), sharing incentive and Lemmas 1 to 3.
    """
    return _share_out("scarcest_resource", demands, weights, pace=_inverse_scarcest)


def need_favoured(demands: Any, weights: Any) -> Trajectory:
    """Raise users in proportion to the sum of their normalised demands: who asks for more gets more. Breaks
    strategy-proofness, sharing incentive, envy-freeness and Lemmas 1 to 3.
    """
    return _share_out("need_favoured", demands, weights, pace=_sum)


def no_sharing(demands: Any, weights: Any) -> Trajectory:
    """Leave everyone what it brought. Breaks Pareto optimality and the optimality of M^k, nothing else."""
    rows, amounts = _rows(demands, weights)
    one = amounts[0] / amounts[0]
    return Trajectory.of_levels([[one] * k for k in range(1, len(rows) + 1)], rows, amounts, mechanism="no_sharing")


def rest_to_newest(demands: Any, weights: Any) -> Trajectory:
    """Give a newcomer all that it can still use, and never raise anyone again. Keeps sharing incentive,
    irrevocability and Pareto optimality; breaks envy-freeness, Lemmas 1 to 3 and the optimality of M^k.
    """
    return _given_rest("rest_to_newest", demands, weights, lambda k: k - 1)


def rest_to_first(demands: Any, weights: Any) -> Trajectory:
    """Give a newcomer what it brought, and all that can still be used to user 0. Keeps sharing incentive,
    irrevocability and Pareto optimality; breaks envy-freeness, Lemmas 1 and 3 and the optimality of M^k.
    """
    return _given_rest("rest_to_first", demands, weights, lambda k: 0)


def _given_rest(name: str, demands: Any, weights: Any, lucky: Callable[[int], int]) -> Trajectory:
    """Give each newcomer level 1, then let one user take all it can use."""
    rows, amounts = _rows(demands, weights)
    rates = [[w * x / max(row) for x in row] for row, w in zip(rows, amounts)]
    held: list[Any] = []
    steps: list[list[Any]] = []
    for k in range(1, len(rows) + 1):
        held = [*held, amounts[0] / amounts[0]]
        i, capacity = lucky(k), sum(amounts[:k])
        others = [sum((rates[h][j] * held[h] for h in range(k) if h != i), 0 * capacity) for j in range(len(rows[0]))]
        level = min((capacity - used) / rate for used, rate in zip(others, rates[i]) if rate > 0)
        held = [max(y, level) if h == i else y for h, y in enumerate(held)]
        steps.append(held)
    return Trajectory.of_levels(steps, rows, amounts, mechanism=name)


#: Broken dynamic mechanisms by name.
MUTANTS: dict[str, Callable[[Any, Any], Trajectory]] = {
    function.__name__: function for function in (
        weights_ignored, first_user_favoured, newest_favoured, capacity_overshot, capacity_wasted, may_shrink,
        level_by_sum, first_resource, scarcest_resource, need_favoured, no_sharing, rest_to_newest, rest_to_first)
}


# ------------------------------------------------------------------------------------------------ one allocation


def _allocation(tasks: Sequence[Any], rows: Any, amounts: Sequence[Any], name: str) -> Allocation:
    values, weights = _array(rows), _array(amounts)
    ones = _array([amounts[0] / amounts[0]] * values.shape[1])
    x = _array(tasks)
    left = np.where(values > 0, ones - x @ values, np.inf)
    return Allocation(x, values, weights / weights.sum(), ones, np.full(len(x), np.inf),
                      left.argmin(axis=1).astype(np.int64), mechanism=name)


def _static(name: str, pace: Pace = _one, overdraw: Fraction = Fraction(1)) -> Callable[..., Allocation]:
    def mechanism(demands: Any, weights: Any = None) -> Allocation:
        """Share out a pool of ones among all at once."""
        rows, amounts = _rows(demands, weights if weights is not None else [1.0] * len(demands))
        total = sum(amounts)
        shares = [w / total for w in amounts]
        normal = [[x / max(row) for x in row] for row in rows]
        rates = [[w * x for x in row] for row, w in zip(normal, shares)]
        paces = [pace(i, normal, shares) for i in range(len(rows))]
        one = total / total
        capacity = overdraw if isinstance(one, Fraction) else float(overdraw)
        M = _highest(rates, paces, [0 * one] * len(rows), capacity)
        tasks = [M * p * w / max(row) for p, w, row in zip(paces, shares, rows)]
        return _allocation(tasks, rows, amounts, name)

    return mechanism


#: Broken static mechanisms by name: one round of sharing out, with the same defects (for positive demands).
STATIC_MUTANTS: dict[str, Callable[..., Allocation]] = {
    "weights_ignored": _static("weights_ignored", _inverse_weight),
    "first_user_favoured": _static("first_user_favoured", _double_first),
    "capacity_overshot": _static("capacity_overshot", overdraw=Fraction(101, 100)),
    "capacity_wasted": _static("capacity_wasted", overdraw=Fraction(99, 100)),
    "level_by_sum": _static("level_by_sum", _inverse_sum),
    "first_resource": _static("first_resource", _inverse_first),
    "scarcest_resource": _static("scarcest_resource", _inverse_scarcest),
    "need_favoured": _static("need_favoured", _sum),
}


# ------------------------------------------------------------------------------- the right ones, in exact fractions


def exact_dmfa_srq(demands: Any, weights: Any) -> Trajectory:
    """Run DMFA-SRQ in exact fractions (``fairbook.mechanisms.dmfa_srq.exact_levels``), kept step by step.

    Parameters
    ----------
    demands, weights
        Anything ``fractions.Fraction`` takes; floats count at face value.

    Notes
    -----
    Cost O(n m + n^2) operations on fractions.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> [str(x) for x in exact_dmfa_srq([[F(1), F(1, 2)], [F(1, 2), F(1)]], [F(1, 4), F(1, 4)]).tasks]
    ['1/3', '1/3']
    """
    lowest = engine.exact_levels(demands, weights)
    steps = [[max(lowest[i:k]) for i in range(k)] for k in range(1, len(lowest) + 1)]
    rows = [[Fraction(x) for x in row] for row in demands]
    return Trajectory.of_levels(steps, rows, [Fraction(w) for w in weights], mechanism="dmfa_srq")


def exact_drf(demands: Any, weights: Any) -> Allocation:
    """Run DRF on a pool of ones in exact fractions (``fairbook.oracles.drf.exact_tasks``)."""
    rows, amounts = [[Fraction(x) for x in row] for row in demands], [Fraction(w) for w in weights]
    return _allocation(exact_tasks(rows, amounts), rows, amounts, "drf")
