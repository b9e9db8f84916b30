"""cbDRF one phase at a time: :class:`CbDrf`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from fairbook.errors import InvalidInput
from fairbook.mechanisms.cbdrf_phase import (
    CreditRule,
    Grants,
    as_grants,
    as_ratios,
    check_nodes,
    end_phase,
    grant_phase,
    pool_of,
)
from fairbook.mechanisms.pools import CreditPool
from fairbook.model.inputs import FloatArray

__all__ = ["CbDrf"]


class CbDrf(CreditPool):
    """cbDRF one phase at a time: share it out, then tell it what was released. ``pickle`` saves and restores it.

    Parameters
    ----------
    users : int or sequence of hashable
        The nodes: their number or their names. All may be present from the start; who is not has a row of zeros.
    capacities : array_like or Series, shape (m,)
        Positive. A Series names the resources.
    rule : CreditRule, optional
        Fields of it may also be given by keyword.

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
        return pool_of(self._capacities, self._held, self.rule.held)

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
        psi, pool, grant = self.credit_factor, self.pool, self.rule.grant
        *granted, by_demands, by_weights = grant_phase(values, psi, pool, grant)
        check_nodes(np.array([by_demands, by_weights]))
        self._granted = as_grants(granted, values, psi, pool, grant, (self._users, self._resources))
        return self._granted

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
        if isinstance(ratios, pd.DataFrame):
            ratios = self._matched(ratios, "ratios").values
        part = as_ratios(ratios, "ratios", self._users, ((), (n,), (n, m)))
        part = part if part.ndim == 2 else np.array(np.broadcast_to(part, n))[:, None]
        threshold = as_ratios(self.rule.rho if rho is None else rho, "rho", self._users, ((), (n,)))
        threshold = np.array(np.broadcast_to(threshold, n))
        granted = self._granted.tasks, self._granted.demands, self._capacities
        _, self._held, self._credit, _ = end_phase(self.rule.terms, self._credit, *granted, part, threshold)
        self._granted = None
        self.phases += 1
