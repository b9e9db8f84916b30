"""The Google 2011 reader, digest and sampling, each number reached a second way.

The reference here shares no code with the package: it reads whole files with the standard library, checks lines with
its own grammar and counts with pandas.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairbook.errors import InvalidInput, TraceError
from fairbook.traces.google2011 import Digest, load_digest
from fairbook.traces.raw.digests import DigestReport
from fairbook.traces.raw.google2011 import digest, verify_digest
from tests import trace_files
from tests.trace_files import follows, raw_folder

HASH = "70s3v5qRyCO/1PCdI6fVXnrW8FU/w+5CKRSa72xgcIo="
COLUMNS = ["user", "cpu", "memory", "tasks", "jobs"]


# ---------------------------------------------------------------------------------------------------------------------
# The reference


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


def reference(frame: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, int]]:
    """Digest by pandas: sort by time (stably), keep the first submission with both requests, count."""
    submit = frame[frame.event == 0]
    known = submit.dropna(subset=["cpu", "memory"]).sort_values("time", kind="stable")
    first = known.drop_duplicates(["job", "task"])
    variants = known.drop_duplicates(["job", "task", "cpu", "memory"]).groupby(["job", "task"]).size()
    table = first.groupby(["user", "cpu", "memory"]).agg(tasks=("job", "size"), jobs=("job", "nunique")).reset_index()
    table["user"] = table["user"].map({name: k for k, name in enumerate(sorted(set(table["user"])))})
    table = table.sort_values(["user", "cpu", "memory"]).reset_index(drop=True).astype({"user": "int64"})
    distinct = len(submit.drop_duplicates(["job", "task"]))
    counts = {
        "events": len(frame),
        "submit_events": len(submit),
        "submit_events_without_request": int(submit[["cpu", "memory"]].isna().any(axis=1).sum()),
        "distinct_tasks": distinct,
        "tasks_without_request": distinct - len(first),
        "tasks": len(first),
        "tasks_changing_request": int((variants > 1).sum()),
        "tasks_zero_cpu": int((first.cpu == 0).sum()),
        "tasks_zero_memory": int((first.memory == 0).sum()),
        "tasks_zero_both": int(((first.cpu == 0) & (first.memory == 0)).sum()),
        "jobs": first.job.nunique(),
        "users": first.user.nunique(),
        "distinct_requests": len(first.drop_duplicates(["cpu", "memory"])),
        "rows": len(table),
    }
    return table[COLUMNS], counts


def assert_like_reference(out: Path, report: DigestReport, texts: list[str]) -> None:
    """Hold a digest against the lines of its trace."""
    rows = [one.split(",") for text in texts for one in text.splitlines()]
    frame = pd.DataFrame(
        {
            "time": [int(r[0]) for r in rows],
            "job": [int(r[2]) for r in rows],
            "task": [int(r[3]) for r in rows],
            "event": [int(r[5]) for r in rows],
            "user": pd.Series([r[6] for r in rows], dtype=object),
            "cpu": [float(r[9]) if r[9] else np.nan for r in rows],
            "memory": [float(r[10]) if r[10] else np.nan for r in rows],
        }
    )
    table, counts = reference(frame)
    assert report.counts == counts
    pd.testing.assert_frame_equal(load_digest(out).frame, table, check_exact=True)


MACHINES = "0,5,0,P,0.5,0.25\n0,6,0,Q,1,1\n9,7,0,P,0.5,0.25\n12,6,1,Q,1,1\n11,5,2,P,0.5,0.75\n13,5,0,R,,\n"


def write(folder: Path, *texts: str, suffix: str = ".csv", machines: str = MACHINES) -> Path:
    """Write one part per text, and a machine table."""
    for k, text in enumerate(texts):
        trace_files.write(folder / "task_events", text, f"part-{k:05d}-of-00500{suffix}")
    trace_files.write(folder, machines, f"machine_events_part-00000-of-00001{suffix}")
    return folder


def random_trace(seed: int, parts: int = 3, lines: int = 300) -> list[str]:
    """Make parts with resubmissions, changed, lacking and zero requests, and times out of order across parts."""
    rng = np.random.default_rng(seed)
    texts = []
    for _ in range(parts):
        text = ""
        for _ in range(lines):
            job = int(rng.integers(12)) + 6_250_000_000
            user = f"{HASH[:-3]}{job % 5:02d}=" if job % 3 else f"u{job % 5}"
            cpu, memory = (rng.choice(["0", "", "0.0625", "0.125", "6.25e-2", "3.815e-05", "1"]) for _ in "ab")
            event = 0 if rng.random() < 0.7 else int(rng.integers(9))
            text += line(int(rng.integers(50)), job, int(rng.integers(30)), str(cpu), str(memory), user, event)
        texts.append(text)
    return texts


# ---------------------------------------------------------------------------------------------------------------------
# What the digest counts


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
@pytest.mark.parametrize("seed", range(4))
def test_digest_equals_the_reference(tmp_path: Path, seed: int, suffix: str) -> None:
    texts = random_trace(seed)
    report = digest(write(tmp_path / "in", *texts, suffix=suffix), tmp_path / "out", progress=False)
    assert report.counts["tasks_changing_request"] > 10
    assert report.counts["tasks_zero_cpu"] > 0
    assert_like_reference(tmp_path / "out", report, texts)


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
    report = digest(write(tmp_path / "in", *texts), tmp_path / "out", progress=False)
    held = load_digest(tmp_path / "out")
    assert held.cpu.tolist() == expected
    assert held.tasks.tolist() == [1]
    assert report.counts["tasks_changing_request"] == changed


#: Lines that are odd and valid: a user left without tasks has no code; words that pandas would take for something else.
ODD = [
    line(t=2**63 - 1) + line(job=10**18 - 1) + line(job=2**53 + 1),
    line(cpu="0.50000000000000000000") + line(job=8, cpu="5e-1", memory="25E-2"),
    line(5, user="a") + line(4, user="b"),
    *("".join(line(user=user, job=k) for k, user in enumerate(users)) for users in (["NA", "", "nan"], ["007", "7"])),
]


@pytest.mark.parametrize("text", ODD)
def test_odd_but_valid_traces(tmp_path: Path, text: str) -> None:
    report = digest(write(tmp_path / "in", text), tmp_path / "out", progress=False)
    assert_like_reference(tmp_path / "out", report, [text])


def test_machines(tmp_path: Path) -> None:
    digest(write(tmp_path, line()), tmp_path / "out", progress=False)
    held = load_digest(tmp_path / "out")
    assert held.machines.to_numpy().tolist() == [[0, 0.5, 0.25, 1, 1], [0, 0.5, 0.75, 0, 1], [1, 1.0, 1.0, 1, 1]]
    assert held.pool().tolist() == [1.5, 1.25]
    assert held.pool("last_known").tolist() == [2.0, 2.0]
    with pytest.raises(InvalidInput, match="when"):
        held.pool("now")  # type: ignore[arg-type]


def test_missing_parts_are_said_and_recorded(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", line(), line(task=1), line(task=2))
    (folder / "task_events" / "part-00001-of-00500.csv").unlink()
    report = digest(folder, tmp_path / "out", progress=False)
    assert "1 part(s) of task_events missing: [1]\n" in str(report)
    held = load_digest(tmp_path / "out").provenance
    assert (held["parts"], held["missing_parts"], held["parts_total"]) == ([0, 2], [1], 500)
    write(folder, *[line(task=k) for k in range(4)])  # of the parts now there, those of the record are read
    verify_digest(folder, tmp_path / "out")
    (folder / "task_events" / "part-00002-of-00500.csv").unlink()
    with pytest.raises(TraceError, match="1 of the 2 parts of the committed digest"):
        verify_digest(folder, tmp_path / "out")


# ---------------------------------------------------------------------------------------------------------------------
# Loading and verifying


def test_the_shipped_digest_adds_up() -> None:
    held = load_digest()
    counts = held.provenance["counts"]
    assert (held.provenance["parts"], held.provenance["missing_parts"]) == (list(range(14)), [])
    assert int(held.tasks.sum()) == counts["tasks"] == counts["distinct_tasks"] - counts["tasks_without_request"]
    assert (len(held), held.user[-1] + 1, held.jobs.sum()) == (counts["rows"], counts["users"], 19_512)
    assert int(held.tasks[held.cpu == 0].sum()) == counts["tasks_zero_cpu"]
    assert ((held.cpu >= 0) & (held.cpu <= 1) & (held.memory >= 0) & (held.memory <= 1)).all()
    assert ((held.jobs >= 1) & (held.jobs <= held.tasks)).all()
    assert not held.frame.duplicated(["user", "cpu", "memory"]).any()
    assert held.machines["at_start"].sum() == 12_477
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
    digest(write(tmp_path, text, machines="0,1,0,P,0.5,0.25\n0,2,0,P,0.5,1\n"), tmp_path / "out", progress=False)
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


def test_sample_follows_its_generator_and_its_scale(small: Digest) -> None:
    for unit in ("task", "job", "user"):
        draw = small.sample(50, np.random.default_rng(3), unit=unit)
        assert draw.shape == (50, 2)
        assert draw.dtype == np.float64
        assert draw.tolist() == small.sample(50, np.random.default_rng(3), unit=unit).tolist()
        pool = small.sample(50, np.random.default_rng(3), unit=unit, scale="pool")
        np.testing.assert_allclose(pool, draw / [1.0, 1.25], rtol=1e-15)


def test_a_digest_cannot_be_changed_by_accident(small: Digest) -> None:
    with pytest.raises(ValueError, match="read-only"):
        small.cpu[0] = 1
    draw = small.sample(3, np.random.default_rng(1))
    draw[0] = 7  # the draw is the caller's own
    assert small.cpu.max() == 0.5


def test_nothing_to_draw(tmp_path: Path) -> None:
    digest(write(tmp_path / "in", line(cpu="0")), tmp_path / "out", progress=False)
    held = load_digest(tmp_path / "out")
    assert held.sample(2, np.random.default_rng(1), zeros="keep").tolist() == [[0, 0.25]] * 2
    with pytest.raises(InvalidInput, match="zeros leaves no row"):
        held.sample(2, np.random.default_rng(1))


# ---------------------------------------------------------------------------------------------------------------------
# The genuine trace


@pytest.mark.traces
@pytest.mark.slow
def test_the_shipped_digest_equals_the_reference_on_the_raw_files() -> None:
    names = {0: "time", 2: "job", 3: "task", 5: "event", 6: "user", 9: "cpu", 10: "memory"}
    frame = pd.concat(
        [
            pd.read_csv(path, header=None, usecols=list(names)).rename(columns=names)
            for path in sorted(raw_folder("google2011").glob("task_events_part-*.csv.gz"))
        ]
    )
    table, counts = reference(frame)
    held = load_digest()
    assert held.provenance["counts"] == counts
    pd.testing.assert_frame_equal(held.frame, table, check_exact=True)
