"""Loops over arrays: plain Python while there is little to do, compiled by numba from then on.

numba takes a third of a second to load and more to compile, and a small input is done before that. So kernels run as
they stand until all of them together have taken :data:`MOST` steps. Then numba is loaded, and what it has compiled
before is used at once; a kernel that it has not compiled yet goes on until it has taken as many steps by itself. What
is compiled is kept on disk where that can be written to, and taken from there by the code that it was made of
(:class:`_Kept`). Where there is no numba all runs as it stands, and arrays of fractions do everywhere.

Both ways give the same bits, for a kernel does one operation after the other: + - * /, comparisons and ``math.log``, in
the order in which they stand there. One that sums, sorts or takes logarithms through numpy, which numba does in ways of
its own, is always compiled (``steps=ALWAYS``). ``tests/test_kernels.py`` holds the two ways equal.
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
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

#: Steps of plain Python that kernels may take together, and then each by itself, of about 0.2 microseconds each.
MOST = 2_000_000


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
    """Load numba; None where it does not exist."""
    try:
        import numba
    except ImportError:
        return None
    return numba


def compiles() -> bool:
    """Tell whether kernels can be compiled here."""
    return find_spec("numba") is not None


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

    def __bool__(self) -> bool:
        """Tell whether something is kept that was made of the present code."""
        self._stamp()
        with suppress(Exception):  # what is damaged is told once it is loaded
            return bool(self._file._load_index())
        return False

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

    together = 0.0  # steps of all kernels

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

    @functools.cached_property
    def _kept(self) -> bool:
        """Whether a compiled form is on disk."""
        return _numba() is not None and bool(getattr(self.compiled, "_cache", None))

    def __call__(self, *arguments: Any) -> Any:
        if self._steps is INSIDE or any(isinstance(a, np.ndarray) and a.dtype == object for a in arguments):
            return self.py_func(*arguments)
        if self._taken <= MOST:
            steps = self._steps(*arguments)
            self._taken += steps
            Kernel.together += steps
        enough = self._taken > MOST or (Kernel.together > MOST and self._kept)
        if enough and _numba() is not None:
            return self.compiled(*arguments)
        with np.errstate(all="ignore"):  # compiled code is silent
            return self.py_func(*arguments)


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
