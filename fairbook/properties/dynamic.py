"""Fairness of a sequence of allocations x^1, ..., x^n while users arrive, for any mechanism over arrivals.

Each check takes any :class:`~fairbook.metrics.Run` (a :class:`~fairbook.model.DynamicAllocation`, a
:class:`~fairbook.properties.Trajectory`, or any object with ``demands``, ``weights``, ``len`` and ``tasks_at``), looks
at the allocations only and assumes nothing about the mechanism. y_i^k = x_i^k / w_i is the *level* of user i after
arrival k; the pool then holds W_k = w_1 + ... + w_k of every resource. In a run of fractions the checks are exact.

Costs are stated for s steps out of n, by default all of them. Theorems and equations are numbered as in the reference.

References
----------
Zhang, Liu, Li, Zhang, Journal on Communications 37(7), 2016, section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.metrics import Run, check_steps, exchange_rates, largest_demands, level_blocks, level_rows
from fairbook.model.allocation import Allocation
from fairbook.model.inputs import Array
from fairbook.model.result import labels_or_positions
from fairbook.properties.finding import Finding, default_tolerance, ratio, show

__all__ = [
    "dynamic_envy_freeness",
    "dynamic_feasibility",
    "dynamic_pareto_optimality",
    "dynamic_sharing_incentive",
    "irrevocability",
]

Steps = Iterable[int] | None


def require_run(run: Any, instead: str) -> None:
    """Refuse what is no sequence of allocations; ``instead`` is what there is for a single one."""
    if isinstance(run, Allocation) or not isinstance(run, Run):
        raise InvalidInput(
            "run", f"must be a sequence of allocations (for one Allocation there is {instead})", type(run).__name__
        )


def user_names(run: Run) -> tuple[Hashable, ...]:
    """Give the names of the users, or their positions."""
    return labels_or_positions(getattr(run, "named_users", None), len(run))


def _instance(run: Run, k: int, levels: Array) -> dict[str, Any]:
    """What a reader needs to check a step by hand, shortened to the users present."""
    found: dict[str, Any] = {
        "step": k,
        "demands": run.demands[:k],
        "weights": run.weights[:k],
        "levels": levels[:k],
        "shares": (levels * run.weights)[:k],
    }
    if getattr(run, "named_users", None) is not None:
        found["users"] = list(user_names(run)[:k])
    return found


class Checker:
    """Collects margins step by step and keeps the tightest case."""

    def __init__(self, name: str, run: Run, rtol: float | None) -> None:
        self.name, self.run = name, run
        self.tolerance = default_tolerance(run.weights, rtol)
        self.margins: list[Any] = []
        self.checked = 0
        self.worst: Any = np.inf
        self.case: tuple[int, tuple[int, ...], Array] | None = None

    def add(self, ks: NDArray[np.int64], levels: Array, margins: Array, checked: int) -> None:
        """Take margins of shape (steps, ...) with inf where there is no case."""
        flat = margins.reshape(len(ks), -1)
        if not flat.shape[1]:
            self.margins.extend([np.inf] * len(ks))
            return
        place = flat.argmin(axis=1)
        lowest = flat[np.arange(len(ks)), place]
        self.margins.extend(lowest.tolist())
        self.checked += checked
        row = int(lowest.argmin())
        if self.case is None or lowest[row] < self.worst:
            index = tuple(int(i) for i in np.unravel_index(place[row], margins.shape[1:]))
            self.worst, self.case = lowest[row], (int(ks[row]), index, levels[row])

    def finding(
        self, says: Callable[[int, tuple[int, ...], Array], dict[str, Any]], certificate: dict[str, Any] | None = None
    ) -> Finding:
        holds = bool(self.worst >= -self.tolerance)
        witness = None
        if not holds and self.case is not None:
            k, index, levels = self.case
            witness = {**says(k, index, levels), **_instance(self.run, k, levels)}
        margins = np.array(self.margins, dtype=np.result_type(self.run.weights, np.float64))
        return Finding(
            self.name, holds, self.worst, witness, certificate if holds else None, self.checked, self.tolerance, margins
        )


def check_run(
    name: str,
    run: Run,
    steps: Steps,
    rtol: float | None,
    look: Callable[[Checker, NDArray[np.int64], Array], tuple[Array, int]],
    says: Callable[[int, tuple[int, ...], Array], dict[str, Any]],
    *,
    instead: str,
    row: Callable[[], int] | None = None,
    certificate: Callable[[Array], dict[str, Any]] | None = None,
) -> Finding:
    """Check a run block by block of its steps.

    Parameters
    ----------
    name : str
        Of the property.
    look : callable
        (checker, steps, levels of shape (s, n)) -> margins of shape (s, ...), inf where there is no case, and how many
        cases there are.
    says : callable
        (step, place of the smallest margin in a row, levels) -> the sentence of a witness, under ``"says"``, and what
        it names.
    instead : str
        What there is for a single allocation.
    row : callable, optional
        Numbers needed for one step; default one a user.
    certificate : callable, optional
        Steps -> what certifies the property where it holds.
    """
    require_run(run, instead)
    checker, chosen = Checker(name, run, rtol), check_steps(run, steps)
    for ks, levels in level_blocks(run, chosen, len(run) if row is None else row()):
        checker.add(ks, levels, *look(checker, ks, levels))
    return checker.finding(says, None if certificate is None else certificate(chosen))


def absent(ks: NDArray[np.int64], n: int) -> NDArray[np.bool_]:
    """Which users are not there yet after each step, shape (s, n)."""
    return np.arange(n) >= ks[:, None]


def levels_before(run: Run, ks: NDArray[np.int64], levels: Array) -> Array:
    """Levels one arrival before each step, shape (s, n)."""
    if len(ks) > 1 and ks[-1] - ks[0] == len(ks) - 1:
        first = level_rows(run, ks[:1] - 1) if ks[0] > 1 else np.zeros_like(levels[:1])
        return np.concatenate([first, levels[:-1]])
    none = np.zeros_like(levels[:1])
    return np.concatenate([level_rows(run, np.array([k - 1])) if k > 1 else none for k in ks.tolist()])


# ------------------------------------------------------------------------------------------------ the properties


def dynamic_sharing_incentive(run: Run, steps: Steps = None, rtol: float | None = None) -> Finding:
    """Check that every user present runs at least what it could run on what it brought (Theorem 2): y_i^k >= 1.

    Parameters
    ----------
    run : Run
    steps : iterable of int, optional
        Arrivals to look at, from 1; default all.
    rtol : float, optional
        Default 1e-9, and 0 for fractions.

    Returns
    -------
    Finding
        Margin: min y_i^k - 1.

    Notes
    -----
    Cost O(s n).

    Examples
    --------
    >>> import fairbook as fb
    >>> r = fb.dmfa_srq([[1, 1/2], [1/2, 1], [1/2, 1]], weights=[1/4, 1/4, 1/2])
    >>> print(dynamic_sharing_incentive(r))
    dynamic sharing incentive: holds in 6 cases, smallest margin 0
    """
    return check_run(
        "dynamic sharing incentive", run, steps, rtol,
        lambda checker, ks, levels: (np.where(absent(ks, len(run)), np.inf, levels - 1), int(ks.sum())),
        lambda k, index, levels: {
            "says": f"after arrival {k} user {user_names(run)[index[0]]} has {show(levels[index[0]])} of what it "
                    "brought", "user": user_names(run)[index[0]]},
        instead="sharing_incentive")  # fmt: skip


def _slack(run: Run, ks: NDArray[np.int64], levels: Array) -> Array:
    """Free part of each resource after each step, shape (s, m)."""
    rates = run.demands * (run.weights / largest_demands(run))[:, None]
    return 1 - levels @ rates / np.cumsum(run.weights)[ks - 1][:, None]


def dynamic_feasibility(run: Run, steps: Steps = None, rtol: float | None = None) -> Finding:
    """Check that no resource is overdrawn, equation (2) of the paper: use <= W_k.

    Returns
    -------
    Finding
        Margin: min over steps and resources of 1 - use / W_k.

    Notes
    -----
    Cost O(s n m).
    """

    def look(checker: Checker, ks: NDArray[np.int64], levels: Array) -> tuple[Array, int]:
        slack = _slack(run, ks, levels)
        return slack, slack.size

    def says(k: int, index: tuple[int, ...], levels: Array) -> dict[str, Any]:
        free = _slack(run, np.array([k]), levels[None, :])[0, index[0]]
        return {
            "says": f"after arrival {k} resource {index[0]} is used {show(1 - free)} times its capacity",
            "resource": index[0],
            "used": 1 - free,
        }

    return check_run("dynamic feasibility", run, steps, rtol, look, says, instead="feasibility")


def dynamic_pareto_optimality(run: Run, steps: Steps = None, rtol: float | None = None) -> Finding:
    """Check that after arrival k nobody can have more, within W_k, without another having less (Theorem 1).

    What is feasible stays feasible when someone has less, so it is enough that each user alone needs a resource that
    is used up. With positive demands one used-up resource does for all.

    Parameters
    ----------
    run, steps, rtol
        As for :func:`dynamic_sharing_incentive`.

    Returns
    -------
    Finding
        Margin: minus the largest part of the pool by which all that one user needs could grow, or minus the part
        that is overdrawn. Certificate: ``"used_up"`` (s, m), the resources used up after each step.

    Notes
    -----
    Cost O(s n m).

    Examples
    --------
    With zero demands the theorem fails: user 0 could have more once user 1 has stopped at resource 1.

    >>> import fairbook as fb
    >>> print(dynamic_pareto_optimality(fb.dmfa_srq([[1, 0], [0, 1]], weights=[1, 1])))
    dynamic Pareto optimality: holds in 3 cases, smallest margin 0
    >>> bool(dynamic_pareto_optimality(fb.dmfa_srq([[1, 0], [1, 1], [0, 1], [0, 1]], weights=[1, 1, 1, 1])))
    False
    """
    used_up: list[Array] = []

    def look(checker: Checker, ks: NDArray[np.int64], levels: Array) -> tuple[Array, int]:
        slack, needs = _slack(run, ks, levels), run.demands > 0
        used_up.append(slack <= checker.tolerance)
        if needs.all():
            room = np.broadcast_to(slack.min(axis=1)[:, None], levels.shape)
        else:
            room = np.where(needs, slack[:, None, :], np.inf).min(axis=2)
        margins = np.where(absent(ks, len(run)), np.inf, -np.maximum(room, 0) + 0)
        overdrawn = np.where(slack < -checker.tolerance, slack, np.inf).min(axis=1)
        return np.minimum(margins, overdrawn[:, None]), int(ks.sum())

    def says(k: int, index: tuple[int, ...], levels: Array) -> dict[str, Any]:
        free = _slack(run, np.array([k]), levels[None, :])[0]
        if free.min() < -default_tolerance(run.weights, rtol):
            text = f"after arrival {k} resource {int(free.argmin())} is used {show(1 - free.min())} times its capacity"
            return {"says": text, "free": free}
        room, user = free[run.demands[index[0]] > 0].min(), user_names(run)[index[0]]
        return {
            "says": f"after arrival {k} user {user} could have more: {show(room)} of its needs is free",
            "user": user,
            "free": free,
        }

    return check_run(
        "dynamic Pareto optimality", run, steps, rtol, look, says, instead="pareto_optimality",
        row=lambda: len(run) * (1 if (run.demands > 0).all() else run.demands.shape[1]),
        certificate=lambda chosen: {"steps": chosen, "used_up": np.concatenate(used_up)})  # fmt: skip


def _at_arrivals(run: Run) -> Array:
    """P[h, i] = level of user h just before user i arrives (h < i), shape (n, n)."""
    n = len(run)
    table = level_rows(run, np.arange(1, n + 1))  # table[k - 1] = levels after arrival k
    before = np.zeros_like(table)
    before[:, 1:] = table[:-1].T
    return before


def excused(
    name: str, run: Run, steps: Steps, rtol: float | None, rates: Array | None, verb: str, instead: str
) -> Finding:
    """Check that i stands below h (times a rate) only if h came earlier and has not gained since before i came."""
    n = len(run)
    before = _at_arrivals(run)
    earlier = np.tri(n, k=-1, dtype=bool)  # earlier[i, h]: h < i
    fallback = np.where(earlier, before.T, 1)

    def look(checker: Checker, ks: NDArray[np.int64], levels: Array) -> tuple[Array, int]:
        gone = absent(ks, n)
        other = levels[:, None, :] if rates is None else levels[:, None, :] * rates
        margins = 1 - ratio(other, np.where(gone, 1, levels)[:, :, None])
        change = -abs(ratio(np.broadcast_to(levels[:, None, :], margins.shape), fallback) - 1)
        margins = np.where(earlier, np.maximum(margins, change), margins)
        skip = gone[:, :, None] | gone[:, None, :] | np.eye(n, dtype=bool)
        return np.where(skip, np.inf, margins), int((ks * (ks - 1)).sum())

    def says(k: int, index: tuple[int, ...], levels: Array) -> dict[str, Any]:
        (i, h), users = index, user_names(run)
        rate = 1 if rates is None else rates[i, h]
        why = "came later" if h > i else f"rose from level {show(before[h, i])} after {users[i]} had come"
        return {
            "says": f"after arrival {k} user {users[i]} at level {show(levels[i])} {verb} user {users[h]}"
            f" ({show(levels[h] * rate)}), who {why}",
            "user": users[i],
            "other": users[h],
            "level": levels[i],
            "would_have": levels[h] * rate,
            "level_of_other_before": before[h, i] if h < i else None,
        }

    return check_run(name, run, steps, rtol, look, says, instead=instead, row=lambda: n * n)


def dynamic_envy_freeness(run: Run, steps: Steps = None, rtol: float | None = None) -> Finding:
    """Check that i envies h only if h came before i and has had the same allocation ever since (Theorem 3).

    User i envies h after arrival k if N_i(A_h^k) / w_h > N_i(A_i^k) / w_i, where N_i counts the tasks of i that a
    bundle runs.

    Parameters
    ----------
    run, steps, rtol
        As for :func:`dynamic_sharing_incentive`.

    Returns
    -------
    Finding
        Margin of a pair: 1 - (i's value of h's bundle) / (i's own); where h came earlier, at least minus the
        relative change of h since before i came, so that an excused envy has margin 0.

    Notes
    -----
    Cost O(n^2 m + s n^2) time, O(n^2) memory.

    Examples
    --------
    >>> import fairbook as fb
    >>> r = fb.dmfa_srq([[1, 1/2], [1/2, 1], [1/2, 1]], weights=[1/4, 1/4, 1/2])
    >>> print(dynamic_envy_freeness(r))
    dynamic envy-freeness: holds in 8 cases, smallest margin 0
    """
    require_run(run, "envy_freeness")
    # in levels: N_i(A_h) / w_h over N_i(A_i) / w_i = y_h R_ih u_i / (u_h y_i), u the largest demands
    units = largest_demands(run)
    rates = exchange_rates(run.demands) * units[:, None] / units[None, :]
    return excused("dynamic envy-freeness", run, steps, rtol, rates, "envies", "envy_freeness")


def irrevocability(run: Run, steps: Steps = None, rtol: float | None = None) -> Finding:
    """Check that nobody has less after an arrival than before: x_i^k >= x_i^{k-1}.

    Returns
    -------
    Finding
        Margin: min of x_i^k / x_i^{k-1} - 1; inf for one user.

    Notes
    -----
    Cost O(s n).
    """

    def look(checker: Checker, ks: NDArray[np.int64], levels: Array) -> tuple[Array, int]:
        margins = ratio(levels, levels_before(run, ks, levels)) - 1
        return np.where(absent(ks - 1, len(run)), np.inf, margins), int((ks - 1).sum())

    def says(k: int, index: tuple[int, ...], levels: Array) -> dict[str, Any]:
        held, user = level_rows(run, np.array([k - 1]))[0], user_names(run)[index[0]]
        return {
            "says": f"arrival {k} takes user {user} from level {show(held[index[0]])} to {show(levels[index[0]])}",
            "user": user,
            "levels_before": held[: k - 1],
        }

    return check_run("irrevocability", run, steps, rtol, look, says, instead="irrevocability, a property of sequences")
