"""Progress on stderr: bars of the package tqdm, which is an extra; without it lines that count, once it takes long."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Self

from fairbook.errors import InvalidInput

#: Seconds after which a call that goes on says so, and says so again.
LONG = 2.0


class _Lines:
    """What stands in for a bar: the items, and every two seconds a line on stderr with how many are done, if shown.

    A clock of its own writes the first line, for the first step may take long: kernels are compiled in it.
    """

    def __init__(self, items: Iterable[Any], shown: bool, desc: str = "", unit: str = " done", **_: Any) -> None:
        self.items, self.shown, self.what, self.unit = items, shown, desc, unit
        self.n, self.told = 0, time.monotonic()

    def __enter__(self) -> Self:
        if self.shown:
            self.clock = threading.Timer(LONG, self.update, (0,))
            self.clock.daemon = True  # who leaves need not wait for it
            self.clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown:
            self.clock.cancel()

    def __iter__(self) -> Iterator[Any]:
        with self:
            for item in self.items:
                yield item
                self.update(1)

    def update(self, n: int) -> None:
        """Count what was done, and say it if nothing was said for long."""
        self.n += n
        if self.shown and sys.stderr is not None and time.monotonic() - self.told >= LONG:
            print(f"{self.what}: {self.n}{self.unit}\n", end="", file=sys.stderr, flush=True)
            self.told = time.monotonic()


def bar(items: Iterable[Any] | None = None, *, shown: bool, **how: Any) -> Any:
    """Give the items under a bar of tqdm (extra ``sweeps``), or with lines that count where that is not installed.

    Examples
    --------
    >>> list(bar("ab", shown=False))
    ['a', 'b']
    """
    if not isinstance(shown, bool):
        raise InvalidInput("progress", "must be True or False", shown)
    if shown:
        with suppress(ImportError):
            from tqdm import tqdm

            return tqdm(items, **how)
    return _Lines(items if items is not None else (), shown, **how)
