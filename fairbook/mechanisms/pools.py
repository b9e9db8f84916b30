"""What pools that are shared out phase by phase have in common: users, resources and credits."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairbook.errors import InvalidInput
from fairbook.model.inputs import (
    FloatArray,
    Named,
    Names,
    as_capacities,
    check_amounts,
    demand_matrix,
    in_order,
    names_or_number,
    number_of_dimensions,
)
from fairbook.model.names import in_pandas, labels_of
from fairbook.model.result import labels_or_positions


class CreditPool:
    """A pool of n users who are all known from the start, each with a credit.

    Attributes
    ----------
    phases : int
        Phases settled so far.
    """

    def __init__(self, users: int | Sequence[Hashable], capacities: Any) -> None:
        n, self._users = names_or_number(users, "users")
        self._resources: Names | None = None
        capacities = in_pandas(capacities, "capacities")
        if isinstance(capacities, pd.Series):
            self._resources = labels_of(capacities.index, "capacities.index")
        elif number_of_dimensions(capacities) != 1:
            raise InvalidInput("capacities", "must have shape (m,), one entry a resource", capacities)
        if not len(capacities):
            raise InvalidInput("capacities", "must have at least one resource", capacities)
        self._capacities = as_capacities(capacities, len(capacities), self._resources)
        self._credit = np.zeros(n)
        self.phases = 0

    def __len__(self) -> int:
        return len(self._credit)

    @property
    def users(self) -> Names:
        """Their names, or their positions."""
        return labels_or_positions(self._users, len(self))

    @property
    def resources(self) -> Names:
        """Their names, or their positions."""
        return labels_or_positions(self._resources, len(self._capacities))

    @property
    def capacities(self) -> FloatArray:
        """Capacity of the whole pool, shape (m,)."""
        return self._capacities.copy()

    @property
    def credit(self) -> FloatArray:
        """Credit of each user now, shape (n,)."""
        return self._credit.copy()

    def _matched(self, values: Any, argument: str) -> Named:
        """Check amounts, shape (n, m), and copy them in the order of the pool's own names."""
        given = demand_matrix(values, argument)
        check_amounts(given.values, argument)
        shape = (len(self), len(self._capacities))
        if given.values.shape != shape:
            raise InvalidInput(argument, f"must have shape {shape}: users, resources", given.values.shape)
        found = in_order(given, self._users, self._resources, argument)
        return Named(found, self._users, self._resources)
