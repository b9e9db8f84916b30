"""Every page says how to cite it, with the version of the package."""

import re

import pytest

import fairbook
from tests.conftest import ROOT, Book, toc_files
from tools import book_tables

CITE = (ROOT / "book" / "cite.md").read_text("utf8")


@pytest.mark.book
def test_each_page_says_how_to_cite_it_and_what_a_link_to_it_shows(book: Book) -> None:
    for name in toc_files():
        page = (book.html / name).with_suffix(".html")
        text = page.read_text("utf8")
        entry = re.search(r"@incollection\{fairbook_\w+,\n  author = .*?</pre>", text, re.DOTALL)
        assert entry, name
        assert f"Version {fairbook.__version__}" in entry[0], name
        assert re.search(r'<meta name="description" content="([^"]{30,250})">', text), name
        picture = re.search(r'<meta property="og:image" content="([^"]+)">', text)
        assert picture, name
        assert (page.parent / picture[1]).is_file(), name


def test_the_version_is_stated_once_and_put_into_every_entry() -> None:
    assert CITE.count("version = {VERSION}") == len(re.findall("@software|@incollection", CITE))
    assert not re.search(r"version\W+\d+\.\d", CITE)
    source = [CITE]
    book_tables.state_version(None, "book/cite", source)
    assert "VERSION" not in source[0]
    assert source[0].count(fairbook.__version__) == CITE.count("VERSION")
