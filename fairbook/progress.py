"""Progress bars on stderr, which are an extra: without the package tqdm nothing is drawn."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Self

from fairbook.errors import InvalidInput


class _NoBar(list[Any]):
    """What stands in for a bar: the items, and calls that do nothing."""

    n = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave errors alone."""

    def update(self, n: int) -> None:
        """Draw nothing."""


def bar(items: Iterable[Any] | None = None, *, shown: bool, **how: Any) -> Any:
    """Give the items under a bar of tqdm, where one is to be shown and the package is there (extra ``sweeps``).

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
    return _NoBar(items or ())
