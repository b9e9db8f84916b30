"""Witnesses of the ledger as tables and as Python: what stands there can be run, and gives what the ledger says."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import fairbook as fb
from book.common.claims import stored
from book.tv_drf.judging import NO_TIE
from tools import verdicts, witnesses
from tools.formulas import typeset, typeset_original

ROWS = verdicts.ledger()
RUN = {row["id"]: one for row in ROWS.to_dict("records") if (one := witnesses.witness(row))}


def flat(value: Any) -> list[Any]:
    """Give what is in nested lists and arrays, one after the other, texts as fractions."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return [x for one in value for x in flat(one)]
    return [Fraction(value) if isinstance(value, str) else value]


#: How a number is changed: one more, half of it, and what it lacks of one.
CHANGES: tuple[Callable[[Fraction], Fraction], ...] = (lambda x: x + 1, lambda x: x / 2, lambda x: 1 - x)


def others(value: Any) -> Iterator[Any]:
    """Yield nested lists of texts with one number changed, in each place and in each way."""
    if isinstance(value, list):
        yield from ([*value[:at], other, *value[at + 1 :]] for at, one in enumerate(value) for other in others(one))
    else:
        yield from (str(change(Fraction(value))) for change in CHANGES)


def same(one: Any, other: Any) -> bool:
    """Tell whether the numbers are equal: fractions exactly, floats to 1e-9."""
    a, b = flat(one), flat(other)
    exact = all(isinstance(x, (int, Fraction)) for x in a)
    return len(a) == len(b) and (a == b if exact else np.allclose(np.array(a, float), np.array(b, float), 1e-9, 1e-9))


def test_every_row_that_a_witness_decides_can_be_run() -> None:
    decided = {row["id"] for row in ROWS.to_dict("records") if "witness" in row["grade"]}
    assert decided - RUN.keys() == set()
    assert witnesses.by_hand().keys() <= set(ROWS["id"])


@pytest.mark.parametrize("name", RUN)
def test_a_witness_gives_what_stands_there_and_another_number_tells(name: str) -> None:
    """Where one number of the arguments is changed, what is found is something else, or the answer is."""
    found, answer = witnesses.run(RUN[name])
    assert same(found, RUN[name]["gives"])
    assert answer is None or bool(answer) is RUN[name]["answer"]
    arguments = RUN[name]["arguments"]
    for key, other in ((key, other) for key, value in arguments.items() for other in others(value)):
        with suppress(fb.FairbookError, ArithmeticError):  # a number that is refused tells nothing
            different, verdict = witnesses.run(RUN[name] | {"arguments": arguments | {key: other}})
            if not same(different, found) or verdict != answer:
                return
    pytest.fail("no number tells")


def test_no_tie_decides_what_refutes_the_sharing_fairness_of_algorithm_1() -> None:
    """Users and machines in any order, which settles each tie otherwise."""
    demands, tasks, machines, parts = (
        one.astype(float) for one in (NO_TIE.demands, NO_TIE.tasks, NO_TIE.machines, NO_TIE.contributions)
    )
    for users in permutations(range(2)):
        for order in permutations(range(2)):
            i, k = list(users), list(order)
            given = fb.tv_drf(demands[:, i], tasks[:, i], machines[k], parts[i][:, k])
            assert given.tasks[0, np.argsort(i)].tolist() == [2, 1]


@pytest.mark.parametrize("name", [row["id"] for row in ROWS.to_dict("records") if row["witness"]])
def test_a_table_has_a_row_for_each_user(name: str) -> None:
    head, *users = witnesses.table(json.loads(ROWS.loc[name, "witness"]))
    assert head[0] == "user"
    assert [user[0] for user in users] == [str(i + 1) for i in range(len(users))]
    assert {len(user) for user in users} == {len(head)}


def test_an_original_keeps_its_words_and_its_braces() -> None:
    """Of what is typeset, no sign is lost; names in a program stay as they are."""
    terms = [place["term"] for place in stored.places().values()]
    for term in terms:
        shown = typeset_original(term)
        assert re.sub(r"[$\\{} ]|max|cdot|\*", "", shown) == re.sub(r"[{} ]|max|\*", "", term)
        assert shown.count("$") % 2 == 0
    assert sum("$" in typeset_original(term) for term in terms) > 10


def test_formulas_of_the_ledger_are_whole() -> None:
    """Nothing is lost when they are typeset, and brackets stay in pairs."""
    for text in ROWS["statement"]:
        shown = typeset(text)
        assert shown.count("$") % 2 == 0
        for formula in shown.split("$")[1::2]:
            assert formula.count("(") == formula.count(")")
            assert formula.count("{") == formula.count("}")
        assert set(re.findall(r"[A-Za-z]{4,}", text)) - {"fmax"} <= set(re.findall(r"[A-Za-z]{4,}", shown))
    assert sum(typeset(text) != text for text in ROWS["statement"].unique()) > 50
