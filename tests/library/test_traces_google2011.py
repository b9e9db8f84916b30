"""The Google 2011 digest, on small traces done by hand, and the sampling by its law."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from book.common.raw.google2011 import digest
from fairbook.errors import InvalidInput
from fairbook.traces.google2011 import Digest, load_digest
from tests import trace_files
from tests.trace_files import follows

HASH = "70s3v5qRyCO/1PCdI6fVXnrW8FU/w+5CKRSa72xgcIo="


def line(
    t: int | str = 0,
    job: int | str = 7,
    task: int | str = 0,
    cpu: str = "0.5",
    memory: str = "0.25",
    user: str = HASH,
    event: int | str = 0,
) -> str:
    return f"{t},,{job},{task},,{event},{user},2,9,{cpu},{memory},0.0004,0\n"


MACHINES = "0,5,0,P,0.5,0.25\n0,6,0,Q,1,1\n9,7,0,P,0.5,0.25\n12,6,1,Q,1,1\n11,5,2,P,0.5,0.75\n13,5,0,R,,\n"


def write(folder: Path, *texts: str, suffix: str = ".csv", machines: str = MACHINES) -> Path:
    """Write one part per text, and a machine table."""
    for k, text in enumerate(texts):
        trace_files.write(folder / "task_events", text, f"part-{k:05d}-of-00500{suffix}")
    trace_files.write(folder, machines, f"machine_events_part-00000-of-00001{suffix}")
    return folder


# ---------------------------------------------------------------------------------------------------------------------
# What the digest counts


@pytest.mark.parametrize(
    ("texts", "expected", "changed"),
    [
        pytest.param([line(1, cpu="0.1") + line(2, cpu="0.2")], [0.1], 1, id="the-first"),
        pytest.param([line(2, cpu="0.2") + line(1, cpu="0.1")], [0.1], 1, id="by-time-not-by-place"),
        pytest.param([line(5, cpu="0.2"), line(4, cpu="0.1")], [0.1], 1, id="by-time-across-parts"),
        pytest.param([line(5, cpu="0.2"), line(5, cpu="0.1")], [0.2], 1, id="a-tie-goes-to-the-lower-part"),
        pytest.param([line(1, cpu="") + line(2, cpu="0.2")], [0.2], 0, id="the-first-with-a-request"),
        pytest.param([line(9, cpu="0.2") + line(1, memory="")], [0.2], 0, id="half-a-request-is-none"),
        pytest.param([line(1, cpu="0.2") + line(2, cpu="2e-1")], [0.2], 0, id="the-same-number-written-twice"),
        pytest.param([line(1, cpu="0") + line(2, cpu="0.2")], [0.0], 1, id="zero-is-a-request"),
        pytest.param([line(1, cpu="0.1") + line(2, cpu="0.3", event=8)], [0.1], 0, id="only-submit-events"),
    ],
)
def test_which_request_a_task_keeps(tmp_path: Path, texts: list[str], expected: list[float], changed: int) -> None:
    report = digest(write(tmp_path / "in", *texts))
    report.write(tmp_path / "out")
    held = load_digest(tmp_path / "out")
    assert held.frame["cpu"].tolist() == expected
    assert held.frame["tasks"].tolist() == [1]
    assert report.provenance["counts"]["tasks_changing_request"] == changed


def test_machines(tmp_path: Path) -> None:
    digest(write(tmp_path, line())).write(tmp_path / "out")
    held = load_digest(tmp_path / "out")
    assert held.machines.to_numpy().tolist() == [[0, 0.5, 0.25, 1, 1], [0, 0.5, 0.75, 0, 1], [1, 1.0, 1.0, 1, 1]]
    assert held.pool().tolist() == [1.5, 1.25]
    assert held.pool("last_known").tolist() == [2.0, 2.0]


def test_missing_parts_are_said_and_recorded(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", line(), line(task=1), line(task=2))
    (folder / "task_events" / "part-00001-of-00500.csv").unlink()
    held = digest(folder).provenance
    assert (held["parts"], held["missing_parts"], held["parts_total"]) == ([0, 2], [1], 500)


# ---------------------------------------------------------------------------------------------------------------------
# Loading and verifying


def test_the_shipped_digest_adds_up() -> None:
    held = load_digest()
    counts, frame = held.provenance["counts"], held.frame
    assert (held.provenance["parts"], held.provenance["missing_parts"]) == (list(range(14)), [])
    assert int(frame["tasks"].sum()) == counts["tasks"] == counts["distinct_tasks"] - counts["tasks_without_request"]
    assert (len(held), frame["user"].nunique(), frame["jobs"].sum()) == (
        counts["rows"],
        counts["users"],
        19_512,
    )
    assert int(frame["tasks"][frame["cpu"] == 0].sum()) == counts["tasks_zero_cpu"]
    assert sorted(held.machines["last_known"], reverse=True) == [6732, 3863, 1001, 795, 126, 52, 5, 5, 3, 1]
    assert held.pool().round(2).tolist() == [6603.25, 5862.75]


# ---------------------------------------------------------------------------------------------------------------------
# Sampling


@pytest.fixture
def small(tmp_path: Path) -> Digest:
    """Return three users: one with 6 + 2 tasks, one with 1 task and 1 of zero CPU, one with zeros only."""
    text = "".join(line(job=k // 3, task=k, cpu="0.5", user="a") for k in range(6))
    text += "".join(line(job=50, task=k, cpu="0.25", user="a") for k in range(2))
    text += line(job=60, cpu="0.125", user="b") + line(job=61, cpu="0", user="b")
    text += line(job=70, cpu="0", memory="0.5", user="c") + line(job=71, cpu="0", memory="0", user="c")
    digest(write(tmp_path, text, machines="0,1,0,P,0.5,0.25\n0,2,0,P,0.5,1\n")).write(tmp_path / "out")
    return load_digest(tmp_path / "out")


# probability of each (user, cpu) row, by hand
LAWS = {
    ("task", "drop"): {(0, 0.5): 6 / 9, (0, 0.25): 2 / 9, (1, 0.125): 1 / 9},
    ("task", "keep"): {(0, 0.5): 6 / 11, (0, 0.25): 2 / 11, (1, 0.125): 1 / 11, (1, 0): 1 / 11, (2, 0): 1 / 11},
    ("job", "drop"): {(0, 0.5): 2 / 4, (0, 0.25): 1 / 4, (1, 0.125): 1 / 4},
    ("job", "keep"): {(0, 0.5): 2 / 6, (0, 0.25): 1 / 6, (1, 0.125): 1 / 6, (1, 0): 1 / 6, (2, 0): 1 / 6},
    ("user", "drop"): {(0, 0.5): 3 / 8, (0, 0.25): 1 / 8, (1, 0.125): 1 / 2},
    ("user", "keep"): {(0, 0.5): 1 / 4, (0, 0.25): 1 / 12, (1, 0.125): 1 / 6, (1, 0): 1 / 6, (2, 0): 1 / 3},
}


@pytest.mark.parametrize(("unit", "zeros"), LAWS)
def test_the_law_of_the_sample(small: Digest, unit: Any, zeros: Any) -> None:
    n = 40_000
    drawn = small.sample(n, np.random.default_rng(5), unit=unit, zeros=zeros)
    owner = {tuple(row): user for user, *row in small.frame[["user", "cpu", "memory"]].itertuples(index=False)}
    assert len(owner) == len(small)  # so a request tells whose it is
    follows(Counter((owner[cpu, memory], cpu) for cpu, memory in drawn.tolist()), LAWS[unit, zeros])
    pool = small.sample(n, np.random.default_rng(5), unit=unit, zeros=zeros, scale="pool")
    np.testing.assert_allclose(pool, drawn / [1.0, 1.25], rtol=1e-15)


def test_nothing_to_draw(tmp_path: Path) -> None:
    digest(write(tmp_path / "in", line(cpu="0"))).write(tmp_path / "out")
    held = load_digest(tmp_path / "out")
    assert held.sample(2, np.random.default_rng(1), zeros="keep").tolist() == [[0, 0.25]] * 2
    with pytest.raises(InvalidInput, match="zeros leaves no row"):
        held.sample(2, np.random.default_rng(1))
