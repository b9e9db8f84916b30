"""Fill machines with whole tasks one by one: the whole run.

The rules differ in who comes next (:mod:`~fairbook.mechanisms.placing.whose_turn`), in how well types of machines suit
users, and in the key by which a machine is chosen among those with room, ties by the lowest number:

* f of GDRF belongs to the machine, and the lowest number alone is the same key for all:
  :mod:`~fairbook.mechanisms.placing.fairest_machine`;
* the distance of best fit and relative entropy compare what is free with the task:
  :mod:`~fairbook.mechanisms.placing.nearest_machine`.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.kernels import kernel
from fairbook.mechanisms.placing.fairest_machine import LAST, Fairness, Types, as_tree, by_tournament
from fairbook.mechanisms.placing.nearest_machine import (
    DISTANCE,
    ENTROPY,
    Machines,
    as_machines,
    build,
    move,
    nearest,
    tired,
)
from fairbook.mechanisms.placing.whose_turn import NOBODY, PLACED, STOP, Turns, put, tasks_to_come, turn
from fairbook.mechanisms.pool.whole_tasks import tournament
from fairbook.model.inputs import FITS, FloatArray
from fairbook.model.placement import MOST_PLACED, Cell, Placement
from fairbook.progress import bar

Key = Literal["first", "fairness", "fairness_empty_last", "fairness_after", "best_fit", "entropy"]

_BLOCK = 1 << 17  # placements between two looks at the keyboard, about a tenth of a second


def _looks(turns: Turns, capacity: FloatArray, *_: Any) -> float:
    """Steps of finding the nearest machines."""
    return tasks_to_come(turns) * (50 + 10 * len(capacity) ** 0.5) + 5 * capacity.size


@kernel(_looks, _nrt=False)
def _by_likeness(turns: Any, capacity: Any, at: Any, forms: Any, lead: Any) -> bool:
    """Place tasks on the machines that suit best, until a break is due (False) or nobody can have more (True)."""
    while not tired(at):
        i = turn(turns)
        if i < 0:
            return i == NOBODY
        machine = nearest(at, turns.demands, forms, i, lead[i])
        if put(turns, i, machine):
            for r in range(capacity.shape[1]):
                at.free[machine, r] = max(capacity[machine, r] - turns.used[machine, r], 0.0)
                at.room[machine, r] = turns.limit[machine, r] - turns.used[machine, r]
            move(at, machine)
    return False


def tasks_at_most(cell: Cell) -> float:
    """Estimate from above how many whole tasks fit; InvalidInput where they may be too many to place one by one."""
    with np.errstate(over="ignore", divide="ignore"):
        alone = (1 / cell.shares).min(axis=1)
    found = float(min(np.minimum(alone, cell.max_tasks).sum(), alone.max()))
    if found > MOST_PLACED:
        rule = f"must be large enough that at most {MOST_PLACED:g} whole tasks fit the machines"
        raise InvalidInput("demands", rule, f"up to {found:.3g} tasks")
    return found


def _likeness(
    cell: Cell, turns: Turns, capacity: FloatArray, kind: int
) -> tuple[FloatArray, Machines, FloatArray, Any]:
    """Give what the nearest machines are found by: see :func:`_by_likeness`."""
    demands, totals, users = turns.demands, cell.totals, np.arange(len(turns.demands))
    first = (demands > 0).argmax(axis=1)
    forms = demands / demands[users, first][:, None]
    if kind == ENTROPY:
        first, shares = 0 * first, demands / np.where(totals > 0, totals, 1)
        forms = shares / shares.sum(axis=1, keepdims=True)
    leads, lead = np.unique(first, return_inverse=True)
    unit = np.divide(totals[leads][:, None], totals, out=np.zeros((len(leads), len(totals))), where=totals > 0)
    return (
        capacity,
        as_machines(capacity.copy(), turns.limit.copy(), demands.min(axis=0), leads, unit, kind),
        forms,
        lead,
    )


def fill(
    cell: Cell,
    mechanism: str,
    *,
    per_slot: FloatArray,
    order: NDArray[np.int64],
    key: Key,
    dominant: NDArray[np.int64],
    group: NDArray[np.int64],
    misfit: NDArray[np.int64],
    unsuited: int = 1,
    per_round: int = 1,
    full: bool = True,
    progress: bool = False,
) -> Placement:
    """Place tasks until nobody can have more.

    Parameters
    ----------
    cell : Cell
    per_slot : ndarray, shape (n,)
        A user with s slots holds s * per_slot; the least comes first.
    order : ndarray of int, shape (n,)
        Users as ties are broken and a round is served.
    key : str
        Which machine is best.
    dominant : ndarray of int, shape (n,)
        Dominant resource of each user, for (8).
    group : ndarray of int, shape (N,)
        Group of each machine: machines of one type.
    misfit : ndarray of int, shape (n, groups)
        How badly a group suits a user, 0 best; ``unsuited`` or more: not at all.
    per_round : int
        Slots of a round.
    mechanism, full
        As of :class:`~fairbook.Placement`.
    progress : bool
        Show a progress bar on stderr.

    Raises
    ------
    InvalidInput
        Where too many tasks may fit.
    """
    n, N = len(cell.demands), len(cell.machine_class)
    block = min(_BLOCK, int(tasks_at_most(cell)) + 1)
    capacity, seats = cell.machines[cell.machine_class], 1 << (n - 1).bit_length()
    bounds = np.minimum(cell.max_tasks[order], 2.0**62).astype(np.int64)
    held = np.full(seats, np.inf)
    held[:n] = np.where(bounds > 0, 0.0, np.inf)
    slots, grants = np.zeros((2, n), np.int64)
    users, machines = np.empty((2, block), np.int32)
    turns = Turns(
        np.array([0, n, 0]), bounds, per_slot[order], per_round, held, tournament(held), slots, grants,
        cell.demands[order], capacity * (1 + FITS), np.zeros_like(capacity), users, machines,
    )  # fmt: skip
    what: tuple[Any, ...]
    if key in ("best_fit", "entropy"):
        step, what = _by_likeness, _likeness(cell, turns, capacity, DISTANCE if key == "best_fit" else ENTROPY)
    else:
        empty = LAST if key == "fairness_empty_last" else 0.0
        size = np.full(N, np.inf) if key == "first" else capacity.sum(axis=1)
        stakes, nothing = np.zeros_like(capacity), np.zeros(capacity.shape[1])
        fair = Fairness(dominant[order], cell.totals, size, stakes, empty, key == "fairness_after", nothing)
        types = Types(group, np.ascontiguousarray(misfit[order]), unsuited)
        step, what = by_tournament, (types, fair, as_tree(turns, group, empty))
    done = False
    with bar(shown=progress, unit=" tasks", desc=mechanism) as placing:
        while not done:
            placed = int(turns.numbers[PLACED])
            turns.numbers[STOP] = placed + block
            if placed + block > len(turns.users):
                turns = turns._replace(users=np.tile(turns.users, 2), machines=np.tile(turns.machines, 2))
            if step is _by_likeness and tired(what[1]):
                build(what[1])
            done = step(turns, *what)
            placing.update(int(turns.numbers[PLACED]) - placed)
    placed = int(turns.numbers[PLACED])
    return Placement(
        cell, order[turns.users[:placed]].astype(np.int32), turns.machines[:placed].copy(), mechanism, full
    )
