"""One instance for all mechanisms, and what each makes of it.

The papers ask different things of different models. Here all mechanisms get the same users, periods and machines:

* every user brings a copy of the same *block* of machines, so all are entitled to the same, and one n-th of the pool is
  a block; further machines may belong to nobody;
* in every period every user has tasks of one kind, and runs at most a given number of them; what is not run is lost.

Mechanisms that know one pool see all machines merged and hand out fractions of it; the others place whole tasks. What a
user has is worth the dominant share that its tasks hold; the tasks of several periods are added up by it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairbook.mechanisms import registry
from fairbook.mechanisms.clusters import virtual_cluster
from fairbook.mechanisms.credit import cbdrf, karma
from fairbook.mechanisms.placing import drfh, gdrf, mdrf, per_server_drf
from fairbook.mechanisms.pool import dmfa_srq, drf, sequential_minmax
from fairbook.mechanisms.readings import Held
from fairbook.mechanisms.tv_drf import tv_drf
from fairbook.model.inputs import FloatArray
from fairbook.model.placement import FITS, Placement

#: Relative difference below which two numbers of tasks count as equal: far above rounding, far below any finding.
TOLERANCE = 1e-6
_RACKS = 4


def listed(values: FloatArray) -> str:
    return "(" + ", ".join(f"{v:g}" for v in values) + ")"


@dataclass(frozen=True, eq=False)
class Shared:
    """Users, periods and machines.

    Attributes
    ----------
    demands : ndarray, shape (T, n, m)
        Resource per task; not negative, at least one positive entry a row.
    tasks : ndarray, shape (T, n)
        Tasks that each user can use, whole numbers.
    block : ndarray, shape (b, m)
        Machines that each user brings.
    slot : ndarray, shape (m,)
        What a slot holds, for the mechanism that knows slots only; set by the operator, not by users.
    extra : ndarray, shape (e, m)
        Machines of nobody.
    """

    demands: FloatArray
    tasks: FloatArray
    block: FloatArray
    slot: FloatArray
    extra: FloatArray

    @cached_property
    def machines(self) -> FloatArray:
        """All machines, user after user, then those of nobody, shape (n b + e, m)."""
        return np.concatenate([np.tile(self.block, (self.demands.shape[1], 1)), self.extra])

    @cached_property
    def total(self) -> FloatArray:
        """Capacity of all machines together, shape (m,)."""
        return self.machines.sum(axis=0)

    @cached_property
    def unit(self) -> FloatArray:
        """Dominant share of one task, shape (T, n)."""
        return (self.demands / self.total).max(axis=2)

    def among(self, users: int) -> "Shared":
        """Keep the first users only, with what they brought."""
        return replace(self, demands=self.demands[:, :users], tasks=self.tasks[:, :users])

    def with_claim(self, user: int, factors: FloatArray) -> "Shared":
        """Let a user claim its demand times factors, shape (m,), and as many tasks of that as it can use."""
        demands, tasks = self.demands.copy(), self.tasks.copy()
        demands[:, user] *= factors
        tasks[:, user] = np.ceil(tasks[:, user] * max(1.0, 1 / factors.min()))
        return replace(self, demands=demands, tasks=tasks)

    def permuted(self, order: NDArray[np.int64]) -> "Shared":
        """Number the users anew: the new user i is the old user ``order[i]``."""
        return replace(self, demands=self.demands[:, order], tasks=self.tasks[:, order])

    def __str__(self) -> str:
        """Write it out for a reader who wants to check a witness by hand."""
        periods = " then ".join(
            " ".join(f"{int(count)} x {listed(row)}" for row, count in zip(rows, counts))
            for rows, counts in zip(self.demands, self.tasks)
        )
        nobody = f"; nobody brings {' '.join(map(listed, self.extra))}" if len(self.extra) else ""
        return f"users {periods}; each brings {' '.join(map(listed, self.block))}{nobody}"


class Outcome(NamedTuple):
    """What a mechanism gave.

    Attributes
    ----------
    tasks : ndarray, shape (T, n)
        Of the demand as stated; fractions where the mechanism divides.
    placed : ndarray, shape (T, N, n), or None
        Of these, on each machine; None where the mechanism knows no machines.
    """

    tasks: FloatArray
    placed: FloatArray | None = None


@dataclass(frozen=True)
class Entrant:
    """A mechanism and how it enters.

    Attributes
    ----------
    name : str
    label : str
        As shown.
    whole, places : bool
        Whether it hands out whole tasks, and says on which machine.
    typed : str
        The mechanism as it is typed, ``drfh --method first_fit``: of ``fairbook allocate --mechanism``, and in Python.
    call : callable
        Takes a :class:`Shared`, returns an :class:`Outcome` for what users claim there.
    """

    name: str
    label: str
    whole: bool
    places: bool
    call: Callable[[Shared], Outcome]
    typed: str = ""

    @property
    def function(self) -> str:
        """The same as a call."""
        mechanism, *how = self.typed.split(" --")
        given = ["...", *("{}='{}'".format(*one.split(" ")) for one in how)]
        return f"fb.{mechanism}({', '.join(given)})"

    @property
    def kind(self) -> str:
        """What is handed out, and of what."""
        return f"{'whole tasks' if self.whole else 'fractions'} {'on machines' if self.places else 'of one pool'}"


# ------------------------------------------------------------------------------------------------------- entrants


def _each_pool(rule: Callable[..., Any]) -> Callable[[Shared], Outcome]:
    """Let a mechanism of one pool share it out in each period by itself."""
    return lambda case: Outcome(
        np.stack(
            [rule(rows, capacities=case.total, max_tasks=most).tasks for rows, most in zip(case.demands, case.tasks)]
        ).astype(float)
    )


def _dmfa_srq(case: Shared) -> Outcome:
    # users have no bounds there: what one cannot use is lost
    n = case.demands.shape[1]
    run = [dmfa_srq.dmfa_srq(rows / case.total, weights=np.full(n, 1 / n)).tasks_at(n) for rows in case.demands]
    return Outcome(np.minimum(np.stack(run), case.tasks))


def _cbdrf(case: Shared, **how: Any) -> Outcome:
    # nobody fails unless told otherwise, and then a phase is DRF without bounds
    return Outcome(np.minimum(cbdrf.cbdrf(case.demands, capacities=case.total, **how).tasks, case.tasks))


def failing(released: FloatArray, held: Held) -> Entrant:
    """Enter cbDRF where some nodes fail: what each gives back after each period, shape (T, n), and where it is then."""
    return _entrant("cbdrf", False, False, partial(_cbdrf, released=released, held=held))


def _karma(case: Shared) -> Outcome:
    return Outcome(karma.karma(case.demands, capacities=case.total, max_tasks=case.tasks).tasks)


def _parts(case: Shared) -> FloatArray:
    """Who contributed which part of each machine, shape (n, N): each its block, of what is nobody's all the same."""
    n, b = case.demands.shape[1], len(case.block)
    own = np.repeat(np.eye(n), b, axis=1)
    return np.concatenate([own, np.full((n, len(case.extra)), 1 / n)], axis=1)


def _tv_drf_fluid(case: Shared) -> Outcome:
    n = case.demands.shape[1]
    run = tv_drf.tv_drf(case.demands, case.tasks, case.total[None], np.full(n, 1 / n), method="lexicographic")
    return Outcome(run.tasks)


def _tv_drf(case: Shared) -> Outcome:
    run = tv_drf.tv_drf(case.demands, case.tasks, case.machines, _parts(case), placement=True)
    assert run.placement is not None
    return Outcome(run.tasks.astype(float), run.placement.transpose(0, 2, 1).astype(float))


def each_period(place: Callable[..., Placement], **how: Any) -> Callable[[Shared], Outcome]:
    """Let a mechanism that places tasks on machines in classes place those of each period by themselves."""

    def call(case: Shared) -> Outcome:
        n, N = case.demands.shape[1], len(case.machines)
        kinds, inverse = np.unique(case.machines, axis=0, return_inverse=True)
        numbers = np.argsort(inverse, kind="stable")  # the machines in the order in which a placement numbers them
        tables = []
        for rows, most in zip(case.demands, case.tasks):
            given = place(rows, kinds, np.bincount(inverse), max_tasks=most, **how)
            table = np.zeros((N, n))
            at = given.placed_machine.astype(np.intp) * n + given.placed_user
            table[numbers] = np.bincount(at, minlength=N * n).reshape(N, n)
            tables.append(table)
        placed = np.stack(tables)
        return Outcome(placed.sum(axis=1), placed)

    return call


def _gdrf(case: Shared) -> Outcome:
    # GDRF adds up amounts of all resources; each is measured in what a machine that users bring holds in the mean, so
    # that it plays no role whether memory is counted in GiB or in MiB
    size = case.block.mean(axis=0)
    return each_period(gdrf.gdrf)(
        replace(case, demands=case.demands / size, block=case.block / size, extra=case.extra / size)
    )


def _drfh_fluid(case: Shared) -> Outcome:
    kinds, inverse, counts = np.unique(case.machines, axis=0, return_inverse=True, return_counts=True)
    given = [
        drfh.drfh(rows, kinds, counts, max_tasks=most, method="fluid") for rows, most in zip(case.demands, case.tasks)
    ]
    placed = np.stack([(one.by_class / counts[:, None])[inverse] for one in given])
    return Outcome(placed.sum(axis=1), placed)


def _slots(racks: int) -> Callable[[Shared], Outcome]:
    """Virtual clusters of slots: users want what their tasks could use, bear any loss, and live on one rack each."""

    def call(case: Shared) -> Outcome:
        T, n, _ = case.demands.shape
        N, needed = len(case.machines), case.slot > 0
        room = np.floor((case.machines[:, needed] / case.slot[needed] * (1 + FITS)).min(axis=1)).astype(np.int64)
        rack = np.arange(N) * min(racks, N) // N
        capacities = np.bincount(rack, room)
        placed = np.zeros((T, N, n))
        if room.sum() == 0:
            return Outcome(placed.sum(axis=1), placed)
        for t in range(T):
            with np.errstate(divide="ignore", invalid="ignore"):
                share = np.where(case.demands[t] > 0, case.demands[t] / case.slot, 0)
            each = np.where(np.isfinite(share).all(axis=1), np.ceil(share.max(axis=1) * (1 - FITS)), np.inf)
            want = np.minimum(np.where(case.tasks[t] > 0, case.tasks[t] * each, 0), room.sum())
            asks = np.flatnonzero((want > 0) & np.isfinite(each))
            if not len(asks):
                continue
            given = virtual_cluster.virtual_cluster(want[asks], np.ones(len(asks)), capacities, node_limit=60_000)
            free = room.copy()
            for i, vms, home in zip(asks.tolist(), given.vms.tolist(), given.cluster.tolist()):
                left = int(vms // each[i])
                for h in np.flatnonzero(rack == home).tolist():
                    here = min(left, int(free[h] // each[i]))
                    placed[t, h, i], free[h], left = here, free[h] - here * each[i], left - here
        return Outcome(placed.sum(axis=1), placed)

    return call


def _entrant(
    name: str, whole: bool, places: bool, call: Callable[[Shared], Outcome], label: str = "", typed: str = ""
) -> Entrant:
    """Label an entrant as the mechanism of that name, or otherwise, and type it so."""
    return Entrant(name, label or registry[name].label, whole, places, call, typed or name)


#: The mechanisms by name. Dynamic DRF is DMFA-SRQ here, since all bring the same. Stored results hang on the modules
#: named above; the registry, which loads mechanisms by their names, would hide them.
ENTRANTS: dict[str, Entrant] = {
    one.name: one
    for one in (
        _entrant("drf", False, False, _each_pool(drf.drf)),
        _entrant("dmfa_srq", False, False, _dmfa_srq),
        _entrant("cbdrf", False, False, _cbdrf, "cbDRF, nobody ever fails (= DRF)"),
        _entrant("karma", False, False, _karma),
        _entrant("tv_drf_fluid", False, False, _tv_drf_fluid, "TV-DRF, fluid", "tv_drf --method lexicographic"),
        _entrant("drf_by_task", True, False, _each_pool(drf.drf_by_task)),
        _entrant("sequential_minmax", True, False, _each_pool(sequential_minmax.sequential_minmax)),
        _entrant("drfh_fluid", False, True, _drfh_fluid, "DRFH, fluid", "drfh --method fluid"),
        _entrant("drfh", True, True, each_period(drfh.drfh), "DRFH, Best-Fit"),
        _entrant(
            "drfh_first_fit",
            True,
            True,
            each_period(drfh.drfh, method="first_fit"),
            "DRFH, First-Fit",
            "drfh --method first_fit",
        ),
        _entrant("gdrf", True, True, _gdrf),
        _entrant("mdrf", True, True, each_period(mdrf.mdrf), "MDRF (stand-in)"),
        _entrant("per_server_drf", True, True, each_period(per_server_drf.per_server_drf), "DRF per machine"),
        _entrant("tv_drf", True, True, _tv_drf),
        _entrant("slots", True, True, _slots(1), "virtual clusters, one", "virtual_cluster"),
        _entrant("slots_racks", True, True, _slots(_RACKS), "virtual clusters, four", "virtual_cluster"),
    )
}
#: Measured, and not to be recommended: what stands in for a mechanism is not that mechanism.
STAND_INS = frozenset({"mdrf"})
#: Names of the mechanisms, in the order of every table.
MECHANISMS = tuple(ENTRANTS)
