"""Sweeps: the same results wherever they are computed, and nothing lost or done twice after an interruption."""

import importlib
import os
import signal
import sqlite3
import statistics
import struct
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any, NamedTuple

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, strategies as st
from hypothesis.extra import numpy as hnp

from book import __main__ as laboratory
from book.common.runs import repeat
from book.dmfa_srq import studies as dmfa_srq
from book.gdrf import studies as gdrf
from fairbook import results, sweeps
from fairbook.errors import InvalidInput, MissingDependency, StaleResult
from fairbook.sweeps import checkpoint, decode, encode, sweep
from tests.commands import ROOT, refused, run_laboratory as run
from tests.slow_runs import computed, counted, go_on, process, table
from tests.strategies import REPEATABLE

CALM = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}


def same(a: Any, b: Any) -> bool:
    """Compare type by type and bit by bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b)
    if isinstance(a, (np.ndarray, np.generic)):
        order = a.flags.c_contiguous == b.flags.c_contiguous
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes() and order
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return same(list(a.items()), list(b.items())) if isinstance(a, dict) else bool(a == b)


# ------------------------------------------------------------------------------------------------------- encoding

DTYPES = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.floating_dtypes(endianness="?"),
    hnp.complex_number_dtypes(),
)
ARRAYS = hnp.arrays(DTYPES, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    ARRAYS,
    ARRAYS.map(lambda a: np.asfortranarray(a).copy("F")),
    ARRAYS.filter(lambda a: a.size).map(lambda a: a.flat[0]),
    st.sampled_from([-0.0, 5e-324, 2**63, "\ud800\n\0", struct.unpack("d", b"\1\0\0\0\0\0\xf8\xff")[0]]),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.one_of(st.text(max_size=3), st.integers(), st.tuples(st.integers())), inner, max_size=3),
    ),
)


@REPEATABLE
@given(VALUES)
@example([np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.float32(0.1), {"b": 1, "a": (True, 1, 1.0), 1: {}}])
def test_what_is_written_is_read_back_to_the_last_bit(value: Any) -> None:
    text = encode(value)
    assert text.isascii()
    again = decode(text)
    assert same(again, value)
    assert not isinstance(again, np.ndarray) or again.flags.writeable


class Named(NamedTuple):
    x: int


@dataclass
class Setting:
    rate: Any


@pytest.mark.parametrize(
    "value",
    [
        Named(1),
        object(),
        {1, 2},
        b"a",
        range(3),
        np.array([object()]),
        abs,
        np.ma.masked_array([1]),
        np.str_("a"),
        np.zeros(1, dtype="i4,f4"),
        np.datetime64(0, "s"),
        pd.DataFrame({"a": [1]}),
        Setting(1),
    ],
)
def test_what_is_no_plain_data_is_refused_by_name(value: Any) -> None:
    for nested in (value, [{"a": (value,)}]):
        with pytest.raises(InvalidInput, match=f"must be made of None, bool.*, got '{type(value).__name__}'"):
            encode(nested)


# -------------------------------------------------------------------------------------------------------- resuming


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    return tmp_path / "counts"


def quick(counts: Path, jobs: int) -> list[Any]:
    return sweep(partial(counted, str(counts), 0), range(jobs))


def journal(folder: Path, command: str = "SELECT key, job FROM runs WHERE job <> ''", *values: Any) -> list[Any]:
    """Look into a journal that nobody holds."""
    with closing(sqlite3.connect(folder / "journal.sqlite", isolation_level=None)) as file:
        return file.execute(command, values).fetchall()


def inverse(job: float) -> float:
    return 1 / job


def held(value: Any, job: Any) -> Any:
    return repr(value)


def named(job: int) -> Any:
    return job and Named(job)


def wide(job: int) -> np.ndarray:
    return np.full(500, job)


def drawn(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.random(size)


def factorial(n: int) -> int:
    return n * sweep(factorial, [n - 1])[0] if n else 1


def test_only_what_is_missing_is_computed(tmp_path: Path, counts: Path) -> None:
    plain = quick(tmp_path / "elsewhere", 6)
    with checkpoint(tmp_path / "kept"):
        assert same(quick(counts, 3), plain[:3])
        assert sweep(statistics.fmean, []) == []
    with checkpoint(tmp_path / "kept"):
        assert same(quick(counts, 6), plain)  # more runs: the first ones are there
        assert same(quick(counts, 2), plain[:2])
    assert computed(counts) == list(range(6))
    quick(counts, 1)  # outside of it nothing is kept or taken
    assert computed(counts) == [*range(6), 0]


def test_an_error_passes_and_costs_only_its_run(tmp_path: Path) -> None:
    with checkpoint(tmp_path), pytest.raises(ZeroDivisionError):
        sweep(inverse, [4, 2, 0, 1])
    assert len(journal(tmp_path)) == 2
    with checkpoint(tmp_path):
        assert sweep(inverse, [1, 4, 2, 2.0, 4]) == [1, 0.25, 0.5, 0.5, 0.25]
    assert len(journal(tmp_path)) == 4


def test_a_result_is_for_one_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    array = np.arange(6.0).reshape(2, 3)
    holds = [array, array.T, array.astype("f4"), np.asfortranarray(array), 0, 0.0, False, (0,), [0], inverse]
    calls = [inverse, partial(dmfa_srq._grid, points=2), partial(dmfa_srq._grid, points=3), partial(process, 0)]
    calls += [partial(held, value) for value in holds]
    abouts = [
        {"seed": 2},
        {"seed": (2,)},
        {"seed": Setting(1)},
        {"seed": Setting(2)},
        {"seed": Setting(inverse)},
        {"seed": held},
        {"seeds": 2},
        {2: "seed"},
    ]

    def ask() -> int:
        with checkpoint(tmp_path):
            for call in calls:
                sweep(call, [4])
            for about in abouts:
                sweep(inverse, [4], about=about)
        return len(journal(tmp_path))

    assert ask() == ask() == len(calls) + len(abouts)
    for name, other in (
        ("_surroundings", lambda: {"the data": "new"}),
        ("_hashed", lambda module: "0" * 16),
        ("_hash_of", lambda paths: "1" * 16),
    ):
        before = ask()
        with monkeypatch.context() as patch:
            patch.setattr(sweeps, name, other)
            assert before < ask()


@pytest.fixture
def my_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ModuleType, Path]]:
    """Import a module of somebody's own that is older than this process."""
    monkeypatch.syspath_prepend(tmp_path)
    source = tmp_path / "my_runs.py"
    source.write_text("def run(job):\n    return job + 1\n")
    os.utime(source, (1, 1))
    yield importlib.import_module("my_runs"), source
    del sys.modules["my_runs"]


def test_an_edited_function_is_run_again(my_runs: tuple[ModuleType, Path], tmp_path: Path) -> None:
    module, source = my_runs
    with checkpoint(tmp_path / "kept"):
        assert sweep(module.run, [1]) == [2]
        source.write_text("def run(job):\n    return job + 100\n")
        with pytest.raises(StaleResult, match=r"my_runs\.py changed after this process had started; start it again"):
            sweep(module.run, [1])  # it would run what is no longer there
        sweeps._FOUND.clear()  # another process
        os.utime(source, (2**32, 2**32))  # whose clock is behind that of who edited
        assert sweep(importlib.reload(module).run, [1]) == [101]
        assert sweep(module.run, [1, 2]) == [101, 102]
        source.write_text("def run(job):\n    return job + 1000\n")
        with pytest.raises(StaleResult, match=r"my_runs\.py changed after"):
            sweep(module.run, [1])


def test_sources_edited_under_a_running_process_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sweeps._source("book.dmfa_srq.studies")
    monkeypatch.setattr(results, "_state", None)  # the hash is of what was loaded, whatever stands there now
    monkeypatch.setattr(results, "_LOADED", {})
    monkeypatch.setattr(sweeps, "_edited", results.edited_sources)
    with checkpoint(tmp_path), pytest.raises(StaleResult, match=r"book\.dmfa_srq\.studies.* start it again"):
        sweep(partial(dmfa_srq._grid, points=2), [5])
    monkeypatch.setattr(sweeps, "_STARTED", 0.0)
    monkeypatch.setattr(sweeps, "_FOUND", {})
    with checkpoint(tmp_path), pytest.raises(StaleResult, match=r"test_sweeps\.py changed after"):
        sweep(inverse, [5])


def test_what_cannot_be_kept_is_refused_by_name(tmp_path: Path) -> None:
    def inner(job: Any) -> Any:
        return job

    typed: dict[str, Any] = {"__name__": "a_notebook"}
    exec("def run(job):\n    return job", typed)
    assert sweep(inner, [1]) == sweep(typed["run"], [1]) == [1]  # no checkpoint, no rule
    for call in (
        inner,
        lambda job: job,
        typed["run"],
        partial(held, object()),
        partial(held, inner),
        [1].index,
        abs,
        partial(held, Named(1)),
        partial(held, {1}),
        Setting(1).__eq__,
    ):
        with checkpoint(tmp_path), pytest.raises(InvalidInput, match=r"call .*importable by name from a module with"):
            sweep(call, [1])
    with checkpoint(tmp_path):
        with pytest.raises(InvalidInput, match=r"the result of jobs\[1\] must be made of .* got 'Named'"):
            sweep(named, [0, 1])
        with pytest.raises(InvalidInput, match=r"jobs\[1\] must be made of .* got 'object'"):
            sweep(inverse, [1, object()])
    with pytest.raises(InvalidInput, match="call must be callable"):
        sweep(3, [1])  # type: ignore[arg-type]
    for workers in (0, -1, 1.5, True, "2"):
        with pytest.raises(InvalidInput, match="workers must be a whole number of at least 1"):
            sweep(abs, [1], workers=workers)  # type: ignore[arg-type]


def test_sweeps_in_a_thread_and_within_a_sweep_use_the_journal(tmp_path: Path, counts: Path) -> None:
    with checkpoint(tmp_path):
        assert sweep(factorial, [6]) == [720]
        thread = Thread(target=copy_context().run, args=(quick, counts, 4))
        thread.start()
        thread.join()
    assert len(journal(tmp_path)) == 7 + 4


def test_a_forked_child_keeps_out_of_the_journal(tmp_path: Path) -> None:
    with checkpoint(tmp_path) as kept:
        kept.process += 1
        assert sweep(abs, [-1]) == [1]
    assert not journal(tmp_path)


# --------------------------------------------------------------------------------------------- damage and full disks


def test_no_flipped_bit_gets_into_a_result(tmp_path: Path, counts: Path) -> None:
    with checkpoint(tmp_path):
        plain = quick(counts, 3)
    path = tmp_path / "journal.sqlite"
    whole = path.read_bytes()
    seen: Counter[str] = Counter()
    ends = whole.rfind(bytes(500))  # behind the last empty stretch are the rows
    for at in [*range(0, 100, 5), *range(100, ends, 500), *range(ends, len(whole), 9)]:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        counts.unlink(missing_ok=True)
        try:
            with warnings.catch_warnings(record=True, action="always") as told, checkpoint(tmp_path):
                assert same(quick(counts, 3), plain)
        except OSError as error:
            seen["refused", "without this file all runs start afresh" in str(error)] += 1
        else:
            seen["warned" if told else "silent", len(computed(counts))] += 1
    assert seen["warned", 1] > 20
    assert seen["refused", True] > 5
    assert not seen["refused", False]


def test_rows_of_another_sweep_are_not_taken(tmp_path: Path) -> None:
    with checkpoint(tmp_path):
        sweep(partial(held, 1), [0])
        sweep(partial(held, 2), [0])
    (one, two) = journal(tmp_path, "SELECT key, result, checksum FROM runs WHERE job = '0' ORDER BY result")
    journal(tmp_path, "UPDATE runs SET result = ?, checksum = ? WHERE key = ? AND job = '0'", *two[1:], one[0])
    with checkpoint(tmp_path), pytest.warns(UserWarning, match="a damaged row is left out; its job is run again"):
        assert sweep(partial(held, 1), [0]) == ["1"]


def test_a_full_disk_leaves_whole_rows(tmp_path: Path) -> None:
    with checkpoint(tmp_path) as kept:
        kept._do("PRAGMA max_page_count = 12")
        with pytest.raises(OSError, match=r"journal\.sqlite: database or disk is full$"):
            sweep(wide, range(20))
    assert 2 < len(journal(tmp_path)) < 20
    with checkpoint(tmp_path):
        assert same(sweep(wide, range(20)), [wide(job) for job in range(20)])


# ------------------------------------------------------------------------------------------------- killed processes


@pytest.mark.parametrize(("workers", "how"), [(1, signal.SIGKILL), (2, signal.SIGINT)])
def test_an_ended_sweep_goes_on_where_it_was(workers: int, how: int, tmp_path: Path, counts: Path) -> None:
    kept = tmp_path / "kept"
    command = [sys.executable, "-m", "tests.slow_runs", str(kept), str(counts), "60", str(workers)]
    running = subprocess.Popen(command, env=CALM, cwd=ROOT, stderr=subprocess.PIPE)
    while len(computed(counts)) < 20:
        assert running.poll() is None
        time.sleep(0.01)
    with pytest.raises(InvalidInput, match="folder must not be in use by another checkpoint"):
        checkpoint(kept).__enter__()
    running.send_signal(how)
    said = running.communicate()[1]
    assert running.returncode != 0
    assert (b"KeyboardInterrupt" in said) == (how == signal.SIGINT)
    before, stored = len(computed(counts)), len(journal(kept))
    assert 0 < stored <= before < 60
    assert workers > 1 or stored >= before - 1  # the run in flight
    go_on(counts)
    with checkpoint(kept):  # the lock died with the process
        resumed = table(counts, 60)
    assert len(computed(counts)) == before + 60 - stored
    assert set(computed(counts)) == set(range(60))
    assert resumed == table(tmp_path / "elsewhere", 60, 0)


# ------------------------------------------------------------------------------------------------------ the folder


def test_one_checkpoint_at_a_time_holds_a_folder(tmp_path: Path) -> None:
    with checkpoint(tmp_path), pytest.raises(InvalidInput, match="folder must not be in use"):
        checkpoint(tmp_path).__enter__()
    with checkpoint(tmp_path / "a"), checkpoint(tmp_path / "b"):
        sweep(inverse, [1])
    assert (len(journal(tmp_path / "a")), len(journal(tmp_path / "b"))) == (0, 1)
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        checkpoint(tmp_path / "file").__enter__()


def test_results_can_be_forgotten_and_those_of_the_past_are_pruned(
    my_runs: tuple[ModuleType, Path], tmp_path: Path
) -> None:
    with checkpoint(tmp_path / "kept") as kept:
        sweep(inverse, [1])
        sweep(my_runs[0].run, [1])
        kept.forget()
        sweep(inverse, [1])
        sweep(my_runs[0].run, [1, 2, 3])
        sweep(partial(dmfa_srq._grid, points=2), [5])
    here = Counter(key for key, _ in journal(tmp_path / "kept"))
    assert sorted(here.values()) == [1, 1, 3]
    with checkpoint(tmp_path / "kept") as kept:
        there = {"fairbook.model": results.source_hash("fairbook.model"), **sweeps._surroundings()}
        for key, change in {
            "equal": {},
            "old": {"version of numpy": "0.1"},
            "edited": {"fairbook.model": "0" * 16},
            "mine": {"not_here": "0"},
            "fewer": {"version of old": "1"},
        }.items():
            kept._write(key, "", sweeps.json.dumps(there | change))
            kept._write(key, "1", "1")
        kept.forget()  # nothing was used
        kept.prune()
    assert {key for key, _ in journal(tmp_path / "kept")} == {*here, "equal", "mine"}


# ------------------------------------------------------------------------------------------- processes and clusters


def small_tables() -> list[bytes]:
    """Make quick tables of two papers."""
    frames = (dmfa_srq.curves(6, sizes=(8,), points=2), gdrf.ablation(3, number=30))
    return [frame.to_csv(float_format="%r").encode() for frame in frames]


@pytest.fixture(scope="module")
def plain_tables() -> list[bytes]:
    return small_tables()


def test_processes_compute_the_same(plain_tables: list[bytes], tmp_path: Path) -> None:
    with joblib.parallel_config("loky", n_jobs=2), checkpoint(tmp_path):
        assert small_tables() == plain_tables
        assert set(sweep(partial(process, 0), range(3), workers=1)) == {os.getpid()}
    with checkpoint(tmp_path):  # from the journal
        assert small_tables() == plain_tables
    assert same(repeat(drawn, 9, seed=3, workers=2, size=2), repeat(drawn, 9, seed=3, size=2))
    with joblib.parallel_config("threading", n_jobs=2):
        assert sweep(lambda job: -job, range(9)) == [-job for job in range(9)]


def test_a_worker_that_would_compute_otherwise_refuses() -> None:
    here = sweeps._conditions(["fairbook.model", "tests.slow_runs"])
    assert sweeps._elsewhere(abs, 3, -1, sweeps.json.dumps(here)) == (3, 1)
    for name in here:
        with pytest.raises(StaleResult, match=rf"a worker on .* differs .* in {name} \(.*, not 0\)"):
            sweeps._elsewhere(abs, 3, -1, sweeps.json.dumps(here | {name: "0"}))


def test_bar_and_processes_are_extras(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep(abs, [1, 2], label="some label", progress=True) == [1, 2]
    assert "some label" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "joblib", None)
    assert sweep(abs, [1, 2], workers=1, progress=True) == sweep(abs, [-1, -2]) == [1, 2]
    assert not capsys.readouterr().err
    with pytest.raises(MissingDependency, match=r"pip install 'fairbook\[sweeps\]'"):
        sweep(abs, [1], workers=2)


#: The file of its scheduler, and its workers.
Cluster = tuple[Path, list[subprocess.Popen[bytes]]]


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start a scheduler and two workers, each a process, that speak over the loopback."""
    pytest.importorskip("distributed")
    folder = tmp_path_factory.mktemp("dask")
    file = folder / "scheduler.json"
    shared = ["--scheduler-file", str(file), "--host", "127.0.0.1", "--no-dashboard"]
    how: dict[str, Any] = {"env": CALM, "cwd": folder, "stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    modules = [[sys.executable, "-m", f"distributed.cli.dask_{name}", *shared] for name in ("scheduler", "worker")]
    scheduler = subprocess.Popen([*modules[0], "--port", "0"], **how)
    single = ["--nthreads", "1", "--no-nanny", "--local-directory", str(folder)]
    workers = [subprocess.Popen([*modules[1], *single], **how) for _ in range(2)]
    try:
        while not file.is_file():
            assert scheduler.poll() is None
            time.sleep(0.05)
        yield file, workers
    finally:
        for one in (*workers, scheduler):
            one.kill()  # a worker that is asked to end looks for its scheduler for half a minute
            one.wait()


@pytest.mark.slow
def test_a_cluster_computes_the_same_though_a_worker_dies(
    dask: Cluster, plain_tables: list[bytes], tmp_path: Path, counts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduler_file, workers = dask

    def kill() -> None:
        while len(computed(counts)) < 10:
            time.sleep(0.01)
        workers[0].kill()
        go_on(counts)

    with sweeps.cluster(scheduler_file) as client:
        client.wait_for_workers(2, timeout=600)
        assert small_tables() == plain_tables
        assert set(sweep(partial(process, 0.02), range(40))) == {worker.pid for worker in workers}
        with monkeypatch.context() as patch:
            patch.setattr(sweeps, "_surroundings", lambda: {"kind of processor": "another"})
            with pytest.raises(StaleResult, match=r"a worker on .* in kind of processor "):
                small_tables()
        killer = Thread(target=kill)
        killer.start()
        with checkpoint(tmp_path / "kept"):
            assert table(counts, 60) == table(tmp_path / "elsewhere", 60, 0)
        killer.join()
    assert workers[0].wait() == -signal.SIGKILL
    assert set(computed(counts)) == set(range(60))
    assert sweep(partial(process, 0), [0]) == [os.getpid()]


def test_a_scheduler_is_an_address_or_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    for scheduler in ("", "somewhere", "http://somewhere:1", "tcp://somewhere", "/no/such/file.json"):
        with pytest.raises(InvalidInput, match="scheduler must be an address such as"):
            sweeps.cluster(scheduler).__enter__()
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingDependency, match=r"fairbook\[cluster\]"):
        sweeps.cluster("tcp://127.0.0.1:1").__enter__()


# -------------------------------------------------------------------------------------------------- the command line


def test_an_interrupted_command_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("figures", "--paper", "dmfa_srq", "--only", "fig3", "--runs", "6", "--format", "csv", "--output")
    assert run(*arguments, tmp_path / "plain")[0] == 0
    real, seen = dmfa_srq._ranked, []

    def ranked(*args: Any, **how: Any) -> Any:
        if len(seen) == 3:
            raise KeyboardInterrupt
        seen.append(1)
        return real(*args, **how)

    ranked.__module__, ranked.__qualname__ = real.__module__, real.__qualname__
    kept = ("--checkpoint", tmp_path / "kept")
    with monkeypatch.context() as patch:
        patch.setattr(dmfa_srq, "_ranked", ranked)
        assert run(*arguments, tmp_path / "resumed", *kept)[0] == 130
    assert not list((tmp_path / "resumed").iterdir())
    assert len(journal(tmp_path / "kept")) == 3
    assert run(*arguments, tmp_path / "resumed", *kept, "--workers", "1")[0] == 0
    plain, resumed = (tmp_path / name / "dmfa_srq_fig3.csv" for name in ("plain", "resumed"))
    assert resumed.read_bytes() == plain.read_bytes()


def test_stored_results_are_kept_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counts: Path) -> None:
    files = {name: (tmp_path / f"{name}.csv", tmp_path / f"{name}.json") for name in "ab"}
    monkeypatch.setattr(results, "_files", lambda name: files[name])

    def compute(name: str) -> None:
        values = sweep(partial(counted, str(counts), 0), range(4), about={"name": name})
        if (tmp_path / "stop").exists() and name == "b":
            raise KeyboardInterrupt
        results.save(name, pd.DataFrame([v for _, v in values], columns=list("xyz")), module="fairbook.errors")

    monkeypatch.setattr(laboratory, "stored_results", lambda progress: {name: partial(compute, name) for name in files})
    kept = tmp_path / "kept"
    (tmp_path / "stop").touch()
    assert run("results", "--full", "--checkpoint", kept)[0] == 130
    assert len(journal(kept)) == 4  # of the table which is not stored
    (tmp_path / "stop").unlink()
    with checkpoint(kept) as past:
        past._write("past", "", sweeps.json.dumps({"version of numpy": "0.1"}))
    assert run("results", "--full", "--checkpoint", kept) == (0, "b: computed\na: fresh\nb: fresh\n", "")
    assert len(computed(counts)) == 8
    assert not journal(kept, "SELECT * FROM runs")


def test_wrong_ways_to_run(tmp_path: Path) -> None:
    for flag, value in (("--workers", "2"), ("--scheduler", "tcp://a:1"), ("--checkpoint", ""), ("--checkpoint", ".")):
        assert f"{flag} goes with --full" in refused(run("results", flag, value))
    figures = ("figures", "--paper", "dmfa_srq", "--only", "fig5", "--runs", "1", "--output", tmp_path)
    assert "exclude each other" in refused(run(*figures, "--workers", "2", "--scheduler", "tcp://127.0.0.1:1"))
    assert "at least 1" in refused(run(*figures, "--workers", "0"))
    assert "File exists" in refused(run(*figures, "--checkpoint", Path(__file__)))
