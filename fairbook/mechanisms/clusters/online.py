"""Virtual clusters that come and go: the three dynamic rules of the pricing policy (Liu et al., section 1.2).

* a: the minima come first. A newcomer is admitted if some cluster can hold its minimum beside the minima there.
* b: free VMs go to those who tolerate most.
* c: if the minimum of a newcomer does not fit beside what is handed out, those give back first that have the largest
  distance between what they have and what they must have.

Nobody moves to another cluster. Rule b is implemented as printed and, beside it, for the least fraction, which is what
the static algorithms do; rule c with the sign that it needs and as printed.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fairbook.errors import InvalidInput
from fairbook.model.clusters import IntArray, VirtualClusters
from fairbook.model.inputs import as_number, check_newcomer
from fairbook.model.instance import checks_choices
from fairbook.model.requests import MOST_VMS, Requests, as_requests
from fairbook.model.result import position
from fairbook.model.sharing import share_out

__all__ = ["VirtualClusterPool"]

Give = Literal["gap", "tolerance"]
Take = Literal["surplus", "printed", "reshare"]
Pick = Literal["least_wanted", "free"]


@dataclass
class _Tenant:
    """One user: its request, and what it has."""

    max_vms: int
    tolerance: float
    minimum: int
    cluster: int
    vms: int = 0

    def owes(self, take: str) -> float:
        """How far up the list of those who give back this one is."""
        if take == "printed":
            return self.vms / self.max_vms - self.tolerance
        return (self.vms - self.minimum) / self.max_vms

    def waits(self, give: str) -> float:
        """How far up the list of those who get free VMs this one is."""
        return self.tolerance if give == "tolerance" else -self.vms / self.max_vms


class VirtualClusterPool:
    """Physical clusters on which whole virtual clusters arrive and depart. ``pickle`` saves and restores them.

    Parameters
    ----------
    capacities : array_like or Series, shape (H,)
        VMs that each cluster holds, as for :func:`fairbook.virtual_cluster`.
    give : {"gap", "tolerance"}
        Rule b: free VMs go one by one to the least fraction, or (as printed) to the largest tolerance.
    take : {"surplus", "printed", "reshare"}
        Rule c: VMs for a newcomer's minimum come one by one from the largest (vms - minimum) / max_vms; or (as printed)
        from the largest vms / max_vms - tolerance of those above their minimum; or the newcomer's cluster is shared
        anew, max-min fairly, which takes more back than the minimum needs. ``"reshare"`` does the same when somebody
        departs, and makes ``give`` idle.
    pick : {"least_wanted", "free"}
        The cluster of a newcomer, among those that can hold its minimum: where all that is wanted, with the newcomer,
        is the smallest part of the capacity, or where most VMs are free.

    Attributes
    ----------
    taken_back : int
        VMs that users had to give back so far.
    turned_away : int
        Newcomers that were not admitted so far.

    Raises
    ------
    InvalidInput
        Naming argument, rule and value.

    Notes
    -----
    Ties go to the first cluster and to the user that has been there longest (where a cluster is shared anew, to who
    asked for fewer VMs before that).

    An arrival costs O(n + H + v t) and a departure O(n + v t), for n users present and v VMs that change hands on a
    cluster with t users: about a microsecond for each VM and user, so clusters of some 10^5 VMs are the practical limit
    (not with ``take="reshare"``: O(n + H) and the sharing out). An interruption (Ctrl-C) in the midst may leave the
    pool between two states: a ``copy.deepcopy`` beforehand is the way back. A pool belongs to one thread.

    Examples
    --------
    >>> pool = VirtualClusterPool([10])
    >>> pool.arrive("ann", 8, 0.5), pool.arrive("bob", 6, 0.5), pool.arrive("cat", 9, 0.5)
    (True, True, False)
    >>> pool.state.to_frame()["vms"].to_dict(), pool.taken_back
    ({'ann': 7, 'bob': 3}, 1)
    >>> pool.depart("ann")
    >>> pool.state.vms
    array([6])
    """

    @checks_choices
    def __init__(
        self, capacities: Any, *, give: Give = "gap", take: Take = "surplus", pick: Pick = "least_wanted"
    ) -> None:
        asked = as_requests([1], 0.0, capacities)
        self._capacities: IntArray = asked.capacities
        self._clusters = asked.named_clusters
        self.give, self.take, self.pick = give, take, pick
        self._tenants: dict[Hashable, _Tenant] = {}
        self.taken_back = 0
        self.turned_away = 0

    def __len__(self) -> int:
        return len(self._tenants)

    def __repr__(self) -> str:
        used = sum(tenant.vms for tenant in self._tenants.values())
        return f"VirtualClusterPool({len(self)} users, {used} of {int(self._capacities.sum())} VMs)"

    @property
    def users(self) -> tuple[Hashable, ...]:
        """Those present, the longest first."""
        return tuple(self._tenants)

    @property
    def capacities(self) -> IntArray:
        return self._capacities.copy()

    @property
    def state(self) -> VirtualClusters:
        """Who has what now. ``bound`` is that of moving everybody at will.

        Raises
        ------
        InvalidInput
            Where nobody is there.
        """
        if not self._tenants:
            raise InvalidInput("pool", "must have a user before its state can be shown", "nobody is there")
        there = self._tenants.values()
        asked = Requests(
            np.array([t.max_vms for t in there]),
            np.array([t.tolerance for t in there]),
            self._capacities.copy(),
            True,
            self.users,
            self._clusters,
        )
        return VirtualClusters(
            asked,
            np.array([t.vms for t in there]),
            np.array([t.cluster for t in there]),
            "virtual_cluster_pool",
            asked.bound,
        )

    def arrive(self, user: Hashable, max_vms: int, tolerance: float) -> bool:
        """Let a user in if its minimum can be met, and say whether it was.

        Parameters
        ----------
        user : hashable
        max_vms : int
            VMs that it wants, from 1 to 10^9.
        tolerance : float
            Part of them that may be missing, from 0 to 1.

        Raises
        ------
        InvalidInput
            Where the user is there already, or the request is none.
        """
        check_newcomer(user, self._tenants)
        wanted = as_number(max_vms, "max_vms", 1, MOST_VMS)
        if wanted != int(wanted):
            raise InvalidInput("max_vms", "must be whole", wanted)
        asked = as_requests([wanted], as_number(tolerance, "tolerance", 0.0, 1.0), self._capacities)
        new = _Tenant(int(asked.max_vms[0]), float(asked.tolerance[0]), int(asked.minimum[0]), -1)
        new.cluster = self._cluster_for(new)
        if new.cluster < 0:
            self.turned_away += 1
            return False
        self._tenants[user] = new
        self._rearrange(new.cluster, new)
        return True

    def depart(self, user: Hashable) -> None:
        """Let a user go; its VMs go to those on the same cluster.

        Raises
        ------
        InvalidInput
            Where no user has that name.
        """
        there = self.users
        self._rearrange(self._tenants.pop(there[position(user, there)]).cluster)

    def _cluster_for(self, new: _Tenant) -> int:
        """Rule a and the choice among the clusters that it leaves; -1 where it leaves none."""
        room = self._capacities.copy()
        wanted, free = np.zeros(len(room)), room.copy()
        for tenant in self._tenants.values():
            room[tenant.cluster] -= tenant.minimum
            wanted[tenant.cluster] += tenant.max_vms
            free[tenant.cluster] -= tenant.vms
        open_ones = np.flatnonzero((room >= new.minimum) & (self._capacities > 0))
        if not len(open_ones):
            return -1
        value = (
            (wanted + new.max_vms)[open_ones] / self._capacities[open_ones]
            if self.pick == "least_wanted"
            else -free[open_ones]
        )
        return int(open_ones[value.argmin()])

    def _rearrange(self, cluster: int, new: _Tenant | None = None) -> None:
        """Rules c and b on one cluster, after somebody came or went."""
        here = [tenant for tenant in self._tenants.values() if tenant.cluster == cluster]
        if self.take == "reshare":
            if here:
                vms = share_out(
                    np.array([t.minimum for t in here]), np.array([t.max_vms for t in here]), self._capacities[cluster]
                )
                for tenant, number in zip(here, vms.tolist(), strict=True):
                    self.taken_back += max(0, tenant.vms - number)
                    tenant.vms = number
            return
        free = int(self._capacities[cluster]) - sum(tenant.vms for tenant in here)
        if new is not None:
            while free < new.minimum:
                giver = max((t for t in here if t.vms > t.minimum), key=lambda t: t.owes(self.take))
                giver.vms -= 1
                free += 1
                self.taken_back += 1
            new.vms = new.minimum
            free -= new.minimum
        while free > 0 and (waiting := [t for t in here if t.vms < t.max_vms]):
            max(waiting, key=lambda t: t.waits(self.give)).vms += 1
            free -= 1
