"""The claims of the GDRF paper (2016): its measures and algorithms, what section 2.4 says of fairness, its figures.

What section 3 says of CPU and memory, and of the users, is judged here; the rest is registered by the modules named
``checks_*``, in this order.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from book.common.claims.registry import FULL, Effort, Evidence, Mechanism, Part, claim
from book.common.evidence import computed, in_words
from book.common.runs import stream
from book.gdrf import (
    checks_measures,
    checks_placements,
    checks_prices,
    checks_readings,
    machine_by_machine,
    studies as study,
)
from book.gdrf.checks_readings import ALL, FEW, MDRF, NAMES
from book.gdrf.properties import Case

__all__ = ["checks_measures", "checks_placements", "checks_prices", "checks_readings"]


def _upside_down(runs: int) -> pd.DataFrame:
    """Nearly full machines and hardly used ones exchanged, and some of both everywhere."""
    frame = study.by_machine(runs)
    return frame.assign(full=frame["low"], low=frame["full"], uneven=1 - frame["uneven"])


@claim(
    id="gdrf.figure3.uneven",
    locator="Figure 3",
    kind="figure",
    variant=f"stand-ins for MDRF, {ALL} random mixes, 60 machines",
    statement="MDRF leaves a large part of the machines with much of their memory in use and a small part with little.",
    mechanism=Mechanism("machine by machine", study.by_machine),
    mutant=Mechanism("upside down", _upside_down),
)
def _uneven(effort: Effort, judged: Mechanism) -> Evidence:
    found = judged.run(ALL)
    rows = found[found["mechanism"].isin(MDRF)]
    return Evidence.of(
        *(
            Part(
                bool(row["uneven"] > 0.5),
                "numbers",
                f"{NAMES[row['mechanism']]}: {row['full']:.0%} of the machines have at least "
                f"{machine_by_machine.FULL:.0%} of their memory in use, {row['low']:.1%} at most {row['idle']:.0%}; "
                f"in {row['uneven']:.0%} of the mixes most are so full and some so empty.",
                ALL,
            )
            for _, row in rows.iterrows()
        )
    )


@claim(
    id="gdrf.figure3.supply",
    locator="Section 3",
    kind="number",
    variant="the published mix",
    statement="In the Google cell there is more CPU than memory in total.",
    mechanism=Mechanism("Table 1", lambda: np.array(study.MACHINES)),
    mutant=Mechanism("CPU and memory exchanged", lambda: np.array(study.MACHINES)[:, [1, 0, 2]]),
)
def _supply(effort: Effort, judged: Mechanism) -> Evidence:
    table = judged.run()
    cpu, memory = (float(x) for x in table[:, 2] @ table[:, :2])
    return Evidence.of(
        Part(
            cpu > memory,
            "numbers",
            f"In units of the largest machine {cpu:.0f} CPU and {memory:.0f} memory: {cpu / memory - 1:+.1%}.",
            len(table),
        )
    )


def _about_balance(name: str, variant: str, case: Case, mutant: str, proof: str | None = None) -> None:
    """Register, for requests that are balanced in one sense, that a larger part of the scarcer resource is used."""

    @claim(
        id=f"gdrf.figure3.balanced.{name}",
        locator="Section 3",
        kind="statement",
        variant=variant,
        statement="Where there is more CPU than memory, and users request as much of the one as of the other, a larger "
        "part of the memory is used.",
        proof=proof,
        mechanism=checks_placements.rule_named("gdrf"),
        mutant=checks_placements.rule_named(mutant),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        tasks = judged.run(case, True).tasks
        cpu, memory = (sum(t * d for t, d in zip(tasks, one, strict=True)) for one in zip(*case.demands, strict=True))
        return Evidence.of(
            computed(
                memory * case.pool[0] > cpu * case.pool[1],
                f"{case}. The users have {in_words(tasks)} VMs, which use {cpu} of {case.pool[0]} CPU and {memory} of "
                f"{case.pool[1]} memory.",
                1,
                case.as_data(judged.name, tasks),
            )
        )


_about_balance(
    "requested",
    "as much CPU as memory in all requests",
    Case(((2, 1), (3, 4)), ((16, 15),)),
    "least used machine",
)
_about_balance(
    "placed",
    "as much CPU as memory in the VMs that are placed",
    Case(((2, 1), (1, 2)), ((16, 15),), (4, 4)),
    "nothing placed",
    "lem-gdrf-utilisation",
)


def _by_share(pool: Any) -> list[float]:
    """CPU by memory of what users request, in parts of the cell."""
    return [(cpu / pool[0]) / (memory / pool[1]) for cpu, memory in sorted(set(study.USERS))]


@claim(
    id="gdrf.figure3.cpu_first",
    locator="Section 3",
    kind="number",
    variant="dominant resources of the 16 possible requests",
    statement="GDRF goes mostly by CPU.",
    mechanism=Mechanism("shares (2)", _by_share),
    mutant=Mechanism("shares exchanged", lambda pool: [1 / ratio for ratio in _by_share(pool)]),
)
def _cpu_first(effort: Effort, judged: Mechanism) -> Evidence:
    case = study.instance(stream(effort.seed), 60)
    ratios = judged.run(case.counts @ case.machines)
    cpu, memory = sum(ratio > 1 for ratio in ratios), sum(ratio < 1 for ratio in ratios)
    return Evidence.of(
        Part(
            cpu > memory,
            "numbers",
            f"On 60 machines CPU is dominant for {cpu} of the 16 pairs from 1 to 4, memory for {memory}.",
            len(ratios),
        )
    )


@claim(
    id="gdrf.figure3.bottleneck",
    locator="Section 3",
    kind="number",
    variant=f"GDRF in the reading nearest to the text, {ALL} random mixes, 60 machines",
    statement="Memory is the bottleneck: at the end it is memory that VMs lack, rather than CPU.",
    mechanism=Mechanism("what VMs lack", study.lacking),
    mutant=Mechanism("CPU and memory exchanged", lambda runs: study.lacking(runs).set_axis(["memory", "cpu"], axis=1)),
)
def _bottleneck(effort: Effort, judged: Mechanism) -> Evidence:
    lacks = judged.run(FEW if effort.evaluations < FULL.evaluations else ALL)
    mixes, (cpu, memory) = int((lacks["memory"] > lacks["cpu"]).sum()), lacks[["cpu", "memory"]].mean()
    return Evidence.of(
        Part(
            memory > cpu,
            "numbers",
            f"Of the pairs of a user and a machine {memory:.0%} lack memory and {cpu:.0%} CPU in the mean; more lack "
            f"memory in {mixes} of {len(lacks)} mixes.",
            len(lacks),
        )
    )


def _about_users(name: str, statement: str, stand_in: str, holds: Callable[[Any], bool]) -> None:
    """Register what the text says of a table that is lost: there is nothing to compare it with but our stand-in."""

    @claim(
        id=f"gdrf.users.{name}",
        locator="Table 3",
        kind="number",
        statement=statement,
        mechanism=Mechanism("stand-in for Table 3", lambda: study.USERS),
        mutant=Mechanism("one user twenty times", lambda: study.USERS[:1] * 20),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        users = judged.run()
        return Evidence.of(
            Part(None, "numbers", "Table 3 is lost: nothing to compare."),
            Part(holds(users), "numbers", f"Our stand-in {stand_in}.", len(users)),
        )


def _bell(users: Sequence[tuple[int, int]]) -> bool:
    """Whether totals are symmetric about 5 and rarer the further they are from it."""
    totals = [sum(user) for user in users]
    counts = [totals.count(total) for total in range(2, 9)]
    return counts == counts[::-1] and all(a < b for a, b in zip(counts[:3], counts[1:4], strict=True))


_about_users(
    "cover",
    "The 20 users cover nearly all combinations of CPU and memory from 1 to 4.",
    "has all 16",
    lambda users: len(set(users)) == 16,
)
_about_users(
    "normal",
    "The totals of the 20 users are normally distributed.",
    "has totals that are symmetric and rarer the further from the middle",
    _bell,
)
