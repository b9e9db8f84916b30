"""The command line of the laboratory: ``python -m book figures | results | claims | digest | verify``."""

import argparse
import importlib
import inspect
import io
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import parallel_config

from book.common import checkout, results
from book.common.claims.command import add_claims, check_paper
from book.common.raw.digests import DigestReport
from book.common.results import StaleResult
from book.common.stored import stored_results
from fairbook.cli.common import (
    Parser,
    Refused,
    add_command,
    note,
    progress,
    serve,
    shown,
)
from fairbook.files import write_whole
from fairbook.progress import bar

#: The traces that have a digest in ``data/``.
_TRACES = ("google2011", "alibaba2017", "alibaba_gpu2023")


def _whole(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"\d{1,18}", text, re.ASCII) or int(text) < least:
            raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}, got {shown(text)}")
        return int(text)

    return read


def _add_runs(parser: argparse.ArgumentParser) -> None:
    """Declare where repeated runs are computed."""
    parser.add_argument(
        "--workers",
        type=_whole(1),
        metavar="N",
        help="processes that share the repeated runs (default: this one alone)",
    )


def _running(options: argparse.Namespace) -> AbstractContextManager[Any]:
    """Let the runs of a block be computed where the options say."""
    if options.workers:
        return parallel_config("loky", n_jobs=options.workers, inner_max_num_threads=1)
    return nullcontext()


def _figure_names(paper: str) -> list[str]:
    """List the paper's figures that have a frame, by number; the page may draw several as one."""
    study = importlib.import_module(f"book.{paper}.studies")
    return sorted(
        (name for name in dir(study) if re.fullmatch(r"(fig|table)\d+[a-z]?", name)), key=lambda s: (len(s), s)
    )


def _papers() -> list[str]:
    """List the papers that have both studies and figures, with at least one figure in both."""
    both = set(checkout.papers("studies")) & set(checkout.papers("figures"))
    return [key for key in sorted(both) if _figure_names(key)]


def _figures(options: argparse.Namespace) -> int:
    papers = _papers()
    check_paper(options.paper, set(papers))
    wanted = [(key, name) for key in papers if options.paper in (None, key) for name in _figure_names(key)]
    for name in options.only or ():
        if name not in {figure for _, figure in wanted}:
            raise Refused(
                f"--only {shown(name)} is none of the figures {', '.join(dict.fromkeys(f for _, f in wanted))}"
            )
    folder = Path(options.output)
    if folder.exists() and not folder.is_dir():
        raise Refused(f"--output {folder} is not a folder")
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [(key, name) for key, name in wanted if not options.only or name in options.only]
    with _running(options):
        for key, name in bar(chosen, shown=progress(options), desc="figures", leave=False):
            frame = _frame(key, name, options)
            written = {"csv": frame.to_csv(index=False, lineterminator="\n").encode()}
            draw = getattr(importlib.import_module(f"book.{key}.figures"), name, None)
            if draw and options.format != "csv":
                drawn = draw(frame)
                written[options.format] = drawn._repr_svg_().encode() if options.format == "svg" else _png(drawn)
            for suffix, content in written.items():
                target = folder / f"{key}_{name}.{suffix}"
                write_whole({target: content})
                print(target, flush=True)
    return 0


def _frame(key: str, name: str, options: argparse.Namespace) -> pd.DataFrame:
    """Give the frame behind a figure: stored, unless other runs were asked for or what is stored is not fresh.

    A study with ``STORED_FIGURES`` says there which stored table holds a figure's frame, and which rows of it; else the
    table has the name of the figure.
    """
    module = importlib.import_module(f"book.{key}.studies")
    stored, rows = getattr(module, "STORED_FIGURES", {}).get(name, (f"{key}/{name}", {}))
    is_stored = stored in getattr(module, "STORED", {})
    if is_stored and options.runs is None and options.seed is None:
        if _state(stored) == "fresh":
            held = results.load(stored)
            for column, value in rows.items():
                held = held[held[column] == value]
            return held.reset_index(drop=True)
        note(f"{stored} is {_state(stored)} in the store and is computed now")
    asked = {"runs": options.runs, "seed": options.seed, "progress": progress(options)}
    takes = inspect.signature(getattr(module, name)).parameters
    frame: pd.DataFrame = getattr(module, name)(**{k: v for k, v in asked.items() if k in takes and v is not None})
    return frame


def _png(drawn: Any) -> bytes:
    picture = io.BytesIO()
    drawn.figure.savefig(picture, format="png", dpi=200, metadata={"Software": None})
    return picture.getvalue()


def _state(name: str) -> str:
    """Tell whether a stored result is fresh, stale or missing."""
    try:
        results.load_facts(name)
    except StaleResult as error:
        return "missing" if error.missing else "stale"
    return "fresh"


def _results(options: argparse.Namespace) -> int:
    for flag in ("force", "workers"):
        if getattr(options, flag) not in (None, False) and not options.full:
            raise Refused(f"--{flag} goes with --full")
    known = stored_results(progress=progress(options))
    for name in options.only or ():
        if name not in known:
            raise Refused(f"--only {shown(name)} is none of the stored results {', '.join(known)}")
    chosen = {name: compute for name, compute in known.items() if not options.only or name in options.only}
    with _running(options):
        wanted = [
            (name, one) for name, one in chosen.items() if options.full and (options.force or _state(name) != "fresh")
        ]
        for name, compute in bar(wanted, shown=progress(options), desc="results", leave=False):
            compute()
            print(f"{name}: computed", flush=True)
    states = {name: _state(name) for name in chosen}
    for name, state in states.items():
        print(f"{name}: {state}")
    return 1 if (options.check or options.full) and set(states.values()) - {"fresh"} else 0


def _made(options: argparse.Namespace) -> DigestReport:
    report: DigestReport = importlib.import_module(f"book.common.raw.{options.trace}").digest(options.folder)
    return report


def _digest(options: argparse.Namespace) -> int:
    report = _made(options)
    report.write(options.output)
    print(f"{report}\nwritten to {options.output}")
    return 0


def _verify(options: argparse.Namespace) -> int:
    report = _made(options)
    report.held_against()
    print(f"{report}\nequal to the digest in data/")
    return 0


def make_parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="python -m book",
        description="Draw the figures of the book, keep its stored results, and digest public traces.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    _add_figures(commands)
    _add_results(commands)
    add_claims(commands)
    _add_traces(commands)
    return parser


def _add_figures(commands: Any) -> None:
    parser = add_command(
        commands,
        "figures",
        _figures,
        "write the figures and the frames behind them",
        " Stored frames of full effort are used where they are fresh and neither --runs nor --seed is given.",
        "python -m book figures --output drawings\n"
        "python -m book figures --only fig5 fig6 --runs 50 --format png --output drawings",
    )
    parser.add_argument("--paper", metavar="KEY", help="only this paper")
    parser.add_argument("--only", nargs="+", action="extend", metavar="FIGURE", help="only these, such as fig5")
    parser.add_argument("--runs", type=_whole(1), metavar="N", help="repetitions (default: as in the paper)")
    parser.add_argument("--seed", type=_whole(0), metavar="S", help="root seed (default: that of the book)")
    parser.add_argument("--output", required=True, metavar="DIR", help="folder, made if absent")
    parser.add_argument(
        "--format",
        choices=("svg", "png", "csv"),
        default="svg",
        help="of the drawings; csv writes frames only (default: %(default)s)",
    )
    _add_runs(parser)


def _add_results(commands: Any) -> None:
    parser = add_command(
        commands,
        "results",
        _results,
        "list or refresh the stored results of full effort",
        " A result is stale where the sources or data that made it have changed.",
        "python -m book results\npython -m book results --full --workers 4\n"
        "python -m book results --full --force --only dmfa_srq/fig5",
    )
    parser.add_argument("--check", action="store_true", help="exit code 1 unless all are fresh")
    parser.add_argument(
        "--full",
        action="store_true",
        help="compute what is missing or stale; go on after an interruption by calling it again",
    )
    parser.add_argument("--only", nargs="+", action="extend", metavar="NAME", help="only these results")
    parser.add_argument("--force", action="store_true", help="with --full: compute also what is fresh")
    _add_runs(parser)


def _add_traces(commands: Any) -> None:
    digest = add_command(
        commands,
        "digest",
        _digest,
        "digest the files of a public trace into small tables",
        examples="python -m book digest clusterdata-2011-2 --trace google2011 --output digest",
        bars=False,
    )
    digest.add_argument("--output", required=True, metavar="DIR", help="folder, made if absent")
    verify = add_command(
        commands,
        "verify",
        _verify,
        "compute a digest again and hold it equal to the one in data/",
        examples="python -m book verify clusterdata-2011-2 --trace google2011",
        bars=False,
    )
    for parser in (digest, verify):
        parser.add_argument("folder", metavar="FOLDER", help="the trace as published, in any number of parts")
        parser.add_argument("--trace", choices=_TRACES, required=True, help="which trace")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit code, as :func:`fairbook.cli.main` does."""
    return serve(make_parser, argv)


if __name__ == "__main__":
    sys.exit(main())
