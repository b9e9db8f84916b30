"""Algorithm 1 of the Karma paper (Vuppalapati et al., OSDI 2023) as published: one resource in whole slices."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.mechanisms.karma import as_credit
from fairbook.model.inputs import FloatArray, as_number, demand_matrix, number_of_dimensions, raise_at_first

__all__ = ["karma_slices"]


def karma_slices(demands: Any, fair_share: int, alpha: float,
                 initial_credits: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Run Algorithm 1 of the Karma paper: one resource in whole slices.

    Parameters
    ----------
    demands : array_like, shape (T, n)
        Slices that each user demands in each quantum: whole numbers, not negative.
    fair_share : int
        f, slices a user; the pool holds n f.
    alpha : float, in [0, 1]
        Guaranteed part of the fair share; alpha f must be whole.
    initial_credits : int or array_like, shape (n,)
        Whole numbers, not negative; one credit buys one slice.

    Returns
    -------
    alloc : ndarray of int, shape (T, n)
        Slices of each user in each quantum.
    credits : ndarray of int, shape (T, n)
        Credits at the *end* of each quantum, everything settled.

    Notes
    -----
    Each quantum gives everyone (1 - alpha) f credits, and min(demand, alpha f) slices for nothing. Then, while there is
    a borrower (demand unmet, credits left) and a slice donated or shared, the borrower with the most credits takes
    one for a credit, from the donor with the least credits if there is a donor, who earns one.
    Ties go to the smaller index. Cost O(n + s log n) a quantum for s slices borrowed.

    References
    ----------
    Vuppalapati et al., OSDI 2023, Algorithm 1.

    Examples
    --------
    Two users, four slices, half of them guaranteed. The second sits out the first quantum.

    >>> alloc, credits = karma_slices([[4, 0], [4, 4]], fair_share=2, alpha=0.5, initial_credits=10)
    >>> alloc.tolist(), credits.tolist()
    ([[4, 0], [1, 3]], [[8, 12], [9, 11]])
    """
    if number_of_dimensions(demands) != 2:
        raise InvalidInput("demands", "must have shape (T quanta, n users)",
                           f"{number_of_dimensions(demands)} dimensions")
    wanted = _as_whole(demand_matrix(demands).values, "demands")
    count, n = wanted.shape
    amount = as_number(fair_share, "fair_share", 1.0, 2.0**53)
    share = int(amount)
    if share != amount:
        raise InvalidInput("fair_share", "must be whole", amount)
    part = as_number(alpha, "alpha", 0.0, 1.0)
    guaranteed = round(part * share)
    if abs(part * share - guaranteed) > 1e-9 * share:
        raise InvalidInput("alpha", f"must guarantee whole slices of the fair share of {share}", alpha)
    credit = _as_whole(as_credit(initial_credits, n, None, "initial_credits"), "initial_credits").tolist()
    alloc, credits = np.empty((count, n), dtype=np.int64), np.empty((count, n), dtype=np.int64)
    for t, row in enumerate(wanted.tolist()):
        credit = [have + share - guaranteed for have in credit]
        got = [min(want, guaranteed) for want in row]
        donated = [guaranteed - have for have in got]
        shared = n * (share - guaranteed)
        donors = [(credit[i], i) for i in range(n) if donated[i] > 0]
        borrowers = [(-credit[i], i) for i in range(n) if row[i] > got[i] and credit[i] > 0]
        heapq.heapify(donors)
        heapq.heapify(borrowers)
        while borrowers and (donors or shared > 0):
            _, b = borrowers[0]
            if donors:
                _, d = donors[0]
                credit[d] += 1
                donated[d] -= 1
                if donated[d] > 0:
                    heapq.heapreplace(donors, (credit[d], d))
                else:
                    heapq.heappop(donors)
            else:
                shared -= 1
            got[b] += 1
            credit[b] -= 1
            if got[b] < row[b] and credit[b] > 0:
                heapq.heapreplace(borrowers, (-credit[b], b))
            else:
                heapq.heappop(borrowers)
        alloc[t], credits[t] = got, credit
    return alloc, credits


def _as_whole(values: FloatArray, argument: str) -> NDArray[np.int64]:
    bad = ~((values >= 0) & (values <= 2**53) & (values == np.floor(values)))
    raise_at_first(bad, argument, "must be a whole number from 0 to 2**53", values)
    return values.astype(np.int64)
