"""The rounding that several traces have in common."""

import numpy as np
from numpy.typing import NDArray

from fairbook.model.inputs import as_whole


def significant(values: NDArray[np.float64], digits: int | None, argument: str) -> NDArray[np.float64]:
    """Round to 1 to 15 significant decimal digits, half to even, as decimals are written; None leaves numbers alone."""
    if digits is None:
        return values
    as_whole(digits, argument, 1, 15)
    return np.array([float(f"{value:.{digits - 1}e}") for value in values.tolist()], np.float64)
