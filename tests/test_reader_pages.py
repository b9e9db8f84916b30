"""The pages to look things up in are complete: glossary, notation, how to cite."""

import re
from collections.abc import Iterator

import pytest
import yaml

import fairbook
from book.common import checkout
from tests.book_rules import all_directives
from tests.conftest import ROOT, Book, toc_files
from tools import book_tables

BOOK = ROOT / "book"
TOP = [(ROOT / name).with_suffix(".md") for name in toc_files() if name.endswith("/story.ipynb")]
IN_ORDER = [path for path in TOP if path.parent.name in checkout.papers("checks")]
PAPERS = [path.parent.name for path in IN_ORDER]
GLOSSARY, NOTATION, CITE = ((BOOK / f"{name}.md").read_text("utf8") for name in ("glossary", "notation", "cite"))
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf8"))
CHINESE = re.compile(r"[\u3400-\u9fff]")
#: terms of this book, and those that have no settled Chinese word
NO_CHINESE = {
    "DRF machine by machine", "digest", "level", "mutant", "pool level", "stand-in",
}  # fmt: skip


def entries(text: str) -> list[list[list[str]]]:
    """Return the tables of a glossary: of each row the term without its link, the Chinese and the meaning."""
    row = re.compile(
        r"\| (?:\{\S+?\}`([^`]+) <\S+>`|([^|\u3400-\u9fff]+?))((?: [^|]*[\u3400-\u9fff][^|]*)?) \| (.+) \|"
    )
    tables = re.findall(r"^\|---.*\n((?:\|.*\n)+)", text, flags=re.MULTILINE)
    found = [[row.fullmatch(line) for line in one.splitlines()] for one in tables]
    return [[[one[1] or one[2], one[3], one[4]] for one in table if one] for table in found]


def glossary_faults(text: str) -> Iterator[str]:
    """Yield what is wrong with a glossary: unsorted, a term twice, without Chinese or meaning, a paper unknown."""
    rows = [row for table in entries(text) for row in table]
    for table in entries(text):
        if (terms := [row[0].lower() for row in table]) != sorted(terms):
            yield f"not sorted: {terms}"
    for term, chinese, meaning in rows:
        if [row[0] for row in rows].count(term) != 1:
            yield f"{term}: there twice"
        if bool(CHINESE.search(chinese)) == (term in NO_CHINESE):
            yield f"{term}: Chinese"
        if not 4 <= len(meaning.split()) <= 20:
            yield f"{term}: not one line"
        for key in re.findall(r"\(([a-z_]+)\)", chinese):
            if key not in PAPERS:
                yield f"{term}: no paper has the key {key}"


def test_the_glossary_is_whole() -> None:
    assert sum(map(len, entries(GLOSSARY))) == len(re.findall(r"^\| (?!term )", GLOSSARY, flags=re.MULTILINE)) > 50
    assert list(glossary_faults(GLOSSARY)) == []


def test_every_paper_has_its_table_of_symbols() -> None:
    tables = {block.options.get("name"): block for block in all_directives(NOTATION) if block.name == "table"}
    assert {f"tab-notation-{key}" for key in (*PAPERS, "book", "drf")} == set(tables)
    for name, block in tables.items():
        rows = [line for line in block.body if line.startswith("|")]
        assert len({row.replace(r"\|", "").count("|") for row in rows}) == 1, name
        assert len(rows) > 6, name


@pytest.mark.book
def test_each_page_says_how_to_cite_it_and_what_a_link_to_it_shows(book: Book) -> None:
    for name in toc_files():
        page = (book.html / name).with_suffix(".html")
        text = page.read_text("utf8")
        entry = re.search(r"@incollection\{fairbook_\w+,\n  author = .*?</pre>", text, re.DOTALL)
        assert entry, name
        assert f"Version {fairbook.__version__}" in entry[0], name
        found = re.search(r'<meta name="description" content="([^"]{30,250})">', text)
        assert found, name
        picture = re.search(r'<meta property="og:image" content="([^"]+)">', text)
        assert picture, name
        assert (page.parent / picture[1]).resolve().is_file(), name


def bare(text: str) -> str:
    return re.sub(r"[{}]", "", text)


def test_the_version_is_stated_once_and_put_into_every_entry() -> None:
    """The package has it, CITATION.cff agrees, and the page gets it when it is built."""
    assert CITATION["version"] == fairbook.__version__
    assert CITE.count("version = {VERSION}") == len(re.findall("@software|@incollection", CITE))
    assert not re.search(r"version\W+\d+\.\d", CITE)
    source, other = [CITE], ["VERSION"]
    book_tables.state_version(None, "book/cite", source)
    book_tables.state_version(None, "book/other", other)
    assert other == ["VERSION"]
    assert "VERSION" not in source[0]
    assert source[0].count(CITATION["version"]) == CITE.count("VERSION")


def test_the_book_its_chapters_and_papers_can_be_cited() -> None:
    """A page by the entry at its foot, a paper by its entry in the file to download."""
    book, subtitle = CITATION["title"].split(": ")
    assert f"{book}: {subtitle}" in re.sub(r"\s+", " ", CITE)
    assert "{download}`references.bib <references.bib>`" in CITE
    assert set(PAPERS) == set(checkout.papers("checks"))
    assert len(CITATION["references"]) == len(PAPERS)
    text = re.sub(r"\s+", " ", bare((BOOK / "references.bib").read_text("utf8")))
    for paper in CITATION["references"]:
        for said in (f"title = {paper['title']},", f"journal = {paper['journal']},", f"year = {paper['year']}"):
            assert said in text
        assert paper["authors"][0]["family-names"] in text
