"""DMFA-SRQ: dynamic weighted dominant resource fairness (Zhang, Liu, Li, Zhang 2016).

Users arrive one at a time, bring w_i of every resource and never get less than they once had. At each arrival
the lowest level (dominant share / weight) is raised as far as the pool allows, model (4) of the paper.

* :func:`dmfa_srq` is the engine: a stack of groups of equal level, O(n m) for n arrivals together.
* :func:`exact_levels` runs the same steps in exact fractions.
* :func:`static_optimum` is equation (5): everything shared out anew at each arrival.
* :class:`DmfaSrq` takes one arrival or departure at a time and can be saved and restored.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from fairbook.decimals import DOUBTFUL, MOST, UNIT, decimals, enough_digits
from fairbook.errors import InvalidInput
from fairbook.kernels import kernel, put
from fairbook.mechanisms.saved import Stateful, names_for_json
from fairbook.model.allocation import Allocation, used_up
from fairbook.model.dynamic import DynamicAllocation
from fairbook.model.exact import exact_instance
from fairbook.model.inputs import (
    LARGEST,
    SMALLEST,
    FloatArray,
    Named,
    as_positive,
    check_demands,
    check_newcomer,
    check_positive,
    demand_matrix,
    names_or_number,
    per_resource,
    per_user,
    refuse,
)
from fairbook.model.instance import takes_instance
from fairbook.model.result import labels_or_positions, position

__all__ = ["DmfaSrq", "dmfa_srq", "exact_levels", "static_optimum"]

# -------------------------------------------------------------------------------------------------- the engine


#: Up to this many resources the state of the engine is held in tuples, which compiled code keeps in registers (a
#: quarter faster at m = 2); beyond, in arrays.
_IN_REGISTERS = 8


def _zeros(m: int) -> Any:
    """Give four times m zeros in the containers that suit the compiled engine."""
    return ((0.0,) * m,) * 4 if m <= _IN_REGISTERS else np.zeros((4, m))


def _resources(top: int, height: Any, rates: Any, *_: Any) -> float:
    """Steps of a rise: most merge with one group or with none."""
    return 4.0 * len(rates)


@kernel(_resources, forceinline=True)
def _rise(
    top: int, height: Any, rates: Any, below: Any, rates_below: Any, level: Any, rate: Any, slack: Any, zero: Any
) -> Any:
    """Raise a group until a resource ends, merging it with each group of the stack that it reaches; push the result.

    The stack holds groups of users with equal level, the highest at the bottom (Lemma 2). ``level[g]`` is the
    level of group g, ``rate[g, j]`` what it takes of resource j per unit of level, ``slack[j]`` what is left.
    ``height`` and ``rates`` are level and rates of the group that rises, which is not on the stack; ``below`` and
    ``rates_below`` repeat those of group ``top``, if there is one: what was computed a moment ago is at hand sooner
    than what was stored. Returns the new top, its level and rates, the resource that stopped the rise, and the slack.

    The slack is the state, never "capacity minus use": with weights 10^6 apart that difference loses nine digits.
    Written with + - * / and comparisons only, so that it also runs on fractions, whose zero the caller passes.
    """
    m = len(slack)
    while top >= 0:
        step = below - height
        reaches = True
        for j in range(m):
            if rates[j] * step > slack[j]:
                reaches = False
        if not reaches:
            break
        for j in range(m):
            slack = put(slack, j, slack[j] - rates[j] * step)
            rates = put(rates, j, rates[j] + rates_below[j])
        height = below
        top -= 1
        if top >= 0:
            below = level[top]
            for j in range(m):
                rates_below = put(rates_below, j, rate[top, j])
    stop = 0
    step = np.inf
    for j in range(m):
        if rates[j] > 0:
            room = slack[j] / rates[j]
            if room < step:
                step = room
                stop = j
    for j in range(m):
        slack = put(slack, j, max(slack[j] - rates[j] * step, zero))
    slack = put(slack, stop, zero)  # used up by definition, not up to rounding
    top += 1
    height += step
    level[top] = height
    for j in range(m):
        rate[top, j] = rates[j]
    return top, height, rates, stop, slack


@kernel()
def _run(
    demands: Any, weights: Any, levels: Any, binding: Any, rates: Any, rates_below: Any, slack: Any, errors: Any
) -> float:
    """All arrivals, from a state of zeros. Returns the doubt in a level, or -1 at the first entry that is not valid.

    ``errors`` (zeros) bounds that of the slack. It ends where a resource does, unless another ends with it: then it is
    rounding that decides which of the two is empty, and which nearly so.
    """
    n, m = len(weights), len(slack)
    level, rate = np.empty(n), np.empty((n, m))
    top = -1
    height = 0.0
    doubt = 0.0
    for k in range(n):
        weight = weights[k]
        valid = weight >= SMALLEST and weight <= LARGEST  # false for NaN, too
        largest = 0.0
        for j in range(m):
            d = demands[k, j]
            valid &= d == 0.0 or (d >= SMALLEST and d <= LARGEST)
            largest = max(largest, d)
        if not valid or largest == 0.0:
            return -1.0
        scale = weight / largest
        for j in range(m):
            rates = put(rates, j, demands[k, j] * scale)
            slack = put(slack, j, slack[j] + weight)
            errors = put(errors, j, errors[j] + UNIT * slack[j])
            # seen from one resource a level is concave in what is left, and so no further off, in parts, than that
            doubt = max(doubt, errors[j] / slack[j])
        top, height, rates, binding[k], slack = _rise(top, 0.0, rates, height, rates_below, level, rate, slack, 0.0)
        levels[k] = height
        stop = binding[k]
        error = errors[stop] / rates[stop]
        alone = True
        for j in range(m):
            if j != stop:
                errors = put(errors, j, errors[j] + error * rates[j])
                alone &= slack[j] > errors[j]
        if alone:
            errors = put(errors, stop, 0.0)
        rates, rates_below = rates_below, rates  # for the next arrival this group is the one below
    return doubt


def _checked_shapes(demands: Any, weights: Any) -> tuple[Named, FloatArray]:
    named = demand_matrix(demands)
    return named, per_user(weights, len(named.values), named.users, "weights")


def checked_arrivals(demands: Any, weights: Any) -> tuple[Named, FloatArray]:
    """Check demands (n, m) and amounts that users bring (n,), in order of arrival."""
    named, amounts = _checked_shapes(demands, weights)
    check_demands(named.values)
    check_positive(amounts, "weights")
    return named, amounts


@takes_instance
def dmfa_srq(demands: Any, *, weights: Any) -> DynamicAllocation:
    """Allocate at each arrival by DMFA-SRQ, model (4) of Zhang et al. 2016, with the group stack.

    Parameters
    ----------
    demands : array_like or DataFrame, shape (n, m)
        Resource per task, users in order of arrival. The paper asks for positive entries; zeros are
        accepted, and then Pareto optimality is no longer promised.
    weights : array_like or Series, shape (n,)
        Amount of *every* resource that each user brings, in the unit of the demands, positive. The pool after
        k arrivals is the sum of the first k. (The paper scales the sum to 1; nothing here needs that.)

    Returns
    -------
    DynamicAllocation
        ``levels`` (n,) = M^1, ..., M^n; ``tasks`` (n,) after the last arrival, with ``tasks @ demands`` the use;
        ``tasks_at(k)`` after arrival k, counted from 1.

    Raises
    ------
    InvalidInput
        Naming argument, rule and value.

    Notes
    -----
    Cost O(n m) for all arrivals together: each arrival pushes one group, each merge removes one. Memory O(n m).
    ``tasks_at`` costs O(k m) a call. After 10^6 arrivals the constraints hold to about 1e-13.
    What is left of a resource is a difference of large numbers, and a newcomer with little weight may live on it. Where
    that leaves a level in doubt by 1e-10 of it, all is worked out in decimals, a thousand times slower: each level is
    right to 1e-9 for up to 1000 arrivals, however far apart weights and demands lie. With more arrivals it is right to
    about 1e-15 times the pool over the newcomer's weight.

    References
    ----------
    Zhang, Liu, Li, Zhang, Journal on Communications 37(7), 2016, model (4) and Lemmas 1-3. The stack is ours.

    Examples
    --------
    Figure 1 of the paper: three users, the third brings half of the pool.

    >>> r = dmfa_srq([[1, 1/2], [1/2, 1], [1/2, 1]], weights=[1/4, 1/4, 1/2])
    >>> [r.tasks_at(k).round(4).tolist() for k in (1, 2, 3)]
    [[0.25], [0.3333, 0.3333], [0.3333, 0.3333, 0.5]]
    >>> r.levels.round(4)
    array([1.    , 1.3333, 1.    ])
    """
    named, amounts = _checked_shapes(demands, weights)
    values = named.values
    n, m = values.shape
    levels = np.empty(n)
    binding = np.empty(n, dtype=np.int32)
    doubt = _run(values, amounts, levels, binding, *_zeros(m))
    if doubt < 0:
        refuse(values, amounts)
    if not doubt <= DOUBTFUL and n <= MOST:
        with enough_digits(m, values, amounts):
            exact, stops = _levels(decimals(values).tolist(), decimals(amounts).tolist(), Decimal(0))
        if not np.allclose(levels, np.array(exact, dtype=np.float64), rtol=1e-12, atol=0):
            levels[:], binding[:] = exact, stops
    return DynamicAllocation(levels, binding, values, amounts, named.users, named.resources)


def exact_levels(demands: Sequence[Sequence[Any]], weights: Sequence[Any]) -> list[Fraction]:
    """Run the engine in exact fractions: M^1, ..., M^n for small instances and witnesses.

    Parameters
    ----------
    demands, weights
        As for :func:`dmfa_srq`; anything that ``fractions.Fraction`` takes (floats count at face value).

    Raises
    ------
    InvalidInput
        Naming argument, rule and value.

    Notes
    -----
    Cost O(n m) operations on fractions whose digits grow with n.

    Examples
    --------
    >>> [str(M) for M in exact_levels([["1", "1/2"], ["1/2", "1"]], ["1/4", "1/4"])]
    ['1', '4/3']
    """
    if weights is None:
        raise InvalidInput("weights", "must be given", weights)
    rows, amounts, _, _ = exact_instance(demands, weights)
    return _levels(rows, amounts, Fraction(0))[0]


def _levels(rows: Sequence[Sequence[Any]], amounts: Sequence[Any], zero: Any) -> tuple[list[Any], list[int]]:
    """Run the engine in the numbers that the zero is one of; give M^1, ..., M^n and what binds at each arrival."""
    n, m = len(rows), len(rows[0])
    level, rate = np.full(n, zero), np.full((n, m), zero)
    slack = rates = (zero,) * m
    top, height, levels, binding = -1, zero, [], []
    for row, amount in zip(rows, amounts, strict=True):
        slack = tuple(left + amount for left in slack)
        own = tuple(d * amount / max(row) for d in row)
        top, height, rates, stop, slack = _rise.py_func(top, zero, own, height, rates, level, rate, slack, zero)
        levels.append(height)
        binding.append(stop)
    return levels, binding


@kernel()
def _anew(demands: Any, weights: Any, levels: Any, binding: Any) -> None:
    """Share out all that is there at each arrival, from what all need for a level of one. Cost O(n m)."""
    pool, need = 0.0, np.zeros(demands.shape[1])
    for k in range(len(weights)):
        pool += weights[k]
        scale = weights[k] / demands[k].max()
        for j in range(len(need)):
            need[j] += demands[k, j] * scale
        binding[k] = need.argmax()
        levels[k] = pool / need[binding[k]]


@takes_instance
def static_optimum(demands: Any, *, weights: Any) -> DynamicAllocation:
    """Share out everything anew at each arrival: the static optimum, equation (5) of Zhang et al. 2016.

    M^k = W_k / max_j sum_{i<=k} w_i d_ij is the level of all of the first k users, and the allocation is
    weighted DRF on the pool of that moment. With zero demands it is the first round of DRF only.

    Parameters
    ----------
    demands, weights
        As for :func:`dmfa_srq`.

    Returns
    -------
    DynamicAllocation
        As of :func:`dmfa_srq`, but the levels may fall: nobody keeps what was given before.

    Raises
    ------
    InvalidInput
        As :func:`dmfa_srq` does.

    Notes
    -----
    Cost O(n m).

    Examples
    --------
    >>> static_optimum([[1, 1/2], [1/2, 1], [1/2, 1]], weights=[1/4, 1/4, 1/2]).levels.round(4)
    array([1.    , 1.3333, 1.1429])
    """
    named, amounts = checked_arrivals(demands, weights)
    n = len(amounts)
    levels, binding = np.empty(n), np.empty(n, dtype=np.int32)
    _anew(named.values, amounts, levels, binding)
    return DynamicAllocation(
        levels,
        binding,
        named.values,
        amounts,
        named.users,
        named.resources,
        irrevocable=False,
        mechanism="static_optimum",
    )


# ------------------------------------------------------------------------------------------------- online use


class DmfaSrq(Stateful):
    """DMFA-SRQ one arrival at a time, with departures, saved and restored.

    Parameters
    ----------
    resources : int or sequence of str
        The pool's resources: their number or their names.

    Notes
    -----
    :meth:`arrive` costs O(m) amortised over a run, :meth:`depart` O(n m). Departures are ours, not the paper's.
    With ``contribution="stays"`` all four theorems survive. With ``contribution="leaves"`` allocations must be
    able to shrink: irrevocability is lost, and with it strategy-proofness; the chapter gives proof and witness.
    Amounts are kept in doubles: a level is right to about 1e-15 times the pool over the newcomer's weight. Where
    weights lie further apart than 10^6, :func:`dmfa_srq` on the whole list is exact.

    Examples
    --------
    >>> pool = DmfaSrq(["cpu", "memory"])
    >>> pool.arrive("ann", [1, 1/2], weight=1/4)
    1.0
    >>> round(pool.arrive("bob", [1/2, 1], weight=1/4), 4)
    1.3333
    >>> pool.tasks.round(4)
    array([0.3333, 0.3333])
    >>> copy = DmfaSrq.from_dict(pool.to_dict())
    >>> copy.arrive("cyd", [1/2, 1], 1/2) == pool.arrive("cyd", [1/2, 1], 1/2)
    True
    """

    def __init__(self, resources: int | Sequence[str]) -> None:
        number, given = names_or_number(resources, "resources")
        names = labels_or_positions(given, number)
        self.resources: tuple[Hashable, ...] = names
        m = len(names)
        self._users: list[Hashable] = []  # in order of arrival
        self._present: set[Hashable] = set()  # the same, to look up
        self._demands = np.empty((8, m))
        self._weights = np.empty(8)
        self._start = np.zeros(8, dtype=np.int64)  # first user of each group on the stack
        self._level = np.zeros(8)
        self._rate = np.zeros((8, m))
        self._slack = np.zeros(m)
        self._left_behind = 0.0  # brought by users who have gone
        self._top = -1

    def __len__(self) -> int:
        return len(self._users)

    def __repr__(self) -> str:
        return f"DmfaSrq({len(self)} users, {self._top + 1} levels, capacity {self.capacity:.6g})"

    @property
    def users(self) -> tuple[Hashable, ...]:
        """Users present, in order of arrival."""
        return tuple(self._users)

    @property
    def capacity(self) -> float:
        """Amount of every resource in the pool. Cost O(n)."""
        return math.fsum(self._weights[: len(self)]) + self._left_behind

    @property
    def level(self) -> float:
        """The lowest level, M^k."""
        if self._top < 0:
            raise InvalidInput("level", "needs at least one user in the pool", 0)
        return float(self._level[self._top])

    @property
    def levels(self) -> FloatArray:
        """Level of each user present, shape (n,)."""
        sizes = np.diff(np.append(self._start[: self._top + 1], len(self)))
        return np.repeat(self._level[: self._top + 1], sizes)

    @property
    def tasks(self) -> FloatArray:
        """Tasks of each user present, shape (n,)."""
        n = len(self)
        if n == 0:
            return np.zeros(0)
        return self.levels * self._weights[:n] / self._demands[:n].max(axis=1)

    @property
    def slack(self) -> FloatArray:
        """Amount of each resource that is left, shape (m,)."""
        return self._slack.copy()

    def arrive(self, user: Hashable, demand: Any, weight: float) -> float:
        """Let a user in and allocate; returns the new lowest level M^k.

        Parameters
        ----------
        user : hashable
            A name not present yet.
        demand : array_like, shape (m,)
            Resource per task.
        weight : float
            Amount of every resource that the user brings, positive.

        Raises
        ------
        InvalidInput
            Before anything changes.
        """
        m = len(self.resources)
        row = per_resource(demand, m, None if self.resources == tuple(range(m)) else self.resources, "demand")
        check_demands(row, "demand")
        amount = as_positive(weight, "weight")
        check_newcomer(user, self._present)
        n = len(self)
        if n == len(self._weights):
            self._grow()
        self._demands[n], self._weights[n] = row, amount
        self._users.append(user)
        self._present.add(user)
        self._slack += amount
        self._top += 1
        self._start[self._top], self._level[self._top] = n, 0.0
        self._rate[self._top] = row * (amount / row.max())
        return self._raise_lowest()

    def depart(self, user: Hashable, contribution: Literal["leaves", "stays"] = "leaves") -> None:
        """Let a user go, together with what it brought or without.

        Parameters
        ----------
        user : hashable
            A user present.
        contribution : {"leaves", "stays"}
            ``"stays"``: the pool keeps what the user brought; nobody loses, the lowest rise. ``"leaves"``: it goes
            with the user; where the rest no longer fits, the highest levels are lowered to a common one, which is
            never under 1, and then the lowest rise.

        Notes
        -----
        Cost O(n m).
        """
        if not isinstance(contribution, str) or contribution not in ("leaves", "stays"):
            raise InvalidInput("contribution", "must be 'leaves' or 'stays'", contribution)
        i = position(user, self._users)
        user = self._users[i]
        n = len(self)
        group = int(np.searchsorted(self._start[: self._top + 1], i, side="right")) - 1
        if contribution == "stays":
            self._left_behind += float(self._weights[i])
        self._demands[i : n - 1] = self._demands[i + 1 : n].copy()
        self._weights[i : n - 1] = self._weights[i + 1 : n].copy()
        del self._users[i]
        self._present.remove(user)
        self._start[group + 1 : self._top + 1] -= 1
        first, last = int(self._start[group]), self._end(group)
        if first == last:
            for array in (self._start, self._level, self._rate):
                array[group : self._top] = array[group + 1 : self._top + 1].copy()
            self._top -= 1
        else:  # add up anew: subtraction would leave the rounding error of the larger sum
            self._rate[group] = self._own_rates(first, last).sum(axis=0)
        capacity = self.capacity
        self._slack = capacity - self.tasks @ self._demands[: n - 1]  # anew, for the same reason
        if self._top < 0:
            return
        self._slack[np.abs(self._slack) < 1e-14 * capacity] = 0.0
        if contribution == "stays":  # then only rounding can be below zero, and nobody is to lose for that
            np.maximum(self._slack, 0.0, out=self._slack)
        self._lower_highest()
        self._raise_lowest()

    def _end(self, group: int) -> int:
        return int(self._start[group + 1]) if group < self._top else len(self._users)

    def _own_rates(self, first: int, last: int) -> FloatArray:
        rows = self._demands[first:last]
        return rows * (self._weights[first:last] / rows.max(axis=1))[:, None]

    def _raise_lowest(self) -> float:
        top, level, rate = self._top - 1, self._level, self._rate
        held = tuple if len(self._slack) <= _IN_REGISTERS else np.array
        self._top, lowest, _, _, slack = _rise(
            top,
            level[top + 1],
            held(rate[top + 1]),
            level[max(top, 0)],
            held(rate[max(top, 0)]),
            level,
            rate,
            held(self._slack),
            0.0,
        )
        self._slack = np.array(slack)
        return float(lowest)

    def _lower_highest(self) -> None:
        """Lower the highest group, merging it with each group it comes down to, until nothing is overdrawn."""
        while (self._slack < 0).any():
            rate = self._rate[0]
            with np.errstate(divide="ignore", invalid="ignore"):
                drop = np.where(self._slack < 0, -self._slack / rate, 0.0).max()
            floor = self._level[1] if self._top > 0 else 0.0
            if self._level[0] - drop >= floor:
                self._slack = np.where(
                    self._slack < 0, np.maximum(self._slack + rate * drop, 0.0), self._slack + rate * drop
                )
                self._level[0] -= drop
                break
            self._slack += rate * (self._level[0] - floor)
            self._level[0] = floor
            self._rate[0] += self._rate[1]
            for array in (self._level, self._rate, self._start):
                array[1 : self._top] = array[2 : self._top + 1].copy()
            self._start[0] = 0
            self._top -= 1

    def _grow(self) -> None:
        for name in ("_demands", "_weights", "_start", "_level", "_rate"):
            old = getattr(self, name)
            new = np.zeros((2 * len(old), *old.shape[1:]), dtype=old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)

    def allocation(self) -> Allocation:
        """Give the present allocation; a user's bottleneck is the scarcest resource that it needs."""
        n = len(self)
        if n == 0:
            raise InvalidInput("allocation", "needs at least one user in the pool", 0)
        return used_up(
            self.tasks,
            self._demands[:n].copy(),
            self._weights[:n],
            self.capacity,
            self._slack,
            self.users,
            self.resources,
            "dmfa_srq",
        )

    def _state(self) -> dict[str, Any]:
        n, g = len(self), self._top + 1
        return {
            "resources": names_for_json(self.resources, "resources"),
            "users": names_for_json(self._users, "users"),
            "demands": self._demands[:n].tolist(),
            "weights": self._weights[:n].tolist(),
            "start": self._start[:g].tolist(),
            "level": self._level[:g].tolist(),
            "rate": self._rate[:g].tolist(),
            "slack": self._slack.tolist(),
            "left_behind": self._left_behind,
        }

    @classmethod
    def _restored(cls, state: dict[str, Any]) -> DmfaSrq:
        self = cls(state["resources"])
        self._users, self._present = list(state["users"]), set(state["users"])
        self._slack, self._left_behind = np.array(state["slack"], dtype=np.float64), float(state["left_behind"])
        self._top = len(state["start"]) - 1
        while len(self._weights) < len(self):
            self._grow()
        for name in ("demands", "weights", "start", "level", "rate"):
            if state[name]:
                getattr(self, f"_{name}")[: len(state[name])] = state[name]
        return self
