"""Witnesses of the ledger as tables and as Python: what stands there can be run, and gives what the ledger says."""

import re

import numpy as np
import pytest

from tools import verdicts, witnesses
from tools.formulas import typeset

ROWS = verdicts.ledger()
SHOWN = ROWS[ROWS["grade"].str.contains("witness") & ROWS["evidence"].map(lambda text: bool(witnesses.data(text)))]
#: The ledger's brackets for Python's.
BRACKETS = str.maketrans("[]", "()")


def test_most_witnesses_come_with_a_call_that_gives_what_the_ledger_says() -> None:
    found = 0
    for name, evidence in SHOWN["evidence"].items():
        *lines, stated = witnesses.python(evidence, str(name)).splitlines()
        if not stated.startswith("#"):
            continue
        names: dict[str, object] = {}
        exec("\n".join([*lines[:-1], f"found = {lines[-1]}"]), names)
        given = np.concatenate([np.ravel(one) for one in names["found"]])  # type: ignore[attr-defined]
        np.testing.assert_allclose(given, witnesses.numbers(witnesses.nested(stated[2:].translate(BRACKETS))), 1e-9)
        found += 1
    assert found > len(SHOWN) / 2 > 40


@pytest.mark.parametrize(
    ("name", "said", "wrong"),
    [
        ("tv_drf.theorem_1.whole.one", "Tasks run ((2", "Tasks run ((7"),
        ("dmfa_srq.theorem_1.zeros", "levels ((1)", "levels ((7)"),
        ("cbdrf.theorem_4.literally", "; tasks (1/4", "; tasks (1/7"),
        ("virtual_cluster.use.greedy", "out are VMs (1, 1, 1)", "out are VMs (1, 1, 7)"),
    ],
)
def test_no_call_is_shown_that_gives_something_else(name: str, said: str, wrong: str) -> None:
    evidence = ROWS.loc[name, "evidence"]
    assert said in evidence
    assert "# " in witnesses.python(evidence, name)
    assert "# " not in witnesses.python(evidence.replace(said, wrong), name)


@pytest.mark.parametrize("name", SHOWN.index)
def test_a_table_has_a_row_for_each_user(name: str) -> None:
    head, *users = witnesses.rows(ROWS.loc[name, "evidence"])
    assert head[0] == "user"
    assert [user[0] for user in users] == [str(i + 1) for i in range(len(users))]
    assert {len(user) for user in users} == {len(head)}


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
