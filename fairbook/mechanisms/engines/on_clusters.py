"""Users on clusters, one by one to the cluster of the least mark.

A loop over all users and clusters that does what ``in_turn`` of :mod:`fairbook.mechanisms.virtual_cluster` says, on
doubles or whole numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairbook.kernels import INSIDE, kernel

#: By what a cluster is chosen; :data:`fairbook.mechanisms.virtual_cluster.MARKS` says what each is.
NAMES = ("relative", "free", "least_wanted", "best_fit", "first_fit", "tightest", "least_fluid", "first")
_RELATIVE, _FREE, _LEAST_WANTED, _BEST_FIT, _FIRST_FIT, _TIGHTEST, _LEAST_FLUID, _FIRST = range(len(NAMES))


def _pairs(order: Any, least: Any, most: Any, capacities: Any, *_: Any) -> float:
    """Steps of a list rule: each user looks at each cluster."""
    return float(order.size * capacities.size)


@kernel(INSIDE)
def _mark(rule: int, capacity: Any, room: Any, minima: Any, wishes: Any, least: Any, most: Any) -> float:
    """Give the mark of a cluster; those by which nobody has to give back where they are asked for."""
    if rule == _FREE:
        return -room * 1.0
    if rule == _TIGHTEST:
        return room * 1.0
    if rule == _BEST_FIT:
        return (capacity - wishes) * 1.0
    above, of = minima, capacity
    if rule == _LEAST_WANTED:
        above = wishes + most
    elif rule == _LEAST_FLUID:
        above, of = wishes - minima + most - least, room - least
    elif rule != _RELATIVE:  # the first
        return 0.0
    if rule == _LEAST_FLUID and not above > 0:
        return 0.0
    return above / of if of > 0 else np.inf


@kernel(_pairs)
def in_turn(order: Any, least: Any, most: Any, capacities: Any, slack: Any, rule: int, where: Any) -> None:
    """Give the users in this order their clusters by one mark, the first cluster at ties. Cost O(n H)."""
    prefers = rule in (_BEST_FIT, _FIRST_FIT)
    room, wishes, minima = capacities.copy(), np.zeros_like(capacities), np.zeros_like(capacities)
    for i in order:
        chosen, best, held = -1, 0.0, False
        for j in range(len(capacities)):
            if least[i] <= room[j] + slack[j]:
                holds = prefers and wishes[j] + most[i] <= capacities[j] + slack[j]
                by = _LEAST_WANTED if prefers and not holds else rule
                value = _mark(by, capacities[j], room[j], minima[j], wishes[j], least[i], most[i])
                if chosen < 0 or (holds and not held) or (holds == held and value < best):
                    chosen, best, held = j, value, holds
        if chosen >= 0:
            where[i] = chosen
            room[chosen] -= least[i]
            minima[chosen] += least[i]
            wishes[chosen] += most[i]
