"""The API reference describes every public name once, and the page on the command line every option."""

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import fairbook
from fairbook.cli import make_parser
from tests.conftest import ROOT, Book
from tools import api_pages

COMMANDS = (ROOT / "book" / "api" / "commands.md").read_text("utf8")


def wanted() -> set[str]:
    return {entry.name for entry in api_pages.entries().values()}


def test_every_public_name_is_described_once() -> None:
    counted = Counter(entry.name for page in api_pages.pages().values() for entry in page)
    assert set(counted) == wanted()
    assert set(counted.values()) == {1}
    names = {f"fairbook.{name}" for name in fairbook.__all__}
    rooms = {f"fairbook.{name}" for name in fairbook._ROOMS}
    assert names - rooms <= wanted()
    for room in rooms:  # a room whose names all live in its modules has those described
        assert any(name.startswith(room + ".") for name in wanted()), room


def test_pages_of_modules_that_are_gone_go(tmp_path: Path) -> None:
    (tmp_path / "fairbook.gone.rst").touch()
    api_pages.write(tmp_path)
    assert {path.stem for path in tmp_path.iterdir()} == set(api_pages.pages())


def test_every_public_name_says_what_it_is() -> None:
    silent = [name for name in sorted(wanted()) if not api_pages.first_sentence(api_pages.entries()[name])]
    assert silent == ["fairbook.__version__"]


def test_names_lead_to_where_a_thing_is_described() -> None:
    entries = api_pages.entries()
    assert entries["fairbook.mechanisms.drf.drf"].name == "fairbook.drf"
    assert entries["fairbook.model.placement.Placement"].name == "fairbook.Placement"
    # a constant that a package hands on is one
    assert entries["fairbook.properties.instances.CORNERS"].name == "fairbook.properties.CORNERS"


def test_formulas_are_typeset_and_code_is_left_alone() -> None:
    lines = ["Cost O(n log n + n m^2); ``O(1)`` stays.", ">>> w_i, O(n)", "w_i stays", "", "O((n + t) (m + log n))",
             "y_i^k = max(M^k, y_i^{k-1}), not max_tasks, ``x_i`` or *y_i*; 10^6 of w_ij."]  # fmt: skip
    api_pages.typeset(None, "function", "", None, None, lines)
    assert lines == [
        r"Cost :math:`O(n \log n + n m^2)`; ``O(1)`` stays.", ">>> w_i, O(n)", "w_i stays", "",
        r":math:`O((n + t) (m + \log n))`",
        ":math:`y_{i}^{k}` = max(:math:`M^{k}`, :math:`y_{i}^{k-1}`), not max_tasks, ``x_i`` or *y_i*; "
        ":math:`10^{6}` of :math:`w_{ij}`.",
    ]  # fmt: skip


def test_a_first_sentence_does_not_end_at_an_abbreviation() -> None:
    assert api_pages.first_sentence(api_pages.entries()["fairbook.drf"]).endswith("(Ghodsi et al. 2011).")


# --------------------------------------------------------------------------------------------- the command line


def options(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if not isinstance(action, argparse._SubParsersAction):
            yield from (name for name in action.option_strings if name not in ("-h", "--help"))


def test_every_command_and_option_is_on_the_page() -> None:
    page = COMMANDS.replace(api_pages.BLOCK, api_pages.commands())
    assert page != COMMANDS
    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", page, flags=re.DOTALL | re.MULTILINE))
    parsers = {parser.prog: parser for parser in (make_parser(), *api_pages.parsers(make_parser()))}
    assert set(sections) == set(parsers)
    assert {"fairbook allocate", "fairbook traces digest"} <= set(parsers)
    for prog, parser in parsers.items():
        for name in options(parser):
            assert re.search(rf"^`[^\n]*{name}[ `][^\n]*\n: \S", sections[prog], flags=re.MULTILINE), (prog, name)


def test_help_is_not_read_as_markup() -> None:
    assert api_pages._words("a_b *c* `d_e` with --f-g") == r"a\_b \*c\* `d_e` with `--f-g`"


@pytest.mark.book
def test_the_built_pages_hold_every_name(book: Book) -> None:
    pages = {path.name: path.read_text("utf8") for path in (book.html / "book" / "api").glob("*.html")}
    anchors = {found for text in pages.values() for found in re.findall(r'id="(fairbook\.[\w.]+)"', text)}
    assert wanted() <= anchors
    assert "{commands}" not in pages["commands.html"]
    assert ":math:" not in pages["fairbook.mechanisms.drf.html"]
    assert "&gt;&gt;&gt;" in pages["fairbook.mechanisms.drf.html"]  # doctests are shown
