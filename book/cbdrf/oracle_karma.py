"""One phase of Karma in dominant shares, in exact fractions.

Written from the definition and not from event to event: for a trial level lambda everything borrowed is known in closed
form, y_i = min(room_i, max(0, c_i - lambda)) for whoever is not stopped by a resource, so each resource tells at which
level it is used up. The highest of these levels stops those who need that resource; then all is worked out anew.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from fairbook.errors import InvalidInput
from fairbook.model.exact import as_fractions, exact_instance

ZERO = Fraction(0)


class ExactPhase(NamedTuple):
    """One phase in fractions: tasks, and in dominant shares what is guaranteed, borrowed, donated and earned."""

    tasks: list[Fraction]
    guaranteed: list[Fraction]
    borrowed: list[Fraction]
    donated: list[Fraction]
    earned: list[Fraction]


def _used_up_at(taken: Fraction, users: list[tuple[Fraction, Fraction, Fraction]]) -> Fraction | None:
    """Give the lowest level lambda >= 0 at which a resource is not overdrawn, or None if it never is.

    ``users`` holds (credit, room, need of the resource) of those not stopped, ``taken`` what all others use.
    """

    def use(level: Fraction) -> Fraction:
        return taken + sum((min(room, max(ZERO, credit - level)) * need for credit, room, need in users), ZERO)

    if use(ZERO) <= 1:
        return None
    corners = sorted({ZERO} | {c for c, _, _ in users} | {max(ZERO, c - room) for c, room, _ in users})
    for low, high in pairwise(corners):  # use falls as the level rises, in a straight line between two corners
        above, below = use(low), use(high)
        if below <= 1:
            return low + (high - low) * (above - 1) / (above - below)
    raise InvalidInput("demands", "must leave the guaranteed shares feasible", taken)  # pragma: no cover


def _borrow(
    need: list[list[Fraction]], base: list[Fraction], room: list[Fraction], credit: list[Fraction]
) -> list[Fraction]:
    n, m = len(need), len(need[0])
    fixed: dict[int, Fraction] = {}
    while True:
        free = [i for i in range(n) if i not in fixed]
        ends = []
        for j in range(m):
            taken = sum((base[i] * need[i][j] for i in range(n)), ZERO)
            taken += sum((y * need[i][j] for i, y in fixed.items()), ZERO)
            ends.append(_used_up_at(taken, [(credit[i], room[i], need[i][j]) for i in free if need[i][j] > 0]))
        level = max((end for end in ends if end is not None), default=ZERO)
        held = {i: min(room[i], max(ZERO, credit[i] - level)) for i in free}
        stopped = [i for i in free if any(end == level and need[i][j] > 0 for j, end in enumerate(ends))]
        if not stopped:
            return [fixed[i] if i in fixed else held[i] for i in range(n)]
        for i in stopped:
            fixed[i] = held[i]


def _earn(donated: list[Fraction], credit: list[Fraction], total: Fraction) -> list[Fraction]:
    """Share out ``total``, at most the sum of ``donated``, the poorest first."""

    def shares(level: Fraction) -> list[Fraction]:
        return [min(d, max(ZERO, level - c)) for d, c in zip(donated, credit, strict=True)]

    corners = sorted(set(credit) | {c + d for d, c in zip(donated, credit, strict=True)})
    for low, high in pairwise(corners):
        below, above = sum(shares(low), ZERO), sum(shares(high), ZERO)
        if below <= total <= above and below < above:
            return shares(low + (high - low) * (total - below) / (above - below))
    return [ZERO] * len(donated)


def exact_phase(
    demands: Sequence[Sequence[Any]],
    credit: Sequence[Any],
    capacities: Sequence[Any] | None = None,
    max_tasks: Sequence[Any] | None = None,
    alpha: Any = "1/2",
) -> ExactPhase:
    """Give one phase of Karma in dominant shares in exact fractions.

    Parameters
    ----------
    demands, capacities
        As for ``fairbook.mechanisms.karma.karma_phase``; anything ``fractions.Fraction`` takes.
    credit : sequence, shape (n,)
        To spend in this phase, free credits included.
    max_tasks : sequence, optional
        ``None`` as an entry means no bound.
    alpha : number or text, in [0, 1]

    Notes
    -----
    Cost O(n^3 m^2) operations on fractions.

    Examples
    --------
    >>> [str(x) for x in exact_phase([["1", "1/2"], ["1/2", "1"]], credit=["1", "3/4"]).tasks]
    ['3/4', '1/2']
    """
    rows, _, size, bounds = exact_instance(demands, None, capacities, max_tasks)
    n = len(rows)
    have, part = as_fractions(credit, "credit"), Fraction(alpha)
    share = [[d / c for d, c in zip(row, size, strict=True)] for row in rows]
    largest = [max(row) for row in share]
    need = [[s / top for s in row] for row, top in zip(share, largest, strict=True)]
    g = part / n
    claimed = [None if bound is None else bound * top for bound, top in zip(bounds, largest, strict=True)]
    base = [g if b is None else min(g, b) for b in claimed]
    room = [c if b is None else min(b - held, c) for b, held, c in zip(claimed, base, have, strict=True)]
    borrowed = _borrow(need, base, room, have)
    donated = [g - held for held in base]
    earned = _earn(donated, have, min(sum(donated, ZERO), sum(borrowed, ZERO)))
    tasks = [(held + y) / top for held, y, top in zip(base, borrowed, largest, strict=True)]
    return ExactPhase(tasks, base, borrowed, donated, earned)
