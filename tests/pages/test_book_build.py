"""The book builds without one warning, and what is built is what was checked."""

import re

import pytest

from tests.conftest import ROOT, Book, toc_files
from tools.accessible_pages import mend
from tools.offline_pages import ICON

pytestmark = pytest.mark.book


def outside(html: str) -> list[str]:
    """Return what a page would load from another host (links to follow are no loads)."""
    tags = re.findall(r"<(?:script|img|iframe|link|source)\b[^>]*>", html)
    loads = [tag for tag in tags if not re.search(r'rel="(?:canonical|license|author)"', tag)]
    found = [tag for tag in loads if re.search(r"""(?:src|href)=["']?(?:https?:)?//""", tag)]
    return found + re.findall(r"""(?:url\(|@import|fetch\(|import\()\s*["']?(?:https?:)?//[^"') ]+""", html)


def test_no_warning(book: Book) -> None:
    assert book.code == 0, book.output[-6000:]
    assert "WARNING" not in book.output


def test_every_page_of_the_contents_is_built(book: Book) -> None:
    missing = [f for f in toc_files() if not (book.html / f).with_suffix(".html").is_file()]
    assert not missing


def test_pages_offer_the_notebook_that_was_checked(book: Book) -> None:
    notebooks = [f for f in toc_files() if f.endswith(".ipynb")]
    assert notebooks
    for notebook in notebooks:
        page = (book.html / notebook).with_suffix(".html").read_text("utf8")
        assert f'_sources/{notebook}"' in page, f"{notebook}: no download button"
        assert (book.html / "_sources" / notebook).read_bytes() == (ROOT / notebook).read_bytes()


def test_nothing_is_loaded_from_elsewhere(book: Book) -> None:
    pages = sorted(book.html.rglob("*.html"))
    assert pages
    assert {str(page): found for page in pages if (found := outside(page.read_text("utf8")))} == {}


def test_of_two_thousand_icons_those_in_use_are_loaded(book: Book) -> None:
    (script,) = book.html.glob("_static/vendor/fontawesome/*/js/all.min.js")
    text = script.read_text("utf8")
    assert {"bars", "download", "magnifying-glass"} <= {icon[1] for icon in ICON.finditer(text)}
    assert len(text) < 100_000


@pytest.mark.parametrize("page", ["genindex", "book/code"])
def test_a_page_that_was_mended_is_not_mended_again(page: str, book: Book) -> None:
    """`make page` leaves the other pages as they were."""
    text = (book.html / f"{page}.html").read_text("utf8")
    assert mend(text) == text


def test_licences_are_on_every_page(book: Book) -> None:
    for page in toc_files():
        text = (book.html / page).with_suffix(".html").read_text("utf8")
        assert "creativecommons.org/licenses/by/4.0" in text
        assert "BSD 3-Clause" in text
