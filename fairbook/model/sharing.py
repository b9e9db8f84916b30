"""One cluster among its users, max-min fair above their minima: the filling, by bisection, and in whole machines."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbook.kernels import kernel


def _bisected(least: Any, *_: Any) -> float:
    """Steps of sharing out clusters: 60 halvings, and as much again for the last VMs."""
    return 300.0 * len(least)


@kernel(_bisected)
def _share_whole(least: Any, most: Any, capacity: int) -> Any:
    """Hand out VMs one by one to the user with the least fraction; most of them at one go, by bisection.

    The level found is taken a hair lower: whoever stands there has, in exact numbers too, no VM too many.
    """
    n = len(least)
    vms = least.copy()
    if most.sum() <= capacity:
        return most.copy()
    low, high = 0.0, 1.0
    for _ in range(60):
        level = 0.5 * (low + high)
        total = 0
        for i in range(n):
            total += max(least[i], np.int64(np.ceil(level * most[i])))
        if total <= capacity:
            low = level
        else:
            high = level
    free = capacity
    for i in range(n):
        vms[i] = max(least[i], np.int64(np.ceil((low - 1e-9) * most[i])))
        free -= vms[i]
    while free > 0:
        poorest = -1
        for i in range(n):
            if vms[i] < most[i]:
                ahead = -1 if poorest < 0 else vms[i] * most[poorest] - vms[poorest] * most[i]
                if ahead < 0 or (ahead == 0 and most[i] < most[poorest]):
                    poorest = i
        if poorest < 0:
            break
        held = vms[poorest]
        for i in range(poorest, n):  # all who stand where the poorest does and want as much, at one go
            if free > 0 and most[i] == most[poorest] and vms[i] == held:
                vms[i] += 1
                free -= 1
    return vms


@kernel(_bisected)
def share_each(least: Any, most: Any, capacities: Any, order: Any, cuts: Any, vms: Any) -> None:
    """Share every cluster in whole VMs: those of ``order`` from ``cuts[j]`` on live on cluster j."""
    for j in range(len(capacities)):
        if cuts[j] < cuts[j + 1]:
            here = order[cuts[j] : cuts[j + 1]]
            vms[here] = _share_whole(least[here], most[here], capacities[j])


def _share_fluid(least: NDArray[Any], most: NDArray[Any], capacity: Any) -> NDArray[Any]:
    """Raise everybody to one level, but for those whose minimum is above it."""
    rising = np.ones(len(most), bool)
    while rising.any():
        level = min((capacity - least[~rising].sum()) / most[rising].sum(), 1)
        above = rising & (least > level * most)
        if not above.any():
            break
        rising &= ~above
    return np.where(rising, level * most, least) if rising.any() else least.copy()


def _share_one_by_one(least: NDArray[Any], most: NDArray[Any], capacity: Any) -> NDArray[Any]:
    """Give one VM at a time to the least fraction; ties: who wants fewest, then the first."""
    vms, users = least.copy(), range(len(most))
    for _ in range(int(capacity - sum(vms))):
        if waiting := [i for i in users if vms[i] < most[i]]:
            vms[min(waiting, key=lambda i: (vms[i] / most[i], most[i]))] += 1
    return vms


def share_out(least: NDArray[Any], most: NDArray[Any], capacity: Any, whole: bool = True) -> NDArray[Any]:
    """Share one cluster max-min fairly among its users: least <= vms <= most, fractions vms / most as equal as can be.

    Whole VMs (int64, or arrays of fractions with ``whole``) go one by one to the user with the least fraction (ties:
    who asked for fewer, whom a VM lifts more, then the first), which makes the sorted fractions lexicographically
    largest; amounts that are not whole are poured to one level. The minima must fit.

    Cost O(60 n), and O(n) more for each distinct request among those who share the last VMs; where VMs are not whole,
    O(n) for each time that minima are found above the level, n times at most; in fractions O(n) a VM.

    Examples
    --------
    >>> share_out(np.array([1, 6, 0]), np.array([10, 10, 20]), 15)
    array([3, 6, 6])
    """
    if least.dtype.kind == "i":
        return _share_whole(least, most, int(capacity))
    if least.dtype == object and whole:
        return _share_one_by_one(least, most, capacity)
    return _share_fluid(least, most, capacity)
