"""Exceptions of the package, all below :class:`FairbookError`."""

from __future__ import annotations

__all__ = ["FairbookError", "InvalidInput", "MissingDependency", "StaleResult", "TraceError"]


class FairbookError(Exception):
    """Base class of every exception that fairbook raises on purpose."""


class InvalidInput(FairbookError, ValueError):
    """An argument breaks a rule.

    Parameters
    ----------
    argument : str
        Name of the argument as the caller wrote it, with an index where one entry is to blame
        (``"demands[3, 1]"``).
    rule : str
        What the argument must satisfy, worded to follow the name ("must be finite").
    value : object
        The offending value. Long values are shortened in the message; the attribute keeps them whole.

    Examples
    --------
    >>> raise InvalidInput("weights[2]", "must be positive", -1.0)
    Traceback (most recent call last):
        ...
    fairbook.errors.InvalidInput: weights[2] must be positive, got -1.0
    """

    def __init__(self, argument: str, rule: str, value: object) -> None:
        self.argument = argument
        self.rule = rule
        self.value = value
        shown = repr(value)
        if len(shown) > 120:
            shown = shown[:117] + "..."
        super().__init__(f"{argument} {rule}, got {shown}")

    def __reduce__(self) -> tuple[type[InvalidInput], tuple[str, str, object]]:
        """Survive the way back from a worker process."""
        return type(self), (self.argument, self.rule, self.value)


class TraceError(FairbookError):
    """A trace file is missing, truncated or not in the published format.

    The message names the file and, where one line is to blame, its number (from 1).
    """


class StaleResult(FairbookError):
    """A stored result was computed by other sources, data or versions than the present ones.

    Parameters
    ----------
    text : str
        What is stale and how to make it anew.
    missing : bool
        Whether it is not there at all.
    """

    def __init__(self, text: str, *, missing: bool = False) -> None:
        self.missing = missing
        super().__init__(text)


class MissingDependency(FairbookError, ImportError):
    """An optional package is needed for this call and is not installed."""
