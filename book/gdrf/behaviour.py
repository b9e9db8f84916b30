"""What users do to GDRF: they overstate their demands."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from book.gdrf.cells import SEED, Instance, drawn, run_all
from fairbook.mechanisms.placing.gdrf import gdrf
from fairbook.model.inputs import FloatArray

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
