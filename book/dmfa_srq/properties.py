"""What belongs to DMFA-SRQ alone: its lemmas, broken versions of it, and runs with departures.

The lemmas take any :class:`~fairbook.metrics.Run`, as the checks of :mod:`fairbook.properties.dynamic` do.
:data:`MUTANTS` maps a name to a function of (demands, weights), like ``fairbook.dmfa_srq``, that returns a
:class:`~fairbook.properties.Trajectory`; like the static ones of :mod:`book.common.mutants` they are written
in + - * / and comparisons only, so that fractions in give exact fractions out, and for being read rather than for
speed. Departures are ours, not the paper's; see :class:`fairbook.DmfaSrq`.

References
----------
Zhang, Liu, Li, Zhang, Journal on Communications 37(7), 2016, section 4.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from book.common.arrivals import Pace, one, raised
from book.common.mutants import (
    as_rows,
    double_first,
    double_newest,
    inverse_first,
    inverse_scarcest,
    inverse_sum,
    inverse_weight,
    whole_need,
)
from fairbook.errors import InvalidInput
from fairbook.mechanisms.pool.online import DmfaSrq
from fairbook.metrics import Run, level_rows
from fairbook.model.inputs import FloatArray
from fairbook.properties.dynamic import (
    Array,
    Checker,
    Steps,
    absent,
    check_run,
    excused,
    levels_before,
    require_run,
    user_names,
)
from fairbook.properties.finding import Finding, Trajectory, ratio, show

# ----------------------------------------------------------------------------------------------------------- the lemmas


def lemma_1(run: Run, steps: Steps = None, rtol: float | None = None) -> Finding:
    """Check Lemma 1: every user stands at the lowest level or where it stood before, y_i^k = max(M^k, y_i^{k-1}).

    M^k is read off the allocation, as the lowest level of the users present.

    Returns
    -------
    Finding
        Margin: minus the largest relative deviation of a level from max(M^k, y_i^{k-1}).

    Notes
    -----
    Cost O(s n).
    """

    def look(checker: Checker, ks: NDArray[np.int64], levels: Array) -> tuple[Array, int]:
        gone = absent(ks, len(run))
        lowest = np.where(gone, np.inf, levels).min(axis=1)
        expected = np.maximum(levels_before(run, ks, levels), lowest[:, None])
        return np.where(gone, np.inf, -abs(ratio(levels, expected) - 1)), int(ks.sum())

    def says(k: int, index: tuple[int, ...], levels: Array) -> dict[str, Any]:
        held = level_rows(run, np.array([k - 1]))[0] if k > 1 else np.zeros_like(levels)
        i, user = index[0], user_names(run)[index[0]]
        return {
            "says": f"after arrival {k} user {user} stands at {show(levels[i])}, neither at the lowest level "
            f"{show(levels[:k].min())} nor where it stood before, {show(held[i])}",
            "user": user,
            "levels_before": held[: k - 1],
        }

    return check_run("Lemma 1", run, steps, rtol, look, says, instead="lemma_1, about sequences")


def lemma_2(run: Run, steps: Steps = None, rtol: float | None = None) -> Finding:
    """Check Lemma 2: who came earlier stands at least as high, i < h implies y_i^k >= y_h^k.

    Returns
    -------
    Finding
        Margin: min over pairs of y_i^k / y_h^k - 1; inf for one user.

    Notes
    -----
    Cost O(s n).
    """

    def look(checker: Checker, ks: NDArray[np.int64], levels: Array) -> tuple[Array, int]:
        lowest = np.minimum.accumulate(levels[:, :-1], axis=1)
        margins = np.where(absent(ks, len(run))[:, 1:], np.inf, ratio(lowest, levels[:, 1:]) - 1)
        return margins, int((ks * (ks - 1)).sum()) // 2

    def says(k: int, index: tuple[int, ...], levels: Array) -> dict[str, Any]:
        h, users = index[0] + 1, user_names(run)
        i = int(levels[:h].argmin())
        return {
            "says": f"after arrival {k} user {users[h]} stands at {show(levels[h])}, above the earlier "
            f"user {users[i]} at {show(levels[i])}",
            "user": users[i],
            "other": users[h],
        }

    return check_run("Lemma 2", run, steps, rtol, look, says, instead="lemma_2, about sequences")


def lemma_3(run: Run, steps: Steps = None, rtol: float | None = None) -> Finding:
    """Check Lemma 3: y_h^k > y_i^k only if h came before i and has not gained since, x_h^k = x_h^{i-1}.

    Returns
    -------
    Finding
        Margin of a pair: 1 - y_h^k / y_i^k; where h came earlier, at least minus the relative change of h.

    Notes
    -----
    Cost O(s n^2) time, O(n^2) memory.
    """
    require_run(run, "lemma_3, about sequences")
    return excused("Lemma 3", run, steps, rtol, None, "stands below", "lemma_3, about sequences")


def lemma_4(honest: Run, lying: Run, user: int, *, rtol: float | None = None) -> Finding:
    """Check Lemma 4: where a lie gives user i more, every user present has at least what it has honestly.

    "More" is meant in shares, as in the paper: x_i^t with the lie (in the units of the claimed demand) exceeds the
    honest x_i^t. In tasks the lemma has no case, as nobody gains (Theorem 4).

    Parameters
    ----------
    honest, lying : Run
        The same instance without and with the lie.
    user : int
        Position of the liar.

    Returns
    -------
    Finding
        Margin: min of x_h^t with the lie / honest x_h^t - 1, over h <= t and the t at which the liar has more and has
        just risen, what the paper's proof needs; inf without a case.

    Notes
    -----
    Cost O(n^2).
    """
    for run in (honest, lying):
        require_run(run, "lemma_4, about sequences")
    n = len(honest)
    if len(lying) != n or not 0 <= user < n:
        raise InvalidInput("user", f"must be a position from 0 to {n - 1} in two runs of the same length", user)
    checker = Checker("Lemma 4", lying, rtol)
    ks = np.arange(1, n + 1)
    before, levels = level_rows(honest, ks), level_rows(lying, ks)
    had = np.concatenate([[0], levels[:-1, user]])
    more = (levels[:, user] > before[:, user] * (1 + checker.tolerance)) & (levels[:, user] > had)
    margins = np.where(absent(ks, n) | ~more[:, None], np.inf, ratio(levels, before) - 1)
    checker.add(ks, levels, margins, int(np.where(more, ks, 0).sum()))
    users = user_names(honest)

    def says(k: int, index: tuple[int, ...], lied: Array) -> dict[str, Any]:
        h = index[0]
        return {
            "says": f"after arrival {k} the lie lifts user {users[user]} from {show(before[k - 1, user])} to "
            f"{show(lied[user])}, and user {users[h]} falls from {show(before[k - 1, h])} "
            f"to {show(lied[h])}",
            "user": users[user],
            "other": users[h],
            "honest_demands": honest.demands[:k],
            "honest_levels": before[k - 1, :k],
        }

    return checker.finding(says)


# ------------------------------------------------------------------------------------------------------ broken versions


def _share_out(
    name: str,
    demands: Any,
    weights: Any,
    *,
    pace: Pace = one,
    overdraw: Fraction = Fraction(1),
    irrevocable: bool = True,
) -> Trajectory:
    rows, amounts = as_rows(demands, weights)
    exact = isinstance(amounts[0], Fraction)
    normal = [[x / max(row) for x in row] for row in rows]
    steps = raised(normal, amounts, pace, overdraw if exact else float(overdraw), irrevocable)
    return Trajectory.of_levels([levels for _, levels in steps], rows, amounts, mechanism=name)


def reference(demands: Any, weights: Any) -> Trajectory:
    """DMFA-SRQ itself by the mutants' code: not broken, so that a mutant differs from it in its one way only."""
    return _share_out("reference", demands, weights)


def no_sharing(demands: Any, weights: Any) -> Trajectory:
    """Leave everyone what it brought."""
    rows, amounts = as_rows(demands, weights)
    whole = amounts[0] / amounts[0]
    return Trajectory.of_levels([[whole] * k for k in range(1, len(rows) + 1)], rows, amounts, mechanism="no_sharing")


#: Broken dynamic mechanisms by name.
MUTANTS: dict[str, Callable[[Any, Any], Trajectory]] = {
    # Raises the lowest x_i, not the lowest x_i / w_i. Breaks sharing incentive, envy-freeness, Lemmas 1 to 3.
    "weights_ignored": partial(_share_out, "weights_ignored", pace=inverse_weight),
    # Raises user 0 twice as fast as the others. Breaks sharing incentive, envy-freeness and Lemmas 1 and 3.
    "first_user_favoured": partial(_share_out, "first_user_favoured", pace=double_first),
    # Raises the newest user twice as fast. Breaks envy-freeness, strategy-proofness and Lemmas 1 to 3.
    "newest_favoured": partial(_share_out, "newest_favoured", pace=double_newest),
    # Hands out 1 % more than there is. Breaks feasibility, and with it Pareto optimality.
    "capacity_overshot": partial(_share_out, "capacity_overshot", overdraw=Fraction(101, 100)),
    # Hands out 99 % of what there is. Breaks Pareto optimality and sharing incentive.
    "capacity_wasted": partial(_share_out, "capacity_wasted", overdraw=Fraction(99, 100)),
    # Shares out anew at each arrival. Breaks irrevocability and Lemma 1.
    "may_shrink": partial(_share_out, "may_shrink", irrevocable=False),
    # Compares users by the sum of their shares, not the largest (asset fairness). Breaks sharing incentive and Lemmas
    # 1 to 3; strategy-proof all the same (Ghodsi et al. 2011, Table 2).
    "level_by_sum": partial(_share_out, "level_by_sum", pace=inverse_sum),
    # Compares users by their share of resource 0 only (the dominant one where they need none of it). Breaks sharing
    # incentive and Lemmas 1 to 3.
    "first_resource": partial(_share_out, "first_resource", pace=inverse_first),
    # Compares users by their share of the resource that all together demand most. Breaks strategy-proofness (a lie
    # can change which resource that is), sharing incentive and Lemmas 1 to 3.
    "scarcest_resource": partial(_share_out, "scarcest_resource", pace=inverse_scarcest),
    # Raises users in proportion to the sum of their normalised demands: who asks for more gets more. Breaks
    # strategy-proofness, sharing incentive, envy-freeness and Lemmas 1 to 3.
    "need_favoured": partial(_share_out, "need_favoured", pace=whole_need),
    # Breaks Pareto optimality, nothing else.
    "no_sharing": no_sharing,
}


# ----------------------------------------------------------------------------------------------------------- departures


@dataclass(frozen=True, eq=False)
class EventRun:
    """Tasks of each user after each event, as the mechanism counts them.

    Attributes
    ----------
    table : ndarray, shape (events, n)
        0 before a user arrives and after it has gone.
    """

    table: FloatArray

    def tasks_of(self, user: int) -> FloatArray:
        """Tasks of one user after each event, shape (events,)."""
        return self.table[:, user]


def with_departures(events: Sequence[int], contribution: Literal["stays", "leaves"]) -> Callable[[Any, Any], EventRun]:
    """Give the mechanism that runs :class:`~fairbook.DmfaSrq` through a fixed sequence of events.

    Parameters
    ----------
    events : sequence of int
        A position the first time: that user arrives; the second time: it departs.
    contribution : {"stays", "leaves"}
        What happens to what a departing user brought.

    Returns
    -------
    callable
        Function of (demands, weights) that returns an :class:`EventRun`.

    Examples
    --------
    Two users arrive, the second leaves with what it brought, the first is back where it was.

    >>> run = with_departures([0, 1, 1], "leaves")([[1, 1/2], [1/2, 1]], [1, 1])
    >>> run.tasks_of(0).round(4).tolist()
    [1.0, 1.3333, 1.0]
    """

    def run(demands: Any, weights: Any) -> EventRun:
        rows = np.asarray(demands, dtype=np.float64)
        pool = DmfaSrq(rows.shape[1])
        table = np.zeros((len(events), len(rows)))
        present: list[int] = []
        for row, user in zip(table, events):
            if user in present:
                pool.depart(user, contribution)
                present.remove(user)
            else:
                pool.arrive(user, rows[user], float(weights[user]))
                present.append(user)
            row[present] = pool.tasks
        return EventRun(table)

    return run


def theorems_after(events: Sequence[int], demands: FloatArray, weights: FloatArray, table: FloatArray) -> float:
    """Check Theorems 1 to 3 for the users present after each event, where contributions stay.

    Parameters
    ----------
    events : sequence of int
        As for :func:`with_departures`.
    demands : ndarray, shape (n, m)
        Positive.
    weights : ndarray, shape (n,)
    table : ndarray, shape (events, n)
        Tasks of each user after each event.

    Returns
    -------
    float
        Smallest of: minus the part by which the scarcest resource is overdrawn or left; the least level, less 1; minus
        what somebody gained since an envious user came, as a part. Negative where a theorem fails.

    Notes
    -----
    Cost O(events n (n + m)).
    """
    need = demands / demands.max(axis=1, keepdims=True)
    units, came = table * demands.max(axis=1), [list(events).index(user) for user in range(len(weights))]
    margin, present, pool = np.inf, set[int](), 0.0
    for event, user in enumerate(events):
        pool += weights[user] if came[user] == event else 0.0
        present ^= {user}
        if not present:
            continue
        now = units[event]
        margin = min(margin, -abs((now @ need).max() / pool - 1), min(now[i] / weights[i] for i in present) - 1)
        for i in present:
            for h in present - {i}:
                envied = now[h] * (need[h] / need[i]).min() / weights[h]
                if envied > now[i] / weights[i] * (1 + 1e-9):
                    before = units[came[i] - 1, h] if came[h] < came[i] else 0.0
                    margin = min(margin, before / now[h] - 1)
    return float(margin)


def schedule(rng: np.random.Generator, n: int) -> list[int]:
    """Draw n arrivals in order and some departures between them, as :func:`with_departures` takes them.

    Examples
    --------
    >>> schedule(np.random.default_rng(0), 3)
    [0, 1, 1, 2, 0, 2]
    """
    events: list[int] = []
    present: list[int] = []
    coming = list(range(n))
    while coming or (present and rng.random() < 0.5):
        if coming and (len(present) < 2 or rng.random() < 0.6):
            present.append(coming.pop(0))
            events.append(present[-1])
        else:
            events.append(present.pop(int(rng.integers(len(present)))))
    return events
