"""The paper's three algorithms in fractions, step by step: everybody is looked at anew before each step."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from book.virtual_cluster.oracle import NOWHERE, ZERO, Case, as_case
from fairbook.errors import InvalidInput
from fairbook.model import as_whole

__all__ = ["Placed", "greedy", "mixed_knapsack", "relaxation", "rounds"]


def _known(value: Any, argument: str, *names: str) -> None:
    if not isinstance(value, str) or value not in names:
        raise InvalidInput(argument, f"must be one of {', '.join(map(repr, names))}", value)


class Placed(NamedTuple):
    """Cluster of each user, -1 where it was turned away, and its VMs."""

    cluster: list[int]
    vms: list[Fraction]


def _part(amount: Fraction, capacity: Fraction) -> tuple[bool, Fraction]:
    """Give a part of a cluster; of a cluster without VMs everything is more than of any other."""
    return (False, amount / capacity) if capacity else (True, ZERO)


def _place(case: Case, users: Sequence[int], room: Sequence[Fraction], rule: str) -> dict[int, int]:
    """Give user after user a cluster by one rule; only those that have one are in the answer."""
    lives: list[list[int]] = [[] for _ in room]
    for i in users:
        options: list[tuple[Any, int]] = []
        for j, C in enumerate(room):
            minima = sum((case.minimum[h] for h in lives[j]), ZERO)
            everything = sum((case.wanted[h] for h in lives[j]), ZERO)
            if minima + case.minimum[i] > C:
                continue
            nobody_gives_back = everything + case.wanted[i] <= C
            mark: Any
            if rule == "relative":
                mark = _part(minima, C)
            elif rule == "free":
                mark = minima - C
            elif rule == "knapsack":
                mark = C - minima - case.minimum[i]
            elif rule == "least_wanted" or not nobody_gives_back:
                mark = (rule != "least_wanted", _part(everything + case.wanted[i], C))
            else:
                mark = (False, (False, C - everything if rule == "best_fit" else Fraction(j)))
            options.append((mark, j))
        if options:
            lives[min(options)[1]].append(i)
    return {i: j for j, here in enumerate(lives) for i in here}


def _given(case: Case, where: dict[int, int], room: Sequence[Fraction]) -> dict[int, Fraction]:
    found: dict[int, Fraction] = {}
    for j, C in enumerate(room):
        here = sorted(i for i in where if where[i] == j)
        vms = case.share(here, C)
        assert vms is not None
        found.update(zip(here, vms, strict=True))
    return found


def _placed(case: Case, where: dict[int, int], vms: dict[int, Fraction]) -> Placed:
    return Placed([where.get(i, NOWHERE) for i in range(case.n)], [vms.get(i, ZERO) for i in range(case.n)])


def relaxation(max_vms: Any, tolerance: Any, capacities: Any, whole: bool = True,
               load: Literal["relative", "free"] = "relative") -> Placed:
    """Run the relaxation of section 2.1: minima on the least loaded cluster, then the rest to the least fraction.

    Parameters
    ----------
    max_vms, tolerance, capacities, whole
        As for :func:`book.virtual_cluster.oracle.exact_optimum`, any number of users, served in the order given.
    load : {"relative", "free"}
        Least loaded: the smallest part of the cluster taken by minima (a cluster without VMs comes last), or the most
        VMs free. The first cluster at ties.

    Examples
    --------
    >>> relaxation([4, 4, 4], "1/2", [6, 5]).cluster
    [0, 1, 0]
    """
    case = as_case(max_vms, tolerance, capacities, whole)
    _known(load, "load", "relative", "free")
    where = _place(case, range(case.n), case.capacities, load)
    return _placed(case, where, _given(case, where, case.capacities))


def greedy(max_vms: Any, tolerance: Any, capacities: Any, whole: bool = True,
           fit: Literal["least_wanted", "best_fit", "first_fit"] = "least_wanted") -> Placed:
    """Run the greedy algorithm of section 2.1: all that is wanted, and give back where a newcomer does not fit.

    Parameters
    ----------
    max_vms, tolerance, capacities, whole
        As for :func:`relaxation`.
    fit : {"least_wanted", "best_fit", "first_fit"}
        Among the clusters that hold all minima with the newcomer's. ``"least_wanted"``: where all that is wanted, with
        the newcomer, is the smallest part of the cluster. ``"best_fit"``, ``"first_fit"``: where nobody has to give
        back, the fullest or the first of these; otherwise as before. The first cluster at ties.

    Examples
    --------
    >>> greedy([4, 4, 4], "1/2", [6, 5]).cluster, greedy([2, 3, 4], "1/2", [6, 5], fit="best_fit").cluster
    ([0, 1, 0], [1, 1, 0])
    """
    case = as_case(max_vms, tolerance, capacities, whole)
    _known(fit, "fit", "least_wanted", "best_fit", "first_fit")
    where = _place(case, range(case.n), case.capacities, fit)
    return _placed(case, where, _given(case, where, case.capacities))


def mixed_knapsack(max_vms: Any, tolerance: Any, capacities: Any, whole: bool = True,
                   general: Literal["greedy", "relaxation"] = "greedy", small: int = 8, top_up: bool = False,
                   fit: Literal["least_wanted", "best_fit", "first_fit"] = "least_wanted",
                   load: Literal["relative", "free"] = "relative") -> Placed:
    """Run Figure 1: queue A = {k <= 1 - tau} at its minimum as a knapsack, queue B anew on what is left.

    Parameters
    ----------
    max_vms, tolerance, capacities, whole
        As for :func:`relaxation`.
    general, small : {"greedy", "relaxation"}, int
        Algorithm for at most so many users, or where A is empty.
    top_up : bool
        Whether all clusters are shared anew in the end, A included.
    fit, load
        Of the general algorithm.

    Notes
    -----
    The knapsack: largest minimum first (the first user at ties), each into the cluster that has least left afterwards
    (the first at ties). Who does not fit is turned away.

    Examples
    --------
    >>> placed = mixed_knapsack([10, 10, 10], ["1/10", "1/2", "9/10"], [9, 6], small=0)
    >>> placed.cluster, [int(v) for v in placed.vms]
    ([0, 1, 1], [9, 5, 1])
    """
    case = as_case(max_vms, tolerance, capacities, whole)
    _known(general, "general", "greedy", "relaxation")
    _known(fit, "fit", "least_wanted", "best_fit", "first_fit")
    _known(load, "load", "relative", "free")
    small = as_whole(small, "small", 0)
    where: dict[int, int] = {}
    vms: dict[int, Fraction] = {}
    room, left = list(case.capacities), list(range(case.n))
    while left:
        tau = sum(room, ZERO) / sum(case.wanted[i] for i in left)
        queue = [i for i in left if case.tolerance[i] <= 1 - tau]
        if not queue or len(left) <= small:
            found = _place(case, left, room, fit if general == "greedy" else load)
            vms.update(_given(case, found, room))
            where.update(found)
            break
        queue.sort(key=lambda i: -case.minimum[i])
        for i, j in _place(case, queue, room, "knapsack").items():
            where[i], vms[i] = j, case.minimum[i]
            room[j] -= case.minimum[i]
        left = [i for i in left if i not in queue]
    return _placed(case, where, _given(case, where, case.capacities) if top_up else vms)


def rounds(max_vms: Any, tolerance: Any, capacity: Any) -> list[tuple[Fraction, list[int]]]:
    """Give tau and queue A of each round of Figure 1 on one cluster, VMs not whole, till A or B is empty.

    Examples
    --------
    >>> [(str(tau), queue) for tau, queue in rounds([10, 10, 10], ["1/10", "1/2", "9/10"], 16)]
    [('8/15', [0]), ('7/20', [1]), ('1/5', [])]
    """
    case = as_case(max_vms, tolerance, [capacity], False)
    left, room = list(range(case.n)), case.capacities[0]
    found = []
    while left:
        tau = room / sum(case.wanted[i] for i in left)
        queue = [i for i in left if 1 - case.tolerance[i] >= tau]
        found.append((tau, queue))
        if not queue:
            break
        room -= sum(case.minimum[i] for i in queue)
        left = [i for i in left if i not in queue]
    return found
