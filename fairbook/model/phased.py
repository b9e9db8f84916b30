"""What happened in each of several phases, or periods, to each user."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd

from fairbook.model.inputs import FloatArray, as_whole
from fairbook.model.result import Result, position, use_columns

__all__ = ["PhasedRun"]


class PhasedRun(Result):
    """A run with ``tasks`` (T, n), ``demands`` (T, n, m) and ``capacities`` (m,)."""

    #: As in the registry.
    mechanism: ClassVar[str]
    #: What a step of time is called.
    step: ClassVar[str] = "phase"
    #: The account that ``plot()`` draws, an array of shape (T, n).
    drawn: ClassVar[str] = "credit"

    if TYPE_CHECKING:
        tasks: FloatArray
        demands: FloatArray

        @property
        def capacities(self) -> FloatArray: ...

    def __len__(self) -> int:
        return len(self.tasks)

    @property
    def _shape(self) -> tuple[int, int]:
        return self.tasks.shape[1], self.demands.shape[2]

    @property
    def use(self) -> FloatArray:
        """Resource that the tasks of each phase take, shape (T, m), in the unit of the capacities."""
        return np.einsum("ti,tij->tj", self.tasks, self.demands)

    @property
    def slack(self) -> FloatArray:
        """Capacity left in each phase, shape (T, m)."""
        return self.capacities - self.use

    @property
    def utilisation(self) -> FloatArray:
        """Use divided by capacity, shape (T, m)."""
        return self.use / self.capacities

    def rounded(self) -> Self:
        """The same in doubles, where its numbers are fractions."""
        numbers: dict[str, Any] = {}
        for name, one in vars(self).items():
            if isinstance(one, Fraction):
                numbers[name] = float(one)
            elif isinstance(one, np.ndarray) and one.dtype == object:
                numbers[name] = one.astype(np.float64)
        return replace(self, **numbers)  # type: ignore[type-var]

    def _step(self, given: Any) -> int:
        """Check the number of a step, from 0."""
        return as_whole(given, self.step, 0, len(self) - 1)

    def _place(self, user: Hashable, given: Any) -> tuple[int, int]:
        """Give the step, the last one where none is given, and the row of a user."""
        return self._step(len(self) - 1 if given is None else given), position(user, self.users)

    def _frame(self, columns: dict[str, Any]) -> pd.DataFrame:
        """Make one row a step and user of columns of shape (T, n), and of the use of each resource besides."""
        amounts = getattr(self, "amounts", None)  # kept where tasks of older steps, with other demands, are run
        held = self.tasks[:, :, None] * self.demands if amounts is None else amounts
        use = use_columns(held, self.demands, self.capacities, self.resources)
        columns = {**columns, **use, "dominant_share": (held / self.capacities).max(axis=2)}
        index = pd.MultiIndex.from_product([range(len(self)), self.users], names=[self.step, "user"])
        return pd.DataFrame({name: values.ravel() for name, values in columns.items()}, index=index)
