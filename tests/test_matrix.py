"""Every mechanism of one pool against every judge of it, and the symmetries and certificates that all of them have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairbook as fb
from book.cbdrf.oracle import exact_grant
from book.cbdrf.oracle_karma import exact_phase
from book.common.oracle_drf import exact_tasks, leximin_tasks
from book.dmfa_srq import oracle as srq
from book.dmfa_srq.printed import REPAIRS, algorithm_1, algorithm_1_printed
from fairbook.mechanisms import registry
from fairbook.mechanisms.dmfa_srq import exact_levels
from tests.strategies import FEW, REPEATABLE, Instance, instances

GRANTS = ("scaled", "weighted", "capped")
STUCK = ("skip", "stop")
ALPHAS = (Fraction(0), Fraction(1, 4), Fraction(2, 3), Fraction(1))


def plain(case: Instance) -> Instance:
    """The same with weights that HiGHS can judge."""
    return case._replace(weights=[Fraction(i) for i in range(1, len(case.weights) + 1)])


def dyadic(case: Instance) -> Instance:
    """The same with numbers that floats hold exactly and add exactly, so that ties stay ties."""
    def near(x: Fraction) -> Fraction:
        return Fraction(max(1, round(x * 16)), 16) if x else x
    return Instance([[near(d) / 16 for d in row] for row in case.demands], [Fraction(1)] * len(case.weights),
                    [Fraction(1)] * len(case.capacities), case.max_tasks)


def recorded(case: Instance) -> Instance:
    """The same with records and credits in the place of weights, many of them 1 or 0; the lightest user is away."""
    light = [weight < Fraction(1, 100) for weight in case.weights]
    return case._replace(
        demands=[[d * (not away) for d in row] for row, away in zip(case.demands, light, strict=True)],
        weights=[Fraction(1) if bound is None else min(bound / 2, Fraction(1)) for bound in case.max_tasks])


def credited(case: Instance) -> Instance:
    """The same with credits in the place of weights, some of them 0."""
    return case._replace(weights=[weight * (weight > Fraction(1, 100)) for weight in case.weights])


def naive_by_task(case: Instance, stuck: str) -> list[int]:
    """Algorithm 1 of the DRF paper in fractions: scan everyone before every task."""
    demands, weights, capacities, bounds = case
    n, m = len(demands), len(capacities)
    dominant = [max(d / c for d, c in zip(row, capacities, strict=True)) for row in demands]
    tasks, left, active = [0] * n, list(capacities), set(range(n))
    while active:
        i = min(active, key=lambda i: (tasks[i] * dominant[i] / weights[i], i))
        if bounds[i] is not None and tasks[i] + 1 > bounds[i]:
            active.remove(i)
        elif any(demands[i][j] > left[j] for j in range(m)):
            if stuck == "stop":
                break
            active.remove(i)
        else:
            tasks[i] += 1
            left = [have - need for have, need in zip(left, demands[i], strict=True)]
    return tasks


def static_levels(case: Instance) -> list[Any]:
    """DRF anew among those who have come, in what they have brought."""
    prefixes = range(1, len(case.weights) + 1)
    levels = []
    for k in prefixes:
        pool = sum(case.weights[:k])
        tasks = exact_tasks(case.demands[:k], case.weights[:k], [pool] * len(case.capacities))
        levels.append(min(x * max(row) / w for x, row, w in zip(tasks, case.demands, case.weights, strict=False)))
    return levels


class Engine(NamedTuple):
    """A mechanism as it is called with floats (demands, weights, capacities, bounds), and the numbers that are judged.

    ``symmetric`` says that the order of users does not matter; ``prepare`` makes of a drawn instance one for it.
    """

    call: Callable[..., Any]
    numbers: str = "tasks"
    symmetric: bool = True
    prepare: Callable[[Instance], Instance] = lambda case: case


ENGINES: dict[str, Engine] = {
    "drf": Engine(lambda d, w, c, b: fb.drf(d, w, c)),
    "drf, bounds": Engine(fb.drf),
    "drf, plain": Engine(fb.drf, prepare=plain),
    "dmfa_srq": Engine(lambda d, w, c, b: fb.dmfa_srq(d, w), "levels", symmetric=False),
    "dmfa_srq, plain": Engine(lambda d, w, c, b: fb.dmfa_srq(d, w), "levels", symmetric=False, prepare=plain),
    "dynamic_drf": Engine(lambda d, w, c, b: fb.dynamic_drf(d), "levels", symmetric=False),
    "static_optimum": Engine(lambda d, w, c, b: fb.static_optimum(d, w), "levels", symmetric=False),
    **{f"drf_by_task, {stuck}": Engine(lambda d, w, c, b, stuck=stuck: fb.drf_by_task(d, w, c, b, stuck=stuck),
                                       symmetric=False, prepare=dyadic) for stuck in STUCK},
    **{f"cbdrf, {grant}": Engine(lambda d, w, c, b, grant=grant: fb.grant_tasks(d, w, c, grant=grant),
                                 prepare=recorded) for grant in GRANTS},
    **{f"karma, {alpha}": Engine(
        lambda d, w, c, b, alpha=float(alpha): fb.karma_phase(d, w, c, max_tasks=b, alpha=alpha), prepare=credited)
       for alpha in ALPHAS},
}


class Judge(NamedTuple):
    """What finds the same numbers in another way from the exact instance, or from floats, and how near it must be."""

    judge: Callable[[Instance], Any]
    rtol: float = 1e-12
    atol: float = 0.0
    effort: settings = REPEATABLE
    zeros: bool = True


JUDGES: dict[tuple[str, str], Judge] = {
    ("drf", "fractions"): Judge(lambda c: exact_tasks(c.demands, c.weights, c.capacities)),
    ("drf, bounds", "fractions"): Judge(lambda c: exact_tasks(*c)),
    ("drf, plain", "leximin programs"): Judge(lambda c: leximin_tasks(*c.floats), 1e-6, 1e-7, FEW),
    ("drf_by_task, skip", "naive loop"): Judge(lambda c: naive_by_task(c, "skip"), 0.0),
    ("drf_by_task, stop", "naive loop"): Judge(lambda c: naive_by_task(c, "stop"), 0.0),
    ("dmfa_srq", "fractions"): Judge(lambda c: srq.exact_levels(c.demands, c.weights)),
    ("dmfa_srq", "own steps in fractions"): Judge(lambda c: exact_levels(c.demands, c.weights)),
    ("dmfa_srq", "many digits"): Judge(lambda c: srq.decimal_levels(*c.floats[:2])),
    # these subtract use from capacity
    ("dmfa_srq", "Algorithm 1"): Judge(lambda c: algorithm_1(*c.floats[:2]).levels, 1e-9),
    ("dmfa_srq", "Algorithm 1 as printed, repaired"): Judge(
        lambda c: algorithm_1_printed(*c.floats[:2], repairs=REPAIRS).levels, 1e-9),
    ("dmfa_srq, plain", "linear programs"): Judge(lambda c: srq.lp_levels(*c.floats[:2]), 1e-7, effort=FEW),
    ("dynamic_drf", "fractions"): Judge(lambda c: srq.exact_levels(c.demands, [1] * len(c.weights))),
    ("static_optimum", "DRF of each prefix"): Judge(static_levels, zeros=False),
    **{(f"cbdrf, {grant}", "fractions"): Judge(
        lambda c, grant=grant: exact_grant(c.demands, c.weights, c.capacities, grant), 1e-11) for grant in GRANTS},
    **{(f"karma, {alpha}", "fractions"): Judge(
        lambda c, alpha=alpha: exact_phase(c.demands, c.weights, c.capacities, c.max_tasks, alpha).tasks, 1e-12, 1e-13)
       for alpha in ALPHAS},
}


def near(found: Any, expected: Any, rtol: float = 1e-12, atol: float = 0.0) -> bool:
    return np.allclose(np.asarray(found, dtype=float), np.asarray(expected, dtype=float), rtol=rtol, atol=atol)


@pytest.mark.parametrize(("name", "by"), JUDGES)
def test_engine_and_judge_agree(name: str, by: str) -> None:
    engine, judge = ENGINES[name], JUDGES[name, by]

    @judge.effort
    @given(instances(zeros=judge.zeros, max_n=5 if judge.effort is FEW else 7).map(engine.prepare))
    def agree(case: Instance) -> None:
        result = engine.call(*case.floats)
        assert near(getattr(result, engine.numbers), judge.judge(case), judge.rtol, judge.atol)
        if "stop" not in name:  # a run that stops early leaves what could be had, and its certificate says so
            assert result.violations() == []

    agree()


@pytest.mark.parametrize("name", ENGINES)
def test_order_and_units_do_not_matter(name: str) -> None:
    engine = ENGINES[name]

    @FEW
    @given(instances().map(engine.prepare), st.integers(-20, 20), st.randoms(use_true_random=False))
    def agree(case: Instance, unit: int, random: Any) -> None:
        demands, weights, capacities, bounds = case.floats
        first = getattr(engine.call(demands, weights, capacities, bounds), engine.numbers)
        n, m = demands.shape
        users = random.sample(range(n), n) if engine.symmetric else list(range(n))
        resources = random.sample(range(m), m)
        mixed = engine.call(demands[users][:, resources], weights[users], capacities[resources], bounds[users])
        assert near(getattr(mixed, engine.numbers), first[users], 1e-10, 1e-13)
        power = 2.0**unit
        if engine.numbers == "levels":  # of amounts that are brought; powers of two change no digit
            other = engine.call(demands * power, weights * 2.0**-unit, capacities, bounds)
            tenfold = engine.call(demands * np.arange(1.0, n + 1)[:, None], weights, capacities, bounds)
            assert near(tenfold.levels, first) or name == "dynamic_drf"
        else:
            other = engine.call(demands * power, weights, capacities * power, bounds)
        assert (getattr(other, engine.numbers) == first).all()

    agree()


@REPEATABLE
@given(instances())
def test_certificate_of_drf_notices_tampering(case: Instance) -> None:
    demands, weights, capacities, _ = case.floats
    result = fb.drf(demands, weights, capacities)
    for users, factor in ((0, 1.01), (-1, 0.99), (slice(None), 1.01), (slice(None), 0.99), (slice(None), np.nan)):
        tasks = result.tasks.copy()
        tasks[users] *= factor
        assert replace(result, tasks=tasks).violations() != []
    for users, stop in ((0, -1), (slice(None), -2)):
        wrong = result.bottlenecks.copy()
        wrong[users] = stop
        assert replace(result, bottlenecks=wrong).violations() != []


@FEW
@given(instances().map(dyadic))
def test_certificate_of_whole_tasks_notices_tampering(case: Instance) -> None:
    result = fb.drf_by_task(*case.floats)
    for more in (1, -1, 0.25):
        assert replace(result, tasks=result.tasks + more).violations() != []


def test_every_mechanism_of_one_pool_is_in_the_matrix() -> None:
    judged = {name.split(",")[0] for name, _ in JUDGES}
    assert judged == {name for name, row in registry.items() if row.kind in ("pool", "arrivals", "phases")}
    assert {name for name, _ in JUDGES} == set(ENGINES)
