"""The worked example of the TV-DRF paper, by hand in fractions and by the mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from book.common.runs import choices
from book.tv_drf.users import ALONE, Alone
from fairbook.errors import InvalidInput
from fairbook.mechanisms.tv_drf import TvDrfRun, tv_drf
from fairbook.model.inputs import as_whole


class Example(NamedTuple):
    """The paper's worked example, as far as its numbers fix it: users A and B with a machine each.

    Attributes
    ----------
    machines : (2, 2) numbers
        CPU and GB of A's machine and of B's.
    demands : (2 periods, 2 users, 2) numbers
    first : (2,) numbers
        Tasks submitted in the first period: at least as many by B.
    """

    machines: tuple[tuple[int, int], ...]
    demands: tuple[tuple[tuple[int, int], ...], ...]
    first: tuple[int, int]


#: The paper's worked example.
EXAMPLE = Example(((50, 50), (50, 50)), (((2, 1), (1, 1)), ((5, 5), (20, 10))), (15, 70))

#: Moments of the second period: what the paper says that A and B have of it, and their coefficients.
_FIRST, _MIDDLE = (7, 0), (10, 2)
_PRINTED = {
    "after period 1": ("1", "1.4"),
    "start of period 2": ("0.23", "0.7"),
    "A has (50, 50), B (40, 20)": ("1", "1"),
    "end of period 2": ("1.125", "1"),
}

_Pair = tuple[Fraction, Fraction]


def _own(demand: Sequence[int], count: int, machine: Sequence[int], alone: str) -> _Pair:
    """Give what one user would use of its own machine in one period."""
    if alone == "resources":
        return Fraction(min(count * demand[0], machine[0])), Fraction(min(count * demand[1], machine[1]))
    tasks = min(Fraction(count), Fraction(machine[0], demand[0]), Fraction(machine[1], demand[1]))
    if alone == "whole_bundles":
        tasks = Fraction(tasks.numerator // tasks.denominator)
    return tasks * demand[0], tasks * demand[1]


def _plus(a: _Pair, demand: Sequence[int], count: int) -> _Pair:
    return a[0] + count * demand[0], a[1] + count * demand[1]


class _ByHand:
    """The worked example in fractions up to the moment at which nobody's coefficient is below 1."""

    def __init__(self, counts: tuple[int, int], alone: str) -> None:
        self.counts = counts
        one, two = EXAMPLE.demands
        self.used = [_plus((Fraction(0), Fraction(0)), demand, count)
                     for demand, count in zip(one, EXAMPLE.first, strict=True)]
        self.owned_before = [_own(*line, alone) for line in zip(one, EXAMPLE.first, EXAMPLE.machines, strict=True)]
        more = [_own(*line, alone) for line in zip(two, counts, EXAMPLE.machines, strict=True)]
        self.owned = [(a[0] + b[0], a[1] + b[1]) for a, b in zip(self.owned_before, more, strict=True)]

    def amounts(self, user: int, tasks: int) -> _Pair:
        """Give all that a user has used once it has run so many tasks of period 2."""
        return _plus(self.used[user], EXAMPLE.demands[1][user], tasks)

    def beta(self, user: int, tasks: int) -> Fraction:
        used, owned = self.amounts(user, tasks), self.owned[user]
        return min(used[0] / owned[0], used[1] / owned[1])

    def beta_before(self, user: int) -> Fraction:
        return min(self.used[user][0] / self.owned_before[user][0], self.used[user][1] / self.owned_before[user][1])

    def path(self) -> list[tuple[int, int]]:
        """List the tasks of A and B in period 2, one task more each time, as long as someone is below 1."""
        have, passed = [0, 0], [(0, 0)]
        room = [sum(machine[j] for machine in EXAMPLE.machines) for j in (0, 1)]
        while True:
            below = [(self.beta(i, have[i]), i) for i in (0, 1) if have[i] < self.counts[i]]
            below = [(beta, i) for beta, i in below if beta < 1
                     and all(room[j] >= EXAMPLE.demands[1][i][j] for j in (0, 1))]
            if not below:
                return passed
            i = min(below)[1]
            have[i] += 1
            room = [room[j] - EXAMPLE.demands[1][i][j] for j in (0, 1)]
            passed.append((have[0], have[1]))


def _example_run(counts: tuple[int, int], alone: Any) -> TvDrfRun:
    parts = np.eye(len(EXAMPLE.machines))
    return tv_drf(EXAMPLE.demands, [EXAMPLE.first, counts], EXAMPLE.machines, parts, alone=alone)


def _counts(counts: Any, argument: str) -> tuple[int, int]:
    if not isinstance(counts, (tuple, list)) or len(counts) != 2:
        raise InvalidInput(argument, "must be two whole numbers, A's and B's tasks", counts)
    return as_whole(counts[0], argument, 1), as_whole(counts[1], argument, 1)


def example(counts: tuple[int, int] = (12, 4), alone: Alone = "resources") -> pd.DataFrame:
    """Follow the worked example: what A and B have used, would have had alone, and the ratio, at each printed moment.

    All but the end is worked out here in fractions from amounts alone; the end is the mechanism's.

    Parameters
    ----------
    counts : (int, int)
        Tasks that A and B submit in period 2, which the paper has lost.
    alone : {"resources", "bundles", "whole_bundles"}
        Reading of what a user would have had alone; see :mod:`fairbook.mechanisms.tv_drf`.

    Returns
    -------
    DataFrame
        One row a moment and user: ``moment``, ``user``, ``tasks`` (of the period in question, so far), ``cpu``,
        ``memory`` (used so far, both periods), ``own_cpu``, ``own_memory``, ``beta``, ``exact`` (as text), ``printed``
        (as text), ``agrees``, ``source`` ("by hand" or "engine"). The middle state is listed whether or not the
        mechanism passes it; see :func:`example_counts`.

    Examples
    --------
    >>> frame = example()
    >>> frame["exact"].tolist()
    ['1', '7/5', '3/13', '7/10', '1', '1', '9/8', '1']
    >>> bool(frame["agrees"].all())
    True
    """
    counts = _counts(counts, "counts")
    choices(alone, "alone", ALONE)
    hand, run = _ByHand(counts, alone), _example_run(counts, alone)
    rows: list[dict[str, Any]] = []
    for moment, printed in _PRINTED.items():
        for i, user in enumerate("AB"):
            owned, source = hand.owned[i], "by hand"
            if moment == "after period 1":
                tasks, used, owned, beta = EXAMPLE.first[i], hand.used[i], hand.owned_before[i], hand.beta_before(i)
            elif moment.startswith("end"):
                tasks, source = int(run.tasks[1, i]), "engine"
                used = (Fraction(run.amounts[:, i, 0].sum()), Fraction(run.amounts[:, i, 1].sum()))
                beta = Fraction(float(run.sharing_coefficients[1, i])).limit_denominator(10_000)
            else:
                tasks = 0 if moment.startswith("start") else _MIDDLE[i]
                used, beta = hand.amounts(i, tasks), hand.beta(i, tasks)
            rows.append({
                "moment": moment, "user": user, "tasks": tasks, "cpu": float(used[0]), "memory": float(used[1]),
                "own_cpu": float(owned[0]), "own_memory": float(owned[1]), "beta": float(beta), "exact": str(beta),
                "printed": printed[i], "agrees": _agrees(beta, printed[i]), "source": source})
    return pd.DataFrame(rows)


def _agrees(beta: Fraction, printed: str) -> bool:
    """Tell whether a coefficient is printed rightly: 0.23 may be rounded, 1 or 1.4 or 1.125 must be exact."""
    return round(beta, 2) == Fraction(printed) if printed == "0.23" else beta == Fraction(printed)


def example_counts(most: tuple[int, int] = (30, 10)) -> pd.DataFrame:
    """Ask for every pair of lost task counts, and each reading of alone, which numbers of the example come out.

    Parameters
    ----------
    most : (int, int)
        Largest counts of A and B in period 2.

    Returns
    -------
    DataFrame
        One row per ``alone``, ``tasks_a``, ``tasks_b``: whether what is printed comes out, for ``after_first`` (1 and
        1.4), ``start`` (0.23 and 0.7), ``first`` (A gets (35, 35) and then B something), ``passed`` (A with (50, 50)
        and B with (40, 20) is a state on the way to everybody's 1), ``both_one`` (both coefficients are 1 there),
        ``end`` (1.125 and 1), and ``all``; and the coefficients ``start_a``, ``start_b``, ``middle_a``, ``middle_b``
        (at (50, 50) and (40, 20), passed or not), ``end_a``, ``end_b``.

    Notes
    -----
    Cost: a run of the mechanism per row, some 0.3 ms. The way up to 1 is worked out in fractions for the merged pool;
    on the two machines it is the same, since everything on it fits there.
    """
    most = _counts(most, "most")
    rows = []
    for alone, a, b in product(ALONE, range(1, most[0] + 1), range(1, most[1] + 1)):
        hand, run = _ByHand((a, b), alone), _example_run((a, b), alone)
        path, end = hand.path(), run.sharing_coefficients[1]
        before_b = max(x for x, y in path if y == 0)
        found = {
            "after_first": all(_agrees(hand.beta_before(i), _PRINTED["after period 1"][i]) for i in (0, 1)),
            "start": all(_agrees(hand.beta(i, 0), _PRINTED["start of period 2"][i]) for i in (0, 1)),
            "first": before_b == _FIRST[0] and path[-1][1] > 0,
            "passed": _MIDDLE in path,
            "both_one": all(hand.beta(i, _MIDDLE[i]) == 1 for i in (0, 1)),
            "end": bool(np.allclose(end, [float(x) for x in _PRINTED["end of period 2"]], rtol=0, atol=1e-12)),
        }
        rows.append({
            "alone": alone, "tasks_a": a, "tasks_b": b, **found, "all": all(found.values()),
            **{f"start_{name}": float(hand.beta(i, 0)) for i, name in enumerate("ab")},
            **{f"middle_{name}": float(hand.beta(i, _MIDDLE[i])) for i, name in enumerate("ab")},
            "end_a": end[0], "end_b": end[1]})
    return pd.DataFrame(rows)
