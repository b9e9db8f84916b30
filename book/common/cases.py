"""The one hill climber of the book, and the search by it for a case on which a statement fails.

A *case* is whatever a paper's rules decide (users and machines, a workload, requests and clusters). A *margin* says of
a case by how much a statement holds in it: at least 0 where it does, and None where the statement does not speak of it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.random import Generator

from fairbook.model.inputs import as_whole

Case = TypeVar("Case")


class Lowest(NamedTuple, Generic[Case]):
    """Least margin met (infinite where the statement spoke of no case), and where."""

    margin: Any
    case: Case
    evaluations: int
    spoken: int
    """Evaluations in which the statement spoke of the case."""


def climb_down(
    here: Case,
    height: Any,
    look: Callable[[Case], Any],
    move: Callable[[Case, float], Case],
    more: Callable[[], bool],
) -> Case:
    """Move a case downhill, with larger steps after success and smaller ones after failure.

    Parameters
    ----------
    here, height
        Where to begin, and its height; None where it has none.
    look : callable
        Gives the height of a case; None where it has none: the climber does not go there.
    move : callable
        Gives a neighbour of a case, from the size of the step.
    more : callable
        Whether to go on, asked before each step.

    Returns
    -------
    case
        The last one gone to. No step goes up; those that stay level are taken.

    Examples
    --------
    >>> steps = iter(range(20))
    >>> climb_down(9, 9, lambda x: x, lambda x, size: x - 1, lambda: next(steps) < 5)
    4
    """
    size = 0.5
    while more():
        there = move(here, size)
        tried = look(there)
        if tried is not None and (height is None or tried <= height):
            size = min(2.0, size * 1.3) if height is None or tried < height else size
            here, height = there, tried
        else:
            size = max(1e-4, size * 0.97)
    return here


def lowest_margin(
    margin: Callable[[Case], Any],
    draw: Callable[[Generator], Case],
    move: Callable[[Generator, Case], Case],
    *,
    evaluations: int,
    rng: Generator,
    moves: int = 8,
    tolerance: float = 0,
) -> Lowest[Case]:
    """Look for a case of negative margin: random cases, each pushed downhill by small moves.

    Parameters
    ----------
    margin : callable
        Of a case; None where the statement does not speak of it.
    draw, move : callable
        Give a random case, and a case that differs in one thing; moves are kept where the margin does not rise.
    evaluations : int
        Cases looked at at most, at least 1.
    moves : int
        From each random case.
    tolerance : float
        The search ends with the first margin below minus that.

    Notes
    -----
    The first case drawn is not looked at: it stands for "nowhere".

    Examples
    --------
    >>> found = lowest_margin(lambda x: x - 3, lambda rng: int(rng.integers(5, 9)), lambda rng, x: x - 1,
    ...                       evaluations=50, rng=np.random.default_rng(1))
    >>> found.margin, found.case
    (-1, 2)
    """
    as_whole(evaluations, "evaluations", 1)
    best, where, done, spoken = np.inf, draw(rng), 0, 0

    def look(case: Case) -> Any:
        nonlocal best, where, done, spoken
        tried = margin(case)
        done, spoken = done + 1, spoken + (tried is not None)
        if tried is not None and tried < best:
            best, where = tried, case
        return tried

    def more(limit: int = evaluations) -> bool:
        return done < min(limit, evaluations) and best >= -tolerance

    while more():
        here, limit = draw(rng), done + moves + 1
        climb_down(here, look(here), look, lambda case, size: move(rng, case), partial(more, limit))
    return Lowest(best, where, done, spoken)
