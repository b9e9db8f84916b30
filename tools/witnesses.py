"""Witnesses: one instance each that decides a row of the ledger, as a small table and as Python to run.

A row has its witness from ``witnesses.toml`` in the folder of its paper, written by hand, or else from its check, in
the ledger. That of DMFA-SRQ says at its head what an entry holds. Nothing that is stored hangs on these files.
"""

import json
import re
import tomllib
from functools import cache
from typing import Any

from book.common.checkout import BOOK

#: What the Python of a witness may name, beside the functions of a paper.
_COMMON = {
    "fb": "import fairbook as fb",
    "np": "import numpy as np",
    "Fraction": "from fractions import Fraction",
    "fractions": "from fairbook.model.exact import fractions",
}
#: Arguments that all users share: they are no column of a table.
SHARED = {"machines", "capacities", "clusters"}


def _as_text(value: Any) -> Any:
    """Write the numbers in nested lists as text."""
    return [_as_text(one) for one in value] if isinstance(value, list) else str(value)


@cache
def by_hand() -> dict[str, dict[str, Any]]:
    """Read what is written for the papers, by the name of the row."""
    found = {}
    for path in sorted(BOOK.glob("*/witnesses.toml")):
        entries = tomllib.loads(path.read_text("utf8"))
        imports = entries.pop("imports")
        for name, one in entries.items():
            texts = {
                "gives": _as_text(one["gives"]),
                "arguments": {k: _as_text(v) for k, v in one["arguments"].items()},
            }
            found[f"{path.parent.name}.{name}"] = {"numbers": "fractions", "imports": imports, **one, **texts}
    return found


def witness(row: Any) -> dict[str, Any] | None:
    """Give the witness of a row of the ledger; None where it has none.

    It holds ``arguments`` by name, a ``call`` that takes them and what it ``gives``, all numbers as text in nested
    lists; how these ``numbers`` are written ("floats", "text" or "fractions"), the module to take each name from
    (``imports``), and a question that the row answers with yes (``says``, or nothing), with the ``answer``.
    """
    told = json.loads(row["witness"] or "{}")
    found = by_hand().get(row["id"]) or (told.get("call") and {"numbers": "floats", "imports": {}, "says": "", **told})
    return {**found, "answer": row["verdict"] in ("holds", "reproduced")} if found else None


def written(value: Any, quoted: bool = False) -> str:
    """Write nested lists of numbers, which are text, as Python.

    Examples
    --------
    >>> written([["1/2", "1"], ["3"]]), written(["1/2", "1"], quoted=True)
    ('[[1/2, 1], [3]]', '["1/2", 1]')
    """
    if isinstance(value, str):
        return f'"{value}"' if quoted and "/" in value else value
    return f"[{', '.join(written(one, quoted) for one in value)}]"


def _argument(value: Any, numbers: str) -> str:
    text = written(value, quoted=numbers != "floats")
    if numbers == "fractions" and isinstance(value, list):
        return f"fractions({text})"
    return f"Fraction({text})" if numbers == "fractions" and "/" in value else text


def python(witness: dict[str, Any]) -> str:
    """Give a witness as Python to paste, with what its call gives and the answer to its question."""
    lines = [f"{name} = {_argument(value, witness['numbers'])}" for name, value in witness["arguments"].items()]
    lines += [f"found = {witness['call']}", f"# {written(witness['gives'])}"]
    if witness["says"]:
        question, _, note = witness["says"].partition("  # ")
        lines.append(f"{question}  # {witness['answer']}{note and f' ({note})'}")
    used = set(re.findall(r"\w+", "\n".join(lines)))
    taken: dict[str, list[str]] = {}
    for name, module in witness["imports"].items():
        if name in used:
            taken.setdefault(module, []).append(name)
    imports = [line for name, line in _COMMON.items() if name in used]
    imports += [f"from {module} import {', '.join(names)}" for module, names in taken.items()]
    return "\n".join([*imports, "", *lines])


def run(witness: dict[str, Any]) -> tuple[Any, Any]:
    """Run the Python of a witness; give what was found, and the answer to its question, None where there is none."""
    *lines, last = python(witness).splitlines()
    names: dict[str, Any] = {}
    exec("\n".join([*lines, f"answer = {last}" if witness["says"] else "answer = None"]), names)
    return names["found"], names["answer"]


def by_user(name: str, value: Any, users: int) -> dict[str, Any]:
    """Give what a call gives as columns, one for each step where there are several; nothing if it is of no user."""
    if isinstance(value, list) and len(value) == users and not any(isinstance(one, list) for one in value):
        return {name: value}
    if isinstance(value, list) and value and all(isinstance(one, list) and len(one) <= users for one in value):
        return {f"{name}, step {t}": [*one, *[""] * (users - len(one))] for t, one in enumerate(value, start=1)}
    return {}


def table(told: dict[str, Any]) -> list[list[str]]:
    """Give the arguments of a mechanism, and what it gives, as a table: a row for each user.

    Takes a witness as its check has left it in the ledger, with or without a call.
    """
    columns = {name: value for name, value in told["arguments"].items() if name not in SHARED}
    if "parts" in columns:  # users by period
        for name in ("demands", "tasks"):
            columns |= {f"{name}, period {t}": one for t, one in enumerate(columns.pop(name), start=1)}
    count = len(next(iter(columns.values())))
    columns |= by_user(f"gets: {told['call'].rpartition('.')[2].partition('_')[0]}", told["gives"], count)
    users = zip(*columns.values(), strict=True)
    shown = [[str(i), *(written(one).strip("[]") for one in user)] for i, user in enumerate(users, start=1)]
    return [["user", *columns], *shown]


def as_table(row: Any) -> str:
    """Write the witness that a check has found in MyST, below what all users share; nothing where there is none."""
    if not row["witness"]:
        return ""
    told = json.loads(row["witness"])
    head, *users = table(told)
    lines = ["|" + "|".join(cells) + "|" for cells in (head, ["---:"] * len(head), *users)]
    shared = [f"{name} {written(value)}" for name, value in told["arguments"].items() if name in SHARED]
    return "\n".join([*([f"With {', '.join(shared)}:", ""] if shared else []), *lines, ""])
