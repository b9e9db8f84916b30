"""Statements about virtual clusters, as numbers that are negative where one fails, and searches for such cases.

Cases are small, in whole numbers and fractions, and rules are run by the judge, in fractions throughout. ``BROKEN`` are
rules with something wrong on purpose, on which checks must fail.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from numpy.random import Generator

from book.common.evidence import in_words
from book.virtual_cluster.oracle import exact_optimum, share
from fairbook.mechanisms.clusters.virtual_cluster import Method, virtual_cluster_rule
from fairbook.model.requests import TURNED_AWAY

Number = Any  # whole numbers or fractions


@dataclass(frozen=True)
class Case:
    """Requests and clusters.

    Attributes
    ----------
    max_vms : tuple of n int
    tolerance : tuple of n Fraction
    capacities : tuple of H int
    whole : bool
    """

    max_vms: tuple[int, ...]
    tolerance: tuple[Fraction, ...]
    capacities: tuple[int, ...]
    whole: bool = True

    def __str__(self) -> str:
        return (
            f"users who want {in_words(self.max_vms)} VMs and tolerate {in_words(self.tolerance)} on clusters of "
            f"{in_words(self.capacities)}{'' if self.whole else ', VMs not whole'}"
        )

    @property
    def scarcity(self) -> Fraction:
        """The value of tau."""
        return Fraction(sum(self.capacities), sum(self.max_vms))

    @cached_property
    def minimum(self) -> tuple[Number, ...]:
        least = [(1 - k) * a for a, k in zip(self.max_vms, self.tolerance, strict=True)]
        return tuple(-(-x.numerator // x.denominator) if self.whole else x for x in map(Fraction, least))

    def saying(self, user: int, **said: Any) -> "Case":
        """Give the case in which one user says something else: ``max_vms``, ``tolerance``."""
        rows: dict[str, Any] = {
            name: tuple(new if i == user else old for i, old in enumerate(getattr(self, name)))
            for name, new in said.items()
        }
        return replace(self, **rows)


def arguments(case: Case) -> tuple[list[int], list[float], list[int]]:
    """Give a case as the engine takes it."""
    return list(case.max_vms), [float(k) for k in case.tolerance], list(case.capacities)


class Outcome(NamedTuple):
    """Cluster of each user (-1 turned away, -2 in the pool) and its VMs."""

    cluster: tuple[int, ...]
    vms: tuple[Number, ...]

    @property
    def all_served(self) -> bool:
        return TURNED_AWAY not in self.cluster

    def level(self, case: Case) -> Fraction:
        return min(Fraction(v) / a for v, a in zip(self.vms, case.max_vms, strict=True))


#: A rule: takes a case, gives what came of it.
Rule = Callable[[Case], Outcome]


def _nobody(case: Case) -> Outcome:
    return Outcome((TURNED_AWAY,) * len(case.max_vms), (0,) * len(case.max_vms))


def _pooled(case: Case, share_out: Callable[[], Sequence[Number]]) -> Outcome:
    """Treat all clusters as one pool; nobody is served where not all minima fit."""
    fits = sum(case.minimum) <= sum(case.capacities)
    return Outcome((-2,) * len(case.max_vms), tuple(share_out())) if fits else _nobody(case)


def pour(case: Case) -> Outcome:
    """Max-min fair sharing of all clusters as one pool; nobody where not all minima fit."""
    return _pooled(case, lambda: share(case.minimum, case.max_vms, sum(case.capacities), case.whole))


def _best(case: Case) -> Outcome:
    """The optimum with one cluster a user; nobody where not all minima fit."""
    best = exact_optimum(case.max_vms, case.tolerance, case.capacities, case.whole)
    return _nobody(case) if best is None else Outcome(tuple(best.cluster or ()), tuple(best.vms))


def _by(method: Method, **reading: Any) -> Rule:
    """Run one of the rules in fractions."""

    def run(case: Case) -> Outcome:
        wanted, room = ([Fraction(x) for x in numbers] for numbers in (case.max_vms, case.capacities))
        pieces = virtual_cluster_rule(wanted, case.tolerance, room, method=method, whole=case.whole, **reading)
        cluster, vms = ({i: piece[at] for i, *piece in pieces} for at in (0, 1))
        users = range(len(wanted))
        return Outcome(tuple(cluster.get(i, TURNED_AWAY) for i in users), tuple(vms.get(i, 0) for i in users))

    return run


#: The rules of the chapter, by name.
RULES: dict[str, Rule] = {
    "pool": pour,
    "exact": _best,
    "relaxation": _by("relaxation"),
    "greedy": _by("greedy"),
    "mixed_knapsack": _by("mixed_knapsack", small=0),
    "metagreedy": _by("metagreedy"),
}


def _proportional(case: Case) -> Outcome:
    """Everybody the part tau of its request, whatever its minimum."""
    part = min(Fraction(1), case.scarcity)
    vms = tuple(int(part * a) if case.whole else part * a for a in case.max_vms)
    return Outcome((-2,) * len(vms), vms)


def _equal_numbers(case: Case) -> Outcome:
    """As many VMs for everybody as can be, up to what each wants; no minima."""
    low = [0 if case.whole else Fraction(0)] * len(case.max_vms)
    vms = list(low)
    left: Number = Fraction(sum(case.capacities))
    for place, i in enumerate(sorted(range(len(vms)), key=lambda i: case.max_vms[i])):
        part = min(Fraction(case.max_vms[i]), left / (len(vms) - place))
        vms[i] = int(part) if case.whole else part
        left -= vms[i]
    return Outcome((-2,) * len(vms), tuple(vms))


#: Rules that break in one named way.
BROKEN: dict[str, Rule] = {
    "in proportion": _proportional,
    # everybody its minimum in the pool, and no more
    "minima only": lambda case: _pooled(case, lambda: case.minimum),
    "equal numbers": _equal_numbers,
    # in one pool: minima, and then all that it wants to the user with the highest k
    "rule b as printed": lambda case: _pooled(case, lambda: hand_out(case, "tolerance")),
}


# --------------------------------------------------------------------------------------- all there is, and its price


def allocations(case: Case) -> Iterator[Outcome]:
    """Give every allocation in whole VMs that serves everybody, one cluster a user. Exponential in the users."""
    n, H = len(case.max_vms), len(case.capacities)
    ranges = [range(low, high + 1) for low, high in zip(case.minimum, case.max_vms, strict=True)]
    for cluster in itertools.product(range(H), repeat=n):
        for vms in itertools.product(*ranges):
            use = [0] * H
            for j, v in zip(cluster, vms, strict=True):
                use[j] += v
            if all(u <= c for u, c in zip(use, case.capacities, strict=True)):
                yield Outcome(cluster, vms)


class Tariff(NamedTuple):
    """Price of a guaranteed VM and of an elastic one."""

    high: Fraction = Fraction(2)
    low: Fraction = Fraction(1)

    def cost(self, wanted: int, tolerance: Fraction, vms: Number) -> Fraction:
        guaranteed = min((1 - tolerance) * wanted, Fraction(vms))
        return self.high * guaranteed + self.low * (vms - guaranteed)


def total_cost(case: Case, outcome: Outcome, tariff: Tariff) -> Fraction:
    """Give what all users pay, which is what the provider earns."""
    return sum(
        (tariff.cost(a, k, v) for a, k, v in zip(case.max_vms, case.tolerance, outcome.vms, strict=True)), Fraction(0)
    )


def mean_fraction(case: Case, vms: Sequence[Number]) -> Fraction:
    """Mean of given / wanted."""
    return sum((Fraction(v, a) for v, a in zip(vms, case.max_vms, strict=True)), Fraction(0)) / len(vms)


def mean_slowdown(case: Case, vms: Sequence[Number]) -> Fraction:
    """Mean of wanted / given: how many times longer a job takes whose speed is its number of VMs."""
    return sum((Fraction(a, v) for v, a in zip(vms, case.max_vms, strict=True)), Fraction(0)) / len(vms)


def hand_out(case: Case, key: str) -> tuple[Number, ...]:
    """From the minima on, give the VMs of one pool one by one, or a part, to the highest of ``key`` below its request.

    ``"tolerance"`` is rule b as printed, ``"gap"`` the least fraction, ``"small"`` the smallest request. Ties: the
    first user.
    """
    vms = list(case.minimum)
    free = sum(case.capacities) - sum(vms)
    rank: Callable[[int], Any] = {
        "tolerance": lambda i: case.tolerance[i],
        "gap": lambda i: -Fraction(vms[i], case.max_vms[i]),
        "small": lambda i: -case.max_vms[i],
    }[key]
    while free > 0 and (waiting := [i for i in range(len(vms)) if vms[i] < case.max_vms[i]]):
        i = max(waiting, key=rank)
        step = min(1, free, case.max_vms[i] - vms[i])
        vms[i], free = vms[i] + step, free - step
    return tuple(vms)


# ---------------------------------------------------------------------------------------------------------- searches


def cases(
    rng: Generator,
    *,
    users: tuple[int, int] = (1, 4),
    clusters: tuple[int, int] = (1, 3),
    largest: int = 9,
    whole: bool | None = None,
) -> Case:
    """Draw a case in small numbers; tolerances are tenths, now and then 0 or 1."""
    n, H = (int(rng.integers(low, high + 1)) for low, high in (users, clusters))
    wanted = tuple(rng.integers(1, largest + 1, n).tolist())
    capacities = rng.integers(0, 2 * largest, H)
    capacities[0] = max(1, capacities[0])
    tolerance = tuple(Fraction(int(k), 10) for k in rng.integers(0, 11, n))
    return Case(wanted, tolerance, tuple(capacities.tolist()), bool(rng.integers(2)) if whole is None else whole)


def moved(rng: Generator, case: Case) -> Case:
    """Change one number by one, or one tolerance by a tenth."""
    which, step = int(rng.integers(3)), int(rng.choice((-1, 1)))
    rows: list[list[Any]] = [list(case.max_vms), list(case.tolerance), list(case.capacities)]
    place = int(rng.integers(len(rows[which])))
    if which == 1:
        rows[1][place] = min(max(rows[1][place] + Fraction(step, 10), Fraction(0)), Fraction(1))
    else:
        rows[which][place] = max(rows[which][place] + step, 1 if which == 0 else 0)
    if not any(rows[2]):
        return case
    return Case(tuple(rows[0]), tuple(rows[1]), tuple(rows[2]), case.whole)
