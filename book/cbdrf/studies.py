"""The experiments of the cbDRF paper, and what punishment costs beside other rules.

The paper runs ten phases of one node or two. Where it draws demands at random it states ranges, not a distribution;
here they are uniform, and every run has a random stream of its own. Phases count from 1 in every frame, as in the
paper's figures.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import product
from typing import Any, Literal

import numpy as np
import pandas as pd
from tqdm import tqdm

from book.cbdrf.release import largest_worth, worth_threshold
from book.common.runs import interval, repeat, storing
from fairbook.errors import InvalidInput
from fairbook.mechanisms.credit.cbdrf import cbdrf
from fairbook.mechanisms.credit.cbdrf_run import CreditRun
from fairbook.mechanisms.credit.credit_rule import CreditRule
from fairbook.mechanisms.credit.karma import karma
from fairbook.model.inputs import FloatArray, as_whole

__all__ = [
    "DATA",
    "POOL",
    "RESOURCES",
    "RHO",
    "SEED",
    "STORED",
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
    "drf": CreditRule(step_down=0.0),
    "cbdrf": CreditRule(),
    "weighted": CreditRule(grant="weighted"),
    "capped": CreditRule(grant="capped"),
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
    run = cbdrf(demands, capacities=POOL, released=[[0.5, 1.0], [1.0, 1.0]], rho=RHO)
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
    run = cbdrf(instance(rng, n, T), capacities=POOL, released=released, rho=RHO, **rule)
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
        Fields of :class:`~fairbook.CreditRule` but rho; by default the paper's.

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


def _compared(rng: np.random.Generator, n: int, phases: int, defectors: Sequence[int]) -> FloatArray:
    """Give utilisation and two relative shares: shape (2 pools, rules, defectors, 3)."""
    demands = rng.uniform(0.1, 1.0, (phases, n, 2))
    usual = cbdrf(demands).dominant_shares.mean(axis=0)
    found = np.full((2, len(RULES), len(defectors), 3), np.nan)
    for (h, held), (r, rule), (k, count) in product(
        enumerate(("returns", "stays")), enumerate(RULES.values()), enumerate(defectors)
    ):
        released = np.ones((phases, n))
        released[:, :count] = 0.0
        run = _run(rule, demands, released, held)  # type: ignore[arg-type]
        part = run.dominant_shares.mean(axis=0) / usual
        found[h, r, k, :2] = run.utilisation.max(axis=1).mean(), part[count:].mean()
        if count:
            found[h, r, k, 2] = part[:count].mean()
    return found


def _counts(values: Sequence[int], n: int, argument: str) -> None:
    if not len(values) or not all(0 <= value < n for value in values):
        raise InvalidInput(argument, f"must be whole numbers below the number of nodes, {n}", list(values))


def _measured(keys: dict[str, Sequence[Any]], run: Callable[..., FloatArray], runs: int, **how: Any) -> pd.DataFrame:
    """Repeat a run; give one row per cell of all its axes with mean and 95 % interval."""
    values = np.stack(repeat(run, runs, **how))
    index = pd.MultiIndex.from_product(list(keys.values()), names=list(keys))
    flat = values.reshape(len(values), -1).round(12)  # below that, processors differ
    frame = pd.concat([index.to_frame(index=False), interval(flat)], axis=1)
    return frame.dropna(subset="mean").reset_index(drop=True).assign(runs=len(values))


def comparison(
    runs: int = 40,
    seed: int = SEED,
    *,
    n: int = 10,
    phases: int = 60,
    defectors: Sequence[int] = tuple(range(10)),
    progress: bool = False,
) -> pd.DataFrame:
    """Compare DRF and three ways to punish, some nodes never releasing anything and the others releasing all.

    Demands are uniform in [0.1, 1] for two resources of capacity 1, new in each phase. Credit is capped at C_0; steps
    are a tenth of it.

    Parameters
    ----------
    runs, seed
        Repetitions and their root seed.
    n, phases : int
        Nodes and phases of each run.
    defectors : sequence of int
        Numbers of nodes, below n, that never release anything.

    Returns
    -------
    DataFrame
        One row per ``held`` ("returns", "stays"), ``mechanism`` ("drf", "cbdrf", "weighted", "capped"),
        ``defectors`` and ``measure``, with ``mean``, ``low``, ``high`` (95 % interval of the mean over runs) and
        ``runs``. Measures: ``utilisation`` (part of the fuller resource that is granted, mean over phases; what is
        held from the phase before does not count), ``complying`` and ``defecting`` (dominant share of those nodes, mean
        over phases, over what DRF gives them where all release all).

    Notes
    -----
    Cost O(runs * len(defectors) * phases * n); about half a second a run.
    """
    _counts(defectors, n, "defectors")
    return _measured(
        {
            "held": ("returns", "stays"),
            "mechanism": list(RULES),
            "defectors": list(defectors),
            "measure": ("utilisation", "complying", "defecting"),
        },
        _compared,
        runs,
        seed=seed,
        key=(n, 1),
        progress=progress,
        label="comparison",
        n=n,
        phases=phases,
        defectors=defectors,
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
    """Give the share of honest nodes and what hoarding gains: shape (3 conducts, mechanisms, hoarders, 2)."""
    demands = np.broadcast_to(rng.uniform(0.1, 1.0, (n, 2)), (phases, n, 2))
    busy = rng.random((phases, n)) < 0.5
    useful = cache(partial(_useful, demands, busy))
    usual = useful(0, "drf", *_HOARDERS[0]).sum(axis=0)
    found = np.full((len(_HOARDERS), len(_WITH_KARMA), len(hoarders), 2), np.nan)
    for (r, mechanism), (c, case), (k, count) in product(
        enumerate(_WITH_KARMA), enumerate(_HOARDERS), enumerate(hoarders)
    ):
        seen = _HOARDERS[0] if mechanism == "karma" else case  # Karma does not see what is released
        tasks = useful(count, mechanism, *seen)
        found[c, r, k, 0] = (tasks.sum(axis=0) / usual)[count:].mean()
        if count:
            before = useful(count - 1, mechanism, *seen)
            found[c, r, k, 1] = tasks[:, count - 1].sum() / before[:, count - 1].sum() - 1
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
        "releases" with "returns" alone, as nothing is held that could stay. Measures: ``honest`` (useful tasks of those
        nodes over what DRF gives them where nobody hoards), ``switch`` (useful tasks of the last hoarder over what it
        would have had as an honest node, the others unchanged, minus 1: what the temptation is worth).

    Notes
    -----
    Cost O(runs * len(hoarders) * phases * n); about half a second a run. Who releases all keeps full credit, so that
    the four rules without Karma agree where hoarders do so.
    """
    as_whole(phases, "phases", 20)  # or somebody may never be busy
    _counts(hoarders, n, "hoarders")
    frame = _measured(
        {
            "case": range(len(_HOARDERS)),
            "mechanism": _WITH_KARMA,
            "hoarders": list(hoarders),
            "measure": ("honest", "switch"),
        },
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
    grants: Sequence[str] = ("weighted", "capped"),
    progress: bool = False,
) -> pd.DataFrame:
    """Find the largest worth of holding for which releasing enough in every phase is a best response.

    Worth is what a task held past its phase gives its node, in units of a task granted. Credit is capped at C_0, rho is
    the paper's, a phase later counts 0.99 times as much.

    Parameters
    ----------
    steps : sequence of float
        Steps down eps', in parts of C_0, in (0, 1].
    ratios : sequence of float
        eps' / eps: how many compliant phases make up for one that is not.
    grants : sequence of str
        Repaired grants, with the first ratio.
    progress : bool
        Whether to draw a bar on stderr.

    Returns
    -------
    DataFrame
        ``grant``, ``ratio``, ``step_down``, ``source`` and ``worth``, which is infinite where no worth is too large.
        ``source``: "closed form" on a fine grid of steps (only for "scaled") or "dynamic programme"
        at ``steps``, among ten nodes of two kinds.

    Notes
    -----
    The dynamic programme takes up to half a second for each of its points.
    """
    fine = np.unique(np.concatenate([np.geomspace(min(steps), max(steps), 80).round(6), np.array(steps)]))
    cases = [*(("scaled", ratio) for ratio in ratios), *((grant, ratios[0]) for grant in grants)]
    rows = []
    for grant, ratio in tqdm(cases, desc="operator", disable=not progress, leave=False):
        for source, places in (("closed form", fine), ("dynamic programme", steps)):
            for step in places if grant == "scaled" or source == "dynamic programme" else ():
                rule = CreditRule(rho=RHO, step_down=float(step), step_up=float(step) / ratio, grant=grant)  # type: ignore[arg-type]
                worth = worth_threshold(rule) if source == "closed form" else largest_worth(rule, demands=MIXED)
                rows.append((grant, float(ratio), float(step), source, worth))
    return pd.DataFrame(rows, columns=["grant", "ratio", "step_down", "source", "worth"])


_store = partial(storing, module=__name__, data=DATA)
#: Full-effort tables kept in data/results, each with the call that computes it (with a bar on stderr or without).
STORED: dict[str, Callable[..., None]] = {
    "cbdrf/comparison": _store("cbdrf/comparison", comparison, seed=SEED, runs=40),
    "cbdrf/hoarding": _store("cbdrf/hoarding", hoarding, seed=SEED, runs=40),
    "cbdrf/operator": _store("cbdrf/operator", operator),
}
