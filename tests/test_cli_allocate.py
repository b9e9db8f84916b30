"""``fairbook allocate``: what it alone has, and how files are written, which all commands do alike."""

from __future__ import annotations

import io
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fairbook as fb
from fairbook import cli
from tests.commands import ALLOCATE, ROOT, refused, run, survives

EXAMPLE = ROOT / "data/example_users.csv"


def test_the_example_of_the_drf_paper(tmp_path: Path) -> None:
    code, out, err = run(*ALLOCATE.given(tmp_path), *ALLOCATE.options, "--explain", "--verify")
    assert code == 0
    assert err == "fairbook: verified: no constraint is violated, and each user's bottleneck stops it\n"
    lines = [line.split() for line in out.splitlines()]
    assert ["ann", "3", "0.666667", "1.33333", "cpu"] in lines
    assert ["bob", "2", "0.666667", "1.33333", "cpu"] in lines
    assert ["cpu", "9", "9", "1"] in lines
    assert ["memory", "18", "14", "0.777778"] in lines
    assert "ann runs 3 tasks at level 1.33333: cpu stops it." in out


def test_the_shipped_example_shows_three_reasons() -> None:
    assert {"memory", "gpu", "own bound"} == set(ALLOCATE.told("allocate", EXAMPLE)["bottleneck"])
    assert pd.read_csv(EXAMPLE)["user"].str.fullmatch("team-[a-z]").all()


def test_arrivals_share_the_pool_that_capacity_describes(tmp_path: Path) -> None:
    given = ALLOCATE.given(tmp_path, users="user,cpu,memory,weight\na,1,4,2\nb,3,1,4\nc,1,1,2\n")
    arguments = (*given, "--mechanism", "dmfa_srq", "--capacity", "cpu=90", "memory=180")
    tasks, demands = ALLOCATE.told(*arguments)["tasks"].to_numpy(), np.array([[1, 4], [3, 1], [1, 1]])
    expected = fb.dmfa_srq(demands / [90, 180], [1 / 4, 1 / 2, 1 / 4])
    np.testing.assert_allclose(tasks, expected.tasks)
    assert (tasks @ demands / [90, 180]).max() == pytest.approx(1)
    _, table, _ = run(*arguments, "--after", "2", "--explain", "b", "--verify")
    first_two = expected.tasks_at(2) @ demands[:2]
    lines = [line.split() for line in table.splitlines()]
    assert ["cpu", "67.5", f"{first_two[0]:.6g}", f"{first_two[0] / 67.5:.6g}"] in lines
    assert ["memory", "135", f"{first_two[1]:.6g}", f"{first_two[1] / 135:.6g}"] in lines
    assert not [line for line in lines if line[:1] == ["c"]]
    assert ALLOCATE.told(*arguments, "--after", "2")["raised_at"].to_list() == [2, 2]
    assert "b runs" in table


def test_columns_and_their_defaults(tmp_path: Path) -> None:
    given = ALLOCATE.given(tmp_path, users="user,cpu,tier,cap\na,1,1,\nb,1,3,0.25\nc,1,4,inf\n")
    told = ALLOCATE.told(*given, "--weights", "tier", "--max-tasks", "cap")
    np.testing.assert_allclose(told["tasks"], [0.15, 0.25, 0.6])
    _, out, _ = run(*ALLOCATE.given(tmp_path, users="cpu,memory\n1,4\n3,1\n"), "--explain", "2")
    assert out.splitlines()[2].startswith("1 ")  # users without names
    assert "\n2 runs" in out
    arrivals = ALLOCATE.told(*ALLOCATE.given(tmp_path), "--mechanism", "dmfa_srq")
    np.testing.assert_allclose(arrivals["tasks"], fb.dmfa_srq([[1, 4], [3, 1]], [1, 1]).tasks)  # each brings one
    assert run("allocate", EXAMPLE, "--mechanism", "dynamic_drf")[2] == (
        "fairbook: dynamic_drf does not use column 'weight'\nfairbook: dynamic_drf does not use column 'max_tasks'\n")


def test_stuck(tmp_path: Path) -> None:
    given = ALLOCATE.given(tmp_path, users="user,cpu,memory\na,1,0\nb,0,1\n")
    arguments = (*given, "--mechanism", "drf_by_task", "--capacity", "cpu=1.5", "memory=10", "--stuck")
    assert ALLOCATE.told(*arguments, "skip")["tasks"].tolist() == [1, 10]
    assert ALLOCATE.told(*arguments, "stop")["tasks"].tolist() == [1, 7]


def test_a_broken_mechanism_does_not_pass_the_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    honest, arrivals = fb.drf, fb.dmfa_srq

    def half(*arguments: Any, **named: Any) -> Any:
        whole = honest(*arguments, **named)
        return replace(whole, tasks=whole.tasks / 2)

    def third_step_wrong(*arguments: Any, **named: Any) -> Any:
        whole = arrivals(*arguments, **named)
        return replace(whole, levels=np.where(np.arange(len(whole)) == 2, whole.levels / 2, whole.levels))

    monkeypatch.setattr(fb, "drf", half)
    monkeypatch.setattr(fb, "dmfa_srq", third_step_wrong)
    code, _, err = run("allocate", EXAMPLE, "--verify")
    assert code == 1
    assert "fairbook: violated: gpu does not stop team-c" in err
    code, _, err = run("allocate", EXAMPLE, "--mechanism", "dmfa_srq", "--verify")
    assert code == 1
    assert "violated: after arrival 3: " in err
    assert run("allocate", EXAMPLE, "--mechanism", "dmfa_srq", "--verify", "--after", "2")[0] == 0


# ------------------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize("there", [True, False])
def test_a_file_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, there: bool
) -> None:
    arguments, target = ALLOCATE.given(tmp_path), tmp_path / "out.csv"
    if there:
        target.write_text("old")
    before = sorted(tmp_path.iterdir())

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "out.csv")

    monkeypatch.setattr(os, step, fail)
    assert "out.csv: No space left on device" in refused(run(*arguments, "--output", target))
    assert sorted(tmp_path.iterdir()) == before
    assert not there or target.read_text() == "old"


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    text = refused(run("allocate", EXAMPLE, "--output", tmp_path / "none" / "out.csv"))
    assert text == f"fairbook: error: {tmp_path / 'none' / 'out.csv'}: No such file or directory"
    (tmp_path / "folder.csv").mkdir()
    assert "folder.csv" in refused(run("allocate", EXAMPLE, "--output", tmp_path / "folder.csv"))
    assert [p.name for p in tmp_path.iterdir()] == ["folder.csv"]


def test_links_and_permissions_survive(tmp_path: Path) -> None:
    new, link, old = tmp_path / "new.csv", tmp_path / "link.csv", os.umask(0o027)
    try:
        run("allocate", EXAMPLE, "--output", new)
    finally:
        os.umask(old)
    assert new.stat().st_mode & 0o777 == 0o640
    new.chmod(0o604)
    new.write_text("old")
    link.symlink_to("new.csv")
    run("allocate", EXAMPLE, "--output", link)
    assert link.is_symlink()
    assert new.read_text().startswith("user,tasks")
    assert new.stat().st_mode & 0o777 == 0o604


def test_names_that_the_terminal_cannot_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(terminal, "ascii"))
    assert cli.main(list(map(str, ALLOCATE.given(tmp_path, users="user,cpu\n\u0105\u4e2d,1\n")))) == 0
    assert rb"\u0105\u4e2d" in terminal.getvalue()


# ----------------------------------------------------------------------------------------------------- numbers

POSITIVE = st.one_of(st.sampled_from([1e-74, 1e-40, 1e-3, 1.0, 1e3, 1e40, 1e74]), st.floats(0.01, 100))


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
@given(data=st.data())
def test_numbers_never_crash_and_are_certified(data: st.DataObject, tmp_path: Path) -> None:
    m, extreme = data.draw(st.integers(1, 3)), data.draw(st.booleans())
    number = POSITIVE if extreme else st.floats(0.01, 100)
    row = st.tuples(st.lists(st.one_of(number, st.just(0.0)), min_size=m, max_size=m), number)
    rows = data.draw(st.lists(row, min_size=1, max_size=5))
    lines = [",".join(f"r{j}" for j in range(m)) + ",weight"] + [",".join(map(repr, [*d, w])) for d, w in rows]
    arguments = [*ALLOCATE.given(tmp_path, users="\n".join(lines)), "--mechanism",
                 data.draw(st.sampled_from(["drf", "dmfa_srq", "static_optimum", "dynamic_drf"]))]
    if data.draw(st.booleans()):
        arguments += ["--capacity", *(f"r{j}={data.draw(number)!r}" for j in range(m))]
    code = survives(arguments if extreme else [*arguments, "--verify"])
    assert code == 0 or extreme or any(not any(d) for d, _ in rows)
