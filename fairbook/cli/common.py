"""What all commands share: how they refuse, print, and declare their options."""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from fairbook.errors import FairbookError

if TYPE_CHECKING:
    import pandas as pd

# No two ways to read the same digits, so that a cell of a hundred thousand of them is refused at once.
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
SAME = 1e-9  # shares and tasks that differ by no more than this part are the same
_FORMULAS = {"=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"}


class Refused(FairbookError):
    """What the user asked for cannot be done; the message says why."""


def shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def few(names: list[str]) -> str:
    """List names, of many the first."""
    return ", ".join(names if len(names) < 10 else [*names[:9], "..."])


def short(value: float) -> str:
    """Write a number for people: four digits, and all that stand before the point."""
    return f"{value:.0f}" if 1000 <= abs(value) < 1e12 else f"{value:.4g}"


def csv_of(frame: pd.DataFrame) -> str:
    """Give a table as CSV. A text that a spreadsheet would run as a formula gets an apostrophe before it.

    A table may come from a stranger and be opened with a double click; the wide signs of East Asian keyboards count,
    too. JSON keeps every text as it is.
    """

    def plain(value: Any) -> Any:
        formula = isinstance(value, str) and value[:1] in _FORMULAS and not NUMBER.fullmatch(value)
        return f"'{value}" if formula else value

    whole = frame.reset_index()
    words = whole.select_dtypes(exclude="number").columns
    whole[words] = whole[words].map(plain)
    return str(whole.rename(columns=plain).to_csv(index=False, lineterminator="\n"))


def note(text: str) -> None:
    """Say one printable line on stderr, whatever names it quotes.

    Where stderr is closed or full nobody hears it, and the exit code must do.
    """
    line = "".join(c if c.isprintable() else " " if c.isspace() else c.encode("unicode_escape").decode() for c in text)
    if sys.stderr is not None:  # print() would take stdout then
        with suppress(OSError):
            print(f"fairbook: {line.strip()}", file=sys.stderr, flush=True)


def progress(options: argparse.Namespace) -> bool:
    """Tell whether bars are drawn: on request, or where stderr is a terminal."""
    return sys.stderr is not None and bool(options.progress or sys.stderr.isatty())


class Parser(argparse.ArgumentParser):
    """A parser that complains in one line."""

    def __init__(self, **arguments: Any) -> None:
        layout = partial(argparse.RawDescriptionHelpFormatter, max_help_position=32)  # room for the longest option
        super().__init__(**arguments, allow_abbrev=False, formatter_class=layout)

    def error(self, message: str) -> NoReturn:
        if wrong := re.search(r"invalid choice: '(.*)' \(choose from (.*)\)$", message):
            from difflib import get_close_matches  # rarely needed, and the help answers at once

            like = get_close_matches(wrong[1].lower().replace("-", "_"), re.findall(r"\w+", wrong[2]), n=1)
            message += f"; did you mean {like[0]}?" if like else ""
        raise Refused(f"{message} (`{self.prog} --help` helps)")


def add_command(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace], int],
    about: str,
    details: str = "",
    examples: str = "",
    *,
    bars: bool = True,
) -> argparse.ArgumentParser:
    epilog = "examples:\n" + "\n".join(f"  {line}" for line in examples.splitlines()) if examples else None
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=about, description=f"{about[0].upper()}{about[1:]}.{details}", epilog=epilog
    )
    if bars:  # else it draws none
        parser.add_argument("--progress", action="store_true", help="draw bars even where stderr is no terminal")
    parser.set_defaults(run=run)
    return parser


def _failed(error: BaseException) -> int:
    """Say what went wrong; after that the interpreter's own flush of stdout has nothing to complain about."""
    if isinstance(error, OSError):
        with suppress(OSError, ValueError):  # stdout is no file, as in a notebook
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return 141
        place = f"{error.filename}: " if isinstance(error.filename, str) else ""
        note(f"error: {place}{error.strerror or error}")
    else:
        note(f"error: {error if isinstance(error, FairbookError) else 'not enough memory'}")
    return 2


def serve(parser: Callable[[], argparse.ArgumentParser], argv: Sequence[str] | None) -> int:
    """Parse arguments, run the command that they name, and give the exit code whatever happens."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        with suppress(OSError):  # it flushes; what cannot be written is told when something is
            sys.stdout.reconfigure(errors="backslashreplace")  # a name the terminal cannot show is no reason to fail
    if sys.stdout is None:
        note("error: stdout is closed, and nothing could be told")
        return 2
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: note(f"warning: {message}")
        try:
            options = parser().parse_args(argv)
            code: int = options.run(options)
            print(end="", flush=True)
            return code
        except SystemExit as stop:  # --help and --version
            return int(stop.code or 0)
        except KeyboardInterrupt:
            note("interrupted")
            return 130
        except (FairbookError, OSError, MemoryError) as error:
            return _failed(error)
