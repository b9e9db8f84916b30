"""Instances that several test modules draw: small and exact with many ties, or in floats with weights far apart."""

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from hypothesis import settings, strategies as st
from numpy.typing import NDArray

#: The same examples on every machine, and no limit in seconds: the first call compiles.
REPEATABLE = settings(deadline=None, derandomize=True, database=None, max_examples=60)
FEW = settings(REPEATABLE, max_examples=20)


class Instance(NamedTuple):
    """Demands (n, m), weights (n,), capacities (m,), bounds (n,) with None for no bound; all exact."""

    demands: list[list[Fraction]]
    weights: list[Fraction]
    capacities: list[Fraction]
    max_tasks: list[Fraction | None]

    @property
    def floats(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The same as float arrays, ``inf`` for no bound."""
        return (
            np.array(self.demands, dtype=float),
            np.array(self.weights, dtype=float),
            np.array(self.capacities, dtype=float),
            np.array([np.inf if bound is None else float(bound) for bound in self.max_tasks]),
        )


def floats(values: Any) -> NDArray[np.float64]:
    """Give fractions, nested as they may be, as an array of floats."""
    return np.array(values, dtype=float)


def close(a: Any, b: Any, rtol: float = 1e-12, atol: float = 0.0) -> bool:
    """Tell whether numbers are equal but for rounding: by default that of a few hundred float operations."""
    return np.allclose(floats(a), floats(b), rtol=rtol, atol=atol)


def ratios(largest: int = 6) -> st.SearchStrategy[Fraction]:
    """Positive fractions of small whole numbers."""
    whole = st.integers(min_value=1, max_value=largest)
    return st.builds(Fraction, whole, whole)


def far_apart() -> st.SearchStrategy[Fraction]:
    """Weights up to 10^6 apart."""
    return st.builds(lambda part, power: part * Fraction(10) ** power, ratios(3), st.integers(-3, 3))


@st.composite
def instances(draw: st.DrawFn, max_n: int = 7, max_m: int = 4) -> Instance:
    """Draw an exact instance; few distinct numbers, so that ties and equal demands are common."""
    n, m = draw(st.integers(1, max_n)), draw(st.integers(1, max_m))
    row = st.lists(st.one_of(st.just(Fraction(0)), ratios(4)), min_size=m, max_size=m).filter(any)
    demands = draw(st.lists(row, min_size=n, max_size=n))
    weights = draw(st.lists(st.one_of(st.just(Fraction(1)), ratios(), far_apart()), min_size=n, max_size=n))
    capacities = draw(st.lists(st.one_of(st.just(Fraction(1)), ratios()), min_size=m, max_size=m))
    bound = st.one_of(st.none(), st.just(Fraction(0)), ratios(8))
    return Instance(demands, weights, capacities, draw(st.lists(bound, min_size=n, max_size=n)))


def random_arrivals(
    rng: np.random.Generator, n: int, m: int, decades: float = 0.0, zeros: float = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give demands (n, m) and weights (n,) spread over ``decades`` powers of ten; a part ``zeros`` of entries is 0."""
    demands = rng.uniform(0.01, 1.0, (n, m))
    demands[rng.random((n, m)) < zeros] = 0.0
    demands[np.arange(n), rng.integers(m, size=n)] = rng.uniform(0.01, 1.0, n)
    return demands, 10.0 ** rng.uniform(-decades / 2, decades / 2, n)


class Periods(NamedTuple):
    """Several periods in one pool of ones, in fractions."""

    demands: list[Any]
    tasks: list[Any]
    parts: list[Fraction]

    @property
    def floats(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        return floats(self.demands), floats(self.tasks), floats(self.parts)

    @property
    def m(self) -> int:
        return len(self.demands[0][0])


@st.composite
def periods(draw: st.DrawFn, max_n: int = 4, max_T: int = 3) -> Periods:
    n, m, T = draw(st.integers(1, max_n)), draw(st.integers(1, 3)), draw(st.integers(1, max_T))
    row = st.lists(st.one_of(st.just(Fraction(0)), ratios(4)), min_size=m, max_size=m).filter(any)
    count = st.one_of(st.just(Fraction(0)), ratios(4), st.builds(lambda r: r / 8, ratios(4)))
    amounts = draw(st.lists(ratios(3), min_size=n, max_size=n))
    return Periods(
        draw(st.lists(st.lists(row, min_size=n, max_size=n), min_size=T, max_size=T)),
        draw(st.lists(st.lists(count, min_size=n, max_size=n), min_size=T, max_size=T)),
        [a / sum(amounts) for a in amounts],
    )
