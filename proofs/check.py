"""Let Coq check all files here, and say for each label of the book what was checked: ``python proofs/check.py``.

A theorem of a file stands for a label of the book if the comment right before it names the label in braces; what lies
between ``(* {model} *)`` and ``(* {end} *)`` are its definitions. The last comment of a file, ``(* {whole} ... *)``,
names the labels of which all parts are there. ``checked.json`` keeps, for each label, the statements as they stand in
the file and a hash of the block of the book that it stands for: one that has changed is to be looked at before this is
run again. It also keeps the axioms that ``Print Assumptions`` names. A hypothesis that no proof needs is an error.
Last, Coq checks what the rules in plain Python give: ``outputs.py``.
"""

import hashlib
import json
import re
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).resolve().parent
BOOK = HERE.parent / "book"
RECORD = HERE / "checked.json"
FILES = (
    "sums",
    "lemmas",
    "filling",
    "foundations",
    "whole_tasks",
    "one_level",
    "virtual_cluster",
    "virtual_cluster_whole",
    "dmfa_srq",
    "dmfa_srq_stack",
    "code",
    "cbdrf",
    "cbdrf_release",
    "karma",
    "tv_drf",
    "tv_drf_fair",
    "tv_drf_lies",
    "tv_drf_gain",
    "tv_drf_whole",
    "gdrf",
    "drfh",
    "gdrf_queue",
    "inhabited",
)
FORBIDDEN = re.compile(
    r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjecture|bypass_check|Guard Checking|Universe Checking)\b"
)
#: Of the real numbers of Coq's standard library; what follows from them alone.
AXIOMS = {
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
}
#: Prints each hypothesis that does not occur in a proof. ``pf`` is the proof, applied to what has been introduced.
UNUSED = """
Ltac unused name t := try (match goal with [H : ?A |- _] => (match type of A with Prop => idtac end);
  lazymatch t with context [H] => fail | _ => idtac name ":" A; fail end end).
Ltac used_in name pf := lazymatch goal with
  | |- forall _, _ => let x := fresh "x" in intro x; used_in name constr:(pf x)
  | _ => let t := eval cbv beta iota delta [name] in pf in unused name t; exact pf end.
"""
_THEOREM = re.compile(
    r"\(\*((?:(?!\*\)).)*\{(?:thm|lem|prop|cor|alg)-(?:(?!\*\)).)*)\*\)\n(?:Theorem|Lemma) (\w+)(.*?)\.\nProof\.", re.S
)
_MODEL = re.compile(r"\(\* \{model\} \*\)\n(.*?)\(\* \{end\} \*\)", re.S)


def text(name: str) -> str:
    """Give what stands in a file."""
    return (HERE / f"{name}.v").read_text("utf8")


def plain(name: str) -> str:
    """Give a file without its comments."""
    return re.sub(r"\(\*.*?\*\)", "", text(name), flags=re.S)


def stated(name: str) -> list[dict[str, Any]]:
    """Give the theorems of a file that stand for labels."""
    return [
        {
            "labels": re.findall(r"\{([\w-]+)\}", note),
            "note": re.sub(r"\s*\{[\w-]+\}[,;]?\s*", " ", note).strip(),
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


def compiled(name: str, folder: Path) -> str:
    """Let Coq check a file; give what it printed."""
    command = ["coqc", "-q", "-w", "none", "-Q", ".", "proofs", f"{name}.v"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"{name}.v is not accepted:\n{done.stdout}{done.stderr}")
    return done.stdout


def all_compiled(folder: Path, given: Future[tuple[str, Any]]) -> None:
    """Let Coq check all files, each after those that it needs, and meanwhile what the code has given.

    Nothing but the last word of a proof is changed: one that ends with Qed could not be looked into afterwards.
    """
    under_way: dict[str, Future[str]] = {}

    def one(name: str, needed: list[Future[str]]) -> str:
        for other in needed:
            other.result()
        return compiled(name, folder)

    def outputs() -> str:
        (folder / "outputs.v").write_text(given.result()[0])
        return one("outputs", [under_way["code"]])

    with ThreadPoolExecutor(2) as pool, ThreadPoolExecutor(1) as aside:
        for name in FILES:
            (folder / f"{name}.v").write_text(text(name).replace("Qed.", "Defined."))
            lines = re.findall(r"(?m)^From proofs Require (?:Import |Export )?(.*)\.$", text(name))
            under_way[name] = pool.submit(one, name, [under_way[other] for line in lines for other in line.split()])
        under_way["outputs"] = aside.submit(outputs)
        for done in under_way.values():
            done.result()


def axioms(theorems: list[dict[str, Any]], folder: Path) -> list[str]:
    """Let Coq say what the theorems take for granted: once, as each time it goes through all of the real numbers."""
    lines = "".join(f"From proofs Require {name}.\n" for name in FILES)
    every = "".join(f"let _ := {one['file']}.{one['name']} in\n" for one in theorems)
    (folder / "assumptions.v").write_text(f"{lines}Definition all :=\n{every}I.\nPrint Assumptions all.\n")
    return sorted(re.findall(r"(?m)^([\w.]+)(?= :|$)", compiled("assumptions", folder).partition("Axioms:")[2]))


def idle(theorems: list[dict[str, Any]], folder: Path) -> str:
    """Let Coq name each hypothesis that a proof does not use: the theorem would hold without it."""
    lines = "".join(f"From proofs Require {name}.\n" for name in FILES) + UNUSED
    for name in [f"{one['file']}.{one['name']}" for one in theorems]:
        goal = f"ltac:(let T := type of {name} in exact T)"
        lines += f"Goal True.\nassert (H : {goal}); [used_in {name} {name}|exact I].\nQed.\n"
    (folder / "idle.v").write_text(lines)
    return compiled("idle", folder).strip()


def main() -> None:
    """Check everything, and write the record."""
    from proofs import outputs  # which needs the library

    began, theorems = time.perf_counter(), [one for name in FILES for one in stated(name)]
    for name in FILES:
        if word := FORBIDDEN.search(plain(name)):
            sys.exit(f"{name}.v says {word.group(0)}: nothing may be taken for granted")
    with TemporaryDirectory() as place, ThreadPoolExecutor(1) as pool:
        folder = Path(place)
        given = pool.submit(outputs.written)
        all_compiled(folder, given)
        asked = pool.submit(axioms, theorems, folder)
        if unused := idle(theorems, folder):
            sys.exit(f"there are hypotheses that nothing needs:\n{unused}")
        taken, compared = asked.result(), given.result()[1]
        if strange := {*taken} - AXIOMS:
            sys.exit(f"the theorems rest on {', '.join(sorted(strange))}")
    labels = sorted({label for one in theorems for label in one["labels"]})
    if stray := {label for name in FILES for label in whole(name)} - {*labels}:
        sys.exit(f"no theorem here stands for {', '.join(sorted(stray))}")
    checked = {
        "coq": subprocess.run(["coqc", "--print-version"], capture_output=True, text=True).stdout.split()[0],
        "files": {name: digest(plain(name)) for name in FILES},
        "whole": sorted(label for name in FILES for label in whole(name)),
        "prose": {label: digest(prose(label)) for label in labels},
        "axioms": taken,
        "outputs": compared,
        "theorems": theorems,
    }
    RECORD.write_text(json.dumps(checked, indent=1, ensure_ascii=False) + "\n", encoding="utf8")
    lines = sum(len(text(name).splitlines()) for name in FILES)
    print(
        f"{len(theorems)} theorems for {len(labels)} labels, {len(checked['whole'])} of them in all their parts; "
        f"{compared['instances'] * len(compared['bind'])} outputs; {lines} lines, {time.perf_counter() - began:.0f} s"
    )


if __name__ == "__main__":
    main()
