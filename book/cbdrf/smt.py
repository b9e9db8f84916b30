r"""cbDRF (Lu et al. 2014): statements about what one phase grants, settled for all real instances of a stated size.

Unknowns are the demands, the claimed demands of a liar and the credit factors :math:`\psi_i \in [0, 1]` in force in
the phase. Claims on the pool are equal. Only ratios of a node's demands matter to what it is given, so that they are
scaled to :math:`\max_j d_{ij} = 1` with a pool of ones; the tasks of node :math:`i` are then its dominant share
:math:`s_i`, and what it could run alone on its part of the pool is :math:`1/n`. All demands are positive.

A grant turns :math:`\psi` into shares. Each is encoded by what defines it, a level at which some resource is used up:

=================  ===================================================================================================
grant              share
=================  ===================================================================================================
``drf``            :math:`s_i = L`, and L uses some resource up; the credit factor plays no role
``scaled``         :math:`s_i = \psi_i L` with the same L: equation (7) of the paper
``weighted``       :math:`s_i = \psi_i \lambda`, and these shares use some resource up (all :math:`\psi = 0`: nothing)
``capped``         :math:`s_i = \min(l, b_i)`, :math:`b_i = \psi_i / n` if :math:`\psi_i < 1`, otherwise no bound; some
                   resource is used up or every node stands at its bound
``capped_at_drf``  the same with :math:`b_i = \psi_i L`
=================  ===================================================================================================

That punished nodes reach their bounds, or that levels grow when a liar takes less, is nowhere assumed.

A conclusion is attacked twice. The *relaxation* (:class:`book.common.smt.Products`) keeps that products grow in each
factor and, for a liar, that :math:`d_{ij} (\psi_i L) = \psi_i (d_{ij} L)`; the question is then linear, and every
proof here needs no more. What it leaves open is tried on small instances and then asked with true products, one
question for every pattern of dominant resources up to renaming of the resources. A counterexample is judged by plain
arithmetic on fractions, which fills shares event by event and shares nothing with the encodings.

References
----------
Lu D., Ma J., Wang Y., Xi N., Zhang L., Meng X. Credit-based DRF (cbDRF): fair allocation of multiple resources under
dynamic demands (Chinese). Journal of Xidian University 41(3), 2014. Equations (1)-(7), Corollary 2, Theorems 3-6.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from book.common.settle import (
    BaseCase,
    BaseEncoding,
    BaseStatement,
    Index,
    Row,
    check_name,
    check_sizes,
    demand_rows,
    each_k,
    each_k_i,
    each_k_i_h,
    settle_cases,
    widened,
)
from book.common.smt import Answer, Settled
from fairbook.errors import InvalidInput

__all__ = [
    "CREDITS",
    "GRANTS",
    "MECHANISMS",
    "STATEMENTS",
    "SettledGrant",
    "Statement",
    "is_violated",
    "settle",
]

#: Ways to turn credit factors into shares.
GRANTS: dict[str, str] = {
    "drf": "DRF: the credit factor plays no role",
    "scaled": "psi_i times the DRF share, equation (7)",
    "weighted": "weighted DRF with weights psi_i",
    "capped": "DRF in which a punished node is bounded at psi_i times what it could run alone",
    "capped_at_drf": "DRF in which a punished node is bounded at psi_i times its DRF share",
}

#: The mechanism and its mutants, each a broken variant that some statement must refute.
MECHANISMS: dict[str, str] = {
    "cbdrf": "the grant as it is defined",
    "capacity_overshot": "the pool is taken to be 1.01 of each resource",
    "capacity_wasted": "the pool is taken to be 0.99 of each resource",
    "credit_ignored": "psi is taken to be 1 for every node",
    "credit_inverted": "1 - psi_i is taken for psi_i",
    "first_favoured": "the level counts twice for node 1",
    "claims_rewarded": "the level counts sum_j d_ij times: who claims more of everything is given more",
}
_POOL = {"capacity_overshot": Fraction(101, 100), "capacity_wasted": Fraction(99, 100)}

#: Domains of the credit factors.
CREDITS: dict[str, str] = {"positive": "0 < psi <= 1", "nonnegative": "0 <= psi <= 1"}


# ---------------------------------------------------------------------------------------------------------------
# Plain rational arithmetic: judges witnesses, knows nothing of the solver.
# ---------------------------------------------------------------------------------------------------------------


def _filled(
    demands: Sequence[Row], rates: Sequence[Fraction], bounds: Sequence[Fraction | None], pool: Fraction
) -> list[Fraction]:
    """Raise all shares at their rates until a resource is used up; who reaches its bound stops. O(m n^2).

    Demands are positive, so that nobody can go on when one resource is used up.
    """
    shares = [Fraction(0)] * len(demands)
    rising = {i for i, rate in enumerate(rates) if rate > 0 and bounds[i] != 0}
    resources = range(len(demands[0]))
    while rising:
        speeds = [sum((demands[i][j] * rates[i] for i in rising), Fraction(0)) for j in resources]
        rooms = [pool - sum(row[j] * share for row, share in zip(demands, shares, strict=True)) for j in resources]
        used_up = min(room / speed for room, speed in zip(rooms, speeds, strict=True))
        stops = {i: (bound - shares[i]) / rates[i] for i in rising if (bound := bounds[i]) is not None}
        step = min([used_up, *stops.values()])
        for i in rising:
            shares[i] += step * rates[i]
        if step == used_up:
            break
        rising -= {i for i, stop in stops.items() if stop == step}
    return shares


class _World:
    """One instance in fractions and the dominant shares that are granted in it (nodes from 0)."""

    def __init__(
        self,
        demands: Sequence[Row],
        credit: Sequence[Fraction],
        claims: Mapping[int, Row],
        grant: str,
        mechanism: str,
    ) -> None:
        self.d, self.psi, self.claims = tuple(demands), tuple(credit), dict(claims)
        self.grant, self.mechanism = grant, mechanism
        self.n, self.m = len(self.d), len(self.d[0])
        self.share = self.granted()

    def granted(self, lying: bool = False, clean: int | None = None) -> list[Fraction]:
        """Shares under the truth, under the lie, or when node `clean` has a credit factor of 1."""
        rows = [self.claims.get(i, row) if lying else row for i, row in enumerate(self.d)]
        factors = [Fraction(1) if i == clean else psi for i, psi in enumerate(self.psi)]
        if self.mechanism == "credit_ignored":
            factors = [Fraction(1)] * self.n
        elif self.mechanism == "credit_inverted":
            factors = [1 - factor for factor in factors]
        rates = [self._rate(i, row) for i, row in enumerate(rows)]
        pool = _POOL.get(self.mechanism, Fraction(1))
        free: list[Fraction | None] = [None] * self.n
        if self.grant == "weighted":
            return _filled(rows, [f * rate for f, rate in zip(factors, rates, strict=True)], free, pool)
        plain = _filled(rows, rates, free, pool)
        if self.grant == "drf":
            return plain
        if self.grant == "scaled":
            return [f * share for f, share in zip(factors, plain, strict=True)]
        whole = [Fraction(1, self.n)] * self.n if self.grant == "capped" else plain
        bounds = [None if f == 1 else f * most for f, most in zip(factors, whole, strict=True)]
        return _filled(rows, rates, bounds, pool)

    def _rate(self, i: int, row: Row) -> Fraction:
        if self.mechanism == "first_favoured" and i == 0:
            return Fraction(2)
        return sum(row, Fraction(0)) if self.mechanism == "claims_rewarded" else Fraction(1)

    def drf(self) -> Fraction:
        """Share that DRF gives to every node."""
        return 1 / max(sum((row[j] for row in self.d), Fraction(0)) for j in range(self.m))

    def slack(self) -> Fraction:
        """What is left of the resource of which least is left; negative if more was granted than there is."""
        bundles = [[entry * share for entry in row] for row, share in zip(self.d, self.share, strict=True)]
        return min(1 - sum(column, Fraction(0)) for column in zip(*bundles, strict=True))

    def tasks_on(self, i: int, h: int) -> Fraction:
        """Tasks that node i could run on the bundle of node h."""
        return min(self.share[h] * theirs / mine for theirs, mine in zip(self.d[h], self.d[i], strict=True))

    def tasks_lying(self, i: int) -> Fraction:
        """True tasks that node i can run on what its claim is granted."""
        share = self.granted(lying=True)[i]
        return min(share * claim / true for claim, true in zip(self.claims.get(i, self.d[i]), self.d[i], strict=True))


# ---------------------------------------------------------------------------------------------------------------
# Encodings
# ---------------------------------------------------------------------------------------------------------------


class _Encoding(BaseEncoding):
    """Variables and constraints of one case; nodes from 0, as in `_World`."""

    def __init__(
        self,
        n: int,
        m: int,
        liars: Sequence[int],
        grant: str,
        mechanism: str,
        credit: str,
        linear: bool,
        dominant: Sequence[int] | None = None,
    ) -> None:
        super().__init__(m, [("d", i) for i in range(n)] + [("claim", i) for i in liars], linear, dominant)
        self.n, self.liars = n, tuple(liars)
        self.grant, self.mechanism = grant, mechanism
        self.d = [self.row("d", i) for i in range(n)]
        self.claim = {i: self.row("claim", i) for i in self.liars}
        self.psi = [self.real(f"psi{i + 1}") for i in range(n)]
        for psi in self.psi:
            self.premises += [psi > 0 if credit == "positive" else psi >= 0, psi <= 1]
        self.share = self.granted("s", self.psi, self.d)

    def mul(self, left: Any, right: Any) -> Any:
        """Return the product of two nonnegative variables, products or constants."""
        for one, other in ((left, right), (right, left)):
            if self.z3.is_rational_value(one) and one.as_fraction() == 1:
                return other
        return self.products(left, right)

    def uses(self, rows: Sequence[Sequence[Any]], shares: Sequence[Any]) -> list[Any]:
        """Use of each resource."""
        return [
            self.z3.Sum([self.mul(row[j], share) for row, share in zip(rows, shares, strict=True)])
            for j in range(self.m)
        ]

    def _fits(self, rows: Sequence[Sequence[Any]], shares: Sequence[Any], pool: Any) -> Any:
        """Demand that shares fit into the pool; return that they use some resource up."""
        uses = self.uses(rows, shares)
        self.premises += [use <= pool for use in uses]
        return self.z3.Or([use == pool for use in uses])

    def _targets(self, name: str, rows: Sequence[Sequence[Any]]) -> list[Any]:
        """Shares of all nodes at one level, which may be anything from 0 on."""
        level = self.real(f"{name}_level")
        self.premises.append(level >= 0)
        targets = [level] * self.n
        if self.mechanism == "first_favoured":
            targets[0] = self.real(f"{name}_target1")
            self.premises.append(targets[0] == 2 * level)
        elif self.mechanism == "claims_rewarded":
            targets = [self.real(f"{name}_target{i + 1}") for i in range(self.n)]
            for target, row in zip(targets, rows, strict=True):
                self.premises.append(target == self.z3.Sum([self.mul(x, level) for x in row]))
        return targets

    def _factors(self, name: str, credit: Sequence[Any]) -> list[Any]:
        """Credit factors as the mechanism sees them."""
        if self.mechanism not in ("credit_ignored", "credit_inverted"):
            return list(credit)
        factors = [self.real(f"{name}_factor{i + 1}") for i in range(self.n)]
        for factor, psi in zip(factors, credit, strict=True):
            self.premises.append(factor == (1 if self.mechanism == "credit_ignored" else 1 - psi))
        return factors

    def granted(self, name: str, credit: Sequence[Any], rows: Sequence[Sequence[Any]]) -> list[Any]:
        """Grant shares once more, for other credit factors or other claims."""
        z3 = self.z3
        pool = self.number(_POOL.get(self.mechanism, Fraction(1)))
        factors = self._factors(name, credit)
        targets = self._targets(name, rows)
        if self.grant in ("capped", "capped_at_drf"):
            return self._capped(name, factors, targets, rows, pool)
        if self.grant == "weighted":
            shares = [self.mul(f, target) for f, target in zip(factors, targets, strict=True)]
            nobody = z3.And([f == 0 for f in factors])
            self.premises.append(z3.Or(self._fits(rows, shares, pool), nobody))
            return shares
        self.premises.append(self._fits(rows, targets, pool))
        if self.grant == "drf":
            return targets
        shares = [self.mul(f, target) for f, target in zip(factors, targets, strict=True)]
        for i in self.liars:
            # True of all real products; the relaxation has to be told, and needs it to compare bundles of a liar.
            f, target, share = factors[i], targets[i], shares[i]
            self.premises += [self.mul(x, share) == self.mul(f, self.mul(x, target)) for x in rows[i]]
        return shares

    def _capped(
        self, name: str, factors: Sequence[Any], targets: Sequence[Any], rows: Sequence[Sequence[Any]], pool: Any
    ) -> list[Any]:
        z3 = self.z3
        if self.grant == "capped":
            bounds = [f * self.number(Fraction(1, self.n)) for f in factors]
        else:
            plain = self._targets(f"{name}_drf", rows)
            self.premises.append(self._fits(rows, plain, pool))
            bounds = [self.mul(f, most) for f, most in zip(factors, plain, strict=True)]
        shares = [self.real(f"{name}{i + 1}") for i in range(self.n)]
        for f, bound, target, share in zip(factors, bounds, targets, shares, strict=True):
            free = z3.Or(f == 1, target <= bound)
            self.premises += [z3.Implies(free, share == target), z3.Implies(z3.Not(free), share == bound)]
        stopped = z3.And(
            [z3.And(f < 1, share == bound) for f, bound, share in zip(factors, bounds, shares, strict=True)]
        )
        self.premises.append(z3.Or(self._fits(rows, shares, pool), stopped))
        return shares

    def lying(self) -> list[Any]:
        return self.granted("z", self.psi, [self.claim.get(i, row) for i, row in enumerate(self.d)])

    def clean(self, i: int) -> list[Any]:
        """Shares when node i has a credit factor of 1 and all else is equal."""
        return self.granted("clean", [self.number(1) if h == i else psi for h, psi in enumerate(self.psi)], self.d)

    def drf(self) -> Any:
        """Share that DRF, without any mutation, gives to every node."""
        level = self.real("drf")
        self.premises.append(level >= 0)
        self.premises.append(self._fits(self.d, [level] * self.n, self.number(1)))
        return level

    def part_of_alone(self, i: int) -> Any:
        """Return psi_i times what node i could run alone."""
        alone = self.number(Fraction(1, self.n))
        # A product like any other, so that the relaxation compares it with others of psi_i; its value is known.
        part = self.mul(self.psi[i], alone)
        self.premises.append(part == self.psi[i] * alone)
        return part

    def others(self) -> list[Any]:
        """Shares in any other allocation of the pool."""
        q = [self.real(f"q{i + 1}") for i in range(self.n)]
        self.premises += [share >= 0 for share in q]
        self._fits(self.d, q, self.number(1))
        return q


@dataclass(frozen=True)
class Statement(BaseStatement[_Encoding, _World]):
    """One statement about what a phase grants, given the credit factors.

    Attributes
    ----------
    locator : str
        Where the paper makes it; "ours" where it does not.
    text : str
    index : str
        Names of the entries of a case's index, counted from 1 as in the paper; the first, k, is the number of nodes.
    indices : callable
        All cases with up to n users.
    encode : callable
        Hypothesis and conclusion over an encoding.
    judge : callable
        The same over an instance in fractions.
    caught : dict of str to int
        Mutants that must refute the statement under every grant for which it holds, each with the number of nodes at
        which they do (two resources).
    lies : bool
        Whether the node of the index claims other demands than it has.
    suggestions : tuple
        Instances (demands, credit factors, claims of nodes counted from 0) to try first.
    """

    lies: bool = False
    suggestions: tuple[tuple[Sequence[Sequence[str]], Sequence[str], Mapping[int, Sequence[str]]], ...] = ()


# Each pair of functions below is one statement: over the encoding, then over an instance in fractions.
# Hypotheses are separate from conclusions so that an impossible hypothesis is noticed.


def _feasibility(e: _Encoding, index: Index) -> tuple[Any, Any]:
    return True, e.z3.And([use <= 1 for use in e.uses(e.d, e.share)])


def _feasibility_judge(v: _World, index: Index) -> tuple[bool, bool]:
    return True, v.slack() >= 0


def _sharing(good: bool) -> Callable[[_Encoding, Index], tuple[Any, Any]]:
    def encode(e: _Encoding, index: Index) -> tuple[Any, Any]:
        k, i = index
        return e.psi[i - 1] == 1 if good else True, e.share[i - 1] >= e.number(Fraction(1, k))

    return encode


def _sharing_judge(good: bool) -> Callable[[_World, Index], tuple[bool, bool]]:
    def judge(v: _World, index: Index) -> tuple[bool, bool]:
        k, i = index
        return v.psi[i - 1] == 1 or not good, v.share[i - 1] >= Fraction(1, k)

    return judge


def _sharing_by_record(e: _Encoding, index: Index) -> tuple[Any, Any]:
    _, i = index
    return True, e.share[i - 1] >= e.part_of_alone(i - 1)


def _sharing_by_record_judge(v: _World, index: Index) -> tuple[bool, bool]:
    k, i = index
    return True, v.share[i - 1] >= v.psi[i - 1] / k


def _sharing_by_weight(e: _Encoding, index: Index) -> tuple[Any, Any]:
    # u is 1 / sum psi.
    _, i = index
    u = e.real("u")
    e.premises.append(u >= 0)
    return e.z3.Sum([e.mul(psi, u) for psi in e.psi]) == 1, e.share[i - 1] >= e.mul(e.psi[i - 1], u)


def _sharing_by_weight_judge(v: _World, index: Index) -> tuple[bool, bool]:
    _, i = index
    total = sum(v.psi)
    return total > 0, total == 0 or v.share[i - 1] >= v.psi[i - 1] / total


def _at_most_by_record(e: _Encoding, index: Index) -> tuple[Any, Any]:
    _, i = index
    return e.psi[i - 1] < 1, e.share[i - 1] <= e.part_of_alone(i - 1)


def _at_most_by_record_judge(v: _World, index: Index) -> tuple[bool, bool]:
    k, i = index
    return v.psi[i - 1] < 1, v.share[i - 1] <= v.psi[i - 1] / k


def _envy(justified: bool) -> Callable[[_Encoding, Index], tuple[Any, Any]]:
    def encode(e: _Encoding, index: Index) -> tuple[Any, Any]:
        i, h = index[1] - 1, index[2] - 1
        envies = [e.mul(e.d[h][j], e.share[h]) > e.mul(e.d[i][j], e.share[i]) for j in range(e.m)]
        return e.psi[h] <= e.psi[i] if justified else True, e.z3.Not(e.z3.And(envies))

    return encode


def _envy_judge(justified: bool) -> Callable[[_World, Index], tuple[bool, bool]]:
    def judge(v: _World, index: Index) -> tuple[bool, bool]:
        i, h = index[1] - 1, index[2] - 1
        return v.psi[h] <= v.psi[i] or not justified, v.tasks_on(i, h) <= v.share[i]

    return judge


def _pareto(who: str) -> Callable[[_Encoding, Index], tuple[Any, Any]]:
    def encode(e: _Encoding, index: Index) -> tuple[Any, Any]:
        z3 = e.z3
        q = e.others()
        if who == "within bounds":
            e.premises += [z3.Or(e.psi[i] == 1, other <= e.part_of_alone(i)) for i, other in enumerate(q)]
        pairs = list(zip(q, e.share, strict=True))
        better = z3.And([other >= share for other, share in pairs] + [z3.Or([other > share for other, share in pairs])])
        good = [psi == 1 for psi in e.psi]
        hypothesis = {
            "someone": z3.Or(good),
            "all": z3.And(good),
            "someone with credit": z3.Or([psi > 0 for psi in e.psi]),
        }
        return hypothesis.get(who, True), z3.Not(better)

    return encode


def _pareto_judge(who: str) -> Callable[[_World, Index], tuple[bool, bool]]:
    def judge(v: _World, index: Index) -> tuple[bool, bool]:
        # Demands are positive: somebody can get more at nobody's cost exactly if some of every resource is left.
        better = v.slack() > 0
        if who == "within bounds":
            bounds = [math.inf if psi == 1 else psi / v.n for psi in v.psi]
            better = better and all(share <= bound for share, bound in zip(v.share, bounds, strict=True))
            better = better and any(share < bound for share, bound in zip(v.share, bounds, strict=True))
        hypothesis = {
            "someone": max(v.psi) == 1,
            "all": min(v.psi) == 1,
            "someone with credit": max(v.psi) > 0,
        }
        return hypothesis.get(who, True), not better

    return judge


def _wasteful(e: _Encoding, index: Index) -> tuple[Any, Any]:
    return e.psi[index[1] - 1] < 1, e.z3.And([use < 1 for use in e.uses(e.d, e.share)])


def _wasteful_judge(v: _World, index: Index) -> tuple[bool, bool]:
    return v.psi[index[1] - 1] < 1, v.slack() > 0


def _strategy(e: _Encoding, index: Index) -> tuple[Any, Any]:
    i = index[1] - 1
    lied = e.lying()[i]
    # More true tasks: more of every resource than the honest bundle has.
    gains = [e.mul(claim, lied) > e.mul(true, e.share[i]) for claim, true in zip(e.claim[i], e.d[i], strict=True)]
    return True, e.z3.Not(e.z3.And(gains))


def _strategy_judge(v: _World, index: Index) -> tuple[bool, bool]:
    i = index[1] - 1
    return True, v.tasks_lying(i) <= v.share[i]


def _punitive(company: bool) -> Callable[[_Encoding, Index], tuple[Any, Any]]:
    def encode(e: _Encoding, index: Index) -> tuple[Any, Any]:
        i = index[1] - 1
        hypothesis = [e.psi[i] < 1]
        if company:
            hypothesis.append(e.z3.Or([psi > 0 for h, psi in enumerate(e.psi) if h != i]))
        return e.z3.And(hypothesis), e.share[i] < e.clean(i)[i]

    return encode


def _punitive_judge(company: bool) -> Callable[[_World, Index], tuple[bool, bool]]:
    def judge(v: _World, index: Index) -> tuple[bool, bool]:
        i = index[1] - 1
        others = any(psi > 0 for h, psi in enumerate(v.psi) if h != i)
        return v.psi[i] < 1 and (others or not company), v.share[i] < v.granted(clean=i)[i]

    return judge


def _never_below_drf(e: _Encoding, index: Index) -> tuple[Any, Any]:
    i = index[1] - 1
    return e.psi[i] == 1, e.share[i] >= e.drf()


def _never_below_drf_judge(v: _World, index: Index) -> tuple[bool, bool]:
    i = index[1] - 1
    return v.psi[i] == 1, v.share[i] >= v.drf()


def _punished_below_drf(someone: bool) -> Callable[[_Encoding, Index], tuple[Any, Any]]:
    def encode(e: _Encoding, index: Index) -> tuple[Any, Any]:
        i = index[1] - 1
        good = [e.z3.Or([psi == 1 for psi in e.psi])] if someone else []
        return e.z3.And([e.psi[i] < 1, *good]), e.share[i] < e.drf()

    return encode


def _punished_below_drf_judge(someone: bool) -> Callable[[_World, Index], tuple[bool, bool]]:
    def judge(v: _World, index: Index) -> tuple[bool, bool]:
        i = index[1] - 1
        return v.psi[i] < 1 and (max(v.psi) == 1 or not someone), v.share[i] < v.drf()

    return judge


def _same_as_drf(least: str) -> Callable[[_Encoding, Index], tuple[Any, Any]]:
    def encode(e: _Encoding, index: Index) -> tuple[Any, Any]:
        level = e.drf()
        first = e.psi[0] == 1 if least == "clean" else e.psi[0] > 0
        equal = e.z3.And([first] + [psi == e.psi[0] for psi in e.psi[1:]])
        return equal, e.z3.And([share == level for share in e.share])

    return encode


def _same_as_drf_judge(least: str) -> Callable[[_World, Index], tuple[bool, bool]]:
    def judge(v: _World, index: Index) -> tuple[bool, bool]:
        first = v.psi[0] == 1 if least == "clean" else v.psi[0] > 0
        return first and len(set(v.psi)) == 1, all(share == v.drf() for share in v.share)

    return judge


_WASTED = {"capacity_wasted": 1}

#: With bounds that follow DRF, node 1 overstates its lesser demand: DRF shares fall, and with them the bound of node 2.
_LOWERS_THE_BOUND = ((("1", "1/3"), ("1/3", "1")), ("1", "1/2"), {0: ("1", "2/3")})

#: Every statement that can be settled, by name.
STATEMENTS: dict[str, Statement] = {
    "feasibility": Statement(
        "(1)", "No more of any resource is granted than there is.", "k", each_k,
        _feasibility, _feasibility_judge, {"capacity_overshot": 1},
    ),
    "sharing_incentive": Statement(
        "Corollary 2, literally", "Every node gets at least what it could run alone on 1/n of the pool.", "k i",
        each_k_i, _sharing(False), _sharing_judge(False), _WASTED,
    ),
    "sharing_incentive_good_standing": Statement(
        "ours", "Every node with psi_i = 1 gets at least what it could run alone.", "k i", each_k_i,
        _sharing(True), _sharing_judge(True), _WASTED,
    ),
    "sharing_incentive_scaled_by_record": Statement(
        "ours", "Every node gets at least psi_i times what it could run alone.", "k i", each_k_i,
        _sharing_by_record, _sharing_by_record_judge, _WASTED,
    ),
    "sharing_incentive_weighted_by_record": Statement(
        "ours", "Every node gets a dominant share of at least psi_i / sum_h psi_h (some psi is positive).", "k i",
        each_k_i, _sharing_by_weight, _sharing_by_weight_judge, _WASTED,
    ),
    "at_most_scaled_by_record": Statement(
        "ours", "A node with psi_i < 1 gets at most psi_i times what it could run alone.", "k i", each_k_i,
        _at_most_by_record, _at_most_by_record_judge, {"credit_ignored": 1},
    ),
    "envy_freeness": Statement(
        "Theorem 4, literally", "No node could run more tasks on another's bundle than on its own.", "k i h",
        each_k_i_h, _envy(False), _envy_judge(False), {"first_favoured": 2},
    ),
    "justified_envy_freeness": Statement(
        "ours", "No node could run more tasks on the bundle of a node whose record is no better, psi_h <= psi_i.",
        "k i h", each_k_i_h, _envy(True), _envy_judge(True), {"first_favoured": 2},
    ),
    "pareto_optimality": Statement(
        "Theorem 6, literally", "No allocation of the pool gives one node more and none less.", "k", each_k,
        _pareto("any"), _pareto_judge("any"), _WASTED,
    ),
    "pareto_optimality_someone_with_credit": Statement(
        "ours", "The same where psi > 0 for some node.", "k", each_k,
        _pareto("someone with credit"), _pareto_judge("someone with credit"), _WASTED,
    ),
    "pareto_optimality_someone_in_good_standing": Statement(
        "ours", "The same where psi = 1 for some node.", "k", each_k,
        _pareto("someone"), _pareto_judge("someone"), _WASTED,
    ),
    "pareto_optimality_all_in_good_standing": Statement(
        "ours", "The same where psi = 1 for all nodes.", "k", each_k, _pareto("all"), _pareto_judge("all"), _WASTED,
    ),
    "pareto_optimality_within_bounds": Statement(
        "ours",
        "No allocation that bounds each node with psi_i < 1 at psi_i times what it could run alone gives one node more "
        "and none less.",
        "k", each_k, _pareto("within bounds"), _pareto_judge("within bounds"), _WASTED,
    ),
    "wasteful_when_someone_is_punished": Statement(
        "ours", "Where psi_i < 1 for some node i, some of every resource is left, so that all could get more.", "k i",
        each_k_i, _wasteful, _wasteful_judge, {"credit_ignored": 1},
    ),
    "strategy_proofness": Statement(
        "Theorem 5", "Credit factors given, no claim lets a node run more true tasks than the truth does.", "k i",
        each_k_i, _strategy, _strategy_judge, {"claims_rewarded": 2}, lies=True, suggestions=(_LOWERS_THE_BOUND,),
    ),
    "punitive": Statement(
        "Theorem 3", "A node with psi_i < 1 gets fewer tasks than with psi_i = 1, all else equal.", "k i", each_k_i,
        _punitive(False), _punitive_judge(False), {"credit_ignored": 1, "credit_inverted": 1},
    ),
    "punitive_in_company": Statement(
        "Theorem 3", "The same where psi > 0 for some other node.", "k i", each_k_i,
        _punitive(True), _punitive_judge(True), {"credit_ignored": 2, "credit_inverted": 2},
    ),
    "never_below_drf_in_good_standing": Statement(
        "ours", "A node with psi_i = 1 gets at least what DRF gives it.", "k i", each_k_i,
        _never_below_drf, _never_below_drf_judge, _WASTED,
    ),
    "punished_below_drf": Statement(
        "ours", "A node with psi_i < 1 gets less than DRF gives it.", "k i", each_k_i,
        _punished_below_drf(False), _punished_below_drf_judge(False), {"credit_ignored": 1},
    ),
    "punished_below_drf_someone_in_good_standing": Statement(
        "ours", "The same where psi = 1 for some node.", "k i", each_k_i,
        _punished_below_drf(True), _punished_below_drf_judge(True), {"credit_ignored": 2},
    ),
    "clean_records_as_drf": Statement(
        "(7)", "Where psi = 1 for all nodes, all get what DRF gives them.", "k", each_k,
        _same_as_drf("clean"), _same_as_drf_judge("clean"), _WASTED,
    ),
    "equal_records_as_drf": Statement(
        "ours", "Where all nodes have the same psi > 0, all get what DRF gives them.", "k", each_k,
        _same_as_drf("equal"), _same_as_drf_judge("equal"), _WASTED,
    ),
}  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------
# Questions and answers
# ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SettledGrant(Settled):
    """What is known about one statement under one grant; see :class:`book.common.smt.Settled`.

    Attributes
    ----------
    grant : str
        Name in :data:`GRANTS`.
    credit : {"positive", "nonnegative"}
        Domain of the credit factors.

    Examples
    --------
    >>> print(settle("punitive_in_company", 2, 2, grant="weighted"))
    punitive_in_company, weighted: holds for n <= 2, m = 2, 0 <= psi <= 1 (3 cases: 3 unsat, of which 1 with impossible
    premises; 0 sat, 0 unknown; linear relaxation)
    """

    grant: str
    credit: str

    def __str__(self) -> str:
        mutant = "" if self.mechanism == "cbdrf" else f" with {self.mechanism}"
        return (
            f"{self.statement}, {self.grant}{mutant}: {self.status} for n <= {self.n}, m = {self.m}, "
            f"{CREDITS[self.credit]} ({self.cases} cases: {self.unsat} unsat, of which {self.vacuous} with impossible "
            f"premises; {self.sat} sat, {self.unknown} unknown; {self.method or 'nothing settled'})"
        )


def _check_arguments(statement: str, n: int, m: int, grant: str, mechanism: str, credit: str) -> Statement:
    check_name("statement", statement, STATEMENTS)
    check_name("grant", grant, GRANTS)
    check_name("mechanism", mechanism, MECHANISMS)
    check_name("credit", credit, CREDITS)
    check_sizes(n=n, m=m)
    return STATEMENTS[statement]


@dataclass(frozen=True)
class _Case(BaseCase[_Encoding, _World]):
    entry: Statement
    index: Index
    m: int
    grant: str
    mechanism: str
    credit: str

    @property
    def n(self) -> int:
        return self.index[0]

    @property
    def liars(self) -> tuple[int, ...]:
        return (self.index[1] - 1,) if self.entry.lies else ()

    @property
    def rows(self) -> int:
        return self.n + len(self.liars)

    def encoding(self, linear: bool, dominant: Sequence[int] | None) -> _Encoding:
        return _Encoding(self.n, self.m, self.liars, self.grant, self.mechanism, self.credit, linear, dominant)

    def inputs(self, e: _Encoding, world: _World) -> Iterator[tuple[Any, Fraction]]:
        yield from zip(e.psi, world.psi, strict=True)
        for row, values in [*zip(e.d, world.d, strict=True), *((e.claim[i], world.claims[i]) for i in self.liars)]:
            yield from zip(row, values, strict=True)

    def instance(self, demands: Sequence[Row], credit: Sequence[Fraction], claims: Mapping[int, Row]) -> _World:
        return _World(demands, credit, claims, self.grant, self.mechanism)

    def near(self, answer: Answer, precision: int) -> _World | None:
        def value(name: str) -> Fraction:
            # An entry without a variable of its own is the dominant one; what no constraint mentions is free.
            exact = answer.values.get(name, Fraction(1))
            return Fraction(1) if exact >= 1 else exact.limit_denominator(precision)

        def row(kind: str, i: int) -> Row:
            return tuple(value(f"{kind}{i + 1}_{j + 1}") for j in range(self.m))

        demands = [row("d", i) for i in range(self.n)]
        claims = {i: row("claim", i) for i in self.liars}
        credit = [value(f"psi{i + 1}") for i in range(self.n)]
        if any(min(r) <= 0 or max(r) != 1 for r in (*demands, *claims.values())):
            return None
        if min(credit) < 0 or (self.credit == "positive" and min(credit) == 0):
            return None
        return self.instance(demands, credit, claims)

    def suggested(self) -> Iterator[_World]:
        for demands, credit, claims in self.entry.suggestions:
            if len(demands) == self.n and len(demands[0]) <= self.m and tuple(claims) == self.liars:
                told = {i: widened(row, self.m) for i, row in claims.items()}
                yield self.instance([widened(row, self.m) for row in demands], [Fraction(psi) for psi in credit], told)

    def instances(self, largest: int) -> Iterator[_World]:
        """All instances ordered by (common denominator of the demands) + (that of the credit factors).

        A credit factor of 0 counts as a half would: it is a special case and shows less.
        """
        for size in range(2, 2 * largest + 1):
            for q in range(max(1, size - largest), min(size - 1, largest) + 1):
                p = size - q
                factors = [Fraction(x, p) for x in range(p, 0 if self.credit == "positive" else -1, -1)]
                credits = [
                    credit
                    for credit in itertools.product(factors, repeat=self.n)
                    if math.lcm(*(psi.denominator for psi in credit), 2 if min(credit) == 0 else 1) == p
                ]
                for chosen in demand_rows(self.rows, self.m, q):
                    for credit in credits:
                        claims = dict(zip(self.liars, chosen[self.n :], strict=True))
                        yield self.instance(chosen[: self.n], credit, claims)

    def describe(self, world: _World) -> dict[str, Any]:
        witness: dict[str, Any] = {
            "demands": world.d,
            "credit_factor": world.psi,
            "claims": {i + 1: row for i, row in world.claims.items()},
            **dict(zip(self.entry.index.split(), self.index, strict=True)),
            "tasks": tuple(world.share),
            "drf_tasks": (world.drf(),) * world.n,
        }
        if self.entry.lies:
            witness["tasks_under_lie"] = tuple(world.granted(lying=True))
            witness["true_tasks_of_liar"] = world.tasks_lying(self.index[1] - 1)
        if self.entry.locator == "Theorem 3":
            witness["tasks_with_clean_record"] = tuple(world.granted(clean=self.index[1] - 1))
        return witness


def is_violated(statement: str, witness: Mapping[str, Any], grant: str = "scaled", mechanism: str = "cbdrf") -> bool:
    """Judge a witness by plain rational arithmetic, without the solver.

    Parameters
    ----------
    statement : str
        Name in :data:`STATEMENTS`.
    witness : mapping
        ``demands`` (n, m), positive with largest entry 1 in each row, ``credit_factor`` (n,) in [0, 1], ``claims``
        {liar: row} where the statement has a liar, and the entries of the statement's index, nodes counted from 1.
    grant : str
        Name in :data:`GRANTS`.
    mechanism : str
        Name in :data:`MECHANISMS`.

    Returns
    -------
    bool
        Whether the hypothesis holds in this instance and the conclusion does not.

    Raises
    ------
    InvalidInput
        If a name is unknown or an entry is out of its domain.

    Examples
    --------
    Two nodes of equal demands, one of them punished: it envies the other.

    >>> is_violated("envy_freeness", {"demands": ((1,), (1,)), "credit_factor": ("1/2", 1), "k": 2, "i": 1, "h": 2})
    True
    """
    entry = _check_arguments(statement, 1, 1, grant, mechanism, "nonnegative")
    demands = [tuple(Fraction(x) for x in row) for row in witness["demands"]]
    claims = {i - 1: tuple(Fraction(x) for x in row) for i, row in witness.get("claims", {}).items()}
    credit = [Fraction(psi) for psi in witness["credit_factor"]]
    for name, rows in (("demands", demands), ("claims", list(claims.values()))):
        if any(min(row) <= 0 or max(row) != 1 or len(row) != len(demands[0]) for row in rows):
            raise InvalidInput(f"witness[{name!r}]", "must be positive with largest entry 1 in each row", rows)
    if len(credit) != len(demands) or min(credit) < 0 or max(credit) > 1:
        raise InvalidInput("witness['credit_factor']", "must be one number of [0, 1] for each node", credit)
    index = tuple(witness[name] for name in entry.index.split())
    if index[0] != len(demands) or not all(1 <= i <= len(demands) for i in index[1:]):
        raise InvalidInput("witness", f"must have {entry.index!r} within its {len(demands)} nodes", index)
    return entry.broken(_World(demands, credit, claims, grant, mechanism), index)


def settle(
    statement: str,
    n: int,
    m: int,
    *,
    grant: str = "scaled",
    mechanism: str = "cbdrf",
    credit: str = "nonnegative",
    method: str = "auto",
    rlimit: int = 1_000_000,
    tries: int = 2000,
) -> SettledGrant:
    """Settle a statement for all real instances with up to `n` nodes and with `m` resources.

    Parameters
    ----------
    statement : str
        Name in :data:`STATEMENTS`.
    n, m : int
        Numbers of nodes and of resources, at least 1.
    grant : str
        Name in :data:`GRANTS`.
    mechanism : str
        Name in :data:`MECHANISMS`.
    credit : {"nonnegative", "positive"}
        Domain of the credit factors: [0, 1] or (0, 1].
    method : {"auto", "linear", "nonlinear"}
        ``linear`` asks the relaxation only and so never refutes, ``nonlinear`` only asks with true products. ``auto``
        asks the relaxation, then tries small instances, then asks with true products what is still open.
    rlimit : int
        Resource limit of each polynomial question in z3's units; a linear one may use 50 times as much, because a
        unit is that much cheaper there.
    tries : int
        How many small instances are tried for each case.

    Returns
    -------
    SettledGrant
        ``vacuous`` counts the cases whose premises are impossible; where all are, the status is ``"vacuous"``.

    Raises
    ------
    InvalidInput
        If an argument is out of its domain.
    MissingDependency
        If z3-solver is not installed.

    Notes
    -----
    A question that z3 does not finish within `rlimit` counts as unknown, and a statement with an unknown case and no
    counterexample is unknown. A counterexample is reported only after plain rational arithmetic and the solver both
    confirmed it at the same rational instance. Settling stops at the first counterexample.

    Examples
    --------
    >>> settle("strategy_proofness", 2, 2, grant="capped").status
    'holds'
    >>> answer = settle("strategy_proofness", 2, 2, grant="capped_at_drf")
    >>> answer.status, str(answer.witness["tasks"][0]), str(answer.witness["true_tasks_of_liar"])
    ('refuted', '7/8', '9/10')
    """
    entry = _check_arguments(statement, n, m, grant, mechanism, credit)
    settling = settle_cases(
        [_Case(entry, index, m, grant, mechanism, credit) for index in entry.indices(n)],
        method=method, rlimit=rlimit, tries=tries, largest=4, at_once=True,
    )
    return SettledGrant(
        statement=statement, n=n, m=m, demands="positive", mechanism=mechanism, status=settling.status,
        **settling.counts(), grant=grant, credit=credit,
    )  # fmt: skip
