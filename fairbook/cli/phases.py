"""``fairbook phases``: one pool, phase after phase, with credits."""

from __future__ import annotations

import argparse
from typing import Any

import fairbook
from fairbook.cli.common import Refused, add_capacity, add_command, add_output, note, number
from fairbook.cli.reports import Report, check_output, deliver
from fairbook.cli.tables import given_capacities
from fairbook.cli.timed import MOST_CELLS, Timed, answer, read_timed
from fairbook.errors import InvalidInput
from fairbook.mechanisms import registry

#: What this command offers, by name.
PHASE_RULES = {name: row for name, row in registry.items() if row.kind == "phases"}
_NUMBERS = {
    "rho": "cbdrf: part of its grant that a user must release to comply (default: 0.75)",
    "step_up": "cbdrf: credit gained by complying (default: 0.1)",
    "step_down": "cbdrf: credit lost by not complying (default: 0.1)",
    "initial_credit": "credit at the start (default: cbdrf 1; karma the number of phases)",
    "credit_cap": "cbdrf: highest credit (default: none)",
    "credit_floor": "cbdrf: lowest credit (default: 0)",
    "alpha": "karma: part of the pool that is guaranteed (default: 0.5)",
}
_CHOICES = ("held", "grant", "penalty")


def _read_phases(source: str) -> Timed:
    told = {"credit", "credit_factor", "tasks", "drf_tasks", "complied"}
    read = read_timed(source, "phase", {"released", "max_tasks", "weight"}, told)
    if "weight" in read.table.columns:
        note(f"{read.table.source}: phases know no weights, so that column 'weight' is left out")
    first, last = read.steps[0], read.steps[-1]
    missing = last - first + 1 - len(read.steps)
    if missing:
        note(f"{read.table.source}: {missing} phase(s) between {first} and {last} have no line and are not run")
    return read


def _in_the_file(read: Timed, error: InvalidInput) -> str:
    """Say where in the file an entry stands, or which option it is, that the library refused."""
    place = read.place(error)
    if place is not None:
        return f"{place}: {error.complaint}"
    if error.argument in (*_NUMBERS, *_CHOICES):
        return f"--{error.argument.replace('_', '-')} {error.complaint}"
    return str(error)


def _phases(options: argparse.Namespace) -> int:
    check_output(options.phases, options.output)
    rule = PHASE_RULES[options.rule]
    terms = {name: value for name in (*_NUMBERS, *_CHOICES) if (value := getattr(options, name)) is not None}
    for name in terms:
        if name not in rule.takes:
            other = next(row.name for row in PHASE_RULES.values() if name in row.takes)
            raise Refused(f"--{name.replace('_', '-')} belongs to {other}, not to {rule.name}")
    read = _read_phases(options.phases)
    try:
        report = _run_phases(read, terms, options)
    except InvalidInput as error:
        raise Refused(_in_the_file(read, error)) from None
    deliver(report, options)
    return 1 if report.violations else 0


def _run_phases(read: Timed, terms: dict[str, Any], options: argparse.Namespace) -> Report:
    from dataclasses import asdict, replace

    import numpy as np
    import pandas as pd

    capacities = given_capacities(options.capacity, read.resources)
    if len(read.steps) * len(read.users) * len(read.resources) > MOST_CELLS:
        raise Refused(
            f"{read.table.source}: {len(read.steps)} phases of {len(read.users)} users are too many: the number of "
            f"phases times that of users times that of resources must not pass {MOST_CELLS}"
        )
    demands = read.demands()
    given: dict[str, Any] = {}
    for column, rule, default in (("released", "cbdrf", 1.0), ("max_tasks", "karma", 0.0)):
        if column in read.table.columns:
            if options.rule == rule:
                given[column] = read.spread(column, default, unbounded=column == "max_tasks")
            else:
                note(f"{options.rule} does not use column {column!r}")
    run = getattr(fairbook, options.rule)(demands, capacities, **given, **terms)
    run = replace(run, named_users=tuple(read.users), named_resources=tuple(read.resources))
    rows = run.to_frame()
    rows.index = pd.MultiIndex.from_product([read.steps, read.users], names=["phase", "user"])
    if not np.isfinite(rows.select_dtypes("number")).all(axis=None):
        raise Refused("the numbers lie too far apart: a result does not fit a double")
    use = run.use.mean(axis=0)
    resources = pd.DataFrame(
        {"capacity": run.capacities, "mean_use": use, "utilisation": use / run.capacities},
        index=pd.Index(read.resources, name="resource"),
    )
    promise = "pools, grants and credits follow from phase to phase"
    if options.rule == "cbdrf":
        terms = asdict(run.rule)
    else:
        terms = {"alpha": run.alpha, "initial_credit": float(run.credit[0, 0])}
    report = Report(rows, resources, {"rule": options.rule, "terms": terms}, "phases", promise)
    answer(report, read, run, options)
    return report


def add_phases(commands: Any) -> None:
    rules = "\n".join(f"  {row.name:<15} {row.about}" for row in PHASE_RULES.values())
    parser = add_command(
        commands,
        "phases",
        _phases,
        "allocate from phase to phase, with credits that follow what users do",
        f"""

The file has a header and a line for each phase and user that is present in it, in any order:
  phase       whole number; phases run in the order of their numbers, and those without a line not at all
  user        name
  released    cbdrf: part of its grant that the user releases at the end of the phase (no column: 1)
  max_tasks   karma: bound on the user's tasks, empty for none (no column: no bounds)
  others      resource per task, one column a resource; columns without numbers are left out
Without --capacity the pool is 1 of each resource.

rules:
{rules}""",
        """fairbook phases phases.csv --capacity cpu=500 memory=50000
fairbook phases phases.csv --held stays --grant capped --explain team-a:3 --verify
fairbook phases phases.csv --rule karma --alpha 0.5 --output - > phases-out.csv""",
        bars=False,
    )
    parser.add_argument("phases", metavar="phases.csv", help="CSV file, .csv.gz, or - for stdin")
    parser.add_argument("--rule", choices=list(PHASE_RULES), default="cbdrf", help="default: %(default)s")
    add_capacity(parser)
    for name, about in _NUMBERS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=number, metavar="NUMBER", help=about)
    for name in _CHOICES:
        values, about = PHASE_RULES["cbdrf"].readings[name]
        parser.add_argument(f"--{name}", choices=values, help=f"cbdrf: {about} (default: {values[0]})")
    parser.add_argument(
        "--explain",
        nargs="*",
        metavar="USER:PHASE",
        help="say why; USER for all its phases, nothing for everyone in the last one",
    )
    add_output(parser, "the rows")
    parser.add_argument(
        "--verify", action="store_true", help="check the certificate of every phase; exit code 1 if it fails"
    )
