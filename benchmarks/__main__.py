"""Measure every promised ratio and the cost of each engine as its input grows; write RESULTS.md.

    python -m benchmarks            all; exit status 1 if a promise is not kept
    python -m benchmarks --quick    fewer repetitions, RESULTS.md is left alone
    python -m benchmarks --mechanisms   only all mechanisms on one instance; the rest of RESULTS.md stays

A and B are timed in turn, A B A B ..., and the ratio is the median of the ratios of neighbours, so that a machine
whose speed drifts does not decide. What runs in this process is timed in processor time (all threads, system calls
included), which other work on the machine changes little; whole processes are timed by the clock on the wall. Inputs
are fresh for each repetition: a branch predictor learns nothing. Results are dropped at once, as numpy's are.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import fairbook as fb
from benchmarks.plain import (
    by_cvxpy_leximin,
    highs_clusters,
    highs_drf,
    highs_drfh,
    plain_by_task,
    plain_cbdrf,
    plain_gdrf,
    plain_tv_drf,
)
from benchmarks.timing import Row, compare, per_task, repeated, timed_once
from book.compare.properties import ENTRANTS
from book.compare.studies import instance
from book.dmfa_srq.oracle import lp_levels
from book.dmfa_srq.printed import algorithm_1
from book.gdrf.studies import MACHINES
from book.tv_drf.oracle import lexicographic_run
from fairbook import kernels
from fairbook.mechanisms.rows import Mechanism, registry
from fairbook.mechanisms.virtual_cluster import METHODS
from fairbook.sweeps import checkpoint, sweep
from fairbook.traces import alibaba2017
from fairbook.traces.google2011 import load_digest

RESULTS = Path(__file__).with_name("RESULTS.md")
_BEGIN, _END = "<!-- all mechanisms: begin -->", "<!-- all mechanisms: end -->"
PEAK_MB = 600  # promised for the digest


def _users(rng: np.random.Generator, n: int, m: int = 2) -> tuple[np.ndarray, np.ndarray]:
    return rng.random((n, m)) + 1e-3, rng.random(n) + 1e-3


def _each(instances: list[tuple[np.ndarray, np.ndarray]]) -> None:
    for demands, weights in instances:
        fb.dmfa_srq(demands, weights)


def _dmfa_srq(rng: np.random.Generator, scale: int) -> Iterator[Row]:
    fb.dmfa_srq(*_users(rng, 10))  # compile

    def million() -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
        for _ in range(9 * scale):
            demands, weights = _users(rng, 10**6)
            yield (lambda d=demands, w=weights: fb.dmfa_srq(d, w)), (lambda d=demands: d / d.max(axis=1, keepdims=True))

    yield compare("`dmfa_srq`, 10^6 arrivals, against `D / D.max(axis=1, keepdims=True)`", million(), 2, at_least=False)

    def per_arrival() -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
        for _ in range(7 * scale):
            small = [_users(rng, 10**4) for _ in range(100)]
            large = _users(rng, 10**6)
            yield (lambda u=large: fb.dmfa_srq(*u)), (lambda u=small: _each(u))

    yield compare("cost per arrival at 10^6 against 10^4 (100 fresh instances)", per_arrival(), 1.5, at_least=False)

    def against(n: int, slow: Callable[..., Any], runs: int) -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
        fast = 200
        for _ in range(runs):
            many = [_users(rng, n) for _ in range(fast)]
            yield (lambda u=many[0]: slow(*u)), (lambda u=many: _each(u))

    for n, slow, name, limit, runs in (
        (500, algorithm_1, "Algorithm 1 in numpy", 1000, 15),
        (10_000, algorithm_1, "Algorithm 1 in numpy", 4000, 3),
        (500, lp_levels, "a fresh HiGHS program per arrival", 5000, 3),
    ):
        row = compare(f"{name} against `dmfa_srq`, n = {n}", against(n, slow, runs * scale), limit, at_least=True)
        yield repeated(200, row)


#: Times as long as ``asarray``, finite and not negative of the input alone, for 10 users and 2 resources, 4 phases of
#: them where there are phases: half as much again as was measured. What is not kernel is numpy on ten numbers, a
#: microsecond a call, and many calls where a mechanism has phases or searches.
_SMALL = {
    "drf": 2.5,
    "drf_by_task": 4.0,
    "sequential_minmax": 4.0,
    "dmfa_srq": 1.2,
    "dynamic_drf": 4.5,
    "static_optimum": 3.5,
    "cbdrf": 60.0,
    "karma": 40.0,
    "tv_drf": 30.0,
    "gdrf": 90.0,
    "drfh": 30.0,
    "mdrf": 55.0,
    "per_server_drf": 30.0,
    "virtual_cluster": 85.0,
}


def _checked(*arrays: np.ndarray) -> None:
    for array in map(np.asarray, arrays):
        if not np.isfinite(array).all() or (array < 0).any():
            raise ValueError(array)


def _small_inputs(rng: np.random.Generator, scale: int) -> Iterator[Row]:
    def given(row: Mechanism) -> tuple[np.ndarray, ...]:
        demands, weights = _users(rng, 10)
        phases, room = rng.random((4, 10, 2)) + 0.1, 2.0 + 6.0 * rng.random((2, 2))
        if row.name == "dynamic_drf":
            return (demands,)
        return {
            "pool": (demands + 0.1, weights + 0.1, room[0]),
            "arrivals": (demands, weights),
            "phases": (phases, room[0]),
            "periods": (phases, np.full((4, 10), 3.0), room, np.full(10, 0.1)),
            "machines": (demands + 0.1, room, np.array([2.0, 1.0])),
            "clusters": (np.ceil(20 * weights), demands[:, 0] / 2, np.array([40.0, 60.0])),
        }[row.kind]

    def pairs(row: Mechanism) -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
        row.function(*given(row))
        for _ in range(7 * scale):
            many = [given(row) for _ in range(100)]
            yield tuple(lambda call=call, many=many: [call(*one) for one in many] for call in (row.function, _checked))

    for name, row in registry.items():
        what = f"`{name}`, 10 users, against `asarray`, finite and not negative of its input alone"
        yield compare(what, pairs(row), _SMALL[name], at_least=False)


def _drf(rng: np.random.Generator, scale: int) -> Iterator[Row]:
    def pairs() -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
        for _ in range(50 * scale):
            demands, weights = _users(rng, 10_000)
            zero = rng.random((10_000, 2)) < 1 / 3
            zero[zero.all(axis=1), 0] = False
            demands[zero] = 0.0
            yield (lambda d=demands, w=weights: fb.drf(d, w)), (lambda d=demands, w=weights: (d * w[:, None]).sum(0))

    fb.drf(*_users(rng, 10))
    yield compare(
        "`drf`, n = 10 000, a third of the demands zero, against `(D * w[:, None]).sum(0)`", pairs(), 2, at_least=False
    )


def _few_users(rng: np.random.Generator, number: float) -> tuple[np.ndarray, np.ndarray]:
    """Draw 100 users of whose tasks about so many fit a pool of ones."""
    demands, weights = _users(rng, 100)
    mix = weights / demands.max(axis=1)
    return demands * mix.sum() / (mix @ demands).max() / number, weights


def _drf_by_task(rng: np.random.Generator, scale: int) -> Iterator[Row]:
    fast = 100

    def each(instances: list[tuple[np.ndarray, np.ndarray]]) -> None:
        for one in instances:
            fb.drf_by_task(*one)

    fb.drf_by_task(*_few_users(rng, 100))

    def loops() -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
        for _ in range(3 * scale):
            one, several = _few_users(rng, 3e5), [_few_users(rng, 3e5) for _ in range(fast)]
            if (plain_by_task(*one) != fb.drf_by_task(*one).tasks).any():
                raise SystemExit("drf_by_task and the loop do not hand out the same tasks")
            yield (lambda u=one: plain_by_task(*u)), (lambda u=several: each(u))

    kind = "`drf_by_task`, 100 users"
    yield repeated(
        fast, compare(f"a loop over tasks and a heap against {kind}, about 3 10^5 tasks", loops(), 200, at_least=True)
    )

    def growth() -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
        for _ in range(7 * scale):
            many, few = ([_few_users(rng, number) for _ in range(fast)] for number in (3e6, 3e5))
            yield (lambda u=many: each(u)), (lambda u=few: each(u))

    yield compare(f"{kind}: 10 times the tasks", growth(), 2, at_least=False)


def _cbdrf(rng: np.random.Generator, scale: int) -> Iterator[Row]:
    n, runs = 300, 3 * scale

    def run(phases: int) -> tuple[np.ndarray, np.ndarray]:
        return rng.random((phases, n, 2)) + 1e-3, rng.random((phases, n))

    def ours(demands: np.ndarray, released: np.ndarray) -> np.ndarray:
        return fb.cbdrf(demands, None, released=released, credit_cap=1.0).tasks

    def all_of(several: list[tuple[np.ndarray, np.ndarray]]) -> None:
        for demands, released in several:
            ours(demands, released)

    few = run(20)
    if not (np.allclose(ours(*few), plain_cbdrf(*few)) and np.allclose(fb.cbdrf(few[0]).tasks, highs_drf(few[0]))):
        raise SystemExit("what is compared does not compute the same")

    def plain() -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
        for _ in range(runs):
            long = run(3000)
            yield (lambda u=long: ours(*u)), (lambda u=long: plain_cbdrf(*u))

    yield compare("`cbdrf`, 300 nodes, 3000 phases, against its formulas in numpy", plain(), 5, at_least=False)

    def growth() -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
        for _ in range(runs):
            long, short = run(3000), [run(300) for _ in range(10)]
            yield (lambda u=long: ours(*u)), (lambda u=short: all_of(u))

    yield compare("cost per node and phase at 3000 phases against 300 (10 fresh runs)", growth(), 1.5, at_least=False)

    def highs() -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
        for _ in range(runs):
            short = run(20)
            yield (lambda u=short: highs_drf(u[0])), (lambda u=short: ours(*u))

    yield compare("a fresh HiGHS program per phase against `cbdrf`, 300 nodes", highs(), 10, at_least=True)


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
        dealt = alibaba2017.load_digest().deal(rng, users, 300.0)
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

    def moderate() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        demands, tasks = rng.uniform(0.005, 0.03, (2, 100, 2)), rng.integers(1, 100, (2, 100)).astype(float)
        return demands, tasks, rng.uniform(0.5, 1, (100, 2))

    def ours(demands: np.ndarray, tasks: np.ndarray, sizes: np.ndarray) -> fb.TvDrfRun:
        return fb.tv_drf(demands, tasks, sizes, parts)

    def plain() -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
        for _ in range(runs):
            one, fast = moderate(), [moderate() for _ in range(20)]
            own = ours(*one).alone
            if (plain_tv_drf(*one, own) != ours(*one).tasks).any():
                raise SystemExit("Algorithm 1 as printed and tv_drf do not run the same tasks")
            yield (lambda u=(*one, own): plain_tv_drf(*u)), (lambda u=fast: [ours(*each).tasks for each in u])

    yield repeated(
        20,
        compare("TV-DRF's Algorithm 1 as printed, in numpy, against `tv_drf`, n = K = 100", plain(), 50, at_least=True),
    )

    n, fast = 20, 200

    def bounded() -> tuple[np.ndarray, np.ndarray]:
        demands, _ = _users(rng, n)
        return demands, fb.drf(demands).tasks * 2 * rng.random(n)

    def fluid(demands: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        run = fb.tv_drf(demands[None], bounds[None], np.ones((1, 2)), np.full(n, 1 / n), method="lexicographic")
        return run.tasks[0]

    def drf(demands: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        return fb.drf(demands, max_tasks=bounds).tasks

    def programs(demands: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        return lexicographic_run(demands[None], bounds[None], np.ones((1, 2)), np.full((n, 1), 1 / n)).tasks[0]

    def against(
        slow: Callable[..., np.ndarray], quick: Callable[..., np.ndarray], count: int
    ) -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
        for _ in range(count):
            one, many, found = bounded(), [bounded() for _ in range(fast)], []
            yield (
                (lambda u=one, f=found: f.append(slow(*u))),
                (lambda u=many: [quick(*each) for each in u]),
            )
            if not np.allclose(found[0], quick(*one), atol=1e-4):
                raise SystemExit("what is compared does not compute the same")

    bounded()
    fluid(*bounded())
    yield repeated(
        fast,
        compare(
            "fresh HiGHS programs against fluid `tv_drf`, one period, n = 20",
            against(programs, fluid, 3 * runs),
            100,
            at_least=True,
        ),
    )
    if find_spec("cvxpy_leximin") is None:
        print("cvxpy_leximin was not measured: it is not installed", file=sys.stderr)
        return
    for name, quick in (("fluid `tv_drf`", fluid), ("`drf` with bounds", drf)):
        yield repeated(
            fast,
            compare(
                f"`cvxpy_leximin` {version('cvxpy-leximin')} against {name}, one period, n = 20",
                against(by_cvxpy_leximin, quick, 1 + 2 * scale),
                50_000,
                at_least=True,
            ),
        )


def _drfh_fluid(rng: np.random.Generator, scale: int) -> Iterator[Row]:
    def cell(K: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        return rng.uniform(0.1, 1, (n, 2)), rng.uniform(1, 10, (K, 2))

    def fluid(demands: np.ndarray, machines: np.ndarray) -> fb.FluidPlacement:
        return fb.drfh(demands, machines, method="fluid")

    def programs(n: int) -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
        for _ in range(1 + 2 * scale):
            one = cell(640, n)
            found = fluid(*one)
            if found.violations() or abs(highs_drfh(*one) - found.dominant_shares.min()) > 1e-6:
                raise SystemExit("the programme of DRFH and drfh do not agree")
            yield (lambda u=one: highs_drfh(*u)), (lambda u=one: fluid(*u))

    for n, limit in ((20, 3), (60, 10)):
        yield compare(
            f"the whole programme of DRFH by HiGHS against fluid `drfh`, 640 classes, {n} users",
            programs(n),
            limit,
            at_least=True,
        )

    def growth() -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
        for _ in range(1 + 4 * scale):
            many, few = cell(1280, 20), cell(320, 20)
            yield (lambda u=many: fluid(*u)), (lambda u=few: fluid(*u))

    yield compare("fluid `drfh`, 20 users: 4 times the classes (1280 against 320)", growth(), 6, at_least=False)


def _gdrf(rng: np.random.Generator, scale: int) -> Iterator[Row]:
    table = np.array(MACHINES)
    machines, counts = np.rint(100 * table[:, :2]), table[:, 2].astype(int)
    digest = load_digest()

    def mixes(n: int) -> np.ndarray:
        """Draw users that differ, 16 at most: then no lot is drawn."""
        pairs = rng.permutation(16)[:n]
        return np.column_stack([pairs // 4, pairs % 4]) + 1.0

    def crowd(n: int = 20) -> np.ndarray:
        return rng.integers(1, 5, (n, 2)).astype(float)

    def of_trace(n: int) -> np.ndarray:
        rows = np.unique(digest.sample(10 * n, rng) * 100, axis=0)
        return rows[rng.permutation(len(rows))[:n]]

    def place(demands: np.ndarray, sizes: np.ndarray = machines, many: np.ndarray = counts) -> fb.Placement:
        return fb.gdrf(demands, sizes, many)

    place(crowd(), machines[:1], np.array([2]))  # compile
    seconds, tasks = [], 0
    for _ in range(5 * scale):
        users = crowd()
        started = time.perf_counter()
        tasks = len(place(users))
        seconds.append(time.perf_counter() - started)
    yield Row(
        f"{counts.sum()} machines of the Google cell filled by `gdrf`, 20 users, about {round(tasks, -4)} tasks: "
        "part of a second",
        median(seconds),
        (min(seconds), max(seconds)),
        1,
        False,
        (median(seconds), 1.0),
    )

    fast = 5

    def scans(
        draw: Callable[[int], np.ndarray], n: int, runs: int
    ) -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
        for _ in range(runs):
            one, several, found = draw(n), [draw(n) for _ in range(fast)], []
            yield (
                (lambda u=one, f=found: f.append(plain_gdrf(u, machines, counts))),
                (lambda u=several: [len(place(each)) for each in u]),
            )
            placed, (users, places) = place(one), found[0]
            if placed.placed_user.tolist() != users or placed.placed_machine.tolist() != places:
                raise SystemExit("gdrf and the scan of all machines do not place the same tasks on the same machines")

    # a scan takes one to two minutes
    for draw, n, runs, limit, name in (
        (mixes, 16, scale, 20, "16 users, whole-number demands"),
        (of_trace, 300, 1, 5, "300 users, demands of the trace"),
    ):
        yield repeated(
            fast,
            compare(
                f"a numpy scan of all {counts.sum()} machines per task, f kept, against `gdrf`, {name}",
                scans(draw, n, runs),
                limit,
                at_least=True,
            ),
        )

    def number(demands: np.ndarray, sizes: np.ndarray = machines, many: np.ndarray = counts) -> Callable[[], int]:
        return lambda: len(place(demands, sizes, many))

    def each_of_its_own() -> np.ndarray:
        return np.repeat(machines, counts, axis=0) * rng.uniform(0.9, 1.1, (counts.sum(), 2))

    yield per_task(
        "cost per task of `gdrf` with 300 users of the trace against 20",
        ((number(of_trace(300)), number(of_trace(20))) for _ in range(1 + 2 * scale)),
        2,
    )

    def crowds() -> Iterator[np.ndarray]:
        return (crowd() for _ in range(1 + scale))

    yield per_task(
        "cost per task of `gdrf` on 10 times the machines (the tree no longer fits the cache)",
        ((number(users, many=10 * counts), number(users)) for users in crowds()),
        3,
    )
    yield per_task(
        "cost per task of `gdrf` with tasks of 1/10 the size",
        ((number(users / 10), number(users)) for users in crowds()),
        2,
    )
    yield per_task(
        "cost per task of `gdrf` where no two machines are alike, against 10 classes",
        ((number(users, each_of_its_own(), np.ones(counts.sum())), number(users)) for users in crowds()),
        1.5,
    )


def _nearest(rng: np.random.Generator, scale: int) -> Iterator[Row]:
    """Rules by which a machine suits a user, against First-Fit, which asks for room alone."""

    def pool(K: int = 5000, n: int = 1000) -> tuple[np.ndarray, np.ndarray]:
        return rng.integers(1, 9, (n, 2)).astype(float), rng.integers(8, 65, (K, 2)).astype(float)

    def over_time(demands: np.ndarray, machines: np.ndarray) -> fb.TvDrfRun:
        n = len(demands)
        return fb.tv_drf(demands[None], np.full((1, n), 1e6), machines, np.full(n, 1 / n))

    def first(demands: np.ndarray, machines: np.ndarray) -> fb.Placement:
        return fb.drfh(demands, machines, method="first_fit")

    for name, place in (("`drfh`, Best-Fit", fb.drfh), ("`mdrf`", fb.mdrf), ("`tv_drf`, whole tasks", over_time)):
        for one in (place, first):
            one(*pool(40, 10))  # compile

        def pairs(
            place: Callable[..., Any] = place,
        ) -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
            for _ in range(5 * scale):
                ours, theirs = pool(), pool()
                yield (lambda u=ours: place(*u)), (lambda u=theirs: first(*u))

        yield compare(f"{name}, 5000 machines, 1000 users, against First-Fit", pairs(), 5, at_least=False)
    users = [[pool(5000, n) for n in (1000, 20)] for _ in range(3 * scale)]
    yield per_task(
        "cost per task of Best-Fit with 1000 users against 20, 5000 machines",
        (((lambda u=many: len(fb.drfh(*u))), (lambda u=few: len(fb.drfh(*u)))) for many, few in users),
        2,
    )


def _requests(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw what the paper's users ask: normal with mean 30 and variance 10, tolerating up to 0.9."""
    return np.maximum(np.rint(rng.normal(30, math.sqrt(10), n)), 1), rng.uniform(0, 0.9, n)


def _sizes(rng: np.random.Generator, count: int, total: int, least: int) -> np.ndarray:
    """Cut what is above the least sizes at uniform points."""
    cuts = np.sort(rng.integers(0, total - count * least + 1, count - 1))
    return least + np.diff(cuts, prepend=0, append=total - count * least)


def _virtual_cluster(rng: np.random.Generator, scale: int) -> Iterator[Row]:
    def small() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return *_requests(rng, 14), _sizes(rng, 5, 320, 50)

    def large() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return *_requests(rng, int(rng.integers(30, 41))), _sizes(rng, 8, 1000, 90)

    def timed(asked: tuple[np.ndarray, ...], **arguments: Any) -> tuple[fb.VirtualClusters, float]:
        held: list[fb.VirtualClusters] = []
        taken = timed_once(lambda: held.append(fb.virtual_cluster(*asked, **arguments)))
        if held[0].violations():
            raise SystemExit("virtual_cluster breaks its constraints")
        return held[0], taken

    for whole in (True, False):  # compile
        for method in METHODS:
            timed(small(), method=method, whole=whole)
        for _ in range(50):  # some searches come late and seldom
            timed(small(), whole=whole)
    for whole, kind in ((True, "whole VMs"), (False, "VMs not whole")):
        found = [timed(small(), whole=whole) for _ in range(100 * scale)]
        seconds = [taken for _, taken in found]
        shown = (median(seconds), 0.1)
        proved = sum(one.optimal for one, _ in found) / len(found)
        what = f"`virtual_cluster`, exact, 5 clusters, 14 users, {kind}, {len(found)} instances"
        yield Row(f"{what}: part proved optimal", proved, (proved, proved), 1, True, shown)
        yield Row(
            f"{what}: median time, part of a tenth of a second",
            10 * median(seconds),
            (10 * min(seconds), 10 * max(seconds)),
            1,
            False,
            shown,
        )

    cap, many = 2000, 100

    def programs() -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
        for _ in range(3 * scale):
            one, fast, held = small(), [small() for _ in range(many)], []
            while not fb.virtual_cluster(*one).min_fraction:  # where not everybody can be served there is no optimum
                one = small()
            yield (
                (lambda u=one, h=held: h.append(highs_clusters(*u, cap))),
                (lambda u=fast: [fb.virtual_cluster(*each) for each in u]),
            )
            best, theirs = fb.virtual_cluster(*one), held[0]
            reached = -theirs.fun if theirs.x is not None else 0.0
            if not reached - 1e-6 <= best.min_fraction <= 1e-6 - theirs.mip_dual_bound:
                raise SystemExit("virtual_cluster and HiGHS do not agree")

    yield repeated(
        many,
        compare(
            f"HiGHS on the plain integer program, given up after {cap} nodes, against exact "
            "`virtual_cluster`, 5 clusters, 14 users",
            programs(),
            100,
            at_least=True,
        ),
    )

    for draw, runs, limit, judge, size in (
        (small, 100 * scale, 1, "the optimum", "5 clusters, 14 users"),
        (large, 40 * scale, 2, "the best bound", "8 clusters, 30 to 40 users"),
    ):
        rows = []
        while len(rows) < runs:
            asked = draw()
            bound = timed(asked)[0].bound
            if bound > 0:  # else not everybody can be served, and all have 0
                few, hvp = timed(asked, node_limit=1000), timed(asked, method="vector_packing")
                rows.append((few[0].min_fraction, bound, hvp[0].min_fraction, few[1], hvp[1]))
        reached, bounds, packed, first, second = np.array(rows).T
        short, above = 100 * (1 - reached / bounds), 100 * (reached - packed) / bounds
        pair = median(first), median(second)
        yield Row(
            f"exact `virtual_cluster` stopped after 1000 nodes, {size}, {runs} instances: % by which its mean "
            f"least fraction falls short of {judge} (second: vector packing)",
            100 * float(1 - reached.mean() / bounds.mean()),
            (float(short.min()), float(short.max())),
            limit,
            False,
            pair,
        )
        yield Row(
            f"the same: % by which it lies above that of vector packing (METAHVP), {size}",
            100 * float(reached.mean() / packed.mean() - 1),
            (float(above.min()), float(above.max())),
            0,
            True,
            pair,
        )

    def wide(n: int, H: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As many VMs as five sixths of those wanted."""
        return *_requests(rng, n), _sizes(rng, H, 25 * n, 25 * n // (2 * H))

    for whole, kind in ((True, "whole VMs"), (False, "VMs not whole")):
        times = {}
        for method in METHODS:
            times[method] = median(timed(wide(10_000, 200), method=method, whole=whole)[1] for _ in range(1 + scale))
        slowest, fastest = max(times, key=times.__getitem__), min(times.values())
        yield Row(
            f"`virtual_cluster`, 10 000 users, 200 clusters, {kind}: the slowest method ({slowest}), "
            "part of 10 seconds (smallest: the fastest)",
            times[slowest] / 10,
            (fastest / 10, times[slowest] / 10),
            1,
            False,
            (times[slowest], 10.0),
        )

    def crowded(whole: bool) -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
        for _ in range(1 + 2 * scale):
            many, few = wide(20 * 640, 640), wide(20 * 160, 160)
            yield (
                (lambda u=many: fb.virtual_cluster(*u, whole=whole)),
                (lambda u=few: fb.virtual_cluster(*u, whole=whole)),
            )

    for whole, kind in ((True, "whole VMs"), (False, "VMs not whole")):
        yield compare(
            f"exact `virtual_cluster`, 20 users a cluster, {kind}: 640 clusters against 160 (4^1.2 = 5.3)",
            crowded(whole),
            4**1.2,
            at_least=False,
        )

    def growth(method: Any) -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
        for _ in range(3 * scale):
            one, ten = wide(10_000, 20), [wide(1000, 20) for _ in range(10)]
            yield (
                (lambda u=one: fb.virtual_cluster(*u, method=method)),
                (lambda u=ten: [fb.virtual_cluster(*each, method=method) for each in u]),
            )

    for method in METHODS:
        yield compare(
            f"cost per user of `virtual_cluster`, {method}, 20 clusters, 10 000 users against 1000",
            growth(method),
            2,
            at_least=False,
        )


def _a_millisecond(job: int) -> np.ndarray:
    rng = np.random.default_rng(job)
    return np.sort(rng.random((200, 1000)), axis=1)[:20, ::200].ravel()


def _sweeps(scale: int) -> Iterator[Row]:
    jobs = range(300)

    def each(resumed: bool) -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
        def plain() -> None:
            sweep(_a_millisecond, jobs)

        def kept() -> None:
            with checkpoint(folder):
                sweep(_a_millisecond, jobs)

        for _ in range(5 * scale):
            with tempfile.TemporaryDirectory() as folder:
                if resumed:
                    kept()
                yield (plain, kept) if resumed else (kept, plain)

    kind = f"`sweep` of {len(jobs)} runs of some 1 ms"
    yield compare(f"{kind} with a checkpoint against without", each(False), 1.2, at_least=False)
    yield compare(f"{kind}: computed against read from the journal", each(True), 10, at_least=True)


def _digest(runs: int) -> tuple[Row | None, str]:
    folder = os.environ.get("FAIRBOOK_TRACES")
    if not folder or not (Path(folder) / "google2011").is_dir():
        return None, "The Google digest was not measured: FAIRBOOK_TRACES does not name the raw traces."
    parts = sorted(map(str, (Path(folder) / "google2011").glob("task_events-*.gz"))) or sorted(
        map(str, (Path(folder) / "google2011").glob("task_events*.gz"))
    )
    machines = sorted(map(str, (Path(folder) / "google2011").glob("machine_events*.gz")))
    with tempfile.TemporaryDirectory() as output:
        code = (
            f"from fairbook.traces.raw.google2011 import digest; digest({parts!r} + "
            f"{machines!r}, {output!r}, progress=False)"
        )

        # as on any machine: the warm-up below leaves compiled bytecode and kernels behind
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

        def ours() -> None:
            subprocess.run([sys.executable, "-c", code], check=True, env=environment)

        def gzip() -> None:
            subprocess.run(["gzip", "-dc", *parts], check=True, stdout=subprocess.DEVNULL)

        ours()
        row = compare(
            f"digest of {len(parts)} Google parts against `gzip -dc`, whole processes",
            ((ours, gzip) for _ in range(runs)),
            2,
            at_least=False,
            clock=time.perf_counter,
        )
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)
    if peak >= PEAK_MB:
        row = replace(row, what=f"{row.what} (needs {peak:.0f} MB)", limit=0.0)  # a promise not kept
    return row, f"Largest memory of a child process, the digest's included: {peak:.0f} MB (promised: under {PEAK_MB})."


def _growth(rng: np.random.Generator) -> str:
    lines = [
        "| engine | " + " | ".join(f"n = {n}" for n in (1000, 10_000, 100_000, 1_000_000)) + " |",
        "|---|" + "---|" * 4,
    ]

    def cost(call: Callable[[int], Callable[[], Any]], sizes: tuple[int, ...]) -> str:
        cells = []
        for n in (1000, 10_000, 100_000, 1_000_000):
            if n not in sizes:
                cells.append("")
                continue
            seconds = median(timed_once(call(n)) for _ in range(5))
            cells.append(f"{1e9 * seconds / n:.0f}")
        return " | ".join(cells)

    sizes = (1000, 10_000, 100_000, 1_000_000)
    for m in (2, 4, 8, 12):
        fb.dmfa_srq(*_users(rng, 10, m))

        def one(n: int, m: int = m) -> Callable[[], Any]:
            users = _users(rng, n, m)
            return lambda: fb.dmfa_srq(*users)

        lines.append(f"| `dmfa_srq`, m = {m} | {cost(one, sizes)} |")

    def tasks(n: int) -> Callable[[], Any]:
        users = _users(rng, n)
        return lambda: fb.dmfa_srq(*users).tasks

    def bounded(n: int) -> Callable[[], Any]:
        demands, weights = _users(rng, n)
        bounds = fb.drf(demands, weights).tasks * 2 * rng.random(n)
        return lambda: fb.drf(demands, weights, max_tasks=bounds)

    def virtual(method: Any) -> Callable[[int], Callable[[], Any]]:
        def one(n: int) -> Callable[[], Any]:
            asked = *_requests(rng, n), _sizes(rng, 20, 25 * n, 25 * n // 40)
            return lambda: fb.virtual_cluster(*asked, method=method)

        return one

    def online(n: int) -> Callable[[], Any]:
        demands, weights = _users(rng, n)

        def run() -> None:
            pool = fb.DmfaSrq(2)
            for user, row in enumerate(demands):
                pool.arrive(user, row, float(weights[user]))

        return run

    def whole(n: int) -> Callable[[], Any]:
        demands, weights = _few_users(rng, n)
        return lambda: fb.drf_by_task(demands, weights)

    bounded(10)()
    lines.append(f"| `dmfa_srq(...).tasks`, m = 2 | {cost(tasks, sizes)} |")
    lines.append(f"| `drf` with bounds, m = 2 | {cost(bounded, sizes)} |")
    lines.append(f"| `DmfaSrq.arrive`, m = 2 | {cost(online, (1000, 10_000))} |")
    for method in METHODS:
        lines.append(f"| `virtual_cluster`, {method}, 20 clusters | {cost(virtual(method), sizes)} |")
    lines.append(f"| `drf_by_task`, 100 users, about n tasks | {cost(whole, sizes)} |")
    return "\n".join(lines)


def _all_mechanisms(runs: int) -> str:
    """Give every mechanism of the comparison the same instances, small and large; times beside those of DRF there."""
    sizes = (12, 96)
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
    return "\n".join(
        [
            f"Users and machines of the Alibaba trace of 2017, one moment, all ask for more than fits; median of "
            f"{runs} instances, the best of several calls on each. In brackets: times as long as DRF on the same "
            "instances. The last column compares "
            f"{sizes[-1]} users with {sizes[0]}, {sizes[-1] // sizes[0]} times as many; machines grow alike.",
            "",
            *lines,
        ]
    )


def _with_section(text: str, section: str) -> str:
    """Put the part on all mechanisms into the text between its marks, at the end where it has none yet."""
    if _BEGIN not in text:
        text = f"{text.rstrip()}\n\n## All mechanisms on one instance\n\n{_BEGIN}\n{_END}\n"
    before, rest = text.split(_BEGIN)
    return f"{before}{_BEGIN}\n\n{section}\n\n{_END}{rest.split(_END)[1]}"


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}"


def main() -> int:
    """Measure, print, write; return 1 where a promise is not kept."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__.splitlines()[0] if __doc__ else None
    )
    parser.add_argument("--quick", action="store_true", help="fewer repetitions; RESULTS.md is left alone")
    parser.add_argument("--mechanisms", action="store_true", help="only all mechanisms on one instance")
    asked = parser.parse_args()
    quick = asked.quick
    kernels.MOST = 0  # what is measured is compiled, from the first call on
    if asked.mechanisms:
        section = _all_mechanisms(2 if quick else 7)
        print(section)
        if not quick:
            RESULTS.write_text(_with_section(RESULTS.read_text(encoding="utf-8"), section), encoding="utf-8")
        return 0
    rng = np.random.default_rng(2016)
    rows: list[Row] = []
    scale = 1 if quick else 2
    for group in (
        _dmfa_srq(rng, scale),
        _drf(rng, scale**2),
        _small_inputs(np.random.default_rng(2011), scale),
        _drf_by_task(rng, scale),
        _cbdrf(rng, scale),
        _tv_drf(rng, scale),
        _drfh_fluid(rng, scale),
        _gdrf(rng, scale),
        _nearest(np.random.default_rng(2015), scale),
        _virtual_cluster(rng, scale),
        _sweeps(scale),
    ):
        for row in group:
            rows.append(row)
            print(f"{'ok  ' if row.kept else 'FAIL'} {row.what}: {_number(row.ratio)}", file=sys.stderr, flush=True)
    digest, note = _digest(7)
    if digest is not None:
        rows.append(digest)
        print(f"{'ok  ' if digest.kept else 'FAIL'} {digest.what}: {_number(digest.ratio)}", file=sys.stderr)
    table = [
        "| what | ratio (median) | smallest to largest | promised | first, second (median) |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        sign = "at least" if row.at_least else "at most"
        table.append(
            f"| {row.what} | {_number(row.ratio)} | {_number(row.spread[0])} to {_number(row.spread[1])} | "
            f"{sign} {_number(row.limit)} | {1e3 * row.seconds[0]:.3g} ms, {1e3 * row.seconds[1]:.3g} ms |"
        )
    facts = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "scipy"))
    text = "\n".join(
        [
            "# Measured speeds",
            "",
            "Written by `make bench`, which fails where a promise is not kept. Ratios are medians of neighbouring "
            "pairs in one run, on fresh inputs, in processor time (whole processes: by the clock on the wall).",
            "",
            f"{os.cpu_count()} cores, Python {platform.python_version()}, {facts}.",
            "",
            *table,
            "",
            note,
            "",
            "## Cost as the input grows",
            "",
            "Nanoseconds per user (per task in the last row), checks of the input included.",
            "",
            _growth(rng),
            "",
        ]
    )
    text = _with_section(text, _all_mechanisms(2 if quick else 7))
    print(text)
    if not quick:
        RESULTS.write_text(text, encoding="utf-8")
    return 0 if all(row.kept for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
