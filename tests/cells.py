"""Cells of machines that several test modules draw, and how placements are compared."""

import math
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


def scanned(placed: Placement, *, entropy: bool = False) -> list[int]:
    """Give the machine of each task by a scan of all machines, in doubles, for the users in the order of the placement.

    Least distance of best fit, or least relative entropy; ties go to the lowest number.
    """
    cell = placed.cell
    size, totals, shares = cell.machines[cell.machine_class], cell.totals, cell.shares
    used, found = np.zeros_like(size), []
    for i in placed.placed_user.tolist():
        need = cell.demands[i]
        room, free = size * (1 + 1e-12) - used, np.maximum(size - used, 0)
        fits, some = (room >= need).all(axis=1), np.where(free > 0, free, room)  # to divide by
        lead = (some > 0).argmax(axis=1) if entropy else np.full(len(size), (need > 0).argmax())
        first = 0 if entropy else lead[0]
        key, ahead = np.zeros(len(size)), some[np.arange(len(size)), lead]
        ahead[ahead <= 0] = 1  # it does not fit there
        unit = [totals[first] / total if total else 0.0 for total in totals]
        if entropy:
            whole = sum((free[:, r] / ahead * one for r, one in enumerate(unit)), key)
            for r in np.flatnonzero(need):
                mix = np.maximum(some[:, r] / ahead * unit[r], 0) / np.where(whole > 0, whole, 1)
                key = key - (shares[i] / shares[i].sum())[r] * np.array([math.log(q) if q else -math.inf for q in mix])
        else:
            for r, one in enumerate(unit):
                key = key + abs(need[r] / need[first] - free[:, r] / ahead) * one
        found.append(int(np.where(fits, key, np.inf).argmin()))
        used[found[-1]] += need
    return found
