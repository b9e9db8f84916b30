"""What the five commands that read tables of users have in common: what they print, write, explain and leave alone."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fairbook as fb
from fairbook.cli import cluster, place
from fairbook.cli.allocate import RULES
from fairbook.cli.phases import PHASE_RULES
from fairbook.mechanisms.readings import READINGS
from tests.commands import (
    ALLOCATE,
    ASKED,
    BOUNDED,
    BOUNDS,
    CLUSTER,
    COMMANDS,
    PERIODIC,
    PERIODS,
    PHASED,
    PHASES,
    PLACE,
    PLACED,
    RELEASED,
    ROOT,
    USERS,
    Command,
    no_gaps,
    refused,
    run,
    survives,
)

EVERY = pytest.mark.parametrize("command", COMMANDS.values(), ids=list(COMMANDS))
#: What each calls by default, the result of that, and the word for a step of time.
LIBRARY: dict[str, tuple[str, type, str]] = {
    "allocate": ("drf", fb.Allocation, ""),
    "phases": ("cbdrf", fb.CreditRun, "phase"),
    "periods": ("tv_drf", fb.TvDrfRun, "period"),
    "place": ("gdrf", fb.Placement, ""),
    "cluster": ("virtual_cluster", fb.VirtualClusters, ""),
}

# ------------------------------------------------------------------------------------- what the library says

_SHIPPED = pd.read_csv(ROOT / "data/example_users.csv", index_col="user")
_COLUMNS = {"weights": _SHIPPED["weight"].to_numpy(), "max_tasks": _SHIPPED["max_tasks"].fillna(np.inf).to_numpy()}

#: Command, tables, the function and its data, and what the paper leaves open: options of the command by other names.
CASES: list[tuple[Command, dict[str, str], str, tuple[Any, ...], dict[str, Any], dict[str, Any]]] = [
    *((ALLOCATE, {"users": (ROOT / "data/example_users.csv").read_text()}, name, (_SHIPPED[["cpu", "memory", "gpu"]],),
       {column: _COLUMNS[column] for column in _COLUMNS if column in rule.takes}, {}) for name, rule in RULES.items()),
    *((PHASES, {}, "cbdrf", (PHASED, [9, 18]), RELEASED, terms) for terms in (
        {}, {"held": "stays"}, {"grant": "capped", "credit_cap": 1.0},
        {"grant": "weighted", "held": "stays", "penalty": "graded"},
        {"rho": 0.5, "step_up": 0.2, "step_down": 0.3, "initial_credit": 2.0, "credit_cap": 2.5, "credit_floor": 1.0})),
    *((PHASES, {"phases": BOUNDED}, "karma", (PHASED, [9, 18]), BOUNDS, terms)
      for terms in ({}, {"alpha": 0.2, "initial_credit": 0.25})),
    *((PERIODS, {}, "tv_drf", PERIODIC, {}, dict(zip(READINGS["tv_drf"], values)) | memory)
      for values in product(*(reading.values for reading in READINGS["tv_drf"].values()))
      for memory in ({}, {"memory": False})),
    *((PLACE, {}, name, (PLACED,), {}, terms) for name, terms in (
        ("gdrf", {}),
        ("gdrf", {"match": "same", "least": "shares", "machine_type": "amount", "choice": "fairness_after",
                  "queue": "one_by_one", "seed": 3}),
        ("drfh", {}), ("drfh", {"method": "first_fit"}), ("drfh", {"method": "fluid"}),
        ("mdrf", {"reading": "type", "seed": 5}), ("per_server_drf", {}))),
    *((CLUSTER, {}, "virtual_cluster", ASKED, {}, terms) for terms in (
        {}, {"node_limit": 7, "seed": 3}, {"whole": False}, {"method": "spanning"},
        {"method": "spanning", "whole": False}, {"method": "relaxation", "load": "free"},
        {"method": "greedy", "fit": "first_fit"},
        {"method": "mixed_knapsack", "general": "relaxation", "load": "free", "fit": "best_fit", "small": 0,
         "top_up": True}, {"method": "metagreedy"}, {"method": "vector_packing"})),
]  # fmt: skip


def flags(command: Command, rule: str, terms: dict[str, Any]) -> list[Any]:
    """Give the options for a rule and its terms."""
    words = {"allocate": ["--mechanism", rule], "phases": ["--rule", rule], "place": ["--rule", rule]}
    found = [*command.options, *words.get(command.name, ())] if command is not ALLOCATE else words["allocate"]
    for name, value in terms.items():
        flag = {"whole": "--fractions", "memory": "--no-memory"}.get(name, f"--{name.replace('_', '-')}")
        found += [flag] if isinstance(value, bool) else [flag, value]
    return found


@pytest.mark.parametrize(("command", "tables", "rule", "data", "columns", "terms"), CASES)
def test_what_is_written_is_what_the_library_says(
    command: Command, tables: dict[str, str], rule: str, data: tuple[Any, ...], columns: dict[str, Any],
    terms: dict[str, Any], tmp_path: Path,
) -> None:
    result = getattr(fb, rule)(*data, **columns, **terms)
    arguments = [*command.given(tmp_path, **tables), *flags(command, rule, terms)]
    told, expected = command.told(*arguments), result.to_frame()
    if word := LIBRARY[command.name][2]:  # a file counts from 1, and has names
        named = pd.MultiIndex.from_product([(1, 2, 3), USERS[: expected.index.levshape[1]]], names=[word, "user"])
        expected = expected.set_index(named).replace({"bottleneck": {0: "cpu", 1: "memory"}})
    pd.testing.assert_frame_equal(told[list(expected)], no_gaps(expected), check_dtype=False, rtol=1e-12, atol=0,
                                  check_index_type=False, check_names=False)
    code, _, err = run(*arguments, *["--verify"] * (rule != "drf_by_task"), "--output", tmp_path / "all.json")
    assert code == 0
    assert ("fairbook: verified: no constraint is violated, and " in err) == (rule != "drf_by_task")
    everything = json.loads((tmp_path / "all.json").read_text())
    assert (everything.get("mechanism") or everything["rule"]).startswith(rule)
    assert terms.items() <= everything.get("terms", {}).items()
    key = "vms" if command is CLUSTER else "tasks"
    rows = everything[command.name if word else "users"]
    assert [row[key] for row in rows] == told[key].to_list()
    assert [tuple(row[name] for name in command.index) for row in rows] == [
        index if word else (index,) for index in told.index]


def test_every_reading_is_offered_and_explained() -> None:
    told = {
        "allocate": [rule.about for rule in RULES.values()],
        "phases": [part for row in PHASE_RULES.values() for part in (f"  {row.name} ", row.about)],
        "periods": [f"\n  {column} " for column in [*fb.tv_drf(*PERIODIC).to_frame(), "mean_use", "utilisation",
                                                    "utilisation_alone"]],
        "place": [f"\n  {rule} " for rule in place.TAKES],
        "cluster": [f"\n  {method} " for method in cluster._TAKES],
    }
    for row in PHASE_RULES.values():
        options = set(row.takes) - {*row.needs, "capacities", "released", "max_tasks", "ratio"}
        told["phases"] += [f"--{name.replace('_', '-')}" for name in options]
    for name, words in told.items():
        text = run(name, "--help")[1]
        assert [word for word in words if word not in text] == []


@EVERY
def test_shipped_examples(command: Command) -> None:
    first, *others = command.examples.items()
    arguments = [command.name, ROOT / f"data/example_{first[1]}.csv"]
    arguments += [part for name, file in others for part in (f"--{name}", ROOT / f"data/example_{file}.csv")]
    code, _, err = run(*arguments, "--verify", "--explain")
    assert code == 0
    assert "fairbook: verified: " in err
    assert len(command.told(*arguments)) > 2


# ------------------------------------------------------------------------------------------------ what is read


def cells(change: Callable[[list[str]], list[str]]) -> Callable[[str], str]:
    """Change every line of a table."""
    return lambda text: "".join(",".join(change(line.split(","))) + "\n" for line in text.splitlines())


#: Other forms of the same table.
FORMS: dict[str, Callable[[str], str | bytes]] = {
    "line ends of Windows": lambda text: text.replace("\n", "\r\n"),
    "a mark at the head": lambda text: "\ufeff" + text,
    "no end of the last line": str.rstrip,
    "blank lines": lambda text: text.replace("\n", "\n\n , , \n", 2),
    "blanks": cells(lambda row: [f" {cell} " for cell in row]),
    "quotes": cells(lambda row: [f'"{cell}"' for cell in row]),
    "numbers written otherwise": lambda text: re.sub(r"(?<=,)(\d+)(?=[,\n])", r"+\1.0e0", text),
    "columns in another order": cells(lambda row: row[::-1]),
    "packed": lambda text: gzip.compress(text.encode(), mtime=0),
}


@EVERY
def test_forms_of_the_same_tables(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = command.told(*command.given(tmp_path), *command.options)
    for name, form in FORMS.items():
        tables: dict[str, Any] = {file: form(text) for file, text in command.files.items()}
        if name == "numbers written otherwise" and command is PLACE:
            del tables["machines"]  # a count of machines is written with digits
        arguments = [*command.given(tmp_path, **tables), *command.options]
        code, out, err = run(*arguments, "--output", "-")
        assert (code, err) == (0, ""), name
        pd.testing.assert_frame_equal(command.rows(out), usual)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(arguments[1].read_bytes())))
        assert run(command.name, "-", *arguments[2:], "--output", "-") == (0, out, ""), name


@EVERY
def test_columns_that_are_left_out_are_told(command: Command, tmp_path: Path) -> None:
    usual = command.told(*command.given(tmp_path), *command.options)
    for file, text in command.files.items():
        more = text.replace("\n", ",odd\n").replace(",odd", ",note", 1)
        arguments = [*command.given(tmp_path, **{file: more}), *command.options]
        code, out, err = run(*arguments, "--output", "-")
        assert code == 0
        assert f"{file}.csv: " in err
        assert "'note'" in err
        assert "left out" in err
        pd.testing.assert_frame_equal(command.rows(out), usual)


# --------------------------------------------------------------------------------------- what is said and written


@EVERY
def test_output_as_csv_and_json(command: Command, tmp_path: Path) -> None:
    arguments = [*command.given(tmp_path), *command.options, "--explain"]
    plain, csv, whole = (run(*arguments, *more) for more in (
        [], ["--output", tmp_path / "out.csv"], ["--verify", "--output", tmp_path / "out.json"]))
    assert plain[0] == 0
    assert plain == csv
    assert plain[:2] == whole[:2]  # to certify says something on stderr
    assert run(*arguments, "--output", "-")[1] == (tmp_path / "out.csv").read_text()
    everything = json.loads((tmp_path / "out.json").read_text())
    assert everything["fairbook"] == fb.__version__
    assert everything["violations"] == []
    rows = everything[command.name if len(command.index) == 2 else "users"]
    told = command.rows((tmp_path / "out.csv").read_text())
    assert [row["explanation"] for row in rows] == told["explanation"].to_list()
    assert [text for text in told["explanation"] if text] == plain[1].splitlines()[-told["explanation"].ne("").sum():]
    if command is not CLUSTER:
        assert [row["resource"] for row in everything["resources"]] == ["cpu", "memory"]


@EVERY
def test_explanations_are_of_those_who_were_named(command: Command, tmp_path: Path) -> None:
    arguments = [*command.given(tmp_path), *command.options, "--explain"]
    told = command.told(*arguments, "bob")["explanation"]
    users = told.index.get_level_values("user")
    assert [bool(text) for text in told] == [user == "bob" for user in users]
    assert all(text.startswith("bob ") for text in told if text)
    out = run(*arguments, "bob")[1].split("\n\n")[-1]
    assert out.splitlines() == [text for text in told if text]
    assert {line.split()[0] for line in run(*arguments)[1].split("\n\n")[-1].splitlines()} == set(users)
    assert "'fay'" in refused(run(*arguments, "fay"))


@EVERY
def test_inputs_are_never_overwritten(command: Command, tmp_path: Path) -> None:
    arguments = command.given(tmp_path)
    for file, text in command.files.items():
        path = tmp_path / f"{file}.csv"
        (tmp_path / f"link-{file}.csv").symlink_to(path)
        os.link(path, tmp_path / f"hard-{file}.csv")
        for name in (file, f"link-{file}", f"hard-{file}", f"./{file}"):
            for option in ("--output", *["--placement"] * (command is PERIODS)):
                line = refused(run(*arguments, *command.options, option, f"{tmp_path}/{name}.csv"))
                assert f"{option} would overwrite the input" in line
        assert path.read_text() == text


@EVERY
def test_an_interrupt_writes_nothing(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments, target = command.given(tmp_path), tmp_path / "out.csv"
    target.write_text("before")
    before = sorted(tmp_path.iterdir())

    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(fb, LIBRARY[command.name][0], stop)
    assert run(*arguments, *command.options, "--output", target) == (130, "", "fairbook: interrupted\n")
    assert target.read_text() == "before"
    assert sorted(tmp_path.iterdir()) == before


@EVERY
def test_a_failed_certificate_is_told(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, kind, word = LIBRARY[command.name]
    monkeypatch.setattr(kind, "violations", lambda self: [f"all is wrong in {word} 1"])
    arguments = [*command.given(tmp_path), *command.options, "--output", tmp_path / "out.json"]
    code, out, err = run(*arguments, "--verify")
    assert code == 1
    assert "ann" in out
    said = f"all is wrong in {word} {2 if word else 1}"  # a file counts from 1
    assert err == f"fairbook: violated: {said}\n"
    assert json.loads((tmp_path / "out.json").read_text())["violations"] == [said]
    assert run(*arguments)[0] == 0


# -------------------------------------------------------------------------------------------------- anything at all

CELL = st.one_of(
    st.sampled_from(["", "0", "1", "2", "0.5", "-1", "1e74", "1e-74", "1e80", "1e999", "inf", "nan", "NA", "x", '"',
                     "a,b", "\r", "\ufeff"]),
    st.floats(0.01, 100).map(repr), st.text(max_size=4))
HEADS = {"users": "user,cpu,max_tasks", "phases": "phase,user,cpu,released", "demands": "period,user,tasks,cpu",
         "machines": "machine,cpu,count", "requests": "user,max_vms,tolerance", "clusters": "cluster,capacity"}
GOOD = {"users": "a,1,2", "phases": "1,a,1,1", "demands": "1,a,2,1", "machines": "m,3,2", "requests": "a,2,0.5",
        "clusters": "m,3"}
CHOICES = {"allocate": ("--mechanism", list(RULES)), "phases": ("--rule", list(PHASE_RULES)),
           "periods": ("--unserved", ["expires", "waits"]), "place": ("--rule", list(place.TAKES)),
           "cluster": ("--method", list(cluster._TAKES))}


@EVERY
@settings(deadline=None, derandomize=True, database=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_tables_are_computed_or_refused_in_one_line(
    data: st.DataObject, command: Command, tmp_path: Path
) -> None:
    tables = {}
    for file in command.files:
        width = HEADS[file].count(",") + 1
        rows = data.draw(st.lists(st.lists(CELL, min_size=width, max_size=width), max_size=4))
        tables[file] = "\n".join([HEADS[file], *map(",".join, rows), GOOD[file]])
    option, values = CHOICES[command.name]
    survives([*command.given(tmp_path, **tables), option, data.draw(st.sampled_from(values)), "--explain"])


@settings(deadline=None, derandomize=True, database=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(content=st.one_of(st.binary(max_size=200), st.text(max_size=200)),
       head=st.sampled_from(["", "user,cpu\na,1\n", "\x1f\x8b\x08\0"]))
def test_any_bytes_are_computed_or_refused_in_one_line(content: bytes | str, head: str, tmp_path: Path) -> None:
    rest = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    survives(ALLOCATE.given(tmp_path, users=head.encode("latin1") + rest))
