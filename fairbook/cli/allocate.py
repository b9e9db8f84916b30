"""``fairbook allocate``: a table of users, and who gets what by the mechanism that fits what is given."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

import fairbook
from fairbook.cli.against import against_now, against_other
from fairbook.cli.common import Refused, note, short
from fairbook.cli.explain import sentences
from fairbook.cli.given import Given, make, read_tables
from fairbook.cli.reports import Report, check_output, deliver
from fairbook.errors import InvalidInput


def allocate(options: argparse.Namespace) -> int:
    """Run the command."""
    sources = [one for one in (options.table, options.machines, options.users) if one is not None]
    check_output(sources, options.output)
    if sources.count("-") > 1:
        raise Refused("only one file can be -, for stdin")
    users, machines = read_tables(options)
    given = make(options, users, machines)
    try:
        result, rows = given.run()
        report = _report(given, result, rows.copy(), options)
        if options.explain is not None:
            report.sentences = sentences(given, result, rows, options.explain)
        if options.against == "now" or users.table.held is not None:
            against_now(report, users, given.pool)
        if options.against not in (None, "now"):
            _against(report, given, options)
        if options.verify:
            report.violations, report.certificate = result.violations(), result.certificate
    except InvalidInput as error:
        raise given.in_the_files(error) from None
    if report.violations and users.period:
        note(f"numbers of periods count from 0, which is {users.periods[0]}")
    deliver(report, options.output)
    return 1 if report.violations else 0


def _against(report: Report, given: Given, options: argparse.Namespace) -> None:
    """Compare with another mechanism, with its usual settings, on the same tables."""
    if not given.users.resources:
        raise Refused("--against compares mechanisms, and there is one for virtual clusters; --method has others")
    changed = {"mechanism": options.against, "placement": False, "set": []}
    other = make(argparse.Namespace(**{**vars(options), **changed}), given.users, given.machines)
    against_other(report, _report(other, *other.run(), options))


def _report(given: Given, result: Any, rows: pd.DataFrame, options: argparse.Namespace) -> Report:
    users = given.users
    report = Report(rows, {"mechanism": given.rule.name, "reason": given.reason, "terms": given.terms})
    if options.placement:
        report.placement = _placement(given, result)
    if not users.resources:
        report.amounts = result.cluster_frame().drop(columns="users")
        report.head |= {name: getattr(result, name) for name in ("min_fraction", "bound", "optimal", "served_fraction")}
        report.lines.append(
            f"least fraction {short(result.min_fraction)}, at most {short(result.bound)} can be had"
            f"{': as good as can be' if result.optimal else ''}; {(~result.served).sum()} turned away"
        )
        report.lines += [result.open_question] if result.open_question else []
        return report
    _round(report, given.use, options.whole_tasks)
    report.amounts = pd.DataFrame({"capacity": given.pool}).rename_axis("resource")
    report.amounts["mean_use" if users.period else "use"] = rows[given.use].to_numpy().sum(axis=0) / len(users.periods)
    report.amounts["utilisation"] = report.amounts.iloc[:, 1] / report.amounts["capacity"]
    if users.period:
        if "contributions" in given.arguments:
            report.amounts["utilisation_alone"] = result.utilisation_alone.mean(axis=0)
        report.lines.append(
            f"{len(users.periods)} period{'s' * (len(users.periods) > 1)} in column {users.period!r}, {users.sorting}: "
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
    if not users.resources:
        tables = result.by_cluster.T
    elif "contributions" in given.arguments and result.placement is not None:
        t, k = result.placement.any(axis=1).nonzero()
        columns = {users.period: np.array(users.periods)[t], "machine": np.array(result.machine_names)[k]}
        columns["machines"], tables = np.ones(len(t), dtype=int), result.placement[t, :, k]
    elif isinstance(result, fairbook.FluidPlacement):  # of all machines of a class together
        columns, tables = {"machine": result.classes}, result.by_class
    elif isinstance(result, fairbook.Placement):
        kinds, counts, tables = result.states
        columns = {"machine": np.array(result.classes)[kinds], "machines": counts}
    else:
        way = "--mechanism drfh" if given.machines and not users.period else "--machines and drfh or tv_drf"
        raise Refused(
            f"--placement needs a mechanism that places tasks on machines, and {given.rule.name} fills one pool; "
            f"{way} would do"
        )
    held = csr_array(tables)
    rows = [range(*ends) for ends in zip(held.indptr[:-1].tolist(), held.indptr[1:].tolist(), strict=True)]
    tasks = [{users.names[held.indices[at]]: held.data[at].item() for at in row} for row in rows]
    return pd.DataFrame({**columns, "tasks": tasks})
