"""Runs that say in a file that they were computed, for the checks of sweeps; also the process that is killed amid them.

python -m tests.slow_runs FOLDER COUNTS JOBS WORKERS
"""

import os
import signal
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from joblib import parallel_config

from fairbook import sweeps

SECONDS = 0.02
#: From this job on slow runs wait for a sign, so that a sweep does not end before somebody has come to kill it.
WAITS = 30


def go_on(counts: Path) -> None:
    """Let the jobs that wait go on."""
    counts.with_suffix(".go").touch()


def counted(counts: str, seconds: float, job: int) -> tuple[int, np.ndarray]:
    """Draw three numbers of the job's own stream, slowly, and say so."""
    time.sleep(seconds)
    late = time.monotonic() + 300  # nobody waits for ever
    while seconds and job >= WAITS and not Path(counts).with_suffix(".go").exists() and time.monotonic() < late:
        time.sleep(seconds)
    with open(counts, "a") as file:
        file.write(f"{job}\n")
    return job, np.random.default_rng([7, job]).normal(size=3)


def process(seconds: float, job: int) -> int:
    """Tell which process computes."""
    time.sleep(seconds)
    return os.getpid()


def computed(counts: Path) -> list[int]:
    """List the jobs that were computed, in order."""
    return [int(line) for line in counts.read_text().split()] if counts.exists() else []


def table(counts: Path, jobs: int, seconds: float = SECONDS) -> bytes:
    """Make a table of runs and write it out to the last bit."""
    return sweeps.encode(sweeps.sweep(partial(counted, str(counts), seconds), range(jobs))).encode()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background may ignore it
    folder, counts, jobs, workers = sys.argv[1:]
    from tests.slow_runs import table as same  # under the name that those who go on see

    with sweeps.checkpoint(folder), parallel_config("loky", n_jobs=int(workers)):
        same(Path(counts), int(jobs))
