"""Let Coq check all files here, and say for each label of the book what was checked: ``python proofs/check.py``.

A theorem of a file stands for a label of the book if the comment right before it names the label in braces; what lies
between ``(* {model} *)`` and ``(* {end} *)`` are its definitions. The last comment of a file, ``(* {whole} ... *)``,
names the labels of which all parts are there. ``checked.json`` keeps, for each label, the statements as they stand in
the file, the axioms that ``Print Assumptions`` names, and a hash of the block of the book that it stands for: one that
has changed is to be looked at before this is run again.
"""

import hashlib
import json
import re
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
BOOK = HERE.parent / "book"
RECORD = HERE / "checked.json"
FILES = ("sums", "lemmas", "foundations", "dmfa_srq", "cbdrf", "tv_drf", "tv_drf_whole", "gdrf", "inhabited")
FORBIDDEN = re.compile(
    r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjecture|bypass_check|Guard Checking|Universe Checking)\b"
)
#: Of the real numbers of Coq's standard library; what follows from them alone.
AXIOMS = {
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
}
_THEOREM = re.compile(
    r"\(\*((?:(?!\*\)).)*\{(?:thm|lem|prop|cor)-(?:(?!\*\)).)*)\*\)\n(?:Theorem|Lemma) (\w+)(.*?)\.\nProof\.", re.S
)
_MODEL = re.compile(r"\(\* \{model\} \*\)\n(.*?)\(\* \{end\} \*\)", re.S)


def text(name: str) -> str:
    """Give what stands in a file."""
    return (HERE / f"{name}.v").read_text("utf8")


def plain(name: str) -> str:
    """Give a file without its comments."""
    return re.sub(r"\(\*.*?\*\)", "", text(name), flags=re.S)


def capital(note: str) -> str:
    """Let a remark begin with a capital."""
    return note[:1].upper() + note[1:]


def stated(name: str) -> list[dict[str, Any]]:
    """Give the theorems of a file that stand for labels."""
    return [
        {
            "labels": re.findall(r"\{([\w-]+)\}", note),
            "note": capital(re.sub(r"\s*\{[\w-]+\}[,;]?\s*", " ", note).strip()),
            "file": name,
            "name": theorem,
            "statement": f"Theorem {theorem}{rest}.",
        }
        for note, theorem, rest in _THEOREM.findall(text(name))
    ]


def definitions(name: str) -> list[str]:
    """Give the definitions of a file that its statements are made of."""
    return [one.rstrip() for one in _MODEL.findall(text(name))]


def whole(name: str) -> list[str]:
    """Give the labels of which a file checks all parts."""
    return [label for note in re.findall(r"\(\* \{whole\}(.*?)\*\)", text(name), re.S) for label in note.split()]


def prose(label: str) -> str:
    """Give the block of the book that has a label."""
    for page in sorted(BOOK.rglob("*.md")):
        block = rf"(:{{3,}})\{{prf:\w+\}}[^\n]*\n:label: {re.escape(label)}\n.*?\n\1"
        found = re.search(block, page.read_text("utf8"), re.S)
        if found:
            return found.group(0)
    raise LookupError(f"no block of the book has the label {label}")


@cache
def record() -> dict[str, Any]:
    """Read what was checked."""
    found: dict[str, Any] = json.loads(RECORD.read_text("utf8"))
    return found


def anchor(label: str) -> str:
    """Give the name under which a label stands on the page of the proofs."""
    return f"checked-{label.replace('_', '-')}"


def digest(said: str) -> str:
    """Give a hash that spaces do not change."""
    return hashlib.sha256(" ".join(said.split()).encode()).hexdigest()[:16]


def compiled(name: str) -> str:
    """Let Coq check a file; give what it printed."""
    command = ["coqc", "-q", "-w", "none", "-Q", ".", "proofs", f"{name}.v"]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"{name}.v is not accepted:\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    """Check everything, and write the record."""
    began, theorems = time.perf_counter(), []
    for name in FILES:
        if taken := FORBIDDEN.search(plain(name)):
            sys.exit(f"{name}.v says {taken.group(0)}: nothing may be taken for granted")
        compiled(name)
        theorems += stated(name)
    (HERE / "assumptions.v").write_text(
        "".join(f"From proofs Require {name}.\n" for name in FILES)
        + "".join(f"Print Assumptions {one['file']}.{one['name']}.\n" for one in theorems)
    )
    told = re.split(r"(?m)^(?=Closed under the global context|Axioms:)", compiled("assumptions"))[1:]
    for one, block in zip(theorems, told, strict=True):
        one["axioms"] = sorted(re.findall(r"(?m)^([\w.]+)(?= :|$)", block.partition("Axioms:")[2]))
        if not set(one["axioms"]) <= AXIOMS:
            sys.exit(f"{one['file']}.{one['name']} rests on {', '.join(one['axioms'])}")
    labels = sorted({label for one in theorems for label in one["labels"]})
    if stray := {label for name in FILES for label in whole(name)} - {*labels}:
        sys.exit(f"no theorem here stands for {', '.join(sorted(stray))}")
    checked = {
        "coq": subprocess.run(["coqc", "--print-version"], capture_output=True, text=True).stdout.split()[0],
        "files": {name: digest(plain(name)) for name in FILES},
        "whole": sorted(label for name in FILES for label in whole(name)),
        "prose": {label: digest(prose(label)) for label in labels},
        "theorems": theorems,
    }
    RECORD.write_text(json.dumps(checked, indent=1, ensure_ascii=False) + "\n", encoding="utf8")
    lines = sum(len(text(name).splitlines()) for name in FILES)
    print(
        f"{len(theorems)} theorems for {len(labels)} labels, {len(checked['whole'])} of them in all their parts; "
        f"{lines} lines, {time.perf_counter() - began:.0f} s"
    )


if __name__ == "__main__":
    main()
