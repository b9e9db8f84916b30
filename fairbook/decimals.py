"""Max-min levels in decimals, with digits enough for weights and demands any number of decades apart.

What heavy users leave of a resource is a difference of large numbers, and a light user may live on it: with weights
10^12 apart doubles keep 4 digits of it. Here nothing is lost, at a thousand times the cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal, getcontext, localcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Up to so many users levels are worked out in decimals.
MOST = 1000

#: What a few roundings change, in parts of a number; and the doubt in a level, in parts of it, from which on doubles
#: lose too much. The doubt is bounded, not measured: results are far better than this.
UNIT, DOUBTFUL = 1e-15, 1e-10

decimals: Any = np.frompyfunc(Decimal, 1, 1)


@contextmanager
def enough_digits(m: int, *arrays: NDArray[np.float64]) -> Iterator[None]:
    """Compute with 40 digits, and for each of the m resources twice as many as these numbers have decades."""
    decades = sum(np.log10(some.max() / some.min()) for array in arrays if (some := array[array > 0]).size)
    with localcontext() as context:
        context.prec = 40 + 2 * m * int(np.ceil(decades))
        yield


def fill(
    demands: NDArray[np.float64],
    weights: NDArray[np.float64],
    capacities: NDArray[np.float64],
    max_tasks: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Give tasks and bottlenecks of weighted DRF; arguments as for ``fairbook.drf``, checked. Cost O(n m^2).

    From one resource that ends to the next: with users sorted by the levels at which their bounds stop them, what all
    use at each of these levels tells between which two the next resource ends.
    """
    n, m = demands.shape
    with enough_digits(m, demands, weights, capacities):
        near = 1 + Decimal(10) ** -(getcontext().prec // 2)  # levels this close are equal
        share, amounts = decimals(demands) / decimals(capacities), decimals(weights)
        per_task = share / amounts * amounts.sum(axis=0) if amounts.ndim == 2 else share / amounts[:, None]
        rate = 1 / per_task.max(axis=1)
        need = share * rate[:, None]
        cap = decimals(max_tasks) / rate
        tasks = decimals(max_tasks)
        stops = np.full(n, -1, dtype=np.int64)
        slack, zero = decimals(np.ones(m)), decimals(np.zeros(m))
        rising = np.argsort(cap, kind="stable")
        while len(rising):
            own, bound = need[rising], cap[rising][np.isfinite(max_tasks[rising])]
            f = len(bound)
            at_bound = np.vstack([zero, (own[:f] * bound[:, None]).cumsum(axis=0)])
            rest = own[::-1].cumsum(axis=0)[::-1]
            over = (at_bound[:f] + rest[:f] * bound[:, None] > slack * near).any(axis=1)
            k = int(over.argmax()) if over.any() else f  # so many reach their bounds before a resource ends
            slack = slack - at_bound[k]
            rising = rising[k:]
            if not len(rising):
                break
            room = np.full(m, Decimal("Infinity"))
            needed = rest[k] > 0
            room[needed] = slack[needed] / rest[k][needed]
            level = room.min()
            ends = (need[rising] > 0) & (room <= level * near)
            stopped = ends.any(axis=1)
            stops[rising[stopped]] = ends[stopped].argmax(axis=1)
            tasks[rising[stopped]] = rate[rising[stopped]] * level
            slack = np.maximum(slack - (need[rising[stopped]] * level).sum(axis=0), zero)
            rising = rising[~stopped]
        return tasks.astype(np.float64), stops


def lowest_levels(
    demands: NDArray[np.float64], weights: NDArray[np.float64], irrevocable: bool = True
) -> NDArray[np.float64]:
    """Give M^1, ..., M^n of DMFA-SRQ: raise the newcomer, and whoever it reaches with it, until a resource ends.

    Where allocations may shrink, it reaches everybody. Cost O(n m).
    """
    n, m = demands.shape
    with enough_digits(m, demands, weights):
        total = Decimal(0)
        groups: list[tuple[Any, NDArray[Any]]] = []  # level and needs per level, the highest first
        held = [decimals(np.zeros(m))]  # by all groups up to each
        levels = np.empty(n)
        rates = decimals(demands)
        rates = rates * (decimals(weights) / rates.max(axis=1))[:, None]
        for k, own in enumerate(rates):
            total += Decimal(float(weights[k]))
            while True:
                some = own > 0
                level = ((total - held[-1][some]) / own[some]).min()
                if not groups or (irrevocable and level < groups[-1][0]):
                    break
                own = own + groups.pop()[1]
                held.pop()
            groups.append((level, own))
            held.append(held[-1] + own * level)
            levels[k] = level
        return levels
