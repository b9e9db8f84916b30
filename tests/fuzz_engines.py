"""Small instances at random: every engine against exact fractions, or, where there are none, linear programs.

``python -m tests.fuzz_engines 10000`` (or ``make fuzz``) tries so many of each dear engine and ten times as many of
each cheap one, prints a line for each, and stops at the first disagreement with the instance. Zeros, ties and bounds
are common, weights and credit factors up to 10^12 apart. Instance k of an engine is the same in every run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from tqdm import tqdm

import fairbook as fb
from book.cbdrf import oracle as cbdrf
from book.cbdrf import oracle_karma as karma
from book.common import oracle_drf as drf
from book.dmfa_srq import oracle as dmfa_srq
from book.gdrf import oracle as gdrf
from book.gdrf import oracle_drfh as drfh
from book.tv_drf import oracle as tv_drf
from book.virtual_cluster import oracle as virtual_cluster
from tests.vm_cases import QUARTERS, TENTHS, random_asked

Case = dict[str, Any]
Rng = np.random.Generator


class Engine(NamedTuple):
    """How an instance is drawn, run and judged; numbers agree to ``rtol`` of what is right, or of ``least``."""

    dear: bool
    draw: Callable[[Rng], Case]
    run: Callable[..., Iterable[Any]]
    judge: Callable[..., Iterable[Any]]
    rtol: float = 1e-9
    least: float = 0.0


def one_of(rng: Rng, *values: Any) -> Any:
    return values[rng.integers(len(values))]


def rows(rng: Rng, n: int, m: int, most: int = 3) -> list[list[int]]:
    """Draw small whole numbers, many of them zero, but no row of zeros."""
    values = rng.integers(0, most + 1, (n, m))
    values[np.arange(n), rng.integers(m, size=n)] += values.sum(axis=1) == 0
    return values.tolist()


def far_apart(rng: Rng, n: int) -> list[float]:
    """Draw positive numbers: equal, few distinct ones, or such 10^12 apart."""
    decades = one_of(rng, np.zeros(n), rng.choice([0.0, 12.0], n), rng.integers(-6, 7, n).astype(float))
    return (rng.integers(1, one_of(rng, 2, 4), n) * 10.0**decades).tolist()


def twins(rng: Rng, demands: list[Any], *others: list[Any]) -> None:
    """Now and then make the second user the first with its resources in reverse: they end two resources together."""
    if len(demands) > 1 and rng.random() < 0.3:
        demands[1] = demands[0][::-1]
        for values in others:
            values[1] = values[0]


def flat(*values: Any) -> list[Any]:
    return [x for value in values for x in np.asarray(value, dtype=object).ravel()]


# ------------------------------------------------------------------------------------------------- divisible pools


def draw_drf(rng: Rng) -> Case:
    n, m = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    demands = (np.array(rows(rng, n, m)) * 10.0 ** (rng.integers(-3, 4, (n, m)) * (rng.random() < 0.3))).tolist()
    bounds = [one_of(rng, None, 0.0, float(rng.integers(1, 4)), 0.3, 10.0 ** rng.integers(-12, 3)) for _ in range(n)]
    weights = far_apart(rng, n)
    twins(rng, demands, weights)
    return {"demands": demands, "weights": weights, "capacities": rng.integers(1, one_of(rng, 2, 4), m).tolist(),
            "max_tasks": one_of(rng, None, bounds)}


def run_drf(max_tasks: Any, **case: Any) -> Any:
    return fb.drf(**case, max_tasks=max_tasks and [np.inf if most is None else most for most in max_tasks]).tasks


def draw_arrivals(rng: Rng) -> Case:
    n, m = int(rng.integers(1, 8)), int(rng.integers(1, 4))
    demands, weights = rows(rng, n, m), far_apart(rng, n)
    twins(rng, demands, weights)
    return {"demands": demands, "weights": weights}


def draw_grant(rng: Rng) -> Case:
    n, m = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    factors = [one_of(rng, 0, 1, 1, 0.5, 0.1, 10.0 ** rng.integers(-12, 0)) for _ in range(n)]
    demands = rows(rng, n, m)
    twins(rng, demands, factors)
    return {"demands": demands, "credit_factor": factors, "capacities": rng.integers(1, one_of(rng, 2, 4), m).tolist(),
            "grant": one_of(rng, "scaled", "weighted", "capped")}


def draw_credit_run(rng: Rng) -> Case:
    n, m = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    return {"demands": [rows(rng, n, m) for _ in range(3)], "capacities": rng.integers(1, 4, m).tolist(),
            "released": (rng.integers(0, 5, (3, n)) / 4).tolist(), "rho": 0.5, "step_up": 0.125,
            "step_down": one_of(rng, 0.125, 0.5, 1 - 2.0**-20), "credit_cap": one_of(rng, None, 1),
            "grant": one_of(rng, "scaled", "weighted", "capped"), "held": one_of(rng, "returns", "stays"),
            "penalty": one_of(rng, "step", "graded")}


def credit_numbers(run: Any) -> list[Any]:
    return flat(run.tasks, run.credit, run.final_credit)


def draw_karma(rng: Rng) -> Case:
    n, m = int(rng.integers(1, 5)), int(rng.integers(1, 3))
    credit = rng.integers(0, 9, n) / 4 + one_of(rng, 0.0, 1e-6, 1e6) * rng.integers(0, 2, n)
    claims = [[one_of(rng, None, 0, 0.125, 1, 2) for _ in range(n)] for _ in range(3)]
    return {"demands": [rows(rng, n, m) for _ in range(3)], "initial_credit": credit.tolist(),
            "capacities": rng.integers(1, 4, m).tolist(), "max_tasks": claims, "alpha": one_of(rng, 0, 0.25, 0.5, 1)}


def run_karma(max_tasks: Any, **case: Any) -> list[Any]:
    run = fb.karma(**case, max_tasks=[[np.inf if most is None else most for most in row] for row in max_tasks])
    return flat(run.dominant_shares, run.credit, run.final_credit)


def judge_karma(**case: Any) -> list[Any]:
    run = karma.exact_run(**case)
    held = [[a + b for a, b in zip(one.guaranteed, one.borrowed, strict=True)] for one in run.phases]
    return flat(held, run.credit)


# -------------------------------------------------------------------------------------------------- over periods


def draw_fluid(rng: Rng) -> Case:
    n, m, T = (int(rng.integers(1, most)) for most in (4, 3, 4))
    amounts = rng.integers(1, 4, n).tolist()
    return {"demands": [rows(rng, n, m) for _ in range(T)], "tasks": rng.integers(0, 5, (T, n)).tolist(),
            "capacities": rng.integers(1, 4, m).tolist(), "parts": [Fraction(a, sum(amounts)) for a in amounts],
            "alone": one_of(rng, "bundles", "resources"), "unserved": one_of(rng, "expires", "waits")}


def run_fluid(demands: Any, tasks: Any, capacities: Any, parts: Any, **reading: Any) -> list[Any]:
    return fluid_numbers(fb.tv_drf(demands, tasks, [capacities], [[float(p)] for p in parts], method="lexicographic",
                                   **reading))


def draw_whole(rng: Rng) -> Case:
    """Draw powers of two and no distances to compare: nothing is rounded, so that a tie is a tie in doubles, too."""
    T, K, n = int(rng.integers(1, 4)), int(rng.integers(1, 4)), int(rng.choice([1, 2, 4]))
    m = int(rng.integers(1, 4)) if K == 1 else 1
    machines = np.repeat(rng.choice([4, 8, 16], (1, m)), 2 ** (K - 1), axis=0)
    return {"demands": rng.choice([1, 2, 4], (T, n, m)).tolist(), "tasks": rng.integers(0, 6, (T, n)).tolist(),
            "machines": machines.tolist(), "contributions": [[1 / n] * len(machines)] * n,
            "alone": one_of(rng, "bundles", "whole_bundles", "resources"),
            "unserved": one_of(rng, "expires", "waits")}


def fluid_numbers(run: Any) -> list[Any]:
    return flat(run.tasks, run.cumulative_shares, run.alone)


def whole_numbers(run: Any) -> list[Any]:
    return flat(run.tasks, run.placement, run.cumulative_shares, run.alone)


# ------------------------------------------------------------------------------------------ machines, one by one


def draw_cell(rng: Rng) -> Case:
    n, m, K = (int(rng.integers(1, most)) for most in (5, 4, 4))
    machines = rows(rng, K, m, 8)
    if not np.sum(machines, axis=0).all():
        machines.append([1] * m)
    return {"demands": rows(rng, n, m, 4), "machines": machines, "machine_counts": [1] * len(machines),
            "max_tasks": [one_of(rng, np.inf, np.inf, 0.0, 2.0, 4.0) for _ in range(n)]}


def draw_gdrf(rng: Rng) -> Case:
    return draw_cell(rng) | {
        "seed": int(rng.integers(10)), "match": one_of(rng, "nearest", "same", "any"),
        "least": one_of(rng, "amount", "dominant_share", "shares"), "machine_type": one_of(rng, "share", "amount"),
        "choice": one_of(rng, "fairness", "fairness_empty_last", "fairness_after", "first"),
        "queue": one_of(rng, "rounds", "one_by_one")}


def draw_drfh(*methods: str) -> Callable[[Rng], Case]:
    def draw(rng: Rng) -> Case:
        case = draw_cell(rng)
        most = one_of(rng, 2, 4) if methods == ("fluid",) else one_of(rng, 2, 4, 10**6)
        return case | {"weights": rng.integers(1, most, len(case["demands"])).tolist(),
                       "method": one_of(rng, *methods)}

    return draw


def placed(placement: Any) -> list[tuple[int, int]]:
    return list(zip(placement.placed_user.tolist(), placement.placed_machine.tolist(), strict=True))


def judge_fluid(method: str, **case: Any) -> Any:
    return drfh.fluid_share(**case).levels


# ---------------------------------------------------------------------------------------------- virtual clusters


def draw_clusters(rng: Rng, max_n: int = 6) -> Case:
    whole = bool(rng.random() < 0.5)
    return {**random_asked(rng, TENTHS if whole else QUARTERS, max_n)._asdict(), "whole": whole}


def draw_lists(rng: Rng) -> Case:
    load: Case = {"load": one_of(rng, "relative", "free")}
    fit: Case = {"fit": one_of(rng, "least_wanted", "best_fit", "first_fit")}
    small = {"general": one_of(rng, "greedy", "relaxation"), "small": int(rng.integers(4)),
             "top_up": bool(rng.random() < 0.4)}
    method, options = one_of(rng, ("relaxation", load), ("greedy", fit), ("mixed_knapsack", {**load, **fit, **small}))
    return draw_clusters(rng) | {"method": method} | options


def run_lists(tolerance: Any, **case: Any) -> list[Any]:
    found = fb.virtual_cluster(tolerance=[float(k) for k in tolerance], **case)
    return flat(np.maximum(found.cluster, -1), found.vms)


def judge_lists(method: str, **case: Any) -> list[Any]:
    found = getattr(virtual_cluster, method)(**case)
    return flat(found.cluster, found.vms)


def run_exact(tolerance: Any, **case: Any) -> list[float]:
    found = fb.virtual_cluster(tolerance=[float(k) for k in tolerance], **case)
    return [found.min_fraction if (found.cluster >= 0).all() else -1.0]


def judge_exact(**case: Any) -> list[Any]:
    best = virtual_cluster.exact_optimum(**case)
    return [-1 if best is None else best.level]


# ------------------------------------------------------------------------------------------------------- the table

ENGINES = {
    "drf": Engine(False, draw_drf, run_drf, drf.exact_tasks),
    "dmfa_srq": Engine(False, draw_arrivals, lambda **case: fb.dmfa_srq(**case).levels, dmfa_srq.exact_levels),
    "grant_tasks": Engine(False, draw_grant, lambda **case: fb.grant_tasks(**case).tasks, cbdrf.exact_grant),
    "cbdrf": Engine(False, draw_credit_run, lambda **case: credit_numbers(fb.cbdrf(**case)),
                    lambda **case: credit_numbers(cbdrf.exact_run(**case))),
    # shares of the pool, and credits that are as exact as the largest of them
    "karma": Engine(False, draw_karma, run_karma, judge_karma, least=1.0),
    "virtual cluster lists": Engine(False, draw_lists, run_lists, judge_lists),
    "virtual cluster exact": Engine(True, draw_clusters, run_exact, judge_exact),
    "tv_drf whole": Engine(True, draw_whole, lambda **case: whole_numbers(fb.tv_drf(**case, placement=True)),
                           lambda **case: whole_numbers(tv_drf.exact_whole_run(**case))),
    "tv_drf fluid": Engine(True, draw_fluid, run_fluid, lambda **case: fluid_numbers(tv_drf.exact_run(**case)),
                           least=0.1),
    # where doubles take one of two machines that are exactly tied, either is right
    "gdrf": Engine(True, draw_gdrf, lambda **case: flat(placed(fb.gdrf(**case))),
                   lambda **case: flat(gdrf.exact_gdrf(**case, prefer=placed(fb.gdrf(**case))).placed)),
    "drfh": Engine(True, draw_drfh("best_fit", "first_fit"), lambda **case: flat(placed(fb.drfh(**case))),
                   lambda **case: flat(gdrf.exact_drfh(**case, prefer=placed(fb.drfh(**case))).placed)),
    "drfh fluid": Engine(True, draw_drfh("fluid"), lambda **case: fb.drfh(**case).levels, judge_fluid, 1e-6),
}


class Disagreement(AssertionError):
    """An engine and its judge say different things."""


def apart(found: Any, right: Any, least: float) -> float:
    if found == right:
        return 0.0
    unit = max(abs(Fraction(right)), Fraction(least))
    return float(abs(Fraction(float(found)) - Fraction(right)) / unit) if unit and np.isfinite(float(found)) else np.inf


def difference(name: str, engine: Engine, case: Case) -> float:
    """Run one instance; give the largest difference, in parts of the right number, or raise Disagreement."""
    found, right = list(engine.run(**case)), list(engine.judge(**case))
    worst = np.inf
    if len(found) == len(right):
        worst = max((apart(a, b, engine.least) for a, b in zip(found, right, strict=True)), default=0.0)
    if not worst <= engine.rtol:
        raise Disagreement(f"{name}: {worst:.3g} apart\nfrom fractions import Fraction\nfrom numpy import inf\n"
                           f"from tests.fuzz_engines import ENGINES, difference\n"
                           f"difference({name!r}, ENGINES[{name!r}], {case!r})")
    return worst


def check(name: str, count: int, engine: Engine | None = None) -> float:
    """Try the first ``count`` instances of an engine; give the largest difference or raise Disagreement."""
    engine = engine or ENGINES[name]
    return max(difference(name, engine, engine.draw(np.random.default_rng([crc32(name.encode()), k])))
               for k in tqdm(range(count), desc=name, disable=None, leave=False))


def main(tries: int) -> int:
    for name, engine in ENGINES.items():
        count = tries if engine.dear else 10 * tries
        try:
            worst = check(name, count)
        except Disagreement as found:
            print(found)
            return 1
        except KeyboardInterrupt:
            print(f"{name}: interrupted")
            return 130
        print(f"{name}: {count} instances, 0 disagreements, {worst:.2g} apart at most", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
