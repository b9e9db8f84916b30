"""What the stateful forms of mechanisms share: their state as plain data, and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Iterable
from typing import Any, Self

from fairbook.errors import InvalidInput


def names_for_json(names: Iterable[Hashable] | None, argument: str) -> list[Any] | None:
    """Give names as a list, once it is clear that JSON gives them back as they are: strings and whole numbers."""
    if names is None:
        return None
    listed = list(names)
    if not all(isinstance(name, (str, int)) and not isinstance(name, bool) for name in listed):
        raise InvalidInput(argument, "must be named by strings or whole numbers to be saved", listed)
    return listed


def _checksum(state: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()[:16]


class Stateful:
    """A mechanism that takes one event at a time, saved and restored.

    A subclass writes its state as numbers, texts, lists and dictionaries in ``_state``, and reads it in ``_restored``,
    which may trust it: a checksum tells whether it is what was written.
    """

    def _state(self) -> dict[str, Any]:
        raise NotImplementedError

    @classmethod
    def _restored(cls, state: dict[str, Any]) -> Self:
        raise NotImplementedError

    @classmethod
    def _format(cls) -> str:
        return f"fairbook.{cls.__name__}/2"

    def to_dict(self) -> dict[str, Any]:
        """Give the whole state, ready for JSON; floats survive the round trip bit for bit.

        Raises
        ------
        InvalidInput
            Where a name is neither a string nor a whole number.
        """
        state = {"format": self._format(), **self._state()}
        return {**state, "checksum": _checksum(state)}

    @classmethod
    def from_dict(cls, state: Any) -> Self:
        """Restore what :meth:`to_dict` gave.

        Raises
        ------
        InvalidInput
            Where it is something else, or was changed since.
        """
        if not isinstance(state, dict) or state.get("format") != cls._format():
            raise InvalidInput("state", f"must be a state of the form {cls._format()}, as to_dict() gives it", state)
        kept = {key: value for key, value in state.items() if key != "checksum"}
        try:
            right = _checksum(kept) == state.get("checksum")
        except (TypeError, ValueError, RecursionError):
            right = False
        if not right:
            raise InvalidInput("state", "must be as to_dict() gave it, with nothing changed since", state)
        return cls._restored(kept)
