"""What is measured of the mechanisms that place tasks on machines, and virtual machines on clusters."""

import math
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from statistics import median
from typing import Any

import numpy as np

import fairbook as fb
from benchmarks.plain import (
    bisected_clusters,
    highs_clusters,
    highs_drfh,
    plain_gdrf,
    scan_best_fit,
    scan_per_server,
)
from benchmarks.timing import Row, against, grown, per_task, timed_once
from book.gdrf.studies import MACHINES
from fairbook.mechanisms.clusters.virtual_cluster import METHODS
from fairbook.traces.google2011 import load_digest


def gdrf(rng: np.random.Generator, scale: int) -> Iterator[Row]:
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

    def same(found: tuple[list[int], list[int]], users: np.ndarray) -> bool:
        placed = place(users)
        return (placed.placed_user.tolist(), placed.placed_machine.tolist()) == found

    plain_gdrf(crowd(4), machines[:1], np.array([2]))  # compile
    for draw, n, runs, limit, name in (
        (mixes, 16, scale, 20, "16 users, whole-number demands"),
        (of_trace, 300, 1, 5, "300 users, demands of the trace"),
    ):
        yield against(
            f"a compiled scan of all {counts.sum()} machines per task, f kept, against `gdrf`, {name}",
            lambda draw=draw, n=n: (draw(n),),
            lambda users: plain_gdrf(users, machines, counts),
            place,
            limit,
            runs=runs,
            fast=5,
            same=same,
        )

    def number(demands: np.ndarray, sizes: np.ndarray = machines, many: np.ndarray = counts) -> Callable[[], int]:
        return lambda: len(place(demands, sizes, many))

    def each_of_its_own() -> np.ndarray:
        return np.repeat(machines, counts, axis=0) * rng.uniform(0.9, 1.1, (counts.sum(), 2))

    yield per_task(
        "cost per task of `gdrf` with 300 users of the trace against 20",
        ((number(of_trace(300)), number(of_trace(20))) for _ in range(1 + 2 * scale)),
        4,
    )

    def crowds() -> Iterator[np.ndarray]:
        return (crowd() for _ in range(1 + scale))

    yield per_task(
        "cost per task of `gdrf` on 10 times the machines (the tree no longer fits the cache)",
        ((number(users, many=10 * counts), number(users)) for users in crowds()),
        5,
    )
    yield per_task(
        "cost per task of `gdrf` where no two machines are alike, against 10 classes",
        ((number(users, each_of_its_own(), np.ones(counts.sum())), number(users)) for users in crowds()),
        1.5,
    )


def nearest(rng: np.random.Generator, scale: int) -> Iterator[Row]:
    """Rules by which a machine suits a user, against First-Fit, which asks for room alone."""

    def pool(K: int = 5000, n: int = 1000, m: int = 2) -> tuple[np.ndarray, np.ndarray]:
        return rng.integers(1, 9, (n, m)).astype(float), rng.integers(8, 65, (K, m)).astype(float)

    def over_time(demands: np.ndarray, machines: np.ndarray) -> fb.TvDrfRun:
        n = len(demands)
        return fb.tv_drf(demands[None], np.full((1, n), 1e6), machines, np.full(n, 1 / n))

    def first(demands: np.ndarray, machines: np.ndarray) -> fb.Placement:
        return fb.drfh(demands, machines, method="first_fit")

    rules = ("`drfh`, Best-Fit", fb.drfh, 5), ("`mdrf`", fb.mdrf, 20), ("`tv_drf`, whole tasks", over_time, 10)
    for name, place, limit in rules:
        for one in (place, first):
            one(*pool(40, 10))  # compile

        what = f"{name}, 5000 machines, 1000 users, against First-Fit"
        yield against(what, pool, place, first, limit, runs=5 * scale, at_least=False)
    scan_best_fit(*pool(40, 10))  # compile
    what = "a compiled scan of all machines per task against `drfh`, Best-Fit, 5000 machines, 1000 users"
    alike = lambda found, *one: bool((found == fb.drfh(*one).tasks).all())  # noqa: E731

    def uneven() -> tuple[np.ndarray, np.ndarray]:
        """Nothing ties: the scan and the engine round differently."""
        return rng.uniform(1, 8, (1000, 2)), rng.uniform(8, 64, (5000, 2))

    yield against(what, uneven, scan_best_fit, fb.drfh, 4, runs=2 * scale, fast=5, same=alike)
    for one in (fb.per_server_drf, scan_per_server):
        one(*pool(40, 10))  # compile
    what = "`per_server_drf`, 5000 machines, 300 users, against a compiled loop that gives the tasks alone"
    alike = lambda found, *one: bool((found.tasks == scan_per_server(*one)).all())  # noqa: E731
    draw, runs = partial(pool, 5000, 300), 5 * scale
    yield against(what, draw, fb.per_server_drf, scan_per_server, 4, runs=runs, at_least=False, same=alike)
    ten, one_of_ten = (lambda: [draw()]), (lambda: [pool(500, 300)])
    yield grown(
        "`per_server_drf`, 300 users: 10 times the machines", fb.per_server_drf, ten, one_of_ten, 15, runs=5 * scale
    )
    users = [[pool(5000, n) for n in (1000, 20)] for _ in range(3 * scale)]
    yield per_task(
        "cost per task of Best-Fit with 1000 users against 20, 5000 machines",
        (((lambda u=many: len(fb.drfh(*u))), (lambda u=few: len(fb.drfh(*u)))) for many, few in users),
        2,
    )
    for m, limit in ((3, 5), (4, 10)):
        fb.drfh(*pool(40, 10, m))  # compile
        users = [[pool(1000, 100, r) for r in (m, 2)] for _ in range(3 * scale)]
        yield per_task(
            f"cost per task of Best-Fit with {m} resources against 2, 1000 machines, 100 users",
            (((lambda u=more: len(fb.drfh(*u))), (lambda u=two: len(fb.drfh(*u)))) for more, two in users),
            limit,
        )


def in_machines(rng: np.random.Generator, scale: int) -> Iterator[str]:
    """Say what a task costs on more and more machines, of which no two are alike."""
    sizes, n = (1000, 10_000, 100_000), 100

    def over_time(demands: np.ndarray, machines: np.ndarray) -> fb.TvDrfRun:
        return fb.tv_drf(demands[None], np.full((1, n), 1e6), machines, np.full(n, 1 / n))

    rows: dict[str, Callable[..., Any]] = {
        "`drfh`, First-Fit": partial(fb.drfh, method="first_fit"),
        "`drfh`, Best-Fit": fb.drfh,
        "`gdrf`": fb.gdrf,
        "`mdrf`": fb.mdrf,
        "`tv_drf`, whole tasks": over_time,
        "`per_server_drf`": fb.per_server_drf,
    }
    lines = [
        f"Microseconds per task of {n} users, checks of the input included.",
        "",
        "| engine | " + " | ".join(f"{K} machines" for K in sizes) + " |",
        "|---|" + "---|" * len(sizes),
    ]
    for name, place in rows.items():
        cells = []
        for K in (40, *sizes):  # the first to compile
            costs = []
            for _ in range({sizes[-1]: 1}.get(K, 1 + 2 * scale)):
                pool = rng.uniform(0.05, 0.3, (n, 2)), rng.uniform(0.5, 1, (K, 2))
                found: list[Any] = []
                seconds = timed_once(lambda: found.append(place(*pool)))  # noqa: B023
                costs.append(1e6 * seconds / found[0].tasks.sum())
            cells.append(f"{median(costs):.2g}")
        lines.append(f"| {name} | {' | '.join(cells[1:])} |")
    yield "\n".join(lines)


def drfh_fluid(rng: np.random.Generator, scale: int) -> Iterator[Row]:
    def cell(K: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        return rng.uniform(0.1, 1, (n, 2)), rng.uniform(1, 10, (K, 2))

    fluid = partial(fb.drfh, method="fluid")

    def same(found: float, *one: np.ndarray) -> bool:
        ours = fluid(*one)
        return not ours.violations() and abs(found - ours.dominant_shares.min()) <= 1e-6

    fluid(*cell(20, 5))  # loads and compiles
    what = (
        "one programme of DRFH by the interior points of HiGHS against fluid `drfh`, all levels, 640 classes, 20 users"
    )
    yield against(what, partial(cell, 640, 20), highs_drfh, fluid, 0.5, runs=1 + 2 * scale, same=same)
    yield grown(
        "fluid `drfh`, 20 users: 4 times the classes (1280 against 320)",
        fluid,
        lambda: [cell(1280, 20)],
        lambda: [cell(320, 20)],
        25,
        runs=1 + 2 * scale,
    )


def requests(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw what the paper's users ask: normal with mean 30 and variance 10, tolerating up to 0.9."""
    return np.maximum(np.rint(rng.normal(30, math.sqrt(10), n)), 1), rng.uniform(0, 0.9, n)


def cut_sizes(rng: np.random.Generator, count: int, total: int, least: int) -> np.ndarray:
    """Cut what is above the least sizes at uniform points."""
    cuts = np.sort(rng.integers(0, total - count * least + 1, count - 1))
    return least + np.diff(cuts, prepend=0, append=total - count * least)


def virtual_cluster(rng: np.random.Generator, scale: int) -> Iterator[Row | str]:
    def small() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return *requests(rng, 14), cut_sizes(rng, 5, 320, 50)

    def large() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return *requests(rng, int(rng.integers(30, 41))), cut_sizes(rng, 8, 1000, 90)

    def wide(n: int, H: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As many VMs as five sixths of those wanted."""
        return *requests(rng, n), cut_sizes(rng, H, 25 * n, 25 * n // (2 * H))

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

    cap = 2000

    def served() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where not everybody can be served there is no optimum."""
        return next(one for one in iter(small, None) if fb.virtual_cluster(*one).min_fraction)

    def bounded(theirs: Any, *one: np.ndarray) -> bool:
        reached = -theirs.fun if theirs.x is not None else 0.0
        return bool(reached - 1e-6 <= fb.virtual_cluster(*one).min_fraction <= 1e-6 - theirs.mip_dual_bound)

    yield against(
        f"HiGHS on the plain integer program, given up after {cap} nodes, against exact `virtual_cluster`, "
        "5 clusters, 14 users",
        served,
        partial(highs_clusters, nodes=cap),
        fb.virtual_cluster,
        100,
        runs=3 * scale,
        fast=100,
        same=bounded,
    )

    if find_spec("ortools") is None:
        yield "CP-SAT was not measured: OR-Tools is not installed (`pip install ortools`)."
    else:
        what = f"bisection with CP-SAT (OR-Tools {version('ortools')}), one thread, against exact `virtual_cluster`"
        short = "20 clusters, 200 users, a probe of CP-SAT cut short by its work"
        for draw, runs, limit, agree, size in (
            (small, 20 * scale, 15, np.isclose, "5 clusters, 14 users, both proved"),
            (partial(wide, 200, 20), 2 * scale, 500, lambda found, bound: found <= bound + 1e-9, short),
        ):
            yield against(
                f"{what}, {size}",
                draw,
                bisected_clusters,
                fb.virtual_cluster,
                limit,
                runs=runs,
                fast=20,
                same=lambda found, *one, agree=agree: bool(agree(found, fb.virtual_cluster(*one).bound)),
            )

    for draw, runs, limit, judge, size in (
        (small, 100 * scale, 1, "the optimum", "5 clusters, 14 users"),
        (large, 40 * scale, 4, "the best bound", "8 clusters, 30 to 40 users"),
    ):
        rows = []
        while len(rows) < runs:
            asked = draw()
            bound = timed(asked)[0].bound
            if bound > 0:  # else not everybody can be served, and all have 0
                few, hvp = timed(asked, node_limit=30_000), timed(asked, method="vector_packing")
                rows.append((few[0].min_fraction, bound, hvp[0].min_fraction, few[1], hvp[1]))
        reached, bounds, packed, first, second = np.array(rows).T
        short, above = 100 * (1 - reached / bounds), 100 * (reached - packed) / bounds
        pair = median(first), median(second)
        yield Row(
            f"exact `virtual_cluster` stopped after 30 000 nodes, {size}, {runs} instances: % by which its mean "
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

    for whole, kind in ((True, "whole VMs"), (False, "VMs not whole")):
        yield grown(
            f"exact `virtual_cluster`, 20 users a cluster, {kind}, proved or stopped: 640 clusters against 160",
            partial(fb.virtual_cluster, whole=whole),
            lambda: [wide(20 * 640, 640)],
            lambda: [wide(20 * 160, 160)],
            16,
            runs=1 + 2 * scale,
        )
    for method in METHODS:
        yield grown(
            f"cost per user of `virtual_cluster`, {method}, 20 clusters, 10 000 users against 1000",
            partial(fb.virtual_cluster, method=method),
            lambda: [wide(10_000, 20)],
            lambda: [wide(1000, 20) for _ in range(10)],
            2,
            runs=3 * scale,
        )
