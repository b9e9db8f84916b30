"""The experiments of the TV-DRF paper on the Alibaba trace of 2017, its worked example, and what its blanks do to them.

A user is a job of the trace with at least as many task groups as there are periods; its s-th group is what it submits
in period s. Every user brings machines of Table 1, and all bring the same, so that each owns 1/n of every machine.
Every run has a random stream of its own. Periods count from 1 in every frame.

Four ways to serve the same users are compared: TV-DRF by the authors' heuristic (``"tv_drf"``), the optimum that it
stands for (``"optimum"``, fluid), the heuristic without memory, which is DRF in each period (``"memoryless"``), and
everyone for himself on his own machines (``"alone"``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from tqdm import tqdm

from book.common.runs import choices, interval, repeat, stream
from fairbook import results
from fairbook.errors import InvalidInput
from fairbook.mechanisms.tv_drf import TvDrfRun, tv_drf
from fairbook.model.inputs import FloatArray
from fairbook.traces.alibaba2017 import Jobs, deal_jobs, load_digest
from fairbook.traces.alibaba2018 import read_tasks
from fairbook.traces.jobs import BatchJobs

__all__ = [
    "DATA",
    "EXAMPLE",
    "MACHINES",
    "MEASURES",
    "MECHANISMS",
    "PERIODS",
    "READINGS",
    "SEED",
    "SIZES",
    "STORED",
    "STORED_FIGURES",
    "Example",
    "Instance",
    "curves",
    "dealt_instance",
    "example",
    "example_counts",
    "fig1",
    "fig2",
    "fig3",
    "fig4",
    "fig5",
    "fig6",
    "fig7",
    "gaps",
    "instance",
    "losses",
    "memory_course",
    "moments",
    "readings",
    "second_workload",
]

#: Root of every random stream.
SEED = 2019
RUNS = 100
#: Numbers of users.
SIZES = (5, 20, 100)
#: Periods of a run.
PERIODS = 20
MEMORY_GB = 40.0
#: Data files, below ``data/``, on which the stored results depend.
DATA = ("alibaba2017.json",)

#: Machines of one user, (number, cores, GB): below 100 users and from 100 on. Table 1 has lost its separators; "table"
#: reads its rows as 5 | 1 | 250 | 40, 20 | 1 | 250 | 40, 100 | 1 | 200 | 40, "twelve" as 5 | 12 | 50 | 40, 20 | 12 | 50
#: | 40, 100 | 1 | 200 | 40.
MACHINES: dict[str, tuple[tuple[int, float, float], tuple[int, float, float]]] = {
    "table": ((1, 250.0, 40.0), (1, 200.0, 40.0)),
    "twelve": ((12, 50.0, 40.0), (1, 200.0, 40.0)),
}

Alone = Literal["bundles", "whole_bundles", "resources"]
ALONE: tuple[Alone, ...] = ("bundles", "whole_bundles", "resources")
Unserved = Literal["waits", "expires"]
UNSERVED: tuple[Unserved, ...] = ("waits", "expires")

#: Rules that are compared.
MECHANISMS = ("tv_drf", "optimum", "memoryless", "alone")
#: What is measured in each period.
MEASURES = ("min_share", "cpu", "memory", "total_share", "min_beta", "min_ratio", "behind", "served")

#: Below this a difference is rounding.
_NOTHING = 1e-9


def _whole(value: Any, argument: str, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InvalidInput(argument, f"must be a whole number of at least {least}", value)
    return int(value)


def _sizes(values: Any, argument: str) -> tuple[int, ...]:
    found = tuple(values) if isinstance(values, (Sequence, np.ndarray)) else (values,)
    if not found:
        raise InvalidInput(argument, "must name at least one number of users", values)
    return tuple(_whole(value, argument) for value in found)


# ------------------------------------------------------------------------------------------------- worked example


class Example(NamedTuple):
    """The paper's worked example, as far as its numbers fix it: users A and B with a machine each.

    Attributes
    ----------
    machines : (2, 2) numbers
        CPU and GB of A's machine and of B's.
    demands : (2 periods, 2 users, 2) numbers
    first : (2,) numbers
        Tasks submitted in the first period: at least as many by B.
    """

    machines: tuple[tuple[int, int], ...]
    demands: tuple[tuple[tuple[int, int], ...], ...]
    first: tuple[int, int]


#: The paper's worked example.
EXAMPLE = Example(((50, 50), (50, 50)), (((2, 1), (1, 1)), ((5, 5), (20, 10))), (15, 70))

#: Moments of the second period: what the paper says that A and B have of it, and their coefficients.
_FIRST, _MIDDLE = (7, 0), (10, 2)
_PRINTED = {
    "after period 1": ("1", "1.4"),
    "start of period 2": ("0.23", "0.7"),
    "A has (50, 50), B (40, 20)": ("1", "1"),
    "end of period 2": ("1.125", "1"),
}

_Pair = tuple[Fraction, Fraction]


def _own(demand: Sequence[int], count: int, machine: Sequence[int], alone: str) -> _Pair:
    """Give what one user would use of its own machine in one period."""
    if alone == "resources":
        return Fraction(min(count * demand[0], machine[0])), Fraction(min(count * demand[1], machine[1]))
    tasks = min(Fraction(count), Fraction(machine[0], demand[0]), Fraction(machine[1], demand[1]))
    if alone == "whole_bundles":
        tasks = Fraction(tasks.numerator // tasks.denominator)
    return tasks * demand[0], tasks * demand[1]


def _plus(a: _Pair, demand: Sequence[int], count: int) -> _Pair:
    return a[0] + count * demand[0], a[1] + count * demand[1]


class _ByHand:
    """The worked example in fractions up to the moment at which nobody's coefficient is below 1."""

    def __init__(self, counts: tuple[int, int], alone: str) -> None:
        self.counts = counts
        one, two = EXAMPLE.demands
        self.used = [_plus((Fraction(0), Fraction(0)), demand, count)
                     for demand, count in zip(one, EXAMPLE.first, strict=True)]
        self.owned_before = [_own(*line, alone) for line in zip(one, EXAMPLE.first, EXAMPLE.machines, strict=True)]
        more = [_own(*line, alone) for line in zip(two, counts, EXAMPLE.machines, strict=True)]
        self.owned = [(a[0] + b[0], a[1] + b[1]) for a, b in zip(self.owned_before, more, strict=True)]

    def amounts(self, user: int, tasks: int) -> _Pair:
        """Give all that a user has used once it has run so many tasks of period 2."""
        return _plus(self.used[user], EXAMPLE.demands[1][user], tasks)

    def beta(self, user: int, tasks: int) -> Fraction:
        used, owned = self.amounts(user, tasks), self.owned[user]
        return min(used[0] / owned[0], used[1] / owned[1])

    def beta_before(self, user: int) -> Fraction:
        return min(self.used[user][0] / self.owned_before[user][0], self.used[user][1] / self.owned_before[user][1])

    def path(self) -> list[tuple[int, int]]:
        """List the tasks of A and B in period 2, one task more each time, as long as someone is below 1."""
        have, passed = [0, 0], [(0, 0)]
        room = [sum(machine[j] for machine in EXAMPLE.machines) for j in (0, 1)]
        while True:
            below = [(self.beta(i, have[i]), i) for i in (0, 1) if have[i] < self.counts[i]]
            below = [(beta, i) for beta, i in below if beta < 1
                     and all(room[j] >= EXAMPLE.demands[1][i][j] for j in (0, 1))]
            if not below:
                return passed
            i = min(below)[1]
            have[i] += 1
            room = [room[j] - EXAMPLE.demands[1][i][j] for j in (0, 1)]
            passed.append((have[0], have[1]))


def _example_run(counts: tuple[int, int], alone: Any) -> TvDrfRun:
    parts = np.eye(len(EXAMPLE.machines))
    return tv_drf(EXAMPLE.demands, [EXAMPLE.first, counts], EXAMPLE.machines, parts, alone=alone)


def _counts(counts: Any, argument: str) -> tuple[int, int]:
    if not isinstance(counts, (tuple, list)) or len(counts) != 2:
        raise InvalidInput(argument, "must be two whole numbers, A's and B's tasks", counts)
    return _whole(counts[0], argument), _whole(counts[1], argument)


def example(counts: tuple[int, int] = (12, 4), alone: Alone = "resources") -> pd.DataFrame:
    """Follow the worked example: what A and B have used, would have had alone, and the ratio, at each printed moment.

    All but the end is worked out here in fractions from amounts alone; the end is the mechanism's.

    Parameters
    ----------
    counts : (int, int)
        Tasks that A and B submit in period 2, which the paper has lost.
    alone : {"resources", "bundles", "whole_bundles"}
        Reading of what a user would have had alone; see :mod:`fairbook.mechanisms.tv_drf`.

    Returns
    -------
    DataFrame
        One row a moment and user: ``moment``, ``user``, ``tasks`` (of the period in question, so far), ``cpu``,
        ``memory`` (used so far, both periods), ``own_cpu``, ``own_memory``, ``beta``, ``exact`` (as text), ``printed``
        (as text), ``agrees``, ``source`` ("by hand" or "engine"). The middle state is listed whether or not the
        mechanism passes it; see :func:`example_counts`.

    Examples
    --------
    >>> frame = example()
    >>> frame["exact"].tolist()
    ['1', '7/5', '3/13', '7/10', '1', '1', '9/8', '1']
    >>> bool(frame["agrees"].all())
    True
    """
    counts = _counts(counts, "counts")
    choices(alone, "alone", ALONE)
    hand, run = _ByHand(counts, alone), _example_run(counts, alone)
    rows: list[dict[str, Any]] = []
    for moment, printed in _PRINTED.items():
        for i, user in enumerate("AB"):
            owned, source = hand.owned[i], "by hand"
            if moment == "after period 1":
                tasks, used, owned, beta = EXAMPLE.first[i], hand.used[i], hand.owned_before[i], hand.beta_before(i)
            elif moment.startswith("end"):
                tasks, source = int(run.tasks[1, i]), "engine"
                used = (Fraction(run.amounts[:, i, 0].sum()), Fraction(run.amounts[:, i, 1].sum()))
                beta = Fraction(float(run.sharing_coefficients[1, i])).limit_denominator(10_000)
            else:
                tasks = 0 if moment.startswith("start") else _MIDDLE[i]
                used, beta = hand.amounts(i, tasks), hand.beta(i, tasks)
            rows.append({
                "moment": moment, "user": user, "tasks": tasks, "cpu": float(used[0]), "memory": float(used[1]),
                "own_cpu": float(owned[0]), "own_memory": float(owned[1]), "beta": float(beta), "exact": str(beta),
                "printed": printed[i], "agrees": _agrees(beta, printed[i]), "source": source})
    return pd.DataFrame(rows)


def _agrees(beta: Fraction, printed: str) -> bool:
    """Tell whether a coefficient is printed rightly: 0.23 may be rounded, 1 or 1.4 or 1.125 must be exact."""
    return round(beta, 2) == Fraction(printed) if printed == "0.23" else beta == Fraction(printed)


def example_counts(most: tuple[int, int] = (30, 10)) -> pd.DataFrame:
    """Ask for every pair of lost task counts, and each reading of alone, which numbers of the example come out.

    Parameters
    ----------
    most : (int, int)
        Largest counts of A and B in period 2.

    Returns
    -------
    DataFrame
        One row per ``alone``, ``tasks_a``, ``tasks_b``: whether what is printed comes out, for ``after_first`` (1 and
        1.4), ``start`` (0.23 and 0.7), ``first`` (A gets (35, 35) and then B something), ``passed`` (A with (50, 50)
        and B with (40, 20) is a state on the way to everybody's 1), ``both_one`` (both coefficients are 1 there),
        ``end`` (1.125 and 1), and ``all``; and the coefficients ``start_a``, ``start_b``, ``middle_a``, ``middle_b``
        (at (50, 50) and (40, 20), passed or not), ``end_a``, ``end_b``.

    Notes
    -----
    Cost: a run of the mechanism per row, some 0.3 ms. The way up to 1 is worked out in fractions for the merged pool;
    on the two machines it is the same, since everything on it fits there.
    """
    most = _counts(most, "most")
    rows = []
    for alone, a, b in product(ALONE, range(1, most[0] + 1), range(1, most[1] + 1)):
        hand, run = _ByHand((a, b), alone), _example_run((a, b), alone)
        path, end = hand.path(), run.sharing_coefficients[1]
        before_b = max(x for x, y in path if y == 0)
        found = {
            "after_first": all(_agrees(hand.beta_before(i), _PRINTED["after period 1"][i]) for i in (0, 1)),
            "start": all(_agrees(hand.beta(i, 0), _PRINTED["start of period 2"][i]) for i in (0, 1)),
            "first": before_b == _FIRST[0] and path[-1][1] > 0,
            "passed": _MIDDLE in path,
            "both_one": all(hand.beta(i, _MIDDLE[i]) == 1 for i in (0, 1)),
            "end": bool(np.allclose(end, [float(x) for x in _PRINTED["end of period 2"]], rtol=0, atol=1e-12)),
        }
        rows.append({
            "alone": alone, "tasks_a": a, "tasks_b": b, **found, "all": all(found.values()),
            **{f"start_{name}": float(hand.beta(i, 0)) for i, name in enumerate("ab")},
            **{f"middle_{name}": float(hand.beta(i, _MIDDLE[i])) for i, name in enumerate("ab")},
            "end_a": end[0], "end_b": end[1]})
    return pd.DataFrame(rows)


# ------------------------------------------------------------------------------------------- users from the trace


class Instance(NamedTuple):
    """What :func:`~fairbook.mechanisms.tv_drf.tv_drf` takes, in its order.

    Attributes
    ----------
    demands : ndarray, shape (T, n, 2)
        Cores and GB of one task.
    tasks : ndarray of int, shape (T, n)
    machines : ndarray, shape (K, 2)
        All alike; K is a multiple of n.
    contributions : ndarray, shape (n,)
        1/n each.
    """

    demands: FloatArray
    tasks: NDArray[np.int64]
    machines: FloatArray
    contributions: FloatArray


@lru_cache(maxsize=1)
def _digest() -> Jobs:
    return load_digest()


def _kind(machines: str, n: int) -> tuple[int, float, float]:
    if not isinstance(machines, str) or machines not in MACHINES:
        raise InvalidInput("machines", f"must be one of {', '.join(MACHINES)}", machines)
    return MACHINES[machines][n >= 100]


def _unit(memory_gb: Any) -> float:
    number = isinstance(memory_gb, (int, float, np.integer, np.floating)) and not isinstance(memory_gb, bool)
    if not number or not 0 < memory_gb < np.inf:
        raise InvalidInput("memory_gb", "must be a positive finite number", memory_gb)
    return float(memory_gb)


def _needs(jobs: Jobs, kind: tuple[int, float, float], memory_gb: float) -> FloatArray:
    """Give what each task group asks for in parts of one user's machines, shape (G, 2)."""
    number, cores, memory = kind
    needs: FloatArray = np.stack([jobs.cores / cores, jobs.memory * memory_gb / memory], axis=1)
    return jobs.instances[:, None] * needs / number


@lru_cache(maxsize=8)
def _loads(jobs: Jobs, periods: int, kind: tuple[int, float, float], memory_gb: float) -> FloatArray:
    """Give the mean need per period of each job with enough groups, nan for the others, shape (J,)."""
    loads = np.full(len(jobs), np.nan)
    able = np.flatnonzero(jobs.groups_per_job >= periods)
    needs = _needs(jobs, kind, memory_gb)
    loads[able] = needs[jobs.first[able][:, None] + np.arange(periods)].mean(axis=1).max(axis=1)
    return loads


@lru_cache(maxsize=8)
def _busy(jobs: Jobs, periods: int, kind: tuple[int, float, float], memory_gb: float, min_load: float) -> Jobs:
    """Keep the jobs that ask for enough."""
    kept = np.flatnonzero(_loads(jobs, periods, kind, memory_gb) >= min_load)
    rows = [np.arange(jobs.first[j], jobs.first[j + 1]) for j in kept]
    at = np.concatenate(rows) if rows else np.array([], dtype=np.int64)
    first = np.cumsum([0, *(len(row) for row in rows)])
    return Jobs(first, jobs.created[at], jobs.instances[at], jobs.plan_cpu[at], jobs.memory[at],
                jobs.machine_classes.copy())


def _assembled(demands: FloatArray, tasks: NDArray[np.int64], n: int, machines: str, memory_gb: float) -> Instance:
    number, cores, memory = _kind(machines, n)
    if (demands > (cores, memory)).any():
        raise InvalidInput("memory_gb", f"must let every task fit on a machine of {cores:g} cores and {memory:g} GB",
                           memory_gb)
    return Instance(demands, tasks, np.tile((cores, memory), (n * number, 1)), np.full(n, 1 / n))


def instance(
    rng: np.random.Generator,
    n: int,
    *,
    periods: int = PERIODS,
    machines: str = "table",
    memory_gb: float = MEMORY_GB,
    min_groups: int | None = None,
    min_load: float = 0.0,
    jobs: BatchJobs | None = None,
) -> Instance:
    """Draw n jobs of the trace as users, each with the machines of Table 1.

    Parameters
    ----------
    rng : numpy.random.Generator
    n : int
        Users.
    periods : int
        A user is a job with at least so many task groups; the s-th is its demand in period s, later ones are cut off.
    machines : {"table", "twelve"}
        Reading of Table 1: key of :data:`MACHINES`.
    memory_gb : float
        Memory of the trace's largest machine in GB; the trace gives memory in parts of that machine.
    min_groups : int, optional
        Let jobs with fewer groups than periods, down to this number, be users, too; they begin again after their last
        group.
    min_load : float
        Let only those be users who ask for at least this part of what their own machines have over all periods, of the
        resource that they need more of. Of the 335 jobs with 20 groups half ask for less than 0.2 of one machine of
        (250, 40), three in four for less than 0.8.
    jobs : Jobs of either Alibaba trace, optional
        By default the digest that ships.

    Returns
    -------
    Instance

    Raises
    ------
    InvalidInput
        Also where a task is larger than a machine. None of the trace is, up to 300 GB: the largest requests among all
        12 014 jobs are 8 cores and 12.7 % of the largest machine's memory.
    """
    n, periods = _whole(n, "n"), _whole(periods, "periods")
    least = periods if min_groups is None else _whole(min_groups, "min_groups")
    unit, held = _unit(memory_gb), _digest() if jobs is None else jobs
    if isinstance(min_load, bool) or not isinstance(min_load, (int, float, np.number)) or not 0 <= min_load < np.inf:
        raise InvalidInput("min_load", "must be a finite number of at least 0", min_load)
    if not isinstance(held, BatchJobs):
        raise InvalidInput("jobs", "must be Jobs of an Alibaba trace", jobs)
    if min_load:
        if not isinstance(held, Jobs):
            raise InvalidInput("min_load", "can be asked for with jobs of the trace of 2017 only", min_load)
        if least < periods:
            raise InvalidInput("min_load", "cannot be asked for where min_groups is below the periods", min_load)
        held = _busy(held, periods, _kind(machines, n), unit, float(min_load))
    drawn = held.sample(rng, n, periods=periods, min_groups=least, after="cycle", memory_unit=unit)
    return _assembled(drawn.demands, drawn.tasks, n, machines, memory_gb)


def _dealt_to(jobs: Jobs, n: int, T: int, machines: str, memory_gb: float) -> int:
    """Give the number of users among whom the trace is dealt, so that one brings the mean load of :func:`instance`."""
    kind = _kind(machines, n)
    usual = np.nanmean(_loads(jobs, PERIODS, kind, memory_gb))
    return int(np.clip(round(float(_needs(jobs, kind, memory_gb).sum(axis=0).max() / (T * usual))), n, len(jobs)))


def dealt_instance(
    rng: np.random.Generator,
    n: int,
    seconds: float,
    *,
    machines: str = "table",
    memory_gb: float = MEMORY_GB,
    jobs: Jobs | None = None,
) -> Instance:
    """Draw n users among whom jobs are dealt at the trace's own times: what is created in a period is submitted in it.

    All jobs are dealt out at random to many users, of whom n are drawn; so many that a user brings as much work per
    period, of the scarcer resource, as one of :func:`instance` does on average, for the same machines. That is 750
    users for periods of 300 s (205 of them), 2229 for 900 s (69) and 8545 for 3600 s (18).

    Parameters
    ----------
    rng, n, machines, memory_gb, jobs
        As in :func:`instance`.
    seconds : float
        Length of a period.

    Returns
    -------
    Instance
        A user's groups that fall into one period are joined, with the mean of their requests; many periods have none.
    """
    n, held = _whole(n, "n"), _digest() if jobs is None else jobs
    unit = _unit(memory_gb)
    T = len(deal_jobs(np.random.default_rng(0), 1, seconds, jobs=held).tasks)
    users = _dealt_to(held, n, T, machines, unit)
    dealt = deal_jobs(rng, users, seconds, memory_unit=unit, jobs=held)
    some = rng.choice(users, n, replace=False)
    return _assembled(np.ascontiguousarray(dealt.demands[:, some]), dealt.tasks[:, some], n, machines, memory_gb)


def _draw(rng: np.random.Generator, n: int, seconds: float | None = None, **how: Any) -> Instance:
    return instance(rng, n, **how) if seconds is None else dealt_instance(rng, n, seconds, **how)


# --------------------------------------------------------------------------------------------- ways to serve them


def _shared(case: Instance, mechanism: str, unserved: Any, alone: Any = None) -> TvDrfRun:
    """Serve all users from one pool. Unless told otherwise whole tasks are held against whole ones."""
    if mechanism == "optimum":
        return tv_drf(*case, method="lexicographic", alone=alone or "bundles", unserved=unserved)
    return tv_drf(*case, alone=alone or "whole_bundles", unserved=unserved, memory=mechanism != "memoryless")


class _Separate(NamedTuple):
    """Everyone on its own machines; G on the pool's scale."""

    tasks: FloatArray
    amounts: FloatArray
    cumulative_shares: FloatArray
    unserved: FloatArray


def _separate(case: Instance, unserved: Any) -> _Separate:
    """Serve each user by itself on its own machines, by the same heuristic.

    Everyone brings the part 1/n of each resource. So what a task adds to G of the own machines, max_j alpha_j / (C_j /
    n), is also what it adds in the pool, r / w.
    """
    n = case.tasks.shape[1]
    own, whole = case.machines[:len(case.machines) // n], np.ones(1)
    runs = [tv_drf(case.demands[:, [i]], case.tasks[:, [i]], own, whole, alone="whole_bundles", unserved=unserved)
            for i in range(n)]
    return _Separate(*(np.hstack([getattr(run, name) for run in runs]) for name in _Separate._fields))


def _ratio(over: FloatArray, under: FloatArray) -> FloatArray:
    """Divide; 1 where both are zero, infinite where only the second is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: FloatArray = np.where(under > 0, over / under, np.where(over > 0, np.inf, 1.0))
    return found


def _behind(run: TvDrfRun | _Separate) -> FloatArray:
    """Give by how much, in each period, someone is ahead who got some although another had less and tasks left."""
    shares = run.cumulative_shares
    most = np.where(run.tasks > 0, shares, -np.inf).max(axis=1)
    least = np.where(run.unserved > 0.5, shares, np.inf).min(axis=1)
    return np.maximum(most - least, 0.0)


def _measured(case: Instance, run: TvDrfRun | _Separate, beta: FloatArray, usual: _Separate) -> FloatArray:
    """Give the measures, shape (measures, T)."""
    use = run.amounts.sum(axis=1) / case.machines.sum(axis=0)
    shares = run.cumulative_shares
    submitted = np.cumsum(case.tasks.sum(axis=1))
    return np.stack([
        shares.min(axis=1), use[:, 0], use[:, 1], shares @ case.contributions, beta.min(axis=1),
        _ratio(shares, usual.cumulative_shares).min(axis=1), _behind(run),
        _ratio(np.cumsum(run.tasks.sum(axis=1)), submitted.astype(float))])


def _served(rng: np.random.Generator, n: int, unserved: str, mechanisms: Sequence[str], alone: str | None = None,
            **how: Any) -> FloatArray:
    """Give the measures of one run, shape (mechanisms, measures, T)."""
    case = _draw(rng, n, **how)
    usual, first = _separate(case, unserved), _shared(case, "tv_drf", unserved, alone)
    found = []
    for mechanism in mechanisms:
        run: TvDrfRun | _Separate
        if mechanism == "alone":
            owned = np.cumsum(first.alone, axis=0)
            # who would have had nothing has nothing here: 0/0
            run, beta = usual, np.where(owned > 0, _ratio(np.cumsum(usual.amounts, axis=0), owned), np.inf).min(axis=2)
            beta = np.where(np.isinf(beta), 1.0, beta)
        else:
            run = first if mechanism == "tv_drf" else _shared(case, mechanism, unserved)
            beta = run.sharing_coefficients
        found.append(_measured(case, run, beta, usual))
    return np.stack(found)


def curves(
    runs: int = RUNS,
    seed: int = SEED,
    n: int | Sequence[int] = SIZES,
    *,
    unserved: str | Sequence[str] = "waits",
    mechanisms: Sequence[str] = MECHANISMS,
    progress: bool = False,
    **how: Any,
) -> pd.DataFrame:
    """Run the experiment behind Figures 3 to 7: how users and pool fare period by period, shared and not.

    Parameters
    ----------
    runs, seed
        Repetitions, each with other users, and their root seed.
    n : int or sequence of int
        Users.
    unserved : {"waits", "expires"} or both
        What happens to tasks that do not run in their period.
    mechanisms : sequence of str
        Some of :data:`MECHANISMS`.
    progress : bool
        Whether to draw a bar on stderr.
    **how
        Readings, see :func:`instance`, or :func:`dealt_instance` where ``seconds`` is among them.

    Returns
    -------
    DataFrame
        One row per ``n``, ``unserved``, ``mechanism``, ``measure`` and ``period`` (from 1), with ``mean``, ``low``,
        ``high`` (95 % interval of the mean over runs), ``least`` (run), ``below`` and ``runs``. The mechanism
        "difference" is "tv_drf" minus "alone", run by run; there ``below`` is the part of the runs in which it is
        negative. Measures: ``min_share`` (least G of any user), ``cpu``, ``memory`` (part in use in this period),
        ``total_share`` (sum of w G: dominant shares of all tasks run so far), ``min_beta`` (least coefficient of any
        user), ``min_ratio`` (least G of any user over what the same user has alone), ``behind`` (largest lead in G of a
        user that ran tasks in this period over one that had tasks left; in the optimum only floors cause one),
        ``served`` (part of the tasks submitted so far that has run).

    Notes
    -----
    Cost per run and 20 periods on one core: 0.02 s for 5 users, 0.05 s for 20, 0.4 s for 100.
    """
    mechanisms = choices(mechanisms, "mechanisms", MECHANISMS)
    if not mechanisms:
        raise InvalidInput("mechanisms", "must name at least one", mechanisms)
    names = list(mechanisms)
    paired = {"tv_drf", "alone"} <= set(names)
    parts = []
    for size, queue in product(_sizes(n, "n"), choices(unserved, "unserved", UNSERVED)):
        values = np.stack(repeat(_served, runs, seed=seed, key=(size,), progress=progress, label=f"n = {size}, {queue}",
                                 n=size, unserved=queue, mechanisms=mechanisms, **how))
        if paired:
            gain = values[:, names.index("tv_drf")] - values[:, names.index("alone")]
            values = np.concatenate([values, gain[:, None]], axis=1)
        values = values.round(12)  # differences of equal numbers differ from processor to processor below that
        T = values.shape[-1]
        index = pd.MultiIndex.from_product([[size], [queue], names + ["difference"] * paired, MEASURES,
                                            range(1, T + 1)], names=["n", "unserved", "mechanism", "measure", "period"])
        flat = values.reshape(len(values), -1)
        below = np.where(index.get_level_values("mechanism") == "difference", (flat < -_NOTHING).mean(axis=0), np.nan)
        parts.append(pd.concat([index.to_frame(index=False), interval(flat)], axis=1)
                     .assign(least=flat.min(axis=0), below=below))
    return pd.concat(parts, ignore_index=True).assign(runs=runs)


def moments(frame: pd.DataFrame) -> pd.DataFrame:
    """Ask of a frame of :func:`curves` whether sharing is better at every moment, and whether its lead grows.

    Returns
    -------
    DataFrame
        One row per ``n``, ``unserved`` and ``measure``: ``first``, ``last`` (mean lead of TV-DRF over alone in the
        first and the last period), ``least`` (least mean lead in any period), ``periods_below`` (periods in which the
        mean lead is negative), ``surely_below`` (in which its whole 95 % interval is), ``below`` (part of runs and
        periods in which sharing is behind), ``falls`` (periods whose mean lead is less than that of the period before),
        ``periods``, ``runs``.
    """
    leads = frame[frame["mechanism"] == "difference"]
    if not len(leads):
        raise InvalidInput("frame", "must hold differences: curves of both tv_drf and alone",
                           sorted(set(frame["mechanism"])))
    rows = []
    for (n, unserved, measure), part in leads.groupby(["n", "unserved", "measure"], sort=False):
        mean = part.sort_values("period")["mean"].to_numpy()
        rows.append({
            "n": n, "unserved": unserved, "measure": measure, "first": mean[0], "last": mean[-1], "least": mean.min(),
            "periods_below": int((mean < -_NOTHING).sum()), "surely_below": int((part["high"] < -_NOTHING).sum()),
            "below": part["below"].mean(), "falls": int((np.diff(mean) < -_NOTHING).sum()), "periods": len(mean),
            "runs": part["runs"].iloc[0]})
    return pd.DataFrame(rows)


# ------------------------------------------------------------------------------------------------ the paper's figures


def _bubbles(n: int, seed: int, **how: Any) -> pd.DataFrame:
    case = instance(stream(seed, n, 0), n, **how)
    period, user = (part.ravel() for part in np.indices(case.tasks.shape))
    return pd.DataFrame({"n": n, "user": user + 1, "period": period + 1, "cpu": case.demands[..., 0].ravel(),
                         "memory": case.demands[..., 1].ravel(), "tasks": case.tasks.ravel()})


def fig1(seed: int = SEED, **how: Any) -> pd.DataFrame:
    """Show what 20 users ask for (Figure 1): those of the first run.

    Returns
    -------
    DataFrame
        One row a period and user: ``n``, ``user``, ``period``, ``cpu`` (cores per task), ``memory`` (GB per task),
        ``tasks``. Readings as in :func:`instance`.
    """
    return _bubbles(20, seed, **how)


def fig2(seed: int = SEED, **how: Any) -> pd.DataFrame:
    """Show what 100 users ask for (Figure 2); columns as in :func:`fig1`."""
    return _bubbles(100, seed, **how)


@lru_cache(maxsize=8)
def _curves(n: int, runs: int, seed: int, unserved: str, progress: bool) -> pd.DataFrame:
    """CPU and memory come from one experiment."""
    return curves(runs, seed, n, unserved=unserved, progress=progress)


#: The measure and the number of users of each figure of curves.
_CURVES = {"fig3": ("min_share", 5), "fig4": ("cpu", 20), "fig5": ("memory", 20), "fig6": ("cpu", 100),
           "fig7": ("memory", 100)}


def _of(figure: str, runs: int, seed: int, unserved: str, progress: bool) -> pd.DataFrame:
    measure, n = _CURVES[figure]
    frame = _curves(n, runs, seed, unserved, progress)
    return frame[frame["measure"] == measure].reset_index(drop=True)


def fig3(runs: int = RUNS, seed: int = SEED, *, unserved: Unserved = "waits", progress: bool = False) -> pd.DataFrame:
    """Follow the least cumulative dominant share of 5 users (Figure 3); columns as in :func:`curves`."""
    return _of("fig3", runs, seed, unserved, progress)


def fig4(runs: int = RUNS, seed: int = SEED, *, unserved: Unserved = "waits", progress: bool = False) -> pd.DataFrame:
    """Follow CPU utilisation with 20 users (Figure 4); columns as in :func:`curves`."""
    return _of("fig4", runs, seed, unserved, progress)


def fig5(runs: int = RUNS, seed: int = SEED, *, unserved: Unserved = "waits", progress: bool = False) -> pd.DataFrame:
    """Follow memory utilisation with 20 users (Figure 5); columns as in :func:`curves`."""
    return _of("fig5", runs, seed, unserved, progress)


def fig6(runs: int = RUNS, seed: int = SEED, *, unserved: Unserved = "waits", progress: bool = False) -> pd.DataFrame:
    """Follow CPU utilisation with 100 users (Figure 6); columns as in :func:`curves`."""
    return _of("fig6", runs, seed, unserved, progress)


def fig7(runs: int = RUNS, seed: int = SEED, *, unserved: Unserved = "waits", progress: bool = False) -> pd.DataFrame:
    """Follow memory utilisation with 100 users (Figure 7); columns as in :func:`curves`."""
    return _of("fig7", runs, seed, unserved, progress)


# ------------------------------------------------------------------------------------- the heuristic and its optimum

#: What is asked for sharing losses: a mechanism with a reading of what a user would have had alone.
_JUDGED: tuple[tuple[str, Alone], ...] = (
    *(("tv_drf", alone) for alone in ALONE), ("memoryless", "whole_bundles"), ("optimum", "bundles"),
    ("optimum", "resources"))


def _lost(rng: np.random.Generator, n: int, unserved: str, **how: Any) -> FloatArray:
    """Give per judged mechanism: users' periods below 1, periods with one, whether any, the least, out of reach."""
    case = _draw(rng, n, **how)
    found = []
    for mechanism, alone in _JUDGED:
        run = _shared(case, mechanism, unserved, alone)
        below = run.sharing_coefficients < 1 - _NOTHING
        reach = run.below_one.mean() if mechanism == "optimum" else np.nan
        least = run.sharing_coefficients.min()
        found.append([below.mean(), below.any(axis=1).mean(), float(below.any()), least, reach])
    return np.array(found)


def losses(
    runs: int = 30,
    seed: int = SEED,
    *,
    sizes: Sequence[int] = SIZES,
    unserved: str | Sequence[str] = UNSERVED,
    progress: bool = False,
    **how: Any,
) -> pd.DataFrame:
    """Count how often somebody has less than alone: the sharing coefficient is below 1.

    Parameters
    ----------
    runs, seed
        Repetitions and their root seed.
    sizes : sequence of int
        Numbers of users.
    unserved : {"waits", "expires"} or both
    **how
        Readings, see :func:`instance`.

    Returns
    -------
    DataFrame
        One row per ``n``, ``unserved``, ``mechanism`` and ``alone`` (the reading in which the coefficient is meant):
        ``below`` (part of all users, periods and runs with beta < 1), ``periods_below`` (part of the periods in which
        anyone is), ``runs_below`` (part of the runs), ``least`` (beta), ``unreachable`` (fluid optimum only: part of
        the periods in which beta >= 1 is out of reach for all at once), ``runs``.

    Notes
    -----
    Cost per run: six runs of the mechanism; 0.7 s for 100 users.
    """
    parts = []
    for n, queue in product(_sizes(sizes, "sizes"), choices(unserved, "unserved", UNSERVED)):
        values = np.stack(repeat(_lost, runs, seed=seed, key=(n,), progress=progress, label=f"losses, n = {n}",
                                 n=n, unserved=queue, **how))
        mean = values.mean(axis=0).round(12)
        for k, (mechanism, alone) in enumerate(_JUDGED):
            parts.append({
                "n": n, "unserved": queue, "mechanism": mechanism, "alone": alone, "below": mean[k, 0],
                "periods_below": mean[k, 1], "runs_below": mean[k, 2], "least": values[:, k, 3].min().round(12),
                "unreachable": mean[k, 4], "runs": runs})
    return pd.DataFrame(parts)


#: Machines as they are, and one machine that has all they have.
_PACKINGS = ("machines", "merged")


def _gap(rng: np.random.Generator, n: int, unserved: str, **how: Any) -> list[tuple[FloatArray, ...]]:
    """Give per packing: distances in steps, shape (T, n); ratios of the least G and of the sums of w G, shape (T,)."""
    case = _draw(rng, n, **how)
    best = _shared(case, "optimum", unserved)
    step = (case.demands / case.machines.sum(axis=0)).max(axis=2) / case.contributions
    step = np.maximum.accumulate(np.where(case.tasks > 0, step, 0.0), axis=0)
    found: list[tuple[FloatArray, ...]] = []
    for packing in _PACKINGS:
        pool = case.machines if packing == "machines" else case.machines.sum(axis=0, keepdims=True)
        run = _shared(case._replace(machines=pool), "tv_drf", unserved)
        off = np.abs(run.cumulative_shares - best.cumulative_shares)
        least = _ratio(run.cumulative_shares.min(axis=1), best.cumulative_shares.min(axis=1))
        total = _ratio(run.cumulative_shares @ case.contributions, best.cumulative_shares @ case.contributions)
        found.append((np.where(step > 0, off / np.where(step > 0, step, 1.0), 0.0), least, total))
    return found


def gaps(
    runs: int = 30,
    seed: int = SEED,
    *,
    sizes: Sequence[int] = SIZES,
    unserved: str | Sequence[str] = UNSERVED,
    progress: bool = False,
    **how: Any,
) -> pd.DataFrame:
    """Hold the heuristic against the optimum, fluid: by how many of its own tasks is each user off?

    Parameters
    ----------
    runs, seed, sizes, unserved, how
        As in :func:`losses`.

    Returns
    -------
    DataFrame
        One row per ``n``, ``unserved`` and ``packing`` ("machines": as they are; "merged": one machine that has all
        they have, so that whole tasks are the only difference). Of ``abs(G - G of the optimum)`` in units of the
        user's largest step r / w so far, over users, periods and runs: ``mean``, ``median``, ``p95`` (95 %),
        ``worst``, ``beyond`` (part that is more than one step); ``end_mean``, ``end_worst`` after the last period.
        Parts of what the optimum has, mean and least over periods and runs: ``min_share``, ``min_share_least`` (least
        G of any user), ``total_share``, ``total_share_least`` (sum of w G). ``runs``.
    """
    parts = []
    for n, queue in product(_sizes(sizes, "sizes"), choices(unserved, "unserved", UNSERVED)):
        found = repeat(_gap, runs, seed=seed, key=(n,), progress=progress, label=f"gaps, n = {n}", n=n, unserved=queue,
                       **how)
        for k, packing in enumerate(_PACKINGS):
            steps, least, total = (np.stack([run[k][part] for run in found]).round(12) for part in range(3))
            end = steps[:, -1]
            parts.append({
                "n": n, "unserved": queue, "packing": packing, "mean": steps.mean(), "median": np.median(steps),
                "p95": np.quantile(steps, 0.95), "worst": steps.max(), "beyond": (steps > 1 + _NOTHING).mean(),
                "end_mean": end.mean(), "end_worst": end.max(), "min_share": least.mean(),
                "min_share_least": least.min(), "total_share": total.mean(), "total_share_least": total.min(),
                "runs": runs})
    return pd.DataFrame(parts)


# ------------------------------------------------------------------------------------------ what the paper leaves out

#: What is open, its readings, and what each changes; the first of each is that of the figures.
READINGS: dict[str, dict[str, dict[str, Any]]] = {
    "periods": {"20": {}, "10": {"periods": 10}, "40": {"periods": 40}},
    "memory unit": {"40 GB": {}, "64 GB": {"memory_gb": 64.0}, "128 GB": {"memory_gb": 128.0},
                    "256 GB": {"memory_gb": 256.0}},
    "Table 1": {"1 x (250, 40)": {}, "12 x (50, 40)": {"machines": "twelve"}},
    "unserved": {"waits": {}, "expires": {"unserved": "expires"}},
    "alone": {"whole bundles": {}, "bundles": {"alone": "bundles"}, "resources": {"alone": "resources"}},
    "jobs": {"20 or more groups": {}, "5 or more": {"min_groups": 5}, "all": {"min_groups": 1}},
    "load": {"any": {}, "0.5 or more": {"min_load": 0.5}, "1 or more": {"min_load": 1.0}},
    "time": {"a group a period": {}, "3600 s": {"seconds": 3600.0}, "900 s": {"seconds": 900.0},
             "300 s": {"seconds": 300.0}},
}


def _end(rng: np.random.Generator, **how: Any) -> FloatArray:
    """Give least G after the last period and mean utilisation, and how often sharing is behind: (2 ways, 3, 2)."""
    values = _served(rng, mechanisms=("tv_drf", "alone"), **how)[:, [MEASURES.index(name) for name in _ENDS]]
    level = np.concatenate([values[:, :1, -1], values[:, 1:].mean(axis=2)], axis=1)
    behind = (values[0] - values[1] < -_NOTHING).mean(axis=1)
    return np.stack([level, np.stack([behind, behind])], axis=2)


_ENDS = ("min_share", "cpu", "memory")


def _gains(values: FloatArray, figures: bool) -> list[dict[str, Any]]:
    """Compare what :func:`_end` gives for each run, with everyone alone."""
    values = values.round(12)
    lead = interval(values[:, 0, :, 0] - values[:, 1, :, 0])
    shared, alone = values[:, :, :, 0].mean(axis=0)
    return [{"measure": measure, "figures": figures, "alone": alone[k], "shared": shared[k],
             "difference": lead["mean"][k], "low": lead["low"][k], "high": lead["high"][k],
             "gain": lead["mean"][k] / alone[k], "below": values[:, 0, k, 1].mean()}
            for k, measure in enumerate(_ENDS)]


def readings(
    runs: int = 50,
    seed: int = SEED,
    *,
    sizes: Sequence[int] = (5, 20),
    points: Sequence[str] = tuple(READINGS),
    progress: bool = False,
) -> pd.DataFrame:
    """Change one thing that the paper leaves open at a time: what sharing gains over everyone alone.

    Parameters
    ----------
    runs, seed
        Repetitions and their root seed.
    sizes : sequence of int
        Numbers of users, at most 67 where the point "load" is among the points.
    points : sequence of str
        Keys of :data:`READINGS`.

    Returns
    -------
    DataFrame
        One row per ``n``, ``point``, ``value`` and ``measure`` ("min_share" after the last period, "cpu" and "memory"
        in the mean over periods): ``figures`` (whether this is the reading of the figures), ``alone``, ``shared``
        (means over runs), ``difference`` with ``low``, ``high`` (95 %), ``gain`` (difference / alone), ``below`` (part
        of runs and periods in which sharing is behind), ``runs``.

    Notes
    -----
    Cost for 20 users: some 0.03 s a run and reading, more where periods are many.
    """
    rows = []
    points = choices(points, "points", tuple(READINGS))
    cases = [(n, point, value, how) for n in _sizes(sizes, "sizes") for point in points
             for value, how in READINGS[point].items()]
    known: dict[str, FloatArray] = {}
    for n, point, value, how in tqdm(cases, desc="readings", disable=not progress, leave=False):
        key = f"{n} {how}"
        if key not in known:
            known[key] = np.stack(repeat(_end, runs, seed=seed, key=(n,), n=n, **{"unserved": "waits", **how}))
        rows += [{"n": n, "point": point, "value": value, **row} for row in _gains(known[key], not how)]
    return pd.DataFrame(rows).assign(runs=runs)


def second_workload(
    runs: int = 50, seed: int = SEED, *, sizes: Sequence[int] = (5, 20), progress: bool = False
) -> pd.DataFrame:
    """Ask the same of another workload: the sample of Alibaba's trace of 2018 beside the trace of 2017.

    A user is a job with 20 tasks or more there, too; its s-th task, those it depends on first, is its demand in period
    s. Memory is taken in parts of a machine of 40 GB in both.

    Returns
    -------
    DataFrame
        Columns as in :func:`readings`, with "trace" as the point, and a row for each fate of unserved tasks (column
        ``unserved``).

    Raises
    ------
    MissingDependency
        Where the package that carries the sample (extra ``workloads``) is not installed.
    """
    traces: dict[str, BatchJobs] = {"2017": _digest(), "2018 sample": read_tasks()}
    rows = []
    cases = list(product(_sizes(sizes, "sizes"), UNSERVED, traces.items()))
    for n, unserved, (value, jobs) in tqdm(cases, desc="second workload", disable=not progress, leave=False):
        ends = np.stack(repeat(_end, runs, seed=seed, key=(n,), n=n, unserved=unserved, jobs=jobs))
        rows += [{"n": n, "unserved": unserved, "point": "trace", "value": value, **row}
                 for row in _gains(ends, value == "2017")]
    return pd.DataFrame(rows).assign(runs=runs)


# -------------------------------------------------------------------------------------------------- what memory buys


def memory_course(*, quiet: int = 8, periods: int = 20) -> pd.DataFrame:
    """Let one of two users ask for little at first, and see what it gets later with memory and without.

    Both bring a machine of (60, 60). A's tasks need (2, 1), B's (1, 2). B always has 60 of them. A has 5 a period while
    it is quiet and 60 from then on. What does not run expires.

    Parameters
    ----------
    quiet : int
        Periods in which A asks for little; at least 1, less than all.
    periods : int

    Returns
    -------
    DataFrame
        One row per ``mechanism`` ("tv_drf", "memoryless"), ``user`` ("A", "B") and ``period`` (from 1): ``submitted``,
        ``tasks`` (run), ``share`` (G), ``beta``.
    """
    periods = _whole(periods, "periods", 2)
    if _whole(quiet, "quiet") >= periods:
        raise InvalidInput("quiet", f"must be below the number of periods, {periods}", quiet)
    demands = np.broadcast_to(np.array([[2.0, 1.0], [1.0, 2.0]]), (periods, 2, 2))
    tasks = np.full((periods, 2), 60)
    tasks[:quiet, 0] = 5
    parts = []
    for mechanism in ("tv_drf", "memoryless"):
        run = tv_drf(demands, tasks, [[60.0, 60.0]] * 2, np.eye(2), alone="whole_bundles",
                     memory=mechanism == "tv_drf")
        for i, user in enumerate("AB"):
            parts.append(pd.DataFrame({
                "mechanism": mechanism, "user": user, "period": np.arange(1, periods + 1), "submitted": tasks[:, i],
                "tasks": run.tasks[:, i], "share": run.cumulative_shares[:, i],
                "beta": run.sharing_coefficients[:, i]}))
    return pd.concat(parts, ignore_index=True)


# ------------------------------------------------------------------------------------------------------------ stored


def _store(name: str, compute: Callable[..., pd.DataFrame], **arguments: Any) -> Callable[..., None]:
    def run(*, progress: bool = True) -> None:
        frame = compute(seed=SEED, progress=progress, **arguments)
        results.save(f"tv_drf/{name}", frame, module=__name__, data=DATA, seed=SEED, **arguments)

    return run


#: Users that have work for their own machines all the time.
_BUSY: dict[str, Any] = {"min_load": 1.0}

#: Full-effort tables kept in data/results, each with the call that computes it (with a bar on stderr or without).
STORED: dict[str, Callable[..., None]] = {
    **{f"tv_drf/curves_{n}": _store(f"curves_{n}", curves, runs=RUNS, n=n, unserved=list(UNSERVED)) for n in SIZES},
    "tv_drf/curves_busy": _store("curves_busy", curves, runs=RUNS, n=[5, 20], unserved=list(UNSERVED), **_BUSY),
    "tv_drf/losses": _store("losses", losses, runs=30),
    "tv_drf/losses_busy": _store("losses_busy", losses, runs=30, sizes=[5, 20], **_BUSY),
    "tv_drf/gaps": _store("gaps", gaps, runs=30),
    "tv_drf/gaps_busy": _store("gaps_busy", gaps, runs=30, sizes=[5, 20], **_BUSY),
    "tv_drf/readings": _store("readings", readings, runs=50),
    "tv_drf/second_workload": _store("second_workload", second_workload, runs=50),
}

#: Where a figure's frame lies in the store: the table, and the value that its rows have in these columns.
STORED_FIGURES: dict[str, tuple[str, dict[str, Any]]] = {
    figure: (f"tv_drf/curves_{n}", {"measure": measure, "unserved": "waits"})
    for figure, (measure, n) in _CURVES.items()
}
