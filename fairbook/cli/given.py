"""What the tables and options of ``fairbook allocate`` say, as a mechanism takes it, and what it makes of that."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

import fairbook
from fairbook.cli.common import NUMBER, Refused, few, note, progress, shown, written
from fairbook.cli.options import choose, settings
from fairbook.cli.tables import Machines, Users, read_machines, read_parts
from fairbook.errors import InvalidInput
from fairbook.mechanisms import Mechanism
from fairbook.model.inputs import as_capacities, as_demands, check_positive


@dataclass(frozen=True)
class Given:
    """A mechanism and all that it takes."""

    rule: Mechanism
    reason: str  # why it is this one
    users: Users
    machines: Machines | None
    arguments: dict[str, Any]
    terms: dict[str, Any]
    pool: pd.Series  # how much there is, in the unit of the table, by resource or by cluster

    @property
    def arrive(self) -> bool:
        """Whether users arrive and bring what there is; demands are then divided by the pool."""
        return self.rule.kind == "arrivals"

    def run(self, **changes: Any) -> tuple[Any, pd.DataFrame]:
        """Run the mechanism, with some arguments changed; give its result, and a row for each user and period."""
        arguments = {**self.arguments, **self.terms, **changes}
        pool: Any = arguments["capacities"] if self.arrive else None
        if self.arrive:  # what is refused is what the file says, so it is checked before division
            demands = arguments["demands"]
            as_capacities(arguments.pop("capacities"), len(pool))
            as_demands(demands)
            arguments["demands"] = demands / pool
            if "weights" in self.rule.takes:
                weights = arguments.get("weights", pd.Series(1.0, demands.index))
                check_positive(weights.to_numpy(), "weights")
                arguments["weights"] = weights / weights.sum()
        result = getattr(fairbook, self.rule.name)(**arguments)
        if self.users.period:
            result = replace(result, named_users=tuple(self.users.names), named_resources=tuple(self.users.resources))
        rows = result.to_frame()
        if self.arrive:
            rows[self.use] *= pool.to_numpy()
        if self.users.period:
            index = [self.users.periods, self.users.names]
            rows.index = pd.MultiIndex.from_product(index, names=[self.users.period, "user"])
        return result, rows

    @property
    def use(self) -> list[str]:
        """Columns of the rows that say what is in use."""
        return [f"use_{name}" for name in self.users.resources]

    @cached_property
    def shapes(self) -> dict[tuple[float, ...], int]:
        """Shapes of machines, and the first line of each."""
        found: dict[tuple[float, ...], int] = {}
        for line, shape in enumerate(map(tuple, self.arguments["machines"].to_numpy().tolist())):
            found.setdefault(shape, line)
        return found

    def in_the_files(self, error: InvalidInput) -> Refused:
        """Say where an entry stands that the library refused, or which option it is."""
        argument, index, machines = error.argument, error.index, self.machines
        place = self.users.place("max_tasks" if argument == "tasks" else argument, index)
        if argument in {*self.terms, "placement"}:
            place = "--placement" if argument == "placement" else f"--set {argument}"
        elif argument in ("machines", "capacities") and index and machines is not None:
            lines = np.arange(len(machines.counts))
            line = (lines if self.rule.kind == "machines" else lines.repeat(machines.counts))[index[0]]
            place = machines.place(line, index[1:] if argument == "machines" else (0,))
        elif argument == "capacities" and index:
            place = f"--capacity {self.pool.index[index[0]]}"
            if self.users.resources:
                return Refused(f"{place} {error.complaint}; or leave out column and resource")
        elif argument == "contributions" and index:
            return Refused(f"{self.users.names[index[0]]!r} has tasks in {self.users.table.source} and no machine")
        said = error.complaint.replace("whole=False", "--set whole=false is given")
        return Refused(str(error) if place is None else f"{place} {said}")


def kind_of(users: Users, options: argparse.Namespace) -> str:
    """Say what is given, in the words of ``DEFAULTS``."""
    if {"max_vms", "tolerance"} <= users.columns.keys():
        return "clusters"
    there = options.machines or (users.table.machines and not options.capacity)
    if users.period is None:
        return ("export" if users.table.held is not None else "machines") if there else "pool"
    return "periods" if options.machines else "released" if "released" in users.columns else "phases"


def make(options: argparse.Namespace, users: Users, known: Machines | None = None) -> Given:
    """Give a mechanism and what it takes; ``known`` are the machines, where they have been read and told about."""
    rule, reason = choose(options, kind_of(users, options))
    takes, machines = set(rule.takes), known
    if known is None and (options.machines is not None or (users.table.machines and not options.capacity)):
        machines = read_machines(options.machines, users)
    pool = _pool(rule, users, machines, options.capacity)
    offered: dict[str, Any] = {"progress": progress(options), "placement": options.placement, "capacities": pool}
    names = pd.Index(users.names, dtype=object)
    for argument, column in users.columns.items():
        if argument == "running":
            continue
        used = argument in takes or (argument == "max_tasks" and "tasks" in takes)
        if not used or (argument == "weights" and users.period):
            note(f"{rule.name} does not use column {column!r}")
            continue
        values = users.spread(column, 1.0 if argument == "released" else 0.0, unbounded=argument == "max_tasks")
        offered[argument] = values if users.period else pd.Series(values, names)
    if "demands" in takes:
        demands = users.demands()
        if machines is not None and known is None and (small := _too_large(users, demands, machines)):
            note(f"{machines.table.source}: no machine is large enough for a task of {few(small)}")
        offered["demands"] = demands if users.period else pd.DataFrame(demands, names, users.resources)
        offered["tasks"] = offered.get("max_tasks", np.where(demands.any(axis=-1), np.inf, 0.0))
    if machines is not None and "machines" in takes:
        rows = pd.DataFrame(machines.capacities, pd.Index(machines.names, dtype=object), users.resources)
        offered |= {"machines": rows, "machine_counts": machines.counts}
        if "contributions" in takes:
            offered["machines"] = rows.loc[rows.index.repeat(machines.counts)].set_axis(machines.singly)
            offered["contributions"] = read_parts(users, machines).repeat(machines.counts, axis=1)
        elif machines.others and known is None:
            note(f"{machines.table.source}: no task needs column {', '.join(map(repr, machines.others))}; left out")
    elif machines is not None and users.resources and not users.period and users.table.held is None:
        note(f"{rule.name} takes the machines as one pool; what it gives may not fit on them")
    wanted = takes | {"capacities"} if rule.kind == "arrivals" else takes
    arguments = {name: value for name, value in offered.items() if name in wanted}
    return Given(rule, reason, users, machines, arguments, settings(rule, options.set), pool)


def _too_large(users: Users, demands: Any, machines: Machines) -> list[str]:
    """Give the users who have tasks that fit no machine, even an empty one."""
    fits = np.zeros(demands.shape[:-1], dtype=bool)
    for kind in np.unique(machines.capacities, axis=0):
        fits |= (demands <= kind).all(axis=-1)
    return [users.names[i] for i in np.flatnonzero(~fits.reshape(-1, len(users.names)).all(axis=0))]


def _pool(rule: Mechanism, users: Users, machines: Machines | None, pairs: list[str]) -> pd.Series:
    """Give how much there is of each resource, or on each cluster."""
    resources = users.resources  # none where clusters hold virtual machines
    if machines is not None:
        sizes = machines.capacities.repeat(machines.counts, axis=0)
        return pd.Series(sizes.sum(axis=0), resources) if resources else pd.Series(sizes[:, 0], machines.singly)
    given: dict[str, float] = {}
    for pair in pairs:
        name, sign, text = pair.rpartition("=")
        if not (sign and name and name.isprintable()) or not NUMBER.fullmatch(text):
            raise Refused(f"--capacity must be given as name=number, got {shown(pair)}{written(text)}")
        if name in given:
            raise Refused(f"--capacity names {shown(name)} twice")
        if resources and name not in resources:
            why = "; the column of this name has another meaning" if name in users.table.columns else ""
            why += "; blanks stand between the pairs" if "=" in name else ""
            raise Refused(f"--capacity names {shown(name)}, none of the resources {few(resources)}{why}")
        given[name] = float(text)
    if rule.kind == "arrivals" and not given and "weights" in users.columns and "weights" in rule.takes:
        given = dict.fromkeys(resources, math.fsum(users.spread(users.columns["weights"], 1.0)))
    missing = [name for name in resources or (given or ["CLUSTER"]) if name not in given]
    if missing:
        other = (
            "leave out a column that is no resource (weights stand in a column 'weight')"
            if users.table.held is None
            else "no machine in this export counts (`kubectl get nodes,pods`, or `sinfo --json` as --machines)"
        )
        needed = " ".join(f"{name}=NUMBER" for name in missing[:9]) + (" ..." if len(missing) > 9 else "")
        raise Refused(
            f"{users.table.source}: how much is there of {few(missing)}? Say --capacity {needed}, or "
            f"--machines FILE; {other}"
        )
    return pd.Series(given)[resources or list(given)]
