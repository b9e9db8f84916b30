"""The search for a case on which a statement fails: the same for every paper that has cases, rules and margins.

A *case* is whatever a paper's rules decide (users and machines, a workload, requests and clusters). A *margin* says of
a case by how much a statement holds in it: at least 0 where it does, and None where the statement does not speak of it.
"""

from collections.abc import Callable
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
    while done < evaluations and best >= -tolerance:
        here, value = draw(rng), None
        for step in range(moves + 1):
            there = move(rng, here) if step else here
            tried = margin(there)
            done += 1
            spoken += tried is not None
            if tried is not None and (value is None or tried <= value):
                here, value = there, tried
                if value < best:
                    best, where = value, here
            if best < -tolerance or done >= evaluations:
                break
    return Lowest(best, where, done, spoken)
