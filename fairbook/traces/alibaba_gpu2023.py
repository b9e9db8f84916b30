"""Alibaba cluster-trace-gpu-v2023: readers, the digest of pods' requests and of machines, and the sampling of users.

The trace (one cluster of 1 523 machines with 6 212 GPUs; Alibaba, "for research or study purpose") is published as CSV
with a header. A **pod** asks for CPU, memory and GPU: one line of a pod list each. A **node** is a machine: one line of
the node list.

Units. As published, CPU is in 1/1000 core, memory in MiB, GPU in 1/1000 GPU. Everything here but the readers of the two
lists counts in **cores, GiB and GPUs**, for pods and machines alike.

The GPU request of a pod is ``num_gpu * gpu_milli``. The two columns say one thing: without a GPU both are 0; a pod with
one GPU may share it, and ``gpu_milli`` is the part it asks for, up to 1000; a pod with more has them whole, and
``gpu_milli`` is 1000. That holds on every line of the trace, and a line on which it does not is an error, as is every
line that is not in the published format; the message names file and line.

What is left out: a pod that asks for nothing at all (there is none in the trace). Nothing else is: pods without a GPU
are users of the pool like the others, and pods of every phase are kept. The published pod lists named ``gpuspec`` also
say on which models of GPU a pod can run; the digest drops that column, and is the same for them.

The digest that ships holds CPU and memory to 3 significant digits, in cores and GiB, for the trace is published for
research and study only, and a digest of it should not stand in for it. GPUs, counts and machines are exact. Whole GiB
below 1000 stay whole, so that what filled a machine exactly still does. :func:`read_pods` gives everything exact.

References
----------
Alibaba Group. *Alibaba cluster trace program, cluster-trace-gpu-v2023*, ``README.md``. The trace belongs to Q. Weng,
L. Yang, Y. Yu, W. Wang, X. Tang, G. Yang, L. Zhang. *Beware of Fragmentation: Scheduling GPU-Sharing Workloads with
Fragmentation Gradient Descent*. USENIX Annual Technical Conference, 2023.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

import fairbook
from fairbook.errors import InvalidInput, TraceError
from fairbook.traces._files import (
    Part,
    Source,
    file_sha256,
    find_parts,
    read_provenance,
    write_atomically,
)
from fairbook.traces._paths import data_path
from fairbook.traces._rows import Column, Table
from fairbook.traces.alibaba2017 import _check_digits, _lines, _number, _significant, _text, _worst
from fairbook.traces.jobs import _check_rng, _check_whole

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "RESOURCES",
    "SHIPPED_DIGITS",
    "DigestReport",
    "Pods",
    "compare_quantisations",
    "digest",
    "load_digest",
    "read_node_list",
    "read_pod_list",
    "read_pods",
    "sample_machines",
    "sample_users",
    "verify_digest",
]

REQUESTS: Final = "alibaba_gpu2023_requests.csv"
MACHINES: Final = "alibaba_gpu2023_machines.csv"
PROVENANCE: Final = "alibaba_gpu2023.json"
RESOURCES: Final = ("cpu", "memory", "gpu")
"""What the columns of requests and capacities are, in cores, GiB and GPUs."""
SHIPPED_DIGITS: Final = 3
"""Significant digits of CPU and memory in the digest that ships."""

Unit = Literal["pod", "request"]
Zeros = Literal["keep", "drop"]

_POD_FILE: Final = "openb_pod_list_default"
_NODE_FILE: Final = "openb_node_list_all_node"
_NODE_PREFIX: Final = "openb_node_list"
_REQUEST_HEADER: Final = "cpu,memory,gpu,pods"
_MACHINE_HEADER: Final = "cpu,memory,gpu,model,machines"
# Thousandths of a core, MiB, thousandths of a GPU.
_PUBLISHED: Final = np.array((1000.0, 1024.0, 1000.0))

_Request = tuple[int, int, int]
_Machine = tuple[int, int, int, str]

# ---------------------------------------------------------------------------------------------------------------------
# Lines

_QOS: Final = ("LS", "BE", "Burstable", "Guaranteed")
_PHASES: Final = ("Running", "Failed", "Pending", "Succeeded")
_POD_COLUMNS: Final = (
    Column("name", "name"),
    Column("cpu_milli", "count"),
    Column("memory_mib", "count"),
    Column("num_gpu", "count"),
    Column("gpu_milli", "count"),
    Column("gpu_spec", "words", optional=True),
    Column("qos", "word", words=_QOS),
    Column("pod_phase", "word", words=_PHASES),
    Column("creation_time", "time"),
    Column("deletion_time", "time"),
    Column("scheduled_time", "time", optional=True),
)
_NODE_COLUMNS: Final = (
    Column("sn", "name"),
    Column("cpu_milli", "count", least=1),
    Column("memory_mib", "count", least=1),
    Column("gpu", "count"),
    Column("model", "word", optional=True),
)

def _titles(columns: tuple[Column, ...]) -> tuple[bytes, ...]:
    return tuple(column.name.encode() for column in columns)


def _refuse_doubles(table: Table, what: str) -> None:
    """Refuse a name that is there twice."""
    seen: dict[str, int] = {}
    for number, row in enumerate(table.rows):
        before = seen.setdefault(row[0], number)
        if before != number:
            raise TraceError(f"{table.where(number)}: {what} {row[0]} is there already ({table.where(before)})")


def _pod_table(parts: Sequence[Part]) -> Table:
    """Read a pod list whole; hold the two columns of GPUs against each other."""
    table = Table(parts, _POD_COLUMNS, _titles(_POD_COLUMNS))
    _refuse_doubles(table, "pod")
    for number, (_, _, _, gpus, milli, *_) in enumerate(table.rows):
        if not (milli == 0 if gpus == 0 else 1 <= milli <= 1000 if gpus == 1 else milli == 1000):
            raise TraceError(
                f"{table.where(number)}: column 5 (gpu_milli) must be 0 without a GPU, 1 to 1000 with one and 1000 "
                f"with more: {milli} with {gpus}"
            )
    return table


def _node_table(parts: Sequence[Part]) -> Table:
    table = Table(parts, _NODE_COLUMNS, _titles(_NODE_COLUMNS))
    _refuse_doubles(table, "node")
    return table


def _one_list(source: Source, table: str) -> list[Part]:
    parts = find_parts(source, table, any_name=False)
    for part in parts:
        if part.number is not None:
            raise TraceError(f"{part.path}: is a part of a list; this trace is read from whole lists")
    return parts


def _split(source: Source) -> tuple[list[Part], list[Part]]:
    """Find the pod list and the node list."""
    if isinstance(source, Sequence) and not isinstance(source, str):
        try:
            paths = [Path(p) for p in source]
        except TypeError as error:
            raise InvalidInput("source", "must be a folder or a sequence of files", source) from error
        nodes = [p for p in paths if p.name.startswith(_NODE_PREFIX)]
        pods = [p for p in paths if p not in nodes]
        if not nodes or not pods:
            raise InvalidInput("source", f"must name a pod list and a node list ({_NODE_PREFIX}*)", source)
        return _one_list(pods, _POD_FILE), _one_list(nodes, _NODE_FILE)
    if isinstance(source, str | Path) and Path(source).is_file():
        raise InvalidInput("source", "must be the folder of both lists, or name both", source)
    return _one_list(source, _POD_FILE), _one_list(source, _NODE_FILE)


def read_pod_list(source: Source) -> pd.DataFrame:
    r"""Read a pod list as published, in file order.

    Parameters
    ----------
    source : path or sequence of paths
        The folder of the lists, of which ``openb_pod_list_default.csv`` (or ``.csv.gz``) is read, or the file of any of
        the published pod lists.

    Returns
    -------
    pandas.DataFrame
        Columns name (str), cpu_milli (int, 1/1000 core), memory_mib (int), num_gpu (int), gpu_milli (int, 1/1000 of
        each GPU), gpu_spec (str: models of GPU separated by bars, empty for any), qos, pod_phase (str), creation_time,
        deletion_time (int, seconds), scheduled_time (Int64, seconds; missing for a pod that never was).

    Raises
    ------
    TraceError
        If there is nothing to read, a file is damaged or cut short, a line is not in the published format, `num_gpu`
        and `gpu_milli` contradict each other, or a pod is there twice; the message names file and line.
    InvalidInput
        If `source` is not a path or a sequence of paths.

    Notes
    -----
    Every field of every line is checked. Time and memory are linear in the lines; the trace takes a tenth of a second.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name) / "openb_pod_list_default.csv"
    >>> _ = file.write_text("openb-pod-0017,88000,327680,8,1000,,Burstable,Succeeded,9437497,10769854,9437497\n")
    >>> print(read_pod_list(folder.name)[["cpu_milli", "memory_mib", "num_gpu", "gpu_milli"]].to_string(index=False))
     cpu_milli  memory_mib  num_gpu  gpu_milli
         88000      327680        8       1000
    >>> folder.cleanup()
    """
    import pandas as pd

    names = [column.name for column in _POD_COLUMNS]
    frame = pd.DataFrame(_pod_table(_one_list(source, _POD_FILE)).rows, columns=names, dtype=object)
    frame["gpu_spec"] = frame["gpu_spec"].fillna("")
    types = {column.name: "int64" if column.kind in ("count", "time") else "str" for column in _POD_COLUMNS}
    return frame.astype(types | {"scheduled_time": "Int64"})


def read_node_list(source: Source) -> pd.DataFrame:
    """Read the node list as published, in file order.

    Parameters
    ----------
    source : path or sequence of paths
        The folder of the lists, of which ``openb_node_list_all_node.csv`` (or ``.csv.gz``) is read, or the file.

    Returns
    -------
    pandas.DataFrame
        Columns sn (str), cpu_milli (int, 1/1000 core), memory_mib, gpu (int), model (str, empty where there is none).

    Raises
    ------
    TraceError, InvalidInput
        As in :func:`read_pod_list`.
    """
    import pandas as pd

    names = [column.name for column in _NODE_COLUMNS]
    frame = pd.DataFrame(_node_table(_one_list(source, _NODE_FILE)).rows, columns=names, dtype=object)
    frame["model"] = frame["model"].fillna("")
    types = {column.name: "int64" if column.kind == "count" else "str" for column in _NODE_COLUMNS}
    return frame.astype(types)


# ---------------------------------------------------------------------------------------------------------------------
# Pods and machines


@dataclass(frozen=True, eq=False, repr=False)
class Pods:
    """The distinct requests of the pods, and the distinct machines, with how many there are of each.

    From :func:`load_digest` (the digest that ships: CPU and memory to 3 significant digits) or :func:`read_pods` (raw
    files: exact). The first is, to the last bit, what :meth:`quantised` makes of the second.

    Attributes
    ----------
    requests : (r, 3) float array, non-negative
        What a pod asks for: cores, GiB, GPUs. No row is zero in all. Rows differ, the most
        frequent first, equally frequent ones in lexicographic order.
    pods : (r,) int array, positive
        How many pods ask for it.
    capacities : (c, 3) float array, non-negative
        What a machine of each kind has: cores, GiB, GPUs. Cores and GiB are positive.
    counts : (c,) int array, positive
        How many machines there are of each kind.
    models : tuple of str, of length c
        Model of the GPUs of each kind, as published; empty without any.
    provenance : dict
        Contents of ``alibaba_gpu2023.json``; empty if read from raw files.

    Examples
    --------
    >>> held = load_digest()
    >>> held
    Pods(8152 pods of 151 requests, 1523 machines of 27 kinds)
    >>> held.pool().tolist()
    [125514.0, 597684.0, 6212.0]
    """

    requests: NDArray[np.float64]
    pods: NDArray[np.int64]
    capacities: NDArray[np.float64]
    counts: NDArray[np.int64]
    models: tuple[str, ...]
    provenance: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for array in (self.requests, self.pods, self.capacities, self.counts):
            array.flags.writeable = False

    def __len__(self) -> int:
        return int(self.pods.sum())

    def __repr__(self) -> str:
        machines = f"{int(self.counts.sum())} machines of {len(self.counts)} kinds"
        return f"Pods({len(self)} pods of {len(self.pods)} requests, {machines})"

    @property
    def frame(self) -> pd.DataFrame:
        """The requests as a DataFrame with columns cpu, memory, gpu, pods."""
        import pandas as pd

        return pd.DataFrame(self.requests, columns=list(RESOURCES)).assign(pods=self.pods)

    @property
    def machines(self) -> pd.DataFrame:
        """The kinds of machines as a DataFrame with columns cpu, memory, gpu, model, machines."""
        import pandas as pd

        frame = pd.DataFrame(self.capacities, columns=list(RESOURCES)).astype({"gpu": "int64"})
        return frame.assign(model=list(self.models), machines=self.counts)

    def pool(self) -> NDArray[np.float64]:
        """Total capacity of all machines: cores, GiB, GPUs, as a (3,) float array."""
        return np.asarray(self.counts @ self.capacities, np.float64)

    def quantised(self, digits: int | None = None) -> Pods:
        """Round CPU and memory of the requests to significant digits, half to even, and join what becomes equal.

        Parameters
        ----------
        digits : int, optional
            1 to 15 significant decimal digits of cores and of GiB; None leaves the numbers alone.

        Returns
        -------
        Pods
            With the same GPUs, number of pods and machines.

        Examples
        --------
        >>> load_digest().quantised(2)
        Pods(8152 pods of 146 requests, 1523 machines of 27 kinds)
        """
        _check_digits(digits, "digits")
        requests = self.requests.copy()
        if digits is not None:
            for column in (0, 1):
                requests[:, column] = _significant(requests[:, column], int(digits))
        requests, pods = _joined(requests, self.pods)
        return Pods(requests, pods, self.capacities.copy(), self.counts.copy(), self.models)


def _joined(requests: NDArray[np.float64], pods: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Add up the pods of equal requests; the most frequent first, then in lexicographic order."""
    rows, place = np.unique(requests, axis=0, return_inverse=True)
    count = np.zeros(len(rows), np.int64)
    np.add.at(count, place.reshape(-1), pods)
    order = np.argsort(-count, kind="stable")
    return rows[order], count[order]


def _held(pods: Pods | None) -> Pods:
    if pods is None:
        return load_digest()
    if not isinstance(pods, Pods):
        raise InvalidInput("pods", "must be None or Pods, from load_digest or read_pods", pods)
    return pods


def sample_users(
    rng: np.random.Generator,
    n: int,
    *,
    unit: Unit = "pod",
    zeros: Zeros = "keep",
    pods: Pods | None = None,
) -> NDArray[np.float64]:
    """Draw the demand vectors of n users, independently and with replacement.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness; the same state gives the same draw.
    n : int
        Number of users, positive.
    unit : {"pod", "request"}
        What a user is: a pod, all equally likely, or a request, all distinct ones equally likely. Half the pods share
        the 8 most frequent requests, so that users drawn as pods are often alike.
    zeros : {"keep", "drop"}
        ``"keep"``: every pod, also those without a GPU, 13 in 100. ``"drop"``: only those that ask for some of all
        three, for models that need positive demands.
    pods : Pods, optional
        By default :func:`load_digest`.

    Returns
    -------
    (n, 3) float array
        Columns cores, GiB, GPUs, in the units of :meth:`Pods.pool`. No row is zero in all.

    Raises
    ------
    InvalidInput
        If an argument is none of the above, or no pod is left.

    Notes
    -----
    O(n log r) for r requests. The trace does not say whose the pods are; times and order are lost in the digest.

    Examples
    --------
    >>> demands = sample_users(np.random.default_rng(1), 1000)
    >>> demands.shape, bool((demands[:, 2] == 0).any())
    ((1000, 3), True)
    """
    _check_rng(rng)
    n = _check_whole(n, "n")
    if unit not in ("pod", "request"):
        raise InvalidInput("unit", "must be 'pod' or 'request'", unit)
    if zeros not in ("keep", "drop"):
        raise InvalidInput("zeros", "must be 'keep' or 'drop'", zeros)
    held = _held(pods)
    rows = np.flatnonzero((held.requests > 0).all(axis=1) if zeros == "drop" else (held.requests > 0).any(axis=1))
    if not len(rows):
        raise InvalidInput("zeros", "leaves no pod to draw from", zeros)
    weight = held.pods[rows] if unit == "pod" else np.ones(len(rows), np.int64)
    drawn: NDArray[np.float64] = held.requests[rows[_draw(rng, n, weight)]]
    return drawn


def sample_machines(rng: np.random.Generator, m: int, *, pods: Pods | None = None) -> NDArray[np.float64]:
    """Draw m machines, independently and with replacement, each machine of the cluster equally likely.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness; the same state gives the same draw.
    m : int
        Number of machines, positive.
    pods : Pods, optional
        By default :func:`load_digest`.

    Returns
    -------
    (m, 3) float array
        Columns cores, GiB, GPUs. One machine in five has no GPU, so a small draw may hold none; the whole cluster is
        ``Pods.capacities`` with ``Pods.counts``.

    Raises
    ------
    InvalidInput
        If an argument is none of the above.

    Examples
    --------
    >>> sample_machines(np.random.default_rng(1), 100).shape
    (100, 3)
    """
    _check_rng(rng)
    m = _check_whole(m, "m")
    held = _held(pods)
    drawn: NDArray[np.float64] = held.capacities[_draw(rng, m, held.counts)]
    return drawn


def _draw(rng: np.random.Generator, n: int, weight: NDArray[np.int64]) -> NDArray[np.intp]:
    """Draw n places, each with probability proportional to its whole weight."""
    cumulative = np.cumsum(weight)
    return np.searchsorted(cumulative, rng.integers(cumulative[-1], size=n), side="right")


def _gather(table: Table) -> tuple[dict[_Request, int], dict[str, int]]:
    """Count pods by request, as published, and count all else that is said of them."""
    rows = table.rows
    asked = [(row[1], row[2], row[3] * row[4]) for row in rows]
    requests = Counter(request for request in asked if any(request))
    if not requests:
        raise TraceError(f"{table.files[0].part.path}: no pod asks for anything")
    qos, phases = (Counter(row[column] for row in rows) for column in (6, 7))
    counts = {
        "rows": len(rows),
        "pods_without_request": len(rows) - sum(requests.values()),
        "pods": sum(requests.values()),
        "pods_without_gpu": sum(row[3] == 0 for row in rows),
        "pods_sharing_a_gpu": sum(row[3] == 1 and row[4] < 1000 for row in rows),
        "pods_with_one_gpu": sum(row[3] == 1 and row[4] == 1000 for row in rows),
        "pods_with_more_gpus": sum(row[3] > 1 for row in rows),
        "pods_zero_cpu": sum(row[1] == 0 for row in rows),
        "pods_zero_memory": sum(row[2] == 0 for row in rows),
        "pods_never_scheduled": sum(row[10] is None for row in rows),
        **{f"pods_{name.lower()}": qos[name] for name in _QOS},
        **{f"pods_{name.lower()}": phases[name] for name in _PHASES},
        "distinct_requests_in_trace": len(requests),
    }
    return dict(requests), counts


def _pods_of(requests: Mapping[_Request, int], machines: Mapping[_Machine, int]) -> Pods:
    """Lay out counted requests and machines as arrays, in cores, GiB and GPUs."""
    kinds = sorted(machines)
    asked, count = _joined(
        np.array(list(requests), np.float64) / _PUBLISHED, np.array(list(requests.values()), np.int64)
    )
    return Pods(
        asked,
        count,
        np.array([kind[:3] for kind in kinds], np.float64) / (*_PUBLISHED[:2], 1.0),
        np.array([machines[kind] for kind in kinds], np.int64),
        tuple(kind[3] for kind in kinds),
    )


def _machine_counts(table: Table) -> dict[_Machine, int]:
    return dict(Counter((row[1], row[2], row[3], row[4] or "") for row in table.rows))


def read_pods(source: Source) -> Pods:
    """Read requests and machines from the trace's own files, exact: what the digest holds before it is rounded.

    Parameters
    ----------
    source : path or sequence of paths
        The folder of the lists (of the pod lists, ``openb_pod_list_default.csv`` is read), or the files of a pod list
        and of a node list (``openb_node_list*``), each ``.csv`` or ``.csv.gz``.

    Returns
    -------
    Pods

    Raises
    ------
    TraceError, InvalidInput
        As in :func:`read_pod_list`; also if one of the two lists is missing, or no pod asks for anything.
    """
    pods, nodes = _split(source)
    return _pods_of(_gather(_pod_table(pods))[0], _machine_counts(_node_table(nodes)))


# ---------------------------------------------------------------------------------------------------------------------
# The digest


@dataclass(frozen=True)
class DigestReport:
    """What a digest was made of and what it holds.

    Attributes
    ----------
    counts : dict of str to int
        rows; pods_without_request (left out), pods (kept); of the rows: pods_without_gpu, pods_sharing_a_gpu,
        pods_with_one_gpu, pods_with_more_gpus, pods_zero_cpu, pods_zero_memory, pods_never_scheduled, pods by class of
        service and by phase; distinct_requests_in_trace, distinct_requests (after rounding).
    outputs : dict of str to str
        SHA-256 of each data file, by name.
    provenance : dict
        All of this and more, as in ``alibaba_gpu2023.json``.
    folder : pathlib.Path or None
        Where the files were written, if they were.
    """

    counts: dict[str, int]
    outputs: dict[str, str]
    provenance: dict[str, Any] = field(repr=False)
    folder: Path | None = None

    def __str__(self) -> str:
        c, m = self.counts, self.provenance["machines"]
        lines = [
            f"{c['rows']} pods, {c['pods_without_gpu']} without a GPU, {c['pods_sharing_a_gpu']} with part of one",
            f"{c['pods_without_request']} pods that ask for nothing left out",
            f"{c['pods']} pods of {c['distinct_requests']} requests, {c['distinct_requests_in_trace']} before rounding",
            f"{m['machines']} machines of {m['kinds']} kinds with {m['cpu']} cores, {m['memory']} GiB, {m['gpu']} GPUs",
        ]
        if rounding := _rounding(self.provenance["digits"]):
            lines.append(rounding)
        lines += [f"{name}  sha256 {value}" for name, value in self.outputs.items()]
        return "\n".join(lines)


def _rounding(digits: int | None) -> str:
    """Say what was rounded; empty if nothing was."""
    return "" if digits is None else f"CPU and memory rounded to {digits} significant digits"


def _encode(held: Pods) -> dict[str, bytes]:
    """Write the two tables of a digest."""
    requests = (
        ",".join((*map(_number, row), str(count)))
        for row, count in zip(held.requests.tolist(), held.pods.tolist(), strict=True)
    )
    machines = (
        ",".join((*map(_number, row), model, str(count)))
        for row, model, count in zip(held.capacities.tolist(), held.models, held.counts.tolist(), strict=True)
    )
    return {REQUESTS: _text([_REQUEST_HEADER, *requests]), MACHINES: _text([_MACHINE_HEADER, *machines])}


def _plain(values: Iterable[float]) -> dict[str, float]:
    """Name amounts of the three resources; whole ones without a point."""
    return {name: int(x) if x == int(x) else x for name, x in zip(RESOURCES, values, strict=True)}


def _compute(source: Source, digits: int | None) -> tuple[dict[str, bytes], DigestReport]:
    """Read everything and return the files' contents (provenance last) with the report; write nothing."""
    _check_digits(digits, "digits")
    pod_parts, node_parts = _split(source)
    nodes, pods = _node_table(node_parts), _pod_table(pod_parts)
    requests, counts = _gather(pods)
    exact = _pods_of(requests, _machine_counts(nodes))
    kept = exact.quantised(digits)
    files = _encode(kept)
    counts |= {"distinct_requests": len(kept.pods)}
    rounding = _rounding(digits)
    rows_of = {REQUESTS: len(kept.pods), MACHINES: len(kept.counts)}
    outputs = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    published = [sum(request[r] * k for request, k in requests.items()) for r in range(len(RESOURCES))]
    provenance: dict[str, Any] = {
        "trace": "Alibaba cluster-trace-gpu-v2023",
        "licence": "for research or study purpose",
        "attribution": "Alibaba Group, Alibaba cluster trace program, cluster-trace-gpu-v2023",
        "changes": (
            "pods counted per request of CPU, memory and GPU, in cores, GiB and GPUs (num_gpu times gpu_milli)"
            f"{', ' + rounding if rounding else ''}; "
            "names, times, order, models of GPU that a pod asks for, classes of service and phases dropped; "
            "machines counted per capacity and model"
        ),
        "command": "fairbook.traces.alibaba_gpu2023.digest(FOLDER, 'data'"
        + ("" if digits is None else f", digits={digits}")
        + ")",
        "fairbook": fairbook.__version__,
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
        "machines": {
            "machines": int(exact.counts.sum()),
            "kinds": len(exact.counts),
            "machines_without_gpu": int(exact.counts[exact.capacities[:, 2] == 0].sum()),
            **_plain(exact.pool().tolist()),
        },
        "inputs": {"pods": pods.described(), "nodes": nodes.described()},
        "outputs": {name: {"rows": rows_of[name], "sha256": value} for name, value in outputs.items()},
    }
    files[PROVENANCE] = (json.dumps(provenance, indent=1) + "\n").encode()
    return files, DigestReport(counts, outputs, provenance)


def digest(source: Source, output_folder: str | Path, *, digits: int | None = None) -> DigestReport:
    """Digest a pod list and the node list into distinct requests and distinct machines, with their numbers.

    Parameters
    ----------
    source : path or sequence of paths
        The folder of the lists, or the files of both; see :func:`read_pods`.
    output_folder : path
        Receives ``alibaba_gpu2023_requests.csv``, ``alibaba_gpu2023_machines.csv`` and ``alibaba_gpu2023.json``; made
        if absent.
    digits : int, optional
        Round CPU and memory of the requests to so many significant digits; see :func:`compare_quantisations` for what
        that does. By default nothing is rounded. The digest that ships was made with 3, which the command line takes
        unless told otherwise.

    Returns
    -------
    DigestReport
        Counts and checksums.

    Raises
    ------
    TraceError
        If a file is missing, damaged or not in the published format, or the output cannot be written.
    InvalidInput
        If an argument is none of the above.

    Notes
    -----
    A fifth of a second for the trace, linear in its lines. The same input gives the same bytes, in whatever order its
    lines are. Nothing is written before all is read; each file is written under a temporary name and renamed, the
    provenance last.
    """
    if not isinstance(output_folder, str | Path):
        raise InvalidInput("output_folder", "must be a path", output_folder)
    target = Path(output_folder)
    if target.exists() and not target.is_dir():
        raise TraceError(f"{target}: is not a folder")
    files, report = _compute(source, digits)
    write_atomically(target, files)
    return DigestReport(report.counts, report.outputs, report.provenance, target)


def _amounts(path: Path, number: int, texts: Sequence[str]) -> list[float]:
    """Read one line's amounts and its count, which is last: finite, not negative, the count positive and whole."""
    try:
        values = [float(text) for text in texts]
    except ValueError:
        values = []
    if len(values) != 4 or not all(0 <= x < float("inf") for x in values) or values[-1] < 1 or values[-1] % 1:
        raise TraceError(f"{path}, line {number}: is not a row of the digest")
    return values


def _table(path: Path, header: str) -> tuple[NDArray[np.float64], NDArray[np.int64], tuple[str, ...]]:
    """Read one of the digest's own tables: amounts, counts and, where there is such a column, models."""
    lines = _lines(path, header)
    rows, models = [], []
    for number, line in enumerate(lines, start=2):
        fields = line.split(",")
        if header == _MACHINE_HEADER:
            models.append(fields.pop(-2) if len(fields) > 1 else "")
        rows.append(_amounts(path, number, fields))
    if not rows:
        raise TraceError(f"{path}, line 2: the table holds no row")
    table = np.array(rows)
    return table[:, :-1].copy(), table[:, -1].astype(np.int64), tuple(models)


def load_digest(folder: str | Path | None = None) -> Pods:
    """Load the digest that ships with the package, or one made by :func:`digest`, and verify its checksums.

    Parameters
    ----------
    folder : path, optional
        Output folder of :func:`digest`; by default the shipped digest of the whole trace.

    Returns
    -------
    Pods

    Raises
    ------
    TraceError
        If a file is missing, is not the one whose SHA-256 the provenance records, or does not hold what it should.
    InvalidInput
        If `folder` is not a path or None.

    Examples
    --------
    >>> load_digest()
    Pods(8152 pods of 151 requests, 1523 machines of 27 kinds)
    """
    if folder is not None and not isinstance(folder, str | Path):
        raise InvalidInput("folder", "must be a path or None", folder)

    def find(name: str) -> Path:
        return data_path(name) if folder is None else Path(folder) / name

    provenance = read_provenance(find(PROVENANCE), (REQUESTS, MACHINES))
    for name in (REQUESTS, MACHINES):
        recorded = provenance["outputs"][name]["sha256"]
        if file_sha256(find(name)) != recorded:
            raise TraceError(f"{find(name)}: its SHA-256 is not the recorded {recorded}; make the digest again")
    requests, pods, _ = _table(find(REQUESTS), _REQUEST_HEADER)
    capacities, counts, models = _table(find(MACHINES), _MACHINE_HEADER)
    return Pods(requests, pods, capacities, counts, models, provenance)


def verify_digest(folder: Source, committed: str | Path | None = None) -> DigestReport:
    """Compute a digest again from the raw files and hold it equal to a recorded one, byte by byte.

    Parameters
    ----------
    folder : path or sequence of paths
        Folder of the lists, or the files; see :func:`read_pods`. They need not be the very files of the record (they
        may be compressed, in another order, or a ``gpuspec`` list); what they say must be the same.
    committed : path, optional
        Folder of the digest; by default the one that ships with the package.

    Returns
    -------
    DigestReport
        Of the digest computed now; nothing is written.

    Raises
    ------
    TraceError
        If a file is missing or the digests differ; the message names the first difference.

    Notes
    -----
    CPU and memory are rounded as the record says they were.
    """
    held = load_digest(committed).provenance
    files, report = _compute(folder, held.get("digits"))
    for name in (REQUESTS, MACHINES):
        path = data_path(name) if committed is None else Path(committed) / name
        old, new = path.read_bytes(), files[name]
        if old != new:
            a, b = old.split(b"\n"), new.split(b"\n")
            line = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
            raise TraceError(f"{path}, line {line + 1}: differs from the digest computed now")
    for key in ("counts", "requested_in_trace", "machines"):
        if held.get(key) != report.provenance[key]:
            raise TraceError(f"{key} of the committed digest differ: {held.get(key)} and now {report.provenance[key]}")
    return report


# ---------------------------------------------------------------------------------------------------------------------
# What rounding would do


def _fitting(requests: NDArray[np.float64], capacities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Count how many pods of each request an empty machine of each kind takes, its GPUs taken together; (r, c)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = capacities[None, :, :] / requests[:, None, :]
    ratio[np.broadcast_to((requests == 0)[:, None, :], ratio.shape)] = np.inf
    # A quotient that is whole in decimals may come out a last bit short of it.
    return np.asarray(np.floor(ratio.min(axis=2) * (1 + 1e-12)))


def compare_quantisations(pods: Pods | None = None, digits: Sequence[int | None] = (None, 4, 3, 2, 1)) -> pd.DataFrame:
    """Measure what rounding of CPU and memory would do.

    Parameters
    ----------
    pods : Pods, optional
        What errors are measured against. By default :func:`load_digest`, which is rounded already: give
        ``read_pods(FOLDER)`` for errors against the trace.
    digits : sequence of (int or None)
        Significant digits of CPU and memory; None for no rounding.

    Returns
    -------
    pandas.DataFrame
        One row per entry of `digits`: digits (0 for None); requests (distinct ones) and bytes of their table; changed,
        the part of the pods whose request changes; cpu and memory, the relative errors of the totals over all pods
        (signed); worst_cpu and worst_memory, the largest relative error of a pod; fits, the part of all pairs of a pod
        and a machine of the cluster where another number of pods like it would fit the empty machine.

    Notes
    -----
    A hundredth of a second per entry. Where GPUs are shared, whole pods of 0.6 GPU do not share one: `fits` takes a
    machine's GPUs together and so counts what the three totals allow.
    """
    import pandas as pd

    held = _held(pods)
    weight = held.pods
    before = _fitting(held.requests, held.capacities)
    pairs = np.outer(weight, held.counts)
    rows = []
    for entry in digits:
        q = held.quantised(entry)
        rounded = held.requests.copy()
        if entry is not None:
            for column in (0, 1):
                rounded[:, column] = _significant(rounded[:, column], int(entry))
        total, now = weight @ held.requests, weight @ rounded
        differ = _fitting(rounded, held.capacities) != before
        rows.append(
            {
                "digits": entry or 0,
                "requests": len(q.pods),
                "bytes": len(_encode(q)[REQUESTS]),
                "changed": weight[(rounded != held.requests).any(axis=1)].sum() / weight.sum(),
                "cpu": now[0] / total[0] - 1,
                "memory": now[1] / total[1] - 1,
                "worst_cpu": _worst(held.requests[:, 0], rounded[:, 0]),
                "worst_memory": _worst(held.requests[:, 1], rounded[:, 1]),
                "fits": pairs[differ].sum() / pairs.sum(),
            }
        )
    return pd.DataFrame(rows)
