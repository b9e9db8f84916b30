"""The command line: ``fairbook allocate | phases | periods | place | cluster | claims | figures | results | traces``.

Every command reads its arguments, calls the library and prints. What a user can get wrong ends in one line
``fairbook: error: ...`` on stderr. The exit code is 0 where all went well, 1 where a check that was asked for came out
negative, 2 after an error, 130 after Ctrl-C and 141 where the reader of a pipe went away.

Only the standard library is imported at the head, so that ``fairbook --help`` answers at once.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import fairbook
from fairbook._files import write_whole
from fairbook.cli._allocate import add_allocate
from fairbook.cli._cluster import add_cluster
from fairbook.cli._common import (
    Parser,
    Refused,
    add_command,
    add_runs,
    counted,
    left_aligned,
    note,
    one_line,
    progress,
    running,
    shown,
    whole,
)
from fairbook.cli._periods import add_periods
from fairbook.cli._phases import add_phases
from fairbook.cli._place import add_place
from fairbook.errors import FairbookError, InvalidInput, MissingDependency

if TYPE_CHECKING:
    import pandas as pd

    from fairbook.claims import Claim

__all__ = ["main"]

_VERDICTS = ("holds", "partly", "refuted", "undetermined", "reproduced", "not reproduced", "nothing to compare")


# ---------------------------------------------------------------------------------------------------- claims


def _chosen_claims(options: argparse.Namespace) -> dict[str, Claim]:
    from fairbook import claims

    registered = claims.claims()
    _check_paper(options.paper, {one.paper for one in registered.values()})
    found = {key: one for key, one in registered.items() if options.paper in (None, one.paper)}
    if not options.id:
        return found
    for wanted in options.id:
        if not any(key == wanted or key.startswith(wanted + ".") for key in found):
            raise Refused(f"--id {shown(wanted)} is no claim; `fairbook claims` lists them")
    return {
        key: one
        for key, one in found.items()
        if any(key == wanted or key.startswith(wanted + ".") for wanted in options.id)
    }


def _claims(options: argparse.Namespace) -> int:
    from fairbook import claims

    chosen = _chosen_claims(options)
    effort = claims.FULL if options.effort == "full" else claims.QUICK
    if options.output and (options.mutants or not options.output.endswith(".json")):
        raise Refused("--output takes a .json file, and does not go with --mutants")
    if options.mutants:
        return _mutants(chosen, options)
    if options.effort and not options.recompute:
        raise Refused("--effort goes with --recompute or --mutants; stored results are of full effort")
    if options.recompute:
        import pandas as pd

        rows = [claims.compute(one, effort) for one in counted(chosen, "claims", options)]
        frame = pd.DataFrame(rows, columns=list(claims.registry.COLUMNS))
    else:
        try:
            frame = claims.ledger(paper=options.paper)
        except fairbook.StaleResult as error:
            raise Refused(
                f"{error}; or `fairbook claims --recompute` checks the claims now, with less effort"
            ) from None
        frame = frame[frame["id"].isin(list(chosen))]
    if options.verdict:
        frame = frame[frame["verdict"].isin(options.verdict)]
    if options.output:
        from fairbook.claims.listing import document

        write_whole({Path(options.output): document(frame).encode()})
    _print_claims(frame.reset_index(drop=True), options)
    return 0


def _print_claims(frame: pd.DataFrame, options: argparse.Namespace) -> None:
    if options.format == "csv":
        print(frame.to_csv(index=False, lineterminator="\n"), end="")
    elif options.format == "json":
        print(frame.to_json(orient="records", indent=1, force_ascii=False))
    elif frame.empty:
        print("no claim with this verdict")
    elif options.format == "markdown":
        from fairbook.tables import myst

        print(myst(frame))
    elif options.id:
        print(
            "\n\n".join(
                f"{row['id']} ({row['locator']}, {row['variant']}): {row['verdict']}\n  claimed:  {row['statement']}\n"
                f"  evidence: {row['evidence']}\n  grade:    {row['grade']}; {row['effort']} effort, {row['seconds']} s"
                for _, row in frame.iterrows()
            )
        )
    else:
        width = shutil.get_terminal_size((10_000, 24)).columns if sys.stdout.isatty() else 10_000
        shown = frame[["id", "locator", "verdict", "grade"]]
        left = width - len(shown.to_string(index=False, justify="left").split("\n")[0]) - 2
        if left >= 20:
            shown = shown.assign(statement=[s if len(s) <= left else s[: left - 3] + "..." for s in frame["statement"]])
        print(left_aligned(shown))
        print(
            f"\n{len(frame)} claims: "
            + ", ".join(f"{n} {v}" for v, n in frame["verdict"].value_counts(sort=False).items())
        )


def _mutants(chosen: dict[str, Claim], options: argparse.Namespace) -> int:
    from fairbook import claims

    effort = claims.FULL if options.effort == "full" else claims.QUICK
    passed = []
    for one in counted(chosen, "mutants", options):
        caught = claims.check_mutant(one, effort)
        print(
            f"{one.id}: the check {'tells' if caught else 'DOES NOT TELL'} {one.mechanism.name} from {one.mutant.name}",
            flush=True,
        )
        passed += [] if caught else [one.id]
    print(f"{len(chosen) - len(passed)} of {len(chosen)} mutants caught")
    return 1 if passed else 0


# --------------------------------------------------------------------------------------------------- figures


def _figure_names(paper: str) -> list[str]:
    """List the figures that have both a frame and a drawing, by number."""
    import importlib

    study, drawing = (importlib.import_module(f"fairbook.{room}.{paper}") for room in ("studies", "figures"))
    both = set(dir(study)) & set(dir(drawing))
    return sorted((name for name in both if re.fullmatch(r"(fig|table)\d+[a-z]?", name)), key=lambda s: (len(s), s))


def _papers() -> list[str]:
    """List the papers that have a room in both studies and figures, with at least one figure in it."""
    import pkgutil

    from fairbook import figures, studies

    both = {m.name for m in pkgutil.iter_modules(studies.__path__)} & {
        m.name for m in pkgutil.iter_modules(figures.__path__)
    }
    return [key for key in sorted(both) if _figure_names(key)]


def _check_paper(paper: str | None, known: set[str]) -> None:
    if paper is not None and paper not in known:
        raise Refused(f"--paper must be one of {', '.join(sorted(known))}, got {shown(paper)}")


def _figures(options: argparse.Namespace) -> int:
    import importlib

    papers = _papers()
    _check_paper(options.paper, set(papers))
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
    with running(options):
        for key, name in counted({f"{key}/{name}": (key, name) for key, name in chosen}, "figures", options):
            frame = _frame(key, name, options)
            written = {"csv": frame.to_csv(index=False, lineterminator="\n").encode()}
            if options.format != "csv":
                drawn = getattr(importlib.import_module(f"fairbook.figures.{key}"), name)(frame)
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
    import importlib
    import inspect

    from fairbook import results

    module = importlib.import_module(f"fairbook.studies.{key}")
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


# --------------------------------------------------------------------------------------------------- results


def _state(name: str) -> str:
    """Tell whether a stored result is fresh, stale or missing."""
    from fairbook import results

    try:
        results.load_facts(name)
    except fairbook.StaleResult as error:
        return "missing" if "is not stored" in str(error) else "stale"
    return "fresh"


def _results(options: argparse.Namespace) -> int:
    from fairbook import results

    for flag in ("force", "workers", "scheduler", "checkpoint"):
        if getattr(options, flag) not in (None, False) and not options.full:
            raise Refused(f"--{flag} goes with --full")
    known = results.stored_results(progress=progress(options))
    for name in options.only or ():
        if name not in known:
            raise Refused(f"--only {shown(name)} is none of the stored results {', '.join(known)}")
    chosen = {name: compute for name, compute in known.items() if not options.only or name in options.only}
    missing = None
    with running(options) as kept:

        def computed(name: str) -> None:
            print(f"{name}: computed", flush=True)
            if kept:
                kept.forget()  # the table holds them now

        if options.full:
            try:
                results.refresh(
                    chosen,
                    force=options.force,
                    over=lambda names: counted({name: name for name in names}, "results", options),
                    computed=computed,
                )
            except MissingDependency as error:
                missing = error  # said last, after what has become of the others
        states = {name: _state(name) for name in chosen}
        if kept and set(states) == set(known) and set(states.values()) == {"fresh"}:
            kept.prune()  # of sources that are gone; what a figure has left there stays
    for name, state in states.items():
        print(f"{name}: {state}")
    if missing is not None:
        raise missing
    return 1 if (options.check or options.full) and set(states.values()) - {"fresh"} else 0


# ---------------------------------------------------------------------------------------------------- traces


class _Trace(NamedTuple):
    """What sets the commands on one trace apart."""

    title: str
    tables: str
    rounded: tuple[str, ...] = ()
    """Arguments of ``digest`` that say to how many digits; none if the digest is never rounded."""
    in_parts: bool = False
    """Comes in many parts, of which some may be missing, and takes long enough to show how far it is."""


_TRACES: Final = {
    "google2011": _Trace("Google ClusterData2011_2", "task_events, machine_events", in_parts=True),
    "alibaba2017": _Trace("Alibaba v2017", "batch_task, server_event", ("memory_digits", "instance_digits")),
    "alibaba_gpu2023": _Trace("Alibaba gpu-v2023", "openb_pod_list_default, openb_node_list_all_node", ("digits",)),
}


def _trace_module(options: argparse.Namespace, *, raw: bool = True) -> Any:
    import importlib

    return importlib.import_module(f"fairbook.traces.{'raw.' if raw else ''}{options.trace}")


def _traces_digest(options: argparse.Namespace) -> int:
    trace, module = _TRACES[options.trace], _trace_module(options)
    if options.exact and not trace.rounded:
        raise InvalidInput("--exact", "must not be given with a trace whose digest is never rounded", options.trace)
    keywords: dict[str, Any] = {}
    if trace.rounded:
        keywords = dict.fromkeys(trace.rounded, None if options.exact else module.SHIPPED_DIGITS)
    if trace.in_parts:
        warnings.simplefilter("always", module.MissingPartsWarning)  # main() restores the filters
        keywords["progress"] = progress(options)
    report = module.digest(options.folder, options.output, **keywords)
    print(f"{report}\nwritten to {report.folder}")
    return 0


def _traces_verify(options: argparse.Namespace) -> int:
    keywords = {"progress": progress(options)} if _TRACES[options.trace].in_parts else {}
    report = _trace_module(options).verify_digest(options.folder, options.digest, **keywords)
    print(f"{report}\nequal to the digest {'of this release' if options.digest is None else 'in ' + options.digest}")
    return 0


def _traces_show(options: argparse.Namespace) -> int:
    facts = _trace_module(options, raw=False).load_digest(options.digest).provenance
    try:
        rows = _digest_rows(facts, _TRACES[options.trace].rounded)
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise Refused(f"{options.digest}: its record is not that of a digest of {options.trace} ({error!r})") from None
    width = max(map(len, rows))
    print("\n".join(f"{one_line(name):<{width}}  {one_line(str(value))}" for name, value in rows.items()))
    return 0


def _digest_rows(facts: dict[str, Any], rounded: tuple[str, ...]) -> dict[str, Any]:
    """Give what is shown of a digest's record."""
    rows: dict[str, Any] = {name: facts[name] for name in ("trace", "licence", "attribution")}
    if "parts" in facts:
        parts = facts["parts"]
        rows["parts"] = (
            f"{len(parts)} of {facts['parts_total']}"
            + (f" ({min(parts)} to {max(parts)})" if parts else "")
            + (f", missing {facts['missing_parts']}" if facts["missing_parts"] else "")
        )
        rows["last event"] = f"{facts['last_time_us'] / 3.6e9:.2f} h"
    for name in rounded:
        if name in facts:
            rows[name.replace("_", " ")] = "all" if facts[name] is None else f"{facts[name]} significant"
    rows |= {name.replace("_", " "): value for name, value in facts["counts"].items()}
    machines = facts["machines"] or {}
    for when in ("at_start", "last_known"):
        if when in machines:
            m = machines[when]
            rows[f"machines {when.replace('_', ' ')}"] = (
                f"{m['machines']} with CPU {m['cpu']:g}, memory {m['memory']:g}"
            )
    if "machines" in machines:
        rows["machines"] = f"{machines['machines']} with {machines['cpu']} cores, memory {machines['memory']:g}" + (
            f" GiB, {machines['gpu']} GPUs" if "gpu" in machines else ""
        )
    return rows | {f"sha256 of {name}": output["sha256"] for name, output in facts["outputs"].items()}


# ---------------------------------------------------------------------------------------------------- parser


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
  fairbook figures --only fig5 --output drawings
  fairbook results --check

exit codes: 0 fine; 1 a check came out negative; 2 error, in one line on stderr; 130 Ctrl-C""",
    )
    parser.add_argument("--version", action="version", version=f"fairbook {fairbook.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    for add in (add_allocate, add_phases, add_periods, add_place, add_cluster, _add_claims, _add_figures, _add_results,
                _add_traces):
        add(commands)
    return parser


def _add_claims(commands: Any) -> None:
    parser = add_command(
        commands,
        "claims",
        _claims,
        "print the verdict on every claim of the papers",
        examples="""fairbook claims --verdict refuted "not reproduced"
fairbook claims --id dmfa_srq.figure_1 --recompute
fairbook claims --format csv > ledger.csv
fairbook claims --output ledger.json
fairbook claims --mutants""",
    )
    parser.add_argument("--paper", metavar="KEY", help="only this paper")
    parser.add_argument(
        "--id",
        nargs="+",
        action="extend",
        default=[],
        metavar="ID",
        help="only these claims, with all their variants and the evidence",
    )
    parser.add_argument(
        "--verdict", nargs="+", action="extend", choices=_VERDICTS, help="only claims with one of these verdicts"
    )
    parser.add_argument(
        "--recompute", action="store_true", help="check the claims now instead of reading stored verdicts"
    )
    parser.add_argument("--effort", choices=("quick", "full"), help="for --recompute and --mutants (default: quick)")
    parser.add_argument(
        "--mutants",
        action="store_true",
        help="run each check on a mechanism broken on purpose; exit code 1 if one passes",
    )
    parser.add_argument(
        "--format", choices=("table", "csv", "json", "markdown"), default="table", help="default: %(default)s"
    )
    parser.add_argument(
        "--output", metavar="FILE", help="also write them to a .json file to cite, with version, licence and papers"
    )


def _add_figures(commands: Any) -> None:
    parser = add_command(
        commands,
        "figures",
        _figures,
        "write the figures and the frames behind them",
        " Stored frames of full effort are used where they are fresh and neither --runs nor --seed is given.",
        "fairbook figures --output drawings\n"
        "fairbook figures --only fig5 fig6 --runs 50 --format png --output drawings",
    )
    parser.add_argument("--paper", metavar="KEY", help="only this paper")
    parser.add_argument("--only", nargs="+", action="extend", metavar="FIGURE", help="only these, such as fig5")
    parser.add_argument("--runs", type=whole(1), metavar="N", help="repetitions (default: as in the paper)")
    parser.add_argument("--seed", type=whole(0), metavar="S", help="root seed (default: that of the book)")
    parser.add_argument("--output", required=True, metavar="DIR", help="folder, made if absent")
    parser.add_argument(
        "--format",
        choices=("svg", "png", "csv"),
        default="svg",
        help="of the drawings; csv writes frames only (default: %(default)s)",
    )
    add_runs(parser)


def _add_results(commands: Any) -> None:
    parser = add_command(
        commands,
        "results",
        _results,
        "list or refresh the stored results of full effort",
        " A result is stale where the sources or data that made it have changed.",
        "fairbook results\nfairbook results --full --workers 4 --checkpoint unfinished\n"
        "fairbook results --full --force --only dmfa_srq/fig5",
    )
    parser.add_argument("--check", action="store_true", help="exit code 1 unless all are fresh")
    parser.add_argument(
        "--full",
        action="store_true",
        help="compute what is missing or stale; go on after an interruption by calling it again (see --checkpoint)",
    )
    parser.add_argument("--only", nargs="+", action="extend", metavar="NAME", help="only these results")
    parser.add_argument("--force", action="store_true", help="with --full: compute also what is fresh")
    add_runs(parser)


def _add_traces(commands: Any) -> None:
    about = "digest public traces and check the digests"
    titles = ", ".join(trace.title for trace in _TRACES.values())
    traces = commands.add_parser("traces", help=about, description=f"{about[0].upper()}{about[1:]} ({titles}).")
    actions = traces.add_subparsers(dest="action", required=True, metavar="ACTION", parser_class=Parser)
    digest = add_command(
        actions,
        "digest",
        _traces_digest,
        "digest the trace's files into small tables",
        examples="fairbook traces digest clusterdata-2011-2 --output digest\n"
        "fairbook traces digest cluster-trace-v2017 --trace alibaba2017 --output digest\n"
        "fairbook traces digest cluster-trace-gpu-v2023/csv --trace alibaba_gpu2023 --output digest",
    )
    digest.add_argument(
        "folder",
        metavar="FOLDER",
        help="folder of the trace as published: "
        + "; ".join(f"{trace.tables} ({name})" for name, trace in _TRACES.items()),
    )
    digest.add_argument("--output", required=True, metavar="DIR", help="folder, made if absent")
    digest.add_argument(
        "--exact",
        action="store_true",
        help="Alibaba: keep every digit (default: 3 significant ones where the shipped digest rounds)",
    )
    verify = add_command(
        actions,
        "verify",
        _traces_verify,
        "compute a digest again and hold it equal to a recorded one",
        examples="fairbook traces verify clusterdata-2011-2",
    )
    verify.add_argument("folder", metavar="FOLDER", help="folder of the trace as published")
    show = add_command(actions, "show", _traces_show, "print what a digest was made of and what it holds", bars=False)
    for parser in (digest, verify, show):
        parser.add_argument(
            "--trace",
            choices=tuple(_TRACES),
            default="google2011",
            help="which trace (default: google2011)",
        )
    for parser in (verify, show):
        parser.add_argument(
            "--digest", metavar="DIR", help="folder of a digest (default: the one that ships with fairbook)"
        )


# ------------------------------------------------------------------------------------------------------ main


def _leave_stdout() -> None:
    """Point stdout at nothing, so that the interpreter's own flush at the end has nothing to complain about."""
    with suppress(OSError, ValueError):  # not a file, as in a notebook
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say_error(text: str) -> int:
    note(f"error: {text}")
    return 2


def _os_error(error: OSError) -> str:
    place = f"{error.filename}: " if isinstance(error.filename, str) else ""
    return f"{place}{error.strerror or error}"


def _check_arguments(argv: Sequence[str]) -> None:
    """Refuse what no shell hands over and no file can be called."""
    for text in argv:
        try:
            os.fsencode(text)
        except UnicodeEncodeError:
            raise Refused(f"the argument {shown(text)} is no text") from None
        if "\0" in text:
            raise Refused(f"the argument {shown(text)} holds a null byte")


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
    if isinstance(sys.stdout, io.TextIOWrapper):
        with suppress(OSError):  # it flushes; what cannot be written is told when something is
            sys.stdout.reconfigure(errors="backslashreplace")  # a name the terminal cannot show is no reason to fail
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: note(f"warning: {message}")
        try:
            _check_arguments(sys.argv[1:] if argv is None else argv)
            options = _parser().parse_args(argv)
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
            return _say_error(_os_error(error))
        except MemoryError:
            return _say_error("not enough memory")
