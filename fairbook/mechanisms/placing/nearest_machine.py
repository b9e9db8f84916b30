"""Find the machine that suits a task best without looking at each of them.

How well a machine suits depends on what is free on it: best fit adds up how far the ratios of what is free are from
those of the task, relative entropy compares mixes. Machines stand in blocks, sorted by one such number; of a block the
largest room and the span of each number are known. No machine in it suits better than the spans allow, as computed, for
rounding is monotone: a block whose bound is worse than the best machine found holds no better one. Ties go to the
lowest number. So the machine found is that of a scan.

A task placed widens the spans of its block, which are measured anew where a look into the block was in vain. Once there
were so many of these that it costs as much, the machines are sorted anew, full ones aside.

Kernels with ``_nrt=False`` make no arrays, so numba need not count who refers to those that they are given; counting
took three quarters of the time.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairbook.kernels import INSIDE, kernel
from fairbook.model.inputs import TIED, FloatArray

DISTANCE, ENTROPY = 0, 1

#: Looks into a block in vain, for each machine and the square of the resources, until these are sorted anew.
PATIENCE = 0.25

S = 64  # machines of a block


class Machines(NamedTuple):
    """N machines with what is free on them, m resources, in B blocks of S; L resources lead."""

    #: What is free, shape (N, m).
    free: FloatArray
    #: The largest task that fits, shape (N, m).
    room: FloatArray
    #: The least that a task needs of each resource, shape (m,): a machine with less room is full.
    least: FloatArray
    #: The resources by which ratios are taken, shape (L,).
    leads: NDArray[np.int64]
    #: Factors that make ratios comparable, shape (L, m).
    unit: FloatArray
    #: DISTANCE or ENTROPY.
    kind: int
    #: A column for each machine, in order of their places, shape (m + W, N): room, then the ratios by each lead
    #:   (DISTANCE) or the logarithms of the parts of the mix (ENTROPY).
    seen: FloatArray
    #: The least and the largest of these in each block, shape (m + W, B).
    low: FloatArray
    high: FloatArray
    #: The machine at each place, ascending within a block, and the place of each machine, shape (N,).
    number: NDArray[np.int64]
    place: NDArray[np.int64]
    #: Looks in vain since all was sorted, and machines in blocks, shape (2,).
    work: NDArray[np.int64]
    #: To work in: (B,), (S,).
    bounds: FloatArray
    far: FloatArray


def as_machines(
    free: FloatArray, room: FloatArray, least: FloatArray, leads: Any, unit: FloatArray, kind: int
) -> Machines:
    """Make room for machines in blocks, which :func:`build` has to fill."""
    N, m = free.shape
    C, B = m + (m if kind == ENTROPY else m * len(leads)), -(-N // S)
    number, place = np.zeros((2, N), np.int64)
    low, high = np.empty((2, C, B))
    work, seen = np.array([1 << 62, 0]), np.empty((C, N))
    return Machines(
        free, room, least, leads, unit, kind, seen, low, high, number, place, work, np.empty(B), np.empty(S)
    )


@kernel(INSIDE, _nrt=False, forceinline=True)
def _ahead(free: Any, room: Any, j: int, r: int) -> float:
    """Give what is free of a resource, to divide by; where there is nothing, what still fits by tolerance."""
    return free[j, r] if free[j, r] > 0.0 else room[j, r]


@kernel(INSIDE, _nrt=False, forceinline=True)
def _measure(at: Any, j: int, p: int) -> bool:
    """Write what is known of machine j to a place; False where it is full."""
    free, room, leads, unit, seen, m = at.free, at.room, at.leads, at.unit, at.seen, len(at.least)
    fits = True
    for r in range(m):
        fits &= room[j, r] >= at.least[r]
        seen[r, p] = room[j, r]
    if not fits:
        seen[0, p] = -np.inf
        return False
    if at.kind == DISTANCE:
        for k in range(len(leads)):
            ahead = _ahead(free, room, j, leads[k])
            for r in range(m):
                seen[m + k * m + r, p] = free[j, r] / ahead if ahead > 0.0 else np.inf
        return True
    lead, whole = 0, 0.0
    while _ahead(free, room, j, lead) <= 0.0:
        lead += 1
    ahead = _ahead(free, room, j, lead)
    for r in range(m):
        whole += free[j, r] / ahead * unit[0, r]
    for r in range(m):
        part = _ahead(free, room, j, r) / ahead * unit[0, r]
        seen[m + r, p] = math.log(part / whole) if part > 0.0 else -np.inf
    return True


@kernel(INSIDE, _nrt=False)
def _gather(at: Any, b: int) -> None:
    """Measure the spans of a block."""
    for c in range(len(at.seen)):
        low, high = np.inf, -np.inf
        for p in range(b * S, min((b + 1) * S, at.work[1])):
            low, high = min(low, at.seen[c, p]), max(high, at.seen[c, p])
        at.low[c, b], at.high[c, b] = low, high


@kernel(lambda at: 10 * at.free.size)
def build(at: Any) -> None:
    """Sort all machines that are not full into blocks. Cost O(N (m + log N))."""
    seen, number, m = at.seen, at.number, len(at.least)
    M = 0
    for j in range(len(at.place)):
        if _measure(at, j, M):
            number[M] = j
            M += 1
    by = m + min(m - 1, 1 - min(at.leads[0], 1))  # the ratio of what leads is one
    order = np.argsort(seen[by, :M], kind="mergesort")
    for first in range(0, M, S):
        order[first : first + S] = np.sort(order[first : first + S])
    number[:M] = number[:M][order]
    for c in range(len(seen)):
        seen[c, :M] = seen[c, :M][order]
    for p in range(M):
        at.place[number[p]] = p
    at.work[0], at.work[1] = 0, M
    for b in range(0, M, S):
        _gather(at, b // S)


@kernel(INSIDE, _nrt=False, forceinline=True)
def move(at: Any, j: int) -> None:
    """Write down what is free on machine j now. Cost O(m)."""
    seen, low, high, p = at.seen, at.low, at.high, at.place[j]
    b = p // S
    if _measure(at, j, p):
        for c in range(len(seen)):
            low[c, b], high[c, b] = min(low[c, b], seen[c, p]), max(high[c, b], seen[c, p])


@kernel(INSIDE, _nrt=False, forceinline=True)
def _distances(
    at: Any, low: Any, high: Any, begin: int, out: Any, size: int, i: int, k: int, needs: Any, forms: Any
) -> int:
    """Give the least distance of a task of user i (lead k) from what lies in some spans; infinite where none fits.

    In plain loops, of which a compiler makes vectors. Return where the least of all is, of several the first.
    """
    m = needs.shape[1]
    for q in range(size):
        out[q] = 0.0
    for r in range(m):
        form, scale = forms[i, r], at.unit[k, r]
        if at.kind == DISTANCE:
            if r == at.leads[k]:
                continue
            least, most = low[m + k * m + r], high[m + k * m + r]
            for q in range(size):
                below, above = form - most[begin + q], least[begin + q] - form
                apart = max(below, above)
                out[q] += (apart if apart > 0.0 else 0.0) * scale
        elif form > 0.0:
            most = high[m + r]
            for q in range(size):
                out[q] -= form * most[begin + q]
    for r in range(m):
        need, most = needs[i, r], high[r]
        for q in range(size):
            out[q] = out[q] if need <= most[begin + q] else np.inf
    best = 0
    for q in range(1, size):
        if out[q] < out[best]:
            best = q
    return best


@kernel(INSIDE, _nrt=False, forceinline=True)
def tired(at: Any) -> bool:
    """Tell whether so many looks were in vain that :func:`build` costs less."""
    return bool(at.work[0] > PATIENCE * len(at.place) * len(at.least) ** 2)


@kernel(INSIDE, _nrt=False, forceinline=True)
def nearest(at: Any, needs: Any, forms: Any, i: int, k: int) -> int:
    """Give the nearest machine with room for a task of user i (lead k), ties by the lowest number; or -1."""
    bounds, far, number, M = at.bounds, at.far, at.number, at.work[1]
    B, found, low, high = (M + S - 1) // S, -1, np.inf, np.inf  # what ties with the one found lies between the two
    promising = _distances(at, at.low, at.high, 0, bounds, B, i, k, needs, forms)
    for turn in range(B):
        b = promising if turn == 0 else turn - (turn <= promising)
        if bounds[b] > high or bounds[b] == np.inf or (number[b * S] > found and bounds[b] >= low):
            continue
        q = _distances(at, at.seen, at.seen, b * S, far, min(S, M - b * S), i, k, needs, forms)
        limit, p = far[q] + TIED * max(1.0, far[q]), 0
        while far[p] > limit:
            p += 1
        if far[p] < low or (number[b * S + p] < found and far[p] <= high):
            found = number[b * S + p]
            low, high = far[p] - TIED * max(1.0, far[p]), far[p] + TIED * max(1.0, far[p])
        else:
            at.work[0] += 1
            _gather(at, b)
    return found
