"""What ``violations()`` finds: faults are planted in results of every kind, and a page says which of them it finds.

A fault counts as found if it is in all results in which it is planted, and as not found if in none of them.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairbook as fb

PAGE = Path(__file__).parents[1] / "book" / "hardening.md"
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
OTHERS, OWN = changed("tasks", swapped(1.0, 3.0)), changed("bottlenecks", lambda stops: stops * 0 - 1)
OF_VMS = vms(plus(9)), vms(plus(-1)), vms(lambda held: held + (held == held.min()) * 1 - (held == held.max()) * 1)
PERIODS = {"tasks": [[3, 2], [4, 1]], "machines": [[9, 18]], "contributions": [0.5, 0.5]}
MIXED = [
    fb.drf(D, weights=None, capacities=POOL),
    fb.drf(D, weights=[1, 3], capacities=POOL),
    fb.drf(D, weights=None, capacities=POOL, max_tasks=[1, np.inf]),
]
FLUID = [fb.drfh(D, [[9, 4], [4, 9]], weights=w, method="fluid") for w in ([1, 1], [1, 3])]


def lowered(found: fb.VirtualClusters) -> fb.VirtualClusters:
    """Say of the relaxation's allocation that nothing is better."""
    worse = clusters(method="relaxation")
    return replace(worse, method=found.method, bound=worse.min_fraction)


def clusters(**options: Any) -> fb.VirtualClusters:
    return fb.virtual_cluster([11, 11, 15, 19, 3], 0.9, [9, 17], **options)


#: Results, and what is done to them, by kind of fault.
PLANTED: dict[str, tuple[list[Any], list[Fault | None]]] = {
    "`drf`": (
        MIXED,
        [changed("tasks", times(1.5)), LESS, OTHERS, OWN],
    ),
    "`drf_by_task`, `sequential_minmax`": (
        [rule([[1, 4], [3, 1]], capacities=POOL) for rule in (fb.drf_by_task, fb.sequential_minmax)],
        [changed("tasks", plus(4)), changed("tasks", plus(-2)), alone(fb.drf_by_task, capacities=POOL), OWN],
    ),
    "`dmfa_srq` and its kin, all arrivals": (
        [rule([*D, *D], weights=[1, 2, 1, 2]) for rule in (fb.dmfa_srq, fb.static_optimum)],
        [changed("levels", times(1.5)), changed("levels", times(1 - 1e-6)), None, changed("binding", other)],
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
        [fb.tv_drf(PHASES[:2], **PERIODS, method="lexicographic", unserved=u) for u in ("waits", "expires")],
        [MORE, LESS, OTHERS, changed("sharing_coefficients", times(1.01))],
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
    "`virtual_cluster`": ([clusters(method="relaxation"), clusters()], [*OF_VMS, lowered]),
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
        rows.setdefault(" | ".join(told(results, fault) for fault in faults), []).append(name)
    lines = [f"| {'; '.join(names)} | {row} |" for row, names in rows.items()]
    table = "\n".join([f"| result of | {' | '.join(KINDS)} |", "|---" * (len(KINDS) + 1) + "|", *lines])
    assert table in PAGE.read_text(encoding="utf-8"), f"the page should say\n\n{table}"


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_right_is_passed(name: str) -> None:
    results = PLANTED[name][0]
    assert [result.violations() for result in results] == [[]] * len(results)
