"""How statements about TV-DRF are asked: of runs over periods, and of lies; and the workloads that refute some."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from book.common.claims.registry import Effort, Evidence, Kind, Mechanism, Part, claim
from book.common.evidence import in_words, margin_in_words, sampled, witnessed
from book.common.runs import stream
from book.tv_drf.properties import gain_of_lie, lies, search_lie_over_time, search_workload
from book.tv_drf.rules import BROKEN, RULES
from book.tv_drf.workloads import Outcome, Workload, as_claimed, in_fractions, workloads

Check = Callable[[Workload, Outcome], Any]
Lie = tuple[int, Any, Any]  # user, demands (T, m), tasks (T,) that it claims

HALF = ["1/2", "1/2"]
POSITIVE = " (positive demands and counts)."
ZEROS = " (zero demands and counts included)."
#: Who was served early stays ahead: one resource, the second user has little to run in period 1.
EARLY = Workload.of([[[1], [1]]] * 2, [[1, "1/4"], [1, 2]], [[1]], ["1/4", "3/4"])
#: After one task each only one unit is left; the next task of the first user needs two.
GOES_ON = Workload.of([[[2], [1]]], [[2, 2]], [[4]], ["3/4", "1/4"])
#: Large tasks early, small ones late, and what was run early counts against the user.
CHEAP = Workload.of([[[1], [1]], [["1/4"], [1]]], [[1, "1/4"], [2, 1]], [[1]], HALF)
#: Each could fill its own machine. The first task of each goes to the first machine, the second to the second one, and
#: the room for the second user's third task is cut in two. One resource: every distance of shapes is 0.
SPLIT = Workload.of([[[3], [2]]], [[2, 3]], [[6], [6]], [["1", "0"], ["0", "1"]])
#: However ties are broken, between users or machines: the shapes send a task of the first user to the second machine,
#: and the second user runs one task where alone it runs two.
NO_TIE = Workload.of([[[4, 4], [5, 4]]], [[2, 3]], [[4, 8], [11, 10]], [["1", "0"], ["0", "1"]])


def rule_named(name: str) -> Mechanism:
    """Give a rule of the chapter, or a broken one, to be judged."""
    return Mechanism(name, (RULES | BROKEN)[name])


def _at_most(periods: tuple[int, int]) -> str:
    return "one period" if periods[1] == 1 else f"up to {periods[1]} periods"


def _searched(check: Check, effort: Effort, judged: Mechanism, **drawn: Any) -> list[Part]:
    """Drive the margin down in floats, and check random small workloads in fractions."""

    def look(rng: np.random.Generator, judged: Mechanism, at: int) -> Any:
        w = workloads(rng, **drawn).in_fractions()
        value = check(w, judged.run(w, True))
        return Part(False, "witness", f"Violated in fractions, margin {value}: {w}.", at + 1) if value < 0 else value

    where_drawn = "one machine" if drawn["whole"] else "one pool"
    zeros = ", zeros among demands and counts" if drawn["zeros"] else ""
    margin, where, done, _ = search_workload(
        lambda w: check(w, judged.run(w, False)),
        evaluations=effort.evaluations // 4,
        rng=stream(effort.seed, 1),
        **drawn,
    )
    if margin < -1e-7:
        return [Part(False, "search", f"Violated, margin {margin:.3g}: {where}.", done)]
    exact = sampled(look, effort, judged, key=2, share=50, said="Holds in fractions on {count} random workloads.",
                    right=lambda values: True)  # fmt: skip
    if not exact.holds:
        return [exact]
    least = "no case met" if margin == np.inf else f"smallest margin {margin_in_words(margin)}"
    return [
        Part(
            True,
            "search",
            f"Local search over workloads ({done} runs; {where_drawn}, {_at_most(drawn['periods'])}, 2 to 4 users, "
            f"1 to 3 resources at the start{zeros}) found nothing; {least}.",
            done,
        ),
        exact,
    ]


def _told(w: Workload, outcome: Outcome, what: str | Callable[[Workload, Outcome], str], margin: Any) -> str:
    what = f"{what} {margin}" if isinstance(what, str) else what(w, outcome)
    tasks, shares = in_words(outcome.tasks.tolist()), in_words(outcome.shares.tolist())
    return f"{w}. The tasks run are {tasks}, and the G are {shares}; {what}."


def about_runs(
    name: str,
    locator: str,
    statement: str,
    check: Check,
    rule: str,
    mutant: str,
    *,
    kind: Kind = "theorem",
    variant: str = "as stated",
    periods: tuple[int, int] = (1, 4),
    witness: Workload | None = None,
    what: str | Callable[[Workload, Outcome], str] = "margin",
    proof: str | None = None,
) -> None:
    """Register a statement about what a mechanism does with a workload; one with a witness is refuted by it.

    Workloads have zeros among their demands and counts where the statement says so.
    """

    @claim(
        id=f"tv_drf.{name}",
        locator=locator,
        kind=kind,
        variant=variant,
        statement=statement,
        proof=proof,
        mechanism=rule_named(rule),
        mutant=rule_named(mutant),
    )
    def _check(effort: Effort, judged: Mechanism, zeros: bool = statement.endswith(ZEROS)) -> Evidence:
        if against := witnessed(
            judged,
            witness,
            check,
            lambda w, outcome, margin: _told(w, outcome, what, margin),
            lambda w, outcome: w.as_data(judged.name, outcome.tasks),
        ):
            return against
        whole = rule.startswith("whole")
        return Evidence(tuple(_searched(check, effort, judged, periods=periods, whole=whole, zeros=zeros)))


def _told_lie(w: Workload, lie: Lie, judged: Mechanism) -> Evidence | None:
    """Decide a statement about lies on one lie in exact fractions; None where it does not pay."""
    user, demands, tasks = lie
    claimed = Workload.of([[row] for row in demands], [[x] for x in tasks], [[1] * len(demands[0])], ["1"])
    said, run = (claimed.demands[:, 0], claimed.tasks[:, 0]), judged.run(w, True).tasks
    honest = run[:, user].sum()
    gain = gain_of_lie(judged.run, w, user, *said, honest)
    if gain <= 0:
        return None
    words = (
        f"{w}. User {user + 1} claims demands {in_words(demands)} and tasks {in_words(tasks)}. On what it then gets it "
        f"can run {honest + gain} of its true tasks instead of {honest}. Tasks by period: {in_words(run.tolist())}; "
        f"with the lie {in_words(judged.run(as_claimed(w, user, *said), True).tasks.tolist())}."
    )
    return Evidence.of(Part(False, "witness", words, 1, witness=w.as_data(judged.name, run)))


def about_lies(
    name: str,
    statement: str,
    rule: str,
    mutant: str,
    *,
    variant: str,
    periods: tuple[int, int] = (1, 4),
    about: Sequence[str] = ("demands", "tasks"),
    last_only: bool = False,
    witness: tuple[Workload, Lie] | None = None,
    proof: str | None = None,
    locator: str = "Theorem 4",
) -> None:
    """Register a statement that no lie pays; one with a witness is refuted by it."""

    @claim(
        id=f"tv_drf.{name}",
        locator=locator,
        kind="theorem",
        variant=variant,
        statement=statement,
        proof=proof,
        mechanism=rule_named(rule),
        mutant=rule_named(mutant),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        whole = rule.startswith("whole")
        drawn: dict[str, Any] = {"whole": whole, "about": about, "last_only": last_only}
        if witness is not None and (against := _told_lie(*witness, judged)):
            return against
        gain, words, done = search_lie_over_time(
            judged.run, evaluations=effort.evaluations // 2, rng=stream(effort.seed, 3), periods=periods, **drawn
        )
        if gain > 1e-7:
            return Evidence.of(Part(False, "search", f"A lie gains {gain:.3g} (relative): {words}.", done))

        def look(idle: bool, rng: np.random.Generator, judged: Mechanism, at: int) -> Any:
            w = workloads(rng, periods=periods, whole=whole, idle=idle).in_fractions()
            said = (in_fractions(told, 1000) for told in lies(rng, w, 0, **drawn))
            gain = gain_of_lie(judged.run, w, 0, *said)
            return Part(False, "witness", f"A lie gains {gain}: {w}.", at + 1) if gain > 0 else gain

        for idle, key in ((False, 5), (True, 8)):
            exact = sampled(
                partial(look, idle),
                effort,
                judged,
                key=key,
                share=100,
                said="None of {count} random lies pays in fractions, and none of {count} where users have no tasks in "
                "some periods and may claim some.",
                right=lambda gains: True,
            )
            if not exact.holds:
                return Evidence.of(exact)
        return Evidence.of(
            exact,
            Part(
                True,
                "search",
                f"Search over workloads and lies about {' and '.join(about)} ({done} lies; {_at_most(periods)}, 2 "
                f"to 4 users, 1 to 3 resources) found none that pays; largest gain {margin_in_words(gain)}.",
                done,
            ),
        )
