"""Small instances at random: every engine against exact fractions, or, where there are none, linear programs.

Zeros, ties and bounds are common, weights and credit factors up to 10^12 apart.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import fairbook as fb
from book.common import oracle_drf as drf
from book.dmfa_srq import oracle as dmfa_srq
from book.gdrf import oracle as gdrf
from book.virtual_cluster import oracle as virtual_cluster
from fairbook.mechanisms.cbdrf import cbdrf_rule, grant_tasks_rule
from fairbook.mechanisms.karma import karma_rule
from fairbook.model.exact import as_fractions
from tests.cells import random_cell, scanned
from tests.strategies import Instance, naive_by_task, over_periods, periods
from tests.vm_cases import QUARTERS, TENTHS, asked

Case = dict[str, Any]
Draw = st.DrawFn
Some = st.SearchStrategy[Any]


class Engine(NamedTuple):
    """Its instances, how one is run and judged; numbers agree to ``rtol`` of what is right, or of ``least``.

    ``tries`` says how many instances there are where nobody asks for more.
    """

    dear: bool
    cases: st.SearchStrategy[Case]
    run: Callable[..., Iterable[Any]]
    judge: Callable[..., Iterable[Any]]
    rtol: float = 1e-9
    least: float = 0.0
    tries: int = 50


def one_of(*values: Any) -> Some:
    return st.sampled_from(values)


def many(values: Some, n: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(values, min_size=n, max_size=n)


def rows(n: int, m: int, most: int = 3) -> st.SearchStrategy[list[list[int]]]:
    """Give small whole numbers, many of them zero, but no row of zeros."""
    return many(many(st.integers(0, most), m).filter(any), n)


def amounts(n: int) -> st.SearchStrategy[list[int]]:
    """Give all the same, or few distinct ones."""
    return many(st.just(1), n) | many(st.integers(1, 3), n)


def powers(least: int, most: int) -> st.SearchStrategy[float]:
    return st.integers(least, most).map(lambda k: 10.0**k)


@st.composite
def far_apart(draw: Draw, n: int) -> list[float]:
    """Draw positive numbers: equal, few distinct ones, or such 10^12 apart."""
    decades = draw(one_of(st.just(1.0), one_of(1.0, 1e12), one_of(1.0, 1e12), powers(-6, 6)))
    return [a * draw(decades) for a in draw(amounts(n))]


def twins(draw: Draw, demands: list[Any], *others: list[Any]) -> None:
    """Now and then make the second user the first with its resources in reverse: they end two resources together."""
    if len(demands) > 1 and draw(st.booleans()):
        demands[1] = demands[0][::-1]
        for values in others:
            values[1] = values[0]


def flat(*values: Any) -> list[Any]:
    return [x for value in values for x in np.asarray(value, dtype=object).ravel()]


# ----------------------------------------------------------------------------------------------- divisible pools


@st.composite
def drf_cases(draw: Draw) -> Case:
    n, m = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    demands = draw(rows(n, m))
    if draw(st.integers(0, 3)) == 0:
        demands = [[x * draw(powers(-3, 3)) for x in row] for row in demands]
    weights = draw(far_apart(n))
    twins(draw, demands, weights)
    bound = one_of(None, 0.0, 0.3, 1.0, 2.0, 3.0, 1e-5, 1e-7, 1e-12)
    return {
        "demands": demands,
        "weights": weights,
        "capacities": draw(amounts(m)),
        "max_tasks": draw(st.none() | many(bound, n)),
    }


def run_drf(max_tasks: Any, **case: Any) -> Any:
    return fb.drf(**case, max_tasks=max_tasks and [np.inf if most is None else most for most in max_tasks]).tasks


@st.composite
def tasks_one_by_one(draw: Draw) -> Case:
    """Draw whole numbers: levels that are equal are so as fractions, and seldom as doubles are rounded."""
    n, m, most = draw(st.integers(1, 4)), draw(st.integers(1, 2)), draw(one_of(3, 12))
    return {
        "demands": draw(rows(n, m, most)),
        "weights": draw(amounts(n)),
        "capacities": draw(many(st.integers(most, 150), m)),
        "max_tasks": draw(many(one_of(np.inf, np.inf, 0, 2, 17), n)),
    }


def exact_by_task(max_tasks: Any, stuck: Any, **case: Any) -> Any:
    exact = [as_fractions(case[name], name) for name in ("demands", "weights", "capacities")]
    return naive_by_task(Instance(*exact, [None if b == np.inf else Fraction(b) for b in max_tasks]), stuck)


@st.composite
def arrivals(draw: Draw) -> Case:
    n, m = draw(st.integers(1, 7)), draw(st.integers(1, 3))
    demands, weights = draw(rows(n, m)), draw(far_apart(n))
    twins(draw, demands, weights)
    return {"demands": demands, "weights": weights}


@st.composite
def grants(draw: Draw) -> Case:
    n, m = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    demands, factors = draw(rows(n, m)), draw(many(one_of(0, 1, 1, 0.5, 0.1) | powers(-12, -1), n))
    twins(draw, demands, factors)
    return {
        "demands": demands,
        "credit_factor": factors,
        "capacities": draw(amounts(m)),
        "grant": draw(one_of("scaled", "weighted", "capped")),
    }


@st.composite
def credit_runs(draw: Draw) -> Case:
    n, m = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    return draw(
        st.fixed_dictionaries(
            {
                "demands": many(rows(n, m), 3),
                "capacities": many(st.integers(1, 3), m),
                "released": many(many(one_of(0, 0.25, 0.5, 0.75, 1), n), 3),
                "rho": st.just(0.5),
                "step_up": st.just(0.125),
                "step_down": one_of(0.125, 0.5, 1 - 2.0**-20),
                "credit_cap": one_of(None, 1),
                "grant": one_of("scaled", "weighted", "capped"),
                "held": one_of("returns", "stays"),
                "penalty": one_of("step", "graded"),
            }
        )
    )


def credit_numbers(run: Any) -> list[Any]:
    credits_ = [run.credit, [run.final_credit]] if isinstance(run, fb.CreditRun) else [run.credit]
    return flat(run.tasks, *credits_)


@st.composite
def karma_cases(draw: Draw) -> Case:
    n, m, more = draw(st.integers(1, 4)), draw(st.integers(1, 2)), draw(one_of(0.0, 1e-6, 1e6))
    credit = st.builds(lambda quarters, has: quarters / 4 + more * has, st.integers(0, 8), st.booleans())
    return draw(
        st.fixed_dictionaries(
            {
                "demands": many(rows(n, m), 3),
                "initial_credit": many(credit, n),
                "capacities": many(st.integers(1, 3), m),
                "max_tasks": many(many(one_of(None, 0, 0.125, 1, 2), n), 3),
                "alpha": one_of(0, 0.25, 0.5, 1),
            }
        )
    )


KARMA_PARTS = ("guaranteed", "borrowed", "donated", "earned")


def karma_numbers(run: Any) -> list[Any]:
    return flat(*(getattr(run, name) for name in KARMA_PARTS), run.credit, run.final_credit)


def run_karma(max_tasks: Any, **case: Any) -> list[Any]:
    run = fb.karma(**case, max_tasks=[[np.inf if most is None else most for most in row] for row in max_tasks])
    return karma_numbers(run)


def judge_karma(**case: Any) -> list[Any]:
    return karma_numbers(karma_rule(**case))


# -------------------------------------------------------------------------------------------------- over periods


@st.composite
def plain_numbers(draw: Draw) -> tuple[Any, Any, Any]:
    """Draw demands between .001 and 1000, half of them zero, and counts; some users bring nothing."""
    n, m, T = draw(st.integers(1, 3)), draw(st.integers(2, 3)), draw(st.integers(2, 3))
    plain = st.builds(lambda digit, place: digit * Fraction(10) ** place, st.integers(1, 9), st.integers(-3, 2))
    demands = draw(many(many(many(st.just(0) | plain, m).filter(any), n), T))
    tasks = draw(many(many(st.integers(0, 20), n), T))
    brought = draw(many(st.integers(0, 2), n).filter(any))
    return demands, tasks, [Fraction(part, sum(brought)) for part in brought]


@st.composite
def fluid_cases(draw: Draw) -> Case:
    demands, tasks, parts = draw(periods() | plain_numbers())
    return {
        "demands": demands,
        "tasks": tasks,
        "capacities": draw(many(one_of(1, 2, 3, 8, 16), len(demands[0][0]))),
        "parts": parts,
        "weights": [1] * len(parts) if 0 in parts else parts,
        "alone": draw(one_of("bundles", "resources")),
        "unserved": draw(one_of("expires", "waits")),
    }


def run_fluid(demands: Any, tasks: Any, capacities: Any, parts: Any, weights: Any, **reading: Any) -> list[Any]:
    data = [np.array(one, dtype=float) for one in (demands, tasks, [capacities], parts, weights)]
    run = fb.tv_drf(*data[:-1], weights=data[-1], method="lexicographic", **reading)
    return [*fluid_numbers(run), len(run.violations(1e-8))]


def judge_fluid_periods(capacities: Any, parts: Any, weights: Any, **case: Any) -> list[Any]:
    weights = [Fraction(w) / sum(weights) for w in weights]
    more = {"machines": [capacities], "contributions": [[part] for part in parts], "weights": weights}
    return [*fluid_numbers(over_periods(**case, **more, method="lexicographic")), 0]


@st.composite
def whole_cases(draw: Draw) -> Case:
    """Draw powers of two, totals too, so that sums make no error and a tie is a tie in doubles, too."""
    n, m, K, T = draw(one_of(1, 2, 4)), *(draw(st.integers(1, most)) for most in (3, 5, 3))
    sizes = {1: [4], 2: [4, 4], 3: [2, 2, 4], 4: [2, 2, 4, 8], 5: [2, 2, 4, 4, 4]}[K]
    return {
        "demands": draw(many(many(many(one_of(0.25, 0.5, 1, 2), m), n), T)),
        "tasks": draw(many(many(st.integers(0, 12), n), T)),
        "machines": np.transpose([draw(st.permutations(sizes)) for _ in range(m)]).tolist(),
        "contributions": [[1 / n] * K] * n,
        "alone": draw(one_of("bundles", "whole_bundles", "resources")),
        "unserved": draw(one_of("expires", "waits")),
    }


def fluid_numbers(run: Any) -> list[Any]:
    """Amounts instead of tasks: a thousandth of the pool may be many of these."""
    return flat(run.cumulative_shares, run.alone, run.amounts, run.below_one)


def run_whole(**case: Any) -> list[Any]:
    run = fb.tv_drf(**case, placement=True)
    return [*whole_numbers(run), len(run.violations())]


def judge_whole(**case: Any) -> list[Any]:
    """Where doubles take one of two that are exactly tied, either is right."""
    return [*whole_numbers(over_periods(**case, placement=fb.tv_drf(**case, placement=True).placement)), 0]


def whole_numbers(run: Any) -> list[Any]:
    return flat(run.tasks, run.placement, run.cumulative_shares, run.alone, run.below_one)


# ------------------------------------------------------------------------------------------ machines, one by one


@st.composite
def cells(draw: Draw) -> Case:
    n, m, K = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    machines = draw(rows(K, m, 8))
    if not np.sum(machines, axis=0).all():
        machines.append([1] * m)
    return {
        "demands": draw(rows(n, m, 4)),
        "machines": machines,
        "machine_counts": [1] * len(machines),
        "max_tasks": draw(many(one_of(np.inf, np.inf, 0.0, 2.0, 4.0), n)),
    }


def and_then(cases: st.SearchStrategy[Case], **options: Some) -> st.SearchStrategy[Case]:
    return st.builds(lambda case, more: case | more, cases, st.fixed_dictionaries(options))


GDRF_CASES = and_then(
    cells(),
    seed=st.integers(0, 9),
    match=one_of("nearest", "same", "any"),
    least=one_of("amount", "dominant_share", "shares"),
    machine_type=one_of("share", "amount"),
    choice=one_of("fairness", "fairness_empty_last", "fairness_after", "first"),
    queue=one_of("rounds", "one_by_one"),
)


@st.composite
def drfh_cases(draw: Draw, *methods: str) -> Case:
    case = draw(cells())
    if methods == ("fluid",):  # sizes far apart: users stop at many levels
        for rows_, least, most in ((case["demands"], -3, 2), (case["machines"], -2, 2)):
            rows_[:] = [[x * size for x in row] for row in rows_ for size in [draw(powers(least, most))]]
    most = draw(one_of(1, 3) if methods == ("fluid",) else one_of(1, 3, 10**6))
    case["weights"] = draw(many(st.integers(1, most), len(case["demands"])))
    return case | {"method": draw(one_of(*methods))} if methods else case


def placed(placement: Any) -> list[tuple[int, int]]:
    return list(zip(placement.placed_user.tolist(), placement.placed_machine.tolist(), strict=True))


#: Cells of some dozens of machines, in several leaves of the tree: a seed, and the kind of numbers.
MANY_MACHINES = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32),
        "kind": one_of("whole", "zeros", "real", "alike", "small machines"),
        "unit": one_of(1, 10),
        "place": one_of(fb.drfh, fb.mdrf),
    }
)


def on_many(seed: int, kind: str, unit: int, place: Any) -> Any:
    rng = np.random.default_rng(seed)
    n, m, K = (int(rng.integers(1, most)) for most in (9, 5, 12))
    demands, machines, counts, bounds = random_cell(rng, kind, n, m, K)
    return place(demands / unit, machines / unit, counts * int(rng.integers(1, 9)), max_tasks=bounds * 9)


@st.composite
def one_class(draw: Draw) -> Case:
    """Draw a pool as one class of machines, where DRF is the judge; weights up to 10^12 apart."""
    case = draw(drf_cases())
    case["max_tasks"] = [None if most is None else float(int(most)) for most in case["max_tasks"] or ()] or None
    return case


def levels_or_refused(demands: Any, weights: Any, capacities: Any, max_tasks: Any) -> Any:
    bounds = max_tasks and [np.inf if most is None else most for most in max_tasks]
    try:
        fluid = fb.drfh(demands, [capacities], weights=weights, max_tasks=bounds, method="fluid")
    except fb.InvalidInput:
        need = np.array(demands, float) / capacities
        load = need / need.max(axis=1, keepdims=True) * np.array(weights)[:, None] / sum(weights)
        assert min(weights) < 1e-7 * sum(weights) or load[load > 0].min() < 1.1e-9
        return drf.exact_tasks(demands, weights, capacities, max_tasks) + [0]
    return [*fluid.tasks, len(fluid.violations())]


def judge_fluid(method: str, **case: Any) -> Any:
    return gdrf.fluid_share(**case).levels


# ---------------------------------------------------------------------------------------------- virtual clusters


@st.composite
def far_apart_vms(draw: Draw) -> Case:
    """Draw VMs that are not whole, of users and clusters up to 10^4 apart."""
    n, H = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    sizes = [[x * draw(powers(-2, 2)) / 4 for x in draw(many(st.integers(1, 40), k))] for k in (n, H)]
    tolerance = draw(many(one_of(Fraction(1), Fraction(1), Fraction(3, 4), Fraction(1, 2), Fraction(0)), n))
    return {"max_vms": sizes[0], "tolerance": tolerance, "capacities": sizes[1], "whole": False}


VM_CASES = st.booleans().flatmap(
    lambda whole: asked(6, 4, 12, TENTHS if whole else QUARTERS).map(lambda case: case._asdict() | {"whole": whole})
)


@st.composite
def sizes_far_apart(draw: Draw) -> Case:
    """Draw users and clusters 10^4 apart, VMs not whole."""
    case = draw(asked(5, 3, 12, QUARTERS))._asdict() | {"whole": False}
    return case | {name: [x * 10 ** draw(st.integers(0, 4)) for x in case[name]] for name in ("max_vms", "capacities")}


LOAD, FIT = one_of("relative", "free"), one_of("least_wanted", "best_fit", "first_fit")
LISTS = (
    and_then(VM_CASES, method=st.just("relaxation"), load=LOAD)
    | and_then(VM_CASES, method=st.just("greedy"), fit=FIT)
    | and_then(
        VM_CASES,
        method=st.just("mixed_knapsack"),
        load=LOAD,
        fit=FIT,
        small=st.integers(0, 3),
        general=one_of("greedy", "relaxation"),
        top_up=st.booleans(),
    )
)


def run_lists(**case: Any) -> list[Any]:
    found = vms_of(**case)
    return flat(np.maximum(found.cluster, -1), found.vms)


def vms_of(tolerance: Any, **case: Any) -> fb.VirtualClusters:
    return fb.virtual_cluster(tolerance=[float(k) for k in tolerance], **case)


def run_exact(**case: Any) -> list[float]:
    found = vms_of(**case)
    return [found.min_fraction if (found.cluster >= 0).all() else -1.0]


def judge_exact(**case: Any) -> list[Any]:
    best = virtual_cluster.exact_optimum(**case)
    return [-1 if best is None else best.level]


# ------------------------------------------------------------------------------------------------------- the table

ENGINES = {
    "drf": Engine(False, drf_cases(), run_drf, drf.exact_tasks),
    "drf_by_task": Engine(
        False,
        and_then(tasks_one_by_one(), stuck=one_of("skip", "stop")),
        lambda **case: fb.drf_by_task(**case).tasks,
        exact_by_task,
    ),
    "per_server_drf": Engine(
        True,
        drfh_cases(),
        lambda **case: fb.per_server_drf(**case).tasks,
        lambda **case: gdrf.exact_per_server(**case).tasks,
    ),
    "dmfa_srq": Engine(False, arrivals(), lambda **case: fb.dmfa_srq(**case).levels, dmfa_srq.exact_levels),
    "grant_tasks": Engine(False, grants(), lambda **case: fb.grant_tasks(**case).tasks, grant_tasks_rule),
    "cbdrf": Engine(
        False,
        credit_runs(),
        lambda **case: credit_numbers(fb.cbdrf(**case)),
        lambda **case: credit_numbers(cbdrf_rule(**case)),
    ),
    # shares of the pool, and credits that are as exact as the largest of them
    "karma": Engine(False, karma_cases(), run_karma, judge_karma, least=1.0),
    "virtual cluster lists": Engine(False, LISTS, run_lists, partial(run_lists, engine="plain")),
    "virtual cluster exact": Engine(True, VM_CASES | sizes_far_apart(), run_exact, judge_exact),
    # bins take 1e-12 of a cluster more than they hold
    "virtual cluster apart": Engine(
        True,
        far_apart_vms(),
        lambda **case: [*run_exact(**case), vms_of(**case).bound],
        lambda **case: [*judge_exact(**case), max(vms_of(**case).bound, *judge_exact(**case))],
        1e-6,
        least=1.0,
    ),
    "tv_drf whole": Engine(
        True,
        whole_cases(),
        run_whole,
        judge_whole,
    ),
    "tv_drf fluid": Engine(
        True,
        fluid_cases(),
        run_fluid,
        judge_fluid_periods,
        least=0.1,
        tries=80,
    ),
    # where doubles take one of two machines that are exactly tied, either is right
    "gdrf": Engine(
        True,
        GDRF_CASES,
        lambda **case: flat(placed(fb.gdrf(**case))),
        lambda **case: flat(gdrf.exact_gdrf(**case, prefer=placed(fb.gdrf(**case))).placed),
    ),
    "drfh": Engine(
        True,
        drfh_cases("best_fit", "first_fit"),
        lambda **case: flat(placed(fb.drfh(**case))),
        lambda **case: flat(gdrf.exact_drfh(**case, prefer=placed(fb.drfh(**case))).placed),
    ),
    "nearest machine": Engine(
        True,
        MANY_MACHINES,
        lambda **case: [*on_many(**case).placed_machine.tolist(), len(on_many(**case).violations())],
        lambda place, **case: [*scanned(on_many(place=place, **case), entropy=place is fb.mdrf), 0],
        tries=360,
    ),
    "drfh fluid, one class": Engine(
        True, one_class(), levels_or_refused, lambda **case: [*drf.exact_tasks(**case), 0], 1e-5, least=1e-6
    ),
    "drfh fluid": Engine(True, drfh_cases("fluid"), lambda **case: fb.drfh(**case).levels, judge_fluid, 1e-6),
}


#: Where an engine that works in doubles alone is wrong, which is once in some hundred instances.
LOST_DIGITS = {
    "drf": {
        "demands": [[0, 2, 2], [2, 2, 0], [2, 1, 1], [0, 3, 2]],
        "weights": [2e12, 2e12, 3.0, 1.0],
        "capacities": [1, 1, 1],
        "max_tasks": [0.0, 1.0, 0.3, 0.3],
    },
    "dmfa_srq": {
        "demands": [[1, 1, 2], [2, 1, 0], [1, 1, 2], [1, 1, 2], [1, 1, 0], [3, 3, 0]],
        "weights": [1e12, 1e12, 1e12, 1.0, 1.0, 1.0],
    },
}


def apart(found: Any, right: Any, least: float) -> float:
    if found == right:
        return 0.0
    unit = max(abs(Fraction(right)), Fraction(least))
    return float(abs(Fraction(float(found)) - Fraction(right)) / unit) if unit and np.isfinite(float(found)) else np.inf


def difference(engine: Engine, case: Case) -> float:
    """Run one instance; give the largest difference, in parts of the right number."""
    found, right = list(engine.run(**case)), list(engine.judge(**case))
    if len(found) != len(right):
        return np.inf
    return max((apart(a, b, engine.least) for a, b in zip(found, right, strict=True)), default=0.0)
