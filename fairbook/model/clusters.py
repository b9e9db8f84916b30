"""Virtual clusters on physical ones: requests with a tolerated slowdown, and who gets how many virtual machines where.

A user asks for a number of equal virtual machines (VMs), tolerates that a part of them is missing, and lives on one
physical cluster. What it has, as a part of what it asked for, is its *fraction*; the paper calls it the degree of
slowdown, though more of it is better. The *minimum* is what the user must have. A user whose minimum fits nowhere is
turned away: it has no cluster and no VM.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbook.errors import InvalidInput
from fairbook.kernels import kernel
from fairbook.model.inputs import (
    FloatArray,
    IntArray,
    Names,
    as_floats,
    as_number,
    as_tolerance,
    check_amounts,
    check_fractions,
    check_positive,
    check_switch,
    number_of_dimensions,
    per_user,
    raise_at_first,
)
from fairbook.model.names import in_pandas, labels_of
from fairbook.model.result import Result, called, labelled, labels_or_positions, position, unsound

__all__ = ["SPANS", "TURNED_AWAY", "Requests", "VirtualClusters", "as_requests", "share_each", "share_out"]


#: In place of a cluster: the user is on none, or on several.
TURNED_AWAY, SPANS = -1, -2

#: VMs are whole up to this part of one: (1 - 0.9) 30 is 3, though floats make it a little more.
WHOLE = 1e-9

#: Fractions and capacities are compared with this tolerance where VMs are not whole.
RTOL = 1e-9

MOST_VMS = 10**9

#: Methods that share each cluster max-min fairly among who lives there.
_SHARING = ("relaxation", "greedy", "metagreedy", "vector_packing", "exact")


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


# -------------------------------------------------------------------------------------- one cluster among its users


def _bisected(least: Any, *_: Any) -> float:
    """Steps of sharing out clusters: 60 halvings, and as much again for the last VMs."""
    return 100.0 * len(least)


@kernel(_bisected)
def _share_whole(least: Any, most: Any, capacity: int) -> Any:
    """Hand out VMs one by one to the user with the least fraction; most of them at one go, by bisection.

    The level found is taken a hair lower: whoever stands there has, in exact numbers too, no VM too many.
    """
    n = len(least)
    vms = least.copy()
    if most.sum() <= capacity:
        return most.copy()
    low, high = 0.0, 1.0
    for _ in range(60):
        level = 0.5 * (low + high)
        total = 0
        for i in range(n):
            total += max(least[i], np.int64(np.ceil(level * most[i])))
        if total <= capacity:
            low = level
        else:
            high = level
    free = capacity
    for i in range(n):
        vms[i] = max(least[i], np.int64(np.ceil((low - 1e-9) * most[i])))
        free -= vms[i]
    while free > 0:
        poorest = -1
        for i in range(n):
            if vms[i] < most[i]:
                ahead = -1 if poorest < 0 else vms[i] * most[poorest] - vms[poorest] * most[i]
                if ahead < 0 or (ahead == 0 and most[i] < most[poorest]):
                    poorest = i
        if poorest < 0:
            break
        held = vms[poorest]
        for i in range(poorest, n):  # all who stand where the poorest does and want as much, at one go
            if free > 0 and most[i] == most[poorest] and vms[i] == held:
                vms[i] += 1
                free -= 1
    return vms


@kernel(_bisected)
def share_each(least: Any, most: Any, capacities: Any, order: Any, cuts: Any, vms: Any) -> None:
    """Share every cluster in whole VMs: those of ``order`` from ``cuts[j]`` on live on cluster j."""
    for j in range(len(capacities)):
        if cuts[j] < cuts[j + 1]:
            here = order[cuts[j] : cuts[j + 1]]
            vms[here] = _share_whole(least[here], most[here], capacities[j])


def _share_fluid(least: NDArray[Any], most: NDArray[Any], capacity: Any) -> NDArray[Any]:
    """Raise everybody to one level, but for those whose minimum is above it."""
    rising = np.ones(len(most), bool)
    while rising.any():
        level = min((capacity - least[~rising].sum()) / most[rising].sum(), 1)
        above = rising & (least > level * most)
        if not above.any():
            break
        rising &= ~above
    return np.where(rising, level * most, least) if rising.any() else least.copy()


def _share_one_by_one(least: NDArray[Any], most: NDArray[Any], capacity: Any) -> NDArray[Any]:
    """Give one VM at a time to the least fraction; ties: who wants fewest, then the first."""
    vms, users = least.copy(), range(len(most))
    for _ in range(int(capacity - sum(vms))):
        if waiting := [i for i in users if vms[i] < most[i]]:
            vms[min(waiting, key=lambda i: (vms[i] / most[i], most[i]))] += 1
    return vms


def share_out(least: NDArray[Any], most: NDArray[Any], capacity: Any, whole: bool = True) -> NDArray[Any]:
    """Share one cluster max-min fairly among its users: least <= vms <= most, fractions vms / most as equal as can be.

    Whole VMs (int64, or arrays of fractions with ``whole``) go one by one to the user with the least fraction (ties:
    who asked for fewer, whom a VM lifts more, then the first), which makes the sorted fractions lexicographically
    largest; amounts that are not whole are poured to one level. The minima must fit.

    Cost O(60 n), and O(n) more for each distinct request among those who share the last VMs; where VMs are not whole,
    O(n) for each time that minima are found above the level, n times at most; in fractions O(n) a VM.

    Examples
    --------
    >>> share_out(np.array([1, 6, 0]), np.array([10, 10, 20]), 15)
    array([3, 6, 6])
    """
    if least.dtype.kind == "i":
        return _share_whole(least, most, int(capacity))
    if least.dtype == object and whole:
        return _share_one_by_one(least, most, capacity)
    return _share_fluid(least, most, capacity)


# ------------------------------------------------------------------------------------------------------ the result


def unproved(sizes: NDArray[Any], capacities: NDArray[Any]) -> bool | None:
    """Leave it open whether sizes pack."""
    return None


@dataclass(frozen=True, eq=False, repr=False)
class VirtualClusters(Result):
    """VMs of n users on H clusters.

    Attributes
    ----------
    requests : Requests
    vms : ndarray, shape (n,)
        VMs of each user, int64 where VMs are whole.
    cluster : ndarray of int64, shape (n,)
        Cluster of each user; -1 where it was turned away, -2 where it is on several.
    method : str
    bound : float
        No allocation under the same rules (one cluster a user, unless the method spans) has a larger ``min_fraction``,
        as far as the method has proved.
    nodes : int
        Places tried by the searches of the exact method.
    pieces : ndarray of shape (p, 3), or None
        User, cluster and VMs of each piece, where users may be on several clusters.
    packs : callable
        Says whether sizes pack into clusters, None where that stays open: what judges the bound.

    Examples
    --------
    >>> import fairbook as fb
    >>> r = fb.virtual_cluster([4, 4, 4], 0.5, [6, 5])
    >>> r.vms, r.cluster, r.min_fraction, r.optimal
    (array([3, 4, 3]), array([0, 1, 0]), 0.75, True)
    """

    requests: Requests
    vms: NDArray[Any]
    cluster: IntArray
    method: str
    bound: float
    nodes: int = 0
    pieces: NDArray[Any] | None = None
    packs: Callable[[NDArray[Any], NDArray[Any]], bool | None] = unproved

    names = ("users", "clusters")
    arrays: ClassVar[dict[str, str]] = {
        "requests.max_vms": "n size",
        "requests.tolerance": "n part",
        "requests.capacities": "h amount",
        "vms": "n number",
        "cluster": "n place",
        "bound": " number",
        "pieces": "p3 amount",
    }

    @property
    def users(self) -> Names:
        return self.requests.users

    @property
    def clusters(self) -> Names:
        return self.requests.clusters

    @property
    def resources(self) -> Names:
        """The clusters: ``use`` and ``slack`` are of them."""
        return self.clusters

    @property
    def served(self) -> NDArray[np.bool_]:
        """Who was not turned away, shape (n,)."""
        return self.cluster != TURNED_AWAY

    @property
    def fraction(self) -> FloatArray:
        """VMs divided by VMs wanted, shape (n,): 1 is no slowdown."""
        return self.vms / self.requests.max_vms

    @property
    def min_fraction(self) -> float:
        """The least fraction, Y of (5); 0 where somebody was turned away."""
        return float(self.fraction.min())

    @property
    def served_fraction(self) -> float:
        """The least fraction of those that were served; nan where nobody was."""
        return float(self.fraction[self.served].min()) if self.served.any() else float("nan")

    @property
    def optimal(self) -> bool:
        """Whether no allocation under the same rules has a larger least fraction, as far as was proved."""
        return self.min_fraction >= self.bound * (1 - RTOL)

    @property
    def open_question(self) -> str:
        """What the exact search left open when it gave up; empty where it did not."""
        if self.optimal or self.method != "exact":
            return ""
        return f"the search gave up after {self.nodes} nodes: at most {self.bound:.6g} may be possible"

    def _title(self) -> str:
        return "; ".join([super()._title(), *filter(None, [self.open_question])])

    @property
    def _placed(self) -> tuple[IntArray, IntArray, NDArray[Any]]:
        """User, cluster and VMs of each piece, those of users on one cluster among them."""
        if self.pieces is not None:
            user, cluster = self.pieces[:, :2].astype(np.int64).T
            return user, cluster, self.pieces[:, 2].astype(self.vms.dtype)
        user = np.flatnonzero(self.served)
        return user, self.cluster[user], self.vms[user]

    @cached_property
    def by_cluster(self) -> NDArray[Any]:
        """VMs of each user on each cluster, shape (n, H): a_ij."""
        table = np.zeros((len(self.vms), len(self.requests.capacities)), self.vms.dtype)
        user, cluster, vms = self._placed
        np.add.at(table, (user, cluster), vms)
        return table

    @property
    def use(self) -> NDArray[Any]:
        """VMs in use on each cluster, shape (H,)."""
        _, cluster, vms = self._placed
        return np.bincount(cluster, vms, minlength=len(self.requests.capacities)).astype(self.vms.dtype)

    @property
    def slack(self) -> NDArray[Any]:
        """VMs free on each cluster, shape (H,)."""
        left = self.requests.capacities - self.use
        return left if self.requests.whole else np.maximum(left, 0.0)

    def cost(self, high: float = 2.0, low: float = 1.0) -> FloatArray:
        """What each user pays a unit of time, shape (n,): (1 - k) alpha VMs at the high tariff, more at the low.

        Section 1.2; a user that was turned away pays nothing. Whole or not, the guaranteed part is (1 - k) alpha.
        """
        high = as_number(high, "high", 0.0)
        low = as_number(low, "low", 0.0, high)
        guaranteed = np.minimum((1.0 - self.requests.tolerance) * self.requests.max_vms, self.vms)
        return high * guaranteed + low * (self.vms - guaranteed)

    def to_frame(self) -> pd.DataFrame:
        """Give one row a user: VMs wanted, minimum, VMs, fraction, cluster (by name; empty where turned away)."""
        names = {TURNED_AWAY: "", SPANS: "several", **dict(enumerate(self.clusters))}
        return pd.DataFrame(
            {
                "max_vms": self.requests.max_vms,
                "minimum": self.requests.minimum,
                "vms": self.vms,
                "fraction": self.fraction,
                "cluster": [names[j] for j in self.cluster.tolist()],
            },
            index=labelled(self.users, "user"),
        )

    def cluster_frame(self) -> pd.DataFrame:
        """Give one row a cluster: capacity, users on it, VMs in use and free, least fraction on it (nan if nobody)."""
        H = len(self.requests.capacities)
        user, on, _ = self._placed
        least = np.full(H, np.inf)
        np.minimum.at(least, on, self.fraction[user])
        return pd.DataFrame(
            {
                "capacity": self.requests.capacities,
                "users": np.bincount(on, minlength=H),
                "use": self.use,
                "slack": self.slack,
                "min_fraction": np.where(np.isinf(least), np.nan, least),
            },
            index=labelled(self.clusters, "cluster"),
        )

    def explain(self, user: Hashable) -> str:
        """Say in a sentence why this user has no more VMs; of who has least, also what the search left open.

        Raises
        ------
        InvalidInput
            Where no user has that name.
        """
        i = position(user, self.users)
        rest = self.open_question if self.fraction[i] == self.min_fraction else ""
        return f"{called(user)} {self._why(i)}." + (f" No fraction is smaller; {rest}." if rest else "")

    def _why(self, i: int) -> str:
        wanted, minimum, j = self.requests.max_vms[i], self.requests.minimum[i], int(self.cluster[i])
        if j == TURNED_AWAY:
            where = "all clusters together have fewer" if self.pieces is not None else "no cluster has as many"
            on = "" if self.pieces is not None else " on one cluster"
            return (
                f"was turned away: it needs at least {minimum:g} VMs{on}, and {where} to give, "
                "after the minima of the users that were served"
            )
        has = f"has {self.vms[i]:g} of {wanted:g} VMs ({self.fraction[i]:.1%})"
        if self.vms[i] >= wanted:
            return f"{has}: all that it asked for"
        if j == SPANS:
            return f"{has} on several clusters, which are used up"
        name, free = called(self.clusters[j], "cluster"), self.slack[j]
        if free > (0 if self.requests.whole else RTOL * self.requests.capacities[j]):
            return f"{has} on {name}, where {free:g} VMs are free that {self.method} does not hand out"
        if self.vms[i] <= minimum * (1 + RTOL) and (self.fraction[self.cluster == j] < self.fraction[i]).any():
            return f"{has} on {name}, its minimum: others there have a smaller fraction, and {name} is used up"
        return f"{has} on {name}, which is used up"

    @property
    def certificate(self) -> str:
        """What an empty list of ``violations()`` says."""
        if self.method == "exact":
            return "repeated: VMs fit and are shared fairly, and the same search again finds no larger least fraction"
        shared = ", each cluster is shared fairly" if self.method in _SHARING else ""
        return f"consistent: VMs fit, nobody has less than its minimum{shared}, and the bound holds"

    def violations(self, rtol: float = RTOL) -> list[str]:
        """List every way in which this breaks (1) to (4), where users that were turned away have nothing.

        Who lives on one cluster must share it max-min fairly, but for ``"mixed_knapsack"``, which does not promise it:
        all is handed out, and no VM could go to somebody with a smaller fraction. The ``bound`` must hold: VMs for more
        than that do not fit if counted; or else are not found to pack within a million nodes of the same search that
        the mechanism uses. Where that stays open, the bound is unproved, and no violation. Cost O(n + n log n + H), and
        of the search.
        """
        rtol = as_tolerance(rtol)
        asked, users, clusters = self.requests, self.users, self.clusters
        found = unsound(self)
        if found:
            return found
        lowest = TURNED_AWAY if self.pieces is None else SPANS
        placed = [(self.cluster, lowest, len(clusters), "cluster")]
        if self.pieces is not None:
            ends = (len(users), "user"), (len(clusters), "cluster")
            placed += [(one, 0, *end) for one, end in zip(self.pieces.T[:2], ends, strict=True)]
        found = [
            f"there is no {what} {k:g}"
            for given, low, high, what in placed
            for k in np.unique(given[~((given >= low) & (given < high) & (given == np.floor(given)))]).tolist()
        ]
        if found:
            return found
        slack = 0.0 if asked.whole else rtol
        found = [
            f"cluster {clusters[j]} holds {self.use[j]:g} of {asked.capacities[j]:g} VMs"
            for j in np.flatnonzero(~(self.use <= asked.capacities * (1 + slack))).tolist()
        ]
        total = np.bincount(self._placed[0], self._placed[2], minlength=len(self.vms))
        for wrong, text in (
            (self.vms > asked.max_vms * (1 + slack), "{0} has {1:g} VMs, more than the {2:g} it wants"),
            (
                self.served & ~(self.vms >= asked.minimum * (1 - slack)),
                "{0} has {1:g} VMs, fewer than its minimum {3:g}",
            ),
            (~self.served & (self.vms != 0), "{0} was turned away and has {1:g} VMs"),
            (
                (self.pieces is not None) & ~(np.abs(total - self.vms) <= slack * asked.max_vms),
                "the pieces of {0} do not add up to its {1:g} VMs",
            ),
        ):
            found += [
                text.format(users[i], self.vms[i], asked.max_vms[i], asked.minimum[i])
                for i in np.flatnonzero(wrong).tolist()
            ]
        return found or [*self._unfair(slack), *self._above_the_bound(max(rtol, RTOL))]

    def _unfair(self, slack: float) -> Iterator[str]:
        """Say who has VMs that others on its cluster should have, or waits for VMs that are free.

        A VM must not go from a user to one that has less even with it, nor, if both then stand alike, to one that asked
        for fewer, whom it lifts more. VMs that are not whole must not go to anybody that has less.
        """
        asked, one = self.requests, int(self.requests.whole)
        for j in range(len(asked.capacities)) if self.method in _SHARING else ():
            here = np.flatnonzero(self.cluster == j)
            vms, least, most = self.vms[here], asked.minimum[here], asked.max_vms[here]
            waiting = np.flatnonzero(vms < most * (1 - slack))
            if len(waiting):
                poorest = waiting[np.lexsort((most[waiting], vms[waiting] / most[waiting]))[0]]
                with_it, without = vms[poorest] * most, (vms - one) * most[poorest]
                ahead = (without > with_it) | ((without == with_it) & (most > most[poorest]) & asked.whole)
                if not asked.whole:
                    ahead = vms / most > vms[poorest] / most[poorest] + slack
                wrong = ahead & (vms > least * (1 + slack))
                wrong[poorest] |= vms.sum() < asked.capacities[j] * (1 - slack)
                for i in here[wrong].tolist():
                    yield f"{self.users[i]} has {self.vms[i]:g} VMs, which is not its fair part of {self.clusters[j]}"

    def _above_the_bound(self, rtol: float) -> Iterator[str]:
        """Say what is above the bound: what is reached, or what could be."""
        asked, bound = self.requests, self.bound
        if not bound >= self.min_fraction * (1 - rtol):
            yield f"the least fraction is {self.min_fraction:.12g}, and cannot be more than {bound:.12g}"
            return
        more = np.floor(bound * asked.max_vms + WHOLE) + 1  # the least that is above
        above = bound + rtol * min(1.0, float(asked.capacities.sum() / asked.max_vms.sum()))
        sizes = np.maximum(asked.minimum, more) if asked.whole else np.maximum(asked.minimum, above * asked.max_vms)
        room = asked.capacities.sum() * (1 if asked.whole else 1 - 1e-3 * rtol)  # not what rounding makes of it
        fits = (sizes <= asked.max_vms).all() and sizes.sum() <= room
        if self.method == "spanning":
            if fits:
                yield f"more than {bound:.12g} can be had: the VMs for it fit"
        elif (
            fits
            and sizes.max() <= asked.capacities.max()
            and self.packs(sizes.astype(self.vms.dtype), asked.capacities)
        ):
            yield f"more than {bound:.12g} can be had: the VMs for it pack"
