"""Every engine against ``engine="plain"``, the rule in fractions, on small instances at random.

Zeros, ties and bounds are common, and numbers are those of people: whole, decimal, thirds, or GiB made of GB.
"""

from collections import Counter
from typing import Any

import numpy as np

import fairbook as fb
from fairbook.mechanisms import registry
from fairbook.mechanisms.clusters.virtual_cluster import METHODS
from tests.vm_cases import QUARTERS, TENTHS, random_asked

#: Of the stream of random numbers.
SEED = 20261124
RTOL = 1e-8
Rng = np.random.Generator
Case = tuple[list[Any], dict[str, Any]]
#: What people's numbers are whole ones by: 1, tenths, hundredths, thirds, and GiB made of 100 MB.
PARTS = (1.0, 10.0, 100.0, 3.0, 2**30 / 1e8)


def rows(rng: Rng, *shape: int, far: bool = True, most: int = 4) -> np.ndarray:
    """Give small whole numbers or, where they may be far apart, such with any power of ten; no row of zeros."""
    found = rng.integers(0, most, shape).astype(float)
    if far and rng.random() < 0.5:
        found = rng.integers(1, 10, shape) * 10.0 ** rng.integers(-3, 3, shape) * (rng.random(shape) > 0.4)
    found[~found.any(axis=-1), -1] = 1
    return found


def amounts(rng: Rng, n: int, far: bool = True) -> np.ndarray:
    kinds = [np.ones(n), rng.integers(1, 5, n), rng.integers(1, 100, n) / 8, 10.0 ** rng.integers(-3, 4, n)]
    return np.asarray(kinds[rng.integers(3 + far)], dtype=float)


def bounds(rng: Rng, *shape: int, most: int = 30) -> np.ndarray:
    return np.where(rng.random(shape) < 0.5, np.inf, rng.integers(0, most, shape))


def pool(rng: Rng, name: str, n: int, m: int) -> Case:
    far = name == "drf"
    unit = rng.choice(PARTS, m)
    given = {"weights": amounts(rng, n, far), "capacities": rng.integers(3, 60, m) / unit, "max_tasks": bounds(rng, n)}
    demands = rows(rng, n, m, far=far) / unit
    if name == "drf":
        most = fb.drf(demands, capacities=given["capacities"], engine="plain").tasks
        given |= {"min_tasks": most * rng.choice([0, 0, 0.5, 1], n)} if rng.random() < 0.5 else {}
    return [demands], given


def arrivals(rng: Rng, name: str, n: int, m: int) -> Case:
    return [rows(rng, n + 2, m, far=name != "dynamic_drf") / rng.choice(PARTS, m)], {} if name == "dynamic_drf" else {
        "weights": amounts(rng, n + 2)
    }


def phases(rng: Rng, name: str, n: int, m: int) -> Case:
    T, unit = int(rng.integers(1, 5)), rng.choice(PARTS, m)
    given: dict[str, Any] = {"capacities": rng.integers(1, 9, m) / 2 / unit}
    if name == "cbdrf":
        shape = (T, n, m)[: rng.integers(2, 4)]
        given |= {"released": rng.integers(0, 11, shape) / 10, "step_down": rng.integers(1, 8) / 8}
    else:
        given |= {"max_tasks": bounds(rng, T, n, most=3), "initial_credit": rng.integers(0, 9, n) / 4}
        given |= {"alpha": rng.integers(0, 5) / 4}
    return [rows(rng, T, n, m) / unit], given


def periods(rng: Rng, name: str, n: int, m: int) -> Case:
    T, fluid = int(rng.integers(1, 4)), rng.random() < 0.5
    n, K, unit = min(n, 4), 1 if fluid else int(rng.integers(1, 4)), rng.choice(PARTS, m)
    brought = amounts(rng, n, far=False)
    sizes = rng.choice([1.0, 2.0, 8.0], (1, m)) if fluid else np.full((K, 1), 4.0) * rng.choice([1.0, 2.0], (1, m))
    demands = rows(rng, T, n, m) if fluid else rng.choice([0.25, 0.5, 1.0, 2.0], (T, n, m))
    given = {"tasks": rng.integers(0, 15, (T, n)), "machines": sizes / unit, "memory": bool(rng.integers(2))}
    given |= {"contributions": np.repeat(brought[:, None] / brought.sum(), K, axis=1)}
    return [demands / unit], given | {"method": "lexicographic" if fluid else "heuristic", "placement": not fluid}


def machines(rng: Rng, name: str, n: int, m: int) -> Case:
    sizes = rows(rng, int(rng.integers(1, 5)), m, far=False, most=9)
    sizes[0, ~sizes.any(axis=0)], unit = 1, rng.choice(PARTS, m)
    given = {"machine_counts": rng.integers(1, 3, len(sizes)), "max_tasks": bounds(rng, n, most=6)}
    given |= {"seed": int(rng.integers(10))} if name in ("gdrf", "mdrf") else {"weights": amounts(rng, n, far=False)}
    return [rows(rng, n, m, far=False, most=5) / unit, sizes / unit], given


def clusters(rng: Rng, name: str, n: int, m: int) -> Case:
    """Draw for one of the methods; tolerances are exact in doubles where VMs are not whole."""
    whole = bool(rng.integers(2))
    given = {"method": METHODS[rng.integers(len(METHODS))], "whole": whole}
    given |= {"small": int(rng.integers(4)), "top_up": bool(rng.integers(2))}
    given |= {} if whole else {"general": "greedy"}  # of lists that are as good, doubles may prefer another
    return list(random_asked(rng, TENTHS if whole else QUARTERS, max_H=3).floats), given


def drawn(name: str, rng: Rng) -> Case:
    """Draw data, and a value for each option that the paper leaves open."""
    kind = {"pool": pool, "arrivals": arrivals, "phases": phases, "periods": periods, "machines": machines}
    row = registry[name]
    data, given = kind.get(row.kind, clusters)(rng, name, int(rng.integers(1, 6)), int(rng.integers(1, 4)))
    for option, reading in row.readings.items():
        values = [value for value in reading.values if value != "fluid"]
        given = {option: values[rng.integers(len(values))]} | given
    return data, given


def numbers(name: str, result: Any) -> list[np.ndarray]:
    """Give what is compared: fluid tasks of TV-DRF as shares, for a thousandth of the pool may be many of these."""
    method = getattr(result, "method", "")  # those that keep the best may find another as good
    one = method not in ("exact", "vector_packing") and (method != "metagreedy" or result.requests.whole)
    compared = {
        "arrivals": ["lowest"],
        "phases": ["tasks", "final_credit"],
        "periods": ["cumulative_shares", "below_one"],
        "machines": ["placed_user", "placed_machine"],
        "clusters": ["min_fraction", *(["served"] * (method != "metagreedy")), *(["served", "vms", "cluster"] * one)],
    }
    return [np.asarray(getattr(result, what), float) for what in compared.get(registry[name].kind, ["tasks"])]


def differ(found: list[np.ndarray], right: list[np.ndarray], least: float) -> bool:
    return any(
        one.shape != other.shape or (np.abs(one - other) > RTOL * np.maximum(np.abs(other), least)).any()
        for one, other in zip(found, right, strict=True)
    )


def fuzz(name: str, tries: int) -> Counter[str]:
    """Try so many instances; raise AssertionError at the first on which engine and rule differ."""
    rng, seen, function = np.random.default_rng([SEED, *name.encode()]), Counter[str](), registry[name].function
    for _ in range(tries):
        data, given = drawn(name, rng)
        try:
            run = function(*data, **given)
        except fb.InvalidInput:
            seen["refused"] += 1
            continue
        right = function(*data, **given, engine="plain")
        least = {"phases": max(1.0, np.max(given.get("initial_credit", 0))), "periods": 1e-3}
        seen["agree"] += 1
        if differ(numbers(name, run), numbers(name, right), least.get(registry[name].kind, 0.0)):
            raise AssertionError((name, data, given))
    return seen
