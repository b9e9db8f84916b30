"""The worked example of the GDRF chapter, followed VM by VM in fractions."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from book.gdrf.exact_cell import ZERO, exact_cell
from book.gdrf.oracle import exact_gdrf


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


def example() -> pd.DataFrame:
    """Follow GDRF through the worked example, VM by VM, as a scan of all machines in fractions places them.

    Returns
    -------
    DataFrame
        One row a VM, in order: ``user``, ``machine``, ``f`` (of the machine before, 1 if it is empty), and of the
        machine afterwards: ``cpu``, ``memory`` (used), ``cpu_free``, ``memory_free``.

    Examples
    --------
    >>> example()["user"].str.cat()
    'CABCABCA'
    """
    users, demands, machines, counts = EXAMPLE
    cell = exact_cell(demands, machines, counts)
    used, stakes = [[ZERO] * 2 for _ in cell.classes], [ZERO] * len(cell.classes)
    rows = []
    for i, j in exact_gdrf(demands, machines, counts).placed:
        size = cell.machines[cell.classes[j]]
        f = float(stakes[j]) ** float(sum(used[j], ZERO) / sum(size, ZERO))
        used[j] = [u + d for u, d in zip(used[j], cell.demands[i], strict=True)]
        stakes[j] += cell.dominant[i]
        cpu, memory = map(float, used[j])
        rows.append(
            {
                "user": users[i],
                "machine": j,
                "f": f,
                "cpu": cpu,
                "memory": memory,
                "cpu_free": float(size[0]) - cpu,
                "memory_free": float(size[1]) - memory,
            }
        )
    return pd.DataFrame(rows)
