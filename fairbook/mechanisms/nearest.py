"""Find the machine that suits a task best without looking at each of them, and without a table of users by machines.

How well a machine suits depends on what is free on it, as ratios: the distance of best fit adds up how far they are
from those of the task, relative entropy compares mixes. Machines stand in about sqrt(2 N) blocks, split by one ratio
after the other (the leaves of a k-d tree). Of a block is known the span of each ratio, the largest room of each
resource, and the lowest number. No machine in it is nearer than the spans allow: rounding is monotone, so this holds
for distances as computed, and where a span is one number the bound is that machine's distance itself. The block with
the least bound is looked at first, and then those that could still win; ties go to the lowest number. All of that is
plain loops over neighbouring numbers, for a compiler to make vectors of.

A task placed moves one machine to the block where its ratios now belong; one with room for no task at all leaves. Once
searches have looked at so many machines in vain that it costs as much, the blocks are built anew.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairbook.kernels import INSIDE, kernel
from fairbook.model.inputs import FloatArray

__all__ = [
    "DISTANCE",
    "ENTROPY",
    "PATIENCE",
    "Machines",
    "as_machines",
    "build",
    "move",
    "nearest",
    "nearest_of_few",
    "renew_few",
]

DISTANCE, ENTROPY = 0, 1

PATIENCE = 300  # numbers looked at in vain, for each machine, until the blocks are built anew


class Machines(NamedTuple):
    """N machines with what is free on them, m resources, in B blocks; L resources lead. Comments follow."""

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
    columns: FloatArray
    # ^ By place: room; of each ratio minus the least and the largest that it may count as, (m + 2 L m, B size).
    logs: FloatArray
    # ^ By place: logarithms of these ratios (ENTROPY), (2 L m, B size).
    tops: FloatArray
    # ^ Largest of each column in each block, shape (m + 2 L m, B).
    top_logs: FloatArray
    # ^ Logarithms of the spans of ratios (ENTROPY), shape (2 L m, B).
    size: int
    # ^ Places of each block.
    counts: NDArray[np.int64]
    # ^ Machines in each block, shape (B,).
    lowest: NDArray[np.int64]
    # ^ No number in a block is lower, shape (B,).
    cuts: FloatArray
    pivots: NDArray[np.int64]
    # ^ What splits the blocks at each node of the tree above them: a ratio and a number, shape (B,).
    machines: NDArray[np.int64]
    # ^ Machine at each place, shape (B size,).
    place: NDArray[np.int64]
    # ^ Place of each machine, shape (N,).
    vague: NDArray[np.bool_]
    # ^ Places whose ratios depend on the task, shape (B size,).
    order: NDArray[np.int64]
    # ^ To work in, shape (N,).
    work: NDArray[np.int64]
    # ^ Numbers looked at in vain since the blocks were built, shape (1,).
    bounds: FloatArray
    far: FloatArray
    row: FloatArray
    # ^ To work in: (B,), (size,), (m + 2 L m,).


def as_machines(
    free: FloatArray, room: FloatArray, sizes: FloatArray, least: FloatArray, leads: Any, unit: FloatArray, kind: int
) -> Machines:
    """Make room for blocks, which :func:`build` has to fill: they start with no patience left."""
    N, m = free.shape
    B = 1
    while N > 256 and B * B < 2 * N:
        B *= 2
    size = 2 * -(-N // B)
    spans = 2 * m * len(leads)
    logs = spans if kind == ENTROPY else 0
    return Machines(
        free,
        room,
        sizes,
        least,
        leads,
        unit,
        kind,
        np.empty((m + spans, B * size)),
        np.empty((logs, B * size)),
        np.empty((m + spans, B)),
        np.empty((logs, B)),
        size,
        np.empty(B, np.int64),
        np.empty(B, np.int64),
        np.empty(B),
        np.empty(B, np.int64),
        np.empty(B * size, np.int64),
        np.empty(N, np.int64),
        np.empty(B * size, np.bool_),
        np.empty(N, np.int64),
        np.full(1, np.iinfo(np.int64).max),
        np.empty(B),
        np.empty(size),
        np.empty(m + spans),
    )


@kernel(INSIDE)
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


@kernel(INSIDE)
def _measure(at: Any, j: int, row: Any) -> bool:
    """Write to a row what the columns hold of machine j; tell whether its ratios depend on the task."""
    free, room, sizes, unit = at.free, at.room, at.sizes, at.unit
    m = len(at.least)
    full, vague = False, False
    for r in range(m):
        full |= room[j, r] < at.least[r]
    for r in range(m):
        row[r] = -np.inf if full else room[j, r]
    for k in range(len(at.leads)):
        lead, base = at.leads[k], m + 2 * m * k
        ahead = _most(sizes, lead, free[j, lead], room[j, lead])
        low, high = 0.0, 0.0
        for r in range(m):
            one, other = 1.0, 1.0
            if full or not ahead > 0.0:
                one, other = np.inf, -np.inf
            elif r != lead:
                one, other = free[j, r] / ahead, np.inf
                if free[j, lead] > 0.0:
                    other = _most(sizes, r, free[j, r], room[j, r]) / free[j, lead]
                vague |= one != other
            row[base + 2 * r], row[base + 2 * r + 1] = -one, other
            low += one * unit[k, r]
            high += other * unit[k, r]
        if at.kind == ENTROPY and low < np.inf:
            for r in range(m):
                row[base + 2 * r] = row[base + 2 * r] * unit[k, r] / high
                row[base + 2 * r + 1] = row[base + 2 * r + 1] * unit[k, r] / low
    return vague


@kernel(INSIDE)
def _logarithms(columns: Any, logs: Any, m: int, place: int) -> None:
    """Write down the logarithms of the ratios at a place; of a machine that is of no use, minus infinity."""
    for c in range(0, len(logs), 2):
        one, other = -columns[m + c, place], columns[m + c + 1, place]
        logs[c, place] = np.log(one) if one < np.inf else -np.inf
        logs[c + 1, place] = np.log(other) if one < np.inf else -np.inf


@kernel(INSIDE)
def _split(order: Any, values: Any, begin: int, end: int, middle: int) -> None:
    """Put the least values (ties: numbers) of a part of the order before its middle."""
    end -= 1
    while begin < end:
        pivot = order[(begin + end) // 2]
        i, j = begin, end
        while i <= j:
            while values[order[i]] < values[pivot] or (values[order[i]] == values[pivot] and order[i] < pivot):
                i += 1
            while values[order[j]] > values[pivot] or (values[order[j]] == values[pivot] and order[j] > pivot):
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


@kernel(INSIDE)
def build(at: Any) -> None:
    """Build the blocks anew, without the machines that are full. Cost O(N (m + log N))."""
    N, m = at.free.shape
    B, count = len(at.counts), 0
    rows, vague = np.empty((N, len(at.columns))), np.empty(N, np.bool_)
    for j in range(N):
        vague[j] = _measure(at, j, rows[j])
        if rows[j, 0] > -np.inf:
            at.order[count] = j
            count += 1
    width, by, node = B, at.leads[0], 1
    while width > 1:
        by = _next_ratio(by, at.leads[0], m)
        values = rows[:, m + 2 * by].copy()
        for first in range(0, B, width):
            middle, end = (first + width // 2) * count // B, (first + width) * count // B
            _split(at.order, values, first * count // B, end, middle)
            if middle < end:
                at.pivots[node], at.cuts[node] = at.order[middle], values[at.order[middle]]
            else:
                at.pivots[node], at.cuts[node] = N, np.inf
            node += 1
        width //= 2
    at.counts[:], at.tops[:], at.lowest[:] = 0, -np.inf, N
    for b in range(B):
        for k in range(b * count // B, (b + 1) * count // B):
            _enter(at, at.order[k], b, rows[at.order[k]], vague[at.order[k]])
        _logarithms(at.tops, at.top_logs, m, b)
    at.work[0] = 0


@kernel(INSIDE)
def _next_ratio(by: int, lead: int, m: int) -> int:
    """Give the ratio by which the next level of the tree is split: one after the other, but not the lead itself."""
    by = (by + 1) % m
    return (by + 1) % m if by == lead else by


@kernel(INSIDE)
def _enter(at: Any, j: int, b: int, row: Any, vague: bool) -> None:
    """Put machine j into block b, which has room for it."""
    place = b * at.size + at.counts[b]
    at.counts[b] += 1
    at.machines[place], at.place[j], at.vague[place] = j, place, vague
    at.lowest[b] = min(at.lowest[b], j)
    for c in range(len(row)):
        at.columns[c, place] = row[c]
        at.tops[c, b] = max(at.tops[c, b], row[c])
    _logarithms(at.columns, at.logs, len(at.least), place)


@kernel(INSIDE)
def _leave(at: Any, place: int, b: int) -> None:
    """Take a machine out of block b; the last one of the block takes its place."""
    at.counts[b] -= 1
    begin, last = b * at.size, b * at.size + at.counts[b]
    columns, tops = at.columns, at.tops
    for c in range(len(columns)):
        old, largest = columns[c, place], -np.inf
        columns[c, place] = columns[c, last]
        if old == tops[c, b]:
            for k in range(begin, last):
                largest = max(largest, columns[c, k])
                if largest == old:
                    break
            tops[c, b] = largest
    for c in range(len(at.logs)):
        at.logs[c, place] = at.logs[c, last]
    j = at.machines[last]
    at.machines[place], at.place[j], at.vague[place] = j, place, at.vague[last]


@kernel(INSIDE)
def move(at: Any, j: int) -> None:
    """Bring the blocks up to date with what is free on machine j. Cost O(m sqrt(N)), mostly O(m + log N)."""
    B, m, row, b = len(at.counts), len(at.least), at.row, at.place[j] // at.size
    vague = _measure(at, j, row)
    if B == 1:  # nothing to bound: the machine stays where it is
        at.vague[at.place[j]] = vague
        for c in range(len(row)):
            at.columns[c, at.place[j]] = row[c]
        _logarithms(at.columns, at.logs, m, at.place[j])
        return
    _leave(at, at.place[j], b)
    if row[0] > -np.inf:
        node, by = 1, at.leads[0]
        while node < B:
            by = _next_ratio(by, at.leads[0], m)
            value = row[m + 2 * by]
            left = value < at.cuts[node] or (value == at.cuts[node] and j < at.pivots[node])
            node = 2 * node if left else 2 * node + 1
        new = node - B if at.counts[node - B] < at.size else b
        _enter(at, j, new, row, vague)
        _logarithms(at.tops, at.top_logs, m, new)
    _logarithms(at.tops, at.top_logs, m, b)


@kernel(INSIDE)
def _distances(
    columns: Any,
    logs: Any,
    unit: Any,
    lead: int,
    kind: int,
    needs: Any,
    forms: Any,
    i: int,
    k: int,
    begin: int,
    end: int,
    far: Any,
) -> None:
    """Write the least distances of a task of user i from what stands at some places; infinite where it does not fit."""
    m, size = needs.shape[1], end - begin
    far[:size] = 0.0
    for r in range(m):
        low, high = columns[m + 2 * (k * m + r), begin:end], columns[m + 2 * (k * m + r) + 1, begin:end]
        form, scale = forms[i, r], unit[k, r]
        if kind == DISTANCE and r != lead:
            for p in range(size):
                below, above = -low[p] - form, form - high[p]
                some = below if below > above else above
                far[p] = far[p] + (some if some > 0.0 else 0.0) * scale
        elif kind == ENTROPY and needs[i, r] > 0.0:
            log_low, log_high = logs[2 * (k * m + r), begin:end], logs[2 * (k * m + r) + 1, begin:end]
            log = np.log(form)
            for p in range(size):
                log_part = log_low[p] if form < -low[p] else log_high[p] if form > high[p] else log
                far[p] = far[p] - form * log_part
    if kind == ENTROPY:
        # mixes sum to 1: of all points of the box this one has the least -sum p log q + sum q - 1
        for p in range(size):
            wide, total = 0.0, 0.0
            for r in range(m):
                low_one, high_one = (
                    -columns[m + 2 * (k * m + r), begin + p],
                    columns[m + 2 * (k * m + r) + 1, begin + p],
                )
                wide += high_one - low_one
                total += min(max(forms[i, r], low_one), high_one)
            if wide > 0.0:
                far[p] = far[p] + (total - 1.0) - 1e-13 * (1.0 + abs(far[p]))
    for r in range(m):
        most, need = columns[r, begin:end], needs[i, r]
        for p in range(size):
            far[p] = far[p] if need <= most[p] else np.inf


@kernel(INSIDE)
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


@kernel(INSIDE)
def renew_few(columns: Any, free: Any, room: Any, leads: Any, j: int) -> None:
    """Write down what is free on machine j where one block holds all in their order, and sizes do not count."""
    m = free.shape[1]
    for r in range(m):
        columns[r, j] = room[j, r]
    for k in range(len(leads)):
        ahead = free[j, leads[k]]
        for r in range(m):
            ratio = free[j, r] / ahead if ahead > 0.0 else np.inf
            columns[m + 2 * (k * m + r), j] = -ratio
            columns[m + 2 * (k * m + r) + 1, j] = ratio if ahead > 0.0 else -np.inf


@kernel(INSIDE)
def nearest_of_few(columns: Any, unit: Any, lead: int, needs: Any, forms: Any, i: int, k: int, far: Any) -> int:
    """Look at each machine that :func:`renew_few` wrote down; what holds blocks would cost more to be passed on."""
    _distances(columns, columns, unit, lead, DISTANCE, needs, forms, i, k, 0, len(far), far)
    best = 0
    for p in range(1, len(far)):
        if far[p] < far[best]:
            best = p
    return best if far[best] < np.inf else -1


@kernel(INSIDE)
def nearest(at: Any, needs: Any, forms: Any, i: int, k: int) -> int:
    """Give the nearest machine with room for a task of user i (lead k), ties by the lowest number; or -1."""
    B, size, counts, machines, lowest = len(at.counts), at.size, at.counts, at.machines, at.lowest
    columns, logs, unit, kind, lead, vague = at.columns, at.logs, at.unit, at.kind, at.leads[k], at.vague
    bounds, far = at.bounds, at.far
    first, bounds[0] = 0, -np.inf
    if B > 1:
        _distances(at.tops, at.top_logs, unit, lead, kind, needs, forms, i, k, 0, B, bounds)
    for b in range(1, B):
        if bounds[b] < bounds[first]:
            first = b
    best, machine, looked = np.inf, -1, 0
    for turn in range(-1, B):
        b = first if turn < 0 else turn
        if bounds[b] > best or bounds[b] == np.inf or (bounds[b] == best and lowest[b] >= machine):
            continue
        begin, count = b * size, counts[b]
        looked += count
        _distances(columns, logs, unit, lead, kind, needs, forms, i, k, begin, begin + count, far)
        for p in range(count):
            if far[p] <= best:
                some, j = far[p], machines[begin + p]
                if vague[begin + p] and some < np.inf:
                    some = _exact(at.free, lead, unit, kind, needs, forms, i, k, j)
                if some < best or (some == best and j < machine):
                    best, machine = some, j
        bounds[b] = np.inf
    at.work[0] += max(looked - size, 0)
    return machine
