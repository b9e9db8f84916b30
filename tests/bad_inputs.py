"""One table of bad inputs: every public entry point x each of its arguments x every kind of bad value that applies.

An :class:`Entry` says how to call it well, and of what *sort* each argument is. ``BAD`` in ``bad_values.py`` holds for
each sort the kinds of values that must be refused by name, ``SAME`` those that look odd and mean the same. ``EXEMPT``
in ``bad_inputs_exempt.py`` lists, with a reason, where a kind has another right outcome. Hypothesis would draw some of
the pairs; all are tried.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd

import fairbook as fb
from book.common import oracle_drf as drf_oracle, results
from book.dmfa_srq import oracle as srq_oracle
from fairbook import metrics
from fairbook.mechanisms.pool.dmfa_srq import exact_levels
from tests.bad_values import BAD, SAME

D = [[1.0, 4.0], [3.0, 1.0], [2.0, 2.0]]
SHARES = [[0.1, 0.4], [0.3, 0.1], [0.2, 0.2]]
NAMES = ["ann", "bob", "cyd"]
MACHINES = [[8.0, 32.0], [32.0, 64.0]]


def _frame(values: Any) -> pd.DataFrame:
    return pd.DataFrame(values, index=NAMES[: len(values)], columns=["cpu", "memory"][: len(values[0])])


@dataclass(frozen=True)
class Entry:
    """A public callable, arguments with which it works, and the sort of each argument that is tried."""

    name: str
    call: Callable[..., Any]
    good: dict[str, Any]
    sorts: dict[str, str]
    named: dict[str, str] = field(default_factory=dict)  # how the error calls an argument, where it is another name


class Row(NamedTuple):
    """One line of the table."""

    entry: Entry
    argument: str
    kind: str
    make: Callable[[Any], Any]
    refused: bool


def rows(entry: Entry) -> Iterator[Row]:
    """List the rows of an entry point."""
    for argument, sort in entry.sorts.items():
        for kind, make in BAD[sort].items():
            yield Row(entry, argument, kind, make, True)
        for kind, make in SAME.get(sort, {}).items():
            yield Row(entry, argument, kind, make, False)


# ------------------------------------------------------------------------------------------------ entry points


def _dynamic() -> fb.DynamicAllocation:
    return fb.dmfa_srq(_frame(SHARES), weights=[1.0, 1.0, 1.0])


def _srq() -> fb.DmfaSrq:
    run = fb.DmfaSrq(["cpu", "memory"])
    run.arrive("ann", [0.5, 1.0], 1.0)
    return run


def _cbdrf() -> fb.CbDrf:
    run = fb.CbDrf(NAMES, {"cpu": 9.0, "memory": 18.0})
    run.phase(D)
    return run


def _pool() -> fb.VirtualClusterPool:
    pool = fb.VirtualClusterPool([60.0, 45.0])
    pool.arrive("ann", 40, 0.5)
    return pool


def _tv() -> fb.TvDrfRun:
    return fb.tv_drf(**TV)


DRF = {"demands": D, "weights": [1.0, 2.0, 3.0], "capacities": [9.0, 18.0], "max_tasks": [5.0, 6.0, 7.0]}
MINIMA = {"min_tasks": [1.0, 0.0, 0.5]}
DRF_SORTS = {"demands": "demands", "weights": "positive", "capacities": "positive", "max_tasks": "bounds"}
SRQ, SRQ_SORTS = {"demands": SHARES, "weights": [1.0, 2.0, 3.0]}, {"demands": "demands", "weights": "contributed"}
PLACED = {"demands": D, "machines": MACHINES, "machine_counts": [2, 1], "max_tasks": [5.0, 6.0, 7.0]}
PLACED_SORTS = {
    "demands": "demands",
    "machines": "machines",
    "machine_counts": "numbers of machines",
    "max_tasks": "bounds",
}
TV = {
    "demands": [SHARES, SHARES],
    "tasks": [[2.0, 3.0, 1.0], [1.0, 2.0, 2.0]],
    "machines": [[1.0, 2.0], [2.0, 1.0]],
    "contributions": [[0.5, 0.5], [0.25, 0.25], [0.25, 0.25]],
}
PHASED = {"demands": [D, D], "capacities": [9.0, 18.0]}
VMS = {"max_vms": [40.0, 30.0, 25.0], "tolerance": [0.5, 0.1, 0.6], "capacities": [60.0, 45.0]}
SEEDED = {"seed": "a count"}
TASKS = [1.0, 2.0, 0.5]
MEASURED = {"tasks": TASKS, "demands": D, "capacities": [9.0, 18.0]}
MEASURED_SORTS = {"tasks": "amounts", "demands": "amounts of users", "capacities": "positive"}

ENTRIES = [
    *(
        Entry(
            row.name,
            row.function,
            DRF | {name: one.values[0] for name, one in row.readings.items()} | (MINIMA if row.name == "drf" else {}),
            DRF_SORTS | dict.fromkeys(row.readings, "a choice") | dict.fromkeys(row.takes & MINIMA.keys(), "amounts"),
        )
        for row in fb.mechanisms.registry.values()
        if row.kind == "pool"
    ),
    Entry(
        "drf_by_task (running)",
        fb.drf_by_task,
        {"demands": D, "capacities": [90.0, 180.0], "running": [1, 0, 2]},
        {"demands": "demands", "capacities": "positive", "running": "counts"},
    ),
    Entry("dmfa_srq", fb.dmfa_srq, SRQ, SRQ_SORTS),
    Entry("static_optimum", fb.static_optimum, SRQ, SRQ_SORTS),
    Entry("dynamic_drf", fb.dynamic_drf, {"demands": SHARES}, {"demands": "demands"}),
    Entry(
        "drfh",
        fb.drfh,
        PLACED | {"weights": [1.0, 2.0, 3.0], "method": "best_fit", "progress": False},
        PLACED_SORTS | {"weights": "positive", "method": "a choice", "progress": "a flag"},
    ),
    Entry(
        "drfh (fluid)",
        lambda **given: fb.drfh(**given, method="fluid"),
        PLACED | {"weights": [1.0, 2.0, 3.0], "progress": False},
        PLACED_SORTS | {"weights": "positive", "progress": "a flag"},
    ),
    Entry(
        "per_server_drf",
        fb.per_server_drf,
        PLACED | {"weights": [1.0, 2.0, 3.0], "progress": False},
        PLACED_SORTS | {"weights": "positive", "progress": "a flag"},
    ),
    Entry(
        "gdrf",
        fb.gdrf,
        PLACED
        | {
            "seed": 1,
            "match": "nearest",
            "least": "amount",
            "machine_type": "share",
            "choice": "fairness",
            "queue": "rounds",
            "progress": False,
        },
        PLACED_SORTS
        | SEEDED
        | {"progress": "a flag"}
        | dict.fromkeys(("match", "least", "machine_type", "choice", "queue"), "a choice"),
    ),
    Entry(
        "mdrf",
        fb.mdrf,
        PLACED | {"seed": 1, "reading": "entropy", "progress": False},
        PLACED_SORTS | SEEDED | {"reading": "a choice", "progress": "a flag"},
    ),
    Entry(
        "cbdrf",
        fb.cbdrf,
        PHASED
        | {
            "released": [[1.0, 0.5, 0.2], [1.0, 1.0, 0.0]],
            "rho": 0.75,
            "step_up": 0.1,
            "step_down": 0.1,
            "initial_credit": 1.0,
            "credit_cap": 2.0,
            "credit_floor": 0.0,
            "held": "returns",
            "grant": "scaled",
            "penalty": "step",
            "ratio": "least",
        },
        {
            "demands": "phases",
            "capacities": "positive",
            "released": "amounts",
            **dict.fromkeys(("rho", "step_up", "step_down", "initial_credit", "credit_floor"), "a bounded number"),
            "credit_cap": "an optional number",
            **dict.fromkeys(("held", "grant", "penalty", "ratio"), "a choice"),
        },
    ),
    Entry(
        "grant_tasks",
        fb.grant_tasks,
        {"demands": D, "credit_factor": [0.2, 0.3, 0.5], "capacities": [9.0, 18.0], "grant": "scaled"},
        {"demands": "demands", "credit_factor": "amounts", "capacities": "positive", "grant": "a choice"},
    ),
    Entry(
        "CreditRule",
        fb.CreditRule,
        {
            "rho": 0.75,
            "step_up": 0.1,
            "step_down": 0.1,
            "initial_credit": 1.0,
            "credit_cap": 2.0,
            "credit_floor": 0.0,
            "held": "returns",
            "grant": "scaled",
            "penalty": "step",
            "ratio": "least",
        },
        {
            **dict.fromkeys(("rho", "step_up", "step_down", "initial_credit", "credit_floor"), "a bounded number"),
            "credit_cap": "an optional number",
            **dict.fromkeys(("held", "grant", "penalty", "ratio"), "a choice"),
        },
    ),
    Entry(
        "CbDrf", fb.CbDrf, {"users": NAMES, "capacities": [9.0, 18.0]}, {"users": "names", "capacities": "own positive"}
    ),
    Entry(
        "CbDrf.phase",
        lambda demands: fb.CbDrf(NAMES, {"cpu": 9.0, "memory": 18.0}).phase(demands),
        {"demands": D},
        {"demands": "amounts of users"},
    ),
    Entry(
        "CbDrf.release",
        lambda ratios, rho: _cbdrf().release(ratios, rho=rho),
        {"ratios": [1.0, 0.5, 0.2], "rho": [0.75, 0.5, 0.5]},
        {"ratios": "amounts", "rho": "amounts"},
    ),
    Entry(
        "karma",
        fb.karma,
        PHASED | {"max_tasks": [[5.0, 6.0, 7.0]] * 2, "alpha": 0.5, "initial_credit": 2.0},
        {
            "demands": "phases",
            "capacities": "positive",
            "max_tasks": "bounds",
            "alpha": "a bounded number",
            "initial_credit": "an optional number",
        },
    ),
    Entry(
        "karma_phase",
        fb.karma_phase,
        {
            "demands": D,
            "credit": [1.0, 2.0, 3.0],
            "capacities": [9.0, 18.0],
            "max_tasks": [5.0, 6.0, 7.0],
            "alpha": 0.5,
        },
        {
            "demands": "amounts of users",
            "credit": "amounts",
            "capacities": "positive",
            "max_tasks": "bounds",
            "alpha": "a bounded number",
        },
    ),
    Entry(
        "Karma",
        fb.Karma,
        {"users": NAMES, "capacities": [9.0, 18.0], "alpha": 0.5, "initial_credit": 1000.0},
        {
            "users": "names",
            "capacities": "own positive",
            "alpha": "a bounded number",
            "initial_credit": "a bounded number",
        },
    ),
    Entry(
        "Karma.phase",
        lambda **given: fb.Karma(NAMES, {"cpu": 9.0, "memory": 18.0}).phase(**given),
        {"demands": D, "max_tasks": [5.0, 6.0, 7.0]},
        {"demands": "amounts of users", "max_tasks": "bounds"},
    ),
    Entry("DmfaSrq", fb.DmfaSrq, {"resources": ["cpu", "memory"]}, {"resources": "names"}),
    Entry(
        "DmfaSrq.arrive",
        lambda user, demand, weight: _srq().arrive(user, demand, weight),
        {"user": "bob", "demand": [0.5, 0.25], "weight": 1.0},
        {"user": "a new user", "demand": "positive or zero", "weight": "a bounded number"},
    ),
    Entry(
        "DmfaSrq.depart",
        lambda user, contribution: _srq().depart(user, contribution),
        {"user": "ann", "contribution": "leaves"},
        {"user": "a user", "contribution": "a choice"},
    ),
    Entry(
        "tv_drf",
        fb.tv_drf,
        TV
        | {
            "method": "heuristic",
            "alone": "bundles",
            "unserved": "expires",
            "weights": [1.0, 2.0, 3.0],
            "memory": True,
            "placement": False,
        },
        {
            "demands": "phases",
            "tasks": "bounds",
            "machines": "machines",
            "contributions": "amounts",
            "weights": "positive",
            "memory": "a flag",
            "placement": "a flag",
            **dict.fromkeys(("method", "alone", "unserved"), "a choice"),
        },
    ),
    Entry(
        "virtual_cluster",
        fb.virtual_cluster,
        VMS
        | {
            "method": "exact",
            "whole": True,
            "node_limit": 1000,
            "seed": 0,
            "load": "relative",
            "fit": "least_wanted",
            "general": "greedy",
            "small": 8,
            "top_up": False,
            "engine": "fast",
        },
        {
            "max_vms": "positive",
            "tolerance": "amounts",
            "capacities": "own positive",
            "whole": "a flag",
            "node_limit": "a count",
            "seed": "a count",
            "small": "a count",
            "top_up": "a flag",
            **dict.fromkeys(("method", "load", "fit", "general", "engine"), "a choice"),
        },
    ),
    Entry(
        "VirtualClusterPool",
        fb.VirtualClusterPool,
        {"capacities": [60.0, 45.0], "give": "gap", "take": "surplus", "pick": "least_wanted"},
        {"capacities": "own positive", **dict.fromkeys(("give", "take", "pick"), "a choice")},
    ),
    Entry(
        "VirtualClusterPool.arrive",
        lambda user, max_vms, tolerance: _pool().arrive(user, max_vms, tolerance),
        {"user": "bob", "max_vms": 30, "tolerance": 0.5},
        {"user": "a new user", "max_vms": "a count", "tolerance": "a bounded number"},
    ),
    Entry("VirtualClusterPool.depart", lambda user: _pool().depart(user), {"user": "ann"}, {"user": "a user"}),
    # what the results can be asked
    Entry("Allocation.explain", lambda user: fb.drf(_frame(D)).explain(user), {"user": "ann"}, {"user": "a user"}),
    Entry("DynamicAllocation.explain", lambda user: _dynamic().explain(user), {"user": "ann"}, {"user": "a user"}),
    *(
        Entry(
            f"DynamicAllocation.{name}",
            lambda k, name=name: getattr(_dynamic(), name)(k),
            {"k": 2},
            {"k": "an optional count"},
        )
        for name in (
            "levels_at",
            "raised_at",
            "shares_at",
            "tasks_at",
            "until",
            "use_at",
        )
    ),
    Entry("DynamicAllocation.at", lambda k: _dynamic().at(k), {"k": 2}, {"k": "an optional count"}),
    Entry("CreditRun.at", lambda phase: fb.cbdrf(**PHASED).at(phase), {"phase": 1}, {"phase": "a count"}),
    Entry(
        "CreditRun.explain",
        lambda user, phase: fb.cbdrf(**PHASED).explain(user, phase),
        {"user": 1, "phase": 1},
        {"user": "a user", "phase": "an optional count"},
    ),
    Entry("TvDrfRun.at", lambda period: _tv().at(period), {"period": 1}, {"period": "a count"}),
    Entry(
        "TvDrfRun.explain",
        lambda user, period: _tv().explain(user, period),
        {"user": 1, "period": 1},
        {"user": "a user", "period": "an optional count"},
    ),
    Entry(
        "FluidPlacement.explain",
        lambda user: fb.drfh(_frame(D), MACHINES, method="fluid").explain(user),
        {"user": "ann"},
        {"user": "a user"},
    ),
    Entry(
        "Placement.explain",
        lambda user: fb.gdrf(_frame(D), MACHINES).explain(user),
        {"user": "ann"},
        {"user": "a user"},
    ),
    Entry("Placement.room", lambda user: fb.gdrf(_frame(D), MACHINES).room(user), {"user": "ann"}, {"user": "a user"}),
    Entry(
        "VirtualClusters.explain", lambda user: fb.virtual_cluster(**VMS).explain(user), {"user": 1}, {"user": "a user"}
    ),
    Entry(
        "VirtualClusters.cost",
        lambda high, low: fb.virtual_cluster(**VMS).cost(high, low),
        {"high": 2.0, "low": 1.0},
        {"high": "a bounded number", "low": "a bounded number"},
    ),
    Entry("KarmaRun.at", lambda phase: fb.karma(**PHASED).at(phase), {"phase": 1}, {"phase": "a count"}),
    Entry(
        "KarmaRun.explain",
        lambda user, phase: fb.karma(**PHASED).explain(user, phase),
        {"user": 1, "phase": 1},
        {"user": "a user", "phase": "an optional count"},
    ),
    *(
        Entry(
            f"{name}.violations",
            lambda rtol, of=of: of().violations(rtol),
            {"rtol": 1e-7},
            {"rtol": "a bounded number"},
        )
        for name, of in {
            "Allocation": lambda: fb.drf(D),
            "DynamicAllocation": _dynamic,
            "CreditRun": lambda: fb.cbdrf(**PHASED),
            "TvDrfRun": _tv,
            "Placement": lambda: fb.gdrf(_frame(D), MACHINES),
            "FluidPlacement": lambda: fb.drfh(D, MACHINES, method="fluid"),
            "VirtualClusters": lambda: fb.virtual_cluster(**VMS),
            "KarmaRun": lambda: fb.karma(**PHASED),
        }.items()
    ),
    # measures
    Entry("metrics.dominant_shares", metrics.dominant_shares, MEASURED, MEASURED_SORTS),
    Entry("metrics.utilisation", metrics.utilisation, MEASURED, MEASURED_SORTS),
    Entry("metrics.jain_index", metrics.jain_index, {"values": TASKS}, {"values": "own amounts"}),
    Entry("metrics.exchange_rates", metrics.exchange_rates, {"demands": D}, {"demands": "amounts of users"}),
    Entry(
        "metrics.envy_matrix",
        metrics.envy_matrix,
        {"tasks": TASKS, "demands": D, "weights": [1.0, 2.0, 3.0]},
        {"tasks": "amounts", "demands": "amounts of users", "weights": "positive"},
    ),
    Entry(
        "metrics.against_now",
        metrics.against_now,
        DRF | {"held": [[2.0, 3.0], [0.0, 1.0], [4.0, 4.0]], "fair": [0.5, 0.25, 0.5]},
        DRF_SORTS | {"demands": "amounts of users", "held": "amounts of users", "fair": "amounts"},
    ),
    # judges
    Entry("judge lp_levels", srq_oracle.lp_levels, SRQ, SRQ_SORTS),
    Entry("judge decimal_levels", srq_oracle.decimal_levels, SRQ, SRQ_SORTS),
    Entry("judge leximin_tasks", drf_oracle.leximin_tasks, DRF, DRF_SORTS),
    *(
        Entry(f"judge {name} in fractions", call, SRQ, SRQ_SORTS)
        for name, call in (("dmfa_srq", exact_levels), ("oracle of dmfa_srq", srq_oracle.exact_levels))
    ),
    Entry("judge drf in fractions", drf_oracle.exact_tasks, DRF, DRF_SORTS),
    # tables and stored results
    Entry("results.load", results.load, {"name": "dmfa_srq/ledger", "check": False}, {"name": "a name of a result"}),
    Entry(
        "results.load_facts",
        results.load_facts,
        {"name": "dmfa_srq/ledger", "check": False},
        {"name": "a name of a result"},
    ),
    Entry("results.is_fresh", results.is_fresh, {"name": "dmfa_srq/ledger"}, {"name": "a name of a result"}),
]
