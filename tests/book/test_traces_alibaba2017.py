"""The Alibaba 2017 digest, on small traces done by hand, and the samplings by their law and by a loop."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from book.common.raw.alibaba2017 import digest
from book.common.traces.alibaba2017 import Jobs, load_digest
from tests import trace_files
from tests.trace_files import exact, follows

HEADER = (
    "task_create_time, task_end_time, job_id, task_id,number_of_instances, status, "
    "number_of_cpus_requested_per_instance_in_the_task,normalized_memory_requested_per_instance_in_the_task\r\n"
)


def line(
    created: int | str = 5,
    job: int | str = 1,
    task: int | str = 1,
    instances: int | str = 3,
    cpu: int | str = 50,
    memory: str = "0.25",
    status: str = "Terminated",
    modified: int | str = 9,
) -> str:
    return f"{created},{modified},{job},{task},{instances},{status},{cpu},{memory}\n"


EVENTS = "0,1,add,,64,0.69,1\n0,2,add,,64,1,1\n9,2,softerror,disk_full,0,0,0\n"


def write(folder: Path, text: str, name: str = "batch_task.csv", events: str = EVENTS) -> Path:
    trace_files.write(folder, events, "server_event.csv")
    return trace_files.write(folder, text, name).parent


fuzzed = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


def random_trace(seed: int, jobs: int = 40) -> list[str]:
    """Make lines with repeated shapes, lacking and zero requests, negative times and many ties."""
    rng = np.random.default_rng(seed)
    lines = []
    task = 0
    for job in range(1, jobs + 1):
        start = int(rng.integers(-30, 200))
        for _ in range(int(rng.integers(1, 6))):
            task += 1
            lines.append(
                line(
                    start + int(rng.choice([0, 0, 0, 1, 25])),
                    job * 7919 % 1009,
                    task,
                    int(rng.choice([1, 1, 2, 17, 64486])),
                    str(rng.choice(["50", "100", "50", "", "0"], p=[0.4, 0.3, 0.1, 0.15, 0.05])),
                    str(rng.choice(["0.25", "0.00540470582", "5.5e-3", "", "0"], p=[0.4, 0.3, 0.1, 0.15, 0.05])),
                    str(rng.choice(["Terminated", "Waiting", "Failed"])),
                )
            )
    return [lines[k] for k in rng.permutation(len(lines))]


def assert_same(a: Jobs, b: Jobs) -> None:
    for name in ("first", "created", "instances", "plan_cpu", "memory", "machine_classes"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


# ---------------------------------------------------------------------------------------------------------------------
# What the digest holds


def test_the_tables_of_a_trace_done_by_hand(tmp_path: Path) -> None:
    text = line(7, 1, 12, 1) + line(6, 1, 13, 20, 100, "0.5") + line(6, 1, 11, 4)  # by creation, then by task
    text += line(-3, 2, 1, 20, 100, "0.5") + line(-3, 2, 2, 4) + line(-2, 2, 3, 1)
    text += line(50, 3, 4, 4) + line(50, 4, 5, 4) + line(50, 4, 6, 9, "", "")
    write(tmp_path / "in", text)
    digest(tmp_path / "in").write(tmp_path / "out")
    assert (tmp_path / "out" / "alibaba2017_requests.csv").read_text() == (
        "request,plan_cpu,plan_mem,groups,instances\n0,50,0.25,6,18\n1,100,0.5,2,40\n"
    )
    assert (tmp_path / "out" / "alibaba2017_jobs.csv").read_text() == (
        "created,groups\n-3,1*20 0*4 0+1\n6,0*4 1*20 0+1\n50 50,0*4\n"
    )
    assert (tmp_path / "out" / "alibaba2017_machines.csv").read_text() == "cpu,memory,machines\n64,0.69,1\n64,1,1\n"


# ---------------------------------------------------------------------------------------------------------------------
# Machines, and the digest that ships


def test_machines_count_as_their_last_add_event_says(tmp_path: Path) -> None:
    events = "8,3,harderror,x,0,0,0\n0,3,add,,64,0.25,1\n0,3,add,,64,0.5,1\n0,1,add,,32,,\n"  # without, it tells none
    write(tmp_path, HEADER + line(-1078) + line(6, 2, 2, 1, "", "", "Waiting"), events=events)
    assert exact("alibaba2017", tmp_path).machines.to_numpy().tolist() == [[64, 0.5, 1]]


def test_the_shipped_digest_is_rounded_and_in_order() -> None:
    held = load_digest()
    assert int(held.instances.sum()) == held.provenance["counts"]["instances_stored"]
    assert_same(held.quantised(memory_digits=3, instance_digits=3), held)
    groups = held.groups_per_job
    assert [int((groups >= k).sum()) for k in (2, 5, 10, 20, 156, 157)] == [12_014 - 3_055, 6_066, 2_526, 335, 1, 0]
    assert (np.diff(held.created[held.first[:-1]]) >= 0).all()


# ---------------------------------------------------------------------------------------------------------------------
# Rounding


def test_rounding_keeps_the_order_and_is_written_as_such(tmp_path: Path) -> None:
    write(tmp_path / "in", "".join(random_trace(5)))
    digest(tmp_path / "in", memory_digits=1, instance_digits=1).write(tmp_path / "out")
    exact = trace_files.exact("alibaba2017", tmp_path / "in")
    rounded = exact.quantised(memory_digits=1, instance_digits=1)
    assert rounded.instances.tolist() == [{1: 1, 2: 2, 17: 20, 64_486: 60_000}[k] for k in exact.instances.tolist()]
    assert set(rounded.memory.tolist()) <= {0, 0.2, 0.005, 0.006}
    assert_same(load_digest(tmp_path / "out"), rounded)


# ---------------------------------------------------------------------------------------------------------------------
# Jobs as users


@pytest.fixture(scope="module")
def shipped() -> Jobs:
    return load_digest()


@fuzzed
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 30),
    periods=st.one_of(st.none(), st.integers(1, 40)),
    least=st.integers(1, 12),
    after=st.sampled_from(["idle", "cycle"]),
    unit=st.sampled_from([1.0, 96.0]),
)
def test_sampled_jobs_are_those_jobs(
    shipped: Jobs, seed: int, n: int, periods: int | None, least: int, after: Any, unit: float
) -> None:
    rng = np.random.default_rng(seed)
    draw = shipped.sample(n, rng, periods=periods, min_groups=least, after=after, memory_unit=unit)
    frame = shipped.frame
    sizes = frame.groupby("job").size()
    assert (sizes[draw.jobs] >= least).all()
    T = periods or int(sizes[draw.jobs].max())
    assert draw.demands.shape == (T, n, 2)
    for i, job in enumerate(draw.jobs.tolist()):
        groups = frame[frame["job"] == job].to_numpy().tolist()
        for t in range(T):
            here = t < len(groups) or after == "cycle"
            *_, instances, cpu, memory = groups[t % len(groups)] if here else groups[-1]
            assert draw.tasks[t, i] == (instances if here else 0)
            assert draw.demands[t, i].tolist() == [cpu / 100, memory * unit]


@pytest.mark.usefixtures("narrow")
def test_jobs_are_told_and_dealt_where_an_index_has_32_bits() -> None:
    jobs = Jobs.of([(0, [(0, 1, 50, 0.5), (1, 2, 50, 0.25)]), (5, [(0, 1, 50, 0.5)])], np.ones((1, 3)))
    assert jobs.frame["job"].tolist() == [0, 0, 1]
    assert jobs.deal(2, np.random.default_rng(1), 10.0).tasks.sum() == 4


def test_the_law_of_the_sample(tmp_path: Path) -> None:
    text = "".join(line(k, job, 100 * k + job, job) for job in range(1, 6) for k in range(job))
    write(tmp_path, text)
    jobs = exact("alibaba2017", tmp_path)
    rng = np.random.default_rng(8)
    draws = [jobs.sample(2, rng, min_groups=3).tasks[0].tolist() for _ in range(6_000)]
    follows(Counter(k for pair in draws for k in pair), {3: 1, 4: 1, 5: 1})  # instances tell the job
    assert sorted(jobs.sample(5, rng).jobs.tolist()) == [0, 1, 2, 3, 4]  # without replacement


# ---------------------------------------------------------------------------------------------------------------------
# Jobs dealt out


@fuzzed
@given(
    trace=st.integers(0, 50),
    seed=st.integers(0, 2**32),
    n=st.integers(1, 6),
    period=st.sampled_from([1, 7, 60, 2.5, np.int64(300), 10_000.0]),
    merge=st.sampled_from(["mean", "queue"]),
    unit=st.sampled_from([1.0, 88.0]),
)
def test_dealt_jobs_against_a_loop(
    tmp_path: Path, trace: int, seed: int, n: int, period: float, merge: Any, unit: float
) -> None:
    write(tmp_path, "".join(random_trace(trace, jobs=12)).replace(",0\n", ",0.125\n").replace(",0,0", ",50,0"))
    jobs = exact("alibaba2017", tmp_path)
    deal = jobs.deal(n, np.random.default_rng(seed), period, merge=merge, memory_unit=unit)
    T = len(deal.tasks)
    assert sorted(Counter(deal.users.tolist())) == list(range(n))
    assert max(Counter(deal.users.tolist()).values()) - min(Counter(deal.users.tolist()).values()) <= 1
    assert deal.start <= jobs.created.min() < deal.start + period
    assert deal.start / period == round(deal.start / period)

    cells: dict[tuple[int, int], list[tuple[int, float, float]]] = {}
    free = dict.fromkeys(range(n), -1)
    rows = jobs.frame.sort_values(["created", "job", "s"]).to_numpy().tolist()
    for job, _, created, instances, cpu, memory in rows:
        user = int(deal.users[int(job)])
        t = int((created - deal.start) // period)
        if merge == "queue":
            t = max(t, free[user] + 1)
            free[user] = t
        cells.setdefault((t, user), []).append((int(instances), cpu / 100, memory * unit))
    assert max(t for t, _ in cells) == T - 1
    for user in range(n):
        last = min(t for t, i in cells if i == user)
        for t in range(T):
            groups = cells.get((t, user), [])
            last = t if groups else last
            shown = groups or cells[last, user]
            total = sum(k for k, *_ in shown)
            assert deal.tasks[t, user] == (total if groups else 0)
            for j in (0, 1):
                mean = sum(g[0] * g[1 + j] for g in shown) / total
                assert deal.demands[t, user, j] == pytest.approx(mean, rel=1e-12)
