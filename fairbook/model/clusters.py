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

from fairbook.model.inputs import (
    RTOL,
    WHOLE,
    FloatArray,
    IntArray,
    Names,
    as_number,
    as_tolerance,
)
from fairbook.model.requests import SPANS, TURNED_AWAY, Requests, as_requests
from fairbook.model.result import Result, called, labelled, position, unsound
from fairbook.model.sharing import share_each, share_out

__all__ = ["SPANS", "TURNED_AWAY", "Requests", "VirtualClusters", "as_requests", "share_each", "share_out"]


#: Methods that share each cluster max-min fairly among who lives there.
_SHARING = ("relaxation", "greedy", "metagreedy", "vector_packing", "exact")


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
    def _placed(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[Any]]:
        """User, cluster and VMs of each piece, those of users on one cluster among them."""
        if self.pieces is not None:
            user, cluster = self.pieces[:, :2].astype(np.intp).T
            return user, cluster, self.pieces[:, 2].astype(self.vms.dtype)
        user = np.flatnonzero(self.served)
        return user, self.cluster[user].astype(np.intp), self.vms[user]

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
        if found := unsound(self):
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
