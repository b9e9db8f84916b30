"""Fair division of several resources: the mechanisms of five papers, made executable and checked.

>>> import fairbook as fb
>>> fb.drf([[1, 4], [3, 1]], capacities=[9, 18]).tasks
array([3., 2.])
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fairbook.errors import FairbookError, InvalidInput, MissingDependency, StaleResult, TraceError
from fairbook.mechanisms.dmfa_srq import DmfaSrq, dmfa_srq, static_optimum
from fairbook.mechanisms.drf import drf, drf_by_task
from fairbook.mechanisms.dynamic_drf import dynamic_drf
from fairbook.model import Allocation, DynamicAllocation, Pool, Users

if TYPE_CHECKING:
    from fairbook import claims, figures, metrics, oracles, properties, results, smt, studies, tables, traces

__version__ = "0.1.0"

__all__ = [
    "Allocation", "DmfaSrq", "DynamicAllocation", "FairbookError", "InvalidInput", "MissingDependency", "Pool",
    "StaleResult", "TraceError", "Users", "__version__", "claims", "dmfa_srq", "drf", "drf_by_task", "dynamic_drf",
    "figures", "metrics", "oracles", "properties", "results", "smt", "static_optimum", "studies", "tables", "traces",
]

_ROOMS = ("claims", "figures", "metrics", "oracles", "properties", "results", "smt", "studies", "tables", "traces")


def __getattr__(name: str) -> Any:
    if name in _ROOMS:  # loaded on first use: importing the mechanisms alone stays light
        return importlib.import_module(f"fairbook.{name}")
    raise AttributeError(f"module 'fairbook' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
