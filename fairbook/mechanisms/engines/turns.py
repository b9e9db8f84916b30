"""Who comes next when whole tasks are placed on machines, and what is kept of those that are placed.

Users stand in a heap by what they hold, ties by a fixed rank; one slot at a time, or a round of several slots that is
then served in order of rank. Whose task fits nowhere leaves for good, for machines only fill up. The heap gives the
user whom a look at all of them would give, so turns are those of the rules.

What a user holds is worked out anew from its slots, and what a machine holds is a sum in the order of placing: of
whole-number demands both are exact, and ties are ties, not accidents of rounding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairbook.kernels import INSIDE, kernel
from fairbook.model.inputs import FloatArray

NOBODY, PAUSE = -1, -2

#: Where the running numbers are: tasks placed, users in the heap, place in the order of the round, tasks to pause at.
PLACED, WAITING, AT, STOP = 0, 1, 2, 3


class Turns(NamedTuple):
    """Users and the tasks placed so far. Comments follow."""

    numbers: NDArray[np.int64]
    bounds: NDArray[np.int64]
    unit: FloatArray
    per: FloatArray
    # ^ A user with s slots holds s * unit / per: of whole numbers this is rounded once, so equal amounts are equal.
    rank: NDArray[np.int64]
    order: NDArray[np.int64]
    # ^ Users in order of rank, for ties and for the order in which a round is served.
    per_round: int
    heap: NDArray[np.int64]
    slots: NDArray[np.int64]
    held: FloatArray
    gone: NDArray[np.bool_]
    grants: NDArray[np.int64]
    # ^ Slots of the round that are not served yet.
    demands: FloatArray
    limit: FloatArray
    used: FloatArray
    # ^ What a machine may hold, and what it holds, shape (N, m).
    users: NDArray[np.int32]
    machines: NDArray[np.int32]
    # ^ User and machine of each task placed.


def tasks_to_come(turns: Turns) -> float:
    """Tasks until the next pause."""
    return float(turns.numbers[STOP] - turns.numbers[PLACED])


@kernel(INSIDE, _nrt=False, forceinline=True)
def _sink(turns: Any, size: int) -> None:
    """Restore the heap of users below its top: least held first, then rank."""
    heap, held, rank = turns.heap, turns.held, turns.rank
    at, user = 0, heap[0]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size:
            a, b = heap[child], heap[child + 1]
            if held[b] < held[a] or (held[b] == held[a] and rank[b] < rank[a]):
                child += 1
        other = heap[child]
        if held[user] < held[other] or (held[user] == held[other] and rank[user] < rank[other]):
            break
        heap[at] = other
        at = child
    heap[at] = user


@kernel(INSIDE, _nrt=False, forceinline=True)
def _slot(turns: Any) -> int:
    """Give a slot to the user with the least and return it, or NOBODY."""
    numbers, heap = turns.numbers, turns.heap
    while numbers[WAITING] > 0:
        i = heap[0]
        done = turns.gone[i] or turns.slots[i] >= turns.bounds[i]
        if done:
            numbers[WAITING] -= 1
            heap[0] = heap[numbers[WAITING]]
        else:
            turns.slots[i] += 1
            turns.held[i] = turns.slots[i] * turns.unit[i] / turns.per[i]
        _sink(turns, numbers[WAITING])
        if not done:
            return i
    return NOBODY


@kernel(INSIDE, _nrt=False, forceinline=True)
def turn(turns: Any) -> int:
    """Give the user whose task is placed next, NOBODY at the end, or PAUSE where it is time for a break."""
    numbers, order, grants = turns.numbers, turns.order, turns.grants
    if numbers[PLACED] == numbers[STOP]:
        return PAUSE
    if turns.per_round == 1:
        return _slot(turns)
    while True:
        while numbers[AT] < len(order):
            i = order[numbers[AT]]
            if grants[i] > 0 and not turns.gone[i]:
                grants[i] -= 1
                return i
            grants[i] = 0
            numbers[AT] += 1
        for _ in range(turns.per_round):  # a new round
            i = _slot(turns)
            if i < 0:
                break
            grants[i] += 1
            numbers[AT] = 0
        if numbers[AT] > 0:
            return NOBODY


@kernel(INSIDE, _nrt=False, forceinline=True)
def put(turns: Any, i: int, machine: int) -> None:
    """Place a task of user i."""
    placed = turns.numbers[PLACED]
    turns.users[placed], turns.machines[placed] = i, machine
    turns.numbers[PLACED] += 1
    for r in range(turns.demands.shape[1]):
        turns.used[machine, r] += turns.demands[i, r]


@kernel(INSIDE, _nrt=False, forceinline=True)
def fits(turns: Any, i: int, machine: int) -> bool:
    """Tell whether a machine has room for a task of user i."""
    room = True
    for r in range(turns.demands.shape[1]):
        room &= turns.limit[machine, r] - turns.used[machine, r] >= turns.demands[i, r]
    return room
