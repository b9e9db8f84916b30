"""Whether whole tasks fit on machines, decided by trying everything: for instances that fit on a page."""

from typing import Any


def packs(rooms: tuple[Any, ...], rows: tuple[Any, ...], counts: tuple[int, ...]) -> bool:
    """Tell whether whole tasks fit on machines: one after the other, on each machine that is different.

    Parameters
    ----------
    rooms : tuple of tuples of numbers
        What each machine has of each resource.
    rows : tuple of tuples of numbers
        What a task of each kind needs.
    counts : tuple of int
        Tasks of each kind.

    Notes
    -----
    Exact where the numbers are (ints or fractions). Cost grows exponentially with the number of tasks.

    Examples
    --------
    >>> packs(((4, 4), (2, 8)), ((2, 1), (1, 4)), (2, 2)), packs(((4, 4), (2, 8)), ((2, 1), (1, 4)), (2, 3))
    (True, False)
    """
    first = next((i for i, count in enumerate(counts) if count), None)
    if first is None:
        return True
    rest = (*counts[:first], counts[first] - 1, *counts[first + 1 :])
    for room in set(rooms):
        if all(a >= b for a, b in zip(room, rows[first], strict=True)):
            k = rooms.index(room)
            less = tuple(a - b for a, b in zip(room, rows[first], strict=True))
            if packs(tuple(sorted([*rooms[:k], less, *rooms[k + 1 :]])), rows, rest):
                return True
    return False
