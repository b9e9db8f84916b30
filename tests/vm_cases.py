"""Requests for virtual machines that several test modules draw, with tolerances that are exact."""

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from book.virtual_cluster.oracle import as_case


class Asked(NamedTuple):
    """VMs wanted (n,), tolerances (n,), capacities (H,), as whole numbers and fractions: what the judges take."""

    max_vms: list[int]
    tolerance: list[Fraction]
    capacities: list[int]

    @property
    def floats(self) -> tuple[Any, Any, Any]:
        """The same as arrays: what the engine takes."""
        return np.array(self.max_vms), np.array(self.tolerance, dtype=float), np.array(self.capacities)


#: Tolerances are multiples of one over these. Powers of two are exact in floats, and so is all that is computed then.
TENTHS, QUARTERS = (2, 5, 10), (2, 4, 8)


def random_asked(rng: np.random.Generator, parts: tuple[int, ...] = TENTHS, max_n: int = 6, max_H: int = 4) -> Asked:
    """Draw few VMs, so that ties are common; some clusters hold nothing, some users are larger than all clusters."""
    n, H, part = int(rng.integers(1, max_n + 1)), int(rng.integers(1, max_H + 1)), int(rng.choice(parts))
    alpha = rng.integers(1, rng.choice([4, 8, 13]), n)
    if rng.random() < 0.2:
        alpha[:] = alpha[0]
    k = rng.integers(0, part + 1, n)
    if rng.random() < 0.15:
        k[:] = rng.choice([0, part])
    C = rng.integers(0, max(2, int(2.2 * alpha.sum() / H * rng.random() + 3)), H)
    C[0] += not C.any()
    return Asked(alpha.tolist(), [Fraction(int(a), part) for a in k], C.tolist())


@st.composite
def asked(draw: st.DrawFn, max_n: int = 5, max_H: int = 3, largest: int = 8, parts: tuple[int, ...] = TENTHS) -> Asked:
    """Draw the same with hypothesis."""
    n, part = draw(st.integers(1, max_n)), draw(st.sampled_from(parts))
    alpha = draw(st.lists(st.integers(1, largest), min_size=n, max_size=n))
    k = draw(st.lists(st.integers(0, part).map(lambda a: Fraction(a, part)), min_size=n, max_size=n))
    return Asked(alpha, k, draw(st.lists(st.integers(0, 2 * largest), min_size=1, max_size=max_H).filter(any)))


def pooled(one: Asked, whole: bool = True) -> Fraction | None:
    """Give the least fraction of one pool of all clusters; None where the minima do not fit."""
    case = as_case(*one, whole)
    vms = case.share(range(case.n), sum(case.capacities))
    return None if vms is None else case.level(vms)
