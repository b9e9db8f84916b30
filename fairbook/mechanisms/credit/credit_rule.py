"""How credit moves in cbDRF: :class:`fairbook.CreditRule`."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import pandas as pd

from fairbook.mechanisms.readings import Grant, Held, Penalty, Ratio
from fairbook.model.inputs import (
    LARGEST,
    Array,
    as_floats,
    as_number,
    as_positive,
    check_fractions,
)
from fairbook.model.instance import check_choice
from fairbook.model.names import in_pandas, labels_of, order_of

__all__ = ["CreditRule"]

#: Credits this close to C_0, cap or floor, in parts of C_0, are set to it: after any realistic number of steps such as
#: 0.1 a node that has regained its credit is in good standing, not one rounding error short of it. Where steps are
#: tiny, a thousandth of the smaller one, so that every step counts.
SNAP = 1e-9


#: A :class:`CreditRule` as kernels take it: no cap is inf, and credits as ``near`` to a mark are set to it.
Terms = namedtuple(
    "Terms", "step_up, step_down, initial_credit, credit_cap, credit_floor, near, stays, grant, graded, ratio"
)
#: Readings as kernels take them, by number.
GRANTS, RATIOS = get_args(Grant), get_args(Ratio)
SCALED, WEIGHTED = map(GRANTS.index, ("scaled", "weighted"))
LEAST, DOMINANT = map(RATIOS.index, ("least", "dominant"))


@dataclass(frozen=True)
class CreditRule:
    """How credit moves and what it does; checked on construction, equal and hashed by value.

    Attributes
    ----------
    rho : float or tuple
        Part of its grant, in [0, 1], that a node must release to comply: one number, one a node (shape (n,)), or for
        whole runs (T, n) or (T, 1), such as one threshold a phase and priority.
    step_up, step_down : float
        What a phase adds to the credit of a node that complied, and takes from one that did not; at least 0.
    initial_credit : float
        C_0, positive: the credit at the start, and the credit at which nothing is withheld.
    credit_cap, credit_floor : float
        Credit stays between them; floor <= C_0 <= cap. The paper's "(C_i < C_0)" beside psi = C_i / C_0 may be a range
        or a case. The default ``"initial"`` is the range: the cap is C_0, and that number stands here. ``None`` is the
        case: no cap, and psi = 1 above C_0.
    held : {"returns", "stays"}
        Whether what is not released is back in the next phase's pool, or is missing there and back one phase later.
    grant : {"scaled", "weighted", "capped"}
        What credit does; see :func:`fairbook.grant_tasks`.
    penalty : {"step", "graded"}
        Whether a node that does not comply loses ``step_down``, or ``step_down`` times the part it held.
    ratio : {"least", "mean", "dominant"}
        How ratios given for each resource become one number: the smallest, the mean, or that of the dominant resource;
        over the resources that the node needs.
    """

    rho: Any = 0.75
    step_up: float = 0.1
    step_down: float = 0.1
    initial_credit: float = 1.0
    credit_cap: Any = "initial"
    credit_floor: float = 0.0
    held: Held = "returns"
    grant: Grant = "scaled"
    penalty: Penalty = "step"
    ratio: Ratio = "least"

    def __post_init__(self) -> None:
        rho = in_pandas(self.rho, "rho")
        if isinstance(rho, (pd.Series, pd.DataFrame)):
            order_of(labels_of(rho.axes[-1], "rho"), None, "rho", "nodes")  # a rule knows no names
        rho = as_floats(rho, "rho", (0, 1, 2), "must be one number, one a node, or (T, n) of them")
        check_fractions(rho, "rho")
        start = as_positive(self.initial_credit, "initial_credit")
        initial = isinstance(self.credit_cap, str) and self.credit_cap == "initial"
        cap = self.initial_credit if initial else self.credit_cap
        kept = {
            "rho": (_tuples(rho.tolist()), None),
            "step_up": (as_number(self.step_up, "step_up", 0.0, LARGEST), self.step_up),
            "step_down": (as_number(self.step_down, "step_down", 0.0, LARGEST), self.step_down),
            "initial_credit": (start, self.initial_credit),
            "credit_floor": (as_number(self.credit_floor, "credit_floor", 0.0, start), self.credit_floor),
            "credit_cap": (None if cap is None else as_number(cap, "credit_cap", start, LARGEST), cap),
        }
        for name, (number, given) in kept.items():
            object.__setattr__(self, name, given if isinstance(given, Fraction) else number)
        for name, kind in (("held", Held), ("grant", Grant), ("penalty", Penalty), ("ratio", Ratio)):
            check_choice(getattr(self, name), name, kind)

    def factor(self, credit: Array) -> Array:
        """Give the credit factor psi = min(1, C / C_0)."""
        return np.minimum(credit, self.initial_credit) / self.initial_credit

    @property
    def terms(self) -> Terms:
        """The rule as kernels take it."""
        marks = self.initial_credit, np.inf if self.credit_cap is None else self.credit_cap, self.credit_floor
        near = min([SNAP * self.initial_credit, *(step / 1000 for step in (self.step_up, self.step_down) if step > 0)])
        codes = self.held == "stays", GRANTS.index(self.grant), self.penalty == "graded", RATIOS.index(self.ratio)
        return Terms(self.step_up, self.step_down, *marks, near, *codes)


def _tuples(values: Any) -> Any:
    """Make tuples of nested lists."""
    return tuple(map(_tuples, values)) if isinstance(values, list) else values
