"""Turning a violation that a search found in floats into a small one in exact fractions, to be checked by hand.

Hypothesis shrinks only what it has drawn itself.
"""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from book.common.instances import Instance
from book.common.search import Statement, lowest

Array = NDArray[Any]


def _simplest(limit: int) -> list[Fraction]:
    """Fractions in (0, 1] with denominators up to ``limit``."""
    return list({Fraction(p, q) for q in range(1, limit + 1) for p in range(1, q + 1)})


def shrink(instance: Instance, margin: Statement, *, max_denominator: int = 12, resize: bool = True) -> Instance | None:
    """Turn a violation in floats into one in few users and small exact fractions that a reader checks by hand.

    Rows are scaled to a largest entry of 1, weights to a smallest of 1; users and resources are dropped while the
    statement stays violated; all numbers are rounded to the coarsest grid on which it is; then each number in turn
    is replaced by the simplest fraction that keeps it violated.

    Parameters
    ----------
    instance : Instance
        What a search found.
    margin : callable
        Instance of fractions -> exact margin (or Finding); negative where violated. For lies:
        ``lambda i: -lie_gain(exact_mechanism, i)``.
    max_denominator : int
        Largest denominator tried; larger grids (up to 10^6) serve only where none of these works.
    resize : bool
        Whether users may be dropped (a mechanism may be made for a fixed number).

    Returns
    -------
    Instance or None
        In fractions; None where the violation does not survive exact arithmetic: it was one of rounding.

    Notes
    -----
    Cost: some thousands of exact evaluations for n m = 12 entries.

    Examples
    --------
    Weights count, and a mechanism ignores them.

    >>> from dataclasses import replace
    >>> import fairbook as fb
    >>> from book.common.search import minimise_margin
    >>> from fairbook.properties import sharing_incentive
    >>> ignoring = lambda i: sharing_incentive(replace(fb.drf(i.demands), weights=i.weights))
    >>> print(shrink(minimise_margin(ignoring, evaluations=200).instance, ignoring))
    demands = [[1], [1]], weights = [1, 2]
    """

    def violated(candidate: Instance) -> bool:
        return bool(lowest(margin(candidate)) < 0)

    exact = instance.exact()
    scaled = _scaled(exact)
    if violated(scaled):
        exact = scaled
    elif not violated(exact):
        return None
    exact = _drop(exact, violated, resize)
    for denominator in [*range(1, max_denominator + 1), 20, 50, 100, 1000, 10**4, 10**6]:
        rounded = _rounded(exact, denominator)
        if violated(rounded):
            exact = rounded
            break
    for _ in range(4):
        before = str(exact)
        exact = _drop(exact, violated, resize)
        exact = _simplify(exact, violated, max_denominator)
        if str(exact) == before:
            break
    return exact


def _scaled(instance: Instance) -> Instance:
    return Instance(
        instance.demands / instance.demands.max(axis=1, keepdims=True),
        instance.weights / instance.weights.min(),
        {i: row / row.max() for i, row in instance.lies.items()},
    )


def _rounded(instance: Instance, denominator: int) -> Instance:
    def convert(array: Array) -> Array:
        near = [Fraction(max(round(x * denominator), int(x > 0)), denominator) for x in array.ravel()]
        return np.array(near, dtype=object).reshape(array.shape)

    return Instance(
        convert(instance.demands), convert(instance.weights), {i: convert(row) for i, row in instance.lies.items()}
    )


def _drop(instance: Instance, violated: Callable[[Instance], bool], resize: bool) -> Instance:
    """Drop lies, users and resources as long as the statement stays violated."""
    changed = True
    while changed:
        changed = False
        for smaller in _smaller(instance, resize):
            if violated(smaller):
                instance, changed = smaller, True
                break
    return instance


def _smaller(instance: Instance, resize: bool) -> Iterator[Instance]:
    demands, weights, lies = instance.demands, instance.weights, instance.lies
    n, m = demands.shape
    if len(lies) > 1:
        for i in lies:
            yield Instance(demands, weights, {h: row for h, row in lies.items() if h != i})
    for i in range(n - 1, -1, -1) if resize and n > 1 else ():
        if i not in lies:
            yield Instance(
                np.delete(demands, i, axis=0), np.delete(weights, i), {h - (h > i): row for h, row in lies.items()}
            )
    for j in range(m) if m > 1 else ():
        fewer = np.delete(demands, j, axis=1)
        rows: Mapping[int, Array] = {i: np.delete(row, j) for i, row in lies.items()}
        if (fewer.max(axis=1) > 0).all() and all(row.max() > 0 for row in rows.values()):
            yield Instance(fewer, weights, rows)


def _complexity(value: Fraction) -> tuple[int, int, int]:
    digits = len(str(value.numerator).rstrip("0")) + 2 * len(str(value.denominator).rstrip("0"))
    return digits if value.denominator > 12 or value > 12 else 0, value.denominator, value.numerator


def _nearby(value: Fraction, max_denominator: int) -> list[Fraction]:
    """Rounder numbers close to a value: on coarse grids, and of one to four digits."""
    found = {Fraction(round(value * q), q) for q in range(1, max_denominator + 1)}
    for digits in range(4):
        found.add(Fraction(f"{float(value):.{digits}e}"))
    return [near for near in found if near > 0]


def _simplify(instance: Instance, violated: Callable[[Instance], bool], max_denominator: int) -> Instance:
    shares = _simplest(max_denominator)
    amounts = [Fraction(p) for p in range(1, 13)] + [Fraction(p) for p in (16, 20, 30, 50, 100)] + shares
    arrays: list[tuple[str, int]] = [("weights", 0), ("demands", 0), *(("lies", i) for i in instance.lies)]
    for name, liar in arrays:
        array: Any = {"weights": instance.weights, "demands": instance.demands, "lies": instance.lies.get(liar)}[name]
        for index in np.ndindex(array.shape):
            if array[index] == 0:
                continue
            now = _complexity(array[index])
            values = (amounts if name == "weights" else shares) + _nearby(array[index], max_denominator)
            for value in sorted(set(values), key=_complexity):
                if _complexity(value) >= now:
                    break  # nothing simpler does
                changed = array.copy()
                changed[index] = value
                lies = {**instance.lies, liar: changed} if name == "lies" else instance.lies
                trial = Instance(
                    changed if name == "demands" else instance.demands,
                    changed if name == "weights" else instance.weights,
                    lies,
                )
                if violated(trial):
                    instance, array = trial, changed
                    break
    return instance
