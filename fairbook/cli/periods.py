"""``fairbook periods``: machines that users brought, period after period (TV-DRF)."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import fairbook
from fairbook.cli.common import Refused, add_command, add_output, csv_of, note, shown
from fairbook.cli.reports import Report, check_output, deliver, keep
from fairbook.cli.tables import Table, checked_user, machine_lines, need_columns, read_machines, read_table
from fairbook.cli.timed import MOST_CELLS, Timed, answer, read_timed
from fairbook.errors import InvalidInput
from fairbook.files import write_whole
from fairbook.mechanisms.readings import READINGS

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

__all__ = ["add_periods"]

_MOST_MACHINES = 100_000
_MOST_PLACES = 100_000_000  # periods times users times machines, where placements are kept


class _Machines(NamedTuple):
    """A CSV file of machines: one line for each, or for some that are alike."""

    table: Table
    names: list[str]  # by line
    kind: list[int]  # by machine: its line, from 0
    resources: list[str]

    def capacities(self) -> Any:
        """Give the capacity of each machine, shape (K, m)."""
        import numpy as np

        return np.array([self.table.numbers(name) for name in self.resources]).T[self.kind]


def _read_demands(source: str) -> Timed:
    told = {"cumulative_share", "sharing_coefficient", "unserved", "bottleneck", "weight", "max_tasks"}
    beside = {"machine", "count", "part"}  # columns of the tables beside this one
    read = read_timed(source, "period", {"tasks"}, told | beside, needed=("tasks",))
    # a period without a line is one in which nobody submits anything; a queue is served in it
    begin = read.steps[0]
    cells = [(read.steps[t] - begin, i) for t, i in read.cells]
    if read.steps[-1] - begin >= MOST_CELLS:
        raise Refused(f"{read.table.source}: periods {begin} to {read.steps[-1]} are too many to run one by one")
    return read._replace(steps=list(range(begin, read.steps[-1] + 1)), cells=cells)


def _read_machines(source: str, resources: list[str]) -> _Machines:
    table = read_machines(source, resources)
    for column in resources:
        if not any(table.numbers(column)):
            raise Refused(f"{table.source}, column {column!r}: no machine has any")
    names, counts = machine_lines(table, _MOST_MACHINES)
    kind = [row for row, count in enumerate(counts) for _ in range(count)]
    return _Machines(table, names, kind, resources)


def _parts(read: Timed, machines: _Machines, source: str | None) -> tuple[list[str], np.ndarray[Any, Any]]:
    """Give the names of all users, those who submit nothing among them, and who brought which part of each line."""
    import numpy as np

    table = machines.table
    owned = "user" in table.columns
    if owned and source is not None:
        raise Refused(f"--contributions does not apply: {table.source} names in column 'user' who brought a machine")
    if owned:
        owners = [checked_user(table, row) for row in range(len(table.lines))]
        users = list(dict.fromkeys(read.users + owners))
        at = {user: i for i, user in enumerate(users)}
        parts = np.zeros((len(users), len(owners)))
        parts[[at[owner] for owner in owners], np.arange(len(owners))] = 1.0
        return users, parts
    if source is not None:
        return _read_parts(read.users, machines, source)
    note(f"{table.source}: does not say who brought what; everyone is taken to have brought the same part of each")
    return read.users, np.full((len(read.users), len(table.lines)), 1 / len(read.users))


def _read_parts(known: list[str], machines: _Machines, source: str) -> tuple[list[str], np.ndarray[Any, Any]]:
    import numpy as np

    table = read_table(source, "part")
    need_columns(table, ("user", "part"))
    values = table.numbers("part")
    users = list(dict.fromkeys(known + [checked_user(table, row) for row in range(len(table.lines))]))
    at_user = {user: i for i, user in enumerate(users)}
    at_machine = {name: k for k, name in enumerate(machines.names)}
    parts = np.full((len(users), len(machines.names)), np.nan)
    for row, value in enumerate(values):
        if not 0 <= value <= 1:
            raise Refused(f"{table.at(row, 'part')}: must be between 0 and 1, got {table.columns['part'][row]}")
        some: Any = slice(None)
        if "machine" in table.columns:
            name = table.columns["machine"][row]
            if name not in at_machine:
                raise Refused(f"{table.at(row, 'machine')}: {shown(name)} is no machine of {machines.table.source}")
            some = at_machine[name]
        user = table.columns["user"][row]
        if not np.isnan(parts[at_user[user], some]).all():
            what = "machine" if "machine" in table.columns else "user"
            raise Refused(f"{table.at(row, what)}: the part that {user!r} brought is there already")
        parts[at_user[user], some] = value
    parts = np.nan_to_num(parts)
    sums = parts.sum(axis=0)
    for k in np.flatnonzero(np.abs(sums - 1) > 1e-6)[:1].tolist():
        where = f"machine {machines.names[k]!r}" if "machine" in table.columns else "every machine"
        raise Refused(f"{table.source}: the parts of {where} must sum to 1, got {sums[k]:.9g}")
    return users, parts / sums


def _in_the_files(read: Timed, machines: _Machines, users: list[str], error: InvalidInput) -> str:
    """Say where in the files an entry stands that the library refused."""
    place = read.place(error)
    if place is not None:
        return f"{place}: {error.complaint}"
    if error.argument == "machines" and error.index:
        row, *column = machines.kind[error.index[0]], *error.index[1:]
        if not column:
            return f"{machines.table.source}, line {machines.table.lines[row]}: {error.complaint}"
        return f"{machines.table.at(row, machines.resources[column[0]])}: {error.complaint}"
    if error.argument == "machines" and "one shape" in error.rule:
        return (
            f"--method lexicographic needs machines of one shape, which make one pool; those of "
            f"{machines.table.source} are not in proportion"
        )
    if error.argument == "contributions" and error.index:
        return f"{users[error.index[0]]!r} has tasks in {read.table.source} and brought no part of any machine"
    return str(error)


def _check_placement(sources: list[str | None], options: argparse.Namespace) -> None:
    """Refuse a file of placements that is none, or one of the other files."""
    target = options.placement
    if options.method != "heuristic":
        raise Refused(f"--placement goes with --method heuristic: {options.method} fills one pool, not machines")
    if not target.endswith(".csv"):
        raise Refused(f"--placement must end in .csv, got {shown(target)}")
    if options.output is not None and os.path.abspath(options.output) == os.path.abspath(target):
        raise Refused("--placement and --output must not be the same file")
    for source in sources:
        if source is not None:
            keep(source, target, "--placement")


def _placement_frame(run: Any, read: Timed, machines: _Machines) -> pd.DataFrame:
    """Give a row for each period, user and machine on which the user runs tasks, in the words of the files."""
    import numpy as np

    frame: pd.DataFrame = run.placement_frame().reset_index()
    k, line = frame["machine"].to_numpy(dtype=int), np.array(machines.kind)
    frame["period"] += read.steps[0]
    frame["machine"] = np.array(machines.names, dtype=object)[line[k]]
    if "count" in machines.table.columns:  # which of those that are alike, from 1
        frame.insert(3, "number", k - np.searchsorted(line, line[k]) + 1)
    return frame


def _periods(options: argparse.Namespace) -> int:
    sources = [options.demands, options.machines, options.contributions]
    for source in sources:
        if source is not None:
            check_output(source, options.output)
    if options.placement is not None:
        _check_placement(sources, options)
    if sources.count("-") > 1:
        raise Refused("only one file can be -, for stdin")
    read = _read_demands(options.demands)
    machines = _read_machines(options.machines, read.resources)
    users, parts = _parts(read, machines, options.contributions)
    read = read._replace(users=users)
    try:
        report = _run_periods(read, machines, parts, options)
    except InvalidInput as error:
        raise Refused(_in_the_files(read, machines, users, error)) from None
    deliver(report, options)
    return 1 if report.violations else 0


def _run_periods(read: Timed, machines: _Machines, parts: np.ndarray[Any, Any], options: argparse.Namespace) -> Report:
    from dataclasses import replace

    import numpy as np
    import pandas as pd

    T, n, m = len(read.steps), len(read.users), len(read.resources)
    if T * max(n, len(machines.kind)) * m > MOST_CELLS:
        raise Refused(
            f"{T} periods (every one from {read.steps[0]} to {read.steps[-1]}) of {n} users on {len(machines.kind)} "
            f"machines are too many: the number of periods times that of users, or machines, times that of resources "
            f"must not pass {MOST_CELLS}"
        )
    if options.placement is not None and T * n * len(machines.kind) > _MOST_PLACES:
        raise Refused(
            f"--placement: {T} periods times {n} users times {len(machines.kind)} machines must not pass {_MOST_PLACES}"
        )
    demands, tasks = read.demands(), read.spread("tasks", 0.0, unbounded=True)
    for row, cell in enumerate(read.cells):
        if tasks[cell] > 0 and not demands[cell].any():
            raise Refused(f"{read.table.at(row, 'tasks')}: tasks are submitted, but need nothing of any resource")
    run = fairbook.tv_drf(
        demands,
        tasks,
        machines.capacities(),
        parts[:, machines.kind],
        **{name: getattr(options, name) for name in READINGS["tv_drf"]},
        memory=not options.no_memory,
        placement=options.placement is not None,
    )
    run = replace(run, named_users=tuple(read.users), named_resources=tuple(read.resources))
    rows = run.to_frame()
    rows.index = pd.MultiIndex.from_product([read.steps, read.users], names=["period", "user"])
    # a coefficient is infinite where somebody would have nothing alone, and a task without bound is unserved for ever
    told = ["tasks", "cumulative_share"] + ["unserved"] * bool(np.isfinite(tasks).all())
    if not np.isfinite(rows[told]).all(axis=None) or rows.isna().any(axis=None):
        raise Refused("the numbers lie too far apart: a result does not fit a double")
    low = np.flatnonzero((run.sharing_coefficients < 1 - 1e-9).any(axis=1))
    if len(low):
        note(
            f"after {len(low)} of {T} period(s), the first of them {read.steps[low[0]]}, someone has used less than it "
            f"would have alone (sharing_coefficient below 1)"
        )
    use, total = run.use.mean(axis=0), run.capacities
    resources = pd.DataFrame(
        {
            "capacity": total,
            "mean_use": use,
            "utilisation": use / total,
            "utilisation_alone": run.utilisation_alone.mean(axis=0),
        },
        index=pd.Index(read.resources, name="resource"),
    )
    head = {
        "mechanism": "tv_drf",
        "terms": {name: getattr(options, name) for name in READINGS["tv_drf"]}
        | {"memory": not options.no_memory},
        "weights": dict(zip(read.users, run.weights.tolist(), strict=True)),
    }
    report = Report(rows, resources, head, "periods", "queues, shares and coefficients follow from the tasks")
    answer(report, read, run, options)
    if run.placement is not None:
        content = csv_of(_placement_frame(run, read, machines), index=False)
        write_whole({Path(options.placement): content.encode()})
    return report


def add_periods(commands: Any) -> None:
    parser = add_command(
        commands,
        "periods",
        _periods,
        "share machines that users brought, from period to period (TV-DRF)",
        """

In each period users submit tasks that last one period; then all machines are empty again. What each has had so far
counts, as do the parts of the machines that it brought.

demands.csv has a header and a line for each period and user that submits tasks, in any order:
  period      whole number; every period from the first to the last is run
  user        name
  tasks       number of tasks submitted, whole for the heuristic, empty for any number
  others      resource per task, one column a resource; columns without numbers are left out
machines.csv has a header and a line for each machine:
  machine     name (column optional)
  user        who brought it (without column and --contributions: everyone the same part)
  count       number of such machines (no column: 1)
  others      capacity, in the unit of the tasks, one column for each resource
--contributions parts.csv is for machines that several users brought together:
  machine     name from machines.csv (no column: every machine)
  user, part  a part in [0, 1]; those of a machine must sum to 1

columns of the result:
  tasks                tasks run in this period
  cumulative_share     dominant shares of all tasks run so far over the part brought; the least is raised first
  sharing_coefficient  used so far over what the user would have used alone, for its scarcest resource
  unserved             tasks left over: lost, or in the queue
  bottleneck           what stops the user: its own bound; a resource that is used up or, with whole tasks, of which
                       the pool has less left than its next task needs; or no machine with room for that task
of the resources:
  mean_use             amount in use, mean over the periods
  utilisation          that over the capacity
  utilisation_alone    the same where everyone uses only the parts that it brought (--alone)""",
        """fairbook periods demands.csv --machines machines.csv
fairbook periods demands.csv --machines machines.csv --unserved waits --explain team-a:3 --verify
fairbook periods demands.csv --machines machines.csv --placement placement.csv
fairbook periods demands.csv --machines machines.csv --contributions parts.csv --output - > shared.csv""",
        bars=False,
    )
    parser.add_argument("demands", metavar="demands.csv", help="CSV file, .csv.gz, or - for stdin")
    parser.add_argument("--machines", required=True, metavar="FILE", help="CSV file of machines")
    parser.add_argument("--contributions", metavar="FILE", help="CSV file of the parts of machines that users brought")
    for name, (choices, about) in READINGS["tv_drf"].items():
        parser.add_argument(f"--{name}", choices=choices, default=choices[0], help=f"{about} (default: %(default)s)")
    parser.add_argument(
        "--no-memory", action="store_true", help="share every period as if it were the first, for comparison"
    )
    parser.add_argument(
        "--explain",
        nargs="*",
        metavar="USER:PERIOD",
        help="say why; USER for all its periods, nothing for everyone in the last one",
    )
    add_output(parser, "the rows")
    parser.add_argument(
        "--placement",
        metavar="FILE",
        help="heuristic: also write to .csv how many tasks each user runs on which machine: period, user, machine "
        "(with its number among those that are alike, where machines.csv has a column count), tasks",
    )
    parser.add_argument(
        "--verify", action="store_true", help="check that the numbers hold together; exit code 1 if they do not"
    )
