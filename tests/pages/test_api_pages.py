"""The API reference describes every public name once, and the page on the command line every option."""

import re
from collections import Counter

import pytest

import fairbook
from fairbook.cli import make_parser
from tests.conftest import ROOT, Book
from tools import api_pages

COMMANDS = (ROOT / "book" / "api" / "commands.md").read_text("utf8")


def wanted() -> set[str]:
    return set(api_pages.names().values())


def test_every_public_name_is_described_once() -> None:
    counted = Counter(name for page in api_pages.pages().values() for name in page)
    assert set(counted) == wanted()
    assert set(counted.values()) == {1}
    names = {f"fairbook.{name}" for name in fairbook.__all__}
    rooms = {f"fairbook.{name}" for name in fairbook._ROOMS}
    assert names - rooms <= wanted()
    for room in rooms:  # a room whose names all live in its modules has those described
        assert any(name.startswith(room + ".") for name in wanted()), room


def test_names_lead_to_where_a_thing_is_described() -> None:
    names = api_pages.names()
    assert names["fairbook.mechanisms.pool.drf.drf"] == "fairbook.drf"
    assert names["fairbook.model.placement.Placement"] == "fairbook.Placement"


def test_every_command_and_option_is_on_the_page() -> None:
    page = COMMANDS.replace(api_pages.BLOCK, api_pages.commands())
    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", page, flags=re.DOTALL | re.MULTILINE))
    parsers = {parser.prog: parser for parser in api_pages.parsers(make_parser())}
    assert set(sections) == set(parsers)
    assert {"fairbook allocate", "fairbook completion", "fairbook warm"} <= set(parsers)
    for prog, parser in parsers.items():
        for name in re.findall(r"--[a-z][a-z-]+", parser.format_help()):
            assert name in sections[prog], (prog, name)


@pytest.mark.book
def test_the_built_pages_hold_every_name(book: Book) -> None:
    pages = {path.name: path.read_text("utf8") for path in (book.html / "book" / "api").glob("*.html")}
    anchors = {found for text in pages.values() for found in re.findall(r'id="(fairbook\.[\w.]+)"', text)}
    assert wanted() <= anchors
    assert "{commands}" not in pages["commands.html"]
    assert "&gt;&gt;&gt;" in pages["fairbook.mechanisms.pool.drf.html"]  # doctests are shown
