"""The pages keep the rules of the house: short enough, thin cells, told figures, every statement proved."""

import ast
import re
from collections.abc import Iterator

import nbformat
import pytest

from book.common.checkout import papers
from tools import execute
from tools.measure_pages import words

BOOK = execute.BOOK
PAGES = {p.relative_to(BOOK).with_suffix("").as_posix(): p.read_text("utf8") for p in sorted(BOOK.rglob("*.md"))}
NOTEBOOKS = {path.relative_to(BOOK).with_suffix("").as_posix(): path for path in execute.pages()}
PAPERS = "|".join(f"{key}/" for key in papers("checks"))
#: The most words of prose on a page; of a theory page outside folds.
WORDS = {"story": 2500, "theory": 4000, "evidence": 3000}
MOST_LINES, MOST_LINES_ON_AVERAGE, MOST_LINES_OF_A_DEF = 15, 7, 5  # of a rule: test_stories.py


@pytest.mark.parametrize("name", [name for name in PAGES if re.match(PAPERS, name) and name.split("/")[-1] in WORDS])
def test_a_page_can_be_read_at_one_sitting(name: str) -> None:
    kind = name.split("/")[-1]
    assert words(PAGES[name], folded=kind != "theory") <= WORDS[kind]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_cells_are_short_and_compared(name: str) -> None:
    lengths = []
    for cell in execute.unexecuted(PAGES[name]).cells:
        if cell.cell_type == "code" and "rule" not in cell.metadata.get("tags", []):
            lengths.append(sum(bool(line.strip()) for line in cell.source.splitlines()))
            assert 0 < lengths[-1] <= MOST_LINES, cell.source
            for node in ast.walk(ast.parse(re.sub(r"^\s*[%!].*", "", cell.source, flags=re.MULTILINE))):
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    assert (node.end_lineno or 0) - node.lineno < MOST_LINES_OF_A_DEF, node.name
            kept = [tag for tag in cell.metadata.get("tags", []) if re.match("nbval|raises-exception|skip-exec", tag)]
            assert not kept, cell.source
            assert not re.search(r"#\s*(NBVAL|PYTEST_VALIDATE)", cell.source), cell.source
    assert sum(lengths) <= MOST_LINES_ON_AVERAGE * len(lengths)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_figure_has_a_name_a_caption_and_an_alt_text_that_cannot_go_stale(name: str) -> None:
    for cell in nbformat.reads(NOTEBOOKS[name].with_suffix(".ipynb").read_text("utf8"), as_version=4).cells:
        pictures = [o for o in cell.get("outputs", []) if any(mime.startswith("image/") for mime in o.get("data", {}))]
        if pictures:
            told = cell.metadata["mystnb"]
            assert len(pictures) == 1, cell.source
            assert told["figure"]["name"].startswith("fig-"), cell.source
            assert min(len(str(text).split()) for text in (told["figure"]["caption"], told["image"]["alt"])) > 5
            assert not re.search(r"\d", told["image"]["alt"]), cell.source


def unfolded(text: str) -> Iterator[str]:
    """Yield the labels of the statements without a proof and of the exercises without a solution, each folded."""
    for label in re.findall(
        r"^[:`]+\{prf:(?:theorem|lemma|proposition|corollary)\}.*\n(?::label: (\S+))?", text, re.MULTILINE
    ):
        proof = rf"\{{dropdown\}} Proof of.*`(?:[^`<]*<)?{label}>?`.*\n(?::.*\n)*?:+\{{prf:proof\}}\n(?:.*\S+.*\n)+"
        if not label or not re.search(proof, text):
            yield label
    for label in re.findall(r"^[:`]+\{exercise\}.*\n(?::label: (\S+))?", text, re.MULTILINE):
        if not label or not re.search(rf"\{{solution\}} {label}\n:class: dropdown", text):
            yield label


@pytest.mark.parametrize("name", PAGES)
def test_every_statement_is_proved_and_every_exercise_solved(name: str) -> None:
    assert list(unfolded(PAGES[name])) == []
