"""The worked example of the GDRF chapter, followed VM by VM in fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd


class Example(NamedTuple):
    """A cell that is small enough for paper.

    Attributes
    ----------
    users : tuple of str
    demands : tuple of (CPU, memory)
    machines : tuple of (CPU, memory)
        Of each class.
    counts : tuple of int
    """

    users: tuple[str, ...]
    demands: tuple[tuple[int, int], ...]
    machines: tuple[tuple[int, int], ...]
    counts: tuple[int, ...]


#: A worked example: three users on two machines.
EXAMPLE = Example(("A", "B", "C"), ((2, 1), (1, 2), (2, 2)), ((8, 4), (4, 8)), (1, 2))

_AFTER = ("f", "cpu", "memory", "cpu_free", "memory_free", "f_after")


def example() -> pd.DataFrame:
    """Follow GDRF through the worked example, VM by VM, by a scan of all machines in fractions.

    Returns
    -------
    DataFrame
        One row a VM that was placed or that fitted nowhere, in order: ``round`` (from 1), ``user``, ``machine`` (-1
        where it fits nowhere and the user leaves), ``level`` (0: of the user's type, 1: of its second resource), ``f``
        (of the machine before, 1 if it is empty; nan where none), and of the machine afterwards: ``cpu``, ``memory``
        (used), ``cpu_free``, ``memory_free``, ``f_after``.

    Notes
    -----
    Shares no code with :func:`fairbook.gdrf`: one rule after the other, as in the text of the chapter. There are no
    ties that would have to be drawn.

    Examples
    --------
    >>> frame = example()
    >>> frame.loc[frame["machine"] >= 0, "user"].str.cat()
    'CABCABCA'
    """
    users, demands, classes, counts = EXAMPLE
    machines = [c for c, count in zip(classes, counts, strict=True) for _ in range(count)]
    totals = [sum(c[r] for c in machines) for r in (0, 1)]
    mu = [[Fraction(d[r], totals[r]) for r in (0, 1)] for d in demands]
    ranking = sorted(range(len(users)), key=lambda i: (-max(mu[i]), -sum(mu[i]) / max(mu[i])))
    types = [0 if Fraction(c[0], totals[0]) > Fraction(c[1], totals[1]) else 1 for c in machines]
    used = [[0, 0] for _ in machines]
    stakes = [Fraction(0) for _ in machines]
    slots, left = [0] * len(users), set(range(len(users)))

    def f(j: int) -> float:
        return float(stakes[j]) ** (sum(used[j]) / sum(machines[j]))

    rows: list[dict[str, Any]] = []
    number = 0
    while left:
        number += 1
        queue = []
        for _ in users:
            i = min(left, key=lambda h: (slots[h] * sum(demands[h]), ranking.index(h)))
            slots[i] += 1
            queue.append(i)
        for i in sorted(queue, key=ranking.index):
            if i not in left:
                continue
            wanted = sorted((0, 1), key=lambda r: -mu[i][r])
            room = [j for j, c in enumerate(machines) if all(used[j][r] + demands[i][r] <= c[r] for r in (0, 1))]
            row: dict[str, Any] = {"round": number, "user": users[i]}
            if not room:
                left.remove(i)
                rows.append({**row, "machine": -1, "level": -1, **dict.fromkeys(_AFTER, np.nan)})
                continue
            level = min(wanted.index(types[j]) for j in room)
            best = max((j for j in room if types[j] == wanted[level]), key=lambda j: (f(j), -j))
            row |= {"machine": best, "level": level, "f": f(best)}
            used[best] = [used[best][r] + demands[i][r] for r in (0, 1)]
            stakes[best] += max(mu[i])
            rows.append({**row, "cpu": used[best][0], "memory": used[best][1],
                         "cpu_free": machines[best][0] - used[best][0],
                         "memory_free": machines[best][1] - used[best][1], "f_after": f(best)})
    return pd.DataFrame(rows)
