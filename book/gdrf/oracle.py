"""GDRF and its opponents judged: the rules machine by machine in exact fractions, and bounds by linear programs.

The functions ``exact_*`` look at every machine anew before every task. All numbers are fractions. The placement
fairness f = T^w is compared by logarithms of whole numbers, and where these are close by coprime factors of the numbers
themselves, so that a tie is a tie and nothing else is.

:func:`most_tasks` and :func:`same_mix` bound what any placement can reach. Their programs have one block a machine
class, because in fractions the N_k machines of a class run exactly what one machine N_k times as large runs (give each
machine the N_k-th part; the other way round, add up). Floats enter only the search for prices. The bound that is
returned follows from these prices in fractions, by weak duality, so it holds whatever the solver did.

:func:`most_tasks_whole` is the integer program, for small cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm, log
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from fairbook.errors import FairbookError, InvalidInput
from fairbook.model.exact import as_fractions, exact_instance
from fairbook.model.inputs import FloatArray, as_whole, check_amounts, number_of_dimensions

__all__ = ["ExactPlacement", "FluidOptimum", "WholeOptimum", "exact_drfh", "exact_gdrf", "exact_mdrf",
           "exact_per_server", "most_tasks", "most_tasks_whole", "same_mix"]

ZERO = Fraction(0)
MOST_MACHINES = 100_000  # that are looked at one by one
MOST_COUNT = 10**9

# --------------------------------------------------------------------------------------------------- instances


@dataclass(frozen=True)
class ExactCell:
    """Users and classes of machines in fractions.

    Attributes
    ----------
    demands : list of n lists of m
    machines : list of K lists of m
    counts : list of K
        Machines of each class.
    max_tasks : list of n
        None for no bound.
    weights : list of n
        Sum 1.
    """

    demands: list[list[Fraction]]
    machines: list[list[Fraction]]
    counts: list[int]
    max_tasks: list[Fraction | None]
    weights: list[Fraction]

    @property
    def n(self) -> int:
        return len(self.demands)

    @property
    def m(self) -> int:
        return len(self.demands[0])

    @cached_property
    def pool(self) -> list[Fraction]:
        """S_r, (1)."""
        return [sum((count * row[r] for row, count in zip(self.machines, self.counts, strict=True)), ZERO)
                for r in range(self.m)]

    @cached_property
    def shares(self) -> list[list[Fraction]]:
        """mu_ir, (2); 0 of a resource that does not exist and nobody needs."""
        return [[d / s if d else ZERO for d, s in zip(row, self.pool, strict=True)] for row in self.demands]

    @cached_property
    def dominant(self) -> list[Fraction]:
        """GDRS."""
        return [max(row) for row in self.shares]

    @cached_property
    def gdrw(self) -> list[Fraction]:
        """omega_i, (6)."""
        return [sum(row, ZERO) / top for row, top in zip(self.shares, self.dominant, strict=True)]

    @cached_property
    def able(self) -> list[list[bool]]:
        """Whether class k has some of all that a task of user i needs, (K, n)."""
        return [[all(c > 0 for c, d in zip(machine, row, strict=True) if d) for row in self.demands]
                for machine in self.machines]

    @cached_property
    def limits(self) -> list[int | None]:
        """Whole tasks that each user wants at most."""
        return [None if b is None else b.numerator // b.denominator for b in self.max_tasks]

    @property
    def classes(self) -> list[int]:
        """Class of each machine, (N,)."""
        if sum(self.counts) > MOST_MACHINES:
            raise InvalidInput("machine_counts", f"must sum to at most {MOST_MACHINES} where machines are looked at "
                               "one by one", sum(self.counts))
        return [k for k, count in enumerate(self.counts) for _ in range(count)]


def exact_cell(demands: Any, machines: Any, machine_counts: Any = None, max_tasks: Any = None,
               weights: Any = None) -> ExactCell:
    """Check an instance and give it in fractions; floats count at face value, labels do not count."""
    if isinstance(max_tasks, (list, tuple, np.ndarray, pd.Series)) and number_of_dimensions(max_tasks) == 1:
        max_tasks = [None if isinstance(b, (float, np.floating)) and b == np.inf else b
                     for b in (max_tasks.tolist() if isinstance(max_tasks, (np.ndarray, pd.Series)) else max_tasks)]
    rows, shares, _, bounds = exact_instance(demands, weights, None, max_tasks)
    m = len(rows[0])
    size = as_fractions(machines, "machines")
    size = size if isinstance(size[0], list) else [size]
    if isinstance(size[0][0], list) or len(size[0]) != m:
        raise InvalidInput("machines", f"must have shape (K classes, {m} resources)", machines)
    if any(c is None for row in size for c in row):
        raise InvalidInput("machines", "must be numbers", machines)
    try:
        check_amounts(np.array([[float(c) for c in row] for row in size]), "machines")
    except OverflowError:
        raise InvalidInput("machines", "must fit a double", machines) from None
    for k, row in enumerate(size):
        if not any(row):
            raise InvalidInput(f"machines[{k}]", "must have at least one positive entry", machines)
    for r in range(m):
        if not any(row[r] for row in size) and any(row[r] for row in rows):
            raise InvalidInput("machines", f"must have some of resource {r}, which is demanded", machines)
    counts = [Fraction(1)] * len(size) if machine_counts is None else as_fractions(machine_counts, "machine_counts")
    if len(counts) != len(size) or isinstance(counts[0], list):
        raise InvalidInput("machine_counts", f"must have shape ({len(size)},)", machine_counts)
    for k, count in enumerate(counts):
        if count is None or count.denominator != 1 or not 1 <= count <= MOST_COUNT:
            raise InvalidInput(f"machine_counts[{k}]", f"must be a whole number from 1 to {MOST_COUNT:g}", count)
    total = sum(shares, ZERO)
    return ExactCell(rows, size, [int(count) for count in counts], bounds, [w / total for w in shares])


def _known(value: Any, argument: str, *names: str) -> None:
    if value not in names:
        raise InvalidInput(argument, f"must be one of {', '.join(map(repr, names))}", value)


# ------------------------------------------------------------------------------------- comparison of powers


def _factors(numbers: Iterable[int]) -> list[int]:
    """Give numbers > 1, any two of them coprime, of whose powers all the given ones are products. By gcd alone."""
    base: list[int] = []
    todo = list(numbers)
    while todo:
        a = todo.pop()
        for b in base:
            g = gcd(a, b)
            if g > 1:
                base.remove(b)
                todo += [x for x in (g, a // g, b // g) if x > 1]
                break
        else:
            base.append(a)
    return base


def sign_of_product(powers: Iterable[tuple[Fraction, Fraction]]) -> int:
    """Say whether the product of x^e over the pairs (x, e), x > 0, is above (1), at (0) or below (-1) one. Exact.

    Logarithms in floats decide where they are clear. Otherwise the numbers are split into coprime factors: the product
    is one exactly if no factor is left over, and if one is, logarithms of enough digits tell the side.

    Examples
    --------
    >>> sign_of_product([(Fraction(1, 4), Fraction(1, 4)), (Fraction(1, 2), Fraction(-1, 2))])
    0
    >>> sign_of_product([(1 + Fraction(1, 10**40), Fraction(10**40)), (Fraction(27, 10), Fraction(-1))])
    1
    """
    terms: dict[int, Fraction] = {}
    for x, e in powers:
        for number, times in ((x.numerator, e), (x.denominator, -e)):
            if number > 1:
                terms[number] = terms.get(number, ZERO) + times
    terms = {number: e for number, e in terms.items() if e}
    rough = [float(e) * log(number) for number, e in terms.items()]
    if abs(sum(rough)) > 1e-11 * sum(map(abs, rough)):
        return 1 if sum(rough) > 0 else -1
    base: dict[int, Fraction] = {}
    for b in _factors(terms):
        total = ZERO
        for number, e in terms.items():
            while number % b == 0:
                number //= b
                total += e
        if total:
            base[b] = total
    digits = 50
    while base:
        context = Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)
        parts = [context.multiply(context.divide(Decimal(e.numerator), Decimal(e.denominator)),
                                  context.ln(Decimal(b))) for b, e in base.items()]
        total_log, size = Decimal(0), Decimal(0)
        for part in parts:
            total_log, size = context.add(total_log, part), context.add(size, abs(part))
        # each operation is right to half a unit in its last place: three for a part, one for each addition
        if abs(total_log) > context.multiply(size, Decimal(len(parts) + 10).scaleb(1 - digits, context)):
            return 1 if total_log > 0 else -1
        digits *= 2
    return 0


# ------------------------------------------------------------------------------------ machine by machine scan


class ExactPlacement(NamedTuple):
    """Tasks of each user, and every task placed as (user, machine), in order; machines are numbered class by class."""

    tasks: list[int]
    placed: list[tuple[int, int]]


class _Scan:
    """Machines as they stand."""

    def __init__(self, cell: ExactCell) -> None:
        self.cell = cell
        self.classes = cell.classes
        self.size = [cell.machines[k] for k in self.classes]
        self.used = [[ZERO] * cell.m for _ in self.size]
        self.runs = [[0] * cell.n for _ in self.size]  # tasks of each user on each machine

    def free(self, j: int) -> list[Fraction]:
        return [c - o for c, o in zip(self.size[j], self.used[j], strict=True)]

    def fits(self, i: int, j: int) -> bool:
        return all(d <= c for d, c in zip(self.cell.demands[i], self.free(j), strict=True))

    def place(self, i: int, j: int) -> None:
        self.used[j] = [o + d for o, d in zip(self.used[j], self.cell.demands[i], strict=True)]
        self.runs[j][i] += 1

    def best(self, i: int, among: Iterable[int], compare: Callable[[int, int], int]) -> list[int]:
        """Give the best machines with room; of those alike in class and contents the one with the lowest number.

        ``compare(a, b)`` is positive where a is better, 0 at a tie.
        """
        found: dict[Any, int] = {}
        for j in among:
            if self.fits(i, j):
                found.setdefault((self.classes[j], *self.runs[j]), j)
        best: list[int] = []
        for j in found.values():
            sign = compare(j, best[0]) if best else 1
            best = [j] if sign > 0 else [*best, j] if sign == 0 else best
        return best

    def fairness(self, i: int | None, j: int) -> tuple[Fraction, Fraction]:
        """Base and exponent of f on machine j, with one more task of user i (or none)."""
        base = sum((v * mu for v, mu in zip(self.runs[j], self.cell.dominant, strict=True)), ZERO)
        load = sum(self.used[j], ZERO)
        if i is not None:
            base, load = base + self.cell.dominant[i], load + sum(self.cell.demands[i], ZERO)
        return base, load / sum(self.size[j], ZERO)


def _run(cell: ExactCell, amounts: Sequence[Fraction], rank: Sequence[Any], per_round: int,
         choose: Callable[[_Scan, int], list[int]], prefer: Sequence[tuple[int, int]] = ()) -> ExactPlacement:
    """Hand out slots to whoever has least, then place them in rank order; whoever fits nowhere leaves for good.

    ``choose`` gives the best machines, tied ones in order of their numbers.
    """
    scan, n = _Scan(cell), cell.n
    inside = set(range(n))
    slots, tasks = [0] * n, [0] * n
    placed: list[tuple[int, int]] = []
    while True:
        this_round = [0] * n
        for _ in range(per_round):
            waiting = [i for i in inside if (limit := cell.limits[i]) is None or slots[i] < limit]
            if waiting:
                i = min(waiting, key=lambda h: (slots[h] * amounts[h], rank[h]))
                slots[i] += 1
                this_round[i] += 1
        if not any(this_round):
            return ExactPlacement(tasks, placed)
        for i in sorted(range(n), key=lambda h: rank[h]):
            for _ in range(this_round[i]):
                best = choose(scan, i)
                if not best:
                    inside.discard(i)
                    break
                wish = prefer[len(placed)][1] if len(placed) < len(prefer) else -1
                j = wish if wish in best else best[0]
                scan.place(i, j)
                tasks[i] += 1
                placed.append((i, j))


def _lots(cell: ExactCell, seed: Any) -> tuple[list[int], list[int]]:
    rng = np.random.default_rng(as_whole(seed, "seed", 0))
    users = rng.permutation(cell.n).tolist()
    return users, rng.permutation(cell.m).tolist()


def _wanted_types(cell: ExactCell, lot: list[int]) -> list[list[int]]:
    """Resources of each user from the dominant one down: larger share, larger amount, lot. All m of them."""
    return [sorted(range(cell.m), key=lambda r: (-mu[r], -d[r], lot[r]))
            for mu, d in zip(cell.shares, cell.demands, strict=True)]


def _types(cell: ExactCell, machine_type: str) -> list[set[int]]:
    """Give the types of each class: where C_jr / S_r, or C_jr, is largest."""
    found = []
    for row in cell.machines:
        value = row if machine_type == "amount" else [c / s if c else ZERO for c, s in zip(row, cell.pool, strict=True)]
        found.append({r for r in range(cell.m) if value[r] == max(value)})
    return found


def _compare_f(a: tuple[Fraction, Fraction], b: tuple[Fraction, Fraction], empty: int) -> int:
    """Give the sign of a^a' - b^b'; an empty machine, base 0 and exponent 0, counts as ``empty``."""
    if empty == 0 and 0 in (a[0], b[0]):
        return (a[0] > 0) - (b[0] > 0)
    return sign_of_product([(base, e) for base, e in (a, (b[0], -b[1])) if base > 0])


def exact_gdrf(demands: Any, machines: Any, machine_counts: Any = None, max_tasks: Any = None, seed: int = 0, *,
               match: Literal["nearest", "same", "any"] = "nearest",
               least: Literal["amount", "dominant_share", "shares"] = "amount",
               machine_type: Literal["share", "amount"] = "share",
               choice: Literal["fairness", "fairness_empty_last", "fairness_after", "first"] = "fairness",
               queue: Literal["rounds", "one_by_one"] = "rounds",
               prefer: Sequence[tuple[int, int]] = ()) -> ExactPlacement:
    """Run GDRF (Algorithms 1-3) in exact fractions, every machine looked at before every VM.

    Parameters
    ----------
    demands : nested sequences, shape (n, m)
        Resource per VM; anything ``fractions.Fraction`` takes, floats at face value.
    machines : nested sequences, shape (K, m), or (m,) for one class
        Capacities of each class: not negative, some positive entry a row, each demanded resource somewhere.
    machine_counts : sequence of int, shape (K,), optional
        At least 1; None means one machine of each class. At most 100000 in all.
    max_tasks : sequence, shape (n,), optional
        VMs that each user wants; None or ``inf`` as an entry means no bound; rounded down.
    seed : int
        Of the lots: ``default_rng(seed)`` permutes the users, then the resources; the smaller entry comes first.
    match, least, machine_type, choice, queue
        Readings, as for ``fairbook.gdrf``. "nearest" goes through all m resources, those not needed last.
    prefer : sequence of (user, machine)
        A placement to follow where machines that are not alike are exactly tied, and only there: to judge floats, which
        may see such ties otherwise. Without it the lowest number wins.

    Returns
    -------
    ExactPlacement

    Raises
    ------
    InvalidInput

    Notes
    -----
    VMs fit exactly or not at all. Cost O(P N (m + n)) operations on fractions for P VMs and N machines, and as many
    comparisons of logarithms as machines have room.

    Examples
    --------
    The user of the first resource takes the machine of its type first, then the other one.

    >>> exact_gdrf([[2, 1], [1, 2]], [[4, 2], [2, 4]], max_tasks=[3, 1])
    ExactPlacement(tasks=[2, 1], placed=[(0, 0), (1, 1), (0, 0)])
    """
    _known(match, "match", "nearest", "same", "any")
    _known(least, "least", "amount", "dominant_share", "shares")
    _known(machine_type, "machine_type", "share", "amount")
    _known(choice, "choice", "fairness", "fairness_empty_last", "fairness_after", "first")
    _known(queue, "queue", "rounds", "one_by_one")
    cell = exact_cell(demands, machines, machine_counts, max_tasks)
    lot_users, lot_resources = _lots(cell, seed)
    rank = [(-top, -omega, lot) for top, omega, lot in zip(cell.dominant, cell.gdrw, lot_users, strict=True)]
    amounts = {"amount": [sum(row, ZERO) for row in cell.demands], "dominant_share": cell.dominant,
               "shares": [sum(row, ZERO) for row in cell.shares]}[least]
    wanted, types, classes = _wanted_types(cell, lot_resources), _types(cell, machine_type), cell.classes

    after_too, empty = choice == "fairness_after", 0 if choice == "fairness_empty_last" else 1

    def choose(scan: _Scan, i: int) -> list[int]:
        def compare(a: int, b: int) -> int:
            if choice == "first":
                return -1
            task = i if after_too else None
            return _compare_f(scan.fairness(task, a), scan.fairness(task, b), empty)

        steps: list[int | None] = [None] if match == "any" else [*wanted[i]] if match == "nearest" else [wanted[i][0]]
        for r in steps:
            if best := scan.best(i, (j for j, k in enumerate(classes) if r is None or r in types[k]), compare):
                return best
        return []

    return _run(cell, amounts, rank, cell.n if queue == "rounds" else 1, choose, prefer)


def exact_drfh(demands: Any, machines: Any, machine_counts: Any = None, max_tasks: Any = None, weights: Any = None, *,
               method: Literal["best_fit", "first_fit"] = "best_fit",
               prefer: Sequence[tuple[int, int]] = ()) -> ExactPlacement:
    """Run DRFH task by task in exact fractions: lowest dominant share per weight first, then Best-Fit or First-Fit.

    Parameters
    ----------
    demands, machines, machine_counts, max_tasks
        As for :func:`exact_gdrf`.
    weights : sequence, shape (n,), optional
        Positive; None means equal ones.
    method : {"best_fit", "first_fit"}
        Best-Fit takes the machine of the smallest sum over r of abs(d_r / d_1 - c_r / c_1), d what a task needs and c
        what is free there, both as parts of the pool, and 1 the first resource that the user needs. Ties: the lowest
        number, of users as of machines.
    prefer : sequence of (user, machine)
        As for :func:`exact_gdrf`.

    Returns
    -------
    ExactPlacement

    Raises
    ------
    InvalidInput

    Notes
    -----
    Cost O(P N m) operations on fractions for P tasks and N machines.

    Examples
    --------
    >>> exact_drfh([[1, 2], [2, 1]], [[4, 2], [2, 4]]).placed
    [(0, 1), (1, 0), (0, 1), (1, 0)]
    """
    _known(method, "method", "best_fit", "first_fit")
    cell = exact_cell(demands, machines, machine_counts, max_tasks, weights)

    def choose(scan: _Scan, i: int) -> list[int]:
        need = cell.shares[i]
        one = next(r for r in range(cell.m) if need[r])

        def distance(j: int) -> Fraction:
            free = [c / s if c else ZERO for c, s in zip(scan.free(j), cell.pool, strict=True)]
            return sum((abs(d / need[one] - c / free[one]) for d, c in zip(need, free, strict=True)), ZERO)

        def compare(a: int, b: int) -> int:
            return -1 if method == "first_fit" else (distance(a) < distance(b)) - (distance(a) > distance(b))

        return scan.best(i, range(len(scan.size)), compare)

    levels = [top / w for top, w in zip(cell.dominant, cell.weights, strict=True)]
    return _run(cell, levels, range(cell.n), 1, choose, prefer)


def exact_per_server(demands: Any, machines: Any, machine_counts: Any = None, max_tasks: Any = None,
                     weights: Any = None) -> ExactPlacement:
    """Run task-by-task DRF on each machine by itself in exact fractions, bounds used up machine after machine.

    Parameters
    ----------
    demands, machines, machine_counts, max_tasks, weights
        As for :func:`exact_drfh`.

    Returns
    -------
    ExactPlacement
        In order of the machines.

    Raises
    ------
    InvalidInput

    Notes
    -----
    Dominant shares are parts of the machine. Cost O(P n m) operations on fractions for P tasks.

    Examples
    --------
    >>> exact_per_server([["1/5", 1], [1, "1/5"]], [[2, 12], [12, 2]]).tasks
    [6, 6]
    """
    cell = exact_cell(demands, machines, machine_counts, max_tasks, weights)
    tasks, placed = [0] * cell.n, []
    for j, k in enumerate(cell.classes):
        users = [i for i in range(cell.n) if cell.able[k][i]]
        if users:
            one = ExactCell([cell.demands[i] for i in users], [cell.machines[k]], [1],
                            [None if (b := cell.max_tasks[i]) is None else b - tasks[i] for i in users],
                            [cell.weights[i] for i in users])
            levels = [top / w for top, w in zip(one.dominant, one.weights, strict=True)]
            run = _run(one, levels, range(one.n), 1, lambda scan, i: [0] if scan.fits(i, 0) else [])
            for i, _ in run.placed:
                tasks[users[i]] += 1
                placed.append((users[i], j))
    return ExactPlacement(tasks, placed)


def exact_mdrf(demands: Any, machines: Any, machine_counts: Any = None, max_tasks: Any = None, *,
               reading: Literal["entropy", "type"] = "entropy", seed: int = 0,
               prefer: Sequence[tuple[int, int]] = ()) -> ExactPlacement:
    """Run the stand-in for MDRF in exact fractions: lowest dominant share first, then larger GDRW, then lot.

    Parameters
    ----------
    demands, machines, machine_counts, max_tasks, seed, prefer
        As for :func:`exact_gdrf`.
    reading : {"entropy", "type"}
        "entropy": the machine of the smallest sum over r of p_r log(p_r / q_r), p the mix of the shares that the VM
        needs and q the mix of the shares free on the machine. "type": the lowest number among the machines of the
        nearest type (by C_jr / S_r). Ties: the lowest number.

    Returns
    -------
    ExactPlacement

    Raises
    ------
    InvalidInput

    Notes
    -----
    Relative entropies are compared by the sign of a sum of logarithms of fractions, exactly. Cost as for
    :func:`exact_gdrf`.

    Examples
    --------
    >>> exact_mdrf([[1, 2]], [[4, 2], [2, 4]]).placed
    [(0, 1), (0, 1), (0, 0)]
    """
    _known(reading, "reading", "entropy", "type")
    cell = exact_cell(demands, machines, machine_counts, max_tasks)
    lot_users, lot_resources = _lots(cell, seed)
    rank = [(-omega, lot) for omega, lot in zip(cell.gdrw, lot_users, strict=True)]
    wanted, types, classes = _wanted_types(cell, lot_resources), _types(cell, "share"), cell.classes

    def choose(scan: _Scan, i: int) -> list[int]:
        def compare(a: int, b: int) -> int:
            if reading == "type":
                return -1
            powers = []  # the larger sum of p log q is better
            for j, sign in ((a, 1), (b, -1)):
                free = [c / s if c else ZERO for c, s in zip(scan.free(j), cell.pool, strict=True)]
                powers += [(q / sum(free, ZERO), sign * mu) for q, mu in zip(free, cell.shares[i], strict=True) if mu]
            return sign_of_product(powers)

        if reading == "entropy":
            return scan.best(i, range(len(classes)), compare)
        for r in wanted[i]:
            if best := scan.best(i, (j for j, k in enumerate(classes) if r in types[k]), compare):
                return best
        return []

    return _run(cell, cell.dominant, rank, 1, choose, prefer)


# --------------------------------------------------------------------------------------------- linear programs


class FluidOptimum(NamedTuple):
    """Optimum in fractions of tasks, and the proof that there is none higher.

    Attributes
    ----------
    value : float
        What the solver reached, accurate to about 1e-7.
    upper : Fraction
        A bound that follows from ``prices`` alone: no placement, in whole tasks or not, has more.
    tasks : ndarray, shape (n,)
    by_class : ndarray, shape (K, n)
        Tasks of each user on each class.
    prices : list of K lists of m
        Not negative, per unit of each resource of each class.
    """

    value: float
    upper: Fraction
    tasks: FloatArray
    by_class: FloatArray
    prices: list[list[Fraction]]


class Fluid:
    """Linear programs over a cell. Variables: z_ki >= 0, the dominant share of user i that it runs on class k."""

    def __init__(self, cell: ExactCell) -> None:
        self.cell = cell
        n, K = cell.n, len(cell.machines)
        self.dominant = np.array([float(x) for x in cell.dominant])
        need = np.array([[float(x / top) for x in row] for row, top in zip(cell.shares, cell.dominant, strict=True)])
        self.room = np.array([[float(count * c / s) if c else 0.0 for c, s in zip(row, cell.pool, strict=True)]
                              for row, count in zip(cell.machines, cell.counts, strict=True)])
        self.most = np.array([np.inf if b is None else float(b * top)
                              for b, top in zip(cell.max_tasks, cell.dominant, strict=True)])
        self.use = sparse.kron(sparse.eye_array(K), need.T).tocsr()
        self.each = sparse.kron(np.ones((1, K)), sparse.eye_array(n)).tocsr()
        self.highest = np.where(np.array(cell.able).ravel(), np.inf, 0.0)
        self.bounded = np.flatnonzero(np.isfinite(self.most))

    def solve(self, cost: FloatArray, rows: Any, right: FloatArray, highest: FloatArray) -> Any:
        result = linprog(cost, A_ub=rows, b_ub=right, bounds=np.column_stack([np.zeros(len(cost)), highest]),
                         method="highs", options={"primal_feasibility_tolerance": 1e-10,
                                                  "dual_feasibility_tolerance": 1e-10})
        if result.status != 0:
            raise FairbookError(f"HiGHS did not solve a program of the cell: {result.message}")
        return result

    def prices(self, result: Any) -> list[list[list[Fraction]]]:
        """Give dual prices of the resources, per unit of each, in fractions and none negative: as found, and rounded.

        Where the instance has small numbers, one of the rounded ones is as a rule the true dual optimum up to scale,
        and the bound that follows from it is the optimum itself.
        """
        K, m = self.room.shape
        found = np.maximum(-result.ineqlin.marginals[:K * m], 0.0).reshape(K, m)
        exact = [[Fraction(float(p)) / s if s else ZERO for p, s in zip(row, self.cell.pool, strict=True)]
                 for row in found]
        top = max(max(row) for row in exact)
        rounded = [[[(p / top).limit_denominator(largest) for p in row] for row in exact]
                   for largest in (100, 10**4, 10**6) if top]
        return [exact, *rounded]

    def by_class(self, shares: FloatArray) -> FloatArray:
        return np.asarray(shares, dtype=float).reshape(len(self.room), -1) / self.dominant

    def raise_level(self, goal: FloatArray, floor: FloatArray) -> tuple[float, FloatArray, Any]:
        """Maximise L with at least floor_i + L goal_i of dominant share for each user, and no more than its bound.

        Give L, the price of each user's row (of floor + L goal), and the solver's result.
        """
        last = sparse.csr_array(goal[:, None])
        rows = sparse.vstack([
            sparse.hstack([self.use, sparse.csr_array((self.use.shape[0], 1))]),
            sparse.hstack([-self.each, last]),
            sparse.hstack([self.each[self.bounded], sparse.csr_array((len(self.bounded), 1))])], format="csr")
        cost = np.zeros(self.each.shape[1] + 1)
        cost[-1] = -1.0
        result = self.solve(cost, rows, np.concatenate([self.room.ravel(), -floor, self.most[self.bounded]]),
                            np.append(self.highest, np.inf))
        a = self.use.shape[0]
        return float(result.x[-1]), -result.ineqlin.marginals[a:a + self.cell.n], result


def total_price(cell: ExactCell, prices: list[list[Fraction]]) -> Fraction:
    """Price of all machines."""
    return sum((count * c * p for row, count, price in zip(cell.machines, cell.counts, prices, strict=True)
                for c, p in zip(row, price, strict=True)), ZERO)


def task_prices(cell: ExactCell, prices: list[list[Fraction]]) -> list[Fraction | None]:
    """Price of a task of each user where it is cheapest among the classes that can run it; None if none can."""
    found: list[Fraction | None] = []
    for i, row in enumerate(cell.demands):
        offers = [sum((d * p for d, p in zip(row, price, strict=True)), ZERO)
                  for price, able in zip(prices, cell.able, strict=True) if able[i]]
        found.append(min(offers) if offers else None)
    return found


def _bound_on_tasks(cell: ExactCell, prices: list[list[Fraction]]) -> tuple[Fraction, list[list[Fraction]]] | None:
    """Give the least bound on the number of tasks that follows from prices in any scale, and the prices scaled for it.

    At scale s the bound is s total + sum_i max_tasks_i max(0, 1 - s v_i), convex in s, with corners at 1 / v_i; for
    users without a bound s v_i >= 1 must hold. None: it cannot, as such a user pays nothing.
    """
    total = total_price(cell, prices)
    least, missing, corners = ZERO, ZERO, []
    for bound, price in zip(cell.max_tasks, task_prices(cell, prices), strict=True):
        if price is None:
            continue  # no machine runs its tasks
        if bound is None:
            if not price:
                return None
            least = max(least, 1 / price)
        else:
            missing += bound
            if price and bound:
                corners.append((1 / price, bound, price))
    scale, slope = ZERO, total - sum((bound * price for _, bound, price in corners), ZERO)
    for corner, bound, price in sorted(corners):
        if slope >= 0:
            break
        scale, slope = corner, slope + bound * price  # beyond its corner a user pays in full
    scale = max(scale, least)  # convex: the best scale there is, or the least allowed
    paid = sum((bound * min(Fraction(1), scale * price) for _, bound, price in corners), ZERO)
    upper = scale * total + missing - paid
    return upper, [[scale * p for p in row] for row in prices]


def most_tasks(demands: Any, machines: Any, machine_counts: Any = None, max_tasks: Any = None) -> FluidOptimum:
    """Bound the number of tasks of any placement by a linear program.

    Maximise the sum of x_ik with sum_i x_ik d_ir <= N_k C_kr and sum_k x_ik <= max_tasks_i. One variable stands for a
    user on a whole class: in fractions the machines of a class are one large machine.

    Parameters
    ----------
    demands, machines, machine_counts, max_tasks
        As for :func:`exact_gdrf`; bounds are not rounded.

    Returns
    -------
    FluidOptimum
        ``value`` and ``upper`` in tasks.

    Raises
    ------
    InvalidInput, FairbookError
        The latter where HiGHS does not solve the program.

    Notes
    -----
    The bound: let a task of user i cost at least v_i at the prices y. Then the tasks are at most
    sum_k N_k C_k y_k + sum_i max_tasks_i max(0, 1 - v_i), given v_i >= 1 for users without a bound; where the solver's
    prices miss that by a rounding error, the price of the scarcest resource is raised until it holds. The least bound
    of the solver's prices and of the same rounded is given, each in its best scale.
    A float engine that lets a machine be overfull by a part of 1e-12 may exceed the bound by that part.
    Cost: one HiGHS run with n K variables and K m + n rows, and O(n K m) operations on fractions.

    Examples
    --------
    >>> bound = most_tasks([[2, 1], [1, 2]], [[4, 2], [2, 4]])
    >>> str(bound.upper), bound.tasks.round(6)
    ('4', array([2., 2.]))
    """
    cell = exact_cell(demands, machines, machine_counts, max_tasks)
    fluid = Fluid(cell)
    unit = fluid.dominant.min()
    cost = np.tile(-unit / fluid.dominant, len(cell.machines))
    result = fluid.solve(cost, sparse.vstack([fluid.use, fluid.each[fluid.bounded]], format="csr"),
                         np.concatenate([fluid.room.ravel(), fluid.most[fluid.bounded]]), fluid.highest)
    exact, *rounded = fluid.prices(result)
    exact = [[p / Fraction(float(unit)) for p in row] for row in exact]
    for machine, able, row in zip(cell.machines, cell.able, exact, strict=True):
        for i, need in enumerate(cell.demands):
            lack = 1 - sum((d * p for d, p in zip(need, row, strict=True)), ZERO)
            if able[i] and cell.max_tasks[i] is None and lack > 0:
                r = min((r for r in range(cell.m) if need[r]), key=lambda r: machine[r] / need[r])
                row[r] += lack / need[r]
    proofs = [proof for found in (exact, *rounded) if (proof := _bound_on_tasks(cell, found)) is not None]
    upper, prices = min(proofs, key=lambda proof: proof[0])
    by_class = fluid.by_class(result.x)
    return FluidOptimum(float(by_class.sum()), upper, by_class.sum(axis=0), by_class, prices)


def same_mix(tasks: Any, demands: Any, machines: Any, machine_counts: Any = None) -> FluidOptimum:
    """Find the largest theta for which theta times the given tasks fit on the machines in fractions of tasks.

    No placement with the users in the same proportions has more than theta times as many tasks.

    Parameters
    ----------
    tasks : sequence, shape (n,)
        Not negative, some positive: how many each user has.
    demands, machines, machine_counts
        As for :func:`exact_gdrf`.

    Returns
    -------
    FluidOptimum
        ``value`` and ``upper`` are theta.

    Raises
    ------
    InvalidInput, FairbookError
        The latter where HiGHS does not solve the program.

    Notes
    -----
    The bound: with v_i the least cost of a task of user i at the prices y, theta sum_i tasks_i v_i is at most
    sum_k N_k C_k y_k. This holds for all prices, so nothing needs repair.
    Cost: one HiGHS run with n K + 1 variables and K m + n rows, and O(n K m) operations on fractions.

    Examples
    --------
    >>> str(same_mix([1, 1], [[2, 1], [1, 2]], [[4, 2], [2, 4]]).upper)
    '2'
    """
    cell = exact_cell(demands, machines, machine_counts)
    mix = as_fractions(tasks, "tasks")
    if len(mix) != cell.n or isinstance(mix[0], list):
        raise InvalidInput("tasks", f"must have shape ({cell.n},)", tasks)
    if any(x is None or x < 0 for x in mix) or not any(mix):
        raise InvalidInput("tasks", "must be not negative and some positive", tasks)
    fluid = Fluid(cell)
    held = [x * top for x, top in zip(mix, cell.dominant, strict=True)]
    unit = max(held)
    level, _, result = fluid.raise_level(np.array([float(h / unit) for h in held]), np.zeros(cell.n))
    by_class = fluid.by_class(result.x[:-1])
    theta, proofs = level / float(unit), []
    for prices in fluid.prices(result):
        cost, upper = ZERO, total_price(cell, prices)
        for x, price in zip(mix, task_prices(cell, prices), strict=True):
            if x and price is None:  # no machine runs its tasks
                cost, upper = Fraction(1), ZERO
                break
            cost += x * (price or ZERO)
        if cost:
            proofs.append((upper / cost, prices))
    if not proofs:
        raise FairbookError("HiGHS gave no prices that bound the mix")
    upper, prices = min(proofs, key=lambda proof: proof[0])
    return FluidOptimum(theta, upper, by_class.sum(axis=0), by_class, prices)


# -------------------------------------------------------------------------------------------- integer programs


class WholeOptimum(NamedTuple):
    """Most tasks in whole numbers, and a placement that has them.

    Attributes
    ----------
    total : int
    tasks : list of n
    by_machine : ndarray of int, shape (N, n)
    """

    total: int
    tasks: list[int]
    by_machine: NDArray[np.int64]


class Whole:
    """Integer programs over a cell. Variables: x_ji, tasks of user i on machine j, and one number t >= 0 more."""

    def __init__(self, cell: ExactCell) -> None:
        self.cell = cell
        self.classes = cell.classes
        n, N = cell.n, len(self.classes)
        rows, right, most = [], [], []
        for machine in cell.machines:
            fit = [min((c / d for c, d in zip(machine, row, strict=True) if d)) for row in cell.demands]
            most.append([x.numerator // x.denominator for x in fit])
            for r, c in enumerate(machine):
                column = [row[r] for row in cell.demands]
                unit = lcm(c.denominator, *(d.denominator for d in column))
                whole = [int(d * unit) for d in column]
                common = gcd(*whole) or 1
                size = max(max(whole) // common / 1e6, 1)  # whole rows where floats hold them with ease
                rows.append([x // common / size for x in whole])
                right.append(int(c * unit) // common / size)
        m = cell.m
        blocks = [np.array(rows[k * m:(k + 1) * m]) for k in self.classes]
        self.use = sparse.hstack([sparse.block_diag(blocks), sparse.csr_array((N * m, 1))], format="csr")
        self.room = np.array([right[k * m:(k + 1) * m] for k in self.classes]).ravel()
        self.each = sparse.kron(np.ones((1, N)), sparse.eye_array(n)).tocsr()
        self.highest = np.array([x for k in self.classes for x in most[k]] + [np.inf], dtype=float)
        self.limits = np.array([np.inf if limit is None else limit for limit in cell.limits], dtype=float)

    def solve(self, lowest: Sequence[int], goal: FloatArray | None = None) -> NDArray[np.int64] | None:
        """Find most tasks, or the largest t with goal_i x_i >= t, each user having at least ``lowest``; or None."""
        n, size = self.cell.n, self.each.shape[1]
        if (np.array(lowest) > self.limits).any():
            return None
        constraints = [LinearConstraint(self.use, ub=self.room),
                       LinearConstraint(sparse.hstack([self.each, sparse.csr_array((n, 1))]),
                                        lb=np.array(lowest, dtype=float), ub=self.limits)]
        cost = np.append(np.full(size, -1.0), 0.0)
        if goal is not None:
            cost = np.append(np.zeros(size), -1.0)
            constraints.append(LinearConstraint(
                sparse.hstack([sparse.diags_array(goal) @ self.each, sparse.csr_array(-np.ones((n, 1)))]), lb=0.0))
        highest = self.highest.copy()
        highest[-1] = np.inf if goal is not None else 0.0
        result = milp(cost, constraints=constraints, integrality=np.append(np.ones(size), 0),
                      bounds=Bounds(0.0, highest), options={"mip_rel_gap": 0.0})
        if result.status == 2:
            return None
        if result.status != 0:
            raise FairbookError(f"HiGHS did not solve an integer program of the cell: {result.message}")
        found = np.rint(result.x[:-1]).astype(np.int64).reshape(-1, n)
        self._check(found, lowest)
        return found

    def _check(self, found: NDArray[np.int64], lowest: Sequence[int]) -> None:
        """Raise where a placement breaks a rule in fractions: the solver's tolerances only ever allow more."""
        cell = self.cell
        for row, k in zip(found.tolist(), self.classes, strict=True):
            use = [sum((x * d[r] for x, d in zip(row, cell.demands, strict=True)), ZERO) for r in range(cell.m)]
            if any(u > c for u, c in zip(use, cell.machines[k], strict=True)):
                raise FairbookError("HiGHS overfilled a machine within its tolerance: numbers too fine for it")
        tasks = found.sum(axis=0)
        if (found < 0).any() or (tasks > self.limits).any() or (tasks < np.array(lowest)).any():
            raise FairbookError("HiGHS broke a bound of a user within its tolerance")


def most_tasks_whole(demands: Any, machines: Any, machine_counts: Any = None, max_tasks: Any = None) -> WholeOptimum:
    """Find the most whole tasks that the machines can run, by an integer program, machine by machine.

    Parameters
    ----------
    demands, machines, machine_counts, max_tasks
        As for :func:`exact_gdrf`.

    Returns
    -------
    WholeOptimum

    Raises
    ------
    InvalidInput, FairbookError
        The latter where HiGHS does not solve the program, or only by overfilling a machine.

    Notes
    -----
    The placement is checked in fractions. HiGHS' tolerances only allow more than the rules do, so what passes is an
    optimum. Cost: one HiGHS run with n N integer variables, exponential at worst; for n N up to about 60.

    Examples
    --------
    >>> most_tasks_whole([[2], [3]], [[7]], max_tasks=[2, 5]).tasks
    [2, 1]
    """
    cell = exact_cell(demands, machines, machine_counts, max_tasks)
    found = Whole(cell).solve([0] * cell.n)
    if found is None:
        raise FairbookError("HiGHS found no placement, though an empty one is allowed")
    tasks = found.sum(axis=0).tolist()
    return WholeOptimum(sum(tasks), tasks, found)
