"""What n users ask of H clusters: virtual machines that they want, and the part of them that may be missing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.model.inputs import (
    RTOL,
    WHOLE,
    FloatArray,
    Names,
    as_floats,
    as_number,
    check_amounts,
    check_fractions,
    check_positive,
    check_switch,
    number_of_dimensions,
    per_user,
    raise_at_first,
)
from fairbook.model.names import in_pandas, labels_of
from fairbook.model.result import labels_or_positions
from fairbook.model.sharing import share_out

#: In place of a cluster: the user is on none, or on several.
TURNED_AWAY, SPANS = -1, -2

MOST_VMS = 10**9


@dataclass(frozen=True, eq=False)
class Requests:
    """What n users ask of H physical clusters; checked. Build one with :func:`as_requests`.

    Attributes
    ----------
    max_vms : ndarray, shape (n,)
        VMs that each user wants: alpha.
    tolerance : ndarray, shape (n,)
        Part of them that may be missing, in [0, 1]: k.
    capacities : ndarray, shape (H,)
        VMs that each cluster holds: C.
    whole : bool
        Whether VMs are whole; all three arrays of numbers of VMs are int64 then, float64 otherwise (or of fractions,
        for the rule).
    named_users, named_clusters : tuple or None
        Labels, where the caller gave some.
    """

    max_vms: NDArray[Any]
    tolerance: FloatArray
    capacities: NDArray[Any]
    whole: bool = True
    named_users: Names | None = None
    named_clusters: Names | None = None

    def __len__(self) -> int:
        return len(self.max_vms)

    @property
    def users(self) -> Names:
        return labels_or_positions(self.named_users, len(self))

    @property
    def clusters(self) -> Names:
        return labels_or_positions(self.named_clusters, len(self.capacities))

    @cached_property
    def minimum(self) -> NDArray[Any]:
        """VMs that each user must have, shape (n,): (1 - k) alpha, rounded up where VMs are whole."""
        return self.sizes(0.0)

    def fits(self, vms: Any, room: Any) -> Any:
        """Whether so many VMs fit into this room, one by one where they are arrays."""
        return vms <= (room * (1 + RTOL) if self.max_vms.dtype == float else room)

    def sizes(self, fraction: float) -> NDArray[Any]:
        """VMs that give everybody this fraction of its request and at least its minimum, shape (n,)."""
        least = np.maximum(1 - self.tolerance, fraction) * self.max_vms
        return _up(least, self.max_vms) if self.whole else np.minimum(least, self.max_vms)

    @cached_property
    def pooled(self) -> NDArray[Any]:
        """Max-min fair VMs if all clusters were one, shape (n,); zeros where the minima do not fit even so."""
        if not self.fits(self.minimum.sum(), self.capacities.sum()):
            return np.zeros_like(self.max_vms)
        return share_out(self.minimum, self.max_vms, self.capacities.sum(), self.whole)

    @cached_property
    def bound(self) -> float:
        """No allocation with one cluster a user has a larger least fraction than this. Cost O(n log n).

        The lesser of what a single cluster of the same total capacity would give (the optimum of the linear
        relaxation of (1) to (5)) and of what the largest cluster could give each user alone. 0 where some minimum
        cannot be met.
        """
        largest = self.capacities.max()
        if not self.fits(self.minimum.max(), largest):
            return 0.0
        alone = np.minimum(1.0, largest / self.max_vms)
        return float(min((self.pooled / self.max_vms).min(), alone.min()))

    def only(self, chosen: Any, capacities: NDArray[Any] | None = None) -> Requests:
        """Give the same for some of the users, by mask or positions, and maybe for other capacities. Names go."""
        return Requests(
            self.max_vms[chosen],
            self.tolerance[chosen],
            self.capacities if capacities is None else capacities,
            self.whole,
        )


def _up(values: NDArray[Any], most: NDArray[Any]) -> NDArray[Any]:
    if values.dtype == object:
        return -(-values // 1)
    return np.ceil(values - np.maximum(WHOLE, 1e-15 * most)).astype(np.int64)  # rounding errors grow with the request


def as_requests(max_vms: Any, tolerance: Any, capacities: Any, whole: bool = True) -> Requests:
    """Check requests and clusters.

    Parameters
    ----------
    max_vms : array_like or Series, shape (n,)
        VMs wanted, positive; whole numbers up to 10^9 unless ``whole=False``. A Series' index names the users.
    tolerance : array_like or Series, shape (n,), or one number
        Part of the VMs that may be missing, from 0 (none) to 1 (all: the user may be suspended).
    capacities : array_like or Series, shape (H,)
        VMs that each physical cluster holds, not negative, not all zero. Rounded down to whole VMs unless
        ``whole=False``. A Series' index names the clusters.
    whole : bool
        Whether VMs are whole.

    Raises
    ------
    InvalidInput
        Naming argument, rule and value.

    Examples
    --------
    >>> asked = as_requests([10, 20], [0.5, 0.25], [12, 20])
    >>> asked.minimum, asked.bound
    (array([ 5, 15]), 1.0)
    """
    whole = check_switch(whole, "whole")
    max_vms, tolerance = in_pandas(max_vms, "max_vms"), in_pandas(tolerance, "tolerance")
    capacities = in_pandas(capacities, "capacities")
    users = labels_of(max_vms.index, "max_vms.index") if isinstance(max_vms, pd.Series) else None
    clusters = labels_of(capacities.index, "capacities.index") if isinstance(capacities, pd.Series) else None
    wanted = as_floats(max_vms, "max_vms", (1,), "must have shape (n,), one number of VMs a user")
    if not len(wanted):
        raise InvalidInput("max_vms", "must have at least one user", [])
    check_positive(wanted, "max_vms")
    room = as_floats(capacities, "capacities", (1,), "must have shape (H,), one number of VMs a cluster")
    if not len(room):
        raise InvalidInput("capacities", "must have at least one cluster", [])
    check_amounts(room, "capacities")
    if number_of_dimensions(tolerance) == 0:
        part = np.full(len(wanted), as_number(tolerance, "tolerance", 0.0, 1.0))
    else:
        part = per_user(tolerance, len(wanted), users, "tolerance")
        check_fractions(part, "tolerance")
    if whole:
        raise_at_first(wanted != np.floor(wanted), "max_vms", "must be whole unless whole=False", wanted)
        raise_at_first(wanted > MOST_VMS, "max_vms", f"must be at most {MOST_VMS:g}", wanted)
        raise_at_first(room > MOST_VMS, "capacities", f"must be at most {MOST_VMS:g}", room)
        wanted, room = wanted.astype(np.int64), np.floor(room + WHOLE).astype(np.int64)
    if not (room > 0).any():
        raise InvalidInput("capacities", "must hold at least one VM somewhere", np.asarray(room).tolist())
    return Requests(wanted, part, room, whole, users, clusters)
