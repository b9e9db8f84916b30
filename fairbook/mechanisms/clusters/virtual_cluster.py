"""Virtual clusters with a bounded slowdown (Liu, Dong, Tian, 2011): users on clusters, fractions max-min fair.

A user wants alpha virtual machines (VMs, ``max_vms``), tolerates that a part k of them is missing (``tolerance``), so
that it has a minimum, and lives on one cluster, but with ``"spanning"``. A method says who lives where. Each cluster
is then shared max-min fairly (``share_out`` of ``model/sharing.py``), but for queue A below; no other sharing of
these homes has a larger least fraction.

* ``"relaxation"`` (section 2.1): user after user on the cluster that is least loaded by minima, of those that have room
  for its own.
* ``"greedy"`` (section 2.1): the same, but where all that is wanted, with the newcomer, is the smallest part of the
  cluster.
* ``"mixed_knapsack"`` (Figure 1): in rounds. Where there are tau VMs for each that is wanted, the users with
  k <= 1 - tau, queue A, get their minima and no more: these are packed, the largest first, each on the fullest cluster
  with room. The others, queue B, and the room left are the next round. Where queue A is empty or few users are left, a
  general algorithm, one of the lists here, places and shares.
* ``"metagreedy"`` (Stillwell et al. 2010): the best of 16 such lists.
* ``"vector_packing"`` (METAHVP, Stillwell et al. 2012): the least fraction is bisected, as high as one of 21 lists
  packs the VMs for it.
* ``"exact"``: the best of all placements.
* ``"spanning"``: users may be on several clusters, condition (4) is dropped: one pool is shared, then cut up.

:func:`virtual_cluster_rule` runs each on numbers of any kind. On doubles and whole numbers :func:`virtual_cluster` runs
the same functions, but for the two that search: ``largest_fraction.py`` tries no placements, it asks whether
the VMs for a fraction pack. That comes to the same least fraction, for one can be reached if and only if these pack; of
placements that are as good it may take another. Lists may pack more where they do not pack less: where VMs are not
whole, ``"vector_packing"`` then may reach another fraction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.kernels import INSIDE, compiles, kernel
from fairbook.mechanisms.clusters.largest_fraction import Found, Packer, largest_fraction, rank, share_at
from fairbook.mechanisms.clusters.packing import first_packing, pack
from fairbook.mechanisms.readings import Engine, Fit, General, Load
from fairbook.model.clusters import IntArray, VirtualClusters
from fairbook.model.exact import fractions
from fairbook.model.inputs import FITS, LEFT, RTOL, as_whole, check_switch
from fairbook.model.instance import checks_choices
from fairbook.model.requests import SPANS, TURNED_AWAY, Requests, as_requests
from fairbook.model.sharing import share_out

__all__ = ["METHODS", "virtual_cluster", "virtual_cluster_rule"]

Method = Literal["relaxation", "greedy", "mixed_knapsack", "metagreedy", "vector_packing", "exact", "spanning"]
#: Ways to choose a cluster for each user.
METHODS: tuple[str, ...] = get_args(Method)

_FEW_PAIRS = 100_000  # of users and clusters; where there are more, packing has come out ahead of the lists each time
_PLACEMENTS = 100_000  # of users on clusters, more of which the plain rule does not try

#: Where users live: the cluster of each that has one.
Homes = dict[int, int]
#: User, cluster and VMs of each piece.
Pieces = list[tuple[int, int, Any]]


# ------------------------------------------------------------------------------------------------------- the rules


def virtual_cluster_rule(
    max_vms: Any,
    tolerance: Any,
    capacities: Any,
    *,
    method: Method = "exact",
    whole: bool = True,
    load: Load = "relative",
    fit: Fit = "least_wanted",
    general: General = "greedy",
    small: int = 8,
    top_up: bool = False,
) -> Pieces:
    """Liu et al., sections 2.1 and 2.2, and the field's: (user, cluster, VMs) of each piece; numbers of any kind.

    Who is turned away has none. The arguments are those of :func:`virtual_cluster`, lists in place of arrays. On one
    cluster three users at half of 8, 6 and 4 leave 2 VMs, which go one by one to the least fraction, at a tie to who
    wants fewest:

    >>> from fractions import Fraction as F
    >>> virtual_cluster_rule([F(8), F(6), F(4)], [F(1, 2)] * 3, [F(11)], method="relaxation")
    [(0, 0, 4), (1, 0, 4), (2, 0, 3)]
    """
    wanted, missing, room = (np.array(numbers, object) for numbers in (max_vms, tolerance, capacities))
    asked = Requests(wanted, missing, room, whole)
    if method == "spanning":
        return spanning(asked)
    if method in ("vector_packing", "exact"):
        found = share_homes(asked, vector_packing(asked) if method == "vector_packing" else exact(asked))
    else:
        found = user_by_user(asked, method, load, fit, general, small, top_up)
    return [(i, int(found.where[i]), found.vms[i]) for i in np.flatnonzero(found.where >= 0).tolist()]


def user_by_user(
    asked: Requests,
    method: str,
    load: Load,
    fit: Fit,
    general: General = "greedy",
    small: int = 0,
    top_up: bool = False,
) -> Found:
    """Run one of the methods that place user after user."""
    if method == "mixed_knapsack":
        return mixed_knapsack(asked, lambda rest: user_by_user(rest, general, load, fit), small, top_up)
    if method == "metagreedy":
        return metagreedy(asked)
    return share_at(asked, in_turn(asked, load if method == "relaxation" else fit))


def mixed_knapsack(asked: Requests, general: Callable[[Requests], Found], small: int, top_up: bool) -> Found:
    """Figure 1; where queue A is empty, step 7b would not get smaller, and the general algorithm takes over."""
    where, vms = np.full(len(asked), TURNED_AWAY, np.int64), np.zeros_like(asked.max_vms)
    room, left = asked.capacities.copy(), np.arange(len(asked))  # 1
    rounding = RTOL if asked.tolerance.dtype == float else 0
    while len(left):
        problem = asked.only(left, room)
        tau = room.sum() / problem.max_vms.sum()  # 2: the scarcity
        in_a = problem.tolerance <= 1 - tau + rounding  # 3: the others are queue B
        if not in_a.any() or len(left) <= small:  # 7a
            found = general(problem)
            where[left], vms[left] = found.where, found.vms
            break
        queue = left[in_a][np.argsort(-problem.minimum[in_a], kind="stable")]
        where[queue] = in_turn(asked.only(queue, room), "tightest")  # 4: a knapsack
        vms[queue] = np.where(where[queue] >= 0, asked.minimum[queue], 0)
        taken = np.zeros_like(room)
        np.add.at(taken, where[queue], vms[queue])
        room, left = np.maximum(room - taken, 0), left[~in_a]  # 5, 6, 7b
    return share_at(asked, where) if top_up else Found(where, vms, asked.bound)  # 8


def metagreedy(asked: Requests) -> Found:
    """Four orders of the users with four marks: what is left of the paper's S1 to S7 and P1 to P7 with one resource.

    The best of the 16 serves most users; then its least fraction, then its number of VMs is largest.
    """
    keys = (np.zeros(len(asked)), asked.max_vms - asked.minimum, asked.minimum, asked.max_vms)
    orders = [np.argsort(-key, kind="stable") for key in keys]
    lists = [in_turn(asked, mark, order) for order in orders for mark in ("free", "least_fluid", "tightest", "first")]
    distinct = {where.tobytes(): where for where in lists}.values()
    return max((share_at(asked, where) for where in distinct), key=lambda found: rank(asked, found))


#: By what a cluster is chosen: the smallest part in use by minima; the most VMs that minima leave free; the smallest
#: part that is wanted; where nobody has to give back, the fullest or the first; the fewest VMs that minima leave free;
#: the fewest elastic VMs a free one; none.
MARKS = ("relative", "free", "least_wanted", "best_fit", "first_fit", "tightest", "least_fluid", "first")
_RELATIVE, _FREE, _LEAST_WANTED, _BEST_FIT, _FIRST_FIT, _TIGHTEST, _LEAST_FLUID, _FIRST = range(len(MARKS))


def _pairs(order: Any, least: Any, most: Any, capacities: Any, *_: Any) -> float:
    """Steps of a list rule: each user looks at each cluster."""
    return float(order.size * capacities.size)


@kernel(INSIDE)
def _mark(rule: int, capacity: Any, room: Any, minima: Any, wishes: Any, least: Any, most: Any) -> Any:
    """Give the mark of a cluster by minima and by all that is wanted there, for a newcomer's minimum and wish."""
    if rule == _FREE:
        return -room
    if rule == _TIGHTEST:
        return room
    if rule == _BEST_FIT:
        return capacity - wishes
    above, of = minima, capacity
    if rule == _LEAST_WANTED:
        above = wishes + most
    elif rule == _LEAST_FLUID:  # elastic VMs wanted, a VM that is left for them
        above, of = wishes - minima + most - least, room - least
    elif rule != _RELATIVE:  # the first
        return 0.0
    if rule == _LEAST_FLUID and not above > 0:
        return 0.0
    return above / of if of > 0 else np.inf


@kernel(_pairs)
def _in_turn(order: Any, least: Any, most: Any, capacities: Any, slack: Any, rule: int, where: Any) -> None:
    """Give user after user the cluster of the least mark among those that can hold its minimum, the first at ties.

    Best and first fit first look where nobody has to give back, and elsewhere for where least is wanted. Cost O(n H).
    """
    prefers = rule in (_BEST_FIT, _FIRST_FIT)
    room, wishes, minima = capacities.copy(), np.zeros_like(capacities), np.zeros_like(capacities)
    for i in order:
        chosen, best, held = -1, 0.0, False
        for j in range(len(capacities)):
            if least[i] <= room[j] + slack[j]:
                holds = prefers and wishes[j] + most[i] <= capacities[j] + slack[j]
                by = _LEAST_WANTED if prefers and not holds else rule
                value = _mark(by, capacities[j], room[j], minima[j], wishes[j], least[i], most[i])
                if chosen < 0 or (holds and not held) or (holds == held and value < best):
                    chosen, best, held = j, value, holds
        if chosen >= 0:
            where[i] = chosen
            room[chosen] -= least[i]
            minima[chosen] += least[i]
            wishes[chosen] += most[i]


def in_turn(asked: Requests, mark: str, order: IntArray | None = None) -> IntArray:
    """Choose clusters by one of :data:`MARKS`, user by user; -1 where the minimum fits nowhere."""
    where = np.full(len(asked), TURNED_AWAY, np.int64)
    room = asked.capacities
    slack = room * FITS if room.dtype == float else np.zeros_like(room)
    users = np.arange(len(asked)) if order is None else order
    _in_turn(users, asked.minimum, asked.max_vms, room, slack, MARKS.index(mark), where)
    return where


def vector_packing(asked: Requests) -> Homes:
    """Bisect the fraction, and before it the number of the smallest minima, if no list packs all."""
    homes, order = first_packing(asked.minimum, asked.capacities), np.argsort(asked.minimum, kind="stable")
    if homes is not None:
        return raised(asked, homes)
    below, above = 0, len(order) + 1
    while above - below > 1:
        middle = (below + above) // 2
        fits = first_packing(asked.minimum[order[:middle]], asked.capacities) is not None
        below, above = (middle, above) if fits else (below, middle)
    users = np.sort(order[:below])
    some = asked.only(users)
    homes = first_packing(some.minimum, asked.capacities) or {}
    return {users[i]: j for i, j in raised(some, homes).items()} if len(users) else {}


def raised(asked: Requests, homes: Homes) -> Homes:
    """Raise the least fraction by bisection as far as a list packs, from where the minima are packed."""

    def reached(homes: Homes) -> Any:
        return (share_homes(asked, homes).vms / asked.max_vms).min()

    alone = np.minimum(asked.max_vms, asked.capacities.max())
    low, high = reached(homes), min((vms / asked.max_vms).min() for vms in (asked.pooled, alone))
    listed = sorted({p / a for a in asked.max_vms for p in range(1, int(a) + 1)}) if asked.whole else []
    bound, fine = high, Fraction(1, 10**10)
    while high - low > fine * bound:
        values = [v for v in listed if low < v <= high] if asked.whole else [(low + high) / 2]
        at = (len(values) - 1) // 2
        sizes = asked.sizes(values[at])
        found = first_packing(sizes, asked.capacities)
        if found is not None and reached(found) > low:
            homes, low = found, reached(found)
        else:
            high = ([low, *values[:at]] if asked.whole else values)[-1]
        if found is None and sum(sizes) <= sum(asked.capacities) and max(sizes) <= max(asked.capacities):
            fine = Fraction(1, 10**5)  # nothing is proved
    return homes


def exact(asked: Requests) -> Homes:
    """Try all ways to place as many of the smallest minima as can be, and take the largest least fraction."""
    order, clusters = np.argsort(asked.minimum, kind="stable"), range(len(asked.capacities))

    @cache
    def level(users: tuple[int, ...], j: int) -> Any:
        """The least fraction of these on cluster j, below zero where it cannot hold their minima."""
        if sum(asked.minimum[i] for i in users) > asked.capacities[j]:
            return -1
        least, most = asked.minimum[list(users)], asked.max_vms[list(users)]
        return min(share_out(least, most, asked.capacities[j], asked.whole) / most, default=1)

    def least(ways: tuple[tuple[int, int], ...]) -> Any:
        return min(level(tuple(i for i, on in ways if on == j), j) for j in clusters)

    for count in range(len(order), 0, -1):
        users = sorted(order[:count])
        best = max((tuple(zip(users, on, strict=True)) for on in product(clusters, repeat=count)), key=least)
        if least(best) >= 0:
            return dict(best)
    return {}


def share_homes(asked: Requests, homes: Homes) -> Found:
    """Share each cluster among those who live there."""
    where = np.full(len(asked), TURNED_AWAY, np.int64)
    where[list(homes)] = list(homes.values())
    return share_at(asked, where)


def spanning(asked: Requests) -> Pieces:
    """Share all clusters as one, among as many of the smallest minima as fit; cut it user by user."""
    order, total = np.argsort(asked.minimum, kind="stable"), asked.capacities.sum()
    users = np.sort(order[asked.fits(np.cumsum(asked.minimum[order]), total)])
    vms = share_out(asked.minimum[users], asked.max_vms[users], total, asked.whole)
    rounding = LEFT if vms.dtype == float else 0
    return cut(users.tolist(), vms.tolist(), asked.capacities.tolist(), rounding)


def cut(users: Iterable[int], amounts: Iterable[Any], room: Sequence[Any], rounding: float = 0) -> Pieces:
    """Put user after user into cluster after cluster. Cost O(n + H).

    What is less than ``rounding`` of a cluster or of a user is nothing. What is left over in the end, since the sums of
    VMs and of capacities differ by a rounding, goes to the largest cluster, where it is least.
    """
    pieces: dict[tuple[int, int], Any] = {}
    free, largest, j = list(room), max(range(len(room)), key=room.__getitem__), 0
    for i, vms in zip(users, amounts, strict=True):
        need = vms
        pieces |= {} if vms else {(i, 0): vms}
        while need > rounding * vms:
            while j < len(room) and free[j] <= rounding * room[j]:
                j += 1
            over = j < len(room) and need > free[j] + rounding * room[j]
            here, part = j if j < len(room) else largest, free[j] if over else need
            pieces[i, here] = pieces.get((i, here), 0) + part
            free[here] -= part
            need -= part
    return [(i, j, vms) for (i, j), vms in pieces.items()]


# -------------------------------------------------------------------------------------------------- the engine


def _packed(asked: Requests, packer: Packer) -> Found:
    """Search from the best of the cheap ones, which saves most of it."""
    cheap = [largest_fraction(asked, Packer(0, packer.seed))]
    if packer.left == 0:
        return cheap[0]
    if len(asked) * len(asked.capacities) <= _FEW_PAIRS or (cheap[0].where < 0).any():
        cheap = [share_at(asked, in_turn(asked, "least_wanted")), metagreedy(asked), *cheap]
    start = max(
        (found for found in cheap if (found.where >= 0).all()), key=lambda found: rank(asked, found), default=None
    )
    if start is not None and float((start.vms / asked.max_vms).min()) >= asked.bound * (1 - RTOL):
        return start
    return largest_fraction(asked, packer, None if start is None else start.where)


def packs(sizes: NDArray[Any], capacities: NDArray[Any]) -> bool | None:
    """Say whether sizes pack, if a million nodes are enough to know."""
    packing = pack(sizes, capacities, 1_000_000)
    return packing.bins is not None if packing.settled else None


def _plain(asked: Requests, method: Method, **options: Any) -> Pieces:
    """Run the rule on fractions; tolerances to nine digits, so that 0.7 is 7/10 and a third is a third."""
    if method == "exact" and len(asked.capacities) ** len(asked) > _PLACEMENTS:
        raise InvalidInput("engine", f"must be fast where there are more than {_PLACEMENTS} placements", "plain")
    wanted, room = (fractions(numbers).tolist() for numbers in (asked.max_vms, asked.capacities))
    tolerance = [Fraction(k).limit_denominator(10**9) for k in asked.tolerance.tolist()]
    return virtual_cluster_rule(wanted, tolerance, room, method=method, whole=asked.whole, **options)


def _assembled(asked: Requests, pieces: Pieces, method: Method) -> tuple[Found, NDArray[Any] | None]:
    """Put pieces together; the least fraction bounds itself where the method gives the optimum."""
    where, vms = np.full(len(asked), TURNED_AWAY, np.int64), np.zeros_like(asked.max_vms)
    for i, j, some in pieces:
        where[i] = j if where[i] == TURNED_AWAY else SPANS
        vms[i] += vms.dtype.type(some)
    bound = float((vms / asked.max_vms).min()) if method in ("exact", "spanning") else asked.bound
    table = np.array([(i, j, float(some)) for i, j, some in pieces if some]).reshape(-1, 3).astype(vms.dtype)
    return Found(where, vms, bound), table if method == "spanning" else None


#: Places that exact searches try in all; fewer where nothing compiles them.
_NODES = 10_000_000 if compiles() else 100_000


@checks_choices
def virtual_cluster(
    max_vms: Any,
    tolerance: Any = None,
    capacities: Any = None,
    *,
    method: Method = "exact",
    whole: bool = True,
    node_limit: int = _NODES,
    seed: int = 0,
    load: Load = "relative",
    fit: Fit = "least_wanted",
    general: General = "greedy",
    small: int = 8,
    top_up: bool = False,
    engine: Engine = "fast",
) -> VirtualClusters:
    """Give n users virtual clusters on H physical ones so that the least fraction is large (equations 1 to 5).

    Parameters
    ----------
    max_vms : array_like or Series, shape (n,), or Requests
        VMs that each user wants, positive whole numbers (any positive numbers with ``whole=False``): alpha.
        ``Requests`` come alone: they say all four.
    tolerance : array_like or Series, shape (n,), or one number
        Part of them that may be missing, from 0 to 1: k. A user gets at least (1 - k) alpha VMs or is turned away.
    capacities : array_like or Series, shape (H,)
        VMs that each physical cluster holds: C. Where VMs are whole, they are rounded down, as max_vms must be whole.
    method : str
        ``"relaxation"``: minima first, each on the least loaded cluster, users in the order given (section 2.1).
        ``"greedy"``: all that is wanted first, down to minima where a newcomer does not fit otherwise (section 2.1).
        ``"mixed_knapsack"``: Figure 1. ``"metagreedy"``: the best of 16 list rules. ``"vector_packing"``: bisection on
        the fraction with 21 packing rules. ``"exact"``: the optimum, or as far as ``node_limit`` goes, with what was
        proved in ``bound``. ``"spanning"``: the optimum where users may be on several clusters.
    whole : bool
        Whether VMs are whole.
    node_limit : int
        For ``"exact"``: places that its searches try in all, at least 1; a sixteenth of them for one fraction at most.
        Default: 10^7, and 10^5 where numba does not exist, as in a browser.
        What runs into it keeps what was proved, and ``explain`` says so. An interruption (Ctrl-C) waits for the search
        that runs: less than half a second at the default with 10 000 users on 200 clusters, and longer in proportion to
        the limit.
    seed : int
        For ``"exact"``: of its random fills, which find packings but prove nothing. From 0 to 2^32 - 1.
    load : {"relative", "free"}
        For ``"relaxation"``: least loaded is the smallest part in use by minima, or the most VMs that these leave free.
    fit : {"least_wanted", "best_fit", "first_fit"}
        For ``"greedy"``: where a newcomer goes. ``"least_wanted"``: where all that is wanted, with the newcomer, is the
        smallest part of the cluster. ``"best_fit"``, ``"first_fit"``: into the fullest, or the first, of the clusters
        where nobody has to give back; where there is none, as before.
    general, small : {"greedy", "relaxation", "metagreedy"}, int
        For ``"mixed_knapsack"``: the algorithm of step 7a, and the number of users (0 or more) up to which it is used.
        Its ``load`` or ``fit`` is as above. Lists take the users in the order given: sort them to try another order.
    top_up : bool
        For ``"mixed_knapsack"``: whether queue A, too, gets what is left in the end. As printed it does not.
    engine : {"fast", "plain"}
        ``"plain"`` works :func:`virtual_cluster_rule` out in fractions; tolerances to nine digits. ``"exact"`` then
        tries H^n placements, at most 100 000.

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

    Cost: O(n H) and the sharing out for the first three, O((n + H) log(n + H)) a fraction for ``"vector_packing"``
    (at worst O(n H)), O(n log n + H) for ``"spanning"`` in whole VMs, else O(n^2) at worst. The exact problem is
    strongly NP-hard; up to some 20 users on 5 clusters, or 50 on 8, it is mostly settled in milliseconds; measured
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
    options: Any = {"load": load, "fit": fit, "general": general, "small": small, "top_up": top_up}
    if engine == "plain":
        found, pieces = _assembled(asked, _plain(asked, method, **options), method)
    elif method == "spanning":
        found, pieces = _assembled(asked, spanning(asked), method)
    elif method in ("vector_packing", "exact"):
        found = _packed(asked, packer := Packer(node_limit if method == "exact" else 0, seed))
        nodes = packer.nodes
    else:
        found = user_by_user(asked, method, **options)
    return VirtualClusters(asked, found.vms, found.where, method, found.bound, nodes, pieces, packs)
