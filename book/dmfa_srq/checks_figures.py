"""The figures of the DMFA-SRQ paper, and what it says of contributions and of utilisation."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from book.common.claims.registry import Effort, Evidence, Mechanism, Part, claim
from book.common.evidence import as_data, in_words, searched
from book.common.instances import Instance, sampler
from book.common.runs import stream
from book.common.search import minimise_margin
from book.dmfa_srq import studies as study
from book.dmfa_srq.attacks import DMFA_SRQ, FIGURE_1, STATIC, broken, floats, instances
from book.dmfa_srq.counterexamples import more_for_more, refuted_claim, static
from fairbook.mechanisms.pool.dmfa_srq import dmfa_srq, static_optimum
from fairbook.model.dynamic import DynamicAllocation
from fairbook.model.inputs import FloatArray
from fairbook.traces.google2011 import load_digest

# ------------------------------------------------------------------------------------------------------- figures


@claim(
    id="dmfa_srq.figure_1",
    locator="Figure 1",
    kind="figure",
    mechanism=DMFA_SRQ,
    mutant=broken("weights_ignored"),
    statement="Three users get 1/4; then 1/3, 1/3; then 1/3, 1/3, 1/2.",
)
def _figure_1(effort: Effort, subject: Mechanism) -> Evidence:
    run = subject.run(**floats(*FIGURE_1))
    printed = ([1 / 4], [1 / 3, 1 / 3], [1 / 3, 1 / 3, 1 / 2])
    shares = [run.tasks_at(k) * run.demands[:k].max(axis=1) for k in (1, 2, 3)]
    same = all(np.allclose(a, b, rtol=1e-12) for a, b in zip(shares, printed, strict=True))
    text = "; then ".join(", ".join(str(Fraction(float(x)).limit_denominator(100)) for x in a) for a in shares)
    return Evidence.of(Part(same, "numbers", f"Computed: {text}.", 3))


@claim(
    id="dmfa_srq.figure_2",
    locator="Figure 2",
    kind="figure",
    statement="The demands of 100 and of 500 users drawn at random from the trace, in the plane of CPU and memory.",
    mechanism=Mechanism("from_the_trace", lambda rng, n: study.instance(rng, n)[0]),
    mutant=Mechanism("from_the_square", lambda rng, n: rng.random((n, 2))),
)
def _figure_2(effort: Effort, subject: Mechanism) -> Evidence:
    rows = study.trace_requests()
    distances = []
    for n in (100, 500):
        sample = subject.run(stream(effort.seed, n, 0), n)
        for j, name in enumerate(("cpu", "memory")):
            grid = np.unique(rows[name])
            trace = np.array([rows["tasks"][rows[name] <= g].sum() for g in grid]) / rows["tasks"].sum()
            ours = np.searchsorted(np.sort(sample[:, j]), grid, side="right") / n
            distances.append(float(np.abs(trace - ours).max() * np.sqrt(n)))
    return Evidence.of(
        # 1.95 is exceeded by chance once in a thousand draws (Kolmogorov's distribution)
        Part(
            max(distances) < 1.95,
            "numbers",
            "Both samples follow the requests in the trace: largest Kolmogorov distance "
            f"{max(distances):.2f} / sqrt(n).",
            2,
        ),
        Part(None, "numbers", "Nothing to compare: the paper states nothing about its picture."),
    )


def _rises(frame_of: int) -> Callable[[Effort, Mechanism], Evidence]:
    def check(effort: Effort, subject: Mechanism) -> Evidence:
        frame = study.shares_by_weight(frame_of, effort.runs, effort.seed, mechanism=subject.run)
        mean, falls = np.diff(frame["share"]), frame["falls"].to_numpy()[1:]
        return Evidence.of(
            Part(
                bool((mean > 0).all()),
                "numbers",
                f"Mean over {effort.runs} runs: the share rises at {int((mean > 0).sum())} of "
                f"{len(mean)} steps from one sampled rank to the next.",
                effort.runs,
            ),
            Part(
                bool((falls == 0).all()),
                "numbers",
                f"In single runs it falls at {falls.mean():.1%} of the steps (at one step: {falls.max():.1%}).",
                effort.runs,
            ),
        )

    return check


def _alike(demands: FloatArray, weights: FloatArray) -> DynamicAllocation:
    return dmfa_srq(demands, weights=np.full(len(weights), weights.mean()))


for _figure, _n in ((3, 100), (4, 500)):
    claim(
        id=f"dmfa_srq.figure_{_figure}",
        locator=f"Figure {_figure}",
        kind="figure",
        statement=f"Among {_n} users the share does not fall as the contribution rises (single runs, and on average).",
        mechanism=DMFA_SRQ,
        # everyone is treated as bringing the mean
        mutant=Mechanism("contributions_ignored", _alike),
    )(_rises(_n))


refuted_claim(
    "contribution.across_users",
    "Sections 3, 4",
    "Who brings more gets at least as much as who brings less.",
    more_for_more,
    kind="statement",
    variant="two users of one run",
    weights="1 1 5/4",
    demands="1 1/4, 1/3 1, 1 3/4",
    mended=partial(more_for_more, rule=static),
)


@claim(
    id="dmfa_srq.contribution.own",
    locator="Sections 3, 4",
    kind="statement",
    variant="one user brings more, all else equal",
    statement="Who brings more gets more.",
    proof="ex-dmfa_srq-contribution",
    mechanism=DMFA_SRQ,
    mutant=Mechanism("inverse_weights", lambda demands, weights: dmfa_srq(demands, weights=1 / weights)),
)
def _contribution_own(effort: Effort, subject: Mechanism) -> Evidence:
    def smallest_change(instance: Instance) -> float:
        n, demands, weights = len(instance.weights), instance.demands, instance.weights
        before = subject.run(demands, weights=weights).tasks_at(n)
        more = [(i, weights * np.where(np.arange(n) == i, factor, 1)) for i in range(n) for factor in (1.01, 3.0)]
        changes = [subject.run(demands, weights=w).tasks_at(n)[i] / before[i] - 1 for i, w in more]
        return float(min(changes)) if min(changes) > 1e-9 else -1.0  # no more is not enough

    return Evidence.of(
        searched(
            minimise_margin(
                smallest_change,
                sampler(users=(1, 6)),
                seed=effort.seed,
                evaluations=max(200, effort.evaluations // 10),
                restarts=10,
            )
        )
    )


@claim(
    id="dmfa_srq.figure_5",
    locator="Figure 5",
    kind="figure",
    mechanism=DMFA_SRQ,
    mutant=STATIC,
    statement="The minimum dominant share lies below that of static weighted DRF and never below 1.",
)
def _figure_5(effort: Effort, subject: Mechanism) -> Evidence:
    frame = study.curves(effort.runs, effort.seed, mechanism=subject.run)
    rows = frame[frame["measure"] == "min_level"]
    ends = study.end_points(rows)
    gap = ends[ends["mechanism"] == "difference"]
    lowest = min(
        float(subject.run(demands, weights=weights).lowest.min())
        for n in study.SIZES
        for demands, weights in (study.instance(stream(effort.seed, n, r), n) for r in range(effort.runs))
    )
    return Evidence.of(
        Part(
            bool((gap["high"] < 0).all()),
            "numbers",
            f"Mean difference after the last arrival ({effort.runs} runs): "
            + ", ".join(f"{r['mean']:.3f} at n = {r['n']}" for _, r in gap.iterrows())
            + ".",
            effort.runs,
        ),
        Part(
            bool((rows[rows["mechanism"] == "difference"]["high"] <= 1e-9).all()),
            "numbers",
            "At no number of users present is the mean above the static one.",
            len(rows) // 3,
        ),
        Part(lowest >= 1 - 1e-9, "numbers", f"Smallest level in any run: {lowest:.6f}.", effort.runs),
    )


def _no_sharing(demands: FloatArray, weights: FloatArray) -> DynamicAllocation:
    """Everyone keeps what it brought."""
    run = dmfa_srq(demands, weights=weights)
    return replace(run, lowest=np.ones(len(run)))


NO_SHARING = Mechanism("no_sharing", _no_sharing)


def _at_the_end(effort: Effort, subject: Mechanism) -> pd.DataFrame:
    """Means after the last arrival."""
    return study.end_points(study.curves(effort.runs, effort.seed, points=1, mechanism=subject.run))


@claim(
    id="dmfa_srq.figure_6",
    locator="Figure 6",
    kind="figure",
    mechanism=DMFA_SRQ,
    mutant=NO_SHARING,
    statement="The sums of dominant-share units are close (within 5 %, our limit).",
)
def _figure_6(effort: Effort, subject: Mechanism) -> Evidence:
    frame = _at_the_end(effort, subject)
    wide = frame[frame["measure"] == "sum_shares"].pivot(index="n", columns="mechanism", values="mean")
    gaps = wide["difference"] / wide["static"]
    return Evidence.of(
        Part(
            bool((gaps.abs() < 0.05).all()),
            "numbers",
            f"Relative difference of the means ({effort.runs} runs): "
            + ", ".join(f"{100 * g:.2f} % at n = {n}" for n, g in gaps.items())
            + ".",
            effort.runs,
        )
    )


for _figure, _measure, _name in ((7, "cpu", "CPU"), (8, "memory", "Memory")):

    @claim(
        id=f"dmfa_srq.figure_{_figure}",
        locator=f"Figure {_figure}",
        kind="figure",
        mechanism=DMFA_SRQ,
        mutant=NO_SHARING,
        statement=f"{_name} utilisation is within 0.05 of the static one at the last arrival, closer for larger n.",
    )
    def _utilisation_figure(effort: Effort, subject: Mechanism, measure: str = _measure) -> Evidence:
        frame = _at_the_end(effort, subject)
        rows = frame[(frame["measure"] == measure) & (frame["mechanism"] == "difference")].sort_values("n")
        gaps = rows["mean"].abs().tolist()
        text = ", ".join(f"{mean:+.4f} at n = {n}" for n, mean in zip(rows["n"], rows["mean"], strict=True))
        return Evidence.of(
            Part(max(gaps) < 0.05, "numbers", f"Mean difference ({effort.runs} runs): {text}.", effort.runs),
            Part(
                all(b <= a + 1e-9 for a, b in zip(gaps, gaps[1:], strict=False)),
                "numbers",
                "Sizes: " + ", ".join(f"{gap:.5f}" for gap in gaps) + ".",
                len(gaps),
            ),
        )


@claim(
    id="dmfa_srq.utilisation.on_average",
    locator="Section 6",
    kind="number",
    variant="means over the runs",
    statement="Utilisation is not lower than that of the static optimum.",
    mechanism=DMFA_SRQ,
    mutant=NO_SHARING,
)
def _utilisation_average(effort: Effort, subject: Mechanism) -> Evidence:
    frame = _at_the_end(effort, subject)
    rows = frame[frame["measure"].isin(["cpu", "memory"]) & (frame["mechanism"] == "difference")]
    return Evidence.of(
        Part(
            bool((rows["mean"] >= -1e-9).all()),
            "numbers",
            f"Mean difference ({effort.runs} runs): "
            + ", ".join(f"{r['mean']:+.5f} ({r['measure']}, n = {r['n']})" for _, r in rows.iterrows())
            + ".",
            effort.runs,
        )
    )


@claim(
    id="dmfa_srq.utilisation.always",
    locator="beyond the paper (Section 6)",
    kind="statement",
    variant="each instance, every resource",
    statement="Utilisation is not lower than that of the static optimum.",
    mechanism=DMFA_SRQ,
    mutant=STATIC,
)
def _utilisation_always(effort: Effort, subject: Mechanism) -> Evidence:
    rules: tuple[Any, ...] = (subject.run, static_optimum)
    for count, (demands, weights) in enumerate(instances(effort), 1):
        run, static = (rule(**floats(demands, weights)) for rule in rules)
        lost = (static.use_at() - run.use_at()) / static.weights.sum()
        if lost.max() > 1e-9:
            j = int(lost.argmax())
            both = [str(Fraction(float(r.use[j] / r.weights.sum())).limit_denominator(1000)) for r in (run, static)]
            return Evidence.of(
                Part(
                    False,
                    "witness",
                    f"Users {in_words(demands)} with contributions {in_words(weights)}: resource "
                    f"{j + 1} is used to {both[0]}, statically to {both[1]}.",
                    count,
                    witness=as_data(demands=demands, weights=weights),
                )
            )
    return Evidence.of(Part(True, "search", f"{count} small instances.", count))


@claim(
    id="dmfa_srq.trace_size",
    locator="Section 6",
    kind="number",
    variant="the digest holds the first files alone",
    statement="The trace has 500 files of tasks, and 143 601 184 tasks in them.",
    mechanism=Mechanism("the digest's record", lambda: load_digest().provenance),
    mutant=Mechanism("the digest as the trace", lambda: load_digest().provenance | {"parts_total": 14}),
)
def _trace_size(effort: Effort, subject: Mechanism) -> Evidence:
    record = subject.run()
    files, held, counts = record["parts_total"], len(record["parts"]), record["counts"]
    events, tasks = (counts[name] / 1e6 for name in ("events", "distinct_tasks"))
    text = (
        f"The {held} that we have hold {events:.1f} million events of {tasks:.1f} million different tasks; "
        f"{files} as full as these would hold {events / held * files:.0f} million events."
    )
    return Evidence.of(Part(files == 500, "numbers", f"It has {files} files.", 1), Part(None, "numbers", text))
