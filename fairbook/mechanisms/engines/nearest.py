"""Find the machine that suits a task best without looking at each of them, and without a table of users by machines.

How well a machine suits depends on what is free on it, as ratios: the distance of best fit adds up how far they are
from those of the task, relative entropy compares mixes. Machines stand in leaves of at most 32, split by one ratio
after the other (a k-d tree). Of each node is known the span of each ratio, the largest room of each resource, and the
lowest number. No machine below it is nearer than the spans allow: rounding is monotone, so this holds for distances as
computed, and where a span is one number the bound is that machine's distance itself. The branch with the least bound
is looked at first, and then those that could still win; ties go to the lowest number.

A task placed moves one machine to the leaf where its ratios now belong; one with room for no task at all leaves. Where
that leaf has no place left, the machines below the lowest node that is loosely filled are dealt out to its leaves anew
(as in a packed memory array). Once searches have looked at so many nodes in vain that it costs as much, all are.

Kernels with ``_nrt=False`` make no arrays, so numba need not count who refers to those that they are given; counting
took three quarters of the time. Such a kernel must not make or return an array; a view of one that stays is safe.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairbook.kernels import INSIDE, kernel
from fairbook.model.inputs import FloatArray

DISTANCE, ENTROPY = 0, 1

PATIENCE = 60  # nodes looked at in vain, for each machine, until all machines are dealt out anew

FEW = 256  # machines that it is cheaper to look at than to keep in a tree


class Machines(NamedTuple):
    """N machines with what is free on them, m resources, in B leaves; L resources lead. Comments follow."""

    free: FloatArray
    # ^ What is free, shape (N, m).
    room: FloatArray
    # ^ The largest task that fits, shape (N, m).
    sizes: FloatArray
    # ^ What tasks need of each resource, sorted, shape (m, n); or (m, 0). Where such a number is more than what is free
    #   and yet fits, the task counts as what is free.
    least: FloatArray
    # ^ The least that a task needs of each resource, shape (m,): a machine with less room is full.
    leads: NDArray[np.int64]
    # ^ The resources by which ratios are taken, shape (L,).
    unit: FloatArray
    # ^ Factors that make ratios comparable, shape (L, m).
    kind: int
    # ^ DISTANCE or ENTROPY.
    tree: FloatArray
    # ^ A row for each node (1 the root, B the first leaf), then one for each place of the leaves, (2 B + B size, C):
    #   room; of each ratio minus the least and the largest that it may count as; the same of logarithms (ENTROPY);
    #   minus the number of the machine. The row of a node holds the largest of each column below it.
    size: int
    # ^ Places of each leaf.
    counts: NDArray[np.int64]
    # ^ Machines in each leaf, shape (B,).
    cuts: FloatArray
    pivots: FloatArray
    # ^ What splits the machines at each node above the leaves: a ratio and minus a number, shape (B,).
    place: NDArray[np.int64]
    # ^ Row of each machine, shape (N,).
    work: NDArray[np.int64]
    # ^ Nodes looked at in vain since all machines were dealt out, shape (1,).
    order: NDArray[np.int64]
    spare: FloatArray
    nodes: NDArray[np.int64]
    bounds: FloatArray
    logs: FloatArray
    # ^ To work in: (N,), (N + 1, C), twice (2 log B + 2,), (m,).


def as_machines(
    free: FloatArray, room: FloatArray, sizes: FloatArray, least: FloatArray, leads: Any, unit: FloatArray, kind: int
) -> Machines:
    """Make room for machines in a tree, which :func:`build` has to fill: it starts with no patience left."""
    N, m = free.shape
    B = 1 << max((N - 1) // 16, 0).bit_length()
    size = 2 * -(-N // B)
    columns = m + 2 * m * len(leads) * (2 if kind == ENTROPY else 1) + 1
    deep = 2 * B.bit_length()
    return Machines(
        free,
        room,
        sizes,
        least,
        leads,
        unit,
        kind,
        np.full((2 * B + B * size, columns), -np.inf),
        size,
        np.zeros(B, np.int64),
        np.empty(B),
        np.empty(B),
        np.empty(N, np.int64),
        np.full(1, np.iinfo(np.int64).max),
        np.empty(N, np.int64),
        np.empty((N + 1, columns)),
        np.empty(deep, np.int64),
        np.empty(deep),
        np.empty(m),
    )


@kernel(INSIDE, _nrt=False)
def _most(sizes: Any, r: int, free: float, room: float) -> float:
    """Give the most that counts as free: more than there is where some task needs more and still fits."""
    low, high = 0, sizes.shape[1]
    if high == 0 or sizes[r, high - 1] <= free:
        return free
    while low < high:
        middle = (low + high) // 2
        if sizes[r, middle] > free:
            high = middle
        else:
            low = middle + 1
    return room if low < sizes.shape[1] and sizes[r, low] <= room else free


@kernel(INSIDE, _nrt=False, forceinline=True)
def _measure(at: Any, j: int, to: int) -> bool:
    """Write what is known of machine j to a spare row; tell whether there is room for some task."""
    free, room, sizes, least, leads, unit, row = at.free, at.room, at.sizes, at.least, at.leads, at.unit, at.spare[to]
    m, logs = len(least), 2 * len(least) * len(leads)
    useful = True
    for r in range(m):
        useful &= room[j, r] >= least[r]
        row[r] = room[j, r]
    row[-1] = -j
    for k in range(len(leads)):
        lead, base = leads[k], m + 2 * m * k
        ahead = _most(sizes, lead, free[j, lead], room[j, lead])
        low, high = 0.0, 0.0
        for r in range(m):
            one, other = -np.inf, -np.inf  # no task with this lead fits
            if ahead > 0.0:
                one, other = -1.0, 1.0
                if r != lead:
                    one, other = -free[j, r] / ahead, np.inf
                    if free[j, lead] > 0.0:
                        other = _most(sizes, r, free[j, r], room[j, r]) / free[j, lead]
                low -= one * unit[k, r]
                high += other * unit[k, r]
            row[base + 2 * r], row[base + 2 * r + 1] = one, other
        if at.kind == ENTROPY:
            for r in range(m):
                c = base + 2 * r
                one, other = -np.inf, -np.inf
                if ahead > 0.0:
                    row[c], row[c + 1] = row[c] * unit[k, r] / high, row[c + 1] * unit[k, r] / low
                    one, other = -np.log(-row[c]), np.log(row[c + 1])
                row[c + logs], row[c + logs + 1] = one, other
    return useful


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
def _next_ratio(by: int, lead: int, m: int) -> int:
    """Give the ratio by which the next level of the tree is split: one after the other, but not the lead itself."""
    by = (by + 1) % m
    return (by + 1) % m if by == lead else by


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


@kernel(INSIDE, _nrt=False, forceinline=True)
def _renew(tree: Any, counts: Any, size: int, b: int) -> None:
    """Bring leaf b and the nodes above it up to date."""
    node, first = len(counts) + b, 2 * len(counts) + b * size
    changed = _gather(tree, node, first, first + counts[b])
    while changed and node > 1:
        node >>= 1
        changed = _gather(tree, node, 2 * node, 2 * node + 2)


@kernel(INSIDE, _nrt=False, forceinline=True)
def _copy(rows: Any, source: int, tree: Any, target: int) -> None:
    for c in range(tree.shape[1]):
        tree[target, c] = rows[source, c]


@kernel(INSIDE, _nrt=False)
def _deal(at: Any, node: int, count: int) -> None:
    """Deal out the machines whose rows are the first spare ones to the leaves below a node."""
    B, m, order, tree = len(at.counts), len(at.least), at.order, at.tree
    by, above, parts = at.leads[0], node, 1
    while above > 1:
        by, above = _next_ratio(by, at.leads[0], m), above >> 1
    for p in range(count):
        order[p] = p
    while node * parts < B:
        by = _next_ratio(by, at.leads[0], m)
        for q in range(parts):
            middle, end = (2 * q + 1) * count // (2 * parts), (q + 1) * count // parts
            _split(at.spare, m + 2 * by, order, q * count // parts, end, middle)
            at.cuts[node * parts + q], at.pivots[node * parts + q] = np.inf, -np.inf
            if middle < end:
                row = at.spare[order[middle]]
                at.cuts[node * parts + q], at.pivots[node * parts + q] = row[m + 2 * by], row[-1]
        parts *= 2
    for q in range(parts):
        b = node * parts - B + q
        place = 2 * B + b * at.size
        for p in range(q * count // parts, (q + 1) * count // parts):
            _copy(at.spare, order[p], tree, place)
            at.place[int(-tree[place, -1])] = place
            place += 1
        at.counts[b] = place - 2 * B - b * at.size
        _gather(tree, B + b, place - at.counts[b], place)
    while parts > 1:
        parts //= 2
        for one in range(node * parts, (node + 1) * parts):
            _gather(tree, one, 2 * one, 2 * one + 2)


@kernel(INSIDE, _nrt=False)
def build(at: Any) -> None:
    """Deal out all machines anew, without those that are full. Cost O(N (m + log N))."""
    count = 0
    for j in range(len(at.free)):
        count += _measure(at, j, count)
    _deal(at, 1, count)
    at.work[0] = 0


@kernel(INSIDE, _nrt=False)
def _make_room(at: Any, b: int) -> None:
    """Put the machine of the last spare row into leaf b, which is full: see the head of this module."""
    B, node, parts, count, full = len(at.counts), len(at.counts) + b, 1, at.size + 1, 1.0
    while node > 1 and count > full * parts * at.size:
        node, parts, full = node >> 1, 2 * parts, full - 1.0 / (len(at.nodes) - 2)
        count = 1 + at.counts[node * parts - B : (node + 1) * parts - B].sum()
    count = 0
    for b in range(node * parts - B, (node + 1) * parts - B):
        for p in range(2 * B + b * at.size, 2 * B + b * at.size + at.counts[b]):
            _copy(at.tree, p, at.spare, count)
            count += 1
    _copy(at.spare, len(at.free), at.spare, count)
    _deal(at, node, count + 1)
    while node > 1:
        node >>= 1
        _gather(at.tree, node, 2 * node, 2 * node + 2)


@kernel(INSIDE, _nrt=False, forceinline=True)
def move(at: Any, j: int) -> None:
    """Bring the tree up to date with what is free on machine j. Cost O(m log N), amortised."""
    tree, size, counts, spare, leads, m = at.tree, at.size, at.counts, at.spare, at.leads, len(at.least)
    B, N, p = len(counts), len(at.free), at.place[j]
    b, new = (p - 2 * B) // size, -1
    if _measure(at, j, N):
        node, by = 1, leads[0]
        while node < B:
            by = _next_ratio(by, leads[0], m)
            value = spare[N, m + 2 * by]
            left = value < at.cuts[node] or (value == at.cuts[node] and -j > at.pivots[node])
            node = 2 * node if left else 2 * node + 1
        new = node - B
    if new != b:
        counts[b] -= 1
        last = 2 * B + b * size + counts[b]
        _copy(tree, last, tree, p)
        at.place[int(-tree[p, -1])] = p
        _renew(tree, counts, size, b)
        if new >= 0 and counts[new] == size:
            _make_room(at, new)
            new = -1
        elif new >= 0:
            p = 2 * B + new * size + counts[new]
            counts[new] += 1
            at.place[j] = p
    if new >= 0:
        _copy(spare, N, tree, p)
        _renew(tree, counts, size, new)


@kernel(INSIDE, _nrt=False, forceinline=True)
def _bound(
    tree: Any, p: int, unit: Any, lead: int, kind: int, needs: Any, forms: Any, logs: Any, i: int, k: int
) -> float:
    """Give the least distance of a task of user i from what stands in a row; infinite where it does not fit."""
    m = needs.shape[1]
    base, below = m + 2 * m * k, m + 2 * m * (k + len(unit))
    fits, far, wide, total = tree[p, base + 2 * lead + 1] > -np.inf, 0.0, 0.0, 0.0
    for r in range(m):  # to the end, even where it does not fit: a loop without a way out is faster
        low, high, form = -tree[p, base + 2 * r], tree[p, base + 2 * r + 1], forms[i, r]
        fits &= needs[i, r] <= tree[p, r]
        if kind == DISTANCE:
            far += max(low - form, form - high, 0.0) * unit[k, r]
        else:
            if needs[i, r] > 0.0:
                log = -tree[p, below + 2 * r] if form < low else tree[p, below + 2 * r + 1] if form > high else logs[r]
                far -= form * log
            wide += high - low
            total += min(max(form, low), high)
    if wide > 0.0:
        # mixes sum to 1: of all points of the box this one has the least -sum p log q + sum q - 1
        far += (total - 1.0) - 1e-13 * (1.0 + abs(far))
    return far if fits else np.inf


@kernel(INSIDE, _nrt=False)
def _exact(free: Any, lead: int, unit: Any, kind: int, needs: Any, forms: Any, i: int, k: int, j: int) -> float:
    """Give the distance of a task from machine j, where it fits; what is free is at least what fits."""
    found, whole = 0.0, 0.0
    ahead = max(free[j, lead], needs[i, lead])
    for r in range(needs.shape[1]):
        part = max(free[j, r], needs[i, r]) / ahead
        whole += part * unit[k, r]
        if kind == DISTANCE:
            found += abs(forms[i, r] - part) * unit[k, r]
    if kind == ENTROPY:
        for r in range(needs.shape[1]):
            if needs[i, r] > 0.0:
                found -= forms[i, r] * np.log(max(free[j, r], needs[i, r]) / ahead * unit[k, r] / whole)
    return found


@kernel(INSIDE, _nrt=False)
def renew_few(columns: Any, free: Any, room: Any, leads: Any, j: int) -> None:
    """Write down what is free on machine j where machines are few: room, ratios; sizes do not count."""
    m = free.shape[1]
    for r in range(m):
        columns[r, j] = room[j, r]
    for k in range(len(leads)):
        ahead = free[j, leads[k]]
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
    tree, size, counts, nodes, bounds, logs = at.tree, at.size, at.counts, at.nodes, at.bounds, at.logs
    B, m, unit, kind, lead = len(counts), needs.shape[1], at.unit, at.kind, at.leads[k]
    if kind == ENTROPY:
        for r in range(m):
            logs[r] = np.log(forms[i, r])
    best, number, looked, top = np.inf, -np.inf, 0, 1
    nodes[0], bounds[0] = 1, _bound(tree, 1, unit, lead, kind, needs, forms, logs, i, k)
    while top:
        top -= 1
        node, bound = nodes[top], bounds[top]
        if bound > best or bound == np.inf or (bound == best and tree[node, -1] <= number):
            continue
        looked += 1
        if node < B:
            a, b = 2 * node, 2 * node + 1
            one = _bound(tree, a, unit, lead, kind, needs, forms, logs, i, k)
            other = _bound(tree, b, unit, lead, kind, needs, forms, logs, i, k)
            if other < one or (other == one and tree[b, -1] > tree[a, -1]):
                a, b, one, other = b, a, other, one
            nodes[top], bounds[top], nodes[top + 1], bounds[top + 1] = b, other, a, one
            top += 2
            continue
        first = 2 * B + (node - B) * size
        for p in range(first, first + counts[node - B]):
            some = _bound(tree, p, unit, lead, kind, needs, forms, logs, i, k)
            if some > best or some == np.inf:
                continue
            vague = False
            for c in range(m + 2 * m * k, m + 2 * m * (k + 1), 2):
                vague |= -tree[p, c] != tree[p, c + 1]
            if vague:
                some = _exact(at.free, lead, unit, kind, needs, forms, i, k, int(-tree[p, -1]))
            if some < best or (some == best and tree[p, -1] > number):
                best, number = some, tree[p, -1]
    at.work[0] += max(looked - len(nodes), 0)
    return int(-number) if best < np.inf else -1
