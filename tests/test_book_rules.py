"""The pages keep the rules of the house, and every rule notices a page that breaks it."""

from collections.abc import Callable

import pytest

from book.common.checkout import papers
from tests import book_rules as rules
from tools import execute

BOOK = execute.BOOK
PAGES = {p.relative_to(BOOK).with_suffix("").as_posix(): p.read_text("utf8") for p in sorted(BOOK.rglob("*.md"))}
NOTEBOOKS = {path.relative_to(BOOK).with_suffix("").as_posix(): path for path in execute.pages()}
KINDS = ("chapter", *rules.HEADS)
CHAPTERS = {
    name: text
    for name, text in PAGES.items()
    if (key := name.split("/")[0]) in papers("checks") and name.removeprefix(f"{key}/") in KINDS
}


def test_there_is_a_book() -> None:
    assert len(PAGES) >= 2
    assert NOTEBOOKS
    assert CHAPTERS


@pytest.mark.parametrize("rule", [rules.nesting, rules.placed_pictures, rules.proofs, rules.solved_exercises])
@pytest.mark.parametrize("name", PAGES)
def test_page(rule: Callable[[str], list[str]], name: str) -> None:
    assert rule(PAGES[name]) == []


@pytest.mark.parametrize("rule", [rules.thin_cells, rules.one_import_cell, rules.compared_cells])
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook(rule: Callable[[str], list[str]], name: str) -> None:
    assert rule(PAGES[name]) == []


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_drawn_figures(name: str) -> None:
    assert rules.drawn_figures(NOTEBOOKS[name].with_suffix(".ipynb").read_text("utf8")) == []


@pytest.mark.parametrize("name", CHAPTERS)
def test_chapter(name: str) -> None:
    key, kind = name.split("/")
    assert rules.house_order(CHAPTERS[name], kind) == []
    assert rules.short_enough(CHAPTERS[name], kind) == []
    assert rules.chapter_labels(CHAPTERS[name], key) == []


def test_labels_are_unique_in_the_whole_book() -> None:
    assert rules.unique_labels(PAGES) == []


# --- every rule can fail -------------------------------------------------------------------------------------------

FRONT = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  name: python3
---

"""


def cell(source: str, head: str = "Setup", options: str = "") -> str:
    return f"\n## {head}\n\n```{{code-cell}} ipython3\n{options}{source}\n```\n"


GOOD = FRONT + "# T\n" + cell("import numpy as np\nx = np.ones(3)") + cell("x.sum()", "Model") + cell("x", "Model")
THEOREM = ":::{prf:theorem} T\n:label: thm-key-1\n\nOne is one.\n:::\n"
PROOF = """::::{dropdown} Proof of {prf:ref}`thm-key-1`
:::{prf:proof}
One is one since it is so, by the first axiom of all.
:::
::::
"""


@pytest.mark.parametrize("rule", [rules.nesting, rules.thin_cells, rules.one_import_cell, rules.compared_cells])
def test_a_good_page_passes(rule: Callable[[str], list[str]]) -> None:
    assert rule(GOOD) == []


@pytest.mark.parametrize(
    ("rule", "page", "word"),
    [
        (rules.thin_cells, FRONT + cell("\n".join(f"x{i} = {i}" for i in range(16))), "16 lines in the cell"),
        (rules.thin_cells, FRONT + cell("def f():\n" + "    pass\n" * 5), "definition of f"),
        (rules.thin_cells, FRONT + 2 * cell("\n".join(f"x{i} = {i}" for i in range(8))), "on average"),
        (rules.one_import_cell, FRONT + cell("x = 1") + cell("import os", "Model"), "the cells [2] import"),
        (rules.one_import_cell, GOOD + cell("import os"), "the cells [1, 4] import"),
        (rules.one_import_cell, FRONT + cell("x = 1"), "the cells [] import"),
        (rules.one_import_cell, GOOD + cell("def f():\n    import os", "Model"), "the cells [1, 4] import"),
        (rules.compared_cells, FRONT + cell("x", options=":tags: [nbval-skip]\n\n"), "kept from being compared"),
        (rules.compared_cells, FRONT + cell("x", options=":tags: [raises-exception]\n\n"), "kept from being compared"),
        (rules.compared_cells, FRONT + cell("# NBVAL_IGNORE_OUTPUT\nx"), "kept from being compared"),
        (rules.nesting, ":::{dropdown} A\n:::{prf:proof}\nx\n:::\n:::\n", "fewer fence characters"),
        (rules.nesting, ":::{note}\nx\n", "never closed"),
        (rules.placed_pictures, "![a plot](x.svg)\n", "states the finding"),
        (rules.placed_pictures, "![the share rises to 42 percent of the pool](x.svg)\n", "digits"),
        (rules.placed_pictures, ":::{figure} x.svg\n:name: fig-x\n\nA caption.\n:::\n", "states the finding"),
        (rules.proofs, THEOREM, "no dropdown"),
        (rules.proofs, THEOREM + PROOF.replace("thm-key-1", "thm-key-2"), "no dropdown"),
        (rules.proofs, THEOREM + PROOF.replace("prf:proof", "note"), "no dropdown"),
        (rules.proofs, THEOREM + ":::{prf:proof}\nNot folded, and long enough to be one.\n:::\n", "no dropdown"),
        (rules.proofs, THEOREM + PROOF.replace(" is one since it is so, by the first axiom of all", ""), "stub"),
        (rules.proofs, THEOREM.replace(":label: thm-key-1\n", ""), "without a label"),
        (rules.proofs, "````{prf:lemma} L\n:label: lem-key-1\n\nx\n````\n", "no dropdown"),
        (rules.solved_exercises, ":::{exercise} E\n:label: ex-key-1\n\nx\n:::\n", "no solution"),
        (rules.solved_exercises,
         ":::{exercise} E\n:label: ex-key-1\n\nx\n:::\n\n:::{solution} ex-key-1\n\nx\n:::\n", "no solution"),
    ],
)  # fmt: skip
def test_a_broken_page_is_noticed(rule: Callable[[str], list[str]], page: str, word: str) -> None:
    assert any(word in problem for problem in rule(page)), rule(page)


def test_a_proof_in_a_dropdown_is_found() -> None:
    assert rules.proofs(THEOREM + PROOF) == []


def chapter(*heads: str) -> str:
    return "# T\n" + "".join(f"\n## {head}\n\nWords.\n" for head in heads)


def test_heads_out_of_order_missing_extra_or_empty_are_noticed() -> None:
    heads = rules.HEADS["story"]
    assert rules.house_order(chapter(*heads), "story") == []
    assert rules.house_order(chapter(heads[0], "Try it", *heads[1:]), "story") == []
    assert rules.house_order(chapter(*heads[1:], heads[0]), "story")
    assert rules.house_order(chapter(*heads[:-1]), "story")
    assert rules.house_order(chapter(*heads).replace("## By hand\n\nWords.", "## By hand"), "story")
    assert rules.house_order("# Another\n" + chapter(*heads), "story")
    assert rules.house_order(chapter(*heads) + "\n```python\n## a comment\n# another\n```\n", "story") == []


def test_a_page_that_is_too_long_is_noticed() -> None:
    many = chapter(*rules.HEADS["theory"]) + "word " * 3990
    assert rules.short_enough(many, "theory") == []
    assert rules.short_enough(many + "word " * 20, "theory")
    assert rules.short_enough(many + "\n:::{dropdown} Proof\n" + "word " * 20 + "\n:::\n", "theory") == []
    assert rules.short_enough(many, "story")


def test_labels_of_all_kinds_are_seen() -> None:
    figure = "---\nmystnb:\n  figure:\n    name: fig-key-1\n---\n"
    text = FRONT + "(key)=\n# T\n\n$$\nx\n$$ (eq-key-1)\n\n" + THEOREM + cell("x", options=figure)
    text += ":::{table} T\n:name: tab-key-1\n\n| a |\n|---|\n| b |\n:::\n"
    assert sorted(rules.labels(text)) == ["eq-key-1", "fig-key-1", "key", "tab-key-1", "thm-key-1"]
    assert rules.chapter_labels(text, "key") == []
    assert len(rules.chapter_labels(text, "other")) == 5
    assert rules.unique_labels({"a": text}) == []
    assert len(rules.unique_labels({"a": text, "b": text})) == 5


GOOD_FIGURE = {
    "figure": {"name": "fig-key-1", "caption": "Shares grow with the weight of a user."},
    "image": {"alt": "A rising line: the share grows with the weight."},
}


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({}, None),
        ({"figure": {"name": "fig-key-1"}}, "caption"),
        ({"figure": {"caption": GOOD_FIGURE["figure"]["caption"]}}, "name that starts with fig-"),
        ({"image": {}}, "states the finding"),
        ({"image": {"alt": "The share grows to 3 times the weight."}}, "digits"),
        ({"pictures": 0}, "0 pictures"),
        ({"pictures": 2}, "2 pictures"),
    ],
)
def test_figures_without_what_they_need_are_noticed(change: dict, word: str | None) -> None:
    import nbformat.v4 as v4

    outputs = [
        v4.new_output("display_data", data={"image/svg+xml": "<svg/>"}) for _ in range(change.pop("pictures", 1))
    ]
    drawn = v4.new_code_cell("fig", outputs=outputs, metadata={"mystnb": {**GOOD_FIGURE, **change}})
    found = rules.drawn_figures(v4.writes(v4.new_notebook(cells=[drawn])))
    assert found == [] if word is None else any(word in problem for problem in found)
