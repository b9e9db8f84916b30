"""The command line: ``fairbook allocate | phases | claims | figures | results | traces``.

Every command reads its arguments, calls the library and prints. What a user can get wrong ends in one line
``fairbook: error: ...`` on stderr. The exit code is 0 where all went well, 1 where a check that was asked for came out
negative, 2 after an error, 130 after Ctrl-C and 141 where the reader of a pipe went away.

Only the standard library is imported at the head, so that ``fairbook --help`` answers at once.
"""

from __future__ import annotations

import argparse
import codecs
import csv
import gzip
import io
import json
import math
import os
import re
import shutil
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import fairbook
from fairbook._files import write_whole
from fairbook.errors import FairbookError, InvalidInput

if TYPE_CHECKING:
    import pandas as pd

    from fairbook.claims import Claim

__all__ = ["main"]

_LONGEST_LINE = 1 << 20  # characters; a longer line is no table of users
_LONGEST_NAME = 200
_MOST_ROWS = 2000  # of phases times users that are printed
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_MISSING = {"", "na", "n/a", "nan", "+nan", "-nan", "null", "none"}
_INFINITE = {"inf", "+inf", "infinity", "+infinity"}
_VERDICTS = ("holds", "partly", "refuted", "undetermined", "reproduced", "not reproduced")


class _Refused(FairbookError):
    """What the user asked for cannot be done; the message says why."""


# --------------------------------------------------------------------------------------------- the table of users


class _Table(NamedTuple):
    """A CSV file of users: text by column, and the line on which each user stands."""

    source: str
    columns: dict[str, list[str]]
    lines: list[int]

    def at(self, row: int, column: str) -> str:
        return f"{self.source}, line {self.lines[row]}, column {column!r}"

    def numbers(self, column: str, *, unbounded: bool = False) -> list[float]:
        """Give a column as floats; with ``unbounded`` an empty cell or ``inf`` means no bound."""
        found = []
        for row, text in enumerate(self.columns[column]):
            if unbounded and (not text or text.lower() in _INFINITE):
                found.append(math.inf)
            elif text.lower() in _MISSING:
                raise _Refused(f"{self.at(row, column)}: the number is missing, got {text!r}")
            elif not _NUMBER.fullmatch(text):
                raise _Refused(f"{self.at(row, column)}: {_shown(text)} is not a number")
            else:
                found.append(float(text))
        return found

    def is_text(self, column: str) -> bool:
        """Tell whether a column is plainly not meant as numbers: it has entries, and none begins like a number.

        ``4 GB`` and ``1,5`` begin like one, and are errors rather than left out.
        """
        filled = [text for text in self.columns[column] if text.lower() not in _MISSING]
        return bool(filled) and not any(re.match(r"[+-]?\.?\d|[+-]?inf", text, re.ASCII | re.I) for text in filled)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


@contextmanager
def _bytes_of(source: str) -> Iterator[io.BufferedIOBase]:
    """Open a file, or stdin for ``-``, and unpack it where it begins like gzip."""
    try:
        raw: Any = sys.stdin.buffer if source == "-" else open(source, "rb")  # noqa: SIM115
    except ValueError:  # a name with a null byte
        raise _Refused(f"{_shown(source)} is not the name of a file") from None
    try:
        buffered = raw if hasattr(raw, "peek") else io.BufferedReader(raw)
        yield gzip.GzipFile(fileobj=buffered) if buffered.peek(2)[:2] == b"\x1f\x8b" else buffered
    finally:
        if source != "-":
            raw.close()


def _text_lines(stream: io.BufferedIOBase, name: str) -> Iterator[str]:
    """Yield decoded lines, refusing what is no text before it fills the memory."""
    decode = codecs.getincrementaldecoder("utf-8-sig")().decode
    number = 0
    while line := stream.readline(_LONGEST_LINE + 1):
        number += 1
        if len(line) > _LONGEST_LINE:
            raise _Refused(f"{name}, line {number}: the line is longer than {_LONGEST_LINE} bytes")
        try:
            text = decode(line)
        except UnicodeDecodeError:
            raise _Refused(f"{name}, line {number}: is not UTF-8 text") from None
        if "\0" in text:
            raise _Refused(f"{name}, line {number}: holds a null byte, so this is not a CSV file")
        yield text


def _read_table(source: str) -> _Table:
    """Read a CSV file of users: a header, then a line for each."""
    name = "stdin" if source == "-" else source
    try:
        with _bytes_of(source) as stream:
            reader = csv.reader(_text_lines(stream, name), strict=True)
            header = [cell.strip() for cell in next(reader, [])]
            _check_header(header, name)
            rows, lines = [], []
            for row in reader:
                if not any(cell.strip() for cell in row):
                    continue  # a blank line
                if len(row) != len(header):
                    raise _Refused(
                        f"{name}, line {reader.line_num}: {len(row)} columns where the header has {len(header)}"
                    )
                rows.append([cell.strip() for cell in row])
                lines.append(reader.line_num)
    except csv.Error as error:
        raise _Refused(f"{name}, line {reader.line_num}: is not CSV ({error})") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise _Refused(f"{name}: the gzip stream is damaged ({error})") from None
    if not rows:
        raise _Refused(f"{name}: holds no user, only a header")
    return _Table(name, {column: [row[j] for row in rows] for j, column in enumerate(header)}, lines)


def _check_header(header: list[str], name: str) -> None:
    if not any(header):
        raise _Refused(f"{name}: is empty; the first line must name the columns")
    for column in header:
        if not column or len(column) > _LONGEST_NAME or not column.isprintable():
            raise _Refused(f"{name}, line 1: {_shown(column)} is not the name of a column")
        if header.count(column) > 1:
            raise _Refused(f"{name}, line 1: two columns are named {column!r}")


class _Instance(NamedTuple):
    """What a CSV file of users says, checked as far as the file goes; entries are checked by the mechanisms."""

    table: _Table
    demands: pd.DataFrame
    weights: list[float] | None
    max_tasks: list[float] | None
    weight_column: str
    bound_column: str

    def in_the_file(self, error: InvalidInput) -> str:
        """Say where in the file an entry stands that the library refused."""
        found = re.fullmatch(r"(demands|weights|max_tasks)\[(\d+)(?:, (\d+))?\]", error.argument)
        if found is None:
            return str(error)
        row = int(found[2])
        if found[1] == "demands" and found[3] is None:
            place = f"{self.table.source}, line {self.table.lines[row]}: the demands"
        else:
            column = {"weights": self.weight_column, "max_tasks": self.bound_column}.get(found[1])
            place = self.table.at(row, column or str(self.demands.columns[int(found[3] or 0)])) + ":"
        return f"{place} {str(error).removeprefix(error.argument).strip()}"


def _check_user(table: _Table, row: int) -> str:
    user = table.columns["user"][row]
    if not user or len(user) > _LONGEST_NAME or not user.isprintable():
        raise _Refused(f"{table.at(row, 'user')}: {_shown(user)} is not a name")
    return user


def _user_names(table: _Table) -> list[str]:
    if "user" not in table.columns:
        return [str(i + 1) for i in range(len(table.lines))]
    first: dict[str, int] = {}
    for row in range(len(table.lines)):
        user = _check_user(table, row)
        if user in first:
            raise _Refused(f"{table.at(row, 'user')}: {user!r} is on line {first[user]} already")
        first[user] = table.lines[row]
    return list(first)


def _resources(table: _Table, others: set[str]) -> list[str]:
    """List the columns of demands: all but the others, and those that are plainly words."""
    rest = [column for column in table.columns if column not in others]
    words = [column for column in rest if table.is_text(column)]
    if len(words) == len(rest):
        hint = "; columns are separated by commas" if re.search("[;\t|]", "".join(table.columns)) else ""
        raise _Refused(
            f"{table.source}: has no column of demands (numbers), only {', '.join(map(_shown, table.columns))}{hint}"
        )
    if words:
        _note(f"{table.source}: no numbers in column {', '.join(map(repr, words))}, which is left out")
    return [column for column in rest if column not in words]


def _read_users(options: argparse.Namespace) -> _Instance:
    import pandas as pd

    table = _read_table(options.users)
    weight, bound = options.weights or "weight", options.max_tasks or "max_tasks"
    for column, given in ((weight, options.weights), (bound, options.max_tasks)):
        if given is not None and column not in table.columns:
            raise _Refused(f"{table.source}: has no column {column!r}, only {', '.join(table.columns)}")
    if weight == bound or "user" in (weight, bound):
        raise _Refused(f"{table.source}: column {weight if weight == bound else 'user'!r} cannot serve twice")
    resources = _resources(table, {"user", "weight", "max_tasks", weight, bound})
    users = _user_names(table)
    demands = pd.DataFrame({column: table.numbers(column) for column in resources}, index=pd.Index(users, dtype=object))
    return _Instance(
        table,
        demands,
        table.numbers(weight) if weight in table.columns else None,
        table.numbers(bound, unbounded=True) if bound in table.columns else None,
        weight,
        bound,
    )


# -------------------------------------------------------------------------------------------------- allocate


class _Rule(NamedTuple):
    """A mechanism as the command line knows it: its name in fairbook, the arguments it takes, one line of help."""

    name: str
    takes: frozenset[str]
    about: str
    arrivals: bool = False
    certified: bool = True


_STATIC = frozenset({"weights", "capacities", "max_tasks"})

#: One line a mechanism.
_RULES = {
    rule.name: rule
    for rule in (
        _Rule("drf", _STATIC, "weighted dominant resource fairness, divisible tasks"),
        _Rule("drf_by_task", _STATIC | {"stuck"}, "the same in whole tasks, one at a time", certified=False),
        _Rule(
            "dmfa_srq",
            frozenset({"weights"}),
            "users arrive in the order of the file, bring their weight, lose nothing",
            True,
        ),
        _Rule("dynamic_drf", frozenset(), "the same with an equal part for everyone", True),
        _Rule("static_optimum", frozenset({"weights"}), "everything shared out anew at each arrival", True),
    )
}


def _capacities(pairs: list[str], resources: list[str]) -> list[float] | None:
    """Read ``name=number`` for every resource."""
    if not pairs:
        return None
    given: dict[str, float] = {}
    for pair in pairs:
        name, sign, text = pair.rpartition("=")
        if not sign or not _NUMBER.fullmatch(text):
            raise _Refused(f"--capacity must be given as name=number, got {_shown(pair)}")
        if name not in resources:
            raise _Refused(f"--capacity names {_shown(name)}, which is none of the resources {', '.join(resources)}")
        if name in given:
            raise _Refused(f"--capacity names {name!r} twice")
        given[name] = float(text)
        if not given[name] > 0 or math.isinf(given[name]):
            raise _Refused(f"--capacity {name} must be positive and finite, got {text}")
    if len(given) < len(resources):
        raise _Refused(
            f"--capacity must be given for every resource, also for {', '.join(r for r in resources if r not in given)}"
        )
    return [given[name] for name in resources]


@dataclass
class _Report:
    """An allocation as it is printed and written: rows, resources, and what was asked about them.

    ``head`` goes into a JSON file before the rows, which stand there under ``name``; ``promise`` is what an empty list
    of violations certifies.
    """

    rows: pd.DataFrame
    resources: pd.DataFrame
    head: dict[str, Any]
    name: str
    promise: str
    sentences: dict[Any, str] = field(default_factory=dict)
    violations: list[str] | None = None


def _allocate(options: argparse.Namespace) -> int:
    rule = _RULES[options.mechanism]
    _check_output(options.users, options.output)
    if options.after is not None and not rule.arrivals:
        raise _Refused(f"--after needs a mechanism with arrivals; {rule.name} has none")
    if options.stuck is not None and "stuck" not in rule.takes:
        raise _Refused(f"--stuck belongs to drf_by_task, not to {rule.name}")
    if options.weights is not None and "weights" not in rule.takes:
        raise _Refused(f"--weights does not apply: {rule.name} gives every user an equal part")
    if options.max_tasks is not None and "max_tasks" not in rule.takes:
        raise _Refused(f"--max-tasks does not apply: {rule.name} knows no bounds")
    if options.verify and not rule.certified:
        raise _Refused(f"--verify does not apply: {rule.name} deals in whole tasks, the certificate in divisible ones")
    instance = _read_users(options)
    try:
        report = _run(rule, instance, options)
    except InvalidInput as error:
        raise _Refused(instance.in_the_file(error)) from None
    _deliver(report, options)
    return 1 if report.violations else 0


def _run(rule: _Rule, instance: _Instance, options: argparse.Namespace) -> _Report:
    import numpy as np
    import pandas as pd

    from fairbook.model import as_capacities, as_demands

    capacities = _capacities(options.capacity, list(instance.demands.columns))
    pool = np.ones(instance.demands.shape[1]) if capacities is None else np.array(capacities)
    weights: Any = instance.weights
    if rule.arrivals and "weights" in rule.takes:
        weights = np.ones(len(instance.demands)) if weights is None else np.array(weights)
        if capacities is not None and np.isfinite(weights).all() and (weights > 0).all():
            weights = weights / weights.sum()  # parts of the pool that --capacity describes once all have arrived
    offered = {"weights": weights, "capacities": capacities, "max_tasks": instance.max_tasks, "stuck": options.stuck}
    arguments = {name: value for name, value in offered.items() if name in rule.takes and value is not None}
    for name, column in (("weights", instance.weight_column), ("max_tasks", instance.bound_column)):
        if offered[name] is not None and name not in rule.takes:
            _note(f"{rule.name} does not use column {column!r}")
    demands: Any = instance.demands
    if rule.arrivals and capacities is not None:
        as_capacities(capacities, len(capacities))
        as_demands(demands)  # before division, so that what is refused is what the file says
        demands = demands / pool
    allocation = getattr(fairbook, rule.name)(demands, **arguments)
    steps = {} if not rule.arrivals else {"k": len(demands) if options.after is None else options.after}
    users = allocation.to_frame(**steps)
    present = len(users)
    if rule.arrivals:
        pool = pool * allocation.weights[:present].sum()
    use = users["tasks"].to_numpy() @ instance.demands.to_numpy()[:present]
    resources = pd.DataFrame(
        {"capacity": pool, "use": use, "utilisation": use / pool}, index=pd.Index(demands.columns, name="resource")
    )
    if not np.isfinite(users.select_dtypes("number")).all(axis=None):
        raise _Refused("the numbers lie too far apart: a result does not fit a double")
    report = _Report(
        users,
        resources,
        {"mechanism": rule.name, "after": options.after},
        "users",
        "no arrival left room to raise the lowest level" if rule.arrivals else "each user's bottleneck stops it",
    )
    if options.explain is not None:
        report.sentences = {name: allocation.explain(name, **steps) for name in options.explain or users.index}
    if options.verify:
        report.violations = _violations(allocation, steps, options)
    return report


def _violations(allocation: Any, steps: dict[str, int], options: argparse.Namespace) -> list[str]:
    """Run the certificate; where users arrive, the certificate of every step up to the one shown."""
    if not steps:
        return list(allocation.violations())
    from tqdm import tqdm

    numbers = tqdm(range(1, steps["k"] + 1), desc="arrivals", leave=False, disable=not _progress(options))
    return [f"after arrival {k}: {text}" for k in numbers for text in allocation.violations(k)]


def _check_output(source: str, output: str | None) -> None:
    if output in (None, "-"):
        return
    if not output.endswith((".csv", ".json")):
        raise _Refused(f"--output must end in .csv or .json, or be -, got {_shown(output)}")
    try:
        same = source != "-" and os.path.samefile(source, output)
    except (OSError, ValueError):  # one of them is not there
        same = False
    if same:
        raise _Refused(f"--output would overwrite the input {source}")


def _deliver(report: _Report, options: argparse.Namespace) -> None:
    frame = report.rows
    if report.sentences:
        frame = frame.assign(explanation=[report.sentences.get(name, "") for name in frame.index])
    if options.output == "-":
        print(frame.to_csv(lineterminator="\n"), end="")
    else:
        if options.output is not None:
            write_whole({Path(options.output): _file_of(report, frame, options)})
        most = _MOST_ROWS if report.name == "phases" else None
        print(report.rows.to_string(float_format=_six, max_rows=most, sparsify=False))
        if most is not None and len(report.rows) > most:
            print(f"({len(report.rows)} rows; --output writes all)")
        print()
        print(report.resources.to_string(float_format=_six))
        if report.sentences:
            print("\n" + "\n".join(report.sentences.values()))
    for text in report.violations or ():
        print(f"fairbook: violated: {_line(text)}", file=sys.stderr)
    if report.violations == []:
        _note(f"verified: no constraint is violated, and {report.promise}")


def _file_of(report: _Report, frame: pd.DataFrame, options: argparse.Namespace) -> bytes:
    if options.output.endswith(".csv"):
        return frame.to_csv(lineterminator="\n").encode()
    content = {
        "fairbook": fairbook.__version__,
        **report.head,
        report.name: frame.reset_index().to_dict("records"),
        "resources": report.resources.reset_index().to_dict("records"),
        "violations": report.violations,
    }
    return (
        json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False, default=lambda x: x.item()) + "\n"
    ).encode()


# ---------------------------------------------------------------------------------------------------- phases

#: The options that each rule over phases takes, under their names in fairbook, and one line of help.
_PHASE_RULES = {
    "cbdrf": (
        ("rho", "step_up", "step_down", "initial_credit", "credit_cap", "credit_floor", "held", "grant", "penalty"),
        "DRF scaled by a credit that falls where a user does not release what it was granted",
    ),
    "karma": (("alpha", "initial_credit"), "who takes less than its guarantee earns credit, and borrows with it later"),
}


class _Phases(NamedTuple):
    """A CSV file of phases: one line for each phase and user that is present in it."""

    table: _Table
    phases: list[int]
    users: list[str]
    resources: list[str]
    cells: list[tuple[int, int]]  # phase and user of each line, by position

    def spread(self, column: str, default: float, *, unbounded: bool = False) -> Any:
        """Give a column as an array of shape (T, n); default where no line is."""
        import numpy as np

        found = np.full((len(self.phases), len(self.users)), default)
        found[tuple(zip(*self.cells, strict=True))] = self.table.numbers(column, unbounded=unbounded)
        return found

    def in_the_file(self, error: InvalidInput) -> str:
        """Say where in the file an entry stands, or which option it is, that the library refused."""
        rest = str(error).removeprefix(error.argument).strip()
        found = re.fullmatch(r"(demands|released|max_tasks)\[(\d+)(?:, |\]\[)(\d+)(?:, (\d+))?\]", error.argument)
        if found is not None:
            column = found[1] if found[4] is None else self.resources[int(found[4])]
            return f"{self.table.at(self.cells.index((int(found[2]), int(found[3]))), column)}: {rest}"
        if any(error.argument in takes for takes, _ in _PHASE_RULES.values()):
            return f"--{error.argument.replace('_', '-')} {rest}"
        return str(error)

    def named(self, text: str) -> str:
        """Put the phase's number in the file at the end of a sentence of the library, which counts from 0."""
        return re.sub(r"(?<=in phase )\d+$", lambda found: str(self.phases[int(found[0])]), text)


def _read_phases(source: str) -> _Phases:
    table = _read_table(source)
    for column in ("phase", "user"):
        if column not in table.columns:
            raise _Refused(f"{table.source}: has no column {column!r}, only {', '.join(map(_shown, table.columns))}")
    known = {"phase", "user", "released", "max_tasks", "weight"}
    told = {"credit", "credit_factor", "tasks", "drf_tasks", "complied"}  # what this command writes itself
    for column in table.columns:
        if column not in known and column.strip().lower() in known | told:
            raise _Refused(f"{table.source}: column {_shown(column)} would be taken for a resource; is it meant as "
                           f"{column.strip().lower()!r}? Rename it or leave it out")
    resources = _resources(table, known)
    if "weight" in table.columns:
        _note(f"{table.source}: phases know no weights, so that column 'weight' is left out")
    first: dict[tuple[int, str], int] = {}
    for row, text in enumerate(table.columns["phase"]):
        if not re.fullmatch(r"\d{1,18}", text, re.ASCII):
            raise _Refused(f"{table.at(row, 'phase')}: {_shown(text)} is not the whole number of a phase")
        key = int(text), _check_user(table, row)
        if key in first:
            raise _Refused(f"{table.at(row, 'user')}: {key[1]!r} has phase {key[0]} on line {first[key]} already")
        first[key] = table.lines[row]
    phases, users = sorted({phase for phase, _ in first}), list(dict.fromkeys(user for _, user in first))
    missing = phases[-1] - phases[0] + 1 - len(phases)
    if missing:
        _note(f"{table.source}: {missing} phase(s) between {phases[0]} and {phases[-1]} have no line and are not run")
    at_phase, at_user = ({name: i for i, name in enumerate(names)} for names in (phases, users))
    return _Phases(table, phases, users, resources, [(at_phase[phase], at_user[user]) for phase, user in first])


def _phases(options: argparse.Namespace) -> int:
    _check_output(options.phases, options.output)
    takes = _PHASE_RULES[options.rule][0]
    terms = {}
    for other, (names, _) in _PHASE_RULES.items():
        for name in names:
            if getattr(options, name) is not None:
                if name not in takes:
                    raise _Refused(f"--{name.replace('_', '-')} belongs to {other}, not to {options.rule}")
                terms[name] = getattr(options, name)
    read = _read_phases(options.phases)
    try:
        report = _run_phases(read, terms, options)
    except InvalidInput as error:
        raise _Refused(read.in_the_file(error)) from None
    _deliver(report, options)
    return 1 if report.violations else 0


def _run_phases(read: _Phases, terms: dict[str, Any], options: argparse.Namespace) -> _Report:
    from dataclasses import asdict, replace

    import numpy as np
    import pandas as pd

    capacities = _capacities(options.capacity, read.resources)
    demands = np.stack([read.spread(name, 0.0) for name in read.resources], axis=2)
    given: dict[str, Any] = {}
    for column, rule, default in (("released", "cbdrf", 1.0), ("max_tasks", "karma", 0.0)):
        if column in read.table.columns:
            if options.rule == rule:
                given[column] = read.spread(column, default, unbounded=column == "max_tasks")
            else:
                _note(f"{options.rule} does not use column {column!r}")
    run = getattr(fairbook, options.rule)(demands, capacities, **given, **terms)
    run = replace(run, named_users=tuple(read.users), named_resources=tuple(read.resources))
    rows = run.to_frame()
    rows.index = pd.MultiIndex.from_product([read.phases, read.users], names=["phase", "user"])
    if not np.isfinite(rows.select_dtypes("number")).all(axis=None):
        raise _Refused("the numbers lie too far apart: a result does not fit a double")
    use = run.use.mean(axis=0)
    resources = pd.DataFrame(
        {"capacity": run.capacities, "mean_use": use, "utilisation": use / run.capacities},
        index=pd.Index(read.resources, name="resource"),
    )
    promise = "pools, grants and credits follow from phase to phase"
    if options.rule == "cbdrf":
        terms = asdict(run.rule)
    else:
        terms = {"alpha": run.alpha, "initial_credit": float(run.credit[0, 0])}
    report = _Report(rows, resources, {"rule": options.rule, "terms": terms}, "phases", promise)
    if options.explain is not None:
        for t, user in _asked(read, options.explain):
            text = run.explain(user, t)
            report.sentences[read.phases[t], user] = _in_phase(text, user, t, read.phases[t])
    if options.verify:
        report.violations = [read.named(text) for text in run.violations()]
    return report


def _in_phase(text: str, user: str, t: int, phase: int) -> str:
    """Put the phase's number in the file into a sentence that counts from 0, or before one that tells no phase."""
    told = text[len(user) :]
    if f" in phase {t}" not in told:
        return f"Phase {phase}: {text}"
    return user + told.replace(f" in phase {t}", f" in phase {phase}", 1)


def _asked(read: _Phases, wanted: list[str]) -> Iterator[tuple[int, str]]:
    """Read USER:PHASE, or USER for all its phases; none of them: everyone in the last phase."""
    if not wanted:
        yield from ((len(read.phases) - 1, user) for user in read.users)
    for text in wanted:
        user, colon, phase = text.rpartition(":")
        if text in read.users:
            yield from ((t, text) for t in range(len(read.phases)))
        elif colon and user in read.users and phase in map(str, read.phases):
            yield read.phases.index(int(phase)), user
        else:
            if colon and user in read.users:
                raise _Refused(f"--explain {_shown(text)}: {read.table.source} has no phase {_shown(phase)}")
            raise _Refused(f"--explain {_shown(text)} is no user of {read.table.source}, or USER:PHASE of one")


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
            raise _Refused(f"--id {_shown(wanted)} is no claim; `fairbook claims` lists them")
    return {
        key: one
        for key, one in found.items()
        if any(key == wanted or key.startswith(wanted + ".") for wanted in options.id)
    }


def _claims(options: argparse.Namespace) -> int:
    from fairbook import claims

    chosen = _chosen_claims(options)
    effort = claims.FULL if options.effort == "full" else claims.QUICK
    if options.mutants:
        return _mutants(chosen, options)
    if options.effort and not options.recompute:
        raise _Refused("--effort goes with --recompute or --mutants; stored results are of full effort")
    if options.recompute:
        import pandas as pd

        rows = [claims.compute(one, effort) for one in _counted(chosen, "claims", options)]
        frame = pd.DataFrame(rows, columns=list(claims.registry.COLUMNS))
    else:
        try:
            frame = claims.ledger(paper=options.paper)
        except fairbook.StaleResult as error:
            raise _Refused(
                f"{error}; or `fairbook claims --recompute` checks the claims now, with less effort"
            ) from None
        frame = frame[frame["id"].isin(list(chosen))]
    if options.verdict:
        frame = frame[frame["verdict"].isin(options.verdict)]
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
        print(_left(shown))
        print(
            f"\n{len(frame)} claims: "
            + ", ".join(f"{n} {v}" for v, n in frame["verdict"].value_counts(sort=False).items())
        )


def _mutants(chosen: dict[str, Claim], options: argparse.Namespace) -> int:
    from fairbook import claims

    effort = claims.FULL if options.effort == "full" else claims.QUICK
    passed = []
    for one in _counted(chosen, "mutants", options):
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
        raise _Refused(f"--paper must be one of {', '.join(sorted(known))}, got {_shown(paper)}")


def _figures(options: argparse.Namespace) -> int:
    import importlib

    papers = _papers()
    _check_paper(options.paper, set(papers))
    wanted = [(key, name) for key in papers if options.paper in (None, key) for name in _figure_names(key)]
    for name in options.only or ():
        if name not in {figure for _, figure in wanted}:
            raise _Refused(
                f"--only {_shown(name)} is none of the figures {', '.join(dict.fromkeys(f for _, f in wanted))}"
            )
    folder = Path(options.output)
    if folder.exists() and not folder.is_dir():
        raise _Refused(f"--output {folder} is not a folder")
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [(key, name) for key, name in wanted if not options.only or name in options.only]
    for key, name in _counted({f"{key}/{name}": (key, name) for key, name in chosen}, "figures", options):
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
    """Give the frame behind a figure: stored, unless other runs were asked for or what is stored is not fresh."""
    import importlib
    import inspect

    from fairbook import results

    module = importlib.import_module(f"fairbook.studies.{key}")
    stored = f"{key}/{name}"
    is_stored = stored in getattr(module, "STORED", {})
    if is_stored and options.runs is None and options.seed is None:
        if _state(stored) == "fresh":
            return results.load(stored)
        _note(f"{stored} is {_state(stored)} in the store and is computed now")
    asked = {"runs": options.runs, "seed": options.seed, "progress": _progress(options)}
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

    if options.force and not options.full:
        raise _Refused("--force goes with --full")
    known = results.stored_results(progress=_progress(options))
    for name in options.only or ():
        if name not in known:
            raise _Refused(f"--only {_shown(name)} is none of the stored results {', '.join(known)}")
    chosen = {name: compute for name, compute in known.items() if not options.only or name in options.only}
    if options.full:
        waiting = {name: name for name in chosen if options.force or _state(name) != "fresh"}
        for name in _counted(waiting, "results", options):
            chosen[name]()
            print(f"{name}: computed", flush=True)
    states = {name: _state(name) for name in chosen}
    for name, state in states.items():
        print(f"{name}: {state}")
    return 1 if (options.check or options.full) and set(states.values()) - {"fresh"} else 0


# ---------------------------------------------------------------------------------------------------- traces


def _traces_digest(options: argparse.Namespace) -> int:
    from fairbook.traces import alibaba2017, google2011

    report: Any
    if options.trace == "alibaba2017":
        digits = None if options.exact else alibaba2017.SHIPPED_DIGITS
        report = alibaba2017.digest(options.folder, options.output, memory_digits=digits, instance_digits=digits)
    elif options.exact:
        raise InvalidInput("--exact", "must not be given with a trace whose digest is never rounded", options.trace)
    else:
        warnings.simplefilter("always", google2011.MissingPartsWarning)  # main() restores the filters
        report = google2011.digest(options.folder, options.output, progress=_progress(options))
    print(f"{report}\nwritten to {report.folder}")
    return 0


def _traces_verify(options: argparse.Namespace) -> int:
    from fairbook.traces import alibaba2017, google2011

    report: Any
    if options.trace == "alibaba2017":
        report = alibaba2017.verify_digest(options.folder, options.digest)
    else:
        report = google2011.verify_digest(options.folder, options.digest, progress=_progress(options))
    print(f"{report}\nequal to the digest {'of this release' if options.digest is None else 'in ' + options.digest}")
    return 0


def _traces_show(options: argparse.Namespace) -> int:
    from fairbook.traces import alibaba2017, google2011

    module: Any = alibaba2017 if options.trace == "alibaba2017" else google2011
    facts = module.load_digest(options.digest).provenance
    rows: dict[str, Any] = {name: facts[name] for name in ("trace", "licence", "attribution")}
    if "parts" in facts:
        parts = facts["parts"]
        rows["parts"] = (
            f"{len(parts)} of {facts['parts_total']}"
            + (f" ({min(parts)} to {max(parts)})" if parts else "")
            + (f", missing {facts['missing_parts']}" if facts["missing_parts"] else "")
        )
        rows["last event"] = f"{facts['last_time_us'] / 3.6e9:.2f} h"
    for name in ("memory_digits", "instance_digits"):
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
        rows["machines"] = f"{machines['machines']} with {machines['cpu']} cores, memory {machines['memory']:g}"
    rows |= {f"sha256 of {name}": output["sha256"] for name, output in facts["outputs"].items()}
    width = max(map(len, rows))
    print("\n".join(f"{name:<{width}}  {value}" for name, value in rows.items()))
    return 0


# ---------------------------------------------------------------------------------------------- common pieces


def _six(value: float) -> str:
    return f"{value:.6g}"


def _left(frame: pd.DataFrame) -> str:
    """Align a table of words to the left."""
    cells = [list(map(str, frame.columns)), *([str(v) for v in row] for row in frame.itertuples(index=False))]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(v.ljust(w) for v, w in zip(row, widths, strict=True)).rstrip() for row in cells)


def _line(text: str) -> str:
    """Make one printable line of a message, whatever names it quotes."""
    return "".join(
        c if c.isprintable() else " " if c.isspace() else c.encode("unicode_escape").decode() for c in text
    ).strip()


def _note(text: str) -> None:
    print(f"fairbook: {_line(text)}", file=sys.stderr)


def _progress(options: argparse.Namespace) -> bool:
    """Tell whether bars are drawn: on request, or where stderr is a terminal."""
    return bool(options.progress or sys.stderr.isatty())


def _counted(items: dict[str, Any], label: str, options: argparse.Namespace) -> Iterator[Any]:
    """Yield the values under a bar that names the one at work."""
    from tqdm import tqdm

    bar = tqdm(items.items(), desc=label, leave=False, disable=not _progress(options))
    for name, value in bar:
        bar.set_postfix_str(name)
        yield value


# ---------------------------------------------------------------------------------------------------- parser


class _Parser(argparse.ArgumentParser):
    """A parser that complains in one line."""

    def __init__(self, **arguments: Any) -> None:
        arguments |= {"allow_abbrev": False, "formatter_class": argparse.RawDescriptionHelpFormatter}
        super().__init__(**arguments)

    def error(self, message: str) -> NoReturn:
        raise _Refused(f"{message} (`{self.prog} --help` helps)")


def _whole(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"\d{1,18}", text, re.ASCII) or int(text) < least:
            raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}, got {_shown(text)}")
        return int(text)

    return read


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="fairbook",
        description="Fair allocation of several resources: mechanisms of five papers, and verdicts on their claims.",
        epilog="""examples:
  fairbook allocate users.csv --capacity cpu=9 memory=18 --explain
  fairbook allocate users.csv --mechanism dmfa_srq --verify --output allocation.csv
  fairbook phases phases.csv --grant capped --credit-cap 1 --explain team-a:3
  fairbook claims --verdict refuted
  fairbook figures --only fig5 --output drawings
  fairbook results --check

exit codes: 0 fine; 1 a check came out negative; 2 error, in one line on stderr; 130 Ctrl-C""",
    )
    parser.add_argument("--version", action="version", version=f"fairbook {fairbook.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
    for add in (_add_allocate, _add_phases, _add_claims, _add_figures, _add_results, _add_traces):
        add(commands)
    return parser


def _command(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace], int],
    about: str,
    details: str = "",
    examples: str = "",
) -> argparse.ArgumentParser:
    epilog = "examples:\n" + "\n".join(f"  {line}" for line in examples.splitlines()) if examples else None
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=about, description=f"{about[0].upper()}{about[1:]}.{details}", epilog=epilog
    )
    parser.add_argument(
        "--progress", action="store_true", help="draw progress bars on stderr even where it is no terminal"
    )
    parser.set_defaults(run=run)
    return parser


def _add_capacity(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--capacity",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=NUMBER",
        help="the pool, in the unit of the demands",
    )


def _add_output(parser: argparse.ArgumentParser, rows: str) -> None:
    parser.add_argument(
        "--output", metavar="FILE", help=f"also write {rows} to .csv or everything to .json; - prints only CSV"
    )


def _add_allocate(commands: Any) -> None:
    rules = "\n".join(f"  {rule.name:<15} {rule.about}" for rule in _RULES.values())
    parser = _command(
        commands,
        "allocate",
        _allocate,
        "allocate resources to the users of a CSV file",
        f"""

The file has a header and a line for each user:
  user        name (else users are numbered from 1)
  weight      entitlement, or with arrivals the amount of every resource that the user brings (else equal)
  max_tasks   bound on the user's tasks, empty for none (column optional)
  others      resource per task, one column a resource; columns without numbers are left out
Without --capacity the pool is 1 of each resource; with arrivals it is what the users bring.
With arrivals and --capacity the pool is that once all are there, and weights are parts of it.

mechanisms:
{rules}""",
        """fairbook allocate users.csv
fairbook allocate users.csv --capacity cpu=9 memory=18 --explain team-a
fairbook allocate users.csv --mechanism dmfa_srq --after 3 --verify
zcat users.csv.gz | fairbook allocate - --output - > allocation.csv""",
    )
    parser.add_argument("users", metavar="users.csv", help="CSV file, .csv.gz, or - for stdin")
    parser.add_argument("--mechanism", choices=list(_RULES), default="drf", help="default: %(default)s")
    _add_capacity(parser)
    parser.add_argument("--weights", metavar="COLUMN", help="column of weights (default: weight, if there is one)")
    parser.add_argument("--max-tasks", metavar="COLUMN", help="column of bounds (default: max_tasks, if there is one)")
    parser.add_argument(
        "--stuck",
        choices=("skip", "stop"),
        help="drf_by_task: pass over who does not fit, or end there (default: skip)",
    )
    parser.add_argument(
        "--after", type=_whole(1), metavar="K", help="show the allocation after arrival K (default: the last)"
    )
    parser.add_argument(
        "--explain", nargs="*", metavar="USER", help="say why these users (default: all) have what they have"
    )
    _add_output(parser, "the users' rows")
    parser.add_argument(
        "--verify",
        action="store_true",
        help="check the certificate of fairness, at every arrival; exit code 1 if it fails",
    )


def _number(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise argparse.ArgumentTypeError(f"must be a number, got {_shown(text)}")
    return float(text)


def _add_phases(commands: Any) -> None:
    rules = "\n".join(f"  {name:<15} {about}" for name, (_, about) in _PHASE_RULES.items())
    parser = _command(
        commands,
        "phases",
        _phases,
        "allocate from phase to phase, with credits that follow what users do",
        f"""

The file has a header and a line for each phase and user that is present in it, in any order:
  phase       whole number; phases run in the order of their numbers, and those without a line not at all
  user        name
  released    cbdrf: part of its grant that the user releases at the end of the phase (no column: 1)
  max_tasks   karma: bound on the user's tasks, empty for none (no column: no bounds)
  others      resource per task, one column a resource; columns without numbers are left out
Without --capacity the pool is 1 of each resource.

rules:
{rules}""",
        """fairbook phases phases.csv --capacity cpu=500 memory=50000
fairbook phases phases.csv --held stays --grant capped --explain team-a:3 --verify
fairbook phases phases.csv --rule karma --alpha 0.5 --output - > phases-out.csv""",
    )
    parser.add_argument("phases", metavar="phases.csv", help="CSV file, .csv.gz, or - for stdin")
    parser.add_argument("--rule", choices=list(_PHASE_RULES), default="cbdrf", help="default: %(default)s")
    _add_capacity(parser)
    for flag, about in (
        ("--rho", "cbdrf: part of its grant that a user must release to comply (default: 0.75)"),
        ("--step-up", "cbdrf: credit gained by complying (default: 0.1)"),
        ("--step-down", "cbdrf: credit lost by not complying (default: 0.1)"),
        ("--initial-credit", "credit at the start (default: cbdrf 1; karma the number of phases)"),
        ("--credit-cap", "cbdrf: highest credit (default: none)"),
        ("--credit-floor", "cbdrf: lowest credit (default: 0)"),
        ("--alpha", "karma: part of the pool that is guaranteed (default: 0.5)"),
    ):
        parser.add_argument(flag, type=_number, metavar="NUMBER", help=about)
    for flag, choices, about in (
        ("--held", ("returns", "stays"), "cbdrf: whether what is held is back in the next phase, or missing there"),
        ("--grant", ("scaled", "weighted", "capped"), "cbdrf: the paper's rule, or one of its two repairs"),
        ("--penalty", ("step", "graded"), "cbdrf: whether the step down shrinks with what is released"),
    ):
        parser.add_argument(flag, choices=choices, help=f"{about} (default: {choices[0]})")
    parser.add_argument(
        "--explain",
        nargs="*",
        metavar="USER:PHASE",
        help="say why; USER for all its phases, nothing for everyone in the last one",
    )
    _add_output(parser, "the rows")
    parser.add_argument(
        "--verify", action="store_true", help="check the certificate of every phase; exit code 1 if it fails"
    )


def _add_claims(commands: Any) -> None:
    parser = _command(
        commands,
        "claims",
        _claims,
        "print the verdict on every claim of the papers",
        examples="""fairbook claims --verdict refuted "not reproduced"
fairbook claims --id dmfa_srq.figure_1 --recompute
fairbook claims --format csv > ledger.csv
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


def _add_figures(commands: Any) -> None:
    parser = _command(
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
    parser.add_argument("--runs", type=_whole(1), metavar="N", help="repetitions (default: as in the paper)")
    parser.add_argument("--seed", type=_whole(0), metavar="S", help="root seed (default: that of the book)")
    parser.add_argument("--output", required=True, metavar="DIR", help="folder, made if absent")
    parser.add_argument(
        "--format",
        choices=("svg", "png", "csv"),
        default="svg",
        help="of the drawings; csv writes frames only (default: %(default)s)",
    )


def _add_results(commands: Any) -> None:
    parser = _command(
        commands,
        "results",
        _results,
        "list or refresh the stored results of full effort",
        " A result is stale where the sources or data that made it have changed.",
        "fairbook results\nfairbook results --full\nfairbook results --full --force --only dmfa_srq/fig5",
    )
    parser.add_argument("--check", action="store_true", help="exit code 1 unless all are fresh")
    parser.add_argument(
        "--full",
        action="store_true",
        help="compute what is missing or stale; go on after an interruption by calling it again",
    )
    parser.add_argument("--only", nargs="+", action="extend", metavar="NAME", help="only these results")
    parser.add_argument("--force", action="store_true", help="with --full: compute also what is fresh")


def _add_traces(commands: Any) -> None:
    about = "digest public traces and check the digests"
    traces = commands.add_parser(
        "traces", help=about, description=f"{about[0].upper()}{about[1:]} (Google ClusterData2011_2, Alibaba v2017)."
    )
    actions = traces.add_subparsers(dest="action", required=True, metavar="ACTION", parser_class=_Parser)
    digest = _command(
        actions,
        "digest",
        _traces_digest,
        "digest the trace's files into small tables",
        examples="fairbook traces digest clusterdata-2011-2 --output digest\n"
        "fairbook traces digest cluster-trace-v2017 --trace alibaba2017 --output digest",
    )
    digest.add_argument(
        "folder",
        metavar="FOLDER",
        help="folder of the trace as published: task_events, machine_events (Alibaba: batch_task, server_event)",
    )
    digest.add_argument("--output", required=True, metavar="DIR", help="folder, made if absent")
    digest.add_argument(
        "--exact",
        action="store_true",
        help="Alibaba: keep memory and instance counts exact (default: 3 significant digits, as the shipped digest)",
    )
    verify = _command(
        actions,
        "verify",
        _traces_verify,
        "compute a digest again and hold it equal to a recorded one",
        examples="fairbook traces verify clusterdata-2011-2",
    )
    verify.add_argument("folder", metavar="FOLDER", help="folder of the trace as published")
    show = _command(actions, "show", _traces_show, "print what a digest was made of and what it holds")
    for parser in (digest, verify, show):
        parser.add_argument(
            "--trace",
            choices=("google2011", "alibaba2017"),
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
    print(f"fairbook: error: {_line(text)}", file=sys.stderr)
    return 2


def _os_error(error: OSError) -> str:
    place = f"{error.filename}: " if isinstance(error.filename, str) else ""
    return f"{place}{error.strerror or error}"


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
    fairbook 0.1.0
    0
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show is no reason to fail
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: _note(f"warning: {message}")
        try:
            options = _parser().parse_args(argv)
            code: int = options.run(options)
            sys.stdout.flush()
            return code
        except SystemExit as stop:  # --help and --version
            return int(stop.code or 0)
        except BrokenPipeError:
            _leave_stdout()
            return 141
        except KeyboardInterrupt:
            print("fairbook: interrupted", file=sys.stderr)
            return 130
        except FairbookError as error:
            return _say_error(str(error))
        except OSError as error:
            _leave_stdout()
            return _say_error(_os_error(error))
        except MemoryError:
            return _say_error("not enough memory")


if __name__ == "__main__":
    sys.exit(main())
