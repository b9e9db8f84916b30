"""``fairbook place``: what it alone has."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pandas as pd
import pytest

import fairbook as fb
from fairbook.cli import place
from tests.commands import PLACE, PLACED, run


def test_the_shown_table_and_the_others_in_json(tmp_path: Path) -> None:
    placed, given, target = fb.gdrf(PLACED), PLACE.given(tmp_path), tmp_path / "all.json"
    machines, states = (PLACE.told(*given, "--table", name, index=("class",)) for name in ("machines", "states"))
    pd.testing.assert_frame_equal(machines, placed.machine_frame(), check_index_type=False)
    assert states["machines"].to_list() == placed.states.machines.tolist()
    assert states["tasks"].to_list() == placed.states.tasks.sum(axis=1).tolist()
    first = dict(part.split()[::-1] for part in states["contents"].iloc[0].split(", "))
    assert [int(first.get(user, 0)) for user in ("ann", "bob")] == placed.states.tasks[0].tolist()
    for options, result in (([], placed), (["--rule", "drfh", "--method", "fluid"], fb.drfh(PLACED, method="fluid"))):
        assert run(*given, *options, "--output", target)[0] == 0
        whole = json.loads(target.read_text())
        assert whole["mechanism"] == result.mechanism
        assert sum(row["tasks"] for row in whole["machines"]) == pytest.approx(result.tasks.sum(), rel=1e-12)
        use = [row["utilisation"] for row in whole["resources"]]
        assert use == pytest.approx(result.utilisation.tolist(), rel=1e-12)
        assert ("states" in whole) == isinstance(result, fb.Placement)


@pytest.mark.parametrize("rule", ["drfh", "per_server_drf"])
@pytest.mark.parametrize(("name", "options"), [("weight", []), ("entitlement", ["--weights", "entitlement"])])
def test_weights(rule: str, name: str, options: list[str], tmp_path: Path) -> None:
    given = PLACE.given(tmp_path, users=f"user,cpu,memory,{name}\nann,1,1,3\nbob,1,1,1\n", machines="cpu,memory\n8,8\n")
    assert PLACE.told(*given, "--rule", rule, *options)["tasks"].to_list() == [6, 2]
    assert ("gdrf does not use column 'weight'" in run(*given)[2]) == (not options)


def test_a_class_that_lacks_a_resource_is_null_in_json(tmp_path: Path) -> None:
    given = PLACE.given(tmp_path, users="cpu,gpu\n1,0\n1,1\n", machines="cpu,gpu\n4,0\n4,4\n")
    assert run(*given, "--output", tmp_path / "out.json")[0] == 0
    lacks, has = (row["utilisation_gpu"] for row in json.loads((tmp_path / "out.json").read_text())["machines"])
    assert lacks is None
    assert has > 0


def test_progress_goes_to_stderr(tmp_path: Path) -> None:
    given = [*PLACE.given(tmp_path), "--output", "-"]
    quiet, loud = run(*given), run(*given, "--progress")
    assert quiet[:2] == loud[:2]
    assert quiet[2] == ""
    assert "tasks" in loud[2]


def test_the_options_are_those_of_the_library() -> None:
    for rule, takes in place.TAKES.items():
        instance = {"demands", "machines", "machine_counts", "max_tasks", "progress"}
        assert set(takes) == set(inspect.signature(getattr(fb, rule)).parameters) - instance
