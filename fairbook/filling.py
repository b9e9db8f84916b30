"""One filling: raise all to one level, each from its own beginning to its own lid, until something is used up.

User i is at its beginning b_i for as long as the level L is below it. From there it rises with L, and for each unit of
level it takes ``need[i]`` of the resources, until

* its lid b_i + room_i is reached (its bound, its claim, the end of its credit); or
* a resource that it needs is used up.

The others go on; it ends when everybody has stopped, or nobody who still rises needs anything. What stops each user is
the certificate: if a user that stands above its beginning is stopped by a resource, then that resource is used up, and
nobody who takes of it and has left its beginning stands higher. So nobody could rise further but at the cost of someone
who stands no higher: the levels are the lexicographic max-min optimum, and no others are (the book's page "One level",
with its proof; for several resources Li et al., arXiv 1410.1255).

DRF begins at 0 or at minima, and has bounds as lids; a phase of cbDRF has records in their place; in Karma the level is
the credit left, falling, so that the rich begin first. The following are the same rule, and have reasons to work it out
otherwise: DMFA-SRQ raises only the lowest of many arrivals, for which a stack needs O(m) each; fluid TV-DRF pays tolls
on the way; virtual clusters hand out whole VMs, or share one resource; DMFA-SRQ's static optimum is the first stop
alone, a sum.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairbook.kernels import kernel
from fairbook.model.inputs import NOTHING, OWN, Array

__all__ = ["Filled", "fill", "fill_by_rate", "filled"]


@kernel(lambda need, *_: 4 * need.size * need.shape[1])
def fill(need: Any, begin: Any, room: Any, left: Any, near: Any, gained: Any, stops: NDArray[np.int64]) -> None:
    """Fill in what each user gains above its beginning, and what stops it; doubles or fractions.

    Parameters
    ----------
    need : ndarray, shape (n, m)
        Taken for each unit of level; not negative.
    begin, room : ndarray, shape (n,)
        Beginning, finite, and what there is from there to the lid, not negative, ``inf`` for none.
    left : ndarray, shape (m,)
        What there is beyond what all hold at their beginnings; not changed.
    near : number
        Levels and amounts as near are equal.
    gained : ndarray, shape (n,)
        Filled in; a user without need or lid gains what the last one who stopped did.
    stops : ndarray of int, shape (n,)
        Filled in: the resource that stops a user, the first of several; -1 its own lid, which goes first; -2 nothing.

    Notes
    -----
    The first level at which somebody takes more than there is lies between two moments at which users set out or reach
    their lids; ``now`` and ``high`` close in on it as in quickselect. The moments are drawn by lot, so that no order of
    users makes it slow: O(n m) expected for each resource that is used up. What all take is a sum of positive terms
    only: whoever is done leaves no rounding error behind.
    """
    n, m = need.shape
    left, lid, now = left.copy(), begin + room, begin[0]
    alive, rest, growth, part = np.arange(n), np.arange(n), 0 * need[0], 0 * need[0]
    full, going, lot = np.zeros(m, np.bool_), n, 1
    for i in range(n):
        gained[i], stops[i], now = 0 * begin[i], NOTHING, min(now, begin[i])
    while going > 0:
        high, open_, ends, step = np.inf, going, False, np.inf
        for j in range(m):
            growth[j] = 0 * growth[j]
        for a in range(going):
            rest[a] = alive[a]
        while True:
            kept = 0
            for a in range(open_):  # who rises all the way between the two moments counts, who sets out or ends stays
                i = rest[a]
                if begin[i] < high and lid[i] > now:
                    if begin[i] <= now and lid[i] >= high:
                        for j in range(m):
                            growth[j] += need[i, j]
                    else:
                        rest[kept] = i
                        kept += 1
            open_ = kept
            if open_ == 0:
                break
            lot = lot * 48271 % 2147483647
            i = rest[lot % open_]
            moment, over = begin[i] if begin[i] > now else lid[i], False
            for j in range(m):
                part[j] = growth[j] * (moment - now)
            for a in range(open_):
                i = rest[a]
                ran = min(lid[i], moment) - max(begin[i], now)
                if ran > 0:
                    for j in range(m):
                        part[j] += ran * need[i, j]
            for j in range(m):
                over = over or part[j] > left[j] + near
            if over:
                high = moment
            else:
                now = moment
                for j in range(m):
                    left[j] = max(left[j] - part[j], 0 * left[j])
        for j in range(m):
            if growth[j] > 0:
                step, ends = min(step, left[j] / growth[j]), True
        if ends:
            for j in range(m):  # what sets the step is used up by definition, not up to rounding
                if growth[j] > 0:
                    full[j] = full[j] or left[j] / growth[j] <= step + near
                    left[j] = 0 * left[j] if full[j] else left[j] - growth[j] * step
            now = now + step
        kept = 0
        for a in range(going):
            i = alive[a]
            if lid[i] <= now or room[i] == 0:
                gained[i], stops[i] = room[i], OWN
                continue
            for j in range(m - 1, -1, -1):
                if full[j] and need[i, j] > 0:
                    stops[i] = j
            gained[i] = max(now - begin[i], 0 * now)
            if stops[i] == NOTHING:
                alive[kept] = i
                kept += 1
        going = kept if ends else 0


@kernel(lambda demands, *_: 4 * demands.size * demands.shape[1])
def fill_by_rate(
    demands: Any, rate: Any, begin: Any, room: Any, left: Any, gained: Any, stops: NDArray[np.int64]
) -> Any:
    """Fill with ``rate`` tasks for each unit of level; all else as for :func:`fill`.

    Returns how far apart users are who share a resource: the largest part of one, at one level, over the smallest.
    """
    n, m = demands.shape
    need, apart = np.zeros((n, m), demands.dtype), 1.0
    for j in range(m):
        low, high = np.inf, 0.0
        for i in range(n):
            need[i, j] = demands[i, j] * rate[i]
            if need[i, j] > 0:
                low, high = min(low, need[i, j]), max(high, need[i, j])
        if high > 0:
            apart = max(apart, high / low)
    fill(need, begin, room, left, 0 * rate[0], gained, stops)
    return apart


class Filled(NamedTuple):
    """What a filling gives to n users."""

    gained: Array
    """Level above the beginning, shape (n,)."""
    stops: NDArray[np.int64]
    """What stops each: a resource, -1 its own lid, -2 nothing, shape (n,)."""


def filled(need: Any, begin: Any, room: Any, left: Any) -> Filled:
    """Fill; array_likes of doubles, or of fractions with dtype object, under the names of ``fill``.

    Examples
    --------
    Twelve units for three users of weights 3, 1 and 2. The second begins at level 4, the third ends at level 1/2. Four
    of the units are held at the beginnings, one goes to the third, and the first rises to 7/3.

    >>> filled([[3], [1], [2]], begin=[0, 4, 0], room=[np.inf, np.inf, 0.5], left=[8])
    Filled(gained=array([2.33333333, 0.        , 0.5       ]), stops=array([ 0,  0, -1]))
    """
    kind = object if np.array(need).dtype == object else float
    needs, begins, rooms, amounts = (np.array(one, kind) for one in (need, begin, room, left))
    gained, stops = np.empty(len(needs), kind), np.empty(len(needs), np.int64)
    fill(needs, begins, rooms, amounts, 0 * amounts[0], gained, stops)
    return Filled(gained, stops)
