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
arithmetic on fractions, which fills shares round by round and shares nothing with the encodings.

References
----------
Lu D., Ma J., Wang Y., Xi N., Zhang L., Meng X. Credit-based DRF (cbDRF): fair allocation of multiple resources under
dynamic demands (Chinese). Journal of Xidian University 41(3), 2014. Equations (1)-(7), Corollary 2, Theorems 3-6.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from book.common.arrivals import one
from book.common.mutants import double_first, whole_need
from book.common.oracle_drf import exact_tasks
from book.common.runs import choices
from book.common.settle import (
    BaseCase,
    BaseEncoding,
    Row,
    Statement,
    demand_rows,
    each_k,
    each_k_i,
    each_k_i_h,
    settle_cases,
)
from book.common.smt import Answer, Settled

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
#: How fast a share rises with the level, where it is not 1.
_PACES = {"first_favoured": double_first, "claims_rewarded": whole_need}


# ---------------------------------------------------------------------------------------------------------------
# Plain rational arithmetic: judges witnesses, knows nothing of the solver.
# ---------------------------------------------------------------------------------------------------------------


def _filled(
    demands: Sequence[Row], rates: Sequence[Fraction], pool: Fraction, bounds: Sequence[Fraction | None] | None = None
) -> list[Fraction]:
    """Raise all shares at their rates until a resource is used up; who reaches its bound stops.

    Demands are positive with largest entry 1: tasks are shares. Who has no rate or no room gets nothing.
    """
    served = [i for i, rate in enumerate(rates) if rate > 0 and (bounds is None or bounds[i] != 0)]
    shares = [Fraction(0)] * len(demands)
    if served:
        limits = None if bounds is None else [bounds[i] for i in served]
        pools = [pool] * len(demands[0])
        found = exact_tasks([demands[i] for i in served], [rates[i] for i in served], pools, limits)
        for i, share in zip(served, found, strict=True):
            shares[i] = share
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
        rates = [_PACES.get(self.mechanism, one)(i, rows, self.psi) for i in range(self.n)]
        pool = _POOL.get(self.mechanism, Fraction(1))
        if self.grant == "weighted":
            return _filled(rows, [f * rate for f, rate in zip(factors, rates, strict=True)], pool)
        plain = _filled(rows, rates, pool)
        if self.grant == "drf":
            return plain
        if self.grant == "scaled":
            return [f * share for f, share in zip(factors, plain, strict=True)]
        whole = [Fraction(1, self.n)] * self.n if self.grant == "capped" else plain
        bounds = [None if f == 1 else f * most for f, most in zip(factors, whole, strict=True)]
        return _filled(rows, rates, pool, bounds)

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
            self.premises += [psi >= 0, psi <= 1]
        self.share = self.granted("s", self.psi, self.d)

    def mul(self, left: Any, right: Any) -> Any:
        """Return the product of two nonnegative variables, products or constants."""
        for factor, other in ((left, right), (right, left)):
            if self.z3.is_rational_value(factor) and factor.as_fraction() == 1:
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

    def others(self) -> list[Any]:
        """Shares in any other allocation of the pool."""
        q = [self.real(f"q{i + 1}") for i in range(self.n)]
        self.premises += [share >= 0 for share in q]
        self._fits(self.d, q, self.number(1))
        return q


# Each pair of functions below is one statement: over the encoding, then over an instance in fractions.
# Hypotheses are separate from conclusions so that an impossible hypothesis is noticed. Nodes count from 0; k is their
# number.


def _feasibility(e: _Encoding, k: int) -> tuple[Any, Any]:
    return True, e.z3.And([use <= 1 for use in e.uses(e.d, e.share)])


def _feasibility_judge(v: _World, k: int) -> tuple[bool, bool]:
    return True, v.slack() >= 0


def _sharing(e: _Encoding, k: int, i: int, good: bool = False) -> tuple[Any, Any]:
    return e.psi[i] == 1 if good else True, e.share[i] >= e.number(Fraction(1, k))


def _sharing_judge(v: _World, k: int, i: int, good: bool = False) -> tuple[bool, bool]:
    return v.psi[i] == 1 or not good, v.share[i] >= Fraction(1, k)


def _sharing_by_record(e: _Encoding, k: int, i: int) -> tuple[Any, Any]:
    alone = e.number(Fraction(1, k))
    # A product like any other, so that the relaxation compares it with others of psi_i; its value is known.
    part = e.mul(e.psi[i], alone)
    e.premises.append(part == e.psi[i] * alone)
    return True, e.share[i] >= part


def _sharing_by_record_judge(v: _World, k: int, i: int) -> tuple[bool, bool]:
    return True, v.share[i] >= v.psi[i] / k


def _envy(e: _Encoding, k: int, i: int, h: int, justified: bool = False) -> tuple[Any, Any]:
    envies = [e.mul(e.d[h][j], e.share[h]) > e.mul(e.d[i][j], e.share[i]) for j in range(e.m)]
    return e.psi[h] <= e.psi[i] if justified else True, e.z3.Not(e.z3.And(envies))


def _envy_judge(v: _World, k: int, i: int, h: int, justified: bool = False) -> tuple[bool, bool]:
    return v.psi[h] <= v.psi[i] or not justified, v.tasks_on(i, h) <= v.share[i]


def _pareto(e: _Encoding, k: int, who: str) -> tuple[Any, Any]:
    z3 = e.z3
    pairs = list(zip(e.others(), e.share, strict=True))
    better = z3.And([other >= share for other, share in pairs] + [z3.Or([other > share for other, share in pairs])])
    good = [psi == 1 for psi in e.psi]
    hypothesis = {
        "someone": z3.Or(good),
        "all": z3.And(good),
        "someone with credit": z3.Or([psi > 0 for psi in e.psi]),
    }
    return hypothesis.get(who, True), z3.Not(better)


def _pareto_judge(v: _World, k: int, who: str) -> tuple[bool, bool]:
    hypothesis = {"someone": max(v.psi) == 1, "all": min(v.psi) == 1, "someone with credit": max(v.psi) > 0}
    # Demands are positive: somebody can get more at nobody's cost exactly if some of every resource is left.
    return hypothesis.get(who, True), v.slack() <= 0


def _strategy(e: _Encoding, k: int, i: int) -> tuple[Any, Any]:
    lied = e.lying()[i]
    # More true tasks: more of every resource than the honest bundle has.
    gains = [e.mul(claim, lied) > e.mul(true, e.share[i]) for claim, true in zip(e.claim[i], e.d[i], strict=True)]
    return True, e.z3.Not(e.z3.And(gains))


def _strategy_judge(v: _World, k: int, i: int) -> tuple[bool, bool]:
    return True, v.tasks_lying(i) <= v.share[i]


def _punitive(e: _Encoding, k: int, i: int) -> tuple[Any, Any]:
    company = e.z3.Or([psi > 0 for h, psi in enumerate(e.psi) if h != i])
    return e.z3.And([e.psi[i] < 1, company]), e.share[i] < e.clean(i)[i]


def _punitive_judge(v: _World, k: int, i: int) -> tuple[bool, bool]:
    company = any(psi > 0 for h, psi in enumerate(v.psi) if h != i)
    return v.psi[i] < 1 and company, v.share[i] < v.granted(clean=i)[i]


def _never_below_drf(e: _Encoding, k: int, i: int) -> tuple[Any, Any]:
    return e.psi[i] == 1, e.share[i] >= e.drf()


def _never_below_drf_judge(v: _World, k: int, i: int) -> tuple[bool, bool]:
    return v.psi[i] == 1, v.share[i] >= v.drf()


def _punished_below_drf(e: _Encoding, k: int, i: int) -> tuple[Any, Any]:
    return e.psi[i] < 1, e.share[i] < e.drf()


def _punished_below_drf_judge(v: _World, k: int, i: int) -> tuple[bool, bool]:
    return v.psi[i] < 1, v.share[i] < v.drf()


def _same_as_drf(e: _Encoding, k: int, clean: bool = False) -> tuple[Any, Any]:
    level = e.drf()
    first = e.psi[0] == 1 if clean else e.psi[0] > 0
    equal = e.z3.And([first] + [psi == e.psi[0] for psi in e.psi[1:]])
    return equal, e.z3.And([share == level for share in e.share])


def _same_as_drf_judge(v: _World, k: int, clean: bool = False) -> tuple[bool, bool]:
    first = v.psi[0] == 1 if clean else v.psi[0] > 0
    return first and len(set(v.psi)) == 1, all(share == v.drf() for share in v.share)


_WASTED = {"capacity_wasted": 1}

#: With bounds that follow DRF, node 1 overstates its lesser demand: DRF shares fall, and with them the bound of node 2.
_LOWERS_THE_BOUND = ((("1", "1/3"), ("1/3", "1")), ("1", "1/2"), {0: ("1", "2/3")})

#: Every statement that can be settled, by name; `caught` holds of every grant for which the statement does.
STATEMENTS: dict[str, Statement] = {
    "feasibility": Statement(
        "(1)", "No more of any resource is granted than there is.", "k", each_k,
        _feasibility, _feasibility_judge, {"capacity_overshot": 1},
    ),
    "sharing_incentive": Statement(
        "Corollary 2, literally", "Every node gets at least what it could run alone on 1/n of the pool.", "k i",
        each_k_i, _sharing, _sharing_judge, _WASTED,
    ),
    "sharing_incentive_good_standing": Statement(
        "ours", "Every node with psi_i = 1 gets at least what it could run alone.", "k i", each_k_i,
        partial(_sharing, good=True), partial(_sharing_judge, good=True), _WASTED,
    ),
    "sharing_incentive_scaled_by_record": Statement(
        "ours", "Every node gets at least psi_i times what it could run alone.", "k i", each_k_i,
        _sharing_by_record, _sharing_by_record_judge, _WASTED,
    ),
    "envy_freeness": Statement(
        "Theorem 4, literally", "No node could run more tasks on another's bundle than on its own.", "k i h",
        each_k_i_h, _envy, _envy_judge, {"first_favoured": 2},
    ),
    "justified_envy_freeness": Statement(
        "ours", "No node could run more tasks on the bundle of a node whose record is no better, psi_h <= psi_i.",
        "k i h", each_k_i_h, partial(_envy, justified=True), partial(_envy_judge, justified=True),
        {"first_favoured": 2},
    ),
    **{
        name: Statement(
            locator, f"No allocation of the pool gives one node more and none less{where}.", "k", each_k,
            partial(_pareto, who=who), partial(_pareto_judge, who=who), _WASTED,
        )
        for name, locator, who, where in (
            ("pareto_optimality", "Theorem 6, literally", "any", ""),
            ("pareto_optimality_someone_with_credit", "ours", "someone with credit", ", where psi > 0 for some node"),
            ("pareto_optimality_someone_in_good_standing", "ours", "someone", ", where psi = 1 for some node"),
            ("pareto_optimality_all_in_good_standing", "Theorem 6", "all", ", where psi = 1 for all nodes"),
        )
    },
    "strategy_proofness": Statement(
        "Theorem 5", "Credit factors given, no claim lets a node run more true tasks than the truth does.", "k i",
        each_k_i, _strategy, _strategy_judge, {"claims_rewarded": 2}, liars=1, suggestions=(_LOWERS_THE_BOUND,),
    ),
    "punitive_in_company": Statement(
        "Theorem 3", "A node with psi_i < 1 gets fewer tasks than with psi_i = 1, all else equal, where psi > 0 for "
        "some other node.", "k i", each_k_i, _punitive, _punitive_judge, {"credit_ignored": 2, "credit_inverted": 2},
    ),
    "never_below_drf_in_good_standing": Statement(
        "ours", "A node with psi_i = 1 gets at least what DRF gives it.", "k i", each_k_i,
        _never_below_drf, _never_below_drf_judge, _WASTED,
    ),
    "punished_below_drf": Statement(
        "ours", "A node with psi_i < 1 gets less than DRF gives it.", "k i", each_k_i,
        _punished_below_drf, _punished_below_drf_judge, {"credit_ignored": 1},
    ),
    "clean_records_as_drf": Statement(
        "(7)", "Where psi = 1 for all nodes, all get what DRF gives them.", "k", each_k,
        partial(_same_as_drf, clean=True), partial(_same_as_drf_judge, clean=True), _WASTED,
    ),
    "equal_records_as_drf": Statement(
        "ours", "Where all nodes have the same psi > 0, all get what DRF gives them.", "k", each_k,
        _same_as_drf, _same_as_drf_judge, _WASTED,
    ),
}  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------
# Questions and answers
# ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Case(BaseCase[_Encoding, _World]):
    largest = 4

    grant: str

    def encoding(self, linear: bool, dominant: Sequence[int] | None) -> _Encoding:
        return _Encoding(self.users, self.m, self.liars, self.grant, self.mechanism, linear, dominant)

    def inputs(self, e: _Encoding, world: _World) -> Iterator[tuple[Any, Fraction]]:
        yield from zip(e.psi, world.psi, strict=True)
        for row, values in [*zip(e.d, world.d, strict=True), *((e.claim[i], world.claims[i]) for i in self.liars)]:
            yield from zip(row, values, strict=True)

    def instance(self, demands: Sequence[Row], numbers: Sequence[Fraction], claims: Mapping[int, Row]) -> _World:
        return _World(demands, numbers, claims, self.grant, self.mechanism)

    def near(self, answer: Answer, precision: int) -> _World | None:
        one = Fraction(1)
        demands = self.near_rows(answer, "d", dict.fromkeys(range(self.users), one), precision)
        claims = self.near_rows(answer, "claim", dict.fromkeys(self.liars, one), precision)
        # What no constraint mentions is free.
        exact = [min(one, answer.values.get(f"psi{i + 1}", one)) for i in range(self.users)]
        if any(min(r) <= 0 or max(r) != 1 for r in (*demands.values(), *claims.values())) or min(exact) < 0:
            return None
        return self.instance(list(demands.values()), [psi.limit_denominator(precision) for psi in exact], claims)

    def instances(self) -> Iterator[_World]:
        """All instances ordered by (common denominator of the demands) + (that of the credit factors).

        A credit factor of 0 counts as a half would: it is a special case and shows less.
        """
        for size in range(2, 2 * self.largest + 1):
            for q in range(max(1, size - self.largest), min(size - 1, self.largest) + 1):
                p = size - q
                credits = [
                    credit
                    for credit in itertools.product([Fraction(x, p) for x in range(p, -1, -1)], repeat=self.users)
                    if math.lcm(*(psi.denominator for psi in credit), 2 if min(credit) == 0 else 1) == p
                ]
                for chosen in demand_rows(self.rows, self.m, q):
                    claims = dict(zip(self.liars, chosen[self.users :], strict=True))
                    yield from (self.instance(chosen[: self.users], credit, claims) for credit in credits)

    def describe(self, world: _World) -> dict[str, Any]:
        witness: dict[str, Any] = {
            "demands": world.d,
            "credit_factor": world.psi,
            "claims": {i + 1: row for i, row in world.claims.items()},
            **dict(zip(self.entry.index.split(), self.index, strict=True)),
            "tasks": tuple(world.share),
            "drf_tasks": (world.drf(),) * world.n,
        }
        for i in self.liars:
            witness["tasks_under_lie"] = tuple(world.granted(lying=True))
            witness["true_tasks_of_liar"] = world.tasks_lying(i)
        if self.entry.locator == "Theorem 3":
            witness["tasks_with_clean_record"] = tuple(world.granted(clean=self.index[1] - 1))
        return witness


def settle(
    statement: str,
    n: int,
    m: int,
    *,
    grant: str = "scaled",
    mechanism: str = "cbdrf",
    method: str = "auto",
    rlimit: int = 1_000_000,
    tries: int = 2000,
) -> Settled:
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
    method, rlimit, tries
        See :func:`book.common.settle.settle_cases`.

    Returns
    -------
    Settled
        ``vacuous`` counts the cases whose premises are impossible; where all are, the status is ``"vacuous"``.

    Raises
    ------
    InvalidInput
        If an argument is out of its domain.
    MissingDependency
        If z3-solver is not installed.

    Examples
    --------
    >>> settle("strategy_proofness", 2, 2, grant="capped").status
    'holds'
    >>> answer = settle("strategy_proofness", 2, 2, grant="capped_at_drf")
    >>> answer.status, str(answer.witness["tasks"][0]), str(answer.witness["true_tasks_of_liar"])
    ('refuted', '7/8', '9/10')
    """
    choices(grant, "grant", list(GRANTS))
    choices(mechanism, "mechanism", list(MECHANISMS))
    return settle_cases(
        partial(_Case, grant=grant), STATEMENTS, statement=statement, n=n, m=m, demands="positive",
        mechanism=mechanism, method=method, rlimit=rlimit, tries=tries,
    )  # fmt: skip
