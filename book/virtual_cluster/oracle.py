"""Virtual clusters judged: the optimum by all subsets, and a bound by linear programming.

All numbers are fractions; a float counts as the decimal number it prints, so 0.7 is 7/10, and a VM is whole or it is
not. Nothing is searched cleverly: :func:`exact_optimum` looks at every set of users on every cluster. Up to some 10
users on 4 clusters. What is asked is not checked: that is the engine's part.

In :func:`lp_bound`, the linear relaxation of the paper's program, floats enter only the search for prices. The bound
that is returned follows from these prices in fractions, by weak duality, so it holds whatever the solver did.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from fairbook.model.sharing import share_out

ZERO, ONE = Fraction(0), Fraction(1)
NOWHERE = -1


# --------------------------------------------------------------------------------------------------- instances


def _decimals(values: Any) -> list[Fraction]:
    """Give a list of fractions; floats as the decimals they print."""
    return [x if isinstance(x, Fraction) else Fraction(str(x)) for x in values]


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
        return [Fraction(-(-x.numerator // x.denominator)) for x in least] if self.whole else least

    def share(self, users: Sequence[int], capacity: Fraction) -> list[Fraction] | None:
        """Share one cluster among these users; None where their minima do not fit."""
        least = [self.minimum[i] for i in users]
        return share(least, [self.wanted[i] for i in users], capacity, self.whole) if sum(least) <= capacity else None

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
    This is ``share_out`` of ``fairbook.model.sharing``, in fractions. Cost O(n) a VM, or O(n^2) where VMs are not
    whole.

    Examples
    --------
    >>> [int(v) for v in share([1, 6, 0], [10, 10, 20], 15)]
    [3, 6, 6]
    >>> [str(v) for v in share([1, 6, 0], [10, 10, 20], 15, whole=False)]
    ['3', '6', '6']
    """
    (room,) = _decimals([capacity])
    least, most = (np.array(_decimals(numbers), object) for numbers in (least, most))
    return [Fraction(v) for v in share_out(least, most, room, whole)]


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
    here = [[i for i in range(n) if cluster[i] == j] for j in range(case.H)]
    total = {
        i: v
        for users, C in zip(here, case.capacities, strict=True)
        for i, v in zip(users, case.share(users, C) or [], strict=True)
    }
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


# ------------------------------------------------------------------------------------------------- the rounds


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
