"""Every page, opened from disk in headless Chromium with the network off, is typeset, complete and silent.

And it can be read by ear, by keyboard, with a finger and in both schemes.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Book, toc_files
from tests.visits import STATE, Visit, problems, visit
from tools.accessible_pages import mend, pieces
from tools.chromium import Chromium

pytestmark = [pytest.mark.book, pytest.mark.browser]

PAGES = [str(Path(name).with_suffix(".html")) for name in toc_files()]
Visited = Callable[[str], Visit]


@pytest.mark.parametrize("name", PAGES)
def test_page(name: str, visited: Visited) -> None:
    page = visited(name)
    assert problems(page.seen, page.wide) == []
    assert problems(page.seen, page.narrow) == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_for_ears_fingers_and_keyboards_too(name: str, visited: Visited) -> None:
    assert {what: faults for what, faults in visited(name).faults.items() if faults} == {}


@pytest.mark.parametrize("name", ["search.html", "genindex.html"])
def test_pages_without_a_source(name: str, book: Book, chromium: Chromium) -> None:
    seen = visit(chromium, (book.html / name).as_uri(), {})
    assert {what: faults for what, faults in seen.faults.items() if faults} == {}


def test_what_the_extension_mends() -> None:
    assert list(pieces("a \u4efd\u989d, \u6743\u503c")) == [
        ("a ", False),
        ("\u4efd\u989d", True),
        (", ", False),
        ("\u6743\u503c", True),
    ]
    table = "<table><thead><tr><th></th><th>a</th></tr></thead><tbody><tr><th>b</th><td>1</td></tr></tbody></table>"
    mended = mend(f'<h2>On <em>us</em><a class="headerlink" href="#x">#</a></h2>{table}<p id="i"></p><i id="i"></i>')
    assert '<table aria-label="Table: On us">' in mended
    assert (mended.count('scope="col"'), mended.count('scope="row"')) == (2, 1)
    assert mended.count('id="i"') == 1
    newer = '<div id="pst-primary-sidebar" class="bd-sidebar-primary bd-sidebar"><i class="theme-switch fa"></i></div>'
    mended = mend(f'{newer}<table class="autosummary longtable"><tr><td>a</td></tr></table>')  # of newer themes
    assert 'bd-sidebar" role="region" aria-label="Book"><i aria-hidden="true" class="theme-switch' in mended
    assert 'longtable" role="presentation"><tr><td>' in mended
    assert mend(mended) == mended
    captioned = "<table><caption>c</caption><tr><th>b</th></tr></table>"
    assert "aria-label" not in mend(f"<h2>a</h2>{captioned}")


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
