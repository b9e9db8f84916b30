"""Digests of public cluster traces, and the sampling of users from them.

:mod:`~fairbook.traces.google2011` (CPU, memory) loads the small digest that ships with the package and draws users
from it, so that nothing needs the raw files. Other traces, whose terms keep them out of the package, are loaded by what
stands in a checkout's ``book/common/traces/``.

The files as published are read, and the digests made and verified, by ``python -m book digest`` and ``python -m book
verify`` in a checkout.
"""

from fairbook.traces import google2011

__all__ = ["google2011"]


def __dir__() -> list[str]:
    return sorted(__all__)
