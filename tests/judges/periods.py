"""TV-DRF, period by period: whole tasks one by one, or divisible ones from event to event."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, inf
from typing import Any

from tests.judges.pool import Row, Rows, fits, times, total


def alone_in_parts(demands: Rows, tasks: Row, parts: Rows, reading: str, waits: bool) -> list[list[Any]]:
    """Li et al. 2019: what one user would have had of each resource in each period on its own parts of machines."""
    queue, found, backlog = list[Any](), [], [Fraction(0)] * len(parts[0])
    for need, count in zip(demands, tasks, strict=True):
        if reading == "resources":
            asked = [count * d + b for d, b in zip(need, backlog, strict=True)]
            found.append([min(both) for both in zip(asked, total(parts), strict=True)])
            backlog = [(a - o) * waits for a, o in zip(asked, found[-1], strict=True)]
            continue
        queue, room, own = [*(queue if waits else []), [need, count]], parts, [Fraction(0)] * len(need)
        for group in queue:
            runs = [min((c / d for c, d in zip(free, group[0], strict=True) if d), default=0) for free in room]
            some = min(group[1], sum(runs))
            some = floor(some) if reading == "whole_bundles" else some
            if some:  # spread over the machines in proportion to what each could run
                taken = times([group[0]] * len(runs), [some * run / sum(runs) for run in runs])
                room = [[c - x for c, x in zip(*both, strict=True)] for both in zip(room, taken, strict=True)]
                own = [o + some * d for o, d in zip(own, group[0], strict=True)]
            group[1] -= some
            if group[1]:
                break
        found.append(own)
    return found


@dataclass(eq=False)
class Account:
    """What a user of TV-DRF has used and would have owned so far, its G, and its queue of [demand, tasks]."""

    weight: Any
    pool: Row
    queue: list[Any] = field(default_factory=list)
    level: Any = Fraction(0)
    past: Any = Fraction(0)

    def begin(self, group: Row, own: Row, waits: bool, memory: bool) -> None:
        self.queue, self.ran = [g for g in [*(self.queue if waits else []), list(group)] if g[1]], Fraction(0)
        if not (memory and hasattr(self, "used")):
            self.used = self.owned = [Fraction(0)] * len(own)
            self.past, self.level = self.past + self.level, Fraction(0)
        self.owned = [o + x for o, x in zip(self.owned, own, strict=True)]

    def beta(self) -> list[tuple[Any, Any]]:
        """Li et al. 2019, (8): used / owned of each resource, and what a task adds; beta is the least."""
        rows = zip(self.used, self.owned, self.queue[0][0], strict=True)
        return [(u / o, d / o) for u, o, d in rows if o] or [(inf if any(self.used) else 1, 1)]

    def share(self) -> list[tuple[Any, Any]]:
        """(5): G, and what a task adds."""
        return [(self.level, max(d / c for d, c in zip(self.queue[0][0], self.pool, strict=True)) / self.weight)]

    def run(self, some: Any) -> list[Any]:
        taken = [some * d for d in self.queue[0][0]]
        self.level, self.ran = self.level + some * self.share()[0][1], self.ran + some
        self.used = [u + x for u, x in zip(self.used, taken, strict=True)]
        self.queue[0][1] -= some
        self.queue = [group for group in self.queue if group[1]]
        return taken


def distance(need: Row, free: Row, pool: Row) -> Any:
    """Li et al. 2019, (17), after Wang et al. 2015: both as parts of the pool, by the first resource that is needed."""
    one = next(r for r, d in enumerate(need) if d)
    rows = zip(need, free, pool, strict=True)
    return sum(abs(d / need[one] - c / free[one]) * pool[one] / s for d, c, s in rows if s)


def by_task(accounts: Sequence[Account], machines: Rows, pool: Row) -> list[list[int]]:
    """Li et al. 2019, Algorithm 1 in one period: tasks of each user on each machine."""
    free, inside, placed = [list(size) for size in machines], list(accounts), [[0] * len(machines) for _ in accounts]
    while active := [one for one in inside if one.queue]:
        behind = [one for one in active if min(one.beta())[0] < 1]
        first = min(behind, key=lambda one: min(one.beta())[0]) if behind else min(active, key=lambda one: one.level)
        need = first.queue[0][0]
        room = [k for k, left in enumerate(free) if fits(need, left)]
        if room:
            k = min(room, key=lambda k: distance(need, free[k], pool))
            free[k] = [c - x for c, x in zip(free[k], first.run(1), strict=True)]
            placed[accounts.index(first)][k] += 1
        else:
            inside.remove(first)
    return placed


def passed(one: Account, lines: Callable[[Account], Any], free: list[Any], running: list[Any]) -> list[Any] | None:
    """Take what leaves the value where it is, up to the first task that raises it; None where that cannot be had.

    It must fit, and leave something of what that task needs, or those who are rising and it takes from.
    """
    ghost, toll, inert = deepcopy(one), [Fraction(0)] * len(free), 0
    while ghost.queue and not min(lines(ghost))[1]:
        toll, inert = total([toll, ghost.run(ghost.queue[0][1])]), inert + 1
    rows = zip(free, toll, ghost.queue[0][0] if ghost.queue else toll, running, strict=True)
    if not ghost.queue or any(c < x or (c == x and (d or (x and r))) for c, x, d, r in rows):
        return None
    return total([one.run(one.queue[0][1]) for _ in range(inert)])


def flow(accounts: Sequence[Account], lines: Callable[[Account], Any], lid: Any, free: list[Any]) -> None:
    """Let the lowest value, the least of its lines, rise up to the lid, event after event."""
    inside = list(accounts)
    while True:
        inside = [
            one for one in inside if one.queue and all(c for d, c in zip(one.queue[0][0], free, strict=True) if d)
        ]
        at = {one: min(lines(one)) for one in inside if min(lines(one))[0] < lid}
        if not at:
            return
        low = min(height for height, _ in at.values())
        rate = {one: 1 / slope for one, (height, slope) in at.items() if height == low and slope}  # tasks for a unit
        need = total([[Fraction(0)] * len(free), *([x * d for d in one.queue[0][0]] for one, x in rate.items())])
        if still := [one for one, (height, slope) in at.items() if height == low and not slope]:
            if taken := passed(still[0], lines, free, need):
                free[:] = [c - x for c, x in zip(free, taken, strict=True)]
            else:
                inside.remove(still[0])
            continue
        step = min(
            lid - low,
            *(height - low for height, _ in at.values() if height > low),
            *(one.queue[0][1] / x for one, x in rate.items()),
            *((h - low) / (1 - x * s) for one, x in rate.items() for h, s in lines(one) if x * s < 1),
            *(c / d for c, d in zip(free, need, strict=True) if d),
        )
        for one, x in rate.items():
            free[:] = [c - taken for c, taken in zip(free, one.run(step * x), strict=True)]


def tv_drf(
    demands: Any, tasks: Rows, machines: Rows, contributions: Rows, weights: Any = None, *,
    method: str, alone: str, unserved: str, memory: bool,
) -> dict[str, Any]:  # fmt: skip
    """Li et al. 2019: Algorithm 1, or the fluid optimum of (9) in one pool."""
    pool, waits = total(machines), unserved == "waits"
    own, accounts = [], []
    for i, parts in enumerate(contributions):
        brought = times(machines, parts)
        mean = sum(b / c for b, c in zip(total(brought), pool, strict=True)) / len(pool)
        accounts.append(Account(weights[i] if weights else mean, pool))
        own.append(alone_in_parts([rows[i] for rows in demands], [row[i] for row in tasks], brought, alone, waits))
    names = ("tasks", "cumulative_shares", "unserved", "alone", *(("placement",) if method == "heuristic" else ()))
    found: dict[str, Any] = {name: [] for name in names}
    for t, (rows, counts) in enumerate(zip(demands, tasks, strict=True)):
        for one, *group, alone_ in zip(accounts, rows, counts, own, strict=True):
            one.begin(group, alone_[t], waits, memory)
        if method == "heuristic":
            found["placement"].append(by_task(accounts, machines, pool))
        else:
            flow(accounts, Account.beta, 1, free := list(pool))
            flow(accounts, Account.share, inf, free)
        found["tasks"].append([one.ran for one in accounts])
        found["cumulative_shares"].append([one.past + one.level for one in accounts])
        found["unserved"].append([sum(left for _, left in one.queue) for one in accounts])
        found["alone"].append([row[t] for row in own])
    return found
