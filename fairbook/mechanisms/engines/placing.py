"""Fill machines with whole tasks one by one: the whole run, and the machine for each task.

The rules differ in who comes next (:mod:`~fairbook.mechanisms.engines.turns`), in how well types of machines suit
users, and in the key by which a machine is chosen among those with room, ties by the lowest number:

* f of GDRF belongs to the machine alone: :mod:`~fairbook.mechanisms.engines.tournament`;
* the distance of best fit and relative entropy compare what is free with the task:
  :mod:`~fairbook.mechanisms.engines.nearest`;
* the lowest number alone: each user keeps for each group of machines the first that may have room for it, and never
  goes back, for machines only fill up;
* f with the task counted in is another for each user: all machines are looked at.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.kernels import INSIDE, kernel
from fairbook.mechanisms.engines.nearest import DISTANCE, ENTROPY, as_machines, build, move, nearest, tired
from fairbook.mechanisms.engines.tournament import KINDS, LAST, Fairness, Types, as_tree, by_tournament, log_fairness
from fairbook.mechanisms.engines.turns import NOBODY, PLACED, STOP, Turns, fits, put, tasks_to_come, turn
from fairbook.model.inputs import FloatArray
from fairbook.model.placement import FITS, MOST_TASKS, Cell, Placement
from fairbook.progress import bar

Key = Literal["first", "fairness", "fairness_empty_last", "fairness_after", "best_fit", "entropy"]

_BLOCK = 1 << 17  # placements between two looks at the keyboard, about a tenth of a second
_SIDE = 64  # machines whose largest room is kept for First-Fit


class Pointers(NamedTuple):
    """For each user and group the first machine that may have room. Comments follow."""

    members: NDArray[np.int64]
    starts: NDArray[np.int64]
    # ^ Machines group by group, and where each group starts, shape (N,) and (groups + 1,).
    at: NDArray[np.int64]
    # ^ Place of that machine among the members, shape (n, groups).
    most: FloatArray
    # ^ The most that was free on each _SIDE machines in turn when they were last looked at, shape (N / _SIDE, m).


@kernel(INSIDE, _nrt=False, forceinline=True)
def _first(turns: Any, first: Any, i: int, g: int) -> int:
    """Give the first machine of a group with room for a task of user i, or what is beyond all."""
    need, members, most, limit, used = turns.demands[i], first.members, first.most, turns.limit, turns.used
    p, end, m = first.at[i, g], first.starts[g + 1], len(need)
    while p < end:
        side, room = p // _SIDE, True
        if p % _SIDE == 0:
            for r in range(m):
                room &= most[side, r] >= need[r]
            if not room:
                p += _SIDE
                continue
        for r in range(m):
            room &= limit[members[p], r] - used[members[p], r] >= need[r]
        if room:
            break
        p += 1
        if p % _SIDE == 0:  # look anew at what is free there
            for r in range(m):
                most[side, r] = 0.0
                for q in range(p - _SIDE, p):
                    most[side, r] = max(most[side, r], limit[members[q], r] - used[members[q], r])
    first.at[i, g] = p
    return members[p] if p < end else len(members)


@kernel(lambda turns, *_: 100 * tasks_to_come(turns) + len(turns.slots) * len(turns.used), _nrt=False)
def _by_number(turns: Any, types: Any, first: Any) -> bool:
    """Place tasks on the first machines with room, until a break is due (False) or nobody can have more (True)."""
    N = len(first.members)
    while True:
        i = turn(turns)
        if i < 0:
            return i == NOBODY
        machine, wanted = N, 0
        while machine == N and wanted < types.levels:
            for g in range(len(first.starts) - 1):
                if types.level[i, g] == wanted:
                    machine = min(machine, _first(turns, first, i, g))
            wanted += 1
        if machine == N:
            turns.gone[i] = True
        else:
            put(turns, i, machine)


@kernel(lambda turns, *_: turns.used.size * tasks_to_come(turns), _nrt=False)
def _by_scan(turns: Any, types: Any, fair: Any, spare: Any) -> bool:
    """Place tasks by (8) with the task counted in, until a break is due (False) or nobody can have more (True)."""
    N, m = turns.used.shape
    while True:
        i = turn(turns)
        if i < 0:
            return i == NOBODY
        need, lead = turns.demands[i], fair.dominant[i]
        machine, best, nearest_level = -1, 0.0, types.levels
        for j in range(N):
            level = types.level[i, types.group[j]]
            if level <= nearest_level and level < types.levels and fits(turns, i, j):
                for r in range(m):
                    spare[0, r], spare[1, r] = turns.used[j, r] + need[r], fair.stakes[j, r]
                spare[1, lead] += need[lead]
                key = log_fairness(fair, spare[0], spare[1], fair.size[j])
                if machine < 0 or level < nearest_level or key > best:
                    machine, best, nearest_level = j, key, level
        if machine < 0:
            turns.gone[i] = True
        else:
            put(turns, i, machine)
            fair.stakes[machine, lead] += need[lead]


def _looks(turns: Turns, capacity: FloatArray, *_: Any) -> float:
    """Steps of finding the nearest machines."""
    return tasks_to_come(turns) * (100 + 20 * len(capacity) ** 0.5) + 10 * capacity.size


@kernel(_looks, _nrt=False)
def _by_likeness(turns: Any, capacity: Any, at: Any, forms: Any, lead: Any) -> bool:
    """Place tasks on the machines that suit best, until a break is due (False) or nobody can have more (True)."""
    limit, used, free, room = turns.limit, turns.used, at.free, at.room
    while True:
        if tired(at):
            return False
        i = turn(turns)
        if i < 0:
            return i == NOBODY
        machine = nearest(at, turns.demands, forms, i, lead[i])
        if machine < 0:
            turns.gone[i] = True
            continue
        put(turns, i, machine)
        for r in range(used.shape[1]):
            free[machine, r] = max(capacity[machine, r] - used[machine, r], 0.0)
            room[machine, r] = limit[machine, r] - used[machine, r]
        move(at, machine)


@kernel(lambda turns, *_: 10 * turns.used.size)
def _sort(turns: Any, at: Any) -> None:
    """Sort the machines anew, for the users who are left."""
    at.least[:] = np.inf
    for i in range(len(turns.gone)):
        for r in range(len(at.least)):
            at.least[r] = at.least[r] if turns.gone[i] else min(at.least[r], turns.demands[i, r])
    build(at)


# ------------------------------------------------------------------------------------------------- the whole run


def tasks_at_most(cell: Cell) -> float:
    """Estimate from above how many whole tasks fit; InvalidInput where they may be too many to place one by one.

    Cost O(n m), and O(n K m) where that many would fit if the machines were one.
    """

    def alone(need: FloatArray, room: FloatArray) -> Any:
        fit = np.divide(room, need, out=np.full(np.broadcast(room, need).shape, np.inf), where=need > 0)
        return fit.min(axis=1)

    def most(each: Any) -> float:
        return float(min(np.minimum(each, cell.max_tasks).sum(), max(each)))

    with np.errstate(over="ignore"):
        found = most(alone(cell.demands, cell.totals))
        if found > MOST_TASKS / 2:  # else far from it, however rounded
            found = most([alone(need, cell.machines) @ cell.machine_counts for need in cell.demands])
    if found > MOST_TASKS:
        rule = f"must be large enough that at most {MOST_TASKS:g} whole tasks fit the machines"
        raise InvalidInput("demands", rule, f"up to {found:.3g} tasks")
    return found


def _likeness(cell: Cell, turns: Turns, capacity: FloatArray, kind: int) -> tuple[Any, ...]:
    """Give what the nearest machines are found by: see :func:`_by_likeness`."""
    demands, totals, n = turns.demands, cell.totals, len(turns.demands)
    first = (demands > 0).argmax(axis=1)
    if kind == ENTROPY:
        forms, first = cell.shares / cell.shares.sum(axis=1, keepdims=True), np.zeros(n, np.int64)
    else:
        forms = demands / demands[np.arange(n), first][:, None]
    leads, lead = np.unique(first, return_inverse=True)
    unit = np.divide(totals[leads][:, None], totals, out=np.zeros((len(leads), len(totals))), where=totals > 0)
    at = as_machines(capacity.copy(), turns.limit.copy(), demands.min(axis=0), leads, unit, kind)
    return capacity, at, forms, lead


def fill(
    cell: Cell,
    *,
    unit: FloatArray,
    per: FloatArray,
    rank: NDArray[np.int64],
    per_round: int,
    key: Key,
    dominant: NDArray[np.int64],
    group: NDArray[np.int64],
    level: NDArray[np.int64],
    levels: int,
    mechanism: str,
    full: bool,
    progress: bool,
) -> Placement:
    """Place tasks until nobody can have more.

    Parameters
    ----------
    cell : Cell
    unit, per : ndarray, shape (n,)
        A user with s slots holds s * unit / per; the least comes first.
    rank : ndarray of int, shape (n,)
        Place of each user where ties are broken and in which a round is served.
    per_round : int
        Slots of a round.
    key : str
        Which machine is best.
    dominant : ndarray of int, shape (n,)
        Dominant resource of each user, for (8).
    group : ndarray of int, shape (N,)
        Group of each machine: machines of one type.
    level : ndarray of int, shape (n, groups)
        How well a group suits a user, 0 best; ``levels`` or more: not at all.
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
    expected = tasks_at_most(cell)
    capacity, order = cell.machines[cell.machine_class], np.argsort(rank)
    bounds = np.minimum(cell.max_tasks, 2.0**62).astype(np.int64)
    limit, used = capacity * (1 + FITS), np.zeros_like(capacity)
    # one layout for all callers: each other one would be compiled anew
    unit, per = np.ascontiguousarray(unit), np.ascontiguousarray(per)
    rank, dominant, level = (np.ascontiguousarray(one) for one in (rank, dominant, level))
    turns = Turns(
        np.array([0, n, n, 0]), bounds, unit, per, rank, order, per_round, order.copy(), np.zeros(n, np.int64),
        np.zeros(n), np.zeros(n, np.bool_), np.zeros(n, np.int64), cell.demands.copy(), limit, used,
        *np.empty((2, _BLOCK), np.int32),
    )  # fmt: skip  # users who hold nothing yet are a heap in order of rank
    types = Types(group, level, levels)
    empty = LAST if key == "fairness_empty_last" else 0.0
    fair = Fairness(dominant, cell.totals, capacity.sum(axis=1), np.zeros_like(capacity), empty)
    sort = False
    if key in ("best_fit", "entropy"):
        step, what = _by_likeness, _likeness(cell, turns, capacity, DISTANCE if key == "best_fit" else ENTROPY)
    elif key == "fairness_after":
        step, what = _by_scan, (types, fair, np.empty((2, len(cell.totals))))
    elif key == "first":
        members = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[members], np.arange(level.shape[1] + 1))
        most = np.full((N // _SIDE + 1, len(cell.totals)), np.inf)
        step, what = _by_number, (types, Pointers(members, starts, np.tile(starts[:-1], (n, 1)), most))
    else:
        sort, step, what = True, by_tournament, (types, fair)
        tree = as_tree(turns, group, np.full(N, empty), np.zeros(n, np.int64), KINDS)
    with bar(shown=progress, unit=" tasks", desc=mechanism) as placing:
        while True:
            if sort and tree.vain[0] >= 0 and not turns.gone.all():  # kinds are too coarse
                tree = as_tree(turns, group, tree.keys, tree.kinds, 2 * KINDS)
            placed = int(turns.numbers[PLACED])
            turns.numbers[STOP] = placed + min(_BLOCK, int(expected) + 1)
            if turns.numbers[STOP] > len(turns.users):
                turns = turns._replace(users=np.tile(turns.users, 2), machines=np.tile(turns.machines, 2))
            if key in ("best_fit", "entropy") and tired(what[1]):
                _sort(turns, what[1])
            done = step(turns, *what, tree) if sort else step(turns, *what)
            placing.update(int(turns.numbers[PLACED]) - placing.n)
            if done:
                break
    placed = int(turns.numbers[PLACED])
    return Placement(cell, turns.users[:placed].copy(), turns.machines[:placed].copy(), mechanism, full)
