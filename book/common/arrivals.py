"""Levels that rise together and never fall, arrival by arrival, in numbers of any kind; for being read, not for speed.

Written in + - * / and comparisons only: fractions in give exact fractions out, decimals give as many digits as they
have.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

#: Level of a user per unit of M, from (position, normalised demands and weights of the users present).
Pace = Callable[[int, Sequence[Sequence[Any]], Sequence[Any]], Any]


def one(i: int, d: Sequence[Sequence[Any]], w: Sequence[Any]) -> Any:
    """All alike."""
    return 1


def highest(rates: list[list[Any]], paces: list[Any], held: list[Any], capacity: Any) -> Any:
    """Largest M for which sum_i rate_ij max(pace_i M, held_i) <= capacity for every resource j."""
    count = len(held)
    corners = [level / pace for level, pace in zip(held, paces, strict=True)]
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


def raised(
    demands: Sequence[Sequence[Any]],
    weights: Sequence[Any],
    pace: Pace = one,
    factor: Any = 1,
    irrevocable: bool = True,
) -> Iterator[tuple[Any, list[Any]]]:
    """Give after each arrival the largest M that fits, and the levels max(pace_i M, level before).

    Parameters
    ----------
    demands : sequence, shape (n, m)
        Each row with largest entry 1.
    weights : sequence, shape (n,)
        What each user brings of every resource.
    factor : number
        The part of the pool that may be handed out.
    irrevocable : bool
        Whether levels stay; otherwise all is shared out anew.

    Notes
    -----
    Cost O(n m + n log n) operations an arrival.

    Examples
    --------
    >>> list(raised([[1, 0.5], [0.5, 1]], [1, 1]))[-1]
    (1.3333333333333333, [1.3333333333333333, 1.3333333333333333])
    """
    rates: list[list[Any]] = []
    held: list[Any] = []
    for k, amount in enumerate(weights, 1):
        rates.append([amount * x for x in demands[k - 1]])
        held = [*held, 0 * amount] if irrevocable else [0 * amount] * k
        paces = [pace(i, demands[:k], weights[:k]) for i in range(k)]
        M = highest(rates, paces, held, factor * sum(weights[:k]))
        held = [max(p * M, y) for p, y in zip(paces, held, strict=True)]
        yield M, held
