"""What is written about the papers fits the ledger: the errata, and the ledger as a file to cite."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from book.common import errata
from fairbook.claims import claims, stored
from tests.conftest import ROOT, Book
from tools.verdicts import ledger

ROWS = ledger().loc[list(claims())]
SCHEMA = json.loads(Path(stored.__file__).with_name("ledger.schema.json").read_text("utf8"))


def test_corrected_forms_fit_the_ledger() -> None:
    verdicts, written = dict(zip(ROWS["id"], ROWS["verdict"], strict=True)), stored.papers()["errata"]
    assert errata.wrong(ROWS).keys() == written.keys()
    text = "\n".join(page.read_text("utf8") for page in sorted((ROOT / "book").rglob("*.md")))
    known = set(re.findall(r"^:label: (\S+)$", text, re.MULTILINE))
    for key, form in written.items():
        assert form["see"], key
        assert form["instead"].endswith("."), key
        for one in form["see"]:
            assert verdicts.get(one) in ("holds", "reproduced") if "." in one else one in known, (key, one)
        for one in form.get("also", ()):
            assert any(f"{name}.".startswith(f"{one}.") for name in verdicts), (key, one)
    assert {verdicts.get(one) for one in stored.papers()["denied"]} == {"refuted"}


def test_what_is_wrong_follows_from_verdict_and_kind() -> None:
    def changed(column: str, value: str, one: str) -> set[str]:
        return set(errata.wrong(ROWS.assign(**{column: ROWS[column].where(ROWS["id"] != one, value)})))

    assert changed("verdict", "partly", "dmfa_srq.lemma_2") - {*errata.wrong(ROWS)} == {"dmfa_srq.lemma_2"}
    for column, value in (("verdict", "holds"), ("locator", "beyond the paper")):
        assert {*errata.wrong(ROWS)} - changed(column, value, "cbdrf.penalty.step") == {"cbdrf.penalty"}


def test_every_statement_that_fails_is_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errata, "ledger", lambda paper: ROWS[ROWS["paper"] == paper])
    for paper in ROWS["paper"].unique():
        its = ROWS[ROWS["paper"] == paper]
        text, gathered = errata.errata(paper).text, errata.wrong(its)
        assert text.count("*Instead:*") == len(gathered)
        assert "Counterexample in exact" not in text  # each witness is one
        for rows in gathered.values():
            bad = rows[rows["verdict"] == "refuted"]
            assert any(f">{one}</a>" in text and said in text for one, said in zip(bad["id"], bad["statement"]))
    page, refuted = errata.counts(ROWS, caption="c", name="tab-c").text, ROWS[ROWS["verdict"] == "refuted"]
    own = refuted[~refuted["locator"].str.startswith("beyond")]
    assert f"| {len(own) - len(stored.papers()['denied'])} |" in page.splitlines()[-2]


def test_a_number_that_some_reading_reproduces_is_not_listed() -> None:
    text = errata.misses(ROWS, caption="c", name="tab-c").text
    assert "cbdrf-figure-5" in text
    assert "tv-drf-example" not in text
    missed = ROWS.assign(verdict=ROWS["verdict"].replace("reproduced", "not reproduced"))
    assert "tv-drf-example" in errata.misses(missed, caption="c", name="tab-c").text


def test_the_ledger_to_cite() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    schema, text = Draft202012Validator(SCHEMA), stored.document(ROWS)
    found: dict[str, Any] = json.loads(text)
    assert [error.message for error in schema.iter_errors(found)] == []
    assert stored.document(ROWS.copy()) == text
    assert [row["id"] for row in found["rows"]] == list(claims())
    assert {row["paper"] for row in found["rows"]} == {paper["key"] for paper in found["papers"]}
    for row in found["rows"]:
        assert row["id"].split(".")[0] == row["paper"]
        assert "proof" not in row["grades"] or row["proof"]
        assert ", ".join(row["grades"]) == ROWS.set_index("id").loc[row["id"], "grade"]
    for change in ({"id": "One"}, {"verdict": "true"}, {"grades": ["luck"]}, {"kind": None}, {"seconds": 1.5}):
        other = copy.deepcopy(found)
        other["rows"][0] |= change
        assert not schema.is_valid(other), change


def test_the_papers_are_those_of_the_citation_file() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf8"))["references"]
    expected = {
        re.search(r"Key (\w+)\.", one["notes"])[1]: {  # type: ignore[index]
            "title": one["title"],
            "authors": [f"{person['given-names']} {person['family-names']}" for person in one["authors"]],
            "year": one["year"],
        }
        | ({"doi": one["doi"]} if "doi" in one else {})
        for one in cited
    }
    written = {key: {**one} for key, one in stored.papers()["papers"].items()}
    assert all(one.pop("short") for one in written.values())
    assert written == expected


@pytest.mark.book
def test_the_book_offers_the_ledger_and_its_schema(book: Book) -> None:
    folder = book.html / "book"
    assert (folder / "ledger.json").read_text("utf8") == stored.document(ROWS)
    assert json.loads((folder / "ledger.schema.json").read_text("utf8")) == SCHEMA
    offered = set(re.findall(r'href="([\w.]+)" download', (folder / "claims.html").read_text("utf8")))
    assert offered == {"ledger.json", "ledger.schema.json"}
