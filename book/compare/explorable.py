"""Which mechanism? Five facts about a cluster, an advice, and the numbers behind it."""

from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import book.common.claims as ledgers
import fairbook as fb
from book.common import results
from book.common.explore import Control, Explorable, Ranking, Row, State
from book.common.runs import repeat
from book.compare import studies as study
from book.compare.entrants import ENTRANTS, STAND_INS

__all__ = ["guide"]

#: What must be at most this many percent where it matters, as in the table of the page.
_ENOUGH = 100 * study.ENOUGH
#: Axes: of the least share, and of what it costs, in the order of the heads.
_HEADS = {"least share": 12, "taken back": 7, "idle": 70, "lies pay": 70}
#: What those that may be best ask of an operator.
_HOW = {
    "drf": "give all users the same share",
    "karma": "give all users the same share, and one that leaves some of it to others more of it later",
    "tv_drf": "start the tasks of the users that have had the least so far",
    "drf_by_task": "start the next task of the user with the lowest share",
    "drfh": "start the next task of the user with the lowest share, on the machine that it fits best",
    "drfh_first_fit": "start the next task of the user with the lowest share, on the first machine that has room",
}
#: Those that say whose task is next, so that they can wait until tasks end.
_NEXT = frozenset({"drf_by_task", "sequential_minmax", "drfh", "drfh_first_fit", "gdrf", "per_server_drf"})


class _Cluster(NamedTuple):
    """What one knows of a cluster."""

    whole: bool
    stays: bool
    idle: bool
    gpus: bool
    believed: bool


_FACTS = (
    Control("A task", ["runs whole, on one machine", "can be cut into parts"]),
    Control("A running task", ["runs to its end", "may be stopped"]),
    Control("A user", ["always has work waiting", "is idle at times"]),
    Control("GPUs", ["none", "some"]),
    Control("What users ask for", ["is checked", "is believed"]),
)


def _equal_part(rng: np.random.Generator, trace: str, **how: Any) -> float:
    """Give the least share where each user has one n-th of the pool in every period, and uses what it can of that."""
    case = study.instance(rng, trace, **how)
    return float(np.minimum(case.tasks * case.unit, 1 / case.demands.shape[1]).mean(axis=0).min())


@lru_cache(maxsize=4)
def _numbers(idle: bool, gpus: bool) -> tuple[pd.DataFrame, float]:
    """Give what was measured, by mechanism, and the least share in equal parts, all in percent.

    Parameters
    ----------
    idle : bool
        Whether over a day, else at one moment. What an arrival takes back, what of the shares runs on machines, and
        lies were measured at one moment only.
    gpus : bool
        Whether on the trace with GPUs, else on both others.
    """
    traces = [name for name in study.TRACES if ("gpu" in name) == gpus]
    moment, day, lying = (results.load(f"compare/{name}") for name in ("moment", "day", "lying"))
    moment, day, lying = (frame[frame["trace"].isin(traces)] for frame in (moment, day, lying))
    used = day if idle else moment
    found = study.averaged(used, "min_share").rename(columns={"mean": "share"})
    found["idle"] = 1 - study.averaged(used, "utilisation")["mean"]
    for measure, frame in (("taken", moment), ("placed", moment), ("paying", lying)):
        found[measure] = study.averaged(frame, measure)["mean"]
    # over the day by the streams that drew its instances; at one moment everybody uses all of it
    how: dict[str, Any] = {"periods": study._PERIODS, "load": study._LOAD} if idle else {}
    runs = study.RUNS if idle else 1
    equal = [
        repeat(_equal_part, runs, seed=study.SEED, key=(1, study.TRACES.index(name)), trace=name, **how)
        for name in traces
    ]
    return 100 * found.drop(index=list(STAND_INS)), 100 * float(np.mean(equal))


def _against(name: str, is_so: _Cluster, found: pd.Series, remembers: bool) -> str:
    """Say what is against a mechanism in a cluster, each reason with its number if there is one."""
    one, reasons = ENTRANTS[name], []
    if is_so.whole and not (one.whole and one.places):
        what = "does not say where" if one.whole else "hands out fractions"
        reasons.append(f"{what} ({found['placed']:.0f} % ran)")
    if is_so.stays and name not in _NEXT and found["taken"] > 0:
        reasons.append(f"takes back {found['taken']:.1f} %")
    if is_so.believed and found["paying"] > _ENOUGH:
        reasons.append(f"lies pay for {found['paying']:.0f} %")
    if is_so.believed and is_so.idle and remembers:
        reasons.append("remembers: to ask for less can pay later")
    return "; ".join(reasons).replace(" %", "\N{NO-BREAK SPACE}%")


def _advice(name: str, is_so: _Cluster, share: float, equal: float, taken: float) -> str:
    """Say what to do, what comes of it, and what it costs; warn of the best where it is worse than an equal part."""
    over = " over a day" if is_so.idle else ""
    label, given = ENTRANTS[name].label, f"the worst-off of 12 users has {share:.1f} % of the pool{over}"
    part = f"an equal part is {equal:.1f} %"
    if share < equal:
        said = f"No rule is wise here: give each user an equal part. Under the best rule, {label}, {given}; {part}."
    elif is_so.stays:
        said = (
            f"Whenever tasks end, {_HOW[name]}. This is {label}. An arrival waits until {taken:.1f} % of what the "
            f"others run has ended; then {given}, where {part}."
        )
    else:
        said = (
            f"Whenever users come or go, share out everything anew: {_HOW[name]}. This is {label}. An arrival takes "
            f"back {taken:.1f} % of what the others run; {given}, where {part}."
        )
    return said.replace(" %", "\N{NO-BREAK SPACE}%")


def _answers(name: str, stays: bool) -> list[tuple[str, str, str, str]]:
    """Name a mechanism as it is shown, typed and called, and lead to where it is described.

    Where tasks run to their end, a call with what runs already says whose task is next.
    """
    one, mechanism = ENTRANTS[name], ENTRANTS[name].typed.partition(" ")[0]
    page = f"../api/{getattr(fb, mechanism).__module__}.html#fairbook.{mechanism}"
    found = [(one.label, f"--mechanism {one.typed}", one.function, page)]
    if stays:
        page = f"../api/{fb.drf_by_task.__module__}.html#fairbook.drf_by_task"
        found.append(("Whose task is next", "", "fb.drf_by_task(..., running=...)", page))
    return found


def _state(is_so: _Cluster, found: pd.DataFrame, equal: float, remembers: set[str]) -> State:
    """Rank by the least share what nothing is against; the simplest of those that are as good is the advice.

    Parameters
    ----------
    is_so : _Cluster
    found, equal
        From :func:`_numbers`.
    remembers : set of str
        Mechanisms of which memory was seen.
    """
    notes = {name: _against(name, is_so, row, name in remembers) for name, row in found.iterrows()}
    left = found.loc[[name for name in found.index if not notes[name]]]
    good = set(study.leaders(left.rename(columns={"share": "mean"}), least=False).index)
    best = next(name for name in ENTRANTS if name in good)
    kind = {name: "struck" if note else "left" for name, note in notes.items()} | {best: "best"}
    below = {name: "below an equal part" for name in left.index if left["share"][name] < equal}
    words = notes | below | dict.fromkeys(good, "as good, within the error") | {best: "take this"}
    rank = {name: (("best", "left", "struck").index(kind[name]), -round(found["share"][name], 2)) for name in kind}
    digits = {"share": 1, "taken": 1, "idle": 0, "paying": 0}
    rows = [
        Row(ENTRANTS[name].label, [f"{found[one][name]:.{k}f}" for one, k in digits.items()], words[name], kind[name])
        for name in sorted((name for name in ENTRANTS if name in kind), key=rank.__getitem__)
    ]
    note = (
        "In percent. A user's share is its part of the resource of which it uses the largest part; the least share is "
        f"that of the worst-off of 12 users{', in the mean over a day' if is_so.idle else ''}. Taken back: of what the "
        "others run, when one more user comes, in the mean over eleven arrivals. Idle: of all resources. Lies pay: for "
        "so many of the users that tried, at one moment. In brackets: what ran as whole tasks, placed by Best-Fit. "
        f"Means over {'the trace with GPUs' if is_so.gpus else 'the two traces without GPUs'}."
    )
    taken, share = float(found["taken"][best]), float(found["share"][best])
    ranking = Ranking(
        ["mechanism", *_HEADS], [*_HEADS.values()], rows, round(equal, 2), f"equal part {equal:.1f}", note
    )
    return State([], _advice(best, is_so, share, equal, taken), _answers(best, is_so.stays), ranking)


def guide() -> Explorable:
    """Rank all mechanisms for each kind of cluster by stored numbers; strike out with its number what does not suit."""
    cells = study.cells(results.load("compare/matrix"), ledgers.ledger())
    remembers = set(cells.loc[(cells["property"] == "remembers") & (cells["verdict"] == "seen"), "mechanism"])
    settings = product(*(((True, False), (True, False), *((False, True),) * 3)))
    states = [_state(one, *_numbers(one.idle, one.gpus), remembers) for one in map(_Cluster._make, settings)]
    return Explorable(["least share"], _FACTS, states)
