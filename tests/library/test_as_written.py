"""Numbers count as they are written: three times 0.1 is 0.3, and three machines of 10.9 have a third each.

Sizes are drawn in tenths, hundredths, thirds, and GiB made of 100 MB; small whole machines and users that fit them
exactly make ties common. The rule is worked out in the fractions that were meant, and the engine must place each task
where it does, from the nearest doubles.
"""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import fairbook as fb
from book.gdrf.oracle import exact_drfh, exact_gdrf, exact_mdrf, exact_per_server
from fairbook.mechanisms import registry
from tests.strategies import over_periods

#: What one unit of a number is in the fractions that were meant.
UNITS = [Fraction(1, 10), Fraction(1, 100), Fraction(1, 3), Fraction(10**8, 2**30)]
JUDGES = {"gdrf": exact_gdrf, "drfh": exact_drfh, "mdrf": exact_mdrf, "per_server_drf": exact_per_server}


def meant(counts: Any, unit: Fraction) -> Any:
    return (np.asarray(counts).astype(int).astype(object) * unit).tolist()


def doubles(values: Any) -> Any:
    return np.array(values, dtype=float)


def cell(rng: np.random.Generator, unit: Fraction) -> tuple[Any, ...]:
    """Draw demands and machines; of the latter often all are alike, or of one form, and a user has that form, too."""
    n, m, K = rng.integers(1, 5), rng.integers(1, 4), rng.integers(1, 4)
    demands, machines = rng.integers(1, 30, (n, m)), rng.integers(30, 200, (K, m))
    if rng.random() < 0.6:
        demands[0] = rng.integers(3, 30, m)
        machines = np.outer(rng.integers(1, 4, K), demands[0]) * rng.integers(2, 9)
    bounds = np.where(rng.random(n) < 0.5, np.inf, rng.integers(0, 9, n))
    return meant(demands, unit), meant(machines, unit), rng.integers(1, 4, K), bounds


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("name", JUDGES)
def test_machines(name: str, unit: Fraction) -> None:
    readings = {k: [v for v in one.values if v != "fluid"] for k, one in registry[name].readings.items()}
    for seed, values in enumerate(list(product(*readings.values())) * (1 if name == "gdrf" else 40)):
        demands, machines, counts, bounds = cell(np.random.default_rng(seed), unit)
        how = dict(zip(readings, values, strict=True))
        run = registry[name].function(
            doubles(demands), doubles(machines), machine_counts=counts, max_tasks=bounds, **how
        )
        limits = [None if most == np.inf else int(most) for most in bounds]
        right = JUDGES[name](demands, machines, counts.tolist(), limits, **how).placed
        assert sorted(zip(run.placed_user, run.placed_machine)) == sorted(right), (seed, how)


@pytest.mark.parametrize("sizes", [[10.9, 27.2], [12.3, 17.7], [16.7, 22.9]])
@pytest.mark.parametrize("count", [3, 5, 7, 10])
def test_machines_that_are_all_alike_have_every_type(sizes: list[float], count: int) -> None:
    for engine in ("fast", "plain"):
        run = fb.gdrf([[1, 2], [2, 1]], machines=[sizes], machine_counts=[count], match="same", engine=engine)  # type: ignore[arg-type]
        assert run.tasks.min() > 0
        assert run.tasks.tolist() == fb.gdrf([[1, 2], [2, 1]], machines=[sizes], machine_counts=[count]).tasks.tolist()


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_periods(unit: Fraction) -> None:
    for seed, (alone, fate) in enumerate(
        [*product(("bundles", "whole_bundles", "resources"), ("expires", "waits"))] * 8
    ):
        rng = np.random.default_rng([seed, 9])
        T, n, m, K = rng.integers(1, 4), rng.integers(1, 4), rng.integers(1, 3), rng.integers(1, 4)
        demands, machines = meant(rng.integers(1, 9, (T, n, m)), unit), meant(rng.integers(9, 60, (K, m)), unit)
        tasks, parts = rng.integers(0, 9, (T, n)).tolist(), rng.integers(1, 4, (n, K))
        brought = [[Fraction(int(x), int(parts[:, k].sum())) for k, x in enumerate(row)] for row in parts]
        how: Any = {"alone": alone, "unserved": fate}
        run = fb.tv_drf(doubles(demands), tasks, doubles(machines), doubles(brought), **how, placement=True)
        right = over_periods(demands, tasks, machines, brought, **how)
        assert run.placement.tolist() == right.placement.tolist(), (seed, how)
