"""``fairbook cluster``: virtual clusters with a bounded slowdown on physical clusters (Liu, Dong, Tian)."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import fairbook
from fairbook.cli.common import NUMBER, Refused, add_command, add_output, note, number, shown, whole
from fairbook.cli.reports import Report, check_output, deliver, keep
from fairbook.cli.tables import Table, need_columns, read_table, row_names
from fairbook.errors import InvalidInput
from fairbook.mechanisms.readings import READINGS

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["add_cluster"]

#: Options of each method, by the name of the argument in fairbook.
_TAKES = {
    "exact": ("node_limit", "seed"),
    "spanning": (),
    "relaxation": ("load",),
    "greedy": ("fit",),
    "mixed_knapsack": ("fit", "load", "general", "small", "top_up"),
    "metagreedy": (),
    "vector_packing": (),
}
_ABOUT = {
    "exact": "the largest least fraction, or as near as the node limit lets the search come",
    "spanning": "the same where a user may be on several clusters",
    "relaxation": "minima first, each on the least loaded cluster (the paper's)",
    "greedy": "all that is wanted first, part of it taken back where it gets tight (the paper's)",
    "mixed_knapsack": "who tolerates little first, at its minimum; the rest like greedy (the paper's Figure 1)",
    "metagreedy": "the best of 16 list rules (Stillwell et al.)",
    "vector_packing": "bisection on the fraction with 21 packing rules (Stillwell et al.)",
}
_SEVERAL = "several"  # stands in place of a cluster where a user is on several


class _Clusters(NamedTuple):
    """Physical clusters, and where each was named."""

    capacities: pd.Series
    places: list[str]
    source: str

    def note_rounding(self) -> None:
        """Say where whole VMs leave a part of the capacity unused."""
        for name, size in self.capacities.items():
            if math.isfinite(size) and size - math.floor(size) > 1e-9:
                note(f"cluster {name!r} holds {math.floor(size)} whole VMs, not {size:g}; --fractions uses all")


def _read(source: str, of: str, columns: tuple[str, ...]) -> tuple[Table, pd.DataFrame]:
    """Read a table of named rows with these columns of numbers."""
    import pandas as pd

    table = read_table(source, of)
    need_columns(table, columns)
    for column in table.columns:
        if column not in (of, *columns):
            note(f"{table.source}: column {column!r} is left out")
    names = pd.Index(row_names(table, of), dtype=object)
    return table, pd.DataFrame({column: table.numbers(column) for column in columns}, index=names)


def _clusters_of(options: argparse.Namespace) -> _Clusters:
    import pandas as pd

    if options.clusters is not None:
        table, frame = _read(options.clusters, "cluster", ("capacity",))
        places = [f"{table.at(row, 'capacity')}:" for row in range(len(frame))]
        return _Clusters(frame["capacity"], places, table.source)
    given: dict[str, float] = {}
    for pair in options.capacity:
        name, sign, text = pair.rpartition("=")
        if (sign and not (name and name.isprintable())) or not NUMBER.fullmatch(text):
            raise Refused(f"--capacity must be given as numbers or as name=number, got {shown(pair)}")
        name = name if sign else str(len(given) + 1)
        if name in given:
            raise Refused(f"--capacity names {shown(name)} twice")
        given[name] = float(text)
    sizes = pd.Series(list(given.values()), index=pd.Index(list(given), dtype=object))
    return _Clusters(sizes, [f"--capacity {shown(pair)}" for pair in options.capacity], "--capacity")


def _in_the_files(table: Table, clusters: _Clusters, error: InvalidInput) -> str:
    """Say where an entry stands that the library refused."""
    rest = error.complaint.replace("whole=False", "--fractions is given")
    if error.argument not in ("max_vms", "tolerance", "capacities") or not error.index:
        return f"{clusters.source}: the clusters {rest}" if error.argument == "capacities" else f"--{error}"
    row = error.index[0]
    return f"{clusters.places[row]} {rest}" if error.argument == "capacities" else (
        f"{table.at(row, error.argument)}: {rest}")


def _check_options(options: argparse.Namespace) -> dict[str, Any]:
    """Give the options of the method that were set; refuse those of other methods and what does not go together."""
    takes, given = _TAKES[options.method], {}
    for name in dict.fromkeys(option for theirs in _TAKES.values() for option in theirs):
        value = getattr(options, name)
        if value is not None and name not in takes:
            methods = ", ".join(method for method, theirs in _TAKES.items() if name in theirs)
            raise Refused(f"--{name.replace('_', '-')} belongs to {methods}, not to {options.method}")
        if value is not None:
            given[name] = value
    if not 0 <= options.low <= options.high < math.inf:
        raise Refused(f"--low must be between 0 and --high, got --low {options.low:g} --high {options.high:g}")
    if options.explain is not None and options.by_cluster:
        raise Refused("--explain does not go with --by-cluster")
    return given


def _cluster(options: argparse.Namespace) -> int:
    given = _check_options(options)
    check_output(options.requests, options.output)
    if options.clusters is not None:
        if options.requests == options.clusters == "-":
            raise Refused("only one file can be -, for stdin")
        if options.output not in (None, "-"):
            keep(options.clusters, options.output, "--output")
    table, asked = _read(options.requests, "user", ("max_vms", "tolerance"))
    clusters = _clusters_of(options)
    if options.method == "spanning" and _SEVERAL in clusters.capacities.index:
        raise Refused(f"{clusters.source}: with --method spanning no cluster can be named {_SEVERAL!r}")
    try:
        shared = fairbook.virtual_cluster(asked["max_vms"], asked["tolerance"], clusters.capacities,
                                          method=options.method, whole=not options.fractions, **given)
    except InvalidInput as error:
        raise Refused(_in_the_files(table, clusters, error)) from None
    if not options.fractions:
        clusters.note_rounding()
    report = _report(shared, given, options)
    deliver(report, options)
    return 1 if report.violations else 0


def _cluster_rows(shared: fairbook.VirtualClusters) -> pd.DataFrame:
    table = shared.by_cluster.T
    contents = [", ".join(f"{row[i]:g} {shared.users[i]}" for i in row.nonzero()[0].tolist()) for row in table]
    return shared.cluster_frame().assign(contents=contents)


def _report(shared: fairbook.VirtualClusters, given: dict[str, Any], options: argparse.Namespace) -> Report:
    import numpy as np
    import pandas as pd

    with np.errstate(over="ignore"):
        users = shared.to_frame().assign(cost=shared.cost(options.high, options.low))
        revenue = shared.revenue(options.high, options.low)
    if not np.isfinite(revenue):
        raise Refused(f"--high {options.high:g} is too much: what all pay does not fit a double")
    summary = {
        "min_fraction": shared.min_fraction, "bound": shared.bound, "optimal": shared.optimal,
        "served_fraction": shared.served_fraction, "turned_away": int((~shared.served).sum()),
        "slack": shared.slack.sum(), "revenue": revenue,
    }
    tables = {"users": users, "clusters": _cluster_rows(shared)}
    chosen = "clusters" if options.by_cluster else "users"
    rows = tables.pop(chosen)
    everything = options.output is not None and options.output.endswith(".json")
    terms = {"whole": not options.fractions, **given, "high": options.high, "low": options.low}
    report = Report(
        rows, pd.DataFrame(summary, index=pd.Index([options.method], name="method")),
        {"mechanism": "virtual_cluster", "terms": {"method": options.method, **terms}}, chosen,
        "whoever is served has at least its minimum", beside=tables if everything else {}, second="summary",
    )
    if options.explain is not None:
        report.sentences = {name: shared.explain(name) for name in options.explain or users.index}
    if options.verify:
        report.violations = shared.violations()
    return report


def add_cluster(commands: Any) -> None:
    methods = "\n".join(f"  {name:<15} {about}" for name, about in _ABOUT.items())
    parser = add_command(
        commands,
        "cluster",
        _cluster,
        "give each user a virtual cluster on one of several physical clusters",
        f"""

requests.csv has a header and a line for each user:
  user        name (else users are numbered from 1)
  max_vms     virtual machines (VMs) that the user wants
  tolerance   part of them that may be missing, from 0 to 1; who cannot have the rest is turned away
clusters.csv has a header and a line for each physical cluster:
  cluster     name (else clusters are numbered from 1)
  capacity    VMs that it holds
The least fraction (VMs held of those wanted) is made large. A user pays the high tariff for the part that may not be
missing, max_vms (1 - tolerance), not rounded up, and the low one for what it has above that.

methods:
{methods}

The summary says how large the least fraction is (0 if a user is turned away), what bound was proved on it (optimal:
it is reached), the least fraction among those served, how many were turned away, VMs that remain, and what all pay.""",
        """fairbook cluster requests.csv --clusters clusters.csv
fairbook cluster requests.csv --capacity north=120 south=80 --explain team-a
fairbook cluster requests.csv --clusters clusters.csv --method greedy --by-cluster
fairbook cluster requests.csv --capacity 120 80 --fractions --high 3 --low 0.5 --output shared.json""",
        bars=False,
    )
    parser.add_argument("requests", metavar="requests.csv", help="CSV file, .csv.gz, or - for stdin")
    pool = parser.add_mutually_exclusive_group(required=True)
    pool.add_argument("--clusters", metavar="FILE", help="CSV file of physical clusters")
    pool.add_argument("--capacity", nargs="+", action="extend", metavar="[NAME=]NUMBER", help="VMs of each cluster")
    parser.add_argument("--method", choices=list(_TAKES), default="exact", help="default: %(default)s")
    parser.add_argument("--fractions", action="store_true", help="VMs need not be whole")
    parser.add_argument("--node-limit", type=whole(1), metavar="N",
                        help="exact: places that each search tries at most (default: 300000)")
    parser.add_argument("--seed", type=whole(0), metavar="S", help="exact: of its random fills (default: 0)")
    for name, (choices, about) in READINGS["virtual_cluster"].items():
        methods_ = ", ".join(method for method, theirs in _TAKES.items() if name in theirs)
        parser.add_argument(f"--{name}", choices=choices, help=f"{methods_}: {about} (default: {choices[0]})")
    parser.add_argument("--small", type=whole(0), metavar="N",
                        help="mixed_knapsack: so many users count as few (default: 8)")
    parser.add_argument("--top-up", action="store_true", default=None,
                        help="mixed_knapsack: what is left in the end goes to all, not as printed")
    parser.add_argument("--high", type=number, default=2.0, metavar="PRICE",
                        help="of a VM that the user must have, a unit of time (default: 2)")
    parser.add_argument("--low", type=number, default=1.0, metavar="PRICE", help="of a VM above these (default: 1)")
    parser.add_argument("--by-cluster", action="store_true",
                        help="print and write a row for each cluster; a JSON file holds both tables")
    parser.add_argument(
        "--explain", nargs="*", metavar="USER", help="say why these users (default: all) have no more VMs"
    )
    add_output(parser, "the rows")
    parser.add_argument(
        "--verify", action="store_true",
        help="check capacities, minima and that nobody is on two clusters; exit code 1 if not",
    )
