"""The claims of the TV-DRF paper (Li et al. 2019): its example, lemmas and theorems, and its figures.

Each theorem is judged for the fluid mechanism and for Algorithm 1 in whole tasks, in one period and in several, where
unserved tasks expire and where they wait. Demands and counts of tasks are positive, as the paper assumes, unless a
statement says otherwise. The modules named ``checks_*`` register what is not here, in this order.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from book.common.claims.registry import Effort, Evidence, Mechanism, Part, claim
from book.common.evidence import in_words
from book.common.runs import stream
from book.common.traces.alibaba2017 import load_digest
from book.tv_drf import checks_example, checks_fairness, checks_lies, studies as study
from book.tv_drf.judging import CHEAP, POSITIVE, about_runs
from book.tv_drf.properties import Outcome, Workload, tasks_against_alone
from book.tv_drf.users import MEMORY_GB, draw, shared

__all__ = ["checks_example", "checks_fairness", "checks_lies"]

# ----------------------------------------------------------------------------------------- what beta says about tasks

_SIGN = (
    "A user has beta above, at or below 1 exactly if it has run, over all periods so far, more, as many or fewer tasks "
    "than alone" + POSITIVE
)
for _name, _rule_name, _mutant, _variant, _periods in (
    ("one", "any course, expires", "tasks of others", "one period", (1, 1)),
    ("waits", "any course, waits", "any course, expires", "several periods, tasks wait", (1, 4)),
):
    about_runs(
        f"coefficient.{_name}",
        "section 1.2",
        _SIGN,
        tasks_against_alone,
        _rule_name,
        _mutant,
        kind="statement",
        variant=f"any course of allocations in one pool; {_variant}",
        periods=_periods,
        proof="prop-tv_drf-tasks",
    )


def _beta_and_tasks(w: Workload, outcome: Outcome) -> str:
    """What the first user has at the end, by beta and in tasks."""
    used, alone = (np.sum(amounts[:, 0], axis=0) for amounts in (outcome.amounts, outcome.alone))
    beta = min(u / a for u, a in zip(used, alone, strict=True))
    tasks = [row[0] / d[0] for row, d in zip(outcome.alone[:, 0], w.demands[:, 0], strict=True)]
    runs = outcome.tasks[:, 0].sum()
    return f"in the end beta of user 1 is {beta}; it has run {runs} tasks, alone {in_words(tasks)}, so {sum(tasks)}"


about_runs(
    "coefficient.expires",
    "section 1.2",
    _SIGN,
    tasks_against_alone,
    "fluid, expires",
    "alone, expires",
    kind="statement",
    variant="divisible tasks, several periods, tasks expire",
    witness=CHEAP,
    what=_beta_and_tasks,
)


# ----------------------------------------------------------------------------------------------------------- figures


def _from_the_square(draw: Callable[[int], pd.DataFrame], n: int, seed: int) -> pd.DataFrame:
    return draw(seed).assign(cpu=lambda frame: stream(seed, n).random(len(frame)))


def _figure_of_demands(number: int, n: int, draw: Callable[[int], pd.DataFrame]) -> None:
    @claim(
        id=f"tv_drf.figure_{number}",
        locator=f"Figure {number}",
        kind="figure",
        statement=f"What {n} users drawn from the trace ask for, in the plane of CPU and memory.",
        mechanism=Mechanism("from the trace", lambda draw, n, seed: draw(seed)),
        mutant=Mechanism("CPU from the unit interval", _from_the_square),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        frame, jobs = judged.run(draw, n, effort.seed), load_digest()
        known = set(zip(jobs.plan_cpu.tolist(), (jobs.memory * MEMORY_GB).round(6).tolist(), strict=True))
        asked = set(zip((frame["cpu"] * 100).round(6).tolist(), frame["memory"].round(6).tolist(), strict=True))
        return Evidence.of(
            Part(
                asked <= known,
                "numbers",
                f"{len(asked & known)} of {len(asked)} different requests of {n} users are requests of the trace.",
                len(asked),
            ),
            Part(None, "numbers", "Nothing to compare: the text says nothing about this picture."),
        )


_figure_of_demands(1, 20, study.fig1)
_figure_of_demands(2, 100, study.fig2)


@lru_cache(maxsize=16)
def _differences(n: int, runs: int, unserved: str) -> pd.DataFrame:
    """TV-DRF less no sharing in all measures, from one experiment without the others that the figures draw."""
    frame = study.curves(runs, study.SEED, n, unserved=unserved, mechanisms=("tv_drf", "alone"))
    return frame[frame["mechanism"] == "difference"]


def _leads(n: int, measure: str, runs: int, unserved: str) -> pd.DataFrame:
    """TV-DRF less no sharing, period by period; mean over runs, and the part of the runs in which it is negative."""
    frame = _differences(n, runs, unserved)
    return frame[frame["measure"] == measure].sort_values("period")


def _exchanged(n: int, measure: str, runs: int, unserved: str) -> pd.DataFrame:
    """No sharing judged as if it were TV-DRF."""
    leads = _leads(n, measure, runs, unserved)
    return leads.assign(mean=-leads["mean"], below=1 - leads["below"])


COMPARED, EXCHANGED = Mechanism("TV-DRF", _leads), Mechanism("roles exchanged", _exchanged)
NOTHING = 1e-9  # up to that a lead is none


def _runs(effort: Effort, n: int) -> int:
    """The paper's 100; fewer at quick effort where there are many users, as each costs more."""
    return 100 if n == 5 else min(100, effort.runs // (8 if n == 100 and effort.name == "quick" else 1))


def _lead_and_growth(mean: Any) -> list[Part]:
    """Whether a lead is there in the end and nobody leads before, and whether it grows: from quarter to quarter."""
    ahead, behind = int((mean > NOTHING).sum()), int((mean < -NOTHING).sum())
    quarters = np.array([part.mean() for part in np.array_split(mean, 4)])
    steps = int((np.diff(mean) > NOTHING).sum())
    return [
        Part(
            behind == 0 and bool(mean[-1] > NOTHING),
            "numbers",
            f"The mean lead is positive in {ahead} of {len(mean)} periods, negative in {behind}, and {mean[-1]:.4f} in "
            "the last.",
            len(mean),
        ),
        Part(
            bool((np.diff(quarters) > NOTHING).all()),
            "numbers",
            f"In the mean over each quarter of the periods it is {in_words([f'{x:.4f}' for x in quarters])}; it grows "
            f"in {steps} of {len(mean) - 1} steps.",
            len(mean),
        ),
    ]


def _ahead_all_the_time(leads: pd.DataFrame, runs: int) -> Part:
    mean = leads["mean"].to_numpy()
    words = (
        f"The mean lead over {runs} runs is positive in {int((mean > NOTHING).sum())} of {len(mean)} periods, "
        f"{mean.min():.3f} at least; in single runs and periods sharing is behind in {leads['below'].mean():.1%}."
    )
    return Part(bool((mean > NOTHING).all()), "numbers", words, len(mean))


#: What is added up over the periods: its lead stays where nothing runs, and of it the text says that the gap grows. Of
#: use, which is of the moment, it says that it is higher at every moment.
_ADDED_UP = "min_share"
#: The figures of leads: number, users, measure, and what the text says.
_FIGURES = (
    (
        3,
        5,
        _ADDED_UP,
        "the least cumulative dominant share under TV-DRF is ahead of that without sharing, and the gap grows over "
        "time.",
    ),
    *(
        (
            number,
            n,
            what,
            f"{what} utilisation under TV-DRF is above that without sharing at every moment.",
        )
        for number, n, what in ((4, 20, "CPU"), (5, 20, "memory"), (6, 100, "CPU"), (7, 100, "memory"))
    ),
)


def _about_leads(number: int, n: int, measure: str, statement: str) -> None:
    """Register for both fates of tasks what a figure is said to show of the lead of sharing."""
    for unserved in ("waits", "expires"):

        @claim(
            id=f"tv_drf.figure_{number}.{unserved}",
            locator=f"Figure {number}",
            kind="figure",
            variant=", ".join(filter(None, (f"{n} users", measure.replace(_ADDED_UP, ""), f"tasks {unserved[:-1]}"))),
            statement=f"Averaged over the runs, {statement}",
            mechanism=COMPARED,
            mutant=EXCHANGED,
        )
        def _check(effort: Effort, judged: Mechanism, unserved: str = unserved) -> Evidence:
            runs = _runs(effort, n)
            leads = judged.run(n, measure.lower(), runs, unserved)
            grown = _lead_and_growth(leads["mean"].to_numpy()) if measure == _ADDED_UP else []
            return Evidence.of(*(grown or [_ahead_all_the_time(leads, runs)]))


for _figure in _FIGURES:
    _about_leads(*_figure)


@lru_cache(maxsize=8)
def _created(n: int, runs: int, seconds: float) -> pd.DataFrame:
    """TV-DRF less no sharing where tasks are submitted when they were created; CPU and memory from one experiment.

    ``used`` tells the periods in which anything runs: in the others nothing can be ahead of nothing.
    """
    frame = study.curves(runs, study.SEED, n, mechanisms=("tv_drf", "alone"), seconds=seconds)
    leads = frame["mechanism"] == "difference"
    most = frame[~leads & (frame["measure"] == "cpu")].groupby("period")["mean"].max()
    return frame[leads].assign(used=frame["period"].map(most) > NOTHING).sort_values("period")


#: Length of a period where tasks are submitted when they were created, and the runs at quick effort by the number of
#: users. 205 short periods cost as much a run as 20 in order; leads of 20 users in long ones are small and take more.
_PERIODS = {900.0: {5: 10, 20: 60, 100: 3}, 300.0: {5: 10, 20: 6, 100: 3}}


def _figure_of_created(number: int, n: int, measure: str, statement: str) -> None:
    grown = measure == _ADDED_UP

    @claim(
        id=f"tv_drf.figure_{number}.created",
        locator=f"Figure {number}",
        kind="figure",
        variant=f"{n} users, tasks wait, submitted at create_timestamp (section 4, item 3); periods of 900 and of 300 s"
        + ("" if grown else " in which anything runs"),
        statement=f"Averaged over the runs, {statement}",
        mechanism=Mechanism("TV-DRF", lambda frame: frame["mean"].to_numpy()),
        mutant=Mechanism("roles exchanged", lambda frame: -frame["mean"].to_numpy())
        if grown
        else Mechanism("one more than nothing", lambda frame: np.ones(len(frame))),
    )
    def _check(effort: Effort, judged: Mechanism) -> Iterator[Part]:
        for seconds, few in _PERIODS.items():
            runs = few[n] if effort.name == "quick" else _runs(effort, n)
            leads = _created(n, runs, seconds)
            mean = judged.run(leads[(leads["measure"] == measure.lower()) & (leads["used"] | grown)])
            ahead, behind = int((mean > NOTHING).sum()), int((mean < -NOTHING).sum())
            found = (
                f"Periods of {seconds:.0f} s: the mean lead over {runs} runs is positive in {ahead} of {len(mean)} "
                f"and negative in {behind}; {mean.mean():.3f} in the mean, {mean.min():.3f} at least."
            )
            if grown:
                lead, growth = _lead_and_growth(mean)
                yield replace(lead, found=found)
                yield growth
            else:
                yield Part(ahead == len(mean), "numbers", found, len(mean))


for _figure in _FIGURES:
    _figure_of_created(*_figure)


def _more_tasks(unserved: str) -> None:
    @claim(
        id=f"tv_drf.more_tasks.{unserved}",
        locator="section 4",
        kind="number",
        variant=f"5 and 20 users, tasks {unserved[:-1]}",
        statement="Averaged over the runs, users have completed more of their tasks under TV-DRF than without "
        "sharing, in every period.",
        mechanism=COMPARED,
        mutant=EXCHANGED,
    )
    def _check(effort: Effort, judged: Mechanism) -> Iterator[Part]:
        for n in (5, 20):
            # the part of the tasks submitted so far that has run
            mean = judged.run(n, "served", min(100, effort.runs), unserved)["mean"].to_numpy()
            yield Part(
                bool((mean > NOTHING).all()),
                "numbers",
                f"{n} users: the part of the tasks that has run is larger by {mean.min():.3f} to {mean.max():.3f}.",
                len(mean),
            )


for _fate in ("waits", "expires"):
    _more_tasks(_fate)


#: Runs at quick effort by the number of users; 30 at full effort.
_WATCHED = {5: 6, 20: 3, 100: 1}


def _below_one(mechanism: str, n: int, runs: int) -> tuple[float, int]:
    """The least beta of Algorithm 1 on the trace, tasks waiting and expiring, and of how many users and periods."""
    betas = [
        shared(draw(stream(study.SEED, n, run), n, **how), mechanism, fate, "whole_bundles").sharing_coefficients
        for run in range(runs)
        for how in ({}, {"min_load": 1.0})[: 1 + (n < 100)]  # too few jobs are busy for 100 users
        for fate in ("waits", "expires")
    ]
    return float(min(one.min() for one in betas)), sum(one.size for one in betas)


@claim(
    id="tv_drf.fair_on_trace",
    locator="section 4",
    kind="number",
    variant='5, 20 and 100 users, 5 and 20 busy ones; tasks wait and expire; "alone" in whole tasks',
    statement="On the trace Algorithm 1 leaves no user with beta below 1 in any period.",
    mechanism=Mechanism("TV-DRF", partial(_below_one, "tv_drf")),
    mutant=Mechanism("DRF per period", partial(_below_one, "memoryless")),
)
def _fair_on_trace(effort: Effort, judged: Mechanism) -> Iterator[Part]:
    for n, few in _WATCHED.items():
        runs = few if effort.name == "quick" else 30
        least, size = judged.run(n, runs)
        words = f"{n} users, {runs} runs: the least beta of {size} users and periods is {least:.3f}."
        yield Part(least >= 1 - NOTHING, "numbers", words, size)


def _of_the_optimum(mechanism: str, n: int, runs: int) -> tuple[list[float], int]:
    """Least parts of the optimum in fractions: of its least G, and of its sum of G, over users who wait or expire."""
    parts, size = [1.0, 1.0], 0
    for run, fate in product(range(runs), ("waits", "expires")):
        case = draw(stream(study.SEED, n, run), n)
        got, best = (np.sort(shared(case, one, fate).cumulative_shares) for one in (mechanism, "optimum"))
        size += len(best)
        for at, (x, y) in enumerate(((got[:, 0], best[:, 0]), (got.sum(axis=1), best.sum(axis=1)))):
            parts[at] = min(parts[at], float((x[y > 0] / y[y > 0]).min(initial=1.0)))
    return parts, size


@claim(
    id="tv_drf.heuristic_on_trace",
    locator="section 4, 1); section 5",
    kind="number",
    variant="5 and 20 users; tasks wait and expire; the optimum of (9) in fractions",
    statement="On the trace Algorithm 1 gives, in every period, the least G, and all G together, of the optimum.",
    mechanism=Mechanism("TV-DRF", partial(_of_the_optimum, "tv_drf")),
    mutant=Mechanism("the optimum itself", partial(_of_the_optimum, "optimum")),
)
def _optimal_on_trace(effort: Effort, judged: Mechanism) -> Iterator[Part]:
    for n in (5, 20):
        (least, total), size = judged.run(n, _WATCHED[n] if effort.name == "quick" else 30)
        for name, part in (("least G", least), ("sum of G", total)):
            words = f"{n} users: of the optimum's {name} at least {part:.2%} in {size} periods."
            yield Part(part >= 1 - NOTHING, "numbers", words, size)


@claim(
    id="tv_drf.trace_size",
    locator="section 4",
    kind="number",
    statement="12 951, the text's number of tasks, is in the trace: of tasks in the paper's sense, a group with one "
    "request or one instance; of jobs.",
    mechanism=Mechanism("the digest's counts", lambda: load_digest().provenance["counts"]),
    mutant=Mechanism("jobs as groups", lambda: {"jobs_in_trace": 0, "rows": 12_951, "instances_in_trace": 12_951}),
)
def _trace_size(effort: Effort, judged: Mechanism) -> Evidence:
    counts = judged.run()
    jobs, groups, instances = (int(counts[name]) for name in ("jobs_in_trace", "rows", "instances_in_trace"))
    return Evidence.of(
        Part(12_951 in (groups, instances), "numbers", f"It has {groups} groups and {instances} instances.", 1),
        Part(jobs == 12_951, "numbers", f"It has {jobs} jobs; the paper takes a job for a user.", 1),
    )
