"""A stand-in for MDRF (Wang Jinhai et al. 2015), of which only the abstract and two sentences elsewhere were at hand.

The abstract says: it maximises fairness over several resources on the ground of the dominant resource; a *dominant
resource entropy* measures how well the type of a server suits a user's request; a *dominant resource weight* gives
users priority. The GDRF paper adds that MDRF settles the order of users with the same dominant resource, and that it
has to look through everything. What is built here does that and no more: the user with the lowest dominant share next,
ties by the larger weight, equation (6) of the GDRF paper; its task goes to the best suited machine of all, in one of
two readings of what suits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairbook.mechanisms.placing.engine import fill
from fairbook.mechanisms.placing.gdrf import as_filled, lots, machine_types, of_type, ranking, types_in_order
from fairbook.mechanisms.placing.machines import Machines, as_arguments, as_placement, logarithm, progressive
from fairbook.mechanisms.readings import Engine, MdrfReading
from fairbook.model.exact import by_rule
from fairbook.model.inputs import check_switch
from fairbook.model.instance import takes_instance
from fairbook.model.placement import Placement, as_cell

__all__ = ["mdrf", "mdrf_rule"]


def mdrf_rule(
    demands: Any,
    machines: Any,
    *,
    machine_counts: Any = None,
    max_tasks: Any = None,
    lots: Any = None,
    reading: MdrfReading = "entropy",
    power: Callable[[Any], Any] = logarithm,
    near: Any = 0,
) -> list[tuple[int, int]]:
    """The stand-in for MDRF: (user, machine) of each task, in order; numbers of any kind.

    ``lots`` and ``power`` are as for :func:`~fairbook.mechanisms.placing.gdrf.gdrf_rule`. By entropy the product of
    q_r^p_r is as large as can be; by type the lowest number among the machines of the nearest type is taken.

    >>> from fractions import Fraction as F
    >>> mdrf_rule([[F(1), F(2)]], [[F(4), F(2)], [F(2), F(4)]])
    [(0, 1), (0, 1), (0, 0)]
    """
    n, m = len(demands), len(demands[0])
    stand = Machines(demands, machines, machine_counts, near)
    lot_users, lot_resources = lots or (range(n), range(m))
    rank = ranking(stand.shares, lot_users, near, by_share=False)
    wanted, types = types_in_order(stand, lot_resources), machine_types(stand)

    def likeness(i: int, j: int) -> Any:
        """Minus the relative entropy of the mix of the task to the mix of what is free, up to a constant."""
        if reading == "type":
            return -j
        free = [c / s if c else c for c, s in zip(stand.free(i, j), stand.pool, strict=True)]
        need = stand.shares[i]
        return power([(q / sum(free), p / sum(need)) for q, p in zip(free, need, strict=True) if p])

    def suited(i: int, room: list[int]) -> list[int]:
        return room if reading == "entropy" else of_type(room, types, wanted[i])

    per_task = [max(row) for row in stand.shares]
    return progressive(stand, max_tasks, per_task, rank, suited, likeness)


@takes_instance
def mdrf(
    demands: Any,
    machines: Any = None,
    machine_counts: Any = None,
    *,
    max_tasks: Any = None,
    seed: int = 0,
    reading: MdrfReading = "entropy",
    engine: Engine = "fast",
    progress: bool = False,
) -> Placement:
    """Place whole tasks by a stand-in for MDRF (after the abstract of Wang Jinhai et al. 2015).

    Parameters
    ----------
    demands, machines, machine_counts, max_tasks, seed, engine, progress
        As for :func:`fairbook.gdrf`.
    reading : {"entropy", "type"}
        What suits. ``"entropy"``: the least relative entropy, sum over r of p_r log(p_r / q_r), where p is the mix of
        what the task needs and q that of what is free on the machine, both as parts of the cell's totals.
        ``"type"``: a machine whose type, that of :func:`fairbook.gdrf` with ``machine_type="share"``, is the user's
        dominant resource, else its second, and so on; the first with room.

    Returns
    -------
    Placement

    Raises
    ------
    InvalidInput
        Naming argument, rule and value.

    Notes
    -----
    Cost for P tasks on N machines: ``"entropy"`` as Best-Fit of :func:`fairbook.drfh` (measured: 3 to 7 microseconds a
    task), ``"type"`` as First-Fit there. Ties between machines go to the lowest number, among entropies within 1e-12.

    References
    ----------
    Wang Jinhai, Huang Chuanhe, Wang Jing, He Kai, Shi Jiaoli, Chen Xi, Journal of Computer Research and Development
    52(6):1288-1302, 2015 (abstract).

    Examples
    --------
    >>> mdrf([[1, 2], [2, 1]], machines=[[4, 4]], machine_counts=[2]).tasks
    array([2, 2])
    """
    check_switch(progress, "progress")
    cell = as_cell(demands, machines, machine_counts, max_tasks)
    drawn = lots(cell, seed)
    if engine == "plain":
        placed = by_rule(mdrf_rule, **as_arguments(cell), lots=drawn, reading=reading)
        return as_placement(cell, placed, f"mdrf_{reading}")
    return fill(
        cell,
        f"mdrf_{reading}",
        key="entropy" if reading == "entropy" else "first",
        unsuited=cell.demands.shape[1],
        progress=progress,
        **as_filled(cell, drawn, least="dominant_share", by_share=False),
    )
