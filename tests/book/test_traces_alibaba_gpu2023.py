"""The digest of Alibaba's GPU trace, on a small trace done by hand, and the samplings by their law."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from book.common.raw.alibaba_gpu2023 import digest
from book.common.traces.alibaba_gpu2023 import load_digest, sample_machines, sample_users
from fairbook.errors import InvalidInput
from tests import trace_files
from tests.trace_files import follows, write

POD_TITLES = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
)
NODE_TITLES = "sn,cpu_milli,memory_mib,gpu,model\n"
POD_FILE = "openb_pod_list_default.csv"
NODE_FILE = "openb_node_list_all_node.csv"
NAME = "alibaba_gpu2023"
REQUESTS, MACHINES = "alibaba_gpu2023_requests.csv", "alibaba_gpu2023_machines.csv"


def pod(
    name: str = "p",
    cpu: int | str = 3152,
    memory: int | str = 5600,
    gpus: int | str = 1,
    milli: int | str = 470,
    spec: str = "",
    qos: str = "LS",
    phase: str = "Running",
    created: int | str = 5,
    deleted: int | str = 9,
    scheduled: int | str = 6,
) -> str:
    return f"{name},{cpu},{memory},{gpus},{milli},{spec},{qos},{phase},{created},{deleted},{scheduled}\n"


def node(name: str = "n", cpu: int | str = 96000, memory: int | str = 393216, gpus: int | str = 8, model="G2") -> str:
    return f"{name},{cpu},{memory},{gpus},{model}\n"


def write_both(folder: Path, pods: str, nodes: str = node(), suffix: str = "") -> Path:
    write(folder, POD_TITLES + pods, POD_FILE + suffix)
    return write(folder, NODE_TITLES + nodes, NODE_FILE + suffix).parent


# ---------------------------------------------------------------------------------------------------------------------
# What the digest holds


def test_the_tables_of_a_trace_done_by_hand(tmp_path: Path) -> None:
    pods = pod("a") + pod("b", 12000, 49152, 0, 0) + pod("c") + pod("d", 0, 0, 2, 1000) + pod("e", 0, 0, 0, 0)
    write_both(tmp_path, pods, node("x") + node("y", 32000, 65536, 0, "") + node("z"))
    report = digest(tmp_path, digits=None)
    assert report.files[REQUESTS] == b"cpu,memory,gpu,pods\n3.152,5.46875,0.47,2\n0,0,2,1\n12,48,0,1\n"
    assert report.files[MACHINES] == b"cpu,memory,gpu,model,machines\n32,64,0,,1\n96,384,8,G2,2\n"
    facts = report.provenance
    assert facts["requested_in_trace"] == {"cpu_milli": 18304, "memory_mib": 60352, "gpu_milli": 2940}
    machines = {"machines": 3, "kinds": 2, "machines_without_gpu": 1, "cpu": 224, "memory": 832, "gpu": 16}
    assert facts["machines"] == machines
    kept = [facts["counts"][f"pods{what}"] for what in ("", "_without_request", "_without_gpu", "_sharing_a_gpu")]
    assert kept == [4, 1, 2, 2]


# ---------------------------------------------------------------------------------------------------------------------
# The digest that ships


def test_the_shipped_digest_is_rounded_and_adds_up() -> None:
    held = load_digest()
    facts, gpu = held.provenance, held.requests[:, 2]
    assert facts["counts"]["pods"] == len(held)
    assert int(held.counts.sum()) == facts["machines"]["machines"]
    assert held.pool().tolist() == [125_514, 597_684, 6_212]  # "more than 6,200 GPUs", abstract of the paper
    kinds = {
        "without_gpu": gpu == 0,
        "sharing_a_gpu": (gpu > 0) & (gpu < 1),
        "with_one_gpu": gpu == 1,
        "with_more_gpus": gpu > 1,
        "zero_memory": held.requests[:, 1] == 0,
    }
    for kind, which in kinds.items():
        assert int(held.pods[which].sum()) == facts["counts"][f"pods_{kind}"], kind
    np.testing.assert_array_equal(held.quantised(3).requests, held.requests)


# ---------------------------------------------------------------------------------------------------------------------
# Rounding


def test_rounding_joins_what_becomes_equal(tmp_path: Path) -> None:
    write_both(tmp_path, pod("a", 11_908) + pod("b", 11_931) + pod("c", 12_049) + pod("d", 11_931, gpus=0, milli=0))
    rounded = trace_files.exact(NAME, tmp_path).quantised(2)
    rows = zip(map(tuple, rounded.requests.tolist()), rounded.pods.tolist(), strict=True)
    assert sorted(rows) == [((12.0, 5.5, 0.0), 1), ((12.0, 5.5, 0.47), 3)]


# ---------------------------------------------------------------------------------------------------------------------
# Users and machines


def test_the_law_of_the_sample(tmp_path: Path) -> None:
    pods = "".join(
        pod(f"p{k}-{i}", 1000 * k, 1024, 0 if k == 1 else 1, 0 if k == 1 else 500)
        for k in range(1, 5)
        for i in range(k)
    )
    held = trace_files.exact(
        NAME, write_both(tmp_path, pods + pod("z", 9000, 0), node("a") + node("b", 8000, 1024, 0, "") + node())
    )
    rng, n = np.random.default_rng(8), 6_000
    for unit, zeros, weights in (
        ("pod", "keep", {1: 1, 2: 2, 3: 3, 4: 4, 9: 1}),
        ("pod", "drop", {2: 2, 3: 3, 4: 4}),
        ("request", "keep", {1: 1, 2: 1, 3: 1, 4: 1, 9: 1}),
        ("request", "drop", {2: 1, 3: 1, 4: 1}),
    ):
        drawn = sample_users(n, rng, unit=unit, zeros=zeros, pods=held)  # type: ignore[arg-type]
        follows(Counter(drawn[:, 0].tolist()), weights)
    follows(Counter(sample_machines(n, rng, pods=held)[:, 2].tolist()), {0: 1, 8: 2})


def test_nobody_is_left(tmp_path: Path) -> None:
    held, rng = trace_files.exact(NAME, write_both(tmp_path, pod(gpus=0, milli=0))), np.random.default_rng(0)
    assert sample_users(2, rng, pods=held).tolist() == [[3.152, 5.46875, 0]] * 2
    with pytest.raises(InvalidInput, match=r"^zeros leaves no pod"):
        sample_users(2, rng, zeros="drop", pods=held)
