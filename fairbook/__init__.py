"""Fair division of several resources: the mechanisms of five papers, and of a sixth as the worked
example, made executable and checked.

>>> import fairbook as fb
>>> fb.drf([[1, 4], [3, 1]], capacities=[9, 18]).tasks
array([3., 2.])
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fairbook.errors import FairbookError, InvalidInput, MissingDependency, TraceError

if TYPE_CHECKING:
    from fairbook import mechanisms, metrics, properties, sweeps, traces
    from fairbook.exports import read_export
    from fairbook.mechanisms.clusters.online import VirtualClusterPool
    from fairbook.mechanisms.clusters.virtual_cluster import virtual_cluster
    from fairbook.mechanisms.credit.cbdrf import cbdrf
    from fairbook.mechanisms.credit.cbdrf_phase import grant_tasks
    from fairbook.mechanisms.credit.cbdrf_run import CreditRun
    from fairbook.mechanisms.credit.credit_rule import CreditRule
    from fairbook.mechanisms.credit.karma import karma, karma_phase
    from fairbook.mechanisms.credit.online import CbDrf, Karma
    from fairbook.mechanisms.placing.drfh import drfh
    from fairbook.mechanisms.placing.gdrf import gdrf
    from fairbook.mechanisms.placing.mdrf import mdrf
    from fairbook.mechanisms.placing.per_server_drf import per_server_drf
    from fairbook.mechanisms.pool.dmfa_srq import dmfa_srq, static_optimum
    from fairbook.mechanisms.pool.drf import drf, drf_by_task
    from fairbook.mechanisms.pool.dynamic_drf import dynamic_drf
    from fairbook.mechanisms.pool.online import DmfaSrq
    from fairbook.mechanisms.pool.sequential_minmax import sequential_minmax
    from fairbook.mechanisms.tv_drf.run import TvDrfRun
    from fairbook.mechanisms.tv_drf.tv_drf import tv_drf
    from fairbook.model.allocation import Allocation
    from fairbook.model.clusters import VirtualClusters
    from fairbook.model.dynamic import DynamicAllocation
    from fairbook.model.fluid_placement import FluidPlacement
    from fairbook.model.instance import Instance
    from fairbook.model.placement import Placement

__version__ = "0.1.0"
__released__ = "unreleased"

__all__ = [
    "Allocation",
    "CbDrf",
    "CreditRule",
    "CreditRun",
    "DmfaSrq",
    "DynamicAllocation",
    "FairbookError",
    "FluidPlacement",
    "Instance",
    "InvalidInput",
    "Karma",
    "MissingDependency",
    "Placement",
    "TraceError",
    "TvDrfRun",
    "VirtualClusterPool",
    "VirtualClusters",
    "__version__",
    "cbdrf",
    "dmfa_srq",
    "drf",
    "drf_by_task",
    "drfh",
    "dynamic_drf",
    "gdrf",
    "grant_tasks",
    "karma",
    "karma_phase",
    "mdrf",
    "mechanisms",
    "metrics",
    "per_server_drf",
    "properties",
    "read_export",
    "sequential_minmax",
    "static_optimum",
    "sweeps",
    "traces",
    "tv_drf",
    "virtual_cluster",
]

_ROOMS = ("mechanisms", "metrics", "properties", "sweeps", "traces")


_HOMES = {
    "read_export": "exports",
    "VirtualClusterPool": "mechanisms.clusters.online",
    "virtual_cluster": "mechanisms.clusters.virtual_cluster",
    "CreditRule": "mechanisms.credit.credit_rule",
    "cbdrf": "mechanisms.credit.cbdrf",
    "grant_tasks": "mechanisms.credit.cbdrf_phase",
    "karma": "mechanisms.credit.karma",
    "karma_phase": "mechanisms.credit.karma",
    "CbDrf": "mechanisms.credit.online",
    "Karma": "mechanisms.credit.online",
    "drfh": "mechanisms.placing.drfh",
    "gdrf": "mechanisms.placing.gdrf",
    "mdrf": "mechanisms.placing.mdrf",
    "per_server_drf": "mechanisms.placing.per_server_drf",
    "dmfa_srq": "mechanisms.pool.dmfa_srq",
    "static_optimum": "mechanisms.pool.dmfa_srq",
    "drf": "mechanisms.pool.drf",
    "drf_by_task": "mechanisms.pool.drf",
    "dynamic_drf": "mechanisms.pool.dynamic_drf",
    "DmfaSrq": "mechanisms.pool.online",
    "sequential_minmax": "mechanisms.pool.sequential_minmax",
    "TvDrfRun": "mechanisms.tv_drf.tv_drf",
    "tv_drf": "mechanisms.tv_drf.tv_drf",
    "Allocation": "model.allocation",
    "VirtualClusters": "model.clusters",
    "CreditRun": "mechanisms.credit.cbdrf_run",
    "DynamicAllocation": "model.dynamic",
    "FluidPlacement": "model.fluid_placement",
    "Instance": "model.instance",
    "Placement": "model.placement",
}


def __getattr__(name: str) -> Any:
    # Everything is loaded on first use: `fairbook --help` answers before numpy, pandas and numba are in.
    if name in _ROOMS:
        return importlib.import_module(f"fairbook.{name}")
    if name in _HOMES:
        globals()[name] = found = getattr(importlib.import_module(f"fairbook.{_HOMES[name]}"), name)
        return found
    raise AttributeError(f"module 'fairbook' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
