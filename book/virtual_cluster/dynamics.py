"""Users come and go on five clusters, under the paper's rules and beside them."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from tqdm import tqdm

from book.common.runs import choices, repeat, several, stream
from book.virtual_cluster.settings import HIGH, LOW, MEAN, SEED, SIZES, VARIANCES, cut, summary
from fairbook.mechanisms.virtual_cluster import virtual_cluster
from fairbook.mechanisms.virtual_cluster_pool import VirtualClusterPool
from fairbook.model.inputs import FloatArray, as_number, as_whole

__all__ = ["LOADS", "POLICIES", "Traffic", "course", "dynamic", "traffic_of"]

#: Who is let in and who gets what: rules b (free VMs to the least fraction, or to the largest tolerance as printed) and
#: c (VMs are taken from the largest surplus, or as printed); clusters shared anew at each event; only those who can
#: have all that they want, who keep it; the best static allocation at each moment, with users moved at will.
POLICIES = (
    "gap, surplus",
    "gap, printed",
    "tolerance, surplus",
    "tolerance, printed",
    "reshare",
    "maxima only",
    "optimum, free moves",
)
#: Loads: all that is wanted over all there is.
LOADS = (0.8, 1.2, 1.6, 2.0)
_WARM = 2.0  # stays before anything is measured

_OVER_TIME = ("users", "fraction", "slowdown", "min_fraction", "used", "revenue")


class _Maxima:
    """Let in those who can have all that they want on some cluster, the fullest of these; they keep it."""

    def __init__(self, capacities: NDArray[np.int64]) -> None:
        self.free = capacities.copy()
        self.there: dict[int, tuple[Any, ...]] = {}  # VMs, cluster
        self.taken_back = self.moved = 0

    def arrive(self, user: int, wanted: int, tolerance: float) -> bool:
        fits = np.flatnonzero(self.free >= wanted)
        if not len(fits):
            return False
        cluster = int(fits[self.free[fits].argmin()])
        self.free[cluster] -= wanted
        self.there[user] = wanted, cluster
        return True

    def depart(self, user: int) -> None:
        vms, cluster = self.there.pop(user)
        self.free[cluster] += vms

    def vms(self) -> dict[int, int]:
        """Give the VMs of each user present."""
        return {user: row[0] for user, row in self.there.items()}


class _Optimum(_Maxima):
    """Allocate anew at each event by the exact method; a newcomer is let in if everybody can be served."""

    def _anew(self, asked: dict[int, tuple[Any, ...]]) -> bool:
        """Serve those who ask: VMs, cluster, both as they are, VMs wanted, tolerance."""
        if asked:
            _, _, wanted, tolerance = zip(*asked.values(), strict=True)
            found = virtual_cluster(wanted, tolerance, self.free, node_limit=20_000)
            if not found.served.all():
                return False
            asked = dict(
                zip(asked, zip(found.vms.tolist(), found.cluster.tolist(), wanted, tolerance, strict=True), strict=True)
            )
        for user in self.there.keys() & asked.keys():
            self.taken_back += max(0, self.there[user][0] - asked[user][0])
            self.moved += self.there[user][1] != asked[user][1]
        self.there = asked
        return True

    def arrive(self, user: int, wanted: int, tolerance: float) -> bool:
        return self._anew({**self.there, user: (0, -1, wanted, tolerance)})

    def depart(self, user: int) -> None:
        self._anew({one: row for one, row in self.there.items() if one != user})


class _Rules(VirtualClusterPool):
    """The pool of the three rules."""

    moved = 0

    def vms(self) -> dict[Any, int]:
        return dict(zip(self.users, self.state.vms.tolist(), strict=True)) if len(self) else {}


def _manager(policy: str, capacities: NDArray[np.int64]) -> _Maxima | _Rules:
    if policy in ("maxima only", "optimum, free moves"):
        return (_Maxima if policy == "maxima only" else _Optimum)(capacities)
    give, take = ("gap", "reshare") if policy == "reshare" else policy.split(", ")
    return _Rules(capacities, give=give, take=take)  # type: ignore[arg-type]


class Traffic(NamedTuple):
    """Who comes when, wants what, and stays how long; times in mean stays."""

    capacities: NDArray[np.int64]
    times: FloatArray
    stays: FloatArray
    wanted: NDArray[np.int64]
    tolerance: FloatArray


def traffic_of(rng: np.random.Generator, load: float, stays: float) -> Traffic:
    """Draw arrivals (a Poisson process), stays, and what each wants, on clusters of the small size."""
    capacities = cut(rng, SIZES["small"])
    rate = load * capacities.sum() / MEAN
    count = rng.poisson(rate * stays)
    times = np.sort(rng.uniform(0.0, stays, count))
    wanted = np.maximum(np.rint(rng.normal(MEAN, VARIANCES["variance"], count)), 1).astype(np.int64)
    return Traffic(capacities, times, rng.exponential(1.0, count), wanted, rng.uniform(0.0, 0.9, count))


def _events(traffic: Traffic, policy: str) -> Iterator[tuple[float, bool | None, dict[str, float], Any]]:
    """Run one policy; give after each event: time, whether a newcomer got in (None: a departure), state, manager."""
    manager = _manager(policy, traffic.capacities)
    leaving: list[tuple[float, int]] = []
    for user, time in [*enumerate(traffic.times.tolist()), (-1, np.inf)]:
        while leaving and leaving[0][0] <= time:
            when, one = heapq.heappop(leaving)
            manager.depart(one)
            yield when, None, _now(traffic, manager.vms()), manager
        if user < 0:
            return
        admitted = manager.arrive(user, int(traffic.wanted[user]), float(traffic.tolerance[user]))
        if admitted:
            heapq.heappush(leaving, (time + float(traffic.stays[user]), user))
        yield time, admitted, _now(traffic, manager.vms()), manager


def _now(traffic: Traffic, there: dict[int, int]) -> dict[str, float]:
    """Sum up the users present: number, sums of fraction and of slowdown, least fraction, VMs and revenue a VM."""
    users, total = list(there), int(traffic.capacities.sum())
    if not users:
        return dict.fromkeys(_OVER_TIME, 0.0) | {"min_fraction": 1.0}
    wanted, vms, tolerance = traffic.wanted[users], np.array(list(there.values())), traffic.tolerance[users]
    fraction = vms / wanted
    guaranteed = np.minimum((1 - tolerance) * wanted, vms)
    with np.errstate(divide="ignore"):
        slow = float((1 / fraction).sum())
    return {
        "users": float(len(users)),
        "fraction": float(fraction.sum()),
        "slowdown": slow,
        "min_fraction": float(fraction.min()),
        "used": vms.sum() / total,
        "revenue": float((LOW * vms + (HIGH - LOW) * guaranteed).sum()) / total,
    }


_DYNAMIC = ("admitted", "fraction", "slowdown", "min_fraction", "used", "users", "revenue", "taken", "moved")


def _managed(traffic: Traffic, policy: str, stays: float) -> list[float]:
    """Give the measures of :data:`_DYNAMIC` between the warming up and the last arrival."""
    sums = dict.fromkeys(_OVER_TIME, 0.0)
    state, last, counted, admitted = dict.fromkeys(_OVER_TIME, 0.0) | {"min_fraction": 1.0}, 0.0, 0, 0
    before, after = (0, 0), (0, 0)
    for time, came, now, manager in chain(_events(traffic, policy), [(np.inf, None, state, None)]):
        span = max(0.0, min(time, stays) - max(last, _WARM))
        for name in _OVER_TIME:
            sums[name] += span * state[name]
        if time > stays:
            break
        state, last, after = now, time, (manager.taken_back, manager.moved)
        if time < _WARM:
            before = after
        elif came is not None:
            counted, admitted = counted + 1, admitted + came
    whole = stays - _WARM
    users = max(sums["users"], 1e-300)
    per = max(counted, 1)
    return [
        admitted / per,
        sums["fraction"] / users,
        sums["slowdown"] / users,
        sums["min_fraction"] / whole,
        sums["used"] / whole,
        sums["users"] / whole,
        sums["revenue"] / whole,
        (after[0] - before[0]) / per,
        (after[1] - before[1]) / per,
    ]


def _course_of_all(rng: np.random.Generator, load: float, stays: float, policies: tuple[str, ...]) -> FloatArray:
    traffic = traffic_of(rng, load, stays)
    return np.array([_managed(traffic, policy, stays) for policy in policies])


def dynamic(
    runs: int = 20,
    seed: int = SEED,
    *,
    loads: float | Sequence[float] = LOADS,
    stays: float = 8.0,
    policies: str | Sequence[str] = POLICIES,
    progress: bool = False,
) -> pd.DataFrame:
    """Let users come (a Poisson process) and go (exponential stays) on 5 clusters, under each policy.

    Parameters
    ----------
    runs, seed, progress
        As in :func:`curves`; all policies see the same users.
    loads : float or sequence of float
        VMs that all newcomers together would want on average, divided by VMs.
    stays : float
        Time simulated, in mean stays, of which the first two are not measured: more than 2.
    policies : str or sequence of str
        Some of :data:`POLICIES`.

    Returns
    -------
    DataFrame
        One row per ``load``, ``policy``, ``measure``: ``mean``, ``low``, ``high`` (95 % over runs), ``runs``. Measures:
        ``admitted`` (part of the newcomers), ``fraction`` and ``slowdown`` (mean of VMs / VMs wanted and of its
        inverse, over users present and time), ``min_fraction`` (least fraction, mean over time), ``used`` (part of the
        VMs), ``users`` (number present), ``revenue`` (a unit of time and VM; tariffs 2 and 1), ``taken`` (VMs taken
        back, a newcomer), ``moved`` (users that changed their cluster, a newcomer).
    """
    stays = as_number(stays, "stays", _WARM + 0.5, 1e4)
    chosen = choices(policies, "policies", POLICIES)
    rows: list[dict[str, Any]] = []
    for load in several(loads, "loads", as_number, 0.05, 20.0):
        values = np.stack(
            repeat(
                _course_of_all,
                runs,
                seed=seed,
                progress=progress,
                label=f"dynamic, load {load:g}",
                load=load,
                stays=stays,
                policies=chosen,
            )
        )
        for k, policy in enumerate(chosen):
            rows += [
                {"load": load, "policy": policy, "measure": name, **summary(values[:, k, at])}
                for at, name in enumerate(_DYNAMIC)
            ]
    return pd.DataFrame(rows)


def course(
    seed: int = SEED,
    *,
    run: int = 0,
    load: float = 1.4,
    stays: float = 6.0,
    policies: str | Sequence[str] = ("gap, surplus", "maxima only", "optimum, free moves"),
    progress: bool = False,
) -> pd.DataFrame:
    """Follow one run of :func:`dynamic` over time.

    Returns
    -------
    DataFrame
        One row per ``policy`` and event: ``time`` (in mean stays), ``event`` ("in", "turned away", "out"), and
        afterwards ``users``, ``fraction`` (mean; nan if nobody is there), ``min_fraction``, ``used``, ``revenue`` (a
        unit of time and VM), ``taken`` (VMs taken back so far).
    """
    load, stays = as_number(load, "load", 0.05, 20.0), as_number(stays, "stays", 0.5, 1e4)
    traffic = traffic_of(stream(seed, as_whole(run, "run", 0)), load, stays)
    rows: list[dict[str, Any]] = []
    for policy in tqdm(choices(policies, "policies", POLICIES), desc="course", disable=not progress, leave=False):
        for time, came, now, manager in _events(traffic, policy):
            if time > stays:
                break
            rows.append(
                {
                    "policy": policy,
                    "time": time,
                    "event": "out" if came is None else "in" if came else "turned away",
                    "users": int(now["users"]),
                    "fraction": now["fraction"] / now["users"] if now["users"] else np.nan,
                    "min_fraction": now["min_fraction"] if now["users"] else np.nan,
                    "used": now["used"],
                    "revenue": now["revenue"],
                    "taken": manager.taken_back,
                }
            )
    return pd.DataFrame(rows)
