"""Loops over arrays: plain Python while there is little to do, compiled by numba from then on.

numba takes a third of a second to load and more to compile, and a small input is done before that. So kernels run as
they stand until all of them together have taken :data:`MOST` steps. Then numba is loaded, and what it has compiled
before is used at once; a kernel that it has not compiled yet goes on until it has taken as many steps by itself. What
is compiled is kept on disk where that can be written to, until a source of the package changes. Where there is no numba
all runs as it stands, and arrays of fractions do everywhere.

Both ways give the same bits, for a kernel does one operation after the other: + - * /, comparisons and ``math.log``, in
the order in which they stand there. One that sums, sorts or takes logarithms through numpy, which numba does in ways of
its own, is always compiled (``steps=ALWAYS``). ``tests/library/test_kernels.py`` holds the two ways equal.
"""

from __future__ import annotations

import functools
import hashlib
import math
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

#: Steps of plain Python that kernels may take together, and then each by itself, of 0.2 to 3 microseconds each.
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


@functools.cache
def _sources() -> bytes:
    """Hash the sources of the package: numba itself looks at the file of the kernel alone, not at those it calls."""
    found = hashlib.sha256(np.__version__.encode())
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        found.update(path.read_bytes())
    return found.digest()


class _Kept:
    """Numba's cache of one kernel on disk: damaged, or where nothing can be written, it costs time and nothing else."""

    told = False

    def __init__(self, kept: Any) -> None:
        self._kept, self._file = kept, kept._cache_file
        self._file._source_stamp = _sources()
        self.load_overload = functools.partial(self._try, kept.load_overload)
        self.save_overload = functools.partial(self._try, kept.save_overload)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kept, name)

    def __bool__(self) -> bool:
        return bool(self._try(self._file._load_index))

    def _try(self, call: Callable[..., Any], *given: Any) -> Any:
        try:
            return call(*given)
        except Exception as error:  # whatever a damaged pickle or a full disk may raise
            if not _Kept.told:
                _Kept.told = True
                why = f"{self._kept.cache_path} cannot be used ({str(error) or type(error).__name__})"
                warnings.warn(f"{why}: kernels are compiled anew, which costs time and nothing else", stacklevel=2)
            with suppress(OSError):
                Path(self._file._index_path).unlink()
            return None


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
            made = numba.njit(cache=True, **options)(self.py_func)
        except RuntimeError:  # there is no such folder, neither beside the module nor at home
            return numba.njit(**options)(self.py_func)
        if hasattr(made, "_cache"):  # NUMBA_DISABLE_JIT makes nothing of it
            made._cache = _Kept(made._cache)
        return made

    @property
    def _numba_type_(self) -> Any:
        """By this a kernel that is being compiled finds those that it calls."""
        return self.compiled._numba_type_

    @functools.cached_property
    def _kept(self) -> bool:
        """Whether a compiled form is on disk."""
        cache = getattr(self.compiled, "_cache", None) if _numba() is not None else None
        return isinstance(cache, _Kept) and bool(cache)

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
