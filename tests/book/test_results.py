"""The store of full-effort results: what goes in comes out, and nothing stale, tampered or orphaned is read."""

import hashlib
import os
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from book.common import checkout, results
from book.common.results import StaleResult
from book.common.stored import stored_results
from fairbook.errors import InvalidInput

ROOT = Path(__file__).resolve().parents[2]
REFRESH = "`make results`"

FRAME = pd.DataFrame(
    {
        "n": [20, 100],
        "mean": [1 / 3, 2.0],
        "gap": [np.nan, -1e-13],
        "all": [1.0, 2.0],
        "good": [True, False],
        "text": ['a, "b"\nc', "nan"],
        "exact": ["1", "2"],
    }
)

STUDY = '''
"""A study."""

from __future__ import annotations

from fairbook import rooms
from fairbook.rooms import helper as used
from fairbook.rooms.deep import g
from . import sibling


def f(x):
    """Say something."""
    if x:
        a = used.h(x)  # why
        b = f"{a!r} {g(a):>{x}} it's"
    return a, b, sibling
'''


class House:
    """A package and a data folder of its own for one test."""

    def __init__(self, root: Path) -> None:
        self.package, self.data = root / "fairbook", root / "data"
        (root / "book" / "paper").mkdir(parents=True)
        (self.package / "__pycache__").mkdir(parents=True)  # so that whatever changes, changes after a hash was kept
        (root / "_toc.yml").touch()
        self.write("../book/__init__.py", "")
        self.write("../book/paper/studies.py", STUDY)
        self.write("../book/paper/__init__.py", "from book.paper import sibling, studies\n")
        self.write("../book/paper/sibling.py", "import numpy\nVALUE = 1\n")
        self.write("../book/paper/stranger.py", "VALUE = 1\n")
        self.write("rooms/__init__.py", "from fairbook.rooms import unused\n")
        self.write("rooms/helper.py", "import fairbook.rooms.plain\n\n\ndef h(x):\n    return x\n")
        self.write("rooms/plain.py", "VALUE = 1\n")
        self.write("rooms/deep.py", "def g(x):\n    from fairbook.rooms.hidden import VALUE\n    return VALUE\n")
        self.write("rooms/hidden.py", "VALUE = 1\n")
        self.write("rooms/unused.py", "VALUE = 1\n")
        self.data.mkdir()
        (self.data / "README.md").write_text("data")
        (self.data / "digest.csv").write_text("1,2\n")

    def write(self, name: str, text: str) -> None:
        path = self.package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        results._LOADED[Path(os.path.normpath(path))] = results.file_stamp(path)  # it was there when this process began

    def hash(self) -> str:
        return results.source_hash("book.paper.studies", ("digest.csv",))

    def save(self, frame: pd.DataFrame = FRAME, name: str = "paper/one", **facts: object) -> None:
        results.save(name, frame, module="book.paper.studies", data=("digest.csv",), **facts)

    def stored(self, suffix: str = "csv", name: str = "one") -> Path:
        return self.data / "results" / "paper" / f"{name}.{suffix}"


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    monkeypatch.setattr(results, "_LOADED", {})
    made = House(tmp_path)
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    monkeypatch.setattr(results, "data_path", made.data.joinpath)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return made


# ------------------------------------------------------------------------------------------------ round trip


def test_what_goes_in_comes_out(house: House) -> None:
    house.save(seed=2016, runs=3)
    back = results.load("paper/one")
    pd.testing.assert_frame_equal(back, FRAME, rtol=1e-10, check_dtype=False)
    kinds = {name: kind.kind for name, kind in back.dtypes.items()}
    assert {name: kinds[name] for name in ("n", "mean", "gap", "all", "good")} == {
        "n": "i",
        "mean": "f",
        "gap": "f",
        "all": "f",
        "good": "b",
    }
    assert all(isinstance(x, str) for name in ("text", "exact") for x in back[name])
    facts = results.load_facts("paper/one")
    assert facts["facts"] == {"seed": 2016, "runs": 3}
    assert facts["rows"] == 2
    assert {"python", "numpy", "scipy", "pandas", "numba"} == set(facts["versions"])


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"text": ["a", None]}),
        pd.DataFrame({"text": pd.Series([np.nan, "a"], dtype=object)}),
        pd.DataFrame([[1, 2]], columns=["x", "x"]),
    ],
)
def test_refuses_what_would_come_back_as_something_else(house: House, frame: pd.DataFrame) -> None:
    with pytest.raises(InvalidInput, match="frame"):
        house.save(frame)


# -------------------------------------------------------------------------------------------------- staleness


SAME = {
    "a comment": ("# why", "# because\n        # of this"),
    "no comment": ("  # why", ""),
    "a docstring": ('"""Say something."""', '"""Say\n\n    another thing # \'.\n    """'),
    "no docstring": ('    """Say something."""\n', ""),
    "a longer docstring of the module": ('"""A study."""', '"""A\nstudy."""\n\n\n'),
    "empty lines": ("    return a", "\n\n    return a"),
    "spaces": ("used.h(x)", "used.h( x )"),
    "line breaks in brackets": ("used.h(x)", "used.h(\n            x\n        )"),
    "wider indentation": (
        "    if x:\n        a = used.h(x)  # why\n        b =",
        "    if x:\n          a = used.h(x)\n          b =",
    ),
    "line ends": ("\n", "\r\n"),
}

CHANGED = {
    "a number": ("if x", "if x + 1"),
    "a name": ("def f(x)", "def f2(x)"),
    "a string": ("it's", "it 's"),
    "white space in a string": (":>{x}} it's", ":>{x}}  it's"),
    "indentation that counts": ("        b = ", "    b = "),
    "a string that is no docstring": ("    return", "    b = 'Say something.'\n    return"),
    "two words in one": ("return a, b", "returna, b"),
    "an import less": ("from . import sibling", "sibling = 1"),
}


@pytest.mark.parametrize("change", SAME)
def test_comments_docstrings_and_layout_do_not_count(house: House, change: str) -> None:
    before, (old, new) = house.hash(), SAME[change]
    assert old in STUDY
    house.write("../book/paper/studies.py", STUDY.replace(old, new))
    assert house.hash() == before


@pytest.mark.parametrize("change", CHANGED)
def test_code_counts(house: House, change: str) -> None:
    house.save()
    before, (old, new) = house.hash(), CHANGED[change]
    assert old in STUDY
    house.write("../book/paper/studies.py", STUDY.replace(old, new))
    assert house.hash() != before
    assert not results.is_fresh("paper/one")
    with pytest.raises(StaleResult, match=r"other sources or data.*make results"):
        results.load("paper/one")
    assert len(results.load("paper/one", check=False)) == 2


@pytest.mark.parametrize(
    "module",
    [
        "../book/paper/sibling",
        *(f"rooms/{name}" for name in ("__init__", "helper", "plain", "deep", "hidden", "unused")),
    ],
)
def test_what_is_imported_counts(house: House, module: str) -> None:
    before = house.hash()
    path = house.package / f"{module}.py"
    house.write(f"{module}.py", path.read_text() + "\nANOTHER = 2\n")
    assert house.hash() != before


@pytest.mark.parametrize("module", ["../book/paper/stranger", "../book/paper/__init__"])
def test_what_is_not_imported_does_not_count(house: House, module: str) -> None:
    # The package's __init__ gathers all papers: one more must not make the results of the others stale.
    before = house.hash()
    house.write(f"{module}.py", "from book.paper import stranger\n")
    assert house.hash() == before


def test_data_count(house: House) -> None:
    house.save()
    assert results.is_fresh("paper/one")
    (house.data / "digest.csv").write_text("1,3\n")
    assert not results.is_fresh("paper/one")


def test_sources_edited_while_a_result_is_computed_are_noticed(house: House) -> None:
    source = house.package / "rooms/hidden.py"
    os.utime(source, (2**32, 2**32))
    with pytest.raises(StaleResult, match=r"fairbook\.rooms\.hidden changed while paper/one was computed"):
        house.save()
    assert not house.stored().exists()
    results._LOADED[source] = results.file_stamp(source)
    house.save()  # it was of the future from the beginning


# ------------------------------------------------------------------------------------------ tampering, interruption


def test_a_table_changed_by_hand_is_noticed(house: House) -> None:
    house.save()
    house.stored().write_text(house.stored().read_text().replace("20,", "21,"))
    with pytest.raises(StaleResult, match="not the table"):
        results.load("paper/one")


# ----------------------------------------------------------------------------------------- what the repository holds


def test_the_repository_holds_what_is_registered_and_nothing_else() -> None:
    folder = ROOT / "data" / "results"
    held = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    wanted = {f"{name}.{suffix}" for name in stored_results() for suffix in ("csv", "json")}
    assert held - wanted == set(), "orphans: nothing registered computes them; delete them"
    assert wanted - held == set(), f"not stored: {REFRESH} computes them"


@pytest.mark.parametrize("name", list(stored_results(progress=False)))
def test_every_stored_result_is_fresh(name: str) -> None:
    facts = results.load_facts(name)
    table = results._files(name)[0]
    assert facts["sha256"] == hashlib.sha256(table.read_bytes()).hexdigest()
    frame = results.load(name)
    assert len(frame) == facts["rows"] > 0
    assert set(frame.columns) == set(facts["columns"])
