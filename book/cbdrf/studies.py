"""The experiments of the cbDRF paper, what its blanks do to them, and what punishment costs beside other rules.

The paper runs ten phases of one node or two. Where it draws demands at random it states ranges, not a distribution;
here they are uniform, and every run has a random stream of its own. Phases count from 1 in every frame, as in the
paper's figures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Literal

import numpy as np
import pandas as pd
from tqdm import tqdm

from book.cbdrf.release import largest_worth, worth_threshold
from book.common.runs import interval, repeat
from fairbook import results
from fairbook.errors import InvalidInput
from fairbook.mechanisms.cbdrf import CreditRule, CreditRun, cbdrf
from fairbook.mechanisms.karma import karma
from fairbook.model.inputs import FloatArray, as_whole

__all__ = [
    "DATA",
    "PATTERNS",
    "POOL",
    "RESOURCES",
    "RHO",
    "SEED",
    "STORED",
    "blanks",
    "comparison",
    "course",
    "failing",
    "fig1",
    "fig2",
    "fig3",
    "fig4",
    "fig5",
    "hoarding",
    "instance",
    "operator",
    "parameters",
]

#: Root of every random stream.
SEED = 2014
RUNS = 200
#: Data files, below ``data/``, on which the stored results depend.
DATA = ()

#: The paper's pool, the ranges of its demands, its threshold, and how many phases it runs.
POOL = (500.0, 50_000.0)
#: Names of the resources of the paper's pool.
RESOURCES = ("CPU", "memory")
RANGES = ((20.0, 100.0), (300.0, 1000.0))
#: The paper's threshold: who releases less than this part of what it was granted loses credit.
RHO = 0.75
PHASES = 10

Held = Literal["returns", "stays"]

#: The rules that are compared. DRF is cbDRF that takes no credit away.
RULES = {
    "drf": CreditRule(step_down=0.0, credit_cap=1.0),
    "cbdrf": CreditRule(credit_cap=1.0),
    "weighted": CreditRule(credit_cap=1.0, grant="weighted"),
    "capped": CreditRule(credit_cap=1.0, grant="capped"),
}


def instance(rng: np.random.Generator, n: int = 1, phases: int = PHASES) -> FloatArray:
    """Draw what n nodes demand per task in each phase: CPU uniform in [20, 100], memory uniform in [300, 1000].

    Parameters
    ----------
    rng : numpy.random.Generator
    n, phases : int
        Nodes and phases.

    Returns
    -------
    ndarray, shape (phases, n, 2)
        In the units of the paper's pool, 500 CPU and 50 000 memory.

    Notes
    -----
    CPU is the dominant resource of every such demand: 20 / 500 is more than 1000 / 50 000.
    """
    low, high = np.array(RANGES).T
    return rng.uniform(low, high, (phases, n, len(RESOURCES)))


# ------------------------------------------------------------------------------------------------ the paper's figures


def fig1() -> pd.DataFrame:
    """Follow one node through two phases and into a third, in round numbers: the loop that Figure 1 draws.

    Two nodes share 500 CPU and 50 000 memory. The one that is followed keeps half of its first grant and releases all
    of its second; the other always complies.

    Returns
    -------
    DataFrame
        One row a phase: ``phase``, ``cpu``, ``memory`` (demand per task), ``drf_tasks``, ``credit``,
        ``credit_factor``, ``tasks``, ``released``, ``rho``, ``complied``, ``next_credit``.

    Examples
    --------
    >>> fig1()[["drf_tasks", "credit_factor", "tasks", "next_credit"]].round(3).to_numpy().tolist()
    [[10.0, 1.0, 10.0, 0.9], [5.0, 0.9, 4.5, 1.0]]
    """
    demands = np.array([[[25, 500], [50, 500]], [[50, 400], [25, 600]]], dtype=float)
    run = cbdrf(demands, POOL, released=[[0.5, 1.0], [1.0, 1.0]], rho=RHO, credit_cap=1.0)
    after = np.append(run.credit[1:, 0], run.final_credit[0])
    return pd.DataFrame(
        {
            "phase": [1, 2],
            "cpu": demands[:, 0, 0],
            "memory": demands[:, 0, 1],
            "drf_tasks": run.drf_tasks[:, 0],
            "credit": run.credit[:, 0],
            "credit_factor": run.credit_factor[:, 0],
            "tasks": run.tasks[:, 0],
            "released": run.released[:, 0],
            "rho": RHO,
            "complied": run.complied[:, 0],
            "next_credit": after,
        }
    )


def _one_run(rng: np.random.Generator, released: FloatArray, **rule: Any) -> FloatArray:
    """Give granted and DRF amounts, shape (2, T, n, m)."""
    T, n = released.shape
    run = cbdrf(instance(rng, n, T), POOL, released=released, rho=RHO, **rule)
    return np.stack([run.tasks, run.drf_tasks])[..., None] * run.demands


def course(released: Any, runs: int = RUNS, seed: int = SEED, *, progress: bool = False, **rule: Any) -> pd.DataFrame:
    """Compare what cbDRF grants with what DRF would, phase by phase, on the paper's random demands.

    Parameters
    ----------
    released : array_like, shape (T, n)
        Part of its grant that each node releases at the end of each phase.
    runs, seed
        Repetitions with demands of their own, and their root seed.
    progress : bool
        Whether to draw a bar on stderr.
    **rule
        Fields of :class:`~fairbook.mechanisms.cbdrf.CreditRule` but rho; by default the paper's.

    Returns
    -------
    DataFrame
        One row a phase (from 1), node (from 1) and resource: ``phase``, ``node``, ``resource``, ``granted`` and ``drf``
        (amounts in the first run), ``ratio`` (the paper's xi = A_act / A_DRF, mean over runs), ``low``, ``high`` (least
        and largest of any run), ``runs``.

    Notes
    -----
    Cost O(runs T n). Where held resources return to the pool, low = ratio = high: whatever the demands, the scaled
    grant is psi times the DRF amount, and psi depends on releases alone.
    """
    released = np.asarray(released, dtype=float)
    T, n = released.shape
    amounts = np.stack(
        repeat(_one_run, runs, seed=seed, key=(T, n), progress=progress, label="runs", released=released, **rule)
    )
    granted, drf = amounts[:, 0], amounts[:, 1]
    ratio = (granted / drf).round(12)
    phase, node, resource = (part.ravel() for part in np.indices((T, n, len(RESOURCES))))
    return pd.DataFrame(
        {
            "phase": phase + 1,
            "node": node + 1,
            "resource": np.array(RESOURCES)[resource],
            "granted": granted[0].ravel(),
            "drf": drf[0].ravel(),
            "ratio": ratio.mean(axis=0).round(12).ravel(),
            "low": ratio.min(axis=0).ravel(),
            "high": ratio.max(axis=0).ravel(),
        }
    ).assign(runs=runs)


def failing(*never: bool, until: int = PHASES) -> FloatArray:
    """Give ratios for ten phases: half is released, too little, by some nodes in the phases up to ``until``."""
    released = np.ones((PHASES, len(never)))
    released[:until, np.array(never)] = 0.5
    return released


def fig2(runs: int = RUNS, seed: int = SEED, *, progress: bool = False) -> pd.DataFrame:
    """Follow one node that never releases enough (Figure 2); columns as in :func:`course`.

    Examples
    --------
    >>> frame = fig2(5)
    >>> frame.loc[frame["resource"] == "CPU", "ratio"].tolist()
    [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]
    """
    return course(failing(True), runs, seed, progress=progress)


def fig3(runs: int = RUNS, seed: int = SEED, *, progress: bool = False) -> pd.DataFrame:
    """Follow one node that fails to release enough in phases 1 to 5 and complies from then on (Figure 3).

    It complies at the end of phase 6, so that phase 7 is the first in which it gets more. Columns as in :func:`course`.
    """
    return course(failing(True, until=5), runs, seed, progress=progress)


def fig4(runs: int = RUNS, seed: int = SEED, *, progress: bool = False) -> pd.DataFrame:
    """Follow two nodes that never release enough (Figure 4); columns as in :func:`course`."""
    return course(failing(True, True), runs, seed, progress=progress)


def fig5(runs: int = RUNS, seed: int = SEED, *, progress: bool = False) -> pd.DataFrame:
    """Follow a node that complies, the first, and one that does not (Figure 5); columns as in :func:`course`."""
    return course(failing(False, True), runs, seed, progress=progress)


# ------------------------------------------------------------------------------------------ what the paper leaves out

#: Whether a node complies in a phase, by name; phases from 1.
PATTERNS: dict[str, Callable[[int], bool]] = {
    "never": lambda t: False,
    "from phase 6 on": lambda t: t > 5,
    "not in phases 6 to 10": lambda t: not 6 <= t <= 10,
    "every second phase": lambda t: t % 2 == 0,
}

_PAPER = CreditRule(rho=RHO)


def _ratio(rule: CreditRule, pattern: str, phases: int) -> CreditRun:
    """Run one node that follows a pattern; its ratio is psi, whatever it demands."""
    released = [[float(PATTERNS[pattern](t))] for t in range(1, phases + 1)]
    return cbdrf(
        np.ones((phases, 1, 1)),
        released=released,
        rho=rule.rho,
        step_up=rule.step_up,
        step_down=rule.step_down,
        credit_cap=rule.credit_cap,
        credit_floor=rule.credit_floor,
    )


def parameters(
    *,
    step_down: Sequence[float] = (0.05, 0.1, 0.2, 0.5),
    step_up: Sequence[float] = (0.02, 0.1, 0.2),
    caps: Sequence[float | None] = (None, 1.0),
    floors: Sequence[float] = (0.0, 0.3),
    patterns: Sequence[str] = tuple(PATTERNS),
    phases: int = 40,
) -> pd.DataFrame:
    """Cross the parameters that the paper leaves out, for one node whose conduct follows a pattern.

    Parameters
    ----------
    step_down, step_up : sequence of float
        Steps in parts of C_0.
    caps : sequence of float or None
        Caps of the credit in parts of C_0; None for none.
    floors : sequence of float
    patterns : sequence of str
        Keys of :data:`PATTERNS`.
    phases : int
        At least 10.

    Returns
    -------
    DataFrame
        One row a combination: ``pattern``, ``step_down``, ``step_up``, ``cap`` (as text), ``floor``, ``at_10`` (xi in
        phase 10, where the paper's figures end), ``least`` (over all phases), ``recovery`` (phases from the last one in
        which the node failed to the first one with xi = 1; missing where that does not happen), ``lost`` (sum of 1 -
        xi: the area above the curve, in phases' worth of the DRF amount), ``phases``.

    Notes
    -----
    Cost O(combinations * phases); about a second.
    """
    rows = []
    for pattern, down, up, cap, floor in product(patterns, step_down, step_up, caps, floors):
        rule = replace(_PAPER, step_down=down, step_up=up, credit_cap=cap, credit_floor=floor)
        run = _ratio(rule, pattern, phases)
        ratio, failed = run.credit_factor[:, 0], np.flatnonzero(~run.complied[:, 0])
        back = np.flatnonzero(ratio[failed[-1] + 1 :] == 1) if len(failed) else np.array([0])
        rows.append(
            {
                "pattern": pattern,
                "step_down": down,
                "step_up": up,
                "cap": "none" if cap is None else f"{cap:g} C_0",
                "floor": floor,
                "at_10": ratio[9],
                "least": ratio.min(),
                "recovery": float(back[0] + 1) if len(back) and len(failed) else np.nan,
                "lost": float((1 - ratio).sum()),
            }
        )
    return pd.DataFrame(rows).assign(phases=phases)


#: One blank a panel: its name, the conduct that shows it, and the values; the first is the paper's or our reading.
_BLANKS: tuple[tuple[str, str, tuple[tuple[str, dict[str, Any]], ...]], ...] = (
    (
        "step down",
        "never",
        (("0.1", {}), ("0.05", {"step_down": 0.05}), ("0.2", {"step_down": 0.2}), ("0.5", {"step_down": 0.5})),
    ),
    (
        "step up",
        "from phase 6 on",
        (("0.1", {}), ("0.02", {"step_up": 0.02}), ("0.05", {"step_up": 0.05}), ("0.3", {"step_up": 0.3})),
    ),
    ("cap", "not in phases 6 to 10", (("none", {}), ("1.2", {"credit_cap": 1.2}), ("1", {"credit_cap": 1.0}))),
    ("floor", "never", (("0", {}), ("0.3", {"credit_floor": 0.3}), ("0.6", {"credit_floor": 0.6}))),
)


def blanks(phases: int = 16) -> pd.DataFrame:
    """Change one thing that the paper leaves out at a time, and follow the ratio phase by phase.

    Returns
    -------
    DataFrame
        One row a blank, value and phase: ``blank``, ``pattern`` (key of :data:`PATTERNS`), ``value`` (as text, in parts
        of C_0), ``paper`` (whether this is the value of the other figures), ``phase``, ``ratio``.
    """
    parts = [
        pd.DataFrame(
            {
                "blank": blank,
                "pattern": pattern,
                "value": value,
                "paper": not change,
                "phase": np.arange(1, phases + 1),
                "ratio": _ratio(replace(_PAPER, **change), pattern, phases).credit_factor[:, 0],
            }
        )
        for blank, pattern, values in _BLANKS
        for value, change in values
    ]
    return pd.concat(parts, ignore_index=True)


# ------------------------------------------------------------------------------------------------- what it all costs


def _run(rule: CreditRule, demands: FloatArray, released: FloatArray, held: Held) -> CreditRun:
    return cbdrf(
        demands,
        released=released,
        rho=rule.rho,
        step_up=rule.step_up,
        step_down=rule.step_down,
        initial_credit=rule.initial_credit,
        credit_cap=rule.credit_cap,
        credit_floor=rule.credit_floor,
        held=held,
        grant=rule.grant,
    )


def _compared(rng: np.random.Generator, n: int, phases: int, defectors: Sequence[int], kept: float) -> FloatArray:
    """Give utilisation, two relative shares and the worst share: shape (2 pools, rules, defectors, 4)."""
    demands = rng.uniform(0.1, 1.0, (phases, n, 2))
    usual = cbdrf(demands).dominant_shares.mean(axis=0)
    found = np.full((2, len(RULES), len(defectors), 4), np.nan)
    for (h, held), (r, rule), (k, count) in product(
        enumerate(("returns", "stays")), enumerate(RULES.values()), enumerate(defectors)
    ):
        released = np.ones((phases, n))
        released[:, :count] = 1.0 - kept
        run = _run(rule, demands, released, held)  # type: ignore[arg-type]
        shares = run.dominant_shares
        parts = [
            run.utilisation.max(axis=1).mean(),
            (shares.mean(axis=0) / usual)[count:].mean(),
            (shares.mean(axis=0) / usual)[:count].mean() if count else np.nan,
            n * shares[:, count:].min(),
        ]
        found[h, r, k] = parts
    return found


def _counts(values: Sequence[int], n: int, argument: str) -> None:
    if not len(values) or not all(0 <= value < n for value in values):
        raise InvalidInput(argument, f"must be whole numbers below the number of nodes, {n}", list(values))


def _tidy(values: FloatArray, keys: dict[str, Sequence[Any]]) -> pd.DataFrame:
    """Give one row per cell of all axes but the first, the runs, with mean, 95 % interval and least value."""
    index = pd.MultiIndex.from_product(list(keys.values()), names=list(keys))
    flat = values.reshape(len(values), -1).round(12)  # below that, processors differ
    frame = pd.concat([index.to_frame(index=False), interval(flat)], axis=1).assign(least=flat.min(axis=0))
    return frame.dropna(subset="mean").reset_index(drop=True).assign(runs=len(values))


def comparison(
    runs: int = 40,
    seed: int = SEED,
    *,
    n: int = 10,
    phases: int = 60,
    defectors: Sequence[int] = tuple(range(10)),
    kept: float = 1.0,
    progress: bool = False,
) -> pd.DataFrame:
    """Compare DRF and three ways to punish, some nodes never releasing enough and the others releasing all.

    Demands are uniform in [0.1, 1] for two resources of capacity 1, new in each phase. Credit is capped at C_0; steps
    are a tenth of it.

    Parameters
    ----------
    runs, seed
        Repetitions and their root seed.
    n, phases : int
        Nodes and phases of each run.
    defectors : sequence of int
        Numbers of nodes, below n, that never release enough.
    kept : float
        Part of its grant, above 1 - rho, that such a node keeps. It matters only where what is held stays away.

    Returns
    -------
    DataFrame
        One row per ``held`` ("returns", "stays"), ``mechanism`` ("drf", "cbdrf", "weighted", "capped"),
        ``defectors`` and ``measure``, with ``mean``, ``low``, ``high`` (95 % interval of the mean over runs),
        ``least`` (run), ``runs``. Measures: ``utilisation`` (part of the fuller resource that is granted, mean over
        phases; what is held from the phase before does not count), ``complying`` and ``defecting`` (dominant share of
        those nodes, mean over phases, over what DRF gives them where all release all), ``worst`` (n times the least
        dominant share of a complying node in any phase: at least 1 where each gets its equal part of the whole).

    Notes
    -----
    Cost O(runs * len(defectors) * phases * n); about half a second a run.
    """
    _counts(defectors, n, "defectors")
    if not 1 - RHO < kept <= 1:
        raise InvalidInput("kept", f"must be above {1 - RHO:g} and at most 1", kept)
    values = np.stack(
        repeat(
            _compared,
            runs,
            seed=seed,
            key=(n, 1),
            progress=progress,
            label="comparison",
            n=n,
            phases=phases,
            defectors=defectors,
            kept=kept,
        )
    )
    return _tidy(
        values,
        {
            "held": ("returns", "stays"),
            "mechanism": list(RULES),
            "defectors": list(defectors),
            "measure": ("utilisation", "complying", "defecting", "worst"),
        },
    )


_WITH_KARMA = (*RULES, "karma")

Conduct = Literal["holds", "releases"]

#: What a hoarder does at the end of an idle phase, and where that goes. Of one that releases all nothing can stay.
_HOARDERS: tuple[tuple[Conduct, Held], ...] = (("holds", "returns"), ("holds", "stays"), ("releases", "returns"))


def _useful(demands: FloatArray, busy: Any, hoarders: int, mechanism: str, conduct: Conduct, held: Held) -> FloatArray:
    """Give the tasks that do useful work, shape (T, n): those of busy nodes, held ones included."""
    claims = busy.copy()
    claims[:, :hoarders] = True
    if mechanism == "karma":
        return karma(demands, max_tasks=np.where(claims, np.inf, 0.0)).tasks * busy
    keeps = claims & ~busy & (conduct == "holds")
    run = _run(RULES[mechanism], demands * claims[..., None], np.where(keeps, 0.0, 1.0), held)
    tasks = run.tasks.copy()
    if held == "stays":  # what an idle phase held is there to work with in the next
        tasks[1:] += (run.tasks * (1.0 - run.released))[:-1]
    return tasks * busy


def _hoarded(rng: np.random.Generator, n: int, phases: int, hoarders: Sequence[int]) -> FloatArray:
    """Give useful utilisation, relative shares, and both gains: shape (3 conducts, mechanisms, hoarders, 5)."""
    demands = np.broadcast_to(rng.uniform(0.1, 1.0, (n, 2)), (phases, n, 2))
    busy = rng.random((phases, n)) < 0.5
    usual = _useful(demands, busy, 0, "drf", *_HOARDERS[0]).sum(axis=0)
    found = np.full((len(_HOARDERS), len(_WITH_KARMA), len(hoarders), 5), np.nan)
    for r, mechanism in enumerate(_WITH_KARMA):
        known: dict[Any, FloatArray] = {}
        for (c, case), (k, count) in product(enumerate(_HOARDERS), enumerate(hoarders)):
            seen = None if mechanism == "karma" else case  # Karma does not see what is released
            for one in (count, max(count - 1, 0)):
                if (seen, one) not in known:
                    known[seen, one] = _useful(demands, busy, one, mechanism, *case)
            tasks = known[seen, count]
            part = tasks.sum(axis=0) / usual
            found[c, r, k, :2] = np.einsum("ti,ij->tj", tasks, demands[0]).max(axis=1).mean(), part[count:].mean()
            if count:
                before = known[seen, count - 1][:, count - 1].sum()
                found[c, r, k, 2:] = (
                    part[:count].mean(),
                    part[:count].mean() / part[count:].mean() - 1,
                    tasks[:, count - 1].sum() / before - 1,
                )
    return found


def hoarding(
    runs: int = 40,
    seed: int = SEED,
    *,
    n: int = 10,
    phases: int = 60,
    hoarders: Sequence[int] = tuple(range(10)),
    progress: bool = False,
) -> pd.DataFrame:
    """Compare DRF, three ways to punish and Karma where some nodes sit on what they do not need.

    Each node is busy in a phase, with unlimited need, or idle, with probability 1/2 each. An honest node asks for
    nothing while it is idle. A hoarder always asks without limit. At the end of a busy phase it releases all; at the
    end of an idle one it holds all or releases all. Only what a busy node holds counts as useful. A node's demand per
    task is uniform in [0.1, 1] for two resources of capacity 1, the same in all phases. Karma guarantees half of an
    equal part and knows nothing of releasing: its pool always returns.

    Parameters
    ----------
    runs, seed
        Repetitions and their root seed.
    n, phases : int
        Nodes and phases of each run.
    hoarders : sequence of int
        Numbers of hoarders, below n.

    Returns
    -------
    DataFrame
        Columns as in :func:`comparison`, with ``hoarders`` for ``defectors`` and "karma" among the mechanisms, and
        before them ``conduct``: what a hoarder does at the end of an idle phase. "holds" comes with both kinds of pool,
        "releases" with "returns" alone, as nothing is held that could stay. Measures: ``useful`` (part of the fuller
        resource that does useful work), ``honest`` and ``hoarder`` (useful tasks of those nodes over what DRF gives
        them where nobody hoards), ``gain`` (hoarder / honest - 1 in the same run), ``switch`` (useful tasks of the last
        hoarder over what it would have had as an honest node, the others unchanged, minus 1: what the temptation is
        worth).

    Notes
    -----
    Cost O(runs * len(hoarders) * phases * n); about half a second a run. Who releases all keeps full credit, so that
    the four rules without Karma agree where hoarders do so.
    """
    as_whole(phases, "phases", 20)  # or somebody may never be busy
    _counts(hoarders, n, "hoarders")
    values = np.stack(
        repeat(
            _hoarded,
            runs,
            seed=seed,
            key=(n, 2),
            progress=progress,
            label="hoarding",
            n=n,
            phases=phases,
            hoarders=hoarders,
        )
    )
    frame = _tidy(
        values,
        {
            "case": range(len(_HOARDERS)),
            "mechanism": _WITH_KARMA,
            "hoarders": list(hoarders),
            "measure": ("useful", "honest", "hoarder", "gain", "switch"),
        },
    )
    cases = pd.DataFrame(_HOARDERS, columns=["conduct", "held"]).loc[frame.pop("case")].reset_index(drop=True)
    return pd.concat([cases, frame], axis=1)


# ----------------------------------------------------------------------------------------------- what an operator sets

#: Steps down, in parts of C_0, at which the dynamic programme is solved; all are multiples of a common unit.
STEPS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
#: Nodes in whose company the grants differ: five need twice as much CPU as memory, five the other way round.
MIXED = ((1.0, 0.5), (0.5, 1.0)) * 5


def operator(
    *,
    steps: Sequence[float] = STEPS,
    ratios: Sequence[float] = (1, 2, 5, 10),
    settings: Sequence[tuple[float, float]] = ((0.75, 0.99), (0.5, 0.99), (0.9, 0.99), (0.75, 0.9)),
    grants: Sequence[str] = ("weighted", "capped"),
    progress: bool = False,
) -> pd.DataFrame:
    """Find the largest worth of holding for which releasing enough in every phase is a best response.

    Worth is what a task held past its phase gives its node, in units of a task granted. Credit is capped at C_0.

    Parameters
    ----------
    steps : sequence of float
        Steps down eps', in parts of C_0, in (0, 1].
    ratios : sequence of float
        eps' / eps: how many compliant phases make up for one that is not.
    settings : sequence of (rho, discount)
        The first is crossed with all ratios, the others go with the first ratio.
    grants : sequence of str
        Repaired grants, with the first setting and ratio.
    progress : bool
        Whether to draw a bar on stderr.

    Returns
    -------
    DataFrame
        ``grant``, ``rho``, ``discount``, ``ratio``, ``step_down``, ``source`` and ``worth``, which is infinite where no
        worth is too large. ``source``: "closed form" on a fine grid of steps (only for "scaled") or "dynamic programme"
        at ``steps``, among ten nodes of two kinds.

    Notes
    -----
    The dynamic programme takes up to half a second for each of its points.
    """
    fine = np.unique(np.concatenate([np.geomspace(min(steps), max(steps), 80).round(6), np.array(steps)]))
    cases = [("scaled", settings[0], ratio) for ratio in ratios]
    cases += [("scaled", setting, ratios[0]) for setting in settings[1:]]
    cases += [(grant, settings[0], ratios[0]) for grant in grants]
    rows = []
    for grant, (rho, discount), ratio in tqdm(cases, desc="operator", disable=not progress, leave=False):
        for source, places in (("closed form", fine), ("dynamic programme", steps)):
            for step in places if grant == "scaled" or source == "dynamic programme" else ():
                rule = CreditRule(
                    rho=rho, step_down=float(step), step_up=float(step) / ratio, credit_cap=1.0, grant=grant
                )  # type: ignore[arg-type]
                worth = (
                    worth_threshold(rule, discount=discount)
                    if source == "closed form"
                    else largest_worth(rule, discount=discount, demands=MIXED)
                )
                rows.append((grant, rho, discount, float(ratio), float(step), source, worth))
    return pd.DataFrame(rows, columns=["grant", "rho", "discount", "ratio", "step_down", "source", "worth"])


def _store(name: str, compute: Callable[..., pd.DataFrame], **arguments: Any) -> Callable[..., None]:
    def run(*, progress: bool = True) -> None:
        frame = compute(progress=progress, **arguments)
        results.save(f"cbdrf/{name}", frame, module=__name__, data=DATA, **arguments)

    return run


#: Full-effort tables kept in data/results, each with the call that computes it (with a bar on stderr or without).
STORED: dict[str, Callable[..., None]] = {
    "cbdrf/comparison": _store("comparison", comparison, runs=40, seed=SEED),
    "cbdrf/hoarding": _store("hoarding", hoarding, runs=40, seed=SEED),
    "cbdrf/operator": _store("operator", operator),
}
