"""What a page tells a reader beside its text: how to cite it, what came when, what a term means."""

import re

import pytest

import fairbook
from tests.conftest import ROOT, Book, toc_files
from tests.visits import press
from tools import book_tables, definitions
from tools.chromium import Chromium

CITE = (ROOT / "book" / "cite.md").read_text("utf8")
#: The paper of each mechanism in the overview.
PAPERS = {
    "DRF": "ghodsi2011drf",
    "DDRF": "kash2014agent",
    "DMFA-SRQ": "zhang2016dmfasrq",
    "cbDRF": "lu2014cbdrf",
    "Karma": "vuppalapati2023karma",
    "TV-DRF": "li2019tvdrf",
    "DRFH": "wang2014drfh",
    "GDRF": "gdrf2016",
    "Virtual clusters": "liu2012virtualcluster",
    "SequentialMinMax": "parkes2015beyond",
}


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


def test_each_mechanism_of_the_overview_stands_at_the_year_of_its_paper_and_leads_to_a_page() -> None:
    entries = (ROOT / "book" / "references.bib").read_text("utf8")
    nodes = r'<a href="(\w+)/(\w+)\.html[^"]*" aria-label="(.+), (\d+)">.*?cx="(\d+)"'
    found = re.findall(nodes, (ROOT / "book" / "intro.md").read_text("utf8"))
    assert {name for *_, name, _, _ in found} == set(PAPERS)
    for folder, page, name, year, x in found:
        assert (ROOT / "book" / folder / f"{page}.md").is_file(), name
        entry = entries[entries.index(f"{{{PAPERS[name]},") :]
        assert f"{{{year}}}" in entry[entry.index("\n  year") :].split("\n")[1], name
        assert int(x) == 30 + 26 * (int(year) - 2011), name


@pytest.mark.book
@pytest.mark.browser
def test_a_term_says_what_it_means_at_the_keyboard_and_under_a_finger(book: Book, chromium: Chromium) -> None:
    meaning, place = definitions.terms()["strategy-proofness"]
    term = f"document.querySelector('.bd-article a.means[href$=\"{place.split('#')[1]}\"]')"
    shown = f"getComputedStyle({term}, '::after').content"
    chromium.look(390, still=True)
    chromium.open((book.html / "book" / "foundations" / "story.html").as_uri())
    chromium.send("Emulation.setFocusEmulationEnabled", enabled=True)
    assert chromium.evaluate(f"{term}.title") == meaning
    assert chromium.evaluate(shown) == "none"
    assert chromium.evaluate(f"{term}.focus(), {shown}") == f'"{meaning}"'
    touched = "new PointerEvent('click', {pointerType: 'touch', bubbles: true, cancelable: true})"
    assert not chromium.evaluate(f"{term}.blur(), {term}.dispatchEvent({touched})")  # the page stays
    assert chromium.evaluate(shown) == f'"{meaning}"'
    press(chromium, "Escape", 27)
    assert chromium.evaluate(shown) == "none"
    chromium.look()
