"""``fairbook place``: whole tasks on machines of many shapes (GDRF and the rules it is compared with)."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NamedTuple

import fairbook
from fairbook.cli.allocate import Instance, read_users
from fairbook.cli.common import Refused, add_command, add_output, note, progress, whole
from fairbook.cli.reports import Report, check_output, deliver
from fairbook.cli.tables import Table, machine_lines, read_machines
from fairbook.errors import InvalidInput
from fairbook.mechanisms import registry
from fairbook.mechanisms.readings import READINGS

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["add_place"]

#: Options of each rule, by the name of the argument in fairbook.
TAKES = {
    "gdrf": (*READINGS["gdrf"], "seed"),
    "drfh": (*READINGS["drfh"], "weights"),
    "mdrf": (*READINGS["mdrf"], "seed"),
    "per_server_drf": ("weights",),
}
#: What this command offers, by name.
RULES = {name: registry[name] for name in TAKES}


class _Classes(NamedTuple):
    """A CSV file of machines: one line for all that are alike."""

    table: Table
    names: list[str]
    counts: list[int]
    capacities: pd.DataFrame


def _read_classes(source: str, resources: list[str]) -> _Classes:
    import pandas as pd

    from fairbook.model.placement import MOST_MACHINES

    table = read_machines(source, resources)
    names, counts = machine_lines(table, MOST_MACHINES)
    columns = {column: table.numbers(column) for column in resources}
    return _Classes(table, names, counts, pd.DataFrame(columns, index=pd.Index(names, dtype=object)))


def _check_needs(users: Instance, classes: _Classes) -> None:
    """Refuse names that mean something else in the other file, and resources that nobody has."""
    for column in users.demands.columns:
        if column in ("count", "machine"):
            raise Refused(f"{users.table.source}: column {column!r} would be taken for a resource")
        if users.demands[column].any() and not classes.capacities[column].any():
            raise Refused(f"{classes.table.source}, column {column!r}: no machine has any")


def _in_the_files(users: Instance, classes: _Classes, error: InvalidInput) -> str:
    """Say where in the files an entry stands that the library refused."""
    if error.argument != "machines" or not error.index:
        return users.in_the_file(error)
    row, *column = error.index
    if not column:
        return f"{classes.table.source}, line {classes.table.lines[row]}: the machine {error.complaint}"
    return f"{classes.table.at(row, classes.capacities.columns[column[0]])}: {error.complaint}"


def _check_options(options: argparse.Namespace) -> dict[str, Any]:
    """Give the options of the rule that were set; refuse those of other rules and what does not go together."""
    takes, given = TAKES[options.rule], {}
    for name in dict.fromkeys(name for theirs in TAKES.values() for name in theirs):
        value = getattr(options, name)
        if value is not None and name not in takes:
            rules = ", ".join(rule for rule, theirs in TAKES.items() if name in theirs)
            raise Refused(f"--{name.replace('_', '-')} belongs to {rules}, not to {options.rule}")
        if value is not None and name != "weights":
            given[name] = value
    if options.method == "fluid" and options.table == "states":
        raise Refused("--table states does not apply to --method fluid, which deals in fractions of tasks")
    if options.explain is not None and options.table != "users":
        raise Refused("--explain goes with --table users")
    return given


def _place(options: argparse.Namespace) -> int:
    given = _check_options(options)
    for source in (options.users, options.machines):
        check_output(source, options.output)
    if options.users == options.machines == "-":
        raise Refused("only one file can be -, for stdin")
    users = read_users(options)
    classes = _read_classes(options.machines, list(users.demands.columns))
    _check_needs(users, classes)
    if users.weights is not None and "weights" in TAKES[options.rule]:
        given["weights"] = users.weights
    elif users.weights is not None:
        note(f"{options.rule} does not use column {users.weight_column!r}")
    if options.rule != "per_server_drf":
        given["progress"] = progress(options)
    try:
        placed = getattr(fairbook, options.rule)(users.demands, classes.capacities, classes.counts,
                                                 max_tasks=users.max_tasks, **given)
    except InvalidInput as error:
        raise Refused(_in_the_files(users, classes, error)) from None
    report = _report(placed, given, options)
    deliver(report, options)
    return 1 if report.violations else 0


def _state_frame(placed: Any) -> pd.DataFrame:
    """Give a row for machines of one class with the same contents."""
    import pandas as pd

    kinds, machines, tasks = placed.states
    contents = [", ".join(f"{row[i]} {placed.users[i]}" for i in row.nonzero()[0].tolist()) for row in tasks]
    index = pd.MultiIndex.from_arrays([[placed.cell.classes[k] for k in kinds], range(1, len(kinds) + 1)],
                                      names=["class", "state"])
    return pd.DataFrame({"machines": machines, "tasks": tasks.sum(axis=1), "contents": contents}, index=index)


def _report(placed: Any, given: dict[str, Any], options: argparse.Namespace) -> Report:
    import pandas as pd

    cell, whole_tasks = placed.cell, isinstance(placed, fairbook.Placement)
    makers: dict[str, Any] = {"users": placed.to_frame, "machines": placed.machine_frame}
    if whole_tasks:
        makers["states"] = lambda: _state_frame(placed)
    rows = makers.pop(options.table)()
    everything = options.output is not None and options.output.endswith(".json")
    columns = {"capacity": cell.totals, "use": placed.use, "utilisation": placed.utilisation}
    if whole_tasks:
        columns["mean_utilisation"] = placed.mean_utilisation
    terms = {name: value for name, value in given.items() if name not in ("weights", "progress")}
    promise = "no machine has room for a task that somebody still wants" if getattr(placed, "full", False) else \
        "nobody has more than its bound"
    report = Report(rows, pd.DataFrame(columns, index=pd.Index(cell.resources, name="resource")),
                    {"mechanism": placed.mechanism, "terms": terms}, options.table, promise,
                    beside={name: make() for name, make in makers.items()} if everything else {})
    if options.explain is not None:
        report.sentences = {name: placed.explain(name) for name in options.explain or rows.index}
    if options.verify:
        report.violations = placed.violations()
    return report


def add_place(commands: Any) -> None:
    rules = "\n".join(f"  {row.name:<15} {row.about}" for row in RULES.values())
    parser = add_command(
        commands,
        "place",
        _place,
        "place the users' tasks on machines of many shapes (GDRF, DRFH)",
        f"""

users.csv has a header and a line for each user:
  user        name (else users are numbered from 1)
  max_tasks   tasks that the user wants, empty for as many as fit (column optional)
  weight      entitlement, for drfh and per_server_drf (else equal)
  others      resource per task, one column a resource; columns without numbers are left out
machines.csv has a header and a line for each class of machines:
  machine     name of the class (column optional)
  count       number of such machines (no column: 1)
  user        who brought them: read by `fairbook periods`, of no account here
  others      capacity of one, in the unit of the tasks, one column for each resource

rules:
{rules}

tables (--table; a JSON file holds all that there are):
  users       tasks, part of the dominant resource of all machines, what stops the user, machines that it is on
  machines    a row for each class: machines, tasks on them, use as a part of capacity
  states      a row for machines of one class with the same contents (not with --method fluid)""",
        """fairbook place users.csv --machines machines.csv
fairbook place users.csv --machines machines.csv --match same --explain team-a
fairbook place users.csv --machines machines.csv --rule drfh --method first_fit --table states
fairbook place users.csv --machines machines.csv --rule per_server_drf --verify --output placed.json""",
    )
    parser.add_argument("users", metavar="users.csv", help="CSV file, .csv.gz, or - for stdin")
    parser.add_argument("--machines", required=True, metavar="FILE", help="CSV file of machines")
    parser.add_argument("--rule", choices=list(TAKES), default="gdrf", help="default: %(default)s")
    for rule in TAKES:
        for name, (choices, about) in READINGS[rule].items():
            parser.add_argument(f"--{name.replace('_', '-')}", choices=choices,
                                help=f"{rule}: {about} (default: {choices[0]})")
    parser.add_argument("--seed", type=whole(0), metavar="S", help="gdrf, mdrf: of the lots (default: 0)")
    parser.add_argument("--weights", metavar="COLUMN", help="column of weights (default: weight, if there is one)")
    parser.add_argument("--max-tasks", metavar="COLUMN", help="column of bounds (default: max_tasks, if there is one)")
    parser.add_argument("--table", choices=("users", "machines", "states"), default="users",
                        help="what is printed and written (default: %(default)s)")
    parser.add_argument(
        "--explain", nargs="*", metavar="USER", help="say why these users (default: all) have no more tasks"
    )
    add_output(parser, "the rows")
    parser.add_argument(
        "--verify",
        action="store_true",
        help="check capacities, bounds and, where the rule promises it, that no room is left that somebody wants; "
        "exit code 1 if not",
    )
