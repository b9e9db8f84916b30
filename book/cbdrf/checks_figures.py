"""The figures of the cbDRF paper, as far as they state something."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from book.cbdrf import studies as study
from book.common.claims.registry import Effort, Evidence, Mechanism, Part, claim

# -------------------------------------------------------------------------------------------------------------- figures


def _curves(subject: Mechanism, effort: Effort, released: Any) -> tuple[pd.DataFrame, Any]:
    """The study's frame, and the mean ratio over CPU and memory, shape (phases, nodes)."""
    frame = subject.run(released, runs=max(5, effort.runs // 10), seed=effort.seed)
    wide = frame[frame["resource"] == "CPU"].pivot(index="phase", columns="node", values="ratio")
    return frame, wide.to_numpy()


COURSE = Mechanism("cbdrf", study.course)


def _course(**rule: Any) -> Mechanism:
    return Mechanism(", ".join(rule), partial(study.course, **rule))


def _figure_1(name: str, variant: str, subject: Mechanism, mutant: Mechanism) -> None:
    @claim(
        id=f"cbdrf.figure_1{name}",
        locator="Figure 1",
        kind="figure",
        variant=variant,
        mechanism=subject,
        mutant=mutant,
        statement="Whether a node releases enough at the end of a phase acts on later grants, not on earlier ones.",
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        _, base = _curves(judged, effort, study.failing(False))
        acts = 0
        backwards = False
        for phase in range(9):
            released = study.failing(False)
            released[phase] = 0.5
            _, changed = _curves(judged, effort, released)
            differs = np.flatnonzero(changed[:, 0] != base[:, 0])
            acts += differs.size > 0
            backwards |= bool((differs <= phase).any())
        return Evidence.of(
            Part(acts == 9, "numbers", f"{acts} of nine single failures lower a later grant.", 9),
            Part(not backwards, "numbers", "None changes the grant of its own phase or of one before.", 9),
        )


_figure_1(".cap", "credit never above C_0", COURSE, _course(credit_cap=None))
_figure_1(".no_cap", "credit without a cap", _course(credit_cap=None), COURSE)


def _to_the_bit(frame: pd.DataFrame) -> Part:
    """The first node is granted its DRF amounts."""
    first = frame[frame["node"] == 1]
    exact = bool((first["granted"] == first["drf"]).all())
    return Part(exact, "numbers", f"Granted and DRF amounts {'' if exact else 'do not '}agree to the bit.", len(first))


def _percent(values: Any) -> str:
    return ", ".join(f"{100 * v:.0f}" for v in values) + " %"


def _in_common(frame: pd.DataFrame) -> Part:
    """CPU and memory fall alike."""
    wide = frame.pivot(index=["phase", "node"], columns="resource", values="ratio")
    gap = float((wide["CPU"] - wide["memory"]).abs().max())
    return Part(gap < 1e-9, "numbers", f"CPU and memory differ by at most {gap:.1g}.", len(wide))


@claim(
    id="cbdrf.figure_2",
    locator="Figure 2",
    kind="figure",
    variant="a step down of C_0 / 10, which the figure fixes",
    mechanism=COURSE,
    mutant=_course(step_down=0.05),
    statement="One node that never releases enough: granted / DRF falls from 100 % to 10 % over ten phases, for CPU "
    "and memory alike.",
)
def _figure_2(effort: Effort, subject: Mechanism) -> Evidence:
    frame, ratio = _curves(subject, effort, study.failing(True))
    one = ratio[:, 0]
    return Evidence.of(
        Part(abs(one[0] - 1) < 1e-9, "numbers", f"Computed: {_percent(one)}.", 10),
        Part(abs(one[9] - 0.1) < 1e-9, "numbers", f"At the end {100 * one[9]:.6g} %.", 10),
        Part(bool((np.diff(one) < 0).all()), "numbers", "It falls in every phase.", 9),
        _in_common(frame),
    )


def _gap(name: str, variant: str) -> None:
    @claim(
        id=f"cbdrf.figure_2_gap.{name}",
        locator="Section 3.1, on Figure 2",
        kind="figure",
        variant=variant,
        mechanism=COURSE,
        mutant=_course(step_down=0.0),
        statement="What is granted to a node that never releases enough differs from the DRF amount by more from phase "
        "to phase.",
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        frame, _ = _curves(judged, effort, study.failing(True))
        gap = 1 - frame["ratio"] if name == "part" else frame["drf"] - frame["granted"]
        wide = frame.assign(gap=gap).pivot(index="phase", columns="resource", values="gap")
        grows = (wide.diff()[1:] > 1e-9).sum().to_dict()
        return Evidence.of(
            *(Part(n == 9, "numbers", f"{one}: more after {n} of nine phases.", 9) for one, n in grows.items())
        )


_gap("part", "as a part of the DRF amount")
_gap("amount", "amounts of one run with random demands")


@claim(
    id="cbdrf.figure_3",
    locator="Figure 3",
    kind="figure",
    mechanism=COURSE,
    mutant=_course(step_up=0.0),
    statement="A node that fails to release in five phases and complies from phase 6 on: granted / DRF falls, then "
    "climbs back towards 1.",
)
def _figure_3(effort: Effort, subject: Mechanism) -> Evidence:
    _, ratio = _curves(subject, effort, study.failing(True, until=5))
    one = ratio[:, 0]
    return Evidence.of(
        Part(bool((np.diff(one[:6]) < 0).all()), "numbers", f"Computed: {_percent(one)}.", 10),
        Part(bool((np.diff(one[5:]) > 0).all()), "numbers", "It rises from phase 7 on, after it first complied.", 4),
    )


@claim(
    id="cbdrf.figure_4",
    locator="Figure 4",
    kind="figure",
    mechanism=COURSE,
    mutant=_course(step_down=0.05),
    statement="Two nodes that never release enough: both end at about 10 % of what DRF would give them.",
)
def _figure_4(effort: Effort, subject: Mechanism) -> Evidence:
    frame, ratio = _curves(subject, effort, study.failing(True, True))
    return Evidence.of(
        Part(
            bool((np.abs(ratio[9] - 0.1) < 0.01).all()),
            "numbers",
            f"At the end {_percent(ratio[9])} (about: within 1 %, our limit).",
            2,
        ),
        _in_common(frame),
    )


@claim(
    id="cbdrf.figure_5.returns",
    variant="what is held returns",
    locator="Figure 5",
    kind="figure",
    mechanism=COURSE,
    mutant=_course(grant="weighted"),
    statement="A node that complies gets exactly its DRF amount while one that does not declines.",
)
def _figure_5(effort: Effort, subject: Mechanism) -> Evidence:
    frame, ratio = _curves(subject, effort, study.failing(False, True))
    return Evidence.of(
        _to_the_bit(frame),
        Part(bool((np.diff(ratio[:, 1]) < 0).all()), "numbers", f"The second: {_percent(ratio[:, 1])}.", 9),
    )


@claim(
    id="cbdrf.figure_5.stays",
    locator="Figure 5",
    kind="figure",
    variant="what is held leaves the next phase's pool",
    mechanism=_course(held="stays"),
    mutant=COURSE,
    statement="The node that complies gets no less than DRF would give it from the whole pool.",
)
def _figure_5_stays(effort: Effort, subject: Mechanism) -> Evidence:
    released = study.failing(False, True)
    frame = subject.run(released, runs=5, seed=effort.seed)
    whole = study.course(released, runs=5, seed=effort.seed)
    key = ["phase", "node", "resource"]
    both = frame.merge(whole, on=key, suffixes=("", "_whole"))
    part = (both["granted"] / both["drf_whole"])[both["node"] == 1]
    return Evidence.of(
        Part(
            bool((part >= 1 - 1e-9).all()),
            "numbers",
            f"In the first run it gets between {part.min():.1%} and {part.max():.1%} of that.",
            len(part),
        )
    )


@claim(
    id="cbdrf.figure_5.of_the_moment",
    locator="Figure 5",
    kind="figure",
    variant="what is held leaves the next phase's pool, DRF of what is left",
    mechanism=_course(held="stays"),
    mutant=_course(held="stays", grant="weighted"),
    statement="The node that complies gets exactly what DRF would give it.",
)
def _figure_5_of_the_moment(effort: Effort, subject: Mechanism) -> Evidence:
    return Evidence.of(_to_the_bit(subject.run(study.failing(False, True), runs=5, seed=effort.seed)))
