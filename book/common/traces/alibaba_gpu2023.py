"""Alibaba cluster-trace-gpu-v2023: the digest of pods' requests and of machines, and the sampling of
users.

The trace (one cluster of 1 523 machines with 6 212 GPUs; Alibaba, "for research or study purpose") consists of
**pods**, which ask for CPU, memory and GPU, and of machines. Everything here counts in **cores, GiB and GPUs**, for
pods and machines alike; ``book/common/raw/alibaba_gpu2023.py`` reads the lists as published.

The digest that ships holds CPU and memory to 3 significant digits, in cores and GiB, for the trace is published for
research and study only, and a digest of it should not stand in for it. GPUs, counts and machines are exact. Whole GiB
below 1000 stay whole, so that what filled a machine exactly still does. The raw reader gives everything exact.

References
----------
Alibaba Group. *Alibaba cluster trace program, cluster-trace-gpu-v2023*, ``README.md``. The trace belongs to Q. Weng,
L. Yang, Y. Yu, W. Wang, X. Tang, G. Yang, L. Zhang. *Beware of Fragmentation: Scheduling GPU-Sharing Workloads with
Fragmentation Gradient Descent*. USENIX Annual Technical Conference, 2023.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from book.common.traces.rounding import significant
from fairbook.errors import InvalidInput
from fairbook.model.inputs import as_whole
from fairbook.model.instance import checks_choices
from fairbook.traces import stored

__all__ = ["RESOURCES", "Pods", "load_digest", "sample_machines", "sample_users"]

NAME: Final = "alibaba_gpu2023"
REQUESTS: Final = "alibaba_gpu2023_requests.csv"
MACHINES: Final = "alibaba_gpu2023_machines.csv"
REQUEST_HEADER: Final = "cpu,memory,gpu,pods"
MACHINE_HEADER: Final = "cpu,memory,gpu,model,machines"
RESOURCES: Final = ("cpu", "memory", "gpu")
"""What the columns of requests and capacities are, in cores, GiB and GPUs."""

Unit = Literal["pod", "request"]
Zeros = Literal["keep", "drop"]


@dataclass(frozen=True, eq=False, repr=False)
class Pods:
    """The distinct requests of the pods, and the distinct machines, with how many there are of each.

    From :func:`load_digest`: of the digest that ships (CPU and memory to 3 significant digits), or of one that
    ``book.common.raw.alibaba_gpu2023.digest`` made from raw files (exact). The first is, to the last bit, what
    :meth:`quantised` makes of the second.

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
        return pd.DataFrame(self.requests, columns=list(RESOURCES)).assign(pods=self.pods)

    @property
    def machines(self) -> pd.DataFrame:
        """The kinds of machines as a DataFrame with columns cpu, memory, gpu, model, machines."""
        frame = pd.DataFrame(self.capacities, columns=list(RESOURCES)).astype({"gpu": "int64"})
        return frame.assign(model=list(self.models), machines=self.counts)

    def pool(self) -> NDArray[np.float64]:
        """Total capacity of all machines: cores, GiB, GPUs, as a (3,) float array."""
        return np.asarray(self.counts @ self.capacities, np.float64)

    def quantised(self, digits: int | None = None) -> "Pods":
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
        rounded = [significant(column, digits, "digits") for column in self.requests.T[:2]]
        requests, pods = joined(np.column_stack([*rounded, self.requests[:, 2]]), self.pods)
        return Pods(requests, pods, self.capacities.copy(), self.counts.copy(), self.models)


def joined(requests: NDArray[np.float64], pods: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
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


@checks_choices
def sample_users(
    n: int,
    rng: np.random.Generator,
    *,
    unit: Unit = "pod",
    zeros: Zeros = "keep",
    pods: Pods | None = None,
) -> NDArray[np.float64]:
    """Draw the demand vectors of n users, independently and with replacement.

    Parameters
    ----------
    n : int
        Number of users, positive.
    rng : numpy.random.Generator
        Source of randomness; the same state gives the same draw.
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
    >>> demands = sample_users(1000, np.random.default_rng(1))
    >>> demands.shape, bool((demands[:, 2] == 0).any())
    ((1000, 3), True)
    """
    stored.check_rng(rng)
    n = as_whole(n, "n", 1)
    held = _held(pods)
    rows = np.flatnonzero((held.requests > 0).all(axis=1) if zeros == "drop" else (held.requests > 0).any(axis=1))
    if not len(rows):
        raise InvalidInput("zeros", "leaves no pod to draw from", zeros)
    weight = held.pods[rows] if unit == "pod" else np.ones(len(rows), np.int64)
    drawn: NDArray[np.float64] = held.requests[rows[_draw(n, rng, weight)]]
    return drawn


def sample_machines(m: int, rng: np.random.Generator, *, pods: Pods | None = None) -> NDArray[np.float64]:
    """Draw m machines, independently and with replacement, each machine of the cluster equally likely.

    Parameters
    ----------
    m : int
        Number of machines, positive.
    rng : numpy.random.Generator
        Source of randomness; the same state gives the same draw.
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
    >>> sample_machines(100, np.random.default_rng(1)).shape
    (100, 3)
    """
    stored.check_rng(rng)
    m = as_whole(m, "m", 1)
    held = _held(pods)
    drawn: NDArray[np.float64] = held.capacities[_draw(m, rng, held.counts)]
    return drawn


def _draw(n: int, rng: np.random.Generator, weight: NDArray[np.int64]) -> NDArray[np.intp]:
    """Draw n places, each with probability proportional to its whole weight."""
    cumulative = np.cumsum(weight)
    return np.searchsorted(cumulative, rng.integers(cumulative[-1], size=n), side="right")


def load_digest(folder: str | Path | None = None) -> Pods:
    """Load the digest that ships with the package, or one made from raw files, and verify its checksums.

    Parameters
    ----------
    folder : path, optional
        Where the digest is; by default the shipped digest of the whole trace.

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
    record, tables = stored.read_digest(NAME, folder)
    requests, kinds = tables[REQUESTS], tables[MACHINES]
    amounts = [one[list(RESOURCES)].to_numpy(dtype=np.float64) for one in (requests, kinds)]
    counts = requests["pods"].to_numpy(), kinds["machines"].to_numpy()
    return Pods(amounts[0], counts[0], amounts[1], counts[1], tuple(kinds["model"]), record)
