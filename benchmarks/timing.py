"""Two things timed in turn, and the ratio that is promised of them."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Row:
    """One promised ratio: slow / fast must be at least, or time / reference at most, the limit."""

    what: str
    ratio: float
    spread: tuple[float, float]
    limit: float
    at_least: bool
    seconds: tuple[float, float]

    @property
    def kept(self) -> bool:
        """Whether the promise is kept."""
        return self.ratio >= self.limit if self.at_least else self.ratio <= self.limit


def timed_once(call: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> float:
    started = clock()
    call()
    return clock() - started


def compare(
    what: str,
    pairs: Iterator[tuple[Callable[[], Any], Callable[[], Any]]],
    limit: float,
    *,
    at_least: bool,
    clock: Callable[[], float] = time.process_time,
) -> Row:
    """Time pairs of calls in turn; the ratio is first / second."""
    first, second = zip(*((timed_once(a, clock), timed_once(b, clock)) for a, b in pairs), strict=True)
    ratios = sorted(a / b for a, b in zip(first, second, strict=True))
    return Row(what, median(ratios), (ratios[0], ratios[-1]), limit, at_least, (median(first), median(second)))


def per_task(what: str, pairs: Iterator[tuple[Callable[[], float], Callable[[], float]]], limit: float) -> Row:
    """Compare calls that return the number of tasks they placed: cost per task of the first / of the second."""
    ratios, times = [], []
    for pair in pairs:
        placed: list[float] = []
        taken = [timed_once(lambda c=call, into=placed: into.append(float(c()))) for call in pair]
        ratios.append(taken[0] / placed[0] / (taken[1] / placed[1]))
        times.append(taken)
    return Row(
        what,
        median(ratios),
        (min(ratios), max(ratios)),
        limit,
        False,
        (median(a for a, _ in times), median(b for _, b in times)),
    )


def grown(
    what: str,
    call: Callable[..., Any],
    large: Callable[[], Iterable[tuple[Any, ...]]],
    small: Callable[[], Iterable[tuple[Any, ...]]],
    limit: float,
    *,
    runs: int,
) -> Row:
    """Compare a call on each of some large inputs with the same call on each of some small ones, all of them fresh."""

    def each(inputs: Iterable[tuple[Any, ...]]) -> None:
        for one in inputs:
            call(*one)

    pairs = ((partial(each, large()), partial(each, small())) for _ in range(runs))
    return compare(what, pairs, limit, at_least=False)


def repeated(many: int, row: Row) -> Row:
    """Account for the second call of each pair having done its work ``many`` times."""
    low, high = row.spread
    return replace(
        row, ratio=many * row.ratio, spread=(many * low, many * high), seconds=(row.seconds[0], row.seconds[1] / many)
    )


def against(
    what: str,
    draw: Callable[[], tuple[Any, ...]],
    slow: Callable[..., Any],
    quick: Callable[..., Any],
    limit: float,
    *,
    runs: int,
    fast: int = 1,
    at_least: bool = True,
    same: Callable[..., bool] | None = None,
) -> Row:
    """Compare an opponent on one fresh input with the engine on ``fast`` others; ``same`` judges what it found."""

    def pairs() -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
        for _ in range(runs):
            one, many, found = draw(), [draw() for _ in range(fast)], []
            yield (
                (lambda u=one, f=found: f.append(slow(*u))),
                (lambda u=many: deque((quick(*each) for each in u), maxlen=0)),
            )
            if same is not None and not same(found[0], *one):
                raise SystemExit(f"{what}: they do not compute the same")

    return repeated(fast, compare(what, pairs(), limit, at_least=at_least))
