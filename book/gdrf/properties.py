"""What GDRF is said to guarantee, asked of any rule that places whole tasks on machines: with margins and witnesses.

A :class:`Case` holds users and single machines in whole numbers or fractions; a *rule* turns it into an
:class:`Outcome`, the tasks in the order of placing, either by the library's engine or by the judge that decides every
comparison in exact fractions. Since tasks are whole, everything asked of an outcome is decided exactly. A *margin* is
at least 0 where the property holds.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from scipy import sparse

from book.common.cases import Lowest, lowest_margin
from book.common.evidence import as_data, in_words
from book.common.packing import packs
from book.gdrf.exact_cell import exact_cell
from book.gdrf.oracle import Fluid, exact_drfh, exact_gdrf, exact_mdrf
from fairbook.mechanisms.placing.drfh import drfh
from fairbook.mechanisms.placing.gdrf import gdrf
from fairbook.mechanisms.placing.mdrf import mdrf
from fairbook.model.placement import Placement

Number = Any  # whole numbers or fractions
Vector = tuple[Number, ...]


def _parts(amounts: Sequence[Number], pool: Vector) -> list[Fraction]:
    return [Fraction(x) / s for x, s in zip(amounts, pool, strict=True)]


@dataclass(frozen=True)
class Case:
    """Users and machines.

    Attributes
    ----------
    demands : tuple of n tuples of m
    machines : tuple of N tuples of m
        One entry a machine.
    max_tasks : tuple of n, optional
        None for no bound.
    """

    demands: tuple[Vector, ...]
    machines: tuple[Vector, ...]
    max_tasks: tuple[Any, ...] | None = None

    def __str__(self) -> str:
        bounds = "" if self.max_tasks is None else f" who want at most {in_words(self.max_tasks)} tasks"
        return (
            f"users {' '.join(map(in_words, self.demands))}{bounds} on machines "
            f"{' '.join(map(in_words, self.machines))}"
        )

    def as_data(self, rule: str = "", tasks: Any = ()) -> dict[str, Any]:
        """Give the case as data, and the tasks that GDRF places where that is the rule."""
        match = {"gdrf": "nearest", "gdrf_same": "same"}.get(rule)
        given = (f'fb.gdrf(demands, machines, match="{match}").tasks', tasks) if match and not self.max_tasks else ()
        return as_data(*given, demands=self.demands, machines=self.machines)

    @cached_property
    def pool(self) -> Vector:
        return tuple(sum(column) for column in zip(*self.machines, strict=True))

    @cached_property
    def shares(self) -> list[list[Fraction]]:
        """Part of the pool that a task of each user needs, (2)."""
        return [_parts(row, self.pool) for row in self.demands]

    @cached_property
    def parts(self) -> list[list[Fraction]]:
        """Part of the pool that each machine has."""
        return [_parts(row, self.pool) for row in self.machines]

    @cached_property
    def ranking(self) -> list[int]:
        """Users by GDRS and GDRW, largest first, then by number."""
        rank = [(-max(row), -sum(row) / max(row)) for row in self.shares]
        return sorted(range(len(rank)), key=rank.__getitem__)

    def with_demand(self, user: int, demand: Vector) -> "Case":
        """Give the case in which one user says something else."""
        rows = (*self.demands[:user], demand, *self.demands[user + 1 :])
        return Case(rows, self.machines, self.max_tasks)

    def bound(self, user: int) -> float:
        bound = None if self.max_tasks is None else self.max_tasks[user]
        return np.inf if bound is None else bound


class Outcome(NamedTuple):
    """Whole tasks in the order of placing."""

    placed: tuple[tuple[int, int], ...]
    """(user, machine) of each task."""
    tasks: tuple[int, ...]
    """Tasks of each user."""

    @classmethod
    def of(cls, case: Case, placed: Sequence[tuple[int, int]]) -> "Outcome":
        users = [user for user, _ in placed]
        return cls(tuple(placed), tuple(users.count(i) for i in range(len(case.demands))))


class Filling:
    """Machines of a case as tasks are placed on them."""

    def __init__(self, case: Case, placed: Sequence[tuple[int, int]] = ()) -> None:
        self.case, self.used = case, [[0] * len(case.pool) for _ in case.machines]
        self.placed: list[tuple[int, int]] = []
        for user, machine in placed:
            self.place(user, machine)

    def fits(self, user: int, machine: int) -> bool:
        rows = zip(self.used[machine], self.case.demands[user], self.case.machines[machine], strict=True)
        return all(u + d <= c for u, d, c in rows)

    def place(self, user: int, machine: int) -> None:
        self.used[machine] = [u + d for u, d in zip(self.used[machine], self.case.demands[user], strict=True)]
        self.placed.append((user, machine))

    def part(self, machine: int) -> Fraction:
        """Part of the amount in use, (4)."""
        return Fraction(sum(self.used[machine])) / sum(self.case.machines[machine])


def whole_tasks(need: Vector, room: Sequence[Number]) -> int:
    """Whole tasks that run in some room."""
    return min(int(Fraction(c) // d) for c, d in zip(room, need, strict=True) if d)


def fluid_tasks(need: Vector, held: Sequence[Number]) -> Number:
    """Tasks, fractions allowed, that run on some resources."""
    return min(Fraction(h) / d for h, d in zip(held, need, strict=True) if d > 0)


def on_own_parts(case: Case) -> list[tuple[int, int]]:
    """Place everybody alone on its n-th part of every machine, in whole tasks."""
    n = len(case.demands)
    return [
        (i, j)
        for i, need in enumerate(case.demands)
        for j, machine in enumerate(case.machines)
        for _ in range(whole_tasks(need, [Fraction(c) / n for c in machine]))
    ]


Rule = Callable[..., Outcome]


def _by(engine: Callable[..., Placement], judge: Callable[..., Any], seeded: bool, **reading: Any) -> Rule:
    seed = {"seed": 0} if seeded else {}

    def run(case: Case, exact: bool) -> Outcome:
        if exact:
            bounds = None if case.max_tasks is None else list(case.max_tasks)
            found = judge(case.demands, case.machines, max_tasks=bounds, **seed, **reading)
            return Outcome.of(case, found.placed)
        bounds = None if case.max_tasks is None else [np.inf if b is None else float(b) for b in case.max_tasks]
        floats = [[[float(x) for x in row] for row in rows] for rows in (case.demands, case.machines)]
        p = engine(*floats, max_tasks=bounds, **seed, **reading)
        return Outcome.of(case, list(zip(p.placed_user.tolist(), p.placed_machine.tolist(), strict=True)))

    return run


gdrf_rule = partial(_by, gdrf, exact_gdrf, True)

#: The rules of the chapter, by name.
RULES: dict[str, Rule] = {
    "gdrf": gdrf_rule(),
    "gdrf_same": gdrf_rule(match="same"),
    "gdrf_any": gdrf_rule(match="any"),
    "gdrf_empty_last": gdrf_rule(choice="fairness_empty_last"),
    "gdrf_after": gdrf_rule(choice="fairness_after"),
    "gdrf_one_by_one": gdrf_rule(queue="one_by_one"),
    "drfh_best_fit": _by(drfh, exact_drfh, False, method="best_fit"),
    "drfh_first_fit": _by(drfh, exact_drfh, False, method="first_fit"),
    "mdrf_entropy": _by(mdrf, exact_mdrf, True, reading="entropy"),
    "mdrf_type": _by(mdrf, exact_mdrf, True, reading="type"),
}


# -------------------------------------------------------------------------------------------------- broken on purpose


def _least_used(case: Case, exact: bool) -> Outcome:
    """Turn about in fixed order, each task on the machine with the smallest used part (4) that has room."""
    filling, waiting = Filling(case), list(range(len(case.demands)))
    while waiting:
        for i in list(waiting):
            given = sum(user == i for user, _ in filling.placed)
            room = [j for j in range(len(case.machines)) if given < case.bound(i) and filling.fits(i, j)]
            if room:
                filling.place(i, min(room, key=lambda k: (filling.part(k), k)))
            else:
                waiting.remove(i)
    return Outcome.of(case, filling.placed)


def _packed(case: Case, exact: bool) -> Outcome:
    """The largest total of whole tasks, and of these the lexicographically largest: everything tried."""
    best: tuple[int, ...] = (0,) * len(case.demands)
    rooms = tuple(sorted(case.machines))
    most = [
        min(
            int(case.bound(i)) if case.bound(i) < np.inf else 10**6,
            sum(whole_tasks(need, machine) for machine in case.machines),
        )
        for i, need in enumerate(case.demands)
    ]
    for counts in itertools.product(*(range(b + 1) for b in most)):
        if (sum(counts), counts) > (sum(best), best) and packs(rooms, case.demands, counts):
            best = counts
    return Outcome((), best)


#: Rules that break (or, for claims that fail, mend) in one named way.
BROKEN: dict[str, Rule] = {
    "last task taken back": lambda case, exact: Outcome.of(case, RULES["gdrf"](case, exact).placed[:-1]),
    "least used machine": _least_used,
    "largest packing": _packed,
    "nothing placed": lambda case, exact: Outcome.of(case, []),
    "each on its part": lambda case, exact: Outcome.of(case, on_own_parts(case)),
}


# --------------------------------------------------------------------------------------------------- of an outcome


def _room_left(case: Case, outcome: Outcome) -> Iterator[tuple[int, int]]:
    """List users who want more, each with a machine that has room for one more task of theirs."""
    filling = Filling(case, outcome.placed)
    users = (i for i, has in enumerate(outcome.tasks) if has < case.bound(i))
    return ((i, j) for i, j in itertools.product(users, range(len(case.machines))) if filling.fits(i, j))


def maximality(case: Case, outcome: Outcome) -> Number:
    """At the end nobody who wants more could get one more task while all stay where they are. Margin 0 or -1."""
    return -1 if any(_room_left(case, outcome)) else 0


def side_by_side(case: Case, outcome: Outcome) -> Number:
    """No machine that one user has for itself has room for another who wants more. Margin 0 or -1."""
    there = [{i for i, at in outcome.placed if at == j} for j in range(len(case.machines))]
    return -1 if any(len(there[j]) == 1 and i not in there[j] for i, j in _room_left(case, outcome)) else 0


def pareto_optimality(case: Case, outcome: Outcome) -> Number:
    """Nobody could get one more task, all others keep theirs, wherever tasks are put. Margin 0 or -1; small cases."""
    rooms = tuple(sorted(case.machines))
    for i, has in enumerate(outcome.tasks):
        more = (*outcome.tasks[:i], has + 1, *outcome.tasks[i + 1 :])
        if has < case.bound(i) and packs(rooms, case.demands, more):
            return -1
    return 0


def sharing_incentive(case: Case, outcome: Outcome) -> Number:
    """Nobody runs fewer tasks than whole ones fit in the n-th part of every machine. Margin in tasks."""
    alone = Outcome.of(case, on_own_parts(case)).tasks
    return min(has - min(own, case.bound(i)) for i, (has, own) in enumerate(zip(outcome.tasks, alone, strict=True)))


def envy_up_to_one(case: Case, outcome: Outcome) -> Number:
    """At the end nobody who wants more could run more tasks than it has on what another holds, less one task of it."""
    margins = [
        has - fluid_tasks(case.demands[i], [(outcome.tasks[h] - 1) * d for d in case.demands[h]])
        for i, has in enumerate(outcome.tasks)
        for h in range(len(case.demands))
        if h != i and outcome.tasks[h] > 0 and has < case.bound(i)
    ]
    return min(margins, default=0)


def least_used_first(case: Case, outcome: Outcome) -> Number:
    """Each task goes to the least used (4) machine with room of its type. Margin: smallest lead in (4)."""
    filling = Filling(case)
    types = [[part == max(row) for part in row] for row in case.parts]
    margin: Number = 1
    for user, machine in outcome.placed:
        leads = [
            filling.part(k) - filling.part(machine)
            for k in range(len(types))
            if types[k] == types[machine] and filling.fits(user, k)
        ]
        margin = min([margin, *leads])
        filling.place(user, machine)
    return margin


# ------------------------------------------------------------------------------------- Algorithm 3 to the letter


def same_type(case: Case, i: int, j: int) -> bool:
    """Tell whether a resource is the dominant one of user i and the one of which machine j has most."""
    need, has = case.shares[i], case.parts[j]
    return any(mu == max(need) and part == max(has) for mu, part in zip(need, has, strict=True))


def printed_algorithm(case: Case, zero_to_zero: int) -> Outcome:
    """Serve the first round as Algorithm 3 prints it: "if fmax < f", from fmax = 0; no task without a machine.

    Types must be equal, as in the print, and there must be room, as in the prose. ``zero_to_zero`` is f on an empty
    machine.
    """
    stakes, filling = [Fraction(0)] * len(case.machines), Filling(case)
    for i in case.ranking:
        best, machine = 0.0, None
        for j in range(len(case.machines)):
            if same_type(case, i, j) and filling.fits(i, j):
                f = float(stakes[j]) ** float(filling.part(j)) if stakes[j] else float(zero_to_zero)
                if best < f:
                    best, machine = f, j
        if machine is not None:
            filling.place(i, machine)
            stakes[machine] += max(case.shares[i])
    return Outcome.of(case, filling.placed)


# ------------------------------------------------------------------------------------------------- engine and judge


def places_as_judged(rule: Rule, case: Case) -> bool:
    """Tell whether the engine places each task where the judge does."""
    return rule(case, False) == rule(case, True)


# ------------------------------------------------------------------------------------------------------- divisible


def fluid_slack(demands: Any, machines: Any, tasks: Any) -> float:
    """Most that dominant shares could gain in all, fractions of tasks, if nobody has less: 0 at a Pareto optimum."""
    fluid = Fluid(exact_cell(demands, machines))
    shares = np.asarray(tasks, dtype=float) * fluid.dominant
    rows = sparse.vstack([fluid.use, -fluid.each], format="csr")
    right = np.concatenate([fluid.room.ravel(), -shares * (1 - 1e-9)])
    result = fluid.solve(-np.ones(rows.shape[1]), rows, right, fluid.highest)
    return float(-result.fun - shares.sum())


# -------------------------------------------------------------------------------------------------------------- lies


def true_tasks(case: Case, user: int, said: Vector, outcome: Outcome) -> int:
    """Tasks that a user really runs on tasks of another size: whole ones within each of those it was given."""
    return int(min(outcome.tasks[user] * whole_tasks(case.demands[user], said), case.bound(user)))


def gain_of_lie(rule: Rule, case: Case, user: int, said: Vector, exact: bool) -> int:
    """True tasks gained by stating another demand."""
    honest = rule(case, exact).tasks[user]
    return true_tasks(case, user, said, rule(case.with_demand(user, said), exact)) - honest


def lies(case: Case, user: int, largest: int) -> list[Vector]:
    """List all demands in whole numbers up to ``largest`` that hold at least one true task."""
    true = case.demands[user]
    return [said for said in itertools.product(*(range(int(d), largest + 1) for d in true)) if said != true]


# ---------------------------------------------------------------------------------------------------------- searches


def cases(
    rng: Generator,
    *,
    users: tuple[int, int] = (2, 4),
    machines: tuple[int, int] = (1, 4),
    largest: int = 4,
    bounded: bool = True,
) -> Case:
    """Draw a case in small whole numbers: one to three resources, some zeros, bounds in a third of the cases."""
    n, N, m = (int(rng.integers(low, high + 1)) for low, high in (users, machines, (1, 3)))
    demands = rng.integers(0 if rng.random() < 0.25 else 1, largest + 1, (n, m))
    demands[demands.sum(axis=1) == 0] = 1
    capacity = rng.integers(largest // 2, 4 * largest, (N, m))
    capacity[0] = np.maximum(capacity[0], 1)
    bounds = tuple(int(b) for b in rng.integers(1, 6, n)) if bounded and rng.random() < 1 / 3 else None
    return Case(tuple(map(tuple, demands.tolist())), tuple(map(tuple, capacity.tolist())), bounds)


def _moved(rng: Generator, case: Case) -> Case:
    """Change one number by one."""
    rows = [list(map(list, case.demands)), list(map(list, case.machines))]
    which = rows[int(rng.integers(2))]
    row = which[int(rng.integers(len(which)))]
    place = int(rng.integers(len(row)))
    row[place] = max(row[place] + int(rng.choice((-1, 1))), 0)
    if not any(row) or not all(any(r[k] for r in rows[1]) for k in range(len(row))):
        return case
    return Case(tuple(map(tuple, rows[0])), tuple(map(tuple, rows[1])), case.max_tasks)


def search_case(margin: Callable[[Case], Number], *, evaluations: int, rng: Generator) -> Lowest[Case]:
    """Look for a case of negative margin."""
    return lowest_margin(margin, cases, _moved, evaluations=evaluations, rng=rng)


def search_lie_in(rule: Rule, *, evaluations: int, rng: Generator, **drawn: Any) -> tuple[int, Case, Vector, int]:
    """Look for a lie of the first user that pays: largest gain found, case, lie, and runs."""
    done, best, where, lie = 0, 0, cases(rng, **drawn), ()
    while done < evaluations and best <= 0:
        case = cases(rng, **drawn)
        honest = rule(case, False).tasks[0]
        options = lies(case, 0, 6)
        done += 1
        for k in rng.permutation(len(options))[:6].tolist():
            done += 1
            gain = true_tasks(case, 0, options[k], rule(case.with_demand(0, options[k]), False)) - honest
            if gain > best:
                best, where, lie = gain, case, options[k]
    return best, where, lie, done
