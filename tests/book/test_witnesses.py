"""Witnesses of the ledger as tables and as Python: what stands there can be run, and gives what the ledger says."""

import json
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tools import verdicts
from tools.formulas import typeset

ROWS = verdicts.ledger()
SHOWN = {name: json.loads(data) for name, data in ROWS.get("witness", {}).items() if data}


def numbers(value: Any) -> list[float]:
    """Give what is in nested lists, one after the other."""
    return [float(Fraction(value))] if isinstance(value, str) else [x for one in value for x in numbers(one)]


def test_most_witnesses_come_with_a_call_that_gives_what_the_ledger_says() -> None:
    called = [witness for witness in SHOWN.values() if witness["call"]]
    assert len(called) > len(SHOWN) / 2 > 40
    for witness in called:
        *lines, call, stated = verdicts.python(witness).splitlines()
        names: dict[str, Any] = {}
        exec("\n".join([*lines, f"found = {call}"]), names)
        given = np.concatenate([np.ravel(one) for one in names["found"]])
        assert stated == f"# {verdicts.written(witness['gives'])}"
        np.testing.assert_allclose(given, numbers(witness["gives"]), 1e-9)


@pytest.mark.parametrize("name", SHOWN)
def test_a_table_has_a_row_for_each_user(name: str) -> None:
    head, *users = verdicts.table(SHOWN[name])
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
