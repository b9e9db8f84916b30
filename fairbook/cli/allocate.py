"""``fairbook allocate``: a table of users, and who gets what by the mechanism that fits what is given."""

from __future__ import annotations

import argparse
import math
import re
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import fairbook
from fairbook.cli import explain
from fairbook.cli.against import against_now, against_other
from fairbook.cli.common import NUMBER, Refused, few, note, progress, shown, written
from fairbook.cli.options import choose, flag, terms_of
from fairbook.cli.reports import Report, check_output, deliver
from fairbook.cli.tables import Machines, Users, read_machines, read_parts, read_users
from fairbook.errors import InvalidInput
from fairbook.mechanisms import Mechanism, registry
from fairbook.model.inputs import as_capacities, as_demands, check_positive
from fairbook.model.placement import MOST_MACHINES

MOST_CELLS = 10_000_000
_MOST_SINGLY = 100_000  # machines that are looked at one by one in every period
_AS = {"max_tasks": "tasks"}  # bounds have another name where tasks are submitted, period by period
_POOL = {"arrivals": ("capacities",)}  # which demands are divided by


class Given(NamedTuple):
    """What the tables say, as the mechanism takes it."""

    rule: Mechanism
    users: Users
    machines: Machines | None
    arguments: dict[str, Any]
    terms: dict[str, Any]
    pool: pd.Series  # how much there is, in the unit of the table, by resource or by cluster

    def run(self, **changes: Any) -> Any:
        """Run the mechanism, with some arguments changed."""
        arguments = {**self.arguments, **self.terms, **changes}
        if self.rule.kind == "arrivals":  # what is refused is what the file says, so it is checked before division
            pool, demands = arguments.pop("capacities"), arguments["demands"]
            as_capacities(pool, len(pool))
            as_demands(demands)
            arguments["demands"] = demands / pool
            if "weights" in self.rule.takes:
                weights = arguments.get("weights", pd.Series(1.0, demands.index))
                check_positive(weights.to_numpy(), "weights")
                arguments["weights"] = weights / weights.sum()
        result = getattr(fairbook, self.rule.name)(**arguments)
        if not self.users.period:
            return result
        return replace(result, named_users=tuple(self.users.names), named_resources=tuple(self.users.resources))

    def in_the_files(self, error: InvalidInput) -> str:
        """Say where an entry stands that the library refused, or which option it is."""
        argument, index = error.argument, error.index
        place = self.users.place("max_tasks" if argument == "tasks" else argument, index)
        if argument in {*self.terms, "placement", "k"}:
            place = "--after" if argument == "k" else flag(argument)
        elif argument in ("machines", "capacities") and index and self.machines is not None:
            lines = np.arange(len(self.machines.counts)).repeat(self.machines.counts)
            line = index[0] if self.rule.kind == "machines" else lines[index[0]]
            place = self.machines.place(line, index[1:] if argument == "machines" else (0,))
        elif argument == "capacities" and index:
            place = f"--capacity {self.pool.index[index[0]]}"
            if self.rule.kind != "clusters":
                return f"{place} {error.complaint}; or leave out column and resource"
        elif argument == "contributions" and index:
            return f"{self.users.names[index[0]]!r} has tasks in {self.users.table.source} and brought no machine"
        said = error.complaint.replace("whole=False", "--fractions is given")
        return str(error) if place is None else f"{place} {said}"


def allocate(options: argparse.Namespace) -> int:
    """Run the command."""
    sources = [one for one in (options.table, options.machines) if one is not None]
    check_output(sources, options.output)
    if sources.count("-") > 1:
        raise Refused("only one file can be -, for stdin")
    users = read_users(options.table, options.user_column)
    rule, reason = _chosen(options, users)
    given = _given(rule, users, terms_of(rule, options), options)
    try:
        result = given.run()
        steps = _steps(given, options.after)
        report = _report(given, result, reason, steps, options)
        if options.explain is not None:
            report.sentences = explain.sentences(given, result, options.explain, **steps)
    except InvalidInput as error:
        raise Refused(given.in_the_files(error)) from None
    against = options.against
    if against == "now" or (users.table.held is not None and not options.after):
        against_now(report, users, given.pool)
    if against not in (None, "now") and rule.kind == "clusters":
        raise Refused("--against compares mechanisms, and there is one for virtual clusters; --method has others")
    if against not in (None, "now"):
        blind = [
            name
            for name in (rule.name, against)
            if "max_tasks" in users.columns and not {"max_tasks", "tasks"} & set(registry[name].takes)
        ]
        against_other(report, rule.name, against, _tasks_by(against, given, options), blind)
    if options.verify:
        report.violations = _violations(given, result, **steps)
    deliver(report, options.output)
    return 1 if report.violations else 0


def _chosen(options: argparse.Namespace, users: Users) -> tuple[Mechanism, str]:
    rule, reason = choose(options, _kind(users, options))
    if options.whole_tasks and rule.name == "drf":
        return registry["drf_by_task"], f"{reason}; the same in whole tasks"
    return rule, reason


def _steps(given: Given, after: int | None = None) -> dict[str, int]:
    return {"k": after or len(given.users.names)} if given.rule.kind == "arrivals" else {}


def _tasks_by(name: str, ours: Given, options: argparse.Namespace) -> Any:
    """Give the tasks of each user, or each user and period, by another mechanism with its usual options."""
    options = argparse.Namespace(**{**vars(options), "mechanism": name, "placement": False})
    given = _given(_chosen(options, ours.users)[0], ours.users, {}, options, ours.machines)
    try:
        return _report(given, given.run(), "", _steps(given), options).rows["tasks"].to_numpy(dtype=float)
    except InvalidInput as error:
        raise Refused(given.in_the_files(error)) from None


def _kind(users: Users, options: argparse.Namespace) -> str:
    """Say what is given, in the words of ``DEFAULTS``."""
    if {"max_vms", "tolerance"} <= users.columns.keys():
        return "clusters"
    there = options.machines or (users.table.machines and not options.capacity)
    if users.period is None:
        return ("export" if users.table.held is not None else "machines") if there else "pool"
    if options.machines:
        return "periods"
    return "released" if "released" in users.columns else "phases"


# ------------------------------------------------------------------------------------------------- what goes in


def _given(
    rule: Mechanism,
    users: Users,
    terms: dict[str, Any],
    options: argparse.Namespace,
    known: Machines | None = None,
) -> Given:
    """Give what the mechanism takes; ``known`` are the machines, where they have been read."""
    takes, machines = set(rule.takes), known
    if known is None and (options.machines is not None or (users.table.machines and not options.capacity)):
        machines = read_machines(options.machines, users, MOST_MACHINES if rule.kind == "machines" else _MOST_SINGLY)
    pool = _pool(rule, users, machines, options)
    singly = sum(machines.counts) if machines is not None and rule.kind == "periods" else 0
    if len(users.periods) * max(len(users.names), singly) * len(users.resources) > MOST_CELLS:
        raise Refused(
            f"{len(users.periods)} periods of {len(users.names)} users on {singly} machines are too many: "
            f"periods times users, or machines, times resources must not pass {MOST_CELLS}"
        )
    offered: dict[str, Any] = {"progress": progress(options), "placement": options.placement, "capacities": pool}
    names = pd.Index(users.names, dtype=object)
    for argument, column in users.columns.items():
        if argument == "running":
            continue
        if (argument == "weights" and users.period) or not {argument, _AS.get(argument, argument)} & takes:
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
        if rule.kind == "periods":
            offered["machines"] = rows.loc[rows.index.repeat(machines.counts)].set_axis(machines.singly)
            parts = read_parts(users, machines)
            offered["contributions"] = parts.repeat(machines.counts, axis=1)
        elif machines.others and known is None:
            note(f"{machines.table.source}: no task needs column {', '.join(map(repr, machines.others))}; left out")
    elif machines is not None and rule.kind in ("pool", "arrivals") and users.table.held is None:
        note(f"{rule.name} takes the machines as one pool; what it gives may not fit on them")
    arguments = {name: value for name, value in offered.items() if name in {*takes, *_POOL.get(rule.kind, ())}}
    return Given(rule, users, machines, arguments, terms, pool)


def _too_large(users: Users, demands: Any, machines: Machines) -> list[str]:
    """Give the users who have tasks that fit no machine, even an empty one."""
    fits = np.zeros(demands.shape[:-1], dtype=bool)
    for kind in np.unique(machines.capacities, axis=0):
        fits |= (demands <= kind).all(axis=-1)
    return [users.names[i] for i in np.flatnonzero(~fits.reshape(-1, len(users.names)).all(axis=0))]


def _pool(rule: Mechanism, users: Users, machines: Machines | None, options: argparse.Namespace) -> pd.Series:
    """Give how much there is of each resource, or on each cluster."""
    if machines is not None:
        sizes = machines.capacities.repeat(machines.counts, axis=0)
        return (
            pd.Series(sizes[:, 0], machines.singly)
            if rule.kind == "clusters"
            else pd.Series(sizes.sum(axis=0), users.resources)
        )
    given: dict[str, float] = {}
    for pair in options.capacity:
        name, sign, text = pair.rpartition("=")
        if not (sign and name and name.isprintable()) or not NUMBER.fullmatch(text):
            raise Refused(f"--capacity must be given as name=number, got {shown(pair)}{written(text)}")
        why = "; the column of this name has another meaning" if name in users.table.columns else ""
        if name in given or name not in (users.resources if rule.kind != "clusters" else [name]):
            raise Refused(
                f"--capacity names {shown(name)} twice"
                if name in given
                else f"--capacity names {shown(name)}, none of the resources {few(users.resources)}{why}"
                f"{'; blanks stand between the pairs' if '=' in name else ''}"
            )
        given[name] = float(text)
    if rule.kind == "arrivals" and not given and "weights" in users.columns and "weights" in rule.takes:
        given = dict.fromkeys(users.resources, math.fsum(users.spread(users.columns["weights"], 1.0)))
    missing = [name for name in users.resources if name not in given]
    if rule.kind == "clusters":
        missing = [] if given else ["CLUSTER"]
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
    return pd.Series(given)[list(given) if rule.kind == "clusters" else users.resources]


# ------------------------------------------------------------------------------------------------ what comes out


def _report(given: Given, result: Any, reason: str, steps: dict[str, int], options: argparse.Namespace) -> Report:
    users, rule = given.users, given.rule
    rows = result.to_frame(**steps)
    if users.period:
        rows.index = pd.MultiIndex.from_product([users.periods, users.names], names=[users.period, "user"])
    report = Report(rows, {"mechanism": rule.name, "reason": reason, "terms": given.terms, **steps})
    if options.placement:
        report.placement = _placement(given, result)
    if rule.kind == "clusters":
        report.amounts = result.cluster_frame().drop(columns="users")
        report.head |= {name: getattr(result, name) for name in ("min_fraction", "bound", "optimal", "served_fraction")}
        report.lines.append(
            f"least fraction {result.min_fraction:.6g}, at most {result.bound:.6g} can be had"
            f"{': as good as can be' if result.optimal else ''}; {(~result.served).sum()} turned away"
        )
        report.lines += [result.open_question] if result.open_question else []
        for name, size in given.pool.items():
            if given.terms.get("whole", True) and size - math.floor(size) > 1e-9:
                note(f"cluster {name!r} holds {math.floor(size)} whole VMs, not {size:g}; --fractions uses all")
        return report
    use = [f"use_{name}" for name in users.resources]
    if rule.kind == "arrivals":
        rows[use] *= given.pool.to_numpy()
    if not np.isfinite(rows[["tasks", *use]]).all(axis=None) or rows.select_dtypes("number").isna().any(axis=None):
        raise Refused("the numbers lie too far apart: a result does not fit a double")
    _round(report, use, options.whole_tasks)
    present = result.weights[: steps["k"]].sum() if steps else 1.0
    report.amounts = pd.DataFrame({"capacity": given.pool * present}).rename_axis("resource")
    report.amounts["mean_use" if users.period else "use"] = rows[use].to_numpy().sum(axis=0) / len(users.periods)
    report.amounts["utilisation"] = report.amounts.iloc[:, 1] / report.amounts["capacity"]
    if rule.kind == "periods":
        report.amounts["utilisation_alone"] = result.utilisation_alone.mean(axis=0)
    if users.period:
        report.lines.append(
            f"{len(users.periods)} periods in column {users.period!r}, {users.sorting}: "
            f"{users.periods[0]} to {users.periods[-1]}; one without a line is not run"
        )
    return report


def _round(report: Report, use: list[str], whole: bool) -> None:
    """Round tasks down where whole ones are asked for, or say that this can be had."""
    tasks = report.rows["tasks"].to_numpy(dtype=float)
    part = np.floor(tasks * (1 + 1e-12)) / np.where(tasks > 0, tasks, 1.0)
    if (part == (tasks > 0)).all():
        return
    if not whole:
        report.lines.append("tasks are divisible here; --whole gives whole ones")
        return
    report.lines.append(f"{report.head['mechanism']} hands out parts of tasks, which are rounded down")
    columns = report.rows.columns.intersection(["tasks", *use, "dominant_share", "dominant_shares"])
    report.rows[columns] = report.rows[columns].mul(part, axis=0)


def _placement(given: Given, result: Any) -> pd.DataFrame:
    """Give a row for each machine, or for some with the same contents: whose tasks are on it."""
    users = given.users
    columns: dict[Any, Any] = {"machine": given.pool.index}
    if given.rule.kind == "clusters":
        tables = result.by_cluster.T
    elif getattr(result, "placement", None) is not None:
        t, k = result.placement.any(axis=1).nonzero()
        columns = {users.period: np.array(users.periods)[t], "machine": np.array(result.machine_names)[k]}
        tables = result.placement[t, :, k]
    elif isinstance(result, fairbook.FluidPlacement):
        columns, tables = {"machine": result.classes, "machines": result.cell.machine_counts}, result.by_class
    elif isinstance(result, fairbook.Placement):
        kinds, counts, tables = result.states
        columns = {"machine": np.array(result.classes)[kinds], "machines": counts}
        parts = map(slice, tables.indptr[:-1].tolist(), tables.indptr[1:].tolist())
        held = [dict(zip(tables.indices[at].tolist(), tables.data[at].tolist(), strict=True)) for at in parts]
        return pd.DataFrame({**columns, "tasks": [{users.names[i]: tasks for i, tasks in one.items()} for one in held]})
    else:
        raise Refused(f"--placement needs a mechanism that places tasks on machines; {given.rule.name} fills one pool")
    return pd.DataFrame(
        {**columns, "tasks": [{users.names[i]: row[i].item() for i in row.nonzero()[0]} for row in tables]}
    )


def _violations(given: Given, result: Any, k: int = 0) -> list[str]:
    """Run the certificate; where users arrive, that of every step up to the one shown."""
    if given.rule.kind == "arrivals":
        return list(result.violations_at(k))
    found: list[str] = result.violations()
    if not given.users.period:
        return found
    return [re.sub(rf"(?<=in {result.step} )\d+$", lambda at: given.users.periods[int(at[0])], text) for text in found]
