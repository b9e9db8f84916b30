"""Arguments that are one of a few names."""

from __future__ import annotations

from typing import Any, Literal, get_args

from fairbook.errors import InvalidInput

#: What works a mechanism out: the engine on doubles, or the rule at the head of its module, on fractions of them.
Engine = Literal["fast", "plain"]


def check_choice(value: Any, argument: str, kind: Any) -> None:
    """Raise InvalidInput unless the value is one of those of a Literal type."""
    allowed = get_args(kind)
    if not isinstance(value, str) or value not in allowed:
        raise InvalidInput(argument, f"must be one of {', '.join(allowed)}", value)
