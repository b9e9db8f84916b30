"""Find the machine that suits a task best without looking at each of them.

How well a machine suits depends on what is free on it: best fit adds up how far the ratios of what is free are from
those of the task, relative entropy compares mixes. Machines stand in the leaves of a tree, split by one such number
after the other (a k-d tree); a node knows the largest room of each resource and the span of each number below it. No
machine there suits better than the spans allow, as computed, for rounding is monotone: a branch whose bound is worse
than the best machine found holds no better one. Ties go to the lowest number. So the machine found is that of a scan.

A task placed changes the row of one machine and what is above it; the machine keeps its leaf. Once searches have looked
at so many nodes in vain that it costs as much, the tree is built anew, full machines aside.

Kernels with ``_nrt=False`` make no arrays, so numba need not count who refers to those that they are given; counting
took three quarters of the time.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairbook.kernels import INSIDE, kernel
from fairbook.model.inputs import FloatArray

DISTANCE, ENTROPY = 0, 1

PATIENCE = 8

FEW = 256  # machines that it is cheaper to look at than to keep in a tree


class Machines(NamedTuple):
    """N machines with what is free on them, m resources, in B leaves; L resources lead. Comments follow."""

    free: FloatArray
    # ^ What is free, shape (N, m).
    room: FloatArray
    # ^ The largest task that fits, shape (N, m).
    least: FloatArray
    # ^ The least that a task needs of each resource, shape (m,): a machine with less room is full.
    leads: NDArray[np.int64]
    # ^ The resources by which ratios are taken, shape (L,).
    unit: FloatArray
    # ^ Factors that make ratios comparable, shape (L, m).
    kind: int
    # ^ DISTANCE or ENTROPY.
    splits: NDArray[np.int64]
    # ^ Columns by which the machines are split, in turn.
    tree: FloatArray
    # ^ A row for each node (1 the root, B the first leaf), then one for each machine in order of the leaves, (2 B + N,
    #   C): room; minus the least and the largest of each ratio (DISTANCE) or the logarithm of each part of the mix
    #   (ENTROPY); minus the number of the machine. The row of a node holds the largest of each column below it.
    place: NDArray[np.int64]
    # ^ Place of each machine in that order, shape (N,).
    work: NDArray[np.int64]
    # ^ Nodes looked at in vain since the tree was built, shape (1,).
    order: NDArray[np.int64]
    spare: FloatArray
    nodes: NDArray[np.int64]
    bounds: FloatArray
    # ^ To work in: (N,), (N, C), twice (2 log B + 2,).


def as_machines(
    free: FloatArray, room: FloatArray, least: FloatArray, leads: Any, unit: FloatArray, kind: int
) -> Machines:
    """Make room for machines in a tree, which :func:`build` has to fill: it starts with no patience left."""
    N, m = free.shape
    B = 1 << max((N - 1) // 16, 0).bit_length()
    width = m if kind == ENTROPY else 2 * m * len(leads)
    splits = [m + r for r in range(m)] if kind == ENTROPY else [m + 2 * r for r in range(m) if r != leads[0] or m == 1]
    deep = 2 * B.bit_length()
    return Machines(
        free,
        room,
        least,
        leads,
        unit,
        kind,
        np.array(splits),
        np.full((2 * B + N, m + width + 1), -np.inf),
        np.empty(N, np.int64),
        np.full(1, np.iinfo(np.int64).max),
        np.empty(N, np.int64),
        np.empty((N, m + width + 1)),
        np.empty(deep, np.int64),
        np.empty(deep),
    )


@kernel(INSIDE, _nrt=False, forceinline=True)
def _ahead(free: Any, room: Any, j: int, r: int) -> float:
    """Give what is free of a resource, to divide by; where there is nothing, what still fits by tolerance."""
    return free[j, r] if free[j, r] > 0.0 else room[j, r]


@kernel(INSIDE, _nrt=False, forceinline=True)
def _measure(at: Any, j: int, row: Any) -> None:
    """Write what is known of machine j to a row."""
    free, room, leads, unit, m = at.free, at.room, at.leads, at.unit, len(at.least)
    row[:] = -np.inf
    row[-1] = -j
    for r in range(m):
        if room[j, r] < at.least[r]:
            return  # full
    for r in range(m):
        row[r] = room[j, r]
    if at.kind == DISTANCE:
        for k in range(len(leads)):
            ahead, base = _ahead(free, room, j, leads[k]), m + 2 * m * k
            for r in range(m if ahead > 0.0 else 0):
                ratio = free[j, r] / ahead
                row[base + 2 * r], row[base + 2 * r + 1] = -ratio, ratio
        return
    lead, whole = 0, 0.0
    while _ahead(free, room, j, lead) <= 0.0:
        lead += 1
    ahead = _ahead(free, room, j, lead)
    for r in range(m):
        whole += free[j, r] / ahead * unit[0, r]
    for r in range(m):
        part = _ahead(free, room, j, r) / ahead * unit[0, r]
        row[m + r] = math.log(part / whole) if part > 0.0 else -np.inf


@kernel(INSIDE, _nrt=False)
def _split(rows: Any, c: int, order: Any, begin: int, end: int, middle: int) -> None:
    """Put the least of a column (ties: numbers) of a part of the order before its middle."""
    end -= 1
    while begin < end:
        pivot = order[(begin + end) // 2]
        value, number = rows[pivot, c], rows[pivot, -1]
        i, j = begin, end
        while i <= j:
            while rows[order[i], c] < value or (rows[order[i], c] == value and rows[order[i], -1] > number):
                i += 1
            while rows[order[j], c] > value or (rows[order[j], c] == value and rows[order[j], -1] < number):
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            end = j
        elif middle >= i:
            begin = i
        else:
            break


@kernel(INSIDE, _nrt=False)
def _gather(tree: Any, node: int, begin: int, end: int) -> bool:
    """Give a node the largest of each column of some rows; tell whether that changes it."""
    changed = False
    for c in range(tree.shape[1]):
        largest = -np.inf
        for p in range(begin, end):
            largest = max(largest, tree[p, c])
        changed |= largest != tree[node, c]
        tree[node, c] = largest
    return changed


@kernel(INSIDE, _nrt=False)
def build(at: Any) -> None:
    """Deal out all machines to the leaves anew. Cost O(N (m + log N))."""
    N, tree, order, spare = len(at.place), at.tree, at.order, at.spare
    B = (len(tree) - N) // 2
    for j in range(N):
        order[j] = j
        _measure(at, j, spare[j])
    parts, turn = 1, 0
    while parts < B:
        for q in range(parts):
            ends = q * N // parts, (q + 1) * N // parts
            _split(spare, at.splits[turn % len(at.splits)], order, ends[0], ends[1], (2 * q + 1) * N // (2 * parts))
        parts, turn = 2 * parts, turn + 1
    for p in range(N):
        at.place[order[p]] = p
        for c in range(tree.shape[1]):
            tree[2 * B + p, c] = spare[order[p], c]
    for b in range(B):
        _gather(tree, B + b, 2 * B + b * N // B, 2 * B + (b + 1) * N // B)
    for node in range(B - 1, 0, -1):
        _gather(tree, node, 2 * node, 2 * node + 2)
    at.work[0] = 0


@kernel(INSIDE, _nrt=False, forceinline=True)
def move(at: Any, j: int) -> None:
    """Bring the tree up to date with what is free on machine j. Cost O(m log N)."""
    N, tree, p = len(at.place), at.tree, at.place[j]
    B = (len(tree) - N) // 2
    _measure(at, j, tree[2 * B + p])
    b = ((p + 1) * B - 1) // N
    node = B + b
    changed = _gather(tree, node, 2 * B + b * N // B, 2 * B + (b + 1) * N // B)
    while changed and node > 1:
        node >>= 1
        changed = _gather(tree, node, 2 * node, 2 * node + 2)


@kernel(INSIDE, _nrt=False, forceinline=True)
def _bound(tree: Any, p: int, unit: Any, kind: int, needs: Any, forms: Any, i: int, k: int) -> float:
    """Give the least distance of a task of user i from what stands in a row; infinite where it does not fit."""
    m = needs.shape[1]
    base, fits, far = m + 2 * m * k, True, 0.0
    for r in range(m):  # to the end, even where it does not fit: a loop without a way out is faster
        form = forms[i, r]
        fits &= needs[i, r] <= tree[p, r]
        if kind == DISTANCE:
            far += max(-tree[p, base + 2 * r] - form, form - tree[p, base + 2 * r + 1], 0.0) * unit[k, r]
        elif form > 0.0:
            far -= form * tree[p, m + r]
    return far if fits else np.inf


@kernel(INSIDE, _nrt=False)
def renew_few(columns: Any, free: Any, room: Any, leads: Any, j: int) -> None:
    """Write down what is free on machine j where machines are few: room, ratios; sizes do not count."""
    m = free.shape[1]
    for r in range(m):
        columns[r, j] = room[j, r]
    for k in range(len(leads)):
        ahead = _ahead(free, room, j, leads[k])
        for r in range(m):
            columns[m + k * m + r, j] = free[j, r] / ahead if ahead > 0.0 else np.inf


@kernel(INSIDE, _nrt=False)
def nearest_of_few(columns: Any, unit: Any, lead: int, needs: Any, forms: Any, i: int, k: int, far: Any) -> int:
    """Look at each machine that :func:`renew_few` wrote down, in plain loops for a compiler to make vectors of."""
    m, size = needs.shape[1], len(far)
    far[:] = 0.0
    for r in range(m):
        form, scale, ratios = forms[i, r], unit[k, r], columns[m + k * m + r]
        if r != lead:
            for p in range(size):
                far[p] = far[p] + abs(ratios[p] - form) * scale
    for r in range(m):
        most, need = columns[r], needs[i, r]
        for p in range(size):
            far[p] = far[p] if need <= most[p] else np.inf
    best = 0
    for p in range(1, size):
        if far[p] < far[best]:
            best = p
    return best if far[best] < np.inf else -1


@kernel(INSIDE, _nrt=False, forceinline=True)
def nearest(at: Any, needs: Any, forms: Any, i: int, k: int) -> int:
    """Give the nearest machine with room for a task of user i (lead k), ties by the lowest number; or -1."""
    N, tree, nodes, bounds, unit, kind = len(at.place), at.tree, at.nodes, at.bounds, at.unit, at.kind
    B = (len(tree) - N) // 2
    best, number, looked, top = np.inf, -np.inf, 0, 1
    nodes[0], bounds[0] = 1, _bound(tree, 1, unit, kind, needs, forms, i, k)
    while top:
        top -= 1
        node, bound = nodes[top], bounds[top]
        if bound > best or bound == np.inf or (bound == best and tree[node, -1] <= number):
            continue
        looked += 1
        if node < B:
            a, b = 2 * node, 2 * node + 1
            one = _bound(tree, a, unit, kind, needs, forms, i, k)
            other = _bound(tree, b, unit, kind, needs, forms, i, k)
            if other < one or (other == one and tree[b, -1] > tree[a, -1]):
                a, b, one, other = b, a, other, one
            nodes[top], bounds[top], nodes[top + 1], bounds[top + 1] = b, other, a, one
            top += 2
            continue
        for p in range(2 * B + (node - B) * N // B, 2 * B + (node - B + 1) * N // B):
            some = _bound(tree, p, unit, kind, needs, forms, i, k)
            if some < best or (some == best and some < np.inf and tree[p, -1] > number):
                best, number = some, tree[p, -1]
    at.work[0] += max(looked - len(nodes), 0)
    return int(-number) if best < np.inf else -1
