"""Pack sizes into bins of different capacities: what virtual clusters at a given fraction come down to.

Everything works on whole numbers and on floats; a float bin is a hair larger than it is, see ``FITS``.

Four searches, each of which settles the question or leaves it to the next:

* *List heuristics*, the vector packing of Stillwell et al. (2010, 2012) in one dimension: first fit and best fit over
  sorted items and sorted bins, and permutation pack, which fills bin after bin.
* *A complete search* that puts the items, largest first, into the bins, remembers what it has seen to fail, and so
  proves that there is no packing when it ends before its limit.
* *All subsets*, for few items: which of them the first bins can hold, and how little of the next bin that takes.
* *Random tight fills*: all bins but a few are filled one by one with subsets that leave almost nothing, the last ones
  by the complete search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairbook.kernels import ALWAYS, INSIDE, kernel
from fairbook.model.inputs import FITS

#: The list heuristics: how items are sorted, how bins are, and who is matched with whom.
LISTS = tuple(
    (item, bin_, fit)
    for item in ("down", "given", "up")
    for bin_ in ("up", "given", "down")
    for fit in ("first", "best", "fill")
    if fit != "best" or bin_ == "up"
)

_FITS = ("first", "best", "fill")
_FIRST, _, _FILL = range(len(_FITS))
_MEMORY = 1 << 16  # states that the complete search remembers; a later one overwrites
_WORDS = 1 << 24  # that these may take, 128 MB: where there are more than 255 bins they are fewer
_REST = 3  # bins left to the complete search after random fills
_TRIES_PER_BIN = 400  # nodes of one subset search
_AFTER_FILLS = np.int64(5000)  # nodes of the complete search after one round of random fills
_SHORT = 20_000  # nodes after which the complete search gives way
_ODD = np.uint64(0x9E3779B97F4A7C15)  # mixes what is multiplied by it
_FEW = 20  # items whose subsets are gone through: 2^20 of 13 bytes


class Packing(NamedTuple):
    """What a search for a packing came to."""

    bins: NDArray[np.int64] | None
    """Bin of each item, shape (n,); None where none was found."""
    settled: bool
    """Whether "none was found" means that there is none."""
    nodes: int
    """Places tried by the searches."""


def _places(sizes: Any, items: Any, free: Any, *_: Any) -> float:
    """Steps of a list heuristic: each item and each bin goes through a tree."""
    return 10.0 * (items.size + free.size)


@kernel(INSIDE)
def _tree(values: Any, order: Any, none: Any) -> Any:
    """Build a tree over values in an order: leaves in the second half, each node the least below. Cost O(n).

    Where there is no value there is one that nobody looks for.
    """
    leaves = 1
    while leaves < len(order):
        leaves *= 2
    tree = np.full(2 * leaves, none, values.dtype)
    for place in range(len(order)):
        tree[leaves + place] = values[order[place]]
    for node in range(leaves - 1, 0, -1):
        tree[node] = min(tree[2 * node], tree[2 * node + 1])
    return tree


@kernel(INSIDE)
def _set(tree: Any, place: int, value: Any) -> None:
    """Replace the value at a place. Cost O(log n)."""
    node = len(tree) // 2 + place
    tree[node] = value
    node >>= 1
    while node:
        tree[node] = min(tree[2 * node], tree[2 * node + 1])
        node >>= 1


@kernel(INSIDE)
def _next(tree: Any, place: int, most: Any) -> int:
    """Give the first place, from this one on, whose value is at most that; the number of leaves if there is none."""
    leaves = len(tree) // 2
    if place >= leaves:
        return leaves
    node = leaves + place
    while tree[node] > most:
        while node & 1:
            node >>= 1
        if node == 0:
            return leaves
        node += 1
    while node < leaves:
        node *= 2
        if tree[node] > most:
            node += 1
    return node - leaves


@kernel(INSIDE)
def _sort(rising: Any, free: Any) -> None:
    """Sort bins by room, then number. Cost O(H) where they are nearly sorted."""
    for t in range(1, len(rising)):
        b, at = rising[t], t
        while at > 0 and (free[rising[at - 1]] > free[b] or (free[rising[at - 1]] == free[b] and rising[at - 1] > b)):
            rising[at] = rising[at - 1]
            at -= 1
        rising[at] = b


@kernel(_places)
def _list(sizes: Any, items: Any, free: Any, bins: Any, fit: int, where: Any) -> bool:
    """Pack items in this order into bins in this order; free is used up. Cost O((n + H) log(n + H)).

    Best fit: O(n H).
    """
    where[:] = -1
    none = 2 * free.max() + 1
    if fit == _FILL:
        left = len(items)
        tree = _tree(sizes, items, none)
        for b in bins:
            place = _next(tree, 0, free[b])
            while place < len(items):
                i = items[place]
                where[i] = b
                free[b] -= sizes[i]
                left -= 1
                _set(tree, place, none)
                place = _next(tree, place + 1, free[b])
        return left == 0
    if fit == _FIRST:
        tree = _tree(-free, bins, none)
        for i in items:
            place = _next(tree, 0, -sizes[i])
            if place >= len(bins):
                return False
            where[i] = bins[place]
            free[bins[place]] -= sizes[i]
            _set(tree, place, -free[bins[place]])
        return True
    for i in items:
        fullest = -1
        for b in bins:
            if free[b] >= sizes[i] and (fullest < 0 or free[b] < free[fullest]):
                fullest = b
        if fullest < 0:
            return False
        where[i] = fullest
        free[fullest] -= sizes[i]
    return True


@kernel(INSIDE)
def _mixed(value: Any) -> Any:
    x = np.uint64(value) * _ODD
    x ^= x >> np.uint64(29)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(32)
    x *= np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel(ALWAYS)
def complete_search(sizes: Any, free: Any, limit: int, seen: Any, bits: Any, states: Any) -> Any:
    """Put sizes (falling) into bins; give 1 packed, 0 impossible, -1 limit reached, then the bins and the nodes.

    Three things cut the search. Room that no item can use any more is lost, and the rest must hold what is left. A bin
    that an item fills to the brim takes it: nothing else could use that room better. Bins with equal room are the same,
    and a set of rooms that failed for the items from here on, whatever the order of the bins, fails again.

    ``seen`` has a number for each state that failed. Two may have the same, so ``states``, H + 1 words for each, has
    the state itself: the next item and the rooms, sorted.
    """
    n, H = len(sizes), len(free)
    where = np.full(n, -1, np.int64)
    if n == 0:
        return 1, where, 0
    after = np.zeros(n + 1, sizes.dtype)
    for i in range(n - 1, -1, -1):
        after[i] = after[i + 1] + sizes[i]
    choice = np.empty((min(n, limit), H), np.int32)  # each item that is reached is a node
    choices, at = np.zeros(n, np.int64), np.zeros(n, np.int64)
    rising = np.argsort(free, kind="mergesort")  # bins by room, then number
    state = np.empty(H + 1, np.uint64)
    nodes, i, entering = 0, 0, True
    seen[:] = 0
    while True:
        if entering:
            if nodes >= limit:
                return -1, where, nodes
            nodes += 1
            _sort(rising, free)
            room, key = after[n], np.uint64(0)
            state[H] = i
            for t in range(H):
                useful = free[rising[t]] >= sizes[n - 1]
                state[t] = bits[rising[t]] if useful else 0
                room += free[rising[t]] if useful else after[n]
                key = (key + state[t]) * _ODD
            count = 0
            if room >= after[i]:
                key = _mixed(key + state[H]) | np.uint64(1)
                slot = np.int64(key >> np.uint64(40)) % len(seen)
                known = seen[slot] == key and (states[slot, : H + 1] == state).all()
                seen[slot], states[slot, : H + 1] = key, state
                if not known:
                    size = sizes[i]
                    for b in range(H):
                        if free[b] == size:
                            choice[i, 0] = b
                            count = 1
                    if count == 0:
                        for b in rising:  # best fit first
                            if free[b] >= size and (count == 0 or free[b] != free[choice[i, count - 1]]):
                                choice[i, count] = b
                                count += 1
            choices[i], at[i] = count, 0
            entering = False
        if at[i] < choices[i]:
            b = choice[i, at[i]]
            at[i] += 1
            where[i] = b
            free[b] -= sizes[i]
            i += 1
            if i == n:
                return 1, where, nodes
            entering = True
        else:
            i -= 1
            if i < 0:
                return 0, where, nodes
            free[where[i]] += sizes[i]
            where[i] = -1


@kernel(ALWAYS)
def all_subsets(sizes: Any, room: Any) -> Any:
    """Go through all subsets of the items; give 1 packed or 0 impossible, the bins, and the subsets. Cost O(n 2^n).

    For each subset: the least number of bins, in the order given, that hold it, and with these the least use of the
    last one. Less of that is never worse, so the last item's subset needs only the best of its predecessors.
    """
    n, H = len(sizes), len(room)
    count = 1 << n
    bin_of = np.full(count, H, np.int32)
    used = np.zeros(count, sizes.dtype)
    last = np.full(count, -1, np.int8)
    bin_of[0] = 0
    for s in range(1, count):
        best_bin, best_used, best_item = H, used[0], -1
        for i in range(n):
            if s >> i & 1:
                b = bin_of[s ^ (1 << i)]
                if b > best_bin or b == H:
                    continue
                u = used[s ^ (1 << i)] + sizes[i]
                while b < H and u > room[b]:
                    b += 1
                    u = sizes[i]
                if b < best_bin or (b == best_bin and b < H and u < best_used):
                    best_bin, best_used, best_item = b, u, i
        bin_of[s], used[s], last[s] = best_bin, best_used, best_item
    where = np.full(n, -1, np.int64)
    s = count - 1
    if bin_of[s] == H:
        return 0, where, count
    while s:
        i = int(last[s])  # numpy would shift within a byte
        where[i] = bin_of[s]
        s ^= 1 << i
    return 1, where, count


@kernel(INSIDE)
def _tight(tree: Any, count: int, room: Any, spare: Any, tries: int, chosen: Any, stack: Any) -> Any:
    """Choose among the items of a tree a subset that leaves at most ``spare`` of the room, or as little as is found.

    ``chosen`` gets their places; the number of them and the nodes are returned. Cost O(log n) a node.
    """
    leaves = len(tree) // 2
    depth, at, nodes, best, length = 0, 0, 0, room, 0
    left = room
    if room <= spare:
        return 0, 0
    while True:
        at = _next(tree, at, left)
        if at < count:
            stack[depth] = at
            depth += 1
            left -= tree[leaves + at]
            at += 1
            nodes += 1
            if left < best:
                best, length = left, depth
                chosen[:depth] = stack[:depth]
                if best <= spare:
                    return length, nodes
            if nodes >= tries:
                return length, nodes
        else:
            if depth == 0:
                return length, nodes
            depth -= 1
            at = stack[depth]
            left += tree[leaves + at]
            at += 1


@kernel(INSIDE)
def _random(state: Any) -> Any:
    """Give a number in [0, 1) and count on: a numpy generator would take half a minute to compile."""
    state[0] += np.uint64(1)
    return np.float64(_mixed(state[0]) >> np.uint64(11)) * 2.0**-53


@kernel(ALWAYS)
def random_fills(sizes: Any, free: Any, limit: int, seen: Any, states: Any, seed: int) -> Any:
    """Fill all bins but a few tightly in a random order, the rest by the complete search; again until the limit."""
    state = np.full(1, np.uint64(seed) << np.uint64(32), np.uint64)
    n, H = len(sizes), len(free)
    spare, none = free.sum() - sizes.sum(), 2 * free.max() + 1
    where = np.full(n, -1, np.int64)
    items, chosen, stack = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    order, key = np.arange(H), np.empty(n)
    first = min(_REST, H)
    left_over, room = np.empty_like(sizes), np.empty_like(free[:first])
    nodes = 0
    while nodes + n <= limit:
        where[:] = -1
        for b in range(H - 1, 0, -1):
            other = np.int64(_random(state) * (b + 1))
            order[b], order[other] = order[other], order[b]
        for i in range(n):
            key[i] = -sizes[i] * (0.7 + 0.6 * _random(state))  # largest first, more or less
        ranked = np.argsort(key)
        budget = spare
        tree = _tree(sizes, ranked, none)
        nodes += n  # what sorting costs
        for t in range(H - 1, first - 1, -1):
            b = order[t]
            tries = min(_TRIES_PER_BIN, limit - nodes - 1)
            if tries <= 0:
                budget -= budget + 1
                break
            taken, work = _tight(tree, n, free[b], budget / (t + 1), tries, chosen, stack)
            nodes += work + 1
            lost = free[b]
            for s in range(taken):
                i = ranked[chosen[s]]
                where[i] = b
                lost -= sizes[i]
                _set(tree, chosen[s], none)
            budget -= lost
            if budget < 0:
                break
        if budget < 0:
            continue
        count = 0
        for i in range(n):  # falling, as all sizes are
            if where[i] < 0:
                items[count], left_over[count] = i, sizes[i]
                count += 1
        for b in range(first):
            room[b] = free[order[b]]
        few = min(_AFTER_FILLS, limit - nodes)
        status, found, work = complete_search(left_over[:count], room, few, seen, room.view(np.int64), states)
        nodes += work
        if status == 1:
            for s in range(count):
                where[items[s]] = order[found[s]]
            return 1, where, nodes
    return -1, where, nodes


def _room(capacities: NDArray[Any]) -> NDArray[Any]:
    return capacities.copy() if capacities.dtype.kind == "i" else capacities * (1 + FITS)


def list_pack(
    sizes: NDArray[Any],
    capacities: NDArray[Any],
    order: NDArray[np.int64],
    heuristic: tuple[str, str, str],
) -> NDArray[np.int64] | None:
    """Pack by one of :data:`LISTS`, given the order of falling size; None where it fails. Cost as of the kernel."""
    item, bin_, fit = heuristic
    items = {"down": order, "up": order[::-1], "given": np.arange(len(sizes))}[item]
    rising = np.argsort(capacities, kind="stable")
    bins = {"up": rising, "down": rising[::-1], "given": np.arange(len(capacities))}[bin_]
    where = np.empty(len(sizes), np.int64)
    # sizes that may be written, items and bins without gaps: numba compiles each layout anew
    items, bins = np.ascontiguousarray(items), np.ascontiguousarray(bins)
    return where if _list(sizes.copy(), items, _room(capacities), bins, _FITS.index(fit), where) else None


def first_packing(sizes: Any, room: Any) -> dict[int, int] | None:
    """Pack numbers of any kind by the first of 21 lists that holds all: items and bins fall, come as given, or rise."""
    items, bins = range(len(sizes)), range(len(room))
    falling, rising = sorted(items, key=lambda i: -sizes[i]), sorted(bins, key=room.__getitem__)
    for order, boxes in product((falling, items, falling[::-1]), (rising, bins, rising[::-1])):
        for fit in ("first", "best", "fill") if boxes is rising else ("first", "fill"):
            found = pack_greedily(fit, order, boxes, sizes, list(room))
            if len(found) == len(sizes):
                return found
    return None


def pack_greedily(fit: str, items: Sequence[int], bins: Sequence[int], sizes: Any, free: list[Any]) -> dict[int, int]:
    """Pack item by item into the first or the fullest bin with room, or fill bin by bin."""
    tries = {
        "first": ((i, j) for i in items for j in bins),
        "best": ((i, j) for i in items for j in sorted(bins, key=free.__getitem__)),
        "fill": ((i, j) for j in bins for i in items),
    }
    found: dict[int, int] = {}
    for i, j in tries[fit]:
        if i not in found and sizes[i] <= free[j]:
            found[i], free[j] = j, free[j] - sizes[i]
    return found


def pack(sizes: NDArray[Any], capacities: NDArray[Any], node_limit: int = 0, seed: int = 0) -> Packing:
    """Look for bins that hold all items: lists first, then, up to the limit of nodes, the searches.

    Parameters
    ----------
    sizes : ndarray of int64 or float64, shape (n,)
    capacities : ndarray, shape (H,), of the same type
    node_limit : int
        Nodes of all searches together; subsets are gone through if they are fewer. 0: lists only.
    seed : int
        Of the random fills.

    Notes
    -----
    Cost O((n + H) log(n + H)) a list, and for best fit O(n H); O(H) a node of the complete search, O(log n) of
    the random fills, O(n) a subset. Memory O(n + H), and for the complete search O(H) an item that it reaches, which
    are fewer the more bins there are, and O(H) a state that it remembers, 128 MB of states at most. Whether bins
    hold all items is NP-complete.
    """
    order = np.argsort(-sizes, kind="stable")
    if len(sizes) and (sizes.sum() > _room(capacities).sum() or sizes[order[0]] > _room(capacities).max()):
        return Packing(None, True, 0)
    for heuristic in LISTS:
        bins = list_pack(sizes, capacities, order, heuristic)
        if bins is not None:
            return Packing(bins, True, 0)
    if node_limit == 0:
        return Packing(None, False, 0)
    falling, total = np.ascontiguousarray(sizes[order]), 0

    def remembering(bins: int) -> Any:
        kept = max(1, min(_MEMORY, _WORDS // (bins + 1)))
        return np.zeros(kept, np.uint64), np.empty((kept, bins + 1), np.uint64)  # only what is written takes memory

    def complete(limit: int) -> Any:
        limit = limit * 8 // max(8, len(capacities))  # a node costs more where there are many bins
        (seen, states), room = remembering(len(capacities)), _room(capacities)
        return complete_search(falling, room, limit, seen, room.view(np.int64), states)

    searches: list[Callable[[int], Any]] = [lambda left: complete(min(left, _SHORT))]
    if len(sizes) <= _FEW and node_limit - _SHORT >= 1 << len(sizes):
        searches += [lambda left: all_subsets(falling, _room(capacities))]
    else:
        few = remembering(_REST)
        searches += [lambda left: random_fills(falling, _room(capacities), left // 2, *few, seed), complete]
    for search in searches:
        with np.errstate(over="ignore"):  # of keys, which go round; where nothing is compiled numpy would warn
            status, found, nodes = search(node_limit - total)
        total += nodes
        if status == 1:
            bins = np.empty(len(sizes), np.int64)
            bins[order] = found
            return Packing(bins, True, total)
        if status == 0:
            return Packing(None, True, total)
    return Packing(None, False, total)
