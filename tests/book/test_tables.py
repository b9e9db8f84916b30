"""Frames as tables: what a cell shows, and that the text is a MyST table whatever is in the cells."""

import numpy as np
import pandas as pd
import pytest

from book.common.tables import myst
from fairbook.errors import InvalidInput


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.23456, "1.235"),
        (0.000123456, "0.0001235"),
        (-0.0, "0"),
        (1e-17, "1e-17"),
        (9999.6, "10000"),
        (123456.7, "123457"),
        (-123456.7, "-123457"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (np.float64(0.1) + 0.2, "0.3"),
        (123456, "123456"),
        (np.int64(7), "7"),
        (True, "yes"),
        (np.bool_(False), "no"),
        ("a|b", "a\\|b"),
        ("a\nb", "a b"),
    ],
)
def test_cells(value: object, shown: str) -> None:
    frame = pd.DataFrame({"x": pd.Series([value], dtype=object)})
    assert myst(frame).text.splitlines()[2] == f"| {shown} |"


def test_decimals_line_up() -> None:
    lines = myst(pd.DataFrame({"x": [1.0, -0.001, 12.25]}), decimals=2).text.splitlines()[2:]
    assert lines == ["| 1.00 |", "| 0.00 |", "| 12.25 |"]
    assert myst(pd.DataFrame({"x": [1, 2]}), decimals=2).text.splitlines()[2] == "| 1 |"


def test_numbered_table() -> None:
    text = myst(pd.DataFrame({"n": [20], "mean": [0.5]}), caption="Two numbers", name="tab-two").text
    assert text == ":::{table} Two numbers\n:name: tab-two\n\n| n | mean |\n|---|---|\n| 20 | 0.5 |\n:::"


@pytest.mark.parametrize(
    ("frame", "options", "argument"),
    [
        (pd.DataFrame({"n": [1]}), {"caption": "x"}, "name"),
        (pd.DataFrame({"n": [1]}), {"name": "tab-x"}, "name"),
        (pd.DataFrame({"n": []}), {}, "frame"),
        (pd.DataFrame(), {}, "frame"),
    ],
)
def test_refuses(frame: pd.DataFrame, options: dict[str, str], argument: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        myst(frame, **options)
    assert caught.value.where == argument
