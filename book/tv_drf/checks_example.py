"""The claims about the TV-DRF paper's worked example: which of its numbers come out, for which of the lost counts."""

from functools import partial
from itertools import product

from book.common.evidence import in_words
from book.tv_drf.example import PRINTED, Printed, example_run
from fairbook.claims.registry import Effort, Evidence, Mechanism, Part, claim


def _reading(alone: str, size: int = 50) -> Mechanism:
    """What each would have had alone, and of machines of which size."""
    return Mechanism(alone if size == 50 else f"{alone}, machines of {size}", partial(example_run, alone, size=size))


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
