"""The mutants of rules and engines: each is one change, each mechanism has its part, and what is kept says why."""

import ast
import csv

from fairbook.mechanisms import registry
from tools import mutants


def test_what_is_drawn() -> None:
    found = mutants.units()
    drawn = mutants.drawn()
    assert len(drawn) == len({one.key for one in drawn}) == mutants.ALL
    for name, runs in mutants.run_by(found).items():
        assert sum(mutants.top(one.unit) in runs for one in drawn) >= mutants.EACH, name
    assert mutants.run_by(found).keys() == registry.keys()
    for one in drawn[::9]:
        before = ast.unparse(one.tree)
        setattr(one.node, one.field, one.value)
        changed = ast.unparse(one.tree)
        assert sum(a != b for a, b in zip(before.splitlines(), changed.splitlines(), strict=True)) == 1, one.change


def test_what_is_kept_names_a_test_or_a_reason() -> None:
    with mutants.KEPT.open(encoding="utf8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len({row["key"] for row in rows}) > 100
    for row in rows:
        place, _, test = row["noticed"].removeprefix("limit: ").partition("::")
        reason = place.startswith("no effect: ") and len(place) > 30
        assert place in ("", "import") or reason or (mutants.ROOT / place).is_file(), row
        if place.startswith("tests/"):
            assert f"def {test.split('[')[0]}(" in (mutants.ROOT / place).read_text("utf8"), row
