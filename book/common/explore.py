"""Experiments under the reader's hand: states that the library computes, and a script that shows one of them.

A cell displays an :class:`Explorable`. Where scripts run, ``book/assets/explore.js`` puts sliders and choices in its
place; elsewhere, and in a plain notebook, the first state is there as a table. All scripts and style sheets of the book
together have less than 100 kB; Bokeh or Altair would bring a megabyte or more.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any, NamedTuple

from fairbook.errors import InvalidInput


@dataclass(frozen=True)
class Control:
    """What the reader sets: a slider, or a choice where there are at most four values.

    Attributes
    ----------
    label : str
    values : sequence of str
    at : int
        Index of the value at the start.
    """

    label: str
    values: Sequence[str]
    at: int = 0


@dataclass(frozen=True)
class Column:
    """One column: who has how much of it, and a line across it where one is given.

    Attributes
    ----------
    name, note : str
        Below the column.
    parts : sequence of (str, float)
        Users and their amounts, from below.
    line : float, optional
    """

    name: str
    parts: Sequence[tuple[str, float]]
    note: str = ""
    line: float | None = None


@dataclass(frozen=True)
class Panel:
    """Columns side by side, all measured on one axis from 0 to ``top``.

    Two columns with the same users can be laid ``corner`` to corner: the first to the right, the second upwards, in a
    box as large as their lines.
    """

    title: str
    columns: Sequence[Column]
    top: float
    unit: str = ""
    corner: bool = False


class Row(NamedTuple):
    """One of a ranking.

    Attributes
    ----------
    name : str
    numbers : sequence of str
        Its amount and what it costs, as they are shown.
    note : str
        What is said of it; where it is struck out, why.
    kind : {"best", "left", "struck"}
    """

    name: str
    numbers: Sequence[str]
    note: str
    kind: str


@dataclass(frozen=True)
class Ranking:
    """Amounts, with a line across all, and what each costs.

    Attributes
    ----------
    heads : sequence of str
        Above the names, the amounts, and each cost.
    tops : sequence of float
        Where the axes of amounts and costs end; all begin at 0.
    rows : sequence of Row
    line : float
    mark : str
        What the line is.
    note : str
        How all this is read.
    """

    heads: Sequence[str]
    tops: Sequence[float]
    rows: Sequence[Row]
    line: float
    mark: str
    note: str


@dataclass(frozen=True)
class State:
    """What is seen at one setting of the controls, and what it says in a sentence.

    Attributes
    ----------
    panels : sequence of Panel
    said : str
    answers : sequence of (str, str, str, str)
        Mechanisms to take: name, what to type after ``--mechanism``, the call, and where that is described.
    ranking : Ranking, optional
        Below the panels.
    """

    panels: Sequence[Panel]
    said: str
    answers: Sequence[tuple[str, str, str, str]] = ()
    ranking: Ranking | None = None


@dataclass(frozen=True)
class Curve:
    """Lines over all values of the last control; where it stands is a point that can be drawn along them.

    Attributes
    ----------
    title, unit : str
    lines : dict
        Of each user, a number for each value of the last control.
    """

    title: str
    unit: str
    lines: dict[str, Sequence[float]]


class Explorable:
    """States for every setting of some controls.

    Parameters
    ----------
    users : sequence of str
        At most six; each has its colour.
    controls : sequence of Control
    states : sequence of State
        One for each setting; the last control changes fastest.
    curves : sequence of Curve, optional
        One for each setting of all controls but the last.

    Raises
    ------
    InvalidInput
        Where a setting has no state.
    """

    def __init__(
        self, users: Sequence[str], controls: Sequence[Control], states: Sequence[State], curves: Sequence[Curve] = ()
    ) -> None:
        wanted = math.prod(len(control.values) for control in controls)
        if len(states) != wanted:
            raise InvalidInput("states", f"must be {wanted}, one for each setting", len(states))
        self.users, self.controls, self.states, self.curves = list(users), list(controls), list(states), list(curves)

    @property
    def first(self) -> State:
        """The state at the start."""
        index = 0
        for control in self.controls:
            index = index * len(control.values) + control.at
        return self.states[index]

    def data(self) -> dict[str, Any]:
        """Give what the script reads."""

        def column(one: Column) -> dict[str, Any]:
            parts = [[who, round(float(size), 9)] for who, size in one.parts]
            return {"name": one.name, "note": one.note, "parts": parts, "line": one.line}

        return {
            "users": self.users,
            "controls": [{"label": c.label, "values": list(c.values), "at": c.at} for c in self.controls],
            "states": [
                {
                    "panels": [
                        {
                            "title": p.title,
                            "top": p.top,
                            "unit": p.unit,
                            **({"corner": True} if p.corner else {}),
                            "columns": [column(one) for one in p.columns],
                        }
                        for p in state.panels
                    ],
                    "said": state.said,
                    "answers": list(state.answers),
                    **({"ranking": asdict(state.ranking)} if state.ranking else {}),
                }
                for state in self.states
            ],
            "curves": [
                {
                    "title": c.title,
                    "unit": c.unit,
                    "lines": [[who, [round(float(y), 9) for y in line]] for who, line in c.lines.items()],
                }
                for c in self.curves
            ],
        }

    def _table(self) -> list[list[str]]:
        """Give the state at the start as rows of words, the heads first."""
        if told := self.first.ranking:
            return [[*told.heads, ""], *([one.name, *one.numbers, one.note] for one in told.rows)]
        return [
            ["", "", *self.users],
            *(
                [panel.title, one.name, *(f"{dict(one.parts).get(who, 0):.4g}" for who in self.users)]
                for panel in self.first.panels
                for one in panel.columns
            ),
        ]

    def _repr_html_(self) -> str:
        (heads, *rows), told = self._table(), self.first.ranking
        head = "".join(f"<th>{escape(words)}</th>" for words in heads)
        body = "".join(f"<tr>{''.join(f'<td>{escape(words)}</td>' for words in row)}</tr>" for row in rows)
        data = json.dumps(self.data(), ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
        asked = "; ".join(f"{one.label}: {one.values[one.at]}" for one in self.controls)
        said = "".join(f"<p>{escape(words)}</p>" for words in (self.first.said, *([asked, told.note] if told else [])))
        return (
            f'<div class="explore"><script type="application/json">{data}</script>'
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{said}</div>"
        )

    def __repr__(self) -> str:
        return self.first.said
