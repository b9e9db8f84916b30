"""The claims of the virtual-cluster paper (Liu, Dong, Tian): model, corollaries, Figure 1, pricing, experiments.

Statements about allocations are asked in whole numbers and fractions; a refuted statement has a witness of a few
numbers, judged in fractions. What holds beyond the paper stands here, too, where the chapter leans on it. The modules
named ``checks_*`` register first (about costs after about packing, on which it rests), then what its figures show.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd

from book.common.claims.registry import Effort, Kind, Mechanism, Part, claim
from book.common.runs import stream
from book.virtual_cluster import (
    checks_beyond,
    checks_model,
    checks_money,
    checks_packing,
    checks_truth,
    studies as study,
)
from book.virtual_cluster.judging import ALL, nearest_mixed, runs_of
from fairbook.mechanisms.clusters.virtual_cluster import virtual_cluster
from fairbook.model.clusters import VirtualClusters

__all__ = ["checks_beyond", "checks_model", "checks_money", "checks_packing", "checks_truth"]

# ------------------------------------------------------------------------------------------------------- the figures


@lru_cache(maxsize=2)
def _frames(runs: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Give all readings, and the nearest one: in the store from more runs, since its sign is read load by load."""
    return study.readings(runs), study.nearest(study.NEAREST_RUNS if runs == ALL else runs)


def _exchanged(frame: pd.DataFrame) -> pd.DataFrame:
    """Take each of two that are compared for the other: relaxation and the better ones, greedy and mixed, the sizes."""
    rest = frame[["remaining_greedy", "remaining_mixed"]]
    gains = {
        f"gain_{name}{one}": 1 / (1 + frame[f"gain_{name}{other}"]) - 1
        for name in ("greedy", "mixed")
        for one, other in (("", ""), ("_least", "_most"), ("_most", "_least"))
    }
    turned = frame.assign(
        **gains,
        **dict.fromkeys(rest, frame["remaining_relaxation"]),
        remaining_relaxation=rest.min(axis=1),
        ahead=-frame["ahead"],
        ahead_low=-frame["ahead_high"],
        ahead_high=-frame["ahead_low"],
    )
    # of deviations only ratios are judged, of two algorithms and of two sizes
    return turned.assign(**1 / frame[["sd_relaxation", "sd_greedy", "sd_mixed"]])


@lru_cache(maxsize=2)
def _conclusions(runs: int, turned: bool = False) -> pd.DataFrame:
    frames = map(_exchanged, _frames(runs)) if turned else _frames(runs)
    return study.conclusions(*frames).set_index("statement")


def _near(runs: int, turned: bool = False) -> pd.DataFrame:
    """Let both come as near to the optimum as the paper has it."""
    frames = (frame.assign(near_greedy=0.97, near_mixed=0.97) for frame in _frames(runs))
    return study.conclusions(*frames).set_index("statement")


_READ = "all readings of what the text leaves open, of which METAGREEDY as greedy is nearest"
_EXCHANGED = Mechanism("those compared exchanged", lambda runs, turned=False: _conclusions(runs, not turned))
_NEAR = Mechanism("near the optimum", _near)


def _about_figures(
    name: str,
    locator: str,
    statement: str,
    rows: Sequence[str],
    kind: Kind,
    mutant: Mechanism = _EXCHANGED,
    compares: bool = True,
) -> None:
    """Register what a figure is said to show; ask whether some readings do, all, and the nearest one at every load.

    Where it ``compares`` two, some readings may show the one ahead and some the other: whether more do as the paper
    says is asked, too.
    """

    @claim(
        id=f"virtual_cluster.{name}",
        locator=locator,
        kind=kind,
        variant=_READ,
        statement=statement,
        mechanism=Mechanism("readings", _conclusions),
        mutant=mutant,
    )
    def _check(effort: Effort, judged: Mechanism) -> Iterator[Part]:
        frame, turned = (judged.run(runs_of(effort), way) for way in (False, True))
        for row in rows:
            one, text = frame.loc[row], frame.loc[row, "text"]
            every, held = (one[column].split(", ") if one[column] else [] for column in ("loads", "nearest"))
            number, holds, other = (int(x) for x in (one["readings"], one["holds"], turned.loc[row, "holds"]))
            which = "in all of them" if holds == number else "not in all" if holds else "in none"
            where = "all loads" if held == every else f"loads {one['nearest']}" if held else "no load"
            yield Part(holds > 0, "numbers", f"{text[0].upper()}{text[1:]}: in {holds} of {number} readings,", number)
            yield Part(holds == number, "numbers", f"{which}, surely in {one['surely']};", number)
            nearest = f"in the nearest one at {where} of {every[0]} to {every[-1]}."
            yield Part(held == every, "numbers", nearest, len(every))
            if compares:
                yield Part(holds > other, "numbers", f"The other way round in {other} readings.", number, other > holds)


#: Id, place, statement, rows of the conclusions, kind; for what compares nothing a mutant.
_SHOWN: tuple[tuple[Any, ...], ...] = (
    (
        "figure2.lead",
        "Figure 2",
        "Greedy and mixed knapsack have a least fraction 20 to 40 % above the relaxation's.",
        ("greedy_small", "mixed_small"),
        "number",
    ),
    (
        "figure4.lead",
        "Figure 4",
        "Greedy and mixed knapsack have a least fraction 20 to 50 % above the relaxation's.",
        ("greedy_large", "mixed_large"),
        "number",
    ),
    (
        "figure2.above",
        "Figure 2",
        "Greedy and mixed knapsack are above the relaxation.",
        ("greedy_above", "mixed_above"),
        "figure",
    ),
    (
        "figure4.above",
        "Figure 4",
        "Greedy and mixed knapsack are above the relaxation.",
        ("greedy_above_large", "mixed_above_large"),
        "figure",
    ),
    ("figure3", "Figure 3", "The relaxation leaves most capacity unused.", ("remaining_small",), "figure"),
    ("figure5", "Figure 5", "The relaxation leaves most capacity unused.", ("remaining_large",), "figure"),
    ("order.small", "Section 3.3", "Greedy is better on the small clusters.", ("small_greedy",), "figure"),
    ("order.large", "Section 3.3", "Mixed knapsack is better on the large clusters.", ("large_mixed",), "figure"),
    (
        "order.both",
        "Section 3.3",
        "Greedy is better on the small clusters and mixed knapsack on the large ones, in one reading.",
        ("crossing",),
        "figure",
    ),
    (
        "steady.small",
        "Section 3.3",
        "Mixed knapsack is less steady than greedy on the small clusters.",
        ("less_steady",),
        "figure",
    ),
    ("steady.large", "Section 3.2", "All three are steadier on the large clusters.", ("steadier",), "figure"),
    (
        "near_optimal",
        "Section 3.3",
        "Greedy and mixed knapsack come near the optimum: both reach 90 % of it in the mean over runs, "
        "or at least 80 %.",
        ("near_small", "near_large", "near_small_80", "near_large_80"),
        "figure",
        _NEAR,
        False,
    ),
)
for _row in _SHOWN:
    _about_figures(*_row)


@claim(
    id="virtual_cluster.few.ratio",
    locator="Section 3.3, few users on each cluster",
    kind="number",
    variant="means, to the nearest whole number",
    statement="What a user wants is about 1/2 to 1/4 of a cluster.",
    mechanism=Mechanism("the paper's clusters", lambda size: study.SIZES[size]),
    mutant=Mechanism("one cluster of all VMs", lambda size: study.SIZES[size]._replace(clusters=1)),
)
def _ratio(effort: Effort, judged: Mechanism) -> Iterator[Part]:
    for name in study.SIZES:
        size = judged.run(name)
        times = size.vms / size.clusters / 30
        words = f"{size.clusters} clusters of {size.vms / size.clusters:g} VMs in the mean, 30 wanted: 1:{times:.2f}."
        yield Part(2 <= round(times) <= 4, "numbers", words, 1)


@claim(
    id="virtual_cluster.wasted",
    locator="Section 3.2",
    kind="number",
    variant="at most 1 % free in the mean; loads 1 to 1.5; METAGREEDY, and mixed knapsack with it inside",
    statement="Greedy and mixed knapsack make the most of the VMs on the large clusters.",
    mechanism=Mechanism("as they are", lambda found: int(found.slack.sum())),
    mutant=Mechanism("minima only", lambda found: int(found.requests.capacities.sum() - found.requests.minimum.sum())),
)
def _wasted(effort: Effort, judged: Mechanism) -> Iterator[Part]:
    runs, size = runs_of(effort), study.SIZES["large"]
    for users in (34, 38, 41, 44, 50):
        cases = [study.instance(stream(effort.seed, 71, r), "large", users) for r in range(runs)]
        both = [[virtual_cluster(*case, method="metagreedy"), nearest_mixed(case)] for case in cases]
        free = 100 * np.mean([[judged.run(one) for one in pair] for pair in both], axis=0) / size.vms
        words = f"load {30 * users / size.vms:.2f}"
        for name, part in zip(("METAGREEDY", "mixed knapsack"), free, strict=True):
            yield Part(bool(part <= 1), "numbers", f"{name}, {words}: {part:.1f} % free.", runs)


@claim(
    id="virtual_cluster.few.users",
    locator="Section 3.3, few users on each cluster",
    kind="number",
    variant="users served by mixed knapsack with METAGREEDY inside",
    statement="On each cluster 3 to 5 users are placed.",
    mechanism=Mechanism("mixed knapsack", lambda case: float(nearest_mixed(case).served.sum())),
    mutant=Mechanism("a hundred served", lambda case: 100.0),
)
def _few_users(effort: Effort, judged: Mechanism) -> Iterator[Part]:
    runs = runs_of(effort)
    for size, numbers in (("small", (8, 11, 16, 20)), ("large", (28, 34, 50, 60))):
        clusters = study.SIZES[size].clusters
        cases = [[study.instance(stream(effort.seed, 63, r), size, users) for r in range(runs)] for users in numbers]
        each = [float(np.mean([judged.run(case) for case in some])) / clusters for some in cases]
        held = [3 <= round(value) <= 5 for value in each]
        words = ", ".join(
            f"{value:.1f} at load {30 * users / study.SIZES[size].vms:.2f}"
            for value, users in zip(each, numbers, strict=True)
        )
        yield Part(any(held), "numbers", f"On {clusters} clusters, users on each:", runs * len(numbers))
        yield Part(all(held), "numbers", words + ".", runs * len(numbers))


def _minima(case: study.Instance, method: Any = "relaxation") -> VirtualClusters:
    """Put users where a method does, and give each its minimum only: the relaxation after its first step."""
    found = virtual_cluster(*case, method=method)
    return replace(found, vms=np.where(found.served, found.requests.minimum, 0))


#: Sizes, and numbers of users whose minima leave room on every cluster, or hardly.
_LOADED = {"small": (11, 14), "large": (34, 44)}


def _loaded(effort: Effort) -> Iterator[tuple[str, list[study.Instance]]]:
    """Give the paper's clusters at its loads, with words for them."""
    for size, numbers in _LOADED.items():
        for users in numbers:
            words = f"{study.SIZES[size].clusters} clusters at load {30 * users / study.SIZES[size].vms:.2f}"
            yield words, [study.instance(stream(effort.seed, 81, r), size, users) for r in range(runs_of(effort))]


@claim(
    id="virtual_cluster.first_step.balanced",
    locator="Section 2.1",
    kind="number",
    variant="parts of the clusters in use by minima, at loads of the experiments",
    statement="After the relaxation's first step no two clusters differ by more than the largest minimum.",
    mechanism=Mechanism("relaxation", _minima),
    mutant=Mechanism("greedy", partial(_minima, method="greedy")),
)
def _balanced(effort: Effort, judged: Mechanism) -> Iterator[Part]:
    for words, cases in _loaded(effort):
        rooms = [(judged.run(case), case.capacities) for case in cases]
        apart = [np.ptp(found.slack / room) * room.min() / found.vms.max() for found, room in rooms]
        often = np.mean([one <= 1 for one in apart])
        yield Part(bool(often == 1), "numbers", f"{words}: so in {often:.0%} of the runs.", len(cases))


@claim(
    id="virtual_cluster.second_step.satisfied",
    locator="Section 2.1",
    kind="number",
    variant="mean fraction of the users that are served, at loads of the experiments",
    statement="The relaxation's second step raises what users have, as a part of what they want.",
    mechanism=Mechanism("relaxation", partial(virtual_cluster, method="relaxation")),
    mutant=Mechanism("no second step", lambda *case: _minima(study.Instance(*case))),
)
def _satisfied(effort: Effort, judged: Mechanism) -> Iterator[Part]:
    for words, cases in _loaded(effort):
        pairs = [(_minima(case), judged.run(*case)) for case in cases]
        had = [[(one.vms / one.requests.max_vms)[one.served].mean() for one in pair] for pair in pairs]
        before, after = np.mean(had, axis=0)
        words = f"{words}: from {before:.2f} to {after:.2f}."
        yield Part(bool(after > before), "numbers", words, len(cases))


def _falls(name: str, locator: str, size: str, users: tuple[int, ...]) -> None:
    """Register that the least fraction falls as users are added, for each method and both readings of the variance."""

    @claim(
        id=f"virtual_cluster.{name}",
        locator=locator,
        kind="figure",
        variant="the three algorithms and METAGREEDY, both readings of the variance",
        statement="The least fraction falls as users are added.",
        mechanism=Mechanism("least fraction", lambda found: found.min_fraction),
        mutant=Mechanism("VMs handed out", lambda found: float(found.vms.sum())),
    )
    def _check(effort: Effort, judged: Mechanism) -> Iterator[Part]:
        runs = runs_of(effort)
        for k, variance in enumerate(("variance", "deviation")):
            rows = []
            for number in users:
                rng = stream(effort.seed, 50 + k)
                cases = [study.instance(rng, size, number, variance=variance) for _ in range(runs)]
                rows.append(
                    [np.mean([judged.run(virtual_cluster(*case, method=m)) for case in cases]) for m in _FALLING]
                )
            steps = np.diff(np.array(rows), axis=0)
            yield Part(
                bool((steps < 0).all()),
                "numbers",
                f"{'Variance' if variance == 'variance' else 'Standard deviation'} 10, {runs} runs: from "
                f"{users[0]} to {users[-1]} users from {', '.join(f'{y:.2f}' for y in rows[0])} to "
                f"{', '.join(f'{y:.2f}' for y in rows[-1])}.",
                runs * len(users),
            )


_FALLING: tuple[Any, ...] = ("relaxation", "greedy", "mixed_knapsack", "metagreedy")
_falls("figure2.falls", "Figure 2", "small", (8, 12, 16, 20))
_falls("figure4.falls", "Figure 4", "large", (28, 36, 44, 52, 60))
