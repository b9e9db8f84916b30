"""The ledger: every claim gets its verdict again, every check can fail, and a verdict follows from what was found."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairbook as fb
from book.common import claims
from book.common.claims import registry, stored
from book.common.claims.registry import COLUMNS, QUICK, Claim, Effort, Evidence, Mechanism, Part, check_mutant, claim
from book.dmfa_srq import attacks
from fairbook.errors import InvalidInput
from tools.verdicts import ledger

BOOK = Path(__file__).resolve().parents[2] / "book"
REFRESH = "`make results` computes it"
CLAIMS = {key: one for paper in stored.papers() for key, one in claims.claims(paper).items()}
GRADES = {"proof", "search", "witness", "numbers"}


PAPERS = sorted({one.paper for one in CLAIMS.values()})


# ------------------------------------------------------------------------------------------------ the real claims


@pytest.mark.parametrize("key", CLAIMS)
def test_the_check_gives_the_stored_verdict_and_can_fail(key: str) -> None:
    one = CLAIMS[key]
    evidence = one.check(QUICK, one.mechanism)
    assert check_mutant(one, evidence=evidence), (
        f"the check of {key} does not tell {one.mechanism.name} from {one.mutant.name}"
    )
    assert all(part.found.strip() and part.grade in GRADES and part.size >= 0 for part in evidence.parts)
    rows = ledger()
    row = rows[rows["id"] == key]
    assert len(row) == 1, f"{key} is not in the stored ledger: {REFRESH}"
    assert one.verdict(evidence) == row["verdict"].item()


def test_the_stored_ledger_is_fresh_and_says_what_is_registered() -> None:
    frame = claims.ledger()
    assert (frame["effort"] == "full").all()
    assert frame["proof"].tolist() == [one.proof or "" for one in CLAIMS.values()]
    for column in ("id", "paper", "locator", "kind", "variant", "statement"):
        assert frame[column].tolist() == [getattr(one, column) for one in CLAIMS.values()]


def test_identifiers() -> None:
    for key, one in CLAIMS.items():
        assert key == one.id
        assert re.fullmatch(rf"{one.paper}(\.[a-z0-9_]+){{1,3}}", key)
        if one.kind == "extension" or re.search("restated|repairs", one.variant):
            assert one.locator.startswith("beyond the paper"), key
        # a claim with variants has a variant for each: "paper.claim" asks for all of them
        assert not any(other.startswith(key + ".") for other in CLAIMS)
    for paper_key in PAPERS:
        assert list(claims.claims(paper_key)) == [key for key, one in CLAIMS.items() if one.paper == paper_key]
    assert claims.claims("nothing") == {}


def test_every_label_of_a_proof_is_in_the_book_once_and_a_proof_follows() -> None:
    text = "\n".join(page.read_text() for page in sorted(BOOK.glob("*/*.md")))
    for label in {one.proof for one in CLAIMS.values() if one.proof is not None}:
        assert len(re.findall(rf"^:label: {label}$", text, re.MULTILINE)) == 1, f"{label} is not stated once"
        if label.startswith("ex-"):
            assert re.search(rf"^:+\{{solution\}} {label}$", text, re.MULTILINE), (
                f"the exercise {label} has no solution"
            )
        else:
            proof = re.search(
                rf"Proof of \{{prf:ref\}}`{label}`\n:+\{{prf:proof\}}\n(.+?)^:::", text, re.MULTILINE | re.DOTALL
            )
            assert proof, f"{label} is stated but not proved"
            assert len(proof[1]) > 100


# ---------------------------------------------------------------------------------------------------- the verdict


def parts(text: str) -> Evidence:
    """Read parts: T, F or ? and the first letter of a grade, a capital one for a part that looked at nothing."""
    grades = {grade[:2]: grade for grade in GRADES}
    answers = {"T": True, "F": False, "?": None}
    return Evidence.of(
        *(
            Part(answers[word[0]], grades[word[1:3].lower()], "found", 0 if word[1].isupper() else 5)
            for word in text.split()
        )  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("kind", ["lemma", "theorem", "algorithm", "complexity", "equation", "statement", "extension"])
@pytest.mark.parametrize(
    ("found", "proof", "verdict"),
    [
        ("Tse", "label", "holds"),
        ("Tnu", "label", "holds"),
        ("Tse Tnu", "label", "holds"),
        ("Tse", None, "undetermined"),  # nothing holds without a proof
        ("Tse Tnu", None, "undetermined"),
        ("TSe", "label", "undetermined"),  # nor without a search that looked at something
        ("TSe TNu", "label", "undetermined"),
        ("Twi", "label", "undetermined"),  # an instance where it is true is no search
        ("Tpr", "label", "undetermined"),
        ("Fwi", None, "refuted"),
        ("Fwi", "label", "refuted"),
        ("Fwi Fwi", None, "refuted"),
        ("Fse", None, "undetermined"),  # refuted needs a witness
        ("Fnu", "label", "undetermined"),
        ("Fwi Fse", None, "undetermined"),
        ("Tse Fwi", "label", "partly"),
        ("Fwi Tse", None, "partly"),
        ("?se", "label", "undetermined"),
        ("Tse ?se", "label", "undetermined"),
        ("Fwi ?se", None, "undetermined"),
        ("Tse Fwi ?se", "label", "undetermined"),
        ("", "label", "undetermined"),
        ("", None, "undetermined"),
    ],
)
def test_verdicts_on_statements(kind: Any, found: str, proof: str | None, verdict: str) -> None:
    assert planted(kind=kind, proof=proof).verdict(parts(found)) == verdict


@pytest.mark.parametrize("kind", ["figure", "number"])
@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        ("Tnu", "reproduced"),
        ("Tnu Tnu", "reproduced"),
        ("Tnu Fnu", "partly"),
        ("Fnu", "not reproduced"),
        ("Fnu Fnu", "not reproduced"),
        ("?nu", "nothing to compare"),
        ("Tnu ?nu", "nothing to compare"),
        ("Fnu ?nu", "undetermined"),  # what fails is not hidden behind what cannot be compared
        ("Tnu Fnu ?nu", "undetermined"),
        ("", "undetermined"),
    ],
)
@pytest.mark.parametrize("proof", [None, "label"])
def test_verdicts_on_figures(kind: Any, found: str, proof: str | None, verdict: str) -> None:
    assert planted(kind=kind, proof=proof).verdict(parts(found)) == verdict


# ---------------------------------------------------------------------------------------------------- planted claims

GOOD, BAD = Mechanism("good", lambda: True), Mechanism("bad", lambda: False)


def planted(kind: Any = "lemma", proof: str | None = None, check: Any = None, **fields: Any) -> Claim:
    return Claim("toy.one", "toy", "Lemma 9", kind, "as stated", "True.", check, GOOD, BAD, proof, **fields)


def answers(honest: list[bool | None], broken: list[bool | None]) -> Claim:
    def check(effort: Effort, subject: Mechanism) -> Evidence:
        return Evidence(tuple(Part(x, "search", "found", 1) for x in (honest if subject is GOOD else broken)))

    return planted(check=check)


@pytest.mark.parametrize(
    ("honest", "broken", "caught"),
    [
        ([True], [False], True),
        ([False], [True], True),  # a refuted claim, and a mended mechanism
        ([True, True], [True, False], True),
        ([True, True], [False], True),
        ([True], [True], False),  # a check that cannot fail
        ([False], [False], False),
        ([True], [None], False),  # an open answer refutes nothing
        ([None], [False], False),
        ([True, True], [True], False),  # nor does a missing one
        ([True], [], False),
        ([True, False], [True, False], False),
    ],
)
def test_checks_that_cannot_fail_are_noticed(
    honest: list[bool | None], broken: list[bool | None], caught: bool
) -> None:
    one = answers(honest, broken)
    assert check_mutant(one) is caught
    assert check_mutant(one, evidence=one.check(QUICK, GOOD)) is caught


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> dict[str, Claim]:
    """Let a test register claims that are forgotten afterwards."""
    held: dict[str, Claim] = {}
    monkeypatch.setattr(registry, "_CLAIMS", held)
    monkeypatch.setattr(stored, "papers", lambda: {"toy": {}})
    return held


def register(id: str = "toy.one", **fields: Any) -> None:
    @claim(
        **(
            {"id": id, "locator": "Lemma 9", "kind": "lemma", "statement": "a | b", "mechanism": GOOD, "mutant": BAD}
            | fields
        )
    )
    def _check(effort: Effort, subject: Mechanism) -> Evidence:
        return Evidence.of(
            Part(subject.run(), "search", f"looked at {effort.runs} | 3 things", 3), Part(True, "numbers", "all", 1)
        )


def test_an_id_is_given_once(registered: dict[str, Claim]) -> None:
    register("toy.one")
    with pytest.raises(InvalidInput, match="id must not be registered already"):
        register("toy.one")
    assert list(registered) == ["toy.one"]


def test_a_row_of_the_ledger_is_computed(registered: dict[str, Claim]) -> None:
    register(proof="lem-toy-1")
    row = registry.compute(registered["toy.one"])
    assert row.pop("seconds") >= 0
    assert row == {
        "id": "toy.one",
        "paper": "toy",
        "locator": "Lemma 9",
        "kind": "lemma",
        "variant": "as stated",
        "statement": "a | b",
        "verdict": "holds",
        "grade": "proof, search, numbers",
        "effort": "quick",
        "evidence": f"looked at {QUICK.runs} | 3 things all",
        "proof": "lem-toy-1",
        "witness": "",
    }
    without = registry.compute(replace(registered["toy.one"], proof=None))
    assert (without["verdict"], without["grade"]) == ("undetermined", "search, numbers")


@pytest.mark.parametrize(
    ("reverse", "first"), [((None, None), ""), ((True, None), registry.REVERSED), ((True, False), ""), ((False,), "")]
)
def test_a_row_begins_with_the_reverse_where_it_prevails(reverse: Any, first: str) -> None:
    found = Evidence(tuple(Part(False, "numbers", "found", 1, one) for one in reverse))
    one = Claim("toy.one", "toy", "Figure 9", "figure", "", "", lambda effort, subject: found, GOOD, BAD)
    assert registry.compute(one)["evidence"] == " ".join([*filter(None, [first]), *["found"] * len(reverse)])


def test_the_ledger_is_recomputed_on_request(registered: dict[str, Claim], capfd: pytest.CaptureFixture[str]) -> None:
    register("toy.one", proof="lem-toy-1")
    register("toy.two")
    frame = claims.ledger(recompute=True)
    assert list(frame.columns) == [*COLUMNS, *stored.PLACED]
    assert frame["verdict"].tolist() == ["holds", "undetermined"]
    assert set(frame["effort"]) == {"quick"}
    full = claims.ledger(recompute=True, paper="toy", effort="full")
    assert set(full["effort"]) == {"full"}
    assert "looked at 1000" in full["evidence"][0]
    assert capfd.readouterr() == ("", "")
    claims.ledger(recompute=True, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "claims, quick" in err


@pytest.mark.parametrize("options", [{"paper": "nothing"}, {"effort": "much"}, {"effort": "much", "recompute": True}])
def test_the_ledger_refuses(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        claims.ledger(**options)
    assert caught.value.where == next(iter(options))


# ---------------------------------------------------------------------------- attacks look at explicit allocations


def test_what_is_attacked_are_the_allocations_of_the_engine() -> None:
    rng = np.random.default_rng(3)
    demands, weights = rng.random((9, 3)) + 0.01, rng.random(9) + 0.01
    one, other = attacks._arrival_by_arrival(demands, weights), fb.dmfa_srq(demands, weights=weights)
    for k in range(1, 10):
        assert one.tasks_at(k) == pytest.approx(other.tasks_at(k), rel=1e-12)
