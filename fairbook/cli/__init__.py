"""The command line: ``fairbook allocate | phases | periods | place | cluster | claims | traces``.

Every command reads its arguments, calls the library and prints. What a user can get wrong ends in one line
``fairbook: error: ...`` on stderr. The exit code is 0 where all went well, 1 where a check that was asked for came out
negative, 2 after an error, 130 after Ctrl-C and 141 where the reader of a pipe went away.

Only the standard library is imported at the head, so that ``fairbook --help`` answers at once.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import fairbook
from fairbook.cli.allocate import add_allocate
from fairbook.cli.claims import add_claims
from fairbook.cli.cluster import add_cluster
from fairbook.cli.common import Parser, serve
from fairbook.cli.periods import add_periods
from fairbook.cli.phases import add_phases
from fairbook.cli.place import add_place
from fairbook.cli.traces import add_traces

__all__ = ["main"]


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="fairbook",
        description="Fair allocation of several resources: mechanisms of five papers, and verdicts on their claims.",
        epilog="""examples:
  fairbook allocate users.csv --capacity cpu=9 memory=18 --explain
  fairbook allocate users.csv --mechanism dmfa_srq --verify --output allocation.csv
  fairbook phases phases.csv --grant capped --credit-cap 1 --explain team-a:3
  fairbook periods demands.csv --machines machines.csv --unserved waits --explain
  fairbook place users.csv --machines machines.csv --rule gdrf --explain
  fairbook cluster requests.csv --capacity north=120 south=80 --explain
  fairbook claims --verdict refuted

exit codes: 0 fine; 1 a check came out negative; 2 error, in one line on stderr; 130 Ctrl-C""",
    )
    parser.add_argument("--version", action="version", version=f"fairbook {fairbook.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    for add in (add_allocate, add_phases, add_periods, add_place, add_cluster, add_claims, add_traces):
        add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    int
        0 fine; 1 a check came out negative; 2 an error, said in one line on stderr; 130 Ctrl-C; 141 broken pipe.

    Examples
    --------
    >>> main(["--version"])
    fairbook ...
    0
    """
    return serve(_parser, argv)
