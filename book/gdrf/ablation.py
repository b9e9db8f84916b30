"""What each ingredient of GDRF does: built up from DRFH First-Fit, taken apart, one reading exchanged for another."""

import numpy as np
import pandas as pd

from book.common.runs import interval
from book.gdrf.behaviour import Settings
from book.gdrf.cells import MEASURES, SEED, drawn, gains_over, measured, place, run_all
from fairbook.mechanisms.placing.gdrf import gdrf
from fairbook.model.inputs import FloatArray

_PLAIN = {"match": "any", "choice": "first", "queue": "one_by_one", "least": "dominant_share"}

#: From DRFH First-Fit to GDRF, one ingredient more each time; GDRF with one less; GDRF with one exchanged.
_STEPS: dict[str, Settings | None] = {
    "DRFH First-Fit": None,
    "+ ties by GDRS, GDRW": _PLAIN,
    "+ least amount": {**_PLAIN, "least": "amount"},
    "+ nearest type": {"choice": "first", "queue": "one_by_one"},
    "+ largest f": {"queue": "one_by_one"},
    "+ rounds = GDRF": {},
}
_WITHOUT: dict[str, Settings] = {
    "without rounds": {"queue": "one_by_one"},
    "without f": {"choice": "first"},
    "without types": {"match": "any"},
    "least share, not amount": {"least": "dominant_share"},
}
_INSTEAD: dict[str, Settings] = {
    "types as printed": {"match": "same"},
    "type by amount": {"machine_type": "amount"},
    "least sum of shares": {"least": "shares"},
    "f with the VM in it": {"choice": "fairness_after"},
    "empty machines last": {"choice": "fairness_empty_last"},
}
_KINDS = {**dict.fromkeys(_STEPS, "step"), **dict.fromkeys(_WITHOUT, "without"), **dict.fromkeys(_INSTEAD, "instead")}


def _taken_apart(rng: np.random.Generator, number: int) -> FloatArray:
    case, lot = drawn(rng, number)
    return np.array(
        [
            measured(place(case, "drfh_first_fit", lot) if how is None else gdrf(*case, seed=lot, **how))
            for how in (*_STEPS.values(), *_WITHOUT.values(), *_INSTEAD.values())
        ]
    )


def ablation(runs: int = 200, seed: int = SEED, *, number: int = 120, progress: bool = False) -> pd.DataFrame:
    """Build GDRF up from DRFH First-Fit, and take it apart: what each ingredient does.

    Parameters
    ----------
    runs, seed, number
        As in :func:`cells`.

    Returns
    -------
    DataFrame
        One row per ``kind`` ("step": one ingredient more than the row before; "without": GDRF with one less; "instead":
        GDRF with one exchanged), ``variant`` and ``measure`` (see :func:`curves`): ``change`` with ``change_low``,
        ``change_high`` (95 %): mean over mixes of the ratio to the step before or to GDRF, less 1 (``memory_gap``:
        difference); ``runs``.
    """
    values = run_all(_taken_apart, runs, seed, progress, "ablation", number=number)
    full = list(_KINDS).index("+ rounds = GDRF")
    parts = []
    for at, (variant, kind) in enumerate(list(_KINDS.items())[1:], 1):
        change = interval(gains_over(values[:, at], values[:, at - 1 if kind == "step" else full]))
        change.columns = ["change", "change_low", "change_high"]
        names = pd.DataFrame({"kind": kind, "variant": variant, "measure": MEASURES})
        parts.append(pd.concat([names, change], axis=1))
    return pd.concat(parts, ignore_index=True).assign(runs=runs)
