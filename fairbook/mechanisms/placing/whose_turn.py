"""Who comes next when whole tasks are placed on machines, and what is kept of those that are placed.

Users are numbered by a fixed rank and stand in a tournament by what they hold; its winner is whom a look at all of them
would give. One slot at a time is given, or a round of several slots that is then served in order of rank. Whose task
fits nowhere leaves for good, for machines only fill up. So turns are those of the rules.

What lies within 1e-12 of each other is tied: of equal amounts rounding may make one the larger.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairbook.kernels import INSIDE, kernel
from fairbook.mechanisms.pool.whole_tasks import seat
from fairbook.model.inputs import FloatArray

NOBODY, PAUSE = -1, -2

#: Where the running numbers are: tasks placed, place in the order of the round, tasks to pause at.
PLACED, AT, STOP = 0, 1, 2


class Turns(NamedTuple):
    """Users in order of rank, and the tasks placed so far."""

    numbers: NDArray[np.int64]
    bounds: NDArray[np.int64]
    #: What one slot counts.
    per_slot: FloatArray
    per_round: int
    #: Infinite for who wants no more slots or has left, shape (s,), s a power of two.
    held: FloatArray
    #: The tournament, users themselves from s on, shape (2 s,).
    winners: NDArray[np.int64]
    slots: NDArray[np.int64]
    #: Slots of the round that are not served yet.
    grants: NDArray[np.int64]
    demands: FloatArray
    #: What a machine may hold, and what it holds, shape (N, m).
    limit: FloatArray
    used: FloatArray
    #: User and machine of each task placed.
    users: NDArray[np.int32]
    machines: NDArray[np.int32]


def tasks_to_come(turns: Turns, *_: Any) -> float:
    """Tasks until the next pause."""
    return float(turns.numbers[STOP] - turns.numbers[PLACED])


@kernel(INSIDE, _nrt=False, forceinline=True)
def _slot(turns: Any) -> int:
    """Give a slot to the user with the least and return it, or NOBODY."""
    i = turns.winners[1]
    if turns.held[i] == np.inf:
        return NOBODY
    turns.slots[i] += 1
    more = turns.slots[i] < turns.bounds[i]
    seat(turns.held, turns.winners, i, turns.slots[i] * turns.per_slot[i] if more else np.inf)
    return i


@kernel(INSIDE, _nrt=False, forceinline=True)
def turn(turns: Any) -> int:
    """Give the user whose task is placed next, NOBODY at the end, or PAUSE where it is time for a break."""
    numbers, grants = turns.numbers, turns.grants
    if numbers[PLACED] == numbers[STOP]:
        return PAUSE
    if turns.per_round == 1:
        return _slot(turns)
    while True:
        while numbers[AT] < len(grants):
            if grants[numbers[AT]] > 0:
                grants[numbers[AT]] -= 1
                return numbers[AT]
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
def put(turns: Any, i: int, machine: int) -> bool:
    """Place a task of user i; where there is no machine for it the user leaves, and False is returned."""
    if machine < 0:
        turns.grants[i] = 0
        seat(turns.held, turns.winners, i, np.inf)
        return False
    placed = turns.numbers[PLACED]
    turns.users[placed], turns.machines[placed] = i, machine
    turns.numbers[PLACED] += 1
    for r in range(turns.demands.shape[1]):
        turns.used[machine, r] += turns.demands[i, r]
    return True
