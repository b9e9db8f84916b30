"""Cells of machines that several test modules draw, and how placements are compared."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from fairbook.model.instance import Instance
from fairbook.model.placement import Placement


def instance(cell: Any, weights: Any = None) -> Instance:
    """Give demands, machines, counts and bounds as what a mechanism takes."""
    demands, machines, counts, bounds = cell
    return Instance(demands, weights, max_tasks=bounds, machines=machines, machine_counts=counts)


def random_cell(rng: np.random.Generator, kind: str, n: int, m: int, K: int) -> tuple[Any, Any, Any, Any]:
    """Give demands, machines, counts and bounds (half of them infinite)."""
    counts = rng.integers(1, 4, K)
    if kind == "whole":
        demands, machines = rng.integers(1, 5, (n, m)), rng.integers(3, 16, (K, m))
    elif kind == "zeros":
        demands, machines = rng.integers(0, 4, (n, m)), rng.integers(0, 16, (K, m))
    elif kind == "small machines":  # too small for some users
        demands, machines = rng.integers(1, 6, (n, m)), rng.integers(1, 8, (K, m))
    else:
        demands, machines = rng.uniform(0.05, 0.4, (n, m)), rng.uniform(0.2, 1, (K, m))
    if kind == "alike":
        demands = np.tile(demands[:1], (n, 1))
    demands, machines = demands.astype(float), machines.astype(float)
    demands[~demands.any(axis=1), 0] = 1
    machines[~machines.any(axis=1), 0] = 3
    machines[0, ~machines.any(axis=0)] = 7
    bounds = np.where(rng.random(n) < 0.5, np.inf, rng.integers(0, 9, n) + rng.choice([0, 0.5], n))
    return demands, machines, counts, bounds


@st.composite
def cells(draw: st.DrawFn) -> tuple[Any, Any, Any, Any]:
    """Draw a small cell of whole numbers, in which ties are common."""
    n, m, K = draw(st.integers(1, 5)), draw(st.integers(1, 3)), draw(st.integers(1, 4))

    def rows(count: int, most: int) -> Any:
        row = st.lists(st.integers(0, most), min_size=m, max_size=m).filter(any)
        return np.array(draw(st.lists(row, min_size=count, max_size=count)), float)

    demands, machines = rows(n, 3), rows(K, 12)
    machines[0, ~machines.any(axis=0)] = 4
    bounds = draw(st.lists(st.one_of(st.just(np.inf), st.integers(0, 5)), min_size=n, max_size=n))
    return demands, machines, np.array(draw(st.lists(st.integers(1, 3), min_size=K, max_size=K))), bounds


def same(placed: Placement, expected: tuple[list[int], list[int]]) -> bool:
    """Tell whether the same tasks went to the same machines in the same order."""
    return placed.placed_user.tolist() == expected[0] and placed.placed_machine.tolist() == expected[1]
