"""What ``violations()`` finds: faults are planted in results of every kind, and a page says which of them it finds.

A fault counts as found if it is in all results in which it is planted, and as not found if in none of them.
"""

import pickle
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from itertools import product
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairbook as fb
from fairbook import kernels
from fairbook.mechanisms import registry
from fairbook.mechanisms.credit import cbdrf_phase
from fairbook.model.inputs import IDLE, NOTHING, OWN
from fairbook.model.result import Result
from tests.library.test_protocol import data, ways

PAGE = Path(__file__).parents[2] / "book" / "hardening.md"
KINDS = ("more than there is", "too little", "another's part", "a wrong reason")
Fault = Callable[[Any], Any]


def changed(field: str, change: Callable[[Any], Any]) -> Fault:
    """Give the result with one array changed; only its last row where there are several."""

    def plant(result: Any) -> Any:
        array = np.array(getattr(result, field))
        array[..., :] = change(array) if array.ndim == 1 else np.vstack([array[:-1], change(array[-1])[None]])
        return replace(result, **{field: array})

    return plant


def times(part: float) -> Callable[[Any], Any]:
    """Change the largest entry."""
    return lambda array: np.where(np.arange(len(array)) == array.argmax(), array * part, array)


def plus(number: int) -> Callable[[Any], Any]:
    return lambda array: array + number * (np.arange(len(array)) == array.argmax())


def swapped(first: float, second: float) -> Callable[[Any], Any]:
    """Move a hundredth of the first user's tasks, which take so much each, to the second, whose tasks take more."""
    return lambda tasks: tasks + 0.01 * tasks[0] * np.array([-1.0, first / second])


def other(stops: Any) -> Any:
    return np.where(stops >= 0, 1 - stops, stops)


def alone(place: Callable[..., Any], **pool: Any) -> Fault:
    """Give the second user all, as if the first had asked for nothing."""

    def plant(result: Any) -> Any:
        if isinstance(result, fb.Placement):
            return replace(place(result.cell.demands, **pool, max_tasks=[0, np.inf]), cell=result.cell)
        one = place(result.demands, **pool, max_tasks=[0, np.inf])
        return replace(one, max_tasks=result.max_tasks, bottlenecks=np.repeat(one.bottlenecks[1], 2))

    return plant


def logged(change: Callable[[Any], Any]) -> Fault:
    return lambda p: replace(p, placed_user=change(p.placed_user), placed_machine=change(p.placed_machine))


def vms(change: Callable[[Any], Any]) -> Fault:
    return lambda found: replace(found, vms=change(found.vms))


D, POOL, CELL = [[1.0, 4.0], [3.0, 1.0]], [9.0, 18.0], {"machines": [[9, 18]], "machine_counts": [2]}
PHASES = [D, D[::-1], D]
MORE, LESS = changed("tasks", times(3)), changed("tasks", times(1 - 1e-6))
OTHERS, BOUND = changed("tasks", swapped(1.0, 3.0)), changed("bottlenecks", lambda stops: stops * 0 - 1)
OF_VMS = vms(plus(9)), vms(plus(-1)), vms(lambda held: held + (held == held.min()) * 1 - (held == held.max()) * 1)
PERIODS = {"tasks": [[3, 2], [4, 1]], "machines": [[9, 18]], "contributions": [0.5, 0.5]}
MANY = PERIODS | {"tasks": [[9, 9]] * 2}
MIXED = [
    fb.drf(D, weights=None, capacities=POOL),
    fb.drf(D, weights=[1, 3], capacities=POOL),
    fb.drf(D, weights=None, capacities=POOL, max_tasks=[1, np.inf]),
    *(fb.drf(D, capacities=POOL, min_tasks=[0, 2.2], floor=floor) for floor in ("counted", "apart")),
]
FLUID = [fb.drfh(D, [[9, 4], [4, 9]], weights=w, method="fluid") for w in ([1, 1], [1, 3])]


def lowered(found: fb.VirtualClusters) -> fb.VirtualClusters:
    """Say of the relaxation's allocation that nothing is better."""
    worse = clusters(method="relaxation")
    return replace(worse, method=found.method, bound=worse.min_fraction)


def clusters(**options: Any) -> fb.VirtualClusters:
    return fb.virtual_cluster([11, 11, 15, 19, 3], 0.9, [9, 17], **options)


def of_other_weights(run: Any) -> Any:
    """Give what is fair for other weights, with G told by the right ones."""
    fate = {"method": run.method, "unserved": "waits" if run.waits else "expires"}
    other = fb.tv_drf(PHASES[:2], **MANY, **fate, weights=[1, 5])
    levels = other.cumulative_shares * other.weights / run.weights
    return replace(other, weights=run.weights, cumulative_shares=levels)


#: Results, and what is done to them, by kind of fault.
PLANTED: dict[str, tuple[list[Any], list[Fault | None]]] = {
    "`drf`": (
        MIXED,
        [changed("tasks", times(1.5)), LESS, OTHERS, BOUND],
    ),
    "`drf_by_task`, `sequential_minmax`": (
        [rule([[1, 4], [3, 1]], capacities=POOL) for rule in (fb.drf_by_task, fb.sequential_minmax)],
        [changed("tasks", plus(4)), changed("tasks", plus(-2)), alone(fb.drf_by_task, capacities=POOL), BOUND],
    ),
    "`dmfa_srq` and its kin, all arrivals": (
        [rule([*D, *D], weights=[1, 2, 1, 2]) for rule in (fb.dmfa_srq, fb.static_optimum)],
        [changed("lowest", times(1.5)), changed("lowest", times(1 - 1e-6)), None, changed("binding", other)],
    ),
    "`cbdrf`": (
        [
            fb.cbdrf(PHASES, capacities=POOL, released=[1.0, 0.2], grant=grant)
            for grant in ("scaled", "weighted", "capped")
        ],
        [MORE, LESS, OTHERS, changed("credit", times(1.01))],
    ),
    "`grant_tasks`": (
        [fb.grant_tasks(D, [1, 0.5], capacities=POOL, grant=grant) for grant in ("scaled", "weighted", "capped")],
        [MORE, LESS, OTHERS, changed("credit_factor", times(0.9))],
    ),
    "`karma`": (
        [fb.karma(PHASES, capacities=POOL, alpha=alpha) for alpha in (0, 0.5)],
        [MORE, LESS, OTHERS, changed("credit", times(1.01))],
    ),
    "`tv_drf`, fluid": (
        [fb.tv_drf(PHASES[:2], **MANY, method="lexicographic", unserved=u) for u in ("waits", "expires")],
        [MORE, LESS, of_other_weights, changed("sharing_coefficients", times(1.01))],
    ),
    "`tv_drf`, whole tasks": (
        [fb.tv_drf(PHASES[:2], **PERIODS, unserved=u) for u in ("waits", "expires")],
        [changed("tasks", plus(9)), changed("tasks", plus(-1)), None, changed("sharing_coefficients", times(1.01))],
    ),
    "`gdrf`, `drfh`, `mdrf`, `per_server_drf`": (
        [place(D, **CELL) for place in (fb.gdrf, fb.drfh, fb.mdrf, fb.per_server_drf)],
        [logged(lambda a: np.append(a, a[-1:])), logged(lambda a: a[:-1]), alone(fb.gdrf, **CELL), None],
    ),
    "`drfh`, fluid": (
        FLUID,
        [
            changed("by_class", times(1.5)),
            lambda p: replace(p, by_class=p.by_class * [1, 1 - 1e-6]),
            lambda p: replace(p, by_class=p.by_class * [1.01, 0.9]),
            lambda p: replace(p, prices=p.prices[..., ::-1]),
        ],
    ),
    "`virtual_cluster`, lists": ([clusters(method="relaxation")], [*OF_VMS, lowered]),
    "`virtual_cluster`, `exact`": ([clusters()], [*OF_VMS, lowered]),
    "`virtual_cluster`, `mixed_knapsack`": ([clusters(method="mixed_knapsack", small=0)], [*OF_VMS, lowered]),
}


def told(results: list[Any], fault: Fault | None) -> str:
    if fault is None:
        return ""
    found = [bool(fault(result).violations()) for result in results]
    return "found" if all(found) else "not always" if any(found) else "**no**"


def test_the_page_says_what_is_found() -> None:
    rows: dict[str, list[str]] = {}  # results with the same row share it
    for name, (results, faults) in PLANTED.items():
        (word,) = {result.certificate.split(":")[0] for result in results}
        rows.setdefault(" | ".join([word, *(told(results, fault) for fault in faults)]), []).append(name)
    lines = [f"| {'; '.join(names)} | {row} |" for row, names in rows.items()]
    head = " | ".join(["result of", "an empty list", *KINDS])
    table = "\n".join([f"| {head} |", "|---" * (len(KINDS) + 2) + "|", *lines])
    assert table in PAGE.read_text(encoding="utf-8"), f"the page should say\n\n{table}"


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_right_is_passed(name: str) -> None:
    results = PLANTED[name][0]
    assert [result.violations() for result in results] == [[]] * len(results)


def test_exact_numbers_need_no_tolerance() -> None:
    karma = fb.karma([[[1.0], [1.0]]], capacities=[2.0], alpha=1.0, max_tasks=[2, 0], initial_credit=1.0)
    assert [run.violations(0.0) for run in (fb.cbdrf(np.ones((2, 1, 1))), karma)] == [[], []]


# ---------------------------------------------------------------------------------- no number, no place, no reason


def every_result() -> Iterator[tuple[str, Any]]:
    """Give results of every mechanism with every value of what its paper leaves open, and all other kinds there are."""
    for name, row in registry.items():
        given = data(name)
        if name == "cbdrf":
            given |= {"released": [[[1.0, 0.9], [0.2, 0.5], [0.5, 0.1]]] * 2}
        for way in ways(name):
            if way != {"stuck": "stop"}:  # which leaves room, and so breaks its promise
                yield ", ".join([name, *map(str, way.values())]), row.function(**given | way)
    for grant in ("scaled", "weighted", "capped"):
        yield f"grant_tasks {grant}", fb.grant_tasks(D, [1, 0.5], capacities=POOL, grant=grant)
    for method in ("spanning", "relaxation"):
        yield f"{method}, not whole", fb.virtual_cluster([4, 3, 5], 0.5, [6, 4.5], whole=False, method=method)
    yield "one phase of Karma", fb.karma_phase(D, [3, 2], capacities=POOL)
    yield "one arrival", fb.dmfa_srq(D, weights=[1, 2]).at(2)
    yield "one period", fb.tv_drf(PHASES, tasks=[[3, 2]] * 3, machines=[POOL], contributions=[0.5, 0.5]).at(1)
    yield "weights for each resource", fb.drf(D, weights=[[1, 2], [2, 1]], capacities=POOL)


RESULTS = dict(every_result())
#: What may be infinite, and then means something: no bound.
INFINITE = ("max_tasks", "cell.max_tasks")


def arrays(result: Any) -> dict[str, Any]:
    """Give all arrays and doubles that a result has, those of what it holds with a dot; a rule checks itself."""
    held = {one.name: getattr(result, one.name) for one in fields(result)}
    inner = {
        f"{name}.{one.name}": getattr(part, one.name)
        for name, part in held.items()
        if is_dataclass(part) and name != "rule"
        for one in fields(part)
    }
    return {name: np.array(one) for name, one in (held | inner).items() if isinstance(one, np.ndarray | float)}


def planted(result: Any, name: str, values: Any) -> Any:
    """Give the result with other values in one array."""
    outer, _, field = name.partition(".")
    values = values[()] if values.ndim == 0 else values
    return replace(result, **{outer: replace(getattr(result, outer), **{field: values}) if field else values})


def with_each(array: Any, numbers: Any) -> Iterator[tuple[Any, Any]]:
    """Put each number at each place where there is another one."""
    for at, number in product(np.ndindex(array.shape), numbers):
        if array[at] != number:
            wrong = array.copy()
            wrong[at] = number
            yield number, wrong


@pytest.mark.parametrize("name", RESULTS)
def test_what_is_no_number_is_found_wherever_it_stands(name: str) -> None:
    assert RESULTS[name].violations() == []
    for field, array in arrays(RESULTS[name]).items():
        for number, wrong in with_each(array, (np.nan, np.inf, -np.inf)) if array.dtype.kind == "f" else ():
            if number != np.inf or field not in INFINITE:
                assert planted(RESULTS[name], field, wrong).violations() != [], (field, wrong)


@pytest.mark.parametrize("name", RESULTS)
def test_a_place_that_is_not_there_is_found(name: str) -> None:
    for field, array in arrays(RESULTS[name]).items():
        many = () if "." in field or field == "vms" else (10**6,)  # of machines or VMs there may be more
        if array.dtype.kind in "iu":
            for _, wrong in with_each(array, (-5, -(10**6), *many)):
                assert planted(RESULTS[name], field, wrong).violations() != [], (field, wrong)
        if array.ndim and (array.dtype.kind in "iub" or field == "tasks"):
            for wrong in (array[:-1], np.concatenate([array, array[-1:]]), array[None], array[:0]):
                assert planted(RESULTS[name], field, wrong).violations() != [] or wrong.shape == array.shape, field


def wrong_reasons(result: Any, at: Any) -> set[int]:
    """Say what cannot stop a user that is there: none of the names, being away, no bound, a resource not needed."""
    bound = getattr(result, "max_tasks", np.full(result.tasks.shape, np.inf))[at]
    capped = "capped" in (getattr(result, "grant", ""), getattr(getattr(result, "rule", ""), "grant", ""))
    unneeded = np.flatnonzero(result.demands[at] == 0).tolist()
    return {-4, IDLE, *unneeded, *[OWN] * bool(bound == np.inf and not capped)}


@pytest.mark.parametrize("name", [name for name, one in RESULTS.items() if "bottlenecks" in arrays(one)])
def test_a_wrong_reason_is_found(name: str) -> None:
    result = RESULTS[name]
    for at in np.ndindex(result.bottlenecks.shape):
        # whole tasks of TV-DRF tell why the next one was refused when it was its turn
        nothing = (
            {NOTHING} if result.bottlenecks[at] >= 0 and "period" not in (getattr(result, "step", ""), name) else {}
        )
        for stop in wrong_reasons(result, at).union(nothing):
            told = result.bottlenecks.copy()
            told[at] = stop
            assert replace(result, bottlenecks=told).violations() != [], (at, stop)


def test_a_penalty_turned_round_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right, run = cbdrf_phase.settle, {"capacities": [2, 2], "released": [0.7, 0.3], "penalty": "graded"}
    assert fb.cbdrf([[[1, 1], [1, 1]]] * 3, **run).violations() == []
    monkeypatch.setattr(kernels, "MOST", np.inf)  # what is compiled keeps the penalty that it was compiled with
    # neither releases 3/4, whichever way
    monkeypatch.setattr(cbdrf_phase, "settle", lambda terms, credit, eta, rho: right(terms, credit, 1 - eta, rho))
    assert fb.cbdrf([[[1, 1], [1, 1]]] * 3, **run).violations() != []


# ------------------------------------------------------------------------------------------- whose numbers they are

#: Pools, and what is done to each: a method, and what it is given; then a look at it.
POOLS: dict[str, tuple[Callable[[Any], Any], list[tuple[Any, ...]], str]] = {
    "DmfaSrq": (
        lambda size: fb.DmfaSrq(len(size)),
        [("arrive", "a", D[0], 1.0), ("arrive", "b", D[1], 2.0), ("allocation",), ("depart", "a")],
        "tasks",
    ),
    "CbDrf": (lambda size: fb.CbDrf(2, size), [("phase", D), ("release", [1.0, 0.2])] * 2, "pool"),
    "Karma": (lambda size: fb.Karma(2, size), [("phase", D)] * 2, "credit"),
    "VirtualClusterPool": (fb.VirtualClusterPool, [("arrive", "a", 8, 0.5), ("arrive", "b", 6, 0.25)], "state"),
}


def spoil(*given: Any) -> None:
    """Write over all arrays, and those of results."""
    for one in given:
        held = [attrgetter(name)(one) for name in arrays(one)] if isinstance(one, Result) else [one]
        for array in held:
            if isinstance(array, np.ndarray) and array.flags.writeable:
                array[...] = 7


@pytest.mark.parametrize("name", POOLS)
def test_pools_share_no_array_with_anybody(name: str) -> None:
    make, steps, look = POOLS[name]
    size = np.array(POOL)
    pool, twin = make(size), make(size.copy())
    spoil(size)
    for method, *given in steps:
        passed = [np.array(one) if isinstance(one, list) else one for one in given]
        spoil(getattr(pool, method)(*passed), *passed, getattr(pool, look))
        getattr(twin, method)(*given)
    assert pickle.dumps(pool) == pickle.dumps(twin)
