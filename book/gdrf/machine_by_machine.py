"""Machines one by one: what keeps a further task off them, whether users are together, how evenly memory is used."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from book.gdrf.cells import MECHANISMS, SEED, drawn, place, run_all
from fairbook.model.inputs import FloatArray
from fairbook.model.placement import FITS, Placement

#: Use of memory from which a machine counts as nearly full, and up to which as hardly used, read in two ways.
FULL, IDLE = 0.9, (0.5, 0.7)


def _lacking(rng: np.random.Generator, number: int) -> FloatArray:
    case, lot = drawn(rng, number)
    placed = place(case, "gdrf", lot)
    free = placed.cell.machines[placed.cell.machine_class] - placed.machine_use
    short = case.demands[:, None] > free * (1 + FITS)
    return short.mean(axis=(0, 1))


def lacking(runs: int = 100, seed: int = SEED, *, number: int = 60, progress: bool = False) -> pd.DataFrame:
    """Ask what keeps a further VM off a machine once GDRF has ended.

    Returns
    -------
    DataFrame
        Columns ``cpu, memory``, a row for each random mix: part of the pairs of a user and a machine that lack it.
    """
    found = run_all(_lacking, runs, seed, progress, "bottleneck", number=number)
    return pd.DataFrame(found, columns=["cpu", "memory"])


def _by_machine(rng: np.random.Generator, number: int) -> FloatArray:
    case, lot = drawn(rng, number)
    placed = [place(case, mechanism, lot) for mechanism in MECHANISMS]
    use = np.array([one.machine_utilisation[:, 1] for one in placed])
    users = np.array([(on_machines(one) > 0).sum(axis=1) for one in placed])
    parts = [users > 1, use >= FULL, *(use <= idle for idle in IDLE)]
    return np.stack([part.mean(axis=1) for part in parts], axis=1)


def by_machine(runs: int = 100, seed: int = SEED, *, number: int = 60, progress: bool = False) -> pd.DataFrame:
    """Look at machines one by one: whether users are together on them, and how evenly memory is used.

    Returns
    -------
    DataFrame
        One row per ``mechanism`` and ``idle`` (one of :data:`IDLE`): ``shared`` (part of the machines with VMs of two
        users or more), ``full`` (with at least :data:`FULL` of their memory in use), ``low`` (with at most ``idle``),
        means over random mixes; ``uneven`` (part of the mixes in which most machines are full and some are low),
        ``runs``.
    """
    found = run_all(_by_machine, runs, seed, progress, "machines", number=number)
    rows = []
    for k, mechanism in enumerate(MECHANISMS):
        shared, full, *lows = found[:, k].T
        rows += [
            {
                "mechanism": mechanism,
                "idle": idle,
                "shared": shared.mean(),
                "full": full.mean(),
                "low": low.mean(),
                "uneven": ((full > 0.5) & (low > 0)).mean(),
                "runs": runs,
            }
            for idle, low in zip(IDLE, lows, strict=True)
        ]
    return pd.DataFrame(rows)


def on_machines(placed: Placement) -> NDArray[np.int64]:
    """Count the tasks of each user on each machine, shape (N, n)."""
    n, N = len(placed.cell.demands), len(placed.cell.machine_class)
    at = placed.placed_machine.astype(np.intp) * n + placed.placed_user
    return np.bincount(at, minlength=N * n).reshape(N, n)
