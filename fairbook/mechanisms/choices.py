"""Arguments that are one of a few names."""

from __future__ import annotations

from typing import Literal

from fairbook.model.instance import check_choice

__all__ = ["Engine", "check_choice"]

#: What works a mechanism out: the engine on doubles, or the rule at the head of its module, on fractions of them.
Engine = Literal["fast", "plain"]
