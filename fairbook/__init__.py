"""Fair division of several resources: the mechanisms of five papers, and of a sixth as the worked
example, made executable and checked.

>>> import fairbook as fb
>>> fb.drf([[1, 4], [3, 1]], capacities=[9, 18]).tasks
array([3., 2.])
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fairbook.errors import (
    FairbookError as FairbookError,
    InvalidInput as InvalidInput,
    MissingDependency as MissingDependency,
    TraceError as TraceError,
)
from fairbook.mechanisms.rows import registry as _registry

if TYPE_CHECKING:  # the names of _HOMES, for checkers of types
    from fairbook import (
        mechanisms as mechanisms,
        metrics as metrics,
        properties as properties,
        sweeps as sweeps,
        traces as traces,
    )
    from fairbook.exports import read_export as read_export
    from fairbook.mechanisms.clusters.online import VirtualClusterPool as VirtualClusterPool
    from fairbook.mechanisms.clusters.virtual_cluster import virtual_cluster as virtual_cluster
    from fairbook.mechanisms.credit.cbdrf import cbdrf as cbdrf
    from fairbook.mechanisms.credit.cbdrf_phase import grant_tasks as grant_tasks
    from fairbook.mechanisms.credit.cbdrf_run import CreditRun as CreditRun
    from fairbook.mechanisms.credit.credit_rule import CreditRule as CreditRule
    from fairbook.mechanisms.credit.karma import karma as karma, karma_phase as karma_phase
    from fairbook.mechanisms.credit.online import CbDrf as CbDrf, Karma as Karma
    from fairbook.mechanisms.placing.drfh import drfh as drfh
    from fairbook.mechanisms.placing.gdrf import gdrf as gdrf
    from fairbook.mechanisms.placing.mdrf import mdrf as mdrf
    from fairbook.mechanisms.placing.per_server_drf import per_server_drf as per_server_drf
    from fairbook.mechanisms.pool.dmfa_srq import dmfa_srq as dmfa_srq, static_optimum as static_optimum
    from fairbook.mechanisms.pool.drf import drf as drf, drf_by_task as drf_by_task
    from fairbook.mechanisms.pool.dynamic_drf import dynamic_drf as dynamic_drf
    from fairbook.mechanisms.pool.online import DmfaSrq as DmfaSrq
    from fairbook.mechanisms.pool.sequential_minmax import sequential_minmax as sequential_minmax
    from fairbook.mechanisms.tv_drf.run import TvDrfRun as TvDrfRun
    from fairbook.mechanisms.tv_drf.tv_drf import tv_drf as tv_drf
    from fairbook.model.allocation import Allocation as Allocation
    from fairbook.model.clusters import VirtualClusters as VirtualClusters
    from fairbook.model.dynamic import DynamicAllocation as DynamicAllocation
    from fairbook.model.fluid_placement import FluidPlacement as FluidPlacement
    from fairbook.model.instance import Instance as Instance
    from fairbook.model.placement import Placement as Placement

__version__ = "0.1.0"
__released__ = "unreleased"


_ROOMS = ("mechanisms", "metrics", "properties", "sweeps", "traces")


#: Public names besides the mechanisms, by the module that is loaded when one of them is used first.
_NAMES = {
    "exports": "read_export",
    "mechanisms.clusters.online": "VirtualClusterPool",
    "mechanisms.credit.cbdrf_phase": "grant_tasks",
    "mechanisms.credit.cbdrf_run": "CreditRun",
    "mechanisms.credit.credit_rule": "CreditRule",
    "mechanisms.credit.karma": "karma_phase",
    "mechanisms.credit.online": "CbDrf Karma",
    "mechanisms.pool.online": "DmfaSrq",
    "mechanisms.tv_drf.run": "TvDrfRun",
    "model.allocation": "Allocation",
    "model.clusters": "VirtualClusters",
    "model.dynamic": "DynamicAllocation",
    "model.fluid_placement": "FluidPlacement",
    "model.instance": "Instance",
    "model.placement": "Placement",
}
_HOMES = {row.name: f"mechanisms.{row.module}" for row in _registry.values()} | {
    name: module for module, names in _NAMES.items() for name in names.split()
}

__all__ = sorted(["__version__", "FairbookError", "InvalidInput", "MissingDependency", "TraceError", *_ROOMS, *_HOMES])


def __getattr__(name: str) -> Any:
    # Everything is loaded on first use: `fairbook --help` answers before numpy, pandas and numba are in. Ten lines, for
    # which lazy-loader would be a dependency of all who install the package.
    if name in _ROOMS:
        return importlib.import_module(f"fairbook.{name}")
    if name in _HOMES:
        globals()[name] = found = getattr(importlib.import_module(f"fairbook.{_HOMES[name]}"), name)
        return found
    raise AttributeError(f"module 'fairbook' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
