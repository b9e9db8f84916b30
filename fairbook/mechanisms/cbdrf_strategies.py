"""What nodes of cbDRF release: numbers, or strategies that see what their node was granted."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fairbook.errors import InvalidInput
from fairbook.model.inputs import (
    FloatArray,
    Names,
    as_floats,
    check_fractions,
    labels_of,
    number_of_dimensions,
    order_of,
    reordered,
)
from fairbook.model.result import labels_or_positions


class NodeView(NamedTuple):
    """What a strategy sees of its node at the end of a phase.

    Attributes
    ----------
    phase : int
        From 0.
    node : int
        Position.
    user : hashable
        Name, or position where there are no names.
    credit, credit_factor : float
        In force in this phase.
    tasks, drf_tasks : float
        Granted, and what DRF would have granted.
    demand, pool : ndarray, shape (m,)
        Resource per task, and the pool of this phase.
    """

    phase: int
    node: int
    user: Hashable
    credit: float
    credit_factor: float
    tasks: float
    drf_tasks: float
    demand: FloatArray
    pool: FloatArray


Strategy = Callable[[NodeView], Any]


def as_ratios(values: Any, shape: tuple[int, ...], argument: str) -> FloatArray:
    ratios = as_floats(values, argument, (0, 1, 2), f"must be one number or have shape {shape}")
    check_fractions(ratios, argument)
    return ratios


def by_name(values: Any, users: Names | None, argument: str) -> Any:
    """Put the nodes of a Series, or of the columns of a DataFrame, in the order of the demands."""
    if isinstance(values, pd.Series) and users is not None:
        return reordered(values, users, argument, "users")
    if isinstance(values, pd.DataFrame):
        order = order_of(labels_of(values.columns, f"{argument}.columns"), users, f"{argument}.columns", "users")
        return values if order is None else values.iloc[:, order]
    return values


def behaviour(released: Any, T: int, n: int, m: int, users: Names | None) -> tuple[FloatArray, dict[int, Strategy]]:
    """Give release ratios of shape (T, n, m) or (T, n, 1), NaN where a strategy decides, and the strategies."""
    if isinstance(released, Mapping):
        names = labels_or_positions(users, n)
        if unknown := [name for name in released if name not in names]:
            raise InvalidInput("released", "must name nodes", unknown)
        released = [released.get(name, 1.0) for name in names]
    elif callable(released):
        released = [released] * n
    released = by_name(released, users, "released")
    if isinstance(released, (list, tuple)) and (
        any(map(callable, released)) or len(set(map(number_of_dimensions, released))) > 1
    ):
        if len(released) != n:
            raise InvalidInput("released", f"must have one strategy for each of the {n} nodes", len(released))
        fixed = np.full((T, n, 1), np.nan)
        strategies = {}
        for i, one in enumerate(released):
            if callable(one):
                strategies[i] = one
            else:
                ratios = as_ratios(one, (T,), f"released[{i}]")
                if ratios.ndim > 1 or ratios.shape not in ((), (T,)):
                    raise InvalidInput("released", f"must be a strategy, one ratio, or {T} of them", one, (i,))
                fixed[:, i, 0] = ratios
        return fixed, strategies
    ratios = as_floats(
        released,
        "released",
        (0, 1, 2, 3),
        f"must be one ratio, or have shape ({n},), ({T}, {n}) or ({T}, {n}, {m}), or be a list of {n} strategies",
    )
    check_fractions(ratios, "released")
    if ratios.shape not in ((), (n,), (T, n), (T, n, m)):
        raise InvalidInput(
            "released",
            f"must be one ratio, or have shape ({n},), ({T}, {n}) or ({T}, {n}, {m})",
            f"shape {ratios.shape}",
        )
    ratios = ratios if ratios.ndim == 3 else ratios[..., None]
    return np.broadcast_to(ratios, (T, n, ratios.shape[-1])), {}


def answer(strategy: Strategy, view: NodeView) -> FloatArray:
    """Ask a strategy for its ratio of a phase, or for those of the resources."""
    m, where = len(view.pool), f"released[{view.node}] in phase {view.phase}"
    ratios = as_ratios(strategy(view), (m,), where)
    if ratios.shape not in ((), (m,)):
        raise InvalidInput(where, f"must be one ratio or {m} of them", ratios.tolist())
    return ratios
