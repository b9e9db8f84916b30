"""The pages of the ledger: every claim is there, linked both ways, and the filter shows what the ledger says."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pandas as pd
import pytest

from book.common import checkout
from book.common.claims.stored import anchor
from tests.conftest import Book
from tests.visits import SETTLED, press, tab
from tools import verdicts
from tools.chromium import Chromium

pytestmark = [pytest.mark.book, pytest.mark.browser]

SHOWN = """(() => {
  const all = [...document.querySelectorAll(".verdicts .claim-id")];
  const shown = all.filter(id => id.closest(".claim").checkVisibility());
  return { ids: shown.map(id => id.textContent), said: document.querySelector(".claims-filter output").value,
           hash: location.hash };
})()"""


@cache
def ledger() -> pd.DataFrame:
    """Give the ledger of the paper whose page is looked at, read once and not before it is needed."""
    return verdicts.ledger()[lambda rows: rows["paper"] == "tv_drf"].reset_index(drop=True)


@pytest.fixture(scope="module")
def page(book: Book, chromium: Chromium) -> Iterator[Chromium]:
    """Yield a browser that shows the page."""
    chromium.look(still=True)
    seen = chromium.open((book.html / "book" / "tv_drf" / "ledger.html").as_uri())
    assert (seen.errors, seen.failed) == ([], [])
    yield chromium
    assert chromium.seen().errors == []
    chromium.look()


def wanted(frame: pd.DataFrame, **chosen: str) -> list[str]:
    """Give the names of the claims that a choice leaves, as the ledger has them."""
    for name, value in chosen.items():
        if name == "grade":
            frame = frame[[value in grades.split(", ") for grades in frame["grade"]]]
        else:
            frame = frame[frame[name] == value]
    return frame["id"].tolist()


def choices() -> Iterator[dict[str, str]]:
    """Yield each value of each filter alone, and some together."""
    grades = sorted({grade for row in ledger()["grade"] for grade in row.split(", ")})
    for name in ("verdict", "kind"):
        yield from ({name: value} for value in ledger()[name].unique())
    yield from ({"grade": grade} for grade in grades)
    for kind, verdict in ledger().groupby(["kind", "verdict"]).groups:
        yield {"kind": kind, "verdict": verdict}


def shown(page: Chromium, hash_: str) -> dict[str, Any]:
    return page.evaluate(f"location.hash = {hash_!r}; {SETTLED}.then(() => {SHOWN})")


def test_without_a_choice_every_claim_is_there(page: Chromium) -> None:
    seen = shown(page, "#")
    assert sorted(seen["ids"]) == sorted(ledger()["id"])
    assert seen["said"] == f"{len(ledger())} of {len(ledger())} claims"


def test_every_choice_shows_what_the_ledger_says(page: Chromium) -> None:
    wrong = []
    for chosen in choices():
        seen, expected = shown(page, "#" + urlencode(chosen)), wanted(ledger(), **chosen)
        if sorted(seen["ids"]) != sorted(expected) or seen["said"] != f"{len(expected)} of {len(ledger())} claims":
            wrong.append((chosen, len(seen["ids"]), len(expected)))
    assert wrong == []


def test_the_filter_is_worked_by_keyboard_and_kept_in_the_address(page: Chromium) -> None:
    shown(page, "#")
    page.send("Emulation.setFocusEmulationEnabled", enabled=True)
    page.evaluate("document.querySelector('.claims-filter').elements.grade.focus()")
    press(page, "s", 83, "s")  # type-ahead: search
    tab(page)
    for letter in "envy":
        press(page, letter, ord(letter.upper()), letter)
    seen = page.evaluate(f"{SETTLED}.then(() => {SHOWN})")
    assert seen["hash"] == "#grade=search&q=envy"
    assert set(seen["ids"]) < set(wanted(ledger(), grade="search"))
    tab(page)
    press(page, "Enter", 13, "\r")
    seen = page.evaluate(f"{SETTLED}.then(() => {SHOWN})")
    assert (len(seen["ids"]), seen["hash"]) == (len(ledger()), "")


def test_a_link_to_a_claim_shows_it_whatever_was_chosen(page: Chromium) -> None:
    shown(page, "#verdict=holds")
    one = ledger()[ledger()["verdict"] == "refuted"].iloc[0]["id"]
    assert one in shown(page, "#" + anchor(one))["ids"]
    assert page.evaluate(f"document.getElementById({anchor(one)!r}).getBoundingClientRect().top < innerHeight")


def test_every_claim_is_on_the_page_of_its_paper_with_source_and_proof(book: Book) -> None:
    for paper, rows in verdicts.ledger().reset_index(drop=True).groupby("paper"):
        text = (book.html / "book" / str(paper) / "ledger.html").read_text("utf8")
        for claim, proof in zip(rows["id"], rows["proof"], strict=True):
            row = text[text.index(f'id="{anchor(claim)}"') :]
            row = row[: row.index(f'href="#{anchor(claim)}"')]
            links = re.findall(r'href="([^"#]*source/[\w.]+)#(L-\d+)"', row)
            for page, line in links:
                assert f'id="{line}"' in (book.html / "book" / str(paper) / page).read_text("utf8"), claim
            assert len(links) == 1, claim
            assert Path(links[0][0]).name.startswith("checks"), claim
            assert not proof or f'#{proof}"' in row, claim


def test_every_badge_is_linked_back_from_its_row(book: Book) -> None:
    found = 0
    for path in (book.html / "book").rglob("*.html"):
        for place, row in re.findall(
            r'<a id="(claim-[^"]*-\d+)" class="verdict[^"]*" href="[^"]*#([^"]*)"', path.read_text("utf8")
        ):
            paper = next(key for key in checkout.papers("checks") if row.startswith(f"claim-{key.replace('_', '-')}-"))
            assert f"#{place}" in (book.html / "book" / paper / "ledger.html").read_text("utf8") or place[-1] != "0", (
                place
            )
            found += 1
    assert found > 100
