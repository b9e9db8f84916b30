"""The claims of the GDRF paper (2016): its measures and algorithms, what section 2.4 says of fairness, its figures.

The figures are judged here; the rest is registered by the modules named ``checks_*``, in this order.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from book.common.claims.registry import FULL, Effort, Evidence, Kind, Mechanism, Part, claim
from book.common.evidence import computed, in_words
from book.common.runs import stream
from book.gdrf import checks_measures, checks_placements, checks_prices, machine_by_machine, studies as study
from book.gdrf.properties import Case

__all__ = ["checks_measures", "checks_placements", "checks_prices"]

_MDRF = ("mdrf_entropy", "mdrf_type")
_FEW, _ALL = 6, 100  # mixes at quick effort, and those of the stored crossing, so that page and ledger show the same
Frames = dict[str, pd.DataFrame]


@lru_cache(maxsize=2)
def _studied(runs: int) -> Frames:
    """Gains and own values of all readings on 60 machines; own values on 60 to 300, of fewer mixes, as these cost."""
    return {"gains": study.readings(runs), "own": study.own(runs, sizes=60), "growth": study.own(max(runs // 10, 3))}


def _as_printed(runs: int) -> Frames:
    """Gains as the paper states them."""
    shown = {"tasks": 0.12, "fairness": 0.15, "fairness_whole": 0.15}
    return _studied(runs) | {"gains": _studied(runs)["gains"].assign(**shown)}


def _turned(gain: pd.DataFrame) -> pd.DataFrame:
    """What a stand-in gains over GDRF, from what GDRF gains over it: the other sign, and ends of intervals swapped."""
    ends = {low: low.replace("low", "high") for low in gain if low.endswith("low")}
    return -gain.rename(columns=ends | {high: low for low, high in ends.items()})


def _exchanged(runs: int) -> Frames:
    """The stand-ins judged as if they were GDRF: it is behind by what it was ahead, and has less where it had more."""
    gains, growth = (_studied(runs)[name] for name in ("gains", "growth"))
    turned, lower = _turned(gains.select_dtypes(float)), -growth[["fairness", "fairness_mean"]]
    return _studied(runs) | {"gains": gains.assign(**turned), "growth": growth.assign(**lower)}


def _bent(runs: int) -> Frames:
    """Tasks growing with the root of the number of machines, utilisation by a step at each size, memory below CPU."""
    own, growth = (_studied(runs)[name].copy() for name in ("own", "growth"))
    for measure in ("tasks", "cpu"):
        growth[measure] /= np.sqrt(growth["machines"])
    own[["mean_above_total", "memory_above_cpu"]] = 1 - own[["mean_above_total", "memory_above_cpu"]]
    own["memory_less_cpu"] *= -1
    return _studied(runs) | {"own": own, "growth": growth}


def _about_figures(
    name: str,
    locator: str,
    statement: str,
    parts: Callable[[Frames], Iterable[Part]],
    mutant: Mechanism,
    kind: Kind = "figure",
) -> None:
    """Register what a figure is said to show; ask whether some readings of GDRF show it and whether all do."""

    @claim(
        id=f"gdrf.{name}",
        locator=locator,
        kind=kind,
        variant="all readings of GDRF, stand-ins for MDRF",
        statement=statement,
        mechanism=Mechanism("studies of GDRF", _studied),
        mutant=mutant,
    )
    def _check(effort: Effort, judged: Mechanism) -> Iterable[Part]:
        return parts(judged.run(_FEW if effort.evaluations < FULL.evaluations else _ALL))


#: Words for the cards: measures whose names do not speak, and stand-ins.
_NAMES = {
    "tasks": "VMs",
    "cpu": "CPU",
    "cpu_mean": "CPU",
    "memory": "Memory",
    "memory_gap": "Distance",
    "fairness": "Sum",
    "fairness_mean": "Mean",
    "fairness_whole": "Whole cell",
    "gdrf": "GDRF",
    "mdrf_entropy": "entropy",
    "mdrf_type": "type",
}


def _some_and_all(words: str, holds: Any, nearest: str, turned: Any = None) -> list[Part]:
    """Whether something is so in some readings of GDRF, and whether in all; and what is so nearest to the text.

    Of two that are compared ``turned`` tells in which readings it is so the other way round; whether in fewer is asked,
    too, since it may well be so in some either way.
    """
    count, many = int(holds.sum()), len(holds)
    every = "In all" if count == many else "Not in all"
    other = [] if turned is None else [int(turned.sum())]
    return [
        Part(count > 0, "numbers", f"{words} in {count} of {many} readings.", many),
        *(Part(count > few, "numbers", f"The other way round in {few}.", many, few > count) for few in other),
        Part(count == many, "numbers", f"{every}; in the one nearest to the text {nearest}.", many),
    ]


def _against_each(measure: str, words: str, holds: Callable[[pd.DataFrame], Any]) -> Callable[[Frames], Iterable[Part]]:
    """Ask of the mean gains over each stand-in, and over both, in how many readings something holds."""

    def parts(frames: Frames) -> Iterator[Part]:
        both = np.ones(len(frames["gains"]) // frames["gains"]["against"].nunique(), dtype=bool)
        for against in _MDRF:
            rows = frames["gains"].query("against == @against")
            gain = rows[[measure, f"{measure}_low", f"{measure}_high"]].set_axis(["mean", "low", "high"], axis=1)
            so = holds(gain).to_numpy()
            both = both & so
            yield from _some_and_all(
                f"{_NAMES[measure]} over {_NAMES[against]}: {words}",
                so,
                "{:+.3f} ({:+.3f} to {:+.3f})".format(*gain.iloc[0]),
                holds(_turned(gain)),
            )
        yield Part(bool(both.any()), "numbers", f"Over both: in {both.sum()}.", len(both))

    return parts


def _ahead(measure: str) -> Callable[[Frames], Iterable[Part]]:
    """Whether the 95 % interval of the mean gain is above 0."""
    return _against_each(measure, "surely above 0", lambda gain: gain["low"] > 0)


def _about(measure: str, stated: float) -> Callable[[Frames], Iterable[Part]]:
    """Whether the mean gain is the one stated, within 3 points."""
    return _against_each(measure, "within 3 points", lambda gain: (gain["mean"] - stated).abs() <= 0.03)


def _both(*some: Callable[[Frames], Iterable[Part]]) -> Callable[[Frames], Iterable[Part]]:
    return lambda frames: [part for one in some for part in one(frames)]


def _of_each(
    frame: str,
    measure: str,
    value: Callable[[pd.DataFrame], Any],
    words: str,
    holds: Callable[[Any], Any],
    how: str,
    turned: Callable[[Any], Any] | None = None,
) -> Callable[[Frames], Iterable[Part]]:
    """Ask of GDRF in each reading, and of the stand-ins, whether the value of a measure, sizes by readings, is so.

    ``turned`` tells whether it is so the other way round.
    """

    def parts(frames: Frames) -> Iterator[Part]:
        for mechanism in ("gdrf", *_MDRF):
            values = value(_by_size(frames[frame], measure, mechanism))
            so, first = holds(values), format(values.iloc[0], how)
            if mechanism == "gdrf":
                yield from _some_and_all(f"GDRF: {words}", so, first, turned and turned(values))
            else:
                yield Part(bool(so.iloc[0]), "numbers", f"{_NAMES[mechanism]}: {first}.", 1)

    return parts


def _by_size(frame: pd.DataFrame, measure: str, mechanism: str) -> pd.DataFrame:
    return frame.query("mechanism == @mechanism").pivot(index="machines", columns="reading", values=measure)


def _at_60(values: pd.DataFrame) -> Any:
    return values.loc[60]


def _spread(tasks: pd.DataFrame) -> Any:
    per_machine = tasks.div(tasks.index.to_numpy(), axis=0)
    return per_machine.max() / per_machine.min() - 1


def _gap(frames: Frames) -> Iterator[Part]:
    for measure in ("fairness", "fairness_mean"):
        for against in _MDRF:
            ours, theirs = (_by_size(frames["growth"], measure, name) for name in ("gdrf", against))
            gap = ours.sub(theirs[0], axis=0)
            so, turned = ((lead > 0).all() & (lead.diff().iloc[1:] > 0).all() for lead in (gap, -gap))
            words = f"{_NAMES[measure]}, lead over {_NAMES[against]}: grows"
            yield from _some_and_all(words, so, f"from {gap[0].iloc[0]:+.2g} to {gap[0].iloc[-1]:+.2g}", turned)


_PRINTED, _BENT = Mechanism("gains as printed", _as_printed), Mechanism("bent curves", _bent)
_EXCHANGED = Mechanism("GDRF and its rivals exchanged", _exchanged)
_about_figures("figure1.more", "Figure 1", "GDRF places more VMs than MDRF.", _ahead("tasks"), _EXCHANGED)
_about_figures(
    "figure1.percent",
    "Figure 1",
    "GDRF places about 12 % more VMs than MDRF.",
    _about("tasks", 0.12),
    _PRINTED,
    "number",
)
_about_figures(
    "figure1.steady",
    "Figure 1",
    "The number of VMs grows steadily with the machines.",
    _of_each("growth", "tasks", _spread, "VMs per machine vary by less than 2 %", lambda spread: spread < 0.02, ".1%"),
    _BENT,
)
_about_figures("figure2.total", "Figure 2", "GDRF's total CPU utilisation is above MDRF's.", _ahead("cpu"), _EXCHANGED)
_about_figures(
    "figure2.mean", "Figure 2", "GDRF's machine-average of CPU is above MDRF's.", _ahead("cpu_mean"), _EXCHANGED
)
_about_figures(
    "figure2.level",
    "Figure 2",
    "CPU utilisation levels off as machines are added.",
    _of_each(
        "growth",
        "cpu",
        lambda use: use.diff().abs().iloc[-1],
        "the last step is below 0.005",
        lambda step: step < 0.005,
        ".4f",
    ),
    _BENT,
)
_about_figures(
    "figure3.total", "Figure 3", "GDRF's total memory utilisation is above MDRF's.", _ahead("memory"), _EXCHANGED
)
_about_figures(
    "figure3.mean_above",
    "Figure 3",
    "Memory's machine-average exceeds its total under both, in most mixes.",
    _of_each(
        "own",
        "mean_above_total",
        _at_60,
        "so in most mixes",
        lambda often: often > 0.5,
        ".0%",
        lambda often: often < 0.5,
    ),
    _BENT,
)
_about_figures(
    "figure3.close",
    "Figure 3",
    "GDRF's total and machine-average of memory are closer together than MDRF's.",
    _against_each("memory_gap", "surely below 0", lambda gain: gain["high"] < 0),
    _EXCHANGED,
)
_about_figures(
    "figure3.above_cpu",
    "Figures 2 and 3",
    "Memory utilisation is far above CPU's.",
    _both(
        _of_each(
            "own",
            "memory_less_cpu",
            _at_60,
            "mean lead above 0.05",
            lambda lead: lead > 0.05,
            ".3f",
            lambda lead: lead < -0.05,
        ),
        _of_each(
            "own",
            "memory_above_cpu",
            _at_60,
            "ahead in every mix",
            lambda often: often == 1,
            ".0%",
            lambda often: often == 0,
        ),
    ),
    _BENT,
)
_about_figures(
    "figure4.higher",
    "Figure 4",
    "GDRF's fairness value is above MDRF's (summed over machines; the cell as one machine).",
    _both(_ahead("fairness"), _ahead("fairness_whole")),
    _EXCHANGED,
)
_about_figures(
    "figure4.percent",
    "Figure 4",
    "GDRF's fairness value is about 15 % above MDRF's (summed over machines; the cell as one machine).",
    _both(_about("fairness", 0.15), _about("fairness_whole", 0.15)),
    _PRINTED,
    "number",
)
_about_figures(
    "figure4.gap", "Figure 4", "The lead in the fairness value grows with the number of machines.", _gap, _EXCHANGED
)


#: DRFH as its authors place whole tasks.
_BEST_FIT = "drfh_best_fit"


def _ahead_of_drfh(frames: Frames) -> Iterator[Part]:
    for measure in ("cpu", "memory"):
        gain = frames["gains"].query("against == @_BEST_FIT")[[f"{measure}{end}" for end in ("", "_low", "_high")]]
        gain = gain.set_axis(["mean", "low", "high"], axis=1)
        so, turned = (one["low"] > 0 for one in (gain, _turned(gain)))
        nearest = "{:+.3f} ({:+.3f} to {:+.3f})".format(*gain.iloc[0])
        yield from _some_and_all(f"{_NAMES[measure]} over Best-Fit: surely above 0", so, nearest, turned)


_about_figures(
    "introduction.drfh",
    "Introduction",
    "DRFH, by Best-Fit, uses less of the CPU and of the memory than GDRF.",
    _ahead_of_drfh,
    _EXCHANGED,
)


def _upside_down(runs: int) -> pd.DataFrame:
    """Nearly full machines and hardly used ones exchanged, and some of both everywhere."""
    frame = study.by_machine(runs)
    return frame.assign(full=frame["low"], low=frame["full"], uneven=1 - frame["uneven"])


@claim(
    id="gdrf.figure3.uneven",
    locator="Figure 3",
    kind="figure",
    variant=f"stand-ins for MDRF, {_ALL} random mixes, 60 machines",
    statement="MDRF leaves a large part of the machines with much of their memory in use and a small part with little.",
    mechanism=Mechanism("machine by machine", study.by_machine),
    mutant=Mechanism("upside down", _upside_down),
)
def _uneven(effort: Effort, judged: Mechanism) -> Evidence:
    rows = judged.run(_ALL).query("mechanism in @_MDRF")
    return Evidence.of(
        *(
            Part(
                bool(row["uneven"] > 0.5),
                "numbers",
                f"{_NAMES[row['mechanism']]}: {row['full']:.0%} of the machines have at least "
                f"{machine_by_machine.FULL:.0%} of their memory in use, {row['low']:.1%} at most {row['idle']:.0%}; "
                f"in {row['uneven']:.0%} of the mixes "
                "most are so full and some so empty.",
                _ALL,
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
    variant=f"GDRF in the reading nearest to the text, {_ALL} random mixes, 60 machines",
    statement="Memory is the bottleneck: at the end it is memory that VMs lack, rather than CPU.",
    mechanism=Mechanism("what VMs lack", study.lacking),
    mutant=Mechanism("CPU and memory exchanged", lambda runs: study.lacking(runs).set_axis(["memory", "cpu"], axis=1)),
)
def _bottleneck(effort: Effort, judged: Mechanism) -> Evidence:
    lacks = judged.run(_FEW if effort.evaluations < FULL.evaluations else _ALL)
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
