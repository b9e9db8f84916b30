"""``fairbook cluster``: thin over the library, errors in one line, nothing written by halves."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fairbook as fb
from fairbook import cli
from fairbook.cli import cluster as _cluster
from fairbook.mechanisms.virtual_cluster import METHODS
from fairbook.model.clusters import SPANS
from tests.commands import Run, inputs_are_kept, refused, runner

ROOT = Path(__file__).resolve().parents[1]
REQUESTS = "user,max_vms,tolerance\nann,10,0.5\nbob,8,0.25\ncyd,6,1\ndan,5,0\n"
CLUSTERS = "cluster,capacity\nnorth,12\nsouth,9\n"
USERS = ["ann", "bob", "cyd", "dan"]
LIBRARY = (pd.Series([10, 8, 6, 5], USERS), pd.Series([0.5, 0.25, 1, 0], USERS), pd.Series([12, 9], ["north", "south"]))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys, "cluster")


@pytest.fixture
def files(tmp_path: Path) -> Callable[..., list[Any]]:
    def write(requests: str = REQUESTS, clusters: str = CLUSTERS) -> list[Any]:
        (tmp_path / "requests.csv").write_text(requests)
        (tmp_path / "clusters.csv").write_text(clusters)
        return [tmp_path / "requests.csv", "--clusters", tmp_path / "clusters.csv"]

    return write


def read(text: str, index: str = "user") -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text), keep_default_na=False).set_index(index)


CASES: list[tuple[list[str], dict[str, Any]]] = [
    ([], {}),
    (["--node-limit", "7", "--seed", "3"], {"node_limit": 7, "seed": 3}),
    (["--fractions"], {"whole": False}),
    (["--method", "spanning"], {"method": "spanning"}),
    (["--method", "spanning", "--fractions"], {"method": "spanning", "whole": False}),
    (["--method", "relaxation", "--load", "free"], {"method": "relaxation", "load": "free"}),
    (["--method", "greedy", "--fit", "first_fit"], {"method": "greedy", "fit": "first_fit"}),
    (["--method", "mixed_knapsack", "--general", "relaxation", "--load", "free", "--fit", "best_fit", "--small", "0",
      "--top-up"],
     {"method": "mixed_knapsack", "general": "relaxation", "load": "free", "fit": "best_fit", "small": 0,
      "top_up": True}),
    (["--method", "metagreedy"], {"method": "metagreedy"}),
    (["--method", "vector_packing"], {"method": "vector_packing"}),
]


@pytest.mark.parametrize(("options", "arguments"), CASES)
def test_what_is_written_is_what_the_library_says(
    run: Run, files: Callable[..., list[Any]], tmp_path: Path, options: list[str], arguments: dict[str, Any]
) -> None:
    shared = fb.virtual_cluster(*LIBRARY, **arguments)
    tariffs = ["--high", "3", "--low", "0.5"]
    code, out, err = run(*files(), *options, *tariffs, "--output", "-", "--verify")
    assert code == 0
    assert "verified" in err
    told = read(out)
    expected = shared.to_frame()
    assert told.index.to_list() == USERS
    assert told["cluster"].to_list() == expected["cluster"].to_list()
    for column in ("vms", "fraction", "minimum", "max_vms"):
        assert told[column].to_list() == pytest.approx(expected[column].to_list(), rel=1e-12), column
    assert told["cost"].to_list() == pytest.approx(shared.cost(3, 0.5).tolist(), rel=1e-12)
    code, text, _ = run(*files(), *options, *tariffs, "--output", tmp_path / "all.json")
    assert code == 0
    assert "ann" in text
    everything = json.loads((tmp_path / "all.json").read_text())
    assert everything["mechanism"] == "virtual_cluster"
    assert everything["terms"] == {"whole": True, **arguments, "method": shared.method, "high": 3, "low": 0.5}
    assert [row["vms"] for row in everything["users"]] == told["vms"].to_list()
    assert [row["use"] for row in everything["clusters"]] == pytest.approx(shared.use.tolist(), rel=1e-12)
    (summary,) = everything["summary"]
    assert summary == {
        "method": shared.method, "min_fraction": shared.min_fraction, "bound": shared.bound, "optimal": shared.optimal,
        "served_fraction": shared.served_fraction, "turned_away": int((~shared.served).sum()),
        "slack": pytest.approx(shared.slack.sum(), rel=1e-12), "revenue": pytest.approx(shared.revenue(3, 0.5)),
    }


def test_default_tariffs_are_the_librarys(run: Run, files: Callable[..., list[Any]]) -> None:
    told = read(run(*files(), "--output", "-")[1])
    assert told["cost"].to_list() == fb.virtual_cluster(*LIBRARY).cost().tolist()


def test_the_table_has_a_row_a_user_and_a_summary(run: Run, files: Callable[..., list[Any]]) -> None:
    code, out, err = run(*files())
    assert (code, err) == (0, "")
    users, summary = out.split("\n\n")
    shared = fb.virtual_cluster(*LIBRARY)
    assert [line.split()[0] for line in users.splitlines()[2:]] == USERS
    assert summary.splitlines()[0].split() == [
        "min_fraction", "bound", "optimal", "served_fraction", "turned_away", "slack", "revenue"]
    reached, bound = (f"{value:.6g}" for value in (shared.min_fraction, shared.bound))
    assert summary.splitlines()[-1].split()[:4] == ["exact", reached, bound, "True"]


def test_the_method_makes_a_difference(run: Run, files: Callable[..., list[Any]], tmp_path: Path) -> None:
    least = {}
    for method in _cluster._TAKES:
        assert run(*files(), "--method", method, "--output", tmp_path / "all.json")[0] == 0
        least[method] = json.loads((tmp_path / "all.json").read_text())["summary"][0]["min_fraction"]
    assert least["relaxation"] < least["exact"] <= least["spanning"]


def test_whoever_is_turned_away_has_no_cluster_and_pays_nothing(
    run: Run, files: Callable[..., list[Any]], tmp_path: Path
) -> None:
    arguments = files("user,max_vms,tolerance\nann,3,0\nbob,20,0.1\n")
    told = read(run(*arguments, "--output", "-")[1])
    assert told.loc["bob", ["vms", "cluster", "cost"]].to_list() == [0, "", 0]
    assert told.loc["ann", "vms"] == 3
    assert run(*arguments, "--output", tmp_path / "all.json", "--explain", "bob")[0] == 0
    everything = json.loads((tmp_path / "all.json").read_text())
    assert everything["summary"][0]["turned_away"] == 1
    assert everything["summary"][0]["min_fraction"] == 0
    assert everything["summary"][0]["served_fraction"] == 1
    assert "turned away" in everything["users"][1]["explanation"]
    assert everything["clusters"][1]["min_fraction"] is None or everything["clusters"][0]["min_fraction"] is None


def test_nobody_served_is_null_in_json(run: Run, files: Callable[..., list[Any]], tmp_path: Path) -> None:
    assert run(*files("max_vms,tolerance\n20,0\n"), "--output", tmp_path / "all.json")[0] == 0
    assert json.loads((tmp_path / "all.json").read_text())["summary"][0]["served_fraction"] is None


def test_by_cluster(run: Run, files: Callable[..., list[Any]]) -> None:
    sizes = pd.Series([13, 8], ["north", "south"])
    for options, shared in (([], fb.virtual_cluster(*LIBRARY[:2], sizes)),
                            (["--method", "spanning"], fb.virtual_cluster(*LIBRARY[:2], sizes, method="spanning"))):
        code, out, _ = run(*files(clusters="cluster,capacity\nnorth,13\nsouth,8\n"), *options, "--by-cluster",
                           "--output", "-")
        assert code == 0
        told = read(out, "cluster")
        expected = shared.cluster_frame()
        assert told.index.to_list() == ["north", "south"]
        for column in expected.columns:
            assert told[column].to_list() == pytest.approx(expected[column].to_list(), rel=1e-12), column
        for j, text in enumerate(told["contents"]):
            held = dict(part.split()[::-1] for part in text.split(", "))
            assert [int(held.get(user, 0)) for user in USERS] == shared.by_cluster[:, j].tolist()
    assert (shared.cluster == SPANS).any()


def test_explanations(run: Run, files: Callable[..., list[Any]]) -> None:
    shared = fb.virtual_cluster(*LIBRARY)
    code, out, _ = run(*files(), "--explain")
    assert code == 0
    assert out.endswith("\n".join(shared.explain(user) for user in USERS) + "\n")
    code, out, _ = run(*files(), "--explain", "bob", "--output", "-")
    assert read(out)["explanation"].to_list() == ["", shared.explain("bob"), "", ""]
    assert "'fay'" in refused(run(*files(), "--explain", "fay"))


def test_clusters_on_the_command_line(run: Run, files: Callable[..., list[Any]]) -> None:
    arguments = files()
    expected = run(*arguments, "--output", "-")
    assert run(arguments[0], "--capacity", "north=12", "south=9", "--output", "-") == expected
    code, out, _ = run(arguments[0], "--capacity", "12", "--capacity", "9", "--output", "-")
    assert code == 0
    assert out == expected[1].replace("north", "1").replace("south", "2")
    told = read(run(*files(clusters="capacity\n12\n9\n"), "--output", "-")[1])
    assert set(told["cluster"]) == {1, 2}


def test_parts_of_a_vm(run: Run, files: Callable[..., list[Any]]) -> None:
    arguments = files("max_vms,tolerance\n10,0.5\n10,0.5\n", "cluster,capacity\nnorth,12.5\n")
    code, out, err = run(*arguments, "--output", "-")
    assert code == 0
    assert "'north' holds 12 whole VMs, not 12.5" in err
    assert sorted(read(out)["vms"]) == [6, 6]
    code, out, err = run(*arguments, "--fractions", "--output", "-")
    assert (code, err) == (0, "")
    assert read(out)["vms"].to_list() == pytest.approx([6.25, 6.25])
    assert "must be whole unless --fractions is given, got 10.5" in refused(run(*files("max_vms,tolerance\n10.5,0\n")))


def test_a_low_node_limit_leaves_the_bound_open(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    asked = [(int(rng.integers(20, 41)), int(rng.integers(0, 90)) / 100) for _ in range(12)]
    (tmp_path / "r.csv").write_text("\n".join(["max_vms,tolerance", *(f"{alpha},{k}" for alpha, k in asked)]))
    sizes, found = [60, 70, 55, 80, 55], []
    for options in (["--node-limit", "1"], []):
        assert run(tmp_path / "r.csv", "--capacity", *sizes, *options, "--output", tmp_path / "all.json")[0] == 0
        found += json.loads((tmp_path / "all.json").read_text())["summary"]
    low, usual = found
    assert low["min_fraction"] <= usual["min_fraction"] == usual["bound"] < low["bound"]
    assert (low["optimal"], usual["optimal"]) == (False, True)


def test_failed_verification_is_told(
    run: Run, files: Callable[..., list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fb.VirtualClusters, "violations", lambda self: ["cluster north is on fire"])
    code, _, err = run(*files(), "--verify")
    assert code == 1
    assert err.endswith("fairbook: violated: cluster north is on fire\n")


def test_an_interrupt_writes_nothing(
    run: Run, files: Callable[..., list[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "shared.csv"
    target.write_text("before")

    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    arguments = files()
    monkeypatch.setattr(fb, "virtual_cluster", stop)
    assert run(*arguments, "--output", target) == (130, "", "fairbook: interrupted\n")
    assert target.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clusters.csv", "requests.csv", "shared.csv"]


def test_stdin(run: Run, files: Callable[..., list[Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = files()
    expected = run(*arguments, "--output", "-")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(REQUESTS.encode())))
    assert run("-", *arguments[1:], "--output", "-") == expected


def test_the_shipped_example(run: Run) -> None:
    files = [ROOT / "data/example_requests.csv", "--clusters", ROOT / "data/example_clusters.csv"]
    code, out, _ = run(*files, "--explain", "--verify")
    assert code == 0
    assert "its minimum: others there have a smaller fraction" in out
    least = [float(read(run(*files, "--method", method, "--output", "-")[1])["fraction"].min())
             for method in ("relaxation", "greedy", "exact", "spanning")]
    assert least == sorted(set(least))


# ------------------------------------------------------------------------------------------------------- refusals

ONE = ["r.csv", "--capacity", "9"]


@pytest.mark.parametrize(("arguments", "part"), [
    ([], "requests.csv"),
    (["r.csv"], "--clusters --capacity is required"),
    ([*ONE, "--clusters", "c.csv"], "not allowed with"),
    (ONE, "r.csv: No such file"),
    ([*ONE, "--method", "knapsack"], "invalid choice"),
    ([*ONE, "--method", "relaxation", "--load", "least"], "invalid choice"),
    ([*ONE, "--node-limit", "0"], "must be a whole number of at least 1, got '0'"),
    ([*ONE, "--seed", "-1"], "whole number"),
    ([*ONE, "--high", "dear"], "must be a number, got 'dear'"),
    ([*ONE, "--high", "1", "--low", "2"], "--low must be between 0 and --high, got --low 2 --high 1"),
    ([*ONE, "--low", "-1"], "--low must be between 0 and --high, got --low -1 --high 2"),
    ([*ONE, "--high", "1e999"], "got --low 1 --high inf"),
    (["-", "--clusters", "-"], "only one file can be -"),
    ([*ONE, "--load", "free"], "--load belongs to relaxation, mixed_knapsack, not to exact"),
    ([*ONE, "--method", "greedy", "--node-limit", "9"], "--node-limit belongs to exact, not to greedy"),
    ([*ONE, "--method", "vector_packing", "--seed", "9"], "--seed belongs to exact, not to vector_packing"),
    ([*ONE, "--top-up"], "--top-up belongs to mixed_knapsack, not to exact"),
    ([*ONE, "--explain", "--by-cluster"], "--explain does not go with --by-cluster"),
    ([*ONE, "--output", "shared.txt"], "--output must end in"),
])
def test_wrong_arguments(run: Run, arguments: list[str], part: str) -> None:
    assert part in refused(run(*arguments))


@pytest.mark.parametrize(("given", "part"), [
    (["many"], "--capacity must be given as numbers or as name=number, got 'many'"),
    (["=4"], "name=number, got '=4'"),
    (["a\nb=4"], "name=number, got 'a\\nb=4'"),
    (["north=4", "north=5"], "--capacity names 'north' twice"),
    (["2=4", "5"], "--capacity names '2' twice"),
    (["north=12", "south=-1"], "--capacity 'south=-1' must not be negative, got -1.0"),
    (["north=1e999"], "--capacity 'north=1e999' must be finite, got inf"),
    (["0", "0"], "--capacity: the clusters must hold at least one VM somewhere, got [0, 0]"),
])
def test_wrong_capacities(run: Run, files: Callable[..., list[Any]], given: list[str], part: str) -> None:
    assert part in refused(run(files()[0], "--capacity", *given))


BAD: dict[str, tuple[str, str, str]] = {
    "empty requests": ("", CLUSTERS, "requests.csv: is empty"),
    "no user": ("user,max_vms,tolerance\n", CLUSTERS, "holds no user, only a header"),
    "no tolerance": ("user,max_vms\nann,1\n", CLUSTERS, "requests.csv: has no column 'tolerance'"),
    "user twice": ("user,max_vms,tolerance\na,1,0\na,1,0\n", CLUSTERS, "line 3, column 'user': 'a' is on line 2"),
    "wanted zero": ("max_vms,tolerance\n2,0\n0,0\n", CLUSTERS,
                    "requests.csv, line 3, column 'max_vms': must be positive, got 0.0"),
    "wanted halves": ("max_vms,tolerance\n2.5,0\n", CLUSTERS, "line 2, column 'max_vms': must be whole unless --frac"),
    "wanted too many": ("max_vms,tolerance\n1e10,0\n", CLUSTERS, "line 2, column 'max_vms': must be at most 1e+09"),
    "wanted in words": ("max_vms,tolerance\n4 VMs,0\n", CLUSTERS, "column 'max_vms': '4 VMs' is not a number"),
    "tolerance missing": ("max_vms,tolerance\n4,\n", CLUSTERS, "line 2, column 'tolerance': the number is missing"),
    "tolerance in percent": ("max_vms,tolerance\n4,0\n4,50\n", CLUSTERS,
                             "line 3, column 'tolerance': must be between 0 and 1, got 50.0"),
    "tolerance negative": ("max_vms,tolerance\n4,-0.1\n", CLUSTERS, "must be between 0 and 1, got -0.1"),
    "row too short": ("max_vms,tolerance\n4\n", CLUSTERS, "line 2: 1 columns where the header has 2"),
    "empty clusters": (REQUESTS, "", "clusters.csv: is empty"),
    "no cluster": (REQUESTS, "cluster,capacity\n", "clusters.csv: holds no cluster, only a header"),
    "no capacity": (REQUESTS, "cluster,vms\nnorth,4\n", "clusters.csv: has no column 'capacity'"),
    "cluster twice": (REQUESTS, "cluster,capacity\nm,4\nm,4\n", "line 3, column 'cluster': 'm' is on line 2 already"),
    "cluster without a name": (REQUESTS, "cluster,capacity\n,4\n", "line 2, column 'cluster': '' is not a name"),
    "capacity negative": (REQUESTS, "cluster,capacity\nn,4\ns,-4\n",
                          "clusters.csv, line 3, column 'capacity': must not be negative, got -4.0"),
    "capacity too large": (REQUESTS, "capacity\n2e9\n", "line 2, column 'capacity': must be at most 1e+09, got 2"),
    "capacity missing": (REQUESTS, "cluster,capacity\nn,\n", "line 2, column 'capacity': the number is missing"),
    "nothing at all": (REQUESTS, "capacity\n0.5\n0\n", "clusters.csv: the clusters must hold at least one VM"),
}


@pytest.mark.parametrize("name", list(BAD))
def test_bad_files(run: Run, files: Callable[..., list[Any]], tmp_path: Path, name: str) -> None:
    requests, clusters, part = BAD[name]
    target = tmp_path / "shared.json"
    assert part in refused(run(*files(requests, clusters), "--output", target))
    assert not target.exists()


def test_names_that_mean_something_else(run: Run, files: Callable[..., list[Any]]) -> None:
    arguments = files(clusters="cluster,capacity\nseveral,4\n")
    assert "no cluster can be named 'several'" in refused(run(*arguments, "--method", "spanning"))
    assert run(*arguments)[0] == 0


def test_a_seed_that_is_too_large(run: Run, files: Callable[..., list[Any]]) -> None:
    assert refused(run(*files(), "--seed", 2**40)).startswith("fairbook: error: --seed must be a whole number from 0")


def test_a_price_beyond_measure(run: Run, files: Callable[..., list[Any]]) -> None:
    assert "--high 1e+308 is too much" in refused(run(*files(), "--high", "1e308"))


def test_inputs_are_not_overwritten(run: Run, files: Callable[..., list[Any]]) -> None:
    inputs_are_kept(run, files(), (0, 2))


def test_unused_columns_are_told(run: Run, files: Callable[..., list[Any]]) -> None:
    code, _, err = run(*files(clusters="cluster,capacity,site\nnorth,12,x\n"))
    assert code == 0
    assert "clusters.csv: column 'site' is left out" in err


def test_help(run: Run) -> None:
    code, text, err = run("--help")
    assert (code, err) == (0, "")
    assert all(f"\n  {method} " in text for method in _cluster._TAKES)
    assert "examples:" in text


def test_every_method_of_the_library_is_offered() -> None:
    assert set(_cluster._TAKES) == set(_cluster._ABOUT) == set(METHODS)


# --------------------------------------------------------------------------------------------------- anything at all

CELL = st.one_of(st.sampled_from(["", "0", "1", "2", "0.5", "-1", "nan", "inf", "1e80", "x", '"', "1e-80", "3"]),
                 st.text(max_size=3))
LINES = st.lists(st.lists(CELL, min_size=3, max_size=3), max_size=4)


@settings(deadline=None, derandomize=True, database=None, max_examples=80,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(requests=LINES, clusters=st.lists(st.lists(CELL, min_size=2, max_size=2), max_size=3),
       method=st.sampled_from(list(_cluster._TAKES)), fractions=st.booleans())
def test_any_tables_are_computed_or_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, requests: list[list[str]], clusters: list[list[str]],
    method: str, fractions: bool
) -> None:
    for name, header, lines in (("r", "user,max_vms,tolerance", [*requests, ["a", "2", "0.5"]]),
                                ("c", "cluster,capacity", [*clusters, ["m", "3"]])):
        text = "\n".join([header, *map(",".join, lines)])
        (tmp_path / f"{name}.csv").write_bytes(text.encode("utf-8", "surrogatepass"))
    capsys.readouterr()
    code = cli.main(["cluster", str(tmp_path / "r.csv"), "--clusters", str(tmp_path / "c.csv"), "--method", method,
                     "--explain", "--verify", *(["--fractions"] if fractions else [])])
    out, err = capsys.readouterr()
    assert code in (0, 2)
    assert "Traceback" not in err
    assert code == 0 or (out == "" and err.splitlines()[-1].startswith("fairbook: error: "))
