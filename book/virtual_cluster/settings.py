"""What is drawn in the experiments on virtual clusters, how load is counted, and what is measured of an allocation."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from book.common.runs import choices, interval
from fairbook.model.clusters import VirtualClusters
from fairbook.model.inputs import FloatArray, as_whole

#: Root of every random stream.
SEED = 2011
#: Repetitions.
RUNS = 200


class Size(NamedTuple):
    """A set of physical clusters: how many, VMs of all, least VMs of one."""

    clusters: int
    vms: int
    least: int


#: Sizes of instances, by name.
SIZES: dict[str, Size] = {"small": Size(5, 320, 50), "large": Size(8, 1000, 90)}

#: What "variance 10" may mean, as a standard deviation in VMs.
VARIANCES: dict[str, float] = {"variance": 10.0**0.5, "deviation": 10.0}

#: Methods that are compared; all of them give each user one cluster.
METHODS = ("relaxation", "greedy", "mixed_knapsack", "metagreedy", "vector_packing", "exact")

MEAN = 30.0  # VMs that a user wants
DRAWN = 100  # users drawn in each run, of whom the first are taken
HIGH, LOW = 2.0, 1.0  # tariffs


class Instance(NamedTuple):
    """What :func:`fairbook.virtual_cluster` takes, in its order.

    Attributes
    ----------
    max_vms : ndarray of int, shape (n,)
    tolerance : ndarray, shape (n,)
    capacities : ndarray of int, shape (H,)
    """

    max_vms: NDArray[np.int64]
    tolerance: FloatArray
    capacities: NDArray[np.int64]


def cut(rng: np.random.Generator, size: Size) -> NDArray[np.int64]:
    """Give each cluster the least and cut what is left at random points."""
    spare = size.vms - size.clusters * size.least
    cuts = np.sort(rng.integers(0, spare + 1, size.clusters - 1))
    found: NDArray[np.int64] = size.least + np.diff(np.concatenate([[0], cuts, [spare]])).astype(np.int64)
    return found


def requests(rng: np.random.Generator, users: int, variance: str) -> tuple[NDArray[np.int64], FloatArray]:
    """Draw what users want and tolerate, for a hundred at least: the first are the same whatever their number."""
    drawn = max(users, DRAWN)
    wanted = np.rint(rng.normal(MEAN, VARIANCES[variance], drawn))
    tolerance = rng.uniform(0.0, 0.9, drawn)
    return np.maximum(wanted, 1).astype(np.int64)[:users], tolerance[:users]


def instance(rng: np.random.Generator, size: str = "small", users: int = 14, *, variance: str = "variance") -> Instance:
    """Draw the clusters and the users of one run; the first users are the same whatever their number.

    Parameters
    ----------
    rng : numpy.random.Generator
        Of the run.
    size : {"small", "large"}
        5 clusters of 320 VMs or 8 of 1000.
    users : int
        At most 100.
    variance : {"variance", "deviation"}
        What is 10: the variance of the VMs wanted, or their standard deviation.

    Examples
    --------
    >>> from book.common.runs import stream
    >>> instance(stream(1, 0), users=3).capacities.tolist()
    [51, 61, 87, 59, 62]
    """
    choices((size,), "size", tuple(SIZES))
    choices((variance,), "variance", tuple(VARIANCES))
    users = as_whole(users, "users", 1, DRAWN)
    capacities = cut(rng, SIZES[size])
    return Instance(*requests(rng, users, variance), capacities)


#: What :func:`measured` gives.
FIELDS = ("y", "y_served", "everybody", "remaining")


def measured(found: VirtualClusters) -> list[float]:
    """Give the :data:`FIELDS` of an allocation; nobody served counts as a least fraction of 0."""
    served = found.served
    return [
        found.min_fraction,
        found.served_fraction if served.any() else 0.0,
        float(served.all()),
        float(found.slack.sum()),
    ]


def summary(values: FloatArray, digits: int = 12) -> dict[str, float]:
    """Give mean and interval over the runs that are not nan; nan where there is none."""
    values = values[~np.isnan(values)]
    if not len(values):
        return {"mean": np.nan, "low": np.nan, "high": np.nan, "runs": 0}
    return {**interval(values.round(digits)[:, None]).iloc[0], "runs": len(values)}


def load_of(size: str, users: int) -> float:
    """Give what so many users want in the mean, as a part of all VMs."""
    return MEAN * users / SIZES[size].vms
