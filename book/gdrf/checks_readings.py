"""The claims about Figures 1 to 4 of the GDRF paper, and about DRFH, asked in all readings of GDRF."""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from book.common.claims.registry import FULL, Effort, Kind, Mechanism, Part, claim
from book.gdrf import studies as study

MDRF = ("mdrf_entropy", "mdrf_type")
FEW, ALL = 6, 100  # mixes at quick effort, and those of the stored crossing, so that page and ledger show the same
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
        return parts(judged.run(FEW if effort.evaluations < FULL.evaluations else ALL))


#: Words for the cards: measures whose names do not speak, and stand-ins.
NAMES = {
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
        for against in MDRF:
            rows = frames["gains"].query("against == @against")
            gain = rows[[measure, f"{measure}_low", f"{measure}_high"]].set_axis(["mean", "low", "high"], axis=1)
            so = holds(gain).to_numpy()
            both = both & so
            yield from _some_and_all(
                f"{NAMES[measure]} over {NAMES[against]}: {words}",
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
        for mechanism in ("gdrf", *MDRF):
            values = value(_by_size(frames[frame], measure, mechanism))
            so, first = holds(values), format(values.iloc[0], how)
            if mechanism == "gdrf":
                yield from _some_and_all(f"GDRF: {words}", so, first, turned and turned(values))
            else:
                yield Part(bool(so.iloc[0]), "numbers", f"{NAMES[mechanism]}: {first}.", 1)

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
        for against in MDRF:
            ours, theirs = (_by_size(frames["growth"], measure, name) for name in ("gdrf", against))
            gap = ours.sub(theirs[0], axis=0)
            so, turned = ((lead > 0).all() & (lead.diff().iloc[1:] > 0).all() for lead in (gap, -gap))
            words = f"{NAMES[measure]}, lead over {NAMES[against]}: grows"
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
        yield from _some_and_all(f"{NAMES[measure]} over Best-Fit: surely above 0", so, nearest, turned)


_about_figures(
    "introduction.drfh",
    "Introduction",
    "DRFH, by Best-Fit, uses less of the CPU and of the memory than GDRF.",
    _ahead_of_drfh,
    _EXCHANGED,
)
