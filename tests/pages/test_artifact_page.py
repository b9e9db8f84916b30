"""The page on the artifact: every line of its checklists has a verdict, and the evidence that it names exists."""

import ast
import inspect
import re
import shlex
from functools import cache

import yaml

import book.__main__
import fairbook
from fairbook import FairbookError, cli
from tests.conftest import ROOT

PAGE = (ROOT / "book" / "artifact.md").read_text("utf8")
PAPER = (ROOT / "paper" / "paper.md").read_text("utf8")
BIB = (ROOT / "book" / "references.bib").read_text("utf8")
SECTIONS = ["Summary", "Statement of need", "State of the field", "Software design", "Research impact statement",
            "AI usage disclosure", "Acknowledgements", "References"]  # fmt: skip
#: Words in code that are no evidence: verdicts of the ledger, and what stands for a name.
WORDS = {"holds", "reproduced", "not reproduced", "partly", "refuted", "undetermined", "nothing to compare", "gdrf",
         "dmfa_srq", "cbdrf", "tv_drf", "virtual_cluster", "venv", ".zenodo.json", "python=3.11", "dist/",
         "_build/html/index.html", "_build/pdf/fairbook.pdf"}  # fmt: skip


@cache
def functions(path: str) -> set[str]:
    return {n.name for n in ast.parse((ROOT / path).read_text("utf8")).body if isinstance(n, ast.FunctionDef)}


def evidence_fault(named: str) -> str | None:
    """Say why something named in code on the page is not there; None if it is, or is no evidence."""
    named = named.removeprefix(".venv/bin/")
    if named in WORDS or named.startswith("conda env create -f environment.yml"):
        return None
    if "::" in named:
        path, test = named.split("::")
        there = (ROOT / path).is_file() and test in functions(path)
        return None if there else f"{named}: no such check"
    if named.startswith("make "):
        target, *options = named.split()[1:]
        makefile = (ROOT / "Makefile").read_text("utf8")
        pages = [option.removeprefix("PAGE=") for option in options if option.startswith("PAGE=")]
        if not re.search(rf"^{target}:.*## ", makefile, flags=re.MULTILINE):
            return f"{named}: no such target"
        return None if all((ROOT / "book" / f"{page}.md").is_file() for page in pages) else f"{named}: no such page"
    if named.startswith(("fairbook ", "python -m book ")):
        return command_fault(named)
    return None if (ROOT / named).is_file() else f"{named}: no such file"


def command_fault(named: str) -> str | None:
    """Say why the command line would refuse a command, or what it names does not exist."""
    laboratory = named.startswith("python -m book ")
    words = shlex.split(named)[3 if laboratory else 1 :]
    try:
        (book.__main__ if laboratory else cli).make_parser().parse_args(words)
    except (SystemExit, FairbookError) as error:
        return None if getattr(error, "code", 2) == 0 else f"{named}: no such command"
    if any(word.startswith("data/") and not (ROOT / word).is_file() for word in words):
        return f"{named}: no such file"
    return None


def prose(page: str) -> str:
    """Return a page without its fenced blocks of code."""
    return re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)


def in_code(text: str) -> list[str]:
    """Return what stands in code, roles of references apart."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"\{[\w:]+\}`[^`\n]*`", "", text))


def checklists(page: str) -> list[list[str]]:
    """Return the lines of the checklists: what is asked, verdict, evidence."""
    found = []
    for table in re.findall(r"(?:^\|.*\n)+", page, flags=re.MULTILINE):
        head, _, *rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()]
        found += rows if head == ["line", "verdict", "evidence"] else []
    return found


def page_faults(page: str) -> list[str]:
    """Say which lines of the page have no verdict or no evidence, and which evidence does not exist."""
    found = [fault for named in in_code(prose(page)) if (fault := evidence_fault(named))]
    found += [f"{name}: no such page" for name in re.findall(r"\{doc\}`([^`]+)`", page)
              if not (ROOT / "book" / f"{name}.md").is_file()]  # fmt: skip
    for row in checklists(page):
        if len(row) != 3 or row[1] not in ("met", "partly", "unmet"):
            found.append(f"{row}: no verdict")
        elif row[1] == "unmet" and len(row[2].split()) < 3:
            found.append(f"{row[0]}: unmet without a reason")
        elif row[1] != "unmet" and not [e for e in in_code(row[2]) if e not in WORDS] + re.findall(r"\{doc\}", row[2]):
            found.append(f"{row[0]}: no evidence")
    return found


def test_every_line_has_a_verdict_and_evidence_that_exists() -> None:
    assert page_faults(PAGE) == []
    lines = checklists(PAGE)
    assert len(lines) > 20
    assert {row[1] for row in lines} == {"met", "partly", "unmet"}


def test_every_public_function_is_documented_with_an_example() -> None:
    public = {name: getattr(fairbook, name) for name in fairbook.__all__}
    functions = {name: one for name, one in public.items() if inspect.isfunction(one)}
    wanted = ("Parameters\n---", "Returns\n---", ">>> ")
    found = {name: inspect.getdoc(one) or "" for name, one in functions.items()}
    assert [name for name, text in found.items() if not all(word in text for word in wanted)] == []
    assert [name for name, one in public.items() if inspect.isclass(one) and not inspect.getdoc(one)] == []


def test_the_paper_has_what_the_journal_asks_for() -> None:
    _, front, body = PAPER.split("---\n", 2)
    head = yaml.safe_load(front)
    assert re.findall(r"^# (.+)$", body, flags=re.MULTILINE) == SECTIONS
    assert 750 <= len(body.split()) <= 1750
    keys = set(re.findall(r"^@\w+\{([^,]+),", BIB, flags=re.MULTILINE))
    assert [key for key in re.findall(r"@([\w]+)", body) if key not in keys] == []
    assert (ROOT / "paper" / head["bibliography"]).is_file()
    assert [one["name"] for one in head["authors"]] == ["The fairbook developers"]
    assert [name for name in re.findall(r"\]\((\S+?)\)", body) if not (ROOT / "paper" / name).is_file()] == []
