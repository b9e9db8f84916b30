"""Frames as tables: what a cell shows, and that the text is a MyST table whatever is in the cells."""

import numpy as np
import pandas as pd
import pytest
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst.directives import register_directive
from docutils.parsers.rst.directives.body import Container
from docutils.utils import new_document
from hypothesis import given, settings, strategies as st
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.docutils_ import Parser

from book.common.tables import Markdown, myst
from fairbook.errors import InvalidInput

register_directive("div", Container)  # sphinx-design's, as the book has it, needs all of Sphinx


def rendered(text: str) -> nodes.document:
    """Parse MyST; any warning is an error."""
    settings = get_default_settings(Parser())
    settings.myst_enable_extensions = MdParserConfig(enable_extensions={"colon_fence", "deflist"}).enable_extensions
    settings.report_level = 1
    settings.halt_level = 2
    document = new_document("table", settings)
    Parser().parse(text, document)
    return document


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


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.text(st.characters(codec="ascii", exclude_categories=["C", "Z"]), max_size=8), min_size=1, max_size=3)
)
def test_cells_stay_in_their_columns(texts: list[str]) -> None:
    # Backslashes and backquotes have a meaning of their own before a pipe; no text of the book ends a cell so.
    texts = [text.replace("\\", "").replace("`", "") for text in texts]
    frame = pd.DataFrame([texts], columns=[f"c|{i}" for i in range(len(texts))])
    tables = list(rendered(myst(frame).text).findall(nodes.table))
    assert len(tables) == 1
    assert [len(list(row.findall(nodes.entry))) for row in tables[0].findall(nodes.row)] == [len(texts)] * 2


def test_numbered_table() -> None:
    text = myst(pd.DataFrame({"n": [20], "mean": [0.5]}), caption="Two numbers", name="tab-two").text
    assert text == ":::{table} Two numbers\n:name: tab-two\n\n| n | mean |\n|---|---|\n| 20 | 0.5 |\n:::"
    (table,) = rendered(text).findall(nodes.table)
    assert next(iter(table.findall(nodes.title))).astext() == "Two numbers"
    assert "tab-two" in table["names"]


def test_a_notebook_shows_it_as_markdown() -> None:
    shown = Markdown("*x*")
    assert shown._repr_markdown_() == repr(shown) == "*x*"


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
