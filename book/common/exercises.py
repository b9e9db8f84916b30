"""Exercises at the end of a story: a cell holds the reader's answer against the library, and prints neither."""

from collections.abc import Callable
from typing import Any

from fairbook.errors import FairbookError

__all__ = ["check"]


def check(answer: Any, right: Callable[[Any], Any]) -> None:
    """Print whether an answer is right, and not what is.

    Parameters
    ----------
    answer : object
        ``...`` before there is one.
    right : callable
        Asks the library whether an answer is right. What the library refuses is not.

    Examples
    --------
    >>> check(..., lambda number: number == 2 * 3)
    Nothing is answered yet: put your answer in place of the dots.
    >>> check(6, lambda number: number == 2 * 3)
    Right.
    """
    if answer is ...:
        print("Nothing is answered yet: put your answer in place of the dots.")
        return
    try:
        print("Right." if right(answer) else "No. Try again.")
    except FairbookError as refused:
        print(f"No. {refused}")
