"""Tables with a line for each user and each phase or period: reading them, and speaking of their numbers."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Set
from typing import Any, NamedTuple

from fairbook.cli.common import Refused, shown
from fairbook.cli.reports import Report
from fairbook.cli.tables import Table, checked_user, need_columns, read_table, resource_columns
from fairbook.errors import InvalidInput

__all__ = ["MOST_CELLS", "Timed", "answer", "asked", "read_timed"]

MOST_CELLS = 10_000_000  # steps times users times resources


class Timed(NamedTuple):
    """A CSV file with one line for each user and phase, or period, in which it wants something."""

    table: Table
    word: str  # what a step of time is called
    steps: list[int]
    users: list[str]
    resources: list[str]
    cells: list[tuple[int, int]]  # step and user of each line, by position

    def spread(self, column: str, default: float, *, unbounded: bool = False) -> Any:
        """Give a column as an array of shape (T, n); default where no line is."""
        import numpy as np

        found = np.full((len(self.steps), len(self.users)), default)
        found[tuple(zip(*self.cells, strict=True))] = self.table.numbers(column, unbounded=unbounded)
        return found

    def demands(self) -> Any:
        """Give the columns of resources as an array of shape (T, n, m)."""
        import numpy as np

        return np.stack([self.spread(name, 0.0) for name in self.resources], axis=2)

    def place(self, error: InvalidInput) -> str | None:
        """Say where in the file an entry stands that the library refused, such as ``demands[1, 0, 2]``."""
        if error.argument not in {"demands", *self.table.columns} or len(error.index) < 2:
            return None
        step, user, *resource = error.index
        column = self.resources[resource[0]] if resource else error.argument
        return self.table.at(self.cells.index((step, user)), column)

    def at_the_end(self, text: str) -> str:
        """Put the step's number in the file at the end of a sentence of the library, which counts from 0."""
        return re.sub(rf"(?<=in {self.word} )\d+$", lambda found: str(self.steps[int(found[0])]), text)

    def of_user(self, text: str, user: str, t: int) -> str:
        """Put it into a sentence about a user, or before one that tells no step."""
        told = text[len(user) :]
        if f" in {self.word} {t}" not in told:
            return f"{self.word.capitalize()} {self.steps[t]}: {text}"
        return user + told.replace(f" in {self.word} {t}", f" in {self.word} {self.steps[t]}", 1)


def read_timed(source: str, word: str, known: Set[str], told: Set[str], *, needed: tuple[str, ...] = ()) -> Timed:
    """Read a table; columns that are not ``known`` are resources, and none may be called like what is ``told``.

    What is told is what the command writes itself: a table that holds it is an output, or means something else.
    """
    table = read_table(source)
    need_columns(table, (word, "user", *needed))
    known = {word, "user", *known}
    for column in table.columns:
        if column not in known and column.lower() in known | told:
            raise Refused(
                f"{table.source}: column {shown(column)} would be taken for a resource; is it meant as "
                f"{column.lower()!r}? Rename it or leave it out"
            )
    resources = resource_columns(table, known)
    first: dict[tuple[int, str], int] = {}
    for row, text in enumerate(table.columns[word]):
        if not re.fullmatch(r"\d{1,18}", text, re.ASCII):
            raise Refused(f"{table.at(row, word)}: {shown(text)} is not the whole number of a {word}")
        key = int(text), checked_user(table, row)
        if key in first:
            raise Refused(f"{table.at(row, 'user')}: {key[1]!r} has {word} {key[0]} on line {first[key]} already")
        first[key] = table.lines[row]
    steps, users = sorted({step for step, _ in first}), list(dict.fromkeys(user for _, user in first))
    at_step, at_user = ({name: i for i, name in enumerate(names)} for names in (steps, users))
    return Timed(table, word, steps, users, resources, [(at_step[step], at_user[user]) for step, user in first])


def asked(read: Timed, wanted: list[str]) -> Iterator[tuple[int, str]]:
    """Read USER:STEP, or USER for all its steps; none of them: everyone in the last step."""
    if not wanted:
        yield from ((len(read.steps) - 1, user) for user in read.users)
    numbers = {str(step): t for t, step in enumerate(read.steps)}
    for text in wanted:
        user, colon, step = text.rpartition(":")
        if text in read.users:
            yield from ((t, text) for t in range(len(read.steps)))
        elif colon and user in read.users and step in numbers:
            yield numbers[step], user
        else:
            if colon and user in read.users:
                raise Refused(f"--explain {shown(text)}: {read.table.source} has no {read.word} {shown(step)}")
            raise Refused(
                f"--explain {shown(text)} is no user of {read.table.source}, or USER:{read.word.upper()} of one"
            )


def answer(report: Report, read: Timed, run: Any, options: argparse.Namespace) -> None:
    """Put into a report what ``--explain`` and ``--verify`` ask about a run over phases or periods."""
    if options.explain is not None:
        for t, user in asked(read, options.explain):
            report.sentences[read.steps[t], user] = read.of_user(run.explain(user, t), user, t)
    if options.verify:
        report.violations = [read.at_the_end(text) for text in run.violations()]
