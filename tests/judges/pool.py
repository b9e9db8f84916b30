"""One pool: what a paper calls a level is raised from event to event, whole tasks are handed out one by one."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import inf
from typing import Any

Row = Sequence[Any]
Rows = Sequence[Row]


def used_up(need: Row, begin: Row, end: Row, left: Any) -> Any:
    """Give the level beyond which all together would use more than is left of one resource; inf where they never do."""

    def use(level: Any) -> Any:
        return sum(d * max(0, min(level, e) - b) for d, b, e in zip(need, begin, end, strict=True))

    last = max(level for level in {*begin, *end} - {inf} if use(level) <= left)
    rate = sum(d for d, b, e in zip(need, begin, end, strict=True) if b <= last < e)
    return last + (left - use(last)) / rate if rate else inf


def poured(need: Rows, begin: Row, end: Row, left: Row) -> list[Any]:
    """Raise all to one level, each from its beginning to its end; what is used up stops who needs it: where all end."""
    end, there = list(end), set(range(len(left)))
    while there:
        level, j = min((used_up([row[j] for row in need], begin, end, left[j]), j) for j in there)
        end = [min(e, max(b, level)) if row[j] else e for row, b, e in zip(need, begin, end, strict=True)]
        there.remove(j)
    return end


def times(rows: Rows, factors: Row) -> list[list[Any]]:
    return [[x * entry for entry in row] for row, x in zip(rows, factors, strict=True)]


def total(rows: Rows) -> list[Any]:
    return [sum(column) for column in zip(*rows, strict=True)]


def fits(need: Row, room: Row) -> bool:
    return all(d <= c for d, c in zip(need, room, strict=True))


def drf(
    demands: Rows, weights: Any, capacities: Row, max_tasks: Row, min_tasks: Any = None, floor: str = "counted"
) -> dict[str, Any]:
    """Ghodsi et al. 2011, section 4.3: weights (n,), or (n, m) where every resource has its own. Minima as in YARN.

    ``floor="apart"``: as in KAI, the minima are handed out first, and then what is left is a pool for the rest.
    """
    least = min_tasks or [Fraction(0)] * len(demands)
    least = [x if most is None else min(x, most) for x, most in zip(least, max_tasks, strict=True)]
    each = weights if isinstance(weights[0], list) else [[w] * len(capacities) for w in weights]
    parts = [[w / s for w, s in zip(row, total(each), strict=True)] for row in each]
    rows = zip(demands, parts, strict=True)
    rate = [1 / max(d / c / w for d, c, w in zip(row, capacities, part, strict=True)) for row, part in rows]
    left = [c - x for c, x in zip(capacities, total(times(demands, least)), strict=True)]
    base = least if floor == "apart" else [Fraction(0)] * len(least)
    end = [inf if most is None else (most - b) / x for most, b, x in zip(max_tasks, base, rate, strict=True)]
    begin = [(x - b) / r for x, b, r in zip(least, base, rate, strict=True)]
    levels = poured(times(demands, rate), begin, end, left)
    return {"tasks": [b + level * x for b, level, x in zip(base, levels, rate, strict=True)]}


def of_a_task(demands: Rows, weights: Row, capacities: Row) -> list[Any]:
    """Dominant share of one task by weight."""
    return [
        max(d / c for d, c in zip(row, capacities, strict=True)) / w for row, w in zip(demands, weights, strict=True)
    ]


def drf_by_task(
    demands: Rows, weights: Row, capacities: Row, max_tasks: Row, running: Any = None, stuck: str = "skip"
) -> dict[str, Any]:
    """Ghodsi et al. 2011, Algorithm 1: the next task to the lowest level."""
    level, waits = of_a_task(demands, weights, capacities), list(range(len(demands)))
    has = [0] * len(waits) if running is None else list(running)
    while waits:
        i = min(waits, key=lambda i: has[i] * level[i])
        bounded = max_tasks[i] is not None and has[i] + 1 > max_tasks[i]
        has[i] += 1
        if bounded or not fits(total(times(demands, has)), capacities):
            has[i] -= 1
            waits = [] if stuck == "stop" and not bounded else [h for h in waits if h != i]
    return {"tasks": has}


def sequential_minmax(demands: Rows, weights: Row, capacities: Row, max_tasks: Row, ties: str) -> dict[str, Any]:
    """Parkes et al. 2015, section 5: whoever is served, the largest level of all after it is smallest."""
    level, has = of_a_task(demands, weights, capacities), [0] * len(demands)
    order = range(len(has)) if ties == "first" else range(len(has) - 1, -1, -1)
    while True:
        more = {i: [x + (h == i) for h, x in enumerate(has)] for i in order}
        able = [i for i in order if fits(total(times(demands, more[i])), capacities)]
        able = [i for i in able if max_tasks[i] is None or more[i][i] <= max_tasks[i]]
        if not able:
            return {"tasks": has}
        has = min((more[i] for i in able), key=lambda tasks: max(x * y for x, y in zip(tasks, level, strict=True)))


def dmfa_srq(demands: Rows, weights: Row) -> dict[str, Any]:
    """Zhang et al. 2016, (4): after each arrival the largest M with x_i = max(M w_i, what i had) in the pool."""
    return {"lowest": [min(one.values()) for one in of_events(demands, weights, range(len(weights)), "leaves")]}


def of_events(demands: Rows, weights: Row, events: Iterable[int], contribution: str) -> list[dict[int, Any]]:
    """Levels after each event; who is there departs: first the highest are cut to what then fits, then M rises."""
    need = [[w * d / max(row) for d in row] for row, w in zip(demands, weights, strict=True)]
    levels, pool, found = dict[int, Any](), Fraction(0), []
    for user in events:
        if user in levels:
            del levels[user]
            pool -= weights[user] * (contribution == "leaves")
        else:
            levels[user], pool = Fraction(0), pool + weights[user]
        columns, has = list(zip(*(need[i] for i in levels), strict=True)), [*levels.values()]
        most = min((used_up(column, [0] * len(has), has, pool) for column in columns), default=inf)
        has = [min(level, most) for level in has]
        rows = [(column, pool - sum(d * level for d, level in zip(column, has, strict=True))) for column in columns]
        least = min((used_up(column, has, [inf] * len(has), left) for column, left in rows), default=0)
        levels = {i: max(level, least) for i, level in zip(levels, has, strict=True)}
        found.append(dict(levels))
    return found


def dynamic_drf(demands: Rows) -> dict[str, Any]:
    """Kash et al. 2014: the same, everyone with an equal part."""
    return dmfa_srq(demands, [Fraction(1, len(demands))] * len(demands))


def static_optimum(demands: Rows, weights: Row) -> dict[str, Any]:
    """Zhang et al. 2016, (5)."""
    need = [[w * d / max(row) for d in row] for row, w in zip(demands, weights, strict=True)]
    return {"lowest": [sum(weights[:k]) / max(total(need[:k])) for k in range(1, len(need) + 1)]}
