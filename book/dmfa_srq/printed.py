"""Algorithm 1 of Zhang et al. 2016, twice: repaired, and line by line as printed with each repair as a switch."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from book.common.runs import choices
from fairbook.errors import InvalidInput
from fairbook.mechanisms.pool.dmfa_srq import checked_arrivals
from fairbook.model.dynamic import DynamicAllocation
from fairbook.model.inputs import FloatArray


def algorithm_1(demands: Any, weights: Any, *, work: list[int] | None = None) -> DynamicAllocation:
    """Allocate by the paper's Algorithm 1, repaired: bisection over the sorted previous levels.

    At arrival k the users who keep what they have are the first tau - 1 in order of arrival (Lemma 2 sorts the levels
    for free). The largest feasible level among the previous ones is found by bisection on prefix sums, and
    equation (10) gives M^k. See the chapter for the three repairs.

    Parameters
    ----------
    demands, weights
        As for :func:`dmfa_srq`.
    work : list, optional
        Receives for each arrival the number of entries read, for counting cost without a clock.

    Notes
    -----
    Cost O(k m) at arrival k for the prefix sums and O(m log k) for the bisection, O(n^2 m) in all.

    References
    ----------
    Zhang et al. 2016, Algorithm 1, equations (8)-(10).
    """
    named, amounts = checked_arrivals(demands, weights)
    values = named.values
    n, m = values.shape
    rate = values * (amounts / values.max(axis=1))[:, None]  # w_i d_ij
    capacity = np.cumsum(amounts)
    below = np.zeros((n + 1, m))  # below[t] = sum of the first t rates
    np.cumsum(rate, axis=0, out=below[1:])
    level = np.zeros(n)
    lowest, binding = np.empty(n), np.empty(n, dtype=np.int32)
    kept = np.zeros((n + 1, m))  # kept[t] = what the first t users hold
    for k in range(1, n + 1):
        np.cumsum(rate[: k - 1] * level[: k - 1, None], axis=0, out=kept[1:k])
        infeasible, feasible = 0, k  # places in the order; place k is the newcomer's level 0, always feasible
        steps = 0
        while feasible - infeasible > 1:
            steps += 1
            middle = (infeasible + feasible) // 2
            use = kept[middle - 1] + (below[k] - below[middle - 1]) * level[middle - 1]
            if (use <= capacity[k - 1]).all():
                feasible = middle
            else:
                infeasible = middle
        rising = below[k] - below[feasible - 1]
        with np.errstate(divide="ignore"):
            room = np.where(rising > 0, (capacity[k - 1] - kept[feasible - 1]) / rising, np.inf)
        j = int(room.argmin())
        lowest[k - 1], binding[k - 1] = room[j], j
        np.maximum(level[:k], room[j], out=level[:k])
        if work is not None:
            work.append(m * (k + steps + 1))
    return DynamicAllocation(lowest, binding, values, amounts, named.users, named.resources, mechanism="algorithm_1")


#: The repairs of Algorithm 1, each of which :func:`algorithm_1_printed` can make by itself.
REPAIRS = ("levels", "line_6", "end")


def algorithm_1_printed(
    demands: Any,
    weights: Any,
    *,
    repairs: Sequence[str] = (),
    line_6: Literal["position", "own", "largest"] = "position",
) -> DynamicAllocation:
    """Allocate by Algorithm 1 as printed, line by line; each repair is a switch.

    Parameters
    ----------
    demands, weights
        As for :func:`dmfa_srq`.
    repairs : sequence of {"levels", "line_6", "end"}
        ``"levels"``: sort and compare x_i / w_i where the text sorts x_i (equations (8)-(10), lines 10 and 12).
        ``"line_6"``: ask whether *everyone* can be raised to the largest previous value, as line 12 asks it for the
        others. ``"end"``: let the search reach the place of the newcomer (value 0), and finish with the place that
        passed the test (UB) instead of the one that failed it (LB).
    line_6 : {"position", "own", "largest"}
        How to read the unrepaired line 6, sum_{i<=k} v_i d_ij <= W_k, where v is sorted and has k - 1 entries.
        ``"position"``: literally, v_i goes with user i, v_k = 0. ``"own"``: v_i is what user i itself had.
        ``"largest"``: v_i is v_1 for everyone.

    Returns
    -------
    DynamicAllocation
        What the printed lines give; it may overdraw the pool, which ``violations`` lists.

    Notes
    -----
    Cost O(n^2 m log n), as the lines are written. Line numbers of the paper stand beside the code.

    References
    ----------
    Zhang et al. 2016, Algorithm 1.
    """
    repaired = repairs if isinstance(repairs, (list, tuple)) else [repairs]
    if isinstance(repairs, str) or not all(repair in REPAIRS for repair in repaired):
        raise InvalidInput("repairs", f"must be several of {REPAIRS}", repairs)
    choices(line_6, "line_6", ("position", "own", "largest"))
    named, w = checked_arrivals(demands, weights)
    raw = named.values
    n, m = raw.shape
    d = raw / raw.max(axis=1, keepdims=True)
    x = np.zeros(n)
    lowest, binding = np.empty(n), np.empty(n, dtype=np.int32)
    x[0] = w[0]  # line 3
    lowest[0], binding[0] = 1.0, int(d[0].argmax())
    for k in range(2, n + 1):  # lines 4, 5, 24
        capacity = w[:k].sum()
        value = x[:k] / w[:k] if "levels" in repaired else x[:k]  # of user i before arrival k; 0 for the newcomer
        v = np.sort(value[: k - 1])[::-1]  # equation (8)
        if "end" in repaired:
            v = np.append(v, 0.0)
        everyone = (w[:k, None] * d[:k]).sum(axis=0)

        def split(tau: int, value: FloatArray = value, v: FloatArray = v, k: int = k) -> tuple[FloatArray, FloatArray]:
            # line 10, tau from 1
            stays = value > v[tau - 1]
            return (x[:k, None] * d[:k])[stays].sum(axis=0), (w[:k, None] * d[:k])[~stays].sum(axis=0)

        if "line_6" in repaired:
            claimed = everyone * v[0]
        elif line_6 == "position":
            claimed = (np.append(v[: k - 1], 0.0)[:, None] * d[:k]).sum(axis=0)
        elif line_6 == "own":
            claimed = (x[:k, None] * d[:k]).sum(axis=0)
        else:
            claimed = v[0] * d[:k].sum(axis=0)
        if (claimed <= capacity).all():  # line 6
            alpha, beta = np.zeros(m), everyone  # line 7
        else:
            low, high = 1, len(v)  # line 9
            tau = (low + high) // 2
            alpha, beta = split(tau)
            while high - low > 1:  # line 11
                if (alpha + beta * v[tau - 1] <= capacity).all():  # line 12
                    high = tau  # line 13
                else:
                    low = tau  # line 16
                tau = (low + high) // 2
                alpha, beta = split(tau)  # "goto 10"
            if "end" in repaired:
                alpha, beta = split(high)
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(beta > 0, (capacity - alpha) / beta, np.inf)
        j = int(room.argmin())
        lowest[k - 1], binding[k - 1] = room[j], j  # line 21
        x[:k] = np.maximum(room[j] * w[:k], x[:k])  # line 22
    return DynamicAllocation(lowest, binding, raw, w, named.users, named.resources, mechanism="algorithm_1_printed")
