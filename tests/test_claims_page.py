"""The page of claims: every claim is on it, and the filter shows what the ledger says it should."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import urlencode

import pandas as pd
import pytest

import fairbook as fb
from book.common.cards import counts, listing
from fairbook.claims.stored import anchor
from tests.chromium import Chromium
from tests.conftest import Book
from tests.visits import SETTLED, press, tab

pytestmark = [pytest.mark.book, pytest.mark.browser]

SHOWN = """(() => {
  const shown = [...document.querySelectorAll(".verdicts .claim-id")].filter(id => id.checkVisibility());
  const heads = [...document.querySelectorAll("main section > h2")].filter(head => head.checkVisibility());
  return { ids: shown.map(id => id.textContent), sections: heads.length,
           said: document.querySelector(".claims-filter output").value, hash: location.hash };
})()"""


@cache
def ledger() -> pd.DataFrame:
    """Give the ledger, read once and not before it is needed."""
    return fb.claims.ledger()


@pytest.fixture(scope="module")
def page(book: Book, chromium: Chromium) -> Iterator[Chromium]:
    """Yield a browser that shows the page."""
    chromium.look(still=True)
    seen = chromium.open((book.html / "book" / "claims.html").as_uri())
    assert (seen.errors, seen.failed) == ([], [])
    yield chromium
    assert chromium.seen().errors == []
    chromium.look()


def wanted(frame: pd.DataFrame, **chosen: str) -> list[str]:
    """Give the names of the claims that a choice leaves, as the ledger has them."""
    for name, value in chosen.items():
        if name == "grade":
            frame = frame[[value in grades.split(", ") for grades in frame["grade"]]]
        elif name == "q":
            shown = ["locator", "variant", "statement", "verdict", "kind", "grade", "evidence", "id"]
            words = [" ".join(row) for row in frame[shown].astype(str).itertuples(index=False, name=None)]
            parts = [part.strip('"') for part in re.findall(r'"[^"]+"|[^\s"]+', value.lower())]
            frame = frame[[all(part in text.lower() for part in parts) for text in words]]
        else:
            frame = frame[frame[name] == value]
    return frame["id"].tolist()


def choices() -> Iterator[dict[str, str]]:
    """Yield each value of each filter alone, and some together."""
    grades = sorted({grade for row in ledger()["grade"] for grade in row.split(", ")})
    for name in ("paper", "verdict", "kind"):
        yield from ({name: value} for value in ledger()[name].unique())
    yield from ({"grade": grade} for grade in grades)
    for paper, verdict in ledger().groupby(["paper", "verdict"]).groups:
        yield {"paper": paper, "verdict": verdict}
    yield {"q": "counterexample fractions"}
    yield {"q": "envy", "verdict": "holds"}
    yield {"q": "100%", "kind": "lemma"}
    yield {"q": '"theorem 1" users'}
    yield {"q": 'theorem 1 users'}


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


def test_each_option_says_how_many_claims_it_leaves(page: Chromium) -> None:
    shown(page, "#paper=gdrf")
    told = page.evaluate(
        "[...document.querySelector('.claims-filter').elements.verdict.options].map(o => [o.value, o.text])")
    gdrf = ledger()[ledger()["paper"] == "gdrf"]["verdict"].value_counts()
    expected = {verdict: int(gdrf.get(verdict, 0)) for verdict in ledger()["verdict"].unique()}
    assert {value: text for value, text in told if value} == {v: f"{v} ({count})" for v, count in expected.items()}


def test_the_filter_is_worked_by_keyboard_and_kept_in_the_address(page: Chromium) -> None:
    shown(page, "#")
    page.send("Emulation.setFocusEmulationEnabled", enabled=True)
    page.evaluate("document.querySelector('.claims-filter').elements.grade.focus()")
    press(page, "s", 83, "s")  # type-ahead: search, or smt
    tab(page)
    for letter in "envy":
        press(page, letter, ord(letter.upper()), letter)
    seen = page.evaluate(f"{SETTLED}.then(() => {SHOWN})")
    assert seen["hash"] == "#grade=search&q=envy"
    assert sorted(seen["ids"]) == sorted(wanted(ledger(), grade="search", q="envy"))
    tab(page)
    press(page, "Enter", 13, "\r")
    seen = page.evaluate(f"{SETTLED}.then(() => {SHOWN})")
    assert (len(seen["ids"]), seen["hash"]) == (len(ledger()), "")


def test_sections_without_a_claim_are_left_out_and_paper_shows_all(page: Chromium) -> None:
    every = shown(page, "#")["sections"]
    assert shown(page, "#paper=cbdrf")["sections"] == every - ledger()["paper"].nunique() + 1
    page.send("Emulation.setEmulatedMedia", media="print")
    assert len(page.evaluate(SHOWN)["ids"]) == len(ledger())
    page.send("Emulation.setEmulatedMedia", media="")
    page.look(still=True)


def test_a_link_to_a_claim_shows_it_whatever_was_chosen(page: Chromium) -> None:
    shown(page, "#verdict=holds")
    one = ledger()[ledger()["verdict"] == "refuted"].iloc[0]["id"]
    assert one in shown(page, "#" + anchor(one))["ids"]
    assert page.evaluate(f"document.getElementById({anchor(one)!r}).getBoundingClientRect().top < innerHeight")


@pytest.mark.parametrize("hash_", ["#verdict=nonsense", "#paper=", "#no=thing", "#%", "#q=%"])
def test_nonsense_in_the_address_does_no_harm(page: Chromium, hash_: str) -> None:
    seen = shown(page, hash_)
    assert len(seen["ids"]) in (len(ledger()), len(wanted(ledger(), q="%")))


def test_names_of_claims_are_one_to_one() -> None:
    assert len({anchor(one) for one in ledger()["id"]}) == len(ledger())


def test_what_the_page_is_made_of() -> None:
    text = listing("gdrf").text
    assert text.count("claim-id") == (ledger()["paper"] == "gdrf").sum()
    table = counts(ledger(), caption="c", name="tab-c").text
    links = ledger().groupby(["paper", "verdict"]).size()
    assert table.count("&amp;verdict=") == len(links)
    for (paper, verdict), count in links.items():
        assert f'#paper={paper}&amp;verdict={str(verdict).replace(" ", "+")}">{count}</a>' in table
