"""What schedulers export, read by ``fairbook allocate``, and ``--against``: each number worked out a second way."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairbook as fb
from tests.commands import ROOT, refused, run

CLUSTER, JOBS, NODES = (ROOT / "data" / f"example_{name}.json" for name in ("kubernetes", "squeue", "sinfo"))


def written(folder: Path, document: Any, name: str = "export.json") -> str:
    path = folder / name
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return str(path)


def everything(folder: Path, *arguments: Any) -> dict[str, Any]:
    code, _, err = run("allocate", *arguments, "--output", folder / "out.json")
    assert code == 0, err
    return json.loads((folder / "out.json").read_text())


# ------------------------------------------------------------------------------------------------------- Kubernetes


def node(
    name: str = "n", *, ready: str = "True", cordoned: bool = False, taint: str = "", **amounts: str
) -> dict[str, Any]:
    given = {"cpu": "8", "memory": "32Gi"} | {
        key.replace("gpu", "nvidia.com/gpu"): value for key, value in amounts.items()
    }
    status = {"allocatable": given, "conditions": [{"type": "Ready", "status": ready}]}
    spec = {"unschedulable": cordoned} | ({"taints": [{"key": "k", "effect": taint}]} if taint else {})
    return {"kind": "Node", "metadata": {"name": name}, "spec": spec, "status": status}


def container(always: bool = False, limits: Any = None, **requests: Any) -> dict[str, Any]:
    resources = {"requests": requests} | ({"limits": limits} if limits else {})
    return {"resources": resources} | ({"restartPolicy": "Always"} if always else {})


def pod(*containers: Any, of: str = "a", on: str | None = "n", phase: str = "Running", **spec: Any) -> dict[str, Any]:
    where = {"nodeName": on} if on else {}
    return {
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": of, "labels": {"team": of.upper()} if of != "a" else None},
        "spec": {"containers": list(containers)} | where | spec,
        "status": {"phase": phase},
    }


def kubernetes(*items: Any) -> dict[str, Any]:
    return {"kind": "List", "items": list(items)}


#: A pod, and what it reserves of cores and GiB.
RESERVED: dict[str, tuple[dict[str, Any], dict[str, float]]] = {
    "thousandths and GiB": (pod(container(cpu="500m", memory="16Gi")), {"cpu": 0.5, "memory": 16}),
    "plain numbers are cores and bytes": (pod(container(cpu=2, memory=2**31)), {"cpu": 2, "memory": 2}),
    "decimal units": (pod(container(cpu="0.1k", memory="1G")), {"cpu": 100, "memory": 1e9 / 2**30}),
    "powers of ten": (pod(container(cpu="1e1", memory="2E0")), {"cpu": 10, "memory": 2 / 2**30}),
    "exa is no power": (pod(container(cpu="1", memory="1E")), {"cpu": 1, "memory": 1e18 / 2**30}),
    "containers add up": (pod(container(cpu="1"), container(cpu="250m", memory="1Gi")), {"cpu": 1.25, "memory": 1}),
    "a limit alone is the request": (pod(container(limits={"cpu": "3"}, memory="1Gi")), {"cpu": 3, "memory": 1}),
    "a request below its limit": (pod(container(limits={"cpu": "3"}, cpu="0", memory="1Gi")), {"memory": 1}),
    "the start may need more": (
        pod(container(cpu="1", memory="4Gi"), initContainers=[container(cpu="2"), container(cpu="3", memory="1Gi")]),
        {"cpu": 3, "memory": 4},
    ),
    "sidecars run on, and beside what starts after them": (
        pod(
            container(cpu="2"),
            initContainers=[container(cpu="3"), container(True, cpu="1"), container(cpu="3", memory="1Gi")],
        ),
        {"cpu": 4, "memory": 1},
    ),
    "a sidecar after the start adds to the run alone": (
        pod(container(cpu="2"), initContainers=[container(cpu="3"), container(True, cpu="2")]),
        {"cpu": 4},
    ),
    "what the pod itself requests, and overhead": (
        pod(container(cpu="2", memory="1Gi"), resources={"requests": {"cpu": "5"}}, overhead={"cpu": "250m"}),
        {"cpu": 5.25, "memory": 1},
    ),
    "other resources": (pod(container(cpu="1", **{"nvidia.com/gpu": "2"})), {"cpu": 1, "nvidia.com/gpu": 2}),
}


@pytest.mark.parametrize("name", RESERVED)
def test_what_a_pod_reserves(name: str, tmp_path: Path) -> None:
    one, expected = RESERVED[name]
    users, machines = fb.read_export(written(tmp_path, kubernetes(node(gpu="4"), one, one)))
    assert (list(users.index), list(machines)) == (["a"], list(expected))
    held = {f"held_{name}": 2 * amount for name, amount in expected.items()}
    assert users.loc["a"].to_dict() == {**expected, "max_tasks": 2, **held}


def test_pods_that_count_and_those_that_do_not(tmp_path: Path) -> None:
    small, large = container(cpu="1", memory="1Gi"), container(cpu="3", memory="1Gi")
    document = kubernetes(
        node(), node("m", cordoned=True, taint="NoSchedule", cpu="4"), node("gone", ready="Unknown"),
        node("x", taint="NoExecute"), node("y", taint="PreferNoSchedule"),
        pod(small), pod(large, on=None, phase="Pending"), pod(large, of="b", on="gone"),
        pod(large, phase="Succeeded"), pod(large, phase="Failed"), pod(container()),
        pod(container(cpu="1", **{"example.com/tape": "1"}), of="c"), {"kind": "Service", "metadata": {"name": "s"}},
    )  # fmt: skip
    source = written(tmp_path, document)
    users, machines = fb.read_export(source)
    assert list(users) == ["cpu", "memory", "max_tasks", "held_cpu", "held_memory"]
    assert users.T.to_dict("list") == {"a": [2, 1, 2, 1, 1], "b": [3, 1, 1, 0, 0]}  # the mean pod
    assert machines["cpu"].to_dict() == {"n": 8, "m": 4, "x": 8, "y": 8}
    assert users.attrs["notes"] == [
        "2 cordoned, or with a taint that keeps pods away, and counted: m, x", "1 not ready, and left out: gone",
        "1 on nodes that are left out count as waiting",
        "1 that request nothing do not count", "no machine has any 'example.com/tape'; 1 that ask are left out",
    ]  # fmt: skip
    assert run("allocate", source)[2].splitlines() == [f"fairbook: {source}: {text}" for text in users.attrs["notes"]]
    assert list(fb.read_export(source, user="team")[0].index) == ["a", "B"]  # without the label: the namespace
    assert "3 without such a label" in run("allocate", source, "--user-column", "team")[2]
    assert "a label that some pod has, got 'nope'" in refused(run("allocate", source, "--user-column", "nope"))


def test_lists_of_the_api_whose_items_tell_no_kind(tmp_path: Path) -> None:
    def bare(kind: str, *items: dict[str, Any]) -> str:
        return written(
            tmp_path, {"kind": kind, "items": [one | {"kind": None} for one in items]}, f"{kind or 'none'}.json"
        )

    pods, nodes = bare("PodList", pod(container(cpu="1"))), bare("NodeList", node(cpu="6"))
    (told,) = everything(tmp_path, pods, "--machines", nodes)["resources"]
    assert (told["capacity"], told["use"]) == (6, 1)
    assert "items[0], kind: must be Pod or Node, which `kubectl" in refused(run("allocate", bare("", pod())))


# ------------------------------------------------------------------------------------------------------------ Slurm


def new(number: float) -> dict[str, Any]:
    return {"set": True, "infinite": False, "number": number}


def job(state: Any = "RUNNING", of: str = "a", **fields: Any) -> dict[str, Any]:
    return {"account": of, "user_name": f"{of}-1", "job_state": state, **fields}


#: A job, how many it stands for, and what one of them asks for, in cores, GiB and GPUs.
TRES: dict[str, tuple[dict[str, Any], int, list[float]]] = {
    "as allocated": (job(tres_req_str="cpu=1,mem=1G", tres_alloc_str="cpu=4,mem=16G,gres/gpu=1"), 1, [4, 16, 1]),
    "a list of states, a type of GPU": (job(["RUNNING"], tres_alloc_str="cpu=4,mem=1G,gres/gpu:a100=2"), 1, [4, 1, 2]),
    "a sum and its types": (job(tres_alloc_str="cpu=1,mem=1G,gres/gpu=3,gres/gpu:a=2,gres/gpu:b=1"), 1, [1, 1, 3]),
    "units of memory": (job(tres_req_str="cpu=1,mem=512,node=1,billing=9,gres/gpu=1"), 1, [1, 0.5, 1]),
    "more units": (job(tres_req_str="cpu=1,mem=1.5T,gres/gpu=1"), 1, [1, 1536, 1]),
    "what waits": (job("PENDING", tres_req_str="cpu=2,mem=2048M,gres/gpu=1", tres_alloc_str=""), 1, [2, 2, 1]),
    "an array that waits": (
        job(["PENDING"], tres_req_str="cpu=1,mem=1G,gres/gpu=1", array_task_string="1-9:2,12%3"), 6, [1, 1, 1]
    ),
    "pieces by the thousand": (job(tres_req_str="cpu=2K,mem=1G,gres/gpu=1"), 1, [2048, 1, 1]),
    "without accounting": (job(of="") | {"user_name": "a", "tres_req_str": "cpu=1,mem=1G,gres/gpu=1"}, 1, [1, 1, 1]),
    "plain numbers": (job(cpus=4, node_count=2, memory_per_node=1024, tres_req_str=None), 1, [4, 2]),
    "new numbers": (job(cpus=new(4), memory_per_node={**new(9), "set": False}, memory_per_cpu=new(512)), 1, [4, 2]),
}  # fmt: skip


@pytest.mark.parametrize("name", TRES)
def test_what_a_job_asks_for(name: str, tmp_path: Path) -> None:
    one, times, amounts = TRES[name]
    done = [
        job(state, tres_req_str="cpu=99,mem=99G") for state in ("COMPLETED", ["FAILED"], ["TIMEOUT"], ["CANCELLED"])
    ]
    users, machines = fb.read_export(written(tmp_path, {"jobs": [one, *done]}))
    assert (list(users.index), list(machines), len(machines)) == (["a"], ["cpu", "memory", "gpu"][: len(amounts)], 0)
    holds = "PENDING" not in one["job_state"]
    assert users.loc["a"].tolist() == [*amounts, times, *(amount * holds for amount in amounts)]


def row(names: list[str], state: Any = "IDLE", cpus: Any = 64, memory: Any = 2048, gres: str = "") -> dict[str, Any]:
    return {
        "nodes": {"nodes": names},
        "node": {"state": [state]},
        "cpus": {"total": cpus},
        "memory": {"minimum": memory},
        "gres": {"total": gres},
    }


OLD = {"cpus": 8, "real_memory": 1024, "state": "idle"}
MACHINES: dict[str, tuple[dict[str, Any], dict[str, list[float]]]] = {
    "older": ({"nodes": [{"name": "x", **OLD}]}, {"x": [8, 1, 0]}),
    "older, with GPUs": (
        {"nodes": [
            {"name": "x", **OLD, "gres": "gpu:h100:2(S:0,1),gpu:h100:2(S:2-3)"}, {"name": "y", **OLD, "gres": "gpu:3"},
        ]},
        {"x": [8, 1, 4], "y": [8, 1, 3]},
    ),
    "newer numbers": (
        {"nodes": [{"name": "x", "cpus": new(8), "real_memory": new(512), "gres": "gpu"}]}, {"x": [8, 0.5, 1]}
    ),
    "the example of the manual": (
        {"nodes": [{"name": "x", **OLD, "gres": "gpu:tesla:1,gpu:kepler:1,bandwidth:lustre:no_consume:4G"}]},
        {"x": [8, 1, 2]},
    ),
    "pieces by the thousand": ({"nodes": [{"name": "x", **OLD, "gres": "gpu:2K"}]}, {"x": [8, 1, 2048]}),
    "cores kept for the system": ({"nodes": [{"name": "x", **OLD, "effective_cpus": 6}]}, {"x": [6, 1, 0]}),
    "out of service": (
        {"nodes": [{"name": name, **OLD, "state": state} for name, state in (
            ("a", "down*"), ("b", ["IDLE", "DRAIN"]), ("c", "drained"), ("d", ["MIXED", "DRAIN"]),
            ("e", "IDLE+NOT_RESPONDING"),
        )]},
        {"d": [8, 1, 0]},
    ),
    "rows": (
        {"sinfo": [row(["x", "y"], cpus=128), row(["x"]), row(["z"], "DOWN"), row(["g"], gres="gpu:a100:4(S:0)")]},
        {"x": [64, 2, 0], "y": [64, 2, 0], "g": [64, 2, 4]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MACHINES)
def test_machines_of_slurm(name: str, tmp_path: Path) -> None:
    document, expected = MACHINES[name]
    jobs = written(tmp_path, {"jobs": [job(tres_req_str="cpu=1,mem=1G")]}, "jobs.json")
    machines = fb.read_export(jobs, written(tmp_path, document))[1]
    assert machines.T.to_dict("list") == {name: amounts[:2] for name, amounts in expected.items()}
    gpus = job(tres_req_str="cpu=1,gres/gpu=1")
    if any(amounts[2] for amounts in expected.values()):
        machines = fb.read_export(written(tmp_path, {"jobs": [gpus]}, "jobs.json"), tmp_path / "export.json")[1]
        assert machines["gpu"].to_dict() == {name: amounts[2] for name, amounts in expected.items()}


# -------------------------------------------------------------------------------------------------- what is refused

GOOD = node()
BAD: list[tuple[Any, str]] = [
    ("{", "is not JSON"),
    ('{"items": [\n{"kind": "Pod",}]}', "line 2 column 16"),
    ('{"jobs": ' + "[" * 100_000, "is not JSON"),
    ('{"jobs": [{"cpus": 1' + "0" * 5000 + "}]}", "is not JSON"),
    ({}, "must be what"),
    ({"rows": []}, "got ['rows']"),
    ({"items": []}, "holds no user that counts"),
    ({"items": {}}, "must be what"),
    ({"items": [3]}, "export.json, items[0]: must be what `kubectl"),
    (kubernetes(GOOD, pod(container(cpu="4 cores"))), "items[1], cpu: must be a quantity"),
    (kubernetes(GOOD, pod(container(cpu="-1"))), "must be a quantity such as 500m, 2 or 16Gi, got '-1'"),
    (kubernetes(GOOD, pod(container(memory="1GiB"))), "items[1], memory: must be a quantity"),
    (kubernetes(node(cpu="many"), pod()), "items[0], cpu: must be a quantity"),
    (kubernetes(GOOD, pod(of="")), "items[1], namespace: must be a name"),
    (kubernetes(GOOD, pod(container(), initContainers=3)), "items[1]: must be what"),
    ({"jobs": [job(tres_alloc_str="cpu=four")]}, "jobs[0], resources: must be such as cpu=4,mem"),
    ({"jobs": [job(tres_alloc_str=4)]}, "jobs[0]: must be what"),
    ({"jobs": [job(cpus=-4)]}, "jobs[0], cpus: must be a number that is not negative, got -4"),
    ({"jobs": [job(cpus=True)]}, "jobs[0], cpus: must be a number"),
    ({"jobs": [job(cpus=new(float("nan")))]}, "jobs[0], cpus: must be a number"),
    ({"jobs": [job("PENDING", array_task_string="1-9,...")]}, "jobs[0], array_task_string: must be numbers of tasks"),
    ({"jobs": [job(of="") | {"user_name": None}]}, "jobs[0], user_name: must be a name"),
    ({"jobs": [job(tres_req_str="cpu=1,mem=1G")]}, "or --machines FILE"),
    ({"nodes": [{"name": "x", **OLD}]}, "holds no user that counts; users stand in TABLE"),
    (kubernetes(GOOD, pod(container(cpu="1e99"))), "export.json, user 'a', column 'cpu': must be zero or between"),
    (kubernetes(node(cpu="1e99"), pod(container(cpu="1"))), "export.json, capacity of cpu must be"),
]  # fmt: skip


BAD_MACHINES: list[tuple[Any, str]] = [
    (
        {"nodes": [{"name": "x", **OLD, "gres": "gpu:a100:many"}]},
        "nodes[0], resources: must be such as cpu=4",
    ),
    ({"nodes": [{"name": "", **OLD}]}, "nodes[0], name: must be a name"),
    ({"nodes": [{"name": "x", "state": "DOWN"}]}, "holds no machine that counts"),
    ({"jobs": []}, "holds no machine that counts"),
    ({"jobs": [job(tres_req_str="cpu=1")]}, "holds no machine that counts; users stand in TABLE"),
    ({"sinfo": [row([1])]}, "sinfo[0], name: must be a name, got 1"),  # type: ignore[list-item]
]


@pytest.mark.parametrize(
    ("before", "document", "said"),
    [*(((), *one) for one in BAD), *(((JOBS, "--machines"), *one) for one in BAD_MACHINES)],
)
def test_an_error_names_file_place_rule_and_value(
    before: tuple[Any, ...], document: Any, said: str, tmp_path: Path
) -> None:
    text = refused(run("allocate", *before, written(tmp_path, document)))
    assert "export.json" in text
    assert said in text


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
