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
    from fairbook.mechanisms.cbdrf import CbDrf, CreditRule, CreditRun, cbdrf, grant_tasks
    from fairbook.mechanisms.dmfa_srq import DmfaSrq, dmfa_srq, static_optimum
    from fairbook.mechanisms.drf import drf, drf_by_task
    from fairbook.mechanisms.drfh import drfh
    from fairbook.mechanisms.dynamic_drf import dynamic_drf
    from fairbook.mechanisms.gdrf import gdrf
    from fairbook.mechanisms.karma import karma, karma_phase
    from fairbook.mechanisms.karma_pool import Karma
    from fairbook.mechanisms.mdrf import mdrf
    from fairbook.mechanisms.per_server_drf import per_server_drf
    from fairbook.mechanisms.sequential_minmax import sequential_minmax
    from fairbook.mechanisms.tv_drf import TvDrfRun, tv_drf
    from fairbook.mechanisms.virtual_cluster import virtual_cluster
    from fairbook.mechanisms.virtual_cluster_pool import VirtualClusterPool
    from fairbook.model.allocation import Allocation
    from fairbook.model.clusters import VirtualClusters
    from fairbook.model.dynamic import DynamicAllocation
    from fairbook.model.instance import Instance
    from fairbook.model.placement import FluidPlacement, Placement

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
    "Allocation": "model.allocation",
    "DynamicAllocation": "model.dynamic",
    "Instance": "model.instance",
    "CbDrf": "mechanisms.cbdrf",
    "CreditRule": "mechanisms.cbdrf",
    "CreditRun": "mechanisms.cbdrf",
    "cbdrf": "mechanisms.cbdrf",
    "grant_tasks": "mechanisms.cbdrf",
    "Karma": "mechanisms.karma_pool",
    "karma": "mechanisms.karma",
    "karma_phase": "mechanisms.karma",
    "TvDrfRun": "mechanisms.tv_drf",
    "tv_drf": "mechanisms.tv_drf",
    "DmfaSrq": "mechanisms.dmfa_srq",
    "dmfa_srq": "mechanisms.dmfa_srq",
    "static_optimum": "mechanisms.dmfa_srq",
    "drf": "mechanisms.drf",
    "drf_by_task": "mechanisms.drf",
    "dynamic_drf": "mechanisms.dynamic_drf",
    "drfh": "mechanisms.drfh",
    "gdrf": "mechanisms.gdrf",
    "mdrf": "mechanisms.mdrf",
    "per_server_drf": "mechanisms.per_server_drf",
    "sequential_minmax": "mechanisms.sequential_minmax",
    "VirtualClusterPool": "mechanisms.virtual_cluster_pool",
    "VirtualClusters": "model.clusters",
    "virtual_cluster": "mechanisms.virtual_cluster",
    "FluidPlacement": "model.placement",
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
