"""Adversarial search: really trying to break a statement, by local moves over instances.

Everything here is fixed by counts and a seed, never by seconds, so that what a search finds does not depend on the
machine. :func:`minimise_margin` attacks any statement with a margin, negative where it is violated; the searches for
lies (:mod:`fairbook.properties.lies`) share its result type, :class:`Search`. A search that finds nothing is evidence
of its stated size, not a proof.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairbook.errors import InvalidInput
from fairbook.model.inputs import as_whole
from fairbook.properties.finding import RTOL, Finding, Number, show
from fairbook.properties.instances import Instance, Sampler, move, sampler

__all__ = ["Search", "minimise_margin"]

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
        return Finding(
            self.statement,
            not self.found,
            self.margin,
            self.witness,
            None if self.found else {"evaluations": self.evaluations, "restarts": self.restarts, "seed": self.seed},
            self.evaluations,
        )

    def __str__(self) -> str:
        size = f"{self.evaluations} evaluations, {self.restarts} restarts, seed {self.seed}"
        if not self.found:
            return f"{self.statement}: nothing found ({size}); smallest margin {show(self.margin)}"
        extra = f", {show(self.details)}" if self.details else ""
        return f"{self.statement}: violated, margin {show(self.margin)} ({size}) at {self.instance}{extra}"


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
        numpy Generator -> Instance; default :func:`~fairbook.properties.sampler` with its corners.
    evaluations : int
        Limit on evaluations of the statement, shared evenly by the restarts.
    restarts : int
        Each draws up to 8 instances, climbs from the worst, and has a random stream of its own.
    resize, zeros : bool
        Whether moves may add and drop users; may make demands zero.

    Returns
    -------
    Search

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
    as_whole(restarts, "restarts", 1)
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
        while used < budget and worst[0] >= -RTOL:
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
        if worst[0] < -RTOL:
            break
    assert worst is not None  # evaluations >= 1
    return Search(name or getattr(statement, "__name__", "statement"), worst[0], worst[1], spent, done, seed)
