"""Users on clusters: one by one to the cluster of the least mark, or cut from one pool.

Both are loops over all users that do what the rules of :mod:`fairbook.mechanisms.virtual_cluster` say, on doubles or
whole numbers: a list compares each user with each cluster, a cut goes through users and clusters side by side.
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


@kernel()
def cut(vms: Any, capacities: Any, rounding: float) -> Any:
    """Put user after user into cluster after cluster; give user, cluster and VMs of each piece. Cost O(n + H).

    What is less than ``rounding`` of a cluster or of a user is nothing. What is left over in the end, since the sums of
    VMs and of capacities differ by a rounding, goes to the largest cluster, where it is least.
    """
    n, H = len(vms), len(capacities)
    user, cluster, amount = np.empty(n + H, np.int64), np.empty(n + H, np.int64), np.empty(n + H, vms.dtype)
    largest, count, j, left = int(np.argmax(capacities)), 0, 0, capacities[0]
    for i in range(n):
        need = vms[i]
        while need > rounding * vms[i]:
            while j < H and left <= rounding * capacities[j]:
                j += 1
                if j < H:
                    left = capacities[j]
            here, part = largest, need
            if j < H:
                here = j
                if need > left + rounding * capacities[j]:
                    part = left
                left -= part
            need -= part
            if count and user[count - 1] == i and cluster[count - 1] == here:
                amount[count - 1] += part
            else:
                user[count], cluster[count], amount[count] = i, here, part
                count += 1
    return user[:count], cluster[:count], amount[:count]
