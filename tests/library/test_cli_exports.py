"""What schedulers export, read by ``fairbook allocate``: each number worked out a second way."""

import json
from pathlib import Path
from typing import Any

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
    name: str = "n", *, ready: str = "True", cordoned: bool = False, taint: str = "", key: str = "k",
    labels: Any = None, **amounts: str,
) -> dict[str, Any]:  # fmt: skip
    given = {"cpu": "8", "memory": "32Gi"} | {
        key.replace("gpu", "nvidia.com/gpu"): value for key, value in amounts.items()
    }
    status = {"allocatable": given, "conditions": [{"type": "Ready", "status": ready}]}
    spec = {"unschedulable": cordoned} | ({"taints": [{"key": key, "effect": taint}]} if taint else {})
    return {"kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": spec, "status": status}


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
    assert machines["cpu"].to_dict() == {"n": 8, "y": 8}
    assert users.attrs["notes"] == [
        "1 cordoned, and left out unless all nodes are asked for: m",
        "1 with a taint that no pod but daemons tolerates, and left out unless all nodes are asked for: x",
        "1 not ready, and left out: gone", "1 on nodes that are left out count as waiting",
        "1 that request nothing do not count", "no machine has any 'example.com/tape'; 1 that ask are left out",
    ]  # fmt: skip
    assert run("allocate", source)[2].splitlines() == [f"fairbook: {source}: {text}" for text in users.attrs["notes"]]
    assert list(fb.read_export(source, all_nodes=True)[1].index) == ["n", "m", "x", "y"]
    assert "1 cordoned, and counted, as asked: m" in run("allocate", source, "--all-nodes")[2]
    assert list(fb.read_export(source, user="team")[0].index) == ["a", "B"]  # without the label: the namespace
    said = "3 without such a label, field or account, and counted under namespace or user: a\n"  # named once
    assert said in run("allocate", source, "--user-column", "team")[2]
    said = refused(run("allocate", source, "--user-column", "nope"))
    assert "a label that some pod has, or a field of jobs, got 'nope'" in said


GPU = "nvidia.com/gpu"
KIND = "nvidia.com/gpu.product"
SMALL, ONE_GPU = container(cpu="1", memory="1Gi"), container(cpu="1", **{GPU: "1"})
A100, T4 = (node(name, labels={KIND: name}, gpu=n) for name, n in (("A100", "1"), ("T4", "8")))
CONTROL = "node-role.kubernetes.io/control-plane"
MUST = "requiredDuringSchedulingIgnoredDuringExecution"
TOLERATES = {"tolerations": [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}]}
AFFINITY = {"nodeAffinity": {MUST: {"nodeSelectorTerms": [
    {"matchExpressions": [{"key": KIND, "operator": "In", "values": ["A100"]}]},
]}}}  # fmt: skip
#: What an export holds, the tasks that drfh gives its users, and words of a note.
PLACED: dict[str, tuple[dict[str, Any], list[int], str]] = {
    # gitpod-io/gitpod#4700, Panfactum/stack#129, twosigma/Cook#1354: a node takes 110 pods
    "each pod takes one of the pods": (kubernetes(node(pods="11"), *[pod(container(cpu="10m"))] * 20), [11], ""),
    "pods that request nothing do that, too": (kubernetes(node(pods="3"), *[pod(container())] * 5), [3], ""),
    # kai-scheduler/KAI-Scheduler#1723, #145: types told by labels
    "a type of GPU by selector": (
        kubernetes(A100, T4, *[pod(ONE_GPU, on=None, nodeSelector={KIND: "A100"})] * 4), [1], "4 may not use every"
    ),
    "a type of GPU by affinity": (kubernetes(A100, T4, *[pod(ONE_GPU, on=None, affinity=AFFINITY)] * 4), [1], "4 may"),
    "a type that no node tells": (
        kubernetes(node(gpu="2"), *[pod(ONE_GPU, on=None, nodeSelector={KIND: "A100"})] * 4), [2],
        f"no machine tells types of '{GPU}'; 4 that ask for '{GPU}:A100' ask for '{GPU}'",
    ),
    "a taint that some tolerate": (
        kubernetes(node("g", taint="NoSchedule", key=GPU, gpu="1"), node(), pod(ONE_GPU, on=None, **TOLERATES),
                   pod(SMALL, of="b")),
        [1, 1], "1 may not use every machine (selectors, affinity, taints, features, partitions)",
    ),
    "the control plane, whoever tolerates it": (
        kubernetes(node("c", taint="NoSchedule", key=CONTROL), node(cpu="2"),
                   *[pod(SMALL, on=None, tolerations=[{"operator": "Exists"}])] * 3),
        [2], "1 of the control plane, and left out unless all nodes are asked for: c",
    ),
    "daemons of a node that is left out": (
        kubernetes(node("c", cordoned=True), node(), pod(SMALL),
                   pod(SMALL, on="c") | {"metadata": {"namespace": "a", "ownerReferences": [{"kind": "DaemonSet"}]}}),
        [1], "1 that belong to a node which is left out",
    ),
    "spread over zones": (
        kubernetes(node(), pod(SMALL, topologySpreadConstraints=[{"whenUnsatisfiable": "DoNotSchedule"}])), [1], "1 may"
    ),
    # kubernetes.io, dynamic resource allocation
    "claimed devices": (kubernetes(node(), pod(SMALL, resourceClaims=[{"name": "gpu"}])), [1], "1 claim devices"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACED)
def test_where_pods_may_run(name: str, tmp_path: Path) -> None:
    document, tasks, said = PLACED[name]
    source = written(tmp_path, document)
    assert [one["tasks"] for one in everything(tmp_path, source, "--mechanism", "drfh")["users"]] == tasks
    assert said in run("allocate", source)[2]


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


LITTLE = "cpu=1,mem=1G,node=1,billing=1"
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
    # pqminh27/Slurm_Telegram_Bot, squeue.json (21.08): neither account nor name, only the number of the user
    "a number of a user": (job(of="") | {"user_name": "", "user_id": 0, "cpus": 4, "memory_per_cpu": 512}, 1, [4, 2]),
    "plain numbers": (job(cpus=4, node_count=2, memory_per_node=1024, tres_req_str=None), 2, [2, 1]),
    "no value, as older versions write it": (job(cpus=4, tasks=2**32 - 2, memory_per_cpu=512), 1, [4, 2]),
    # rackslab/Slurm-web tests/assets/slurmrestd: no GPU in the TRES of 115 of 115 GPU jobs (24.05 to 25.11)
    "gres_detail of two nodes": (
        job(tres_alloc_str=LITTLE, node_count=new(2), gres_detail=["gpu:h100:2(IDX:0-1),gpu:h200:4(IDX:2-5)"] * 2,
            tres_per_job="gres/gpu:12"), 2, [0.5, 0.5, 6]
    ),
    "per job": (job("PENDING", tres_req_str=LITTLE, gres_detail=[], tres_per_job="gres/gpu:4"), 1, [1, 1, 4]),
    "per node": (
        job("PENDING", tres_req_str=LITTLE, node_count=new(2), tres_per_node="gres/gpu:h100:1,gres/gpu:h200:1"),
        2, [0.5, 0.5, 2],
    ),
    "per task": (job("PENDING", tres_req_str=LITTLE, tasks=new(3), tres_per_task="gres/gpu=2"), 1, [1, 1, 6]),
    "per socket": (job("PENDING", tres_req_str=LITTLE, sockets_per_node=2, tres_per_socket="gres:gpu:2"), 1, [1, 1, 4]),
    "older words per node": (job("PENDING", tres_req_str=LITTLE, tres_per_node="gpu:titanxp:1"), 1, [1, 1, 1]),
    "a type alone is one": (job("PENDING", tres_req_str=LITTLE, tres_per_node="gpu:titanxp"), 1, [1, 1, 1]),
    "null types, none used": (job(tres_alloc_str=LITTLE, gres_detail=["gpu:(null):2(IDX:0-1),mps:0"]), 1, [1, 1, 2]),
    # skypilot-org/skypilot#10283: the accounting alone knows
    "as accounted": (
        job(tres_req_str=LITTLE, tres_alloc_str=f"{LITTLE},gres/gpu=8", gres_detail=["gpu:1"]), 1, [1, 1, 8]
    ),
    "new numbers": (job(cpus=new(4), memory_per_node={**new(9), "set": False}, memory_per_cpu=new(512)), 1, [4, 2]),
}  # fmt: skip


@pytest.mark.parametrize("name", TRES)
def test_what_a_job_asks_for(name: str, tmp_path: Path) -> None:
    one, times, amounts = TRES[name]
    done = [
        job(state, tres_req_str="cpu=99,mem=99G") for state in ("COMPLETED", ["FAILED"], ["TIMEOUT"], ["CANCELLED"])
    ]
    users, machines = fb.read_export(written(tmp_path, {"jobs": [one, *done]}))
    of = "0" if "user_id" in one else "a"
    assert (list(users.index), list(machines), len(machines)) == ([of], ["cpu", "memory", "gpu"][: len(amounts)], 0)
    holds = "PENDING" not in one["job_state"]
    assert users.loc[of].tolist() == [*amounts, times, *(amount * times * holds for amount in amounts)]


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
    # ivolabbe/slurminal, tests/fixtures/sinfo.json (24.11): a row of 12 nodes, from 191000 to 768000 MB
    "a row whose memory differs": (
        {"sinfo": [{**row(["x", "y", "z"], cpus=108), "memory": {"minimum": 1024, "maximum": 4096}}] * 2},
        {"x": [36, 1, 0], "y": [36, 1, 0], "z": [36, 1, 0]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MACHINES)
def test_machines_of_slurm(name: str, tmp_path: Path) -> None:
    document, expected = MACHINES[name]
    jobs = written(tmp_path, {"jobs": [job(tres_req_str="cpu=1,mem=1G")]}, "jobs.json")
    users, machines = fb.read_export(jobs, written(tmp_path, document))
    assert machines.T.to_dict("list") == {name: amounts[:2] for name, amounts in expected.items()}
    assert any("3 in rows whose memory differs" in text for text in users.attrs["notes"]) == ("differs" in name)
    gpus = job(tres_req_str="cpu=1,gres/gpu=1")
    if any(amounts[2] for amounts in expected.values()):
        machines = fb.read_export(written(tmp_path, {"jobs": [gpus]}, "jobs.json"), tmp_path / "export.json")[1]
        assert machines["gpu"].to_dict() == {name: amounts[2] for name, amounts in expected.items()}


#: States and flags of a node, and whether it counts: as it is, with a note, only where all are asked for, or never.
STATES: list[tuple[Any, Any, str]] = [
    # slurm.schedmd.com/sinfo.html, "Node state codes", long and short, with signs
    ("idle", None, "is"), ("alloc", None, "is"), ("mix", [], "is"), (["IDLE", "PLANNED"], None, "is"),
    ("comp", None, "is"), ("idle#", None, "is"), ("mix-", None, "is"), ("DYNAMIC_NORM+IDLE", None, "is"),
    ("drng", None, "told"), ("draining@", None, "told"), ("idle%", None, "told"), ("mixed+drain", None, "told"),
    ("drain", None, "asked"), ("drained*", None, "no"), ("drained", None, "asked"), ("maint", None, "asked"),
    ("idle$", None, "asked"), ("resv", None, "asked"), (["IDLE", "MAINTENANCE", "RESERVED"], None, "asked"),
    ("down", None, "no"), ("down*", None, "no"), ("idle*", None, "no"), ("fail", None, "no"), ("failg", None, "no"),
    ("futr", None, "no"), ("inval", None, "no"), ("unk*", None, "no"), (["IDLE", "NO_RESPOND"], None, "no"),
    (["IDLE", "FUTURE", "CLOUD"], None, "no"), ("error", None, "no"),
    # ubccr/slurm-exporter#11: 20.11 to 22.05
    ("idle", ["DRAIN"], "asked"), ("mixed", ["DRAIN"], "told"), ("idle", ["POWER", "CLOUD"], "told"),
    # aws/aws-parallelcluster-node#398 and #402, vpenso/prometheus-slurm-exporter#52, aws/aws-parallelcluster#7577
    (["IDLE", "CLOUD", "POWERED_DOWN"], None, "told"), ("idle~", None, "told"),
    ("MIXED+CLOUD+POWERED_DOWN", None, "told"),
    ("MIXED+CLOUD+NOT_RESPONDING+POWERING_UP", None, "is"), ("IDLE+CLOUD+POWERING_DOWN", None, "told"),
    ("DOWN+CLOUD+POWERED_DOWN", None, "no"), ("IDLE+CLOUD+DRAIN+POWERED_DOWN", None, "asked"),
    ("IDLE+CLOUD+NOT_RESPONDING+POWERED_DOWN", None, "no"), ("IDLE+CLOUD+NOT_RESPONDING", None, "no"),
]  # fmt: skip


@pytest.mark.parametrize(("state", "flags", "counts"), STATES)
def test_states_of_nodes(state: Any, flags: Any, counts: str, tmp_path: Path) -> None:
    nodes = [{"name": "x", **OLD}, {"name": "y", **OLD, "state": state, "state_flags": flags}]
    files = written(tmp_path, {"jobs": [job(tres_req_str=LITTLE)]}, "q.json"), written(tmp_path, {"nodes": nodes})
    users, machines = fb.read_export(*files)
    assert ("y" in machines.index) == (counts in ("is", "told"))
    assert any(note.endswith(": y") for note in users.attrs["notes"]) == (counts != "is")
    assert ("y" in fb.read_export(*files, all_nodes=True)[1].index) == (counts != "no")


BIG = {"cpus": 128, "real_memory": 515_000, "state": "idle"}
CARDS = [{"name": name, **BIG, "gres": gres} for name, gres in (("a", "gpu:A100:1"), ("t", "gpu:t4:8(S:0-1)"))]
#: Jobs and nodes, the tasks that drfh gives, and words of a note.
SLURM: dict[str, tuple[list[Any], list[Any], list[int], str]] = {
    # aws/aws-parallelcluster#2198, stackhpc/ansible-role-openhpc#81: RealMemory=1 is Slurm's default
    "memory that is not managed": (
        [job("PENDING", tres_req_str="cpu=4,mem=1M,node=1,gres/gpu=1")] * 16,
        [{"name": "g", **BIG, "real_memory": 1, "gres": "gpu:tesla:16"}], [16], "no machine's memory is managed",
    ),
    # sites with node_num above 1 (S-Lab-System-Group/HeliosData)
    "a job over 16 nodes": (
        [job("PENDING", tres_req_str="cpu=2048,mem=4000G,node=16", node_count=new(16)),
         job("PENDING", "b", tres_req_str="cpu=128,mem=250G,node=1")],
        [{"name": f"c{k}", **BIG} for k in range(32)], [16, 1], "1 over several nodes count as one task a node",
    ),
    # kubernetes-sigs/kueue#8902, aws/aws-parallelcluster#5880
    "a type that is asked": ([job("PENDING", tres_req_str=f"{LITTLE},gres/gpu=1,gres/gpu:a100=1")] * 4, CARDS, [1], ""),
    "a type that jobs got": (
        [job(tres_req_str=f"{LITTLE},gres/gpu=1", tres_alloc_str=f"{LITTLE},gres/gpu=1,gres/gpu:a100=1")] * 4, CARDS,
        [4], "",
    ),
    "types per node": ([job("PENDING", tres_req_str=LITTLE, tres_per_node="gres/gpu:a100")] * 4, CARDS, [1], ""),
    "a type that no node tells": (
        [job("PENDING", tres_req_str=f"{LITTLE},gres/gpu:a100=1")] * 4, [{"name": "g", **BIG, "gres": "gpu:2"}], [2],
        "no machine tells types of 'gpu'; 4 that ask for 'gpu:a100' ask for 'gpu'",
    ),
    # slurm.schedmd.com/resource_limits.html, "reasons": what cannot start whatever is free
    "held, dependent and later jobs": (
        [job("PENDING", tres_req_str=LITTLE, state_reason=reason) for reason in (
            "JobHeldUser", "JobHeldAdmin", "Dependency", "DependencyNeverSatisfied", "BeginTime",
            "Resources", "Priority",
        )]
        + [job("PENDING", tres_req_str=LITTLE, hold=True, array_task_string="1-4")],
        CARDS, [2], "9 held, or waiting for other jobs or for a time, do not count",
    ),
    "partitions": (
        [job(tres_req_str=LITTLE, partition="a")], [one | {"partitions": ["all", one["name"]]} for one in CARDS], [1],
        "1 may not use every machine",
    ),
    "features": ([job(tres_req_str=LITTLE, features="ib")], CARDS, [1], "1 may not use every machine"),
}  # fmt: skip


@pytest.mark.parametrize("name", SLURM)
def test_jobs_on_nodes(name: str, tmp_path: Path) -> None:
    jobs, nodes, tasks, said = SLURM[name]
    given = written(tmp_path, {"jobs": jobs}, "q.json"), "--machines", written(tmp_path, {"nodes": nodes})
    assert [one["tasks"] for one in everything(tmp_path, *given, "--mechanism", "drfh")["users"]] == tasks
    assert said in run("allocate", *given)[2]


#: Words that have a meaning as headings of tables.
HEADINGS = ["user", "weight", "max_tasks", "tasks", "held_cpu", "day", "running", "machine", "count", "released"]


@pytest.mark.parametrize("name", HEADINGS)
def test_a_resource_may_be_called_like_a_heading(name: str, tmp_path: Path) -> None:
    amounts = {of: container(cpu="1", **{name: n}) for of, n in (("a", "5"), ("b", "1"))}
    source = written(tmp_path, kubernetes(node(cpu="2", **{name: "800"}), *(pod(amounts[of], of=of) for of in "aabb")))
    told = everything(tmp_path, source)
    use = f"use_{name} (resource)" if name in ("max_tasks", "held_cpu") else f"use_{name}"
    assert [(one["user"], one["tasks"], one[use]) for one in told["users"]] == [("a", 1, 5), ("b", 1, 1)]
    users, machines = fb.read_export(source)
    p = fb.drf(users[machines.columns], capacities=machines.sum(), max_tasks=users["max_tasks"])
    assert (p.tasks.tolist(), users.columns.is_unique) == ([1, 1], True)


def test_names_that_look_alike_are_one(tmp_path: Path) -> None:
    users, _ = fb.read_export(written(tmp_path, kubernetes(*(pod(SMALL, of=f"caf{e}") for e in ("\xe9", "e\u0301")))))
    assert users["max_tasks"].to_dict() == {"caf\xe9": 2}
    text = "user,cpu\ncaf\xe9,1\ncafe\u0301,1\n"
    assert "stands in" in refused(run("allocate", written(tmp_path, text, "u.csv"), "--capacity", "cpu=1"))


# -------------------------------------------------------------------------------------------------- what is refused

GOOD = node()
BAD: list[tuple[Any, str]] = [
    ("{", "is not JSON"),
    ('{"items": [\n{"kind": "Pod",}]}', "line 2 column 16"),
    ('{"jobs": ' + "[" * 100_000, "is not JSON"),
    ('{"jobs": [{"cpus": 1' + "0" * 5000 + "}]}", "is not JSON"),
    ({}, "must be what"), ([], "must be what"), ([1, {}], "must be what"),
    ('{"items": [null]}', "items[0]: must be what"),
    ('{"jobs": [], "jobs": [{}]}', "'jobs' stands twice in one object"),
    (kubernetes(GOOD, pod(container(cpu="9" * 400))), "items[1], cpu: must be a quantity"),
    (kubernetes(GOOD, pod(container(**{"\x1b[2J": "5"}))), "printable characters, got '\\x1b[2J'"),
    (kubernetes(node(**{"": "1"}), pod(SMALL)), "items[0], resource: must be a name"),
    ('{"jobs": [{"job_state": "RUNNING", "cpus": 1' + "0" * 400 + "}]}", "cpus: must be a number that is not negative"),
    ({"jobs": [job(tres_req_str=f"cpu={'9' * 400}")]}, "resources: must be such as"),
    ({"jobs": [job(tres_req_str=LITTLE, gres_detail=["\x1b:1"])]}, "resources: must be a name"),
    # sacct --json: slurm.schedmd.com/sacct.html
    ({"jobs": [{"account": "a", "state": {"current": ["COMPLETED"]}}]}, "`squeue --json` tells those of now"),
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
    ({"jobs": [job(cpus=-4)]}, "jobs[0], cpus: must be a number that is not negative, and at most 1e+15, got -4"),
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
    ({"sinfo": [row([1])]}, "sinfo[0], name: must be a name"),  # type: ignore[list-item]
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
