"""What all commands share: how they refuse, print, and declare their options."""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from fairbook.errors import FairbookError
from fairbook.progress import bar

if TYPE_CHECKING:
    import pandas as pd

# No two ways to read the same digits, so that a cell of a hundred thousand of them is refused at once.
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_UNIT = re.compile(rf"(?P<number>{NUMBER.pattern})\s*(?P<unit>[A-Za-z%]{{1,9}})", re.ASCII)


_FORMULAS = {"=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"}


class Refused(FairbookError):
    """What the user asked for cannot be done; the message says why."""


def shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def few(names: list[str]) -> str:
    """List names, of many the first."""
    return ", ".join(names if len(names) < 10 else [*names[:9], "..."])


def written(text: str) -> str:
    """Say how a number is to be written, where a text is nearly one."""
    if re.fullmatch(r"[+-]?\d[\d.,']*", text, re.ASCII):  # 1,5 and 1.000,5 and 1'000
        return "; write it with a decimal point and no other mark"
    found = _UNIT.fullmatch(text) if len(text) <= 60 else None
    if found is None:
        return ""
    if found["unit"] == "m":  # thousandths, as Kubernetes writes them
        cores = float(found["number"]) / 1000
        return f"; numbers are plain: convert it to the unit of the column ({cores:g} if that is cores)"
    return f"; numbers are plain, all of a column in one unit: {found['number']} where that is {found['unit']}"


def short(value: float) -> str:
    """Write a number for people: four digits, and all that stand before the point."""
    return f"{value:.0f}" if 1000 <= abs(value) < 1e12 else f"{value:.4g}"


def left_aligned(frame: pd.DataFrame) -> str:
    """Align a table of words to the left."""
    rows = frame.itertuples(index=False, name=None)
    cells = [list(map(str, frame.columns)), *([str(v) for v in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(v.ljust(w) for v, w in zip(row, widths, strict=True)).rstrip() for row in cells)


def csv_of(frame: pd.DataFrame) -> str:
    """Give a table as CSV. A text that a spreadsheet would run as a formula gets an apostrophe before it.

    A table may come from a stranger and be opened with a double click; the wide signs of East Asian keyboards count,
    too. JSON keeps every text as it is.
    """

    def plain(value: Any) -> Any:
        formula = isinstance(value, str) and value[:1] in _FORMULAS and not NUMBER.fullmatch(value)
        return f"'{value}" if formula else value

    whole = frame.reset_index()
    numbers = whole.select_dtypes("number").columns
    whole = whole.apply(lambda column: column if column.name in numbers else column.map(plain)).rename(columns=plain)
    return str(whole.to_csv(index=False, lineterminator="\n"))


def one_line(text: str) -> str:
    """Make one printable line of a message, whatever names it quotes."""
    return "".join(
        c if c.isprintable() else " " if c.isspace() else c.encode("unicode_escape").decode() for c in text
    ).strip()


def note(text: str) -> None:
    """Say one line on stderr; where that is closed or full nobody hears it, and the exit code must do."""
    if sys.stderr is not None:  # print() would take stdout then
        with suppress(OSError):
            print(f"fairbook: {one_line(text)}", file=sys.stderr, flush=True)


def progress(options: argparse.Namespace) -> bool:
    """Tell whether bars are drawn: on request, or where stderr is a terminal."""
    return sys.stderr is not None and bool(options.progress or sys.stderr.isatty())


def counted(items: dict[str, Any], label: str, options: argparse.Namespace) -> Iterator[Any]:
    """Yield the values under a bar that names the one at work."""
    under = bar(items.items(), shown=progress(options), desc=label, leave=False)
    for name, value in under:
        under.set_postfix_str(name)
        yield value


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help with room for the longest option beside its words."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=32)


class Parser(argparse.ArgumentParser):
    """A parser that complains in one line."""

    def __init__(self, **arguments: Any) -> None:
        arguments |= {"allow_abbrev": False, "formatter_class": _Help}
        super().__init__(**arguments)

    def error(self, message: str) -> NoReturn:
        raise Refused(f"{message} (`{self.prog} --help` helps)")


def whole(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"\d{1,18}", text, re.ASCII) or int(text) < least:
            raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}, got {shown(text)}")
        return int(text)

    return read


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


def help_of(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], int]:
    """Give what a command does that is named alone: it prints its help."""

    def run(options: argparse.Namespace) -> int:
        parser.print_help()
        return 0

    return run


def check_paper(paper: str | None, known: set[str]) -> None:
    """Refuse a key that no paper has."""
    if paper is not None and paper not in known:
        raise Refused(f"--paper must be one of {', '.join(sorted(known))}, got {shown(paper)}")


def _leave_stdout() -> None:
    """Point stdout at nothing, so that the interpreter's own flush at the end has nothing to complain about."""
    with suppress(OSError, ValueError):  # not a file, as in a notebook
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say_error(text: str) -> int:
    note(f"error: {text}")
    return 2


def serve(parser: Callable[[], argparse.ArgumentParser], argv: Sequence[str] | None) -> int:
    """Parse arguments, run the command that they name, and give the exit code whatever happens."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        with suppress(OSError):  # it flushes; what cannot be written is told when something is
            sys.stdout.reconfigure(errors="backslashreplace")  # a name the terminal cannot show is no reason to fail
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: note(f"warning: {message}")
        try:
            options = parser().parse_args(argv)
            code: int = options.run(options)
            if sys.stdout is not None:  # closed
                sys.stdout.flush()
            return code
        except SystemExit as stop:  # --help and --version
            return int(stop.code or 0)
        except BrokenPipeError:
            _leave_stdout()
            return 141
        except KeyboardInterrupt:
            note("interrupted")
            return 130
        except FairbookError as error:
            return _say_error(str(error))
        except OSError as error:
            _leave_stdout()
            place = f"{error.filename}: " if isinstance(error.filename, str) else ""
            return _say_error(f"{place}{error.strerror or error}")
        except MemoryError:
            return _say_error("not enough memory")
