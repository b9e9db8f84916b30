"""Measure every promised ratio and the cost of each engine as its input grows; write RESULTS.md.

    python -m benchmarks                    all; exit status 1 if a promise is not kept
    python -m benchmarks --quick            fewer repetitions, RESULTS.md is left alone
    python -m benchmarks --only gdrf cbdrf  only these sections; the others of RESULTS.md stay

Each section is written as soon as it is measured, so that an interruption loses one at most.

asv times one version after the other; what is promised are ratios of two ways within one run. So
A and B are timed in turn, A B A B ..., and the ratio is the median of the ratios of neighbours, so that a machine
whose speed drifts does not decide. What runs in this process is timed in processor time (all threads, system calls
included), which other work on the machine changes little; whole processes are timed by the clock on the wall as well.
Inputs are fresh for each repetition: a branch predictor learns nothing. Results are dropped at once, as numpy's are.
CP-SAT, which is not in the lock, is measured where it is installed: ``pip install ortools``.
"""

import argparse
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import fairbook as fb
from benchmarks.machines import cut_sizes, drfh_fluid, gdrf, in_machines, nearest, requests, virtual_cluster
from benchmarks.plain import (
    plain_by_task,
    plain_cbdrf,
    plain_stack,
    plain_tv_drf,
)
from benchmarks.timing import Row, against, compare, grown, per_task, timed_once
from book.common.traces import alibaba2017
from book.compare.entrants import ENTRANTS
from book.compare.studies import instance
from book.dmfa_srq.oracle import lp_levels
from book.dmfa_srq.printed import algorithm_1
from book.tv_drf.oracle import lexicographic_run
from fairbook import kernels
from fairbook.mechanisms.clusters.virtual_cluster import METHODS
from fairbook.mechanisms.rows import Mechanism, registry

RESULTS = Path(__file__).with_name("RESULTS.md")


def _of_children() -> float:
    """Processor time of all processes that were started and waited for."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


_WALL = time.perf_counter
_CLOCKS = ((_WALL, "by the clock on the wall"), (_of_children, "processor time"))


def _memory(what: str, most: float, seconds: tuple[float, float]) -> Row:
    """Hold the largest resident memory of any process so far that was started here against what is promised, in MB."""
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)
    part = peak / most
    return Row(f"{what}: largest memory, {peak:.0f} MB, part of {most:.0f} MB", part, (part, part), 1, False, seconds)


def _weighted(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda demands, weights: rule(demands, weights=weights)


DMFA_SRQ, DRF, BY_TASK = (_weighted(rule) for rule in (fb.dmfa_srq, fb.drf, fb.drf_by_task))


def _users(rng: np.random.Generator, n: int, m: int = 2) -> tuple[np.ndarray, np.ndarray]:
    return rng.random((n, m)) + 1e-3, rng.random(n) + 1e-3


def _dmfa_srq(rng: np.random.Generator, scale: int) -> Iterator[Row]:
    DMFA_SRQ(*_users(rng, 10))  # compile

    what = "`dmfa_srq`, 10^6 arrivals, against `D / D.max(axis=1, keepdims=True)`"
    million = partial(_users, rng, 10**6)
    largest = lambda d, w: d / d.max(axis=1, keepdims=True)  # noqa: E731
    yield against(what, million, DMFA_SRQ, largest, 2, runs=9 * scale, at_least=False)
    yield grown(
        "cost per arrival at 10^6 against 10^4 (100 fresh instances)",
        DMFA_SRQ,
        lambda: [million()],
        lambda: [_users(rng, 10**4) for _ in range(100)],
        1.5,
        runs=7 * scale,
    )

    def online(demands: list[list[float]], weights: list[float]) -> list[float]:
        pool = fb.DmfaSrq(2)
        return [pool.arrive(k, row, weights[k]) for k, row in enumerate(demands)]

    def lists() -> tuple[list[list[float]], list[float]]:
        demands, weights = _users(rng, 10**4)
        return demands.tolist(), weights.tolist()

    same = lambda found, *one: bool(np.allclose(found, plain_stack(*one), rtol=1e-9))  # noqa: E731
    what = "`DmfaSrq.arrive`, 10^4 arrivals, against the stack in plain Python, which checks nothing"
    yield against(what, lists, online, plain_stack, 3, runs=7 * scale, at_least=False, same=same)

    def departures(n: int) -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
        for _ in range(7 * scale):
            (demands, weights), pool = _users(rng, n), fb.DmfaSrq(2)
            for k, row in enumerate(demands):
                pool.arrive(k, row, float(weights[k]))
            stay = np.arange(n) != n // 2
            yield partial(pool.depart, n // 2), partial(DMFA_SRQ, demands[stay], weights[stay])

    deque((first() for first, _ in departures(10)), maxlen=0)  # compile
    what = "`DmfaSrq.depart`, 10^4 users, against `dmfa_srq` of those that stay"
    yield compare(what, departures(10**4), 3, at_least=False)
    what = "the stack in plain Python against `dmfa_srq`, 10^4 arrivals"
    yield against(what, lists, plain_stack, DMFA_SRQ, 5, runs=7 * scale)

    for n, slow, name, limit, runs in (
        (10_000, algorithm_1, "Algorithm 1 in numpy", 1000, 3),
        (500, lp_levels, "a fresh HiGHS program per arrival", 5000, 3),
    ):
        what, draw = f"{name} against `dmfa_srq`, n = {n}", partial(_users, rng, n)
        yield against(what, draw, slow, DMFA_SRQ, limit, runs=runs * scale, fast=200)


#: Times as long as ``asarray``, finite and not negative of the input alone, for 10 users and 2 resources, 4 phases of
#: them where there are phases: half as much again as was measured. What is not kernel is numpy on ten numbers, a
#: microsecond a call, and many calls where a mechanism has phases or searches. A mechanism that has not been measured
#: is held to the largest of its kind.
SMALL = {
    "drf": 5.0,
    "drf_by_task": 5.0,
    "sequential_minmax": 6.0,
    "dmfa_srq": 4.0,
    "dynamic_drf": 9.0,
    "static_optimum": 5.0,
    "cbdrf": 25.0,
    "karma": 18.0,
    "tv_drf": 30.0,
    "gdrf": 55.0,
    "drfh": 20.0,
    "mdrf": 40.0,
    "per_server_drf": 30.0,
    "virtual_cluster": 80.0,
}


def _checked(**arrays: np.ndarray) -> None:
    for array in map(np.asarray, arrays.values()):
        if not np.isfinite(array).all() or (array < 0).any():
            raise ValueError(array)


def _small_inputs(rng: np.random.Generator, scale: int) -> Iterator[Row]:
    def given(row: Mechanism) -> dict[str, np.ndarray]:
        demands, weights = _users(rng, 10)
        phases, room = rng.random((4, 10, 2)) + 0.1, 2.0 + 6.0 * rng.random((2, 2))
        if row.name == "dynamic_drf":
            return {"demands": demands}
        return {
            "pool": {"demands": demands + 0.1, "weights": weights + 0.1, "capacities": room[0]},
            "arrivals": {"demands": demands, "weights": weights},
            "phases": {"demands": phases, "capacities": room[0]},
            "periods": {
                "demands": phases,
                "tasks": np.full((4, 10), 3.0),
                "machines": room,
                "contributions": np.full(10, 0.1),
            },
            "machines": {"demands": demands + 0.1, "machines": room, "machine_counts": np.array([2.0, 1.0])},
            "clusters": {
                "max_vms": np.ceil(20 * weights),
                "tolerance": demands[:, 0] / 2,
                "capacities": np.array([40.0, 60.0]),
            },
        }[row.kind]

    def pairs(row: Mechanism) -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
        row.function(**given(row))
        for _ in range(7 * scale):
            many = [given(row) for _ in range(100)]
            yield tuple(lambda call=call, many=many: [call(**one) for one in many] for call in (row.function, _checked))

    for name, row in registry.items():
        what = f"`{name}`, 10 users, against `asarray`, finite and not negative of its input alone"
        kin = [limit for one, limit in SMALL.items() if registry[one].kind == row.kind]
        yield compare(what, pairs(row), SMALL.get(name, max(kin)), at_least=False)


def _drf(rng: np.random.Generator, scale: int) -> Iterator[Row]:
    def some_zero() -> tuple[np.ndarray, np.ndarray]:
        demands, weights = _users(rng, 10_000)
        zero = rng.random((10_000, 2)) < 1 / 3
        zero[zero.all(axis=1), 0] = False
        demands[zero] = 0.0
        return demands, weights

    DRF(*_users(rng, 10))
    what = "`drf`, n = 10 000, a third of the demands zero, against `(D * w[:, None]).sum(0)`"
    runs = 50 * scale**2
    yield against(what, some_zero, DRF, lambda d, w: (d * w[:, None]).sum(0), 10, runs=runs, at_least=False)


def _few_users(rng: np.random.Generator, number: float) -> tuple[np.ndarray, np.ndarray]:
    """Draw 100 users of whose tasks about so many fit a pool of ones."""
    demands, weights = _users(rng, 100)
    mix = weights / demands.max(axis=1)
    return demands * mix.sum() / (mix @ demands).max() / number, weights


def _drf_by_task(rng: np.random.Generator, scale: int) -> Iterator[Row]:
    BY_TASK(*_few_users(rng, 100))
    kind = "`drf_by_task`, 100 users"
    yield against(
        f"a loop over tasks and a heap against {kind}, about 3 10^5 tasks",
        partial(_few_users, rng, 3e5),
        plain_by_task,
        BY_TASK,
        5,
        runs=3 * scale,
        fast=3,
        same=lambda found, *one: bool((found == BY_TASK(*one).tasks).all()),
    )

    many, few = (lambda number=number: [_few_users(rng, number) for _ in range(3)] for number in (1e6, 1e5))
    yield grown(f"{kind}: 10 times the tasks", BY_TASK, many, few, 15, runs=7 * scale)


def _cbdrf(rng: np.random.Generator, scale: int) -> Iterator[Row]:
    n, runs = 300, 3 * scale

    def run(phases: int) -> tuple[np.ndarray, np.ndarray]:
        return rng.random((phases, n, 2)) + 1e-3, rng.random((phases, n))

    def ours(demands: np.ndarray, released: np.ndarray) -> np.ndarray:
        return fb.cbdrf(demands, capacities=None, released=released).tasks

    few = run(20)
    if not np.allclose(ours(*few), plain_cbdrf(*few)):
        raise SystemExit("what is compared does not compute the same")

    what = "`cbdrf`, 300 nodes, 3000 phases, against the column maxima of its formulas in numpy"
    yield against(what, lambda: run(3000), ours, plain_cbdrf, 5, runs=runs, at_least=False)
    yield grown(
        "cost per node and phase at 3000 phases against 300 (10 fresh runs)",
        ours,
        lambda: [run(3000)],
        lambda: [run(300) for _ in range(10)],
        1.5,
        runs=runs,
    )


def _tv_drf(rng: np.random.Generator, scale: int) -> Iterator[Row]:
    users = machines = 100
    parts = np.full(users, 1 / users)
    pool = np.tile([64.0, 1.0], (machines, 1))
    runs = 1 + scale

    def drained(demands: np.ndarray, tasks: np.ndarray) -> fb.TvDrfRun:
        return fb.tv_drf(demands, tasks, pool, parts, unserved="waits")

    def several(instances: list[tuple[np.ndarray, np.ndarray]]) -> None:
        for one in instances:
            drained(*one)

    def trace(extra: int = 1200) -> tuple[np.ndarray, np.ndarray]:
        """All jobs, and empty periods behind them in which the queues run dry."""
        dealt = alibaba2017.load_digest().deal(users, rng, 300.0)
        rest = np.broadcast_to(dealt.demands[-1], (extra, users, 2))
        return np.concatenate([dealt.demands, rest]), np.concatenate([dealt.tasks, np.zeros((extra, users))])

    whole = trace()
    drained(whole[0][:2], np.minimum(whole[1][:2], 1))  # compile
    started = time.perf_counter()
    run = drained(*whole)
    seconds = time.perf_counter() - started
    last = int(np.flatnonzero(run.tasks.sum(axis=1))[-1])
    if run.unserved[-1].any() or run.tasks.sum() != whole[1].sum() or run.violations():
        raise SystemExit("the queues of the whole trace did not run dry")
    yield Row(
        f"all {int(run.tasks.sum())} tasks of the Alibaba trace by `tv_drf`, {users} users, {machines} machines, "
        f"{last + 1} periods: part of a minute",
        seconds / 60,
        (seconds / 60, seconds / 60),
        1,
        False,
        (seconds, 60.0),
    )

    def thinned() -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
        for _ in range(runs):
            demands, tasks = trace()
            rest, small = tasks[:205].astype(np.int64), []
            for copies in range(100, 0, -1):  # deal out all instances among a hundred traces
                part = rng.binomial(rest, 1 / copies)
                rest = rest - part
                small.append((demands[:225], np.concatenate([part, np.zeros((20, users))])))
            if any(drained(*one).unserved[-1].any() for one in small[:1]):
                raise SystemExit("the queues of a thinned trace did not run dry")
            yield (lambda u=(demands, tasks): drained(*u)), (lambda u=small: several(u))

    yield compare(
        "cost per task of the whole trace against 1 % of its tasks (100 times)", thinned(), 1.5, at_least=False
    )

    def crowd(grain: int, periods: int) -> Callable[[], float]:
        """All want more than there is, all the time; ``grain`` tasks in place of one."""
        demands = whole[0][rng.integers(0, 205, periods)] / grain
        return lambda: fb.tv_drf(demands, np.full(demands.shape[:2], 1e9), pool, parts).tasks.sum()

    yield per_task(
        "cost per task in a crowd (all users always queue) with tasks of 1/100 the size",
        ((crowd(100, 5), crowd(1, 500)) for _ in range(runs)),
        1.5,
    )

    def moderate() -> tuple[np.ndarray, ...]:
        demands, tasks = rng.uniform(0.005, 0.03, (2, 100, 2)), rng.integers(1, 100, (2, 100)).astype(float)
        sizes = rng.uniform(0.5, 1, (100, 2))
        return demands, tasks, sizes, fb.tv_drf(demands, tasks, sizes, parts).alone

    def ours(demands: np.ndarray, tasks: np.ndarray, sizes: np.ndarray, _: np.ndarray) -> np.ndarray:
        return fb.tv_drf(demands, tasks, sizes, parts).tasks

    yield against(
        "TV-DRF's Algorithm 1 as printed, in numpy, against `tv_drf`, n = K = 100",
        moderate,
        plain_tv_drf,
        ours,
        50,
        runs=runs,
        fast=20,
        same=lambda found, *one: bool((found == ours(*one)).all()),
    )

    n = 20

    def bounded() -> tuple[np.ndarray, np.ndarray]:
        demands, _ = _users(rng, n)
        return demands, fb.drf(demands).tasks * 2 * rng.random(n)

    def fluid(demands: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        run = fb.tv_drf(demands[None], bounds[None], np.ones((1, 2)), np.full(n, 1 / n), method="lexicographic")
        return run.tasks[0]

    def programs(demands: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        return lexicographic_run(demands[None], bounds[None], np.ones((1, 2)), np.full((n, 1), 1 / n)).tasks[0]

    def alike(found: np.ndarray, *one: np.ndarray) -> bool:
        return np.allclose(found, fb.drf(one[0], max_tasks=one[1]).tasks, atol=1e-4)

    fluid(*bounded())
    what = "fresh HiGHS programs against fluid `tv_drf`, one period, n = 20"
    yield against(what, bounded, programs, fluid, 25, runs=3 * runs, fast=200, same=alike)


def _large(rng: np.random.Generator, scale: int) -> Iterator[Row]:
    """A process of its own, whose largest memory is the whole of it: interpreter, input, engine, result."""
    code = (
        "import numpy as np, fairbook as fb; rng = np.random.default_rng(); users = rng.integers(1, 9, (10_000, 2)); "
        "print(len(fb.drfh(users, rng.integers(87, 700, (100_000, 2)))))"
    )
    done: list[str] = []
    before = _of_children()
    wall = timed_once(lambda: done.append(subprocess.check_output([sys.executable, "-c", code], text=True)), _WALL)
    what = f"Best-Fit, 100 000 machines, 10 000 users, {done[0].strip()} tasks, a process of its own"
    yield _memory(f"{what} (times: processor, wall)", 1024, (_of_children() - before, wall))


def _run(*command: str) -> None:
    """Run a whole process as on any machine: what runs before it leaves bytecode and compiled kernels behind."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)


def _processes(rng: np.random.Generator, scale: int) -> Iterator[Row]:
    users = str(RESULTS.parents[1] / "data" / "example_users.csv")
    run = partial(_run, sys.executable)
    allocate = partial(run, "-m", "fairbook", "allocate", users, "--capacity", "cpu=1", "memory=1", "gpu=1")
    for first, second, what in (
        (allocate, partial(run, "-c", "import pandas"), "`fairbook allocate` against `import pandas`"),
        (partial(run, "-m", "book", "claims"), allocate, "`python -m book claims` against `fairbook allocate`"),
    ):
        first()  # leaves bytecode, and beside it the hashes of sources
        for clock, name in _CLOCKS:
            pairs = ((first, second) for _ in range(1 + 3 * scale))
            yield compare(f"{what}, whole processes, {name}", pairs, 2, at_least=False, clock=clock)


def _digest(rng: np.random.Generator, scale: int) -> Iterator[Row | str]:
    folder = os.environ.get("FAIRBOOK_TRACES")
    if not folder or not (Path(folder) / "google2011").is_dir():
        yield "The Google digest was not measured: FAIRBOOK_TRACES does not name the raw traces."
        return
    parts = sorted(map(str, (Path(folder) / "google2011").glob("task_events-*.gz"))) or sorted(
        map(str, (Path(folder) / "google2011").glob("task_events*.gz"))
    )
    with tempfile.TemporaryDirectory() as output:
        code = (
            "from book.common.raw.google2011 import digest; "
            f"digest({str(Path(folder) / 'google2011')!r}).write({output!r})"
        )

        ours = partial(_run, sys.executable, "-c", code)
        read = f"import pandas as pd\nfor part in {parts!r}: pd.read_csv(part, header=None)"
        theirs = partial(_run, sys.executable, "-c", read)
        ours()
        for clock, name in _CLOCKS:
            what = f"digest of {len(parts)} Google parts against `pandas.read_csv` of them, {name}"
            pairs = ((ours, theirs) for _ in range(1 + 3 * scale))
            row = compare(what, pairs, 2, at_least=False, clock=clock)
            yield row
    yield _memory("the digest", 600, row.seconds)


def _growth(rng: np.random.Generator, scale: int) -> Iterator[str]:
    sizes = (1000, 10_000, 100_000, 1_000_000)

    def bounded(n: int) -> tuple[np.ndarray, ...]:
        demands, weights = _users(rng, n)
        return demands, weights, fb.drf(demands, weights=weights).tasks * 2 * rng.random(n)

    def online(demands: np.ndarray, weights: np.ndarray) -> None:
        pool = fb.DmfaSrq(2)
        for user, row in enumerate(demands):
            pool.arrive(user, row, float(weights[user]))

    users = partial(_users, rng)
    rows: dict[str, tuple[Callable[[int], tuple[np.ndarray, ...]], Callable[..., Any]]] = {
        **{f"`dmfa_srq`, m = {m}": (partial(_users, rng, m=m), DMFA_SRQ) for m in (2, 4, 8, 12)},
        "`dmfa_srq(...).tasks`, m = 2": (users, lambda d, w: fb.dmfa_srq(d, weights=w).tasks),
        "`drf` with bounds, m = 2": (bounded, lambda d, w, most: fb.drf(d, weights=w, max_tasks=most)),
        "`DmfaSrq.arrive`, m = 2": (users, online),
        **{
            f"`virtual_cluster`, {method}, 20 clusters": (
                lambda n: (*requests(rng, n), cut_sizes(rng, 20, 25 * n, 25 * n // 40)),
                partial(fb.virtual_cluster, method=method),  # type: ignore[arg-type]
            )
            for method in METHODS
        },
        "`drf_by_task`, 100 users, about n tasks": (partial(_few_users, rng), BY_TASK),
    }
    lines = [
        "Nanoseconds per user (per task in the last row), checks of the input included.",
        "",
        "| engine | " + " | ".join(f"n = {n}" for n in sizes) + " |",
        "|---|" + "---|" * len(sizes),
    ]
    for what, (draw, call) in rows.items():
        call(*draw(10))  # compile
        cells = []
        for n in sizes[: 2 if call is online else None]:
            seconds = median(timed_once(partial(call, *draw(n))) for _ in range(1 + 2 * scale))
            cells.append(f"{1e9 * seconds / n:.0f}")
        lines.append(f"| {what} | {' | '.join(cells + [''] * (len(sizes) - len(cells)))} |")
    yield "\n".join(lines)


def _all_mechanisms(rng: np.random.Generator, scale: int) -> Iterator[str]:
    """Give every mechanism of the comparison the same instances, small and large; times beside those of DRF there."""
    sizes, runs = (12, 96), 5 * scale - 3
    rows: dict[str, list[float]] = {}
    for users in sizes:
        cases = [instance(np.random.default_rng([2026, users, k]), "alibaba2017", users=users) for k in range(runs)]
        for entrant in ENTRANTS.values():
            entrant.call(cases[0])  # compiled, and read from disk
            calls = [partial(entrant.call, case) for case in cases]
            often = 40 if timed_once(calls[0]) < 2e-3 else 2  # short calls are measured while all is warm
            best = [min(timed_once(call) for _ in range(often)) for call in calls]
            rows.setdefault(entrant.name, []).append(median(best))
    machines = len(cases[0].machines) // sizes[-1]
    lines = [
        "| mechanism | " + " | ".join(f"{n} users, {machines * n} machines" for n in sizes) + " | grows by |",
        "|---|" + "---|" * (len(sizes) + 1),
    ]
    for name, seconds in rows.items():
        cells = [
            f"{1e3 * own:.2g} ms ({own / drf:,.1f})" if own < 0.1 else f"{1e3 * own:.0f} ms ({own / drf:,.0f})"
            for own, drf in zip(seconds, rows["drf"], strict=True)
        ]
        lines.append(f"| {ENTRANTS[name].label} | {' | '.join(cells)} | {seconds[-1] / seconds[0]:.1f} |")
    yield "\n".join(
        [
            "Users and machines are those of the Alibaba trace of 2017, at one moment; all users ask for more than "
            f"fits. The times are medians over {runs} instances; on each the best of several calls counts. In "
            "brackets: the time divided by that of DRF on the same instances. The last column: how many times as long "
            f"{sizes[-1]} users take as {sizes[0]}; the number of machines, too, grows by a factor of "
            f"{sizes[-1] // sizes[0]}.",
            "",
            *lines,
        ]
    )


#: The sections of RESULTS.md, in the order in which they are measured. The first two measure the memory of processes of
#: their own, which the system reports to be at least that of the process that started them: still little.
_SECTIONS: dict[str, Callable[[np.random.Generator, int], Iterator[Row | str]]] = {
    "digest": _digest,
    "large": _large,
    "dmfa_srq": _dmfa_srq,
    "drf": _drf,
    "small inputs": _small_inputs,
    "drf_by_task": _drf_by_task,
    "cbdrf": _cbdrf,
    "tv_drf": _tv_drf,
    "gdrf": gdrf,
    "nearest": nearest,
    "drfh, fluid": drfh_fluid,
    "virtual_cluster": virtual_cluster,
    "processes": _processes,
    "growth": _growth,
    "growth in machines": in_machines,
    "all mechanisms": _all_mechanisms,
}


def _with_section(text: str, name: str, section: str) -> str:
    """Put a section into the text between its marks, at the end where it has none yet."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    if begin not in text:
        text = f"{text.rstrip()}\n\n## {name}\n\n{begin}\n{end}\n"
    before, rest = text.split(begin)
    return f"{before}{begin}\n\n{section}\n\n{end}{rest.split(end)[1]}"


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}"


_HEAD = "| what | ratio (median) | smallest to largest | promised | first, second (median) |\n|---|---|---|---|---|"


def _line(row: Row) -> str:
    limit = f"{'at least' if row.at_least else 'at most'} {_number(row.limit)}"
    spread, times = " to ".join(map(_number, row.spread)), ", ".join(f"{1e3 * one:.3g} ms" for one in row.seconds)
    return f"| {row.what} | {_number(row.ratio)} | {spread} | {limit} | {times} |"


def main() -> int:
    """Measure, print, write; return 1 where a promise is not kept."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__.splitlines()[0] if __doc__ else None
    )
    parser.add_argument("--quick", action="store_true", help="fewer repetitions; RESULTS.md is left alone")
    parser.add_argument("--only", nargs="+", choices=_SECTIONS, default=_SECTIONS, help="only these sections")
    asked = parser.parse_args()
    kernels.MOST = 0  # what is measured is compiled, from the first call on
    facts = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "scipy"))
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {facts}."
    kept = True
    for name in asked.only:
        rows, texts = [], []
        for found in _SECTIONS[name](np.random.default_rng([2016, *name.encode()]), 1 if asked.quick else 2):
            if isinstance(found, str):
                texts.append(found)
                continue
            rows.append(_line(found))
            kept &= found.kept
            print(f"{'ok  ' if found.kept else 'FAIL'} {rows[-1]}", file=sys.stderr, flush=True)
        if rows:
            texts = ["\n".join([_HEAD, *rows]), *texts, machine]
        section = "\n\n".join(texts)
        print(section, flush=True)
        if not asked.quick:
            text = _with_section(RESULTS.read_text(encoding="utf-8"), name, section)
            RESULTS.write_text(text, encoding="utf-8")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
