"""What a story teaches in Python is the library's rule, and its exercises tell right answers from wrong ones."""

import re
from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from fairbook.mechanisms import registry
from tests.conftest import ROOT
from tests.library.test_judges import some_of_each

#: What a rule is given, and what the library's makes of it.
Case = tuple[tuple[Any, ...], Any]


def table(rng: Random, rows: int, columns: int, least: int = 0, most: int = 6) -> Any:
    """Draw fractions, of which many are equal."""
    return some_of_each(
        [[Fraction(rng.randint(least, most), rng.randint(1, 3)) for _ in range(columns)] for _ in range(rows)]
    )


def gdrf(rng: Random, n: int, m: int) -> Case:
    demands, machines = table(rng, n, m), table(rng, 3, m, least=3, most=15)
    wishes = [rng.randint(0, 5) for _ in demands]
    return (demands, machines, wishes), registry["gdrf"].rule(demands, machines, max_tasks=wishes)


#: By story: how to draw, and a change of the code that must be noticed.
TAUGHT: dict[str, tuple[Callable[[Random, int, int], Case], str, str]] = {
    "gdrf": (gdrf, "-f(j)", "f(j)"),
}
#: By exercise: an answer that tempts.
WRONG = {
    "ex-gdrf-lie": "2",
    "ex-gdrf-far": "[2, 1, 1, 1, 1]",
    "ex-gdrf-cut": "[[8, 4], [4, 8], [4, 8]]",
}
CELL = r"```\{code-cell\} ipython3\n(?:(?::tags: .*|---\n(?:.*\n)*?---)\n+)?"
SOLUTION = r"\n[^`]*\{solution\} \1\n[^`]*```python\n([^`]*)```"
EXERCISE = rf":label: (ex-\S+)\n[^`]*{CELL}(answer = \.\.\.\n[^`]*)```{SOLUTION}"


def story(key: str) -> str:
    return (ROOT / "book" / key / "story.md").read_text("utf8")


@pytest.mark.parametrize("key", TAUGHT)
def test_the_rule_that_a_story_teaches_is_that_of_the_library(key: str) -> None:
    (code,), (draw, old, new) = re.findall(r":tags: \[rule\]\n\n([^`]*)```", story(key)), TAUGHT[key]
    assert 10 <= sum(bool(line.strip()) for line in code.splitlines()) <= 25

    def agrees(code: str) -> bool:
        exec(code, names := dict[str, Any]())
        drawn = [draw(rng := Random(f"{key} {seed}"), rng.randint(1, 4), rng.randint(1, 3)) for seed in range(50)]
        return all(names[draw.__name__](*given) == expected for given, expected in drawn)

    assert "fairbook" not in code
    assert agrees(code)
    assert old in code
    assert not agrees(code.replace(old, new))


@pytest.mark.parametrize("key", TAUGHT)
def test_an_exercise_tells_right_from_wrong(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    cells, found = re.findall(rf"{CELL}([^`]*)```", story(key)), re.findall(EXERCISE, story(key))
    assert len(found) == 3
    assert not [cell for cell in cells if cell.startswith("answer = ") and not cell.startswith("answer = ...")]
    for label, cell, right in found:
        for answer, said in ((right, "Right."), (f"answer = {WRONG[label]}\n", "No.")):
            exec(cells[0] + cell.replace("answer = ...\n", answer), {})
            assert capsys.readouterr().out.startswith(said), (label, answer)
