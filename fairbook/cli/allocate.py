"""``fairbook allocate``: one pool, a CSV file of users, one allocation."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NamedTuple

import fairbook
from fairbook.cli.common import Refused, add_capacity, add_command, add_output, note, progress, whole
from fairbook.cli.reports import Report, check_output, deliver
from fairbook.cli.tables import Table, given_capacities, read_table, resource_columns, row_names
from fairbook.errors import InvalidInput
from fairbook.mechanisms import Mechanism, registry
from fairbook.progress import bar

if TYPE_CHECKING:
    import pandas as pd


#: What this command offers, by name.
RULES = {name: row for name, row in registry.items() if row.kind in ("pool", "arrivals")}
_WHOLE = "drf_by_task"


class Instance(NamedTuple):
    """What a CSV file of users says, checked as far as the file goes; entries are checked by the mechanisms."""

    table: Table
    demands: pd.DataFrame
    weights: list[float] | None
    max_tasks: list[float] | None
    weight_column: str
    bound_column: str

    def in_the_file(self, error: InvalidInput) -> str:
        """Say where in the file an entry stands that the library refused."""
        columns = {"demands": self.demands.columns, "weights": [self.weight_column], "max_tasks": [self.bound_column]}
        if error.argument not in columns or not error.index:
            return str(error)
        row, *column = error.index
        if error.argument == "demands" and not column:
            place = f"{self.table.source}, line {self.table.lines[row]}: the demands"
        else:
            place = self.table.at(row, str(columns[error.argument][column[0] if column else 0])) + ":"
        return f"{place} {error.complaint}"


def read_users(options: argparse.Namespace) -> Instance:
    import pandas as pd

    table = read_table(options.users)
    weight, bound = options.weights or "weight", options.max_tasks or "max_tasks"
    for column, given in ((weight, options.weights), (bound, options.max_tasks)):
        if given is not None and column not in table.columns:
            raise Refused(f"{table.source}: has no column {column!r}, only {', '.join(table.columns)}")
    if weight == bound or "user" in (weight, bound):
        raise Refused(f"{table.source}: column {weight if weight == bound else 'user'!r} cannot serve twice")
    resources = resource_columns(table, {"user", "weight", "max_tasks", weight, bound})
    users = row_names(table, "user")
    demands = pd.DataFrame({column: table.numbers(column) for column in resources}, index=pd.Index(users, dtype=object))
    return Instance(
        table,
        demands,
        table.numbers(weight) if weight in table.columns else None,
        table.numbers(bound, unbounded=True) if bound in table.columns else None,
        weight,
        bound,
    )


def _allocate(options: argparse.Namespace) -> int:
    rule = RULES[options.mechanism]
    check_output(options.users, options.output)
    if options.after is not None and rule.kind != "arrivals":
        raise Refused(f"--after needs a mechanism with arrivals; {rule.name} has none")
    if options.stuck is not None and rule.name != _WHOLE:
        raise Refused(f"--stuck belongs to {_WHOLE}, not to {rule.name}")
    if options.weights is not None and "weights" not in rule.takes:
        raise Refused(f"--weights does not apply: {rule.name} gives every user an equal part")
    if options.max_tasks is not None and "max_tasks" not in rule.takes:
        raise Refused(f"--max-tasks does not apply: {rule.name} knows no bounds")
    if options.verify and rule.name == _WHOLE:
        raise Refused(f"--verify does not apply: {rule.name} deals in whole tasks, the certificate in divisible ones")
    instance = read_users(options)
    try:
        report = _run(rule, instance, options)
    except InvalidInput as error:
        raise Refused(instance.in_the_file(error)) from None
    deliver(report, options)
    return 1 if report.violations else 0


def _run(rule: Mechanism, instance: Instance, options: argparse.Namespace) -> Report:
    import numpy as np
    import pandas as pd

    from fairbook.model.inputs import as_capacities, as_demands

    capacities = given_capacities(options.capacity, list(instance.demands.columns))
    pool = np.ones(instance.demands.shape[1]) if capacities is None else np.array(capacities)
    weights: Any = instance.weights
    if rule.kind == "arrivals" and "weights" in rule.takes:
        weights = np.ones(len(instance.demands)) if weights is None else np.array(weights)
        if capacities is not None and np.isfinite(weights).all() and (weights > 0).all():
            weights = weights / weights.sum()  # parts of the pool that --capacity describes once all have arrived
    offered = {"weights": weights, "capacities": capacities, "max_tasks": instance.max_tasks, "stuck": options.stuck}
    arguments = {name: value for name, value in offered.items() if name in rule.takes and value is not None}
    for name, column in (("weights", instance.weight_column), ("max_tasks", instance.bound_column)):
        if offered[name] is not None and name not in rule.takes:
            note(f"{rule.name} does not use column {column!r}")
    demands: Any = instance.demands
    if rule.kind == "arrivals" and capacities is not None:
        as_capacities(capacities, len(capacities))
        as_demands(demands)  # before division, so that what is refused is what the file says
        demands = demands / pool
    allocation = getattr(fairbook, rule.name)(demands, **arguments)
    steps = {} if rule.kind != "arrivals" else {"k": len(demands) if options.after is None else options.after}
    users = allocation.to_frame(**steps)
    present = len(users)
    if rule.kind == "arrivals":
        pool = pool * allocation.weights[:present].sum()
    use = users["tasks"].to_numpy() @ instance.demands.to_numpy()[:present]
    resources = pd.DataFrame(
        {"capacity": pool, "use": use, "utilisation": use / pool}, index=pd.Index(demands.columns, name="resource")
    )
    if not np.isfinite(users.select_dtypes("number")).all(axis=None):
        raise Refused("the numbers lie too far apart: a result does not fit a double")
    report = Report(
        users,
        resources,
        {"mechanism": rule.name, "after": options.after},
        "users",
        "each user's bottleneck stops it" if rule.kind == "pool" else "no arrival left room to raise the lowest level",
    )
    if options.explain is not None:
        report.sentences = {name: allocation.explain(name, **steps) for name in options.explain or users.index}
    if options.verify:
        report.violations = _violations(allocation, steps, options)
    return report


def _violations(allocation: Any, steps: dict[str, int], options: argparse.Namespace) -> list[str]:
    """Run the certificate; where users arrive, the certificate of every step up to the one shown."""
    if not steps:
        return list(allocation.violations())
    numbers = bar(range(1, steps["k"] + 1), shown=progress(options), desc="arrivals", leave=False)
    return [f"after arrival {k}: {text}" for k in numbers for text in allocation.violations_at(k)]


def add_allocate(commands: Any) -> None:
    rules = "\n".join(f"  {rule.name:<15} {rule.about}" for rule in RULES.values())
    parser = add_command(
        commands,
        "allocate",
        _allocate,
        "allocate resources to the users of a CSV file",
        f"""

The file has a header and a line for each user:
  user        name (else users are numbered from 1)
  weight      entitlement, or with arrivals the amount of every resource that the user brings (else equal)
  max_tasks   bound on the user's tasks, empty for none (column optional)
  others      resource per task, one column a resource; columns without numbers are left out
Without --capacity the pool is 1 of each resource; with arrivals it is what the users bring.
With arrivals and --capacity the pool is that once all are there, and weights are parts of it.

mechanisms:
{rules}""",
        """fairbook allocate users.csv
fairbook allocate users.csv --capacity cpu=9 memory=18 --explain team-a
fairbook allocate users.csv --mechanism dmfa_srq --after 3 --verify
zcat users.csv.gz | fairbook allocate - --output - > allocation.csv""",
    )
    parser.add_argument("users", metavar="users.csv", help="CSV file, .csv.gz, or - for stdin")
    parser.add_argument("--mechanism", choices=list(RULES), default="drf", help="default: %(default)s")
    add_capacity(parser)
    parser.add_argument("--weights", metavar="COLUMN", help="column of weights (default: weight, if there is one)")
    parser.add_argument("--max-tasks", metavar="COLUMN", help="column of bounds (default: max_tasks, if there is one)")
    stuck = RULES[_WHOLE].readings["stuck"]
    parser.add_argument(
        "--stuck",
        choices=stuck.values,
        help=f"{_WHOLE}: {stuck.about} (default: {stuck.values[0]})",
    )
    parser.add_argument(
        "--after", type=whole(1), metavar="K", help="show the allocation after arrival K (default: the last)"
    )
    parser.add_argument(
        "--explain", nargs="*", metavar="USER", help="say why these users (default: all) have what they have"
    )
    add_output(parser, "the users' rows")
    parser.add_argument(
        "--verify",
        action="store_true",
        help="check the certificate of fairness, at every arrival; exit code 1 if it fails",
    )
