"""The claims about the lemmas of the TV-DRF paper, and its example of the order (9)."""

from fractions import Fraction

from book.common.claims.registry import Effort, Evidence, Mechanism, Part, claim
from book.common.evidence import in_words
from book.tv_drf.judging import EARLY, GOES_ON, HALF, POSITIVE, about_runs
from book.tv_drf.properties import (
    largest_above_floor,
    largest_unserved,
    next_task_refused,
    one_level_above_past,
    resource_used_up,
    up_to_one_task,
    within_tasks,
)
from book.tv_drf.workloads import Workload

_LITERAL_1 = "There is one G with G_i = min(G, G_i^max) for all i, where G_i^max counts all tasks submitted so far"
_LITERAL_2 = "Whoever has run fewer tasks than it has submitted so far has a G at least everyone else's"
_ONE = "divisible tasks, one period"
_PRESUMED = "the statement is lost, and this one is presumed; "
FLUID = {
    "expires": "divisible tasks, several periods, tasks expire",
    "waits": "divisible tasks, several periods, tasks wait",
}

about_runs(
    "lemma_1.one",
    "Lemma 1",
    _LITERAL_1 + POSITIVE,
    largest_unserved,
    "fluid, expires",
    "the last one first, expires",
    kind="lemma",
    variant=_PRESUMED + _ONE,
    periods=(1, 1),
    proof="lem-tv_drf-1",
)
about_runs(
    "lemma_1.from_the_past",
    "Lemma 1",
    "There is one G with G_i = max(H_i, min(G, G_i^max)) for all i, where H_i is G_i one period before, and G_i^max "
    "counts all tasks submitted so far" + POSITIVE,
    one_level_above_past,
    "fluid, waits",
    "fluid, no constraint, waits",
    kind="lemma",
    variant=_PRESUMED + "after the group's paper on DMFA-SRQ; " + FLUID["waits"],
    witness=Workload.of([[[1], [1]], [[1], [3]]], [[1, "1/2"], ["3/2", 1]], [[3]], HALF),
    what="with the best G the largest difference from the formula, as a negative number, is",
)
about_runs(
    "lemma_2.one",
    "Lemma 2",
    _LITERAL_2 + POSITIVE,
    largest_unserved,
    "fluid, expires",
    "the last one first, expires",
    kind="lemma",
    variant=_ONE,
    periods=(1, 1),
    proof="lem-tv_drf-2",
)
for _fate, _variant in FLUID.items():
    for _lemma, _literal in ((1, _LITERAL_1), (2, _LITERAL_2)):
        about_runs(
            f"lemma_{_lemma}.several_{_fate}",
            f"Lemma {_lemma}",
            _literal + POSITIVE,
            largest_unserved,
            f"fluid, {_fate}",
            f"nothing, {_fate}",
            kind="lemma",
            variant=_PRESUMED * (_lemma == 1) + _variant,
            witness=EARLY,
            what="the G of a user with tasks left, minus the largest G, is",
        )
    about_runs(
        f"lemma_1.restated_{_fate}",
        "beyond the paper (Lemma 1)",
        "In every period there is one level: whoever got more than its floor and less than all its tasks stands "
        "at it, nobody with tasks left stands below it, nobody above its floor stands above it, and for whoever "
        "has tasks left a resource is used up" + POSITIVE,
        lambda w, o: min(largest_above_floor(w, o), resource_used_up(w, o)),
        f"fluid, {_fate}",
        f"the last one first, {_fate}",
        kind="lemma",
        variant=f"restated; {_variant}",
        proof="lem-tv_drf-1",
    )
    about_runs(
        f"lemma_2.restated_{_fate}",
        "beyond the paper (Lemma 2)",
        "Whoever has tasks left at the end of a period has a G at least that of everyone who got more in it than "
        "beta >= 1 asks for" + POSITIVE,
        largest_above_floor,
        f"fluid, {_fate}",
        f"the last one first, {_fate}",
        kind="lemma",
        variant=f"restated; {_variant}",
        proof="lem-tv_drf-2",
    )
    about_runs(
        f"lemma_3.{_fate}",
        "Lemma 3",
        "For whoever has tasks left some resource is used up in the pool" + POSITIVE,
        resource_used_up,
        f"fluid, {_fate}",
        f"nine tenths of fluid, {_fate}",
        kind="lemma",
        variant=_PRESUMED + _variant,
        proof="lem-tv_drf-3",
    )

about_runs(
    "lemma_2.whole",
    "beyond the paper (Lemma 2)",
    "In whole tasks, whoever has tasks left has, with one task, its own or one of h, a G at least that of h" + POSITIVE,
    up_to_one_task,
    "whole, expires",
    "nothing, expires",
    kind="lemma",
    variant="Algorithm 1, up to one task",
    witness=GOES_ON,
    what="G_k plus the larger of both tasks, minus G_h, is",
)
about_runs(
    "lemma_2.whole_restated",
    "beyond the paper (Lemma 2)",
    "In whole tasks on one machine, where k has tasks left: G_h exceeds "
    "G_k by at most one task of h and what h can run in the room that a task of k lacks, or exceeds what "
    "beta_h >= 1 asks for by that alone" + POSITIVE,
    within_tasks,
    "whole, expires",
    "the last one first, expires",
    kind="lemma",
    variant="restated; Algorithm 1, tasks expire",
    proof="lem-tv_drf-whole",
)
about_runs(
    "lemma_3.whole",
    "beyond the paper (Lemma 3)",
    "In whole tasks, for whoever has tasks left some resource is used up in the pool" + POSITIVE,
    resource_used_up,
    "whole, expires",
    "fluid, expires",
    kind="lemma",
    variant="Algorithm 1",
    witness=Workload.of([[[2], [2]]], [[1, 1]], [[3]], HALF),
    what="the part of the fullest resource in use, minus 1, is",
)
for _fate in FLUID:
    about_runs(
        f"lemma_3.whole_restated_{_fate}",
        "beyond the paper (Lemma 3)",
        "In whole tasks on one machine the next task of whoever has tasks left does not fit" + POSITIVE,
        next_task_refused,
        f"whole, {_fate}",
        f"nine tenths of whole, {_fate}",
        kind="lemma",
        variant=f"restated; Algorithm 1, tasks {_fate[:-1]}",
        proof="lem-tv_drf-3",
    )


@claim(
    id="tv_drf.order_example",
    locator="section 2",
    kind="number",
    statement="Of the printed vectors G = (1.0, 0.2, 0.6) and G' = (0.6, 0.3, 0.4) the second is the larger one in the "
    "order of (9).",
    variant="the conclusion is lost, and this one is presumed",
    mechanism=Mechanism("in increasing order", sorted),
    mutant=Mechanism("by the sum", lambda values: [sum(values)]),
)
def _order_example(effort: Effort, judged: Mechanism) -> Evidence:
    one, other = ([Fraction(x) for x in values] for values in (("1.0", "0.2", "0.6"), ("0.6", "0.3", "0.4")))
    first, second = judged.run(one), judged.run(other)
    text = f"Compared are {in_words(first)} and {in_words(second)}."
    return Evidence.of(Part(first < second, "numbers", text, 1))
