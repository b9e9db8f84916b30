"""The command line of the laboratory: drawings, and the stored results."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from book import __main__ as laboratory
from book.common import results
from book.dmfa_srq import studies as dmfa_srq
from tests.commands import refused, run_laboratory as run


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep stored results in a folder of their own."""
    folder = tmp_path / "results"

    def files(name: str) -> tuple[Path, Path]:
        return folder / f"{name}.csv", folder / f"{name}.json"

    monkeypatch.setattr(results, "_files", files)
    return folder


# ---------------------------------------------------------------------------------------------------- figures


def test_figures_and_frames(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "drawings"
    code, text, err = run(
        "figures", "--paper", "dmfa_srq", "--only", "fig1", "fig5", "--runs", "2", "--seed", "7", "--output", out
    )
    assert (code, err) == (0, "")
    names = [f"dmfa_srq_{figure}.{suffix}" for figure in ("fig1", "fig5") for suffix in ("csv", "svg")]
    assert text.split() == [str(out / name) for name in names]
    assert "<svg" in (out / "dmfa_srq_fig5.svg").read_text()
    frame = pd.read_csv(out / "dmfa_srq_fig5.csv")
    pd.testing.assert_frame_equal(frame, dmfa_srq.fig5(2, 7))
    assert run("figures", "--only", "fig5", "--runs", "2", "--seed", "7", "--output", out, "--format", "png")[0] == 0
    assert (out / "dmfa_srq_fig5.png").read_bytes().startswith(b"\x89PNG")
    assert not list(out.glob("*.part"))


def test_a_fresh_stored_frame_is_used(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = importlib.import_module("book.dmfa_srq.studies")
    monkeypatch.setattr(study, "fig3", lambda runs=5, seed=1: pd.DataFrame({"computed": [runs]}))
    arguments = ("figures", "--paper", "dmfa_srq", "--only", "fig3", "--format", "csv", "--output", tmp_path)
    assert "is missing" in run(*arguments)[2]
    assert (tmp_path / "dmfa_srq_fig3.csv").read_text() == "computed\n5\n"
    results.save("dmfa_srq/fig3", pd.DataFrame({"stored": [1]}), module="fairbook.errors")
    assert run(*arguments)[2] == ""
    assert (tmp_path / "dmfa_srq_fig3.csv").read_text() == "stored\n1\n"
    assert run(*arguments, "--runs", "9")[2] == ""
    assert (tmp_path / "dmfa_srq_fig3.csv").read_text() == "computed\n9\n"
    (store / "dmfa_srq" / "fig3.csv").write_text("stored\n2\n")
    assert "is stale" in run(*arguments)[2]
    assert (tmp_path / "dmfa_srq_fig3.csv").read_text() == "computed\n5\n"


def test_wrong_figures(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for said, *arguments in (
        ("none of the figures", "--only", "fig99", "--output", tmp_path),
        ("--paper must be one of", "--paper", "cbrdf", "--output", tmp_path),
        ("is not a folder", "--only", "fig1", "--output", file),
        ("file", "--only", "fig1", "--output", file / "below"),
        ("--output",),
        ("at least 1", "--output", "x", "--runs", "-1"),
        ("at least 0", "--output", "x", "--seed", "x"),
    ):
        assert said in refused(run("figures", *arguments))


# ---------------------------------------------------------------------------------------------------- results


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch, store: Path) -> list[str]:
    """Three results to store, and the log of what was computed."""
    from tqdm import tqdm

    done: list[str] = []

    def compute(name: str, progress: bool) -> Callable[[], None]:
        def now() -> None:
            for _ in tqdm(range(3), desc="a bar of its own", disable=not progress):
                pass
            print("said on the way", file=sys.stderr)
            done.append(name)
            if "stop" in done:
                raise KeyboardInterrupt
            results.save(name, pd.DataFrame({"x": [1]}), module="fairbook.errors")

        return now

    names = ("p/a", "p/b", "q/ledger")
    known = {flag: {name: compute(name, flag) for name in names} for flag in (False, True)}
    monkeypatch.setattr(laboratory, "stored_results", lambda progress: known[progress])
    return done


def test_results_are_listed_and_checked(work: list[str], store: Path) -> None:
    listing = "p/a: missing\np/b: missing\nq/ledger: missing\n"
    assert run("results") == (0, listing, "")
    assert run("results", "--check") == (1, listing, "")
    assert run("results", "--full")[0] == 0
    assert run("results", "--check") == (0, listing.replace("missing", "fresh"), "")
    (store / "p" / "a.csv").write_text("x\n2\n")
    (store / "p" / "b.json").write_text("{")
    assert run("results", "--check") == (1, "p/a: stale\np/b: stale\nq/ledger: fresh\n", "")
    assert run("results", "--check", "--only", "q/ledger") == (0, "q/ledger: fresh\n", "")
    work.clear()
    assert run("results", "--full")[0] == 0
    assert work == ["p/a", "p/b"]


def test_results_go_on_after_an_interruption(work: list[str]) -> None:
    assert run("results", "--full", "--only", "p/a")[0] == 0
    work.append("stop")
    assert run("results", "--full")[0] == 130
    work.remove("stop")
    assert run("results", "--full", "--check")[0] == 0
    assert work == ["p/a", "p/b", "p/b", "q/ledger"]
    assert run("results", "--full", "--force", "--only", "p/a")[0] == 0
    assert work[-1] == "p/a"


def test_wrong_results(work: list[str]) -> None:
    assert "none of the stored results p/a, p/b" in refused(run("results", "--only", "p/c"))
    assert "--full" in refused(run("results", "--force"))
    assert work == []
