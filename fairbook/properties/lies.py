"""Lies about demands: what they gain, and the search for the best of them on one instance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

from fairbook.errors import InvalidInput
from fairbook.model.allocation import Allocation
from fairbook.model.dynamic import DynamicAllocation
from fairbook.model.inputs import RTOL, Array, as_demands, as_weights, as_whole
from fairbook.properties.finding import Finding

__all__ = ["claimed_tasks", "strategy_proofness", "true_tasks"]

Mechanism = Callable[..., Any]
#: Demand claimed, shape (m,), by position of each liar.
Claims = Mapping[int, Array]


def claimed_tasks(result: Any, user: int) -> Array:
    """Give a user's tasks over time, in the units it claimed, from whatever a mechanism returned.

    Parameters
    ----------
    result : Allocation, DynamicAllocation, or an object with ``tasks_of(user)``
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
        levels = result.lowest[user:]
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
    """What lies about demands gain under one mechanism; the honest run is kept while only the claims change.

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

    def _run(self, demands: Array, weights: Array) -> Any:
        self.evaluations += 1
        return self.mechanism(demands, weights=weights)

    def honest(self, demands: Array, weights: Array) -> Any:
        """Give the honest run, from the last call if demands and weights are the same objects."""
        if self._honest[0] is not demands or self._honest[1] is not weights:
            self._honest = (demands, weights, self._run(demands, weights))
        return self._honest[2]

    def _histories(self, demands: Array, weights: Array, claims: Claims) -> tuple[Array, Array, Array]:
        """Give tasks of each liar at each moment, honest and true ones with the lie, and the gain of all, by moment."""
        honest, claimed = self.honest(demands, weights), demands.copy()
        for user, claim in claims.items():
            claimed[user] = claim
        lying = self._run(claimed, weights)
        told = [claimed_tasks(honest, user) for user in claims]
        span = min(map(len, told))  # the histories of a coalition are aligned at their ends
        before = np.array([tasks[-span:] for tasks in told])
        after = np.array(
            [true_tasks(claimed_tasks(lying, i)[-span:], demands[i], claim) for i, claim in claims.items()]
        )
        nothing = before <= 0  # not there yet, or gone, and so never the best moment; from nothing to something: all
        gains = np.where(nothing, np.where(after > 0, np.inf, -1), after / np.where(nothing, 1, before) - 1)
        return before, after, gains.min(axis=0)

    def gains(self, demands: Array, weights: Array, claims: Claims) -> Array:
        """Give true tasks with the lies / honest ones - 1 at each moment; weights and demands are the truth."""
        self.honest(demands, weights)
        try:
            return self._histories(demands, weights, claims)[2]
        except InvalidInput:  # a claim that is refused
            return np.array([-1.0])

    def details(self, demands: Array, weights: Array, claims: Claims) -> dict[str, Any]:
        """Give who lies, the moment of the largest gain in the liars' history, and the tasks then."""
        before, after, gains = self._histories(demands, weights, claims)
        step = int(gains.argmax())
        tasks = {"honest": before[:, step].tolist(), "lying": after[:, step].tolist()}
        return {"users": list(claims), "step": step, **tasks}


# ------------------------------------------------------------------------------------------------- the best lie


def _structured_lies(demands: Array, user: int, result: Any) -> Iterator[Array]:
    """Give lies worth trying first: exaggerate, hide, reshape, and fill what is left.

    Those that fill lie at the breakpoints of the honest run, where a resource that is not used up would be: the claim
    r_j / x_i with r_j what the others leave of resource j, and the claim r itself.
    """
    truth = demands[user]
    largest = truth.max()

    def changed(j: int, values: Sequence[float]) -> Iterator[Array]:
        for value in values:
            lie = truth.copy()
            lie[j] = value
            yield lie

    for j, d in enumerate(truth):
        values = (2 * d, d / 2, 1.1 * d, d / 1.1, largest, largest * 1e-3)
        yield from changed(j, [value for value in values if value > 0 and value != d])
    yield np.full(len(truth), largest)
    yield np.where(truth > 0, np.sqrt(truth * largest), 0)
    yield np.where(truth > 0, truth**2 / largest, 0)
    if len(demands) > 1:
        others = np.delete(demands, user, axis=0)
        yield np.where(truth > 0, others.mean(axis=0), 0) + 1e-3 * truth
        yield np.maximum(truth, others.max(axis=0))
    for left, own in _leftovers(result, user):
        if own > 0:  # a mechanism may give a user nothing
            usable = np.maximum(left, 0)
            if (usable[truth > 0] > 0).all():
                yield usable
            for j, value in enumerate(usable / own):
                if value > 0 and value != truth[j]:
                    yield from changed(j, [value, value * 1.001])


def _leftovers(result: Any, user: int) -> Iterator[tuple[Array, float]]:
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


def best_lie(
    score: Lie,
    demands: Array,
    weights: Array,
    users: Sequence[int],
    rng: Generator,
    *,
    evaluations: int,
    starts: int,
) -> tuple[dict[int, Array], float]:
    """Search for the best lie of one user, or of several who all must gain at the same moment.

    Structured lies first; then, from the best of them, from the truth and from random lies, a pattern search on the
    logarithms of the claimed demands: each coordinate up and down, then a step along the gradient that these polls
    estimate, the step halved where nothing improves.

    Returns
    -------
    dict of int to ndarray, float
        Claims and gain.
    """
    limit = score.evaluations + evaluations
    truth = demands[list(users)]
    result = score.honest(demands, weights)

    def value(claims: Array) -> float:
        return float(score.gains(demands, weights, dict(zip(users, claims))).max())

    options = [list(_structured_lies(demands, user, result)) for user in users]
    candidates = [np.array(rows) for rows in zip(*options)]
    if len(users) > 1:  # the same idea for all, and each alone with the others honest
        for place, rows in enumerate(options):
            for row in rows:
                candidates.append(truth.copy())
                candidates[-1][place] = row
        rng.shuffle(candidates)
    tried: list[tuple[float, Array]] = []
    for claims in candidates:
        if score.evaluations + 1 >= limit - evaluations // 2:
            break
        tried.append((value(claims), claims))
    tried.sort(key=lambda pair: -pair[0])
    # a lie that changes nothing has gain 0 and every start would be one: take the truth, the best and random ones
    begin = [truth] + [claims for _, claims in tried[: max(1, starts // 2)]]
    while len(begin) < starts:
        begin.append(truth * np.exp(rng.uniform(0.2, 1.5) * rng.standard_normal(truth.shape)))
    best, best_claims = tried[0] if tried else (-np.inf, truth * 1.5)
    for number, start in enumerate(begin[:starts]):
        share = score.evaluations + (limit - score.evaluations) // (starts - number)

        def may_go_on(share: int = share) -> bool:
            return score.evaluations + 1 < share

        found, claims = _pattern_search(value, start, may_go_on)
        if found > best:
            best, best_claims = found, claims
    return dict(zip(users, best_claims)), best


def _pattern_search(
    value: Callable[[Array], float], start: Array, may_go_on: Callable[[], bool]
) -> tuple[float, Array]:
    """Climb from ``start`` on the logarithms of the positive entries: poll coordinates, then follow the gradient."""
    place = np.nonzero(start > 0)
    if not may_go_on():
        return -np.inf, start
    step, best = 0.5, (value(start), start)
    while step > 1e-5 and may_go_on():
        here = better = best

        def look(offset: Array, here: tuple[float, Array] = here) -> float:
            nonlocal better
            if not may_go_on():
                return here[0]
            trial = here[1].copy()
            trial[place] *= np.exp(offset)
            found = value(trial)
            if found > better[0] + 1e-15:
                better = found, trial
            return found

        gradient = np.array([look(step * axis) - look(-step * axis) for axis in np.eye(len(place[0]))])
        if 0 < (size := np.abs(gradient).max()) < np.inf:
            look(step * gradient / size)
        if better[0] > best[0] + 1e-15:
            best = better
        else:
            step /= 2
    return best


def strategy_proofness(
    mechanism: Mechanism, demands: Any, weights: Any, *, evaluations: int = 600, seed: int = 0
) -> Finding:
    """Check strategy-proofness on one instance by searching the best lie of each user about its demand.

    Parameters
    ----------
    mechanism : callable
        (demands, weights=weights) -> Allocation, DynamicAllocation or an object with ``tasks_of(user)``.
    demands : array_like or DataFrame, shape (n, m)
        The truth.
    weights : array_like or Series, shape (n,)
    evaluations : int
        Limit on runs of the mechanism for each user.
    seed : int

    Returns
    -------
    Finding
        Margin: minus the best relative gain in true tasks at some moment. That no lie was found is no proof. The
        witness holds ``"lies"``, ``"step"`` (in the liar's own history), and the true tasks then, ``"honest"`` and
        ``"lying"``.

    Notes
    -----
    Cost: n times ``evaluations`` runs of the mechanism.

    Examples
    --------
    Where a weight is what a user asks for, who claims more than it needs gains.

    >>> import fairbook as fb
    >>> demands, weights = [[1, 1/2], [1/2, 1]], [1/2, 1/2]
    >>> bool(strategy_proofness(fb.drf, demands, weights))
    True
    >>> by_need = lambda demands, weights: fb.drf(demands, weights=np.sum(demands, axis=1))
    >>> bool(strategy_proofness(by_need, demands, weights))
    False
    """
    truth, names, _ = as_demands(demands)
    amounts = as_weights(weights, len(truth), names, scaled=False)
    as_whole(evaluations, "evaluations", 1)
    found = []
    for user in range(len(truth)):
        score, rng = Lie(mechanism), np.random.default_rng(seed)
        claims, gain = best_lie(score, truth, amounts, [user], rng, evaluations=evaluations, starts=4)
        found.append((gain, claims, score))
    spent = sum(score.evaluations for *_, score in found)
    gain, claims, score = max(found, key=lambda one: one[0])
    holds = bool(gain <= RTOL)
    witness = {"demands": truth, "weights": amounts, "lies": claims, **score.details(truth, amounts, claims)}
    certificate = {"evaluations": spent, "seed": seed}
    margins = np.array([-gain for gain, *_ in found])
    return Finding(
        "strategy-proofness",
        holds,
        -gain,
        None if holds else witness,
        certificate if holds else None,
        spent,
        RTOL,
        margins,
    )
