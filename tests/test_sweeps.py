"""Sweeps: the same results wherever they are computed, and nothing lost or done twice after an interruption."""

from __future__ import annotations

import errno
import importlib
import linecache
import math
import operator
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from joblib import parallel_config

from book.dmfa_srq import studies as dmfa_srq
from book.gdrf import studies as gdrf
from fairbook import results, sweeps
from fairbook.errors import InvalidInput, MissingDependency, StaleResult
from fairbook.sweeps import checkpoint, decode, encode, sweep
from tests.commands import refused, runner
from tests.slow_runs import computed, counted, go_on, process, table
from tests.strategies import FEW, REPEATABLE

ROOT = Path(__file__).resolve().parents[1]
CALM = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}


def same(a: Any, b: Any) -> bool:
    """Compare type by type and bit by bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b)
    if isinstance(a, (np.ndarray, np.generic)):
        order = not isinstance(a, np.ndarray) or a.flags.c_contiguous == b.flags.c_contiguous
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes() and order
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return same(list(a.items()), list(b.items()))
    return bool(a == b)


# ------------------------------------------------------------------------------------------------------- encoding

DTYPES = st.one_of(hnp.boolean_dtypes(), hnp.integer_dtypes(endianness="?"), hnp.floating_dtypes(endianness="?"),
                   hnp.complex_number_dtypes(), hnp.datetime64_dtypes(), hnp.unicode_string_dtypes(max_len=4),
                   hnp.byte_string_dtypes(max_len=4))
ARRAYS = hnp.arrays(DTYPES, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), ARRAYS,
                   ARRAYS.map(np.asfortranarray), ARRAYS.filter(lambda a: a.size).map(lambda a: a.flat[0]))
VALUES = st.recursive(LEAVES, lambda inner: st.one_of(
    st.lists(inner, max_size=3), st.lists(inner, max_size=3).map(tuple),
    st.dictionaries(st.one_of(st.text(max_size=3), st.integers(), st.tuples(st.integers())), inner, max_size=3)))


@REPEATABLE
@given(VALUES)
def test_what_is_written_is_read_back_to_the_last_bit(value: Any) -> None:
    text = encode(value)
    assert text.isascii()
    assert "\n" not in text
    assert same(decode(text), value)


@pytest.mark.parametrize("value", [
    -0.0, math.nan, -math.inf, 5e-324, 0.1, 2**63, -(10**5000), "\ud800 \N{SNOWMAN}\n\0", np.float64(0.1), np.int8(-1),
    np.str_("a"), np.bool_(True), np.datetime64("NaT", "us"), np.zeros((0, 3)), np.array(2.0),
    np.zeros((2, 0), dtype="<U0"), {1: "a", "1": "b", (1, None): [{}]}, [True, 1, 1.0], np.str_(""),
    struct.unpack("d", b"\1\0\0\0\0\0\xf8\xff")[0],
], ids=lambda value: type(value).__name__)
def test_values_that_other_encodings_lose(value: Any) -> None:
    assert same(decode(encode(value)), value)


@pytest.mark.parametrize("frame", [
    pd.DataFrame({"a": [1, 2], "b": [0.1, math.nan], "c": ["x", None], "d": [True, False]}),
    pd.DataFrame({"a": np.array([1, 2], dtype="int8")}, index=pd.Index(["u", "v"], name="user")),
    pd.DataFrame([[1, 2.0, "x"]], columns=["same", "same", 3], dtype=object),
    pd.DataFrame({"when": pd.to_datetime(["2011-05-01", None])}, index=[3, 1]),
    pd.DataFrame(index=range(5, 9, 2)), pd.DataFrame(), pd.DataFrame({"none": pd.Series([], dtype=str)}),
    pd.DataFrame({"mixed": pd.Series([None, "x", 1.5, (1, 2)], dtype=object)}),
], ids=range(8))
def test_frames_are_read_back_as_they_were(frame: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(decode(encode(frame)), frame, check_exact=True, check_column_type=True)
    for name in dict.fromkeys(frame.columns):
        part = frame[name] if isinstance(frame[name], pd.Series) else frame[name].iloc[:, 0]
        pd.testing.assert_series_equal(decode(encode(part)), part, check_exact=True)


def test_arrays_that_were_read_can_be_written_to() -> None:
    decode(encode(np.arange(3)))[0] = 7


class Named(NamedTuple):
    x: int


class Text(str):
    pass


class Pickled:
    """What would run a command if anything ever unpickled it."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return os.system, ("exit 1",)


@pytest.mark.parametrize("value", [
    Named(1), Text("a"), object(), Pickled(), {1, 2}, range(3), np.array([Pickled()]), abs, np.ma.masked_array([1]),
    np.zeros(1, dtype="i4,f4"), pd.DataFrame({"a": pd.Categorical(["x"])}), pd.Series([1], dtype="Int64"),
    pd.DataFrame({"a": [1]}, index=pd.MultiIndex.from_tuples([(1, 2)])), pd.Series([Pickled()]), pd.Timestamp(0),
    pd.Series([1.0], index=pd.date_range("2011", periods=1)),
], ids=lambda v: type(v).__name__)
def test_what_is_no_plain_data_is_refused_by_name(value: Any) -> None:
    for nested in (value, [{"a": (value,)}]):
        with pytest.raises(InvalidInput, match="must be made of None, bool"):
            encode(nested)


@pytest.mark.parametrize("text", [
    "", "{", "{}", '{"tuple":1}', '{"a":1,"b":2}', '{"pickle":"gASVAAA="}', '{"array":["|O","C",[1],"AAAAAAAAAAA="]}',
    '{"array":["<f8","C",[9999999999],"AAAAAAAAAAA="]}', '{"array":["<f8","C",[-1,-1],"AAAAAAAAAAA="]}',
    '{"array":["<f8","Q",[1],"AAAAAAAAAAA="]}', '{"scalar":["<f8","AAA"]}', '{"float":"00"}', '{"int":"x"}',
    '{"dict":[[[],1]]}', '{"frame":[1,2,3]}', '{"series":[null,[null,[0,1,0]],[{"python":[]}]]}', "[" * 100_000,
    '{"frame":[[null,[0,1,1]],[null,[0,9,1]],[{"array":["<i8","C",[1],"AAAAAAAAAAA="]}]]}',
])
def test_what_nobody_wrote_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="must be what encode"):
        decode(text)


@FEW
@given(VALUES, st.data())
def test_a_changed_text_is_read_or_refused_and_never_executed(value: Any, data: st.DataObject) -> None:
    raw = bytearray(encode(value).encode())
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(32, 126))
    with suppress(InvalidInput):
        decode(bytes(raw))


# -------------------------------------------------------------------------------------------------------- resuming


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    return tmp_path / "counts"


def quick(counts: Path, jobs: int) -> list[Any]:
    return sweep(partial(counted, str(counts), 0), range(jobs))


def journal(folder: Path) -> Path:
    (found,) = folder.glob("*.journal")
    return found


def test_only_what_is_missing_is_computed(tmp_path: Path, counts: Path) -> None:
    plain = quick(tmp_path / "elsewhere", 6)
    with checkpoint(tmp_path / "kept"):
        assert same(quick(counts, 3), plain[:3])
    with checkpoint(tmp_path / "kept"):
        assert same(quick(counts, 6), plain)  # more runs: the first ones are there
        assert same(quick(counts, 2), plain[:2])
    assert computed(counts) == list(range(6))
    quick(counts, 1)  # outside of it nothing is kept or taken
    assert computed(counts) == [*range(6), 0]


def test_results_come_in_the_order_of_the_jobs(tmp_path: Path) -> None:
    with checkpoint(tmp_path):
        assert sweep(abs, [-3]) == [3]
        assert sweep(abs, [-1, 2, -3, 2, -4.0]) == [1, 2, 3, 2, 4.0]
        assert sweep(abs, []) == []


def test_an_error_passes_and_costs_only_its_run(tmp_path: Path) -> None:
    with checkpoint(tmp_path):
        with pytest.raises(ZeroDivisionError):
            sweep(partial(operator.floordiv, 12), [1, 2, 0, 3])
        assert len(journal(tmp_path).read_bytes().splitlines()) == 1 + 2
        assert sweep(partial(operator.floordiv, 12), [1, 2, 3]) == [12, 6, 4]


def test_a_journal_is_for_one_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def keys(*changes: tuple[Any, ...]) -> int:
        """Count the journals after sweeps of these calls, each twice."""
        before = len(list(tmp_path.glob("*.journal")))
        with checkpoint(tmp_path):
            for call, about in (*changes, *changes):
                sweep(call, [1], about=about)
        return len(list(tmp_path.glob("*.journal"))) - before

    array = np.arange(3.0)
    assert keys((partial(np.dot, array), {}), (partial(np.dot, array.astype("f4")), {}),
                (partial(np.dot, array[::-1]), {}), (partial(np.dot, array[None]), {})) == 4
    assert keys((abs, {"seed": 1}), (abs, {"seed": 2}), (abs, {"seed": 1.0}), (abs, {"seed": (1,)}), (abs, None)) == 5
    assert keys(*((lambda job, held=held: held, {}) for held in (1, 2))) == 2
    assert keys(*((partial(max, held), {}) for held in (1, 2)), (partial(min, 1), {})) == 3
    assert keys((lambda job: job, {}), (lambda job: -job, {})) == 2  # on one line
    assert keys(*((held.__getitem__, {}) for held in ([1, 2], [1, 3], {1: 2}))) == 3
    assert keys(*((partial(np.dot, held), {}) for held in (np.eye(2), np.asfortranarray(np.eye(2))))) == 2
    rng = np.random.default_rng(1)
    assert keys((abs, {"rng": rng})) == 1
    rng.random()
    assert keys((abs, {"rng": rng})) == 1
    study = partial(dmfa_srq._grid, points=2)
    assert keys((study, {})) == 1
    for name, other in (("source_hash", lambda module: "0" * 16), ("version", lambda package: "0"),
                        ("_hash_of_files", lambda folder, pattern: "0")):
        with monkeypatch.context() as patch:
            sweeps._conditions.cache_clear()
            patch.setattr(sweeps, name, other)
            assert keys((study, {})) == 1
    sweeps._conditions.cache_clear()
    assert keys((study, {})) == 0


@dataclass
class Setting:
    rate: float
    call: Callable[..., Any] = max


def test_arguments_that_are_no_plain_data_count_by_what_they_hold(tmp_path: Path) -> None:
    with checkpoint(tmp_path):
        for rate in (1.0, 2.0, 1.0):
            sweep(abs, [1], about={"setting": Setting(rate), "named": Named(3), "set": {"b", "a"}})
        assert len(list(tmp_path.glob("*.journal"))) == 2
        masked = np.ma.masked_array([1, 2], [True, False])
        for bad in (object(), iter([1]), [[print, {"x": object()}]], masked, np.frompyfunc(abs, 1, 1)):
            with pytest.raises(InvalidInput, match=r"about.*must be plain data, a function or a dataclass"):
                sweep(abs, [1], about={"bad": bad})
        loop: list[Any] = []
        loop.append(loop)
        with pytest.raises(InvalidInput, match="contains itself"):
            sweep(abs, [1], about={"loop": loop})


def test_an_edited_function_is_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    source = tmp_path / "my_runs.py"
    source.write_text("def run(job):\n    return job + 1\n")
    module = importlib.import_module("my_runs")
    with checkpoint(tmp_path / "kept"):
        assert sweep(module.run, [1]) == [2]
        source.write_text("def run(job):\n    return job + 100\n")
        with pytest.raises(StaleResult, match=r"my_runs\.py changed after this process had read it"):
            sweep(module.run, [1])
        assert sweep(importlib.reload(module).run, [1]) == [101]


def test_sources_edited_under_a_running_process_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweeps._conditions.cache_clear()
    monkeypatch.setattr(results, "_STARTED", 0.0)
    with checkpoint(tmp_path):
        with pytest.raises(StaleResult, match=r"fairbook\.studies\.dmfa_srq.* start it again"):
            sweep(partial(dmfa_srq._grid, points=2), [5])
        with pytest.raises(StaleResult, match=r"fairbook/model\.py.* start it again"):
            sweep(lambda job: job, [5])  # which may call anything
    sweeps._conditions.cache_clear()


def test_a_function_of_a_notebook_counts_with_those_it_calls(tmp_path: Path) -> None:
    def typed(*cells: str) -> Callable[[int], int]:
        space: dict[str, Any] = {"__name__": "a_notebook"}
        for text in cells:
            name = f"<cell {hash(text)}>"
            linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
            exec(compile(text, name, "exec"), space)
        run: Callable[[int], int] = space["run"]
        return run

    run, rate = "def run(job):\n    return [job * f() for f in (rate,)][0]\n", "def rate():\n    return %d\n"
    with checkpoint(tmp_path):
        assert [sweep(typed(run, rate % n), [5]) for n in (2, 3, 2)] == [[10], [15], [10]]
    assert len(list(tmp_path.glob("*.journal"))) == 2


def test_a_worker_compares_the_files_of_other_functions() -> None:
    sources = sweeps._other_sources(("tests.slow_runs", "fairbook.model", "nowhere"))
    assert list(sources) == ["source of tests.slow_runs"]
    modules = ("tests.slow_runs", "nowhere")
    held = (*sources.items(), ("source of nowhere", "0"))  # what is not loaded there came with its source
    assert sweeps._elsewhere(abs, 3, -1, (modules, (), held)) == (3, 1)
    with pytest.raises(StaleResult, match=r"differs .* in source of tests\.slow_runs"):
        sweeps._elsewhere(abs, 3, -1, (modules, (), (("source of tests.slow_runs", "0"),)))


def test_a_forked_child_keeps_out_of_the_journals(tmp_path: Path) -> None:
    with checkpoint(tmp_path) as kept:
        kept.process += 1
        assert sweep(abs, [-1]) == [1]
        assert not list(tmp_path.glob("*.journal"))


# --------------------------------------------------------------------------------------------- damage and full disks


def test_a_torn_end_costs_the_run_it_belongs_to(tmp_path: Path, counts: Path) -> None:
    with checkpoint(tmp_path):
        plain = quick(counts, 3)
    whole = journal(tmp_path).read_bytes()
    lines = whole.splitlines(keepends=True)
    for cut in range(len(whole) - len(lines[-1]), len(whole)):
        journal(tmp_path).write_bytes(whole[:cut])
        counts.unlink()
        with checkpoint(tmp_path):
            assert same(quick(counts, 3), plain)
        assert computed(counts) == [2]
        assert journal(tmp_path).read_bytes() == whole


def test_no_flipped_bit_gets_into_a_result(tmp_path: Path, counts: Path) -> None:
    with checkpoint(tmp_path):
        plain = quick(counts, 2)
    path = journal(tmp_path)
    whole = path.read_bytes()
    ends = [at for at, byte in enumerate(whole) if byte == ord("\n")]
    for at in range(0, len(whole), 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        counts.unlink(missing_ok=True)
        with checkpoint(tmp_path):
            if at < ends[-1]:
                with pytest.warns(UserWarning, match="damaged lines are left out"):
                    assert same(quick(counts, 2), plain)
            else:
                assert same(quick(counts, 2), plain)
        lines_lost = [k for k in (0, 1) if ends[k] <= at <= ends[k + 1]]
        assert set(computed(counts)) <= set(lines_lost)
        assert computed(counts) or at < ends[0]


def test_lines_of_another_journal_are_not_taken(tmp_path: Path) -> None:
    with checkpoint(tmp_path):
        sweep(abs, [-1])
        foreign = journal(tmp_path)
        sweep(operator.neg, [-1, 2])
    (own,) = set(tmp_path.glob("*.journal")) - {foreign}
    own.write_bytes(foreign.read_bytes())
    with checkpoint(tmp_path), pytest.warns(UserWarning, match="2 damaged lines"):
        assert sweep(operator.neg, [-1, 2]) == [1, -2]


def test_a_full_disk_leaves_whole_lines(tmp_path: Path, counts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(handle: int, content: bytes, real: Callable[[int, bytes], int] = os.write) -> int:
        if len(computed(counts)) == 3 and b"journal" not in content and b"result" in content:
            real(handle, content[:20])
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(handle, content)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        with checkpoint(tmp_path), pytest.raises(OSError, match="No space left"):
            quick(counts, 5)
    assert len(journal(tmp_path).read_bytes().splitlines()) == 1 + 2
    assert journal(tmp_path).read_bytes().endswith(b"\n")
    with checkpoint(tmp_path):
        quick(counts, 5)
    assert computed(counts) == [0, 1, 2, 2, 3, 4]


# ------------------------------------------------------------------------------------------------- killed processes


def started(tmp_path: Path, workers: int) -> subprocess.Popen[bytes]:
    """Start a process with a sweep of 60 jobs, and wait until some of them are in its journal."""
    arguments = [str(tmp_path / "kept"), str(tmp_path / "counts"), "60", str(workers)]
    command = [sys.executable, "-m", "tests.slow_runs", *arguments]
    process = subprocess.Popen(command, env=CALM, cwd=ROOT, stderr=subprocess.PIPE)
    while not any(path.read_bytes().count(b"\n") > 5 for path in (tmp_path / "kept").glob("*.journal")):
        assert process.poll() is None, process.stderr and process.stderr.read().decode()
        time.sleep(0.01)
    return process


def test_a_killed_sweep_goes_on_where_it_was(tmp_path: Path, counts: Path) -> None:
    kept = tmp_path / "kept"
    process = started(tmp_path, 1)
    with pytest.raises(InvalidInput, match=f"folder must not be in use, as it is by process {process.pid} on "):
        checkpoint(kept).__enter__()
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    before = len(computed(counts))
    go_on(counts)
    with checkpoint(kept):  # the lock died with the process
        held = journal(kept).read_bytes()
        resumed = table(counts, 60)
    whole = held.count(b"\n") - 1
    assert 5 <= whole <= before < 60
    assert before - whole <= 1  # the run in flight
    assert len(computed(counts)) == before + 60 - whole
    assert sorted(set(computed(counts))) == list(range(60))
    assert resumed == table(tmp_path / "elsewhere", 60, 0)


def test_an_interrupted_sweep_over_processes_goes_on(tmp_path: Path, counts: Path) -> None:
    kept = tmp_path / "kept"
    process = started(tmp_path, 2)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode not in (0, -signal.SIGKILL)
    assert b"KeyboardInterrupt" in said
    held = journal(kept).read_bytes()
    assert held.endswith(b"\n")
    before = len(computed(counts))
    go_on(counts)
    with checkpoint(kept):
        resumed = table(counts, 60)
    assert len(computed(counts)) == before + 60 - (held.count(b"\n") - 1)
    assert resumed == table(tmp_path / "elsewhere", 60, 0)


# ------------------------------------------------------------------------------------------------------ the folder


def test_one_checkpoint_at_a_time_holds_a_folder(tmp_path: Path) -> None:
    with checkpoint(tmp_path), pytest.raises(InvalidInput, match=f"in use, as it is by process {os.getpid()} on"):
        checkpoint(tmp_path).__enter__()
    with checkpoint(tmp_path / "a"), checkpoint(tmp_path / "b"):
        sweep(abs, [1])
    assert not list(tmp_path.glob("a/*.journal"))
    assert list(tmp_path.glob("b/*.journal"))


@pytest.mark.parametrize("name", ["", "file"])
def test_a_checkpoint_needs_a_folder(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput, match="folder must be a folder"):
        checkpoint(name and tmp_path / name).__enter__()


def test_journals_can_be_forgotten(tmp_path: Path) -> None:
    (tmp_path / "mine.journal").touch()
    with checkpoint(tmp_path):
        sweep(abs, [1])
    with checkpoint(tmp_path) as kept:
        sweep(abs, [2], about={"v": 2})
        kept.forget()
        assert len(list(tmp_path.glob("*.journal"))) == 1 + 1
        assert sweep(abs, [-2], about={"v": 2}) == [2]
        kept.clear()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["lock", "mine.journal"]


def test_sweeps_in_threads_and_within_sweeps_share_a_journal(tmp_path: Path, counts: Path) -> None:
    def factorial(n: int) -> int:
        return n * sweep(factorial, [n - 1])[0] if n else 1

    with checkpoint(tmp_path):
        assert sweep(factorial, [6]) == [720]
        assert len(list(tmp_path.glob("*.journal"))) == 1
        threads = [Thread(target=copy_context().run, args=(quick, counts, 40)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with checkpoint(tmp_path):
        before = len(computed(counts))
        quick(counts, 40)
        assert len(computed(counts)) == before


# ----------------------------------------------------------------------------------------------------- bad arguments


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "2"])
def test_workers_are_a_positive_number(workers: Any) -> None:
    with pytest.raises(InvalidInput, match="workers must be a whole number of at least 1"):
        sweep(abs, [1], workers=workers)


def test_what_cannot_be_kept_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="call must be callable"):
        sweep(3, [1])  # type: ignore[arg-type]
    assert sweep(iter, [[1]])[0]  # no checkpoint, no rule
    with checkpoint(tmp_path):
        with pytest.raises(InvalidInput, match=r"the result of jobs\[1\] must be made of .* got 'set'"):
            sweep(lambda job: job and {job}, [0, 1])
        with pytest.raises(InvalidInput, match=r"jobs\[1\] must be made of .* got 'object'"):
            sweep(id, [0, object()])
        with pytest.raises(InvalidInput, match="call must be a function whose source can be read"):
            sweep(eval("lambda job: job", {"__name__": "nowhere"}), [0])


def test_the_bar_moves_as_results_come_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[Any] = []

    class Bar:
        def __init__(self, **how: Any) -> None:
            seen.append(how)

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def update(self) -> None:
            seen.append("moved")

    monkeypatch.setattr(sweeps, "tqdm", Bar)
    with checkpoint(tmp_path):
        sweep(abs, [1], label="x")
        sweep(abs, [1, 2], label="x", progress=True)
    first, second = ({"total": n, "initial": n - 1, "desc": "x", "disable": n == 1, "leave": False} for n in (1, 2))
    assert seen == [first, "moved", second, "moved"]


# ------------------------------------------------------------------------------------------- processes and clusters


def small_tables() -> list[bytes]:
    """Make quick tables of two papers."""
    frames = (dmfa_srq.curves(6, sizes=(8,), points=2), gdrf.ablation(3, number=30))
    return [frame.to_csv(float_format="%r").encode() for frame in frames]


@pytest.fixture(scope="module")
def plain_tables() -> list[bytes]:
    return small_tables()


def test_processes_compute_the_same(plain_tables: list[bytes], tmp_path: Path) -> None:
    with parallel_config("loky", n_jobs=2), checkpoint(tmp_path):
        assert small_tables() == plain_tables
    with checkpoint(tmp_path):  # from the journals
        assert small_tables() == plain_tables


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # from Python 3.12 on, where there are threads
@pytest.mark.parametrize("backend", ["threading", "multiprocessing"])
def test_other_backends_compute_the_same(backend: str) -> None:
    with parallel_config(backend, n_jobs=2):
        assert sweep(math.sqrt, range(9)) == [math.sqrt(job) for job in range(9)]


@dataclass
class Cluster:
    """A scheduler and two workers, each a process, that speak over the loopback."""

    scheduler_file: Path
    workers: list[subprocess.Popen[bytes]]


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
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
        yield Cluster(file, workers)
    finally:
        for one in (*workers, scheduler):
            one.kill()  # a worker that is asked to end looks for its scheduler for half a minute
            one.wait()


@pytest.mark.slow
def test_a_cluster_computes_the_same(dask: Cluster, plain_tables: list[bytes], tmp_path: Path, counts: Path) -> None:
    with sweeps.cluster(dask.scheduler_file) as client:
        client.wait_for_workers(2, timeout=600)
        assert small_tables() == plain_tables
        kept = tmp_path / "kept"
        with checkpoint(kept):
            quick(counts, 10)
        with checkpoint(kept):
            assert same(quick(counts, 20), quick(tmp_path / "elsewhere", 20))
        assert sorted(computed(counts)) == list(range(20))
        assert sweep(counted, [], workers=2) == []
        pids = set(sweep(partial(process, 0.02), range(40)))
        assert pids == {worker.pid for worker in dask.workers}
        assert set(sweep(partial(process, 0), range(3), workers=1)) == {os.getpid()}
    assert sweep(partial(process, 0), [0]) == [os.getpid()]


@pytest.mark.slow
def test_a_worker_that_would_compute_otherwise_is_refused(dask: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    real = sweeps._conditions
    monkeypatch.setattr(sweeps, "_conditions", lambda modules: {**real(modules), "numpy": "1.0"})
    refusal = pytest.raises(StaleResult, match=r"a worker on .* differs .* in numpy \(.*, not 1\.0\)")
    with sweeps.cluster(str(dask.scheduler_file)), refusal:
        small_tables()


@pytest.mark.slow
def test_a_worker_that_dies_costs_nothing(dask: Cluster, tmp_path: Path, counts: Path) -> None:
    """Comes last: it leaves one worker."""
    with sweeps.cluster(dask.scheduler_file), checkpoint(tmp_path / "kept"):
        def kill() -> None:
            while len(computed(counts)) < 10:
                time.sleep(0.01)
            dask.workers[0].kill()
            go_on(counts)

        killer = Thread(target=kill)
        killer.start()
        assert table(counts, 60) == table(tmp_path / "elsewhere", 60, 0)
        killer.join()
        assert dask.workers[0].wait() == -signal.SIGKILL
    assert set(computed(counts)) == set(range(60))


@pytest.mark.parametrize("scheduler", ["", "somewhere", "http://somewhere:1", "tcp://somewhere", "/no/such/file.json"])
def test_a_scheduler_is_an_address_or_a_file(scheduler: str) -> None:
    with pytest.raises(InvalidInput, match="scheduler must be an address such as"):
        sweeps.cluster(scheduler).__enter__()


def test_a_cluster_needs_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingDependency, match=r"fairbook\[cluster\]"):
        sweeps.cluster("tcp://127.0.0.1:1").__enter__()


# -------------------------------------------------------------------------------------------------- the command line


def test_an_interrupted_command_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = runner(capsys)
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
    assert journal(tmp_path / "kept").read_bytes().count(b"\n") == 1 + 3
    assert run(*arguments, tmp_path / "resumed", *kept, "--workers", "1")[0] == 0
    plain, resumed = (tmp_path / name / "dmfa_srq_fig3.csv" for name in ("plain", "resumed"))
    assert resumed.read_bytes() == plain.read_bytes()


def test_stored_results_are_kept_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, counts: Path
) -> None:
    files = {name: (tmp_path / f"{name}.csv", tmp_path / f"{name}.json") for name in "ab"}
    monkeypatch.setattr(results, "files", lambda name: files[name])

    def compute(name: str) -> None:
        values = sweep(partial(counted, str(counts), 0), range(4), about={"name": name})
        if (tmp_path / "stop").exists() and name == "b":
            raise KeyboardInterrupt
        results.save(name, pd.DataFrame([v for _, v in values], columns=list("xyz")), module="fairbook.errors")

    monkeypatch.setattr(results, "stored_results", lambda progress: {name: partial(compute, name) for name in files})
    run, kept = runner(capsys), tmp_path / "kept"
    (tmp_path / "stop").touch()
    assert run("results", "--full", "--checkpoint", kept)[0] == 130
    assert len(list(kept.glob("*.journal"))) == 1  # that of the table which is not stored
    (tmp_path / "stop").unlink()
    heads = [{}, {"numpy": "0.1"}, {"source of fairbook.model": "0" * 16}, {"source of fairbook.gone": "0" * 16}]
    heads.append({"source of fairbook.model": results.source_hash("fairbook.model"), "source of my_runs": "0"})
    for n, head in enumerate(heads):
        sweeps._Journal(kept / f"{n:032x}.journal", f"{n:032x}", head).close()
    (kept / f"{0:032x}.journal").write_bytes(b"")  # the others are of sources that are gone, but for the last one
    assert run("results", "--full", "--checkpoint", kept) == (0, "b: computed\na: fresh\nb: fresh\n", "")
    assert len(computed(counts)) == 8
    assert sorted(path.name for path in kept.iterdir()) == [f"{4:032x}.journal", "lock"]


def test_wrong_ways_to_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = runner(capsys)
    for flag, value in (("--workers", "2"), ("--scheduler", "tcp://a:1"), ("--checkpoint", ""), ("--checkpoint", ".")):
        assert f"{flag} goes with --full" in refused(run("results", flag, value))
    figures = ("figures", "--paper", "dmfa_srq", "--only", "fig5", "--runs", "1", "--output", tmp_path)
    assert "exclude each other" in refused(run(*figures, "--workers", "2", "--scheduler", "tcp://127.0.0.1:1"))
    assert "scheduler must be an address" in refused(run(*figures, "--scheduler", "nowhere"))
    assert "at least 1" in refused(run(*figures, "--workers", "0"))
    assert "folder must be a folder" in refused(run(*figures, "--checkpoint", Path(__file__)))
