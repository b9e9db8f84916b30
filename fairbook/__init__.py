"""Fair division of several resources: the mechanisms of five papers, made executable and checked.

>>> import fairbook as fb
>>> fb.drf([[1, 4], [3, 1]], capacities=[9, 18]).tasks
array([3., 2.])
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fairbook.errors import FairbookError, InvalidInput, MissingDependency, StaleResult, TraceError

if TYPE_CHECKING:
    from fairbook import claims, figures, metrics, oracles, properties, results, smt, studies, tables, traces
    from fairbook.mechanisms.dmfa_srq import DmfaSrq, dmfa_srq, static_optimum
    from fairbook.mechanisms.drf import drf, drf_by_task
    from fairbook.mechanisms.dynamic_drf import dynamic_drf
    from fairbook.model import Allocation, DynamicAllocation, Pool, Users

__version__ = "0.1.0"

__all__ = [
    "Allocation", "DmfaSrq", "DynamicAllocation", "FairbookError", "InvalidInput", "MissingDependency", "Pool",
    "StaleResult", "TraceError", "Users", "__version__", "claims", "dmfa_srq", "drf", "drf_by_task", "dynamic_drf",
    "figures", "metrics", "oracles", "properties", "results", "smt", "static_optimum", "studies", "tables", "traces",
]

_ROOMS = ("claims", "figures", "metrics", "oracles", "properties", "results", "smt", "studies", "tables", "traces")


_HOMES = {
    "Allocation": "model", "DynamicAllocation": "model", "Pool": "model", "Users": "model",
    "DmfaSrq": "mechanisms.dmfa_srq", "dmfa_srq": "mechanisms.dmfa_srq", "static_optimum": "mechanisms.dmfa_srq",
    "drf": "mechanisms.drf", "drf_by_task": "mechanisms.drf", "dynamic_drf": "mechanisms.dynamic_drf",
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
