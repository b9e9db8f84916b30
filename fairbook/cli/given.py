"""What the tables and options of ``fairbook allocate`` say, as a mechanism takes it, and what it makes of that."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import fairbook
from fairbook.cli.common import NUMBER, Refused, few, note, progress, shown
from fairbook.cli.options import choose, settings
from fairbook.cli.tables import (
    NO_WEIGHT,
    Machines,
    Users,
    exported,
    is_export,
    read_content,
    read_machines,
    read_parts,
    read_users,
)
from fairbook.errors import InvalidInput
from fairbook.mechanisms import Mechanism
from fairbook.model.inputs import Named, as_capacities, check_positive


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

    def run(self, **changes: Any) -> tuple[Any, pd.DataFrame]:
        """Run the mechanism, with some arguments changed; give its result, and a row for each user and period.

        Users who arrive bring what there is: their demands are parts of the pool, their weights sum to 1.
        """
        arguments = {**self.arguments, **self.terms, **changes}
        arrive = self.rule.kind == "arrivals"
        if arrive:
            pool = arguments.pop("capacities")
            as_capacities(pool, len(pool), tuple(pool.index))
            arguments["demands"] = arguments["demands"] / pool
            if "weights" in self.rule.takes:
                weights = arguments.get("weights", pd.Series(1.0, arguments["demands"].index))
                check_positive(weights.to_numpy(), "weights")
                arguments["weights"] = weights / weights.sum()
        result = getattr(fairbook, self.rule.name)(**arguments)
        rows = result.to_frame()
        if arrive:
            rows[self.use] *= pool.to_numpy()
        if self.users.period:
            rows.index = self.users.grid
        return result, rows

    @property
    def use(self) -> list[str]:
        """Columns of the rows that say what is in use."""
        return [f"use_{name}" for name in self.users.resources]

    def in_the_files(self, error: InvalidInput) -> Refused:
        """Say where an entry stands that the library refused, or which option it is."""
        argument, index, source = error.argument, error.index, self.machines and self.machines.table.source
        place = self.users.place("max_tasks" if argument == "tasks" else argument, index)
        if argument in self.terms:
            place = f"--set {argument}"
        elif argument == "machines" and index:
            column = f", column {self.users.resources[index[1]]!r}" if len(index) > 1 else ""
            place = f"{source}, machine {self.arguments['machines'].index[index[0]]!r}{column}:"
        elif argument == "capacities" and index:
            place = f"{source}, capacity of" if source else "--capacity"
            place += f" {self.pool.index[index[0]]}"
        elif argument == "contributions":
            place = f"{source}: what {self.users.names[index[0]]!r} brought" if index else f"{source}: the parts"
        said = error.complaint.replace("whole=False", "--set whole=false is given")
        said = f"{NO_WEIGHT}, got 0.0" if argument == "weights" and error.value == 0 else said
        return Refused(str(error) if place is None else f"{place} {said}")


def _kind_of(users: Users, machines: Machines | None) -> str:
    """Say what is given, in the words of ``DEFAULTS``."""
    if {"max_vms", "tolerance"} <= users.columns.keys():
        return "clusters"
    if users.period is None:
        return "pool" if machines is None else "machines" if users.table.held is None else "export"
    return "periods" if machines is not None else "released" if "released" in users.columns else "phases"


def read_tables(options: argparse.Namespace) -> tuple[Users, Machines | None]:
    """Read the users, and the machines where some are given."""
    machines = None if options.machines is None else read_content(options.machines)
    table = read_content(options.table)
    if options.users and not is_export(table[1]):
        raise Refused("--users goes with an export; in a CSV file weight, max_tasks and min_tasks are columns")
    users = exported(table, machines, options) if is_export(table[1]) else read_users(*table, options.user_column)
    found = users.table.machines
    return users, read_machines(*machines, users, options) if machines and found is None else found


def make(options: argparse.Namespace, users: Users, machines: Machines | None) -> Given:
    """Give a mechanism and what it takes."""
    rule, reason = choose(options, _kind_of(users, machines))
    takes, names = set(rule.takes), pd.Index(users.names, dtype=object)
    pool = _pool(rule, users, machines, options.capacity)
    offered: dict[str, Any] = {"progress": progress(options), "placement": options.placement, "capacities": pool}
    for argument, column in users.columns.items():
        used = argument in takes or (argument == "max_tasks" and "tasks" in takes)
        if used and not (argument == "weights" and users.period):
            values = users.spread(column, 1.0 if argument == "released" else 0.0, unbounded=argument == "max_tasks")
            offered[argument] = values if users.period else pd.Series(values, names)
        elif argument != "running":
            note(f"{rule.name} does not use column {column!r}")
    if "demands" in takes:
        demands = users.demands()
        nothing = ~demands.any(axis=-1)
        if "max_tasks" in takes and not users.period and nothing.any() and not nothing.all():
            demands[nothing] = demands[~nothing][0]  # any: who asks for nothing has no task, and so no use
            offered["max_tasks"] = offered.get("max_tasks", pd.Series(np.inf, names)).mask(nothing, 0.0)
        labels = tuple(users.names), tuple(users.resources)
        offered["demands"] = Named(demands, *labels) if users.period else pd.DataFrame(demands, *labels)
        offered["tasks"] = offered.get("max_tasks", np.where(demands.any(axis=-1), np.inf, 0.0))
    if machines is not None and "machines" in takes:
        rows = pd.DataFrame(machines.capacities, pd.Index(machines.names, dtype=object), users.resources)
        offered |= {"machines": rows, "machine_counts": machines.counts}
        if "contributions" in takes:
            offered["machines"] = rows.loc[rows.index.repeat(machines.counts)].set_axis(machines.singly)
            offered["contributions"] = read_parts(users, machines).repeat(machines.counts, axis=1)
    elif machines is not None and rule.kind in ("pool", "arrivals") and users.table.held is None:
        note(f"{rule.name} takes the machines as one pool; what it gives may not fit on them")
    wanted = takes | {"capacities"} if rule.kind == "arrivals" else takes
    arguments = {name: value for name, value in offered.items() if name in wanted}
    return Given(rule, reason, users, machines, arguments, settings(rule, options.set), pool)


def _pool(rule: Mechanism, users: Users, machines: Machines | None, pairs: list[str]) -> pd.Series:
    """Give how much there is of each resource, or on each cluster."""
    resources = users.resources  # none where clusters hold virtual machines
    if machines is not None:
        sizes = machines.capacities
        if resources:
            return pd.Series(np.asarray(machines.counts) @ sizes, resources)
        return pd.Series(sizes[:, 0].repeat(machines.counts), machines.singly)
    given: dict[str, float] = {}
    for pair in pairs:
        name, sign, text = pair.rpartition("=")
        amount = float(text) if NUMBER.fullmatch(text) else users.quantity(name, text)
        if not (sign and name and name.isprintable()) or amount is None:
            form = "a plain number, in one unit, or such as 16Gi where the column has such"
            raise Refused(f"--capacity must be given as name=number, got {shown(pair)}; {form}")
        if name in given:
            raise Refused(f"--capacity gives {shown(name)} twice")
        if resources and name not in resources:
            raise Refused(f"--capacity names {shown(name)}, none of the resources {few(resources)}")
        given[name] = amount
    if rule.kind == "arrivals" and not given and "weights" in users.columns and "weights" in rule.takes:
        given = dict.fromkeys(resources, math.fsum(users.spread(users.columns["weights"], 1.0)))
    missing = [name for name in resources or (given or ["CLUSTER"]) if name not in given]
    if missing:
        needed = " ".join(f"{name}=NUMBER" for name in missing[:9]) + (" ..." if len(missing) > 9 else "")
        raise Refused(
            f"{users.table.source}: how much is there of {few(missing)}? Say --capacity {needed}, or --machines FILE; "
            "leave out a column that is no resource (weights stand in a column 'weight')"
        )
    return pd.Series(given)[resources or list(given)]
