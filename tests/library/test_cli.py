"""The command line: what each command prints and writes, and how it refuses."""

import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairbook as fb
from book.common import results
from book.common.claims import command as claims, registry, stored
from book.common.claims.registry import COLUMNS, Claim, Evidence, Mechanism, Part
from fairbook import cli, kernels
from tests.commands import ROOT, laboratory, refused, run, run_laboratory
from tools.api_pages import parsers

# ------------------------------------------------------------------------------------------------ the program


def child(*arguments: str, **how: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how
    )


def test_version_help_and_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run("--version") == (0, f"fairbook {fb.__version__}\n", "")
    assert run() == run("--help")
    top, *commands = parsers(cli.make_parser())
    assert len(commands) == 3
    for parser in (top, *commands):
        code, text, err = run(*parser.prog.split()[1:], "--help")
        assert (code, err) == (0, "")
        assert max(map(len, text.splitlines())) <= 80
        examples = re.findall(r"(?<!\()fairbook [^|>)#\n]+", (parser.epilog or "").partition("exit codes")[0])
        assert examples
        assert all(line in text and top.parse_args(shlex.split(line)[1:]).run for line in examples)


def test_shells_complete_commands_options_and_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    for line, offered in {
        "fairbook c": "completion", "fairbook allocate u.csv --mech": "--mechanism",
        "fairbook allocate --mechanism tv": "tv_drf", "fairbook completion z": "zsh",
    }.items():  # fmt: skip
        monkeypatch.setenv("COMP_LINE", line)
        assert run("completion", "words", "fairbook", "--word", "before")[1] == f"{offered}\n"
    assert all("fairbook completion words" in run("completion", shell)[1] for shell in ("bash", "zsh", "fish"))


def test_warm_runs_every_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    called = set()

    def plain(self: kernels.Kernel, *arguments: Any) -> Any:
        called.add(self.py_func)
        with np.errstate(all="ignore"):
            return self.py_func(*arguments)

    monkeypatch.setattr(kernels.Kernel, "__call__", plain)
    monkeypatch.setattr(kernels, "MOST", kernels.MOST)
    assert run("warm") == (0, "", "")
    modules = [module for name, module in sys.modules.items() if name.startswith("fairbook.")]
    known = {one for module in modules for one in vars(module).values() if isinstance(one, kernels.Kernel)}
    assert {one.py_func for one in known if one._steps is not kernels.INSIDE} <= called
    assert "invalid choice: 'nobody' (choose from 'all', 'drf'" in refused(run("warm", "nobody"))
    monkeypatch.setattr(kernels, "compiles", lambda: False)
    assert "numba is not installed" in refused(run("warm", "drf"))


def test_the_command_line_itself_loads_nothing_heavy() -> None:
    script = f"""
import sys, types
package = types.ModuleType("fairbook")
package.__path__, package.__version__ = [{str(ROOT / "fairbook")!r}], "0"
sys.modules["fairbook"] = package
from fairbook import cli
assert cli.main(["allocate", "--help"]) == 0
print(sorted({{"numpy", "pandas", "numba", "scipy", "matplotlib", "tqdm"}} & set(sys.modules)))
"""
    out, err = child("-c", script).communicate(timeout=60)
    assert out.decode().splitlines()[-1] == "[]", err.decode()


def written_into(stdout: int) -> tuple[int, bytes]:
    """Run the program with a stdout of its own; give its code and what it says."""
    words = [sys.executable, "-m", "fairbook", "completion", "bash"]
    done = subprocess.run(words, cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(stdout)
    return done.returncode, done.stderr


def test_a_closed_pipe_is_no_error_and_a_full_disk_is_one_line() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    assert written_into(writer) == (141, b"")
    if Path("/dev/full").exists():
        full = (2, b"fairbook: error: No space left on device\n")
        assert written_into(os.open("/dev/full", os.O_WRONLY)) == full


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "fairbook: interrupted\n"),
        (BrokenPipeError(), 141, ""),
        (MemoryError(), 2, "fairbook: error: not enough memory\n"),
        (OSError(28, "No space left on device", "x.csv"), 2, "fairbook: error: x.csv: No space left on device\n"),
        (fb.TraceError("two\nlines and \x1b[31m"), 2, "fairbook: error: two lines and \\x1b[31m\n"),
    ],
)
def test_what_ends_a_command(monkeypatch: pytest.MonkeyPatch, raised: BaseException, code: int, said: str) -> None:
    def end(options: object) -> int:
        raise raised

    monkeypatch.setattr(claims, "_claims", end)
    assert run_laboratory("claims") == (code, "", said)


def test_defects_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "_claims", lambda options: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        laboratory.main(["claims"])


# ----------------------------------------------------------------------------------------------------- claims


def fake_claim(name: str, mutant_holds: bool) -> Claim:
    def check(effort: object, subject: Mechanism) -> Evidence:
        return Evidence.of(Part(subject.run(), "numbers", f"Seen: {subject.name}.", 1))

    honest, broken = Mechanism("honest", lambda: True), Mechanism("broken", lambda: mutant_holds)
    paper = name.split(".")[0]
    return Claim(name, paper, "Theorem 1", "number", "as stated", f"Statement | of {name}.", check, honest, broken)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Claim]:
    """Replace the registry by four claims of two papers, one with a check that sees nothing; store elsewhere."""
    names = ("one.first", "one.second.a", "one.second.b", "two.blind")
    known = {name: fake_claim(name, name == "two.blind") for name in names}
    registry.claims()  # the real ones are loaded now, or they would come among these later
    monkeypatch.setattr(registry, "_CLAIMS", known)
    rows = [{"id": f"one.second.{name}", "reading": "letter"} for name in "ab"]
    place = {"where": "Theorem 1", "says": "It is so.", "rows": rows}
    apart = place | {"rows": [{"id": "two.blind", "reading": "letter"}], "apart": "presumed"}
    papers = {"one": {"short": "One", "places": {"place": place}}, "two": {"short": "Two", "places": {"other": apart}}}
    monkeypatch.setattr(stored, "papers", lambda: papers)
    monkeypatch.setattr(results, "_files", lambda name: (tmp_path / f"{name}.csv", tmp_path / f"{name}.json"))
    return known


def keep_ledgers(known: dict[str, Claim]) -> None:
    for paper in ("one", "two"):
        rows = [
            {column: f"{column} of {key.removesuffix('.a').removesuffix('.b')}" for column in COLUMNS}
            | {"id": key, "paper": paper, "verdict": "holds" if key[-1] in "tb" else "refuted", "seconds": 0.5}
            for key in known
            if key.startswith(paper)
        ]
        results.save(f"{paper}/ledger", pd.DataFrame(rows), module="fairbook.errors")


def test_stored_ledger(registered: dict[str, Claim]) -> None:
    assert "`python -m book claims --recompute`" in refused(run_laboratory("claims"))
    keep_ledgers(registered)
    code, out, err = run_laboratory("claims")
    assert (code, err, [line.split()[0] for line in out.splitlines()[1:5]]) == (0, "", list(registered))
    assert "2 refuted\nThey judge 2 statements of the papers, 1 of them counted apart; the others: 1 depends" in out
    assert "two.blind" not in run_laboratory("claims", "--paper", "one")[1]
    frame = pd.read_csv(io.StringIO(run_laboratory("claims", "--verdict", "refuted", "--format", "csv")[1]))
    assert frame.columns.tolist() == [*COLUMNS, *stored.PLACED]
    assert frame["id"].tolist() == ["one.second.a", "two.blind"]
    assert "2 claims: 1 refuted, 1 holds" in run_laboratory("claims", "--verdict", "depends on the reading")[1]
    assert run_laboratory("claims", "--verdict", "undetermined")[1] == "no claim with this verdict\n"
    out = run_laboratory("claims", "--id", "one.first")[1]
    assert ("evidence of one.first" in out, "one.second" in out) == (True, False)


def test_recomputed_claims(registered: dict[str, Claim]) -> None:
    code, out, err = run_laboratory("claims", "--recompute", "--id", "one.second", "--format", "csv")
    assert (code, err) == (0, "")
    frame = pd.read_csv(io.StringIO(out))
    assert frame["id"].tolist() == ["one.second.a", "one.second.b"]
    assert set(frame["verdict"]) == {"reproduced"}
    assert set(frame["effort"]) == {"quick"}
    _, out, err = run_laboratory("claims", "--recompute", "--effort", "full", "--format", "csv", "--progress")
    assert set(pd.read_csv(io.StringIO(out))["effort"]) == {"full"}
    assert "claims, full" in err


def test_mutants(registered: dict[str, Claim]) -> None:
    code, out, _ = run_laboratory("claims", "--mutants", "--paper", "one")
    assert code == 0
    assert out.endswith("3 of 3 mutants caught\n")
    code, out, _ = run_laboratory("claims", "--mutants")
    assert code == 1
    assert "two.blind: the check DOES NOT TELL honest from broken" in out


def test_wrong_claims(registered: dict[str, Claim]) -> None:
    keep_ledgers(registered)
    assert "one of one, two" in refused(run_laboratory("claims", "--paper", "three"))
    assert "no claim" in refused(run_laboratory("claims", "--id", "one.sec"))
    assert "no claim" in refused(run_laboratory("claims", "--paper", "two", "--id", "one.first"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--verdict true", "invalid choice"),
        ("--effort full", "--recompute"),
        ("--output ledger.csv", "a .json file"),
        ("--mutants --output ledger.json", "--mutants"),
    ],
)
def test_options_of_claims_that_do_not_go_together(words: str, said: str) -> None:
    assert said in refused(run_laboratory("claims", *words.split()))
