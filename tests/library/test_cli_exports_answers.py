"""What ``fairbook allocate`` answers of whole exports, with terms from another file, and against what users hold."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairbook as fb
from tests.commands import ROOT, refused, run
from tests.library.test_cli_exports import (
    CLUSTER,
    JOBS,
    NODES,
    SMALL,
    container,
    everything,
    kubernetes,
    node,
    pod,
    written,
)

# ------------------------------------------------------------------------------------------ terms from another file


def test_weights_and_bounds_for_an_export(tmp_path: Path) -> None:
    pods = [pod(SMALL, of=of, on=None) for of in "abc" for _ in range(12)]
    source = written(tmp_path, kubernetes(node(cpu="12"), *pods, pod(container(cpu="1", tape="1"), of="idle")))
    # volcano-sh/volcano#1619, kubernetes-sigs/kueue: weights of queues
    for text, tasks in {
        "user,weight\na,2\nb,1\nc,1\n": [6, 3, 3], "weight,user,max_tasks\n2,a,3\n1,b,\n": [3, 4.5, 4.5],
        "user,min_tasks\na,8\n": [8, 2, 2], "user,min_tasks,weight\na,99,2\n": [12, 0, 0],
        "user,min_tasks,max_tasks\na,8,2\nb,0,inf\n": [2, 5, 5], "Queue,Max Tasks,of\nc,2,us\nidle,1,them\n": [5, 5, 2],
    }.items():  # fmt: skip
        told = everything(tmp_path, source, "--users", written(tmp_path, text, "terms.csv"))
        assert [one["tasks"] for one in told["users"]] == tasks
    said = run("allocate", source, "--users", tmp_path / "terms.csv")[2]
    assert "terms.csv: weight 1, and no other bound, for whom it does not name: a, b" in said


@pytest.mark.parametrize(("text", "said"), [
    ("user,weight\na,1\nzoe,2\n", "terms.csv, line 3, column 'user': 'zoe' is no user of"),
    ("user,weight\na,0\n", "terms.csv, line 2, column 'weight': must be positive; a weight of 0 is no share"),
    ("user,max_tasks\na,-1\n", "terms.csv, line 2, column 'max_tasks': must not be negative, got -1.0"),
    ("user,weight\na,1\na,2\n", "terms.csv, line 3, column 'user': 'a' stands in"),
    ("user,wieght\na,1\n", "must be user, and some of weight, max_tasks and min_tasks, got 'user', 'wieght'"),
    ("user,weight,cpu\na,1,1\n", "got 'user', 'weight', 'cpu'"),
    ('{\n "shares": {}\n}', "terms.csv: is JSON; --users takes CSV"),  # sshare --json
])  # fmt: skip
def test_terms_that_do_not_fit(text: str, said: str, tmp_path: Path) -> None:
    source = written(tmp_path, kubernetes(node(), pod(SMALL)))
    assert said in refused(run("allocate", source, "--users", written(tmp_path, text, "terms.csv")))
    table = written(tmp_path, "user,cpu\na,1\n", "u.csv")
    assert "--users goes with an export" in refused(run("allocate", table, "--users", table, "--capacity", "cpu=1"))


# ---------------------------------------------------------------------------------------------------------- answers


def test_the_cluster_as_it_is(tmp_path: Path) -> None:
    told = everything(tmp_path, CLUSTER)
    assert told["mechanism"] == "drf"
    pool = np.array([0.4 + 31.4 * 2 + 47.5 + 0.4, 126 * 2 + 503, 8])
    demands, tasks = [[4, 24, 0], [6, 64, 2], [4, 32, 2], [1.1, 1.125, 0]], [8, 4, 3, 12]
    expected = fb.drf(demands, capacities=pool, max_tasks=tasks)
    assert [one["tasks"] for one in told["users"]] == pytest.approx(expected.tasks.tolist(), rel=1e-12)
    now = (np.array([[8], [3], [1], [12]]) * demands / pool).max(axis=1)
    assert [one["share now"] for one in told["comparison"]] == pytest.approx(now.tolist())
    assert [one["envies"] for one in told["comparison"]] == ["", "", "train", ""]
    out = run("allocate", CLUSTER)
    assert "below the fair share, and could have more: vision\nabove the fair share: train\n" in out[1]
    for encoding in ("utf-8-sig", "utf-16"):  # as shells write it
        (tmp_path / "export.json").write_text("\n " + CLUSTER.read_text(), encoding)
        assert run("allocate", tmp_path / "export.json") == out


def test_two_files_of_slurm(tmp_path: Path) -> None:
    slurm = (JOBS, "--machines", NODES)
    told = everything(tmp_path, *slurm)
    assert [(one["resource"], round(one["capacity"], 2)) for one in told["resources"]] == [
        ("cpu", 320), ("memory", round((4 * 257_000 + 515_000) / 1024, 2)), ("gpu", 4),
    ]  # fmt: skip
    by_user = everything(tmp_path, *slurm, "--user-column", "user_name")
    assert [one["user"] for one in by_user["users"]] == [f"{one['user']}-user" for one in told["users"]]
    envies = {one["user"]: one["envies"] for one in told["comparison"]}
    assert envies == {"physics": "", "biology": "physics", "vision": ""}
    with_both = everything(tmp_path, *slurm, "--against", "drf_by_task")["comparison"]
    assert [{name: row[name] for name in told["comparison"][0]} for row in with_both] == told["comparison"]
    assert run("allocate", *slurm)[2].count("1 down, and left out: cn05") == 1


def test_what_is_held_from_a_csv(tmp_path: Path) -> None:
    text = "user,cpu,memory,weight,tasks,running\nann,1,1,2,9,2\nbob,2,1,1,,1\ncat,1,0,1,,0\ndan,1,1,1,,1\n"
    source = written(tmp_path, text, "t.csv")
    told = everything(tmp_path, source, "--capacity", "cpu=12", "memory=12", "--against", "now")["comparison"]
    assert [one["share now"] for one in told] == pytest.approx([2 / 12, 2 / 12, 0, 1 / 12])
    # weight for weight dan could run 1 on what ann holds, as now; cat could run 2 on what bob holds, and 1 on ann's
    assert [one["envies"] for one in told] == ["", "", "bob", ""]
    small = written(tmp_path, "user,cpu\nann,9\nbob,1\ncat,0.5\n", "u.csv")
    told = run("allocate", small, "--capacity", "cpu=8", "--mechanism", "drf_by_task", "--against", "drf")[1]
    assert re.search(r"^ann +0 +0.296\d+ +0.296\d+ +from nothing$", told, re.MULTILINE)


@pytest.mark.parametrize(("arguments", "other"), [
    (("example_users.csv", "--capacity", "cpu=1", "memory=1", "gpu=1", "--whole"), "dmfa_srq"),
    (("example_tasks.csv", "--machines", "example_machines.csv"), "gdrf"),
    (("example_periods.csv", "--machines", "example_machines.csv", "--set", "unserved=waits"), "karma"),
])  # fmt: skip
def test_another_mechanism_on_the_same_table(arguments: tuple[str, ...], other: str, tmp_path: Path) -> None:
    arguments = tuple(str(ROOT / "data" / text) if text.endswith(".csv") else text for text in arguments)
    told = everything(tmp_path, *arguments, "--against", other)
    plain = tuple(text for text in arguments if text not in ("--set", "unserved=waits"))  # settings are of the first
    theirs = everything(tmp_path, *plain, "--mechanism", other)
    ours, others = (pd.DataFrame(one["users"]).groupby("user")["tasks"].sum() for one in (told, theirs))
    found = pd.DataFrame(told["comparison"]).set_index("user")
    np.testing.assert_allclose(found[told["mechanism"]], ours)
    np.testing.assert_allclose(found["gain"], others - ours, atol=1e-9)
    out = " ".join(run("allocate", *arguments, "--against", other)[1].split())
    assert all((f"{user} would run" in out) == (gain != 0) for user, gain in found["gain"].items())
