"""Arguments that the samplings of several traces have in common, and their rounding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbook.errors import InvalidInput


def check_rng(rng: object) -> None:
    """Refuse what is no generator."""
    if not isinstance(rng, np.random.Generator):
        raise InvalidInput("rng", "must be a numpy.random.Generator", rng)


def check_whole(value: Any, argument: str, most: int | None = None) -> int:
    """Return a whole number from 1, and to `most` where that is given."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1 or (most and value > most):
        raise InvalidInput(
            argument, f"must be an integer from 1 to {most}" if most else "must be a positive integer", value
        )
    return int(value)


def check_choice(value: object, argument: str, choices: Sequence[str]) -> None:
    """Refuse what is none of the choices."""
    if value not in choices:
        raise InvalidInput(argument, f"must be {' or '.join(map(repr, choices))}", value)


def check_digits(digits: Any, argument: str) -> int | None:
    """Return a number of significant decimal digits, 1 to 15, or None for all of them."""
    return None if digits is None else check_whole(digits, argument, 15)


def significant(values: NDArray[np.float64], digits: int | None) -> NDArray[np.float64]:
    """Round to significant decimal digits, half to even, as decimals are written; None leaves the numbers alone."""
    if digits is None:
        return values
    return np.array([float(f"{value:.{digits - 1}e}") for value in values.tolist()], np.float64)
