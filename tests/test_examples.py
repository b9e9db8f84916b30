"""The worked examples of the page on extending the library, and that what the page on the code lists is there."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairbook as fb
from book.examples import batch_log
from book.examples.asset_fairness import asset_fairness
from fairbook import checkout

ROOT = Path(__file__).resolve().parents[1]

# ------------------------------------------------------------------------------------------------- the mechanism


def exact(demands: list[list[int]], capacities: list[int]) -> list[Fraction]:
    """Asset fairness with equal weights in fractions, from its definition: everyone in step, until stopped."""
    n, m = len(demands), len(capacities)
    share = [[Fraction(d, c) for d, c in zip(row, capacities, strict=True)] for row in demands]
    tasks, rising = [Fraction(0)] * n, set(range(n))
    while rising:
        rate = [1 / sum(share[i]) if i in rising else Fraction(0) for i in range(n)]
        growth = [sum(rate[i] * share[i][j] for i in range(n)) for j in range(m)]
        left = [1 - sum(tasks[i] * share[i][j] for i in range(n)) for j in range(m)]
        step = min(left[j] / growth[j] for j in range(m) if growth[j])
        tasks = [t + r * step for t, r in zip(tasks, rate, strict=True)]
        full = {j for j in range(m) if growth[j] and left[j] == growth[j] * step}
        rising = {i for i in rising if not any(share[i][j] for j in full)}
    return tasks


@given(st.integers(1, 3).flatmap(lambda m: st.tuples(
    st.lists(st.lists(st.integers(0, 9), min_size=m, max_size=m).filter(any), min_size=1, max_size=5),
    st.lists(st.integers(1, 40), min_size=m, max_size=m))))
@settings(max_examples=30, deadline=None)
def test_asset_fairness_is_what_exact_arithmetic_says(instance: tuple[list[list[int]], list[int]]) -> None:
    demands, capacities = instance
    found = asset_fairness(demands, capacities=capacities)
    np.testing.assert_allclose(found.tasks, [float(t) for t in exact(demands, capacities)], rtol=1e-9, atol=1e-12)
    assert found.violations() == []


def test_asset_fairness_takes_names_and_refuses_bad_input() -> None:
    frame = pd.DataFrame({"cpu": [1, 3], "memory": [4, 1]}, index=["ann", "bob"])
    named = asset_fairness(frame, weights=pd.Series({"bob": 2, "ann": 1}))
    assert named.users == ("ann", "bob")
    sums = (named.demands * named.tasks[:, None]).sum(axis=1)
    assert sums[1] == pytest.approx(2 * sums[0])
    with pytest.raises(fb.InvalidInput, match="capacities"):
        asset_fairness(frame, capacities=[1, -1])


# ----------------------------------------------------------------------------------------------------- the trace

LOG = "0,ann,20,1,4\n5,bob,8,3,1\n9,ann,4,1,4\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "batch_log.csv").write_text(LOG)
    return tmp_path / "batch_log.csv"


def test_the_same_log_gives_the_same_bytes_and_is_read_back(log: Path, tmp_path: Path) -> None:
    one, two = (batch_log.digest(log, tmp_path / name) for name in ("one", "two"))
    for name in (batch_log.TABLE, "batch_log.json"):
        assert (one / name).read_bytes() == (two / name).read_bytes()
    assert batch_log.load_digest(one)["tasks"].tolist() == [24, 8]
    users = batch_log.sample_users(np.random.default_rng(0), 50, batch_log.load_digest(one))
    assert {tuple(row) for row in users.to_numpy()} == {(1.0, 4.0), (3.0, 1.0)}
    with pytest.raises(fb.InvalidInput, match="n must be"):
        batch_log.sample_users(np.random.default_rng(0), 0, batch_log.load_digest(one))


@pytest.mark.parametrize(("line", "word"), [("7,cyd,1,2", "columns"), ("7,cyd,0,1,1", "positive integer"),
                                            ("7,cyd,1,nan,1", "column 4"), ("7,cyd,1,0,0", "asks for nothing")])
def test_a_damaged_log_is_refused_with_its_line(log: Path, line: str, word: str) -> None:
    log.write_text(LOG + line + "\n")
    with pytest.raises(fb.TraceError, match="line 4") as caught:
        batch_log.read_log(log)
    assert word in str(caught.value)


def test_a_changed_digest_is_refused(log: Path, tmp_path: Path) -> None:
    made = batch_log.digest(log, tmp_path / "digest")
    (made / batch_log.TABLE).write_text("cpu,memory,tasks\n1,4,1000\n")
    with pytest.raises(fb.TraceError, match="its SHA-256 is not the recorded"):
        batch_log.load_digest(made)


# ------------------------------------------------------------------------------------- what the page on the code lists


def listed(text: str) -> list[str]:
    """Give the paths in the table of files that a paper adds."""
    return re.findall(r"^\| `((?:fairbook|book|data)/[^`]+)`", text, flags=re.MULTILINE)


def absent(paths: list[str]) -> list[str]:
    """List the paths that no finished paper bears out: names in angle brackets stand for anything, keys for the key."""
    keys = checkout.papers("checks")
    found = []
    for path in paths:
        patterns = [path.replace("<key>", key) for key in keys] if "<key>" in path else [path]
        there = [any(ROOT.glob(re.sub(r"<\w+>", "*", pattern).rstrip("/"))) for pattern in patterns]
        needed = path.endswith(("checks.py", "studies.py", "figures.py"))
        # an oracle or an encoding may be missing for a paper that has no use for it
        if not any(there) or (needed and not all(there)):
            found.append(path)
    return found


def test_the_files_that_a_paper_adds_are_where_the_guide_says() -> None:
    page = (ROOT / "book" / "code.md").read_text("utf8")
    paths = listed(page)
    assert {"fairbook/mechanisms/", "book/<key>/story.md", "book/<key>/smt.py", "data/results/<key>/"} <= set(paths)
    assert absent(paths) == []
    assert absent(["book/<key>/solvers.py"]) == ["book/<key>/solvers.py"]
    assert absent(["fairbook/mechanisms/<key>_fast.py"]) == ["fairbook/mechanisms/<key>_fast.py"]
    for name in ("_toc.yml", "book/references.bib", "CITATION.cff", "CHANGELOG.md", "fairbook/claims/papers.toml"):
        assert (ROOT / name).is_file()
        assert f"`{name}`" in page
