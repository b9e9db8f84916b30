"""The options of ``fairbook allocate``: those of the mechanisms come from their registry."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from fairbook.cli.common import Refused, add_command, number, whole
from fairbook.mechanisms import Mechanism, registry
from fairbook.mechanisms.readings import READINGS

#: What is taken where no mechanism is named, by what is given, and why: the guide of the book's comparison.
DEFAULTS = {
    "pool": ("drf", "the simplest of those that keep every promise which one pool allows"),
    "export": ("drf", "an export says what users ask for in all, and it keeps every promise which one pool allows"),
    "machines": ("drfh", "it leaves nothing idle that fits, and losses against dividing up the machines are smallest"),
    "phases": ("karma", "it remembers: who was idle has more later, and the least user has most over time"),
    "released": ("cbdrf", "the table says what users release, and no other mechanism counts that"),
    "periods": ("tv_drf", "it remembers, places whole tasks on machines, and its least user has most over time"),
    "clusters": ("virtual_cluster", "no other mechanism knows virtual machines and a tolerated loss"),
}
#: The kinds of mechanisms that can read what is given, by the same names.
_READS = {
    "pool": ("pool", "arrivals"),
    "export": ("pool", "machines", "arrivals"),
    "machines": ("machines", "pool", "arrivals"),
    "phases": ("phases",),
    "released": ("phases",),
    "periods": ("periods", "phases"),
    "clusters": ("clusters",),
}
_NEEDS = {
    "pool": "a table without periods",
    "arrivals": "a table without periods",
    "machines": "a table without periods, and --machines",
    "phases": "a column of periods (period, day, date, ...)",
    "periods": "a column of periods (period, day, date, ...), and --machines",
    "clusters": "columns max_vms and tolerance, and --clusters or --capacity",
}
_NO_CAP = object()


def _cap(text: str) -> Any:
    try:
        return _NO_CAP if text == "none" else number(text)
    except argparse.ArgumentTypeError as wrong:
        raise argparse.ArgumentTypeError(str(wrong).replace("a number", "a number, or `none`")) from None


#: Options with a number, by argument: how it is read, and what it says.
_NUMBERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "rho": (number, "cbdrf: part of its grant that a user must release to comply (default: 0.75)"),
    "step_up": (number, "cbdrf: credit gained by complying (default: 0.1)"),
    "step_down": (number, "cbdrf: credit lost by not complying (default: 0.1)"),
    "initial_credit": (number, "credit at the start (default: cbdrf 1; karma the number of periods)"),
    "credit_cap": (_cap, "cbdrf: highest credit, or `none` (default: the initial credit)"),
    "credit_floor": (number, "cbdrf: lowest credit (default: 0)"),
    "alpha": (number, "karma: part of the pool that is guaranteed (default: 0.5)"),
    "seed": (whole(0), "gdrf, mdrf: of the lots; virtual_cluster: of the random fills of exact (default: 0)"),
    "node_limit": (whole(1), "virtual_cluster, exact: places that all searches try at most (default: 10000000)"),
    "small": (whole(0), "virtual_cluster, mixed_knapsack: so many users count as few (default: 8)"),
}
#: Switches, by argument: the option, what it sets the argument to, and what it says.
_SWITCHES = {
    "top_up": ("--top-up", True, "virtual_cluster, mixed_knapsack: what is left goes to all, not as printed"),
    "whole": ("--fractions", False, "virtual_cluster: virtual machines need not be whole"),
    "memory": ("--no-memory", False, "tv_drf: share every period as if it were the first, for comparison"),
}
#: The methods of virtual_cluster, and the options that each takes.
METHODS = {
    "exact": ("node_limit", "seed"),
    "spanning": (),
    "relaxation": ("load",),
    "greedy": ("fit",),
    "mixed_knapsack": ("fit", "load", "general", "small", "top_up"),
    "metagreedy": (),
    "vector_packing": (),
}
_HIDDEN = {"ratio"}  # a table says one ratio of release, so there is nothing to make one of


def flag(argument: str) -> str:
    """Give the option that sets an argument of a mechanism."""
    return _SWITCHES[argument][0] if argument in _SWITCHES else f"--{argument.replace('_', '-')}"


def choose(options: argparse.Namespace, given: str) -> tuple[Mechanism, str]:
    """Give the mechanism for what is given, and why it is this one."""
    if options.mechanism is None:
        name, reason = DEFAULTS[given]
        return registry[name], f"{reason} (--mechanism takes another)"
    rule = registry[options.mechanism]
    if rule.kind not in _READS[given]:
        raise Refused(
            f"{rule.name} needs {_NEEDS[rule.kind]}; for what is given there are "
            f"{', '.join(row.name for row in registry.values() if row.kind in _READS[given])}"
        )
    return rule, "as asked"


def terms_of(rule: Mechanism, options: argparse.Namespace) -> dict[str, Any]:
    """Give the arguments of the mechanism that were set; refuse those of others."""
    terms: dict[str, Any] = {}
    for name in [*_readings(), *_NUMBERS, *_SWITCHES]:
        value = getattr(options, name)
        if value is None:
            continue
        if name not in rule.takes:
            others = ", ".join(row.name for row in registry.values() if name in row.takes)
            raise Refused(f"{flag(name)} belongs to {others}, not to {rule.name}")
        terms[name] = None if value is _NO_CAP else value
    method = METHODS.get(terms.get("method", "exact"), ()) if rule.kind == "clusters" else ()
    for name in terms.keys() & {name for takes in METHODS.values() for name in takes}:
        if rule.kind == "clusters" and name not in method:
            others = ", ".join(one for one, takes in METHODS.items() if name in takes)
            raise Refused(f"{flag(name)} belongs to --method {others}")
    if options.after is not None and rule.kind != "arrivals":
        others = ", ".join(row.name for row in registry.values() if row.kind == "arrivals")
        raise Refused(f"--after belongs to {others}, not to {rule.name}")
    return terms


def _readings() -> dict[str, list[str]]:
    """Give what is said of each choice that a paper leaves open, by argument."""
    found: dict[str, list[str]] = {}
    for mechanism, readings in READINGS.items():
        for name, (values, about) in readings.items():
            found.setdefault(name, []).append(f"{mechanism}: {about} ({', '.join(values)}; default: {values[0]})")
    found["method"].append(f"virtual_cluster: {', '.join(METHODS)} (default: exact)")
    return {name: said for name, said in found.items() if name not in _HIDDEN}


def _run(options: argparse.Namespace) -> int:
    from fairbook.cli.allocate import allocate  # with numpy and pandas, which the help does without

    return allocate(options)


def add_allocate(commands: Any) -> None:
    """Declare the command."""
    rules = "\n".join(f"  {row.name:<15} {row.about}" for row in registry.values())
    parser = add_command(
        commands,
        "allocate",
        _run,
        "say who gets what: resources of a pool, places on machines, now or over time",
        f"""

TABLE has a header and a line for each user, or for each user and period:
  user            name: the column user, else the first one of words, else users are numbered from 1
  period          also phase, day, date, ...: numbers and dates are sorted, names stay in the order of the file
  weight          entitlement; with arrivals the part of the pool that the user brings (no column: equal)
  max_tasks       also tasks: how many tasks the user has, empty for any number (no column: any number)
  running         how many of its tasks the user runs now, for --against now
  released        cbdrf: part of its grant that the user releases at the end of the period (no column: 1)
  others          resource per task, one column a resource; columns without numbers are left out
or, for virtual clusters, user, max_vms (virtual machines wanted) and tolerance (part of them that may be missing).

TABLE may also be what a scheduler exports as JSON: `kubectl get nodes,pods -A -o json`, or `squeue --json` with
`sinfo --json` as --machines. Users are then namespaces, or accounts, and a task is the mean of what one pod or job
asks for. Units are cores for cpu, GiB for memory and all that is counted in bytes, and pieces for the rest: GPUs.

What there is comes from --capacity, or from the machines; a pool has all that they have together. A table of machines
has a header and a line for each machine, or for some that are alike:
  machine         name (column optional)
  count           number of such machines (no column: 1)
  user            who brought it (tv_drf); or a column for each user with the part that it brought; or neither
  others          capacity of one machine, one column for each resource; of a cluster: capacity

mechanisms:
{rules}""",
        """fairbook allocate teams.csv --capacity cpu=400 memory=1600 gpu=16
fairbook allocate teams.csv --capacity cpu=400 memory=1600 gpu=16 --whole --explain etl
fairbook allocate teams.csv --machines nodes.csv --placement
fairbook allocate teams.csv --machines nodes.csv --against gdrf
fairbook allocate cluster.json
fairbook allocate jobs.json --machines nodes.json --against now
fairbook allocate days.csv --machines nodes.csv --explain etl:Tuesday
fairbook allocate days.csv --capacity cpu=400 memory=1600 --mechanism cbdrf --grant capped
fairbook allocate requests.csv --clusters clusters.csv --method greedy
zcat teams.csv.gz | fairbook allocate - --machines nodes.csv --output - > allocation.csv""",
    )
    parser.add_argument(
        "table", metavar="TABLE", help="CSV file of users, .csv.gz, JSON of a scheduler, or - for stdin"
    )
    parser.add_argument(
        "--mechanism", choices=list(registry), metavar="NAME", help="default: by what is given; the output names it"
    )
    pool = parser.add_mutually_exclusive_group()
    pool.add_argument(
        "--capacity",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=NUMBER",
        help="how much there is of each resource (virtual clusters: on each cluster)",
    )
    pool.add_argument("--machines", "--clusters", metavar="FILE", help="CSV file of machines, or of clusters")
    parser.add_argument(
        "--user-column", metavar="NAME", help="the column with names of users; the label of pods, the field of jobs"
    )
    parser.add_argument(
        "--against",
        choices=["now", *registry],
        metavar="WHAT",
        help="compare with another mechanism on the same table: who would gain or lose how much; or, with `now`, with "
        "what users hold: who is below its fair share (default: now, for exports)",
    )
    parser.add_argument(
        "--whole",
        action="store_true",
        dest="whole_tasks",
        help="whole tasks: by the mechanism's own rule, or else rounded down",
    )
    parser.add_argument("--placement", action="store_true", help="show whose tasks are on which machine")
    parser.add_argument(
        "--after", type=whole(1), metavar="K", help="arrivals: show the allocation after arrival K (default: the last)"
    )
    parser.add_argument(
        "--explain",
        nargs="*",
        metavar="USER[:PERIOD]",
        help="say what stops these users (default: all, in the last period) and what a little more of it would change",
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="check the result by its violations(), for arrivals at each of them; exit code 1 if any is found",
    )
    parser.add_argument(
        "--output", metavar="FILE", help="also write the users' rows to .csv or everything to .json; - prints only CSV"
    )
    for name, said in _readings().items():
        parser.add_argument(flag(name), metavar="WORD", help="; ".join(said))
    for name, (read, about) in _NUMBERS.items():
        parser.add_argument(flag(name), type=read, metavar="NUMBER", help=about)
    for name, (option, value, about) in _SWITCHES.items():
        parser.add_argument(option, dest=name, action="store_const", const=value, help=about)
