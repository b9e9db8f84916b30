"""Virtual clusters: each list as its name says, Figure 1, and all placements."""

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import product
from math import ceil, inf
from typing import Any

from tests.judges.pool import Row, poured


def shared(least: Row, most: Row, room: Any, whole: bool) -> list[Any]:
    """One cluster max-min fairly: whole VMs one by one to the least fraction, ties to who wants fewest; or poured."""
    if not whole:
        begin = [a / b for a, b in zip(least, most, strict=True)]
        ends = poured([[b] for b in most], begin, [1] * len(most), [room - sum(least)])
        return [e * b for e, b in zip(ends, most, strict=True)]
    vms = list(least)
    for _ in range(int(room - sum(least))):
        if waits := [i for i, x in enumerate(vms) if x < most[i]]:
            vms[min(waits, key=lambda i: (vms[i] / most[i], most[i]))] += 1
    return vms


#: What makes a cluster the first choice, the least counts: of its VMs C, the sums there of minima and of all that is
#: wanted, and the newcomer's minimum and wish.
MARKS: dict[str, Callable[..., Any]] = {
    "relative": lambda C, low, high, a, b: low / C if C else inf,
    "free": lambda C, low, high, a, b: low - C,
    "least_wanted": lambda C, low, high, a, b: (high + b) / C if C else inf,
    "best_fit": lambda C, low, high, a, b: (0, C - high) if high + b <= C else (1, (high + b) / C if C else inf),
    "first_fit": lambda C, low, high, a, b: (0, 0) if high + b <= C else (1, (high + b) / C if C else inf),
    "fullest": lambda C, low, high, a, b: C - low,
    "least_fluid": lambda C, low, high, a, b: (  # elastic VMs wanted, by VMs left for them
        (high - low + b - a) and ((high - low + b - a) / (C - low - a) if low + a < C else inf)
    ),
    "first": lambda *_: 0,
}


def in_turn(order: Iterable[int], least: Row, most: Row, room: Row, mark: str) -> dict[int, int]:
    """User after user to the cluster of the least mark of those that hold its minimum."""
    homes: dict[int, int] = {}
    for i in order:
        there = [[h for h, at in homes.items() if at == j] for j in range(len(room))]
        sums = [(room[j], sum(least[h] for h in here), sum(most[h] for h in here)) for j, here in enumerate(there)]
        able = [j for j, (C, low, _) in enumerate(sums) if low + least[i] <= C]
        if able:
            homes[i] = min(able, key=lambda j: MARKS[mark](*sums[j], least[i], most[i]))
    return homes


class Asked:
    """Requests of VMs; whole minima are rounded up."""

    def __init__(self, max_vms: Row, tolerance: Row, capacities: Row, whole: bool) -> None:
        self.most, self.tolerance, self.room, self.whole = max_vms, tolerance, capacities, whole
        exact = [(1 - k) * a for a, k in zip(max_vms, tolerance, strict=True)]
        self.least = [ceil(x) for x in exact] if whole else exact

    def only(self, users: Row, room: Row) -> "Asked":
        return Asked([self.most[i] for i in users], [self.tolerance[i] for i in users], room, self.whole)

    def split(self, homes: dict[int, int]) -> list[Any]:
        """VMs of each user, every cluster shared by itself; 0 for who has none."""
        vms = [0] * len(self.most)
        for j, C in enumerate(self.room):
            here = sorted(i for i, at in homes.items() if at == j)
            some = here and shared([self.least[i] for i in here], [self.most[i] for i in here], C, self.whole)
            for i, x in zip(here, some, strict=True):
                vms[i] = x
        return vms

    def rank(self, homes: dict[int, int]) -> tuple[Any, ...]:
        """Users served, the least fraction among them, VMs handed out."""
        vms = self.split(homes)
        return len(homes), min((vms[i] / self.most[i] for i in homes), default=0), sum(vms)


def listed(asked: Asked, method: str, load: str, fit: str) -> dict[int, int]:
    """Section 2.1 of Liu et al. 2011, or the best of the 16 lists of Stillwell et al. 2010."""
    users, least, most = range(len(asked.most)), asked.least, asked.most
    if method != "metagreedy":
        return in_turn(users, least, most, asked.room, load if method == "relaxation" else fit)
    keys = [lambda i: 0, lambda i: least[i] - most[i], lambda i: -least[i], lambda i: -most[i]]
    marks = ("free", "least_fluid", "fullest", "first")
    lists = [in_turn(sorted(users, key=key), least, most, asked.room, mark) for key in keys for mark in marks]
    return max(lists, key=asked.rank)


def mixed_knapsack(
    asked: Asked, general: str, small: int, top_up: bool, **marks: str
) -> tuple[dict[int, int], list[Any]]:
    """Figure 1 of Liu et al. 2011, step by step: homes and VMs."""
    homes, vms, room, left = dict[int, int](), [0] * len(asked.most), list(asked.room), [*range(len(asked.most))]
    while left:
        tau = sum(room) / sum(asked.most[i] for i in left)
        A = [i for i in left if asked.tolerance[i] <= 1 - tau]
        if not A or len(left) <= small:
            rest = asked.only(left, room)
            found = listed(rest, general, **marks)
            homes |= {left[i]: j for i, j in found.items()}
            for i, x in zip(left, rest.split(found), strict=True):
                vms[i] = x
            break
        for i in sorted(A, key=lambda i: -asked.least[i]):  # the largest first, each on the fullest with room
            if able := [j for j, C in enumerate(room) if asked.least[i] <= C]:
                homes[i], vms[i] = min(able, key=room.__getitem__), asked.least[i]
                room[homes[i]] -= vms[i]
        left = [i for i in left if i not in A]
    return homes, asked.split(homes) if top_up else vms


def most_minima(asked: Asked, pack: Callable[[list[int]], bool]) -> list[int]:
    """As many users of the smallest minima as can be packed."""
    order = sorted(range(len(asked.most)), key=asked.least.__getitem__)
    return next(sorted(order[:k]) for k in range(len(order), -1, -1) if pack(order[:k]))


def placements(asked: Asked, users: list[int]) -> list[dict[int, int]]:
    """All ways to place some users whose minima then fit."""
    clusters = range(len(asked.room))
    ways = [dict(zip(users, homes, strict=True)) for homes in product(clusters, repeat=len(users))]
    return [w for w in ways if all(sum(asked.least[i] for i in users if w[i] == j) <= asked.room[j] for j in clusters)]


def packs(sizes: Row, room: Row) -> bool:
    """Whether one of 21 lists packs all: items and bins fall, stand as given, or rise; first, best or fill."""
    items = [*(sorted(range(len(sizes)), key=lambda i: sign * sizes[i]) for sign in (-1, 0, 1))]
    bins = [*(sorted(range(len(room)), key=lambda j: sign * room[j]) for sign in (-1, 0, 1))]
    for order, boxes, fit in product(items, bins, ("first", "best", "fill")):
        free, left = list(room), list(order)
        for i, j in product(order, boxes) if fit != "fill" else ((i, j) for j in boxes for i in order):
            at = min((k for k in boxes if sizes[i] <= free[k]), key=free.__getitem__, default=j) if fit == "best" else j
            if i in left and sizes[i] <= free[at]:
                left.remove(i)
                free[at] -= sizes[i]
        if not left:
            return True
    return False


def ended(asked: Asked, users: list[int], least: Any) -> bool:
    """Whether bisection may end at a least fraction: no list packs what the next one takes."""
    wanted = [asked.most[i] for i in users]
    more = (
        [Fraction(p, a) for a in wanted for p in range(1, int(a) + 1)]
        if asked.whole
        else [least * (1 + Fraction(1, 10**4))]
    )
    after = min((x for x in more if x > least + Fraction(1, 10**9)), default=2)
    sizes = [max(asked.least[i], ceil(after * asked.most[i]) if asked.whole else after * asked.most[i]) for i in users]
    return after > 1 or not packs(sizes, asked.room)


def virtual_cluster(
    max_vms: Row, tolerance: Row, capacities: Row, *,
    method: str, whole: bool, load: str, fit: str, general: str, small: int, top_up: bool,
) -> dict[str, Any]:  # fmt: skip
    """Liu et al. 2011 and Stillwell et al.; of equally good placements any counts, as their least fraction does."""
    asked, marks = Asked(max_vms, tolerance, capacities, whole), {"load": load, "fit": fit}
    if method == "spanning":
        users = most_minima(asked, lambda some: sum(asked.least[i] for i in some) <= sum(capacities))
        one = Asked(max_vms, tolerance, [sum(capacities)], whole)
        vms = one.split(dict.fromkeys(users, 0))
        return {
            "vms": vms,
            "bound": lambda bound: abs(bound - min(x / a for x, a in zip(vms, max_vms, strict=True))) < 1e-9,
        }
    if method == "exact":
        users = most_minima(asked, lambda some: bool(placements(asked, some)))
        return {"rank": max(asked.rank(homes) for homes in placements(asked, users))[:2]}
    if method == "vector_packing":
        users = most_minima(asked, lambda some: packs([asked.least[i] for i in some], capacities))
        return {
            "rank": (len(users),),
            "served_fraction": lambda least: not users or ended(asked, users, Fraction(least)),
        }
    if method == "mixed_knapsack":
        homes, vms = mixed_knapsack(asked, general, small, top_up, **marks)
    else:
        homes = listed(asked, method, load, fit)
        vms = asked.split(homes)
    if "metagreedy" in (method, general if method == "mixed_knapsack" else "") and not whole:
        return {"rank": (*asked.rank(homes)[:1], min((vms[i] / max_vms[i] for i in homes), default=0), sum(vms))}
    return {"vms": vms, "cluster": [homes.get(i, -1) for i in range(len(vms))]}
