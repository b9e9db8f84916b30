"""Virtual clusters with a bounded slowdown (Liu, Dong, Tian, 2011): users on clusters, fractions max-min fair.

Once it is settled who lives where, each cluster is shared by :func:`fairbook.model.clusters.share_out`, and nothing
else is better. So the methods differ in one thing, the choice of the cluster:

* ``"relaxation"`` and ``"greedy"`` (section 2.1) and ``"mixed_knapsack"`` (Figure 1) are the paper's.
* ``"metagreedy"`` and ``"vector_packing"`` are the field's (Stillwell et al. 2010, 2012), in one dimension.
* ``"exact"`` searches for the largest fraction at which all sizes pack, and proves it where it can.
* ``"spanning"`` lets a virtual cluster live on several physical ones: condition (4) is dropped.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.kernels import kernel
from fairbook.mechanisms.choices import check_choice
from fairbook.mechanisms.engines.packing import FITS, Packing, pack
from fairbook.mechanisms.readings import Fit, General, Load
from fairbook.model.clusters import (
    RTOL,
    SPANS,
    TURNED_AWAY,
    WHOLE,
    IntArray,
    Requests,
    VirtualClusters,
    as_requests,
    share_each,
    share_out,
)
from fairbook.model.inputs import LARGEST, SMALLEST, as_number, as_whole, check_switch

__all__ = ["METHODS", "scarcity_rounds", "virtual_cluster"]

Method = Literal["relaxation", "greedy", "mixed_knapsack", "metagreedy", "vector_packing", "exact", "spanning"]
#: Ways to choose a cluster for each user.
METHODS: tuple[str, ...] = get_args(Method)

_EXACTLY, _ROUGHLY = 1e-10, 1e-5  # parts of the bound to which a fraction is found, and if searches give up
_ROUNDING = 1e-13  # part of a cluster or of a user that is nothing, where VMs are not whole
_FEW_PAIRS = 100_000  # of users and clusters; where there are more, packing has come out ahead of the lists each time
_QUESTIONS = 16  # whether sizes pack, that may each be as hard as they like within the limit
_MANY = 2_000_000  # fractions that whole VMs can have, more of which are not listed


# ------------------------------------------------------------------------------------------------ one user at a time

#: Rules by which a user gets its cluster, among those that can hold its minimum. The last two prefer those that can
#: hold all that is wanted there, with the newcomer: the fullest, or the first, of these; else they are _LEAST_WANTED.
(
    _LEAST_LOADED,
    _MOST_FREE,
    _LEAST_WANTED,
    _TIGHTEST,
    _LEAST_FLUID,
    _FIRST,
    _FULLEST_THAT_HOLDS_ALL,
    _FIRST_THAT_HOLDS_ALL,
) = range(8)


def _pairs(order: Any, least: Any, most: Any, capacities: Any, *_: Any) -> float:
    """Steps of a list rule: each user looks at each cluster."""
    return float(order.size * capacities.size)


@kernel(_pairs)
def _one_by_one(order: Any, least: Any, most: Any, capacities: Any, slack: Any, rule: int, where: Any) -> None:
    """Give the users in this order their clusters by one rule, the first cluster at ties. Cost O(n H)."""
    H = len(capacities)
    room, wanted, guaranteed = capacities.copy(), np.zeros_like(capacities), np.zeros_like(capacities)
    for i in order:
        chosen, best, full = -1, 0.0, False
        for j in range(H):
            if not least[i] <= room[j] + slack[j]:
                continue
            fits = False
            if rule == _LEAST_LOADED:  # minima as a part of the cluster; one without VMs is the fullest of all
                value = guaranteed[j] / capacities[j] if capacities[j] > 0 else np.inf
            elif rule == _MOST_FREE:
                value = -room[j] * 1.0
            elif rule == _TIGHTEST:  # least free after placing
                value = room[j] * 1.0
            elif rule == _LEAST_FLUID:  # elastic VMs wanted, newcomer included, a VM left for them
                left = room[j] - least[i]
                above = wanted[j] - guaranteed[j] + most[i] - least[i]
                value = above / left if left > 0 else (np.inf if above > 0 else 0.0)
            elif rule == _FIRST:
                value = 1.0 * j
            else:
                # all that is wanted on this cluster, with the newcomer, fits: nobody has to give anything back
                fits = rule != _LEAST_WANTED and wanted[j] + most[i] <= capacities[j] + slack[j]
                if not fits:  # what is wanted as a part of the cluster
                    value = (wanted[j] + most[i]) / capacities[j] if capacities[j] > 0 else np.inf
                elif rule == _FULLEST_THAT_HOLDS_ALL:
                    value = (capacities[j] - wanted[j]) * 1.0
                else:
                    value = 1.0 * j
            if chosen < 0 or (fits and not full) or (fits == full and value < best):
                chosen, best, full = j, value, fits
        if chosen >= 0:
            where[i] = chosen
            room[chosen] -= least[i]
            guaranteed[chosen] += least[i]
            wanted[chosen] += most[i]


_LOADS = {"relative": _LEAST_LOADED, "free": _MOST_FREE}
_FITS = {"least_wanted": _LEAST_WANTED, "best_fit": _FULLEST_THAT_HOLDS_ALL, "first_fit": _FIRST_THAT_HOLDS_ALL}
_PICKS = (_MOST_FREE, _LEAST_FLUID, _TIGHTEST, _FIRST)  # P1 = P5 = P6, P2, P3 = P4, P7


def _list_users(asked: Requests, room: NDArray[Any], rule: int, order: IntArray | None = None) -> IntArray:
    """Choose clusters by one rule, user by user; -1 where the minimum fits nowhere."""
    where = np.full(len(asked), TURNED_AWAY, np.int64)
    slack = np.zeros_like(room) if asked.whole else room * FITS
    users = np.arange(len(asked)) if order is None else order
    _one_by_one(users, asked.minimum, asked.max_vms, room, slack, rule, where)
    return where


def _shared(asked: Requests, where: IntArray, room: NDArray[Any] | None = None) -> NDArray[Any]:
    """Share every cluster among the users that live there, shape (n,)."""
    vms = np.zeros_like(asked.max_vms)
    capacities = asked.capacities if room is None else room
    order = np.argsort(where, kind="stable")
    cuts = np.searchsorted(where[order], np.arange(len(capacities) + 1))
    if asked.whole:
        share_each(asked.minimum, asked.max_vms, capacities, order, cuts, vms)
        return vms
    for j in np.flatnonzero(np.diff(cuts)).tolist():
        here = order[cuts[j] : cuts[j + 1]]
        vms[here] = share_out(asked.minimum[here], asked.max_vms[here], capacities[j])
    return vms


class _Found(NamedTuple):
    where: IntArray
    vms: NDArray[Any]
    bound: float


def _rank(asked: Requests, where: IntArray, vms: NDArray[Any]) -> tuple[int, float, float]:
    """Order allocations: users served, least fraction among them, VMs handed out."""
    served = where >= 0
    least = float((vms[served] / asked.max_vms[served]).min()) if served.any() else 0.0
    return int(served.sum()), least, float(vms.sum())


# --------------------------------------------------------------------------------------------------- the paper's three


def _listed(asked: Requests, rule: int) -> _Found:
    where = _list_users(asked, asked.capacities, rule)
    return _Found(where, _shared(asked, where), asked.bound)


def _mixed_knapsack(asked: Requests, small: int, general: str, fit: str, load: str, top_up: bool) -> _Found:
    """Figure 1; where queue A is empty, its step 7b would not get smaller, and the general algorithm takes over."""
    where, vms = np.full(len(asked), TURNED_AWAY, np.int64), np.zeros_like(asked.max_vms)
    room, left = asked.capacities.copy(), np.arange(len(asked))
    while len(left):
        part = asked.only(left, room)
        in_a = part.tolerance <= 1.0 - part.scarcity + RTOL
        if not in_a.any() or len(left) <= small:
            found = (
                _metagreedy(part).where
                if general == "metagreedy"
                else _list_users(part, room, _FITS[fit] if general == "greedy" else _LOADS[load])
            )
            where[left] = found
            vms[left] = _shared(part, found)
            break
        queue = left[in_a][np.argsort(-asked.minimum[left[in_a]], kind="stable")]
        found = _list_users(asked.only(queue), room, _TIGHTEST)
        where[queue] = found
        vms[queue] = np.where(found >= 0, asked.minimum[queue], 0)
        on = found >= 0
        taken = np.bincount(found[on], asked.minimum[queue[on]], minlength=len(room)).astype(room.dtype)
        room = np.maximum(room - taken, 0)
        left = left[~in_a]
    if top_up:
        vms = _shared(asked, where)
    return _Found(where, vms, asked.bound)


def scarcity_rounds(max_vms: Any, tolerance: Any, capacity: float) -> list[tuple[float, NDArray[np.bool_]]]:
    """Run steps 2 to 7 of Figure 1 on one cluster, VMs not whole: tau and queue A of each round, till A is empty.

    On one cluster the recursion is a way to find the level of max-min fairness: the last tau, or 1 if that is larger
    (the chapter proves it). Cost O(n) a round, at most n rounds.

    Parameters
    ----------
    max_vms : array_like or Series, shape (n,)
        VMs that each user wants, positive: alpha.
    tolerance : array_like or Series, shape (n,), or one number
        Part of them that may be missing, from 0 to 1: k.
    capacity : float
        VMs that the cluster holds, positive.

    Returns
    -------
    list of (float, ndarray of bool, shape (n,))
        tau of the round, and who is in queue A.

    Raises
    ------
    InvalidInput
        Naming argument, rule and value.

    Examples
    --------
    >>> [round(tau, 4) for tau, _ in scarcity_rounds([10, 10, 10], [0.1, 0.5, 0.9], 15)]
    [0.5, 0.1]
    """
    asked = as_requests(max_vms, tolerance, [as_number(capacity, "capacity", SMALLEST, LARGEST)], whole=False)
    left, room = np.ones(len(asked), bool), float(asked.capacities[0])
    rounds = []
    while left.any():
        tau = room / float(asked.max_vms[left].sum())
        queue = left & (asked.tolerance <= 1.0 - tau + RTOL)
        rounds.append((tau, queue))
        if not queue.any():
            break
        room -= float(asked.minimum[queue].sum())
        left = left & ~queue
    return rounds


# -------------------------------------------------------------------------------------------------- the field's two


def _metagreedy(asked: Requests) -> _Found:
    """The best of all sort orders S1 to S7 with all picks P1 to P7 that differ in one dimension."""
    keys = (np.zeros(len(asked)), asked.max_vms - asked.minimum, asked.minimum, asked.max_vms)  # S1, S2-3, S4-5, S6-7
    orders = [np.argsort(-key, kind="stable") for key in keys]
    lists = [_list_users(asked, asked.capacities, rule, order) for order in orders for rule in _PICKS]
    distinct = {where.tobytes(): where for where in lists}.values()
    found = [_Found(where, _shared(asked, where), asked.bound) for where in distinct]
    return max(found, key=lambda one: _rank(asked, one.where, one.vms))


def _fractions_between(asked: Requests, low: float, high: float) -> NDArray[np.float64] | None:
    """All values p / alpha in (low, high], the only least fractions that whole VMs can have; None if they are many."""
    alpha = np.unique(asked.max_vms)
    first = np.floor(low * alpha + WHOLE).astype(np.int64) + 1
    last = np.floor(high * alpha + WHOLE).astype(np.int64)
    if np.maximum(last - first + 1, 0).sum() > _MANY:
        return None
    values = [np.arange(a, b + 1) / c for a, b, c in zip(first, last, alpha, strict=True) if b >= a]
    return np.unique(np.concatenate(values)) if values else np.zeros(0)


class _Packer:
    """Packs, question after question, till the limit is used up; from then on, or with a limit of 0, by lists alone."""

    def __init__(self, node_limit: int, seed: int) -> None:
        self.each, self.left, self.seed, self.nodes = node_limit // _QUESTIONS, node_limit, seed, 0

    def pack(self, sizes: NDArray[Any], capacities: NDArray[Any]) -> Packing:
        packing = pack(sizes, capacities, min(self.each, self.left), self.seed)
        self.left -= packing.nodes
        self.nodes += packing.nodes
        return packing


class _Search:
    """Asks whether sizes pack, and keeps the best allocation and what was proved."""

    def __init__(self, asked: Requests, start: _Found, packer: _Packer) -> None:
        self.asked, self.packer = asked, packer
        self.where, self.vms = start.where, start.vms
        self.bound, self.out, self.complete = asked.bound, np.inf, True

    @property
    def reached(self) -> float:
        return float((self.vms / self.asked.max_vms).min())

    def ask(self, fraction: float) -> bool:
        """Whether a packing was found; if it was proved that there is none, ``out`` falls.

        With it ``reached`` grows to the fraction; where VMs are not whole maybe not, as bins are a hair too large.
        """
        packing = self.packer.pack(self.asked.sizes(fraction), self.asked.capacities)
        if packing.bins is not None:
            vms = _shared(self.asked, packing.bins)
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
            if self.out == middle or (self.reached < middle and not just_above):
                high = middle


def _search(asked: Requests, start: _Found | None, packer: _Packer) -> _Found:
    """Find a large fraction at which the sizes pack, from an allocation or, without one, from packed minima.

    No users are placed where not even the minima were packed; the bound is 0 then if that was proved.
    """
    if start is None:
        packing = packer.pack(asked.minimum, asked.capacities)
        if packing.bins is None:
            return _Found(np.zeros(0, np.int64), np.zeros(0), 0.0 if packing.settled else asked.bound)
        start = _Found(packing.bins, _shared(asked, packing.bins), asked.bound)
    search = _Search(asked, start, packer)
    search.halve()
    return _Found(search.where, search.vms, max(search.bound, search.reached))


def _most_minima(asked: Requests, packer: _Packer) -> tuple[IntArray, bool]:
    """Give the largest set of smallest minima that packs, and whether a larger set was proved out of reach.

    If m users can be served at all, then the m with the smallest minima can: they fit where others were.
    """
    order = np.argsort(asked.minimum, kind="stable")
    below, above, proved = 0, len(asked) + 1, True
    while above - below > 1:
        middle = (below + above) // 2
        packing = packer.pack(asked.minimum[order[:middle]], asked.capacities)
        if packing.bins is None:
            above, proved = middle, packing.settled
        else:
            below = middle
    return np.sort(order[:below]), proved


def _packed(asked: Requests, packer: _Packer) -> _Found:
    """Search all users together; where the minima do not pack, serve as many as can be, the smallest minima."""
    start = None
    if packer.left:  # the best of the cheap ones saves most of the search
        cheap = [_packed(asked, _Packer(0, packer.seed))]
        if len(asked) * len(asked.capacities) <= _FEW_PAIRS or (cheap[0].where < 0).any():
            cheap = [_listed(asked, _LEAST_WANTED), _metagreedy(asked), *cheap]
        for found in cheap:
            if (found.where >= 0).all() and (start is None or _rank(asked, *found[:2]) > _rank(asked, *start[:2])):
                start = found
        if start is not None and float((start.vms / asked.max_vms).min()) >= asked.bound * (1 - RTOL):
            return start
    found_all = _search(asked, start, packer)
    if len(found_all.where):
        return found_all
    served, _ = _most_minima(asked, packer)
    where, vms = np.full(len(asked), TURNED_AWAY, np.int64), np.zeros_like(asked.max_vms)
    if len(served):
        part = _search(asked.only(served), None, packer)
        where[served], vms[served] = part.where, part.vms
    return _Found(where, vms, found_all.bound)


# --------------------------------------------------------------------------------------------------------- the wish


@kernel()
def _cut(vms: Any, capacities: Any, rounding: float) -> Any:
    """Put user after user into cluster after cluster; give user, cluster and VMs of each piece. Cost O(n + H).

    What is less than ``rounding`` of a cluster or of a user is nothing. What is left over in the end, since the sums of
    VMs and of capacities differ by a rounding, goes to the largest cluster, where it is least.
    """
    n, H = len(vms), len(capacities)
    user, cluster, amount = np.empty(n + H, np.int64), np.empty(n + H, np.int64), np.empty(n + H, vms.dtype)
    largest, count, j, left = int(np.argmax(capacities)), 0, 0, capacities[0]
    for i in range(n):
        need = vms[i]
        while need > rounding * vms[i]:
            while j < H and left <= rounding * capacities[j]:
                j += 1
                if j < H:
                    left = capacities[j]
            here, part = largest, need
            if j < H:
                here = j
                if need > left + rounding * capacities[j]:
                    part = left
                left -= part
            need -= part
            if count and user[count - 1] == i and cluster[count - 1] == here:
                amount[count - 1] += part
            else:
                user[count], cluster[count], amount[count] = i, here, part
                count += 1
    return user[:count], cluster[:count], amount[:count]


def _spanning(asked: Requests) -> tuple[_Found, NDArray[Any]]:
    """Share the pool as one cluster and cut it: user after user into cluster after cluster, at most H - 1 cuts."""
    vms = asked.pooled.copy()
    served = np.ones(len(asked), bool)
    if not asked.fits(asked.minimum.sum(), asked.capacities.sum()):  # as many as can be: the smallest minima
        order = np.argsort(asked.minimum, kind="stable")
        fits = asked.fits(np.cumsum(asked.minimum[order]), asked.capacities.sum())
        served = np.zeros(len(asked), bool)
        served[order[fits]] = True
        if served.any():
            vms[served] = share_out(asked.minimum[served], asked.max_vms[served], asked.capacities.sum())
    pieces = np.stack(_cut(vms, asked.capacities, 0.0 if asked.whole else _ROUNDING), axis=1)
    where = np.where(served, 0, TURNED_AWAY)
    count = np.bincount(pieces[:, 0].astype(np.int64), minlength=len(asked))
    single = pieces[count[pieces[:, 0].astype(np.int64)] == 1]
    where[single[:, 0].astype(np.int64)] = single[:, 1].astype(np.int64)
    where[count > 1] = SPANS
    bound = float((vms / asked.max_vms).min()) if served.all() else 0.0
    return _Found(where, vms, bound), pieces


def virtual_cluster(
    max_vms: Any,
    tolerance: Any = None,
    capacities: Any = None,
    *,
    method: Method = "exact",
    whole: bool = True,
    node_limit: int = 10_000_000,
    seed: int = 0,
    load: Load = "relative",
    fit: Fit = "least_wanted",
    general: General = "greedy",
    small: int = 8,
    top_up: bool = False,
) -> VirtualClusters:
    """Give n users virtual clusters on H physical ones so that the least fraction is large (equations 1 to 5).

    Parameters
    ----------
    max_vms : array_like or Series, shape (n,), or Requests
        VMs that each user wants, positive whole numbers (any positive numbers with ``whole=False``): alpha.
        :class:`~fairbook.model.clusters.Requests` come alone: they say all four.
    tolerance : array_like or Series, shape (n,), or one number
        Part of them that may be missing, from 0 to 1: k. A user gets at least (1 - k) alpha VMs or is turned away.
    capacities : array_like or Series, shape (H,)
        VMs that each physical cluster holds: C. Where VMs are whole, they are rounded down, as max_vms must be whole.
    method : str
        ``"relaxation"``: minima first, each on the least loaded cluster, users in the order given (section 2.1).
        ``"greedy"``: all that is wanted first; what was given is taken back when a newcomer does not fit (section 2.1).
        ``"mixed_knapsack"``: Figure 1. ``"metagreedy"``: the best of 16 list rules. ``"vector_packing"``: bisection on
        the fraction with 21 packing rules. ``"exact"``: the optimum, or as far as ``node_limit`` goes, with what was
        proved in ``bound``. ``"spanning"``: the optimum where users may be on several clusters.
    whole : bool
        Whether VMs are whole.
    node_limit : int
        For ``"exact"``: places that its searches try in all, at least 1; a sixteenth of them for one fraction at most.
        What runs into it keeps what was proved. An interruption (Ctrl-C) waits for the search that runs: less than half
        a second at the default with 10 000 users on 200 clusters, and longer in proportion to the limit.
    seed : int
        For ``"exact"``: of its random fills, which find packings but prove nothing. From 0 to 2^32 - 1.
    load : {"relative", "free"}
        For ``"relaxation"``: least loaded is the smallest part in use, or the most VMs free.
    fit : {"least_wanted", "best_fit", "first_fit"}
        For ``"greedy"``: where a newcomer goes. ``"least_wanted"``: where all that is wanted, with the newcomer, is the
        smallest part of the cluster. ``"best_fit"``, ``"first_fit"``: into the fullest, or the first, of the clusters
        where nobody has to give back; where there is none, as before.
    general, small : {"greedy", "relaxation", "metagreedy"}, int
        For ``"mixed_knapsack"``: the algorithm of step 7a, and the number of users (0 or more) up to which it is used.
        Its ``load`` or ``fit`` is as above. Lists take the users in the order given: sort them to try another order.
    top_up : bool
        For ``"mixed_knapsack"``: whether queue A, too, gets what is left in the end. As printed it does not.

    Returns
    -------
    VirtualClusters
        ``vms`` (n,), ``cluster`` (n,), ``min_fraction`` (Y), ``slack`` (H,), ``optimal``, ``bound``,
        ``explain(user)``, ``violations()``.

    Raises
    ------
    InvalidInput
        Naming argument, rule and value.

    Notes
    -----
    Where not all minima can be met, the list methods turn away whom they cannot place; ``"exact"``,
    ``"vector_packing"`` and ``"spanning"`` serve as many as they can, those with the smallest minima, and share
    max-min fairly among these.

    Cost: O(n H) and the sharing out for the first three, O((n + H) log(n + H)) a fraction for
    ``"vector_packing"`` (at worst O(n H), by moves in one array), O(n log n + H) for ``"spanning"``. The exact problem
    is strongly NP-hard; up to some 20 users on 5 clusters, or 50 on 8, it is mostly settled in milliseconds; measured
    with 8 to 50 users a cluster, 640 clusters take 3 to 5 times as long as 160. Where VMs are not whole, the least
    fraction is found to 1e-10 of the bound, or to 1e-5 once a search has given up. Lists on small input need no
    compiler. The first call that needs the searches compiles some 10 s, and about as much again where VMs are not
    whole; what was compiled is kept on disk.

    References
    ----------
    Liu Feifei, Dong Xiaoshe, Tian Hongbo, "Research on resource allocation of virtual cluster based on QoS", High
    Technology Letters (Chinese); Stillwell, Schanzenbach, Vivien, Casanova, "Resource allocation algorithms for
    virtualized service hosting platforms", JPDC 70(9), 2010; Stillwell, Vivien, Casanova, "Virtual machine resource
    allocation for service hosting on heterogeneous distributed platforms", IPDPS 2012.

    Examples
    --------
    >>> virtual_cluster([10, 10, 10], [0.5, 0.5, 0.5], [16, 10]).vms
    array([ 8, 10,  8])
    """
    check_choice(method, "method", Method)
    check_choice(load, "load", Load)
    check_choice(fit, "fit", Fit)
    check_choice(general, "general", General)
    small = as_whole(small, "small", 0)
    node_limit = as_whole(node_limit, "node_limit", 1)
    seed = as_whole(seed, "seed", 0, 2**32 - 1)
    top_up = check_switch(top_up, "top_up")
    if not isinstance(max_vms, Requests):
        asked = as_requests(max_vms, tolerance, capacities, whole)
    elif tolerance is None and capacities is None:
        asked = max_vms
    else:
        raise InvalidInput("max_vms", "must come alone where they are Requests", max_vms)
    pieces, nodes = None, 0
    if method == "spanning":
        found, pieces = _spanning(asked)
    elif method == "relaxation":
        found = _listed(asked, _LOADS[load])
    elif method == "greedy":
        found = _listed(asked, _FITS[fit])
    elif method == "mixed_knapsack":
        found = _mixed_knapsack(asked, small, general, fit, load, top_up)
    elif method == "metagreedy":
        found = _metagreedy(asked)
    else:
        found = _packed(asked, packer := _Packer(node_limit if method == "exact" else 0, seed))
        nodes = packer.nodes
    return VirtualClusters(asked, found.vms, found.where, method, found.bound, nodes, pieces)
