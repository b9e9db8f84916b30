"""What the stateful forms share when they are written to JSON and read back."""

from __future__ import annotations

import json
from typing import Any

from fairbook.errors import InvalidInput

__all__ = ["check_names", "parsed"]


def check_names(names: Any, argument: str) -> None:
    """Raise InvalidInput unless JSON gives these names back as they are: strings and whole numbers."""
    if not all(isinstance(name, (str, int)) and not isinstance(name, bool) for name in names):
        raise InvalidInput(argument, "must be named by strings or whole numbers to be saved", list(names))


def parsed(text: Any, form: str, keys: set[str]) -> dict[str, Any]:
    """Read a saved state of this form, which has these keys and no others; what they hold is not looked at."""
    try:
        state = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput("text", f"must be a saved {form} state ({error})", text) from None
    if not isinstance(state, dict) or set(state) != keys:
        raise InvalidInput("text", f"must be a saved {form} state with the keys {sorted(keys)}", text)
    if state["format"] != form:
        raise InvalidInput("format", f"must be {form}", state["format"])
    return state
