"""Every page, opened from disk in headless Chromium with the network off, is typeset, complete and silent."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Book, toc_files
from tests.visits import STATE, Visit, problems
from tools.chromium import Chromium

pytestmark = [pytest.mark.book, pytest.mark.browser]

PAGES = [str(Path(name).with_suffix(".html")) for name in toc_files()]
Visited = Callable[[str], Visit]


@pytest.mark.parametrize("name", PAGES)
def test_page(name: str, visited: Visited) -> None:
    page = visited(name)
    assert problems(page.seen, page.wide) == []
    assert problems(page.seen, page.narrow) == []


def test_in_the_dark_scheme_figures_have_the_ground_of_the_page(visited: Visited) -> None:
    for name in PAGES:
        assert visited(name).theme == "dark"
        assert set(visited(name).faces) <= {"rgba(0, 0, 0, 0) invert(0.93) hue-rotate(180deg)"}, name


#: What people look for, and what must be among the first five found.
FOUND = {
    "mechanism": "compare/story", "work conserving": "glossary", "preemption": "compare/story", "YARN": "cluster",
    "Kubernetes": "tutorial", "envy": "foundations/story",
}  # fmt: skip


@pytest.mark.parametrize("words", FOUND)
def test_search_works_from_disk_and_begins_where_a_reader_does(words: str, book: Book, chromium: Chromium) -> None:
    chromium.look()
    seen = chromium.open((book.html / "search.html").as_uri() + f"?q={words}")
    assert problems(seen, chromium.evaluate(STATE)) == []
    found = chromium.evaluate(
        "(async () => { for (let i = 0; i < 100 && !document.querySelector('ul.search li'); i++) "
        "await new Promise(r => setTimeout(r, 50)); "
        "return [...document.querySelectorAll('ul.search li > a')].map(a => a.getAttribute('href').split('?')[0]) })()"
    )
    assert f"book/{FOUND[words]}.html" in found[:5]


def test_a_story_leads_to_the_next(book: Book, chromium: Chromium) -> None:
    for here, there in (("cbdrf", "tv_drf"), ("sequential_minmax", "compare")):
        chromium.open((book.html / f"book/{here}/story.html").as_uri())
        leads = chromium.evaluate("document.querySelector('.next-story').getAttribute('href')")
        assert leads.endswith(f"/{there}/story.html")


def test_a_link_into_a_folded_proof_opens_it(visited: Visited) -> None:
    folded = [name for name in PAGES if name.endswith("/theory.html")]
    assert folded
    for name in folded:
        assert visited(name).linked == [False, True], name
