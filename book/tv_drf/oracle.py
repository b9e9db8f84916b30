"""TV-DRF judged: the optimum of (9) by linear programs with certificates, on machines of any shapes.

Each round of a period is one linear program that raises the smallest value (first of min(beta, 1), then of G) among
the users not yet fixed. Its dual prices say who is stuck, and on what: by complementary slackness a user whose price is
positive stands at the smallest value in every optimum.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from book.common.oracle_drf import solved
from fairbook.errors import FairbookError
from fairbook.model.inputs import FloatArray, as_weights, demand_matrix, phased_demands


@dataclass(frozen=True)
class Round:
    """One linear program of a period, and why its value cannot be higher.

    Attributes
    ----------
    kind : {"coefficient", "share"}
        Whether min(beta, 1) or G was raised.
    value : float
        The smallest value of the users not fixed before.
    fixed : tuple of int
        Users found stuck at it.
    user_prices : ndarray, shape (n,)
        Not negative, sum 1: how much each user's row holds the value down.
    prices : ndarray, shape (K, m)
        Not negative, per part of the pool's total: which resource of which machine does.
    bound : float
        The dual objective: an upper bound on the value that follows from the prices alone.
    """

    kind: str
    value: float
    fixed: tuple[int, ...]
    user_prices: FloatArray
    prices: FloatArray
    bound: float


class LpRun(NamedTuple):
    """What happened over T periods.

    Attributes
    ----------
    tasks, sharing_coefficients, cumulative_shares : ndarray, shape (T, n)
    alone : ndarray, shape (T, n, m)
    on_machines : ndarray, shape (T, n, K)
        Tasks on each machine.
    rounds : list of T lists of Round
    """

    tasks: FloatArray
    sharing_coefficients: FloatArray
    cumulative_shares: FloatArray
    alone: FloatArray
    on_machines: FloatArray
    rounds: list[list[Round]]


class _Programs:
    """The programs of one period. Variables: y_ik >= 0, what user i runs on machine k in dominant share of the pool."""

    def __init__(self, need: FloatArray, most: FloatArray, room: FloatArray, able: NDArray[np.bool_]) -> None:
        self.need, self.most, self.room, self.able = need, most, room, able
        self.n, self.m = need.shape
        self.K = len(room)
        self.rounds: list[Round] = []

    def use_rows(self) -> FloatArray:
        return np.einsum("kl,ij->kjil", np.eye(self.K), self.need).reshape(self.K * self.m, -1)

    def leximin(self, kind: str, rates: FloatArray, starts: FloatArray, cap: float, floors: FloatArray) -> FloatArray:
        """Maximise the sorted values v_i = min over r of starts[i, r] + rates[i, r] * y_i, none counted beyond ``cap``.

        ``floors`` (n,) are values of y_i to keep. Give y_i per machine, (n, K).
        """
        n, K = self.n, self.K
        base = np.hstack([self.use_rows(), np.zeros((self.K * self.m, 1))])
        each = np.kron(np.eye(n), np.ones(K))
        per_user = np.hstack([each, np.zeros((n, 1))])
        fixed = np.full(n, np.nan)
        shift = min(starts.min(), 0.0) if kind == "coefficient" else starts.min()
        lower = floors.copy()
        while True:
            free = np.flatnonzero(np.isnan(fixed))
            if not len(free):
                break
            pairs = [(i, r) for i in free for r in range(starts.shape[1]) if np.isfinite(starts[i, r])]
            above = np.zeros((len(pairs), n * K + 1))
            for p, (i, r) in enumerate(pairs):
                above[p, i * K : (i + 1) * K] = -rates[i, r]
                above[p, -1] = 1.0
            right_above = np.array([starts[i, r] - shift for i, r in pairs])
            low, high = lower, np.maximum(self.most, lower)
            rows = np.vstack([base, above, per_user, -per_user])
            right = np.concatenate([self.room.ravel(), right_above, high, -low])
            bounds = np.array(
                [[0.0, np.inf if self.able[i, k] else 0.0] for i in range(n) for k in range(K)]
                + [[0.0, cap - shift if np.isfinite(cap) else np.inf]]
            )
            cost = np.zeros(n * K + 1)
            cost[-1] = -1.0
            result = solved("a program of TV-DRF", cost, rows, right, bounds)
            value = float(result.x[-1])
            price = -result.ineqlin.marginals
            a, b = self.K * self.m, self.K * self.m + len(pairs)
            user_prices = np.zeros(n)
            for (i, _), weight in zip(pairs, price[a:b], strict=True):
                user_prices[i] += weight
            dual = float(price @ right)
            if np.isfinite(cap):
                dual += (cap - shift) * max(0.0, 1.0 - float(price[a:b].sum()))
            stuck = free if value >= cap - shift - 1e-9 else free[user_prices[free] > 1e-7]
            if not len(stuck):
                raise FairbookError("a program of TV-DRF fixed nobody: tolerances too tight for this input")
            self.rounds.append(
                Round(
                    kind,
                    value + shift,
                    tuple(stuck.tolist()),
                    user_prices,
                    price[:a].reshape(self.K, self.m),
                    dual + shift,
                )
            )
            for i in free:  # the least that gives this value (nobody falls below it again)
                with np.errstate(divide="ignore", invalid="ignore"):
                    wanted = np.where(
                        np.isfinite(starts[i]) & (value + shift > starts[i]),
                        (value + shift - starts[i]) / rates[i],
                        0.0,
                    ).max()
                lower[i] = min(max(lower[i], wanted * (1 - 1e-9) - 1e-10), self.most[i])
            fixed[stuck] = value
        result = solved(
            "a program of TV-DRF",
            np.zeros(n * K),
            np.vstack([self.use_rows(), -each, each]),
            np.concatenate([self.room.ravel(), -lower * (1 - 1e-9), lower]),
            bounds[:-1],
        )
        self.placed = result.x.reshape(n, K)
        return lower


def _own(demands: FloatArray, bounds: FloatArray, machines: FloatArray, parts: FloatArray, alone: str) -> FloatArray:
    """What each would have in use without sharing, (n, m), one period."""
    if alone == "resources":
        with np.errstate(invalid="ignore"):
            return np.minimum(np.where(demands > 0, demands * bounds[:, None], 0.0), parts @ machines)
    own = np.zeros_like(demands)
    for i, row in enumerate(demands):
        if bounds[i] > 0:
            needs = row > 0
            runs = sum(float((parts[i, k] * machines[k][needs] / row[needs]).min()) for k in range(len(machines)))
            own[i] = row * min(bounds[i], runs)
    return own


def lexicographic_run(
    demands: Any, tasks: Any, machines: Any, contributions: Any, alone: str = "bundles", weights: Any = None
) -> LpRun:
    """Run the lexicographic mechanism (9), fluid, on machines of any shapes; unserved tasks expire.

    Parameters
    ----------
    demands, tasks, machines, contributions, alone, weights
        As for ``fairbook.mechanisms.tv_drf.tv_drf``; contributions of shape (n, K), ``alone`` "bundles" or "resources".

    Returns
    -------
    LpRun

    Raises
    ------
    InvalidInput, FairbookError
        The latter where HiGHS does not solve a program.

    Notes
    -----
    Variables are dominant shares of the pool, capacities parts of its totals. Cost: at most 2 n programs of n K + 1
    variables and K m + n (m + 2) rows a period; for n and K up to about 20. Accurate to about 1e-7.

    Examples
    --------
    >>> run = lexicographic_run([[[2, 1], [1, 1]], [[5, 5], [20, 10]]], [[15, 70], [12, 4]], [[50, 50], [50, 50]],
    ...                         [[1, 0], [0, 1]], alone="resources")
    >>> run.tasks.round(6)
    array([[15., 70.],
           [12.,  2.]])
    """
    values = phased_demands(demands).values
    T, n, m = values.shape
    pool = demand_matrix(machines, "machines").values
    parts = demand_matrix(contributions, "contributions").values
    counts = demand_matrix(tasks, "tasks").values
    total = pool.sum(axis=0)
    weight = (parts @ pool / total).mean(axis=1) if weights is None else as_weights(weights, n)
    run = LpRun(
        np.zeros((T, n)), np.zeros((T, n)), np.zeros((T, n)), np.zeros_like(values), np.zeros((T, n, len(pool))), []
    )
    used, owned, level = np.zeros((n, m)), np.zeros((n, m)), np.zeros(n)
    for t in range(T):
        share = values[t] / total
        dominant = share.max(axis=1)
        some = dominant > 0
        need = share / np.where(some, dominant, 1.0)[:, None]
        most = np.minimum(np.where(some, counts[t], 0.0) * np.where(some, dominant, 1.0), 2.0)
        run.alone[t] = _own(values[t], np.where(some, counts[t], 0.0), pool, parts, alone)
        owned += run.alone[t] / total
        able = np.array([[bool((machine[row > 0] > 0).all()) for machine in pool] for row in values[t]])
        programs = _Programs(need, most, pool / total, able)
        with np.errstate(divide="ignore", invalid="ignore"):
            starts = np.where(owned > 0, used / owned, np.inf)
            rates = np.where(owned > 0, need / owned, 0.0)
        starts[~np.isfinite(starts).any(axis=1)] = 1.0  # nothing owned: nothing to make good
        floors = programs.leximin("coefficient", rates, starts, 1.0, np.zeros(n))
        y = programs.leximin("share", 1.0 / weight[:, None], level[:, None].copy(), np.inf, floors)
        run.tasks[t] = y / np.where(some, dominant, 1.0)
        run.on_machines[t] = programs.placed / np.where(some, dominant, 1.0)[:, None]
        used += y[:, None] * need
        level += y / weight
        with np.errstate(divide="ignore", invalid="ignore"):
            beta = np.where(owned > 0, used / owned, np.inf).min(axis=1)
        run.sharing_coefficients[t] = np.where(np.isinf(beta) & ~(used > 0).any(axis=1), 1.0, beta)
        run.cumulative_shares[t] = level
        run.rounds.append(programs.rounds)
    return run
