"""TV-DRF in whole tasks: Algorithm 1 over all periods, compiled.

Users stand in a tournament by their value, beta in the first phase of a period and G in the second: its winner is whom
a look at all of them would give, for the task handed out changes the value of one user alone. Running tasks never
lowers beta, so nobody comes back to the first phase. The nearest machine is that of a scan (``nearest_machine.py``).
What is left of a machine is a sum of two doubles, so that a million subtractions leave no error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairbook.kernels import INSIDE, kernel
from fairbook.mechanisms.placing.nearest_machine import build, move, nearest, tired
from fairbook.mechanisms.tv_drf.alone import ratio
from fairbook.model.inputs import FITS, IDLE, NOTHING, OWN, TIED, UNSET, FloatArray

#: Tasks that the heuristic places between two looks at the keyboard: some milliseconds, with 10^5 machines a second.
BLOCK = 1 << 13


class Users(NamedTuple):
    """Accounts and queues of n users, m resources."""

    #: By all groups of tasks before the one being served, (n, m).
    used: FloatArray
    #: With what has run of that group, (n, m).
    now: FloatArray
    owned: FloatArray
    #: G, (n,), before that group.
    level: FloatArray
    #: G of what is no longer counted.
    past: FloatArray
    #: The period that submitted the group being served.
    head: NDArray[np.int64]
    #: Whether the next five are those of that group.
    ready: NDArray[np.bool_]
    #: One task of it, (n, m).
    need: FloatArray
    #: The same by its entry for the first resource that it needs.
    shape: FloatArray
    #: Place of that resource among all that lead.
    lead: NDArray[np.int64]
    #: What one task of it adds to G.
    per_task: FloatArray
    #: Tasks of it run in this period.
    run: FloatArray
    #: Tasks left of it.
    rest: FloatArray
    #: Tasks left of all groups.
    waiting: FloatArray
    #: By which users stand in the tournament, infinite for who does not, (s,).
    key: FloatArray
    #: Winners, the places themselves from s on, (2 s,); s a power of two.
    tree: NDArray[np.int64]


def as_users(n: int, m: int) -> Users:
    """Give users before the first period."""
    seats = 1 << (n - 1).bit_length()
    used, now, owned, need, shape = np.zeros((5, n, m))
    level, past, per_task, run, rest, waiting = np.zeros((6, n))
    head, lead = np.zeros((2, n), np.int64)
    tree, ready, key = np.arange(-seats, seats), np.zeros(n, np.bool_), np.full(seats, np.inf)
    for node in range(seats - 1, 0, -1):
        tree[node] = tree[2 * node]
    return Users(used, now, owned, level, past, head, ready, need, shape, lead, per_task, run, rest, waiting, key, tree)


@kernel(INSIDE, _nrt=False, forceinline=True)
def _lift(users: Any, place: int) -> None:
    """Replay the games of one place after its key has changed; the first one wins among equals. Cost O(log s)."""
    tree, key = users.tree, users.key
    node = (len(key) + place) // 2
    while node >= 1:
        a, b = tree[2 * node], tree[2 * node + 1]
        tree[node] = b if key[b] * (1.0 + TIED) < key[a] else a
        node //= 2


@kernel(INSIDE, _nrt=False)
def _enter(users: Any, i: int, takes_part: bool, by_beta: bool) -> None:
    """Begin a phase for one user: by beta only who is below 1 stands in the tournament."""
    users.key[i], users.run[i], users.ready[i] = np.inf, 0.0, False
    if takes_part:
        value = ratio(users.now, users.owned, i) if by_beta else users.level[i]
        if not by_beta or value < 1.0 - FITS:
            users.key[i] = value
    _lift(users, i)


@kernel(INSIDE)
def _empty(stock: Any, at: Any) -> None:
    """Begin a period: nothing is on any machine."""
    machines, left, low, total = stock
    for k in range(len(left)):
        for j in range(len(total)):
            size = machines[k, j]
            left[k, j], low[k, j] = size, 0.0
            at.free[k, j], at.room[k, j] = size, size + size * FITS
    build(at)


@kernel(INSIDE, _nrt=False)
def _submit(users: Any, i: int, t: int, bounds: Any, own: Any, waits: bool, memory: bool) -> int:
    """Begin a period for one user; tell whether it has tasks."""
    if not memory:
        users.past[i] += users.level[i]
        users.level[i] = 0.0
    for j in range(users.now.shape[1]):
        if not memory:
            users.used[i, j] = users.now[i, j] = users.owned[i, j] = 0.0
        users.owned[i, j] += own[t, i, j]
    if not waits:
        users.head[i], users.waiting[i] = t, 0.0
    if users.head[i] == t:
        users.rest[i] = bounds[t, i]
    users.waiting[i] += bounds[t, i]
    return UNSET if users.waiting[i] > 0.0 else IDLE


@kernel(INSIDE, _nrt=False)
def _next_group(users: Any, i: int, demands: Any, bounds: Any, weights: Any, total: Any, leads: Any) -> None:
    """Go to the next group of tasks that a user has left."""
    while users.rest[i] <= 0.0:
        users.head[i] += 1
        users.rest[i] = bounds[users.head[i], i]
    dominant, first, m = 0.0, -1, len(total)
    for j in range(m):
        users.need[i, j] = demands[users.head[i], i, j]
        dominant = max(dominant, users.need[i, j] * (1.0 / total[j]))
        if first < 0 and users.need[i, j] > 0.0:
            first = j
    for j in range(m):
        users.shape[i, j] = users.need[i, j] / users.need[i, first]
    for g in range(len(leads)):
        if leads[g] == first:
            users.lead[i] = g
    users.per_task[i] = dominant / weights[i]
    users.ready[i] = True


@kernel(INSIDE, _nrt=False, forceinline=True)
def _take(stock: Any, at: Any, k: int, need: Any, i: int) -> None:
    """Put a task of user i on machine k."""
    machines, left, low, _ = stock
    for j in range(need.shape[1]):  # Knuth's exact difference
        difference = left[k, j] - need[i, j]
        back = difference - left[k, j]
        low[k, j] += (left[k, j] - (difference - back)) - (need[i, j] + back)
        left[k, j] = difference
        at.free[k, j] = left[k, j] + low[k, j]
        at.room[k, j] = at.free[k, j] + machines[k, j] * FITS
    move(at, k)
    if tired(at):
        build(at)


@kernel(INSIDE, _nrt=False)
def _missing(stock: Any, need: Any, i: int) -> int:
    """Name the resource of which the pool as a whole has less left than the next task needs, or NOTHING."""
    _, left, _, total = stock
    for j in range(len(total)):
        some = 0.0
        for k in range(len(left)):
            some += left[k, j]
        if some < need[i, j] - total[j] * FITS:
            return j
    return NOTHING


@kernel(INSIDE, _nrt=False, forceinline=True)
def _write_down(users: Any, i: int, t: int, amounts: Any) -> None:
    """Add what user i has run of the group being served to its accounts."""
    for j in range(users.need.shape[1]):
        users.used[i, j] += users.run[i] * users.need[i, j]
        users.now[i, j] = users.used[i, j]
        amounts[t, i, j] += users.run[i] * users.need[i, j]
    users.level[i] += users.run[i] * users.per_task[i]
    users.run[i], users.ready[i] = 0.0, False


@kernel(INSIDE, _nrt=False, forceinline=True)
def _count(users: Any, i: int, t: int, by_beta: bool, amounts: Any) -> None:
    """Count a task that user i runs, and give it its new place."""
    users.run[i] += 1.0
    users.rest[i] -= 1.0
    users.waiting[i] -= 1.0
    value = users.level[i] + users.run[i] * users.per_task[i]
    leaves = users.waiting[i] <= 0.0
    if by_beta:
        for j in range(users.need.shape[1]):
            users.now[i, j] = users.used[i, j] + users.run[i] * users.need[i, j]
        value = ratio(users.now, users.owned, i)
        leaves |= value >= 1.0 - FITS
    if leaves or users.rest[i] <= 0.0:
        _write_down(users, i, t, amounts)
    users.key[i] = np.inf if leaves else value


def _turns(demands: FloatArray, bounds: FloatArray, machines: FloatArray, *_: Any) -> float:
    """Steps of the heuristic: at most all machines for each task that the pool could hold, in whichever period."""
    most = np.where(demands > 0, machines.sum(axis=0) / np.where(demands > 0, demands, 1.0), np.inf).min(axis=2)
    count = np.minimum(bounds, len(demands) * most).sum()
    return 2.0 * (demands.size + count * machines.size + len(demands) * machines.size)


@kernel(_turns)
def hand_out(
    demands: FloatArray,
    bounds: FloatArray,
    machines: FloatArray,
    weights: FloatArray,
    own: FloatArray,
    waits: bool,
    memory: bool,
    users: Any,
    stock: Any,
    at: Any,
    results: Any,
) -> Iterator[None]:
    """Run Algorithm 1 over all periods; a generator that pauses now and then.

    ``stock``: the machines, (K, m), what is left on them as the sum of two arrays, and the pool, (m,). ``at`` are the
    same machines for ``nearest_machine.py``. ``results`` (zeros) are tasks, amounts, use of machines, G, tasks left
    over, what stops each user, and tasks on each machine, where there is room for these.
    """
    tasks, amounts, machine_use, cumulative, unserved, stops, placement = results
    _, left, low, total = stock
    (T, n, m), K, placed = demands.shape, len(machines), 0
    for t in range(T):
        _empty(stock, at)
        for i in range(n):
            stops[t, i] = _submit(users, i, t, bounds, own, waits, memory)
        for phase in range(2):
            for i in range(n):
                _enter(users, i, stops[t, i] == UNSET, phase == 0)
            i = users.tree[1]
            while users.key[i] < np.inf:
                if not users.ready[i]:
                    _next_group(users, i, demands, bounds, weights, total, at.leads)
                k = nearest(at, users.need, users.shape, i, users.lead[i])
                if k >= 0:
                    _take(stock, at, k, users.need, i)
                    _count(users, i, t, phase == 0, amounts)
                    tasks[t, i] += 1.0
                    if len(placement) > 0:
                        placement[t, i, k] += 1
                    placed += 1
                    if placed % BLOCK == 0:
                        yield
                else:
                    stops[t, i] = _missing(stock, users.need, i)
                    _write_down(users, i, t, amounts)
                    users.key[i] = np.inf
                if users.waiting[i] <= 0.0:
                    stops[t, i] = OWN
                _lift(users, i)
                i = users.tree[1]
        for i in range(n):
            cumulative[t, i], unserved[t, i] = users.past[i] + users.level[i], users.waiting[i]
        for k in range(K):
            for j in range(m):
                machine_use[t, k, j] = (machines[k, j] - left[k, j]) - low[k, j]
