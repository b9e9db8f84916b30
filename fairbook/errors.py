"""Exceptions of the package, all below :class:`FairbookError`."""

from __future__ import annotations

__all__ = ["FairbookError", "InvalidInput", "MissingDependency", "TraceError"]


class FairbookError(Exception):
    """Base class of every exception that fairbook raises on purpose."""


def _shown(value: object) -> str:
    """Put a value on one line: of what has a shape that and its type, of anything else a short form."""
    kind, shape = type(value).__qualname__, getattr(value, "shape", ())
    if isinstance(shape, tuple) and shape:
        return f"{kind} of shape {shape}"
    try:
        shown = " ".join(repr(value).split())
    except RecursionError:
        return f"{kind}, nested too deeply to be shown"
    return shown if len(shown) <= 120 else shown[:117] + "..."


class InvalidInput(FairbookError, ValueError):
    """An argument breaks a rule.

    Parameters
    ----------
    argument : str
        Name of the argument as the caller wrote it.
    rule : str
        What the argument must satisfy, worded to follow the name ("must be finite").
    value : object
        The offending value. The message names an array or a frame by its type and shape, and shortens what is long;
        the attribute keeps all of it.
    index : tuple of int
        Where one entry is to blame, its place in the argument; ``where`` is name and place together.

    Examples
    --------
    >>> raise InvalidInput("weights", "must be positive", -1.0, (2,))
    Traceback (most recent call last):
        ...
    fairbook.errors.InvalidInput: weights[2] must be positive, got -1.0
    """

    def __init__(self, argument: str, rule: str, value: object, index: tuple[int, ...] = ()) -> None:
        self.argument = argument
        self.rule = rule
        self.value = value
        self.index = index
        self.where = f"{argument}[{', '.join(map(str, index))}]" if index else argument
        super().__init__(f"{self.where} {rule}, got {_shown(value)}")

    @property
    def complaint(self) -> str:
        """The message without its beginning, for who names the place differently."""
        return str(self)[len(self.where) :].strip()

    def __reduce__(self) -> tuple[type[InvalidInput], tuple[str, str, object, tuple[int, ...]]]:
        """Survive the way back from a worker process."""
        return type(self), (self.argument, self.rule, self.value, self.index)


class TraceError(FairbookError):
    """A trace file is missing, truncated or not in the published format.

    The message names the file and, where one line is to blame, its number (from 1).
    """


class MissingDependency(FairbookError, ImportError):
    """An optional package is needed for this call and is not installed."""
