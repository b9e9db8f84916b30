"""``fairbook cluster``: what it alone has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairbook as fb
from fairbook.cli import cluster
from fairbook.mechanisms.virtual_cluster import METHODS
from fairbook.model.clusters import SPANS
from tests.commands import ASKED, CLUSTER, ROOT, run


def summary(*arguments: Any) -> dict[str, Any]:
    """Give the line about all users, as JSON holds it; the file is left beside the first table."""
    target = arguments[1].parent / "all.json"
    assert run(*arguments, "--output", target)[0] == 0
    (found,) = json.loads(target.read_text())["summary"]
    return found


def test_costs_and_the_summary(tmp_path: Path) -> None:
    shared, given = fb.virtual_cluster(*ASKED), CLUSTER.given(tmp_path)
    assert CLUSTER.told(*given)["cost"].to_list() == shared.cost().tolist()
    dear = [*given, "--high", "3", "--low", "0.5"]
    assert CLUSTER.told(*dear)["cost"].to_list() == pytest.approx(shared.cost(3, 0.5).tolist(), rel=1e-12)
    assert summary(*dear) == {
        "method": shared.method, "min_fraction": shared.min_fraction, "bound": shared.bound, "optimal": shared.optimal,
        "served_fraction": shared.served_fraction, "turned_away": int((~shared.served).sum()),
        "slack": pytest.approx(shared.slack.sum(), rel=1e-12), "revenue": pytest.approx(shared.revenue(3, 0.5)),
    }
    everything = json.loads((tmp_path / "all.json").read_text())
    assert everything["terms"] == {"method": "exact", "whole": True, "high": 3, "low": 0.5}
    assert [row["use"] for row in everything["clusters"]] == pytest.approx(shared.use.tolist(), rel=1e-12)
    users, last = run(*given)[1].split("\n\n")
    assert [line.split()[0] for line in users.splitlines()[2:]] == list(ASKED[0].index)
    assert last.splitlines()[0].split() == [
        "min_fraction", "bound", "optimal", "served_fraction", "turned_away", "slack", "revenue"]
    reached, bound = (f"{value:.6g}" for value in (shared.min_fraction, shared.bound))
    assert last.splitlines()[-1].split()[:4] == ["exact", reached, bound, "True"]


def test_the_method_makes_a_difference(tmp_path: Path) -> None:
    assert set(cluster._TAKES) == set(cluster._ABOUT) == set(METHODS)
    least = {method: summary(*CLUSTER.given(tmp_path), "--method", method)["min_fraction"] for method in METHODS}
    assert least["relaxation"] < least["exact"] <= least["spanning"]
    shipped = ("cluster", ROOT / "data/example_requests.csv", "--clusters", ROOT / "data/example_clusters.csv")
    fractions = [CLUSTER.told(*shipped, "--method", method)["fraction"].min()
                 for method in ("relaxation", "greedy", "exact", "spanning")]
    assert fractions == sorted(set(fractions))
    assert "its minimum: others there have a smaller fraction" in run(*shipped, "--explain")[1]


def test_whoever_is_turned_away_has_no_cluster_and_pays_nothing(tmp_path: Path) -> None:
    given = CLUSTER.given(tmp_path, requests="user,max_vms,tolerance\nann,3,0\nbob,20,0.1\n")
    told = CLUSTER.told(*given)
    assert told.loc["bob", ["vms", "cluster", "cost"]].to_list() == [0, "", 0]
    assert told.loc["ann", "vms"] == 3
    of_all = summary(*given, "--explain", "bob")
    assert (of_all["turned_away"], of_all["min_fraction"], of_all["served_fraction"]) == (1, 0, 1)
    everything = json.loads((tmp_path / "all.json").read_text())
    assert "turned away" in everything["users"][1]["explanation"]
    assert None in [row["min_fraction"] for row in everything["clusters"]]
    assert summary(*CLUSTER.given(tmp_path, requests="max_vms,tolerance\n20,0\n"))["served_fraction"] is None


def test_by_cluster(tmp_path: Path) -> None:
    given = CLUSTER.given(tmp_path, clusters="cluster,capacity\nnorth,13\nsouth,8\n")
    for method in ("exact", "spanning"):
        shared = fb.virtual_cluster(*ASKED[:2], ASKED[2] + [1, -1], method=method)
        told = CLUSTER.told(*given, "--method", method, "--by-cluster", index=("cluster",))
        expected = shared.cluster_frame()
        assert told.index.to_list() == ["north", "south"]
        for column in expected.columns:
            assert told[column].to_list() == pytest.approx(expected[column].to_list(), rel=1e-12), column
        for j, text in enumerate(told["contents"]):
            held = dict(part.split()[::-1] for part in text.split(", "))
            assert [int(held.get(user, 0)) for user in shared.users] == shared.by_cluster[:, j].tolist()
    assert (shared.cluster == SPANS).any()
    assert run(*CLUSTER.given(tmp_path, clusters="cluster,capacity\nseveral,30\n"))[0] == 0  # refused with spanning


def test_clusters_on_the_command_line(tmp_path: Path) -> None:
    given = CLUSTER.given(tmp_path)
    expected = run(*given, "--output", "-")
    assert run(*given[:2], "--capacity", "north=12", "south=9", "--output", "-") == expected
    numbered = run(*given[:2], "--capacity", "12", "--capacity", "9", "--output", "-")
    assert numbered == (0, expected[1].replace("north", "1").replace("south", "2"), "")
    assert run(*CLUSTER.given(tmp_path, clusters="capacity\n12\n9\n"), "--output", "-") == numbered


def test_parts_of_a_vm(tmp_path: Path) -> None:
    given = CLUSTER.given(tmp_path, requests="max_vms,tolerance\n10,0.5\n10,0.5\n",
                          clusters="cluster,capacity\nnorth,12.5\n")
    assert "'north' holds 12 whole VMs, not 12.5" in run(*given)[2]
    assert sorted(CLUSTER.told(*given)["vms"]) == [6, 6]
    assert run(*given, "--fractions")[2] == ""
    assert CLUSTER.told(*given, "--fractions")["vms"].to_list() == pytest.approx([6.25, 6.25])


def test_a_low_node_limit_leaves_the_bound_open(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    asked = [(int(rng.integers(20, 41)), int(rng.integers(0, 90)) / 100) for _ in range(12)]
    lines = "\n".join(["max_vms,tolerance", *(f"{alpha},{k}" for alpha, k in asked)])
    given = [*CLUSTER.given(tmp_path, requests=lines)[:2], "--capacity", 60, 70, 55, 80, 55]
    low, usual = summary(*given, "--node-limit", "1"), summary(*given)
    assert low["min_fraction"] <= usual["min_fraction"] == usual["bound"] < low["bound"]
    assert (low["optimal"], usual["optimal"]) == (False, True)
