"""Adversarial search: really trying to break a statement, by local moves over instances.

Everything here is fixed by counts and a seed, never by seconds, so that what a search finds does not depend on the
machine. :func:`minimise_margin` attacks any statement with a margin, negative where it is violated;
:func:`search_instance` attacks strategy-proofness. A search that finds nothing is evidence of its stated size, not a
proof. Hypothesis aims at a target as well, by the choices of its generator; a move here is one of users and demands.

By hand, since hypothesis.target has no moves of one's own between neighbours.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from book.common.cases import climb_down
from book.common.instances import Instance, Sampler, move, sampler
from fairbook.errors import InvalidInput
from fairbook.model.inputs import RTOL, as_whole
from fairbook.properties.finding import Finding, Number, show
from fairbook.properties.lies import Lie, Mechanism, best_lie


def at_any_distance(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Work out in fractions what the rule refuses in doubles: searches draw users of any distance."""

    def run(*given: Any, **options: Any) -> Any:
        try:
            return rule(*given, **options)
        except InvalidInput:
            return rule(*given, **options, engine="plain")

    return run


#: An instance -> its margin (negative: violated), or an array of margins, or a Finding.
Statement = Callable[[Instance], Any]


@dataclass(frozen=True, eq=False)
class Search:
    """What a search found: a violation where the margin is below ``-RTOL``.

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
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def found(self) -> bool:
        """Whether the statement is violated."""
        return bool(self.margin < -RTOL)

    def __str__(self) -> str:
        size = f"{self.evaluations} evaluations, {self.restarts} restarts, seed {self.seed}"
        if not self.found:
            return f"{self.statement}: nothing found ({size}); smallest margin {show(self.margin)}"
        extra = f", {show(self.details)}" if self.details else ""
        return f"{self.statement}: violated, margin {show(self.margin)} ({size}) at {self.instance}{extra}"


def lowest(value: Any) -> Any:
    """Give the smallest margin of what a statement returns."""
    return value.margin if isinstance(value, Finding) else min(np.ravel(value).tolist(), default=np.inf)


def _objective(value: Any) -> tuple[float, float]:
    """Give (margin, what to climb on): the margin, and a little of the mean over cases to leave plateaus at 0."""
    cases = value.margins if isinstance(value, Finding) else np.atleast_1d(np.asarray(value, dtype=np.float64))
    margin = float(lowest(value))
    if np.isnan(margin):
        raise InvalidInput("statement", "must not return NaN", value)
    mean = float(np.mean(np.minimum(cases, 1.0))) if len(cases) else 1.0
    return margin, min(margin, 1e3) + 1e-3 * max(mean, -1.0)


class _Worst:
    """The smallest margin met, and where."""

    def __init__(self) -> None:
        self.margin = np.inf
        self.instance: Any = None

    def note(self, margin: float, instance: Instance) -> bool:
        """Take note of a margin; tell whether the statement is violated by now."""
        if self.instance is None or margin < self.margin:
            self.margin, self.instance = margin, instance
        return self.found

    @property
    def found(self) -> bool:
        return bool(self.margin < -RTOL)


def minimise_margin(
    statement: Statement,
    sample: Sampler | None = None,
    *,
    name: str = "",
    evaluations: int = 10_000,
    restarts: int = 25,
    seed: int = 0,
    resize: bool = True,
    zeros: bool = False,
) -> Search:
    """Attack a statement: drive its margin down by local moves over instances, from many starts, to a violation.

    Parameters
    ----------
    statement : callable
        Instance -> margin (negative: violated), or an array of margins, or a :class:`~fairbook.properties.Finding`.
        The smallest decides; the mean of the others leads over plateaus, such as a margin that is 0 by definition.
    sample : callable, optional
        numpy Generator -> Instance; default :func:`book.common.instances.sampler` with its corners.
    evaluations : int
        Limit on evaluations of the statement, shared evenly by the restarts.
    restarts : int
        Each draws up to 8 instances, climbs from the worst, and has a random stream of its own.
    resize, zeros : bool
        Whether moves may add and drop users; may make demands zero.

    Notes
    -----
    Cost: ``evaluations`` of the statement and about 10 microseconds each for the move.

    Examples
    --------
    Weights count, and a mechanism ignores them.

    >>> from dataclasses import replace
    >>> import fairbook as fb
    >>> from fairbook.properties import sharing_incentive
    >>> ignoring = lambda i: sharing_incentive(replace(fb.drf(i.demands), weights=i.weights))
    >>> minimise_margin(ignoring, evaluations=200).found
    True
    """
    as_whole(evaluations, "evaluations", 1)
    draw = sampler(zeros=zeros) if sample is None else sample
    worst, spent, done = _Worst(), 0, 0

    def look(instance: Instance) -> float:
        nonlocal spent
        spent += 1
        margin, height = _objective(statement(instance))
        worst.note(margin, instance)
        return height

    for number, stream in enumerate(np.random.SeedSequence(seed).spawn(restarts)):
        rng = np.random.default_rng(stream)
        budget = (evaluations - spent) // (restarts - number)
        if budget < 1:
            continue
        done, limit = done + 1, spent + budget
        starts = [draw(rng) for _ in range(min(8, max(1, budget // 10)))]
        heights = [look(instance) for instance in starts]
        start = int(np.argmin(heights))

        def more(limit: int = limit) -> bool:
            return spent < limit and not worst.found

        climb_down(starts[start], heights[start], look, partial(move, rng, resize=resize, zeros=zeros), more)
        if worst.found:
            break
    statement_name = name or getattr(statement, "__name__", "statement")
    return Search(statement_name, worst.margin, worst.instance, spent, done, seed)


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
    return Lie(mechanism).gains(instance.demands, instance.weights, instance.lies).max()


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
        numpy Generator -> Instance; default :func:`book.common.instances.sampler` from two users and two resources up:
        with one resource there is nothing to lie about, and alone a user has all it can use.
    evaluations : int
        Limit on runs of the mechanism, shared evenly by the restarts.
    coalition : int
        Number of users who lie together.
    resize, zeros
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
    >>> import fairbook as fb
    >>> by_need = lambda demands, weights: fb.drf(demands, weights=np.sum(demands, axis=1))
    >>> search_instance(by_need, evaluations=500).found
    True
    """
    as_whole(evaluations, "evaluations", 1)
    draw = sampler(users=(max(2, coalition), 8), resources=(2, 4), zeros=zeros) if sample is None else sample
    score, worst, done = Lie(at_any_distance(mechanism)), _Worst(), 0

    def attack(rng: np.random.Generator, by_rate: bool, budget: int) -> None:
        limit = score.evaluations + budget

        def look(instance: Instance) -> float:
            gain, height = _climb_on(score, instance, by_rate)
            worst.note(-gain, instance)
            return -height

        def best(instance: Instance, users: Any, evaluations: int) -> Instance:
            demands, weights = instance.demands, instance.weights
            lies, gain = best_lie(score, demands, weights, users, rng, evaluations=evaluations, starts=2)
            worst.note(-gain, found := Instance(demands, weights, lies))
            return found

        honest = draw(rng)
        users = rng.choice(len(honest.demands), size=coalition, replace=False).tolist()
        here = best(honest, users, budget // 5)
        if worst.found:
            return
        if by_rate:  # set out from a lie that changes something
            truth = honest.demands[users]
            claims = truth * np.exp(rng.uniform(0.1, 1.0) * rng.standard_normal(truth.shape))
            here = Instance(honest.demands, honest.weights, dict(zip(users, claims)))
        height, climb = look(here), limit - budget // 5 - 1
        here = climb_down(
            here,
            height,
            look,
            partial(move, rng, resize=resize, zeros=zeros),
            lambda: score.evaluations < climb and not worst.found,
        )
        if not worst.found:
            best(here, list(here.lies), limit - score.evaluations)

    for number, stream in enumerate(np.random.SeedSequence(seed).spawn(restarts)):
        budget = (evaluations - score.evaluations) // (restarts - number)
        if budget >= 10 and not worst.found:
            attack(np.random.default_rng(stream), number % 2 == 1, budget)
            done += 1
    name = "strategy-proofness" if coalition == 1 else f"strategy-proofness of {coalition} together"
    spent, found = score.evaluations, worst.instance
    details = score.details(found.demands, found.weights, found.lies)
    return Search(name, worst.margin, found, spent, done, seed, details)


def _climb_on(score: Lie, instance: Instance, by_rate: bool) -> tuple[float, float]:
    """Give (gain, height to climb): the gain, or the largest effective gain per logarithmic size of the lie."""
    gains = np.asarray(score.gains(instance.demands, instance.weights, instance.lies), dtype=np.float64)
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
