"""Every page, opened from disk in headless Chromium with the network off, is typeset, complete and silent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Book, toc_files
from tests.visits import STATE, Visit, problems
from tools.chromium import Chromium

pytestmark = [pytest.mark.book, pytest.mark.browser]

PAGES = [str(Path(name).with_suffix(".html")) for name in toc_files()]
CHAPTERS = [name for name in PAGES if name.endswith("/evidence.html")]
Visited = Callable[[str], Visit]


@pytest.mark.parametrize("name", PAGES)
def test_page(name: str, visited: Visited) -> None:
    page = visited(name)
    assert problems(page.seen, page.wide) == []
    assert problems(page.seen, page.narrow) == []


def test_chapters_have_formulas_and_figures(book: Book, visited: Visited) -> None:
    total = 0
    for name in CHAPTERS:
        state = visited(name).wide
        shown = (book.html / name).read_text("utf8").count("<figure")
        assert state["formulas"] == state["sources"]
        assert len(state["pictures"]) >= shown
        total += shown
    assert total > 30
    for name in (one for one in PAGES if one.endswith("/theory.html")):
        assert visited(name).wide["formulas"] == visited(name).wide["sources"] > 0


def test_in_the_dark_scheme_figures_have_the_ground_of_the_page(visited: Visited) -> None:
    for name in PAGES:
        assert visited(name).theme == "dark"
        assert set(visited(name).faces) <= {"rgba(0, 0, 0, 0) invert(0.93) hue-rotate(180deg)"}, name


def test_search_works_from_disk(book: Book, chromium: Chromium) -> None:
    chromium.look()
    seen = chromium.open((book.html / "search.html").as_uri() + "?q=mechanism")
    assert problems(seen, chromium.evaluate(STATE)) == []
    found = chromium.evaluate(
        "(async () => { for (let i = 0; i < 100 && !document.querySelector('ul.search li'); i++) "
        "await new Promise(r => setTimeout(r, 50)); return document.querySelectorAll('ul.search li').length })()"
    )
    assert found > 0


def test_a_link_into_a_folded_proof_opens_it(visited: Visited) -> None:
    folded = [name for name in PAGES if name.endswith("/theory.html")]
    assert folded
    for name in folded:
        assert visited(name).linked == [False, True], name


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ('<img src="missing.png" alt="a picture">', "picture not loaded"),
        (
            '<p class="bd-article"><img src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=" alt=""></p>',
            "without alt text",
        ),
        ('<script src="https://cdn.example.org/x.js"></script>', "requested from outside"),
        ("<script>console.error('no')</script>", "console: no"),
        ("<script>throw new Error('no')</script>", "console: Error: no"),
        ('<div style="width: 3000px">wide</div>', "wider than the window"),
        ('<span class="math">\\(x\\)</span>', "formula not typeset"),
        ('<span class="math">\\(\\left( x\\)</span><script src="{mathjax}"></script>', "formula in error"),
        ('<span class="math">\\(\\unknown\\)</span><script src="{mathjax}"></script>', "unknown macro"),
    ],
    ids=["picture", "alt", "network", "console", "exception", "overflow", "no-mathjax", "bad-tex", "unknown-macro"],
)
def test_a_broken_page_is_noticed(body: str, word: str, book: Book, chromium: Chromium, tmp_path: Path) -> None:
    chromium.look()
    page = tmp_path / "broken.html"
    mathjax = (book.html / "_static" / "mathjax" / "tex-chtml.js").as_uri()
    page.write_text(f"<!doctype html><title>broken</title>{body.replace('{mathjax}', mathjax)}")
    chromium.open(page.as_uri())
    state = chromium.evaluate(STATE)
    assert any(word in problem for problem in problems(chromium.seen(), state))
