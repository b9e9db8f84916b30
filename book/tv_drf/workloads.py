"""Workloads over periods with contributed machines, what a rule makes of them, and how they are drawn at random."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from book.common.evidence import as_data, in_words
from fairbook.mechanisms.tv_drf.run import TvDrfRun
from fairbook.model.exact import as_fractions

Array = NDArray[Any]


#: The rules that the library has, and the options of :func:`fairbook.tv_drf` for them.
CALLS = {
    f"{name}, {fate}": f'method="{method}"{alone}{waits}'
    for name, method in (("fluid", "lexicographic"), ("whole", "heuristic"))
    for fate, alone, waits in (
        ("expires", "", ""),
        ("waits", "", ', unserved="waits"'),
        ("resources", ', alone="resources"', ""),
    )
}


@dataclass(frozen=True, eq=False)
class Workload:
    """Who submits what, and who brought what.

    Attributes
    ----------
    demands : ndarray, shape (T, n, m)
        Resource per task. Numbers of any kind: floats, or fractions in an array of objects.
    tasks : ndarray, shape (T, n)
        Tasks submitted.
    machines : ndarray, shape (K, m)
    contributions : ndarray, shape (n, K)
        The part of each machine that each user brought; columns sum to 1.
    """

    demands: Array
    tasks: Array
    machines: Array
    contributions: Array

    @classmethod
    def of(cls, demands: Any, tasks: Any, machines: Any, parts: Any) -> "Workload":
        """Make one from nested sequences of numbers or strings such as "1/3", in fractions.

        ``parts`` has one entry a user (the same part of every machine), or one row a user.
        """
        K = len(machines)
        rows = [row if isinstance(row, (list, tuple)) else [row] * K for row in parts]
        return cls(
            *(
                np.array(as_fractions(given, name), dtype=object)
                for given, name in ((demands, "demands"), (tasks, "tasks"), (machines, "machines"), (rows, "parts"))
            )
        )

    @property
    def capacities(self) -> Array:
        """Of the whole pool, shape (m,)."""
        total: Array = self.machines.sum(axis=0)
        return total

    @property
    def weights(self) -> Array:
        """Mean over the resources of the part of the pool that each user brought, shape (n,)."""
        share: Array = (self.contributions @ self.machines / self.capacities).sum(axis=1) / len(self.capacities)
        return share

    def _arrays(self) -> tuple[Array, Array, Array, Array]:
        return self.demands, self.tasks, self.machines, self.contributions

    def in_floats(self) -> "Workload":
        """Give the same in floats."""
        return Workload(*(np.asarray(a, dtype=float) for a in self._arrays()))

    def in_fractions(self) -> "Workload":
        """Give the same in fractions: those nearest to the floats with denominators up to 10^6."""
        if self.demands.dtype == object:
            return self
        demands, tasks, machines, parts = map(in_fractions, self._arrays())
        return Workload(demands, tasks, machines, parts / parts.sum(axis=0))

    def as_data(self, rule: str, run: Array) -> dict[str, Any]:
        """Give the workload and what a rule runs of it as data; a rule of the book's own has no call."""
        names = ("demands", "tasks", "machines", "parts")
        arguments: dict[str, Any] = dict(zip(names, self._arrays(), strict=True))
        if rule not in CALLS:
            return as_data(**arguments)
        return as_data(f"fb.tv_drf(demands, tasks, machines, parts, {CALLS[rule]}).tasks", run, **arguments)

    def __str__(self) -> str:
        demands, tasks, machines, parts = (in_words(a.tolist()) for a in self._arrays())
        return f"demands {demands}, tasks {tasks}, machines {machines}, parts {parts}"


def in_fractions(values: Array, most: int = 10**6) -> Array:
    """Give the fractions nearest to numbers, denominators up to ``most``."""
    near = [Fraction(x).limit_denominator(most) for x in values.ravel().tolist()]
    return np.array(near, dtype=object).reshape(values.shape)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a rule made of a workload; floats, or fractions in arrays of objects.

    Attributes
    ----------
    tasks, shares : ndarray, shape (T, n)
        Tasks run, and G after each period.
    amounts, alone : ndarray, shape (T, n, m)
        Resource in use, and what would have been in use without sharing.
    waits : bool
        Whether tasks not run in their period wait.
    placement : ndarray, shape (T, n, K), or None
        Whole tasks on each machine.
    """

    tasks: Array
    shares: Array
    amounts: Array
    alone: Array
    waits: bool = False
    placement: Array | None = None

    @classmethod
    def of_run(cls, run: TvDrfRun) -> "Outcome":
        """Take what a run came to."""
        return cls(run.tasks, run.cumulative_shares, run.amounts, run.alone, run.waits, run.placement)

    def left(self, workload: Workload) -> Array:
        """Tasks that each could still run at the end of each period, shape (T, n)."""
        if not self.waits:
            return workload.tasks - self.tasks
        rest: Array = np.cumsum(workload.tasks, axis=0) - np.cumsum(self.tasks, axis=0)
        return rest

    @property
    def exact(self) -> bool:
        """Whether the numbers are fractions."""
        return self.tasks.dtype == object


# -------------------------------------------------------------------------------------------------- queues in order


def serve(queue: list[list[Any]], room: Array, total: Any, whole: Callable[[Any], Any] = lambda some: some) -> Any:
    """Run a queue of [task, count] in order within some room, as far as it goes; add the tasks to a total.

    What ran leaves the queue. ``whole`` rounds what fits of a task.
    """
    while queue:
        task, count = queue[0]
        some = min(whole(min(room / task)), count)
        total += some
        room = np.maximum(room - some * task, room * 0)
        if some < count:
            queue[0][1] = count - some
            break
        queue.pop(0)
    return total


def groups(w: Workload, outcome: Outcome, t: int) -> Iterator[tuple[int, int, Any]]:
    """Tasks run in period t: user, period in which they were submitted, how many."""
    for i in range(w.tasks.shape[1]):
        if not outcome.waits:
            yield i, t, outcome.tasks[t, i]
            continue
        end = outcome.tasks[: t + 1, i].sum()
        begin = end - outcome.tasks[t, i]
        for s in range(t + 1):
            high = w.tasks[: s + 1, i].sum()
            some = min(end, high) - max(begin, high - w.tasks[s, i])
            if some > 0:
                yield i, s, some


def in_order(w: Workload, tasks: Array, waits: bool) -> Outcome:
    """Make the outcome of given tasks (T, n) in one pool, queues served in order; nothing is compared with alone."""
    outcome = Outcome(tasks, tasks * 0, w.demands * 0, w.demands * 0, waits)
    rate = (w.demands / w.capacities).max(axis=2) / w.weights
    shares, amounts = tasks * 0, w.demands * 0
    for t in range(len(tasks)):
        for i, s, count in groups(w, outcome, t):
            amounts[t, i] += count * w.demands[s, i]
            shares[t, i] += count * rate[s, i]
    return replace(outcome, shares=np.cumsum(shares, axis=0), amounts=amounts)


# ------------------------------------------------------------------------------------------------- drawn at random


def workloads(
    rng: Generator,
    *,
    periods: tuple[int, int] = (1, 4),
    users: tuple[int, int] = (2, 4),
    resources: tuple[int, int] = (1, 3),
    machines: tuple[int, int] = (1, 1),
    whole: bool = False,
    idle: bool = False,
    zeros: bool = False,
) -> Workload:
    """Draw a workload: small whole numbers, positive demands and counts, machines of one shape, scarce or not.

    Parameters
    ----------
    periods, users, resources, machines : (int, int)
        Least and most.
    whole : bool
        Whether counts are whole (up to 6); else quarters of tasks occur.
    idle : bool
        Whether now and then a user, the last one apart, has no tasks in a period.
    zeros : bool
        Whether now and then a task needs nothing of a resource, and a user, the last one too, has no tasks.
    """
    T, n, m, K = (int(rng.integers(low, high + 1)) for low, high in (periods, users, resources, machines))
    demands = rng.integers(1, 5, (T, n, m)).astype(float)
    if rng.random() < 0.3:
        demands[:] = demands[:1]
    tasks = rng.integers(1, 7, (T, n)).astype(float) if whole else rng.integers(1, 17, (T, n)) / 4
    if rng.random() < 0.3:
        tasks[:] = 20.0
    if idle:
        tasks[:, :-1][rng.random((T, n - 1)) < 0.3] = 0.0
    if zeros:
        tasks[rng.random((T, n)) < 0.15] = 0.0
        spared = rng.integers(m, size=(T, n, 1)) == np.arange(m)  # one resource that each task needs
        demands[(rng.random((T, n, m)) < 0.3) & ~spared] = 0.0
    shape = rng.integers(4, 13, m).astype(float)
    parts = rng.integers(1, 4, n).astype(float)
    sizes = np.repeat(shape[None], K, axis=0)
    return Workload(demands, tasks, sizes, np.repeat((parts / parts.sum())[:, None], K, axis=1))


def on_shapes(rng: Generator, periods: int, *, lacking: bool = False) -> Workload:
    """Draw two or three users with parts of one to three machines of any shapes.

    ``lacking``: where there are several resources, now and then one of a machine is missing.
    """
    n, m, K = (int(rng.integers(low, 4)) for low in (2, 1, 2))
    demands = rng.integers(1, 5, (periods, n, m)).astype(float)
    tasks, machines = rng.integers(1, 17, (periods, n)) / 4, rng.integers(2, 9, (K, m)).astype(float)
    if lacking and m > 1 and rng.random() < 0.3:
        machines[rng.integers(K), rng.integers(m)] = 0.0
    return Workload(demands, tasks, machines, rng.dirichlet(np.ones(n), K).T)


def moved(rng: Generator, w: Workload, *, whole: bool = False) -> Workload:
    """Change one thing in a workload: a demand, a count, a capacity of all machines, what someone brought.

    Parameters
    ----------
    whole : bool
        Whether demands, capacities and counts stay whole.
    """
    what = rng.integers(4)
    demands, tasks, machines, parts = (a.copy() for a in (w.demands, w.tasks, w.machines, w.contributions))

    def change(array: Array, place: Any) -> None:
        if whole:
            array[place] = np.maximum(array[place] + rng.choice([-1, 1]), 1)
        else:
            array[place] = array[place] * rng.choice([0.25, 0.5, 0.8, 0.97, 1.03, 1.25, 2, 4])

    if what == 0:
        place: tuple[Any, ...] = tuple(rng.integers(0, demands.shape))
        change(demands, place if rng.random() < 0.7 else place[:2])
    elif what == 1:
        change(tasks, tuple(rng.integers(0, tasks.shape)))
    elif what == 2:
        j = int(rng.integers(machines.shape[1]))
        change(machines, (slice(None), j))
    else:
        parts[rng.integers(len(parts))] *= rng.choice([0.5, 0.8, 1.25, 2])
        parts /= parts.sum(axis=0)
    return Workload(demands, tasks, machines, parts)


def as_claimed(w: Workload, user: int, demands: Array, tasks: Array) -> Workload:
    """Give the workload in which one user claims demands, shape (T, m), and numbers of tasks, (T,)."""
    said = replace(w, demands=w.demands.copy(), tasks=w.tasks.copy())
    said.demands[:, user], said.tasks[:, user] = demands, tasks
    return said
