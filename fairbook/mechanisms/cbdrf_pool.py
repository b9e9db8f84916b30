"""cbDRF one phase at a time: :class:`CbDrf`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from fairbook.errors import InvalidInput
from fairbook.mechanisms.cbdrf import granted, open_phase, settle_phase, terms_of
from fairbook.mechanisms.cbdrf_run import CreditRule
from fairbook.mechanisms.cbdrf_strategies import as_ratios, by_name
from fairbook.mechanisms.pools import CreditPool
from fairbook.mechanisms.saved import names_for_json
from fairbook.model.allocation import Allocation
from fairbook.model.inputs import FloatArray, per_user
from fairbook.model.phased import phase_allocation

__all__ = ["CbDrf"]


class CbDrf(CreditPool):
    """cbDRF one phase at a time: share it out, then tell it what was released; saved and restored.

    Parameters
    ----------
    users : int or sequence of hashable
        The nodes: their number or their names. All may be present from the start; who is not has a row of zeros.
    capacities : array_like or Series, shape (m,)
        Positive. A Series names the resources.
    rule : CreditRule, optional
        Or its fields by keyword.

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
    >>> copy = CbDrf.from_dict(pool.to_dict())
    >>> copy.release(1.0); copy.credit_factor
    array([1., 1.])
    """

    def __init__(
        self, users: int | Sequence[Hashable], capacities: Any, *, rule: CreditRule | None = None, **terms: Any
    ) -> None:
        if rule is not None and (terms or not isinstance(rule, CreditRule)):
            raise InvalidInput("rule", "must be a CreditRule, and not be given together with its fields", rule)
        unknown = set(terms) - set(CreditRule.__dataclass_fields__)
        if unknown:
            raise InvalidInput(", ".join(sorted(unknown)), "must be a field of CreditRule", "an unknown keyword")
        super().__init__(users, capacities)
        n, m = len(self), len(self._capacities)
        if "rho" in terms:
            terms["rho"] = by_name(terms["rho"], self._users, "rho")
        self._rule = rule or CreditRule(**terms)
        if np.shape(self._rule.rho) not in ((), (n,)):
            raise InvalidInput("rho", f"must be one number or have shape ({n},)", np.shape(self._rule.rho))
        self._credit += self._rule.initial_credit
        self._held = np.zeros(m)
        self._demands = np.zeros((n, m))
        self._tasks = np.zeros(n)
        self._granted = False

    def __repr__(self) -> str:
        good = int((self.credit_factor == 1).sum())
        return f"CbDrf({len(self)} nodes, {good} in good standing, phase {self.phases})"

    @property
    def rule(self) -> CreditRule:
        return self._rule

    def _opened(self) -> tuple[FloatArray, FloatArray]:
        factor, pool = np.empty(len(self)), np.empty(len(self._capacities))
        open_phase(self._credit, self._held, self._capacities, terms_of(self._rule), factor, pool)
        return factor, pool

    @property
    def credit_factor(self) -> FloatArray:
        """Factor psi of each node, shape (n,)."""
        return self._opened()[0]

    @property
    def pool(self) -> FloatArray:
        """What this phase has to share, shape (m,): less than 1e-12 of a capacity counts as nothing."""
        return self._opened()[1]

    def phase(self, demands: Any) -> Allocation:
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
        if self._granted:
            raise InvalidInput("demands", "must wait: tell release() first how the phase ended", f"phase {self.phases}")
        values = self._matched(demands, "demands").values
        factor, pool = self._opened()
        tasks, _, stops = granted(values, factor, pool, terms_of(self._rule))
        self._demands, self._tasks, self._granted = values, tasks, True
        numbers = tasks.copy(), values.copy(), pool, np.full(len(self), np.inf), stops
        return phase_allocation(*numbers, self._users, self._resources, f"cbdrf, {self._rule.grant}", "credit")

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
        n, m = self._demands.shape
        if not self._granted:
            raise InvalidInput("ratios", "must wait: nothing has been shared out in this phase", f"phase {self.phases}")
        if isinstance(ratios, pd.Series):
            ratios = per_user(ratios, n, self._users, "ratios")
        elif isinstance(ratios, pd.DataFrame):
            ratios = self._matched(ratios, "ratios").values
        given = as_ratios(ratios, (n,), "ratios")
        if given.shape not in ((), (n,), (n, m)):
            raise InvalidInput("ratios", f"must be one number or have shape ({n},) or ({n}, {m})", given.shape)
        threshold = self._rule.rho if rho is None else as_ratios(by_name(rho, self._users, "rho"), (n,), "rho")
        if np.shape(threshold) not in ((), (n,)):
            raise InvalidInput("rho", f"must be one number or have shape ({n},)", np.shape(threshold))
        each = given if given.ndim == 2 else np.array(np.broadcast_to(given[..., None], (n, 1)))
        after, missing, ones, complied = np.empty(n), np.empty(m), np.empty(n), np.empty(n, dtype=bool)
        settled = np.array(np.broadcast_to(threshold, n)), self._credit, terms_of(self._rule), ones, complied
        settle_phase(self._demands, self._capacities, self._tasks, each, *settled, after, missing)
        self._credit, self._held, self._granted = after, missing, False
        self.phases += 1

    def _state(self) -> dict[str, Any]:
        return {
            "users": names_for_json(self._users, "users") or len(self),
            "resources": names_for_json(self._resources, "resources"),
            "capacities": self._capacities.tolist(),
            "rule": {**asdict(self._rule), "rho": np.asarray(self._rule.rho).tolist()},
            "credit": self._credit.tolist(),
            "held": self._held.tolist(),
            "demands": self._demands.tolist(),
            "tasks": self._tasks.tolist(),
            "granted": self._granted,
            "phases": self.phases,
        }

    @classmethod
    def _restored(cls, state: dict[str, Any]) -> CbDrf:
        self = cls(state["users"], state["capacities"], **state["rule"])
        self._resources = state["resources"] and tuple(state["resources"])
        for name in ("credit", "held", "demands", "tasks"):
            setattr(self, f"_{name}", np.array(state[name], dtype=np.float64))
        self._granted, self.phases = state["granted"], state["phases"]
        return self
