"""The options of ``fairbook allocate``; what a mechanism's paper leaves open is set by one, from the registry."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Callable
from typing import Any

from fairbook.cli.common import NUMBER, Refused, add_command, shown
from fairbook.mechanisms import Mechanism, registry

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
#: Arguments that tables and other options give; ``ratio`` has no use where a table tells one ratio of release.
TOLD = {
    *("demands", "weights", "capacities", "max_tasks", "min_tasks", "released", "tasks", "machines", "running"),
    *("machine_counts", "contributions", "max_vms", "tolerance", "placement", "progress", "engine", "ratio"),
}


def choose(options: argparse.Namespace, given: str) -> tuple[Mechanism, str]:
    """Give the mechanism for what is given, and why it is this one."""
    name, reason = DEFAULTS[given]
    rule, reason = registry[options.mechanism or name], f"{reason} (--mechanism takes another)"
    if rule.kind not in _READS[given]:
        there = ", ".join(row.name for row in registry.values() if row.kind in _READS[given])
        raise Refused(f"{rule.name} needs {_NEEDS[rule.kind]}; for what is given there are {there}")
    reason = "as asked" if options.mechanism else reason
    if options.whole_tasks and rule.name == "drf":
        return registry["drf_by_task"], f"{reason}; the same in whole tasks"
    return rule, reason


def settings(rule: Mechanism, given: list[str]) -> dict[str, Any]:
    """Read ``--set KEY=VALUE`` into arguments of the mechanism, which checks the values."""
    known = [name for name in rule.takes if name not in TOLD]
    found: dict[str, Any] = {}
    for pair in given:
        name, sign, text = pair.partition("=")
        if not sign or name not in known or name in found:
            words = [f"{key}={'|'.join(rule.readings[key].values)}" if key in rule.readings else key for key in known]
            has = f"{', '.join(words)} to set, each once" if words else "nothing to set"
            raise Refused(f"--set {shown(pair)}: {rule.name} has {has}")
        constants: dict[str, Any] = {"none": None, "true": True, "false": False}
        number = (int if text.isdecimal() and len(text) < 19 else float) if NUMBER.fullmatch(text) else None
        found[name] = number(text) if number else constants.get(text, text)
    return found


def add_allocate(commands: Any, run: Callable[[argparse.Namespace], int]) -> None:
    """Declare the command."""
    brief = {
        row.name: textwrap.shorten(re.split("[;:(]", row.about)[0], 58, placeholder="...") for row in registry.values()
    }
    rules = "\n".join(f"  {name:<17} {about}" for name, about in brief.items())
    parser = add_command(
        commands,
        "allocate",
        run,
        "say who gets what: resources of a pool, places on machines, now or over time",
        f"""

TABLE has a header and a line for each user, or for each user and period:
  user         name: the column user, else the first one of words
  period       also day, date, ...: numbers, dates, or names as they come
  weight       entitlement; with arrivals what a user brings (no column: equal)
  max_tasks    also tasks: how many it has (empty cell, no column: any number)
  min_tasks    drf: how many it has before the others rise (no column: none)
  running      how many of its tasks run now, for --against now
  released     cbdrf: part of its grant that it releases (no column: 1)
  others       resource per task, one column a resource
or, for virtual clusters, user, max_vms (wanted), tolerance (part it may miss)
TABLE may also be JSON of Kubernetes or Slurm: users are namespaces or accounts,
a task is the mean of what one pod or job asks for, in cores, GiB and pieces.

MACHINES has a header and a line for each machine, or for some that are alike:
  machine      name (column optional)
  count        number of such machines (no column: 1)
  user         who brought it (tv_drf); or columns of parts, one for each user
  others       capacity of one machine, by resource; of a cluster: capacity

mechanisms:
{rules}""",
        """fairbook allocate teams.csv --capacity cpu=400 memory=1600 gpu=16 --explain
fairbook allocate teams.csv --machines nodes.csv --placement --against gdrf
fairbook allocate requests.csv --clusters clusters.csv --method greedy
kubectl get nodes,pods -A -o json | fairbook allocate -
squeue --json | fairbook allocate - --machines nodes.json  # sinfo --json""",
    )
    parser.usage = "fairbook allocate TABLE [--capacity R=N ... | --machines FILE] [options]"
    add = parser.add_argument
    add("table", metavar="TABLE", help="CSV file, .csv.gz, JSON, or - for stdin")
    pool = parser.add_mutually_exclusive_group()
    pool.add_argument(
        "--capacity",
        nargs="+",
        action="extend",
        default=[],
        metavar="R=N",
        help="how much there is of each resource or cluster",
    )
    pool.add_argument("--machines", "--clusters", metavar="FILE", help="file of machines, or of clusters")
    add("--mechanism", choices=list(registry), metavar="NAME", help="default: by what is given")
    add(
        "--method",
        dest="set",
        action="append",
        default=[],
        type="method={}".format,
        metavar="WORD",
        help="same as --set method=",
    )
    add(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="set an argument of the mechanism; `--set x` lists them",
    )
    add("--whole", action="store_true", dest="whole_tasks", help="whole tasks, by the rule or else rounded down")
    add("--users", metavar="FILE", help="weights, bounds and minima of an export's users")
    add("--all-nodes", action="store_true", help="count nodes closed to pods and jobs, too")
    add("--user-column", metavar="NAME", help="column, label of pods, or field of jobs")
    add("--placement", action="store_true", help="show whose tasks are on which machine")
    add("--explain", nargs="*", metavar="USER", help="what stops them (USER:PERIOD), and what more would do")
    add("--against", choices=["now", *registry], metavar="WHAT", help="compare with a mechanism, or with `now`")
    add("--verify", action="store_true", help="check the result; exit code 1 if it is wrong")
    add("--output", metavar="FILE", help="write rows to .csv, all to .json; - prints CSV")
