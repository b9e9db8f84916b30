"""Pictures of results, as one draws them on a board; every result has ``plot()``.

They need matplotlib (the extra ``plot``). The colours are six of Okabe and Ito's and two of Tol's, both
made with the colour-blind in mind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbook.errors import MissingDependency
from fairbook.model.allocation import Allocation
from fairbook.model.clusters import VirtualClusters
from fairbook.model.dynamic import DynamicAllocation
from fairbook.model.inputs import FloatArray
from fairbook.model.phased import PhasedRun
from fairbook.model.placement import Placement

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot"]

_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#332288", "#882255")
_NAMED = len(_COLOURS)  # more users than colours are not told apart, and have no legend
_BARS = 30  # more machines than this are drawn as lines, from the fullest to the emptiest


def plot(result: Any, ax: Axes | None = None) -> Axes:
    """Draw a result.

    One pool: which part of each resource every user has. Arrivals: levels after each arrival. Phases and periods:
    credit, or what the mechanism keeps account of. Machines: how full each is. Clusters: who has how many VMs where.

    Parameters
    ----------
    result : Allocation, DynamicAllocation, CreditRun, KarmaRun, TvDrfRun, Placement, FluidPlacement or VirtualClusters
    ax : matplotlib Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    MissingDependency
        Where matplotlib is not installed.
    """
    if ax is None:
        try:
            from matplotlib import pyplot
        except ImportError:
            raise MissingDependency("plot() needs matplotlib: pip install 'fairbook[plot]'") from None
        ax = pyplot.figure(layout="constrained").add_subplot()
    if isinstance(result, Allocation):
        parts = result.tasks[:, None] * result.demands / result.capacities
        _stack(ax, parts.T, result.resources, result.users, "part of the resource")
    elif isinstance(result, VirtualClusters):
        _stack(ax, result.by_cluster.T, result.clusters, result.users, "VMs")
        sizes = result.requests.capacities
        ax.bar([str(name) for name in result.clusters], sizes, fill=False, ec="k", ls=":")
    elif isinstance(result, DynamicAllocation):
        n = len(result)
        levels = np.full((n, n), np.nan)
        for k in range(1, n + 1):
            levels[k - 1, :k] = result.levels_at(k)
        _lines(ax, levels, result.users, "arrival", "level", first=1)
    elif isinstance(result, PhasedRun):
        _lines(ax, getattr(result, result.drawn), result.users, result.step, result.drawn.replace("_", " "))
    else:
        names = result.classes
        if isinstance(result, Placement):
            parts, of, names = result.machine_utilisation, "machine", [names[k] for k in result.cell.machine_class]
        else:
            capacities = result.cell.class_capacities
            parts, of = result.class_use / np.where(capacities > 0, capacities, 1), "class of machines"
        _filled(ax, parts, result.resources, of, names)
    return ax


def _stack(ax: Axes, parts: FloatArray, bars: Sequence[Any], users: Sequence[Any], amount: str) -> None:
    """Draw a bar for each row of ``parts``, in pieces for its columns."""
    below = np.zeros(len(bars))
    for i, user in enumerate(users):
        ax.bar([str(bar) for bar in bars], parts[:, i], bottom=below, color=_COLOURS[i % _NAMED], ec="w", label=user)
        below += parts[:, i]
    ax.set_ylabel(amount)
    _legend(ax, users)


def _lines(ax: Axes, values: FloatArray, users: Sequence[Any], step: str, amount: str, first: int = 0) -> None:
    """Draw a line for each column of ``values``, over its rows."""
    for i, user in enumerate(users):
        ax.plot(range(first, first + len(values)), values[:, i], ".-", color=_COLOURS[i % _NAMED], label=user)
    ax.set(xlabel=step, ylabel=amount)
    ax.locator_params(axis="x", integer=True)
    _legend(ax, users)


def _filled(ax: Axes, parts: FloatArray, resources: Sequence[Any], of: str, names: Sequence[Any]) -> None:
    """Draw how full each machine is: side by side, or where there are many each resource from the fullest on."""
    many, wide = len(parts) > _BARS, 0.8 / len(resources)
    for j, name in enumerate(resources):
        if many:
            ax.plot(np.sort(parts[:, j])[::-1], color=_COLOURS[j % _NAMED], label=name)
        else:
            middle = (j - (len(resources) - 1) / 2) * wide
            ax.bar(np.arange(len(parts)) + middle, parts[:, j], wide, color=_COLOURS[j % _NAMED], label=name)
    if not many:
        ax.set_xticks(range(len(parts)), [str(name) for name in names], rotation=90 if len(parts) > 8 else 0)
    ax.set(xlabel=f"{of}, from the fullest on" if many else of, ylabel="part in use")
    _legend(ax, resources)


def _legend(ax: Axes, names: Sequence[Any]) -> None:
    if len(names) <= _NAMED:
        ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=4)  # above what is drawn
