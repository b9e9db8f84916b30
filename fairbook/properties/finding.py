"""What every check returns: a verdict with a witness or a certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.model.dynamic import DynamicAllocation
from fairbook.model.inputs import RTOL, FloatArray, Names

__all__ = ["Finding", "Trajectory", "show"]

Number = float | Fraction


@dataclass(frozen=True, eq=False)
class Finding:
    """Verdict of one check; true exactly if the property holds.

    Attributes
    ----------
    property : str
        What was checked.
    holds : bool
        ``margin >= -tolerance``.
    margin : float or Fraction
        By how much the property holds at its tightest case (negative: by how much it is violated), as a relative
        quantity that each check defines; ``inf`` where there was no case.
    witness : dict or None
        Where it is violated: a sentence under ``"says"``, the instance (demands, weights) and every number needed to
        check the sentence by hand. Users are named as the result names them, by position (from 0) where they
        have no names; steps count arrivals from 1.
    certificate : dict or None
        Where it holds and something certifies it: what to look at.
    checked : int
        Cases looked at.
    tolerance : float
        0 where the numbers are fractions.
    margins : ndarray
        Smallest margin of each step (dynamic) or of each user (static).
    """

    property: str
    holds: bool
    margin: Number
    witness: dict[str, Any] | None = None
    certificate: dict[str, Any] | None = None
    checked: int = 0
    tolerance: float = RTOL
    margins: NDArray[Any] = field(default_factory=lambda: np.zeros(0))

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        cases = f"{self.checked} case{'' if self.checked == 1 else 's'}"
        if self.holds:
            return f"{self.property}: holds in {cases}, smallest margin {show(self.margin)}"
        lines = [f"{self.property}: violated, margin {show(self.margin)} ({cases} checked)"]
        for key, value in (self.witness or {}).items():
            text = value if key == "says" else f"{key} = {show(value)}"
            lines.append(f"  {text}" if len(text) < 500 else f"  {text[:500]}...")
        return "\n".join(lines)


def show(value: Any) -> str:
    """Write numbers, and lists of them, briefly: fractions as fractions, floats with six digits."""
    if isinstance(value, (bool, str, int, Fraction)) or value is None:
        return str(value)
    if isinstance(value, (float, np.floating)):
        return f"{float(value) + 0.0:.6g}"  # no minus zero
    if isinstance(value, np.ndarray):
        return show(value.tolist())
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {show(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(show(entry) for entry in value) + "]"
    return str(value)


def default_tolerance(array: NDArray[Any], rtol: float | None) -> float:
    """Give the tolerance: what the caller asks for, else 0 for fractions and 1e-9 for floats."""
    if rtol is not None:
        if not 0 <= rtol < 1:
            raise InvalidInput("rtol", "must be between 0 and 1", rtol)
        return rtol
    return 0 if array.dtype == object else RTOL  # the integer: a float would make floats of fractions


def ratio(above: Any, below: Any) -> NDArray[Any]:
    """Divide, entry by entry; x / 0 is inf for x > 0 and 1 for x = 0. Works on fractions."""
    above, below = np.broadcast_arrays(above, below)
    zero = below == 0
    if not zero.any():
        return np.asarray(above / below)
    return np.where(zero, np.where(above > 0, np.inf, 1.0), above / np.where(zero, 1, below))


@dataclass(frozen=True, eq=False)
class Trajectory(DynamicAllocation):
    """Any sequence of allocations whatever, kept step by step: what a mutant, a log or a lie leaves behind.

    Build one with :meth:`of_levels`. Everything that :class:`~fairbook.model.DynamicAllocation`
    offers works, from the stored steps and without assuming that allocations never shrink or that
    anything was optimal. With ``fractions.Fraction`` entries (arrays of dtype object) the checks are exact.

    Attributes
    ----------
    steps : tuple of ndarray
        Levels after each arrival, shapes (1,), (2,), ..., (n,). ``lowest`` holds the lowest of each, ``binding`` the
        resource most used.
    """

    steps: tuple[FloatArray, ...] = ()

    @classmethod
    def of_levels(
        cls,
        steps: Any,
        demands: Any,
        weights: Any,
        *,
        users: Names | None = None,
        resources: Names | None = None,
        mechanism: str = "trajectory",
    ) -> Trajectory:
        """Keep levels x_i^k / w_i, one row a step.

        Parameters
        ----------
        steps : sequence of array_like, shapes (1,), ..., (n,)
        demands : array_like, shape (n, m)
        weights : array_like, shape (n,)
            Positive; not checked further, as broken mechanisms must pass.

        Notes
        -----
        Cost O(n^2 + n m), memory O(n^2).

        Examples
        --------
        >>> t = Trajectory.of_levels([[1], [1, 1]], [[1, 1/2], [1/2, 1]], [1/4, 1/4])
        >>> t.tasks_at(2), t.lowest, t.irrevocable
        (array([0.25, 0.25]), array([1., 1.]), True)
        """
        values, amounts = numbers(demands), numbers(weights)
        rows = tuple(numbers(row) for row in steps)
        if values.ndim != 2 or amounts.shape != (len(values),):
            raise InvalidInput("demands", "must have shape (n, m), with one weight a user", values.shape)
        if [row.shape for row in rows] != [(k,) for k in range(1, len(values) + 1)]:
            raise InvalidInput("steps", "must have shapes (1,), (2,), ..., (n,)", [row.shape for row in rows])
        lowest = np.array([row.min() for row in rows], dtype=values.dtype)
        grows = all((later[:-1] >= row).all() for row, later in zip(rows, rows[1:]))
        largest = values.max(axis=1)
        binding = [int((row * amounts[: len(row)] / largest[: len(row)] @ values[: len(row)]).argmax()) for row in rows]
        return cls(lowest, np.array(binding, dtype=np.int32), values, amounts, users, resources, grows, mechanism, rows)

    def levels_at(self, k: int | None = None) -> FloatArray:
        """Level of each of the first k users after arrival k, shape (k,), as stored."""
        return self.steps[len(self.until(k)) - 1]

    def raised_at(self, k: int | None = None) -> NDArray[np.int64]:
        """Arrival (from 1) at which each of the first k users last changed, shape (k,). Cost O(k^2)."""
        k = len(self.until(k))
        raised = np.arange(1, k + 1)
        for t in range(2, k + 1):
            changed = self.steps[t - 1][: t - 1] != self.steps[t - 2]
            raised[: t - 1][changed] = t
        return raised


def numbers(values: Any) -> NDArray[Any]:
    """Give a float array, or one of fractions where any entry is a fraction."""
    array = np.asarray(values)
    if array.dtype != object:
        return array.astype(np.float64)
    exact = np.empty(array.shape, dtype=object)
    for index, entry in np.ndenumerate(array):
        exact[index] = Fraction(entry)
    return exact
