"""Sweeps: the same results wherever they are computed; what is stored is kept where an interruption ends the rest."""

import os
import pickle
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError

import fairbook as fb
from book import __main__ as laboratory
from book.common import results
from book.gdrf import studies as gdrf
from fairbook.errors import InvalidInput, MissingDependency
from fairbook.progress import bar
from fairbook.sweeps import sweep
from tests.commands import refused, run_laboratory as run


def process(job: int) -> int:
    return os.getpid()


def test_processes_compute_the_same() -> None:
    plain = gdrf.ablation(3, number=30)
    with joblib.parallel_config("loky", n_jobs=2):
        pd.testing.assert_frame_equal(gdrf.ablation(3, number=30), plain)
        assert os.getpid() not in sweep(process, range(3))
        assert set(sweep(process, range(3), workers=1)) == {os.getpid()}
    for workers in (1, 2):
        with pytest.raises(ZeroDivisionError):
            sweep(partial(divmod, 1), [1, 0, 2], workers=workers)


def dominant(job: int) -> Any:
    return fb.drf(np.random.default_rng(job).random((5, 2))).tasks


def test_all_backends_give_the_same_bytes(tmp_path: Path) -> None:
    found = []
    for backend in ("loky", "threading", None):
        kept = tmp_path / str(backend)
        with joblib.parallel_config(backend or "loky", n_jobs=2 if backend else 1):
            results = sweep(dominant, range(12), keep=kept)
        found.append((pickle.dumps(results), {path.name: path.read_bytes() for path in kept.iterdir()}))
        assert len(found[0][1]) == 12
    assert found.count(found[0]) == 3


def mortal(folder: Path, job: int) -> int:
    """Write down that a job was begun; the seventh, the first time, ends its process when three have ended."""
    begun = folder / f"{job}-{os.getpid()}"
    killed = job == 6 and not list(folder.glob("6-*"))
    begun.touch()
    while killed:
        if len(list((folder / "kept").glob("*.pickle"))) >= 3:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.01)
    return job * job


def test_a_killed_worker_loses_nothing_that_was_finished(tmp_path: Path) -> None:
    call, jobs, kept = partial(mortal, tmp_path), range(12), tmp_path / "kept"
    with pytest.raises(TerminatedWorkerError):
        sweep(call, jobs, workers=2, keep=kept)
    before = len(list(kept.glob("*.pickle")))
    assert 3 <= before < 12
    begun = len(list(tmp_path.glob("*-*")))
    assert sweep(call, jobs, workers=1, keep=kept) == [job * job for job in jobs]
    assert len(list(tmp_path.glob("*-*"))) - begun == 12 - before
    assert sweep(call, jobs, workers=1, keep=str(kept)) == [job * job for job in jobs]
    assert len(list(tmp_path.glob("*-*"))) - begun == 12 - before
    with pytest.raises(InvalidInput, match=r"^call must be importable by name"):
        sweep(lambda job: job, jobs, keep=kept)


def test_bar_and_processes_are_extras(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep(abs, [1, 2], label="some label", progress=True) == [1, 2]
    assert "some label" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "joblib", None)
    assert sweep(abs, [1, 2], workers=1, progress=True) == sweep(abs, [-1, -2]) == [1, 2]
    assert not capsys.readouterr().err  # it was not long
    monkeypatch.setattr("fairbook.progress.LONG", 0.2)
    with bar(shown=True, desc="a first step that takes long", unit=" tasks"):
        time.sleep(0.5)
    assert capsys.readouterr().err == "a first step that takes long: 0 tasks\n"
    monkeypatch.setattr("fairbook.progress.LONG", 0.0)
    assert sweep(abs, [1, 2], label="some label", progress=True) == sweep(abs, [-1, -2]) == [1, 2]
    told = capsys.readouterr().err.splitlines()  # the clock may come first
    assert {"some label: 1 done", "some label: 2 done"} <= set(told) <= {f"some label: {k} done" for k in range(3)}
    with pytest.raises(MissingDependency, match=r"pip install 'fairbook\[sweeps\]'"):
        sweep(abs, [1], workers=2)


@pytest.mark.parametrize("bad", [{"workers": 0}, {"workers": 1.5}, {"workers": True}, {"progress": "yes"}])
def test_bad_arguments(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=f"^{next(iter(bad))} "):
        sweep(**{"call": abs, "jobs": [1], **bad})


def test_stored_tables_are_the_steps_that_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "_files", lambda name: (tmp_path / f"{name}.csv", tmp_path / f"{name}.json"))
    computed = list[str]()

    def compute(name: str) -> None:
        computed.append(name)
        if computed == ["a", "b"]:
            raise KeyboardInterrupt
        results.save(name, pd.DataFrame({"x": sweep(abs, range(4))}), module="fairbook.errors")

    monkeypatch.setattr(laboratory, "stored_results", lambda progress: {name: partial(compute, name) for name in "ab"})
    assert run("results", "--full")[0] == 130
    assert run("results", "--full", "--workers", "2") == (0, "b: computed\na: fresh\nb: fresh\n", "")
    assert "--workers goes with --full" in refused(run("results", "--workers", "2"))
