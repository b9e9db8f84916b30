"""The claims about the TV-DRF paper's worked example: which of its numbers come out, for which of the lost counts."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial
from itertools import product
from typing import Any, NamedTuple

from book.common.evidence import in_words
from book.tv_drf.oracle import exact_whole_run
from fairbook.claims.registry import Effort, Evidence, Mechanism, Part, claim

__all__ = ["COUNTS", "PRINTED"]


@lru_cache(maxsize=2000)
def _printed(alone: str, size: int, counts: tuple[int, int]) -> Any:
    """Run the example in fractions on machines of ``size``.

    Counts are the tasks that A and B submit in the second period, which the text has lost.
    """
    return exact_whole_run(
        [[[2, 1], [1, 1]], [[5, 5], [20, 10]]], [[15, 70], list(counts)], [[size] * 2] * 2, [[1, 0], [0, 1]], alone
    )


def _reading(alone: str, size: int = 50) -> Mechanism:
    """What each would have had alone, and of machines of which size."""
    return Mechanism(alone if size == 50 else f"{alone}, machines of {size}", partial(_printed, alone, size))


def _betas(run: Any, *more: tuple[int, int]) -> tuple[Fraction, ...]:
    """Betas in the second period, when users have so much ``more`` than after the first; alone as at its end."""
    own = [[sum(x) for x in zip(*rows, strict=True)] for rows in zip(*run.alone, strict=True)]
    of_each = zip(run.amounts[0], more, own, strict=True)
    return tuple(min((u + x) / o for u, x, o in zip(*three, strict=True)) for three in of_each)


def _at_fifty(run: Any) -> tuple[Fraction, ...]:
    return _betas(run, (50, 50), (40, 20))


def _first_of_a(run: Any) -> int:
    """What A is given in the second period before B is given anything, of each resource: five times the tasks."""
    order = run.order[1]
    return 5 * (order.index(1) if 1 in order else len(order))


def _after_first(run: Any) -> tuple[Any, ...]:
    """Tasks of the first period, and what is left of each resource."""
    left = [100 - sum(row[j] for row in run.amounts[0]) for j in range(2)]
    return (*run.tasks[0], *left)


class Printed(NamedTuple):
    """What the text prints, how a run's value is shown, the value, and whether it is the printed one."""

    says: str
    shown: str
    value: Callable[[Any], Any]
    agrees: Callable[[Any], bool]


#: Printed in the text, and how to get it from a run of the example.
PRINTED: dict[str, Printed] = {
    "run": Printed(
        "in the first period A runs 15 tasks and B 70, and then the resources are used up",
        "tasks of A and of B, CPU and memory left: {}",
        _after_first,
        lambda run: run.tasks[0] == [15, 70] and 0 in _after_first(run)[2:],
    ),
    "t1": Printed(
        "after the first period beta_A = 1 and beta_B = 1.4",
        "beta (A, B) is {}",
        lambda run: run.sharing_coefficients[0],
        lambda run: run.sharing_coefficients[0] == [1, Fraction(7, 5)],
    ),
    "start": Printed(
        "at the start of the second period beta_A = 0.23 and beta_B = 0.7",
        "beta (A, B) is {}",
        lambda run: _betas(run, (0, 0), (0, 0)),
        lambda run: [f"{float(beta):.2f}" for beta in _betas(run, (0, 0), (0, 0))] == ["0.23", "0.70"],
    ),
    "first": Printed(
        "in the second period A is given (35, 35) before B is given anything",
        "A is given {} of each",
        _first_of_a,
        lambda run: _first_of_a(run) == 35,
    ),
    "middle": Printed(
        "when A has been given (50, 50) and B (40, 20), both betas are 1",
        "beta (A, B) is {}",
        _at_fifty,
        # whether the second period passes the state in which A has 10 tasks, (50, 50), and B has 2, (40, 20)
        lambda run: any((run.order[1][:k].count(0), run.order[1][:k].count(1)) == (10, 2) for k in range(13))
        and _at_fifty(run) == (1, 1),
    ),
    "final": Printed(
        "in the end beta_A = 1.125 and beta_B = 1",
        "beta (A, B) is {}",
        lambda run: run.sharing_coefficients[1],
        lambda run: run.sharing_coefficients[1] == [Fraction(9, 8), 1],
    ),
}
COUNTS = tuple(product(range(1, 31), range(1, 11)))


def _fitting(judged: Mechanism, numbers: list[Printed]) -> list[tuple[int, int]]:
    """Pairs of lost counts with which all these numbers come out."""
    return [counts for counts in COUNTS if all(one.agrees(judged.run(counts)) for one in numbers)]


def _ranges(fits: list[tuple[int, int]]) -> str:
    found = [sorted({pair[k] for pair in fits}) for k in (0, 1)]
    a, b = (str(values[0]) if len(values) == 1 else f"{values[0]} to {values[-1]}" for values in found)
    return f"A {a}, B {b}"


def _example(number: str, alone: str) -> None:
    printed = PRINTED[number]
    shape = {
        "bundles": "the tasks it could run",
        "resources": "of each resource by itself, the smaller of need and own",
    }

    @claim(
        id=f"tv_drf.example.{number}.{alone}",
        locator="worked example",
        kind="number",
        variant=f"alone: {shape[alone]}",
        statement=f"In the worked example {printed.says}.",
        mechanism=_reading(alone),
        mutant=_reading("resources") if alone == "bundles" and number in ("middle", "final") else _reading(alone, 30),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        fits = _fitting(judged, [printed])
        text = printed.shown.format(in_words(printed.value(judged.run(fits[0] if fits else (12, 4)))))
        which = (
            f"Fits {len(fits)} of {len(COUNTS)} pairs of lost counts: {_ranges(fits)}; {text}."
            if fits
            else f"Fits none of {len(COUNTS)} pairs of lost counts; with 12 tasks of A and 4 of B {text}."
        )
        return Evidence.of(Part(bool(fits), "numbers", which, len(COUNTS)))


for _number in PRINTED:
    for _alone in ("bundles", "resources"):
        _example(_number, _alone)


@claim(
    id="tv_drf.example.together",
    locator="worked example",
    kind="number",
    variant="one pair of lost counts for all printed numbers",
    statement="Some pair of lost task counts gives all printed numbers of the worked example at once.",
    mechanism=_reading("resources"),
    mutant=_reading("bundles"),
)
def _together(effort: Effort, judged: Mechanism) -> Evidence:
    fits = _fitting(judged, list(PRINTED.values()))
    found = f"{len(fits)} pairs: {_ranges(fits)}." if fits else "no pair."
    return Evidence.of(Part(bool(fits), "numbers", f"Reading {judged.name!r}: {found}", len(COUNTS)))
