"""The paper's bound on welfare as a table, and what rules in whole tasks keep on pods of a GPU cluster."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linprog

from book.common.runs import interval, numbers, repeat, storing
from book.common.traces import alibaba_gpu2023
from book.sequential_minmax.oracle import course
from book.sequential_minmax.properties import Case, Margin, envy_other_task, envy_own_task, sharing
from fairbook.mechanisms.pool.drf import drf, drf_by_task
from fairbook.mechanisms.pool.sequential_minmax import sequential_minmax
from fairbook.model.inputs import FloatArray

__all__ = [
    "DATA",
    "PROPERTIES",
    "RULES",
    "SEED",
    "STORED",
    "best_welfare",
    "bounds",
    "crowd",
    "steps",
    "trace",
    "welfare",
]

SEED = 2015
DATA = ("alibaba_gpu2023.json", "alibaba_gpu2023_machines.csv", "alibaba_gpu2023_requests.csv")
#: Rules in whole tasks, by their name in fairbook.
RULES: dict[str, Callable[..., Any]] = {"sequential_minmax": sequential_minmax, "drf_by_task": drf_by_task}
PROPERTIES: dict[str, Margin] = {
    "sharing incentive": sharing,
    "envy up to an own task": envy_own_task,
    "envy up to the other's task": envy_other_task,
}


def steps(case: Case) -> pd.DataFrame:
    """Follow the rule on a pool: in each step, the level that the next task of each user would lead to.

    Parameters
    ----------
    case : Case
        Of one resource and equal weights.

    Returns
    -------
    DataFrame
        One row a step: what is left, ``share after, user i`` ("does not fit" where it does not), who is served.

    Examples
    --------
    >>> steps(Case(((2,), (5,)), (8,), (1, 1)))["served"].tolist()
    ['user 1', 'user 1', 'user 1', 'user 1']
    """
    (size,) = case.capacities
    return pd.DataFrame(
        [
            {"step": at, "left": step.left[0]}
            | {
                f"share after, user {i + 1}": f"{step.after[i] * size}/{size}" if i in step.after else "does not fit"
                for i in range(len(case.demands))
            }
            | {"served": f"user {step.served + 1}"}
            for at, step in enumerate(course(case), start=1)
        ]
    )


def crowd(m: int, users: int) -> FloatArray:
    """Give the demands behind the bound: m users who need one resource each, then ``users`` who need all alike."""
    return np.vstack([np.eye(m), np.ones((users, m))])


def welfare(tasks: FloatArray, demands: FloatArray) -> float:
    """Sum the dominant shares, for a pool of ones: each user alone in the pool would have 1."""
    return float(tasks @ demands.max(axis=1))


def best_welfare(demands: FloatArray, least: float) -> float:
    """Give the largest welfare in which each user has at least this dominant share, by a linear program (HiGHS)."""
    largest = demands.max(axis=1)
    found = linprog(
        -np.ones(len(demands)),
        A_ub=(demands / largest[:, None]).T,
        b_ub=np.ones(demands.shape[1]),
        bounds=[(least, None)] * len(demands),
        method="highs",
    )
    return float(-found.fun)


def bounds(resources: Any = (2, 3, 5), users: Any = (1, 10, 100, 1000)) -> pd.DataFrame:
    """Compute the welfare of all, of those who keep the sharing incentive, and of DRF, on the crowd of the bound.

    Parameters
    ----------
    resources, users : int or sequence of int
        Numbers m of resources, and of users k who need all of them alike.

    Returns
    -------
    DataFrame
        Columns ``m, k, best`` (largest welfare), ``shared`` (the largest with the sharing incentive), ``drf``, ``part``
        (``shared / best``), ``limit`` (1 / m).

    Examples
    --------
    >>> bounds(2, 10).round(4).to_dict("records")
    [{'m': 2, 'k': 10, 'best': 2.0, 'shared': 1.1667, 'drf': 1.0909, 'part': 0.5833, 'limit': 0.5}]
    """
    rows = []
    for m in numbers(resources, "resources", "number of resources"):
        for k in numbers(users, "users", "number of users"):
            demands = crowd(m, k)
            best, shared = best_welfare(demands, 0.0), best_welfare(demands, 1 / (m + k))
            rows.append((m, k, best, shared, welfare(drf(demands).tasks, demands), shared / best, 1 / m))
    return pd.DataFrame(rows, columns=["m", "k", "best", "shared", "drf", "part", "limit"])


def _run(rng: np.random.Generator, users: int, machines: tuple[int, ...]) -> list[list[float]]:
    """Give for each pool and rule: what is broken, property by property, and the mean use of the pool."""
    pods = np.rint(1000 * alibaba_gpu2023.sample_users(users, rng, unit="request")).astype(int)
    whole = np.rint(1000 * alibaba_gpu2023.sample_machines(max(machines), rng)).astype(int)
    found = []
    for count in machines:
        pool = np.maximum(whole[:count].sum(axis=0), 1)  # a machine may have no GPU, and a pool has some of each
        case = Case(tuple(map(tuple, pods.tolist())), tuple(pool.tolist()), (1,) * users)
        for rule in RULES.values():
            given = rule(case.demands, capacities=case.capacities)
            tasks = [int(x) for x in given.tasks]
            found.append(
                [*(float(margin(case, tasks) < 0) for margin in PROPERTIES.values()), float(given.utilisation.mean())]
            )
    return found


def trace(
    *, runs: int = 50, users: int = 10, machines: Any = (1, 2, 4, 8, 16, 32), seed: int = SEED, progress: bool = False
) -> pd.DataFrame:
    """Measure how often rules in whole tasks break what the paper asks, on pods and machines of Alibaba's GPU cluster.

    Parameters
    ----------
    runs : int
        Draws of pods and machines.
    users : int
        Each wants as many tasks as it can have, of one distinct request of the trace.
    machines : int or sequence of int
        Machines whose sum is the pool; tasks are small beside a pool of many.

    Returns
    -------
    DataFrame
        One row a pool, rule and measure: ``machines, rule, measure, mean, low, high`` (95 % t interval over runs). Of a
        property the measure is the part of runs in which somebody has it broken; ``use`` is the mean utilisation.
    """
    pools = numbers(machines, "machines", "number of machines")
    (users,) = numbers(users, "users", "number of users")
    found = np.array(
        repeat(_run, runs, seed=seed, key=(1,), progress=progress, label="pods", users=users, machines=pools)
    )
    measures = [*PROPERTIES, "use"]
    rows = [
        {"machines": count, "rule": rule, "measure": measure, **part}
        for at, (count, rule) in enumerate((count, rule) for count in pools for rule in RULES)
        for measure, part in zip(measures, interval(found[:, at]).to_dict("records"), strict=True)
    ]
    return pd.DataFrame(rows)


#: Full-effort tables kept in data/results, each with the call that computes it.
STORED: dict[str, Callable[..., None]] = {
    "sequential_minmax/trace": storing(
        "sequential_minmax/trace", trace, module=__name__, data=DATA, seed=SEED, runs=400
    )
}
