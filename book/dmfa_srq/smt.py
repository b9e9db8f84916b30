r"""DMFA-SRQ (Zhang, Liu, Li, Zhang 2016): its statements, settled for all real instances of a stated size.

Unknowns are the weights :math:`w_i > 0`, the demands as amounts :math:`a_{ij} = w_i d_{ij}` with
:math:`\max_j a_{ij} = w_i`, the claimed demands of liars, and the levels :math:`y_i^k = x_i^k / w_i`. In these
units step :math:`k` of the mechanism reads

.. math:: y_i^k = \max(M^k, y_i^{k-1}), \qquad \sum_{i \le k} a_{ij} y_i^k \le W_k \text{ for all } j,
          \text{ with equality for some } j,

which defines :math:`M^k` because, with positive demands, the left side grows strictly with :math:`M^k`. Nothing rests
on that remark: ``optimality`` settles it against the definition of a maximum, and ``lemma_1`` describes the optimal
solutions of the linear program (4) by dual certificates instead. Where demands may be zero, some resource with equality
must be one on which a user at level :math:`M^k` has a demand.

The conclusions are attacked twice. The *relaxation* (see :class:`book.common.smt.Products`) keeps only that products
grow in each factor; the question is then linear and is answered at once, and most proofs need no more. What it leaves
open is asked with true products (*nonlinear*), one question for every pattern of dominant resources up to renaming
of the resources. A counterexample is made rational and judged again by plain arithmetic on fractions, which
shares nothing with the encodings.

References
----------
Zhang X., Liu X., Li W., Zhang X. Dynamic fair allocation of multi-resources based on shared resource quantity
(Chinese). Journal on Communications 37(7), 2016. Model (1)-(4), Lemmas 1-4, Theorems 1-4.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from book.common.arrivals import highest, one, raised
from book.common.mutants import double_newest, inverse_first, inverse_weight, whole_need
from book.common.runs import choices
from book.common.settle import (
    BaseCase,
    BaseEncoding,
    Index,
    Row,
    Statement,
    demand_rows,
    each_k,
    each_k_i,
    each_k_i_h,
    settle_cases,
)
from book.common.smt import Answer, Settled
from fairbook.errors import InvalidInput

#: The mechanism and its mutants, each a broken variant that some statement must refute.
MECHANISMS: dict[str, str] = {
    "dmfa_srq": "the mechanism of the paper, x_i >= M w_i",
    "weights_ignored": "x_i >= M: levels do not look at the weights",
    "capacity_overshot": "the capacity is taken to be 1.01 W_k",
    "capacity_wasted": "the capacity is taken to be 0.99 W_k",
    "newest_favoured": "the newest user k gets x_k = 2 M w_k, the others x_i >= M w_i",
    "may_shrink": "x_i >= x_i^{k-1} is dropped: the static optimum of the users present",
    "first_resource": "x_i d_i1 >= M w_i: shares of resource 1 are equalised instead of dominant shares",
    "claims_rewarded": "x_i >= M w_i sum_j d_ij: who claims more of everything is given more",
}
_CAPACITY = {"capacity_overshot": Fraction(101, 100), "capacity_wasted": Fraction(99, 100)}
#: Level per unit of M, where it is not 1.
_PACES = {
    "weights_ignored": inverse_weight,
    "newest_favoured": double_newest,
    "first_resource": inverse_first,
    "claims_rewarded": whole_need,
}


# ---------------------------------------------------------------------------------------------------------------
# Plain rational arithmetic: judges witnesses, knows nothing of the solver.
# ---------------------------------------------------------------------------------------------------------------


class _World:
    """One instance in fractions and the levels that a mechanism gives in it (users from 0, steps from 1)."""

    def __init__(
        self,
        weights: Sequence[Fraction],
        demands: Sequence[Row],
        claims: Mapping[int, Row],
        mechanism: str,
    ) -> None:
        self.w = tuple(weights)
        self.d = tuple(demands)
        self.claims = dict(claims)
        self.mechanism = mechanism
        self.users = len(self.w)
        self.m = len(self.d[0])
        self.truth = self.run()

    def run(
        self, order: Sequence[int] | None = None, lying: bool = False, shrink: bool = False
    ) -> dict[tuple[int, int], Fraction]:
        order = range(self.users) if order is None else order
        steps = raised(
            [self.claims.get(i, self.d[i]) if lying else self.d[i] for i in order],
            [self.w[i] for i in order],
            _PACES.get(self.mechanism, one),
            _CAPACITY.get(self.mechanism, Fraction(1)),
            irrevocable=not (shrink or self.mechanism == "may_shrink"),
        )
        return {
            (i, k): level for k, (_, levels) in enumerate(steps, 1) for i, level in zip(order, levels, strict=False)
        }

    def total(self, k: int) -> Fraction:
        return sum(self.w[:k], Fraction(0))

    def can_grow(self, i: int, levels: Sequence[Fraction], capacity: Fraction) -> bool:
        """Whether user i alone can get more while the others keep theirs."""
        uses = [sum(self.w[h] * self.d[h][j] * level for h, level in enumerate(levels)) for j in range(self.m)]
        return all(use <= capacity and (use < capacity or self.d[i][j] == 0) for j, use in enumerate(uses))

    def step_optimum(self, k: int) -> tuple[Fraction, list[Fraction]]:
        """Optimum of (4) at step k, given what the mechanism did before: M and the least optimal levels."""
        floors = [self.truth.get((i, k - 1), Fraction(0)) for i in range(k)]
        rates = [[w * entry for entry in d] for w, d in zip(self.w[:k], self.d[:k], strict=True)]
        top = highest(rates, [1] * k, floors, self.total(k))
        return top, [max(top, floor) for floor in floors]

    def true_tasks(self, i: int, level: Fraction) -> Fraction:
        """Tasks (over the weight) that user i can run on what its claim was given at this level."""
        claim = self.claims.get(i, self.d[i])
        return min(c * level / d for c, d in zip(claim, self.d[i], strict=True) if d > 0)


# ---------------------------------------------------------------------------------------------------------------
# Encodings
# ---------------------------------------------------------------------------------------------------------------


class _Encoding(BaseEncoding):
    """Variables and constraints of one case; users from 0, steps from 1, as in `_World`."""

    def __init__(
        self,
        users: int,
        m: int,
        liars: Sequence[int],
        mechanism: str,
        nonnegative: bool,
        linear: bool,
        dominant: Sequence[int] | None = None,
    ) -> None:
        super().__init__(m, [("a", i) for i in range(users)] + [("claim", i) for i in liars], linear, dominant)
        self.users, self.liars = users, tuple(liars)
        self.mechanism, self.nonnegative = mechanism, nonnegative
        self.mul = self.products
        self.w = [self.real(f"w{i + 1}") for i in range(users)]
        # The model is homogeneous in the weights, so one of them may be fixed.
        self.premises += [self.w[0] == 1] + [w > 0 for w in self.w[1:]]
        self.a = [self.row("a", i, self.w[i], nonnegative) for i in range(users)]
        self.claim = {i: self.row("claim", i, self.w[i], nonnegative) for i in self.liars}
        self._d: dict[tuple[int, int], Any] = {}
        self.truth: dict[tuple[int, int], Any] = {}
        self.run("y", self.truth)

    def d(self, i: int, j: int) -> Any:
        """Normalised demand a_ij / w_i."""
        if (i, j) not in self._d:
            if self.dominant.get(("a", i)) == j:
                self._d[i, j] = self.number(1)
            else:
                self._d[i, j] = self.real(f"d{i + 1}_{j + 1}")
                self.premises += [self.mul(self.w[i], self._d[i, j]) == self.a[i][j], self._d[i, j] >= 0]
        return self._d[i, j]

    def total(self, k: int) -> Any:
        return self.z3.Sum(self.w[:k])

    def use(self, levels: Mapping[int, Any], j: int, rows: Mapping[int, Sequence[Any]] | None = None) -> Any:
        return self.z3.Sum([self.mul((rows or {}).get(i, self.a[i])[j], level) for i, level in levels.items()])

    def run(
        self,
        name: str,
        levels: dict[tuple[int, int], Any],
        order: Sequence[int] | None = None,
        rows: Mapping[int, Sequence[Any]] | None = None,
        first: int = 1,
        shrink: bool = False,
    ) -> None:
        """Let the mechanism run from step `first`, filling `levels`; earlier steps must be in it already."""
        z3 = self.z3
        order = range(self.users) if order is None else order
        rows = rows or {}
        for k in range(first, self.users + 1):
            present = list(order[:k])
            now = {i: self.real(f"{name}{i + 1}_{k}") for i in present}
            top = now[present[-1]] if self.mechanism not in _PACES else self.real(f"{name}_M{k}")
            raised: list[Any] = []
            for i in present:
                keep = not (shrink or self.mechanism == "may_shrink")
                before = levels.get((i, k - 1)) if keep else None
                row = rows.get(i, self.a[i])
                share, target, floor = self._share(i, row, now[i], top, before, i == present[-1])
                self.premises.append(now[i] > 0)
                if before is None:
                    self.premises.append(share == target)
                    raised.append((row, z3.BoolVal(True)))
                else:
                    self.premises.append(
                        z3.Or(z3.And(share == target, target >= floor), z3.And(share == floor, target <= floor))
                    )
                    raised.append((row, target >= floor))
            total = z3.Sum([self.w[i] for i in present])
            capacity = total * z3.RealVal(str(_CAPACITY.get(self.mechanism, 1)))
            tight = []
            for j in range(self.m):
                use = self.use(now, j, rows)
                self.premises.append(use <= capacity)
                moves = z3.Or([z3.And(up, row[j] > 0) for row, up in raised]) if self.nonnegative else True
                tight.append(z3.And(use == capacity, moves))
            self.premises.append(z3.Or(tight))
            levels.update({(i, k): level for i, level in now.items()})

    def _share(self, i: int, row: Sequence[Any], now: Any, top: Any, before: Any, newest: bool) -> tuple[Any, Any, Any]:
        """Return what the mechanism compares: the user's share, what M asks for, the share before."""
        if self.mechanism == "weights_ignored":
            return self.mul(self.w[i], now), top, None if before is None else self.mul(self.w[i], before)
        if self.mechanism == "first_resource":
            floor = None if before is None else self.mul(row[0], before)
            return self.mul(row[0], now), self.mul(self.w[i], top), floor
        if self.mechanism == "claims_rewarded":
            floor = None if before is None else self.mul(self.w[i], before)
            return self.mul(self.w[i], now), self.z3.Sum([self.mul(entry, top) for entry in row]), floor
        return now, 2 * top if self.mechanism == "newest_favoured" and newest else top, before

    def lying(self) -> dict[tuple[int, int], Any]:
        """Run once more with the liars' claims; nothing changes before the first of them arrives."""
        first = min(self.liars) + 1
        levels = {key: level for key, level in self.truth.items() if key[1] < first}
        self.run("z", levels, rows=self.claim, first=first)
        return levels

    def gains(self, i: int, lied: Any, honest: Any, strictly: bool = True) -> Any:
        """State that user i can run more true tasks on what its lie gets than on what honesty gets."""
        # Not needed for the meaning: the relaxation compares usage with that of the dominant resource only if asked to.
        self.mul(self.w[i], lied), self.mul(self.w[i], honest)
        return self.z3.And(
            [
                self.z3.Implies(
                    self.a[i][j] > 0,
                    self.mul(c, lied) > self.mul(self.a[i][j], honest)
                    if strictly
                    else self.mul(c, lied) >= self.mul(self.a[i][j], honest),
                )
                for j, c in enumerate(self.claim[i])
            ]
        )

    def others(self, k: int, capacity: Any, name: str = "q") -> list[Any]:
        """Levels of any other allocation to the first k users within a capacity."""
        q = [self.real(f"{name}{i + 1}") for i in range(k)]
        self.premises += [level >= 0 for level in q]
        self.premises += [self.use(dict(enumerate(q)), j) <= capacity for j in range(self.m)]
        return q


def _step_user_before_last(n: int) -> Iterator[Index]:
    yield from ((k, i) for k in range(1, n) for i in range(1, k + 1))


def _step_sorted_pair(n: int) -> Iterator[Index]:
    yield from ((k, i, h) for k in range(2, n + 1) for i in range(1, k) for h in range(i + 1, k + 1))


def _moves(n: int) -> Iterator[Index]:
    yield from ((t, i, p) for t in range(2, n + 1) for i in range(1, t) for p in range(i + 1, t + 1))


# Each pair of functions below is one statement: over the encoding, then over an instance in fractions.
# Hypotheses are separate from conclusions so that an impossible hypothesis is noticed. The step k or t counts from 1,
# users and places from 0: step i is the last before user i comes.


def _optimality(e: _Encoding, k: int) -> tuple[Any, Any]:
    q = e.others(k, e.total(k))
    e.premises += [q[i] >= e.truth[i, k - 1] for i in range(k - 1)]
    best = e.real("best")
    e.premises += [level >= best for level in q]
    return True, e.z3.And([e.truth[i, k] >= best for i in range(k)])


def _optimality_judge(v: _World, k: int) -> tuple[bool, bool]:
    best, _ = v.step_optimum(k)
    return True, all(v.truth[i, k] >= best for i in range(k))


def _lemma_1(e: _Encoding, k: int, i: int) -> tuple[Any, Any]:
    # (M, q) is optimal for (4) in level units exactly if multipliers of x_i >= M w_i (mu), of x_i >= x_i^{k-1} (nu)
    # and of the capacities (dual) satisfy dual feasibility and complementary slackness.
    z3 = e.z3
    q = e.others(k, e.total(k))
    before: list[Any] = [e.truth.get((h, k - 1)) for h in range(k)]
    top = e.real("M")
    dual = [e.real(f"dual{j + 1}") for j in range(e.m)]
    mu = [e.real(f"mu{h + 1}") for h in range(k)]
    nu = [e.real(f"nu{h + 1}") for h in range(k)]
    e.premises += [value >= 0 for value in dual + mu + nu]
    e.premises.append(z3.Sum(mu) == 1)
    for h in range(k):
        e.premises.append(mu[h] + nu[h] == z3.Sum([e.mul(e.a[h][j], dual[j]) for j in range(e.m)]))
        e.premises += [q[h] >= top, z3.Or(mu[h] == 0, q[h] == top)]
        # The newest user has no allocation before: its only bound is q >= 0, and q >= M > 0 at any optimum.
        e.premises += [nu[h] == 0] if before[h] is None else [q[h] >= before[h], z3.Or(nu[h] == 0, q[h] == before[h])]
    for j in range(e.m):
        e.premises.append(z3.Or(dual[j] == 0, e.use(dict(enumerate(q)), j) == e.total(k)))
    largest = q[i] == top if before[i] is None else z3.Or(q[i] == top, q[i] == before[i])
    return True, z3.And(largest, q[i] == e.truth[i, k])


def _lemma_1_judge(v: _World, k: int, i: int) -> tuple[bool, bool]:
    _, least = v.step_optimum(k)
    unique = not v.can_grow(i, least, v.total(k))
    return True, unique and v.truth[i, k] == least[i]


def _lemma_2(e: _Encoding, k: int, i: int, h: int) -> tuple[Any, Any]:
    return True, e.truth[i, k] >= e.truth[h, k]


def _lemma_2_judge(v: _World, k: int, i: int, h: int) -> tuple[bool, bool]:
    return True, v.truth[i, k] >= v.truth[h, k]


def _unchanged(e: _Encoding, k: int, i: int, h: int) -> Any:
    """Conclusion of Lemma 3 and Theorem 3: h came before i and got nothing since."""
    return e.truth[h, k] == e.truth[h, i] if h < i else e.z3.BoolVal(False)


def _unchanged_judge(v: _World, k: int, i: int, h: int) -> bool:
    return h < i and v.truth[h, k] == v.truth[h, i]


def _lemma_3(e: _Encoding, k: int, i: int, h: int) -> tuple[Any, Any]:
    return e.truth[h, k] > e.truth[i, k], _unchanged(e, k, i, h)


def _lemma_3_judge(v: _World, k: int, i: int, h: int) -> tuple[bool, bool]:
    return v.truth[h, k] > v.truth[i, k], _unchanged_judge(v, k, i, h)


def _lemma_4(e: _Encoding, t: int, i: int, when_it_rises: bool = False) -> tuple[Any, Any]:
    lied = e.lying()
    rises = [lied[i, t] > e.truth[i, t]]
    if when_it_rises and t > i + 1:
        rises += [lied[i, t] > lied[i, t - 1]]
    return e.z3.And(rises), e.z3.And([lied[h, t] >= e.truth[h, t] for h in range(t)])


def _lemma_4_judge(v: _World, t: int, i: int, when_it_rises: bool = False) -> tuple[bool, bool]:
    lied = v.run(lying=True)
    rises = lied[i, t] > v.truth[i, t]
    if when_it_rises and t > i + 1:
        rises = rises and lied[i, t] > lied[i, t - 1]
    return rises, all(lied[h, t] >= v.truth[h, t] for h in range(t))


def _theorem_1(e: _Encoding, k: int, i: int, whole_pool: bool = False) -> tuple[Any, Any]:
    q = e.others(k, e.total(e.users if whole_pool else k))
    return q[i] > e.truth[i, k], e.z3.Or([q[h] < e.truth[h, k] for h in range(k)])


def _theorem_1_judge(v: _World, k: int, i: int, whole_pool: bool = False) -> tuple[bool, bool]:
    # Whether user i could get more with everything for itself; whether it cannot get more at nobody's cost.
    capacity = v.total(v.users if whole_pool else k)
    return capacity / v.w[i] > v.truth[i, k], not v.can_grow(i, [v.truth[h, k] for h in range(k)], capacity)


def _theorem_2(e: _Encoding, k: int, i: int) -> tuple[Any, Any]:
    # N_i of i's own contribution (w_i of every resource) is w_i / max_j d_ij = w_i, that is level 1.
    return True, e.truth[i, k] >= 1


def _theorem_2_judge(v: _World, k: int, i: int) -> tuple[bool, bool]:
    alone = min(v.w[i] / d for d in v.d[i] if d > 0)
    return True, v.truth[i, k] * v.w[i] >= alone


def _theorem_3(e: _Encoding, k: int, i: int, h: int) -> tuple[Any, Any]:
    envy = []
    for j in range(e.m):
        theirs, mine = e.d(h, j), e.d(i, j)
        more = e.mul(theirs, e.truth[h, k]) > e.mul(mine, e.truth[i, k])
        envy.append(e.z3.Implies(mine > 0, more))
    return e.z3.And(envy), _unchanged(e, k, i, h)


def _theorem_3_judge(v: _World, k: int, i: int, h: int) -> tuple[bool, bool]:
    theirs = v.truth[h, k] * v.w[h]
    runs = min(theirs * d_h / d_i for d_h, d_i in zip(v.d[h], v.d[i], strict=True) if d_i > 0)
    return runs / v.w[h] > v.truth[i, k], _unchanged_judge(v, k, i, h)


def _theorem_3_printed(e: _Encoding, k: int, i: int, h: int) -> tuple[Any, Any]:
    # Printed: N_i(A_i^k) / w_h > N_i(A_i^k) / w_i, the same bundle on both sides.
    mine = e.truth[i, k]
    return e.mul(e.w[i], mine) > e.mul(e.w[h], mine), _unchanged(e, k, i, h)


def _theorem_3_printed_judge(v: _World, k: int, i: int, h: int) -> tuple[bool, bool]:
    tasks = v.truth[i, k] * v.w[i]
    return tasks / v.w[h] > tasks / v.w[i], _unchanged_judge(v, k, i, h)


def _theorem_4(e: _Encoding, t: int, i: int) -> tuple[Any, Any]:
    return True, e.z3.Not(e.gains(i, e.lying()[i, t], e.truth[i, t]))


def _theorem_4_judge(v: _World, t: int, i: int) -> tuple[bool, bool]:
    return True, v.true_tasks(i, v.run(lying=True)[i, t]) <= v.truth[i, t]


def _equation_5(e: _Encoding, k: int) -> tuple[Any, Any]:
    # M of (5) is the level of all users in the static mechanism, and no other feasible allocation gives everyone
    # that much: it is the one max-min fair allocation, that is weighted DRF.
    static: dict[tuple[int, int], Any] = {}
    e.run("s", static, first=k, shrink=True)
    level = _static_level(e, k)
    q = e.others(k, e.total(k))
    e.premises += [other >= level for other in q]
    return True, e.z3.And([static[i, k] == level for i in range(k)] + [other == level for other in q])


def _static_level(e: _Encoding, k: int) -> Any:
    level = e.real("static")
    e.premises.append(level > 0)
    uses = [e.use(dict.fromkeys(range(k), level), j) for j in range(e.m)]
    e.premises += [use <= e.total(k) for use in uses]
    e.premises.append(e.z3.Or([use == e.total(k) for use in uses]))
    return level


def _static_level_judge(v: _World, k: int) -> Fraction:
    return v.total(k) / max(sum(v.w[i] * v.d[i][j] for i in range(k)) for j in range(v.m))


def _equation_5_judge(v: _World, k: int) -> tuple[bool, bool]:
    static, level = v.run(shrink=True), _static_level_judge(v, k)
    same = all(static[i, k] == level for i in range(k))
    return True, same and not any(v.can_grow(i, [level] * k, v.total(k)) for i in range(k))


def _dynamic_below_static(e: _Encoding, k: int) -> tuple[Any, Any]:
    level = _static_level(e, k)
    return True, e.z3.Or([e.truth[i, k] <= level for i in range(k)])


def _dynamic_below_static_judge(v: _World, k: int) -> tuple[bool, bool]:
    return True, min(v.truth[i, k] for i in range(k)) <= _static_level_judge(v, k)


def _weight_order(e: _Encoding, k: int, i: int, h: int) -> tuple[Any, Any]:
    return e.w[i] > e.w[h], e.mul(e.w[i], e.truth[i, k]) >= e.mul(e.w[h], e.truth[h, k])


def _weight_order_judge(v: _World, k: int, i: int, h: int) -> tuple[bool, bool]:
    return v.w[i] > v.w[h], v.w[i] * v.truth[i, k] >= v.w[h] * v.truth[h, k]


def _moved(t: int, i: int, p: int) -> list[int]:
    """Order of arrival when user i comes at place p instead."""
    order = [u for u in range(t) if u != i]
    order.insert(p, i)
    return order


def _late_arrival(e: _Encoding, t: int, i: int, p: int) -> tuple[Any, Any]:
    late = {key: level for key, level in e.truth.items() if key[1] <= i}
    e.run("z", late, order=_moved(t, i, p), first=i + 1)
    return True, late[i, t] <= e.truth[i, t]


def _late_arrival_judge(v: _World, t: int, i: int, p: int) -> tuple[bool, bool]:
    return True, v.run(order=_moved(t, i, p))[i, t] <= v.truth[i, t]


def _coalition(e: _Encoding, t: int, i: int, h: int) -> tuple[Any, Any]:
    lied = e.lying()
    return True, e.z3.Not(e.z3.And([e.gains(u, lied[u, t], e.truth[u, t]) for u in (i, h)]))


def _coalition_judge(v: _World, t: int, i: int, h: int) -> tuple[bool, bool]:
    lied = v.run(lying=True)
    return True, not all(v.true_tasks(u, lied[u, t]) > v.truth[u, t] for u in (i, h))


def _harmless_lie(e: _Encoding, t: int, i: int, h: int) -> tuple[Any, Any]:
    lied = e.lying()
    return e.gains(i, lied[i, t], e.truth[i, t], strictly=False), lied[h, t] <= e.truth[h, t]


def _harmless_lie_judge(v: _World, t: int, i: int, h: int) -> tuple[bool, bool]:
    lied = v.run(lying=True)
    return v.true_tasks(i, lied[i, t]) >= v.truth[i, t], lied[h, t] <= v.truth[h, t]


#: Mutants that equalise something else than dominant shares over weights.
_ANY_SHARE = {"newest_favoured": 2, "weights_ignored": 2, "first_resource": 2, "claims_rewarded": 2}

#: Every statement that can be settled, by name.
STATEMENTS: dict[str, Statement] = {
    "optimality": Statement(
        "(4)", "No feasible solution of (4) has a larger M than the mechanism's least level.", "k", each_k,
        _optimality, _optimality_judge, _ANY_SHARE | {"capacity_wasted": 2},
    ),
    "lemma_1": Statement(
        "Lemma 1", "Every optimal solution of (4) has x_i^k = max(M^k w_i, x_i^{k-1}).", "k i", each_k_i,
        _lemma_1, _lemma_1_judge,
        _ANY_SHARE | {"capacity_wasted": 2, "capacity_overshot": 2, "may_shrink": 3},
    ),
    "lemma_2": Statement(
        "Lemma 2", "Levels x_i / w_i are sorted by arrival.", "k i h", _step_sorted_pair,
        _lemma_2, _lemma_2_judge, _ANY_SHARE,
    ),
    "lemma_3": Statement(
        "Lemma 3", "If h has a higher level than i at k, then h came before i and got nothing since i came.",
        "k i h", each_k_i_h, _lemma_3, _lemma_3_judge, _ANY_SHARE,
    ),
    "lemma_4_any": Statement(
        "Lemma 4, at any t", "If a lie of i raises its claimed dominant share at t, no user has less at t.",
        "t i", each_k_i, _lemma_4, _lemma_4_judge, liars=1,
    ),
    "lemma_4_rises": Statement(
        "Lemma 4, where the share rises",
        "When t raises the liar's claimed dominant share above the honest one, no user has less.",
        "t i", each_k_i, partial(_lemma_4, when_it_rises=True), partial(_lemma_4_judge, when_it_rises=True),
        {"claims_rewarded": 2}, liars=1,
    ),
    "theorem_1": Statement(
        "Theorem 1", "Within W_k, an allocation that gives one user more gives another less.", "k i", each_k_i,
        _theorem_1, _theorem_1_judge, {"capacity_wasted": 2},
    ),
    "theorem_1_whole_pool": Statement(
        "Theorem 1, read with the whole pool", "The same within the whole pool (all n contributions), k < n.",
        "k i", _step_user_before_last, partial(_theorem_1, whole_pool=True),
        partial(_theorem_1_judge, whole_pool=True), whole=True,
    ),
    "theorem_2": Statement(
        "Theorem 2", "Every user gets at least what it could run on its own contribution.", "k i", each_k_i,
        _theorem_2, _theorem_2_judge,
        {"capacity_wasted": 2, "weights_ignored": 2, "first_resource": 2, "claims_rewarded": 2},
    ),
    "theorem_3": Statement(
        "Theorem 3", "If i envies h at k, then h came before i and got nothing since i came.", "k i h", each_k_i_h,
        _theorem_3, _theorem_3_judge, {"weights_ignored": 2},
    ),
    "theorem_3_printed": Statement(
        "Section 4, property 3, as printed", "The same with envy as printed, N_i(A_i)/w_h > N_i(A_i)/w_i.",
        "k i h", each_k_i_h, _theorem_3_printed, _theorem_3_printed_judge,
    ),
    "theorem_4": Statement(
        "Theorem 4", "A lie about its demands never lets a user run more true tasks, at any t.", "t i", each_k_i,
        _theorem_4, _theorem_4_judge, {"claims_rewarded": 2}, liars=1,
    ),
    "equation_5": Statement(
        "(5)",
        "W_k / max_j sum w_i d_ij is the static optimum, and giving it to all is the one max-min fair allocation.",
        "k", each_k, _equation_5, _equation_5_judge,
        _ANY_SHARE | {"capacity_wasted": 2, "capacity_overshot": 2},
    ),
    "dynamic_below_static": Statement(
        "Figure 5", "The least level is at most the static optimum (5).", "k", each_k,
        _dynamic_below_static, _dynamic_below_static_judge, {"capacity_overshot": 2},
    ),
    "weight_order": Statement(
        "Figures 3 and 4", "Who contributes more gets at least as much.", "k i h", each_k_i_h,
        _weight_order, _weight_order_judge,
    ),
    "late_arrival": Statement(
        "ours", "A user that comes later (others in the same order) never ends with more, at any t after.",
        "t i p", _moves, _late_arrival, _late_arrival_judge, {"newest_favoured": 2},
    ),
    "coalition_both_gain": Statement(
        "ours", "Two users never both run more true tasks at t by lying together.", "t i h", _step_sorted_pair,
        _coalition, _coalition_judge, {"claims_rewarded": 3}, liars=2,
    ),
    "harmless_lie": Statement(
        "ours", "A lie of i that costs i no true tasks at t gives no other user h more at t.", "t i h", each_k_i_h,
        _harmless_lie, _harmless_lie_judge, liars=1,
    ),
}  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------
# Questions and answers
# ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Case(BaseCase[_Encoding, _World]):
    largest = 3

    nonnegative: bool

    def encoding(self, linear: bool, dominant: Sequence[int] | None) -> _Encoding:
        return _Encoding(self.users, self.m, self.liars, self.mechanism, self.nonnegative, linear, dominant)

    def instance(self, demands: Sequence[Row], numbers: Sequence[Fraction], claims: Mapping[int, Row]) -> _World:
        return _World(numbers, demands, claims, self.mechanism)

    def inputs(self, e: _Encoding, world: _World) -> Iterator[tuple[Any, Fraction]]:
        weights = [w / world.w[0] for w in world.w]
        for i, w in enumerate(weights):
            yield e.w[i], w
            yield from ((e.a[i][j], w * world.d[i][j]) for j in range(self.m))
        for i, row in e.claim.items():
            yield from ((row[j], weights[i] * world.claims[i][j]) for j in range(self.m))

    def near(self, answer: Answer, precision: int) -> _World | None:
        weights = {i: answer.values.get(f"w{i + 1}", Fraction(1)) for i in range(self.users)}
        demands = self.near_rows(answer, "a", weights, precision)
        claims = self.near_rows(answer, "claim", {i: weights[i] for i in self.liars}, precision)
        rounded = [w.limit_denominator(precision) for w in weights.values()]
        rows = [*demands.values(), *claims.values()]
        positive = all(x > 0 for r in rows for x in r) or self.nonnegative
        if min(rounded) <= 0 or not positive or any(max(r) != 1 for r in rows):
            return None
        return self.instance(list(demands.values()), rounded, claims)

    def instances(self) -> Iterator[_World]:
        """All instances with integer weights, ordered by (common denominator of the demands) + (largest weight)."""
        for size in range(2, 2 * self.largest + 1):
            for top in range(max(1, size - self.largest), min(size - 1, self.largest) + 1):
                for integers in itertools.product(range(1, top + 1), repeat=self.users):
                    if max(integers) != top or math.gcd(*integers) != 1:
                        continue
                    weights = [Fraction(w) for w in integers]
                    for chosen in demand_rows(self.rows, self.m, size - top, self.nonnegative):
                        claims = dict(zip(self.liars, chosen[self.users :], strict=True))
                        yield self.instance(chosen[: self.users], weights, claims)

    def describe(self, world: _World) -> dict[str, Any]:
        runs = {"levels": world.truth} | ({"levels_under_lie": world.run(lying=True)} if world.claims else {})
        steps = range(1, world.users + 1)
        return {
            "weights": world.w,
            "demands": world.d,
            "claims": {i + 1: row for i, row in world.claims.items()},
            **dict(zip(self.entry.index.split(), self.index, strict=True)),
        } | {name: tuple(tuple(run[i, k] for i in range(k)) for k in steps) for name, run in runs.items()}


def is_violated(statement: str, witness: Mapping[str, Any], mechanism: str = "dmfa_srq") -> bool:
    """Judge a witness by plain rational arithmetic, without the solver.

    Parameters
    ----------
    statement : str
        Name in :data:`STATEMENTS`.
    witness : mapping
        ``weights`` (users,), ``demands`` (users, m) with largest entry 1 in each row, ``claims`` {liar: row} where
        the statement has liars, and the entries of the statement's index, users counted from 1.
    mechanism : str
        Name in :data:`MECHANISMS`.

    Returns
    -------
    bool
        Whether hypothesis and premises hold in this instance and the conclusion does not.

    Examples
    --------
    Two users, the first with twice the weight: it "envies" the later one in the printed sense.

    >>> is_violated("theorem_3_printed", {"weights": (2, 1), "demands": ((1,), (1,)), "k": 2, "i": 1, "h": 2})
    True
    """
    entry = STATEMENTS[statement]
    world = _World(
        [Fraction(w) for w in witness["weights"]],
        [tuple(Fraction(x) for x in row) for row in witness["demands"]],
        {i - 1: tuple(Fraction(x) for x in row) for i, row in witness.get("claims", {}).items()},
        mechanism,
    )
    return entry.broken(world, tuple(witness[name] for name in entry.index.split()))


def settle(
    statement: str,
    n: int,
    m: int,
    *,
    demands: str = "positive",
    mechanism: str = "dmfa_srq",
    method: str = "auto",
    rlimit: int = 1_000_000,
    tries: int = 500,
) -> Settled:
    """Settle a statement for all real instances with up to `n` users and with `m` resources.

    Parameters
    ----------
    statement : str
        Name in :data:`STATEMENTS`.
    n, m : int
        Numbers of users and of resources, at least 1.
    demands : {"positive", "nonnegative"}
        The paper's domain, or the one where some demands may be zero.
    mechanism : str
        Name in :data:`MECHANISMS`.
    method, rlimit, tries
        See :func:`book.common.settle.settle_cases`.

    Returns
    -------
    Settled

    Raises
    ------
    InvalidInput
        If an argument is out of its domain.
    MissingDependency
        If z3-solver is not installed.

    Examples
    --------
    >>> sharing = settle("theorem_2", 2, 2)
    >>> sharing.status, sharing.premises_satisfiable, sharing.cases
    ('holds', True, 3)
    >>> settle("theorem_2", 2, 2, mechanism="capacity_wasted").status
    'refuted'
    """
    choices(mechanism, "mechanism", list(MECHANISMS))
    choices(demands, "demands", ("positive", "nonnegative"))
    if mechanism == "first_resource" and demands == "nonnegative":
        raise InvalidInput("mechanism", "must not divide by demands that may be zero", mechanism)
    return settle_cases(
        partial(_Case, nonnegative=demands == "nonnegative"), STATEMENTS, statement=statement, n=n, m=m,
        demands=demands, mechanism=mechanism, method=method, rlimit=rlimit, tries=tries,
    )  # fmt: skip
