"""The reader of the second workload: a small made-up file, and the real one where its package is installed."""

from __future__ import annotations

import csv
import gzip
import hashlib
import importlib.metadata
import re
import subprocess
import sys
from collections.abc import Callable
from graphlib import TopologicalSorter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairbook as fb
from fairbook.traces import alibaba2018
from fairbook.traces.alibaba2018 import read_tasks

# Lines of job b stand in an order that is neither that of their numbers nor of what waits for what.
LINES = """0,j_b,R3_5,30,50.0,0.25,4
0,j_b,M1,12,100.0,0.5,9
0,j_b,task_LTYx=,7,10.0,0.02,1
0,j_b,J5_1_2,3,50.0,0.25,2
0,j_b,M2,1,100.0,1.0,3
61,j_a,M1,5,200.0,2.0,7
61,j_c,R2_1,5,100,0.3,1
61,j_c,M1,5,100,.3,1
130,j_d,M1,0,5.0,0.02,1000
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def file(content: str | bytes = LINES, name: str = "sample_tasks.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return file


def installed() -> Path:
    """Return the file of the package, or skip."""
    try:
        found = importlib.metadata.distribution("spar").locate_file("spar/data/samples/sample_tasks.csv")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the extra 'workloads' is not installed: the real file was NOT read")
    return Path(str(found))


# ------------------------------------------------------------------------------------------------ the made-up file


def test_jobs_in_order_of_arrival_and_tasks_in_order_of_their_dependencies(write: Callable[..., Path]) -> None:
    jobs = read_tasks(write())
    assert repr(jobs) == "Jobs(4 jobs, 9 task groups, 1028 instances)"
    wanted = {
        "groups_per_job": [5, 1, 2, 1],
        # b: task_ and M1 and M2 at level 0, J5 waits for both M, R3 for J5
        "instances": [1, 9, 3, 2, 4, 7, 1, 1, 1000],
        "level": [0, 0, 0, 1, 2, 0, 0, 1, 0],
        "seconds": [7, 12, 1, 3, 30, 5, 5, 5, 0],
        "created": [0] * 5 + [61] * 3 + [130],
        "cores": [0.1, 1, 1, 0.5, 0.5, 2, 1, 1, 0.05],
    }
    assert {name: getattr(jobs, name).tolist() for name in wanted} == wanted
    memory = [0.0002, 0.005, 0.01, 0.0025, 0.0025, 0.02, 0.003, 0.003, 0.0002]
    np.testing.assert_allclose(jobs.memory, memory, rtol=1e-15)
    assert not jobs.memory.flags.writeable
    assert jobs.frame[["job", "s"]].T.to_numpy().tolist() == [[0] * 5 + [1, 2, 2, 3], [0, 1, 2, 3, 4, 0, 0, 1, 0]]


def test_forms_of_the_same_file(write: Callable[..., Path], tmp_path: Path) -> None:
    wanted = read_tasks(write()).frame
    for content, name in (
        (LINES.replace("\n", "\r\n"), "sample_tasks.csv"),
        (gzip.compress(LINES.encode(), mtime=0), "sample_tasks.csv.gz"),
    ):
        for old in tmp_path.iterdir():
            old.unlink()
        path = write(content, name)
        for source in (path, str(path), tmp_path, [path]):
            pd.testing.assert_frame_equal(read_tasks(source).frame, wanted)


def test_dealing_keeps_every_instance_and_the_total_of_each_resource(write: Callable[..., Path]) -> None:
    jobs = read_tasks(write())
    deal = jobs.deal(np.random.default_rng(3), 2, 60, memory_unit=100.0)
    assert deal.demands.shape == (3, 2, 2)
    assert deal.start == 0
    expected, tasks = np.zeros((3, 2, 2)), np.zeros((3, 2), dtype=int)
    for j, user in enumerate(deal.users):
        for g in range(jobs.first[j], jobs.first[j + 1]):
            t = jobs.created[g] // 60
            tasks[t, user] += jobs.instances[g]
            expected[t, user] += jobs.instances[g] * np.array([jobs.plan_cpu[g] / 100, jobs.memory[g] * 100])
    np.testing.assert_array_equal(deal.tasks, tasks)
    np.testing.assert_allclose(deal.tasks[:, :, None] * deal.demands, expected, rtol=1e-12)
    assert (deal.demands > 0).all()
    run = fb.tv_drf(deal.demands, deal.tasks, [[96, 100]], [[0.5], [0.5]], unserved="waits")
    assert run.violations() == []
    assert run.tasks.sum() + run.unserved[-1].sum() == 1028
    queued = jobs.deal(np.random.default_rng(3), 2, 60, merge="queue")
    assert queued.tasks.sum() == 1028
    assert {tuple(d) for d in queued.demands[queued.tasks > 0]} == set(zip(jobs.cores, jobs.memory, strict=True))


def test_a_job_as_a_user(write: Callable[..., Path]) -> None:
    jobs = read_tasks(write())
    draw = jobs.sample(np.random.default_rng(1), 1, periods=6, min_groups=3)
    assert draw.jobs.tolist() == [0]
    assert draw.tasks[:, 0].tolist() == [1, 9, 3, 2, 4, 0]
    assert draw.demands[:3, 0, 0].tolist() == [0.1, 1, 1]


# -------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("", "sample_tasks.csv, line 1: the file holds no row"),
        ("0,j,M1,1,100,0.3\n", "line 1: expected 7 columns, found 6"),
        (LINES + "140,j_e,M1,1,100,0.3,1,x\n", "line 10: expected 7 columns, found 8"),
        ("arrival,job,task,seconds,cpu,mem,n\n" + LINES, r"line 1: column 1 \(arrival\) is not a non-negative integer"),
        ("0.5,j,M1,1,100,0.3,1\n", r"line 1: column 1 \(arrival\) is not a non-negative integer"),
        ("-1,j,M1,1,100,0.3,1\n", r"line 1: column 1 \(arrival\) is not a non-negative integer"),
        ("0,j,M1,1,100,0.3,1\n0,j,M2,1,0,0.3,1\n", r"line 2: column 5 \(plan_cpu\) asks for nothing"),
        ("0,j,M1,1,1e-999,0.3,1\n", r"line 1: column 5 \(plan_cpu\) is not a non-negative number"),
        ("0,j,M1,1,100,0.0,1\n", r"line 1: column 6 \(plan_mem\) asks for nothing"),
        ("0,j,M1,1,100,0.3,999999999999999999\n", r"line 1: more than 2\*\*53 instances up to here"),
        (f"0,j,M1,1,100,0.3,1\n0,j,M2,1,100,0.3,{2**53}\n", r"line 2: more than 2\*\*53 instances"),
        ("0,,M1,1,100,0.3,1\n", r"line 1: column 2 \(job\) is empty"),
        ("0,j,M 1,1,100,0.3,1\n", r"line 1: column 3 \(task\) is not a plain name"),
        ("0,j,M1,-1,100,0.3,1\n", r"line 1: column 4 \(seconds\) is not a non-negative integer"),
        ("0,j,M1,1,nan,0.3,1\n", r"line 1: column 5 \(plan_cpu\) is not a non-negative number"),
        ("0,j,M1,1,100,-1,1\n", r"line 1: column 6 \(plan_mem\) is not a non-negative"),
        ("0,j,M1,1,100,101,1\n", r"line 1: column 6 \(plan_mem\) is more than 100"),
        ("0,j,M1,1,100,0.3,0\n", r"line 1: column 7 \(instances\) is not a positive integer"),
        ("0,j,M1,1,100,0.3,1\n0,j,M1,1,100,0.3,1\n", "line 2: job j, task M1 is there already .*line 1"),
        ("0,j,M1,1,100,0.3,1\n5,j,M2,1,100,0.3,1\n", "line 2: its job arrived at another time"),
        ("0,j,M1,1,100,0.3,1\n0,j,R1_2,1,100,0.3,1\n", "line 2: the job has a task with the number 1 already"),
        (
            "0,j,M1,1,100,0.3,1\n0,j,R2_3,1,100,0.3,1\n",
            "line 2: R2_3 waits for a task that is not there, or for itself",
        ),
        (
            "0,j,R1_2,1,100,0.3,1\n0,j,R2_1,1,100,0.3,1\n",
            "line 1: R1_2 waits for a task that is not there, or for itself",
        ),
        ("0,j,R1_1,1,100,0.3,1\n", "line 1: R1_1 waits for"),
        ("0,j,M1,1,100,0.3,1", "cut short"),
    ],
)
def test_bad_files(write: Callable[..., Path], content: str, part: str) -> None:
    with pytest.raises(fb.TraceError, match=part):
        read_tasks(write(content))


def test_the_most_instances_that_are_dealt_exactly(write: Callable[..., Path]) -> None:
    jobs = read_tasks(write(f"0,j,M1,1,100,0.3,{2**53 - 1}\n0,j,M2,1,50,0.3,1\n"))
    dealt = jobs.deal(np.random.default_rng(0), 1, 60)
    assert dealt.tasks.tolist() == [[2**53]]


def test_bad_arguments(write: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(fb.TraceError, match="no such file"):
        read_tasks(tmp_path / "nowhere")
    with pytest.raises(fb.TraceError, match="no sample_tasks file"):
        read_tasks(tmp_path)
    with pytest.raises(fb.InvalidInput, match="source"):
        read_tasks(7)  # type: ignore[arg-type]
    jobs = read_tasks(write())
    rng = np.random.default_rng(0)
    for call, argument in (
        (lambda: jobs.deal(rng, 5, 60), "n"),
        (lambda: jobs.deal(rng, 2, 0.5), "period"),
        (lambda: jobs.deal(rng, 2, 60, merge="sum"), "merge"),  # type: ignore[arg-type]
        (lambda: jobs.deal(7, 2, 60), "rng"),  # type: ignore[arg-type]
        (lambda: jobs.sample(rng, 2, min_groups=5), "n"),
        (lambda: jobs.sample(rng, 1, after="stop"), "after"),  # type: ignore[arg-type]
    ):
        with pytest.raises(fb.InvalidInput) as caught:
            call()
        assert caught.value.where == argument


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alibaba2018, "PACKAGE", "no-such-package-here")
    with pytest.raises(fb.MissingDependency, match="extra 'workloads'"):
        read_tasks()
    extras = importlib.metadata.metadata("fairbook").get_all("Provides-Extra") or []
    assert "workloads" in extras, "`make setup` installs the package again"


def test_another_package_of_the_name_is_refused(
    write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        importlib.metadata,
        "distribution",
        lambda name: SimpleNamespace(locate_file=lambda inside: tmp_path / Path(inside).name),
    )
    with pytest.raises(fb.TraceError, match="is missing from the installed package spar"):
        read_tasks()
    write()
    with pytest.raises(fb.TraceError, match="its SHA-256 is not"):
        read_tasks()
    monkeypatch.setattr(alibaba2018, "SHA256", hashlib.sha256(LINES.encode()).hexdigest())
    assert len(read_tasks()) == 4


# --------------------------------------------------------------------------------------------------- the real file


def test_the_real_file_a_second_way() -> None:
    path = installed()
    jobs = read_tasks()
    with path.open(newline="") as handle:
        rows = list(csv.reader(handle))
    assert len(rows) == len(jobs.created) == 67_634
    assert len(jobs) == len({row[1] for row in rows}) == 16_749
    assert int(jobs.instances.sum()) == sum(int(row[6]) for row in rows) == 3_056_536
    table = pd.DataFrame(rows, columns=["arrival", "job", "task", "seconds", "cpu", "mem", "n"])
    numbers = table.drop(columns=["job", "task"]).astype(float)
    for name, column in (("created", "arrival"), ("seconds", "seconds"), ("plan_cpu", "cpu"), ("instances", "n")):
        np.testing.assert_array_equal(np.sort(getattr(jobs, name)), np.sort(numbers[column]))
    np.testing.assert_allclose(np.sort(jobs.memory), np.sort(numbers["mem"]) / 100, rtol=1e-15)
    assert jobs.created.max() == 3600
    np.testing.assert_array_equal(jobs.groups_per_job, table.groupby("job", sort=False).size())
    deal = jobs.deal(np.random.default_rng(1), 100, 60)
    assert deal.demands.shape == (61, 100, 2)
    assert deal.tasks.sum() == 3_056_536
    assert (deal.demands > 0).all()


def test_levels_of_the_real_file_a_second_way() -> None:
    installed()
    jobs = read_tasks()
    with installed().open(newline="") as handle:
        rows = list(csv.reader(handle))
    by_job: dict[str, list[str]] = {}
    for row in rows:
        by_job.setdefault(row[1], []).append(row[2])
    upward = 0
    for j, names in enumerate(by_job.values()):
        graph = {
            n[0]: set(n[1:])
            for n in ([int(x) for x in re.findall(r"\d+", name)] for name in names if not name.startswith("task_"))
        }
        upward += sum(other >= number for number, others in graph.items() for other in others)
        sorter: Any = TopologicalSorter(graph)
        sorter.prepare()
        level, depth = [0] * (len(names) - len(graph)), 0
        while sorter.is_active():  # batch after batch: the k-th holds what has a chain of k before it
            batch = sorter.get_ready()
            level += [depth] * len(batch)
            sorter.done(*batch)
            depth += 1
        assert jobs.level[jobs.first[j] : jobs.first[j + 1]].tolist() == sorted(level)
    assert upward == 3_336


def test_nothing_of_the_package_is_imported() -> None:
    installed()
    script = (
        "import sys\nfrom fairbook.traces import alibaba2018\nalibaba2018.read_tasks()\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('spar', 'pickle5', 'crayons')])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "[]\n", done.stderr
