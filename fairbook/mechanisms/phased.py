"""What runs over several phases share: their length, the names of their users and resources, and what they use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairbook.model.inputs import FloatArray, Names
from fairbook.model.result import labels_or_positions

__all__ = ["PhasedRun"]


class PhasedRun:
    """A run with ``tasks`` (T, n), ``demands`` (T, n, m), ``named_users`` and ``named_resources``."""

    if TYPE_CHECKING:
        tasks: FloatArray
        demands: FloatArray
        named_users: Names | None
        named_resources: Names | None

    def __len__(self) -> int:
        return len(self.tasks)

    @property
    def users(self) -> Names:
        return labels_or_positions(self.named_users, self.tasks.shape[1])

    @property
    def resources(self) -> Names:
        return labels_or_positions(self.named_resources, self.demands.shape[2])

    @property
    def use(self) -> FloatArray:
        """Resource that the tasks of each phase take, shape (T, m), in the unit of the capacities."""
        return np.einsum("ti,tij->tj", self.tasks, self.demands)
