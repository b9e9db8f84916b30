"""TV-DRF: what each user would have run alone, in all readings, and the sharing coefficients that follow.

Alone a user runs its queue in order on its own parts of machines. A group of tasks is spread over the parts in
proportion to what each could still run of it, as the rule says. Machines of one size and one ownership count as one,
for their parts fill up together. T periods, n users, m resources and K machines everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairbook.kernels import INSIDE, kernel
from fairbook.model.inputs import FITS, LARGEST, FloatArray


@kernel(INSIDE, _nrt=False)
def _fit(demands: Any, s: int, i: int, sizes: Any, parts: Any, over: Any, room: Any, runs: Any) -> Any:
    """Give the tasks of group s of user i that fit into what is left of its parts, (m, K), and on each, into runs."""
    m, K = sizes.shape
    for k in range(K):
        runs[k] = np.inf
    for j in range(m):
        need = demands[s, i, j]
        for k in range(K if need > 0.0 else 0):
            runs[k] = min(runs[k], room[j, k] / need + over * sizes[j, k] * parts[i, k] / need)
    possible = runs[0]
    for k in range(1, K):
        possible += runs[k]
    return possible


@kernel(INSIDE, _nrt=False)
def _fill(demands: Any, s: int, i: int, sizes: Any, parts: Any, per_run: Any, near: Any, room: Any, runs: Any) -> None:
    """Take so many tasks of group s, of each that fits, off what is left; rounding leaves nothing over."""
    m, K = sizes.shape
    for j in range(m):
        for k in range(K):
            rest = room[j, k] - per_run * runs[k] * demands[s, i, j]
            room[j, k] = rest if rest > near * sizes[j, k] * parts[i, k] else rest - rest


def _spread(demands: Any, bounds: Any, machines: Any, *_: Any) -> float:
    """Steps of spreading all groups over all machines."""
    return 2.0 * demands.size * len(machines)


@kernel(_spread)
def alone_by_tasks(
    demands: FloatArray,
    bounds: FloatArray,
    machines: FloatArray,
    parts: FloatArray,
    waits: bool,
    whole: bool,
    near: Any,
    own: FloatArray,
) -> None:
    """Fill ``own`` (zeros, (T, n, m)) with what each user could run on its own parts (n, K), a queue in order.

    What is left of a part or of a group is none where it is at most ``near`` of all of it: a queue must not wait for
    what only rounding has left over. Whole tasks may overdraw a part by as much. Arrays may hold fractions.
    Cost O(T n K m) where nothing waits.
    """
    T, n, m = demands.shape
    sizes = machines.T.copy()  # neighbours, for vectors
    room, runs = sizes.copy(), machines[:, 0].copy()
    for i in range(n):
        head, left = 0, bounds[0, i]
        for t in range(T):
            if not waits:
                head = t
            if head == t:
                left = bounds[t, i]
            for j in range(m):
                for k in range(len(machines)):
                    room[j, k] = sizes[j, k] * parts[i, k]
            while head <= t:
                if left > 0.0:
                    possible = _fit(demands, head, i, sizes, parts, near * whole, room, runs)
                    some = possible if possible < left * (1 - near) else left
                    if whole:
                        some = some // 1
                    for j in range(m if some > 0.0 else 0):
                        own[t, i, j] += some * demands[head, i, j]
                    if some > 0.0 and head < t:  # after the last group nobody asks what is left
                        _fill(demands, head, i, sizes, parts, some / possible, near, room, runs)
                    left -= some
                    if left > near * bounds[head, i]:
                        break
                head += 1
                if head <= t:
                    left = bounds[head, i]


@kernel()
def add_parts(parts: Any, machines: Any, brought: Any) -> None:
    """Add what each user has of all machines to ``brought``, (n, m), machine by machine. Cost O(n K m)."""
    n, K = parts.shape
    for k in range(K):
        for i in range(n):
            for j in range(machines.shape[1]):
                brought[i, j] += parts[i, k] * machines[k, j]


def amounts_alone(
    demands: Any, bounds: Any, machines: Any, parts: Any, reading: str, waits: bool, near: Any = FITS
) -> Any:
    """Give what each would have had alone, (T, n, m)."""
    if reading != "resources":
        own, kinds = np.zeros_like(demands), (machines, parts) if demands.dtype == object else _alike(machines, parts)
        alone_by_tasks(demands, bounds, *kinds, waits, reading == "whole_bundles", near, own)
        return own
    own, brought = demands * np.minimum(bounds, LARGEST**2)[:, :, None], np.zeros_like(demands[0])
    add_parts(parts, machines, brought)
    backlog = np.zeros_like(brought)
    for t in range(len(own)):
        asked = own[t] + backlog
        own[t] = np.minimum(asked, brought)
        if waits:
            backlog = asked - own[t]
    return own


def _alike(pool: FloatArray, parts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Capacities and parts where machines of one size and one ownership count as one."""
    same = not parts.strides[1]  # the same part of every machine
    kinds, count = np.unique(pool + 0.0 if same else np.hstack([pool, parts.T]), axis=0, return_counts=True)
    m, K = pool.shape[1], len(kinds)
    parts = np.broadcast_to(parts[:, :1] if same else kinds[:, m:].T, (len(parts), K))
    return kinds[:, :m] * count[:, None], parts.copy()


@kernel(INSIDE, _nrt=False, forceinline=True)
def ratio(used: FloatArray, owned: FloatArray, i: int) -> float:
    """Sharing coefficient of one user."""
    least, some = np.inf, False
    for j in range(used.shape[1]):
        if owned[i, j] > 0.0:
            least = min(least, used[i, j] / owned[i, j])
        some |= used[i, j] > 0.0
    return 1.0 if least == np.inf and not some else least


@kernel()
def coefficients(amounts: FloatArray, own: FloatArray, memory: bool = True) -> FloatArray:
    """Sharing coefficients after each period, or of each period by itself, (T, n)."""
    T, n, m = amounts.shape
    used, owned, beta = np.zeros((n, m)), np.zeros((n, m)), np.empty((T, n))
    for t in range(T):
        if not memory:
            used[:], owned[:] = 0.0, 0.0
        for i in range(n):
            for j in range(m):
                used[i, j] += amounts[t, i, j]
                owned[i, j] += own[t, i, j]
            beta[t, i] = ratio(used, owned, i)
    return beta
