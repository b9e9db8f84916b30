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


def drf(rng: Random, n: int, m: int) -> Case:
    demands, (pool,), (weights, bounds) = table(rng, n, m), table(rng, 1, m, 5, 20), table(rng, 2, n, 1)
    terms = {"weights": weights, "capacities": pool, "max_tasks": bounds}
    return (demands, pool, weights, bounds), registry["drf"].rule(demands, **terms)[0]


def dmfa_srq(rng: Random, n: int, m: int) -> Case:
    demands, (brings,) = table(rng, n, m), table(rng, 1, n, 1)
    return (demands, brings), [list(has.values()) for *_, has in registry["dmfa_srq"].rule(demands, weights=brings)]


def cbdrf(rng: Random, n: int, m: int) -> Case:
    demands, (pool,), (up, down, rho) = table(rng, n, m, 1), table(rng, 1, m, 5, 20), rng.choices(PARTS, k=3)
    terms = {"released": [rng.choices(PARTS, k=n) for _ in range(5)], "step_up": up, "step_down": down, "rho": rho}
    run = registry["cbdrf"].rule([demands] * 5, capacities=pool, **terms)
    return (demands, pool, *terms.values()), run.tasks.tolist()


def tv_drf(rng: Random, n: int, m: int) -> Case:
    (brings,), *demands, tasks = table(rng, 1, n, 1), *(table(rng, n, m) for _ in range(3)), table(rng, 3, n)
    parts = [part / sum(brings) for part in brings]
    terms = {"machines": [[Fraction(1)] * m], "contributions": [[part] for part in parts], "method": "lexicographic"}
    return (demands, tasks, parts), registry["tv_drf"].rule(demands, tasks, **terms).tasks.tolist()


def gdrf(rng: Random, n: int, m: int) -> Case:
    demands, machines, wishes = table(rng, n, m), table(rng, 3, m, 3, 15), rng.choices(range(6), k=n)
    return (demands, machines, wishes), registry["gdrf"].rule(demands, machines, max_tasks=wishes)


def virtual_clusters(rng: Random, n: int, m: int) -> Case:
    given = rng.choices(range(1, 10), k=2 * n), rng.choices(PARTS, k=2 * n), rng.choices(range(4, 16), k=m)
    greedy, exact = rng.random() < 0.5, [[*map(Fraction, one)] for one in given]
    pieces = registry["virtual_cluster"].rule(*exact, method="greedy" if greedy else "relaxation")
    return (*given, greedy), [sum(vms for i, _, vms in pieces if i == user) for user in range(2 * n)]


def sequential_minmax(rng: Random, n: int, m: int) -> Case:
    demands, (pool,) = table(rng, n, m), table(rng, 1, m, 5, 20)
    return (demands, pool), registry["sequential_minmax"].rule(demands, capacities=pool)[0]


PARTS = [Fraction(part, 4) for part in range(5)]
#: By story: how to draw, and a change of the code that must be noticed.
TAUGHT: dict[str, tuple[Callable[[Random, int, int], Case], str, str]] = {
    "foundations": (drf, "(bounds[i] - tasks[i])", "bounds[i]"),
    "dmfa_srq": (dmfa_srq, "level > lowest]", "level > lowest + 1]"),
    "cbdrf": (cbdrf, "min(psi[i] + up, 1)", "psi[i] + up"),
    "tv_drf": (tv_drf, "max(0, *", "max(-1, *"),
    "gdrf": (gdrf, "-f(j)", "f(j)"),
    "virtual_cluster": (virtual_clusters, "(vms[i] / wishes[i], wishes[i])", "vms[i] / wishes[i]"),
    "sequential_minmax": (sequential_minmax, "tasks[h] + (h == i)", "tasks[h]"),
}
#: By exercise: an answer that tempts.
WRONG = {
    "ex-foundations-idle": "1 / 2",
    "ex-foundations-rounds": "[2/3, 1/3, 1/3]",
    "ex-foundations-more": "[[1, 4], [3, 1]], [9, 18], [18, 18]",
    "ex-dmfa_srq-hand": "1",
    "ex-dmfa_srq-quiet": "[1/2, 1]",
    "ex-dmfa_srq-enough": "5",
    "ex-cbdrf-back": "9",
    "ex-cbdrf-tempting": "[1, 1/4]",
    "ex-cbdrf-when": "[6, 7, 8, 9, 10]",
    "ex-tv_drf-days": "4",
    "ex-tv_drf-floor": "7 / 4",
    "ex-tv_drf-claim": "1 / 2",
    "ex-gdrf-lie": "2",
    "ex-gdrf-far": "[2, 1, 1, 1, 1]",
    "ex-gdrf-cut": "[[8, 4], [4, 8], [4, 8]]",
    "ex-virtual_cluster-half": "2 / 3",
    "ex-virtual_cluster-falling": "[4, 3, 3, 2]",
    "ex-virtual_cluster-order": '"FCBADE"',
    "ex-sequential_minmax-pool": "7",
    "ex-sequential_minmax-worst": "[2, 9]",
    "ex-sequential_minmax-lie": "3",
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
    assert not agrees(code.replace(old, new))


@pytest.mark.parametrize("key", TAUGHT)
def test_an_exercise_tells_right_from_wrong(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    cells, found = re.findall(rf"{CELL}([^`]*)```", story(key)), re.findall(EXERCISE, story(key))
    assert len(found) == 3
    for label, cell, right in found:
        for answer, said in ((right, "Right."), (f"answer = {WRONG[label]}\n", "No.")):
            exec(cells[0] + cell.replace("answer = ...\n", answer), {})
            assert capsys.readouterr().out.startswith(said), (label, answer)
