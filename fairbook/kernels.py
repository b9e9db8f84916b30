"""Loops over arrays: plain Python while there is little to do, compiled by numba from then on.

numba takes a second to load and more to compile, and a small input is done before that. So a kernel runs as it stands
until all it was given has grown to :data:`MOST` entries; then it is compiled, once and for good. What is compiled is
kept on disk where that can be written to.

Both ways give the same bits, for a kernel does one operation after the other: + - * / and comparisons, in the order in
which they stand there. One that sums, sorts or takes logarithms through numpy, which numba does in ways of its own, is
always compiled (``steps=ALWAYS``). ``tests/test_kernels.py`` holds the two ways equal.
"""

from __future__ import annotations

import functools
import math
import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

#: Steps of plain Python that a kernel may take in all, of about a microsecond each.
MOST = 100_000


def ALWAYS(*_: Any) -> float:
    """Steps of a kernel that is always compiled."""
    return math.inf


def INSIDE(*_: Any) -> float:
    """Steps of a kernel that only others call: they are counted there."""
    return 0.0


def entries(*arguments: Any) -> float:
    """Count the entries of all arrays: the steps of a kernel that goes through each of them a few times."""
    return sum(one.size for one in arguments if isinstance(one, np.ndarray))


def put(values: Any, j: int, value: Any) -> Any:
    """Give ``values`` with entry j replaced: a new tuple for a tuple, the same array for an array."""
    if isinstance(values, tuple):
        return (*values[:j], value, *values[j + 1 :])
    values[j] = value
    return values


@functools.cache
def _numba() -> Any:
    """Load numba, and tell it how to compile :func:`put`."""
    import numba
    from numba.cpython.unsafe.tuple import tuple_setitem
    from numba.extending import overload

    @overload(put, inline="always")
    def compiled_put(values, j, value):  # type: ignore[no-untyped-def]  # numba compares the signatures
        if isinstance(values, numba.types.BaseTuple):
            return lambda values, j, value: tuple_setitem(values, j, value)

        def put_in_place(values, j, value):  # type: ignore[no-untyped-def]
            values[j] = value
            return values

        return put_in_place

    return numba


class Kernel:
    """A function of numbers and arrays; see the head of this module."""

    def __init__(self, function: Callable[..., Any], steps: Callable[..., float], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self._steps, self._options = function, steps, options
        self._taken = 0.0

    @functools.cached_property
    def compiled(self) -> Any:
        """The compiled form, kept on disk unless nothing can be written there."""
        numba = _numba()
        options = {"error_model": "numpy", **self._options}
        try:
            if folder := numba.config.CACHE_DIR:  # where it is named numba believes that it can be written to
                os.makedirs(folder, exist_ok=True)
                tempfile.TemporaryFile(dir=folder).close()
            return numba.njit(cache=True, **options)(self.py_func)
        except (RuntimeError, OSError):  # there is no such folder, neither beside the module nor at home
            return numba.njit(**options)(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        """By this a kernel that is being compiled finds those that it calls."""
        return self.compiled._numba_type_

    def __call__(self, *arguments: Any) -> Any:
        if self._taken <= MOST:
            self._taken += self._steps(*arguments)
            if self._taken <= MOST:
                if self._steps is INSIDE:
                    return self.py_func(*arguments)
                with np.errstate(all="ignore"):  # compiled code is silent
                    return self.py_func(*arguments)
        return self.compiled(*arguments)


def kernel(steps: Callable[..., float] = entries, **options: Any) -> Any:
    """Make a function a kernel.

    Parameters
    ----------
    steps : callable
        Takes the arguments, and says about how many steps there are to take. Default: the entries of all arrays.
    **options
        For ``numba.njit``.

    Examples
    --------
    >>> @kernel()
    ... def total(values):
    ...     found = 0.0
    ...     for one in values:
    ...         found += one
    ...     return found
    >>> float(total(np.array([0.5, 0.25])))
    0.75
    """
    return lambda function: Kernel(function, steps, options)
