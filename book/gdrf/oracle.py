"""GDRF and its opponents judged: the rules machine by machine in exact fractions, and bounds by linear programs.

The functions ``exact_*`` look at every machine anew before every task. All numbers are fractions. The placement
fairness f = T^w is compared by logarithms of whole numbers, and where these are close by coprime factors of the numbers
themselves, so that a tie is a tie and nothing else is.

:func:`most_tasks` and :func:`same_mix` bound what any placement can reach. Their programs have one block a machine
class, because in fractions the N_k machines of a class run exactly what one machine N_k times as large runs (give each
machine the N_k-th part; the other way round, add up). Floats enter only the search for prices. The bound that is
returned follows from these prices in fractions, by weak duality, so it holds whatever the solver did.
"""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from book.common.oracle_drf import solved
from book.gdrf.exact_cell import ZERO, ExactCell, exact_cell, sign_of_product
from fairbook.errors import FairbookError
from fairbook.model.exact import as_fractions
from fairbook.model.inputs import FloatArray, as_whole

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


def _run(
    cell: ExactCell,
    amounts: Sequence[Fraction],
    rank: Sequence[Any],
    per_round: int,
    choose: Callable[[_Scan, int], list[int]],
    prefer: Sequence[tuple[int, int]] = (),
) -> ExactPlacement:
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
    return [
        sorted(range(cell.m), key=lambda r: (-mu[r], -d[r], lot[r]))
        for mu, d in zip(cell.shares, cell.demands, strict=True)
    ]


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


def exact_gdrf(
    demands: Any,
    machines: Any,
    machine_counts: Any = None,
    max_tasks: Any = None,
    seed: int = 0,
    *,
    match: Literal["nearest", "same", "any"] = "nearest",
    least: Literal["amount", "dominant_share", "shares"] = "amount",
    machine_type: Literal["share", "amount"] = "share",
    choice: Literal["fairness", "fairness_empty_last", "fairness_after", "first"] = "fairness",
    queue: Literal["rounds", "one_by_one"] = "rounds",
    prefer: Sequence[tuple[int, int]] = (),
) -> ExactPlacement:
    """Run GDRF (Algorithms 1-3) in exact fractions, every machine looked at before every VM.

    Parameters
    ----------
    demands : nested sequences, shape (n, m)
        Resource per VM; anything ``fractions.Fraction`` takes, floats at face value.
    machines : nested sequences, shape (K, m), or (m,) for one class
        Capacities of each class: not negative, some positive entry a row, each demanded resource somewhere.
    machine_counts : sequence of int, shape (K,), optional
        At least 1; None means one machine of each class.
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
    cell = exact_cell(demands, machines, machine_counts, max_tasks)
    lot_users, lot_resources = _lots(cell, seed)
    rank = [(-top, -omega, lot) for top, omega, lot in zip(cell.dominant, cell.gdrw, lot_users, strict=True)]
    amounts = {
        "amount": [sum(row, ZERO) for row in cell.demands],
        "dominant_share": cell.dominant,
        "shares": [sum(row, ZERO) for row in cell.shares],
    }[least]
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


def exact_drfh(
    demands: Any,
    machines: Any,
    machine_counts: Any = None,
    max_tasks: Any = None,
    weights: Any = None,
    *,
    method: Literal["best_fit", "first_fit"] = "best_fit",
    prefer: Sequence[tuple[int, int]] = (),
) -> ExactPlacement:
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


def exact_per_server(
    demands: Any, machines: Any, machine_counts: Any = None, max_tasks: Any = None, weights: Any = None
) -> ExactPlacement:
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
            one = ExactCell(
                [cell.demands[i] for i in users],
                [cell.machines[k]],
                [1],
                [None if (b := cell.max_tasks[i]) is None else b - tasks[i] for i in users],
                [cell.weights[i] for i in users],
            )
            levels = [top / w for top, w in zip(one.dominant, one.weights, strict=True)]
            run = _run(one, levels, range(one.n), 1, lambda scan, i: [0] if scan.fits(i, 0) else [])
            for i, _ in run.placed:
                tasks[users[i]] += 1
                placed.append((users[i], j))
    return ExactPlacement(tasks, placed)


def exact_mdrf(
    demands: Any,
    machines: Any,
    machine_counts: Any = None,
    max_tasks: Any = None,
    *,
    reading: Literal["entropy", "type"] = "entropy",
    seed: int = 0,
    prefer: Sequence[tuple[int, int]] = (),
) -> ExactPlacement:
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
        self.room = np.array(
            [
                [float(count * c / s) if c else 0.0 for c, s in zip(row, cell.pool, strict=True)]
                for row, count in zip(cell.machines, cell.counts, strict=True)
            ]
        )
        self.most = np.array(
            [np.inf if b is None else float(b * top) for b, top in zip(cell.max_tasks, cell.dominant, strict=True)]
        )
        self.use = sparse.kron(sparse.eye_array(K), need.T).tocsr()
        self.each = sparse.kron(np.ones((1, K)), sparse.eye_array(n)).tocsr()
        self.highest = np.where(np.array(cell.able).ravel(), np.inf, 0.0)
        self.bounded = np.flatnonzero(np.isfinite(self.most))

    def solve(self, cost: FloatArray, rows: Any, right: FloatArray, highest: FloatArray) -> Any:
        return solved("a program of the cell", cost, rows, right, np.column_stack([np.zeros(len(cost)), highest]))

    def prices(self, result: Any) -> list[list[list[Fraction]]]:
        """Give dual prices of the resources, per unit of each, in fractions and none negative: as found, and rounded.

        Where the instance has small numbers, one of the rounded ones is as a rule the true dual optimum up to scale,
        and the bound that follows from it is the optimum itself.
        """
        K, m = self.room.shape
        found = np.maximum(-result.ineqlin.marginals[: K * m], 0.0).reshape(K, m)
        exact = [
            [Fraction(float(p)) / s if s else ZERO for p, s in zip(row, self.cell.pool, strict=True)] for row in found
        ]
        top = max(max(row) for row in exact)
        rounded = [
            [[(p / top).limit_denominator(largest) for p in row] for row in exact]
            for largest in (100, 10**4, 10**6)
            if top
        ]
        return [exact, *rounded]

    def by_class(self, shares: FloatArray) -> FloatArray:
        return np.asarray(shares, dtype=float).reshape(len(self.room), -1) / self.dominant

    def raise_level(self, goal: FloatArray, floor: FloatArray) -> tuple[float, FloatArray, Any]:
        """Maximise L with at least floor_i + L goal_i of dominant share for each user, and no more than its bound.

        Give L, the price of each user's row (of floor + L goal), and the solver's result.
        """
        last = sparse.csr_array(goal[:, None])
        rows = sparse.vstack(
            [
                sparse.hstack([self.use, sparse.csr_array((self.use.shape[0], 1))]),
                sparse.hstack([-self.each, last]),
                sparse.hstack([self.each[self.bounded], sparse.csr_array((len(self.bounded), 1))]),
            ],
            format="csr",
        )
        cost = np.zeros(self.each.shape[1] + 1)
        cost[-1] = -1.0
        result = self.solve(
            cost,
            rows,
            np.concatenate([self.room.ravel(), -floor, self.most[self.bounded]]),
            np.append(self.highest, np.inf),
        )
        a = self.use.shape[0]
        return float(result.x[-1]), -result.ineqlin.marginals[a : a + self.cell.n], result


def total_price(cell: ExactCell, prices: list[list[Fraction]]) -> Fraction:
    """Price of all machines."""
    return sum(
        (
            count * c * p
            for row, count, price in zip(cell.machines, cell.counts, prices, strict=True)
            for c, p in zip(row, price, strict=True)
        ),
        ZERO,
    )


def task_prices(cell: ExactCell, prices: list[list[Fraction]]) -> list[Fraction | None]:
    """Price of a task of each user where it is cheapest among the classes that can run it; None if none can."""
    found: list[Fraction | None] = []
    for i, row in enumerate(cell.demands):
        offers = [
            sum((d * p for d, p in zip(row, price, strict=True)), ZERO)
            for price, able in zip(prices, cell.able, strict=True)
            if able[i]
        ]
        found.append(min(offers) if offers else None)
    return found


def _bound_on_tasks(cell: ExactCell, prices: list[list[Fraction]]) -> tuple[Fraction, list[list[Fraction]]] | None:
    """Scale prices so that the cheapest task costs 1: the least bound on the number of tasks that follows from them.

    None where none does, as somebody pays nothing.
    """
    asked = [price for price in task_prices(cell, prices) if price is not None]
    if not all(asked):
        return None
    scale = max((1 / price for price in asked), default=ZERO)
    return scale * total_price(cell, prices), [[scale * p for p in row] for row in prices]


def bound_on_mix(cell: ExactCell, mix: Sequence[Fraction], prices: list[list[Fraction]]) -> Fraction | None:
    """Give how many times the given tasks of all users can be paid for; None where they cost nothing."""
    cost = ZERO
    for x, price in zip(mix, task_prices(cell, prices), strict=True):
        if x and price is None:
            return ZERO  # no machine runs its tasks
        cost += x * (price or ZERO)
    return total_price(cell, prices) / cost if cost else None


def most_tasks(demands: Any, machines: Any, machine_counts: Any = None) -> FluidOptimum:
    """Bound the number of tasks of any placement by a linear program.

    Maximise the sum of x_ik with sum_i x_ik d_ir <= N_k C_kr. One variable stands for a user on a whole class: in
    fractions the machines of a class are one large machine.

    Parameters
    ----------
    demands, machines, machine_counts
        As for :func:`exact_gdrf`.

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
    The bound: let a task of user i cost at least v_i at the prices y. Then the tasks are at most sum_k N_k C_k y_k,
    given v_i >= 1; where the solver's prices miss that by a rounding error, the price of the scarcest resource is
    raised until it holds. The least bound of the solver's prices and of the same rounded is given, each in its best
    scale.
    A float engine that lets a machine be overfull by a part of 1e-12 may exceed the bound by that part.
    Cost: one HiGHS run with n K variables and K m rows, and O(n K m) operations on fractions.

    Examples
    --------
    >>> bound = most_tasks([[2, 1], [1, 2]], [[4, 2], [2, 4]])
    >>> str(bound.upper), bound.tasks.round(6)
    ('4', array([2., 2.]))
    """
    cell = exact_cell(demands, machines, machine_counts)
    fluid = Fluid(cell)
    unit = fluid.dominant.min()
    cost = np.tile(-unit / fluid.dominant, len(cell.machines))
    result = fluid.solve(cost, fluid.use, fluid.room.ravel(), fluid.highest)
    exact, *rounded = fluid.prices(result)
    exact = [[p / Fraction(float(unit)) for p in row] for row in exact]
    for machine, able, row in zip(cell.machines, cell.able, exact, strict=True):
        for i, need in enumerate(cell.demands):
            lack = 1 - sum((d * p for d, p in zip(need, row, strict=True)), ZERO)
            if able[i] and lack > 0:
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
    fluid = Fluid(cell)
    held = [x * top for x, top in zip(mix, cell.dominant, strict=True)]
    unit = max(held)
    level, _, result = fluid.raise_level(np.array([float(h / unit) for h in held]), np.zeros(cell.n))
    by_class = fluid.by_class(result.x[:-1])
    proofs = [
        (bound, prices) for prices in fluid.prices(result) if (bound := bound_on_mix(cell, mix, prices)) is not None
    ]
    upper, prices = min(proofs, key=lambda proof: proof[0])
    return FluidOptimum(level / float(unit), upper, by_class.sum(axis=0), by_class, prices)


class FluidShare(NamedTuple):
    """Lexicographically max-min dominant shares per weight, in fractions of tasks, with bounds on any placement.

    Attributes
    ----------
    level : float
        The least dominant share per weight of all users.
    upper : Fraction
        No placement, in whole tasks or not, gives every user more than this.
    levels, tasks : ndarray, shape (n,)
    by_class : ndarray, shape (K, n)
        Tasks of each user on each class.
    """

    level: float
    upper: Fraction
    levels: FloatArray
    tasks: FloatArray
    by_class: FloatArray


def fluid_share(
    demands: Any, machines: Any, machine_counts: Any = None, max_tasks: Any = None, weights: Any = None
) -> FluidShare:
    """Find the DRFH optimum: raise the least dominant share per weight, then the next, by linear programs.

    Maximise L with sum_k x_ik mu_i* >= L w_i and sum_i x_ik d_ir <= N_k C_kr. Users whose row has a positive dual price
    stand at L in every optimum, by complementary slackness: they are fixed there, and the rest goes on. One variable
    stands for a user on a whole class: in fractions the N_k machines of a class are one machine N_k times as large.

    Parameters
    ----------
    demands, machines, machine_counts, max_tasks
        As for :func:`exact_gdrf`; bounds are not rounded.
    weights : sequence, shape (n,), optional
        Positive, scaled to sum 1; None means 1/n each.

    Returns
    -------
    FluidShare

    Raises
    ------
    InvalidInput, FairbookError
        The latter where HiGHS does not solve a program.

    Notes
    -----
    Accurate to about 1e-7, the bounds aside, which are exact consequences of the prices. With positive demands and
    capacities and no bounds one program fixes all users. Cost: at most n + 1 HiGHS runs with n K + 1 variables and
    K m + 2 n rows, and O(n K m) operations on fractions for each.

    References
    ----------
    Wang, Liang, Li: Multi-resource fair allocation in heterogeneous cloud computing systems, IEEE TPDS 26(10), 2015.

    Examples
    --------
    Two machines and two users who suit one each; each gets 4/7 of its dominant resource, 8/7 of its half.

    >>> share = fluid_share([[1, 2], [2, 1]], [[10, 4], [4, 10]])
    >>> str(share.upper), share.tasks.round(6)
    ('8/7', array([4., 4.]))
    """
    cell = exact_cell(demands, machines, machine_counts, max_tasks, weights)
    fluid, n = Fluid(cell), cell.n
    weight = np.array([float(w) for w in cell.weights])
    levels, fixed = np.zeros(n), np.zeros(n, dtype=bool)
    rates = [w / top for w, top in zip(cell.weights, cell.dominant, strict=True)]  # tasks at level 1
    # nobody is above the level at which it has all it wants
    bounds = [b / rate for b, rate in zip(cell.max_tasks, rates, strict=True) if b is not None]
    while not fixed.all():
        level, user_prices, result = fluid.raise_level(np.where(fixed, 0.0, weight), levels * weight * (1 - 1e-9))
        found = [bound_on_mix(cell, rates, prices) for prices in fluid.prices(result)]
        bounds += [bound for bound in found if bound is not None]
        stuck = ~fixed & ((user_prices > 1e-7) | (fluid.most <= level * weight * (1 + 1e-9)))
        if not stuck.any():
            raise FairbookError("a program of DRFH fixed nobody: tolerances too tight for this input")
        levels[stuck] = level
        fixed |= stuck
    held = levels * weight
    result = fluid.solve(
        np.zeros(fluid.each.shape[1]),
        sparse.vstack([fluid.use, fluid.each, -fluid.each]),
        np.concatenate([fluid.room.ravel(), held, -held * (1 - 1e-8)]),
        fluid.highest,
    )
    by_class = fluid.by_class(result.x)
    return FluidShare(float(levels.min()), min(bounds), levels, by_class.sum(axis=0), by_class)
