"""``python -m book claims``: the ledger, as it is stored or checked now."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from book.common.results import StaleResult
from fairbook.cli.common import Refused, add_command, progress, shown
from fairbook.files import write_whole
from fairbook.progress import bar

if TYPE_CHECKING:
    import pandas as pd

    from book.common.claims import Claim, Effort

_VERDICTS = ("holds", "partly", "refuted", "undetermined", "reproduced", "not reproduced", "nothing to compare")
_DEPENDS = "depends on the reading"  # is said of a statement, whose readings are claims with different verdicts


def check_paper(paper: str | None, known: set[str]) -> None:
    """Refuse a key that no paper has."""
    if paper is not None and paper not in known:
        raise Refused(f"--paper must be one of {', '.join(sorted(known))}, got {shown(paper)}")


def _chosen(options: argparse.Namespace, known: Iterable[str]) -> list[str]:
    """Give the names of the claims that the options ask for."""
    known = list(known)
    check_paper(options.paper, {name.split(".")[0] for name in known})
    found = [name for name in known if options.paper in (None, name.split(".")[0])]
    for wanted in options.id:
        if not any(f"{name}.".startswith(f"{wanted}.") for name in found):
            raise Refused(f"--id {shown(wanted)} is no claim; `python -m book claims` lists them")
    return [name for name in found if not options.id or any(f"{name}.".startswith(f"{one}.") for one in options.id)]


def _claims(options: argparse.Namespace) -> int:
    from book.common import claims

    if options.output and (options.mutants or not options.output.endswith(".json")):
        raise Refused("--output takes a .json file, and does not go with --mutants")
    if options.effort and not (options.recompute or options.mutants):
        raise Refused("--effort goes with --recompute or --mutants; stored results are of full effort")
    if options.recompute or options.mutants:
        registered = claims.claims()
        chosen = {name: registered[name] for name in _chosen(options, registered)}
        effort = claims.FULL if options.effort == "full" else claims.QUICK
        if options.mutants:
            return _mutants(chosen, effort, options)
        frame = claims.stored.placed(claims.stored.rows(chosen, effort, progress(options)))
    else:
        try:
            frame = claims.ledger()
        except StaleResult as error:
            raise Refused(
                f"{error}; or `python -m book claims --recompute` checks the claims now, with less effort"
            ) from None
        frame = frame[frame["id"].isin(_chosen(options, frame["id"]))]
    if options.verdict:
        told = claims.stored.statements(frame)
        mixed = told.loc[(told["verdict"] == _DEPENDS) & (_DEPENDS in options.verdict), "ids"].explode()
        frame = frame[frame["verdict"].isin(options.verdict) | frame["id"].isin(mixed)]
    if options.output:
        write_whole({Path(options.output): claims.stored.document(frame).encode()})
    _print_claims(frame.reset_index(drop=True), options)
    return 0


def _print_claims(frame: pd.DataFrame, options: argparse.Namespace) -> None:
    from book.common.claims.stored import statements

    if options.format == "csv":
        print(frame.to_csv(index=False, lineterminator="\n"), end="")
    elif frame.empty:
        print("no claim with this verdict")
    elif options.id:
        print(
            "\n\n".join(
                f"{row['id']} ({row['locator']}, {row['variant']}): {row['verdict']}\n"
                + (f"  the paper: {row['says']} (reading: {row['reading']})\n" if row["place"] else "")
                + f"  claimed:  {row['statement']}\n"
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
        padded = shown.apply(lambda column: column.str.ljust(column.str.len().max()))
        print(padded.to_string(index=False, justify="left"))
        print(
            f"\n{len(frame)} claims: "
            + ", ".join(f"{n} {v}" for v, n in frame["verdict"].value_counts(sort=False).items())
        )
        said = statements(frame)
        counted = said[said["apart"] == ""]
        print(
            f"They judge {len(said)} statements of the papers, {len(said) - len(counted)} of them counted apart; "
            "the others: " + ", ".join(f"{n} {v}" for v, n in counted["verdict"].value_counts().items())
        )


def _mutants(chosen: dict[str, Claim], effort: Effort, options: argparse.Namespace) -> int:
    from book.common import claims

    passed = []
    for one in bar(chosen.values(), shown=progress(options), desc="mutants", leave=False):
        caught = claims.check_mutant(one, effort)
        print(
            f"{one.id}: the check {'tells' if caught else 'DOES NOT TELL'} {one.mechanism.name} from {one.mutant.name}",
            flush=True,
        )
        passed += [] if caught else [one.id]
    print(f"{len(chosen) - len(passed)} of {len(chosen)} mutants caught")
    return 1 if passed else 0


def add_claims(commands: Any) -> None:
    parser = add_command(
        commands,
        "claims",
        _claims,
        "print the verdict on every claim of the papers",
        examples="""python -m book claims --verdict refuted "not reproduced"
python -m book claims --id dmfa_srq.figure_1 --recompute
python -m book claims --format csv > ledger.csv
python -m book claims --output ledger.json
python -m book claims --mutants""",
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
        "--verdict",
        nargs="+",
        action="extend",
        choices=(*_VERDICTS, _DEPENDS),
        help="only claims with one of these verdicts, or whose statement has readings with different verdicts",
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
    parser.add_argument("--format", choices=("table", "csv"), default="table", help="default: %(default)s")
    parser.add_argument(
        "--output", metavar="FILE", help="also write them to a .json file to cite, with version, licence and papers"
    )
