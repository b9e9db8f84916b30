"""GDRF (global dominant resource fairness, 2016): whole virtual machines on machines of many shapes, round by round.

User i asks for virtual machines (VMs, here tasks) that are all alike. Shares are parts of the whole cell.

1. Priorities: the GDRS of a user is the largest share that one VM takes of a resource, its dominant one; its GDRW is
   the sum of all shares of a VM divided by the GDRS. Users are ranked by GDRS, then GDRW, largest first, then by lot.
2. Queue: a round has as many slots as there are users. Each goes to the user with the least resource so far, ties by
   rank; what it is promised counts at once, so that a user may hold several slots of a round.
3. Placing: slots are served by rank. A VM goes to the machine with the largest fairness value f = T^w among those with
   room whose type is the user's dominant resource: T is the sum of the GDRS of the VMs on the machine, w what it has in
   use by what it has, amounts of all resources added up. A user whose VM fits nowhere is out.

Rounds go on until each user is out or has all it asked for. The text leaves open, and arguments choose: what "least
resource" measures; what the type of a machine is and what happens if none of the user's type has room; whether f counts
the VM at hand, and what 0^0 is on an empty machine.

The engine (``engine.py``) keeps users and machines in tournaments where the rule looks at all of them. Their
winners are those of a look at all, so both place the same VMs. What lies within 1e-12 of each other is tied for both:
amounts that are equal on paper are not in doubles (three times 0.1 is not 0.3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbook.mechanisms.placing.engine import fill
from fairbook.mechanisms.placing.machines import (
    Machines,
    as_arguments,
    as_placement,
    logarithm,
    lowest,
    ranks,
    wants_more,
)
from fairbook.mechanisms.readings import Engine, GdrfChoice, Least, MachineType, Match, Queue
from fairbook.model.exact import by_rule
from fairbook.model.inputs import TIED, as_whole, check_switch, row_max
from fairbook.model.instance import takes_instance
from fairbook.model.placement import Cell, Placement, as_cell

__all__ = ["gdrf", "gdrf_rule"]


def gdrf_rule(
    demands: Any,
    machines: Any,
    *,
    machine_counts: Any = None,
    max_tasks: Any = None,
    lots: Any = None,
    match: Match = "nearest",
    least: Least = "amount",
    machine_type: MachineType = "share",
    choice: GdrfChoice = "fairness",
    queue: Queue = "rounds",
    power: Callable[[Any], Any] = logarithm,
    near: Any = 0,
) -> list[tuple[int, int]]:
    """Algorithms 1 to 3 of the GDRF paper: (user, machine) of each task, in order; numbers of any kind.

    ``lots`` are the lots of users and of resources that settle ties, ``power`` makes of a pair (T, w) something to
    compare T^w by. The other arguments are those of :func:`gdrf`, lists in place of arrays. Two machines of (4, 2) and
    (2, 4): each user's first task goes to the machine of its type, with T = 1/3 and w = 1/2 on each afterwards.

    >>> from fractions import Fraction as F
    >>> gdrf_rule([[F(2), F(1)], [F(1), F(2)]], [[F(4), F(2)], [F(2), F(4)]], max_tasks=[2, 1])
    [(0, 0), (1, 1), (0, 0)]
    """
    stand = Machines(demands, machines, machine_counts, near)
    n, m = len(demands), len(demands[0])
    lot_users, lot_resources = lots or (range(n), range(m))
    # Algorithm 1
    gdrs, rank = [max(row) for row in stand.shares], ranking(stand.shares, lot_users, near)
    wanted = [row[: 1 if match == "same" else m] for row in types_in_order(stand, lot_resources)]
    types = [set(range(m))] * len(stand.size) if match == "any" else machine_types(stand, machine_type)
    per_slot = {"amount": [*map(sum, demands)], "dominant_share": gdrs, "shares": [*map(sum, stand.shares)]}[least]
    promised, out = [0] * n, set[int]()  # VMs of each user; users of whom a VM fitted nowhere

    def slots_of_a_round() -> list[int]:
        """Algorithm 2."""
        slots: list[int] = []
        for _ in range(n if queue == "rounds" else 1):
            if active := [i for i in range(n) if i not in out and wants_more(max_tasks, promised, i)]:
                slots.append(lowest(active, lambda i: promised[i] * per_slot[i], rank, near))
                promised[slots[-1]] += 1
        return slots

    def fairness(i: int, j: int) -> Any:
        """Equation (8) on machine j: f = T^w; empty machines come first, while T < 1, if 0^0 = 1, last if 0^0 = 0."""
        if choice == "first":
            return -j
        runs = [has + (h == i and choice == "fairness_after") for h, has in enumerate(stand.runs[j])]
        T = sum(has * share for has, share in zip(runs, gdrs, strict=True))
        w = sum(has * sum(need) for has, need in zip(runs, demands, strict=True)) / sum(stand.size[j])
        return (T > 0 or choice != "fairness_empty_last", power([(T, w)] if T else []))

    while slots := slots_of_a_round():
        for i in sorted(slots, key=rank.__getitem__):  # Algorithm 3
            if suited := of_type(stand.room(i), types, wanted[i]):
                stand.place(i, suited, fairness)
            else:  # machines only fill up
                out.add(i)
    return stand.placed


def ranking(shares: Any, lot: Any, near: Any, *, by_share: bool = True) -> list[Any]:
    """Rank users by GDRS (if asked for) and GDRW (6), largest first, then lot: what to sort them by."""
    gdrs, gdrw = (ranks(np.array(one), near).tolist() for one in zip(*((max(s), sum(s) / max(s)) for s in shares)))
    return [(-share * by_share, -weight, at) for share, weight, at in zip(gdrs, gdrw, lot, strict=True)]


def types_in_order(stand: Machines, lot: Any) -> list[list[int]]:
    """Order the resources of each user: larger share, then larger amount, then lot. The first is the dominant one."""
    return [
        sorted(range(len(need)), key=lambda r: (-rank[r], -need[r], lot[r]))
        for rank, need in zip(ranks(np.array(stand.shares), stand.near), stand.demands, strict=True)
    ]


def machine_types(stand: Machines, machine_type: MachineType = "share") -> list[set[int]]:
    """Give the types of each machine: the resources of which it has most, as a part of the whole cell or by amount."""
    found = []
    for size in stand.size:
        have = size if machine_type == "amount" else [c / s if c else c for c, s in zip(size, stand.pool, strict=True)]
        least = max(have) * (1 - stand.near)
        found.append({r for r, c in enumerate(have) if c >= least})
    return found


def of_type(room: list[int], types: list[set[int]], wanted: list[int]) -> list[int]:
    """Give those of the machines whose type is the first wanted one that any of them has."""
    return next((found for r in wanted if (found := [j for j in room if r in types[j]])), [])


def lots(cell: Cell, seed: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw the order of the users and of the resources that settles what is left tied."""
    rng = np.random.default_rng(as_whole(seed, "seed", 0))
    n, m = cell.demands.shape
    return rng.permutation(n), rng.permutation(m)


def as_filled(
    cell: Cell,
    lots: tuple[NDArray[np.int64], NDArray[np.int64]],
    *,
    least: Least,
    machine_type: MachineType = "share",
    by_share: bool = True,
    typed: bool = True,
) -> dict[str, Any]:
    """Give what the engine is told of the rule: users in order, what is least, and how badly machines suit by type.

    Algorithm 1 on arrays; see ``engine.fill``.
    """
    n, m = cell.demands.shape
    keys = (np.broadcast_to(lots[1], (n, m)), -cell.demands, -ranks(cell.shares, TIED))
    preference = np.lexsort(keys, axis=1)
    dominant, gdrs = preference[:, 0], row_max(cell.shares)
    gdrw = cell.shares.sum(axis=1) / gdrs
    size = cell.machines if machine_type == "amount" else cell.machines / np.where(cell.totals > 0, cell.totals, 1)
    most = (size >= size.max(axis=1, keepdims=True) * (1 - TIED)) | (not typed)
    types, group = np.unique(most, axis=0, return_inverse=True)
    per_slot = {"amount": cell.demands.sum(axis=1), "dominant_share": gdrs, "shares": cell.shares.sum(axis=1)}
    return {
        "order": np.lexsort((lots[0], -ranks(gdrw, TIED), -ranks(gdrs, TIED) * by_share)),
        "per_slot": per_slot[least],
        "dominant": dominant,
        "group": group.reshape(-1)[cell.machine_class],
        "misfit": types[:, preference].argmax(axis=2).T,
    }


@takes_instance
def gdrf(
    demands: Any,
    machines: Any = None,
    machine_counts: Any = None,
    *,
    max_tasks: Any = None,
    seed: int = 0,
    match: Match = "nearest",
    least: Least = "amount",
    machine_type: MachineType = "share",
    choice: GdrfChoice = "fairness",
    queue: Queue = "rounds",
    engine: Engine = "fast",
    progress: bool = False,
) -> Placement:
    """Place whole tasks by global dominant resource fairness (GDRF, 2016, Algorithms 1 to 3).

    Parameters
    ----------
    demands : array_like or DataFrame, shape (n, m), or Instance
        Resource per task (virtual machine); zeros allowed, at least one positive entry a row.
    machines : array_like or DataFrame, shape (K, m)
        Capacity of one machine of each class, in the unit of the demands.
    machine_counts : array_like, shape (K,), optional
        Machines of each class. Default: one each.
    max_tasks : array_like, shape (n,), optional
        Tasks requested (rounded down), ``inf`` for as many as fit. Default: no bounds.
    seed : int
        Settles ties that the paper settles at random: one lot for the users and one for the resources.
    match : {"nearest", "same", "any"}
        Machines that a user may have. ``"nearest"`` (the prose): those whose type is its dominant resource; where none
        of them has room, those of its second resource, and so on. ``"same"`` (Algorithm 3 as printed): the former
        only. ``"any"``: all alike.
    least : {"amount", "dominant_share", "shares"}
        What is least in Algorithm 2: the sum of all amounts (a unit of CPU counts like a unit of memory, as in
        equation 5), the dominant share, or the sum of all shares.
    machine_type : {"share", "amount"}
        Whether a machine's type is the resource of which it has most as a part of the whole cell, or by amount. Ties
        give a machine several types.
    choice : {"fairness", "fairness_empty_last", "fairness_after", "first"}
        Among those with room: the largest f as the machine stands, 0^0 = 1 (an empty machine comes first while T < 1);
        the same with 0^0 = 0 (an empty machine comes last); the largest f with the task counted in; or the lowest
        number, without f.
    queue : {"rounds", "one_by_one"}
        Rounds of as many slots as users, each served in order of GDRS and GDRW; or one slot at a time, which is
        progressive filling.
    engine : {"fast", "plain"}
        ``"plain"`` runs :func:`gdrf_rule` on fractions made of the doubles: slow, and exact but for the logarithms.
    progress : bool
        Show a progress bar on stderr.

    Returns
    -------
    Placement
        ``tasks`` (n,), ``states`` (machines grouped by contents), ``explain(user)``, ``violations()``, ...

    Raises
    ------
    InvalidInput
        Naming argument, rule and value.

    Notes
    -----
    Cost O(N m u + P (log n + m u + (b + m) log N)) for P tasks placed on N machines, u different demands (1024 at
    most) of b kinds (16 at most); where a kind has several, some machines are looked at in vain near the end: measured,
    a task of 300 users costs two to three times what one of 20 does with two resources, nine times with eight.
    ``"fairness_after"`` looks at all machines for each task, O(P N m).

    A task fits if it overdraws no resource by more than 1e-12 of the machine. Ties between machines go to the lowest
    number; amounts, shares and the logarithms of f tie within 1e-12. It can be interrupted; what was placed is then
    lost.

    References
    ----------
    "GDRF", Journal of Computer Applications (Chinese) 36(10), 2016, equations (1) to (8), Algorithms 1 to 3.

    Examples
    --------
    Two machines of (4, 4), tasks of (1, 2) and (2, 1):

    >>> gdrf([[1, 2], [2, 1]], machines=[[4, 4]], machine_counts=[2]).tasks
    array([2, 2])
    """
    readings: dict[str, Any] = {
        "match": match,
        "least": least,
        "machine_type": machine_type,
        "choice": choice,
        "queue": queue,
    }
    check_switch(progress, "progress")
    cell = as_cell(demands, machines, machine_counts, max_tasks)
    n, m = cell.demands.shape
    drawn = lots(cell, seed)
    if engine == "plain":
        placed = by_rule(gdrf_rule, **as_arguments(cell), lots=drawn, **readings)
        return as_placement(cell, placed, "gdrf", match != "same")
    return fill(
        cell,
        "gdrf",
        key=choice,
        unsuited=m if match == "nearest" else 1,
        per_round=n if queue == "rounds" else 1,
        full=match != "same",
        progress=progress,
        **as_filled(cell, drawn, least=least, machine_type=machine_type, typed=match != "any"),
    )
