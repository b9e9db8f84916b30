"""The command line: ``fairbook allocate | completion | warm``.

Every command reads its arguments, calls the library and prints. What a user can get wrong ends in one line
``fairbook: error: ...`` on stderr. The exit code is 0 where all went well, 1 where a check that was asked for came out
negative, 2 after an error, 130 after Ctrl-C and 141 where the reader of a pipe went away.

Neither numpy nor pandas is imported at the head, so that ``fairbook --help`` answers at once; nor is anything
installed for it: argparse does what click or typer would.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import fairbook
from fairbook.cli.common import Parser, serve
from fairbook.cli.completion import add_completion
from fairbook.cli.options import add_allocate
from fairbook.cli.warm import add_warm


def _allocate(options: argparse.Namespace) -> int:
    from fairbook.cli.allocate import allocate  # with numpy and pandas, which the help does without

    return allocate(options)


def _help(options: argparse.Namespace) -> int:
    make_parser().print_help()
    return 0


def make_parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="fairbook",
        description="Fair allocation of several resources: mechanisms of the papers.",
        epilog="""examples:
  fairbook allocate teams.csv --capacity cpu=400 memory=1600 gpu=16 --explain
  fairbook allocate teams.csv --machines nodes.csv --placement --verify

exit codes:
  0 fine; 1 a check came out negative; 2 error, in one line on stderr;
  130 Ctrl-C""",
    )
    parser.add_argument("--version", action="version", version=f"fairbook {fairbook.__version__}")
    parser.set_defaults(run=_help)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    add_allocate(commands, _allocate)
    add_completion(commands, make_parser)
    add_warm(commands)
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
    return serve(make_parser, argv)
