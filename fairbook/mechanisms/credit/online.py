"""One phase at a time: :class:`CbDrf` and :class:`Karma`, and what they have in common."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from fairbook.errors import InvalidInput
from fairbook.mechanisms.credit.cbdrf_phase import as_ratios, end_phase, pool_of, share_out
from fairbook.mechanisms.credit.cbdrf_run import Grants
from fairbook.mechanisms.credit.credit_rule import CreditRule
from fairbook.mechanisms.credit.karma import as_credit, work_out
from fairbook.model.allocation import Allocation
from fairbook.model.inputs import (
    FloatArray,
    Named,
    Names,
    as_capacities,
    as_max_tasks,
    as_number,
    check_amounts,
    demand_matrix,
    in_order,
    names_or_number,
    number_of_dimensions,
)
from fairbook.model.names import in_pandas, labels_of
from fairbook.model.result import labels_or_positions

__all__ = ["CbDrf", "Karma"]


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


class CbDrf(CreditPool):
    """cbDRF one phase at a time: share it out, then tell it what was released. ``pickle`` saves and restores it.

    Parameters
    ----------
    users : int or sequence of hashable
        The nodes: their number or their names. All may be present from the start; who is not has a row of zeros.
    capacities : array_like or Series, shape (m,)
        Positive. A Series names the resources.
    rule : CreditRule, optional
        Fields of it may also be given by keyword, which then counts. ``rho`` is one number or (n,).

    Notes
    -----
    Each phase costs what :func:`grant_tasks` costs.

    Examples
    --------
    >>> pool = CbDrf(["ann", "bob"], [9, 18])
    >>> pool.phase([[1, 4], [3, 1]]).tasks
    array([3., 2.])
    >>> pool.release([1.0, 0.2])
    >>> pool.phase([[1, 4], [3, 1]]).tasks.round(3)
    array([3. , 1.8])
    """

    def __init__(
        self, users: int | Sequence[Hashable], capacities: Any, *, rule: CreditRule | None = None, **terms: Any
    ) -> None:
        super().__init__(users, capacities)
        shapes = (), (len(self),)
        if "rho" in terms:
            terms["rho"] = as_ratios(terms["rho"], "rho", self._users, shapes)
        self.rule = CreditRule(**terms) if rule is None else replace(rule, **terms)
        as_ratios(self.rule.rho, "rho", None, shapes)
        self._credit += self.rule.initial_credit
        self._held = 0 * self._capacities
        self._granted: Grants | None = None

    def __repr__(self) -> str:
        good = int((self.credit_factor == 1).sum())
        return f"CbDrf({len(self)} nodes, {good} in good standing, phase {self.phases})"

    @property
    def credit_factor(self) -> FloatArray:
        """Factor psi of each node, shape (n,)."""
        return self.rule.factor(self._credit)

    @property
    def pool(self) -> FloatArray:
        """What this phase has to share, shape (m,): less than 1e-12 of a capacity counts as nothing."""
        found = self.capacities
        pool_of(self._capacities, self._held, self.rule.terms.stays, found)
        return found

    def phase(self, demands: Any) -> Grants:
        """Share out this phase.

        Parameters
        ----------
        demands : array_like or DataFrame, shape (n, m)
            Resource per task; a row of zeros for a node that is not present. A DataFrame is matched by name with the
            nodes and resources, where these have names.

        Raises
        ------
        InvalidInput
            Before anything changes; also where the phase has been shared out already.
        """
        if self._granted is not None:
            raise InvalidInput("demands", "must wait: tell release() first how the phase ended", f"phase {self.phases}")
        values = self._matched(demands, "demands").values
        names = self._users, self._resources
        granted = share_out(values, self.credit_factor, self.pool, self.rule.grant, names)
        self._granted = copy.deepcopy(granted)  # what the caller does with its own changes nothing here
        return granted

    def release(self, ratios: Any, *, rho: Any = None) -> None:
        """End the phase: say which part of its grant each node released, and settle the credits.

        Parameters
        ----------
        ratios : float, array_like, Series or DataFrame, shape (n,) or (n, m)
            One for all, one a node, or one a node and resource. A Series and a DataFrame are matched by name.
        rho : float or array_like, shape (n,), optional
            Threshold of this phase alone.

        Raises
        ------
        InvalidInput
            Before anything changes; also where the phase has not been shared out yet.
        """
        if self._granted is None:
            raise InvalidInput("ratios", "must wait: nothing has been shared out in this phase", f"phase {self.phases}")
        n, m = self._granted.demands.shape
        ratios = in_pandas(ratios, "ratios")
        if isinstance(ratios, pd.DataFrame):
            ratios = self._matched(ratios, "ratios").values
        part = as_ratios(ratios, "ratios", self._users, ((), (n,), (n, m)))
        part = part if part.ndim == 2 else np.full(n, part)[:, None]
        threshold = np.full(n, as_ratios(self.rule.rho if rho is None else rho, "rho", self._users, ((), (n,))))
        granted = self._granted.tasks, self._granted.demands, self._capacities
        eta, held, after = np.zeros(n), np.zeros(m), np.zeros(n)
        ended = part, threshold, eta, held, after, np.zeros(n, np.bool_)
        end_phase(self.rule.terms, self._credit, *granted, *ended)
        self._held, self._credit = held, after
        self._granted = None
        self.phases += 1


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
