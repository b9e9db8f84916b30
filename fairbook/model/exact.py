"""Instances in fractions, for judges and exact solvers."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.model.inputs import as_capacities, as_demands, as_max_tasks, number_of_dimensions

__all__ = ["as_fractions", "by_rule", "exact_instance", "fractions"]


def fractions(values: Any) -> NDArray[Any]:
    """Give an array of fractions of numbers, or of texts such as "1/3"; inf where there is inf, or None."""

    def fraction(one: Any) -> Any:
        return np.inf if one is None or one == np.inf else Fraction(one.item() if isinstance(one, np.generic) else one)

    return np.array(np.frompyfunc(fraction, 1, 1)(np.array(values, dtype=object)), dtype=object)


def by_rule(rule: Callable[..., Any], **given: Any) -> Any:
    """Work a rule out in fractions of the arrays and doubles that are given, where the rule takes lists."""
    exact = (fractions(one).tolist() if isinstance(one, (np.ndarray, float)) else one for one in given.values())
    return rule(**dict(zip(given, exact, strict=True)))


def as_fractions(values: Any, argument: str, index: tuple[int, ...] = ()) -> list[Any]:
    """Turn nested sequences of numbers, or of texts such as "1/3", into fractions; None stays None.

    Parameters
    ----------
    values : sequence, or sequence of sequences of equal length
        Anything ``fractions.Fraction`` takes, truth values excepted; floats count at face value.
    index : tuple of int
        Where the values stand in the argument.

    Examples
    --------
    >>> as_fractions([["1/3", 0.5]], "demands")
    [[Fraction(1, 3), Fraction(1, 2)]]
    """
    if isinstance(values, (str, bytes)) or not 0 < number_of_dimensions(values) < 64:
        raise InvalidInput(argument, "must be a sequence of numbers", values, index)
    rows = values.to_numpy().tolist() if isinstance(values, (pd.DataFrame, pd.Series)) else list(values)
    if not rows:
        raise InvalidInput(argument, "must not be empty", values, index)
    found: list[Any] = []
    for i, entry in enumerate(rows):
        if isinstance(entry, (list, tuple, np.ndarray, pd.Series)) and number_of_dimensions(entry) != 0:
            found.append(as_fractions(entry, argument, (*index, i)))
            continue
        try:
            if not isinstance(entry, (str, numbers.Real, Decimal, type(None))) or isinstance(entry, bool):
                raise TypeError
            if isinstance(entry, numbers.Integral):
                entry = int(entry)  # a numpy integer inside of a fraction would overflow
            elif not isinstance(entry, (str, Fraction, Decimal, type(None))):
                entry = float(entry)
            found.append(None if entry is None else Fraction(entry))
        except (TypeError, ValueError, OverflowError, ZeroDivisionError):
            raise InvalidInput(argument, "must be a finite number", entry, (*index, i)) from None
    if len({len(row) if isinstance(row, list) else -1 for row in found}) > 1:
        raise InvalidInput(argument, "must not have ragged rows", values, index)
    return found


def exact_instance(
    demands: Any, weights: Any, capacities: Any = None, max_tasks: Any = None
) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Check an instance and give it in fractions; None for weights, capacities and bounds means ones, ones, no bounds.

    Raises
    ------
    InvalidInput
        Under the same rules as for floats.
    """
    rows = as_fractions(demands, "demands")
    n, m = as_demands(_in_doubles(rows)).values.shape
    found: list[Any] = [rows]
    for name, values, count, default, check in (
        ("weights", weights, n, Fraction(1), as_capacities),
        ("capacities", capacities, m, Fraction(1), as_capacities),
        ("max_tasks", max_tasks, n, None, as_max_tasks),
    ):
        found.append([default] * count if values is None else as_fractions(values, name))
        check(_in_doubles(found[-1]), count, argument=name)
    return found[0], found[1], found[2], found[3]


def _in_doubles(values: Any) -> Any:
    """Give fractions as doubles; None and what does not fit is infinite."""
    if isinstance(values, list):
        return [_in_doubles(one) for one in values]
    try:
        return np.inf if values is None else float(values)
    except OverflowError:
        return np.inf
