"""Adversarial search: really trying to break a statement, by local moves over instances and over lies.

Everything here is fixed by counts and a seed, never by seconds, so that what a search finds does not depend on the
machine. Three searches share one result type, :class:`Search`:

* :func:`search_lie`: one instance, the best lie of one user (or of a coalition) about its demand.
* :func:`search_instance`: instance and lie together.
* :func:`minimise_margin`: any statement with a margin, negative where it is violated.

:func:`shrink` turns what they find into small exact fractions. A search that finds nothing is evidence of its stated
size, not a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.model.allocation import Allocation
from fairbook.model.dynamic import DynamicAllocation
from fairbook.model.inputs import as_demands, as_weights
from fairbook.properties.finding import RTOL, Finding, Number, show
from fairbook.properties.instances import Instance, Sampler, move, sampler

__all__ = [
    "Lie",
    "Search",
    "claimed_tasks",
    "lie_gain",
    "minimise_margin",
    "search_instance",
    "search_lie",
    "shrink",
    "strategy_proofness",
    "structured_lies",
    "true_tasks",
]

Array = NDArray[Any]
Mechanism = Callable[[Any, Any], Any]
Statement = Callable[[Instance], Any]
Gain = Literal["all", "weak"]


@dataclass(frozen=True, eq=False)
class Search:
    """What a search found.

    Attributes
    ----------
    statement : str
    margin : float or Fraction
        Smallest margin found; negative: violated by so much. For lies it is minus the best gain.
    instance : Instance
        Where it was found.
    evaluations : int
        Runs of the mechanism (searches for lies) or evaluations of the statement.
    restarts, seed : int
    tolerance : float
        A margin below ``-tolerance`` counts as a violation.
    details : dict
        For lies: ``"users"``, ``"step"`` (index into the liar's own history), and the true tasks there, ``"honest"``
        and ``"lying"``.
    """

    statement: str
    margin: Number
    instance: Instance
    evaluations: int
    restarts: int
    seed: int
    tolerance: float = RTOL
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def found(self) -> bool:
        """Whether the statement is violated."""
        return bool(self.margin < -self.tolerance)

    @property
    def gain(self) -> Number:
        """Relative gain of the best lie: minus the margin."""
        return -self.margin

    @property
    def witness(self) -> dict[str, Any] | None:
        """The violation in full, or None."""
        if not self.found:
            return None
        return {"margin": self.margin, **self.instance.as_dict(), **self.details}

    def finding(self) -> Finding:
        """Give the result as a :class:`~fairbook.properties.Finding`."""
        return Finding(self.statement, not self.found, self.margin, self.witness,
                       None if self.found else {"evaluations": self.evaluations, "restarts": self.restarts,
                                                "seed": self.seed},
                       self.evaluations, self.tolerance)

    def __str__(self) -> str:
        size = f"{self.evaluations} evaluations, {self.restarts} restarts, seed {self.seed}"
        if not self.found:
            return f"{self.statement}: nothing found ({size}); smallest margin {show(self.margin)}"
        extra = f", {show(self.details)}" if self.details else ""
        return f"{self.statement}: violated, margin {show(self.margin)} ({size}) at {self.instance}{extra}"


# ---------------------------------------------------------------------------------------------------- utilities


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
        (demands, weights) -> Allocation, DynamicAllocation or an object with ``tasks_of``. On fractions the gain is
        exact.
    steps : sequence of int, optional
        Which entries of the liar's history count (entry 0 is its own arrival); default all.
    gain : {"all", "weak"}
        For coalitions: everybody must gain (the gain is the smallest of theirs), or somebody must gain and nobody lose
        (by more than 1e-14; where weights are 10^6 apart this may be worth 1e-8 to another, so the searches
        count weak gains from 1e-7 up).

    Attributes
    ----------
    evaluations : int
        Runs of the mechanism so far.
    """

    def __init__(self, mechanism: Mechanism, steps: Sequence[int] | None = None, gain: Gain = "all") -> None:
        if gain not in ("all", "weak"):
            raise InvalidInput("gain", "must be 'all' or 'weak'", gain)
        self.mechanism, self.steps, self.rule = mechanism, steps, gain
        self.evaluations = 0
        self._honest: tuple[Any, Any, Any] = (None, None, None)

    def honest(self, instance: Instance) -> Any:
        """Give the honest run, from the last call if demands and weights are the same objects."""
        demands, weights, result = self._honest
        if demands is not instance.demands or weights is not instance.weights:
            result = self.mechanism(instance.demands, instance.weights)
            self.evaluations += 1
            self._honest = (instance.demands, instance.weights, result)
        return result

    def gains(self, instance: Instance) -> Array:
        """Give true tasks with the lie / honest ones - 1 at each entry of the history, shape (entries,)."""
        honest = self.honest(instance)
        lying = self.mechanism(instance.claimed, instance.weights)
        self.evaluations += 1
        rows = []
        for user, claim in instance.lies.items():
            before = claimed_tasks(honest, user)
            after = true_tasks(claimed_tasks(lying, user), instance.demands[user], claim)
            nothing = before <= 0
            if not nothing.any():
                rows.append(after / before - 1)
            else:  # not there yet, or gone, and so never the best moment; from nothing to something: everything
                rows.append(np.where(nothing, np.where(after > 0, np.inf, -1),
                                     after / np.where(nothing, 1, before) - 1))
        gains: Array = rows[0]
        if len(rows) > 1:  # a coalition: the users' histories are aligned at their ends
            length = min(len(row) for row in rows)
            table = np.stack([row[len(row) - length :] for row in rows])
            gains = table.min(axis=0)
            if self.rule == "weak":
                gains = np.where(gains >= -1e-14, table.max(axis=0), gains)
        if self.steps is not None:
            gains = gains[[s for s in self.steps if s < len(gains)]]
        return gains

    def __call__(self, instance: Instance) -> Any:
        """Give the largest gain over the history."""
        gains = self.gains(instance)
        return gains.max() if len(gains) else -np.inf

    def details(self, instance: Instance) -> dict[str, Any]:
        """Give where the gain is largest, and the tasks there."""
        gains = self.gains(instance)
        step = int(gains.argmax()) if self.steps is None else int(self.steps[int(gains.argmax())])
        lying = self.mechanism(instance.claimed, instance.weights)
        users, honest, lied = list(instance.lies), [], []
        for user, claim in instance.lies.items():
            before = claimed_tasks(self.honest(instance), user)
            after = true_tasks(claimed_tasks(lying, user), instance.demands[user], claim)
            at = step if len(users) == 1 else len(before) - len(gains) + step
            honest.append(before.tolist()[at])
            lied.append(after.tolist()[at])
        return {"users": users, "step": step, "honest": honest, "lying": lied}


def lie_gain(mechanism: Mechanism, instance: Instance, **options: Any) -> Any:
    """Give the largest relative gain of an instance's lies, exact where mechanism and instance are.

    Examples
    --------
    Where the share of the scarcest resource counts, user 0 exaggerates until its own is no longer the scarcest.

    >>> from fractions import Fraction as F
    >>> from book.dmfa_srq.properties import MUTANTS
    >>> truth, weights = np.array([[F(1), F(1, 2)], [F(1, 2), F(1)]]), np.array([F(1), F(1)])
    >>> print(lie_gain(MUTANTS["scarcest_resource"], Instance(truth, weights, {0: np.array([F(1), F(2, 3)])})))
    1/2
    """
    return Lie(mechanism, **options)(instance)


# ---------------------------------------------------------------------------------------------- the best lie of one


def structured_lies(instance: Instance, user: int, result: Any = None) -> Iterator[Array]:
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


def search_lie(mechanism: Mechanism, demands: Any, weights: Any, user: int | Sequence[int], *, evaluations: int = 600,
               starts: int = 4, seed: int = 0, steps: Sequence[int] | None = None, gain: Gain = "all",
               tolerance: float | None = None) -> Search:
    """Search for the best lie of one user, or of a coalition, about demands on one instance.

    Structured lies first (:func:`structured_lies`); then, from the best of them, from the truth and from random lies,
    a pattern search on the logarithms of the claimed demands: each coordinate up and down, then a step along the
    gradient that these polls estimate, the step halved where nothing improves.

    Parameters
    ----------
    mechanism : callable
        (demands, weights) -> Allocation, DynamicAllocation or an object with ``tasks_of(user)``.
    demands : array_like, shape (n, m)
        The truth.
    weights : array_like, shape (n,)
    user : int or sequence of int
        Position of the liar, or positions of a coalition.
    evaluations : int
        Limit on runs of the mechanism.
    starts : int
        Points from which the pattern search sets out.
    steps : sequence of int, optional
        Which entries of the liar's history count, 0 for its own arrival; default all.
    gain : {"all", "weak"}
        Of a coalition all must gain at the same moment, or some while none loses.

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
    >>> from book.dmfa_srq.properties import MUTANTS
    >>> demands, weights = [[1, 1/2], [1/2, 1], [1/2, 1]], [1/4, 1/4, 1/2]
    >>> search_lie(fb.dmfa_srq, demands, weights, user=0).found
    False
    >>> search_lie(MUTANTS["scarcest_resource"], demands, weights, user=0).found
    True
    """
    tolerance = _lie_tolerance(tolerance, gain)
    values = as_demands(demands).values
    amounts = as_weights(weights, len(values), contributed=True)
    users = (user,) if isinstance(user, (int, np.integer)) else tuple(user)
    if not users or len(set(users)) != len(users) or not all(0 <= u < len(values) for u in users):
        raise InvalidInput("user", f"must be positions from 0 to {len(values) - 1}, none twice", user)
    score = Lie(mechanism, steps, gain)
    instance = Instance(values, amounts)
    rng = np.random.default_rng(seed)
    best, value = _best_lie(score, instance, tuple(int(u) for u in users), rng, evaluations, starts)
    name = "strategy-proofness" if len(users) == 1 else "coalition-proofness"
    return Search(name, -value, best, score.evaluations, starts, seed, tolerance, score.details(best))


def _lie_tolerance(tolerance: float | None, gain: Gain) -> float:
    if tolerance is None:
        return RTOL if gain == "all" else 1e-7
    return tolerance


def _lying(instance: Instance, users: Sequence[int], claims: Array) -> Instance:
    return Instance(instance.demands, instance.weights, dict(zip(users, claims)))


def _best_lie(score: Lie, instance: Instance, users: tuple[int, ...], rng: Generator, evaluations: int,
              starts: int) -> tuple[Instance, float]:
    limit = score.evaluations + evaluations
    truth = instance.demands[list(users)]
    shape = truth.shape
    result = score.honest(instance)
    tried: list[tuple[float, Array]] = []

    def value(claims: Array) -> float:
        return float(score(_lying(instance, users, claims)))

    options = [list(structured_lies(instance, u, result)) for u in users]
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


def _pattern_search(value: Callable[[Array], float], start: Array, step: float, score: Lie,
                    limit: int) -> tuple[Array, float]:
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


def strategy_proofness(mechanism: Mechanism, demands: Any, weights: Any, *, users: Sequence[int] | None = None,
                       evaluations: int = 600, seed: int = 0, tolerance: float = RTOL) -> Finding:
    """Check strategy-proofness on one instance by searching the best lie of each user (Theorem 4).

    Parameters
    ----------
    mechanism : callable
        (demands, weights) -> Allocation, DynamicAllocation or an object with ``tasks_of(user)``.
    demands, weights
        As the mechanism takes them.
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
    found = [search_lie(mechanism, demands, weights, u, evaluations=evaluations, seed=seed, tolerance=tolerance)
             for u in chosen]
    worst = min(found, key=lambda search: search.margin)
    total = sum(search.evaluations for search in found)
    finding = replace(worst, evaluations=total).finding()
    return replace(finding, margins=np.array([search.margin for search in found]))


# ------------------------------------------------------------------------------------- any statement with a margin


def _objective(value: Any) -> tuple[float, float]:
    """Give (margin, what to climb on): the margin, and a little of the mean over cases to leave plateaus at 0."""
    if isinstance(value, Finding):
        cases, margin = value.margins, float(value.margin)
    else:
        cases = np.atleast_1d(np.asarray(value, dtype=np.float64))
        margin = float(cases.min()) if cases.size else np.inf
    if np.isnan(margin):
        raise InvalidInput("statement", "must not return NaN", value)
    mean = float(np.mean(np.minimum(cases, 1.0))) if len(cases) else 1.0
    return margin, min(margin, 1e3) + 1e-3 * max(mean, -1.0)


def minimise_margin(statement: Statement, sample: Sampler | None = None, *, name: str = "", evaluations: int = 10_000,
                    restarts: int = 25, seed: int = 0, tolerance: float = RTOL, resize: bool = True,
                    zeros: bool = False, stop: bool = True) -> Search:
    """Attack a statement: drive its margin down by local moves over instances, from many starts.

    Parameters
    ----------
    statement : callable
        Instance -> margin (negative: violated), or an array of margins, or a :class:`~fairbook.properties.Finding`.
        The smallest decides; the mean of the others leads over plateaus, such as a margin that is 0 by definition.
    sample : callable, optional
        numpy Generator -> Instance; default :func:`~fairbook.properties.sampler` with its corners.
    evaluations : int
        Limit on evaluations of the statement, shared evenly by the restarts.
    restarts : int
        Each draws up to 8 instances, climbs from the worst, and has a random stream of its own.
    resize, zeros : bool
        Whether moves may add and drop users; may make demands zero.
    stop : bool
        Whether to stop at the first violation; else the worst is sought to the end.

    Returns
    -------
    Search

    Notes
    -----
    Cost: ``evaluations`` of the statement and about 10 microseconds each for the move.

    Examples
    --------
    >>> from fairbook.properties import dynamic_sharing_incentive
    >>> from book.dmfa_srq.properties import MUTANTS
    >>> broken = MUTANTS["weights_ignored"]
    >>> minimise_margin(lambda i: dynamic_sharing_incentive(broken(i.demands, i.weights)), evaluations=200).found
    True
    """
    if evaluations < 1 or restarts < 1:
        raise InvalidInput("evaluations", "and restarts must be at least 1", (evaluations, restarts))
    draw = sampler(zeros=zeros) if sample is None else sample
    worst: tuple[float, Instance] | None = None
    spent = 0
    done = 0
    for number, stream in enumerate(np.random.SeedSequence(seed).spawn(restarts)):
        rng = np.random.default_rng(stream)
        budget = (evaluations - spent) // (restarts - number)
        if budget < 1:
            continue
        done += 1
        starts = [draw(rng) for _ in range(min(8, max(1, budget // 10)))]
        graded = [(*_objective(statement(instance)), instance) for instance in starts]
        margin, height, instance = min(graded, key=lambda entry: entry[1])
        lowest = min(graded, key=lambda entry: entry[0])
        if worst is None or lowest[0] < worst[0]:
            worst = (lowest[0], lowest[2])
        used = len(starts)
        size = 0.5
        while used < budget and not (stop and worst[0] < -tolerance):
            trial = move(rng, instance, size, resize=resize, zeros=zeros)
            margin, trial_height = _objective(statement(trial))
            used += 1
            if margin < worst[0]:
                worst = (margin, trial)
            if trial_height <= height:
                size = min(2.0, size * 1.3) if trial_height < height else size
                instance, height = trial, trial_height
            else:
                size = max(1e-4, size * 0.97)
        spent += used
        if stop and worst[0] < -tolerance:
            break
    assert worst is not None  # evaluations >= 1
    return Search(name or getattr(statement, "__name__", "statement"), worst[0], worst[1], spent, done, seed, tolerance)


# ------------------------------------------------------------------------------------- instance and lie together


def search_instance(mechanism: Mechanism, sample: Sampler | None = None, *, evaluations: int = 20_000,
                    restarts: int = 20, seed: int = 0, coalition: int = 1, gain: Gain = "all",
                    steps: Sequence[int] | None = None, tolerance: float | None = None, resize: bool = True,
                    zeros: bool = False, stop: bool = True) -> Search:
    """Attack strategy-proofness: search for an instance and a lie on it, together.

    Each restart draws an instance and a liar, looks for its best lie (a fifth of the budget), then moves instance and
    lie together uphill, and ends with another search for the best lie on the instance reached. Every second restart
    climbs on the gain itself; the others on the gain per size of the lie at the moments where the lie changes
    anything, so that the search is not caught among the many lies that change nothing.

    Parameters
    ----------
    mechanism : callable
        (demands, weights) -> Allocation, DynamicAllocation or an object with ``tasks_of(user)``.
    sample : callable, optional
        numpy Generator -> Instance; default :func:`~fairbook.properties.sampler` from two users and two resources up:
        with one resource there is nothing to lie about, and alone a user has all it can use.
    evaluations : int
        Limit on runs of the mechanism, shared evenly by the restarts.
    coalition : int
        Number of users who lie together.
    gain, steps
        As for :func:`search_lie`.
    resize, zeros, stop
        As for :func:`minimise_margin`. With ``resize=False`` mechanisms for a fixed number of users can be attacked.

    Returns
    -------
    Search
        The best gain found and where.

    Notes
    -----
    Cost: ``evaluations`` runs of the mechanism, about 25 microseconds each beyond the mechanism's own.

    Examples
    --------
    >>> from book.dmfa_srq.properties import MUTANTS
    >>> search_instance(MUTANTS["need_favoured"], evaluations=500).found
    True
    """
    if evaluations < 1 or restarts < 1:
        raise InvalidInput("evaluations", "and restarts must be at least 1", (evaluations, restarts))
    tolerance = _lie_tolerance(tolerance, gain)
    draw = sampler(users=(max(2, coalition), 8), resources=(2, 4), zeros=zeros) if sample is None else sample
    score = Lie(mechanism, steps, gain)
    best: tuple[float, Instance] | None = None
    done = 0

    def note(value: float, instance: Instance) -> bool:
        nonlocal best
        if best is None or value > best[0]:
            best = (value, instance)
        return stop and best[0] > tolerance

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
        if stop and best[0] > tolerance:
            break
        instance, value = _best_lie(score, Instance(instance.demands, instance.weights), tuple(instance.lies), rng,
                                    limit - score.evaluations, 2)
        if note(value, instance):
            break
    if best is None:
        raise InvalidInput("sample", f"must give instances with at least {coalition} users", evaluations)
    name = "strategy-proofness" if coalition == 1 else f"strategy-proofness of {coalition} together"
    spent = score.evaluations
    return Search(name, -best[0], best[1], spent, done, seed, tolerance, score.details(best[1]))


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


# -------------------------------------------------------------------------------------------------------- shrinking


def _simplest(limit: int) -> list[Fraction]:
    """Fractions in (0, 1] with denominators up to ``limit``."""
    return list({Fraction(p, q) for q in range(1, limit + 1) for p in range(1, q + 1)})


def shrink(instance: Instance, margin: Statement, *, max_denominator: int = 12, keep: Number = 0,
           resize: bool = True) -> Instance | None:
    """Turn a violation in floats into one in few users and small exact fractions that a reader checks by hand.

    Rows are scaled to a largest entry of 1, weights to a smallest of 1; users and resources are dropped while the
    statement stays violated; all numbers are rounded to the coarsest grid on which it is; then each number in turn
    is replaced by the simplest fraction that keeps it violated.

    Parameters
    ----------
    instance : Instance
        What a search found.
    margin : callable
        Instance of fractions -> exact margin (or Finding); negative where violated. For lies:
        ``lambda i: -lie_gain(exact_mechanism, i)``.
    max_denominator : int
        Largest denominator tried; larger grids (up to 10^6) serve only where none of these works.
    keep : float or Fraction
        The margin must stay below ``-keep``.
    resize : bool
        Whether users may be dropped (a mechanism may be made for a fixed number).

    Returns
    -------
    Instance or None
        In fractions; None where the violation does not survive exact arithmetic: it was one of rounding.

    Notes
    -----
    Cost: some thousands of exact evaluations for n m = 12 entries.

    Examples
    --------
    >>> from book.dmfa_srq.properties import MUTANTS
    >>> from fairbook.properties import dynamic_sharing_incentive
    >>> statement = lambda i: dynamic_sharing_incentive(MUTANTS["weights_ignored"](i.demands, i.weights))
    >>> print(shrink(minimise_margin(statement, evaluations=200).instance, statement))
    demands = [[1], [1]], weights = [1, 2]
    """
    def violated(candidate: Instance) -> bool:
        value = margin(candidate)
        value = value.margin if isinstance(value, Finding) else value
        return bool(value < -keep)

    exact = instance.exact()
    scaled = _scaled(exact)
    if violated(scaled):
        exact = scaled
    elif not violated(exact):
        return None
    exact = _drop(exact, violated, resize)
    for denominator in [*range(1, max_denominator + 1), 20, 50, 100, 1000, 10**4, 10**6]:
        rounded = _rounded(exact, denominator)
        if violated(rounded):
            exact = rounded
            break
    for _ in range(4):
        before = str(exact)
        exact = _drop(exact, violated, resize)
        exact = _simplify(exact, violated, max_denominator)
        if str(exact) == before:
            break
    return exact


def _scaled(instance: Instance) -> Instance:
    return Instance(instance.demands / instance.demands.max(axis=1, keepdims=True),
                    instance.weights / instance.weights.min(),
                    {i: row / row.max() for i, row in instance.lies.items()})


def _rounded(instance: Instance, denominator: int) -> Instance:
    def convert(array: Array) -> Array:
        found = np.empty(array.shape, dtype=object)
        for index, entry in np.ndenumerate(array):
            near = Fraction(round(entry * denominator), denominator)
            found[index] = near if near > 0 or entry == 0 else Fraction(1, denominator)
        return found

    return Instance(convert(instance.demands), convert(instance.weights),
                    {i: convert(row) for i, row in instance.lies.items()})


def _drop(instance: Instance, violated: Callable[[Instance], bool], resize: bool) -> Instance:
    """Drop lies, users and resources as long as the statement stays violated."""
    changed = True
    while changed:
        changed = False
        for smaller in _smaller(instance, resize):
            if violated(smaller):
                instance, changed = smaller, True
                break
    return instance


def _smaller(instance: Instance, resize: bool) -> Iterator[Instance]:
    demands, weights, lies = instance.demands, instance.weights, instance.lies
    n, m = demands.shape
    if len(lies) > 1:
        for i in lies:
            yield Instance(demands, weights, {h: row for h, row in lies.items() if h != i})
    for i in range(n - 1, -1, -1) if resize and n > 1 else ():
        if i not in lies:
            yield Instance(np.delete(demands, i, axis=0), np.delete(weights, i),
                           {h - (h > i): row for h, row in lies.items()})
    for j in range(m) if m > 1 else ():
        fewer = np.delete(demands, j, axis=1)
        rows: Mapping[int, Array] = {i: np.delete(row, j) for i, row in lies.items()}
        if (fewer.max(axis=1) > 0).all() and all(row.max() > 0 for row in rows.values()):
            yield Instance(fewer, weights, rows)


def _complexity(value: Fraction) -> tuple[int, int, int]:
    digits = len(str(value.numerator).rstrip("0")) + 2 * len(str(value.denominator).rstrip("0"))
    return digits if value.denominator > 12 or value > 12 else 0, value.denominator, value.numerator


def _nearby(value: Fraction, max_denominator: int) -> list[Fraction]:
    """Rounder numbers close to a value: on coarse grids, and of one to four digits."""
    found = {Fraction(round(value * q), q) for q in range(1, max_denominator + 1)}
    for digits in range(4):
        found.add(Fraction(f"{float(value):.{digits}e}"))
    return [near for near in found if near > 0]


def _simplify(instance: Instance, violated: Callable[[Instance], bool], max_denominator: int) -> Instance:
    shares = _simplest(max_denominator)
    amounts = [Fraction(p) for p in range(1, 13)] + [Fraction(p) for p in (16, 20, 30, 50, 100)] + shares
    arrays: list[tuple[str, int]] = [("weights", 0), ("demands", 0), *(("lies", i) for i in instance.lies)]
    for name, liar in arrays:
        array: Any = {"weights": instance.weights, "demands": instance.demands, "lies": instance.lies.get(liar)}[name]
        for index in np.ndindex(array.shape):
            if array[index] == 0:
                continue
            now = _complexity(array[index])
            values = (amounts if name == "weights" else shares) + _nearby(array[index], max_denominator)
            for value in sorted(set(values), key=_complexity):
                if _complexity(value) >= now:
                    break  # nothing simpler does
                changed = array.copy()
                changed[index] = value
                lies = {**instance.lies, liar: changed} if name == "lies" else instance.lies
                trial = Instance(changed if name == "demands" else instance.demands,
                                 changed if name == "weights" else instance.weights, lies)
                if violated(trial):
                    instance, array = trial, changed
                    break
    return instance
