"""The largest fraction at which all sizes pack: exact virtual clusters, and vector packing where only lists pack.

A fraction can be reached if and only if VMs for it and for the minima pack. So packing is asked again and again: among
the fractions that whole VMs can have, by bisection; else by halving, and by asking whether there is anything just above
what is reached. Each answer moves one end: sharing what was packed lifts what is reached, a proof that nothing packs
lowers the bound. What stays open moves neither, so the bound is true whatever the limit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.mechanisms.clusters.packing import Packing, pack
from fairbook.model.clusters import IntArray
from fairbook.model.inputs import WHOLE
from fairbook.model.requests import TURNED_AWAY, Requests
from fairbook.model.sharing import share_each, share_out

_EXACTLY, _ROUGHLY = 1e-10, 1e-5  # parts of the bound to which a fraction is found, and if searches give up
_ROUNDING = 1e-12  # part of a fraction by which sharing what was packed may fall short of it
_QUESTIONS = 16  # whether sizes pack, that may each be as hard as they like within the limit
_MANY = 2_000_000  # fractions that whole VMs can have, more of which are not listed


class Found(NamedTuple):
    """Cluster and VMs of each user, and the largest least fraction that may be possible."""

    where: IntArray
    vms: NDArray[Any]
    bound: float


def shared(asked: Requests, where: IntArray) -> NDArray[Any]:
    """Share every cluster among the users that live there, shape (n,)."""
    vms = np.zeros_like(asked.max_vms)
    order = np.argsort(where, kind="stable")
    cuts = np.searchsorted(where[order], np.arange(len(asked.capacities) + 1))
    if vms.dtype == int:
        share_each(asked.minimum, asked.max_vms, asked.capacities, order, cuts, vms)
        return vms
    for j in np.flatnonzero(np.diff(cuts)).tolist():
        here = order[cuts[j] : cuts[j + 1]]
        vms[here] = share_out(asked.minimum[here], asked.max_vms[here], asked.capacities[j], asked.whole)
    return vms


def share_at(asked: Requests, where: IntArray) -> Found:
    """Share what is placed; of its bound nothing is known but what holds for all."""
    return Found(where, shared(asked, where), asked.bound)


def rank(asked: Requests, found: Found) -> tuple[Any, ...]:
    """Order allocations: users served, least fraction among them, VMs handed out."""
    served = found.where >= 0
    least = (found.vms[served] / asked.max_vms[served]).min() if served.any() else 0.0
    return served.sum(), least, found.vms.sum()


class Packer:
    """Packs, question after question, till the limit is used up; from then on, or with a limit of 0, by lists alone."""

    def __init__(self, node_limit: int, seed: int) -> None:
        self.each, self.left, self.seed, self.nodes = node_limit // _QUESTIONS, node_limit, seed, 0

    def pack(self, sizes: NDArray[Any], capacities: NDArray[Any]) -> Packing:
        try:
            packing = pack(sizes, capacities, min(self.each, self.left), self.seed)
        except MemoryError:
            size = f"{len(sizes)} users on {len(capacities)} clusters"
            raise InvalidInput("max_vms", "must be few enough for the memory that there is", size) from None
        self.left -= packing.nodes
        self.nodes += packing.nodes
        return packing


def _fractions_between(asked: Requests, low: float, high: float) -> NDArray[np.float64] | None:
    """All values p / alpha in (low, high], the only least fractions that whole VMs can have; None if they are many."""
    alpha = np.unique(asked.max_vms)
    first = np.floor(low * alpha + WHOLE).astype(np.int64) + 1
    last = np.floor(high * alpha + WHOLE).astype(np.int64)
    if np.maximum(last - first + 1, 0).sum() > _MANY:
        return None
    values = [np.arange(a, b + 1) / c for a, b, c in zip(first, last, alpha, strict=True) if b >= a]
    return np.unique(np.concatenate(values)) if values else np.zeros(0)


class _Search:
    """Asks whether sizes pack, and keeps the best allocation and what was proved."""

    def __init__(self, asked: Requests, start: IntArray, packer: Packer) -> None:
        self.asked, self.packer = asked, packer
        self.where, self.vms, self.bound = share_at(asked, start)
        self.out, self.complete = np.inf, True

    @property
    def reached(self) -> float:
        return float((self.vms / self.asked.max_vms).min())

    def ask(self, fraction: float) -> bool:
        """Whether a packing was found; if it was proved that there is none, ``out`` falls.

        With it ``reached`` grows to the fraction; where VMs are not whole maybe not, as bins are a hair too large.
        """
        packing = self.packer.pack(self.asked.sizes(fraction), self.asked.capacities)
        if packing.bins is not None:
            vms = shared(self.asked, packing.bins)
            if (vms / self.asked.max_vms).min() > self.reached:
                self.where, self.vms = packing.bins, vms
        elif packing.settled:
            self.out = min(self.out, fraction)
            self.bound = min(self.bound, fraction)
        else:
            self.complete = False
        return packing.bins is not None

    def among(self, values: NDArray[np.float64], high: float) -> None:
        """Bisect the values that the least fraction can take, up to ``high``."""
        below, above = -1, len(values)
        while above - below > 1:
            middle = (below + above) // 2
            if self.ask(float(values[middle])):
                below = max(middle, int(np.searchsorted(values, self.reached, side="right")) - 1)
            else:
                above = middle
        first_out = int(np.searchsorted(values, self.out))
        if first_out < len(values) or (not len(values) and high == self.bound):
            self.bound = float(values[first_out - 1]) if first_out else self.reached

    def halve(self) -> None:
        """Bisect the interval up to the bound, until it is tiny or holds few values that whole VMs can have."""
        high, halve, tried = self.bound, True, -1.0
        while high - self.reached > (_EXACTLY if self.complete else _ROUGHLY) * self.asked.bound:
            if self.asked.whole:
                values = _fractions_between(self.asked, self.reached, high)
                if values is not None:
                    self.among(values, high)
                    return
            low = self.reached
            just_above = not halve and tried != low  # often the last question: is there anything above what is reached?
            middle = low * (1 + 0.5 * _EXACTLY) if just_above else 0.5 * (low + high)
            halve, tried = not halve, low if just_above else tried
            self.ask(middle)
            if self.out == middle or (self.reached < middle * (1 - _ROUNDING) and not just_above):
                high = middle

    def result(self) -> Found:
        self.halve()
        return Found(self.where, self.vms, max(self.bound, self.reached))


def _most_minima(asked: Requests, packer: Packer) -> tuple[IntArray, IntArray]:
    """Give the largest set of smallest minima that packs, as far as it is found, and where they are packed.

    If m users can be served at all, then the m with the smallest minima can: they fit where others were.
    """
    order, bins = np.argsort(asked.minimum, kind="stable"), np.zeros(0, np.int64)
    below, above = 0, len(asked) + 1
    while above - below > 1:
        middle = (below + above) // 2
        packing = packer.pack(asked.minimum[order[:middle]], asked.capacities)
        if packing.bins is None:
            above = middle
        else:
            below, bins = middle, packing.bins
    return order[:below], bins


def largest_fraction(asked: Requests, packer: Packer, start: IntArray | None = None) -> Found:
    """Search for the largest least fraction, from where users are placed or, without that, from packed minima.

    Where the minima do not pack, as many users as can be are served, those with the smallest minima.
    """
    packing = Packing(start, True, 0) if start is not None else packer.pack(asked.minimum, asked.capacities)
    if packing.bins is not None:
        return _Search(asked, packing.bins, packer).result()
    where, vms = np.full(len(asked), TURNED_AWAY, np.int64), np.zeros_like(asked.max_vms)
    users, bins = _most_minima(asked, packer)
    if len(users):
        where[users] = bins
        served = np.sort(users)
        part = asked.only(served)
        again = packer.pack(part.minimum, asked.capacities).bins  # now in the order given, if the limit is not used up
        found = _Search(part, where[served] if again is None else again, packer).result()
        where[served], vms[served] = found.where, found.vms
    return Found(where, vms, 0.0 if packing.settled else asked.bound)
