"""The PDF has every page of the book, with its links, folds open, and nothing wider than the paper."""

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from tests.conftest import Book, toc_files
from tools import make_pdf
from tools.chromium import find_chromium

pytestmark = pytest.mark.book

SOME = ["book/glossary", "book/foundations/theory"]


@pytest.fixture(scope="module")
def whole(book: Book) -> BeautifulSoup:
    return BeautifulSoup(make_pdf.joined(book.html), "html.parser")


def test_every_page_is_there_once_and_in_order(whole: BeautifulSoup) -> None:
    ids = [one["id"] for one in whole.select("section.page[id]")]
    printed = [name for name in toc_files() if Path(name).with_suffix("").as_posix() not in make_pdf.LEFT_OUT]
    assert ids == [f"page-{number}" for number in range(len(printed))]
    assert len(whole.select(".contents a")) == len(printed) == len(toc_files()) - len(make_pdf.LEFT_OUT)


def test_links_between_pages_lead_within_the_pdf(whole: BeautifulSoup) -> None:
    ids = [str(one["id"]) for one in whole.select("[id]")]
    assert len(ids) == len(set(ids))
    links = [str(one["href"]) for one in whole.select("a[href]")]
    assert sum(link.startswith("#") for link in links) > 500
    assert {link for link in links if link.startswith("#") and link[1:] not in ids} == set()
    assert not [link for link in links if not re.match(r"#|https?:|mailto:", link)]


def test_folds_are_open_and_nothing_is_left_of_the_window(whole: BeautifulSoup) -> None:
    assert len(whole.select("details")) > 50
    assert all("open" in fold.attrs for fold in whole.select("details"))
    assert not whole.select(".headerlink, nav, form, button, main script")


@pytest.mark.browser
def test_two_pages_are_printed(book: Book, tmp_path: Path) -> None:
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium: nothing was printed")
    output = tmp_path / "deep" / "some.pdf"
    make_pdf.make_pdf(book.html, output, SOME)
    printed = output.read_bytes()
    assert printed.startswith(b"%PDF")
    assert len(re.findall(rb"/Type /Page\b(?!s)", printed)) > 8
    for mark in (b"/Outlines", b"/StructTreeRoot", b"/Lang (en", b"/Title (fairbook)"):
        assert mark in printed, mark
    assert not output.with_suffix(".html").exists()


def test_what_cannot_be_printed_is_said(book: Book, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(make_pdf.CannotPrint, match="make book"):
        make_pdf.joined(tmp_path)
    with pytest.raises(make_pdf.CannotPrint, match="no page of the book: nowhere"):
        make_pdf.joined(book.html, ["nowhere", *SOME])
    monkeypatch.setattr(make_pdf, "find_chromium", lambda: None)
    with pytest.raises(make_pdf.CannotPrint, match="no Chromium on the PATH"):
        make_pdf.make_pdf(book.html, tmp_path / "x.pdf")
