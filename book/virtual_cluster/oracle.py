"""Virtual clusters judged: the optimum by all subsets, and the paper's algorithms in fractions.

All numbers are fractions; a float counts as the decimal number it prints, so 0.7 is 7/10, and a VM is whole or it is
not. Nothing is searched cleverly: :func:`exact_optimum` looks at every set of users on every cluster, VMs are handed
out one at a time, and :func:`relaxation`, :func:`greedy` and :func:`mixed_knapsack` look at everybody anew before each
step. Up to some 10 users on 4 clusters. What is asked is not checked: that is the engine's part.

In :func:`lp_bound`, the linear relaxation of the paper's program, floats enter only the search for prices. The bound
that is returned follows from these prices in fractions, by weak duality, so it holds whatever the solver did.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

ZERO, ONE = Fraction(0), Fraction(1)
NOWHERE = -1


# --------------------------------------------------------------------------------------------------- instances


def _decimals(values: Any) -> list[Fraction]:
    """Give a list of fractions; floats as the decimals they print."""
    return [x if isinstance(x, Fraction) else Fraction(str(x)) for x in values]


def _ceil(x: Fraction) -> Fraction:
    return Fraction(-(-x.numerator // x.denominator))


@dataclass(frozen=True)
class Case:
    """Requests and clusters in fractions: VMs wanted (n,), tolerances (n,), capacities (H,)."""

    wanted: list[Fraction]
    tolerance: list[Fraction]
    capacities: list[Fraction]
    whole: bool

    @property
    def n(self) -> int:
        return len(self.wanted)

    @property
    def H(self) -> int:
        return len(self.capacities)

    @cached_property
    def minimum(self) -> list[Fraction]:
        least = [(1 - k) * alpha for alpha, k in zip(self.wanted, self.tolerance, strict=True)]
        return [_ceil(x) for x in least] if self.whole else least

    def share(self, users: Sequence[int], capacity: Fraction) -> list[Fraction] | None:
        """Share one cluster among these users; None where their minima do not fit."""
        least = [self.minimum[i] for i in users]
        return _share(least, [self.wanted[i] for i in users], capacity, self.whole) if sum(least) <= capacity else None

    def level(self, vms: Sequence[Fraction]) -> Fraction:
        return min(v / alpha for v, alpha in zip(vms, self.wanted, strict=True))


def as_case(max_vms: Any, tolerance: Any, capacities: Any, whole: bool = True) -> Case:
    """Give an instance in fractions; labels do not count, capacities are rounded down to whole VMs."""
    wanted, room = _decimals(max_vms), _decimals(capacities)
    if np.ndim(tolerance) == 0:
        tolerance = [tolerance] * len(wanted)
    if whole:
        room = [Fraction(C.numerator // C.denominator) for C in room]
    return Case(wanted, _decimals(tolerance), room, whole)


# ------------------------------------------------------------------------------------------------- one cluster


def _share(least: Sequence[Fraction], most: Sequence[Fraction], capacity: Fraction, whole: bool) -> list[Fraction]:
    if whole:
        vms, wanted = [int(x) for x in least], [int(x) for x in most]
        for _ in range(int(capacity) - sum(vms)):
            poorest = None
            for i in range(len(vms)):
                if vms[i] < wanted[i]:
                    ahead = -1 if poorest is None else vms[i] * wanted[poorest] - vms[poorest] * wanted[i]
                    if poorest is None or ahead < 0 or (ahead == 0 and wanted[i] < wanted[poorest]):
                        poorest = i
            if poorest is None:
                break
            vms[poorest] += 1
        return [Fraction(v) for v in vms]

    def at(level: Fraction) -> list[Fraction]:
        return [max(a, level * b) for a, b in zip(least, most, strict=True)]

    # what is handed out grows with the level, along a straight line between two of the points where somebody joins
    points = sorted({ONE, *(a / b for a, b in zip(least, most, strict=True))})
    low = points[0]
    for high in points:
        before, after = sum(at(low), ZERO), sum(at(high), ZERO)
        if after > capacity:
            # below the first point all stand at their minima, so before <= capacity
            return at(low + (high - low) * (capacity - before) / (after - before))
        low = high
    return list(most)


def share(least: Any, most: Any, capacity: Any, whole: bool = True) -> list[Fraction]:
    """Share one cluster max-min fairly: least <= vms <= most, fractions vms / most as equal as can be.

    Parameters
    ----------
    least, most : sequence, shape (n,)
        VMs that each user must have, and wants; numbers, texts such as "1/3", or fractions. 0 <= least <= most,
        0 < most, and both whole where ``whole``.
    capacity : number
        At least the sum of ``least``.
    whole : bool
        Whether VMs are whole. Then they go one at a time to the user with the least fraction; at ties to who wants
        fewest, so that the sorted fractions are lexicographically largest, and then to the first.

    Returns
    -------
    list of Fraction, shape (n,)

    Notes
    -----
    Cost O(n) a VM, or O(n^2) where VMs are not whole.

    Examples
    --------
    >>> [int(v) for v in share([1, 6, 0], [10, 10, 20], 15)]
    [3, 6, 6]
    >>> [str(v) for v in share([1, 6, 0], [10, 10, 20], 15, whole=False)]
    ['3', '6', '6']
    """
    (room,) = _decimals([capacity])
    return _share(_decimals(least), _decimals(most), room, whole)


# ------------------------------------------------------------------------------------------------- the optimum


class Optimum(NamedTuple):
    """The largest least fraction, and an allocation that has it.

    Attributes
    ----------
    level : Fraction
        Y of (5).
    cluster, vms : list of n
        Of each user.
    """

    level: Fraction
    cluster: list[int]
    vms: list[Fraction]


def exact_optimum(max_vms: Any, tolerance: Any, capacities: Any, whole: bool = True) -> Optimum | None:
    """Find the largest least fraction of (1) to (5) by going through all sets of users on each cluster.

    With v_j(T) the least fraction that the users T get on cluster j alone, the best that the first j clusters give the
    users S is b_j(S) = max over T of min(v_j(T), b_(j-1)(S without T)).

    Parameters
    ----------
    max_vms : sequence, shape (n,)
        VMs wanted; numbers, texts such as "1/3", or fractions; whole numbers where ``whole``.
    tolerance : sequence, shape (n,), or one number
        Part of them that may be missing, from 0 to 1. A float is the decimal that it prints.
    capacities : sequence, shape (H,)
        VMs of each cluster; rounded down where ``whole``.
    whole : bool
        Whether VMs are whole.

    Returns
    -------
    Optimum or None
        None where the minima do not fit.

    Notes
    -----
    Cost O(3^n H), and 2^n H times the sharing of a cluster. 10 users on 4 clusters take about a second.

    Examples
    --------
    >>> best = exact_optimum([4, 4, 4], "1/2", [6, 5])
    >>> str(best.level), best.cluster
    ('3/4', [0, 0, 1])
    """
    case = as_case(max_vms, tolerance, capacities, whole)
    n = case.n
    sets = [[i for i in range(n) if s >> i & 1] for s in range(1 << n)]

    def alone(users: list[int], C: Fraction) -> Fraction | None:
        vms = case.share(users, C)
        if vms is None:
            return None
        return min((v / case.wanted[i] for v, i in zip(vms, users, strict=True)), default=ONE)

    each: dict[Fraction, list[Fraction | None]] = {C: [alone(users, C) for users in sets] for C in case.capacities}
    values = sorted({v for row in each.values() for v in row if v is not None})
    rank: dict[Fraction | None, int] = {v: r for r, v in enumerate(values)}
    rank[None] = -1
    best = [len(values)] + [-1] * ((1 << n) - 1)
    choices: list[list[int]] = []
    for C in case.capacities:
        own = [rank[v] for v in each[C]]
        now, choice = best.copy(), [0] * (1 << n)
        for s in range(1, 1 << n):
            t = s
            while t:
                if own[t] > now[s]:
                    level = min(own[t], best[s ^ t])
                    if level > now[s]:
                        now[s], choice[s] = level, t
                t = (t - 1) & s
        best = now
        choices.append(choice)
    if best[-1] < 0:
        return None
    cluster, s = [NOWHERE] * n, (1 << n) - 1
    for j in range(case.H - 1, -1, -1):
        for i in sets[choices[j][s]]:
            cluster[i] = j
        s ^= choices[j][s]
    total = _given(case, dict(enumerate(cluster)), case.capacities)
    found = Optimum(values[best[-1]], cluster, [total[i] for i in range(n)])
    assert case.level(found.vms) == found.level, "the sets do not give the level that was found"
    return found


def most_served(minima: Any, capacities: Any) -> int:
    """Give the largest number of users whose minima fit, one cluster each; by trying who is where, or nowhere.

    Examples
    --------
    >>> most_served([5, 3, 3, 2], [6, 4])
    3
    """
    items, room = _decimals(minima), _decimals(capacities)

    def put(i: int) -> int:
        if i == len(items):
            return 0
        found = put(i + 1)
        for j in range(len(room)):
            if items[i] <= room[j]:
                room[j] -= items[i]
                found = max(found, 1 + put(i + 1))
                room[j] += items[i]
        return found

    return put(0)


# ------------------------------------------------------------------------------------- the linear relaxation


class LinearBound(NamedTuple):
    """The linear relaxation.

    Attributes
    ----------
    upper : Fraction
        No allocation, spanning or not, has a larger least fraction: follows from ``prices`` in fractions.
    value : float
        What HiGHS found.
    prices : list of H
        Not negative, of a VM on each cluster.
    """

    upper: Fraction
    value: float
    prices: list[Fraction]


def _highest(case: Case, prices: Sequence[Fraction]) -> Fraction:
    """Give the highest level at which all users together can pay; for their minima, which fit, they always can.

    A user at level Y has at least max(alpha Y, minimum) VMs, each at the least price or more, and all VMs that there
    are cost sum_j C_j p_j. Any prices that are not negative give a true bound.
    """
    worth = sum((C * p for C, p in zip(case.capacities, prices, strict=True)), ZERO)
    least = min(prices)
    if not least:
        return Fraction(1)
    vms = share(case.minimum, case.wanted, worth / least, whole=False)
    return case.level(vms)


def lp_bound(max_vms: Any, tolerance: Any, capacities: Any, whole: bool = True) -> LinearBound | None:
    """Bound the least fraction by the linear relaxation of (1) to (5), with prices that prove it.

    e_ij is any number from 0 to 1; a_ij <= alpha_i e_ij and sum_j e_ij = 1 then say no more than sum_j a_ij <= alpha_i.

    Parameters
    ----------
    max_vms, tolerance, capacities
        As for :func:`exact_optimum`, any number of users.
    whole : bool
        Whether minima are rounded up to whole VMs. What is above them is a fraction in any case.

    Returns
    -------
    LinearBound or None
        None where the minima do not fit even if users may be on several clusters; prices of 1 prove that.

    Notes
    -----
    One HiGHS run with n H + 1 variables and O(n^2 + H) operations on fractions.

    Examples
    --------
    >>> found = lp_bound([4, 4, 4], "1/2", [6, 5])
    >>> str(found.upper), [str(p) for p in found.prices]
    ('11/12', ['1', '1'])
    """
    case = as_case(max_vms, tolerance, capacities, whole)
    n, H = case.n, case.H
    alpha, least, room = (np.array(values, dtype=float) for values in (case.wanted, case.minimum, case.capacities))
    of_user = sparse.kron(sparse.eye_array(n), np.ones((1, H)), format="csr")
    of_cluster = sparse.kron(np.ones((1, n)), sparse.eye_array(H), format="csr")
    zero = sparse.csr_array((n, 1))
    rows = sparse.vstack(
        [
            sparse.hstack([of_cluster, sparse.csr_array((H, 1))]),
            sparse.hstack([-of_user, sparse.csr_array(alpha[:, None])]),
            sparse.hstack([-of_user, zero]),
            sparse.hstack([of_user, zero]),
        ]
    )
    if sum(case.minimum) > sum(case.capacities):
        return None
    result = linprog(
        np.append(np.zeros(n * H), -1.0),
        A_ub=sparse.csr_array(rows),
        b_ub=np.concatenate([room, np.zeros(n), -least, alpha]),
        bounds=[(0, None)] * (n * H) + [(0, 1)],
        method="highs",
    )
    found = np.maximum(-result.ineqlin.marginals[:H], 0.0)
    top = found.max()
    prices = [Fraction(float(p / top)).limit_denominator(10**6) if top > 0 else ZERO for p in found]
    return LinearBound(_highest(case, prices), -float(result.fun), prices)


# ------------------------------------------------------------------------------------- the paper's algorithms


class Placed(NamedTuple):
    """Cluster of each user, -1 where it was turned away, and its VMs."""

    cluster: list[int]
    vms: list[Fraction]


def _part(amount: Fraction, capacity: Fraction) -> tuple[bool, Fraction]:
    """Give a part of a cluster; of a cluster without VMs everything is more than of any other."""
    return (False, amount / capacity) if capacity else (True, ZERO)


def _place(case: Case, users: Sequence[int], room: Sequence[Fraction], rule: str) -> dict[int, int]:
    """Give user after user a cluster by one rule; only those that have one are in the answer."""
    lives: list[list[int]] = [[] for _ in room]
    for i in users:
        options: list[tuple[Any, int]] = []
        for j, C in enumerate(room):
            minima = sum((case.minimum[h] for h in lives[j]), ZERO)
            everything = sum((case.wanted[h] for h in lives[j]), ZERO)
            if minima + case.minimum[i] > C:
                continue
            nobody_gives_back = everything + case.wanted[i] <= C
            mark: Any
            if rule == "relative":
                mark = _part(minima, C)
            elif rule == "free":
                mark = minima - C
            elif rule == "knapsack":
                mark = C - minima - case.minimum[i]
            elif rule == "least_wanted" or not nobody_gives_back:
                mark = (rule != "least_wanted", _part(everything + case.wanted[i], C))
            else:
                mark = (False, (False, C - everything if rule == "best_fit" else Fraction(j)))
            options.append((mark, j))
        if options:
            lives[min(options)[1]].append(i)
    return {i: j for j, here in enumerate(lives) for i in here}


def _given(case: Case, where: dict[int, int], room: Sequence[Fraction]) -> dict[int, Fraction]:
    found: dict[int, Fraction] = {}
    for j, C in enumerate(room):
        here = sorted(i for i in where if where[i] == j)
        vms = case.share(here, C)
        assert vms is not None
        found.update(zip(here, vms, strict=True))
    return found


def _placed(case: Case, where: dict[int, int], vms: dict[int, Fraction]) -> Placed:
    return Placed([where.get(i, NOWHERE) for i in range(case.n)], [vms.get(i, ZERO) for i in range(case.n)])


def _listed(case: Case, rule: str) -> Placed:
    where = _place(case, range(case.n), case.capacities, rule)
    return _placed(case, where, _given(case, where, case.capacities))


def relaxation(
    max_vms: Any, tolerance: Any, capacities: Any, whole: bool = True, load: Literal["relative", "free"] = "relative"
) -> Placed:
    """Run the relaxation of section 2.1: minima on the least loaded cluster, then the rest to the least fraction.

    Parameters
    ----------
    max_vms, tolerance, capacities, whole
        As for :func:`exact_optimum`, any number of users, served in the order given.
    load : {"relative", "free"}
        Least loaded: the smallest part of the cluster taken by minima (a cluster without VMs comes last), or the most
        VMs free. The first cluster at ties.

    Examples
    --------
    >>> relaxation([4, 4, 4], "1/2", [6, 5]).cluster
    [0, 1, 0]
    """
    return _listed(as_case(max_vms, tolerance, capacities, whole), load)


def greedy(
    max_vms: Any,
    tolerance: Any,
    capacities: Any,
    whole: bool = True,
    fit: Literal["least_wanted", "best_fit", "first_fit"] = "least_wanted",
) -> Placed:
    """Run the greedy algorithm of section 2.1: all that is wanted, and give back where a newcomer does not fit.

    Parameters
    ----------
    max_vms, tolerance, capacities, whole
        As for :func:`relaxation`.
    fit : {"least_wanted", "best_fit", "first_fit"}
        Among the clusters that hold all minima with the newcomer's. ``"least_wanted"``: where all that is wanted, with
        the newcomer, is the smallest part of the cluster. ``"best_fit"``, ``"first_fit"``: where nobody has to give
        back, the fullest or the first of these; otherwise as before. The first cluster at ties.

    Examples
    --------
    >>> greedy([4, 4, 4], "1/2", [6, 5]).cluster, greedy([2, 3, 4], "1/2", [6, 5], fit="best_fit").cluster
    ([0, 1, 0], [1, 1, 0])
    """
    return _listed(as_case(max_vms, tolerance, capacities, whole), fit)


def mixed_knapsack(
    max_vms: Any,
    tolerance: Any,
    capacities: Any,
    whole: bool = True,
    general: Literal["greedy", "relaxation"] = "greedy",
    small: int = 8,
    top_up: bool = False,
    fit: Literal["least_wanted", "best_fit", "first_fit"] = "least_wanted",
    load: Literal["relative", "free"] = "relative",
) -> Placed:
    """Run Figure 1: queue A = {k <= 1 - tau} at its minimum as a knapsack, queue B anew on what is left.

    Parameters
    ----------
    max_vms, tolerance, capacities, whole
        As for :func:`relaxation`.
    general, small : {"greedy", "relaxation"}, int
        Algorithm for at most so many users, or where A is empty.
    top_up : bool
        Whether all clusters are shared anew in the end, A included.
    fit, load
        Of the general algorithm.

    Notes
    -----
    The knapsack: largest minimum first (the first user at ties), each into the cluster that has least left afterwards
    (the first at ties). Who does not fit is turned away.

    Examples
    --------
    >>> placed = mixed_knapsack([10, 10, 10], ["1/10", "1/2", "9/10"], [9, 6], small=0)
    >>> placed.cluster, [int(v) for v in placed.vms]
    ([0, 1, 1], [9, 5, 1])
    """
    case = as_case(max_vms, tolerance, capacities, whole)
    where: dict[int, int] = {}
    vms: dict[int, Fraction] = {}
    room, left = list(case.capacities), list(range(case.n))
    while left:
        tau = sum(room, ZERO) / sum(case.wanted[i] for i in left)
        queue = [i for i in left if case.tolerance[i] <= 1 - tau]
        if not queue or len(left) <= small:
            found = _place(case, left, room, fit if general == "greedy" else load)
            vms.update(_given(case, found, room))
            where.update(found)
            break
        queue.sort(key=lambda i: -case.minimum[i])
        for i, j in _place(case, queue, room, "knapsack").items():
            where[i], vms[i] = j, case.minimum[i]
            room[j] -= case.minimum[i]
        left = [i for i in left if i not in queue]
    return _placed(case, where, _given(case, where, case.capacities) if top_up else vms)


def rounds(max_vms: Any, tolerance: Any, capacity: Any) -> list[tuple[Fraction, list[int]]]:
    """Give tau and queue A of each round of Figure 1 on one cluster, VMs not whole, till A or B is empty.

    Examples
    --------
    >>> [(str(tau), queue) for tau, queue in rounds([10, 10, 10], ["1/10", "1/2", "9/10"], 16)]
    [('8/15', [0]), ('7/20', [1]), ('1/5', [])]
    """
    case = as_case(max_vms, tolerance, [capacity], False)
    left, room = list(range(case.n)), case.capacities[0]
    found = []
    while left:
        tau = room / sum(case.wanted[i] for i in left)
        queue = [i for i in left if 1 - case.tolerance[i] >= tau]
        found.append((tau, queue))
        if not queue:
            break
        room -= sum(case.minimum[i] for i in queue)
        left = [i for i in left if i not in queue]
    return found
