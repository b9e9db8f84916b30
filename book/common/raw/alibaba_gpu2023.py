"""Alibaba cluster-trace-gpu-v2023 as published: the reader, and the digest of pods' requests and of machines.

The trace is published as CSV with a header: one line of a pod list for each **pod**, which asks for CPU, memory and
GPU, and one line of the node list for each machine. CPU is in 1/1000 core, memory in MiB, GPU in 1/1000 GPU.

The GPU request of a pod is ``num_gpu * gpu_milli``. The two columns say one thing: without a GPU both are 0; a pod with
one GPU may share it, and ``gpu_milli`` is the part it asks for, up to 1000; a pod with more has them whole, and
``gpu_milli`` is 1000. That holds on every line of the trace.

What is left out: a pod that asks for nothing at all (there is none in the trace). Nothing else is: pods without a GPU
are users of the pool like the others, and pods of every phase are kept. The published pod lists named ``gpuspec`` also
say on which models of GPU a pod can run; the digest drops that column, and is the same for them.

References
----------
Alibaba Group. *Alibaba cluster trace program, cluster-trace-gpu-v2023*, ``README.md``. The trace belongs to Q. Weng,
L. Yang, Y. Yu, W. Wang, X. Tang, G. Yang, L. Zhang. *Beware of Fragmentation: Scheduling GPU-Sharing Workloads with
Fragmentation Gradient Descent*. USENIX Annual Technical Conference, 2023.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from book.common.raw.digests import DigestReport, described, find_files, number, read
from book.common.traces.alibaba_gpu2023 import (
    MACHINE_HEADER,
    MACHINES,
    NAME,
    REQUEST_HEADER,
    REQUESTS,
    RESOURCES,
    Pods,
    joined,
)

# Thousandths of a core, MiB, thousandths of a GPU.
_PUBLISHED: Final = np.array((1000.0, 1024.0, 1000.0))
_AMOUNTS: Final = ["cpu_milli", "memory_mib", "gpu"]
_QOS: Final = ("LS", "BE", "Burstable", "Guaranteed")
_PHASES: Final = ("Running", "Failed", "Pending", "Succeeded")
_POD_COLUMNS: Final = {
    "name": "str", "cpu_milli": "int64", "memory_mib": "int64", "num_gpu": "int64", "gpu_milli": "int64",
    "gpu_spec": "str", "qos": "str", "pod_phase": "str",
    "creation_time": "int64", "deletion_time": "int64", "scheduled_time": "float64",
}  # fmt: skip
_NODE_COLUMNS: Final = {"sn": "str", "cpu_milli": "int64", "memory_mib": "int64", "gpu": "int64", "model": "str"}


def _pods_of(requests: pd.DataFrame, nodes: pd.DataFrame) -> Pods:
    """Lay out requests and machines as arrays, in cores, GiB and GPUs."""
    machines = nodes.groupby([*_AMOUNTS, "model"]).size().reset_index(name="machines")
    asked, count = joined(requests.to_numpy(np.float64) / _PUBLISHED, np.ones(len(requests), np.int64))
    return Pods(
        asked,
        count,
        machines[_AMOUNTS].to_numpy(np.float64) / (*_PUBLISHED[:2], 1.0),
        machines["machines"].to_numpy(np.int64),
        tuple(machines["model"]),
    )


def _encode(held: Pods) -> dict[str, list[str]]:
    """Write requests and machines as the lines of the digest's two tables."""
    requests = (
        ",".join((*map(number, row), str(count)))
        for row, count in zip(held.requests.tolist(), held.pods.tolist(), strict=True)
    )
    machines = (
        ",".join((*map(number, row), model, str(count)))
        for row, model, count in zip(held.capacities.tolist(), held.models, held.counts.tolist(), strict=True)
    )
    return {REQUESTS: [REQUEST_HEADER, *requests], MACHINES: [MACHINE_HEADER, *machines]}


def _plain(values: Iterable[float]) -> dict[str, float]:
    """Name amounts of the three resources; whole ones without a point."""
    return {name: int(x) if x == int(x) else x for name, x in zip(RESOURCES, values, strict=True)}


def digest(folder: str | Path, *, digits: int | None = 3) -> DigestReport:
    """Digest a pod list and the node list into distinct requests and distinct machines, with their numbers.

    Parameters
    ----------
    folder : path
        With the lists ``openb_pod_list_default`` and ``openb_node_list_all_node``, ``.csv`` or ``.csv.gz``.
    digits : int or None
        Round CPU and memory of the requests to so many significant digits; None rounds nothing. The digest in
        ``data/`` was made with 3.

    Returns
    -------
    DigestReport

    Raises
    ------
    TraceError
        If a file is missing, damaged or not in the published format.

    Notes
    -----
    A fifth of a second for the trace. The same input gives the same bytes, in whatever order its lines are.
    """
    pod_list = find_files(folder, "openb_pod_list_default")[0]
    node_list = find_files(folder, "openb_node_list_all_node")[0]
    frame, nodes = (
        read(path, columns, titles=tuple(columns))[0]
        for path, columns in ((pod_list, _POD_COLUMNS), (node_list, _NODE_COLUMNS))
    )
    frame = frame.assign(gpu=frame["num_gpu"] * frame["gpu_milli"])
    requests = frame[_AMOUNTS][(frame[_AMOUNTS] > 0).any(axis=1)]
    exact = _pods_of(requests, nodes)
    kept = exact.quantised(digits)
    counted = {
        "rows": frame.index >= 0,
        "pods_without_request": ~frame.index.isin(requests.index),
        "pods": frame.index.isin(requests.index),
        "pods_without_gpu": frame["num_gpu"] == 0,
        "pods_sharing_a_gpu": (frame["num_gpu"] == 1) & (frame["gpu_milli"] < 1000),
        "pods_with_one_gpu": (frame["num_gpu"] == 1) & (frame["gpu_milli"] == 1000),
        "pods_with_more_gpus": frame["num_gpu"] > 1,
        "pods_zero_cpu": frame["cpu_milli"] == 0,
        "pods_zero_memory": frame["memory_mib"] == 0,
        "pods_never_scheduled": frame["scheduled_time"].isna(),
        **{f"pods_{name.lower()}": frame["qos"] == name for name in _QOS},
        **{f"pods_{name.lower()}": frame["pod_phase"] == name for name in _PHASES},
    }
    counts = {name: int(np.sum(which)) for name, which in counted.items()}
    counts |= {"distinct_requests_in_trace": len(exact.pods), "distinct_requests": len(kept.pods)}
    published = (sum(requests[name].tolist()) for name in _AMOUNTS)
    machines = {
        "machines": int(exact.counts.sum()),
        "kinds": len(exact.counts),
        "machines_without_gpu": int(exact.counts[exact.capacities[:, 2] == 0].sum()),
        **_plain(exact.pool().tolist()),
    }
    rounding = "" if digits is None else f"CPU and memory rounded to {digits} significant digits"
    facts: dict[str, Any] = {
        "trace": "Alibaba cluster-trace-gpu-v2023",
        "licence": "for research or study purpose",
        "attribution": "Alibaba Group, Alibaba cluster trace program, cluster-trace-gpu-v2023",
        "changes": (
            "pods counted per request of CPU, memory and GPU, in cores, GiB and GPUs (num_gpu times gpu_milli)"
            f"{', ' + rounding if rounding else ''}; "
            "names, times, order, models of GPU that a pod asks for, classes of service and phases dropped; "
            "machines counted per capacity and model"
        ),
        "command": f"book.common.raw.alibaba_gpu2023.digest(FOLDER, digits={digits}).write('data')",
        "units": {
            "cpu": "cores",
            "memory": "GiB",
            "gpu": "GPUs; less than one is a part of one GPU",
            "model": "model of the machine's GPUs, as published",
            "pods": "pods with this request",
            "machines": "machines with this capacity and model",
        },
        "digits": digits,
        "counts": counts,
        "requested_in_trace": dict(zip(("cpu_milli", "memory_mib", "gpu_milli"), published, strict=True)),
        "machines": machines,
        "inputs": {
            "pods": [described(pod_list, len(frame), header=True)],
            "nodes": [described(node_list, len(nodes), header=True)],
        },
    }
    return DigestReport.of(NAME, facts, _encode(kept))
