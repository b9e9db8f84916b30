"""Karma one phase at a time: :class:`Karma`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

from fairbook.mechanisms.karma import as_credit, work_out
from fairbook.mechanisms.pools import CreditPool
from fairbook.model.allocation import Allocation
from fairbook.model.inputs import as_max_tasks, as_number

__all__ = ["Karma"]


class Karma(CreditPool):
    """Karma in dominant shares one phase at a time. ``pickle`` saves and restores it.

    :meth:`phase` costs O(n m^2 log n) and gives digit for digit what :func:`fairbook.karma` does.

    Parameters
    ----------
    users : int or sequence of hashable
        Number of users, or their names.
    capacities : array_like or Series, shape (m,)
        Positive. A Series names the resources.
    alpha : float, in [0, 1]
        Part of the pool that is guaranteed.
    initial_credit : float or array_like or Series, shape (n,)
        One credit buys a dominant share of 1. The default, 1000, lasts for 1000 phases whatever happens.

    Attributes
    ----------
    credit : ndarray, shape (n,)
        Credit now, before the free credits of the next phase.
    phases : int
        Phases settled so far.

    Examples
    --------
    >>> pool = Karma(["ann", "bob"], capacities=[10], initial_credit=2)
    >>> pool.phase([[1], [1]], max_tasks=[10, 0]).tasks
    array([10.,  0.])
    >>> pool.credit
    array([1.5, 2.5])
    >>> pool.phase([[1], [1]]).tasks
    array([2.5, 7.5])
    """

    def __init__(
        self, users: int | Sequence[Hashable], capacities: Any, *, alpha: float = 0.5, initial_credit: Any = 1000.0
    ) -> None:
        super().__init__(users, capacities)
        self.alpha = as_number(alpha, "alpha", 0.0, 1.0)
        self._credit = as_credit(initial_credit, len(self), self._users, "initial_credit")

    def __repr__(self) -> str:
        return f"Karma({len(self)} users, {len(self._capacities)} resources, phase {self.phases})"

    @property
    def free_credit(self) -> float:
        """Credits that each user gets before each phase, (1 - alpha) / n."""
        return (1.0 - self.alpha) / len(self)

    def phase(self, demands: Any, *, max_tasks: Any = None) -> Allocation:
        """Hand out the free credits, allocate one phase, and settle what was borrowed and donated.

        Parameters
        ----------
        demands : array_like or DataFrame, shape (n, m)
            Resource per task, a row of zeros for who needs nothing. A DataFrame is matched by name with the users and
            resources, where these have names.
        max_tasks : array_like or Series, shape (n,), optional
            What each claims to be able to run. Default: no bounds.

        Returns
        -------
        Allocation
            As from :func:`fairbook.karma_phase`.

        Raises
        ------
        InvalidInput
            Before anything changes.
        """
        values, users, resources = self._matched(demands, "demands")
        bounds = as_max_tasks(max_tasks, len(self), users)
        found = work_out(values[None], self.capacities, bounds[None], self._credit, self.alpha)
        self._credit = found.final_credit
        self.phases += 1
        return replace(found, named_users=users, named_resources=resources).at(0)
