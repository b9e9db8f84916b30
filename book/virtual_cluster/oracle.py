"""Virtual clusters judged: the optimum by all subsets, and bounds by programs.

All numbers are fractions; a float counts as the decimal number it prints, so 0.7 is 7/10, and a VM is whole or it is
not. Nothing is searched cleverly: :func:`exact_optimum` looks at every set of users on every cluster, VMs are handed
out one at a time. Up to some 10 users on 4 clusters. The paper's algorithms are judged by
:mod:`book.virtual_cluster.oracle_algorithms`.

:func:`milp` is the program of the paper, (1) to (5), for HiGHS; what it finds is shared out again in fractions.
:func:`lp_bound` is its linear relaxation: floats enter only the search for prices, and the bound that is returned
follows from these prices in fractions, by weak duality, so it holds whatever the solver did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog
from scipy.optimize import milp as solve_milp

from fairbook.errors import FairbookError, InvalidInput
from fairbook.model import as_fractions, as_whole, number_of_dimensions

__all__ = ["NOWHERE", "ZERO", "Case", "LinearBound", "Optimum", "Solved", "as_case", "exact_optimum", "lp_bound",
           "milp", "most_served", "packs", "share"]

ZERO, ONE = Fraction(0), Fraction(1)
MOST_USERS = 14  # whose subsets of subsets are gone through
NOWHERE = -1


# --------------------------------------------------------------------------------------------------- instances


def _decimals(values: Any, argument: str) -> list[Fraction]:
    """Give a list of fractions; floats as the decimals they print."""
    if isinstance(values, (np.ndarray, pd.Series)):
        values = values.tolist()
    if isinstance(values, (list, tuple)):
        values = [str(float(x)) if isinstance(x, (float, np.floating)) and np.isfinite(x) else x for x in values]
    found = as_fractions(values, argument)
    for i, x in enumerate(found):
        if not isinstance(x, Fraction):
            raise InvalidInput(f"{argument}[{i}]", "must be a number", x)
    return found


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
    """Check an instance and give it in fractions; labels do not count, capacities are rounded down to whole VMs."""
    if not isinstance(whole, bool):
        raise InvalidInput("whole", "must be True or False", whole)
    wanted, room = _decimals(max_vms, "max_vms"), _decimals(capacities, "capacities")
    if number_of_dimensions(tolerance) == 0:
        tolerance = [tolerance] * len(wanted)
    part = _decimals(tolerance, "tolerance")
    if len(part) != len(wanted):
        raise InvalidInput("tolerance", f"must have one entry for each of the {len(wanted)} users", tolerance)
    for i, alpha in enumerate(wanted):
        if alpha <= 0 or (whole and alpha.denominator != 1):
            raise InvalidInput(f"max_vms[{i}]", "must be positive, and whole unless whole=False", alpha)
    for i, k in enumerate(part):
        if not 0 <= k <= 1:
            raise InvalidInput(f"tolerance[{i}]", "must be between 0 and 1", k)
    for j, C in enumerate(room):
        if C < 0:
            raise InvalidInput(f"capacities[{j}]", "must not be negative", C)
    if whole:
        room = [Fraction(C.numerator // C.denominator) for C in room]
    if not any(room):
        raise InvalidInput("capacities", "must hold at least one VM somewhere", capacities)
    return Case(wanted, part, room, whole)


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
    low, high = _decimals(least, "least"), _decimals(most, "most")
    room = _decimals([capacity], "capacity")[0]
    if len(low) != len(high):
        raise InvalidInput("most", f"must have one entry for each of the {len(low)} users", most)
    for i, (a, b) in enumerate(zip(low, high, strict=True)):
        if not 0 <= a <= b or b == 0 or (whole and a.denominator * b.denominator != 1):
            raise InvalidInput(f"least[{i}]", "must lie between 0 and most, and whole VMs must be whole", a)
    if sum(low) > room:
        raise InvalidInput("capacity", "must hold the minima", room)
    return _share(low, high, room, whole)


# ------------------------------------------------------------------------------------------------- the optimum


class Optimum(NamedTuple):
    """The largest least fraction, and an allocation that has it.

    Attributes
    ----------
    level : Fraction
        Y of (5).
    cluster : list of n, or None
        Cluster of each user; None where users may be on several.
    vms : list of n
    by_cluster : list of n lists of H
        a_ij.
    """

    level: Fraction
    cluster: list[int] | None
    vms: list[Fraction]
    by_cluster: list[list[Fraction]]


def _settled(case: Case, cluster: list[int]) -> Optimum:
    """Share every cluster among its users, all of whom are somewhere and have their minima."""
    table = [[ZERO] * case.H for _ in range(case.n)]
    for j, C in enumerate(case.capacities):
        here = [i for i in range(case.n) if cluster[i] == j]
        vms = case.share(here, C)
        if vms is None:
            raise FairbookError(f"the minima on cluster {j} do not fit")
        for i, v in zip(here, vms, strict=True):
            table[i][j] = v
    total = [sum(row, ZERO) for row in table]
    return Optimum(case.level(total), cluster, total, table)


def exact_optimum(max_vms: Any, tolerance: Any, capacities: Any, whole: bool = True,
                  spanning: bool = False) -> Optimum | None:
    """Find the largest least fraction of (1) to (5) by going through all sets of users on each cluster.

    With v_j(T) the least fraction that the users T get on cluster j alone, the best that the first j clusters give the
    users S is b_j(S) = max over T of min(v_j(T), b_(j-1)(S without T)).

    Parameters
    ----------
    max_vms : sequence, shape (n,)
        VMs wanted; numbers, texts such as "1/3", or fractions; whole numbers where ``whole``. n <= 14.
    tolerance : sequence, shape (n,), or one number
        Part of them that may be missing, from 0 to 1. A float is the decimal that it prints.
    capacities : sequence, shape (H,)
        VMs of each cluster; rounded down where ``whole``.
    whole : bool
        Whether VMs are whole.
    spanning : bool
        Whether a user may be on several clusters: condition (4) is dropped, and the clusters are one pool.

    Returns
    -------
    Optimum or None
        None where the minima do not fit.

    Raises
    ------
    InvalidInput

    Notes
    -----
    Cost O(3^n H), and 2^n H times the sharing of a cluster. 10 users on 4 clusters take about a second.

    Examples
    --------
    >>> best = exact_optimum([4, 4, 4], "1/2", [6, 5])
    >>> str(best.level), best.cluster, str(exact_optimum([4, 4, 4], "1/2", [6, 5], spanning=True).level)
    ('3/4', [0, 0, 1], '3/4')
    """
    case = as_case(max_vms, tolerance, capacities, whole)
    n = case.n
    if spanning:
        vms = case.share(range(n), sum(case.capacities, ZERO))
        return None if vms is None else Optimum(case.level(vms), None, vms, _cut(vms, case.capacities))
    if n > MOST_USERS:
        raise InvalidInput("max_vms", f"must have at most {MOST_USERS} users", n)
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
    found = _settled(case, cluster)
    if found.level != values[best[-1]]:
        raise FairbookError("the sets do not give the level that was found")
    return found


def _cut(vms: Sequence[Fraction], capacities: Sequence[Fraction]) -> list[list[Fraction]]:
    """Put user after user into cluster after cluster."""
    left, table = list(capacities), []
    for need in vms:
        row = []
        for j in range(len(left)):
            piece = min(need, left[j])
            row.append(piece)
            left[j] -= piece
            need -= piece
        table.append(row)
    return table


def packs(sizes: Any, capacities: Any) -> list[int] | None:
    """Give a bin for each item so that no bin holds more than its capacity, or None; by trying all assignments.

    Examples
    --------
    >>> packs([3, 3, 2, 2, 2], [6, 6]), packs([4, 4, 4], [6, 6])
    ([0, 0, 1, 1, 1], None)
    """
    items, room = _decimals(sizes, "sizes"), _decimals(capacities, "capacities")

    def put(i: int) -> list[int] | None:
        if i == len(items):
            return []
        for j in range(len(room)):
            if items[i] <= room[j]:
                room[j] -= items[i]
                rest = put(i + 1)
                room[j] += items[i]
                if rest is not None:
                    return [j, *rest]
        return None

    return put(0)


def most_served(minima: Any, capacities: Any) -> int:
    """Give the largest number of users whose minima fit, one cluster each; by trying who is where, or nowhere.

    Examples
    --------
    >>> most_served([5, 3, 3, 2], [6, 4])
    3
    """
    items, room = _decimals(minima, "minima"), _decimals(capacities, "capacities")

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


# --------------------------------------------------------------------------------------------------- programs


class Solved(NamedTuple):
    """What HiGHS found.

    Attributes
    ----------
    level : Fraction or None
        Least fraction of the assignment, shared out in fractions; None where none was found.
    bound : float
        No allocation has a larger least fraction, says HiGHS; as good as its tolerances, about 1e-6.
    gap : float
        Part of the bound that is missing.
    proved : bool
        Whether HiGHS ended by itself, not at a limit.
    cluster : list of n, or None
    vms : list of n, or None
    """

    level: Fraction | None
    bound: float
    gap: float
    proved: bool
    cluster: list[int] | None
    vms: list[Fraction] | None


def milp(max_vms: Any, tolerance: Any, capacities: Any, whole: bool = True, spanning: bool = False,
         seconds: float | None = None, nodes: int | None = None) -> Solved | None:
    """Solve the program of the paper, (1) to (5), by HiGHS.

    Maximise Y with sum_j a_ij >= alpha_i Y, sum_j a_ij >= the minimum, sum_i a_ij <= C_j, a_ij <= alpha_i e_ij,
    sum_j e_ij = 1, e_ij in {0, 1} and a_ij >= 0, whole where ``whole``.

    Parameters
    ----------
    max_vms, tolerance, capacities, whole, spanning
        As for :func:`exact_optimum`; ``spanning`` leaves out the e_ij.
    seconds, nodes : optional
        Limits.

    Returns
    -------
    Solved or None
        None where the minima do not fit.

    Raises
    ------
    InvalidInput, FairbookError
        The latter where HiGHS does not solve the program, or only by overfilling a cluster.

    Notes
    -----
    2 n H + 1 variables. Slow: 13 users on 5 clusters may take minutes.

    Examples
    --------
    >>> found = milp([4, 4, 4], "1/2", [6, 5])
    >>> str(found.level), round(found.bound, 6), found.proved
    ('3/4', 0.75, True)
    """
    case = as_case(max_vms, tolerance, capacities, whole)
    n, H = case.n, case.H
    alpha = np.array([float(x) for x in case.wanted])
    least = np.array([float(x) for x in case.minimum])
    room = np.array([float(x) for x in case.capacities])
    pairs, none = n * H, sparse.csr_array((n, n * H))
    of_user = sparse.kron(sparse.eye_array(n), np.ones((1, H)), format="csr")
    of_cluster = sparse.kron(np.ones((1, n)), sparse.eye_array(H), format="csr")
    column = sparse.csr_array(-alpha[:, None])
    rows = [
        (sparse.hstack([of_user, none, column]), np.zeros(n), np.full(n, np.inf)),
        (sparse.hstack([of_user, none, 0 * column]), least, alpha),
        (sparse.hstack([of_cluster, sparse.csr_array((H, pairs + 1))]), np.zeros(H), room),
    ]
    if not spanning:
        cap = sparse.diags_array(np.repeat(-alpha, H))
        rows += [
            (sparse.hstack([sparse.eye_array(pairs), cap, sparse.csr_array((pairs, 1))]), np.full(pairs, -np.inf),
             np.zeros(pairs)),
            (sparse.hstack([none, of_user, sparse.csr_array((n, 1))]), np.ones(n), np.ones(n)),
        ]
    options = {"mip_rel_gap": 0.0, **({} if seconds is None else {"time_limit": seconds}),
               **({} if nodes is None else {"node_limit": as_whole(nodes, "nodes", 1)})}
    result = solve_milp(
        np.append(np.zeros(2 * pairs), -1.0),
        integrality=np.concatenate([np.full(pairs, int(whole)), np.full(pairs, int(not spanning)), [0]]),
        bounds=Bounds(np.zeros(2 * pairs + 1), np.concatenate([np.repeat(alpha, H), np.ones(pairs + 1)])),
        constraints=[LinearConstraint(sparse.csr_array(A), low, high) for A, low, high in rows], options=options)
    if result.status == 2:
        return None
    if result.status not in (0, 1) and "limit reached" not in result.message:
        raise FairbookError(f"the program was not solved: {result.message}")
    # a program without whole numbers has no bound but its optimum
    dual = result.fun if spanning and not whole else result.mip_dual_bound
    bound = 1.0 if dual is None else min(1.0, -float(dual))
    if result.x is None:
        return Solved(None, bound, 1.0, False, None, None)
    cluster: list[int] | None = None
    if spanning:
        vms = case.share(range(n), sum(case.capacities, ZERO))
        if vms is None:
            raise FairbookError("HiGHS overfilled the pool")
        # in whole VMs too what HiGHS hands out can be cut anew, so it is its level that counts, not its table
        level = case.level(vms)
        if abs(float(level) + result.fun) > 1e-6 and result.status == 0:
            raise FairbookError("HiGHS and the sharing of the pool do not agree")
    else:
        cluster = result.x[pairs:2 * pairs].reshape(n, H).argmax(axis=1).tolist()
        found = _settled(case, cluster)
        level, vms = found.level, found.vms
    gap = max(0.0, 1.0 - float(level) / bound) if bound > 0 else 0.0
    return Solved(level, bound, gap, result.status == 0, cluster, vms)


class LinearBound(NamedTuple):
    """The linear relaxation.

    Attributes
    ----------
    level : float
        What HiGHS found.
    upper : Fraction
        No allocation, spanning or not, has a larger least fraction: follows from ``prices`` in fractions.
    prices : list of H
        Not negative, of a VM on each cluster.
    """

    level: float
    upper: Fraction
    prices: list[Fraction]


def _highest(case: Case, prices: Sequence[Fraction]) -> Fraction | None:
    """Give the highest level at which all users together can pay; None where they cannot pay for their minima.

    A user at level Y has at least max(alpha Y, minimum) VMs, each at the least price or more, and all VMs that there
    are cost sum_j C_j p_j. Any prices that are not negative give a true bound.
    """
    worth = sum((C * p for C, p in zip(case.capacities, prices, strict=True)), ZERO)
    least = min(prices)
    if least * sum(case.minimum) > worth:
        return None
    if not least:
        return ONE
    vms = _share(case.minimum, case.wanted, worth / least, False)
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

    Raises
    ------
    InvalidInput, FairbookError
        The latter where HiGHS does not solve the program.

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
    alpha = np.array([float(x) for x in case.wanted])
    least = np.array([float(x) for x in case.minimum])
    of_user = sparse.kron(sparse.eye_array(n), np.ones((1, H)), format="csr")
    of_cluster = sparse.kron(np.ones((1, n)), sparse.eye_array(H), format="csr")
    zero = sparse.csr_array((n, 1))
    rows = sparse.vstack([
        sparse.hstack([of_cluster, sparse.csr_array((H, 1))]),
        sparse.hstack([-of_user, sparse.csr_array(alpha[:, None])]),
        sparse.hstack([-of_user, zero]), sparse.hstack([of_user, zero])])
    limits = np.concatenate([[float(C) for C in case.capacities], np.zeros(n), -least, alpha])
    if sum(case.minimum) > sum(case.capacities):
        return None
    result = linprog(np.append(np.zeros(n * H), -1.0), A_ub=sparse.csr_array(rows), b_ub=limits,
                     bounds=[(0, None)] * (n * H) + [(0, 1)], method="highs")
    if result.status != 0:
        raise FairbookError(f"the relaxation was not solved: {result.message}")
    found = np.maximum(-result.ineqlin.marginals[:H], 0.0)
    top = found.max()
    prices = [Fraction(float(p / top)).limit_denominator(10**6) if top > 0 else ZERO for p in found]
    upper = _highest(case, prices)
    if upper is None:
        raise FairbookError("prices prove the minima out of reach, though they fit")
    return LinearBound(-float(result.fun), upper, prices)
