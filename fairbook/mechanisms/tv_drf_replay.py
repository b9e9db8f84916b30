"""What tasks of TV-DRF take when they are served in order, gone through once more: certificates of a run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairbook.kernels import ALWAYS, kernel
from fairbook.mechanisms.engines.tv_drf_kernels import FITS, SPLIT
from fairbook.model.inputs import FloatArray


@kernel(ALWAYS)
def replay_alone(
    rate: FloatArray,
    bounds: FloatArray,
    machines: FloatArray,
    parts: FloatArray,
    own: FloatArray,
    waits: bool,
    whole: bool,
    rtol: float,
) -> NDArray[np.bool_]:
    """Say of each period and user whether ``own`` is what its queue runs on its own parts, up to ``rtol`` of the pool.

    All as parts of the pool. How far a queue has come follows from the amounts added up over resources: each task adds
    to them. Cost O(T n K m).
    """
    T, n, m = rate.shape
    K = len(machines)
    right = np.zeros((T, n), dtype=np.bool_)
    room, made, fits = np.empty((K, m)), np.empty(m), np.empty(K)
    for i in range(n):
        head, rest = 0, bounds[0, i]
        for t in range(T):
            if not waits:
                head, rest = t, bounds[t, i]
            for k in range(K):
                for j in range(m):
                    room[k, j] = machines[k, j] * parts[i, k]
            want, stands = own[t, i].sum(), True
            made[:] = 0.0
            while head <= t:
                size = rate[head, i].sum()
                if rest > 0.0 and size > 0.0:
                    for k in range(K):
                        fits[k] = np.inf
                        for j in range(m):
                            if rate[head, i, j] > 0.0:
                                # half of what the run allows: less than that was refused, a tie is more
                                spare = FITS / 2.0 * machines[k, j] * parts[i, k] if whole else 0.0
                                fits[k] = min(fits[k], (room[k, j] + spare) / rate[head, i, j])
                    most = fits.sum()
                    some = min(max(want, 0.0) / size, rest)
                    if whole:
                        some = np.floor(some + 0.5)
                    stands &= (some - most) * size <= rtol
                    for j in range(m):
                        made[j] += some * rate[head, i, j]
                        if most > 0.0:
                            for k in range(K):
                                room[k, j] = max(room[k, j] - some * fits[k] / most * rate[head, i, j], 0.0)
                    want -= some * size
                    rest -= some
                    if rest * size > rtol:  # it stops here, as there is no room
                        more = min(most - some, rest)
                        stands &= more < 1.0 if whole else more * size <= rtol
                        break
                head += 1
                if head <= t:
                    rest = bounds[head, i]
            for j in range(m):
                stands &= abs(made[j] - own[t, i, j]) <= rtol
            right[t, i] = stands
            if head > t and t + 1 < T:
                head, rest = t + 1, bounds[t + 1, i]
    return right


@kernel()
def replay(
    rate: FloatArray, bounds: FloatArray, tasks: FloatArray, weights: FloatArray, waits: bool, near: float
) -> tuple[FloatArray, FloatArray, FloatArray, NDArray[np.int64]]:
    """Give what given tasks take when they are served in the order of submission.

    Returns amounts as parts of the pool (T, n, m); what they add to G (T, n); how far amounts may be off because a
    group may have ended a rounding error earlier or later (T, n, m), where ``near`` is that error; the period that
    submitted the next task (T, n). Cost O(T n m).
    """
    T, n, m = rate.shape
    amounts, gained, slop = np.zeros((T, n, m)), np.zeros((T, n)), np.zeros((T, n, m))
    following = np.zeros((T, n), dtype=np.int64)
    for i in range(n):
        head, rest = 0, bounds[0, i]
        for t in range(T):
            want = tasks[t, i]
            if not waits:
                head, rest = t, bounds[t, i]
            while True:
                error = near * (tasks[t, i] + bounds[head, i]) if near > 0.0 else 0.0
                some = want if want < rest - error else rest
                if not waits:
                    some = want
                if some > 0.0 and want > 0.0:
                    largest = 0.0
                    for j in range(m):
                        amounts[t, i, j] += some * rate[head, i, j]
                        largest = max(largest, rate[head, i, j])
                    gained[t, i] += some * largest / weights[i]
                if waits:
                    for j in range(m):
                        slop[t, i, j] += error * rate[head, i, j]
                if not waits or want < rest - error:
                    rest -= max(some, 0.0)
                    break
                want -= rest
                if head == t:
                    rest = 0.0
                    break
                head += 1
                rest = bounds[head, i]
                if not want > error:
                    break
            while head < t and not rest > 0.0:  # nothing was submitted then
                head += 1
                rest = bounds[head, i]
            following[t, i] = head
            if waits and rest <= 0.0 and head == t and t + 1 < T:
                head, rest = t + 1, bounds[t + 1, i]
    return amounts, gained, slop, following


@kernel()
def refused(
    rate: FloatArray,
    following: NDArray[np.int64],
    stops: NDArray[np.int64],
    free: FloatArray,
    left: FloatArray,
    sizes: FloatArray,
    rtol: float,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Say of each user with tasks left whether the resource named falls short, and whether no machine has room.

    All as parts of the pool: tasks (T, n, m), what is left of it (T, m) and of each machine (T, K, m), sizes (K, m).
    """
    T, n, m = rate.shape
    short, none = np.ones((T, n), dtype=np.bool_), np.ones((T, n), dtype=np.bool_)
    for t in range(T):
        for i in range(n):
            j = stops[t, i]
            if j >= m:  # no resource falls short that is not there
                short[t, i] = False
                continue
            if j < 0 and j != SPLIT:
                continue
            task = rate[following[t, i], i]
            if j >= 0:
                short[t, i] = task[j] > free[t, j] - rtol
            for k in range(len(sizes)):
                fits = True
                for f in range(m):
                    fits &= task[f] <= left[t, k, f] - rtol * sizes[k, f]
                if fits:
                    none[t, i] = False
    return short, none
