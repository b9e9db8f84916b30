"""Instances to attack statements with: users in order of arrival, perhaps lying, drawn from named corners and moved.

An instance lives in floats or, after :func:`book.common.shrinking.shrink`, in fractions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from fairbook.properties.finding import show

Array = NDArray[Any]

#: Entry by entry, floats at face value.
as_fractions = np.vectorize(Fraction, otypes=[object])

#: Weights, and the entries of one demand, stay within this factor: beyond it rounding is attacked, not the statement.
APART = 1e6


@dataclass(frozen=True, eq=False)
class Instance:
    """Users in order of arrival, and what some of them claim instead of the truth.

    Attributes
    ----------
    demands : ndarray, shape (n, m)
        The true resource per task.
    weights : ndarray, shape (n,)
        Amount of every resource that each user brings.
    lies : dict of int to ndarray
        Claimed demand, shape (m,), of each liar by position.
    """

    demands: Array
    weights: Array
    lies: Mapping[int, Array] = field(default_factory=dict)

    @property
    def claimed(self) -> Array:
        """Demands as the mechanism sees them, shape (n, m)."""
        claimed = self.demands.copy()
        for user, row in self.lies.items():
            claimed[user] = row
        return claimed

    def __str__(self) -> str:
        text = f"demands = {show(self.demands)}, weights = {show(self.weights)}"
        return text + (f", lies = {show(dict(self.lies))}" if self.lies else "")

    def exact(self) -> "Instance":
        """Give the same instance in fractions, floats at face value."""
        lies = {i: as_fractions(row) for i, row in self.lies.items()}
        return Instance(as_fractions(self.demands), as_fractions(self.weights), lies)


# ------------------------------------------------------------------------------------------------------ samplers


def _uniform(rng: Generator, n: int, m: int) -> tuple[Array, Array]:
    """Demands and weights uniform."""
    return rng.uniform(0.01, 1, (n, m)), rng.uniform(0.05, 1, n)


def _tiny_entries(rng: Generator, n: int, m: int) -> tuple[Array, Array]:
    """Demands spread over six orders of magnitude, each row with a 1."""
    demands = 10 ** rng.uniform(-6, 0, (n, m))
    demands[np.arange(n), rng.integers(m, size=n)] = 1
    return demands, rng.uniform(0.05, 1, n)


def _small_integers(rng: Generator, n: int, m: int) -> tuple[Array, Array]:
    """Entries 1 to 3 and weights 1 or 2: ties everywhere."""
    return rng.integers(1, 4, (n, m)).astype(float), rng.integers(1, 3, n).astype(float)


def _equal_demands(rng: Generator, n: int, m: int) -> tuple[Array, Array]:
    """Everyone demands the same."""
    return np.tile(rng.uniform(0.1, 1, m), (n, 1)), rng.uniform(0.05, 1, n)


def _two_kinds(rng: Generator, n: int, m: int) -> tuple[Array, Array]:
    """Two kinds of users with mirrored demands, equal weights: tied levels."""
    row = rng.uniform(0.1, 1, m)
    return np.where(rng.random(n)[:, None] < 0.5, row, row[::-1]), np.ones(n)


def _weights_apart(rng: Generator, n: int, m: int) -> tuple[Array, Array]:
    """Weights up to 10^6 apart."""
    weights = 10 ** rng.uniform(-6, 0, n)
    weights[rng.integers(n)] = 1
    return rng.uniform(0.01, 1, (n, m)), weights


def _staircase(rng: Generator, n: int, m: int) -> tuple[Array, Array]:
    """Complementary users first, then ever more of one kind: levels fall step by step into many groups."""
    demands = rng.uniform(0.05, 0.4, (n, m))
    demands[:, -1] = 1
    first = max(1, n // 3)
    demands[:first] = rng.uniform(0.05, 0.3, (first, m))
    demands[np.arange(first), np.arange(first) % m] = 1
    return demands, rng.uniform(0.2, 1, n) * 2.0 ** np.arange(n).clip(max=19)


def _merge_at_end(rng: Generator, n: int, m: int) -> tuple[Array, Array]:
    """A staircase, then one large complementary user that lifts everyone and merges the groups."""
    demands, weights = _staircase(rng, n, m)
    demands[-1] = 10 ** rng.uniform(-3, -1, m)
    demands[-1, 0] = 1
    weights[-1] = weights.sum() * rng.uniform(0.5, 20)
    return demands, weights


def _sorted(rng: Generator, n: int, m: int) -> tuple[Array, Array]:
    """The most lopsided users come last, or first."""
    demands, weights = _uniform(rng, n, m)
    order = np.argsort(demands.min(axis=1) / demands.max(axis=1))
    order = order if rng.random() < 0.5 else order[::-1]
    return demands[order], weights


def _one_user(rng: Generator, n: int, m: int) -> tuple[Array, Array]:
    """A single user."""
    return _uniform(rng, 1, m)


def _one_resource(rng: Generator, n: int, m: int) -> tuple[Array, Array]:
    """A single resource."""
    return _uniform(rng, n, 1)


def _many_users(rng: Generator, n: int, m: int) -> tuple[Array, Array]:
    """Fifty users."""
    demands, weights = (_uniform, _tiny_entries, _staircase)[rng.integers(3)](rng, 50, m)
    return demands, weights


Corner = Callable[[Generator, int, int], tuple[Array, Array]]

#: Kinds of instances by name; each is drawn equally often, ``many_users`` once in fifty.
CORNERS: dict[str, Corner] = {
    function.__name__[1:]: function
    for function in (
        _uniform,
        _tiny_entries,
        _small_integers,
        _equal_demands,
        _two_kinds,
        _weights_apart,
        _staircase,
        _merge_at_end,
        _sorted,
        _one_user,
        _one_resource,
        _many_users,
    )
}

#: Draws an instance from a random generator.
Sampler = Callable[[Generator], Instance]


def sampler(
    *,
    users: tuple[int, int] = (1, 8),
    resources: tuple[int, int] = (1, 4),
    zeros: bool = False,
    corners: Sequence[str] | None = None,
) -> Sampler:
    """Give a function that draws an instance from one of the named corners.

    Parameters
    ----------
    users, resources : (int, int)
        Smallest and largest number, drawn evenly. ``one_user``, ``one_resource`` and ``many_users`` set their own and
        are left out where the range does not allow for 1 (for ``many_users``: where ``users[1]`` is below 8).
    zeros : bool
        Whether half of the instances get zero demands (each entry with probability 0.4, never a whole row).
    corners : sequence of str, optional
        Names from :data:`CORNERS`; default all of them.

    Examples
    --------
    >>> draw = sampler(users=(3, 3), resources=(2, 2), corners=["small_integers"])
    >>> draw(np.random.default_rng(0)).demands.shape
    (3, 2)
    """
    chosen = list(CORNERS if corners is None else corners)
    if corners is None:
        if users[0] > 1:
            chosen.remove("one_user")
        if resources[0] > 1:
            chosen.remove("one_resource")
        if users[1] < 8:
            chosen.remove("many_users")

    def draw(rng: Generator) -> Instance:
        name = chosen[rng.integers(len(chosen))]
        if name == "many_users" and len(chosen) > 1 and rng.random() > 0.25:
            name = "uniform"
        n, m = int(rng.integers(users[0], users[1] + 1)), int(rng.integers(resources[0], resources[1] + 1))
        demands, weights = CORNERS[name](rng, n, m)
        if zeros and rng.random() < 0.5:
            _zero_some(rng, demands)
        return Instance(_within(demands), _within(weights))

    return draw


def _zero_some(rng: Generator, demands: Array) -> None:
    keep = rng.integers(demands.shape[1], size=len(demands))
    zero = rng.random(demands.shape) < 0.4
    zero[np.arange(len(demands)), keep] = False
    demands[zero] = 0


# --------------------------------------------------------------------------------------------------------- moves


def _within(values: Array) -> Array:
    """Keep positive entries, along the last axis, within a factor of each other and the largest near 1."""
    largest = values.max(axis=-1, keepdims=True)
    if (largest > 1e3).any() or (largest < 1e-3).any():
        values, largest = values / largest, np.ones_like(largest)
    low = largest / APART
    return np.where((values > 0) & (values < low), low, values)


_Move = Callable[[Generator, Instance, float], Instance]


def move(rng: Generator, instance: Instance, size: float, *, resize: bool = True, zeros: bool = False) -> Instance:
    """Give a neighbour: an entry, row, weight or lie scaled; a tie made; arrivals swapped; a user more or less.

    Parameters
    ----------
    size : float
        Standard deviation of the logarithm of a change.
    resize : bool
        Whether users may come (up to ten) and go.
    zeros : bool
        Whether entries may become zero and zeros positive.

    Notes
    -----
    Cost O(n m). A move that leaves the instance as it was is possible where there is nothing to move.
    """
    if rng.random() < 0.45 and instance.lies:  # the honest run stays the same
        return _lie_otherwise(rng, instance, size, zeros)
    draw, users = rng.random(), Instance(instance.demands.copy(), instance.weights.copy(), instance.lies)
    allowed: dict[_Move, bool] = {_zero_or_not: zeros, _come_or_go: resize}
    change = next((one for below, one in _MOVES if draw < below and allowed.get(one, True)), None)
    users = users if change is None else change(rng, users, size)
    return Instance(_within(users.demands), _within(users.weights), users.lies)


def _lie_otherwise(rng: Generator, instance: Instance, size: float, zeros: bool) -> Instance:
    m, lies = instance.demands.shape[1], instance.lies
    user = list(lies)[int(rng.integers(len(lies)))]
    row: Array = lies[user].copy()
    if rng.random() < 0.7:
        j = int(rng.integers(m))
        row[j] = row[rng.integers(m)] if rng.random() < 0.2 else row[j] * np.exp(size * rng.standard_normal())
    else:
        row = row * np.exp(size * rng.standard_normal(m))
    if zeros and rng.random() < 0.1:
        row[rng.integers(m)] = rng.random()
    return replace(instance, lies={**lies, user: _within(row if row.max() > 0 else lies[user])})


def _place(rng: Generator, users: Instance) -> tuple[int, int]:
    n, m = users.demands.shape
    return int(rng.integers(n)), int(rng.integers(m))


def _scale_entry(rng: Generator, users: Instance, size: float) -> Instance:
    users.demands[_place(rng, users)] *= np.exp(size * rng.standard_normal())
    return users


def _scale_row(rng: Generator, users: Instance, size: float) -> Instance:
    n, m = users.demands.shape
    users.demands[int(rng.integers(n))] *= np.exp(size * rng.standard_normal(m))
    return users


def _scale_weight(rng: Generator, users: Instance, size: float) -> Instance:
    users.weights[rng.integers(len(users.weights))] *= np.exp(size * rng.standard_normal())
    return users


def _scale_all(rng: Generator, users: Instance, size: float) -> Instance:
    for array in (users.demands, users.weights):
        array *= np.exp(0.3 * size * rng.standard_normal(array.shape))
    return users


def _tie(rng: Generator, users: Instance, size: float) -> Instance:
    n, m = users.demands.shape
    i, kind = int(rng.integers(n)), rng.integers(3)
    if kind == 0:
        users.demands[i, rng.integers(m)] = users.demands[i].max()
    else:
        array = users.demands if kind == 1 else users.weights
        array[i] = array[rng.integers(n)]
    return users


def _reorder(rng: Generator, users: Instance, size: float) -> Instance:
    n = len(users.weights)
    order = rng.permutation(n) if rng.random() < 0.3 else _swapped(rng, n)
    lies = {int(np.flatnonzero(order == i)[0]): row for i, row in users.lies.items()}
    return Instance(users.demands[order], users.weights[order], lies)


def _zero_or_not(rng: Generator, users: Instance, size: float) -> Instance:
    i, j = _place(rng, users)
    if users.demands[i, j] == 0:
        users.demands[i, j] = rng.uniform(0.05, 1) * users.demands[i].max()
    elif (users.demands[i] > 0).sum() > 1:
        users.demands[i, j] = 0
    return users


def _come_or_go(rng: Generator, users: Instance, size: float) -> Instance:
    (n, m), demands, weights, lies = users.demands.shape, users.demands, users.weights, users.lies
    if rng.random() < 0.5 and n < 10:
        at = int(rng.integers(n + 1))
        newcomer = demands[rng.integers(n)] if rng.random() < 0.3 else rng.uniform(0.02, 1, m)
        weight = weights[rng.integers(n)] * np.exp(rng.standard_normal())
        lies = {i + (i >= at): row for i, row in lies.items()}
        return Instance(np.insert(demands, at, newcomer, axis=0), np.insert(weights, at, weight), lies)
    if n > 1 + len(lies) and (gone := int(rng.integers(n))) not in lies:
        lies = {i - (i > gone): row for i, row in lies.items()}
        return Instance(np.delete(demands, gone, axis=0), np.delete(weights, gone), lies)
    return users


#: Moves of users, on a copy that they may change, each with the chance that it or one before it is made. A last one
#: that is not allowed leaves all as it was.
_MOVES: tuple[tuple[float, _Move], ...] = (
    (0.35, _scale_entry),
    (0.5, _scale_row),
    (0.7, _scale_weight),
    (0.76, _scale_all),
    (0.84, _tie),
    (0.9, _reorder),
    (0.95, _zero_or_not),
    (1, _come_or_go),
)


def _swapped(rng: Generator, n: int) -> Array:
    order = np.arange(n)
    i, h = rng.integers(n, size=2)
    order[[i, h]] = order[[h, i]]
    return order
