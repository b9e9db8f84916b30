"""The reader, digest and samplings of Alibaba's GPU trace, each number reached a second way.

The reference here shares no code with the package: it reads whole files with pandas or the csv module, and counts with
pandas or plain loops.
"""

import csv
import hashlib
import io
import math
from collections import Counter
from decimal import ROUND_HALF_EVEN, Context
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, settings

from fairbook.errors import InvalidInput
from fairbook.traces import paths
from fairbook.traces.alibaba_gpu2023 import Pods, load_digest, sample_machines, sample_users
from fairbook.traces.raw.alibaba_gpu2023 import digest
from tests import trace_files
from tests.trace_files import follows, raw_folder, told_in_the_readme, worst_error, write

POD_TITLES = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
)
NODE_TITLES = "sn,cpu_milli,memory_mib,gpu,model\n"
POD_FILE = "openb_pod_list_default.csv"
NODE_FILE = "openb_node_list_all_node.csv"
NAME = "alibaba_gpu2023"
REQUESTS, MACHINES = "alibaba_gpu2023_requests.csv", "alibaba_gpu2023_machines.csv"
fuzzed = settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])


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


def random_pods(seed: int, size: int = 60) -> list[str]:
    """Make pods with repeated requests, all kinds of GPU shares, zeros and pods that ask for nothing."""
    rng = np.random.default_rng(seed)
    kinds = [(0, 0), (0, 0), (1, 470), (1, 1000), (1, 1), (8, 1000)]
    lines = []
    for k in range(size):
        gpus, milli = kinds[int(rng.integers(len(kinds)))]
        lines.append(
            pod(
                f"openb-pod-{k:04d}",
                int(rng.choice([0, 4000, 11908, 12000])),
                int(rng.choice([0, 15258, 49152, 56320])),
                gpus,
                milli,
                str(rng.choice(["", "T4", "V100M16|V100M32"])),
                str(rng.choice(["LS", "BE", "Burstable", "Guaranteed"])),
                str(rng.choice(["Running", "Failed", "Pending", "Succeeded"])),
                k,
                k + 1,
                str(rng.choice(["", "7"])),
            )
        )
    return lines


def random_nodes(seed: int, size: int = 20) -> list[str]:
    rng = np.random.default_rng(seed)
    kinds = [(32000, 262144, 0, ""), (96000, 393216, 8, "G2"), (96000, 393216, 8, "T4"), (104000, 524288, 2, "T4")]
    return [node(f"openb-node-{k}", *kinds[int(rng.integers(4))]) for k in range(size)]


def reference(text: str, digits: int | None = None) -> Counter[tuple[float, float, float]]:
    """Count requests by the csv module, in cores, GiB and GPUs; rounded by the decimal module, from exact values."""
    near = Context(prec=digits or 60, rounding=ROUND_HALF_EVEN).create_decimal_from_float
    found: Counter[tuple[float, float, float]] = Counter()
    for row in csv.DictReader(io.StringIO(text)):
        cpu, memory, gpus, milli = (int(row[k]) for k in ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli"))
        if cpu or memory or gpus:
            request = (float(Fraction(cpu, 1000)), float(Fraction(memory, 1024)))
            found[*(float(near(x)) for x in request), float(Fraction(gpus * milli, 1000))] += 1
    return found


def listed(held: Pods) -> dict[tuple[float, ...], int]:
    """Take the requests of Pods apart into what `reference` gives."""
    rows = [tuple(row) for row in held.requests.tolist()]
    assert len(set(rows)) == len(rows)
    return dict(zip(rows, held.pods.tolist(), strict=True))


def assert_same(a: Pods, b: Pods) -> None:
    for name in ("requests", "pods", "capacities", "counts", "models"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


# ---------------------------------------------------------------------------------------------------------------------
# What the digest holds


@pytest.mark.parametrize("digits", [None, 3, 1])
@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("seed", [1, 2])
def test_digest_equals_the_reference(tmp_path: Path, seed: int, suffix: str, digits: int | None) -> None:
    write_both(tmp_path / "in", "".join(random_pods(seed)), "".join(random_nodes(seed)), suffix)
    text, nodes = POD_TITLES + "".join(random_pods(seed)), NODE_TITLES + "".join(random_nodes(seed))
    report = digest(tmp_path / "in", tmp_path / "out", digits=digits)
    held = load_digest(tmp_path / "out")
    assert listed(held) == reference(text, digits)
    assert_same(held, trace_files.exact(NAME, tmp_path / "in").quantised(digits))

    frame = pd.read_csv(io.StringIO(text))
    asks = (frame[["cpu_milli", "memory_mib", "num_gpu"]] > 0).any(axis=1)
    assert report.counts == {
        "rows": len(frame),
        "pods_without_request": (~asks).sum(),
        "pods": asks.sum(),
        "pods_without_gpu": (frame["gpu_milli"] == 0).sum(),
        "pods_sharing_a_gpu": frame["gpu_milli"].between(1, 999).sum(),
        "pods_with_one_gpu": (frame["num_gpu"] * frame["gpu_milli"] == 1000).sum(),
        "pods_with_more_gpus": (frame["num_gpu"] == 8).sum(),
        "pods_zero_cpu": (frame["cpu_milli"] == 0).sum(),
        "pods_zero_memory": (frame["memory_mib"] == 0).sum(),
        "pods_never_scheduled": frame["scheduled_time"].isna().sum(),
        **{f"pods_{k.lower()}": v for k, v in frame["qos"].value_counts().items()},
        **{f"pods_{k.lower()}": v for k, v in frame["pod_phase"].value_counts().items()},
        "distinct_requests_in_trace": len(reference(text)),
        "distinct_requests": len(reference(text, digits)),
    }
    assert min(report.counts.values()) > 0
    machines = pd.read_csv(io.StringIO(nodes), keep_default_na=False).groupby(NODE_TITLES.strip().split(",")[1:]).size()
    assert [*zip(*held.capacities.T.tolist(), held.models, held.counts, strict=True)] == [
        (cpu / 1000, memory / 1024, gpu, model, n) for (cpu, memory, gpu, model), n in machines.items()
    ]


def test_the_tables_of_a_trace_done_by_hand(tmp_path: Path) -> None:
    pods = pod("a") + pod("b", 12000, 49152, 0, 0) + pod("c") + pod("d", 0, 0, 2, 1000) + pod("e", 0, 0, 0, 0)
    write_both(tmp_path, pods, node("x") + node("y", 32000, 65536, 0, "") + node("z"))
    report = digest(tmp_path, tmp_path / "out")
    assert (tmp_path / "out" / REQUESTS).read_text() == (
        "cpu,memory,gpu,pods\n3.152,5.46875,0.47,2\n0,0,2,1\n12,48,0,1\n"
    )
    assert (tmp_path / "out" / MACHINES).read_text() == "cpu,memory,gpu,model,machines\n32,64,0,,1\n96,384,8,G2,2\n"
    held = load_digest(tmp_path / "out")
    assert held.pool().tolist() == [224, 832, 16]
    assert (repr(held), len(held)) == ("Pods(4 pods of 3 requests, 3 machines of 2 kinds)", 4)
    facts = report.provenance
    assert facts["requested_in_trace"] == {"cpu_milli": 18304, "memory_mib": 60352, "gpu_milli": 2940}
    machines = {"machines": 3, "kinds": 2, "machines_without_gpu": 1, "cpu": 224, "memory": 832, "gpu": 16}
    assert facts["machines"] == machines
    assert facts["inputs"]["pods"][0]["sha256"] == hashlib.sha256((tmp_path / POD_FILE).read_bytes()).hexdigest()
    assert "5 pods, 2 without a GPU, 2 with part of one\n1 pods that ask for nothing left out\n" in str(report)
    assert "3 machines of 2 kinds with 224 cores, 832 GiB, 16 GPUs" in str(report)
    for array in (held.requests, held.pods, held.capacities, held.counts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


# ---------------------------------------------------------------------------------------------------------------------
# The digest that ships


@pytest.fixture(scope="module")
def shipped() -> Pods:
    return load_digest()


def test_the_shipped_digest_is_rounded_and_adds_up(shipped: Pods) -> None:
    facts = shipped.provenance
    counts = facts["counts"]
    assert counts["pods"] == len(shipped)
    assert int(shipped.counts.sum()) == facts["machines"]["machines"]
    assert shipped.pool().tolist() == [125_514, 597_684, 6_212]  # "more than 6,200 GPUs", abstract of the paper
    gpu = shipped.requests[:, 2]
    kinds = {
        "without_gpu": gpu == 0,
        "sharing_a_gpu": (gpu > 0) & (gpu < 1),
        "with_one_gpu": gpu == 1,
        "with_more_gpus": gpu > 1,
        "zero_memory": shipped.requests[:, 1] == 0,
    }
    for kind, which in kinds.items():
        assert int(shipped.pods[which].sum()) == counts[f"pods_{kind}"], kind
    assert set(gpu[gpu >= 1].tolist()) == {1, 2, 4, 8}
    assert facts["digits"] == 3
    assert all(float(f"{x:.3g}") == x for x in shipped.requests.ravel().tolist())
    assert_same(shipped.quantised(3), shipped)
    requested = facts["requested_in_trace"]["gpu_milli"] / 1000
    assert math.fsum(shipped.requests[:, 2] * shipped.pods) == pytest.approx(requested, rel=1e-12)
    half = np.cumsum(shipped.pods)
    assert half[6] < len(shipped) / 2 <= half[7]  # as sample_users says
    assert (shipped.capacities[:, 2] == 0).tolist() == [model == "" for model in shipped.models]
    size = sum(paths.data_path(name).stat().st_size for name in (*facts["outputs"], "alibaba_gpu2023.json"))
    assert 3_000 < size < 10_000


# ---------------------------------------------------------------------------------------------------------------------
# Rounding


def test_rounding_joins_what_becomes_equal(tmp_path: Path) -> None:
    write_both(tmp_path, pod("a", 11_908) + pod("b", 11_931) + pod("c", 12_049) + pod("d", 11_931, gpus=0, milli=0))
    exact = trace_files.exact(NAME, tmp_path)
    rounded = exact.quantised(2)
    assert listed(rounded) == {(12.0, 5.5, 0.47): 3, (12.0, 5.5, 0.0): 1}
    assert_same(exact.quantised(), exact)
    for digits in (0, 16, 2.0, "3"):
        with pytest.raises(InvalidInput, match=r"^digits "):
            exact.quantised(digits)  # type: ignore[arg-type]


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


# ---------------------------------------------------------------------------------------------------------------------
# The genuine trace


@pytest.mark.traces
def test_the_shipped_digest_is_that_of_the_raw_files(shipped: Pods) -> None:
    folder = raw_folder("alibaba_gpu2023")
    raw = trace_files.exact(NAME, folder)
    assert_same(shipped, raw.quantised(3))
    text = (folder / POD_FILE).read_text()
    assert listed(raw) == reference(text)
    assert listed(shipped) == reference(text, 3)
    # the same generator draws the same pods
    for unit in ("pod", "request"):
        ours, theirs = (sample_users(5_000, np.random.default_rng(6), unit=unit, pods=p) for p in (shipped, raw))
        np.testing.assert_allclose(ours, theirs, rtol=0.005)
        np.testing.assert_array_equal(ours[:, 2], theirs[:, 2])


@pytest.mark.traces
def test_what_rounding_does_to_the_genuine_trace(shipped: Pods) -> None:
    raw = trace_files.exact(NAME, raw_folder("alibaba_gpu2023"))
    now, before = shipped.pods @ shipped.requests, raw.pods @ raw.requests
    assert now[2] == before[2]
    whole = raw.requests[:, 1] % 1 == 0
    np.testing.assert_array_equal(np.sort(raw.requests[whole, 1]), np.sort(shipped.requests[whole, 1]))

    def fitting(requests: Any) -> Any:
        """Count how many pods of each request an empty machine of each kind takes, its GPUs taken together."""
        asked = np.where(requests > 0, requests, np.nan)[:, None, :]
        return np.floor(np.nanmin(raw.capacities / asked, axis=2) * (1 + 1e-12))

    def told(digits: int) -> dict[str, float]:
        rounded = raw.requests.copy()
        rounded[:, :2] = np.vectorize(lambda x: float(f"{x:.{digits}g}"))(raw.requests[:, :2])
        pairs = np.outer(raw.pods, raw.counts)
        total = raw.pods @ rounded / before - 1
        return {
            "CPU in all": total[0],
            "memory in all": total[1],
            "largest error of one pod's CPU": worst_error(raw.requests[:, 0], rounded[:, 0]),
            "largest error of one pod's memory": worst_error(raw.requests[:, 1], rounded[:, 1]),
            "pods whose request changes": raw.pods[(rounded != raw.requests).any(axis=1)].sum() / raw.pods.sum(),
            "pods and machines of which another number fits": pairs[fitting(rounded) != fitting(raw.requests)].sum()
            / pairs.sum(),
        }

    three, two = told(3), told(2)
    assert three["pods and machines of which another number fits"] == 0
    told_in_the_readme(
        "Alibaba cluster-trace-gpu-v2023",
        {name: (three[name], two[name]) for name in three},
        {"distinct requests": (len(raw.pods), len(shipped.pods), len(raw.quantised(2).pods))},
    )
