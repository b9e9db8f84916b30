"""``fairbook allocate``: a table of users, and who gets what by the mechanism that fits what is given."""

from __future__ import annotations

import argparse
import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import fairbook
from fairbook.cli import explain
from fairbook.cli.common import NUMBER, Refused, note, progress, shown
from fairbook.cli.options import choose, flag, terms_of
from fairbook.cli.reports import Report, check_output, deliver
from fairbook.cli.tables import MOST_CELLS, Machines, Users, read_machines, read_parts, read_users
from fairbook.errors import InvalidInput
from fairbook.mechanisms import Mechanism, registry

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

__all__ = ["allocate"]

_MOST_MACHINES = 100_000  # that are looked at one by one in every period


class Given(NamedTuple):
    """What the tables say, as the mechanism takes it."""

    rule: Mechanism
    users: Users
    machines: Machines | None
    arguments: dict[str, Any]
    terms: dict[str, Any]
    pool: Any
    """How much there is of each resource, in the unit of the table, shape (m,); of each cluster."""

    def run(self, **changes: Any) -> Any:
        """Run the mechanism, with some arguments changed."""
        result = getattr(fairbook, self.rule.name)(**{**self.arguments, **self.terms, **changes})
        if not self.users.period:
            return result
        return replace(result, named_users=tuple(self.users.names), named_resources=tuple(self.users.resources))

    def in_the_files(self, error: InvalidInput) -> str:
        """Say where an entry stands that the library refused, or which option it is."""
        argument, index, said = error.argument, error.index, error.complaint
        if self.rule.kind == "clusters":
            said = said.replace("whole=False", "--fractions is given")
        if argument in self.terms or argument == "placement":
            return f"{flag(argument)} {said}"
        if argument == "capacities" and index and self.machines is None:
            name = list(self.pool.index if self.rule.kind == "clusters" else self.users.resources)[index[0]]
            return f"--capacity {name} {said}"
        if argument in ("machines", "capacities") and index and self.machines is not None:
            lines = [k for k, count in enumerate(self.machines.counts) for _ in range(count)]
            line = index[0] if self.rule.kind == "machines" else lines[index[0]]
            return f"{self.machines.place(line, index[1] if index[1:] else 0 if argument == 'capacities' else None)} {said}"
        if argument == "contributions" and index:
            return f"{self.users.names[index[0]]!r} has tasks in {self.users.table.source} and brought no machine"
        place = self.users.place("max_tasks" if argument == "tasks" else argument, index)
        return str(error) if place is None else f"{place} {said}"


def allocate(options: argparse.Namespace) -> int:
    """Run the command."""
    sources = [one for one in (options.table, options.machines, options.contributions) if one is not None]
    check_output(sources, options.output)
    if sources.count("-") > 1:
        raise Refused("only one file can be -, for stdin")
    users = read_users(options.table, options.user_column)
    rule, reason = choose(options, _kind(users, options))
    if options.whole_tasks and rule.name == "drf":
        rule, reason = registry["drf_by_task"], f"{reason}; the same in whole tasks"
    terms = terms_of(rule, options)
    given = _given(rule, users, terms, options)
    try:
        result = given.run()
        steps = {"k": options.after or len(users.names)} if rule.kind == "arrivals" else {}
        report = _report(given, result, reason, steps, options)
        if options.explain is not None:
            report.sentences = explain.sentences(given, result, options.explain, **steps)
    except InvalidInput as error:
        raise Refused(given.in_the_files(error)) from None
    if options.verify:
        report.violations = _violations(given, result, options, **steps)
    deliver(report, options.output)
    return 1 if report.violations else 0


def _kind(users: Users, options: argparse.Namespace) -> str:
    """Say what is given, in the words of ``DEFAULTS``."""
    if "max_vms" in users.columns:
        return "clusters"
    if users.period is None:
        return "machines" if options.machines else "pool"
    if options.machines:
        return "periods"
    return "released" if "released" in users.columns else "phases"


# ------------------------------------------------------------------------------------------------- what goes in


def _given(rule: Mechanism, users: Users, terms: dict[str, Any], options: argparse.Namespace) -> Given:
    """Give what the mechanism takes."""
    import numpy as np
    import pandas as pd

    from fairbook.model.placement import MOST_MACHINES

    singly = rule.kind in ("periods", "clusters")
    machines = None
    if options.machines is not None:
        machines = read_machines(options.machines, users, _MOST_MACHINES if singly else MOST_MACHINES)
    if rule.kind == "clusters":
        return _clusters(rule, users, machines, terms, options)
    names, resources, demands = users.names, users.resources, users.demands()
    pool = _pool(rule, users, machines, options)
    offered: dict[str, Any] = {"progress": progress(options), "capacities": pool, "demands": demands}
    for argument, default in (("weights", 1.0), ("max_tasks", 0.0), ("released", 1.0)):
        if argument in users.columns:
            asked = {argument, "tasks"} if argument == "max_tasks" else {argument}
            if not asked & set(rule.takes) or (argument == "weights" and users.period):
                note(f"{rule.name} does not use column {users.columns[argument]!r}")
                continue
            offered[argument] = users.spread(users.columns[argument], default, unbounded=argument == "max_tasks")
    if not users.period:
        offered["demands"] = pd.DataFrame(demands, pd.Index(names, dtype=object), resources)
    if rule.kind == "arrivals":
        offered |= _arrivals(rule, offered, pool)
    if machines is not None and rule.kind in ("machines", "periods"):
        rows = machines.capacities()
        if rule.kind == "periods":
            if len(users.periods) * sum(machines.counts) * len(resources) > MOST_CELLS:
                raise Refused(f"{len(users.periods)} periods on {sum(machines.counts)} machines are too many: their "
                              f"product times the number of resources must not pass {MOST_CELLS}")
            offered["contributions"] = read_parts(users, machines, options.contributions).repeat(machines.counts, axis=1)
            offered["tasks"] = offered.get("max_tasks", np.where(demands.any(axis=2), np.inf, 0.0))
            offered["placement"] = options.placement
            rows = rows.repeat(machines.counts, axis=0)
        elif machines.others:
            note(f"{machines.table.source}: no task needs column {', '.join(map(repr, machines.others))}, which is left out")
        lines = machines.singly if rule.kind == "periods" else machines.names
        offered["machines"] = pd.DataFrame(rows, pd.Index(lines, dtype=object), resources)
        offered["machine_counts"] = machines.counts
    arguments = {name: value for name, value in offered.items() if name in rule.takes}
    return Given(rule, users, machines, arguments, terms, pool)


def _pool(rule: Mechanism, users: Users, machines: Machines | None, options: argparse.Namespace) -> Any:
    """Give how much there is of each resource, in the unit of the table."""
    import numpy as np

    if machines is not None:
        return (machines.capacities() * np.array(machines.counts)[:, None]).sum(axis=0)
    if rule.kind == "arrivals" and not options.capacity and {"weights"} <= set(rule.takes) & set(users.columns):
        return np.full(len(users.resources), math.fsum(users.spread(users.columns["weights"], 1.0)))
    given = _capacities(options.capacity)
    for name in given:
        if name not in users.resources:
            raise Refused(f"--capacity names {shown(name)}, which is none of the resources {', '.join(users.resources)}")
    missing = [name for name in users.resources if name not in given]
    if missing:
        needed = " ".join(f"{name}=NUMBER" for name in missing)
        raise Refused(f"{users.table.source}: how much is there of {', '.join(missing)}? Say --capacity {needed}, or "
                      f"--machines FILE; leave out a column that is no resource")
    return np.array([given[name] for name in users.resources])


def _capacities(pairs: list[str]) -> dict[str, float]:
    """Read ``name=number``."""
    given: dict[str, float] = {}
    for pair in pairs:
        name, sign, text = pair.rpartition("=")
        if not (sign and name and name.isprintable()) or not NUMBER.fullmatch(text):
            raise Refused(f"--capacity must be given as name=number, got {shown(pair)}")
        if name in given:
            raise Refused(f"--capacity names {shown(name)} twice")
        given[name] = float(text)
    return given


def _arrivals(rule: Mechanism, offered: dict[str, Any], pool: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Give demands as parts of the pool that is there in the end, and the parts of it that users bring."""
    import numpy as np

    from fairbook.model.inputs import as_capacities, as_demands

    as_capacities(pool, len(pool))
    as_demands(offered["demands"])  # before division, so that what is refused is what the file says
    weights = offered.get("weights", np.ones(len(offered["demands"])))
    if np.isfinite(weights).all() and (weights > 0).all() and "weights" in rule.takes:
        weights = weights / weights.sum()
    return {"demands": offered["demands"] / pool, "weights": weights}


def _clusters(rule: Mechanism, users: Users, machines: Machines | None, terms: dict[str, Any],
              options: argparse.Namespace) -> Given:
    """Give what users ask of clusters, and what these hold."""
    import pandas as pd

    if "tolerance" not in users.columns:
        raise Refused(f"{users.table.source}: has no column 'tolerance', only "
                      f"{', '.join(map(shown, users.table.columns))}")
    if machines is None and not options.capacity:
        raise Refused("how many virtual machines does each cluster hold? Say --capacity NAME=NUMBER, or --clusters FILE")
    if machines is not None:
        sizes = pd.Series(machines.capacities()[:, 0].repeat(machines.counts), pd.Index(machines.singly, dtype=object))
    else:
        given = _capacities(options.capacity)
        sizes = pd.Series(list(given.values()), pd.Index(list(given), dtype=object))
    if users.resources:
        note(f"{rule.name} does not use column {', '.join(map(repr, users.resources))}")
    for name, size in sizes.items():
        if terms.get("whole", True) and math.isfinite(size) and size - math.floor(size) > 1e-9:
            note(f"cluster {name!r} holds {math.floor(size)} whole VMs, not {size:g}; --fractions uses all")
    arguments = {name: pd.Series(users.spread(users.columns[name], 0.0), pd.Index(users.names, dtype=object))
                 for name in ("max_vms", "tolerance")}
    return Given(rule, users, machines, {**arguments, "capacities": sizes}, terms, sizes)


# ------------------------------------------------------------------------------------------------ what comes out


def _report(given: Given, result: Any, reason: str, steps: dict[str, int], options: argparse.Namespace) -> Report:
    import numpy as np
    import pandas as pd

    users, rule = given.users, given.rule
    rows = result.to_frame(**steps)
    if users.period:
        rows.index = pd.MultiIndex.from_product([users.periods, users.names], names=[users.period, "user"])
    report = Report(rows, {"mechanism": rule.name, "reason": reason, "terms": given.terms, **steps})
    if rule.kind == "clusters":
        report.amounts = result.cluster_frame().drop(columns="users")
        report.head |= {name: getattr(result, name) for name in ("min_fraction", "bound", "optimal", "served_fraction")}
        report.lines.append(f"least fraction {result.min_fraction:.6g}, at most {result.bound:.6g} can be had"
                            f"{': as good as can be' if result.optimal else ''}; "
                            f"{int((~result.served).sum())} turned away")
    else:
        use = [f"use_{name}" for name in users.resources]
        if rule.kind == "arrivals":
            rows[use] *= given.pool
        if not np.isfinite(rows[["tasks", *use]]).all(axis=None) or rows.select_dtypes("number").isna().any(axis=None):
            raise Refused("the numbers lie too far apart: a result does not fit a double")
        _round(report, options)
        present = result.weights[: steps["k"]].sum() if steps else 1.0
        columns = {"capacity": given.pool * present, "use": rows[use].to_numpy().sum(axis=0) / len(users.periods)}
        columns["utilisation"] = columns["use"] / columns["capacity"]
        if rule.kind == "periods":
            columns["utilisation_alone"] = result.utilisation_alone.mean(axis=0)
            _note_losses(users, result)
        report.amounts = pd.DataFrame(columns, pd.Index(users.resources, name="resource"))
    if users.period:
        report.amounts = report.amounts.rename(columns={"use": "mean_use"})
        report.lines.append(f"{len(users.periods)} of {users.period}, {users.sorting}: {users.periods[0]} to "
                            f"{users.periods[-1]}; in one without a line nothing happens")
    if options.placement:
        report.placement = _placement(given, result)
    return report


def _round(report: Report, options: argparse.Namespace) -> None:
    """Round tasks down where whole ones are asked for, or say that this can be had."""
    import numpy as np

    rows = report.rows
    tasks = rows["tasks"].to_numpy(dtype=float)
    whole = np.floor(tasks * (1 + 1e-12))
    if (whole == tasks).all():
        return
    if not options.whole_tasks:
        report.lines.append("tasks are divisible here; --whole gives whole ones")
        return
    report.lines.append(f"{report.head['mechanism']} hands out parts of tasks, which are rounded down")
    part = np.divide(whole, tasks, out=np.ones_like(tasks), where=tasks > 0)
    for name in rows.columns:
        if name.startswith("use_") or name in ("dominant_share", "dominant_shares"):
            rows[name] *= part
    rows["tasks"] = whole


def _note_losses(users: Users, run: Any) -> None:
    low = (run.sharing_coefficients < 1 - 1e-9).any(axis=1).nonzero()[0]
    if len(low):
        note(f"after {len(low)} of {len(run)} period(s), the first of them {users.periods[low[0]]}, someone has used "
             f"less than it would have alone (sharing_coefficient below 1)")


def _placement(given: Given, result: Any) -> pd.DataFrame:
    """Give a row for each machine, or for some with the same contents: whose tasks are on it."""
    import numpy as np
    import pandas as pd

    users, lines = given.users, given.machines.names if given.machines else []
    counts = None
    if given.rule.kind == "clusters":
        where, tables = [(name,) for name in result.clusters], result.by_cluster.T
    elif given.rule.kind == "periods":
        cells = np.argwhere(result.placement.any(axis=1))
        where = [(users.periods[t], result.machine_names[k]) for t, k in cells]
        tables = result.placement[cells[:, 0], :, cells[:, 1]]
    elif isinstance(result, fairbook.Placement):
        kinds, counts, tables = result.states
        where = [(lines[k],) for k in kinds]
    elif isinstance(result, fairbook.FluidPlacement):
        where, counts, tables = [(name,) for name in lines], result.cell.machine_counts, result.by_class
    else:
        raise Refused(f"--placement needs a mechanism that places tasks on machines; {given.rule.name} fills one pool")
    frame = pd.DataFrame(where, columns=[users.period, "machine"][-len(where[0]) :] if where else ["machine"])
    if counts is not None:
        frame["machines"] = counts
    frame["tasks"] = [{users.names[i]: row[i].item() for i in row.nonzero()[0]} for row in tables]
    return frame


def _violations(given: Given, result: Any, options: argparse.Namespace, k: int = 0) -> list[str]:
    """Run the certificate; where users arrive, that of every step up to the one shown."""
    if given.rule.kind != "arrivals":
        word = getattr(result, "step", "")
        periods = given.users.periods
        return [re.sub(rf"(?<=in {word} )\d+$", lambda found: periods[int(found[0])], text) if word else text
                for text in result.violations()]
    from tqdm import tqdm

    numbers = tqdm(range(1, k + 1), desc="arrivals", leave=False, disable=not progress(options))
    return [f"after arrival {step}: {text}" for step in numbers for text in result.violations_at(step)]
