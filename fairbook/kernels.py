"""Loops over arrays: plain Python while there is little to do, compiled by numba from then on.

numba takes a second to load and more to compile, and a small input is done before that. So a kernel runs as it stands
until all it was given has grown to :data:`MOST` entries; then it is compiled, once and for good. What is compiled is
kept on disk where that can be written to, and taken from there by the code that it was made of (:class:`_Kept`). Arrays
of fractions are always left to Python.

Both ways give the same bits, for a kernel does one operation after the other: + - * / and comparisons, in the order in
which they stand there. One that sums, sorts or takes logarithms through numpy, which numba does in ways of its own, is
always compiled (``steps=ALWAYS``). ``tests/test_kernels.py`` holds the two ways equal.
"""

from __future__ import annotations

import functools
import hashlib
import math
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
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


@functools.cache
def _numba() -> Any:
    """Load numba."""
    import numba

    return numba


def _made_of(one: Any, around: dict[str, Any], met: set[Any]) -> Iterator[object]:
    """Yield what a function does, with all that it calls and the constants that these take, but no line numbers."""
    if isinstance(one, Kernel):
        yield one._options
        one = one.py_func
    if isinstance(one, FunctionType):
        if one not in met:
            met.add(one)
            yield from _made_of(one.__code__, one.__globals__, met)
    elif isinstance(one, CodeType):
        yield one.co_code, one.co_names
        modules = [it for name in one.co_names if isinstance(it := around.get(name), ModuleType)]
        spaces = [around, *(vars(it) for it in modules if it.__name__.startswith("fairbook."))]
        for part in (*one.co_consts, *(space[name] for space in spaces for name in one.co_names if name in space)):
            yield from _made_of(part, around, met)
    else:  # what repr tells by its address is compiled in every process
        yield one.__name__ if isinstance(one, ModuleType) else one


class _Kept:
    """Numba's cache of one kernel on disk, by the code that it is made of, and never in the way.

    Numba itself looks at the file of the kernel alone: what it compiled from an earlier callee or constant in another
    file, it would go on with. It looks at that file as it is now, too, and not as this process has loaded it. And it
    passes on what goes wrong on the disk, which costs nothing here but time.
    """

    told = False

    def __init__(self, kernel: Kernel, kept: Any) -> None:
        self._kernel, self._kept, self._file = kernel, kept, kept._cache_file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kept, name)

    def _stamp(self) -> None:
        state = [np.__version__, *_made_of(self._kernel, {}, set())]
        self._file._source_stamp = hashlib.sha256(repr(state).encode()).digest()

    def _say(self, what: str, error: Exception) -> None:
        if not _Kept.told:
            _Kept.told = True
            why = str(error) or type(error).__name__
            warnings.warn(f"{what} {self._kept.cache_path} ({why}): this costs time, and nothing else", stacklevel=2)

    def load_overload(self, *what: Any) -> Any:
        """Give what was compiled; None where there is nothing, or what is there is damaged."""
        self._stamp()
        try:
            return self._kept.load_overload(*what)
        except Exception as error:  # whatever a damaged pickle may raise
            self._say("damaged code is compiled anew in", error)
            self._sweep()
            return None

    def save_overload(self, *what: Any) -> None:
        """Keep what was compiled; the first of a new state removes what is left of the others."""
        self._stamp()
        try:
            if not self._file._load_index():
                self._sweep()
            self._kept.save_overload(*what)
        except Exception as error:  # the disk is full, say
            self._say("compiled code cannot be kept in", error)

    def _sweep(self) -> None:
        base = self._kept._impl.filename_base  # name-line.python
        name, _, rest = base.rpartition("-")
        with suppress(OSError):
            for path in Path(self._kept.cache_path).glob(f"{name}-*.{rest.partition('.')[2]}.*"):
                path.unlink()


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
            made = numba.njit(cache=True, **options)(self.py_func)
        except (RuntimeError, OSError):  # there is no such folder, neither beside the module nor at home
            return numba.njit(**options)(self.py_func)
        if hasattr(made, "_cache"):  # NUMBA_DISABLE_JIT makes nothing of it
            made._cache = _Kept(self, made._cache)
        return made

    @property
    def _numba_type_(self) -> Any:
        """By this a kernel that is being compiled finds those that it calls."""
        return self.compiled._numba_type_

    def __call__(self, *arguments: Any) -> Any:
        if any(isinstance(one, np.ndarray) and one.dtype == object for one in arguments):  # fractions
            return self.py_func(*arguments)
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
