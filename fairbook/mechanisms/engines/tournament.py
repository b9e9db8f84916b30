"""The machine with room and the largest key, where the key belongs to the machine: the engine of GDRF.

Machines are the leaves of a tournament. A node keeps, for each distinct demand (beyond 16, for each set of similar
ones), the largest key below it of a machine with room, and the most that is free of each resource. A search follows the
better branch and leaves out those that hold nothing better; ties go to the lowest number. So it finds what a scan of
all machines finds. A task placed changes one leaf and what is above it. When a user leaves, and searches have looked at
so many nodes in vain that it costs as much, the users left are sorted into up to 32 sets and all is built anew.

Machines of one type have a tournament of their own; a user asks those of its best level, then those of the next.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairbook.kernels import INSIDE, kernel
from fairbook.mechanisms.engines.turns import NOBODY, Turns, put, tasks_to_come, turn
from fairbook.model.inputs import FloatArray

LAST = -1e300  # a key below all others that still counts

KINDS = 16
MOST_SHARED = 2**27  # numbers of a tree
PATIENCE = 60  # nodes looked at in vain, for each machine, until the tree is built anew


class Types(NamedTuple):
    """Groups of machines, and how well they suit users. Comments follow."""

    group: NDArray[np.int64]
    # ^ Group of each machine, shape (N,).
    level: NDArray[np.int64]
    # ^ How well a group suits a user, 0 best, shape (n, groups).
    levels: int
    # ^ From this level on a group does not suit at all.


class Fairness(NamedTuple):
    """What the keys are made of: (8) of the GDRF paper. Comments follow."""

    dominant: NDArray[np.int64]
    totals: FloatArray
    size: FloatArray
    # ^ All resources of a machine together, shape (N,).
    stakes: FloatArray
    # ^ Of each resource what is held by users whose dominant one it is, shape (N, m).
    empty: float
    # ^ Key of an empty machine.


class Tree(NamedTuple):
    """Tournaments. Comments follow."""

    leaf: NDArray[np.int64]
    bases: NDArray[np.int64]
    tree: FloatArray
    lowest: NDArray[np.int64]
    # ^ Node of each machine, where the tournament of a group begins, its nodes, and the lowest machine below each.
    needs: FloatArray
    kinds: NDArray[np.int64]
    # ^ What the least demanding user of each kind needs, and the kind of each user.
    keys: FloatArray
    stack: NDArray[np.int64]
    vain: NDArray[np.int64]
    # ^ Nodes looked at in vain less those that there is patience for, shape (1,).


@kernel(INSIDE, _nrt=False, forceinline=True)
def log_fairness(fair: Any, used: Any, stakes: Any, size: float) -> float:
    """Logarithm of (8) on one machine: w log T."""
    w, s = 0.0, 0.0
    for r in range(len(used)):
        w += used[r]
        if stakes[r] > 0.0:
            s += stakes[r] / fair.totals[r]
    return fair.empty if s == 0.0 else w / size * math.log(s)


@kernel(INSIDE, _nrt=False, forceinline=True)
def _renew(at: Any, base: int, node: int, key: float, limit: Any, used: Any) -> None:
    """Give a leaf what is free and its new key, for the needs that still fit; bring the nodes above it up to date."""
    tree, needs = at.tree, at.needs
    for r in range(len(used)):
        tree[base + node, len(needs) + r] = limit[r] - used[r]
    for b in range(len(needs)):
        if tree[base + node, b] > -np.inf:  # once too full, always too full
            tree[base + node, b] = key
            for r in range(len(used)):
                if limit[r] - used[r] < needs[b, r]:
                    tree[base + node, b] = -np.inf
    node >>= 1
    changed = True
    while node and changed:
        left, right, here = tree[base + 2 * node], tree[base + 2 * node + 1], tree[base + node]
        changed = False
        for b in range(len(here)):
            larger = max(left[b], right[b])
            changed |= larger != here[b]
            here[b] = larger
        node >>= 1


@kernel(INSIDE, _nrt=False, forceinline=True)
def _search(at: Any, base: int, kind: int, need: Any, best: float, machine: int) -> Any:
    """Find the machine with room and the largest key, ties by the lowest number; better than the one given, or that."""
    tree, lowest, stack, m = at.tree, at.lowest, at.stack, len(need)
    leaves = lowest[base]  # the place of a node that does not exist keeps their number
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
            room = True
            for r in range(m):  # one of several similar needs may be larger than what the kind knows
                room = room and tree[here, free + r] >= need[r]
            if not room:
                at.vain[0] += 1
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


@kernel(lambda turns, *_: 100 * tasks_to_come(turns), _nrt=False)
def by_tournament(turns: Any, types: Any, fair: Any, at: Any) -> bool:
    """Place tasks until a break is due (False) or nobody can have more (True)."""
    none = np.iinfo(np.int32).max
    demands, used, stakes = turns.demands, turns.used, fair.stakes
    while True:
        i = turn(turns)
        if i < 0:
            return i == NOBODY
        machine, wanted = none, 0
        while machine == none and wanted < types.levels:
            best = -np.inf
            for g in range(len(at.bases)):
                if types.level[i, g] == wanted:
                    best, machine = _search(at, at.bases[g], at.kinds[i], demands[i], best, machine)
            wanted += 1
        if machine == none:
            turns.gone[i] = True
            if at.vain[0] >= 0:
                return False
            continue
        put(turns, i, machine)
        stakes[machine, fair.dominant[i]] += demands[i, fair.dominant[i]]
        at.keys[machine] = log_fairness(fair, used[machine], stakes[machine], fair.size[machine])
        base = at.bases[types.group[machine]]
        _renew(at, base, at.leaf[machine], at.keys[machine], turns.limit[machine], used[machine])


def kinds_of(demands: FloatArray, most: int) -> tuple[FloatArray, NDArray[np.int64]]:
    """Sort users into at most so many kinds: what the least demanding of each needs, and the kind of each user.

    A machine that has no room for the needs of a kind has none for any user of it.
    """
    rows, which = np.unique(demands, axis=0, return_inverse=True)
    if len(rows) <= most:
        return rows, which.reshape(-1)
    parts = [np.arange(len(rows))]
    while len(parts) < most:
        part = parts.pop(max(range(len(parts)), key=lambda p: len(parts[p])))
        spread = np.ptp(np.log(np.where(rows[part] > 0, rows[part], rows[part].max() * 1e-9)), axis=0)
        part = part[np.argsort(rows[part, spread.argmax()], kind="stable")]
        parts += [part[: len(part) // 2], part[len(part) // 2 :]]
    kind = np.empty(len(rows), np.int64)
    for number, part in enumerate(parts):
        kind[part] = number
    return np.array([rows[part].min(axis=0) for part in parts]), kind[which.reshape(-1)]


def as_tree(turns: Turns, group: NDArray[np.int64], keys: FloatArray, kinds: NDArray[np.int64], most: int) -> Tree:
    """Build the tournament of each group of machines for the users who are left, of at most so many kinds."""
    left, room = ~turns.gone, turns.limit - turns.used
    needs, kinds[left] = kinds_of(turns.demands[left], int(np.clip(MOST_SHARED // (4 * len(group)), 1, most)))
    members = [np.flatnonzero(group == g) for g in range(int(group.max()) + 1)]
    sizes = [1 << (len(one) - 1).bit_length() for one in members]
    bases = np.cumsum([0, *(2 * leaves for leaves in sizes)])
    leaf, lowest = np.empty(len(group), np.int64), np.full(bases[-1], np.iinfo(np.int32).max, np.int64)
    tree = np.full((bases[-1], len(needs) + room.shape[1]), -np.inf)
    for one, leaves, base in zip(members, sizes, bases, strict=False):
        leaf[one] = leaves + np.arange(len(one))
        part, low = tree[base : base + 2 * leaves], lowest[base : base + 2 * leaves]
        fit = np.logical_and.reduce([room[one, r, None] >= needs[:, r] for r in range(room.shape[1])])
        part[leaves : leaves + len(one), : len(needs)] = np.where(fit, keys[one, None], -np.inf)
        part[leaves : leaves + len(one), len(needs) :] = room[one]
        low[leaves : leaves + len(one)] = one
        width = leaves
        while width > 1:  # level by level upwards
            half = width // 2
            np.maximum(part[width : 2 * width : 2], part[width + 1 : 2 * width : 2], out=part[half:width])
            np.minimum(low[width : 2 * width : 2], low[width + 1 : 2 * width : 2], out=low[half:width])
            width = half
        low[0] = leaves
    vain = np.array([-PATIENCE * len(group)])
    return Tree(leaf, bases[:-1], tree, lowest, needs, kinds, keys, np.empty(130, np.int64), vain)
