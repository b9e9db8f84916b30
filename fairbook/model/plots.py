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
from fairbook.model.fluid_placement import FluidPlacement
from fairbook.model.inputs import FloatArray, IntArray
from fairbook.model.phased import PhasedRun
from fairbook.model.placement import Placement
from fairbook.model.result import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot"]

_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#332288", "#882255")
_OTHERS = "#BBBBBB"  # of more users than colours all others go together
_BARS = 40  # more than this stand without gaps and names, from the fullest to the emptiest
_LONGEST = 24  # letters of a name
_BESIDE: dict[str, Any] = {"frameon": False, "loc": "upper left", "bbox_to_anchor": (1, 1)}  # where a legend stands


def plot(result: Any, ax: Axes | None = None) -> Axes:
    """Draw a result.

    One pool: which part of each resource every user has. Arrivals: levels after each arrival. Phases and periods:
    credit, or what the mechanism keeps account of. Machines: who uses how much of each. Clusters: who has how many VMs
    where. Eight users have a colour each; of more, all others are grey, and the legend says how many. Users whose lines
    coincide share one; where lines do so for a while, one is drawn wider behind the other.

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
        parts = (result.tasks[:, None] * result.demands / result.capacities)[..., None]
        _bars(ax, result, parts, result.resources, "resource", "part of the resource")
    elif isinstance(result, VirtualClusters):
        _bars(ax, result, result.by_cluster[..., None], result.clusters, "cluster", "VMs", result.requests.capacities)
    elif isinstance(result, FluidPlacement):
        parts = result.by_class.T[:, :, None] * result.cell.demands[:, None] / _divisor(result.cell.class_capacities)
        _bars(ax, result, parts, result.classes, "class of machines", "part in use")
    elif isinstance(result, Placement):
        cell, where = result.cell, (result.placed_user, result.placed_machine)
        parts = cell.demands[where[0]] / _divisor(cell.machines)[cell.machine_class[where[1]]]
        names = [result.classes[k] for k in cell.machine_class]
        _bars(ax, result, parts, names, "machine", "part in use", where=where)
    elif isinstance(result, DynamicAllocation):
        n = len(result)
        levels = np.full((n, n), np.nan)
        for k in range(1, n + 1):
            levels[k - 1, :k] = result.levels_at(k)
        _lines(ax, levels, result.users, "arrival", "level", first=1)
    elif isinstance(result, PhasedRun):
        _lines(ax, getattr(result, result.drawn), result.users, result.step, result.drawn.replace("_", " "))
    count = len(result.users)
    by = f"virtual_cluster, {result.method}" if isinstance(result, VirtualClusters) else result.mechanism
    ax.set_title(f"{by}, {count} user{'s' * (count > 1)}")
    return ax


def _text(name: Any) -> str:
    """Write a name as it is: no formula, no control characters, and not all of what is very long."""
    text = printable(str(name)).replace("\n", r"\n")
    return (text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}...").replace("$", r"\$")


def _divisor(sizes: FloatArray) -> FloatArray:
    """Give what parts are parts of; of a resource that a machine lacks nothing is in use."""
    return np.where(sizes > 0, sizes, 1)


def _pieces(sizes: FloatArray, users: Sequence[Any]) -> tuple[IntArray, list[str]]:
    """Say to which piece of a picture each user belongs, its own or that of all others, and what the pieces are called.

    Of many, the largest have one of their own.
    """
    own = np.sort(np.argsort(-sizes, kind="stable")[: len(_COLOURS)])
    piece, others = np.full(len(users), len(own)), len(users) - len(own)
    piece[own] = np.arange(len(own))
    return piece, [_text(users[i]) for i in own] + [f"{others} others together"] * (others > 0)


def _bars(
    ax: Axes,
    result: Any,
    parts: FloatArray,
    names: Sequence[Any],
    of: str,
    amount: str,
    sizes: FloatArray | None = None,
    where: tuple[Any, ...] | None = None,
) -> None:
    """Stack what each user has, g bars side by side for each name, and draw the frames that they fill.

    ``parts`` has the shape (n, B, g), or (E, g) beside ``where``, which tells user and bar of each of E entries. Of
    many bars the fullest of each name is drawn.
    """
    user, *bar = (np.arange(len(parts)),) if where is None else where
    own: FloatArray = np.bincount(user, parts.sum(axis=tuple(range(1, parts.ndim))), len(result.users)).astype(float)
    piece, labels = _pieces(own, result.users)
    count, side = len(names), parts.shape[-1]
    pieces = np.zeros((len(labels), count, side))
    np.add.at(pieces, (piece[user], *bar), parts)
    colours, total = [*_COLOURS[: len(labels)], _OTHERS], pieces.sum(axis=0).round(9)
    if count * side > _BARS:
        fullest = np.take_along_axis(pieces, total.argmax(axis=1)[None, :, None], axis=2)[..., 0]
        order = np.lexsort((*-fullest[::-1], -total.max(axis=1)))
        edges, closed = np.arange(count + 1) - 0.5, [*order, order[-1]]  # a step ends where the next begins
        handles: list[Any] = ax.stackplot(edges, fullest[:, closed], colors=colours, step="post", lw=0)
        if sizes is not None:
            ax.step(edges, sizes[closed], "k:", where="post")
        of += ", from the fullest on" + ", its fullest resource" * (side > 1)
    else:
        wide = 0.8 / side
        middle = (np.arange(count)[:, None] + (np.arange(side) - (side - 1) / 2) * wide).ravel()
        below, handles = np.zeros(count * side), []
        for heights, colour in zip(pieces.reshape(len(pieces), -1), colours):
            handles.append(ax.bar(middle, heights, wide, bottom=below, color=colour, ec="w", lw=0.5))
            below += heights
        if sizes is not None:
            ax.bar(middle, sizes, wide, fill=False, ec="k", ls=":")
        ticks = [_text(name) for name in names]
        ax.set_xticks(range(count), ticks, rotation=90 if count > 8 or count * max(map(len, ticks)) > 50 else 0)
        of += f", a bar each for {', '.join(map(_text, result.resources))}" if side > 1 else ""
    ax.set(xlabel=of, ylabel=amount)
    ax.legend(handles, labels, **_BESIDE)


def _lines(ax: Axes, values: FloatArray, users: Sequence[Any], step: str, amount: str, first: int = 0) -> None:
    """Draw a line for each column of ``values``, over its rows, and one for all that coincide."""
    at, near = range(first, first + len(values)), values / (np.nanmax(np.abs(values)) or 1)
    alike: dict[bytes, list[int]] = {}
    for i in range(len(users)):
        alike.setdefault((near[:, i].round(9) + 0.0).tobytes(), []).append(i)
    groups = sorted(alike.values(), key=len, reverse=True)
    picked = np.unique(np.linspace(0, len(groups) - 1, len(_COLOURS)).round().astype(int))
    shown, others = [groups[k] for k in picked], [i for k in set(range(len(groups))) - {*picked} for i in groups[k]]
    grey = ax.plot(at, values[:, others], color=_OTHERS, lw=0.8)[:1]
    widths, handles, labels = [1.5] * len(shown), [], []
    for k in range(len(shown) - 1, -1, -1):  # what is drawn over a line, for a while, is narrower
        for later in range(k + 1, len(shown)):
            same = np.abs(near[:, shown[k][0]] - near[:, shown[later][0]]) < 1e-9
            if (same[1:] & same[:-1]).any() or same.all():
                widths[k] = max(widths[k], widths[later] + 1.5)
    for group, colour, wide in zip(shown, _COLOURS, widths):
        handles += ax.plot(at, values[:, group[0]], ".-", color=colour, lw=wide, ms=wide + 3)
        few = ", ".join(_text(users[i]) for i in group[:3])
        labels.append(few if len(group) <= 3 else f"{few} and {len(group) - 3} more")
    ax.set(xlabel=step, ylabel=amount)
    ax.locator_params(axis="x", integer=True)
    ax.legend(handles + grey, labels + [f"{len(others)} others"] * len(grey), **_BESIDE)
