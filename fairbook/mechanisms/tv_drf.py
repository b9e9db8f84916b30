"""TV-DRF (Li et al. 2019): contributed machines, demands that change with time, fairness over all periods so far.

Users bring parts of machines. In period t user i submits up to B_i(t) tasks that need alpha_i(t) each and last one
period; then all machines are empty again. Two numbers carry fairness over time, both added up over the periods so far:

* the *cumulative share* G_i = sum of N_i r_i / w_i, where N_i is the number of tasks run, r_i the dominant share of one
  task and w_i what i brought;
* the *sharing coefficient* beta_i = min over j of (resource j used) / (resource j that i would have had alone).

The mechanism is the lexicographic max-min optimum of G(t) among the allocations with beta(t) >= 1, period by period,
what was used before being history. :func:`tv_drf` runs the authors' heuristic in whole tasks, or this optimum itself,
fluid.

Readings, since most formulas of the paper are lost:

* **alone**. ``"bundles"``: the amounts of the tasks that i could run on its own parts of the machines, fractions of
  tasks allowed. ``"whole_bundles"``: the same, rounded down to whole tasks after adding up over machines (on several of
  them the sum may hold tasks that no single part does). ``"resources"``: of each resource by itself
  the smaller of what all submitted tasks need and what i brought; what no task vector can use counts, too.
* **unserved**. ``"expires"``: tasks not run in their period are gone, in the pool and alone. ``"waits"``: they queue,
  in the pool and, by what would have been left over there, alone. A queue is served in the order of submission: tasks
  keep the demand vector of the period that submitted them, and none overtakes an older one of the same user, not even
  where the older one does not fit. (Alone in the reading ``"resources"`` each resource has a queue of its own.)
* **0/0**. beta_i is the least ratio over the resources that i would have had some of, so far. Where there is none, beta
  is 1 if i has used nothing and infinite if it has.
* **best fit (17)**, after DRFH. Demand and what is left on a machine, both as parts of the pool's totals, are divided
  by their entry for the first resource that the task needs; the distance is the sum of the absolute differences. (Where
  the first resource of all is needed, that is DRFH's.) Among the machines that hold the task the nearest one takes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal

import numba
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.mechanisms.phased import PhasedRun
from fairbook.model.allocation import Allocation
from fairbook.model.inputs import (
    LARGEST,
    FloatArray,
    Named,
    Names,
    as_tolerance,
    as_weights,
    as_whole,
    check_amounts,
    check_demands,
    demand_matrix,
    number_of_dimensions,
    order_of,
    per_user,
    phased_demands,
)
from fairbook.model.result import labels_or_positions, position

__all__ = ["TvDrfRun", "tv_drf"]

Alone = Literal["bundles", "whole_bundles", "resources"]

_UNSET = -4  # marks a user whom nothing has stopped yet
_IDLE, _SPLIT, _DONE = -3, -2, -1

#: A task fits if it leaves no resource of the machine below minus this part of its capacity: ten tenths fill a unit.
FITS = 1e-12

#: The heuristic hands out no more whole tasks than about this, and keeps no more numbers on their machines.
MOST = 1e9

#: Fluid: a coefficient above 1 minus this is 1; what is left of a resource of the pool is none up to this part of it.
NEAR = 1e-13

# ------------------------------------------------------------------------------------------------------- alone


@numba.njit(cache=True, error_model="numpy")
def _alone(demands: Any, bounds: Any, machines: Any, parts: Any, waits: bool, whole: bool, rounding: Any,
           own: Any) -> None:
    """Fill ``own`` (zeros, (T, n, m)) with what each user could run on its own parts, a queue in order of submission.

    A group of tasks is spread over the own parts in proportion to what each of them could still run of it. Where
    all machines have the same shape this is the same as one merged part. ``parts`` has shape (n, K).
    What is left of a part or of a group is none where it is at most ``rounding`` of all of it: a queue must not wait
    for what only rounding has left over. Also runs on fractions, with ``rounding`` 0. Cost O(T n K m) where nothing
    waits.
    """
    T, n, m = demands.shape
    K = len(machines)
    zero = machines[0, 0] * 0
    for i in range(n):
        head = 0
        left = bounds[0, i]
        room = machines.copy()
        runs = machines[:, 0].copy()
        for t in range(T):
            if not waits:
                head = t
                left = bounds[t, i]
            elif head == t:
                left = bounds[t, i]
            for k in range(K):
                for j in range(m):
                    room[k, j] = machines[k, j] * parts[i, k]
            while head <= t:
                if left > 0:
                    possible = zero
                    for k in range(K):
                        runs[k] = zero
                        first = True
                        for j in range(m):
                            if demands[head, i, j] > 0:
                                fit = room[k, j] / demands[head, i, j]
                                if whole:
                                    fit += rounding * machines[k, j] * parts[i, k] / demands[head, i, j]
                                if first or fit < runs[k]:
                                    runs[k] = fit
                                first = False
                        possible += runs[k]
                    some = possible if possible < left * (1 - rounding) else left
                    if whole:
                        some = some // 1
                    if some > 0:
                        for j in range(m):
                            own[t, i, j] += some * demands[head, i, j]
                            for k in range(K):
                                rest = room[k, j] - some * runs[k] / possible * demands[head, i, j]
                                room[k, j] = rest if rest > rounding * machines[k, j] * parts[i, k] else zero
                    left -= some
                    if left > rounding * bounds[head, i]:
                        break
                head += 1
                if head <= t:
                    left = bounds[head, i]


def _alone_resources(demands: Any, bounds: Any, brought: Any, waits: bool) -> Any:
    """Give the smaller of what the tasks need and what the user brought, of each resource by itself, (T, n, m)."""
    own = demands * bounds[:, :, None]
    backlog = own[0] * 0
    for t in range(len(own)):
        asked = own[t] + backlog
        own[t] = np.minimum(asked, brought)
        if waits:
            backlog = asked - own[t]
    return own


@numba.njit(cache=True, error_model="numpy")
def _ratio(used: FloatArray, owned: FloatArray) -> float:
    """Sharing coefficient of one user."""
    least, some = np.inf, False
    for j in range(len(used)):
        if owned[j] > 0.0:
            least = min(least, used[j] / owned[j])
        some |= used[j] > 0.0
    return 1.0 if least == np.inf and not some else least


@numba.njit(cache=True, error_model="numpy")
def _coefficients(amounts: FloatArray, own: FloatArray) -> FloatArray:
    """Sharing coefficients after each period, (T, n)."""
    T, n, m = amounts.shape
    used, owned, beta = np.zeros((n, m)), np.zeros((n, m)), np.empty((T, n))
    for t in range(T):
        for i in range(n):
            for j in range(m):
                used[i, j] += amounts[t, i, j]
                owned[i, j] += own[t, i, j]
            beta[t, i] = _ratio(used[i], owned[i])
    return beta


# --------------------------------------------------------------------------------------------------- heuristic


@numba.njit(cache=True, error_model="numpy")
def _build(tree: NDArray[np.int32], keys: FloatArray) -> None:
    """Set up a tournament: ``tree[1]`` is the place of the least key, the first one among equals.

    ``tree`` has shape (2 s,), s a power of two and at least the number of keys; the places themselves stand at s +
    place.
    """
    size = len(tree) // 2
    for node in range(size - 1, 0, -1):
        a, b = tree[2 * node], tree[2 * node + 1]
        tree[node] = b if keys[b] < keys[a] else a


@numba.njit(cache=True, error_model="numpy")
def _lift(tree: NDArray[np.int32], keys: FloatArray, place: int) -> None:
    """Replay the games of one place after its key has changed. Cost O(log s)."""
    node = (len(tree) // 2 + place) // 2
    while node >= 1:
        a, b = tree[2 * node], tree[2 * node + 1]
        tree[node] = b if keys[b] < keys[a] else a
        node //= 2


@numba.njit(cache=True, error_model="numpy")
def _nearest(want: FloatArray, form: FloatArray, unit: FloatArray, lead: int, limit: FloatArray, ratio: FloatArray,
             begin: int, end: int, distance: FloatArray) -> int:
    """Place of the least best-fit distance (17) of a task to machines ``begin`` to ``end``, the first among equals.

    Write the distances to ``distance``, infinite where the task does not fit. Ratios are of amounts as given, so that
    machines whose remainders are in proportion tie exactly. One plain loop a resource, for a compiler to make vectors
    of.
    """
    some, row = ratio[lead, lead, begin:end], distance[:end - begin]
    for k in range(len(row)):
        row[k] = 0.0 if some[k] > 0.0 else np.inf
    for j in range(len(want)):
        have, most, task, side, scale = ratio[lead, j, begin:end], limit[j, begin:end], want[j], form[j], unit[j]
        for k in range(len(row)):
            row[k] = row[k] + abs(side - have[k]) * scale if task <= most[k] else np.inf
    best, least = 0, row[0]
    for k in range(1, len(row)):
        if row[k] < least:
            best, least = k, row[k]
    return best


@numba.njit(cache=True, error_model="numpy")
def _measure(k: int, left: FloatArray, low: FloatArray, allow: FloatArray, leads: NDArray[np.bool_], limit: FloatArray,
             ratio: FloatArray) -> None:
    """Write down of machine k: of each resource the largest task that fits; what is left of j per what is left of f."""
    m = len(leads)
    for j in range(m):
        limit[j, k] = left[k, j] + low[k, j] + allow[k, j]
    for f in range(m):
        if leads[f]:
            free = left[k, f] + low[k, f]
            for j in range(m):
                ratio[f, j, k] = (left[k, j] + low[k, j]) / free if free > 0.0 else 0.0


@numba.njit(cache=True, error_model="numpy")
def _heuristic(demands: FloatArray, bounds: FloatArray, machines: FloatArray, weights: FloatArray, own: FloatArray,
               waits: bool, memory: bool, tasks: FloatArray, amounts: FloatArray, machine_use: FloatArray,
               beta: FloatArray, cumulative: FloatArray, unserved: FloatArray, stops: NDArray[np.int64],
               placement: NDArray[np.int32]) -> None:
    """Run Algorithm 1 over all periods.

    Users stand in a tournament keyed by beta until everyone who can still run a task has beta >= 1, then by G. Machines
    stand in blocks. Each user keeps the nearest machine of every block; on its turn it looks again only at the blocks
    where something was placed since its last turn and where its task still fits. What is left of a machine is a sum of
    two doubles, so that a million subtractions leave no error.
    """
    T, n, m = demands.shape
    K = len(machines)
    total = np.zeros(m)
    for k in range(K):
        total += machines[k]
    scale = 1.0 / total
    allow = machines * FITS
    width, seats = 128, 1
    while width * width < K:
        width *= 2
    while seats < n:
        seats *= 2
    blocks = (K + width - 1) // width
    nearest, least = np.zeros((n, blocks), dtype=np.int32), np.full((n, blocks), np.inf)
    distance = np.empty(width)
    user_tree = np.empty(2 * seats, dtype=np.int32)
    key = np.full(seats, np.inf)
    for i in range(seats):
        user_tree[seats + i] = i
    leads = np.zeros(m, dtype=np.bool_)  # the first resource of some task
    for t in range(T):
        for i in range(n):
            for j in range(m):
                if demands[t, i, j] > 0.0:
                    leads[j] = True
                    break
    left, low = machines.copy(), machines * 0.0
    limit, ratio = np.zeros((m, K)), np.zeros((m, m, K))
    free, known = np.zeros(m), -1  # what is left in the pool, and when that was
    changed = np.empty(blocks, dtype=np.int64)
    seen = np.empty(n, dtype=np.int64)  # -1: this user's distances are not those of its head task
    head = np.zeros(n, dtype=np.int64)
    rest = np.zeros(n)
    run = np.zeros(n)  # tasks of the head group run in this period
    used, owned, level = np.zeros((n, m)), np.zeros((n, m)), np.zeros(n)
    past = np.zeros(n)  # G of what is no longer counted
    need, shape, unit = np.zeros((n, m)), np.zeros((n, m)), np.zeros((n, m))
    first = np.zeros(n, dtype=np.int64)
    weight = np.zeros(n)  # what one task of the head group adds to G
    now, held = np.empty(m), np.zeros(n)
    for t in range(T):
        for k in range(K):
            for j in range(m):
                left[k, j] = machines[k, j]
                low[k, j] = 0.0
            _measure(k, left, low, allow, leads, limit, ratio)
        changed[:] = 0
        stamp, known = 0, -1
        for i in range(n):
            stops[t, i] = _UNSET
            if not memory:
                past[i] += level[i]
                level[i] = 0.0
                used[i] = 0.0
                owned[i] = 0.0
            for j in range(m):
                owned[i, j] += own[t, i, j]
            if not waits:
                head[i] = t
                rest[i] = bounds[t, i]
                held[i] = 0.0
            elif head[i] == t:
                rest[i] = bounds[t, i]
            held[i] += bounds[t, i]
            if held[i] == 0.0:
                stops[t, i] = _IDLE
        for phase in range(2):
            for i in range(n):
                key[i] = np.inf
                if stops[t, i] == _UNSET:
                    if phase == 1:
                        key[i] = level[i]
                    else:
                        coefficient = _ratio(used[i], owned[i])
                        if coefficient < 1.0 - FITS:
                            key[i] = coefficient
                    run[i] = 0.0
                    seen[i] = -1
            _build(user_tree, key)
            while True:
                i = user_tree[1]
                if key[i] == np.inf:
                    break
                if seen[i] < 0:  # a new group of tasks
                    while rest[i] <= 0.0 and head[i] < t:
                        head[i] += 1
                        rest[i] = bounds[head[i], i]
                    if rest[i] <= 0.0:
                        stops[t, i] = _DONE
                        key[i] = np.inf
                        _lift(user_tree, key, i)
                        continue
                    dominant = 0.0
                    first[i] = -1
                    for j in range(m):
                        need[i, j] = demands[head[i], i, j]
                        dominant = max(dominant, need[i, j] * scale[j])
                        if first[i] < 0 and need[i, j] > 0.0:
                            first[i] = j
                    for j in range(m):
                        shape[i, j] = need[i, j] / need[i, first[i]]
                        unit[i, j] = scale[j] / scale[first[i]]
                    weight[i] = dominant / weights[i]
                    least[i] = -1.0
                best = 0
                for block in range(blocks):
                    if changed[block] > seen[i] and least[i, block] < np.inf:
                        begin = block * width
                        k = _nearest(need[i], shape[i], unit[i], first[i], limit, ratio, begin,
                                     min(begin + width, K), distance)
                        least[i, block], nearest[i, block] = distance[k], begin + k
                    if least[i, block] < least[i, best]:
                        best = block
                seen[i] = stamp
                if least[i, best] == np.inf:
                    if known != stamp:
                        for j in range(m):
                            free[j] = 0.0
                            for g in range(K):
                                free[j] += left[g, j]
                        known = stamp
                    stops[t, i] = _SPLIT
                    for j in range(m):
                        if free[j] < need[i, j] - total[j] * FITS and stops[t, i] == _SPLIT:
                            stops[t, i] = j
                    key[i] = np.inf
                    _lift(user_tree, key, i)
                    for j in range(m):
                        used[i, j] += run[i] * need[i, j]
                        amounts[t, i, j] += run[i] * need[i, j]
                    level[i] += run[i] * weight[i]
                    run[i] = 0.0
                    continue
                k = nearest[i, best]
                stamp += 1
                changed[best] = stamp
                for j in range(m):  # Knuth's exact difference
                    difference = left[k, j] - need[i, j]
                    back = difference - left[k, j]
                    low[k, j] += (left[k, j] - (difference - back)) - (need[i, j] + back)
                    left[k, j] = difference
                _measure(k, left, low, allow, leads, limit, ratio)
                if placement.shape[0] > 0:
                    placement[t, i, k] += 1
                run[i] += 1.0
                rest[i] -= 1.0
                held[i] -= 1.0
                tasks[t, i] += 1.0
                leaves, coefficient = False, 0.0
                if phase == 0:
                    for j in range(m):
                        now[j] = used[i, j] + run[i] * need[i, j]
                    coefficient = _ratio(now, owned[i])
                    leaves = coefficient >= 1.0 - FITS
                if rest[i] <= 0.0 or leaves:  # write down what was run of this group
                    for j in range(m):
                        used[i, j] += run[i] * need[i, j]
                        amounts[t, i, j] += run[i] * need[i, j]
                    level[i] += run[i] * weight[i]
                    run[i] = 0.0
                    seen[i] = -1
                if held[i] <= 0.0:
                    stops[t, i] = _DONE
                    key[i] = np.inf
                elif leaves:
                    key[i] = np.inf
                else:
                    key[i] = coefficient if phase == 0 else level[i] + run[i] * weight[i]
                _lift(user_tree, key, i)
        for i in range(n):
            beta[t, i] = _ratio(used[i], owned[i])
            cumulative[t, i] = past[i] + level[i]
            unserved[t, i] = held[i]
        for k in range(K):
            for j in range(m):
                machine_use[t, k, j] = (machines[k, j] - left[k, j]) - low[k, j]


# ------------------------------------------------------------------------------------------------------- fluid


@numba.njit(cache=True, error_model="numpy")
def _rise(need: Any, begin: Any, end: Any, owner: Any, rising: Any, ending: Any, slack: Any, tree: Any, gained: Any,
          whole: Any, stops: Any, near: Any) -> None:
    """Progressive filling along paths: exactly, from event to event.

    A path is a chain of pieces. While the clock runs from ``begin[p]`` to ``end[p]`` the owner of piece p takes
    ``need[p, j]`` of resource j per unit of the clock, unless a resource that it needs is used up: that stops the owner
    for good. Pieces of one owner follow each other without a gap. ``rising`` and ``ending`` sort the pieces by begin
    and end (stable, an owner's pieces in their order). ``gained`` (clock units), ``whole`` (pieces gone through),
    ``stops`` (by owner, _UNSET before) and ``slack`` receive the result. ``tree`` (zeros, (2 p, m)) adds up needs in
    pairs, so that who stops is left out rather than subtracted. A piece that ends as a resource is used up has ended,
    and its owner goes on to the next one; in doubles the two may come apart, so a resource is used up where at most
    ``near`` of the pool is left of it, and may be overdrawn by that. Also runs on fractions, with ``near`` 0.
    Cost O(p m log p + n m^2 + p m^2) for p pieces.
    """
    count, m = need.shape
    up = 0
    down = 0
    clock = begin[rising[0]]
    while down < count:
        p = ending[down]
        if whole[p] or stops[owner[p]] != _UNSET:
            down += 1
            continue
        starts = up < count and begin[rising[up]] < end[p]  # where both happen at once, ends come first
        if starts:
            p = rising[up]
            if whole[p] or stops[owner[p]] != _UNSET:
                up += 1
                continue
        target = begin[p] if starts else end[p]
        step = target - clock
        short = False
        for j in range(m):
            if tree[1, j] * step > slack[j] + near:
                short = True
        if not short:
            for j in range(m):
                slack[j] -= tree[1, j] * step
            clock = target
            if starts:
                up += 1
                for j in range(m):
                    if need[p, j] > 0 and slack[j] <= near and stops[owner[p]] == _UNSET:
                        stops[owner[p]] = j
                starts = stops[owner[p]] == _UNSET
            else:
                down += 1
                gained[p] = end[p] - begin[p]
                whole[p] = True
            place = count + p
            for j in range(m):
                tree[place, j] = need[p, j] if starts else need[p, j] * 0
            while place > 1:
                place //= 2
                for j in range(m):
                    tree[place, j] = tree[2 * place, j] + tree[2 * place + 1, j]
            continue
        step = np.inf
        for j in range(m):
            if tree[1, j] > 0:
                left = slack[j] / tree[1, j] if slack[j] > 0 else slack[j] * 0
                if left < step:
                    step = left
        clock += step
        for j in range(m):
            if tree[1, j] > 0:
                # the resource that sets the step is empty by definition, not up to rounding
                left = slack[j] - tree[1, j] * step
                slack[j] = left if slack[j] / tree[1, j] > step and left > 0 else slack[j] * 0
        for q in range(up):  # who is taking an empty resource stops
            p = rising[q]
            if not whole[p] and stops[owner[p]] == _UNSET:
                for j in range(m):
                    if need[p, j] > 0 and slack[j] <= near:
                        stops[owner[p]] = j
                        gained[p] = min(clock - begin[p], end[p] - begin[p])
                        for k in range(m):
                            tree[count + p, k] = need[p, k] * 0
                        break
        for place in range(count - 1, 0, -1):
            for j in range(m):
                tree[place, j] = tree[2 * place, j] + tree[2 * place + 1, j]


@numba.njit(cache=True, error_model="numpy")
def _left(i: int, t: int, bounds: FloatArray, head: NDArray[np.int64], rest: FloatArray, place: NDArray[np.int64],
          run: FloatArray) -> float:
    """Tasks left of the group that user i is served from, 0.0 where its queue has ended; moves on past empty groups."""
    while place[i] <= t:
        count = rest[i] if place[i] == head[i] else bounds[place[i], i]
        if count > 0.0:
            return count - run[i]
        place[i] += 1
    return 0.0


@numba.njit(cache=True, error_model="numpy")
def _height(i: int, dominant: FloatArray, weights: FloatArray, bounds: FloatArray, head: NDArray[np.int64],
            rest: FloatArray, place: NDArray[np.int64], run: FloatArray, level: FloatArray) -> float:
    """G of user i with what it has run so far in this period."""
    total = 0.0
    for s in range(head[i], place[i]):
        total += (rest[i] if s == head[i] else bounds[s, i]) * dominant[s, i] / weights[i]
    return level[i] + (total + run[i] * dominant[place[i], i] / weights[i] if run[i] > 0.0 else total)


@numba.njit(cache=True, error_model="numpy")
def _flow_floors(t: int, share: FloatArray, bounds: FloatArray, used: FloatArray, owned: FloatArray, near: float,
                 head: NDArray[np.int64], rest: FloatArray, place: NDArray[np.int64], run: FloatArray,
                 slack: FloatArray) -> bool:
    """Give everyone the least that makes beta at least 1.

    Move ``place`` and ``run`` on, and write to ``slack`` what is left of the pool.
    False, with ``slack`` undefined, where the tasks or the pool do not suffice for it.
    """
    n, m = used.shape
    lack, taken = np.empty(m), np.zeros(m)
    for i in range(n):
        some = 0.0
        for j in range(m):
            lack[j] = owned[i, j] - used[i, j]
            if not lack[j] > near * owned[i, j]:
                lack[j] = 0.0
        while lack.max() > 0.0:
            left = _left(i, t, bounds, head, rest, place, run)
            if place[i] > t:
                return False
            some, whole = 0.0, False
            for j in range(m):
                if lack[j] > 0.0:
                    want = lack[j] / share[place[i], i, j]
                    whole |= not want < left * (1.0 - near)
                    some = max(some, want)
            some = left if whole else some
            for j in range(m):
                taken[j] += some * share[place[i], i, j]
                lack[j] -= some * share[place[i], i, j]
                if not (whole and lack[j] > near * owned[i, j]):
                    lack[j] = 0.0
            place[i], run[i] = (place[i] + 1, 0.0) if whole else (place[i], run[i] + some)
    for j in range(m):
        if taken[j] > 1.0 + 10.0 * near:
            return False
        slack[j] = 1.0 - taken[j] if taken[j] < 1.0 else 0.0
    return True


@numba.njit(cache=True, error_model="numpy")
def _flow_coefficients(i: int, t: int, share: FloatArray, bounds: FloatArray, used: FloatArray, owned: FloatArray,
                       near: float, head: NDArray[np.int64], rest: FloatArray, pieces: Any) -> None:
    """Append the pieces of a user's path while its coefficient rises to 1; they end where a task would not raise it.

    The clock is the coefficient. A piece: begin, end, clock per task, user, group, whether it ends the group.
    """
    m = used.shape[1]
    values, clock, started = used[i] / owned[i], 0.0, False
    for s in range(head[i], t + 1):
        left = rest[i] if s == head[i] else bounds[s, i]
        while left > 0.0:
            low, rate = np.inf, np.inf
            for j in range(m):
                if owned[i, j] > 0.0:
                    low = min(low, values[j])
            if not low < 1.0 - near:
                return
            for j in range(m):
                if owned[i, j] > 0.0 and values[j] <= low + near:
                    rate = min(rate, share[s, i, j] / owned[i, j])
            if not rate > 0.0:
                return
            width = (1.0 - low) / rate
            width = width if width < left * (1.0 - near) else left
            for j in range(m):
                if owned[i, j] > 0.0:
                    slope = share[s, i, j] / owned[i, j]
                    if slope < rate and (values[j] - low) / (rate - slope) < width * (1.0 - near):
                        width = (values[j] - low) / (rate - slope)
            clock, started = clock if started else low, True
            pieces.append((clock, clock + width * rate, rate, i, s, width == left))
            clock += width * rate
            for j in range(m):
                values[j] += width * (share[s, i, j] / owned[i, j])
            left = 0.0 if width == left else left - width


@numba.njit(cache=True, error_model="numpy")
def _flow_run(t: int, pieces: Any, share: FloatArray, bounds: FloatArray, head: NDArray[np.int64], rest: FloatArray,
              place: NDArray[np.int64], run: FloatArray, slack: FloatArray, stopped: NDArray[np.int64],
              near: float) -> None:
    """Let a clock run along the pieces and move ``place`` and ``run`` on; ``slack`` and ``stopped`` are overwritten."""
    m, count = len(slack), len(pieces)
    stopped[:] = _UNSET
    if count == 0:
        return
    begin, end, owner = np.empty(count), np.empty(count), np.empty(count, dtype=np.int64)
    need, gained, tree = np.empty((count, m)), np.zeros(count), np.zeros((2 * count, m))
    whole = np.zeros(count, dtype=np.bool_)
    for p in range(count):
        begin[p], end[p], rate, owner[p], s, _ = pieces[p]
        for j in range(m):
            need[p, j] = share[s, owner[p], j] / rate
    _rise(need, begin, end, owner, np.argsort(begin, kind="mergesort"), np.argsort(end, kind="mergesort"), slack, tree,
          gained, whole, stopped, near)
    for p in range(count):
        _, _, rate, i, _, ends = pieces[p]
        left = _left(i, t, bounds, head, rest, place, run)
        if place[i] > t:
            continue
        if whole[p] and ends:
            place[i], run[i] = place[i] + 1, 0.0
        else:
            run[i] += min(gained[p] / rate, left)


@numba.njit(cache=True, error_model="numpy")
def _flow(demands: FloatArray, bounds: FloatArray, total: FloatArray, own: FloatArray, weights: FloatArray, waits: bool,
          memory: bool, near: float, tasks: FloatArray, amounts: FloatArray, cumulative: FloatArray,
          unserved: FloatArray, stops: NDArray[np.int64], below: NDArray[np.bool_]) -> None:
    """Run the lexicographic mechanism in one pool over all periods.

    In each period everyone first gets the least that makes beta at least 1, or, where that is out of reach, beta rises
    from the lowest one up (:func:`_flow_coefficients`). Then G does. A queue is a place in ``bounds``: the first group
    left (``head``), and how much of it (``rest``).
    """
    T, n, m = demands.shape
    share = demands / total
    used, owned, level, past = np.zeros((n, m)), np.zeros((n, m)), np.zeros(n), np.zeros(n)
    head, place = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)  # first group left; the one being served
    rest, run = np.zeros(n), np.zeros(n)  # tasks left of the first; tasks run of the one being served
    slack, stopped, dominant = np.empty(m), np.empty(n, dtype=np.int64), np.empty((T, n))
    pieces = [(0.0, 0.0, 0.0, 0, 0, True)]  # begin, end, clock per task, user, group, whether it ends the group
    for t in range(T):
        for i in range(n):
            dominant[t, i] = share[t, i].max()
            if not memory:
                past[i] += level[i]
                level[i] = 0.0
                used[i] = 0.0
                owned[i] = 0.0
            for j in range(m):
                owned[i, j] += own[t, i, j] / total[j]
            if not waits:
                head[i] = t
            if head[i] == t:
                rest[i] = bounds[t, i]
            place[i], run[i] = head[i], 0.0
        if not _flow_floors(t, share, bounds, used, owned, near, head, rest, place, run, slack):
            below[t] = True
            pieces.clear()
            for i in range(n):
                place[i], run[i] = head[i], 0.0
                _flow_coefficients(i, t, share, bounds, used, owned, near, head, rest, pieces)
            slack[:] = 1.0
            _flow_run(t, pieces, share, bounds, head, rest, place, run, slack, stopped, near)
        pieces.clear()
        base = np.inf
        for i in range(n):
            base = min(base, _height(i, dominant, weights, bounds, head, rest, place, run, level))
        for i in range(n):
            clock = _height(i, dominant, weights, bounds, head, rest, place, run, level) - base
            left = _left(i, t, bounds, head, rest, place, run)
            for s in range(place[i], t + 1):
                left = left if s == place[i] else bounds[s, i]
                if s == place[i] or left > 0.0:
                    rate = dominant[s, i] / weights[i]
                    pieces.append((clock, clock + left * rate, rate, i, s, True))
                    clock += left * rate
        _flow_run(t, pieces, share, bounds, head, rest, place, run, slack, stopped, near)
        for i in range(n):
            level[i] = _height(i, dominant, weights, bounds, head, rest, place, run, level)
            cumulative[t, i] = past[i] + level[i]
            held = False
            for s in range(head[i], min(place[i], t) + 1):
                count = rest[i] if s == head[i] else bounds[s, i]
                held |= count > 0.0
                count = run[i] if s == place[i] else count
                tasks[t, i] += count
                for j in range(m):
                    amounts[t, i, j] += count * demands[s, i, j]
                    used[i, j] += count * share[s, i, j]
            left = _left(i, t, bounds, head, rest, place, run)
            if held:
                stops[t, i] = stopped[i] if place[i] <= t else _DONE
            head[i], rest[i] = place[i], left
            unserved[t, i] = left
            for s in range(place[i] + 1, t + 1):
                unserved[t, i] += bounds[s, i]


# ------------------------------------------------------------------------------------------------------ results


class _Period(Allocation):
    """One period of a run; what nothing stops here is stopped by its next task."""

    def explain(self, user: Hashable) -> str:
        i = position(user, self.users)
        if self.bottlenecks[i] == _SPLIT:
            return f"{user} runs {self.tasks[i]:.6g} tasks: there is no room for its next task."
        return super().explain(user)


@dataclass(frozen=True, eq=False)
class TvDrfRun(PhasedRun):
    """What happened in each of T periods to each of n users.

    Attributes
    ----------
    tasks : ndarray, shape (T, n)
        Tasks run in each period; with ``unserved="waits"`` those of older periods among them.
    sharing_coefficients : ndarray, shape (T, n)
        beta after each period.
    cumulative_shares : ndarray, shape (T, n)
        G after each period.
    amounts : ndarray, shape (T, n, m)
        Resource in use by each user in each period.
    alone : ndarray, shape (T, n, m)
        What each would have had in use in each period without sharing, in the reading ``reading``.
    unserved : ndarray, shape (T, n)
        Tasks left over at the end of each period: expired in it, or in the queue.
    bottlenecks : ndarray of int, shape (T, n)
        The resource that stops the user. Fluid: it is used up. Whole tasks: the pool as a whole has less left of it
        than the next task needs. -1 where all its tasks are run; -2 where its next task fits on no machine though the
        pool has room for it; -3 where it has no tasks.
    below_one : ndarray of bool, shape (T,)
        Fluid: the periods in which beta >= 1 was out of reach. Heuristic: those at whose end some beta is below 1.
    machine_use : ndarray, shape (T, K, m), or None
        Resource in use on each machine; None for the fluid mechanism.
    placement : ndarray of int, shape (T, n, K), or None
        Tasks on each machine, where asked for.
    demands : ndarray, shape (T, n, m)
    max_tasks : ndarray, shape (T, n)
    machines : ndarray, shape (K, m)
    contributions : ndarray, shape (n, K)
    weights : ndarray, shape (n,)
        w, summing to 1.
    method : {"heuristic", "lexicographic"}
    reading : {"bundles", "whole_bundles", "resources"}
        ``alone`` as given.
    waits : bool
        Whether ``unserved`` was given as ``"waits"``.
    memory : bool
    named_users, named_resources, named_machines : tuple or None
        Labels, where some were given.
    """

    tasks: FloatArray
    sharing_coefficients: FloatArray
    cumulative_shares: FloatArray
    amounts: FloatArray
    alone: FloatArray
    unserved: FloatArray
    bottlenecks: NDArray[np.int64]
    below_one: NDArray[np.bool_]
    machine_use: FloatArray | None
    placement: NDArray[np.int32] | None
    demands: FloatArray
    max_tasks: FloatArray
    machines: FloatArray
    contributions: FloatArray
    weights: FloatArray
    method: str
    reading: str
    waits: bool
    memory: bool = True
    named_users: Names | None = None
    named_resources: Names | None = None
    named_machines: Names | None = None

    @property
    def capacities(self) -> FloatArray:
        """Capacity of the whole pool, shape (m,)."""
        total: FloatArray = self.machines.sum(axis=0)
        return total

    @property
    def use(self) -> FloatArray:
        """Resource in use in each period, shape (T, m), in the unit of the capacities."""
        if self.machine_use is not None:
            return self.machine_use.sum(axis=1)
        return self.amounts.sum(axis=1)

    @property
    def utilisation(self) -> FloatArray:
        """Use divided by capacity, shape (T, m)."""
        return self.use / self.capacities

    @property
    def utilisation_alone(self) -> FloatArray:
        """The same where nobody shares, shape (T, m)."""
        return self.alone.sum(axis=1) / self.capacities

    def at(self, period: int) -> Allocation:
        """Give one period (from 0) as an Allocation of the merged pool.

        Where tasks wait, its demands are those of the mean task that a user ran, and its bounds what a user could
        have run, queue included. The bottleneck of whoever has tasks left is -2 unless a resource is used up to the
        last bit: whole tasks leave something of it over. ``explain`` then says that there is no room for the next task.
        """
        t = as_whole(period, "period", 0, len(self) - 1)
        demands, bounds, stops = self.demands[t], self.tasks[t] + self.unserved[t], self.bottlenecks[t]
        if self.waits:
            ran = self.tasks[t] > 0
            demands = np.where(ran[:, None], self.amounts[t] / np.where(ran, self.tasks[t], 1.0)[:, None], demands)
        needs = demands[np.arange(len(stops)), np.maximum(stops, 0)] > 0
        stops = np.where((stops == _IDLE) & (demands > 0).any(axis=1), _DONE, stops)
        full = (self.use[t] >= self.capacities * (1 - FITS))[np.maximum(stops, 0)]
        stops = np.where((stops >= 0) & ~(needs & full), _SPLIT, stops)  # in whole tasks nothing need be full
        return _Period(self.tasks[t], demands, self.weights, self.capacities, bounds, stops, self.named_users,
                       self.named_resources, mechanism=f"tv_drf, {self.method}", rule="credit")

    def to_frame(self) -> pd.DataFrame:
        """Give one row a period and user: tasks, G, beta, tasks left over, what stops the user."""
        names = np.empty(len(self.resources) + 3, dtype=object)
        names[:-3] = self.resources
        names[-3:] = ["no tasks", "no machine", "own bound"]
        index = pd.MultiIndex.from_product([range(len(self)), self.users], names=["period", "user"])
        return pd.DataFrame({"tasks": self.tasks.ravel(), "cumulative_share": self.cumulative_shares.ravel(),
                             "sharing_coefficient": self.sharing_coefficients.ravel(),
                             "unserved": self.unserved.ravel(), "bottleneck": names[self.bottlenecks.ravel()]},
                            index=index)

    def placement_frame(self) -> pd.DataFrame:
        """Give one row a period, user and machine with tasks of that user on it: how many.

        Raises
        ------
        InvalidInput
            Where the run was made without ``placement=True``.
        """
        if self.placement is None:
            raise InvalidInput("placement", "must be True where the run is made (method='heuristic')", None)
        where = np.argwhere(self.placement > 0)
        machines = labels_or_positions(self.named_machines, len(self.machines))
        index = pd.MultiIndex.from_arrays(
            [where[:, 0], *([names[k] for k in where[:, c]] for c, names in ((1, self.users), (2, machines)))],
            names=["period", "user", "machine"])
        return pd.DataFrame({"tasks": self.placement[tuple(where.T)]}, index=index)

    def _resource(self, j: int) -> str:
        return f"resource {j}" if self.named_resources is None else str(self.named_resources[j])

    def explain(self, user: Hashable, period: int) -> str:
        """Say in a few words why this user has what it has after a period (from 0)."""
        t, i = as_whole(period, "period", 0, len(self) - 1), position(user, self.users)
        stop = int(self.bottlenecks[t, i])
        if stop == _IDLE:
            return f"{user} has no tasks in period {t}."
        if stop == _DONE:
            why = "it has no more"
        elif stop == _SPLIT:
            why = "the next fits on no machine, though the pool as a whole has room"
        elif self.machine_use is None:
            why = f"{self._resource(stop)} is used up"
        else:
            why = f"the next needs more {self._resource(stop)} than is left"
        return (f"{user} runs {self.tasks[t, i]:.6g} tasks in period {t}: {why}. So far it has "
                f"{self.sharing_coefficients[t, i]:.6g} times what it would have had alone (its scarcest resource), "
                f"and stands at G = {self.cumulative_shares[t, i]:.6g}.")

    def violations(self, rtol: float = 1e-9) -> list[str]:
        """List every way in which the stored numbers contradict the model; empty means that they do not.

        Capacity of each machine (of the pool, where fluid), bounds, queues, whole tasks, amounts and G from the tasks
        in the order of submission, beta from the amounts, parts and weights that sum to 1, and what stops a user:
        fluid, a resource that is used up; whole tasks, a next task that fits on no machine and needs more than is left
        of the resource named. Of ``alone`` that it is made of tasks in that order, that they fit on the own parts, and
        that the next one does not. Not whether the choice was fair.

        Notes
        -----
        Cost O(T n K m).
        """
        rtol = as_tolerance(rtol)
        found: list[str] = []

        def check(right: NDArray[np.bool_], text: str) -> None:
            """Comparisons say what is right, so that NaN is wrong."""
            found.extend(f"{text} in period {t}" for t in np.flatnonzero(~right.reshape(len(self), -1).all(axis=1)))

        def near(a: FloatArray, b: FloatArray, slop: Any = 0.0) -> NDArray[np.bool_]:
            with np.errstate(invalid="ignore"):  # infinite less infinite
                close: NDArray[np.bool_] = np.isfinite(b) & (np.abs(a - b) <= rtol * (1 + np.abs(b)) + slop)
            return close | (a == b)

        if not (near(self.weights.sum(), np.array(1.0)) and (self.weights > 0).all()):
            found.append("weights are not positive or do not sum to 1")
        if not (near(self.contributions.sum(axis=0), np.array(1.0), 1e-9).all() and (self.contributions >= 0).all()):
            found.append("contributions are negative or do not sum to 1")
        if not ((self.machines >= 0) & np.isfinite(self.machines)).all():
            found.append("machines are not numbers")
        total, whole = self.capacities, self.machine_use is not None
        share, rate = self.amounts / total, self.demands / total
        if self.machine_use is not None:
            check(self.machine_use <= self.machines * (1 + rtol), "a machine is overdrawn")
            check(self.tasks == np.floor(self.tasks), "some tasks are not whole")
            check(near(self.machine_use.sum(axis=1) / total, share.sum(axis=1)), "machines and users do not add up")
        if self.placement is not None:
            check(self.placement.sum(axis=2) == self.tasks, "placements and tasks do not add up")
            if self.machine_use is not None and not self.waits:
                placed = np.einsum("tik,tij->tkj", self.placement.astype(float), rate)
                check(near(placed, self.machine_use / total), "placements and machines do not add up")
        check(share.sum(axis=1) <= 1 + rtol, "the pool is overdrawn")
        waited = np.zeros_like(self.tasks)
        if self.waits:
            waited[1:] = self.unserved[:-1]
        finite = np.isfinite(self.max_tasks)
        most = np.where(finite, self.max_tasks, 0.0) + waited
        slight = rtol * (1 + most)
        check((self.tasks >= 0) & (self.unserved >= -slight), "tasks or tasks left over are negative")
        check(self.max_tasks >= 0, "bounds are not numbers")
        check((self.demands >= 0) & np.isfinite(self.demands), "demands are not numbers")
        left = np.where(finite, self.unserved, np.inf)
        check(np.where(finite, np.abs(self.tasks + self.unserved - most) <= slight,
                       np.isfinite(self.tasks) & (self.unserved == np.inf)), "tasks do not add up")
        amounts, gained, slop, following = _replay(rate, self.max_tasks, self.tasks, self.weights, self.waits,
                                                   0.0 if whole else NEAR)
        check(near(share, amounts, slop), "amounts do not follow from the tasks")
        slop = np.cumsum(slop.max(axis=2) / self.weights, axis=0)
        check(near(self.cumulative_shares, np.cumsum(gained, axis=0), slop), "G does not follow from the tasks")
        check(self.alone >= 0, "amounts alone are not numbers")
        check(self._alone_stands(rtol), "amounts alone do not follow from the queue and the own parts")
        beta = _coefficients(self.amounts, self.alone)
        check(near(self.sharing_coefficients, beta), "beta is wrong")
        if not whole and not self.memory:
            for t in range(len(self)):  # what was decided on: each period by itself
                beta[t] = _coefficients(self.amounts[t:t + 1], self.alone[t:t + 1])[0]
        least = np.asarray((self.sharing_coefficients if whole else beta).min(axis=1))
        if whole:
            check(self.below_one == (least < 1 - FITS), "below_one is wrong")
        else:
            check(np.where(self.below_one, least < 1 - NEAR / 10, least >= 1 - rtol), "below_one is wrong")
        stops = self.bottlenecks
        check((stops >= _IDLE) & (stops < len(total)), "some bottleneck does not exist")
        check((stops == _IDLE) == (finite & (most <= 0)), "someone is wrongly said to have no tasks, or to have some")
        check((stops != _DONE) | (left <= slight), "someone has tasks left after all")
        if self.machine_use is None:
            full = share.sum(axis=1) >= 1 - rtol
            for j in range(len(total)):
                check((stops != j) | full[:, j, None],
                      f"{self._resource(j)} is said to stop someone and is not used up")
            check(stops != _SPLIT, "no machine is said to have room, and there is one pool")
            after = rate[following, np.arange(len(self.weights))]  # of whoever has tasks left: the next one
            needed = np.take_along_axis(after, np.clip(stops, 0, len(total) - 1)[:, :, None], axis=2)[:, :, 0] > 0
            check((stops < 0) | needed, "a resource is said to stop someone whose next task does not need it")
        else:
            check((stops == _IDLE) | (stops == _DONE) | (left > 0), "someone is stopped without tasks left")
            free = (total - self.use) / total
            held, room = _refused(rate, following, stops, free, (self.machines - self.machine_use) / total,
                                  self.machines / total, rtol)
            check(held, "a resource is said to stop someone and suffices")
            check(room, "someone's next task fits on a machine")
        return found


    def _alone_stands(self, rtol: float) -> NDArray[np.bool_]:
        """Whether ``alone`` is right, shape (T, n), from the stored amounts themselves."""
        total = self.capacities
        if self.reading != "resources":
            own = _alike(self.machines / total, self.contributions)
            return _replay_alone(self.demands / total, self.max_tasks, *own, self.alone / total, self.waits,
                                 self.reading == "whole_bundles", rtol)
        with np.errstate(invalid="ignore"):  # infinitely many tasks of nothing, and infinite less infinite
            asked = np.where(self.demands > 0, self.demands * self.max_tasks[:, :, None], 0.0)
            if self.waits:
                asked[1:] += np.cumsum(asked - self.alone, axis=0)[:-1]
            right = np.minimum(asked, self.contributions @ self.machines)
            return np.asarray((np.abs(self.alone - right) <= rtol * total).all(axis=2))


@numba.njit(cache=True, error_model="numpy")
def _replay_alone(rate: FloatArray, bounds: FloatArray, machines: FloatArray, parts: FloatArray, own: FloatArray,
                  waits: bool, whole: bool, rtol: float) -> NDArray[np.bool_]:
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


@numba.njit(cache=True, error_model="numpy")
def _replay(rate: FloatArray, bounds: FloatArray, tasks: FloatArray, weights: FloatArray, waits: bool,
            near: float) -> tuple[FloatArray, FloatArray, FloatArray, NDArray[np.int64]]:
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


@numba.njit(cache=True, error_model="numpy")
def _refused(rate: FloatArray, following: NDArray[np.int64], stops: NDArray[np.int64], free: FloatArray,
             left: FloatArray, sizes: FloatArray, rtol: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Say of each user with tasks left whether the resource named falls short, and whether no machine has room.

    All as parts of the pool: tasks (T, n, m), what is left of it (T, m) and of each machine (T, K, m), sizes (K, m).
    """
    T, n, m = rate.shape
    short, none = np.ones((T, n), dtype=np.bool_), np.ones((T, n), dtype=np.bool_)
    for t in range(T):
        for i in range(n):
            j = stops[t, i]
            if j < 0 and j != -2:
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


# ---------------------------------------------------------------------------------------------------- the input


def _matrix(values: Any, argument: str, rows: str, columns: str) -> Named:
    """Read a matrix of two kinds of things, with copies of its numbers."""
    try:
        named = demand_matrix(values, argument)
    except InvalidInput as error:
        rule = error.rule.replace("n users, m resources", f"{rows}, {columns}")
        rule = rule.replace("one user and one resource", f"one {rows[2:-1]} and one {columns[2:-1]}")
        raise InvalidInput(error.argument, rule, error.value, error.index) from None
    return named._replace(values=named.values.copy())


def _as_demands(demands: Any) -> Named:
    try:
        return phased_demands(demands)
    except InvalidInput as error:
        raise InvalidInput(error.argument, error.rule.replace("phase", "period"), error.value, error.index) from None


def _as_machines(machines: Any, m: int, resources: Names | None) -> tuple[FloatArray, Names | None, Names | None]:
    """Give capacities, names of resources, names of machines."""
    named = _matrix(machines, "machines", "K machines", "m resources")
    values = named.values
    if values.shape[1] != m:
        raise InvalidInput("machines", f"must have one column for each of the {m} resources", values.shape)
    columns = order_of(named.resources, resources, "machines.columns", "resources")
    if columns is not None:
        values = np.ascontiguousarray(values[:, columns])
    check_demands(values, "machines")
    for j in np.flatnonzero(~(values > 0).any(axis=0))[:1].tolist():
        raise InvalidInput("machines", f"must have some of resource {j}", values[:, j].tolist())
    return values, resources if resources is not None else named.resources, named.users


def _as_contributions(contributions: Any, n: int, K: int, users: Names | None,
                      machines: Names | None) -> tuple[FloatArray, Names | None]:
    """Give the parts, (n, K), and names of machines."""
    if number_of_dimensions(contributions) == 1:
        values = np.repeat(per_user(contributions, n, users, "contributions")[:, None], K, axis=1)
    else:
        named = _matrix(contributions, "contributions", "n users", "K machines")
        values = named.values
        if values.shape != (n, K):
            raise InvalidInput("contributions", f"must have shape ({n} users, {K} machines) or ({n},)", values.shape)
        rows = order_of(named.users, users, "contributions.index", "users")
        if machines == tuple(range(K)) and named.resources is not None and set(named.resources) != set(machines):
            machines = None  # mere positions, not names
        columns = order_of(named.resources, machines, "contributions.columns", "machines")
        machines = machines if machines is not None else named.resources
        if rows is not None:
            values = np.ascontiguousarray(values[rows])
        if columns is not None:
            values = np.ascontiguousarray(values[:, columns])
    check_amounts(values, "contributions")
    sums = values.sum(axis=0)
    for k in np.flatnonzero(~(np.abs(sums - 1) <= 1e-9))[:1].tolist():
        raise InvalidInput("contributions", f"must sum to 1 over the users for each machine (machine {k})",
                           float(sums[k]))
    return values, machines


def _as_tasks(tasks: Any, demands: FloatArray, users: Names | None, whole: bool, waits: bool) -> FloatArray:
    T, n, _ = demands.shape
    named = _matrix(tasks, "tasks", "T periods", "n users")
    if named.values.shape != (T, n):
        raise InvalidInput("tasks", f"must have shape ({T} periods, {n} users)", named.values.shape)
    columns = order_of(named.resources, users, "tasks.columns", "users")
    values = named.values if columns is None else np.ascontiguousarray(named.values[:, columns])
    finite = np.isfinite(values)
    empty = ~(demands > 0).any(axis=2) & (values != 0)
    if not (finite & (values >= 0) & (values <= LARGEST) & ~empty
            & ((not whole) | (values == np.floor(values)))).all():
        for bad, rule in ((np.isnan(values), "must be a number"), (values < 0, "must not be negative"),
                          (finite & (values > LARGEST), f"must be at most {LARGEST:g} or infinite"),
                          (~finite & waits, "must be finite where unserved tasks wait"),
                          (finite & whole & (values != np.floor(values)), "must be whole for method='heuristic'"),
                          (empty, "must be 0 where the demand vector is zero")):
            for t, i in np.argwhere(bad)[:1].tolist():
                raise InvalidInput("tasks", rule, float(values[t, i]), (t, i))
    return values


def _most_handed_out(demands: FloatArray, bounds: FloatArray, total: FloatArray, waits: bool) -> float:
    """Bound the number of whole tasks from above: the smallest ones first, by their mean share, until the pool is full.

    Cost O(T n (m + log n)).
    """
    size = (demands / total).mean(axis=2)
    periods = 1.0
    if waits:  # any period from then on may serve them
        size, bounds, periods = size.reshape(1, -1), bounds.reshape(1, -1), float(len(bounds))
    some = bounds > 0
    size = np.where(some, size, 1.0)
    count = np.where(some, np.minimum(bounds, periods / size), 0.0)
    order = np.argsort(size, axis=1)
    size, count = np.take_along_axis(size, order, axis=1), np.take_along_axis(count, order, axis=1)
    before = np.cumsum(count * size, axis=1) - count * size
    return float(np.minimum(count, np.maximum(periods - before, 0.0) / size).sum())


def _kinds(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Distinct rows of numbers >= 0 in order, and how often each occurs. Byte strings: faster than np.unique."""
    found = Counter(row.tobytes() for row in (rows + 0.0).astype(">f8"))  # of equal order, big end first
    distinct = sorted(found)
    values = np.frombuffer(b"".join(distinct), ">f8").astype(np.float64).reshape(len(distinct), -1)
    return values, np.array([found[one] for one in distinct], dtype=np.float64)


def _alike(pool: FloatArray, parts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Capacities and parts where machines of one size and one ownership count as one."""
    m = pool.shape[1]
    kinds, alike = _kinds(np.hstack([pool, parts.T])) if len(pool) > 1 else (np.hstack([pool, parts.T]), np.ones(1))
    return kinds[:, :m] * alike[:, None], np.ascontiguousarray(kinds[:, m:].T)


def _chosen(value: Any, argument: str, allowed: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in allowed:
        raise InvalidInput(argument, f"must be one of {', '.join(map(repr, allowed))}", value)


def tv_drf(demands: Any, tasks: Any, machines: Any, contributions: Any,
           method: Literal["heuristic", "lexicographic"] = "heuristic", alone: Alone = "bundles",
           unserved: Literal["expires", "waits"] = "expires", weights: Any = None, *,
           memory: bool = True, placement: bool = False) -> TvDrfRun:
    """Allocate over periods by TV-DRF (Li et al. 2019).

    Parameters
    ----------
    demands : array_like, shape (T, n, m), or sequence of T DataFrames with the same labels
        Resource per task in each period, in the unit of ``machines``. A row of zeros: no tasks.
    tasks : array_like or DataFrame, shape (T, n)
        Tasks that each submits in each period, an upper bound: whole for the heuristic, ``inf`` allowed where unserved
        tasks expire, 0 where the demands are zero. The columns of a DataFrame are matched with the users by name; its
        index is not read: row t is period t.
    machines : array_like or DataFrame, shape (K, m)
        Capacity of each machine.
    contributions : array_like or DataFrame, shape (n, K), or (n,)
        The part of each machine that each user brought, in [0, 1]; sums to 1 over the users. Shape (n,): the same part
        of every machine. The columns of a DataFrame are matched with the index of ``machines`` by name.
    method : {"heuristic", "lexicographic"}
        ``"heuristic"``: whole tasks one by one (Algorithm 1): as long as someone who can still run a task has beta
        below 1, to the one among them with the least beta, else to the one with the least G; to the machine that fits
        best. Whose next task fits nowhere is done for this period, and the others go on. ``"lexicographic"``: the
        optimum of (9), fluid; machines must have one shape, so that they are one pool.
    alone : {"bundles", "whole_bundles", "resources"}
    unserved : {"expires", "waits"}
        Readings: see the head of :mod:`fairbook.mechanisms.tv_drf`.
    weights : array_like or Series, shape (n,), optional
        w, scaled to sum to 1. Default: the mean over the resources of the part of the pool's total that the user
        brought.
    memory : bool
        Whether the past counts. Without it every period is shared as if it were the first, by beta and G of that period
        alone; the run still reports beta and G over all periods.
    placement : bool
        Whether to keep how many tasks of each user are on each machine: T n K numbers of 4 bytes, at most 1e9 of them.

    Returns
    -------
    TvDrfRun
        ``tasks``, ``sharing_coefficients``, ``cumulative_shares`` (T, n), ``use`` (T, m), ...

    Raises
    ------
    InvalidInput
        Naming argument, rule and value.

    Notes
    -----
    Where beta >= 1 cannot be had for all at once the fluid mechanism first makes min(beta, 1) lexicographically max-min
    fair (``below_one`` tells), then G. This is what Algorithm 1 does in whole tasks. With ``alone="bundles"`` it can
    always be had, with ``"resources"`` it fails with one user, one period: tasks of (1, 1/2), capacities (1, 1).

    Ties of the heuristic: the user with the smaller index, the machine with the smaller index, among numbers that are
    equal as computed. Where two accounts, or two distances, are equal in exact arithmetic and not in doubles, either
    may come first, and a run can differ by some tasks from one in fractions. A task fits if it leaves
    no resource of the machine below -1e-12 of its capacity. A coefficient within 1e-12 of 1 is 1.

    What rounding leaves over holds up no queue: up to 1e-12 of a group of tasks or of an own part (alone), and up to
    1e-13 of a resource of the pool (fluid), count as nothing.

    Cost of the heuristic, per task handed out: O(log n + K / b), and O(b m) for each block of b = 128 machines (2^k >=
    sqrt(K) of them, where K is above 128^2) in which something was placed since that user's last turn, unless its task
    fits there no more: at most O(K m), by plain loops over neighbouring numbers. Besides O(K m) per user with tasks and
    period, and for the amounts alone per distinct machine.
    The compiled loop covers all periods, so that an interrupt (Ctrl-C) is seen only at its end; input for which the
    pool could hold more than about 1e9 tasks in all is refused.

    Cost of the lexicographic mechanism: O(n m log n + n m^2) a period where nothing waits. Where tasks wait, each
    period goes through all groups that are still in a queue: in a pool that is always overloaded the time grows with
    the square of T (measured with few users: below a second for 4000 periods, 6 seconds for 16000).

    The run of a period depends on that period and the ones before: with more periods appended, what is already run
    comes out the same. To go on from day to day, append and run again.

    References
    ----------
    Li, Zhang, Li, Zhang 2019, Algorithm 1, (9) and (17) (reconstructed); Wang, Li, Liang, "Dominant resource fairness
    in cloud computing systems with heterogeneous servers", INFOCOM 2014, for the distance.

    Examples
    --------
    The worked example of the paper (task counts of the second period are ours, found by search).

    >>> run = tv_drf([[[2, 1], [1, 1]], [[5, 5], [20, 10]]], [[15, 70], [12, 4]], [[50, 50], [50, 50]],
    ...              [[1, 0], [0, 1]], alone="resources")
    >>> run.tasks
    array([[15., 70.],
           [12.,  2.]])
    >>> run.sharing_coefficients
    array([[1.   , 1.4  ],
           [1.125, 1.   ]])
    """
    _chosen(method, "method", ("heuristic", "lexicographic"))
    _chosen(alone, "alone", ("bundles", "whole_bundles", "resources"))
    _chosen(unserved, "unserved", ("expires", "waits"))
    for name, switch in (("placement", placement), ("memory", memory)):
        if not isinstance(switch, bool):
            raise InvalidInput(name, "must be True or False", switch)
    values, users, resources = _as_demands(demands)
    T, n, m = values.shape
    waits, whole = unserved == "waits", method == "heuristic"
    bounds = _as_tasks(tasks, values, users, whole, waits)
    pool, resources, names = _as_machines(machines, m, resources)
    K, total = len(pool), pool.sum(axis=0)
    parts, names = _as_contributions(contributions, n, K, users, names)
    brought = np.zeros((n, m))
    for part, machine in zip(parts.T, pool, strict=True):  # the digits of a matrix product depend on the processor
        brought += part[:, None] * machine
    if weights is None:
        weight = (brought / total).mean(axis=1)
        for i in np.flatnonzero(~(weight > 0))[:1].tolist():
            raise InvalidInput("contributions", "must be positive somewhere unless weights are given",
                               parts[i].tolist(), (i,))
    else:
        weight = as_weights(weights, n, users)
    if not whole and K > 1 and not (np.abs(pool / total / (pool / total).max(axis=1, keepdims=True) - 1) <= 1e-9).all():
        raise InvalidInput("machines", "must have one shape for method='lexicographic', so that they are one pool",
                           pool.tolist())
    if whole and bounds.sum() > MOST and (count := _most_handed_out(values, bounds, total, waits)) > MOST:
        raise InvalidInput("tasks", "must be fewer for method='heuristic', which hands out whole tasks one by one; use "
                           "larger tasks or method='lexicographic'", f"room for about {count:.2g}")
    if whole and placement and T * n * K > MOST:
        raise InvalidInput("placement", f"must be False where it would hold more than {MOST:.0g} numbers", T * n * K)
    own = np.zeros_like(values)
    enough = _enough(values, total)
    if alone == "resources":
        # as good as infinite, and times zero it is zero
        own[:] = _alone_resources(values, np.minimum(bounds, LARGEST**2), brought, waits)
    else:
        _alone(values, bounds, *_alike(pool, parts), waits, alone == "whole_bundles", FITS, own)
    shape = (T, n)
    if whole:
        kept = [np.zeros(size) for size in (shape, values.shape, (T, K, m), shape, shape, shape)]
        stops = np.empty(shape, dtype=np.int64)
        placed = np.zeros((T, n, K) if placement else (0, 0, 0), dtype=np.int32)
        _heuristic(values, bounds, pool, weight, own, waits, memory, *kept, stops, placed)
        ran, amounts, machine_use, beta, cumulative, left = kept
        if not memory:
            beta = _coefficients(amounts, own)
        below = np.asarray((beta < 1 - FITS).any(axis=1))
        return TvDrfRun(ran, beta, cumulative, amounts, own, left, stops, below, machine_use,
                        placed if placement else None, values, bounds, pool, parts, weight, method, alone, waits,
                        memory, users, resources, names)
    kept = [np.zeros(size) for size in (shape, values.shape, shape, shape)]
    stops, below = np.full(shape, _IDLE), np.zeros(T, dtype=np.bool_)
    _flow(values, bounds if waits else np.minimum(bounds, enough), total, own, weight, waits, memory, NEAR, *kept,
          stops, below)
    ran, amounts, cumulative, left = kept
    beta = _coefficients(amounts, own)
    return TvDrfRun(ran, beta, cumulative, amounts, own, left if waits else bounds - ran, stops, below, None, None,
                    values, bounds, pool, parts, weight, method, alone, waits, memory, users, resources, names)


@numba.njit(cache=True, error_model="numpy")
def _enough(demands: FloatArray, total: FloatArray) -> FloatArray:
    """Twice the tasks that the empty pool could run: as good as no bound."""
    T, n, m = demands.shape
    most = np.zeros((T, n))
    for t in range(T):
        for i in range(n):
            least = np.inf
            for j in range(m):
                if demands[t, i, j] > 0.0:
                    least = min(least, total[j] / demands[t, i, j])
            most[t, i] = 2.0 * least if least < np.inf else 0.0
    return most
