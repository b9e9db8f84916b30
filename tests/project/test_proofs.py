"""What is said to be checked by machine is what stands in the files, and stands for what is in the book."""

import re

import pytest

from proofs import check

RECORD = check.record()


def test_the_record_is_of_the_files_as_they_are() -> None:
    assert {name: check.digest(check.plain(name)) for name in check.FILES} == RECORD["files"], "`make proofs`"
    stated = [one for name in check.FILES for one in check.stated(name)]
    assert RECORD["theorems"] == stated
    assert RECORD["whole"] == sorted(label for name in check.FILES for label in check.whole(name))


def test_nothing_is_taken_for_granted_but_the_real_numbers() -> None:
    assert not any(check.FORBIDDEN.search(check.plain(name)) for name in check.FILES)
    assert {*RECORD["axioms"]} <= check.AXIOMS
    assert {one for theorem in RECORD["theorems"] for one in theorem["labels"]} >= {*RECORD["whole"]}


@pytest.mark.parametrize("label", RECORD["prose"])
def test_the_prose_is_what_the_statement_was_held_against(label: str) -> None:
    assert check.digest(check.prose(label)) == RECORD["prose"][label], "compare with proofs/, then `make proofs`"


def test_whatever_a_statement_is_made_of_stands_on_the_page() -> None:
    kinds = r"(?m)^(?:Definition|Fixpoint|Inductive|Record) (\w+)"
    for name in check.FILES:
        shown = "\n".join(check.definitions(name))
        said = shown + "".join(one["statement"] for one in check.stated(name))
        defined = {*re.findall(kinds, check.plain(name))} - {*re.findall(kinds, shown)}
        assert not {one for one in defined if re.search(rf"(?<![\w.]){one}\b", said)}, name


def test_what_a_section_assumes_of_a_statement_stands_on_the_page() -> None:
    for name in check.FILES:
        hidden = re.sub(r"(?ms)^\(\* \{model\} \*\)$.*?^\(\* \{end\} \*\)$", "", check.text(name))
        for _, inside in re.findall(r"(?ms)^Section (\w+)\.$(.*?)^End \1\.$", hidden):
            assumed = re.findall(r"(?m)^(?:Hypothes[ie]s|Variables?) .*", inside)
            assert not assumed or not re.search(r"\{(?:thm|lem|prop|cor|alg)-", inside), (name, assumed)
