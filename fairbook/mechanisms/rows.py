"""The mechanisms in a table: what each is called, what it takes, and what its paper leaves open."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from fairbook.mechanisms.readings import READINGS, Reading

__all__ = ["Mechanism", "registry"]


class Mechanism(NamedTuple):
    """A row of the registry.

    Attributes
    ----------
    name : str
        As in ``fairbook``.
    label : str
        As in tables and figures.
    kind : {"pool", "arrivals", "phases", "periods", "machines", "clusters"}
        What is shared out: one pool, a pool that users bring one after another, a pool phase after phase with credits,
        machines period after period, machines, clusters.
    about : str
        One line of help.
    engine : str
        How it is computed.
    module : str
        Below ``fairbook.mechanisms``.
    weights : {"parts", "amounts"} or None
        Parts of their sum, whatever that is; or amounts that users bring. None: everyone has the same.
    in_order : bool
        Whether it matters who comes first in the table: in time, or where users tie.
    online : str or None
        The stateful form in ``fairbook``, if there is one.
    """

    name: str
    label: str
    kind: Literal["pool", "arrivals", "phases", "periods", "machines", "clusters"]
    about: str
    engine: str
    module: str
    weights: Literal["parts", "amounts"] | None
    in_order: bool
    online: str | None = None

    def _loaded(self, name: str) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(importlib.import_module(f"fairbook.mechanisms.{self.module}"), name)
        return found

    @property
    def function(self) -> Callable[..., Any]:
        """The mechanism itself, loaded on first use."""
        return self._loaded(self.name)

    @property
    def rule(self) -> Callable[..., Any]:
        """The rule itself, in fractions or in whatever numbers it is given."""
        return self._loaded(f"{self.name}_rule")

    @property
    def takes(self) -> tuple[str, ...]:
        """Names of all arguments, the data first."""
        return tuple(inspect.signature(self.function).parameters)

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the arguments without a default."""
        given = inspect.signature(self.function).parameters
        return tuple(name for name, one in given.items() if one.default is one.empty)

    @property
    def readings(self) -> dict[str, Reading]:
        """Options that the paper leaves open, by argument."""
        return READINGS.get(self.name, {})


_FILLING = "progressive filling, compiled"
_STACK = "a stack of groups of equal level, compiled"
_TASKS = "whole tasks one by one, compiled"

#: By name.
registry: dict[str, Mechanism] = {
    row.name: row
    for row in (
        Mechanism(
            "drf",
            "DRF",
            "pool",
            "weighted dominant resource fairness, divisible tasks",
            _FILLING,
            "pool.drf",
            "parts",
            in_order=False,
        ),
        Mechanism(
            "drf_by_task",
            "DRF, task by task",
            "pool",
            "the same in whole tasks, one at a time",
            "a heap of levels",
            "pool.drf",
            "parts",
            in_order=True,
        ),
        Mechanism(
            "sequential_minmax",
            "SequentialMinMax",
            "pool",
            "whole tasks, each to whom stands lowest after it: sharing incentive, envy up to a task",
            "a heap of levels",
            "pool.sequential_minmax",
            "parts",
            in_order=True,
        ),
        Mechanism(
            "dmfa_srq",
            "DMFA-SRQ",
            "arrivals",
            "users arrive in the order of the file, bring their weight, lose nothing",
            _STACK,
            "pool.dmfa_srq",
            "amounts",
            in_order=True,
            online="DmfaSrq",
        ),
        Mechanism(
            "dynamic_drf",
            "dynamic DRF",
            "arrivals",
            "the same with an equal part for everyone",
            _STACK,
            "pool.dynamic_drf",
            None,
            in_order=True,
        ),
        Mechanism(
            "static_optimum",
            "static optimum",
            "arrivals",
            "everything shared out anew at each arrival",
            "a closed form",
            "pool.dmfa_srq",
            "amounts",
            in_order=True,
        ),
        Mechanism(
            "cbdrf",
            "cbDRF",
            "phases",
            "DRF scaled by a credit that falls where a user does not release what it was granted",
            _FILLING,
            "credit.cbdrf",
            None,
            in_order=False,
            online="CbDrf",
        ),
        Mechanism(
            "karma",
            "Karma",
            "phases",
            "who takes less than its guarantee earns credit, and borrows with it later",
            "progressive filling, each from a moment of its own",
            "credit.karma",
            None,
            in_order=False,
            online="Karma",
        ),
        Mechanism(
            "tv_drf",
            "TV-DRF",
            "periods",
            "users bring parts of machines, and fairness remembers earlier periods",
            "whole tasks one by one, compiled; or the fluid optimum",
            "tv_drf.tv_drf",
            "parts",
            in_order=True,
        ),
        Mechanism(
            "gdrf",
            "GDRF",
            "machines",
            "global dominant resource fairness: rounds, machines of the user's type, fairness value f (GDRF, 2016)",
            _TASKS,
            "placing.gdrf",
            None,
            in_order=True,
        ),
        Mechanism(
            "drfh",
            "DRFH",
            "machines",
            "lowest dominant share of all machines first; best fit, first fit, or the fluid optimum",
            _TASKS + "; a linear program where fluid",
            "placing.drfh",
            "parts",
            in_order=True,
        ),
        Mechanism(
            "mdrf",
            "MDRF",
            "machines",
            "lowest dominant share first, best suited machine: a stand-in for MDRF",
            _TASKS,
            "placing.mdrf",
            None,
            in_order=True,
        ),
        Mechanism(
            "per_server_drf",
            "DRF per server",
            "machines",
            "DRF on each machine by itself",
            _TASKS,
            "placing.per_server_drf",
            "parts",
            in_order=True,
        ),
        Mechanism(
            "virtual_cluster",
            "virtual clusters",
            "clusters",
            "virtual clusters on physical ones: the largest least fraction of what is wanted",
            "branch and bound, or list rules",
            "clusters.virtual_cluster",
            None,
            in_order=True,
            online="VirtualClusterPool",
        ),
    )
}
