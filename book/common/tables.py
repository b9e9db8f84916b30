"""Frames as numbered tables of the book."""

import numpy as np
import pandas as pd

from fairbook.errors import InvalidInput

__all__ = ["Markdown", "myst"]


class Markdown:
    """Text that a notebook shows as Markdown."""

    def __init__(self, text: str) -> None:
        self.text = text

    def _repr_markdown_(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text


def _cell(value: object, digits: int, decimals: int | None) -> str:
    if isinstance(value, (bool, np.bool_)):
        text = "yes" if value else "no"
    elif isinstance(value, (float, np.floating)):
        number = float(value)
        if decimals is not None:
            text = f"{number:z.{decimals}f}"  # z: no minus before a zero
        else:
            text = f"{number:z.{digits}g}" if abs(number) < 10**digits - 0.5 else f"{number:.0f}"
    else:
        text = str(value)
    return text.replace("|", "\\|").replace("\n", " ")


def myst(
    frame: pd.DataFrame, *, caption: str = "", name: str = "", digits: int = 4, decimals: int | None = None
) -> Markdown:
    """Render a frame as a MyST table, numbered where it has a name.

    Parameters
    ----------
    frame : DataFrame
        At least one row; the index is not shown.
    caption, name : str
        Caption and label (``tab-...``); give both or none.
    digits : int
        Significant digits of floats.
    decimals : int, optional
        Digits after the point instead, so that a column lines up.

    Examples
    --------
    >>> print(myst(pd.DataFrame({"n": [20], "mean": [1.23456]})))
    | n | mean |
    |---|---|
    | 20 | 1.235 |
    """
    if bool(caption) != bool(name):
        raise InvalidInput("name", "must be given together with caption", name)
    if frame.empty:
        raise InvalidInput("frame", "must have at least one row", frame.shape)
    head = (
        "| "
        + " | ".join(_cell(str(column), digits, decimals) for column in frame.columns)
        + " |\n|"
        + "---|" * frame.shape[1]
    )
    body = "\n".join(
        "| " + " | ".join(_cell(v, digits, decimals) for v in row) + " |" for row in frame.itertuples(index=False)
    )
    table = f"{head}\n{body}"
    return Markdown(f":::{{table}} {caption}\n:name: {name}\n\n{table}\n:::" if name else table)
