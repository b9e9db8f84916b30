"""What users do to GDRF, and it to them: they overstate their demands, and come one after the other."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from book.gdrf.cells import SEED, Instance, drawn, run_all
from fairbook.mechanisms.gdrf import gdrf
from fairbook.model.inputs import FloatArray
from fairbook.model.placement import Placement

Settings = Mapping[str, Any]

#: Readings of GDRF in which lies are tried, and the factors by which a liar overstates each resource.
LIED_TO: dict[str, Settings] = {
    "GDRF": {},
    "types as printed": {"match": "same"},
    "least share": {"least": "dominant_share"},
}
#: What a lie multiplies demands by.
FACTORS = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0)


def _lies_of(case: Instance, lot: int, user: int, **how: Any) -> FloatArray:
    """Give true tasks of a user with the truth and with each lie, and whether a VM of the lie runs one task."""
    found = []
    for factors in product(FACTORS, FACTORS):
        demands = case.demands.copy()
        demands[user] *= factors
        tasks = gdrf(demands, case.machines, case.counts, seed=lot, **how).tasks[user]
        found.append((tasks * int(min(factors)), min(factors) < 2))  # whole tasks, each within one VM
    return np.array(found, dtype=float)


def _lied(rng: np.random.Generator, number: int, **how: Any) -> FloatArray:
    """Give for each reading and user: honest tasks, best lie, best lie of one task a VM, how many lies pay."""
    case, lot = drawn(rng, number, **how)
    rows = []
    for reading in LIED_TO.values():
        for user in range(len(case.demands)):
            tasks, single = _lies_of(case, lot, user, **reading).T
            rows.append([tasks[0], tasks.max(), tasks[single > 0].max(), (tasks > tasks[0]).sum()])
    return np.array(rows).reshape(len(LIED_TO), -1, 4)


def lies(runs: int = 5, seed: int = SEED, *, number: int = 60, progress: bool = False) -> pd.DataFrame:
    """Let each user in turn overstate its demand, everybody else telling the truth.

    Parameters
    ----------
    runs, seed
        Random mixes and their root seed.
    number : int
        Machines.

    Returns
    -------
    DataFrame
        One row per ``mix`` ("paper", "random") and ``reading`` (keys of :data:`LIED_TO`): ``users`` (who lie one at a
        time), ``lies`` (of each: all pairs of :data:`FACTORS` but the truth), ``gain`` (users with a lie that pays),
        ``gain_single`` (with one that pays and whose VMs run one task each), ``paying`` (part of the lies that pay),
        ``most`` (largest gain in tasks), ``most_part`` (largest gain as a part of the honest number), ``mean_part``
        (mean over users of the gain by the best lie, or by the truth if none pays).

    Notes
    -----
    A VM of the lie runs as many whole tasks as fit in it. Cost of a mix: some 2000 placements, five seconds.
    """
    rows = []
    for mix, many, users in (("paper", 1, "paper"), ("random", runs, "drawn")):
        found = run_all(_lied, many, seed, progress, "lies", number=number, users=users)
        for at, reading in enumerate(LIED_TO):
            honest, best, single, paying = found[:, at].reshape(-1, 4).T
            gain = (best - honest) / np.maximum(honest, 1)
            rows.append(
                {
                    "mix": mix,
                    "reading": reading,
                    "users": len(honest),
                    "lies": len(FACTORS) ** 2 - 1,
                    "gain": int((best > honest).sum()),
                    "gain_single": int((single > honest).sum()),
                    "paying": paying.mean() / (len(FACTORS) ** 2 - 1),
                    "most": int((best - honest).max()),
                    "most_part": gain.max(),
                    "mean_part": gain.mean(),
                }
            )
    return pd.DataFrame(rows).round(9)


def on_machines(placed: Placement) -> NDArray[np.int64]:
    """Count the tasks of each user on each machine, shape (N, n)."""
    n, N = len(placed.cell.demands), len(placed.cell.machine_class)
    at = placed.placed_machine.astype(np.int64) * n + placed.placed_user
    return np.bincount(at, minlength=N * n).reshape(N, n)


def _kept(before: NDArray[np.int64], after: NDArray[np.int64], kind: NDArray[np.int64]) -> int:
    """Count the tasks that can stay, if machines of a class are renumbered so that most do."""
    kept = 0
    for k in range(int(kind.max()) + 1):
        old, new = before[kind == k], after[kind == k]
        common = np.minimum(old[:, None], new[None]).sum(axis=2)
        kept += int(common[linear_sum_assignment(common, maximize=True)].sum())
    return kept


def _arrive(rng: np.random.Generator, number: int) -> FloatArray:
    """Let the users of a mix come one after the other, shape (n - 1, 6); see :func:`arrivals`."""
    case, lot = drawn(rng, number)
    n = len(case.demands)
    before = gdrf(case.demands[:1], case.machines, case.counts, seed=lot)
    rows = []
    for users in range(2, n + 1):
        after = gdrf(case.demands[:users], case.machines, case.counts, seed=lot)
        old, new = on_machines(before), on_machines(after)
        stay = np.minimum(before.tasks, after.tasks[:-1])
        kept = _kept(old, new[:, :-1], before.cell.machine_class)
        free = np.maximum(before.cell.machines[before.cell.machine_class] - before.machine_use, 0)
        room = np.floor((free / case.demands[users - 1]).min(axis=1) + 1e-9).sum()
        rows.append(
            [
                before.tasks.sum(),
                after.tasks[-1],
                room,
                (before.tasks - stay).sum(),
                stay.sum() - kept,
                1 - kept / before.tasks.sum(),
            ]
        )
        before = after
    return np.array(rows, dtype=float)


def arrivals(runs: int = 50, seed: int = SEED, *, number: int = 60, progress: bool = False) -> pd.DataFrame:
    """Run GDRF anew whenever a user arrives, and count what that does to the VMs that run already.

    Parameters
    ----------
    runs, seed
        Random mixes and their root seed; users arrive in the order in which they are drawn.
    number : int
        Machines.

    Returns
    -------
    DataFrame
        One row per number of ``users`` after an arrival (2 to 20), means over mixes: ``running`` (VMs before), ``own``
        (VMs of the newcomer after), ``room`` (VMs that it could have had without touching any), ``stopped`` (VMs by
        which those present shrink), ``moved`` (others that are on another machine, machines of a class renumbered so
        that these are fewest), ``touched`` (stopped or moved, as a part of those running); ``runs``.

    Notes
    -----
    Read from below, the same counts are those of a departure: what is stopped on arrival is started when the newcomer
    leaves, and as many are moved. Cost of a mix: 0.1 s for 60 machines.
    """
    found = run_all(_arrive, runs, seed, progress, "arrivals", number=number)
    frame = pd.DataFrame(found.mean(axis=0).round(9), columns=["running", "own", "room", "stopped", "moved", "touched"])
    frame.insert(0, "users", np.arange(2, len(frame) + 2))
    return frame.assign(runs=runs)
