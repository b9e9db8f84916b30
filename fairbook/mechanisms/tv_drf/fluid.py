"""TV-DRF with divisible tasks in one pool: the lexicographic optimum of each period, in numbers of any kind.

A period of ``flow`` has two halves. In the first everyone's beta rises to 1, in the second everyone's G rises, each by
the tasks in the queue, in order. Both are water filling:

1. A user's tasks are cut into *pieces*. A piece begins at one value of beta (or G), ends at another, and takes a fixed
   amount of each resource per unit of it (``rise`` for beta, ``climb`` for G).
2. The value is the *clock* of all: ``fill`` lets it run from the lowest up, and whoever stands at it runs its piece.
   So the lowest rise together, and whom they reach joins them.
3. At the first clock at which more is taken than there is of a resource, the clock stops; this lies between two ends
   of pieces, and bisection finds it. That resource stops whoever needs it. The rest go on, at 2.

Tasks may leave beta where it is: those in front of the queue that do not need the user's scarcest resource. They are
pieces of no length, which do not move the clock. They are run at once, as a toll, when the next piece that does move
it begins; or not at all, where the toll does not fit. For example, a user whose beta is that of CPU and whose queue
begins with a task of memory alone pays that task as a toll for the task behind it that needs CPU.

The same lines run on floats and, in arrays of objects, on fractions; zeros are written as 0 times something, for an
integer divided by another one is a float.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from fairbook.mechanisms.tv_drf.accounts import Accounts
from fairbook.model.inputs import OWN


class Pieces(NamedTuple):
    """The p pieces of all users, those of each user in order."""

    user: Any
    group: Any
    count: Any  # tasks
    begin: Any  # by the clock
    end: Any
    moves: Any  # whether it moves the clock; if not, it is a toll for the next one that does


def within_reach(left: Any, share: Any) -> Any:
    """Tasks left of groups, (S, n), that a user could come to if it had the pool to itself, twice."""
    taken = np.cumsum(left[:, :, None] * share, axis=0)
    return left * np.vstack([left[:1] >= 0, (taken[:-1] <= 2).all(axis=2)])


def climb(left: Any, per_task: Any, level: Any) -> Pieces:
    """Let G rise by all that is left of groups, (S, n), in order."""
    end = level - level.min() + np.cumsum(left * per_task, axis=0)
    begin = np.vstack([level - level.min(), end[:-1]])
    user, group = np.nonzero((left > 0).T)
    at = group, user
    return Pieces(user, group, left[at], begin[at], end[at], user >= 0)


def rise(left: Any, share: Any, lack: Any, owned: Any, near: Any) -> Pieces:
    """Let beta rise to 1, by groups (S, n) of tasks that need ``share`` (S, n, m); the clock is 0 at the lowest.

    Over x tasks of a group, beta is the least of m straight lines, one a resource: (used + x need) / owned. So it bends
    where two of them cross, and there a piece ends and the next begins. The lines are kept as what is ``missing`` of
    1, so that a user that has next to nothing keeps all digits of what it gets.

    For example, two users would have had (4, 4) so far, and a task needs (1, 1) of the first, (2, 1) of the second,
    which has used (0, 1). Beta of the first is x / 4: a piece of 4 tasks. That of the second is min(2x, 1 + x) / 4: a
    piece of 1 task up to 1/2, and 2 tasks up to 1, in two pieces, for it is cut where 2x / 4 is 1, too.

    >>> lack, share = np.array([[4.0, 4], [4, 3]]), np.array([[[1.0, 1], [2, 1]]])
    >>> pieces = rise(np.array([[9.0, 9]]), share, lack, np.full((2, 2), 4.0), 1e-13)
    >>> for i, _, tasks, _, end, _ in zip(*pieces):
    ...     print(f"user {i}: {tasks:g} tasks, up to {end:g}")
    user 0: 4 tasks, up to 1
    user 1: 1 tasks, up to 0.5
    user 1: 1 tasks, up to 0.75
    user 1: 1 tasks, up to 1
    """
    some = np.where(owned > 0, owned, 1)
    before = np.cumsum(np.vstack([lack[None] * 0, (left[:, :, None] * share)[:-1]]), axis=0)
    missing = np.where(owned > 0, (lack - before) / some, lack * 0 - 1)
    lowest = (missing[0] * (left > 0).any(axis=0)[:, None]).max()  # what it misses of beta = 1
    slope = np.where(owned > 0, share / some, 0 * share)
    lines = [(missing[:, :, j], slope[:, :, j]) for j in range(share.shape[2])]
    bends: list[Any] = [0 * left, left]
    for top, steep in [*lines, *((a - b, c - d) for (a, c), (b, d) in combinations(lines, 2))]:
        at = np.where(steep != 0, top, 0 * top) / np.where(steep != 0, steep, 1)
        bends.append(np.minimum(np.maximum(at, 0 * left), left))
    places = np.sort(np.array(bends), axis=0)
    clock = -(missing - lowest - places[:, :, :, None] * slope).max(axis=3)
    width, begin, end = (one.transpose(2, 1, 0) for one in (places[1:] - places[:-1], clock[:-1], clock[1:]))
    user, group, piece = np.nonzero((width > 0) & (begin < lowest - near))
    return Pieces(user, group, *(one[user, group, piece] for one in (width, begin, end, end - begin > near)))


def fill(pieces: Pieces, share: Any, slack: Any, near: Any) -> tuple[Any, Any]:
    """Let the clock run until everyone is stopped: tasks of each piece, and the resource that stops each user or OWN.

    A piece ``leads`` if a piece of its user that moves the clock comes with or after it, the one at ``to``; it stands
    ``still`` if that is another one, whose ``toll`` it then is part of. ``reach`` is the clock at which a user stops,
    ``full`` the resources that are used up: up to ``near``, what is left counts as none.

    Cost O((m + u) p m log p) for p pieces and u users who cannot pay a toll: it does not fit, or uses up what their own
    next tasks, or others, need.
    """
    user, group, count, begin, end, moving = pieces
    takes, which = count[:, None] * share[group, user], np.arange(len(user))
    stops, reach = np.full(share.shape[1], OWN), np.full(share.shape[1], np.inf, dtype=takes.dtype)
    moves = np.flatnonzero(moving)
    if not len(moves):
        return count * 0, stops
    to = np.minimum(np.searchsorted(moves, which), len(moves) - 1)  # whose clock a piece makes possible
    leads = (moves[to] >= which) & (user[moves[to]] == user)
    toll, still = np.zeros_like(takes[moves]), leads & (moves[to] > which)
    np.add.at(toll, to[still], takes[still])
    user, begin, end = user[moves], begin[moves], end[moves]
    width = np.where(end > begin, end - begin, 1)  # in doubles a clock may stand still
    need = takes[moves] / width[:, None]

    def use(clock: Any) -> Any:
        """What all take up to a clock; what is paid there, after it."""
        ran = np.minimum(np.minimum(end, reach[user]), clock) - begin
        return (need * np.maximum(ran, 0)[:, None] + toll * (ran > 0)[:, None]).sum(axis=0)

    def over(clock: Any) -> Any:
        return (use(clock) > slack + near) & ~full

    clock, full, events = begin.min(), slack <= near, np.unique(np.concatenate([begin, end]))
    while True:
        goes = (begin < reach[user]) & (np.minimum(end, reach[user]) > clock)
        why = ((need > 0) | ((toll > 0) & (begin >= clock)[:, None])) & full
        ends = np.flatnonzero(why.any(axis=1) & goes)[::-1]  # of each user the first one counts
        reach[user[ends]], stops[user[ends]] = np.maximum(begin[ends], clock), why[ends].argmax(axis=1)
        k = bisect_left(events, True, key=lambda at: bool(over(at).any()))
        if k == len(events):
            break
        clock = max(clock, events[k - 1])
        goes = (begin <= clock) & (np.minimum(end, reach[user]) > clock)
        pays = goes & (begin == clock) & (toll > 0).any(axis=1)
        free, running = slack - use(clock), need[goes & ~pays].sum(axis=0)
        for p in np.flatnonzero(pays):
            rest = free - toll[p]
            short = (rest < -near) | ((rest <= near) & ((need[p] > 0) | ((toll[p] > 0) & (running > 0))))
            if short.any():
                reach[user[p]], stops[user[p]] = clock, short.argmax()
                break
            free, running = rest, running + need[p]
        else:
            hit = over(events[k])
            steps = np.where(hit, np.maximum(free, 0 * free) / np.where(running > 0, running, 1), np.inf)
            clock = clock + steps.min()
            full |= hit & ((steps == steps.min()) | (free - running * steps.min() <= near))
    part = np.where(end <= reach[user], 1, np.maximum(np.minimum(end, reach[user]) - begin, 0) / width)
    return count * leads * np.where(still, part[to] > 0, part[to]), stops


def flow(accounts: Accounts, near: Any) -> None:
    """Run all periods. In each, beta rises to 1 and then G."""
    pool, first = accounts.pool, 0
    share, lack = accounts.demands / pool, accounts.used / pool
    for t in range(len(share)):
        accounts.begin(t)
        while first < t and not (accounts.left[first] > 0).any():
            first += 1
        now, slack = slice(first, t + 1), pool / pool
        left, some = accounts.left[now], share[now]
        lack = lack * accounts.memory + accounts.alone[t] / pool
        # beta has some units in its last digit of error and not those of a pool: if more of it were let go, who brought
        # nothing would take what is not used
        pieces = rise(within_reach(left, some), some, lack, accounts.owned / pool, near / 100)
        ran = fill(pieces, some, slack, near)[0]
        slack = _take(accounts, now, slack, pieces.group, pieces.user, ran, near)
        pieces = climb(within_reach(left, some), accounts.per_task[now], accounts.level)
        ran, stops = fill(pieces, some, slack, near)
        _take(accounts, now, slack, pieces.group, pieces.user, ran, near)
        accounts.bottlenecks[t] = np.where((left > 0).any(axis=0), stops, accounts.bottlenecks[t])
        accounts.end()
        lack = lack - accounts.amounts[t] / pool


def _take(accounts: Accounts, now: slice, slack: Any, group: Any, user: Any, ran: Any, near: Any) -> Any:
    """Run tasks of groups, the first of which is that of ``now``; give what is left of the pool.

    A group of which only rounding leaves something over has run.
    """
    taken = accounts.run(group + now.start, user, ran) / accounts.pool
    left, size, all_of_it = accounts.left[now], accounts.per_task[now] * accounts.weights, accounts.submitted[now]
    over = (left * size <= near * (1 + all_of_it * size)) & (left < all_of_it)
    accounts.tasks[accounts.t] += (left * over).sum(axis=0)
    left[over] = 0
    rest = slack - taken.sum(axis=0)
    return np.maximum(rest, 0 * rest)
