"""Lies about demands: what they gain, and the search for the best of them, on one instance or on any.

* :func:`search_lie`: one instance, the best lie of one user (or of a coalition) about its demand.
* :func:`search_instance`: instance and lie together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.model.allocation import Allocation
from fairbook.model.dynamic import DynamicAllocation
from fairbook.model.inputs import as_demands, as_weights, as_whole
from fairbook.properties.finding import RTOL, Finding
from fairbook.properties.instances import Instance, Sampler, move, sampler
from fairbook.properties.search import Search

__all__ = [
    "Lie",
    "claimed_tasks",
    "lie_gain",
    "search_instance",
    "search_lie",
    "strategy_proofness",
    "true_tasks",
]

Array = NDArray[Any]
Mechanism = Callable[..., Any]


def claimed_tasks(result: Any, user: int) -> Array:
    """Give a user's tasks over time, in the units it claimed, from whatever a mechanism returned.

    Parameters
    ----------
    result : Allocation, DynamicAllocation, or an object with ``tasks_of(user)`` or ``tasks_at(k)``
    user : int
        Position.

    Returns
    -------
    ndarray
        One entry for an Allocation; tasks after arrivals user + 1, ..., n for a sequence.

    Notes
    -----
    Cost O(n) for a plain DynamicAllocation.
    """
    if type(result) is DynamicAllocation:
        levels = result.levels[user:]
        if result.irrevocable:
            levels = np.maximum.accumulate(levels)
        return levels * (result.weights[user] / max(result.demands[user].tolist()))
    if isinstance(result, Allocation):
        return result.tasks[user : user + 1]
    if hasattr(result, "tasks_of"):
        return np.asarray(result.tasks_of(user))
    return np.array([result.tasks_at(k)[user] for k in range(user + 1, len(result) + 1)])


def true_tasks(tasks: Array, truth: Array, claim: Array) -> Array:
    """Give the tasks that a bundle made for ``claim`` really runs: N(A) = tasks * min_j claim_j / truth_j.

    The minimum runs over the resources that the user really needs.
    """
    return tasks * min(c / t for c, t in zip(claim.tolist(), truth.tolist()) if t > 0)


class Lie:
    """Gain from lying about demands under one mechanism, with the honest run kept while only the lie changes.

    Parameters
    ----------
    mechanism : callable
        (demands, weights=weights) -> Allocation, DynamicAllocation or an object with ``tasks_of``. On fractions the
        gain is exact. Of a coalition all must gain at the same moment: the gain is the smallest of theirs.

    Attributes
    ----------
    evaluations : int
        Runs of the mechanism so far.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.evaluations = 0
        self._honest: tuple[Any, Any, Any] = (None, None, None)

    def honest(self, instance: Instance) -> Any:
        """Give the honest run, from the last call if demands and weights are the same objects."""
        demands, weights, result = self._honest
        if demands is not instance.demands or weights is not instance.weights:
            result = self.mechanism(instance.demands, weights=instance.weights)
            self.evaluations += 1
            self._honest = (instance.demands, instance.weights, result)
        return result

    def gains(self, instance: Instance) -> Array:
        """Give true tasks with the lie / honest ones - 1 at each entry of the history, shape (entries,)."""
        honest = self.honest(instance)
        lying = self.mechanism(instance.claimed, weights=instance.weights)
        self.evaluations += 1
        rows = []
        for user, claim in instance.lies.items():
            before = claimed_tasks(honest, user)
            after = true_tasks(claimed_tasks(lying, user), instance.demands[user], claim)
            nothing = before <= 0
            if not nothing.any():
                rows.append(after / before - 1)
            else:  # not there yet, or gone, and so never the best moment; from nothing to something: everything
                rows.append(
                    np.where(nothing, np.where(after > 0, np.inf, -1), after / np.where(nothing, 1, before) - 1)
                )
        length = min(len(row) for row in rows)  # the histories of a coalition are aligned at their ends
        return np.asarray(np.stack([row[len(row) - length :] for row in rows]).min(axis=0))

    def __call__(self, instance: Instance) -> Any:
        """Give the largest gain over the history."""
        gains = self.gains(instance)
        return gains.max() if len(gains) else -np.inf

    def details(self, instance: Instance) -> dict[str, Any]:
        """Give where the gain is largest, and the tasks there."""
        gains = self.gains(instance)
        step = int(gains.argmax())
        lying = self.mechanism(instance.claimed, weights=instance.weights)
        users, honest, lied = list(instance.lies), [], []
        for user, claim in instance.lies.items():
            before = claimed_tasks(self.honest(instance), user)
            after = true_tasks(claimed_tasks(lying, user), instance.demands[user], claim)
            at = len(before) - len(gains) + step
            honest.append(before.tolist()[at])
            lied.append(after.tolist()[at])
        return {"users": users, "step": step, "honest": honest, "lying": lied}


def lie_gain(mechanism: Mechanism, instance: Instance) -> Any:
    """Give the largest relative gain of an instance's lies, exact where mechanism and instance are.

    Examples
    --------
    Where a weight is what a user asks for, who claims twice what it needs gains a fifth.

    >>> import fairbook as fb
    >>> by_need = lambda demands, weights: fb.drf(demands, weights=np.sum(demands, axis=1))
    >>> truth, weights = np.array([[1, 1/2], [1/2, 1]]), np.array([1, 1])
    >>> print(round(lie_gain(by_need, Instance(truth, weights, {0: np.array([2, 1])})), 4))
    0.2
    """
    return Lie(mechanism)(instance)


# ---------------------------------------------------------------------------------------------- the best lie of one


def _structured_lies(instance: Instance, user: int, result: Any = None) -> Iterator[Array]:
    """Give lies worth trying first, from the honest allocation: exaggerate, hide, reshape, and fill what is left.

    Parameters
    ----------
    instance : Instance
        Honest.
    user : int
        Position of the liar.
    result : DynamicAllocation or Allocation, optional
        The honest run. With it come the lies at the breakpoints where a resource that is not used up would be: after
        each arrival, the claim r_j / x_i with r_j what the others leave of resource j, and the claim r itself.

    Notes
    -----
    About 6 m + 5 lies, and 2 m + 1 more for each of up to 4 arrivals.
    """
    truth = instance.demands[user]
    m = len(truth)
    largest = truth.max()
    for j in range(m):
        for value in (2 * truth[j], truth[j] / 2, 1.1 * truth[j], truth[j] / 1.1, largest, largest * 1e-3):
            if value > 0 and value != truth[j]:
                lie = truth.copy()
                lie[j] = value
                yield lie
    yield np.full(m, largest)
    yield np.where(truth > 0, np.sqrt(truth * largest), 0)
    yield np.where(truth > 0, truth**2 / largest, 0)
    if len(instance.demands) > 1:
        others = np.delete(instance.demands, user, axis=0)
        yield np.where(truth > 0, others.mean(axis=0), 0) + 1e-3 * truth
        yield np.maximum(truth, others.max(axis=0))
    for left, own in _leftovers(instance, user, result):
        if not own > 0:  # a mechanism may give a user nothing
            continue
        usable = np.maximum(left, 0)
        if (usable[truth > 0] > 0).all():
            yield usable
        for j in range(m):
            value = usable[j] / own
            if value > 0 and value != truth[j]:
                lie = truth.copy()
                lie[j] = value
                yield lie
                lie = truth.copy()
                lie[j] = value * 1.001
                yield lie


def _leftovers(instance: Instance, user: int, result: Any) -> Iterator[tuple[Array, float]]:
    """What the others leave of each resource, and the user's own tasks, at up to four moments."""
    if isinstance(result, Allocation):
        own = result.tasks[user]
        yield result.capacities - result.use + own * result.demands[user], own
    elif isinstance(result, DynamicAllocation):
        n = len(result)
        for k in sorted({user + 1, min(user + 2, n), (user + 1 + n) // 2, n}):
            tasks = result.tasks_at(k)
            left = result.weights[:k].sum() - tasks @ result.demands[:k] + tasks[user] * result.demands[user]
            yield left, tasks[user]


def search_lie(
    mechanism: Mechanism,
    demands: Any,
    weights: Any,
    user: int | Sequence[int],
    *,
    evaluations: int = 600,
    starts: int = 4,
    seed: int = 0,
) -> Search:
    """Search for the best lie of one user, or of a coalition, about demands on one instance.

    Structured lies first (exaggerate, hide, reshape, fill what is left); then, from the best of them, from the truth
    and from random lies, a pattern search on the logarithms of the claimed demands: each coordinate up and down, then
    a step along the gradient that these polls estimate, the step halved where nothing improves.

    Parameters
    ----------
    mechanism : callable
        (demands, weights=weights) -> Allocation, DynamicAllocation or an object with ``tasks_of(user)``.
    demands : array_like or DataFrame, shape (n, m)
        The truth.
    weights : array_like or Series, shape (n,)
    user : int or sequence of int
        Position of the liar, or positions of a coalition, which all must gain at the same moment.
    evaluations : int
        Limit on runs of the mechanism.
    starts : int
        Points from which the pattern search sets out.

    Returns
    -------
    Search
        ``gain`` is the best relative gain in true tasks, N_i(lie) / N_i(truth) - 1, at some moment.

    Notes
    -----
    Cost: ``evaluations`` runs of the mechanism.

    Examples
    --------
    >>> import fairbook as fb
    >>> demands, weights = [[1, 1/2], [1/2, 1], [1/2, 1]], [1/4, 1/4, 1/2]
    >>> search_lie(fb.dmfa_srq, demands, weights, user=0).found
    False
    >>> by_need = lambda demands, weights: fb.drf(demands, weights=np.sum(demands, axis=1))
    >>> search_lie(by_need, demands, weights, user=0).found
    True
    """
    values, names, _ = as_demands(demands)
    amounts = as_weights(weights, len(values), names, contributed=True)
    together = user if isinstance(user, (list, tuple, range, np.ndarray)) else [user]
    users = tuple(as_whole(u, "user", 0, len(values) - 1) for u in together)
    if not users or len(set(users)) != len(users):
        raise InvalidInput("user", "must be one position or several, none twice", user)
    score = Lie(mechanism)
    instance = Instance(values, amounts)
    rng = np.random.default_rng(seed)
    best, value = _best_lie(score, instance, users, rng, evaluations, starts)
    name = "strategy-proofness" if len(users) == 1 else "coalition-proofness"
    return Search(name, -value, best, score.evaluations, starts, seed, score.details(best))


def _lying(instance: Instance, users: Sequence[int], claims: Array) -> Instance:
    return Instance(instance.demands, instance.weights, dict(zip(users, claims)))


def _best_lie(
    score: Lie, instance: Instance, users: tuple[int, ...], rng: Generator, evaluations: int, starts: int
) -> tuple[Instance, float]:
    limit = score.evaluations + evaluations
    truth = instance.demands[list(users)]
    shape = truth.shape
    result = score.honest(instance)
    tried: list[tuple[float, Array]] = []

    def value(claims: Array) -> float:
        return float(score(_lying(instance, users, claims)))

    options = [list(_structured_lies(instance, u, result)) for u in users]
    if len(users) == 1:
        candidates = [np.array([row]) for row in options[0]]
    else:  # the same idea for all, and each alone with the others honest
        candidates = [np.array(rows) for rows in zip(*options)]
        for place, rows in enumerate(options):
            for row in rows:
                claims = truth.copy()
                claims[place] = row
                candidates.append(claims)
        rng.shuffle(candidates)
    for claims in candidates:
        if score.evaluations + 1 >= limit - evaluations // 2:
            break
        tried.append((value(claims), claims))
    tried.sort(key=lambda pair: -pair[0])
    # a lie that changes nothing has gain 0 and every start would be one: take the truth, the best and random ones
    begin = [truth] + [claims for _, claims in tried[: max(1, starts // 2)]]
    while len(begin) < starts:
        begin.append(truth * np.exp(rng.uniform(0.2, 1.5) * rng.standard_normal(shape)))
    best_claims, best = tried[0][1] if tried else truth * 1.5, tried[0][0] if tried else -np.inf
    for number, claims in enumerate(begin[:starts]):
        share = score.evaluations + (limit - score.evaluations) // (starts - number)
        claims, found = _pattern_search(value, claims, 0.5, score, share)
        if found > best:
            best, best_claims = found, claims
    return _lying(instance, users, best_claims), best


def _pattern_search(
    value: Callable[[Array], float], start: Array, step: float, score: Lie, limit: int
) -> tuple[Array, float]:
    """Climb from ``start`` on the logarithms of the positive entries: poll coordinates, then follow the gradient."""
    place = np.argwhere(start > 0)
    point = start.copy()

    def may_go_on() -> bool:
        return score.evaluations + 1 < limit

    if not may_go_on():
        return point, -np.inf
    best = value(point)
    while step > 1e-5 and may_go_on():
        gradient = np.zeros(len(place))
        better, better_value = point, best
        for number, (i, j) in enumerate(place):
            polled = [best, best]
            for side, sign in enumerate((1, -1)):
                if not may_go_on():
                    break
                trial = point.copy()
                trial[i, j] *= np.exp(sign * step)
                polled[side] = value(trial)
                if polled[side] > better_value + 1e-15:
                    better, better_value = trial, polled[side]
            gradient[number] = polled[0] - polled[1]
        if (size := np.abs(gradient).max()) > 0 and np.isfinite(size) and may_go_on():
            trial = point.copy()
            trial[place[:, 0], place[:, 1]] *= np.exp(step * gradient / size)
            if (found := value(trial)) > better_value + 1e-15:
                better, better_value = trial, found
        if better_value > best + 1e-15:
            point, best = better, better_value
        else:
            step /= 2
    return point, best


def strategy_proofness(
    mechanism: Mechanism,
    demands: Any,
    weights: Any,
    *,
    users: Sequence[int] | None = None,
    evaluations: int = 600,
    seed: int = 0,
) -> Finding:
    """Check strategy-proofness on one instance by searching the best lie of each user (Theorem 4).

    Parameters
    ----------
    mechanism : callable
        (demands, weights=weights) -> Allocation, DynamicAllocation or an object with ``tasks_of(user)``.
    demands : array_like or DataFrame, shape (n, m)
    weights : array_like or Series, shape (n,)
    users : sequence of int, optional
        Positions of those who may lie; default all.
    evaluations : int
        Limit on runs of the mechanism for each user.

    Returns
    -------
    Finding
        Margin: minus the best relative gain. That no lie was found is no proof.

    Examples
    --------
    >>> import fairbook as fb
    >>> bool(strategy_proofness(fb.drf, [[1, 1/2], [1/2, 1]], [1/2, 1/2]))
    True
    """
    chosen = range(len(as_demands(demands).values)) if users is None else users
    found = [search_lie(mechanism, demands, weights, u, evaluations=evaluations, seed=seed) for u in chosen]
    worst = min(found, key=lambda search: search.margin)
    total = sum(search.evaluations for search in found)
    finding = replace(worst, evaluations=total).finding()
    return replace(finding, margins=np.array([search.margin for search in found]))


# ------------------------------------------------------------------------------------- instance and lie together


def search_instance(
    mechanism: Mechanism,
    sample: Sampler | None = None,
    *,
    evaluations: int = 20_000,
    restarts: int = 20,
    seed: int = 0,
    coalition: int = 1,
    resize: bool = True,
    zeros: bool = False,
) -> Search:
    """Attack strategy-proofness: search for an instance and a lie on it, together.

    Each restart draws an instance and a liar, looks for its best lie (a fifth of the budget), then moves instance and
    lie together uphill, and ends with another search for the best lie on the instance reached. Every second restart
    climbs on the gain itself; the others on the gain per size of the lie at the moments where the lie changes
    anything, so that the search is not caught among the many lies that change nothing.

    Parameters
    ----------
    mechanism : callable
        (demands, weights=weights) -> Allocation, DynamicAllocation or an object with ``tasks_of(user)``.
    sample : callable, optional
        numpy Generator -> Instance; default :func:`~fairbook.properties.sampler` from two users and two resources up:
        with one resource there is nothing to lie about, and alone a user has all it can use.
    evaluations : int
        Limit on runs of the mechanism, shared evenly by the restarts.
    coalition : int
        Number of users who lie together.
    resize, zeros
        As for :func:`~fairbook.properties.minimise_margin`. With ``resize=False`` mechanisms for a fixed number of
        users can be attacked.

    Returns
    -------
    Search
        The best gain found and where.

    Notes
    -----
    Cost: ``evaluations`` runs of the mechanism, about 25 microseconds each beyond the mechanism's own.

    Examples
    --------
    >>> import fairbook as fb
    >>> by_need = lambda demands, weights: fb.drf(demands, weights=np.sum(demands, axis=1))
    >>> search_instance(by_need, evaluations=500).found
    True
    """
    as_whole(evaluations, "evaluations", 1)
    as_whole(restarts, "restarts", 1)
    draw = sampler(users=(max(2, coalition), 8), resources=(2, 4), zeros=zeros) if sample is None else sample
    score = Lie(mechanism)
    best: tuple[float, Instance] | None = None
    done = 0

    def note(value: float, instance: Instance) -> bool:
        nonlocal best
        if best is None or value > best[0]:
            best = (value, instance)
        return best[0] > RTOL

    for number, stream in enumerate(np.random.SeedSequence(seed).spawn(restarts)):
        rng = np.random.default_rng(stream)
        budget = (evaluations - score.evaluations) // (restarts - number)
        if budget < 10:
            continue
        done += 1
        limit = score.evaluations + budget
        honest = draw(rng)
        n = len(honest.demands)
        if n < coalition:
            continue
        users = tuple(int(u) for u in rng.choice(n, size=coalition, replace=False))
        instance, value = _best_lie(score, honest, users, rng, budget // 5, 2)
        if note(value, instance):
            break
        by_rate = number % 2 == 1
        if by_rate:  # set out from a lie that changes something
            truth = honest.demands[list(users)]
            instance = _lying(honest, users, truth * np.exp(rng.uniform(0.1, 1.0) * rng.standard_normal(truth.shape)))
        value, height = _climb_on(score, instance, by_rate)
        if note(value, instance):
            break
        size = 0.5
        while score.evaluations < limit - budget // 5 - 1:
            trial = move(rng, instance, size, resize=resize, zeros=zeros)
            value, trial_height = _climb_on(score, trial, by_rate)
            if note(value, trial):
                break
            if trial_height >= height:
                size = min(2.0, size * 1.3) if trial_height > height else size
                instance, height = trial, trial_height
            else:
                size = max(1e-4, size * 0.97)
        assert best is not None
        if best[0] > RTOL:
            break
        instance, value = _best_lie(
            score, Instance(instance.demands, instance.weights), tuple(instance.lies), rng, limit - score.evaluations, 2
        )
        if note(value, instance):
            break
    if best is None:
        raise InvalidInput("sample", f"must give instances with at least {coalition} users", evaluations)
    name = "strategy-proofness" if coalition == 1 else f"strategy-proofness of {coalition} together"
    spent = score.evaluations
    return Search(name, -best[0], best[1], spent, done, seed, score.details(best[1]))


def _climb_on(score: Lie, instance: Instance, by_rate: bool) -> tuple[float, float]:
    """Give (gain, height to climb): the gain, or the largest effective gain per logarithmic size of the lie."""
    gains = np.asarray(score.gains(instance), dtype=np.float64)
    if not len(gains):
        return -np.inf, -np.inf
    value = float(gains.max())
    if not by_rate:
        # the mean breaks ties among lies that gain nothing at the best moment
        return value, value + 1e-3 * float(np.clip(gains, -1, 1).mean())
    size = 0.0
    for user, claim in instance.lies.items():
        truth = instance.demands[user]
        both = (truth > 0) & (claim > 0)
        offset = np.log(claim[both] / truth[both]) if both.any() else np.zeros(1)
        size = max(size, float(np.ptp(offset)))  # scaling a whole demand is no lie
    effective = gains[np.abs(gains) > 1e-12]
    if not len(effective) or size < 1e-6:
        return value, -1e6
    return value, float(effective.max()) / size
