"""Fill machines with whole tasks one by one: who comes next, and which machine takes the task.

The engine of GDRF, of DRFH's heuristics and of the stand-in for MDRF. They differ in two rules only.

*Who*: the user with the least of something so far (amounts, dominant share), ties by a fixed rank; one at a time, or a
queue of several slots that is then served in order of rank. A user whose task fits nowhere leaves for good: machines
only fill up.

*Where*: among the machines with room, those of the user's best level (levels say how well types match), and of these
the one with the largest key, ties by the lowest number. Three cases:

* The key belongs to the machine alone (f of GDRF, first fit). Machines are the leaves of a tournament whose nodes keep,
  for each distinct demand (beyond 16, for each set of similar ones), the largest key below of a machine with room, and
  the most that is free of each resource. A placement changes one leaf and what is above it. When a user leaves, and
  searches have looked at so many nodes in vain that it costs as much, the users left are sorted into up to 32 sets and
  all is built anew.
* The key is a distance between what the task needs and what is free (best fit, entropy): see
  :mod:`~fairbook.mechanisms.engines.nearest`.
* The key depends on the user in another way (f with the task in it). Each user has a tournament of its own over the
  machines; a placement changes one leaf in each of them, which is caught up with when that user's turn comes.

Sums on a machine are kept so that whole-number demands give exact amounts and the same key in whatever order tasks
came: ties are then ties, not accidents of rounding.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.kernels import ALWAYS, INSIDE, kernel
from fairbook.mechanisms.engines.nearest import DISTANCE, ENTROPY, PATIENCE, as_machines, build, move, nearest
from fairbook.model.inputs import FloatArray
from fairbook.model.placement import FITS, MOST_TASKS, Cell, Placement
from fairbook.progress import bar

Key = Literal["first", "fairness", "fairness_empty_last", "fairness_after", "best_fit", "entropy"]

_SHARED = {"first": 0, "fairness": 1, "fairness_empty_last": 2}
_NEAREST = {"best_fit": DISTANCE, "entropy": ENTROPY}
_BLOCK = 1 << 17  # placements between two looks at the keyboard, about a tenth of a second
_KINDS = 16
_MOST_SHARED, _MOST_OWN = 2**27, 3 * 10**8  # of 8 and of 16 bytes each
_LAST = -1e300  # a key below all others that still counts

# where the running numbers are: tasks placed, users in the heap, place in the order of the round, tasks to pause at,
# nodes looked at in vain less those that there is patience for
_PLACED, _WAITING, _AT, _STOP, _VAIN = 0, 1, 2, 3, 4
_NOBODY, _PAUSE = -1, -2


# ------------------------------------------------------------------------------------------------ who comes next


@kernel(INSIDE, _nrt=False)
def _sink(heap: Any, size: int, at: int, held: Any, rank: Any) -> None:
    """Restore the heap of users below one place: least held first, then rank."""
    user = heap[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
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


@kernel(INSIDE, _nrt=False)
def _next(
    numbers: Any, bounds: Any, unit: Any, per: Any, rank: Any, heap: Any, slots: Any, held: Any, gone: Any
) -> int:
    """Give a slot to the user with the least and return it, or _NOBODY."""
    while numbers[_WAITING] > 0:
        i = heap[0]
        done = gone[i] or slots[i] >= bounds[i]
        if done:
            numbers[_WAITING] -= 1
            heap[0] = heap[numbers[_WAITING]]
        else:
            slots[i] += 1
            held[i] = slots[i] * unit[i] / per[i]  # of whole numbers this is rounded once: equal amounts are equal
        _sink(heap, numbers[_WAITING], 0, held, rank)
        if not done:
            return i
    return _NOBODY


@kernel(INSIDE, _nrt=False)
def _turn(
    numbers: Any,
    bounds: Any,
    unit: Any,
    per: Any,
    rank: Any,
    order: Any,
    per_round: int,
    heap: Any,
    slots: Any,
    held: Any,
    gone: Any,
    grants: Any,
) -> int:
    """Give the user whose task is placed next, _NOBODY at the end, or _PAUSE where it is time for a break."""
    if numbers[_PLACED] == numbers[_STOP]:
        return _PAUSE
    if per_round == 1:
        return _next(numbers, bounds, unit, per, rank, heap, slots, held, gone)
    while True:
        while numbers[_AT] < len(order):
            i = order[numbers[_AT]]
            if grants[i] > 0 and not gone[i]:
                grants[i] -= 1
                return i
            grants[i] = 0
            numbers[_AT] += 1
        for _ in range(per_round):  # a new round
            i = _next(numbers, bounds, unit, per, rank, heap, slots, held, gone)
            if i < 0:
                break
            grants[i] += 1
            numbers[_AT] = 0
        if numbers[_AT] > 0:
            return _NOBODY


# ------------------------------------------------------------------------------------------------ which machine


@kernel(INSIDE, _nrt=False)
def _log_fairness(used: Any, stakes: Any, size: float, totals: Any, empty: float) -> float:
    """Logarithm of (8) on one machine: w log S."""
    w, s = 0.0, 0.0
    for r in range(len(totals)):
        w += used[r]
        if stakes[r] > 0.0:
            s += stakes[r] / totals[r]
    if s == 0.0:
        return empty
    return w / size * np.log(s)


@kernel(INSIDE, _nrt=False)
def _renew(tree: Any, base: int, node: int, key: float, needs: Any, limit: Any, used: Any) -> None:
    """Give a leaf what is free and its new key, for the needs that still fit; bring the nodes above it up to date."""
    for r in range(len(used)):
        tree[base + node, len(needs) + r] = limit[r] - used[r]
    for b in range(len(needs)):
        if tree[base + node, b] > -np.inf:  # once too full, always too full
            tree[base + node, b] = key
            for r in range(len(used)):
                if limit[r] - used[r] < needs[b, r]:
                    tree[base + node, b] = -np.inf
                    break
    node >>= 1
    while node:
        left, right, here = tree[base + 2 * node], tree[base + 2 * node + 1], tree[base + node]
        changed = False
        for b in range(len(here)):
            larger = max(left[b], right[b])
            changed |= larger != here[b]
            here[b] = larger
        if not changed:
            break
        node >>= 1


@kernel(INSIDE, _nrt=False)
def _search(
    numbers: Any,
    tree: Any,
    lowest: Any,
    base: int,
    kind: int,
    need: Any,
    best: float,
    machine: int,
    stack: Any,
) -> Any:
    """Find the machine with room and the largest key, ties by the lowest number; better than the one given, or that."""
    leaves = lowest[base]  # the place of a node that does not exist keeps their number
    m = len(need)
    free = tree.shape[1] - m
    stack[0] = 1
    top = 1
    while top:
        top -= 1
        node = stack[top]
        while True:
            here = base + node
            key = tree[here, kind]
            if key == -np.inf or key < best or (key == best and lowest[here] >= machine):
                break
            fits = True
            for r in range(m):  # one of several similar needs may be larger than what the kind knows
                fits = fits and tree[here, free + r] >= need[r]
            if not fits:
                numbers[_VAIN] += 1
                break
            if node >= leaves:
                best, machine = key, lowest[here]
                break
            node *= 2  # the better branch is looked at first
            left, right = tree[base + node, kind], tree[base + node + 1, kind]
            if min(left, right) > -np.inf:
                stack[top] = node + (left >= right)
                top += 1
            node += left < right
    return best, machine


@kernel(ALWAYS)
def _fill_shared(
    numbers: Any,
    log_user: Any,
    log_machine: Any,
    demands: Any,
    bounds: Any,
    unit: Any,
    per: Any,
    rank: Any,
    order: Any,
    per_round: int,
    heap: Any,
    slots: Any,
    held: Any,
    gone: Any,
    grants: Any,
    totals: Any,
    dominant: Any,
    limit: Any,
    size: Any,
    used: Any,
    stakes: Any,
    group: Any,
    level: Any,
    levels: int,
    leaf: Any,
    bases: Any,
    tree: Any,
    lowest: Any,
    needs: Any,
    kinds: Any,
    keys: Any,
    kind: int,
) -> bool:
    """Place tasks, keys shared by all users, until a break is due (False) or nobody can have more (True)."""
    m = demands.shape[1]
    stack = np.empty(130, np.int64)
    none = np.iinfo(np.int32).max
    empty = _LAST if kind == 2 else 0.0
    while True:
        i = _turn(numbers, bounds, unit, per, rank, order, per_round, heap, slots, held, gone, grants)
        if i < 0:
            return i == _NOBODY
        machine = none
        wanted = 0
        while machine == none and wanted < levels:
            best = -np.inf
            for g in range(len(bases)):
                if level[i, g] == wanted:
                    best, machine = _search(numbers, tree, lowest, bases[g], kinds[i], demands[i], best, machine, stack)
            wanted += 1
        if machine == none:
            gone[i] = True
            if numbers[_VAIN] >= 0:
                return False
            continue
        log_user[numbers[_PLACED]] = i
        log_machine[numbers[_PLACED]] = machine
        numbers[_PLACED] += 1
        for r in range(m):
            used[machine, r] += demands[i, r]
        if kind:
            stakes[machine, dominant[i]] += demands[i, dominant[i]]
            keys[machine] = _log_fairness(used[machine], stakes[machine], size[machine], totals, empty)
        _renew(tree, bases[group[machine]], leaf[machine], keys[machine], needs, limit[machine], used[machine])


@kernel(INSIDE, _nrt=False)
def _own_key(
    i: int, j: int, demands: Any, dominant: Any, used: Any, stakes: Any, limit: Any, size: Any, totals: Any
) -> float:
    """Give (8) of machine j, in logarithms and with a task of user i on it; -inf where the task does not fit."""
    m = len(totals)
    for r in range(m):
        if limit[j, r] - used[j, r] < demands[i, r]:
            return -np.inf
    w, s = 0.0, 0.0
    for r in range(m):
        w += used[j, r] + demands[i, r]
        stake = stakes[j, r] + (demands[i, r] if r == dominant[i] else 0.0)
        if stake > 0.0:
            s += stake / totals[r]
    return w / size[j] * np.log(s)


@kernel(INSIDE, _nrt=False)
def _beats(a: int, b: int, keys: Any, level: Any, group: Any, levels: int) -> bool:
    """Tell whether machine a comes before machine b for one user."""
    if levels > 1 and keys[a] > -np.inf and keys[b] > -np.inf and level[group[a]] != level[group[b]]:
        return level[group[a]] < level[group[b]]
    return keys[a] > keys[b] or (keys[a] == keys[b] and a < b)


@kernel(ALWAYS)
def _fill_own(
    numbers: Any,
    log_user: Any,
    log_machine: Any,
    demands: Any,
    bounds: Any,
    unit: Any,
    per: Any,
    rank: Any,
    order: Any,
    per_round: int,
    heap: Any,
    slots: Any,
    held: Any,
    gone: Any,
    grants: Any,
    totals: Any,
    dominant: Any,
    limit: Any,
    size: Any,
    used: Any,
    stakes: Any,
    group: Any,
    level: Any,
    levels: int,
    seen: Any,
    last: Any,
    keys: Any,
    winners: Any,
) -> bool:
    """Place tasks, each user with keys of its own, until a break is due (False) or nobody can have more (True)."""
    N, m = used.shape
    while True:
        i = _turn(numbers, bounds, unit, per, rank, order, per_round, heap, slots, held, gone, grants)
        if i < 0:
            return i == _NOBODY
        mine, top = keys[i], winners[i]
        if seen[i] < 0 or numbers[_PLACED] - seen[i] > N:  # cheaper to build anew than to catch up
            for j in range(N):
                top[N + j] = j
                mine[j] = -np.inf
                if level[i, group[j]] < levels:
                    mine[j] = _own_key(i, j, demands, dominant, used, stakes, limit, size, totals)
            for node in range(N - 1, 0, -1):
                a, b = top[2 * node], top[2 * node + 1]
                top[node] = a if _beats(a, b, mine, level[i], group, levels) else b
        else:
            for t in range(seen[i], numbers[_PLACED]):
                j = log_machine[t]
                if last[j] != t or mine[j] == -np.inf:  # it comes again below; once too full, always too full
                    continue
                mine[j] = _own_key(i, j, demands, dominant, used, stakes, limit, size, totals)
                node = (N + j) >> 1
                while node:
                    a, b = top[2 * node], top[2 * node + 1]
                    winner = a if _beats(a, b, mine, level[i], group, levels) else b
                    if top[node] == winner and winner != j:
                        break
                    top[node] = winner
                    node >>= 1
        seen[i] = numbers[_PLACED]
        machine = top[1]
        if mine[machine] == -np.inf:
            gone[i] = True
            continue
        log_user[numbers[_PLACED]] = i
        log_machine[numbers[_PLACED]] = machine
        last[machine] = numbers[_PLACED]
        numbers[_PLACED] += 1
        for r in range(m):
            used[machine, r] += demands[i, r]
        stakes[machine, dominant[i]] += demands[i, dominant[i]]


@kernel(ALWAYS, _nrt=False)
def _fill_nearest(
    numbers: Any,
    log_user: Any,
    log_machine: Any,
    demands: Any,
    bounds: Any,
    unit: Any,
    per: Any,
    rank: Any,
    order: Any,
    per_round: int,
    heap: Any,
    slots: Any,
    held: Any,
    gone: Any,
    grants: Any,
    capacity: Any,
    limit: Any,
    used: Any,
    at: Any,
    form: Any,
    lead: Any,
) -> bool:
    """Place tasks on the machines that suit best, until a break is due (False) or nobody can have more (True)."""
    n, m = demands.shape
    free, room, least, work = at.free, at.room, at.least, at.work
    while True:
        i = _turn(numbers, bounds, unit, per, rank, order, per_round, heap, slots, held, gone, grants)
        if i < 0:
            return i == _NOBODY
        if work[0] > PATIENCE * len(used):
            least[:] = np.inf
            for k in range(n):
                if not gone[k]:
                    for r in range(m):
                        least[r] = min(least[r], demands[k, r])
            build(at)
        machine = nearest(at, demands, form, i, lead[i])
        if machine < 0:
            gone[i] = True
            continue
        log_user[numbers[_PLACED]] = i
        log_machine[numbers[_PLACED]] = machine
        numbers[_PLACED] += 1
        for r in range(m):
            used[machine, r] += demands[i, r]
            free[machine, r] = max(capacity[machine, r] - used[machine, r], 0.0)
            room[machine, r] = limit[machine, r] - used[machine, r]
        move(at, machine)


# ------------------------------------------------------------------------------------------------- the whole run


def _representatives(demands: FloatArray, most: int) -> tuple[FloatArray, NDArray[np.int64]]:
    """Sort users into at most so many kinds: what the least demanding of each needs, and the kind of each user.

    A machine that has no room for the needs of a kind has none for any user of it.
    """
    rows, which = np.unique(demands, axis=0, return_inverse=True)
    if len(rows) <= most:
        return rows, which.reshape(-1)
    parts = [np.arange(len(rows))]
    while len(parts) < most and max(map(len, parts)) > 1:
        part = parts.pop(max(range(len(parts)), key=lambda p: len(parts[p])))
        spread = np.ptp(np.log(np.where(rows[part] > 0, rows[part], rows[part].max() * 1e-9)), axis=0)
        part = part[np.argsort(rows[part, spread.argmax()], kind="stable")]
        parts += [part[: len(part) // 2], part[len(part) // 2 :]]
    kind = np.empty(len(rows), np.int64)
    for number, part in enumerate(parts):
        kind[part] = number
    return np.array([rows[part].min(axis=0) for part in parts]), kind[which.reshape(-1)]


def _tournaments(group: NDArray[np.int64], keys: FloatArray, room: FloatArray, needs: FloatArray) -> tuple[Any, ...]:
    """Build the tournament of each group of machines from key and room of each of them, for needs (kinds, m)."""
    bases, lows = [], []
    leaf = np.empty(len(group), np.int64)
    members = [np.flatnonzero(group == g) for g in range(int(group.max()) + 1)]
    sizes = [1 << (len(one) - 1).bit_length() for one in members]
    kinds = len(needs)
    tree = np.full((2 * sum(sizes), kinds + room.shape[1]), -np.inf)
    offset = 0
    for one, leaves in zip(members, sizes, strict=True):
        leaf[one] = leaves + np.arange(len(one))
        part, low = tree[offset : offset + 2 * leaves], np.full(2 * leaves, np.iinfo(np.int32).max, np.int64)
        fits = np.logical_and.reduce([room[one, r, None] >= needs[:, r] for r in range(room.shape[1])])
        part[leaves : leaves + len(one), :kinds] = np.where(fits, keys[one, None], -np.inf)
        part[leaves : leaves + len(one), kinds:] = room[one]
        low[leaves : leaves + len(one)] = one
        width = leaves
        while width > 1:  # level by level upwards
            half = width // 2
            np.maximum(part[width : 2 * width : 2], part[width + 1 : 2 * width : 2], out=part[half:width])
            np.minimum(low[width : 2 * width : 2], low[width + 1 : 2 * width : 2], out=low[half:width])
            width = half
        low[0] = leaves
        bases.append(offset)
        lows.append(low)
        offset += 2 * leaves
    return leaf, np.array(bases), tree, np.concatenate(lows)


def refuse_too_many(cell: Cell) -> None:
    """Raise InvalidInput where more whole tasks may fit the machines than can be placed one by one.

    Cost O(n m), and O(n K m) where that many would fit if the machines were one.
    """
    needs = np.where(cell.demands > 0, cell.demands, np.inf)
    with np.errstate(divide="ignore", over="ignore"):
        runs = np.where(np.isfinite(needs), cell.totals / needs, np.inf).min(axis=1)
        if min(np.minimum(runs, cell.max_tasks).sum(), runs.max()) <= MOST_TASKS / 2:  # far from it, however rounded
            return
        each = [np.where(np.isfinite(need), cell.machines / need, np.inf).min(axis=1) for need in needs]
    runs = np.array([one @ cell.machine_counts for one in each])
    asked = np.minimum(runs, cell.max_tasks)
    if min(asked.sum(), runs.max()) > MOST_TASKS:
        raise InvalidInput(
            "demands",
            f"must be large enough that at most {MOST_TASKS:g} whole tasks fit the machines",
            f"up to {min(asked.sum(), runs.max()):.3g} tasks",
        )


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
        Where too many tasks may fit, or each user would rank too many machines.

    Notes
    -----
    Cost, P placements: shared keys O(N b + P (log n + b m + (b + m) log N)) and O(N (b + m)) memory for b different
    demands, up to 16, in the end 32 (and N b up to 3 10^7; more are sorted into so many kinds, and some nodes looked
    at in vain); nearest machines O(N (m + log N) + P (log n + m log N)) where what is free is spread evenly, and O(N m)
    memory; ``"fairness_after"`` O(n N m + P n (m + log N)) and O(n N) memory.
    """
    n, m = cell.demands.shape
    k = cell.machine_class
    N = len(k)
    refuse_too_many(cell)
    if key == "fairness_after" and n * N > _MOST_OWN:
        raise InvalidInput(
            "machine_counts",
            f"must be fewer where each user ranks the machines by itself: users times machines at most {_MOST_OWN:g}",
            f"{n} times {N}",
        )
    # one layout for all callers: each other one would be compiled anew
    unit, per = np.ascontiguousarray(unit), np.ascontiguousarray(per)
    rank, dominant, level = (np.ascontiguousarray(one) for one in (rank, dominant, level))
    demands, totals, capacity = cell.demands.copy(), cell.totals, cell.machines[k]
    bounds = np.minimum(cell.max_tasks, 2.0**62).astype(np.int64)
    order = np.argsort(rank)  # of users who hold nothing yet this is a heap, too
    limit = capacity * (1 + FITS)
    used, stakes = np.zeros((N, m)), np.zeros((N, m))
    numbers = np.array([0, n, n, 0, 0], dtype=np.int64)
    queue = (order.copy(), np.zeros(n, np.int64), np.zeros(n), np.zeros(n, np.bool_), np.zeros(n, np.int64))
    turns = (demands, bounds, unit, per, rank, order, per_round, *queue)
    common: tuple[Any, ...] = (
        *turns,
        totals,
        dominant,
        limit,
        capacity.sum(axis=1),
        used,
        stakes,
        group,
        level,
        levels,
    )
    rest: tuple[Any, ...]
    if key in _SHARED:
        keys, kinds = np.full(N, _LAST if key == "fairness_empty_last" else 0.0), np.zeros(n, np.int64)
        most, step = _KINDS, _fill_shared
    elif key in _NEAREST:
        first = (demands > 0).argmax(axis=1)
        leads, lead = np.unique(first, return_inverse=True)
        form = (
            demands / demands[np.arange(n), first][:, None]
            if key == "best_fit"
            else cell.shares / cell.shares.sum(axis=1, keepdims=True)
        )
        scale = np.divide(totals[leads][:, None], totals, out=np.zeros((len(leads), m)), where=totals > 0)
        sizes = np.ascontiguousarray(np.sort(demands, axis=0).T)
        at = as_machines(capacity.copy(), limit.copy(), sizes, demands.min(axis=0), leads, scale, _NEAREST[key])
        common, rest = turns, (capacity, limit, used, at, form, lead)
        step = _fill_nearest
    else:
        rest = (np.full(n, -1, np.int64), np.full(N, -1, np.int64), np.empty((n, N)), np.empty((n, 2 * N), np.int32))
        step = _fill_own
    users, machines = np.empty(_BLOCK, np.int32), np.empty(_BLOCK, np.int32)
    with bar(shown=progress, unit=" tasks", desc=mechanism) as placing:
        while True:
            left = ~queue[3]
            if key in _SHARED and numbers[_VAIN] >= 0 and left.any():  # at first, and where kinds are too coarse
                rest = ()  # the old tree goes before the new one comes
                needs, kinds[left] = _representatives(demands[left], int(np.clip(_MOST_SHARED // (4 * N), 1, most)))
                rest = (*_tournaments(group, keys, limit - used, needs), needs, kinds, keys, _SHARED[key])
                numbers[_VAIN], most = -PATIENCE * N, 2 * _KINDS
            numbers[_STOP] = numbers[_PLACED] + _BLOCK
            if numbers[_STOP] > len(users):
                users, machines = np.concatenate([users, users]), np.concatenate([machines, machines])
            done = step(numbers, users, machines, *common, *rest)
            placing.update(int(numbers[_PLACED]) - placing.n)
            if done:
                break
    placed = int(numbers[_PLACED])
    return Placement(cell, users[:placed].copy(), machines[:placed].copy(), mechanism, full)
