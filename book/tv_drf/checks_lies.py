"""The claims about Theorem 4 of the TV-DRF paper: lies about demands and about numbers of tasks."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from book.common.evidence import in_words
from book.tv_drf.judging import CHEAP, HALF, POSITIVE, about_lies, rule_named
from book.tv_drf.properties import Workload, gain_of_lie
from fairbook.claims.registry import Effort, Evidence, Mechanism, Part, claim

T4 = "Nobody runs more of its true tasks, all periods together, by lying about its demands or its numbers of tasks"

about_lies(
    "theorem_4.fluid.one",
    T4 + POSITIVE,
    "fluid, expires",
    "by claims",
    variant="fluid, one period",
    periods=(1, 1),
    proof="thm-tv_drf-4",
)
about_lies(
    "theorem_4.fluid.several_expires",
    T4 + POSITIVE,
    "fluid, expires",
    "alone, expires",
    variant="fluid, several periods, tasks expire",
    witness=(CHEAP, (0, [[1], ["1/4"]], ["1/2", 2])),
)
about_lies(
    "theorem_4.fluid.several_waits",
    T4 + POSITIVE,
    "fluid, waits",
    "alone, waits",
    variant="fluid, several periods, tasks wait",
    witness=(
        Workload.of([[[1, 2], [1, 1]], [[3, 1], [3, 1]]], [[1, 1], [1, 3]], [[2, 2]], HALF),
        (0, [[3, 4], [6, 2]], [3, 1]),
    ),
)
about_lies(
    "theorem_4.counts_only.expires",
    T4.replace("its demands or ", "") + POSITIVE,
    "fluid, expires",
    "alone, expires",
    variant="fluid, several periods, tasks expire, lies about counts only",
    about=("tasks",),
    witness=(CHEAP, (0, [[1], ["1/4"]], ["1/2", 2])),
)
about_lies(
    "theorem_4.counts_only.waits",
    T4.replace("its demands or ", "") + POSITIVE,
    "fluid, waits",
    "alone, waits",
    variant="fluid, several periods, tasks wait, lies about counts only",
    about=("tasks",),
    witness=(
        Workload.of(
            [[[2, 1], [2, 3], [2, 3]], [[3, 2], [1, 2], [1, 3]]],
            [[2, 3, 1], [3, 2, 3]],
            [[3, 4]],
            ["1/5", "1/5", "3/5"],
        ),
        (0, [[2, 1], [3, 2]], ["1/4", 3]),
    ),
)
about_lies(
    "theorem_4.demands_only.expires",
    T4.replace(" or its numbers of tasks", "") + POSITIVE,
    "fluid, expires",
    "alone, expires",
    variant="fluid, several periods, tasks expire, lies about demands only",
    about=("demands",),
    witness=(
        Workload.of([[[2], [3]], [[1], [2]]], [[1, 1], [2, 1]], [[1]], ["3/4", "1/4"]),
        (0, [["1/2"], [1]], [1, 2]),
    ),
)
about_lies(
    "theorem_4.demands_only.waits",
    T4.replace(" or its numbers of tasks", "") + POSITIVE,
    "fluid, waits",
    "alone, waits",
    variant="fluid, several periods, tasks wait, lies about demands only",
    about=("demands",),
    witness=(
        Workload.of([[[1, 2], [1, 3]], [[3, 1], [2, 1]]], [[2, 3], [1, 1]], [[4, 4]], ["3/5", "2/5"]),
        (0, [[2, 2], [3, 2]], [2, 1]),
    ),
)
_LAST = "With an honest past, nobody runs more of its true tasks by lying in the last period" + POSITIVE
about_lies(
    "theorem_4.last_period.expires",
    _LAST,
    "fluid, expires",
    "fluid, no memory",
    variant="fluid, several periods, tasks expire, lies in the last period only",
    last_only=True,
    witness=(
        Workload.of([[[1], [1]]] * 2, [["2/3", "1/6"], ["1/3", 1]], [[1]], HALF),
        (0, [[1], [1]], ["2/3", 1]),
    ),
)
about_lies(
    "theorem_4.last_period.waits",
    _LAST,
    "fluid, waits",
    "by claims",
    variant="fluid, several periods, tasks wait, lies in the last period only",
    last_only=True,
    proof="thm-tv_drf-4",
)
about_lies(
    "theorem_4.no_constraint",
    _LAST,
    "fluid, no constraint",
    "by claims",
    variant="without the constraint beta >= 1, tasks expire, lies in the last period only",
    locator="beyond the paper: no constraint",
    last_only=True,
    proof="prop-tv_drf-no-floor",
)
about_lies(
    "theorem_4.no_memory",
    T4 + POSITIVE,
    "fluid, no memory",
    "by claims",
    variant="without memory, several periods, tasks expire",
    locator="beyond the paper: no memory",
    proof="prop-tv_drf-memoryless",
)



def _cheap(eps: Fraction) -> Workload:
    """CHEAP with small tasks of size ``eps``, as many as fill half the pool."""
    return Workload.of([[[1], [1]], [[eps], [1]]], [[1, eps], [1 / (2 * eps), 1]], [[1]], HALF)


def _queued(eps: Fraction) -> Workload:
    """Where tasks wait: the first user comes just to the end of its tasks of period 1, small ones are next."""
    small = [3 * eps, 2 * eps]
    return Workload.of([[[3, 2], [2, 2]], [small, [1, 3]]], [["11/10", 1], [2 / eps, 2]], [[3, 3]], HALF)


#: Rule, workload for a size of small tasks, what its first user claims in period 1, tasks with that lie.
UNBOUNDED: dict[str, tuple[str, Callable[[Fraction], Workload], str, Callable[[Fraction], Fraction]]] = {
    "expires": ("fluid, expires", _cheap, "1/2", lambda eps: (1 + 1 / eps) / 2),
    "waits": ("fluid, waits", _queued, "1/3", lambda eps: Fraction(11, 10) + 1 / (30 * eps)),
    "no_constraint_expires": ("fluid, no constraint", _cheap, "1/2", lambda eps: 1 + 1 / (4 * eps)),
    "no_constraint_waits": (
        "fluid, no constraint, waits",
        _queued,
        "1/3",
        lambda eps: Fraction(11, 10) + 1 / (30 * eps),
    ),
}


def _unbounded(name: str) -> None:
    rule, workload, claimed, lying = UNBOUNDED[name]
    constraint = "without the constraint beta >= 1, " if "no constraint" in rule else "fluid, "

    @claim(
        id=f"tv_drf.theorem_4.unbounded.{name}",
        locator="beyond the paper: how much a lie pays",
        kind="extension",
        variant=f"{constraint}two periods, tasks {'wait' if workload is _queued else 'expire'}",
        statement="No factor bounds what claiming fewer tasks in the first of two periods gains: for each 0 < e <= 1/4 "
        "there are two users of whom one runs fewer than 2 tasks, and more than 1/(30 e) with such a lie" + POSITIVE,
        proof="prop-tv_drf-unbounded",
        mechanism=rule_named(rule),
        mutant=rule_named("fluid, no memory"),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        sizes = [Fraction(1, k) for k in (4, 10, 100, 1000)]
        right = True
        for eps in sizes:
            w = workload(eps)
            honest = judged.run(w, True).tasks[:, 0].sum()
            tasks = w.tasks[:, 0].copy()
            tasks[0] = Fraction(claimed)
            with_lie = honest + gain_of_lie(judged.run, w, 0, w.demands[:, 0], tasks, honest)
            right &= honest < 2 and with_lie == lying(eps)
        text = f"With e = {sizes[-1]}: {honest} true tasks, and {with_lie} with the lie."
        return Evidence.of(
            Part(bool(right), "numbers", f"As proved, in fractions, for e = {in_words(sizes)}. {text}", len(sizes))
        )


for _name in UNBOUNDED:
    _unbounded(_name)

SIZES = Workload.of([[[1], [1]]], [[2, 2]], [[3]], HALF)
about_lies(
    "theorem_4.whole.one",
    T4 + POSITIVE,
    "whole, expires",
    "alone, whole, expires",
    variant="Algorithm 1, one period",
    periods=(1, 1),
    witness=(SIZES, (1, [[2]], [2])),
)
about_lies(
    "theorem_4.whole.several_expires",
    T4 + POSITIVE,
    "whole, expires",
    "alone, whole, expires",
    variant="Algorithm 1, several periods, tasks expire",
    witness=(Workload.of([[[3], [1]], [[1], [3]]], [[2, 1], [4, 3]], [[7]], HALF), (0, [[3], [1]], [1, 4])),
)
about_lies(
    "theorem_4.whole.several_waits",
    T4 + POSITIVE,
    "whole, waits",
    "alone, whole, waits",
    variant="Algorithm 1, several periods, tasks wait",
    witness=(
        Workload.of([[[1], [4]], [[1], [1]]], [[4, 4], [2, 3]], [[8]], ["1/5", "4/5"]),
        (0, [[1], [1]], [1, 4]),
    ),
)
