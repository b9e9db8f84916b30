"""``fairbook allocate``: what it reads, computes, prints, explains and writes, for everything that can be given."""

import gzip
import io
import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairbook as fb
from book.common import claims, results
from book.compare import studies
from fairbook.cli import options as cli_options
from fairbook.cli.common import Refused
from fairbook.cli.options import settings
from fairbook.mechanisms import registry
from fairbook.mechanisms.readings import READINGS
from tests.commands import (
    ASKED,
    BOUNDED,
    BOUNDS,
    CLUSTERS,
    EVERY,
    MACHINES,
    PERIODIC,
    PERIODS,
    PHASED,
    PHASES,
    PLACED,
    POOL,
    RELEASED,
    ROOT,
    USERS,
    Case,
    no_gaps,
    refused,
    run,
)

#: How the line begins that says what has been found right.
SAID = "fairbook: (proved|consistent|repeated): "
KINDS = {
    "drf": fb.Allocation,
    "cbdrf": fb.CreditRun,
    "tv_drf": fb.TvDrfRun,
    "drfh": fb.Placement,
    "virtual_cluster": fb.VirtualClusters,
}
#: What is shipped, and the options that go with it.
SHIPPED = [
    ("users", "--capacity", "cpu=1", "memory=1", "gpu=1"),
    ("phases", "--capacity", "cpu=9", "memory=18"),
    ("periods", "--machines", "data/example_machines.csv"),
    ("tasks", "--machines", "data/example_machines.csv"),
    ("requests", "--clusters", "data/example_clusters.csv"),
]

# ------------------------------------------------------------------------------------- what the library says

_USERS = pd.read_csv(ROOT / "data/example_users.csv", index_col="user")
_COLUMNS = {"weights": _USERS["weight"].to_numpy(), "max_tasks": _USERS["max_tasks"].fillna(np.inf).to_numpy()}
_EXAMPLE = Case(
    {"users": (ROOT / "data/example_users.csv").read_text()}, "drf", ("--capacity", "cpu=1", "memory=1", "gpu=1")
)

#: Tables, the function and its data, and what the paper leaves open.
RUNS: list[tuple[Case, dict[str, str], str, tuple[Any, ...], dict[str, Any], dict[str, Any]]] = [
    *((_EXAMPLE, {}, name, (_USERS[["cpu", "memory", "gpu"]],),
       {column: _COLUMNS[column] for column in _COLUMNS if column in rule.takes}, terms)
      for name, rule in registry.items() if rule.kind in ("pool", "arrivals")
      for terms in [{}, *({key: value} for key, (values, _) in rule.readings.items() for value in values)]),
    *((PHASES, {}, "cbdrf", (PHASED,), {"capacities": [9, 18], **RELEASED}, terms) for terms in (
        {}, {"held": "stays"}, {"grant": "capped", "credit_cap": None},
        {"grant": "weighted", "held": "stays", "penalty": "graded"},
        {"rho": 0.5, "step_up": 0.2, "step_down": 0.3, "initial_credit": 2.0, "credit_cap": 2.5, "credit_floor": 1.0})),
    *((PHASES, {"phases": BOUNDED}, "karma", (PHASED,), {"capacities": [9, 18], **BOUNDS}, terms)
      for terms in ({}, {"alpha": 0.2, "initial_credit": 0.25})),
    *((PERIODS, {}, "tv_drf", PERIODIC, {}, dict(zip(READINGS["tv_drf"], values)) | memory)
      for values in product(*(reading.values for reading in READINGS["tv_drf"].values()))
      for memory in ({}, {"memory": False})),
    *((MACHINES, {}, name, (PLACED,), {}, terms) for name, terms in (
        ("gdrf", {}),
        ("gdrf", {"match": "same", "least": "shares", "machine_type": "amount", "choice": "fairness_after",
                  "queue": "one_by_one", "seed": 3}),
        ("drfh", {}), ("drfh", {"method": "first_fit"}), ("drfh", {"method": "fluid"}),
        ("mdrf", {"reading": "type", "seed": 5}), ("per_server_drf", {}))),
    *((CLUSTERS, {}, "virtual_cluster", ASKED, {}, terms) for terms in (
        {}, {"node_limit": 7, "seed": 3}, {"whole": False}, {"method": "spanning"},
        {"method": "spanning", "whole": False}, {"method": "relaxation", "load": "free"},
        {"method": "greedy", "fit": "first_fit"},
        {"method": "mixed_knapsack", "general": "relaxation", "load": "free", "fit": "best_fit", "small": 0,
         "top_up": True}, {"method": "metagreedy"}, {"method": "vector_packing"})),
]  # fmt: skip


@pytest.mark.parametrize(("case", "tables", "rule", "data", "columns", "terms"), RUNS)
def test_what_is_written_is_what_the_library_says(
    case: Case,
    tables: dict[str, str],
    rule: str,
    data: tuple[Any, ...],
    columns: dict[str, Any],
    terms: dict[str, Any],
    tmp_path: Path,
) -> None:
    result = getattr(fb, rule)(*data, **columns, **terms)
    arguments = [*case.given(tmp_path, **tables), "--mechanism", rule]
    for name, value in terms.items():
        arguments += ["--set", f"{name}={value}".lower()]
    told, expected = case.told(*arguments), result.to_frame()
    if len(case.index) == 2:  # a file counts from 1, and has names
        names = pd.MultiIndex.from_product([(1, 2, 3), USERS[: expected.index.levshape[1]]], names=case.index)
        named = {"bottleneck": {0: "cpu", 1: "memory"}, "dominant": {0: "cpu", 1: "memory", None: ""}}
        expected = expected.set_index(names).replace(named)
        expected.columns = [{"use_0": "use_cpu", "use_1": "use_memory"}.get(name, name) for name in expected]
    pd.testing.assert_frame_equal(
        told[list(expected)],
        no_gaps(expected),
        check_dtype=False,
        rtol=1e-12,
        atol=1e-12,
        check_index_type=False,
        check_names=False,
    )
    code, _, err = run(*arguments, "--verify", "--output", tmp_path / "all.json")
    stops = terms == {"stuck": "stop"}  # which leaves room
    assert (code, bool(re.search(SAID, err))) == (int(stops), not stops)
    everything = json.loads((tmp_path / "all.json").read_text())
    assert (everything["mechanism"], everything["terms"]) == (rule, terms)
    key = "vms" if case is CLUSTERS else "tasks"
    assert [row[key] for row in everything["users"]] == told[key].to_list()


def test_every_mechanism_and_setting_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("allocate", "--help")[1].splitlines()
    assert len(lines) <= 56 + len(registry)
    assert max(map(len, lines)) <= 80
    for name, rule in registry.items():
        assert any(line.startswith(f"  {name} ") for line in lines)
        said = re.escape(next((f"{key}={'|'.join(one.values)}" for key, one in rule.readings.items()), ""))
        with pytest.raises(Refused, match=f"{name} has .*{said}"):
            settings(rule, ["x"])


def test_the_defaults_are_what_the_guide_of_the_comparison_says() -> None:
    moment, day, lying, matrix = (results.load(f"compare/{name}") for name in ("moment", "day", "lying", "matrix"))
    guide = studies.guide(studies.cells(matrix, claims.ledger()), moment, day, lying)
    best = dict(zip(guide["situation"], guide["best"].fillna("").str.split(", "), strict=True))
    default = {given: name for given, (name, _) in cli_options.DEFAULTS.items()}
    assert default["pool"] in best["one pool, divisible tasks, all users present at once"]
    assert default["phases"] in best["demands change, users that were idle get more later"]
    assert default["periods"] in best["the same, in whole tasks on machines"]
    assert (
        default["machines"]
        in best["whole tasks on machines, nothing idle, small losses compared with a user's own machines"]
    )
    assert default["machines"] in best["whole tasks on machines, nothing idle"]


# ------------------------------------------------------------------------------------------------ what is read


def cells(change: Callable[[list[str]], list[str]]) -> Callable[[str], str]:
    """Change every line of a table."""
    return lambda text: "".join(",".join(change(line.split(","))) + "\n" for line in text.splitlines())


HAND = {
    "period": "Day",
    "phase": "Day",
    "tasks": "Max-Tasks",
    "max_tasks": "Tasks",
    "tolerance": "TOLERANCE",
    "machine": "Machines",
    "count": " Count ",
    "released": "Release",
}
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
    "headings of another hand": lambda text: re.sub(
        "(period|phase|tasks|max_tasks|tolerance|machine|count|released)(?=[,\n])", lambda word: HAND[word[0]], text
    ),
    "a column of words": lambda text: text.replace("\n", ",odd\n").replace(",odd", ",note", 1),
}


@EVERY
def test_forms_of_the_same_tables(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = case.told(*case.given(tmp_path)).reset_index()
    for name, form in FORMS.items():
        tables: dict[str, Any] = {file: form(text) for file, text in case.files.items()}
        if name == "numbers written otherwise" and case is MACHINES:
            del tables["machines"]  # a count of machines is written with digits
        arguments = case.given(tmp_path, **tables)
        code, out, err = run(*arguments, "--output", "-")
        assert code == 0, (name, err)
        told = case.rows(out.replace("Day", case.index[0], 1)).reset_index()
        same = [one for one in usual if one != "dominant" or "order" not in name]  # the first of several
        pd.testing.assert_frame_equal(told[same], usual[same], check_dtype=False, obj=name)
        assert all(file in err for file in case.files) if name == "a column of words" else not err, name
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(arguments[1].read_bytes())))
        assert run("allocate", "-", *arguments[2:], "--output", "-")[0] == 0, name


@pytest.mark.parametrize(
    ("texts", "order", "said"),
    [
        (["10", "9", "08"], ["08", "9", "10"], "by number: 08 to 10"),
        (["2026-03-01", "2025-12-31", "2026-01-15"], ["2025-12-31", "2026-01-15", "2026-03-01"], "by date: 2025-12-31"),
        (["Wed", "Mon", "Tue"], ["Wed", "Mon", "Tue"], "in the order of the file: Wed to Tue"),
    ],
)
def test_periods_are_numbers_dates_or_names(texts: list[str], order: list[str], said: str, tmp_path: Path) -> None:
    lines = "".join(f"{text},ann,{9 - i}\n{text},bob,1\n" for i, text in enumerate(texts))
    given = [*PHASES.given(tmp_path, phases=f"day,user,cpu\n{lines}")[:2], "--capacity", "cpu=9", "--explain"]
    code, out, _ = run(*given, f"bob:{texts[1]}", "--output", tmp_path / "out.csv")
    rows = pd.read_csv(tmp_path / "out.csv", dtype={"day": str})
    assert (code, rows["day"].tolist()) == (0, [text for text in order for _ in "ab"])
    assert f"3 periods in column 'day', {said}" in " ".join(out.split())
    assert re.findall(r"\nbob runs \S+ tasks in day (\S+),", out) == [texts[1]]
    first = rows[rows["day"] == texts[0]].iloc[0]
    assert first["use_cpu"] == pytest.approx(9 * first["tasks"])  # its line has moved with it
    assert len(run(*given, "bob")[1].split("bob runs")) == 4


def test_arrivals_share_the_pool_that_capacity_describes(tmp_path: Path) -> None:
    given = POOL.given(tmp_path, users="user,cpu,memory,weight\na,1,4,2\nb,3,1,4\nc,1,1,2\n")[:2]
    arguments = [*given, "--mechanism", "dmfa_srq", "--capacity", "cpu=90", "memory=180"]
    demands = np.array([[1, 4], [3, 1], [1, 1]])
    expected = fb.dmfa_srq(demands / [90, 180], weights=[1 / 4, 1 / 2, 1 / 4])
    np.testing.assert_allclose(POOL.told(*arguments)["tasks"], expected.tasks)
    own = POOL.told(*given, "--mechanism", "dmfa_srq")["tasks"]  # each brings its weight of everything
    np.testing.assert_allclose(own, fb.dmfa_srq(demands, weights=[2, 4, 2]).tasks)


#: Ways to say that Ann brought a quarter of the left machine, and Bob the rest.
PARTS = {"machines": "machine,cpu,memory,ann,bob\nleft,50,50,0.25,0.75\nright,50,50,0,1\n"}


@pytest.mark.parametrize(
    ("tables", "machines", "parts", "silent"),
    [
        (PARTS, 50, [[0.25, 0], [0.75, 1]], True),
        ({"machines": "machine,cpu,memory\nleft,50,50\nright,50,50\n"}, 50, [0.5, 0.5], False),
        (
            {"machines": "owner,count,cpu,memory,disk\nann,2,25,25,9\nbob,1,50,50,9\n"},
            [[25.0] * 2, [25.0] * 2, [50.0] * 2],
            [[1, 1, 0], [0, 0, 1]],
            True,
        ),
    ],
)
def test_who_brought_which_machine(
    tables: dict[str, str], machines: Any, parts: Any, silent: bool, tmp_path: Path
) -> None:
    code, out, err = run(*PERIODS.given(tmp_path, **tables), "--output", "-")
    assert (code, "everyone is taken to have brought the same part" not in err) == (0, silent)
    pool = np.full((2, 2), 50.0) if machines == 50 else machines
    expected = fb.tv_drf(*PERIODIC[:2], pool, parts).to_frame()
    assert PERIODS.rows(out)["tasks"].to_list() == expected["tasks"].to_list()
    assert PERIODS.rows(out)["cumulative_share"].to_list() == expected["cumulative_share"].to_list()


def test_clusters_on_the_command_line(tmp_path: Path) -> None:
    given = CLUSTERS.given(tmp_path)
    expected = run(*given, "--output", "-")
    assert run(*given[:2], "--capacity", "north=12", "south=9", "--output", "-") == expected
    half = CLUSTERS.given(tmp_path, requests="max_vms,tolerance\n10,0.5\n10,0.5\n", clusters="capacity\n12.5\n")
    assert sorted(CLUSTERS.told(*half)["vms"]) == [6, 6]
    assert CLUSTERS.told(*half, "--set", "whole=false")["vms"].to_list() == pytest.approx([6.25, 6.25])


# --------------------------------------------------------------------------------------- what is said and written


def test_explanations_differ_and_say_what_one_more_would_change(tmp_path: Path) -> None:
    told = POOL.told(*POOL.given(tmp_path, users="user,cpu,memory\nann,1,2\nbob,2,4\n"), "--explain")["explanation"]
    assert re.search(r"^ann runs 4.5 tasks.*: cpu stops it\. .* nothing would change for it: memory ", told["ann"])


def test_the_reasons_of_many_users_take_no_more_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest, calls = fb.drf, list[int]()
    monkeypatch.setattr(fb, "drf", lambda *given, **named: calls.append(1) or honest(*given, **named))
    for n in (5, 50):
        lines = "".join(f"u{i},{1 + i % 3},{1 + i % 5},{i % 4 or ''}\n" for i in range(n))
        given = POOL.given(tmp_path, users=f"user,cpu,memory,max_tasks\n{lines}")
        assert POOL.told(*given, "--explain")["explanation"].str.contains("runs").all()
    assert len(calls) <= 2 * (1 + 2)  # one, and one for each resource


def test_tables_mark_the_dominant_resource_and_fit_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [line.split() for line in run(*POOL.given(tmp_path))[1].splitlines()]
    assert ["tasks", "cpu", "memory", "share", "stopped", "by"] in lines
    assert ["bob", "2", "6*", "2", "66.7%", "cpu"] in lines
    assert ["memory", "18", "14", "0.7778"] in lines
    monkeypatch.chdir(ROOT)
    for name, *options in SHIPPED:
        placed = ["--placement"] * (options[0] != "--capacity")
        code, out, err = run("allocate", f"data/example_{name}.csv", *options, "--verify", "--explain", *placed)
        assert (code, bool(re.search(SAID, err)), "\\" in out) == (0, True, False)  # no table is broken
        assert max(map(len, out.splitlines())) <= 80
    names = [f"resource_{j}" for j in range(300)]
    path = tmp_path / "users.csv"
    path.write_text(f"user,{','.join(names)}\nann{',1' * 300}\n")
    said = refused(run("allocate", path))
    assert ("resource_8, ..." in said, len(said) < 700) == (True, True)
    out = run("allocate", path, "--capacity", *(f"{name}=9" for name in names))[1]
    assert max(map(len, out.splitlines())) <= 80


#: What is asked, what is said of it, and the same with a little more.
MORE: list[tuple[Case, list[str], Any, str, Callable[[], Any]]] = [
    (
        POOL,
        ["--whole"],
        "ann",
        "With one more cpu (10 instead of 9)",
        lambda: fb.drf_by_task([[1, 4], [3, 1]], capacities=[10, 18]).tasks[0],
    ),
    (
        POOL,
        ["--mechanism", "dmfa_srq"],
        "ann",
        "With one more cpu (10 instead of 9)",
        lambda: fb.dmfa_srq(np.array([[1, 4], [3, 1]]) / [10, 18], weights=[0.5, 0.5]).tasks[0],
    ),
    (
        PHASES,
        ["--mechanism", "karma"],
        (3, "bob"),
        "With one more cpu (10 instead of 9)",
        lambda: fb.karma(PHASED, capacities=[10, 18]).tasks[2, 1],
    ),
    (
        PERIODS,
        [],
        (2, "bob"),
        "With one more cpu on machine left",
        lambda: fb.tv_drf(*PERIODIC[:2], [[51, 50], [50, 50]], PERIODIC[3]).tasks[1, 1],
    ),
    (
        MACHINES,
        [],
        "bob",
        "With one more machine small",
        lambda: fb.drfh(replace(PLACED, machine_counts=[3, 1])).tasks[1],
    ),
    (CLUSTERS, [], "ann", "With one more VM on north", lambda: fb.virtual_cluster(*ASKED[:2], [13, 9]).vms[0]),
]


@pytest.mark.parametrize(("case", "options", "who", "said", "more"), MORE)
def test_one_more_is_computed(
    case: Case, options: list[str], who: Any, said: str, more: Callable[[], Any], tmp_path: Path
) -> None:
    wanted = f"{who[1]}:{who[0]}" if isinstance(who, tuple) else who
    told = case.told(*case.given(tmp_path), *options, "--explain", wanted)
    text, key = told["explanation"][who], "vms" if case is CLUSTERS else "tasks"
    assert (told["explanation"] != "").sum() == 1
    changed = f"it would run {more():.4g}."
    same = more() == pytest.approx(told[key][who], rel=1e-9)
    assert f"{said} {'nothing would change for it' if same else changed}" in text


# ------------------------------------------------------------------------------------------------------- files


# ------------------------------------------------------------------------------------------------ certificates


@EVERY
def test_a_failed_certificate_is_told(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KINDS[case.mechanism], "violations", lambda self: ["all is wrong"])
    arguments = [*case.given(tmp_path), "--output", tmp_path / "out.json"]
    code, out, err = run(*arguments, "--verify")
    assert (code, err.endswith("fairbook: violated: all is wrong\n"), "ann" in out) == (1, True, True)
    assert ("periods count from 0, which is 1" in err) == (len(case.index) == 2)
    assert json.loads((tmp_path / "out.json").read_text())["violations"] == ["all is wrong"]
    assert run(*arguments)[0] == 0


@pytest.mark.parametrize(("rule", "exact"), [("drf", True), ("dmfa_srq", False), ("karma", False)])
def test_whole_tasks(rule: str, exact: bool, tmp_path: Path) -> None:
    case = PHASES if rule == "karma" else POOL
    table = {"users": "user,cpu,memory\nann,1,3.7\nbob,3,1\n"} if case is POOL else {}
    given = [*case.given(tmp_path, **table), "--mechanism", rule]
    parts, whole = case.told(*given), case.told(*given, "--whole")
    expected = fb.drf_by_task([[1, 3.7], [3, 1]], capacities=[9, 18]).tasks if exact else np.floor(parts["tasks"])
    assert whole["tasks"].to_list() == list(expected)
    assert ("which are rounded down" in run(*given, "--whole")[1]) == (not exact)
    assert "--whole gives whole ones" in run(*given)[1]


@EVERY
def test_output_as_csv_and_json(case: Case, tmp_path: Path) -> None:
    placed = ["--placement"] * (case not in (POOL, PHASES))
    arguments, out = [*case.given(tmp_path), "--explain", *placed], tmp_path / "out.json"
    code, text, _ = run(*arguments, "--verify", "--output", out)
    assert (code, run(*arguments)) == (0, (0, text, ""))
    assert text.startswith(f"{case.mechanism}: ")
    assert run(*arguments, "--mechanism", case.mechanism)[1].startswith(f"{case.mechanism}: as asked\n")
    everything, told, key = json.loads(out.read_text()), case.told(*arguments), "vms" if case is CLUSTERS else "tasks"
    assert (everything["fairbook"], everything["violations"]) == (fb.__version__, [])
    assert [row["explanation"] for row in everything["users"]] == told["explanation"].to_list()
    assert all(" ".join(said.split()) in " ".join(text.split()) for said in told["explanation"])
    total = dict[str, float]()
    for row in everything.get("placement", ()):
        for name, held in row["tasks"].items():
            total[name] = total.get(name, 0) + held * row.get("machines", 1)  # those that are alike hold the same
    expected = told[key].groupby("user").sum()
    assert total == (pytest.approx(expected[expected > 0].to_dict()) if placed else {})


@pytest.mark.parametrize(
    ("table", "options", "users", "said"),
    [
        ("team,cpu\nweb,1\netl,2\n", ["--capacity", "cpu=6"], ["web", "etl"], ""),
        ("note,who,cpu\nx,web,1\ny,etl,2\n", ["--capacity", "cpu=6", "--user-column", "who"], ["web", "etl"], "'note'"),
        ("bottleneck\n1\n2\n", ["--capacity", "bottleneck=6"], ["1", "2"], ""),  # a resource; users are numbered
    ],
)
def test_users_by_any_name(table: str, options: list[str], users: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(table)
    code, out, err = run("allocate", tmp_path / "t.csv", *options, "--output", "-")
    told = POOL.rows(out)
    assert (code, told.index.astype(str).to_list(), told["tasks"].to_list()) == (0, users, [3, 1.5])
    assert said in err
