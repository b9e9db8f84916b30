"""What is written of papers and theorems fits the ledger: places, errata, hypotheses; and the ledger as a file."""

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator

import fairbook
from book.common.claims import claims, stored
from book.common.claims.registry import FIGURE_KINDS
from book.compare.findings import PROOFS
from tests.conftest import ROOT, Book
from tools import errata, verdicts
from tools.verdicts import ledger

ROWS = ledger()[lambda rows: rows.index.isin(claims())]
SCHEMA = json.loads(Path(stored.__file__).with_name("ledger.schema.json").read_text("utf8"))


def test_every_row_judges_one_place_or_goes_beyond_the_paper() -> None:
    named = [row["id"] for place in stored.places().values() for row in place["rows"]]
    assert len(named) == len(set(named))
    own = {one.id for one in claims().values() if not one.locator.startswith("beyond")}
    assert set(named) == own


@pytest.mark.parametrize(("name", "place"), stored.places().items())
def test_a_place_says_what_stands_there_and_whose_each_reading_is(name: str, place: dict[str, Any]) -> None:
    assert {"where", "says", "term", "rows"} <= place.keys() - {"paper"}
    assert place.keys() <= {"paper", "where", "says", "term", "rows", "apart", "instead", "see", "reply"}
    assert place["says"].endswith((".", ".)"))
    assert place["apart"] in ("", *verdicts.APART)
    assert any(row["reading"] in stored.JUDGES for row in place["rows"]) or place["apart"] == "lost"
    kinds = {claims()[row["id"]].kind in FIGURE_KINDS for row in place["rows"]}
    assert len(kinds) < 2
    for row in place["rows"]:
        assert row["id"].startswith(f"{place['paper']}.")
        assert row["reading"] in (*stored.JUDGES, "ours")
        assert row["reading"] == "letter" or row["ours"], row["id"]


def test_every_figure_of_a_paper_is_described_as_it_is_printed() -> None:
    """Each figure that a place names has its entry, and no number is left out."""
    described = [tuple(name.split(".")) for name in stored.printed()]
    for paper in stored.papers():
        its = [int(number) for key, number in described if key == paper]
        where = " ".join(place["where"] for place in stored.places().values() if place["paper"] == paper)
        named = {int(one) for told in re.findall(r"Figures? (\d[\d, and]*)", where) for one in re.findall(r"\d+", told)}
        assert its == list(range(1, len(its) + 1)), paper
        assert named <= set(its), paper


@pytest.mark.parametrize(("name", "entry"), stored.printed().items())
def test_what_is_printed_is_told_in_full_and_drawn_on_a_page_of_the_paper(name: str, entry: dict[str, Any]) -> None:
    needed = {"paper", "where", "caption", "term", "says", "curves", "states", "inferred", "unknown", "drawn"}
    assert needed <= entry.keys() <= needed | {"x", "y"}
    assert entry["says"].endswith(".")
    assert entry["curves"] == list(dict.fromkeys(entry["curves"])) != []
    assert re.search(rf"[图\s]{name.split('.')[1]}\D", entry["caption"])
    assert ("x" in entry) == ("y" in entry)  # a diagram, or an algorithm, has no axes
    assert set(entry["inferred"]) <= {"x", "y", "curves"} & entry.keys()
    pages = "".join(page.read_text("utf8") for page in (ROOT / "book" / entry["paper"]).glob("*.md"))
    assert len(re.findall(rf"^(?::label|    name): {entry['drawn']}$", pages, re.MULTILINE)) == 1


def test_what_is_true_instead_stands_where_it_is_needed_and_rests_on_what_holds() -> None:
    found, frame = dict(zip(ROWS["id"], ROWS["verdict"], strict=True)), stored.statements(ROWS)
    listed = {one for its in errata.wrong(frame) for one in its["place"]}
    written = {name: place for name, place in stored.places().items() if "instead" in place}
    assert listed == {name for name, place in written.items() if not place["apart"]}
    text = "\n".join(page.read_text("utf8") for page in sorted((ROOT / "book").rglob("*.md")))
    known = set(re.findall(r"^:label: (\S+)$", text, re.MULTILINE))
    for name, place in written.items():
        assert place["instead"].endswith("."), name
        assert place["see"] or place["apart"], name
        for one in place["see"]:
            assert found.get(one) in ("holds", "reproduced") if "." in one else one in known, (name, one)


@pytest.mark.parametrize(
    ("verdicts", "readings", "apart", "expected"),
    [
        (("holds", "holds"), ("letter", "charitable"), "", "holds"),
        (("refuted", "refuted"), ("letter", "charitable"), "", "refuted"),
        (("refuted", "holds"), ("letter", "charitable"), "", "depends on the reading"),
        (("refuted", "holds"), ("ours", "letter"), "", "holds"),
        (("holds", "refuted"), ("ours", "charitable"), "presumed", "refuted"),
        (("reproduced", "nothing to compare"), ("letter", "letter"), "", "reproduced"),
        (("partly", "partly"), ("letter", "letter"), "", "partly"),
        ((), (), "lost", "lost"),
    ],
)
def test_the_verdict_on_a_place_is_that_of_the_readings_that_judge(
    monkeypatch: pytest.MonkeyPatch, verdicts: list[str], readings: list[str], apart: str, expected: str
) -> None:
    named = [{"id": f"toy.one.{at}", "reading": reading} for at, reading in enumerate(readings)]
    place = {"where": "Lemma 1", "says": "All is well.", "rows": named, "apart": apart}
    monkeypatch.setattr(stored, "papers", lambda: {"toy": {"places": {"one": place}}})
    rows = [{"id": f"toy.one.{at}", "paper": "toy", "kind": "lemma", "verdict": one} for at, one in enumerate(verdicts)]
    frame = pd.DataFrame([*rows, {"id": "toy.beyond", "paper": "toy", "kind": "lemma", "verdict": "holds"}])
    assert stored.placed(frame)["place"].tolist() == [*["toy.one"] * len(rows), ""]
    [one] = stored.statements(frame).to_dict("records")
    assert (one["verdict"], one["apart"], len(one["ids"])) == (expected, apart, len(rows))


def test_all_counts_are_of_one_partition_and_the_paper_has_them() -> None:
    said = stored.statements(ROWS)
    counts = verdicts.parted(said)
    all_of_them = sum(counts.values())
    assert set(said["verdict"]) <= {one for part in verdicts.PARTS.values() for one in part}
    told = re.search(
        r"make (\d+) statements.*?: (\d+) stand, (\d+) stand in part,.*? (\d+) fall, and\s(\d+) cannot be compared"
        r".*? (\d+) more are counted apart",
        (ROOT / "paper" / "paper.md").read_text("utf8"),
        re.DOTALL,
    )
    assert told
    assert [int(one) for one in told.groups()] == [all_of_them, *counts.values(), len(said) - all_of_them]


def words(row: dict[str, Any]) -> str:
    """Give the words of a row in which its hypotheses must stand."""
    return f"{row['variant']} {row['statement']}".lower()


def held(one: dict[str, Any], rows: list[dict[str, Any]]) -> list[str]:
    """Name the rows that do not say a hypothesis."""
    told = [text.lower() for text in (one["words"], *one.get("or", ()))]
    meant = [row for row in rows if row["id"] in one.get("rows", [row["id"]])]
    return [row["id"] for row in meant if not any(text in words(row) for text in told)]


HYPOTHESES = errata.hypotheses()
FORMS = {label: form for found in HYPOTHESES.values() for label, form in found.items() if label != "standing"}


def test_each_theorem_that_carries_a_row_has_its_hypotheses_and_each_row_says_them() -> None:
    holding = ROWS[(ROWS["verdict"] == "holds") & ~ROWS["proof"].str.startswith("ex-")]
    assert set(holding["proof"]) | set(PROOFS.values()) == set(FORMS)  # the comparison has cells, no rows
    by_label = {label: rows.to_dict("records") for label, rows in holding.groupby("proof")}
    for label, form in FORMS.items():
        for one in form["hypotheses"]:
            assert set(one.get("rows", ())) <= {row["id"] for row in by_label.get(label, [])}, label
            assert held(one, by_label.get(label, [])) == [], (label, one["words"])


def test_each_hypothesis_has_its_ground() -> None:
    """What fails without it is refuted, caught, or shown by a witness that runs; or what was tried is told."""
    found = dict(zip(ROWS["id"], ROWS["verdict"], strict=True))
    every = [one for chapter in HYPOTHESES.values() for one in chapter.get("standing", ())]
    every += [one for form in FORMS.values() for one in form["hypotheses"]]
    for one in every:
        assert one["why"], one
        match one["ground"]:
            case "open":
                assert one["tried"], one
            case "mutant":
                assert one["of"] in claims(), one
            case "witness":
                assert len(one["witness"].strip().splitlines()) <= 5, one
                scope: dict[str, Any] = {"fb": fairbook, "np": np, "Fraction": Fraction}
                exec(one["witness"], scope)
                assert bool(scope["fails"]) is True, one
            case row:
                assert found.get(row) in ("refuted", "partly"), one


def test_the_ledger_to_cite() -> None:
    schema, text = Draft202012Validator(SCHEMA), stored.document(ROWS)
    found: dict[str, Any] = json.loads(text)
    assert [error.message for error in schema.iter_errors(found)] == []
    assert stored.document(ROWS.copy()) == text
    assert sorted(row["id"] for row in found["rows"]) == sorted(claims())
    assert {row["paper"] for row in found["rows"]} == {paper["key"] for paper in found["papers"]}
    for row in found["rows"]:
        assert row["id"].split(".")[0] == row["paper"]
        assert "proof" not in row["grades"] or row["proof"]
        assert ", ".join(row["grades"]) == ROWS.set_index("id").loc[row["id"], "grade"]


@pytest.mark.book
def test_the_book_offers_the_ledger_and_its_schema(book: Book) -> None:
    folder = book.html / "book"
    assert (folder / "ledger.json").read_text("utf8") == stored.document(ROWS)
    assert json.loads((folder / "ledger.schema.json").read_text("utf8")) == SCHEMA
    offered = set(re.findall(r'href="([\w.]+)" download', (folder / "claims.html").read_text("utf8")))
    assert offered == {"ledger.json", "ledger.schema.json"}
