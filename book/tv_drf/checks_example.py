"""The claims about the TV-DRF paper's worked example: which of its numbers come out, for which of the lost counts."""

from functools import partial
from itertools import product

from book.common.claims.registry import Effort, Evidence, Mechanism, Part, claim
from book.common.evidence import in_words
from book.tv_drf.example import PRINTED, Printed, example_run


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


#: What each would have had alone, by reading.
_ALONE = {"resources": "the smaller of need and own of each resource", "bundles": "the tasks it could run"}


def _example(number: str) -> None:
    printed = PRINTED[number]

    @claim(
        id=f"tv_drf.example.{number}.resources",
        locator="worked example",
        kind="number",
        variant=f'"alone" counts {_ALONE["resources"]}',
        statement=f"In the worked example {printed.says}.",
        mechanism=_reading("resources"),
        mutant=_reading("resources", 30),
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
    _example(_number)


def _together(alone: str, other: str) -> None:
    @claim(
        id=f"tv_drf.example.{'bundles_' * (alone == 'bundles')}together",
        locator="worked example" if alone == "resources" else "beyond the paper (worked example)",
        kind="number",
        variant=f'"alone" counts {_ALONE[alone]}; one pair of lost counts for all printed numbers',
        statement="Some pair of lost task counts gives all printed numbers of the worked example at once.",
        mechanism=_reading(alone),
        mutant=_reading(other),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        fits = _fitting(judged, list(PRINTED.values()))
        if fits:
            return Evidence.of(Part(True, "numbers", f"{len(fits)} pairs: {_ranges(fits)}.", len(COUNTS)))
        lacks = [one.says for one in PRINTED.values() if not _fitting(judged, [one])]
        return Evidence.of(Part(False, "numbers", f"No pair; with none {in_words(lacks)}.", len(COUNTS)))


_together("resources", "bundles")
_together("bundles", "resources")
