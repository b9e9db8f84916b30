"""The machine with room and the largest key, where the key belongs to the machine: the engine of GDRF.

Machines are the leaves of a tournament. A node keeps, for each distinct demand (beyond 16, for each set of similar
ones), the largest key below it of a machine with room for one of them, and the most that is free of each resource. A
search follows the better branch and leaves out those that hold nothing better; ties go to the lowest number. So it
finds what a scan of all machines finds. A task placed changes one leaf and what is above it. Where all keys are equal,
it finds the first machine with room. Machines with room for nobody are in nobody's way, if there are at
most 1024 distinct demands.

Machines of one type have a tournament of their own; a user asks those that suit it best, then the next. With
the task counted in, f is another for each user: then all machines are looked at.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairbook.kernels import INSIDE, kernel
from fairbook.mechanisms.placing.whose_turn import NOBODY, Turns, put, tasks_to_come, turn
from fairbook.model.inputs import TIED, FloatArray

LAST = -1e300  # a key below all others that still counts

KINDS = 16
ROWS = 1024  # distinct demands that are looked at one by one
MOST_SHARED = 2**25  # kinds times machines


class Types(NamedTuple):
    """Groups of machines, and how well they suit users."""

    #: Group of each machine, shape (N,).
    group: NDArray[np.int64]
    #: How badly a group suits a user, 0 best, shape (n, groups).
    misfit: NDArray[np.int64]
    #: From here on a group does not suit at all.
    unsuited: int


class Fairness(NamedTuple):
    """What the keys are made of: (8) of the GDRF paper."""

    dominant: NDArray[np.int64]
    totals: FloatArray
    #: All resources of a machine together, shape (N,); infinite where all keys shall be equal.
    size: FloatArray
    #: Of each resource what is held by users whose dominant one it is, shape (N, m).
    stakes: FloatArray
    #: Key of an empty machine.
    empty: float
    #: Whether the task at hand counts.
    after: bool
    #: Zeros, shape (m,).
    nothing: FloatArray


class Tree(NamedTuple):
    """Tournaments of G groups of machines."""

    #: Node of each machine, shape (N,).
    leaf: NDArray[np.int64]
    #: Keys by kind, then the room, of each node, shape (G, 2 leaves, kinds + m).
    tree: FloatArray
    #: The lowest machine below each node, shape (G, 2 leaves).
    lowest: NDArray[np.int64]
    #: Distinct demands (beyond 1024, the least of similar ones), where those of each kind begin, the kind of each user.
    needs: FloatArray
    first: NDArray[np.int64]
    kinds: NDArray[np.int64]
    stack: NDArray[np.int64]


@kernel(INSIDE, _nrt=False, forceinline=True)
def _log_fairness(fair: Any, used: Any, j: int, need: Any, lead: int) -> float:
    """Logarithm of (8) on machine j with one more task: w log T."""
    w, s = 0.0, 0.0
    for r in range(len(need)):
        w += used[j, r] + need[r]
        stake = fair.stakes[j, r] + (need[r] if r == lead else 0.0)
        if stake > 0.0:
            s += stake / fair.totals[r]
    return fair.empty if s == 0.0 else w / fair.size[j] * math.log(s)


@kernel(INSIDE, _nrt=False, forceinline=True)
def _renew(at: Any, tree: Any, node: int, key: float, limit: Any, used: Any) -> None:
    """Give a leaf what is free and its new key, for kinds of which one still fits; bring what is above up to date."""
    needs, first = at.needs, at.first
    for r in range(len(used)):
        tree[node, len(first) - 1 + r] = limit[r] - used[r]
    for b in range(len(first) - 1):
        q, fits = first[b], tree[node, b] == -np.inf  # once too full, always too full
        while not fits and q < first[b + 1]:
            fits = True
            for r in range(len(used)):
                fits = fits and limit[r] - used[r] >= needs[q, r]
            q += 1
            if fits:
                tree[node, b] = key
        if not fits:
            tree[node, b] = -np.inf
    node >>= 1
    changed = True
    while node and changed:
        left, right, here = tree[2 * node], tree[2 * node + 1], tree[node]
        changed = False
        for b in range(len(here)):
            larger = max(left[b], right[b])
            changed |= larger != here[b]
            here[b] = larger
        node >>= 1


@kernel(INSIDE, _nrt=False, forceinline=True)
def _search(at: Any, g: int, kind: int, need: Any, best: float, machine: int) -> Any:
    """Find the machine with room and the largest key, ties by the lowest number; better than the one given, or that."""
    tree, lowest, stack, m = at.tree[g], at.lowest[g], at.stack, len(need)
    low, high = best - TIED * max(1.0, -best), best + TIED * max(1.0, -best)  # what ties with the best
    free = tree.shape[1] - m
    stack[0] = 1
    top = 1
    while top:
        top -= 1
        node = stack[top]
        while True:
            key = tree[node, kind]
            if key == -np.inf or key < low or (machine <= lowest[node] and key <= high):
                break
            room = True
            for r in range(m):  # one of several similar needs may be larger than what the kind knows
                room = room and tree[node, free + r] >= need[r]
            if not room:
                break
            if 2 * node >= len(tree):
                best, machine = key, lowest[node]
                low, high = best - TIED * max(1.0, -best), best + TIED * max(1.0, -best)
                break
            node *= 2  # the better branch is looked at first
            left, right = tree[node, kind], tree[node + 1, kind]
            if min(left, right) > -np.inf:
                stack[top] = node + (left >= right)
                top += 1
            node += left < right
    return best, machine


@kernel(INSIDE, _nrt=False, forceinline=True)
def _scan(turns: Any, types: Any, fair: Any, i: int) -> int:
    """Look at all machines for the largest key with the task counted in, or -1."""
    machine, best, least = -1, 0.0, types.unsuited
    for j in range(len(turns.used)):
        misfit = types.misfit[i, types.group[j]]
        fits = misfit < types.unsuited and misfit <= least
        for r in range(turns.used.shape[1]):
            fits = fits and turns.limit[j, r] - turns.used[j, r] >= turns.demands[i, r]
        if fits:
            key = _log_fairness(fair, turns.used, j, turns.demands[i], fair.dominant[i])
            if misfit < least or key > best + TIED * max(1.0, -best):
                machine, best, least = j, key, misfit
    return machine


def _looks(turns: Turns, types: Types, fair: Fairness, at: Tree) -> float:
    """Steps of placing by tournament, which looks at a part of the demands for each task, or by scans."""
    return tasks_to_come(turns) * (turns.used.size if fair.after else 100 + at.needs.size / 4)


@kernel(_looks, _nrt=False)
def by_tournament(turns: Any, types: Any, fair: Any, at: Any) -> bool:
    """Place tasks until a break is due (False) or nobody can have more (True)."""
    demands, used = turns.demands, turns.used
    while True:
        i = turn(turns)
        if i < 0:
            return i == NOBODY
        machine, wanted = _scan(turns, types, fair, i) if fair.after else -1, 0
        while machine < 0 and wanted < types.unsuited and not fair.after:
            best = -np.inf
            for g in range(len(at.tree)):
                if types.misfit[i, g] == wanted:
                    best, machine = _search(at, g, at.kinds[i], demands[i], best, machine)
            wanted += 1
        if put(turns, i, machine):
            fair.stakes[machine, fair.dominant[i]] += demands[i, fair.dominant[i]]
            key = _log_fairness(fair, used, machine, fair.nothing, 0)
            _renew(at, at.tree[types.group[machine]], at.leaf[machine], key, turns.limit[machine], used[machine])


def as_tree(turns: Turns, group: NDArray[np.int64], empty: float) -> Tree:
    """Build the tournament of each group of machines, all of them empty.

    Users are sorted into at most 16 kinds of similar demands.
    """
    rows, which = np.unique(turns.demands, axis=0, return_inverse=True)
    size = -(-len(rows) // ROWS)
    needs = np.minimum.reduceat(rows, np.arange(0, len(rows), size))
    most = min(int(np.clip(MOST_SHARED // len(group), 1, KINDS)), len(needs))
    first = np.arange(most + 1) * len(needs) // most
    members = [np.flatnonzero(group == g) for g in range(int(group.max()) + 1)]
    leaves = 1 << (max(map(len, members)) - 1).bit_length()
    leaf, lowest = np.empty(len(group), np.int64), np.full((len(members), 2 * leaves), len(group))
    tree = np.full((len(members), 2 * leaves, most + needs.shape[1]), -np.inf)
    for g, one in enumerate(members):
        leaf[one] = nodes = leaves + np.arange(len(one))
        lowest[g, nodes] = one
        for b in range(most):
            full = one
            for need in needs[first[b] : first[b + 1]]:
                full = full[(turns.limit[full].T < need[:, None]).any(axis=0)]  # noqa: SIM300 (no constant)
            tree[g, nodes, b] = empty
            tree[g, leaf[full], b] = -np.inf
        tree[g, nodes, most:] = turns.limit[one]
    while leaves > 1:  # level by level upwards
        half = leaves // 2
        tree[:, half:leaves] = np.maximum(tree[:, leaves : 2 * leaves : 2], tree[:, leaves + 1 : 2 * leaves : 2])
        lowest[:, half:leaves] = lowest[:, leaves : 2 * leaves : 2]
        leaves = half
    kinds = np.searchsorted(first, which.reshape(-1) // size, side="right") - 1
    return Tree(leaf, tree, lowest, needs, first, kinds, np.empty(130, np.int64))
